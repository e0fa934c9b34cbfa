//! The functions for dates and dataset instances, based on the calendar of [`crate::time`].

use std::borrow::Cow;

use super::functions::Call;
use super::{CoordinatorScope, Dataset as Written, Failure, FileScope, Scope, UriTemplate, Value};
use crate::time::{
    Dataset, EndOf, Found, Instant, ProcessingZone, RangeError, Search, Unit, WeekStart, Zone,
    date_offset as offset_date, format_time as format, local_text,
};

type Answer<'a> = Result<Value<'a>, Box<Failure>>;

/// Formats a date as Java's `Date` does.
pub(crate) fn java_date(millis: i64) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(millis) else { return String::new() };
    instant.strftime("%a %b %d %H:%M:%S UTC %Y").to_string()
}

/// Parses a date in the server's format to milliseconds since 1970.
pub(crate) fn parse(date: &str) -> Option<i64> {
    ProcessingZone::UTC.parse(date).ok().map(Instant::millis)
}

fn text<'a>(text: String) -> Answer<'a> {
    Ok(Value::String(Cow::Owned(text)))
}

fn coordinator<'a>(call: &Call<'a, '_>) -> Result<&'a dyn CoordinatorScope, Box<Failure>> {
    let absent = || Failure::unavailable("there is no coordinator action here");
    call.scope.coordinator().ok_or_else(absent)
}

pub(super) fn processing(call: &Call<'_, '_>) -> ProcessingZone {
    match call.scope.coordinator() {
        Some(coordinator) => coordinator.processing(),
        None => call.scope.zone(),
    }
}

fn instant(call: &mut Call<'_, '_>, at: usize) -> Result<Instant, Box<Failure>> {
    let (zone, text) = (processing(call), call.text(at));
    zone.parse(&text).map_err(|reason| {
        Failure::exception("ParseException", format!("`{text}` is not a date: {reason}"))
    })
}

/// Parses an instant that is only formatted again, so that its year may be out of range.
fn any_instant(call: &mut Call<'_, '_>, at: usize) -> Result<Instant, Box<Failure>> {
    let (zone, text) = (processing(call), call.text(at));
    zone.parse_any_year(&text).map_err(|reason| {
        Failure::exception("ParseException", format!("`{text}` is not a date: {reason}"))
    })
}

fn zone(id: &str) -> Result<Zone, Box<Failure>> {
    let unknown =
        |_| Failure::exception("IllegalArgumentException", format!("`{id}` is not a time zone"));
    Zone::from_id(id).map_err(unknown)
}

fn nominal(call: &Call<'_, '_>) -> Result<Instant, Box<Failure>> {
    let absent = || Failure::unavailable("there is no nominal time here");
    coordinator(call)?.nominal().map(Instant::from_millis).ok_or_else(absent)
}

fn actual(call: &Call<'_, '_>) -> Result<Instant, Box<Failure>> {
    let absent = || Failure::unavailable("there is no time of creation here");
    coordinator(call)?.actual().map(Instant::from_millis).ok_or_else(absent)
}

/// Parses the name of a unit; `CRON` is valid, but not a unit.
fn unit(name: &str) -> Result<Option<Unit>, Box<Failure>> {
    match Unit::from_name(name) {
        Some(unit) => Ok(Some(unit)),
        None if name == "CRON" => Ok(None),
        None => {
            let message = format!("`{name}` is not a unit: MINUTE, HOUR, DAY, WEEK, MONTH or YEAR");
            Err(Failure::exception("IllegalArgumentException", message))
        }
    }
}

/// Returns the dataset of the scope, prepared for arithmetic.
fn dataset<'a>(call: &Call<'a, '_>) -> Result<(Dataset, Written<'a>), Box<Failure>> {
    let none = || Failure::exception("RuntimeException", "there is no dataset here");
    let coordinator = call.scope.coordinator().ok_or_else(none)?;
    let written = coordinator.dataset().ok_or_else(none)?;
    let initial = coordinator.processing().parse(&written.initial_instance).map_err(|reason| {
        Failure::exception(
            "ParseException",
            format!("the initial instance is not a date: {reason}"),
        )
    })?;
    let unit = Unit::from_name(&written.unit).unwrap_or(Unit::Minute);
    let end = EndOf::from_name(&written.end_of).unwrap_or_default();
    let zone = zone(&written.timezone)?;
    let frequency = i64::from(written.frequency);
    Ok((Dataset::new(initial, frequency, unit, end, zone, WeekStart::Sunday), written))
}

fn range_failure(reason: RangeError) -> Box<Failure> {
    Failure::exception("CommandException", reason.to_string())
}

fn join(call: &Call<'_, '_>, instances: &[Instant]) -> String {
    let zone = processing(call);
    let dates: Vec<String> = instances.iter().map(|instance| zone.format(*instance)).collect();
    dates.join("#")
}

pub(crate) fn current<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let n = i64::from(call.integer(0));
    let instance = dataset(call)?.0.current_n(nominal(call)?, n);
    text(join(call, instance.as_slice()))
}

pub(crate) fn current_range<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (start, end) = (i64::from(call.integer(0)), i64::from(call.integer(1)));
    if start > end {
        return text(String::new());
    }
    let range = dataset(call)?.0.current_range(nominal(call)?, start, end);
    text(join(call, &range.map_err(range_failure)?))
}

pub(crate) fn offset<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let n = i64::from(call.integer(0));
    let unit = unit(&call.text(1))?;
    let (dataset, nominal) = (dataset(call)?.0, nominal(call)?);
    let instance = match unit {
        Some(unit) => dataset.offset(nominal, n, unit),
        None => dataset.offset(nominal, 0, Unit::Minute),
    };
    text(join(call, instance.as_slice()))
}

pub(crate) fn absolute_range<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (start, end) = (instant(call, 0)?, i64::from(call.integer(1)));
    let range = dataset(call)?.0.absolute_range(nominal(call)?, start, end);
    text(join(call, &range.map_err(range_failure)?))
}

pub(crate) fn latest<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let n = i64::from(call.integer(0));
    search_back(call, n, n, format!("${{coord:latest({n})}}"))
}

pub(crate) fn latest_range<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (start, end) = (i64::from(call.integer(0)), i64::from(call.integer(1)));
    search_back(call, start, end, format!("${{coord:latestRange({start}, {end})}}"))
}

fn search_back<'a>(call: &mut Call<'a, '_>, start: i64, end: i64, itself: String) -> Answer<'a> {
    if start > 0 || end > 0 {
        let message = "the number of `latest` is 0 or below";
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    let (dataset, written) = dataset(call)?;
    // A descending range ends at its start, where the server begins to search.
    let found = dataset.latest(actual(call)?, start, end.max(start), Data::of(call, &written)?)?;
    searched(call, found, itself)
}

pub(crate) fn future<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (n, limit) = (i64::from(call.integer(0)), i64::from(call.integer(1)));
    search_ahead(call, (n, n), limit, format!("${{coord:future({n}, {limit})}}"))
}

pub(crate) fn future_range<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (start, end) = (i64::from(call.integer(0)), i64::from(call.integer(1)));
    let limit = i64::from(call.integer(2));
    let itself = format!("${{coord:futureRange({start}, {end}, {limit})}}");
    search_ahead(call, (start, end), limit, itself)
}

fn search_ahead<'a>(
    call: &mut Call<'a, '_>,
    (start, end): (i64, i64),
    limit: i64,
    itself: String,
) -> Answer<'a> {
    if start < 0 || end < 0 || limit <= 0 {
        let message = "the number of `future` is 0 or above, and its limit above 0";
        return Err(Failure::exception("IllegalArgumentException", message));
    }
    let (dataset, written) = dataset(call)?;
    let found =
        dataset.future(nominal(call)?, start.min(end), end, limit, Data::of(call, &written)?)?;
    searched(call, found, itself)
}

/// Looks for the data of instances: their URIs with the done flag, or their partitions.
struct Data<'a> {
    scope: &'a dyn Scope,
    zone: ProcessingZone,
    template: UriTemplate,
    flag: String,
    is_table: bool,
}

impl<'a> Data<'a> {
    fn of(call: &Call<'a, '_>, written: &Written<'_>) -> Result<Data<'a>, Box<Failure>> {
        let data = Data {
            scope: call.scope,
            zone: processing(call),
            template: UriTemplate::new(&written.uri_template),
            flag: written.done_flag.to_string(),
            is_table: written.uri_template.starts_with("hcat:"),
        };
        if !data.is_table {
            data.files()?;
        }
        Ok(data)
    }

    fn files(&self) -> Result<&dyn FileScope, Box<Failure>> {
        self.scope.files().ok_or_else(|| Failure::unavailable("there is no file system here"))
    }

    fn path(&self, instance: Instant) -> String {
        let uri = self.template.fill(instance, self.zone);
        if self.flag.is_empty() { uri } else { format!("{uri}/{}", self.flag) }
    }
}

impl Search for Data<'_> {
    type Error = Box<Failure>;

    fn exists(&mut self, instance: Instant) -> Result<bool, Box<Failure>> {
        if self.is_table {
            let none = || Failure::unavailable("no HCatalog is configured here");
            let uri = self.template.fill(instance, self.zone);
            return self.scope.hcat_exists(&uri).ok_or_else(none)?;
        }
        self.files()?.exists(&self.path(instance))
    }

    fn at_once(&self) -> usize {
        if self.is_table { 1 } else { self.scope.files().map_or(1, FileScope::at_once) }
    }

    fn announce(&mut self, next: &[Instant]) {
        if let Some(files) = self.scope.files() {
            files.announce(&next.iter().map(|instance| self.path(*instance)).collect::<Vec<_>>());
        }
    }
}

fn searched<'a>(call: &mut Call<'a, '_>, found: Found, itself: String) -> Answer<'a> {
    match found {
        Found::Nothing => text(String::new()),
        Found::Instances(instances) => text(join(call, &instances)),
        Found::Missing(_) => {
            call.effects.unresolved = true;
            text(itself)
        }
    }
}

pub(crate) fn hours_in_day<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let n = i64::from(call.integer(0));
    Ok(Value::Integer(dataset(call)?.0.hours_in_day(nominal(call)?, n)))
}

pub(crate) fn days_in_month<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let n = i64::from(call.integer(0));
    Ok(Value::Integer(dataset(call)?.0.days_in_month(nominal(call)?, n)))
}

pub(crate) fn tz_offset<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (dataset, _) = dataset(call)?;
    if call.phase == super::Phase::CoordinatorActionStart {
        // The server has no access to the coordinator's zone in this phase.
        let message = "the coordinator has no time zone here";
        return Err(Failure::exception("NullPointerException", message));
    }
    let coordinator = coordinator(call)?.timezone().unwrap_or(Cow::Borrowed("UTC"));
    let coordinator = zone(&coordinator)?;
    Ok(Value::Integer(dataset.zone_offset_minutes(nominal(call)?, &coordinator)))
}

pub(crate) fn date_offset<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (base, n) = (instant(call, 0)?, i64::from(call.integer(1)));
    let (unit, zone) = (unit(&call.text(2))?, processing(call));
    text(zone.format(unit.map_or(base, |unit| offset_date(base, n, unit, zone))))
}

pub(crate) fn date_tz_offset<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let base = instant(call, 0)?;
    let zone = zone(&call.text(1))?;
    text(local_text(base, &zone, processing(call)))
}

pub(crate) fn format_time<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (base, pattern) = (any_instant(call, 0)?, call.text(1));
    let wrong = |reason: crate::time::PatternError| {
        Failure::exception("IllegalArgumentException", reason.to_string())
    };
    text(format(base, &pattern, processing(call)).map_err(wrong)?)
}

pub(crate) fn epoch_time<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (base, millis) = (any_instant(call, 0)?, call.text(1));
    let number = if millis.eq_ignore_ascii_case("true") { base.millis() } else { base.0 };
    text(number.to_string())
}

pub(crate) fn nominal_time<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    text(processing(call).format(nominal(call)?))
}

pub(crate) fn actual_time<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    text(processing(call).format(actual(call)?))
}
