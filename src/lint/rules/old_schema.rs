//! Old schemas.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::settings::Target;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "old-schema",
        group: Group::Migration,
        summary: "a schema older than the newest that the target knows",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/old-schema.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.workflow() else { return };
    let newest = match facts.settings.target {
        Target::V3_3_2 => "0.4",
        Target::V4_3_1 => "0.5",
        Target::V5_2_1 | Target::Trunk => "1.0",
    };
    let order = ["0.1", "0.2", "0.2.5", "0.3", "0.4", "0.4.5", "0.5", "1.0"];
    let place = |version: &str| order.iter().position(|known| *known == version);
    let (Some(own), Some(best)) = (place(facts.version()), place(newest)) else { return };
    if own >= best {
        return;
    }
    let attribute =
        root.attributes().find(|attribute| attribute.declares() == root.prefix().or(Some("")));
    let Some(attribute) = attribute else { return };
    let message =
        format!("version {} is not the newest: the server supports {newest}", facts.version());
    out.push(Diagnostic::new(&RULE.kind, attribute.value_span(), message).help(format!(
        "`ankus upgrade {} --to {newest}` raises it and proves that nothing changes",
        facts.path
    )));
}
