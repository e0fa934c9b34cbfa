//! The executor: its public calls, and the threads that do the work.
//!
//! Without [`Executor::start`] nothing happens by itself: [`Executor::turn`], [`Executor::commit`] and [`Executor::tick`]
//! move it, one thing at a time, which is how tests and the simulator drive it. Submissions and messages then commit at
//! once.

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

/// How an executor behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Do not start when anything had to be set aside.
    pub refuse_damage: bool,
    /// Refuse roots without an owner.
    pub owner_required: bool,
    /// A result goes so long after its last acknowledgement.
    pub acknowledged_ms: u64,
    /// A result goes so long after its procedure ended, acknowledged or not.
    pub unacknowledged_ms: u64,
    /// How often old results are looked for.
    pub clean_every_ms: u64,
    /// No more steps are begun while so many writes wait for the store.
    pub most_pending: usize,
    /// A worker in one call for so long is stuck: when all are, and something waits, another is added.
    pub stuck_after_ms: u64,
    /// How often stuck workers are looked for.
    pub look_every_ms: u64,
    /// An added worker goes after so long without work.
    pub keep_alive_ms: u64,
    /// At most so many workers for each one asked for.
    pub most_workers_factor: usize,
    /// A refused commit is tried again after so long, and after twice as long each time, up to a hundred times as long.
    pub retry_ms: u64,
    /// When the store has refused for so long, the executor stops; [`Executor::stopped_by`] has the reason.
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

/// Why the executor did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The store refused. Nothing of the request remains; or, of an accepted abort or a bypass, it is durable later.
    Store(store::Error),
    /// Records were set aside and [`Config::refuse_damage`] is set.
    Damage(Vec<Unfit>),
    /// Nobody registered this kind of procedure.
    UnknownKind(String),
    /// The bytes given are no state of a procedure of this kind.
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
                write!(f, "found {} procedures that cannot be taken up", unfit.len())
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

/// A record that was set aside when the store was read: it is not run, and not touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// Which.
    pub id: ProcedureId,
    /// Why.
    pub reason: String,
}

/// What was found in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Roots that go on by running, in the order in which they will.
    pub running: Vec<ProcedureId>,
    /// What was set aside.
    pub quarantine: Vec<Unfit>,
}

/// The end of a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// [`State::Success`] or [`State::RolledBack`].
    pub state: State,
    /// Whether an operator had it end without running.
    pub bypass: bool,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// What it came to.
    pub result: Option<Vec<u8>>,
}

/// One line about a procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Its id.
    pub id: ProcedureId,
    /// Its kind; empty of one that has ended.
    pub kind: String,
    /// Of a child: its parent.
    pub parent: Option<ProcedureId>,
    /// On whose behalf.
    pub owner: Option<String>,
    /// Where it is.
    pub state: State,
    /// When it was submitted, by the wall clock.
    pub submitted_ms: i64,
    /// When it last changed.
    pub updated_ms: i64,
}

/// What came of a submission with a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submitted {
    /// It was new.
    New(ProcedureId),
    /// The same request was made before.
    Known(ProcedureId),
}

impl Submitted {
    /// Either way, the procedure of the request.
    pub fn id(self) -> ProcedureId {
        match self {
            Submitted::New(id) | Submitted::Known(id) => id,
        }
    }
}

/// A worker looks up from its calls after so long, so that a commit does not wait for many slow ones.
const LONG_TURN_MS: u64 = 2;

/// Runs procedures durably over a store. A clone is another handle; with the last one, the threads stop.
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
    /// A store without room is waited for, however long.
    waits_for_room: AtomicBool,
    threads: AtomicUsize,
    /// Something may be runnable.
    work: Signal,
    /// Something waits for a commit.
    dirty: Signal,
    /// Something was committed, given back, or is no longer busy.
    moved: Signal,
    /// A timer was armed, or the threads are to end.
    timer: Signal,
    ended: Notify,
    workers: Mutex<Vec<Arc<AtomicU64>>>,
}

/// A condition to wait for under the lock of the core. Telling it costs a system call only when somebody waits: who waits
/// is counted under that lock, and whoever tells has held it since the condition came true.
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
    /// Takes up what the store holds. Nothing runs yet.
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

    // --- Asking for something ------------------------------------------------------------------------------------------

    /// Submits a root. It is durable when this returns.
    pub fn submit(&self, new: New) -> Result<ProcedureId, Error> {
        self.submit_with(new, |_, _| {})
    }

    /// Submits a root together with rows, which the function gets the id for.
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

    /// Submits many roots, all of them or none.
    pub fn submit_all(&self, new: Vec<New>) -> Result<Vec<ProcedureId>, Error> {
        self.submit_all_with(new, |_, _| {})
    }

    /// The same, together with rows.
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

    /// The same, together with rows.
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

    /// Reserves an id for a request, or tells the one that it has. Whoever gets none submits, fails or unregisters it;
    /// others who ask for the same wait for that.
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

    /// Submits a root under a nonce that was registered, together with rows.
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

    /// Gives up a registered nonce under which nothing was submitted.
    pub fn unregister(&self, nonce: Nonce) {
        let mut core = self.shared.lock();
        if core.nonces.get(&nonce).is_some_and(|(_, submitted)| !submitted) {
            core.nonces.remove(&nonce);
        }
        self.shared.moved.notify_all();
    }

    /// Has whoever repeats this request get the same failure. Lasts as long as the process.
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

    /// Sends a message, durable when this returns. `false` if nobody of this id is alive.
    pub fn send(&self, to: ProcedureId, tag: u64, data: impl Into<Vec<u8>>) -> Result<bool, Error> {
        let sent = self.shared.lock().send(to, tag, data.into());
        let Some((unit, message)) = sent else { return Ok(false) };
        self.shared.durable(unit)?;
        // The receiver may have made its last step while this was on its way.
        Ok(!self.shared.lock().was_lost(message))
    }

    /// Writes rows that go with nobody's step. Durable when this returns.
    pub fn write(&self, rows: impl FnOnce(&mut Rows)) -> Result<(), Error> {
        let mut with = Rows::default();
        rows(&mut with);
        let number = self.shared.lock().write(with.writes);
        self.shared.durable(number)
    }

    /// Ends the wait of a suspended procedure. Not durable: pair it with something that is, or with a time-out.
    pub fn wake(&self, id: ProcedureId) -> bool {
        let woken = self.shared.lock().wake(id, false);
        self.shared.work.notify_one();
        woken
    }

    /// Makes an event ready: whoever waits for it goes on, first come first, and whoever asks later does not wait.
    pub fn set_ready(&self, event: &str) {
        self.shared.lock().set_ready(event, true);
        self.shared.work.notify_all();
    }

    /// Asks a procedure to give up; it may refuse. What it accepts is durable when this returns. Interrupts and wakes
    /// nobody. With `unless_started`, one that has made a step is left alone. Waits for a step that is being made.
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

    /// Has procedures end as succeeded without running any more, and their ancestors after them: an operator's way out.
    /// One that waits with a time-out is timed out instead, unless it answers [`TimedOut::Run`](crate::TimedOut::Run). A busy one is left alone
    /// unless `force`d, and then ends after its step; one with living children is, unless `recursive`. One answer each.
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

    /// Says that a result was received: it may go some time later. The last time counts.
    pub fn acknowledge(&self, id: ProcedureId) -> bool {
        let mut core = self.shared.lock();
        let now = i64::try_from(core.now.elapsed_ms).unwrap_or(i64::MAX);
        let Some(ended) = core.ended.get_mut(&id) else { return false };
        ended.acknowledged_ms = Some(now);
        true
    }

    /// A procedure of a registered kind, from the bytes that [`super::Procedure::save`] would give.
    pub fn new_of(&self, kind: &str, data: &[u8]) -> Result<New, Error> {
        let Some(name) = self.shared.registry.name(kind) else {
            return Err(Error::UnknownKind(kind.to_owned()));
        };
        let body = self.shared.registry.decode(kind, data).map_err(Error::Unwilling)?;
        Ok(New::boxed(name, body))
    }

    // --- Looking -------------------------------------------------------------------------------------------------------

    /// Where a procedure is, as of the last commit; none when nothing is known of it, any more or yet.
    pub fn state(&self, id: ProcedureId) -> Option<State> {
        let core = self.shared.lock();
        let live = core.procedures.get(&id).map(|entry| entry.shown);
        live.or_else(|| core.ended.get(&id).map(|ended| ended.state))
    }

    /// Whether a step of it was ever begun to be made durable, or it has ended and is still known.
    pub fn has_started(&self, id: ProcedureId) -> bool {
        let core = self.shared.lock();
        core.procedures.get(&id).map_or(core.ended.contains_key(&id), |entry| entry.flags.executed)
    }

    /// How a root ended, if it has and is still known.
    pub fn finished(&self, id: ProcedureId) -> Option<Finished> {
        self.shared.lock().ended.get(&id).map(finished)
    }

    /// Waits until a root has ended, at most so long. None when it has not, or is not known. Where nothing moves by itself,
    /// nothing is waited for.
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

    /// The same without a thread.
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

    /// Everything that is known, by id.
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

    /// Why the executor has stopped by itself, if it has: what the store said until it was given up.
    pub fn stopped_by(&self) -> Option<store::Error> {
        if !self.shared.stopping() {
            return None;
        }
        self.shared.lock().given_up.clone()
    }

    /// From now on a store whose disk has no room, or fails, is waited for, however long: it is not given up as any other that
    /// refuses for [`Config::give_up_ms`].
    pub fn wait_for_room(&self) {
        self.shared.waits_for_room.store(true, Ordering::Release);
    }

    /// What the store said when it refused the last commit, where it has taken none since; and whether it is asked again by
    /// itself, because something waits for it.
    pub fn refused_by(&self) -> Option<(store::Error, bool)> {
        let core = self.shared.lock();
        core.refuses_since.and_then(|_| Some((core.last_error.clone()?, core.pending() > 0)))
    }

    /// Who has called for a procedure that lives, if it is a child.
    pub fn parent(&self, id: ProcedureId) -> Option<ProcedureId> {
        self.shared.lock().procedures.get(&id)?.parent
    }

    /// Who gets the answer of a procedure that lives, if it was spawned.
    pub fn answers_to(&self, id: ProcedureId) -> Option<ProcedureId> {
        self.shared.lock().procedures.get(&id)?.reply.as_deref().map(|(to, _)| *to)
    }

    /// Whether it has stopped, or is about to.
    pub(crate) fn is_stopping(&self) -> bool {
        self.shared.stopping()
    }

    /// Stops for the sake of the store, and says why: see [`Executor::stopped_by`].
    pub fn give_up(&self, error: store::Error) {
        self.shared.give_up(error);
    }

    /// The counts of this moment.
    pub fn metrics(&self) -> Metrics {
        let workers = self.shared.workers().len() as u64;
        let mut metrics = self.shared.lock().measure();
        metrics.workers = workers;
        metrics
    }

    /// Committed rows.
    pub fn reader(&self) -> Arc<dyn Reader> {
        self.shared.reader.clone()
    }

    /// Time and randomness.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.shared.host
    }

    // --- Moving by hand ------------------------------------------------------------------------------------------------

    /// Makes at most one call of user code. `false` when nothing is runnable.
    pub fn turn(&self) -> bool {
        self.shared.turns(None, 1)
    }

    /// Makes everything durable that waits for it, and does what follows. `false` when nothing waited.
    pub fn commit(&self) -> Result<bool, Error> {
        Ok(self.shared.commit()?)
    }

    /// Ends the waits whose time has passed, and drops old results. Returns how long nothing of the kind will happen.
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

    /// Turns and commits until nothing moves any more.
    pub fn run_until_idle(&self) -> Result<(), Error> {
        loop {
            let turned = self.shared.turns(None, 256);
            if !self.commit()? && !turned {
                return Ok(());
            }
        }
    }

    // --- Moving by itself ----------------------------------------------------------------------------------------------

    /// Starts so many workers, a committer and a timer on threads of this runtime that may block.
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

    /// Stops after the calls that are being made, and their commit. Waits for that.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Has the store bring everything to where a copy of it has it. For when it was stopped.
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
