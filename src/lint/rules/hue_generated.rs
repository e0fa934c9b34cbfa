//! Names of a visual editor.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hue-generated",
        group: Group::Migration,
        summary: "names that a visual editor has made up",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hue-generated.md"),
    },
    check,
};

/// Words with which the editor begins a name.
const WORDS: [&str; 17] = [
    "shell",
    "hive",
    "hive2",
    "pig",
    "spark",
    "java",
    "sqoop",
    "fork",
    "join",
    "email",
    "subworkflow",
    "fs",
    "distcp",
    "decision",
    "mapreduce",
    "ssh",
    "streaming",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let made_up: Vec<_> = facts
        .nodes(&["action", "fork", "join", "decision"])
        .filter_map(|node| node.attribute("name"))
        .filter(|name| {
            let text = name.value().text;
            text.split_once('-').is_some_and(|(word, id)| {
                WORDS.contains(&word)
                    && id.len() == 4
                    && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
            })
        })
        .collect();
    let Some(first) = made_up.first() else { return };
    let name = first.value().text;
    let message = match made_up.len() {
        1 => format!("`{name}` was made up by an editor"),
        n => format!("`{name}` and {} other names were made up by an editor", n - 1),
    };
    out.push(
        Diagnostic::new(&RULE.kind, first.value_span(), message)
            .help("give the nodes names of their own before they become the names of tasks"),
    );
}
