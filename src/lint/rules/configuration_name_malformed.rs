//! Names in configurations that cannot be names of properties.

use crate::diag::{Diagnostic, Fault, Group, Kind, Level};
use crate::lint::known;
use crate::lint::reads::first_expression;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "configuration-name-malformed",
        group: Group::Parameters,
        summary: "a malformed name of a configuration property",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/configuration-name-malformed.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            let name = property.name.text.as_ref();
            let value = property.value.as_ref().map_or("", |value| value.text.trim());
            let is_reference = first_expression(name).is_some_and(|range| range == (0..name.len()));
            let is_value = is_reference || is_number(name);
            // A function returns values, not names.
            let is_call = is_reference && [":", "("].iter().all(|sign| name.contains(sign));
            // A plain word is hardly a property whose value is the name of a known property.
            let is_name = || {
                let is_bare = is_word(name) && !name.contains('.');
                is_bare && value.contains('.') && known::properties().any(|known| known == value)
            };
            // The variable has the name of the property that it was meant to set.
            let is_own = is_reference && name[2..name.len() - 1].trim() == value;
            let is_swapped =
                is_value && is_property(value) || is_call && is_word(value) || is_own || is_name();
            let new = |message| Diagnostic::new(&RULE.kind, property.name.span(), message).likely();
            if is_swapped {
                let message =
                    format!("name and value are swapped: the value is the name `{value}`");
                out.push(new(message).of(Fault::Swapped).naming([name]));
            } else if is_torn(name) {
                let message = format!(
                    "`{name}` contains a space, and nothing reads a property with such a name"
                );
                out.push(new(message).naming([name]));
            }
        }
    }
}

/// Whether a text looks like a property of Hadoop or Oozie.
fn is_property(text: &str) -> bool {
    ["mapred.", "mapreduce.", "oozie.", "yarn.", "dfs.", "hive."]
        .iter()
        .any(|start| text.starts_with(start))
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Whether a text is a typical value, which is never the name of a property.
fn is_number(text: &str) -> bool {
    matches!(text, "true" | "false" | "DEBUG" | "INFO" | "WARN" | "ERROR" | "TRACE")
        || text.starts_with("-X")
        || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text looks like the name of a user's own property.
fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Whether a text would be a valid name without the blanks in it.
fn is_torn(name: &str) -> bool {
    name.contains(char::is_whitespace)
        && name.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"._-".contains(&byte)
        })
}
