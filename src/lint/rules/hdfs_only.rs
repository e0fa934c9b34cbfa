//! Features that depend on Hadoop's file system.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use memchr::memmem;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hdfs-only",
        group: Group::Migration,
        summary: "a feature that only HDFS has",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hdfs-only.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let help = "the target needs a connection to that file system, or another place for the data";
    if let Some(action) = facts.actions.iter().find(|action| action.kind() == "fs") {
        let message = "file operations need HDFS";
        out.push(Diagnostic::new(&RULE.kind, action.body.name_span(), message).help(help));
    }
    let asks = memmem::find(facts.tree.text().as_bytes(), b"fs:").is_some();
    for (_, text) in facts.texts().iter().filter(|_| asks) {
        for function in ["fs:exists", "fs:isDir", "fs:fileSize", "fs:dirSize", "fs:blockSize"] {
            let places = memmem::find_iter(text.text.as_bytes(), function);
            let mut calls = places.filter(|at| text.text[at + function.len()..].starts_with('('));
            if let Some(at) = calls.next() {
                let span = text.source(at..at + function.len());
                let message = format!("`{function}` queries HDFS");
                out.push(Diagnostic::new(&RULE.kind, span, message).help(help));
            }
        }
    }
    if memmem::find(facts.tree.text().as_bytes(), b"done-flag").is_none() {
        return;
    }
    let root = facts.tree.root();
    for element in root.into_iter().flat_map(|root| root.descendants()) {
        if element.name() == "done-flag" {
            let message = match element.text().trimmed().text.is_empty() {
                true => "an instance is complete when its folder exists in HDFS",
                false => "done flags are files in HDFS",
            };
            out.push(Diagnostic::new(&RULE.kind, element.name_span(), message).help(help));
        }
    }
}
