//! Required elements that are empty.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Element;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "required-element-empty",
        group: Group::Actions,
        summary: "a required element or path of an action is empty",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/required-element-empty.md"),
    },
    check,
};

/// Elements that an action requires or that are meaningless if empty, and that no other rule checks.
const NEEDED: [&str; 17] = [
    "exec",
    "main-class",
    "script",
    "app-path",
    "jar",
    "master",
    "host",
    "command",
    "git-uri",
    "destination-uri",
    "name-node",
    "job-tracker",
    "resource-manager",
    "query",
    "file",
    "archive",
    "job-xml",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let of_actions = facts.actions.iter().flat_map(|action| action.body.elements());
    let of_global = facts.global().into_iter().flat_map(Element::elements);
    // The applications that a coordinator or a bundle starts.
    let started = match facts.workflow() {
        None => facts.named(&["app-path"]),
        Some(_) => Vec::new(),
    };
    let all = of_actions.chain(of_global).chain(started);
    for element in all.filter(|e| NEEDED.contains(&e.name())) {
        if element.elements().next().is_some() || !element.text().text.trim().is_empty() {
            continue;
        }
        let message = format!("`{}` is empty", element.name());
        out.push(Diagnostic::new(&RULE.kind, element.name_span(), message).help(
            match element.name() {
                "file" | "archive" | "job-xml" => "name a file, or remove the element",
                "app-path" => "name the definition that is started",
                _ => "the action fails without it",
            },
        ));
    }
    // An empty path fails when the operation begins.
    for (_, attribute) in facts.actions.iter().flat_map(operations) {
        if attribute.value().text.trim().is_empty() {
            let message = format!("`{}` is empty", attribute.qualified_name());
            out.push(
                Diagnostic::new(&RULE.kind, attribute.name_span(), message)
                    .help("the action fails without it"),
            );
        }
    }
}
