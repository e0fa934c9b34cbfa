//! The input of rules: one parsed file with its surroundings.

mod given;

use super::reads::{self, Read};
use super::secrets::Secret;
use crate::analysis::Analysis;
use crate::diag::Diagnostic;
use crate::files::{self, Files};
use crate::ir::workflow;
use crate::passes::flow::Flow;
use crate::settings::Settings;
use crate::source::{Source, Span};
use crate::syntax::properties::{self, Bound, Entry, Origin, Submission};
use crate::syntax::xml::{AttributeRef, Child, Decoded, Element, NodeId, NodeKind, Tree};
use ankus_lang::action_types::is_cluster;
use foldhash::{HashMap, HashMapExt, HashSet};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use given::BUILT_IN;
pub(super) use given::{
    JobProperty, PATH_KEYS, Start, has_default, is_given, is_submitted, job_properties, starts,
};

/// The language of a file, by its root element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `workflow-app`.
    Workflow,
    /// `coordinator-app`.
    Coordinator,
    /// `bundle-app`.
    Bundle,
    /// `datasets`.
    Datasets,
    /// `configuration`.
    Configuration,
    /// Anything else.
    Other,
}

impl Language {
    /// Returns the language of a tree.
    pub fn of(tree: &Tree) -> Language {
        match tree.root().map(Element::name) {
            Some("workflow-app") => Language::Workflow,
            Some("coordinator-app") => Language::Coordinator,
            Some("bundle-app") => Language::Bundle,
            Some("datasets") => Language::Datasets,
            Some("configuration") => Language::Configuration,
            _ => Language::Other,
        }
    }
}

/// An action of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Action<'a> {
    /// The `action` element.
    pub element: Element<'a>,
    /// Its body: `shell`, `fs`, …
    pub body: Element<'a>,
}

/// A property of a configuration block.
#[derive(Clone, Debug)]
pub struct Property<'a> {
    /// The `property` element.
    pub element: Element<'a>,
    /// Its name, trimmed as the server trims it.
    pub name: Decoded<'a>,
    /// Its value as written; `None` without a `value` element.
    pub value: Option<Decoded<'a>>,
}

impl<'a> Action<'a> {
    /// Returns the type of the action, which is the name of its body.
    pub fn kind(&self) -> &'a str {
        self.body.name()
    }

    /// Returns its name; empty if it has none.
    pub fn name(&self) -> String {
        self.element.attribute("name").map(|a| a.value().text.into_owned()).unwrap_or_default()
    }

    /// Whether the body is one of these types.
    pub fn is(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind())
    }

    /// Whether it needs a name node and a resource manager.
    pub(crate) fn runs_on_cluster(&self) -> bool {
        is_cluster(self.kind())
    }

    /// Returns the version at the end of the namespace of its body.
    pub fn version(&self) -> &'a str {
        self.body.namespace().rsplit(':').next().unwrap_or_default()
    }

    /// Returns the elements of this name directly in the body.
    pub fn each(&self, name: &'static str) -> impl Iterator<Item = Element<'a>> {
        self.body.elements().filter(move |element| element.name() == name)
    }

    /// Returns the trimmed text of the first element of this name.
    pub fn text(&self, name: &'static str) -> Option<Decoded<'a>> {
        self.each(name).next().map(|element| element.text().trimmed())
    }

    /// Returns the trimmed texts of all elements of these names, in order.
    pub fn texts(&self, names: &'static [&'static str]) -> impl Iterator<Item = Decoded<'a>> {
        let wanted = move |element: &Element<'a>| names.contains(&element.name());
        self.body.elements().filter(wanted).map(|element| element.text().trimmed())
    }

    /// Whether the action only notifies or cleans up, so that the job need not fail with it: an `email` action, an `fs`
    /// action that only deletes or does nothing, or an action with a name that suggests this.
    pub(super) fn is_aside(&self) -> bool {
        const WORDS: [&str; 15] = [
            "mail",
            "email",
            "notify",
            "notification",
            "alert",
            "log",
            "report",
            "status",
            "clean",
            "cleanup",
            "cleaning",
            "clear",
            "delete",
            "remove",
            "drop",
        ];
        let tidies = |step: Element<'_>| matches!(step.name(), "delete" | "chmod" | "name-node");
        let name = self.name().to_ascii_lowercase();
        self.kind() == "email"
            || self.kind() == "fs" && self.body.elements().all(tidies)
            || name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| WORDS.contains(&word))
            || ["cleanup", "notify", "sendmail", "sendemail"].iter().any(|word| name.contains(word))
    }

    /// Returns the properties of its own configuration.
    pub fn configuration(&self) -> Vec<Property<'a>> {
        self.each("configuration").flat_map(block).collect()
    }

    /// Returns the trimmed value of a property of its own configuration; the last one counts.
    pub fn property(&self, name: &str) -> Option<Decoded<'a>> {
        let properties = self.each("configuration").flat_map(Element::elements);
        let is_it = |property: &Element<'a>| {
            let own = property.child("name").filter(|_| property.name() == "property");
            own.is_some_and(|own| own.text().trimmed().text == name)
        };
        let value = properties.filter(is_it).last()?.child("value")?;
        Some(value.text().trimmed())
    }
}

/// Returns an `action` element as an [`Action`], if it has a body.
fn action(element: Element<'_>) -> Option<Action<'_>> {
    let outside = ["ok", "error", "info"];
    let body = element.elements().find(|child| !outside.contains(&child.name()))?;
    Some(Action { element, body })
}

/// Returns the properties of a `configuration` (or `parameters`) element.
pub(super) fn block<'a>(configuration: Element<'a>) -> Vec<Property<'a>> {
    let read = |element: Element<'a>| {
        let name = element.child("name")?.text().trimmed();
        let value = element.child("value").map(|value| value.text());
        Some(Property { element, name, value })
    };
    let properties = configuration.elements().filter(|element| element.is("property"));
    let mut block: Vec<_> = properties.filter_map(read).collect();
    // There are many blocks, and most have only a few properties.
    block.shrink_to_fit();
    block
}

/// A file with its surroundings.
#[derive(Debug)]
pub struct Facts<'a> {
    /// The analysis of its text.
    pub analysis: &'a Analysis,
    /// Its path, as displayed.
    pub path: &'a str,
    /// Its parsed text.
    pub tree: &'a Tree,
    /// Its language.
    pub language: Language,
    /// The files around it.
    pub files: &'a Files,
    /// The properties that it would be submitted with, as far as they are known.
    pub submission: &'a Submission,
    /// The settings of the project and its server.
    pub settings: &'a Settings,
    /// The actions of a workflow, in order; empty for everything else.
    pub actions: Vec<Action<'a>>,
    /// Every place where the definition reads a property of its job.
    pub reads: Vec<Read>,
    /// Derived facts that several rules use, computed once.
    pub(super) known: Known<'a>,
}

/// Names of elements that rules look for anywhere in a definition. They are all collected in one pass.
const LOOKED_FOR: [&str; 28] = [
    "alert-events",
    "app-path",
    "archive",
    "arg",
    "argument",
    "body",
    "cc",
    "command",
    "configuration",
    "data-in",
    "data-out",
    "exec",
    "file",
    "include",
    "input-logic",
    "jar",
    "jdbc-url",
    "job-tracker",
    "job-xml",
    "message",
    "name-node",
    "notification-msg",
    "resource-manager",
    "script",
    "subject",
    "to",
    "upstream-apps",
    "value",
];

/// Derived facts, cached for the next rule.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    texts: OnceCell<Vec<(Element<'a>, Decoded<'a>)>>,
    by_name: OnceCell<[Vec<NodeId>; LOOKED_FOR.len()]>,
    configurations: OnceCell<Vec<Element<'a>>>,
    parameters: OnceCell<Option<(Element<'a>, Vec<Property<'a>>)>>,
    config_default: OnceCell<Option<&'a Arc<Source>>>,
    property_files: OnceCell<Vec<(&'a Arc<Source>, Vec<Entry>)>>,
    near_files: OnceCell<Vec<(&'a Arc<Source>, Vec<Entry>)>>,
    configuration_files: OnceCell<Vec<(&'a Arc<Source>, Vec<Entry>)>>,
    calling_files: OnceCell<Vec<(&'a Arc<Source>, Vec<Entry>)>>,
    default_entries: OnceCell<Option<(&'a Arc<Source>, Vec<Entry>)>>,
    job_properties: OnceCell<Vec<JobProperty>>,
    pub(super) secrets: OnceCell<Vec<Secret>>,
    blocks: OnceCell<Vec<(NodeId, Vec<Property<'a>>)>>,
    global: OnceCell<Option<Element<'a>>>,
    for_all: OnceCell<HashSet<String>>,
    declared: OnceCell<HashSet<String>>,
    passed: OnceCell<HashSet<&'a str>>,
    variables: OnceCell<HashSet<&'a str>>,
    starts: OnceCell<HashMap<Span, Option<&'a str>>>,
    transitions: OnceCell<Vec<Exit<'a>>>,
}

impl<'a> Facts<'a> {
    /// Collects the facts about a file.
    pub fn new(
        analysis: &'a Analysis,
        files: &'a Files,
        submission: &'a Submission,
        settings: &'a Settings,
    ) -> Facts<'a> {
        let (path, tree) = (analysis.source().path.as_str(), analysis.tree());
        let language = Language::of(tree);
        let root = tree.root().filter(|_| language == Language::Workflow);
        let actions = root
            .into_iter()
            .flat_map(Element::elements)
            .filter(|element| element.is("action"))
            .filter_map(action)
            .collect();
        let reads = tree.root().map(reads::of_element).unwrap_or_default();
        let known = Known::default();
        Facts { analysis, path, tree, language, files, submission, settings, actions, reads, known }
    }

    /// Returns the root of a workflow; `None` for other languages.
    pub fn workflow(&self) -> Option<Element<'a>> {
        self.tree.root().filter(|_| self.language == Language::Workflow)
    }

    /// Returns the control flow of a workflow; `None` for other languages.
    pub(super) fn flow(&self) -> Option<Flow<'a>> {
        (self.language == Language::Workflow).then(|| self.analysis.flow())
    }

    /// Returns the action of a node, if it is an action node.
    pub(super) fn action(&self, node: &workflow::Node) -> Option<Action<'a>> {
        node.action.as_ref()?;
        action(self.tree.element(node.element)?)
    }

    /// Returns the version at the end of the namespace of the root.
    pub fn version(&self) -> &str {
        let namespace = self.tree.root().map_or("", Element::namespace);
        namespace.rsplit(':').next().unwrap_or_default()
    }

    /// Returns the nodes of a workflow of these types (`action`, `kill`, …), in order.
    pub fn nodes(&self, names: &'static [&'static str]) -> impl Iterator<Item = Element<'a>> {
        self.workflow()
            .into_iter()
            .flat_map(Element::elements)
            .filter(move |element| names.contains(&element.name()))
    }

    /// Returns the `global` section of a workflow.
    pub fn global(&self) -> Option<Element<'a>> {
        *self.known.global.get_or_init(|| self.workflow()?.child("global"))
    }

    /// Returns all elements of these names, in order. Each name must be in [`LOOKED_FOR`].
    pub(super) fn named(&self, names: &[&str]) -> Vec<Element<'a>> {
        let place = |name: &str| LOOKED_FOR.iter().position(|known| *known == name);
        let by_name = self.known.by_name.get_or_init(|| {
            let mut by_name = [const { Vec::new() }; LOOKED_FOR.len()];
            for element in self.tree.root().into_iter().flat_map(Element::descendants) {
                if let Some(place) = place(element.name()) {
                    by_name[place].push(element.id());
                }
            }
            by_name
        });
        let list = |name: &&str| &by_name[place(name).expect("rules look for names of the list")];
        let lists = names.iter().map(list);
        let mut found: Vec<NodeId> = lists.flatten().copied().collect();
        if names.len() > 1 {
            found.sort_unstable();
        }
        found.into_iter().filter_map(|id| self.tree.element(id)).collect()
    }

    /// Returns the `parameters` section of the definition and its properties.
    pub fn parameters(&self) -> Option<(Element<'a>, &[Property<'a>])> {
        let known = self.known.parameters.get_or_init(|| {
            let section = self.tree.root()?.child("parameters")?;
            Some((section, block(section)))
        });
        known.as_ref().map(|(section, parameters)| (*section, parameters.as_slice()))
    }

    /// Returns all `configuration` elements of the definition: in `global`, in actions, and in coordinators and
    /// bundles.
    pub fn configurations(&self) -> &[Element<'a>] {
        self.known.configurations.get_or_init(|| self.named(&["configuration"]))
    }

    /// Returns the properties of a `configuration` of this definition; they are parsed once.
    pub(super) fn block(&self, configuration: Element<'a>) -> &[Property<'a>] {
        let blocks = self.known.blocks.get_or_init(|| {
            let read = |element: &Element<'a>| (element.id(), block(*element));
            self.configurations().iter().map(read).collect()
        });
        let known = blocks.binary_search_by_key(&configuration.id(), |(id, _)| *id);
        known.map_or(&[], |at| &blocks[at].1)
    }

    /// Returns the properties of an action's own configuration.
    pub(super) fn configuration(
        &self,
        action: &Action<'a>,
    ) -> impl Iterator<Item = &Property<'a>> + Clone {
        let body = (!self.configurations().is_empty()).then_some(action.body);
        let elements = body.into_iter().flat_map(Element::elements);
        elements
            .filter(|element| element.is("configuration"))
            .flat_map(|element| self.block(element))
    }

    /// Returns every text of the tree (attribute values, runs of character data) with the element it is in. Plain names
    /// and numbers are left out: texts that consist only of letters, digits, blanks, `_`, `-`, `.`, `,` and `/`.
    pub(super) fn texts(&self) -> &[(Element<'a>, Decoded<'a>)] {
        self.known.texts.get_or_init(|| texts(self.tree))
    }

    /// Returns the folder of the file.
    pub fn folder(&self) -> &'a str {
        files::folder_of(self.path)
    }

    /// Resolves a path relative to the application.
    pub fn beside(&self, relative: &str) -> Option<String> {
        files::join(self.folder(), relative)
    }

    /// Returns the parsed `.properties` files that belong to it: those of the submission, and others that also start
    /// it.
    pub fn property_files(&self) -> &[(&'a Arc<Source>, Vec<Entry>)] {
        self.known.property_files.get_or_init(|| {
            let own = &self.submission.files;
            let callers = self.submission.callers.iter().filter(|caller| caller.is_properties);
            let others = callers.map(|caller| &caller.path).filter(|path| !own.contains(*path));
            let paths = own.iter().chain(others).filter(|path| path.ends_with(".properties"));
            paths
                .filter_map(|path| self.files.text(path))
                .map(|source| (source, properties::parse(&source.text).entries))
                .collect()
        })
    }

    /// Returns other parsed `.properties` files near it, if it has no known caller: they may start it, and they show
    /// how names are written here.
    pub(super) fn near_files(&self) -> &[(&'a Arc<Source>, Vec<Entry>)] {
        self.known.near_files.get_or_init(|| {
            let is_own =
                |path: &str| self.property_files().iter().any(|(source, _)| source.path == path);
            let others = self.submission.near.properties.iter().filter(|path| !is_own(path));
            let others = others.filter(|path| path.ends_with(".properties"));
            others
                .filter_map(|path| self.files.text(path))
                .map(|source| (source, properties::parse(&source.text).entries))
                .collect()
        })
    }

    /// Returns the parsed configurations in XML that start it, or that may: `oozie job -config` takes them in place of
    /// properties.
    pub(super) fn configuration_files(&self) -> &[(&'a Arc<Source>, Vec<Entry>)] {
        self.known.configuration_files.get_or_init(|| {
            let callers = self.submission.callers.iter().filter(|caller| !caller.is_definition);
            let near = &self.submission.near.properties;
            let all = callers.map(|caller| &caller.path).chain(near);
            let paths: BTreeSet<&String> = all.filter(|path| path.ends_with(".xml")).collect();
            paths
                .into_iter()
                .filter_map(|path| self.files.text(path))
                .map(|source| (source, properties::entries_of(&source.path, &source.text)))
                .collect()
        })
    }

    /// Returns the parsed `.properties` files that its callers are started with: a coordinator passes on the properties
    /// that it gets.
    pub(super) fn calling_files(&self) -> &[(&'a Arc<Source>, Vec<Entry>)] {
        self.known.calling_files.get_or_init(|| {
            let is_own =
                |path: &str| self.property_files().iter().any(|(source, _)| source.path == path);
            let above = self.submission.callers.iter().flat_map(|caller| caller.by.split(", "));
            let paths: BTreeSet<&str> =
                above.filter(|path| path.ends_with(".properties") && !is_own(path)).collect();
            paths
                .into_iter()
                .filter_map(|path| self.files.text(path))
                .map(|source| (source, properties::parse(&source.text).entries))
                .collect()
        })
    }

    /// Returns the `config-default.xml` next to it.
    pub(crate) fn config_default(&self) -> Option<&'a Arc<Source>> {
        let find = || self.files.text(&self.beside("config-default.xml")?);
        *self.known.config_default.get_or_init(find)
    }

    /// Returns the properties that `config-default.xml` next to it sets, if it can be parsed.
    pub(super) fn default_entries(&self) -> Option<&(&'a Arc<Source>, Vec<Entry>)> {
        let find = || {
            let source = self.config_default()?;
            let read = properties::parse_configuration(&source.text).ok()?;
            Some((source, read.entries))
        };
        self.known.default_entries.get_or_init(find).as_ref()
    }

    /// Returns all files near it that set properties of the job: parsed `.properties` files and `config-default.xml`.
    pub(super) fn value_files(&self) -> impl Iterator<Item = &(&'a Arc<Source>, Vec<Entry>)> {
        self.property_files().iter().chain(self.near_files()).chain(self.default_entries())
    }

    /// Returns the text of a span.
    pub fn slice(&self, span: Span) -> &'a str {
        self.tree.text().get(span.range()).unwrap_or_default()
    }

    /// Returns the span to delete in order to remove an element: the element, and the blanks before it if it is alone
    /// on its line.
    pub(crate) fn removal(&self, span: Span) -> Span {
        crate::source::removal(self.tree.text(), span)
    }

    /// Returns the line end and the indentation before an element, for adding another line next to it.
    pub fn line_start(&self, span: Span) -> &'a str {
        let text = self.tree.text();
        let before = &text[..span.start as usize];
        let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
        let start = before.len() - indent;
        let ends = match &text[..start] {
            head if head.ends_with("\r\n") => 2,
            head if head.ends_with('\n') => 1,
            _ => 0,
        };
        if ends == 0 { "" } else { &text[start - ends..before.len()] }
    }
}

/// Whether a text contains an expression, so that its value is unknown before the run.
pub(super) fn is_open(text: &str) -> bool {
    super::reads::first_dollar(text.as_bytes()).is_some()
}

/// Escapes a text for an element or a double-quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character => out.push(character),
        }
    }
    out
}

fn texts<'a>(tree: &'a Tree) -> Vec<(Element<'a>, Decoded<'a>)> {
    const SAYS_MORE: [bool; 256] = {
        let mut table = [true; 256];
        let mut byte = 0u8;
        while byte < 128 {
            table[byte as usize] = !byte.is_ascii_alphanumeric()
                && !matches!(byte, b'_' | b'-' | b'.' | b',' | b'/' | b' ' | b'\n' | b'\t');
            byte += 1;
        }
        table
    };
    let says_more = |raw: &str| raw.bytes().any(|byte| SAYS_MORE[usize::from(byte)]);
    // If all lines end with just a line feed, the layout is of no interest.
    let layout_says = memchr::memchr(b'\r', tree.text().as_bytes()).is_some();
    let mut texts = Vec::new();
    for element in tree.root().into_iter().flat_map(Element::descendants) {
        for attribute in element.attributes().filter(|attribute| says_more(attribute.raw())) {
            if attribute.declares().is_none() {
                texts.push((element, attribute.value()));
            }
        }
        let data = |kind| matches!(kind, NodeKind::Text | NodeKind::CData);
        let has_data = |child: Child<'_>| {
            data(child.kind()) && (layout_says || !child.is_layout()) && says_more(child.raw())
        };
        if element.children().any(has_data) {
            let text = element.text();
            if !text.text.trim_start().is_empty() {
                texts.push((element, text));
            }
        }
    }
    texts
}

/// Returns the paths of an action's file operations, in `fs` and in `prepare`: the command (`source` and `target` for
/// the two sides of a move) and the attribute.
pub(super) fn operations<'a>(action: &Action<'a>) -> Vec<(&'a str, AttributeRef<'a>)> {
    let parent = match action.kind() {
        "fs" => Some(action.body),
        _ => action.body.child("prepare"),
    };
    let mut found = Vec::new();
    for command in parent.into_iter().flat_map(Element::elements) {
        for attribute in command.attributes() {
            match attribute.qualified_name() {
                "path" => found.push((command.name(), attribute)),
                "source" => found.push(("source", attribute)),
                "target" => found.push(("target", attribute)),
                _ => {}
            }
        }
    }
    found
}

/// Returns the text with every expression replaced by underscores, byte for byte, so that only the literal parts are
/// left.
pub(super) fn masked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in super::reads::expressions(text) {
        bytes[range].fill(b'_');
    }
    String::from_utf8(bytes).expect("whole expressions are replaced by single bytes")
}

/// Returns the names under which an action's files and archives appear in its working folder.
pub(super) fn links(action: &Action<'_>) -> Vec<String> {
    let mut links = Vec::new();
    for text in action.texts(&["file", "archive"]) {
        for entry in text.text.split(',') {
            let (path, link) = entry.trim().split_once('#').unwrap_or((entry.trim(), ""));
            let link = if link.is_empty() { files::name_of(path) } else { link };
            links.push(link.to_owned());
        }
    }
    links
}

/// Whether an action without a name node of its own gets a default one.
pub(super) fn default_name_node(facts: &Facts<'_>) -> bool {
    let global = facts.global().and_then(|global| global.child("name-node"));
    let callers = &facts.submission.callers;
    global.is_some()
        || facts.settings.server.name_node.is_some()
        || !callers.is_empty() && callers.iter().all(|caller| caller.name_node)
}

/// Returns `text` with the line end and indentation before `beside`, if that begins its line, for adding it as a line
/// next to it.
pub(super) fn sibling(facts: &Facts<'_>, beside: Element<'_>, text: &str) -> String {
    format!("{}{text}", facts.line_start(beside.span()))
}

/// The note at the place in the definition, if the finding itself is at the line of properties that has the value.
pub(crate) const USED_HERE: &str = "it is used here";

/// The value of a text: the text itself, or the value of the single property that it refers to.
#[derive(Clone, Debug)]
pub(super) struct Said<'f> {
    /// The value, without surrounding blanks.
    pub(super) value: &'f str,
    /// The property, if the text refers to one.
    pub(super) name: Option<String>,
    bound: Option<&'f Bound>,
    /// The other file that sets the property, and the span there.
    elsewhere: Option<(&'f str, Span)>,
}

impl<'f> Said<'f> {
    /// Returns the value of a text, if it is known.
    pub(super) fn of(facts: &'f Facts<'_>, text: &'f Decoded<'_>) -> Option<Said<'f>> {
        let plain = text.text.trim();
        if !is_open(plain) {
            return Some(Said { value: plain, name: None, bound: None, elsewhere: None });
        }
        let said = Said::at(facts, text)?;
        (!is_open(said.value) && !said.value.is_empty()).then_some(said)
    }

    /// Returns the value of the single property that a text refers to.
    pub(super) fn at(facts: &'f Facts<'_>, text: &Decoded<'_>) -> Option<Said<'f>> {
        Said::by(facts, &text.text)
    }

    /// Returns the value of the single property that a part of a text refers to.
    pub(super) fn by(facts: &'f Facts<'_>, text: &str) -> Option<Said<'f>> {
        let name = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'))?.trim();
        let bound = facts.submission.values.get(name)?;
        let (value, name) = (bound.value.trim(), Some(name.to_owned()));
        Some(Said { value, name, bound: Some(bound), elsewhere: None })
    }

    /// Returns the value of a text, and its values according to other properties files that also start the definition
    /// or may do so.
    pub(super) fn all(facts: &'f Facts<'_>, text: &'f Decoded<'_>) -> Vec<Said<'f>> {
        let mut all: Vec<Said<'f>> = Said::of(facts, text).into_iter().collect();
        let name = text.text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let Some(name) = name.map(str::trim) else { return all };
        let bound = facts.submission.values.get(name).map(|bound| &bound.origin);
        let is_bound =
            |source: &Source| matches!(bound, Some(Origin::File(file)) if *file == source.path);
        let files = facts.property_files().iter().chain(facts.near_files());
        for (source, entries) in files.chain(facts.calling_files()) {
            let entry = entries.iter().rev().find(|entry| entry.name == name);
            let Some(entry) = entry.filter(|_| !is_bound(source)) else { continue };
            let value = entry.value.trim();
            if !is_open(value) && !value.is_empty() {
                let elsewhere = Some((source.path.as_str(), entry.value_span));
                all.push(Said { value, name: Some(name.to_owned()), bound: None, elsewhere });
            }
        }
        all
    }

    /// Returns how messages name the value. The value of a property may be confidential, so only the name is given.
    pub(super) fn words(&self) -> String {
        match &self.name {
            Some(name) => format!("the value of `{name}`"),
            None => format!("`{}`", self.value),
        }
    }

    /// Moves a finding about the value to the line of properties that sets it, if there is one.
    pub(super) fn place(&self, facts: &Facts<'_>, finding: Diagnostic, note: &str) -> Diagnostic {
        let (file, span) = match (self.elsewhere, self.bound) {
            (Some((file, span)), _) => (file, span),
            (
                None,
                Some(Bound {
                    origin: Origin::File(file) | Origin::Default(file), value_span, ..
                }),
            ) => (file.as_str(), *value_span),
            _ => return finding,
        };
        let mut moved = finding.clone().note_in(facts.path, finding.span, note);
        moved.span = span;
        // The fixes are edits of the definition.
        moved.fixes.clear();
        moved.in_file(file)
    }
}

/// Whether one of `keys` is set in a properties file, `config-default.xml`, `global`, or the configuration of the
/// action.
pub(super) fn is_configured<'a>(facts: &Facts<'a>, action: &Action<'a>, keys: &[&str]) -> bool {
    let for_all = facts.known.for_all.get_or_init(|| {
        let global = facts.global().and_then(|global| global.child("configuration"));
        let global = global.map(block).unwrap_or_default();
        global.into_iter().map(|property| property.name.text.into_owned()).collect()
    });
    let mut own = facts.configuration(action);
    own.any(|property| keys.contains(&property.name.text.as_ref()))
        || keys.iter().any(|key| for_all.contains(*key) || facts.submission.get(key).is_some())
}

/// Returns the definition that a sub-workflow's path leads to, if it is in the snapshot. The path must begin with this
/// workflow's own folder, or be literal after the deployment folder of the application.
pub(super) fn child_workflow<'a>(facts: &Facts<'a>, path: &Decoded<'_>) -> Option<&'a Arc<Source>> {
    const OWN: &str = "${wf:appPath()}";
    let span = path.span();
    // A place that starts several definitions is ambiguous.
    let starts = facts.known.starts.get_or_init(|| {
        let mut starts = HashMap::new();
        for (place, path) in &facts.submission.starts {
            let one = starts.entry(*place);
            one.and_modify(|known| *known = None).or_insert(Some(path.as_str()));
        }
        starts
    });
    if let Some(path) = starts.get(&span).copied().flatten() {
        return facts.files.text(path);
    }
    let path = path.text.as_ref();
    let path = path.trim();
    let own = facts.submission.get("oozie.wf.application.path");
    let below = path.strip_prefix(OWN).or_else(|| {
        let own = own?.trim().trim_end_matches('/').trim_end_matches("/workflow.xml");
        path.strip_prefix(own).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    })?;
    if is_open(below) {
        return None;
    }
    let found = facts.beside(below.trim_start_matches('/'))?;
    if found.ends_with(".xml") {
        return facts.files.text(&found);
    }
    facts.files.text(&files::join(&found, "workflow.xml")?)
}

/// The type of a transition, and the attribute that names its target.
type Exit<'a> = (&'a str, AttributeRef<'a>);

/// Returns every transition of a workflow: its type (`start`, `ok`, `error`, `path`, `case`, `default`, `join`) and the
/// attribute that names its target.
pub(super) fn transitions<'f, 'a>(facts: &'f Facts<'a>) -> &'f [Exit<'a>] {
    facts.known.transitions.get_or_init(|| find_transitions(facts))
}

fn find_transitions<'a>(facts: &Facts<'a>) -> Vec<Exit<'a>> {
    let Some(root) = facts.workflow() else { return Vec::new() };
    let nodes = root.elements().filter(|element| {
        ["start", "action", "decision", "fork", "join"].contains(&element.name())
    });
    let mut found = Vec::new();
    for element in nodes.flat_map(Element::descendants) {
        let (way, name) = match element.name() {
            way @ ("start" | "ok" | "error" | "case" | "default" | "join") => (way, "to"),
            "path" => ("path", "start"),
            _ => continue,
        };
        if let Some(attribute) = element.attribute(name) {
            found.push((way, attribute));
        }
    }
    found
}
