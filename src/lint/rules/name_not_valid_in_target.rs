//! Names that are not valid in the target.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "name-not-valid-in-target",
        group: Group::Migration,
        summary: "the name of the application is not valid in the target",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/name-not-valid-in-target.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.tree.root() else { return };
    let Some(attribute) = root.attribute("name") else { return };
    let name = attribute.value().text;
    let target = facts.settings.migration.to.as_deref().unwrap_or("the target");
    let (valid, rule): (bool, &str) = match target {
        "argo" => (
            name.len() <= 63
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
            "at most 63 lowercase letters, digits and hyphens",
        ),
        "stepfunctions" => (
            name.len() <= 80
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)),
            "at most 80 letters, digits, hyphens and underscores",
        ),
        _ => (
            name.len() <= 250
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)),
            "at most 250 letters, digits, hyphens, underscores and dots",
        ),
    };
    if valid || name.is_empty() {
        return;
    }
    let message = match is_open(&name) {
        true => {
            format!("`{name}` can be a different name in each run, but {target} needs a fixed one")
        }
        false => format!("`{name}` is not a valid name in {target}"),
    };
    out.push(Diagnostic::new(&RULE.kind, attribute.value_span(), message).help(
        match facts.settings.migration.to.as_deref() {
            Some(target) => format!("{target} accepts {rule}"),
            None => format!("Airflow accepts {rule}; others are stricter"),
        },
    ));
}
