//! The calendar, compared with the computed values of the reference, and its laws.

use std::collections::HashSet;

use ankus_lang::el::{Dialect, Nothing, Phase, Template, UriTemplate, fill_template};
use ankus_lang::time::{
    Cron, Dataset, EndOf, Found, Frequency, Instant, MaterializedTimes, NoFire, ProcessingZone,
    Schedule, Unit, WeekStart, Zone, add, date_offset, end_of, format_time,
    is_skipped_by_last_only, is_skipped_by_none, is_timed_out, local_text, timeout_minutes,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Kinds of vectors about a whole submission; they are compared with the verdicts.
const ELSEWHERE: [&str; 1] = ["submit_check"];

#[test]
fn the_calendar_agrees_with_the_reference() {
    let name = "coordinator-time-vectors.json";
    let Some(text) = crate::oracle::file("ANKUS_REFERENCE", "reference", name) else { return };
    let file: Value = serde_json::from_str(&text).expect("the vectors are JSON");
    let vectors = file["vectors"].as_array().expect("a list of vectors");

    let (mut agree, mut asked) = (0, 0);
    let mut differences = Vec::new();
    for vector in vectors {
        let what = vector["what"].as_str().unwrap_or_default();
        if ELSEWHERE.contains(&what) {
            continue;
        }
        asked += 1;
        let got = answer(what, &vector["inputs"]);
        let expected = &vector["expected"];
        let same = match &got {
            Some(got) => got == expected,
            None => expected["error"] == json!(true),
        };
        if same {
            agree += 1;
        } else {
            let (id, inputs) = (&vector["id"], &vector["inputs"]);
            differences.push(format!("{id} {inputs}\n  expected {expected}\n  got {got:?}"));
        }
    }
    for difference in &differences {
        println!("{difference}");
    }
    println!("{} more with the verdicts", vectors.len() - asked);
    crate::oracle::agree("coordinator time", agree, asked);
    assert!(differences.is_empty());
}

/// Our answer; none if it fails.
fn answer(what: &str, inputs: &Value) -> Option<Value> {
    let processing = match inputs["processing_timezone"].as_str() {
        Some(id) => ProcessingZone::from_id(id)?,
        None => ProcessingZone::UTC,
    };
    let text = |name: &str| inputs[name].as_str();
    let number = |name: &str| inputs[name].as_i64();
    let instant = |name: &str| processing.parse(text(name)?).ok();
    let zone = |name: &str| Zone::from_id(text(name)?).ok();
    let written = |instant: Instant| json!(processing.format(instant));
    let or_nothing = |found: Option<Instant>| found.map_or(json!(""), written);
    let joined = |list: Vec<Instant>| {
        let list: Vec<String> = list.into_iter().map(|at| processing.format(at)).collect();
        json!(list.join("#"))
    };
    let texts = |name: &str| -> Vec<&str> {
        inputs[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let offset = |name: &str| Some((inputs[name][0].as_i64()?, unit(inputs[name][1].as_str()?)?));

    Some(match what {
        "parse_datetime" => {
            let instant = instant("text")?;
            json!({"formatted": processing.format(instant), "epoch_ms": instant.millis()})
        }
        "timezone_id" => json!(zone("id")?.id()),
        "calendar_add" => {
            let unit = unit(text("unit")?)?;
            written(add(instant("instant")?, unit, number("n")?, &zone("timezone")?))
        }
        "move_to_end" => {
            let end = EndOf::from_name(text("flag")?)?;
            written(end_of(instant("instant")?, end, &zone("timezone")?, WeekStart::Sunday))
        }
        "materialize" | "materialize_windowed" => {
            let schedule = schedule(inputs, processing)?;
            let limit = number("max_actions").map_or(usize::MAX, |limit| limit as usize);
            let given = match number("window_seconds") {
                None => {
                    let pause = instant("pause_time");
                    let mut run = schedule.run(None, 0, schedule.end, pause);
                    MaterializedTimes::collect(&mut run, limit)
                }
                Some(window) => {
                    let mut all = MaterializedTimes { times: Vec::new(), upcoming: None };
                    loop {
                        let from = all.upcoming.unwrap_or(schedule.start);
                        if from >= schedule.end {
                            break all;
                        }
                        let until = from.plus_seconds(window);
                        let done = all.times.len() as i64;
                        let mut run = schedule.run(all.upcoming, done, until, None);
                        let given = MaterializedTimes::collect(&mut run, usize::MAX);
                        all.times.extend(given.times);
                        all.upcoming = given.upcoming;
                    }
                }
            };
            let times: Vec<Value> = given.times.iter().map(|at| written(*at)).collect();
            json!({"count": times.len(), "nominal_times": times,
                   "next": given.upcoming.map(written)})
        }
        "next_nominal" => {
            let next = schedule(inputs, processing)?
                .next_nominal(number("action_number")?, instant("nominal")?);
            next.map_or(Value::Null, written)
        }
        "cron_list" => {
            let cron = Cron::parse(text("expr")?).ok()?;
            let mut after = instant("after")?;
            let mut fires = Vec::new();
            for _ in 0..number("count")? {
                match cron.next_after(after, processing) {
                    Ok(next) => after = next,
                    Err(NoFire::Never) => {
                        fires.push(Value::Null);
                        break;
                    }
                    Err(NoFire::Broken) => return None,
                }
                fires.push(written(after));
            }
            json!(fires)
        }
        "cron_check" => {
            Cron::parse(text("expr")?).ok()?;
            json!("ok")
        }
        "cron_dst_shift_ms" => {
            let start = instant("job_start")?;
            let schedule = Schedule {
                start,
                end: Instant::MAX,
                frequency: Frequency::Cron(Cron::parse("0 0 * * *").ok()?),
                zone: zone("timezone")?,
                processing,
                week: WeekStart::Sunday,
            };
            json!(schedule.cron_shift_seconds(instant("fire")?) * 1000)
        }
        "current" => or_nothing(dataset(inputs)?.current_n(instant("nominal_time")?, number("n")?)),
        "current_range" => {
            let (start, end) = (number("start")?, number("end")?);
            joined(dataset(inputs)?.current_range(instant("nominal_time")?, start, end).ok()?)
        }
        "offset" => {
            let unit = unit(text("time_unit")?)?;
            or_nothing(dataset(inputs)?.offset(instant("nominal_time")?, number("n")?, unit))
        }
        "offset_range" => {
            let (start, end) = (offset("start")?, offset("end")?);
            joined(dataset(inputs)?.offset_range(instant("nominal_time")?, start, end).ok()?)
        }
        "absolute_range" => {
            let (nominal, start) = (instant("nominal_time")?, instant("start")?);
            joined(dataset(inputs)?.absolute_range(nominal, start, number("end")?).ok()?)
        }
        "end_of_range" => {
            let end = match text("function")? {
                "endOfMonths" => EndOf::Month,
                "endOfWeeks" => EndOf::Week,
                _ => EndOf::Day,
            };
            let dataset = dataset(inputs)?;
            let nominal = instant("nominal_time")?;
            let start = dataset.end_of_period(nominal, end, number("start")?);
            let instances = dataset.absolute_range(nominal, start, number("end")?).ok()?;
            json!({"start": written(start), "instances": joined(instances)})
        }
        "latest" | "latest_range" | "future" | "future_range" => searched(what, inputs)?,
        "hours_in_day" => {
            json!(dataset(inputs)?.hours_in_day(instant("nominal_time")?, number("n")?))
        }
        "days_in_month" => {
            json!(dataset(inputs)?.days_in_month(instant("nominal_time")?, number("n")?))
        }
        "tz_offset" => {
            let zone = zone("job_timezone")?;
            json!(dataset(inputs)?.zone_offset_minutes(instant("nominal_time")?, &zone))
        }
        "date_offset" => {
            let unit = unit(text("time_unit")?)?;
            written(date_offset(instant("base")?, number("n")?, unit, processing))
        }
        "date_tz_offset" => json!(local_text(instant("base")?, &zone("timezone")?, processing)),
        "format_time" => json!(format_time(instant("base")?, text("format")?, processing).ok()?),
        "epoch_time" => {
            let base = instant("base")?;
            let value = if text("millis")? == "true" { base.millis() } else { base.0 };
            json!(value.to_string())
        }
        "frequency_el" => {
            let template =
                Template::compile(text("expr")?, Phase::CoordinatorFrequency, Dialect::Tomcat);
            let mut effects = Default::default();
            let value = template.text_with(&Nothing, &mut effects).ok()?;
            let (unit, end) = match effects.unit {
                Some((unit, end)) => (unit.name(), end.name()),
                None => ("MINUTE", "NONE"),
            };
            json!({"frequency": value.parse::<i64>().ok()?, "unit": unit, "end_of_duration": end})
        }
        "timeout" => {
            let minutes = match text("value") {
                None => 120,
                Some(value) => {
                    let phase = Phase::CoordinatorTimeout;
                    let template = Template::compile(value, phase, Dialect::Tomcat);
                    let mut effects = Default::default();
                    let number = template.text_with(&Nothing, &mut effects).ok()?;
                    let unit = effects.unit.and_then(|(unit, _)| Unit::from_name(unit.name()));
                    let unit = unit.unwrap_or(Unit::Minute);
                    timeout_minutes(number.parse().ok()?, unit, 86_400)
                }
            };
            json!(minutes)
        }
        "uri_template" => json!(fill_template(text("template")?, instant("instance")?, processing)),
        "action_decision" => {
            let seconds = |name: &str| -> Option<Instant> {
                let text = text(name)?;
                let (minutes, seconds) = match text.len() {
                    20 => (format!("{}Z", &text[..16]), text[17..19].parse().ok()?),
                    _ => (text.to_owned(), 0),
                };
                Some(processing.parse(&minutes).ok()?.plus_seconds(seconds))
            };
            let (now, nominal) = (seconds("now")?, seconds("nominal")?);
            let (yes, word) = match text("rule")? {
                "timeout" => {
                    let created = seconds("created")?;
                    (is_timed_out(now, nominal, created, number("timeout_minutes")?), "TIMEDOUT")
                }
                "LAST_ONLY" => (is_skipped_by_last_only(now, seconds("next_nominal")), "SKIPPED"),
                _ => (is_skipped_by_none(now, nominal, number("tolerance_minutes")?), "SKIPPED"),
            };
            json!(if yes { word } else { "keep" })
        }
        "data_in_partition_filter" => partitions("dataInPartitionFilter", "type", inputs)?,
        "data_in_partitions" => partitions("dataInPartitions", "type", inputs)?,
        "data_in_partition_min" => partitions("dataInPartitionMin", "key", inputs)?,
        "data_out_partitions" => partitions("dataOutPartitions", "", inputs)?,
        "data_out_partition_value" => partitions("dataOutPartitionValue", "key", inputs)?,
        "database_in" => partitions("databaseIn", "", inputs)?,
        "table_in" => partitions("tableIn", "", inputs)?,
        _ => {
            let _ = texts("uris");
            return Some(json!(format!("nothing answers `{what}`")));
        }
    })
}

/// The HCatalog functions exist only as functions of expressions.
fn partitions(function: &str, second: &str, inputs: &Value) -> Option<Value> {
    use ankus_lang::el::state::State;

    let uris = match inputs["uri"].as_str() {
        Some(uri) => uri.to_owned(),
        None => {
            let list = inputs["uris"].as_array()?.iter().filter_map(Value::as_str);
            list.collect::<Vec<_>>().join(",")
        }
    };
    let second = match inputs[second].as_str() {
        Some(text) => format!(", '{text}'"),
        None => String::new(),
    };
    let kind = if function.contains("Out") { "dataOut" } else { "dataIn" };
    let state = json!({kind: {"d": uris}, "dataNames": {"d": kind}});
    let phase = Phase::CoordinatorActionStart;
    let state = State::new(&state, phase).expect("a state of ours");
    let expression = format!("${{coord:{function}('d'{second})}}");
    let template = Template::compile(&expression, phase, Dialect::Tomcat);
    match template.text(&state) {
        Ok(text) => Some(json!(text)),
        Err(failure) => {
            println!("{expression}: {failure}");
            None
        }
    }
}

fn searched(what: &str, inputs: &Value) -> Option<Value> {
    let utc = ProcessingZone::UTC;
    let instant = |name: &str| utc.parse(inputs[name].as_str()?).ok();
    let number = |name: &str| inputs[name].as_i64();
    let existing: HashSet<&str> =
        inputs["existing"].as_array()?.iter().filter_map(Value::as_str).collect();
    let of = &inputs["dataset"];
    let template =
        of["uri_template"].as_str().unwrap_or("/d/${YEAR}/${MONTH}/${DAY}/${HOUR}/${MINUTE}");
    let template = UriTemplate::new(template);
    let flag = of["done_flag"].as_str().unwrap_or("_SUCCESS");
    let flag = if flag.is_empty() { String::new() } else { format!("/{flag}") };

    let mut checks = 0;
    let exists = |at: Instant| -> Result<bool, ()> {
        checks += 1;
        Ok(existing.contains(format!("{}{flag}", template.fill(at, utc)).as_str()))
    };
    let dataset = dataset(inputs)?;
    let (found, unresolved) = match what {
        "latest" | "latest_range" => {
            let from = instant("action_actual_time")?;
            let (start, end) = match what {
                "latest" => (number("n")?, number("n")?),
                _ => (number("start")?, number("end")?),
            };
            if start > 0 || end > 0 {
                return None;
            }
            let text = match what {
                "latest" => format!("${{coord:latest({start})}}"),
                _ => format!("${{coord:latestRange({start}, {end})}}"),
            };
            (dataset.latest(from, start, end, exists).ok()?, text)
        }
        _ => {
            let limit = number("limit")?;
            let (start, end) = match what {
                "future" => (number("n")?, number("n")?),
                _ => (number("start")?, number("end")?),
            };
            if start < 0 || end < 0 || limit <= 0 {
                return None;
            }
            let text = match what {
                "future" => format!("${{coord:future({start}, {limit})}}"),
                _ => format!("${{coord:futureRange({start}, {end}, {limit})}}"),
            };
            (dataset.future(instant("nominal_time")?, start, end, limit, exists).ok()?, text)
        }
    };
    let join = |list: &[Instant], write: &dyn Fn(Instant) -> String| {
        list.iter().map(|at| write(*at)).collect::<Vec<_>>().join("#")
    };
    Some(match found {
        Found::Nothing => json!({"value": "", "resolved": false, "resolved_path": null,
            "existence_checks": checks}),
        Found::Instances(list) => json!({"value": join(&list, &|at| utc.format(at)),
            "resolved": true, "resolved_path": join(&list, &|at| template.fill(at, utc)),
            "existence_checks": checks}),
        Found::Missing(list) => {
            let path: String = list.iter().map(|at| template.fill(*at, utc) + "#").collect();
            let path = if path.is_empty() { Value::Null } else { json!(path) };
            json!({"value": unresolved, "resolved": false, "resolved_path": path,
                "existence_checks": checks})
        }
    })
}

fn unit(name: &str) -> Option<Unit> {
    Unit::from_name(name)
}

fn dataset(inputs: &Value) -> Option<Dataset> {
    let of = &inputs["dataset"];
    let utc = ProcessingZone::UTC;
    Some(Dataset::new(
        utc.parse(of["initial_instance"].as_str()?).ok()?,
        of["frequency"].as_i64()?,
        unit(of["unit"].as_str()?)?,
        EndOf::from_name(of["end_of_duration"].as_str().unwrap_or("NONE"))?,
        Zone::from_id(of["timezone"].as_str()?).ok()?,
        WeekStart::Sunday,
    ))
}

fn schedule(inputs: &Value, processing: ProcessingZone) -> Option<Schedule> {
    let frequency = match inputs["unit"].as_str()? {
        "CRON" => Frequency::Cron(Cron::parse(inputs["frequency"].as_str()?).ok()?),
        name => Frequency::Every {
            count: inputs["frequency"].as_i64()?,
            unit: unit(name)?,
            end_of: EndOf::from_name(inputs["end_of_duration"].as_str().unwrap_or("NONE"))?,
        },
    };
    Some(Schedule {
        start: processing.parse(inputs["start"].as_str()?).ok()?,
        end: processing.parse(inputs["end"].as_str()?).ok()?,
        frequency,
        zone: Zone::from_id(inputs["timezone"].as_str()?).ok()?,
        processing,
        week: WeekStart::Sunday,
    })
}

const ZONES: [&str; 10] = [
    "UTC",
    "America/Los_Angeles",
    "Europe/Paris",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Europe/Dublin",
    "Africa/Casablanca",
    "GMT+05:30",
];

fn zones() -> impl Strategy<Value = Zone> {
    proptest::sample::select(&ZONES[..]).prop_map(|id| Zone::from_id(id).expect("a known zone"))
}

fn instants() -> impl Strategy<Value = Instant> {
    (0_i64..2_500_000_000).prop_map(|seconds| Instant(seconds / 60 * 60))
}

fn units() -> impl Strategy<Value = Unit> {
    let all = [Unit::Minute, Unit::Hour, Unit::Day, Unit::Week, Unit::Month, Unit::Year];
    proptest::sample::select(all.to_vec())
}

fn cron_texts() -> impl Strategy<Value = String> {
    let minute = proptest::sample::select(vec!["0", "*/7", "5-50/9", "59", "50-10", "1,2,30"]);
    let hour = proptest::sample::select(vec!["0", "*", "22-2", "*/5", "3,17", "23"]);
    let day =
        proptest::sample::select(vec!["?", "*", "31", "15W", "L", "LW", "L-30", "1-7", "31W"]);
    let month = proptest::sample::select(vec!["*", "2", "4,6", "NOV-FEB", "*/5"]);
    let weekday = proptest::sample::select(vec!["?", "*", "MON-FRI", "6L", "6#3", "2,4", "L"]);
    (minute, hour, day, month, weekday).prop_map(|(a, b, c, d, e)| format!("{a} {b} {c} {d} {e}"))
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(instant in instants(), minutes in -1439_i32..1440) {
        let sign = if minutes < 0 { '-' } else { '+' };
        let id = format!("GMT{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60);
        for zone in [ProcessingZone::UTC, ProcessingZone::from_id(&id).unwrap()] {
            prop_assert_eq!(zone.parse(&zone.format(instant)), Ok(instant));
        }
    }

    #[test]
    fn reading_never_panics(text in ".{0,40}", date in "[0-9]{1,12}-[0-9]{1,3}-[0-9]{1,3}T[0-9]{1,3}:[0-9]{1,3}Z") {
        let _ = ProcessingZone::UTC.parse(&text);
        let _ = ProcessingZone::UTC.parse(&date);
        let _ = Zone::from_id(&text);
        let _ = Cron::parse(&text);
        let _ = format_time(Instant(0), &text, ProcessingZone::UTC);
    }

    #[test]
    fn adding_nothing_changes_nothing(instant in instants(), zone in zones(), unit in units()) {
        let same = add(instant, unit, 0, &zone);
        // Adding months goes through the local time, which occurs twice in an overlap; the later one is taken.
        if zone.gap_or_overlap(instant).is_none() || !matches!(unit, Unit::Month | Unit::Year) {
            prop_assert_eq!(same, instant);
        }
    }

    #[test]
    fn a_day_is_a_day_to_within_its_clock_change(instant in instants(), zone in zones(), n in -800_i64..800) {
        let moved = add(instant, Unit::Day, n, &zone);
        let plain = instant.plus_seconds(n * 86_400);
        // The local time is kept, except near a clock change if that would be another day.
        let kept = zone.offset_seconds(instant) - zone.offset_seconds(plain);
        let by = moved.0 - plain.0;
        let next = zone.next_change(plain.plus_seconds(-2 * 86_400));
        if next.is_none_or(|(next, _)| next > plain.plus_seconds(2 * 86_400)) {
            prop_assert_eq!(by, kept);
        }
        prop_assert!(by == 0 || by == kept);
        prop_assert_eq!(add(instant, Unit::Week, n, &zone), add(instant, Unit::Day, 7 * n, &zone));
    }

    #[test]
    fn fixed_zones_know_no_exceptions(instant in instants(), n in -500_i64..500) {
        let zone = Zone::from_id("GMT+05:30").unwrap();
        prop_assert_eq!(add(instant, Unit::Day, n, &zone), instant.plus_seconds(n * 86_400));
        let there = add(instant, Unit::Month, n, &zone);
        prop_assert!(add(there, Unit::Month, -n, &zone) <= instant);
    }

    #[test]
    fn adding_stays_in_bounds(seconds in any::<i64>(), n in any::<i64>(), zone in zones(), unit in units()) {
        let moved = add(Instant(seconds.clamp(Instant::MIN.0, Instant::MAX.0)), unit, n, &zone);
        prop_assert!(moved >= Instant::MIN && moved <= Instant::MAX);
    }

    #[test]
    fn ends_lie_ahead_and_end_at_midnight(instant in instants(), zone in zones()) {
        for end in [EndOf::Day, EndOf::Week, EndOf::Month] {
            let moved = end_of(instant, end, &zone, WeekStart::Monday);
            prop_assert!(moved > instant || zone.id() == "Pacific/Apia");
            prop_assert!(moved.0 - instant.0 <= 33 * 86_400);
        }
    }

    #[test]
    fn nominal_times_do_not_depend_on_where_runs_end(
        start in instants(), zone in zones(), unit in units(), count in 1_i64..40, window in 1_i64..400_000,
    ) {
        let end = start.plus_seconds(400 * 86_400);
        let frequency = Frequency::Every { count, unit, end_of: EndOf::None };
        let processing = ProcessingZone::UTC;
        let schedule = Schedule { start, end, frequency, zone, processing, week: WeekStart::Sunday };
        let whole: Vec<_> = schedule.times().take(200).collect();
        let mut pieces = Vec::new();
        let mut from = None;
        while pieces.len() < whole.len() {
            let begin = from.unwrap_or(start);
            let mut run = schedule.run(from, pieces.len() as i64, begin.plus_seconds(window), None);
            pieces.extend(run.by_ref());
            from = run.upcoming().ok();
        }
        pieces.truncate(whole.len());
        prop_assert_eq!(pieces, whole);
    }

    #[test]
    fn skipping_is_iterating(start in instants(), count in 1_i64..5000, ahead in 0_i64..50_000_000) {
        let frequency = Frequency::Every { count, unit: Unit::Minute, end_of: EndOf::None };
        let schedule = Schedule {
            start, end: start.plus_seconds(60_000_000), frequency, zone: Zone::utc(),
            processing: ProcessingZone::UTC, week: WeekStart::Sunday,
        };
        let to = start.plus_seconds(ahead);
        let mut skipped = schedule.times();
        skipped.skip_to(to);
        prop_assert_eq!(skipped.next(), schedule.times().find(|(_, at)| *at >= to));
    }

    #[test]
    fn cron_fires_forward_and_on_its_minute(text in cron_texts(), start in instants()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let mut at = start;
        for _ in 0..20 {
            let Ok(next) = cron.next_after(at, ProcessingZone::UTC) else { break };
            prop_assert!(next > at);
            prop_assert_eq!(next.0 % 60, 0);
            // There is no other time in between: from a second before, the same time is found.
            prop_assert_eq!(cron.next_after(next.plus_seconds(-1), ProcessingZone::UTC), Ok(next));
            at = next;
        }
    }

    #[test]
    fn cron_in_one_run_is_cron_by_search(text in cron_texts(), start in instants()) {
        let Ok(cron) = Cron::parse(&text) else { return Ok(()) };
        let schedule = Schedule {
            start, end: Instant::MAX, frequency: Frequency::Cron(cron.clone()), zone: Zone::utc(),
            processing: ProcessingZone::UTC, week: WeekStart::Sunday,
        };
        let mut at = start.plus_minutes(-1);
        for (_, nominal) in schedule.times().take(60) {
            at = cron.next_after(at, ProcessingZone::UTC).unwrap();
            prop_assert_eq!(nominal, at);
        }
    }

    #[test]
    fn the_current_instance_is_at_or_before_in_fixed_zones(
        initial in instants(), at in instants(), unit in units(), frequency in 1_i64..50,
    ) {
        let dataset = Dataset::new(initial, frequency, unit, EndOf::None, Zone::utc(), WeekStart::Sunday);
        match dataset.current(at) {
            None => prop_assert!(at < initial),
            Some((current, number)) => {
                prop_assert!(current <= at);
                prop_assert!(dataset.instance(number + 1) > at);
                if !matches!(unit, Unit::Month | Unit::Year) {
                    prop_assert_eq!(dataset.current_n(at, 0), Some(current));
                    prop_assert_eq!(dataset.offset(at, 0, Unit::Minute), Some(current));
                }
            }
        }
    }

    #[test]
    fn ranges_are_newest_first_and_whole(initial in instants(), ahead in 0_i64..5_000_000, start in -30_i64..5, more in 0_i64..30) {
        let dataset = Dataset::new(initial, 60, Unit::Minute, EndOf::None, Zone::utc(), WeekStart::Sunday);
        let nominal = initial.plus_seconds(ahead);
        let range = dataset.current_range(nominal, start, start + more).unwrap();
        prop_assert!(range.windows(2).all(|pair| pair[0].0 - pair[1].0 == 3600));
        prop_assert!(range.len() as i64 <= more + 1);
        let single: Vec<_> = (start..=start + more).rev().filter_map(|n| dataset.current_n(nominal, n)).collect();
        prop_assert_eq!(range, single);
    }
}
