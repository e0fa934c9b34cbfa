//! Collects every significant name in a text: a node, a dataset, a property, with its location and its role.
//!
//! Takes a parsed text ([`Document`]) and returns [`Occurrence`]s in source order. Definition, references, rename,
//! hover and highlighting compare these rather than strings of their own.

use super::document::{Document, Kind, Read};
use super::scenario;
use crate::ir::Scalar;
use crate::ir::coordinator::{self, DataEvent};
use crate::ir::workflow::{self, Details, Shape, Workflow};
use crate::lint::reads::{self, How};
use crate::passes::expressions::place::{self, Place};
use crate::passes::expressions::types::{NothingKnown, Origin, Typed, infer};
use crate::source::Span;
use crate::syntax::xml::Element;
use ankus_lang::el::functions::{self, Asks};
use ankus_lang::el::tree::{Binary, Op};
use ankus_lang::el::{Dialect, Piece, Template, Value};

/// The type of a named item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// A node of a workflow.
    Node,
    /// A credential of a workflow.
    Credential,
    /// A dataset.
    Dataset,
    /// A data-in or data-out of a coordinator.
    Event,
    /// A property of a job.
    Property,
    /// A coordinator of a bundle.
    Coordinator,
    /// A function of expressions.
    Function,
}

impl Symbol {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Symbol::Node => "node",
            Symbol::Credential => "credential",
            Symbol::Dataset => "dataset",
            Symbol::Event => "data event",
            Symbol::Property => "property",
            Symbol::Coordinator => "coordinator",
            Symbol::Function => "function",
        }
    }
}

/// The role of an occurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The name is defined: a node, a formal parameter.
    Definition,
    /// A property gets a value.
    Value,
    /// The name is used.
    Use,
}

/// An occurrence of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The span of the name in the source.
    pub span: Span,
    /// The name, decoded.
    pub name: String,
    /// The type of the named item.
    pub symbol: Symbol,
    /// Its role.
    pub role: Role,
    /// Whether it is a string literal or a variable in an expression.
    pub in_expression: bool,
}

impl Occurrence {
    /// Whether both refer to the same item, given the same scope.
    pub fn is_same(&self, other: &Occurrence) -> bool {
        self.symbol == other.symbol && self.name == other.name
    }
}

/// The functions whose result is the name of a node, so that a text compared with it is one as well.
const GIVES_NODE: [&str; 2] = ["wf:lastErrorNode", "wf:transition"];

/// The property with the names of nodes to skip in a rerun.
pub(super) const SKIPPED_NODES: &str = "oozie.wf.rerun.skip.nodes";

/// All names in a text.
pub(super) fn of(read: &Read) -> Vec<Occurrence> {
    let mut out = Names { out: Vec::new() };
    match read.kind() {
        Kind::Workflow => out.workflow(read.analysis.workflow()),
        Kind::Coordinator => out.coordinator(read.analysis.coordinator()),
        Kind::Bundle => out.bundle(read),
        Kind::Datasets => {
            let root = read.analysis.tree().root();
            let datasets = root.map(coordinator::datasets_of).unwrap_or_default();
            out.datasets(&datasets);
        }
        Kind::Defaults => out.defaults(read),
        Kind::Properties => out.properties(read),
        Kind::Scenario => {
            for (name, span) in scenario::nodes(read.text()) {
                out.push(span, name, Symbol::Node, Role::Use, false);
            }
        }
        Kind::Configuration | Kind::Settings | Kind::Other => {}
    }
    if read.kind().is_xml() {
        let tree = read.analysis.tree();
        for place in place::collect(tree) {
            out.expressions(&place);
        }
        if let Some(root) = tree.root().filter(|_| read.kind() != Kind::Configuration) {
            let reads = reads::of_element(root);
            reads.into_iter().for_each(|read| out.read(read));
        }
    }
    let mut names = out.out;
    names.sort_by_key(|name| (name.span, name.symbol, name.role));
    names.dedup_by(|one, other| one.span == other.span && one.symbol == other.symbol);
    names
}

/// The span of an expression in a workflow, if any, that refers to a node by a computed name.
pub(super) fn computed(document: &Document) -> Option<Span> {
    let mut found = None;
    for place in place::collect(document.analysis().tree()) {
        if !place.text.text.contains(':') {
            continue;
        }
        each_call(&place, &mut |name, name_span, operands| {
            let asks = functions::named(name).any(|function| function.asks() == Some(Asks::Node));
            let Some(argument) = operands.first().filter(|_| asks) else { return };
            let is_result = matches!(&argument.origin, Origin::Call(name, _) if GIVES_NODE.contains(&name.as_str()));
            if argument.origin != Origin::Literal && !is_result {
                found.get_or_insert(name_span);
            }
        });
    }
    found
}

/// Calls `visit` for each function call in the expressions of a place, with its name, the span of the name, and its
/// arguments.
fn each_call(place: &Place<'_>, visit: &mut dyn FnMut(&str, Span, &[Typed])) {
    let template = Template::compile(&place.text.text, place.phase, Dialect::default());
    for piece in template.pieces() {
        let Piece::Expression { first, last, .. } = *piece else { continue };
        infer(&template, first, last, &NothingKnown, &[], &mut |seen| {
            let Op::Call { name_end, .. } = seen.node.op else { return };
            let span = place.span(seen.node.start, seen.node.start + name_end);
            visit(&template.call_name(&seen.node), span, seen.operands);
        });
    }
}

/// The value of a string literal, and its offsets between the quotes.
fn literal(argument: &Typed) -> Option<(&str, u32, u32)> {
    let Some(Value::String(text)) = &argument.constant else { return None };
    let inner = (argument.start + 1, argument.end.saturating_sub(1));
    // A literal with an escape is longer than its value.
    let plain = (inner.1.saturating_sub(inner.0)) as usize == text.len();
    (argument.origin == Origin::Literal && plain).then_some((text, inner.0, inner.1))
}

struct Names {
    out: Vec<Occurrence>,
}

impl Names {
    fn push(&mut self, span: Span, name: &str, symbol: Symbol, role: Role, in_expression: bool) {
        if !name.is_empty() && span.start < span.end {
            let name = name.to_owned();
            self.out.push(Occurrence { span, name, symbol, role, in_expression });
        }
    }

    fn scalar(&mut self, scalar: &Scalar, symbol: Symbol, role: Role) {
        if !scalar.is_expr() {
            self.push(scalar.span(), scalar.as_str(), symbol, role, false);
        }
    }

    fn given(&mut self, name: &workflow::Name, symbol: Symbol, role: Role) {
        if name.given {
            self.push(name.span, &name.text, symbol, role, false);
        }
    }

    fn workflow(&mut self, workflow: &Workflow) {
        for node in workflow.nodes.iter().filter(|node| node.shape != Shape::Start) {
            self.given(&node.name, Symbol::Node, Role::Definition);
        }
        for transition in &workflow.transitions {
            self.given(&transition.target, Symbol::Node, Role::Use);
        }
        for credential in &workflow.credentials {
            self.given(&credential.name, Symbol::Credential, Role::Definition);
        }
        for (_, _, action) in workflow.actions() {
            if let Some(cred) = action.cred.as_ref().filter(|cred| !cred.is_expr()) {
                self.list(cred, Symbol::Credential);
            }
            let Some(body) = &action.body else { continue };
            if let Details::SubWorkflow { .. } = body.details {
                for property in &body.configuration {
                    self.scalar(&property.name, Symbol::Property, Role::Value);
                }
            }
        }
        for parameter in &workflow.parameters {
            self.scalar(&parameter.name, Symbol::Property, Role::Definition);
        }
    }

    /// Adds comma-separated names.
    fn list(&mut self, scalar: &Scalar, symbol: Symbol) {
        let mut at = 0;
        for part in scalar.as_str().split(',') {
            let name = part.trim();
            let start = at + (part.len() - part.trim_start().len());
            at += part.len() + 1;
            let span = scalar.place(start..start + name.len());
            self.push(span, name, symbol, Role::Use, false);
        }
    }

    fn coordinator(&mut self, coordinator: &coordinator::Coordinator) {
        self.datasets(&coordinator.datasets);
        let events = coordinator.inputs.iter().chain(&coordinator.outputs);
        for DataEvent { name, dataset, .. } in events {
            if let Some(name) = name {
                self.scalar(name, Symbol::Event, Role::Definition);
            }
            if let Some(dataset) = dataset {
                self.scalar(dataset, Symbol::Dataset, Role::Use);
            }
        }
        for data in &coordinator.logic_data {
            self.scalar(data, Symbol::Event, Role::Use);
        }
        for parameter in &coordinator.parameters {
            self.scalar(parameter, Symbol::Property, Role::Definition);
        }
        let names = coordinator.configuration.iter().filter_map(|property| property.name.as_ref());
        names.for_each(|name| self.scalar(name, Symbol::Property, Role::Value));
    }

    fn datasets(&mut self, datasets: &[coordinator::Dataset]) {
        let names = datasets.iter().filter_map(|dataset| dataset.name.as_ref());
        names.for_each(|name| self.scalar(name, Symbol::Dataset, Role::Definition));
    }

    fn bundle(&mut self, read: &Read) {
        for member in &read.analysis.bundle().members {
            if let Some(name) = &member.name {
                self.scalar(name, Symbol::Coordinator, Role::Definition);
            }
            let names = member.configuration.iter().filter_map(|property| property.name.as_ref());
            names.for_each(|name| self.scalar(name, Symbol::Property, Role::Value));
        }
        let root = read.analysis.tree().root();
        let parameters = root.and_then(|root| root.child("parameters"));
        for name in parameters.into_iter().flat_map(property_names) {
            self.scalar(&name, Symbol::Property, Role::Definition);
        }
    }

    fn defaults(&mut self, read: &Read) {
        let root = read.analysis.tree().root();
        for name in root.into_iter().flat_map(property_names) {
            self.scalar(&name, Symbol::Property, Role::Value);
        }
    }

    fn properties(&mut self, read: &Read) {
        for entry in &read.properties().entries {
            // The source of a name with escapes is longer than the name.
            let written = &read.text()[entry.name_span.range()];
            if written == entry.name {
                self.push(entry.name_span, &entry.name, Symbol::Property, Role::Value, false);
            }
            let value = &read.text()[entry.value_span.range()];
            if entry.name == SKIPPED_NODES {
                let mut at = entry.value_span.start;
                for part in value.split(',') {
                    let start = at + (part.len() - part.trim_start().len()) as u32;
                    at += part.len() as u32 + 1;
                    let span = Span { start, end: start + part.trim().len() as u32 };
                    self.push(span, part.trim(), Symbol::Node, Role::Use, false);
                }
                continue;
            }
            let reads = reads::of_plain(value, entry.value_span.start as usize);
            reads.into_iter().for_each(|read| self.read(read));
        }
    }

    fn read(&mut self, read: reads::Read) {
        let built_in = crate::lint::BUILT_IN.contains(&read.name.as_str());
        if read.how != How::Dotted && !built_in {
            self.push(read.span, &read.name, Symbol::Property, Role::Use, true);
        }
    }

    /// Adds the names in function calls of a text.
    fn expressions(&mut self, place: &Place<'_>) {
        let text = &place.text.text;
        if !text.contains('(') {
            return;
        }
        each_call(place, &mut |name, span, operands| {
            self.push(span, name, Symbol::Function, Role::Use, true);
            let asks = functions::named(name).find_map(functions::Function::asks);
            let (Some(asks), Some(argument)) = (asks, operands.first()) else { return };
            let Some((text, start, end)) = literal(argument) else { return };
            let symbol = match asks {
                Asks::Node => Symbol::Node,
                Asks::Data => Symbol::Event,
                Asks::Property => Symbol::Property,
            };
            self.push(place.span(start, end), text, symbol, Role::Use, true);
        });
        if GIVES_NODE.iter().any(|function| text.contains(function)) {
            self.compared(place);
        }
    }

    /// Adds literals that are compared with the name of a node.
    fn compared(&mut self, place: &Place<'_>) {
        let template = Template::compile(&place.text.text, place.phase, Dialect::default());
        for piece in template.pieces() {
            let Piece::Expression { first, last, .. } = *piece else { continue };
            infer(&template, first, last, &NothingKnown, &[], &mut |seen| {
                let Op::Binary(Binary::Equal | Binary::NotEqual) = seen.node.op else { return };
                let [one, other] = seen.operands else { return };
                for (result, text) in [(one, other), (other, one)] {
                    let Origin::Call(name, _) = &result.origin else { continue };
                    if !GIVES_NODE.contains(&name.as_str()) {
                        continue;
                    }
                    if let Some((text, start, end)) = literal(text) {
                        let span = place.span(start, end);
                        self.push(span, text, Symbol::Node, Role::Use, true);
                    }
                }
            });
        }
    }
}

/// The names of the properties directly in an element.
fn property_names(parent: Element<'_>) -> impl Iterator<Item = Scalar> {
    let properties = parent.elements().filter(|element| element.name() == "property");
    properties.filter_map(|property| property.child("name").map(Scalar::of_element))
}
