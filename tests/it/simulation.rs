//! Coordinators in simulated time, as a user runs them.

use serde_json::Value;
use std::process::Command;

/// Runs `ankus run --simulate`. Returns exit code, stdout and stderr.
fn simulate(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let output = command.args(["run", "--simulate"]).args(arguments).output().expect("it is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

const HEAD: &str = r#"start="2026-01-01T00:00Z" end="2026-01-01T03:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4""#;

fn dataset(name: &str) -> String {
    format!(
        r#"<dataset name="{name}" frequency="${{coord:hours(1)}}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
          <uri-template>hdfs://nn/{name}/${{YEAR}}${{MONTH}}${{DAY}}${{HOUR}}</uri-template></dataset>"#
    )
}

fn coordinator(name: &str, reads: &str, writes: &str) -> String {
    format!(
        r#"<coordinator-app name="{name}" frequency="${{coord:hours(1)}}" {HEAD}>
          <controls><timeout>30</timeout></controls>
          <datasets>{}{}</datasets>
          <input-events><data-in name="in" dataset="{reads}"><instance>${{coord:current(0)}}</instance></data-in></input-events>
          <output-events><data-out name="out" dataset="{writes}"><instance>${{coord:current(0)}}</instance></data-out></output-events>
          <action><workflow><app-path>hdfs://nn/wf</app-path></workflow></action></coordinator-app>"#,
        dataset(reads),
        dataset(writes)
    )
}

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, text).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn all_data_there_all_actions_succeed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", &coordinator("c", "a", "b"));
    let (code, out, said) = simulate(&[&file]);
    assert_eq!((code, said.as_str()), (0, ""), "{out}");
    assert!(out.contains("c: SUCCEEDED, 3 SUCCEEDED\n"), "{out}");
    let (_, out, _) = simulate(&[&file, "--format", "jsonl"]);
    let first: Value = serde_json::from_str(out.lines().next().unwrap_or_default()).expect("JSON");
    assert_eq!((&first["coordinator"], &first["status"]), (&"c".into(), &"RUNNING".into()));
    let (code, out, _) = simulate(&[&file, "--until", "2026-01-01T01:30Z", "--format", "json"]);
    let read: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(code, 3, "{out}");
    assert_eq!(read["coordinators"][0]["status"], "RUNNING");
    assert_eq!(read["coordinators"][0]["actions"]["SUCCEEDED"], 2);
}

#[test]
fn what_is_missing_times_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(&folder, "coordinator.xml", &coordinator("c", "a", "b"));
    written(&folder, "data/a/2026010101/_SUCCESS", "");
    let root = folder.path().join("data").to_string_lossy().into_owned();
    let (code, out, _) = simulate(&[&file, "--root", &root]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("2026-01-01T00:31Z  c #1 is TIMEDOUT"), "{out}");
    assert!(out.contains("c: DONEWITHERROR, 1 SUCCEEDED, 2 TIMEDOUT"), "{out}");
}

#[test]
fn a_coordinator_of_a_bundle_reads_what_its_sibling_makes() {
    let folder = tempfile::tempdir().expect("a folder");
    written(&folder, "first/coordinator.xml", &coordinator("first", "a", "b"));
    written(&folder, "second/coordinator.xml", &coordinator("second", "b", "c"));
    for hour in 0..3 {
        written(&folder, &format!("data/a/20260101{hour:02}/_SUCCESS"), "");
    }
    let bundle = r#"<bundle-app name="both" xmlns="uri:oozie:bundle:0.2">
      <controls><kick-off-time>2026-01-01T00:10Z</kick-off-time></controls>
      <coordinator name="x"><app-path>hdfs://nn/apps/first</app-path></coordinator>
      <coordinator name="y"><app-path>hdfs://nn/apps/second</app-path></coordinator>
    </bundle-app>"#;
    let file = written(&folder, "bundle.xml", bundle);
    let root = folder.path().join("data").to_string_lossy().into_owned();
    let (code, out, said) = simulate(&[&file, "--root", &root]);
    assert_eq!((code, said.as_str()), (0, ""), "{out}");
    assert!(out.contains("2026-01-01T00:10Z  bundle both is RUNNING"), "{out}");
    assert!(out.contains("bundle both is SUCCEEDED"), "{out}");
    assert!(out.contains("y: SUCCEEDED, 3 SUCCEEDED"), "{out}");
}
