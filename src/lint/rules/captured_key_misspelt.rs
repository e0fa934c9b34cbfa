//! Keys of captured output that the script does not print, but prints nearly so.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::files;
use crate::lint::facts::Action;
use crate::lint::{Facts, Rule};
use crate::slips::has_name;
use crate::source::Source;
use foldhash::HashMap;
use memchr::memmem;
use std::collections::BTreeSet;
use std::ops::Range;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "captured-key-misspelt",
        group: Group::Actions,
        summary: "a key of captured output is nearly one that the script prints",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/captured-key-misspelt.md"),
    },
    check,
};

/// Maximum number of keys that one script prints.
const MOST_KEYS: usize = 64;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if memmem::find(facts.tree.text().as_bytes(), b"wf:actionData").is_none() {
        return;
    }
    let mut scripts: HashMap<String, Option<&Source>> = HashMap::default();
    let mut asked: BTreeSet<(String, String)> = BTreeSet::new();
    let mut reads = Vec::new();
    for (_, text) in facts.texts() {
        for (action, key, range) in keys(&text.text) {
            asked.insert((action.to_owned(), key.to_owned()));
            reads.push((action.to_owned(), key.to_owned(), text.source(range)));
        }
    }
    if reads.is_empty() {
        return;
    }
    let named: HashMap<String, &Action<'_>> =
        facts.actions.iter().map(|action| (action.name(), action)).collect();
    for (action, key, span) in reads {
        let of = named.get(&action);
        let script = scripts.entry(action.clone()).or_insert_with(|| script(facts, of?));
        let Some(script) = *script else { continue };
        if has_name(&script.text, &key) {
            continue;
        }
        let printed = printed(&script.text);
        // A key that is read as well is another one.
        let is_free = |known: &&&str| !asked.contains(&(action.clone(), (**known).to_owned()));
        let mut near = printed.iter().filter(|known| is_near(&key, known)).filter(is_free);
        let (Some(near), None) = (near.next(), near.next()) else { continue };
        let message = format!("`{action}` prints `{near}`, but not `{key}`");
        let at = script.text.find(&format!("{near}=")).unwrap_or_default();
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .naming([key.as_str()])
                .likely()
                .did_you_mean(*near)
                .note_in(
                    script.path.clone(),
                    crate::source::Span::new(at, at + near.len()),
                    "printed here",
                )
                .fix(Fix::guess(format!("Read `{near}`"), span, *near)),
        );
    }
}

/// Returns the shell script that an action runs, if it captures the output and the script is in the application.
fn script<'a>(facts: &Facts<'a>, action: &Action<'a>) -> Option<&'a Source> {
    action.each("capture-output").next().filter(|_| action.is(&["shell"]))?;
    let exec = action.text("exec")?;
    let shipped = action.texts(&["file"]).find_map(|file| {
        let (path, link) = file.text.split_once('#').unwrap_or((&file.text, ""));
        let link = if link.is_empty() { files::name_of(path) } else { link };
        (link == exec.text).then(|| files::name_of(path).to_owned())
    });
    let name = shipped.unwrap_or_else(|| files::name_of(&exec.text).to_owned());
    let own = facts.files.text(&facts.beside(&name)?);
    let source = own.or_else(|| {
        let mut same = facts.files.texts().filter(|source| files::name_of(&source.path) == name);
        same.next().filter(|_| same.next().is_none())
    })?;
    name.ends_with("sh").then_some(&**source)
}

/// Returns the keys of captured output that a text reads: the action, the key, and where the key is.
fn keys(text: &str) -> Vec<(&str, &str, Range<usize>)> {
    let mut found = Vec::new();
    for (at, call) in text.match_indices("wf:actionData(") {
        let rest = &text[at + call.len()..];
        let quoted = |rest: &'_ str| -> Option<usize> {
            let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
            rest[1..].find(quote).map(|end| end + 1)
        };
        let read = || {
            let end = quoted(rest)?;
            let after = rest[end + 1..].strip_prefix(")[")?;
            let last = quoted(after)?;
            let start = text.len() - after.len() + 1;
            after[last + 1..]
                .starts_with(']')
                .then(|| (&rest[1..end], &after[1..last], start..start + last - 1))
        };
        found.extend(read());
    }
    found
}

/// Returns the names that a script prints before `=`.
fn printed(script: &str) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    for line in script.lines() {
        let words = line.trim_start();
        let prints = ["echo ", "printf ", "print "].iter().find(|word| words.contains(*word));
        let Some(word) = prints.filter(|_| !words.starts_with('#')) else { continue };
        let rest = &words[words.find(word).map_or(0, |at| at + word.len())..];
        let rest = rest.trim_start_matches(['"', '\'', ' ', '-', 'e']);
        let Some((key, _)) = rest.split_once('=') else { continue };
        if !key.is_empty() && key.chars().all(is_name) && !keys.contains(&key) {
            keys.push(key);
        }
        if keys.len() >= MOST_KEYS {
            break;
        }
    }
    keys
}

/// Whether a key is a slip of another one: letters, an ending, or the order of its words.
fn is_near(key: &str, known: &str) -> bool {
    let words = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let mut words: Vec<String> = lower.split(['_', '.', '-']).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if known.len() < 6 { 1 } else { 2 };
    letters(key) != letters(known) && known.len() > 2 && within(key, known, most).is_some()
        || words(key) == words(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_expressions_and_scripts() {
        let text =
            "${wf:actionData('a')['x']} ${wf:actionData(\"b\")[\"y\"]} ${wf:actionData('c')}";
        let found: Vec<_> =
            keys(text).into_iter().map(|(one, key, at)| (one, key, &text[at])).collect();
        assert_eq!(found, [("a", "x", "x"), ("b", "y", "y")]);
        let script = "#!/bin/sh\nx=1\n# echo old=1\necho \"day=$x\"\nls && echo done=true\nprintf 'n=%s' 1\n";
        assert_eq!(printed(script), ["day", "done", "n"]);
        assert!(is_near("last_date", "date_last") && is_near("complete", "completed"));
        assert!(!is_near("day1", "day2") && !is_near("min", "max"));
    }
}
