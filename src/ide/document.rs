//! One text with what is found out of it alone, each part when first asked for.

use super::names::{self, Occurrence};
use crate::analysis::Analysis;
use crate::check::{FileKind, recognize};
use crate::files::name_of;
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

/// A text of one version. What is asked twice is found out once, so it is built once a version and shared.
#[derive(Debug)]
pub struct Document {
    kind: Kind,
    analysis: Analysis,
    properties: OnceLock<Properties>,
    names: OnceLock<Vec<Occurrence>>,
}

impl Document {
    /// Of a text; nothing is done yet. A text that was never saved has any name that tells it from others.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Document {
        Document::of(Arc::new(Source::new(path, text)))
    }

    /// The same of a text that others hold as well.
    pub fn of(source: Arc<Source>) -> Document {
        Document {
            kind: Kind::of(&source.path, &source.text),
            analysis: Analysis::new(source),
            properties: OnceLock::new(),
            names: OnceLock::new(),
        }
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its text with its path.
    pub fn source(&self) -> &Arc<Source> {
        self.analysis.source()
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
        &self.analysis
    }

    /// As Java's properties.
    pub fn properties(&self) -> &Properties {
        self.properties.get_or_init(|| properties::parse(self.text()))
    }

    /// Every name in it that means something, in the order of the text.
    pub fn names(&self) -> &[Occurrence] {
        self.names.get_or_init(|| names::of(self))
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
