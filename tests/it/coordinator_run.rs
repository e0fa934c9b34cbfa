//! `ankus run COORDINATOR`: its actions start workflows locally, wait for data, and survive the end of the process.

use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WORKFLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="load">
  <start to="make"/>
  <action name="make"><fs><mkdir path="${out}"/></fs><ok to="end"/><error to="fail"/></action>
  <kill name="fail"><message>failed</message></kill>
  <end name="end"/>
</workflow-app>"#;

fn coordinator(input: &str) -> String {
    format!(
        r#"<coordinator-app name="hourly" frequency="${{coord:hours(1)}}" start="2026-01-01T00:00Z" end="2026-01-01T03:00Z"
            timezone="UTC" xmlns="uri:oozie:coordinator:0.4">
          <controls><timeout>100000</timeout><concurrency>2</concurrency></controls>
          <datasets><dataset name="d" frequency="${{coord:hours(1)}}" initial-instance="2026-01-01T00:00Z" timezone="UTC">
            <uri-template>hdfs://nn/in/${{YEAR}}${{MONTH}}${{DAY}}${{HOUR}}</uri-template></dataset></datasets>
          {input}
          <action><workflow><app-path>hdfs://nn/apps/load</app-path><configuration>
            <property><name>out</name><value>hdfs://nn/out/${{coord:formatTime(coord:nominalTime(), 'HH')}}</value></property>
          </configuration></workflow></action></coordinator-app>"#
    )
}

const INPUT: &str = r#"<input-events><data-in name="i" dataset="d"><instance>${coord:current(0)}</instance></data-in></input-events>"#;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(coordinator: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().expect("a folder") };
        place.write("coordinator.xml", coordinator);
        place.write("load/workflow.xml", WORKFLOW);
        place.write("root/here", "");
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        command.current_dir(self.folder.path()).env("ANKUS_STORE", "store");
        match arguments {
            ["job", ..] => command.args(arguments),
            _ => command.arg("run").args(arguments).args(["--root", "root"]),
        };
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().expect("it is built");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }
}

impl Place {
    /// The whole output of a command, with its exit code.
    fn says(&self, arguments: &[&str]) -> (i32, String) {
        let (code, out, said) = self.run(arguments);
        (code, out + &said)
    }

    fn shown(&self, id: &str) -> Value {
        let (_, out, said) = self.run(&["job", "show", id, "--format", "json"]);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{said}"))
    }

    /// Waits until the job exists and is as it should be.
    fn until(&self, id: &str, is_so: impl Fn(&Value) -> bool) {
        let began = Instant::now();
        loop {
            let (code, out, said) = self.run(&["job", "show", id, "--format", "json"]);
            if code == 0 && serde_json::from_str(&out).is_ok_and(|job| is_so(&job)) {
                return;
            }
            let there_is_none = code == 2 && said.contains("there is no");
            assert!(code == 0 || there_is_none, "{code}: {out}{said}");
            assert!(began.elapsed() < Duration::from_secs(60), "{out}{said}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn an_operator_reaches_it_from_another_process() {
    let place = Place::new(&coordinator(INPUT));
    place.write("root/in/2026010100/_SUCCESS", "");
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    let began = Instant::now();
    while !place.folder.path().join("root/out/00").is_dir() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let (code, said) = place.says(&["job", "change", "c", "concurrency=0x"]);
    assert_eq!((code, said.contains("E1015")), (1, true), "{said}");
    let (code, said) =
        place.says(&["job", "change", "c", "concurrency=7;endtime=2026-01-01T02:00Z"]);
    assert_eq!(code, 0, "{said}");
    place.until("c", |job| job["concurrency"] == 7 && job["total"] == 2);
    let (code, said) = place.says(&["job", "kill", "c", "--action", "2"]);
    assert_eq!(code, 0, "{said}");
    // The waiting action is killed, so all actions have ended, but not all of them successfully.
    assert_eq!(ended(&mut child), Some(1));
    assert_eq!(place.shown("c")["status"], "DONEWITHERROR");

    let (code, said) = place.says(&["job", "ignore", "c", "--action", "1"]);
    assert_eq!((code, said.contains("E1024")), (1, true), "{said}");
    place.write("root/in/2026010101/_SUCCESS", "");
    let (code, said) =
        place.says(&["job", "rerun", "c", "--date", "2026-01-01T01:00Z", "--refresh"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("SUCCEEDED hourly c: 2 SUCCEEDED"), "{said}");
    let (code, said) = place.says(&["job", "list", "--filter", "name=hourly"]);
    assert!(code == 0 && said.contains("SUCCEEDED"), "{said}");
    let (code, said) = place.says(&["job", "log", "c"]);
    assert!(code == 0 && said.contains("ACTION[c@2] c@2 KILLED"), "{said}");
}

#[test]
fn a_definition_is_updated_in_what_may_change() {
    let place = Place::new(&coordinator(INPUT));
    let (code, said) = place.says(&["coordinator.xml", "--id", "c", "--dry-run"]);
    assert_eq!(code, 0, "{said}");
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    place.until("c", |job| job["total"] == 3);
    let text = coordinator(INPUT).replace("<concurrency>2<", "<concurrency>3<");
    place.write("coordinator.xml", &text);
    let (code, said) = place.says(&["job", "update", "c", "coordinator.xml"]);
    assert_eq!(code, 0, "{said}");
    place.until("c", |job| job["concurrency"] == 3);
    place.write(
        "coordinator.xml",
        &text.replace("coord:hours(1)}\" start", "coord:hours(2)}\" start"),
    );
    let (code, said) = place.says(&["job", "update", "c", "coordinator.xml"]);
    assert_eq!((code, said.contains("E1023")), (1, true), "{said}");
    let (code, said) = place.says(&["job", "kill", "c"]);
    assert_eq!((code, said.starts_with("KILLED c")), (0, true), "{said}");
    assert_eq!(ended(&mut child), Some(1));
}

const BUNDLE: &str = r#"<bundle-app name="two" xmlns="uri:oozie:bundle:0.2">
  <coordinator name="one"><app-path>hdfs://nn/apps/one</app-path></coordinator>
  <coordinator name="other"><app-path>hdfs://nn/apps/other</app-path></coordinator>
</bundle-app>"#;

#[test]
fn a_bundle_runs_and_is_steered_as_a_whole() {
    let place = Place::new("");
    place.write("bundle.xml", BUNDLE);
    place.write("one/coordinator.xml", &coordinator(""));
    let other = coordinator(INPUT).replace("nn/out", "nn/other");
    place.write("other/coordinator.xml", &other);
    let mut child = place.command(&["bundle.xml", "--id", "b"]).spawn().expect("it is built");
    let status = |job: &Value, at: usize| job["bundleCoordJobs"][at]["status"].clone();
    place.until("b", |job| status(job, 0) == "SUCCEEDED" && status(job, 1) == "RUNNING");
    let (code, said) = place.says(&["job", "suspend", "b"]);
    assert_eq!((code, said.as_str()), (0, "SUSPENDED b\n"));
    assert_eq!(ended(&mut child), Some(3));
    assert_eq!(status(&place.shown("b"), 1), "SUSPENDED");
    for hour in ["00", "01", "02"] {
        place.write(&format!("root/in/20260101{hour}/_SUCCESS"), "");
    }
    let (code, said) = place.says(&["job", "resume", "b"]);
    assert!(code == 0 && said.contains("SUCCEEDED two b"), "{said}");
    let (code, said) = place.says(&["job", "rerun", "b", "--coordinator", "other"]);
    assert!(code == 0 && said.contains("SUCCEEDED two b"), "{said}");
    let (code, said) = place.says(&["job", "change", "b", "concurrency=1"]);
    assert_eq!((code, said.contains("E1317")), (1, true), "{said}");
}

#[test]
fn a_bundle_of_what_is_not_there_is_refused() {
    let place = Place::new("");
    place.write("bundle.xml", BUNDLE);
    place.write("one/coordinator.xml", &coordinator(""));
    let (code, said) = place.says(&["bundle.xml", "--id", "b"]);
    assert_eq!((code, said.contains("E1001")), (1, true), "{said}");
}

/// The coordinators of a bundle lie next to it, or at their paths in the file systems of the run.
#[test]
fn a_bundle_finds_its_coordinators_below_the_file_root() {
    let place = Place::new("");
    place.write("far/b/bundle.xml", BUNDLE);
    place.write("root/apps/one/coordinator.xml", &coordinator(""));
    place.write("root/apps/other/coordinator.xml", &coordinator(""));
    place.write("root/apps/load/workflow.xml", WORKFLOW);
    for look in [&["far/b", "--dry-run"][..], &["far/b", "--simulate"], &["far/b", "--id", "b"]] {
        let (code, said) = place.says(look);
        assert_eq!(code, 0, "{look:?}: {said}");
    }
    assert_eq!(place.shown("b")["status"], "SUCCEEDED");
    std::fs::remove_dir_all(place.folder.path().join("root/apps/other")).expect("a folder");
    let (code, said) = place.says(&["far/b", "--id", "c"]);
    assert_eq!((code, said.contains("was found neither near it nor below")), (1, true), "{said}");
}

#[test]
fn expectations_are_told_by_mail_and_url() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let heard = told.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 1024];
            let count = stream.read(&mut bytes).unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
            heard.lock().expect("no panic").push(text.lines().next().unwrap_or("").to_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        }
    });
    let sla = r#"</workflow><sla:info xmlns:sla="uri:oozie:sla:0.2"><sla:nominal-time>${coord:nominalTime()}</sla:nominal-time>
        <sla:should-end>5</sla:should-end><sla:alert-events>end_miss</sla:alert-events>
        <sla:alert-contact>ann@example.com</sla:alert-contact></sla:info>"#;
    let text = coordinator("").replace("</workflow>", sla);
    let place = Place::new(&text);
    let url = format!("http://127.0.0.1:{port}/");
    let (code, out, said) = place.run(&[
        "coordinator.xml",
        "--id",
        "c",
        "--format",
        "jsonl",
        "-D",
        &format!("oozie.coord.action.notification.url={url}$actionId/$status"),
        "-D",
        &format!("ankus.sla.notification.url={url}sla/$actionId/$event"),
    ]);
    assert_eq!(code, 0, "{out}{said}");
    assert_eq!(out.matches("END_MISS").count(), 3, "{out}");
    let all = |told: &[String]| {
        ["/c@1/WAITING ", "/c@3/RUNNING ", "/sla/c@2/END_MISS "]
            .iter()
            .all(|wanted| told.iter().any(|line| line.contains(wanted)))
    };
    let began = Instant::now();
    while !all(&told.lock().expect("no panic")) {
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", told.lock());
        std::thread::sleep(Duration::from_millis(50));
    }
    let mails = std::fs::read_dir(place.folder.path().join("store/mail/new")).expect("mail");
    let mails: Vec<String> = mails
        .map(|mail| std::fs::read_to_string(mail.expect("mail").path()).expect("text"))
        .collect();
    assert_eq!(mails.len(), 3);
    assert!(mails[0].contains("OOZIE - SLA END_MISS (AppName=hourly,"), "{}", mails[0]);
}

#[test]
fn a_backlog_is_worked_off() {
    let place = Place::new(&coordinator(""));
    let (code, out, said) = place.run(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 0, "{out}{said}");
    assert_eq!(out, "SUCCEEDED hourly c: 3 SUCCEEDED\n");
    for hour in ["00", "01", "02"] {
        assert!(place.folder.path().join("root/out").join(hour).is_dir(), "{hour}");
    }
}

fn ended(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            return status.code();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = child.kill();
    None
}

#[test]
fn what_waits_for_data_is_killed_and_goes_on() {
    let place = Place::new(&coordinator(INPUT));
    place.write("root/in/2026010100/_SUCCESS", "");
    let mut child = place
        .command(&["coordinator.xml", "--id", "c", "--format", "jsonl"])
        .spawn()
        .expect("it is built");
    let made = place.folder.path().join("root/out/00");
    let began = Instant::now();
    while !made.is_dir() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(made.is_dir(), "the first action has its data");
    child.kill().expect("a child of ours");
    let _ = child.wait();

    let mut child = place.command(&["--resume", "c"]).spawn().expect("it is built");
    std::thread::sleep(Duration::from_millis(300));
    place.write("root/in/2026010101/_SUCCESS", "");
    place.write("root/in/2026010102/_SUCCESS", "");
    assert_eq!(ended(&mut child), Some(0));
    let (code, out, _) = place.run(&["--resume", "c", "--format", "json"]);
    let read: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((code, &read["status"]), (0, &"SUCCEEDED".into()), "{out}");
    assert_eq!(read["actions"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_workflow_that_is_not_there_fails_its_action() {
    let text = coordinator("").replace("apps/load", "apps/nowhere");
    let place = Place::new(&text);
    let (code, out, said) = place.run(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 1, "{out}{said}");
    assert!(out.starts_with("FAILED hourly c: 3 FAILED"), "{out}{said}");
    assert!(said.contains("E1005"), "{said}");
}

/// New data is noticed at once; without notifications, polling would have slowed down to every few seconds by then.
#[test]
fn data_that_come_late_are_heard_of() {
    let place = Place::new(&coordinator(INPUT));
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    std::thread::sleep(Duration::from_secs(6));
    let began = Instant::now();
    for hour in ["00", "01", "02"] {
        place.write(&format!("root/in/20260101{hour}/_SUCCESS"), "");
    }
    assert_eq!(ended(&mut child), Some(0));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_latest_instance_that_comes_late_is_heard_of() {
    let latest = INPUT.replace("coord:current(0)", "coord:latest(0)");
    let place = Place::new(&coordinator(&latest).replace("T03:00Z", "T01:00Z"));
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    // Polling has slowed down: the next two polls come after 15.5 and 31.5 seconds.
    std::thread::sleep(Duration::from_millis(16_500));
    let began = Instant::now();
    place.write("root/in/2026010105/_SUCCESS", "");
    assert_eq!(ended(&mut child), Some(0));
    assert!(began.elapsed() < Duration::from_secs(14), "{:?}", began.elapsed());
}

#[test]
fn a_workflow_that_is_suspended_suspends_its_action() {
    let place = Place::new(&coordinator("").replace("T03:00Z", "T01:00Z"));
    let text = WORKFLOW.replace(
        r#"<fs><mkdir path="${out}"/></fs>"#,
        r#"<shell xmlns="uri:oozie:shell-action:0.2"><job-tracker>rm</job-tracker><name-node>hdfs://nn</name-node>
           <exec>sleep</exec><argument>4</argument></shell>"#,
    );
    place.write("load/workflow.xml", &text);
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    let action = |what: &str| {
        let (_, out, _) = place.run(&["job", "show", "c", "--format", "json"]);
        let job: Value = serde_json::from_str(&out).unwrap_or_default();
        job["actions"][0][what].as_str().unwrap_or_default().to_owned()
    };
    let comes_to = |status: &str| {
        let began = Instant::now();
        while action("status") != status && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(action("status"), status);
    };
    comes_to("RUNNING");
    let workflow = action("externalId");
    let (code, said) = place.says(&["job", "suspend", &workflow]);
    assert_eq!(code, 0, "{said}");
    comes_to("SUSPENDED");
    // When the program has ended, nothing is running and nothing is to come, so the coordinator rests, too.
    assert_eq!(ended(&mut child), Some(3));
    let (_, out, _) = place.run(&["job", "show", &workflow]);
    assert!(out.contains("DONE"), "{out}");
    let mut resumed = place.command(&["job", "resume", &workflow]).spawn().expect("it is built");
    assert_eq!(ended(&mut resumed), Some(0));
    assert_eq!(action("status"), "SUCCEEDED");
    let (code, out, said) = place.run(&["--resume", "c"]);
    assert_eq!(code, 0, "{out}{said}");
    assert_eq!(action("status"), "SUCCEEDED");
}

#[test]
fn an_update_can_be_looked_at_first() {
    let place = Place::new(&coordinator(""));
    assert_eq!(place.run(&["coordinator.xml", "--id", "c"]).0, 0);
    let other = coordinator("").replace("<concurrency>2<", "<concurrency>7<");
    place.write("other.xml", &other);
    let (code, said) = place.says(&["job", "update", "c", "other.xml", "--diff", "--dry-run"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("-    \"concurrency\": 2,") && said.contains("+    \"concurrency\": 7,"),
        "{said}"
    );
    let (_, said) = place.says(&["job", "show", "c"]);
    assert!(said.contains("concurrency  2"), "{said}");
    place.write("other.xml", &other.replace("coord:hours(1)", "coord:hours(2)"));
    let (code, said) = place.says(&["job", "update", "c", "other.xml", "--dry-run"]);
    assert!(code == 1 && said.contains("E1023"), "{said}");
}

#[test]
fn defaults_that_cannot_be_read_are_refused() {
    let place = Place::new(&coordinator(""));
    place.write("coord-config-default.xml", "<configuration><property>");
    let (code, _, said) = place.run(&["coordinator.xml"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("with E0803 because of coord-config-default.xml"), "{said}");
    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["check", "coordinator.xml", "--format", "json"])
        .current_dir(place.folder.path())
        .output()
        .expect("it is built");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["files"][0]["reference"]["submit"]["code"], "E0803", "{report:#}");
    place.write("load/config-default.xml", "no configuration");
    let (code, said) = place.says(&["load"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("E0803 (load/config-default.xml)"), "{said}");
}

/// A workflow whose program waits for a file, and succeeds if another one exists.
const WAITS: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='waits'><global><resource-manager>rm</resource-manager>\
    <name-node>hdfs://nn</name-node></global><start to='one'/><action name='one'><shell xmlns='uri:oozie:shell-action:1.0'>\
    <exec>step.sh</exec><file>step.sh</file></shell><ok to='end'/><error to='bad'/></action>\
    <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";

/// When a client reruns the workflow of an action, the action follows its state; the coordinator does so unless it has
/// ended (`reference/engine.md`, 13.3 and 21).
#[test]
fn a_workflow_that_is_run_again_by_itself_takes_its_action_along() {
    for end in ["2026-01-01T01:00Z", "2300-01-01T00:00Z"] {
        let is_open = end.starts_with("2300");
        let place = Place::new(&format!(
            "<coordinator-app name='c' frequency='${{coord:months(1200)}}' start='2026-01-01T00:00Z' end='{end}' timezone='UTC' \
             xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>hdfs://nn/apps/waits</app-path></workflow></action>\
             </coordinator-app>"
        ));
        place.write("root/apps/waits/workflow.xml", WAITS);
        let step = "#!/bin/sh\nwhile [ ! -e \"$ANKUS_FILE_ROOT/go\" ]; do sleep 0.05; done\ntest -e \"$ANKUS_FILE_ROOT/well\"\n";
        place.write("root/apps/waits/step.sh", step);
        place.write("root/go", "");
        let go = place.folder.path().join("root/go");
        let status = |job: &Value| job["actions"][0]["status"].as_str().map(str::to_owned);
        let mut run = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it starts");
        place.until("c", |job| status(job).as_deref() == Some("KILLED"));
        if !is_open {
            assert_eq!(ended(&mut run), Some(1));
        }
        let before = place.shown("c")["status"].clone();
        let workflow =
            place.shown("c")["actions"][0]["externalId"].as_str().expect("it ran").to_owned();

        std::fs::remove_file(&go).expect("it was made");
        place.write("root/well", "");
        let rerun = ["job", "rerun", &workflow, "--failed"];
        let mut again = place.command(&rerun).spawn().expect("it starts");
        place.until("c", |job| status(job).as_deref() == Some("RUNNING"));
        assert_eq!(place.shown("c")["status"], if is_open { "RUNNING" } else { "KILLED" });
        place.write("root/go", "");
        assert_eq!(ended(&mut again), Some(0));
        place.until("c", |job| status(job).as_deref() == Some("SUCCEEDED"));
        let (_, log) = place.says(&["job", "log", "c"]);
        let told: Vec<&str> = log.lines().filter_map(|line| line.split("] c@1 ").nth(1)).collect();
        assert_eq!(told[told.len() - 3..], ["KILLED", "RUNNING", "SUCCEEDED"], "{log}");
        if !is_open {
            assert_eq!(place.shown("c")["status"], before, "one that has ended stays as it is");
            continue;
        }
        // Killing the coordinator also kills the run that a client requested.
        std::fs::remove_file(&go).expect("it was made");
        let mut again = place.command(&["job", "rerun", &workflow]).spawn().expect("it starts");
        place.until("c", |job| status(job).as_deref() == Some("RUNNING"));
        let (code, said) = place.says(&["job", "kill", "c"]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(ended(&mut again), Some(1));
        assert_eq!(status(&place.shown("c")).as_deref(), Some("KILLED"));
        assert_eq!(ended(&mut run), Some(1));
    }
}

/// A server supports `hdfs`, `hftp` and `webhdfs` by default; a path without a scheme is in its default file system.
#[test]
fn an_application_path_counts_as_on_a_server() {
    let place = Place::new(&coordinator(""));
    let path = |path: &str| format!("oozie.coord.application.path={path}");
    let verdict = |at: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["check", "coordinator.xml", "--format", "json", "-D", &path(at)])
            .current_dir(place.folder.path())
            .output()
            .expect("it is built");
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let of = &report["files"][0]["reference"];
        assert_eq!(of["verdict"], "accepted", "it is no fault of the definition: {report:#}");
        of["submit"]["code"].as_str().map(str::to_owned)
    };
    for (at, code) in [
        ("viewfs://c/app", "E0803"),
        ("file:///app", "E0803"),
        ("s3a://b/app/coordinator.xml", "E0803"),
        ("hdfs://n n/app", "E1003"),
    ] {
        assert_eq!(verdict(at).as_deref(), Some(code), "{at}");
        let (exit, said) = place.says(&["coordinator.xml", "-D", &path(at)]);
        assert_eq!(exit, 1, "{at}: {said}");
        let refused =
            format!("the submission is refused: {code}, for `oozie.coord.application.path`");
        assert!(said.contains(&refused), "{said}");
        assert_eq!(said.contains("  help: the server does not support"), code == "E0803", "{said}");
    }
    for at in ["hdfs://nn/app", "webhdfs://nn/app", "/app", "app", "${unknown}/app"] {
        assert_eq!(verdict(at), None, "{at}");
    }
    place.write("ankus.toml", "[server]\nfilesystems = [\"hdfs\", \"viewfs\"]\n");
    assert_eq!(verdict("viewfs://c/app"), None);
    assert_eq!(verdict("s3a://b/app").as_deref(), Some("E0803"));
    let (exit, said) = place.says(&["coordinator.xml", "-D", &path("viewfs://c/app")]);
    assert_eq!(exit, 0, "{said}");
}

/// A dry run creates the actions of the first hour. It cannot evaluate an input logic that is satisfied: a real action
/// starts.
#[test]
fn a_dry_run_fails_where_that_of_a_server_does() {
    let logic = |logic: &str| {
        coordinator(&format!(
            "<input-events><data-in name='i' dataset='d'><instance>${{coord:current(0)}}</instance></data-in>\
             <data-in name='j' dataset='d'><instance>${{coord:current(0)}}</instance></data-in></input-events>\
             <input-logic>{logic}</input-logic>"
        ))
        .replace("coordinator:0.4", "coordinator:0.5")
        .replace("<value>hdfs://nn/out/", "<value>hdfs://nn/out/${coord:dataIn('L')}")
    };
    let either = "<or name='L'><data-in dataset='i'/><data-in dataset='j'/></or>";
    let place = Place::new(&logic(either));
    let (exit, said) = place.says(&["coordinator.xml", "--dry-run"]);
    assert_eq!(exit, 0, "what waits for data is in order: {said}");
    place.write("root/in/2026010100/_SUCCESS", "");
    for (parts, codes) in [
        (either, "E0803, E1004"),
        ("<combine name='L'><data-in dataset='i'/><data-in dataset='j'/></combine>", "E0803"),
        ("<or name='L'><data-in dataset='i'/><data-in dataset='nobody'/></or>", "E0803, E1028"),
    ] {
        place.write("coordinator.xml", &logic(parts));
        let (exit, said) = place.says(&["coordinator.xml", "--dry-run"]);
        assert_eq!(exit, 1, "{parts}: {said}");
        let told = format!("a dry run on a server fails: {codes}, for `input-logic`");
        assert!(said.contains(&told), "{parts}: {said}");
    }
    // Only the file systems that a server lists count.
    let plain = coordinator(INPUT).replace("hdfs://nn/in/", "s3a://b/in/");
    for (listed, exit) in [("s3a", 0), ("*", 0), ("hdfs", 1)] {
        place.write("coordinator.xml", &plain);
        place.write("ankus.toml", &format!("[server]\nfilesystems = [\"{listed}\"]\n"));
        let (with_root, said) = place.says(&["coordinator.xml", "--dry-run"]);
        assert_eq!((with_root, said.contains("E0904")), (exit, exit == 1), "{listed}: {said}");
        let without = Command::new(env!("CARGO_BIN_EXE_ankus"))
            .args(["run", "coordinator.xml", "--dry-run"])
            .current_dir(place.folder.path())
            .output()
            .expect("it runs");
        assert_eq!(without.status.code(), Some(exit), "{listed}: {without:?}");
    }
    std::fs::remove_file(place.folder.path().join("ankus.toml")).expect("a file");
    // The coordinators of a bundle are not dry-run.
    place.write("all/days/coordinator.xml", &logic(either));
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><coordinator name='days'><app-path>hdfs://nn/days</app-path>\
                  </coordinator></bundle-app>";
    place.write("all/bundle.xml", bundle);
    let (exit, said) = place.says(&["all", "--dry-run"]);
    assert_eq!(exit, 0, "{said}");
}

#[test]
fn a_coordinator_that_cannot_go_on_says_why() {
    let range = r#"<start-instance>${coord:current(0)}</start-instance><end-instance>${coord:latest(0)}</end-instance>"#;
    let mixed = INPUT.replace("<instance>${coord:current(0)}</instance>", range);
    let place = Place::new(&coordinator(&mixed));
    let (code, said) = place.says(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("E1012: action 1 cannot be made: E1010: "), "{said}");
    let (_, shown) = place.says(&["job", "show", "c"]);
    assert!(shown.contains("E1012: action 1 cannot be made"), "{shown}");
    let (_, log) = place.says(&["job", "log", "c", "--errors"]);
    assert!(log.contains("E1012: action 1 cannot be made"), "{log}");
}

#[test]
fn what_has_ended_is_purged_with_all_below_it() {
    let place = Place::new(&coordinator(""));
    let (code, said) = place.says(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 0, "{said}");
    let jobs = place.shown("c");
    let workflow = jobs["actions"][0]["externalId"].as_str().expect("a workflow").to_owned();
    let (code, said) = place.says(&["job", "purge", &workflow]);
    assert!(code == 2 && said.contains("belongs to `c`"), "{said}");
    let (code, said) = place.says(&["job", "purge", "--older-than", "1"]);
    assert!(code == 0 && said.contains("0 jobs to be purged"), "{said}");
    let (code, said) = place.says(&["job", "purge", "c"]);
    assert!(
        code == 0 && said.contains("4 jobs purged"),
        "the coordinator and its workflows: {said}"
    );
    let (_, said) = place.says(&["job", "list"]);
    assert_eq!(said, "no jobs\n");
    let (code, said) = place.says(&["job", "show", "c"]);
    assert!(code == 2 && said.contains("there is no job `c`"), "{said}");
    // The same id can be used again, and nothing of the old job is found.
    let (code, said) = place.says(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(place.shown("c")["actions"].as_array().map(Vec::len), Some(3));
}

/// Of several inputs, the first that is missing now is reported.
#[test]
fn what_an_action_waits_for_is_what_is_missing_now() {
    let input = r#"<input-events>
        <data-in name="i" dataset="d"><instance>${coord:current(0)}</instance></data-in>
        <data-in name="j" dataset="d"><instance>${coord:current(1)}</instance></data-in></input-events>"#;
    let place = Place::new(&coordinator(input).replace("T03:00Z", "T01:00Z"));
    let mut child = place.command(&["coordinator.xml", "--id", "c"]).spawn().expect("it is built");
    for hour in ["00", "01"] {
        let missing = format!("hdfs://nn/in/20260101{hour}/_SUCCESS");
        place.until("c", |job| job["actions"][0]["missingDependencies"] == missing.as_str());
        place.write(&format!("root/in/20260101{hour}/_SUCCESS"), "");
    }
    assert_eq!(ended(&mut child), Some(0));
}

/// As on a server, before it starts an action again; `nocleanup` keeps existing data.
#[test]
fn what_a_rerun_cannot_delete_is_told() {
    let output = r#"<output-events>
        <data-out name="o" dataset="p"><instance>${coord:current(0)}</instance></data-out>
        <data-out name="k" dataset="k" nocleanup="true"><instance>${coord:current(0)}</instance></data-out>
        <data-out name="f" dataset="f"><instance>${coord:current(0)}</instance></data-out></output-events>"#;
    let dataset = |name: &str, uri: &str| {
        format!(
            "<dataset name='{name}' frequency='60' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>{uri}</uri-template></dataset>"
        )
    };
    let datasets = [
        dataset("p", "hcat://ms/db/t/day=${DAY};hour=${HOUR}"),
        dataset("k", "hdfs://nn/kept/${HOUR}"),
        dataset("f", "file:///nowhere/${HOUR}"),
    ];
    let text = coordinator(output)
        .replace("</datasets>", &format!("{}</datasets>", datasets.concat()))
        .replace("T03:00Z", "T01:00Z");
    let place = Place::new(&text);
    let (code, said) = place.says(&["coordinator.xml", "--id", "c"]);
    assert_eq!(code, 0, "{said}");
    for made in ["db/t/day=01;hour=00", "db.db/t/day=01/hour=00", "kept/00"] {
        place.write(&format!("root/{made}/part-0"), "x");
    }
    let (code, said) = place.says(&["job", "rerun", "c", "--action", "1"]);
    assert_eq!(code, 0, "{said}");
    let is_there = |name: &str| place.folder.path().join("root").join(name).exists();
    assert!(!is_there("db/t/day=01;hour=00") && !is_there("db.db/t/day=01/hour=00"), "{said}");
    assert!(is_there("kept/00/part-0"), "{said}");
    let (_, log) = place.says(&["job", "log", "c"]);
    let why = "E0907: cannot delete file:///nowhere/00 before the action runs again";
    assert!(log.contains(why), "{log}");
}

/// The same application twice: its jobs have the names that the bundle gives them, and `coord:name()` is the name in
/// the definition.
#[test]
fn coordinators_of_a_bundle_are_named_as_there() {
    let place = Place::new("");
    let bundle = BUNDLE.replace("apps/other", "apps/one");
    place.write("bundle.xml", &bundle);
    let named = coordinator("").replace("T03:00Z", "T01:00Z");
    place.write("one/coordinator.xml", &named.replace("nn/out/", "nn/out/${coord:name()}/"));
    let (code, said) = place.says(&["bundle.xml", "--id", "b"]);
    assert_eq!(code, 0, "{said}");
    let shown = place.shown("b");
    let names: Vec<_> = (0..2).map(|at| &shown["bundleCoordJobs"][at]["coordJobName"]).collect();
    assert_eq!(names, ["one", "other"], "{shown:#}");
    assert!(place.folder.path().join("root/out/hourly/00").is_dir());
}

#[test]
fn a_run_says_when_it_is_due() {
    use std::io::{BufRead as _, BufReader};
    let later = coordinator("").replace("2026-01-01T0", "2300-01-01T0");
    let place = Place::new(&later);
    let bundle = "<bundle-app name='b' xmlns='uri:oozie:bundle:0.2'><controls><kick-off-time>2299-12-31T22:00Z</kick-off-time></controls>\
                  <coordinator name='c'><app-path>hdfs://nn/coordinator.xml</app-path></coordinator></bundle-app>";
    place.write("bundle.xml", bundle);
    for (file, due) in [
        ("coordinator.xml", "creates its next action at 2300-01-01T00:00Z"),
        ("bundle.xml", "starts its coordinators at 2299-12-31T22:00Z"),
    ] {
        let mut child = place.command(&[file]).spawn().expect("it is built");
        let mut line = String::new();
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        said.read_line(&mut line).expect("it is UTF-8");
        child.kill().expect("it waits");
        child.wait().expect("it ends");
        assert!(line.contains(due), "{file}: {line}");
    }
}

#[test]
fn a_bundle_is_run_again_as_its_client_asks() {
    use crate::run::{ankus, application, text};
    let folder = tempfile::tempdir().expect("a folder");
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)}' \
        start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><datasets><dataset name='d' frequency='${coord:days(1)}' \
        initial-instance='2024-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://nn/d/${DAY}</uri-template></dataset></datasets>\
        <output-events><data-out name='o' dataset='d'><instance>${coord:current(0)}</instance></data-out></output-events><action>\
        <workflow><app-path>hdfs://nn/w</app-path></workflow></action></coordinator-app>";
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='e'/><end name='e'/></workflow-app>";
    let bundle = "<bundle-app xmlns='uri:oozie:bundle:0.2' name='b'><parameters><property><name>needed</name></property></parameters>\
        <coordinator name='A'><app-path>hdfs://nn/c</app-path></coordinator></bundle-app>";
    application(
        folder.path(),
        &[("bundle.xml", bundle), ("c/coordinator.xml", coordinator), ("w/workflow.xml", workflow)],
    );
    let run = |arguments: &[&str]| {
        let output = ankus(folder.path(), arguments).output().expect("it runs");
        (output.status.code(), text(&output))
    };
    let (code, said) = run(&["run", "bundle.xml", "--id", "b"]);
    assert!(code == Some(2) && said.contains("no value is given for needed"), "{said}");
    let (code, said) = run(&["run", "bundle.xml", "--id", "b", "-D", "needed=1"]);
    assert_eq!(code, Some(0), "{said}");
    let data = folder.path().join(".ankus/root/d/01/part");
    application(folder.path(), &[(".ankus/root/d/01/part", "")]);
    let (code, said) = run(&["job", "rerun", "b", "--coordinator", "A", "--nocleanup"]);
    assert!(code == Some(0) && data.exists(), "{said}");
    let (code, said) = run(&["job", "rerun", "b", "--coordinator", "A, B"]);
    assert!(code == Some(2) && said.contains("`b` has no coordinator `B`"), "{said}");
    assert!(data.exists(), "{said}");
    let (code, said) = run(&["job", "rerun", "b", "--coordinator", "A"]);
    assert!(code == Some(0) && !data.exists(), "{said}");
}
