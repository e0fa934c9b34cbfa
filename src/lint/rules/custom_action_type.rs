//! Types of somebody's own.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "custom-action-type",
        group: Group::Migration,
        summary: "an action of a type that does not come with the server",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/custom-action-type.md"),
    },
    check,
};

/// The types that come with a server.
const KINDS: [&str; 15] = [
    "map-reduce",
    "pig",
    "ssh",
    "sub-workflow",
    "fs",
    "http",
    "email",
    "java",
    "hive",
    "hive2",
    "shell",
    "sqoop",
    "distcp",
    "spark",
    "git",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| !action.is(&KINDS)) {
        let message = format!(
            "`{}` is not a type that comes with the server, and nothing maps it",
            action.kind()
        );
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("what it does has to be written anew for the target"),
        );
    }
}
