//! `/v1/sla` and `/v2/sla`: the outcome of SLAs. (`reference` of the web API, 10)

use crate::Shared;
use crate::answer::{Answer, Fault, XML};
use crate::request::Request;
use ankus_engine::driver::view::{self, Expectation};
use ankus_engine::driver::{bundle, coordinator, object};
use ankus_lang::coordinator::{Sla, SlaEvent, SlaStatus};
use ankus_lang::time::ProcessingZone;
use ankus_procedure::store::Reader;
use serde_json::{Value, json};

/// The names that a filter may use.
const NAMES: &[&str] = &[
    "app_name",
    "app_type",
    "user_name",
    "job_status",
    "nominal_after",
    "nominal_before",
    "nominal_start",
    "nominal_end",
    "created_after",
    "created_before",
    "expectedstart_after",
    "expectedstart_before",
    "expectedend_after",
    "expectedend_before",
    "actualstart_after",
    "actualstart_before",
    "actualend_after",
    "actualend_before",
    "actual_duration_min",
    "actual_duration_max",
    "expected_duration_min",
    "expected_duration_max",
    "sla_status",
    "event_status",
    "id",
    "parent_id",
    "bundle",
];

/// The columns by which a list can be sorted.
const COLUMNS: &[&str] = &[
    "id",
    "parentId",
    "appName",
    "appType",
    "user",
    "nominalTime",
    "expectedStart",
    "actualStart",
    "expectedEnd",
    "actualEnd",
    "expectedDuration",
    "actualDuration",
    "jobStatus",
    "slaStatus",
    "lastModified",
];

pub(super) fn answer(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    match (request.method.as_str(), request.version) {
        ("GET", 1) => old(request),
        ("GET", _) => summaries(shared, request),
        _ => Err(Fault::resource("")),
    }
}

/// Returns the list of the first version, whose events current servers do not store.
fn old(request: &Request) -> Result<Answer, Fault> {
    let missing =
        |why: &str| Fault::new("E0401", format!("Missing configuration property [{why}]"));
    let Some(number) = request.parameter("gt-sequence-id") else {
        return Err(missing("gt-sequence-id parameter is not specified in the http request"));
    };
    let number: i64 = number.parse().map_err(|_| {
        Fault::new("E0307", format!("Runtime error [For input string: \"{number}\"]"))
    })?;
    let filter = request.parameter("filter").unwrap_or_default();
    let names = filter.split(';').filter(|token| !token.is_empty());
    let mut names = names.map(|token| token.split_once('=').map_or(token, |(name, _)| name));
    if !names.all(|name| matches!(name, "jobid" | "appname")) {
        return Err(missing("invalid/unsupported names in filter"));
    }
    Ok(Answer::of(
        XML,
        format!(
            "<sla-message>\r\n  <last-sequence-id>{number}</last-sequence-id>\r\n</sla-message>\n"
        ),
    ))
}

/// A term of the filter.
struct Term<'a> {
    name: &'a str,
    value: &'a str,
}

fn terms(text: &str) -> Result<Vec<Term<'_>>, Fault> {
    let mut terms = Vec::new();
    for token in text.split(';').filter(|token| !token.is_empty()) {
        let Some((name, value)) = token.split_once('=').filter(|(_, value)| !value.is_empty())
        else {
            let why = format!(
                "Invalid parameter value, [{text}] = [elements must be semicolon-separated name=value pairs]"
            );
            return Err(Fault::new("E0401", why));
        };
        if !NAMES.contains(&name) {
            let why = format!("Invalid/unsupported names in filter: {name}");
            return Err(Fault::new("E0401", format!("Missing configuration property [{why}]")));
        }
        terms.push(Term { name, value });
    }
    Ok(terms)
}

/// Returns the field by which a list is sorted: by its name, or by the name with underscores (`app_name`).
fn column(name: &str) -> Result<&'static str, Fault> {
    let plain = name.replace('_', "").to_lowercase();
    let found = COLUMNS.iter().find(|known| {
        let known = known.to_lowercase();
        known == plain || plain.strip_suffix("name") == Some(known.as_str())
    });
    found.copied().ok_or_else(|| {
        let why = format!("Invalid parameter value, [invalid sortby column: {name}] = [{{1}}]");
        Fault::new("E0303", why).status(500)
    })
}

/// An SLA with its job or action.
struct Expected {
    id: String,
    parent: Option<String>,
    name: String,
    kind: &'static str,
    user: String,
    status: &'static str,
    sla: Sla,
    /// In seconds since 1970, like all times here.
    started: Option<i64>,
    ended: Option<i64>,
    created: i64,
    /// Id and name of the coordinator's bundle.
    bundle: Option<(String, String)>,
    is_silent: bool,
}

impl Expected {
    /// Returns the SLAs of coordinator actions, of workflows and of workflow actions.
    fn all(reader: &dyn Reader) -> Result<Vec<Expected>, Fault> {
        let mut all = Vec::new();
        for record in coordinator::records(reader)? {
            let actions = coordinator::actions(reader, &record.id)?;
            if !actions.values().any(|kept| kept.run.sla.is_some()) {
                continue;
            }
            let properties = coordinator::definition(reader, &record.id)?.properties;
            let bundle = record.bundle.as_ref().map(|(id, _)| id.clone());
            let name = |id: &String| bundle::record(reader, id).ok().flatten().map(|it| it.name);
            let bundle = bundle.map(|id| (name(&id).unwrap_or_default(), id));
            for (number, kept) in actions {
                let Some(sla) = kept.run.sla.clone() else { continue };
                let times = (kept.run.data.nominal, kept.run.created);
                all.push(Expected {
                    is_silent: coordinator::is_silent(&properties, &record, number, times),
                    id: format!("{}@{number}", record.id),
                    parent: Some(record.id.clone()),
                    name: record.name.clone(),
                    kind: "COORDINATOR_ACTION",
                    user: record.user.clone(),
                    status: kept.run.status.name(),
                    sla,
                    started: kept.beside.started,
                    ended: kept.beside.ended,
                    created: kept.run.created.0,
                    bundle: bundle.clone().map(|(name, id)| (id, name)),
                });
            }
        }
        let of = |of: Expectation| Expected {
            id: of.id,
            parent: of.parent,
            name: of.name,
            kind: of.kind,
            user: of.user,
            status: of.status,
            started: of.progress.started.map(|at| at.0),
            ended: of.progress.ended.map(|at| at.0),
            sla: of.sla,
            created: of.created / 1_000,
            bundle: None,
            is_silent: false,
        };
        all.extend(view::expectations(reader)?.into_iter().map(of));
        Ok(all)
    }

    /// Returns the events so far, in the order of the server, with the difference between expected and actual times in
    /// minutes.
    fn events(&self, now: i64) -> Vec<(SlaEvent, i64)> {
        let mut events = Vec::new();
        let mut point = |expected: Option<i64>, actual: Option<i64>, met, miss| {
            let Some(expected) = expected else { return };
            let late = (actual.unwrap_or(now) - expected) / 60;
            match (late > 0, actual) {
                (true, _) => events.push((miss, late)),
                (false, Some(_)) => events.push((met, late)),
                (false, None) => {}
            }
        };
        let start = self.sla.expected_start.map(|at| at.0);
        point(start, self.started, SlaEvent::StartMet, SlaEvent::StartMiss);
        let most = self.sla.expected_minutes.filter(|minutes| *minutes >= 0);
        if let Some((most, started)) = most.zip(self.started) {
            let by = Some(started + most * 60);
            point(by, self.ended, SlaEvent::DurationMet, SlaEvent::DurationMiss);
        }
        let end = Some(self.sla.expected_end.0);
        point(end, self.ended, SlaEvent::EndMet, SlaEvent::EndMiss);
        // An unsuccessful end counts as a missed end, even if it was in time.
        let is_missed = self.ended.is_some() && self.sla.status == SlaStatus::Miss;
        for (event, _) in &mut events {
            if *event == SlaEvent::EndMet && is_missed {
                *event = SlaEvent::EndMiss;
            }
        }
        events
    }

    /// Returns expected and actual duration, in milliseconds; -1 if unknown.
    fn durations(&self) -> (i64, i64) {
        let expected = self.sla.expected_minutes.map_or(-1, |minutes| minutes * 60_000);
        let actual = self.started.zip(self.ended).map(|(from, to)| (to - from) * 1_000);
        (expected, actual.unwrap_or(-1))
    }

    fn fits(&self, term: &Term<'_>, now: i64) -> Result<bool, Fault> {
        let text = term.value;
        let any = |words: &[&str]| text.split(',').any(|one| words.contains(&one.trim()));
        let (column, bound) = term.name.rsplit_once('_').unwrap_or((term.name, ""));
        let (expected, actual) = self.durations();
        let number = match column {
            "nominal" => Some(self.sla.nominal.0),
            "created" => Some(self.created),
            "expectedstart" => self.sla.expected_start.map(|at| at.0),
            "expectedend" => Some(self.sla.expected_end.0),
            "actualstart" => self.started,
            "actualend" => self.ended,
            "actual_duration" => Some(actual),
            "expected_duration" => Some(expected),
            _ => {
                return Ok(match term.name {
                    "app_name" => like(text, &self.name),
                    "app_type" => like(text, self.kind),
                    "user_name" => like(text, &self.user),
                    "job_status" => like(text, self.status),
                    "sla_status" => any(&[self.sla.status.name()]),
                    "event_status" => {
                        let events = self.events(now);
                        any(&events.iter().map(|(event, _)| event.name()).collect::<Vec<_>>())
                    }
                    "bundle" => {
                        self.bundle.as_ref().is_some_and(|(id, name)| id == text || name == text)
                    }
                    // These terms are evaluated together.
                    _ => true,
                });
            }
        };
        let wrong =
            || Fault::new("E0303", format!("Invalid parameter value, [{}] = [{text}]", term.name));
        let wanted = match column.ends_with("duration") {
            true => text.parse().map_err(|_| wrong())?,
            false => ProcessingZone::UTC.parse(text).map_err(|_| wrong())?.0,
        };
        Ok(number.is_some_and(|number| match bound {
            "before" | "end" | "max" => number <= wanted,
            _ => number >= wanted,
        }))
    }

    /// `id` and `parent_id` together match either.
    fn is_named(&self, terms: &[Term<'_>]) -> bool {
        let mut named = terms.iter().filter(|term| matches!(term.name, "id" | "parent_id"));
        let is = |term: &Term<'_>| match term.name {
            "id" => self.id == term.value,
            _ => self.parent.as_deref() == Some(term.value),
        };
        let Some(first) = named.next() else { return true };
        is(first) || named.any(is)
    }

    fn summary(&self, now: i64, is_text: bool) -> Value {
        let at = |seconds: Option<i64>| match is_text {
            true => object::date(seconds.map(|seconds| seconds * 1_000)),
            false => json!(seconds.map(|seconds| seconds * 1_000)),
        };
        let events = self.events(now);
        let names: Vec<&str> = events.iter().map(|(event, _)| event.name()).collect();
        let (expected, actual) = self.durations();
        let mut summary = json!({
            "id": self.id,
            "parentId": self.parent,
            "appName": self.name,
            "appType": self.kind,
            "user": self.user,
            "nominalTime": at(Some(self.sla.nominal.0)),
            "expectedStart": at(self.sla.expected_start.map(|time| time.0)),
            "actualStart": at(self.started),
            "expectedEnd": at(Some(self.sla.expected_end.0)),
            "actualEnd": at(self.ended),
            "expectedDuration": expected,
            "actualDuration": actual,
            "jobStatus": self.status,
            "slaStatus": self.sla.status.name(),
            "eventStatus": names.join(","),
            "slaAlertStatus": if self.is_silent { "Disabled" } else { "Enabled" },
            "lastModified": at(self.ended.or(self.started).or(Some(self.created))),
        });
        for (event, late) in events {
            let delay = match event {
                SlaEvent::StartMet | SlaEvent::StartMiss => "startDelay",
                SlaEvent::DurationMet | SlaEvent::DurationMiss => "durationDelay",
                SlaEvent::EndMet | SlaEvent::EndMiss => "endDelay",
            };
            summary[delay] = late.into();
        }
        summary
    }
}

/// Whether a text matches a pattern of SQL's LIKE: `%` stands for any text, `_` for any character.
fn like(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut of) = (0, 0);
    // The position from which to retry if the text after the last `%` does not match: one character further.
    let mut again = None;
    while of < text.len() {
        match pattern.get(at) {
            Some('%') => {
                again = Some((at, of));
                at += 1;
            }
            Some(wanted) if *wanted == '_' || *wanted == text[of] => (at, of) = (at + 1, of + 1),
            _ => match &mut again {
                Some((sign, taken)) => {
                    *taken += 1;
                    (at, of) = (*sign + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '%')
}

fn summaries(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let filter = terms(request.required("filter")?)?;
    let sorted = request.parameter("sortby").map(column).transpose()?;
    let length = request.number("len")?.filter(|length| *length > 0).unwrap_or(1_000);
    let reader = shared.backend.reader()?;
    let is_text = request.parameter("timezone").is_some();
    let now = shared.now() / 1_000;
    let mut found: Vec<(i64, Value)> = Vec::new();
    for expected in Expected::all(&*reader)? {
        let mut is_in = expected.is_named(&filter);
        for term in &filter {
            is_in &= expected.fits(term, now)?;
        }
        if is_in {
            found.push((expected.sla.nominal.0, expected.summary(now, is_text)));
        }
    }
    match sorted {
        None => found.sort_by_key(|(nominal, _)| *nominal),
        Some(key) => found.sort_by(|(_, one), (_, other)| {
            let (one, other) = (&one[key], &other[key]);
            let numbers = one.as_i64().zip(other.as_i64()).map(|(one, other)| one.cmp(&other));
            numbers.unwrap_or_else(|| one.to_string().cmp(&other.to_string()))
        }),
    }
    if request.parameter("order") == Some("desc") {
        found.reverse();
    }
    let rows = found.into_iter().take(usize::try_from(length).unwrap_or(usize::MAX));
    let rows: Vec<Value> = rows.map(|(_, row)| row).collect();
    Ok(Answer::json(&json!({"slaSummaryList": rows})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_databases() {
        for (pattern, text) in [
            ("daily", "daily"),
            ("da%", "daily"),
            ("%", ""),
            ("%ai%", "daily"),
            ("d_ily", "daily"),
            ("%a%a", "banana"),
        ] {
            assert!(like(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("da", "daily"), ("d_ly", "daily"), ("%b", "daily"), ("", "daily")]
        {
            assert!(!like(pattern, text), "{pattern} {text}");
        }
        // Matching never takes long.
        assert!(!like(&"%a".repeat(200), &"b".repeat(5_000)));
    }
}
