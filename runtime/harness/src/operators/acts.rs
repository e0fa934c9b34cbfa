//! The commands of operators, and the events that affect them.

use super::applications::Kind;

/// A command of an operator, or an event. Jobs are named by their index among those that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Kill(usize),
    Suspend(usize),
    Resume(usize),
    Rerun(usize),
    RerunFailed(usize),
    RerunSkip(usize),
    /// Commands to the top-level coordinator or bundle; the number is that of an action.
    TopKill,
    TopSuspend,
    TopResume,
    TopRerun(i64, bool),
    TopKillAction(i64),
    TopIgnore(i64),
    TopChange,
    ResumeAll,
    Crash,
    LauncherDies,
    Reboot,
    Shutdown,
}

impl Act {
    /// Returns every kind of act, on this job.
    pub(super) fn all(kind: Kind, job: usize) -> Vec<Act> {
        use Act::{
            Kill, Rerun, RerunFailed, RerunSkip, Resume, Suspend, TopKill, TopResume, TopSuspend,
        };
        let mut all = vec![
            Kill(job),
            Suspend(job),
            Resume(job),
            Rerun(job),
            RerunFailed(job),
            RerunSkip(job),
            Act::ResumeAll,
            Act::Crash,
            Act::LauncherDies,
            Act::Reboot,
            Act::Shutdown,
        ];
        match kind {
            Kind::Workflow => {}
            Kind::Coordinator => all.extend([
                TopKill,
                TopSuspend,
                TopResume,
                Act::TopRerun(1, false),
                Act::TopRerun(1, true),
                Act::TopKillAction(1),
                Act::TopIgnore(2),
                Act::TopChange,
            ]),
            Kind::Bundle => all.extend([
                TopKill,
                TopSuspend,
                TopResume,
                Act::TopRerun(1, false),
                Act::TopChange,
            ]),
        }
        all
    }
}
