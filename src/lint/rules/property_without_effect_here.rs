//! Job properties that are set in an action.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-without-effect-here",
        group: Group::Parameters,
        summary: "a job property set in an action, where nothing reads it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/property-without-effect-here.md"),
    },
    check,
};

/// Properties that are read from the job and never from an action.
const JOB_ONLY: [&str; 9] = [
    "oozie.wf.application.path",
    "oozie.coord.application.path",
    "oozie.bundle.application.path",
    "oozie.wf.rerun.skip.nodes",
    "oozie.wf.rerun.failnodes",
    "oozie.wf.validate.ForkJoin",
    "oozie.suspend.on.nodes",
    "oozie.wf.workflow.notification.url",
    "oozie.wf.action.notification.url",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() != "sub-workflow") {
        for property in facts.configuration(action) {
            let name = property.name.text.as_ref();
            if JOB_ONLY.contains(&name) {
                let message =
                    format!("`{name}` is read from the properties of the job, not from an action");
                out.push(
                    Diagnostic::new(&RULE.kind, property.name.span(), message)
                        .help("move it to the properties the job is submitted with"),
                );
            }
        }
    }
}
