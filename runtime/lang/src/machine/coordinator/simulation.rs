//! Coordinators and a bundle in simulated time: passes, input checks, and workflows that end as specified.
//!
//! The input consists of prepared definitions, the data that exists and since when, the duration and outcome of
//! workflows, and timed commands. The results are every effect with its time, as it happens, and the final state of the
//! jobs. Time advances from event to event, so that simulating a year takes as long as its actions do. Workflows may
//! also be simulated elsewhere, step by step in parallel; then their states are reported to this simulation.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::bundle;
use super::{Effect, Event, Job, Plan, Run, ScopeKind, WorkflowStatus, World, apply};
use crate::coordinator::{Bundle, DataEvent, Existing, Failure};
use crate::time::{Instant, ProcessingZone};

/// The final status of a workflow and its duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The final status.
    pub status: WorkflowStatus,
    /// The seconds from start to end; none if it never ends.
    pub seconds: Option<i64>,
}

/// A workflow that starts, or continues after it suspended itself.
pub struct Begin<'s> {
    /// Index of its coordinator.
    pub coordinator: usize,
    /// Number of its action.
    pub number: i64,
    /// The action.
    pub run: &'s Run,
    /// The time.
    pub at: Instant,
}

/// Data that appears and disappears.
pub trait Data: Existing {
    /// The data at this URI exists from now on.
    fn put(&self, uri: &str);
    /// The data at this URI and below no longer exists.
    fn remove(&self, uri: &str);
}

/// Data that always exists, and data that has appeared since.
pub struct Remembered<'d> {
    always: &'d dyn Existing,
    since: RefCell<HashSet<String>>,
}

impl<'d> Remembered<'d> {
    /// Creates it with no data besides `always`.
    pub fn new(always: &'d dyn Existing) -> Remembered<'d> {
        Remembered { always, since: RefCell::default() }
    }
}

impl Existing for Remembered<'_> {
    fn exists(&self, uri: &str) -> Result<bool, Failure> {
        if self.since.borrow().contains(uri) {
            return Ok(true);
        }
        self.always.exists(uri)
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Failure>> {
        if self.since.borrow().contains(uri) {
            return Some(Ok(true));
        }
        self.always.partition_exists(uri)
    }

    fn admit(&self, uri: &str) -> Result<(), Failure> {
        self.always.admit(uri)
    }
}

impl Data for Remembered<'_> {
    fn put(&self, uri: &str) {
        self.since.borrow_mut().insert(uri.to_owned());
    }

    fn remove(&self, uri: &str) {
        self.since.borrow_mut().retain(|path| !path.starts_with(uri));
    }
}

/// A command and its addressee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A coordinator, by its index.
    Coordinator(usize, Event),
    /// The bundle.
    Bundle(bundle::Event),
}

/// An event that the simulation reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// An effect of a coordinator, given by its index.
    Coordinator(usize, Effect),
    /// An effect of the bundle.
    Bundle(bundle::Effect),
    /// A command was refused, with the server's code if it has one.
    Refused(Option<&'static str>),
}

/// The input of a simulation.
pub struct Play<'p> {
    /// The coordinators.
    pub plans: Vec<Plan<'p>>,
    /// The bundle whose enabled members they are.
    pub bundle: Option<(&'p Bundle, ProcessingZone)>,
    /// The start time.
    pub from: Instant,
    /// The end time, exclusive.
    pub until: Instant,
    /// The data that exists.
    pub data: &'p dyn Data,
    /// Data that appears, with the paths that are checked.
    pub arrivals: Vec<(Instant, String)>,
    /// Commands of operators.
    pub commands: Vec<(Instant, Command)>,
    /// Returns the outcome of an action's workflow; none if it is simulated elsewhere and reported by
    /// [`Simulation::workflow`].
    pub workflow: &'p dyn Fn(&Begin<'_>) -> Option<Outcome>,
    /// Whether the outputs of an action appear when its workflow succeeds.
    pub makes_outputs: bool,
    /// Seconds between two checks of the inputs of an action.
    pub look_seconds: i64,
}

/// The result of a simulation.
#[derive(Debug)]
pub struct End {
    /// The coordinators; none for those that the bundle did not start.
    pub jobs: Vec<Option<Job>>,
    /// The bundle.
    pub bundle: Option<bundle::Job>,
    /// The time of the last event.
    pub at: Instant,
    /// Whether it was aborted because there were more than [`MOST_ACTIONS`].
    pub is_cut: bool,
}

/// Maximum number of actions.
pub const MOST_ACTIONS: usize = 2_000_000;

/// Seconds between two materialization passes.
const MATERIALIZE_SECONDS: i64 = 300;
/// Seconds between two passes for statuses and pauses.
const STATUS_SECONDS: i64 = 60;

/// A scheduled event; the order breaks ties.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    Begin,
    Arrival(usize),
    Command(usize),
    Materialize(usize),
    Check(usize, i64),
    End(usize, i64, u64),
    Pause,
    Status,
}

/// A workflow in progress.
struct Workflow {
    /// Its number; events scheduled for an earlier attempt are ignored.
    attempt: u64,
    /// Its outcome; none if it is reported from elsewhere.
    outcome: Option<Outcome>,
    began: Instant,
    /// The remaining seconds, while it is suspended.
    left: Option<i64>,
}

/// A simulation, which advances step by step.
pub struct Simulation<'p> {
    play: &'p Play<'p>,
    /// The coordinators; none for those that the bundle did not start.
    pub jobs: Vec<Option<Job>>,
    /// The bundle.
    pub bundle: Option<bundle::Job>,
    /// The events since the caller last took them from here, in order.
    pub told: Vec<(Instant, Told)>,
    queue: BinaryHeap<Reverse<(Instant, u64, Later)>>,
    order: u64,
    commands: Vec<Command>,
    commands_left: usize,
    now: Instant,
    /// Whether passes for statuses and for pauses are scheduled.
    has_status: bool,
    has_pause: bool,
    /// The current workflow of each action; one that was killed or rerun is not current.
    workflows: HashMap<(usize, i64), Workflow>,
}

/// Runs a simulation to its end and reports everything as it happens.
pub fn simulate(play: &Play<'_>, tell: &mut dyn FnMut(Instant, &Told)) -> End {
    let mut playing = Simulation::new(play);
    while playing.step() {
        for (at, told) in playing.told.drain(..) {
            tell(at, &told);
        }
        if playing.is_over() || playing.actions() > MOST_ACTIONS {
            break;
        }
    }
    let is_cut = playing.actions() > MOST_ACTIONS;
    End { jobs: playing.jobs, bundle: playing.bundle, at: playing.now, is_cut }
}

impl<'p> Simulation<'p> {
    /// Creates a simulation at its start time.
    pub fn new(play: &'p Play<'p>) -> Simulation<'p> {
        let mut playing = Simulation {
            play,
            jobs: play.plans.iter().map(|_| None).collect(),
            bundle: None,
            told: Vec::new(),
            queue: BinaryHeap::new(),
            order: 0,
            commands: Vec::new(),
            commands_left: 0,
            now: play.from,
            has_status: false,
            has_pause: false,
            workflows: HashMap::new(),
        };
        playing.later(play.from, Later::Begin);
        for (at, (when, _)) in play.arrivals.iter().enumerate() {
            playing.later(*when, Later::Arrival(at));
        }
        for (when, command) in &play.commands {
            playing.command(*when, command.clone());
        }
        playing
    }

    /// Schedules a command of an operator.
    pub fn command(&mut self, at: Instant, command: Command) {
        self.commands.push(command);
        self.commands_left += 1;
        self.later(at.max(self.now), Later::Command(self.commands.len() - 1));
    }

    /// Returns the number of actions so far.
    pub fn actions(&self) -> usize {
        self.jobs.iter().flatten().map(|job| job.actions.len()).sum()
    }

    /// Returns the time of the last event.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the time of the next event.
    pub fn next(&self) -> Option<Instant> {
        let next = self.queue.peek().map(|Reverse((at, ..))| *at);
        next.filter(|at| *at < self.play.until)
    }

    /// Performs the next event; `false` if there is none.
    pub fn step(&mut self) -> bool {
        if self.next().is_none() {
            return false;
        }
        let Some(Reverse((at, _, later))) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        self.happen(later);
        true
    }

    /// Reports that the workflow of an action, which is simulated elsewhere, was created, or failed with a code and a
    /// message.
    pub fn started(&mut self, coordinator: usize, number: i64, is: Result<(), (String, String)>) {
        let event = match is {
            Ok(()) => Event::Started(number),
            Err((code, message)) => Event::NotStarted { number, code, message },
        };
        self.apply(coordinator, &event);
    }

    /// Reports the status of an action's workflow that is simulated elsewhere.
    pub fn workflow(
        &mut self,
        at: Instant,
        coordinator: usize,
        number: i64,
        status: WorkflowStatus,
    ) {
        self.now = self.now.max(at);
        if status == WorkflowStatus::Succeeded {
            self.produce(coordinator, number);
        }
        self.apply(coordinator, &Event::Workflow(number, status));
    }

    /// Whether commands of operators are still scheduled.
    pub fn has_commands(&self) -> bool {
        self.commands_left > 0
    }

    fn later(&mut self, at: Instant, what: Later) {
        self.order += 1;
        self.queue.push(Reverse((at, self.order, what)));
    }

    /// Whether everything has ended and no command is scheduled.
    pub fn is_over(&self) -> bool {
        let commands = self.commands_left > 0;
        let bundle = self.bundle.as_ref().is_none_or(|job| job.status.is_end());
        let settled = |job: &Job| job.status.is_end() && !job.pending;
        let has_all = self.jobs.iter().all(Option::is_some);
        let begun = has_all || self.bundle.is_some();
        begun && !commands && bundle && self.jobs.iter().flatten().all(settled)
    }

    fn happen(&mut self, later: Later) {
        match later {
            Later::Begin => self.begin(),
            Later::Arrival(at) => {
                self.play.data.put(&self.play.arrivals[at].1);
            }
            Later::Command(at) => {
                self.commands_left -= 1;
                match self.commands[at].clone() {
                    Command::Coordinator(at, event) => self.apply(at, &event),
                    Command::Bundle(event) => self.apply_bundle(&event),
                }
            }
            Later::Materialize(at) => {
                self.apply(at, &Event::Materialize);
                let Some(job) = &self.jobs[at] else { return };
                if !job.is_done && !job.status.is_end() {
                    // A pass has no effect before the next nominal time is near.
                    let ahead = self.play.plans[at].rules.ahead_seconds;
                    let near = job.next.map_or(self.now, |next| next.plus_seconds(-ahead));
                    let missed = (near.0 - self.now.0).max(0) / MATERIALIZE_SECONDS;
                    let next = self.now.plus_seconds((missed + 1) * MATERIALIZE_SECONDS);
                    self.later(next, Later::Materialize(at));
                }
            }
            Later::Check(at, number) => {
                self.apply(at, &Event::Check(number));
                let waits = self.jobs[at]
                    .as_ref()
                    .and_then(|job| job.actions.get(&number))
                    .is_some_and(|run| run.status == super::ActionStatus::Waiting);
                if waits {
                    let next = self.now.plus_seconds(self.play.look_seconds.max(1));
                    self.later(next, Later::Check(at, number));
                }
            }
            Later::End(at, number, attempt) => {
                let workflow = self.workflows.get(&(at, number));
                let workflow = workflow.filter(|workflow| workflow.attempt == attempt);
                let Some(outcome) = workflow.and_then(|workflow| workflow.outcome) else { return };
                if outcome.status == WorkflowStatus::Succeeded {
                    self.produce(at, number);
                }
                self.apply(at, &Event::Workflow(number, outcome.status));
            }
            Later::Pause => {
                self.has_pause = false;
                if self.bundle.is_some() {
                    self.apply_bundle(&bundle::Event::Pause { absent: Vec::new() });
                }
                for at in 0..self.jobs.len() {
                    self.apply(at, &Event::Pause);
                }
                self.plan_pause();
            }
            Later::Status => {
                self.has_status = false;
                for at in 0..self.jobs.len() {
                    self.apply(at, &Event::Status);
                }
                if self.bundle.is_some() {
                    self.apply_bundle(&bundle::Event::Status);
                }
            }
        }
    }

    /// Creates the outputs of an action whose workflow succeeded.
    fn produce(&mut self, at: usize, number: i64) {
        if !self.play.makes_outputs {
            return;
        }
        let outputs = &self.play.plans[at].definition.outputs;
        let Some(run) = self.jobs[at].as_ref().and_then(|job| job.actions.get(&number)) else {
            return;
        };
        for (event, data) in outputs.iter().zip(&run.data.outputs) {
            for uri in &data.uris {
                self.play.data.put(&looked_for(event, uri));
            }
        }
    }

    fn begin(&mut self) {
        match self.play.bundle {
            None => {
                for at in 0..self.jobs.len() {
                    self.submit(at);
                }
            }
            Some((definition, zone)) => {
                self.bundle = Some(bundle::Job::new(definition, zone));
                let event = bundle::Event::Submitted { start: false, absent: Vec::new() };
                self.apply_bundle(&event);
                self.plan_pause();
            }
        }
    }

    fn submit(&mut self, at: usize) {
        self.jobs[at] = Some(Job::new(self.play.plans[at].definition));
        let start = self.play.plans[at].definition.schedule.start;
        let ahead = self.play.plans[at].rules.ahead_seconds;
        let first = self.now.max(start.plus_seconds(-ahead));
        self.later(first, Later::Materialize(at));
        self.plan_pause();
    }

    /// Schedules a pause pass if a job could pause or waits to start.
    fn plan_pause(&mut self) {
        let of_job = |job: &Job| job.pause.is_some() && !job.status.is_end();
        let of_bundle = |job: &bundle::Job| {
            job.pause.is_some() && !job.status.is_end()
                || job.status == super::Status::Prep && job.kick_off.is_some()
        };
        let wanted =
            self.jobs.iter().flatten().any(of_job) || self.bundle.as_ref().is_some_and(of_bundle);
        if wanted && !self.has_pause {
            self.has_pause = true;
            // A pass has no effect before the bundle's kick-off time.
            let kick_off = self.bundle.as_ref().and_then(|job| job.kick_off);
            let waits = self.bundle.as_ref().is_some_and(|job| job.status == super::Status::Prep);
            let next = self.now.plus_seconds(STATUS_SECONDS);
            let next = kick_off.filter(|_| waits).map_or(next, |at| at.max(next));
            self.later(next, Later::Pause);
        }
    }

    fn plan_status(&mut self) {
        if !self.has_status {
            self.has_status = true;
            let next = self.now.plus_seconds(STATUS_SECONDS);
            self.later(next, Later::Status);
        }
    }

    fn apply(&mut self, at: usize, event: &Event) {
        let plan = &self.play.plans[at];
        let Some(job) = self.jobs[at].as_mut() else { return };
        let before = job.status;
        let outcome = {
            let world = World { now: self.now, existing: self.play.data };
            apply(plan, job, event, &world)
        };
        let after = job.status;
        let effects = match outcome {
            Ok(effects) => effects,
            Err(refusal) => {
                if !matches!(event, Event::Check(_)) {
                    self.told.push((self.now, Told::Refused(refusal.code)));
                }
                return;
            }
        };
        if !effects.is_empty() {
            self.plan_status();
        }
        let mut starts = Vec::new();
        let mut signals = Vec::new();
        for effect in effects {
            self.told.push((self.now, Told::Coordinator(at, effect.clone())));
            match effect {
                Effect::Check(number, when) => self.later(when, Later::Check(at, number)),
                Effect::Start(number) => starts.push(number),
                Effect::SuspendWorkflow(number) => {
                    signals.push((number, WorkflowStatus::Suspended));
                }
                Effect::ResumeWorkflow(number) => {
                    signals.push((number, WorkflowStatus::Running));
                }
                Effect::KillWorkflow(number) => {
                    signals.push((number, WorkflowStatus::Killed));
                }
                Effect::CleanUp(_, uris) => {
                    uris.iter().for_each(|uri| self.play.data.remove(uri));
                }
                Effect::Job { .. } | Effect::Action(..) | Effect::Deleted(_) | Effect::Fault(_) => {
                }
            }
        }
        if matches!(event, Event::Change(_) | Event::Resume | Event::Rerun(..)) {
            self.plan_pause();
            self.later(self.now, Later::Materialize(at));
        }
        if before != after && self.bundle.is_some() {
            self.apply_bundle(&bundle::Event::Coordinator(at, after));
        }
        for (number, status) in signals {
            match status {
                WorkflowStatus::Running => self.go_on(at, number),
                WorkflowStatus::Suspended => self.rest(at, number),
                _ => {
                    self.workflows.remove(&(at, number));
                }
            }
            self.apply(at, &Event::Workflow(number, status));
        }
        for number in starts {
            self.run_workflow(at, number);
            let is_played = |workflow: &Workflow| workflow.outcome.is_some();
            if self.workflows.get(&(at, number)).is_some_and(is_played) {
                self.apply(at, &Event::Started(number));
            }
        }
    }

    fn run_workflow(&mut self, at: usize, number: i64) {
        let Some(run) = self.jobs[at].as_ref().and_then(|job| job.actions.get(&number)) else {
            return;
        };
        let begin = Begin { coordinator: at, number, run, at: self.now };
        let outcome = (self.play.workflow)(&begin);
        self.order += 1;
        let workflow = Workflow { attempt: self.order, outcome, began: self.now, left: None };
        self.workflows.insert((at, number), workflow);
        if let Some(seconds) = outcome.and_then(|outcome| outcome.seconds) {
            let end = Later::End(at, number, self.order);
            self.later(self.now.plus_seconds(seconds.max(0)), end);
        }
    }

    /// Suspends a workflow.
    fn rest(&mut self, at: usize, number: i64) {
        self.order += 1;
        let Some(workflow) = self.workflows.get_mut(&(at, number)) else { return };
        workflow.attempt = self.order;
        let seconds = workflow.outcome.and_then(|outcome| outcome.seconds);
        workflow.left = seconds.map(|seconds| (workflow.began.0 + seconds - self.now.0).max(0));
    }

    /// Resumes a workflow for its remaining time; one that had suspended itself starts again.
    fn go_on(&mut self, at: usize, number: i64) {
        let Some(workflow) = self.workflows.get_mut(&(at, number)) else { return };
        let Some(outcome) = workflow.outcome else { return };
        if outcome.status == WorkflowStatus::Suspended {
            self.run_workflow(at, number);
            return;
        }
        let Some(left) = workflow.left.take() else { return };
        self.order += 1;
        workflow.attempt = self.order;
        workflow.outcome = Some(Outcome { seconds: Some(left), ..outcome });
        workflow.began = self.now;
        self.later(self.now.plus_seconds(left), Later::End(at, number, self.order));
    }

    fn apply_bundle(&mut self, event: &bundle::Event) {
        let Some((definition, zone)) = self.play.bundle else { return };
        let Some(job) = self.bundle.as_mut() else { return };
        let effects = match bundle::apply(definition, job, event, self.now, zone) {
            Ok(effects) => effects,
            Err(refusal) => {
                self.told.push((self.now, Told::Refused(refusal.code)));
                return;
            }
        };
        if !effects.is_empty() {
            self.plan_status();
        }
        for effect in effects {
            self.told.push((self.now, Told::Bundle(effect.clone())));
            match effect {
                bundle::Effect::Bundle(..) | bundle::Effect::Member(..) => {}
                bundle::Effect::Submit(at) => {
                    self.submit(at);
                    self.apply_bundle(&bundle::Event::Accepted(at, true));
                }
                bundle::Effect::Suspend(at) => self.apply(at, &Event::Suspend),
                bundle::Effect::Resume(at) => self.apply(at, &Event::Resume),
                bundle::Effect::Kill(at) => self.apply(at, &Event::Kill),
                bundle::Effect::Change(at, text) => self.apply(at, &Event::Change(text)),
                bundle::Effect::Rerun(at, dates, options) => {
                    let Some(job) = &self.jobs[at] else { continue };
                    let start = self.play.plans[at].definition.schedule.start;
                    let all = || format!("{}::{}", zone.format(start), zone.format(job.end));
                    let scope = dates.unwrap_or_else(all);
                    let event = Event::Rerun(ScopeKind::Date, scope, options);
                    self.apply(at, &event);
                }
            }
        }
        if matches!(event, bundle::Event::Change(_)) {
            self.plan_pause();
        }
    }
}

/// Returns the path whose existence is checked for an instance.
fn looked_for(event: &DataEvent, uri: &str) -> String {
    let dataset = &event.dataset;
    match dataset.flag() {
        "" => uri.to_owned(),
        _ if dataset.uri_template.trim_start().starts_with("hcat:") => uri.to_owned(),
        flag => format!("{uri}/{flag}"),
    }
}
