//! Validates a tolerant tree against the tables and reports every fault with its location.
//!
//! Takes a tree, valid or not, the language, and the target server; returns findings. Where a server stops at the
//! first unexpected element, this continues: children are considered in their proper order, unknown ones are named,
//! missing ones are reported once, and every element whose type can be determined is validated. An error in one action
//! therefore does not affect the next. A document has no finding here if and only if the server's schemas accept it
//! (`tests/it/verdicts.rs` compares them on every file).

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::kinds::*;
use super::model::{Model, Occurs, Particle, State, Symbol};
use super::{Check, Child, Content, Language, Schema, TypeId, TypeRef};
use crate::budget;
use crate::diag::{Diagnostic, Edit, Fix, Safety};
use crate::source::Span;
use crate::syntax::xml::{Element, NOT_WELL_FORMED, NodeKind, Tree};

mod attributes;
mod cardinality;
mod recognize;
mod version;

use attributes::is_instance;
use cardinality::repeats;
use recognize::{nearest, other_versions};

/// The type of document, which determines the schemas that it is validated against.
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

    /// Whether the server loads a family for documents of this type.
    fn has(self, family: &str) -> bool {
        match family {
            "workflow" | "coordinator" | "bundle" => family == self.family(),
            "sla" => self != Document::Bundle,
            _ => self == Document::Workflow,
        }
    }
}

/// Validates a document and returns all findings.
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
        // Findings with the same message are reported once, with all locations.
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
    /// Unknown; its descendants may be known.
    Any,
}

struct Checker<'t> {
    tree: &'t Tree,
    document: Document,
    language: &'t Language,
    target: &'t str,
    /// Unknown namespaces, with the schema assumed instead, so that the rest can be checked.
    aliases: HashMap<&'t str, Option<&'t Schema>>,
    known: HashMap<&'t str, Option<&'t Schema>>,
    todo: Vec<(Element<'t>, Kind<'t>)>,
    findings: Vec<Diagnostic>,
    shared: Rc<Shared<'t>>,
}

/// Maximum number of passes over a document for fixes that concern all of it; beyond that, such fixes are not offered.
const PATIENCE: usize = 64;

/// Facts computed once per document.
struct Shared<'t> {
    /// Fixes that change a namespace to another version of its schema, by namespace.
    raised: RefCell<HashMap<&'t str, Option<Fix>>>,
    /// Namespaces newer than the server that have been reported.
    newer: RefCell<HashSet<Span>>,
    patience: Cell<usize>,
}

impl Shared<'_> {
    fn new(nodes: usize) -> Self {
        let patience = Cell::new(PATIENCE * nodes);
        Shared { raised: RefCell::default(), newer: RefCell::default(), patience }
    }

    /// Uses up some of the budget; `None` if it is exhausted.
    fn spend(&self, work: usize) -> Option<()> {
        self.patience.set(self.patience.get().checked_sub(work)?);
        Some(())
    }
}

impl<'t> Checker<'t> {
    fn report(&mut self, finding: Diagnostic) {
        self.findings.push(finding);
    }

    /// The schema of a namespace, or the one assumed instead.
    fn schema(&mut self, namespace: &'t str) -> Option<&'t Schema> {
        let known = self.aliases.get(namespace).or_else(|| self.known.get(namespace));
        if let Some(schema) = known {
            return *schema;
        }
        let schema = self.language.schema(namespace).filter(|s| self.document.has(&s.family));
        self.known.insert(namespace, schema);
        schema
    }

    /// Reports markup that is well-formed, but that a server rejects.
    fn oddities(&mut self) {
        let text = self.tree.text();
        let reserved =
            |rest: &str| rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("xml"));
        // Almost no text contains such markup, so the nodes are rarely visited.
        if !text.match_indices("<?").any(|(at, _)| at > 0 && reserved(&text[at + 2..])) {
            return;
        }
        for node in self.tree.nodes().filter(|node| node.kind() == NodeKind::Instruction) {
            let raw = node.raw().trim_start_matches("<?");
            let target =
                raw.split(|c: char| c.is_whitespace() || c == '?').next().unwrap_or_default();
            if target.eq_ignore_ascii_case("xml") {
                let message =
                    format!("`<?{target}` is allowed only at the very beginning, in lower case");
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

    /// The type of the root element, after reporting faults of its namespace and name.
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
                    "the lowest version with everything that is used: `{}`",
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
                    format!(
                        "`{}` is not the root of a definition in `{}`",
                        root.name(),
                        schema.namespace
                    ),
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

    /// Whether the server has a schema for documents of this type.
    fn has(&self, schema: &Schema) -> bool {
        schema.known_to(self.target, self.document.family())
    }

    /// Reports a child that only later servers support in the same schema.
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

    fn element(&mut self, element: Element<'t>, kind: Kind<'t>) {
        match kind {
            Kind::Any => self.any(element),
            Kind::Text(schema, check) => {
                for attribute in element.attributes() {
                    if attribute.declares().is_none() && !is_instance(element, attribute, kind) {
                        let message = format!("`{}` has no attributes", element.name());
                        self.report(
                            Diagnostic::new(&UNKNOWN_ATTRIBUTE, attribute.name_span(), message)
                                .naming([element.name(), attribute.qualified_name()]),
                        );
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

    /// Validates the descendants of an element of unknown type that are declared as root elements.
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
            let message = format!(
                "`{}` contains {holds}, so `{}` is not allowed in it",
                element.name(),
                child.name()
            );
            self.report(
                Diagnostic::new(&UNKNOWN_ELEMENT, child.name_span(), message)
                    .naming([element.name(), child.name()]),
            );
            let schema = self.schema(child.namespace());
            let kind =
                schema.and_then(|schema| Some(Kind::Complex(schema, schema.root(child.name())?)));
            self.todo.push((child, kind.unwrap_or(Kind::Any)));
        }
    }

    /// Validates an element that must be empty, without even whitespace.
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
                format!(
                    "`{}` must be empty; the server refuses even whitespace in it",
                    element.name()
                )
            }
            false => format!("`{}` must be empty, so text is not allowed in it", element.name()),
        };
        let span = if blank { found.span() } else { trimmed(found.raw(), found.raw_span()) };
        let mut finding = Diagnostic::new(&UNEXPECTED_TEXT, span, message);
        let content = element.content();
        if blank && is_blank(&self.tree.text()[content.range()]) {
            finding = finding.fix(Fix::safe("Remove the whitespace", content, ""));
        }
        self.report(finding);
    }

    /// Reports text between elements.
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
                format!("`{}` contains only elements, so text is not allowed here", element.name()),
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

    fn bad_name(&self, span: Span, name: &str) -> Diagnostic {
        let mut finding = Diagnostic::new(
            &INVALID_NODE_NAME,
            span,
            match name.is_empty() {
                true => "the name of a node must not be empty".to_owned(),
                false => format!("`{name}` is not a valid node name"),
            },
        )
        .help("a letter or `_` first, then letters, digits, `_` and `-`");
        if let Some(fix) = self.rename_node(name) {
            finding = finding.fix(fix);
        }
        finding
    }

    /// Creates a fix that renames a node everywhere: its definition, transitions, and function arguments.
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

    /// Validates the children of an element and reports all faults.
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
}

/// A child with its rank in the order.
#[derive(Clone, Copy)]
struct Placed<'t> {
    element: Element<'t>,
    symbol: Symbol,
    rank: usize,
}

/// The part of an element whose children are counted.
struct Place<'p, 't> {
    element: Element<'t>,
    schema: &'t Schema,
    id: TypeId,
    model: &'t Model,
    /// All children, sorted by rank.
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

    /// The tag before which a missing child belongs: that of the next child, or the end tag of the element.
    fn behind(&self) -> Option<Span> {
        let next = self.placed.iter().find(|placed| placed.rank > self.rank);
        next.map(|placed| placed.element.name_span())
            .or_else(|| self.element.is_closed().then(|| self.element.end_tag()))
    }
}

fn kind_of(schema: &Schema, kind: TypeRef) -> Kind<'_> {
    match kind {
        TypeRef::Text(text) => Kind::Text(schema, text.check),
        TypeRef::Type(id) => Kind::Complex(schema, id),
    }
}

/// The parts of a model in order, with groups that occur once flattened.
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

/// Whether a part contains a symbol. Schemas nest only a few levels, so this may recurse.
fn holds(part: &Particle, symbol: Symbol) -> bool {
    match part {
        Particle::Child(at, _) => symbol == Symbol::Child(*at),
        Particle::Wildcard(at, _) => symbol == Symbol::Wildcard(*at),
        Particle::Sequence(parts, _) | Particle::Choice(parts, _) => {
            parts.iter().any(|part| holds(part, symbol))
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

/// The fault of a text according to the schema.
fn problem(schema: &Schema, check: Check, text: &str) -> Option<Cow<'static, str>> {
    let blanks = [' ', '\t', '\n', '\r'];
    let trimmed = text.trim_matches(blanks);
    match check {
        Check::String => None,
        Check::Boolean if matches!(trimmed, "true" | "false" | "1" | "0") => None,
        Check::Boolean => Some("is `true` or `false`, not an expression".into()),
        Check::Integer { min, max, .. } => {
            let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
            let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number = trimmed.parse::<i64>().ok().filter(|number| (min..=max).contains(number));
            if whole && number.is_some() {
                return None;
            }
            Some(format!("is a whole number from {min} to {max}, not an expression").into())
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

/// Derives a valid node name from an invalid one.
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

/// Creates a fix that renames both tags of an element, keeping prefixes.
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

/// The value of the namespace declaration on the element itself, otherwise its name.
fn namespace_span(element: Element<'_>) -> Span {
    let prefix = element.prefix().unwrap_or_default();
    let of = |element: Element<'_>| {
        let mut declarations = element.attributes();
        declarations.find(|a| a.declares() == Some(prefix)).map(|a| a.value_span())
    };
    // A prefix is usually declared far above; no tag shows which namespace it is bound to.
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

/// The span without leading and trailing whitespace.
fn trimmed(text: &str, span: Span) -> Span {
    let left = text.len() - text.trim_start().len();
    let right = text.trim_end().len();
    if left >= right {
        return span;
    }
    Span { start: span.start + left as u32, end: span.start + right as u32 }
}

/// The lines of an element, if it shares none of them.
fn line_of(text: &str, span: Span) -> Option<Span> {
    // Only whitespace is scanned: a line may be as long as a file.
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
