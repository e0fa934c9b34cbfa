//! Transitions of a job as a whole: its start, suspension, resumption, kill, failure and end.

use super::{Broken, Step, Todo};
use crate::machine::{Change, Effect, Fault, JobStatus, Phase, Row, Status};
use crate::plan::NodeIndex;

impl Step<'_> {
    pub(super) fn start_job(&mut self) {
        if self.run.job.status != JobStatus::Prep {
            return;
        }
        self.run.job.started = Some(self.now);
        self.set_job(JobStatus::Running);
        self.notify_job();
        self.enter_one(self.plan.start, "/");
    }

    pub(super) fn suspend(&mut self) {
        if self.run.job.status != JobStatus::Running {
            return;
        }
        let waiting = |status| {
            matches!(
                status,
                Status::StartRetry | Status::StartManual | Status::EndRetry | Status::EndManual
            )
        };
        let rows: Vec<NodeIndex> = self.nodes_where(|row| waiting(row.status) && row.pending);
        for node in rows {
            self.row(node).pending = false;
            self.changed(node);
        }
        self.set_job(JobStatus::Suspended);
        self.notify_job();
        self.effects.push(Effect::SuspendParent);
    }

    /// Suspends the job without notifications, as the engine does when an action's error requires it.
    pub(super) fn suspend_by_error(&mut self) {
        if self.run.job.status == JobStatus::Running {
            self.set_job(JobStatus::Suspended);
        }
    }

    pub(super) fn resume(&mut self) {
        if self.run.job.status != JobStatus::Suspended {
            return;
        }
        self.set_job(JobStatus::Running);
        self.notify_job();
        let mut rows: Vec<(u32, NodeIndex)> =
            self.run.rows.iter().map(|(node, row)| (row.sequence, node)).collect();
        rows.sort_unstable();
        for (_, node) in rows {
            let row = &self.run.rows[&node];
            let (status, pending) = (row.status, row.pending);
            let due = row.due.unwrap_or(self.now);
            // An action that waits for its turn to start keeps waiting.
            if row.calling.is_some() {
                if status == Status::StartRetry {
                    self.row(node).pending = true;
                    self.changed(node);
                }
                continue;
            }
            match status {
                Status::StartRetry | Status::EndRetry => {
                    self.row(node).pending = true;
                    self.changed(node);
                    self.timer(node, due);
                }
                Status::StartManual | Status::EndManual => {
                    self.row(node).pending = true;
                    self.changed(node);
                    let begin = status == Status::StartManual;
                    self.todo.push_back(if begin { Todo::Begin(node) } else { Todo::Finish(node) });
                }
                Status::UserRetry if pending => self.timer(node, due),
                Status::Prep if pending => self.todo.push_back(Todo::Begin(node)),
                Status::Done if pending => self.todo.push_back(Todo::Finish(node)),
                Status::Ok | Status::Error | Status::Killed if pending => {
                    self.todo.push_back(Todo::Signal(node));
                }
                _ => {}
            }
        }
    }

    pub(super) fn kill(&mut self) {
        match self.run.job.status {
            JobStatus::Succeeded | JobStatus::Killed => return,
            JobStatus::Failed => {}
            _ => self.set_job(JobStatus::Killed),
        }
        self.kill_rows();
        self.end_job();
    }

    /// Kills all rows that are not complete.
    fn kill_rows(&mut self) {
        let open = self.nodes_where(|row| {
            !matches!(row.status, Status::Ok | Status::Error | Status::Killed | Status::Failed)
        });
        for node in open {
            let row = &self.run.rows[&node];
            let outside = matches!(row.status, Status::Running | Status::Done)
                || row.calling == Some(Phase::Start);
            self.kill_row(node, outside && !self.is_control(node));
        }
    }

    pub(super) fn kill_row(&mut self, node: NodeIndex, outside: bool) {
        let row = self.row(node);
        row.calling = None;
        row.serial += 1;
        row.due = None;
        self.set(node, Status::Killed, outside);
        if outside {
            self.call(node, Phase::Kill);
        }
    }

    pub(super) fn end_job(&mut self) {
        self.run.job.ended = Some(self.now);
        self.run.job.modified = self.now;
        self.todo.clear();
        self.run.job.starting.clear();
        self.run.job.queued.clear();
        self.notify_job();
        self.effects.push(Effect::Ended);
    }

    fn nodes_where(&self, keep: impl Fn(&Row) -> bool) -> Vec<NodeIndex> {
        let mut rows: Vec<(u32, NodeIndex)> = self
            .run
            .rows
            .iter()
            .filter(|(_, row)| keep(row))
            .map(|(node, row)| (row.sequence, node))
            .collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, node)| node).collect()
    }

    /// Ends the job as FAILED because of an action.
    pub(super) fn fail_job(&mut self, node: NodeIndex, code: &str, message: &str) {
        self.fault(node, code, message);
        self.set(node, Status::Failed, false);
        self.set_job(JobStatus::Failed);
        self.notify_action(node, "S:FAILED");
        self.kill_rows();
        self.end_job();
    }

    /// Fails the job because its instance is inconsistent.
    pub(super) fn break_job(&mut self, Broken(code, message): Broken) {
        self.effects.push(Effect::Changed(Change::Fault(Box::new(Fault {
            code: code.to_owned(),
            message,
        }))));
        self.set_job(JobStatus::Failed);
        self.kill_rows();
        self.end_job();
    }
}
