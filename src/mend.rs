//! Applying fixes until nothing changes, with a second look at every step.
//!
//! In: a snapshot of files, and a way to check it. Out: the files that changed, with what was mended and what was not.
//! A fix is a promise of its rule; here it is held to it. A step that makes a file ill-formed, turns an accepted
//! definition into a refused one, or brings a finding that was not there is taken back, and the fixes of it are tried
//! one by one, so that a bad one costs only itself.

use crate::check::Finding;
use crate::diag::{Fix, Level, Safety};
use crate::edit::{self, Batch};
use crate::files::Files;
use std::collections::{BTreeMap, BTreeSet};

/// How many checks one definition is worth.
const CHECKS: usize = 64;

/// What a check says of a snapshot.
#[derive(Debug, Default)]
pub struct State {
    /// Every finding that counts.
    pub findings: Vec<Finding>,
    /// Whether the definition is well-formed.
    pub well_formed: bool,
    /// Whether the target server would accept it; `None` where nobody asked.
    pub accepted: Option<bool>,
}

/// A fix that was applied or refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The file of the finding.
    pub path: String,
    /// The rule.
    pub rule: &'static str,
    /// What the fix does.
    pub title: String,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Mended {
    /// New texts by path.
    pub texts: BTreeMap<String, String>,
    /// In order.
    pub applied: Vec<Step>,
    /// Fixes that would have done harm.
    pub refused: BTreeSet<Step>,
}

/// Applies the first allowed fix of every finding, again and again. `check` must not depend on anything but the files.
pub fn settle(files: &Files, allowed: Safety, mut check: impl FnMut(&Files) -> State) -> Mended {
    let mut mended = Mended::default();
    let mut files = files.clone();
    let mut state = check(&files);
    let mut checks = 1;
    while checks < CHECKS {
        let candidates: Vec<(Step, &Fix)> = state
            .findings
            .iter()
            .filter_map(|finding| {
                let fix = finding.diagnostic.fixes.iter().find(|fix| fix.safety <= allowed)?;
                let rule = finding.diagnostic.kind.name;
                Some((Step { path: finding.path.clone(), rule, title: fix.title.clone() }, fix))
            })
            .filter(|(step, _)| !mended.refused.contains(step))
            .collect();
        let mut batch = Batch::new();
        let taken: Vec<&Step> = candidates
            .iter()
            .filter(|(step, fix)| batch.add(&step.path, fix).is_ok())
            .map(|(step, _)| step)
            .collect();
        let attempt = |batch: &Batch, check: &mut dyn FnMut(&Files) -> State| {
            let changed = applied(&files, batch)?;
            let after = check(&changed.0);
            does_no_harm(&state, &after).then_some((changed, after))
        };
        if taken.is_empty() {
            break;
        }
        checks += 1;
        let mut outcome = attempt(&batch, &mut check);
        let mut steps: Vec<Step> = taken.into_iter().cloned().collect();
        if outcome.is_none() {
            for (step, fix) in &candidates {
                let mut single = Batch::new();
                if single.add(&step.path, fix).is_ok() && checks < CHECKS {
                    checks += 1;
                    outcome = attempt(&single, &mut check);
                }
                if outcome.is_some() {
                    steps = vec![step.clone()];
                    break;
                }
                mended.refused.insert(step.clone());
            }
        }
        let Some(((changed, texts), after)) = outcome else { break };
        if texts.is_empty() {
            break;
        }
        files = changed;
        mended.texts.extend(texts);
        mended.applied.extend(steps);
        state = after;
    }
    mended
}

/// The snapshot with a batch applied, and the texts that are new; `None` where an edit does not fit.
fn applied(files: &Files, batch: &Batch) -> Option<(Files, BTreeMap<String, String>)> {
    let mut changed = files.clone();
    let mut texts = BTreeMap::new();
    for (path, edits) in batch.files() {
        let source = files.text(path)?;
        let text = edit::apply(&source.text, edits).ok()?;
        if text != source.text {
            changed.insert_text(path, text.clone());
            texts.insert(path.to_owned(), text);
        }
    }
    Some((changed, texts))
}

/// Whether nothing is worse than before.
fn does_no_harm(before: &State, after: &State) -> bool {
    if before.well_formed && !after.well_formed {
        return false;
    }
    if before.accepted == Some(true) && after.accepted == Some(false) {
        return false;
    }
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in &before.findings {
        *known.entry((finding.diagnostic.kind.name, &finding.diagnostic.message)).or_default() += 1;
    }
    // In a file that is refused already, one fault often hides the next: seeing it is no harm.
    let threshold = if before.accepted == Some(false) { None } else { Some(Level::Info) };
    let Some(threshold) = threshold else { return true };
    after.findings.iter().filter(|finding| finding.level > threshold).all(|finding| {
        let key = (finding.diagnostic.kind.name, finding.diagnostic.message.as_str());
        match known.get_mut(&key) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diagnostic, Group, Kind};
    use crate::source::Span;

    static KIND: Kind = Kind {
        name: "a-word",
        group: Group::Style,
        summary: "",
        level: Level::Warning,
        since: "",
        oozie: &[],
        fix: None,
        page: "",
    };

    /// Finds every `bad` and offers `good`; every `worse` and offers something that breaks the file.
    fn check(files: &Files) -> State {
        let text = &files.text("a").expect("a file").text;
        let find = |word: &'static str, offer: &'static str| {
            text.match_indices(word).map(move |(at, _)| {
                let span = Span::new(at, at + word.len());
                let diagnostic = Diagnostic::new(&KIND, span, word).fix(Fix::safe(
                    format!("Write {offer}"),
                    span,
                    offer,
                ));
                Finding { path: "a".to_owned(), level: Level::Warning, diagnostic }
            })
        };
        let findings = find("bad", "fair").chain(find("fair", "good")).chain(find("worse", "<"));
        State { findings: findings.collect(), well_formed: !text.contains('<'), accepted: None }
    }

    #[test]
    fn good_fixes_settle_and_a_bad_one_costs_only_itself() {
        let mut files = Files::new();
        files.insert_text("a", "worse fair fair");
        let mended = settle(&files, Safety::Safe, check);
        assert_eq!(mended.texts["a"], "worse good good");
        assert_eq!(mended.refused.len(), 1);
    }

    #[test]
    fn a_fix_that_brings_another_finding_is_refused() {
        let mut files = Files::new();
        files.insert_text("a", "bad");
        let mended = settle(&files, Safety::Safe, check);
        assert!(mended.texts.is_empty());
        assert_eq!(mended.refused.len(), 1);
    }

    #[test]
    fn guesses_wait_to_be_allowed() {
        let guess = |files: &Files| {
            let mut state = check(files);
            for finding in &mut state.findings {
                finding.diagnostic.fixes[0].safety = Safety::Guess;
            }
            state
        };
        let mut files = Files::new();
        files.insert_text("a", "fair");
        assert!(settle(&files, Safety::Safe, guess).texts.is_empty());
        assert_eq!(settle(&files, Safety::Guess, guess).texts["a"], "good");
    }
}
