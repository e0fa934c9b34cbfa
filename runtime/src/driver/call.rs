//! Calls of executors, and timers: what a job waits for, each a procedure of its own.
//!
//! A call that starts a program, or a child job, answers that it has started and then stays until that has ended.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::job::{self, Job};
use super::keep::{JobRecord, Keep, encode, expectations, spaces};
use super::world::TYPES;
use super::{Shared, view};
use crate::actions::command::{Capture, Class};
use crate::actions::fs::{Fault, Operations};
use crate::actions::workplace::{Worked, Workplace, settings_of_fs};
use crate::host::files::FileUri;
use crate::host::process::{self, State};
use crate::machine::{
    self, Answer, Command, Event, External, Finished, JobStatus, Output, Phase, Run, Submission,
    exception, submit,
};
use crate::plan::{NodeIndex, Plan, Work};
use crate::procedure::{Context, Failure, New, Note, Procedure, ProcedureId, Step, Wait};

/// The kind of a call.
pub(super) const KIND: &str = "call";
/// The kind of a timer.
pub(super) const TIMER: &str = "timer";
/// How often a program is looked after whose end nobody tells.
const LOOK_MS: u64 = 30_000;

/// What is called for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct What {
    pub(super) job: String,
    pub(super) root: String,
    /// The procedure of the job.
    pub(super) procedure: ProcedureId,
    pub(super) node: NodeIndex,
    pub(super) serial: u32,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nothing was done.
    Begin,
    /// A program runs in this folder; what it captures is found so.
    Program { folder: PathBuf, kind: String, capture: Capture, limit: u64 },
    /// A child job runs.
    Child,
}

/// A call.
pub(super) struct Call {
    shared: Arc<Shared>,
    saved: Saved,
    /// Whether it was begun by another process. Its first step here may come before its job is active, and do nothing.
    is_taken_up: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    what: What,
    stage: Stage,
}

/// A job and one of its rows, as they are in the store.
struct Looked {
    record: JobRecord,
    run: Run,
    plan: Arc<Plan>,
}

impl Call {
    pub(super) fn new(shared: Arc<Shared>, what: What) -> Call {
        let saved = Saved { what, stage: Stage::Begin };
        Call { shared, saved, is_taken_up: false }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Call, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Call { shared: shared.clone(), saved, is_taken_up: true })
    }

    fn event(&self, phase: Phase, answer: Answer) -> Vec<u8> {
        let What { node, serial, .. } = self.saved.what;
        encode(&Event::Answered { node, serial, phase, answer })
    }

    /// Ends with this answer.
    fn done(&self, context: &mut Context<'_>, phase: Phase, answer: Answer) -> Step {
        context.set_result(self.event(phase, answer));
        Step::Done
    }

    fn look(&self) -> Result<Looked, Failure> {
        let broken = |error: super::Error| Failure::new("call", "store", error.to_string());
        let what = &self.saved.what;
        let record = self.shared.record(&what.job).map_err(broken)?;
        let reader = self.shared.reader();
        let row = view::row(reader, &what.job, what.node).map_err(broken)?;
        let properties = view::properties(reader, &what.job).map_err(broken)?;
        let rows = row.map(|row| (what.node, row)).into_iter().collect();
        let run = Run::new(record.job.clone(), Arc::new(properties), rows);
        let plan = self.shared.plan(&record.plan).map_err(broken)?;
        Ok(Looked { record, run, plan })
    }

    /// The folder in which an attempt at this action works.
    fn folder(&self, looked: &Looked) -> PathBuf {
        let what = &self.saved.what;
        let starts = looked.run.rows.get(&what.node).map_or(1, |row| row.starts);
        let name = format!("{}-{}-{starts}", looked.plan.node(what.node).name, looked.run.job.run);
        self.shared.folder.join(&what.job).join(name)
    }

    fn start(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let looked = self.look()?;
        let node = self.saved.what.node;
        let (Some(row), Work::Action(action)) =
            (looked.run.rows.get(&node), &looked.plan.node(node).work)
        else {
            return Ok(self.done(context, Phase::Start, Answer::Missing));
        };
        let text = row.conf.clone().unwrap_or_default();
        let document = match roxmltree::Document::parse(&text) {
            Ok(document) => document,
            Err(error) => {
                let code = match action.kind.as_str() {
                    kind if is_java_family(kind) => "JA007",
                    "ssh" => "SH002",
                    _ => "JDOMParseException",
                };
                let (code, message) = exception(code, error);
                let answer = Answer::Error(Class::Error, code, message);
                return Ok(self.done(context, Phase::Start, answer));
            }
        };
        let element = document.root_element();
        match action.kind.as_str() {
            "fs" => {
                let recovery = row.starts > 1 || self.is_taken_up;
                let answer = self.files(&looked, element, recovery);
                Ok(self.done(context, Phase::Start, answer))
            }
            "sub-workflow" => self.start_child(context, &looked, element),
            "email" => {
                let outcome = crate::actions::email::send(&crate::actions::email::Request {
                    element,
                    files: &self.shared.files,
                    server: &self.shared.surroundings.server,
                    maildir: &self.shared.folder.join("..").join("mail"),
                    unique: &format!("{}@{}.{}", looked.run.job.id, node, row.starts),
                    now_ms: self.shared.host.wall_ms(),
                });
                let answer = match outcome {
                    Ok(()) => finished("OK", None),
                    Err(fault) => error(fault),
                };
                Ok(self.done(context, Phase::Start, answer))
            }
            kind => {
                let folder = self.folder(&looked);
                let shared = self.shared.clone();
                let all = OnceCell::new();
                let called = Call {
                    shared: shared.clone(),
                    saved: self.saved.clone(),
                    is_taken_up: self.is_taken_up,
                };
                let evaluate = |text: &str| called.evaluate(&looked, &all, text);
                let workplace = Workplace {
                    evaluate: &evaluate,
                    files: &shared.files,
                    tools: &shared.surroundings.tools,
                    schemes: &shared.surroundings.schemes,
                    element,
                    run: &looked.run,
                    node: &looked.plan.node(node).name,
                    folder: &folder,
                };
                self.start_program(context, kind, &workplace)
            }
        }
    }

    /// Evaluates texts with all that the job knows by now.
    fn evaluate(&self, looked: &Looked, all: &OnceCell<Run>, text: &str) -> Result<String, String> {
        // The rows of other nodes are read where a text asks for anything.
        let run = match all.get() {
            Some(run) => run,
            None if !text.contains(['$', '#']) => return Ok(text.to_owned()),
            None => {
                let read = view::run(self.shared.reader(), &looked.record);
                let read = read.map_err(|error| error.to_string())?;
                all.get_or_init(|| read)
            }
        };
        let phase = crate::el::Phase::Workflow;
        let template = crate::el::Template::compile(text, phase, looked.plan.dialect);
        let world = self.shared.world();
        let node = Some(self.saved.what.node);
        let scope = machine::JobScope { plan: &looked.plan, run, node, world: &world, phase };
        let text = template.text(&scope).map(|text| text.into_owned());
        text.map_err(|failure| failure.to_string())
    }

    fn files(&self, looked: &Looked, element: roxmltree::Node<'_, '_>, recovery: bool) -> Answer {
        let name_node = child_text(element, "name-node");
        let operations = Operations {
            files: &self.shared.files,
            schemes: &self.shared.surroundings.schemes,
            name_node: name_node.as_deref(),
            recovery,
        };
        if let Err(fault) = operations.name_node() {
            return error(fault);
        }
        let all = OnceCell::new();
        let evaluate = |text: &str| self.evaluate(looked, &all, text);
        if let Err(refusal) = settings_of_fs(&self.shared.files, &looked.run, element, &evaluate) {
            return Answer::Error(refusal.class, refusal.code, refusal.message);
        }
        match operations.run(element) {
            Ok(()) => finished("OK", None),
            Err(fault) => error(fault),
        }
    }

    fn start_program(
        &mut self,
        context: &mut Context<'_>,
        kind: &str,
        workplace: &Workplace<'_, '_>,
    ) -> Result<Step, Failure> {
        let Worked { program, capture, limit } = match workplace.prepare() {
            Ok(worked) => worked,
            Err(refusal) => {
                let answer = Answer::Error(refusal.class, refusal.code, refusal.message);
                return Ok(self.done(context, Phase::Start, answer));
            }
        };
        let folder = workplace.folder.to_owned();
        let started = process::start(&self.shared.surroundings.launcher, &folder, &program);
        let launcher = match started {
            Ok(launcher) => launcher,
            Err(fault) => {
                let message = format!("cannot start a program in {}: {fault}", folder.display());
                let answer = Answer::Error(Class::Transient, "JA009".into(), message);
                return Ok(self.done(context, Phase::Start, answer));
            }
        };
        let id = context.id();
        self.watch(id, folder.clone(), launcher);
        let external = External {
            id: format!("{}#{}", self.saved.what.job, workplace.node).into(),
            tracker: "local".into(),
            console: format!("file://{}", folder.display()).into(),
        };
        let event = self.event(Phase::Start, Answer::Started(external));
        context.send(self.saved.what.procedure, 0, event);
        self.saved.stage = Stage::Program { folder, kind: kind.to_owned(), capture, limit };
        Ok(Step::Suspend(Wait::new().or_pause(LOOK_MS)))
    }

    /// Wakes this procedure when the program of a folder has ended.
    fn watch(&self, id: ProcedureId, folder: PathBuf, launcher: Option<std::process::Child>) {
        let executor = self.shared.executor().clone();
        thread::spawn(move || {
            match launcher {
                Some(mut launcher) => {
                    let _ = launcher.wait();
                }
                None => {
                    let _ = process::wait(&folder);
                }
            }
            executor.wake(id);
        });
    }

    fn program_ended(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let Stage::Program { folder, kind, capture, limit } = self.saved.stage.clone() else {
            return Ok(Step::Done);
        };
        let state = process::state(&folder);
        match state {
            Ok(State::Running) => {
                if std::mem::take(&mut self.is_taken_up) {
                    self.watch(context.id(), folder, None);
                }
                Ok(Step::Suspend(Wait::new().or_pause(LOOK_MS)))
            }
            Ok(state) => {
                let answer =
                    crate::actions::workplace::outcome(&folder, &kind, capture, limit, state);
                Ok(self.done(context, Phase::Check, answer))
            }
            Err(fault) => {
                let message = format!("cannot look at {}: {fault}", folder.display());
                let answer = Answer::Error(Class::Error, "JA017".into(), message);
                Ok(self.done(context, Phase::Check, answer))
            }
        }
    }

    fn start_child(
        &mut self,
        context: &mut Context<'_>,
        looked: &Looked,
        element: roxmltree::Node<'_, '_>,
    ) -> Result<Step, Failure> {
        match self.child(context, looked, element) {
            Ok(external) => {
                let event = self.event(Phase::Start, Answer::Started(external));
                context.send(self.saved.what.procedure, 0, event);
                self.saved.stage = Stage::Child;
                Ok(Step::Suspend(Wait::for_message()))
            }
            Err((code, message)) => {
                let answer = Answer::Error(Class::Error, code, message);
                Ok(self.done(context, Phase::Start, answer))
            }
        }
    }

    /// Submits the child job; the answer is how it is known.
    fn child(
        &self,
        context: &mut Context<'_>,
        looked: &Looked,
        element: roxmltree::Node<'_, '_>,
    ) -> Result<External, (String, String)> {
        let shared = &self.shared;
        let own = |code: &str, message: String| exception(code, message);
        let most = shared.surroundings.server.get("oozie.action.subworkflow.max.depth");
        let most = most.and_then(|most| most.parse().ok()).unwrap_or(machine::DEEPEST);
        let node = &looked.plan.node(self.saved.what.node).name;
        let child = machine::child(&looked.run, node, element, most)?;
        let machine::Child { path, properties, propagates } = child;

        let inherited = looked.plan.global.as_ref().filter(|_| propagates);
        let uri = FileUri::parse(&path);
        let plan =
            shared.surroundings.compiler.compile(&uri, &shared.files, &properties, inherited);
        let plan = plan.map_err(|(code, message)| exception(&code, message))?;
        let root = looked.record.root.clone();
        let known = looked.run.rows.get(&self.saved.what.node);
        let known = known.and_then(|row| row.external.id()).filter(|id| {
            let failed_only = looked.run.property("oozie.wf.rerun.failnodes") == Some("true");
            // A child that was started and not told of, before we were killed, is no rerun's.
            failed_only && shared.record(id).is_ok_and(|record| record.job.status.is_end())
        });
        if let Some(id) = known {
            job::rerun(context, shared, id, Some(&plan), &properties, &root, |new| new).map_err(
                |error| match error {
                    super::Error::Refused(refused) => {
                        own("OozieClientException", refused.to_string())
                    }
                    error => own("IOException", error.to_string()),
                },
            )?;
            return Ok(External { id: id.into(), tracker: "local".into(), console: id.into() });
        }
        let bytes = plan.to_bytes();
        let id = shared.next_id();
        let defaults = crate::host::defaults::default_files(&properties, &shared.files)
            .map_err(|why| own("OozieClientException", format!("E0803: {why}")))?;
        let submission = Submission { id: id.clone(), properties, defaults };
        let refused = |refused: crate::machine::Refused| {
            own("OozieClientException", format!("E0803: {refused}"))
        };
        let run = submit(&plan, submission, &shared.world()).map_err(refused)?;
        let unreadable = |error: crate::store::Error| own("IOException", error.to_string());
        let (key, bytes) = Keep::plan_key(shared.reader(), &bytes).map_err(unreadable)?;
        let body = Job::new(shared.clone(), &id, &root);
        let procedure = context.spawn(New::of(job::KIND, body).unattended());
        let record = JobRecord::new(&run, procedure, key.clone(), root);
        if let Some(bytes) = bytes {
            context.put(spaces::PLAN, key.as_bytes(), bytes);
        }
        let counter = shared.counter.load(std::sync::atomic::Ordering::Relaxed);
        context.put(spaces::META, b"counter", counter.to_le_bytes());
        context.put(spaces::CONF, id.as_bytes(), encode(&*run.conf));
        for (key, sla) in expectations(&run) {
            context.put(spaces::EXPECTATION, key, sla);
        }
        context.put(spaces::JOB, id.as_bytes(), encode(&record));
        Ok(External { id: id.as_str().into(), tracker: "local".into(), console: id.into() })
    }

    fn child_ended(&mut self, context: &mut Context<'_>) -> Step {
        for message in context.take_messages() {
            let status = match message.note {
                Note::Succeeded(Some(status)) => String::from_utf8_lossy(&status).into_owned(),
                Note::Succeeded(None) | Note::Failed(_) => JobStatus::Failed.name().to_owned(),
                Note::Data(_) => continue,
            };
            let answer = Answer::Finished(Finished::new(status));
            return self.done(context, Phase::Check, answer);
        }
        Step::Suspend(Wait::for_message())
    }

    /// Asks how an action does that was started before.
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

    fn kill(&self, context: &mut Context<'_>, looked: &Looked) -> Answer {
        let node = self.saved.what.node;
        let Some(row) = looked.run.rows.get(&node) else { return Answer::Stopped };
        match &looked.plan.node(node).work {
            Work::Action(action) if action.kind == "sub-workflow" => {
                if let Some(child) = row.external.id()
                    && let Ok(child) = self.shared.record(child)
                    && !child.job.status.is_end()
                {
                    context.send(child.procedure, 0, encode(&Event::Command(Command::Kill)));
                }
                Answer::Stopped
            }
            _ => {
                let grace = Duration::from_millis(self.shared.surroundings.grace_ms);
                match process::kill(&self.folder(looked), grace) {
                    Ok(()) => Answer::Stopped,
                    Err(fault) => {
                        let message = format!("cannot be stopped: {fault}");
                        Answer::Error(Class::Error, "JA009".into(), message)
                    }
                }
            }
        }
    }
}

impl Procedure for Call {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if !self.shared.is_active(&self.saved.what.root, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        match (&self.saved.stage, self.saved.what.phase) {
            (Stage::Program { .. }, _) => self.program_ended(context),
            (Stage::Child, _) => Ok(self.child_ended(context)),
            (Stage::Begin, Phase::Start) => self.start(context),
            (Stage::Begin, Phase::Check) => {
                let answer = self.check(&self.look()?);
                Ok(self.done(context, Phase::Check, answer))
            }
            (Stage::Begin, Phase::End) => Ok(self.done(context, Phase::End, Answer::Ended(None))),
            (Stage::Begin, Phase::Kill) => {
                let looked = self.look()?;
                let answer = self.kill(context, &looked);
                Ok(self.done(context, Phase::Kill, answer))
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

/// Types that a launcher of the cluster runs.
fn is_java_family(kind: &str) -> bool {
    !["fs", "sub-workflow", "email", "ssh"].contains(&kind) && TYPES.contains(&kind)
}

/// The trimmed text of the first child of this name.
fn child_text(element: roxmltree::Node<'_, '_>, name: &str) -> Option<String> {
    let child =
        element.children().find(|child| child.is_element() && child.tag_name().name() == name)?;
    let text: String = child.children().filter_map(|child| child.text()).collect();
    Some(text.trim().to_owned())
}

/// Tells a job when a moment has come.
pub(super) struct Timer {
    shared: Arc<Shared>,
    saved: Due,
    /// Until then on the clock that nobody sets.
    until: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Due {
    root: String,
    node: NodeIndex,
    serial: u32,
    at: i64,
    /// How long it was to last.
    span: i64,
}

impl Timer {
    pub(super) fn new(
        shared: Arc<Shared>,
        root: &str,
        node: NodeIndex,
        serial: u32,
        at: i64,
    ) -> Timer {
        let span = at.saturating_sub(shared.host.wall_ms()).max(0);
        let saved = Due { root: root.to_owned(), node, serial, at, span };
        Timer { shared, saved, until: None }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Timer, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Timer { shared: shared.clone(), saved, until: None })
    }
}

impl Procedure for Timer {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if !self.shared.is_active(&self.saved.root, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let left = self.saved.at.saturating_sub(context.host().wall_ms());
        let elapsed = context.host().elapsed_ms();
        let span = u64::try_from(self.saved.span).unwrap_or(0);
        let until = *self.until.get_or_insert(elapsed.saturating_add(span));
        // A clock that is set back makes it last no longer than it was to last.
        let left = left.min(i64::try_from(until.saturating_sub(elapsed)).unwrap_or(i64::MAX));
        if left > 0 {
            // In pieces, so that a clock that is set forward does not make it late by more than one.
            let piece = u64::try_from(left).unwrap_or(0).min(60_000);
            return Ok(Step::Suspend(Wait::pause(piece)));
        }
        let Due { node, serial, .. } = self.saved;
        context.set_result(encode(&Event::Due { node, serial }));
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}
