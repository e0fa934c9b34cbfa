//! Draws a definition.
//!
//! Takes a workflow, coordinator or bundle, valid or not, with its findings, and returns a [`Drawing`]: flat lists of
//! nodes and edges, which one small file per format turns into text. Every node is in it once; an undefined target is
//! drawn as a node of its own, and a fault is drawn at its location.
//!
//! Other definitions (sub-workflows, the workflow of a coordinator) are opened through [`Definitions`], because the
//! core does not search for files. Their expansion is bounded by `GROUP_LIMIT` and `DEPTH_LIMIT`.

mod build;
mod d2;
mod data;
mod dot;
mod focus;
mod json;
mod layout;
mod mermaid;
mod svg;

use crate::check::{FileKind, Finding};
use crate::diag::Level;
use crate::source::{Source, Span};
use crate::text::line;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use build::build;
pub use focus::{focus, named};
pub use svg::STYLE;

/// Maximum number of definitions expanded in one drawing.
pub(crate) const GROUP_LIMIT: usize = 500;
/// Maximum nesting depth of expansions: the server's own limit for sub-workflows.
pub(crate) const DEPTH_LIMIT: usize = 50;

/// Which parts of a definition are drawn, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Expand sub-workflows and the workflows of coordinators.
    pub expand: bool,
    /// Draw the data that actions read, write and delete.
    pub data: bool,
    /// Omit kill nodes and the lines to them.
    pub no_kill: bool,
    /// The direction of the drawing.
    pub direction: Direction,
}

/// The direction of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From left to right.
    LeftRight,
    /// From top to bottom.
    #[default]
    TopBottom,
}

/// A definition with its findings.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its text.
    pub source: Arc<Source>,
    /// Its type.
    pub kind: FileKind,
    /// Its findings.
    pub findings: Vec<Finding>,
}

/// Opens the definitions that others refer to.
pub trait Definitions {
    /// Returns the definition at `path`, as written in `from`; `None` if it cannot be determined before a run.
    fn open(&self, from: &Source, path: &str, kind: FileKind) -> Option<Definition>;
}

/// A [`Definitions`] that finds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Definitions for Alone {
    fn open(&self, _: &Source, _: &str, _: FileKind) -> Option<Definition> {
        None
    }
}

/// The type of a node in a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The start of a workflow.
    Start,
    /// An action of a workflow.
    Action,
    /// A decision of a workflow.
    Decision,
    /// A fork of a workflow.
    Fork,
    /// A join of a workflow.
    Join,
    /// A kill node of a workflow.
    Kill,
    /// The end of a workflow.
    End,
    /// An undefined target.
    Missing,
    /// A workflow, in the drawing of its coordinator.
    Workflow,
    /// A coordinator.
    Coordinator,
    /// A bundle.
    Bundle,
    /// A dataset of a coordinator.
    Dataset,
    /// Files and folders that actions read and write.
    Data,
}

impl Kind {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Start => "start",
            Kind::Action => "action",
            Kind::Decision => "decision",
            Kind::Fork => "fork",
            Kind::Join => "join",
            Kind::Kill => "kill",
            Kind::End => "end",
            Kind::Missing => "missing",
            Kind::Workflow => "workflow",
            Kind::Coordinator => "coordinator",
            Kind::Bundle => "bundle",
            Kind::Dataset => "dataset",
            Kind::Data => "data",
        }
    }
}

/// A fault marked in a drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its severity; an error is red.
    pub level: Level,
    /// The name of its rule.
    pub rule: &'static str,
    /// The message.
    pub message: String,
}

/// A location in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The span of the element's name, or of a name.
    pub span: Span,
    /// The span of the whole element.
    pub extent: Span,
}

/// A node of a drawing.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, made unique within the drawing.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// The type of an action, the pattern of a dataset: shown as a second line.
    pub detail: Option<String>,
    /// Further information, one item per line.
    pub notes: Vec<String>,
    /// Its location in the source.
    pub place: Option<Place>,
    /// The group that contains it.
    pub group: usize,
    /// Whether a run can reach it; true for everything that is not a node of a workflow.
    pub reachable: bool,
    /// Its faults.
    pub faults: Vec<Fault>,
    /// Its status in the run shown on the drawing.
    pub status: Option<String>,
    /// Number of its lines that this part of the drawing omits.
    pub hidden: Hidden,
}

/// The number of lines of a node that a part of a drawing omits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// Incoming lines.
    pub entries: usize,
    /// Outgoing lines.
    pub exits: usize,
}

/// The meaning of a line in a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// A transition.
    Flow,
    /// The transition after a failed action.
    Failure,
    /// A definition that starts another.
    Runs,
    /// From data to the node that reads it.
    Reads,
    /// From the node that writes data to the data.
    Writes,
    /// From the node that deletes data to the data.
    Deletes,
}

impl Relation {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Flow => "flow",
            Relation::Failure => "failure",
            Relation::Runs => "runs",
            Relation::Reads => "reads",
            Relation::Writes => "writes",
            Relation::Deletes => "deletes",
        }
    }
}

/// A line between two nodes.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Index of the source node.
    pub from: usize,
    /// Index of the target node.
    pub to: usize,
    /// Its meaning.
    pub relation: Relation,
    /// The exit of a workflow node: `ok`, `case`, `path`; otherwise the name of `relation`.
    pub exit: &'static str,
    /// Its label.
    pub label: Option<String>,
    /// Its faults.
    pub faults: Vec<Fault>,
    /// Whether the run shown on the drawing took it.
    pub taken: bool,
}

/// A definition in a drawing.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name of the application.
    pub name: String,
    /// Its type.
    pub kind: FileKind,
    /// The path of its file.
    pub path: String,
    /// The enclosing group, and the node that runs it.
    pub parent: Option<(usize, usize)>,
    /// The faults of the definition as a whole.
    pub faults: Vec<Fault>,
}

/// A drawing.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Its direction.
    pub direction: Direction,
    /// The drawn definition first, then its expansions, each after its parent.
    pub groups: Vec<Group>,
    /// Nodes in source order, group by group.
    pub nodes: Vec<Node>,
    /// Edges in source order, group by group.
    pub edges: Vec<Edge>,
}

/// The state of a node in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `OK`, `RUNNING`, …
    pub status: String,
    /// The node that was entered next; `*` for all.
    pub transition: Option<String>,
}

/// Marks a run of the outermost definition on its drawing. States are by node name.
pub fn paint(drawing: &mut Drawing, states: &BTreeMap<String, State>) {
    for node in drawing.nodes.iter_mut().filter(|node| node.group == 0) {
        node.status = states.get(&node.id).map(|state| state.status.clone());
    }
    for edge in &mut drawing.edges {
        let (from, to) = (&drawing.nodes[edge.from], &drawing.nodes[edge.to]);
        let next = states.get(&from.id).and_then(|state| state.transition.as_deref());
        edge.taken = from.group == 0
            && to.status.is_some()
            && next.is_some_and(|next| next == "*" || next == to.id);
    }
}

/// The color of a status.
fn status_color(status: &str) -> &'static str {
    match status {
        "OK" | "DONE" => "#cfe8cf",
        "RUNNING" => "#cfe0f5",
        "ERROR" | "FAILED" | "KILLED" => "#f5cfcf",
        _ => "#f7ecc4",
    }
}

/// The color of a transition that was taken.
const TAKEN: &str = "#2b7a2b";

/// Output formats of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
    /// SVG with its own layout.
    Svg,
    /// A JSON object.
    Json,
    /// D2.
    D2,
}

/// Formats a drawing.
pub fn render(drawing: &Drawing, format: Format) -> String {
    match format {
        Format::Dot => dot::render(drawing),
        Format::Mermaid => mermaid::render(drawing),
        Format::Svg => svg::render(drawing),
        Format::Json => json::render(drawing),
        Format::D2 => d2::render(drawing),
    }
}

/// The highest level of the faults.
fn worst(faults: &[Fault]) -> Option<Level> {
    faults.iter().map(|fault| fault.level).max()
}

/// The color of a level: red for an error.
fn color(level: Level) -> &'static str {
    match level {
        Level::Error => "#d00000",
        Level::Warning => "#c77700",
        Level::Info => "#4a7ab5",
    }
}

impl Node {
    /// The tooltip.
    fn tooltip(&self) -> String {
        let mut lines = vec![match &self.detail {
            Some(detail) => format!("{} {}: {detail}", self.kind.name(), self.name),
            None if self.kind == Kind::Start => self.name.clone(),
            None => format!("{} {}", self.kind.name(), self.name),
        }];
        lines.extend(self.status.iter().cloned());
        lines.extend(self.notes.iter().cloned());
        for (count, one, many) in [
            (self.hidden.entries, "1 way leads here", "ways lead here"),
            (self.hidden.exits, "1 way leads on", "ways lead on"),
        ] {
            match count {
                0 => {}
                1 => lines.push(format!("{one} that is not shown")),
                _ => lines.push(format!("{count} {many} that are not shown")),
            }
        }
        if let Some(place) = &self.place {
            lines.push(format!("{}:{}", place.path, place.line));
        }
        lines.extend(self.faults.iter().map(Fault::line));
        lines.join("\n")
    }

    /// The link to its source.
    fn link(&self) -> Option<String> {
        let place = self.place.as_ref()?;
        let mut link = String::new();
        for byte in place.path.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                    link.push(char::from(byte));
                }
                _ => link.push_str(&format!("%{byte:02X}")),
            }
        }
        Some(format!("{link}#L{}", place.line))
    }
}

impl Edge {
    /// The tooltip; empty if the line needs none.
    fn tooltip(&self, drawing: &Drawing) -> String {
        let (from, to) = (&drawing.nodes[self.from].name, &drawing.nodes[self.to].name);
        let mut lines = vec![format!("{from} -> {to} ({})", self.exit)];
        lines.extend(self.faults.iter().map(Fault::line));
        lines.join("\n")
    }
}

impl Fault {
    fn line(&self) -> String {
        format!("{}: {} ({})", self.level.name(), self.message, self.rule)
    }
}

impl Group {
    /// The title above it, in one line.
    fn title(&self) -> String {
        let path = line(&self.path);
        match self.name.as_str() {
            "" => path.into_owned(),
            name => format!("{} ({path})", line(name)),
        }
    }
}

/// The text in one line, without control characters, and limited to `limit` characters.
fn clipped(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (count, word) in text.split(|c: char| c.is_whitespace() || c.is_control()).enumerate() {
        if !word.is_empty() {
            if count > 0 && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
        if out.len() > 4 * limit {
            break;
        }
    }
    if out.chars().count() > limit {
        out = out.chars().take(limit.saturating_sub(1)).collect();
        out.push('…');
    }
    out
}

/// The beginning and the end of a text in one line, limited to `limit` characters: conditions often differ only at the
/// end.
fn shortened(text: &str, limit: usize) -> String {
    let whole = clipped(text, 8 * limit);
    let count = whole.chars().count();
    if count <= limit {
        return whole;
    }
    let head: String = whole.chars().take(limit / 2).collect();
    let tail: String = whole.chars().skip(count - (limit - limit / 2 - 1)).collect();
    format!("{}…{}", head.trim_end(), tail.trim_start())
}

/// A path limited to `limit` characters, keeping its end, which is most significant.
fn clipped_path(path: &str, limit: usize) -> String {
    let whole = clipped(path, 4 * limit);
    let count = whole.chars().count();
    if count <= limit {
        return whole;
    }
    let mut end: String = whole.chars().skip(count - limit + 1).collect();
    // Starts at a slash, if there is one in the first half.
    if let Some(slash) = end.find('/').filter(|at| *at < limit / 2) {
        end.drain(..slash);
    }
    format!("…{end}")
}

/// The text limited to `limit` characters, including line ends.
fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
