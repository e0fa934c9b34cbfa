//! Names in several styles.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::words::style;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "naming-convention",
        group: Group::Style,
        summary: "a node named in another style than most",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/naming-convention.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let names: Vec<_> = facts
        .nodes(&["action", "decision", "fork", "join", "kill", "end"])
        .filter_map(|node| node.attribute("name"))
        .filter_map(|name| Some((style(&name.value().text)?, name)))
        .collect();
    let mut counts = [0; 3];
    for (style, _) in &names {
        counts[*style as usize] += 1;
    }
    let Some(most) = counts.iter().enumerate().max_by_key(|(_, count)| **count) else { return };
    // Only a clear majority is a convention.
    if most.1 * 3 < names.len() * 2 || names.len() < 4 {
        return;
    }
    for (style, name) in names.iter().filter(|(style, _)| *style as usize != most.0) {
        let message = format!("`{}` is not in the style of most names here", name.value().text);
        let usual =
            names.iter().find(|(other, _)| other != style).map(|(_, name)| name.value().text);
        let finding = Diagnostic::new(&RULE.kind, name.value_span(), message);
        out.push(match usual {
            Some(usual) => finding.help(format!("most are in the style of `{usual}`")),
            None => finding,
        });
    }
}
