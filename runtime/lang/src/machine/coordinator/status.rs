//! The words for where coordinators, their actions and their workflows are.

use serde::{Deserialize, Serialize};

/// Where a coordinator or a bundle is.
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
    /// All of them.
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

    /// The word of the web services.
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

    /// Whether it has ended; one that is ignored has, too.
    pub fn is_end(self) -> bool {
        use Status::{DoneWithError, Failed, Ignored, Killed, Succeeded};
        matches!(self, Succeeded | DoneWithError | Killed | Failed | Ignored)
    }
}

/// Where an action is.
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
    /// All of them.
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

    /// The word of the web services.
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

    /// Whether something is still to come.
    pub fn is_active(self) -> bool {
        use ActionStatus::{Ready, Running, Submitted, Suspended, Waiting};
        matches!(self, Waiting | Ready | Submitted | Running | Suspended)
    }

    pub(super) fn is_fault(self) -> bool {
        matches!(self, ActionStatus::Killed | ActionStatus::Failed | ActionStatus::TimedOut)
    }
}

/// What a workflow of an action reports.
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
    /// What the action of a workflow in this state is.
    pub fn of_action(self) -> ActionStatus {
        match self {
            WorkflowStatus::Running => ActionStatus::Running,
            WorkflowStatus::Suspended => ActionStatus::Suspended,
            WorkflowStatus::Succeeded => ActionStatus::Succeeded,
            WorkflowStatus::Failed => ActionStatus::Failed,
            WorkflowStatus::Killed => ActionStatus::Killed,
        }
    }

    /// Whether it has ended.
    pub fn is_end(self) -> bool {
        !matches!(self, WorkflowStatus::Running | WorkflowStatus::Suspended)
    }
}
