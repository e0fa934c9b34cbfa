//! The durable executor of procedures: long operations of many steps that must end in a known state, whatever happens.
//!
//! It runs procedures of the kinds in a [`Registry`] over a [`Store`](crate::store::Store), with the time and
//! randomness of a [`Host`]. Each submitted procedure ends as *succeeded* or *rolled back*, its steps made durable one
//! by one, through crashes of the process and of the machine. What a step may assume, and the guarantees in full,
//! follow below.
//!
//! What the steps do is up to the caller. Workflow jobs, coordinators and purges are procedures; they keep their own
//! rows next to the records of the executor, written in the same commit as the step that changes them
//! ([`Context::put`]).
//!
#![doc = include_str!("../../../docs/procedures.md")]

mod context;
pub mod control;
mod core;
mod executor;
mod helpers;
mod host;
mod load;
mod lock;
mod metrics;
pub mod private;
mod queue;
mod record;
pub mod store;

pub use context::{Context, Message, Note};
pub use executor::{Config, Error, Executor, Finished, Listing, Recovery, Rows, Submitted, Unfit};
pub use helpers::{Sequence, Visited, one_step};
pub use host::{Host, RealHost};
pub use load::has_messages;
pub use lock::{Lock, Mode};
pub use metrics::Metrics;
pub use record::{Record, RecordError, Timer};
pub use store::ProcedureId;

use store::IdHasher;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A durable operation. One value of a type is one procedure; only what `save` returns survives a restart.
///
/// A procedure is never run by two workers at once. A step whose commit had not happened may run again after a crash,
/// so its effects outside must be safe to repeat; see `docs/procedures.md`.
pub trait Procedure: Send {
    /// Executes one step and returns what comes next. With an `Err`, the collected rows and messages are dropped;
    /// `Ok(Step::Fail(…))` commits them with the failure.
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure>;

    /// Undoes one step: called once for each step that became durable, last first, when the tree has failed. Steps of a
    /// procedure that succeeded are not undone; its parent compensates for them in its own rollback.
    fn rollback(&mut self, context: &mut Context<'_>) -> Result<(), UndoError> {
        let _ = context;
        Ok(())
    }

    /// Asks the procedure to abort. `true` accepts: that is durable, and from then on [`Context::abort_requested`]
    /// returns `true`. It does not interrupt or wake anything.
    fn abort(&mut self, context: &mut Context<'_>) -> bool {
        let _ = context;
        true
    }

    /// Handles the time-out of a [`Wait`].
    fn timed_out(&mut self, context: &mut Context<'_>) -> TimedOut {
        let _ = context;
        TimedOut::Fail
    }

    /// Returns its own state as bytes, from which the registered function of its kind restores it.
    fn save(&self) -> Vec<u8>;

    /// Returns the lock that it needs while it runs, if any.
    fn lock(&self) -> Option<Lock> {
        None
    }

    /// Whether its steps, and those of its children, are undone if it fails; called for a root at its submission. If
    /// not, no stack of steps is kept, and a failure ends the tree without any call of `rollback`.
    fn undoable(&self) -> bool {
        true
    }

    /// Whether messages that arrive during its last step are dropped, like later ones. If not, another step follows.
    fn drops_messages(&self) -> bool {
        true
    }

    /// Whether it goes to the end of the queue after each step, instead of continuing.
    fn yields_after_step(&self) -> bool {
        false
    }
}

/// The result of `execute`.
#[derive(Debug)]
pub enum Step {
    /// The procedure has succeeded. See [`Context::set_result`].
    Done,
    /// This step is done, and another follows at once.
    More,
    /// These children run, in no particular order; the next step follows when all have succeeded. An empty list means
    /// `Done`.
    Children(Vec<New>),
    /// This step is done; the next one follows when the procedure is woken.
    Suspend(Wait),
    /// Not a step: nothing is written or counted, what was collected is dropped, and it is tried again after other
    /// procedures.
    Yield,
    /// The procedure has failed, and its tree is rolled back. Collected rows and messages are committed with the
    /// failure.
    Fail(Failure),
}

/// What a suspended procedure waits for. It is also woken by a message, by [`Executor::wake`], and, unless the wait is
/// [durable](Wait::for_message), by a restart: a step that finds nothing to do suspends again.
#[derive(Debug, Default)]
pub struct Wait {
    pub(crate) event: Option<Arc<str>>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) resumes: bool,
    pub(crate) message: bool,
    pub(crate) children: Vec<New>,
}

impl Wait {
    /// Waits until [`Executor::wake`] is called for it, or it gets a message.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits until the event of this name is ready. If it is ready now, the next step follows at once.
    pub fn event(name: impl Into<Arc<str>>) -> Self {
        Wait { event: Some(name.into()), ..Self::default() }
    }

    /// Waits until it has a message, which may have arrived already. A restart does not wake it, since messages are
    /// durable.
    pub fn for_message() -> Self {
        Wait { message: true, ..Self::default() }
    }

    /// Waits for this long, and then continues with the next step. A message wakes it earlier.
    pub fn pause(ms: u64) -> Self {
        Wait { timeout_ms: Some(ms), resumes: true, ..Self::default() }
    }

    /// Limits the wait; after that, [`Procedure::timed_out`] decides.
    #[must_use]
    pub fn timeout(mut self, ms: u64) -> Self {
        self.timeout_ms = Some(ms);
        self.resumes = false;
        self
    }

    /// Limits the wait; after that, the next step follows.
    #[must_use]
    pub fn or_pause(mut self, ms: u64) -> Self {
        self.timeout_ms = Some(ms);
        self.resumes = true;
        self
    }

    /// Runs these children meanwhile. Their end does not wake it.
    #[must_use]
    pub fn children(mut self, children: Vec<New>) -> Self {
        self.children = children;
        self
    }
}

/// What follows after a time-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedOut {
    /// The procedure fails and its tree is rolled back.
    Fail,
    /// The next step follows.
    Run,
}

/// Why a step could not be undone now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoError {
    /// Try again, without limit, after other procedures.
    Retry(String),
    /// It cannot be undone, for this reason; the step counts as undone.
    GiveUp(String),
}

/// Why a procedure failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The source of the failure: a name chosen by the procedure, or `executor`.
    pub source: String,
    /// A short name for the kind of failure, for programs; [`Failure::TIMEOUT`] and the like come from the executor.
    pub code: String,
    /// A message for people.
    pub message: String,
}

impl Failure {
    /// The code of a time-out that was not handled.
    pub const TIMEOUT: &'static str = "timeout";
    /// The code of a step that panicked; the source is `bug`.
    pub const PANIC: &'static str = "panic";
    /// The code for a parent whose child is of an unregistered kind.
    pub const CHILD: &'static str = "child";

    /// Creates a failure of a procedure.
    pub fn new(
        source: impl Into<String>,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Failure { source: source.into(), code: code.into(), message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.source, self.message)
    }
}

impl std::error::Error for Failure {}

/// The state of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum State {
    /// Ready to run, running, or suspended without a time-out.
    Runnable,
    /// Waiting for its children.
    Waiting,
    /// Suspended, with a time-out.
    WaitingTimeout,
    /// Suspended until it has a message.
    WaitingMessage,
    /// Failed and not yet undone.
    Failed,
    /// Failed and undone. Final.
    RolledBack,
    /// Succeeded. Final.
    Success,
}

impl State {
    /// Whether the state is final.
    pub fn is_end(self) -> bool {
        matches!(self, State::Success | State::RolledBack)
    }

    /// Returns the name in lower case, for people and for metrics.
    pub fn name(self) -> &'static str {
        match self {
            State::Runnable => "runnable",
            State::Waiting => "waiting",
            State::WaitingTimeout => "waiting_timeout",
            State::WaitingMessage => "waiting_message",
            State::Failed => "failed",
            State::RolledBack => "rolled_back",
            State::Success => "success",
        }
    }

    /// Returns its index in [`State::ALL`].
    pub(crate) fn place(self) -> usize {
        Self::ALL.iter().position(|state| *state == self).expect("every state is in the list")
    }

    /// All states.
    pub const ALL: [State; 7] = [
        State::Runnable,
        State::Waiting,
        State::WaitingTimeout,
        State::WaitingMessage,
        State::Failed,
        State::RolledBack,
        State::Success,
    ];
}

/// Identifies one request of one client, so that sending it twice carries it out once. Number zero identifies none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Nonce {
    /// The client.
    pub group: u64,
    /// The request.
    pub number: u64,
}

/// A procedure that does not exist yet: to be submitted, returned as a child, or spawned.
pub struct New {
    pub(crate) kind: Arc<str>,
    pub(crate) body: Box<dyn Procedure>,
    pub(crate) owner: Option<Arc<str>>,
    pub(crate) priority: u8,
    pub(crate) keep: bool,
    pub(crate) tag: u64,
    pub(crate) message: Option<Vec<u8>>,
}

impl New {
    /// Creates a procedure of a registered kind.
    pub fn of(kind: impl Into<Arc<str>>, body: impl Procedure + 'static) -> Self {
        Self::boxed(kind, Box::new(body))
    }

    /// Like [`New::of`], for a boxed procedure.
    pub fn boxed(kind: impl Into<Arc<str>>, body: Box<dyn Procedure>) -> Self {
        New { kind: kind.into(), body, owner: None, priority: 0, keep: true, tag: 0, message: None }
    }

    /// Sets the owner. Owners take turns in the queue. A child without one has its parent's.
    #[must_use]
    pub fn owner(mut self, owner: impl Into<Arc<str>>) -> Self {
        self.owner = Some(owner.into());
        self
    }

    /// Sets the priority. Larger numbers go first; zero is the default.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Declares that the result will not be acknowledged, so that the next cleanup may remove it.
    #[must_use]
    pub fn unattended(mut self) -> Self {
        self.keep = false;
        self
    }

    /// Sets a number, chosen by the spawner, that comes back with the answer ([`Message::tag`]).
    #[must_use]
    pub fn tag(mut self, tag: u64) -> Self {
        self.tag = tag;
        self
    }

    /// Sets a message that a submitted root finds at its first step. It becomes durable with the root. A procedure that
    /// a step spawns has none: the step can send it one.
    #[must_use]
    pub fn message(mut self, data: impl Into<Vec<u8>>) -> Self {
        self.message = Some(data.into());
        self
    }
}

impl fmt::Debug for New {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("New")
            .field("kind", &self.kind)
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

type Decode = dyn Fn(&[u8]) -> Result<Box<dyn Procedure>, String> + Send + Sync;

/// The kinds of procedures that a process knows, each with the function that restores one from its saved bytes. That
/// function captures whatever a procedure needs from the outside world.
#[derive(Default)]
pub struct Registry {
    kinds: HashMap<Arc<str>, Box<Decode>>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind. `decode` gets what [`Procedure::save`] wrote; an error quarantines the tree of that procedure.
    pub fn register<P: Procedure + 'static>(
        &mut self,
        kind: impl Into<Arc<str>>,
        decode: impl Fn(&[u8]) -> Result<P, String> + Send + Sync + 'static,
    ) -> &mut Self {
        self.kinds.insert(kind.into(), Box::new(move |bytes| Ok(Box::new(decode(bytes)?))));
        self
    }

    /// Restores a procedure from its saved state.
    pub fn decode(&self, kind: &str, bytes: &[u8]) -> Result<Box<dyn Procedure>, String> {
        let Some(decode) = self.kinds.get(kind) else {
            return Err(format!("no kind of procedure is named `{kind}`"));
        };
        decode(bytes)
    }

    /// Returns the shared copy of a kind's name, if the kind is registered.
    pub(crate) fn name(&self, kind: &str) -> Option<Arc<str>> {
        self.kinds.get_key_value(kind).map(|(name, _)| name.clone())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.kinds.keys()).finish()
    }
}
