//! Coordinators that read each other's output, done flags and Hive tables, converted as `[migration]` requests.

use crate::convert::{airflow, asked, convert, shown, written};
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// A daily coordinator that reads `read` and writes `write`, starting on a day in March.
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

/// A workflow that runs a program, and then marks the output.
fn workflow(mark: &str) -> String {
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><global><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node></global><start to='run'/><action name='run'><shell xmlns='uri:oozie:shell-action:0.3'><exec>run.sh</exec><argument>${{from}}</argument></shell><ok to='mark'/><error to='fail'/></action><action name='mark'>{mark}<ok to='end'/><error to='fail'/></action><kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>"
    )
}

const TOUCH: &str = "<fs><touchz path='${to}/_SUCCESS'/></fs>";
const CALL: &str = "<sub-workflow><app-path>hdfs://nn/apps/done</app-path><configuration><property><name>directory</name><value>${to}</value></property></configuration></sub-workflow>";
const DONE: &str = "<workflow-app name='done' xmlns='uri:oozie:workflow:0.5'><parameters><property><name>directory</name></property><property><name>flag</name><value>_SUCCESS</value></property></parameters><start to='touch'/><action name='touch'><fs><touchz path='${directory}/${flag}'/></fs><ok to='end'/><error to='fail'/></action><kill name='fail'><message>no</message></kill><end name='end'/></workflow-app>";

/// `raw` -> `cleaned` -> `enriched`, by two coordinators; the second reads `instance`, and starts on `day`.
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
    // The first coordinator does more than marking its output, or starts later.
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
        // Everything below `/lake` itself is not a partition.
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
    assert!(code != 0 && said.contains("`lake` is not the path of a folder"), "{code} {said}");
}

const GRAPH: &str = "[migration]\njoined = \"graph\"\ndone-flag = \"completion\"\n";

/// The outcome and reason of the `data-in` of `rich` in the ledger, and the output on the terminal.
fn told(folder: &Path, target: &str) -> (String, String, String) {
    let report = folder.join("r.json");
    let arguments = [&*shown(folder), "--to", target, "--allow", "*", "--report", &shown(&report)];
    let (code, _, said) = convert(&arguments);
    assert_eq!(code, 0, "{said}");
    let text = std::fs::read_to_string(&report).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let all = report["applications"].as_array().expect("a list");
    let rich = all.iter().find(|one| one["path"].as_str().unwrap().contains("rich/coord"));
    let constructs = rich.expect("it is there")["constructs"].as_array().expect("a list").clone();
    let input =
        constructs.iter().find(|one| one["construct"] == "coordinator.input-events.data-in");
    let input = input.expect("it is there");
    let word = |key: &str| input[key].as_str().expect("a text").to_owned();
    (word("outcome"), word("reason"), said)
}

#[test]
fn coordinators_that_read_one_another_become_one_graph_where_a_site_asks() {
    for version in ["airflow", "airflow==2.10"] {
        for (mark, settings) in [(TOUCH, GRAPH), (CALL, GRAPH), (TOUCH, &GRAPH[..29])] {
            let folder = tempfile::tempdir().expect("a folder");
            estate(folder.path(), settings, mark, "current(0)", "01");
            // A third coordinator reads the output of the second.
            let third = coordinator("third", ("enriched", "current(0)"), "published", "01");
            written(folder.path(), "third/coordinator.xml", &third);
            written(folder.path(), "third/workflow.xml", &workflow(TOUCH));
            let out = folder.path().join("out");
            let arguments =
                [&*shown(folder.path()), "--to", version, "-o", &shown(&out), "--allow", "*"];
            let (code, _, said) = convert(&arguments);
            assert_eq!(code, 0, "{said}");
            let text = std::fs::read_to_string(out.join("dags/clean.py")).expect("a DAG");
            for other in ["rich", "third"] {
                assert!(!out.join(format!("dags/{other}.py")).exists(), "{other} is a DAG");
                assert!(
                    text.contains(&format!("with TaskGroup(\"{other}\") as {other}:")),
                    "{text}"
                );
            }
            let gate = "rich_wait_for_in_ = oozie.AfterCoordinator(\n            task_id=\"wait_for_in_\",\n            marked_by=\"clean.mark\",\n            trigger_rule=\"all_done\",\n        )\n";
            assert!(text.contains(gate), "{text}");
            assert!(text.contains("        clean_mark >> rich_wait_for_in_\n"), "{text}");
            assert!(text.contains("run.sh {{ oozie.uris(rich_in) | q }}"), "{text}");
            let is_empty = settings == GRAPH;
            assert_eq!(text.contains("-touchz"), !is_empty, "{text}");
            let Some(python) = airflow(version) else { continue };
            let answer = asked(&python, &["import", &shown(&out)]);
            let found = (&answer["errors"], &answer["warnings"]);
            assert_eq!(found, (&json!({}), &json!([])), "{version}");
        }
    }
}

#[test]
fn what_one_graph_would_do_otherwise_stays_apart() {
    let controls = |text: &str, controls: &str| {
        text.replacen("<datasets>", &format!("<controls>{controls}</controls><datasets>"), 1)
    };
    let plain = coordinator("rich", ("cleaned", "current(0)"), "enriched", "01");
    let cases = [
        (controls(&plain, "<timeout>7</timeout>"), "their time-outs differ"),
        (controls(&plain, "<concurrency>2</concurrency>"), "their concurrencies differ"),
        (controls(&plain, "<throttle>2</throttle>"), "their throttles differ"),
        (controls(&plain, "<execution>LIFO</execution>"), "their orders of execution differ"),
        (plain.replace("2026-03-01", "2026-03-02"), "their starts differ"),
        (plain.replace("2026-06-01", "2026-06-02"), "their ends differ"),
        (
            plain.replacen("frequency='${coord:days(1)}'", "frequency='${coord:days(2)}'", 1),
            "their frequencies differ",
        ),
        (
            plain.replacen("timezone='UTC' xmlns", "timezone='Europe/Paris' xmlns", 1),
            "their time zones differ",
        ),
    ];
    for (text, why) in cases {
        let folder = tempfile::tempdir().expect("a folder");
        estate(folder.path(), GRAPH, TOUCH, "current(0)", "01");
        written(folder.path(), "rich/coordinator.xml", &text);
        let (outcome, reason, said) = told(folder.path(), "airflow");
        let whole =
            format!("it waits for the folder, because it is not joined with `clean`: {why}");
        assert_eq!((&*outcome, &*reason), ("exact", &*whole));
        assert!(said.contains(&format!("`in` is not joined with `clean`: {why}")), "{said}");
        let [clean, rich] = dags(folder.path(), "airflow");
        assert!(rich.contains("oozie.DataSensor(") && clean.contains("-touchz"), "{rich}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    estate(folder.path(), GRAPH, TOUCH, "current(0)", "01");
    let without_times =
        |text: String| text.replace("cleaned/dt=${YEAR}-${MONTH}-${DAY}", "cleaned/current");
    for (name, read, write) in [("clean", "raw", "cleaned"), ("rich", "cleaned", "enriched")] {
        let text = without_times(coordinator(name, (read, "current(0)"), write, "01"));
        written(folder.path(), &format!("{name}/coordinator.xml"), &text);
    }
    let (_, reason, _) = told(folder.path(), "airflow");
    assert!(reason.ends_with("the folder is the same for every nominal time"), "{reason}");
    let folder = tempfile::tempdir().expect("a folder");
    estate(folder.path(), GRAPH, TOUCH, "current(0)", "01");
    let (outcome, reason, _) = told(folder.path(), "airflow");
    assert!(
        outcome == "approximate" && reason.contains("follow those of `clean` in one run"),
        "{reason}"
    );
    let (_, _, said) = told(folder.path(), "argo");
    let whole = "`joined = \"graph\"` is for a conversion to Airflow: for argo each coordinator stands alone";
    assert!(said.contains(whole), "{said}");
    // Each reads the other's output.
    let circle = coordinator("clean", ("enriched", "current(0)"), "cleaned", "01");
    written(folder.path(), "clean/coordinator.xml", &circle);
    let (_, _, said) = told(folder.path(), "airflow");
    assert!(said.contains("each of them reads what the other one writes"), "{said}");
}

/// Coordinators that become one graph after the user edited their files: no edit may be removed before it has been
/// moved to where it belongs.
#[test]
fn what_was_edited_before_it_was_joined_is_not_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let run = |settings: &str| {
        let apps = folder.path().join("apps");
        estate(&apps, settings, TOUCH, "current(0)", "01");
        let (_, _, said) = convert(&[&shown(&apps), "-o", &shown(&out), "--allow", "*"]);
        said
    };
    let edit = |name: &str| {
        let path = out.join(format!("dags/{name}.py"));
        let text = std::fs::read_to_string(&path).expect("a DAG");
        std::fs::write(&path, format!("# mine\n{text}")).expect("writable");
    };
    run("");
    let said = run(GRAPH);
    assert!(said.contains("rich.py: remove it, what it does is in dags/clean.py now"), "{said}");
    edit("rich");
    let said = run(GRAPH);
    assert!(said.contains("but it was edited: make the same changes there"), "{said}");
    let other = tempfile::tempdir().expect("a folder");
    std::fs::rename(&out, other.path().join("before")).expect("it moves");
    run("");
    edit("clean");
    let said = run(GRAPH);
    assert!(said.contains("rich.py: keep it until dags/clean.py, which was edited"), "{said}");
}

/// A workflow that recovers from a failure and decides by captured output; `last` is its last action.
fn branching(last: &str) -> String {
    let shell = |name: &str, argument: &str, (ok, error): (&str, &str)| {
        format!(
            "<action name='{name}'><shell xmlns='uri:oozie:shell-action:0.3'><exec>{name}.sh</exec><argument>{argument}</argument><capture-output/></shell><ok to='{ok}'/><error to='{error}'/></action>"
        )
    };
    let load = shell("load", "${from}", ("which", "mend"));
    let mend = shell("mend", "${wf:id()}", ("which", "fail"));
    let extra = shell("extra", "${wf:actionData('load')['rows']}", ("last", "mend2"));
    let mend2 = shell("mend2", "${wf:lastErrorNode()}", ("last", "fail"));
    format!(
        "<workflow-app name='w' xmlns='uri:oozie:workflow:0.5'><global><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node></global><start to='load'/>{load}{mend}<decision name='which'><switch><case to='extra'>${{wf:actionData('load')['rows'] gt 10}}</case><default to='last'/></switch></decision>{extra}{mend2}<action name='last'>{last}<ok to='end'/><error to='fail'/></action><kill name='fail'><message>${{wf:lastErrorNode()}} failed</message></kill><end name='end'/></workflow-app>"
    )
}

#[test]
fn graphs_of_coordinators_end_alike() {
    let run = "<shell xmlns='uri:oozie:shell-action:0.3'><exec>last.sh</exec></shell>";
    for version in ["airflow", "airflow==2.10"] {
        let Some(python) = airflow(version) else { continue };
        let folder = tempfile::tempdir().expect("a folder");
        estate(folder.path(), "[migration]\njoined = \"graph\"\n", TOUCH, "current(0)", "01");
        // The second coordinator has another input, for which it waits in parallel; the third follows the second one's
        // mark.
        let more = "<data-in name='more' dataset='enriched'><instance>${coord:current(-1)}</instance></data-in></input-events>";
        let rich = coordinator("rich", ("cleaned", "current(0)"), "enriched", "01");
        let rich = rich.replace("</input-events>", more);
        let third = coordinator("third", ("enriched", "current(0)"), "published", "01");
        written(folder.path(), "rich/coordinator.xml", &rich);
        written(folder.path(), "third/coordinator.xml", &third);
        written(folder.path(), "clean/workflow.xml", &branching(run));
        written(folder.path(), "third/workflow.xml", &workflow(TOUCH));
        let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["convert", "--allow", "*", "--to", version, "--prove", "--python"])
            .arg(&python)
            .arg(folder.path())
            .output()
            .expect("the binary is built");
        let said = String::from_utf8_lossy(&output.stderr);
        println!("{}{said}", String::from_utf8_lossy(&output.stdout));
        assert!(
            said.contains("replay: agree 18 of 18 scenarios of 4 applications"),
            "{version}: {said}"
        );
    }
}
