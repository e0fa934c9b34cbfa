//! Blanks in values.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::name_of;
use crate::lint::Language;
use crate::lint::facts::masked;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "configuration-value-whitespace",
        group: Group::Parameters,
        summary: "a line break in a value, or whitespace around a value that is kept",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/configuration-value-whitespace.md"),
    },
    check,
};

/// Endings of the names of properties whose value is a single word.
const SINGLE: [&str; 8] =
    [".class", ".dir", "dir", ".path", "path", ".uri", ".queuename", ".queue.name"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // The server trims values in a definition and in `config-default.xml`, but not in a job-xml file.
    let kept =
        facts.language == Language::Configuration && name_of(facts.path) != "config-default.xml";
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            let (name, Some(value)) = (property.name.text.as_ref(), &property.value) else {
                continue;
            };
            if kept && value.text.trim() != value.text && !value.text.trim().is_empty() {
                let message = format!("the whitespace around it is part of the value of `{name}`");
                out.push(
                    Diagnostic::new(&RULE.kind, value.span(), message)
                        .help("write the value directly between the tags"),
                );
                continue;
            }
            if !SINGLE.iter().any(|end| name.ends_with(end)) {
                continue;
            }
            let value = value.trim();
            if let Some(at) = masked(&value.text).find('\n') {
                let message = format!("the line break is part of the value of `{name}`");
                out.push(
                    Diagnostic::new(&RULE.kind, value.source(at..at + 1), message)
                        .help("write the value on one line"),
                );
            }
        }
    }
}
