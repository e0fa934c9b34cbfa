//! `ankus test --real`: actions without a stub run programs of this machine.

use crate::cli::{ankus, folder};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const REAL: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="real">
  <global><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node></global>
  <start to="folder"/>
  <action name="folder"><fs><mkdir path="hdfs://nn/out"/></fs><ok to="count"/><error to="fail"/></action>
  <action name="count"><shell xmlns="uri:oozie:shell-action:1.0"><prepare><delete path="hdfs://nn/old"/></prepare>
    <exec>count.sh</exec><argument>${nameNode}</argument><argument>x${"${"}y}</argument><file>count.sh</file><capture-output/></shell>
    <ok to="both"/><error to="fail"/></action>
  <fork name="both"><path start="check"/><path start="load"/></fork>
  <action name="check"><shell xmlns="uri:oozie:shell-action:1.0">
    <exec>check.sh</exec><argument>${wf:actionData('count')['lines']}</argument><file>check.sh</file></shell>
    <ok to="joined"/><error to="fail"/></action>
  <action name="load"><shell xmlns="uri:oozie:shell-action:1.0"><exec>load.sh</exec></shell><ok to="joined"/><error to="fail"/></action>
  <join name="joined" to="end"/>
  <kill name="fail"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>"#;

#[test]
fn actions_without_a_stub_run_for_real_if_asked() {
    let count = "#!/bin/sh\ncd \"$ANKUS_FILE_ROOT\" || exit 9\n[ -d out ] && [ ! -e old ] || exit 8\n\
        echo \"lines=$(wc -l < in/data)\"\necho \"$1 $2\" > out/said\nrm in/data\n";
    let scenario = |expect: &str| {
        format!(
            "app = \"app\"\n[properties]\nnameNode = \"hdfs://nn\"\npassword = \"s3cret\"\n\
             [files]\n\"hdfs://nn/in/data\" = \"a\\nb\\n\"\n\"hdfs://nn/old/x\" = \"\"\n\
             [actions.load]\ntakes = \"5m\"\n{expect}"
        )
    };
    let expect = "[expect]\nstatus = \"SUCCEEDED\"\npath = [\"folder\", \"count\", \"check\", \"load\", \"end\"]\n\
        [expect.actions.count]\nstatus = \"OK\"\ndata = { lines = \"2\" }\n\
        [expect.files]\n\"hdfs://nn/out/said\" = \"hdfs://nn x${y}\\n\"\n";
    let here = folder(&[
        ("app/workflow.xml", REAL),
        ("app/count.sh", count),
        ("app/check.sh", "#!/bin/sh\n[ \"$1\" = 2 ] && [ ! -e \"$ANKUS_FILE_ROOT/in/data\" ]\n"),
        ("app/job.properties", "oozie.wf.application.path=hdfs://nn/apps/real\n"),
        ("a.scenario.toml", &scenario(expect)),
    ]);
    let temporary = folder(&[]);
    let test = |arguments: &[&str]| {
        let place = temporary.path().to_str().expect("a plain path");
        ankus(arguments).folder(here.path()).variable("TMPDIR", place).run()
    };
    let done = test(&["test", "--real"]);
    done.said(0, "1 scenario, 0 failed");
    done.said(0, "without a stub, run for real: check, count\n");
    let simulated = test(&["test"]);
    simulated.said(1, "without a stub, assumed to succeed: check, count\n");

    // The output of a failing action is reported, with secrets masked.
    let fails = "#!/bin/sh\necho \"no luck with s3cret\" >&2\nexit 3\n";
    std::fs::write(here.path().join("app/check.sh"), fails).expect("a file");
    let failed = test(&["test", "--real"]);
    failed.said(1, "status: expected SUCCEEDED, seen KILLED");
    failed.said(1, "check: the shell action's program ended with exit code 3");
    failed.said(1, "no luck with ***");
    assert!(!format!("{failed:?}").contains("s3cret"), "{failed:?}");
    let left = std::fs::read_dir(temporary.path()).expect("a folder").count();
    assert_eq!(left, 0, "something is left");
}

/// A scenario with one endless program that records its process id, and the path of that record.
fn endless(limit: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let workflow = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="endless">
  <global><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node></global>
  <start to="wait"/>
  <action name="wait"><shell xmlns="uri:oozie:shell-action:1.0">
    <exec>wait.sh</exec><argument>${where}</argument><file>wait.sh</file></shell><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>failed</message></kill>
  <end name="end"/>
</workflow-app>"#;
    let here = folder(&[
        ("app/workflow.xml", workflow),
        ("app/wait.sh", "#!/bin/sh\necho $$ > \"$1.new\"\nmv \"$1.new\" \"$1\"\nexec sleep 3600\n"),
        ("app/job.properties", "oozie.wf.application.path=hdfs://nn/apps/real\n"),
    ]);
    let told = here.path().join("process");
    let scenario = format!(
        "app = \"app\"\n{limit}[properties]\nwhere = {:?}\n[expect]\nstatus = \"RUNNING\"\n",
        told.to_str().expect("a plain path"),
    );
    std::fs::write(here.path().join("a.scenario.toml"), scenario).expect("a file");
    (here, told)
}

#[test]
fn what_runs_for_real_ends_at_the_limit() {
    let (here, told) = endless("limit = \"2s\"\n");
    ankus(&["test", "--real"]).folder(here.path()).run().said(0, "1 scenario, 0 failed");
    assert!(!runs(&told));
}

#[test]
#[cfg(unix)]
fn what_runs_for_real_ends_with_the_test() {
    let (here, told) = endless("");
    let child = begun(here.path(), &told);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("our own child");
    let output = child.wait_with_output().expect("our own child");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`wait` cannot be run for real: interrupted"), "{said}");
    assert!(!runs(&told));
}

/// Nothing but its launcher can then end the program.
#[test]
#[cfg(unix)]
fn what_runs_for_real_ends_with_a_test_that_is_killed() {
    let (here, told) = endless("");
    let mut child = begun(here.path(), &told);
    child.kill().expect("our own child");
    child.wait().expect("our own child");
    let began = Instant::now();
    while runs(&told) {
        assert!(began.elapsed() < Duration::from_secs(60), "the program goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a test and waits until its program runs.
#[cfg(unix)]
fn begun(here: &Path, told: &Path) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.args(["test", "--real"]).current_dir(here).env("USER", "nobody");
    // Files that a killed test leaves are removed with the folder.
    command.env("ANKUS_USER_CONFIG", "/nowhere/ankus.toml").env("TMPDIR", here);
    let child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    let began = Instant::now();
    while !told.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the action does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(runs(told));
    child
}

/// Whether the process whose id is in this file is running.
fn runs(told: &Path) -> bool {
    let id = std::fs::read_to_string(told).expect("it was told");
    Command::new("kill")
        .args(["-0", id.trim()])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
