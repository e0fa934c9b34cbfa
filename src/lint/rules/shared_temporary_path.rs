//! Fixed names below `/tmp`, which concurrent jobs share.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{is_open, operations};
use crate::lint::paths;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "shared-temporary-path",
        group: Group::Security,
        summary: "a fixed name below /tmp, which two runs would share",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/shared-temporary-path.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in &facts.actions {
        for (command, attribute) in operations(action) {
            let value = attribute.value();
            let Some(path) = paths::absolute(&value.text) else { continue };
            let below = paths::parts(path);
            let writes = matches!(command, "mkdir" | "touchz" | "delete");
            if !writes || below.first() != Some(&"tmp") || below.len() < 2 || is_open(path) {
                continue;
            }
            let message = format!("every run and every user shares `{path}`");
            out.push(Diagnostic::new(&RULE.kind, attribute.value_span(), message).help(
                "make the name unique with `${wf:id()}`, or use a folder of the application",
            ));
        }
    }
}
