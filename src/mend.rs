//! Applies fixes until nothing changes, and checks every step.
//!
//! Takes a snapshot of files and a function that checks it; returns the changed files with the fixes that were applied
//! and those that were refused. A fix is a promise of its rule, which is verified here. A step that makes a file
//! ill-formed, turns an accepted definition into a refused one, or adds a new finding is undone, and its fixes are
//! tried one by one, so that a bad one affects only itself. If only safe fixes are allowed, a step must be `proved`:
//! the files mean the same before and after, except for the repaired fault.

use crate::check::Finding;
use crate::diag::{Confidence, Fix, Level, Safety};
use crate::edit::{self, Batch};
use crate::emit::compare::{Change, compare, compare_properties};
use crate::files::Files;
use crate::source::Span;
use crate::syntax::properties;
use crate::syntax::xml::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of checks spent on one definition.
const CHECKS: usize = 64;

/// The result of checking a snapshot.
#[derive(Debug, Default)]
pub struct State {
    /// The findings that may be fixed.
    pub findings: Vec<Finding>,
    /// The other findings: they are not fixed, but no fix may add to them.
    pub left: Vec<Finding>,
    /// Whether the definition is well-formed.
    pub well_formed: bool,
    /// Whether the target server would accept it; `None` if this was not computed.
    pub accepted: Option<bool>,
}

/// A fix that was applied or refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// The file of the finding.
    pub path: String,
    /// The rule of the finding.
    pub rule: &'static str,
    /// What the fix does.
    pub title: String,
}

/// The result of [`settle`].
#[derive(Debug, Default)]
pub struct Mended {
    /// New texts by path.
    pub texts: BTreeMap<String, String>,
    /// The fixes that were applied, in order.
    pub applied: Vec<Step>,
    /// Fixes that were not applied, with the reason.
    pub refused: BTreeMap<Step, String>,
}

/// A fix to be proved safe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'a> {
    /// The file of the finding.
    pub path: &'a str,
    /// The fix.
    pub fix: &'a Fix,
    /// Whether the definition is refused, or certainly fails, because of the fault.
    pub is_fault: bool,
}

/// Proves that changed files mean the same except for the faults that the fixes repair. Called before a safe fix is
/// applied.
///
/// # Errors
/// A sentence that says what else would change.
pub(crate) fn proved(
    files: &Files,
    texts: &BTreeMap<String, String>,
    claims: &[Claim<'_>],
) -> Result<(), String> {
    for (path, after) in texts {
        let Some(before) = files.text(path) else { continue };
        let edits = claims
            .iter()
            .filter(|claim| claim.is_fault)
            .flat_map(|claim| {
                claim
                    .fix
                    .edits
                    .iter()
                    .map(|edit| (edit.file.as_deref().unwrap_or(claim.path), edit.span))
            })
            .filter(|(file, _)| file == path)
            .map(|(_, span)| span);
        let edits: Vec<Span> = edits.collect();
        let changes = if path.ends_with(".properties") {
            let entries = |text: &str| properties::parse(text).entries;
            compare_properties(&entries(&before.text), &entries(after))
        } else if Tree::parse(&before.text).0.root().is_some() {
            let changes = compare(&before.text, after);
            let repaired = repaired(&before.text, &edits);
            changes.into_iter().filter(|change| !repaired(change)).collect()
        } else if edits.is_empty() && *before.text != *after {
            return Err(format!("`{path}` would hold something else"));
        } else {
            Vec::new()
        };
        if let Some(change) = changes.first() {
            let what = change.what.as_deref().map(|what| format!(", {what}")).unwrap_or_default();
            return Err(format!("it would change what `{path}` means: {}{what}", change.part));
        }
    }
    Ok(())
}

/// Returns a predicate for changes in the parts in which faults are repaired.
fn repaired(before: &str, edits: &[Span]) -> impl Fn(&Change) -> bool {
    let (tree, _) = Tree::parse_tolerantly(before);
    let mut parts: Vec<Span> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut of_root = false;
    if let Some(root) = tree.root() {
        let sections = root.elements().flat_map(|child| child.elements()).collect::<Vec<_>>();
        for edit in edits {
            let hit = |span: Span| span.start <= edit.start && edit.end <= span.end;
            let top = root.elements().find(|child| hit(child.span()));
            of_root |= top.is_none();
            for part in
                top.into_iter().chain(sections.iter().copied().filter(|part| hit(part.span())))
            {
                parts.push(part.span());
                let name = part.attribute("name").map(|name| name.value().text.into_owned());
                names.insert(
                    format!("{} {}", part.name(), name.unwrap_or_default()).trim().to_owned(),
                );
            }
        }
    }
    move |change: &Change| {
        let inside =
            |at: Span| parts.iter().any(|part| part.start <= at.start && at.end <= part.end);
        of_root || change.old_at.is_some_and(inside) || names.contains(&change.part)
    }
}

/// Applies the first allowed fix of every finding, repeatedly. The result of `check` must depend on nothing but the
/// files.
pub fn settle(files: &Files, allowed: Safety, mut check: impl FnMut(&Files) -> State) -> Mended {
    let mut mended = Mended::default();
    let mut files = files.clone();
    let mut state = check(&files);
    let mut checks = 1;
    while checks < CHECKS {
        let candidates: Vec<(Step, &Fix, bool)> = state
            .findings
            .iter()
            .filter_map(|finding| {
                let fix = finding.diagnostic.fixes.iter().find(|fix| fix.safety <= allowed)?;
                let rule = finding.diagnostic.kind.name;
                let is_fault = finding.level == Level::Error
                    && finding.diagnostic.confidence == Confidence::Certain;
                let step = Step { path: finding.path.clone(), rule, title: fix.title.clone() };
                Some((step, fix, is_fault))
            })
            .filter(|(step, ..)| !mended.refused.contains_key(step))
            .collect();
        let mut batch = Batch::new();
        let taken: Vec<&(Step, &Fix, bool)> =
            candidates.iter().filter(|(step, fix, _)| batch.add(&step.path, fix).is_ok()).collect();
        type Check<'c> = &'c mut dyn FnMut(&Files) -> State;
        let attempt = |batch: &Batch, taken: &[&(Step, &Fix, bool)], check: Check<'_>| {
            let changed = applied(&files, batch).ok_or("it does not fit the text")?;
            if allowed == Safety::Safe {
                let claim = |(step, fix, is_fault): &&(Step, &'_ Fix, bool)| {
                    (step.path.clone(), (*fix).clone(), *is_fault)
                };
                let owned: Vec<_> = taken.iter().map(claim).collect();
                let claims: Vec<Claim<'_>> = owned
                    .iter()
                    .map(|(path, fix, is_fault)| Claim { path, fix, is_fault: *is_fault })
                    .collect();
                proved(&files, &changed.1, &claims)?;
            }
            let after = check(&changed.0);
            match does_no_harm(&state, &after) {
                true => Ok((changed, after)),
                false => Err("it would bring another finding".to_owned()),
            }
        };
        if taken.is_empty() {
            break;
        }
        checks += 1;
        let mut outcome = attempt(&batch, &taken, &mut check).ok();
        let mut steps: Vec<Step> = taken.into_iter().map(|(step, ..)| step.clone()).collect();
        if outcome.is_none() {
            for candidate in &candidates {
                let (step, fix, _) = candidate;
                let mut single = Batch::new();
                let mut why = "there was no time left to try it".to_owned();
                if single.add(&step.path, fix).is_ok() && checks < CHECKS {
                    checks += 1;
                    match attempt(&single, &[candidate], &mut check) {
                        Ok(found) => outcome = Some(found),
                        Err(reason) => why = reason,
                    }
                }
                if outcome.is_some() {
                    steps = vec![step.clone()];
                    break;
                }
                mended.refused.insert(step.clone(), why);
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

/// The snapshot with a batch applied, and the changed texts; `None` if an edit does not fit.
fn applied(files: &Files, batch: &Batch) -> Option<(Files, BTreeMap<String, String>)> {
    let mut changed = files.clone();
    let mut texts = BTreeMap::new();
    for (path, edits) in batch.files() {
        let source = files.text(path)?;
        let text = edit::apply(&source.text, edits).ok()?;
        if text != *source.text {
            changed.insert_text(path, text.clone());
            texts.insert(path.to_owned(), text);
        }
    }
    Some((changed, texts))
}

/// Whether the state is no worse than before.
fn does_no_harm(before: &State, after: &State) -> bool {
    if before.well_formed && !after.well_formed {
        return false;
    }
    if before.accepted == Some(true) && after.accepted == Some(false) {
        return false;
    }
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in before.findings.iter().chain(&before.left) {
        *known.entry((finding.diagnostic.kind.name, &finding.diagnostic.message)).or_default() += 1;
    }
    // In a file that is refused already, one fault often hides another: revealing it does no harm.
    let threshold = if before.accepted == Some(false) { None } else { Some(Level::Info) };
    let Some(threshold) = threshold else { return true };
    let all = after.findings.iter().chain(&after.left);
    all.filter(|finding| finding.level > threshold).all(|finding| {
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

    /// Reports every `bad` with the fix `good`, and every `worse` with a fix that breaks the file.
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
                Finding { path: "a".to_owned(), level: Level::Error, diagnostic }
            })
        };
        let findings = find("bad", "fair").chain(find("fair", "good")).chain(find("worse", "<"));
        State { findings: findings.collect(), well_formed: !text.contains('<'), ..State::default() }
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
    fn a_safe_fix_that_changes_the_meaning_is_refused_with_the_reason() {
        let text = "<workflow-app name='w'><start to='bad'/><action name='bad'/></workflow-app>";
        let files = || {
            let mut files = Files::new();
            files.insert_text("a", text);
            files
        };
        let check = |files: &Files, level: Level| {
            let mut state = check(files);
            state.findings.retain(|finding| finding.diagnostic.message == "bad");
            state.findings.iter_mut().for_each(|finding| finding.level = level);
            state.well_formed = true;
            state
        };
        let mended = settle(&files(), Safety::Safe, |files| check(files, Level::Warning));
        assert!(mended.texts.is_empty());
        let why = mended.refused.values().next().expect("it was refused");
        assert!(why.contains("would change what `a` means"), "{why}");
        // If the definition certainly fails, the fix may change the faulty part.
        let mended = settle(&files(), Safety::Safe, |files| check(files, Level::Error));
        assert!(mended.texts["a"].contains("to='fair'"), "{:?}", mended.refused);
    }

    #[test]
    fn what_is_left_alone_stays_and_counts() {
        let mut files = Files::new();
        files.insert_text("a", "bad worse");
        let leaving = |files: &Files| {
            let mut state = check(files);
            let is_left = |finding: &Finding| finding.diagnostic.message == "bad";
            state.left = state.findings.extract_if(.., |finding| is_left(finding)).collect();
            state
        };
        let mended = settle(&files, Safety::Safe, leaving);
        assert!(mended.texts.is_empty() && mended.refused.len() == 1);
        files.insert_text("a", "bad fair");
        assert_eq!(settle(&files, Safety::Safe, leaving).texts["a"], "bad good");
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
