//! Finds elements that all actions of a workflow have in common and that could be set once.

use super::facts::{Action, Facts};
use crate::diag::{Edit, Fix, Safety};
use crate::source::Span;
use crate::syntax::xml::Element;

/// Elements that every action repeats.
#[derive(Debug)]
pub(super) struct Shared {
    /// Number of actions that repeat them.
    pub(super) actions: usize,
    /// The first of the repeated elements.
    pub(super) first: Span,
    /// Sets them once; `None` if a schema does not allow that.
    pub(super) fix: Option<Fix>,
}

/// Returns the name node and resource manager that at least three actions have in common, if no action has different
/// ones.
pub(super) fn global_section(facts: &Facts<'_>) -> Option<Shared> {
    let root = facts.workflow()?;
    let old = ["0.1", "0.2", "0.2.5", "0.3"].contains(&facts.version());
    if old || facts.global().is_some() {
        return None;
    }
    let actions: Vec<_> = facts.actions.iter().filter(|action| action.runs_on_cluster()).collect();
    let name_nodes = same(&actions, &["name-node"])?;
    let managers = same(&actions, &["job-tracker", "resource-manager"])?;
    if actions.len() < 3 {
        return None;
    }
    let first = name_nodes[0].span();
    // Elements that the schema of an action requires cannot be moved.
    if !actions.iter().all(|action| takes_global(action)) {
        return None;
    }
    // A `global` section applies to these too, and would give them a value that they did not have.
    let others = facts.actions.iter().any(|action| match action.kind() {
        "fs" => action.body.child("name-node").is_none(),
        "sub-workflow" => true,
        _ => false,
    });
    let new = facts.version() == "1.0";
    let manager = managers[0];
    let understood = manager.name() == "job-tracker" || new;
    let whole = facts.tree.is_well_formed();
    let fix = (!others && understood && whole).then(|| {
        let start = root.child("start").or_else(|| root.elements().next());
        let place = root.child("credentials").or(start).unwrap_or(root);
        let line = facts.line_start(place.span());
        let inner = |element: Element<'_>| format!("{line}    {}", facts.slice(element.span()));
        let section =
            format!("<global>{}{}{line}</global>{line}", inner(manager), inner(name_nodes[0]));
        let removals = managers.iter().chain(&name_nodes).map(|element| Edit {
            file: None,
            span: facts.removal(element.span()),
            text: String::new(),
        });
        let insertion =
            Edit { file: None, span: Span::at(place.span().start as usize), text: section };
        let mut edits: Vec<Edit> = removals.chain([insertion]).collect();
        edits.sort_by_key(|edit| edit.span);
        Fix { title: "Set it once in `global`".to_owned(), safety: Safety::Guess, edits }
    });
    Some(Shared { actions: actions.len(), first, fix })
}

/// Returns the element with one of these names in each action, if all have the same name and the same text.
fn same<'a>(actions: &[&Action<'a>], names: &[&str]) -> Option<Vec<Element<'a>>> {
    let elements: Option<Vec<_>> = actions
        .iter()
        .map(|action| action.body.elements().find(|element| names.contains(&element.name())))
        .collect();
    let elements = elements?;
    let first = elements.first()?;
    let text = first.text().trimmed().text;
    let alike = elements
        .iter()
        .all(|element| element.name() == first.name() && element.text().trimmed().text == text);
    alike.then_some(elements)
}

/// Whether the schema of an action's body allows omitting the name node and the resource manager.
fn takes_global(action: &Action<'_>) -> bool {
    let required: &[&str] = match action.kind() {
        "java" | "map-reduce" | "pig" => &["0.1", "0.2", "0.2.5", "0.3"],
        "hive" => &["0.2", "0.3"],
        "shell" => &["0.1", "0.2"],
        "sqoop" => &["0.2", "0.3"],
        "distcp" | "spark" => &["0.1"],
        "git" => &["1.0"],
        _ => &[],
    };
    !required.contains(&action.version())
}
