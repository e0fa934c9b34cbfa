//! Compares the variables that nothing defines with the names that the definition declares, or that a definition beside
//! it passes on.

use super::{MOST_COMPARED, likely_meant, slip, undefined, unset};
use crate::diag::{Diagnostic, Fault, nearest, within};
use crate::files::folder_of;
use crate::lint::Facts;
use crate::lint::facts::{has_default, is_given};
use crate::lint::reads::How;
use crate::slips::{
    begin_alike, breaks_words, differ_in_a_word, differ_in_signs, is_slip, lacks_capitals,
};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of passed names compared.
const MOST_PASSED: usize = 1_000;
/// The number of names that a definition must pass under their right names to be the caller.
const ENOUGH_PASSED: usize = 2;

/// Reports names similar to a declared one: callers know the declared name.
pub(super) fn undeclared(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some((_, list)) = facts.parameters() else { return };
    let read: BTreeSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let declared: BTreeSet<&str> = list.iter().map(|p| p.name.text.as_ref()).collect();
    let known: Vec<&str> = declared.iter().copied().filter(|name| name.len() > 4).collect();
    // A parameter may be declared for a sub-workflow to which all properties are passed.
    let handed_on = facts.actions.iter().any(|action| action.kind() == "sub-workflow");
    if known.is_empty() {
        return;
    }
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let mut patience = MOST_COMPARED;
    for place in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let name = place.name.as_str();
        if declared.contains(name) || is_given(facts, name) || patience < known.len() {
            continue;
        }
        patience -= known.len();
        // If the declared name is also read, it is spelled right elsewhere, so the difference must be a misspelled
        // word.
        let is_word = |near: &str| {
            let is_close = begin_alike(name, near)
                && within(near, name, 1).is_some()
                && name.chars().next_back() == near.chars().next_back();
            (name.len() > 7 || name.len() > 3 && is_close)
                && differ_in_a_word(name, near)
                && is_slip(name, near, ["", ""])
        };
        let meant = |near: &str| match read.contains(near) {
            // If they differ only in case, the declared one is right.
            true if name.eq_ignore_ascii_case(near) => name.len() > 5,
            true => is_word(near),
            false if !handed_on => true,
            false => is_word(near),
        };
        // Without its number, a name may be another one, unless nothing reads the declared one and nothing else reads
        // this one.
        let is_lone = |near: &str| {
            let elsewhere = facts.submission.near.read.get(name).copied().unwrap_or_default();
            near.strip_prefix(name).is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
                && name.len() > 7
                && elsewhere < 2
                && !handed_on
                && !read.contains(near)
        };
        let near = nearest(name, known.iter().copied());
        let near = near.filter(|near| within(near, name, 2).is_some() && meant(near));
        let near = near.filter(|near| letters(near) != letters(name) || is_lone(near));
        let Some(near) = near else { continue };
        out.push(likely_meant(place, near, undefined(place.span, name)));
    }
}

/// Reports names similar to one that a coordinator beside the workflow passes on and that nothing reads. It is not known
/// to start the workflow, but passes other names that the workflow reads.
pub(super) fn passed(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.workflow().is_none() {
        return;
    }
    let read: BTreeSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let is_plural =
        |a: &str, b: &str| a.strip_suffix('s') == Some(b) || b.strip_suffix('s') == Some(a);
    let before = out.len();
    by_callers(facts, &read, out);
    if out.len() > before {
        return;
    }
    let own = facts.folder();
    let beside = facts.files.texts().filter(|other| {
        other.path != facts.path
            && other.path.ends_with(".xml")
            && folder_of(&other.path) == own
            && other.text.contains("<coordinator-app")
    });
    for source in beside {
        let mut passed: BTreeMap<&str, Span> = BTreeMap::new();
        for (end, _) in source.text.match_indices("</name>").take(MOST_PASSED) {
            let Some((before, name)) = source.text[..end].rsplit_once('>') else { continue };
            let name_span = Span::new(before.len() + 1, end);
            passed.insert(name.trim(), name_span);
        }
        let is_known = passed.keys().filter(|name| read.contains(*name)).count() >= ENOUGH_PASSED;
        let elsewhere = &facts.submission.near.read;
        passed.retain(|name, _| {
            let is_read = read.contains(name) || elsewhere.contains_key(*name);
            name.len() > 4 && !is_read && !name.contains(['.', '$'])
        });
        if !is_known || passed.is_empty() {
            continue;
        }
        let texts = [source.text.as_str(), facts.tree.text()];
        for place in facts.reads.iter().filter(|place| place.how != How::Dotted) {
            let name = place.name.as_str();
            if has_default(facts, name) || is_given(facts, name) || name.len() < 5 {
                continue;
            }
            let near = nearest(name, passed.keys().copied()).filter(|near| {
                within(near, name, if name.len() < 8 { 1 } else { 2 }).is_some()
                    && letters(near) != letters(name)
                    && !is_plural(near, name)
                    && (differ_in_a_word(name, near) || differ_in_signs(name, near))
            });
            let Some(near) = near else { continue };
            // A slip in the coordinator is reported there.
            if is_slip(near, name, texts) || lacks_capitals(near, name) || breaks_words(near, name)
            {
                continue;
            }
            let words = format!("`{near}` is passed here, but nothing reads it");
            let found = match place.how {
                How::Function => slip(place, near, unset(name)).of(Fault::Unset),
                _ => likely_meant(place, near, undefined(place.span, name)),
            };
            out.push(found.note_in(source.path.clone(), passed[near], words));
        }
    }
}

/// Reports names similar to one that every definition that starts this one passes to it. Its callers' own properties are
/// unknown, so the similar name must show that they are not meant to set this one.
fn by_callers(facts: &Facts<'_>, read: &BTreeSet<&str>, out: &mut Vec<Diagnostic>) {
    let callers = &facts.submission.callers;
    let Some(first) = callers.first().filter(|_| callers.iter().all(|c| c.is_definition)) else {
        return;
    };
    let is_passed = |name: &str| callers.iter().all(|caller| caller.values.contains_key(name));
    let passed: Vec<&str> =
        first.values.keys().map(String::as_str).filter(|name| is_passed(name)).collect();
    if passed.iter().filter(|name| read.contains(*name)).count() < ENOUGH_PASSED {
        return;
    }
    let mut left = MOST_COMPARED;
    for place in facts.reads.iter().filter(|place| place.how == How::Variable) {
        let name = place.name.as_str();
        let is_known = || {
            has_default(facts, name)
                || is_given(facts, name)
                || callers.iter().any(|caller| caller.values.contains_key(name))
                || facts.submission.near.read.get(name).is_some_and(|count| *count > 1)
        };
        if name.len() < 6 || left < passed.len() || is_known() {
            continue;
        }
        left -= passed.len();
        let near = nearest(name, passed.iter().copied()).filter(|near| {
            within(near, name, 1).is_some()
                && differ_in_a_word(name, near)
                && begin_alike(name, near)
                && (read.contains(near) || !is_slip(near, name, ["", facts.tree.text()]))
        });
        let Some(near) = near else { continue };
        let found = likely_meant(place, near, undefined(place.span, name));
        let words = format!("`{near}` is passed here");
        out.push(found.note_in(first.path.clone(), first.span, words));
    }
}
