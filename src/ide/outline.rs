//! The outline of a text, and the search for names in all texts.

use super::Snapshot;
use super::definition::{self, Place};
use super::document::{Document, Kind};
use super::names::{Role, Symbol};
use crate::ir::Scalar;
use crate::ir::coordinator::{Coordinator, Dataset};
use crate::ir::workflow::{Shape, Workflow};
use crate::source::Span;

/// The type of an outline entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A workflow, coordinator or bundle.
    Application,
    /// A node of a workflow.
    Node(Shape),
    /// A dataset.
    Dataset,
    /// A data-in.
    Input,
    /// A data-out.
    Output,
    /// A coordinator of a bundle.
    Coordinator,
    /// A property or a formal parameter.
    Property,
    /// A credential.
    Credential,
    /// A group of other entries: `global`, a table in a settings file.
    Section,
}

/// An entry of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// A short detail: the type of an action, a value.
    pub detail: String,
    /// Its type.
    pub kind: EntryKind,
    /// Its whole span.
    pub span: Span,
    /// The span of its name.
    pub name_span: Span,
    /// The entries it contains.
    pub children: Vec<Entry>,
}

/// A name found by a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name.
    pub name: String,
    /// The type of the named item.
    pub symbol: Symbol,
    /// Its location.
    pub place: Place,
}

/// Maximum number of search results.
const MOST_FOUND: usize = 500;

impl Entry {
    fn new(kind: EntryKind, name: &str, span: Span, name_span: Span) -> Entry {
        // An unnamed entry is shown with a placeholder.
        let name = if name.is_empty() { "(no name)" } else { name }.to_owned();
        let inside = span.start <= name_span.start && name_span.end <= span.end;
        let name_span =
            if inside { name_span } else { Span { start: span.start, end: span.start } };
        Entry { name, detail: String::new(), kind, span, name_span, children: Vec::new() }
    }

    fn of(kind: EntryKind, name: &Option<Scalar>, span: Span, tag: Span) -> Entry {
        match name {
            Some(name) => Entry::new(kind, name.as_str(), span, name.span()),
            None => Entry::new(kind, "", span, tag),
        }
    }
}

/// The outline of a document.
pub(super) fn outline(document: &Document) -> Vec<Entry> {
    let analysis = document.analysis();
    match document.kind() {
        Kind::Workflow => root(document, |whole| workflow(analysis.workflow(), whole)),
        Kind::Coordinator => root(document, |whole| coordinator(analysis.coordinator(), whole)),
        Kind::Bundle => root(document, |whole| {
            let bundle = analysis.bundle();
            let tree = analysis.tree();
            for member in &bundle.members {
                let element = tree.element_at(member.tag.start);
                let span = element.map_or(member.tag, |element| element.span());
                let mut entry = Entry::of(EntryKind::Coordinator, &member.name, span, member.tag);
                entry.detail = detail(&member.app_path);
                whole.children.push(entry);
            }
            detail(&bundle.kick_off)
        }),
        Kind::Datasets => root(document, |whole| {
            let root = analysis.tree().root();
            let known = root.map(crate::ir::coordinator::datasets_of).unwrap_or_default();
            datasets(&known, whole);
            String::new()
        }),
        Kind::Defaults | Kind::Configuration => {
            let root = analysis.tree().root();
            let elements = root.into_iter().flat_map(|root| root.elements());
            let properties = elements.filter(|element| element.name() == "property");
            properties
                .map(|property| {
                    let text = |name| property.child(name).map(Scalar::of_element);
                    let tag = property.name_span();
                    let kind = EntryKind::Property;
                    let entry = Entry::of(kind, &text("name"), property.span(), tag);
                    Entry { detail: detail(&text("value")), ..entry }
                })
                .collect()
        }
        Kind::Properties => {
            let entries = document.properties().entries.iter();
            entries
                .map(|entry| Entry {
                    detail: entry.value.clone(),
                    ..Entry::new(EntryKind::Property, &entry.name, entry.span, entry.name_span)
                })
                .collect()
        }
        Kind::Settings | Kind::Scenario => tables(document.text()),
        Kind::Other => Vec::new(),
    }
}

/// Creates the entry of the root, with children added by `fill`, which returns its detail.
fn root(document: &Document, fill: impl FnOnce(&mut Entry) -> String) -> Vec<Entry> {
    let Some(root) = document.analysis().tree().root() else { return Vec::new() };
    let name = root.attribute("name").map(Scalar::of_attribute);
    let mut entry = Entry::of(EntryKind::Application, &name, root.span(), root.name_span());
    if name.is_none() {
        entry.name = root.name().to_owned();
    }
    entry.detail = fill(&mut entry);
    vec![entry]
}

fn detail(scalar: &Option<Scalar>) -> String {
    scalar.as_ref().map(|scalar| scalar.as_str().to_owned()).unwrap_or_default()
}

fn workflow(workflow: &Workflow, whole: &mut Entry) -> String {
    for parameter in &workflow.parameters {
        let name = &parameter.name;
        let kind = EntryKind::Property;
        let entry = Entry::new(kind, name.as_str(), parameter.span, name.span());
        whole.children.push(Entry { detail: detail(&parameter.value), ..entry });
    }
    if let Some(global) = &workflow.global {
        let at = Span { start: global.span.start, end: global.span.start };
        whole.children.push(Entry::new(EntryKind::Section, "global", global.span, at));
    }
    for credential in &workflow.credentials {
        let name = &credential.name;
        let kind = EntryKind::Credential;
        let entry = Entry::new(kind, &name.text, credential.span, name.span);
        whole.children.push(Entry { detail: detail(&credential.kind), ..entry });
    }
    for node in &workflow.nodes {
        let name = if node.shape == Shape::Start { "start" } else { &node.name.text };
        let mut entry = Entry::new(EntryKind::Node(node.shape), name, node.span, node.name.span);
        let kind = node.action.as_ref().and_then(|action| action.body.as_ref());
        entry.detail = kind.map_or(node.shape.name(), |body| &body.kind).to_owned();
        whole.children.push(entry);
    }
    whole.children.sort_by_key(|entry| entry.span);
    "workflow".to_owned()
}

fn datasets(known: &[Dataset], whole: &mut Entry) {
    for dataset in known {
        let mut entry = Entry::of(EntryKind::Dataset, &dataset.name, dataset.span, dataset.tag);
        entry.detail = detail(&dataset.uri_template);
        whole.children.push(entry);
    }
}

fn coordinator(coordinator: &Coordinator, whole: &mut Entry) -> String {
    datasets(&coordinator.datasets, whole);
    let inputs = coordinator.inputs.iter().map(|event| (EntryKind::Input, event));
    let outputs = coordinator.outputs.iter().map(|event| (EntryKind::Output, event));
    for (kind, event) in inputs.chain(outputs) {
        let ends = event.instances.iter().map(|(_, span, _)| *span);
        let name = event.name.iter().map(Scalar::span);
        let span = name.chain(ends).fold(event.tag, Span::to);
        let mut entry = Entry::of(kind, &event.name, span, event.tag);
        entry.detail = detail(&event.dataset);
        whole.children.push(entry);
    }
    for property in &coordinator.configuration {
        let (Some(name), value) = (&property.name, &property.value) else { continue };
        let span = value.iter().map(Scalar::span).fold(name.span(), Span::to);
        let entry = Entry::new(EntryKind::Property, name.as_str(), span, name.span());
        whole.children.push(Entry { detail: detail(value), ..entry });
    }
    whole.children.sort_by_key(|entry| entry.span);
    format!("coordinator, {}", detail(&coordinator.frequency))
}

/// The tables of a TOML text with their keys, as far as single lines show them.
fn tables(text: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        let name = line.trim().trim_matches(['[', ']']);
        let span = Span::new(start, start + line.len());
        if line.trim_start().starts_with('[') {
            entries.push(Entry::new(EntryKind::Section, name, span, span));
            continue;
        }
        let key = line.split('=').next().unwrap_or_default().trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '"');
        if !line.contains('=') || key.is_empty() || !key.chars().all(plain) {
            continue;
        }
        let entry = Entry::new(EntryKind::Property, key, span, span);
        match entries.last_mut().filter(|entry| entry.kind == EntryKind::Section) {
            Some(section) => {
                section.span = section.span.to(span);
                section.children.push(entry);
            }
            None => entries.push(entry),
        }
    }
    entries
}

/// Finds names that contain the letters of `query` in that order, those with it as a prefix first.
pub(super) fn search(snapshot: &Snapshot, query: &str) -> Vec<Found> {
    let wanted: Vec<char> = query.chars().flat_map(char::to_lowercase).collect();
    let mut found = Vec::new();
    for document in snapshot.documents.values() {
        for name in document.names().iter().filter(|name| name.role != Role::Use) {
            if let Some(rank) = rank(&name.name, &wanted) {
                found.push((rank, document, name));
            }
        }
    }
    found.sort_by_key(|(rank, ..)| *rank);
    found.truncate(MOST_FOUND);
    let found = found.into_iter();
    found
        .map(|(_, document, name)| Found {
            name: name.name.clone(),
            symbol: name.symbol,
            place: definition::place(document, name),
        })
        .collect()
}

/// Rank of a match, lower is better; `None` if a letter is missing.
fn rank(name: &str, wanted: &[char]) -> Option<u8> {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    if !wanted.iter().all(|wanted| letters.any(|letter| letter == *wanted)) {
        return None;
    }
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    Some(match () {
        () if name == wanted => 0,
        () if name.starts_with(wanted) => 1,
        () if wanted.is_empty() || name.windows(wanted.len()).any(|part| part == wanted) => 2,
        () => 3,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Document, testing};

    #[test]
    fn an_outline_is_nested_and_in_order() {
        let (snapshot, path, _) = testing::workflow(
            "<start to='a'/>|<action name='a'><fs/><ok to='e'/><error to='e'/></action><end name='e'/><kill/>",
        );
        let outline = snapshot.document_symbols(&path);
        let shown: Vec<String> = outline[0]
            .children
            .iter()
            .map(|entry| format!("{} {}", entry.name, entry.detail))
            .collect();
        assert_eq!(outline[0].name, "w");
        assert_eq!(shown, ["start start", "a fs", "e end", "(no name) kill"]);
    }

    #[test]
    fn settings_and_properties_have_outlines_too() {
        let outline = |path: &str, text: &str| {
            let snapshot = super::super::Snapshot::of([Document::new(path, text)]);
            let entries = snapshot.document_symbols(path);
            let name = |entry: &super::Entry| {
                let children: Vec<&str> =
                    entry.children.iter().map(|child| child.name.as_str()).collect();
                format!("{}: {}", entry.name, children.join(" "))
            };
            entries.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(
            outline("ankus.toml", "target = '5.2.1'\n[rules]\na-b = 'off'\n"),
            ["target: ", "rules: a-b"]
        );
        assert_eq!(outline("job.properties", "a=1\r\nb=2"), ["a: ", "b: "]);
    }

    #[test]
    fn a_search_finds_letters_in_their_order() {
        let (snapshot, ..) = testing::workflow(
            "|<start to='load-all'/><end name='load-all'/><kill name='la'/><kill name='x'/>",
        );
        let found: Vec<String> =
            snapshot.workspace_symbols("LA").into_iter().map(|found| found.name).collect();
        assert_eq!(found, ["la", "load-all"]);
    }
}
