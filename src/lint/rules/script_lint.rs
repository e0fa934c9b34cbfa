//! Findings of ShellCheck in shipped scripts.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "script-lint",
        group: Group::Actions,
        summary: "ShellCheck reports something in a shipped script",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/script-lint.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut told = BTreeSet::new();
    for action in facts.actions.iter().filter(|action| action.is(&["shell"])) {
        for text in action.texts(&["exec", "file"]) {
            let path = text.text.split('#').next().unwrap_or_default().trim();
            if path.is_empty() || is_open(path) || path.starts_with('/') {
                continue;
            }
            let Some(path) = facts.beside(path) else { continue };
            if !told.insert(path.clone()) {
                continue;
            }
            for remark in facts.files.remarks(&path) {
                out.push(
                    Diagnostic::new(&RULE.kind, remark.span, remark.words.clone())
                        .in_file(path.clone())
                        .note_in(facts.path, text.span(), "the script is run for this"),
                );
            }
        }
    }
}
