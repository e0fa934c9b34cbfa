//! What an editor asks about a text, answered in plain data: byte offsets in, byte offsets and strings out.
//!
//! In: [`Document`]s, each a text of one version, and what lies around them, as a [`Snapshot`]. Out: symbols, places,
//! edits. It knows no protocol, no disk and no clock; `ankus lsp` turns its answers into messages. Every question has an
//! answer for every text, however much of it is typed, and every offset. Each ability is a file of its own.

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

/// The texts that are known at one moment. A clone is cheap; what is answered never changes it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// By path.
    pub documents: Arc<BTreeMap<String, Arc<Document>>>,
    /// What holds for them.
    pub settings: Arc<Settings>,
    /// The files that a check sees.
    pub files: Arc<Files>,
    /// Who starts whom.
    pub callers: Arc<Index>,
    /// What counts as now; without it nothing is said that another day could change.
    pub now: Option<Instant>,
}

impl Snapshot {
    /// Of documents alone: what they start and what lies around them is found out of their texts.
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

    /// The same with another version of a document; who starts whom stays as it was.
    pub fn with(mut self, document: Arc<Document>) -> Snapshot {
        let source = document.source().clone();
        Arc::make_mut(&mut self.files)
            .insert(document.path().to_owned(), crate::files::Entry::Text(source));
        Arc::make_mut(&mut self.documents).insert(document.path().to_owned(), document);
        self
    }

    /// The language with what the site adds to it.
    pub(crate) fn language(&self) -> Language {
        schema::site::language(&self.settings.actions).0
    }

    /// The document at a path.
    pub fn document(&self, path: &str) -> Option<&Arc<Document>> {
        self.documents.get(path)
    }

    /// What stands at an offset, in words.
    pub fn hover(&self, path: &str, offset: u32) -> Option<Hover> {
        hover::hover(self, self.document(path)?, offset)
    }

    /// Where what is named at an offset is defined.
    pub fn definition(&self, path: &str, offset: u32) -> Vec<Place> {
        let document = self.document(path);
        document.map(|document| definition::definition(self, document, offset)).unwrap_or_default()
    }

    /// Everywhere that what is named at an offset is named.
    pub fn references(&self, path: &str, offset: u32, with_definitions: bool) -> Vec<Place> {
        let Some(document) = self.document(path) else { return Vec::new() };
        definition::references(self, document, offset, with_definitions)
    }

    /// The same in the document alone, for marking them.
    pub fn highlights(&self, path: &str, offset: u32) -> Vec<(Span, Role)> {
        let document = self.document(path);
        document.map(|document| definition::highlights(document, offset)).unwrap_or_default()
    }

    /// What can be renamed at an offset: the name, and where it stands.
    ///
    /// # Errors
    /// A sentence that says why nothing can.
    pub fn prepare_rename(&self, path: &str, offset: u32) -> Result<(Span, String), String> {
        let document = self.document(path).ok_or("this file is not known")?;
        rename::prepare(self, document, offset)
    }

    /// The edits, by file, that give what is named at an offset another name wherever it is named.
    ///
    /// # Errors
    /// A sentence that says why the name cannot be given: it is taken, the server would refuse it, or not every place
    /// that means it can be found.
    pub fn rename(
        &self,
        path: &str,
        offset: u32,
        name: &str,
    ) -> Result<BTreeMap<String, Vec<Edit>>, String> {
        let document = self.document(path).ok_or("this file is not known")?;
        rename::rename(self, document, offset, name)
    }

    /// What may be written at an offset, the likeliest first.
    pub fn completion(&self, path: &str, offset: u32) -> Vec<Completion> {
        let document = self.document(path);
        document.map(|document| completion::completion(self, document, offset)).unwrap_or_default()
    }

    /// The function whose arguments are being written at an offset.
    pub fn signature_help(&self, path: &str, offset: u32) -> Option<Signature> {
        expression::signature(self, self.document(path)?, offset)
    }

    /// What folds, in the order of the text.
    pub fn folding(&self, path: &str) -> Vec<Fold> {
        self.document(path).map(|document| folding::folding(document)).unwrap_or_default()
    }

    /// The ranges that a selection at an offset grows to, the narrowest first.
    pub fn selection(&self, path: &str, offset: u32) -> Vec<Span> {
        let document = self.document(path);
        document.map(|document| folding::selection(document, offset)).unwrap_or_default()
    }

    /// The parts of expressions, and names, with what they are; in order, none over another, none over an end of a line.
    pub fn semantic_tokens(&self, path: &str) -> Vec<Token> {
        self.document(path).map(|document| tokens::tokens(document)).unwrap_or_default()
    }

    /// Values and times, to be shown between the letters of a part of a text.
    pub fn inlay_hints(&self, path: &str, within: Span) -> Vec<Hint> {
        let document = self.document(path);
        document.map(|document| hints::hints(self, document, within)).unwrap_or_default()
    }

    /// Places that lead to other files.
    pub fn links(&self, path: &str) -> Vec<Link> {
        self.document(path).map(|document| links::links(self, document)).unwrap_or_default()
    }

    /// A definition as one end of a call.
    pub fn call_item(&self, path: &str) -> Option<Call> {
        calls::item(self, path)
    }

    /// What starts a definition, by path.
    pub fn incoming_calls(&self, path: &str) -> Vec<Call> {
        calls::incoming(self, path)
    }

    /// What a definition starts, by path.
    pub fn outgoing_calls(&self, path: &str) -> Vec<Call> {
        calls::outgoing(self, path)
    }

    /// Changes that are offered at a place: fixes of the findings there, comments that allow them, and changes of the
    /// definition after which the server answers the same, or takes what it refused.
    pub fn code_actions(&self, path: &str, within: Span, findings: &[Diagnostic]) -> Vec<Action> {
        let document = self.document(path);
        let actions = |document| actions::actions(self, document, within, findings);
        document.map(|document| actions(document)).unwrap_or_default()
    }

    /// What may be done with a definition, as commands of the client.
    pub fn code_lenses(&self, path: &str) -> Vec<Lens> {
        self.document(path).map(|document| calls::lenses(document)).unwrap_or_default()
    }

    /// The name that a picture has for what stands at an offset.
    pub fn node_at(&self, path: &str, offset: u32) -> Option<String> {
        calls::node_at(self.document(path)?, offset)
    }

    /// Where a node of a picture is written.
    pub fn node_place(&self, path: &str, node: &str) -> Option<Span> {
        calls::place_of(self.document(path)?, node)
    }

    /// The edits that lay out the text, or the lines that a range touches.
    pub fn format(&self, path: &str, within: Option<Span>) -> Vec<Edit> {
        let document = self.document(path);
        document.map(|document| calls::format(self, document, within)).unwrap_or_default()
    }

    /// The names in both tags of the element whose name stands at an offset.
    pub fn linked(&self, path: &str, offset: u32) -> Option<[Span; 2]> {
        folding::linked(self.document(path)?, offset)
    }

    /// The outline of a document.
    pub fn document_symbols(&self, path: &str) -> Vec<Entry> {
        self.document(path).map(|document| outline::outline(document)).unwrap_or_default()
    }

    /// Everything that has a name with the letters of `query` in it, in that order.
    pub fn workspace_symbols(&self, query: &str) -> Vec<Found> {
        outline::search(self, query)
    }
}
