//! Finds slips by means of the files next to a definition, if nothing else shows what an application path leads to.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::across::Around;
use super::finding;
use super::kinds as k;
use super::passed::handed_on;
use crate::callers::is_slip_of_folder;
use crate::diag::{Diagnostic, within};
use crate::files::{Presence, folder_of, join, name_of};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::lint::reads;
use crate::slips;
use crate::source::Source;
use crate::syntax::properties;
use crate::syntax::xml::Tree;

/// Returns the file next to a definition that a misspelled path means: one with this root, whose name is similar to the
/// last part of the path.
pub(super) fn near<'f>(around: Around<'f>, path: &str, root: &str) -> Option<&'f str> {
    let last = path.trim().rsplit('/').next().filter(|last| last.ends_with(".xml"))?;
    let own = folder_of(around.path);
    let is_there = |path: &str| around.files.presence(path) != Presence::Absent;
    if last.contains('$') || is_there(&join(own, last)?) {
        return None;
    }
    let stem = |name: &'f str| name.strip_suffix(".xml").unwrap_or(name);
    let written = &last[..last.len() - 4];
    let tag = format!("<{root}");
    let beside = around.files.below(own).filter_map(|(path, _)| {
        let name = name_of(path);
        let is_beside = folder_of(path) == own && path != around.path && name.ends_with(".xml");
        let text = is_beside.then(|| around.files.text(path)).flatten()?;
        text.text.contains(&tag).then_some(name)
    });
    let all: Vec<&str> = beside.collect();
    let mut near = all.iter().copied().filter(|name| is_slip_of_folder(written, stem(name)));
    if let Some(near) = near.next().filter(|_| near.next().is_none()) {
        return Some(near);
    }
    // The only one may have been renamed to another form of the same word.
    let [only] = all[..] else { return None };
    let is_form = |one: &str, other: &str| {
        let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
        let rest = one.chars().count().max(other.chars().count()) - same;
        let is_letter = |c: char| c.is_ascii_alphabetic();
        same >= SHORTEST_STEM
            && rest <= LONGEST_ENDING
            && [one, other].iter().all(|name| name.chars().skip(same).all(is_letter))
    };
    is_form(written, stem(only)).then_some(only)
}

/// The shortest stem that two forms of a word share, and the longest ending that they differ in.
const SHORTEST_STEM: usize = 5;
const LONGEST_ENDING: usize = 3;

/// Returns the workflow next to a coordinator, if its name is that of the folder that the coordinator's path leads to.
pub(super) fn called_alike<'f>(path: &Scalar, around: Around<'f>) -> Option<&'f Arc<Source>> {
    let last = path.as_str().trim().trim_end_matches('/').rsplit('/').next()?;
    let workflow = around.files.text(&join(folder_of(around.path), "workflow.xml")?)?;
    if last.contains('$') || last.len() < 4 {
        return None;
    }
    let (tree, _) = Tree::of(&workflow.text);
    let root = tree.root().filter(|root| root.name() == "workflow-app")?;
    let name = root.attribute("name")?.value();
    (name.text == last).then_some(workflow)
}

/// Reports slips that show by comparison with the workflow next to a coordinator, if nothing else shows that it is the
/// one that is started: in the last folder of the path, which has the workflow's name, and in names of properties.
pub(super) fn names(
    written: &Coordinator,
    around: Around<'_>,
    beside: &Arc<Source>,
    out: &mut Vec<Diagnostic>,
) {
    let (tree, _) = Tree::of(&beside.text);
    let Some(root) = tree.root().filter(|root| root.name() == "workflow-app") else { return };
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let is_near = |one: &str, other: &str| {
        within(one, other, 1) == Some(1)
            && letters(one) != letters(other)
            && !one.eq_ignore_ascii_case(other)
            && ends(one) == ends(other)
    };
    if let Some(path) = &written.app_path {
        let last = path.as_str().trim().trim_end_matches('/').rsplit('/').next();
        let name = root.attribute("name").map(|name| name.value().text.into_owned());
        if let (Some(last), Some(name)) = (last, name)
            && name.len() > 5
            && is_near(last, &name)
            && plain(last) != plain(&name)
        {
            let message = format!("there is no workflow at `{}`", path.as_str());
            let found = finding(&k::WORKFLOW_NOT_FOUND, path.span(), message).likely();
            out.push(found.did_you_mean(name));
        }
    }
    let declared: HashSet<String> = root
        .child("parameters")
        .into_iter()
        .flat_map(|section| section.elements())
        .filter_map(|element| Some(Scalar::of_element(element.child("name")?).as_str().to_owned()))
        .collect();
    let read: BTreeSet<String> =
        reads::of_element(root).into_iter().map(|read| read.name).collect();
    let names = || written.configuration.iter().filter_map(|property| property.name.as_ref());
    let value_of = |name: &Scalar| {
        let mut all = written.configuration.iter();
        let property = all.find(|property| property.name.as_ref() == Some(name));
        property.and_then(|property| property.value.as_ref()).map_or("", Scalar::as_str)
    };
    let own = around.files.text(around.path).map_or("", |source| &source.text);
    let before = out.len();
    for name in names() {
        let text = name.as_str();
        if text.len() < 4 || text.contains(['.', '$']) || slips::has_name(&beside.text, text) {
            continue;
        }
        let passed = |other: &str| names().any(|name| name.as_str() == other);
        let mut near = declared.iter().chain(&read).filter(|other| {
            let is_slip = || {
                slips::differ_in_a_word(text, other)
                    && slips::is_slip(text, other, [own, &beside.text])
            };
            is_near(text, other) && !passed(other) && (declared.contains(*other) || is_slip())
        });
        let copied = || {
            let known = read.iter().filter(|other| !passed(other)).map(String::as_str);
            handed_on(text, value_of(name), known)
        };
        if let Some(near) = near.next().map(String::as_str).or_else(copied) {
            out.push(under_another_name(name, near));
        }
    }
    let names: Vec<&Scalar> = names().collect();
    let unread = only_unread(&names, &read, &declared, around).filter(|_| out.len() == before);
    if let Some((name, wanted)) = unread {
        out.push(under_another_name(name, wanted));
    }
}

fn under_another_name(name: &Scalar, wanted: &str) -> Diagnostic {
    let text = name.as_str();
    let message = format!("the workflow next to this reads `{wanted}`, but is passed `{text}`");
    let found = finding(&k::WORKFLOW_PARAMETERS_MISSING, name.span(), message);
    found.naming([wanted, text]).likely().did_you_mean(wanted)
}

/// Returns the only passed property that is not read, and the only name that the workflow reads and is not given, if
/// one contains the other: it was renamed on one side only.
fn only_unread<'n>(
    names: &[&'n Scalar],
    read: &'n BTreeSet<String>,
    declared: &HashSet<String>,
    around: Around<'_>,
) -> Option<(&'n Scalar, &'n str)> {
    let near = &around.submission.near;
    let is_unread = |name: &&&Scalar| {
        let text = name.as_str();
        !read.contains(text) && !text.contains(['.', '$']) && !near.read.contains_key(text)
    };
    let mut unread = names.iter().filter(is_unread);
    let (Some(only), None) = (unread.next(), unread.next()) else { return None };
    let beside = around.submission.files.iter().chain(&near.properties);
    let mut given: HashSet<String> = HashSet::new();
    for source in beside.filter_map(|path| around.files.text(path)) {
        given.extend(properties::parse(&source.text).entries.into_iter().map(|entry| entry.name));
    }
    // Without other properties, it is unknown what else is given.
    if given.is_empty() || read.contains("") {
        return None;
    }
    let is_passed = |name: &str| names.iter().any(|passed| passed.as_str() == name);
    let is_given = |name: &str| {
        is_passed(name)
            || given.contains(name)
            || crate::lint::BUILT_IN.contains(&name)
            || name.contains('.')
            || declared.contains(name)
    };
    let mut lacking = read.iter().map(String::as_str).filter(|name| !is_given(name));
    let (Some(wanted), None) = (lacking.next(), lacking.next()) else { return None };
    let (one, other) = (wanted.to_ascii_lowercase(), only.as_str().to_ascii_lowercase());
    let is_part = one.len().min(other.len()) > 3 && (one.contains(&other) || other.contains(&one));
    is_part.then_some((*only, wanted))
}
