//! Spark actions without a mode, whose driver runs inside the launcher.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-mode-missing",
        group: Group::Actions,
        summary: "master `yarn` without a mode: the driver runs inside the launcher",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/spark-mode-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        let Some(text) = action.text("master").filter(|text| text.text == "yarn") else { continue };
        let options = action.text("spark-opts");
        let options = options.as_ref().map_or("", |text| &text.text);
        let chosen = ["--deploy-mode", "spark.submit.deployMode", "${"];
        if action.text("mode").is_some() || chosen.iter().any(|word| options.contains(word)) {
            continue;
        }
        let message =
            "without a mode the driver runs inside the launcher, with the launcher's memory";
        out.push(
            Diagnostic::new(&RULE.kind, text.span(), message)
                .help("add `<mode>cluster</mode>`, or `<mode>client</mode>` if that is meant"),
        );
    }
}
