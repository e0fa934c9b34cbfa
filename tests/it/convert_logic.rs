//! The input logic of converted coordinators: the Python helper decides as the state machine does.

use crate::oracle;
use ankus::check::{self, FileKind, Input};
use ankus_lang::coordinator::{Actions, Existing, Failure, Inputs};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Deterministic pseudo-random numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A random part of an input logic with everything in it, for Python and as the XML of a coordinator.
fn part(dice: &mut Dice, depth: u64, number: &mut u64) -> (Value, String) {
    let mut tree = json!({});
    let mut attributes = String::new();
    if dice.below(3) == 0 {
        let least = dice.below(3);
        tree["least"] = json!(least);
        attributes.push_str(&format!(" min='{least}'"));
    }
    if dice.below(4) == 0 {
        let wait = dice.below(20);
        tree["wait"] = json!(wait);
        attributes.push_str(&format!(" wait='{wait}'"));
    }
    let kind = if depth == 0 { 3 } else { dice.below(4) };
    if kind == 3 {
        let name = NAMES[dice.below(3) as usize];
        tree["kind"] = json!("data-in");
        tree["event"] = json!(name);
        return (tree, format!("<data-in dataset='{name}'{attributes}/>"));
    }
    let kind = ["and", "or", "combine"][kind as usize];
    *number += 1;
    let name = format!("n{number}");
    tree["kind"] = json!(kind);
    tree["name"] = json!(name);
    let (mut parts, mut inner) = (Vec::new(), String::new());
    for at in 0..2 {
        let (own, text) = match kind {
            "combine" => {
                let name = NAMES[((dice.below(2) + at) % 3) as usize];
                (json!({"kind": "data-in", "event": name}), format!("<data-in dataset='{name}'/>"))
            }
            _ => part(dice, depth - 1, number),
        };
        parts.push(own);
        inner.push_str(&text);
    }
    tree["parts"] = json!(parts);
    (tree, format!("<{kind} name='{name}'{attributes}>{inner}</{kind}>"))
}

fn coordinator(logic: &str) -> String {
    let of = |name: &str| {
        let dataset = format!(
            "<dataset name='{name}' frequency='${{coord:hours(1)}}' initial-instance='2025-01-01T00:00Z' timezone='UTC'>\
             <uri-template>/{name}/${{DAY}}${{HOUR}}</uri-template><done-flag/></dataset>"
        );
        let event = format!(
            "<data-in name='{name}' dataset='{name}'><start-instance>${{coord:current(-2)}}</start-instance>\
             <end-instance>${{coord:current(0)}}</end-instance></data-in>"
        );
        (dataset, event)
    };
    let (datasets, events): (String, String) = NAMES.iter().map(|name| of(name)).unzip();
    format!(
        "<coordinator-app name='c' frequency='60' start='2026-01-01T03:00Z' end='2026-01-02T00:00Z' timezone='UTC' \
         xmlns='uri:oozie:coordinator:0.5'><datasets>{datasets}</datasets><input-events>{events}</input-events>\
         <input-logic>{logic}</input-logic><action><workflow><app-path>/x</app-path></workflow></action></coordinator-app>"
    )
}

struct There(BTreeSet<String>);

impl Existing for There {
    fn exists(&self, uri: &str) -> Result<bool, Failure> {
        Ok(self.0.contains(uri.trim_end_matches('/')))
    }
}

#[test]
fn input_logic_is_judged_as_by_a_server() {
    let mut dice = Dice(20_260);
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..400 {
        let (tree, text) = part(&mut dice, 3, &mut 0);
        let source = ankus::Source::new("coordinator.xml", coordinator(&text));
        let source = std::sync::Arc::new(source);
        let submitted = check::submit_coordinator(&Input::of(&source, FileKind::Coordinator));
        let Ok(definition) = submitted.outcome else { continue };
        let actions = Actions::new(&definition);
        let (number, nominal) = definition.schedule.times().next().expect("a time");
        let action = actions.create("c", number, nominal, nominal).expect("an action");
        let mut there = BTreeSet::new();
        let mut data = json!({});
        for input in &action.inputs {
            let places = input.uris.iter().map(|uri| {
                let is_there = dice.below(3) > 0;
                is_there.then(|| {
                    there.insert(uri.trim_end_matches('/').to_owned());
                    uri.clone()
                })
            });
            data[&input.name] = json!(places.collect::<Vec<_>>());
        }
        let waited = dice.below(25) as i64;
        let answer = match actions.check_all(&action, &There(there), waited) {
            Ok(Inputs::Ready(inputs)) => {
                let named = inputs.iter().filter(|input| !NAMES.contains(&&*input.name));
                let named = named.map(|input| (input.name.clone(), json!(input.uris)));
                Value::Object(named.collect())
            }
            Ok(Inputs::Missing(_)) => Value::Null,
            Err(_) => continue,
        };
        cases.push(json!({"logic": tree, "data": data, "waited": waited}));
        expected.push(answer);
    }
    assert!(cases.len() > 300, "only {} can be judged", cases.len());
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cases.json");
    std::fs::write(&file, json!(cases).to_string()).expect("writable");
    let Some(answers) = asked(&file) else { return };
    for ((case, expected), answer) in cases.iter().zip(&expected).zip(&answers) {
        // Inputs are also available under their own names, besides those of the logic.
        let mut answer = answer.clone();
        if let Some(names) = answer.as_object_mut() {
            names.retain(|name, _| !NAMES.contains(&&**name));
        }
        assert_eq!(answer, *expected, "{case}");
    }
    println!("{} cases of input logic", cases.len());
}

/// A range advances step by step from its first instance, which makes a difference for a day that some months lack.
#[test]
fn ranges_have_the_instances_of_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let vectors = json!([{
        "what": "current_range",
        "inputs": {
            "dataset": {
                "frequency": 1, "unit": "MONTH", "timezone": "Europe/Berlin",
                "initial_instance": "2025-10-30T23:00Z",
            },
            "nominal_time": "2026-01-30T23:00Z", "start": -2, "end": 0,
        },
    }]);
    if let Some(answers) = instances(folder.path(), &vectors) {
        assert_eq!(answers, ["2026-01-29T23:00Z#2025-12-29T23:00Z#2025-11-29T23:00Z"]);
    }
}

#[test]
fn date_parts_lose_their_leading_zeros() {
    let folder = tempfile::tempdir().expect("a folder");
    let template = "/y=${YEAR}/m=${MONTH + 0}/d=${DAY + 0}/h=${HOUR + 0}/${MONTH}${other}";
    let vector = |instance: &str| json!({"what": "uri_template", "inputs": {"template": template, "instance": instance}});
    let vectors = json!([vector("2016-03-08T00:30Z"), vector("2016-12-10T23:00Z")]);
    if let Some(answers) = instances(folder.path(), &vectors) {
        let written = ["/y=2016/m=3/d=8/h=0/03${other}", "/y=2016/m=12/d=10/h=23/12${other}"];
        assert_eq!(answers, written);
    }
}

#[test]
fn instances_agree_with_the_reference() {
    const KNOWN: [&str; 14] = [
        "uri_template",
        "current",
        "current_range",
        "offset",
        "offset_range",
        "absolute_range",
        "end_of_range",
        "latest",
        "latest_range",
        "future",
        "future_range",
        "hours_in_day",
        "days_in_month",
        "tz_offset",
    ];
    let file = "coordinator-time-vectors.json";
    let Some(text) = oracle::file("ANKUS_REFERENCE", "reference", file) else { return };
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let all = all["vectors"].as_array().expect("a list").iter();
    let is_known = |vector: &&Value| KNOWN.iter().any(|what| vector["what"] == *what);
    let vectors: Vec<&Value> = all.filter(is_known).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let Some(answers) = instances(folder.path(), &json!(vectors)) else { return };
    let agrees = |(vector, answer): (&&Value, &Value)| {
        let expected = &vector["expected"];
        let is_right = if expected["error"] == true {
            answer.as_str().is_some_and(|text| text.starts_with("refused"))
        } else if expected["resolved"] == false && expected["value"] != "" {
            answer.is_null()
        } else {
            let value = expected.get("value").or(expected.get("instances")).unwrap_or(expected);
            answer == value
        };
        if !is_right {
            println!("{vector}\n    found {answer}");
        }
        is_right
    };
    let agree = vectors.iter().zip(&answers).filter(|pair| agrees(*pair)).count();
    oracle::agree("instances in converted applications", agree, vectors.len());
}

fn instances(folder: &Path, vectors: &Value) -> Option<Vec<Value>> {
    let file = folder.join("vectors.json");
    std::fs::write(&file, vectors.to_string()).expect("writable");
    answered("instances.py", &file)
}

fn asked(file: &Path) -> Option<Vec<Value>> {
    answered("input_logic.py", file)
}

/// The answers of a script in `tests/` to a file.
fn answered(script: &str, file: &Path) -> Option<Vec<Value>> {
    let script = crate::root().join("tests").join(script);
    let output = std::process::Command::new("python3").arg(script).arg(file).output();
    let Ok(output) = output else {
        println!("skipped: there is no python3");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let read = serde_json::from_str(last);
    Some(read.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}
