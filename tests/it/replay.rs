//! Converted DAGs in a real Airflow with stubbed operators, beside the simulator: `ankus convert --prove`.

use crate::convert::airflow;
use crate::{oracle, shared};
use std::path::Path;
use std::process::Command;

/// What `--prove` says of some applications: scenarios that agree, and all; what differs is printed.
fn proved(version: &str, paths: &[&Path]) -> Option<(usize, usize)> {
    let python = airflow(version)?;
    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["convert", "--isolated", "--allow", "*", "--to", version, "--prove", "--python"])
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
    <ok to="end"/><error to="tidy"/></action>
  <action name="tidy"><shell xmlns="uri:oozie:shell-action:1.0"><exec>tidy.sh</exec></shell>
    <ok to="end"/><error to="fail"/></action>
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

#[test]
fn examples_end_alike() {
    let Some(corpus) = shared("ANKUS_CORPUS", "corpus") else { return };
    for version in ["airflow", "airflow==2.10"] {
        let examples = corpus.join("apache__oozie/examples");
        let Some((agree, of)) = proved(version, &[&examples]) else { continue };
        oracle::agree(&format!("replay of the examples in {version}"), agree, of);
    }
}
