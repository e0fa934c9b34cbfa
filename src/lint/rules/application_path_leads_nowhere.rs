//! Application paths in properties that lead nowhere.

use super::malformed_resource_manager::names_manager;
use crate::callers::{is_slip_of_folder, resolved};
use crate::diag::{Diagnostic, Group, Kind, Level, nearest};
use crate::files::{self, Presence};
use crate::lint::facts::PATH_KEYS;
use crate::lint::paths::is_port;
use crate::lint::{Facts, Language, Rule};
use crate::source::Source;
use crate::syntax::properties::{self, Entry};
use std::sync::Arc;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-leads-nowhere",
        group: Group::Parameters,
        summary: "properties name an application that is not the one next to them",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-leads-nowhere.md"),
    },
    check,
};

const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];
const KINDS: [&str; 3] = ["workflow", "coordinator", "bundle"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let own = facts.folder();
    let here = |name: &str| {
        let path = files::join(own, name)?;
        Some(facts.files.presence(&path) != Presence::Absent)
    };
    for (source, entries) in facts.near_files() {
        misnamed_file(facts, source, entries, out);
    }
    // Other properties files that are known to start the definition.
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
            misnamed_file(facts, source, &entries, out);
            of_another_kind(facts, source, &entries, out);
            continue;
        }
        let kinds: Vec<(usize, &Entry)> = entries
            .iter()
            .filter_map(|entry| Some((PATH_KEYS.iter().position(|key| *key == entry.name)?, entry)))
            .collect();
        // Several application paths are reported by another rule.
        let [(index, entry)] = kinds[..] else { continue };
        let value = entry.value.trim().trim_end_matches('/');
        if is_address(value) {
            let message =
                format!("the value of `{}` is the address of a host, not a path", entry.name);
            let mut found = Diagnostic::new(&RULE.kind, entry.value_span, message).likely();
            // The property that has the path instead is wrong for the same reason.
            let other = entries.iter().find(|other| {
                names_manager(&other.name)
                    && other.value.trim().trim_start_matches("${").contains('/')
            });
            if let Some(other) = other {
                found = found.note_in(source.path.clone(), other.value_span, "the path is here");
                found.explains = Some(other.value_span);
            }
            out.push(found.in_file(source.path.clone()));
            continue;
        }
        let (folder, last) = value.rsplit_once('/').unwrap_or(("", value));
        let own_name = files::name_of(own);
        // A misspelled file name of a definition, or a misspelled name of this folder. The deployed folder may well
        // differ in case.
        let is_slip = |name: &str, known: &str| {
            is_slip_of_folder(name, known) && !name.eq_ignore_ascii_case(known)
        };
        let slip = |known: &str| is_slip(last, known);
        let file = NAMES.into_iter().find(|name| *name != last && slip(name));
        let named = of_words(index, last).filter(|other| {
            let says = files::name_of(&source.path).contains(KINDS[*other]);
            here(NAMES[*other]) == Some(true) && (says || here(NAMES[index]) == Some(false))
        });
        let message = if let Some(other) = named {
            (
                format!(
                    "`{}` names a {}, but its path ends with `{last}`",
                    entry.name, KINDS[index]
                ),
                format!("the `{}` here is named with `{}`", NAMES[other], PATH_KEYS[other]),
            )
        } else if let Some(near) = file.filter(|name| here(name) == Some(true)) {
            (format!("there is no `{last}` here"), format!("did you mean `{near}`?"))
        } else if !last.contains(['$', '.']) && slip(own_name) && here(NAMES[index]) == Some(true) {
            let message = format!("the folder of this application is `{own_name}`, not `{last}`");
            (message, format!("did you mean `{own_name}`?"))
        } else if last.ends_with(".xml")
            && !last.contains('$')
            && here(last) == Some(true)
            && is_slip(files::name_of(folder), own_name)
        {
            // The definition is next to these properties, in a folder with a similar name.
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
            // If the path leads to this very folder, its definition is meant, regardless of the file name in the path.
            let leads_here = !own_name.is_empty() && own_name == files::name_of(folder);
            let only = (leads_here && here(NAMES[index]) == Some(true)).then_some(NAMES[index]);
            let Some(near) = near.or(only) else { continue };
            (format!("there is no `{last}` here"), format!("did you mean `{near}`?"))
        } else if let Some(near) = numbered(facts, index, last) {
            (format!("there is no `{last}` here"), format!("did you mean `{near}`?"))
        } else if own_name == last || NAMES.contains(&last) && own_name == files::name_of(folder) {
            // The folder is this one, but has only definitions of other kinds.
            let others: Vec<usize> = (0..3).filter(|at| here(NAMES[*at]) == Some(true)).collect();
            let [other] = others[..] else { continue };
            if other == index || NAMES.contains(&last) && last == NAMES[other] {
                continue;
            }
            (
                format!("`{}` names a folder without a `{}`", entry.name, NAMES[index]),
                format!("the `{}` here is named with `{}`", NAMES[other], PATH_KEYS[other]),
            )
        } else if let Some(other) = lone_kind(facts, index, last, &entries) {
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

/// Returns the name of the only definition here of the kind that a path names, if the path ends with a default file name
/// and that definition has the same name with a number.
fn numbered<'f>(facts: &'f Facts<'_>, index: usize, last: &str) -> Option<&'f str> {
    if last != NAMES[index] {
        return None;
    }
    let own = facts.folder();
    let tag = format!("<{}-app", KINDS[index]);
    let beside = facts.files.texts().filter(|source| files::folder_of(&source.path) == own);
    let mut same =
        beside.filter(|source| source.path.ends_with(".xml") && source.text.contains(&tag));
    let (Some(only), None) = (same.next(), same.next()) else { return None };
    let name = files::name_of(&only.path);
    let number = name.strip_suffix(".xml")?.strip_prefix(KINDS[index])?;
    let digits = number.trim_start_matches(['-', '_', '.']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}

/// Reports a path that ends with the misspelled file name of this definition, in properties elsewhere in the tree.
fn misnamed_file(
    facts: &Facts<'_>,
    source: &Arc<Source>,
    entries: &[Entry],
    out: &mut Vec<Diagnostic>,
) {
    let own = files::name_of(facts.path);
    let key = match facts.language {
        Language::Workflow => PATH_KEYS[0],
        Language::Coordinator => PATH_KEYS[1],
        Language::Bundle => PATH_KEYS[2],
        _ => return,
    };
    let mut paths = entries.iter().filter(|entry| PATH_KEYS.contains(&entry.name.as_str()));
    let (Some(entry), None) = (paths.next(), paths.next()) else { return };
    let last = files::name_of(entry.value.trim());
    let is_file = last.ends_with(".xml") && !last.contains('$') && !NAMES.contains(&last);
    let is_slip = is_slip_of_folder(last, own) && !own.eq_ignore_ascii_case(last);
    let folder = files::folder_of(&source.path);
    let mut below = facts.files.below(folder).map(|(path, _)| files::name_of(path));
    if entry.name != key || !is_file || !is_slip || below.any(|name| name == last) {
        return;
    }
    let message = "this path ends with a file name that no definition nearby has";
    let found = Diagnostic::new(&RULE.kind, entry.value_span, message).likely();
    out.push(found.did_you_mean(own).in_file(source.path.clone()));
}

/// Whether a value is the address of a host: `rm.example.com:8032`.
fn is_address(value: &str) -> bool {
    let parts = value.rsplit_once(':').filter(|_| !value.contains(['/', '$', '@', '#', '{', '<']));
    parts.is_some_and(|(host, port)| !host.is_empty() && !port.is_empty() && is_port(port))
}

/// Returns the only kind of definition next to these properties, if they name a folder for another kind, of which there
/// is none.
fn lone_kind(facts: &Facts<'_>, index: usize, last: &str, entries: &[Entry]) -> Option<usize> {
    let own = facts.folder();
    let beside = facts.files.texts().filter(|source| files::folder_of(&source.path) == own);
    let mut others: Vec<usize> = Vec::new();
    for source in beside.filter(|source| source.path.ends_with(".xml")) {
        let root = |kind: &&str| source.text.contains(&format!("<{kind}-app"));
        let kind = KINDS.iter().position(root)?;
        // It may be the definition that is meant, regardless of its file name.
        if kind == index {
            return None;
        }
        others.push(kind);
    }
    let [other] = others[..] else { return None };
    // The deployed folder may be the parent of this one.
    let around = files::join(files::folder_of(own), NAMES[index]).filter(|_| !own.is_empty());
    if around.is_some_and(|path| facts.files.presence(&path) != Presence::Absent) {
        return None;
    }
    // Properties with times are for a coordinator, regardless of where it is.
    let is_time = |entry: &Entry| {
        let value = entry.value.trim().as_bytes();
        value.len() > 15 && value[..4].iter().all(u8::is_ascii_digit) && value[10] == b'T'
    };
    let of_times = index == 1 && entries.iter().any(is_time);
    let values = entries.iter().map(|entry| (entry.name.clone(), entry.value.clone())).collect();
    let whole = resolved(last, &values);
    let last = files::name_of(whole.trim_end_matches('/'));
    let is_folder = !last.contains(['.', '$']) && !last.is_empty();
    (is_folder && !of_times && facts.path.ends_with(NAMES[other])).then_some(other)
}

/// Returns the other kind of application that the last part of a path names.
fn of_words(index: usize, last: &str) -> Option<usize> {
    let stem = last.strip_suffix(".xml").unwrap_or(last);
    let at = KINDS.iter().position(|kind| *kind == stem)?;
    // A full file name is handled by the rule about wrong files.
    (at != index && !last.ends_with(".xml")).then_some(at)
}

/// Reports properties in the parent folder that name this folder with the wrong kind of application.
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
    // All definitions below the properties are of one other kind.
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
