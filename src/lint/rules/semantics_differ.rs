//! Constructs that behave differently in the target.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::Language;
use crate::lint::coordinator::is_same_clock;
use crate::lint::{Facts, Rule};
use ankus_lang::time::Zone;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "semantics-differ",
        group: Group::Migration,
        summary: "a construct that behaves differently in the target",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/semantics-differ.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        if let Some(attribute) = action.element.attribute("retry-max") {
            let message = "only some errors are retried here; other engines retry every failure";
            out.push(Diagnostic::new(&RULE.kind, attribute.name_span(), message));
        }
    }
    if facts.language != Language::Coordinator {
        return;
    }
    let Some(root) = facts.tree.root() else { return };
    // UTC has several names, and no daylight saving time.
    let moves = |id: &str| {
        !id.contains("${")
            && Zone::from_id(id.trim()).map_or(true, |zone| !is_same_clock(&zone, &Zone::utc()))
    };
    if let Some(zone) = root.attribute("timezone").filter(|zone| moves(&zone.value().text)) {
        let message = "only the frequency follows this zone; other engines move the start as well";
        out.push(Diagnostic::new(&RULE.kind, zone.value_span(), message));
    }
    let controls = root.child("controls");
    for element in controls.into_iter().flat_map(|controls| controls.elements()) {
        let message = match element.name() {
            "timeout" => {
                "this is how long inputs are waited for; elsewhere it is how long a task may run"
            }
            "throttle" => "this limits waiting runs; elsewhere it limits active runs",
            _ => continue,
        };
        out.push(Diagnostic::new(&RULE.kind, element.name_span(), message));
    }
}
