//! A value as written: known, an expression, or broken.

use std::ops::Range;

use crate::source::Span;
use crate::syntax::xml::{AttributeRef, Decoded, Element};

/// How much is known of a value before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is what is written.
    Known,
    /// It holds `${…}`, so it is decided in a run.
    Expr,
    /// Its quotes, or its value, are missing: what is written is a guess.
    Broken,
}

/// A text from an attribute or an element, with a way back to where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar<'a> {
    /// How much is known of it.
    pub state: State,
    /// The decoded text: an attribute's as it is, an element's without the blanks around it.
    pub text: Decoded<'a>,
}

impl<'a> Scalar<'a> {
    /// The value of an attribute.
    pub fn of_attribute(attribute: AttributeRef<'_, 'a>) -> Scalar<'a> {
        let text = attribute.value();
        let state = if attribute.is_quoted() { state(&text.text) } else { State::Broken };
        Scalar { state, text }
    }

    /// The text of an element, trimmed as the server trims it.
    pub fn of_element(element: Element<'_, 'a>) -> Scalar<'a> {
        Scalar::of_text(element.text().trimmed())
    }

    /// A decoded text.
    pub fn of_text(text: Decoded<'a>) -> Scalar<'a> {
        Scalar { state: state(&text.text), text }
    }

    /// The decoded text.
    pub fn as_str(&self) -> &str {
        &self.text.text
    }

    /// The text, if a run cannot change it.
    pub fn known(&self) -> Option<&str> {
        (self.state == State::Known).then_some(self.as_str())
    }

    /// Whether it holds an expression.
    pub fn is_expr(&self) -> bool {
        self.state == State::Expr
    }

    /// Whether nothing at all is written.
    pub fn is_empty(&self) -> bool {
        self.text.text.is_empty()
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        self.text.span()
    }

    /// Where a range of bytes of the decoded text is written.
    pub fn place(&self, range: Range<usize>) -> Span {
        self.text.source(range)
    }
}

fn state(text: &str) -> State {
    if text.contains("${") { State::Expr } else { State::Known }
}
