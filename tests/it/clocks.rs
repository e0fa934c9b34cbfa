//! The system clock is changed while jobs run: a year forward, a year back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use ankus_cli::testing;
use ankus_engine::driver::coordinator::{self as kept, SubmitCoordinator};
use ankus_engine::driver::{self, Driver, Submit, view};
use ankus_lang::coordinator::{Controls, DataEvent, DatasetText, Definition, Instances};
use ankus_lang::machine::JobStatus;
use ankus_lang::machine::coordinator::{ActionStatus, Event, Status};
use ankus_lang::time::{
    EndOf, Frequency, Instant as Time, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};
use ankus_procedure::store::Memory;
use ankus_procedure::{Host, RealHost};

use crate::run::{BINARY, ankus, application};

const YEAR_MS: i64 = 365 * 86_400_000;
/// 2026-01-01T00:00Z.
const BEGIN_MS: i64 = 1_767_225_600_000;

/// A clock that starts at the beginning of a year and can be set.
struct Set {
    real: RealHost,
    wall: AtomicI64,
}

impl Host for Set {
    fn wall_ms(&self) -> i64 {
        self.wall.load(Ordering::SeqCst) + self.real.elapsed_ms() as i64
    }

    fn elapsed_ms(&self) -> u64 {
        self.real.elapsed_ms()
    }

    fn random(&self) -> u64 {
        self.real.random()
    }
}

fn open(folder: &Path) -> (Driver, Arc<Set>) {
    let host = Arc::new(Set { real: RealHost::new(), wall: AtomicI64::new(BEGIN_MS) });
    let surroundings = testing::surroundings(PathBuf::from(BINARY), &folder.join("root"));
    let store = Box::new(Memory::new());
    let driver = driver::open_store_on(store, folder.to_owned(), surroundings, host.clone());
    (driver.expect("a driver"), host)
}

/// One action a day for two years, from a day before the clock's start; if `waits`, each waits for data that never
/// comes.
fn daily(waits: bool) -> Definition {
    let start = Time(BEGIN_MS / 1000 - 86_400);
    let event = DataEvent {
        name: "in".to_owned(),
        dataset: DatasetText {
            name: "d".to_owned(),
            frequency: 1,
            frequency_text: "1".to_owned(),
            unit: Unit::Day,
            end_of: EndOf::None,
            initial_instance: "2020-01-01T00:00Z".to_owned(),
            timezone: "UTC".to_owned(),
            uri_template: "hdfs://nn/in/${YEAR}${MONTH}${DAY}".to_owned(),
            done_flag: None,
        }
        .into(),
        instances: Instances::List(vec!["${coord:current(0)}".to_owned()]),
        keeps_output: false,
    };
    Definition {
        name: "daily".to_owned(),
        namespace: "uri:oozie:coordinator:0.4".to_owned(),
        frequency_text: "1".to_owned(),
        zone_text: "UTC".to_owned(),
        schedule: Schedule {
            start,
            end: start.plus_minutes(366 * 1440),
            frequency: Frequency::Every { count: 1, unit: Unit::Day, end_of: EndOf::None },
            zone: Zone::from_id("UTC").expect("a zone"),
            processing: ProcessingZone::UTC,
            week: WeekStart::Sunday,
        },
        controls: Controls { concurrency: 4, ..Controls::default() },
        inputs: if waits { vec![event] } else { Vec::new() },
        outputs: Vec::new(),
        logic: None,
        app_path: "hdfs://nn/apps/step".to_owned(),
        configuration: Vec::new(),
        sla: None,
        properties: [("user.name".to_owned(), "ann".to_owned())].into(),
    }
}

const STEP: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='step'><start to='make'/><action name='make'><fs>\
    <mkdir path='hdfs://nn/made'/></fs><ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill>\
    <end name='end'/></workflow-app>";

fn begin(driver: &Driver, folder: &Path, waits: bool) {
    application(folder, &[("step/workflow.xml", STEP)]);
    let mounts = vec![("hdfs://nn/apps/step".to_owned(), folder.join("step"))];
    let new = SubmitCoordinator { definition: daily(waits), id: Some("c".to_owned()), mounts };
    driver.submit_coordinator(new).expect("taken");
    until(driver, |record| record.job.actions.len() >= 2 || record.job.last_number >= 2);
}

/// Waits until a coordinator is as it should be.
fn until(driver: &Driver, is_so: impl Fn(&kept::Record) -> bool) -> kept::Record {
    let began = Instant::now();
    loop {
        let record = kept::record(&*driver.reader(), "c").expect("readable").expect("kept");
        if is_so(&record) {
            return record;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{record:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn counts(driver: &Driver) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for action in kept::actions(&*driver.reader(), "c").expect("readable").values() {
        *counts.entry(action.run.status.name()).or_default() += 1;
    }
    counts
}

#[test]
fn a_year_forward_is_caught_up_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, host) = open(folder.path());
    begin(&driver, folder.path(), false);
    host.wall.fetch_add(YEAR_MS, Ordering::SeqCst);
    // A message wakes it immediately; by itself it would look within a minute.
    let event = Event::Change("concurrency=8".to_owned());
    driver.coordinator_message("c", &kept::Message::Event(event)).expect("taken");
    until(&driver, |record| record.job.status == Status::Succeeded);
    assert_eq!(counts(&driver), BTreeMap::from([("SUCCEEDED", 366)]));
}

#[test]
fn a_year_forward_leaves_no_more_waiting_than_may() {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, host) = open(folder.path());
    begin(&driver, folder.path(), true);
    host.wall.fetch_add(YEAR_MS, Ordering::SeqCst);
    let event = Event::Change("concurrency=8".to_owned());
    driver.coordinator_message("c", &kept::Message::Event(event)).expect("taken");
    // The earlier actions are past their time-out, the others begin to wait.
    until(&driver, |record| record.job.last_number >= 14);
    std::thread::sleep(Duration::from_millis(500));
    let seen = counts(&driver);
    assert_eq!(seen, BTreeMap::from([("TIMEDOUT", 2), ("WAITING", 12)]));
    driver.coordinator_message("c", &kept::Message::Event(Event::Kill)).expect("taken");
    until(&driver, |record| record.job.status == Status::Killed);
    assert!(kept::actions(&*driver.reader(), "c").expect("readable").values().all(|action| {
        matches!(action.run.status, ActionStatus::Killed | ActionStatus::TimedOut)
    }));
}

#[test]
fn a_year_back_holds_nothing_up_that_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, host) = open(folder.path());
    begin(&driver, folder.path(), false);
    let before = until(&driver, |record| record.job.last_number >= 2).job.last_number;
    // An action with three retries, two seconds apart; the clock is set back meanwhile.
    let retried = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='late'><start to='a'/><action name='a'>\
         <shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
         <job-xml>broken.xml</job-xml><exec>true</exec></shell><ok to='end'/><error to='end'/></action><end name='end'/>\
         </workflow-app>";
    application(folder.path(), &[("late/workflow.xml", retried), ("late/broken.xml", "<x")]);
    let plan = folder.path().join("late.plan");
    let compiled = ankus(folder.path(), &["compile", "late", "-o", "late.plan"]).output();
    assert!(compiled.expect("it runs").status.success());
    let properties: BTreeMap<String, String> = [
        ("user.name", "ann"),
        ("oozie.wf.application.path", "hdfs://nn/apps/late"),
        ("oozie.wf.action.retry.interval", "2"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    let plan = std::fs::read(plan).expect("a plan");
    let mounts = vec![("hdfs://nn/apps/late".to_owned(), folder.path().join("late"))];
    let submit = Submit { plan, properties, id: Some("late".to_owned()), mounts };
    driver.submit(submit).expect("taken");
    std::thread::sleep(Duration::from_millis(500));
    host.wall.fetch_sub(YEAR_MS, Ordering::SeqCst);
    let began = Instant::now();
    loop {
        let record = view::record(&*driver.reader(), "late").expect("readable").expect("kept");
        if record.job.status == JobStatus::Suspended {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{record:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Nothing new is due before the clock reaches its old time again, and the coordinator still obeys commands.
    let record = until(&driver, |_| true);
    assert_eq!((record.job.status, record.job.last_number), (Status::Running, before));
    driver.coordinator_message("c", &kept::Message::Event(Event::Kill)).expect("taken");
    until(&driver, |record| record.job.status == Status::Killed);
}

/// Missing data is watched, and polled every ten minutes at most; a time-out does not wait for the next poll.
#[test]
fn what_waits_too_long_ends_at_that_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let (driver, host) = open(folder.path());
    application(folder.path(), &[("step/workflow.xml", STEP)]);
    let mounts = vec![("hdfs://nn/apps/step".to_owned(), folder.path().join("step"))];
    let mut definition = daily(true);
    definition.controls.timeout = 0;
    let new = SubmitCoordinator { definition, id: Some("c".to_owned()), mounts };
    driver.submit_coordinator(new).expect("taken");
    until(&driver, |record| record.job.last_number >= 2);
    let began = Instant::now();
    // Polls come after 15.5 and 31.5 seconds, and the minute is over after 18.
    host.wall.fetch_add(42_000, Ordering::SeqCst);
    assert_eq!(counts(&driver), BTreeMap::from([("WAITING", 2)]));
    while counts(&driver).get("TIMEDOUT") != Some(&2) {
        assert!(began.elapsed() < Duration::from_secs(28), "{:?}", counts(&driver));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A workflow that reports its suspension only after its coordinator was resumed does not let another action start.
#[test]
fn a_suspension_that_is_told_late_makes_no_room() {
    use ankus_lang::coordinator::Failure;
    use ankus_lang::machine::coordinator::{
        Job, Plan, Rules, WorkflowStatus as Workflow, World, apply,
    };
    struct All;
    impl ankus_lang::coordinator::Existing for All {
        fn exists(&self, _: &str) -> Result<bool, Failure> {
            Ok(true)
        }
    }
    let mut definition = daily(false);
    definition.controls.concurrency = 1;
    let plan = Plan::new(&definition, "c", Rules::default());
    let world = World { now: Time(BEGIN_MS / 1000 + 60), existing: &All };
    let mut job = Job::new(&definition);
    let mut take = |event: Event| {
        apply(&plan, &mut job, &event, &world).expect("it is taken");
        let running = job.count(ActionStatus::Running) + job.count(ActionStatus::Submitted);
        assert!(running <= 1, "{event:?}");
        (job.count(ActionStatus::Running), job.pending)
    };
    for event in [Event::Materialize, Event::Check(1), Event::Check(2), Event::Started(1)] {
        take(event);
    }
    for told in [
        // Suspended twice, the second time before the workflow reports anything.
        vec![Event::Suspend, Event::Resume, Event::Suspend, Event::Resume],
        vec![Event::Workflow(1, Workflow::Suspended), Event::Workflow(1, Workflow::Running)],
        vec![Event::Workflow(1, Workflow::Suspended), Event::Workflow(1, Workflow::Running)],
    ] {
        for event in told {
            take(event);
            take(Event::Recover);
        }
        assert_eq!(take(Event::Recover).0, 1);
    }
    // A suspension that the workflow reports by itself counts.
    take(Event::Workflow(1, Workflow::Suspended));
    assert_eq!(job.count(ActionStatus::Suspended), 1);
}
