//! Workflows without a `kill`.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::Shape;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "no-kill-node",
        group: Group::Graph,
        summary: "a workflow without a kill node, which cannot report a failure",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/no-kill-node.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let (Some(root), Some(flow)) = (facts.workflow(), facts.flow()) else { return };
    let none = flow.workflow.nodes().all(|(_, node)| node.shape != Shape::Kill);
    if !none || flow.reachable(Shape::Action).next().is_none() {
        return;
    }
    out.push(
        Diagnostic::new(
            &RULE.kind,
            root.name_span(),
            "this workflow has no `kill` node, so it cannot report a failure",
        )
        .help("add a `kill` node, and send errors to it"),
    );
}
