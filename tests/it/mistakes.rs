//! Typical mistakes, one at a time in an application without findings: each is found, by one finding, at its location.
//!
//! `app`, `daily` and `shop` in `fixtures/mistakes` are the applications. Each line of the list next to them is a
//! mistake: the file, a text whose first occurrence is replaced and its replacement, and the rule, file and line of the
//! one finding. The current date is given, so that results do not depend on the clock.

use crate::cli::ankus;
use rayon::prelude::*;
use serde_json::Value;
use std::path::Path;

/// The applications, with the minimum number of mistakes in each.
const APPLICATIONS: [(&str, usize); 3] = [("app", 670), ("daily", 174), ("shop", 109)];

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("room for temporary files");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("readable");
        let place = to.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &place),
            false => drop(std::fs::copy(entry.path(), place).expect("room for temporary files")),
        }
    }
}

/// Rule, file and line of each finding.
fn findings(folder: &Path) -> Vec<(String, String, u64)> {
    let arguments =
        ["check", ".", "--no-cache", "--format", "json", "--exit-zero", "--now", "2026-06-01"];
    let run = ankus(&arguments).folder(folder).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("the output is JSON");
    let findings = report["findings"].as_array().expect("a list of findings").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    findings
        .map(|finding| {
            let line = finding["start"]["line"].as_u64().expect("a line");
            (text(&finding["rule"]), text(&finding["path"]), line)
        })
        .collect()
}

#[test]
fn each_mistake_is_one_finding_at_its_place() {
    for (name, wanted) in APPLICATIONS {
        in_application(name, wanted);
    }
}

fn in_application(name: &str, wanted: usize) {
    let root = crate::root().join("fixtures/mistakes");
    let app = root.join(name);
    assert_eq!(findings(&app), [], "the application has no mistake");
    let list = std::fs::read_to_string(root.join(format!("{name}.jsonl"))).expect("a list");
    let mistakes: Vec<Value> =
        list.lines().map(|line| serde_json::from_str(line).expect("a mistake is JSON")).collect();
    assert!(mistakes.len() >= wanted, "{} mistakes", mistakes.len());
    let wrong: Vec<String> = mistakes
        .par_iter()
        .filter_map(|mistake| {
            let part = |name: &str| mistake[name].as_str().expect("a text").to_owned();
            let folder = tempfile::tempdir().expect("room for temporary files");
            copy(&app, folder.path());
            let file = folder.path().join(part("file"));
            let before = std::fs::read_to_string(&file).expect("a file of the application");
            let after = before.replacen(&part("find"), &part("replace"), 1);
            if before == after {
                return Some(format!("{mistake}: changes nothing"));
            }
            std::fs::write(&file, after).expect("room for temporary files");
            let wanted = (part("rule"), part("path"), mistake["line"].as_u64().expect("a line"));
            let found = findings(folder.path());
            (found != [wanted]).then(|| format!("{mistake}: {found:?}"))
        })
        .collect();
    println!("{name}: {} of {} mistakes found", mistakes.len() - wrong.len(), mistakes.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
