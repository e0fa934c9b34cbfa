//! Actions without a resource manager.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "resource-manager-missing",
        group: Group::Actions,
        summary: "an action needs a resource manager, but neither it nor `global` sets one",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0701"],
        fix: None,
        page: include_str!("../../../docs/rules/resource-manager-missing.md"),
    },
    check,
};

/// Whether every action gets a resource manager from elsewhere.
pub(super) fn is_known(facts: &Facts<'_>) -> bool {
    let server = &facts.settings.server;
    let callers = &facts.submission.callers;
    facts.global().is_some_and(|global| has(&global))
        || !callers.is_empty() && callers.iter().all(|caller| caller.resource_manager)
        || server.job_tracker.is_some()
        || server.resource_manager.is_some()
}

fn has(element: &crate::syntax::xml::Element<'_>) -> bool {
    ["job-tracker", "resource-manager"].iter().any(|name| element.child(name).is_some())
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if is_known(facts) {
        return;
    }
    let no_name_node = !crate::lint::facts::default_name_node(facts);
    for action in facts.actions.iter().filter(|action| action.runs_on_cluster()) {
        // An action that lacks both is reported once.
        if no_name_node && action.text("name-node").is_none() {
            continue;
        }
        if !has(&action.body) {
            let message = format!("this `{}` action has no resource manager", action.kind());
            out.push(
                Diagnostic::new(&RULE.kind, action.body.name_span(), message).about("global").help(
                    "add `resource-manager` (`job-tracker` before version 1.0) here or in `global`",
                ),
            );
        }
    }
}
