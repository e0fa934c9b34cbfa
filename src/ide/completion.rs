//! Completes the text at a cursor, however incomplete the text is.
//!
//! Names of elements, attributes and values come from the schema of the version in use, functions from the function
//! table, names of nodes and properties from the texts; what is not valid here is not offered.

mod scenario;

use super::cursor::{Cursor, Typing, cursor, local, word};
use super::definition::{family, scope};
use super::document::{Document, Kind};
use super::expression::{self, Begun, begun};
use super::names::{Occurrence, Role, Symbol};
use super::typed::{self, Typed};
use super::{Snapshot, snippet};
use crate::files::{Entry, folder_of};
use crate::ir::workflow::{Node, Shape};
use crate::lint::{BUILT_IN, known_properties};
use crate::passes::expressions::printed_keys;
use crate::schema::model::State;
use crate::schema::{self, Check, Language, Meaning, Schema, Symbol as Step, Text, TypeRef};
use crate::source::Span;
use ankus_lang::el::Phase;
use ankus_lang::el::functions::{self, Asks};
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// The type of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionKind {
    /// An element.
    Element,
    /// An attribute.
    Attribute,
    /// One of the allowed values.
    Value,
    /// A name defined by the user.
    Name(Symbol),
    /// An EL function.
    Function,
    /// An EL constant.
    Constant,
    /// A file or folder.
    File,
    /// A key in a settings or properties file.
    Key,
    /// A larger snippet with placeholders.
    Snippet,
}

/// An offered completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The label, which is also compared with the typed text.
    pub label: String,
    /// Its type.
    pub kind: CompletionKind,
    /// A short detail: a signature, a type.
    pub detail: String,
    /// Its documentation.
    pub about: String,
    /// The span to replace.
    pub span: Span,
    /// The replacement.
    pub insert: String,
    /// Whether the replacement has placeholders: `$1`, and `$0` for the final cursor.
    pub is_snippet: bool,
}

/// Maximum number of completions offered at once. If there are this many, typing another letter may bring others.
pub const MOST_OFFERED: usize = 100;

struct Offers<'s> {
    snapshot: &'s Snapshot,
    document: &'s Document,
    /// Offset of the cursor.
    at: usize,
    span: Span,
    out: Vec<Completion>,
}

/// The completions at an offset.
pub(super) fn completion(snapshot: &Snapshot, document: &Document, offset: u32) -> Vec<Completion> {
    let text = document.text();
    let at = text.floor_char_boundary((offset as usize).min(text.len()));
    let span = word(text, at, &[]);
    let mut offers = Offers { snapshot, document, at, span, out: Vec::new() };
    match document.kind() {
        Kind::Properties => offers.properties(at),
        Kind::Settings => offers.settings(at),
        Kind::Scenario => offers.scenario(at),
        Kind::Other => {}
        _ => offers.markup(at),
    }
    // Completions without the typed letters are left out.
    let typed = offers.typed();
    let mut out = offers.out;
    out.retain(|offer| has_letters(&offer.label, &typed));
    out.sort_by_cached_key(|offer| rank(&offer.label, &typed));
    let mut seen = BTreeSet::new();
    out.retain(|offer| seen.len() < MOST_OFFERED && seen.insert((offer.label.clone(), offer.kind)));
    out
}

/// Selects the best matches, at most as many as are offered at once. Near names are meant more often than those that
/// come first.
fn nearest_first<'n>(
    all: Vec<(Span, &'n Occurrence)>,
    here: u32,
    typed: &str,
) -> Vec<(Span, &'n Occurrence)> {
    let key = |(at, (place, name)): (usize, &(Span, &Occurrence))| {
        (rank(&name.name, typed), place.start.abs_diff(here), at)
    };
    let mut keys: Vec<_> = all.iter().enumerate().map(key).collect();
    // There are more than that many.
    let (best, ..) = keys.select_nth_unstable(MOST_OFFERED);
    best.sort_unstable();
    best.iter().map(|(_, _, at)| all[*at]).collect()
}

/// Sort key: names that begin with the typed text come first, then those that contain it.
fn rank(name: &str, typed: &str) -> (bool, bool) {
    if typed.is_empty() {
        return (false, false);
    }
    let name = name.to_lowercase();
    (!name.starts_with(typed), !name.contains(typed))
}

/// Whether a name contains the typed letters in order.
fn has_letters(name: &str, typed: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    typed.chars().filter(|c| c.is_alphanumeric()).all(|c| letters.any(|letter| letter == c))
}

impl Offers<'_> {
    /// The part of a name typed so far, in lower case.
    fn typed(&self) -> String {
        let start = self.span.start as usize;
        self.document.text()[start..self.at.max(start)].to_lowercase()
    }

    fn add(&mut self, kind: CompletionKind, label: &str, detail: &str, about: &str) {
        self.insert(kind, label, detail, about, label.to_owned(), false);
    }

    fn insert(
        &mut self,
        kind: CompletionKind,
        label: &str,
        detail: &str,
        about: &str,
        insert: String,
        is_snippet: bool,
    ) {
        let (label, detail, about) = (label.to_owned(), detail.to_owned(), about.to_owned());
        let span = self.span;
        self.out.push(Completion { label, kind, detail, about, span, insert, is_snippet });
    }

    /// The line end used in this text.
    fn line_end(&self) -> &'static str {
        if self.document.text().contains("\r\n") { "\r\n" } else { "\n" }
    }

    fn markup(&mut self, at: usize) {
        let snapshot = self.snapshot;
        let text = self.document.text();
        let cursor = cursor(text, at, self.document.children_before(at as u32));
        let before = &text[cursor.start.min(at)..at];
        if matches!(cursor.typing, Typing::Content | Typing::Value(_))
            && let Some(begun) = begun(before)
        {
            self.expression(&cursor, &begun, at);
            return;
        }
        let language = snapshot.language();
        let typed = types(&language, &cursor);
        match cursor.typing {
            Typing::Nothing => {}
            Typing::EndTag => {
                if let Some(open) = cursor.open.last() {
                    self.span = word(text, at, &[':', '.']);
                    let close = match text[self.span.end as usize..].starts_with('>') {
                        true => "",
                        false => ">",
                    };
                    let insert = format!("{}{close}", open.name);
                    self.insert(CompletionKind::Element, open.name, "", "", insert, false);
                }
            }
            Typing::Tag => {
                self.span = word(text, at, &[':', '.']);
                // The replaced span includes the `<`, so that a snippet is complete.
                self.span.start = cursor.start.saturating_sub(1) as u32;
                self.elements(&language, &cursor, typed.last().copied().flatten());
            }
            Typing::Attribute => self.attributes(&cursor, typed.last().copied().flatten()),
            Typing::Value(name) => {
                let typed = typed.last().copied().flatten();
                self.value(&cursor, typed, name, at);
            }
            Typing::Content => {
                self.content(&language, &cursor, typed.last().copied().flatten(), at)
            }
        }
    }

    /// Offers the elements allowed here, with their required content.
    fn elements(&mut self, language: &Language, cursor: &Cursor<'_>, parent: Option<Typed<'_>>) {
        let Some(open) = cursor.open.last() else {
            self.roots();
            return;
        };
        let Some((parent, model)) = parent.and_then(|parent| Some((parent, parent.model()?)))
        else {
            return;
        };
        let own = &*parent.schema.namespace;
        let mut state = Some(State::default());
        for (name, namespace) in &open.children {
            let namespace = if language.schema(namespace).is_some() { namespace } else { own };
            state = state.and_then(|state| model.step(state, own, namespace, name)).map(|(_, s)| s);
        }
        // If the existing children are out of order, any of them may be meant.
        let expected: Vec<Step> = match state {
            Some(state) => model.expected(state).collect(),
            None => {
                let children = (0..model.children.len()).map(|at| Step::Child(at as u16));
                let wildcards = (0..model.wildcards.len()).map(|at| Step::Wildcard(at as u16));
                children.chain(wildcards).collect()
            }
        };
        let prefix = open.name.split_once(':').map(|(prefix, _)| format!("{prefix}:"));
        let prefix = prefix.unwrap_or_default();
        let target = self.snapshot.settings.target.name();
        let line_end = self.line_end();
        for step in expected {
            match step {
                Step::Child(at) => {
                    let child = &model.children[usize::from(at)];
                    if !child.known_to(target) {
                        continue;
                    }
                    let name = format!("{prefix}{}", child.name);
                    let typed =
                        Typed { schema: parent.schema, kind: child.kind, child: Some(child) };
                    let insert = snippet::element(typed, &name, "", line_end);
                    let about = typed.about();
                    self.insert(CompletionKind::Element, &name, "", about, insert, true);
                }
                Step::Wildcard(at) => {
                    let wildcard = &model.wildcards[usize::from(at)];
                    let document = &*parent.schema.family;
                    let families = schema::families().iter().filter_map(|family| {
                        let known = family.schemas().rev();
                        let mut known = known.filter(|schema| schema.known_to(target, document));
                        known.find(|schema| wildcard.accept(own, &schema.namespace))
                    });
                    // The root elements of document languages occur only in those documents.
                    let is_of_documents = |schema: &&Schema| {
                        schema
                            .roots
                            .iter()
                            .any(|(name, _)| name.ends_with("-app") || &**name == "datasets")
                    };
                    let schemas = families.chain(&language.site);
                    for schema in schemas.filter(|schema| !is_of_documents(schema)) {
                        for (name, id) in &schema.roots {
                            if !wildcard.accept(own, &schema.namespace) {
                                continue;
                            }
                            let typed = Typed { schema, kind: TypeRef::Type(*id), child: None };
                            let given = format!(" xmlns=\"{}\"", schema.namespace);
                            let insert = snippet::element(typed, name, &given, line_end);
                            let (about, detail) = (typed.about(), &*schema.namespace);
                            self.insert(CompletionKind::Element, name, detail, about, insert, true);
                        }
                    }
                }
            }
        }
    }

    /// Offers the root elements of the languages.
    fn roots(&mut self) {
        let target = self.snapshot.settings.target.name();
        let line_end = self.line_end();
        for family in schema::families() {
            let mut known = family.schemas().rev();
            let Some(schema) = known.find(|schema| schema.known_to(target, &family.name)) else {
                continue;
            };
            for (name, id) in schema
                .roots
                .iter()
                .filter(|(name, _)| name.ends_with("-app") || &**name == "datasets")
            {
                let typed = Typed { schema, kind: TypeRef::Type(*id), child: None };
                let given = match &**name {
                    "datasets" => String::new(),
                    _ => format!(" xmlns=\"{}\"", schema.namespace),
                };
                let insert = snippet::element(typed, name, &given, line_end);
                self.insert(
                    CompletionKind::Element,
                    name,
                    &schema.namespace,
                    typed.about(),
                    insert,
                    true,
                );
            }
        }
    }

    fn attributes(&mut self, cursor: &Cursor<'_>, typed: Option<Typed<'_>>) {
        let Some(open) = cursor.open.last() else { return };
        let Some(typed) = typed else { return };
        for attribute in typed.attributes() {
            if open.attributes.iter().any(|(name, _)| **name == *attribute.name) {
                continue;
            }
            let detail = if attribute.required { "required" } else { "" };
            let insert = format!("{}=\"$1\"", attribute.name);
            let (kind, about) = (CompletionKind::Attribute, &*attribute.about);
            self.insert(kind, &attribute.name, detail, about, insert, true);
        }
        let declared = open.attributes.iter().any(|(name, _)| *name == "xmlns");
        if !declared && typed.child.is_none() && !open.name.contains(':') {
            let insert = format!("xmlns=\"{}\"", typed.schema.namespace);
            let about = "The version of the language.";
            self.insert(CompletionKind::Attribute, "xmlns", "", about, insert, false);
        }
    }

    fn value(&mut self, cursor: &Cursor<'_>, typed: Option<Typed<'_>>, name: &str, at: usize) {
        let Some(open) = cursor.open.last() else { return };
        let text = self.document.text();
        let end = text[at..].find(['"', '\'', '<', '\n', '\r']).map_or(at, |end| at + end);
        self.span = Span::new(cursor.start.min(at), end);
        if name == "xmlns" || name.starts_with("xmlns:") {
            let families = schema::families()
                .iter()
                .filter(|family| family.newest().root(open.local()).is_some());
            for family in families {
                for schema in family.schemas().rev() {
                    let servers = schema.servers.join(", ");
                    self.add(CompletionKind::Value, &schema.namespace, &servers, "");
                }
            }
            return;
        }
        let Some(typed) = typed else { return };
        let known = typed.attributes().iter().find(|known| &*known.name == name);
        let Some(attribute) = known else { return };
        match (attribute.text.meaning, name) {
            (_, "cred") => {
                // Several values, separated by commas.
                let typed = &text[cursor.start..at];
                let from = typed.rfind(',').map_or(0, |comma| comma + 1);
                self.span = Span::new(cursor.start + from, at);
                self.names(Symbol::Credential);
            }
            (_, "dataset") if cursor.open.iter().any(|open| open.local() == "input-logic") => {
                self.names(Symbol::Event);
            }
            (_, "dataset") => self.names(Symbol::Dataset),
            (Meaning::Identifier, "name") => self.asked_for(),
            (Meaning::Identifier, _) => self.names(Symbol::Node),
            (Meaning::Frequency, _) => self.frequencies(open.local() == "coordinator-app"),
            _ => self.text(typed, attribute.text),
        }
    }

    /// Offers the names of undefined nodes that transitions name.
    fn asked_for(&mut self) {
        let names = || self.document.names_at_once().map(|(_, name)| name);
        let nodes = || names().filter(|name| name.symbol == Symbol::Node);
        let defined: HashSet<&str> = nodes()
            .filter(|name| name.role == Role::Definition)
            .map(|name| name.name.as_str())
            .collect();
        let asked: Vec<&Occurrence> = nodes()
            .filter(|name| name.role == Role::Use && !defined.contains(&*name.name))
            .collect();
        for name in asked {
            let about = "A transition leads to this name, but no node has it.";
            self.add(CompletionKind::Name(Symbol::Node), &name.name, "", about);
        }
    }

    /// Offers the defined names of a type, except the one at the cursor.
    fn names(&mut self, symbol: Symbol) {
        self.names_that(symbol, None);
    }

    /// Offers the defined names of a type; for nodes, only those that satisfy `is_so`.
    fn names_that(&mut self, symbol: Symbol, is_so: Option<fn(&Node) -> bool>) {
        let snapshot = self.snapshot;
        for document in scope(snapshot, self.document, symbol) {
            let typed = self.typed();
            let all = defined(&document, symbol);
            let mut all: Vec<_> = all.filter(|(_, name)| has_letters(&name.name, &typed)).collect();
            if let Some(is_so) = is_so {
                all.retain(|(_, name)| node(&document, name).is_some_and(is_so));
            }
            if all.len() > MOST_OFFERED && document.path() == self.document.path() {
                all = nearest_first(all, self.span.start, &typed);
            }
            for (_, name) in all {
                let detail = node(&document, name).map_or("", |node| {
                    let body = node.action.as_ref().and_then(|action| action.body.as_ref());
                    body.map_or(node.shape.name(), |body| &body.kind)
                });
                self.add(CompletionKind::Name(symbol), &name.name, detail, "");
            }
        }
    }

    fn frequencies(&mut self, cron: bool) {
        let every = functions::table().iter().filter(|function| {
            function.phases().has(Phase::CoordinatorFrequency)
                && function.parameters.len() == 1
                && function.name.starts_with("coord:")
                && function.asks().is_none()
        });
        for function in every {
            let insert = format!("\\${{{}(${{1:1}})}}", function.name);
            let label = format!("${{{}(1)}}", function.name);
            self.insert(CompletionKind::Snippet, &label, "", function.doc, insert, true);
        }
        if cron {
            for (fields, about) in CRON {
                self.add(CompletionKind::Snippet, fields, "cron", about);
            }
        }
    }

    /// Offers the values of a text with a known meaning.
    fn text(&mut self, typed: Typed<'_>, text: Text) {
        if let Check::Simple(at) = text.check {
            for value in &typed.schema.simples[usize::from(at)].values {
                self.add(CompletionKind::Value, value, "", "");
            }
        }
        match text.meaning {
            Meaning::Boolean => ["true", "false"].iter().for_each(|value| {
                self.add(CompletionKind::Value, value, "", "");
            }),
            Meaning::Zone => {
                for zone in ankus_lang::time::zone_names() {
                    self.add(CompletionKind::Value, &zone, "", "");
                }
            }
            Meaning::Path => self.files(),
            _ => {}
        }
    }

    /// Offers files of the application, relative to its folder.
    fn files(&mut self) {
        let folder = folder_of(self.document.path());
        let files = self.snapshot.files.clone();
        for (path, entry) in files.below(folder).take(MOST_OFFERED) {
            let below = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/');
            if path != self.document.path() && !matches!(entry, Entry::Folder) {
                self.add(CompletionKind::File, below, "", "");
            }
        }
    }

    /// Offers the content of an element: values of a text, or elements.
    fn content(
        &mut self,
        language: &Language,
        cursor: &Cursor<'_>,
        typed: Option<Typed<'_>>,
        at: usize,
    ) {
        let text = self.document.text();
        let before = &text[cursor.start.min(at)..at];
        let lead = before.len() - before.trim_start().len();
        let end = text[at..].find(['<', '\n', '\r']).map_or(text.len(), |end| at + end);
        let end = at + text[at..end].trim_end().len();
        let Some(open) = cursor.open.last() else {
            self.span = Span::at(at);
            self.roots();
            return;
        };
        let holder = expression::parent(cursor).map(|parent| parent.local());
        let whole = Span::new(cursor.start.min(at) + lead, end.max(cursor.start.min(at) + lead));
        if open.local() == "name" && holder == Some("property") {
            self.span = whole;
            self.property_names(cursor);
            return;
        }
        match typed {
            Some(typed) if typed.model().is_some() => {
                self.span = Span::at(at);
                if before.trim().is_empty() {
                    self.elements(language, cursor, Some(typed));
                }
            }
            Some(typed) => {
                self.span = whole;
                if let Some(text) = typed.text() {
                    self.text(typed, text);
                }
                if open.local() == "app-path" {
                    self.applications();
                }
            }
            None => {}
        }
    }

    /// Offers names for the property at the cursor: those of the started definition, or of Hadoop.
    fn property_names(&mut self, cursor: &Cursor<'_>) {
        let above: Vec<&str> = cursor.open.iter().rev().map(|open| open.local()).collect();
        let holder = above.get(3).copied().unwrap_or_default();
        let hands_on = matches!(holder, "workflow" | "sub-workflow" | "coordinator");
        if hands_on || self.document.kind() == Kind::Defaults || above.get(2) == Some(&"parameters")
        {
            for name in self.asked() {
                self.add(CompletionKind::Name(Symbol::Property), &name, "is read", "");
            }
        }
        if !hands_on && above.get(2) == Some(&"configuration") {
            for name in known_properties() {
                self.add(CompletionKind::Value, name, "", "");
            }
        }
    }

    /// Properties that some text of the family reads.
    fn asked(&self) -> BTreeSet<String> {
        let mut asked = BTreeSet::new();
        for path in family(self.snapshot, self.document.path()) {
            let Some(document) = self.snapshot.document(&path) else { continue };
            let reads = document.names_at_once().filter(|(place, name)| {
                name.symbol == Symbol::Property
                    && name.role != Role::Value
                    && !place.touches(self.span.end)
            });
            asked.extend(reads.map(|(_, name)| name.name.clone()));
        }
        asked
    }

    /// Offers the paths of the workflows below this one.
    fn applications(&mut self) {
        let folder = folder_of(self.document.path());
        let own = self.document.path().to_owned();
        let documents = self.snapshot.documents.clone();
        for (path, document) in documents.iter().filter(|(path, _)| **path != own) {
            let below = path.strip_prefix(folder).map(|below| below.trim_start_matches('/'));
            let Some(below) = below.filter(|_| document.kind() == Kind::Workflow) else { continue };
            let below = below.strip_suffix("/workflow.xml").unwrap_or(below);
            let path = format!("${{wf:appPath()}}/{below}");
            self.add(CompletionKind::File, &path, "workflow", "");
        }
    }

    fn expression(&mut self, cursor: &Cursor<'_>, begun: &Begun<'_>, at: usize) {
        let text = self.document.text();
        if let Some(quote) = begun.quote {
            let start = at - (begun.text.len() - quote);
            let end = text[at..].find(['\'', '"', '<', '}', '\n', '\r']);
            self.span = Span::new(start, end.map_or(at, |end| at + end));
            if let Some(action) = begun.data_of() {
                self.keys(action);
                return;
            }
            let Some((name, 0)) = begun.call() else { return };
            match functions::named(name).find_map(functions::Function::asks) {
                // For the other nodes, a run only records that it passed them.
                Some(Asks::Node) => self.names_that(
                    Symbol::Node,
                    Some(|node| matches!(node.shape, Shape::Action | Shape::Decision)),
                ),
                Some(Asks::Data) => self.names(Symbol::Event),
                Some(Asks::Property) => self.variables(false),
                None => {}
            }
            return;
        }
        self.span = word(text, at, &[':']);
        let phase = expression::phase(cursor);
        self.variables(true);
        if let Some(phase) = phase {
            for (name, signature) in expression::functions_of(self.snapshot, phase) {
                let known = functions::find(&name, phase).map(|(_, function)| function);
                let about = known.map_or("A function of the site.", |function| function.doc);
                let empty = known.is_some_and(|function| function.parameters.is_empty());
                let insert = if empty { format!("{name}()") } else { format!("{name}($1)") };
                let kind = CompletionKind::Function;
                self.insert(kind, &name, &signature, about, insert, !empty);
            }
            for name in phase.constants() {
                self.add(CompletionKind::Constant, name, "", "");
            }
        }
    }

    /// Offers the properties that are set or read nearby; as variables, only those with a valid name.
    fn variables(&mut self, as_variables: bool) {
        let mut names: BTreeSet<(String, String)> = BTreeSet::new();
        for path in family(self.snapshot, self.document.path()) {
            let Some(document) = self.snapshot.document(&path) else { continue };
            for (place, name) in document.names_at_once() {
                let here = path == self.document.path() && place.touches(self.span.end);
                if name.symbol == Symbol::Property && !here {
                    names.insert((name.name.clone(), String::new()));
                }
            }
        }
        let plain = |name: &str| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && !BUILT_IN.contains(&name)
        };
        for (name, detail) in names {
            if !as_variables || plain(&name) {
                self.add(CompletionKind::Name(Symbol::Property), &name, &detail, "");
            }
        }
    }

    /// Offers the keys that the script of an action evidently prints, and those that expressions use.
    fn keys(&mut self, action: &str) {
        let node = self.document.node_at_once(action);
        let body = node.and_then(|node| node.action.as_ref()?.body.as_ref());
        let folder = folder_of(self.document.path());
        let files = self.snapshot.files.clone();
        let shipped = |path: &str| {
            let path = crate::files::join(folder, path)?;
            Some(Arc::clone(&files.text(&path)?.text))
        };
        if let Some((script, keys)) = body.and_then(|body| printed_keys(body, &shipped)) {
            for key in keys {
                self.add(CompletionKind::Key, &key, &script, "");
            }
        }
        let text = self.document.text();
        for quote in ['\'', '"'] {
            let asks = format!("wf:actionData({quote}{action}{quote})[{quote}");
            for (at, _) in text.match_indices(&asks) {
                let from = at + asks.len();
                let here = self.span.start as usize == from;
                let key = text[from..].split([quote, '\n', '<']).next().unwrap_or_default();
                if !here && !key.is_empty() {
                    self.add(CompletionKind::Key, key, "asked for elsewhere", "");
                }
            }
        }
    }

    /// Completes a line of a properties file: properties that the application reads and nothing sets, then those that
    /// the server reads.
    fn properties(&mut self, at: usize) {
        let text = self.document.text();
        let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let before = &text[line..at];
        if before.trim_start().starts_with(['#', '!']) {
            return;
        }
        if before.contains(['=', ':']) {
            if let Some(begun) = begun(before).filter(|begun| begun.quote.is_none()) {
                self.span = Span::new(at - begun.text.len(), word(text, at, &['.']).end as usize);
                self.variables(true);
            }
            return;
        }
        let start = line + (before.len() - before.trim_start().len());
        self.span = Span::new(start, word(text, at, &['.']).end as usize);
        let entries = &self.document.properties().entries;
        let given: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| !entry.span.touches(at as u32))
            .map(|entry| entry.name.as_str())
            .collect();
        let asked = self.asked();
        let known = known_properties().filter(|name| name.starts_with("oozie."));
        let missing = asked.iter().map(|name| (name.as_str(), "is read"));
        for (name, detail) in missing.chain(known.map(|name| (name, ""))) {
            if !given.contains(name) {
                let insert = format!("{name}=$0");
                self.insert(CompletionKind::Key, name, detail, "", insert, true);
            }
        }
    }

    /// Completes a key of `ankus.toml`, using the schema of the settings.
    fn settings(&mut self, at: usize) {
        let text = self.document.text();
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = &text[line..at];
        if before.contains(['#', '"', '\'']) {
            return;
        }
        let schema = crate::settings::schema::schema(&crate::check::kinds());
        let table = match before.trim_start().starts_with('[') {
            true => before.trim_start().trim_start_matches('['),
            false => {
                let tables = text[..line].lines().rev().map(str::trim);
                let mut tables = tables.filter(|line| line.starts_with('['));
                tables.next().unwrap_or_default().trim_matches(['[', ']'])
            }
        };
        let is_header = before.trim_start().starts_with('[');
        let mut path: Vec<&str> = table.split('.').map(str::trim).collect();
        if is_header {
            path.pop();
        }
        let mut node = &schema;
        for part in path.into_iter().filter(|part| !part.is_empty()) {
            let inner = &node["properties"][part];
            node = if inner["items"].is_object() { &inner["items"] } else { inner };
            if let Some(name) = node["$ref"].as_str() {
                node = schema.pointer(name.trim_start_matches('#')).unwrap_or(node);
            }
        }
        let (node, values) = match before.split_once('=') {
            Some((key, _)) => (&node["properties"][key.trim()], true),
            None => (node, false),
        };
        if values {
            for value in node["enum"].as_array().into_iter().flatten() {
                let Some(value) = value.as_str() else { continue };
                let insert = format!("\"{value}\"");
                self.insert(CompletionKind::Value, value, "", "", insert, false);
            }
            return;
        }
        for (key, inner) in node["properties"].as_object().into_iter().flatten() {
            let is_table = inner["type"] == "object" || inner["items"]["type"] == "object";
            let about = inner["description"].as_str().unwrap_or_default();
            if is_header == is_table {
                let insert = if is_header { key.clone() } else { format!("{key} = ") };
                self.insert(CompletionKind::Key, key, "", about, insert, false);
            }
        }
    }
}

/// Common cron expressions, with their meanings.
const CRON: [(&str, &str); 4] = [
    ("0 * * * *", "Every hour, on the hour."),
    ("30 2 * * *", "Every day at 02:30."),
    ("0 6 * * 2-6", "From Monday to Friday at 06:00; days of the week count from Sunday, 1."),
    ("0 0 1 * *", "On the first of every month at midnight."),
];

/// The names that a text defines, with their spans.
fn defined(document: &Document, symbol: Symbol) -> impl Iterator<Item = (Span, &Occurrence)> {
    let names = document.names_at_once();
    names.filter(move |(_, name)| name.symbol == symbol && name.role == Role::Definition)
}

/// The node that a name defines.
fn node<'d>(document: &'d Document, name: &Occurrence) -> Option<&'d Node> {
    (name.symbol == Symbol::Node).then(|| document.node_at_once(&name.name))?
}

/// The types of the open elements, from the root.
fn types<'s>(language: &'s Language, cursor: &Cursor<'_>) -> Vec<Option<Typed<'s>>> {
    let mut types: Vec<Option<Typed<'s>>> = Vec::new();
    for (at, open) in cursor.open.iter().enumerate() {
        let typed = match at {
            0 => typed::of_root(language, open.namespace, local(open.name)),
            _ => types[at - 1]
                .and_then(|parent| parent.step(language, open.namespace, local(open.name))),
        };
        types.push(typed);
    }
    types
}

#[cfg(test)]
mod tests;
