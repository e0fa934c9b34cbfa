//! Moves across file systems.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-move-target-scheme",
        group: Group::Actions,
        summary: "a move from one file system to another",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["FS007"],
        fix: None,
        page: include_str!("../../../docs/rules/fs-move-target-scheme.md"),
    },
    check,
};

/// Returns the scheme and authority of a URI, if they are literal.
fn authority(text: &str) -> Option<&str> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let end = rest.find('/').unwrap_or(rest.len());
    let whole = &text.trim()[..scheme.len() + 3 + end];
    (!is_open(whole)).then_some(whole)
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        for command in action.each("move") {
            let (Some(source), Some(target)) =
                (command.attribute("source"), command.attribute("target"))
            else {
                continue;
            };
            let (from, to) = (source.value().text, target.value().text);
            let (Some(from), Some(to)) = (authority(&from), authority(&to)) else { continue };
            if from == to {
                continue;
            }
            let message = format!("a move cannot leave `{from}`");
            out.push(
                Diagnostic::new(&RULE.kind, target.value_span(), message)
                    .note(source.value_span(), "it begins here")
                    .help("copy with a distcp action, then delete the source"),
            );
        }
    }
}
