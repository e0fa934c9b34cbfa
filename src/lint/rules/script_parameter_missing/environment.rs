//! Compares the variables that a shell action sets with those that its script reads.

use super::{RULE, in_script};
use crate::budget;
use crate::diag::{Diagnostic, Fix, within};
use crate::lint::Facts;
use crate::lint::facts::{Action, is_open};
use crate::lint::scripts::shell_script;
use crate::slips::{differ_in_signs, is_slip};
use crate::source::{Source, Span};
use std::collections::{BTreeMap, HashSet};

/// Maximum number of variables of one script that are compared.
const MOST_READ: usize = 500;
/// Maximum size of all scripts that are read for one definition, in bytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Variables that the launcher's machine sets.
const OF_MACHINES: [&str; 9] =
    ["HOME", "HOST", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "USER"];

/// Reports `env-var` elements whose name is nearly one that the script reads and nothing sets.
pub(super) fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut left = MOST_BYTES;
    for action in facts.actions.iter().filter(|action| action.is(&["shell"])) {
        if action.texts(&["env-var"]).next().is_none() {
            continue;
        }
        let Some(script) = shell_script(facts, action) else { continue };
        if budget::spent_often() || script.text.len() > left {
            return;
        }
        left -= script.text.len();
        compare(facts, action, script, out);
    }
}

fn compare<'a>(facts: &Facts<'a>, action: &Action<'a>, source: &Source, out: &mut Vec<Diagnostic>) {
    let mut given: Vec<(String, Span)> = Vec::new();
    for text in action.texts(&["env-var"]) {
        let Some((name, _)) = text.text.split_once('=') else { continue };
        let trimmed = name.trim();
        if is_open(name) || trimmed.is_empty() {
            return;
        }
        let start = name.len() - name.trim_start().len();
        given.push((trimmed.to_owned(), text.source(start..start + trimmed.len())));
    }
    let words: HashSet<&str> =
        source.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    // What the script does not mention may be for a program that it runs.
    let unread: Vec<&(String, Span)> =
        given.iter().filter(|(name, _)| !words.contains(name.as_str())).collect();
    if unread.is_empty() {
        return;
    }
    for (name, at) in missing(source) {
        if given.iter().any(|(given, _)| given == name) || OF_MACHINES.contains(&name) {
            continue;
        }
        let mut near = unread.iter().filter(|(given, _)| is_near(given, name));
        let (Some((given, span)), None) = (near.next(), near.next()) else { continue };
        // Which of a singular and its plural is right cannot be told from their words.
        let is_plural = |one: &str, other: &str| {
            one.strip_suffix(['s', 'S']).is_some_and(|one| one.eq_ignore_ascii_case(other))
        };
        let is_form = is_plural(name, given) || is_plural(given, name);
        if !is_form && is_slip(name, given, [&source.text, facts.tree.text()]) {
            out.push(in_script(facts, source, name, at, (given, *span)));
            continue;
        }
        let message = format!("the script reads `{name}`, but is passed `{given}`");
        out.push(
            Diagnostic::new(&RULE.kind, *span, message)
                .note_in(source.path.clone(), Span::new(at, at + name.len()), "read here")
                .likely()
                .did_you_mean(name)
                .fix(Fix::guess(format!("Rename to `{name}`"), *span, name)),
        );
    }
}

fn is_near(given: &str, name: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if name.len() < 8 { 1 } else { 2 };
    name.len() > 3
        && letters(given) != letters(name)
        && (within(given, name, most).is_some() || differ_in_signs(given, name))
}

/// Returns the variables that a script reads and does not set, with the offset of the first read.
fn missing(source: &Source) -> Vec<(&str, usize)> {
    let text: &str = &source.text;
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let mut read: BTreeMap<&str, usize> = BTreeMap::new();
    for at in memchr::memchr_iter(b'$', bytes) {
        let start = at + 1 + usize::from(bytes.get(at + 1) == Some(&b'{'));
        let length =
            bytes[start.min(bytes.len())..].iter().take_while(|byte| is_part(byte)).count();
        let Some(name) = text.get(start..start + length) else { continue };
        let is_name = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        // A variable with a default may be left out.
        let has_default = [":-", "-", ":=", "="]
            .iter()
            .any(|sign| start > at + 1 && text[start + length..].starts_with(sign));
        if is_name && !has_default && read.len() < MOST_READ {
            read.entry(name).or_insert(start);
        }
    }
    let is_set = |name: &str| {
        memchr::memmem::find_iter(bytes, name).any(|at| {
            let end = at + name.len();
            let before = text[..at].trim_end_matches([' ', '\t']);
            let is_word = at.checked_sub(1).is_none_or(|at| !is_part(&bytes[at]))
                && bytes.get(end).is_none_or(|byte| !is_part(byte))
                && !before.ends_with(['$', '{']);
            let words = ["for", "read", "-r", "-p", "export", "declare", "local", "mapfile"];
            is_word
                && (text[end..].starts_with(['=', '+'])
                    || words.iter().any(|word| before.ends_with(word)))
        })
    };
    let mut missing: Vec<(&str, usize)> =
        read.into_iter().filter(|(name, _)| !is_set(name)).collect();
    missing.sort_by_key(|(_, at)| *at);
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_what_it_does_not_set() {
        let text = "#!/bin/bash\nDAY=$1\nfor FILE in $FILES; do echo ${DAY}${ZONE} $FILE; done\n\
            read -r LINE\necho ${LEVEL:-1} \"$MODE\" $LINE é$\n";
        let source = Source::new("run.sh", text);
        let names: Vec<&str> = missing(&source).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["FILES", "ZONE", "MODE"]);
    }
}
