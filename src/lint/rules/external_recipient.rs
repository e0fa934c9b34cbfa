//! Email addresses in definitions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "external-recipient",
        group: Group::Security,
        summary: "mail addresses are hardcoded in the definition",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/external-recipient.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "email") {
        for text in action.texts(&["to", "cc", "bcc"]) {
            if !is_open(&text.text) && text.text.contains('@') {
                let message = "the recipient is hardcoded in the definition";
                out.push(Diagnostic::new(&RULE.kind, text.span(), message).help(
                    "make it a parameter: people move on, and test runs should not reach them",
                ));
            }
        }
    }
}
