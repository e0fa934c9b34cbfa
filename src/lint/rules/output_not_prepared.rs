//! Outputs that are not deleted before a rerun.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::paths::behind_file_system;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "output-not-prepared",
        group: Group::Actions,
        summary: "the output of an earlier run is still there when the action runs again",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/output-not-prepared.md"),
    },
    check,
};

/// The part of a path below a user's home folder, where relative paths lead: `out` of `/user/ana/out`.
fn below_home(path: &str) -> Option<&str> {
    let (_, below) = path.strip_prefix("/user/")?.split_once('/')?;
    Some(below)
}

const OUTPUTS: [&str; 2] = ["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let deleted: HashSet<String> = facts
        .actions
        .iter()
        .flat_map(operations)
        .filter(|(command, _)| matches!(*command, "delete" | "source"))
        .flat_map(|(_, attribute)| {
            let text = attribute.value().text;
            let path = behind_file_system(&text);
            [Some(path), below_home(path)].map(|path| path.map(str::to_owned))
        })
        .flatten()
        .collect();
    for action in facts.actions.iter().filter(|action| action.kind() == "map-reduce") {
        for output in OUTPUTS.iter().filter_map(|name| action.property(name)) {
            let path = behind_file_system(&output.text);
            // The path itself and the folders that contain it.
            let around = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
            let mut around = around.map(|end| &path[..end]);
            // A path that depends on the job is different every time.
            let unique =
                ["wf:id", "timestamp", "nominal", "wf:run"].iter().any(|part| path.contains(part));
            if unique || path.is_empty() || around.any(|known| deleted.contains(known)) {
                continue;
            }
            let message = "a rerun finds the output of the previous run and fails";
            out.push(
                Diagnostic::new(&RULE.kind, output.span(), message)
                    .help("delete it first, in the action's `prepare`"),
            );
        }
    }
}
