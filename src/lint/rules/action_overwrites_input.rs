//! Actions that write to their input.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::endpoints::{inputs, outputs};
use crate::lint::paths::behind_file_system;
use crate::lint::{Facts, Rule};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "action-overwrites-input",
        group: Group::Actions,
        summary: "an action writes to its own input",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/action-overwrites-input.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // A Hive statement may replace the data that it has read.
    for action in facts.actions.iter().filter(|a| a.is(&["map-reduce", "pig", "distcp"])) {
        let inputs = inputs(action);
        let mut read = HashMap::new();
        for (paths, span) in &inputs {
            for path in paths.split(',') {
                read.entry(behind_file_system(path)).or_insert(*span);
            }
        }
        for (path, span) in outputs(action) {
            let path = behind_file_system(&path);
            let Some(input) = read.get(path).filter(|_| !path.is_empty()) else { continue };
            let message = "the action writes to its own input";
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .note(*input, "the input is named here")
                    .help("choose another location for the output"),
            );
        }
    }
}
