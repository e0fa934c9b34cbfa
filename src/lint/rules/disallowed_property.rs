//! Properties that an action may not set.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "disallowed-property",
        group: Group::Parameters,
        summary: "an action sets a property that only the server may set",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["JA010"],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/disallowed-property.md"),
    },
    check,
};

const NAMES: [&str; 5] = [
    "user.name",
    "mapreduce.job.user.name",
    "fs.default.name",
    "fs.defaultFS",
    "yarn.resourcemanager.address",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // The server checks the configurations of these actions.
    let actions =
        facts.actions.iter().filter(|action| action.runs_on_cluster() || action.kind() == "fs");
    let mut blocks: Vec<_> =
        actions.clone().filter_map(|action| action.body.child("configuration")).collect();
    if actions.count() > 0 {
        blocks.extend(facts.global().and_then(|global| global.child("configuration")));
    }
    for configuration in blocks {
        let properties = facts.block(configuration);
        for property in properties {
            let name = property.name.text.as_ref();
            let plain = name.strip_prefix("oozie.launcher.").unwrap_or(name);
            let dropped = property.value.as_ref().is_none_or(|value| value.text.trim().is_empty());
            if !NAMES.contains(&plain) || dropped {
                continue;
            }
            let message = format!("`{name}` may not be set by an action");
            let element = if properties.len() == 1 { configuration } else { property.element };
            out.push(
                Diagnostic::new(&RULE.kind, property.name.span(), message)
                    .help("remove it; the cluster comes from `name-node` and `resource-manager`, the user from the job")
                    .fix(Fix::safe(format!("Remove `{name}`"), facts.removal(element.span()), "")),
            );
        }
    }
}
