//! Properties that are never read.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_submitted;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "unused-property",
        group: Group::Parameters,
        summary: "a job property that nothing in the application reads",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/unused-property.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if !is_submitted(facts) {
        return;
    }
    for (source, entries) in facts.property_files() {
        // Names with a dot are read by the server or by a tool.
        let asked = entries.iter().filter(|entry| !entry.name.is_empty());
        let mut left: HashSet<&str> =
            asked.map(|entry| entry.name.as_str()).filter(|name| !name.contains('.')).collect();
        let elsewhere = facts.files.texts().filter(|other| other.path != source.path);
        let texts: Vec<&str> = entries
            .iter()
            .map(|entry| entry.value.as_str())
            .filter(|value| value.contains("${"))
            .chain(elsewhere.map(|other| other.text.as_str()))
            .chain([facts.tree.text()])
            .collect();
        for text in &texts {
            if left.is_empty() {
                break;
            }
            for word in text.split(|letter: char| !is_part(letter)) {
                left.remove(word);
            }
        }
        // A name with other characters is not a single word, so it is searched for as a string.
        let mut odd: Vec<&str> =
            left.iter().copied().filter(|name| !name.chars().all(is_part)).collect();
        odd.sort_unstable();
        for (at, name) in odd.into_iter().enumerate() {
            if at >= MOST_ODD || texts.iter().any(|text| stands_in(text, name)) {
                left.remove(name);
            }
        }
        for entry in entries.iter().filter(|entry| left.contains(entry.name.as_str())) {
            let message = format!("nothing in the application mentions `{}`", entry.name);
            out.push(
                Diagnostic::new(&RULE.kind, entry.name_span, message)
                    .help("remove it, unless something outside this folder reads it")
                    .in_file(source.path.clone()),
            );
        }
    }
}

/// Maximum number of such names that are searched for; a file with more is not a list of properties.
const MOST_ODD: usize = 32;

/// Whether a character may be part of a name without ending the word.
fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '-')
}

/// Whether a name occurs in a text as a separate word.
fn stands_in(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(is_part)
            && !text[at + name.len()..].chars().next().is_some_and(is_part)
    })
}
