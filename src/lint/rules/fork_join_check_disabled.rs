//! Properties that switch off the check of forks and joins.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::job_properties;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fork-join-check-disabled",
        group: Group::Graph,
        summary: "the server's check of forks and joins is switched off",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/fork-join-check-disabled.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for property in job_properties(facts) {
        if property.name != "oozie.wf.validate.ForkJoin"
            || !property.value.trim().eq_ignore_ascii_case("false")
        {
            continue;
        }
        let message = "the server accepts this application without checking its forks and joins";
        out.push(property.place(
            Diagnostic::new(&RULE.kind, property.value_span, message)
                .help("remove the property: `ankus check` reports what the server would refuse, with a run that shows why"),
        ));
    }
}
