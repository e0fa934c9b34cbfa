//! Actions that delete their own input.

use crate::budget;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::endpoints::inputs;
use crate::lint::paths::{LONGEST, behind_file_system};
use crate::lint::{Facts, Rule};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "prepare-deletes-input",
        group: Group::Actions,
        summary: "`prepare` deletes what the action is about to read",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/prepare-deletes-input.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        let Some(prepare) = action.body.child("prepare") else { continue };
        let inputs = inputs(action);
        // What is an input, and every folder above one.
        let mut above: HashMap<&str, usize> = HashMap::new();
        for (at, input) in inputs.iter().enumerate() {
            let paths = input.0.split(',').map(behind_file_system);
            for path in paths.filter(|path| path.len() <= LONGEST) {
                for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
                    above.entry(&path[..end]).or_insert(at);
                    if budget::spent_often() {
                        return;
                    }
                }
            }
        }
        for delete in prepare.elements().filter(|element| element.name() == "delete") {
            let Some(attribute) = delete.attribute("path") else { continue };
            let value = attribute.value();
            let path = behind_file_system(&value.text);
            let hit = above.get(path).map(|at| &inputs[*at]);
            let Some(input) = hit.filter(|_| !path.is_empty()) else { continue };
            let message = "this deletes the input of the action before it runs";
            out.push(
                Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                    .note(input.1, "the input is named here")
                    .help("delete the output instead"),
            );
        }
    }
}
