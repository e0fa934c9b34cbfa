//! Instants, and their text form on the server.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::calendar::{Civil, civil_of_days, days_of_civil};

/// A point in time, in seconds since 1970-01-01T00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Instant(pub i64);

impl Instant {
    /// 0001-01-03T00:00Z: leaves room for the offset of any zone.
    pub const MIN: Instant = Instant(-62_135_424_000);
    /// 9999-12-29T00:00Z.
    pub const MAX: Instant = Instant(253_402_041_600);

    /// Returns the instant that many seconds later, within the supported years.
    pub fn plus_seconds(self, seconds: i64) -> Instant {
        Instant(self.0.saturating_add(seconds)).clamped()
    }

    /// Returns the instant that many minutes later.
    pub fn plus_minutes(self, minutes: i64) -> Instant {
        self.plus_seconds(minutes.saturating_mul(60))
    }

    /// Returns the milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0 * 1000
    }

    /// Returns the instant of a number of milliseconds since 1970; fractions of a second are dropped.
    pub fn from_millis(millis: i64) -> Instant {
        Instant(millis.div_euclid(1000)).clamped()
    }

    pub(super) fn clamped(self) -> Instant {
        self.clamp(Instant::MIN, Instant::MAX)
    }
}

/// 10000-01-01T00:00Z, plus a day for zones to the west.
const YEAR_10000: i64 = 253_402_300_800 + 86_400;

/// The zone in which a server parses and formats instants: UTC, or a fixed offset. It never has clock changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessingZone {
    /// Minutes east of UTC, or none for UTC itself, which is written `Z`.
    offset_minutes: Option<i32>,
}

impl Default for ProcessingZone {
    fn default() -> Self {
        ProcessingZone::UTC
    }
}

impl ProcessingZone {
    /// The server's default.
    pub const UTC: ProcessingZone = ProcessingZone { offset_minutes: None };

    /// Parses a value of `oozie.processing.timezone`: `UTC` or `GMT±HHMM`; a server does not start with any other.
    pub fn from_id(id: &str) -> Option<ProcessingZone> {
        if id == "UTC" {
            return Some(ProcessingZone::UTC);
        }

        let rest = id.strip_prefix("GMT")?.as_bytes();
        let (sign, digits) = match rest {
            [b'+', digits @ ..] => (1, digits),
            [b'-', digits @ ..] => (-1, digits),
            _ => return None,
        };
        if digits.len() != 4 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let two = |at: usize| i32::from(digits[at] - b'0') * 10 + i32::from(digits[at + 1] - b'0');
        // Java treats an offset that is not a valid time of day as GMT.
        let minutes = if two(0) < 24 && two(2) < 60 { sign * (two(0) * 60 + two(2)) } else { 0 };
        Some(ProcessingZone { offset_minutes: Some(minutes) })
    }

    /// Minutes east of UTC.
    pub fn offset_minutes(self) -> i32 {
        self.offset_minutes.unwrap_or(0)
    }

    /// Returns its id: `UTC` or `GMT±HHMM`.
    pub fn id(self) -> String {
        match self.offset_minutes {
            None => "UTC".to_owned(),
            Some(_) => format!("GMT{}", self.suffix()),
        }
    }

    /// Returns the suffix of each instant: `Z` or `±HHMM`.
    pub fn suffix(self) -> String {
        match self.offset_minutes {
            None => "Z".to_owned(),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                format!("{sign}{:02}{:02}", minutes.abs() / 60, minutes.abs() % 60)
            }
        }
    }

    /// Parses `yyyy-MM-ddTHH:mm` with the suffix of this zone and no other.
    ///
    /// Surrounding blanks are dropped, and fields may be of any width and be preceded by blanks, as in Java's parser;
    /// each is checked for its range, so that 24:00 is refused although the published specification uses it.
    pub fn parse(self, text: &str) -> Result<Instant, NotAnInstant> {
        let instant = self.parse_any_year(text)?;
        if instant.0 >= YEAR_10000 {
            return Err(NotAnInstant::Range);
        }
        Ok(instant.clamped())
    }

    /// Parses an instant whose year may have any width, for callers that only format it again: calendar arithmetic does
    /// not support such years.
    pub fn parse_any_year(self, text: &str) -> Result<Instant, NotAnInstant> {
        let usual = if self.offset_minutes.is_none() { usual(text.as_bytes()) } else { None };
        let [year, month, day, hour, minute] = match usual {
            Some(fields) => fields,
            None => self.fields(text)?,
        };
        if !(1..=292_278_993).contains(&year)
            || !(1..=12).contains(&month)
            || hour > 23
            || minute > 59
        {
            return Err(NotAnInstant::Range);
        }
        let civil = Civil { year, month: month as u8, day: 1 };
        if day < 1 || day > i64::from(hybrid_month_length(civil)) {
            return Err(NotAnInstant::Range);
        }
        let days = hybrid_days(Civil { day: day as u8, ..civil });
        let local = days * 86_400 + hour * 3600 + minute * 60;
        Ok(Instant(local - i64::from(self.offset_minutes()) * 60))
    }

    /// Returns year, month, day, hour and minute, of any width.
    fn fields(self, text: &str) -> Result<[i64; 5], NotAnInstant> {
        let trimmed = text.trim_matches(|character: char| character <= ' ');
        let mut rest = trimmed.as_bytes();
        let year = number(&mut rest)?;
        literal(&mut rest, b"-")?;
        let month = number(&mut rest)?;
        literal(&mut rest, b"-")?;
        let day = number(&mut rest)?;
        literal(&mut rest, b"T")?;
        let hour = number(&mut rest)?;
        literal(&mut rest, b":")?;
        let minute = number(&mut rest)?;
        match self.offset_minutes {
            None => literal(&mut rest, b"Z")?,
            Some(_) => literal(&mut rest, self.suffix().as_bytes())?,
        }
        if !rest.is_empty() {
            return Err(NotAnInstant::Form);
        }
        Ok([year, month, day, hour, minute])
    }

    /// Formats an instant as the server does.
    pub fn format(self, instant: Instant) -> String {
        let mut text = String::with_capacity(22);
        self.write(instant, &mut text);
        text
    }

    /// Appends a formatted instant to a text.
    pub fn write(self, instant: Instant, text: &mut String) {
        let local = self.local_seconds(instant);
        let civil = civil_of_hybrid_days(local.div_euclid(86_400));
        let minute = local.rem_euclid(86_400) / 60;
        let (year, month, day) = (civil.year, civil.month, civil.day);
        let (hour, minute) = ((minute / 60) as u8, (minute % 60) as u8);
        let (tens, ones) = (|number: u8| b'0' + number / 10, |number: u8| b'0' + number % 10);
        if (0..10_000).contains(&year) {
            let (century, of_century) = ((year / 100) as u8, (year % 100) as u8);
            #[rustfmt::skip]
            let stamp = [
                tens(century), ones(century), tens(of_century), ones(of_century),
                b'-', tens(month), ones(month), b'-', tens(day), ones(day),
                b'T', tens(hour), ones(hour), b':', tens(minute), ones(minute),
            ];
            text.push_str(std::str::from_utf8(&stamp).expect("digits are text"));
        } else {
            push_number(text, year, 4);
            for (sign, number) in [('-', month), ('-', day), ('T', hour), (':', minute)] {
                text.push(sign);
                push_number(text, i64::from(number), 2);
            }
        }
        match self.offset_minutes {
            None => text.push('Z'),
            Some(_) => text.push_str(&self.suffix()),
        }
    }

    /// Returns the year of an instant in this zone, and its month, day, hour and minute.
    pub(crate) fn date_parts(self, instant: Instant) -> (i64, [i64; 4]) {
        let local = self.local_seconds(instant);
        let civil = civil_of_hybrid_days(local.div_euclid(86_400));
        let minute = local.rem_euclid(86_400) / 60;
        (civil.year, [i64::from(civil.month), i64::from(civil.day), minute / 60, minute % 60])
    }

    pub(super) fn local_seconds(self, instant: Instant) -> i64 {
        instant.0 + i64::from(self.offset_minutes()) * 60
    }
}

/// Appends a number with at least `digits` digits; a sign counts as one of them.
pub(crate) fn push_number(text: &mut String, number: i64, digits: usize) {
    match (number, digits) {
        (0..100, 2) => {
            let number = number as u8;
            text.push((b'0' + number / 10) as char);
            text.push((b'0' + number % 10) as char);
        }
        (1000..10_000, ..=4) => {
            let number = number as u16;
            for digit in [number / 1000, number / 100 % 10, number / 10 % 10, number % 10] {
                text.push((b'0' + digit as u8) as char);
            }
        }
        _ => {
            let sign = if number < 0 { "-" } else { "" };
            let plain = number.unsigned_abs().to_string();
            text.push_str(sign);
            // Not a format width, since a pattern may ask for more digits than that permits.
            let zeros = digits.saturating_sub(sign.len() + plain.len());
            text.extend(std::iter::repeat_n('0', zeros));
            text.push_str(&plain);
        }
    }
}

/// Reasons why a text is not an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAnInstant {
    /// It does not have the right form.
    Form,
    /// A field is out of range: month 13, 24:00, 30 February.
    Range,
}

impl fmt::Display for NotAnInstant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            NotAnInstant::Form => "not of the form `yyyy-MM-ddTHH:mmZ`",
            NotAnInstant::Range => "no such day or time of day",
        })
    }
}

impl std::error::Error for NotAnInstant {}

/// Returns the fields of an instant in UTC in the server's format, with a year of four digits.
fn usual(text: &[u8]) -> Option<[i64; 5]> {
    #[rustfmt::skip]
    let &[
        y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2,
        b'T', h1, h2, b':', n1, n2, b'Z',
    ] = text else {
        return None;
    };
    let digits = [y1, y2, y3, y4, m1, m2, d1, d2, h1, h2, n1, n2];
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let two = |tens: u8, ones: u8| i64::from((tens - b'0') * 10 + (ones - b'0'));
    Some([two(y1, y2) * 100 + two(y3, y4), two(m1, m2), two(d1, d2), two(h1, h2), two(n1, n2)])
}

fn number(rest: &mut &[u8]) -> Result<i64, NotAnInstant> {
    while let [b' ' | b'\t', behind @ ..] = rest {
        *rest = behind;
    }
    let mut number = None;
    while let [digit @ b'0'..=b'9', behind @ ..] = rest {
        // A number with more digits than any instant stays out of range.
        let before = number.unwrap_or(0).min(1_000_000_000);
        number = Some(before * 10 + i64::from(digit - b'0'));
        *rest = behind;
    }
    match number {
        None => Err(NotAnInstant::Form),
        Some(number) if number > 999_999_999 => Err(NotAnInstant::Range),
        Some(number) => Ok(number),
    }
}

fn literal(rest: &mut &[u8], expected: &[u8]) -> Result<(), NotAnInstant> {
    *rest = rest.strip_prefix(expected).ok_or(NotAnInstant::Form)?;
    Ok(())
}

/// The first day of the Gregorian calendar in Java; before it the Julian one applies.
const GREGORIAN_FROM: i64 = -141_427;

fn hybrid_days(civil: Civil) -> i64 {
    let days = days_of_civil(civil.year, i64::from(civil.month), i64::from(civil.day));
    if days >= GREGORIAN_FROM { days } else { julian_days(civil) }
}

fn hybrid_month_length(civil: Civil) -> u8 {
    let julian_leap = civil.year < 1583 && civil.year % 4 == 0;
    match (civil.month, julian_leap) {
        (2, true) => 29,
        _ => super::calendar::month_length(civil.year, i64::from(civil.month)) as u8,
    }
}

/// Returns the days since 1970 of a date of the Julian calendar.
fn julian_days(civil: Civil) -> i64 {
    let (year, month) = if civil.month <= 2 {
        (civil.year - 1, i64::from(civil.month) + 9)
    } else {
        (civil.year, i64::from(civil.month) - 3)
    };
    let day_of_year = (153 * month + 2) / 5 + i64::from(civil.day) - 1;
    year.div_euclid(4) * 1461 + year.rem_euclid(4) * 365 + day_of_year - 719_470
}

pub(super) fn civil_of_hybrid_days(days: i64) -> Civil {
    if days >= GREGORIAN_FROM {
        return civil_of_days(days);
    }

    let shifted = days + 719_470;
    let of_cycle = shifted.rem_euclid(1461);
    let year_of_cycle = (of_cycle / 365).min(3);
    let day_of_year = of_cycle - year_of_cycle * 365;
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = shifted.div_euclid(1461) * 4 + year_of_cycle;
    if month < 10 {
        Civil { year, month: (month + 3) as u8, day: day as u8 }
    } else {
        Civil { year: year + 1, month: (month - 9) as u8, day: day as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_form_is_read_as_any_other() {
        let (utc, east) = (ProcessingZone::UTC, ProcessingZone::from_id("GMT+0530"));
        let east = east.expect("an offset");
        for year in ["0000", "0001", "1500", "1583", "1900", "2000", "2023", "2024", "9999", "20x4"]
        {
            for month in ["00", "01", "02", "04", "10", "12", "13", "1:"] {
                for day in ["00", "01", "05", "10", "28", "29", "30", "31", "32"] {
                    for time in ["00:00", "09:59", "23:59", "24:00", "12:60", "1 :00"] {
                        let text = format!("{year}-{month}-{day}T{time}Z");
                        // The parser drops a leading blank, but the fast path does not accept it.
                        let other = utc.parse_any_year(&format!(" {text}"));
                        assert_eq!(utc.parse_any_year(&text), other, "{text}");
                        assert_eq!(east.parse_any_year(&text), Err(NotAnInstant::Form), "{text}");
                        if let Ok(instant) = other {
                            assert_eq!(utc.format(instant), text);
                        }
                    }
                }
            }
        }
        assert_eq!(
            utc.parse_any_year("12024-01-01T00:00Z").map(|at| utc.format(at)).as_deref(),
            Ok("12024-01-01T00:00Z")
        );
        assert_eq!(utc.parse_any_year("1234567890-01-01T00:00Z"), Err(NotAnInstant::Range));
    }
}
