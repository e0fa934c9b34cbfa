//! The same properties in most actions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use std::collections::{BTreeMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "repeated-configuration",
        group: Group::Style,
        summary: "most actions repeat the same properties",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/repeated-configuration.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let actions: Vec<_> = {
        let takes =
            |action: &&crate::lint::Action<'_>| action.runs_on_cluster() || action.kind() == "fs";
        facts.actions.iter().filter(takes).collect()
    };
    // Before schema 0.4, there is no `global` section.
    let old = ["0.1", "0.2", "0.2.5", "0.3"].contains(&facts.version());
    if actions.len() < 3 || old {
        return;
    }
    let mut counts: BTreeMap<(&str, &str), (usize, crate::source::Span)> = BTreeMap::new();
    for action in &actions {
        let mut own: HashSet<(&str, &str)> = HashSet::new();
        for property in facts.configuration(action) {
            let Some(value) = &property.value else { continue };
            let key = (property.name.text.as_ref(), value.text.trim());
            if key.1.is_empty() || !own.insert(key) {
                continue;
            }
            counts.entry(key).or_insert((0, property.name.span())).0 += 1;
        }
    }
    let mut shared: Vec<_> = counts
        .into_iter()
        .filter(|(_, (count, _))| *count >= 3 && count * 4 > actions.len() * 3)
        .map(|((name, _), (count, span))| (span, name, count))
        .collect();
    shared.sort();
    let Some((span, name, count)) = shared.first() else { return };
    let others = match shared.len() {
        1 => String::new(),
        2 => " and one other property".to_owned(),
        n => format!(" and {} other properties", n - 1),
    };
    let message =
        format!("{count} of {} actions set `{name}`{others} to the same value", actions.len());
    out.push(
        Diagnostic::new(&RULE.kind, *span, message)
            .help("set it once, in the `configuration` of a `global` section"),
    );
}
