//! Finds misspelled names of scripts, by comparison with the scripts of the repository.

use super::RULE;
use crate::diag::{Diagnostic, is_mistyped};
use crate::files::{folder_of, name_of};
use crate::lint::Facts;
use crate::slips::has_name;
use crate::syntax::xml::Element;

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
        let (before, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = name_of(before);
        let is_plain = |part: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
            !part.is_empty() && part.bytes().all(plain)
        };
        if path.contains([' ', ',', '\n']) || !is_plain(name) {
            continue;
        }
        if scripts.iter().any(|script| name_of(script) == name) {
            continue;
        }
        let is_plural = |one: &str, other: &str| {
            let (one, other) = (one.split('.').next(), other.split('.').next());
            one.zip(other).is_some_and(|(one, other)| one.strip_suffix('s') == Some(other))
        };
        let in_folder = |script: &&String| {
            let other = name_of(script);
            is_plain(folder)
                && name_of(folder_of(script)) == folder
                && is_mistyped(name, other)
                && !is_plural(name, other)
                && !is_plural(other, name)
        };
        let is_open = before.is_empty() || before.starts_with("${");
        let anywhere = |script: &&String| {
            let other = name_of(script);
            is_open
                && name.rfind('.').is_some_and(|stem| stem >= SHORTEST)
                && is_mistyped(name, other)
                && !has_name(facts.tree.text(), other)
        };
        let only = |is_near: &dyn Fn(&&String) -> bool| {
            let mut near = scripts.iter().filter(is_near);
            near.next().filter(|_| near.next().is_none())
        };
        let Some(script) = only(&in_folder).or_else(|| only(&anywhere)) else { continue };
        let meant = name_of(script);
        let span = text.source(path.len() - name.len()..path.len());
        let message = format!("`{name}` looks like a misspelling of `{meant}`");
        let found = Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant);
        out.push(found);
    }
}
