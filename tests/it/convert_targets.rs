//! `ankus convert --to step-functions`: what it writes, and whether independent tools accept and run it.

use crate::convert_argo::dated;
use crate::{oracle, shared};
use ankus::carry::step_functions::expression::{Names, Part};
use ankus_lang::el::{Dialect, Phase, Template, Value as Known, Variables};
use ankus_lang::time::ProcessingZone;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `ankus convert --to step-functions`. Returns exit code, stdout and stderr.
fn convert(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let command = command.args(["convert", "--to", "step-functions"]).args(arguments);
    let output = command.output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) const COORDINATOR: &str = r#"<coordinator-app name="daily" frequency="${coord:days(1)}" start="2026-03-07T06:00Z"
    end="2026-03-10T06:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>60</timeout></controls>
  <datasets>
    <dataset name="logs" frequency="${coord:hours(1)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/logs/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template>
    </dataset>
  </datasets>
  <input-events>
    <data-in name="hours" dataset="logs">
      <start-instance>${coord:current(-2)}</start-instance>
      <end-instance>${coord:current(0)}</end-instance>
    </data-in>
  </input-events>
  <action><workflow><app-path>hdfs://nn/apps/daily</app-path><configuration>
    <property><name>input</name><value>${coord:dataIn('hours')}</value></property>
    <property><name>password</name><value>hunter22</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

pub(crate) const FORKED: &str = r#"<workflow-app name="load" xmlns="uri:oozie:workflow:0.5">
  <start to="both"/>
  <fork name="both"><path start="a"/><path start="which"/></fork>
  <action name="a"><shell xmlns="uri:oozie:shell-action:0.2"><exec>load.sh</exec><argument>${input}</argument></shell>
    <ok to="meet"/><error to="fail"/></action>
  <decision name="which"><switch><case to="b">${mode eq 'full'}</case><default to="meet"/></switch></decision>
  <action name="b"><fs><delete path="/tmp/x"/><mkdir path="/tmp/x"/></fs><ok to="meet"/><error to="fail"/></action>
  <join name="meet" to="end"/>
  <kill name="fail"><message>failed: ${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>"#;

/// Two actions whose failures do not fail the run; the expression of one has no counterpart in any target.
pub(crate) const HANDLED: &str = r#"<workflow-app name="handled" xmlns="uri:oozie:workflow:0.5">
  <start to="lost"/>
  <action name="lost"><shell xmlns="uri:oozie:shell-action:0.2"><exec>a.sh</exec><argument>${wf:callback('x')}</argument></shell>
    <ok to="kept"/><error to="mend"/></action>
  <action name="mend"><shell xmlns="uri:oozie:shell-action:0.2"><exec>b.sh</exec></shell><ok to="kept"/><error to="fail"/></action>
  <action name="kept"><shell xmlns="uri:oozie:shell-action:0.2"><exec>c.sh</exec></shell><ok to="end"/><error to="end"/></action>
  <kill name="fail"><message>m</message></kill>
  <end name="end"/>
</workflow-app>"#;

pub(crate) fn written(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

fn machine(out: &Path, name: &str) -> Value {
    let path = out.join(format!("state-machines/{name}.asl.json"));
    let text = std::fs::read_to_string(path).expect("it was written");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_coordinator_and_its_workflow_are_one_machine() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "apps/daily/coordinator.xml", COORDINATOR);
    written(folder.path(), "apps/daily/workflow.xml", FORKED);
    written(folder.path(), "apps/daily/job.properties", "mode=full\nunused=1\n");
    let out = folder.path().join("out");
    let (apps, target) = (shown(&folder.path().join("apps")), shown(&out));
    let (code, lost, said) = convert(&[&apps, "-o", &target]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let definition = machine(&out, "daily");
    let states = &definition["States"];
    assert_eq!(definition["StartAt"], "Parameters");
    assert_eq!(states["Parameters"]["Next"], "Data");
    assert_eq!(states["Data"]["Next"], "Wait for hours");
    assert_eq!(states["Wait for hours"]["Retry"][0]["MaxAttempts"], 60);
    assert_eq!(states["Wait for hours"]["Next"], "both");
    let fork = &states["both"];
    assert_eq!((&fork["Type"], &fork["Next"]), (&json!("Parallel"), &json!("end")));
    let first = &fork["Branches"][0]["States"]["a"];
    assert_eq!(first["End"], true);
    let arguments = &first["Arguments"]["Step"]["HadoopJarStep"]["Args"];
    assert_eq!(*arguments, json!(["load.sh", "{% $join($data_hours, ',') %}"]));
    let choice = &fork["Branches"][1]["States"]["which"];
    assert_eq!(choice["Choices"][0]["Condition"], "{% $mode = 'full' %}");
    // Each branch has a kill node of its own, because transitions cannot leave a branch.
    assert_eq!(fork["Branches"][1]["States"]["fail (2)"]["Type"], "Fail");
    let template = std::fs::read_to_string(out.join("templates/daily.yaml")).expect("a template");
    for part in [
        "ScheduleExpression: cron(0 6 * * ? *)",
        "EndDate: '2026-03-10T05:59:00Z'",
        "DefinitionS3Location: ../state-machines/daily.asl.json",
        "<aws.scheduler.scheduled-time>",
    ] {
        assert!(template.contains(part), "{part} in\n{template}");
    }
    let all = format!("{definition}{template}");
    assert!(!all.contains("hunter22") && !all.contains("unused"), "{all}");

    // The same input gives the same bytes, and an edited file is left alone.
    assert_eq!(convert(&[&apps, "-o", &target, "--check"]).0, 0);
    written(&out, "templates/daily.yaml", "# mine\n");
    assert_eq!(convert(&[&apps, "-o", &target]).0, 1);
}

#[test]
fn a_fork_that_is_left_by_an_end_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FORKED.replace(
        "<ok to=\"meet\"/><error to=\"fail\"/></action>\n  <decision",
        "<ok to=\"meet\"/><error to=\"end\"/></action>\n  <decision",
    );
    written(folder.path(), "workflow.xml", &text);
    let out = folder.path().join("out");
    let (code, lost, _) =
        convert(&[&shown(&folder.path().join("workflow.xml")), "-o", &shown(&out)]);
    assert_eq!(code, 1);
    assert!(lost.contains("`end` is reached while the paths of a fork run"), "{lost}");
    assert!(!out.join("state-machines/load.asl.json").exists());
}

/// The folder of npm packages: `ANKUS_ASL_TOOLS`, or `/tmp/asl-tools`.
pub(crate) fn tools(packages: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ANKUS_ASL_TOOLS").map_or("/tmp/asl-tools".into(), PathBuf::from);
    let modules = folder.join("node_modules");
    if packages.split(' ').all(|name| modules.join(name).is_dir()) {
        return Some(modules);
    }
    let shown = folder.display();
    println!("skipped: `npm install {packages}` was not run in {shown}");
    None
}

fn asked(modules: &Path, arguments: &[&str]) -> Value {
    let script = crate::root().join("tests/asl_check.mjs");
    let mut command = Command::new("node");
    let output = command.arg(script).arg(modules).args(arguments).output().expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_else(|error| {
        panic!("{error}: {text}\n{}", String::from_utf8_lossy(&output.stderr))
    })
}

/// The number of elements and attributes of a text, according to an independent parser.
pub(crate) fn counted(text: &str) -> Option<usize> {
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document = roxmltree::Document::parse_with_options(text, options).ok()?;
    let elements = document.root_element().descendants().filter(roxmltree::Node::is_element);
    Some(elements.map(|element| 1 + element.attributes().len()).sum())
}

#[test]
fn the_corpus_becomes_state_machines_that_are_valid() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    let out = tempfile::tempdir().expect("a folder");
    let report = shown(&out.path().join("report.json"));
    let (code, _, said) = convert(&[
        &shown(&corpus),
        "--isolated",
        "-o",
        &shown(out.path()),
        "--report",
        &report,
        "--allow",
        "*",
    ]);
    assert_eq!(code, 0, "{said}");
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(report).expect("a report")).expect("JSON");
    let (mut whole, mut of) = (0, 0);
    for application in report["applications"].as_array().expect("a list") {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in application["constructs"].as_array().expect("a list") {
            let construct = entry["construct"].as_str().expect("a text");
            assert!(entry["outcome"] != "none" || entry["reason"] != "", "{construct}");
            if !construct.contains(".@xmlns") {
                *files.entry(entry["path"].as_str().expect("a path")).or_default() += 1;
            }
        }
        for (path, listed) in files {
            let text = std::fs::read_to_string(path).expect("it was read before");
            let Some(counted) = counted(&text) else { continue };
            of += 1;
            whole += usize::from(counted == listed);
            assert_eq!(listed, counted, "{path}");
        }
    }
    oracle::agree("conversion ledgers of Step Functions", whole, of);
    println!("{}", report["summary"]);
    let Some(modules) = tools("asl-validator jsonata") else { return };
    let answer = asked(&modules, &[&shown(&out.path().join("state-machines"))]);
    println!("{} machines with {} expressions", answer["machines"], answer["expressions"]);
    assert_eq!(answer["errors"], json!({}));
}

/// An expression in JSONata with its variable bindings; none if it lacks a value or differs from the original.
fn jsonata(
    source: &str,
    phase: Phase,
    values: &BTreeMap<String, String>,
) -> Option<(String, Value)> {
    let used = RefCell::default();
    let (texts, constants, data) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let names = Names {
        phase,
        texts: &texts,
        constants: &constants,
        data: &data,
        used: &used,
        scope: "",
        given: &|name| values.contains_key(name),
    };
    let text = names.text(source, Dialect::default());
    if !text.lacks.is_empty() || !text.differs.is_empty() {
        return None;
    }
    assert!(
        text.parts.iter().all(|part| !matches!(part, Part::Value((code, _)) if code.is_empty()))
    );
    let bindings: serde_json::Map<String, Value> = used
        .borrow()
        .iter()
        .map(|(name, used)| (used.variable.clone(), json!(values.get(name))))
        .collect();
    Some((text.code(), Value::Object(bindings)))
}

#[test]
fn jsonata_says_what_the_server_says() {
    let Some(modules) = tools("asl-validator jsonata") else { return };
    let words = ["full", "", "10", "9", "true", "TRUE", "it's (odd)", "a\\b", " x "];
    let mut cases = Vec::new();
    for a in words {
        for b in words {
            let given = [("a", a), ("b.c", b), ("b", b)];
            let values: BTreeMap<String, String> =
                given.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            for source in EXPRESSIONS {
                let Some((code, bindings)) = jsonata(source, Phase::Workflow, &values) else {
                    continue;
                };
                let mut variables = Variables::default();
                for (name, value) in &values {
                    variables.0.insert(name.clone(), Known::text(value.clone()));
                }
                let template = Template::compile(source, Phase::Workflow, Dialect::default());
                let Ok(value) = template.text(&variables) else { continue };
                cases.push(json!({"code": code, "bindings": bindings, "value": value}));
            }
        }
    }
    for (source, nominal, value) in dated() {
        let (code, _) = jsonata(source, Phase::CoordinatorActionStart, &BTreeMap::new())
            .unwrap_or_else(|| panic!("{source} has a counterpart"));
        let nominal = ProcessingZone::UTC.parse(&nominal.replace(":00Z", "Z")).expect("a time");
        let bindings = json!({"nominal": nominal.0 * 1000});
        cases.push(json!({"code": code, "bindings": bindings, "value": value}));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cases.json");
    std::fs::write(&file, serde_json::to_string(&cases).expect("JSON")).expect("writable");
    let answer = asked(&modules, &["--evaluate", &shown(&file)]);
    println!("{} evaluations", answer["cases"]);
    assert_eq!(answer["wrong"], json!([]));
    assert!(cases.len() > 1000, "{}", cases.len());
}

/// A coordinator that reads months of a dataset whose folders have no leading zeros, and writes days of another.
pub(crate) const MONTHS: &str = r#"<coordinator-app name="months" frequency="${coord:months(1)}" start="2024-01-01T00:00Z" end="2025-06-01T00:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <datasets>
    <dataset name="wide" frequency="${coord:months(1)}" initial-instance="2023-11-01T00:00Z" timezone="UTC"><uri-template>hdfs://nn/wide/y=${YEAR}/m=${"$"}{MONTH + 0}</uri-template></dataset>
    <dataset name="quarters" frequency="${coord:months(3)}" initial-instance="2023-10-01T00:00Z" timezone="UTC"><uri-template>hdfs://nn/quarters/${YEAR}-${MONTH}</uri-template></dataset>
    <dataset name="slim" frequency="${coord:days(1)}" initial-instance="2023-12-30T05:00Z" timezone="UTC"><uri-template>hdfs://nn/slim/${YEAR}_${"$"}{MONTH+0}_${"$"}{DAY + 0}/${"$"}{HOUR + 0}</uri-template></dataset>
  </datasets>
  <input-events>
    <data-in name="wide_in" dataset="wide"><start-instance>${coord:current(-2)}</start-instance><end-instance>${coord:current(0)}</end-instance></data-in>
    <data-in name="quarters_in" dataset="quarters"><instance>${coord:current(0)}</instance></data-in>
  </input-events>
  <output-events><data-out name="slim_out" dataset="slim"><instance>${coord:current(0)}</instance></data-out></output-events>
  <action><workflow><app-path>hdfs://nn/apps/months</app-path><configuration>
    <property><name>wide</name><value>${coord:dataIn('wide_in')}</value></property>
    <property><name>quarters</name><value>${coord:dataIn('quarters_in')}</value></property>
    <property><name>slim</name><value>${coord:dataOut('slim_out')}</value></property>
  </configuration></workflow></action>
</coordinator-app>
"#;

/// Nominal times of [`MONTHS`] with the folders of its events, as a server resolves them.
pub(crate) const MONTHLY: [(&str, [&str; 3]); 3] = [
    (
        "2024-01-01T00:00:00Z",
        [
            "hdfs://nn/wide/y=2024/m=1,hdfs://nn/wide/y=2023/m=12,hdfs://nn/wide/y=2023/m=11",
            "hdfs://nn/quarters/2024-01",
            "hdfs://nn/slim/2023_12_31/5",
        ],
    ),
    (
        "2024-12-01T00:00:00Z",
        [
            "hdfs://nn/wide/y=2024/m=12,hdfs://nn/wide/y=2024/m=11,hdfs://nn/wide/y=2024/m=10",
            "hdfs://nn/quarters/2024-10",
            "hdfs://nn/slim/2024_11_30/5",
        ],
    ),
    (
        "2023-12-01T00:00:00Z",
        ["hdfs://nn/wide/y=2023/m=12,hdfs://nn/wide/y=2023/m=11", "hdfs://nn/quarters/2023-10", ""],
    ),
];

/// Writes [`MONTHS`] with a workflow. Returns the folder of the application.
pub(crate) fn monthly(folder: &Path) -> String {
    written(folder, "apps/months/coordinator.xml", MONTHS);
    let workflow = r#"<workflow-app name="months" xmlns="uri:oozie:workflow:0.5"><start to="a"/>
<action name="a"><shell xmlns="uri:oozie:shell-action:0.3"><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node><exec>a.sh</exec><argument>${wide}</argument><argument>${quarters}</argument><argument>${slim}</argument></shell><ok to="end"/><error to="fail"/></action>
<kill name="fail"><message>no</message></kill><end name="end"/></workflow-app>
"#;
    written(folder, "apps/months/workflow.xml", workflow);
    shown(&folder.join("apps"))
}

#[test]
fn months_and_computed_folders_are_jsonata() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = monthly(folder.path());
    let out = folder.path().join("out");
    let (code, lost, said) = convert(&[&apps, "-o", &shown(&out)]);
    assert_eq!((code, lost.as_str()), (0, ""), "{said}");
    let text = std::fs::read_to_string(out.join("state-machines/months.asl.json")).expect("a file");
    let machine: Value = serde_json::from_str(&text).expect("JSON");
    let assigned = &machine["States"]["Data"]["Assign"];
    let mut cases = Vec::new();
    for (nominal, folders) in MONTHLY {
        let zone = ProcessingZone::UTC;
        let nominal = zone.parse(&nominal.replace(":00Z", "Z")).expect("a time").0 * 1000;
        for (name, value) in
            ["data_wide_in", "data_quarters_in", "data_slim_out"].iter().zip(folders)
        {
            let code = assigned[name].as_str().expect("code");
            let code = code.trim_start_matches("{% ").trim_end_matches(" %}");
            let code = format!("$join({code}, ',')");
            cases.push(json!({"code": code, "bindings": {"nominal": nominal}, "value": value}));
        }
    }
    let Some(modules) = tools("asl-validator jsonata") else { return };
    let file = folder.path().join("cases.json");
    std::fs::write(&file, serde_json::to_string(&cases).expect("JSON")).expect("writable");
    assert_eq!(asked(&modules, &["--evaluate", &shown(&file)])["wrong"], json!([]));
}

pub(crate) const EXPRESSIONS: &[&str] = &[
    "${a}/${b}",
    "${a eq b}",
    "${a ne b}",
    "${a == 'full'}",
    "${a lt b}",
    "${a ge b}",
    "${a eq true}",
    "${a and b}",
    "${a or not b}",
    "${not a}",
    "${empty a}",
    "${not empty a and b eq 'full'}",
    "${a eq 'full' ? b : 'none'}",
    "${concat(a, concat('-', b))}",
    "${trim(a)}",
    "${toUpper(a)}${toLower(b)}",
    "${replaceAll(a, 'l', 'L')}",
    "${1 + 2 * 3}/${a}",
    "${2 gt 1 and a eq b}",
    "${firstNotNull(a, b)}",
    "${a eq \"it's (odd)\"}",
    "${(a eq '(') or (')' eq b)}",
];

/// EventBridge gives a run what it cannot do without, from parameters of the template.
#[test]
fn scheduled_runs_have_their_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><start to='a'/><action name='a'><shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec><argument>${db_password}</argument><argument>${day}</argument><argument>${mode}</argument><argument>${\"$\"}{HOME}</argument></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    let coordinator = "<coordinator-app name='hourly' frequency='60' start='2026-03-01T00:00Z' end='2026-03-05T00:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>/apps/hourly</app-path></workflow></action></coordinator-app>";
    written(folder.path(), "hourly/workflow.xml", workflow);
    written(folder.path(), "hourly/coordinator.xml", coordinator);
    written(folder.path(), "hourly/job.properties", "db_password=hush-1\nmode=full\n");
    let out = folder.path().join("out");
    let (tree, target) = (shown(&folder.path().join("hourly")), shown(&out));
    convert(&[&tree, "-o", &target]);
    let read = |path: &str| std::fs::read_to_string(out.join(path)).expect("a file");
    let template = read("templates/hourly.yaml");
    let input = "Input: !Sub '{\"nominalTime\": \"<aws.scheduler.scheduled-time>\", \"day\": \"${Inputday}\", \"db_password\": \"${Inputdbpassword}\"}'";
    assert!(template.contains(input), "{template}");
    let parameter = "  Inputdbpassword:\n    Type: String\n    Description: 'The parameter db_password of the runs, escaped as in JSON'\n    NoEcho: true\n";
    assert!(template.contains(parameter) && !template.contains("Inputmode"), "{template}");
    // A text that is no substitution does not look like one.
    let machine = read("state-machines/hourly.asl.json");
    assert!(
        machine.contains("{% '\\\\u0024{HOME}' %}") && !machine.contains("${HOME}"),
        "{machine}"
    );
}
