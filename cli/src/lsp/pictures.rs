//! Pictures of a text: `ankus/graph` and `ankus/timeline`, which are extensions of the protocol.
//!
//! The request has a text and optionally the cursor. The answer is an SVG picture whose elements name their node
//! (`data-node`) and their ends (`data-from`, `data-to`); the location of each node; the node at the cursor, and the
//! nodes on the paths through it.

use super::documents::Document;
use super::requests::{Answer, error};
use super::root::Root;
use super::world::World;
use crate::graph::{Beside, definition};
use crate::timeline::{Tracks, admit, tracks_with};
use ankus::check::FileKind;
use ankus::emit::graph::{
    self, Definition, Definitions, Direction, Drawing, Format, Options, Relation,
};
use ankus::emit::timeline::{self, Request};
use ankus::source::Source;
use ankus_project::{Loaded, absolute};
use lsp_server::{ErrorCode, ResponseError};
use lsp_types::{Position, TextDocumentIdentifier, Uri};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Parameters of a request for a picture.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params {
    text_document: TextDocumentIdentifier,
    position: Option<Position>,
    /// Whether the content of sub-workflows is drawn.
    #[serde(default)]
    expand_sub_workflows: bool,
    /// Whether inputs and outputs are drawn.
    #[serde(default)]
    data: bool,
    /// Whether to draw from left to right instead of top to bottom.
    #[serde(default)]
    left_to_right: bool,
}

/// Returns the graph of a text; `null` if it has none.
pub(super) fn graph(world: &World, params: &Params) -> Answer {
    let options = Options {
        expand: params.expand_sub_workflows,
        data: params.data,
        no_kill: false,
        direction: match params.left_to_right {
            true => Direction::LeftRight,
            false => Direction::TopBottom,
        },
    };
    let Some(asked) = Asked::about(world, &params.text_document.uri)? else {
        return Ok(Value::Null);
    };
    let drawing = match &asked {
        Asked::File { root, loaded, .. } => {
            let definition = definition(loaded).map_err(refused)?;
            let path = loaded.found.path.clone();
            let beside = Beside { project: &root.project, given: &root.given, root: path };
            graph::build(&definition, &beside, &options)
        }
        Asked::Text { document, kind } => {
            let source = Arc::clone(&document.source);
            let definition = Definition { source, kind: *kind, findings: Vec::new() };
            graph::build(&definition, &Alone, &options)
        }
    };
    let source = asked.source();
    let units = world.client.can.units;
    let offset = params.position.map(|position| units.offset(source, position));
    let current = offset.and_then(|offset| at(&drawing, &source.path, offset));
    let mut answer = json!({
        "version": 1,
        "svg": graph::render(&drawing, Format::Svg),
        "nodes": nodes(world, &drawing, source),
    });
    if let Some(current) = current {
        let ids = |nodes: &[usize]| -> Vec<&str> {
            nodes.iter().map(|node| drawing.nodes[*node].id.as_str()).collect()
        };
        answer["current"] = json!(drawing.nodes[current].id);
        answer["path"] = json!(ids(&ways_through(&drawing, current)));
    }
    Ok(answer)
}

/// Returns the instances of a coordinator, or of those of a bundle; `null` for other texts.
pub(super) fn timeline(world: &World, params: &Params) -> Answer {
    let asked = Asked::about(world, &params.text_document.uri)?;
    let Some(Asked::File { root, loaded, .. }) = asked else { return Ok(Value::Null) };
    if !matches!(loaded.found.kind, FileKind::Coordinator | FileKind::Bundle) {
        return Ok(Value::Null);
    }
    let tracks = tracks_with(&loaded, &root.project, None).map_err(refused)?;
    let Tracks { tracks, left_out, .. } = tracks;
    admit(&tracks).map_err(refused)?;
    let now = ankus_project::today();
    let request = Request { from: None, to: None, count: None, now, existing: None };
    let mut svg = String::new();
    let drawn = timeline::svg(&tracks, request, &mut svg);
    drawn.map_err(|_| error(ErrorCode::InternalError, "the timeline was not written"))?;
    Ok(json!({"version": 1, "svg": svg, "nodes": [], "leftOut": left_out}))
}

/// Returns the error why there is no picture.
fn refused(why: miette::Report) -> ResponseError {
    error(ErrorCode::RequestFailed, format!("{why:#}"))
}

/// The subject of a request.
enum Asked {
    File {
        root: Arc<Root>,
        loaded: Box<Loaded>,
    },
    /// A text that was never saved.
    Text {
        document: Arc<Document>,
        kind: FileKind,
    },
}

impl Asked {
    /// # Errors
    /// Where the file or its settings cannot be read.
    fn about(world: &World, uri: &Uri) -> Result<Option<Asked>, ResponseError> {
        let document = world.document(uri);
        let path = match &document {
            Some(document) => document.path.clone(),
            None => super::path_of(uri),
        };
        let Some(path) = path else {
            let kind = document.as_ref().and_then(|document| document.kind());
            let kind = kind.filter(|kind| is_drawn(*kind));
            return Ok(document.zip(kind).map(|(document, kind)| Asked::Text { document, kind }));
        };
        let Some(root) = world.root_of(&path) else { return Ok(None) };
        let found = root.found(&path, document.as_deref()).filter(|found| is_drawn(found.kind));
        let Some(found) = found else { return Ok(None) };
        let loaded = root.load_definition(&found).map_err(refused)?;
        Ok(Some(Asked::File { root, loaded: Box::new(loaded) }))
    }

    fn source(&self) -> &Source {
        match self {
            Asked::File { loaded, .. } => &loaded.source,
            Asked::Text { document, .. } => &document.source,
        }
    }
}

fn is_drawn(kind: FileKind) -> bool {
    matches!(kind, FileKind::Workflow | FileKind::Coordinator | FileKind::Bundle)
}

/// Provides no files, for a text without a folder.
struct Alone;

impl Definitions for Alone {
    fn open(&self, _from: &Source, _path: &str, _kind: FileKind) -> Option<Definition> {
        None
    }
}

/// Returns the location of each node: in this text, or in the file that contains it.
fn nodes(world: &World, drawing: &Drawing, source: &Source) -> Vec<Value> {
    let units = world.client.can.units;
    let one = |node: &graph::Node| {
        let place = node.place.as_ref()?;
        if place.path == source.path {
            let range = units.range(source, place.extent);
            let word = units.range(source, place.span);
            return Some(json!({"id": node.id, "range": range, "selectionRange": word}));
        }
        // Lines are the same in all units, and the text of the other file is not loaded.
        let uri = super::places::uri_of(&absolute(Path::new(&place.path)).ok()?)?;
        let start = Position::new(place.line - 1, 0);
        let range = lsp_types::Range::new(start, start);
        Some(json!({"id": node.id, "uri": uri, "range": range, "selectionRange": range}))
    };
    drawing.nodes.iter().filter_map(one).collect()
}

/// Returns the innermost node at an offset.
fn at(drawing: &Drawing, path: &str, offset: u32) -> Option<usize> {
    let places = drawing.nodes.iter().enumerate().filter_map(|(index, node)| {
        let place = node.place.as_ref().filter(|place| place.path == path)?;
        place.extent.touches(offset).then_some((place.extent.end - place.extent.start, index))
    });
    places.min().map(|(_, index)| index)
}

/// Returns the nodes on the paths through a node. The paths follow error transitions only if it cannot be reached or
/// left otherwise, since nearly all nodes lead to a kill node by theirs.
fn ways_through(drawing: &Drawing, node: usize) -> Vec<usize> {
    let mut on_way = vec![false; drawing.nodes.len()];
    for forward in [true, false] {
        let ends = |edge: &graph::Edge| match forward {
            true => (edge.from, edge.to),
            false => (edge.to, edge.from),
        };
        let mut next: Vec<[Vec<usize>; 2]> = vec![Default::default(); drawing.nodes.len()];
        for edge in &drawing.edges {
            let ((from, to), rank) = (ends(edge), usize::from(edge.relation == Relation::Failure));
            next[from][rank].push(to);
        }
        let mut seen = vec![false; drawing.nodes.len()];
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut seen[node], true) {
                let [flows, failures] = &next[node];
                open.extend(if flows.is_empty() { failures } else { flows });
            }
        }
        on_way.iter_mut().zip(seen).for_each(|(on, seen)| *on |= seen);
    }
    (0..on_way.len()).filter(|index| on_way[*index]).collect()
}
