//! Sub-workflows that do not exist.

use crate::callers::is_slip_of_folder;
use crate::diag::{Diagnostic, Group, Kind, Level, nearest};
use crate::files::{self, Presence};
use crate::lint::facts::Said;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-not-found",
        group: Group::Names,
        summary: "a sub-workflow that is missing from the application",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/subworkflow-not-found.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut missing = Vec::new();
    let mut together = false;
    for action in facts.actions.iter().filter(|action| action.is(&["sub-workflow"])) {
        let Some(path) = action.text("app-path") else { continue };
        if let Some(lost) = facts.submission.lost.iter().find(|lost| lost.span == path.span()) {
            let message = format!("there is no workflow at {}", lost.words());
            let finding = Diagnostic::new(&RULE.kind, path.span(), message);
            // If the path comes from a property, the finding goes there.
            let finding = match Said::at(facts, &path) {
                Some(said) => said.place(facts, finding, "the workflow is named here"),
                None => finding,
            };
            out.push(match &lost.near {
                Some(near) => finding.did_you_mean(near),
                None => finding.help("the other applications lie beside it"),
            });
            continue;
        }
        if let Some(near) = nearly_beside(facts, &path) {
            let message = format!("there is no workflow at `{}`", path.text);
            let found = Diagnostic::new(&RULE.kind, path.span(), message).likely();
            out.push(found.did_you_mean(near));
            continue;
        }
        let Some(below) = path.text.strip_prefix("${wf:appPath()}/") else { continue };
        let below = below.trim_matches('/');
        if below.is_empty() || below.contains('$') {
            continue;
        }
        let Some(found) = facts.beside(below) else { continue };
        match facts.files.presence(&found) {
            Presence::Present => together = true,
            Presence::Absent => missing.push((path.span(), found)),
            Presence::Unknown => {}
        }
    }
    for (span, found) in missing {
        let folder = files::folder_of(&found);
        let skipped = if folder.is_empty() { 0 } else { folder.len() + 1 };
        let known = facts.files.below(folder).map(|(path, _)| path);
        let known = known.filter_map(|path| path.get(skipped..)?.split('/').next());
        let near = nearest(files::name_of(&found), known);
        if near.is_none() && !together {
            continue;
        }
        let message = format!("there is no `{found}`");
        let finding = Diagnostic::new(&RULE.kind, span, message);
        out.push(match near {
            Some(near) => finding.did_you_mean(near),
            None => finding.help("the other sub-workflows lie beside this definition"),
        });
    }
}

/// Returns the workflow in this folder whose name is similar to the last part of a path, if the path is not known to
/// start anything.
fn nearly_beside<'a>(facts: &Facts<'a>, path: &Decoded<'_>) -> Option<&'a str> {
    if facts.submission.starts.iter().any(|(place, _)| *place == path.span()) {
        return None;
    }
    let last = path.text.rsplit('/').next()?;
    let stem = last.strip_suffix(".xml").or_else(|| last.split_once('.').map(|(stem, _)| stem))?;
    let is_there = |name: &str| {
        facts.beside(name).is_some_and(|path| facts.files.presence(&path) != Presence::Absent)
    };
    if stem.contains(['$', '}']) || is_there(last) {
        return None;
    }
    let own = facts.folder();
    let mut near = facts.files.below(own).filter_map(|(path, _)| {
        let name = files::name_of(path);
        let is_near = files::folder_of(path) == own
            && path != facts.path
            && name.strip_suffix(".xml").is_some_and(|known| {
                known != stem && is_slip_of_folder(stem, known)
                    || known == stem && last != name
                    || is_slip_of_folder(last, name)
            });
        let text = is_near.then(|| facts.files.text(path)).flatten()?;
        text.text.contains("<workflow-app").then_some(name)
    });
    near.next().filter(|_| near.next().is_none())
}
