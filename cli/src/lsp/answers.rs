//! Converts the answers of `ankus::ide` to the protocol.

use super::client::Abilities;
use super::documents::Document;
use super::places::Units;
use super::requests::{Answer, failed};
use super::world::World;
use ankus::diag::Edit;
use ankus::files::folder_of;
use ankus::ide::{Entry, EntryKind, Place, Role, Snapshot, Symbol};
use ankus::ir::workflow::Shape;
use ankus::source::{Source, Span};
use lsp_types::{
    CreateFile, CreateFileOptions, DocumentChangeOperation, DocumentChanges, DocumentHighlight,
    DocumentHighlightKind, DocumentSymbol, Hover, HoverContents, Location, LocationLink,
    MarkupContent, MarkupKind, OneOf, OptionalVersionedTextDocumentIdentifier, Position,
    PrepareRenameResponse, Range, ResourceOp, SymbolInformation, SymbolKind, TextDocumentEdit,
    TextDocumentIdentifier, TextDocumentPositionParams, TextEdit, Uri,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request about an open text.
pub(super) struct Asked<'w> {
    pub(super) world: &'w World,
    pub(super) document: Arc<Document>,
    pub(super) snapshot: Snapshot,
    units: Units,
}

impl<'w> Asked<'w> {
    /// Creates a request about the text of a URI; `None` if there are no answers about it.
    pub(super) fn about(world: &'w World, document: &TextDocumentIdentifier) -> Option<Asked<'w>> {
        let (document, snapshot) = world.asked(&document.uri)?;
        Some(Asked { world, document, snapshot, units: world.client.can.units })
    }

    /// Creates a request about a position in a text.
    pub(super) fn at(
        world: &'w World,
        place: &TextDocumentPositionParams,
    ) -> Option<(Asked<'w>, u32)> {
        let asked = Asked::about(world, &place.text_document)?;
        let offset = asked.offset(place.position);
        Some((asked, offset))
    }

    pub(super) fn path(&self) -> &str {
        &self.document.source.path
    }

    pub(super) fn offset(&self, position: Position) -> u32 {
        self.units.offset(&self.document.source, position)
    }

    pub(super) fn range(&self, span: Span) -> Range {
        self.units.range(&self.document.source, span)
    }

    /// Returns the text of a file that an answer refers to.
    fn source(&self, path: &str) -> Option<Arc<Source>> {
        match self.snapshot.document(path) {
            Some(document) => Some(Arc::clone(document.source())),
            None => self.snapshot.files.text(path).cloned(),
        }
    }

    pub(super) fn uri(&self, path: &str) -> Option<Uri> {
        if path == self.path() {
            return Some(self.document.uri.clone());
        }
        self.world.uri_of(path)
    }

    pub(super) fn span(&self, range: Range) -> Span {
        self.units.span(&self.document.source, range)
    }

    /// Returns the client's capabilities.
    pub(super) fn can(&self) -> &'w Abilities {
        &self.world.client.can
    }

    pub(super) fn location(&self, path: &str, span: Span) -> Option<Location> {
        let range = self.units.range(&*self.source(path)?, span);
        Some(Location { uri: self.uri(path)?, range })
    }

    /// Returns the edits of several files as one workspace edit.
    pub(super) fn edit(&self, edits: &BTreeMap<String, Vec<Edit>>) -> Option<Value> {
        self.change(edits, &BTreeMap::new())
    }

    /// Does the same with files that are created first; none for a client that cannot create files.
    pub(super) fn change(
        &self,
        edits: &BTreeMap<String, Vec<Edit>>,
        created: &BTreeMap<String, String>,
    ) -> Option<Value> {
        if !created.is_empty() && !self.world.client.can.creates_files {
            return None;
        }
        let mut by_uri = Vec::new();
        for (path, edits) in edits {
            let source = self.source(path)?;
            let one = |edit: &Edit| {
                TextEdit::new(self.units.range(&source, edit.span), edit.text.clone())
            };
            let edits: Vec<TextEdit> = edits.iter().map(one).collect();
            by_uri.push((path, self.uri(path)?, edits));
        }
        if !self.world.client.can.versioned_edits {
            let changes =
                by_uri.into_iter().map(|(_, uri, edits)| (uri.as_str().to_owned(), json!(edits)));
            return Some(json!({"changes": changes.collect::<serde_json::Map<_, _>>()}));
        }
        let one = |(_, uri, edits): (&String, Uri, Vec<TextEdit>)| {
            let version = match uri == self.document.uri {
                true => Some(self.document.version),
                false => self.world.document(&uri).map(|document| document.version),
            };
            let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
            let edits = edits.into_iter().map(OneOf::Left).collect();
            DocumentChangeOperation::Edit(TextDocumentEdit { text_document, edits })
        };
        let mut changes = Vec::new();
        for (path, text) in created {
            let uri = self.uri(path)?;
            // An existing file is not overwritten; the client refuses the change.
            let options =
                Some(CreateFileOptions { overwrite: Some(false), ignore_if_exists: Some(false) });
            let file = CreateFile { uri: uri.clone(), options, annotation_id: None };
            changes.push(DocumentChangeOperation::Op(ResourceOp::Create(file)));
            let text_document = OptionalVersionedTextDocumentIdentifier { uri, version: None };
            let edits = vec![OneOf::Left(TextEdit::new(Range::default(), text.clone()))];
            changes.push(DocumentChangeOperation::Edit(TextDocumentEdit { text_document, edits }));
        }
        changes.extend(by_uri.into_iter().map(one));
        let changes = DocumentChanges::Operations(changes);
        Some(json!({"documentChanges": changes}))
    }
}

/// Returns the hover text at a position.
pub(super) fn hover(asked: &Asked<'_>, offset: u32) -> Answer {
    let found = asked.snapshot.hover(asked.path(), offset);
    Ok(json!(found.map(|found| Hover {
        contents: HoverContents::Markup(markdown(&found.markdown)),
        range: Some(asked.range(found.span)),
    })))
}

/// Returns a Markdown text.
pub(super) fn markdown(words: &str) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value: words.to_owned() }
}

/// Returns where something is defined.
pub(super) fn definition(asked: &Asked<'_>, offset: u32) -> Answer {
    let places = asked.snapshot.definition(asked.path(), offset);
    if !asked.world.client.can.links {
        return locations(asked, &places);
    }
    let origin = asked
        .snapshot
        .document(asked.path())
        .and_then(|document| document.name_at(offset).map(|name| asked.range(name.span)));
    let link = |place: &Place| {
        let whole = asked.location(&place.path, place.whole)?;
        let name = asked.location(&place.path, place.span)?;
        Some(LocationLink {
            origin_selection_range: origin,
            target_uri: whole.uri,
            target_range: whole.range,
            target_selection_range: name.range,
        })
    };
    Ok(json!(places.iter().filter_map(link).collect::<Vec<_>>()))
}

fn locations(asked: &Asked<'_>, places: &[Place]) -> Answer {
    let one = |place: &Place| asked.location(&place.path, place.span);
    Ok(json!(places.iter().filter_map(one).collect::<Vec<_>>()))
}

/// Returns where something is referenced.
pub(super) fn references(asked: &Asked<'_>, offset: u32, with_definitions: bool) -> Answer {
    let places = asked.snapshot.references(asked.path(), offset, with_definitions);
    locations(asked, &places)
}

/// Returns the references in the text itself.
pub(super) fn highlights(asked: &Asked<'_>, offset: u32) -> Answer {
    let one = |(span, role): (Span, Role)| DocumentHighlight {
        range: asked.range(span),
        kind: Some(match role {
            Role::Use => DocumentHighlightKind::READ,
            _ => DocumentHighlightKind::WRITE,
        }),
    };
    let found = asked.snapshot.highlights(asked.path(), offset);
    Ok(json!(found.into_iter().map(one).collect::<Vec<_>>()))
}

/// Returns what would be renamed.
pub(super) fn prepare_rename(asked: &Asked<'_>, offset: u32) -> Answer {
    let (span, placeholder) =
        asked.snapshot.prepare_rename(asked.path(), offset).map_err(failed)?;
    let range = asked.range(span);
    Ok(json!(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
}

/// Returns the edits of a rename.
pub(super) fn rename(asked: &Asked<'_>, offset: u32, name: &str) -> Answer {
    let edits = asked.snapshot.rename(asked.path(), offset, name).map_err(failed)?;
    let edit =
        asked.edit(&edits).ok_or_else(|| failed("a file that names it is gone".to_owned()))?;
    Ok(json!(edit))
}

fn symbol_kind(kind: EntryKind) -> SymbolKind {
    match kind {
        EntryKind::Application => SymbolKind::MODULE,
        EntryKind::Node(Shape::Start | Shape::End | Shape::Kill) => SymbolKind::EVENT,
        EntryKind::Node(Shape::Action) => SymbolKind::FUNCTION,
        EntryKind::Node(_) => SymbolKind::OPERATOR,
        EntryKind::Dataset => SymbolKind::STRUCT,
        EntryKind::Input | EntryKind::Output => SymbolKind::VARIABLE,
        EntryKind::Coordinator => SymbolKind::CLASS,
        EntryKind::Property => SymbolKind::PROPERTY,
        EntryKind::Credential => SymbolKind::KEY,
        EntryKind::Section => SymbolKind::NAMESPACE,
    }
}

#[expect(deprecated, reason = "the types of the protocol have no other way to be made")]
fn nested(asked: &Asked<'_>, entry: Entry) -> DocumentSymbol {
    let children: Vec<_> = entry.children.into_iter().map(|child| nested(asked, child)).collect();
    DocumentSymbol {
        name: entry.name,
        detail: (!entry.detail.is_empty()).then_some(entry.detail),
        kind: symbol_kind(entry.kind),
        tags: None,
        deprecated: None,
        range: asked.range(entry.span),
        selection_range: asked.range(entry.name_span),
        children: (!children.is_empty()).then_some(children),
    }
}

#[expect(deprecated, reason = "the types of the protocol have no other way to be made")]
fn information(
    name: String,
    kind: SymbolKind,
    location: Location,
    within: Option<String>,
) -> SymbolInformation {
    SymbolInformation {
        name,
        kind,
        tags: None,
        deprecated: None,
        location,
        container_name: within.filter(|within| !within.is_empty()),
    }
}

/// Returns the outline of a text.
pub(super) fn document_symbols(asked: &Asked<'_>) -> Answer {
    let entries = asked.snapshot.document_symbols(asked.path());
    if asked.world.client.can.nested_symbols {
        let nested = entries.into_iter().map(|entry| nested(asked, entry));
        return Ok(json!(nested.collect::<Vec<_>>()));
    }
    let mut flat = Vec::new();
    let mut open: Vec<(Entry, Option<String>)> =
        entries.into_iter().rev().map(|entry| (entry, None)).collect();
    while let Some((entry, within)) = open.pop() {
        let location = Location { uri: asked.document.uri.clone(), range: asked.range(entry.span) };
        flat.push(information(entry.name.clone(), symbol_kind(entry.kind), location, within));
        let children = entry.children.into_iter().rev();
        open.extend(children.map(|child| (child, Some(entry.name.clone()))));
    }
    Ok(json!(flat))
}

/// Searches for names in all texts.
pub(super) fn workspace_symbols(world: &World, query: &str) -> Answer {
    let mut found = Vec::new();
    let roots = world.roots();
    let has_workspace = roots.iter().any(|root| root.is_workspace);
    for root in roots.iter().filter(|root| root.is_workspace || !has_workspace) {
        let all = root.all();
        for symbol in all.workspace_symbols(query) {
            let path = &symbol.place.path;
            let (Some(document), Some(uri)) = (all.document(path), world.uri_of(path)) else {
                continue;
            };
            let range = world.client.can.units.range(document.source(), symbol.place.span);
            let kind = match symbol.symbol {
                Symbol::Node | Symbol::Function => SymbolKind::FUNCTION,
                Symbol::Credential => SymbolKind::KEY,
                Symbol::Dataset => SymbolKind::STRUCT,
                Symbol::Event => SymbolKind::VARIABLE,
                Symbol::Property => SymbolKind::PROPERTY,
                Symbol::Coordinator => SymbolKind::CLASS,
            };
            let within = folder_of(path).to_owned();
            found.push(information(symbol.name, kind, Location { uri, range }, Some(within)));
        }
    }
    Ok(json!(found))
}

/// Returns the empty answer.
pub(super) fn nothing() -> Answer {
    Ok(Value::Null)
}
