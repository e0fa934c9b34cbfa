//! Cron expressions as the server accepts them: five fields, parsed and searched the way Quartz 2.3.2 does.
//!
//! The parser and the search follow Quartz step by step, because its results in edge cases (`31W` in a month of thirty
//! days, names cut after three letters, a lone `L` in the hours) follow only from the order of its steps.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::calendar::{civil_of_days, day_of_week, days_of_civil, month_length};
use super::{Instant, ProcessingZone};

/// Quartz's marker for `?`.
const NO_SPEC: u32 = 98;
/// Quartz's marker for a plain `*`.
const ALL_SPEC: u32 = 99;

/// A field, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CronField {
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12, or names.
    Month,
    /// 1 (Sunday) to 7, or names.
    DayOfWeek,
}

impl CronField {
    /// All fields, in the order they are written.
    pub const ALL: [CronField; 5] = [
        CronField::Minute,
        CronField::Hour,
        CronField::DayOfMonth,
        CronField::Month,
        CronField::DayOfWeek,
    ];

    /// Returns the name of the field, for messages.
    pub fn name(self) -> &'static str {
        match self {
            CronField::Minute => "minute",
            CronField::Hour => "hour",
            CronField::DayOfMonth => "day of month",
            CronField::Month => "month",
            CronField::DayOfWeek => "day of week",
        }
    }

    fn range(self) -> (i64, i64) {
        match self {
            CronField::Minute => (0, 59),
            CronField::Hour => (0, 23),
            CronField::DayOfMonth => (1, 31),
            CronField::Month => (1, 12),
            CronField::DayOfWeek => (1, 7),
        }
    }
}

/// Errors in a cron expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CronError {
    /// It does not have five fields separated by single blanks.
    FieldCount(usize),
    /// Both day fields are `?`.
    BothUnspecified,
    /// A field is invalid.
    Field {
        /// The field.
        field: CronField,
        /// The reason.
        message: String,
    },
}

impl fmt::Display for CronError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CronError::FieldCount(count) => {
                write!(formatter, "five fields separated by single spaces are needed, not {count}")
            }
            CronError::BothUnspecified => {
                formatter.write_str("day of month and day of week cannot both be `?`")
            }
            CronError::Field { field, message } => {
                write!(formatter, "{}: {message}", field.name())
            }
        }
    }
}

impl std::error::Error for CronError {}

/// Reasons why a search finds no fire time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFire {
    /// There is no such time in the next hundred years.
    Never,
    /// A field permits no value, so that the search itself fails on the server.
    Broken,
}

/// A cron expression that the server accepts at submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    /// One expression, or two whose earlier fire time counts, if both day fields are restricted.
    sides: Vec<Side>,
}

impl Serialize for Cron {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Cron, D::Error> {
        let text = String::deserialize(deserializer)?;
        Cron::parse(&text).map_err(|_| {
            serde::de::Error::custom(format!("`{text}` is not a valid cron expression"))
        })
    }
}

impl Cron {
    /// Parses five fields. Both day fields are checked, each as if the other were `?`.
    pub fn parse(text: &str) -> Result<Cron, CronError> {
        let mut fields: Vec<&str> = text.split(' ').collect();
        while fields.last().is_some_and(|field| field.is_empty()) {
            fields.pop();
        }
        let Ok(fields) = <[&str; 5]>::try_from(fields.as_slice()) else {
            return Err(CronError::FieldCount(fields.len()));
        };
        if fields.iter().any(|field| field.is_empty() || field.contains('\t')) {
            return Err(CronError::FieldCount(fields.iter().filter(|f| !f.is_empty()).count()));
        }

        let [.., day_of_month, _, day_of_week] = fields;
        let without_month_day = (day_of_week != "?").then(|| {
            let mut fields = fields;
            fields[2] = "?";
            Side::parse(fields)
        });
        let without_week_day = (day_of_month != "?").then(|| {
            let mut fields = fields;
            fields[4] = "?";
            Side::parse(fields)
        });
        let sides = match (without_month_day.transpose()?, without_week_day.transpose()?) {
            (None, None) => return Err(CronError::BothUnspecified),
            (Some(week), None) => vec![week],
            (None, Some(month)) => vec![month],
            (Some(week), Some(_)) if day_of_month == "*" => vec![week],
            (Some(_), Some(month)) if day_of_week == "*" => vec![month],
            (Some(week), Some(month)) => vec![week, month],
        };
        Ok(Cron { text: text.to_owned(), sides })
    }

    /// Returns the original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether both day fields are restricted, so that it is sufficient to match either of them.
    pub fn is_union(&self) -> bool {
        self.sides.len() > 1
    }

    /// Returns the first fire time strictly after an instant, in the zone of the server.
    pub fn next_after(&self, after: Instant, zone: ProcessingZone) -> Result<Instant, NoFire> {
        let local = zone.local_seconds(after);
        let mut earliest: Option<i64> = None;
        for side in &self.sides {
            match (side.next_after(local), self.is_union()) {
                (Ok(fire), _) => earliest = Some(earliest.map_or(fire, |other| other.min(fire))),
                // The server fails when it compares with a side that never fires.
                (Err(NoFire::Never), true) => return Err(NoFire::Broken),
                (Err(reason), _) => return Err(reason),
            }
        }
        let fire = earliest.ok_or(NoFire::Never)?;
        Ok(Instant(fire - i64::from(zone.offset_minutes()) * 60).clamped())
    }

    /// Does the same for a known fire time: the rest of its day needs no search.
    pub(super) fn next_after_fire(
        &self,
        fire: Instant,
        zone: ProcessingZone,
    ) -> Result<Instant, NoFire> {
        let local = zone.local_seconds(fire);
        let minute_of_day = local.rem_euclid(86_400) / 60;
        let (hour, minute) = (minute_of_day / 60, minute_of_day % 60);
        let sets = &self.sides[0].sets;
        if let Some(next) = at_least(sets[0], minute + 1).filter(|next| *next < 60) {
            return Ok(fire.plus_seconds((next - minute) * 60));
        }
        if let Some(next) = at_least(sets[1], hour + 1).filter(|next| *next < 24)
            && let Some(first) = at_least(sets[0], 0).filter(|next| *next < 60)
        {
            return Ok(fire.plus_seconds(((next - hour) * 60 + first - minute) * 60));
        }
        self.next_after(fire, zone)
    }
}

/// An expression in which one day field is `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Side {
    /// The values of each field, including Quartz's markers.
    sets: [u128; 5],
    last_day_of_month: bool,
    last_day_offset: i64,
    nearest_weekday: bool,
    last_day_of_week: bool,
    nth_day_of_week: i64,
}

type Parsed<T> = Result<T, String>;

impl Side {
    fn parse(fields: [&str; 5]) -> Result<Side, CronError> {
        let mut side = Side::default();
        for (field, text) in CronField::ALL.into_iter().zip(fields) {
            side.field(field, &text.to_uppercase())
                .map_err(|message| CronError::Field { field, message })?;
        }
        let has = |field: usize| side.sets[field] & (1 << NO_SPEC) != 0;
        if has(2) == has(4) {
            let message = "exactly one of the two day fields can be `?`".to_owned();
            return Err(CronError::Field { field: CronField::DayOfWeek, message });
        }
        Ok(side)
    }

    fn field(&mut self, field: CronField, text: &str) -> Parsed<()> {
        let listed = text.len() > 1 && text.contains(',');
        let is_day = matches!(field, CronField::DayOfMonth | CronField::DayOfWeek);
        if is_day && listed && text.contains('L') {
            return Err("`L` is not allowed in a list".to_owned());
        }
        if field == CronField::DayOfWeek && text.matches('#').count() > 1 {
            return Err("only one `#` can be given".to_owned());
        }
        for member in text.split(',').filter(|member| !member.is_empty()) {
            let letters: Vec<char> = member.chars().collect();
            self.member(field, &letters)?;
        }
        Ok(())
    }

    fn member(&mut self, field: CronField, text: &[char]) -> Parsed<()> {
        let first = text[0];
        if first.is_ascii_uppercase() && !is_last_form(text) {
            return self.named(field, text);
        }
        match first {
            '?' => {
                if text.len() > 2 {
                    return Err(format!("`{}` after `?`", text[1]));
                }
                if !matches!(field, CronField::DayOfMonth | CronField::DayOfWeek) {
                    return Err("`?` is allowed only for the day of month or of week".to_owned());
                }
                if field == CronField::DayOfWeek && !self.last_day_of_month {
                    let days = self.sets[2];
                    if days == 0 || 127 - days.leading_zeros() == NO_SPEC {
                        return Err("`?` is not allowed in both day fields".to_owned());
                    }
                }
                self.set(field, i64::from(NO_SPEC))
            }
            '*' | '/' => self.every(field, text),
            'L' => self.last(field, text),
            '0'..='9' => {
                let (value, next) = digits(text, 0)?;
                self.number(field, text, next, value)
            }
            other => Err(format!("unexpected `{other}`")),
        }
    }

    /// Parses `MON`, `MON-FRI`, `FRI#2`, `FRIL`, `JAN`, `NOV-FEB`; letters after the third are ignored.
    fn named(&mut self, field: CronField, text: &[char]) -> Parsed<()> {
        let number = |from: usize| -> Parsed<i64> {
            let name: String =
                text.get(from..from + 3).ok_or("a name has three letters")?.iter().collect();
            let names: &[&str] = match field {
                CronField::Month => &[
                    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV",
                    "DEC",
                ],
                CronField::DayOfWeek => &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
                _ => return Err(format!("`{name}` is not allowed here")),
            };
            let at = names.iter().position(|known| *known == name);
            at.map(|at| at as i64 + 1).ok_or_else(|| format!("no `{name}`"))
        };

        let start = number(0)?;
        match text.get(3) {
            Some('-') => {
                let end = number(4)?;
                self.add(field, start, Some(end), 1)
            }
            Some('#') if field == CronField::DayOfWeek => {
                self.nth_day_of_week = nth(&text[4..])?;
                self.set(field, start)
            }
            Some('L') if field == CronField::DayOfWeek => {
                self.last_day_of_week = true;
                self.set(field, start)
            }
            _ => self.set(field, start),
        }
    }

    /// Parses `*`, `*/n`, `/n`.
    fn every(&mut self, field: CronField, text: &[char]) -> Parsed<()> {
        if text == ['*'] {
            return self.add(field, i64::from(ALL_SPEC), None, 0);
        }
        let at = usize::from(text[0] == '*');
        if text.get(at) != Some(&'/') {
            return self.add(field, i64::from(ALL_SPEC), None, 1);
        }
        let number: String = text[at + 1..].iter().collect();
        let step: i32 = number.parse().map_err(|_| "`/` must be followed by a number")?;
        check_step(field, i64::from(step))?;
        self.add(field, i64::from(ALL_SPEC), None, i64::from(step))
    }

    /// Parses `L`, `L-n`, `LW`, `L-nW`.
    fn last(&mut self, field: CronField, text: &[char]) -> Parsed<()> {
        if field == CronField::DayOfWeek {
            return self.set(field, 7);
        }
        if field != CronField::DayOfMonth {
            // Nothing is added: the field stays empty, and the search fails.
            return Ok(());
        }
        self.last_day_of_month = true;
        let mut at = 1;
        if text.get(at) == Some(&'-') {
            if text.len() == 2 {
                return Err("a number must follow `L-`".to_owned());
            }
            let (offset, next) = digits(text, 2).unwrap_or((0, 2));
            if offset > 30 {
                return Err("at most 30 days before the last".to_owned());
            }
            self.last_day_offset = offset;
            at = next;
        }
        if text.get(at) == Some(&'W') {
            self.nearest_weekday = true;
        }
        Ok(())
    }

    /// Parses the text that follows a number.
    fn number(&mut self, field: CronField, text: &[char], at: usize, value: i64) -> Parsed<()> {
        match text.get(at) {
            None => self.set(field, value),
            Some('L') if field == CronField::DayOfWeek => {
                if !(1..=7).contains(&value) {
                    return Err("a day of week is 1 to 7".to_owned());
                }
                self.last_day_of_week = true;
                self.insert(field, value)
            }
            Some('L') => Err("`L` is not allowed here".to_owned()),
            Some('W') if field == CronField::DayOfMonth => {
                if value > 31 {
                    return Err("no month has that many days".to_owned());
                }
                self.nearest_weekday = true;
                self.insert(field, value)
            }
            Some('W') => Err("`W` is not allowed here".to_owned()),
            Some('#') if field == CronField::DayOfWeek => {
                self.nth_day_of_week = nth(&text[at + 1..])?;
                self.insert(field, value)
            }
            Some('#') => Err("`#` is not allowed here".to_owned()),
            Some('-') => {
                let (end, next) = digits(text, at + 1)?;
                if text.get(next) != Some(&'/') {
                    return self.add(field, value, Some(end), 1);
                }
                let (step, _) = digits(text, next + 1)?;
                self.add(field, value, Some(end), step)
            }
            Some('/') => {
                let (step, next) = digits(text, at + 1)?;
                // A single digit must end the field; after several digits, any rest is ignored.
                if next == at + 2 && next < text.len() {
                    return Err(format!("unexpected `{}` after `/`", text[next]));
                }
                check_step(field, step)?;
                self.add(field, value, None, step)
            }
            Some(_) => self.set(field, value),
        }
    }

    fn set(&mut self, field: CronField, value: i64) -> Parsed<()> {
        self.add(field, value, None, 0)
    }

    fn insert(&mut self, field: CronField, value: i64) -> Parsed<()> {
        if !(0..128).contains(&value) {
            return Err(format!("{value} is out of range"));
        }
        self.sets[field as usize] |= 1 << value;
        Ok(())
    }

    fn add(&mut self, field: CronField, value: i64, end: Option<i64>, step: i64) -> Parsed<()> {
        let (least, most) = field.range();
        let is_all = value == i64::from(ALL_SPEC);
        let is_day = matches!(field, CronField::DayOfMonth | CronField::DayOfWeek);
        let is_marker = is_all || is_day && value == i64::from(NO_SPEC);
        if !is_marker && (value < least || value > most || end.is_some_and(|end| end > most)) {
            return Err(format!("values are {least} to {most}"));
        }
        if step == 0 && !is_all {
            return self.insert(field, value);
        }
        let step = if is_all && step <= 0 {
            self.insert(field, value)?;
            1
        } else {
            step
        };

        let start = if is_all { least } else { value };
        let mut end = end.unwrap_or(most);
        let around = most - least + 1;
        let wraps = end < start;
        if wraps {
            end += around;
        }
        let mut at = start;
        while at <= end {
            let mut value = at;
            if wraps {
                value %= around;
                if value == 0 && least == 1 {
                    value = around;
                }
            }
            self.insert(field, value)?;
            at += step;
        }
        Ok(())
    }

    /// Returns the first fire time after a local second.
    fn next_after(&self, after: i64) -> Result<i64, NoFire> {
        let [minutes, hours, days_of_month, months, days_of_week] = self.sets;
        let first = |set: u128| at_least(set, 0).ok_or(NoFire::Broken);
        let after = after + 1;
        let last_year = civil_of_days(after.div_euclid(86_400)).year + 100;
        let mut now = Clock::of(after);
        if now.second > 0 {
            now = now.with_time(now.hour, now.minute + 1);
        }

        loop {
            if now.year > 2999.max(last_year) {
                return Err(NoFire::Never);
            }

            match at_least(minutes, now.minute) {
                Some(minute) if minute == now.minute => {}
                Some(minute) => {
                    now = now.with_time(now.hour, minute);
                    continue;
                }
                None => {
                    now = now.with_time(now.hour + 1, first(minutes)?);
                    continue;
                }
            }

            match at_least(hours, now.hour) {
                Some(hour) if hour == now.hour => {}
                Some(hour) => {
                    now = now.with_time(hour, 0);
                    continue;
                }
                None => {
                    now = Clock::midnight(now.year, now.month, now.day + 1)
                        .with_time(first(hours)?, 0);
                    continue;
                }
            }

            if days_of_month & (1 << NO_SPEC) == 0 {
                let (day, month) = self.day_of_month(now, days_of_month, after)?;
                if (day, month) != (now.day, now.month) {
                    now = Clock::midnight(now.year, month, day);
                    continue;
                }
            } else if let Some(next) = self.day_of_week(now, days_of_week)? {
                now = next;
                continue;
            }

            if now.year > last_year {
                return Err(NoFire::Never);
            }
            match at_least(months, now.month) {
                Some(month) if month == now.month => return Ok(now.seconds()),
                Some(month) => now = Clock::midnight(now.year, month, 1),
                None => now = Clock::midnight(now.year + 1, first(months)?, 1),
            }
        }
    }

    /// Returns the day and month to try; month 13 is January of the next year.
    fn day_of_month(&self, now: Clock, days: u128, after: i64) -> Result<(i64, i64), NoFire> {
        let length = month_length(now.year, now.month);
        if self.last_day_of_month || self.nearest_weekday {
            let first = if self.last_day_of_month {
                length - self.last_day_offset
            } else {
                at_least(days, 0).ok_or(NoFire::Broken)?
            };
            if !self.nearest_weekday {
                return Ok(if now.day > first { (1, now.month + 1) } else { (first, now.month) });
            }

            // The weekday is computed for a day that may lie beyond the month: the 31st of June is the first of July.
            let mut day = first;
            match day_of_week(days_of_civil(now.year, now.month, day)) {
                7 if day == 1 => day += 2,
                7 => day -= 1,
                1 if day == length => day -= 2,
                1 => day += 1,
                _ => {}
            }
            let candidate = Clock { day, ..now };
            return Ok(if candidate.seconds() < after {
                (if self.last_day_of_month { 1 } else { first }, now.month + 1)
            } else {
                (day, now.month)
            });
        }
        match at_least(days, now.day).filter(|day| *day <= length) {
            Some(day) => Ok((day, now.month)),
            None => Ok((at_least(days, 0).ok_or(NoFire::Broken)?, now.month + 1)),
        }
    }

    /// Returns the time at which to continue the search, or none if this day matches.
    fn day_of_week(&self, now: Clock, days: u128) -> Result<Option<Clock>, NoFire> {
        let today = day_of_week(days_of_civil(now.year, now.month, now.day));
        let length = month_length(now.year, now.month);
        let next_month = Clock::midnight(now.year, now.month + 1, 1);
        let ahead = |wanted: i64| match wanted {
            wanted if today < wanted => wanted - today,
            wanted if today > wanted => wanted + 7 - today,
            _ => 0,
        };
        let first = at_least(days, 0).ok_or(NoFire::Broken)?;

        if self.last_day_of_week {
            let mut more = ahead(first);
            if now.day + more > length {
                return Ok(Some(next_month));
            }
            while now.day + more + 7 <= length {
                more += 7;
            }
            return Ok((more > 0).then(|| Clock::midnight(now.year, now.month, now.day + more)));
        }
        if self.nth_day_of_week != 0 {
            let more = ahead(first);
            let day = now.day + more;
            let week = day / 7 + i64::from(day % 7 > 0);
            let weeks = (self.nth_day_of_week - week) * 7;
            if weeks < 0 || day + weeks > length {
                return Ok(Some(next_month));
            }
            let moved = weeks > 0 || more > 0;
            return Ok(moved.then(|| Clock::midnight(now.year, now.month, day + weeks)));
        }

        let more = ahead(at_least(days, today).unwrap_or(first));
        if now.day + more > length {
            return Ok(Some(next_month));
        }
        Ok((more > 0).then(|| Clock::midnight(now.year, now.month, now.day + more)))
    }
}

/// Whether a text is `L`, `LW`, `L-n` or `L-nW` rather than a name.
fn is_last_form(text: &[char]) -> bool {
    match text {
        ['L'] | ['L', 'W'] => true,
        ['L', '-', rest @ ..] => {
            let rest = rest.strip_suffix(&['W']).unwrap_or(rest);
            rest.iter().all(char::is_ascii_digit)
        }
        _ => false,
    }
}

/// Parses the number that begins at `from`; returns it with its end.
fn digits(text: &[char], from: usize) -> Parsed<(i64, usize)> {
    let rest = text.get(from..).unwrap_or_default();
    let length = rest.iter().position(|letter| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let number: String = rest[..length].iter().collect();
    let value: i32 = number.parse().map_err(|_| "a number is missing or too large")?;
    Ok((i64::from(value), from + length))
}

fn nth(text: &[char]) -> Parsed<i64> {
    let number: String = text.iter().collect();
    let number = number.parse::<i64>().ok().filter(|number| (1..=5).contains(number));
    number.ok_or_else(|| "a number from 1 to 5 must follow `#`".to_owned())
}

fn check_step(field: CronField, step: i64) -> Parsed<()> {
    let most = field.range().1;
    if step > most { Err(format!("a step is at most {most}")) } else { Ok(()) }
}

/// Returns the least member that is not below a number, markers included.
fn at_least(set: u128, number: i64) -> Option<i64> {
    let number = u32::try_from(number).ok().filter(|number| *number < 128)?;
    let rest = set >> number;
    (rest != 0).then(|| i64::from(number + rest.trailing_zeros()))
}

/// A local date and time whose fields may be out of range.
#[derive(Clone, Copy)]
struct Clock {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Clock {
    fn of(seconds: i64) -> Clock {
        let civil = civil_of_days(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        Clock {
            year: civil.year,
            month: i64::from(civil.month),
            day: i64::from(civil.day),
            hour: second / 3600,
            minute: second / 60 % 60,
            second: second % 60,
        }
    }

    fn midnight(year: i64, month: i64, day: i64) -> Clock {
        Clock::of(days_of_civil(year, month, day) * 86_400)
    }

    fn with_time(self, hour: i64, minute: i64) -> Clock {
        if hour < 24 && minute < 60 {
            return Clock { hour, minute, second: 0, ..self };
        }
        Clock::of(Clock { hour, minute, second: 0, ..self }.seconds())
    }

    fn seconds(self) -> i64 {
        days_of_civil(self.year, self.month, self.day) * 86_400
            + self.hour * 3600
            + self.minute * 60
            + self.second
    }
}
