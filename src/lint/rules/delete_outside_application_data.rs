//! Deletes and moves in system folders.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{Action, operations};
use crate::lint::paths;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "delete-outside-application-data",
        group: Group::Security,
        summary: "a delete or move in system folders",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/delete-outside-application-data.md"),
    },
    check,
};

/// Folders that belong to services, including everything below them.
const SYSTEM: [&[&str]; 9] = [
    &["hbase"],
    &["system"],
    &["mapred"],
    &["mr-history"],
    &["app-logs"],
    &["etc"],
    &["user", "hive"],
    &["user", "oozie", "share"],
    &["apps", "hive"],
];

/// Whether another text of an action is this path, which means that the job writes to it.
fn writes(action: &Action<'_>, path: &str) -> bool {
    let plain = |path: &str| path.trim().trim_end_matches('/').to_owned();
    let path = plain(path);
    let all = action.body.descendants().filter(|element| element.elements().next().is_none());
    all.map(|element| element.text()).any(|text| plain(&text.text) == path)
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        for (command, attribute) in operations(action) {
            if !matches!(command, "delete" | "source") {
                continue;
            }
            let value = attribute.value();
            let Some(path) = paths::absolute(&value.text) else { continue };
            let parts = paths::parts(path);
            let system = SYSTEM.iter().find(|system| parts.starts_with(system));
            // A path that the action itself writes again is its own.
            let is_written = || writes(action, &value.text);
            if let Some(system) = system.filter(|_| action.kind() == "fs" || !is_written()) {
                let message =
                    format!("`/{}` belongs to a service of the cluster", system.join("/"));
                out.push(Diagnostic::new(&RULE.kind, attribute.value_span(), message).help(
                    "let the service remove its own data, with one of its statements or commands",
                ));
            }
        }
    }
}
