//! Permissions that let everyone write.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "world-writable",
        group: Group::Security,
        summary: "a chmod makes something writable for everyone",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/world-writable.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        for command in action.each("chmod") {
            let Some(attribute) = command.attribute("permissions") else { continue };
            let value = attribute.value();
            let others = match value.text.trim() {
                octal if octal.len() == 3 => octal.ends_with(['2', '3', '6', '7']),
                symbols if symbols.len() == 10 => symbols.as_bytes()[8] == b'w',
                _ => false,
            };
            if others {
                let message = "anyone may change or delete this";
                out.push(
                    Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                        .about("others")
                        .help("give the group what it needs, and others nothing: `770` or `750`"),
                );
            }
        }
    }
}
