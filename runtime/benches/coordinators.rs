//! How fast a coordinator's actions come about: times alone, with one input and one output, and whole lives.

use ankus_runtime::coordinator::{
    Actions, Controls, DataEvent, DatasetText, Definition, Existing, Failure, Instances,
};
use ankus_runtime::machine::coordinator::simulation::{Outcome, Play, simulate};
use ankus_runtime::machine::coordinator::{Plan, Rules, WorkflowStatus};
use ankus_runtime::time::{
    Cron, EndOf, Frequency, Instant, ProcessingZone, Schedule, Unit, WeekStart, Zone,
};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
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
        },
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
        let play = Play {
            plans: vec![Plan::new(&definition, "job", Rules::default())],
            bundle: None,
            from: START,
            until: Instant(i64::MAX),
            existing: &All,
            arrivals: Vec::new(),
            commands: Vec::new(),
            workflow: &|_, _| Outcome { status: WorkflowStatus::Succeeded, seconds: 60 },
            look_seconds: 60,
        };
        simulate(&play, &mut |_, _| ()).at
    });
}
