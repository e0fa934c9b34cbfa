//! Elements of `global` without effect.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use std::collections::{HashMap, HashSet};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "global-without-effect",
        group: Group::Names,
        summary: "a setting of `global` that every action overrides",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/global-without-effect.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(global) = facts.global() else { return };
    // These types use nothing from `global`.
    let actions: Vec<_> =
        facts.actions.iter().filter(|action| !action.is(&["email", "ssh"])).collect();
    if actions.is_empty() {
        return;
    }
    let managers = ["job-tracker", "resource-manager"];
    for element in global.elements() {
        let names: &[&str] = match element.name() {
            "name-node" => &["name-node"],
            "job-tracker" | "resource-manager" => &managers,
            _ => continue,
        };
        if actions.iter().all(|action| names.iter().any(|name| action.body.child(name).is_some())) {
            let message = format!("every action has its own `{}`", element.name());
            out.push(
                Diagnostic::new(&RULE.kind, element.name_span(), message)
                    .help("remove it here, or from the actions"),
            );
        }
    }
    let Some(configuration) = global.child("configuration") else { return };
    let mut setting: HashMap<&str, usize> = HashMap::new();
    for action in &actions {
        let own = facts.configuration(action).map(|own| own.name.text.as_ref());
        for name in own.collect::<HashSet<&str>>() {
            *setting.entry(name).or_default() += 1;
        }
    }
    for property in facts.block(configuration) {
        if setting.get(property.name.text.as_ref()) == Some(&actions.len()) {
            let message = format!("every action sets `{}` itself", property.name.text);
            out.push(
                Diagnostic::new(&RULE.kind, property.name.span(), message)
                    .help("remove it here, or from the actions"),
            );
        }
    }
}
