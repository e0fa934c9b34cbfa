//! `fs` actions without operations.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-empty",
        group: Group::Actions,
        summary: "an fs action without any operation",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/fs-empty.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        let outside = ["name-node", "job-xml", "configuration"];
        if action.body.elements().all(|element| outside.contains(&element.name())) {
            let message = "this action does nothing";
            out.push(
                Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                    .help("remove it, and point the transitions that lead to it to the next node"),
            );
        }
    }
}
