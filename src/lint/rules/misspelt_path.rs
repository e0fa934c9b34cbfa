//! Folders and hosts with a slip in their names.

use crate::diag::{Diagnostic, Group, Kind, Level, within};
use crate::lint::paths::split_scheme;
use crate::lint::slips::has_name;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use foldhash::{HashMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-path",
        group: Group::Parameters,
        summary: "a part of a path that is nearly what other paths have at the same place",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/misspelt-path.md"),
    },
    check,
};

/// Elements whose text is for people, and those whose paths are looked up, which other rules do.
const OTHERS: [&str; 13] = [
    "app-path",
    "archive",
    "body",
    "command",
    "description",
    "exec",
    "file",
    "jar",
    "job-xml",
    "message",
    "name",
    "script",
    "subject",
];
/// A slip in a shorter word makes another word too often.
const SHORTEST: usize = 6;
/// How often the right name stands somewhere.
const OFTEN: usize = 2;
/// Names that are compared in all.
const MOST_COMPARED: usize = 200_000;

/// A folder or a host.
struct Part<'t> {
    name: &'t str,
    /// What stands in front of it.
    before: &'t str,
    /// The other file that it is in.
    file: Option<&'t str>,
    span: Span,
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let texts = facts.texts().iter().filter(|(element, _)| !OTHERS.contains(&element.name()));
    for (_, text) in texts {
        for (before, name, at) in parts_of(&text.text) {
            let span = text.source(at..at + name.len());
            parts.push(Part { name, before, file: None, span });
        }
    }
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let start = entry.value_span.start as usize;
            for (before, name, at) in parts_of(source.slice(entry.value_span)) {
                let span = Span::new(start + at, start + at + name.len());
                parts.push(Part { name, before, file: Some(&source.path), span });
            }
        }
    }
    let mut counts: HashMap<&str, usize> = HashMap::default();
    let mut behind: HashMap<&str, HashSet<&str>> = HashMap::default();
    for part in &parts {
        *counts.entry(part.name).or_default() += 1;
        behind.entry(part.before).or_default().insert(part.name);
    }
    let times = |name: &str| counts.get(name).copied().unwrap_or_default();
    let mut patience = MOST_COMPARED;
    for part in parts.iter().filter(|part| times(part.name) == 1) {
        let Some(beside) = behind.get(part.before).filter(|beside| beside.len() <= patience) else {
            continue;
        };
        patience -= beside.len();
        let is_near = |other: &&&str| is_slip(part.name, other);
        let Some(meant) = beside.iter().filter(is_near).min() else { continue };
        // Of two that stand here once each, the other files tell which one has the slip.
        let elsewhere = |name: &str| {
            let with_it = facts.files.texts().filter(|source| has_name(&source.text, name));
            with_it.count()
        };
        let is_rarer =
            || times(meant) >= OFTEN || elsewhere(part.name) == 1 && elsewhere(meant) > OFTEN;
        if !is_rarer() || is_in_tree(facts, part.name) {
            continue;
        }
        let message = format!("`{}` is nearly `{meant}`, which other paths have here", part.name);
        let found = Diagnostic::new(&RULE.kind, part.span, message)
            .likely()
            .help(format!("did you mean `{meant}`?"));
        out.push(match part.file {
            Some(file) => found.in_file(file),
            None => found,
        });
    }
}

/// Whether a name is another one with a letter too many, too few or wrong, or two exchanged, somewhere inside: what is
/// changed at an end is another form of the word, and a digit tells two of a kind apart.
fn is_slip(name: &str, other: &str) -> bool {
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    other.len() >= SHORTEST
        && ends(name) == ends(other)
        && within(name, other, 1) == Some(1)
        && letters(name) != letters(other)
        // Another sign between the same words is another custom.
        && plain(name) != plain(other)
        && !name.eq_ignore_ascii_case(other)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Whether the tree has a file or a folder of this name.
fn is_in_tree(facts: &Facts<'_>, name: &str) -> bool {
    facts.files.below("").any(|(path, _)| path.split('/').any(|part| part == name))
}

/// The literal parts of a path, each with what stands before it and its place; nothing of a text that is no path.
fn parts_of(text: &str) -> Vec<(&str, &str, usize)> {
    // The value of a parameter is the path.
    let start = match text.split_once('=') {
        Some((name, _)) if !name.contains(['/', '$', ' ']) => name.len() + 1,
        _ => 0,
    };
    let path = text[start..].trim_end();
    let rooted = path.starts_with(['/', '$']) || split_scheme(path).is_some();
    let plain = !path.contains([' ', '\n', '\t', ',', '\'', '"', ';', '\\']);
    if !rooted || !plain || !path.contains('/') {
        return Vec::new();
    }
    let (mut found, mut at, mut before) = (Vec::new(), start, "");
    for part in path.split('/') {
        let literal = !part.contains(['$', '{', '}', '*', '?', '[', '@', '#', '%', '=', ':']);
        if literal && !part.is_empty() && !before.is_empty() {
            found.push((before, part, at));
        }
        at += part.len() + 1;
        if !part.is_empty() {
            before = part;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{is_slip, parts_of};

    #[test]
    fn a_slip_is_inside_a_word() {
        assert!(is_slip("expirde", "expired") || is_slip("exipred", "expired"));
        assert!(is_slip("warehosue", "warehouse") && is_slip("warehuse", "warehouse"));
        for (name, other) in [
            ("orders", "order"),
            ("tablet", "tables"),
            ("logs2024", "logs2025"),
            ("raw_data", "raw-data"),
            ("Warehouse", "warehouse"),
            ("form", "from"),
        ] {
            assert!(!is_slip(name, other), "{name}");
        }
    }

    #[test]
    fn parts_are_the_literal_ones_behind_something() {
        assert_eq!(
            parts_of("out=${nameNode}/user/${user.name}/sales"),
            [("${nameNode}", "user", 16), ("${user.name}", "sales", 34)]
        );
        assert_eq!(parts_of("hdfs://nn:8020/a"), [("nn:8020", "a", 15)]);
        assert!(parts_of("a/b").is_empty() && parts_of("select 1/2 from x").is_empty());
    }
}
