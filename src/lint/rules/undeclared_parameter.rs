//! Variables that are not declared.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads::How;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "undeclared-parameter",
        group: Group::Parameters,
        summary: "a variable that is read but not declared in `parameters`",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/undeclared-parameter.md"),
    },
    check,
};

/// Names that every application reads and that are usually not declared.
const COMMON: [&str; 4] = ["nameNode", "jobTracker", "resourceManager", "queueName"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some((_, parameters)) = facts.parameters() else { return };
    let declared: HashSet<&str> =
        parameters.iter().map(|parameter| parameter.name.text.as_ref()).collect();
    let mut seen: HashSet<&str> = HashSet::new();
    for read in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let name = read.name.as_str();
        let constant = name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        if declared.contains(name) || constant || COMMON.contains(&name) || !seen.insert(name) {
            continue;
        }
        let message = format!("`{name}` is read but not declared");
        out.push(
            Diagnostic::new(&RULE.kind, read.span, message)
                .help("declare it in `parameters`: the server then requires it at submission"),
        );
    }
}
