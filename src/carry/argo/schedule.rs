//! The schedule of a coordinator as the schedules of a `CronWorkflow`.

use crate::carry::airflow::schedule::{shift, unix, usual, zone_of};
use ankus_lang::coordinator::Definition;
use ankus_lang::time::{EndOf, Frequency, Instant, Unit};
use std::collections::BTreeMap;

/// Cron expressions in a time zone.
pub(in crate::carry) struct Times {
    /// Cron expressions, each of which starts runs.
    pub crons: Vec<String>,
    /// The time zone in which they are evaluated.
    pub zone: String,
    /// How these schedules differ from the coordinator's, beyond what differs for every coordinator.
    pub differs: Option<&'static str>,
}

/// Returns the schedules of a coordinator, or why there are none.
pub(in crate::carry) fn times(definition: &Definition) -> Result<Times, String> {
    let schedule = &definition.schedule;
    let first = schedule.times().next().map(|(_, nominal)| nominal);
    let first =
        first.ok_or_else(|| "it has no nominal time between its start and its end".to_owned())?;
    match &schedule.frequency {
        Frequency::Cron(cron) => Ok(Times {
            crons: vec![unix(cron)?],
            zone: "UTC".to_owned(),
            differs: shift(schedule, cron),
        }),
        Frequency::Every { count, unit, end_of } => {
            if let Some((cron, in_zone)) = usual(schedule, *count, *unit, *end_of, first) {
                let zone = if in_zone { zone_of(&schedule.zone)? } else { "UTC".to_owned() };
                return Ok(Times { crons: vec![cron], zone, differs: None });
            }
            let minutes = match unit {
                Unit::Minute => *count,
                Unit::Hour => count.saturating_mul(60),
                _ => 0,
            };
            let divides = minutes > 0 && 1440 % minutes == 0 && *end_of == EndOf::None;
            match divides {
                true => Ok(Times {
                    crons: of_day(first, minutes),
                    zone: "UTC".to_owned(),
                    differs: None,
                }),
                false => Err("no cron expressions match these times".to_owned()),
            }
        }
    }
}

/// Replaces names in a cron expression by numbers: the schema of a `CronWorkflow` accepts only numbers.
pub(super) fn in_numbers(cron: &str) -> String {
    const MONTHS: [&str; 12] =
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
    let mut text = cron.to_ascii_uppercase();
    for (at, name) in MONTHS.iter().enumerate() {
        text = text.replace(name, &(at + 1).to_string());
    }
    for (at, name) in DAYS.iter().enumerate() {
        text = text.replace(name, &at.to_string());
    }
    text
}

/// Returns cron expressions for evenly spaced times of a day, one for each minute of the hour that occurs.
fn of_day(first: Instant, every: i64) -> Vec<String> {
    let mut hours: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    let start = first.0.div_euclid(60).rem_euclid(every);
    for at in (start..1440).step_by(usize::try_from(every).unwrap_or(1440)) {
        hours.entry(at % 60).or_default().push((at / 60).to_string());
    }
    hours.into_iter().map(|(minute, hours)| format!("{minute} {} * * *", hours.join(","))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_numbers() {
        assert_eq!(in_numbers("30 4 * * MON-FRI"), "30 4 * * 1-5");
        assert_eq!(in_numbers("0 0 1 jan,DEC sun"), "0 0 1 1,12 0");
        assert_eq!(in_numbers("*/5 0-3 * * *"), "*/5 0-3 * * *");
    }
}
