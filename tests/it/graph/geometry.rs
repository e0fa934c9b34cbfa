//! Reads the positions of the elements in a picture, and measures it.
//!
//! Lines are approximated by many short straight pieces, texts by the space that the picture reserves for them.

use roxmltree::{Document, Node};

/// The number of pieces of a curve.
const PIECES: usize = 24;
/// The tolerance, because edges may touch.
const TOUCH: f64 = 0.6;
/// Crossings are not counted in pictures with more lines.
const MOST_LINES: usize = 400;

type Point = (f64, f64);

/// A rectangle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    const NONE: Area = Area {
        left: f64::INFINITY,
        top: f64::INFINITY,
        right: f64::NEG_INFINITY,
        bottom: f64::NEG_INFINITY,
    };

    fn with(self, (x, y): Point) -> Area {
        Area {
            left: self.left.min(x),
            top: self.top.min(y),
            right: self.right.max(x),
            bottom: self.bottom.max(y),
        }
    }

    fn meets(self, other: Area) -> bool {
        self.left + TOUCH < other.right
            && other.left + TOUCH < self.right
            && self.top + TOUCH < other.bottom
            && other.top + TOUCH < self.bottom
    }

    fn holds(self, (x, y): Point, inset: f64) -> bool {
        x > self.left + inset
            && x < self.right - inset
            && y > self.top + inset
            && y < self.bottom - inset
    }

    fn size(self) -> f64 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    pub(super) fn middle(self) -> f64 {
        (self.left + self.right) / 2.0
    }
}

struct Drawn {
    scene: usize,
    class: String,
    area: Area,
    what: String,
}

struct Line {
    scene: usize,
    pieces: Vec<Vec<Point>>,
    area: Area,
    what: String,
}

pub(super) struct Picture {
    canvas: Area,
    nodes: Vec<Drawn>,
    labels: Vec<Drawn>,
    lines: Vec<Line>,
}

#[derive(Default)]
pub(super) struct Measures {
    pub(super) faults: Vec<String>,
    pub(super) nodes: usize,
    pub(super) labels: usize,
    pub(super) lines: usize,
    pub(super) crossings: usize,
    /// The share of the canvas that the nodes cover.
    pub(super) canvas_use: f64,
}

impl Measures {
    pub(super) fn add(&mut self, other: Measures) {
        self.nodes += other.nodes;
        self.labels += other.labels;
        self.lines += other.lines;
        self.crossings += other.crossings;
    }
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("no {name}: {node:?}"));
    text.parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

impl Picture {
    pub(super) fn read(svg: &str) -> Picture {
        let document = Document::parse(svg).expect("well-formed");
        let root = document.root_element();
        let size: Vec<f64> = root
            .attribute("viewBox")
            .expect("a size")
            .split(' ')
            .map(|number| number.parse().expect("a number"))
            .collect();
        let canvas = Area { left: size[0], top: size[1], right: size[2], bottom: size[3] };
        let mut picture =
            Picture { canvas, nodes: Vec::new(), labels: Vec::new(), lines: Vec::new() };
        let scenes = root.children().filter(|child| child.attribute("class") == Some("scene"));
        for (scene, within) in scenes.enumerate() {
            for element in within.descendants().filter(|node| node.is_element()) {
                let class = element.attribute("class").unwrap_or_default();
                let what = || {
                    let title = element.children().find(|child| child.has_tag_name("title"));
                    title.and_then(|title| title.text()).unwrap_or_default().replace('\n', ", ")
                };
                let drawn = |area, what| Drawn { scene, class: class.to_owned(), area, what };
                if class.starts_with("node ") {
                    let outline =
                        element.children().find(|child| child.attribute("class") == Some("box"));
                    let area = outline_of(outline.expect("an outline"));
                    picture.nodes.push(drawn(area, what()));
                } else if class == "mark" {
                    let circle = element.children().find(|child| child.has_tag_name("circle"));
                    picture.nodes.push(drawn(outline_of(circle.expect("a circle")), what()));
                } else if class.starts_with("label") {
                    let text = element.text().unwrap_or_default();
                    let half = match element.attribute("textLength") {
                        Some(_) => number(element, "textLength") / 2.0,
                        None => text.chars().count() as f64 * 3.0,
                    };
                    let (x, y) = (number(element, "x"), number(element, "y"));
                    let area =
                        Area { left: x - half, top: y - 8.0, right: x + half, bottom: y + 2.0 };
                    picture.labels.push(drawn(area, text.to_owned()));
                } else if class.starts_with("edge ") {
                    let pieces = points(element.attribute("d").expect("a path"));
                    let area =
                        pieces.iter().flatten().fold(Area::NONE, |area, point| area.with(*point));
                    picture.lines.push(Line { scene, pieces, area, what: what() });
                }
            }
        }
        picture
    }

    /// The areas of all nodes of a kind.
    pub(super) fn boxes(&self, kind: &str) -> impl Iterator<Item = Area> {
        let kind = format!("node {kind}");
        self.nodes.iter().filter(move |node| node.class.starts_with(&kind)).map(|node| node.area)
    }

    pub(super) fn measure(&self) -> Measures {
        let mut faults = Vec::new();
        let is_mark = |node: &Drawn| node.class == "mark";
        for drawn in self.nodes.iter().chain(&self.labels) {
            let area = drawn.area;
            if !self.canvas.holds((area.left, area.top), -TOUCH)
                || !self.canvas.holds((area.right, area.bottom), -TOUCH)
            {
                faults.push(format!("`{}` leaves the canvas", drawn.what));
            }
        }
        for line in &self.lines {
            if line.pieces.iter().flatten().any(|point| !self.canvas.holds(*point, -TOUCH)) {
                faults.push(format!("`{}` leaves the canvas", line.what));
            }
        }
        for (one, other) in near(&self.labels, &self.labels) {
            if (one.area.left, one.area.top) < (other.area.left, other.area.top) {
                faults.push(format!("labels `{}` and `{}`", one.what, other.what));
            }
        }
        for (label, node) in near(&self.labels, &self.nodes) {
            if label.scene == node.scene {
                faults.push(format!("label `{}` and node `{}`", label.what, node.what));
            }
        }
        for (one, other) in near(&self.nodes, &self.nodes) {
            let first = (one.area.left, one.area.top) < (other.area.left, other.area.top);
            if one.scene == other.scene && first && !is_mark(one) && !is_mark(other) {
                faults.push(format!("nodes `{}` and `{}`", one.what, other.what));
            }
        }
        for line in &self.lines {
            let through = |drawn: &&Drawn, inset: f64| {
                drawn.scene == line.scene
                    && drawn.area.meets(line.area)
                    && line.pieces.iter().flatten().any(|point| drawn.area.holds(*point, inset))
            };
            // A mark lies on the edge of its own node.
            for node in self.nodes.iter().filter(|node| through(node, 1.2)) {
                faults.push(format!("line `{}` and node `{}`", line.what, node.what));
            }
            for label in self.labels.iter().filter(|label| through(label, 0.4)) {
                faults.push(format!("line `{}` and label `{}`", line.what, label.what));
            }
        }
        let frames = |node: &&Drawn| !node.class.contains("frame") && !is_mark(node);
        let covered: f64 = self.nodes.iter().filter(frames).map(|node| node.area.size()).sum();
        Measures {
            faults,
            nodes: self.nodes.len(),
            labels: self.labels.len(),
            lines: self.lines.len(),
            crossings: if self.lines.len() <= MOST_LINES { self.crossings() } else { 0 },
            canvas_use: covered / self.canvas.size(),
        }
    }

    /// The number of crossings of lines; the points where lines begin, end or join do not count.
    fn crossings(&self) -> usize {
        let mut crossings = 0;
        for (index, one) in self.lines.iter().enumerate() {
            for other in &self.lines[index + 1..] {
                if one.scene != other.scene || !one.area.meets(other.area) {
                    continue;
                }
                let ends = |line: &Line| {
                    let all: Vec<Point> = line
                        .pieces
                        .iter()
                        .flat_map(|piece| [piece[0], piece[piece.len() - 1]])
                        .collect();
                    all
                };
                let ends: Vec<Point> = ends(one).into_iter().chain(ends(other)).collect();
                let mut last: Option<Point> = None;
                for a in one.pieces.iter().flat_map(|piece| piece.windows(2)) {
                    for b in other.pieces.iter().flat_map(|piece| piece.windows(2)) {
                        let Some(point) = meeting((a[0], a[1]), (b[0], b[1])) else { continue };
                        let close = |end: &Point| (end.0 - point.0).hypot(end.1 - point.1) < 3.0;
                        if ends.iter().any(close) || last.as_ref().is_some_and(close) {
                            continue;
                        }
                        last = Some(point);
                        crossings += 1;
                    }
                }
            }
        }
        crossings
    }
}

/// Pairs that overlap.
fn near<'a>(some: &'a [Drawn], others: &'a [Drawn]) -> Vec<(&'a Drawn, &'a Drawn)> {
    let mut sorted: Vec<&Drawn> = others.iter().collect();
    sorted.sort_by(|a, b| a.area.top.total_cmp(&b.area.top));
    let tallest = others.iter().map(|drawn| drawn.area.bottom - drawn.area.top).fold(0.0, f64::max);
    let mut pairs = Vec::new();
    for one in some {
        let from = sorted.partition_point(|other| other.area.top < one.area.top - tallest);
        let to = sorted.partition_point(|other| other.area.top <= one.area.bottom);
        let met = sorted[from..to].iter().filter(|other| other.area.meets(one.area));
        pairs.extend(met.filter(|other| !std::ptr::eq(**other, one)).map(|other| (one, *other)));
    }
    pairs
}

fn outline_of(element: Node<'_, '_>) -> Area {
    match element.tag_name().name() {
        "rect" => {
            let (x, y) = (number(element, "x"), number(element, "y"));
            let (width, height) = (number(element, "width"), number(element, "height"));
            Area { left: x, top: y, right: x + width, bottom: y + height }
        }
        "circle" => {
            let (x, y, r) = (number(element, "cx"), number(element, "cy"), number(element, "r"));
            Area { left: x - r, top: y - r, right: x + r, bottom: y + r }
        }
        "polygon" => element
            .attribute("points")
            .expect("points")
            .split(' ')
            .map(|pair| pair.split_once(',').expect("a pair"))
            .map(|(x, y)| (x.parse().expect("a number"), y.parse().expect("a number")))
            .fold(Area::NONE, Area::with),
        _ => {
            let all = points(element.attribute("d").expect("a path"));
            all.into_iter().flatten().fold(Area::NONE, Area::with)
        }
    }
}

/// The points of a path, in pieces.
fn points(path: &str) -> Vec<Vec<Point>> {
    let mut pieces: Vec<Vec<Point>> = Vec::new();
    let (mut x, mut y) = (0.0, 0.0);
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic()).map_or(rest.len(), |at| at + 1);
        let spaced = rest[1..end].replace('-', " -");
        let numbers: Vec<f64> =
            spaced.split_whitespace().map(|text| text.parse().expect("a number")).collect();
        rest = &rest[end..];
        let from = (x, y);
        match (command, numbers.as_slice()) {
            ('M' | 'L', [to_x, to_y]) => (x, y) = (*to_x, *to_y),
            ('m', [by_x, by_y]) => (x, y) = (x + by_x, y + by_y),
            ('H', [to]) => x = *to,
            ('V', [to]) => y = *to,
            ('C', [ax, ay, bx, by, to_x, to_y]) => {
                (x, y) = {
                    let piece = pieces.last_mut().expect("a curve begins somewhere");
                    for step in 1..PIECES {
                        let t = step as f64 / PIECES as f64;
                        let u = 1.0 - t;
                        let at = |p: f64, a: f64, b: f64, q: f64| {
                            u * u * u * p
                                + 3.0 * u * u * t * a
                                + 3.0 * u * t * t * b
                                + t * t * t * q
                        };
                        piece.push((at(from.0, *ax, *bx, *to_x), at(from.1, *ay, *by, *to_y)));
                    }
                    (*to_x, *to_y)
                }
            }
            // Half an ellipse.
            ('a', [_, high, _, _, sweep, by_x, by_y]) => {
                let bulge = if *sweep > 0.0 { -high } else { *high };
                let sign = if *by_x < 0.0 { -1.0 } else { 1.0 };
                let piece = pieces.last_mut().expect("an arc begins somewhere");
                piece.push((x + by_x / 2.0, y + sign * bulge));
                (x, y) = (x + by_x, y + by_y);
            }
            ('Z' | 'z', []) => continue,
            other => panic!("{other:?} in {path}"),
        }
        if matches!(command, 'M' | 'm') {
            pieces.push(Vec::new());
        }
        let piece = pieces.last_mut().expect("a path begins with a move");
        // Long straight lines need points in between as well.
        if command == 'L' {
            let steps = ((x - from.0).hypot(y - from.1) / 4.0) as usize;
            for step in 1..steps.min(4_000) {
                let t = step as f64 / steps as f64;
                piece.push((from.0 + t * (x - from.0), from.1 + t * (y - from.1)));
            }
        }
        piece.push((x, y));
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

/// The intersection of two straight lines.
fn meeting((a, b): (Point, Point), (c, d): (Point, Point)) -> Option<Point> {
    let side = |p: Point, q: Point, r: Point| (q.0 - p.0) * (r.1 - p.1) - (q.1 - p.1) * (r.0 - p.0);
    let (one, other) = (side(a, b, c), side(a, b, d));
    let (first, second) = (side(c, d, a), side(c, d, b));
    if one * other >= 0.0 || first * second >= 0.0 {
        return None;
    }
    let t = first / (first - second);
    Some((a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1)))
}
