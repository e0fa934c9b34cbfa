//! References in properties to names that are not set.

use super::property_without_value::commented;
use crate::diag::{Diagnostic, Fault, Group, Kind, Level, Patience};
use crate::lint::facts::{PATH_KEYS, is_given, is_submitted};
use crate::lint::misnamed::{SET_HERE, is_outnumbered, misnamed_key};
use crate::lint::reads;
use crate::lint::torn::{MOST_LOOKED_THROUGH, torn};
use crate::lint::{Facts, Language, Rule};
use crate::slips::is_slip;
use crate::source::{Source, Span};
use crate::syntax::properties::{Entry, is_filled_in};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-unresolved-reference",
        group: Group::Parameters,
        summary: "a job property refers to a property that is not defined",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/property-unresolved-reference.md"),
    },
    check,
};

/// Names that the machines of a cluster replace in class paths.
const OF_CLUSTERS: [&str; 2] = ["hdp.version", "iop.version"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // A path with a missing name may be filled in by a build; a name similar to an existing one is a slip.
    let submitted = is_submitted(facts);
    let patience = Patience::default();
    let mut left = MOST_LOOKED_THROUGH;
    for (source, entries) in facts.property_files().iter().chain(facts.near_files()) {
        out.extend(entries.iter().flat_map(|entry| never_closed(source, entry)));
    }
    let passed_on = passed_on(facts);
    let is_read = |name: &str| facts.reads.iter().any(|read| read.name == name);
    for (source, entries) in facts.property_files() {
        out.extend(key_of_another(source, entries));
        // Properties that a script sets in addition to the file, regardless of what it starts with it.
        let callers = facts.submission.callers.iter().filter(|caller| {
            caller.path == source.path || caller.by.split(", ").any(|path| path == source.path)
        });
        let launched = |name: &str| callers.clone().any(|caller| caller.values.contains_key(name));
        let given: HashSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let commented: HashSet<&str> = entries.iter().filter_map(commented).collect();
        let is_template = entries.iter().any(|entry| is_filled_in(&entry.name, &entry.value));
        let is_marked = entries.iter().any(|entry| is_mark(&entry.value));
        for entry in entries {
            let raw = source.slice(entry.value_span);
            for (at, _) in raw.match_indices("${") {
                let inner = &raw[at + 2..];
                let letters = letters_of(inner);
                if is_open(inner, letters) {
                    continue;
                }
                let Some(end) = inner.find('}').map(|end| end + 2) else { break };
                let name = &raw[at + 2..at + end];
                if at > 0 && raw[..at].ends_with('$') && given.contains(name) {
                    let start = entry.value_span.start as usize + at;
                    let message = "this `$` is not part of an expression, and stays in the text";
                    out.push(
                        Diagnostic::new(&RULE.kind, Span::new(start - 1, start), message)
                            .likely()
                            .help("remove it")
                            .in_file(source.path.clone()),
                    );
                    continue;
                }
                // Other references are expressions, not references between properties.
                if name.is_empty() || name.contains([' ', '$', '(', '\'', ':', '\n', '\\']) {
                    continue;
                }
                let start = entry.value_span.start as usize + at + 2;
                let span = Span::new(start, start + name.len());
                // What is started gets the property as it is written, and there the reference is replaced.
                let elsewhere = passed_on.contains(name) && !is_read(&entry.name);
                let is_known =
                    is_given(facts, name) || given.contains(name) || launched(name) || elsewhere;
                // A line that was meant to be a comment has a finding of its own.
                if is_known || OF_CLUSTERS.contains(&name) || commented.contains(name) {
                    continue;
                }
                if let Some(found) = torn(&RULE.kind, source, entries, name, &mut left) {
                    out.push(found.note_in(source.path.clone(), span, "it is read here"));
                    continue;
                }
                let message = format!("nothing defines `{name}`, so the text stays as it is");
                let finding = Diagnostic::new(&RULE.kind, span, message)
                    .of(Fault::Undefined)
                    .naming([name])
                    .about(name)
                    .in_file(source.path.clone());
                let names = entries.iter().map(|other| other.name.as_str());
                let near = patience.nearest(name, names.filter(|other| *other != entry.name));
                // If the similar name is never read, it is the misspelled one.
                let key = near.and_then(|near| entries.iter().find(|other| other.name == near));
                // If several places agree, their spelling is right.
                let has_slip = |key: &str, name: &str, places: usize| {
                    let texts = [&*source.text, facts.tree.text()];
                    is_slip(key, name, texts)
                        || places > 1 && !is_slip(name, key, ["", ""])
                        || is_outnumbered(facts, source, key, name)
                };
                let is_unread = |key: &&Entry| {
                    let reference = format!("${{{}}}", key.name);
                    entries.iter().all(|other| !other.value.contains(&reference))
                        && facts.reads.iter().all(|read| read.name != key.name)
                };
                let key = key.filter(is_unread);
                let places = || source.text.matches(&format!("${{{name}}}")).count();
                if let Some(key) = key.filter(|key| has_slip(&key.name, name, places())) {
                    out.push(
                        misnamed_key(&RULE.kind, key.name_span, &key.name, name)
                            .about(name)
                            .likely()
                            .note_in(source.path.clone(), span, "it is read here")
                            .in_file(source.path.clone()),
                    );
                    continue;
                }
                let finding = match key {
                    Some(key) => finding.note_in(
                        source.path.clone(),
                        key.name_span,
                        format!("`{}` {SET_HERE}", key.name),
                    ),
                    None => finding,
                };
                match near {
                    Some(near) => out.push(finding.did_you_mean(near)),
                    // Filling in the file may also set other names.
                    None if submitted && is_marked => {
                        out.push(finding.depends_on("what replaces it before submission"));
                    }
                    None if submitted => out.push(finding),
                    // Only one of several names in a path is missing: a build would fill in all of them.
                    None if PATH_KEYS.contains(&entry.name.as_str()) && !is_template => {
                        let reads = reads::of_plain(raw, 0);
                        let known = |read: &&reads::Read| given.contains(read.name.as_str());
                        let unknown = reads.iter().filter(|read| !is_given(facts, &read.name));
                        if unknown.count() == 1 && reads.iter().any(|read| known(&read)) {
                            out.push(finding.likely());
                        }
                    }
                    None => {}
                }
            }
        }
    }
}

/// Returns the names that a coordinator or bundle sets for what it starts.
fn passed_on<'f>(facts: &'f Facts<'_>) -> HashSet<&'f str> {
    if !matches!(facts.language, Language::Coordinator | Language::Bundle) {
        return HashSet::new();
    }
    let blocks = facts.configurations().iter();
    blocks.flat_map(|block| facts.block(*block)).map(|property| &*property.name.text).collect()
}

/// Whether a value is a placeholder that a build or an installation replaces: `@NAME_NODE@`.
fn is_mark(value: &str) -> bool {
    let inner = value.trim().strip_prefix('@').and_then(|rest| rest.strip_suffix('@'));
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    inner.is_some_and(|inner| !inner.is_empty() && inner.chars().all(is_letter))
}

/// Returns the length of the name that a text begins with.
fn letters_of(text: &str) -> usize {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    text.find(|c: char| !is_letter(c)).unwrap_or(text.len())
}

/// Whether a reference is not closed after its name: the next reference begins, a path continues, or the value ends.
fn is_open(inner: &str, letters: usize) -> bool {
    letters > 0 && !inner[letters..].starts_with(['}', ' ', '(', '\'', ':', '[', ','])
}

/// Returns the findings about references in a property that are never closed.
fn never_closed<'s>(source: &'s Source, entry: &Entry) -> impl Iterator<Item = Diagnostic> + 's {
    let raw = source.slice(entry.value_span);
    let start = entry.value_span.start as usize;
    raw.match_indices("${").filter_map(move |(at, _)| {
        let inner = &raw[at + 2..];
        let letters = letters_of(inner);
        let span = Span::new(start + at, start + at + 2 + letters);
        let message = "this `${` is never closed, so the text stays as it is";
        let found = Diagnostic::new(&RULE.kind, span, message)
            .of(Fault::OpenReference)
            .likely()
            .help("write `}` after the name")
            .in_file(source.path.clone());
        is_open(inner, letters).then_some(found)
    })
}

/// Reports a reference to the path of a coordinator or a bundle in properties that start another type of application,
/// which do not set it. The path of a workflow is set in each workflow that a coordinator starts.
fn key_of_another(source: &Source, entries: &[Entry]) -> Option<Diagnostic> {
    let mut keys = entries.iter().filter(|entry| PATH_KEYS.contains(&entry.name.as_str()));
    let (key, None) = (keys.next()?, keys.next()) else { return None };
    PATH_KEYS[1..].iter().filter(|other| **other != key.name).find_map(|other| {
        let reference = format!("${{{other}}}");
        let place = entries.iter().find_map(|entry| {
            let at = source.slice(entry.value_span).find(&reference)?;
            let start = entry.value_span.start as usize + at;
            Some(Span::new(start, start + reference.len()))
        })?;
        let message = format!("`{other}` is read here, but only `{}` is set", key.name);
        Some(
            Diagnostic::new(&RULE.kind, key.name_span, message)
                .of(Fault::OtherKey)
                .about(*other)
                .likely()
                .did_you_mean(*other)
                .note_in(source.path.clone(), place, "it is read here")
                .in_file(source.path.clone()),
        )
    })
}
