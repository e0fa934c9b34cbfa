//! Paths of the wrong file.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::name_of;
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-is-file",
        group: Group::Parameters,
        summary: "the application path names a file of another language than its property",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0505", "E0506"],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-is-file.md"),
    },
    check,
};

const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let Some(index) = PATH_KEYS.iter().position(|key| *key == entry.name) else { continue };
            let file = name_of(entry.value.trim());
            let Some(found) = NAMES.iter().position(|name| *name == file) else { continue };
            if found == index {
                continue;
            }
            let message = format!("`{}` names a `{file}`", entry.name);
            out.push(
                Diagnostic::new(&RULE.kind, entry.value_span, message)
                    .help(format!("use `{}`, or name the `{}`", PATH_KEYS[found], NAMES[index]))
                    .in_file(source.path.clone()),
            );
        }
    }
}
