//! Sub-workflows to which no property is passed.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-configuration-not-propagated",
        group: Group::Actions,
        summary: "no property is passed to a sub-workflow",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/subworkflow-configuration-not-propagated.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sub-workflow") {
        let given = ["propagate-configuration", "configuration"];
        if action.body.elements().any(|element| given.contains(&element.name())) {
            continue;
        }
        let message = "none of this workflow's properties are passed to the sub-workflow";
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("add `propagate-configuration`, or a `configuration` with what it needs"),
        );
    }
}
