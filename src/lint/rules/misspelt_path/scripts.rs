//! Finds misspelled names of scripts, by comparison with the scripts of the repository.

use super::RULE;
use crate::diag::{Diagnostic, is_mistyped};
use crate::files::{folder_of, name_of};
use crate::lint::Facts;
use crate::syntax::xml::Element;

/// Elements that contain the path of a script.
const ELEMENTS: [&str; 5] = ["arg", "argument", "file", "jar", "script"];

/// Reports scripts that the repository has only under a similar name, in a folder with the name of that in the path.
pub(super) fn called_nearly(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(scripts) = facts.submission.scripts.as_ref().filter(|all| !all.is_empty()) else {
        return;
    };
    for text in facts.named(&ELEMENTS).into_iter().map(Element::text) {
        let path = text.text.split('#').next().unwrap_or_default().trim_end();
        let Some((before, name)) = path.rsplit_once('/') else { continue };
        let folder = name_of(before);
        let is_plain = |part: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            !part.is_empty() && part.bytes().all(plain)
        };
        if path.contains([' ', ',', '\n']) || !is_plain(folder) || !is_plain(name) {
            continue;
        }
        if scripts.iter().any(|script| name_of(script) == name) {
            continue;
        }
        let is_plural = |one: &str, other: &str| {
            let (one, other) = (one.split('.').next(), other.split('.').next());
            one.zip(other).is_some_and(|(one, other)| one.strip_suffix('s') == Some(other))
        };
        let mut near = scripts.iter().filter(|script| {
            let other = name_of(script);
            name_of(folder_of(script)) == folder
                && is_mistyped(name, other)
                && !is_plural(name, other)
                && !is_plural(other, name)
        });
        let Some(meant) = near.next().map(|script| name_of(script)) else { continue };
        if near.next().is_some() {
            continue;
        }
        let span = text.source(path.len() - name.len()..path.len());
        let message = format!("`{name}` looks like a misspelling of `{meant}`");
        out.push(Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant));
    }
}
