//! A coordinator as a procedure: it checks the time, the data and its messages, asks the state machine what follows,
//! and writes that before anything is carried out. Each workflow is a job of its own that reports its end.
//!
//! It sleeps until something can happen: an action's time, the next action to create, the next check for missing data.
//! Checks become less frequent while nothing changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::keep::encode;
use super::needs::Equipped;
use super::watch::Watched;
use super::{Error, Shared, notice, steady};
use ankus_lang::coordinator::{Definition, Progress};
use ankus_lang::machine::coordinator::{ActionStatus, Event, Plan, Rules, WorkflowStatus, World};
use ankus_lang::time::Instant;
use ankus_procedure::{Context, Failure, Note, Procedure, ProcedureId, Step, Wait};

mod clients;
mod data;
mod pass;
mod passes;
mod rows;
mod workflows;

pub use clients::{Message, SubmitCoordinator, updatable};
pub(super) use clients::{begin, pass_on, ran_again, rerun_all, send, tell};
pub use rows::{
    Beside, Kept, Moment, Record, action, actions, definition, is_silent, missing, moments, record,
    records,
};
pub(super) use rows::{DEFINITION, EVENT, RECORD, read_moments};
pub(super) use rows::{SPACES, damaged, has_ended, moments_since};

use data::{OnFiles, places, wake};
use pass::{Changes, Pass};
use passes::Both;
use rows::{Untold, all_actions};
use workflows::status_of;

/// The procedure kind of a coordinator.
pub(super) const KIND: &str = "coordinator";
/// The first and the longest pause between two checks for missing data, in milliseconds.
const LOOK_MS: (u64, u64) = (500, 30_000);
/// How often to check whether a workflow has stopped everything that it began.
const HELD_MS: u64 = 100;
/// How often to check whether a workflow that this procedure did not begin has ended. It reports its end itself, except
/// while the coordinator is being revived.
const STRANGERS_MS: u64 = 60_000;
/// The longest pause if the file system reports arriving data.
const WATCHED_MS: u64 = 600_000;
/// A coordinator that waits for more paths than this only polls.
const MOST_WATCHED: usize = 1_000;
/// A step is written after this many changed actions, and the next one continues.
const STEP: usize = 2_000;

/// The procedure of a coordinator.
pub(super) struct Coordinator {
    shared: Arc<Shared>,
    saved: Saved,
    loaded: Option<Loaded>,
    looks: Looks,
    passes: Both,
    /// How many times in a row a step failed.
    failures: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    id: String,
    /// The id of its bundle, or its own.
    root: String,
    /// The message that revived it after its end, where an older version did that. It is a message like others now, so
    /// that a client can see whether it has been taken.
    first: Option<Message>,
}

struct Loaded {
    record: Record,
    definition: Arc<Definition>,
    beside: BTreeMap<i64, Beside>,
    /// Waiting actions, ordered by nominal time.
    waiting: BTreeSet<(Instant, i64)>,
    /// Actions whose SLA expectations are still open.
    expecting: BTreeSet<i64>,
    /// Actions that start as soon as their previous workflow has stopped what it began.
    held: BTreeSet<i64>,
    /// Actions with running workflows that this procedure did not begin, since a client reran them. They may have ended
    /// while no procedure was there to be told, so they are polled.
    strangers: BTreeSet<i64>,
    /// Actions whose workflows have reported suspensions that were requested.
    heard: BTreeSet<i64>,
    /// Actions to remove, with their workflows.
    forgotten: BTreeMap<i64, Vec<String>>,
    /// Whether `strangers` has not been filled yet.
    is_fresh: bool,
}

impl Coordinator {
    pub(super) fn new(shared: Arc<Shared>, id: &str, root: &str) -> Coordinator {
        let saved = Saved { id: id.to_owned(), root: root.to_owned(), first: None };
        Coordinator::of(shared, saved)
    }

    fn of(shared: Arc<Shared>, saved: Saved) -> Coordinator {
        let (looks, passes) = (Looks::default(), Both::default());
        Coordinator { shared, saved, loaded: None, looks, passes, failures: 0 }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Coordinator, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Coordinator::of(shared.clone(), saved))
    }

    fn load(&mut self) -> Result<(), Error> {
        if self.loaded.is_some() {
            return Ok(());
        }
        let reader = self.shared.reader();
        let id = &self.saved.id;
        let mut record = record(reader, id)?.ok_or_else(|| Error::Unknown(id.clone()))?;
        // Workflows that were rerun by themselves may have recorded moments meanwhile.
        record.moments = moments(reader, id, record.moments)?.1;
        let definition = Arc::new(definition(reader, id)?);
        let (mut waiting, mut expecting) = (BTreeSet::new(), BTreeSet::new());
        let (mut beside, mut held) = (BTreeMap::new(), BTreeSet::new());
        for (number, kept) in all_actions(reader, id)? {
            // An action that is starting is RUNNING by the end of that step.
            if kept.run.status == ActionStatus::Submitted {
                held.insert(number);
            }
            if kept.run.status == ActionStatus::Waiting {
                waiting.insert((kept.run.data.nominal, number));
            }
            if kept.run.sla.as_ref().is_some_and(|sla| !sla.is_over()) {
                expecting.insert(number);
            }
            beside.insert(number, kept.beside);
            record.job.restore(number, kept.run);
        }
        record.job.restored();
        let (strangers, heard) = (BTreeSet::new(), BTreeSet::new());
        let (forgotten, is_fresh) = (BTreeMap::new(), true);
        self.loaded = Some(Loaded {
            record,
            definition,
            beside,
            waiting,
            expecting,
            held,
            strangers,
            heard,
            forgotten,
            is_fresh,
        });
        Ok(())
    }
}

/// When a coordinator checks for missing data.
struct Looks {
    /// How long to wait before the next check, in milliseconds.
    wait_ms: u64,
    /// When to check next, on the monotonic clock.
    next: u64,
    /// Actions that were due before this time have been checked.
    seen: Instant,
    /// What it waits for, and whether that is all of it.
    waits: (Vec<String>, bool),
    /// Whether the file system reports when it arrives.
    is_watched: bool,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks {
            wait_ms: LOOK_MS.0,
            next: 0,
            seen: Instant(i64::MIN),
            waits: (Vec::new(), true),
            is_watched: true,
        }
    }
}

impl Looks {
    /// Returns checks of the actions that are due: of all of them if it is time to check, otherwise of those that
    /// became due since, or whose time-out has been reached.
    fn due(&mut self, loaded: &Loaded, now: Instant, is_look: bool) -> Vec<Event> {
        let seen = std::mem::replace(&mut self.seen, now);
        let job = &loaded.record.job;
        let is_late = |number: &i64| {
            let run = job.actions.get(number);
            run.and_then(|run| run.times_out(job.controls.timeout)).is_some_and(|at| at <= now)
        };
        let due = loaded.waiting.range(..=(now, i64::MAX));
        let due = due.filter(|(nominal, number)| is_look || *nominal > seen || is_late(number));
        due.map(|(_, number)| Event::Check(*number)).collect()
    }

    /// Watches the file system for the missing data. Returns whether some of it arrived meanwhile.
    fn watch(
        &mut self,
        shared: &Shared,
        own: ProcedureId,
        equipped: &Equipped,
        waits: (Vec<String>, bool),
    ) -> bool {
        let places: Vec<Option<PathBuf>> =
            waits.0.iter().flat_map(|uri| places(equipped, uri)).collect();
        let is_here = places.iter().all(Option::is_some);
        let paths: Vec<PathBuf> = places.into_iter().flatten().collect();
        let watched = shared.watch.wait_for(own, &paths);
        self.is_watched = watched == Watched::All && waits.1 && is_here;
        self.waits = waits;
        watched == Watched::News
    }

    /// Plans the next check after a check or a change: soon if something changed, and later each time nothing did.
    fn plan(&mut self, clock_ms: u64, has_changed: bool) {
        let longest = if self.is_watched { WATCHED_MS } else { LOOK_MS.1 };
        self.wait_ms = if has_changed { LOOK_MS.0 } else { (self.wait_ms * 2).min(longest) };
        self.next = clock_ms + self.wait_ms;
    }
}

impl Loaded {
    /// Handles the messages: returns events for the state machine, and whether a client or a bundle sent one.
    fn take_messages(
        &mut self,
        context: &mut Context<'_>,
        shared: &Shared,
        id: &str,
        first: Option<Message>,
    ) -> (VecDeque<Event>, bool) {
        let mut events = VecDeque::new();
        let mut was_commanded = first.is_some();
        let mut messages: Vec<(Message, Option<ProcedureId>)> =
            first.into_iter().map(|first| (first, None)).collect();
        for message in context.take_messages() {
            let is_answer = !matches!(message.note, Note::Data(_));
            was_commanded |= !is_answer;
            let of = message.from.filter(|_| is_answer);
            messages.extend(meaning(message.note, message.tag).map(|it| (it, of)));
        }
        for (message, of) in messages {
            match message {
                // The end of a workflow that this action no longer has means nothing for its current one.
                Message::Event(Event::Workflow(number, _)) if self.has_another(number, of) => {}
                Message::Event(Event::Workflow(number, status))
                    if self.was_asked(number, status) => {}
                Message::Event(event) => events.push_back(event),
                Message::Update(new) if updatable(&self.record.job, &self.definition, &new) => {
                    self.record.job.controls = new.controls;
                    context.put(rows::DEFINITION, id.as_bytes(), encode(&*new));
                    self.definition = Arc::new(*new);
                }
                Message::Update(_) => {}
                Message::Forget(actions) => {
                    self.forgotten.extend(actions);
                    self.forgotten.retain(|_, workflows| shared.rest(workflows));
                    events.push_back(Event::Forget(self.forgotten.keys().copied().collect()));
                }
                Message::RunAgain { number, procedure, status } => {
                    self.beside.entry(number).or_default().procedure = Some(procedure);
                    events.push_back(Event::RunAgain(number, status));
                }
            }
        }
        (events, was_commanded)
    }

    /// Whether an action has begun another workflow since, or the same one again.
    fn has_another(&self, number: i64, of: Option<ProcedureId>) -> bool {
        let begun = self.beside.get(&number).and_then(|beside| beside.procedure);
        of.is_some_and(|of| begun.is_some_and(|begun| begun != of))
    }

    /// Whether a workflow reports a state that the coordinator requested: the request counted from then on, and the
    /// workflow may have been told something else since.
    fn was_asked(&mut self, number: i64, status: WorkflowStatus) -> bool {
        let Some(beside) = self.beside.get_mut(&number) else { return false };
        let times = match status {
            WorkflowStatus::Suspended => &mut beside.untold.suspended,
            WorkflowStatus::Running => &mut beside.untold.running,
            _ => return false,
        };
        if *times == 0 {
            return false;
        }
        *times -= 1;
        self.heard.insert(number);
        true
    }

    /// Finds the states of workflows that no message reports.
    fn hear_of_workflows(
        &mut self,
        shared: &Shared,
        own: ProcedureId,
        events: &mut VecDeque<Event>,
    ) {
        if std::mem::take(&mut self.is_fresh) {
            self.find_strangers(shared, own);
        }
        for number in self.strangers.clone() {
            let status = self.beside.get(&number).and_then(|beside| beside.came_to(shared));
            if let Some(status) = status {
                self.strangers.remove(&number);
                events.push_back(Event::RunAgain(number, status));
            }
        }
        // A command that arrived after the workflow had ended gets no other answer.
        for number in self.record.job.unanswered() {
            let status = self.beside.get(&number).and_then(|beside| beside.came_to(shared));
            events.extend(status.map(|status| Event::Workflow(number, status)));
        }
    }

    /// Records what belongs to the new state of an action.
    fn came_to(&mut self, number: i64, status: ActionStatus, now: Instant) {
        let Some(run) = self.record.job.actions.get(&number) else { return };
        let place = (run.data.nominal, number);
        let beside = self.beside.entry(number).or_default();
        match status {
            ActionStatus::Waiting => {
                self.waiting.insert(place);
                (beside.started, beside.ended) = (None, None);
                if run.sla.is_some() {
                    self.expecting.insert(number);
                }
            }
            ActionStatus::Running if beside.started.is_none() => beside.started = Some(now.0),
            _ if !status.is_active() => {
                (beside.ended, beside.untold) = (Some(now.0), Untold::default())
            }
            _ => {}
        }
        if status != ActionStatus::Waiting {
            self.waiting.remove(&place);
        }
    }

    /// Checks which SLA expectations are met or missed by now.
    fn look_at_expectations(
        &mut self,
        id: &str,
        now_ms: i64,
        equipped: &Equipped,
        changes: &mut Changes,
    ) {
        let now = Instant(now_ms.div_euclid(1000));
        let patience = equipped.server(notice::OLDER);
        let zone = self.definition.schedule.processing;
        let mut over = Vec::new();
        for number in &self.expecting {
            let Some(run) = self.record.job.actions.get_mut(number) else { continue };
            let beside = self.beside.get(number);
            let progress = progress(run.status, beside);
            let Some(sla) = run.sla.as_mut() else { continue };
            let before = sla.status;
            let events = sla.look(now, progress);
            if !events.is_empty() || sla.status != before {
                changes.actions.insert(*number);
                changes.is_any = true;
            }
            for event in events {
                let action = Some(*number);
                let (at, what) = (now_ms, Some(event));
                let moment = Moment { at, action, status: None, sla: what, why: None };
                changes.moments.push(moment);
                let of = format!("{id}@{number}");
                let (whose, nominal) = ((self.record.name.as_str(), id), run.data.nominal);
                let properties = &self.definition.properties;
                let asked = notice::Asked { number: *number, nominal, created: run.created, zone };
                if notice::is_silent(properties, patience, whose, &asked) {
                    continue;
                }
                let about = notice::About {
                    name: &self.record.name,
                    id: &of,
                    kind: "COORDINATOR_ACTION",
                    parent: Some(id),
                    status: run.status.name(),
                };
                changes.notices.extend(notice::mail(&about, sla, event, progress));
                let url = notice::sla_url(&self.definition.properties, &of, event);
                changes.notices.extend(url);
            }
            if sla.is_over() {
                over.push(*number);
            }
        }
        for number in over {
            self.expecting.remove(&number);
        }
    }
}

fn progress(status: ActionStatus, beside: Option<&Beside>) -> Progress {
    Progress {
        started: beside.and_then(|beside| beside.started).map(Instant),
        ended: beside.and_then(|beside| beside.ended).map(Instant),
        is_well: status == ActionStatus::Succeeded,
        is_skipped: matches!(status, ActionStatus::Skipped | ActionStatus::Ignored),
    }
}

/// Decodes a message.
fn meaning(note: Note, tag: u64) -> Option<Message> {
    let number = tag as i64;
    if tag == notice::TAG {
        return None;
    }
    let event = match note {
        Note::Data(bytes) => return postcard::from_bytes(&bytes).ok(),
        Note::Succeeded(Some(status)) => Event::Workflow(number, status_of(&status)),
        Note::Succeeded(None) | Note::Failed(_) => Event::Workflow(number, WorkflowStatus::Failed),
    };
    Some(Message::Event(event))
}

impl Coordinator {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        if !shared.is_active(&self.saved.root, &self.saved.id, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let broken = |error: Error| steady::broken("coordinator", &error);
        self.load().map_err(broken)?;
        let Saved { id, root, .. } = self.saved.clone();
        let first = self.saved.first.take();
        let Some(loaded) = self.loaded.as_mut() else { return Ok(Step::Done) };
        let now_ms = shared.host.wall_ms();
        let clock_ms = shared.host.elapsed_ms();
        let equipped = shared.equipped(&loaded.record.needs).map_err(broken)?;
        let existing = OnFiles::new(&equipped);
        let world = World { now: Instant(now_ms.div_euclid(1000)), existing: &existing };

        let (mut events, was_commanded) = loaded.take_messages(context, &shared, &id, first);
        let definition = loaded.definition.clone();
        let rules = Rules::of_server(|name| equipped.server(name));
        let plan = Plan::new(&definition, id.as_str(), rules).answered(&*equipped);
        let has_messages = !events.is_empty();
        loaded.hear_of_workflows(&shared, context.id(), &mut events);
        self.passes.set(|name| equipped.server(name));
        let makes = self.passes.making.is_now(clock_ms, false);
        events.push_back(Event::Pause);
        events.extend(makes.then_some(Event::Materialize));
        events.push_back(Event::Recover);
        let has_news = shared.watch.take_news(context.id());
        let is_look = was_commanded || has_news || clock_ms >= self.looks.next;
        events.extend(self.looks.due(loaded, world.now, is_look));

        let actions = std::mem::take(&mut loaded.heard);
        let changes = Changes { is_any: !actions.is_empty(), actions, ..Changes::default() };
        let mut pass = Pass {
            context,
            shared: &shared,
            equipped: &equipped,
            plan: &plan,
            world: &world,
            now_ms,
            id: &id,
            root: &root,
            loaded,
            events,
            changes,
            begins: false,
            is_at_once: !self.passes.making.are_apart(),
            looks_at_state: self.passes.states.is_now(clock_ms, true),
        };
        pass.begin_held();
        let mut has_more = pass.fold();
        pass.loaded.look_at_expectations(&id, now_ms, &equipped, &mut pass.changes);
        pass.write(was_commanded, has_messages);
        pass.forget_workflows();
        let Pass { changes, begins, .. } = pass;

        let own = context.id();
        if is_look || changes.is_any {
            let waits = loaded.waits_for(&plan, &world);
            if has_news || waits != self.looks.waits {
                has_more |= self.looks.watch(&shared, own, &equipped, waits);
            }
            self.looks.plan(clock_ms, changes.is_any);
        }
        let job = &loaded.record.job;
        let is_over = job.status.is_end() && !job.pending && loaded.held.is_empty();
        if is_over && !begins && !loaded.has_live_workflows(&shared) {
            shared.watch.wait_for(own, &[]);
            context.set_result(job.status.name().as_bytes());
            return Ok(Step::Done);
        }
        if has_more {
            return Ok(Step::Suspend(Wait::for_message().or_pause(0)));
        }
        if !loaded.held.is_empty() {
            return Ok(Step::Suspend(Wait::for_message().or_pause(HELD_MS)));
        }
        let look_in = self.looks.next.saturating_sub(clock_ms).max(1);
        let wakes = wake(loaded, &plan, world.now, look_in, &self.passes, clock_ms);
        let looks = (!loaded.strangers.is_empty()).then_some(STRANGERS_MS);
        Ok(Step::Suspend(match wakes.into_iter().chain(looks).min() {
            Some(ms) => Wait::for_message().or_pause(ms),
            None => Wait::for_message(),
        }))
    }
}

impl Procedure for Coordinator {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let before = self.saved.clone();
        match steady::attempt(context, |context| self.step(context)) {
            Err(failure) if !steady::is_lasting(&failure) => {
                // The current state is in the store.
                (self.saved, self.loaded) = (before, None);
                self.shared.nothing_begun(&self.saved.id);
                Ok(steady::later(context, &mut self.failures, steady::LONGEST_MS))
            }
            made => {
                self.failures = 0;
                made
            }
        }
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }

    fn drops_messages(&self) -> bool {
        false
    }
}
