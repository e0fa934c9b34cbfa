//! `ankus convert --to prefect`: what it writes, and how a real Prefect runs it.

use crate::convert::{asked_of, corpus, counted, schedules};
use crate::convert_targets::{COORDINATOR, FORKED, shown, written};
use crate::{oracle, shared};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs `ankus convert --to prefect`. Returns exit code, stdout and stderr.
fn convert(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    let command = command.args(["convert", "--to", "prefect"]).args(arguments);
    let output = command.output().expect("the binary is built");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The Python of a virtual environment with Prefect: at `ANKUS_PREFECT`, or where `tests/prefect-env.sh` creates it.
pub(crate) fn prefect() -> Option<PathBuf> {
    let folder = std::env::var_os("ANKUS_PREFECT").unwrap_or_else(|| "/tmp/prefect3".into());
    let folder = PathBuf::from(folder);
    let python = folder.join("bin/python");
    if folder.join("bin/prefect").is_file() && python.is_file() {
        return Some(python);
    }
    println!("skipped: there is no Prefect in {}; tests/prefect-env.sh makes it", folder.display());
    None
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).expect("a report")).expect("JSON")
}

#[test]
fn a_coordinator_is_a_flow_with_its_schedule() {
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "daily/coordinator.xml", COORDINATOR);
    written(folder.path(), "daily/workflow.xml", FORKED);
    let out = folder.path().join("out");
    let (apps, target) = (shown(folder.path()), shown(&out));
    let (code, lost, said) = convert(&[&apps, "-o", &target, "-D", "mode=full"]);
    assert_eq!(code, 0, "{lost}{said}");
    let text = std::fs::read_to_string(out.join("flows/daily.py")).expect("a flow");
    for part in [
        "HOURS_DATA = oozie.Data(LOGS, first=\"current(-2)\", last=\"current(0)\")\n",
        "    if not run.is_due(\"2026-03-07T06:00Z\", \"2026-03-10T06:00Z\"):\n",
        "        run.wait_for(HOURS_DATA, minutes=60)\n",
        "    @run.step(\"a\", after=[\"wait_for_hours\"])\n    def a() -> None:\n        run.command([\"load.sh\", run.uris(HOURS_DATA)])\n",
        "        if el.eq(run[\"mode\"], \"full\"):\n            return \"b\"\n        return \"which_to_meet\"\n",
        "    @run.step(\"meet\", after=[\"a\", \"b\", \"which_to_meet\"], waits_for=\"any\")\n",
        "    @run.step(\"fail\", after_failed=[\"a\", \"b\"], waits_for=\"failure\")\n",
        "    daily.serve(name=\"daily\", schedules=[Cron(\"0 6 * * *\", timezone=\"UTC\")], limit=1)\n",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains("hunter22"), "{text}");

    // The same input gives the same bytes, and an edited file is left alone.
    assert_eq!(convert(&[&apps, "-o", &target, "-D", "mode=full", "--check"]).0, 0);
    written(&out, "flows/daily.py", "# mine\n");
    assert_eq!(convert(&[&apps, "-o", &target, "-D", "mode=full"]).0, 1);
}

#[test]
fn what_cannot_be_carried_over_fails_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FORKED.replace("${input}", "${wf:actionExternalStatus('a')}");
    written(folder.path(), "workflow.xml", &text);
    let out = folder.path().join("out");
    let path = shown(&folder.path().join("workflow.xml"));
    let (code, lost, _) = convert(&[&path, "-o", &shown(&out), "-D", "mode=full"]);
    assert!(code == 1 && lost.contains("has no counterpart"), "{code} {lost}");
    let text = std::fs::read_to_string(out.join("flows/load.py")).expect("a file");
    assert!(text.contains("raise oozie.ActionFailed("), "{text}");
    assert!(!text.contains("load.sh"), "{text}");
}

#[test]
fn prefect_imports_all_of_the_corpus() {
    let (Some(corpus), Some(python)) = (shared("ANKUS_CORPUS", "corpus"), prefect()) else {
        return;
    };
    let out = tempfile::tempdir().expect("a folder");
    let target = shown(out.path());
    let report = out.path().join("report.json");
    let arguments = [&shown(&corpus), "-o", &target, "--allow", "*", "--report", &shown(&report)];
    let (code, _, said) = convert(&arguments);
    assert_eq!(code, 0, "{said}");
    let (whole, of) = ledgers(&json_of(&report));
    oracle::agree("conversion ledgers of Prefect", whole, of);
    let files = std::fs::read_dir(out.path().join("flows")).expect("a folder").count() - 3;
    let answer = asked_of(&python, "in_prefect.py", &["import", &target]);
    assert_eq!(answer["errors"], json!({}));
    assert_eq!(answer["warnings"], json!([]));
    oracle::agree(
        "flows that Prefect imports",
        answer["flows"].as_u64().unwrap_or(0) as usize,
        files,
    );
}

/// The number of definitions with each element and attribute in the report, and the number of all definitions.
fn ledgers(report: &Value) -> (usize, usize) {
    let (mut whole, mut of) = (0, 0);
    for application in report["applications"].as_array().expect("a list") {
        let mut files: BTreeMap<&str, usize> = BTreeMap::new();
        for entry in application["constructs"].as_array().expect("a list") {
            let construct = entry["construct"].as_str().expect("a text");
            assert!(entry["outcome"] != "none" || entry["reason"] != "", "{construct}");
            let file = files.entry(entry["path"].as_str().expect("a path")).or_default();
            *file += usize::from(!construct.contains(".@xmlns"));
        }
        for (path, listed) in files {
            let text = std::fs::read_to_string(path).expect("it was read before");
            let Some(counted) = counted(&text) else { continue };
            of += 1;
            whole += usize::from(counted == listed);
        }
    }
    (whole, of)
}

#[test]
fn prefect_runs_at_the_nominal_times() {
    let Some(python) = prefect() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let apps = folder.path().join("apps");
    let mut expected = schedules(&apps, "2025-01-01T00:00Z");
    let out = folder.path().join("out");
    let report = folder.path().join("report.json");
    let arguments =
        [&*shown(&apps), "-o", &*shown(&out), "--allow", "*", "--report", &*shown(&report)]
            .map(str::to_owned);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, _, said) = convert(&arguments);
    assert_eq!(code, 0, "{said}");
    // A construct that is reported as exact must be exact.
    let mut exact = BTreeSet::new();
    for application in json_of(&report)["applications"].as_array().expect("a list") {
        let entries = application["constructs"].as_array().expect("a list");
        let of = |entry: &&Value| entry["construct"] == "coordinator.@frequency";
        let frequency = entries.iter().find(of).expect("a frequency");
        if frequency["outcome"] == "exact" {
            let path = Path::new(application["path"].as_str().expect("a path"));
            let folder = path.parent().and_then(Path::file_name).expect("a folder");
            exact.insert(folder.to_string_lossy().into_owned());
        }
    }
    expected.retain(|name, _| exact.contains(name));
    let expected: serde_json::Map<String, Value> = expected
        .into_iter()
        .map(|(name, times)| (ankus::carry::prefect::flow_name(&name), json!(times)))
        .collect();
    assert!(expected.len() > 200, "only {} are exact", expected.len());
    let file = folder.path().join("times.json");
    std::fs::write(&file, Value::from(expected).to_string()).expect("writable");
    let answer = asked_of(&python, "in_prefect.py", &["times", &shown(&out), &shown(&file)]);
    assert_eq!(answer["wrong"], json!({}));
    println!("{} nominal times of {} flows", answer["times"], answer["flows"]);
}

/// Plays runs that together take every path, on both sides.
#[test]
fn flows_end_as_their_workflows_do() {
    let (Some(corpus), Some(python)) = (shared("ANKUS_CORPUS", "corpus"), prefect()) else {
        return;
    };
    let some = corpus.join("GoogleCloudPlatform__oozie-to-airflow");
    let out = tempfile::tempdir().expect("a folder");
    let python = shown(&python);
    let arguments = ["--allow", "*", "--prove", "--scenarios", "2", "--python", &python];
    let paths = [&*shown(&some), "-o", &*shown(out.path())].map(str::to_owned);
    let paths = paths.iter().map(String::as_str);
    let arguments: Vec<&str> = paths.chain(arguments).collect();
    let (code, told, said) = convert(&arguments);
    let found = format!("{told}{said}");
    assert_eq!(code, 0, "{found}");
    let line = found.lines().find(|line| line.starts_with("replay: agree ")).expect("a summary");
    println!("{line}");
}

const STOPPED: &str = r#"<workflow-app name="stopped" xmlns="uri:oozie:workflow:0.5">
  <start to="both"/>
  <fork name="both"><path start="long"/><path start="bad"/></fork>
  <action name="long" retry-max="3" retry-interval="1"><shell xmlns="uri:oozie:shell-action:0.2"><exec>sleep</exec><argument>300</argument></shell>
    <ok to="meet"/><error to="fail"/></action>
  <action name="bad"><shell xmlns="uri:oozie:shell-action:0.2"><exec>sh</exec><argument>-c</argument><argument>echo no room; exit 3</argument></shell>
    <ok to="meet"/><error to="fail"/></action>
  <join name="meet" to="end"/>
  <kill name="fail"><message>${wf:lastErrorNode()}: ${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>"#;

/// A kill node stops running tasks, and these are not retried.
#[test]
fn a_kill_node_stops_what_runs() {
    let Some(python) = prefect() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    written(folder.path(), "workflow.xml", STOPPED);
    let (code, lost, said) =
        convert(&[&shown(&folder.path().join("workflow.xml")), "-o", &shown(folder.path())]);
    assert_eq!(code, 0, "{lost}{said}");
    let began = std::time::Instant::now();
    let output = Command::new(python)
        .arg(folder.path().join("flows/stopped.py"))
        .env("PREFECT_HOME", folder.path().join("home"))
        .env("DO_NOT_TRACK", "1")
        // On a busy machine its server takes longer than the usual 20 seconds to start.
        .env("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
        .output()
        .expect("Python starts");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("bad: exit code 3: no room"), "{text}");
    assert!(text.contains("the run ended") && !text.contains("Retry 1/3"), "{text}");
    // It did not wait for the five minutes of the task.
    assert!(began.elapsed().as_secs() < 250, "{:?}\n{text}", began.elapsed());
}

/// What `ruff` says of converted files: nothing, since they are laid out as it would lay them out.
#[test]
fn ruff_would_change_nothing() {
    let found = Command::new("ruff").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no `ruff` on the path");
        return;
    }
    for target in ["airflow", "airflow==2.10", "prefect"] {
        let Some((out, _)) = corpus(target, &format!("ruff-{target}")) else { return };
        for arguments in [&["check", "--no-cache"][..], &["format", "--diff", "--no-cache"]] {
            let output =
                Command::new("ruff").args(arguments).arg(&out).output().expect("it starts");
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{target}: {said}");
        }
    }
}
