//! The functions of dates and dataset instances, over the calendar of [`crate::time`].

use super::eval::Effects;
use super::functions::Call;
use super::{Failure, Value};

type Answer<'a> = Result<Value<'a>, Box<Failure>>;

/// A date in the server's form, in UTC.
pub(crate) fn date(millis: i64) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(millis) else { return String::new() };
    instant.strftime("%Y-%m-%dT%H:%MZ").to_string()
}

/// A date as Java's `Date` writes it.
pub(crate) fn java_date(millis: i64) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(millis) else { return String::new() };
    instant.strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
}

macro_rules! waits {
    ($($name:ident),* $(,)?) => {$(
        pub(crate) fn $name<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
            let _: &Effects = call.effects;
            Err(Failure::unavailable("the calendar is not connected yet"))
        }
    )*};
}

waits!(
    current,
    current_range,
    offset,
    latest,
    latest_range,
    future,
    future_range,
    absolute_range,
    hours_in_day,
    days_in_month,
    tz_offset,
    date_offset,
    date_tz_offset,
    format_time,
    epoch_time,
    nominal_time,
    actual_time,
);

/// A date in the server's form to milliseconds since 1970.
pub(crate) fn parse(date: &str) -> Option<i64> {
    let date = date.strip_suffix('Z')?;
    let time: jiff::civil::DateTime = format!("{date}:00").parse().ok()?;
    Some(time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}
