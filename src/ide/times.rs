//! The schedule of a coordinator: its frequency in words, and its next nominal times.

use super::Snapshot;
use super::document::{Document, Kind};
use crate::check::{FileKind, Input, submit_coordinator};
use crate::syntax::properties::Submission;
use ankus_lang::coordinator::Definition;
use ankus_lang::time::{Cron, EndOf, Frequency, Instant};

/// A coordinator as its server would store it, with the properties of its first known caller.
pub(super) fn submitted(snapshot: &Snapshot, document: &Document) -> Option<Definition> {
    if document.kind() != Kind::Coordinator {
        return None;
    }
    let mut submission = Submission::default();
    if let Some(caller) = snapshot.callers.of(document.path()).first() {
        for (name, value) in caller.values.iter() {
            submission.set(name, value);
        }
    }
    let input = Input {
        settings: &snapshot.settings,
        files: &snapshot.files,
        submission: &submission,
        user: "someone",
        now: snapshot.now,
        ..Input::of(document.source(), FileKind::Coordinator)
    };
    submit_coordinator(&input).outcome.ok()
}

/// The next nominal times: from now if the time is known, otherwise from the start.
pub(super) fn next(snapshot: &Snapshot, definition: &Definition, count: usize) -> Vec<Instant> {
    let mut times = definition.schedule.times();
    if let Some(now) = snapshot.now {
        times.skip_to(now);
    }
    times.take(count).map(|(_, time)| time).collect()
}

/// Describes a frequency.
pub(super) fn words(frequency: &Frequency) -> String {
    match frequency {
        Frequency::Cron(expression) => cron(expression),
        Frequency::Every { count, unit, end_of } => {
            let unit = unit.name().to_ascii_lowercase();
            let every = match count {
                1 => format!("every {unit}"),
                count => format!("every {count} {unit}s"),
            };
            match end_of {
                EndOf::None => every,
                other => {
                    let period = other.name().to_ascii_lowercase().replace("end_of_", "");
                    format!("{every}, from the end of the {period} on")
                }
            }
        }
    }
}

const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Describes a cron expression.
fn cron(expression: &Cron) -> String {
    let fields: Vec<&str> = expression.text().split(' ').collect();
    let [minute, hour, day, month, weekday, ..] = fields.as_slice() else {
        return format!("cron `{}`", expression.text());
    };
    let number = |text: &str| text.parse::<u32>().ok();
    let is_all = |text: &str| matches!(text, "*" | "?");
    let time = match (number(minute), number(hour)) {
        (Some(minute), Some(hour)) => format!("at {hour:02}:{minute:02}"),
        (Some(minute), None) if is_all(hour) => format!("at minute {minute} of every hour"),
        _ if is_all(minute) && is_all(hour) => "every minute".to_owned(),
        _ if is_all(hour) => format!("at {} of every hour", part(minute, "minute", &[])),
        _ => format!("at {} of {}", part(minute, "minute", &[]), part(hour, "hour", &[])),
    };
    let mut days = Vec::new();
    if !is_all(day) {
        days.push(format!("on {} of the month", part(day, "day", &[])));
    }
    if !is_all(weekday) {
        days.push(format!("on {}", part(weekday, "day of the week", &DAYS)));
    }
    let mut words = time;
    if !days.is_empty() {
        words += &format!(" {}", days.join(" or "));
    } else if number(hour).is_some() {
        words += " every day";
    }
    if !is_all(month) {
        words += &format!(" in {}", part(month, "month", &MONTHS));
    }
    words
}

/// Describes one field: its names if it has some, otherwise the field as written.
fn part(text: &str, unit: &str, names: &[&str]) -> String {
    let named = |one: &str| match one.parse::<usize>() {
        Ok(at) => names.get(at.wrapping_sub(1)).map(|name| (*name).to_owned()),
        Err(_) => {
            let names = names.iter().filter(|name| one.len() == 3 && name.len() >= 3);
            let mut names = names.filter(|name| name[..3].eq_ignore_ascii_case(one));
            names.next().map(|name| (*name).to_owned())
        }
    };
    let piece = |piece: &str| match piece.split_once('-') {
        Some((from, to)) => match (named(from), named(to)) {
            (Some(from), Some(to)) => Some(format!("{from} to {to}")),
            _ => None,
        },
        None => named(piece),
    };
    let pieces: Option<Vec<String>> = text.split(',').map(piece).collect();
    if let Some(pieces) = pieces.filter(|_| !names.is_empty()) {
        return pieces.join(", ");
    }
    if let Some((from, step)) = text.split_once('/') {
        return match from {
            "*" | "0" | "" => format!("every {step} {unit}s"),
            from => format!("every {step} {unit}s from {from} on"),
        };
    }
    match text.contains([',', '-']) {
        true => format!("{unit}s {text}"),
        false => format!("{unit} {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_is_told_in_words() {
        let of = |text: &str| cron(&Cron::parse(text).expect("a cron expression"));
        assert_eq!(of("30 2 * * *"), "at 02:30 every day");
        assert_eq!(of("0 * * * *"), "at minute 0 of every hour");
        assert_eq!(of("0/15 * * * *"), "at every 15 minutes of every hour");
        assert_eq!(of("0 6 * * 2-6"), "at 06:00 on Monday to Friday");
        assert_eq!(of("0 6 * * MON,7"), "at 06:00 on Monday, Saturday");
        assert_eq!(of("0 0 1 1,7 *"), "at 00:00 on day 1 of the month in January, July");
        assert_eq!(of("0 0 L * *"), "at 00:00 on day L of the month");
    }
}
