//! Actions without a resource manager.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "resource-manager-missing",
        group: Group::Actions,
        summary: "an action needs a resource manager, and neither it nor `global` has one",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0701"],
        fix: None,
        page: include_str!("../../../docs/rules/resource-manager-missing.md"),
    },
    check,
};

/// Types that cannot start without one.
const KINDS: [&str; 10] =
    ["java", "map-reduce", "pig", "hive", "hive2", "shell", "sqoop", "distcp", "spark", "git"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let server = &facts.settings.server;
    let known = |element: &crate::syntax::xml::Element<'_, '_>| {
        ["job-tracker", "resource-manager"].iter().any(|name| element.child(name).is_some())
    };
    let global = facts.global().is_some_and(|global| known(&global));
    if global || server.job_tracker.is_some() || server.resource_manager.is_some() {
        return;
    }
    for action in facts.actions.iter().filter(|action| action.is(&KINDS)) {
        if !known(&action.body) {
            let message = format!("this `{}` action has no resource manager", action.kind());
            out.push(Diagnostic::new(&RULE.kind, action.body.name_span(), message).help(
                "add `resource-manager` (`job-tracker` before version 1.0) here or in `global`",
            ));
        }
    }
}
