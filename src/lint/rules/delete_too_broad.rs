//! Deletes of too much.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{masked, operations};
use crate::lint::paths;
use crate::lint::reads::expressions;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "delete-too-broad",
        group: Group::Actions,
        summary: "a delete that removes everything, or would if one property were empty",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/delete-too-broad.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        for (command, attribute) in operations(action) {
            if command != "delete" {
                continue;
            }
            let value = attribute.value();
            let word = value.text.trim();
            let Some(path) = paths::absolute(word) else { continue };
            let parts = paths::parts(path);
            let glob =
                |part: &&str| !part.is_empty() && part.bytes().all(|byte| b"*?".contains(&byte));
            let message = match parts.as_slice() {
                [] => "this deletes the whole file system".to_owned(),
                [only] if glob(only) => {
                    "this deletes everything at the top of the file system".to_owned()
                }
                ["user" | "tmp" | "home" | "data" | "apps"] => {
                    format!("this deletes all of `/{}`", parts[0])
                }
                ["user" | "tmp" | "home" | "data" | "apps", only] if glob(only) => {
                    format!("this deletes everything in `/{}`", parts[0])
                }
                ["user" | "home", _] => {
                    format!("this deletes the whole home folder of a user, `/{}`", parts.join("/"))
                }
                _ if is_empty_function(path) => {
                    "this deletes the whole file system if the property is not set".to_owned()
                }
                _ => continue,
            };
            out.push(
                Diagnostic::new(&RULE.kind, attribute.value_span(), message.clone())
                    .about(message)
                    .help(
                        "delete a folder of the application, and write part of its path literally",
                    ),
            );
        }
    }
}

/// Whether the whole path is a single call of `wf:conf`, which is empty if the property is not set.
fn is_empty_function(path: &str) -> bool {
    let expressions = expressions(path);
    let [range] = expressions.as_slice() else { return false };
    let rest = masked(path).replace('_', "");
    rest.trim_matches('/').is_empty() && path[range.clone()].contains("wf:conf(")
}
