//! Attachments that cannot be read.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "email-attachment-unsupported",
        group: Group::Actions,
        summary: "an attachment that is not on the cluster's file system",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["EM008"],
        fix: None,
        page: include_str!("../../../docs/rules/email-attachment-unsupported.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "email") {
        let Some(text) = action.text("attachment") else { continue };
        let plain = masked(&text.text);
        let mut start = 0;
        for item in plain.split(',') {
            let from = start;
            start += item.len() + 1;
            if item.trim_start().starts_with("file:") {
                let message = "the server does not attach files from its own disk (EM008)";
                out.push(
                    Diagnostic::new(&RULE.kind, text.source(from..from + item.len()), message)
                        .help("put the file on the cluster's file system and name it with its URI"),
                );
            }
        }
    }
}
