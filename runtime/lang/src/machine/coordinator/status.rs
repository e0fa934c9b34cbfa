//! Statuses of coordinators, their actions and their workflows.

use serde::{Deserialize, Serialize};

/// Status of a coordinator or a bundle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the words are the server's, and their meaning is in their names")]
pub enum Status {
    #[default]
    Prep,
    Running,
    RunningWithError,
    Suspended,
    SuspendedWithError,
    PrepSuspended,
    Paused,
    PausedWithError,
    PrepPaused,
    Succeeded,
    DoneWithError,
    Killed,
    Failed,
    Ignored,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 14] = [
        Status::Prep,
        Status::Running,
        Status::RunningWithError,
        Status::Suspended,
        Status::SuspendedWithError,
        Status::PrepSuspended,
        Status::Paused,
        Status::PausedWithError,
        Status::PrepPaused,
        Status::Succeeded,
        Status::DoneWithError,
        Status::Killed,
        Status::Failed,
        Status::Ignored,
    ];

    /// Returns the name that the web services use.
    pub fn name(self) -> &'static str {
        match self {
            Status::Prep => "PREP",
            Status::Running => "RUNNING",
            Status::RunningWithError => "RUNNINGWITHERROR",
            Status::Suspended => "SUSPENDED",
            Status::SuspendedWithError => "SUSPENDEDWITHERROR",
            Status::PrepSuspended => "PREPSUSPENDED",
            Status::Paused => "PAUSED",
            Status::PausedWithError => "PAUSEDWITHERROR",
            Status::PrepPaused => "PREPPAUSED",
            Status::Succeeded => "SUCCEEDED",
            Status::DoneWithError => "DONEWITHERROR",
            Status::Killed => "KILLED",
            Status::Failed => "FAILED",
            Status::Ignored => "IGNORED",
        }
    }

    /// Whether it is final; `Ignored` is.
    pub fn is_end(self) -> bool {
        use Status::{DoneWithError, Failed, Ignored, Killed, Succeeded};
        matches!(self, Succeeded | DoneWithError | Killed | Failed | Ignored)
    }
}

/// Status of a coordinator action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the words are the server's, and their meaning is in their names")]
pub enum ActionStatus {
    #[default]
    Waiting,
    Ready,
    Submitted,
    Running,
    Suspended,
    TimedOut,
    Succeeded,
    Killed,
    Failed,
    Skipped,
    Ignored,
}

impl ActionStatus {
    /// All statuses.
    pub const ALL: [ActionStatus; 11] = [
        ActionStatus::Waiting,
        ActionStatus::Ready,
        ActionStatus::Submitted,
        ActionStatus::Running,
        ActionStatus::Suspended,
        ActionStatus::TimedOut,
        ActionStatus::Succeeded,
        ActionStatus::Killed,
        ActionStatus::Failed,
        ActionStatus::Skipped,
        ActionStatus::Ignored,
    ];

    /// Returns the name that the web services use.
    pub fn name(self) -> &'static str {
        match self {
            ActionStatus::Waiting => "WAITING",
            ActionStatus::Ready => "READY",
            ActionStatus::Submitted => "SUBMITTED",
            ActionStatus::Running => "RUNNING",
            ActionStatus::Suspended => "SUSPENDED",
            ActionStatus::TimedOut => "TIMEDOUT",
            ActionStatus::Succeeded => "SUCCEEDED",
            ActionStatus::Killed => "KILLED",
            ActionStatus::Failed => "FAILED",
            ActionStatus::Skipped => "SKIPPED",
            ActionStatus::Ignored => "IGNORED",
        }
    }

    /// Whether the action has not yet ended.
    pub fn is_active(self) -> bool {
        use ActionStatus::{Ready, Running, Submitted, Suspended, Waiting};
        matches!(self, Waiting | Ready | Submitted | Running | Suspended)
    }

    pub(super) fn is_fault(self) -> bool {
        matches!(self, ActionStatus::Killed | ActionStatus::Failed | ActionStatus::TimedOut)
    }
}

/// The status that an action's workflow reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the words are the server's, and their meaning is in their names")]
pub enum WorkflowStatus {
    Running,
    Suspended,
    Succeeded,
    Failed,
    Killed,
}

impl WorkflowStatus {
    /// Returns the status of an action whose workflow has this status.
    pub fn of_action(self) -> ActionStatus {
        match self {
            WorkflowStatus::Running => ActionStatus::Running,
            WorkflowStatus::Suspended => ActionStatus::Suspended,
            WorkflowStatus::Succeeded => ActionStatus::Succeeded,
            WorkflowStatus::Failed => ActionStatus::Failed,
            WorkflowStatus::Killed => ActionStatus::Killed,
        }
    }

    /// Whether it is final.
    pub fn is_end(self) -> bool {
        !matches!(self, WorkflowStatus::Running | WorkflowStatus::Suspended)
    }
}
