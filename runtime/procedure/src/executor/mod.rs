//! The executor: its public calls, and the threads that do the work.
//!
//! Without [`Executor::start`] nothing happens by itself: [`Executor::turn`], [`Executor::commit`] and
//! [`Executor::tick`] advance it, one thing at a time, which is how tests and the simulator drive it. Submissions and
//! messages then commit at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::core::{Call, Core, Ended, Outcome};
use super::load;
use super::{Failure, Host, Metrics, New, Nonce, ProcedureId, Registry, State};
use crate::store::{self, Reader, Store};

mod rows;
mod threads;

pub use rows::Rows;

use threads::{finished, now};

/// The configuration of an executor.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whether to refuse to start if any record had to be set aside.
    pub refuse_damage: bool,
    /// Whether to refuse roots without an owner.
    pub owner_required: bool,
    /// How long a result is kept after its last acknowledgment.
    pub acknowledged_ms: u64,
    /// How long a result is kept after its procedure ended, acknowledged or not.
    pub unacknowledged_ms: u64,
    /// How often old results are removed.
    pub clean_every_ms: u64,
    /// No more steps are started while this many writes are waiting for the store.
    pub most_pending: usize,
    /// How long a worker may be in one call before it counts as stuck. If all workers are stuck and something is
    /// waiting, another is added.
    pub stuck_after_ms: u64,
    /// How often to check for stuck workers.
    pub look_every_ms: u64,
    /// How long an added worker may be idle before it ends.
    pub keep_alive_ms: u64,
    /// Maximum number of workers for each one requested.
    pub most_workers_factor: usize,
    /// The pause before a refused commit is retried; it doubles each time, up to a hundred times as long.
    pub retry_ms: u64,
    /// How long the store may refuse commits before the executor stops; [`Executor::stopped_by`] has the reason.
    pub give_up_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            refuse_damage: false,
            owner_required: false,
            acknowledged_ms: 300_000,
            unacknowledged_ms: 900_000,
            clean_every_ms: 30_000,
            most_pending: 100_000,
            stuck_after_ms: 10_000,
            look_every_ms: 5_000,
            keep_alive_ms: 60_000,
            most_workers_factor: 10,
            retry_ms: 20,
            give_up_ms: 5_000,
        }
    }
}

/// Errors of the executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The store refused. Nothing of the request remains; except that an accepted abort or a bypass becomes durable
    /// later.
    Store(store::Error),
    /// Records were set aside and [`Config::refuse_damage`] is set.
    Damage(Vec<Unfit>),
    /// This kind of procedure is not registered.
    UnknownKind(String),
    /// The bytes are not a valid state of a procedure of this kind.
    Unwilling(String),
    /// A nonce was not registered before it was used.
    NotRegistered,
    /// A root has no owner and [`Config::owner_required`] is set.
    NoOwner,
    /// The executor has stopped.
    Stopped,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Damage(unfit) => {
                write!(f, "found {} procedures that cannot be continued", unfit.len())
            }
            Error::UnknownKind(kind) => write!(f, "no kind of procedure is named `{kind}`"),
            Error::Unwilling(why) => f.write_str(why),
            Error::NotRegistered => f.write_str("the nonce was not registered"),
            Error::NoOwner => f.write_str("the procedure has no owner"),
            Error::Stopped => f.write_str("the executor has stopped"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Error::Store(error)
    }
}

/// A record that was set aside when the store was read: it is not run, and not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Its id.
    pub id: ProcedureId,
    /// The reason.
    pub reason: String,
}

/// The result of reading the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Roots that are runnable, in the order in which they will run.
    pub running: Vec<ProcedureId>,
    /// The records that were set aside.
    pub quarantine: Vec<Unfit>,
}

/// The end of a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// [`State::Success`] or [`State::RolledBack`].
    pub state: State,
    /// Whether an operator ended it without running it.
    pub bypass: bool,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The result.
    pub result: Option<Vec<u8>>,
}

/// A procedure in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Its id.
    pub id: ProcedureId,
    /// Its kind; empty if it has ended.
    pub kind: String,
    /// The parent of a child.
    pub parent: Option<ProcedureId>,
    /// Its owner.
    pub owner: Option<String>,
    /// Its state.
    pub state: State,
    /// When it was submitted, by the wall clock.
    pub submitted_ms: i64,
    /// When it last changed.
    pub updated_ms: i64,
}

/// The result of a submission with a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// The request was new.
    New(ProcedureId),
    /// The same request was made before.
    Known(ProcedureId),
}

impl Submitted {
    /// Returns the procedure of the request in either case.
    pub fn id(self) -> ProcedureId {
        match self {
            Submitted::New(id) | Submitted::Known(id) => id,
        }
    }
}

/// How long a worker makes calls in a row, so that a commit does not wait for many slow ones.
const LONG_TURN_MS: u64 = 2;

/// Runs procedures durably over a store. A clone is another handle; when the last one is dropped, the threads stop.
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
    _stop: Arc<StopOnDrop>,
}

struct Shared {
    core: Mutex<Core>,
    store: Mutex<Box<dyn Store>>,
    reader: Arc<dyn Reader>,
    registry: Registry,
    host: Arc<dyn Host>,
    config: Config,
    next_id: Arc<AtomicU64>,
    instant: bool,
    started: AtomicBool,
    stopping: AtomicBool,
    /// Whether to wait indefinitely for a store without room.
    waits_for_room: AtomicBool,
    threads: AtomicUsize,
    /// Signaled when something may be runnable.
    work: Signal,
    /// Signaled when something is waiting for a commit.
    dirty: Signal,
    /// Signaled when something was committed, given back, or is no longer busy.
    moved: Signal,
    /// Signaled when a timer was armed, or the threads are to end.
    timer: Signal,
    ended: Notify,
    workers: Mutex<Vec<Arc<AtomicU64>>>,
}

/// A condition to wait for under the lock of the core. Signaling it costs a system call only if a thread is waiting:
/// waiters are counted under that lock, and the signaling thread has held it since the condition became true.
#[derive(Default)]
struct Signal {
    condvar: Condvar,
    waiting: AtomicUsize,
}

impl Signal {
    fn notify_one(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.condvar.notify_one();
        }
    }

    fn notify_all(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.condvar.notify_all();
        }
    }
}

struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").field("registry", &self.shared.registry).finish_non_exhaustive()
    }
}

impl Executor {
    /// Loads the contents of the store. Nothing runs yet.
    pub fn open(
        mut store: Box<dyn Store>,
        registry: Registry,
        host: Arc<dyn Host>,
        config: Config,
    ) -> Result<(Self, Recovery), Error> {
        let loaded = store.load()?;
        let reader = store.reader();
        let mut core = Core::new(now(&*host));
        let (quarantine, running) = load::load(&mut core, loaded, &*reader, &registry)?;
        if config.refuse_damage && !quarantine.is_empty() {
            return Err(Error::Damage(quarantine));
        }
        let shared = Arc::new(Shared {
            next_id: core.next_id.clone(),
            core: Mutex::new(core),
            instant: store.instant(),
            store: Mutex::new(store),
            reader,
            registry,
            host,
            config,
            started: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            waits_for_room: AtomicBool::new(false),
            threads: AtomicUsize::new(0),
            work: Signal::default(),
            dirty: Signal::default(),
            moved: Signal::default(),
            timer: Signal::default(),
            ended: Notify::new(),
            workers: Mutex::new(Vec::new()),
        });
        let executor = Executor { _stop: Arc::new(StopOnDrop(shared.clone())), shared };
        Ok((executor, Recovery { running, quarantine }))
    }

    // --- Requests ------------------------------------------------------------------------------------------------------

    /// Submits a root. It is durable when this returns.
    pub fn submit(&self, new: New) -> Result<ProcedureId, Error> {
        self.submit_with(new, |_, _| {})
    }

    /// Submits a root together with rows; the function gets the id.
    pub fn submit_with(
        &self,
        mut new: New,
        rows: impl FnOnce(ProcedureId, &mut Rows),
    ) -> Result<ProcedureId, Error> {
        self.fit(&mut new)?;
        let mut core = self.shared.lock();
        let id = core.fresh_id();
        let mut with = Rows::default();
        rows(id, &mut with);
        let undo = with.undo(&*self.shared.reader)?;
        let number = core.submit(vec![(id, new, None)], with.writes, undo);
        drop(core);
        self.shared.durable(number)?;
        Ok(id)
    }

    /// Submits many roots, all or none.
    pub fn submit_all(&self, new: Vec<New>) -> Result<Vec<ProcedureId>, Error> {
        self.submit_all_with(new, |_, _| {})
    }

    /// Like [`Executor::submit_all`], together with rows.
    pub fn submit_all_with(
        &self,
        mut new: Vec<New>,
        rows: impl FnOnce(&[ProcedureId], &mut Rows),
    ) -> Result<Vec<ProcedureId>, Error> {
        for new in &mut new {
            self.fit(new)?;
        }
        let mut core = self.shared.lock();
        let new: Vec<_> = new.into_iter().map(|new| (core.fresh_id(), new, None)).collect();
        let ids: Vec<ProcedureId> = new.iter().map(|(id, _, _)| *id).collect();
        let mut with = Rows::default();
        rows(&ids, &mut with);
        let undo = with.undo(&*self.shared.reader)?;
        let number = core.submit(new, with.writes, undo);
        drop(core);
        self.shared.durable(number)?;
        Ok(ids)
    }

    /// Submits a root unless a request with this nonce was made before, also before a restart.
    pub fn submit_once(&self, new: New, nonce: Nonce) -> Result<Submitted, Error> {
        self.submit_once_with(new, nonce, |_, _| {})
    }

    /// Like [`Executor::submit_once`], together with rows.
    pub fn submit_once_with(
        &self,
        mut new: New,
        nonce: Nonce,
        rows: impl FnOnce(ProcedureId, &mut Rows),
    ) -> Result<Submitted, Error> {
        self.fit(&mut new)?;
        match self.register(nonce) {
            Some(id) => Ok(Submitted::Known(id)),
            None => self.submit_registered(new, nonce, rows).map(Submitted::New),
        }
    }

    /// Reserves an id for a request, or returns the one that it already has. A caller that gets none has to submit,
    /// fail or unregister the request; other callers with the same nonce wait for that.
    pub fn register(&self, nonce: Nonce) -> Option<ProcedureId> {
        if nonce.number == 0 {
            return None;
        }
        let mut core = self.shared.lock();
        loop {
            match core.nonces.get(&nonce).copied() {
                None => {
                    let id = core.fresh_id();
                    core.nonces.insert(nonce, (id, false));
                    return None;
                }
                Some((id, true)) => return Some(id),
                Some((id, false)) if !self.shared.runs_by_itself() => return Some(id),
                Some((_, false)) => core = self.shared.wait(&self.shared.moved, core, None),
            }
        }
    }

    /// Submits a root under a registered nonce, together with rows.
    pub fn submit_registered(
        &self,
        mut new: New,
        nonce: Nonce,
        rows: impl FnOnce(ProcedureId, &mut Rows),
    ) -> Result<ProcedureId, Error> {
        if nonce.number == 0 {
            return self.submit_with(new, rows);
        }
        self.fit(&mut new)?;
        let mut core = self.shared.lock();
        let Some((id, false)) = core.nonces.get(&nonce).copied() else {
            return Err(Error::NotRegistered);
        };
        let mut with = Rows::default();
        rows(id, &mut with);
        let undo = match with.undo(&*self.shared.reader) {
            Ok(undo) => undo,
            Err(error) => {
                drop(core);
                self.unregister(nonce);
                return Err(error.into());
            }
        };
        let number = core.submit(vec![(id, new, Some(nonce))], with.writes, undo);
        drop(core);
        let durable = self.shared.durable(number);
        if durable.is_err() {
            self.unregister(nonce);
        }
        durable.map(|()| id)
    }

    /// Releases a registered nonce under which nothing was submitted.
    pub fn unregister(&self, nonce: Nonce) {
        let mut core = self.shared.lock();
        if core.nonces.get(&nonce).is_some_and(|(_, submitted)| !submitted) {
            core.nonces.remove(&nonce);
        }
        self.shared.moved.notify_all();
    }

    /// Records a failure as the result of a request, which callers that repeat it get. Lasts as long as the process.
    pub fn fail_registered(&self, nonce: Nonce, failure: Failure) -> Result<ProcedureId, Error> {
        let mut core = self.shared.lock();
        let Some((id, false)) = core.nonces.get(&nonce).copied() else {
            return Err(Error::NotRegistered);
        };
        core.nonces.insert(nonce, (id, true));
        let now = core.now;
        core.ended.insert(
            id,
            Ended {
                state: State::RolledBack,
                bypass: false,
                failure: Some(Box::new(failure)),
                result: None,
                nonce: Some(Box::new(nonce)),
                submitted_ms: now.wall_ms,
                updated_ms: now.wall_ms,
                ended_ms: i64::try_from(now.elapsed_ms).unwrap_or(i64::MAX),
                acknowledged_ms: None,
                keep: true,
                placeholder: true,
            },
        );
        self.shared.moved.notify_all();
        Ok(id)
    }

    /// Sends a message, which is durable when this returns. Returns `false` if no procedure with this id is alive.
    pub fn send(&self, to: ProcedureId, tag: u64, data: impl Into<Vec<u8>>) -> Result<bool, Error> {
        let sent = self.shared.lock().send(to, tag, data.into());
        let Some((unit, message)) = sent else { return Ok(false) };
        self.shared.durable(unit)?;
        // The receiver may have made its last step while this was being committed.
        Ok(!self.shared.lock().was_lost(message))
    }

    /// Writes rows that belong to no step. They are durable when this returns.
    pub fn write(&self, rows: impl FnOnce(&mut Rows)) -> Result<(), Error> {
        let mut with = Rows::default();
        rows(&mut with);
        let number = self.shared.lock().write(with.writes);
        self.shared.durable(number)
    }

    /// Ends the wait of a suspended procedure. This is not durable: combine it with something that is, or with a
    /// time-out.
    pub fn wake(&self, id: ProcedureId) -> bool {
        let woken = self.shared.lock().wake(id, false);
        self.shared.work.notify_one();
        woken
    }

    /// Makes an event ready: procedures that wait for it continue, in the order of arrival, and later ones do not wait.
    pub fn set_ready(&self, event: &str) {
        self.shared.lock().set_ready(event, true);
        self.shared.work.notify_all();
    }

    /// Asks a procedure to abort; it may refuse. An accepted abort is durable when this returns. Nothing is interrupted
    /// or woken. With `unless_started`, a procedure that has made a step is left alone. Waits for a step in progress.
    pub fn abort(&self, id: ProcedureId, unless_started: bool) -> Result<bool, Error> {
        let task = {
            let mut core = self.shared.lock();
            loop {
                let Some(entry) = core.procedures.get(&id) else { return Ok(false) };
                if entry.state.is_end()
                    || core.fails(id)
                    || (unless_started && entry.flags.executed)
                {
                    return Ok(false);
                }
                if let Some(task) = core.task_now(id, Call::Abort) {
                    break task;
                }
                if !self.shared.runs_by_itself() {
                    drop(core);
                    self.commit()?;
                    core = self.shared.lock();
                } else {
                    core = self.shared.wait(&self.shared.moved, core, None);
                }
                if self.shared.stopping() {
                    return Err(self.shared.stopped(&core));
                }
            }
        };
        let settled = self.shared.call(*task);
        let accepted = matches!(settled.outcome, Outcome::Aborted(true));
        let number = {
            let mut core = self.shared.lock();
            core.settle(settled, &self.shared.registry);
            core.assigned()
        };
        self.shared.work.notify_one();
        if accepted {
            self.shared.durable(number)?;
        }
        Ok(accepted)
    }

    /// Ends procedures as succeeded without running them any more, and their ancestors after them: a last resort for
    /// operators. A procedure that waits with a time-out is timed out instead, unless it returns
    /// [`TimedOut::Run`](crate::TimedOut::Run). A busy one is left alone unless `force`d, and then ends after its step;
    /// one with living children is left alone unless `recursive`. Returns one answer for each.
    pub fn bypass(
        &self,
        ids: &[ProcedureId],
        force: bool,
        recursive: bool,
    ) -> Result<Vec<bool>, Error> {
        let mut core = self.shared.lock();
        let answers = ids.iter().map(|id| core.bypass(*id, force, recursive)).collect();
        let number = core.assigned();
        drop(core);
        self.shared.work.notify_all();
        self.shared.durable(number)?;
        Ok(answers)
    }

    /// Acknowledges that a result was received: it is removed some time later, counted from the last acknowledgment.
    pub fn acknowledge(&self, id: ProcedureId) -> bool {
        let mut core = self.shared.lock();
        let now = i64::try_from(core.now.elapsed_ms).unwrap_or(i64::MAX);
        let Some(ended) = core.ended.get_mut(&id) else { return false };
        ended.acknowledged_ms = Some(now);
        true
    }

    /// Creates a procedure of a registered kind from the bytes that [`super::Procedure::save`] would return.
    pub fn new_of(&self, kind: &str, data: &[u8]) -> Result<New, Error> {
        let Some(name) = self.shared.registry.name(kind) else {
            return Err(Error::UnknownKind(kind.to_owned()));
        };
        let body = self.shared.registry.decode(kind, data).map_err(Error::Unwilling)?;
        Ok(New::boxed(name, body))
    }

    // --- Inspection ----------------------------------------------------------------------------------------------------

    /// Returns the state of a procedure as of the last commit; none if the procedure is unknown, not known yet or no
    /// longer.
    pub fn state(&self, id: ProcedureId) -> Option<State> {
        let core = self.shared.lock();
        let live = core.procedures.get(&id).map(|entry| entry.shown);
        live.or_else(|| core.ended.get(&id).map(|ended| ended.state))
    }

    /// Whether a step of it was ever about to be made durable, or it has ended and is still known.
    pub fn has_started(&self, id: ProcedureId) -> bool {
        let core = self.shared.lock();
        core.procedures.get(&id).map_or(core.ended.contains_key(&id), |entry| entry.flags.executed)
    }

    /// Returns how a root ended, if it has and is still known.
    pub fn finished(&self, id: ProcedureId) -> Option<Finished> {
        self.shared.lock().ended.get(&id).map(finished)
    }

    /// Waits until a root has ended, at most for `at_most`. Returns none if it has not, or is not known. Without
    /// threads there is no waiting.
    pub fn wait(&self, id: ProcedureId, at_most: Option<Duration>) -> Option<Finished> {
        let mut core = self.shared.lock();
        let since = self.shared.host.elapsed_ms();
        loop {
            if let Some(ended) = core.ended.get(&id) {
                return Some(finished(ended));
            }
            let waited = Duration::from_millis(self.shared.host.elapsed_ms().saturating_sub(since));
            let over = at_most.is_some_and(|at_most| waited >= at_most);
            if over || !core.procedures.contains_key(&id) || !self.shared.runs_by_itself() {
                return None;
            }
            let rest = at_most.map(|at_most| at_most - waited);
            core = self.shared.wait(&self.shared.moved, core, rest);
        }
    }

    /// Like [`Executor::wait`], without blocking a thread.
    pub async fn ended(&self, id: ProcedureId) -> Option<Finished> {
        loop {
            let news = self.shared.ended.notified();
            {
                let core = self.shared.lock();
                if let Some(ended) = core.ended.get(&id) {
                    return Some(finished(ended));
                }
                if !core.procedures.contains_key(&id) || self.shared.stopping() {
                    return None;
                }
            }
            news.await;
        }
    }

    /// Returns all known procedures, by id.
    pub fn list(&self) -> Vec<Listing> {
        let core = self.shared.lock();
        let live = core.procedures.iter().map(|(id, entry)| Listing {
            id: *id,
            kind: entry.kind.to_string(),
            parent: entry.parent,
            owner: entry.owner.as_deref().map(str::to_owned),
            state: entry.shown,
            submitted_ms: entry.submitted_ms,
            updated_ms: entry.updated_ms,
        });
        let ended = core.ended.iter().map(|(id, ended)| Listing {
            id: *id,
            kind: String::new(),
            parent: None,
            owner: None,
            state: ended.state,
            submitted_ms: ended.submitted_ms,
            updated_ms: ended.updated_ms,
        });
        let mut list: Vec<_> = live.chain(ended).collect();
        list.sort_unstable_by_key(|listing| listing.id);
        list
    }

    /// Returns why the executor has stopped by itself, if it has: the last error of the store.
    pub fn stopped_by(&self) -> Option<store::Error> {
        if !self.shared.stopping() {
            return None;
        }
        self.shared.lock().given_up.clone()
    }

    /// From now on, waits indefinitely for a store whose disk is full or failing, instead of giving it up after
    /// [`Config::give_up_ms`] like any other that refuses.
    pub fn wait_for_room(&self) {
        self.shared.waits_for_room.store(true, Ordering::Release);
    }

    /// Returns the error of the store if it refused the last commit; and whether it is retried automatically, because
    /// something is waiting for it.
    pub fn refused_by(&self) -> Option<(store::Error, bool)> {
        let core = self.shared.lock();
        core.refuses_since.and_then(|_| Some((core.last_error.clone()?, core.pending() > 0)))
    }

    /// Returns the parent of a live procedure, if it is a child.
    pub fn parent(&self, id: ProcedureId) -> Option<ProcedureId> {
        self.shared.lock().procedures.get(&id)?.parent
    }

    /// Returns the receiver of the answer of a live procedure, if it was spawned.
    pub fn answers_to(&self, id: ProcedureId) -> Option<ProcedureId> {
        self.shared.lock().procedures.get(&id)?.reply.as_deref().map(|(to, _)| *to)
    }

    /// Whether the executor has stopped, or is about to.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.stopping()
    }

    /// Stops because of an error of the store, which it then reports: see [`Executor::stopped_by`].
    pub fn give_up(&self, error: store::Error) {
        self.shared.give_up(error);
    }

    /// Returns the current counts.
    pub fn metrics(&self) -> Metrics {
        let workers = self.shared.workers().len() as u64;
        let mut metrics = self.shared.lock().measure();
        metrics.workers = workers;
        metrics
    }

    /// Returns a reader of committed rows.
    pub fn reader(&self) -> Arc<dyn Reader> {
        self.shared.reader.clone()
    }

    /// Returns the source of time and randomness.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.shared.host
    }

    // --- Manual operation ----------------------------------------------------------------------------------------------

    /// Makes at most one call of user code. Returns `false` if nothing is runnable.
    pub fn turn(&self) -> bool {
        self.shared.turns(None, 1)
    }

    /// Makes everything durable that is waiting, and carries out what follows. Returns `false` if nothing was waiting.
    pub fn commit(&self) -> Result<bool, Error> {
        Ok(self.shared.commit()?)
    }

    /// Ends the waits whose time has passed, and drops old results. Returns the time until the next such event.
    pub fn tick(&self) -> Option<u64> {
        let mut core = self.shared.lock();
        core.fire();
        let now = core.now.elapsed_ms;
        core.next_due().map(|due| due.saturating_sub(now))
    }

    /// Drops results that were acknowledged or are old. Returns how many.
    pub fn clean(&self) -> usize {
        self.shared.clean()
    }

    /// Turns and commits until nothing happens any more.
    pub fn run_until_idle(&self) -> Result<(), Error> {
        loop {
            let turned = self.shared.turns(None, 256);
            if !self.commit()? && !turned {
                return Ok(());
            }
        }
    }

    // --- Threads -------------------------------------------------------------------------------------------------------

    /// Starts `workers` workers, a committer and a timer on blocking threads of this runtime.
    pub fn start(&self, runtime: &Handle, workers: usize) {
        if self.shared.started.swap(true, Ordering::AcqRel) {
            return;
        }
        for _ in 0..workers.max(1) {
            self.shared.add_worker(runtime, None);
        }
        if !self.shared.instant {
            self.shared.thread(runtime, |shared| shared.commits());
        }
        let handle = runtime.clone();
        let wanted = workers.max(1);
        self.shared.thread(runtime, move |shared| shared.timers(&handle, wanted));
    }

    /// Stops after the calls in progress and their commit, and waits for that.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Lets the store bring everything to where a copy of it contains it. To be called after it was stopped.
    pub fn settle(&self) {
        self.shared.store.lock().unwrap_or_else(PoisonError::into_inner).settle();
    }
}

impl Executor {
    fn fit(&self, new: &mut New) -> Result<(), Error> {
        if self.shared.stopping() {
            return Err(self.shared.stopped(&self.shared.lock()));
        }
        let Some(kind) = self.shared.registry.name(&new.kind) else {
            return Err(Error::UnknownKind(new.kind.to_string()));
        };
        new.kind = kind;
        if self.shared.config.owner_required && new.owner.is_none() {
            return Err(Error::NoOwner);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Step;
    use crate::store::{Memory, Options, Sqlite};
    use crate::{RealHost, one_step};

    fn registry() -> Registry {
        let mut registry = Registry::new();
        registry.register("greet", |data| {
            Ok(one_step(data, |name, context| {
                context.put("greeting", context.id().0.to_be_bytes(), name);
                context.set_result([b"hello ", name].concat());
                Ok(Step::Done)
            }))
        });
        registry
    }

    fn check_greets(store: Box<dyn Store>) {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("a runtime");
        let (executor, recovery) =
            Executor::open(store, registry(), Arc::new(RealHost::new()), Config::default())
                .expect("an empty store");
        assert_eq!(recovery, Recovery::default());
        executor.start(runtime.handle(), 2);
        let ids: Vec<_> = (0..100_u8)
            .map(|n| {
                executor
                    .submit(executor.new_of("greet", &[n]).expect("a known kind"))
                    .expect("submitted")
            })
            .collect();
        for (n, id) in ids.iter().enumerate() {
            let finished = executor.wait(*id, Some(Duration::from_secs(30))).expect("it ends");
            assert_eq!(finished.state, State::Success);
            assert_eq!(finished.result.as_deref(), Some(&[b"hello ", &[n as u8][..]].concat()[..]));
            let row = executor.reader().get("greeting", &id.0.to_be_bytes()).expect("readable");
            assert_eq!(row.as_deref(), Some(&[n as u8][..]));
        }
        executor.stop();
    }

    #[test]
    fn threads_run_procedures_over_memory() {
        check_greets(Box::new(Memory::new()));
    }

    #[test]
    fn threads_run_procedures_over_sqlite() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store");
        check_greets(Box::new(Sqlite::open(&path, Options::default()).expect("a new store")));
        let store = Sqlite::open(&path, Options::default()).expect("the same store");
        assert_eq!(store.integrity().as_deref(), Ok("ok"));
        let host = Arc::new(RealHost::new());
        let (executor, _) =
            Executor::open(Box::new(store), registry(), host, Config::default()).expect("it opens");
        assert_eq!(
            executor.finished(ProcedureId(7)).map(|finished| finished.state),
            Some(State::Success)
        );
    }
}
