//! Formats dates by patterns of Java's `SimpleDateFormat`, in English.

use std::fmt;

use super::calendar::{day_of_week, days_of_civil};
use super::instant::{civil_of_hybrid_days, push_number};
use super::{Instant, ProcessingZone};

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
const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Errors in a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// The letter has no meaning.
    Letter(char),
    /// A quote is not closed.
    Quote,
    /// `X` takes one to three letters.
    TooManyX,
    /// The formatted date would be too long.
    TooLong,
}

impl fmt::Display for PatternError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::Letter(letter) => write!(formatter, "`{letter}` means nothing in a date"),
            PatternError::Quote => formatter.write_str("a quote is not closed"),
            PatternError::TooManyX => formatter.write_str("`X` may occur at most three times"),
            PatternError::TooLong => formatter.write_str("the pattern is too long"),
        }
    }
}

impl std::error::Error for PatternError {}

/// Formats an instant by a pattern, in the zone of the server.
///
/// ```
/// use ankus_lang::time::{ProcessingZone, format_time};
///
/// let utc = ProcessingZone::UTC;
/// let instant = utc.parse("2009-09-08T23:59Z").unwrap();
/// assert_eq!(format_time(instant, "yyyyMMdd 'at' HH", utc).unwrap(), "20090908 at 23");
/// ```
pub fn format_time(
    instant: Instant,
    pattern: &str,
    zone: ProcessingZone,
) -> Result<String, PatternError> {
    if pattern.len() > 64 * 1024 {
        return Err(PatternError::TooLong);
    }

    let fields = Fields::of(instant, zone);
    let mut text = String::with_capacity(pattern.len() + 8);
    let bytes = pattern.as_bytes();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let start = at;
        at += 1;
        if first.is_ascii_alphabetic() {
            while bytes.get(at) == Some(&first) {
                at += 1;
            }
            fields.write(char::from(first), at - start, &mut text)?;
        } else if first != b'\'' {
            while bytes.get(at).is_some_and(|byte| *byte != b'\'' && !byte.is_ascii_alphabetic()) {
                at += 1;
            }
            text.push_str(&pattern[start..at]);
        } else if bytes.get(at) == Some(&b'\'') {
            text.push('\'');
            at += 1;
        } else {
            at += quoted(&pattern[at..], &mut text)?;
        }
    }
    Ok(text)
}

/// Appends quoted text up to the closing quote; returns the position after it. Two quotes stand for one.
fn quoted(pattern: &str, text: &mut String) -> Result<usize, PatternError> {
    let mut from = 0;
    loop {
        let end = from + pattern[from..].find('\'').ok_or(PatternError::Quote)?;
        text.push_str(&pattern[from..end]);
        from = end + 1;
        if !pattern[from..].starts_with('\'') {
            return Ok(from);
        }
        text.push('\'');
        from += 1;
    }
}

struct Fields {
    zone: ProcessingZone,
    days: i64,
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Fields {
    fn of(instant: Instant, zone: ProcessingZone) -> Fields {
        let local = zone.local_seconds(instant);
        let days = local.div_euclid(86_400);
        let second = local.rem_euclid(86_400);
        let civil = civil_of_hybrid_days(days);
        let (year, month, day) = (civil.year, i64::from(civil.month), i64::from(civil.day));
        Fields {
            zone,
            days,
            year,
            month,
            day,
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }

    fn day_of_year(&self) -> i64 {
        self.days - days_of_civil(self.year, 1, 1) + 1
    }

    /// Returns the day of the week; 1 is Sunday.
    fn day_of_week(&self) -> i64 {
        day_of_week(self.days)
    }

    fn write(&self, letter: char, count: usize, text: &mut String) -> Result<(), PatternError> {
        let half_day = self.hour % 12;
        match letter {
            'G' => text.push_str("AD"),
            'y' | 'Y' => {
                let year = if letter == 'y' { self.year } else { self.week_of_year().0 };
                match count {
                    2 => pad(text, year % 100, 2),
                    _ => pad(text, year, count),
                }
            }
            'M' | 'L' => {
                let name = MONTHS[(self.month - 1) as usize];
                match count {
                    1 | 2 => pad(text, self.month, count),
                    3 => text.push_str(&name[..3]),
                    _ => text.push_str(name),
                }
            }
            'w' => pad(text, self.week_of_year().1, count),
            'W' => pad(text, self.week_of_month(), count),
            'D' => pad(text, self.day_of_year(), count),
            'd' => pad(text, self.day, count),
            'F' => pad(text, (self.day - 1) / 7 + 1, count),
            'E' => {
                let name = DAYS[(self.day_of_week() - 1) as usize];
                text.push_str(if count > 3 { name } else { &name[..3] });
            }
            'u' => pad(text, (self.day_of_week() + 5) % 7 + 1, count),
            'a' => text.push_str(if self.hour < 12 { "AM" } else { "PM" }),
            'H' => pad(text, self.hour, count),
            'k' => pad(text, if self.hour == 0 { 24 } else { self.hour }, count),
            'K' => pad(text, half_day, count),
            'h' => pad(text, if half_day == 0 { 12 } else { half_day }, count),
            'm' => pad(text, self.minute, count),
            's' => pad(text, self.second, count),
            'S' => pad(text, 0, count),
            'z' => self.zone_name(count, text),
            'Z' => self.offset(text, true, false),
            'X' if self.zone.offset_minutes() == 0 && count <= 3 => text.push('Z'),
            'X' => match count {
                1 => {
                    let minutes = self.zone.offset_minutes();
                    text.push(if minutes < 0 { '-' } else { '+' });
                    pad(text, i64::from(minutes.abs() / 60), 2);
                }
                2 => self.offset(text, true, false),
                3 => self.offset(text, true, true),
                _ => return Err(PatternError::TooManyX),
            },
            other => return Err(PatternError::Letter(other)),
        }
        Ok(())
    }

    fn offset(&self, text: &mut String, minutes_too: bool, colon: bool) {
        let minutes = i64::from(self.zone.offset_minutes());
        text.push(if minutes < 0 { '-' } else { '+' });
        pad(text, minutes.abs() / 60, 2);
        if colon {
            text.push(':');
        }
        if minutes_too {
            pad(text, minutes.abs() % 60, 2);
        }
    }

    fn zone_name(&self, count: usize, text: &mut String) {
        if self.zone == ProcessingZone::UTC {
            text.push_str(if count > 3 { "Coordinated Universal Time" } else { "UTC" });
        } else {
            text.push_str("GMT");
            self.offset(text, true, true);
        }
    }

    /// Returns the week of the year. Weeks begin on Sunday, and the first is the one with the first of January.
    fn week_of_year(&self) -> (i64, i64) {
        let sunday = self.days - (self.day_of_week() - 1);
        let next = days_of_civil(self.year + 1, 1, 1);
        if sunday + 6 >= next {
            return (self.year + 1, 1);
        }
        let first = days_of_civil(self.year, 1, 1);
        let first_sunday = first - (day_of_week(first) - 1);
        (self.year, (sunday - first_sunday) / 7 + 1)
    }

    fn week_of_month(&self) -> i64 {
        let first = self.days - (self.day - 1);
        (self.day + day_of_week(first) - 2) / 7 + 1
    }
}

fn pad(text: &mut String, number: i64, width: usize) {
    push_number(text, number, width);
}
