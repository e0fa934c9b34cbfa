//! Properties that nobody reads.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_submitted;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "unused-property",
        group: Group::Parameters,
        summary: "a job property that nothing in the application reads",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/unused-property.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if !is_submitted(facts) {
        return;
    }
    for (source, entries) in facts.property_files() {
        for entry in &entries {
            let name = entry.name.as_str();
            // What has a dot is read by the server or by a tool.
            if name.is_empty() || name.contains('.') {
                continue;
            }
            let word = |text: &str| {
                text.match_indices(name).any(|(at, _)| {
                    let part = |c: Option<char>| {
                        c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
                    };
                    !part(text[..at].chars().next_back())
                        && !part(text[at + name.len()..].chars().next())
                })
            };
            let elsewhere = facts.files.texts().filter(|other| other.path != source.path);
            let read = entries.iter().any(|other| other.value.contains("${") && word(&other.value))
                || elsewhere.into_iter().any(|other| word(&other.text))
                || word(facts.tree.text());
            if read {
                continue;
            }
            let message = format!("nothing in the application mentions `{name}`");
            out.push(
                Diagnostic::new(&RULE.kind, entry.name_span, message)
                    .help("remove it, unless somebody outside of this folder reads it")
                    .in_file(source.path.clone()),
            );
        }
    }
}
