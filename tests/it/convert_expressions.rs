//! Expressions converted for Airflow and Prefect: the results of the helpers, compared with the server's own answers.

use crate::convert::{airflow, asked_of};
use crate::convert_prefect::prefect;
use crate::oracle;
use ankus::carry::airflow::expression::{Names, Part, Place, Text};
use ankus::carry::prefect::expression;
use ankus_lang::el::{Dialect, Phase};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Functions whose results come from a cluster or from Airflow, which a template alone does not have.
const ELSEWHERE: [&str; 6] =
    ["timestamp(", "wf:error", "wf:lastError", "hadoop:", "wf:external", "wf:transition"];

/// A vector as a template or as code; fails with the reason if it cannot be converted.
fn carried(vector: &Value, place: Place) -> Result<String, String> {
    let group = vector["group"].as_str().expect("a group");
    let phase = Phase::from_name(group).expect("a known group");
    let state = &vector["state"];
    let named = |field: &str| state[field].as_str().map(Text::literal);
    let mut constants = BTreeMap::new();
    let name = if group == "workflow" { "wf:name" } else { "coord:name" };
    constants.insert(name, named("name").unwrap_or_default());
    let mut data = BTreeMap::new();
    for field in ["dataIn", "dataOut"] {
        for name in state[field].as_object().into_iter().flatten().map(|(name, _)| name) {
            data.insert(name.clone(), format!("data['{name}']"));
        }
    }
    // Properties are texts; the vectors have values of other types as well.
    let typed = vector["vars"].as_object().into_iter().flatten();
    let typed = typed.filter(|(_, value)| !value.is_string());
    let owner = if place == Place::Template { "params" } else { "run.params" };
    let texts = typed.map(|(name, _)| {
        let part = Part::Value((format!("{owner}['{name}']"), false));
        (name.clone(), Text { parts: vec![part], ..Text::default() })
    });
    let texts = texts.collect();
    let tasks = BTreeMap::new();
    let names = Names {
        phase,
        texts: &texts,
        is_open: &|_| false,
        owner: "dag",
        is_secret: &|_| false,
        constants: &constants,
        data: &data,
        tasks: &tasks,
        transitions: &BTreeMap::new(),
        is_forked: false,
        knows_user: true,
        group: None,
        place,
    };
    let text = names.text(vector["expr"].as_str().expect("a text"), Dialect::Tomcat);
    match (text.lacks.first(), place) {
        (Some(why), _) => Err(why.clone()),
        (None, Place::Template) => Ok(text.jinja()),
        (None, Place::Flow | Place::Moment) => Ok(expression(text)),
    }
}

/// The server's answer as text; none for a refusal.
fn expected(vector: &Value) -> Option<String> {
    let expect = &vector["expect"];
    if let Some(text) = expect["string"].as_str().or(expect["value"].as_str()) {
        return Some(text.to_owned());
    }
    if let Some(truth) = expect["boolean"].as_bool() {
        return Some(truth.to_string());
    }
    (expect["null"] == true).then(String::new)
}

fn is_compared(vector: &Value) -> bool {
    let group = vector["group"].as_str().unwrap_or_default();
    let written = vector["expr"].as_str().unwrap_or_default();
    matches!(group, "none" | "workflow" | "coord-action-start")
        && vector["expect"]["pattern"].is_null()
        && vector["as"].is_null()
        && !ELSEWHERE.iter().any(|name| written.contains(name))
}

#[test]
fn expressions_come_to_what_a_server_makes_of_them() {
    if let Some(python) = airflow("airflow") {
        compare(&python, "Airflow", Place::Template, "el_in_jinja.py");
    }
}

#[test]
fn expressions_of_flows_come_to_what_a_server_makes_of_them() {
    if let Some(python) = prefect() {
        compare(&python, "Prefect", Place::Flow, "el_in_python.py");
    }
}

/// Evaluates the vectors with a script, and compares the results with the server's answers.
fn compare(python: &Path, engine: &str, place: Place, script: &str) {
    let Some(text) = oracle::file("ANKUS_REFERENCE", "reference", "el-vectors.json") else {
        return;
    };
    let vectors: Value = serde_json::from_str(&text).expect("JSON");
    let vectors = vectors.as_array().expect("a list").iter();
    let vectors: Vec<&Value> = vectors.filter(|vector| is_compared(vector)).collect();
    let (mut agree, mut refused) = (0, 0);
    let (mut todo, mut asked) = (Vec::new(), Vec::new());
    for vector in &vectors {
        match carried(vector, place) {
            Ok(code) => {
                let field = if place == Place::Template { "template" } else { "code" };
                asked.push(json!({
                    field: code, "vars": vector["vars"], "state": vector["state"],
                }));
                todo.push(vector);
            }
            // A refusal of the conversion is reported at once; it is right if a server refuses as well.
            Err(_) if expected(vector).is_none() => agree += 1,
            Err(_) => refused += 1,
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vectors.json");
    std::fs::write(&file, Value::Array(asked.clone()).to_string()).expect("writable");
    let answers = asked_of(python, script, &[&file.to_string_lossy()]);
    for ((vector, asked), answer) in
        todo.iter().zip(&asked).zip(answers.as_array().expect("a list"))
    {
        if expected(vector).as_deref().map(|text| text.replace("@FS_ROOT@", "/files")).as_deref()
            == answer.as_str()
        {
            agree += 1;
            continue;
        }
        println!(
            "{} {}\n   {}\n   expected {}\n   found    {answer}",
            vector["group"], vector["expr"], asked, vector["expect"]
        );
    }
    println!("expressions in {engine}: {refused} refused by the conversion, with the reason");
    oracle::agree(&format!("expressions in {engine}"), agree, vectors.len());
}
