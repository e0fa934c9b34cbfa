//! The life of a coordinator as a procedure: it looks at the time, at the data and at its messages, asks the machine what
//! follows, and writes that before anything is done. Each workflow is a job of its own that tells it the end.
//!
//! It sleeps until the next thing can happen: an action's time, a further action to create, the next look at data that are
//! missing. Looks become rarer while nothing changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::keep::{JobRecord, Keep, decode, encode, prefix, spaces};
use super::{Error, Shared, job};
use crate::coordinator::{Definition, Existing, Failure as Fault};
use crate::host::files::{FileUri, Files as _};
use crate::machine::coordinator::{
    ActionStatus, Effect, Event, Job, Plan, Rules, Run, Status, WorkflowStatus, World, apply,
};
use crate::machine::{self, Command, Submission, submit};
use crate::procedure::{Context, Failure, New, Note, Procedure, ProcedureId, Step, Wait};
use crate::store::{self, Reader};
use crate::time::Instant;

/// The kind of this procedure.
pub(super) const KIND: &str = "coordinator";
/// A coordinator by its id: [`Record`].
const RECORD: &str = "coordinator";
/// Its definition by its id.
const DEFINITION: &str = "coordinator-definition";
/// An action by the coordinator's id and its number: [`Kept`].
const ACTION: &str = "coordinator-action";
/// What happened, by the coordinator's id and a number.
const EVENT: &str = "coordinator-event";

/// The first and the longest time between two looks at missing data, in milliseconds.
const LOOK_MS: (u64, u64) = (500, 15_000);

/// A coordinator as it is kept; its actions lie beside it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its state, without its actions.
    pub job: Job,
    /// The procedure that is or was its life.
    procedure: ProcedureId,
    /// How many moments of it are kept.
    pub moments: u64,
}

/// An action as it is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The action.
    pub run: Run,
    /// The id of its workflow.
    pub workflow: Option<String>,
    /// The procedure of that.
    procedure: Option<ProcedureId>,
}

/// Something that changed, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since 1970.
    pub at: i64,
    /// The action, or the coordinator itself.
    pub action: Option<i64>,
    /// The server's word for the state; none where an action is no more.
    pub status: Option<String>,
}

/// What is submitted.
#[derive(Clone, Debug)]
pub struct SubmitCoordinator {
    /// The definition, as a server would keep it.
    pub definition: Definition,
    /// The id it gets, instead of the next one.
    pub id: Option<String>,
    /// Folders of this machine that stand at URIs.
    pub mounts: Vec<(String, PathBuf)>,
}

/// A coordinator, if there is one of this id.
pub fn record(reader: &dyn Reader, id: &str) -> Result<Option<Record>, Error> {
    match reader.get(RECORD, id.as_bytes())? {
        Some(bytes) => Ok(Some(decode(&format!("the coordinator {id}"), &bytes)?)),
        None => Ok(None),
    }
}

/// Its actions, by number.
pub fn actions(reader: &dyn Reader, id: &str) -> Result<BTreeMap<i64, Kept>, Error> {
    let start = prefix(id);
    let mut actions = BTreeMap::new();
    for row in reader.scan(ACTION, &start, None, usize::MAX)? {
        let number = row.key.key.get(start.len()..).and_then(|bytes| bytes.try_into().ok());
        let Some(number) = number.map(i64::from_be_bytes) else {
            return Err(store::Error::Damaged(format!("an action of {id}")).into());
        };
        actions.insert(number, decode(&format!("an action of {id}"), &row.value)?);
    }
    Ok(actions)
}

/// What happened to a coordinator since its moment number `from`: those, and the number that comes next.
pub fn moments(reader: &dyn Reader, id: &str, from: u64) -> Result<(Vec<Moment>, u64), Error> {
    let start = key(id, from as i64);
    let (mut next, mut moments) = (from, Vec::new());
    for row in reader.scan(EVENT, &prefix(id), Some(&start), usize::MAX)? {
        let several: Vec<Moment> = decode(&format!("a moment of {id}"), &row.value)?;
        next += several.len() as u64;
        moments.extend(several);
    }
    Ok((moments, next))
}

fn key(id: &str, number: i64) -> Vec<u8> {
    let mut key = prefix(id);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Data in the file systems of the driver.
struct OnFiles<'s>(&'s Shared);

impl Existing for OnFiles<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Fault> {
        let status = self.0.files.status(&FileUri::parse(uri));
        let fault =
            |error: std::io::Error| Fault::plain(format!("cannot look for `{uri}`: {error}"));
        status.map(|status| status.is_some()).map_err(fault)
    }

    fn partition_exists(&self, _uri: &str) -> Option<Result<bool, Fault>> {
        Some(Ok(false))
    }
}

/// A coordinator.
pub(super) struct Coordinator {
    shared: Arc<Shared>,
    id: String,
    loaded: Option<Loaded>,
    /// How long to wait before the next look.
    look_ms: u64,
}

struct Loaded {
    record: Record,
    definition: Arc<Definition>,
    children: BTreeMap<i64, (String, ProcedureId)>,
}

impl Coordinator {
    fn new(shared: Arc<Shared>, id: &str) -> Coordinator {
        Coordinator { shared, id: id.to_owned(), loaded: None, look_ms: LOOK_MS.0 }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Coordinator, String> {
        let id: String = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Coordinator::new(shared.clone(), &id))
    }

    fn load(&mut self) -> Result<(), Error> {
        if self.loaded.is_some() {
            return Ok(());
        }
        let reader = self.shared.reader();
        let id = &self.id;
        let mut record = record(reader, id)?.ok_or_else(|| Error::Unknown(id.clone()))?;
        let what = || store::Error::Damaged(format!("the definition of {id}"));
        let bytes = reader.get(DEFINITION, id.as_bytes())?.ok_or_else(what)?;
        let definition = Arc::new(decode(&format!("the definition of {id}"), &bytes)?);
        let mut children = BTreeMap::new();
        for (number, kept) in actions(reader, id)? {
            if let (Some(workflow), Some(procedure)) = (kept.workflow, kept.procedure) {
                children.insert(number, (workflow, procedure));
            }
            record.job.restore(number, kept.run);
        }
        self.loaded = Some(Loaded { record, definition, children });
        Ok(())
    }
}

/// What a step has changed.
#[derive(Default)]
struct Changes {
    actions: BTreeSet<i64>,
    moments: Vec<Moment>,
    is_any: bool,
}

impl Procedure for Coordinator {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        if !shared.is_active(&self.id, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let broken = |error: Error| Failure::new("coordinator", "store", error.to_string());
        self.load().map_err(broken)?;
        let id = self.id.clone();
        let Some(loaded) = self.loaded.as_mut() else { return Ok(Step::Done) };
        let definition = loaded.definition.clone();
        let plan = Plan::new(&definition, id.as_str(), Rules::default());
        let now_ms = shared.host.wall_ms();
        let existing = OnFiles(&shared);
        let world = World { now: Instant(now_ms.div_euclid(1000)), existing: &existing };

        let mut events = VecDeque::new();
        for message in context.take_messages() {
            events.extend(event(message.note, message.tag));
        }
        let was_commanded = !events.is_empty();
        events.push_back(Event::Materialize);
        let due = loaded.record.job.actions.iter().filter(|(_, run)| {
            run.status == ActionStatus::Waiting && run.data.nominal <= world.now
        });
        events.extend(due.map(|(number, _)| Event::Check(*number)));
        events.push_back(Event::Pause);
        let mut changes = Changes::default();
        let mut has_passed = false;
        loop {
            let Some(next) = events.pop_front() else {
                // A pass over states comes after all else.
                if std::mem::replace(&mut has_passed, true) {
                    break;
                }
                events.push_back(Event::Status);
                continue;
            };
            let job = &mut loaded.record.job;
            if let Event::Started(number)
            | Event::NotStarted { number, .. }
            | Event::Workflow(number, _) = &next
            {
                changes.actions.insert(*number);
            }
            // What the machine refuses, a client was told when it asked; a look that failed comes again.
            let Ok(effects) = apply(&plan, job, &next, &world) else { continue };
            for effect in effects {
                changes.is_any = true;
                let mut tell = |action: Option<i64>, status: Option<&str>| {
                    let status = status.map(str::to_owned);
                    changes.moments.push(Moment { at: now_ms, action, status });
                };
                match effect {
                    Effect::Job { from, status, .. } => {
                        if from.is_some() {
                            tell(None, Some(status.name()));
                        }
                    }
                    Effect::Action(number, status) => {
                        tell(Some(number), Some(status.name()));
                        changes.actions.insert(number);
                    }
                    Effect::Deleted(number) => {
                        tell(Some(number), None);
                        changes.actions.insert(number);
                    }
                    Effect::Check(number, at) if at <= world.now => {
                        events.push_back(Event::Check(number));
                    }
                    Effect::Check(..) => {}
                    Effect::Start(number) => {
                        changes.actions.insert(number);
                        let run = &job.actions[&number];
                        let started = match loaded.children.get(&number).filter(|_| run.reruns) {
                            Some(child) => rerun(context, &shared, child, number, &id),
                            None => start(context, &shared, &definition, run, number, &id),
                        };
                        events.push_front(match started {
                            Ok(child) => {
                                loaded.children.insert(number, child);
                                Event::Started(number)
                            }
                            Err((code, message)) => Event::NotStarted { number, code, message },
                        });
                    }
                    Effect::SuspendWorkflow(number) => {
                        command(context, loaded.children.get(&number), Command::Suspend);
                        events.push_front(Event::Workflow(number, WorkflowStatus::Suspended));
                    }
                    Effect::ResumeWorkflow(number) => {
                        command(context, loaded.children.get(&number), Command::Resume);
                        events.push_front(Event::Workflow(number, WorkflowStatus::Running));
                    }
                    Effect::KillWorkflow(number) => {
                        command(context, loaded.children.get(&number), Command::Kill);
                    }
                    Effect::CleanUp(_, uris) => {
                        for uri in uris {
                            // What cannot be deleted is there for the workflow to complain of.
                            let _ = shared.files.delete(&FileUri::parse(&uri));
                        }
                    }
                }
            }
        }

        let own = context.id();
        let loaded = self.loaded.as_mut().expect("it was loaded above");
        let is_changed = changes.is_any || was_commanded || loaded.record.procedure != own;
        if is_changed {
            for number in &changes.actions {
                match loaded.record.job.actions.get(number) {
                    Some(run) => {
                        let child = loaded.children.get(number);
                        let kept = Kept {
                            run: run.clone(),
                            workflow: child.map(|(workflow, _)| workflow.clone()),
                            procedure: child.map(|(_, procedure)| *procedure),
                        };
                        context.put(ACTION, key(&id, *number), encode(&kept));
                    }
                    None => context.delete(ACTION, key(&id, *number)),
                }
            }
            if !changes.moments.is_empty() {
                let at = loaded.record.moments as i64;
                context.put(EVENT, key(&id, at), encode(&changes.moments));
                loaded.record.moments += changes.moments.len() as u64;
            }
            loaded.record.procedure = own;
            context.put(RECORD, id.as_bytes(), encode(&loaded.record));
            self.look_ms = LOOK_MS.0;
        } else {
            self.look_ms = (self.look_ms * 2).min(LOOK_MS.1);
            context.skip_persistence();
        }
        let job = &loaded.record.job;
        if job.status.is_end() && !job.pending {
            context.set_result(job.status.name().as_bytes());
            return Ok(Step::Done);
        }
        Ok(Step::Suspend(match wake(job, &plan, world.now, self.look_ms) {
            Some(ms) => Wait::for_message().or_pause(ms),
            None => Wait::for_message(),
        }))
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.id)
    }

    fn undoable(&self) -> bool {
        false
    }
}

/// What a message means.
fn event(note: Note, tag: u64) -> Option<Event> {
    let number = tag as i64;
    match note {
        Note::Data(bytes) => postcard::from_bytes(&bytes).ok(),
        Note::Succeeded(Some(status)) => {
            let status = match &*status {
                b"SUCCEEDED" => WorkflowStatus::Succeeded,
                b"KILLED" => WorkflowStatus::Killed,
                _ => WorkflowStatus::Failed,
            };
            Some(Event::Workflow(number, status))
        }
        Note::Succeeded(None) | Note::Failed(_) => {
            Some(Event::Workflow(number, WorkflowStatus::Failed))
        }
    }
}

/// In how many milliseconds something can happen without a message.
fn wake(job: &Job, plan: &Plan<'_>, now: Instant, look_ms: u64) -> Option<u64> {
    let in_ms = |at: Instant| u64::try_from((at.0 - now.0).max(0)).unwrap_or(0) * 1000;
    let runs = matches!(
        job.status,
        Status::Prep | Status::Running | Status::RunningWithError | Status::Paused
    );
    let mut wakes = Vec::new();
    for run in job.actions.values().filter(|run| run.status == ActionStatus::Waiting && runs) {
        wakes.push(in_ms(run.data.nominal).max(look_ms));
    }
    if !job.is_done && runs && job.status != Status::Paused {
        let next = job.next.unwrap_or(plan.definition.schedule.start);
        wakes.push(in_ms(next.plus_seconds(-plan.rules.ahead_seconds)).max(look_ms));
    }
    if let Some(pause) = job.pause {
        wakes.push(in_ms(pause).max(look_ms));
    }
    if job.pending {
        wakes.push(look_ms);
    }
    // In pieces, so that a clock that is set does not make it late by more than one.
    wakes.into_iter().min().map(|ms| ms.min(60_000))
}

fn command(context: &mut Context<'_>, child: Option<&(String, ProcedureId)>, command: Command) {
    if let Some((_, procedure)) = child {
        context.send(*procedure, 0, encode(&machine::Event::Command(command)));
    }
}

type Child = (String, ProcedureId);

/// Makes the workflow of an action a job of its own.
fn start(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    definition: &Definition,
    run: &Run,
    number: i64,
    root: &str,
) -> Result<Child, (String, String)> {
    let mut properties = definition.properties.clone();
    properties.extend(run.configuration.iter().cloned());
    let path = "oozie.wf.application.path".to_owned();
    properties.insert(path, definition.app_path.clone());
    properties.extend(run.rerun_configuration.iter().cloned());
    let nominal = run.data.nominal.millis().to_string();
    properties.insert("oozie.coord.action.nominal_time".to_owned(), nominal);

    let uri = FileUri::parse(&definition.app_path);
    let own = |message: String| ("E1005".to_owned(), message);
    let plan = shared.surroundings.compiler.compile(&uri, &shared.files, &properties, None);
    let plan = plan.map_err(|(_, message)| own(message))?;
    let id = shared.next_id();
    let defaults = crate::host::defaults::default_files(&properties, &shared.files)
        .map_err(|message| ("E0803".to_owned(), message))?;
    let submission = Submission { id: id.clone(), properties, defaults };
    let made = submit(&plan, submission, &shared.world());
    let made = made.map_err(|refused| (refused.code.to_owned(), refused.message))?;
    let (key, bytes) = Keep::plan_key(shared.reader(), &plan.to_bytes())
        .map_err(|error| own(error.to_string()))?;
    let body = job::Job::new(shared.clone(), &id, root);
    let procedure = context.spawn(New::of(job::KIND, body).unattended().tag(number as u64));
    let record = JobRecord::new(&made, procedure, key.clone(), root.to_owned());
    if let Some(bytes) = bytes {
        context.put(spaces::PLAN, key.as_bytes(), bytes);
    }
    let counter = shared.counter.load(Ordering::Relaxed);
    context.put(spaces::META, b"counter", counter.to_le_bytes());
    context.put(spaces::CONF, id.as_bytes(), encode(&*made.conf));
    context.put(spaces::JOB, id.as_bytes(), encode(&record));
    Ok((id, procedure))
}

/// Has the workflow of an action go on from what failed in it.
fn rerun(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    child: &Child,
    number: i64,
    root: &str,
) -> Result<Child, (String, String)> {
    let own = |message: String| ("E1005".to_owned(), message);
    let id = child.0.as_str();
    let mut record = shared.record(id).map_err(|error| own(error.to_string()))?;
    let plan = shared.plan(&record.plan).map_err(|error| own(error.to_string()))?;
    let mut run =
        super::view::run(shared.reader(), &record).map_err(|error| own(error.to_string()))?;
    let properties =
        [("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned())].into_iter().collect();
    machine::rerun(&plan, &plan, &mut run, &properties, &shared.world())
        .map_err(|refused| (refused.code.to_owned(), refused.message))?;
    let (changed, removed) = run.take_changes();
    let body = job::Job::new(shared.clone(), id, root);
    let procedure = context.spawn(New::of(job::KIND, body).unattended().tag(number as u64));
    record.procedure = procedure;
    record.job = run.job.clone();
    for node in removed {
        context.delete(spaces::ROW, super::keep::row_key(id, node));
    }
    for node in changed {
        context.put(spaces::ROW, super::keep::row_key(id, node), encode(&run.rows[&node]));
    }
    context.put(spaces::CONF, id.as_bytes(), encode(&*run.conf));
    context.put(spaces::JOB, id.as_bytes(), encode(&record));
    Ok((id.to_owned(), procedure))
}

impl Shared {
    pub(super) fn submit_coordinator(
        self: &Arc<Self>,
        new: SubmitCoordinator,
    ) -> Result<String, Error> {
        let id = new.id.unwrap_or_else(|| {
            let id = self.next_id();
            format!("{}C", id.strip_suffix('W').unwrap_or(&id))
        });
        let reader = self.reader();
        if record(reader, &id)?.is_some() || super::view::record(reader, &id)?.is_some() {
            return Err(Error::State(format!("there is a job `{id}` already")));
        }
        for (uri, folder) in &new.mounts {
            self.files.mount(FileUri::parse(uri), folder.clone());
        }
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let body = Coordinator::new(self.clone(), &id);
        let counter = self.counter.load(Ordering::Relaxed);
        let definition = new.definition;
        self.executor().submit_with(
            New::of(KIND, body).owner(id.as_str()).unattended(),
            |procedure, rows| {
                let record = Record {
                    id: id.clone(),
                    name: definition.name.clone(),
                    job: Job::new(&definition),
                    procedure,
                    moments: 0,
                };
                rows.put(spaces::META, b"counter", counter.to_le_bytes());
                rows.put(spaces::META, b"stamp", self.stamp.as_bytes());
                let root = self.files.root().to_string_lossy().into_owned();
                rows.put(spaces::META, b"root", root.into_bytes());
                for (uri, folder) in &new.mounts {
                    let folder = folder.to_string_lossy().into_owned();
                    rows.put(spaces::MOUNT, uri.as_bytes(), folder.into_bytes());
                }
                rows.put(DEFINITION, id.as_bytes(), encode(&definition));
                rows.put(RECORD, id.as_bytes(), encode(&record));
            },
        )?;
        Ok(id)
    }

    fn coordinator_record(&self, id: &str) -> Result<Record, Error> {
        record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))
    }

    /// Sends an event of a client; the machine is asked first whether it would refuse it.
    pub(super) fn coordinator_event(&self, id: &str, event: &Event) -> Result<(), Error> {
        let mut record = self.coordinator_record(id)?;
        let unknown = || store::Error::Damaged(format!("the definition of {id}"));
        let bytes = self.reader().get(DEFINITION, id.as_bytes())?.ok_or_else(unknown)?;
        let definition: Definition = decode(&format!("the definition of {id}"), &bytes)?;
        for (number, kept) in actions(self.reader(), id)? {
            record.job.restore(number, kept.run);
        }
        let plan = Plan::new(&definition, id, Rules::default());
        let existing = OnFiles(self);
        let now = Instant(self.host.wall_ms().div_euclid(1000));
        let world = World { now, existing: &existing };
        if let Err(refusal) = apply(&plan, &mut record.job, event, &world) {
            let code = refusal.code.unwrap_or("an error without a code");
            return Err(Error::State(format!("the coordinator `{id}` does not take this: {code}")));
        }
        self.activate_coordinator(id)?;
        if !self.executor().send(record.procedure, 0, encode(event))? {
            return Err(Error::State(format!("the coordinator `{id}` has ended")));
        }
        Ok(())
    }

    pub(super) fn activate_coordinator(&self, id: &str) -> Result<ProcedureId, Error> {
        let record = self.coordinator_record(id)?;
        self.wake_all(id);
        Ok(record.procedure)
    }
}
