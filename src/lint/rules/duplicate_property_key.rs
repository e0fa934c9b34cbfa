//! Keys that occur twice.

use crate::diag::Edit;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "duplicate-property-key",
        group: Group::Parameters,
        summary: "a key is set twice in a properties file; the last value is used",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/duplicate-property-key.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        // The finding is at the later one, which was probably added.
        let mut before: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            let Some(earlier) = before.insert(&entry.name, index) else { continue };
            // A line that was meant as a comment does not count.
            if super::property_without_value::comment(&entry.name).is_some() {
                continue;
            }
            let earlier = &entries[earlier];
            let message = format!("`{}` is already set above; only this value is used", entry.name);
            let mut finding = Diagnostic::new(&RULE.kind, entry.name_span, message)
                .naming([entry.name.as_str()])
                .note_in(source.path.clone(), earlier.name_span, "this value is never used")
                .in_file(source.path.clone());
            // If this line is removed, findings about its value are moot.
            finding.explains = Some(entry.value_span);
            let line = Span::new(
                earlier.span.start as usize,
                line_end(&source.text, earlier.span.end as usize),
            );
            let edit = Edit { file: Some(source.path.clone()), span: line, text: String::new() };
            let title = "Remove the value that is never used".to_owned();
            // If the values differ, the unused one may be the one that was meant.
            let safety = match earlier.value == entry.value {
                true => Safety::Safe,
                false => Safety::Guess,
            };
            out.push(finding.fix(Fix { title, safety, edits: vec![edit] }));
        }
    }
}

/// Returns the offset after the line end at `from`, if there is one.
fn line_end(text: &str, from: usize) -> usize {
    let rest = &text[from..];
    let ends =
        if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with(['\n', '\r'])) };
    from + ends
}
