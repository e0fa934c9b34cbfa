//! Calls of executors, and timers: each thing that a job waits for is a procedure of its own.
//!
//! A call that starts a program or a child job reports the start, and then lives until that has ended.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::keep::{JobRecord, encode};
use super::needs::{self, Equipped};
use super::places::{self, Claim, Class as PlaceClass, Held};
use super::{Needs, Shared, steady, view};
use crate::actions::command::Capture;
use crate::actions::credentials;
use crate::actions::fs::{Fault, Operations, glob_limit};
use crate::actions::workplace::{Provisions, Workplace, clear, settings_of_fs};
use crate::host::process::{Bounds, State};
use ankus_lang::action_types::is_cluster;
use ankus_lang::machine::Class;
use ankus_lang::machine::{
    self, Answer, Command, Event, External, Finished, JobStatus, Output, Phase, Run, exception,
};
use ankus_lang::plan::{NodeIndex, Plan, Work};
use ankus_procedure::{Context, Failure, Message, Note, Procedure, ProcedureId, Step, Wait};

mod child;
mod program;
mod timer;

pub(super) use timer::Timer;

/// The procedure kind of a call.
pub(super) const KIND: &str = "call";
/// The procedure kind of a timer.
pub(super) const TIMER: &str = "timer";
/// How often to poll a program whose end may not be reported.
const LOOK_MS: u64 = 30_000;
/// The same for a program that an older version started, which is not told when its job has ended.
const LOOK_OLDER_MS: u64 = 500;
/// The pause between checks whether something that was asked to end has ended: the first, and the longest.
const STOPPING_MS: (u64, u64) = (10, 500);
/// The pause before a program that a shutdown ended is started again, so that it is not started during the shutdown.
const AGAIN_MS: u64 = 2_000;
/// The pause before a program is started again after the system had no room for it.
const ROOM_MS: u64 = 5_000;
/// How often a call that waits for a place checks whether there is disk space by now.
const DISK_MS: u64 = 5_000;
/// The longest pause before a failed step is retried; kept short because something may have to be stopped.
const STEADY_MS: u64 = 1_000;
/// How often a failed step is retried.
const MOST_FAILURES: u32 = 6;
/// How often, per attempt, a program is started again because its launcher was lost or there was no room.
const MOST_AGAIN: u32 = 3;

/// The subject of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct What {
    pub(super) job: String,
    pub(super) root: String,
    /// The procedure of the job, which stands for one run of it.
    pub(super) procedure: ProcedureId,
    pub(super) node: NodeIndex,
    pub(super) serial: u32,
    pub(super) phase: Phase,
}

/// A request of a job to a running call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Wish {
    /// Stop what the call began.
    Stop,
    /// Check whether the call may begin now.
    Look,
    /// Stop what the call began at once, without asking it to end.
    Force,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nothing was done yet.
    Begin,
    /// A program runs in this folder, with the way in which its output is captured.
    Program { folder: PathBuf, kind: String, capture: Capture, limit: u64 },
    /// A child job runs.
    Child,
    /// What runs in this folder is being stopped, and then something follows.
    Stopping { folder: PathBuf, then: Then },
    /// The program is started again, in another folder.
    Again,
}

/// What follows after a program has been stopped.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Then {
    /// Nothing: the job requested the stop.
    Nothing,
    /// This event is sent to the job.
    Tell(Vec<u8>),
    /// The program is started again after this many milliseconds.
    Again(u64),
}

/// The procedure of a call.
pub(super) struct Call {
    shared: Arc<Shared>,
    saved: Saved,
    /// Whether another process began the call. Its first step here may come before its job is active, and then does
    /// nothing.
    is_taken_up: bool,
    /// How many times in a row a step failed.
    failures: u32,
    /// Whether what it began is forced to end.
    is_forced: bool,
    /// Since when what it began has been asked to end, on the monotonic clock, and the pause before the next check.
    asked: Option<(u64, u64)>,
    /// Whether its last step only waited for a place, or kept one for a program that still runs.
    is_waiting: bool,
    /// The place of its program, or its request for one. A call that another process began holds one until it has been
    /// checked.
    place: Option<Held>,
}

/// A call as it is stored. It works from these values alone, not from what its job has become since.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    what: What,
    stage: Stage,
    /// The working folder of the attempt; empty if an older version stored the call.
    folder: PathBuf,
    /// Whether it is to stop what it began.
    is_stopped: bool,
    /// The child job, and the procedure of the run of it that this call started.
    child: Option<(String, ProcedureId)>,
    /// How often its program has been started again.
    again: u32,
    /// Whether an older version created it, in which jobs did not record their open calls.
    is_older: bool,
}

/// A call as an older version stored it.
#[derive(Deserialize)]
struct SavedBefore {
    what: What,
    stage: Stage,
}

/// The first byte of a call stored as above; an older one begins with the length of a job's id.
const MARK: u8 = 0;

/// A job and one of its rows as stored, and what the job runs with.
struct Looked {
    equipped: Arc<Equipped>,
    record: JobRecord,
    run: Run,
    plan: Arc<Plan>,
}

impl Call {
    /// Creates a call that works in this folder.
    pub(super) fn new(shared: Arc<Shared>, what: What, folder: PathBuf) -> Call {
        let saved = Saved {
            what,
            stage: Stage::Begin,
            folder,
            is_stopped: false,
            child: None,
            again: 0,
            is_older: false,
        };
        Call {
            shared,
            saved,
            is_taken_up: false,
            failures: 0,
            is_forced: false,
            asked: None,
            is_waiting: false,
            place: None,
        }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Call, String> {
        let saved = match bytes.split_first() {
            Some((&MARK, rest)) => postcard::from_bytes(rest).map_err(|error| error.to_string())?,
            _ => {
                let before: SavedBefore =
                    postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
                let SavedBefore { what, stage } = before;
                let folder = match &stage {
                    Stage::Program { folder, .. } => folder.clone(),
                    _ => PathBuf::new(),
                };
                let (is_stopped, child, again) = (false, None, 0);
                Saved { what, stage, folder, is_stopped, child, again, is_older: true }
            }
        };
        let place = (saved.what.phase == Phase::Start).then(|| shared.places.found());
        Ok(Call {
            shared: shared.clone(),
            saved,
            is_taken_up: true,
            failures: 0,
            is_forced: false,
            asked: None,
            is_waiting: false,
            place,
        })
    }

    /// Makes the call stop whatever it would begin.
    pub(super) fn stop(&mut self) {
        self.saved.is_stopped = true;
    }

    /// Returns the folder of an attempt: of one node in one run of one job.
    pub(super) fn folder_of(
        shared: &Shared,
        job: &str,
        name: &str,
        run: u32,
        starts: u32,
    ) -> PathBuf {
        shared.folder.join(job).join(format!("{name}-{run}-{starts}"))
    }

    fn event(&self, phase: Phase, answer: Answer) -> Vec<u8> {
        let What { node, serial, .. } = self.saved.what;
        encode(&Event::Answered { node, serial, phase, answer })
    }

    /// Ends the call with this answer.
    fn done(&self, context: &mut Context<'_>, phase: Phase, answer: Answer) -> Step {
        context.set_result(self.event(phase, answer));
        Step::Done
    }

    fn equipped(&self) -> Result<Arc<Equipped>, Failure> {
        let equipped = self.shared.equipped_of(&self.saved.what.job);
        equipped.map_err(|error| steady::broken("call", &error))
    }

    fn look(&self) -> Result<Looked, Failure> {
        let broken = |error: super::Error| steady::broken("call", &error);
        let what = &self.saved.what;
        let record = self.shared.record(&what.job).map_err(broken)?;
        let reader = self.shared.reader();
        let row = view::row(reader, &what.job, what.node).map_err(broken)?;
        let properties = view::properties(reader, &what.job).map_err(broken)?;
        let rows = row.map(|row| (what.node, row)).into_iter().collect();
        let run = Run::new(record.job.clone(), Arc::new(properties), rows);
        let plan = self.shared.plan(&record.plan).map_err(broken)?;
        let equipped = needs::of_record(&self.shared, &record).map_err(broken)?;
        Ok(Looked { equipped, record, run, plan })
    }

    /// Returns the folder in which this attempt works.
    fn folder(&self, looked: &Looked) -> PathBuf {
        if !self.saved.folder.as_os_str().is_empty() {
            return self.saved.folder.clone();
        }
        let what = &self.saved.what;
        let starts = looked.run.rows.get(&what.node).map_or(1, |row| row.starts);
        let name = &looked.plan.node(what.node).name;
        Call::folder_of(&self.shared, &what.job, name, looked.run.job.run, starts)
    }

    fn start(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let looked = self.look()?;
        let node = self.saved.what.node;
        let (Some(row), Work::Action(action)) =
            (looked.run.rows.get(&node), &looked.plan.node(node).work)
        else {
            return Ok(self.not_begun(context, Answer::Missing));
        };
        let text = row.conf.clone().unwrap_or_default();
        let document = match roxmltree::Document::parse(&text) {
            Ok(document) => document,
            Err(error) => {
                let code = match action.kind.as_str() {
                    kind if is_cluster(kind) => "JA007",
                    "ssh" => "SH002",
                    _ => "JDOMParseException",
                };
                let (code, message) = exception(code, error);
                let answer = Answer::Error(Class::Error, code, message);
                return Ok(self.not_begun(context, answer));
            }
        };
        let element = document.root_element();
        match action.kind.as_str() {
            "fs" => {
                let recovery = row.starts > 1 || self.is_taken_up;
                let answer = self.files(&looked, element, recovery);
                Ok(self.not_begun(context, answer))
            }
            "sub-workflow" => self.start_child(context, &looked, element),
            "email" => {
                let outcome = crate::actions::email::send(&crate::actions::email::Request {
                    element,
                    files: &looked.equipped.files,
                    server: &looked.equipped.needs.server,
                    maildir: &self.shared.folder.join("..").join("mail"),
                    unique: &format!("{}@{}.{}", looked.run.job.id, node, row.starts),
                    now_ms: self.shared.host.wall_ms(),
                });
                let answer = match outcome {
                    Ok(()) => finished("OK", None),
                    Err(fault) => error(fault),
                };
                Ok(self.not_begun(context, answer))
            }
            kind => {
                let folder = self.folder(&looked);
                if let Some(step) = self.wait_for_place(context, &looked, element, &folder) {
                    return Ok(step);
                }
                let shared = self.shared.clone();
                let all = OnceCell::new();
                let called = Call {
                    shared: shared.clone(),
                    saved: self.saved.clone(),
                    is_taken_up: self.is_taken_up,
                    failures: 0,
                    is_forced: false,
                    asked: None,
                    is_waiting: false,
                    place: None,
                };
                let evaluate = |text: &str| called.evaluate(&looked, &all, text);
                let workplace = Workplace {
                    credentials: credentials::Asked {
                        names: action.cred.as_deref(),
                        section: &looked.plan.credentials,
                    },
                    evaluate: &evaluate,
                    files: &looked.equipped.files,
                    needs: Provisions {
                        helper: shared.surroundings.launchers.helper().map(Path::to_owned),
                        ..provisions(&looked.equipped.needs)
                    },
                    element,
                    run: &looked.run,
                    node: &looked.plan.node(node).name,
                    folder: &folder,
                };
                let step = self.start_program(context, kind, &workplace)?;
                if matches!(self.saved.stage, Stage::Program { .. }) {
                    self.clear_before(&looked, row.starts);
                }
                Ok(step)
            }
        }
    }

    /// Deletes the files brought for the previous attempt, which failed and is retried. Those of the last attempt stay.
    fn clear_before(&self, looked: &Looked, starts: u32) {
        if starts < 2 {
            return;
        }
        let What { job, node, .. } = &self.saved.what;
        let name = &looked.plan.node(*node).name;
        let before = Call::folder_of(&self.shared, job, name, looked.run.job.run, starts - 1);
        clear(&before);
        for times in 1.. {
            let folder = again(&before, times);
            if !folder.exists() {
                return;
            }
            clear(&folder);
        }
    }

    /// Returns the class that the program of an action counts toward. The queue is read from its configuration, if that
    /// can be evaluated.
    fn class(&self, looked: &Looked, element: roxmltree::Node<'_, '_>) -> PlaceClass {
        let kind = element.tag_name().name().to_owned();
        let queue = self.shared.places.asks_for_queues().then(|| {
            let all = OnceCell::new();
            let evaluate = |text: &str| self.evaluate(looked, &all, text);
            crate::actions::workplace::queue_of(
                &looked.equipped.files,
                &looked.run,
                element,
                &evaluate,
            )
        });
        PlaceClass { kind, queue }
    }

    fn claim(&self, context: &Context<'_>, class: PlaceClass) -> Claim {
        let What { job, root, node, .. } = &self.saved.what;
        let (procedure, job, root) = (context.id(), job.clone(), root.clone());
        Claim { procedure, job, root, node: *node, class }
    }

    /// Takes a place for a program that is about to start. If there is none, returns the step that waits for it.
    fn wait_for_place(
        &mut self,
        context: &mut Context<'_>,
        looked: &Looked,
        element: roxmltree::Node<'_, '_>,
        folder: &Path,
    ) -> Option<Step> {
        let class = self.class(looked, element);
        // It may have started before the process was killed.
        let has_started = self.is_taken_up
            && self.shared.surroundings.launchers.fate(folder).is_ok_and(|it| it != State::Absent);
        if has_started {
            self.shared.places.take(&mut self.place, class);
            return None;
        }
        let now = self.shared.host.wall_ms();
        let claim = self.claim(context, class);
        let has_waited = self.shared.places.is_waiting(&self.place);
        let is_first = self.place.is_none() && !self.is_taken_up;
        let is_suspended = looked.record.job.status == JobStatus::Suspended;
        if is_suspended && !is_first && matches!(self.saved.stage, Stage::Begin) {
            let what = places::What::Suspended;
            self.shared.places.waits_for(&mut self.place, claim, now, what);
        } else if self.shared.places.ask(&mut self.place, claim, now) {
            return None;
        }
        self.is_waiting = true;
        self.tell_of_wait(has_waited);
        context.skip_persistence();
        // A released place wakes the call; free disk space does not.
        let pause = if self.shared.places.is_short_of_disk() { DISK_MS } else { LOOK_MS };
        Some(Step::Suspend(Wait::new().or_pause(pause)))
    }

    /// Wakes the job when the call begins to wait. A command may have been deferred while the call was busy; a waiting
    /// call is not busy, so the job considers the command again.
    fn tell_of_wait(&self, has_waited: bool) {
        if !has_waited {
            self.shared.executor().wake(self.saved.what.procedure);
        }
    }

    /// Records that the system has no process, file handle or memory for a program at the moment. Others may take its
    /// place.
    fn wait_for_room(&mut self, context: &mut Context<'_>, kind: &str, why: &str) {
        let class = PlaceClass { kind: kind.to_owned(), queue: None };
        let claim = self.claim(context, class);
        let (now, what) = (self.shared.host.wall_ms(), places::What::Room(why.to_owned()));
        let has_waited = self.shared.places.is_waiting(&self.place);
        self.shared.places.waits_for(&mut self.place, claim, now, what);
        self.tell_of_wait(has_waited);
        self.is_waiting = true;
        context.skip_persistence();
    }

    /// Handles a start after which nothing runs. If the action ran before, a start that failed temporarily is retried.
    fn not_begun(&mut self, context: &mut Context<'_>, answer: Answer) -> Step {
        if self.saved.again == 0 {
            return self.done(context, Phase::Start, answer);
        }
        match answer {
            Answer::Error(Class::Transient, ..) if self.saved.again < MOST_AGAIN => {
                self.saved.folder = again(&self.saved.folder, self.saved.again + 1);
                self.saved.again += 1;
                Step::Suspend(Wait::pause(ROOM_MS))
            }
            Answer::Error(Class::Transient, code, message) => {
                self.done(context, Phase::Check, Answer::Error(Class::Error, code, message))
            }
            answer => self.done(context, Phase::Check, answer),
        }
    }

    /// Evaluates texts with everything that the job knows so far.
    fn evaluate(&self, looked: &Looked, all: &OnceCell<Run>, text: &str) -> Result<String, String> {
        // The rows of other nodes are only read if the text has an expression.
        let run = match all.get() {
            Some(run) => run,
            None if !text.contains(['$', '#']) => return Ok(text.to_owned()),
            None => {
                let read = view::run(self.shared.reader(), &looked.record);
                let read = read.map_err(|error| error.to_string())?;
                all.get_or_init(|| read)
            }
        };
        let phase = ankus_lang::el::Phase::Workflow;
        let template = ankus_lang::el::Template::compile_with(
            text,
            phase,
            looked.plan.dialect,
            &looked.plan.functions,
        );
        let world = self.shared.world(&looked.equipped);
        let node = Some(self.saved.what.node);
        let scope = machine::JobScope { plan: &looked.plan, run, node, world: &world, phase };
        let text = template.text(&scope).map(|text| text.into_owned());
        text.map_err(|failure| failure.to_string())
    }

    fn files(&self, looked: &Looked, element: roxmltree::Node<'_, '_>, recovery: bool) -> Answer {
        let all = OnceCell::new();
        let evaluate = |text: &str| self.evaluate(looked, &all, text);
        file_system(&looked.equipped, &looked.run, element, recovery, &evaluate)
    }

    /// Checks the state of an action that was started before.
    fn check(&self, looked: &Looked) -> Answer {
        let node = self.saved.what.node;
        match &looked.plan.node(node).work {
            Work::Action(action) if action.kind == "sub-workflow" => {
                let child = looked.run.rows.get(&node).and_then(|row| row.external.id());
                let child = child.and_then(|id| self.shared.record(id).ok());
                Answer::Running(child.map(|child| child.job.status.name().to_owned()))
            }
            _ => Answer::Running(None),
        }
    }

    /// Handles a call that was stopped before it had begun, as far as is known: a crash may have come between the start
    /// and its record.
    fn never_begun(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if self.saved.folder.as_os_str().is_empty() || self.saved.what.phase != Phase::Start {
            return Ok(Step::Done);
        }
        let folder = self.saved.folder.clone();
        self.saved.stage = Stage::Stopping { folder, then: Then::Nothing };
        let step = self.stopping(context);
        if matches!(self.saved.stage, Stage::Stopping { .. }) && matches!(step, Step::Suspend(_)) {
            // It had begun. The job is told now, since its own end need not wait for that of the program.
            let id = self.saved.what.job.as_str().into();
            let external = External { id, tracker: "local".into(), ..External::none() };
            let event = self.event(Phase::Start, Answer::Started(external));
            context.send(self.saved.what.procedure, 0, event);
        }
        Ok(step)
    }

    /// Handles a call by which an older version stops an action in the job's current run.
    fn older_kill(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let looked = self.look()?;
        let answer = self.event(Phase::Kill, Answer::Stopped);
        if looked.record.procedure != self.saved.what.procedure {
            context.set_result(answer);
            return Ok(Step::Done);
        }
        let folder = self.folder(&looked);
        let row = looked.run.rows.get(&self.saved.what.node);
        if let Some(child) = row.and_then(|row| row.external.id())
            && let Ok(child) = self.shared.record(child)
            && !child.job.status.is_end()
        {
            self.shared.is_ending(&child.job.id);
            context.send(child.procedure, 0, encode(&Event::Command(Command::Kill)));
        }
        self.saved.stage = Stage::Stopping { folder, then: Then::Tell(answer) };
        Ok(self.stopping(context))
    }
}

impl Call {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        self.is_waiting = false;
        let wish = |message: &Message| match &message.note {
            Note::Data(bytes) => postcard::from_bytes(bytes).ok(),
            _ => None,
        };
        let wishes = || context.messages().iter().filter_map(wish);
        self.is_forced |= wishes().any(|wish| matches!(wish, Wish::Force));
        let stops = wishes().any(|wish| matches!(wish, Wish::Stop | Wish::Force));
        let What { root, job, .. } = &self.saved.what;
        if !(stops || self.saved.is_stopped || self.shared.is_active(root, job, context.id())) {
            self.sleep(context);
            return Ok(Step::Suspend(Wait::new()));
        }
        let mut child_ended = None;
        for message in context.take_messages() {
            match message.note {
                Note::Data(_) => {}
                Note::Succeeded(Some(status)) => {
                    child_ended = Some(String::from_utf8_lossy(&status).into_owned());
                }
                Note::Succeeded(None) | Note::Failed(_) => {
                    child_ended = Some(JobStatus::Failed.name().to_owned());
                }
            }
        }
        self.saved.is_stopped |= stops || self.is_orphan();
        let is_stopped = self.saved.is_stopped;
        match (&self.saved.stage, self.saved.what.phase) {
            (Stage::Stopping { .. }, _) => Ok(self.stopping(context)),
            (Stage::Program { folder, .. }, _) if is_stopped => {
                let folder = folder.clone();
                self.saved.stage = Stage::Stopping { folder, then: Then::Nothing };
                Ok(self.stopping(context))
            }
            (Stage::Program { .. }, _) => self.program(context),
            (Stage::Child, _) => Ok(self.child_step(context, child_ended, stops)),
            (Stage::Begin | Stage::Again, _) if is_stopped => self.never_begun(context),
            (Stage::Begin | Stage::Again, Phase::Start) => self.start(context),
            (Stage::Begin | Stage::Again, Phase::Check) => {
                let answer = self.check(&self.look()?);
                Ok(self.done(context, Phase::Check, answer))
            }
            (Stage::Begin | Stage::Again, Phase::End) => {
                Ok(self.done(context, Phase::End, Answer::Ended(None)))
            }
            (Stage::Begin | Stage::Again, Phase::Kill) => self.older_kill(context),
        }
    }

    /// Keeps the place of a program that was running when another process closed the store, until the program ends,
    /// although its job is not active.
    fn sleep(&mut self, context: &Context<'_>) {
        let folder = match &self.saved.stage {
            Stage::Program { folder, .. } | Stage::Stopping { folder, .. } => folder.clone(),
            Stage::Begin | Stage::Again if self.saved.what.phase == Phase::Start => {
                self.saved.folder.clone()
            }
            _ => PathBuf::new(),
        };
        let launchers = &self.shared.surroundings.launchers;
        let runs = !folder.as_os_str().is_empty()
            && launchers.fate(&folder).is_ok_and(|state| state == State::Running);
        if !runs {
            self.place = None;
            return;
        }
        self.is_waiting = true;
        let class = self.class_again();
        self.shared.places.take(&mut self.place, class);
        self.watch(context.id(), &folder);
    }

    /// Handles a failed step. It is retried; if that is no use, what the call began is stopped, and only then is the
    /// job told of the failure.
    fn failed(&mut self, context: &mut Context<'_>, failure: &Failure) -> Step {
        let is_patient = !steady::is_lasting(failure) && self.failures < MOST_FAILURES;
        let has_folder = !self.saved.folder.as_os_str().is_empty();
        let phase = match (&self.saved.stage, self.saved.what.phase) {
            _ if is_patient => return steady::later(context, &mut self.failures, STEADY_MS),
            (Stage::Program { .. } | Stage::Again, _) => Phase::Check,
            (Stage::Begin, phase @ (Phase::Check | Phase::End)) => phase,
            (Stage::Begin, Phase::Start) => Phase::Start,
            // A call that is stopping something, or has a child, cannot give up.
            (Stage::Stopping { .. } | Stage::Child, _) | (Stage::Begin, Phase::Kill) => {
                return steady::later(context, &mut self.failures, STEADY_MS);
            }
        };
        self.failures = 0;
        let answer = Answer::Error(Class::Error, "JA018".to_owned(), failure.to_string());
        let event = self.event(phase, answer);
        if !has_folder || matches!(phase, Phase::End) || self.saved.what.phase == Phase::Check {
            context.set_result(event);
            return Step::Done;
        }
        let folder = match &self.saved.stage {
            Stage::Program { folder, .. } => folder.clone(),
            _ => self.saved.folder.clone(),
        };
        self.saved.stage = Stage::Stopping { folder, then: Then::Tell(event) };
        self.stopping(context)
    }

    /// Like [`Call::class`], for a program that was started before.
    fn class_again(&self) -> PlaceClass {
        let unknown = PlaceClass { kind: String::new(), queue: None };
        let Ok(looked) = self.look() else { return unknown };
        let row = looked.run.rows.get(&self.saved.what.node);
        let Some(text) = row.and_then(|row| row.conf.clone()) else { return unknown };
        match roxmltree::Document::parse(&text) {
            Ok(document) => self.class(&looked, document.root_element()),
            Err(_) => unknown,
        }
    }
}

impl Procedure for Call {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let (before, asked) = (self.saved.clone(), self.asked);
        let step = match steady::attempt(context, |context| self.step(context)) {
            Ok(step) => {
                self.failures = 0;
                step
            }
            Err(failure) => {
                (self.saved, self.asked) = (before, asked);
                self.failed(context, &failure)
            }
        };
        let goes_on = matches!(&step, Step::Suspend(_));
        let has_program =
            matches!(self.saved.stage, Stage::Program { .. } | Stage::Stopping { .. });
        let waits = (self.is_waiting && !self.saved.is_stopped) || self.failures > 0;
        if !goes_on || !(has_program || waits) {
            self.place = None;
        }
        Ok(step)
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = vec![MARK];
        bytes.extend(encode(&self.saved));
        bytes
    }

    fn undoable(&self) -> bool {
        false
    }
}

/// Carries out an `fs` action of a job whose rows are all loaded. `recovery` means that it may already have been done,
/// or half done.
pub(super) fn carry_out(
    shared: &Shared,
    equipped: &Equipped,
    plan: &Plan,
    run: &Run,
    node: NodeIndex,
    recovery: bool,
) -> Answer {
    let Some(row) = run.rows.get(&node) else { return Answer::Missing };
    let document = match roxmltree::Document::parse(row.conf.as_deref().unwrap_or_default()) {
        Ok(document) => document,
        Err(error) => {
            let (code, message) = exception("JDOMParseException", error);
            return Answer::Error(Class::Error, code, message);
        }
    };
    let phase = ankus_lang::el::Phase::Workflow;
    let evaluate = |text: &str| {
        if !text.contains(['$', '#']) {
            return Ok(text.to_owned());
        }
        let template =
            ankus_lang::el::Template::compile_with(text, phase, plan.dialect, &plan.functions);
        let world = shared.world_of(equipped, &run.job.id);
        let scope = machine::JobScope { plan, run, node: Some(node), world: &world, phase };
        let text = template.text(&scope).map(|text| text.into_owned());
        text.map_err(|failure| failure.to_string())
    };
    let recovery = recovery || row.starts > 1;
    let done = catch_unwind(AssertUnwindSafe(|| {
        file_system(equipped, run, document.root_element(), recovery, &evaluate)
    }));
    done.unwrap_or_else(|panic| {
        let failure = Failure::new("bug", Failure::PANIC, steady::text(&*panic));
        Answer::Error(Class::Error, "JA018".to_owned(), failure.to_string())
    })
}

fn file_system(
    equipped: &Equipped,
    run: &Run,
    element: roxmltree::Node<'_, '_>,
    recovery: bool,
    evaluate: &dyn Fn(&str) -> Result<String, String>,
) -> Answer {
    let name_node = child_text(element, "name-node");
    let operations = Operations {
        files: &equipped.files,
        schemes: &equipped.needs.schemes,
        name_node: name_node.as_deref(),
        user: &run.job.user,
        glob_limit: glob_limit(&equipped.needs.server),
        recovery,
    };
    if let Err(fault) = operations.name_node() {
        return error(fault);
    }
    if let Err(refusal) = settings_of_fs(&equipped.files, run, element, evaluate) {
        return Answer::Error(refusal.class, refusal.code, refusal.message);
    }
    match operations.run(element) {
        Ok(()) => finished("OK", None),
        Err(fault) => error(fault),
    }
}

/// Returns what programs of a job with these needs run with.
fn provisions(needs: &Needs) -> Provisions<'_> {
    Provisions {
        tools: &needs.tools,
        schemes: &needs.schemes,
        server: &needs.server,
        defaults: &needs.action_defaults,
        environment: &needs.environment,
        hosts: &needs.hosts,
        mounts: &needs.mounts,
        output: needs.output,
        output_of_job: needs.output_of_job,
        bounds: Bounds { grace_ms: needs.grace_ms, ..needs.bounds.clone() },
        sandbox: &needs.sandbox,
        places: &needs.places,
        helper: None,
    }
}

/// Returns the folder of an attempt whose program is started again for the `times`-th time.
fn again(folder: &Path, times: u32) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    if times > 1 {
        // Neither names of nodes nor what follows them contain a dot.
        name = Path::new(&name).file_stem().unwrap_or_default().to_owned();
    }
    name.push(format!(".{times}"));
    folder.with_file_name(name)
}

fn finished(status: &str, data: Option<String>) -> Answer {
    Answer::Finished(Finished {
        external: Some(External::none()),
        output: Output { data, ..Output::default() }.into(),
        ..Finished::new(status)
    })
}

fn error(fault: Fault) -> Answer {
    Answer::Error(Class::Error, fault.code, fault.message)
}

/// Returns the trimmed text of the first child of this name.
fn child_text(element: roxmltree::Node<'_, '_>, name: &str) -> Option<String> {
    let child =
        element.children().find(|child| child.is_element() && child.tag_name().name() == name)?;
    let text: String = child.children().filter_map(|child| child.text()).collect();
    Some(text.trim().to_owned())
}
