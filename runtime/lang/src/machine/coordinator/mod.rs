//! The whole semantics of a coordinator job as a function: `apply(plan, job, event, world) -> effects`.
//!
//! The input is what the server stores of the definition ([`Plan`]), the state of the job, one [`Event`] and a
//! [`World`] that knows the time and which data exists. The result is the changed [`Job`] and [`Effect`]s that the
//! caller carries out: inputs to check, workflows to start, suspend and kill. The order of changes is that of the
//! server (`coordinator-lifecycle.md`).
//!
//! This module must not know XML, clocks, files or processes. Bundles are in [`bundle`].

pub mod bundle;
mod commands;
mod scope;
pub mod simulation;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use commands::{Refusal, RerunOptions};
pub use scope::ScopeKind;
pub use status::{ActionStatus, Status, WorkflowStatus};

use crate::coordinator::{
    Action, Actions, Answers, Controls, Definition, EventData, Execution, Existing, Inputs, Sla,
};
use crate::time::{Instant, Schedule, is_skipped_by_last_only, is_skipped_by_none, is_timed_out};

/// Precedes the reason why inputs of an action could not be checked.
pub const UNSEEN: &str = "E1021: Coord Action Input Check Error: ";

/// One action of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its status.
    pub status: ActionStatus,
    /// Its data, as materialized and as resolved.
    pub data: Action,
    /// Creation time, from which its waiting time counts.
    pub created: Instant,
    /// Whether all of its inputs were found; a rerun does not check them again.
    pub is_met: bool,
    /// The first missing dependency.
    pub missing: Option<String>,
    /// The configuration that its workflow is given.
    pub configuration: Vec<(String, String)>,
    /// Whether it has a workflow.
    pub has_workflow: bool,
    /// Whether that workflow is to be rerun instead of starting a new one.
    pub reruns: bool,
    /// Configuration given with a rerun.
    pub rerun_configuration: Vec<(String, String)>,
    /// Number of commands that its workflow has not answered.
    pending: u32,
    /// Code and message of the error that failed it; both are empty if it was rerun since. Read it by [`Run::fault`].
    pub error: Option<(String, String)>,
    /// Its SLA.
    pub sla: Option<Sla>,
}

impl Run {
    /// Returns the first moment at which it has timed out, given a time-out in minutes.
    pub fn times_out(&self, timeout: i64) -> Option<Instant> {
        let since = self.data.nominal.max(self.created);
        (timeout >= 0).then(|| since.plus_minutes(timeout.saturating_add(1)))
    }

    /// Returns code and message of the error that failed it. The code is empty if the server gives none.
    pub fn fault(&self) -> Option<&(String, String)> {
        self.error.as_ref().filter(|(_, message)| !message.is_empty())
    }
}

/// Settings of the server that apply to all coordinators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How far ahead one materialization pass goes, in seconds.
    pub window_seconds: i64,
    /// How long before its nominal time an action may be created, in seconds.
    pub ahead_seconds: i64,
    /// How many actions one pass creates if actions are skipped.
    pub batch: usize,
    /// Minutes after which the execution order NONE skips an action.
    pub tolerance_minutes: i64,
    /// Whether statuses with an error in their name are shown; by default they are not.
    pub shows_errors: bool,
    /// Whether the SLA service is enabled, which refuses SLAs that expect something before its nominal time.
    pub has_sla_service: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            window_seconds: 3600,
            ahead_seconds: 300,
            batch: 10_000,
            tolerance_minutes: 1,
            shows_errors: false,
            has_sla_service: false,
        }
    }
}

impl Rules {
    /// Returns the rules of a server with these properties; unset ones have their defaults.
    pub fn of_server<'s>(server: impl Fn(&str) -> Option<&'s str>) -> Rules {
        const TRIGGER: &str = "oozie.service.CoordMaterializeTriggerService";
        const STATES: &str =
            "oozie.service.StatusTransitService.backward.support.for.states.without.error";
        let mut rules = Rules::default();
        let window = format!("{TRIGGER}.materialization.window");
        let ahead = format!("{TRIGGER}.lookup.interval");
        for (place, key) in [
            (&mut rules.window_seconds, window.as_str()),
            (&mut rules.ahead_seconds, ahead.as_str()),
            (&mut rules.tolerance_minutes, "oozie.coord.execution.none.tolerance"),
        ] {
            let number = server(key).and_then(|text| text.trim().parse::<i64>().ok());
            *place = number.unwrap_or(*place);
        }
        let shown = server(STATES).map(|text| text.trim().eq_ignore_ascii_case("false"));
        rules.shows_errors = shown.unwrap_or(rules.shows_errors);
        let services = server("oozie.services.ext").unwrap_or_default();
        rules.has_sla_service =
            services.split(',').any(|class| class.trim().rsplit('.').next() == Some("SLAService"));
        rules
    }
}

/// A coordinator definition, prepared for execution.
pub struct Plan<'a> {
    /// The definition as the server stores it.
    pub definition: &'a Definition,
    /// Materializes its actions.
    pub actions: Actions<'a>,
    /// The id of the job.
    pub id: String,
    /// Settings of the server.
    pub rules: Rules,
}

impl<'a> Plan<'a> {
    /// Prepares a definition for the job with this id.
    pub fn new(definition: &'a Definition, id: impl Into<String>, rules: Rules) -> Plan<'a> {
        Plan { definition, actions: Actions::new(definition), id: id.into(), rules }
    }

    /// Answers calls of site functions by `answers`.
    pub fn answered(self, answers: &'a dyn Answers) -> Plan<'a> {
        Plan { actions: Actions::answered(self.definition, Some(answers)), ..self }
    }
}

/// The queries that the state machine asks.
pub struct World<'a> {
    /// The current time.
    pub now: Instant,
    /// Answers which data exists.
    pub existing: &'a dyn Existing,
}

/// The state of a coordinator job. It is serialized without its actions, which are [restored](Job::restore) one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its status.
    pub status: Status,
    /// Whether a command was given that the next status pass has to confirm.
    pub pending: bool,
    /// Whether all actions have been created.
    pub is_done: bool,
    /// The first nominal time without an action.
    pub next: Option<Instant>,
    /// The number of the last action.
    pub last_number: i64,
    /// Its end time, which can be changed.
    pub end: Instant,
    /// The pause time, from which no action is created.
    pub pause: Option<Instant>,
    /// Its controls, which can be changed.
    pub controls: Controls,
    /// Its actions, by number. Only events change them, since they are counted.
    #[serde(skip)]
    pub actions: BTreeMap<i64, Run>,
    /// Number of actions per status.
    #[serde(skip)]
    counts: [usize; ActionStatus::ALL.len()],
    /// The ready actions, by nominal time.
    #[serde(skip)]
    ready: BTreeSet<(Instant, i64)>,
    /// Number of actions with an unanswered command.
    #[serde(skip)]
    pending_runs: usize,
    /// Whether the job changed since the last status pass.
    is_modified: bool,
    /// Whether an action changed since then.
    is_touched: bool,
    /// Actions that were resumed before their workflows had reported that they were suspended, and how often.
    #[serde(skip)]
    overtaken: BTreeMap<i64, u32>,
    /// The values of the job that were last reported.
    told: (Status, bool, bool, Option<Instant>),
}

impl Job {
    /// Creates a job that was just submitted.
    pub fn new(definition: &Definition) -> Job {
        Job {
            status: Status::Prep,
            pending: false,
            is_done: false,
            next: None,
            last_number: 0,
            end: definition.schedule.end,
            pause: None,
            controls: definition.controls,
            actions: BTreeMap::new(),
            counts: [0; ActionStatus::ALL.len()],
            ready: BTreeSet::new(),
            pending_runs: 0,
            is_modified: false,
            is_touched: false,
            overtaken: BTreeMap::new(),
            told: (Status::Prep, false, false, None),
        }
    }

    /// Returns the number of actions with this status.
    pub fn count(&self, status: ActionStatus) -> usize {
        self.counts[status as usize]
    }

    /// Returns the actions that have an unanswered command.
    pub fn asked(&self) -> Vec<i64> {
        if self.pending_runs == 0 {
            return Vec::new();
        }
        let asked = self.actions.iter().filter(|(_, run)| run.pending > 0);
        asked.map(|(number, _)| *number).collect()
    }

    /// Returns those of them that have ended.
    pub fn unanswered(&self) -> Vec<i64> {
        let mut asked = self.asked();
        asked.retain(|number| !self.actions[number].status.is_active());
        asked
    }

    /// Called when all actions have been restored: a pending job without unanswered commands needs one more status
    /// pass.
    pub fn restored(&mut self) {
        self.is_touched |= self.pending && self.pending_runs == 0;
    }

    /// Whether a status pass may change it.
    pub fn awaits_pass(&self) -> bool {
        self.is_touched || self.is_modified
    }

    /// Restores a stored action.
    pub fn restore(&mut self, number: i64, run: Run) {
        self.pending_runs += usize::from(run.pending > 0);
        if run.status == ActionStatus::Ready {
            self.ready.insert((run.data.nominal, number));
        }
        self.insert(number, run);
    }

    fn insert(&mut self, number: i64, run: Run) {
        self.counts[run.status as usize] += 1;
        self.actions.insert(number, run);
    }

    fn remove(&mut self, number: i64) {
        self.set_pending(number, |_| 0);
        self.overtaken.remove(&number);
        let Some(run) = self.actions.remove(&number) else { return };
        self.counts[run.status as usize] -= 1;
        self.ready.remove(&(run.data.nominal, number));
    }

    /// Whether a suspension that a workflow reports is obsolete because it was resumed since.
    fn is_overtaken(&mut self, number: i64, status: WorkflowStatus) -> bool {
        if status.is_end() {
            self.overtaken.remove(&number);
        }
        let Some(times) = self.overtaken.get_mut(&number) else { return false };
        if status != WorkflowStatus::Suspended {
            return false;
        }
        *times -= 1;
        if *times == 0 {
            self.overtaken.remove(&number);
        }
        true
    }

    /// Changes the number of unanswered commands of an action.
    fn set_pending(&mut self, number: i64, change: impl Fn(u32) -> u32) {
        let Some(run) = self.actions.get_mut(&number) else { return };
        let before = run.pending;
        run.pending = change(before);
        self.pending_runs += usize::from(run.pending > 0);
        self.pending_runs -= usize::from(before > 0);
    }
}

/// An input of the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A materialization pass.
    Materialize,
    /// A status pass.
    Status,
    /// A pause pass.
    Pause,
    /// A recovery pass, which finds ready actions that nothing else starts.
    Recover,
    /// A check of the inputs of an action.
    Check(i64),
    /// The workflow of an action was created.
    Started(i64),
    /// The workflow of an action was not created.
    NotStarted {
        /// The action.
        number: i64,
        /// The error code; E1005 if it has none.
        code: String,
        /// The message.
        message: String,
    },
    /// The workflow of an action has changed its status.
    Workflow(i64, WorkflowStatus),
    /// The client's `suspend`.
    Suspend,
    /// The client's `resume`.
    Resume,
    /// The client's `kill`.
    Kill,
    /// The client's `kill` of some actions.
    KillActions(ScopeKind, String),
    /// The client's `ignore` of some actions.
    IgnoreActions(ScopeKind, String),
    /// The client's `change`.
    Change(String),
    /// The client's `rerun`.
    Rerun(ScopeKind, String, RerunOptions),
    /// The workflow of an action, which a client reran directly, has changed its status.
    RunAgain(i64, WorkflowStatus),
    /// New SLAs for these actions: the leaves of their SLA blocks, evaluated. Actions that have ended keep theirs.
    Expect(Vec<(i64, Vec<(String, String)>)>),
    /// A purge of these actions, restricted to those that have ended and have no unanswered command.
    Forget(Vec<i64>),
}

/// A side effect that the caller carries out, or a change that it reports, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The job changed.
    Job {
        /// The previous status, if it changed.
        from: Option<Status>,
        /// Its status.
        status: Status,
        /// Its pending flag.
        pending: bool,
        /// Whether all actions have been created.
        is_done: bool,
        /// The first nominal time without an action.
        next: Option<Instant>,
    },
    /// An action has changed its status.
    Action(i64, ActionStatus),
    /// An action was deleted.
    Deleted(i64),
    /// Check the inputs of an action at this time.
    Check(i64, Instant),
    /// Create a workflow, or rerun it, with the configuration of the action.
    Start(i64),
    /// Suspend its workflow.
    SuspendWorkflow(i64),
    /// Resume its workflow.
    ResumeWorkflow(i64),
    /// Kill its workflow.
    KillWorkflow(i64),
    /// The job fails for this reason.
    Fault(String),
    /// Delete the outputs of an action before it runs again.
    CleanUp(i64, Vec<String>),
}

/// Applies an event to the job. A refusal changes nothing and is returned to the client.
pub fn apply(
    plan: &Plan<'_>,
    job: &mut Job,
    event: &Event,
    world: &World<'_>,
) -> Result<Vec<Effect>, Refusal> {
    let mut turn = Turn { plan, job, world, effects: Vec::new() };
    match event {
        Event::Materialize => turn.materialize(),
        Event::Status => turn.status(),
        Event::Pause => turn.pause(),
        Event::Recover => turn.start_ready(),
        Event::Check(number) => turn.check(*number)?,
        Event::Started(number) => turn.started(*number),
        Event::NotStarted { number, code, message } => turn.not_started(*number, code, message),
        Event::Workflow(number, status) => turn.workflow(*number, *status),
        Event::Suspend => turn.suspend(),
        Event::Resume => turn.resume(),
        Event::Kill => turn.kill(),
        Event::KillActions(kind, scope) => turn.kill_actions(*kind, scope)?,
        Event::IgnoreActions(kind, scope) => turn.ignore_actions(*kind, scope)?,
        Event::Change(text) => turn.change(text)?,
        Event::Rerun(kind, scope, options) => turn.rerun(*kind, scope, options)?,
        Event::RunAgain(number, status) => turn.run_again(*number, *status),
        Event::Expect(changes) => turn.expect(changes)?,
        Event::Forget(numbers) => turn.forget(numbers),
    }
    Ok(turn.effects)
}

/// The application of one event.
struct Turn<'t, 'a> {
    plan: &'t Plan<'a>,
    job: &'t mut Job,
    world: &'t World<'t>,
    effects: Vec<Effect>,
}

impl Turn<'_, '_> {
    /// Reports what has changed in the job since the last report.
    fn tell_job(&mut self) {
        let job = &mut *self.job;
        let now = (job.status, job.pending, job.is_done, job.next);
        if now != job.told {
            let from = (job.told.0 != job.status).then_some(job.told.0);
            job.told = now;
            job.is_modified = true;
            let (status, pending, is_done, next) = now;
            self.effects.push(Effect::Job { from, status, pending, is_done, next });
        }
    }

    /// Sets the status; by default, one with an error in its name is replaced by the one without.
    fn set_status(&mut self, status: Status) {
        let shows = self.plan.rules.shows_errors;
        self.job.status = match status {
            Status::RunningWithError if !shows => Status::Running,
            Status::SuspendedWithError if !shows => Status::Suspended,
            Status::PausedWithError if !shows => Status::Paused,
            status => status,
        };
    }

    fn set_action(&mut self, number: i64, status: ActionStatus) {
        let Some(run) = self.job.actions.get_mut(&number) else { return };
        self.job.is_touched = true;
        if run.status != status {
            self.job.counts[run.status as usize] -= 1;
            self.job.counts[status as usize] += 1;
            let place = (run.data.nominal, number);
            if run.status == ActionStatus::Ready {
                self.job.ready.remove(&place);
            }
            if status == ActionStatus::Ready {
                self.job.ready.insert(place);
            }
            run.status = status;
            self.effects.push(Effect::Action(number, status));
        }
    }

    fn schedule(&self) -> Schedule {
        Schedule { end: self.job.end, ..self.plan.definition.schedule.clone() }
    }

    fn skips(&self) -> bool {
        matches!(self.job.controls.execution, Execution::LastOnly | Execution::None)
    }

    fn materialize(&mut self) {
        let (now, rules) = (self.world.now, self.plan.rules);
        let runs =
            matches!(self.job.status, Status::Prep | Status::Running | Status::RunningWithError);
        let schedule = self.schedule();
        let from = self.job.next.unwrap_or(schedule.start);
        let waiting = self.job.count(ActionStatus::Waiting) as i64;
        let throttle = self.job.controls.throttle;
        let ahead = now.plus_seconds(rules.ahead_seconds);
        let is_due = schedule.start <= ahead
            && self.job.next.is_none_or(|next| {
                next < ahead && next < self.job.end && self.job.pause.is_none_or(|at| at > next)
            });
        if !runs || self.job.is_done || !is_due || waiting >= throttle {
            return;
        }

        let window = rules.window_seconds;
        let until = schedule.window_end(from, now, window, throttle, self.skips());
        let most = match self.skips() && until < now {
            true => rules.batch,
            false => usize::try_from(throttle - waiting).unwrap_or(0),
        };
        let mut times = schedule.run(self.job.next, self.job.last_number, until, self.job.pause);
        let mut made = Vec::new();
        for (number, nominal) in times.by_ref().take(most) {
            match self.create(number, nominal) {
                Ok(run) => made.push((number, run)),
                Err(failure) => {
                    let why = format!("E1012: action {number} cannot be made: {failure}");
                    self.effects.push(Effect::Fault(why));
                    self.job.pending = false;
                    self.set_status(Status::Failed);
                    self.tell_job();
                    return;
                }
            }
        }

        self.job.next = Some(times.upcoming().unwrap_or(self.job.end));
        self.job.last_number += made.len() as i64;
        self.job.pending = true;
        self.job.is_done = self.job.next.is_some_and(|next| next >= self.job.end);
        if self.job.status == Status::Prep {
            self.set_status(Status::Running);
        }
        self.tell_job();
        for (number, run) in made {
            let nominal = run.data.nominal;
            self.job.insert(number, run);
            self.job.is_touched = true;
            self.effects.push(Effect::Action(number, ActionStatus::Waiting));
            self.effects.push(Effect::Check(number, nominal.max(now)));
        }
    }

    fn create(&self, number: i64, nominal: Instant) -> Result<Run, crate::coordinator::Failure> {
        let now = self.world.now;
        let data = self.plan.actions.create(&self.plan.id, number, nominal, now)?;
        self.plan.actions.admit(&data, self.world.existing)?;
        let zone = self.plan.definition.schedule.processing;
        let has_sla = !data.sla.is_empty();
        let sla = if has_sla { Some(Sla::register(&data.sla, zone)?) } else { None };
        let is_early = |sla: &Sla| {
            sla.expected_end < sla.nominal || sla.expected_start.is_some_and(|at| at < sla.nominal)
        };
        if self.plan.rules.has_sla_service && sla.as_ref().is_some_and(is_early) {
            let message = "an SLA expects something before its nominal time";
            return Err(crate::coordinator::Failure::new("E0302", message));
        }
        Ok(Run {
            status: ActionStatus::Waiting,
            data,
            created: now,
            is_met: false,
            missing: None,
            configuration: Vec::new(),
            has_workflow: false,
            reruns: false,
            rerun_configuration: Vec::new(),
            pending: 0,
            error: None,
            sla,
        })
    }

    /// Whether the execution order skips an action.
    fn is_skipped(&self, number: i64, nominal: Instant) -> bool {
        let now = self.world.now;
        match self.job.controls.execution {
            Execution::LastOnly => {
                is_skipped_by_last_only(now, self.schedule().next_nominal(number, nominal))
            }
            Execution::None => is_skipped_by_none(now, nominal, self.plan.rules.tolerance_minutes),
            Execution::Fifo | Execution::Lifo => false,
        }
    }

    fn check(&mut self, number: i64) -> Result<(), Refusal> {
        let active = matches!(
            self.job.status,
            Status::Running | Status::RunningWithError | Status::Paused | Status::PausedWithError
        );
        let Some(run) = self.job.actions.get(&number) else { return Ok(()) };
        if !active || run.status != ActionStatus::Waiting {
            return Ok(());
        }
        let (now, nominal, created) = (self.world.now, run.data.nominal, run.created);
        if now < nominal {
            self.effects.push(Effect::Check(number, nominal));
            return Ok(());
        }
        if self.is_skipped(number, nominal) {
            self.set_action(number, ActionStatus::Skipped);
            return Ok(());
        }

        let found = match run.is_met {
            true => Inputs::Ready(run.data.inputs.clone()),
            false => {
                let waited = (now.0 - nominal.max(created).0) / 60;
                let actions = &self.plan.actions;
                let found = actions.check_all(&run.data, self.world.existing, waited);
                match found {
                    Ok(found) => found,
                    Err(failure) => {
                        // The server logs the error and retries at recovery. Here the action reports it as missing.
                        if let Some(run) = self.job.actions.get_mut(&number) {
                            run.missing = Some(format!("{UNSEEN}{}", failure.message));
                        }
                        if is_timed_out(now, nominal, created, self.job.controls.timeout) {
                            self.set_action(number, ActionStatus::TimedOut);
                            return Ok(());
                        }
                        return Err(Refusal::of("E1021"));
                    }
                }
            }
        };
        match found {
            Inputs::Ready(inputs) => self.ready(number, inputs),
            Inputs::Missing(missing) => {
                let timeout = self.job.controls.timeout;
                if let Some(run) = self.job.actions.get_mut(&number) {
                    run.missing = Some(missing);
                }
                if is_timed_out(now, nominal, created, timeout) {
                    self.set_action(number, ActionStatus::TimedOut);
                }
            }
        }
        Ok(())
    }

    fn ready(&mut self, number: i64, inputs: Vec<EventData>) {
        let Some(run) = self.job.actions.get_mut(&number) else { return };
        let plan = self.plan;
        let configuration = plan.actions.configuration(&plan.id, &run.data, &inputs);
        run.data.inputs = inputs;
        (run.is_met, run.missing) = (true, None);
        match configuration {
            Ok(configuration) => {
                run.configuration = configuration;
                self.set_action(number, ActionStatus::Ready);
                self.start_ready();
            }
            Err(failure) => {
                // The server sets no code.
                run.error = Some((String::new(), failure.to_string()));
                self.set_action(number, ActionStatus::Failed);
            }
        }
    }

    /// Starts ready actions as far as the concurrency permits.
    fn start_ready(&mut self) {
        let may_start = matches!(
            self.job.status,
            Status::Running
                | Status::RunningWithError
                | Status::Succeeded
                | Status::Paused
                | Status::PausedWithError
        );
        if !may_start {
            return;
        }
        let taken = self.job.count(ActionStatus::Running) + self.job.count(ActionStatus::Submitted);
        let concurrency = self.job.controls.concurrency;
        let mut room = if concurrency < 0 { i64::MAX } else { concurrency - taken as i64 };
        while room > 0 {
            let next = match self.job.controls.execution {
                Execution::Fifo => self.job.ready.first(),
                _ => self.job.ready.last(),
            };
            let Some(&(nominal, number)) = next else { break };
            if self.is_skipped(number, nominal) {
                self.set_action(number, ActionStatus::Skipped);
                continue;
            }
            room -= 1;
            self.set_action(number, ActionStatus::Submitted);
            let user = self.plan.definition.properties.get("user.name");
            self.job.set_pending(number, |_| 1);
            let Some(run) = self.job.actions.get(&number) else { continue };
            let other = |(name, value): &&(String, String)| {
                name == "user.name" && user.is_some_and(|user| user != value)
            };
            if run.configuration.iter().find(other).is_some() {
                self.not_started(number, "E1003", "the workflow belongs to another user");
                room += 1;
                continue;
            }
            self.effects.push(Effect::Start(number));
        }
    }

    fn started(&mut self, number: i64) {
        let Some(run) = self.job.actions.get_mut(&number) else { return };
        run.has_workflow = true;
        if run.status == ActionStatus::Submitted {
            self.set_action(number, ActionStatus::Running);
        }
    }

    fn not_started(&mut self, number: i64, code: &str, message: &str) {
        let Some(run) = self.job.actions.get_mut(&number) else { return };
        run.error = Some((code.to_owned(), message.chars().take(255).collect()));
        self.job.set_pending(number, |_| 0);
        self.set_action(number, ActionStatus::Failed);
        if code != "E1003" {
            self.start_ready();
        }
    }

    fn workflow(&mut self, number: i64, status: WorkflowStatus) {
        use ActionStatus::{Ready, Submitted, Waiting};
        // The last report of the previous run, which may still arrive before the workflow is rerun, is ignored.
        let has_begun =
            |run: &&Run| run.has_workflow && !matches!(run.status, Waiting | Ready | Submitted);
        let Some(run) = self.job.actions.get(&number).filter(has_begun) else {
            return;
        };
        self.job.is_touched = true;
        let (before, is_active) = (run.status, run.status.is_active());
        let is_overtaken = self.job.is_overtaken(number, status);
        let (now, has_ended) = match (status, before) {
            (WorkflowStatus::Succeeded, _) => (ActionStatus::Succeeded, true),
            (WorkflowStatus::Failed, _) => (ActionStatus::Failed, true),
            (WorkflowStatus::Killed, _) => (ActionStatus::Killed, true),
            (WorkflowStatus::Suspended, ActionStatus::Running) if !is_overtaken => {
                (ActionStatus::Suspended, false)
            }
            (WorkflowStatus::Running, ActionStatus::Suspended) => (ActionStatus::Running, false),
            (_, same) => (same, false),
        };
        self.job.set_pending(number, |pending| match status {
            WorkflowStatus::Running => pending.saturating_sub(1),
            WorkflowStatus::Suspended if is_overtaken => pending.saturating_sub(1),
            _ => 0,
        });
        if is_active {
            self.set_action(number, now);
        }
        if has_ended {
            self.start_ready();
        }
    }

    /// Sets the status of an action from that of its workflow, whatever it was; the job follows with the next status
    /// pass, unless it has ended.
    fn run_again(&mut self, number: i64, status: WorkflowStatus) {
        if !self.job.actions.get(&number).is_some_and(|run| run.has_workflow) {
            return;
        }
        self.job.set_pending(number, |_| 0);
        self.set_action(number, status.of_action());
        if status.is_end() {
            self.start_ready();
        }
    }

    /// The status pass: derives the status of the job from those of its actions.
    fn status(&mut self) {
        use ActionStatus as A;

        let is_active = matches!(
            self.job.status,
            Status::Paused | Status::Running | Status::RunningWithError | Status::PausedWithError
        );
        let touched = self.job.is_touched && (is_active || self.job.pending);
        let finished = self.job.is_modified && self.job.pending && self.job.is_done;
        (self.job.is_touched, self.job.is_modified) = (false, false);
        if self.job.status == Status::Ignored || !(touched || finished) {
            return;
        }

        let pending = self.job.pending_runs > 0;
        let job = &*self.job;
        let counted = job.actions.len() - job.count(A::Ignored);
        let all =
            |wanted: &[A]| wanted.iter().map(|status| job.count(*status)).sum::<usize>() == counted;
        let faulty = A::ALL.iter().any(|status| status.is_fault() && job.count(*status) > 0);
        let with = |fine: Status, error: Status| if faulty { error } else { fine };
        let is_done = self.job.is_done;
        let is_over = is_done || matches!(self.job.status, Status::Failed | Status::Killed);
        let suspended = is_done && !pending && job.count(A::Suspended) > 0;
        let status = if is_over
            && all(&[A::Succeeded, A::Failed, A::Killed, A::TimedOut, A::Skipped])
        {
            match self.job.status {
                Status::Killed => Status::Killed,
                _ if is_done && all(&[A::Succeeded, A::Skipped]) => Status::Succeeded,
                _ if all(&[A::Killed]) => Status::Killed,
                _ if all(&[A::Failed]) => Status::Failed,
                _ => Status::DoneWithError,
            }
        } else {
            match self.job.status {
                Status::Paused | Status::PausedWithError => {
                    with(Status::Paused, Status::PausedWithError)
                }
                Status::Suspended | Status::SuspendedWithError => {
                    with(Status::Suspended, Status::SuspendedWithError)
                }
                Status::PrepSuspended => Status::PrepSuspended,
                _ if suspended && all(&[A::Suspended, A::Succeeded]) => Status::Suspended,
                _ if suspended
                    && all(&[A::Suspended, A::Succeeded, A::Killed, A::Failed, A::TimedOut]) =>
                {
                    Status::SuspendedWithError
                }
                Status::Prep => Status::Prep,
                _ => with(Status::Running, Status::RunningWithError),
            }
        };
        self.set_status(status);
        self.job.pending = pending;
        self.tell_job();
        self.job.is_modified = false;
    }

    fn pause(&mut self) {
        let is_past = self.job.pause.is_some_and(|at| at <= self.world.now);
        let status = match (self.job.status, is_past) {
            (Status::Running, true) => Status::Paused,
            (Status::RunningWithError, true) => Status::PausedWithError,
            (Status::Prep, true) => Status::PrepPaused,
            (Status::Paused, false) => Status::Running,
            (Status::PausedWithError, false) => Status::RunningWithError,
            (Status::PrepPaused, false) => Status::Prep,
            _ => return,
        };
        self.set_status(status);
        self.tell_job();
    }
}
