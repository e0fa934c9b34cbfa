//! Malformed hosts of `ssh` actions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "ssh-host-malformed",
        group: Group::Actions,
        summary: "a malformed host of an ssh action",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/ssh-host-malformed.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "ssh") {
        let Some(text) = action.text("host") else { continue };
        let plain = masked(&text.text);
        let message = if plain.is_empty() {
            "the action has no host"
        } else if plain.contains("://") {
            "a host cannot have a scheme"
        } else if plain.contains(char::is_whitespace) {
            "a host cannot contain spaces"
        } else if plain.matches('@').count() > 1 || plain.starts_with('@') || plain.ends_with('@') {
            "this is not of the form `user@host`"
        } else if plain.rsplit('@').next().is_some_and(|host| host.matches(':').count() == 1) {
            "a port cannot be given here"
        } else {
            continue;
        };
        out.push(
            Diagnostic::new(&RULE.kind, text.span(), message)
                .help("write `user@host`, or `host` to log in as the user of the job"),
        );
    }
}
