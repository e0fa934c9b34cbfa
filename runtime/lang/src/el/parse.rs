//! A precedence parser for common expressions: one pass over the text, without tokens.
//!
//! The input is a text and the start of an expression. The parser appends the builder's operations and returns the
//! closing brace, or nothing: then the expression has an error, or something rare in workflows (a lambda, a list, an
//! assignment, a fraction, a non-ASCII letter), and the generated parser parses it from its start. `grammar/el.lalrpop`
//! and the tokens alone define the language; this is a shortcut to the same operations, and a test compares the two.

use super::build::Builder;
use super::tree::{Binary, Level, Op};

/// An incomplete operation, with its start.
#[derive(Clone, Copy)]
pub(super) struct Open {
    start: u32,
    level: Level,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Parenthesis,
    Call { mark: u32, arguments: u32 },
    Bracket { at: u32, mark: u32 },
    Test { mark: u32 },
    Else { test: u32, mark: u32 },
    Or { mark: u32 },
    And { mark: u32 },
    Binary(Binary),
    Negate,
    Not,
    Empty,
}

/// Brackets accept an expression of any precedence.
const BRACKETED: Level = Level::Semicolon;

/// Parses the expression that begins at `from`; returns the position of its brace. `open` is a buffer for reuse.
pub(super) fn expression(
    builder: &mut Builder<'_>,
    from: usize,
    open: &mut Vec<Open>,
) -> Option<usize> {
    let bytes = builder.text.as_bytes();
    let mut at = from;
    open.clear();
    open.reserve(8);
    'operand: loop {
        at = skip(bytes, at);
        let mut start = at as u32;
        let mut end;
        match *bytes.get(at)? {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                end = word(bytes, at)?;
                match &bytes[at..end] {
                    b"not" => {
                        open.push(prefix(start, What::Not));
                        at += 3;
                        continue;
                    }
                    b"empty" => {
                        open.push(prefix(start, What::Empty));
                        at += 5;
                        continue;
                    }
                    b"true" => builder.literal(start, Op::True, end as u32),
                    b"false" => builder.literal(start, Op::False, end as u32),
                    b"null" => builder.literal(start, Op::Null, end as u32),
                    name if is_operator(name) => return None,
                    _ => match called(bytes, end)? {
                        Called::Not => builder.variable(start, end as u32),
                        Called::As { name_end, arguments } => {
                            let mark = builder.call_start(start, name_end as u32);
                            at = skip(bytes, arguments);
                            if bytes.get(at) != Some(&b')') {
                                let what = What::Call { mark, arguments: 0 };
                                open.push(Open { start, level: BRACKETED, what });
                                continue;
                            }
                            end = at + 1;
                            builder.call(start, mark, 0, end as u32);
                        }
                    },
                }
            }
            quote @ (b'\'' | b'"') => {
                let plain;
                (end, plain) = text(bytes, at, quote)?;
                if plain {
                    builder.plain_text(start, end as u32);
                } else {
                    builder.text(start, end as u32);
                }
            }
            b'0'..=b'9' => {
                end = at;
                while matches!(bytes.get(end), Some(b'0'..=b'9')) {
                    end += 1;
                }
                if matches!(
                    bytes.get(end),
                    Some(b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..)
                ) {
                    return None;
                }
                builder.integer(start, end as u32);
            }
            b'(' => {
                open.push(Open { start, level: BRACKETED, what: What::Parenthesis });
                at += 1;
                continue;
            }
            b'-' if bytes.get(at + 1) != Some(&b'>') => {
                open.push(prefix(start, What::Negate));
                at += 1;
                continue;
            }
            b'!' => {
                open.push(prefix(start, What::Not));
                at += 1;
                continue;
            }
            _ => return None,
        }

        // After an operand: its suffixes, the brackets that it closes, and the operator whose left side it is.
        let mut suffixed = false;
        loop {
            at = skip(bytes, end);
            let byte = *bytes.get(at)?;
            if byte == b'.' {
                let name = skip(bytes, at + 1);
                end = word(bytes, name)?;
                if is_reserved(&bytes[name..end]) || bytes.get(skip(bytes, end)) == Some(&b'(') {
                    return None;
                }
                builder.dot(name as u32, end as u32);
                suffixed = true;
                continue;
            }
            if byte == b'[' {
                let inner = skip(bytes, at + 1);
                let what =
                    What::Bracket { at: at as u32, mark: builder.base_test(inner as u32, None) };
                open.push(Open { start, level: BRACKETED, what });
                at = inner;
                continue 'operand;
            }
            if suffixed {
                builder.value_end(start, end as u32);
                suffixed = false;
            }
            if matches!(byte, b')' | b']' | b',' | b'}') {
                close(builder, open, Level::Choice, start, end)?;
                let Some(last) = open.last_mut() else {
                    // A longer one may have more tokens than permitted.
                    let short = at - from <= super::template::MOST_TOKENS as usize;
                    return (byte == b'}' && short).then_some(at);
                };
                end = at + 1;
                match (byte, &mut last.what) {
                    (b')', What::Parenthesis) => start = last.start,
                    (b')', What::Call { mark, arguments }) => {
                        start = last.start;
                        builder.call(start, *mark, *arguments + 1, end as u32);
                    }
                    (b']', What::Bracket { at, mark }) => {
                        start = last.start;
                        builder.bracket(*at, *mark, end as u32);
                        suffixed = true;
                    }
                    (b',', What::Call { arguments, .. }) => {
                        *arguments += 1;
                        at = end;
                        continue 'operand;
                    }
                    _ => return None,
                }
                open.pop();
                continue;
            }

            let (operator, length) = operator(bytes, at)?;
            at = skip(bytes, at + length);
            let next = at as u32;
            let (level, what) = match operator {
                Operator::Binary(operator) => {
                    let level = operator.level();
                    start = close(builder, open, level, start, end)?;
                    (level, What::Binary(operator))
                }
                Operator::Or => {
                    start = close(builder, open, Level::Or, start, end)?;
                    (Level::Or, What::Or { mark: builder.or_test(next) })
                }
                Operator::And => {
                    start = close(builder, open, Level::And, start, end)?;
                    (Level::And, What::And { mark: builder.and_test(next) })
                }
                Operator::Test => {
                    start = close(builder, open, Level::Or, start, end)?;
                    (Level::Choice, What::Test { mark: builder.choice_test(next) })
                }
                Operator::Else => {
                    // Conditionals within this one end before its `:`.
                    close(builder, open, Level::Or, start, end)?;
                    while let Some(Open { what: What::Else { .. }, .. }) = open.last() {
                        close_last(builder, open, end)?;
                    }
                    let Some(Open { start: outer, what: What::Test { mark }, .. }) = open.pop()
                    else {
                        return None;
                    };
                    start = outer;
                    (Level::Choice, What::Else { test: mark, mark: builder.choice_else(next) })
                }
            };
            open.push(Open { start, level, what });
            continue 'operand;
        }
    }
}

fn prefix(start: u32, what: What) -> Open {
    Open { start, level: Level::Unary, what }
}

/// Completes operations that bind at least as tightly, with the operand that ends at `end`; returns the start of the
/// result.
#[inline]
fn close(
    builder: &mut Builder<'_>,
    open: &mut Vec<Open>,
    level: Level,
    mut start: u32,
    end: usize,
) -> Option<u32> {
    while open.last().is_some_and(|last| last.level >= level) {
        start = close_last(builder, open, end)?;
    }
    Some(start)
}

fn close_last(builder: &mut Builder<'_>, open: &mut Vec<Open>, end: usize) -> Option<u32> {
    let Open { start, what, .. } = open.pop()?;
    let end = end as u32;
    match what {
        What::Binary(Binary::Concatenate) => builder.concatenate(start, end),
        What::Binary(operator) => builder.binary(start, operator, end),
        What::Negate => builder.unary(start, Op::Negate, end),
        What::Not => builder.unary(start, Op::Not, end),
        What::Empty => builder.unary(start, Op::Empty, end),
        What::Or { mark } => builder.or(start, mark, end),
        What::And { mark } => builder.and(start, mark, end),
        What::Else { test, mark } => builder.choice(start, test, mark, end),
        What::Test { .. } | What::Parenthesis | What::Call { .. } | What::Bracket { .. } => {
            return None;
        }
    }
    Some(start)
}

/// Returns the offset of the first non-blank byte at or after `at`.
#[inline]
fn skip(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

/// Returns the end of the word at `at`, if there is one and it has only ASCII letters and digits.
#[inline]
fn word(bytes: &[u8], at: usize) -> Option<usize> {
    if !matches!(bytes.get(at)?, b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$') {
        return None;
    }
    let mut end = at + 1;
    loop {
        match bytes.get(end) {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'0'..=b'9') => end += 1,
            Some(0x80..) => return None,
            _ => return Some(end),
        }
    }
}

/// Whether a word is an operator between operands, or reserved.
fn is_operator(word: &[u8]) -> bool {
    matches!(
        word,
        b"and"
            | b"or"
            | b"eq"
            | b"ne"
            | b"lt"
            | b"gt"
            | b"le"
            | b"ge"
            | b"div"
            | b"mod"
            | b"instanceof"
    )
}

fn is_reserved(word: &[u8]) -> bool {
    is_operator(word) || matches!(word, b"not" | b"empty" | b"true" | b"false" | b"null")
}

enum Called {
    Not,
    As { name_end: usize, arguments: usize },
}

/// Whether a name that ends at `end` is called, or is the prefix of a called name.
fn called(bytes: &[u8], end: usize) -> Option<Called> {
    let mut name_end = end;
    let mut next = skip(bytes, end);
    if bytes.get(next) == Some(&b':') {
        let name = skip(bytes, next + 1);
        match bytes.get(name) {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$') => {
                name_end = word(bytes, name)?;
                if is_reserved(&bytes[name..name_end]) {
                    return Some(Called::Not);
                }
                next = skip(bytes, name_end);
            }
            Some(0x80..) => return None,
            _ => {}
        }
    }
    Some(match bytes.get(next) {
        Some(b'(') => Called::As { name_end, arguments: next + 1 },
        _ => Called::Not,
    })
}

/// Returns the end of the string whose quote is at `at`, and whether it has no escapes.
#[inline]
fn text(bytes: &[u8], at: usize, quote: u8) -> Option<(usize, bool)> {
    let mut end = at + 1;
    let mut plain = true;
    loop {
        match *bytes.get(end)? {
            b'\\' => {
                plain = false;
                if !matches!(bytes.get(end + 1)?, b'\\' | b'\'' | b'"') {
                    return None;
                }
                end += 2;
            }
            byte if byte == quote => return Some((end + 1, plain)),
            _ => end += 1,
        }
    }
}

enum Operator {
    Binary(Binary),
    Or,
    And,
    Test,
    Else,
}

/// Returns the operator at `at`, and its length.
#[inline]
fn operator(bytes: &[u8], at: usize) -> Option<(Operator, usize)> {
    use Operator::{And, Else, Or, Test};
    let equal = bytes.get(at + 1) == Some(&b'=');
    let binary = |operator, length| Some((Operator::Binary(operator), length));
    match *bytes.get(at)? {
        b'a'..=b'z' => {
            let end = word(bytes, at)?;
            match &bytes[at..end] {
                b"and" => Some((And, 3)),
                b"or" => Some((Or, 2)),
                b"eq" => binary(Binary::Equal, 2),
                b"ne" => binary(Binary::NotEqual, 2),
                b"lt" => binary(Binary::Less, 2),
                b"gt" => binary(Binary::Greater, 2),
                b"le" => binary(Binary::LessEqual, 2),
                b"ge" => binary(Binary::GreaterEqual, 2),
                b"div" => binary(Binary::Divide, 3),
                b"mod" => binary(Binary::Modulo, 3),
                _ => None,
            }
        }
        b'=' if equal => binary(Binary::Equal, 2),
        b'!' if equal => binary(Binary::NotEqual, 2),
        b'<' if equal => binary(Binary::LessEqual, 2),
        b'<' => binary(Binary::Less, 1),
        b'>' if equal => binary(Binary::GreaterEqual, 2),
        b'>' => binary(Binary::Greater, 1),
        b'+' if equal => binary(Binary::Concatenate, 2),
        b'+' => binary(Binary::Add, 1),
        b'-' if bytes.get(at + 1) != Some(&b'>') => binary(Binary::Subtract, 1),
        b'*' => binary(Binary::Multiply, 1),
        b'/' => binary(Binary::Divide, 1),
        b'%' => binary(Binary::Modulo, 1),
        b'&' if bytes.get(at + 1) == Some(&b'&') => Some((And, 2)),
        b'|' if bytes.get(at + 1) == Some(&b'|') => Some((Or, 2)),
        b'?' => Some((Test, 1)),
        b':' => Some((Else, 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::el::token::Lexer;
    use crate::el::{Dialect, grammar};

    /// The generated parser must accept what this one does, and produce the same operations.
    #[test]
    fn both_parsers_agree() {
        const TOKENS: [&str; 50] = [
            "a",
            "b ",
            "f(",
            "x:y(",
            "(",
            "(",
            ")",
            ")",
            "[",
            "]",
            "{",
            "}",
            ".",
            ",",
            ":",
            " ? ",
            ";",
            "=",
            "->",
            "+=",
            "+",
            "-",
            "*",
            "/",
            "%",
            "==",
            "!=",
            "<",
            ">=",
            " and ",
            " or ",
            " not ",
            " empty ",
            "1",
            "2.5",
            "'t'",
            "null ",
            "true ",
            " instanceof ",
            "@",
            "é",
            "$x",
            "#",
            "1e5",
            ".5",
            "'\\''",
            "'\\x'",
            "\"",
            "\n",
            "coord : ",
        ];
        const VALUES: [&str; 15] = [
            "a",
            "1",
            "(a)",
            "f(1)",
            "'t'",
            "-b",
            "((c))",
            "[1,2]",
            "(x->x)(1)",
            "m['k'].n",
            "x : y( )",
            "f(a, 'b' , g(1)+2)",
            "a ? b : 'c'",
            "a ? b ? c : d : e",
            "not empty w:f('\\'')[ 0 ]",
        ];
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut open = Vec::new();
        let (mut whole, mut short) = (0, 0);
        for round in 0..60_000 {
            // Half of them alternate values and operators, so that many are valid.
            let tokens: String = (0..random(14) + 1)
                .map(|at| match (round % 2, at % 2) {
                    (0, 0) => VALUES[random(VALUES.len())],
                    (0, _) => TOKENS[15 + random(16)],
                    _ => TOKENS[random(TOKENS.len())],
                })
                .collect();
            let text = format!("${{{tokens}}}");
            let dialect = if round % 3 == 0 { Dialect::Commons } else { Dialect::Tomcat };
            let mut ours = Builder::new(&text, dialect);
            let read = expression(&mut ours, 2, &mut open);
            let mut theirs = Builder::new(&text, dialect);
            let mut lexer = Lexer::new(&text, 2, dialect, 1_000);
            let expected = grammar::ExpressionParser::new().parse(&mut theirs, &mut lexer).is_ok();
            whole += u32::from(expected && lexer.close.is_some());
            if let Some(close) = read {
                short += 1;
                assert!(expected, "{text}");
                assert_eq!(Some(close), lexer.close, "{text}");
                assert_eq!(ours.nodes, theirs.nodes, "{text}");
                assert_eq!(ours.errors, theirs.errors, "{text}");
            }
        }
        assert!(whole > 5_000, "{whole} expressions among them");
        assert!(short > 3_000, "{short} of {whole} are read the short way");
    }
}
