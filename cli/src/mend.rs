//! Fixes applied to files: for `check --fix` and `upgrade`.
//!
//! The result of [`mend::settle`] for one definition is written before the next one is read if both change the same
//! file, so that two applications that share properties do not undo each other's fixes.

use super::Shell;
use super::check::count_of;
use ankus::check;
use ankus::diag::Safety;
use ankus::edit;
use ankus::files::{Entry, Files};
use ankus::mend::{self, Mended, State};
use ankus::source::Source;
use ankus::syntax::xml::Tree;
use ankus_project::{Found, Given, Loaded, Project, encoded, limits, write};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The parameters for all definitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work<'a> {
    pub(super) given: &'a Given,
    pub(super) project: &'a Project,
    pub(super) allowed: Safety,
    /// Whether files are written; if not, the differences are printed.
    pub(super) write: bool,
}

/// Replaces the text of a loaded definition.
pub(super) fn set_text(loaded: &mut Loaded, text: String) {
    let source = Arc::new(Source::new(loaded.found.shown.clone(), text));
    loaded.source = Arc::clone(&source);
    loaded.files.insert(loaded.found.shown.clone(), Entry::Text(source));
}

/// Applies fixes to one definition and the files next to it, in memory.
pub(super) fn mended(project: &Project, loaded: &Loaded, given: &Given, allowed: Safety) -> Mended {
    if loaded.not_text.is_some() || loaded.too_large.is_some() {
        return Mended::default();
    }
    mend::settle(&loaded.files, allowed, |files| state(project, loaded, files, given))
}

/// Checks a definition whose files have the texts of a snapshot.
fn state(project: &Project, loaded: &Loaded, files: &Files, given: &Given) -> State {
    let found = &loaded.found;
    let Some(source) = files.text(&found.shown) else { return State::default() };
    let submission = if found.kind.is_definition() {
        let among = project.submission_among(given, &found.path, found.kind, files);
        among.unwrap_or_default()
    } else {
        loaded.submission.clone()
    };
    let input = check::Input { source, submission: &submission, files, ..loaded.input() };
    let outcome = limits::check_text(&input);
    let reference = outcome.file.reference.as_ref();
    State {
        accepted: reference.map(|reference| reference.verdict.code.is_none()),
        findings: outcome.findings,
        well_formed: Tree::parse(&source.text).0.is_well_formed(),
    }
}

impl Work<'_> {
    /// Fixes definitions in parallel; returns the number of files that changed, or would. A file that cannot be read or
    /// written stops only itself, and is one of the `failures`.
    pub(super) fn mend(
        &self,
        found: &[Found],
        adjust: impl Fn(Loaded) -> Loaded + Sync,
        failures: &mut Vec<String>,
        shell: &mut Shell,
    ) -> miette::Result<usize> {
        let mut changed: BTreeMap<String, String> = BTreeMap::new();
        for portion in found.chunks(256) {
            let mended: Vec<miette::Result<(Loaded, Mended)>> = portion
                .par_iter()
                .map(|found| {
                    let loaded = adjust(self.project.load(found, self.given, None)?);
                    let mended = mended(self.project, &loaded, self.given, self.allowed);
                    Ok((loaded, mended))
                })
                .collect();
            for each in mended {
                let kept = each.and_then(|(mut loaded, mut mended)| {
                    if mended.texts.keys().any(|path| changed.contains_key(path)) {
                        // The file was changed after it was read.
                        for (path, text) in &changed {
                            if loaded.files.text(path).is_some() {
                                loaded.files.insert_text(path.clone(), text.clone());
                            }
                        }
                        mended = self::mended(self.project, &loaded, self.given, self.allowed);
                    }
                    self.keep(&loaded, &mended, &mut changed, shell)
                });
                match kept {
                    Err(error) if found.len() == 1 => return Err(error),
                    Err(error) => failures.push(format!("{error:#}")),
                    Ok(()) => {}
                }
            }
        }
        Ok(changed.len())
    }

    fn keep(
        &self,
        loaded: &Loaded,
        mended: &Mended,
        changed: &mut BTreeMap<String, String>,
        shell: &mut Shell,
    ) -> miette::Result<()> {
        for (step, why) in &mended.refused {
            shell.say(format!("left {} in {} ({}): {why}", step.rule, step.path, step.title));
        }
        // A fix may change several files: all of them, or none.
        let mut files = Vec::new();
        for (path, text) in &mended.texts {
            let real = if *path == loaded.found.shown {
                loaded.found.path.clone()
            } else {
                PathBuf::from(path)
            };
            let Some(bytes) = encoded(&loaded.found.tree, &real, text)? else {
                let path = ankus::text::line(path);
                shell.say(format!(
                    "left `{path}`: it cannot be written in its encoding; save it as UTF-8 first"
                ));
                return Ok(());
            };
            files.push((path, text, real, bytes));
        }
        for (path, text, real, bytes) in files {
            if self.write {
                write::file(&real, &bytes)?;
                let count = mended.applied.iter().filter(|step| step.path == *path).count();
                let what = match count {
                    0 => "what belongs to it".to_owned(),
                    count => count_of(count, "finding"),
                };
                shell.say(format!("mended {what} in {path}"));
            } else {
                let before = loaded.files.text(path).map(|source| source.text.as_str());
                shell.out(edit::unified_diff(path, before.unwrap_or_default(), text))?;
            }
            changed.insert(path.clone(), text.clone());
        }
        Ok(())
    }
}
