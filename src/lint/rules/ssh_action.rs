//! Remote commands.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "ssh-action",
        group: Group::Security,
        summary: "a command runs on another machine, with the server's SSH key",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/ssh-action.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "ssh") {
        let message = "a command runs on another machine, outside the cluster's queues and audit";
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message).help(
                "a `shell` action runs in a container of the cluster, as the user of the job",
            ),
        );
    }
}
