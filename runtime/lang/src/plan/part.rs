//! Parts of a plan: runs that begin at another node, or consist of one action.

use std::collections::BTreeSet;

use super::{Node, NodeIndex, Plan, Work};
use crate::el::{Phase, Template};

/// Reasons why a plan has no such part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPart {
    /// No node has this name.
    Unknown,
    /// A run cannot begin between a fork and its join: the join would wait for branches that were never started.
    InFork {
        /// The join.
        join: String,
    },
    /// Only an action can run alone.
    NoAction,
    /// No node ends a job successfully.
    NoEnd,
    /// No run reaches this node, and one that begins there would not end.
    Endless,
}

impl Plan {
    /// Returns the plan of a run that begins at this node instead of at the start.
    pub fn beginning_at(mut self, name: &str) -> Result<Plan, NoPart> {
        let node = self.find(name).ok_or(NoPart::Unknown)?;
        if let Some(join) = self.open_join(node) {
            return Err(NoPart::InFork { join: self.node(join).name.clone() });
        }
        self.nodes[self.start as usize].work = Work::Start { to: node };
        // The server does not check nodes that its start does not lead to.
        if self.flaw().is_some() { Err(NoPart::Endless) } else { Ok(self) }
    }

    /// Returns the plan of a run of this action alone. The run succeeds if the action does; otherwise it is killed.
    pub fn only(mut self, name: &str) -> Result<Plan, NoPart> {
        let node = self.find(name).ok_or(NoPart::Unknown)?;
        let find = |wanted: fn(&Work) -> bool| {
            self.nodes.iter().position(|node| wanted(&node.work)).map(|at| at as NodeIndex)
        };
        let end = find(|work| matches!(work, Work::End)).ok_or(NoPart::NoEnd)?;
        let Work::Action(action) = &self.node(node).work else { return Err(NoPart::NoAction) };
        // An action that no run enters may have transitions that lead nowhere.
        let kill = match self.nodes.get(action.error as usize).map(|node| &node.work) {
            Some(Work::Kill { .. }) => action.error,
            // Other nodes that follow an error, such as a mail, are not part of the run.
            _ => find(|work| matches!(work, Work::Kill { .. })).unwrap_or_else(|| {
                let text = format!("{name} failed: ${{wf:errorMessage('{name}')}}");
                let message = Template::compile(&text, Phase::Workflow, self.dialect);
                let span = self.node(node).span;
                let kill =
                    Node { name: format!("{name}-failed"), span, work: Work::Kill { message } };
                self.nodes.push(kill);
                self.nodes.len() as NodeIndex - 1
            }),
        };
        if let Work::Action(action) = &mut self.nodes[node as usize].work {
            (action.ok, action.error) = (end, kill);
        }
        self.nodes[self.start as usize].work = Work::Start { to: node };
        Ok(self)
    }

    /// Returns a join that can be reached from here without passing its fork.
    fn open_join(&self, from: NodeIndex) -> Option<NodeIndex> {
        let mut seen = BTreeSet::from([(from, 0_u32)]);
        let mut left = vec![(from, 0)];
        while let Some((at, depth)) = left.pop() {
            let Some(node) = self.nodes.get(at as usize) else { continue };
            let below = match &node.work {
                Work::Join { .. } if depth == 0 => return Some(at),
                Work::Join { .. } => depth - 1,
                Work::Fork { .. } => depth + 1,
                _ => depth,
            };
            for to in node.work.targets() {
                // Bounds the depth, which could grow without end in a definition whose forks and joins do not pair.
                if below as usize <= self.nodes.len() && seen.insert((to, below)) {
                    left.push((to, below));
                }
            }
        }
        None
    }
}
