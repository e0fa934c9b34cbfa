//! A value as written: known, an expression, or broken.

use std::ops::Range;

use crate::source::{Slice, Span};
use crate::syntax::xml::{AttributeRef, Decoded, Element, Places, Tree};

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
pub struct Scalar {
    /// How much is known of it.
    pub state: State,
    /// The decoded text: an attribute's as it is, an element's without the blanks around it.
    text: Slice,
    places: Places,
}

impl Scalar {
    /// The value of an attribute.
    pub fn of_attribute(attribute: AttributeRef<'_>) -> Scalar {
        let scalar = Scalar::new(attribute.tree(), attribute.value());
        match attribute.is_quoted() {
            true => scalar,
            false => Scalar { state: State::Broken, ..scalar },
        }
    }

    /// The text of an element, trimmed as the server trims it.
    pub fn of_element(element: Element<'_>) -> Scalar {
        Scalar::new(element.tree(), element.text().trimmed())
    }

    /// A text of another file; `place` stands for it in this one.
    pub fn elsewhere(text: &str, place: Span) -> Scalar {
        let state = if text.contains("${") { State::Expr } else { State::Known };
        Scalar { state, text: text.into(), places: Places::all_at(place) }
    }

    fn new(tree: &Tree, decoded: Decoded<'_>) -> Scalar {
        let state = if decoded.text.contains("${") { State::Expr } else { State::Known };
        Scalar { state, text: tree.keep(&decoded.text), places: decoded.places }
    }

    /// The decoded text.
    pub fn as_str(&self) -> &str {
        &self.text
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
        self.text.is_empty()
    }

    /// Where it is written.
    pub fn span(&self) -> Span {
        self.places.span()
    }

    /// Where a range of bytes of the decoded text is written.
    pub fn place(&self, range: Range<usize>) -> Span {
        self.places.source(&self.text, range)
    }
}
