//! Properties that are set under nearly the name that is read.

use crate::diag::{Diagnostic, Fault, Kind};
use crate::source::Span;

/// What a note says of the line that sets nearly the name that is read, behind the name that it sets.
pub(crate) const SET_HERE: &str = "is set here, but nothing reads it";

/// The finding at a line of properties that sets one name, where another one is read.
pub(crate) fn misnamed_key(
    kind: &'static Kind,
    place: Span,
    set: &str,
    wanted: &str,
) -> Diagnostic {
    let message = format!("nothing reads `{set}`, and nothing sets `{wanted}`");
    let found = Diagnostic::new(kind, place, message).of(Fault::Misnamed);
    found.naming([wanted, set]).did_you_mean(wanted)
}
