//! Writes a drawing as an SVG picture with its own layout.
//!
//! The picture has colors for light and dark schemes. If many failures lead to one `kill`, they are drawn as marks
//! instead of lines, because such lines say little and hide the rest.

mod shape;
mod text;

use super::layout::{Layout, Link, Role, Route, Size, lay_out};
use super::{
    Direction, Drawing, Fault, Group, Kind, Node, Relation, clipped, clipped_path, shortened, worst,
};
use crate::check::FileKind;
use crate::diag::Level;
use std::collections::HashMap;
use std::fmt::Write;
use text::{escaped, held, width};

/// Margin around the picture.
const MARGIN: f64 = 16.0;
/// Padding around the expansion of a node.
const PADDING: f64 = 16.0;
/// Height of a line of text.
const LINE: f64 = 15.0;
/// Maximum length of a name, in characters; the tooltip has all of it.
const NAME: usize = 48;
/// Maximum number of lines drawn in full length along routes shared with others.
const MOST_WHOLE: usize = 500;
/// Maximum length of a label beside a line, in characters.
const LABEL: usize = 30;
/// Maximum length of the path in the title, in characters.
const PATH: usize = 60;
/// Maximum number of failures to one `kill` drawn as lines.
const MOST_FAILURES: usize = 5;

/// The style sheet of pictures, in a file of its own; also for pages that must not contain styles.
pub const STYLE: &str = include_str!("svg/style.css");

/// All edges between the same two nodes, drawn as one line.
struct Line {
    from: usize,
    to: usize,
    edges: Vec<usize>,
}

/// The layout of one definition.
#[derive(Default)]
struct Scene {
    /// Nodes of the drawing, in layout order.
    nodes: Vec<usize>,
    /// The drawn lines.
    lines: Vec<Line>,
    layout: Layout,
}

/// Additional parts of a drawn node.
#[derive(Clone, Debug, Default)]
struct Look {
    /// A second line of text.
    detail: Option<String>,
    /// For a `kill` whose failures are marked, the mark and its meaning.
    mark: Option<(String, String)>,
}

/// A node with its position.
struct Drawn<'d> {
    center: (f64, f64),
    size: (f64, f64),
    detail: Option<&'d str>,
    mark: Option<(String, String)>,
    /// Whether it contains an expansion.
    is_frame: bool,
    /// Whether the drawing goes from left to right.
    across: bool,
}

pub(super) fn render(drawing: &Drawing) -> String {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); drawing.groups.len()];
    for (index, node) in drawing.nodes.iter().enumerate() {
        members[node.group].push(index);
    }
    let mut looks: Vec<Look> =
        drawing.nodes.iter().map(|node| Look { detail: node.detail.clone(), mark: None }).collect();
    let mut lines = lines(drawing);
    for (members, lines) in members.iter().zip(&mut lines) {
        fold(drawing, members, lines, &mut looks);
    }

    // From the innermost outwards: a node is as large as its expansion.
    let mut sizes: Vec<(f64, f64)> =
        drawing.nodes.iter().zip(&looks).map(|(node, look)| size(node, look)).collect();
    let mut inside: Vec<Option<usize>> = vec![None; drawing.nodes.len()];
    let mut scenes: Vec<Scene> = Vec::new();
    for group in (0..drawing.groups.len()).rev() {
        let lines = std::mem::take(&mut lines[group]);
        let scene = scene(drawing, group, &members[group], lines, &sizes);
        if let Some((_, owner)) = drawing.groups[group].parent {
            let (width, height) = (scene.layout.width, scene.layout.height);
            let head = head(&drawing.nodes[owner]);
            sizes[owner] =
                (f64::max(sizes[owner].0, width + 2.0 * PADDING), height + head + 2.0 * PADDING);
            inside[owner] = Some(group);
        }
        scenes.push(scene);
    }
    scenes.reverse();

    let title = drawing.groups.first().map(title).unwrap_or_default();
    let faults: Vec<&Fault> = drawing.groups.iter().flat_map(|group| &group.faults).collect();
    let said: Vec<(&'static str, String)> = faults
        .iter()
        .take(10)
        .map(|fault| (fault.level.name(), clipped(&fault.line(), 160)))
        .collect();
    let top = MARGIN + LINE * (1.0 + said.len() as f64) + 10.0;
    let inner = scenes.first().map(|scene| (scene.layout.width, scene.layout.height));
    let (inner_width, inner_height) = inner.unwrap_or_default();
    let words = said.iter().map(|(_, text)| width(text, 12.0));
    // The title is bold, and therefore wider.
    let words = words.fold(width(&title, 12.0) * 1.1, f64::max);
    let whole = (f64::max(inner_width, words) + 2.0 * MARGIN, inner_height + top + MARGIN);
    let mut out = opening(&title, whole);
    let mut y = MARGIN + 11.0;
    let _ =
        writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(&title));
    for (level, text) in &said {
        y += LINE;
        let _ = writeln!(
            out,
            "<text class=\"said {level}\" x=\"{MARGIN}\" y=\"{y}\">{}</text>",
            escaped(text)
        );
    }

    // From the outermost inwards, each drawn over its parent.
    let left = (whole.0 - inner_width) / 2.0;
    let mut origins: Vec<(f64, f64)> = vec![(left, top); drawing.groups.len()];
    let across = drawing.direction == Direction::LeftRight;
    for (group, scene) in scenes.iter().enumerate() {
        let (left, top) = origins[group];
        out.push_str("<g class=\"scene\">\n");
        for (line, route) in scene.lines.iter().zip(&scene.layout.routes) {
            write_line(&mut out, drawing, line, route, (left, top));
        }
        for (at, index) in scene.nodes.iter().enumerate() {
            let (x, y) = scene.layout.centers[at];
            let (x, y) = (left + x, top + y);
            let node = &drawing.nodes[*index];
            if let Some(inner) = inside[*index] {
                let room = scenes[inner].layout.width;
                origins[inner] = (x - room / 2.0, y - sizes[*index].1 / 2.0 + head(node) + PADDING);
            }
            let drawn = Drawn {
                center: (x, y),
                size: sizes[*index],
                detail: looks[*index].detail.as_deref(),
                mark: looks[*index].mark.clone(),
                is_frame: inside[*index].is_some(),
                across,
            };
            shape::write(&mut out, node, &drawn);
        }
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// The title above the drawing.
fn title(group: &Group) -> String {
    let path = clipped_path(&group.path, PATH);
    match group.name.as_str() {
        "" => path,
        name => format!("{} ({path})", clipped(name, PATH)),
    }
}

/// Everything before the drawing itself.
fn opening(title: &str, (width, height): (f64, f64)) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n\
         <style>\n{STYLE}</style>\n<defs>\n",
        escaped(title)
    );
    for name in ["", "-failure", "-taken", "-error", "-warning"] {
        let _ = writeln!(
            out,
            "<marker id=\"tip{name}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
             markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"tip{name}\" \
             d=\"M0 0.8L8 4L0 7.2z\"/></marker>"
        );
    }
    out.push_str("</defs>\n<rect class=\"canvas\" width=\"100%\" height=\"100%\"/>\n");
    out
}

/// The lines of each definition, one for all edges between the same two nodes.
fn lines(drawing: &Drawing) -> Vec<Vec<Line>> {
    let mut lines: Vec<Vec<Line>> = Vec::new();
    lines.resize_with(drawing.groups.len(), Vec::new);
    let mut known: HashMap<(usize, usize), usize> = HashMap::new();
    for (index, edge) in drawing.edges.iter().enumerate() {
        let all = &mut lines[drawing.nodes[edge.from].group];
        let at = *known.entry((edge.from, edge.to)).or_insert_with(|| {
            all.push(Line { from: edge.from, to: edge.to, edges: Vec::new() });
            all.len() - 1
        });
        all[at].edges.push(index);
    }
    lines
}

/// Removes the lines of failures if many lead to one `kill`, and marks both ends.
fn fold(drawing: &Drawing, members: &[usize], lines: &mut Vec<Line>, looks: &mut [Look]) {
    let plain = |line: &Line| {
        drawing.nodes[line.to].kind == Kind::Kill
            && !is_colored(drawing, &line.edges)
            && line.edges.iter().all(|edge| drawing.edges[*edge].relation == Relation::Failure)
    };
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for line in lines.iter().filter(|line| plain(line)) {
        *counts.entry(line.to).or_default() += 1;
    }
    counts.retain(|_, count| *count > MOST_FAILURES);
    let folded: Vec<usize> =
        members.iter().copied().filter(|node| counts.contains_key(node)).collect();
    let signs: HashMap<usize, String> = folded
        .iter()
        .enumerate()
        .map(|(at, node)| match folded.len() {
            1 => (*node, "×".to_owned()),
            _ => (*node, sign(at)),
        })
        .collect();
    lines.retain(|line| {
        let Some(sign) = signs.get(&line.to).filter(|_| plain(line)) else { return true };
        let says = format!("error -> {}", drawing.nodes[line.to].name);
        looks[line.from].mark = Some((sign.clone(), says));
        false
    });
    for node in folded {
        let says = format!("after an error of {} nodes", counts[&node]);
        looks[node].mark = Some((signs[&node].clone(), says.clone()));
        looks[node].detail = Some(says);
    }
}

/// A, B, …, Z, AA, …
fn sign(mut at: usize) -> String {
    let mut sign = String::new();
    loop {
        sign.insert(0, char::from(b'A' + (at % 26) as u8));
        if at < 26 {
            return sign;
        }
        at = at / 26 - 1;
    }
}

fn scene(
    drawing: &Drawing,
    group: usize,
    members: &[usize],
    lines: Vec<Line>,
    sizes: &[(f64, f64)],
) -> Scene {
    let across = drawing.direction == Direction::LeftRight;
    let turned = |(width, height): (f64, f64)| match across {
        true => Size { width: height, height: width },
        false => Size { width, height },
    };
    let at: HashMap<usize, usize> =
        members.iter().enumerate().map(|(index, node)| (*node, index)).collect();
    let boxes: Vec<Size> = members.iter().map(|node| turned(sizes[*node])).collect();
    let roles: Vec<Role> = members
        .iter()
        .map(|node| match drawing.nodes[*node].kind {
            Kind::Fork | Kind::Join | Kind::Bundle | Kind::Coordinator | Kind::Dataset => {
                Role::Gate
            }
            Kind::Decision => Role::Choice,
            _ => Role::Step,
        })
        .collect();
    let is_workflow = drawing.groups[group].kind == FileKind::Workflow;
    // Colored lines are visible over their full length, as long as there are not too many.
    let colored = lines.iter().filter(|line| is_colored(drawing, &line.edges)).count();
    let links: Vec<Link> = lines
        .iter()
        .map(|line| {
            let words = label(drawing, &line.edges);
            let room = (width(&words, 10.0) + 8.0, 13.0);
            Link {
                from: at[&line.from],
                to: at[&line.to],
                words: (!words.is_empty()).then(|| turned(room)),
                class: match relation(drawing, &line.edges) {
                    Relation::Flow | Relation::Runs => 0,
                    Relation::Failure => 1,
                    Relation::Reads if is_workflow => 2,
                    Relation::Writes if is_workflow => 3,
                    Relation::Deletes if is_workflow => 4,
                    _ => 0,
                },
                whole: colored <= MOST_WHOLE && is_colored(drawing, &line.edges),
            }
        })
        .collect();
    let mut layout = lay_out(&boxes, &roles, &links);
    if across {
        let turn = |point: &mut (f64, f64)| *point = (point.1, point.0);
        std::mem::swap(&mut layout.width, &mut layout.height);
        layout.centers.iter_mut().for_each(turn);
        for route in &mut layout.routes {
            route.pieces.iter_mut().flatten().for_each(turn);
            route.words.iter_mut().for_each(turn);
        }
    }
    Scene { nodes: members.to_vec(), lines, layout }
}

/// The relation as which a line with these edges is drawn.
fn relation(drawing: &Drawing, edges: &[usize]) -> Relation {
    let all = edges.iter().map(|edge| drawing.edges[*edge].relation);
    all.min().unwrap_or(Relation::Flow)
}

/// Whether a line between two nodes is highlighted.
fn is_colored(drawing: &Drawing, edges: &[usize]) -> bool {
    let mut edges = edges.iter().map(|edge| &drawing.edges[*edge]);
    edges.any(|edge| edge.taken || !edge.faults.is_empty())
}

/// The label of the edges between two nodes.
fn label(drawing: &Drawing, edges: &[usize]) -> String {
    let mut words: Vec<String> = edges
        .iter()
        .filter_map(|edge| drawing.edges[*edge].label.as_deref())
        .map(|label| shortened(expression(label), LABEL))
        .collect();
    let plain = |edge: &usize| drawing.edges[*edge].exit == "ok";
    if edges.iter().any(plain) && !words.is_empty() {
        words.insert(0, "ok".to_owned());
    }
    clipped(&words.join(" or "), LABEL)
}

/// The content of `${…}` if that is the whole label: it is obviously an expression.
fn expression(label: &str) -> &str {
    let inner = label.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inner.filter(|inner| !inner.contains(['{', '}'])).unwrap_or(label).trim()
}

fn size(node: &Node, look: &Look) -> (f64, f64) {
    let name = width(&clipped(&node.name, NAME), 12.0);
    let detail = look.detail.as_ref().map(|text| width(&clipped(text, NAME), 10.0));
    let text = f64::max(name, detail.unwrap_or(0.0));
    let height = 14.0 + LINE + if detail.is_some() { 13.0 } else { 0.0 };
    match node.kind {
        Kind::Decision => (text * 1.25 + 44.0, height + 20.0),
        Kind::Fork | Kind::Join | Kind::Kill | Kind::Coordinator => (text + 48.0, height + 2.0),
        Kind::Dataset => (text + 24.0, height + 12.0),
        _ => (f64::max(text + 28.0, 56.0), height),
    }
}

/// The height of the text above an expansion.
fn head(node: &Node) -> f64 {
    if node.detail.is_some() { 10.0 + LINE + 13.0 } else { 10.0 + LINE }
}

fn write_line(
    out: &mut String,
    drawing: &Drawing,
    line: &Line,
    route: &Route,
    (left, top): (f64, f64),
) {
    let across = drawing.direction == Direction::LeftRight;
    let all: Vec<_> = line.edges.iter().map(|edge| &drawing.edges[*edge]).collect();
    let relation = relation(drawing, &line.edges);
    let level = all.iter().filter_map(|edge| worst(&edge.faults)).max();
    let tip = match level {
        Some(Level::Error) => "-error",
        Some(_) => "-warning",
        None if all.iter().any(|edge| edge.taken) => "-taken",
        None if relation == Relation::Failure => "-failure",
        None => "",
    };
    let mut class = format!("edge {}", relation.name());
    if !matches!(tip, "" | "-failure") {
        class.push_str(&tip.replace('-', " "));
    }
    let mut path = String::new();
    for piece in &route.pieces {
        for (index, (x, y)) in piece.iter().enumerate() {
            let (bx, by) = (left + x, top + y);
            let Some((x, y)) = index.checked_sub(1).map(|before| piece[before]) else {
                let _ = write!(path, "M{bx:.1} {by:.1}");
                continue;
            };
            let (ax, ay) = (left + x, top + y);
            let straight = if across { (ay - by).abs() < 0.5 } else { (ax - bx).abs() < 0.5 };
            if (ax - bx).abs() < 0.05 && (ay - by).abs() < 0.05 {
                continue;
            }
            if straight || line.from == line.to {
                let _ = write!(path, "L{bx:.1} {by:.1}");
            } else if across {
                let middle = (ax + bx) / 2.0;
                let _ = write!(path, "C{middle:.1} {ay:.1} {middle:.1} {by:.1} {bx:.1} {by:.1}");
            } else {
                let middle = (ay + by) / 2.0;
                let _ = write!(path, "C{ax:.1} {middle:.1} {bx:.1} {middle:.1} {bx:.1} {by:.1}");
            }
        }
    }
    let end = if route.joins { String::new() } else { format!(" marker-end=\"url(#tip{tip})\"") };
    let tooltip: Vec<String> = all.iter().map(|edge| edge.tooltip(drawing)).collect();
    let ends = all.first().map(|edge| (edge.from, edge.to));
    let id = |node: Option<usize>| {
        node.map_or_else(String::new, |node| escaped(&drawing.nodes[node].id))
    };
    let _ = writeln!(
        out,
        "<path class=\"{class}\" data-from=\"{}\" data-to=\"{}\" d=\"{path}\"{end}><title>{}</title></path>",
        id(ends.map(|ends| ends.0)),
        id(ends.map(|ends| ends.1)),
        escaped(&tooltip.join("\n"))
    );
    if let Some((x, y)) = route.words {
        let words = label(drawing, &line.edges);
        let class = if matches!(tip, "-error" | "-warning") { &tip[1..] } else { "" };
        let _ = writeln!(
            out,
            "<text class=\"label {class}\" x=\"{:.1}\" y=\"{:.1}\"{}>{}</text>",
            left + x,
            top + y + 3.5,
            held(&words, 10.0),
            escaped(&words)
        );
    }
}
