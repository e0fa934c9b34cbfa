//! Joins with a single incoming path.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{NodeId, Shape};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "join-single-path",
        group: Group::Graph,
        summary: "a join that only one path leads to",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/join-single-path.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    // A transition to a node that does not exist, which has a finding of its own, may be the missing one.
    let nodes = || flow.workflow.nodes().map(|(id, _)| id);
    if nodes().any(|id| flow.exits(id).any(|(_, target)| target.is_none())) {
        return;
    }
    // By node: the first reachable node that leads there, and whether there are other transitions to it.
    let mut sources: Vec<Option<(NodeId, bool)>> = vec![None; flow.workflow.nodes.len()];
    for id in nodes().filter(|id| flow.reach.is_reachable(*id)) {
        for target in flow.exits(id).filter_map(|(_, target)| target) {
            // Several cases of one decision, or paths of one fork, may end at one join.
            let known = &mut sources[target.index()];
            *known = Some(known.map_or((id, false), |(one, _)| (one, true)));
        }
    }
    for (join, node) in flow.reachable(Shape::Join) {
        let Some((source, false)) = sources[join.index()] else { continue };
        // The start has no name of its own.
        let source = flow.workflow.node(source);
        let source = if source.shape == Shape::Start { "" } else { &source.name.text };
        let message = format!("only `{source}` leads to this join");
        out.push(
            Diagnostic::new(&RULE.kind, node.name.span, message)
                .help("send the other paths of the fork here, or remove the fork and the join"),
        );
    }
}
