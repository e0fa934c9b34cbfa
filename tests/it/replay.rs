//! Converted DAGs in a real Airflow, and state machines in an interpreter, with stubbed tasks, compared with the
//! simulator: `ankus convert --prove`.

use crate::convert::airflow;
use crate::{oracle, shared};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `--prove` on some applications. Returns the number of scenarios that agree and of all scenarios, and prints the
/// differences.
fn proved(version: &str, paths: &[&Path]) -> Option<(usize, usize)> {
    let python = if version == "step-functions" { moto() } else { airflow(version) }?;
    // The settings of a site are in the folder of the applications.
    let has_settings = paths[0].join("ankus.toml").is_file();
    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(if has_settings { &["convert"][..] } else { &["convert", "--isolated"] })
        .args(["--allow", "*", "--to", version, "--prove", "--python"])
        .arg(&python)
        .args(paths)
        .output()
        .expect("the binary is built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{}{said}", String::from_utf8_lossy(&output.stdout));
    let line = said.lines().find_map(|line| line.strip_prefix("replay: agree "));
    let mut words = line.unwrap_or_else(|| panic!("no sum in {said}")).split(' ');
    let mut number = || words.find_map(|word| word.parse().ok()).expect("a number");
    Some((number(), number()))
}

/// The Python of a virtual environment with an interpreter of state machines: at `ANKUS_MOTO`, or where
/// `tests/step-functions-env.sh` creates it.
fn moto() -> Option<PathBuf> {
    let folder = std::env::var_os("ANKUS_MOTO").map_or("/tmp/moto-env".into(), PathBuf::from);
    let python = folder.join("bin/python");
    if python.is_file() {
        return Some(python);
    }
    println!(
        "skipped: there is no moto in {}; tests/step-functions-env.sh makes it",
        folder.display()
    );
    None
}

fn written(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).expect("a file");
}

const TRAPS: &str = r#"<workflow-app name="traps" xmlns="uri:oozie:workflow:1.0">
  <global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global>
  <start to="which"/>
  <decision name="which"><switch><case to="split">${mode eq 'full'}</case><default to="one"/></switch></decision>
  <fork name="split"><path start="left"/><path start="right"/></fork>
  <action name="left"><shell xmlns="uri:oozie:shell-action:1.0"><exec>left.sh</exec></shell>
    <ok to="joined"/><error to="mend"/></action>
  <action name="mend"><shell xmlns="uri:oozie:shell-action:1.0"><exec>mend.sh</exec></shell>
    <ok to="joined"/><error to="fail"/></action>
  <action name="right"><shell xmlns="uri:oozie:shell-action:1.0"><exec>right.sh</exec><capture-output/></shell>
    <ok to="joined"/><error to="fail"/></action>
  <join name="joined" to="found"/>
  <decision name="found"><switch><case to="one">${wf:actionData('right')['rows'] gt 10}</case><default to="end"/></switch></decision>
  <action name="one"><shell xmlns="uri:oozie:shell-action:1.0"><exec>one.sh</exec></shell>
    <ok to="last"/><error to="tidy"/></action>
  <action name="tidy"><shell xmlns="uri:oozie:shell-action:1.0"><exec>tidy.sh</exec></shell>
    <ok to="end"/><error to="fail"/></action>
  <action name="last"><shell xmlns="uri:oozie:shell-action:1.0"><exec>last.sh</exec><argument>--password</argument><argument>planted</argument></shell>
    <ok to="end"/><error to="say"/></action>
  <action name="say"><shell xmlns="uri:oozie:shell-action:1.0"><exec>say.sh</exec></shell>
    <ok to="said"/><error to="said"/></action>
  <kill name="said"><message>it was said</message></kill>
  <kill name="fail"><message>mode ${mode} failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

const WINDOW: &str = r#"<coordinator-app name="window" frequency="${coord:hours(1)}" start="2026-03-07T06:00Z"
    end="2026-03-10T06:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <datasets>
    <dataset name="logs" frequency="${coord:minutes(20)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/logs/${YEAR}/${MONTH}/${DAY}/${HOUR}/${MINUTE}</uri-template>
    </dataset>
  </datasets>
  <input-events>
    <data-in name="odd" dataset="logs">
      <start-instance>${coord:offset(-42, "MINUTE")}</start-instance>
      <end-instance>${coord:offset(0, "HOUR")}</end-instance>
    </data-in>
  </input-events>
  <action><workflow><app-path>hdfs://nn/apps/window</app-path><configuration>
    <property><name>mode</name><value>${coord:dataIn('odd')}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

#[test]
fn what_is_called_exact_ends_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let apps = folder.path().join("window");
    std::fs::create_dir(&apps).expect("a folder");
    written(folder.path(), "workflow.xml", TRAPS);
    written(folder.path(), "job.properties", "mode=part\n");
    written(&apps, "workflow.xml", &TRAPS.replace("traps", "windowed"));
    written(&apps, "coordinator.xml", WINDOW);
    for version in ["airflow", "airflow==2.10"] {
        let Some((agree, of)) = proved(version, &[folder.path()]) else { continue };
        assert!(agree == of && of >= 13, "{version}: {agree} of {of}");
    }
}

const DAILY: &str = r#"<coordinator-app name="daily" frequency="${coord:days(1)}" start="2026-03-07T06:00Z"
    end="2026-03-10T06:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
  <controls><timeout>-1</timeout></controls>
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
    <property><name>mode</name><value>full "${coord:formatTime(coord:nominalTime(), 'yyyy-MM-dd')}"</value></property>
    <property><name>limit</name><value>11</value></property>
    <property><name>input</name><value>${coord:dataIn('hours')}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

/// The hours of a day that has 23 of them, the second newest model, the output of the previous action, and a done flag
/// with another name.
const ODD_DATA: &str = r#"<coordinator-app name="odd" frequency="0 10 * * *" start="2026-03-29T10:00Z"
    end="2026-03-31T10:00Z" timezone="Europe/Berlin" xmlns="uri:oozie:coordinator:0.4">
  <controls><execution>LAST_ONLY</execution></controls>
  <datasets>
    <dataset name="hours" frequency="${coord:hours(1)}" initial-instance="2026-01-01T00:00Z" timezone="Europe/Berlin">
      <uri-template>hdfs://nn/hours/${YEAR}/${MONTH}/${DAY}/${HOUR}</uri-template><done-flag>READY</done-flag>
    </dataset>
    <dataset name="models" frequency="${coord:days(1)}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
      <uri-template>hdfs://nn/models/${YEAR}/${MONTH}/${DAY}</uri-template><done-flag></done-flag>
    </dataset>
    <dataset name="own" frequency="${coord:days(1)}" initial-instance="2026-01-01T10:00Z" timezone="UTC">
      <uri-template>hdfs://nn/own/${YEAR}/${MONTH}/${DAY}</uri-template>
    </dataset>
  </datasets>
  <input-events>
    <data-in name="day" dataset="hours">
      <start-instance>${coord:current(-(coord:hoursInDay(0) - 1))}</start-instance>
      <end-instance>${coord:current(-(1 - 1))}</end-instance>
    </data-in>
    <data-in name="model" dataset="models"><instance>${coord:latest(-1)}</instance></data-in>
    <data-in name="before" dataset="own"><instance>${coord:current(-1)}</instance></data-in>
    <data-in name="month" dataset="models">
      <start-instance>${coord:current(-coord:daysInMonth(-30))}</start-instance>
      <end-instance>${coord:current(0)}</end-instance>
    </data-in>
  </input-events>
  <output-events><data-out name="out" dataset="own"><instance>${coord:current(0)}</instance></data-out></output-events>
  <action><workflow><app-path>hdfs://nn/apps/odd</app-path><configuration>
    <property><name>out</name><value>${coord:dataOut('out')} and ${coord:dataIn('model')}</value></property>
  </configuration></workflow></action>
</coordinator-app>"#;

#[test]
fn odd_data_are_waited_for_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("odd");
    std::fs::create_dir(&odd).expect("a folder");
    written(&odd, "coordinator.xml", ODD_DATA);
    written(
        &odd,
        "workflow.xml",
        r#"<workflow-app name="odd" xmlns="uri:oozie:workflow:1.0">
  <global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global><start to="load"/>
  <action name="load"><shell xmlns="uri:oozie:shell-action:1.0"><exec>load.sh</exec></shell><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>${out} failed</message></kill><end name="end"/></workflow-app>"#,
    );
    for version in ["airflow", "airflow==2.10"] {
        let Some((agree, of)) = proved(version, &[folder.path()]) else { continue };
        assert!(agree == of && of == 3, "{version}: {agree} of {of}");
    }
}

/// A mail that became a failure notice is sent where the mail was.
#[test]
fn notices_are_sent_where_mails_were() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "ankus.toml", "[migration]\nfailure-mail = \"notice\"\n");
    written(
        folder.path(),
        "workflow.xml",
        r#"<workflow-app name="noticed" xmlns="uri:oozie:workflow:1.0">
  <global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global><start to="load"/>
  <action name="load"><shell xmlns="uri:oozie:shell-action:1.0"><exec>load.sh</exec></shell><ok to="end"/><error to="tell"/></action>
  <action name="tell"><email xmlns="uri:oozie:email-action:0.2"><to>a@example.org</to><subject>s</subject><body>b</body></email>
    <ok to="fail"/><error to="fail"/></action>
  <kill name="fail"><message>it failed</message></kill><end name="end"/></workflow-app>"#,
    );
    for version in ["airflow", "airflow==2.10"] {
        let Some((agree, of)) = proved(version, &[folder.path()]) else { continue };
        assert!(agree == of && of == 3, "{version}: {agree} of {of}");
    }
}

/// State machines with forks, retries, choices, texts with quotes, and data that may or may not arrive.
#[test]
fn state_machines_end_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let daily = folder.path().join("daily");
    std::fs::create_dir(&daily).expect("a folder");
    // Captured output is lost in a state machine.
    let plain = TRAPS
        .replace(
            "${wf:actionData('right')['rows'] gt 10}",
            "${limit gt 10 and not empty trim(mode)}",
        )
        .replace("<capture-output/>", "<argument>${wf:user()}</argument>")
        .replace(
            "<action name=\"one\">",
            "<action name=\"one\" retry-max=\"2\" retry-interval=\"1\">",
        );
    written(folder.path(), "workflow.xml", &plain);
    written(folder.path(), "job.properties", "mode=part \"of it\"\nlimit=3\n");
    written(&daily, "workflow.xml", &plain.replace("traps", "daily"));
    written(&daily, "coordinator.xml", DAILY);
    let Some((agree, of)) = proved("step-functions", &[folder.path()]) else { return };
    assert!(agree == of && of >= 13, "{agree} of {of}");
}

/// If an action fails because its expression is lost, the report names the nodes that its error transition leads to.
#[test]
fn handlers_of_lost_expressions_are_told() {
    let Some(python) = moto() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"<workflow-app name="told" xmlns="uri:oozie:workflow:0.5"><start to="count"/>
  <action name="count"><shell xmlns="uri:oozie:shell-action:0.3"><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec><capture-output/></shell>
    <ok to="use"/><error to="fail"/></action>
  <action name="use"><shell xmlns="uri:oozie:shell-action:0.3"><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>b.sh</exec>
    <argument>${wf:actionData('count')['n']}</argument></shell><ok to="end"/><error to="mend"/></action>
  <action name="mend"><shell xmlns="uri:oozie:shell-action:0.3"><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>c.sh</exec></shell>
    <ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>m</message></kill><end name="end"/></workflow-app>"#;
    written(folder.path(), "workflow.xml", text);
    let report = folder.path().join("r.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.args(["convert", "--isolated", "--allow", "*", "--to", "step-functions", "--prove"]);
    command.arg("--python").arg(&python).arg(folder.path()).arg("--report").arg(&report);
    let output = command.output().expect("the binary is built");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let report = std::fs::read_to_string(report).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let differs = &report["applications"][0]["replay"]["differs"];
    let fails = "`use` is ERROR, and an expression of the task failed";
    assert!(differs.to_string().contains(fails), "{differs}");
}

/// The workflow of a coordinator takes decisions by the properties of its job, and receives its secrets.
#[test]
fn workflows_of_coordinators_have_the_properties_of_their_jobs() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = r#"<workflow-app name="asked" xmlns="uri:oozie:workflow:0.5"><start to="which"/>
  <decision name="which"><switch><case to="load">${kind eq 'full'}</case><default to="end"/></switch></decision>
  <action name="load"><shell xmlns="uri:oozie:shell-action:0.3"><job-tracker>rm</job-tracker><name-node>nn</name-node><exec>a.sh</exec>
    <argument>${dbPassword}</argument></shell><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>m</message></kill><end name="end"/></workflow-app>"#;
    let daily = folder.path().join("daily");
    std::fs::create_dir(&daily).expect("a folder");
    written(&daily, "workflow.xml", text);
    written(&daily, "coordinator.xml", DAILY);
    written(&daily, "job.properties", "kind=full\ndbPassword=hush\n");
    let Some((agree, of)) = proved("step-functions", &[folder.path()]) else { return };
    assert!(agree == of && of >= 3, "{agree} of {of}");
}

/// One action, which succeeds or fails.
const ONE: &str = r#"<workflow-app name="one" xmlns="uri:oozie:workflow:1.0">
  <global><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node></global>
  <start to="one"/>
  <action name="one"><shell xmlns="uri:oozie:shell-action:1.0"><exec>one.sh</exec></shell>
    <ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>it failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

/// A DAG that Airflow cannot import fails only its own application.
#[test]
#[cfg(unix)]
fn what_cannot_be_imported_stops_nothing_else() {
    use std::os::unix::fs::PermissionsExt as _;
    for version in ["airflow", "airflow==2.10"] {
        let Some(python) = airflow(version) else { continue };
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["bad", "good"] {
            std::fs::create_dir(folder.path().join(name)).expect("a folder");
            let text = ONE.replace("\"one\" xmlns", &format!("\"{name}\" xmlns"));
            written(&folder.path().join(name), "workflow.xml", &text);
        }
        // The environment lacks a module that one of the DAGs imports.
        let wrapper = folder.path().join("python");
        let script = format!(
            "#!/bin/sh\necho 'import not_installed' >> \"$2/dags/bad.py\"\nexec '{}' \"$@\"\n",
            python.display()
        );
        std::fs::write(&wrapper, script).expect("a file");
        let may = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&wrapper, may).expect("a file of ours");
        let report = folder.path().join("r.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        command.args(["convert", "--isolated", "--allow", "*", "--to", version, "--prove"]);
        command.arg("--python").arg(&wrapper).arg("--report").arg(&report);
        let output = command.arg(folder.path()).output().expect("the binary is built");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let why = "cannot import it: ModuleNotFoundError: No module named 'not_installed'";
        assert!(said.contains(&format!("bad/workflow.xml: Airflow {why}")), "{said}");
        assert_eq!(output.status.code(), Some(1), "{said}");
        let data = std::fs::read_to_string(&report).expect("a report");
        let data: Value = serde_json::from_str(&data).expect("JSON");
        let replays: Vec<&Value> = data["applications"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| &one["replay"])
            .collect();
        assert!(replays[0]["refused"].as_str().is_some_and(|text| text.contains(why)), "{data}");
        assert!(replays[1]["agree"].as_u64().is_some_and(|agree| agree >= 2), "{data}");
    }
}

/// `--report` has the results of `--prove`.
#[test]
fn reports_say_what_was_played() {
    let Some(python) = moto() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", TRAPS);
    written(folder.path(), "job.properties", "mode=part\n");
    let reports = ["r.json", "r.md", "r.html"].map(|name| folder.path().join(name));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.args(["convert", "--isolated", "--allow", "*", "--to", "step-functions", "--prove"]);
    command.arg("--python").arg(&python).arg(folder.path());
    for report in &reports {
        command.arg("--report").arg(report);
    }
    let output = command.output().expect("the binary is built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [data, words, page] = reports.map(|path| std::fs::read_to_string(path).expect("a report"));
    let data: Value = serde_json::from_str(&data).expect("JSON");
    let sums = &data["summary"]["replay"];
    let replay = &data["applications"][0]["replay"];
    let count = |name: &str| replay[name].as_u64().expect("a number");
    let differs = replay["differs"].as_array().expect("a list");
    // Captured output does not come back, so the decision after the action fails.
    assert!(!differs.is_empty() && differs.iter().all(|one| one["lost"] == true), "{replay}");
    assert!(
        differs[0]["what"][0].as_str().is_some_and(|what| what.contains("SUCCEEDED")),
        "{replay}"
    );
    assert_eq!(count("agree") + count("loosely") + differs.len() as u64, count("scenarios"));
    assert_eq!((&sums["applications"], &sums["differ"]), (&json!(1), &json!(0)));
    assert_eq!(sums["lost"], differs.len());
    let sum = format!("Of {} scenarios, {} agree", count("scenarios"), count("agree"));
    for text in [&words, &page] {
        assert!(text.contains(&sum) && text.contains("(because of a loss below): "), "{text}");
    }
}

#[test]
fn examples_end_alike() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    for version in ["airflow", "airflow==2.10"] {
        let examples = corpus.join("apache__oozie/examples");
        let Some((agree, of)) = proved(version, &[&examples]) else { continue };
        oracle::agree(&format!("replay of the examples in {version}"), agree, of);
    }
}
