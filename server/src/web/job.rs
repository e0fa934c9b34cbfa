//! `/vN/job/ID`: shows a single job; `command.rs` has its commands. (`reference` of the web API, 6)

use std::collections::BTreeMap;

use super::command;
use super::filter::ActionFilter;
use crate::Shared;
use crate::answer::{Answer, Fault, TEXT, XML};
use crate::backend::Log;
use crate::request::Request;
use crate::{beans, dot};
use ankus_engine::driver::coordinator::Kept;
use ankus_engine::driver::list::{self, Wanted};
use ankus_engine::driver::{JobRecord, bundle, coordinator, object, view};
use ankus_lang::machine::coordinator::{ActionStatus, ScopeKind, Status as Timed};
use ankus_lang::machine::{Change, Status};
use ankus_lang::time::ProcessingZone;
use ankus_procedure::store::Reader;
use serde_json::{Value, json};

/// Default number of actions of a coordinator that are returned.
const ACTIONS: i64 = 1_000;
/// Maximum number of actions in a range.
const MOST_NUMBERS: i64 = 100_000;

/// Maximum number of reruns of an action that are returned.
const MOST_RUNS: usize = 10_000;

/// The kind of job that an id denotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Workflow,
    Coordinator,
    Bundle,
}

/// A job id, with the action after its `@`.
pub(super) struct Id<'a> {
    pub(super) whole: &'a str,
    pub(super) job: &'a str,
    pub(super) action: Option<&'a str>,
    pub(super) kind: Kind,
}

impl<'a> Id<'a> {
    pub(super) fn new(whole: &'a str) -> Id<'a> {
        let (job, action) = match whole.split_once('@') {
            Some((job, action)) => (job, Some(action)),
            None => (whole, None),
        };
        let kind = match job {
            job if job.ends_with("-C") => Kind::Coordinator,
            job if job.ends_with("-B") => Kind::Bundle,
            _ => Kind::Workflow,
        };
        Id { whole, job, action, kind }
    }
}

/// Returns the error for an unknown id where the server loads the job.
pub(super) fn no_job(id: &str) -> Fault {
    Fault::new("E0604", format!("Job does not exist [{id}]"))
}

/// Returns the error for an unknown id where the server runs this query.
pub(super) fn no_row(query: &str) -> Fault {
    Fault::new("E0605", format!("Action does not exist [{query}]"))
}

pub(super) const WORKFLOW_QUERY: &str = "select OBJECT(w) from WorkflowJobBean w where w.id = :id";
pub(super) const COORDINATOR_QUERY: &str =
    "select OBJECT(w) from CoordinatorJobBean w where w.id = :id";
pub(super) const BUNDLE_QUERY: &str = "select OBJECT(w) from BundleJobBean w where w.id = :id";

/// Returns the query by which the server loads a job for this purpose.
pub(super) fn query(kind: Kind, what: &str) -> &'static str {
    match (kind, what) {
        (Kind::Workflow, "status" | "suspend") => {
            "select w.statusStr from WorkflowJobBean w where w.id = :id"
        }
        (Kind::Workflow, "definition" | "graph") => {
            "select w.id, w.user, w.group, w.appName, w.logToken, w.wfInstance from WorkflowJobBean w where w.id = :id"
        }
        (Kind::Workflow, "resume") => {
            "select w.id, w.user, w.group, w.appName, w.appPath, w.statusStr, w.parentId, w.startTimestamp, w.endTimestamp, w.logToken, w.wfInstance, w.protoActionConf from WorkflowJobBean w where w.id = :id"
        }
        (Kind::Workflow, "kill") => {
            "select w.id, w.user, w.group, w.appName, w.appPath, w.statusStr, w.parentId, w.startTimestamp, w.endTimestamp, w.logToken, w.wfInstance, w.slaXml, w.protoActionConf from WorkflowJobBean w where w.id = :id"
        }
        (Kind::Coordinator, "status") => {
            "select w.statusStr from CoordinatorJobBean w where w.id = :id"
        }
        (Kind::Coordinator, "suspend" | "kill") => {
            "select w.id, w.user, w.group, w.appName, w.statusStr, w.bundleId, w.appNamespace, w.doneMaterialization from CoordinatorJobBean w where w.id = :id"
        }
        (Kind::Bundle, "status" | "change") => {
            "select w.statusStr from BundleJobBean w where w.id = :id"
        }
        (Kind::Workflow, _) => WORKFLOW_QUERY,
        (Kind::Coordinator, _) => COORDINATOR_QUERY,
        (Kind::Bundle, _) => BUNDLE_QUERY,
    }
}

pub(super) fn answer(shared: &Shared, request: &Request, id: &str) -> Result<Answer, Fault> {
    let id = Id::new(id);
    match request.method.as_str() {
        "GET" => show(shared, request, &id),
        "PUT" => command::act(shared, request, &id),
        _ => Err(Fault::resource(id.whole)),
    }
}

pub(super) fn newer(request: &Request, least: u8) -> Result<(), Fault> {
    match request.version >= least {
        true => Ok(()),
        false => Err(Fault::new(
            "E0302",
            format!("Invalid parameter [Not supported in v{}]", request.version),
        )),
    }
}

fn show(shared: &Shared, request: &Request, id: &Id<'_>) -> Result<Answer, Fault> {
    let reader = shared.backend.reader()?;
    let reader = &*reader;
    let mut object = match request.parameter("show").unwrap_or("info") {
        "info" => info(shared, request, reader, id)?,
        "definition" => return definition(shared, request, reader, id),
        "log" => return log(shared, request, reader, id, Log::All),
        "errorlog" => {
            newer(request, 2)?;
            return log(shared, request, reader, id, Log::Errors);
        }
        "auditlog" => {
            newer(request, 2)?;
            return log(shared, request, reader, id, Log::Audit);
        }
        "graph" => return picture(shared, request, reader, id),
        "status" => {
            newer(request, 2)?;
            json!({"status": status(reader, id)?})
        }
        "allruns" => {
            newer(request, 1)?;
            all_runs(reader, request, id)?
        }
        "jmstopic" => {
            newer(request, 2)?;
            let why = "JMSTopicService is not initialized. JMS notificationmay not be enabled";
            return Err(Fault::new("E1602", format!("Cannot retrieve Topic name [{why}]")));
        }
        "retries" => {
            newer(request, 2)?;
            retries(reader, id)?
        }
        "missing-dependencies" => {
            newer(request, 2)?;
            missing(reader, request, id)?
        }
        "wf-actions" => {
            newer(request, 2)?;
            workflow_actions(shared, reader, request, id)?
        }
        other => return Err(Fault::value("show", other)),
    };
    beans::in_zone(&mut object, request.parameter("timezone"));
    Ok(Answer::json(&object))
}

pub(super) fn workflow_record(reader: &dyn Reader, id: &str) -> Result<Option<JobRecord>, Fault> {
    Ok(view::record(reader, id)?)
}

/// Returns the workflow, coordinator or bundle, or the action after the `@`.
fn info(
    shared: &Shared,
    request: &Request,
    reader: &dyn Reader,
    id: &Id<'_>,
) -> Result<Value, Fault> {
    let (offset, length) = (request.number("offset")?, request.number("len")?);
    match (id.kind, id.action) {
        (Kind::Workflow, None) => {
            let record = workflow_record(reader, id.job)?.ok_or_else(|| no_job(id.job))?;
            let run = view::run(reader, &record)?;
            let plan = view::plan(reader, &record)?;
            let mask = shared.backend.mask(&run.conf, Some(&plan));
            let range = (offset.unwrap_or(1), length.unwrap_or(0));
            Ok(beans::workflow(&run, &plan, range, &request.base, &*mask))
        }
        (Kind::Workflow, Some(name)) => {
            let unknown = || no_row(&format!("{}@{name}", id.job));
            let record = workflow_record(reader, id.job)?.ok_or_else(unknown)?;
            let run = view::run(reader, &record)?;
            let plan = view::plan(reader, &record)?;
            let mask = shared.backend.mask(&run.conf, Some(&plan));
            let node = plan.find(name).ok_or_else(unknown)?;
            let row = run.rows.get(&node).ok_or_else(unknown)?;
            Ok(beans::action(&run, &plan, node, row, &*mask))
        }
        (Kind::Coordinator, None) => {
            let record = coordinator::record(reader, id.job)?.ok_or_else(|| no_job(id.job))?;
            if request.version == 0 {
                return Err(no_job(id.job));
            }
            let definition = coordinator::definition(reader, id.job).ok();
            let none = BTreeMap::new();
            let properties = definition.as_ref().map_or(&none, |it| &it.properties);
            let mask = shared.backend.mask(properties, None);
            let conf = beans::configuration(properties, &*mask);
            let mut object = beans::coordinator(&record, definition.as_ref(), Some(conf));
            let filter = ActionFilter::parse(request.parameter("filter"))?;
            let actions = coordinator::actions(reader, id.job)?;
            let mut shown: Vec<(i64, Kept)> = actions
                .into_iter()
                .filter(|(_, kept)| filter.lets(kept.run.status.name(), kept.run.data.nominal.0))
                .collect();
            if request.parameter("order") == Some("desc") {
                shown.reverse();
            }
            object["total"] = shown.len().into();
            let most = match length {
                None => ACTIONS,
                Some(length) if length < 0 || (length == 0 && request.version < 2) => ACTIONS,
                Some(length) => length,
            };
            let skipped = usize::try_from(offset.unwrap_or(1).max(1) - 1).unwrap_or(usize::MAX);
            let page = shown.iter().skip(skipped).take(usize::try_from(most).unwrap_or(usize::MAX));
            object["actions"] = page
                .map(|(number, kept)| {
                    beans::coordinator_action(id.job, *number, kept, definition.as_ref())
                })
                .collect();
            Ok(object)
        }
        (Kind::Coordinator, Some(number)) => {
            let (number, kept) = coordinator_action(reader, id.job, number)?;
            let definition = coordinator::definition(reader, id.job).ok();
            Ok(beans::coordinator_action(id.job, number, &kept, definition.as_ref()))
        }
        (Kind::Bundle, _) => {
            let record = bundle::record(reader, id.job)?.ok_or_else(|| no_job(id.job))?;
            let definition = bundle::definitions(reader, id.job).ok().map(|(bundle, _)| bundle);
            let none = BTreeMap::new();
            let mask =
                shared.backend.mask(definition.as_ref().map_or(&none, |it| &it.properties), None);
            let mut object = beans::bundle(&record, definition.as_ref(), &*mask);
            let mut members = Vec::new();
            // Before the bundle starts it has no coordinators, as on a server.
            let is_there = record.job.status != Timed::Prep;
            for member in record.coordinators.iter().flatten().filter(|_| is_there) {
                let Some(member) = coordinator::record(reader, member)? else { continue };
                let definition = coordinator::definition(reader, &member.id).ok();
                let properties = definition.as_ref().map_or(&none, |it| &it.properties);
                let conf = beans::configuration(properties, &*mask);
                members.push(beans::coordinator(&member, definition.as_ref(), Some(conf)));
            }
            object["bundleCoordJobs"] = members.into();
            Ok(object)
        }
    }
}

fn coordinator_action(reader: &dyn Reader, id: &str, number: &str) -> Result<(i64, Kept), Fault> {
    let unknown = || no_row(&format!("{id}@{number}"));
    let number: i64 = number.parse().map_err(|_| unknown())?;
    coordinator::record(reader, id)?.ok_or_else(unknown)?;
    let kept = coordinator::actions(reader, id)?.remove(&number).ok_or_else(unknown)?;
    Ok((number, kept))
}

fn definition(
    shared: &Shared,
    request: &Request,
    reader: &dyn Reader,
    id: &Id<'_>,
) -> Result<Answer, Fault> {
    exists(reader, id).map_err(|()| match id.kind {
        Kind::Workflow => no_row(query(id.kind, "definition")),
        _ => no_job(id.job),
    })?;
    if request.version == 0 && id.kind != Kind::Workflow {
        return Err(no_row(WORKFLOW_QUERY));
    }
    Ok(Answer::of(XML, shared.backend.definition(id.job)?))
}

/// Whether a job with this id exists.
pub(super) fn exists(reader: &dyn Reader, id: &Id<'_>) -> Result<(), ()> {
    let is_there = match id.kind {
        Kind::Workflow => view::record(reader, id.job).is_ok_and(|it| it.is_some()),
        Kind::Coordinator => coordinator::record(reader, id.job).is_ok_and(|it| it.is_some()),
        Kind::Bundle => bundle::record(reader, id.job).is_ok_and(|it| it.is_some()),
    };
    if is_there { Ok(()) } else { Err(()) }
}

fn log(
    shared: &Shared,
    request: &Request,
    reader: &dyn Reader,
    id: &Id<'_>,
    which: Log,
) -> Result<Answer, Fault> {
    let wrapped = |inner: &str| {
        Fault::new(
            "E0307",
            format!("Runtime error [org.apache.oozie.command.CommandException: {inner}]"),
        )
    };
    exists(reader, id).map_err(|()| match which {
        Log::All if id.kind == Kind::Bundle => {
            wrapped(&format!("E0604: Job does not exist [{}]", id.job))
        }
        Log::All => {
            let inner = format!("E0604: Job does not exist [{}]", id.job);
            Fault::new("E0307", format!("Runtime error [{inner}]"))
        }
        _ if id.kind == Kind::Bundle => {
            let inner = format!("E0604: Job does not exist [{}]", id.job);
            let outer = "java.io.IOException: org.apache.oozie.command.CommandException";
            Fault::internal(format!("{outer}: {inner}"))
        }
        _ => no_job(id.job),
    })?;
    let mut actions: Option<Vec<String>> = None;
    if id.kind == Kind::Coordinator
        && let (Some(kind), Some(scope)) = (request.parameter("type"), request.parameter("scope"))
    {
        let kind = scope_kind(kind)?;
        let (found, _) = scoped(reader, id.job, kind, scope, |_| true)?;
        actions = Some(found.iter().map(|number| format!("{}@{number}", id.job)).collect());
    }
    if let Some(action) = id.action {
        if id.kind == Kind::Coordinator {
            coordinator_action(reader, id.job, action)?;
        }
        actions = Some(vec![id.whole.to_owned()]);
    }
    let filter = request.parameter("logfilter").unwrap_or_default();
    let text = shared.backend.log(id.job, which, filter, actions.as_deref());
    let text = text.map_err(|fault| match fault.code.as_deref() {
        Some("E0302") => wrapped(&format!("E0302: Invalid parameter [{}]", fault.message)),
        _ => fault,
    })?;
    Ok(Answer::of(TEXT, text))
}

fn picture(
    shared: &Shared,
    request: &Request,
    reader: &dyn Reader,
    id: &Id<'_>,
) -> Result<Answer, Fault> {
    if id.kind != Kind::Workflow {
        return Err(Fault::new("E0306", "Invalid parameter"));
    }
    exists(reader, id).map_err(|()| {
        let inner = format!("E0605: Action does not exist [{}]", query(id.kind, "graph"));
        Fault::new("E0307", format!("Runtime error [{inner}]")).status(404)
    })?;
    let with_kills = matches!(request.parameter("show-kill"), Some("yes" | "1" | "true"));
    match request.parameter("format").unwrap_or("png") {
        "png" => {
            let svg = shared.backend.picture(id.job, with_kills)?;
            Ok(Answer::of("image/png", shared.backend.dots(&svg)?))
        }
        "svg" => {
            let svg = shared.backend.picture(id.job, with_kills)?;
            // Opened as a document, the picture needs only its own styles.
            let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
            Ok(Answer::of("image/svg+xml", svg).with("content-security-policy", policy))
        }
        "dot" => {
            let record = workflow_record(reader, id.job)?.ok_or_else(|| no_job(id.job))?;
            let (run, plan) = (view::run(reader, &record)?, view::plan(reader, &record)?);
            Ok(Answer::of("text/plain", dot::text(&run, &plan, with_kills)))
        }
        other => {
            let kind = "org.apache.oozie.util.graph.OutputFormat";
            let why = format!("No enum constant {kind}.{}", other.to_uppercase());
            Err(Fault::new("E0307", format!("Runtime error [{why}]")).status(404))
        }
    }
}

fn status(reader: &dyn Reader, id: &Id<'_>) -> Result<String, Fault> {
    let word = match (id.kind, id.action) {
        (Kind::Workflow, Some(name)) => {
            let record =
                workflow_record(reader, id.job)?.ok_or_else(|| no_row(query(id.kind, "status")))?;
            let plan = view::plan(reader, &record)?;
            let row = plan.find(name).map(|node| view::row(reader, id.job, node)).transpose()?;
            row.flatten().ok_or_else(|| no_row(id.whole))?.status.name()
        }
        (Kind::Workflow, None) => {
            let record =
                workflow_record(reader, id.job)?.ok_or_else(|| no_row(query(id.kind, "status")))?;
            record.job.status.name()
        }
        (Kind::Coordinator, Some(number)) => {
            coordinator_action(reader, id.job, number)?.1.run.status.name()
        }
        (Kind::Coordinator, None) => {
            let record = coordinator::record(reader, id.job)?;
            record.ok_or_else(|| no_row(query(id.kind, "status")))?.job.status.name()
        }
        (Kind::Bundle, _) => {
            let record = bundle::record(reader, id.job)?;
            record.ok_or_else(|| no_row(query(id.kind, "status")))?.job.status.name()
        }
    };
    Ok(word.to_owned())
}

/// Returns all workflows that an action of a coordinator has had.
fn all_runs(reader: &dyn Reader, request: &Request, id: &Id<'_>) -> Result<Value, Fault> {
    let number = id.action.or_else(|| {
        let is_action = request.parameter("type") == Some("action");
        request.parameter("scope").filter(|_| is_action)
    });
    let action = number.map(|number| format!("{}@{number}", id.job));
    let mut runs = Vec::new();
    let wanted = action.map(|action| Wanted {
        kinds: vec![list::Kind::Workflow],
        parents: vec![action],
        ..Wanted::default()
    });
    let listed = wanted.map(|wanted| list::jobs(reader, &wanted, 0, MOST_RUNS)).transpose()?;
    for listed in listed.into_iter().flat_map(|(listed, _)| listed) {
        let Some(record) = view::record(reader, &listed.id)? else { continue };
        let job = &record.job;
        runs.push((
            job.created,
            json!({
                "id": job.id,
                "status": job.status.name(),
                "startTime": object::date(job.started),
                "endTime": object::date(job.ended),
            }),
        ));
    }
    runs.sort_by_key(|(created, _)| *created);
    Ok(json!({"workflows": runs.into_iter().map(|(_, run)| run).collect::<Vec<_>>()}))
}

/// Returns the attempts of an action that was retried because of its `retry-max`.
fn retries(reader: &dyn Reader, id: &Id<'_>) -> Result<Value, Fault> {
    let unknown = || no_row(id.whole);
    let record = workflow_record(reader, id.job)?.ok_or_else(unknown)?;
    let plan = view::plan(reader, &record)?;
    let node = id.action.and_then(|name| plan.find(name)).ok_or_else(unknown)?;
    let (moments, _) = view::moments(reader, id.job, 0)?;
    let mut attempts: Vec<Value> = Vec::new();
    let mut began = None;
    for moment in moments {
        let Change::Row { node: of, status, .. } = &moment.change else { continue };
        if *of != node {
            continue;
        }
        match status {
            Status::Running => began = began.or(Some(moment.at)),
            Status::UserRetry => {
                let at = began.take().unwrap_or(moment.at);
                attempts.push(json!({
                    "attempt": (attempts.len() + 1).to_string(),
                    "startTime": object::date(Some(at)),
                    "endTime": object::date(Some(moment.at)),
                }));
            }
            _ => {}
        }
    }
    Ok(json!({"retries": attempts}))
}

fn missing(reader: &dyn Reader, request: &Request, id: &Id<'_>) -> Result<Value, Fault> {
    let numbers = match (id.action, request.parameter("action-list"), request.parameter("date")) {
        (Some(list), ..) => numbers(list)?,
        (None, Some(list), _) if !list.is_empty() => numbers(list)?,
        (None, _, Some(dates)) if !dates.is_empty() => {
            scoped(reader, id.job, ScopeKind::Date, dates, |_| true)?.0
        }
        _ => {
            let why = "Coord action missing dependencies error. Action(s) are missing.";
            return Err(Fault::new("E1029", why));
        }
    };
    let actions = coordinator::actions(reader, id.job)?;
    let definition = coordinator::definition(reader, id.job).ok();
    let mut found = Vec::new();
    for number in numbers {
        let kept = actions.get(&number);
        let kept = kept.ok_or_else(|| no_row(&format!("{}@{number}", id.job)))?;
        let Some(first) = kept.run.missing.as_deref().filter(|first| !first.is_empty()) else {
            continue;
        };
        if kept.run.status != ActionStatus::Waiting {
            continue;
        }
        let sets: Vec<Value> = beans::awaited(definition.as_ref(), kept)
            .into_iter()
            .map(|(name, texts)| json!({"dataSet": name, "missingDependencies": texts}))
            .collect();
        found.push(json!({"id": number, "blockedOn": first, "dataSets": sets}));
    }
    Ok(json!({"missingDependencies": found}))
}

/// Returns one node of every workflow of a coordinator.
fn workflow_actions(
    shared: &Shared,
    reader: &dyn Reader,
    request: &Request,
    id: &Id<'_>,
) -> Result<Value, Fault> {
    let name = request.required("action-name")?;
    let offset = request.number("offset")?.unwrap_or(1).max(1);
    let length = request.number("len")?.filter(|length| *length > 0).unwrap_or(ACTIONS);
    let actions = coordinator::actions(reader, id.job)?;
    let skipped = usize::try_from(offset - 1).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for (number, kept) in
        actions.iter().skip(skipped).take(usize::try_from(length).unwrap_or(usize::MAX))
    {
        let none = |why: &str| json!({"actionNumber": number, "nullReason": why, "action": null});
        let Some(workflow) = &kept.beside.workflow else {
            found.push(none("no workflow instance"));
            continue;
        };
        let Some(record) = workflow_record(reader, workflow)? else {
            found.push(none("no workflow instance"));
            continue;
        };
        let (run, plan) = (view::run(reader, &record)?, view::plan(reader, &record)?);
        let mask = shared.backend.mask(&run.conf, Some(&plan));
        let row = plan.find(name).and_then(|node| Some((node, run.rows.get(&node)?)));
        found.push(match row {
            Some((node, row)) => json!({
                "actionNumber": number, "nullReason": null,
                "action": beans::action(&run, &plan, node, row, &*mask),
            }),
            None => none("no matching action"),
        });
    }
    Ok(json!({"coordJobId": id.job, "actions": found}))
}

pub(super) fn scope_kind(text: &str) -> Result<ScopeKind, Fault> {
    match text {
        "action" => Ok(ScopeKind::Action),
        "date" => Ok(ScopeKind::Date),
        other => Err(Fault::value("type", other)),
    }
}

/// Parses a list of numbers such as `1,3-4`.
pub(super) fn numbers(list: &str) -> Result<Vec<i64>, Fault> {
    let mut all = Vec::new();
    for part in list.split(',').map(str::trim) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let text = text.trim();
            let why = || format!("Invalid parameter [could not parse {text}into an integer]");
            text.parse::<i64>().map_err(|_| Fault::new("E0302", why()))
        };
        let (from, to) = (number(from)?, number(to)?);
        if from > to {
            let why = format!(
                "Invalid parameter [format is wrong for action's range '{part}', its first number is greater than its last]"
            );
            return Err(Fault::new("E0302", why));
        }
        if to.saturating_sub(from) > MOST_NUMBERS {
            return Err(Fault::new("E0302", format!("Invalid parameter [{part} are too many]")));
        }
        all.extend(from..=to);
    }
    Ok(all)
}

/// Returns the actions of a scope, and whether it contains one that does not exist. A range of dates selects only
/// actions in a `wanted` status.
pub(super) fn scoped(
    reader: &dyn Reader,
    id: &str,
    kind: ScopeKind,
    scope: &str,
    wanted: impl Fn(ActionStatus) -> bool,
) -> Result<(Vec<i64>, bool), Fault> {
    let actions = coordinator::actions(reader, id)?;
    let mut all = Vec::new();
    let mut is_any_missing = false;
    let broken = |part: &str| {
        let why = format!(
            "Invalid parameter [format is wrong for action's range '{part}', an example of correct format is 1-5]"
        );
        Fault::new("E0302", why)
    };
    for part in scope.split(',').map(str::trim) {
        match kind {
            ScopeKind::Action => {
                let wanted = numbers(part)?;
                let found: Vec<i64> =
                    wanted.into_iter().filter(|number| actions.contains_key(number)).collect();
                is_any_missing |= found.is_empty();
                all.extend(found);
            }
            ScopeKind::Other => is_any_missing = true,
            ScopeKind::Date => {
                let range = part.split_once("::");
                let (from, to) = range.unwrap_or((part, part));
                let time =
                    |text: &str| ProcessingZone::UTC.parse(text.trim()).map_err(|_| broken(part));
                let (from, to) = (time(from)?, time(to)?);
                let found = actions.iter().filter(|(_, kept)| {
                    let is_within = from <= kept.run.data.nominal && kept.run.data.nominal <= to;
                    is_within && (range.is_none() || wanted(kept.run.status))
                });
                all.extend(found.map(|(number, _)| *number));
            }
        }
    }
    Ok((all, is_any_missing))
}
