//! Old names of Hadoop properties.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::known::renamed;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "deprecated-hadoop-property",
        group: Group::Parameters,
        summary: "a property name that Hadoop has replaced",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/deprecated-hadoop-property.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen: HashSet<String> = HashSet::new();
    for configuration in facts.configurations().iter().copied() {
        let properties = facts.block(configuration);
        let names: HashSet<&str> = properties.iter().map(|p| p.name.text.as_ref()).collect();
        for property in properties {
            let name = property.name.text.as_ref();
            let Some(new) = renamed(name).filter(|_| !name.ends_with("queue.name")) else {
                continue;
            };
            if !seen.insert(name.to_owned()) {
                continue;
            }
            let message = format!("Hadoop calls this `{new}` now");
            let finding = Diagnostic::new(&RULE.kind, property.name.span(), message);
            // If both names are in one block, their order determines which one counts.
            let taken = names.contains(new);
            let fix = Fix::guess(format!("Rename to `{new}`"), property.name.span(), new);
            out.push(if taken { finding } else { finding.fix(fix) });
        }
    }
}
