//! The control flow of a workflow: its nodes, their transitions, and the targets of those.
//!
//! Takes a workflow with its [`Names`] and its [`Reach`], and answers what passes and rules need to know about more
//! than one transition. Nothing is resolved here, and a transition without a target (because its attribute is missing)
//! is ignored.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::names::Names;
use super::pairs::game;
use super::reach::Reach;
use crate::ir::workflow::{Node, NodeId, Shape, Transition, Way, Workflow};

/// A workflow with the facts about its transitions.
#[derive(Clone, Copy, Debug)]
pub struct Flow<'w> {
    /// The workflow.
    pub workflow: &'w Workflow,
    /// The targets of its transitions.
    pub names: &'w Names,
    /// The states that a run can reach.
    pub reach: &'w Reach,
    /// The graph of reachable nodes, created on first use.
    pub(crate) game: &'w OnceLock<game::Graph>,
}

impl<'w> Flow<'w> {
    /// The transitions out of a node, each with its target node, if that exists.
    pub fn exits(self, id: NodeId) -> impl Iterator<Item = (&'w Transition, Option<NodeId>)> {
        let exits = self.workflow.exits(id).iter().filter(|exit| exit.target.given);
        exits.map(move |exit| (exit, self.names.target(exit)))
    }

    /// The first transition of this kind out of a node.
    pub fn exit(self, id: NodeId, way: Way) -> Option<(&'w Transition, Option<NodeId>)> {
        self.exits(id).find(|(exit, _)| exit.way == way)
    }

    /// The successors of a node as long as nothing fails.
    pub fn next(self, id: NodeId) -> impl Iterator<Item = NodeId> {
        self.exits(id).filter(|(exit, _)| exit.way != Way::Error).filter_map(|(_, target)| target)
    }

    /// The nodes of a shape that some run can reach, in source order.
    pub fn reachable(self, shape: Shape) -> impl Iterator<Item = (NodeId, &'w Node)> {
        let nodes = self.workflow.nodes().filter(move |(_, node)| node.shape == shape);
        nodes.filter(move |(id, _)| self.reach.is_reachable(*id))
    }

    /// For each node, whether it can be reached from the starting nodes, which are included, by transitions that
    /// `along` accepts.
    pub fn behind(
        self,
        from: impl IntoIterator<Item = NodeId>,
        along: impl Fn(&Node, &Transition) -> bool,
    ) -> Vec<bool> {
        let mut seen = vec![false; self.workflow.nodes.len()];
        let mut todo: Vec<NodeId> = from.into_iter().collect();
        while let Some(id) = todo.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let node = self.workflow.node(id);
            let passed = self.exits(id).filter(|(exit, _)| along(node, exit));
            todo.extend(passed.filter_map(|(_, target)| target));
        }
        seen
    }

    /// For each node, whether it or a later node has this shape, as long as nothing fails.
    pub(crate) fn leading_to(self, shape: Shape) -> Vec<bool> {
        let mut sources: Vec<Vec<NodeId>> = vec![Vec::new(); self.workflow.nodes.len()];
        for (id, _) in self.workflow.nodes() {
            self.next(id).for_each(|target| sources[target.index()].push(id));
        }
        let mut leading = vec![false; self.workflow.nodes.len()];
        let ends = self.workflow.nodes().filter(|(_, node)| node.shape == shape);
        let mut todo: Vec<NodeId> = ends.map(|(id, _)| id).collect();
        while let Some(id) = todo.pop() {
            if !std::mem::replace(&mut leading[id.index()], true) {
                todo.extend(&sources[id.index()]);
            }
        }
        leading
    }

    /// The nodes of each path of a fork, up to the join where it ends, as long as nothing fails; each in source order.
    /// `None` if `patience`, which this uses up, does not suffice: nested forks would be traversed again and again.
    pub fn branches(self, fork: NodeId, patience: &mut usize) -> Option<Vec<Vec<NodeId>>> {
        let mut branches = Vec::new();
        for first in self.exits(fork).filter_map(|(_, target)| target) {
            let mut depths: HashMap<NodeId, u32> = HashMap::new();
            let mut todo = vec![(first, 0_u32)];
            while let Some((id, depth)) = todo.pop() {
                *patience = patience.checked_sub(1)?;
                let shape = self.workflow.node(id).shape;
                if depths.contains_key(&id) || (shape == Shape::Join && depth == 0) {
                    continue;
                }
                depths.insert(id, depth);
                let below = match shape {
                    Shape::Fork => depth + 1,
                    Shape::Join => depth - 1,
                    _ => depth,
                };
                todo.extend(self.next(id).map(|target| (target, below)));
            }
            let mut branch: Vec<NodeId> = depths.into_keys().collect();
            branch.sort_unstable();
            branches.push(branch);
        }
        Some(branches)
    }

    /// The graph on which runs are simulated.
    pub fn game(self) -> &'w game::Graph {
        self.game.get_or_init(|| game::Graph::of(self.workflow, self.names, self.reach))
    }
}
