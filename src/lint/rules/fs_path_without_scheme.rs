//! Paths without a file system.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{default_name_node, operations};
use crate::lint::rules::malformed_uri::{lacks_colon, without_colon};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-path-without-scheme",
        group: Group::Actions,
        summary: "a file operation that names no file system, in an action without a name node",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["FS001"],
        fix: None,
        page: include_str!("../../../docs/rules/fs-path-without-scheme.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Computed once, since it searches all nodes.
    if default_name_node(facts) {
        return;
    }
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        if action.body.child("name-node").is_some() {
            continue;
        }
        for (command, attribute) in operations(action) {
            let value = attribute.value();
            let word = value.text.trim();
            // A variable at the beginning may contain a scheme.
            let first = word.split('/').next().unwrap_or_default();
            let is_plain = !word.is_empty() && !first.contains(['$', '#', ':', '@', '%']);
            if command == "target" || !is_plain {
                continue;
            }
            if let Some((range, scheme)) = without_colon(&value.text) {
                out.push(lacks_colon(&RULE.kind, value.source(range), scheme));
                continue;
            }
            let message =
                format!("`{word}` does not name a file system, and the action has no name node");
            let finding = Diagnostic::new(&RULE.kind, attribute.value_span(), message);
            out.push(finding.about("name-node").help(
                "begin it with `${nameNode}`, or give the action a `name-node` (from version 0.4)",
            ));
        }
    }
}
