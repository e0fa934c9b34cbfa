//! An index of the nodes of a definition by name, and of the nodes that lead to them. A node is identified by its part.

use super::Part;
use crate::ir::workflow::Shape;
use crate::passes::flow::Flow;
use crate::source::Span;
use foldhash::{HashMap, HashMapExt};

/// The names of all nodes at the last check of the whole definition.
#[derive(Debug)]
pub(super) struct Nodes {
    /// All nodes except the start node.
    by_name: HashMap<String, Vec<u32>>,
    /// Names in the order of the text.
    pub(super) names: Vec<(u32, String)>,
    /// Nodes by the names of their targets.
    leading: HashMap<String, Vec<u32>>,
}

/// Returns the part that contains the start of a span.
pub(super) fn part_of(parts: &[Part], span: Span) -> Option<u32> {
    let at = parts.partition_point(|part| part.span.start <= span.start).checked_sub(1)?;
    (span.start < parts[at].span.end).then_some(at as u32)
}

impl Nodes {
    /// Builds the index; `None` if a node lies in no part.
    pub(super) fn of(flow: Flow<'_>, parts: &[Part]) -> Option<Nodes> {
        let workflow = flow.workflow;
        let mut nodes = Nodes {
            by_name: HashMap::with_capacity(workflow.nodes.len()),
            names: Vec::with_capacity(workflow.nodes.len()),
            leading: HashMap::with_capacity(workflow.nodes.len()),
        };
        for (id, node) in workflow.nodes() {
            let part = part_of(parts, node.span)?;
            if node.shape != Shape::Start {
                let name = node.name.text.to_string();
                nodes.by_name.entry(name.clone()).or_default().push(part);
                nodes.names.push((part, name));
            }
            for (exit, _) in flow.exits(id) {
                nodes.leading.entry(exit.target.text.to_string()).or_default().push(part);
            }
        }
        Some(nodes)
    }

    /// Returns the nodes with a name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = u32> {
        self.by_name.get(name).into_iter().flatten().copied()
    }

    /// Returns the nodes that lead to a name.
    pub(super) fn leading_to(&self, name: &str) -> impl Iterator<Item = u32> {
        self.leading.get(name).into_iter().flatten().copied()
    }

    /// Returns the name of the node in a part.
    pub(super) fn name_of(&self, part: u32) -> Option<&str> {
        let known = self.names.binary_search_by_key(&part, |(part, _)| *part).ok()?;
        Some(self.names[known].1.as_str())
    }

    /// Adds the nodes whose names are among the words of a text.
    pub(super) fn mentioned(&self, text: &str, out: &mut Vec<u32>) {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let words = text.split(|c: char| !is_of_name(c)).filter(|word| !word.is_empty());
        out.extend(words.flat_map(|word| self.named(word)));
    }
}
