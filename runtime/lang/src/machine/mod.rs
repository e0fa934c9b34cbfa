//! The whole semantics of a workflow job as a function: `apply(plan, run, event, world) -> effects`.
//!
//! The input is a [`Plan`](crate::plan::Plan), a [`Run`], one [`Event`] and a [`World`] that answers the queries of
//! expressions. The result is the changed run and the [`Effect`]s that the caller carries out: calls to executors of
//! actions, timers, notifications. Nothing is awaited here: an executor's answer is an event of its own. The run is the
//! whole state; it records which rows changed ([`Run::take_changes`]), so that a store writes only those.
//!
//! This module must not know XML workflows, clocks, files or processes.

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

/// Status of a workflow job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JobStatus {
    /// Submitted, not started.
    #[default]
    Prep,
    /// Running.
    Running,
    /// Ended successfully.
    Succeeded,
    /// Ended by a kill node or an operator.
    Killed,
    /// Ended by an error.
    Failed,
    /// Waits to be resumed by an operator.
    Suspended,
}

impl JobStatus {
    /// All statuses.
    pub const ALL: [JobStatus; 6] = [
        JobStatus::Prep,
        JobStatus::Running,
        JobStatus::Succeeded,
        JobStatus::Killed,
        JobStatus::Failed,
        JobStatus::Suspended,
    ];

    /// Returns the name that the web services use.
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

    /// Whether the job has ended.
    pub fn is_end(self) -> bool {
        matches!(self, JobStatus::Succeeded | JobStatus::Killed | JobStatus::Failed)
    }
}

/// Status of an action.
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
    /// Returns the name that the web services use.
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

    /// Whether the node has completed, apart from its signal.
    pub fn is_complete(self) -> bool {
        matches!(self, Status::Ok | Status::Killed | Status::Error)
    }
}

/// The state of one visited node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the job object")]
pub struct Row {
    /// Position of this row in lists of the job's rows.
    pub sequence: u32,
    pub status: Status,
    pub pending: bool,
    /// When a retry is due, in milliseconds since 1970.
    pub due: Option<i64>,
    pub path: CompactString,
    pub retries: u32,
    /// Retries by the engine over all attempts of the run.
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
    /// The evaluated configuration of the action.
    pub conf: Option<Box<str>>,
    /// The phase for which an executor is being called.
    pub calling: Option<Phase>,
    /// Counts calls and timers, so that a late answer can be recognized.
    pub serial: u32,
    /// Calls of the start phase in this run, from which ids are derived that a repeated call must find again.
    pub starts: u32,
    /// Whether expressions can access its output.
    pub left: bool,
    /// Whether a rerun skips it.
    pub skip: bool,
    /// Whether a token entered this node in this run; actions, decisions and joins take no second one.
    pub entered: bool,
    /// Past attempts by user retry: start and end.
    pub attempts: Rare<Vec<(i64, Option<i64>)>>,
}

/// The output of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Ids of the jobs that it started.
    pub child_ids: Option<String>,
    /// Captured output, as Java properties.
    pub data: Option<String>,
    /// Its counters.
    pub stats: Option<String>,
}

impl Seldom for Output {
    const NOTHING: &'static Output = &Output { child_ids: None, data: None, stats: None };
}

/// The error of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionError {
    /// The server's error code.
    pub code: Option<String>,
    /// A one-sentence message.
    pub message: Option<String>,
}

impl Seldom for ActionError {
    const NOTHING: &'static ActionError = &ActionError { code: None, message: None };
}

impl Seldom for Vec<(i64, Option<i64>)> {
    const NOTHING: &'static Vec<(i64, Option<i64>)> = &Vec::new();
}

/// The state of a workflow job.
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
    /// The current node of each path.
    pub tokens: BTreeMap<String, NodeIndex>,
    /// How many branches each fork still waits for, by its path.
    pub forks: BTreeMap<String, i32>,
    /// The last action that ended with ERROR.
    pub last_error: Option<NodeIndex>,
    /// Commands that wait until an executor has answered.
    pub deferred: Vec<Command>,
    /// Forks that have branches whose start is not complete, by path.
    pub starting: BTreeMap<String, Starting>,
    /// Actions that start after the one that is starting now, on a server that starts branches one after the other.
    pub queued: Vec<NodeIndex>,
    /// The sequence number of the next row.
    pub sequence: u32,
}

/// A fork whose branches are starting: none continues before all have started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starting {
    /// Number of executors that have not answered.
    pub left: u32,
    /// First nodes of branches that are ready to continue.
    pub held: Vec<NodeIndex>,
}

/// A workflow job with its rows.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The job.
    pub job: Job,
    /// The job's properties, resolved at its submission.
    pub conf: std::sync::Arc<BTreeMap<String, String>>,
    /// Its rows, by node.
    pub rows: Rows,
    /// The SLA state of each action, by node, and of the job at [`NOWHERE`](crate::plan::NOWHERE).
    pub expectations: BTreeMap<NodeIndex, Sla>,
    changed: Changed,
    removed: BTreeSet<NodeIndex>,
}

/// Nodes whose rows were written; may contain duplicates.
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
    /// Creates a run from a job and its stored rows.
    pub fn new(job: Job, conf: std::sync::Arc<BTreeMap<String, String>>, rows: Rows) -> Run {
        Run { job, conf, rows, ..Run::default() }
    }

    /// Returns the rows in the order of their creation.
    pub fn in_order(&self) -> Vec<(NodeIndex, &Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| row.sequence);
        rows
    }

    /// Returns the nodes whose rows were written, and those whose rows were removed, since the last call.
    pub fn take_changes(&mut self) -> (Vec<NodeIndex>, BTreeSet<NodeIndex>) {
        let mut changed = std::mem::take(&mut self.changed.0);
        changed.sort_unstable();
        changed.dedup();
        (changed, std::mem::take(&mut self.removed))
    }

    /// Discards the recorded changes, for callers that store nothing.
    pub fn forget_changes(&mut self) {
        self.changed.0.clear();
        self.removed.clear();
    }

    /// Returns a property of the job.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.conf.get(name).map(String::as_str)
    }
}

/// A phase of an action's life, for which an executor is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Start the action.
    Start,
    /// Query its status.
    Check,
    /// Collect its result.
    End,
    /// Stop it.
    Kill,
}

/// A command of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Start the job.
    Start,
    /// Suspend it between nodes.
    Suspend,
    /// Resume it.
    Resume,
    /// Kill it.
    Kill,
}

/// An input of the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An operator's command.
    Command(Command),
    /// An executor answered a call.
    Answered {
        /// The node.
        node: NodeIndex,
        /// The number of the call.
        serial: u32,
        /// The phase for which the executor was called.
        phase: Phase,
        /// The executor's answer.
        answer: Answer,
    },
    /// A timer fired.
    Due {
        /// The node.
        node: NodeIndex,
        /// The timer's number.
        serial: u32,
    },
    /// Something outside reported news of a running action: its executor is to check it.
    Check {
        /// The node.
        node: NodeIndex,
    },
}

/// The answer of an executor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// Start: the action runs outside.
    Started(External),
    /// Start or check: the action has completed.
    Finished(Finished),
    /// Check: it is still running.
    Running(Option<String>),
    /// End: it ended with this status; without one, the external status decides.
    Ended(Option<Status>),
    /// Kill: it has stopped.
    Stopped,
    /// The executor did not set what it has to set.
    Missing,
    /// The call failed: class, code and message.
    Error(Class, String, String),
}

/// How the engine handles an error of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Class {
    /// The engine retries.
    Transient,
    /// The job is suspended.
    NonTransient,
    /// The action takes its error transition.
    Error,
    /// The job fails.
    Failed,
}

/// The result of a completed action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// Its ids, if they have changed.
    pub external: Option<External>,
    /// Its external status.
    pub status: CompactString,
    /// Its output.
    pub output: Rare<Output>,
    /// Its error.
    pub error: Rare<ActionError>,
}

impl Finished {
    /// Creates a result with this status and no output.
    pub fn new(status: impl Into<CompactString>) -> Finished {
        Finished {
            external: None,
            status: status.into(),
            output: Rare::default(),
            error: Rare::default(),
        }
    }
}

/// The ids under which an action is known outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the job object")]
pub struct External {
    pub id: CompactString,
    pub tracker: CompactString,
    pub console: CompactString,
}

impl External {
    /// Whether an id is missing that every running action has.
    fn is_blank(&self) -> bool {
        [&self.id, &self.tracker, &self.console].into_iter().any(|text| text.is_empty())
    }

    /// The ids of an action that has no counterpart outside.
    pub fn none() -> External {
        External { id: DASH, tracker: DASH, console: DASH }
    }
}

/// A side effect that the caller carries out for the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Call an executor; the answer is [`Event::Answered`].
    Call {
        /// The node.
        node: NodeIndex,
        /// The number of the call.
        serial: u32,
        /// The phase.
        phase: Phase,
    },
    /// Send [`Event::Due`] at this time.
    Timer {
        /// The node.
        node: NodeIndex,
        /// The timer's number.
        serial: u32,
        /// Milliseconds since 1970.
        at: i64,
    },
    /// A status changed; shown to users and compared in replays.
    Changed(Change),
    /// Notify this URL.
    Notify(String),
    /// Suspend the parent job too.
    SuspendParent,
    /// The job has ended.
    Ended,
}

/// A change of a status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// The job's status.
    Job(JobStatus),
    /// The status of a node's row.
    Row {
        /// The node.
        node: NodeIndex,
        /// Its new status.
        status: Status,
        /// Whether the row is still pending.
        pending: bool,
    },
    /// The job failed for a reason that is not an error of an action.
    Fault(Box<Fault>),
    /// An expectation of an SLA block was met or missed.
    Expectation {
        /// The action; [`NOWHERE`](crate::plan::NOWHERE) for the job itself.
        node: NodeIndex,
        /// The event.
        event: SlaEvent,
    },
}

/// An error of the job itself, not of an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The server's error code.
    pub code: String,
    /// A one-sentence message.
    pub message: String,
}

/// The queries that a job can ask: everything that an expression or a retry depends on besides the run itself.
pub trait World {
    /// Returns the current time, in milliseconds since 1970.
    fn now(&self) -> i64;

    /// Returns access to file systems.
    fn files(&self) -> Option<&dyn FileScope> {
        None
    }

    /// Returns a property of the server; its default if it is not set.
    fn server(&self, _name: &str) -> Option<&str> {
        None
    }

    /// Whether the executor of an action type is to be called in the end phase.
    fn asks_end(&self, _kind: &str) -> bool {
        false
    }

    /// Whether an executor exists for an action type.
    fn knows(&self, _kind: &str) -> bool {
        true
    }

    /// Returns the output of the program that implements a function of the site for these arguments; none if there is
    /// no such program.
    fn call(&self, _called: &Called<'_>) -> Option<Result<String, Box<Failure>>> {
        None
    }

    /// Whether the call to start this node has done nothing yet because it waits for a free slot. Such a node blocks no
    /// other.
    fn is_waiting(&self, _node: NodeIndex) -> bool {
        false
    }

    /// Returns the callback URL of an action.
    fn callback(&self, action_id: &str, status: &str) -> Option<String> {
        Some(format!("http://localhost:11000/oozie/callback?id={action_id}&status={status}"))
    }
}
