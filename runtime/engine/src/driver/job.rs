//! The life of a job as a procedure: an event arrives, the machine determines what follows, both are written, then it
//! is carried out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};

use super::call::{self, Call, Timer, Wish};
use super::keep::{
    Calls, JobRecord, Keep, Moment, Open, encode, expectations, moment_key, row_key, spaces,
};
use super::needs::{self, Equipped};
use super::notify::{self, Notification};
use super::{Shared, coordinator, notice, steady, view};
use crate::host::files::{FileUri, Files as _};
use ankus_lang::coordinator::SlaEvent;
use ankus_lang::machine::coordinator::WorkflowStatus;
use ankus_lang::machine::{
    self, Answer, Change, Class, Command, Effect, Event, External, JobStatus, Phase, RerunBy, Run,
    World, apply,
};
use ankus_lang::plan::{Action, NOWHERE, NodeIndex, Plan, Work};
use ankus_procedure::{Context, Failure, New, Note, Procedure, ProcedureId, Step, Wait};

/// The procedure kind of a job.
pub(super) const KIND: &str = "job";

/// The procedure of a job.
pub(super) struct Job {
    shared: Arc<Shared>,
    saved: Saved,
    loaded: Option<Loaded>,
    /// How many times in a row a step failed.
    failures: u32,
    /// Whether what it does itself may already have been done: by another process, or in a step that then failed.
    is_taken_up: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    id: String,
    root: String,
}

struct Loaded {
    record: JobRecord,
    run: Run,
    plan: Arc<Plan>,
}

impl Job {
    pub(super) fn new(shared: Arc<Shared>, id: &str, root: &str) -> Job {
        let saved = Saved { id: id.to_owned(), root: root.to_owned() };
        Job { shared, saved, loaded: None, failures: 0, is_taken_up: false }
    }

    /// Creates the procedure of a job that was just submitted, with what it would otherwise read from the store.
    pub(super) fn fresh(shared: Arc<Shared>, record: &JobRecord, run: Run, plan: Arc<Plan>) -> Job {
        let mut job = Job::new(shared, &record.job.id, &record.root);
        job.loaded = Some(Loaded { record: record.clone(), run, plan });
        job
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Job, String> {
        let saved: Saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        shared.found.lock().unwrap_or_else(PoisonError::into_inner).push(saved.id.clone());
        let shared = shared.clone();
        Ok(Job { shared, saved, loaded: None, failures: 0, is_taken_up: true })
    }

    fn load(&mut self) -> Result<&mut Loaded, Failure> {
        if self.loaded.is_none() {
            let broken = |error: super::Error| steady::broken("job", &error);
            let record = self.shared.record(&self.saved.id).map_err(broken)?;
            let run = view::run(self.shared.reader(), &record).map_err(broken)?;
            let plan = self.shared.plan(&record.plan).map_err(broken)?;
            self.loaded = Some(Loaded { record, run, plan });
        }
        Ok(self.loaded.as_mut().expect("it was just loaded"))
    }
}

impl Loaded {
    /// Whether the job itself carries out what begins: an `fs` action while nothing else is under way. Its end and the
    /// beginning of the next action are then one commit.
    fn does_itself(&self, fresh: &[Fresh]) -> bool {
        let [Fresh { node, phase: Phase::Start, stop: None, .. }] = fresh else { return false };
        let is_fs = |action: &Action| action.kind == "fs";
        let is_meant = matches!(&self.plan.node(*node).work, Work::Action(action) if is_fs(action));
        is_meant && self.record.open.is_empty()
    }

    /// Checks the SLA expectations, and returns the events that are due by now.
    fn look(&mut self, now: i64) -> Vec<(NodeIndex, SlaEvent)> {
        if self.run.expectations.is_empty() {
            return Vec::new();
        }
        self.run.look_at_expectations(now)
    }

    /// Waits for a message, or until an expectation would be missed. Waits in pieces, so that a clock that is set
    /// delays it by at most one piece.
    fn wait(&self, now: i64) -> Wait {
        match self.run.next_expectation() {
            Some(at) => Wait::for_message().or_pause((at - now).clamp(1, 60_000) as u64),
            None => Wait::for_message(),
        }
    }

    /// Returns the notices to send about these SLA events.
    fn notices(&self, events: &[(NodeIndex, SlaEvent)]) -> Vec<notice::What> {
        let job = &self.run.job;
        let mut notices = Vec::new();
        for (node, event) in events {
            let sla = &self.run.expectations[node];
            let (of, name, kind, parent, status) = match *node {
                NOWHERE => {
                    let parent = job.parent_id.as_deref();
                    let (id, name) = (job.id.clone(), job.name.as_str());
                    (id, name, "WORKFLOW_JOB", parent, job.status.name())
                }
                node => {
                    let name = self.plan.node(node).name.as_str();
                    let status = self.run.rows.get(&node).map_or("", |row| row.status.name());
                    (format!("{}@{name}", job.id), name, "WORKFLOW_ACTION", Some(&*job.id), status)
                }
            };
            let about = notice::About { name, id: &of, kind, parent, status };
            let progress = self.run.progress_of(*node);
            notices.extend(notice::mail(&about, sla, *event, progress));
            notices.extend(notice::sla_url(&self.run.conf, &of, *event));
        }
        notices
    }
}

/// Returns the event that a message means for the job.
fn event(note: Note, tag: u64, run: &Run) -> Option<Event> {
    match note {
        Note::Data(bytes) | Note::Succeeded(Some(bytes)) => postcard::from_bytes(&bytes).ok(),
        Note::Succeeded(None) => None,
        // A call that failed internally: the action gets an error, and the job goes on.
        Note::Failed(failure) => {
            let (node, serial) = ((tag >> 32) as u32, tag as u32);
            let phase = run.rows.get(&node)?.calling?;
            let answer = Answer::Error(Class::Error, "JA018".to_owned(), failure.to_string());
            Some(Event::Answered { node, serial, phase, answer })
        }
    }
}

/// The results of a job's calls, and the calls that follow from them.
struct Calling<'a> {
    loaded: &'a mut Loaded,
    world: &'a dyn World,
    /// Effects other than calls.
    effects: Vec<Effect>,
    /// Calls that begin with this step.
    fresh: Vec<Fresh>,
    /// Calls that are requested to stop.
    stopped: Vec<ProcedureId>,
    /// Each suspension and resumption of the job in this step.
    news: Vec<WorkflowStatus>,
}

/// A call that begins with this step, possibly only to be stopped.
struct Fresh {
    node: NodeIndex,
    serial: u32,
    phase: Phase,
    /// The node's name, the run and the attempt, from which its folder is derived.
    folder: (String, u32, u32),
    stop: Option<u32>,
}

impl Calling<'_> {
    /// Applies an event, and everything that follows from it at once.
    fn take(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let before = self.loaded.run.job.status;
            let effects = apply(&self.loaded.plan, &mut self.loaded.run, &event, self.world);
            match (before, self.loaded.run.job.status) {
                (JobStatus::Suspended, JobStatus::Running) => {
                    self.news.push(WorkflowStatus::Running);
                }
                (JobStatus::Suspended, _) => {}
                (_, JobStatus::Suspended) => self.news.push(WorkflowStatus::Suspended),
                _ => {}
            }
            for effect in effects {
                match effect {
                    Effect::Call { node, serial, phase: Phase::Kill } => {
                        if !self.stop(node, serial) {
                            // Nothing is running that could be stopped.
                            events.push_back(stopped(node, serial));
                        }
                    }
                    Effect::Call { node, serial, phase } => {
                        let name = self.loaded.plan.node(node).name.clone();
                        let starts = self.loaded.run.rows.get(&node).map_or(1, |row| row.starts);
                        let folder = (name, self.loaded.run.job.run, starts);
                        self.fresh.push(Fresh { node, serial, phase, folder, stop: None });
                    }
                    effect => self.effects.push(effect),
                }
            }
        }
    }

    /// Stops what was begun for a node, and reports whether there is anything.
    fn stop(&mut self, node: NodeIndex, by: u32) -> bool {
        let mut any = false;
        let of = |of: NodeIndex, phase: Phase| of == node && phase == Phase::Start;
        for fresh in self.fresh.iter_mut().filter(|fresh| of(fresh.node, fresh.phase)) {
            any = true;
            fresh.stop = Some(by);
        }
        for open in self.loaded.record.open.iter_mut().filter(|open| of(open.node, open.phase)) {
            any = true;
            open.stop = Some(by);
            self.stopped.push(open.procedure);
        }
        any
    }

    /// Whether the call that begins an action is still unanswered.
    fn is_beginning(&self, node: NodeIndex, serial: u32) -> bool {
        let row = self.loaded.run.rows.get(&node);
        row.is_some_and(|row| row.calling == Some(Phase::Start) && row.serial == serial)
    }

    /// Stops all running calls of these kinds.
    fn stop_all(&mut self, kinds: &[Calls]) {
        let starts = |open: &&mut Open| {
            open.stop.is_none() && open.phase == Phase::Start && kinds.contains(&open.what)
        };
        for open in self.loaded.record.open.iter_mut().filter(starts) {
            open.stop = Some(0);
            self.stopped.push(open.procedure);
        }
        let plan = &self.loaded.plan;
        for fresh in
            self.fresh.iter_mut().filter(|it| kinds.contains(&calls(plan, it.node, it.phase)))
        {
            fresh.stop.get_or_insert(0);
        }
    }

    /// Removes a call that has ended, however it ended, from the open ones.
    fn closed(&mut self, procedure: ProcedureId) -> Option<Open> {
        let open = &mut self.loaded.record.open;
        let at = open.iter().position(|open| open.procedure == procedure)?;
        Some(open.remove(at))
    }
}

/// Returns what a call of a node begins.
fn calls(plan: &Plan, node: NodeIndex, phase: Phase) -> Calls {
    match &plan.node(node).work {
        Work::Action(action) if phase == Phase::Start => match action.kind.as_str() {
            "fs" | "email" => Calls::Us,
            "sub-workflow" => Calls::Child,
            _ => Calls::Program,
        },
        _ => Calls::Us,
    }
}

/// Returns the event that an action has begun, for one that is killed at once.
fn begun(job: &str, node: NodeIndex, serial: u32) -> Event {
    let external = External { id: job.into(), tracker: "local".into(), ..External::none() };
    let answer = Answer::Started(external);
    Event::Answered { node, serial, phase: Phase::Start, answer }
}

fn stopped(node: NodeIndex, serial: u32) -> Event {
    Event::Answered { node, serial, phase: Phase::Kill, answer: Answer::Stopped }
}

impl Calling<'_> {
    /// Handles the messages to the job, and reports whether a call has ended.
    fn take_messages(&mut self, context: &mut Context<'_>) -> bool {
        let mut is_any_closed = false;
        for message in context.take_messages() {
            let is_answer = !matches!(message.note, Note::Data(_));
            let event = event(message.note, message.tag, &self.loaded.run);
            let closed = message.from.filter(|_| is_answer).and_then(|from| self.closed(from));
            is_any_closed |= closed.is_some();
            let is_mute = event.is_none();
            if let Some(event) = event {
                self.take(event);
            }
            let Some(Open { node, serial, stop: Some(by), .. }) = closed else { continue };
            // A call that was stopped before it had begun sends no answer, and a kill may be waiting for it to begin.
            if is_mute && self.is_beginning(node, serial) {
                let job = self.loaded.run.job.id.clone();
                self.take(begun(&job, node, serial));
            }
            // Whatever the last answer of a call is, what it was to stop has stopped.
            self.take(stopped(node, by));
        }
        is_any_closed
    }
}

/// A step of a job whose results are being written.
struct Turn<'t> {
    shared: &'t Arc<Shared>,
    id: &'t str,
    root: &'t str,
    /// The procedure of the job.
    own: ProcedureId,
    now: i64,
}

/// Returns the tag of a procedure that was begun for a node.
fn tag(node: u32, serial: u32) -> u64 {
    (u64::from(node) << 32) | u64::from(serial)
}

impl Turn<'_> {
    /// Begins the calls of a job.
    fn begin(
        &self,
        context: &mut Context<'_>,
        loaded: &mut Loaded,
        fresh: Vec<Fresh>,
        does_itself: bool,
    ) {
        for Fresh { node, serial, phase, folder: (name, run, starts), stop } in fresh {
            if does_itself {
                let (what, procedure) = (Calls::Us, self.own);
                loaded.record.open.push(Open { node, serial, phase, what, procedure, stop });
                continue;
            }
            let (job, root) = (self.id.to_owned(), self.root.to_owned());
            let what = call::What { job, root, procedure: self.own, node, serial, phase };
            let folder = Call::folder_of(self.shared, self.id, &name, run, starts);
            let mut body = Call::new(self.shared.clone(), what, folder);
            if stop.is_some() {
                body.stop();
            }
            let new = New::of(call::KIND, body).unattended().tag(tag(node, serial));
            let procedure = context.spawn(new);
            let what = calls(&loaded.plan, node, phase);
            loaded.record.open.push(Open { node, serial, phase, what, procedure, stop });
        }
    }

    /// Carries out effects other than calls, and returns the moments to record.
    fn carry_out(&self, context: &mut Context<'_>, run: &Run, effects: Vec<Effect>) -> Vec<Moment> {
        let shared = self.shared;
        let mut moments = Vec::new();
        for effect in effects {
            match effect {
                // Calls were taken out before.
                Effect::Call { .. } => {}
                Effect::Timer { node, serial, at: due } => {
                    let body = Timer::new(shared.clone(), self.root, node, serial, due);
                    context.spawn(New::of(call::TIMER, body).unattended().tag(tag(node, serial)));
                }
                Effect::Changed(change) => moments.push(Moment { at: self.now, change }),
                Effect::SuspendParent => {
                    if let Some(parent) = parent(shared, run, self.root) {
                        context.send(parent, 0, encode(&Event::Command(Command::Suspend)));
                    }
                }
                Effect::Notify(url) => {
                    let proxy = run.property("oozie.wf.workflow.notification.proxy");
                    let proxy = proxy.map(str::to_owned);
                    let body = Notification::new(shared.clone(), self.id, self.root, url, proxy);
                    context.spawn(New::of(notify::KIND, body).unattended());
                    shared.notifier.expect();
                }
                Effect::Ended => {
                    if let Some(endings) = shared.endings.get() {
                        // A receiver that falls behind does not delay a job.
                        let _ = endings.try_send(self.id.to_owned());
                    }
                }
            }
        }
        moments
    }

    /// Stores the state of the expectations, and sends the notices about their events.
    fn expect(
        &self,
        context: &mut Context<'_>,
        loaded: &Loaded,
        events: Vec<(NodeIndex, SlaEvent)>,
        moments: &mut Vec<Moment>,
    ) {
        if loaded.run.expectations.is_empty() {
            return;
        }
        for (key, sla) in expectations(&loaded.run) {
            context.put(spaces::EXPECTATION, key, sla);
        }
        let notices = loaded.notices(&events);
        for (number, what) in notices.into_iter().enumerate() {
            let new = notice::procedure(self.shared, self.id, self.root, number, self.now, what);
            context.spawn(new.unattended().tag(notice::TAG));
        }
        let moment = |(node, event)| Change::Expectation { node, event };
        let changes = events.into_iter().map(moment);
        moments.extend(changes.map(|change| Moment { at: self.now, change }));
    }

    /// Reports the state of the job to the coordinator action that started it: each status in `news`, and whether the
    /// job has ended.
    fn tell_coordinator(
        &self,
        context: &mut Context<'_>,
        run: &Run,
        before: JobStatus,
        news: Vec<WorkflowStatus>,
        ended: bool,
    ) {
        let Some(action) = &run.job.parent_id else { return };
        // A coordinator is told of the end by the executor, and of each of these by a message, since it counts the
        // answers it waits for.
        for status in news {
            coordinator::tell(context, self.shared, action, self.id, status);
        }
        // If a client reran the job by itself, this is all that its coordinator is told.
        let again = match (before, run.job.status) {
            _ if context.answers_to().is_some_and(|to| self.shared.lives(to)) => None,
            (_, JobStatus::Succeeded) if ended => Some(WorkflowStatus::Succeeded),
            (_, JobStatus::Failed) if ended => Some(WorkflowStatus::Failed),
            (_, JobStatus::Killed) if ended => Some(WorkflowStatus::Killed),
            (JobStatus::Prep, JobStatus::Running) => Some(WorkflowStatus::Running),
            _ => None,
        };
        if let Some(status) = again {
            coordinator::ran_again(context, self.shared, action, self.id, status);
        }
    }
}

impl Job {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let (id, root) = (self.saved.id.clone(), self.saved.root.clone());
        let shared = self.shared.clone();
        if !shared.is_active(&root, &id, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let own = context.id();
        let is_taken_up = self.is_taken_up;
        let loaded = self.load()?;
        let equipped = needs::of_record(&shared, &loaded.record)
            .map_err(|error| steady::broken("job", &error))?;
        let world = shared.world_of(&equipped, &id);
        let before = loaded.run.job.status;
        let mut calling = Calling {
            loaded,
            world: &world,
            effects: Vec::new(),
            fresh: Vec::new(),
            stopped: Vec::new(),
            news: Vec::new(),
        };
        if before == JobStatus::Prep && !is_held(&calling.loaded.run) {
            calling.take(Event::Command(Command::Start));
        }
        // Commands that were deferred for a busy call: it may only be waiting by now, for a place or for the job
        // itself.
        for command in std::mem::take(&mut calling.loaded.run.job.deferred) {
            calling.take(Event::Command(command));
        }
        let mut is_any_closed = false;
        // What the job was to do itself is in the store by now.
        if let Some(open) = calling.closed(own) {
            is_any_closed = true;
            let Loaded { run, plan, .. } = &*calling.loaded;
            let Open { node, serial, phase, .. } = open;
            let answer = call::carry_out(&shared, &equipped, plan, run, node, is_taken_up);
            calling.take(Event::Answered { node, serial, phase, answer });
        }
        is_any_closed |= calling.take_messages(context);
        // A kill waits for what begins. A queued call need not wait for its turn only to be killed.
        if calling.loaded.run.job.deferred.contains(&Command::Kill) {
            calling.stop_all(&[Calls::Program, Calls::Child]);
        }
        let has_ended = calling.loaded.run.job.status.is_end();
        if has_ended {
            calling.stop_all(&[Calls::Us, Calls::Program, Calls::Child]);
        }
        let Calling { loaded, effects, fresh, stopped, news, .. } = calling;

        let (changed, removed) = loaded.run.take_changes();
        let ended = has_ended
            && fresh.is_empty()
            && loaded.record.open.is_empty()
            && loaded.run.rows.values().all(|row| row.calling.is_none());
        let now = shared.host.wall_ms();
        let events = loaded.look(now);
        let is_idle = effects.is_empty() && fresh.is_empty() && stopped.is_empty();
        if is_idle && changed.is_empty() && events.is_empty() && !is_any_closed && !ended {
            return Ok(Step::Suspend(loaded.wait(now)));
        }
        if has_ended {
            shared.is_ending(&id);
        }
        for procedure in stopped {
            context.send(procedure, 0, encode(&Wish::Stop));
        }
        if before == JobStatus::Suspended && loaded.run.job.status == JobStatus::Running {
            // What was ready to start did not start while the job was suspended.
            let is_begun = |open: &&Open| {
                loaded.run.rows.get(&open.node).is_none_or(|row| row.calling != Some(Phase::Start))
            };
            for open in loaded.record.open.iter().filter(|open| !is_begun(open)) {
                context.send(open.procedure, 0, encode(&Wish::Look));
            }
        }
        let turn = Turn { shared: &shared, id: &id, root: &root, own, now };
        let does_itself = loaded.does_itself(&fresh);
        turn.begin(context, loaded, fresh, does_itself);
        for node in removed {
            context.delete(spaces::ROW, row_key(&id, node));
        }
        for node in &changed {
            context.put(spaces::ROW, row_key(&id, *node), encode(&loaded.run.rows[node]));
        }
        let mut moments = turn.carry_out(context, &loaded.run, effects);
        turn.expect(context, loaded, events, &mut moments);
        turn.tell_coordinator(context, &loaded.run, before, news, ended);
        if !moments.is_empty() {
            context.put(spaces::EVENT, moment_key(&id, loaded.record.moments), encode(&moments));
            loaded.record.moments += moments.len() as u64;
        }
        loaded.record.job = loaded.run.job.clone();
        loaded.record.procedure = own;
        context.put(spaces::JOB, id.as_bytes(), encode(&loaded.record));
        if ended {
            context.set_result(loaded.run.job.status.name().as_bytes());
            return Ok(Step::Done);
        }
        if does_itself {
            return Ok(Step::More);
        }
        Ok(Step::Suspend(loaded.wait(now)))
    }
}

impl Procedure for Job {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        match steady::attempt(context, |context| self.step(context)) {
            Err(failure) if !steady::is_lasting(&failure) => {
                // The current state is in the store, and what the job did itself may be done.
                (self.loaded, self.is_taken_up) = (None, true);
                Ok(steady::later(context, &mut self.failures, steady::LONGEST_MS))
            }
            made => {
                self.failures = 0;
                self.is_taken_up &= self.loaded.is_none();
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
}

/// The property of a job that runs from this node on.
pub const FROM: &str = "ankus.run.from";
/// The property of a job that runs this action alone.
pub const ONLY: &str = "ankus.run.only";

/// The property of a job that is submitted but not started: it stays in PREP until it gets the command to start.
pub const HELD: &str = "ankus.run.held";
/// The property of a bundle that is started as it is submitted: as on a server, it then does not wait for its kick-off
/// time.
pub const AT_ONCE: &str = "ankus.run.at-once";

/// Whether a job waits for the command to start. A rerun job has been started before.
fn is_held(run: &Run) -> bool {
    run.job.run == 0 && run.conf.contains_key(HELD)
}

/// Compiles the definition that is at the application path now. Returns none if there is nothing to read, and the job
/// continues with the plan it has.
pub(super) fn reread(
    equipped: &Equipped,
    run: &Run,
    old: &Plan,
    properties: &BTreeMap<String, String>,
) -> Result<Option<Plan>, super::Error> {
    if !run.job.status.is_end() {
        return Ok(None);
    }
    let mut conf = (*run.conf).clone();
    conf.extend(properties.iter().map(|(name, value)| (name.clone(), value.clone())));
    let Some(path) = conf.get("oozie.wf.application.path") else { return Ok(None) };
    let uri = FileUri::parse(path);
    let is_same = run.property("oozie.wf.application.path") == Some(path);
    if is_same && !matches!(equipped.files.status(&uri), Ok(Some(_))) {
        return Ok(None);
    }
    let inherited = old.global.as_ref().filter(|_| run.job.parent_id.is_some());
    let compiler = &equipped.compiler;
    let plan = compiler.compile(&uri, &equipped.files, &conf, inherited);
    let plan = plan.map_err(|(_, message)| super::Error::State(message))?;
    let part = match (conf.get(FROM), conf.get(ONLY)) {
        (_, Some(only)) => plan.only(only),
        (Some(from), None) => plan.beginning_at(from),
        (None, None) => Ok(plan),
    };
    let gone = |_| super::Error::State("the part of the workflow that was run is gone".to_owned());
    part.map(Some).map_err(gone)
}

/// Reruns an ended job for its parent, with this plan or its own. Returns its new procedure.
pub(super) fn rerun(
    context: &mut Context<'_>,
    shared: &Arc<Shared>,
    id: &str,
    plan: Option<&Plan>,
    properties: &BTreeMap<String, String>,
    root: &str,
    prepared: impl FnOnce(New) -> New,
) -> Result<ProcedureId, super::Error> {
    let mut record = shared.record(id)?;
    let equipped = needs::of_record(shared, &record)?;
    let old = shared.plan(&record.plan)?;
    let mut run = view::run(shared.reader(), &record)?;
    let read = match plan {
        Some(_) => None,
        None => reread(&equipped, &run, &old, properties)?,
    };
    let plan = plan.or(read.as_ref());
    let new = plan.unwrap_or(&old);
    machine::rerun(&old, new, &mut run, properties, RerunBy::Parent, &shared.world(&equipped))
        .map_err(super::Error::Refused)?;
    if let Some(plan) = plan {
        let (key, bytes) = Keep::plan_key(shared.reader(), &plan.to_bytes())?;
        if let Some(bytes) = bytes {
            context.put(spaces::PLAN, key.as_bytes(), bytes);
        }
        record.plan = key;
    }
    let (changed, removed) = run.take_changes();
    for node in removed {
        context.delete(spaces::ROW, row_key(id, node));
    }
    for node in changed {
        context.put(spaces::ROW, row_key(id, node), encode(&run.rows[&node]));
    }
    let again = Moment { at: run.job.modified, change: Change::Job(JobStatus::Prep) };
    context.put(spaces::EVENT, moment_key(id, record.moments), encode(&vec![again]));
    record.moments += 1;
    let body = Job::new(shared.clone(), id, root);
    record.procedure = context.spawn(prepared(New::of(KIND, body).unattended()));
    record.open.clear();
    record.job = run.job.clone();
    context.put(spaces::CONF, id.as_bytes(), encode(&*run.conf));
    for (key, sla) in expectations(&run) {
        context.put(spaces::EXPECTATION, key, sla);
    }
    context.put(spaces::JOB, id.as_bytes(), encode(&record));
    Ok(record.procedure)
}

/// Returns the procedure of the parent job. By its properties a workflow may claim any parent, but not another root.
fn parent(shared: &Shared, run: &Run, root: &str) -> Option<ProcedureId> {
    let id = run.job.parent_id.as_deref()?;
    let above = view::record(shared.reader(), id).ok()??;
    (above.root == root).then_some(above.procedure)
}
