//! Secrets that are passed as arguments.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::secrets::{Given, Place, secrets};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "password-on-command-line",
        group: Group::Security,
        summary: "a secret is passed as an argument, visible in process listings",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/password-on-command-line.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for secret in secrets(facts).iter().filter(|secret| secret.given == Given::Expression) {
        let Place::Option(option) = &secret.place else { continue };
        let message = format!("`{option}` passes a secret as an argument");
        out.push(
            Diagnostic::new(&RULE.kind, secret.span, message)
                .about(facts.slice(secret.span))
                .help("pass the name of a protected file instead, such as `--password-file`"),
        );
    }
}
