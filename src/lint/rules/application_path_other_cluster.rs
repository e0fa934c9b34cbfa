//! Applications on another cluster.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::PATH_KEYS;
use crate::lint::paths::literal_authorities;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "application-path-other-cluster",
        group: Group::Parameters,
        summary: "the application is on another cluster than `nameNode`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0901", "E0504"],
        fix: None,
        page: include_str!("../../../docs/rules/application-path-other-cluster.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        let last = |name: &str| entries.iter().rev().find(|entry| entry.name == name);
        let Some(name_node) = last("nameNode") else { continue };
        let schemes = ["hdfs", "webhdfs", "viewfs"];
        let Some((_, home)) = literal_authorities(&name_node.value, &schemes).into_iter().next()
        else {
            continue;
        };
        for entry in PATH_KEYS.iter().filter_map(|key| last(key)) {
            if entry.value.trim_start().starts_with("file:") {
                let message = format!(
                    "`{}` names a folder on a local disk, but the server reads the cluster of `nameNode`",
                    entry.name
                );
                out.push(
                    Diagnostic::new(&RULE.kind, entry.value_span, message)
                        .likely()
                        .help("copy the application there, and begin the path with `${nameNode}`")
                        .in_file(source.path.clone()),
                );
                continue;
            }
            let Some((_, other)) = literal_authorities(&entry.value, &schemes).into_iter().next()
            else {
                continue;
            };
            if home == other {
                continue;
            }
            let message = format!("`{}` names another cluster than `nameNode`", entry.name);
            out.push(
                Diagnostic::new(&RULE.kind, entry.value_span, message)
                    .note_in(source.path.clone(), name_node.value_span, "the other cluster")
                    .help("begin the path with `${nameNode}`")
                    .in_file(source.path.clone()),
            );
        }
    }
}
