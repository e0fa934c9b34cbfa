//! Writes a drawing for Graphviz: plain DOT, with links and tooltips.

use super::{Direction, Drawing, Edge, Kind, Node, Relation, TAKEN, color, status_color, worst};
use std::fmt::Write;

/// Maximum length of a tooltip, in characters; Graphviz limits the length of attributes.
const TOOLTIP: usize = 2_000;
/// Number of edges from which on Graphviz uses a faster, less careful layout; otherwise it takes minutes.
const LARGE: usize = 150;

pub(super) fn render(drawing: &Drawing) -> String {
    let mut out = String::new();
    let root = drawing.groups.first();
    let title = root.map(|group| group.title()).unwrap_or_default();
    let direction = match drawing.direction {
        Direction::LeftRight => "LR",
        Direction::TopBottom => "TB",
    };
    let _ = writeln!(out, "digraph {} {{", quoted(&title));
    let mut graph =
        format!("rankdir={direction}, compound=true, label={}, labelloc=t", quoted(&title));
    let is_large = drawing.edges.len() > LARGE;
    if is_large {
        graph.push_str(", nslimit=1, nslimit1=1, mclimit=0.5");
    }
    if let Some(root) = root.filter(|root| !root.faults.is_empty()) {
        graph.push_str(&trouble(&root.faults));
    }
    let _ = writeln!(out, "  graph [{graph}, fontname=\"Helvetica\"];");
    out.push_str("  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=rounded];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=9];\n");

    groups(&mut out, drawing);
    for (index, group) in drawing.groups.iter().enumerate() {
        let Some((_, owner)) = group.parent else { continue };
        if let Some(first) = drawing.nodes.iter().find(|node| node.group == index) {
            let owner = &drawing.nodes[owner].id;
            let _ = writeln!(
                out,
                "  {} -> {} [style=dotted, lhead=\"cluster_{index}\"];",
                quoted(owner),
                quoted(&first.id)
            );
        }
    }
    for each in &drawing.edges {
        edge(&mut out, each, drawing, is_large);
    }
    out.push_str("}\n");
    out
}

/// Writes the nodes, each in the cluster of its group.
fn groups(out: &mut String, drawing: &Drawing) {
    let mut inner: Vec<Vec<usize>> = vec![Vec::new(); drawing.groups.len()];
    let mut members: Vec<Vec<&Node>> = vec![Vec::new(); drawing.groups.len()];
    for (index, group) in drawing.groups.iter().enumerate() {
        if let Some((parent, _)) = group.parent {
            inner[parent].push(index);
        }
    }
    for node in &drawing.nodes {
        members[node.group].push(node);
    }
    // Without recursion: the open groups, and the next member of each.
    let mut open: Vec<(usize, usize)> = Vec::new();
    if !drawing.groups.is_empty() {
        members[0].iter().for_each(|each| node(out, each, 1));
        open.push((0, 0));
    }
    while let Some((group, next)) = open.pop() {
        let depth = open.len();
        if let Some(child) = inner[group].get(next).copied() {
            open.push((group, next + 1));
            let indent = "  ".repeat(depth + 1);
            let _ = writeln!(out, "{indent}subgraph \"cluster_{child}\" {{");
            let inside = &drawing.groups[child];
            let mut text = format!("label={}, style=rounded", quoted(&inside.title()));
            if !inside.faults.is_empty() {
                text.push_str(&trouble(&inside.faults));
            }
            let _ = writeln!(out, "{indent}  graph [{text}];");
            members[child].iter().for_each(|each| node(out, each, depth + 2));
            open.push((child, 0));
        } else if depth > 0 {
            let _ = writeln!(out, "{}}}", "  ".repeat(depth));
        }
    }
}

/// Writes an edge; in a large graph, without the label of an edge that a failure takes.
fn edge(out: &mut String, edge: &Edge, drawing: &Drawing, is_large: bool) {
    let mut attributes = Vec::new();
    // A dashed line to a kill node needs no label, and Graphviz is slow at placing labels beside long lines.
    let is_plain = edge.relation == Relation::Failure
        && (is_large || drawing.nodes[edge.to].kind == Kind::Kill);
    if let Some(label) = edge.label.as_ref().filter(|_| !is_plain) {
        attributes.push(format!("label={}", quoted(label)));
    }
    match edge.relation {
        Relation::Failure => attributes.push("style=dashed".to_owned()),
        Relation::Runs => attributes.push("style=bold".to_owned()),
        Relation::Reads | Relation::Writes | Relation::Deletes => {
            attributes.push("style=dotted".to_owned());
        }
        Relation::Flow => {}
    }
    let tooltip = quoted(&super::clip(&edge.tooltip(drawing), TOOLTIP));
    attributes.push(format!("tooltip={tooltip}"));
    match worst(&edge.faults) {
        Some(level) => {
            let color = color(level);
            attributes.push(format!("color=\"{color}\", fontcolor=\"{color}\", penwidth=2"));
        }
        None if edge.taken => {
            attributes.push(format!("color=\"{TAKEN}\", penwidth=3"));
        }
        None if edge.relation == Relation::Failure => {
            attributes.push("color=\"#888888\", fontcolor=\"#888888\"".to_owned());
        }
        None => {}
    }
    let _ = writeln!(
        out,
        "  {} -> {} [{}];",
        quoted(&drawing.nodes[edge.from].id),
        quoted(&drawing.nodes[edge.to].id),
        attributes.join(", ")
    );
}

fn node(out: &mut String, node: &Node, depth: usize) {
    let label = match &node.detail {
        Some(detail) => format!("{}\n{detail}", node.name),
        None => node.name.clone(),
    };
    let mut attributes = vec![format!("label={}", quoted(&label))];
    attributes.push(
        match node.kind {
            Kind::Start => "shape=ellipse, style=\"\"",
            Kind::End => "shape=ellipse, style=\"\", peripheries=2",
            Kind::Action => "shape=box",
            Kind::Decision => "shape=diamond, style=\"\"",
            Kind::Fork => "shape=house, style=\"\"",
            Kind::Join => "shape=invhouse, style=\"\"",
            Kind::Kill => "shape=octagon, style=\"\"",
            Kind::Missing => "shape=box, style=dashed",
            Kind::Workflow => "shape=component, style=\"\"",
            Kind::Coordinator => "shape=hexagon, style=\"\"",
            Kind::Bundle => "shape=folder, style=\"\"",
            Kind::Dataset => "shape=cylinder, style=\"\"",
            Kind::Data => "shape=note, style=\"\"",
        }
        .to_owned(),
    );
    if let Some(link) = node.link() {
        attributes.push(format!("URL={}", quoted(&link)));
    }
    attributes.push(format!("tooltip={}", quoted(&super::clip(&node.tooltip(), TOOLTIP))));
    if let Some(status) = &node.status {
        let color = status_color(status);
        attributes.push(format!("style=filled, fillcolor=\"{color}\""));
    }
    let missing = (node.kind == Kind::Missing).then_some(crate::diag::Level::Error);
    match worst(&node.faults).max(missing) {
        Some(level) => {
            let color = color(level);
            attributes.push(format!("color=\"{color}\", fontcolor=\"{color}\", penwidth=2"));
        }
        None if !node.reachable => {
            attributes.push("color=\"#aaaaaa\", fontcolor=\"#888888\"".to_owned());
        }
        None => {}
    }
    let _ =
        writeln!(out, "{}{} [{}];", "  ".repeat(depth), quoted(&node.id), attributes.join(", "));
}

/// The attributes of a definition with faults.
fn trouble(faults: &[super::Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(super::Fault::line).collect();
    let color = worst(faults).map(color).unwrap_or_default();
    let tooltip = quoted(&super::clip(&lines.join("\n"), TOOLTIP));
    format!(", tooltip={tooltip}, fontcolor=\"{color}\"")
}

/// A quoted DOT string, in which nothing is an escape or an entity.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in crate::text::clean(text).chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '&' => out.push_str("&amp;"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
