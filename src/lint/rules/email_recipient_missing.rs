//! Emails without recipients.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "email-recipient-missing",
        group: Group::Actions,
        summary: "an email without a recipient",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["EM001", "EM004"],
        fix: None,
        page: include_str!("../../../docs/rules/email-recipient-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "email") {
        for (name, message) in [
            ("to", "this mail has no recipient (EM001)"),
            ("cc", "an empty `cc` is not a valid address (EM004)"),
            ("bcc", "an empty `bcc` is not a valid address (EM004)"),
        ] {
            let Some(element) = action.each(name).next() else { continue };
            let text = element.text().trimmed();
            if text.text.is_empty() {
                let finding = Diagnostic::new(&RULE.kind, element.name_span(), message);
                out.push(match name {
                    "to" => finding.help("name a recipient, or make it a parameter"),
                    _ => finding.help(format!("remove `{name}`")),
                });
            }
        }
    }
}
