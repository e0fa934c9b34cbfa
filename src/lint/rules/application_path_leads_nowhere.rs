//! Application paths of properties that end at nothing.

use crate::callers::is_slip_of_folder;
use crate::diag::{Diagnostic, Group, Kind, Level, nearest};
use crate::files::{self, Presence};
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};
use crate::source::Source;
use crate::syntax::properties::{self, Entry};
use std::sync::Arc;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-leads-nowhere",
        group: Group::Parameters,
        summary: "properties name an application that is not the one beside them",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-leads-nowhere.md"),
    },
    check,
};

const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let own = facts.folder();
    let here = |name: &str| {
        let path = files::join(own, name)?;
        Some(facts.files.presence(&path) != Presence::Absent)
    };
    // Other files of properties beside it that are taken for one that starts it.
    let mut files = facts.property_files().to_vec();
    for caller in facts.submission.callers.iter().filter(|caller| caller.is_properties) {
        let is_known = files.iter().any(|(source, _)| source.path == caller.path);
        if let Some(source) = facts.files.text(&caller.path).filter(|_| !is_known) {
            files.push((source, properties::parse(&source.text).entries));
        }
    }
    for (source, entries) in files {
        let place = files::folder_of(&source.path);
        if place != own {
            of_another_kind(facts, source, &entries, out);
            continue;
        }
        let kinds: Vec<(usize, &Entry)> = entries
            .iter()
            .filter_map(|entry| Some((PATH_KEYS.iter().position(|key| *key == entry.name)?, entry)))
            .collect();
        // Whoever names several is told of that.
        let [(index, entry)] = kinds[..] else { continue };
        let value = entry.value.trim().trim_end_matches('/');
        let (folder, last) = value.rsplit_once('/').unwrap_or(("", value));
        let own_name = files::name_of(own);
        // A name of a definition with a slip in its ending, or the name of this folder with a slip in it.
        let slip = |known: &str| is_slip_of_folder(last, known);
        let file = NAMES.into_iter().find(|name| *name != last && slip(name));
        let message = if let Some(near) = file.filter(|name| here(name) == Some(true)) {
            (format!("there is no `{last}` here"), format!("did you mean `{near}`?"))
        } else if !last.contains(['$', '.']) && slip(own_name) && here(NAMES[index]) == Some(true) {
            let message = format!("the folder of this application is `{own_name}`, not `{last}`");
            (message, format!("did you mean `{own_name}`?"))
        } else if last.ends_with(".xml")
            && !last.contains('$')
            && here(last) == Some(true)
            && is_slip_of_folder(files::name_of(folder), own_name)
        {
            // The definition is beside these properties, in a folder of nearly that name.
            let named = files::name_of(folder);
            let message = format!("the folder of this application is `{own_name}`, not `{named}`");
            (message, format!("did you mean `{own_name}`?"))
        } else if last.ends_with(".xml") && !last.contains('$') && !NAMES.contains(&last) {
            if here(last) != Some(false) {
                continue;
            }
            let beside = facts.files.below(own).map(|(path, _)| path);
            let beside =
                beside.filter(|path| files::folder_of(path) == own && path.ends_with(".xml"));
            let near = nearest(last, beside.map(files::name_of));
            // Where the path leads to this very folder, its definition is meant, whatever it is called there.
            let leads_here = !own_name.is_empty() && own_name == files::name_of(folder);
            let only = (leads_here && here(NAMES[index]) == Some(true)).then_some(NAMES[index]);
            let Some(near) = near.or(only) else { continue };
            (format!("there is no `{last}` here"), format!("did you mean `{near}`?"))
        } else if own_name == last || NAMES.contains(&last) && own_name == files::name_of(folder) {
            // The folder is this one, and has definitions of other kinds alone.
            let others: Vec<usize> = (0..3).filter(|at| here(NAMES[*at]) == Some(true)).collect();
            let [other] = others[..] else { continue };
            if other == index || NAMES.contains(&last) && last == NAMES[other] {
                continue;
            }
            (
                format!("`{}` names a folder without a `{}`", entry.name, NAMES[index]),
                format!("the `{}` here is named with `{}`", NAMES[other], PATH_KEYS[other]),
            )
        } else {
            continue;
        };
        let finding = Diagnostic::new(&RULE.kind, entry.value_span, message.0);
        out.push(finding.likely().help(message.1).in_file(source.path.clone()));
    }
}

/// Properties in the folder above, which name it and the kind of application that it is not.
fn of_another_kind(
    facts: &Facts<'_>,
    source: &Arc<Source>,
    entries: &[Entry],
    out: &mut Vec<Diagnostic>,
) {
    let own = facts.folder();
    let place = files::folder_of(&source.path);
    let paths: Vec<(usize, &Entry)> = entries
        .iter()
        .filter_map(|entry| Some((PATH_KEYS.iter().position(|key| *key == entry.name)?, entry)))
        .collect();
    let [(index, entry)] = paths[..] else { return };
    let last = files::name_of(entry.value.trim().trim_end_matches('/'));
    if place.is_empty() || files::folder_of(own) != place || last != files::name_of(place) {
        return;
    }
    // Each definition below the properties is of one other kind.
    let below: Vec<&str> = facts.files.below(place).map(|(path, _)| files::name_of(path)).collect();
    let kinds: Vec<usize> = (0..3).filter(|at| below.contains(&NAMES[*at])).collect();
    let [other] = kinds[..] else { return };
    let count = below.iter().filter(|name| **name == NAMES[other]).count();
    if other == index || count != 1 || !facts.path.ends_with(NAMES[other]) {
        return;
    }
    let message = format!("`{}` names a folder without a `{}`", entry.name, NAMES[index]);
    let help = format!("the `{}` here is named with `{}`", NAMES[other], PATH_KEYS[other]);
    let finding = Diagnostic::new(&RULE.kind, entry.value_span, message);
    out.push(finding.likely().help(help).in_file(source.path.clone()));
}
