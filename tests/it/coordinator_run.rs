//! `ankus run COORDINATOR`: its actions start workflows here, wait for data, and survive the end of the process.

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
        command.current_dir(self.folder.path()).arg("run").args(arguments);
        command.args(["--store", "store", "--root", "root"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.command(arguments).output().expect("it is built");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }
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
