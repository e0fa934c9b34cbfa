//! Our executor compared with the real procedure framework: the same scripts, call by call.
//!
//! Every record is played. Without a crash, the order of calls to user code, the answers to the client and everything
//! left at the end must agree. For a record with a crash, our executor is cut before and after every write of its own
//! instead; it must end as the uncut run does, and repeat nothing except the step in flight. If the record shows a
//! fault of the real framework that we do not copy, it is compared with our behavior instead, by the rules in
//! [`expected`]; `docs/procedures.md` gives the reasons.

mod expected;
mod play;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use expected::expected;
use play::{Cut, Play};

fn times(calls: &[String], call: &str) -> usize {
    calls.iter().filter(|other| *other == call).count()
}

fn counts(calls: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.as_str()).or_default() += 1;
    }
    counts
}

/// Plays a record without a crash. Returns the differences.
fn check_uncut(record: &Value) -> (Vec<String>, BTreeSet<&'static str>) {
    let expected = expected(record);
    let mut play = Play::new(record, Cut::Never);
    play.play();
    let mut differences = Vec::new();
    let mut differ = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            differences.push(format!("{what}\n      ours   {ours}\n      theirs {theirs}"));
        }
    };
    differ("start", format!("{:?}", play.init_error), format!("{:?}", expected.init_error));
    let skip_calls = expected.faults.contains("one bad record refuses the whole start")
        || expected.faults.contains("a wake of a timed wait kills the worker");
    if !skip_calls {
        let calls = play.calls();
        if expected.calls.is_empty() && expected.faults.contains("a failed write kills the worker")
        {
            // There are no calls to compare with.
        } else if expected.ordered {
            differ("calls", calls.join(", "), expected.calls.join(", "));
        } else {
            let ours: Vec<_> = counts(&calls).into_iter().collect();
            let theirs: Vec<_> = counts(&expected.calls).into_iter().collect();
            // The number of rounds of a loop depends on timing.
            let endless = record["procedures"].to_string().contains("\"loop");
            let (ours, theirs) = if endless { (Vec::new(), Vec::new()) } else { (ours, theirs) };
            differ("counts", format!("{ours:?}"), format!("{theirs:?}"));
        }
    }
    if play.init_error.is_none() {
        if let Some(roots) = &expected.roots
            && !(roots.as_array().is_some_and(Vec::is_empty))
        {
            differ("roots", play.roots().to_string(), roots.to_string());
        }
        if expected.faults.contains("one bad record refuses the whole start") {
            let rest = play.rows().iter().filter(|row| row.ends_with("=SUCCESS")).count();
            differ(
                "set aside, and the rest",
                format!("{} {rest}", play.quarantine > 0),
                "true 1".to_owned(),
            );
        }
        if let Some(rows) = &expected.rows {
            differ("rows", play.rows().join(", "), rows.join(", "));
        }
        for (at, (ours, theirs)) in play.answers.iter().zip(&expected.answers).enumerate() {
            if let Some(theirs) = theirs {
                differ(&format!("answer {at}"), ours.to_string(), theirs.to_string());
            }
        }
        let live: Vec<_> = play
            .executor()
            .list()
            .into_iter()
            .filter(|listing| !listing.state.is_end())
            .map(|l| l.id.0)
            .collect();
        differ("live", format!("{live:?}"), "[]".to_owned());
    }
    (differences, expected.faults)
}

/// Cuts our executor before and after every write. Returns where it ends differently from the uncut run, or repeats too
/// much.
fn check_cuts(record: &Value, toggles: bool) -> Vec<String> {
    let mut uncut = Play::new(record, Cut::Never);
    uncut.play();
    let writes = uncut.fate.lock().unwrap().writes;
    let theirs = uncut.roots().to_string();
    let mut cuts: Vec<Cut> = (1..=writes).flat_map(|n| [Cut::Before(n), Cut::After(n)]).collect();
    if toggles {
        cuts.push(Cut::Toggle);
    }
    let mut differences = Vec::new();
    for cut in cuts {
        let mut play = Play::new(record, cut);
        play.play();
        let ours = play.roots().to_string();
        if ours != theirs {
            differences.push(format!("{cut:?}\n      ours  {ours}\n      uncut {theirs}"));
        }
        if let [first, ..] = play.lives[..]
            && matches!(cut, Cut::Before(_) | Cut::After(_))
        {
            let calls = play.calls();
            let (before, after) = calls.split_at(first);
            let repeated: BTreeSet<&String> = before
                .iter()
                .filter(|call| call.starts_with("execute") && after.contains(call))
                .collect();
            for call in repeated {
                // Gates and similar steps do not advance; a step without persistence leaves nothing; twenty procedures
                // share a name.
                let in_flight = matches!(cut, Cut::Before(_)) && before.last() == Some(call);
                let words: Vec<&str> = call.split(' ').collect();
                let node = &play.world.nodes[words[1]];
                let step = node.steps.get(words[2].parse::<usize>().unwrap());
                let step = step.map_or("", String::as_str);
                let advances =
                    !["gate", "yield", "interrupt", "repeat", "skip", "wait-skip", "loop"]
                        .iter()
                        .any(|still| step.starts_with(still));
                // Several procedures with the same name may each do what one of them did.
                let twins = times(&calls, call) <= times(&uncut.calls(), call);
                let again_after_skip = node.steps.iter().any(|step| step.contains("skip"));
                if !in_flight && advances && !twins && !again_after_skip {
                    differences.push(format!("{cut:?} repeats {call}"));
                }
            }
        }
    }
    differences
}

/// Plays a script of our own: checks its calls in order, how its roots end, and that it ends so wherever it is cut.
#[track_caller]
pub(crate) fn check_script(procedures: Value, driver: &str, calls: &[&str], ends: &str) {
    let driver: Vec<&str> = driver.split(' ').collect();
    let record = serde_json::json!({
        "scenario": "ours", "procedures": procedures, "driver": driver, "conf": {},
        "abort_on_corruption": false,
    });
    let mut play = Play::new(&record, Cut::Never);
    play.play();
    assert_eq!(play.calls(), calls);
    let roots = play.roots();
    let ended: Vec<String> = roots
        .as_array()
        .unwrap()
        .iter()
        .map(|root| {
            let bypassed = if root["bypass"] == true { " bypassed" } else { "" };
            let message = root["exception"]["message"].as_str();
            let why = message.map_or(String::new(), |message| format!(": {message}"));
            let word = |key: &str| root[key].as_str().unwrap().to_owned();
            format!("{} {}{bypassed}{why}", word("proc"), word("state"))
        })
        .collect();
    assert_eq!(ended.join(", "), ends);
    let live = play.executor().list().into_iter().filter(|listing| !listing.state.is_end());
    assert_eq!(live.count(), 0);
    assert_eq!(check_cuts(&record, false), Vec::<String>::new());
}

#[test]
fn the_real_framework_agrees() {
    let name = "procedure-traces.json";
    let Some(text) = crate::oracle::file("ANKUS_VERDICTS", "verdicts", name) else { return };
    let records: Vec<Value> = serde_json::from_str(&text).expect("the traces are JSON");
    let mut scenarios: Vec<(String, Vec<&Value>)> = Vec::new();
    for record in &records {
        let name = record["scenario"].as_str().unwrap();
        if record["scheduler"] == "master" {
            continue;
        }
        match scenarios.last_mut() {
            Some((last, all)) if last == name => all.push(record),
            _ => scenarios.push((name.to_owned(), vec![record])),
        }
    }

    let (mut agree, mut all) = (0, 0);
    let mut faults: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, records) in &scenarios {
        let cut = |record: &&&Value| {
            !record["crash_after"].is_null()
                || !record["crash_before"].is_null()
                || !record["kill"].is_null()
        };
        let uncut = records
            .iter()
            .find(|record| !cut(record))
            .expect("each scenario has a record without a crash");
        let toggles = records.iter().any(|record| record["kill"] == "toggle-before-store");
        let crashed = records.iter().any(|record| cut(&record));
        // A script that this test does not know must not hide the others.
        let guarded = |check: &dyn Fn() -> Vec<String>| {
            catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| vec!["panics".to_owned()])
        };
        let cuts = if crashed { guarded(&|| check_cuts(uncut, toggles)) } else { Vec::new() };
        let uncut_roots = &uncut["final"]["roots"];
        for record in records {
            all += 1;
            let (differences, named) = if cut(&record) {
                let mut named = BTreeSet::new();
                if record["final"]["roots"] != *uncut_roots {
                    // Ours ends the same, cut or not, as `cuts` shows.
                    let text = record["final"]["roots"].to_string();
                    named.insert(if text.contains("SUCCESS") {
                        "an accepted abort is forgotten"
                    } else {
                        "an error comes back as another class"
                    });
                }
                (cuts.clone(), named)
            } else {
                catch_unwind(AssertUnwindSafe(|| check_uncut(record)))
                    .unwrap_or_else(|_| (vec!["panics".to_owned()], BTreeSet::new()))
            };
            for fault in named {
                faults.entry(fault).or_default().insert(name);
            }
            if differences.is_empty() {
                agree += 1;
            } else if !cut(&record)
                || std::ptr::eq(*record, *records.iter().find(|record| cut(record)).unwrap())
            {
                println!("{name} (crash after {}):", record["crash_after"]);
                for difference in differences.iter().take(6) {
                    println!("    {difference}");
                }
            }
        }
    }
    let page = include_str!("../../../../docs/procedures.md");
    for (fault, records) in faults {
        assert!(page.contains(fault), "docs/procedures.md says nothing of: {fault}");
        println!("not copied: {fault}: {}", records.into_iter().collect::<Vec<_>>().join(", "));
    }
    crate::oracle::agree("procedure traces", agree, all);
    assert_eq!(agree, all);
}
