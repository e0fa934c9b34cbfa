//! Finds the places where a definition reads the properties of its job.
//!
//! From elements, or any text with `${…}`, it collects the names that are read, with their places. This concerns names,
//! not values or types: an expression that does not parse still shows what it was meant to read.

use crate::source::Span;
use crate::syntax::xml::{Decoded, Element, NodeKind};
use memchr::memchr;

/// A place where a property is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The name of the property; empty if it is computed (`wf:conf(concat('a', b))`).
    pub name: String,
    /// The span of the name.
    pub span: Span,
    /// How it is read.
    pub how: How,
    /// The expression it is in, from `${` to `}`.
    pub expression: Span,
}

/// How a property is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// `${name}`: it must exist.
    Variable,
    /// `wf:conf('name')` or the like: empty if it does not exist.
    Function,
    /// `${a.b}`, which reads a property of the variable `a`; values are strings, which have none.
    Dotted,
    /// `wf:actionData('a')[name]`: a key, which probably lacks its quotes.
    Key,
}

/// Words of the expression language that are not variables.
const WORDS: [&str; 17] = [
    "and",
    "or",
    "not",
    "eq",
    "ne",
    "lt",
    "gt",
    "le",
    "ge",
    "div",
    "mod",
    "empty",
    "true",
    "false",
    "null",
    "instanceof",
    "concat",
];

/// Functions that read a property by name.
const READERS: [&str; 2] = ["wf:conf", "coord:conf"];

/// Returns all reads in an element, its attributes and its descendants, in source order.
pub(crate) fn of_element(root: Element<'_>) -> Vec<Read> {
    let (mut reads, mut tokens) = (Vec::new(), Vec::new());
    let mut of_text = |text: &Decoded<'_>, reads: &mut Vec<Read>| {
        scan(&text.text, |start, end| text.source(start..end), &mut tokens, reads);
    };
    for element in root.descendants().filter(|element| element.name() != "description") {
        for attribute in element.attributes() {
            if memchr(b'{', attribute.raw().as_bytes()).is_some() {
                of_text(&attribute.value(), &mut reads);
            }
        }
        for child in element.children() {
            if matches!(child.kind(), NodeKind::Text | NodeKind::CData)
                && !child.is_layout()
                && memchr(b'{', child.raw().as_bytes()).is_some()
            {
                of_text(&child.decoded(), &mut reads);
            }
        }
    }
    reads.sort_by_key(|read| read.span);
    reads.shrink_to_fit();
    reads
}

/// Whether an expression is a name with hyphens, which is parsed as a subtraction and reported as such.
pub(crate) fn is_hyphenated(expression: &str) -> bool {
    let inner = expression.trim_start_matches("${").trim_end_matches('}');
    inner.contains('-')
        && inner.split('-').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        })
}

/// Adds all reads in a text.
pub(crate) fn of_text(text: &Decoded<'_>, out: &mut Vec<Read>) {
    scan(&text.text, |start, end| text.source(start..end), &mut Vec::new(), out);
}

/// Returns all reads in a text that occurs unescaped at `offset`.
pub(crate) fn of_plain(text: &str, offset: usize) -> Vec<Read> {
    let mut reads = Vec::new();
    scan(text, |start, end| Span::new(offset + start, offset + end), &mut Vec::new(), &mut reads);
    reads
}

/// Returns the expressions of a text: ranges of `${…}`, including the closing brace.
pub fn expressions(text: &str) -> Vec<std::ops::Range<usize>> {
    each_expression(text).collect()
}

/// Returns the first expression of a text.
pub(crate) fn first_expression(text: &str) -> Option<std::ops::Range<usize>> {
    each_expression(text).next()
}

/// Iterates over the expressions of a text.
pub(crate) fn each_expression(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + memchr(b'$', &text.as_bytes()[from..])?;
            from = start + 1;
            if text.as_bytes().get(from) == Some(&b'{') {
                from = expression_end(text, from + 1);
                return Some(start..from);
            }
        }
    })
}

/// The position of the first `${`.
pub(super) fn first_dollar(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'$', text).find(|at| text.get(at + 1) == Some(&b'{'))
}

/// Returns the end of the expression that begins before `at`: after its closing brace, or the end of the text.
fn expression_end(text: &str, at: usize) -> usize {
    let mut quote = None;
    for (offset, byte) in text.as_bytes()[at..].iter().enumerate() {
        match (quote, byte) {
            (None, b'}') => return at + offset + 1,
            (None, b'\'' | b'"') => quote = Some(*byte),
            (Some(open), byte) if *byte == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// Adds the reads of all expressions in a text; `tokens` is a buffer.
fn scan(
    text: &str,
    place: impl Fn(usize, usize) -> Span,
    tokens: &mut Vec<Token>,
    out: &mut Vec<Read>,
) {
    for range in each_expression(text) {
        let expression = place(range.start, range.end);
        // A fast path: most expressions are a single name.
        let inner = text[range.clone()].strip_suffix('}').and_then(|text| text.get(2..));
        if let Some(inner) = inner.filter(|inner| is_identifier(inner)) {
            if !WORDS.contains(&inner) {
                let span = place(range.start + 2, range.end - 1);
                let name = inner.to_owned();
                out.push(Read { name, span, how: How::Variable, expression });
            }
            continue;
        }
        tokens.clear();
        tokenize(text, range.start + 2, range.end, tokens);
        let is_choice = tokens.iter().any(|token| matches!(token, Token::Sign(b'?')));
        for (index, token) in tokens.iter().enumerate() {
            let Token::Name(start, end) = *token else { continue };
            let word = &text[start..end];
            let before = index.checked_sub(1).map(|at| tokens[at]);
            if matches!(before, Some(Token::Sign(b'.'))) || WORDS.contains(&word) {
                continue;
            }
            // After an operand, it is in the place of an operator.
            let behind = text[range.start + 2..start].trim_end();
            let stem = behind.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let is_operand = match &behind[stem.len()..] {
                "" => behind.ends_with([')', ']', '\'', '"']),
                word => !WORDS.contains(&word),
            };
            if is_operand {
                continue;
            }
            if !matches!(tokens.get(index + 1), Some(Token::Sign(b'('))) {
                if let Some(Token::Sign(b'.')) = tokens.get(index + 1)
                    && let Some(end) = dotted_end(tokens, index)
                {
                    let name = text[start..end].to_owned();
                    out.push(Read { name, span: place(start, end), how: How::Dotted, expression });
                    continue;
                }
                // `${env:X}` is a placeholder of another language, and no name begins with a dollar sign.
                if word.starts_with('$') || word.contains(':') && !is_choice {
                    continue;
                }
                let signs = tokens.get(index.saturating_sub(2)..index);
                if matches!(signs, Some([Token::Sign(b')'), Token::Sign(b'[')]))
                    && matches!(tokens.get(index + 1), Some(Token::Sign(b']')))
                {
                    let name = word.to_owned();
                    out.push(Read { name, span: place(start, end), how: How::Key, expression });
                    continue;
                }
                // `c?x:y` has two names, separated by the colon of the conditional.
                let mut at = start;
                for name in word.split(':') {
                    let span = place(at, at + name.len());
                    let name = name.to_owned();
                    at += name.len() + 1;
                    out.push(Read { name, span, how: How::Variable, expression });
                }
                continue;
            }
            if READERS.contains(&word) {
                let literal = match (tokens.get(index + 2), tokens.get(index + 3)) {
                    (Some(Token::Text(start, end)), Some(Token::Sign(b')'))) => (*start, *end),
                    _ => (end, end),
                };
                let name = text[literal.0..literal.1].to_owned();
                let span = place(literal.0, literal.1);
                out.push(Read { name, span, how: How::Function, expression });
            }
        }
    }
}

/// Whether a text is a name of ASCII letters, digits and underscores.
fn is_identifier(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Returns the end of a name with dots in it.
fn dotted_end(tokens: &[Token], first: usize) -> Option<usize> {
    let pairs = tokens[first + 1..].chunks(2).map_while(|pair| match pair {
        [Token::Sign(b'.'), Token::Name(_, end)] => Some(*end),
        _ => None,
    });
    pairs.last()
}

#[derive(Clone, Copy, Debug)]
enum Token {
    Name(usize, usize),
    Text(usize, usize),
    Sign(u8),
}

fn tokenize(text: &str, from: usize, end: usize, tokens: &mut Vec<Token>) {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < end {
        let byte = bytes[at];
        let start = at;
        if byte == b'\'' || byte == b'"' {
            at += 1;
            while at < end && bytes[at] != byte {
                at += 1;
            }
            tokens.push(Token::Text(start + 1, at.min(end)));
            at += 1;
        } else if byte.is_ascii_digit() {
            while at < end && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                at += 1;
            }
        } else if byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80 {
            let part = |byte: u8| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
            };
            while at < end
                && (part(bytes[at])
                    || (bytes[at] == b':' && at + 1 < end && bytes[at + 1].is_ascii_alphabetic()))
            {
                at += 1;
            }
            tokens.push(Token::Name(start, at));
        } else {
            if !byte.is_ascii_whitespace() && byte != b'}' {
                tokens.push(Token::Sign(byte));
            }
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_an_operand_is_not_a_variable() {
        check("${a greater 0}", &["a"]);
        check("${f()['x'] * 1 atLeast b}", &[]);
        check("${not a and empty b or c}", &["a", "b", "c"]);
        check("${a gt 1 ? b : c}", &["a", "b", "c"]);
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let reads = of_plain(text, 0);
        let names: Vec<_> = reads.iter().map(|read| read.name.as_str()).collect();
        assert_eq!(names, expected);
        for read in &reads {
            assert_eq!(&text[read.span.range()], read.name);
        }
    }

    #[test]
    fn names_are_found_and_nothing_else() {
        check("a ${b}/c ${ d eq 'e' and not f.g }", &["b", "d", "f.g"]);
        check("${wf:conf('x.y')} ${wf:conf(k)} ${wf:id()}", &["x.y", "", "k"]);
        check("${concat(a, '}')}${b[\"k\"]}${1e5 + 2}", &["a", "b"]);
        check("${open and", &["open"]);
        check("${c ? x : y}${c?x:y}", &["c", "x", "y", "c", "x", "y"]);
        check("no ${} $x #{y}", &[]);
    }
}
