//! Lines of properties without `=`.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-without-value",
        group: Group::Parameters,
        summary: "a line of a properties file that has a name and nothing else",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/property-without-value.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let read: HashSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let raw = source.slice(entry.span).trim();
            let name = entry.name.as_str();
            // `name value` is a pair as well, for Java, and rarely meant where the value is one.
            let bare = !raw.contains(['=', ':']) && entry.value.is_empty();
            let cut = !raw.is_empty()
                && entry.value.contains('=')
                && !source
                    .slice(crate::source::Span::new(
                        entry.name_span.end as usize,
                        entry.value_span.start as usize,
                    ))
                    .contains(['=', ':']);
            // A part of a path that is nothing, where something was set once.
            let hole = raw.ends_with('=') && entry.value.is_empty() && is_part(facts, source, name);
            if !(bare || cut || hole) || name.is_empty() {
                continue;
            }
            let wanted = read.contains(name) || name.starts_with("oozie.") || cut || hole;
            if !wanted {
                continue;
            }
            let message = match cut {
                _ if hole => format!("`{name}` is empty, and a part of a path"),
                true => format!("the name ends at its first blank: this sets `{name}`"),
                false => format!("`{name}` has no `=`, and its value is empty"),
            };
            let help = match hole {
                true => "give it a value",
                false => "write `name=value`, without blanks in the name",
            };
            out.push(
                Diagnostic::new(&RULE.kind, entry.name_span, message)
                    .likely()
                    .help(help)
                    .in_file(source.path.clone()),
            );
        }
    }
}

/// Whether a property stands between the slashes of a path, in its own file or in the definition.
fn is_part(facts: &Facts<'_>, source: &crate::source::Source, name: &str) -> bool {
    let part = format!("/${{{name}}}/");
    source.text.contains(&part) || facts.tree.text().contains(&part)
}
