//! Actions that disagree with `global`.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Property, Rule};
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "configuration-overrides-global",
        group: Group::Parameters,
        summary: "an action sets a property of `global` to another value",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/configuration-overrides-global.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(global) = facts.global().and_then(|global| global.child("configuration")) else {
        return;
    };
    let shared = facts.block(global);
    // The last property with a name counts.
    let shared: HashMap<&str, &Property<'_>> =
        shared.iter().map(|property| (property.name.text.as_ref(), property)).collect();
    for action in facts.actions.iter().filter(|action| !action.is(&["ssh", "email"])) {
        for property in facts.configuration(action) {
            let name = property.name.text.as_ref();
            let Some(other) = shared.get(name) else { continue };
            let (Some(own), Some(common)) = (&property.value, &other.value) else { continue };
            if own.text.trim() == common.text.trim() || own.text.trim().is_empty() {
                continue;
            }
            let message = format!("this overrides the value in `global` of `{name}`");
            out.push(
                Diagnostic::new(&RULE.kind, property.name.span(), message)
                    .note(other.name.span(), "the value for all other actions"),
            );
        }
    }
}
