//! `PUT /vN/job/ID`: commands for a single job. (`reference` of the web API, 7)

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::job::{
    BUNDLE_QUERY, COORDINATOR_QUERY, Id, Kind, WORKFLOW_QUERY, exists, newer, no_job, no_row,
    query, scope_kind, scoped, workflow_record,
};
use super::{alerts, change, jobs};
use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::backend::Update;
use crate::beans;
use crate::request::Request;
use ankus_access::Owned;
use ankus_engine::driver::coordinator::{Kept, Message};
use ankus_engine::driver::{bundle, coordinator, list, object};
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::machine::coordinator::{
    ActionStatus, Event, RerunOptions, ScopeKind, Status as Timed,
};
use ankus_lang::machine::{Command, JobStatus};
use ankus_procedure::store::Reader;
use serde_json::{Value, json};

/// Sends `kill`, `suspend` or `resume` to a job; for a job that has ended it has no effect, and that is not an error.
pub(super) fn command(shared: &Shared, by: &str, id: &str, action: &str) -> Result<(), Fault> {
    let Some((command, event, of_bundle)) = jobs::commands(action) else { return Ok(()) };
    let reader = shared.backend.reader()?;
    match Id::new(id).kind {
        Kind::Workflow => {
            let record = workflow_record(&*reader, id)?.ok_or_else(|| no_row(WORKFLOW_QUERY))?;
            if record.job.status.is_end() {
                return Ok(());
            }
            shared.backend.command(by, id, command)?;
            until(|| {
                let now = workflow_record(&*reader, id)?.map(|record| record.job.status);
                Ok(now.is_none_or(|now| match action {
                    "suspend" => !matches!(now, JobStatus::Running),
                    "resume" => !matches!(now, JobStatus::Suspended),
                    _ => now.is_end(),
                }))
            })
        }
        Kind::Coordinator => {
            let record =
                coordinator::record(&*reader, id)?.ok_or_else(|| no_row(COORDINATOR_QUERY))?;
            if record.job.status.is_end() {
                return Ok(());
            }
            shared.backend.coordinator(by, id, Message::Event(event))?;
            until(|| {
                let now = coordinator::record(&*reader, id)?.map(|record| record.job.status);
                Ok(now.is_none_or(|now| has_taken(now, action)))
            })
        }
        Kind::Bundle => {
            let record = bundle::record(&*reader, id)?.ok_or_else(|| no_row(BUNDLE_QUERY))?;
            if record.job.status.is_end() {
                return Ok(());
            }
            shared.backend.bundle(by, id, of_bundle)?;
            until(|| {
                let now = bundle::record(&*reader, id)?.map(|record| record.job.status);
                Ok(now.is_none_or(|now| has_taken(now, action)))
            })
        }
    }
}

/// Whether the status of a coordinator or a bundle shows that a command has taken effect.
fn has_taken(now: Timed, action: &str) -> bool {
    let is_suspended = now.name().contains("SUSPENDED");
    match action {
        "suspend" => is_suspended || now.is_end(),
        "resume" => !is_suspended,
        _ => now.is_end(),
    }
}

/// Refuses users who may not change a job; a missing job is reported by later lookups.
pub(super) fn may_change(
    shared: &Shared,
    request: &Request,
    reader: &dyn Reader,
    id: &str,
) -> Result<(), Fault> {
    let Some(job) = list::job(reader, id)? else { return Ok(()) };
    let owned = Owned { id, user: &job.user, list: job.group.as_deref() };
    shared.keeper.may_change(&request.who, &owned).map_err(|refusal| Fault::from(&refusal))
}

/// Returns the server's error for a command to a job that does not exist. (`reference` of the web API, 3.1)
fn absent(id: &Id<'_>, action: &str) -> Fault {
    match (action, id.kind) {
        ("start", Kind::Coordinator) => Fault::value("action", "start"),
        ("suspend", Kind::Workflow | Kind::Coordinator) => {
            let inner = no_row(query(id.kind, action)).message;
            Fault::new("E0603", format!("SQL error in operation, {inner}"))
        }
        ("suspend" | "resume", Kind::Bundle) | ("resume", Kind::Coordinator) => no_job(id.whole),
        ("change", Kind::Workflow | Kind::Coordinator) => no_job(id.whole),
        (_, kind) => no_row(query(kind, action)),
    }
}

/// The values of `action`.
const ACTIONS: [&str; 13] = [
    "start",
    "suspend",
    "resume",
    "kill",
    "rerun",
    "change",
    "ignore",
    "update",
    "coord-rerun",
    "bundle-rerun",
    "sla-enable",
    "sla-disable",
    "sla-change",
];

/// The actions in the first version of the web services.
const FIRST_ACTIONS: [&str; 5] = ["start", "suspend", "resume", "kill", "rerun"];

/// Validates a request without regard to the job, in the order in which the server does. (`reference` of the web API,
/// 3.1)
fn is_taken(request: &Request, id: &Id<'_>, action: &str) -> Result<(), Fault> {
    if !ACTIONS.contains(&action) || (request.version == 0 && !FIRST_ACTIONS.contains(&action)) {
        return Err(Fault::value("action", action));
    }
    let is_of_sla = action.starts_with("sla-");
    if is_of_sla || matches!(action, "ignore" | "update") {
        newer(request, 2)?;
    }
    if is_of_sla || matches!(action, "rerun" | "coord-rerun" | "bundle-rerun" | "update") {
        request.is_xml()?;
    }
    let unsupported = |what: &str| Err(Fault::new("E0302", format!("Invalid parameter [{what}]")));
    match (action, id.kind) {
        ("start", Kind::Coordinator) => Err(absent(id, action)),
        ("ignore", Kind::Workflow) => unsupported("Workflow Ignore Not supported"),
        ("ignore", Kind::Bundle) => unsupported("Bundle Ignore Not supported"),
        ("update", Kind::Workflow | Kind::Bundle) => Err(no_row(COORDINATOR_QUERY)),
        (_, Kind::Workflow) if is_of_sla => Err(Fault::resource("Not supported for workflow")),
        _ => Ok(()),
    }
}

/// A command of a user for a job.
struct Act<'a> {
    shared: &'a Shared,
    request: &'a Request,
    reader: &'a dyn Reader,
    id: &'a Id<'a>,
    action: &'a str,
    by: &'a str,
}

pub(super) fn act(shared: &Shared, request: &Request, id: &Id<'_>) -> Result<Answer, Fault> {
    let action = request.required("action")?;
    let by = request.user().unwrap_or_default();
    let reader = shared.backend.reader()?;
    may_change(shared, request, &*reader, id.job)?;
    is_taken(request, id, action)?;
    // An action is not a job: a command meant for one action must not reach all of them.
    if id.action.is_some() {
        return Err(absent(id, action));
    }
    exists(&*reader, id).map_err(|()| absent(id, action))?;
    let act = Act { shared, request, reader: &*reader, id, action, by };
    let is_scoped = request.parameter("scope").is_some();
    match (action, id.kind) {
        ("start", Kind::Workflow) => act.start_workflow()?,
        ("start", _) => act.start_bundle()?,
        ("kill", Kind::Coordinator) if is_scoped => return act.kill_actions(),
        ("suspend" | "resume" | "kill", _) => command(shared, by, id.job, action)?,
        ("change", _) => act.change()?,
        ("ignore", _) if is_scoped => return act.ignore_actions(),
        ("ignore", _) => {
            may_be_ignored(&*reader, id.job)?;
            act.tell(Event::Change("status=IGNORED".to_owned()))?;
        }
        ("rerun", Kind::Workflow) => {
            shared.backend.rerun(by, id.job, &request.configuration()?)?;
        }
        ("update", Kind::Coordinator) => return act.update(),
        ("coord-rerun" | "rerun", Kind::Coordinator) => return act.rerun_actions(),
        ("bundle-rerun" | "rerun", Kind::Bundle) => {
            let names = request.parameter("coord-scope").unwrap_or_default().to_owned();
            let dates = request.parameter("date-scope").unwrap_or_default().to_owned();
            let options = RerunOptions {
                refresh: request.flag("refresh"),
                no_cleanup: request.flag("nocleanup"),
                ..RerunOptions::default()
            };
            shared.backend.bundle(by, id.job, BundleEvent::Rerun(names, dates, options))?;
        }
        ("sla-enable" | "sla-disable", _) => {
            alerts::switch(shared, &*reader, request, id, by, action == "sla-enable")?;
        }
        ("sla-change", _) => alerts::change(shared, &*reader, request, id, by)?,
        (other, _) => return Err(Fault::value("action", other)),
    }
    Ok(Answer::done())
}

impl Act<'_> {
    /// Sends an event to the coordinator.
    fn tell(&self, event: Event) -> Result<(), Fault> {
        self.shared.backend.coordinator(self.by, self.id.job, Message::Event(event))
    }

    fn start_workflow(&self) -> Result<(), Fault> {
        let Act { id, action, .. } = self;
        let record = workflow_record(self.reader, id.job)?.ok_or_else(|| absent(id, action))?;
        match record.job.status {
            JobStatus::Prep => self.shared.backend.command(self.by, id.job, Command::Start)?,
            JobStatus::Running => {
                let why = format!("Workflow already running, workflow [{}]", id.job);
                return Err(Fault::new("E0801", why));
            }
            // As on a server, this has no effect.
            _ => {}
        }
        Ok(())
    }

    fn start_bundle(&self) -> Result<(), Fault> {
        let Act { id, action, .. } = self;
        let record = bundle::record(self.reader, id.job)?.ok_or_else(|| absent(id, action))?;
        // As on a server, this has no effect on a bundle that has started.
        if record.job.status == Timed::Prep {
            let start = BundleEvent::Submitted { start: true, absent: Vec::new() };
            self.shared.backend.bundle(self.by, id.job, start)?;
        }
        Ok(())
    }

    fn change(&self) -> Result<(), Fault> {
        if self.id.kind == Kind::Workflow {
            return Err(no_job(self.id.job));
        }
        let value = self.request.required("value")?.to_owned();
        if self.id.kind == Kind::Bundle {
            change::bundle(&value)?;
            let change = BundleEvent::Change(value);
            return self.shared.backend.bundle(self.by, self.id.job, change);
        }
        change::coordinator(&value)?;
        self.tell(Event::Change(value))
    }

    fn kill_actions(&self) -> Result<Answer, Fault> {
        self.end_actions(Event::KillActions, |status| !status.is_active())
    }

    fn ignore_actions(&self) -> Result<Answer, Fault> {
        self.end_actions(Event::IgnoreActions, |status| status == ActionStatus::Ignored)
    }

    /// Ends the actions of a scope, and returns them once they have ended.
    fn end_actions(
        &self,
        event: fn(ScopeKind, String) -> Event,
        has_ended: impl Fn(ActionStatus) -> bool,
    ) -> Result<Answer, Fault> {
        let Act { shared, reader, id, .. } = self;
        let (kind, scope) = scope_of(self.request)?;
        let (numbers, _) = scoped(*reader, id.job, kind, &scope, ActionStatus::is_active)?;
        self.tell(event(kind, scope))?;
        has_come(*reader, id.job, &numbers, has_ended)?;
        Ok(Answer::json(&changed(shared, *reader, id.job, &numbers)?))
    }

    fn update(&self) -> Result<Answer, Fault> {
        let request = self.request;
        let configuration = match request.body.is_empty() {
            true => BTreeMap::new(),
            false => request.configuration()?,
        };
        let shows_diff = request.parameter("diff") != Some("false");
        let how = Update { is_dry: request.flag("dryrun"), shows_diff };
        let diff = self.shared.backend.update(self.by, self.id.job, &configuration, how)?;
        Ok(Answer::json(&json!({"update": {"diff": diff}})))
    }

    fn rerun_actions(&self) -> Result<Answer, Fault> {
        let Act { shared, request, reader, id, .. } = self;
        let expected = |fault: Fault| match request.parameter("type") {
            Some("action" | "date") => fault,
            _ => Fault::new("E1018", "Coord Job Rerun Error: date or action expected."),
        };
        let (kind, scope) = scope_of(request).map_err(expected)?;
        let (numbers, _) = scoped(*reader, id.job, kind, &scope, ran)?;
        let options = RerunOptions {
            refresh: request.flag("refresh"),
            no_cleanup: request.flag("nocleanup"),
            failed: request.flag("failed"),
            configuration: Vec::new(),
        };
        let before = coordinator::actions(*reader, id.job)?;
        self.tell(Event::Rerun(kind, scope, options.clone()))?;
        Ok(Answer::json(&rerun(shared, *reader, id.job, &numbers, &before, &options)?))
    }
}

/// Maximum time that an answer waits for the requested status.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits until a condition holds. It may become true because of another client.
fn until(mut is_so: impl FnMut() -> Result<bool, Fault>) -> Result<(), Fault> {
    let began = Instant::now();
    while !is_so()? && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Waits until actions of a coordinator have reached a status.
fn has_come(
    reader: &dyn Reader,
    id: &str,
    numbers: &[i64],
    is_it: impl Fn(ActionStatus) -> bool,
) -> Result<(), Fault> {
    until(|| {
        let actions = coordinator::actions(reader, id)?;
        let mut meant = numbers.iter().filter_map(|number| actions.get(number));
        Ok(meant.all(|kept| is_it(kept.run.status)))
    })
}

/// Whether a range of dates includes actions with this status in a rerun.
fn ran(status: ActionStatus) -> bool {
    use ActionStatus::{Failed, Ignored, Killed, Succeeded, TimedOut};
    matches!(status, Failed | Ignored | Killed | Succeeded | TimedOut)
}

/// Returns the actions that a request refers to.
fn scope_of(request: &Request) -> Result<(ScopeKind, String), Fault> {
    let kind = request.required("type").map_err(|_| Fault::value("type", "null"))?;
    Ok((scope_kind(kind)?, request.required("scope")?.to_owned()))
}

/// Returns actions of a coordinator after a command, with the configurations of their creation and their run.
fn changed(
    shared: &Shared,
    reader: &dyn Reader,
    id: &str,
    numbers: &[i64],
) -> Result<Value, Fault> {
    let definition = coordinator::definition(reader, id)?;
    let mask = shared.backend.mask(&definition.properties, None);
    let actions = coordinator::actions(reader, id)?;
    let shown = numbers.iter().filter_map(|number| {
        let kept = actions.get(number)?;
        Some(beans::commanded_action(id, *number, kept, &definition, &*mask))
    });
    Ok(json!({"actions": shown.collect::<Vec<_>>()}))
}

/// Returns rerun actions in their waiting state; by the time of the answer they may have advanced.
fn rerun(
    shared: &Shared,
    reader: &dyn Reader,
    id: &str,
    numbers: &[i64],
    before: &BTreeMap<i64, Kept>,
    options: &RerunOptions,
) -> Result<Value, Fault> {
    let definition = coordinator::definition(reader, id)?;
    let mask = shared.backend.mask(&definition.properties, None);
    let status = ActionStatus::Waiting.name();
    let shown = numbers.iter().filter_map(|number| {
        let kept = before.get(number)?;
        let mut object = beans::commanded_action(id, *number, kept, &definition, &*mask);
        for (name, value) in [("status", status), ("errorCode", ""), ("errorMessage", "")] {
            object[name] = value.into();
        }
        // Failed nodes run again in the same workflow.
        if !options.failed {
            object["externalId"] = Value::Null;
        }
        if options.refresh {
            object["runConf"] = object["createdConf"].clone();
        }
        object["lastModifiedTime"] = object::date(Some(shared.now()));
        object["toString"] =
            format!("CoordinatorAction name[{id}@{number}] status[{status}]").into();
        Some(object)
    });
    Ok(json!({"actions": shown.collect::<Vec<_>>()}))
}

/// Whether a coordinator can be ignored as a whole: it has failed or was killed, and no action is active.
fn may_be_ignored(reader: &dyn Reader, id: &str) -> Result<(), Fault> {
    let Some(record) = coordinator::record(reader, id)? else { return Ok(()) };
    let (status, pending) = (record.job.status, record.job.pending);
    if matches!(status, Timed::Failed | Timed::Killed) && !pending {
        return Ok(());
    }
    let why = "Only FAILED or KILLED non-pending job can be changed to IGNORED";
    let now = format!("Current job status is {} and pending status is {pending}", status.name());
    let change = format!("Invalid coordinator job change value IGNORED,  {why}. {now}");
    Err(Fault::new("E1015", change))
}
