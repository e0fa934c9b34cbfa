//! Runs jobs in simulated time: the state machine with a queue instead of the outside world.
//!
//! It takes plans, submissions, commands, and [`Executors`] that determine the result and the duration of each executor
//! call, and records every change of status with its simulated time. `fs` works on files in memory, sub-workflows are
//! jobs of the same simulation; nothing waits, and the same input gives the same run.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::actions::email;
use crate::actions::fs::{Operations, glob_limit, schemes_of};
use crate::actions::workplace::settings_of_fs;
use crate::driver::FilesOf;
use crate::host::files::{FileUri, Files, MemoryFiles};
use ankus_lang::el::{self, FileScope, Template};
use ankus_lang::machine::Class;
use ankus_lang::machine::{
    self, Answer, Change, Command, DEEPEST, Effect, Event, External, Finished, JobScope, JobStatus,
    Phase, Refused, RerunBy, Row, Run, Submission, World, apply, exception,
};
use ankus_lang::plan::{Global, NodeIndex, Plan};

/// The server property that lists the supported file systems.
const SCHEMES: &str = "oozie.service.HadoopAccessorService.supported.filesystems";
/// A run with more steps than this is considered endless.
const MOST_STEPS: u64 = 50_000_000;

/// A call to an executor.
pub struct Call<'a> {
    /// The job.
    pub run: &'a Run,
    /// Its plan.
    pub plan: &'a Plan,
    /// The node of the action.
    pub node: NodeIndex,
    /// The phase of the call.
    pub phase: Phase,
    /// The file root.
    pub files: &'a MemoryFiles,
}

impl Call<'_> {
    /// Returns the name of the node.
    pub fn name(&self) -> &str {
        &self.plan.node(self.node).name
    }

    /// Returns the type of the action.
    pub fn kind(&self) -> &str {
        self.plan.node(self.node).work.row_type()
    }

    /// Returns the evaluated text of the action.
    pub fn text(&self) -> &str {
        self.run.rows.get(&self.node).and_then(|row| row.conf.as_deref()).unwrap_or_default()
    }
}

/// The answer to a call, and its delay in simulated time.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The delay in simulated milliseconds.
    pub after_ms: u64,
    /// The phase that it answers.
    pub phase: Phase,
    /// The answer.
    pub answer: Answer,
    /// Files that exist from then on: URI and text.
    pub writes: Vec<(String, String)>,
}

impl Reply {
    /// Creates an answer without delay.
    pub fn now(phase: Phase, answer: Answer) -> Reply {
        Reply { after_ms: 0, phase, answer, writes: Vec::new() }
    }
}

/// The executors of a simulation, in place of real ones.
pub trait Executors {
    /// Returns the answers to a call; there are several if an action continues by itself.
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply>;

    /// Returns the plan of a sub-workflow, or the code and the message of the error for the action that starts it.
    fn compile(
        &mut self,
        path: &FileUri,
        files: &dyn Files,
        properties: &BTreeMap<String, String>,
        inherited: Option<&Global>,
    ) -> Result<Plan, (String, String)>;

    /// Whether executors of a type are called when a result is taken.
    fn asks_end(&self, _kind: &str) -> bool {
        false
    }

    /// Whether there is an executor for a type.
    fn knows(&self, _kind: &str) -> bool {
        true
    }

    /// Whether the call is answered here and not by the simulation itself, which otherwise handles `fs` and
    /// `sub-workflow`.
    fn replaces(&self, _call: &Call<'_>) -> bool {
        false
    }
}

/// A change in a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Simulated milliseconds since 1970.
    pub at: i64,
    /// The job's index in [`Simulation::jobs`].
    pub job: usize,
    /// What changed.
    pub change: Change,
}

/// A job of a simulation.
pub struct SimulatedJob {
    /// Its plan.
    pub plan: Arc<Plan>,
    /// Its state.
    pub run: Run,
    parent: Option<(usize, NodeIndex, u32)>,
}

enum Todo {
    Event { job: usize, event: Box<Event>, writes: Vec<(String, String)> },
    ChildEnded { job: usize, node: NodeIndex, serial: u32, status: String },
}

/// When something is due: the time, and a number that keeps the order of things due at the same time.
type Due = (i64, u64);

/// The queue of due things. Most are due at once, and need no other order than that of their arrival.
#[derive(Default)]
struct Queue {
    /// Things that were due when they were queued. They are in order, since time does not go back.
    soon: VecDeque<(Due, Todo)>,
    later: BTreeMap<Due, Todo>,
}

impl Queue {
    fn push(&mut self, due: Due, now: i64, todo: Todo) {
        if due.0 <= now {
            self.soon.push_back((due, todo));
        } else {
            self.later.insert(due, todo);
        }
    }

    fn first(&self) -> Option<Due> {
        let soon = self.soon.front().map(|(due, _)| *due);
        let later = self.later.first_key_value().map(|(due, _)| *due);
        soon.into_iter().chain(later).min()
    }

    fn pop(&mut self) -> Option<(Due, Todo)> {
        let soon = self.soon.front().map(|(due, _)| *due);
        let later = self.later.first_key_value().map(|(due, _)| *due);
        match (soon, later) {
            (Some(soon), Some(later)) if later < soon => self.later.pop_first(),
            (None, _) => self.later.pop_first(),
            (Some(_), _) => self.soon.pop_front(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (Due, &Todo)> {
        let soon = self.soon.iter().map(|(due, todo)| (*due, todo));
        let mut all: Vec<_> =
            soon.chain(self.later.iter().map(|(due, todo)| (*due, todo))).collect();
        all.sort_by_key(|(due, _)| *due);
        all.into_iter()
    }

    fn remove(&mut self, due: Due) {
        self.soon.retain(|(known, _)| *known != due);
        self.later.remove(&due);
    }

    fn clear(&mut self) {
        self.soon.clear();
        self.later.clear();
    }
}

/// A simulation: jobs, files and a clock.
pub struct Simulation<E> {
    /// The executors that answer calls.
    pub executors: E,
    /// The file root.
    pub files: Arc<MemoryFiles>,
    /// Server properties that differ from the defaults.
    pub server: BTreeMap<String, String>,
    /// The results of functions of the site.
    pub functions: BTreeMap<String, String>,
    /// The jobs, in the order of their submission.
    pub jobs: Vec<SimulatedJob>,
    /// Every change, in order.
    pub moments: Vec<Moment>,
    /// The time and the URL of each notification.
    pub notifications: Vec<(i64, String)>,
    /// Mails as they would be sent, if they are recorded.
    pub mails: Option<RefCell<Vec<String>>>,
    now: i64,
    queue: Queue,
    number: u64,
    steps: u64,
}

struct Around<'a, E> {
    executors: &'a E,
    files: FilesOf<'a>,
    server: &'a BTreeMap<String, String>,
    functions: &'a BTreeMap<String, String>,
    now: i64,
}

impl<E: Executors> World for Around<'_, E> {
    fn now(&self) -> i64 {
        self.now
    }

    fn files(&self) -> Option<&dyn FileScope> {
        Some(&self.files)
    }

    fn server(&self, name: &str) -> Option<&str> {
        self.server.get(name).map(String::as_str)
    }

    fn call(&self, called: &el::Called<'_>) -> Option<Result<String, Box<el::Failure>>> {
        self.functions.get(called.function).cloned().map(Ok)
    }

    fn asks_end(&self, kind: &str) -> bool {
        self.executors.asks_end(kind)
    }

    fn knows(&self, kind: &str) -> bool {
        self.executors.knows(kind)
    }
}

impl<E: Executors> Simulation<E> {
    /// Creates a simulation without jobs, at a time in milliseconds since 1970.
    pub fn new(executors: E, now: i64) -> Simulation<E> {
        let files = Arc::new(MemoryFiles::default());
        files.set_now(now);
        Simulation {
            executors,
            files,
            server: BTreeMap::new(),
            functions: BTreeMap::new(),
            jobs: Vec::new(),
            moments: Vec::new(),
            notifications: Vec::new(),
            mails: None,
            now,
            queue: Queue::default(),
            number: 0,
            steps: 0,
        }
    }

    /// Returns the schemes of the supported file systems.
    fn schemes(&self) -> Vec<String> {
        schemes_of(self.server.get(SCHEMES).map(String::as_str))
    }

    /// Returns the simulated time.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Returns when something happens next, if anything does.
    pub fn next(&self) -> Option<i64> {
        self.queue.first().map(|(at, _)| at)
    }

    /// Advances the time without handling anything.
    pub fn advance_to(&mut self, at: i64) {
        self.now = self.now.max(at);
        self.files.set_now(self.now);
    }

    /// Submits a job, which stays in PREP until it gets [`Command::Start`]. Returns its index.
    pub fn submit(
        &mut self,
        plan: Arc<Plan>,
        mut submission: Submission,
    ) -> Result<usize, Refused> {
        let defaults = crate::host::defaults::default_files(&submission.properties, &*self.files);
        submission.defaults.extend(defaults.map_err(|message| Refused { code: "E0803", message })?);
        let files = std::mem::take(&mut submission.defaults);
        let plan = match files.is_empty() {
            true => plan,
            false => Arc::new(Plan::clone(&plan).with_defaults(&files)),
        };
        let schemes = self.schemes();
        let around = Around {
            executors: &self.executors,
            files: FilesOf { files: &*self.files, schemes: &schemes },
            server: &self.server,
            functions: &self.functions,
            now: self.now,
        };
        let run = machine::submit(&plan, submission, &around)?;
        self.jobs.push(SimulatedJob { plan, run, parent: None });
        Ok(self.jobs.len() - 1)
    }

    /// Sends a command to a job now.
    pub fn command(&mut self, job: usize, command: Command) {
        self.apply(job, Event::Command(command));
    }

    /// Checks a running action by asking its executor.
    pub fn check(&mut self, job: usize, node: NodeIndex) {
        self.apply(job, Event::Check { node });
    }

    /// Reruns an ended job as a client would, with a plan that may have changed.
    pub fn rerun(
        &mut self,
        job: usize,
        plan: Arc<Plan>,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), Refused> {
        self.rerun_by(RerunBy::Client, job, plan, properties)
    }

    fn rerun_by(
        &mut self,
        by: RerunBy,
        job: usize,
        plan: Arc<Plan>,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), Refused> {
        let schemes = self.schemes();
        let around = Around {
            executors: &self.executors,
            files: FilesOf { files: &*self.files, schemes: &schemes },
            server: &self.server,
            functions: &self.functions,
            now: self.now,
        };
        let of = &mut self.jobs[job];
        machine::rerun(&of.plan, &plan, &mut of.run, properties, by, &around)?;
        of.plan = plan;
        of.run.forget_changes();
        self.moments.push(Moment { at: self.now, job, change: Change::Job(JobStatus::Prep) });
        Ok(())
    }

    /// Simulates that the server is killed and started again: executors that were starting an action are called again.
    pub fn restart(&mut self) {
        let cut: Vec<_> = self
            .queue
            .iter()
            .filter_map(|(key, todo)| match todo {
                Todo::Event { job, event, .. } => match **event {
                    Event::Answered { node, serial, phase: Phase::Start, .. } => {
                        Some((key, *job, node, serial))
                    }
                    _ => None,
                },
                Todo::ChildEnded { .. } => None,
            })
            .collect();
        for (key, job, node, serial) in cut {
            self.queue.remove(key);
            self.call(job, node, serial, Phase::Start);
        }
    }

    /// Handles what is due next, and moves the time there. Returns `false` if nothing will ever happen.
    pub fn step(&mut self) -> bool {
        let Some(((at, _), todo)) = self.queue.pop() else { return false };
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.queue.clear();
            return false;
        }
        self.advance_to(at);
        match todo {
            Todo::Event { job, event, writes } => {
                for (uri, text) in writes {
                    // In memory, writing a file can only fail where there is a folder.
                    let _ = self.files.write(&FileUri::parse(&uri), text.as_bytes());
                }
                self.apply(job, *event);
            }
            Todo::ChildEnded { job, node, serial, status } => {
                let answer = Answer::Finished(Finished::new(status));
                self.apply(job, Event::Answered { node, serial, phase: Phase::Check, answer });
            }
        }
        true
    }

    /// Runs until nothing is due any more, or only after `until`.
    pub fn run_until(&mut self, until: i64) {
        while self.next().is_some_and(|at| at <= until) && self.step() {}
    }

    /// Returns the row of a node by the node's name.
    pub fn row(&self, job: usize, name: &str) -> Option<&Row> {
        let of = self.jobs.get(job)?;
        of.run.rows.get(&of.plan.find(name)?)
    }

    fn push(&mut self, at: i64, todo: Todo) {
        self.number += 1;
        self.queue.push((at.max(self.now), self.number), self.now, todo);
    }

    fn apply(&mut self, job: usize, event: Event) {
        let mut next = Some((job, event));
        // Suspending a job also suspends its parents.
        while let Some((job, event)) = next.take() {
            let schemes = self.schemes();
            let around = Around {
                executors: &self.executors,
                files: FilesOf { files: &*self.files, schemes: &schemes },
                server: &self.server,
                functions: &self.functions,
                now: self.now,
            };
            let of = &mut self.jobs[job];
            let effects = apply(&of.plan, &mut of.run, &event, &around);
            of.run.forget_changes();
            for effect in effects {
                match effect {
                    Effect::Call { node, serial, phase } => self.call(job, node, serial, phase),
                    Effect::Timer { node, serial, at } => {
                        let event = Box::new(Event::Due { node, serial });
                        self.push(at, Todo::Event { job, event, writes: Vec::new() });
                    }
                    Effect::Changed(change) => {
                        self.moments.push(Moment { at: self.now, job, change });
                    }
                    Effect::Notify(url) => self.notifications.push((self.now, url)),
                    Effect::SuspendParent => {
                        if let Some((parent, ..)) = self.jobs[job].parent {
                            next = Some((parent, Event::Command(Command::Suspend)));
                        }
                    }
                    Effect::Ended => {
                        if let Some((parent, node, serial)) = self.jobs[job].parent {
                            let status = self.jobs[job].run.job.status.name().to_owned();
                            self.push(
                                self.now,
                                Todo::ChildEnded { job: parent, node, serial, status },
                            );
                        }
                    }
                }
            }
        }
    }

    fn answer(&mut self, job: usize, node: NodeIndex, serial: u32, reply: Reply) {
        let Reply { after_ms, phase, answer, writes } = reply;
        let event = Box::new(Event::Answered { node, serial, phase, answer });
        let at = self.now.saturating_add(i64::try_from(after_ms).unwrap_or(i64::MAX));
        self.push(at, Todo::Event { job, event, writes });
    }

    fn call(&mut self, job: usize, node: NodeIndex, serial: u32, phase: Phase) {
        let of = &self.jobs[job];
        let call = Call { run: &of.run, plan: &of.plan, node, phase, files: &self.files };
        let replies = match call.kind() {
            _ if self.executors.replaces(&call) => self.executors.call(&call),
            "fs" if phase == Phase::Start => vec![Reply::now(phase, self.file_system(&call))],
            "email" if phase == Phase::Start => vec![Reply::now(phase, self.email(&call))],
            "sub-workflow" => vec![Reply::now(phase, self.child(job, node, serial, phase))],
            _ => self.executors.call(&call),
        };
        for reply in replies {
            self.answer(job, node, serial, reply);
        }
    }

    fn file_system(&self, call: &Call<'_>) -> Answer {
        let document = match roxmltree::Document::parse(call.text()) {
            Ok(document) => document,
            Err(error) => {
                let (code, message) = exception("JDOMParseException", error);
                return Answer::Error(Class::Error, code, message);
            }
        };
        let element = document.root_element();
        let name_node = element.children().find(|child| child.tag_name().name() == "name-node");
        let name_node = name_node.and_then(|child| child.text()).map(str::trim);
        let schemes = self.schemes();
        let recovery = call.run.rows.get(&call.node).is_some_and(|row| row.starts > 1);
        let glob_limit = glob_limit(&self.server);
        let operations = Operations {
            files: &*self.files,
            schemes: &schemes,
            name_node,
            user: &call.run.job.user,
            glob_limit,
            recovery,
        };
        if let Err(fault) = operations.name_node() {
            return Answer::Error(Class::Error, fault.code, fault.message);
        }
        let world = Around {
            executors: &self.executors,
            files: FilesOf { files: &*self.files, schemes: &schemes },
            server: &self.server,
            functions: &self.functions,
            now: self.now,
        };
        let evaluate = |text: &str| {
            let template = Template::compile_with(
                text,
                el::Phase::Workflow,
                call.plan.dialect,
                &call.plan.functions,
            );
            let (plan, run, node) = (call.plan, call.run, Some(call.node));
            let scope = JobScope { plan, run, node, world: &world, phase: el::Phase::Workflow };
            let text = template.text(&scope).map(|text| text.into_owned());
            text.map_err(|failure| failure.to_string())
        };
        if let Err(refusal) = settings_of_fs(&*self.files, call.run, element, &evaluate) {
            return Answer::Error(refusal.class, refusal.code, refusal.message);
        }
        match operations.run(element) {
            Ok(()) => finished("OK"),
            Err(fault) => Answer::Error(Class::Error, fault.code, fault.message),
        }
    }

    fn email(&self, call: &Call<'_>) -> Answer {
        if self.mails.is_none() && email::is_plain(call.text(), &self.server) {
            return finished("OK");
        }
        let document = match roxmltree::Document::parse(call.text()) {
            Ok(document) => document,
            Err(error) => {
                let (code, message) = exception("JDOMParseException", error);
                return Answer::Error(Class::Error, code, message);
            }
        };
        let request = email::Request {
            element: document.root_element(),
            files: &*self.files,
            server: &self.server,
            maildir: std::path::Path::new(""),
            unique: &format!("{}.{}", call.run.job.id, call.node),
            now_ms: self.now,
        };
        match email::compose(&request) {
            Ok(mail) => {
                if let Some(mails) = &self.mails {
                    mails.borrow_mut().push(String::from_utf8_lossy(&mail).into_owned());
                }
                finished("OK")
            }
            Err(fault) => Answer::Error(Class::Error, fault.code, fault.message),
        }
    }

    fn child(&mut self, job: usize, node: NodeIndex, serial: u32, phase: Phase) -> Answer {
        let known = self.jobs[job].run.rows.get(&node).and_then(|row| row.external.id());
        let known = known.and_then(|id| self.jobs.iter().position(|job| id == job.run.job.id));
        match phase {
            Phase::Start => match self.start_child(job, node, serial, known) {
                Ok(id) => Answer::Started(External {
                    id: id.as_str().into(),
                    tracker: "local".into(),
                    console: id.into(),
                }),
                Err((code, message)) => Answer::Error(Class::Error, code, message),
            },
            Phase::Check => {
                // The last action that asks is told of the end.
                if let Some(child) = known {
                    self.jobs[child].parent = Some((job, node, serial));
                }
                let status = known.map(|child| self.jobs[child].run.job.status);
                match status {
                    Some(status) if status.is_end() => finished(status.name()),
                    status => Answer::Running(status.map(|status| status.name().to_owned())),
                }
            }
            Phase::End => Answer::Ended(None),
            Phase::Kill => {
                if let Some(child) = known {
                    self.apply(child, Event::Command(Command::Kill));
                }
                Answer::Stopped
            }
        }
    }

    fn start_child(
        &mut self,
        job: usize,
        node: NodeIndex,
        serial: u32,
        known: Option<usize>,
    ) -> Result<String, (String, String)> {
        let of = &self.jobs[job];
        let text = of.run.rows.get(&node).and_then(|row| row.conf.clone()).unwrap_or_default();
        let document = roxmltree::Document::parse(&text)
            .map_err(|error| exception("JDOMParseException", error))?;
        let most = self.server.get("oozie.action.subworkflow.max.depth");
        let most = most.and_then(|most| most.trim().parse().ok()).unwrap_or(DEEPEST);
        let name = &of.plan.node(node).name;
        let element = document.root_element();
        let child = machine::child(&of.run, name, element, most)?;
        let global = of.plan.global.clone().filter(|_| child.propagates);
        let path = FileUri::parse(&child.path);
        let plan = self
            .executors
            .compile(&path, &*self.files, &child.properties, global.as_ref())
            .map_err(|(code, message)| exception(&code, message))?;
        let plan = Arc::new(plan);
        let refused = |refused: Refused| exception("OozieClientException", refused);
        let rerun = of.run.property("oozie.wf.rerun.failnodes").is_some_and(|set| set == "true");
        let at = match known.filter(|_| rerun) {
            Some(at) => {
                self.rerun_by(RerunBy::Parent, at, plan, &child.properties).map_err(refused)?;
                at
            }
            None => {
                let id = format!("{:07}-000000000000000-ankus-W", self.jobs.len());
                let submission =
                    Submission { id, properties: child.properties, defaults: Vec::new() };
                self.submit(plan, submission).map_err(refused)?
            }
        };
        self.jobs[at].parent = Some((job, node, serial));
        let start = Box::new(Event::Command(Command::Start));
        self.push(self.now, Todo::Event { job: at, event: start, writes: Vec::new() });
        Ok(self.jobs[at].run.job.id.clone())
    }
}

/// Returns the answer of an action that finishes at once.
pub fn finished(status: &str) -> Answer {
    Answer::Finished(Finished { external: Some(External::none()), ..Finished::new(status) })
}
