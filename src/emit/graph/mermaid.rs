//! Writes a drawing for Mermaid, which many hosts render in Markdown.

use super::{Direction, Drawing, Kind, Relation, TAKEN, status_color, worst};
use crate::diag::Level;
use std::fmt::Write;

pub(super) fn render(drawing: &Drawing) -> String {
    let mut out = String::new();
    if let Some(root) = drawing.groups.first() {
        let _ = writeln!(out, "---\ntitle: {}\n---", in_yaml(&root.title()));
    }
    out.push_str(match drawing.direction {
        Direction::LeftRight => "flowchart LR\n",
        Direction::TopBottom => "flowchart TB\n",
    });
    let mut nodes: Vec<Vec<usize>> = vec![Vec::new(); drawing.groups.len()];
    for (index, node) in drawing.nodes.iter().enumerate() {
        nodes[node.group].push(index);
    }
    let mut inner: Vec<Vec<usize>> = vec![Vec::new(); drawing.groups.len()];
    for (index, group) in drawing.groups.iter().enumerate() {
        if let Some((parent, _)) = group.parent {
            inner[parent].push(index);
        }
    }
    let mut open: Vec<(usize, usize)> = Vec::new();
    if !drawing.groups.is_empty() {
        nodes[0].iter().for_each(|index| node(&mut out, drawing, *index, 1));
        open.push((0, 0));
    }
    while let Some((group, next)) = open.pop() {
        let depth = open.len();
        if let Some(child) = inner[group].get(next).copied() {
            open.push((group, next + 1));
            let indent = "  ".repeat(depth + 1);
            let title = quoted(&drawing.groups[child].title());
            let _ = writeln!(out, "{indent}subgraph g{child}[{title}]");
            nodes[child].iter().for_each(|index| node(&mut out, drawing, *index, depth + 2));
            open.push((child, 0));
        } else if depth > 0 {
            let _ = writeln!(out, "{}end", "  ".repeat(depth));
        }
    }

    let mut lines = 0;
    let mut red = Vec::new();
    let mut amber = Vec::new();
    let mut taken = Vec::new();
    for (index, group) in drawing.groups.iter().enumerate() {
        if let Some((_, owner)) = group.parent {
            let _ = writeln!(out, "  n{owner} -.-> g{index}");
            lines += 1;
        }
    }
    for edge in &drawing.edges {
        let arrow = match edge.relation {
            Relation::Flow => "-->",
            Relation::Runs => "==>",
            _ => "-.->",
        };
        let label = match &edge.label {
            Some(label) => format!("|{}|", quoted(label)),
            None => String::new(),
        };
        let _ = writeln!(out, "  n{} {arrow}{label} n{}", edge.from, edge.to);
        match worst(&edge.faults) {
            Some(Level::Error) => red.push(lines),
            Some(_) => amber.push(lines),
            None if edge.taken => taken.push(lines),
            None => {}
        }
        lines += 1;
    }

    out.push_str("  classDef error stroke:#d00000,color:#d00000,stroke-width:3px\n");
    out.push_str("  classDef warning stroke:#c77700,color:#c77700,stroke-width:2px\n");
    out.push_str("  classDef unreachable stroke:#aaaaaa,color:#888888\n");
    for (index, node) in drawing.nodes.iter().enumerate() {
        if let Some(status) = &node.status {
            let _ = writeln!(out, "  style n{index} fill:{}", status_color(status));
        }
        let missing = (node.kind == Kind::Missing).then_some(Level::Error);
        let class = match worst(&node.faults).max(missing) {
            Some(Level::Error) => "error",
            Some(_) => "warning",
            None if !node.reachable => "unreachable",
            None => continue,
        };
        let _ = writeln!(out, "  class n{index} {class}");
    }
    for (lines, color) in [(red, "#d00000"), (amber, "#c77700"), (taken, TAKEN)] {
        if !lines.is_empty() {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            let _ =
                writeln!(out, "  linkStyle {} stroke:{color},stroke-width:2px", lines.join(","));
        }
    }
    out
}

fn node(out: &mut String, drawing: &Drawing, index: usize, depth: usize) {
    let node = &drawing.nodes[index];
    let label = match &node.detail {
        Some(detail) => format!("{}\n{detail}", node.name),
        None => node.name.clone(),
    };
    let (open, close) = match node.kind {
        Kind::Start => ("([", "])"),
        Kind::End => ("(((", ")))"),
        Kind::Decision => ("{", "}"),
        Kind::Fork => ("[/", "\\]"),
        Kind::Join => ("[\\", "/]"),
        Kind::Kill => ("{{", "}}"),
        Kind::Workflow | Kind::Bundle => ("[[", "]]"),
        Kind::Coordinator => ("{{", "}}"),
        Kind::Dataset => ("[(", ")]"),
        Kind::Data => (">", "]"),
        Kind::Action | Kind::Missing => ("[", "]"),
    };
    let indent = "  ".repeat(depth);
    let _ = writeln!(out, "{indent}n{index}{open}{}{close}", quoted(&label));
    if let Some(link) = node.link() {
        let tooltip = quoted(&super::clip(&node.tooltip().replace('\n', "; "), 500));
        let _ = writeln!(out, "{indent}click n{index} \"{link}\" {tooltip}");
    }
}

/// A quoted YAML string in which Mermaid finds no directive (`%%{init: …}%%`), wherever it looks.
fn in_yaml(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '{' | '}' | '%' | '<' | '>' => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A quoted text, with Mermaid's own entities for characters that it or HTML would interpret.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in crate::text::clean(text).chars() {
        match c {
            '\n' => out.push_str("<br/>"),
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' | '{' | '}' | '|' | '*' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
