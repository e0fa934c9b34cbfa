//! Text between `${` and `}` to tokens.
//!
//! In: the text of a template and where an expression begins. Out: tokens with places, up to the brace that closes the
//! expression. Two things that the library decides by lookahead are decided here, so that the grammar needs one token:
//! a name that is called (`wf : conf (`), and the parameters of a lambda (`(a, b) ->`).

use logos::Logos;

use super::Dialect;

/// A token. Its text is where its place says; the grammar never needs it.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
pub(crate) enum Token {
    #[token("null")]
    Null,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[regex(r"[0-9]+")]
    Integer,
    #[regex(r"[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?")]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+")]
    Float,
    #[regex(r#"'([^'\\]|\\[\\'"])*'"#)]
    #[regex(r#""([^"\\]|\\[\\'"])*""#)]
    Text,
    #[regex(r"[$A-Z_a-z\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1fff}\u{3040}-\u{318f}\u{3300}-\u{337f}\u{3400}-\u{3d2d}\u{4e00}-\u{9fff}\u{f900}-\u{faff}][$0-9A-Z_a-z\u{c0}-\u{d6}\u{d8}-\u{f6}\u{f8}-\u{1fff}\u{3040}-\u{318f}\u{3300}-\u{337f}\u{3400}-\u{3d2d}\u{4e00}-\u{9fff}\u{f900}-\u{faff}]*")]
    Identifier,
    /// A name, with a prefix or without, that an opening parenthesis follows.
    Function,
    /// The one parameter of a lambda: `x` in `x -> x`.
    Parameter,
    /// The parenthesis that opens the parameters of a lambda.
    Parameters,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("?")]
    Question,
    #[token(";")]
    Semicolon,
    #[token("=")]
    Assign,
    #[token("->")]
    Arrow,
    #[token("+=")]
    Concatenate,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Times,
    #[token("/")]
    #[token("div")]
    Divide,
    #[token("%")]
    #[token("mod")]
    Modulo,
    #[token("==")]
    #[token("eq")]
    Equal,
    #[token("!=")]
    #[token("ne")]
    NotEqual,
    #[token("<")]
    #[token("lt")]
    Less,
    #[token(">")]
    #[token("gt")]
    Greater,
    #[token("<=")]
    #[token("le")]
    LessEqual,
    #[token(">=")]
    #[token("ge")]
    GreaterEqual,
    #[token("&&")]
    #[token("and")]
    And,
    #[token("||")]
    #[token("or")]
    Or,
    #[token("!")]
    #[token("not")]
    Not,
    #[token("empty")]
    Empty,
    /// Reserved and without a grammar.
    #[token("instanceof")]
    Instanceof,
    /// A character no token begins with, or a text that is not closed.
    Strange,
}

/// Whether a character may begin a name.
pub(crate) fn is_letter(character: char) -> bool {
    matches!(character, '$' | 'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{1fff}' | '\u{3040}'..='\u{318f}' | '\u{3300}'..='\u{337f}' | '\u{3400}'..='\u{3d2d}'
        | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Words that are no names for any dialect.
pub(crate) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "and"
            | "or"
            | "not"
            | "eq"
            | "ne"
            | "lt"
            | "gt"
            | "le"
            | "ge"
            | "div"
            | "mod"
            | "empty"
            | "true"
            | "false"
            | "null"
            | "instanceof"
    )
}

/// Words that [`Dialect::Tomcat`] takes from Java and refuses as names.
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

/// Tokens of one expression.
pub(crate) struct Lexer<'s> {
    text: &'s str,
    dialect: Dialect,
    /// Where the next token may begin.
    at: usize,
    inner: logos::Lexer<'s, Token>,
    /// Where `inner` began.
    base: usize,
    depth: u32,
    after_dot: bool,
    /// Offset of the closing brace.
    pub(crate) close: Option<usize>,
    /// Whether a text is not closed; what follows is unreadable then.
    pub(crate) open_text: Option<usize>,
    tokens: u32,
    limit: u32,
    /// Whether there were more tokens than an expression may have.
    pub(crate) too_long: bool,
}

impl<'s> Lexer<'s> {
    /// Reads the expression that begins at `start` (behind `${`).
    pub(crate) fn new(text: &'s str, start: usize, dialect: Dialect, limit: u32) -> Lexer<'s> {
        Lexer {
            text,
            dialect,
            at: start,
            inner: Token::lexer(&text[start..]),
            base: start,
            depth: 0,
            after_dot: false,
            close: None,
            open_text: None,
            tokens: 0,
            limit,
            too_long: false,
        }
    }

    /// Goes on behind `offset`.
    fn restart(&mut self, offset: usize) {
        self.base = offset;
        self.at = offset;
        self.inner = Token::lexer(&self.text[offset..]);
    }

    /// Offset of the first byte at or behind `offset` that is no blank.
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

    /// The token at `offset`, with its end.
    fn peek(&self, offset: usize) -> Option<(Token, usize, usize)> {
        let mut inner = Token::lexer(&self.text[offset..]);
        let token = inner.next()?.ok()?;
        let span = inner.span();
        Some((token, offset + span.start, offset + span.end))
    }

    /// What an identifier that ends at `end` stands for, and where the token ends.
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
        let mut inner = Token::lexer(&self.text[first..]);
        let mut wants_name = true;
        let mut any = false;
        loop {
            match inner.next() {
                Some(Ok(Token::Identifier)) if wants_name => {
                    wants_name = false;
                    any = true;
                }
                Some(Ok(Token::Comma)) if !wants_name => wants_name = true,
                Some(Ok(Token::Close)) if !wants_name || !any => break,
                _ => return false,
            }
        }
        matches!(inner.next(), Some(Ok(Token::Arrow)))
    }

    /// The end of an expression whose tokens nobody wants any more, as far as one can be made out.
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
        let token = self.inner.next()?;
        let span = self.inner.span();
        let (start, mut end) = (self.base + span.start, self.base + span.end);
        self.at = end;
        self.tokens += 1;
        if self.tokens > self.limit {
            self.too_long = true;
            return None;
        }
        let mut token = match token {
            Ok(token) => token,
            Err(()) if matches!(self.byte(start), b'\'' | b'"') => {
                // Of a text that is not closed, or has a backslash where none may be, only the quote is sure.
                let quote = self.byte(start);
                match string_end(&self.text[start..], quote) {
                    Some(length) => {
                        end = start + length;
                        self.restart(end);
                    }
                    None => self.open_text = Some(start),
                }
                self.after_dot = false;
                return Some((start as u32, Token::Strange, end as u32));
            }
            Err(()) if self.byte(start) == b'#' && self.dialect == Dialect::Commons => {
                // The older library counts `#` as a letter.
                match self.peek(start + 1) {
                    Some((Token::Identifier, at, name_end)) if at == start + 1 => {
                        end = name_end;
                        self.restart(end);
                        Token::Identifier
                    }
                    _ => Token::Strange,
                }
            }
            Err(()) => Token::Strange,
        };
        if token == Token::Instanceof && self.dialect == Dialect::Commons {
            token = Token::Identifier;
        }
        match token {
            Token::Identifier => {
                let (named, named_end) = self.named(end);
                token = named;
                if named_end != end {
                    end = named_end;
                    self.restart(end);
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

/// Length of a text whose escapes may be wrong, the quotes included.
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
