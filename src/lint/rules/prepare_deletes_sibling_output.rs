//! Actions that delete the output of actions that run in parallel.

use crate::budget;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{NodeId, Shape};
use crate::lint::endpoints;
use crate::lint::paths::{LONGEST, behind_file_system};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Element;
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "prepare-deletes-sibling-output",
        group: Group::Actions,
        summary: "`prepare` deletes what another path of the fork writes",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/prepare-deletes-sibling-output.md"),
    },
    check,
};

/// Maximum number of visits per node, on average, before the search of forks stops.
const PATIENCE: usize = 32;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    if flow.workflow.nodes().all(|(_, node)| node.shape != Shape::Fork) {
        return;
    }
    // The deleted paths, and the outputs at or below them, with their nodes.
    let mut outputs: BTreeMap<String, Vec<(NodeId, Span)>> = BTreeMap::new();
    let mut deletes: Vec<(NodeId, Span, String)> = Vec::new();
    let mut own: HashSet<(NodeId, String)> = HashSet::new();
    for (id, node) in flow.workflow.nodes() {
        let Some(action) = facts.action(node) else { continue };
        for (output, span) in endpoints::outputs(&action) {
            let path = behind_file_system(&output);
            own.insert((id, path.to_owned()));
            if path.len() > LONGEST || budget::spent_often() {
                continue;
            }
            for end in path.match_indices('/').map(|(at, _)| at).chain([path.len()]) {
                outputs.entry(path[..end].to_owned()).or_default().push((id, span));
            }
        }
        let prepare = action.body.child("prepare").into_iter().flat_map(Element::elements);
        for path in prepare.filter(|element| element.is("delete")) {
            if let Some(path) = path.attribute("path") {
                let value = path.value();
                let deleted = behind_file_system(&value.text).to_owned();
                deletes.push((id, path.value_span(), deleted));
            }
        }
    }
    deletes.retain(|(_, _, path)| !path.is_empty() && outputs.contains_key(path));
    if deletes.is_empty() {
        return;
    }
    let mut by_node: HashMap<NodeId, Vec<&(NodeId, Span, String)>> = HashMap::new();
    for delete in &deletes {
        by_node.entry(delete.0).or_default().push(delete);
    }
    let mut patience = PATIENCE * flow.workflow.nodes.len();
    for (fork, _) in flow.reachable(Shape::Fork) {
        let Some(branches) = flow.branches(fork, &mut patience) else { return };
        let has = |branch: &[NodeId], node| branch.binary_search(&node).is_ok();
        let of_fork: HashSet<NodeId> = branches.iter().flatten().copied().collect();
        for branch in &branches {
            // Branches are in source order, and so are the deletes of a node.
            for (_, span, path) in branch.iter().filter_map(|node| by_node.get(node)).flatten() {
                let beside = |node: NodeId| {
                    !budget::spent_often() && !has(branch, node) && of_fork.contains(&node)
                };
                let Some((other, output)) = outputs[path].iter().find(|(node, _)| beside(*node))
                else {
                    continue;
                };
                // If both write to the same path, that is the fault.
                let writes = |node: NodeId| own.contains(&(node, path.clone()));
                if branch.iter().any(|node| writes(*node)) && writes(*other) {
                    continue;
                }
                out.push(
                    Diagnostic::new(
                        &RULE.kind,
                        *span,
                        "this deletes what another path of the fork writes",
                    )
                    .note(*output, "this is written at the same time")
                    .help("delete only what this action writes"),
                );
            }
        }
    }
}
