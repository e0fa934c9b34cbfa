//! Failures that leave a fork.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::{Graph, Node};
use crate::lint::{Facts, Rule};
use std::collections::{BTreeSet, HashMap, HashSet};

/// How often, on the whole, a node is looked at before no more forks are looked into.
const PATIENCE: usize = 32;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "error-skips-join",
        group: Group::Graph,
        summary: "a failure on one path of a fork goes on outside of it",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/error-skips-join.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    // Straight to a `kill` is what everybody does: all is over at once.
    let handled = |node: &Node<'_>| {
        let target = node.way("error").and_then(|error| error.target)?;
        (graph.nodes[target].kind == "action").then_some(target)
    };
    if graph.actions().all(|node| handled(node).is_none()) {
        return;
    }
    let mut patience = PATIENCE * graph.nodes.len();
    for fork in graph.nodes.iter().filter(|node| node.kind == "fork" && node.reachable) {
        let Some(branches) = graph.branches(fork, &mut patience) else { return };
        let inside: BTreeSet<usize> = branches.into_iter().flatten().collect();
        let own = || inside.iter().map(|index| &graph.nodes[*index]);
        let mut failing_to: HashMap<usize, usize> = HashMap::new();
        for target in own().filter_map(handled) {
            *failing_to.entry(target).or_default() += 1;
        }
        let joins: HashSet<usize> = own()
            .flat_map(|node| &node.ways)
            .filter_map(|way| way.target)
            .filter(|target| !inside.contains(target) && graph.nodes[*target].kind == "join")
            .collect();
        for action in own() {
            let (Some(error), Some(target)) = (action.way("error"), handled(action)) else {
                continue;
            };
            // Where several lead, it is entered twice when both fail, and that is told with the run that shows it.
            if inside.contains(&target) || failing_to[&target] > 1 {
                continue;
            }
            let Some(rejoins) = comes_to(graph, target, &joins, &mut patience) else { return };
            if rejoins {
                continue;
            }
            let message = format!(
                "`{}` runs beside the other paths of `{}`, which end when the job does",
                graph.nodes[target].name, fork.name
            );
            out.push(
                Diagnostic::new(&RULE.kind, error.to.value_span(), message)
                    .help("what runs on the other paths is killed in the middle of its work; see that a rerun can cope with it"),
            );
        }
    }
}

/// Whether one of the joins comes behind a node, as long as nothing fails.
fn comes_to(
    graph: &Graph<'_>,
    from: usize,
    joins: &HashSet<usize>,
    patience: &mut usize,
) -> Option<bool> {
    let mut seen = HashSet::new();
    let mut todo = vec![from];
    while let Some(index) = todo.pop() {
        *patience = patience.checked_sub(1)?;
        if joins.contains(&index) {
            return Some(true);
        }
        if seen.insert(index) {
            let ways = graph.nodes[index].ways.iter().filter(|way| way.how != "error");
            todo.extend(ways.filter_map(|way| way.target));
        }
    }
    Some(false)
}
