//! Validates a tolerant tree against the tables: reports every fault with its place.
//!
//! In: a tree, valid or not, the language, and the target server. Out: findings. Where a server stops at the first
//! element it does not expect, this continues: children are considered in their proper order, unknown ones are named,
//! missing ones are reported once, and every element that can be given a type is validated. An error in one action
//! therefore does not affect the next. A document has no finding here if and only if the server's schemas accept it
//! (`tests/it/verdicts.rs` compares them on every file).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::kinds::*;
use super::model::{Model, Namespaces, Occurs, Particle, State, Symbol};
use super::{Check, Child, Content, Language, Meaning, Schema, Type, TypeId, TypeRef, families};
use crate::budget;
use crate::diag::{Diagnostic, Edit, Fix, Safety, within};
use crate::source::Span;
use crate::syntax::xml::{AttributeRef, Element, NOT_WELL_FORMED, NodeKind, Tree};

/// Which families a document is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// A workflow.
    Workflow,
    /// A coordinator, or a file of datasets.
    Coordinator,
    /// A bundle.
    Bundle,
}

impl Document {
    fn family(self) -> &'static str {
        match self {
            Document::Workflow => "workflow",
            Document::Coordinator => "coordinator",
            Document::Bundle => "bundle",
        }
    }

    fn root(self) -> &'static str {
        match self {
            Document::Workflow => "workflow-app",
            Document::Coordinator => "coordinator-app",
            Document::Bundle => "bundle-app",
        }
    }

    /// Whether the server loads a family with documents of this sort.
    fn has(self, family: &str) -> bool {
        match family {
            "workflow" | "coordinator" | "bundle" => family == self.family(),
            "sla" => self != Document::Bundle,
            _ => self == Document::Workflow,
        }
    }
}

/// All that the tables have against a document.
pub fn check(
    tree: &Tree,
    document: Document,
    language: &Language,
    target: &str,
) -> Vec<Diagnostic> {
    let mut checker = Checker {
        tree,
        document,
        language,
        target,
        aliases: HashMap::new(),
        known: HashMap::new(),
        todo: Vec::new(),
        findings: Vec::new(),
        shared: Rc::new(Shared::new(tree.len())),
    };
    checker.run();
    for finding in &mut checker.findings {
        // What is wrong in the same words is told once, with its places.
        finding.subject.get_or_insert_with(|| finding.message.clone());
    }
    checker.findings.sort_by_key(|finding| (finding.span, finding.kind.name));
    checker.findings
}

/// The type of an element, as far as it is known.
#[derive(Clone, Copy)]
enum Kind<'t> {
    Complex(&'t Schema, TypeId),
    Text(&'t Schema, Check),
    /// Nothing is known; what is within may be.
    Any,
}

struct Checker<'t> {
    tree: &'t Tree,
    document: Document,
    language: &'t Language,
    target: &'t str,
    /// Namespaces that mean nothing, and what is taken in their place, so that the rest can be looked at.
    aliases: HashMap<&'t str, Option<&'t Schema>>,
    known: HashMap<&'t str, Option<&'t Schema>>,
    todo: Vec<(Element<'t>, Kind<'t>)>,
    findings: Vec<Diagnostic>,
    shared: Rc<Shared<'t>>,
}

/// How often a document is gone through for fixes that concern all of it; past that such fixes are no longer offered.
const PATIENCE: usize = 64;

/// What is found out once for a document.
struct Shared<'t> {
    /// Other versions of schemas, by the namespace they would stand for.
    raised: RefCell<HashMap<&'t str, Option<Fix>>>,
    /// Namespaces that are newer than the server and have been told.
    newer: RefCell<HashSet<Span>>,
    patience: Cell<usize>,
}

impl Shared<'_> {
    fn new(nodes: usize) -> Self {
        let patience = Cell::new(PATIENCE * nodes);
        Shared { raised: RefCell::default(), newer: RefCell::default(), patience }
    }

    /// Takes some of the patience; none is left where it answers with none.
    fn spend(&self, work: usize) -> Option<()> {
        self.patience.set(self.patience.get().checked_sub(work)?);
        Some(())
    }
}

impl<'t> Checker<'t> {
    fn report(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    /// The schema of a namespace, or what is taken in its place.
    fn schema(&mut self, namespace: &'t str) -> Option<&'t Schema> {
        let known = self.aliases.get(namespace).or_else(|| self.known.get(namespace));
        if let Some(schema) = known {
            return *schema;
        }
        let schema = self.language.schema(namespace).filter(|s| self.document.has(&s.family));
        self.known.insert(namespace, schema);
        schema
    }

    /// What is well-formed for people, and not for a server.
    fn oddities(&mut self) {
        let text = self.tree.text();
        if text.starts_with('\u{feff}') {
            let mark = Span::new(0, 3);
            self.report(
                Diagnostic::new(&NOT_WELL_FORMED, mark, "the text begins with a byte-order mark")
                    .help("a server takes it for text before the first element")
                    .fix(Fix::safe("Remove it", mark, "")),
            );
        }
        let reserved =
            |rest: &str| rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("xml"));
        // Nearly no text has a suspect, so the nodes are rarely looked at.
        if !text.match_indices("<?").any(|(at, _)| at > 0 && reserved(&text[at + 2..])) {
            return;
        }
        for node in self.tree.nodes().filter(|node| node.kind() == NodeKind::Instruction) {
            let raw = node.raw().trim_start_matches("<?");
            let target =
                raw.split(|c: char| c.is_whitespace() || c == '?').next().unwrap_or_default();
            if target.eq_ignore_ascii_case("xml") {
                let message =
                    format!("`<?{target}` may stand only at the very beginning, in lower case");
                self.report(Diagnostic::new(&NOT_WELL_FORMED, node.span(), message));
            }
        }
    }

    fn run(&mut self) {
        self.oddities();
        let Some(root) = self.tree.root() else {
            let text = self.tree.text();
            let end = text.chars().next().map_or(0, char::len_utf8);
            let span = Span::new(0, end);
            let message = if text.is_empty() {
                "the definition is empty"
            } else {
                "there is no element here"
            };
            self.report(
                Diagnostic::new(&EMPTY_DEFINITION, span, message)
                    .help(format!("a definition begins with `<{} …>`", self.document.root())),
            );
            return;
        };
        let kind = self.root(root);
        self.todo.push((root, kind));
        while let Some((element, kind)) = self.todo.pop() {
            if budget::spent_often() {
                return;
            }
            self.element(element, kind);
        }
    }

    /// The type of the outermost element, after findings against its namespace and its name.
    fn root(&mut self, root: Element<'t>) -> Kind<'t> {
        let namespace = root.namespace();
        let mut schema = self.schema(namespace);
        if let Some(schema) = schema {
            self.newer_than_target(root, schema);
        } else if namespace.is_empty() {
            let best = self.best_version(root, self.document.family(), None);
            let mut finding = Diagnostic::new(
                &MISSING_NAMESPACE,
                root.name_span(),
                format!("`{}` has no namespace, so no server knows its version", root.name()),
            );
            if let Some((best, fits)) = best {
                let at = root.name_span().end as usize;
                let text = format!(" xmlns=\"{}\"", best.namespace);
                let title = format!("Add `xmlns=\"{}\"`", best.namespace);
                finding = finding.help(format!(
                    "the lowest version that has all that is used: `{}`",
                    best.namespace
                ));
                finding = finding.fix(match fits {
                    true => Fix::safe(title, Span::at(at), text),
                    false => Fix::guess(title, Span::at(at), text),
                });
                self.aliases.entry(namespace).or_insert(Some(best));
                schema = Some(best);
            }
            self.report(finding);
        } else {
            schema = self.unknown_namespace(root, Some(self.document.family()));
        }
        let Some(schema) = schema else { return Kind::Any };
        match schema.root(root.name()) {
            Some(id) if root.name() == self.document.root() => Kind::Complex(schema, id),
            Some(id) => {
                self.report(Diagnostic::new(
                    &UNKNOWN_ROOT,
                    root.name_span(),
                    format!(
                        "a definition begins with `{}`, not with `{}`",
                        self.document.root(),
                        root.name()
                    ),
                ));
                Kind::Complex(schema, id)
            }
            None => {
                let names = schema.roots.iter().map(|(name, _)| &**name);
                let near = nearest(root.name(), names);
                let mut finding = Diagnostic::new(
                    &UNKNOWN_ROOT,
                    root.name_span(),
                    format!("`{}` begins no definition in `{}`", root.name(), schema.namespace),
                )
                .help(format!("a definition begins with `{}`", self.document.root()));
                if near == Some(self.document.root()) {
                    finding = finding.fix(rename(root, self.document.root(), Safety::Guess));
                }
                self.report(finding);
                match schema.root(self.document.root()) {
                    Some(id) if near == Some(self.document.root()) => Kind::Complex(schema, id),
                    _ => Kind::Any,
                }
            }
        }
    }

    /// Whether the server has a schema for documents of this sort.
    fn has(&self, schema: &Schema) -> bool {
        schema.known_to(self.target, self.document.family())
    }

    /// A child that later servers have in the same schema.
    fn later_child(&mut self, child: Element<'t>, schema: &'t Schema, known: &Child) {
        if known.known_to(self.target) {
            return;
        }
        let (target, name, namespace) = (self.target, child.name(), &schema.namespace);
        let message = format!("server {target} has no `{name}` in `{namespace}`");
        let mut finding = Diagnostic::new(&SCHEMA_NEWER_THAN_SERVER, child.name_span(), message);
        if let Some(first) = known.servers.first() {
            finding = finding.help(format!("it came with server {first}"));
        }
        self.report(finding);
    }

    fn newer_than_target(&mut self, element: Element<'t>, schema: &'t Schema) {
        if self.has(schema) {
            return;
        }
        let span = namespace_span(element);
        let message = format!("server {} does not know `{}`", self.target, schema.namespace);
        if !self.shared.newer.borrow_mut().insert(span) {
            return;
        }
        let mut finding = Diagnostic::new(&SCHEMA_NEWER_THAN_SERVER, span, message);
        let family = families().iter().find(|family| *family.name == *schema.family);
        let older =
            family.and_then(|family| family.schemas().rev().find(|schema| self.has(schema)));
        if let Some(older) = older {
            finding = finding.help(format!("its newest is `{}`", older.namespace));
            if self.faults(element, schema, older) == 0 && is_value(element, span) {
                let title = format!("Lower it to `{}`", older.version);
                finding = finding.fix(Fix::guess(title, span, &*older.namespace));
            }
        }
        self.report(finding);
    }

    /// A namespace that no schema has. What is meant is taken in its place.
    fn unknown_namespace(
        &mut self,
        element: Element<'t>,
        expected: Option<&str>,
    ) -> Option<&'t Schema> {
        let namespace = element.namespace();
        let near = self.meant(element, expected);
        let known = self.aliases.contains_key(namespace);
        if !known {
            let span = namespace_span(element);
            let mut finding = Diagnostic::new(
                &UNKNOWN_SCHEMA_VERSION,
                span,
                format!("no server knows the namespace `{namespace}`"),
            );
            if let Some((schema, fits)) = near {
                finding = finding.help(format!("did you mean `{}`?", schema.namespace));
                // Which versions of SLA a workflow takes is another question.
                let fits = fits && &*schema.family != "sla";
                if is_value(element, span) {
                    let title = format!("Use `{}`", schema.namespace);
                    finding = finding.fix(match fits {
                        true => Fix::safe(title, span, &*schema.namespace),
                        false => Fix::guess(title, span, &*schema.namespace),
                    });
                }
            }
            self.report(finding);
            self.aliases.entry(namespace).or_insert(near.map(|(schema, _)| schema));
        }
        near.map(|(schema, _)| schema)
    }

    /// The schema that was probably meant by a namespace that is none, and whether the element is valid in it.
    fn meant(&self, element: Element<'t>, expected: Option<&str>) -> Option<(&'t Schema, bool)> {
        let namespace = element.namespace().trim();
        let exact = self.language.schema(namespace).filter(|s| self.document.has(&s.family));
        if let Some(schema) = exact {
            return Some((schema, true));
        }
        let by_root =
            families().iter().filter(|family| self.document.has(&family.name)).find(|family| {
                family.newest().root(element.name()).is_some()
                    && (expected == Some(&*family.name)
                        || (&*family.name != "workflow" && namespace.contains(&*family.name)))
            });
        if let Some(family) = by_root {
            let version = namespace.rsplit(':').next().unwrap_or_default();
            let at = family.versions().position(|known| known == version);
            return match at {
                Some(_) => family.schema(version).map(|schema| (schema, true)),
                None => self.best_version(element, &family.name, Some(namespace)),
            };
        }
        let all: Vec<String> = families()
            .iter()
            .filter(|family| self.document.has(&family.name))
            .flat_map(|family| family.versions().map(|version| format!("{}{version}", family.uri)))
            .collect();
        let near = nearest(namespace, all.iter().map(String::as_str))?;
        let schema = self.language.schema(near)?;
        schema.root(element.name()).map(|_| (schema, false))
    }

    /// The lowest version of a family in which an element of no known namespace has no fault, or else the one in which
    /// it has the fewest.
    fn best_version(
        &self,
        element: Element<'t>,
        family: &str,
        _namespace: Option<&str>,
    ) -> Option<(&'t Schema, bool)> {
        let family = families().iter().find(|known| *known.name == *family)?;
        let known = family.schemas().filter(|schema| self.has(schema));
        let best =
            known.min_by_key(|schema| self.faults_as(element, element.namespace(), schema))?;
        Some((best, self.faults_as(element, element.namespace(), best) == 0))
    }

    /// How many elements would be wrong if everything of one schema were of another.
    fn faults(&self, element: Element<'t>, from: &Schema, to: &'t Schema) -> usize {
        self.faults_as(element, &from.namespace, to)
    }

    /// How many elements of `namespace` would be wrong if it stood for `schema`.
    fn faults_as(&self, top: Element<'t>, namespace: &str, schema: &Schema) -> usize {
        let mut faults = 0;
        let mut todo = vec![(top, schema.root(top.name()).map(TypeRef::Type))];
        while let Some((element, kind)) = todo.pop() {
            let Some(kind) = kind else {
                faults += 1;
                continue;
            };
            let TypeRef::Type(id) = kind else { continue };
            let ty = schema.ty(id);
            faults += element
                .attributes()
                .filter(|attribute| attribute.declares().is_none() && attribute.prefix().is_none())
                .filter(|attribute| ty.attribute(attribute.name()).is_none())
                .count();
            let Content::Children(model) = &ty.content else { continue };
            let mut state = State::default();
            for child in element.elements() {
                let uri = child.namespace();
                let uri = if uri == namespace { &*schema.namespace } else { uri };
                match model.step(state, &schema.namespace, uri, child.name()) {
                    Some((Symbol::Child(at), next)) => {
                        state = next;
                        faults += usize::from(!model.children[at as usize].known_to(self.target));
                        todo.push((child, Some(model.children[at as usize].kind)));
                    }
                    Some((Symbol::Wildcard(_), next)) => state = next,
                    None => {
                        faults += 1;
                        if let Some(known) = model.child(child.name()) {
                            todo.push((child, Some(known.kind)));
                        }
                    }
                }
            }
        }
        faults
    }

    fn element(&mut self, element: Element<'t>, kind: Kind<'t>) {
        match kind {
            Kind::Any => self.any(element),
            Kind::Text(schema, check) => {
                for attribute in element.attributes() {
                    if attribute.declares().is_none() && !is_instance(element, attribute, kind) {
                        self.report(Diagnostic::new(
                            &UNKNOWN_ATTRIBUTE,
                            attribute.name_span(),
                            format!("`{}` has no attributes", element.name()),
                        ));
                    }
                }
                self.no_elements(element, "text");
                self.value(schema, check, element);
            }
            Kind::Complex(schema, id) => {
                let ty = schema.ty(id);
                if matches!(ty.content, Content::Anything) {
                    self.any(element);
                    return;
                }
                self.attributes(element, schema, id);
                match &ty.content {
                    Content::Anything => {}
                    Content::Empty => self.nothing(element),
                    Content::Text(text) => {
                        self.no_elements(element, "text");
                        self.value(schema, text.check, element);
                    }
                    Content::Children(model) => {
                        self.words(element);
                        self.children(element, schema, id, model);
                    }
                }
            }
        }
    }

    /// Looks into an element that nothing is known of: what can stand alone is checked as if it did.
    fn any(&mut self, element: Element<'t>) {
        for child in element.elements() {
            let schema = self.schema(child.namespace());
            let kind =
                schema.and_then(|schema| Some(Kind::Complex(schema, schema.root(child.name())?)));
            self.todo.push((child, kind.unwrap_or(Kind::Any)));
        }
    }

    fn no_elements(&mut self, element: Element<'t>, holds: &str) {
        for child in element.elements() {
            self.report(Diagnostic::new(
                &UNKNOWN_ELEMENT,
                child.name_span(),
                format!(
                    "`{}` holds {holds}, so no `{}` may stand in it",
                    element.name(),
                    child.name()
                ),
            ));
            let schema = self.schema(child.namespace());
            let kind =
                schema.and_then(|schema| Some(Kind::Complex(schema, schema.root(child.name())?)));
            self.todo.push((child, kind.unwrap_or(Kind::Any)));
        }
    }

    /// An element that may hold nothing, not even a blank.
    fn nothing(&mut self, element: Element<'t>) {
        if element.is_empty_tag() {
            return;
        }
        self.no_elements(element, "nothing");
        let text = |kind| matches!(kind, NodeKind::Text | NodeKind::CData);
        let Some(found) =
            element.children().find(|child| text(child.kind()) && !child.raw().is_empty())
        else {
            return;
        };
        let blank = found.is_blank();
        let message = match blank {
            true => {
                format!("`{}` must be empty; a server refuses even blanks in it", element.name())
            }
            false => format!("`{}` holds nothing, so no text may stand in it", element.name()),
        };
        let span = if blank { found.span() } else { trimmed(found.raw(), found.raw_span()) };
        let mut finding = Diagnostic::new(&UNEXPECTED_TEXT, span, message);
        let content = element.content();
        if blank && is_blank(&self.tree.text()[content.range()]) {
            finding = finding.fix(Fix::safe("Remove the blanks", content, ""));
        }
        self.report(finding);
    }

    /// Words between elements.
    fn words(&mut self, element: Element<'t>) {
        for child in element.children() {
            let text = matches!(child.kind(), NodeKind::Text | NodeKind::CData);
            if !text || child.is_blank() || is_blank(&child.decoded().text) {
                continue;
            }
            let span = trimmed(child.raw(), child.raw_span());
            self.report(Diagnostic::new(
                &UNEXPECTED_TEXT,
                span,
                format!("`{}` holds elements only, so no text may stand here", element.name()),
            ));
        }
    }

    fn value(&mut self, schema: &'t Schema, check: Check, element: Element<'t>) {
        if check == Check::String {
            return;
        }
        let text = element.text();
        if let Some(problem) = problem(schema, check, &text.text) {
            let content = element.content();
            let span = match content.start == content.end {
                true => element.name_span(),
                false => trimmed(&self.tree.text()[content.range()], content),
            };
            self.report(Diagnostic::new(
                &INVALID_VALUE,
                span,
                format!("`{}` {problem}", element.name()),
            ));
        }
    }

    fn attributes(&mut self, element: Element<'t>, schema: &'t Schema, id: TypeId) {
        let ty = schema.ty(id);
        let first = self.findings.len();
        for attribute in element.attributes() {
            if attribute.declares().is_some() {
                continue;
            }
            let (prefix, name) = (attribute.prefix(), attribute.name());
            if is_instance(element, attribute, Kind::Complex(schema, id)) {
                continue;
            }
            let known = if prefix.is_none() { ty.attribute(name) } else { None };
            let Some(known) = known else {
                self.unknown_attribute(
                    element,
                    schema,
                    ty,
                    attribute.qualified_name(),
                    attribute.name_span(),
                );
                continue;
            };
            if known.text.check == Check::String {
                continue;
            }
            let value = attribute.value();
            let Some(problem) = problem(schema, known.text.check, &value.text) else { continue };
            let span = attribute.value_span();
            let span = if span.start == span.end { attribute.name_span() } else { span };
            let finding = if known.text.meaning == Meaning::Identifier {
                self.bad_name(span, &value.text)
            } else {
                Diagnostic::new(&INVALID_VALUE, span, format!("`{name}` {problem}"))
            };
            self.report(finding);
        }
        self.gather(first, &UNKNOWN_ATTRIBUTE, "has no attribute ", "has no attributes ");
        let second = self.findings.len();
        // What was misspelt is not missing as well.
        let meant: Vec<String> = self.findings[first..]
            .iter()
            .filter_map(|finding| Some(finding.fixes.first()?.edits.first()?.text.clone()))
            .collect();
        for known in ty.attributes.iter().filter(|known| known.required) {
            if element.attribute(&known.name).is_none() && !meant.contains(&known.name.to_string())
            {
                let at = element.name_span().end as usize;
                let (name, about) = (&known.name, &known.about);
                self.report(
                    Diagnostic::new(
                        &MISSING_ATTRIBUTE,
                        element.name_span(),
                        format!("`{}` needs the attribute `{name}`", element.name()),
                    )
                    .help(format!("`{name}`: {about}"))
                    .fix(Fix::guess(
                        format!("Add `{name}`"),
                        Span::at(at),
                        format!(" {name}=\"\""),
                    )),
                );
            }
        }
        self.gather(second, &MISSING_ATTRIBUTE, "needs the attribute ", "needs the attributes ");
    }

    /// Makes one finding of those from `first` on that say of one element that it lacks, or has too much of, one thing
    /// each: they have one cause. What was only misspelt has its own.
    fn gather(&mut self, first: usize, kind: &'static crate::diag::Kind, one: &str, many: &str) {
        let is_plain = |finding: &Diagnostic| {
            std::ptr::eq(finding.kind, kind)
                && finding.fixes.iter().all(|fix| fix.title.starts_with("Add "))
                && finding.message.matches('`').count() == 4
        };
        let mut plain = (first..self.findings.len()).filter(|at| is_plain(&self.findings[*at]));
        let (Some(head), Some(_)) = (plain.next(), plain.next()) else { return };
        let (before, mut others) = {
            let rest = self.findings.split_off(head + 1);
            let (others, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_plain);
            self.findings.extend(rest);
            (self.findings[head].message.clone(), others)
        };
        let Some((start, _)) = before.split_once(one) else {
            self.findings.append(&mut others);
            return;
        };
        let name = |message: &str| {
            message.rsplit('`').nth(1).map(|name| format!("`{name}`")).unwrap_or_default()
        };
        let names: Vec<String> = std::iter::once(before.as_str())
            .chain(others.iter().map(|other| other.message.as_str()))
            .map(name)
            .collect();
        let (last, front) = names.split_last().expect("there are two");
        let message = format!("{start}{many}{} and {last}", front.join(", "));
        let finding = &mut self.findings[head];
        finding.message = message;
        finding.places += others.len();
        for other in others {
            if other.span != finding.span {
                finding.notes.push(crate::diag::Note {
                    file: None,
                    span: other.span,
                    message: "and here".to_owned(),
                });
            }
            let one = finding.fixes.first_mut().and_then(|fix| fix.edits.first_mut());
            let more = other.fixes.first().and_then(|fix| fix.edits.first());
            if let (Some(one), Some(more)) = (one, more)
                && one.span == more.span
            {
                one.text.push_str(&more.text);
            } else {
                finding.fixes.clear();
            }
        }
        if let Some(fix) = finding.fixes.first_mut() {
            fix.title = format!("Add {} and {last}", front.join(", "));
        }
    }

    fn unknown_attribute(
        &mut self,
        element: Element<'t>,
        schema: &'t Schema,
        ty: &'t Type,
        name: &str,
        span: Span,
    ) {
        let elsewhere = other_versions(schema, ty).find_map(|(_, other)| other.attribute(name));
        if let Some(other) = elsewhere {
            let what = format!("the attribute `{name}`");
            let finding =
                self.other_version(span, &what, &other.since, other.until.as_deref(), schema);
            self.report(finding);
            return;
        }
        let names = ty.attributes.iter().map(|known| &*known.name);
        // One that is taken is not meant; to find out takes a look at all of them.
        let count = element.attributes().count();
        let free = names.filter(|known| {
            self.shared.spend(count).is_some() && element.attribute(known).is_none()
        });
        let mut finding = Diagnostic::new(
            &UNKNOWN_ATTRIBUTE,
            span,
            format!("`{}` has no attribute `{name}`", element.name()),
        );
        if let Some(near) = nearest(name, free) {
            finding = finding.help(format!("did you mean `{near}`?")).fix(Fix::guess(
                format!("Rename to `{near}`"),
                span,
                near,
            ));
        } else if ty.attributes.is_empty() {
            finding = finding.help("it has none at all");
        } else {
            let all: Vec<String> =
                ty.attributes.iter().map(|known| format!("`{}`", known.name)).collect();
            finding = finding.help(format!("it has {}", all.join(", ")));
        }
        self.report(finding);
    }

    /// Something that other versions of the schema have.
    fn other_version(
        &self,
        span: Span,
        what: &str,
        since: &str,
        until: Option<&str>,
        schema: &'t Schema,
    ) -> Diagnostic {
        let when = match until {
            Some(until) if until == since => format!("only version {since} has it"),
            Some(until) => format!("versions {since} to {until} have it"),
            None => format!("it came with version {since}"),
        };
        let kind = match what.contains("`input-logic`") {
            true => &INPUT_LOGIC_NEEDS_SCHEMA,
            false => &ELEMENT_NEEDS_NEWER_SCHEMA,
        };
        let mut finding = Diagnostic::new(
            kind,
            span,
            format!(
                "{} {} has no {}",
                schema.family,
                schema.version,
                what.trim_start_matches("the ")
            ),
        )
        .help(when)
        .about(&*schema.namespace);
        if let Some(fix) = self.raise(schema) {
            finding = finding.fix(fix);
        }
        finding
    }

    /// The other version of a schema in which everything here is right, if there is one.
    fn raise(&self, schema: &'t Schema) -> Option<Fix> {
        let known = self.shared.raised.borrow().get(&*schema.namespace).cloned();
        let fix = known.unwrap_or_else(|| {
            let fix = self.find_better(schema);
            self.shared.raised.borrow_mut().insert(&schema.namespace, fix.clone());
            fix
        })?;
        self.shared.spend(fix.edits.len())?;
        Some(fix)
    }

    fn find_better(&self, schema: &'t Schema) -> Option<Fix> {
        let top = self
            .tree
            .root()?
            .descendants()
            .find(|element| element.namespace() == &*schema.namespace)?;
        let family = families().iter().find(|family| *family.name == *schema.family)?;
        let holds = |to: &&Schema| self.has(to) && self.all_faults(schema, to) == 0;
        let at = family.versions().position(|version| *version == *schema.version)?;
        let later = family.schemas().skip(at + 1).find(holds);
        let better = later.or_else(|| family.schemas().take(at).rev().find(holds))?;
        let mut edits = Vec::new();
        for element in top.tree().root()?.descendants() {
            for attribute in element.attributes() {
                if attribute.declares().is_some() && *attribute.value().text == *schema.namespace {
                    let span = attribute.value_span();
                    edits.push(Edit { file: None, span, text: better.namespace.to_string() });
                }
            }
        }
        let title = format!("Change {} {} to {}", schema.family, schema.version, better.version);
        Some(Fix { title, safety: Safety::Safe, edits })
    }

    /// The faults of all elements of a namespace whose parents are of another.
    fn all_faults(&self, from: &Schema, to: &Schema) -> usize {
        let Some(root) = self.tree.root() else { return 0 };
        let tops = root.descendants().filter(|element| {
            element.namespace() == &*from.namespace
                && element.parent().is_none_or(|parent| parent.namespace() != &*from.namespace)
        });
        tops.map(|top| self.faults_as(top, &from.namespace, to)).sum()
    }

    fn bad_name(&self, span: Span, name: &str) -> Diagnostic {
        let mut finding = Diagnostic::new(
            &INVALID_NODE_NAME,
            span,
            match name.is_empty() {
                true => "a name of a node must not be empty".to_owned(),
                false => format!("`{name}` is not a valid node name"),
            },
        )
        .help("a letter or `_` first, then letters, digits, `_` and `-`");
        if let Some(fix) = self.rename_node(name) {
            finding = finding.fix(fix);
        }
        finding
    }

    /// Renames a node everywhere: where it is defined, where transitions name it, and where functions ask for it.
    fn rename_node(&self, name: &str) -> Option<Fix> {
        let to = plain_name(name)?;
        let root = self.tree.root()?;
        self.shared.spend(self.tree.len())?;
        let mut edits = Vec::new();
        for element in root.descendants() {
            for attribute in element.attributes() {
                if matches!(attribute.name(), "name" | "to" | "start") && attribute.is_quoted() {
                    let value = attribute.value().text;
                    if value == to.as_str() {
                        return None;
                    }
                    if value == name && element.parent().is_some() {
                        let span = attribute.value_span();
                        edits.push(Edit { file: None, span, text: to.clone() });
                    }
                }
            }
            for child in element.children().filter(|child| child.element().is_none()) {
                let raw = child.raw();
                for quoted in [format!("'{name}'"), format!("\"{name}\"")] {
                    for (at, _) in raw.match_indices(&quoted) {
                        let start = child.raw_span().start as usize + at + 1;
                        let span = Span::new(start, start + name.len());
                        edits.push(Edit { file: None, span, text: to.clone() });
                    }
                }
            }
        }
        edits.sort_by_key(|edit| edit.span);
        edits.dedup();
        let title = format!("Rename to `{to}` everywhere");
        (!edits.is_empty()).then_some(Fix { title, safety: Safety::Safe, edits })
    }

    /// The children of an element: all is well, or everything that is not.
    fn children(&mut self, element: Element<'t>, schema: &'t Schema, id: TypeId, model: &'t Model) {
        let from = self.todo.len();
        let mut later = Vec::new();
        let mut state = State::default();
        let mut well = true;
        for child in element.elements() {
            let namespace = child.namespace();
            let own = match self.aliases.is_empty() {
                true => namespace,
                false => self.schema(namespace).map_or(namespace, |schema| &schema.namespace),
            };
            let Some((symbol, next)) = model.step(state, &schema.namespace, own, child.name())
            else {
                well = false;
                break;
            };
            state = next;
            let kind = match symbol {
                Symbol::Child(at) => {
                    let known = &model.children[at as usize];
                    later.extend((!known.known_to(self.target)).then_some((child, known)));
                    kind_of(schema, known.kind)
                }
                Symbol::Wildcard(_) => self.foreign(child, schema, schema.ty(id)),
            };
            self.todo.push((child, kind));
        }
        if well && model.may_end(state) {
            // The list is a stack, and findings are easier to follow in order.
            self.todo[from..].reverse();
            for (child, known) in later {
                self.later_child(child, schema, known);
            }
            return;
        }
        self.todo.truncate(from);
        self.disorder(element, schema, id, model);
    }

    /// An element that a wildcard takes: it must be declared somewhere.
    fn foreign(&mut self, child: Element<'t>, schema: &'t Schema, parent: &Type) -> Kind<'t> {
        let Some(own) = self.schema(child.namespace()) else {
            let action = parent.name.as_deref() == Some("ACTION") && &*schema.family == "workflow";
            if self.aliases.contains_key(child.namespace()) {
                return Kind::Any;
            }
            if self.meant(child, None).is_some() || !action {
                return match self.unknown_namespace(child, None) {
                    Some(schema) => match schema.root(child.name()) {
                        Some(id) => Kind::Complex(schema, id),
                        None => Kind::Any,
                    },
                    None => Kind::Any,
                };
            }
            let finding = Diagnostic::new(
                &UNSUPPORTED_ACTION_TYPE,
                child.name_span(),
                format!(
                    "no schema of server {} declares `{}` in `{}`",
                    self.target,
                    child.name(),
                    child.namespace()
                ),
            )
            .help("an action type of a site is declared in `ankus.toml`, under `[actions]`");
            self.report(match child.namespace().starts_with("uri:oozie:") {
                true => finding,
                false => finding.depends_on("the action types that the site's server has"),
            });
            return Kind::Any;
        };
        self.newer_than_target(child, own);
        match own.root(child.name()) {
            Some(id) => Kind::Complex(own, id),
            None => {
                // An action in the namespace of another one.
                let has_root = |family: &&super::Family| {
                    family.schemas().any(|s| s.root(child.name()).is_some())
                };
                if let Some(family) = families().iter().find(has_root) {
                    let mut finding = self.action_namespace(child, family);
                    finding.message =
                        format!("`{}` is no action of `{}`", child.name(), own.namespace);
                    self.report(finding);
                    // What is in it has the namespace from it.
                    return Kind::Any;
                }
                let near = nearest(child.name(), own.roots.iter().map(|(name, _)| &**name));
                let mut finding = Diagnostic::new(
                    &UNKNOWN_ELEMENT,
                    child.name_span(),
                    format!("`{}` has no element `{}`", own.namespace, child.name()),
                );
                if let Some(near) = near {
                    finding = finding.help(format!("did you mean `{near}`?")).fix(rename(
                        child,
                        near,
                        Safety::Guess,
                    ));
                }
                self.report(finding);
                match near.and_then(|near| own.root(near)) {
                    Some(id) => Kind::Complex(own, id),
                    None => Kind::Any,
                }
            }
        }
    }

    /// Children that the automaton does not take: what each of them is, where it belongs, what is missing.
    fn disorder(&mut self, element: Element<'t>, schema: &'t Schema, id: TypeId, model: &'t Model) {
        let before = self.findings.len();
        let parts = flatten(&model.particle);
        let mut placed: Vec<Placed<'t>> = Vec::new();
        let present: HashSet<&str> = element.elements().map(Element::name).collect();
        for child in element.elements() {
            let (symbol, kind) = self.recognize(element, child, schema, id, (model, &present));
            self.todo.push((child, kind));
            if let Some(Symbol::Child(at)) = symbol
                && let Some(known) = model.children.get(at as usize)
                && *known.name == *child.name()
            {
                self.later_child(child, schema, known);
            }
            if let Some(symbol) = symbol
                && let Some(rank) = parts.iter().position(|part| holds(part, symbol))
            {
                placed.push(Placed { element: child, symbol, rank });
            }
        }
        if self.without_body(element, schema, id, &placed) {
            // What stands in the action in place of its body explains all that is missing.
            self.findings.truncate(before);
            self.bodiless(element);
            return;
        }
        self.order(element, &placed);
        placed.sort_by_key(|placed| placed.rank);
        for (rank, part) in parts.iter().enumerate() {
            let from = placed.partition_point(|placed| placed.rank < rank);
            let to = placed.partition_point(|placed| placed.rank <= rank);
            let place = Place { element, schema, id, model, placed: &placed, rank };
            self.count(&place, part, &placed[from..to]);
        }
        self.pair(element, before);
        self.gather(before, &MISSING_ELEMENT, "needs ", "needs ");
        if self.findings.len() == before {
            // Nothing above has a name for it, and yet the server refuses it.
            let mut state = State::default();
            for child in element.elements() {
                match model.step(state, &schema.namespace, child.namespace(), child.name()) {
                    Some((_, next)) => state = next,
                    None => {
                        let message = format!("`{}` may not stand here", child.name());
                        self.report(Diagnostic::new(&UNKNOWN_ELEMENT, child.name_span(), message));
                        return;
                    }
                }
            }
            let message = format!("`{}` is not complete", element.name());
            self.report(Diagnostic::new(&MISSING_ELEMENT, element.name_span(), message));
        }
    }

    /// Whether the parts of an action's body stand in the action itself, and nothing that could be the body.
    fn without_body(
        &self,
        element: Element<'t>,
        schema: &'t Schema,
        id: TypeId,
        placed: &[Placed<'t>],
    ) -> bool {
        let action =
            schema.ty(id).name.as_deref() == Some("ACTION") && &*schema.family == "workflow";
        let known = |placed: &Placed<'t>| match placed.symbol {
            Symbol::Child(_) => !matches!(placed.element.name(), "ok" | "error"),
            Symbol::Wildcard(_) => {
                placed.element.namespace() != &*schema.namespace
                    || action_family(placed.element.name()).is_some()
            }
        };
        let strays = element.elements().filter(|child| is_body_part(child.name())).count();
        action && strays > 0 && !placed.iter().any(known)
    }

    fn bodiless(&mut self, element: Element<'t>) {
        let strays: Vec<_> =
            element.elements().filter(|child| is_body_part(child.name())).collect();
        let first = strays[0];
        let message = match strays.len() {
            1 => format!("this action has no body: `{}` stands directly in it", first.name()),
            count => format!(
                "this action has no body: `{}` and {} more stand directly in it",
                first.name(),
                count - 1
            ),
        };
        self.report(
            Diagnostic::new(&ACTION_WITHOUT_BODY, element.name_span(), message)
                .note(first.name_span(), "this belongs into the element that says what is done")
                .help("put them into an element such as `<pig>` or `<shell xmlns=\"…\">`"),
        );
    }

    /// One child that the element does not have and one that it lacks: the one was most likely meant to be the other.
    fn pair(&mut self, element: Element<'t>, before: usize) {
        let own = |finding: &Diagnostic, kind: &'static crate::diag::Kind| {
            std::ptr::eq(finding.kind, kind)
                && finding.fixes.iter().all(|fix| fix.title.starts_with("Add "))
        };
        let mut unknown: HashMap<Span, usize> = HashMap::new();
        for (at, finding) in self.findings.iter().enumerate().skip(before) {
            if own(finding, &UNKNOWN_ELEMENT) {
                unknown.entry(finding.span).or_insert(at);
            }
        }
        let mut strange =
            element.elements().filter_map(|child| Some((child, *unknown.get(&child.name_span())?)));
        let (Some((child, at)), None) = (strange.next(), strange.next()) else { return };
        let lacking: Vec<usize> = (before..self.findings.len())
            .filter(|at| {
                own(&self.findings[*at], &MISSING_ELEMENT)
                    && self.findings[*at].span == element.name_span()
            })
            .collect();
        let [missing] = lacking[..] else { return };
        let message = &self.findings[missing].message;
        let mut names = message.split('`').skip(3).step_by(2);
        let (Some(name), None) = (names.next().map(str::to_owned), names.next()) else { return };
        let (a, b) = (child.name().to_ascii_lowercase(), name.to_ascii_lowercase());
        let near = b.starts_with(&a) || a.starts_with(&b) || within(&a, &b, b.len() / 2).is_some();
        let found = &mut self.findings[at];
        if near {
            found.help = Some(format!("did you mean `{name}`?"));
            found.fixes = vec![rename(child, &name, Safety::Guess)];
        } else {
            found.help = Some(format!("`{name}` is wanted here"));
        }
        self.findings.remove(missing);
    }

    /// What a child is: a symbol of the model where it is one, or was probably meant to be one; `present` are the names of
    /// all children.
    fn recognize(
        &mut self,
        parent: Element<'t>,
        child: Element<'t>,
        schema: &'t Schema,
        id: TypeId,
        (model, present): (&'t Model, &HashSet<&str>),
    ) -> (Option<Symbol>, Kind<'t>) {
        let name = child.name();
        let namespace = child.namespace();
        let own = self.schema(namespace).map_or(namespace, |schema| &schema.namespace);
        let ty = schema.ty(id);
        let action = ty.name.as_deref() == Some("ACTION") && &*schema.family == "workflow";
        let at = model.children.iter().position(|known| &*known.name == name);
        let known =
            |at: usize| (Some(Symbol::Child(at as u16)), kind_of(schema, model.children[at].kind));
        if own == &*schema.namespace {
            if let Some(at) = at {
                return known(at);
            }
            // An action of another family without the namespace it needs.
            if action && let Some(family) = action_family(name) {
                let finding = self.action_namespace(child, family);
                self.report(finding);
                let best = self.best_version(child, &family.name, None).map(|(best, _)| best);
                let kind = best.and_then(|best| Some(Kind::Complex(best, best.root(name)?)));
                if let (Some(best), true) = (best, kind.is_some()) {
                    self.as_if(child, best);
                    return (wildcard(model), Kind::Any);
                }
                return (wildcard(model), Kind::Any);
            }
            if let Some((other, known)) =
                other_versions(schema, ty).find_map(|(s, ty)| Some((s, ty.child(name)?)))
            {
                let what = format!("the element `{name}`");
                let mut finding = self.other_version(
                    child.name_span(),
                    &what,
                    &known.since,
                    known.until.as_deref(),
                    schema,
                );
                let free = !present.contains("job-tracker");
                if name == "resource-manager" && free && model.child("job-tracker").is_some() {
                    finding = finding.fix(rename(child, "job-tracker", Safety::Safe));
                }
                self.report(finding);
                // What is within is checked as that version has it.
                return match known.kind {
                    TypeRef::Text(_) => (None, Kind::Any),
                    TypeRef::Type(_) => {
                        self.as_if_child(child, other, known.kind);
                        (None, Kind::Any)
                    }
                };
            }
            let names = model.children.iter().filter(|known| {
                !present.contains(&*known.name) || repeats(&model.particle, model, &known.name)
            });
            let near = nearest(name, names.map(|known| &*known.name));
            let unsupported = action && near.is_none();
            let mut finding = if unsupported {
                Diagnostic::new(
                    &UNSUPPORTED_ACTION_TYPE,
                    child.name_span(),
                    format!("there is no action type `{name}`"),
                )
                .help("an action type of a site has a namespace of its own, and is declared in `ankus.toml`")
            } else {
                Diagnostic::new(
                    &UNKNOWN_ELEMENT,
                    child.name_span(),
                    format!("`{}` has no element `{name}`", parent.name()),
                )
            };
            if let Some(near) = near {
                finding = finding.help(format!("did you mean `{near}`?")).fix(rename(
                    child,
                    near,
                    Safety::Guess,
                ));
            } else if !unsupported {
                let all: Vec<String> =
                    model.children.iter().map(|known| format!("`{}`", known.name)).collect();
                finding = finding.help(format!("it holds {}", all.join(", ")));
            }
            self.report(finding);
            return match near
                .and_then(|near| model.children.iter().position(|known| &*known.name == near))
            {
                Some(at) => known(at),
                None if unsupported => (wildcard(model), Kind::Any),
                None => (None, Kind::Any),
            };
        }
        // Of another namespace, where a wildcard takes it.
        if let Some(at) =
            model.wildcards.iter().position(|wildcard| wildcard.accept(&schema.namespace, own))
        {
            // An action's body is taken by the wildcard only if none of its own children is meant.
            let kind = self.foreign(child, schema, ty);
            return (Some(Symbol::Wildcard(at as u16)), kind);
        }
        let sla = model.wildcards.iter().any(|wildcard| matches!(wildcard, Namespaces::These(_)));
        if let Some(other) = self.schema(namespace).filter(|other| &*other.family == "sla") {
            let mut finding = Diagnostic::new(
                &SLA_SCHEMA_MISMATCH,
                child.name_span(),
                format!("{} {} takes no `{}`", schema.family, schema.version, other.namespace),
            )
            .help("version 0.2 of SLA needs version 0.5 of the workflow");
            if let Some(fix) = self.raise(schema) {
                finding = finding.fix(fix);
            }
            self.report(finding);
            let kind = other.root(name).map_or(Kind::Any, |id| Kind::Complex(other, id));
            let symbol = if sla { sla_wildcard(model) } else { None };
            return (symbol, kind);
        }
        if sla && namespace.starts_with("uri:oozie:sla") {
            let kind = match self.unknown_namespace(child, Some("sla")) {
                Some(other) => other.root(name).map_or(Kind::Any, |id| Kind::Complex(other, id)),
                None => Kind::Any,
            };
            return (sla_wildcard(model), kind);
        }
        let mut finding = Diagnostic::new(
            if at.is_some() { &ELEMENT_IN_WRONG_NAMESPACE } else { &UNKNOWN_ELEMENT },
            child.name_span(),
            match (at, namespace.is_empty()) {
                (Some(_), true) => format!(
                    "`{name}` has no namespace; here it has to be in `{}`",
                    schema.namespace
                ),
                (Some(_), false) => {
                    format!(
                        "`{name}` is in `{namespace}`; here it has to be in `{}`",
                        schema.namespace
                    )
                }
                (None, _) => format!("`{}` has no element `{name}`", parent.name()),
            },
        );
        let declaration = child.attributes().find(|attribute| attribute.declares() == Some(""));
        if at.is_some()
            && child.prefix().is_none()
            && parent.prefix().is_none()
            && let Some(declaration) = declaration
        {
            finding = finding.fix(Fix::safe(
                format!("Use `{}`", schema.namespace),
                declaration.value_span(),
                &*schema.namespace,
            ));
        }
        self.report(finding);
        match at {
            Some(at) => {
                self.as_if_child(child, schema, model.children[at].kind);
                (Some(Symbol::Child(at as u16)), Kind::Any)
            }
            None => (None, Kind::Any),
        }
    }

    /// Checks an element as if it, and all of its namespace within it, were of `schema`.
    fn as_if(&mut self, element: Element<'t>, schema: &'t Schema) {
        if let Some(id) = schema.root(element.name()) {
            self.as_if_child(element, schema, TypeRef::Type(id));
        }
    }

    fn as_if_child(&mut self, element: Element<'t>, schema: &'t Schema, kind: TypeRef) {
        let mut inner = Checker {
            tree: self.tree,
            document: self.document,
            language: self.language,
            target: self.target,
            aliases: HashMap::from([(element.namespace(), Some(schema))]),
            known: HashMap::new(),
            todo: vec![(element, kind_of(schema, kind))],
            findings: Vec::new(),
            shared: Rc::clone(&self.shared),
        };
        while let Some((element, kind)) = inner.todo.pop() {
            if budget::spent_often() {
                break;
            }
            inner.element(element, kind);
        }
        self.findings.append(&mut inner.findings);
    }

    fn action_namespace(&self, child: Element<'t>, family: &'static super::Family) -> Diagnostic {
        let name = child.name();
        let mut finding = Diagnostic::new(
            &ACTION_IN_WRONG_NAMESPACE,
            child.name_span(),
            format!("`{name}` needs a namespace of its own"),
        );
        if let Some((best, fits)) = self.best_version(child, &family.name, None) {
            finding = finding.help(format!("write `<{name} xmlns=\"{}\">`", best.namespace));
            let declared = child.attributes().find(|attribute| attribute.declares() == Some(""));
            let title = format!("Put it into `{}`", best.namespace);
            let (span, text) = match declared {
                Some(attribute) => (attribute.value_span(), best.namespace.to_string()),
                None => {
                    let at = child.name_span().end as usize;
                    (Span::at(at), format!(" xmlns=\"{}\"", best.namespace))
                }
            };
            if child.prefix().is_none() {
                finding = finding.fix(match fits {
                    true => Fix::safe(title, span, text),
                    false => Fix::guess(title, span, text),
                });
            }
        }
        finding
    }

    /// Children that are out of order: all but a longest run of them that is in order.
    fn order(&mut self, parent: Element<'t>, placed: &[Placed<'t>]) {
        let ranks: Vec<usize> = placed.iter().map(|placed| placed.rank).collect();
        let kept = longest_run(&ranks);
        // Those are in order, so what comes before and behind is found by halves.
        let run: Vec<usize> = (0..placed.len()).filter(|at| kept[*at]).collect();
        for (at, child) in placed.iter().enumerate().filter(|(at, _)| !kept[*at]) {
            let later = run.get(run.partition_point(|other| ranks[*other] <= ranks[at]));
            let earlier = run.partition_point(|other| ranks[*other] < ranks[at]).checked_sub(1);
            let (anchor, before) = match (later, earlier.map(|earlier| run[earlier])) {
                (Some(other), _) if *other < at => (&placed[*other], true),
                (_, Some(other)) if other > at => (&placed[other], false),
                _ => continue,
            };
            let (name, other) = (child.element.name(), anchor.element.name());
            let way = if before { "before" } else { "behind" };
            self.report(
                Diagnostic::new(
                    &ELEMENT_OUT_OF_ORDER,
                    child.element.name_span(),
                    format!("`{name}` has to come {way} `{other}`"),
                )
                .note(anchor.element.name_span(), format!("{way} this"))
                .help(format!("the order of the elements in `{}` is fixed", parent.name()))
                .fix(self.move_to(child.element, anchor.element, before)),
            );
        }
    }

    /// Moves an element, with its line where it has one of its own.
    fn move_to(&self, element: Element<'t>, anchor: Element<'t>, before: bool) -> Fix {
        let text = self.tree.text();
        let (from, to) = (line_of(text, element.span()), line_of(text, anchor.span()));
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => (from, to),
            _ => (element.span(), anchor.span()),
        };
        let at = if before { to.start } else { to.end };
        let insert = Edit {
            file: None,
            span: Span { start: at, end: at },
            text: text[from.range()].to_owned(),
        };
        let remove = Edit { file: None, span: from, text: String::new() };
        let mut edits = vec![insert, remove];
        edits.sort_by_key(|edit| edit.span);
        let way = if before { "before" } else { "behind" };
        let title = format!("Move it {way} `{}`", anchor.name());
        Fix { title, safety: Safety::Safe, edits }
    }

    /// How often each part occurs.
    fn count(&mut self, place: &Place<'_, 't>, part: &Particle, placed: &[Placed<'t>]) {
        let occurs = part.occurs();
        match part {
            Particle::Child(..) | Particle::Wildcard(..) => {
                self.count_one(place, part, placed, occurs)
            }
            Particle::Choice(parts, _) if occurs.max == Some(1) => {
                let used =
                    |part: &&Particle| placed.iter().any(|placed| holds(part, placed.symbol));
                let alternatives: Vec<&Particle> = parts.iter().filter(used).collect();
                match alternatives.as_slice() {
                    [] if !part.optional() => self.missing(place, part),
                    [] => {}
                    [one] => self.count(place, one, placed),
                    [_, ..] => self.several(place, parts, placed),
                }
            }
            Particle::Sequence(parts, _) if occurs.max == Some(1) => {
                if occurs.min == 0 && placed.is_empty() {
                    return;
                }
                for part in parts {
                    let own: Vec<_> =
                        placed.iter().filter(|p| holds(part, p.symbol)).copied().collect();
                    self.count(place, part, &own);
                }
            }
            // A group that repeats takes its children in any number.
            Particle::Choice(..) | Particle::Sequence(..) => {
                if placed.is_empty() && !part.optional() {
                    self.missing(place, part);
                }
            }
        }
    }

    fn count_one(
        &mut self,
        place: &Place<'_, 't>,
        part: &Particle,
        placed: &[Placed<'t>],
        occurs: Occurs,
    ) {
        if placed.len() < usize::from(occurs.min) {
            if occurs.min > 1 && !placed.is_empty() {
                self.too_few(place, placed, occurs.min);
            } else {
                self.missing(place, part);
            }
        }
        let Some(max) = occurs.max else { return };
        let Some(first) = placed.first() else { return };
        for extra in placed.iter().skip(usize::from(max)) {
            let name = extra.element.name();
            self.report(
                Diagnostic::new(
                    &DUPLICATE_SINGLE_ELEMENT,
                    extra.element.name_span(),
                    format!("`{}` takes only one `{name}`", place.element.name()),
                )
                .note(first.element.name_span(), "the first is here"),
            );
        }
    }

    /// Two where only one of several may be.
    fn several(&mut self, place: &Place<'_, 't>, parts: &[Particle], placed: &[Placed<'t>]) {
        let first = &placed[0];
        let same = |one: Symbol, other: Symbol| {
            parts.iter().any(|part| holds(part, one) && holds(part, other))
        };
        let body = place.is_action();
        for extra in placed.iter().skip(1).filter(|extra| body || !same(first.symbol, extra.symbol))
        {
            let (name, other) = (extra.element.name(), first.element.name());
            let finding = if body {
                Diagnostic::new(
                    &ACTION_WITH_TWO_BODIES,
                    extra.element.name_span(),
                    format!("an action does one thing, but this one has `{other}` and `{name}`"),
                )
            } else {
                Diagnostic::new(
                    &DUPLICATE_SINGLE_ELEMENT,
                    extra.element.name_span(),
                    format!("`{}` takes `{other}` or `{name}`, not both", place.element.name()),
                )
            };
            self.report(finding.note(first.element.name_span(), "the first is here"));
        }
    }

    fn too_few(&mut self, place: &Place<'_, 't>, placed: &[Placed<'t>], min: u16) {
        let kind = if place.is("FORK") { &FORK_SINGLE_PATH } else { &MISSING_ELEMENT };
        let name = placed[0].element.name();
        let message = format!("`{}` needs at least {min} `{name}`", place.element.name());
        self.report(Diagnostic::new(kind, place.element.name_span(), message));
    }

    fn missing(&mut self, place: &Place<'_, 't>, part: &Particle) {
        let parent = place.element;
        let mut names = Vec::new();
        names_of(part, place.model, &mut names);
        let list: Vec<String> = names.iter().map(|child| format!("`{}`", child.name)).collect();
        if place.is_action() && names.len() > 2 {
            self.report(
                Diagnostic::new(
                    &ACTION_WITHOUT_BODY,
                    parent.name_span(),
                    "this action does nothing: it has no body",
                )
                .help("an action holds what it does, then `ok`, then `error`"),
            );
            return;
        }
        let kind = match names.first() {
            Some(child) if place.is("SWITCH") && &*child.name == "case" => &DECISION_DEFAULT_ONLY,
            _ => &MISSING_ELEMENT,
        };
        let message = match list.as_slice() {
            [] => format!("`{}` is not complete", parent.name()),
            [one] => format!("`{}` needs {one}", parent.name()),
            several => format!("`{}` needs one of {}", parent.name(), several.join(", ")),
        };
        let mut finding = Diagnostic::new(kind, parent.name_span(), message);
        if let Some(child) = names.first() {
            finding = finding.help(format!("`{}`: {}", child.name, child.about));
            if names.len() == 1
                && let Some(fix) = self.stub(place, child)
            {
                finding = finding.fix(fix);
            }
        }
        self.report(finding);
    }

    /// An element to fill in, where it belongs.
    fn stub(&self, place: &Place<'_, 't>, child: &Child) -> Option<Fix> {
        let parent = place.element;
        if !parent.is_closed() || parent.is_empty_tag() {
            return None;
        }
        let TypeRef::Text(text) = child.kind else { return None };
        let prefix = parent.prefix().map(|prefix| format!("{prefix}:")).unwrap_or_default();
        let name = format!("{prefix}{}", child.name);
        let value = match (&*child.name, text.meaning) {
            ("name-node", _) => "${nameNode}",
            ("job-tracker", _) => "${jobTracker}",
            ("resource-manager", _) => "${resourceManager}",
            _ => "",
        };
        let stub = format!("<{name}>{value}</{name}>");
        let source = self.tree.text();
        let before = place.placed.iter().rev().find(|placed| placed.rank < place.rank);
        let after = place.placed.iter().find(|placed| placed.rank > place.rank);
        let title = format!("Add `{}`", child.name);
        let insert = |at: u32, text: String| Fix::guess(title, Span { start: at, end: at }, text);
        let anchor = before.or(after)?;
        let span = anchor.element.span();
        let line = line_of(source, span);
        Some(match (line, before.is_some()) {
            (Some(line), behind) => {
                let indent = &source[line.start as usize..span.start as usize];
                let end = if source[..line.end as usize].ends_with("\r\n") { "\r\n" } else { "\n" };
                let at = if behind { line.end } else { line.start };
                insert(at, format!("{indent}{stub}{end}"))
            }
            (None, true) => insert(span.end, stub),
            (None, false) => insert(span.start, stub),
        })
    }
}

/// A child with its place in the order.
#[derive(Clone, Copy)]
struct Placed<'t> {
    element: Element<'t>,
    symbol: Symbol,
    rank: usize,
}

/// Where something is counted.
struct Place<'p, 't> {
    element: Element<'t>,
    schema: &'t Schema,
    id: TypeId,
    model: &'t Model,
    /// All children, by rank.
    placed: &'p [Placed<'t>],
    rank: usize,
}

impl Place<'_, '_> {
    fn is(&self, ty: &str) -> bool {
        &*self.schema.family == "workflow" && self.schema.ty(self.id).name.as_deref() == Some(ty)
    }

    fn is_action(&self) -> bool {
        self.is("ACTION") && self.rank == 0
    }
}

fn kind_of(schema: &Schema, kind: TypeRef) -> Kind<'_> {
    match kind {
        TypeRef::Text(text) => Kind::Text(schema, text.check),
        TypeRef::Type(id) => Kind::Complex(schema, id),
    }
}

/// The parts of a model, one after the other, groups that occur once opened up.
fn flatten(particle: &Particle) -> Vec<&Particle> {
    let mut parts = vec![particle];
    while let Some(at) = parts
        .iter()
        .position(|part| matches!(part, Particle::Sequence(_, occurs) if *occurs == Occurs::ONCE))
    {
        if let Particle::Sequence(inner, _) = parts[at] {
            parts.splice(at..=at, inner);
        }
    }
    parts
}

/// Whether a part has a place for a symbol. Schemas nest a few levels, so this may recurse.
fn holds(part: &Particle, symbol: Symbol) -> bool {
    match part {
        Particle::Child(at, _) => symbol == Symbol::Child(*at),
        Particle::Wildcard(at, _) => symbol == Symbol::Wildcard(*at),
        Particle::Sequence(parts, _) | Particle::Choice(parts, _) => {
            parts.iter().any(|part| holds(part, symbol))
        }
    }
}

/// Whether a child may occur more than once.
fn repeats(part: &Particle, model: &Model, name: &str) -> bool {
    match part {
        Particle::Child(at, occurs) => {
            occurs.repeats() && &*model.children[*at as usize].name == name
        }
        Particle::Wildcard(..) => false,
        Particle::Sequence(parts, occurs) | Particle::Choice(parts, occurs) => {
            let at = model.children.iter().position(|child| &*child.name == name);
            let inside = at.is_some_and(|at| holds(part, Symbol::Child(at as u16)));
            (occurs.repeats() && inside) || parts.iter().any(|part| repeats(part, model, name))
        }
    }
}

fn names_of<'m>(part: &Particle, model: &'m Model, out: &mut Vec<&'m Child>) {
    match part {
        Particle::Child(at, _) => out.push(&model.children[*at as usize]),
        Particle::Wildcard(..) => {}
        Particle::Sequence(parts, _) | Particle::Choice(parts, _) => {
            parts.iter().for_each(|part| names_of(part, model, out));
        }
    }
}

/// Whether an element belongs into the bodies of actions, and never beside them.
fn is_body_part(name: &str) -> bool {
    matches!(
        name,
        "job-tracker"
            | "resource-manager"
            | "name-node"
            | "prepare"
            | "job-xml"
            | "configuration"
            | "script"
            | "param"
            | "argument"
            | "arg"
            | "exec"
            | "env-var"
            | "file"
            | "archive"
            | "main-class"
            | "java-opts"
            | "java-opt"
            | "capture-output"
            | "command"
            | "app-path"
            | "propagate-configuration"
            | "master"
            | "mode"
            | "class"
            | "jar"
            | "spark-opts"
            | "launcher"
            | "streaming"
            | "jdbc-url"
            | "password"
            | "query"
            | "mkdir"
            | "delete"
            | "move"
            | "chmod"
            | "touchz"
            | "host"
            | "to"
            | "subject"
            | "body"
    )
}

/// The wildcard that takes actions of other families.
fn wildcard(model: &Model) -> Option<Symbol> {
    let at = model.wildcards.iter().position(|wildcard| *wildcard == Namespaces::Other)?;
    Some(Symbol::Wildcard(at as u16))
}

fn sla_wildcard(model: &Model) -> Option<Symbol> {
    let at =
        model.wildcards.iter().position(|wildcard| matches!(wildcard, Namespaces::These(_)))?;
    Some(Symbol::Wildcard(at as u16))
}

/// The family whose schemas declare an action of this name.
fn action_family(name: &str) -> Option<&'static super::Family> {
    families().iter().find(|family| {
        !matches!(&*family.name, "workflow" | "coordinator" | "bundle" | "sla")
            && family.newest().root(name).is_some()
    })
}

/// The type of the same name in the other versions of a schema, the newest first.
fn other_versions<'s>(
    schema: &'s Schema,
    ty: &'s Type,
) -> impl Iterator<Item = (&'static Schema, &'static Type)> + 's {
    let family = families().iter().find(|family| *family.name == *schema.family);
    let schemas = family.into_iter().flat_map(|family| family.schemas().rev());
    schemas.filter(|other| other.version != schema.version).filter_map(|other| {
        let id = other.named(ty.name.as_deref()?)?;
        Some((other, other.ty(id)))
    })
}

/// Whether an attribute is one of those of XML Schema itself that the server lets pass: where a schema lies, and a type
/// that the element has anyway.
fn is_instance(element: Element<'_>, attribute: AttributeRef<'_>, kind: Kind<'_>) -> bool {
    let Some(prefix) = attribute.prefix() else { return false };
    if !matches!(attribute.name(), "type" | "schemaLocation" | "noNamespaceSchemaLocation" | "nil")
    {
        return false;
    }
    // Each prefix is looked for among all attributes, so of very many only the usual one is.
    if element.attributes().size_hint().0 > 1_000 && prefix != "xsi" {
        return false;
    }
    let instance = "http://www.w3.org/2001/XMLSchema-instance";
    if element.resolve_prefix(prefix).as_deref() != Some(instance) {
        return false;
    }
    match attribute.name() {
        "schemaLocation" | "noNamespaceSchemaLocation" => true,
        "type" => {
            let value = attribute.value();
            let value = value.text.trim();
            let (prefix, local) = value.split_once(':').unwrap_or(("", value));
            let namespace = element.resolve_prefix(prefix).unwrap_or_default();
            match kind {
                Kind::Complex(schema, id) => {
                    namespace == *schema.namespace && schema.ty(id).name.as_deref() == Some(local)
                }
                Kind::Text(_, Check::String) if namespace.ends_with("/XMLSchema") => {
                    matches!(local, "string" | "normalizedString" | "token")
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// What is wrong with a text that the schema checks.
fn problem(schema: &Schema, check: Check, text: &str) -> Option<Cow<'static, str>> {
    let blanks = [' ', '\t', '\n', '\r'];
    let trimmed = text.trim_matches(blanks);
    match check {
        Check::String => None,
        Check::Boolean if matches!(trimmed, "true" | "false" | "1" | "0") => None,
        Check::Boolean => Some("is `true` or `false`, and no expression may stand there".into()),
        Check::Integer { min, max, .. } => {
            let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
            let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = trimmed.parse::<i64>().ok().filter(|number| (min..=max).contains(number));
            if whole && number.is_some() {
                return None;
            }
            Some(
                format!("is a whole number from {min} to {max}, and no expression may stand there")
                    .into(),
            )
        }
        Check::Simple(at) => {
            let simple = schema.simples.get(at as usize)?;
            if !simple.values.is_empty() && !simple.accepts(text) {
                return Some(format!("is one of `{}`", simple.values.join("`, `")).into());
            }
            (!simple.accepts(text)).then_some("has characters that are not allowed".into())
        }
    }
}

/// A name made of what may stand in one.
fn plain_name(name: &str) -> Option<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let mut new: String = name.trim().chars().map(plain).collect();
    if new.trim_matches('_').is_empty() {
        return None;
    }
    if new.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        new.insert(0, '_');
    }
    Some(new)
}

/// Renames an element, both of its tags, prefixes kept.
fn rename(element: Element<'_>, to: &str, safety: Safety) -> Fix {
    let local = |span: Span| Span { start: span.end - element.name().len() as u32, end: span.end };
    let mut edits =
        vec![Edit { file: None, span: local(element.name_span()), text: to.to_owned() }];
    let end = element.end_tag();
    if !element.is_empty_tag() && end.start < end.end {
        let start = end.start + 2;
        let span = Span { start, end: start + element.qualified_name().len() as u32 };
        edits.push(Edit { file: None, span: local(span), text: to.to_owned() });
    }
    Fix { title: format!("Rename to `{to}`"), safety, edits }
}

/// The value that gives an element its namespace where it is written on the element, or else its name.
fn namespace_span(element: Element<'_>) -> Span {
    let prefix = element.prefix().unwrap_or_default();
    let of = |element: Element<'_>| {
        let mut declarations = element.attributes();
        declarations.find(|a| a.declares() == Some(prefix)).map(|a| a.value_span())
    };
    // A prefix is most often declared far above; no tag says which namespace that is.
    let mut declared = of(element);
    let mut above = element.parent().filter(|_| !prefix.is_empty());
    while let (None, Some(parent)) = (declared, above) {
        (declared, above) = (of(parent), parent.parent());
    }
    match declared {
        Some(span) if span.start < span.end => span,
        _ => element.name_span(),
    }
}

fn is_value(element: Element<'_>, span: Span) -> bool {
    span != element.name_span()
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
}

/// The span without blanks at its ends.
fn trimmed(text: &str, span: Span) -> Span {
    let left = text.len() - text.trim_start().len();
    let right = text.trim_end().len();
    if left >= right {
        return span;
    }
    Span { start: span.start + left as u32, end: span.start + right as u32 }
}

/// The lines an element takes up, if it shares none of them.
fn line_of(text: &str, span: Span) -> Option<Span> {
    // Only blanks are looked at: a line may be as long as a file.
    let blank = [' ', '\t', '\r'];
    let before = text[..span.start as usize].trim_end_matches(blank);
    let after = &text[span.end as usize..];
    let rest = after.trim_start_matches(blank);
    if !(before.is_empty() || before.ends_with('\n')) || !rest.starts_with('\n') {
        return None;
    }
    let end = text.len() - rest.len() + 1;
    Some(Span::new(before.len(), end))
}

/// Which members belong to a longest run that never falls; of several such runs, the one that begins earliest, so that
/// what stands later is what is out of order.
fn longest_run(ranks: &[usize]) -> Vec<bool> {
    // How long a run can be that begins at each place: runs are found from behind, by the greatest rank they begin with.
    let mut firsts: Vec<usize> = Vec::new();
    let mut lengths = vec![0; ranks.len()];
    for (at, rank) in ranks.iter().enumerate().rev() {
        let length = firsts.partition_point(|first| first >= rank);
        lengths[at] = length + 1;
        match firsts.get_mut(length) {
            Some(first) => *first = *rank,
            None => firsts.push(*rank),
        }
    }
    let mut kept = vec![false; ranks.len()];
    let (mut wanted, mut last) = (firsts.len(), 0);
    for (at, rank) in ranks.iter().enumerate() {
        if lengths[at] == wanted && *rank >= last {
            kept[at] = true;
            last = *rank;
            wanted -= 1;
        }
    }
    kept
}

/// The word among `known` that was most likely meant.
fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .filter_map(|candidate| Some((within(word, candidate, limit)?, candidate)))
        .filter(|(distance, _)| *distance > 0)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_later_is_out_of_order() {
        let kept = |ranks: &[usize]| {
            longest_run(ranks).iter().map(|kept| u8::from(*kept)).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[0, 1, 3, 2]), [1, 1, 1, 0]);
        assert_eq!(kept(&[3, 0, 1, 2]), [0, 1, 1, 1]);
        assert_eq!(kept(&[1, 1, 0, 1]), [1, 1, 0, 1]);
        assert_eq!(kept(&[]), [] as [u8; 0]);
    }
}
