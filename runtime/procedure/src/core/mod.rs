//! The state of all live procedures, and the rules by which it changes. No threads, disk or clock here.
//!
//! It handles outcomes of user code, completed commits and expired timers, and returns the next [`Task`] to run, and
//! [`Write`]s to commit with what to do afterward ([`After`]). Effects of a step that others can see happen only after
//! its commit.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::context::Effects;
use super::lock::Locks;
use super::queue::Queue;
use super::record::Timer;
use super::{
    Failure, IdHasher, Lock, Message, Metrics, New, Nonce, Note, Procedure, ProcedureId, State,
    Step, TimedOut, UndoError,
};
use crate::store::{Key, Row, Write};

mod commit;
mod operators;
mod settle;

use settle::write;

/// The space of rows in which messages wait.
pub(super) const INBOX: &str = "inbox";

/// The space of rows for procedures that were busy when they were to be bypassed.
pub(super) const BYPASS: &str = "bypass";

/// The allocation of a batch with more writes than this is not reused.
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
    /// Since when its time has not been counted yet, by elapsed time, and the state that it will be counted for.
    pub(super) since_ms: u64,
    pub(super) counted: State,
    pub(super) children_left: u32,
    /// Counts waits, so that the timer of an earlier one is recognized as stale.
    pub(super) waits: u32,
    pub(super) state: State,
    /// The state as of the last commit, which is the one that others see.
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

/// State shared by the members of a tree.
pub(super) struct Root {
    /// Every child that ever existed, at any depth, as long as the tree lives.
    pub(super) members: Vec<ProcedureId>,
    /// The procedure that made each step, oldest first.
    pub(super) stack: Vec<ProcedureId>,
    pub(super) course: Course,
    /// The number of members with a step in progress or being committed.
    pub(super) running: u32,
    pub(super) undoable: bool,
    /// Whether the members that never made a step have been removed.
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

/// A root that has ended and whose result still exists.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) state: State,
    pub(super) bypass: bool,
    pub(super) failure: Option<Box<Failure>>,
    pub(super) result: Option<Box<[u8]>>,
    pub(super) nonce: Option<Box<Nonce>>,
    pub(super) submitted_ms: i64,
    pub(super) updated_ms: i64,
    /// By elapsed time; may be before the start of the process.
    pub(super) ended_ms: i64,
    pub(super) acknowledged_ms: Option<i64>,
    pub(super) keep: bool,
    /// Whether this is only a failure for callers that repeat a request; never stored.
    pub(super) placeholder: bool,
}

#[derive(Debug, Default)]
struct Event {
    ready: bool,
    waiters: VecDeque<ProcedureId>,
}

/// The result of polling the queue.
pub(super) enum Polled {
    /// User code is to be called.
    Task(Box<Task>),
    /// Something was done without a call; its writes are waiting.
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
    pub(super) answers_to: Option<ProcedureId>,
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

/// The result of a call.
pub(super) enum Outcome {
    Executed(Result<Step, Failure>),
    Undone(Result<(), UndoError>),
    TimedOut(TimedOut),
    Aborted(bool),
}

/// A finished call with its results.
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

/// Writes that are committed together, and what follows then.
struct Unit {
    writes: usize,
    after: After,
    number: u64,
}

/// What is done once the preceding writes are durable.
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

/// The procedures created by a step, and the messages that it sent.
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

/// A batch of writes for the store.
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

/// The current time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) wall_ms: i64,
    pub(super) elapsed_ms: u64,
}

/// All live procedures.
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
    /// Roots that ended since the last check.
    pub(super) news: Vec<ProcedureId>,
    /// The store's last error.
    pub(super) last_error: Option<crate::store::Error>,
    /// Since when the store has been refusing commits, by elapsed time.
    pub(super) refuses_since: Option<u64>,
    /// The store's error for which it was given up.
    pub(super) given_up: Option<crate::store::Error>,
    queue: Queue,
    events: HashMap<Arc<str>, Event>,
    timers: BinaryHeap<Reverse<(u64, ProcedureId, u32)>>,
    pending: Batch,
    refused: Vec<u64>,
    /// Messages from outside whose receivers had ended.
    lost: Vec<u64>,
    /// The previous state of rows, by the number of the submission, until that is durable.
    undo: HashMap<u64, Vec<Write>, IdHasher>,
    assigned: u64,
    committed: u64,
    inbox: Arc<str>,
    /// A reused buffer for the writes of one step.
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
            lost: Vec::new(),
            undo: HashMap::default(),
            assigned: 0,
            committed: 0,
            inbox: INBOX.into(),
            room: Vec::new(),
        }
    }

    // --- Creation ------------------------------------------------------------------------------------------------------

    /// Creates the entry of a new procedure. `above` is its parent and root if it is a child.
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

    /// Queues the submission of roots, and of rows that go with them; `undo` restores the previous state of these rows.
    /// Returns the number to wait for.
    pub(super) fn submit(
        &mut self,
        new: Vec<(ProcedureId, New, Option<Nonce>)>,
        rows: Vec<Write>,
        undo: Vec<Write>,
    ) -> u64 {
        let mut entries = Vec::with_capacity(new.len());
        let mut writes = rows;
        for (id, mut new, nonce) in new {
            let undoable = new.body.undoable();
            let message = new.message.take();
            let mut entry = self.entry(new, id, None);
            entry.nonce = nonce.map(Box::new);
            if let Some(data) = message {
                let (message, write) = self.message(id, None, 0, Note::Data(data));
                entry.inbox.push(message);
                writes.push(write);
            }
            writes.push(write(id, &entry, undoable, None));
            entries.push((id, entry, undoable));
        }
        let number = self.unit(writes, After::Submitted(entries));
        if !undo.is_empty() {
            self.undo.insert(number, undo);
        }
        number
    }

    /// Queues a message from outside, and returns the numbers of its unit and of the message; none if no procedure with
    /// this id is alive.
    pub(super) fn send(&mut self, to: ProcedureId, tag: u64, data: Vec<u8>) -> Option<(u64, u64)> {
        let live = self.procedures.get(&to).is_some_and(|entry| !entry.state.is_end());
        live.then(|| {
            let (message, write) = self.message(to, None, tag, Note::Data(data));
            let number = message.number;
            (self.unit(vec![write], After::Delivered(Box::new((to, message)))), number)
        })
    }

    /// Whether a message from outside arrived after its receiver had ended. To be called once, when its unit is
    /// durable.
    pub(super) fn was_lost(&mut self, message: u64) -> bool {
        let at = self.lost.iter().position(|lost| *lost == message);
        at.map(|at| self.lost.swap_remove(at)).is_some()
    }

    /// Queues writes that belong to no step.
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

    /// Ends a wait, if it may be ended from outside.
    pub(super) fn wake(&mut self, id: ProcedureId, front: bool) -> bool {
        let Some(entry) = self.procedures.get_mut(&id) else { return false };
        if !matches!(entry.state, State::Runnable | State::WaitingTimeout | State::WaitingMessage) {
            return false;
        }
        if !entry.flags.busy {
            entry.state = State::Runnable;
            // A timer that was armed belongs to an earlier wait from now on.
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
        // Each goes to the front, so the first to wait is pushed last.
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

    /// Returns when the next timer may expire.
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

    /// Returns the next thing to do.
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
                // The lock must be recorded as held before anything is done under it.
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

    /// Returns a call of a procedure outside its turn, unless it is busy.
    pub(super) fn task_now(&mut self, id: ProcedureId, call: Call) -> Option<Box<Task>> {
        let entry = self.procedures.get(&id)?;
        (!entry.flags.busy && entry.body.is_some()).then(|| self.task(id, call))
    }

    /// Whether the tree of a live procedure has failed. Records that were to be removed must then not be written any
    /// more.
    pub(super) fn fails(&self, id: ProcedureId) -> bool {
        self.roots[&self.procedures[&id].root].course != Course::Running
    }

    fn start(&mut self, id: ProcedureId) {
        let entry = self.procedures.get_mut(&id).expect("only the living are started");
        entry.flags.busy = true;
        self.roots.get_mut(&entry.root).expect("a live procedure has a living root").running += 1;
    }

    /// Adds the time since the last change of state to the previous state.
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
            answers_to: entry.reply.as_deref().map(|(to, _)| *to),
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

    /// Releases the lock. One that is held for life is only released `at_end`.
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

    /// Returns the next thing to undo in a failed tree, once none of its members is busy.
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

    /// Removes the last step of `id` from the stack, as durably as any step. `data` is its state if user code changed
    /// it.
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
        // The failure of the root is written with the first step that is undone.
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

    /// Members that never made a step are removed with the first step that is undone, before a parent of theirs is.
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

    /// Rollbacks may send messages and spawn procedures too; these need no step of their own.
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

    /// Returns the writes for the end of a root: its record or its answer, and the removal of every child and message.
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
        // Its lock is released, and its children no longer count.
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
}

impl Entry {
    fn body_or_busy(&self) -> bool {
        self.body.is_some() || self.flags.busy
    }
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
