//! Stores: checked, copied, compacted, exported, damaged.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::run::{ankus, application, shell, text};

const HEAD: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global><resource-manager>rm</resource-manager>\
                    <name-node>hdfs://nn</name-node></global><start to='one'/>";
const TAIL: &str = "<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>";

/// An application of two programs, each of which leaves a mark in the row of its action.
fn place(seconds: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a folder");
    let workflow = format!("{HEAD}{}{}{TAIL}", shell("one", "two"), shell("two", "end"));
    let step = format!("#!/bin/sh\necho mark=zzqq-$ANKUS_NODE-qqzz\nsleep {seconds}\n");
    let properties = "db.password=hunter22\n";
    application(
        place.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("app/step.sh", &step),
            ("app/job.properties", properties),
        ],
    );
    place
}

#[track_caller]
fn said(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = ankus(folder, arguments).output().expect("it runs");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

#[test]
fn a_copy_of_the_file_is_the_whole_store() {
    let place = place("0");
    let folder = place.path();
    said(folder, &["run", "app", "--id", "first"], 0);
    // The store as a run leaves it, and a backup of it.
    fs::create_dir(folder.join("copied")).expect("a folder");
    fs::copy(folder.join(".ankus/store.sqlite"), folder.join("copied/store.sqlite"))
        .expect("a copy");
    fs::create_dir(folder.join("backup")).expect("a folder");
    said(folder, &["store", "backup", "backup/store.sqlite"], 0);
    assert!(said(folder, &["store", "backup", "backup/store.sqlite"], 2).contains("exists"));
    for store in ["copied", "backup"] {
        assert!(said(folder, &["store", "check", "--store", store], 0).contains("all intact"));
        let shown = said(folder, &["job", "show", "first", "--store", store], 0);
        assert!(shown.contains("SUCCEEDED") && shown.contains("two"), "{store}: {shown}");
        said(folder, &["run", "app", "--id", "second", "--store", store], 0);
    }

    let written = said(folder, &["store", "export", "out"], 0);
    assert!(written.contains("1 jobs are in `out`"), "{written}");
    let job = fs::read_to_string(folder.join("out/first.json")).expect("a job");
    let object: serde_json::Value = serde_json::from_str(&job).expect("JSON");
    assert_eq!(object["status"], "SUCCEEDED");
    assert!(!job.contains("hunter22"), "{job}");
    let lines = fs::read_to_string(folder.join("out/first.jsonl")).expect("its events");
    let last: serde_json::Value =
        serde_json::from_str(lines.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["status"], "SUCCEEDED");
    assert!(said(folder, &["store", "export", "out"], 2).contains("not empty"));
    said(folder, &["store", "check", "--store", "nowhere"], 2);
}

#[test]
fn a_purge_gives_its_room_back_and_plans_go_with_the_last_of_their_jobs() {
    let place = place("0");
    let folder = place.path();
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        let body = format!("{HEAD}{}{TAIL}", shell("one", "end"))
            .replace("name='a'", &format!("name='a{number}'"));
        fs::write(folder.join("app/workflow.xml"), body).expect("a file");
        let long = format!("long={}\n", "x".repeat(200_000));
        fs::write(folder.join("app/job.properties"), long).expect("a file");
        said(folder, &["run", "app", "--id", id], 0);
    }
    let size = || fs::metadata(folder.join(".ankus/store.sqlite")).expect("a store").len();
    let before = size();
    said(folder, &["job", "purge", "a"], 0);
    let compacted = said(folder, &["store", "compact"], 0);
    assert!(compacted.contains("; plans without a job removed: 1"), "{compacted}");
    assert!(size() + 150_000 < before, "{} of {before}", size());
    assert!(said(folder, &["job", "show", "b"], 0).contains("SUCCEEDED"));
    said(folder, &["job", "rerun", "b", "--skip", "one"], 0);
}

#[test]
fn one_bad_row_costs_one_row() {
    let place = place("0");
    let folder = place.path();
    said(folder, &["run", "app", "--id", "first"], 0);
    said(folder, &["run", "app", "--id", "other"], 0);
    let path = folder.join(".ankus/store.sqlite");
    let mut bytes = fs::read(&path).expect("a store");
    // Only in the first job: its row is written before the other's.
    let mark = b"zzqq-one-qqzz";
    let found: Vec<usize> = bytes
        .windows(mark.len())
        .enumerate()
        .filter(|(_, at)| at == mark)
        .map(|(at, _)| at)
        .collect();
    assert!(!found.is_empty(), "the mark is in a row");
    for at in found {
        bytes[at + 1] ^= 1;
    }
    fs::write(&path, bytes).expect("a store");

    assert!(said(folder, &["job", "list"], 0).contains("first"));
    let shown = said(folder, &["job", "show", "first"], 0);
    assert!(
        shown.contains("two") && shown.contains("damaged and not shown: node number"),
        "{shown}"
    );
    let checked = said(folder, &["store", "check"], 1);
    assert!(
        checked.contains("row: row first ") && checked.contains("row: row other "),
        "{checked}"
    );
    let object: serde_json::Value =
        serde_json::from_str(&said(folder, &["store", "check", "--format", "json"], 1))
            .expect("JSON");
    assert_eq!(object["sound"], false);
    // A job with missing rows does not run on with the rest.
    said(folder, &["job", "rerun", "first", "--failed"], 2);
    said(folder, &["run", "app", "--id", "third"], 0);

    assert!(
        said(folder, &["store", "check", "--forget-damaged"], 0).contains("the store is intact")
    );
    said(folder, &["store", "check"], 0);
}

/// Copies the folder of a store, with one byte changed in the last row of a space, or in the last procedure.
fn damaged_copy(from: &Path, to: &Path, space: &str) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("a folder");
    fs::copy(from.join("store.sqlite"), to.join("store.sqlite")).expect("a copy");
    let store = rusqlite::Connection::open(to.join("store.sqlite")).expect("a store");
    let (table, column, which) = match space {
        "procedure" => ("procedure", "record", "id = (SELECT max(id) FROM procedure)".to_owned()),
        space => {
            let last = format!("(SELECT max(key) FROM datum WHERE space = '{space}')");
            ("datum", "value", format!("space = '{space}' AND key = {last}"))
        }
    };
    let read = format!("SELECT {column} FROM {table} WHERE {which}");
    let mut bytes: Vec<u8> = store.query_row(&read, [], |row| row.get(0)).expect("a row");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    let write = format!("UPDATE {table} SET {column} = ?1 WHERE {which}");
    assert_eq!(store.execute(&write, [bytes]).expect("a row"), 1);
}

/// The kinds of rows in a store.
fn spaces(store: &Path) -> Vec<String> {
    let store = rusqlite::Connection::open(store.join("store.sqlite")).expect("a store");
    let mut spaces = store.prepare("SELECT DISTINCT space FROM datum").expect("a question");
    let spaces = spaces.query_map([], |row| row.get(0)).expect("an answer");
    spaces.map(|space| space.expect("a text")).collect()
}

/// A damaged row, of whatever kind, costs only that row: all jobs can be read, and others can run.
#[test]
fn one_bad_row_of_every_sort_costs_one_row() {
    let place = place("0");
    let folder = place.path();
    let below = "<action name='below'><sub-workflow><app-path>${wf:appPath()}/sub</app-path><propagate-configuration/></sub-workflow>\
                 <ok to='end'/><error to='bad'/></action>";
    let sla = "<sla:info><sla:nominal-time>2020-01-01T00:00Z</sla:nominal-time><sla:should-end>${30 * MINUTES}</sla:should-end>\
               </sla:info>";
    let workflow = format!("{HEAD}{}{below}{TAIL}", shell("one", "below"))
        .replace("name='a'", "xmlns:sla='uri:oozie:sla:0.2' name='a'")
        .replace("</workflow-app>", &format!("{sla}</workflow-app>"));
    let sub = format!("{HEAD}{}{TAIL}", shell("one", "end"));
    let step = "#!/bin/sh\necho ran=yes\n";
    let days = "<coordinator-app name='days' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-03T00:00Z' timezone='UTC' \
                xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>hdfs://nn/sub</app-path></workflow></action></coordinator-app>";
    let both = "<bundle-app name='both' xmlns='uri:oozie:bundle:0.2'><coordinator name='days'><app-path>hdfs://nn/days</app-path>\
                </coordinator></bundle-app>";
    application(
        folder,
        &[
            ("app/workflow.xml", &workflow),
            ("app/sub/workflow.xml", &sub),
            ("app/sub/step.sh", step),
            ("all/bundle.xml", both),
            ("all/days/coordinator.xml", days),
            ("root/sub/workflow.xml", &sub),
            ("root/sub/step.sh", step),
        ],
    );
    let all = ["first", "bundle"];
    let notifies = "oozie.wf.workflow.notification.url=http://127.0.0.1:1/x";
    said(folder, &["run", "app", "--id", "first", "--root", "root", "-D", notifies], 0);
    said(folder, &["run", "all", "--id", "bundle", "--root", "root"], 0);
    let list: serde_json::Value =
        serde_json::from_str(&said(folder, &["job", "list", "--format", "json"], 0)).expect("JSON");
    let mut ids: Vec<String> = all.map(str::to_owned).to_vec();
    for (kind, id) in [("workflows", "id"), ("coordinatorjobs", "coordJobId")] {
        let jobs = list[kind].as_array().expect("jobs").iter();
        ids.extend(jobs.map(|job| job[id].as_str().expect("an id").to_owned()));
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 6, "{list}");
    let from = folder.join(".ankus");
    let mut spaces = spaces(&from);
    spaces.push("procedure".to_owned());
    assert!(spaces.len() > 17, "{spaces:?}");

    for space in &spaces {
        let copy = folder.join("copy");
        damaged_copy(&from, &copy, space);
        let told = |arguments: &[&str]| {
            let output = ankus(folder, &[arguments, &["--store", "copy"]].concat()).output();
            let output = output.expect("it runs");
            (output.status.code(), text(&output))
        };
        assert_eq!(told(&["store", "check"]).0, Some(1), "{space}");
        let (code, listed) = told(&["job", "list"]);
        assert_eq!(code, Some(0), "{space}: {listed}");
        for id in &ids {
            // Either it is listed, or the list reports that it is missing.
            assert!(listed.contains(id.as_str()), "{space}: {id} in {listed}");
            let is_itself = ["coordinator", "bundle"].contains(&space.as_str());
            for command in [&["job", "show"][..], &["job", "log"]] {
                let (code, shown) = told(&[command, &[id]].concat());
                let is_lost = code == Some(2) && is_itself && shown.contains("does not match");
                assert!(code == Some(0) || is_lost, "{space}: {command:?} {id}: {shown}");
            }
        }
        let (code, ran) = told(&["run", "app", "--id", "new", "--root", "root"]);
        assert_eq!(code, Some(0), "{space}: {ran}");
        let (code, exported) = told(&["store", "export", &format!("out-{space}")]);
        let loses = ["job", "coordinator", "bundle"].contains(&space.as_str());
        assert_eq!(code, Some(i32::from(loses)), "{space}: {exported}");
        let (code, forgot) = told(&["store", "check", "--forget-damaged"]);
        assert_eq!(code, Some(0), "{space}: {forgot}");
    }
    // The lost part is named.
    let copy = folder.join("copy");
    for (space, id, told) in [
        ("job", "first", "damaged and not shown: the record of the job"),
        ("plan", "first", "its plan, and with it the names of nodes"),
        ("conf", "first", "damaged and not shown: its properties"),
        ("needs", "first", "what it runs with"),
        ("coordinator-action", &ids[1], "damaged and not shown: action 2"),
        ("coordinator-definition", &ids[1], "damaged and not shown: its definition"),
        ("bundle-definition", "bundle", "damaged and not shown: its definition"),
    ] {
        damaged_copy(&from, &copy, space);
        let shown: String = [id, &ids[0], &ids[1], &ids[2], &ids[3]]
            .map(|id| said_any(folder, &["job", "show", id, "--store", "copy"]))
            .concat();
        assert!(shown.contains(told), "{space}: {shown}");
    }
}

#[test]
fn a_damaged_log_is_noticed_before_anything_is_forgotten() {
    let place = place("30");
    let folder = place.path();
    let mut child = ankus(folder, &["run", "app", "--id", "first"]).spawn().expect("it runs");
    let log = folder.join(".ankus/store.sqlite-wal");
    let began = Instant::now();
    let is_running =
        || said_any(folder, &["job", "show", "first"]).contains("one      shell        RUNNING");
    while !is_running() {
        assert!(began.elapsed() < Duration::from_secs(120), "its action does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().expect("it is ended");
    child.wait().expect("it has ended");
    let whole = fs::read(&log).expect("a log is left");
    let mut bytes = whole.clone();
    bytes[32 + 24 + 100] ^= 1;
    fs::write(&log, &bytes).expect("a log");

    let refused = said(folder, &["run", "--resume", "first"], 2);
    assert!(
        refused.contains("damaged at byte") && refused.contains("restore a backup"),
        "{refused}"
    );
    assert!(said(folder, &["store", "check"], 1).contains("log: damaged"));
    assert_eq!(fs::read(&log).expect("a log"), bytes, "nothing was changed");

    fs::write(&log, &whole).expect("a log");
    said(folder, &["store", "check"], 0);
    said(folder, &["job", "kill", "first"], 0);
}

fn said_any(folder: &Path, arguments: &[&str]) -> String {
    text(&ankus(folder, arguments).output().expect("it runs"))
}
