//! Quotes that are never closed.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-options-quoting",
        group: Group::Actions,
        summary: "a quote in `spark-opts` is never closed",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/spark-options-quoting.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        let Some(text) = action.text("spark-opts") else { continue };
        let plain = masked(&text.text);
        let mut open = None;
        for (at, byte) in plain.bytes().enumerate().filter(|(_, byte)| *byte == b'"') {
            open = if open.is_some() { None } else { Some((at, byte)) };
        }
        let Some((at, _)) = open else { continue };
        let message = "this quote is never closed";
        out.push(Diagnostic::new(&RULE.kind, text.source(at..at + 1), message).help(
            "close it after the value; quotes are removed only if they enclose the whole value",
        ));
    }
}
