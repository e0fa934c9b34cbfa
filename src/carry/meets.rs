//! Joins that may be reached on only some paths of a fork although nothing fails, because a choice on another path ends
//! the run.
//!
//! [`meets`] returns the transitions into each such join, grouped by path. A task that ran after any of these
//! transitions would run although a path is missing; a task that waits for each path does not.

use crate::ir::workflow::{NodeId, Shape, Way};
use crate::passes::flow::Flow;
use std::collections::{BTreeMap, BTreeSet};

/// A path of a fork: its first node, and the transitions by which it reaches the join.
pub(super) type Path = (NodeId, Vec<(NodeId, Way)>);

/// Maximum number of steps along the paths of forks; nested forks are walked again for each fork around them.
const PATIENCE: usize = 200_000;

/// Returns the joins with the paths that must have arrived. `ways` are the transitions into each node, and `is_routed`
/// tells whether a run can go on after the failure of an action.
pub(super) fn meets(
    flow: Flow<'_>,
    ways: &[Vec<(NodeId, Way)>],
    is_routed: &dyn Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, Vec<Path>> {
    let mut patience = PATIENCE;
    let mut found: BTreeMap<NodeId, Option<Vec<Path>>> = BTreeMap::new();
    for (fork, _) in flow.reachable(Shape::Fork) {
        let Some((join, paths)) = closed(flow, fork, &mut patience) else { continue };
        let within: BTreeSet<NodeId> = paths.iter().flat_map(|(_, nodes)| nodes).copied().collect();
        if !leaves(flow, join, &within, ways, is_routed) {
            continue;
        }
        let mut by_path: Vec<Path> = paths.iter().map(|(first, _)| (*first, Vec::new())).collect();
        let mut is_clear = true;
        for way in &ways[join.index()] {
            let mut of = (0..paths.len()).filter(|at| paths[*at].1.contains(&way.0));
            match (of.next(), of.next()) {
                (Some(at), None) => by_path[at].1.push(*way),
                _ => is_clear = false,
            }
        }
        is_clear &= by_path.iter().all(|(_, ways)| !ways.is_empty());
        // A join of several forks needs the paths of only one of them, so that they must agree.
        let known = found.entry(join).or_insert_with(|| is_clear.then_some(by_path.clone()));
        if known.as_ref() != Some(&by_path) {
            *known = None;
        }
    }
    found.into_iter().filter_map(|(join, paths)| Some((join, paths?))).collect()
}

/// The join at which all paths of a fork end, and the nodes of each path by its first one.
type Closed = (NodeId, Vec<(NodeId, BTreeSet<NodeId>)>);

fn closed(flow: Flow<'_>, fork: NodeId, patience: &mut usize) -> Option<Closed> {
    let mut paths = Vec::new();
    let mut join = None;
    for first in flow.exits(fork).filter_map(|(_, target)| target) {
        let mut seen: BTreeSet<(NodeId, u32)> = BTreeSet::new();
        let mut todo = vec![(first, 0_u32)];
        while let Some((id, depth)) = todo.pop() {
            *patience = patience.checked_sub(1)?;
            let shape = flow.workflow.node(id).shape;
            if shape == Shape::Join && depth == 0 {
                if *join.get_or_insert(id) != id {
                    return None;
                }
                continue;
            }
            if !seen.insert((id, depth)) {
                continue;
            }
            let below = match shape {
                Shape::Fork => depth + 1,
                Shape::Join => depth - 1,
                _ => depth,
            };
            todo.extend(flow.exits(id).filter_map(|(_, target)| Some((target?, below))));
        }
        paths.push((first, seen.into_iter().map(|(id, _)| id).collect()));
    }
    Some((join?, paths))
}

/// Whether a choice between a fork and its join leads away from the join.
fn leaves(
    flow: Flow<'_>,
    join: NodeId,
    within: &BTreeSet<NodeId>,
    ways: &[Vec<(NodeId, Way)>],
    is_routed: &dyn Fn(NodeId) -> bool,
) -> bool {
    let mut arriving = BTreeSet::from([join]);
    let mut todo = vec![join];
    while let Some(id) = todo.pop() {
        let before = ways[id.index()].iter().map(|(from, _)| *from);
        todo.extend(before.filter(|from| within.contains(from) && arriving.insert(*from)));
    }
    within.iter().any(|id| {
        let chooses = match flow.workflow.node(*id).shape {
            Shape::Decision => true,
            Shape::Action => is_routed(*id),
            _ => false,
        };
        let mut targets = flow.exits(*id).filter_map(|(_, target)| target);
        chooses && targets.any(|target| !arriving.contains(&target))
    })
}
