//! Coordinators of a conversion that read what another one writes, done-flags, and tables of Hive, as `[migration]` asks for them.

use crate::convert::{airflow, asked, convert, shown, written};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A daily coordinator that reads `read` and writes `write`, from a day of March on.
fn coordinator(name: &str, (read, instance): (&str, &str), write: &str, day: &str) -> String {
    let dataset = |name: &str| {
        format!(
            "<dataset name='{name}' frequency='${{coord:days(1)}}' initial-instance='2026-01-01T04:00Z' timezone='UTC'><uri-template>hdfs://nn/lake/{name}/dt=${{YEAR}}-${{MONTH}}-${{DAY}}</uri-template></dataset>"
        )
    };
    format!(
        "<coordinator-app name='{name}' frequency='${{coord:days(1)}}' start='2026-03-{day}T04:00Z' end='2026-06-01T04:00Z' timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><datasets>{}{}</datasets><input-events><data-in name='in' dataset='{read}'><instance>${{coord:{instance}}}</instance></data-in></input-events><output-events><data-out name='out' dataset='{write}'><instance>${{coord:current(0)}}</instance></data-out></output-events><action><workflow><app-path>hdfs://nn/apps/{name}</app-path><configuration><property><name>from</name><value>${{coord:dataIn('in')}}</value></property><property><name>to</name><value>${{coord:dataOut('out')}}</value></property></configuration></workflow></action></coordinator-app>",
        dataset(read),
        dataset(write)
    )
}

/// Runs a program, and then what marks the output.
fn workflow(mark: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><global><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node></global><start to='run'/><action name='run'><shell xmlns='uri:oozie:shell-action:0.3'><exec>run.sh</exec><argument>${{from}}</argument></shell><ok to='mark'/><error to='fail'/></action><action name='mark'>{mark}<ok to='end'/><error to='fail'/></action><kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>"
    )
}

const TOUCH: &str = "<fs><touchz path='${to}/_SUCCESS'/></fs>";
const CALL: &str = "<sub-workflow><app-path>hdfs://nn/apps/done</app-path><configuration><property><name>directory</name><value>${to}</value></property></configuration></sub-workflow>";
const DONE: &str = "<workflow-app name='done' xmlns='uri:oozie:workflow:0.5'><parameters><property><name>directory</name></property><property><name>flag</name><value>_SUCCESS</value></property></parameters><start to='touch'/><action name='touch'><fs><touchz path='${directory}/${flag}'/></fs><ok to='end'/><error to='fail'/></action><kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>";

/// `raw` -> `cleaned` -> `enriched`, by two coordinators; the second reads as it says, from a day on.
fn estate(folder: &Path, settings: &str, mark: &str, instance: &str, day: &str) {
    let clean = coordinator("clean", ("raw", "current(0)"), "cleaned", "01");
    let rich = coordinator("rich", ("cleaned", instance), "enriched", day);
    written(folder, "ankus.toml", settings);
    written(folder, "clean/coordinator.xml", &clean);
    written(folder, "clean/workflow.xml", &workflow(mark));
    written(folder, "rich/coordinator.xml", &rich);
    written(folder, "rich/workflow.xml", &workflow(TOUCH));
    written(folder, "done/workflow.xml", DONE);
}

/// The DAGs of `clean` and `rich`.
fn dags(folder: &Path, version: &str) -> [String; 2] {
    let out = folder.join("out");
    let (code, _, said) =
        convert(&[&shown(folder), "--to", version, "-o", &shown(&out), "--allow", "*"]);
    assert_eq!(code, 0, "{said}");
    ["clean", "rich"]
        .map(|name| std::fs::read_to_string(out.join(format!("dags/{name}.py"))).expect("a DAG"))
}

const TASKS: &str = "[migration]\njoined = \"task\"\ndone-flag = \"completion\"\n";

#[test]
fn one_waits_for_the_task_of_another_where_a_site_asks() {
    for version in ["airflow", "airflow==2.10"] {
        for mark in [TOUCH, CALL] {
            let folder = tempfile::tempdir().expect("a folder");
            estate(folder.path(), TASKS, mark, "current(0)", "04");
            let [clean, rich] = dags(folder.path(), version);
            let sensor = "wait_for_in_ = ExternalTaskSensor(\n        task_id=\"wait_for_in_\",\n        external_dag_id=\"clean\",\n        external_task_id=\"mark\",\n        mode=\"reschedule\",";
            assert!(rich.contains(sensor), "{rich}");
            assert!(rich.contains("run.sh {{ oozie.uris(in_) | q }}"), "{rich}");
            for text in [&clean, &rich] {
                let is_empty = text.contains("mark = EmptyOperator(");
                assert!(is_empty && !text.contains("touchz"), "{text}");
            }
            let Some(python) = airflow(version) else { continue };
            let answer = asked(&python, &["import", &shown(&folder.path().join("out"))]);
            let found = (&answer["errors"], &answer["warnings"]);
            assert_eq!(found, (&json!({}), &json!([])), "{version}");
        }
    }
}

#[test]
fn a_flag_is_written_where_somebody_looks_for_it() {
    for (settings, instance) in [
        ("[migration]\ndone-flag = \"completion\"\n", "current(0)"),
        (TASKS, "current(-1)"),
        (TASKS, "latest(0)"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        estate(folder.path(), settings, TOUCH, instance, "01");
        let [clean, rich] = dags(folder.path(), "airflow");
        assert!(clean.contains("-touchz") && !clean.contains("EmptyOperator"), "{clean}");
        assert!(rich.contains("oozie.DataSensor(") && !rich.contains("ExternalTask"), "{rich}");
    }
    // The other one does more than to mark, or begins later.
    let folder = tempfile::tempdir().expect("a folder");
    let more = "<fs><mkdir path='/a'/><touchz path='${to}/_SUCCESS'/></fs>";
    estate(folder.path(), TASKS, more, "current(0)", "01");
    let [clean, rich] = dags(folder.path(), "airflow");
    assert!(clean.contains("-touchz") && rich.contains("external_dag_id=\"clean\""), "{rich}");
    assert!(!rich.contains("external_task_id"), "{rich}");
    let text = coordinator("clean", ("raw", "current(0)"), "cleaned", "02");
    written(folder.path(), "clean/coordinator.xml", &text);
    let [_, rich] = dags(folder.path(), "airflow");
    assert!(rich.contains("oozie.DataSensor("), "{rich}");
}

#[test]
fn partitions_stand_for_folders_where_a_site_names_their_table() {
    let tables = "[migration]\ntables = { \"/lake/raw\" = \"lake.raw\", \"/lake\" = \"lake.all\" }\nconnections = { metastore = \"hms\" }\n";
    for version in ["airflow", "airflow==2.10"] {
        let folder = tempfile::tempdir().expect("a folder");
        estate(folder.path(), tables, TOUCH, "current(0)", "01");
        let [clean, rich] = dags(folder.path(), version);
        assert!(clean.contains("table=\"lake.raw\",\n    folder=\"/lake/raw\",\n"), "{clean}");
        assert!(clean.contains("metastore_conn_id=\"hms\""), "{clean}");
        // What is below `/lake` alone is no partition.
        assert!(!rich.contains("table="), "{rich}");
        let Some(python) = airflow(version) else { continue };
        let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["convert", "--allow", "*", "--to", version, "--prove", "--python"])
            .arg(&python)
            .arg(folder.path())
            .output()
            .expect("the binary is built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("replay: agree 10 of 10 scenarios"), "{said}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = "[migration]\ntables = { \"lake\" = \"lake\" }\n";
    estate(folder.path(), wrong, TOUCH, "current(0)", "01");
    let report = shown(&folder.path().join("r.md"));
    let (code, _, said) = convert(&[&shown(folder.path()), "--report", &report]);
    assert!(code != 0 && said.contains("`lake` is no path of a folder"), "{code} {said}");
}
