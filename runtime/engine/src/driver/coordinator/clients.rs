//! Requests to coordinators: from clients, bundles, and workflows that were rerun by themselves.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::data::OnFiles;
use super::rows::{
    ACTION, DEFINITION, EVENT, Kept, Moment, RECORD, Record, all_actions, definition, key, moments,
    record,
};
use super::{Coordinator, KIND};
use crate::driver::keep::{encode, spaces};
use crate::driver::refusals::refused;
use crate::driver::{Error, Needs, Shared, bundle, needs};
use ankus_lang::coordinator::Definition;
use ankus_lang::machine::coordinator::{
    ActionStatus, Event, Job, Plan, RerunOptions, Rules, ScopeKind, WorkflowStatus, World, apply,
};
use ankus_lang::time::Instant;
use ankus_procedure::{Context, New, ProcedureId, Rows};

/// A request of a client or of the bundle to a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// An event of the state machine.
    Event(Event),
    /// Another definition replaces the current one.
    Update(Box<Definition>),
    /// The workflow of an action, which a client reran by itself, has reached a state.
    RunAgain {
        /// The number of the action.
        number: i64,
        /// The current procedure of the workflow.
        procedure: ProcedureId,
        /// The state it has reached.
        status: WorkflowStatus,
    },
    /// Old actions are removed, each with these workflows, unless something of them is running.
    Forget(Vec<(i64, Vec<String>)>),
}

/// A coordinator to submit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SubmitCoordinator {
    /// The definition as a server would store it.
    pub definition: Definition,
    /// The id of the coordinator, instead of the next free one.
    pub id: Option<String>,
    /// Folders of this machine that are mounted at URIs.
    pub mounts: Vec<(String, PathBuf)>,
}

/// Whether a definition may replace another: everything that determines when it acts must stay the same.
pub fn updatable(job: &Job, old: &Definition, new: &Definition) -> bool {
    let (was, is) = (&old.schedule, &new.schedule);
    old.name == new.name
        && old.frequency_text == new.frequency_text
        && old.unit_name() == new.unit_name()
        && old.end_of_name() == new.end_of_name()
        && was.start == is.start
        && job.end == is.end
        && old.zone_text == new.zone_text
}

/// Returns the action of a coordinator, `ID@NUMBER`, if this is its workflow: by its properties a workflow may claim to
/// belong to any action.
fn known(shared: &Shared, action: &str, workflow: &str) -> Option<(Record, i64, Kept)> {
    let (id, number) = action.rsplit_once('@')?;
    let number = number.parse().ok()?;
    let record = record(shared.reader(), id).ok()??;
    let kept = super::rows::action(shared.reader(), id, number).ok()??;
    // An action that is about to be run anew has no workflow until it begins.
    let is_its = kept.run.has_workflow && kept.beside.workflow.as_deref() == Some(workflow);
    is_its.then_some((record, number, kept))
}

/// Tells a coordinator which state the workflow of one of its actions, `ID@NUMBER`, has reached on its own.
pub(in crate::driver) fn tell(
    context: &mut Context<'_>,
    shared: &Shared,
    action: &str,
    workflow: &str,
    status: WorkflowStatus,
) {
    if let Some((record, number, _)) = known(shared, action, workflow) {
        let message = Message::Event(Event::Workflow(number, status));
        context.send(record.procedure, 0, encode(&message));
    }
}

/// Sets an action of a coordinator, `ID@NUMBER`, to the state of its workflow, which a client reran by itself. If the
/// action has another workflow, nothing changes. If the coordinator has ended and has nothing left to do, it stays
/// ended, and only its action changes.
pub(in crate::driver) fn ran_again(
    context: &mut Context<'_>,
    shared: &Shared,
    action: &str,
    workflow: &str,
    status: WorkflowStatus,
) {
    let Some((record, number, mut kept)) = known(shared, action, workflow) else { return };
    let procedure = context.id();
    if shared.lives(record.procedure) {
        let message = Message::RunAgain { number, procedure, status };
        context.send(record.procedure, 0, encode(&message));
        return;
    }
    let at = shared.host.wall_ms();
    kept.run.status = status.of_action();
    kept.beside.procedure = Some(procedure);
    kept.beside.ended = status.is_end().then_some(at.div_euclid(1000));
    context.put(ACTION, key(&record.id, number), encode(&kept));
    let name = Some(kept.run.status.name().to_owned());
    let moment = Moment { at, action: Some(number), status: name, sla: None, why: None };
    // The record is left alone: the coordinator may be revived at this moment, and then has another procedure.
    let next =
        moments(shared.reader(), &record.id, record.moments).map_or(record.moments, |it| it.1);
    context.put(EVENT, key(&record.id, next as i64), encode(&vec![moment]));
}

impl Shared {
    /// Returns a new id for a job that is not a workflow, with this last letter.
    pub(in crate::driver) fn id_of(&self, letter: char) -> String {
        let id = self.next_id();
        format!("{}{letter}", id.strip_suffix('W').unwrap_or(&id))
    }

    /// Returns an id that no job has: the requested one, or the next one.
    pub(in crate::driver) fn free_id(
        &self,
        wish: Option<String>,
        letter: char,
    ) -> Result<String, Error> {
        let id = wish.unwrap_or_else(|| self.id_of(letter));
        let reader = self.reader();
        let is_taken = record(reader, &id)?.is_some()
            || bundle::record(reader, &id)?.is_some()
            || crate::driver::view::record(reader, &id)?.is_some();
        match is_taken {
            true => Err(Error::State(format!("there is already a job `{id}`"))),
            false => Ok(id),
        }
    }

    /// Writes what the store has to have before a job begins.
    pub(in crate::driver) fn put_surroundings(&self, rows: &mut Rows, needs: &mut needs::Kept) {
        let counter = self.counter.load(Ordering::Relaxed);
        rows.put(spaces::META, b"counter", counter.to_le_bytes());
        rows.put(spaces::META, b"stamp", self.stamp.as_bytes());
        if let Some((key, bytes)) = needs.row() {
            rows.put_new(spaces::NEEDS, key.as_bytes(), bytes);
        }
    }

    pub(in crate::driver) fn submit_coordinator(
        self: &Arc<Self>,
        new: SubmitCoordinator,
        needs: &Needs,
        asked: Option<u64>,
    ) -> Result<String, Error> {
        if let Some(id) = self.answered(asked)? {
            return Ok(id);
        }
        let mut needs = self.keep_needs(needs, &new.mounts)?;
        let id = self.free_id(new.id, 'C')?;
        self.active.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let body = Coordinator::new(self.clone(), &id, &id);
        let created = self.host.wall_ms();
        let definition = new.definition;
        self.executor().submit_with(
            New::of(KIND, body).owner(id.as_str()).unattended(),
            |procedure, rows| {
                self.put_surroundings(rows, &mut needs);
                crate::driver::answer(rows, asked, &id);
                let record = fresh(&id, &definition, created, None, procedure, needs.key);
                rows.put_new(DEFINITION, id.as_bytes(), encode(&definition));
                rows.put_new(RECORD, id.as_bytes(), encode(&record));
            },
        )?;
        Ok(id)
    }

    fn coordinator_record(&self, id: &str) -> Result<Record, Error> {
        record(self.reader(), id)?.ok_or_else(|| Error::Unknown(id.to_owned()))
    }

    /// Sends a client's request to a coordinator, after asking the state machine whether it would refuse it. A
    /// coordinator that has ended is revived.
    pub(in crate::driver) fn coordinator_message(
        self: &Arc<Self>,
        id: &str,
        message: &Message,
    ) -> Result<(), Error> {
        let _one = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let mut record = self.coordinator_record(id)?;
        let definition = definition(self.reader(), id)?;
        let refused = |code| refused(&format!("the coordinator `{id}`"), code);
        match message {
            // These come from a workflow or a purge, not from clients.
            Message::RunAgain { .. } | Message::Forget(_) => return Ok(()),
            Message::Update(new) => {
                if !updatable(&record.job, &definition, new) {
                    return Err(refused(Some("E1023")));
                }
            }
            Message::Event(event) => {
                for (number, kept) in all_actions(self.reader(), id)? {
                    record.job.restore(number, kept.run);
                }
                let equipped = self.equipped(&record.needs)?;
                let rules = Rules::of_server(|name| equipped.server(name));
                let plan = Plan::new(&definition, id, rules).answered(&*equipped);
                let existing = OnFiles::new(&equipped);
                let now = Instant(self.host.wall_ms().div_euclid(1000));
                let world = World { now, existing: &existing };
                if let Err(refusal) = apply(&plan, &mut record.job, event, &world) {
                    return Err(refused(refusal.code));
                }
            }
        }
        self.activate_coordinator(id)?;
        if !self.executor().send(record.procedure, 0, encode(message))? {
            // Its last state may still be on its way into the store.
            self.executor().write(|_| {})?;
            let root = record.root().to_owned();
            let body = Coordinator::new(self.clone(), id, &root);
            let mut kept = self.coordinator_record(id)?;
            self.executor().submit_with(
                New::of(KIND, body).owner(id).unattended().message(encode(message)),
                |procedure, rows| {
                    kept.procedure = procedure;
                    rows.put(RECORD, id.as_bytes(), encode(&kept));
                },
            )?;
        }
        Ok(())
    }

    /// Asks a running coordinator to forget old actions, with these workflows. Returns whether it is alive.
    pub(in crate::driver) fn forget_actions(
        &self,
        id: &str,
        actions: Vec<(i64, Vec<String>)>,
    ) -> Result<bool, Error> {
        let _one = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        let procedure = self.coordinator_record(id)?.procedure;
        Ok(self.executor().send(procedure, 0, encode(&Message::Forget(actions)))?)
    }

    /// Handles a failed step of a coordinator: what it was to begin has not begun.
    pub(super) fn nothing_begun(&self, id: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|action, _| action.rsplit_once('@').is_none_or(|(of, _)| of != id));
    }

    /// Whether a coordinator is about to run an action.
    pub(in crate::driver) fn coordinator_comes_to(
        &self,
        id: &str,
        number: &str,
    ) -> Result<bool, Error> {
        let Ok(number) = number.parse::<i64>() else { return Ok(false) };
        let Some(bytes) = self.reader().get(ACTION, &key(id, number))? else { return Ok(false) };
        let Kept { run, beside } = Kept::read(id, &bytes)?;
        use ActionStatus::{Ready, Submitted, Waiting};
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = begun.get(&format!("{id}@{number}")).copied();
        Ok(matches!(run.status, Waiting | Ready | Submitted)
            || begun.is_some_and(|begun| begun.is_none() || begun != beside.procedure))
    }

    pub(in crate::driver) fn activate_coordinator(&self, id: &str) -> Result<ProcedureId, Error> {
        let record = self.coordinator_record(id)?;
        self.wake_all(record.root());
        Ok(record.procedure)
    }
}

fn fresh(
    id: &str,
    definition: &Definition,
    created: i64,
    bundle: Option<(String, usize)>,
    procedure: ProcedureId,
    needs: String,
) -> Record {
    Record {
        id: id.to_owned(),
        name: definition.name.clone(),
        user: definition.properties.get("user.name").cloned().unwrap_or_default(),
        created,
        job: Job::new(definition),
        bundle,
        procedure,
        moments: 0,
        needs,
    }
}

/// Starts a coordinator of a bundle. Its name is the one in the bundle; `coord:name()` returns the name in its
/// definition.
pub(in crate::driver) fn begin(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    definition: &Definition,
    (bundle, name): (&str, &str),
    at: usize,
    needs: String,
) -> (String, ProcedureId) {
    let id = shared.id_of('C');
    let body = Coordinator::new(shared.clone(), &id, bundle);
    let procedure = context.spawn(New::of(KIND, body).unattended().tag(at as u64));
    let of = Some((bundle.to_owned(), at));
    let fresh = fresh(&id, definition, shared.host.wall_ms(), of, procedure, needs);
    let record = Record { name: name.to_owned(), ..fresh };
    let counter = shared.counter.load(Ordering::Relaxed);
    context.put(spaces::META, b"counter", counter.to_le_bytes());
    context.put(DEFINITION, id.as_bytes(), encode(definition));
    context.put(RECORD, id.as_bytes(), encode(&record));
    (id, procedure)
}

/// Sends an event to a coordinator that begins with this very step.
pub(in crate::driver) fn send(context: &mut Context<'_>, to: ProcedureId, event: Event) {
    context.send(to, 0, encode(&Message::Event(event)));
}

/// Sends an event to a coordinator of a bundle, reviving it if it has ended.
pub(in crate::driver) fn pass_on(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    id: &str,
    event: Event,
) -> Result<(), Error> {
    let mut record = shared.coordinator_record(id)?;
    let lives = shared.executor().state(record.procedure).is_some_and(|state| !state.is_end());
    if !lives {
        let body = Coordinator::new(shared.clone(), id, record.root());
        let at = record.bundle.as_ref().map_or(0, |(_, at)| *at);
        record.procedure = context.spawn(New::of(KIND, body).unattended().tag(at as u64));
        context.put(RECORD, id.as_bytes(), encode(&record));
    }
    context.send(record.procedure, 0, encode(&Message::Event(event)));
    Ok(())
}

/// Returns the event by which a rerun of the bundle reruns a coordinator: the actions at `dates`, or all of them.
pub(in crate::driver) fn rerun_all(
    record: &Record,
    definition: &Definition,
    dates: Option<String>,
    options: RerunOptions,
) -> Event {
    let schedule = &definition.schedule;
    let zone = schedule.processing;
    let all = || format!("{}::{}", zone.format(schedule.start), zone.format(record.job.end));
    let scope = dates.unwrap_or_else(all);
    Event::Rerun(ScopeKind::Date, scope, options)
}
