//! Workflows that do nothing.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{Shape, Way};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "empty-workflow",
        group: Group::Graph,
        summary: "a workflow without an action",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/empty-workflow.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let Some(start) = flow.workflow.start() else { return };
    // A workflow that cannot reach its end has worse faults.
    if flow.reachable(Shape::End).next().is_none() || flow.reachable(Shape::Action).next().is_some()
    {
        return;
    }
    let exit = flow.exit(start, Way::Start);
    let span = exit.map_or(flow.workflow.node(start).tag, |(exit, _)| exit.target.span);
    out.push(Diagnostic::new(&RULE.kind, span, "no action runs between here and the end"));
}
