//! Cuts a part out of a drawing: one node and its surroundings.

use super::{Drawing, Kind};
use std::collections::VecDeque;

/// The nodes that a name refers to: by id in the drawing, or otherwise by name.
pub fn named(drawing: &Drawing, name: &str) -> Vec<usize> {
    let all = || drawing.nodes.iter().enumerate();
    let by_id: Vec<usize> =
        all().filter(|(_, node)| node.id == name).map(|(index, _)| index).collect();
    if !by_id.is_empty() {
        return by_id;
    }
    all().filter(|(_, node)| node.name == name).map(|(index, _)| index).collect()
}

/// Keeps only the nodes at most `depth` steps from a node, in either direction, and their expansions. Steps do not
/// continue past an end or a `kill`, where everything meets. Nodes count the lines they lose.
pub fn focus(drawing: &Drawing, node: usize, depth: usize) -> Drawing {
    let group = drawing.nodes[node].group;
    let mut near: Vec<Vec<usize>> = vec![Vec::new(); drawing.nodes.len()];
    for edge in &drawing.edges {
        near[edge.from].push(edge.to);
        near[edge.to].push(edge.from);
    }
    let mut kept = vec![false; drawing.nodes.len()];
    kept[node] = true;
    let mut open = VecDeque::from([(node, 0)]);
    while let Some((at, steps)) = open.pop_front() {
        let meets_all = matches!(drawing.nodes[at].kind, Kind::Kill | Kind::End);
        if steps >= depth || meets_all && at != node {
            continue;
        }
        for next in &near[at] {
            if !std::mem::replace(&mut kept[*next], true) {
                open.push_back((*next, steps + 1));
            }
        }
    }

    // Groups and their nodes come after their parents.
    let mut groups = vec![None; drawing.groups.len()];
    let mut nodes = vec![None; drawing.nodes.len()];
    let mut part = Drawing { direction: drawing.direction, ..Drawing::default() };
    for (index, whole) in drawing.groups.iter().enumerate() {
        let parent =
            whole.parent.and_then(|(parent, owner)| Some((groups[parent]?, nodes[owner]?)));
        if index != group && parent.is_none() {
            continue;
        }
        groups[index] = Some(part.groups.len());
        let mut own = whole.clone();
        own.parent = parent.filter(|_| index != group);
        part.groups.push(own);
        for (at, node) in drawing.nodes.iter().enumerate() {
            if node.group == index && (index != group || kept[at]) {
                nodes[at] = Some(part.nodes.len());
                let mut node = node.clone();
                node.group = part.groups.len() - 1;
                part.nodes.push(node);
            }
        }
    }
    for edge in &drawing.edges {
        match (nodes[edge.from], nodes[edge.to]) {
            (Some(from), Some(to)) => {
                let mut edge = edge.clone();
                (edge.from, edge.to) = (from, to);
                part.edges.push(edge);
            }
            (Some(from), None) => part.nodes[from].hidden.exits += 1,
            (None, Some(to)) => part.nodes[to].hidden.entries += 1,
            (None, None) => {}
        }
    }
    part
}
