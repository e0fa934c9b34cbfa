//! The old name of the resource manager.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "job-tracker-element",
        group: Group::Migration,
        summary: "`job-tracker` instead of `resource-manager`",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/job-tracker-element.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.workflow().is_none() {
        return;
    }
    for element in facts.named(&["job-tracker"]) {
        // Older schemas have only this name.
        if !element.namespace().ends_with(":1.0") {
            continue;
        }
        let message = "job trackers no longer exist: `resource-manager` means the same";
        let mut fix = Fix::safe(
            "Rename to `resource-manager`",
            element.name_span(),
            renamed(element.qualified_name()),
        );
        let end = element.end_tag();
        if end.start < end.end {
            let start = end.start as usize + "</".len();
            let span = Span::new(start, start + element.qualified_name().len());
            fix = fix.and(span, renamed(element.qualified_name()));
        }
        out.push(Diagnostic::new(&RULE.kind, element.name_span(), message).fix(fix));
    }
}

fn renamed(name: &str) -> String {
    name.replace("job-tracker", "resource-manager")
}
