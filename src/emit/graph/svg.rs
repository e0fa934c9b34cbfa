//! A drawing as a picture, laid out here.

use super::layout::{Layout, Size, lay_out};
use super::{
    Direction, Drawing, Fault, Kind, Node, Relation, TAKEN, clipped, color, status_color, worst,
};
use crate::diag::Level;
use std::collections::HashMap;
use std::fmt::Write;

/// Around everything.
const MARGIN: f64 = 16.0;
/// Around what is unfolded in a node.
const PADDING: f64 = 14.0;
/// Of a line of text.
const LINE: f64 = 15.0;
/// Characters of a name that are drawn; the tooltip has all.
const NAME: usize = 48;
/// Lines that are drawn over the whole of their way although others went before.
const MOST_WHOLE: usize = 500;
/// Characters beside a line.
const LABEL: usize = 28;

const STYLE: &str = "
  text { font: 12px Helvetica, Arial, sans-serif; fill: #222; text-anchor: middle }
  .detail { font-size: 10px; fill: #667 }
  .node path, .node rect, .node polygon { fill: #fff; stroke: #445; stroke-width: 1.2 }
  .start rect, .end rect { fill: #e8f3e8 } .kill polygon { fill: #f6eeee }
  .decision polygon { fill: #fdf6e3 } .fork polygon, .join polygon { fill: #e6eef8 }
  .dataset path, .data path { fill: #f1ecf8 } .inside rect { fill: #f7f8fa }
  .unreachable { opacity: .5 } .missing rect { stroke-dasharray: 4 3 }
  .edge { fill: none; stroke: #667; stroke-width: 1.2 }
  .failure { stroke: #aab; stroke-dasharray: 5 3 } .runs { stroke-width: 2.4 }
  .reads, .writes, .deletes { stroke-dasharray: 2 3 }
  .label { font-size: 10px } .words { fill: #fff; opacity: .8 }
  .taken { stroke: #2b7a2b; stroke-width: 2.4 }
  .error path, .error rect, .error polygon, .edge.error { stroke: #d00000; stroke-width: 2.4 }
  .error text, text.error { fill: #d00000 }
  .warning path, .warning rect, .warning polygon, .edge.warning { stroke: #c77700; stroke-width: 2 }
  .warning text, text.warning { fill: #c77700 }
";

/// Lines between the same two nodes, as one.
struct Line {
    from: usize,
    to: usize,
    edges: Vec<usize>,
}

/// One definition, laid out.
#[derive(Default)]
struct Scene {
    /// Nodes of the drawing, in the order of the layout.
    nodes: Vec<usize>,
    lines: Vec<(usize, usize, Vec<usize>)>,
    layout: Layout,
}

pub(super) fn render(drawing: &Drawing) -> String {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); drawing.groups.len()];
    for (index, node) in drawing.nodes.iter().enumerate() {
        members[node.group].push(index);
    }
    let mut lines: Vec<Vec<Line>> = Vec::new();
    lines.resize_with(drawing.groups.len(), Vec::new);
    let mut known: HashMap<(usize, usize), (usize, usize)> = HashMap::new();
    for (index, edge) in drawing.edges.iter().enumerate() {
        let group = drawing.nodes[edge.from].group;
        let all = &mut lines[group];
        let (_, at) = *known.entry((edge.from, edge.to)).or_insert_with(|| {
            all.push(Line { from: edge.from, to: edge.to, edges: Vec::new() });
            (group, all.len() - 1)
        });
        all[at].edges.push(index);
    }

    // From the innermost outwards: a node is as large as what is unfolded in it.
    let mut sizes: Vec<(f64, f64)> = drawing.nodes.iter().map(size).collect();
    let mut inside: Vec<Option<usize>> = vec![None; drawing.nodes.len()];
    let mut scenes: Vec<Scene> = Vec::new();
    for group in (0..drawing.groups.len()).rev() {
        let scene = scene(drawing, &members[group], &lines[group], &sizes);
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

    let title = drawing.groups.first().map(|group| group.title()).unwrap_or_default();
    let faults = drawing.groups.iter().flat_map(|group| &group.faults);
    let faults: Vec<&Fault> = faults.collect();
    let top = MARGIN + LINE * (1.0 + faults.len().min(10) as f64) + 6.0;
    let whole = scenes.first().map(|scene| (scene.layout.width, scene.layout.height));
    let (width, height) = whole.unwrap_or_default();
    let shortest = text_width(&title, 12.0);
    let width = f64::max(width, shortest) + 2.0 * MARGIN;
    let height = height + top + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n<title>{}</title>\n\
         <style>{STYLE}</style>\n<defs>\n",
        escaped(&title)
    );
    for (name, fill) in [
        ("", "#667"),
        ("-failure", "#aab"),
        ("-taken", TAKEN),
        ("-error", color(Level::Error)),
        ("-warning", color(Level::Warning)),
    ] {
        let _ = writeln!(
            out,
            "<marker id=\"tip{name}\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
             markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" \
             fill=\"{fill}\"/></marker>"
        );
    }
    out.push_str("</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
    let mut y = MARGIN + 11.0;
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{y}\" style=\"text-anchor: start; font-weight: bold\">{}</text>",
        escaped(&title)
    );
    for fault in faults.iter().take(10) {
        y += LINE;
        let _ = writeln!(
            out,
            "<text class=\"{}\" x=\"{MARGIN}\" y=\"{y}\" style=\"text-anchor: start\">{}</text>",
            fault.level.name(),
            escaped(&clipped(&fault.line(), 160))
        );
    }

    // From the outermost inwards, each behind what it lies on.
    let mut origins: Vec<(f64, f64)> = vec![(MARGIN, top); drawing.groups.len()];
    for (group, scene) in scenes.iter().enumerate() {
        let (left, top) = origins[group];
        for (index, (from, to, edges)) in scene.lines.iter().enumerate() {
            let route = (&scene.layout.routes[index][..], scene.layout.joins[index]);
            line(&mut out, drawing, (*from, *to), edges, route, (left, top));
        }
        for (at, index) in scene.nodes.iter().enumerate() {
            let (x, y) = scene.layout.centers[at];
            let (x, y) = (left + x, top + y);
            let (width, height) = sizes[*index];
            if let Some(inner) = inside[*index] {
                let node = &drawing.nodes[*index];
                let room = scenes[inner].layout.width;
                origins[inner] = (x - room / 2.0, y - height / 2.0 + head(node) + PADDING);
            }
            node(
                &mut out,
                &drawing.nodes[*index],
                (x, y),
                (width, height),
                inside[*index].is_some(),
                drawing.direction == Direction::LeftRight,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn scene(drawing: &Drawing, members: &[usize], lines: &[Line], sizes: &[(f64, f64)]) -> Scene {
    let across = drawing.direction == Direction::LeftRight;
    let mut at: HashMap<usize, usize> = HashMap::with_capacity(members.len());
    let mut boxes: Vec<Size> = Vec::with_capacity(members.len());
    for (index, node) in members.iter().enumerate() {
        at.insert(*node, index);
        let (width, height) = sizes[*node];
        let (width, height) = if across { (height, width) } else { (width, height) };
        boxes.push(Size { width, height, room: width });
    }
    let links: Vec<(usize, usize)> =
        lines.iter().map(|line| (at[&line.from], at[&line.to])).collect();
    // Words beside a line need room where it goes in.
    let mut entries = vec![0_usize; members.len()];
    links.iter().for_each(|(_, to)| entries[*to] += 1);
    for (line, (_, to)) in lines.iter().zip(&links) {
        let words = label(drawing, &line.edges);
        if entries[*to] == 1 && !words.is_empty() {
            let need = if across { LINE } else { text_width(&words, 10.0) };
            boxes[*to].room = boxes[*to].room.max(need);
        }
        if across && !words.is_empty() {
            // Layers lie side by side: the words go between them.
            let need = text_width(&words, 10.0) - 30.0;
            if need > 0.0 {
                let from = &mut boxes[at[&line.from]];
                from.height = from.height.max(sizes[line.from].0 + need);
            }
        }
    }
    // What is colored is seen all along, as far as that stays a picture.
    let colored: Vec<bool> = lines.iter().map(|line| is_colored(drawing, &line.edges)).collect();
    let few = colored.iter().filter(|colored| **colored).count() <= MOST_WHOLE;
    let mut layout = lay_out(&boxes, &links, |link| few && colored[link]);
    if across {
        // A box that was made longer for words is drawn as long as it is.
        for (index, route) in layout.routes.iter_mut().enumerate() {
            let from = links[index].0;
            let slack = (boxes[from].height - sizes[members[from]].0) / 2.0;
            if let Some(first) = route.first_mut().filter(|_| slack > 0.0) {
                first.1 -= slack;
            }
            let to = links[index].1;
            let slack = (boxes[to].height - sizes[members[to]].0) / 2.0;
            let is_there = slack > 0.0 && !layout.joins[index];
            if let Some(last) = route.last_mut().filter(|_| is_there) {
                last.1 += slack;
            }
        }
        std::mem::swap(&mut layout.width, &mut layout.height);
        layout.centers.iter_mut().for_each(|point| *point = (point.1, point.0));
        for route in &mut layout.routes {
            route.iter_mut().for_each(|point| *point = (point.1, point.0));
        }
    }
    let lines = lines.iter().map(|line| (line.from, line.to, line.edges.clone())).collect();
    Scene { nodes: members.to_vec(), lines, layout }
}

/// Whether a line between two nodes stands out.
fn is_colored(drawing: &Drawing, edges: &[usize]) -> bool {
    let mut edges = edges.iter().map(|edge| &drawing.edges[*edge]);
    edges.any(|edge| edge.taken || !edge.faults.is_empty())
}

/// The words beside lines between the same nodes.
fn label(drawing: &Drawing, edges: &[usize]) -> String {
    let words: Vec<String> = edges
        .iter()
        .filter_map(|edge| drawing.edges[*edge].label.as_deref())
        .map(|label| clipped(label, LABEL))
        .collect();
    let plain = |edge: &usize| drawing.edges[*edge].exit == "ok";
    if edges.iter().any(plain) && !words.is_empty() {
        return format!("{} or ok", clipped(&words.join(" or "), LABEL));
    }
    clipped(&words.join(" or "), LABEL)
}

fn size(node: &Node) -> (f64, f64) {
    let name = text_width(&clipped(&node.name, NAME), 12.0);
    let detail = node.detail.as_ref().map(|text| text_width(&clipped(text, NAME), 10.0));
    let text = f64::max(name, detail.unwrap_or(0.0));
    let height = 14.0 + LINE + if detail.is_some() { 13.0 } else { 0.0 };
    match node.kind {
        Kind::Decision => (text * 1.25 + 44.0, height + 20.0),
        Kind::Fork | Kind::Join | Kind::Kill | Kind::Coordinator => (text + 48.0, height + 2.0),
        Kind::Dataset => (text + 24.0, height + 12.0),
        _ => (f64::max(text + 24.0, 48.0), height),
    }
}

/// The height of the words above what is unfolded.
fn head(node: &Node) -> f64 {
    if node.detail.is_some() { 10.0 + LINE + 13.0 } else { 10.0 + LINE }
}

fn text_width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'l' | 'j' | '.' | ',' | ':' | '\'' | '|' | ' ' => 0.32,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        c if c.is_ascii_uppercase() => 0.72,
        c if c.is_ascii() => 0.58,
        c if u32::from(c) < 0x1100 => 0.65,
        _ => 1.0,
    };
    text.chars().map(of).sum::<f64>() * size
}

fn line(
    out: &mut String,
    drawing: &Drawing,
    (from, to): (usize, usize),
    edges: &[usize],
    (route, joins): (&[(f64, f64)], bool),
    (left, top): (f64, f64),
) {
    let across = drawing.direction == Direction::LeftRight;
    let all: Vec<_> = edges.iter().map(|edge| &drawing.edges[*edge]).collect();
    let relation = all.iter().map(|edge| edge.relation).min().unwrap_or(Relation::Flow);
    let level = all.iter().filter_map(|edge| worst(&edge.faults)).max();
    let mut class = format!("edge {}", relation.name());
    let tip = match level {
        Some(Level::Error) => "-error",
        Some(_) => "-warning",
        None if all.iter().any(|edge| edge.taken) => "-taken",
        None if relation == Relation::Failure => "-failure",
        None => "",
    };
    if !matches!(tip, "" | "-failure") {
        class.push_str(&tip.replace('-', " "));
    }
    let points: Vec<(f64, f64)> = route.iter().map(|(x, y)| (left + x, top + y)).collect();
    let Some(first) = points.first() else { return };
    let mut path = format!("M{:.1} {:.1}", first.0, first.1);
    for pair in points.windows(2) {
        let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
        let straight = if across { (ay - by).abs() < 0.5 } else { (ax - bx).abs() < 0.5 };
        if straight || from == to {
            let _ = write!(path, "L{bx:.1} {by:.1}");
        } else if across {
            let middle = (ax + bx) / 2.0;
            let _ = write!(path, "C{middle:.1} {ay:.1} {middle:.1} {by:.1} {bx:.1} {by:.1}");
        } else {
            let middle = (ay + by) / 2.0;
            let _ = write!(path, "C{ax:.1} {middle:.1} {bx:.1} {middle:.1} {bx:.1} {by:.1}");
        }
    }
    let end = if joins { String::new() } else { format!(" marker-end=\"url(#tip{tip})\"") };
    let tooltip: Vec<String> = all.iter().map(|edge| edge.tooltip(drawing)).collect();
    let _ = writeln!(
        out,
        "<path class=\"{class}\" d=\"{path}\"{end}><title>{}</title></path>",
        escaped(&tooltip.join("\n"))
    );
    let words = label(drawing, edges);
    if let (false, Some(second)) = (words.is_empty(), points.get(1)) {
        let (x, y) = ((first.0 + second.0) / 2.0, (first.1 + second.1) / 2.0 + 3.0);
        let class = if matches!(tip, "-error" | "-warning") { &tip[1..] } else { "" };
        let width = text_width(&words, 10.0) + 4.0;
        let _ = write!(
            out,
            "<rect class=\"words\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"12\"/>",
            x - width / 2.0,
            y - 9.0
        );
        let _ = writeln!(
            out,
            "<text class=\"label {class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(&words)
        );
    }
}

fn node(
    out: &mut String,
    node: &Node,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    has_inside: bool,
    across: bool,
) {
    let missing = (node.kind == Kind::Missing).then_some(Level::Error);
    let mut class = format!("node {}", node.kind.name());
    match worst(&node.faults).max(missing) {
        Some(level) => {
            class.push(' ');
            class.push_str(level.name());
        }
        None if !node.reachable => class.push_str(" unreachable"),
        None => {}
    }
    if has_inside {
        class.push_str(" inside");
    }
    let link = node.link().map(|link| escaped(&link));
    if let Some(link) = &link {
        let _ = write!(out, "<a href=\"{link}\">");
    }
    let _ = write!(out, "<g class=\"{class}\"><title>{}</title>", escaped(&node.tooltip()));
    let (l, r, t, b) = (x - width / 2.0, x + width / 2.0, y - height / 2.0, y + height / 2.0);
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        format!("<polygon points=\"{}\"/>", points.join(" "))
    };
    let rectangle = |inset: f64, radius: f64| {
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"{radius:.1}\"/>",
            l + inset,
            t + inset,
            width - 2.0 * inset,
            height - 2.0 * inset
        )
    };
    let shape = match node.kind {
        _ if has_inside => rectangle(0.0, 8.0),
        Kind::Start => rectangle(0.0, height / 2.0),
        Kind::End => rectangle(0.0, height / 2.0) + &rectangle(3.0, height / 2.0 - 3.0),
        Kind::Action => rectangle(0.0, 6.0),
        Kind::Missing => rectangle(0.0, 0.0),
        Kind::Decision => polygon(&[(x, t), (r, y), (x, b), (l, y)]),
        Kind::Fork if across => polygon(&[(l, t + 7.0), (r, t), (r, b), (l, b - 7.0)]),
        Kind::Join if across => polygon(&[(l, t), (r, t + 7.0), (r, b - 7.0), (l, b)]),
        Kind::Fork => polygon(&[(l + 14.0, t), (r - 14.0, t), (r, b), (l, b)]),
        Kind::Join => polygon(&[(l, t), (r, t), (r - 14.0, b), (l + 14.0, b)]),
        Kind::Kill => polygon(&[
            (l + 10.0, t),
            (r - 10.0, t),
            (r, t + 10.0),
            (r, b - 10.0),
            (r - 10.0, b),
            (l + 10.0, b),
            (l, b - 10.0),
            (l, t + 10.0),
        ]),
        Kind::Coordinator => {
            polygon(&[(l + 14.0, t), (r - 14.0, t), (r, y), (r - 14.0, b), (l + 14.0, b), (l, y)])
        }
        Kind::Workflow | Kind::Bundle => rectangle(0.0, 2.0) + &rectangle(3.0, 2.0),
        Kind::Dataset => {
            let half = width / 2.0;
            format!(
                "<path d=\"M{l:.1} {:.1}a{half:.1} 6 0 0 1 {width:.1} 0V{:.1}a{half:.1} 6 0 0 1 -{width:.1} \
                 0Zm0 0a{half:.1} 6 0 0 0 {width:.1} 0\"/>",
                t + 6.0,
                b - 6.0
            )
        }
        Kind::Data => format!(
            "<path d=\"M{l:.1} {t:.1}H{:.1}L{r:.1} {:.1}V{b:.1}H{l:.1}ZM{:.1} {t:.1}V{:.1}H{r:.1}\"/>",
            r - 9.0,
            t + 9.0,
            r - 9.0,
            t + 9.0
        ),
    };
    let shape = match &node.status {
        // A style of its own wins over the sheet.
        Some(status) => {
            shape.replace("/>", &format!(" style=\"fill: {}\"/>", status_color(status)))
        }
        None => shape,
    };
    out.push_str(&shape);
    let base = match node.kind {
        _ if has_inside => t + LINE + 4.0,
        Kind::Dataset => y + 4.0 + 4.0,
        _ => y + 4.0,
    };
    let base = if node.detail.is_some() && !has_inside { base - 6.0 } else { base };
    let _ = write!(
        out,
        "<text x=\"{x:.1}\" y=\"{base:.1}\">{}</text>",
        escaped(&clipped(&node.name, NAME))
    );
    if let Some(detail) = &node.detail {
        let _ = write!(
            out,
            "<text class=\"detail\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            base + 13.0,
            escaped(&clipped(detail, NAME))
        );
    }
    out.push_str("</g>");
    if link.is_some() {
        out.push_str("</a>");
    }
    out.push('\n');
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push('\n'),
            // What no XML may hold.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
