//! Answers an editor's queries about a text with plain data: byte offsets in, byte offsets and strings out.
//!
//! Takes [`Document`]s, each one version of a text, and their surroundings, as a [`Snapshot`]; returns symbols,
//! locations, edits. It uses no protocol, no disk and no clock; `ankus lsp` turns its answers into messages. Every
//! query has an answer for every text, however incomplete, and every offset. Each feature is a file of its own.

mod actions;
mod calls;
mod completion;
mod cursor;
mod definition;
mod document;
mod edited;
mod expression;
mod extract;
mod folding;
mod hints;
mod hover;
mod links;
mod names;
mod outline;
mod rename;
mod scenario;
mod snippet;
mod times;
mod tokens;
mod typed;
mod values;

#[cfg(test)]
mod testing;

use crate::callers::{Gathering, Index};
use crate::diag::{Diagnostic, Edit};
use crate::files::Files;
use crate::schema::{self, Language};
use crate::settings::Settings;
use crate::source::Span;
use ankus_lang::time::Instant;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use actions::{Action, ActionKind};
pub use calls::{Call, Lens};
pub use completion::{Completion, CompletionKind, MOST_OFFERED};
pub use definition::{Link, Place};
pub use document::{Document, Kind};
pub use expression::Signature;
pub use folding::Fold;
pub use hints::Hint;
pub use hover::Hover;
pub use names::{Occurrence, Role, Symbol};
pub use outline::{Entry, EntryKind, Found};
pub use tokens::{Token, TokenKind};

/// The known texts at one moment. A clone is cheap; queries never change it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Documents by path.
    pub documents: Arc<BTreeMap<String, Arc<Document>>>,
    /// The settings that apply to them.
    pub settings: Arc<Settings>,
    /// The files that a check may read.
    pub files: Arc<Files>,
    /// The calls between definitions.
    pub callers: Arc<Index>,
    /// The current time; without it, nothing that depends on the date is shown.
    pub now: Option<Instant>,
}

impl Snapshot {
    /// Creates a snapshot of documents alone: their callers and surroundings are determined from their texts.
    ///
    /// ```
    /// use ankus::ide::{Document, Snapshot};
    ///
    /// let text = "<workflow-app name='w'><start to='load'/><kill name='load'/></workflow-app>";
    /// let snapshot = Snapshot::of([Document::new("app/workflow.xml", text)]);
    /// let target = text.find("load").unwrap() as u32;
    /// let places = snapshot.definition("app/workflow.xml", target);
    /// assert_eq!(&text[places[0].span.range()], "load");
    /// assert_eq!(&text[places[0].whole.range()], "<kill name='load'/>");
    /// ```
    pub fn of(documents: impl IntoIterator<Item = Document>) -> Snapshot {
        let documents: BTreeMap<String, Arc<Document>> = documents
            .into_iter()
            .map(|document| (document.path().to_owned(), Arc::new(document)))
            .collect();
        let (mut files, mut gathering) = (Files::new(), Gathering::default());
        for (path, document) in &documents {
            files.insert(path.clone(), crate::files::Entry::Text(document.source().clone()));
            match document.kind() {
                Kind::Properties => gathering.properties(path, document.text()),
                kind if kind.is_xml() => gathering.xml(path, document.text()),
                _ => gathering.file(path),
            }
        }
        Snapshot {
            documents: Arc::new(documents),
            files: Arc::new(files),
            callers: Arc::new(gathering.index()),
            ..Snapshot::default()
        }
    }

    /// The snapshot with another version of a document; the calls between definitions stay the same.
    pub fn with(mut self, document: Arc<Document>) -> Snapshot {
        let source = document.source().clone();
        Arc::make_mut(&mut self.files)
            .insert(document.path().to_owned(), crate::files::Entry::Text(source));
        Arc::make_mut(&mut self.documents).insert(document.path().to_owned(), document);
        self
    }

    /// The language with the additions of the site.
    pub(crate) fn language(&self) -> Language {
        schema::site::language(&self.settings.actions).0
    }

    /// The document at a path.
    pub fn document(&self, path: &str) -> Option<&Arc<Document>> {
        self.documents.get(path)
    }

    /// Describes what is at an offset.
    pub fn hover(&self, path: &str, offset: u32) -> Option<Hover> {
        hover::hover(self, self.document(path)?, offset)
    }

    /// The definitions of the name at an offset.
    pub fn definition(&self, path: &str, offset: u32) -> Vec<Place> {
        let document = self.document(path);
        document.map(|document| definition::definition(self, document, offset)).unwrap_or_default()
    }

    /// All occurrences of the name at an offset.
    pub fn references(&self, path: &str, offset: u32, with_definitions: bool) -> Vec<Place> {
        let Some(document) = self.document(path) else { return Vec::new() };
        definition::references(self, document, offset, with_definitions)
    }

    /// All occurrences in the document itself, for highlighting.
    pub fn highlights(&self, path: &str, offset: u32) -> Vec<(Span, Role)> {
        let document = self.document(path);
        document.map(|document| definition::highlights(document, offset)).unwrap_or_default()
    }

    /// The name that can be renamed at an offset, with its span.
    ///
    /// # Errors
    /// A sentence that says why nothing can be renamed.
    pub fn prepare_rename(&self, path: &str, offset: u32) -> Result<(Span, String), String> {
        let document = self.document(path).ok_or("this file is not known")?;
        rename::prepare(self, document, offset)
    }

    /// The edits, by file, that rename everything that the name at an offset refers to.
    ///
    /// # Errors
    /// A sentence that says why the new name is not possible: it is taken, the server would refuse it, or not every
    /// occurrence can be found.
    pub fn rename(
        &self,
        path: &str,
        offset: u32,
        name: &str,
    ) -> Result<BTreeMap<String, Vec<Edit>>, String> {
        let document = self.document(path).ok_or("this file is not known")?;
        rename::rename(self, document, offset, name)
    }

    /// The completions at an offset, the likeliest first.
    pub fn completion(&self, path: &str, offset: u32) -> Vec<Completion> {
        let document = self.document(path);
        document.map(|document| completion::completion(self, document, offset)).unwrap_or_default()
    }

    /// The function whose arguments are being typed at an offset.
    pub fn signature_help(&self, path: &str, offset: u32) -> Option<Signature> {
        expression::signature(self, self.document(path)?, offset)
    }

    /// The foldable regions, in source order.
    pub fn folding(&self, path: &str) -> Vec<Fold> {
        self.document(path).map(|document| folding::folding(document)).unwrap_or_default()
    }

    /// The ranges to which a selection at an offset expands, the innermost first.
    pub fn selection(&self, path: &str, offset: u32) -> Vec<Span> {
        let document = self.document(path);
        document.map(|document| folding::selection(document, offset)).unwrap_or_default()
    }

    /// The parts of expressions, and names, with their types; in order, not overlapping, each within one line.
    pub fn semantic_tokens(&self, path: &str) -> Vec<Token> {
        self.document(path).map(|document| tokens::tokens(document)).unwrap_or_default()
    }

    /// Values and times to be shown inside a range of a text.
    pub fn inlay_hints(&self, path: &str, within: Span) -> Vec<Hint> {
        let document = self.document(path);
        document.map(|document| hints::hints(self, document, within)).unwrap_or_default()
    }

    /// The links to other files.
    pub fn links(&self, path: &str) -> Vec<Link> {
        self.document(path).map(|document| links::links(self, document)).unwrap_or_default()
    }

    /// A definition as one end of a call.
    pub fn call_item(&self, path: &str) -> Option<Call> {
        calls::item(self, path)
    }

    /// The callers of a definition, by path.
    pub fn incoming_calls(&self, path: &str) -> Vec<Call> {
        calls::incoming(self, path)
    }

    /// The definitions that a definition starts, by path.
    pub fn outgoing_calls(&self, path: &str) -> Vec<Call> {
        calls::outgoing(self, path)
    }

    /// The code actions for a range: fixes of the findings there, comments that suppress them, and refactorings after
    /// which the server's answer is the same, or accepts what it refused.
    pub fn code_actions(&self, path: &str, within: Span, findings: &[Diagnostic]) -> Vec<Action> {
        let document = self.document(path);
        let actions = |document| actions::actions(self, document, within, findings);
        document.map(|document| actions(document)).unwrap_or_default()
    }

    /// The commands of the client that are offered for a definition.
    pub fn code_lenses(&self, path: &str) -> Vec<Lens> {
        self.document(path).map(|document| calls::lenses(document)).unwrap_or_default()
    }

    /// The name in the picture of the node at an offset.
    pub fn node_at(&self, path: &str, offset: u32) -> Option<String> {
        calls::node_at(self.document(path)?, offset)
    }

    /// The span of a node of the picture.
    pub fn node_place(&self, path: &str, node: &str) -> Option<Span> {
        calls::place_of(self.document(path)?, node)
    }

    /// The edits that format the text, or the lines of a range.
    pub fn format(&self, path: &str, within: Option<Span>) -> Vec<Edit> {
        let document = self.document(path);
        document.map(|document| calls::format(self, document, within)).unwrap_or_default()
    }

    /// The spans of the names in both tags of the element whose name is at an offset.
    pub fn linked(&self, path: &str, offset: u32) -> Option<[Span; 2]> {
        folding::linked(self.document(path)?, offset)
    }

    /// The outline of a document.
    pub fn document_symbols(&self, path: &str) -> Vec<Entry> {
        self.document(path).map(|document| outline::outline(document)).unwrap_or_default()
    }

    /// All names that contain the letters of `query` in that order.
    pub fn workspace_symbols(&self, query: &str) -> Vec<Found> {
        outline::search(self, query)
    }
}
