//! Many kill nodes with the same message.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "many-kill-nodes",
        group: Group::Style,
        summary: "several kill nodes with the same message",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/many-kill-nodes.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let kills: Vec<_> = facts.nodes(&["kill"]).collect();
    let message = |kill: &crate::syntax::xml::Element<'_>| {
        kill.child("message")
            .map(|message| message.text().text.trim().to_owned())
            .unwrap_or_default()
    };
    let mut firsts = HashMap::new();
    for kill in &kills {
        let first = *firsts.entry(message(kill)).or_insert(kill);
        if std::ptr::eq(first, kill) {
            continue;
        }
        let Some(name) = kill.attribute("name") else { continue };
        let words = "another kill node has the same message".to_owned();
        out.push(
            Diagnostic::new(&RULE.kind, name.value_span(), words)
                .note(first.name_span(), "the other one")
                .help("one is enough: its message can name the node that failed"),
        );
    }
}
