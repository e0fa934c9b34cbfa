//! Workflows without a `parameters` section.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::reads::How;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "no-parameters-section",
        group: Group::Parameters,
        summary: "a workflow reads variables but declares none",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/no-parameters-section.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.workflow().filter(|_| facts.parameters().is_none()) else { return };
    let mut names: Vec<&str> = facts
        .reads
        .iter()
        .filter(|read| read.how == How::Variable)
        .map(|read| read.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return;
    }
    let message = format!(
        "this workflow reads {} and declares none",
        match names.len() {
            1 => "one variable".to_owned(),
            n => format!("{n} variables"),
        }
    );
    out.push(
        Diagnostic::new(&RULE.kind, root.name_span(), message)
            .help("declare them in `parameters` (from version 0.4); `ankus params` lists them"),
    );
}
