//! `/vN/jobs`: submits, lists and commands several jobs. (`reference` of the web API, 5)

use std::collections::BTreeMap;

use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::backend::Submission;
use crate::beans;
use crate::request::Request;
use ankus_engine::driver::list::{self, Kind};
use ankus_engine::driver::{bundle, coordinator, filter, view};
use ankus_lang::machine::Command;
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::machine::coordinator::{ActionStatus, Event};
use serde_json::{Value, json};

/// Default length of a list.
const LENGTH: i64 = 50;
/// The application paths, one of which is required.
const PATHS: [&str; 3] =
    ["oozie.wf.application.path", "oozie.coord.application.path", "oozie.bundle.application.path"];

pub(super) fn answer(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    match request.method.as_str() {
        "POST" => submit(shared, request),
        "GET" if request.parameter("bulk").is_some() => bulk(shared, request),
        "GET" if request.parameter("external-id").is_some() => external(shared, request),
        "GET" => Ok(Answer::json(&listed(shared, request)?.0)),
        "PUT" => many(shared, request),
        _ => Err(Fault::resource("")),
    }
}

/// Returns the properties of a submission, including the user on whose behalf it runs.
pub(super) fn submission(request: &Request) -> Result<BTreeMap<String, String>, Fault> {
    let mut configuration = request.configuration()?;
    if let Some(user) = request.user() {
        configuration.insert("user.name".to_owned(), user.to_owned());
    }
    match configuration.get("user.name") {
        Some(user) if !user.is_empty() => Ok(configuration),
        _ => Err(Fault::plain("E1603", "user cannot be null")),
    }
}

fn submit(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let configuration = submission(request)?;
    if let Some(kind) = request.parameter("jobtype") {
        return Err(match kind {
            // Every server since 5.1 refuses these: it forbids the user property that it sets itself.
            "mapreduce" | "pig" | "hive" | "sqoop" => {
                let inner = "E0808: Disallowed user property [user.name]";
                Fault::new("E0803", format!("IO error, {inner}"))
            }
            other => Fault::value("jobtype", other),
        });
    }
    let named: Vec<&str> =
        PATHS.into_iter().filter(|path| configuration.contains_key(*path)).collect();
    if named.len() > 1 {
        let why = "Invalid parameter [Multiple app paths specified, only one is allowed]";
        return Err(Fault::new("E0302", why));
    }
    if request.version == 0 && named != [PATHS[0]] {
        let why = format!("Missing configuration property [{}]", PATHS[0]);
        return Err(Fault::new("E0401", why));
    }
    let how = match request.parameter("action") {
        None => Submission::Hold,
        Some("start") => Submission::Start,
        Some("dryrun") if request.version > 0 => Submission::DryRun,
        Some(other) => return Err(Fault::value("action", other)),
    };
    let id = shared.backend.submit(&configuration, how)?;
    Ok(Answer::created(&json!({"id": id})))
}

/// Returns the kind of jobs that a request refers to.
fn kind(request: &Request) -> Result<Kind, Fault> {
    Ok(match request.parameter("jobtype").unwrap_or("wf") {
        kind if kind.contains("wf") => Kind::Workflow,
        kind if kind.contains("coord") => Kind::Coordinator,
        kind if kind.contains("bundle") => Kind::Bundle,
        _ => {
            // The server throws a null pointer exception here; clients do not depend on the message.
            return Err(Fault::internal(
                "java.lang.NullPointerException: Cannot invoke \"org.json.simple.JSONStreamAware.writeJSONString(java.io.Writer)\" because \"json\" is null",
            ));
        }
    })
}

/// Maximum length of a search text for names, in bytes; names themselves have at most 255 characters.
const LONGEST_SEARCH: usize = 1_024;

/// Returns a page of a list, and the ids on it.
fn listed(shared: &Shared, request: &Request) -> Result<(Value, Vec<String>), Fault> {
    let kind = kind(request)?;
    page(shared, request, kind)
}

fn page(shared: &Shared, request: &Request, kind: Kind) -> Result<(Value, Vec<String>), Fault> {
    let reader = shared.backend.reader()?;
    let reader = &*reader;
    let text = request.parameter("filter").unwrap_or_default();
    let wanted = filter::parse(text, Some(kind), shared.now());
    let mut wanted = wanted.map_err(|refused| Fault::new(refused.code, refused.message))?;
    wanted.search = request.parameter("search").filter(|text| !text.is_empty()).map(str::to_owned);
    if wanted.search.as_ref().is_some_and(|text| text.len() > LONGEST_SEARCH) {
        return Err(Fault::value("search", "too long"));
    }
    let offset = request.number("offset")?.unwrap_or(1).max(1);
    let length = request.number("len")?.filter(|length| *length > 0).unwrap_or(LENGTH);
    let number = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
    let (listed, total) = list::jobs(reader, &wanted, number(offset - 1), number(length))?;
    let ids: Vec<String> = listed.iter().map(|job| job.id.clone()).collect();
    let mut objects: Vec<Value> = Vec::new();
    for id in &ids {
        match kind {
            Kind::Workflow => {
                let record = view::record(reader, id)?;
                objects.extend(record.map(|it| beans::workflow_row(&it.job, &request.base)));
            }
            Kind::Coordinator => {
                let Some(record) = coordinator::record(reader, id)? else { continue };
                let definition = coordinator::definition(reader, id).ok();
                let mut object = beans::coordinator(&record, definition.as_ref(), None);
                // The server does not load these fields for lists.
                object["mat_throttling"] = 0.into();
                object["pauseTime"] = Value::Null;
                objects.push(object);
            }
            Kind::Bundle => {
                let Some(record) = bundle::record(reader, id)? else { continue };
                let definition = bundle::definitions(reader, id).ok().map(|(bundle, _)| bundle);
                let none = BTreeMap::new();
                let properties = definition.as_ref().map_or(&none, |it| &it.properties);
                let mask = shared.backend.mask(properties, None);
                objects.push(beans::bundle(&record, definition.as_ref(), &*mask));
            }
        }
    }
    let name = match kind {
        Kind::Workflow => "workflows",
        Kind::Coordinator => "coordinatorjobs",
        Kind::Bundle => "bundlejobs",
    };
    let mut object = json!({name: objects, "total": total, "offset": offset, "len": length});
    beans::in_zone(&mut object, request.parameter("timezone"));
    Ok((object, ids))
}

/// Returns the job with an external id.
fn external(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let wanted = request.parameter("external-id").unwrap_or_default();
    if kind(request)? != Kind::Workflow {
        return Ok(Answer::json(&json!({})));
    }
    let reader = shared.backend.reader()?;
    let id = list::by_external_id(&*reader, wanted)?.map(|job| job.id).unwrap_or_default();
    Ok(Answer::json(&json!({"id": id})))
}

/// Sends a command to every job of a list, and lists them again.
fn many(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    if request.parameter("filter").is_none() {
        return Err(Fault::plain("E1603", "filter params must be specified for bulk write API"));
    }
    let action = request.required("action")?;
    if !matches!(action, "kill" | "suspend" | "resume") {
        return Err(Fault::value("action", action));
    }
    // The server fails if the parameter is missing, and takes unknown values as coordinators.
    let kind = match request.parameter("jobtype") {
        None => return Err(Fault::internal("")),
        Some("wf") => Kind::Workflow,
        Some("bundle") => Kind::Bundle,
        Some(_) => Kind::Coordinator,
    };
    let (_, ids) = page(shared, request, kind)?;
    let by = request.user().unwrap_or_default();
    let reader = shared.backend.reader()?;
    for id in &ids {
        super::command::may_change(shared, request, &*reader, id)?;
        super::command::command(shared, by, id, action)?;
    }
    let (mut object, _) = page(shared, request, kind)?;
    for row in object["workflows"].as_array_mut().into_iter().flatten() {
        let record = row["id"].as_str().map(|id| view::record(&*reader, id)).transpose()?;
        row["externalId"] = json!(record.flatten().and_then(|record| record.job.external_id));
        row["consoleUrl"] = Value::Null;
    }
    object["ids"] = json!([]);
    Ok(Answer::json(&object))
}

/// Returns the commands for `kill`, `suspend` and `resume`, by kind of job.
pub(super) fn commands(action: &str) -> Option<(Command, Event, BundleEvent)> {
    Some(match action {
        "kill" => (Command::Kill, Event::Kill, BundleEvent::Kill),
        "suspend" => (Command::Suspend, Event::Suspend, BundleEvent::Suspend),
        "resume" => (Command::Resume, Event::Resume, BundleEvent::Resume),
        _ => return None,
    })
}

/// The bundles, coordinators and actions that a bulk request refers to.
#[derive(Default)]
struct Bulk {
    bundles: Vec<String>,
    coordinators: Vec<String>,
    statuses: Vec<String>,
    created: (Option<i64>, Option<i64>),
    scheduled: (Option<i64>, Option<i64>),
}

impl Bulk {
    fn parse(text: &str) -> Result<Bulk, Fault> {
        let mut bulk = Bulk::default();
        let invalid = |what: &str, why: &str| {
            Fault::new("E0420", format!("Invalid jobs filter [{what}], {why}"))
        };
        let broken = |why: &str| invalid(text, why);
        let list = |value: &str| value.split(',').map(|one| one.trim().to_owned()).collect();
        for token in text.split(';').filter(|token| !token.is_empty()) {
            let Some((name, value)) = token
                .split_once('=')
                .filter(|(_, value)| !value.is_empty() && !value.contains('='))
            else {
                return Err(broken("elements must be semicolon-separated name=value pairs"));
            };
            let time = || {
                let time = ankus_lang::time::ProcessingZone::UTC.parse(value);
                time.map(|time| Some(time.0))
                    .map_err(|_| broken(&format!("invalid datetime [{value}]")))
            };
            match name {
                "bundle" => bulk.bundles = list(value),
                "coordinators" => bulk.coordinators = list(value),
                "actionstatus" => {
                    bulk.statuses = list(value);
                    let is_one = |text: &String| {
                        ActionStatus::ALL.iter().any(|status| status.name() == text.as_str())
                    };
                    if let Some(wrong) = bulk.statuses.iter().find(|text| !is_one(text)) {
                        return Err(broken(&format!("invalid action status [{wrong}]")));
                    }
                }
                "startcreatedtime" => bulk.created.0 = time()?,
                "endcreatedtime" => bulk.created.1 = time()?,
                "startscheduledtime" => bulk.scheduled.0 = time()?,
                "endscheduledtime" => bulk.scheduled.1 = time()?,
                "filterlevel" => {}
                other => {
                    return Err(invalid(token, &format!("invalid parameter name [{other}]")));
                }
            }
        }
        if bulk.bundles.is_empty() {
            return Err(Fault::missing("bundle"));
        }
        if bulk.statuses.is_empty() {
            bulk.statuses = vec!["KILLED".to_owned(), "FAILED".to_owned()];
        }
        Ok(bulk)
    }
}

/// Returns the actions of the coordinators of bundles.
fn bulk(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let wanted = Bulk::parse(request.parameter("bulk").unwrap_or_default())?;
    let reader = shared.backend.reader()?;
    let offset = request.number("offset")?.unwrap_or(1).max(1);
    let length = request.number("len")?.filter(|length| *length > 0).unwrap_or(LENGTH);
    let is_in =
        |list: &[String], id: &str, name: &str| list.iter().any(|one| one == id || one == name);
    let within = |(from, to): (Option<i64>, Option<i64>), at: i64| {
        from.is_none_or(|from| at >= from) && to.is_none_or(|to| at <= to)
    };
    let bundles = bundle::records(&*reader)?;
    let bundles: Vec<_> =
        bundles.into_iter().filter(|it| is_in(&wanted.bundles, &it.id, &it.name)).collect();
    if bundles.is_empty() {
        let why = "E0603: SQL error in operation, No entries found for given bundle(s)";
        return Err(Fault::new("E0603", format!("SQL error in operation, {why}")));
    }
    let mut found = Vec::new();
    for bundle in &bundles {
        for id in bundle.coordinators.iter().flatten() {
            let Some(record) = coordinator::record(&*reader, id)? else { continue };
            if !wanted.coordinators.is_empty()
                && !is_in(&wanted.coordinators, &record.id, &record.name)
            {
                continue;
            }
            for (number, kept) in coordinator::actions(&*reader, id)? {
                let status = kept.run.status.name();
                if wanted.statuses.iter().any(|wanted| wanted == status)
                    && within(wanted.created, kept.run.created.0)
                    && within(wanted.scheduled, kept.run.data.nominal.0)
                {
                    found.push(json!({
                        "bulkbundle": beans::bulk_bundle(bundle),
                        "bulkcoord": beans::bulk_coordinator(&record),
                        "bulkaction": beans::bulk_action(id, number, &kept),
                    }));
                }
            }
        }
    }
    let total = found.len();
    let skipped = usize::try_from(offset - 1).unwrap_or(usize::MAX);
    let rows: Vec<Value> = found
        .into_iter()
        .skip(skipped)
        .take(usize::try_from(length).unwrap_or(usize::MAX))
        .collect();
    let mut object =
        json!({"bulkresponses": rows, "total": total, "offset": offset, "len": length});
    beans::in_zone(&mut object, request.parameter("timezone"));
    Ok(Answer::json(&object))
}
