//! Launcher settings that are meaningless now that launchers are not map-reduce jobs.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::settings::Target;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "deprecated-launcher-property",
        group: Group::Parameters,
        summary: "the launcher is configured as a map-reduce job, which it no longer is",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/deprecated-launcher-property.md"),
    },
    check,
};

/// The properties that version 5 still reads after `oozie.launcher.`, with the equivalent elements.
const READ: [(&str, &str); 18] = [
    ("yarn.app.mapreduce.am.resource.mb", "memory.mb"),
    ("mapreduce.map.memory.mb", "memory.mb"),
    ("mapred.job.map.memory.mb", "memory.mb"),
    ("yarn.app.mapreduce.am.resource.cpu-vcores", "vcores"),
    ("mapreduce.map.cpu.vcores", "vcores"),
    ("yarn.app.mapreduce.am.command-opts", "java-opts"),
    ("mapreduce.map.java.opts", "java-opts"),
    ("mapred.child.java.opts", "java-opts"),
    ("yarn.app.mapreduce.am.env", "env"),
    ("mapreduce.map.env", "env"),
    ("mapred.child.env", "env"),
    ("mapreduce.job.queuename", "queue"),
    ("mapred.job.queue.name", "queue"),
    ("mapreduce.job.acl-view-job", "view-acl"),
    ("mapreduce.job.acl-modify-job", "modify-acl"),
    ("mapreduce.job.priority", "priority"),
    ("mapred.job.priority", "priority"),
    ("mapreduce.map.maxattempts", "max.attempts"),
];

/// Settings of map-reduce jobs that the launcher uses otherwise, or passes to the program.
const OTHER: [&str; 6] = [
    "mapreduce.job.hdfs-servers",
    "mapreduce.map.log.level",
    "mapred.map.child.log.level",
    "mapreduce.job.user.classpath.first",
    "mapreduce.task.classpath.user.precedence",
    "mapreduce.user.classpath.first",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.settings.target < Target::V5_2_1 {
        return;
    }
    let mut seen: HashSet<String> = HashSet::new();
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            let name = property.name.text.as_ref();
            let Some(key) = name.strip_prefix("oozie.launcher.") else { continue };
            let old = ["mapred.", "mapreduce.", "yarn.app.mapreduce."]
                .iter()
                .any(|start| key.starts_with(start));
            if !old || OTHER.contains(&key) || !seen.insert(name.to_owned()) {
                continue;
            }
            let finding = match READ.iter().find(|(known, _)| *known == key) {
                Some((_, element)) => {
                    let message = format!(
                        "the launcher is no longer a map-reduce job; use `{element}` instead"
                    );
                    let finding = Diagnostic::new(&RULE.kind, property.name.span(), message);
                    match *element {
                        "priority" | "max.attempts" => {
                            finding.help(format!("use `oozie.launcher.{element}`"))
                        }
                        _ => finding.help(format!("use `<launcher><{element}>…` of version 1.0, or `oozie.launcher.{element}`")),
                    }
                }
                None => {
                    let message =
                        "the launcher is not a map-reduce job, and this has no effect on it";
                    Diagnostic::new(&RULE.kind, property.name.span(), message)
                }
            };
            out.push(finding);
        }
    }
}
