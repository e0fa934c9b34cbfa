//! The output of commands matches their JSON schemas exactly.

use crate::cli::{ankus, folder};
use serde_json::Value;
use std::path::Path;

/// Collects where a value differs from its schema. A member that the schema does not list is a fault too, because a
/// consumer would not know it either.
fn faults(value: &Value, schema: &Value, whole: &Value, at: &str, found: &mut Vec<String>) {
    if let Some(link) = schema["$ref"].as_str() {
        let named = whole.pointer(link.trim_start_matches('#')).expect("a shape of this name");
        return faults(value, named, whole, at, found);
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_kind = |known: &Value| known == kind || (known == "number" && kind == "integer");
    let is_right = match &schema["type"] {
        Value::Null => true,
        Value::Array(kinds) => kinds.iter().any(is_kind),
        one => is_kind(one),
    };
    let is_known = schema["enum"].as_array().is_none_or(|texts| texts.contains(value));
    let is_constant = schema.get("const").is_none_or(|constant| constant == value);
    let is_large = schema["minimum"].as_i64().is_none_or(|least| value.as_i64() >= Some(least));
    if !(is_right && is_known && is_constant && is_large) {
        found.push(format!("{at}: {value} is not {schema}"));
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        faults(item, &schema["items"], whole, &format!("{at}/{index}"), found);
    }
    let Some(object) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !object.contains_key(name.as_str().expect("names are texts")) {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, item) in object {
        let at = format!("{at}/{name}");
        match schema["properties"].get(name).or(schema.get("additionalProperties")) {
            Some(schema) => faults(item, schema, whole, &at, found),
            None if schema.get("type").is_some() => found.push(format!("{at} is unknown")),
            None => {}
        }
    }
}

#[track_caller]
fn holds(name: &str, printed: &str) {
    let schema = ankus(&["schema", name]).run();
    let schema: Value = serde_json::from_str(&schema.stdout).expect("a schema");
    let value: Value =
        serde_json::from_str(printed).unwrap_or_else(|why| panic!("{name}: {why}: {printed}"));
    let mut found = Vec::new();
    faults(&value, &schema, &schema, "", &mut found);
    assert_eq!(found, Vec::<String>::new(), "{name}");
}

const WORKFLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="w">
  <start to="a"/>
  <action name="a"><fs><mkdir path="${nameNode}/x"/></fs><ok to="sub"/><error to="gone"/></action>
  <action name="sub"><sub-workflow><app-path>${nameNode}/apps/b</app-path></sub-workflow><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>m</message></kill>
  <end name="end"/>
</workflow-app>"#;

#[test]
fn outputs_are_as_their_schemas_say() {
    let here = folder(&[
        ("old/workflow.xml", WORKFLOW),
        (
            "old/job.properties",
            "nameNode=hdfs://nn\noozie.wf.application.path=hdfs://nn/apps/old\n",
        ),
        ("new/workflow.xml", &WORKFLOW.replace("gone", "fail").replace("/x", "/y")),
        ("new/job.properties", "nameNode=hdfs://nn\n"),
        ("new/broken.scenario.toml", "app = \".\"\nwhat = 1\n"),
        ("new/one.scenario.toml", "app = \".\"\n[expect]\nstatus = \"FAILED\"\n"),
    ]);
    let examples = crate::root().join("fixtures/projects");
    let print = |arguments: &[&str]| ankus(arguments).folder(here.path()).run().stdout;
    let print_of = |folder: &Path, arguments: &[&str]| ankus(arguments).folder(folder).run().stdout;
    let bakery = examples.join("bakery");
    holds("check", &print(&["check", "--format", "json"]));
    holds("rules", &print(&["rules", "--format", "json"]));
    holds("graph", &print(&["graph", "old", "--format", "json"]));
    for application in ["bundle.xml", "bake/coordinator.xml", "bake"] {
        holds("graph", &print_of(&bakery, &["graph", application, "--data", "--format", "json"]));
        holds("params", &print_of(&bakery, &["params", application, "--format", "json"]));
    }
    for application in ["bundle.xml", "bake/coordinator.xml"] {
        let timeline =
            ["timeline", application, "-P", "job.properties", "--count", "3", "--format", "json"];
        holds("timeline", &print_of(&bakery, &timeline));
        let rooted = [&timeline[..], &["--root", "."]].concat();
        holds("timeline", &print_of(&bakery, &rooted));
    }
    holds("params", &print(&["params", "new", "--format", "json"]));
    holds("diff", &print(&["diff", "old", "new", "--format", "json"]));
    for text in ["${1 eq 1}", "a${2 + 3}", "${nothing}", "${", "${wf:conf('a', 'b')}", "${1 / 'x'}"]
    {
        holds("eval", &print(&["eval", text, "--types", "--format", "json"]));
    }
    let frequency =
        ["eval", "${coord:endOfDays(1)}", "--at", "coord-job-submit-freq", "--format", "json"];
    holds("eval", &print(&frequency));
    holds("test", &print(&["test", "new", "--format", "json"]));
    holds("test", &print_of(&examples, &["test", ".", "--format", "json"]));
    for target in ["airflow", "argo", "step-functions", "databricks", "prefect"] {
        let report = here.path().join(format!("{target}.json"));
        let report = report.to_str().expect("a plain path");
        print_of(&bakery, &["convert", ".", "--to", target, "--report", report]);
        holds("convert", &std::fs::read_to_string(report).expect("a report"));
    }
}
