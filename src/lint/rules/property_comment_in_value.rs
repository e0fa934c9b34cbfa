//! Comments after a value, which become part of it.

use crate::diag::{Diagnostic, Edit, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-comment-in-value",
        group: Group::Parameters,
        summary: "a comment after a value in a properties file, which becomes part of the value",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/property-comment-in-value.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files().iter().chain(facts.near_files()) {
        for entry in entries {
            let raw = source.slice(entry.value_span);
            let Some(at) = comment(raw) else { continue };
            let kept = raw[..at].trim_end().len();
            let start = entry.value_span.start as usize;
            let (sign, end) = (start + at, start + raw.len());
            let message = format!(
                "a comment needs a line of its own: this is part of the value of `{}`",
                entry.name
            );
            let span = Span::new(start + kept, end);
            let edit = Edit { file: Some(source.path.clone()), span, text: String::new() };
            out.push(
                Diagnostic::new(&RULE.kind, Span::new(sign, end), message)
                    .likely()
                    .in_file(source.path.clone())
                    .fix(Fix {
                        title: "Remove the comment".to_owned(),
                        safety: Safety::Guess,
                        edits: vec![edit],
                    }),
            );
        }
    }
}

/// Returns the offset of a `#` that was meant to begin a comment: after a value and a blank, followed by words. A value
/// of several words may be a sentence or a command, in which the sign has another meaning.
fn comment(raw: &str) -> Option<usize> {
    let at = raw.match_indices('#').map(|(at, _)| at).find(|at| {
        let behind = &raw[at + 1..];
        raw[..*at].ends_with([' ', '\t'])
            && behind.trim_start_matches([' ', '#']).starts_with(|c: char| c.is_alphabetic())
    })?;
    let value = raw[..at].trim_end();
    (!value.is_empty() && !value.contains([' ', '\t', '\'', '"', '\\'])).then_some(at)
}
