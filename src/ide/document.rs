//! One text with what is found out of it alone, each part when first asked for.

use super::edited::Edited;
use super::names::{self, Occurrence};
use crate::analysis::Analysis;
use crate::check::{FileKind, recognize};
use crate::files::name_of;
use crate::ir::workflow::Node;
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Properties};
use std::sync::{Arc, OnceLock};

/// What a text is.
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
    /// What a text is, by its root element or by its name.
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
            // The root of a definition is still to be typed.
            None => match name {
                "workflow.xml" => Kind::Workflow,
                "coordinator.xml" => Kind::Coordinator,
                "bundle.xml" => Kind::Bundle,
                "config-default.xml" => Kind::Defaults,
                _ => Kind::Other,
            },
        }
    }

    /// Whether it is a language of XML that is known here.
    pub fn is_xml(self) -> bool {
        self.file_kind().is_some_and(|kind| kind != FileKind::Properties)
    }

    /// What a check calls it.
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

/// A shorter text is read by whoever asks about it: that takes no time.
pub(super) const LONG: usize = 32 << 10;

/// What is found out of a text by reading all of it.
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

    /// Whether all of it was read for its names, and is well-formed XML.
    fn is_done(&self) -> bool {
        self.names.get().is_some() && self.is_well_formed()
    }

    pub(super) fn is_well_formed(&self) -> bool {
        self.kind.is_xml() && self.analysis.markup().is_empty()
    }

    pub(super) fn names(&self) -> &[Occurrence] {
        self.names.get_or_init(|| names::of(self))
    }

    /// The places of the root's children.
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

    /// The node of a name.
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

/// A text of one version. What is asked twice is found out once, so it is built once a version and shared.
#[derive(Debug)]
pub struct Document {
    read: Arc<Read>,
    /// What is known of it before all of it is read.
    pub(super) edited: Option<Edited>,
}

impl Document {
    /// Of a text; nothing is done yet. A text that was never saved has any name that tells it from others.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Document {
        Document::of(Arc::new(Source::new(path, text)))
    }

    /// The same of a text that others hold as well.
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

    /// The text after an edit of this one: what was found out of it answers what cannot wait.
    pub fn edited(&self, source: Arc<Source>) -> Document {
        let known = match self.read.is_done() {
            true => Edited::none(Arc::clone(&self.read)),
            false => self.edited.clone(),
        };
        let edited = known.and_then(|known| known.after(self.text(), &source));
        Document { edited, ..Document::of(source) }
    }

    /// Has a large text read by a thread of its own, so that nobody waits for it who asks about this text or an edit of it.
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

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.read.kind
    }

    /// Its text with its path.
    pub fn source(&self) -> &Arc<Source> {
        self.read.analysis.source()
    }

    /// Where it is.
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

    /// As Java's properties.
    pub fn properties(&self) -> &Properties {
        self.read.properties()
    }

    /// Every name in it that means something, in the order of the text.
    pub fn names(&self) -> &[Occurrence] {
        self.read.names()
    }

    /// What is known of it out of the text before, unless it was read and is well-formed.
    fn guessed(&self) -> Option<&Edited> {
        self.edited.as_ref().filter(|_| !self.read.is_done())
    }

    /// The same names, with their places, for a question that cannot wait: where the text was just edited, those of all
    /// that was not are as they were.
    pub(super) fn names_at_once(&self) -> impl Iterator<Item = (Span, &Occurrence)> {
        let guessed = self.guessed();
        let read = guessed.is_none().then(|| self.names().iter().map(|name| (name.span, name)));
        read.into_iter().flatten().chain(guessed.into_iter().flat_map(Edited::names))
    }

    /// The node of a name, for a question that cannot wait.
    pub(super) fn node_at_once(&self, name: &str) -> Option<&Node> {
        match self.guessed() {
            Some(edited) => edited.node(name),
            None => self.read.node(name),
        }
    }

    /// The children of the root that are known to be over before an offset, from the first on.
    pub(super) fn children_before(&self, offset: u32) -> &[Span] {
        match self.guessed() {
            Some(edited) => edited.children_before(offset),
            None if self.read.is_done() => self.read.children_before(offset),
            None => &[],
        }
    }

    /// The name at an offset, a cursor behind its last character included.
    pub fn name_at(&self, offset: u32) -> Option<&Occurrence> {
        let names = self.names();
        let behind = names.partition_point(|name| name.span.start <= offset);
        let near = names[..behind].iter().rev().take(2);
        near.filter(|name| name.span.touches(offset)).max_by_key(|name| name.span.end > offset)
    }

    /// The text at a place.
    pub fn slice(&self, span: Span) -> &str {
        self.text().get(span.range()).unwrap_or_default()
    }
}
