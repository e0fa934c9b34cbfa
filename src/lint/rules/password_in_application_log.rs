//! Secrets that are copied to logs, messages or emails.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "password-in-application-log",
        group: Group::Security,
        summary: "a secret is copied into a message, a mail or the SLA record",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/password-in-application-log.md"),
    },
    check,
};

/// Elements whose text is shown, sent or recorded.
const SHOWN: [&str; 7] =
    ["message", "subject", "body", "to", "cc", "notification-msg", "upstream-apps"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for element in facts.named(&SHOWN) {
        let mut found = Vec::new();
        reads::of_text(&element.text(), &mut found);
        for read in found.iter().filter(|read| facts.settings.secrets.covers(&read.name)) {
            let message = format!("`{}` would be visible to anyone who reads this", read.name);
            out.push(
                Diagnostic::new(&RULE.kind, read.span, message)
                    .help("leave the secret out of the message"),
            );
        }
    }
}
