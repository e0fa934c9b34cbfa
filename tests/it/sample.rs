//! The committed sample of the server's answers: `fixtures/oracle`.

use super::cli::{ankus, folder};
use serde_json::Value;
use std::fmt::Write as _;

/// The workflow of a line in `workflows.txt`.
fn workflow(nodes: &str) -> String {
    let mut body = String::new();
    let mut first = None;
    for node in nodes.split(' ') {
        let at = node.find(['>', '{', '?']).expect("a node says where it leads");
        let (name, rest) = (&node[..at], node[at + 1..].trim_end_matches('}'));
        first.get_or_insert(name);
        let _ = match &node[at..=at] {
            "{" => {
                let path = |to: &str| format!("<path start=\"{to}\"/>");
                let paths: String = rest.split(',').map(path).collect();
                writeln!(body, "<fork name=\"{name}\">{paths}</fork>")
            }
            "?" => {
                let (cases, last) = rest.rsplit_once(',').expect("a case and a default");
                let case = |to: &str| format!("<case to=\"{to}\">${{x}}</case>");
                let cases: String = cases.split(',').map(case).collect();
                writeln!(
                    body,
                    "<decision name=\"{name}\"><switch>{cases}<default to=\"{last}\"/></switch></decision>"
                )
            }
            _ if name.starts_with('j') => writeln!(body, "<join name=\"{name}\" to=\"{rest}\"/>"),
            _ => {
                let (ok, error) = rest.split_once('!').unwrap_or((rest, "k"));
                writeln!(
                    body,
                    "<action name=\"{name}\"><fs/><ok to=\"{ok}\"/><error to=\"{error}\"/></action>"
                )
            }
        };
    }
    let first = first.expect("a first node");
    format!(
        "<workflow-app name=\"w\" xmlns=\"uri:oozie:workflow:0.5\">\n<start to=\"{first}\"/>\n{body}<kill name=\"k\"><message>no</message></kill>\n<end name=\"e\"/>\n</workflow-app>\n"
    )
}

#[test]
fn shapes_are_answered_as_the_server_does() {
    let text = std::fs::read_to_string(crate::root().join("fixtures/oracle/workflows.txt"));
    let text = text.expect("it is committed");
    let lines: Vec<(&str, &str)> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(": ").expect("a shape and its verdict"))
        .collect();
    let files: Vec<(String, String)> = lines
        .iter()
        .enumerate()
        .map(|(at, (nodes, _))| (format!("{at:02}/workflow.xml"), workflow(nodes)))
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = folder(&files);
    let run = ankus(&["check", "--format", "json"]).folder(folder.path()).run();
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let reports = report["files"].as_array().expect("a list");
    assert_eq!(reports.len(), lines.len());
    let mut wrong = Vec::new();
    for ((nodes, wanted), report) in lines.iter().zip(reports) {
        let reference = &report["reference"];
        let said = match reference["verdict"].as_str() {
            Some("accepted") => "accepted",
            _ => reference["code"].as_str().unwrap_or_default(),
        };
        if said != *wanted {
            wrong.push(format!("{nodes}: expected {wanted}, got {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn expressions_are_evaluated_as_the_server_does() {
    let text = std::fs::read_to_string(crate::root().join("fixtures/oracle/expressions.json"));
    let samples: Vec<Value> = serde_json::from_str(&text.expect("it is committed")).expect("JSON");
    let mut wrong = Vec::new();
    for sample in &samples {
        let text = |key: &str| sample[key].as_str().unwrap_or_default();
        let mut arguments = vec!["eval".to_owned(), text("text").to_owned()];
        arguments.extend(["--at", text("phase"), "--format", "json"].map(str::to_owned));
        for (name, value) in sample["properties"].as_object().into_iter().flatten() {
            arguments.push(format!("-D{name}={}", value.as_str().unwrap_or_default()));
        }
        let run = ankus(&arguments).run();
        let said: Value = serde_json::from_str(&run.stdout).expect("JSON");
        let same = match sample["error"].as_str() {
            Some(kind) => said["error"]["kind"] == kind,
            None => said["text"] == sample["string"],
        };
        if !same {
            wrong.push(format!("{sample}: got {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
