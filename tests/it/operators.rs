//! Operators: whatever is commanded and killed, a job that has ended has stopped its programs, and every job ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ankus_cli::testing;
use ankus_engine::driver::list::{self, Kind};
use ankus_engine::driver::{self, Driver, filter, view};
use ankus_lang::machine::{Command, JobStatus};
use ankus_procedure::store::{Options, Reader, Sqlite, Synchronous};

use crate::run::{BINARY, ankus, application, text};
use crate::storms;

#[test]
fn storms_leave_no_copy_beside_another_and_nothing_alive() {
    if std::process::Command::new("flock").arg("--version").output().is_err() {
        println!("skipped: there is no `flock`, with which programs note that they run");
        return;
    }
    // Other tests run at the same time, on machines of any speed: the time of commands is measured elsewhere.
    let patience = Duration::from_secs(120);
    let report = storms::rage(Path::new(BINARY), 20, 1, 10, patience);
    let report = report.unwrap_or_else(|why| panic!("{why}"));
    println!("storms: {report:?}");
}

#[test]
fn many_processes_come_and_go_on_one_store() {
    if std::process::Command::new("flock").arg("--version").output().is_err() {
        println!("skipped: there is no `flock`, with which programs note that they run");
        return;
    }
    let crowd = storms::crowd(Path::new(BINARY), 12, 1, Duration::from_secs(120));
    let crowd = crowd.unwrap_or_else(|why| panic!("{why}"));
    assert!(crowd.kills > 0 && crowd.commands > 0, "{crowd:?}");
    println!("a crowd: {crowd:?}");
}

/// Nested forks, three deep, each with a stubborn program and a sub-workflow: a kill, the end of the process that
/// carries it out and of two launchers, and an immediate rerun. What is left of the first run ends before the second
/// begins.
#[test]
fn a_rerun_waits_for_a_kill_that_was_interrupted_three_deep() {
    if std::process::Command::new("flock").arg("--version").output().is_err() {
        println!("skipped: there is no `flock`, with which programs note that they run");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let step = "#!/bin/sh\nexec 9>>\"$ANKUS_FILE_ROOT/lock-$1\"\nflock -n 9 || echo \"overlap $1\" >> \"$ANKUS_FILE_ROOT/log\"\n\
                trap '' TERM\necho \"begin $1\" >> \"$ANKUS_FILE_ROOT/log\"\n\
                test -e \"$ANKUS_FILE_ROOT/quick\" || sleep 60\necho \"end $1\" >> \"$ANKUS_FILE_ROOT/log\"\n";
    let runs = |name: &str| {
        format!(
            "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec><argument>${{wf:name()}}-{name}\
             </argument><file>step.sh</file></shell><ok to='join'/><error to='bad'/></action>"
        )
    };
    let mut path = "app".to_owned();
    for depth in 0..4 {
        let other = match depth {
            3 => runs("other"),
            _ => "<action name='other'><sub-workflow><app-path>${wf:appPath()}/sub</app-path><propagate-configuration/></sub-workflow>\
                  <ok to='join'/><error to='bad'/></action>"
                .to_owned(),
        };
        let workflow = format!(
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='deep{depth}'><global><resource-manager>rm</resource-manager>\
             <name-node>hdfs://nn</name-node></global><start to='split'/><fork name='split'><path start='one'/>\
             <path start='other'/></fork>{}{other}<join name='join' to='end'/><kill name='bad'><message>bad</message></kill>\
             <end name='end'/></workflow-app>",
            runs("one")
        );
        let files = [("workflow.xml", workflow.as_str()), ("step.sh", step)];
        application(&folder.path().join(&path), &files);
        path.push_str("/sub");
    }
    let root = folder.path().join(".ankus/root");
    let log = || fs::read_to_string(root.join("log")).unwrap_or_default();
    let mut runner =
        ankus(folder.path(), &["run", "app", "--id", "deep"]).spawn().expect("it starts");
    let since = std::time::Instant::now();
    while log().matches("begin").count() < 5 {
        assert!(since.elapsed() < Duration::from_secs(60), "programs do not begin: {}", log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = ankus(folder.path(), &["job", "kill", "deep"]).output().expect("it runs");
    assert_eq!(text(&killed), "KILLED deep, 5 programs still stopping\n");
    runner.kill().expect("it runs");
    runner.wait().expect("it has ended");
    // Their programs die with them, or are found without them.
    let launchers = root.with_file_name("jobs");
    for job in fs::read_dir(launchers).expect("jobs").flatten().take(2) {
        let attempt = fs::read_dir(job.path()).expect("attempts").flatten();
        let started = attempt.map(|it| it.path().join("started")).find(|file| file.exists());
        let started = fs::read_to_string(started.expect("a launcher")).expect("who it is");
        let who: serde_json::Value = serde_json::from_str(started.trim()).expect("JSON");
        let _ = std::process::Command::new("kill").args(["-9", &who["pid"].to_string()]).status();
    }
    fs::write(root.join("quick"), "").expect("a file");
    let rerun = ankus(folder.path(), &["job", "rerun", "deep", "--failed"]).output();
    let rerun = rerun.expect("it runs");
    assert_eq!(rerun.status.code(), Some(0), "{}", text(&rerun));
    let log = log();
    assert!(!log.contains("overlap"), "{log}");
    assert_eq!((log.matches("begin").count(), log.matches("end deep").count()), (10, 5), "{log}");
}

/// Everything was killed and the machine has been restarted: the situation that a store then finds.
struct Reboot {
    folder: tempfile::TempDir,
    /// A foreign process that now has the process id of the program.
    stranger: std::process::Child,
}

impl Reboot {
    fn new(settings: &str) -> Reboot {
        let folder = tempfile::tempdir().expect("a folder");
        let step = "#!/bin/sh\necho begin >> \"$ANKUS_FILE_ROOT/log\"\n\
                    test \"$(wc -l < \"$ANKUS_FILE_ROOT/log\")\" -gt 1 || sleep 600\necho end >> \"$ANKUS_FILE_ROOT/log\"\n";
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='boot'><global><resource-manager>rm</resource-manager>\
                        <name-node>hdfs://nn</name-node></global><start to='step'/><action name='step'>\
                        <shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec><file>step.sh</file></shell>\
                        <ok to='end'/><error to='bad'/></action><kill name='bad'><message>${wf:errorCode('step')}</message></kill>\
                        <end name='end'/></workflow-app>";
        application(&folder.path().join("app"), &[("workflow.xml", workflow), ("step.sh", step)]);
        fs::write(folder.path().join("ankus.toml"), settings).expect("a file");
        let arguments = ["run", "app", "--id", "boot", "--store", "store", "--no-properties"];
        let mut runner = ankus(folder.path(), &arguments)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let since = std::time::Instant::now();
        while !folder.path().join("store/root/log").exists() {
            assert!(since.elapsed() < Duration::from_secs(60), "its program does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        runner.kill().expect("it runs");
        runner.wait().expect("it has ended");
        let stranger = std::process::Command::new("sleep").arg("600").spawn().expect("it starts");
        let stat = fs::read_to_string(format!("/proc/{}/stat", stranger.id())).expect("it runs");
        let began = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
        let began: u64 = began.and_then(|began| began.parse().ok()).expect("a number");
        for name in ["started", "child"] {
            let file = folder.path().join("store/jobs/boot/step-0-1").join(name);
            let text = fs::read_to_string(&file).expect("a launcher wrote it");
            let mut identity: serde_json::Value = serde_json::from_str(text.trim()).expect("JSON");
            let pid = identity["pid"].as_u64().expect("a number").to_string();
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
            let boot = identity["boot"].as_u64().expect("a number") ^ 1;
            identity["boot"] = boot.into();
            identity["pid"] = stranger.id().into();
            identity["began"] = began.into();
            fs::write(&file, identity.to_string()).expect("a file");
        }
        Reboot { folder, stranger }
    }

    /// Runs the store until it is idle. Returns the state of the job, the error of its action, and what its program
    /// recorded.
    #[track_caller]
    fn up(mut self) -> (String, String, Vec<String>) {
        let done = ankus(self.folder.path(), &["up", "--until-idle", "--store", "store"]).output();
        let done = done.expect("it runs");
        assert!(done.status.success(), "{}", text(&done));
        assert!(
            self.stranger.try_wait().expect("it is ours").is_none(),
            "a stranger was signalled"
        );
        self.stranger.kill().expect("it runs");
        self.stranger.wait().expect("it has ended");
        let shown = ["job", "show", "boot", "--format", "json", "--store", "store"];
        let shown = ankus(self.folder.path(), &shown).output().expect("it runs");
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let actions = shown["actions"].as_array().cloned().unwrap_or_default();
        let step = actions.into_iter().find(|action| action["name"] == "step").expect("it ran");
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let log = fs::read_to_string(self.folder.path().join("store/root/log")).expect("a log");
        let log = log.lines().map(str::to_owned).collect();
        (word(&shown["status"]), word(&step["errorCode"]), log)
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_ran_before_a_reboot_is_started_again() {
    let (status, code, log) = Reboot::new("").up();
    assert_eq!((status.as_str(), code.as_str()), ("SUCCEEDED", ""));
    assert_eq!(log, ["begin", "begin", "end"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_ran_before_a_reboot_ends_where_that_is_set() {
    let (status, code, log) = Reboot::new("[launchers]\nafter_reboot = \"error\"\n").up();
    assert_eq!((status.as_str(), code.as_str()), ("KILLED", "JA018"));
    assert_eq!(log, ["begin"]);
}

/// A store of the previous release: jobs that have ended, a suspended one, and one whose program was running when the
/// machine went down.
#[test]
fn a_store_of_the_last_format_is_taken_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/journals/format-1.sqlite");
    fs::copy(&kept, folder.path().join("store.sqlite")).expect("a fixture");
    let driver = open(folder.path());
    let reader = driver.reader();
    let status = |id: &str| {
        let record = view::record(&*reader, id).expect("readable").expect("a job");
        record.job.status
    };
    assert_eq!(status("done"), JobStatus::Succeeded);
    assert_eq!(status("half"), JobStatus::Suspended);
    assert_eq!(status("running"), JobStatus::Running);
    driver.command("half", Command::Resume).expect("it is suspended");
    driver.activate("running").expect("it is known");
    // Its program is started again if its folder still exists, and is lost otherwise. A report that it has just ended
    // may be ahead of the store.
    if let Err(error) = driver.command("running", Command::Kill) {
        assert!(error.to_string().contains("ended"), "{error}");
        assert!(driver.wait("running", Duration::from_secs(120)).expect("it is run"), "{error}");
        assert!(status("running").is_end(), "{error}");
    }
    for id in ["half", "running"] {
        assert!(driver.wait(id, Duration::from_secs(120)).expect("it is run"), "{id} does not end");
    }
    assert_eq!(status("half"), JobStatus::Succeeded);
    assert!(status("running").is_end());
    assert!(folder.path().join("root/made/c").is_dir(), "what was left of it was done");
    let failed = ("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned());
    driver.rerun("half", None, &BTreeMap::from([failed])).expect("it has ended");
    assert!(driver.wait("half", Duration::from_secs(120)).expect("it is run"));
    let coordinators = driver::coordinator::records(&*reader).expect("readable");
    assert_eq!(coordinators.len(), 1);
}

/// A store of the previous release: two workflows, and a bundle with a coordinator that ran two. It is listed
/// correctly, before and after a process that runs jobs has opened it and filled its table of jobs.
#[test]
fn a_store_without_a_table_of_jobs_is_listed_and_given_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/journals/format-2.sqlite");
    fs::copy(&kept, folder.path().join("store.sqlite")).expect("a fixture");
    let reading = || {
        let read = Sqlite::reading(&folder.path().join("store.sqlite"));
        read.expect("readable").expect("a store")
    };
    let filters = [
        (None, "", 6),
        (Some(Kind::Workflow), "", 4),
        (Some(Kind::Workflow), "status=SUCCEEDED;status=KILLED;name=daily", 2),
        (Some(Kind::Workflow), "group=staff", 3),
        (Some(Kind::Workflow), "text=half", 2),
        (Some(Kind::Workflow), "text=other;sortby=lastModifiedTime", 1),
        (Some(Kind::Workflow), "startcreatedtime=2026-11-23T00:00Z;endcreatedtime=-1d", 4),
        (Some(Kind::Workflow), "endcreatedtime=2026-11-22T00:00Z", 0),
        (Some(Kind::Coordinator), "frequency=1;unit=days", 1),
        (Some(Kind::Coordinator), "frequency=1440", 0),
        (Some(Kind::Bundle), "id=bundle;group=staff;name=both", 1),
    ];
    let listed = |reader: &dyn Reader| {
        let found = filters.map(|(kind, text, count)| {
            let wanted = filter::parse(text, kind, i64::MAX).expect("a filter");
            let (jobs, total) = list::jobs(reader, &wanted, 0, 10).expect("readable");
            assert_eq!((jobs.len(), total), (count, count), "{text}: {jobs:?}");
            jobs
        });
        let mut wanted = list::Wanted::default();
        let (last, total) = list::jobs(reader, &wanted, 4, 3).expect("readable");
        assert_eq!(last, found[0][4..]);
        assert_eq!(total, 6);
        wanted.only_tops = true;
        let tops = list::jobs(reader, &wanted, 0, 10).expect("readable").0;
        let tops: Vec<&str> = tops.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(tops, ["bundle", "other", "done"]);
        found
    };
    let before = listed(&*reading());
    let driver = open(folder.path());
    let after = listed(&*driver.reader());
    assert_eq!(before, after);
    let coordinator = &after[8][0];
    assert_eq!(coordinator.parent.as_deref(), Some("bundle"));
    assert!(coordinator.modified >= coordinator.created, "{coordinator:?}");
    drop(driver);
    let path = folder.path().join("store.sqlite");
    assert!(Sqlite::check(&path, list::TABLES).expect("readable").is_sound());
    assert_eq!(listed(&*reading()), after);
}

fn open(folder: &Path) -> Driver {
    let options = Options { synchronous: Synchronous::Normal, ..driver::options() };
    let store = Sqlite::open(&folder.join("store.sqlite"), options).expect("a store");
    let surroundings = testing::surroundings(PathBuf::from(BINARY), &folder.join("root"));
    driver::open_store(Box::new(store), folder.to_owned(), surroundings).expect("a driver")
}
