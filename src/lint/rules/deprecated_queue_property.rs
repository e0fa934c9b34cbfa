//! The old name of the queue.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "deprecated-queue-property",
        group: Group::Parameters,
        summary: "the queue is set with a property that Hadoop has replaced",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/deprecated-queue-property.md"),
    },
    check,
};

const OLD: &str = "mapred.job.queue.name";
const NEW: &str = "mapreduce.job.queuename";

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut edits: Vec<crate::source::Span> = Vec::new();
    for configuration in facts.configurations().iter().copied() {
        let properties = facts.block(configuration);
        if properties.iter().any(|property| property.name.text == NEW) {
            continue;
        }
        edits.extend(properties.iter().filter(|p| p.name.text == OLD).map(|p| p.name.span()));
    }
    let Some(first) = edits.first().copied() else { return };
    let message = match edits.len() {
        1 => format!("Hadoop calls this `{NEW}` now"),
        n => format!("Hadoop calls this `{NEW}` now; the old name is used here {n} times"),
    };
    let mut fix = Fix::guess(format!("Rename to `{NEW}`"), first, NEW);
    for span in &edits[1..] {
        fix = fix.and(*span, NEW);
    }
    out.push(Diagnostic::new(&RULE.kind, first, message).fix(fix));
}
