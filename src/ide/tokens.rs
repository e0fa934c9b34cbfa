//! Semantic tokens for highlighting expressions: functions, variables, names, numbers, operators.

use super::document::{Document, Kind};
use super::names::{Role, Symbol};
use crate::lint::reads::expressions;
use crate::source::Span;

/// The type of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenKind {
    /// `${`, `}` and operators, including words such as `eq`.
    Operator,
    /// A function.
    Function,
    /// A property, as a variable or by name.
    Variable,
    /// A string literal.
    Text,
    /// A number.
    Number,
    /// The name of a node, a dataset, a credential.
    Name,
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its span, within one line.
    pub span: Span,
    /// Its type.
    pub kind: TokenKind,
    /// Whether the name is defined here.
    pub is_definition: bool,
}

/// The keywords of the expression language.
const WORDS: [&str; 16] = [
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
];

/// The tokens of a document, in order, not overlapping.
pub(super) fn tokens(document: &Document) -> Vec<Token> {
    if matches!(document.kind(), Kind::Settings | Kind::Scenario | Kind::Other) {
        return Vec::new();
    }
    let mut tokens: Vec<Token> = Vec::new();
    for name in document.names() {
        let kind = match name.symbol {
            Symbol::Function => TokenKind::Function,
            Symbol::Property => TokenKind::Variable,
            _ => TokenKind::Name,
        };
        let plain = !document.slice(name.span).contains(['\n', '\r']);
        if plain {
            let is_definition = name.role == Role::Definition;
            tokens.push(Token { span: name.span, kind, is_definition });
        }
    }
    let known = tokens.len();
    let text = document.text();
    for range in expressions(text) {
        lex(text, range, &mut tokens);
    }
    // A significant name takes precedence over the tokens it overlaps.
    let mut ranked: Vec<(usize, Token)> = tokens.into_iter().enumerate().collect();
    ranked.sort_by_key(|(at, token)| (token.span.start, *at >= known));
    let mut out: Vec<Token> = Vec::new();
    for (_, token) in ranked {
        if out.last().is_none_or(|last| last.span.end <= token.span.start) {
            out.push(token);
        }
    }
    out
}

/// Tokenizes one expression, from `${` to `}`, as written: `&gt;` is an operator.
fn lex(text: &str, range: std::ops::Range<usize>, tokens: &mut Vec<Token>) {
    let mut add = |start: usize, end: usize, kind: TokenKind| {
        if start < end {
            tokens.push(Token { span: Span::new(start, end), kind, is_definition: false });
        }
    };
    add(range.start, (range.start + 2).min(range.end), TokenKind::Operator);
    let mut at = (range.start + 2).min(range.end);
    while at < range.end {
        let rest = &text[at..range.end];
        let Some(first) = rest.chars().next() else { break };
        let taken = |is: &dyn Fn(char) -> bool| rest.len() - rest.trim_start_matches(is).len();
        let length = match first {
            '\'' | '"' => {
                let end =
                    rest[1..].find([first, '\n', '\r', '<']).map_or(rest.len(), |end| end + 1);
                let whole = end + usize::from(rest[end..].starts_with(first));
                // The quotes are separate tokens because the name between them may have its own.
                add(at, at + 1, TokenKind::Text);
                add(at + 1, at + end, TokenKind::Text);
                add(at + end, at + whole, TokenKind::Text);
                whole
            }
            c if c.is_ascii_digit() => {
                let length = taken(&|c| c.is_ascii_digit() || c == '.');
                add(at, at + length, TokenKind::Number);
                length
            }
            c if c.is_alphabetic() || c == '_' => {
                let length = taken(&|c| c.is_alphanumeric() || c == '_' || c == ':');
                if WORDS.contains(&&rest[..length]) {
                    add(at, at + length, TokenKind::Operator);
                }
                length
            }
            '&' => {
                let length = rest.find(';').map_or(1, |end| end + 1);
                add(at, at + length, TokenKind::Operator);
                length
            }
            '}' | '+' | '-' | '*' | '/' | '%' | '=' | '!' | '<' | '>' | '|' | '?' => {
                add(at, at + 1, TokenKind::Operator);
                1
            }
            c => c.len_utf8(),
        };
        at += length.max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn expressions_are_colored_and_names_with_them() {
        let (snapshot, path, _) = testing::workflow(
            "|<kill name='k'><message>${wf:errorCode('k') eq 1 &amp;&amp; x}</message></kill>",
        );
        let document = snapshot.document(&path).unwrap();
        let tokens = snapshot.semantic_tokens(&path);
        let of = |kind| {
            let tokens = tokens.iter().filter(move |token: &&Token| token.kind == kind);
            tokens.map(|token| document.slice(token.span)).collect::<Vec<_>>()
        };
        assert_eq!(of(TokenKind::Name), ["k", "k"]);
        assert_eq!(of(TokenKind::Function), ["wf:errorCode"]);
        assert_eq!(of(TokenKind::Variable), ["x"]);
        assert_eq!(of(TokenKind::Number), ["1"]);
        assert_eq!(of(TokenKind::Operator), ["${", "eq", "&amp;", "&amp;", "}"]);
        assert!(tokens.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start));
    }
}
