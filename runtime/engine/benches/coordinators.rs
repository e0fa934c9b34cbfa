//! How fast the actions of a coordinator are created and run: times only, with one input and one output, whole life
//! cycles, durably; and the cost of waiting.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark is about the real clock and the real disk"
)]

use ankus_engine::driver::coordinator::SubmitCoordinator;
use ankus_engine::driver::{
    Compiler, Frontends, Needs, Opened, Place, Surroundings, coordinator, open,
};
use ankus_engine::host::files::{FileUri, Files};
use ankus_engine::host::process::Local;
use ankus_lang::coordinator::{
    Actions, Controls, DataEvent, DatasetText, Definition, Existing, Failure, Instances,
};
use ankus_lang::machine::coordinator::simulation::{Outcome, Play, Remembered, simulate};
use ankus_lang::machine::coordinator::{Plan, Rules, WorkflowStatus};
use ankus_lang::time::{
    Cron, EndOf, Frequency, Instant, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};
use divan::counter::ItemsCount;

fn main() {
    // Only if everything is measured, because it takes long.
    if std::env::args().all(|argument| argument.starts_with('-') || argument.contains('/')) {
        waiting();
    }
    divan::main();
}

/// A compiler that finds no workflow.
struct Nothing;

impl Compiler for Nothing {
    fn compile(
        &self,
        _: &FileUri,
        _: &dyn Files,
        _: &std::collections::BTreeMap<String, String>,
        _: Option<&ankus_lang::plan::Global>,
    ) -> Result<ankus_lang::plan::Plan, (String, String)> {
        Err(("E0700".to_owned(), "no workflow".to_owned()))
    }
}

impl Frontends for Nothing {
    fn compiler(&self, _: &Needs) -> Result<Box<dyn Compiler>, String> {
        Ok(Box::new(Nothing))
    }
}

fn driver(folder: &std::path::Path) -> Box<ankus_engine::driver::Driver> {
    let surroundings = Surroundings {
        needs: Needs { root: folder.join("root"), ..Needs::default() },
        launchers: Box::new(Local::new(Default::default())),
        limits: Default::default(),
        frontends: Box::new(Nothing),
    };
    match open(Place::Folder(folder.to_owned()), surroundings).expect("a driver") {
        Opened::Mine(driver) => driver,
        Opened::Theirs(_) => unreachable!("the folder is new"),
    }
}

fn submitted(definition: Definition, id: Option<String>) -> SubmitCoordinator {
    SubmitCoordinator { definition, id, mounts: Vec::new() }
}

/// Materializes a year durably, with all actions waiting for data; limited by the disk.
#[divan::bench(sample_count = 3, sample_size = 1)]
fn durable_year(bencher: divan::Bencher) {
    let mut year = definition(minutes(5), 300, true);
    year.controls.throttle = 1_000_000;
    year.controls.timeout = 1_000_000;
    let count = year.schedule.times().count();
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| tempfile::tempdir().expect("a folder"))
        .bench_values(|folder| {
            let driver = driver(folder.path());
            let id = driver.submit_coordinator(submitted(year.clone(), None)).expect("taken");
            let reader = driver.reader();
            loop {
                let record = coordinator::record(&*reader, &id).expect("readable").expect("kept");
                if record.job.is_done {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            drop(driver);
            folder
        });
}

/// The resources of 10,000 idle coordinators, each of which has ten actions that wait for a done flag in a folder of
/// their own.
fn waiting() {
    let folder = tempfile::tempdir().expect("a folder");
    let driver = driver(folder.path());
    let began = std::time::Instant::now();
    for number in 0..10_000 {
        let mut waits = definition(minutes(5), 1, true);
        waits.schedule.end = START.plus_minutes(50);
        waits.controls.timeout = 1_000_000;
        waits.controls.throttle = 10;
        std::sync::Arc::make_mut(&mut waits.inputs[0].dataset).uri_template =
            format!("hdfs://nn/{number}/${{MINUTE}}");
        waits.configuration = Vec::new();
        for minute in (0..50).step_by(5) {
            let at = folder.path().join(format!("root/{number}/{minute:02}"));
            std::fs::create_dir_all(at).expect("a folder");
        }
        driver.submit_coordinator(submitted(waits, Some(format!("c{number}")))).expect("taken");
    }
    println!("10000 coordinators submitted in {:?}", began.elapsed());
    // Polling must slow down first.
    std::thread::sleep(std::time::Duration::from_secs(75));
    let (ticks, began) = (ticks(), std::time::Instant::now());
    std::thread::sleep(std::time::Duration::from_secs(60));
    let used = (self::ticks() - ticks) as f64 / 100.0;
    let share = used / began.elapsed().as_secs_f64() * 100.0;
    println!("10000 coordinators waiting for 100000 folders: {share:.2} % of a core");
}

/// The CPU time of this process, in hundredths of a second.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let of = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    of(12) + of(13)
}

/// 2026-01-01T00:00Z.
const START: Instant = Instant(1_767_225_600);

fn definition(frequency: Frequency, days: i64, has_data: bool) -> Definition {
    let unit = match &frequency {
        Frequency::Every { unit, .. } => *unit,
        Frequency::Cron(_) => Unit::Minute,
    };
    let event = |name: &str| DataEvent {
        name: name.to_owned(),
        dataset: DatasetText {
            name: name.to_owned(),
            frequency: 5,
            frequency_text: "5".to_owned(),
            unit: Unit::Minute,
            end_of: EndOf::None,
            initial_instance: "2025-01-01T00:00Z".to_owned(),
            timezone: "UTC".to_owned(),
            uri_template: format!(
                "hdfs://nn:8020/data/{name}/${{YEAR}}/${{MONTH}}/${{DAY}}/${{HOUR}}/${{MINUTE}}"
            ),
            done_flag: None,
        }
        .into(),
        instances: Instances::List(vec!["${coord:current(0)}".to_owned()]),
        keeps_output: false,
    };
    let configuration = match has_data {
        true => vec![
            ("in".to_owned(), "${coord:dataIn('in')}".to_owned()),
            ("out".to_owned(), "${coord:dataOut('out')}".to_owned()),
        ],
        false => Vec::new(),
    };
    Definition {
        name: "five".to_owned(),
        namespace: "uri:oozie:coordinator:0.4".to_owned(),
        frequency_text: "5".to_owned(),
        zone_text: "Europe/Paris".to_owned(),
        schedule: Schedule {
            start: START,
            end: START.plus_minutes(days * 1440),
            frequency,
            zone: Zone::from_id("Europe/Paris").expect("a zone"),
            processing: ProcessingZone::UTC,
            week: WeekStart::Sunday,
        },
        controls: Controls { concurrency: 4, throttle: 500, ..Controls::default() },
        inputs: if has_data { vec![event("in")] } else { Vec::new() },
        outputs: if has_data { vec![event("out")] } else { Vec::new() },
        logic: None,
        app_path: "hdfs://nn:8020/apps/five".to_owned(),
        configuration,
        sla: None,
        properties: [("unit".to_owned(), format!("{unit:?}"))].into(),
    }
}

fn minutes(count: i64) -> Frequency {
    Frequency::Every { count, unit: Unit::Minute, end_of: EndOf::None }
}

struct All;

impl Existing for All {
    fn exists(&self, _uri: &str) -> Result<bool, Failure> {
        Ok(true)
    }
}

#[divan::bench]
fn times_every_five_minutes(bencher: divan::Bencher) {
    let definition = definition(minutes(5), 365, false);
    let count = definition.schedule.times().count();
    bencher
        .counter(ItemsCount::new(count))
        .bench(|| definition.schedule.times().map(|(_, at)| at.0).fold(0, i64::wrapping_add));
}

#[divan::bench]
fn times_every_day_in_a_zone(bencher: divan::Bencher) {
    let every = Frequency::Every { count: 1, unit: Unit::Day, end_of: EndOf::None };
    let definition = definition(every, 36_500, false);
    let count = definition.schedule.times().count();
    bencher
        .counter(ItemsCount::new(count))
        .bench(|| definition.schedule.times().map(|(_, at)| at.0).fold(0, i64::wrapping_add));
}

#[divan::bench]
fn times_of_cron(bencher: divan::Bencher) {
    let cron = Cron::parse("0/5 8-17 * * MON-FRI").expect("cron");
    let definition = definition(Frequency::Cron(cron), 365, false);
    let count = definition.schedule.times().count();
    bencher
        .counter(ItemsCount::new(count))
        .bench(|| definition.schedule.times().map(|(_, at)| at.0).fold(0, i64::wrapping_add));
}

#[divan::bench(args = [false, true])]
fn actions_of_a_year(bencher: divan::Bencher, has_data: bool) {
    let definition = definition(minutes(5), 365, has_data);
    let actions = Actions::new(&definition);
    let count = definition.schedule.times().count();
    bencher.counter(ItemsCount::new(count)).bench(|| {
        let times = definition.schedule.times();
        let made = times.filter(|(number, at)| actions.create("job", *number, *at, *at).is_ok());
        made.count()
    });
}

#[divan::bench(args = [false, true])]
fn simulated_month(bencher: divan::Bencher, has_data: bool) {
    let definition = definition(minutes(5), 30, has_data);
    let count = definition.schedule.times().count();
    bencher.counter(ItemsCount::new(count)).bench(|| {
        let data = Remembered::new(&All);
        let play = Play {
            plans: vec![Plan::new(&definition, "job", Rules::default())],
            bundle: None,
            from: START,
            until: Instant(i64::MAX),
            data: &data,
            arrivals: Vec::new(),
            commands: Vec::new(),
            workflow: &|_| Some(Outcome { status: WorkflowStatus::Succeeded, seconds: Some(60) }),
            makes_outputs: true,
            look_seconds: 60,
        };
        simulate(&play, &mut |_, _| ()).at
    });
}
