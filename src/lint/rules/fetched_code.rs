//! Code that is fetched from outside the cluster.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::paths;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fetched-code",
        group: Group::Security,
        summary: "code is fetched from outside when the action runs",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/fetched-code.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        for text in action.texts(&["jar", "file", "archive", "script", "job-xml", "program"]) {
            if let Some(scheme @ ("http" | "https" | "ftp")) = paths::scheme(&text.text) {
                let message = format!("this is fetched over {scheme} whenever the action runs");
                out.push(Diagnostic::new(&RULE.kind, text.span(), message).help(
                    "ship a copy with the application, so that every run uses the same code",
                ));
            }
        }
        if action.kind() == "git" && action.text("branch").is_none() {
            let message = "whatever the default branch contains at that time is fetched";
            out.push(
                Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                    .help("name a branch or a tag that does not move in `branch`"),
            );
        }
    }
}
