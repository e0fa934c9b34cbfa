//! Finds misspelled names of scripts, by comparison with the scripts of the repository.

use super::RULE;
use crate::callers::is_script;
use crate::diag::{Diagnostic, is_mistyped};
use crate::files::{folder_of, name_of};
use crate::lint::Facts;
use crate::slips::{self, has_name};
use crate::source::Span;
use crate::syntax::xml::Element;
use std::collections::BTreeSet;
use std::ops::Range;

/// Elements that contain the path of a script.
const ELEMENTS: [&str; 7] = ["arg", "argument", "command", "exec", "file", "jar", "script"];
/// Shortest name, without its extension, for which a script in any folder is evidence.
const SHORTEST: usize = 5;

/// Reports scripts that the repository has only under a similar name: in a folder with the name of that in the path, or
/// in any folder if nothing here names the other script.
pub(super) fn called_nearly(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(scripts) = facts.submission.scripts.as_ref().filter(|all| !all.is_empty()) else {
        return;
    };
    for text in facts.named(&ELEMENTS).into_iter().map(Element::text) {
        let path = text.text.split('#').next().unwrap_or_default().trim_end();
        if let Some((range, meant)) = meant(facts, scripts, path) {
            out.push(finding(&path[range.clone()], meant, text.source(range)));
        }
    }
    // Another rule looks for the files that are deployed beside the definition.
    let own = facts.folder();
    let is_beside = |name: &str| {
        let mut below = facts.files.below(own).map(|(path, _)| path);
        below.any(|path| name_of(path) == name)
    };
    for (source, entries) in facts.property_files() {
        for entry in entries.iter().filter(|entry| is_script(entry.value.trim())) {
            let written = source.slice(entry.value_span);
            if let Some((range, meant)) = meant(facts, scripts, written.trim_end())
                && !is_beside(meant)
            {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                let found = finding(&written[range], meant, span);
                out.push(found.in_file(source.path.clone()));
            }
        }
    }
}

fn finding(name: &str, meant: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` looks like a misspelling of `{meant}`");
    Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant)
}

/// Returns the script that the misspelled name at the end of a path stands for, with the place of that name.
fn meant<'s>(
    facts: &Facts<'_>,
    scripts: &'s BTreeSet<String>,
    path: &str,
) -> Option<(Range<usize>, &'s str)> {
    let (before, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = name_of(before);
    let is_plain = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !part.is_empty() && part.bytes().all(plain)
    };
    if path.contains([' ', ',', '\n']) || !is_plain(name) {
        return None;
    }
    if scripts.iter().any(|script| name_of(script) == name) {
        return None;
    }
    let is_named = |other: &str| {
        let mut given = facts.property_files().iter().flat_map(|(_, entries)| entries);
        has_name(facts.tree.text(), other) || given.any(|entry| has_name(&entry.value, other))
    };
    let is_plural = |one: &str, other: &str| {
        let (one, other) = (one.split('.').next(), other.split('.').next());
        one.zip(other).is_some_and(|(one, other)| one.strip_suffix('s') == Some(other))
    };
    // A plural may be the name of another script, but not if nothing else runs the one that is there.
    let is_other =
        |other: &str| (is_plural(name, other) || is_plural(other, name)) && is_named(other);
    let in_folder = |script: &&String| {
        let other = name_of(script);
        is_plain(folder)
            && name_of(folder_of(script)) == folder
            && is_mistyped(name, other)
            && !is_other(other)
    };
    let is_open = before.is_empty() || before.starts_with("${");
    let anywhere = |script: &&String| {
        let other = name_of(script);
        is_open
            && is_plain(other)
            && name.rfind('.').is_some_and(|stem| stem >= SHORTEST)
            && (is_mistyped(name, other) || slips::is_other_form(name, other))
            && !is_named(other)
    };
    let only = |is_near: &dyn Fn(&&String) -> bool| {
        let mut near = scripts.iter().filter(is_near);
        near.next().filter(|_| near.next().is_none())
    };
    let script = only(&in_folder).or_else(|| only(&anywhere))?;
    Some((path.len() - name.len()..path.len(), name_of(script)))
}
