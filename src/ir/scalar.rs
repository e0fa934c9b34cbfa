//! A value as written: known, an expression, or malformed.

use std::ops::Range;

use crate::source::{Slice, Span};
use crate::syntax::xml::{AttributeRef, Decoded, Element, Places, Tree};

/// Whether a value is known before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The value is the text as written.
    Known,
    /// It contains `${…}`, so it is determined during a run.
    Expr,
    /// Its quotes, or its value, are missing: the text is a guess.
    Broken,
}

impl State {
    fn of(text: &str) -> State {
        let bytes = text.as_bytes();
        let begins = |at: usize| bytes.get(at + 1) == Some(&b'{');
        match memchr::memchr_iter(b'$', bytes).any(begins) {
            true => State::Expr,
            false => State::Known,
        }
    }
}

/// A text from an attribute or an element, with a map back to its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// Whether the value is known.
    pub state: State,
    /// The decoded text; that of an element is trimmed.
    text: Slice,
    places: Places,
}

impl Scalar {
    /// Creates a scalar from the value of an attribute.
    pub fn of_attribute(attribute: AttributeRef<'_>) -> Scalar {
        let scalar = Scalar::new(attribute.tree(), attribute.value());
        match attribute.is_quoted() {
            true => scalar,
            false => Scalar { state: State::Broken, ..scalar },
        }
    }

    /// Creates a scalar from the text of an element, trimmed as the server trims it.
    pub fn of_element(element: Element<'_>) -> Scalar {
        Scalar::new(element.tree(), element.text().trimmed())
    }

    /// Creates a scalar from a text of another file, represented by the span `place` in this one.
    pub fn elsewhere(text: &str, place: Span) -> Scalar {
        Scalar { state: State::of(text), text: text.into(), places: Places::all_at(place) }
    }

    fn new(tree: &Tree, decoded: Decoded<'_>) -> Scalar {
        let state = State::of(&decoded.text);
        Scalar { state, text: tree.keep(&decoded.text), places: decoded.places }
    }

    /// The decoded text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text, if it is known before a run.
    pub fn known(&self) -> Option<&str> {
        (self.state == State::Known).then_some(self.as_str())
    }

    /// Whether it contains an expression.
    pub fn is_expr(&self) -> bool {
        self.state == State::Expr
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The span of the text in the source.
    pub fn span(&self) -> Span {
        self.places.span()
    }

    /// The span in the source of a byte range of the decoded text.
    pub fn place(&self, range: Range<usize>) -> Span {
        self.places.source(&self.text, range)
    }
}
