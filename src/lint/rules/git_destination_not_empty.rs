//! Clones into folders that are not empty.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "git-destination-not-empty",
        group: Group::Actions,
        summary: "a repository is cloned into a folder that something else fills",
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
    let mut filled: Vec<(String, crate::source::Span)> = Vec::new();
    for action in &facts.actions {
        if action.kind() == "git" {
            let Some(text) = action.text("destination-uri") else { continue };
            let path = word(&text.text);
            let emptied = operations(action).iter().any(|(command, attribute)| {
                *command == "delete" && word(&attribute.value().text) == path
            });
            if let Some((_, at)) =
                filled.iter().find(|(known, _)| *known == path).filter(|_| !emptied)
            {
                let message = "something else is in this folder already";
                out.push(
                    Diagnostic::new(&RULE.kind, text.span(), message)
                        .note(*at, "put there here")
                        .help("delete it in `prepare`, or clone into a folder of its own"),
                );
            }
            filled.push((path, text.span()));
        } else {
            for (command, attribute) in operations(action) {
                if matches!(command, "touchz" | "target") {
                    filled.push((word(&attribute.value().text), attribute.value_span()));
                }
            }
        }
    }
}
