//! `fs` actions with several operations.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-not-atomic",
        group: Group::Actions,
        summary: "several file operations in one action, which a failure can leave half done",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/fs-not-atomic.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        let moves = operations(action).iter().filter(|(command, _)| *command == "source").count();
        let all = operations(action).iter().filter(|(command, _)| *command != "target").count();
        if moves > 0 && all > 1 {
            let message = format!(
                "if one of these {all} operations fails, a rerun starts with the first again"
            );
            out.push(
                Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                    .help("give a move its own action, so that a rerun can start with it"),
            );
        }
    }
}
