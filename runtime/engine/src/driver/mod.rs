//! Runs workflow jobs: the machine's events and effects as procedures of the durable executor.
//!
//! Input: plans and properties ([`Driver::submit`]), and commands of operators ([`Driver::command`]). Output: jobs in
//! the store ([`view`]), with each step written before any of it is carried out. A job is a procedure that sleeps until
//! an event arrives; whatever takes time (a program, a timer, a child job) is a procedure of its own that reports its
//! end. If the process is killed, the next one that opens the store and [activates](Driver::activate) a job resumes
//! what it was doing.

pub mod audit;
pub mod bundle;
mod call;
mod commands;
pub mod coordinator;
pub mod definitions;
pub mod filter;
mod job;
mod keep;
pub mod list;
pub mod needs;
mod notice;
mod notify;
pub mod object;
mod open;
pub mod places;
pub mod purge;
mod refusals;
mod remote;
pub mod spans;
mod steady;
pub mod view;
mod watch;
mod world;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::host::files::{FileUri, Files};
use crate::host::process::Launchers;
use ankus_lang::machine::{Command, Refused};
use ankus_lang::plan::{Global, Plan};
use ankus_procedure::store::{self, Reader, Store};
use ankus_procedure::{self, Config, Executor, Host, New, ProcedureId, Registry, State, control};

pub use audit::OnBehalf;
pub use job::{AT_ONCE, FROM, HELD, ONLY};
use keep::spaces;
pub use keep::{Calls, JobRecord, Moment, Open};
pub use needs::{Frontends, Needs};
pub use notify::Notified;
pub use open::{
    Opened, Place, forget_plans, open, open_still, open_store, open_store_on, options, reading,
    tend,
};
pub use remote::{
    abandon_there, activate_all_there, activate_there, active_there, bundle_there, command_there,
    coordinator_there, rerun_there, submit_bundle_there, submit_coordinator_there, submit_there,
    waiting_there,
};
pub(crate) use world::FilesOf;

/// How long to wait for an ended job that is still stopping its programs, beyond their grace period.
const STOPPING: Duration = Duration::from_secs(20);
/// How long programs that are forced to end may take, before they are assumed to have ended.
const FORCED: Duration = Duration::from_secs(2);
/// The pause before a failed notification is tried again while the driver is about to shut down; it doubles each time.
const SOON_MS: u64 = 500;
/// Maximum number of old actions that one request asks a coordinator to forget.
const ACTIONS_AT_ONCE: usize = 500;
/// How many bytes a commit may need.
const ROOM: u64 = 1 << 18;

/// The file name of the store in its folder.
pub const STORE: &str = "store.sqlite";

/// Compiles applications that a run refers to, such as sub-workflows, to plans: the frontend as the driver sees it.
pub trait Compiler: Send + Sync {
    /// Returns the plan of the workflow at a path of the file system, submitted with these properties and with the
    /// shared settings that its parent hands down. An error is the code and the message for the action that starts it.
    fn compile(
        &self,
        path: &FileUri,
        files: &dyn Files,
        properties: &BTreeMap<String, String>,
        inherited: Option<&Global>,
    ) -> Result<Plan, (String, String)>;
}

/// The environment of a driver, besides its store.
pub struct Surroundings {
    /// The needs of jobs that are submitted here.
    pub needs: Needs,
    /// Start the programs of actions.
    pub launchers: Box<dyn Launchers>,
    /// How many programs may run at once.
    pub limits: places::Limits,
    /// Make the compilers for submitted jobs.
    pub frontends: Box<dyn Frontends>,
}

/// Errors of [`Driver`].
#[derive(Debug)]
pub enum Error {
    /// The store cannot be used.
    Store(store::Error),
    /// Another error of the executor.
    Executor(ankus_procedure::Error),
    /// The lock or the socket beside the store failed.
    Control(control::ControlError),
    /// The folder of the store cannot be used.
    Folder(PathBuf, std::io::Error),
    /// The store's folder is on a network file system of this type, which several machines share.
    Network(PathBuf, &'static str),
    /// The server would refuse the job.
    Refused(Refused),
    /// No job has this id.
    Unknown(String),
    /// The state of the job does not allow the request.
    State(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Executor(error) => error.fmt(f),
            Error::Control(error) => error.fmt(f),
            // The error names the folder, or the file in it, and says what to do.
            Error::Folder(_, error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                write!(f, "the store is refused: {error}")
            }
            Error::Folder(path, error) => {
                write!(f, "cannot use the folder `{}`: {error}", path.display())
            }
            Error::Network(path, name) => write!(
                f,
                "the store is refused: `{}` is on a network file system ({name}), where locks do not keep another machine from running the \
                 same jobs",
                path.display()
            ),
            Error::Refused(refused) => refused.fmt(f),
            Error::Unknown(id) => write!(f, "there is no job `{id}`"),
            Error::State(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Error {
        Error::Store(error)
    }
}

impl From<ankus_procedure::Error> for Error {
    fn from(error: ankus_procedure::Error) -> Error {
        match error {
            ankus_procedure::Error::Store(error) => Error::Store(error),
            error => Error::Executor(error),
        }
    }
}

impl From<control::ControlError> for Error {
    fn from(error: control::ControlError) -> Error {
        Error::Control(error)
    }
}

/// State that all procedures of a driver share.
pub(crate) struct Shared {
    surroundings: Surroundings,
    /// What jobs run with, by the key under which it is stored.
    equipped: Mutex<HashMap<String, Arc<needs::Equipped>>>,
    /// The folder that contains the folders of jobs.
    folder: PathBuf,
    host: Arc<dyn Host>,
    executor: OnceLock<Executor>,
    reader: OnceLock<Arc<dyn Reader>>,
    /// Top-level jobs that run here; the others sleep until a client activates them.
    active: Mutex<BTreeSet<String>>,
    /// Jobs that have ended or whose ancestor has: their remaining work is done even if nobody activated them.
    ending: Mutex<BTreeSet<String>>,
    /// The ids of jobs that had not ended when the store was opened.
    found: Mutex<Vec<String>>,
    /// Procedures that sleep because their job is not active.
    asleep: Mutex<Vec<Asleep>>,
    plans: Mutex<HashMap<String, Arc<Plan>>>,
    /// Limits how many programs run at once.
    places: Arc<places::Places>,
    /// Held while a coordinator or a bundle is given a command, so that it is not started twice.
    commands: Mutex<()>,
    /// Actions of coordinators that were rerun, with the procedures of their workflows, which may not be in the store
    /// yet.
    begun: Mutex<HashMap<String, Option<ProcedureId>>>,
    notifier: Arc<notify::Notifier>,
    /// Receives the ids of workflows that end.
    endings: OnceLock<SyncSender<String>>,
    /// Wakes coordinators when data arrives.
    watch: watch::Watch,
    /// The next number of a job, and the time at which the store was created.
    counter: AtomicU64,
    stamp: String,
}

/// A procedure that sleeps because its job is not active.
struct Asleep {
    root: String,
    job: String,
    procedure: ProcedureId,
}

impl Shared {
    fn reader(&self) -> &dyn Reader {
        &**self.reader.get().expect("it is set before anything runs")
    }

    fn executor(&self) -> &Executor {
        self.executor.get().expect("it is set before anything runs")
    }

    /// Whether a job below this top-level job may act. If not, `procedure` is woken when it may.
    fn is_active(&self, root: &str, job: &str, procedure: ProcedureId) -> bool {
        let active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        if active.contains(root) {
            return true;
        }
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        if ending.contains(job) {
            return true;
        }
        let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
        if !asleep.iter().any(|known| known.procedure == procedure) {
            asleep.push(Asleep { root: root.to_owned(), job: job.to_owned(), procedure });
        }
        false
    }

    /// Whether a top-level job has ended and has nothing left to do, so that nobody will activate it again.
    fn is_over(&self, root: &str) -> bool {
        let reader = self.reader();
        let workflow = || {
            let record = view::record(reader, root).ok()??;
            Some((record.job.status.is_end(), record.procedure))
        };
        let coordinator = || {
            let record = coordinator::record(reader, root).ok()??;
            Some((record.job.status.is_end(), record.procedure))
        };
        let bundle = || {
            let record = bundle::record(reader, root).ok()??;
            Some((record.job.status.is_end(), record.procedure()))
        };
        let known = workflow().or_else(coordinator).or_else(bundle);
        known.is_some_and(|(has_ended, procedure)| has_ended && !self.lives(procedure))
    }

    /// Like [`Shared::is_active`], for a procedure that only notifies others: it may act after its job is over, too.
    fn may_tell(&self, root: &str, job: &str, procedure: ProcedureId) -> bool {
        self.is_active(root, job, procedure) || self.is_over(root)
    }

    /// Records that a job has ended, and wakes what it began so that it ends too.
    fn is_ending(&self, job: &str) {
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).insert(job.to_owned());
        self.wake_those(|asleep| asleep.job == job);
    }

    /// Wakes the sleeping procedures that match.
    fn wake_those(&self, are_meant: impl Fn(&Asleep) -> bool) {
        let woken: Vec<ProcedureId> = {
            let mut asleep = self.asleep.lock().unwrap_or_else(PoisonError::into_inner);
            let woken = asleep.iter().filter(|it| are_meant(it)).map(|it| it.procedure).collect();
            asleep.retain(|it| !are_meant(it));
            woken
        };
        if let Some(executor) = self.executor.get() {
            for procedure in woken {
                executor.wake(procedure);
            }
        }
    }

    /// Whether this procedure has not ended.
    fn lives(&self, procedure: ProcedureId) -> bool {
        self.executor().state(procedure).is_some_and(|state| !state.is_end())
    }

    /// Marks the jobs found when the store was opened that have ended or whose ancestor has.
    fn find_ending(&self) -> Result<(), Error> {
        let found = std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        for id in found {
            let mut above = Some(id.clone());
            let mut seen = 0;
            while let Some(of) = above.filter(|_| seen < 1_000) {
                seen += 1;
                let looked = match of.rsplit_once('@') {
                    Some((coordinator, number)) => {
                        coordinator::has_ended(self.reader(), coordinator, number)
                            .map(|has_ended| (has_ended, None))
                    }
                    None => view::record(self.reader(), &of).map(|record| match record {
                        Some(record) => (record.job.status.is_end(), record.job.parent_id),
                        None => (false, None),
                    }),
                };
                let (has_ended, parent) = match looked {
                    // It is unknown whether this one has ended; the others are still looked at.
                    Err(Error::Store(store::Error::Damaged(_))) => (false, None),
                    looked => looked?,
                };
                if has_ended {
                    self.is_ending(&id);
                    break;
                }
                above = parent;
            }
        }
        Ok(())
    }

    fn next_id(&self) -> String {
        loop {
            let number = self.counter.fetch_add(1, Ordering::Relaxed);
            let id = format!("{number:07}-{}-ankus-W", self.stamp);
            // If two steps take numbers at once, the one with the smaller number may be written last, and after a crash
            // the larger would be given out again.
            let is_taken = self.reader().get(spaces::JOB, id.as_bytes());
            if !matches!(is_taken, Ok(Some(_))) {
                return id;
            }
        }
    }

    fn plan(&self, key: &str) -> Result<Arc<Plan>, Error> {
        if let Some(plan) = self.plans.lock().unwrap_or_else(PoisonError::into_inner).get(key) {
            return Ok(plan.clone());
        }
        let bytes = self.reader().get(spaces::PLAN, key.as_bytes())?;
        let damaged = |what: &str| Error::Store(store::Error::Damaged(what.to_owned()));
        let bytes = bytes.ok_or_else(|| damaged("a plan that is not there"))?;
        let plan = Plan::from_bytes(&bytes).map_err(|error| damaged(&error.to_string()))?;
        let plan = Arc::new(plan);
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(plans.entry(key.to_owned()).or_insert(plan).clone())
    }

    fn world<'a>(&self, equipped: &'a needs::Equipped) -> world::Surrounded<'a> {
        world::Surrounded::new(self, equipped)
    }

    /// Returns the world of a job whose actions may be waiting for a place.
    fn world_of<'a>(&self, equipped: &'a needs::Equipped, job: &str) -> world::Surrounded<'a> {
        let mut world = world::Surrounded::new(self, equipped);
        world.waiting = self.places.nodes_of(job);
        world
    }
}

/// A workflow to submit.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Submit {
    /// The plan in its serialized form.
    pub plan: Vec<u8>,
    /// The properties of the job.
    pub properties: BTreeMap<String, String>,
    /// The id of the job, instead of the next free one.
    pub id: Option<String>,
    /// Folders of this machine that are mounted at URIs.
    pub mounts: Vec<(String, PathBuf)>,
}

/// A job that is prepared but not yet in the store.
struct Submitted {
    record: JobRecord,
    run: ankus_lang::machine::Run,
    plan: Arc<Plan>,
    bytes: Vec<u8>,
    /// The plan's bytes, if the store does not have them.
    new_plan: Option<Vec<u8>>,
    /// Whether the submitter chose its id.
    given: bool,
    needs: needs::Kept,
    conf: Arc<BTreeMap<String, String>>,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The position of jobs: the top-level job or coordinator action, and the nodes from there down to the job. Two jobs
/// have the same position if one was run in place of the other.
struct Standing<'a>(HashMap<&'a str, &'a JobRecord>);

impl<'a> Standing<'a> {
    fn new(records: &'a [JobRecord]) -> Standing<'a> {
        Standing(records.iter().map(|record| (record.job.id.as_str(), record)).collect())
    }

    fn of(&self, id: &'a str) -> Vec<&'a str> {
        let mut place = Vec::new();
        let mut of = id;
        while let Some(record) = self.0.get(of).filter(|_| place.len() <= self.0.len()) {
            let Some(parent) = record.job.parent_id.as_deref() else { break };
            // Its parent knows it by the id `job@node@run`.
            let node = record.job.external_id.as_deref().and_then(|id| id.strip_prefix(parent));
            let node = node.and_then(|rest| Some(rest.strip_prefix('@')?.rsplit_once('@')?.0));
            place.extend(node);
            of = parent;
        }
        place.push(of);
        place.reverse();
        place
    }
}

/// Runs the jobs of one store.
pub struct Driver {
    shared: Arc<Shared>,
    executor: Executor,
    _server: Option<control::Server>,
    runtime: Option<tokio::runtime::Runtime>,
    /// Procedures that were given a place, if no thread receives them.
    still: Option<Mutex<tokio::sync::mpsc::UnboundedReceiver<ProcedureId>>>,
}

impl Driver {
    fn new(
        store: Box<dyn Store>,
        guard: Option<control::Guard>,
        folder: PathBuf,
        surroundings: Surroundings,
        host: Arc<dyn Host>,
        moves: bool,
    ) -> Result<Driver, Error> {
        let reader = store.reader();
        let meta = |name: &[u8]| match reader.get(spaces::META, name) {
            Err(store::Error::Damaged(_)) => Ok((None, true)),
            found => found.map(|found| (found, false)),
        };
        let (number, is_lost) = meta(b"counter")?;
        let number = number.and_then(|bytes| Some(u64::from_le_bytes((*bytes).try_into().ok()?)));
        let stamp = match meta(b"stamp")? {
            // With another stamp every number is new, no matter how far the counter got.
            (Some(stamp), _) if !is_lost => String::from_utf8_lossy(&stamp).into_owned(),
            _ => keep::stamp(host.wall_ms()),
        };
        // Programs are started in other directories, so this path must be absolute.
        let jobs = std::path::absolute(folder.join("jobs")).unwrap_or_else(|_| folder.join("jobs"));
        let (wakes, mut woken) = tokio::sync::mpsc::unbounded_channel();
        let places = surroundings.limits.clone();
        let places = places::Places::new(places, folder.clone(), host.clone(), wakes);
        let shared = Arc::new(Shared {
            surroundings,
            equipped: Mutex::default(),
            folder: jobs,
            host: host.clone(),
            executor: OnceLock::new(),
            reader: OnceLock::new(),
            active: Mutex::default(),
            ending: Mutex::default(),
            found: Mutex::default(),
            asleep: Mutex::default(),
            plans: Mutex::default(),
            places: Arc::new(places),
            commands: Mutex::default(),
            begun: Mutex::default(),
            notifier: Arc::default(),
            endings: OnceLock::new(),
            watch: watch::Watch::default(),
            counter: AtomicU64::new(number.unwrap_or(0)),
            stamp,
        });
        let _ = shared.reader.set(reader);
        let mut registry = Registry::new();
        let of = shared.clone();
        registry.register(job::KIND, move |bytes| job::Job::read(&of, bytes));
        let of = shared.clone();
        registry
            .register(coordinator::KIND, move |bytes| coordinator::Coordinator::read(&of, bytes));
        let of = shared.clone();
        registry.register(bundle::KIND, move |bytes| bundle::Bundle::read(&of, bytes));
        let of = shared.clone();
        registry.register(notice::KIND, move |bytes| notice::Notice::read(&of, bytes));
        let of = shared.clone();
        registry.register(call::KIND, move |bytes| call::Call::read(&of, bytes));
        let of = shared.clone();
        registry.register(call::TIMER, move |bytes| call::Timer::read(&of, bytes));
        let of = shared.clone();
        registry.register(notify::KIND, move |bytes| notify::Notification::read(&of, bytes));
        let of = shared.clone();
        registry.register(purge::KIND, move |bytes| purge::Purge::read(&of, bytes));
        let (executor, _) = Executor::open(store, registry, host, Config::default())?;
        let _ = shared.executor.set(executor.clone());
        shared.watch.set_executor(executor.clone());
        shared.find_ending()?;
        let runtime = || {
            // Running out of threads later would hang or break the driver; here it is reported.
            has_threads(workers() + 4).map_err(|error| {
                Error::State(format!("there is no room for the threads that run a store: {error}"))
            })?;
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            let built = builder.worker_threads(1).enable_all().build();
            built.map_err(|error| Error::Folder(folder.clone(), error))
        };
        let runtime = moves.then(runtime).transpose()?;
        // A program may have ended while no process was waiting for it.
        for call in executor.list().into_iter().filter(|listing| listing.kind == call::KIND) {
            executor.wake(call.id);
        }
        // A place may be released anywhere in a call, even inside the executor, so waiters are woken from outside.
        let waking = executor.clone();
        let mut still = None;
        match &runtime {
            Some(runtime) => {
                executor.start(runtime.handle(), workers());
                runtime.spawn(async move {
                    while let Some(procedure) = woken.recv().await {
                        waking.wake(procedure);
                    }
                });
            }
            None => still = Some(Mutex::new(woken)),
        }
        let server = match guard {
            None => None,
            Some(guard) => {
                let of = shared.clone();
                let answer = move |name: &str, data: &[u8]| of.answer(name, data);
                Some(guard.serve(executor.clone(), answer)?)
            }
        };
        Ok(Driver { shared, executor, _server: server, runtime, still })
    }

    /// Submits a job and starts it. It is durable when this returns.
    pub fn submit(&self, new: Submit) -> Result<String, Error> {
        self.shared.ask_submit(new, &self.shared.surroundings.needs, None)
    }

    /// Like [`Driver::submit`], for a request that a client repeats when it got no answer: it is carried out only once.
    pub fn submit_as(&self, new: Submit, request: u64) -> Result<String, Error> {
        self.shared.ask_submit(new, &self.shared.surroundings.needs, Some(request))
    }

    /// See [`Driver::submit_coordinator`] and [`Driver::submit_as`].
    pub fn submit_coordinator_as(
        &self,
        new: coordinator::SubmitCoordinator,
        request: u64,
    ) -> Result<String, Error> {
        self.shared.ask_submit_coordinator(new, &self.shared.surroundings.needs, Some(request))
    }

    /// See [`Driver::submit_bundle`] and [`Driver::submit_as`].
    pub fn submit_bundle_as(
        &self,
        new: bundle::SubmitBundle,
        request: u64,
    ) -> Result<String, Error> {
        self.shared.ask_submit_bundle(new, &self.shared.surroundings.needs, Some(request))
    }

    /// Submits many jobs, all or none, and starts them. They become durable in one commit, which takes no longer than
    /// for a single job.
    pub fn submit_all(&self, all: Vec<Submit>) -> Result<Vec<String>, Error> {
        self.shared.ask_submit_all(all)
    }

    /// Removes ended jobs from the store, each with everything below it, and returns the ids of the removed jobs. A job
    /// is only removed if its top-level job is among `ids`.
    pub fn purge(&self, ids: &[String]) -> Result<Vec<String>, Error> {
        let chosen = purge::chosen(&*self.reader(), ids)?;
        let gone = chosen.ids();
        let body = purge::Purge::new(self.shared.clone(), chosen);
        let procedure = self.executor.submit(New::of(purge::KIND, body))?;
        match self.executor.wait(procedure, None).and_then(|finished| finished.failure) {
            Some(failure) => Err(Error::State(failure.to_string())),
            None => Ok(gone),
        }
    }

    /// Asks running coordinators to forget actions whose workflows ended before `before`, in milliseconds since 1970,
    /// and to remove those workflows: at most `most`, oldest first. Returns how many actions live coordinators were
    /// asked to forget; they are removed soon afterward.
    pub fn purge_actions(&self, before: i64, most: usize) -> Result<usize, Error> {
        let mut asked = 0;
        for (id, actions) in purge::old_actions(&*self.reader(), before, most)? {
            for some in actions.chunks(ACTIONS_AT_ONCE) {
                let lives = self.shared.forget_actions(&id, some.to_vec())?;
                asked += if lives { some.len() } else { 0 };
            }
        }
        Ok(asked)
    }

    /// Returns a channel of the ids of workflows that end from now on, and of coordinator actions that end without a
    /// workflow, each sent shortly before the end shows in the store. Returns none if it was called before. At most
    /// `most` ids are buffered; a receiver that falls behind loses some.
    pub fn endings(&self, most: usize) -> Option<Receiver<String>> {
        let (tell, told) = sync_channel(most);
        self.shared.endings.set(tell).ok().map(|()| told)
    }

    /// Waits, at most for `at_most`, until every due notification has been tried. Failed ones are retried meanwhile,
    /// sooner than usual, since no process may be there later.
    pub fn settle(&self, at_most: Duration) {
        let began = self.shared.host.elapsed_ms();
        let at_most_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        self.shared.notifier.settle(at_most);
        let mut pause = SOON_MS;
        loop {
            let mut due = self.executor.list();
            // A notification of a job that is not active here sleeps indefinitely.
            due.retain(|it| it.kind == notify::KIND && it.state == State::WaitingTimeout);
            let spent = self.shared.host.elapsed_ms().saturating_sub(began);
            if due.is_empty() || spent.saturating_add(pause) > at_most_ms {
                return;
            }
            std::thread::sleep(Duration::from_millis(pause));
            for notification in due {
                self.executor.wake(notification.id);
            }
            pause = pause.saturating_mul(2);
        }
    }

    /// Submits a coordinator and starts it. It is durable when this returns.
    pub fn submit_coordinator(&self, new: coordinator::SubmitCoordinator) -> Result<String, Error> {
        self.shared.ask_submit_coordinator(new, &self.shared.surroundings.needs, None)
    }

    /// Submits a bundle and starts it. It is durable when this returns.
    pub fn submit_bundle(&self, new: bundle::SubmitBundle) -> Result<String, Error> {
        self.shared.ask_submit_bundle(new, &self.shared.surroundings.needs, None)
    }

    /// Returns the driver for requests of a user other than the owner of this process.
    pub fn on_behalf<'a>(&'a self, by: &'a str) -> OnBehalf<'a> {
        OnBehalf { shared: &self.shared, by }
    }

    /// Sends a client's request to a coordinator. Fails if the coordinator would refuse it.
    pub fn coordinator_message(
        &self,
        id: &str,
        message: &coordinator::Message,
    ) -> Result<(), Error> {
        self.on_behalf(self.asker()).coordinator(id, message)
    }

    /// Sends a client's command to a bundle. Fails if the bundle would refuse it.
    pub fn bundle_event(
        &self,
        id: &str,
        event: &ankus_lang::machine::coordinator::bundle::Event,
    ) -> Result<(), Error> {
        self.on_behalf(self.asker()).bundle(id, event)
    }

    /// Returns why the store accepts no commits at the moment, if it does not.
    pub fn refused(&self) -> Option<store::Error> {
        let (error, is_asked_again) = self.executor.refused_by()?;
        // If no commit is waiting to be retried, a full disk is no longer a problem once there is room for one.
        let has_room = || self.shared.places.free().is_none_or(|free| free > ROOM);
        (is_asked_again || error != store::Error::Full || !has_room()).then_some(error)
    }

    /// Waits for a bundle to end, at most for `at_most`, and reports whether it has.
    pub fn wait_for_bundle(&self, id: &str, at_most: Duration) -> Result<bool, Error> {
        let procedure = self.shared.activate_bundle(id)?;
        self.wait_for(procedure, at_most)
    }

    /// Waits for a coordinator to end, at most for `at_most`, and reports whether it has.
    pub fn wait_for_coordinator(&self, id: &str, at_most: Duration) -> Result<bool, Error> {
        let procedure = self.shared.activate_coordinator(id)?;
        self.wait_for(procedure, at_most)
    }

    fn wait_for(&self, procedure: ProcedureId, at_most: Duration) -> Result<bool, Error> {
        let finished = self.executor.wait(procedure, Some(at_most)).is_some();
        if let (false, Some(error)) = (finished, self.executor.stopped_by()) {
            return Err(error.into());
        }
        Ok(finished || self.executor.state(procedure).is_none())
    }

    /// The user who owns this process.
    fn asker(&self) -> &str {
        &self.shared.surroundings.needs.user
    }

    /// Activates every job, and resumes the suspended ones if `resumes`. Returns how many jobs, coordinators and
    /// bundles have not ended.
    pub fn activate_all(&self, resumes: bool) -> Result<usize, Error> {
        self.shared.activate_all(resumes, self.asker())
    }

    /// Returns the top-level jobs that are active here.
    pub fn active(&self) -> BTreeSet<String> {
        self.shared.active.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the actions of a job that are ready to start but have to wait.
    pub fn waiting(&self, id: &str) -> Vec<places::Waiting> {
        self.shared.places.waiting(|job| job == id)
    }

    /// Activates a job and everything below it.
    pub fn activate(&self, id: &str) -> Result<(), Error> {
        self.shared.activate(id)
    }

    /// Sends a command to a job. A job that has ended accepts none.
    pub fn command(&self, id: &str, command: Command) -> Result<(), Error> {
        self.on_behalf(self.asker()).command(id, command)
    }

    /// Runs an ended job again.
    pub fn rerun(
        &self,
        id: &str,
        plan: Option<Vec<u8>>,
        properties: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        self.on_behalf(self.asker()).rerun(id, plan, properties)
    }

    /// Stops waiting for programs of an ended job, even if they may still run somewhere.
    pub fn abandon(&self, id: &str) -> Result<(), Error> {
        self.shared.ask_abandon(id, self.asker())
    }

    /// Returns a reader of the stored jobs.
    pub fn reader(&self) -> Arc<dyn Reader> {
        self.executor.reader()
    }

    /// Waits for a job to end, at most for `at_most`, and reports whether it has.
    pub fn wait(&self, id: &str, at_most: Duration) -> Result<bool, Error> {
        self.wait_for_record(&self.shared.record(id)?, at_most)
    }

    /// Like [`Driver::wait`], for callers that have the job's record, which is slow to read for a job with many
    /// actions.
    pub fn wait_for_record(&self, record: &JobRecord, at_most: Duration) -> Result<bool, Error> {
        self.wait_for(record.procedure, at_most)
    }

    /// Wakes procedures that were given a place, if no thread does: see [`open_still`].
    pub fn give_places(&self) {
        let Some(woken) = &self.still else { return };
        let mut woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(procedure) = woken.try_recv() {
            self.executor.wake(procedure);
        }
    }

    /// The executor, for its metrics.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.surroundings.launchers.leave();
        self.executor.stop();
        if let Some(runtime) = self.runtime.take() {
            // A step that is stuck in the outside world is repeated by the next process.
            runtime.shutdown_timeout(Duration::from_millis(200));
        }
        self.executor.settle();
    }
}

/// Checks that the system can run this many threads at once.
fn has_threads(count: usize) -> std::io::Result<()> {
    let all_there = Arc::new(Mutex::new(()));
    let held = all_there.lock().unwrap_or_else(PoisonError::into_inner);
    let mut threads = Vec::new();
    let mut tried = Ok(());
    for _ in 0..count {
        let all_there = all_there.clone();
        match std::thread::Builder::new().spawn(move || drop(all_there.lock())) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                tried = Err(error);
                break;
            }
        }
    }
    drop(held);
    for thread in threads {
        let _ = thread.join();
    }
    tried
}

fn workers() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8)
}

/// Stores the answer to a submission, in case the request is repeated.
fn answer(rows: &mut ankus_procedure::Rows, asked: Option<u64>, id: &str) {
    if let Some(asked) = asked {
        rows.put_new(spaces::ASKED, asked.to_be_bytes(), id.as_bytes());
    }
}
