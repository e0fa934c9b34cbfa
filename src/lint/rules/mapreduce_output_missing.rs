//! Jobs without an output.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_configured;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "mapreduce-output-missing",
        group: Group::Actions,
        summary: "a map-reduce action without an output folder",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/mapreduce-output-missing.md"),
    },
    check,
};

const OUTPUTS: [&str; 2] = ["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"];

/// Properties that set an output format, which may have an output of its own.
const FORMATS: [&str; 3] = [
    "mapred.output.format.class",
    "mapreduce.job.outputformat.class",
    "mapreduce.outputformat.class",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let global_file = facts.global().is_some_and(|global| global.child("job-xml").is_some());
    for action in facts.actions.iter().filter(|action| action.kind() == "map-reduce") {
        let hidden = action.each("job-xml").next().is_some()
            || action.each("config-class").next().is_some()
            || global_file
            || is_configured(facts, action, &FORMATS);
        if hidden || is_configured(facts, action, &OUTPUTS) {
            continue;
        }
        let message = "the job has no output folder";
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("set `mapreduce.output.fileoutputformat.outputdir` in its configuration"),
        );
    }
}
