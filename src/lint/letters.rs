//! Finds letters that look like digits, where only a number is possible.
//!

use super::facts::{Facts, Language, is_given};
use super::reads::How;
use crate::diag::{Diagnostic, Fix, Kind};
use crate::slips::LETTERS;
use crate::source::Span;
use foldhash::{HashSet, HashSetExt};

/// Functions whose only argument is a number.
const NUMBERED: [&str; 9] = [
    "coord:current",
    "coord:days",
    "coord:endOfDays",
    "coord:endOfMonths",
    "coord:future",
    "coord:hours",
    "coord:latest",
    "coord:minutes",
    "coord:months",
];

/// Finds letters in place of the number that a coordinator function takes: `${coord:current(O)}`. Returns their spans,
/// which are not variables.
pub(super) fn for_digits(
    kind: &'static Kind,
    facts: &Facts<'_>,
    out: &mut Vec<Diagnostic>,
) -> HashSet<Span> {
    let mut told = HashSet::new();
    if facts.language != Language::Coordinator {
        return told;
    }
    for place in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let Some((_, digit)) = LETTERS.iter().find(|(letter, _)| *letter == place.name) else {
            continue;
        };
        let (start, end) = (place.span.start as usize, place.span.end as usize);
        let text = facts.tree.text();
        let before = text[..start].trim_end_matches('-').strip_suffix('(').unwrap_or_default();
        let is_number = NUMBERED.iter().any(|function| before.ends_with(function));
        if !is_number || !text[end..].starts_with(')') || is_given(facts, &place.name) {
            continue;
        }
        told.insert(place.span);
        let message = format!("`{}` is a letter, so it is read as a variable", place.name);
        out.push(
            Diagnostic::new(kind, place.span, message)
                .likely()
                .did_you_mean(*digit)
                .fix(Fix::guess(format!("Write `{digit}`"), place.span, *digit)),
        );
    }
    told
}
