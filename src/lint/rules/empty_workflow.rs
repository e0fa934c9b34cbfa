//! Workflows that do nothing.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::Graph;
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
    let graph = Graph::of(facts);
    let Some(start) = graph.nodes.iter().find(|node| node.kind == "start") else { return };
    let ends = graph.nodes.iter().any(|node| node.kind == "end" && node.reachable);
    // One that cannot be followed to its end has worse faults.
    if !ends || graph.actions().next().is_some() {
        return;
    }
    let span = start.way("start").map_or(start.element.name_span(), |way| way.to.value_span());
    out.push(Diagnostic::new(&RULE.kind, span, "no action runs between here and the end"));
}
