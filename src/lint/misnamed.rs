//! Properties whose name is nearly the one that is read.

use crate::diag::{Diagnostic, Fault, Kind};
use crate::lint::Facts;
use crate::source::{Source, Span};

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

/// Whether a property that `source` sets occurs nowhere else, while the similar name is known in several places: then
/// the property has the slip.
pub(crate) fn is_outnumbered(facts: &Facts<'_>, source: &Source, set: &str, wanted: &str) -> bool {
    let own = std::iter::once(("", facts.tree.text()));
    let others = facts.files.texts().filter(|other| other.path != facts.path);
    let texts = own.chain(others.map(|other| (other.path.as_str(), other.text.as_str())));
    let (mut known, mut alone) = (0, 0);
    for (path, text) in texts {
        match path.ends_with(".properties") {
            // What is commented out says nothing about what is in use.
            true => {
                for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', '!'])) {
                    known += times(line, wanted);
                    alone += times(line, set);
                }
            }
            false => {
                known += times(text, wanted);
                alone += times(text, set);
            }
        }
    }
    alone == 1 && known > 1 && source.text.contains(set)
}

/// The number of times that a text contains a name by itself.
fn times(text: &str, name: &str) -> usize {
    let is_part = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
    };
    let bytes = text.as_bytes();
    let places = memchr::memmem::find_iter(bytes, name);
    places
        .filter(|at| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            !is_part(before) && !is_part(bytes.get(at + name.len()))
        })
        .count()
}
