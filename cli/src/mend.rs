//! Fixes applied to files: for `check --fix` and `upgrade`.
//!
//! The result of [`mend::settle`] for one definition is written before the next one is read if both change the same
//! file, so that two applications that share properties do not undo each other's fixes.

use super::Shell;
use super::check::count_of;
use super::diffs::{self, checked};
use ankus::baseline::Baseline;
use ankus::check::{self, Finding, Outcome, Report};
use ankus::diag::{Level, Safety};
use ankus::files::{Entry, Files};
use ankus::mend::{self, Mended, State};
use ankus::source::Source;
use ankus::syntax::xml::Tree;
use ankus_project::{Found, Given, Loaded, Project, encoded, seen_from, write};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The findings that are fixed: those that a check would report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The minimum level.
    pub(super) level: Level,
    /// The baseline whose findings are excluded.
    pub(super) baseline: Option<&'a (PathBuf, Baseline)>,
}

impl Asked<'_> {
    /// All findings.
    pub(super) const ALL: Asked<'static> = Asked { level: Level::Info, baseline: None };

    /// Splits the findings into those that are fixed, and the others.
    fn parted(&self, input: &check::Input<'_>, outcome: Outcome) -> (Vec<Finding>, Vec<Finding>) {
        let (all, mut listed) = match self.baseline {
            None => (outcome.findings, Vec::new()),
            Some((path, baseline)) => {
                let mut report = Report::default();
                report.add(input, outcome);
                let listed = baseline.listed(&report, &|seen| placed(path, seen));
                (report.findings, listed)
            }
        };
        listed.resize(all.len(), false);
        let (wanted, left): (Vec<_>, Vec<_>) = all
            .into_iter()
            .zip(listed)
            .partition(|(finding, listed)| finding.level >= self.level && !listed);
        let findings =
            |parted: Vec<(Finding, bool)>| parted.into_iter().map(|(one, _)| one).collect();
        (findings(wanted), findings(left))
    }
}

/// Converts a path of a report to the form in a baseline: relative to the baseline's folder.
pub(super) fn placed(baseline: &Path, seen: &str) -> String {
    seen_from(baseline.parent().unwrap_or(Path::new("")), seen)
}

/// The parameters for all definitions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work<'a> {
    pub(super) given: &'a Given,
    pub(super) project: &'a Project,
    pub(super) allowed: Safety,
    pub(super) asked: Asked<'a>,
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
pub(super) fn mended(
    project: &Project,
    loaded: &Loaded,
    given: &Given,
    allowed: Safety,
    asked: Asked<'_>,
) -> Mended {
    if loaded.not_text.is_some() || loaded.too_large.is_some() {
        return Mended::default();
    }
    let state = |files: &Files| {
        checked(project, loaded, files, given, |input, outcome| {
            let reference = outcome.file.reference.as_ref();
            let accepted = reference.map(|reference| reference.verdict.code.is_none());
            let (findings, left) = asked.parted(input, outcome);
            let well_formed = Tree::parse(&input.source.text).0.is_well_formed();
            State { findings, left, well_formed, accepted }
        })
    };
    mend::settle(&loaded.files, allowed, |files| state(files).unwrap_or_default())
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
                    let mended = self.mended(&loaded);
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
                        mended = self.mended(&loaded);
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

    fn mended(&self, loaded: &Loaded) -> Mended {
        mended(self.project, loaded, self.given, self.allowed, self.asked)
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
        // A fix may change several files: either all of them are written, or none.
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
            files.push((real, bytes));
        }
        if self.write {
            write::files(files.iter().map(|(real, bytes)| (real.as_path(), bytes.as_slice())))?;
            for path in mended.texts.keys() {
                let count = mended.applied.iter().filter(|step| step.path == *path).count();
                let what = match count {
                    0 => "what belongs to it".to_owned(),
                    count => count_of(count, "finding"),
                };
                shell.say(format!("mended {what} in {path}"));
            }
        } else {
            let instead = Some("use `--fix` to change the file");
            diffs::of_definition(self.project, loaded, self.given, &mended.texts, instead, shell)?;
        }
        changed.extend(mended.texts.clone());
        Ok(())
    }
}
