//! Meaningless names.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "default-looking-name",
        group: Group::Style,
        summary: "an action whose name says nothing",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/default-looking-name.md"),
    },
    check,
};

/// Generic words, which say nothing about the node.
const WORDS: [&str; 6] = ["action", "node", "step", "task", "job", "untitled"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let named: Vec<_> = facts
        .actions
        .iter()
        .filter_map(|action| action.element.attribute("name"))
        .filter(|name| {
            let text = name.value().text.to_ascii_lowercase();
            let word =
                text.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_']);
            WORDS.contains(&word)
        })
        .collect();
    let Some(first) = named.first() else { return };
    let name = first.value().text;
    let message = match named.len() {
        1 => format!("`{name}` does not say what the action does"),
        n => format!("`{name}` does not say what the action does, nor do {} other names", n - 1),
    };
    out.push(
        Diagnostic::new(&RULE.kind, first.value_span(), message)
            .help("name it after what it does: people see the name when it fails"),
    );
}
