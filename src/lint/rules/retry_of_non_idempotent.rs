//! Retries of actions that are not safe to run twice.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "retry-of-non-idempotent",
        group: Group::Actions,
        summary: "retries of an action that is not safe to run twice",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/retry-of-non-idempotent.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let Some(attribute) = action.element.attribute("retry-max") else { continue };
        if attribute.value().text.trim() == "0" {
            continue;
        }
        let exports = |name| {
            let found = action.texts(name).find(|text| {
                let mut words = text.text.split_whitespace().filter(|word| *word != "sqoop");
                words.next() == Some("export")
            });
            found.is_some()
        };
        let message = match action.kind() {
            "fs" if action.each("move").next().is_some() => {
                "a repeated move no longer finds its source"
            }
            "sqoop" if exports(&["command"]) || exports(&["arg"]) => {
                "a repeated export writes rows that the first attempt has already written"
            }
            "email" => "a repeated mail arrives twice",
            _ => continue,
        };
        out.push(
            Diagnostic::new(&RULE.kind, attribute.name_span(), message)
                .help("make the action repeatable first, with a staging table or a check"),
        );
    }
}
