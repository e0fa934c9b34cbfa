//! Moves whose target folder exists, so that the source ends up inside it.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::operations;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "fs-move-onto-existing",
        group: Group::Actions,
        summary: "a move to a folder that already exists at that point",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/fs-move-onto-existing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "fs") {
        let mut made: HashMap<String, Span> = HashMap::new();
        for (command, attribute) in operations(action) {
            let value = attribute.value();
            let path = value.text.trim().trim_end_matches('/').to_owned();
            match command {
                "mkdir" => {
                    made.entry(path).or_insert(attribute.value_span());
                }
                "delete" => {
                    made.remove(&path);
                }
                "target" if !value.text.trim().ends_with('/') => {
                    let Some(at) = made.get(&path) else { continue };
                    let message = "the folder already exists here, so the source is moved into it";
                    out.push(
                        Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                            .note(*at, "made here")
                            .help("create only the parent folder, or, if this is intended, end the target with a `/`"),
                    );
                }
                _ => {}
            }
        }
    }
}
