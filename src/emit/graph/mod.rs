//! A definition as a picture.
//!
//! In: a workflow, coordinator or bundle, valid or not, with its findings. Out: a [`Drawing`], flat lists of nodes and
//! edges, which one small file per format turns into text. Every node is in it once; an undefined target is drawn as a
//! node of its own, and a fault is drawn where it is.
//!
//! Other definitions (sub-workflows, the workflow of a coordinator) come through [`Definitions`], because the core does
//! not search for files. Their expansion is bounded by `GROUP_LIMIT` and `DEPTH_LIMIT`.

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

/// How many definitions one drawing unfolds.
pub(crate) const GROUP_LIMIT: usize = 500;
/// How deep they lie in each other: the server's own limit for sub-workflows.
pub(crate) const DEPTH_LIMIT: usize = 50;

/// What of a definition is drawn, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Draw sub-workflows, and the workflows of coordinators, with what is in them.
    pub expand: bool,
    /// Draw the data that actions read, write and delete.
    pub data: bool,
    /// Leave out kill nodes and what leads to them.
    pub no_kill: bool,
    /// Which way it goes.
    pub direction: Direction,
}

/// Which way a drawing goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the left to the right.
    LeftRight,
    /// From the top to the bottom.
    #[default]
    TopBottom,
}

/// A definition with what was found in it.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its text.
    pub source: Arc<Source>,
    /// What it is.
    pub kind: FileKind,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Finds what definitions name.
pub trait Definitions {
    /// What lies at `path`, as `from` writes it; none where that cannot be told before a run.
    fn open(&self, from: &Source, path: &str, kind: FileKind) -> Option<Definition>;
}

/// Finds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Definitions for Alone {
    fn open(&self, _: &Source, _: &str, _: FileKind) -> Option<Definition> {
        None
    }
}

/// What a node of a drawing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Of a workflow.
    Start,
    /// Of a workflow.
    Action,
    /// Of a workflow.
    Decision,
    /// Of a workflow.
    Fork,
    /// Of a workflow.
    Join,
    /// Of a workflow.
    Kill,
    /// Of a workflow.
    End,
    /// A target that no node has.
    Missing,
    /// A workflow, as its coordinator sees it.
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
    /// The word for it in output.
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

/// Why something is drawn in another color.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// How bad it is; an error is red.
    pub level: Level,
    /// The name of its kind.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
}

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: String,
    /// From 1 on.
    pub line: u32,
    /// From 1 on.
    pub column: u32,
    /// The word that stands there: the name of an element, or a name.
    pub span: Span,
    /// All that belongs to it: the whole element of a node.
    pub extent: Span,
}

/// Something that is drawn.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, made unique in the drawing.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The type of an action, the pattern of a dataset: a second line.
    pub detail: Option<String>,
    /// What else there is to know, a line each.
    pub notes: Vec<String>,
    /// Where it is written.
    pub place: Option<Place>,
    /// The group it is in.
    pub group: usize,
    /// Whether a run can come to it; true for what is no node of a workflow.
    pub reachable: bool,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
    /// Its status in the run that is painted on it.
    pub status: Option<String>,
    /// Lines that only a larger part of the drawing has.
    pub hidden: Hidden,
}

/// How many lines of a node are not in a part of a drawing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    /// That lead to it.
    pub entries: usize,
    /// That lead on.
    pub exits: usize,
}

/// What a line of a drawing means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// A run goes this way.
    Flow,
    /// A run goes this way when an action fails.
    Failure,
    /// The one starts the other.
    Runs,
    /// From data to its reader.
    Reads,
    /// From the writer to its data.
    Writes,
    /// To data that is deleted.
    Deletes,
}

impl Relation {
    /// The word for it in output.
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

/// A line from one node to another.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Index of a node.
    pub from: usize,
    /// Index of a node.
    pub to: usize,
    /// What it means.
    pub relation: Relation,
    /// How a node of a workflow is left: `ok`, `case`, `path`; else what `relation` says.
    pub exit: &'static str,
    /// The words beside it.
    pub label: Option<String>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
    /// Whether the run that is painted on it went this way.
    pub taken: bool,
}

/// A definition within a drawing.
#[derive(Clone, Debug)]
pub struct Group {
    /// The name of the application.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Its file.
    pub path: String,
    /// The group it lies in, and the node that runs it.
    pub parent: Option<(usize, usize)>,
    /// What is wrong with it as a whole.
    pub faults: Vec<Fault>,
}

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Which way it goes.
    pub direction: Direction,
    /// The definition itself first, then those that are unfolded in it, each behind its parent.
    pub groups: Vec<Group>,
    /// In the order of the text, a group after the other.
    pub nodes: Vec<Node>,
    /// In the order of the text, a group after the other.
    pub edges: Vec<Edge>,
}

/// What became of a node in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `OK`, `RUNNING`, …
    pub status: String,
    /// The node that was entered next; `*` for all.
    pub transition: Option<String>,
}

/// Paints a run of the outermost definition on its drawing. States are by the names of nodes.
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

/// The color of a way that was taken.
const TAKEN: &str = "#2b7a2b";

/// What a drawing can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For Graphviz.
    Dot,
    /// For Mermaid.
    Mermaid,
    /// A picture, laid out here.
    Svg,
    /// One object.
    Json,
    /// For D2.
    D2,
}

/// Writes a drawing.
pub fn render(drawing: &Drawing, format: Format) -> String {
    match format {
        Format::Dot => dot::render(drawing),
        Format::Mermaid => mermaid::render(drawing),
        Format::Svg => svg::render(drawing),
        Format::Json => json::render(drawing),
        Format::D2 => d2::render(drawing),
    }
}

/// The worst of some faults.
fn worst(faults: &[Fault]) -> Option<Level> {
    faults.iter().map(|fault| fault.level).max()
}

/// The color of a fault: red for an error.
fn color(level: Level) -> &'static str {
    match level {
        Level::Error => "#d00000",
        Level::Warning => "#c77700",
        Level::Info => "#4a7ab5",
    }
}

impl Node {
    /// What a reader sees who points at it.
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

    /// Where its text is.
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
    /// What a reader sees who points at it; nothing where the line says it all.
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
    /// The words above it, in one line.
    fn title(&self) -> String {
        let path = line(&self.path);
        match self.name.as_str() {
            "" => path.into_owned(),
            name => format!("{} ({path})", line(name)),
        }
    }
}

/// A text of one line, without control characters, and of at most `limit` characters.
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

/// The beginning and the end of a text of one line, at most `limit` characters: conditions often differ in the end alone.
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

/// A path of at most `limit` characters, of which the end says most.
fn clipped_path(path: &str, limit: usize) -> String {
    let whole = clipped(path, 4 * limit);
    let count = whole.chars().count();
    if count <= limit {
        return whole;
    }
    let mut end: String = whole.chars().skip(count - limit + 1).collect();
    // From a slash on, where there is one in the first half.
    if let Some(slash) = end.find('/').filter(|at| *at < limit / 2) {
        end.drain(..slash);
    }
    format!("…{end}")
}

/// At most `limit` characters of a text, lines and all.
fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
