//! The expectations of a record, without the faults that we do not copy.

use std::collections::BTreeSet;

use serde_json::Value;

/// The expectations of a record, without the faults that we do not copy.
pub(super) struct Expected {
    pub(super) calls: Vec<String>,
    pub(super) ordered: bool,
    pub(super) answers: Vec<Option<Value>>,
    pub(super) roots: Option<Value>,
    pub(super) rows: Option<Vec<String>>,
    pub(super) init_error: Option<String>,
    /// The names of the faults.
    pub(super) faults: BTreeSet<&'static str>,
}

pub(super) fn expected(record: &Value) -> Expected {
    let mut faults = BTreeSet::new();
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    let raw = record["calls"].as_array().unwrap();
    let driver: Vec<String> = serde_json::from_value(record["driver"].clone()).unwrap_or_default();
    for call in raw {
        let text = |at: usize| match &call[at] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match call[1].as_str().unwrap() {
            name @ ("execute" | "rollback" | "setTimeoutFailure" | "abort") => {
                let rest: Vec<String> = (2..call.as_array().unwrap().len()).map(text).collect();
                calls.push(format!("{name} {}", rest.join(" ")));
            }
            "driver" => {
                // A wait is not recorded.
                while driver.get(answers.len()).is_some_and(|action| call[2] != **action) {
                    answers.push(None);
                }
                answers.push(Some(call[3].clone()));
            }
            _ => {}
        }
    }
    let machines: BTreeSet<&str> = record["procedures"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|node| node["kind"] == "state-machine")
        .filter_map(|node| node["name"].as_str())
        .collect();

    // Rollbacks of procedures that never ran.
    let mut ran = BTreeSet::new();
    let before = calls.len();
    let preloaded = record["preloaded"].is_array();
    calls.retain(|call| {
        let mut words = call.split(' ');
        let (what, node) = (words.next().unwrap(), words.next().unwrap_or_default().to_owned());
        if what == "execute" {
            ran.insert(node.clone());
        }
        what != "rollback" || preloaded || ran.contains(&node)
    });
    if calls.len() < before {
        faults.insert("undoes children that never ran");
    }

    // A state whose rollback must be retried is skipped instead.
    if calls.iter().any(|call| {
        call.starts_with("rollback")
            && (call.ends_with("ioexception") || call.ends_with("interrupt"))
    }) {
        for machine in machines {
            let mut visited: Vec<String> = Vec::new();
            for call in &mut calls {
                let words: Vec<String> = call.split(' ').map(str::to_owned).collect();
                match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["execute", node, state]
                        if *node == machine && visited.last().is_none_or(|last| last != state) =>
                    {
                        visited.push((*state).to_owned());
                    }
                    ["rollback", node, state, outcome] if *node == machine => {
                        let ours = visited.last().cloned().unwrap_or_else(|| "0".to_owned());
                        if ours != *state {
                            faults.insert("skips a state whose undoing must be repeated");
                        }
                        if !matches!(*outcome, "ioexception" | "interrupt") {
                            visited.pop();
                        }
                        *call = format!("rollback {node} {ours} {outcome}");
                    }
                    _ => {}
                }
            }
        }
    }

    let happens = |name: &str| raw.iter().any(|call| call[1] == name);
    let mut ordered = record["order_stable"].as_bool().unwrap_or(true);
    let mut roots = Some(record["final"]["roots"].clone());
    let mut rows: Option<Vec<String>> =
        serde_json::from_value(record["final"]["store"].clone()).ok();
    let mut init_error = record["final"]["init_error"].as_str().map(str::to_owned);

    // Answers about workers concern their threads.
    for (action, answer) in driver.iter().zip(&mut answers) {
        if action == "workers" {
            *answer = None;
        }
    }
    let stuck = roots
        .as_ref()
        .and_then(Value::as_array)
        .is_some_and(|roots| roots.iter().any(|root| root["finished"] != true));
    let wakes = driver.iter().any(|action| action.starts_with("wake"))
        && record["procedures"].to_string().contains("wait-event");
    if happens("store-write-failed") {
        if stuck {
            // Theirs stays where it was; ours continues.
            (roots, rows) = (None, None);
            calls.clear();
        }
        faults.insert("a failed write kills the worker");
        answers
            .iter_mut()
            .zip(&driver)
            .filter(|(_, action)| action.starts_with("state"))
            .for_each(|(a, _)| *a = None);
        ordered = false;
    } else if driver.iter().any(|action| action.starts_with("make-runnable")) {
        // Ours cancels the timer of a wait that was ended by a wake: it neither fires later nor ends another wait.
        faults.insert("a stale timer fires");
        let done: BTreeSet<String> =
            calls.iter().filter(|call| call.starts_with("execute")).cloned().collect();
        calls.retain(|call| !(call.starts_with("setTimeoutFailure") && call.ends_with("false")));
        assert!(!done.is_empty());
        answers
            .iter_mut()
            .zip(&driver)
            .filter(|(_, action)| action.starts_with("state"))
            .for_each(|(a, _)| *a = None);
    } else if raw.iter().any(|call| call[2] == "workers" && call[3] == 0) || (stuck && wakes) {
        faults.insert("a wake of a timed wait kills the worker");
        roots = None;
        rows = None;
        ordered = false;
        answers.iter_mut().for_each(|answer| *answer = None);
    }
    if init_error.is_some() && record["abort_on_corruption"] != true {
        faults.insert("one bad record refuses the whole start");
        init_error = None;
        roots = None;
        rows = None;
        calls.clear();
        ordered = false;
        answers = driver.iter().map(|_| None).collect();
    }
    if let Some(error) = &mut init_error {
        *error = error.trim_start_matches("IOException: ").to_owned();
    }
    Expected { calls, ordered, answers, roots, rows, init_error, faults }
}
