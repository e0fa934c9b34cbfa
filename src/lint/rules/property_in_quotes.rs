//! Quotes around values.

use crate::diag::{Diagnostic, Edit, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::properties::Entry;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-in-quotes",
        group: Group::Parameters,
        summary: "quotes around a value in a properties file, which become part of the value",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/property-in-quotes.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let raw = source.slice(entry.value_span).trim_end();
            let Some(inner) = unquoted(raw).filter(|inner| is_plain(entry, inner)) else {
                continue;
            };
            let start = entry.value_span.start as usize;
            let span = Span::new(start, start + raw.len());
            let message = format!("the quotes are part of the value of `{}`", entry.name);
            let text = inner.to_owned();
            let edit = Edit { file: Some(source.path.clone()), span, text };
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .likely()
                    .in_file(source.path.clone())
                    .fix(Fix {
                        title: "Remove the quotes".to_owned(),
                        safety: Safety::Guess,
                        edits: vec![edit],
                    }),
            );
        }
    }
}

fn unquoted(raw: &str) -> Option<&str> {
    let quote = raw.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = raw[1..].strip_suffix(quote)?;
    (!inner.is_empty() && !inner.contains(['\'', '"', ' ', '\t'])).then_some(inner)
}

/// Whether the quotes are wrong: Oozie itself reads the property, or it is a path, an address or a class. A value that
/// is passed to a program may need quotes there: a date in a query, a separator.
fn is_plain(entry: &Entry, inner: &str) -> bool {
    const READ: [&str; 8] = [
        "namenode",
        "jobtracker",
        "resourcemanager",
        "queuename",
        "queue",
        "username",
        "oozielibpath",
        "hdfs",
    ];
    let name = entry.name.as_str();
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let is_path = inner.contains("://")
        || inner.starts_with('/') && inner.len() > 1
        || inner.starts_with("${") && inner.contains("}/");
    name.starts_with("oozie.")
        || name.starts_with("mapred")
        || READ.contains(&letters.as_str())
        || is_path
}
