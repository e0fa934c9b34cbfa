//! The parts of a coordinator, in the order in which printers convert them.
//!
//! A printer implements [`Coordinates`], which tells what each part becomes.

use super::airflow::Coordinated;
use super::claims;
use super::ledger::Outcome;
use super::said::{self, Said, Says};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use crate::syntax::xml::Tree;
use ankus_lang::coordinator::Definition;
use std::collections::BTreeMap;

/// What a printer makes of the parts of a coordinator.
pub(super) trait Coordinates<'a>: Says<'a> {
    /// Prepares for texts that are evaluated when an action starts, and keeps the name of the coordinator.
    fn begin(&mut self, name: Option<&Scalar>);
    /// Converts the schedule.
    fn times(&mut self, coordinator: &Coordinator, definition: &Definition);
    /// Converts time-out, concurrency and the like.
    fn controls(&mut self, coordinator: &Coordinator, definition: &Definition);
    /// Converts the data that a run reads and writes; `missing` are files of datasets that are not available.
    fn data(&mut self, coordinator: &Coordinator, definition: &Definition, missing: &[String]);
    /// Converts or reports an SLA.
    fn agreement(&mut self, span: Span);
}

/// Converts a coordinator, except the properties and the start of its workflow.
pub(super) fn coordinate<'a, P: Coordinates<'a>>(
    printer: &mut P,
    tree: &Tree,
    coordinated: Coordinated<'a>,
) {
    let coordinator = coordinated.analysis.coordinator();
    printer.begin(coordinator.name.as_ref());
    let root = tree.root();
    if let Some(parameters) = root.and_then(|root| root.child("parameters")) {
        printer.now().ledger.whole(parameters.span(), Outcome::Exact, "", "");
    }
    match coordinated.definition {
        Ok(definition) => printer.times(coordinator, definition),
        Err(why) => {
            let why = (why, coordinated.partly);
            claims::unscheduled(&mut printer.now().ledger, tree, coordinator, why);
        }
    }
    if let Some(definition) = coordinated.data() {
        printer.controls(coordinator, definition);
        printer.data(coordinator, definition, coordinated.missing);
    }
    let action = root.and_then(|root| root.child("action"));
    let info = action.and_then(|action| action.elements().find(|child| child.name() == "info"));
    if let Some(info) = info {
        printer.agreement(info.span());
    }
}

/// Returns the properties that a coordinator sets for its workflow. A server ignores those without a name.
pub(super) fn configuration<'a, P: Says<'a>>(
    printer: &mut P,
    tree: &Tree,
    coordinator: &Coordinator,
) -> BTreeMap<String, P::Text> {
    let mut texts = BTreeMap::new();
    let workflow = tree.root().and_then(|root| root.child("action")?.child("workflow"));
    let list = workflow.and_then(|workflow| workflow.child("configuration"));
    for element in list.into_iter().flat_map(|list| list.elements()) {
        let name = element.child("name").map(|name| name.text().trimmed().text.into_owned());
        if name.is_some_and(|name| name.is_empty()) {
            printer.now().ledger.whole(element.span(), Outcome::Exact, "", "");
        }
    }
    for property in &coordinator.configuration {
        let Some(name) = &property.name else { continue };
        if name.as_str().is_empty() {
            continue;
        }
        let known = said::say(printer, name);
        let name = known.known().unwrap_or(name.as_str()).to_owned();
        let text = match &property.value {
            Some(value) if printer.now().secrets.covers(&name) && !value.is_expr() => {
                said::hide(printer, value.span(), &name)
            }
            Some(value) => said::say(printer, value),
            None => P::Text::default(),
        };
        texts.insert(name, text);
    }
    texts
}
