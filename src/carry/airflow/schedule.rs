//! The schedule of a coordinator as a timetable of Airflow.
//!
//! A cron expression is used if it yields the same instants. Every other schedule is an `OozieTimetable` of
//! `oozie_airflow.py`, which counts from the start as the server does.

use super::python::Value;
use ankus_lang::coordinator::Definition;
use ankus_lang::time::{Cron, EndOf, Frequency, Instant, ProcessingZone, Schedule, Unit, Zone};

/// A timetable.
#[derive(Clone, Debug)]
pub struct Timetable {
    /// The argument `schedule`.
    pub value: Value,
    /// Whether it is assigned to a variable, because it is an `OozieTimetable` or other code asks it for the next run.
    pub is_own: bool,
    /// The first nominal time.
    pub first: Instant,
    /// How it differs from the schedule of the coordinator, if it does.
    pub differs: Option<String>,
}

/// Returns the timetable for a coordinator, or why there is none.
pub fn timetable(definition: &Definition, wants_own: bool) -> Result<Timetable, String> {
    let schedule = &definition.schedule;
    let first = schedule.times().next().map(|(_, nominal)| nominal);
    let first =
        first.ok_or_else(|| "it has no nominal time between its start and its end".to_owned())?;
    match &schedule.frequency {
        Frequency::Cron(cron) => {
            let found = of_cron(schedule, cron, first)?;
            Ok(Timetable { is_own: wants_own, ..found })
        }
        Frequency::Every { count, unit, end_of } => {
            let is_as_in_utc = is_as_in_utc(&schedule.zone, *unit, *end_of);
            let zone = match is_as_in_utc {
                true => "UTC".to_owned(),
                false => zone_of(&schedule.zone)?,
            };
            let usual = usual(schedule, *count, *unit, *end_of, first).filter(|_| !wants_own);
            if let Some((cron, in_zone)) = usual {
                let zone = if in_zone { zone } else { "UTC".to_owned() };
                return Ok(Timetable {
                    value: cron_call(&cron, &zone),
                    is_own: false,
                    first,
                    differs: None,
                });
            }
            if *count < 1 {
                return Err(format!("Airflow has no schedule with a frequency of {count}"));
            }
            Ok(Timetable {
                value: own(schedule, *count, *unit, *end_of, &zone),
                is_own: true,
                first,
                differs: None,
            })
        }
    }
}

fn cron_call(cron: &str, zone: &str) -> Value {
    Value::code(format!("CronTriggerTimetable(\"{cron}\", timezone=\"{zone}\")"))
}

fn own(schedule: &Schedule, count: i64, unit: Unit, end_of: EndOf, zone: &str) -> Value {
    let mut given = vec![
        ("start".to_owned(), Value::text(written(schedule.start))),
        ("every".to_owned(), Value::code(count.to_string())),
        ("unit".to_owned(), Value::text(unit.name())),
        ("end".to_owned(), Value::text(written(schedule.end))),
    ];
    if zone != "UTC" {
        given.push(("timezone".to_owned(), Value::text(zone)));
    }
    if let Some(end_of) = period(end_of) {
        given.push(("end_of".to_owned(), Value::text(end_of)));
    }
    Value::Call("oozie.OozieTimetable".to_owned(), given)
}

/// Returns the name that the helpers use for the period of an end-of function.
pub fn period(end_of: EndOf) -> Option<&'static str> {
    Some(match end_of {
        EndOf::None => return None,
        EndOf::Day => "DAY",
        EndOf::Week => "WEEK",
        EndOf::Month => "MONTH",
    })
}

/// Formats an instant as Oozie does.
pub fn written(instant: Instant) -> String {
    let mut text = String::new();
    ProcessingZone::UTC.write(instant, &mut text);
    text
}

/// Returns an instant, plus `seconds`, as an argument of Airflow.
pub fn pendulum(instant: Instant, seconds: i64) -> Value {
    let [year, month, day, hour, minute] = parts(instant.plus_seconds(seconds), &Zone::utc());
    let rest = match seconds.rem_euclid(60) {
        0 => String::new(),
        seconds => format!(", {seconds}"),
    };
    Value::code(format!("pendulum.datetime({year}, {month}, {day}, {hour}, {minute}{rest})"))
}

/// Returns year, month, day, hour and minute of an instant in the local time of a zone.
fn parts(instant: Instant, zone: &Zone) -> [i64; 5] {
    let text = written(instant.plus_seconds(zone.offset_seconds(instant)));
    let mut numbers = text.split(['-', 'T', ':', 'Z']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}

/// Returns the name of a time zone in Python.
pub fn zone_of(zone: &Zone) -> Result<String, String> {
    if zone.is_fixed() && zone.offset_seconds(Instant(0)) == 0 {
        return Ok("UTC".to_owned());
    }
    let seconds = zone.offset_seconds(Instant(0));
    if zone.is_fixed() && seconds % 3600 == 0 {
        // The sign in these names is inverted.
        return Ok(format!("Etc/GMT{:+}", -seconds / 3600));
    }
    let name = zone.database_name().map(str::to_owned);
    name.ok_or_else(|| format!("Python has no zone for `{}`", zone.id()))
}

/// Whether steps of a unit in a zone are the same as in UTC: steps of fixed length in a zone without daylight saving
/// time.
pub(super) fn is_as_in_utc(zone: &Zone, unit: Unit, end_of: EndOf) -> bool {
    zone.is_fixed()
        && end_of == EndOf::None
        && matches!(unit, Unit::Minute | Unit::Hour | Unit::Day)
}

/// Returns a cron expression that yields the same instants, and whether it is evaluated in the coordinator's time zone.
pub(in crate::carry) fn usual(
    schedule: &Schedule,
    count: i64,
    unit: Unit,
    end_of: EndOf,
    first: Instant,
) -> Option<(String, bool)> {
    let utc = Zone::utc();
    let is_as_in_utc = is_as_in_utc(&schedule.zone, unit, end_of);
    let zone = if is_as_in_utc { &utc } else { &schedule.zone };
    let [_, _, _, hour, minute] = parts(first, &utc);
    if unit == Unit::Minute || unit == Unit::Hour {
        let minutes = if unit == Unit::Hour { count.checked_mul(60)? } else { count };
        if minutes > 0 && 60 % minutes == 0 {
            return Some((format!("{} * * * *", stepped(minute, minutes, 59)), false));
        }
        if minutes > 0 && minutes % 60 == 0 && 24 % (minutes / 60) == 0 {
            let hours = stepped(hour, minutes / 60, 23);
            return Some((format!("{minute} {hours} * * *"), false));
        }
        return None;
    }
    let is_utc = zone.is_fixed() && zone.offset_seconds(first) == 0;
    let [_, month, day, hour, minute] = parts(first, zone);
    // Local times that may occur twice or never, when clocks change, are left to `OozieTimetable`.
    if !is_utc && (zone.is_fixed() || !(4..23).contains(&hour)) {
        return None;
    }
    let at = format!("{minute} {hour}");
    let cron = match (unit, count, end_of) {
        (Unit::Day, 1, EndOf::None | EndOf::Day) => format!("{at} * * *"),
        (Unit::Day, 7, EndOf::None) | (Unit::Week, 1, EndOf::Week) => {
            // 1970-01-01 was a Thursday.
            let local = first.0 + zone.offset_seconds(first);
            format!("{at} * * {}", (local.div_euclid(86_400) + 4).rem_euclid(7))
        }
        (Unit::Month, 1, EndOf::Month) => format!("{at} 1 * *"),
        (Unit::Month, count, EndOf::None) if count > 0 && 12 % count == 0 && day <= 28 => {
            let months = match count {
                1 => "*".to_owned(),
                count => {
                    let mut months: Vec<i64> =
                        (0..12 / count).map(|n| (month - 1 + n * count) % 12 + 1).collect();
                    months.sort_unstable();
                    months.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
                }
            };
            format!("{at} {day} {months} *")
        }
        _ => return None,
    };
    Some((cron, !is_as_in_utc))
}

fn stepped(from: i64, step: i64, last: i64) -> String {
    match (step, from % step) {
        (1, _) => "*".to_owned(),
        (step, _) if step > last => from.to_string(),
        (step, 0) => format!("*/{step}"),
        (step, from) => format!("{from}-{last}/{step}"),
    }
}

fn of_cron(schedule: &Schedule, cron: &Cron, first: Instant) -> Result<Timetable, String> {
    let value = cron_call(&croniter(cron)?, "UTC");
    let differs = shift(schedule, cron).map(str::to_owned);
    Ok(Timetable { value, is_own: false, first, differs })
}

/// Returns how the runs of a server differ from the times of a cron expression, if they can. A server moves a run that
/// comes a day or more after the previous one by the difference between daylight saving then and at the start.
pub(in crate::carry) fn shift(schedule: &Schedule, cron: &Cron) -> Option<&'static str> {
    /// The number of times after which the search ends with a yes: about eleven years of hours.
    const MOST: usize = 100_000;
    const SHIFTED: &str = "a server shifts some runs by an hour while its clock differs from UTC by another amount than at the start";
    if schedule.zone.is_fixed() {
        return None;
    }
    let mut before = schedule.start.plus_minutes(-1);
    for _ in 0..MOST {
        let due = cron.next_after(before, schedule.processing).ok()?;
        if due >= schedule.end {
            return None;
        }
        if due.0 - before.0 >= 86_400 && schedule.cron_shift_seconds(due) != 0 {
            return Some(SHIFTED);
        }
        before = due;
    }
    Some(SHIFTED)
}

/// Converts a cron expression of Quartz to one of `croniter`, which also knows the last day of a month (`L`), and the
/// n-th and the last of a weekday in a month (`5#3`, `L5`).
pub(in crate::carry) fn croniter(cron: &Cron) -> Result<String, String> {
    let text = cron.text();
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else { return unix(cron) };
    let is_any = |field: &str| field == "*" || field == "?";
    let (day, weekday) = match (day, in_month(weekday)) {
        ("L", _) if is_any(weekday) => ("L", "*".to_owned()),
        (day, Some(weekday)) if is_any(day) => ("*", weekday),
        _ => return unix(cron),
    };
    let [minute, hour, _, month, _] = fields_of_unix(text, [minute, hour, "*", month, "*"])?;
    Ok([&minute, &hour, day, &month, &weekday].join(" "))
}

/// Converts the n-th or the last of a weekday in a month; a lone `L` is a Saturday.
fn in_month(weekday: &str) -> Option<String> {
    const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    // Sunday is 1 for Quartz, and 0 for cron.
    let number = |day: &str| {
        let named = DAYS.iter().position(|name| day.eq_ignore_ascii_case(name));
        named.or_else(|| {
            day.parse().ok().filter(|day| (1..=7).contains(day)).map(|day: usize| day - 1)
        })
    };
    if let Some((day, nth)) = weekday.split_once('#') {
        let is_nth = nth.parse().is_ok_and(|nth: u8| (1..=5).contains(&nth));
        return number(day).filter(|_| is_nth).map(|day| format!("{day}#{nth}"));
    }
    match weekday.strip_suffix('L')? {
        "" => Some("6".to_owned()),
        day => Some(format!("L{}", number(day)?)),
    }
}

/// Converts a cron expression of Quartz to one of Unix.
pub(in crate::carry) fn unix(cron: &Cron) -> Result<String, String> {
    let text = cron.text();
    let fields: Vec<&str> = text.split_whitespace().collect();
    let Ok(fields) = <[&str; 5]>::try_from(fields.as_slice()) else {
        return Err(format!("`{text}` does not have five fields"));
    };
    Ok(fields_of_unix(text, fields)?.join(" "))
}

fn fields_of_unix(text: &str, fields: [&str; 5]) -> Result<[String; 5], String> {
    let [minute, hour, day, month, weekday] = fields;
    let odd = |field: &str| {
        field.contains(['L', 'W', '#'])
            && !field.chars().all(|c| c.is_ascii_alphabetic() || c == ',' || c == '-')
    };
    if odd(day) || odd(weekday) || ["L", "LW"].contains(&day) || weekday == "L" {
        return Err(format!("cron reads `{text}` otherwise"));
    }
    let weekday: String = weekday
        .split_inclusive([',', '-'])
        .map(|part| {
            let digits = part.trim_end_matches([',', '-']);
            let rest = &part[digits.len()..];
            let (number, step) = digits.split_once('/').map_or((digits, ""), |(n, s)| (n, s));
            // Sunday is 1 for Quartz, and 0 for cron.
            let number =
                number.parse::<i64>().map_or_else(|_| number.to_owned(), |n| (n - 1).to_string());
            let step = if step.is_empty() { String::new() } else { format!("/{step}") };
            format!("{number}{step}{rest}")
        })
        .collect();
    let plain = |field: &str, last: &str| {
        let parts = field.split(',').map(|part| match part.split_once('/') {
            Some((from, step)) if from.parse::<u8>().is_ok() => format!("{from}-{last}/{step}"),
            _ => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join(",").replace('?', "*")
    };
    Ok([
        plain(minute, "59"),
        plain(hour, "23"),
        plain(day, "31"),
        plain(month, "12"),
        plain(&weekday, "6"),
    ])
}

/// Writes `?` for the day field that a cron expression of Oozie leaves open, as Quartz wants it.
pub(in crate::carry) fn quartz(cron: &Cron, reader: &str) -> Result<[String; 5], String> {
    let text = cron.text();
    let fields: Vec<&str> = text.split_whitespace().collect();
    let Ok([minute, hour, day, month, weekday]) = <[&str; 5]>::try_from(fields.as_slice()) else {
        return Err(format!("`{text}` does not have five fields"));
    };
    let is_any = |field: &str| field == "*" || field == "?";
    let (day, weekday) = match (is_any(day), is_any(weekday)) {
        (_, true) => (if day == "?" { "*" } else { day }, "?"),
        (true, false) => ("?", weekday),
        _ => {
            return Err(format!(
                "{reader} accepts days of the month or of the week, but `{text}` has both"
            ));
        }
    };
    Ok([minute, hour, day, month, weekday].map(str::to_owned))
}
