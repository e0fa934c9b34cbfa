//! The lexer of expressions.
//!
//! The input is the text of a template and the start of an expression. The result is tokens with positions, up to the
//! brace that closes the expression. Two things that the library decides by lookahead are decided here, so that the
//! grammar needs one token of lookahead: a called name (`wf : conf (`), and the parameters of a lambda (`(a, b) ->`).

use super::Dialect;

/// A token. Its text is given by its position; the grammar does not need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Null,
    True,
    False,
    Integer,
    Float,
    Text,
    Identifier,
    /// A name, with or without prefix, that is followed by an opening parenthesis.
    Function,
    /// The only parameter of a lambda: `x` in `x -> x`.
    Parameter,
    /// The parenthesis that opens the parameters of a lambda.
    Parameters,
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Dot,
    Comma,
    Colon,
    Question,
    Semicolon,
    Assign,
    Arrow,
    Concatenate,
    Plus,
    Minus,
    Times,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    And,
    Or,
    Not,
    Empty,
    /// Reserved, but not in the grammar.
    Instanceof,
    /// A character that begins no token, or an unterminated string.
    Strange,
}

/// Whether a character may begin a name.
pub(crate) fn is_letter(character: char) -> bool {
    matches!(character, '$' | 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{1fff}' | '\u{3040}'..='\u{318f}' | '\u{3300}'..='\u{337f}' | '\u{3400}'..='\u{3d2d}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a word is reserved in all dialects.
pub(crate) fn is_reserved(name: &str) -> bool {
    word(name) != Token::Identifier
}

/// Whether a word is a Java keyword, which [`Dialect::Tomcat`] refuses as a name.
pub(crate) fn is_java_keyword(word: &str) -> bool {
    matches!(
        word,
        "abstract"
            | "assert"
            | "boolean"
            | "break"
            | "byte"
            | "case"
            | "catch"
            | "char"
            | "class"
            | "const"
            | "continue"
            | "default"
            | "do"
            | "double"
            | "else"
            | "enum"
            | "extends"
            | "final"
            | "finally"
            | "float"
            | "for"
            | "goto"
            | "if"
            | "implements"
            | "import"
            | "int"
            | "interface"
            | "long"
            | "native"
            | "new"
            | "package"
            | "private"
            | "protected"
            | "public"
            | "return"
            | "short"
            | "static"
            | "strictfp"
            | "super"
            | "switch"
            | "synchronized"
            | "this"
            | "throw"
            | "throws"
            | "transient"
            | "try"
            | "void"
            | "volatile"
            | "while"
    )
}

/// Scans the token at the non-blank byte `start`; returns it with its end. A character that begins no token is
/// [`Token::Strange`], and so is the quote of a string that is unterminated or has an invalid escape.
fn scan(text: &str, start: usize) -> (Token, usize) {
    let bytes = text.as_bytes();
    match bytes[start] {
        b'0'..=b'9' => number(bytes, start),
        b'.' if bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => number(bytes, start),
        b'\'' | b'"' => match string(bytes, start) {
            Some(end) => (Token::Text, end),
            None => (Token::Strange, start + 1),
        },
        first => {
            if let Some((token, length)) = sign(first, bytes.get(start + 1).copied().unwrap_or(0)) {
                return (token, start + length);
            }
            let end = name(text, start);
            if end > start {
                return (word(&text[start..end]), end);
            }
            let strange = text[start..].chars().next().map_or(1, char::len_utf8);
            (Token::Strange, start + strange)
        }
    }
}

/// Returns the operator that begins with `first`, and its length in bytes.
fn sign(first: u8, second: u8) -> Option<(Token, usize)> {
    let two = match (first, second) {
        (b'-', b'>') => Token::Arrow,
        (b'+', b'=') => Token::Concatenate,
        (b'=', b'=') => Token::Equal,
        (b'!', b'=') => Token::NotEqual,
        (b'<', b'=') => Token::LessEqual,
        (b'>', b'=') => Token::GreaterEqual,
        (b'&', b'&') => Token::And,
        (b'|', b'|') => Token::Or,
        _ => {
            let one = match first {
                b'(' => Token::Open,
                b')' => Token::Close,
                b'[' => Token::OpenBracket,
                b']' => Token::CloseBracket,
                b'{' => Token::OpenBrace,
                b'}' => Token::CloseBrace,
                b'.' => Token::Dot,
                b',' => Token::Comma,
                b':' => Token::Colon,
                b'?' => Token::Question,
                b';' => Token::Semicolon,
                b'=' => Token::Assign,
                b'+' => Token::Plus,
                b'-' => Token::Minus,
                b'*' => Token::Times,
                b'/' => Token::Divide,
                b'%' => Token::Modulo,
                b'<' => Token::Less,
                b'>' => Token::Greater,
                b'!' => Token::Not,
                _ => return None,
            };
            return Some((one, 1));
        }
    };
    Some((two, 2))
}

/// Returns the token of a word: a keyword or an identifier.
fn word(name: &str) -> Token {
    match name {
        "null" => Token::Null,
        "true" => Token::True,
        "false" => Token::False,
        "div" => Token::Divide,
        "mod" => Token::Modulo,
        "eq" => Token::Equal,
        "ne" => Token::NotEqual,
        "lt" => Token::Less,
        "gt" => Token::Greater,
        "le" => Token::LessEqual,
        "ge" => Token::GreaterEqual,
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        "empty" => Token::Empty,
        "instanceof" => Token::Instanceof,
        _ => Token::Identifier,
    }
}

/// Returns the end of the name at `start`; `start` itself if there is none.
fn name(text: &str, start: usize) -> usize {
    let rest = &text[start..];
    if !rest.starts_with(is_letter) {
        return start;
    }
    let length = rest.find(|c: char| !is_letter(c) && !c.is_ascii_digit());
    start + length.unwrap_or(rest.len())
}

/// Scans the number at `start`: digits, then a fraction and an exponent if they are complete.
fn number(bytes: &[u8], start: usize) -> (Token, usize) {
    let digits = |from: usize| {
        let count = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        from + count
    };
    let mut end = digits(start);
    let mut token = Token::Integer;
    if bytes.get(end) == Some(&b'.') {
        token = Token::Float;
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let first = end + 1 + sign;
        if bytes.get(first).is_some_and(u8::is_ascii_digit) {
            token = Token::Float;
            end = digits(first);
        }
    }
    (token, end)
}

/// Returns the end of the string whose quote is at `start`, if it is terminated and escapes only quotes and
/// backslashes.
fn string(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let mut at = start + 1;
    loop {
        match *bytes.get(at)? {
            b'\\' if matches!(bytes.get(at + 1), Some(b'\\' | b'\'' | b'"')) => at += 2,
            b'\\' => return None,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The tokens of one expression.
pub(crate) struct Lexer<'s> {
    text: &'s str,
    dialect: Dialect,
    /// Offset at which the next token may begin.
    at: usize,
    depth: u32,
    after_dot: bool,
    /// Offset of the closing brace.
    pub(crate) close: Option<usize>,
    /// Offset of the quote of an unterminated string, after which nothing can be scanned.
    pub(crate) open_text: Option<usize>,
    tokens: u32,
    limit: u32,
    /// Whether the limit of tokens was exceeded.
    pub(crate) too_long: bool,
}

impl<'s> Lexer<'s> {
    /// Creates a lexer for the expression that begins at `start` (after `${`).
    pub(crate) fn new(text: &'s str, start: usize, dialect: Dialect, limit: u32) -> Lexer<'s> {
        Lexer {
            text,
            dialect,
            at: start,
            depth: 0,
            after_dot: false,
            close: None,
            open_text: None,
            tokens: 0,
            limit,
            too_long: false,
        }
    }

    /// Returns the offset of the first non-blank byte at or after `offset`.
    fn skip(&self, mut offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(offset), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            offset += 1;
        }
        offset
    }

    fn byte(&self, offset: usize) -> u8 {
        self.text.as_bytes().get(offset).copied().unwrap_or(0)
    }

    /// Returns the first token at or after `offset`, with its start and end.
    fn peek(&self, offset: usize) -> Option<(Token, usize, usize)> {
        let start = self.skip(offset);
        (start < self.text.len()).then(|| {
            let (token, end) = scan(self.text, start);
            (token, start, end)
        })
    }

    /// Returns the token of an identifier that ends at `end`, and its end.
    fn named(&self, end: usize) -> (Token, usize) {
        let next = self.skip(end);
        match self.byte(next) {
            b'(' => (Token::Function, end),
            b':' if !self.after_dot => match self.peek(next + 1) {
                Some((Token::Identifier, _, name_end))
                    if self.byte(self.skip(name_end)) == b'(' =>
                {
                    (Token::Function, name_end)
                }
                _ => (Token::Identifier, end),
            },
            b'-' if self.byte(next + 1) == b'>'
                && !self.after_dot
                && self.dialect == Dialect::Tomcat =>
            {
                (Token::Parameter, end)
            }
            _ => (Token::Identifier, end),
        }
    }

    /// Whether the parenthesis that ends at `end` opens the parameters of a lambda.
    fn opens_parameters(&self, end: usize) -> bool {
        let first = self.skip(end);
        if self.byte(first) != b')' && !self.text[first..].starts_with(is_letter) {
            return false;
        }
        let mut at = first;
        let mut next = || {
            let (token, _, end) = self.peek(at)?;
            at = end;
            Some(token)
        };
        let mut wants_name = true;
        let mut any = false;
        loop {
            match next() {
                Some(Token::Identifier) if wants_name => {
                    wants_name = false;
                    any = true;
                }
                Some(Token::Comma) if !wants_name => wants_name = true,
                Some(Token::Close) if !wants_name || !any => break,
                _ => return false,
            }
        }
        next() == Some(Token::Arrow)
    }

    /// Skips the remaining tokens; returns the end of the expression if it can be determined.
    pub(crate) fn finish(&mut self) -> Option<usize> {
        self.limit = u32::MAX;
        self.too_long = false;
        if self.close.is_none() && self.open_text.is_none() {
            for _ in self.by_ref() {}
        }
        self.close
    }
}

impl Iterator for Lexer<'_> {
    type Item = (u32, Token, u32);

    fn next(&mut self) -> Option<Self::Item> {
        if self.close.is_some() || self.open_text.is_some() || self.too_long {
            return None;
        }
        let (mut token, start, mut end) = self.peek(self.at)?;
        self.at = end;
        self.tokens += 1;
        if self.tokens > self.limit {
            self.too_long = true;
            return None;
        }
        if token == Token::Strange {
            match self.byte(start) {
                quote @ (b'\'' | b'"') => {
                    // In an unterminated string, or one with an invalid escape, only the quote is certain.
                    match string_end(&self.text[start..], quote) {
                        Some(length) => {
                            end = start + length;
                            self.at = end;
                        }
                        None => {
                            end = self.text.len();
                            self.open_text = Some(start);
                        }
                    }
                    self.after_dot = false;
                    return Some((start as u32, Token::Strange, end as u32));
                }
                // In the older library `#` is a letter.
                b'#' if self.dialect == Dialect::Commons => {
                    if let Some((Token::Identifier, at, name_end)) = self.peek(start + 1)
                        && at == start + 1
                    {
                        end = name_end;
                        self.at = end;
                        token = Token::Identifier;
                    }
                }
                _ => {}
            }
        }
        if token == Token::Instanceof && self.dialect == Dialect::Commons {
            token = Token::Identifier;
        }
        match token {
            Token::Identifier => {
                let (named, named_end) = self.named(end);
                token = named;
                if named_end != end {
                    end = named_end;
                    self.at = end;
                }
            }
            Token::Open if self.dialect == Dialect::Tomcat && self.opens_parameters(end) => {
                token = Token::Parameters;
            }
            Token::OpenBrace => self.depth += 1,
            Token::CloseBrace if self.depth == 0 => {
                self.close = Some(start);
                return None;
            }
            Token::CloseBrace => self.depth -= 1,
            _ => {}
        }
        self.after_dot = token == Token::Dot;
        Some((start as u32, token, end as u32))
    }
}

/// Returns the length of a string whose escapes may be invalid, including the quotes.
fn string_end(text: &str, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Lexer};

    /// Formats the tokens of an expression, each with its text.
    fn tokens(text: &str) -> String {
        let lexer = Lexer::new(text, 0, Dialect::Commons, u32::MAX);
        let shown = lexer.map(|(start, token, end)| {
            format!("{token:?} {}", &text[start as usize..end as usize])
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_number_ends_where_its_fraction_or_exponent_is_incomplete() {
        assert_eq!(
            tokens("12 1.5 .5 1. 1e5 1.5E-3"),
            "Integer 12, Float 1.5, Float .5, Float 1., Float 1e5, Float 1.5E-3"
        );
        assert_eq!(
            tokens("1e 1e+ 1.e"),
            "Integer 1, Identifier e, Integer 1, Identifier e, Plus +, Float 1., Identifier e"
        );
        assert_eq!(tokens("1.2.3"), "Float 1.2, Float .3");
    }

    #[test]
    fn a_text_ends_at_its_own_quote_and_only_quotes_and_backslashes_are_escaped() {
        assert_eq!(tokens(r#"'a"b' "it\'s" '\\'"#), r#"Text 'a"b', Text "it\'s", Text '\\'"#);
        assert_eq!(tokens(r"'a\q' + 1"), r"Strange 'a\q', Plus +, Integer 1");
        assert_eq!(tokens("1 + 'open"), "Integer 1, Plus +, Strange 'open");
    }

    #[test]
    fn the_longest_sign_and_the_whole_word_count() {
        assert_eq!(
            tokens("a<=b==c&&d"),
            "Identifier a, LessEqual <=, Identifier b, Equal ==, Identifier c, And &&, Identifier d"
        );
        assert_eq!(
            tokens("a & order or _$1é"),
            "Identifier a, Strange &, Identifier order, Or or, Identifier _$1é"
        );
        assert_eq!(tokens("wf : conf ('x') }"), "Function wf : conf, Open (, Text 'x', Close )");
    }
}
