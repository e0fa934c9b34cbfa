//! The whole semantics of a workflow job as a function: `apply(plan, run, event, world) -> effects`.
//!
//! In: a [`Plan`](crate::plan::Plan), a [`Run`], one [`Event`] and a [`World`] that answers the queries of expressions.
//! Out: the changed run and the [`Effect`]s that someone else carries out: calls to executors of actions, timers,
//! notifications. Nothing is awaited here: an executor's answer is an event of its own. A run is the state; the rows
//! that changed are named ([`Run::take_changes`]), so that a store writes only those.
//!
//! It must not know XML workflows, clocks, files or processes.

mod apply;
mod child;
pub mod coordinator;
mod expect;
mod outside;
mod rare;
mod rerun;
mod rows;
mod scope;
mod submit;

use std::collections::{BTreeMap, BTreeSet};

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

pub use apply::apply;
pub use child::{Child, DEEPEST, child, exception};
pub use outside::Outside;
pub use rare::{Rare, Seldom};
pub use rerun::{RerunBy, rerun};
pub use rows::Rows;
pub use scope::JobScope;
pub use submit::{Refused, Submission, submit};

use crate::coordinator::{Sla, SlaEvent};
use crate::el::{Called, Failure, FileScope};
use crate::plan::NodeIndex;

/// Placeholder for an absent value.
pub const DASH: CompactString = CompactString::const_new("-");

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobStatus {
    /// Submitted.
    #[default]
    Prep,
    /// Runs.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended by a kill node or an operator.
    Killed,
    /// Ended by a fault.
    Failed,
    /// Waits for an operator.
    Suspended,
}

impl JobStatus {
    /// All of them.
    pub const ALL: [JobStatus; 6] = [
        JobStatus::Prep,
        JobStatus::Running,
        JobStatus::Succeeded,
        JobStatus::Killed,
        JobStatus::Failed,
        JobStatus::Suspended,
    ];

    /// The word of the web services.
    pub fn name(self) -> &'static str {
        match self {
            JobStatus::Prep => "PREP",
            JobStatus::Running => "RUNNING",
            JobStatus::Succeeded => "SUCCEEDED",
            JobStatus::Killed => "KILLED",
            JobStatus::Failed => "FAILED",
            JobStatus::Suspended => "SUSPENDED",
        }
    }

    /// Whether it has ended.
    pub fn is_end(self) -> bool {
        matches!(self, JobStatus::Succeeded | JobStatus::Killed | JobStatus::Failed)
    }
}

/// Where an action is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names of the states are their meaning; docs/engine.md tells them"
)]
pub enum Status {
    #[default]
    Prep,
    Running,
    Ok,
    Error,
    UserRetry,
    StartRetry,
    StartManual,
    Done,
    EndRetry,
    EndManual,
    Killed,
    Failed,
}

impl Status {
    /// The word of the web services.
    pub fn name(self) -> &'static str {
        match self {
            Status::Prep => "PREP",
            Status::Running => "RUNNING",
            Status::Ok => "OK",
            Status::Error => "ERROR",
            Status::UserRetry => "USER_RETRY",
            Status::StartRetry => "START_RETRY",
            Status::StartManual => "START_MANUAL",
            Status::Done => "DONE",
            Status::EndRetry => "END_RETRY",
            Status::EndManual => "END_MANUAL",
            Status::Killed => "KILLED",
            Status::Failed => "FAILED",
        }
    }

    /// Whether the node is through, but for its signal.
    pub fn is_complete(self) -> bool {
        matches!(self, Status::Ok | Status::Killed | Status::Error)
    }
}

/// What is known of one visited node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the job object")]
pub struct Row {
    /// Rows are listed in this order.
    pub sequence: u32,
    pub status: Status,
    pub pending: bool,
    /// When a retry is due, in milliseconds since 1970.
    pub due: Option<i64>,
    pub path: CompactString,
    pub retries: u32,
    /// Retries by the engine over the whole run.
    pub all_retries: u32,
    pub user_retry_count: u32,
    pub user_retry_max: u32,
    pub user_retry_interval: u32,
    /// Whether its user retries are exponential.
    pub user_retry_exponential: bool,
    pub created: i64,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    pub external: Outside,
    pub output: Rare<Output>,
    pub signal: Option<CompactString>,
    pub transition: Option<CompactString>,
    pub error: Rare<ActionError>,
    /// The evaluated text of the action.
    pub conf: Option<Box<str>>,
    /// What an executor is doing now.
    pub calling: Option<Phase>,
    /// Counts calls and timers, so that a late answer is known as such.
    pub serial: u32,
    /// Calls of the start phase in this run, for ids that a repeated call must find again.
    pub starts: u32,
    /// Whether expressions see what it left behind.
    pub left: bool,
    /// Whether it is to be passed over in a rerun.
    pub skip: bool,
    /// Whether a token came here in this run; actions, decisions and joins take no second one.
    pub entered: bool,
    /// Past attempts by user retry: start and end.
    pub attempts: Rare<Vec<(i64, Option<i64>)>>,
}

/// What an action left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Jobs that it started.
    pub child_ids: Option<String>,
    /// What it captured, as Java properties.
    pub data: Option<String>,
    /// Its counters.
    pub stats: Option<String>,
}

impl Seldom for Output {
    const NOTHING: &'static Output = &Output { child_ids: None, data: None, stats: None };
}

/// What went wrong with an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionError {
    /// The code of the server.
    pub code: Option<String>,
    /// One sentence.
    pub message: Option<String>,
}

impl Seldom for ActionError {
    const NOTHING: &'static ActionError = &ActionError { code: None, message: None };
}

impl Seldom for Vec<(i64, Option<i64>)> {
    const NOTHING: &'static Vec<(i64, Option<i64>)> = &Vec::new();
}

/// What is known of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the job object")]
pub struct Job {
    pub id: String,
    pub status: JobStatus,
    pub run: u32,
    pub name: String,
    pub app_path: String,
    pub user: String,
    pub group: Option<String>,
    pub parent_id: Option<String>,
    pub external_id: Option<String>,
    pub created: i64,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    pub modified: i64,
    /// What each path is at, and whether its node has been entered.
    pub tokens: BTreeMap<String, NodeIndex>,
    /// How many branches each fork still waits for, by its path.
    pub forks: BTreeMap<String, i32>,
    /// The last action that ended with ERROR.
    pub last_error: Option<NodeIndex>,
    /// Commands that wait for an executor's answer.
    pub deferred: Vec<Command>,
    /// Forks whose branches have not all begun, by path.
    pub starting: BTreeMap<String, Starting>,
    /// Actions that begin when the one that begins now has, on a server that begins branches one after the other.
    pub queued: Vec<NodeIndex>,
    /// The next row's place.
    pub sequence: u32,
}

/// The branches of a fork begin together: none goes on before each has begun.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starting {
    /// How many executors have not answered.
    pub left: u32,
    /// First nodes of branches that could go on.
    pub held: Vec<NodeIndex>,
}

/// A job and its rows.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The job.
    pub job: Job,
    /// Its properties, resolved, as of its submission.
    pub conf: std::sync::Arc<BTreeMap<String, String>>,
    /// Rows by node.
    pub rows: Rows,
    /// What SLA blocks expect of actions by node, and of the job at [`NOWHERE`](crate::plan::NOWHERE).
    pub expectations: BTreeMap<NodeIndex, Sla>,
    changed: Changed,
    removed: BTreeSet<NodeIndex>,
}

/// Nodes whose rows were written, some of them several times.
#[derive(Clone, Debug, Default)]
struct Changed(Vec<NodeIndex>);

impl Changed {
    #[inline]
    fn insert(&mut self, node: NodeIndex) {
        if self.0.last() != Some(&node) {
            self.0.push(node);
        }
    }
}

impl Run {
    /// A run of a job whose rows are known.
    pub fn new(job: Job, conf: std::sync::Arc<BTreeMap<String, String>>, rows: Rows) -> Run {
        Run { job, conf, rows, ..Run::default() }
    }

    /// Rows in the order of their creation.
    pub fn in_order(&self) -> Vec<(NodeIndex, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| row.sequence);
        rows
    }

    /// The rows that were written, and those that were removed, since this was asked last.
    pub fn take_changes(&mut self) -> (Vec<NodeIndex>, BTreeSet<NodeIndex>) {
        let mut changed = std::mem::take(&mut self.changed.0);
        changed.sort_unstable();
        changed.dedup();
        (changed, std::mem::take(&mut self.removed))
    }

    /// Forgets them, where nothing is written.
    pub fn forget_changes(&mut self) {
        self.changed.0.clear();
        self.removed.clear();
    }

    /// A property of the job.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.conf.get(name).map(String::as_str)
    }
}

/// A part of an action's life that an executor is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Begin it.
    Start,
    /// Ask how it does.
    Check,
    /// Take its result.
    End,
    /// Stop it.
    Kill,
}

/// What an operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Run it.
    Start,
    /// Stop between nodes.
    Suspend,
    /// Go on.
    Resume,
    /// End it.
    Kill,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An operator's command.
    Command(Command),
    /// An executor answered a call.
    Answered {
        /// The node.
        node: NodeIndex,
        /// The call's number.
        serial: u32,
        /// What it was called for.
        phase: Phase,
        /// What it said.
        answer: Answer,
    },
    /// A timer went off.
    Due {
        /// The node.
        node: NodeIndex,
        /// Its number.
        serial: u32,
    },
    /// The outside has news of a running action: its executor is asked.
    Check {
        /// The node.
        node: NodeIndex,
    },
}

/// What an executor says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Start: it runs elsewhere.
    Started(External),
    /// Start or check: it is through.
    Finished(Finished),
    /// Check: it still runs.
    Running(Option<String>),
    /// End: it ended with this status; by its external status if none is said.
    Ended(Option<Status>),
    /// Kill: it is stopped.
    Stopped,
    /// It forgot to say what it must say.
    Missing,
    /// It failed.
    Error(Class, String, String),
}

/// How the engine takes an error of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// Tried again by the engine.
    Transient,
    /// The job is suspended.
    NonTransient,
    /// The error transition.
    Error,
    /// The job fails.
    Failed,
}

/// What an executor says of an action that is through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Its ids, where they are news.
    pub external: Option<External>,
    /// How it ended.
    pub status: CompactString,
    /// What it left behind.
    pub output: Rare<Output>,
    /// What went wrong with it.
    pub error: Rare<ActionError>,
}

impl Finished {
    /// It ended so, and left nothing behind.
    pub fn new(status: impl Into<CompactString>) -> Finished {
        Finished {
            external: None,
            status: status.into(),
            output: Rare::default(),
            error: Rare::default(),
        }
    }
}

/// How an action is known outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the job object")]
pub struct External {
    pub id: CompactString,
    pub tracker: CompactString,
    pub console: CompactString,
}

impl External {
    /// Whether something is missing that every action has that runs.
    fn is_blank(&self) -> bool {
        [&self.id, &self.tracker, &self.console].into_iter().any(|text| text.is_empty())
    }

    /// Of an action that has nothing outside.
    pub fn none() -> External {
        External { id: DASH, tracker: DASH, console: DASH }
    }
}

/// What someone else does for the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Call an executor; the answer is [`Event::Answered`].
    Call {
        /// The node.
        node: NodeIndex,
        /// The call's number.
        serial: u32,
        /// What for.
        phase: Phase,
    },
    /// Tell when a moment has come, by [`Event::Due`].
    Timer {
        /// The node.
        node: NodeIndex,
        /// The timer's number.
        serial: u32,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// Something changed that people and replays see.
    Changed(Change),
    /// Tell an URL.
    Notify(String),
    /// The parent job is to be suspended too.
    SuspendParent,
    /// The job has ended.
    Ended,
}

/// A change of a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Of the job.
    Job(JobStatus),
    /// Of a node's row.
    Row {
        /// The node.
        node: NodeIndex,
        /// Its status.
        status: Status,
        /// Whether someone still has to act on it.
        pending: bool,
    },
    /// The job is broken in itself, and no action tells why.
    Fault(Box<Fault>),
    /// An expectation of an SLA block was met or missed.
    Expectation {
        /// The action; [`NOWHERE`](crate::plan::NOWHERE) for the job itself.
        node: NodeIndex,
        /// What came of it.
        event: SlaEvent,
    },
}

/// Why a job is broken in itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The code of the server.
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// What the world around a job answers. Everything an expression or a retry depends on beside the run itself.
pub trait World {
    /// Milliseconds since 1970.
    fn now(&self) -> i64;

    /// The file systems.
    fn files(&self) -> Option<&dyn FileScope> {
        None
    }

    /// A property of the server; its default where none is said.
    fn server(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Whether the executor of a type wants to be called when a result is taken.
    fn asks_end(&self, _kind: &str) -> bool {
        false
    }

    /// Whether there is an executor for a type.
    fn knows(&self, _kind: &str) -> bool {
        true
    }

    /// What a program prints for a function of the site, given its arguments; nothing where there is no program for it.
    fn call(&self, _called: &Called<'_>) -> Option<Result<String, Box<Failure>>> {
        None
    }

    /// Whether a call to begin this node has done nothing yet, and waits until there is a place for it. It is in nobody's way.
    fn is_waiting(&self, _node: NodeIndex) -> bool {
        false
    }

    /// The address at which the outside reports on an action.
    fn callback(&self, action_id: &str, status: &str) -> Option<String> {
        Some(format!("http://localhost:11000/oozie/callback?id={action_id}&status={status}"))
    }
}
