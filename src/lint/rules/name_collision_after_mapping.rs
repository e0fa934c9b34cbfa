//! Names that become the same in the target.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "name-collision-after-mapping",
        group: Group::Migration,
        summary: "two names that are the same under the target's naming rules",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/name-collision-after-mapping.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<String, crate::syntax::xml::AttributeRef<'_>> = BTreeMap::new();
    for node in facts.nodes(&["action", "decision", "fork", "join", "kill", "end"]) {
        let Some(attribute) = node.attribute("name") else { continue };
        let name = attribute.value().text;
        let mapped: String = name.to_lowercase().replace('_', "-");
        let mapped = mapped.chars().take(63).collect::<String>();
        match seen.get(&mapped) {
            Some(first) if first.value().text != name => {
                let message =
                    format!("`{name}` and `{}` both become `{mapped}`", first.value().text);
                out.push(
                    Diagnostic::new(&RULE.kind, attribute.value_span(), message)
                        .note(first.value_span(), "the other one")
                        .help("rename one of them"),
                );
            }
            Some(_) => {}
            None => {
                seen.insert(mapped, attribute);
            }
        }
    }
}
