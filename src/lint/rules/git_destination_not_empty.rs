//! Clones into folders that are not empty.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "git-destination-not-empty",
        group: Group::Actions,
        summary: "a repository is cloned into a folder that something else writes to",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/git-destination-not-empty.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let word = |text: &str| text.trim().trim_end_matches('/').to_owned();
    let mut filled: HashMap<String, Span> = HashMap::new();
    for action in &facts.actions {
        if action.kind() == "git" {
            let Some(text) = action.text("destination-uri") else { continue };
            let path = word(&text.text);
            let emptied = operations(action).iter().any(|(command, attribute)| {
                *command == "delete" && word(&attribute.value().text) == path
            });
            if let Some(at) = filled.get(&path).filter(|_| !emptied) {
                let message = "something else is in this folder already";
                out.push(
                    Diagnostic::new(&RULE.kind, text.span(), message)
                        .note(*at, "it is written here")
                        .help("delete it in `prepare`, or clone into a separate folder"),
                );
            }
            filled.entry(path).or_insert(text.span());
        } else {
            for (command, attribute) in operations(action) {
                if matches!(command, "touchz" | "target") {
                    let path = word(&attribute.value().text);
                    filled.entry(path).or_insert(attribute.value_span());
                }
            }
        }
    }
}
