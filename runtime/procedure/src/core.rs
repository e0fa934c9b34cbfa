//! The state of everything that is alive, and the rules by which it changes. No threads, disk or clock here.
//!
//! In: outcomes of user code, completed commits, expired timers. Out: the next [`Task`] to run, and [`Write`]s to
//! commit with what to do afterwards ([`After`]). Whatever others can see of a step is done only after its commit.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::Effects;
use super::lock::Locks;
use super::queue::Queue;
use super::record::{self, Timer, Wire};
use super::{
    Failure, IdHasher, Lock, Message, Metrics, New, Nonce, Note, Procedure, ProcedureId, Registry,
    State, Step, TimedOut, UndoError, Wait,
};
use crate::store::{Key, Row, Write};

/// The space of rows in which messages wait.
pub(super) const INBOX: &str = "inbox";

/// The space of rows that say of a procedure which was busy at the time that it is to be bypassed.
pub(super) const BYPASS: &str = "bypass";

/// A batch that had more writes than this is not kept for its room.
const KEPT_ROOM: usize = 1 << 16;

/// A live procedure.
pub(super) struct Entry {
    pub(super) kind: Arc<str>,
    pub(super) parent: Option<ProcedureId>,
    pub(super) root: ProcedureId,
    pub(super) owner: Option<Arc<str>>,
    pub(super) body: Option<Box<dyn Procedure>>,
    pub(super) lock: Option<Box<Lock>>,
    pub(super) event: Option<Arc<str>>,
    pub(super) stack: Vec<(u32, u32)>,
    pub(super) inbox: Vec<Message>,
    pub(super) failure: Option<Box<Failure>>,
    pub(super) result: Option<Box<[u8]>>,
    pub(super) nonce: Option<Box<Nonce>>,
    pub(super) reply: Option<Box<(ProcedureId, u64)>>,
    pub(super) timer: Option<Box<Timer>>,
    pub(super) children: Option<(ProcedureId, u32)>,
    pub(super) submitted_ms: i64,
    pub(super) updated_ms: i64,
    /// When it was queued, by elapsed time.
    pub(super) queued_ms: u64,
    /// Since when its time is not counted yet, by elapsed time, and for which state it will be.
    pub(super) since_ms: u64,
    pub(super) counted: State,
    pub(super) children_left: u32,
    /// Counts waits, so that the timer of an earlier one is known to be stale.
    pub(super) waits: u32,
    pub(super) state: State,
    /// The state of the last commit, which is what others see.
    pub(super) shown: State,
    pub(super) priority: u8,
    pub(super) flags: Flags,
}

/// Entry flags.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Flags {
    // Stored.
    pub(super) executed: bool,
    pub(super) locked: bool,
    pub(super) bypass: bool,
    pub(super) abort: bool,
    pub(super) keep: bool,
    // In memory.
    pub(super) yields: bool,
    pub(super) holds: bool,
    pub(super) busy: bool,
    pub(super) queued: bool,
    pub(super) woken: bool,
    pub(super) timed_out: bool,
    pub(super) restarted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Running,
    Failed,
    RollingBack,
}

/// What the members of a tree share.
pub(super) struct Root {
    /// Every child there ever was, at any depth, as long as the tree lives.
    pub(super) members: Vec<ProcedureId>,
    /// Who made which step, oldest first.
    pub(super) stack: Vec<ProcedureId>,
    pub(super) course: Course,
    /// Members with a step in the making or being committed.
    pub(super) running: u32,
    pub(super) undoable: bool,
    /// Whether the members that never made a step are gone.
    pub(super) swept: bool,
    pub(super) first_failure: Option<ProcedureId>,
}

impl Root {
    pub(super) fn new(undoable: bool) -> Self {
        Root {
            members: Vec::new(),
            stack: Vec::new(),
            course: Course::Running,
            running: 0,
            undoable,
            swept: false,
            first_failure: None,
        }
    }
}

/// A root that has ended and whose result is still there.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) state: State,
    pub(super) bypass: bool,
    pub(super) failure: Option<Box<Failure>>,
    pub(super) result: Option<Box<[u8]>>,
    pub(super) nonce: Option<Box<Nonce>>,
    pub(super) submitted_ms: i64,
    pub(super) updated_ms: i64,
    /// By elapsed time; may lie before the process began.
    pub(super) ended_ms: i64,
    pub(super) acknowledged_ms: Option<i64>,
    pub(super) keep: bool,
    /// Only a failure to tell those who repeat a request; never stored.
    pub(super) placeholder: bool,
}

#[derive(Debug, Default)]
struct Event {
    ready: bool,
    waiters: VecDeque<ProcedureId>,
}

/// What a look at the queue came to.
pub(super) enum Polled {
    /// User code is to be called.
    Task(Box<Task>),
    /// Something was found to do without it; its writes wait.
    Moved,
    /// Nothing is runnable.
    Idle,
}

/// A call of user code.
pub(super) struct Task {
    pub(super) id: ProcedureId,
    pub(super) call: Call,
    pub(super) body: Box<dyn Procedure>,
    pub(super) parent: Option<ProcedureId>,
    pub(super) abort: bool,
    pub(super) restarted: bool,
    pub(super) messages: Vec<Message>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    Execute,
    Undo,
    TimedOut,
    Abort,
}

/// What came of it.
pub(super) enum Outcome {
    Executed(Result<Step, Failure>),
    Undone(Result<(), UndoError>),
    TimedOut(TimedOut),
    Aborted(bool),
}

/// A finished call, with all it leaves behind.
pub(super) struct Settled {
    pub(super) id: ProcedureId,
    pub(super) body: Box<dyn Procedure>,
    pub(super) outcome: Outcome,
    pub(super) effects: Effects,
    pub(super) messages: Vec<Message>,
    /// How many of the messages were taken.
    pub(super) taken: usize,
    pub(super) data: Vec<u8>,
}

/// Writes that commit together, and what follows when they have.
struct Unit {
    writes: usize,
    after: After,
    number: u64,
}

/// What is done once the writes before it are durable.
enum After {
    Submitted(Vec<(ProcedureId, Box<Entry>, bool)>),
    Stepped { id: ProcedureId, next: Next, born: Born },
    Undone { id: ProcedureId, idle: Vec<ProcedureId> },
    Locked(ProcedureId),
    Ended(ProcedureId),
    Delivered(Box<(ProcedureId, Message)>),
    Shown(ProcedureId),
    Nothing,
}

/// Who came into being with a step, and what was said.
#[derive(Default)]
struct Born {
    children: Vec<(ProcedureId, Box<Entry>)>,
    spawned: Vec<(ProcedureId, Box<Entry>, bool)>,
    said: Vec<(ProcedureId, Message)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Again,
    Waits,
    Suspends,
    Ends,
    Fails,
}

/// A batch on its way to the store.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) writes: Vec<Write>,
    units: Vec<Unit>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }
}

/// The moment at which something happens.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) wall_ms: i64,
    pub(super) elapsed_ms: u64,
}

/// Everything that is alive.
pub(super) struct Core {
    pub(super) procedures: HashMap<ProcedureId, Box<Entry>, IdHasher>,
    pub(super) roots: HashMap<ProcedureId, Root, IdHasher>,
    pub(super) ended: HashMap<ProcedureId, Ended, IdHasher>,
    pub(super) nonces: HashMap<Nonce, (ProcedureId, bool)>,
    pub(super) locks: Locks,
    pub(super) metrics: Metrics,
    pub(super) next_id: Arc<AtomicU64>,
    pub(super) next_message: u64,
    pub(super) now: Now,
    /// Roots that ended since somebody last looked.
    pub(super) news: Vec<ProcedureId>,
    /// What the store said when it last refused.
    pub(super) last_error: Option<crate::store::Error>,
    /// Since when it refuses, by elapsed time.
    pub(super) refuses_since: Option<u64>,
    /// What it said when it was given up.
    pub(super) given_up: Option<crate::store::Error>,
    queue: Queue,
    events: HashMap<Arc<str>, Event>,
    timers: BinaryHeap<Reverse<(u64, ProcedureId, u32)>>,
    pending: Batch,
    refused: Vec<u64>,
    /// What rows were before a submission, by its number, until that is durable.
    undo: HashMap<u64, Vec<Write>, IdHasher>,
    assigned: u64,
    committed: u64,
    inbox: Arc<str>,
    /// Room for the writes of one step, used over and over.
    room: Vec<Write>,
}

impl Core {
    pub(super) fn new(now: Now) -> Self {
        Core {
            procedures: HashMap::default(),
            roots: HashMap::default(),
            ended: HashMap::default(),
            nonces: HashMap::new(),
            locks: Locks::default(),
            metrics: Metrics::default(),
            next_id: Arc::new(AtomicU64::new(1)),
            next_message: 1,
            now,
            news: Vec::new(),
            last_error: None,
            refuses_since: None,
            given_up: None,
            queue: Queue::default(),
            events: HashMap::new(),
            timers: BinaryHeap::new(),
            pending: Batch::default(),
            refused: Vec::new(),
            undo: HashMap::default(),
            assigned: 0,
            committed: 0,
            inbox: INBOX.into(),
            room: Vec::new(),
        }
    }

    // --- Coming into being ---------------------------------------------------------------------------------------------

    /// Makes the entry of a new procedure. `above` is its parent and root if it is a child.
    fn entry(&self, new: New, id: ProcedureId, above: Option<(ProcedureId, &Entry)>) -> Box<Entry> {
        let lock = new.body.lock().map(Box::new);
        let flags =
            Flags { keep: new.keep, yields: new.body.yields_after_step(), ..Flags::default() };
        Box::new(Entry {
            kind: new.kind,
            parent: above.map(|(parent, _)| parent),
            root: above.map_or(id, |(_, parent)| parent.root),
            owner: new.owner.or_else(|| above.and_then(|(_, parent)| parent.owner.clone())),
            priority: above.map_or(new.priority, |(_, parent)| new.priority.max(parent.priority)),
            body: Some(new.body),
            lock,
            event: None,
            stack: Vec::new(),
            inbox: Vec::new(),
            failure: None,
            result: None,
            nonce: None,
            reply: None,
            timer: None,
            children: None,
            submitted_ms: self.now.wall_ms,
            updated_ms: self.now.wall_ms,
            queued_ms: 0,
            since_ms: self.now.elapsed_ms,
            counted: State::Runnable,
            children_left: 0,
            waits: 0,
            state: State::Runnable,
            shown: State::Runnable,
            flags,
        })
    }

    pub(super) fn fresh_id(&self) -> ProcedureId {
        ProcedureId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Queues the submission of roots, and rows that go with them; `undo` is what these rows were before. Returns the number to
    /// wait for.
    pub(super) fn submit(
        &mut self,
        new: Vec<(ProcedureId, New, Option<Nonce>)>,
        rows: Vec<Write>,
        undo: Vec<Write>,
    ) -> u64 {
        let mut entries = Vec::with_capacity(new.len());
        let mut writes = rows;
        for (id, new, nonce) in new {
            let undoable = new.body.undoable();
            let mut entry = self.entry(new, id, None);
            entry.nonce = nonce.map(Box::new);
            writes.push(write(id, &entry, undoable, None));
            entries.push((id, entry, undoable));
        }
        let number = self.unit(writes, After::Submitted(entries));
        if !undo.is_empty() {
            self.undo.insert(number, undo);
        }
        number
    }

    /// Queues a message from outside; none if nobody of this id is alive.
    pub(super) fn send(&mut self, to: ProcedureId, tag: u64, data: Vec<u8>) -> Option<u64> {
        let live = self.procedures.get(&to).is_some_and(|entry| !entry.state.is_end());
        live.then(|| {
            let (message, write) = self.message(to, None, tag, Note::Data(data));
            self.unit(vec![write], After::Delivered(Box::new((to, message))))
        })
    }

    /// Queues writes that belong to nobody's step.
    pub(super) fn write(&mut self, writes: Vec<Write>) -> u64 {
        self.unit(writes, After::Nothing)
    }

    fn message(
        &mut self,
        to: ProcedureId,
        from: Option<ProcedureId>,
        tag: u64,
        note: Note,
    ) -> (Message, Write) {
        let message = Message { number: self.next_message, from, tag, note };
        self.next_message += 1;
        let value =
            postcard::to_stdvec(&message).expect("plain data of known length always encodes");
        let row = Row { key: self.inbox_key(to, message.number), value: value.into() };
        (message, Write::Put(row))
    }

    fn inbox_key(&self, to: ProcedureId, number: u64) -> Key {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&to.0.to_be_bytes());
        key[8..].copy_from_slice(&number.to_be_bytes());
        Key { space: self.inbox.clone(), key: key.into() }
    }

    // --- The queue -----------------------------------------------------------------------------------------------------

    pub(super) fn enqueue(&mut self, id: ProcedureId, front: bool) {
        let Some(entry) = self.procedures.get_mut(&id) else { return };
        if entry.flags.busy {
            entry.flags.woken = true;
            return;
        }
        if entry.flags.queued {
            return;
        }
        entry.flags.queued = true;
        entry.queued_ms = self.now.elapsed_ms;
        if front {
            self.queue.push_front(id, &entry.owner, entry.priority);
        } else {
            self.queue.push_back(id, &entry.owner, entry.priority);
        }
    }

    /// Ends a wait, if it is one that others may end.
    pub(super) fn wake(&mut self, id: ProcedureId, front: bool) -> bool {
        let Some(entry) = self.procedures.get_mut(&id) else { return false };
        if !matches!(entry.state, State::Runnable | State::WaitingTimeout | State::WaitingMessage) {
            return false;
        }
        if !entry.flags.busy {
            entry.state = State::Runnable;
            // Whatever timer was armed is of an earlier wait from now on.
            entry.waits = entry.waits.wrapping_add(1);
            entry.flags.timed_out = false;
        }
        self.enqueue(id, front);
        true
    }

    pub(super) fn set_ready(&mut self, name: &str, ready: bool) {
        if !self.events.contains_key(name) {
            self.events.insert(name.into(), Event::default());
        }
        let event = self.events.get_mut(name).expect("it was put there");
        event.ready = ready;
        if !ready {
            return;
        }
        let waiters = std::mem::take(&mut event.waiters);
        // Each goes before the others, so the first to wait is pushed last.
        for id in waiters.into_iter().rev() {
            if let Some(entry) = self.procedures.get_mut(&id) {
                entry.event = None;
            }
            self.wake(id, true);
        }
    }

    pub(super) fn is_ready(&self, name: &str) -> bool {
        self.events.get(name).is_some_and(|event| event.ready)
    }

    fn leave_event(&mut self, id: ProcedureId) {
        let Some(name) = self.procedures.get_mut(&id).and_then(|entry| entry.event.take()) else {
            return;
        };
        if let Some(event) = self.events.get_mut(&name) {
            event.waiters.retain(|waiter| *waiter != id);
            if !event.ready && event.waiters.is_empty() {
                self.events.remove(&name);
            }
        }
    }

    pub(super) fn arm(&mut self, id: ProcedureId, in_ms: u64) {
        let Some(entry) = self.procedures.get(&id) else { return };
        self.timers.push(Reverse((self.now.elapsed_ms.saturating_add(in_ms), id, entry.waits)));
    }

    /// Ends the waits whose time has passed.
    pub(super) fn fire(&mut self) {
        while let Some(Reverse((due, id, waits))) = self.timers.peek().copied() {
            if due > self.now.elapsed_ms {
                break;
            }
            self.timers.pop();
            let Some(entry) = self.procedures.get_mut(&id) else { continue };
            if entry.waits != waits || entry.state != State::WaitingTimeout {
                continue;
            }
            if entry.timer.as_ref().is_some_and(|timer| timer.resumes) {
                self.wake(id, true);
            } else {
                entry.flags.timed_out = true;
                self.enqueue(id, true);
            }
        }
    }

    /// When the next timer may pass.
    pub(super) fn next_due(&mut self) -> Option<u64> {
        while let Some(Reverse((due, id, waits))) = self.timers.peek().copied() {
            if self.procedures.get(&id).is_some_and(|entry| entry.waits == waits) {
                return Some(due);
            }
            self.timers.pop();
        }
        None
    }

    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    // --- Taking a task -------------------------------------------------------------------------------------------------

    /// Finds the next thing to do.
    pub(super) fn poll(&mut self) -> Polled {
        while let Some(id) = self.queue.pop() {
            let Some(entry) = self.procedures.get_mut(&id) else { continue };
            entry.flags.queued = false;
            if entry.flags.busy {
                entry.flags.woken = true;
                continue;
            }
            let root_id = entry.root;
            let root = self.roots.get(&root_id).expect("a live procedure has a living root");
            if root.course != Course::Running {
                if let Some(polled) = self.poll_undo(root_id) {
                    return polled;
                }
                continue;
            }
            if entry.state.is_end() || entry.state == State::Failed {
                continue;
            }
            if entry.flags.timed_out {
                entry.flags.timed_out = false;
                return Polled::Task(self.task(id, Call::TimedOut));
            }
            if entry.children_left > 0 && (entry.state == State::Waiting || entry.flags.bypass) {
                continue;
            }
            if !self.acquire(id) {
                continue;
            }
            let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
            if entry.flags.bypass {
                self.start(id);
                self.step_ended(id, None, Effects::default());
                return Polled::Moved;
            }
            if !entry.flags.locked && entry.lock.as_ref().is_some_and(|lock| lock.held) {
                // That it is held must be known before anything is done under it.
                entry.flags.locked = true;
                let write = self.record(id, None);
                self.start(id);
                self.unit(vec![write], After::Locked(id));
                return Polled::Moved;
            }
            entry.state = State::Runnable;
            entry.waits = entry.waits.wrapping_add(1);
            self.leave_event(id);
            return Polled::Task(self.task(id, Call::Execute));
        }
        Polled::Idle
    }

    /// A call of a procedure outside its turn, if nobody else is at it.
    pub(super) fn task_now(&mut self, id: ProcedureId, call: Call) -> Option<Box<Task>> {
        let entry = self.procedures.get(&id)?;
        (!entry.flags.busy && entry.body.is_some()).then(|| self.task(id, call))
    }

    /// Whether the tree of a living procedure has failed. What was to be removed of it must not be written any more.
    pub(super) fn fails(&self, id: ProcedureId) -> bool {
        self.roots[&self.procedures[&id].root].course != Course::Running
    }

    fn start(&mut self, id: ProcedureId) {
        let entry = self.procedures.get_mut(&id).expect("only the living are started");
        entry.flags.busy = true;
        self.roots.get_mut(&entry.root).expect("a live procedure has a living root").running += 1;
    }

    /// Adds the time since the last change of state to the state that it was.
    fn count_time(&mut self, id: ProcedureId) {
        let Some(entry) = self.procedures.get_mut(&id) else { return };
        let now = self.now.elapsed_ms;
        self.metrics.state_ms[entry.counted.place()] += now.saturating_sub(entry.since_ms);
        entry.since_ms = now;
        entry.counted = entry.state;
    }

    fn task(&mut self, id: ProcedureId, call: Call) -> Box<Task> {
        self.start(id);
        self.count_time(id);
        self.metrics.running += 1;
        let entry = self.procedures.get_mut(&id).expect("only the living are started");
        Box::new(Task {
            id,
            call,
            body: entry.body.take().expect("one that has not ended has its body unless it is busy"),
            parent: entry.parent,
            abort: entry.flags.abort,
            restarted: std::mem::take(&mut entry.flags.restarted),
            messages: std::mem::take(&mut entry.inbox),
        })
    }

    fn acquire(&mut self, id: ProcedureId) -> bool {
        let Some(entry) = self.procedures.get(&id) else { return false };
        let Some(lock) = entry.lock.as_deref() else { return true };
        if entry.flags.holds {
            return true;
        }
        let procedures = &self.procedures;
        let granted = self.locks.acquire(lock, id, |holder| is_above(procedures, holder, id));
        if granted {
            self.procedures.get_mut(&id).expect("it was there a moment ago").flags.holds = true;
        }
        granted
    }

    pub(super) fn restore_lock(&mut self, id: ProcedureId) {
        self.acquire(id);
    }

    /// Gives the lock up. One that is held for life goes only `at_end`.
    fn release(&mut self, id: ProcedureId, at_end: bool) {
        let Some(entry) = self.procedures.get_mut(&id) else { return };
        let Some(lock) = entry.lock.as_deref() else { return };
        if !at_end && (lock.held || !entry.flags.holds) {
            return;
        }
        entry.flags.holds = false;
        entry.flags.locked = false;
        let name = lock.name.clone();
        for waiter in self.locks.release(&name, id).into_iter().rev() {
            let lock = self.procedures.get(&waiter).and_then(|entry| entry.lock.as_deref());
            let last = lock.is_some_and(|lock| lock.last);
            self.enqueue(waiter, !last);
        }
    }

    // --- Undoing -------------------------------------------------------------------------------------------------------

    /// The next thing to undo of a tree that has failed, once none of its members is at work.
    fn poll_undo(&mut self, root_id: ProcedureId) -> Option<Polled> {
        let root = self.roots.get_mut(&root_id).expect("asked only of living roots");
        if root.running > 0 {
            return None;
        }
        root.course = Course::RollingBack;
        let undoable = root.undoable;
        let first_failure = root.first_failure;
        let top = if undoable { root.stack.last().copied() } else { None };
        self.ensure_failure(root_id, first_failure);

        let Some(id) = top else {
            self.start(root_id);
            self.tree_undone(root_id, None, Effects::default());
            return Some(Polled::Moved);
        };
        let entry = self.procedures.get(&id).expect("whoever has a step to undo is alive");
        if entry.state == State::Success || entry.flags.bypass {
            self.start(id);
            self.step_undone(id, None, Effects::default());
            return Some(Polled::Moved);
        }
        if !self.acquire(id) {
            return None;
        }
        self.leave_event(id);
        Some(Polled::Task(self.task(id, Call::Undo)))
    }

    fn ensure_failure(&mut self, root_id: ProcedureId, first: Option<ProcedureId>) {
        if self.procedures.get(&root_id).is_some_and(|root| root.failure.is_some()) {
            return;
        }
        let failure = first
            .and_then(|id| self.procedures.get(&id))
            .and_then(|entry| entry.failure.clone())
            .unwrap_or_else(|| {
                Box::new(Failure::new("executor", "unknown", "failed for a reason that is lost"))
            });
        let root = self.procedures.get_mut(&root_id).expect("a living root is alive");
        root.failure = Some(failure);
        root.state = State::Failed;
        root.waits = root.waits.wrapping_add(1);
    }

    /// Takes the last step of `id` off the stack, as durable as any step. `data` is its state if user code changed it.
    fn step_undone(&mut self, id: ProcedureId, data: Option<&[u8]>, effects: Effects) {
        let entry = self.procedures.get_mut(&id).expect("only the living are undone");
        let root_id = entry.root;
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        root.stack.pop();
        pop_run(&mut entry.stack);
        entry.updated_ms = self.now.wall_ms;
        self.metrics.rollbacks += 1;
        if entry.stack.is_empty() && id == root_id {
            self.tree_undone(root_id, data, effects);
            return;
        }
        let gone = entry.stack.is_empty();
        if gone && entry.state != State::Success {
            entry.state = State::RolledBack;
        }
        let (mut writes, born) = self.collect(id, effects);
        writes.push(if gone { Write::Remove(id) } else { self.record(id, data) });
        // What the root failed of is written with the first step that is undone.
        let unsaid = |root: &Entry| root.shown != State::Failed && root.body.is_some();
        if id != root_id && self.procedures.get(&root_id).is_some_and(|root| unsaid(root)) {
            writes.push(self.record(root_id, None));
            self.procedures.get_mut(&root_id).expect("it was there a moment ago").shown =
                State::Failed;
        }
        self.born_without_step(born, &mut writes);
        let idle = self.sweep(root_id, id);
        writes.extend(idle.iter().map(|idle| Write::Remove(*idle)));
        self.unit(writes, After::Undone { id, idle });
    }

    /// Those that never made a step go with the first step that is undone, before a parent of theirs does.
    fn sweep(&mut self, root_id: ProcedureId, but: ProcedureId) -> Vec<ProcedureId> {
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        if std::mem::replace(&mut root.swept, true) {
            return Vec::new();
        }
        let idle = |id: &ProcedureId| {
            let entry = self.procedures.get(id);
            *id != but && entry.is_some_and(|entry| entry.stack.is_empty() && !entry.flags.busy)
        };
        root.members.iter().copied().filter(idle).collect()
    }

    /// Undoing may say and start things too; they need no step of their own.
    fn born_without_step(&mut self, born: Born, writes: &mut Vec<Write>) {
        if !born.spawned.is_empty() {
            self.unit(std::mem::take(writes), After::Submitted(born.spawned));
        }
        for said in born.said {
            self.unit(std::mem::take(writes), After::Delivered(Box::new(said)));
        }
    }

    fn tree_undone(&mut self, root_id: ProcedureId, data: Option<&[u8]>, effects: Effects) {
        let entry = self.procedures.get_mut(&root_id).expect("a living root is alive");
        entry.state = State::RolledBack;
        entry.stack.clear();
        entry.updated_ms = self.now.wall_ms;
        let (mut writes, born) = self.collect(root_id, effects);
        self.end_writes(root_id, data, &mut writes);
        self.born_without_step(born, &mut writes);
        self.unit(writes, After::Ended(root_id));
    }

    /// What is written when a root ends: its record or its answer, and the removal of every child and message.
    fn end_writes(&mut self, root_id: ProcedureId, data: Option<&[u8]>, writes: &mut Vec<Write>) {
        let members =
            std::mem::take(&mut self.roots.get_mut(&root_id).expect("a living root").members);
        for id in &members {
            if let Some(entry) = self.procedures.get(id) {
                writes.extend(
                    entry
                        .inbox
                        .iter()
                        .map(|message| Write::Delete(self.inbox_key(*id, message.number))),
                );
                writes.push(Write::Remove(*id));
            }
        }
        self.roots.get_mut(&root_id).expect("a living root").members = members;

        let entry = self.procedures.get_mut(&root_id).expect("a living root is alive");
        // Its lock goes with it, and its children do not count any more.
        entry.flags.locked = false;
        entry.stack.clear();
        entry.children = None;
        let entry = &self.procedures[&root_id];
        if entry.flags.bypass {
            writes.push(Write::Delete(Key {
                space: BYPASS.into(),
                key: root_id.0.to_be_bytes().into(),
            }));
        }
        writes.extend(
            entry
                .inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(root_id, message.number))),
        );
        if entry.reply.is_some() {
            writes.push(Write::Remove(root_id));
        } else {
            writes.push(write(root_id, entry, self.roots[&root_id].undoable, data));
        }
        if let Some(reply) = entry.reply.as_deref().copied() {
            let note = match (&entry.failure, entry.state) {
                (Some(failure), State::RolledBack) => Note::Failed((**failure).clone()),
                _ => Note::Succeeded(entry.result.as_deref().map(<[u8]>::to_vec)),
            };
            let (message, write) = self.message(reply.0, Some(root_id), reply.1, note);
            writes.push(write);
            let writes = std::mem::take(writes);
            self.unit(writes, After::Delivered(Box::new((reply.0, message))));
        }
    }

    // --- Settling a call -----------------------------------------------------------------------------------------------

    /// Takes in what a call of user code came to.
    pub(super) fn settle(&mut self, settled: Settled, registry: &Registry) {
        self.metrics.running -= 1;
        let Settled { id, body, mut outcome, mut effects, mut messages, taken, data } = settled;
        if matches!(outcome, Outcome::Executed(Ok(_)))
            && let Some(failure) =
                stranger(effects.spawned.iter_mut().map(|(_, new)| new), registry)
        {
            outcome = Outcome::Executed(Err(failure));
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.body = Some(body);
        entry.updated_ms = self.now.wall_ms;

        let drops = matches!(
            outcome,
            Outcome::Executed(Ok(Step::Yield) | Err(_))
                | Outcome::Undone(Err(_))
                | Outcome::Aborted(false)
        );
        let (mut effects, taken) = if drops { (Effects::default(), 0) } else { (effects, taken) };
        let rest = messages.split_off(taken);
        // Those that came meanwhile are younger.
        let younger = std::mem::replace(&mut entry.inbox, rest);
        entry.inbox.extend(younger);
        let taken: Vec<u64> = messages.iter().map(|message| message.number).collect();
        effects
            .writes
            .extend(taken.iter().map(|number| Write::Delete(self.inbox_key(id, *number))));

        match outcome {
            Outcome::Executed(Ok(Step::Yield)) => {
                self.release(id, false);
                self.procedures.get_mut(&id).expect("whoever is busy stays").flags.woken = true;
                self.stop(id, false);
            }
            Outcome::Executed(Ok(Step::Fail(failure)) | Err(failure)) => {
                self.step_failed(id, failure, effects, &data)
            }
            Outcome::Executed(Ok(Step::Done)) if self.wants_messages(id) => {
                effects.result = None;
                self.step_more(id, effects, &data);
            }
            Outcome::Executed(Ok(Step::Done)) => self.step_ended(id, Some(&data), effects),
            Outcome::Executed(Ok(Step::Children(children))) if children.is_empty() => {
                self.step_ended(id, Some(&data), effects);
            }
            Outcome::Executed(Ok(Step::Children(mut children))) => {
                match stranger(children.iter_mut(), registry) {
                    Some(failure) => self.step_failed(id, failure, Effects::default(), &data),
                    None => self.step_waits(id, children, effects, &data),
                }
            }
            Outcome::Executed(Ok(Step::More)) => self.step_more(id, effects, &data),
            Outcome::Executed(Ok(Step::Suspend(mut wait))) => {
                match stranger(wait.children.iter_mut(), registry) {
                    Some(failure) => self.step_failed(id, failure, Effects::default(), &data),
                    None => self.step_suspends(id, wait, effects, &data),
                }
            }
            Outcome::Undone(Err(UndoError::Retry(_))) => {
                self.release(id, false);
                self.stop(id, false);
            }
            Outcome::Undone(_) => self.step_undone(id, Some(&data), effects),
            Outcome::TimedOut(TimedOut::Fail) => {
                let entry = self.procedures.get(&id).expect("whoever is busy stays");
                let waited = entry.timer.as_ref().map_or(0, |timer| timer.length_ms);
                let message = format!("timed out after {waited} ms");
                self.fail(id, Failure::new("executor", Failure::TIMEOUT, message), effects, &data);
            }
            Outcome::TimedOut(TimedOut::Run) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.state = State::Runnable;
                entry.waits = entry.waits.wrapping_add(1);
                if effects.writes.is_empty()
                    && effects.spawned.is_empty()
                    && effects.sent.is_empty()
                {
                    self.procedures.get_mut(&id).expect("whoever is busy stays").flags.woken = true;
                    self.stop(id, true);
                } else {
                    let (mut writes, born) = self.collect(id, effects);
                    writes.push(self.record(id, Some(&data)));
                    self.unit(writes, After::Stepped { id, next: Next::Again, born });
                }
            }
            Outcome::Aborted(accepted) => {
                self.stop(id, true);
                if accepted {
                    self.procedures.get_mut(&id).expect("it was there a moment ago").flags.abort =
                        true;
                    let (mut writes, born) = self.collect(id, effects);
                    writes.push(self.record(id, Some(&data)));
                    self.born_without_step(born, &mut writes);
                    self.unit(writes, After::Shown(id));
                }
            }
        }
    }

    /// Whether there are messages for one that does not end without them.
    fn wants_messages(&self, id: ProcedureId) -> bool {
        let entry = &self.procedures[&id];
        let drops = entry.body.as_ref().is_none_or(|body| body.drops_messages());
        !drops && !entry.inbox.is_empty() && !entry.flags.bypass
    }

    /// Ends being busy without a commit. Goes back to the queue if it was woken.
    fn stop(&mut self, id: ProcedureId, front: bool) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.flags.busy = false;
        let woken = std::mem::take(&mut entry.flags.woken);
        let root_id = entry.root;
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        root.running -= 1;
        let undo = root.course != Course::Running && root.running == 0;
        if woken {
            self.enqueue(id, front);
        }
        if undo {
            self.enqueue(root_id, front);
        }
    }

    fn push_step(&mut self, id: ProcedureId) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.flags.executed = true;
        self.metrics.steps += 1;
        let root = self.roots.get_mut(&entry.root).expect("a live procedure has a living root");
        if !root.undoable {
            return;
        }
        let index = u32::try_from(root.stack.len())
            .expect("a tree that is undone has less than four billion steps");
        root.stack.push(id);
        match entry.stack.last_mut() {
            Some((first, count)) if *first + *count == index => *count += 1,
            _ => entry.stack.push((index, 1)),
        }
    }

    fn step_failed(&mut self, id: ProcedureId, failure: Failure, effects: Effects, data: &[u8]) {
        self.push_step(id);
        self.fail(id, failure, effects, data);
    }

    fn fail(&mut self, id: ProcedureId, failure: Failure, effects: Effects, data: &[u8]) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Failed;
        entry.failure = Some(Box::new(failure));
        entry.timer = None;
        entry.waits = entry.waits.wrapping_add(1);
        let (mut writes, born) = self.collect(id, effects);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Fails, born });
    }

    fn step_more(&mut self, id: ProcedureId, effects: Effects, data: &[u8]) {
        if skips(&effects) {
            self.after_step(id, Next::Again, Born::default());
            return;
        }
        self.push_step(id);
        self.procedures.get_mut(&id).expect("whoever is busy stays").timer = None;
        let (mut writes, born) = self.collect(id, effects);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Again, born });
    }

    fn step_waits(&mut self, id: ProcedureId, children: Vec<New>, effects: Effects, data: &[u8]) {
        self.push_step(id);
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Waiting;
        entry.timer = None;
        let (mut writes, mut born) = self.collect(id, effects);
        self.bear(id, children, &mut writes, &mut born);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Waits, born });
    }

    fn bear(
        &mut self,
        id: ProcedureId,
        children: Vec<New>,
        writes: &mut Vec<Write>,
        born: &mut Born,
    ) {
        let count =
            u32::try_from(children.len()).expect("children fit into memory many times over");
        let first = self.next_id.fetch_add(u64::from(count), Ordering::Relaxed);
        let parent = &self.procedures[&id];
        let undoable = self.roots[&parent.root].undoable;
        for (child_id, child) in (first..).map(ProcedureId).zip(children) {
            let entry = self.entry(child, child_id, Some((id, parent)));
            writes.push(write(child_id, &entry, undoable, None));
            born.children.push((child_id, entry));
        }
        if count > 0 {
            self.procedures.get_mut(&id).expect("whoever is busy stays").children =
                Some((ProcedureId(first), count));
        }
    }

    fn step_suspends(&mut self, id: ProcedureId, wait: Wait, effects: Effects, data: &[u8]) {
        let Wait { event, timeout_ms, resumes, message, children } = wait;
        let skip = skips(&effects) && children.is_empty();
        if !skip {
            self.push_step(id);
        }
        let now = self.now;
        let ready = event.as_ref().is_some_and(|name| self.is_ready(name));
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.timer = timeout_ms.map(|length_ms| {
            let due_ms = now.wall_ms.saturating_add(i64::try_from(length_ms).unwrap_or(i64::MAX));
            Box::new(Timer { due_ms, length_ms, resumes })
        });
        entry.state = match (timeout_ms, message) {
            (Some(_), _) => State::WaitingTimeout,
            (None, true) => State::WaitingMessage,
            (None, false) if children.is_empty() => State::Runnable,
            (None, false) => State::Waiting,
        };
        entry.flags.woken |= ready || (message && !entry.inbox.is_empty());
        if let (Some(name), false) = (event, ready) {
            entry.event = Some(name.clone());
            self.events.entry(name).or_default().waiters.push_back(id);
        }
        if skip {
            self.after_step(id, Next::Suspends, Born::default());
            return;
        }
        let (mut writes, mut born) = self.collect(id, effects);
        self.bear(id, children, &mut writes, &mut born);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Suspends, born });
    }

    fn step_ended(&mut self, id: ProcedureId, data: Option<&[u8]>, effects: Effects) {
        let mut effects = effects;
        let result = effects.result.take();
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        if entry.children_left > 0 {
            // It ended while children of a timed wait still run: it is called again when they have ended.
            return self.step_waits(id, Vec::new(), effects, data.unwrap_or_default());
        }
        let is_root = entry.root == id;
        let failed = self.roots[&entry.root].course != Course::Running;
        if is_root && !failed {
            // Nobody will ask for the stack of a tree that succeeds.
            entry.flags.executed |= !entry.flags.bypass;
            self.metrics.steps += u64::from(!entry.flags.bypass);
        } else if !entry.flags.bypass {
            self.push_step(id);
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Success;
        entry.timer = None;
        entry.flags.locked = false;
        entry.result = result.map(Into::into);
        entry.updated_ms = self.now.wall_ms;
        let (mut writes, born) = self.collect(id, effects);
        if is_root && !failed {
            self.end_writes(id, data, &mut writes);
        } else {
            writes.push(self.record(id, data));
        }
        self.unit(writes, After::Stepped { id, next: Next::Ends, born });
    }

    /// Turns effects into writes and things to do after them.
    fn collect(&mut self, id: ProcedureId, effects: Effects) -> (Vec<Write>, Born) {
        let mut born = Born::default();
        let mut writes = std::mem::take(&mut self.room);
        writes.extend(effects.writes);
        for (spawned_id, new) in effects.spawned {
            let undoable = new.body.undoable();
            let tag = new.tag;
            let owner = self.procedures.get(&id).and_then(|entry| entry.owner.clone());
            let mut entry = self.entry(new, spawned_id, None);
            entry.owner = entry.owner.or(owner);
            entry.reply = Some(Box::new((id, tag)));
            writes.push(write(spawned_id, &entry, undoable, None));
            born.spawned.push((spawned_id, entry, undoable));
        }
        for (to, tag, data) in effects.sent {
            let (message, write) = self.message(to, Some(id), tag, Note::Data(data));
            writes.push(write);
            born.said.push((to, message));
        }
        (writes, born)
    }

    fn record(&self, id: ProcedureId, data: Option<&[u8]>) -> Write {
        let entry = &self.procedures[&id];
        write(id, entry, self.roots[&entry.root].undoable, data)
    }

    // --- Commits -------------------------------------------------------------------------------------------------------

    fn unit(&mut self, mut writes: Vec<Write>, after: After) -> u64 {
        self.assigned += 1;
        self.pending.units.push(Unit { writes: writes.len(), after, number: self.assigned });
        self.pending.writes.append(&mut writes);
        if (1..=64).contains(&writes.capacity()) {
            self.room = writes;
        }
        self.assigned
    }

    /// The number of the unit that was queued last.
    pub(super) fn assigned(&self) -> u64 {
        self.assigned
    }

    /// How many writes wait for a commit.
    pub(super) fn pending(&self) -> usize {
        self.pending.writes.len().max(self.pending.units.len())
    }

    /// Takes everything that waits.
    pub(super) fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.pending)
    }

    /// The store refused a batch. Steps wait for the next try; submissions and messages from outside are given back to
    /// whoever made them, and what may have been written of them is made as it was.
    pub(super) fn refused(&mut self, batch: Batch) {
        self.metrics.store_failures += 1;
        let mut writes = batch.writes.into_iter();
        let later = std::mem::take(&mut self.pending);
        for unit in batch.units {
            let own: Vec<_> = writes.by_ref().take(unit.writes).collect();
            let outside = match &unit.after {
                After::Submitted(entries) => {
                    entries.iter().all(|(_, entry, _)| entry.reply.is_none())
                }
                After::Delivered(said) => said.1.from.is_none(),
                _ => false,
            };
            if !outside {
                self.pending.units.push(unit);
                self.pending.writes.extend(own);
                continue;
            }
            self.refused.push(unit.number);
            let undo = self.undo.remove(&unit.number);
            let has_undo = undo.is_some();
            let mut back: Vec<_> = own
                .into_iter()
                .filter_map(|write| match write {
                    Write::Record(id, _) => Some(Write::Remove(id)),
                    // A message, which nobody has had.
                    Write::Put(row) if !has_undo => Some(Write::Delete(row.key)),
                    Write::Put(_) | Write::Remove(_) | Write::Delete(_) => None,
                })
                .collect();
            back.extend(undo.unwrap_or_default());
            self.pending.units.push(Unit {
                writes: back.len(),
                after: After::Nothing,
                number: unit.number,
            });
            self.pending.writes.extend(back);
        }
        self.pending.units.extend(later.units);
        self.pending.writes.extend(later.writes);
    }

    /// The batch is durable: what it was for happens now.
    pub(super) fn committed(&mut self, batch: Batch) {
        self.refuses_since = None;
        self.metrics.commits += 1;
        self.metrics.writes += batch.writes.len() as u64;
        self.metrics.largest_commit = self.metrics.largest_commit.max(batch.writes.len() as u64);
        let Batch { mut writes, mut units } = batch;
        for unit in units.drain(..) {
            self.committed = unit.number;
            if !self.undo.is_empty() {
                self.undo.remove(&unit.number);
            }
            self.after(unit.after);
        }
        // The next batch is made in the same room, unless it has begun in its own.
        writes.clear();
        if self.pending.is_empty() && writes.capacity() <= KEPT_ROOM {
            self.pending = Batch { writes, units };
        }
    }

    /// Whether the unit of this number is durable; an error if it was given back.
    pub(super) fn is_durable(&mut self, number: u64) -> Result<bool, ()> {
        if let Some(at) = self.refused.iter().position(|refused| *refused == number) {
            self.refused.swap_remove(at);
            return Err(());
        }
        Ok(self.committed >= number)
    }

    fn after(&mut self, after: After) {
        match after {
            After::Submitted(entries) => self.after_submitted(entries),
            After::Stepped { id, next, born } => self.after_step(id, next, born),
            After::Undone { id, idle } => self.after_undone(id, &idle),
            After::Locked(id) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.flags.busy = false;
                entry.flags.woken = false;
                let root_id = entry.root;
                self.roots
                    .get_mut(&root_id)
                    .expect("a live procedure has a living root")
                    .running -= 1;
                self.enqueue(id, true);
            }
            After::Ended(id) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.flags.busy = false;
                self.end_root(id);
            }
            After::Delivered(said) => self.after_delivered(said.0, said.1),
            After::Shown(id) => {
                if let Some(entry) = self.procedures.get_mut(&id) {
                    entry.shown = entry.state;
                }
            }
            After::Nothing => {}
        }
    }

    fn after_submitted(&mut self, entries: Vec<(ProcedureId, Box<Entry>, bool)>) {
        for (id, entry, undoable) in entries {
            self.metrics.submitted += 1;
            if let Some(nonce) = entry.nonce.as_deref() {
                self.nonces.insert(*nonce, (id, true));
            }
            self.roots.insert(id, Root::new(undoable));
            self.procedures.insert(id, entry);
            self.enqueue(id, false);
        }
    }

    fn after_delivered(&mut self, to: ProcedureId, message: Message) {
        let alive = self
            .procedures
            .get_mut(&to)
            .filter(|entry| !entry.state.is_end() && entry.body_or_busy());
        let Some(entry) = alive else {
            let key = self.inbox_key(to, message.number);
            self.unit(vec![Write::Delete(key)], After::Nothing);
            return;
        };
        entry.inbox.push(message);
        self.wake(to, false);
    }

    fn after_step(&mut self, id: ProcedureId, next: Next, born: Born) {
        self.count_time(id);
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        let root_id = entry.root;
        entry.flags.busy = false;
        entry.shown = entry.state;
        let woken = std::mem::take(&mut entry.flags.woken);
        let yields = entry.flags.yields;
        entry.children_left +=
            u32::try_from(born.children.len()).expect("they were counted before");
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        root.running -= 1;
        root.members.extend(born.children.iter().map(|(child, _)| *child));
        if next == Next::Fails && root.course == Course::Running {
            root.course = Course::Failed;
            root.first_failure = Some(id);
        }

        for (child_id, child) in born.children {
            self.metrics.submitted += 1;
            self.procedures.insert(child_id, child);
            self.enqueue(child_id, true);
        }
        self.after_submitted(born.spawned);
        for (to, message) in born.said {
            self.after_delivered(to, message);
        }

        match next {
            Next::Again if yields => {
                self.release(id, false);
                self.enqueue(id, false);
            }
            Next::Again => self.enqueue(id, true),
            Next::Waits => {
                self.release(id, false);
                let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
                if entry.children_left == 0 {
                    entry.state = State::Runnable;
                    self.enqueue(id, true);
                }
            }
            Next::Suspends => {
                self.release(id, false);
                let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
                let timer = entry
                    .timer
                    .as_deref()
                    .copied()
                    .filter(|_| entry.state == State::WaitingTimeout);
                if woken {
                    self.wake(id, true);
                } else if let Some(timer) = timer {
                    self.arm(id, timer.length_ms);
                }
            }
            Next::Ends => self.ends(id, root_id),
            Next::Fails => {
                self.leave_event(id);
                self.release(id, false);
            }
        }

        if let Some(root) = self.roots.get(&root_id)
            && root.course != Course::Running
            && root.running == 0
        {
            self.enqueue(root_id, true);
        }
    }

    /// A step was the last of its procedure, and it succeeded.
    fn ends(&mut self, id: ProcedureId, root_id: ProcedureId) {
        self.release(id, true);
        if id == root_id {
            // A root that ended while a child of a timed wait failed is undone with the rest.
            if self.roots[&id].course == Course::Running {
                self.end_root(id);
            }
            return;
        }
        self.metrics.succeeded += 1;
        let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
        entry.body = None;
        let taken = u64::try_from(entry.updated_ms.saturating_sub(entry.submitted_ms)).unwrap_or(0);
        self.metrics.duration_ms += taken;
        let inbox = std::mem::take(&mut entry.inbox);
        let parent_id = entry.parent.expect("whoever is not a root has a parent");
        if !inbox.is_empty() {
            let deletes = inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
        let Some(parent) = self.procedures.get_mut(&parent_id) else { return };
        parent.children_left = parent.children_left.saturating_sub(1);
        if parent.children_left == 0 && parent.state == State::Waiting {
            if !parent.flags.busy {
                parent.state = State::Runnable;
            }
            self.enqueue(parent_id, true);
        }
    }

    fn after_undone(&mut self, id: ProcedureId, idle: &[ProcedureId]) {
        for idle in idle {
            self.metrics.failed += 1;
            self.bury(*idle);
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        let root_id = entry.root;
        entry.flags.busy = false;
        entry.flags.woken = false;
        entry.shown = entry.state;
        let gone = entry.stack.is_empty();
        let yields = entry.flags.yields;
        self.roots.get_mut(&root_id).expect("a live procedure has a living root").running -= 1;
        if gone {
            self.metrics.failed += 1;
            self.bury(id);
        } else {
            self.release(id, false);
        }
        self.enqueue(root_id, !yields);
    }

    /// Removes one that will never be called again.
    fn bury(&mut self, id: ProcedureId) {
        self.count_time(id);
        self.leave_event(id);
        self.release(id, true);
        let Some(entry) = self.procedures.remove(&id) else { return };
        if !entry.inbox.is_empty() {
            let deletes = entry
                .inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
    }

    fn end_root(&mut self, id: ProcedureId) {
        let root = self.roots.remove(&id).expect("a living root");
        for member in root.members {
            if self.procedures.contains_key(&member) {
                if self.procedures[&id].state == State::RolledBack {
                    self.metrics.failed += 1;
                }
                self.bury(member);
            }
        }
        self.leave_event(id);
        self.release(id, true);
        self.count_time(id);
        let entry = self.procedures.remove(&id).expect("a living root is alive");
        let taken = u64::try_from(entry.updated_ms.saturating_sub(entry.submitted_ms)).unwrap_or(0);
        if entry.state == State::Success {
            self.metrics.succeeded += 1;
            self.metrics.duration_ms += taken;
        } else {
            self.metrics.failed += 1;
        }
        // Messages that came while the last commit was on its way.
        if !entry.inbox.is_empty() {
            let deletes = entry
                .inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
        self.news.push(id);
        if entry.reply.is_some() {
            return;
        }
        let ended_ms = i64::try_from(self.now.elapsed_ms).unwrap_or(i64::MAX);
        self.ended.insert(
            id,
            Ended {
                state: entry.state,
                bypass: entry.flags.bypass,
                failure: entry.failure,
                result: entry.result,
                nonce: entry.nonce,
                submitted_ms: entry.submitted_ms,
                updated_ms: entry.updated_ms,
                ended_ms,
                acknowledged_ms: None,
                keep: entry.flags.keep,
                placeholder: false,
            },
        );
    }

    // --- Operators -----------------------------------------------------------------------------------------------------

    /// Has a procedure, and all above it, end without running. See [`super::Executor::bypass`].
    pub(super) fn bypass(&mut self, id: ProcedureId, force: bool, recursive: bool) -> bool {
        let mut order = vec![id];
        if recursive {
            // Children first: the list is walked from its end.
            let mut at = 0;
            while at < order.len() {
                let above = order[at];
                let mut below: Vec<_> = self
                    .procedures
                    .iter()
                    .filter(|(_, entry)| entry.parent == Some(above) && !entry.state.is_end())
                    .map(|(id, _)| *id)
                    .collect();
                below.sort_unstable();
                order.extend(below);
                at += 1;
            }
        }
        let mut answer = false;
        for id in order.into_iter().rev() {
            answer = self.bypass_one(id, force, recursive);
            if !answer {
                return false;
            }
        }
        answer
    }

    fn bypass_one(&mut self, id: ProcedureId, force: bool, recursive: bool) -> bool {
        let Some(entry) = self.procedures.get(&id) else { return false };
        if self.fails(id) {
            return false;
        }
        let takes = matches!(
            entry.state,
            State::Runnable | State::Waiting | State::WaitingTimeout | State::WaitingMessage
        );
        let busy = entry.flags.busy;
        if !takes || (busy && !force) || (entry.children_left > 0 && !recursive) {
            return false;
        }
        let timed = entry.state == State::WaitingTimeout;
        let mut above = Some(id);
        while let Some(at) = above {
            let entry = self.procedures.get_mut(&at).expect("whoever has living children lives");
            above = entry.parent;
            if !entry.flags.bypass {
                entry.flags.bypass = true;
                if entry.flags.busy {
                    // Its state is with a worker, so the record cannot be written now.
                    let key = Key { space: BYPASS.into(), key: at.0.to_be_bytes().into() };
                    self.unit(vec![Write::Put(Row { key, value: Box::default() })], After::Nothing);
                } else {
                    let write = self.record(at, None);
                    self.unit(vec![write], After::Shown(at));
                }
            }
        }
        if busy {
            return true;
        }
        let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
        if timed {
            entry.flags.timed_out = true;
        } else if entry.children_left == 0 {
            entry.state = State::Runnable;
        } else {
            // It ends when its children have.
            return true;
        }
        self.enqueue(id, true);
        true
    }

    /// Removes results that were acknowledged or are old. Returns how many.
    pub(super) fn clean(
        &mut self,
        acknowledged_ms: i64,
        unacknowledged_ms: i64,
        at_most: usize,
    ) -> usize {
        let now = i64::try_from(self.now.elapsed_ms).unwrap_or(i64::MAX);
        let mut old: Vec<ProcedureId> = self
            .ended
            .iter()
            .filter(|(_, ended)| {
                !ended.keep
                    || ended.acknowledged_ms.is_some_and(|at| now - at >= acknowledged_ms)
                    || now - ended.ended_ms >= unacknowledged_ms
            })
            .map(|(id, _)| *id)
            .collect();
        old.sort_unstable();
        old.truncate(at_most);
        let mut writes = Vec::new();
        for id in &old {
            let ended = self.ended.remove(id).expect("it was found a moment ago");
            if let Some(nonce) = ended.nonce {
                self.nonces.remove(&*nonce);
            }
            if !ended.placeholder {
                writes.push(Write::Remove(*id));
            }
        }
        if !writes.is_empty() {
            self.unit(writes, After::Nothing);
        }
        old.len()
    }

    /// The counts of this moment.
    pub(super) fn measure(&self) -> Metrics {
        let mut metrics = self.metrics.clone();
        let mut oldest = None;
        for entry in self.procedures.values() {
            metrics.live[entry.shown.place()] += 1;
            metrics.state_ms[entry.counted.place()] +=
                self.now.elapsed_ms.saturating_sub(entry.since_ms);
            if entry.flags.queued {
                oldest = oldest.max(Some(self.now.elapsed_ms.saturating_sub(entry.queued_ms)));
            }
        }
        metrics.finished = self.ended.len() as u64;
        metrics.queued = self.queue.len() as u64;
        metrics.oldest_runnable_ms = oldest.unwrap_or(0);
        metrics.locks = self.locks.len() as u64;
        metrics
    }
}

impl Entry {
    fn body_or_busy(&self) -> bool {
        self.body.is_some() || self.flags.busy
    }
}

fn skips(effects: &Effects) -> bool {
    effects.skip
        && effects.writes.is_empty()
        && effects.spawned.is_empty()
        && effects.sent.is_empty()
}

/// A failure if one of the children is of a kind that could not be loaded again.
fn stranger<'a>(
    children: impl Iterator<Item = &'a mut New>,
    registry: &Registry,
) -> Option<Failure> {
    for (at, child) in children.enumerate() {
        let Some(kind) = registry.name(&child.kind) else {
            let message =
                format!("child {at} is of kind `{}`, which nobody registered", child.kind);
            return Some(Failure::new("executor", Failure::CHILD, message));
        };
        child.kind = kind;
    }
    None
}

fn is_above(
    procedures: &HashMap<ProcedureId, Box<Entry>, IdHasher>,
    holder: ProcedureId,
    id: ProcedureId,
) -> bool {
    let mut above = procedures.get(&id).and_then(|entry| entry.parent);
    while let Some(at) = above {
        if at == holder {
            return true;
        }
        above = procedures.get(&at).and_then(|entry| entry.parent);
    }
    false
}

fn pop_run(stack: &mut Vec<(u32, u32)>) {
    if let Some((_, count)) = stack.last_mut() {
        *count -= 1;
        if *count == 0 {
            stack.pop();
        }
    }
}

/// The write of a record as the entry stands.
fn write(id: ProcedureId, entry: &Entry, undoable: bool, data: Option<&[u8]>) -> Write {
    let saved;
    let data = match (data, &entry.body) {
        (Some(data), _) => data,
        (None, Some(body)) => {
            saved = body.save();
            &saved[..]
        }
        (None, None) => &[],
    };
    let flags = entry.flags;
    let wire = Wire {
        kind: &entry.kind,
        parent: entry.parent,
        owner: entry.owner.as_deref(),
        priority: entry.priority,
        state: entry.state,
        submitted_ms: entry.submitted_ms,
        updated_ms: entry.updated_ms,
        timer: entry.timer.as_deref().copied(),
        stack: &entry.stack,
        children: entry.children,
        flags: record::flags([
            flags.executed,
            flags.locked,
            flags.bypass,
            flags.abort,
            undoable,
            flags.keep,
        ]),
        failure: entry.failure.as_deref(),
        result: entry.result.as_deref(),
        nonce: entry.nonce.as_deref().copied(),
        reply: entry.reply.as_deref().copied(),
        data,
    };
    Write::Record(id, wire.encode())
}
