//! Blanks at the end of values.

use crate::diag::Edit;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-trailing-space",
        group: Group::Parameters,
        summary: "spaces at the end of a value in a properties file, which become part of the value",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/property-trailing-space.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files().iter().chain(facts.near_files()) {
        for entry in entries {
            let raw = source.slice(entry.value_span);
            let kept = raw.trim_end_matches([' ', '\t']).len();
            if kept == raw.len() || kept == 0 || raw[..kept].ends_with('\\') {
                continue;
            }
            // Boolean values are trimmed when they are read.
            if ["true", "false"].iter().any(|word| word.eq_ignore_ascii_case(&raw[..kept])) {
                continue;
            }
            let start = entry.value_span.start as usize;
            let span = Span::new(start + kept, start + raw.len());
            let message =
                format!("the trailing whitespace is part of the value of `{}`", entry.name);
            let edit = Edit { file: Some(source.path.clone()), span, text: String::new() };
            let title = "Remove the whitespace".to_owned();
            out.push(
                Diagnostic::new(&RULE.kind, span, message).in_file(source.path.clone()).fix(Fix {
                    title,
                    safety: Safety::Guess,
                    edits: vec![edit],
                }),
            );
        }
    }
}
