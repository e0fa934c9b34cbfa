//! The whole corpus through the binary, as users would run it.

use crate::cli::ankus;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The number of files of each kind.
fn kinds(report: &Value) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for file in report["files"].as_array().expect("a list of files") {
        *kinds.entry(file["kind"].as_str().expect("a kind")).or_default() += 1;
    }
    kinds
}

fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a readable list");
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

#[test]
fn every_definition_is_recognized_and_judged_as_the_server_does() {
    let (Some(corpus), Some(verdicts)) =
        (crate::shared("ANKUS_CORPUS", "corpus"), crate::shared("ANKUS_VERDICTS", "verdicts"))
    else {
        return;
    };
    // Findings that are off by default because they depend on unseen files, such as a parent workflow, are in the
    // strict profile.
    let strict = ["check", ".", "--no-cache", "--format", "json", "--profile", "strict"];
    let run = ankus(&strict).folder(&corpus).run();
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
    let report: Value = serde_json::from_str(&run.stdout).expect("the output is JSON");
    let found = kinds(&report);
    println!("{found:?}");
    for (kind, number) in [("workflow", 473), ("coordinator", 91), ("bundle", 6)] {
        assert!(found.get(kind).copied().unwrap_or_default() >= number, "{kind}: {found:?}");
    }

    let mut answers: HashMap<&str, &Value> = HashMap::new();
    let mut errors: HashMap<&str, Vec<&str>> = HashMap::new();
    for file in report["files"].as_array().expect("a list of files") {
        let path = file["path"].as_str().expect("a path");
        let definition =
            matches!(file["kind"].as_str(), Some("workflow" | "coordinator" | "bundle"));
        assert_eq!(file["reference"].is_object(), definition, "{file}");
        answers.insert(path, &file["reference"]);
    }
    for finding in report["findings"].as_array().expect("a list of findings") {
        if finding["level"] == "error" {
            let codes = finding["codes"].as_array().expect("a list of codes");
            let codes = codes.iter().filter_map(Value::as_str);
            errors.entry(finding["path"].as_str().expect("a path")).or_default().extend(codes);
        }
    }

    // On a definition that a server accepts, an error is something that certainly fails once a run reaches it.
    const FAILS: [&str; 5] = [
        "el-syntax-error",
        "el-unknown-function",
        "el-unterminated",
        "el-wrong-arity",
        "fs-path-without-scheme",
    ];
    let mut accepted_errors = Vec::new();
    for finding in report["findings"].as_array().expect("a list of findings") {
        let path = finding["path"].as_str().expect("a path");
        let accepted = answers.get(path).is_some_and(|answer| answer["verdict"] == "accepted");
        if accepted && finding["level"] == "error" {
            let rule = finding["rule"].as_str().expect("a rule");
            accepted_errors.push((rule, format!("{path}:{}: {rule}", finding["start"]["line"])));
        }
    }
    println!("{} errors on accepted definitions", accepted_errors.len());
    accepted_errors.iter().for_each(|(_, line)| println!("  {line}"));
    let unsure: Vec<_> = accepted_errors.iter().filter(|(rule, _)| !FAILS.contains(rule)).collect();
    assert!(unsure.is_empty(), "errors that need not happen: {unsure:#?}");

    let (mut agree, mut total, mut uncovered) = (0, 0, Vec::new());
    for row in rows(&verdicts.join("workflow.jsonl")) {
        let file = row["file"].as_str().or(row["path"].as_str()).expect("a file");
        let wanted = &row["bound"];
        let Some(answer) = answers.get(file.trim_start_matches("corpus/")) else {
            println!("  {file}: not in the report");
            total += 1;
            continue;
        };
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let said = (text(answer, "verdict"), text(answer, "code"));
        let wanted = (text(wanted, "verdict"), text(wanted, "code"));
        // Where the server does not return, we do, and report it.
        let slow = wanted.0 == "timeout" && answer["slow"] == true;
        total += 1;
        agree += usize::from(slow || said == wanted);
        if !slow && said != wanted {
            println!("  {file}: expected {wanted:?}, got {said:?}");
        }
    }
    for (path, answer) in &answers {
        if answer["verdict"] == "rejected" {
            let code = answer["code"].as_str().expect("a refusal has a code");
            if !errors.get(path).is_some_and(|codes| codes.contains(&code)) {
                uncovered.push(format!("{path}: {code}"));
            }
        }
    }
    crate::agree("reference verdicts of workflows", agree, total);
    uncovered.sort();
    assert!(uncovered.is_empty(), "refused without an error that says why: {uncovered:#?}");
}

/// The same text in the same order, whatever the number of threads.
#[test]
fn the_report_is_the_same_on_every_run() {
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let run = |threads: &str| {
        // Cached results would be those of the first run, and would remain in a folder that is not ours.
        let run = ankus(&["check", ".", "--no-cache", "--format", "concise"]).folder(&corpus);
        run.variable("RAYON_NUM_THREADS", threads).run().stdout
    };
    assert!(run("1") == run("4"));
}
