//! Properties that must not be passed to a sub-workflow.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-disallowed-property",
        group: Group::Actions,
        summary: "a property is passed to a sub-workflow that only the server may set",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0808"],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/subworkflow-disallowed-property.md"),
    },
    check,
};

const NAMES: [&str; 3] = ["user.name", "mapreduce.job.user.name", "hadoop.job.ugi"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sub-workflow") {
        for property in facts.configuration(action) {
            let name = property.name.text.as_ref();
            if name != NAMES[0] || property.value.as_ref().is_none_or(|value| value.text.is_empty())
            {
                continue;
            }
            let message = format!("`{name}` is set by the server and cannot be passed");
            let finding = Diagnostic::new(&RULE.kind, property.name.span(), message)
                .help("remove it: a sub-workflow runs as the user of its parent");
            // A configuration needs at least one property.
            let alone = facts.configuration(action).count() == 1;
            let element = match property.element.parent().filter(|_| alone) {
                Some(configuration) => configuration,
                None => property.element,
            };
            let span = facts.removal(element.span());
            out.push(finding.fix(Fix::safe(format!("Remove `{name}`"), span, "")));
        }
    }
}
