//! Error transitions that leave a fork.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{NodeId, Shape, Way};
use crate::lint::{Facts, Rule};
use crate::passes::flow::Flow;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Maximum number of visits per node, on average, before the search of forks stops.
const PATIENCE: usize = 32;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "error-skips-join",
        group: Group::Graph,
        summary: "a failure on one path of a fork leads out of the fork while the others continue",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/error-skips-join.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let shape = |id| flow.workflow.node(id).shape;
    // An error transition to a `kill` node is usual: it ends the job at once.
    let handled = |id: NodeId| {
        let (error, target) = flow.exit(id, Way::Error)?;
        Some((error, target.filter(|target| shape(*target) == Shape::Action)?))
    };
    if flow.reachable(Shape::Action).all(|(id, _)| handled(id).is_none()) {
        return;
    }
    let mut patience = PATIENCE * flow.workflow.nodes.len();
    for (fork, node) in flow.reachable(Shape::Fork) {
        let Some(branches) = flow.branches(fork, &mut patience) else { return };
        let inside: BTreeSet<NodeId> = branches.into_iter().flatten().collect();
        let own = || inside.iter().copied();
        let mut failing_to: HashMap<NodeId, usize> = HashMap::new();
        for (_, target) in own().filter_map(handled) {
            *failing_to.entry(target).or_default() += 1;
        }
        let joins: HashSet<NodeId> = own()
            .flat_map(|id| flow.exits(id).filter_map(|(_, target)| target))
            .filter(|target| !inside.contains(target) && shape(*target) == Shape::Join)
            .collect();
        for action in own() {
            let Some((error, target)) = handled(action) else { continue };
            // If several actions lead there, it is entered twice when two of them fail; that is reported with a run
            // that shows it.
            if inside.contains(&target) || failing_to[&target] > 1 {
                continue;
            }
            let Some(rejoins) = comes_to(flow, target, &joins, &mut patience) else { return };
            if rejoins {
                continue;
            }
            let message = format!(
                "`{}` runs in parallel with the other paths of `{}`, which are killed when the job ends",
                flow.workflow.node(target).name.text,
                node.name.text
            );
            out.push(
                Diagnostic::new(&RULE.kind, error.target.span, message)
                    .help("actions on the other paths are killed while they run; make sure that a rerun can cope with that"),
            );
        }
    }
}

/// Whether one of the joins is reachable from a node without a failure; `None` if the search took too long.
fn comes_to(
    flow: Flow<'_>,
    from: NodeId,
    joins: &HashSet<NodeId>,
    patience: &mut usize,
) -> Option<bool> {
    let mut seen = HashSet::new();
    let mut todo = vec![from];
    while let Some(id) = todo.pop() {
        *patience = patience.checked_sub(1)?;
        if joins.contains(&id) {
            return Some(true);
        }
        if seen.insert(id) {
            todo.extend(flow.next(id));
        }
    }
    Some(false)
}
