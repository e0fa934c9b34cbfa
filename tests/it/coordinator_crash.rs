//! Coordinators and bundles end as they would have, although their process is killed at every commit.

use crate::{crash, run};
use ankus_engine::driver::bundle::{self, SubmitBundle};
use ankus_engine::driver::coordinator::{self as kept, SubmitCoordinator};
use ankus_engine::driver::{Driver, Error};
use ankus_lang::coordinator::{Bundle, BundleMember, Controls, Definition};
use ankus_lang::machine::coordinator::Status;
use ankus_lang::time::{
    EndOf, Frequency, Instant as Time, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const STEP: &str = "#!/bin/sh\nsleep 0.02\necho \"$1\" >> \"$ANKUS_FILE_ROOT/log\"\n";
const STEPS: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="step">
  <start to="step"/>
  <action name="step"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm</resource-manager>
    <name-node>hdfs://nn</name-node><exec>step.sh</exec><argument>${line}</argument><file>step.sh</file></shell>
    <ok to="end"/><error to="bad"/></action>
  <kill name="bad"><message>bad</message></kill>
  <end name="end"/>
</workflow-app>"#;

fn hourly(name: &str, hours: i64) -> Definition {
    let start = Time(1_767_225_600);
    let line = format!("{name}-${{coord:formatTime(coord:nominalTime(), 'HH')}}");
    Definition {
        name: name.to_owned(),
        namespace: "uri:oozie:coordinator:0.4".to_owned(),
        frequency_text: "1".to_owned(),
        zone_text: "UTC".to_owned(),
        schedule: Schedule {
            start,
            end: start.plus_minutes(hours * 60),
            frequency: Frequency::Every { count: 1, unit: Unit::Hour, end_of: EndOf::None },
            zone: Zone::from_id("UTC").expect("a zone"),
            processing: ProcessingZone::UTC,
            week: WeekStart::Sunday,
        },
        controls: Controls { concurrency: 2, ..Controls::default() },
        inputs: Vec::new(),
        outputs: Vec::new(),
        logic: None,
        app_path: "hdfs://nn/apps/step".to_owned(),
        configuration: vec![("line".to_owned(), line)],
        sla: None,
        properties: [("user.name".to_owned(), "ann".to_owned())].into(),
    }
}

fn member(name: &str) -> BundleMember {
    BundleMember {
        name: name.to_owned(),
        app_path: "hdfs://nn/apps/none".to_owned(),
        is_enabled: true,
        enabled: None,
        critical: None,
        configuration: Vec::new(),
    }
}

fn submit(driver: &Driver, application: &Path, is_bundle: bool) -> Result<String, Error> {
    let mounts: Vec<(String, PathBuf)> =
        vec![("hdfs://nn/apps/step".to_owned(), application.to_owned())];
    let id = Some("cut".to_owned());
    if !is_bundle {
        let definition = hourly("a", 3);
        return driver.submit_coordinator(SubmitCoordinator { definition, id, mounts });
    }
    let bundle = Bundle {
        name: "two".to_owned(),
        kick_off: None,
        members: vec![member("a"), member("b")],
        properties: [("user.name".to_owned(), "ann".to_owned())].into(),
    };
    let coordinators = vec![hourly("a", 2), hourly("b", 1)];
    driver.submit_bundle(SubmitBundle { bundle, coordinators, id, mounts })
}

fn wait(driver: &Driver, is_bundle: bool, ms: u64) -> bool {
    let at_most = Duration::from_millis(ms);
    let waited = match is_bundle {
        true => driver.wait_for_bundle("cut", at_most),
        false => driver.wait_for_coordinator("cut", at_most),
    };
    waited.unwrap_or(false)
}

fn status(driver: &Driver, is_bundle: bool) -> Option<Status> {
    let reader = driver.reader();
    match is_bundle {
        true => bundle::record(&*reader, "cut").expect("readable").map(|kept| kept.job.status),
        false => kept::record(&*reader, "cut").expect("readable").map(|kept| kept.job.status),
    }
}

/// Runs a job that is cut off after `commits` commits, then resumes it to its end. Returns whether it was cut off at
/// all.
fn run_cut(application: &Path, commits: i64, last_happens: bool, is_bundle: bool) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, left) = crash::open(folder.path(), commits, last_happens);
    let submitted = crash::submitted(&driver, &left, || submit(&driver, application, is_bundle));
    let since = Instant::now();
    let cut = loop {
        if left.load(Ordering::SeqCst) < 0 {
            break true;
        }
        if submitted && wait(&driver, is_bundle, 5) {
            break false;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "stuck before commit {commits}");
    };
    drop(driver);

    let (driver, _) = crash::open(folder.path(), i64::MAX, false);
    if status(&driver, is_bundle).is_none() {
        assert!(!submitted, "an accepted job is lost");
        return cut;
    }
    let since = Instant::now();
    while !wait(&driver, is_bundle, 50) {
        assert!(since.elapsed() < Duration::from_secs(60), "stuck after commit {commits}");
    }
    assert_eq!(status(&driver, is_bundle), Some(Status::Succeeded), "commit {commits}");
    let log = run::lines(&folder.path().join("root"));
    let wanted = if is_bundle { ["a-00", "a-01", "b-00"] } else { ["a-00", "a-01", "a-02"] };
    assert_eq!(log, wanted, "commit {commits}, {last_happens}");
    cut
}

fn killed_at_every_commit(is_bundle: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in [("workflow.xml", STEPS), ("step.sh", STEP)] {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let mut cut = 0;
    for first in (0..200).step_by(8) {
        let run = |at: i64| run_cut(folder.path(), at / 2, at % 2 == 1, is_bundle);
        let cuts = std::thread::scope(|scope| {
            let runs: Vec<_> = (first..first + 8).map(|at| scope.spawn(move || run(at))).collect();
            runs.into_iter()
                .map(|run| run.join().expect("it ends as it would have"))
                .filter(|cut| *cut)
                .count()
        });
        cut += cuts;
        if cuts < 8 {
            break;
        }
    }
    println!("cut off at {cut} places");
    assert!((8..200).contains(&cut), "cut off {cut} times");
}

#[test]
fn a_coordinator_killed_at_every_commit_ends_as_it_would_have() {
    killed_at_every_commit(false);
}

#[test]
fn a_bundle_killed_at_every_commit_ends_as_it_would_have() {
    killed_at_every_commit(true);
}
