//! Actions that depend on libraries of the cluster.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::job_properties;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "cluster-only-library",
        group: Group::Migration,
        summary: "an action that depends on libraries of the cluster",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/cluster-only-library.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let keys = ["oozie.use.system.libpath", "oozie.libpath"];
    let found = job_properties(facts).iter().find(|property| {
        let used = keys.contains(&property.name.as_str()) && property.value.trim() != "false";
        used || property.name.starts_with("oozie.action.sharelib.for.")
    });
    let Some(property) = found else { return };
    let message = format!("`{}` names libraries that are on the cluster", property.name);
    out.push(
        property.place(
            Diagnostic::new(&RULE.kind, property.name_span, message)
                .help("the image or environment of the target must provide them"),
        ),
    );
}
