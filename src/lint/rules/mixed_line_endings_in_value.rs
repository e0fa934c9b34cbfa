//! Carriage returns in values.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "mixed-line-endings-in-value",
        group: Group::Syntax,
        summary: "a carriage return is part of a value",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/mixed-line-endings-in-value.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Line ends of the file are parsed as line feeds, so a carriage return in a value was written as a character
    // reference.
    if memchr::memmem::find(facts.tree.text().as_bytes(), b"&#").is_none() {
        return;
    }
    for (_, text) in facts.texts() {
        let Some(at) = text.text.find('\r') else { continue };
        let span = text.source(at..at + 1);
        out.push(
            Diagnostic::new(&RULE.kind, span, "a carriage return is part of this value")
                .help("few programs treat it as the end of a line")
                .fix(Fix::guess("Remove the carriage return", span, "")),
        );
    }
}
