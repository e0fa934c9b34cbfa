//! Classes of the old and the new MapReduce API in one action.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_configured;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "mapreduce-api-mixed",
        group: Group::Actions,
        summary: "classes of the new map-reduce API without the switches that select it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/mapreduce-api-mixed.md"),
    },
    check,
};

/// The properties for the class of the new API, for that of the old one, and the switch between them.
const SIDES: [([&str; 2], &str, &str); 2] = [
    (
        ["mapreduce.job.map.class", "mapreduce.map.class"],
        "mapred.mapper.class",
        "mapred.mapper.new-api",
    ),
    (
        ["mapreduce.job.reduce.class", "mapreduce.reduce.class"],
        "mapred.reducer.class",
        "mapred.reducer.new-api",
    ),
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "map-reduce") {
        // A job-xml file or a configurator class can set the switches elsewhere.
        if action.each("job-xml").next().is_some() || action.each("config-class").next().is_some() {
            continue;
        }
        let Some(configuration) = action.each("configuration").next() else { continue };
        let own = facts.block(configuration);
        for (new, old, switch) in SIDES {
            let Some(class) = own.iter().find(|p| new.contains(&p.name.text.as_ref())) else {
                continue;
            };
            if let Some(other) = own.iter().find(|p| p.name.text == old) {
                let message = format!(
                    "`{}` and `{old}` belong to different map-reduce APIs",
                    class.name.text
                );
                out.push(
                    Diagnostic::new(&RULE.kind, class.name.span(), message)
                        .note(other.name.span(), "the old one is here")
                        .help("keep the one that the class was written for"),
                );
            } else if !is_configured(facts, action, &[switch]) {
                let message = format!("this is not used unless `{switch}` is true");
                out.push(
                    Diagnostic::new(&RULE.kind, class.name.span(), message)
                        .help(format!("also set `{switch}` to `true`")),
                );
            }
        }
    }
}
