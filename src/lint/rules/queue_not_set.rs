//! Actions without a queue.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_configured;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "queue-not-set",
        group: Group::Parameters,
        summary: "an action on the cluster does not set a queue",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/queue-not-set.md"),
    },
    check,
};

const KEYS: [&str; 6] = [
    "mapreduce.job.queuename",
    "mapred.job.queue.name",
    "oozie.launcher.queue",
    "oozie.launcher.mapreduce.job.queuename",
    "oozie.launcher.mapred.job.queue.name",
    "spark.yarn.queue",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let queue = |element: crate::syntax::xml::Element<'_>| {
        element.child("launcher").is_some_and(|launcher| launcher.child("queue").is_some())
    };
    if facts.global().is_some_and(queue) {
        return;
    }
    for action in facts.actions.iter().filter(|action| action.runs_on_cluster()) {
        let options =
            action.text("spark-opts").map(|text| text.text.into_owned()).unwrap_or_default();
        if queue(action.body) || is_configured(facts, action, &KEYS) || options.contains("--queue")
        {
            continue;
        }
        let message = "this action runs in the default queue of the cluster";
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("set a queue in `global`, or in the action's `launcher`"),
        );
    }
}
