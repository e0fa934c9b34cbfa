//! `/v1/sla` and `/v2/sla`: what came of expectations. (`reference` of the web API, 10)

use crate::Shared;
use crate::answer::{Answer, Fault, XML};
use crate::request::Request;
use ankus_engine::driver::coordinator;
use ankus_lang::coordinator::Sla;
use serde_json::{Value, json};

/// The names that a filter may have.
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

/// By what a list can be sorted.
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

/// The list of the first version, whose events no server of this century keeps.
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

/// One filter of the list.
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

/// The member of an expectation by which a list is sorted: its name, or that with underscores (`app_name`).
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

fn summaries(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let filter = terms(request.required("filter")?)?;
    let sorted = request.parameter("sortby").map(column).transpose()?;
    let length = request.number("len")?.filter(|length| *length > 0).unwrap_or(1_000);
    let reader = shared.backend.reader()?;
    let is_text = request.parameter("timezone").is_some();
    let mut found: Vec<(i64, Value)> = Vec::new();
    for record in coordinator::records(&*reader)? {
        for (number, kept) in coordinator::actions(&*reader, &record.id)? {
            let Some(sla) = &kept.run.sla else { continue };
            let id = format!("{}@{number}", record.id);
            let parent = &record.id;
            let status = kept.run.status.name();
            let is_in = filter.iter().all(|term| match term.name {
                "app_name" => record.name == term.value,
                "app_type" => "COORDINATOR_ACTION".contains(term.value),
                "user_name" => record.user == term.value,
                "job_status" => status == term.value,
                "id" => id == term.value,
                "parent_id" => parent == term.value,
                "sla_status" => term.value.split(',').any(|one| one == sla.status.name()),
                "bundle" => record.bundle.as_ref().is_some_and(|(bundle, _)| bundle == term.value),
                _ => true,
            });
            if is_in {
                found.push((
                    sla.nominal.0,
                    summary(&id, parent, &record, status, sla, &kept, is_text),
                ));
            }
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

fn summary(
    id: &str,
    parent: &str,
    record: &coordinator::Record,
    status: &str,
    sla: &Sla,
    kept: &coordinator::Kept,
    is_text: bool,
) -> Value {
    let at = |seconds: Option<i64>| match is_text {
        true => ankus_engine::driver::object::date(seconds.map(|seconds| seconds * 1_000)),
        false => json!(seconds.map(|seconds| seconds * 1_000)),
    };
    let duration = kept.beside.started.zip(kept.beside.ended).map(|(from, to)| (to - from) * 1_000);
    json!({
        "id": id,
        "parentId": parent,
        "appName": record.name,
        "appType": "COORDINATOR_ACTION",
        "user": record.user,
        "nominalTime": at(Some(sla.nominal.0)),
        "expectedStart": at(sla.expected_start.map(|time| time.0)),
        "actualStart": at(kept.beside.started),
        "expectedEnd": at(Some(sla.expected_end.0)),
        "actualEnd": at(kept.beside.ended),
        "expectedDuration": sla.expected_minutes.map_or(-1, |minutes| minutes * 60_000),
        "actualDuration": duration.unwrap_or(-1),
        "jobStatus": status,
        "slaStatus": sla.status.name(),
        "slaAlertStatus": "Enabled",
        "lastModified": at(kept.beside.ended.or(kept.beside.started).or(Some(kept.run.created.0))),
    })
}
