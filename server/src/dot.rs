//! Writes a workflow as text for Graphviz, in the shapes and colors of the server. (`reference` of the web API, 6.1)

use ankus_lang::machine::{Run, Status};
use ankus_lang::plan::{NodeIndex, Plan, Work};
use std::collections::HashSet;

/// Returns the nodes that follow a node: the error transition first, as on the server; without duplicates.
fn ways(work: &Work, with_kills: bool) -> Vec<NodeIndex> {
    let all = match work {
        Work::Start { to } | Work::Join { to } => vec![*to],
        Work::End | Work::Kill { .. } => Vec::new(),
        Work::Fork { to } | Work::Decision { to, .. } => to.clone(),
        Work::Action(action) if with_kills => vec![action.error, action.ok],
        Work::Action(action) => vec![action.ok],
    };
    let mut ways = Vec::new();
    for way in all {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

fn shape(work: &Work) -> &'static str {
    match work {
        Work::Start { .. } => "circle",
        Work::End => "doublecircle",
        Work::Kill { .. } => "octagon",
        Work::Decision { .. } => "diamond",
        Work::Fork { .. } => "triangle",
        Work::Join { .. } => "invtriangle",
        Work::Action(_) => "rectangle",
    }
}

/// Returns the color of a node: black if the job has not reached it. The start node is never colored.
fn color(run: &Run, plan: &Plan, node: NodeIndex) -> &'static str {
    let is_start = matches!(plan.node(node).work, Work::Start { .. });
    match run.rows.get(&node).map(|row| row.status).filter(|_| !is_start) {
        None => "black",
        Some(Status::Running | Status::EndRetry | Status::EndManual) => "yellow",
        Some(Status::Ok | Status::Done) => "green",
        Some(Status::Error | Status::Failed | Status::Killed) => "red",
        Some(_) => "grey",
    }
}

fn name(plan: &Plan, node: NodeIndex) -> String {
    let name = plan.node(node).name.trim_matches(':').to_owned();
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Returns the text. Error transitions are omitted unless requested.
pub(crate) fn text(run: &Run, plan: &Plan, with_kills: bool) -> String {
    let nodes: Vec<NodeIndex> = (0..).take(plan.nodes.len()).collect();
    let edges: Vec<(NodeIndex, NodeIndex)> = nodes
        .iter()
        .flat_map(|from| {
            let ways = ways(&plan.node(*from).work, with_kills);
            ways.into_iter().map(|to| (*from, to))
        })
        .collect();
    // In the order in which the edges reach them.
    let mut order: Vec<NodeIndex> = Vec::new();
    let mut seen = HashSet::new();
    let reached = edges.iter().flat_map(|(from, to)| [*from, *to]);
    for node in reached.chain(nodes.iter().copied()) {
        if seen.insert(node) {
            order.push(node);
        }
    }
    let mut out = String::from("digraph {\ngraph [\"rankdir\"=\"TB\"]\n");
    for node in order {
        let (name, shape) = (name(plan, node), shape(&plan.node(node).work));
        let color = color(run, plan, node);
        out.push_str(&format!("{name} [\"shape\"=\"{shape}\",\"color\"=\"{color}\"]\n"));
    }
    for (from, to) in edges {
        let color = match color(run, plan, to) {
            "yellow" => "green",
            color => color,
        };
        let (from, to) = (name(plan, from), name(plan, to));
        out.push_str(&format!("{from} -> {to} [\"color\"=\"{color}\"]\n"));
    }
    out + "}"
}
