//! Finds where a path leads past a node that nothing leads to.
//!
//! If a run could pass the node at exactly one place, the transition there is most likely the one that was changed. Only
//! what runs do when no action fails is considered.

use std::collections::{BTreeSet, HashSet};

use super::names::Names;
use crate::ir::workflow::{NodeId, Shape, Transition, Way, Workflow};
use crate::source::Span;

/// Maximum number of nodes visited for one node.
const MOST_VISITED: usize = 100_000;

/// The place at which runs pass a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Past {
    /// A transition to a later node.
    Later(Span),
    /// A transition to a kill node, instead of to an end.
    Kill(Span, NodeId),
    /// A fork all of whose paths lead to the join that the node leads to.
    Fork(Span, NodeId),
}

/// Returns the only place at which runs pass an unreachable node.
pub(super) fn past(workflow: &Workflow, names: &Names, head: NodeId) -> Option<Past> {
    let entered = entered(workflow, names);
    let ways = || {
        let normal = workflow.transitions().filter(|way| is_normal(way));
        normal.filter(|way| entered.contains(&way.from))
    };
    if workflow.node(head).shape == Shape::End {
        let is_kill = |id: &NodeId| workflow.node(*id).shape == Shape::Kill;
        let killing = ways().filter(|way| matches!(way.way, Way::Ok | Way::Join | Way::Start));
        let mut killing = killing.filter_map(|way| Some((way, names.target(way)?)));
        let mut killing = std::iter::from_fn(|| killing.find(|(_, target)| is_kill(target)));
        let (way, target) = killing.next().filter(|_| killing.next().is_none())?;
        return Some(Past::Kill(way.target.span, target));
    }
    // Where runs would go on behind the node.
    let mut behind = BTreeSet::new();
    let mut seen = HashSet::from([head]);
    let mut open = vec![head];
    while let Some(id) = open.pop() {
        if seen.len() > MOST_VISITED {
            return None;
        }
        for target in normal_targets(workflow, names, id) {
            if entered.contains(&target) {
                behind.insert(target);
            } else if seen.insert(target) {
                open.push(target);
            }
        }
    }
    behind.retain(|id| workflow.node(*id).shape != Shape::Kill);
    let [behind] = behind.into_iter().collect::<Vec<_>>()[..] else { return None };
    if workflow.node(behind).shape == Shape::Join {
        let all = workflow.nodes().filter(|(id, node)| {
            node.shape == Shape::Fork
                && entered.contains(id)
                && joins(workflow, names, *id).is_some_and(|join| join == behind)
        });
        let all: Vec<NodeId> = all.map(|(id, _)| id).collect();
        let [fork] = all[..] else { return None };
        return Some(Past::Fork(workflow.node(fork).name.span, fork));
    }
    let mut passing = ways().filter(|way| names.target(way) == Some(behind));
    let way = passing.next().filter(|_| passing.next().is_none())?;
    Some(Past::Later(way.target.span))
}

/// Whether runs take a transition if no action fails.
fn is_normal(way: &Transition) -> bool {
    way.way != Way::Error
}

fn normal_targets(workflow: &Workflow, names: &Names, id: NodeId) -> impl Iterator<Item = NodeId> {
    let ways = workflow.exits(id).iter().filter(|way| is_normal(way));
    ways.filter_map(|way| names.target(way))
}

/// The nodes that runs can enter if no action fails.
fn entered(workflow: &Workflow, names: &Names) -> HashSet<NodeId> {
    let starts = workflow.nodes().filter(|(_, node)| node.shape == Shape::Start).map(|(id, _)| id);
    let mut open: Vec<NodeId> = starts.collect();
    let mut entered: HashSet<NodeId> = open.iter().copied().collect();
    while let Some(id) = open.pop() {
        open.extend(normal_targets(workflow, names, id).filter(|target| entered.insert(*target)));
    }
    entered
}

/// The only join to which all paths of a fork lead, if there is no other fork on them.
fn joins(workflow: &Workflow, names: &Names, fork: NodeId) -> Option<NodeId> {
    let mut joins = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut open: Vec<NodeId> = normal_targets(workflow, names, fork).collect();
    while let Some(id) = open.pop() {
        match workflow.node(id).shape {
            Shape::Join => drop(joins.insert(id)),
            Shape::Fork => return None,
            _ if seen.insert(id) => open.extend(normal_targets(workflow, names, id)),
            _ => {}
        }
        if seen.len() > MOST_VISITED {
            return None;
        }
    }
    let [join] = joins.into_iter().collect::<Vec<_>>()[..] else { return None };
    Some(join)
}
