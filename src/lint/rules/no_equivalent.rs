//! Constructs that the target cannot express.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::Language;
use crate::lint::facts::transitions;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Element;
use std::collections::{HashMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "no-equivalent",
        group: Group::Migration,
        summary: "a construct that the target cannot express",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/no-equivalent.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let target = facts.settings.migration.to.as_deref().unwrap_or("other engines");
    let mut report = |span, what: &str, instead: &str| {
        let message = format!("{what} has no counterpart in {target}");
        out.push(Diagnostic::new(&RULE.kind, span, message).help(instead.to_owned()));
    };
    match facts.language {
        Language::Workflow => {
            // A handler that cleans up and then fails the job becomes a task that runs on failure, which other engines
            // have too.
            let ending = leading_to_end(facts);
            for (way, target) in transitions(facts) {
                let name = target.value().text;
                if *way == "error" && ending.contains(name.as_ref()) {
                    report(
                        target.value_span(),
                        "success after a failure",
                        "a task that runs on failure is emitted; the run counts as failed unless you change that",
                    );
                }
            }
        }
        Language::Coordinator => {
            let Some(root) = facts.tree.root() else { return };
            for element in root.descendants() {
                match element.name() {
                    "execution"
                        if ["LAST_ONLY", "NONE"]
                            .contains(&element.text().trimmed().text.as_ref()) =>
                    {
                        report(
                            element.text().trimmed().span(),
                            "skipping all runs except the last",
                            "catching up is switched off, which skips at other times",
                        );
                    }
                    "input-logic" => {
                        report(
                            element.name_span(),
                            "input logic",
                            "one sensor per dataset is emitted, joined by a task to be written",
                        );
                    }
                    _ => {}
                }
            }
            for (_, text) in facts.texts() {
                for function in ["coord:latest", "coord:future"] {
                    if let Some(at) = text.text.find(function) {
                        let span = text.source(at..at + function.len());
                        report(
                            span,
                            &format!("`{function}`"),
                            "a sensor for the instance of the run is emitted instead",
                        );
                    }
                }
            }
        }
        _ => {}
    }
}

/// Returns the nodes from which a job can reach the end.
fn leading_to_end(facts: &Facts<'_>) -> HashSet<String> {
    let named = |element: Element<'_>| Some(element.attribute("name")?.value().text.into_owned());
    let mut before: HashMap<String, Vec<String>> = HashMap::new();
    for node in facts.nodes(&["action", "decision", "fork", "join"]) {
        let Some(name) = named(node) else { continue };
        for element in node.descendants() {
            let way = match element.name() {
                "ok" | "error" | "case" | "default" | "join" => "to",
                "path" => "start",
                _ => continue,
            };
            if let Some(target) = element.attribute(way) {
                before.entry(target.value().text.into_owned()).or_default().push(name.clone());
            }
        }
    }
    let mut todo: Vec<String> = facts.nodes(&["end"]).filter_map(named).collect();
    let mut found = HashSet::new();
    while let Some(name) = todo.pop() {
        if let Some(earlier) = before.remove(&name) {
            todo.extend(earlier);
        }
        found.insert(name);
    }
    found
}
