//! Finds misspelled paths that `prepare` deletes, by comparison with the action's outputs.

use super::RULE;
use crate::diag::{Diagnostic, is_mistyped};
use crate::lint::paths::behind_file_system;
use crate::lint::{Facts, endpoints};
use crate::syntax::xml::{Decoded, Element};

/// Minimum length of a name: a slip in a shorter word often results in another word.
const SHORTEST: usize = 4;
/// Maximum total number of compared paths.
const MOST_COMPARED: usize = 10_000;
/// Maximum number of names that are searched for in the text.
const MOST_SLIPS: usize = 50;

/// Reports deleted paths with one folder whose name is similar to that in an output of the same action.
pub(super) fn deleted(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let (mut patience, mut slips) = (MOST_COMPARED, MOST_SLIPS);
    for action in &facts.actions {
        let prepare = action.body.child("prepare").into_iter().flat_map(Element::elements);
        let deletes = prepare.filter(|element| element.is("delete"));
        let deleted: Vec<Decoded<'_>> =
            deletes.filter_map(|element| Some(element.attribute("path")?.value())).collect();
        if deleted.is_empty() {
            continue;
        }
        for (output, _) in endpoints::outputs(action) {
            let written = behind_file_system(&output).trim_end_matches('/');
            let path = |text: &Decoded<'_>| {
                behind_file_system(&text.text).trim_end_matches('/').to_owned()
            };
            if deleted.len() > patience || slips == 0 {
                return;
            }
            patience -= deleted.len();
            if deleted.iter().any(|text| path(text) == written) {
                continue;
            }
            for text in &deleted {
                let path = path(text);
                let Some((at, name, meant)) = one_slip(&path, written) else { continue };
                if slips == 0 {
                    return;
                }
                slips -= 1;
                // A name that also occurs elsewhere is a different folder.
                if facts.tree.text().matches(name).nth(1).is_some() {
                    continue;
                }
                let begins = text.text.rfind(path.as_str()).unwrap_or_default() + at;
                let span = text.source(begins..begins + name.len());
                let message = format!(
                    "`{name}` looks like a misspelling of `{meant}`, where this action writes"
                );
                let found = Diagnostic::new(&RULE.kind, span, message);
                out.push(found.likely().did_you_mean(meant));
            }
        }
    }
}

/// Returns the only part in which two paths differ, if it is by a slip: its offset and both names.
fn one_slip<'p>(path: &'p str, other: &'p str) -> Option<(usize, &'p str, &'p str)> {
    if path.matches('/').count() != other.matches('/').count() {
        return None;
    }
    let mut at = 0;
    let mut slip = None;
    for (part, meant) in path.split('/').zip(other.split('/')) {
        if part != meant {
            let is_plain = !part.contains(['$', '{', '*']) && part.len() >= SHORTEST;
            if slip.is_some() || !is_plain || !is_mistyped(part, meant) {
                return None;
            }
            slip = Some((at, part, meant));
        }
        at += part.len() + 1;
    }
    slip
}
