//! Properties with several application paths.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "several-application-paths",
        group: Group::Parameters,
        summary: "the properties of a job name more than one application",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0302"],
        fix: None,
        page: include_str!("../../../docs/rules/several-application-paths.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        let mut paths = entries.iter().filter(|entry| PATH_KEYS.contains(&entry.name.as_str()));
        let Some(first) = paths.next() else { continue };
        for other in paths.filter(|other| other.name != first.name) {
            let message = format!(
                "`{}` and `{}` are both set: the server accepts one",
                other.name, first.name
            );
            out.push(
                Diagnostic::new(&RULE.kind, other.name_span, message)
                    .note_in(source.path.clone(), first.name_span, "the other one")
                    .help("keep the one for what is submitted; a coordinator names its workflow in `app-path`")
                    .in_file(source.path.clone()),
            );
        }
    }
}
