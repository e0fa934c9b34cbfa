//! Actions of obsolete types.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "legacy-action",
        group: Group::Migration,
        summary: "an action type that newer platforms no longer support",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/legacy-action.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let (message, help) = match action.kind() {
            "hive" => (
                "new platforms no longer have the command line of hive",
                "use a hive2 action, which goes through HiveServer2",
            ),
            "pig" => ("Pig is no longer developed", "rewrite the script for hive or Spark"),
            "ssh" if action.version() == "0.1" => {
                ("version 0.1 of ssh actions splits arguments at spaces", "use version 0.2")
            }
            "map-reduce" if action.body.child("pipes").is_some() => {
                ("new platforms no longer have pipes", "rewrite the program for Spark")
            }
            "map-reduce" if action.body.child("streaming").is_some() => (
                "streaming has no counterpart on most platforms",
                "run the same programs from a shell or Spark action",
            ),
            _ => continue,
        };
        out.push(Diagnostic::new(&RULE.kind, action.body.name_span(), message).help(help));
    }
}
