//! Properties whose name is nearly the one that is read.

use crate::diag::{Diagnostic, Fault, Kind};
use crate::source::Span;

/// The end of the note at a line that sets a similar name; the name comes before it.
pub(crate) const SET_HERE: &str = "is set here, but nothing reads it";

/// Returns the finding at a line of properties that sets `set`, while `wanted` is read.
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
