//! Actions without a name node.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::default_name_node;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "name-node-missing",
        group: Group::Actions,
        summary: "an action needs a name node, but neither it nor `global` sets one",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0701"],
        fix: None,
        page: include_str!("../../../docs/rules/name-node-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if default_name_node(facts) {
        return;
    }
    let without_manager = !super::resource_manager_missing::is_known(facts);
    let has_manager = |action: &crate::lint::Action<'_>| {
        ["job-tracker", "resource-manager"].iter().any(|name| action.text(name).is_some())
    };
    let mut needing = facts.actions.iter().filter(|action| action.runs_on_cluster());
    // If no action has one and the workflow has no known caller, a parent may pass its own on.
    let child = facts.submission.may_have_parent
        && facts.submission.callers.is_empty()
        && facts.submission.get("oozie.wf.application.path").is_none()
        && needing.all(|action| action.text("name-node").is_none());
    for action in facts.actions.iter().filter(|action| action.runs_on_cluster()) {
        if action.text("name-node").is_none() {
            let message = match without_manager && !has_manager(action) {
                true => {
                    format!(
                        "this `{}` action has neither a name node nor a resource manager",
                        action.kind()
                    )
                }
                false => format!("this `{}` action has no `name-node`", action.kind()),
            };
            let finding = Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .about("global")
                .help("add one here, or in a `global` section for all actions");
            out.push(match child {
                true => {
                    finding.depends_on("whether a parent workflow passes down its `global` section")
                }
                false => finding,
            });
        }
    }
}
