//! Calendar arithmetic: adding units to instants, and the ends of days, weeks and months.

use jiff::civil::DateTime;
use serde::{Deserialize, Serialize};

use super::{Instant, ProcessingZone, Zone};

/// A unit of time, by the server's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// A day in the time zone.
    Day,
    /// Seven days.
    Week,
    /// A month in the time zone.
    Month,
    /// Twelve months.
    Year,
}

impl Unit {
    /// Returns the unit for its name in `coord:offset`; `END_OF_…` names map to the unit they end.
    pub fn from_name(name: &str) -> Option<Unit> {
        Some(match name {
            "MINUTE" => Unit::Minute,
            "HOUR" => Unit::Hour,
            "DAY" | "END_OF_DAY" => Unit::Day,
            "WEEK" | "END_OF_WEEK" => Unit::Week,
            "MONTH" | "END_OF_MONTH" => Unit::Month,
            "YEAR" => Unit::Year,
            _ => return None,
        })
    }

    /// Returns the server's name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Minute => "MINUTE",
            Unit::Hour => "HOUR",
            Unit::Day => "DAY",
            Unit::Week => "WEEK",
            Unit::Month => "MONTH",
            Unit::Year => "YEAR",
        }
    }

    /// Returns the weight that the server's check of an offset range gives to the unit.
    pub(super) fn weight(self) -> i64 {
        match self {
            Unit::Minute => 12,
            Unit::Hour => 10,
            Unit::Day => 5,
            Unit::Week => 3,
            Unit::Month => 2,
            Unit::Year => 1,
        }
    }
}

/// The period to whose end an origin is moved before a frequency counts from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum EndOf {
    /// No move.
    #[default]
    None,
    /// To the end of its day.
    Day,
    /// To the end of its week.
    Week,
    /// To the end of its month.
    Month,
}

impl EndOf {
    /// Returns the server's name.
    pub fn name(self) -> &'static str {
        match self {
            EndOf::None => "NONE",
            EndOf::Day => "END_OF_DAY",
            EndOf::Week => "END_OF_WEEK",
            EndOf::Month => "END_OF_MONTH",
        }
    }

    /// Returns the value for a name.
    pub fn from_name(name: &str) -> Option<EndOf> {
        Some(match name {
            "NONE" => EndOf::None,
            "END_OF_DAY" => EndOf::Day,
            "END_OF_WEEK" => EndOf::Week,
            "END_OF_MONTH" => EndOf::Month,
            _ => return None,
        })
    }
}

/// The first day of a week, which the server takes from its locale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WeekStart {
    /// American English.
    #[default]
    Sunday,
    /// Most of Europe.
    Monday,
}

/// Adds `count` units.
///
/// Minutes and hours are absolute. Days and weeks keep the time of day across a clock change unless the result would
/// fall on another date: then, in the gap of spring, the result shows an hour *less*. Months and years keep the day if
/// the month has it, and otherwise take the last one; in a gap the result shows an hour *more*, in an overlap it is the
/// second of the two.
pub fn add(instant: Instant, unit: Unit, count: i64, zone: &Zone) -> Instant {
    match unit {
        Unit::Minute => instant.plus_seconds(count.saturating_mul(60)),
        Unit::Hour => instant.plus_seconds(count.saturating_mul(3600)),
        Unit::Day => add_days(instant, count, zone),
        Unit::Week => add_days(instant, count.saturating_mul(7), zone),
        Unit::Month => add_months(instant, count, zone),
        Unit::Year => add_months(instant, count.saturating_mul(12), zone),
    }
}

fn add_days(instant: Instant, days: i64, zone: &Zone) -> Instant {
    let plain = instant.plus_seconds(days.saturating_mul(86_400));
    if zone.is_fixed() {
        return plain;
    }

    let before = zone.offset_seconds(instant);
    let after = zone.offset_seconds(plain);
    if before == after {
        return plain;
    }
    let corrected = plain.plus_seconds(before - after);
    let wanted = zone.local(instant).days.saturating_add(days);
    if zone.local(corrected).days == wanted { corrected } else { plain }
}

fn add_months(instant: Instant, months: i64, zone: &Zone) -> Instant {
    let local = zone.local(instant);
    let civil = civil_of_days(local.days);
    let months = civil
        .year
        .saturating_mul(12)
        .saturating_add(i64::from(civil.month) - 1)
        .saturating_add(months)
        .clamp(12, 9999 * 12 + 11);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    let day = i64::from(civil.day).min(month_length(year, month));
    zone.instant(Local { days: days_of_civil(year, month, day), ..local })
}

/// Moves an origin to the end of its day, week or month, which is the beginning of the next one; an origin on such a
/// boundary moves by a whole period.
pub fn end_of(instant: Instant, end: EndOf, zone: &Zone, week: WeekStart) -> Instant {
    let moved = match end {
        EndOf::None => return instant,
        EndOf::Day => add(instant, Unit::Day, 1, zone),
        EndOf::Week => add(instant, Unit::Week, 1, zone),
        EndOf::Month => add(instant, Unit::Month, 1, zone),
    };
    start_of(moved, end, zone, week)
}

/// Returns the midnight at which the day, week or month of an instant begins, `n + 1` periods later.
pub(super) fn period_boundary(
    instant: Instant,
    end: EndOf,
    n: i64,
    zone: &Zone,
    week: WeekStart,
) -> Instant {
    let start = start_of(instant, end, zone, week);
    let unit = match end {
        EndOf::None => return instant,
        EndOf::Day => Unit::Day,
        EndOf::Week => Unit::Week,
        EndOf::Month => Unit::Month,
    };
    add(start, unit, n.saturating_add(1), zone)
}

fn start_of(instant: Instant, end: EndOf, zone: &Zone, week: WeekStart) -> Instant {
    let local = zone.local(instant);
    let days = match end {
        EndOf::None => return instant,
        EndOf::Day => local.days,
        EndOf::Week => {
            let first = match week {
                WeekStart::Sunday => 1,
                WeekStart::Monday => 2,
            };
            local.days - (day_of_week(local.days) - first).rem_euclid(7)
        }
        EndOf::Month => local.days - i64::from(civil_of_days(local.days).day) + 1,
    };
    zone.instant(Local { days, second_of_day: 0 })
}

/// Implements `coord:dateOffset`: the zone is that of the server, which has no clock changes.
pub fn date_offset(instant: Instant, count: i64, unit: Unit, zone: ProcessingZone) -> Instant {
    let fixed = Zone::from_id(&zone.id()).unwrap_or_else(|_| Zone::utc());
    add(instant, unit, count, &fixed)
}

/// Implements `coord:dateTzOffset`: the local time in `zone`, formatted as if it were in the server's zone.
pub fn local_text(instant: Instant, zone: &Zone, processing: ProcessingZone) -> String {
    let shown = instant.0 + zone.offset_seconds(instant);
    processing.format(Instant(shown - i64::from(processing.offset_minutes()) * 60))
}

/// Returns the hours of the local day of an instant, as the server counts them: 23, 24 or 25, from half past midnight
/// on.
pub fn hours_in_day(instant: Instant, zone: &Zone) -> i64 {
    let local = zone.local(instant);
    let half_past = zone.instant(Local { days: local.days, second_of_day: 1800 });
    match zone.local(half_past.plus_seconds(86_400)).second_of_day / 3600 {
        1 => 23,
        23 => 25,
        _ => 24,
    }
}

/// Returns the number of days of the local month of an instant.
pub fn days_in_month(instant: Instant, zone: &Zone) -> i64 {
    let civil = civil_of_days(zone.local(instant).days);
    month_length(civil.year, i64::from(civil.month))
}

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: u8,
    pub(super) day: u8,
}

/// A local date and time: days since 1970-01-01 and seconds since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Local {
    pub(super) days: i64,
    pub(super) second_of_day: i64,
}

impl Local {
    pub(super) fn of_seconds(seconds: i64) -> Local {
        Local { days: seconds.div_euclid(86_400), second_of_day: seconds.rem_euclid(86_400) }
    }

    pub(super) fn seconds(self) -> i64 {
        self.days.saturating_mul(86_400).saturating_add(self.second_of_day)
    }

    pub(super) fn datetime(self) -> Option<DateTime> {
        let civil = civil_of_days(self.days);
        let (minute, second) = (self.second_of_day / 60, self.second_of_day % 60);
        DateTime::new(
            i16::try_from(civil.year).ok()?,
            civil.month as i8,
            civil.day as i8,
            (minute / 60) as i8,
            (minute % 60) as i8,
            second as i8,
            0,
        )
        .ok()
    }
}

/// Returns the days since 1970 of a Gregorian date; a month or day out of range carries over.
pub(super) fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

pub(super) fn civil_of_days(days: i64) -> Civil {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 {
        Civil { year, month: (month + 3) as u8, day: day as u8 }
    } else {
        Civil { year: year + 1, month: (month - 9) as u8, day: day as u8 }
    }
}

pub(super) fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the day of the week; 1 is Sunday, as everywhere on the server.
pub(super) fn day_of_week(days: i64) -> i64 {
    (days + 4).rem_euclid(7) + 1
}
