//! Writes a drawing as a JSON object, for programs that draw themselves.

use super::{Drawing, Edge, Fault, Node};
use crate::text::{self, each};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};

pub(super) fn render(drawing: &Drawing) -> String {
    text::pretty(&Whole(drawing))
}

struct Whole<'d>(&'d Drawing);

impl Serialize for Whole<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let drawing = self.0;
        let root = drawing.groups.first();
        let places: Vec<usize> = (0..drawing.groups.len()).collect();
        let mut whole = serializer.serialize_map(None)?;
        whole.serialize_entry("version", &1)?;
        whole.serialize_entry("kind", &root.map(|group| group.kind.name()))?;
        whole.serialize_entry("name", &root.map(|group| &group.name))?;
        whole.serialize_entry("path", &root.map(|group| &group.path))?;
        whole.serialize_entry("groups", &each(&places, |index| group(drawing, *index)))?;
        whole.serialize_entry("nodes", &each(&drawing.nodes, node))?;
        whole.serialize_entry("edges", &each(&drawing.edges, |one| edge(drawing, one)))?;
        whole.end()
    }
}

fn group(drawing: &Drawing, index: usize) -> Value {
    let group = &drawing.groups[index];
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(index));
    object.insert("name".to_owned(), json!(group.name));
    object.insert("kind".to_owned(), json!(group.kind.name()));
    object.insert("path".to_owned(), json!(group.path));
    if let Some((parent, node)) = group.parent {
        object.insert("parent".to_owned(), json!(parent));
        object.insert("of".to_owned(), json!(drawing.nodes[node].id));
    }
    object.insert("faults".to_owned(), faults(&group.faults));
    Value::Object(object)
}

fn node(node: &Node) -> Value {
    let mut object = Map::new();
    object.insert("id".to_owned(), json!(node.id));
    object.insert("name".to_owned(), json!(node.name));
    object.insert("kind".to_owned(), json!(node.kind.name()));
    if let Some(detail) = &node.detail {
        let key = if node.kind == super::Kind::Action { "type" } else { "detail" };
        object.insert(key.to_owned(), json!(detail));
    }
    object.insert("group".to_owned(), json!(node.group));
    if let Some(place) = &node.place {
        object.insert("path".to_owned(), json!(place.path));
        object.insert("start".to_owned(), json!({"line": place.line, "column": place.column}));
    }
    object.insert("reachable".to_owned(), json!(node.reachable));
    if let Some(status) = &node.status {
        object.insert("status".to_owned(), json!(status));
    }
    object.insert("notes".to_owned(), json!(node.notes));
    if node.hidden != super::Hidden::default() {
        let hidden = json!({"entries": node.hidden.entries, "exits": node.hidden.exits});
        object.insert("hidden".to_owned(), hidden);
    }
    object.insert("faults".to_owned(), faults(&node.faults));
    Value::Object(object)
}

fn edge(drawing: &Drawing, edge: &Edge) -> Value {
    let mut object = Map::new();
    object.insert("from".to_owned(), json!(drawing.nodes[edge.from].id));
    object.insert("to".to_owned(), json!(drawing.nodes[edge.to].id));
    object.insert("relation".to_owned(), json!(edge.relation.name()));
    object.insert("exit".to_owned(), json!(edge.exit));
    if let Some(label) = &edge.label {
        object.insert("label".to_owned(), json!(label));
    }
    if edge.taken {
        object.insert("taken".to_owned(), json!(true));
    }
    object.insert("faults".to_owned(), faults(&edge.faults));
    Value::Object(object)
}

fn faults(faults: &[Fault]) -> Value {
    let one = |fault: &Fault| json!({"rule": fault.rule, "level": fault.level.name(), "message": fault.message});
    faults.iter().map(one).collect()
}
