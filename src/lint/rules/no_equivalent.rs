//! What no other engine has.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::Language;
use crate::lint::facts::transitions;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

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
    let target = facts.settings.migration.as_deref().unwrap_or("other engines");
    let mut report = |span, what: &str, instead: &str| {
        let message = format!("{what} has no counterpart in {target}");
        out.push(Diagnostic::new(&RULE.kind, span, message).help(instead.to_owned()));
    };
    match facts.language {
        Language::Workflow => {
            let kills: HashSet<String> = facts
                .nodes(&["kill"])
                .filter_map(|kill| kill.attribute("name"))
                .map(|name| name.value().text.into_owned())
                .collect();
            for (way, target) in transitions(facts) {
                let name = target.value().text;
                if way == "error" && !kills.contains(name.as_ref()) {
                    report(
                        target.value_span(),
                        "going on after a failure",
                        "a task that runs on failure is emitted, and the run counts as failed unless it is told otherwise",
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
                            "skipping all runs but the last",
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
