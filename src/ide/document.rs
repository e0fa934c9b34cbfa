//! One text with the facts derived from it alone, each computed on first use.

use super::edited::Edited;
use super::names::{self, Occurrence};
use crate::analysis::Analysis;
use crate::check::{FileKind, recognize};
use crate::files::name_of;
use crate::ir::workflow::Node;
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Properties};
use std::sync::{Arc, OnceLock};

/// The type of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `workflow-app`.
    Workflow,
    /// `coordinator-app`.
    Coordinator,
    /// `bundle-app`.
    Bundle,
    /// `datasets`, included by coordinators.
    Datasets,
    /// `config-default.xml`: defaults of an application's properties.
    Defaults,
    /// Any other `configuration`: a file of `job-xml`.
    Configuration,
    /// Java's properties.
    Properties,
    /// `ankus.toml`.
    Settings,
    /// `*.scenario.toml`.
    Scenario,
    /// Anything else.
    Other,
}

impl Kind {
    /// The type of a text, by its root element or by its name.
    pub fn of(path: &str, text: &str) -> Kind {
        let name = name_of(path);
        match recognize(text) {
            Some(FileKind::Workflow) => Kind::Workflow,
            Some(FileKind::Coordinator) => Kind::Coordinator,
            Some(FileKind::Bundle) => Kind::Bundle,
            Some(FileKind::Datasets) => Kind::Datasets,
            Some(FileKind::Configuration) if name == "config-default.xml" => Kind::Defaults,
            Some(FileKind::Configuration) => Kind::Configuration,
            Some(FileKind::Properties) => Kind::Properties,
            None if name.ends_with(".properties") => Kind::Properties,
            None if name == "ankus.toml" => Kind::Settings,
            None if name.ends_with(".scenario.toml") => Kind::Scenario,
            // The root of a definition is not typed yet.
            None => match name {
                "workflow.xml" => Kind::Workflow,
                "coordinator.xml" => Kind::Coordinator,
                "bundle.xml" => Kind::Bundle,
                "config-default.xml" => Kind::Defaults,
                _ => Kind::Other,
            },
        }
    }

    /// Whether it is an XML language that is known here.
    pub fn is_xml(self) -> bool {
        self.file_kind().is_some_and(|kind| kind != FileKind::Properties)
    }

    /// The type of file in a check.
    pub fn file_kind(self) -> Option<FileKind> {
        Some(match self {
            Kind::Workflow => FileKind::Workflow,
            Kind::Coordinator => FileKind::Coordinator,
            Kind::Bundle => FileKind::Bundle,
            Kind::Datasets => FileKind::Datasets,
            Kind::Defaults | Kind::Configuration => FileKind::Configuration,
            Kind::Properties => FileKind::Properties,
            Kind::Settings | Kind::Scenario | Kind::Other => return None,
        })
    }
}

/// Length from which on a text is analyzed in a thread of its own, in bytes; shorter ones take no time.
pub(super) const LONG: usize = 32 << 10;

/// The facts derived from a complete text.
#[derive(Debug)]
pub(super) struct Read {
    kind: Kind,
    pub(super) analysis: Analysis,
    properties: OnceLock<Properties>,
    names: OnceLock<Vec<Occurrence>>,
    children: OnceLock<Vec<Span>>,
}

impl Read {
    pub(super) fn text(&self) -> &str {
        &self.analysis.source().text
    }

    /// Whether its names were collected, and it is well-formed XML.
    fn is_done(&self) -> bool {
        self.names.get().is_some() && self.is_well_formed()
    }

    pub(super) fn is_well_formed(&self) -> bool {
        self.kind.is_xml() && self.analysis.markup().is_empty()
    }

    pub(super) fn names(&self) -> &[Occurrence] {
        self.names.get_or_init(|| names::of(self))
    }

    /// The spans of the root's children.
    pub(super) fn children(&self) -> &[Span] {
        self.children.get_or_init(|| {
            let root = self.analysis.tree().root();
            root.into_iter().flat_map(|root| root.elements()).map(|child| child.span()).collect()
        })
    }

    /// The children that end before an offset.
    pub(super) fn children_before(&self, offset: u32) -> &[Span] {
        let children = self.children();
        &children[..children.partition_point(|child| child.end <= offset)]
    }

    /// The node with a name.
    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        let id = self.analysis.names().0.node(name)?;
        Some(self.analysis.workflow().node(id))
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn properties(&self) -> &Properties {
        self.properties.get_or_init(|| properties::parse(self.text()))
    }
}

/// One version of a text. Facts are computed once, so it is created once per version and shared.
#[derive(Debug)]
pub struct Document {
    read: Arc<Read>,
    /// What is known before the complete text is analyzed.
    pub(super) edited: Option<Edited>,
}

impl Document {
    /// Creates a document. Nothing is computed yet. A text that was never saved may have any unique name.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Document {
        Document::of(Arc::new(Source::new(path, text)))
    }

    /// Like [`Document::new`], for a shared text.
    pub fn of(source: Arc<Source>) -> Document {
        let read = Read {
            kind: Kind::of(&source.path, &source.text),
            analysis: Analysis::new(source),
            properties: OnceLock::new(),
            names: OnceLock::new(),
            children: OnceLock::new(),
        };
        Document { read: Arc::new(read), edited: None }
    }

    /// The document after an edit of this one: its facts answer queries that cannot wait.
    pub fn edited(&self, source: Arc<Source>) -> Document {
        let known = match self.read.is_done() {
            true => Edited::none(Arc::clone(&self.read)),
            false => self.edited.clone(),
        };
        let edited = known.and_then(|known| known.after(self.text(), &source));
        Document { edited, ..Document::of(source) }
    }

    /// Starts the analysis of a large text in a thread of its own, so that no query about this text or an edit of it
    /// has to wait.
    pub fn read_ahead(&self) {
        if self.text().len() >= LONG && self.read.names.get().is_none() {
            let read = Arc::clone(&self.read);
            std::thread::spawn(move || {
                read.names();
                read.node("");
                read.children();
            });
        }
    }

    pub(super) fn read(&self) -> &Read {
        &self.read
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        self.read.kind
    }

    /// Its text and path.
    pub fn source(&self) -> &Arc<Source> {
        self.read.analysis.source()
    }

    /// Its path.
    pub fn path(&self) -> &str {
        &self.source().path
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.source().text
    }

    /// Its tree and its typed definition.
    pub fn analysis(&self) -> &Analysis {
        &self.read.analysis
    }

    /// The text parsed as Java properties.
    pub fn properties(&self) -> &Properties {
        self.read.properties()
    }

    /// Every significant name in it, in source order.
    pub fn names(&self) -> &[Occurrence] {
        self.read.names()
    }

    /// What is known from the previous version, unless this one was analyzed and is well-formed.
    fn guessed(&self) -> Option<&Edited> {
        self.edited.as_ref().filter(|_| !self.read.is_done())
    }

    /// The names with their spans, for a query that cannot wait: for a text that was just edited, those of the
    /// unchanged parts come from the previous version.
    pub(super) fn names_at_once(&self) -> impl Iterator<Item = (Span, &Occurrence)> {
        let guessed = self.guessed();
        let read = guessed.is_none().then(|| self.names().iter().map(|name| (name.span, name)));
        read.into_iter().flatten().chain(guessed.into_iter().flat_map(Edited::names))
    }

    /// The node with a name, for a query that cannot wait.
    pub(super) fn node_at_once(&self, name: &str) -> Option<&Node> {
        match self.guessed() {
            Some(edited) => edited.node(name),
            None => self.read.node(name),
        }
    }

    /// The first children of the root that are known to end before an offset.
    pub(super) fn children_before(&self, offset: u32) -> &[Span] {
        match self.guessed() {
            Some(edited) => edited.children_before(offset),
            None if self.read.is_done() => self.read.children_before(offset),
            None => &[],
        }
    }

    /// The name at an offset, including a cursor directly after its last character.
    pub fn name_at(&self, offset: u32) -> Option<&Occurrence> {
        let names = self.names();
        let behind = names.partition_point(|name| name.span.start <= offset);
        let near = names[..behind].iter().rev().take(2);
        near.filter(|name| name.span.touches(offset)).max_by_key(|name| name.span.end > offset)
    }

    /// The text of a span.
    pub fn slice(&self, span: Span) -> &str {
        self.text().get(span.range()).unwrap_or_default()
    }
}
