//! Application paths that name the wrong file.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::{self, name_of};
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};
use crate::syntax::properties::Entry;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-is-file",
        group: Group::Parameters,
        summary: "the application path names a file of another kind than its property",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0505", "E0506"],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-is-file.md"),
    },
    check,
};

const NAMES: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];
/// The start tags of the definitions that the properties name.
const ROOTS: [&str; 3] = ["<workflow-app", "<coordinator-app", "<bundle-app"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let Some(index) = PATH_KEYS.iter().position(|key| *key == entry.name) else { continue };
            let file = name_of(whole(entries, entry.value.trim()));
            let of_text = || {
                let beside = files::join(files::folder_of(&source.path), file)?;
                let text = &facts.files.text(&beside).filter(|_| file.ends_with(".xml"))?.text;
                ROOTS.iter().position(|root| text.contains(root))
            };
            let named = NAMES.iter().position(|name| *name == file);
            let Some(found) = named.or_else(of_text) else { continue };
            if found == index {
                continue;
            }
            let message = match named {
                Some(_) => format!("`{}` names a `{file}`", entry.name),
                None => format!("`{}` names `{file}`, a `{}`", entry.name, &ROOTS[found][1..]),
            };
            out.push(
                Diagnostic::new(&RULE.kind, entry.value_span, message)
                    .help(format!("use `{}`, or name the `{}`", PATH_KEYS[found], NAMES[index]))
                    .in_file(source.path.clone()),
            );
        }
    }
}

/// Returns the value of another property if `value` is only a reference to it, or else `value`.
fn whole<'e>(entries: &'e [Entry], value: &'e str) -> &'e str {
    let name = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let other = name.and_then(|name| entries.iter().find(|entry| entry.name == name));
    other.map_or(value, |other| other.value.trim())
}
