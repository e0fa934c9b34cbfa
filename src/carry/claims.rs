//! Claims that the printers of whole graphs share, and arguments that are secrets.

use super::ledger::{Ledger, Outcome};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::ir::workflow::Shape;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use crate::syntax::xml::{Element, Tree};
use std::collections::BTreeMap;

/// Arguments that are secrets because the option before them says so (`--password`), with names for them: no text shows it
/// where each of them stands alone.
pub(super) fn secret_arguments(analysis: &Analysis, secrets: &Secrets) -> BTreeMap<Span, String> {
    let mut found: BTreeMap<Span, String> = BTreeMap::new();
    for (_, node, action) in analysis.flow().workflow.actions() {
        let arguments = action.body.as_ref().map_or(&[][..], |body| body.arguments());
        let mut number = 1;
        for pair in arguments.windows(2) {
            let (option, value) = (pair[0].as_str(), &pair[1]);
            let name = option.trim_start_matches('-');
            let is_option = option.starts_with('-') && !option.contains('=');
            let is_shown = value.is_expr() || value.as_str().starts_with('-');
            if !is_option || is_shown || value.as_str().is_empty() || !secrets.covers(name) {
                continue;
            }
            let last = if number > 1 { format!("_{number}") } else { String::new() };
            found.insert(value.span(), format!("{}_{name}{last}", node.name.text));
            number += 1;
        }
    }
    found
}

/// The element of an event of a coordinator, by its name, among the sections that may hold it.
pub(super) fn event<'a>(root: Element<'a>, sections: &[&str], name: &str) -> Option<Element<'a>> {
    let mut events = sections
        .iter()
        .filter_map(|section| root.child(section))
        .flat_map(|found| found.elements());
    events.find(|event| event.attribute("name").is_some_and(|own| own.value().text == name))
}

/// What a coordinator says of times and data, where nothing is known of when it runs.
pub(super) fn unscheduled(ledger: &mut Ledger, tree: &Tree, coordinator: &Coordinator, why: &str) {
    let remedy = match why.starts_with("a server refuses") {
        true => "mend it first: `ankus check` says what is wrong",
        false => "give the properties with -P FILE or -D NAME=VALUE, and convert again",
    };
    let parts = [&coordinator.frequency, &coordinator.start, &coordinator.end];
    for scalar in parts.into_iter().chain([&coordinator.timezone]).flatten() {
        ledger.claim(scalar.span(), Outcome::None, why, remedy);
    }
    for name in ["controls", "datasets", "input-events", "output-events", "input-logic"] {
        if let Some(element) = tree.root().and_then(|root| root.child(name)) {
            ledger.whole(element.span(), Outcome::None, why, remedy);
        }
    }
}

/// The path of a sub-workflow whose definition is not converted with this one.
pub(super) fn unknown_start(
    ledger: &mut Ledger,
    path: &Scalar,
    properties: &BTreeMap<String, String>,
) {
    let (reason, remedy) = match super::resolve(path.as_str(), properties).contains("${") {
        true => {
            ("which workflow it starts is known only when it runs", "name the one that is meant")
        }
        false => ("the workflow that it starts does not lie around this one", "convert it as well"),
    };
    ledger.claim(path.span(), Outcome::None, reason, remedy);
}

/// Whether what a coordinator gives its workflow goes on to a sub-workflow that takes all of it: its path is its own, and a secret is
/// written nowhere.
pub(super) fn is_passed_on(name: &str, secrets: &Secrets) -> bool {
    name != "oozie.wf.application.path" && !secrets.covers(name)
}

/// Nodes and transitions, which are the same by construction, and what belongs to none; `credentials` says what becomes of those.
pub(super) fn flow(ledger: &mut Ledger, analysis: &Analysis, credentials: (&str, &str)) {
    let flow = analysis.flow();
    for (id, node) in flow.workflow.nodes() {
        if !flow.reach.is_reachable(id) {
            let reason = "no run enters it, so that nothing is made of it";
            ledger.whole(node.span, Outcome::Exact, reason, "");
            continue;
        }
        ledger.exact(node.name.span);
        ledger.exact(node.tag);
        for exit in flow.workflow.exits(id) {
            ledger.exact(exit.span);
            ledger.exact(exit.target.span);
        }
        if node.shape == Shape::Join || node.shape == Shape::Start {
            ledger.whole(node.span, Outcome::Exact, "", "");
        }
    }
    let workflow = flow.workflow;
    if let Some(name) = analysis.tree().root().and_then(|root| root.attribute("name")) {
        ledger.exact(name.value_span());
    }
    for property in &workflow.parameters {
        ledger.whole(property.span, Outcome::Exact, "", "");
    }
    for credential in &workflow.credentials {
        let (reason, remedy) = credentials;
        ledger.whole(credential.span, Outcome::Approximate, reason, remedy);
    }
    if let Some(global) = &workflow.global {
        if workflow.actions().next().is_none() {
            ledger.whole(global.span, Outcome::Exact, "no action uses it", "");
        }
        if let Some(launcher) = &global.launcher {
            let reason = "there is no launcher job";
            ledger.whole(launcher.span, Outcome::Approximate, reason, "");
        }
    }
}
