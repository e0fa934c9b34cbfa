//! Jars on a local disk, for a driver that runs on another machine.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::paths;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-jar-local",
        group: Group::Actions,
        summary: "a jar on a local disk, for a driver that runs on another machine",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/spark-jar-local.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        let word = |name| action.text(name).map(|text| text.text.into_owned()).unwrap_or_default();
        let cluster = word("master") == "yarn-cluster" || word("mode") == "cluster";
        let Some(text) = action.text("jar").filter(|_| cluster) else { continue };
        if paths::scheme(&text.text) == Some("file") {
            let message =
                "the driver may run on any machine of the cluster, where this file may not exist";
            out.push(Diagnostic::new(&RULE.kind, text.span(), message).help(
                "put the jar into the application's `lib` folder, and name it without a path",
            ));
        }
    }
}
