//! Writes a drawing for D2.

use super::{Direction, Drawing, Kind, Relation, TAKEN, color, status_color, worst};
use crate::diag::Level;
use std::fmt::Write;

pub(super) fn render(drawing: &Drawing) -> String {
    let mut out = String::new();
    if let Some(root) = drawing.groups.first() {
        let _ = writeln!(out, "# {}", root.title());
    }
    out.push_str(match drawing.direction {
        Direction::LeftRight => "direction: right\n",
        Direction::TopBottom => "direction: down\n",
    });
    // A node is addressed through its groups; groups come after their parents.
    let mut prefixes: Vec<String> = Vec::with_capacity(drawing.groups.len());
    for (index, group) in drawing.groups.iter().enumerate() {
        let Some((parent, _)) = group.parent else {
            prefixes.push(String::new());
            continue;
        };
        let prefix = format!("{}g{index}.", prefixes[parent]);
        let _ = writeln!(out, "{}: {}", &prefix[..prefix.len() - 1], quoted(&group.title()));
        prefixes.push(prefix);
    }
    let address = |index: usize| format!("{}n{index}", prefixes[drawing.nodes[index].group]);
    for (index, node) in drawing.nodes.iter().enumerate() {
        let label = match &node.detail {
            Some(detail) => format!("{} · {detail}", node.name),
            None => node.name.clone(),
        };
        let _ = writeln!(out, "{}: {} {{", address(index), quoted(&label));
        let shape = match node.kind {
            Kind::Start | Kind::End => "oval",
            Kind::Action | Kind::Missing => "rectangle",
            Kind::Decision => "diamond",
            Kind::Fork | Kind::Join => "parallelogram",
            Kind::Kill | Kind::Coordinator => "hexagon",
            Kind::Workflow => "step",
            Kind::Bundle => "package",
            Kind::Dataset => "cylinder",
            Kind::Data => "page",
        };
        let _ = writeln!(out, "  shape: {shape}");
        if node.kind == Kind::End {
            out.push_str("  style.double-border: true\n");
        }
        if let Some(link) = node.link() {
            let _ = writeln!(out, "  link: {}", quoted(&link));
        }
        let _ = writeln!(out, "  tooltip: {}", quoted(&node.tooltip()));
        if let Some(status) = &node.status {
            let _ = writeln!(out, "  style.fill: \"{}\"", status_color(status));
        }
        let missing = (node.kind == Kind::Missing).then_some(Level::Error);
        if missing.is_some() {
            out.push_str("  style.stroke-dash: 4\n");
        }
        match worst(&node.faults).max(missing) {
            Some(level) => {
                let color = color(level);
                let _ =
                    writeln!(out, "  style.stroke: \"{color}\"\n  style.font-color: \"{color}\"");
            }
            None if !node.reachable => out.push_str("  style.opacity: 0.5\n"),
            None => {}
        }
        out.push_str("}\n");
    }
    for (index, group) in drawing.groups.iter().enumerate() {
        if let Some((_, owner)) = group.parent {
            let inside = &prefixes[index][..prefixes[index].len() - 1];
            let _ = writeln!(out, "{} -> {inside}: {{style.stroke-dash: 2}}", address(owner));
        }
    }
    for edge in &drawing.edges {
        let label = edge.label.as_deref().map(|label| format!("{} ", quoted(label)));
        let mut style = Vec::new();
        match edge.relation {
            Relation::Flow => {}
            Relation::Runs => style.push("style.stroke-width: 4".to_owned()),
            Relation::Failure => style.push("style.stroke-dash: 4".to_owned()),
            _ => style.push("style.stroke-dash: 2".to_owned()),
        }
        if let Some(level) = worst(&edge.faults) {
            let color = color(level);
            style.push(format!("style.stroke: \"{color}\"; style.font-color: \"{color}\""));
        }
        if edge.taken && edge.faults.is_empty() {
            style.push(format!("style.stroke: \"{TAKEN}\""));
        }
        let _ = writeln!(
            out,
            "{} -> {}: {}{{{}}}",
            address(edge.from),
            address(edge.to),
            label.unwrap_or_default(),
            style.join("; ")
        );
    }
    out
}

/// A text in single quotes, in which only a quote is special.
fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for c in crate::text::clean(text).chars() {
        match c {
            '\'' => out.push_str("''"),
            '\n' => out.push_str("; "),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}
