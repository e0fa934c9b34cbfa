//! The same name node and resource manager in every action.

use crate::diag::{Diagnostic, Group, Kind, Level, Safety};
use crate::lint::shared::global_section;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "repeated-name-node",
        group: Group::Style,
        summary: "every action names the same cluster",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/repeated-name-node.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(shared) = global_section(facts) else { return };
    let message = format!("all {} actions name the same cluster", shared.actions);
    let finding = Diagnostic::new(&RULE.kind, shared.first, message)
        .help("set it once, in a `global` section");
    out.push(match shared.fix {
        Some(fix) => finding.fix(fix),
        None => finding,
    });
}
