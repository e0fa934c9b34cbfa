//! Handles the answers of executors: starts, checks, ends, kills, and the retries of failed calls.

use super::{RETRIED_CODES, Step, Todo};
use crate::machine::{Answer, Class, Finished, JobStatus, Phase, Status};
use crate::plan::NodeIndex;

impl Step<'_> {
    pub(super) fn take(&mut self, node: NodeIndex, finished: &Finished) {
        let row = self.row(node);
        if let Some(external) = &finished.external {
            row.external.learn(external);
        }
        row.external.status = Some(finished.status.clone());
        row.output = finished.output.clone();
        row.retries = 0;
        if let (Some(code), Some(message)) = (&finished.error.code, &finished.error.message) {
            self.fault(node, code, message);
        }
        self.set(node, Status::Done, true);
        self.todo.push_back(Todo::Finish(node));
    }

    pub(super) fn started(&mut self, node: NodeIndex, answer: &Answer) {
        match answer {
            Answer::Started(external) if !external.is_blank() => {
                let row = self.row(node);
                row.external.learn(external);
                row.retries = 0;
                self.set(node, Status::Running, true);
                self.notify_action(node, "S:RUNNING");
            }
            Answer::Finished(finished) => self.take(node, finished),
            Answer::Error(class, code, message) => match class {
                Class::Transient => self.retry(node, code, message, Status::StartRetry),
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.set(node, Status::StartManual, false);
                    self.suspend_by_error();
                }
                Class::Error => {
                    if matches!(self.kind(node), "fs" | "email") {
                        // These actions have no external ids, and record that before anything else.
                        self.row(node).external.has_no_ids();
                    }
                    if !self.user_retry(node, code, message) {
                        self.fault(node, code, message);
                        let row = self.row(node);
                        row.external.status = Some("ERROR".into());
                        row.retries = 0;
                        self.set(node, Status::Done, true);
                        self.todo.push_back(Todo::Finish(node));
                    }
                }
                Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => self.fail_job(
                node,
                "START_DATA_MISSING",
                "Execution Started, but Start Data Missing from Action",
            ),
        }
    }

    pub(super) fn checked(&mut self, node: NodeIndex, answer: &Answer) {
        match answer {
            // The action had to start again and has a new id.
            Answer::Started(external) if !external.is_blank() => {
                self.row(node).external.learn(external);
                self.changed(node);
            }
            Answer::Running(Some(status)) => {
                self.row(node).external.status = Some(status.as_str().into());
                self.changed(node);
            }
            Answer::Finished(finished) => self.take(node, finished),
            Answer::Error(class, code, message) => match class {
                Class::Transient => {
                    let most = self.server_number("oozie.action.retries.max", 3);
                    self.fault(node, code, message);
                    let row = self.row(node);
                    if i64::from(row.retries) < most {
                        row.retries += 1;
                        row.all_retries += 1;
                        let before = row.retries - 1;
                        self.changed(node);
                        let at = self.now + self.retry_interval(before, true);
                        self.timer(node, at);
                    } else {
                        row.retries = 0;
                        row.started = None;
                        self.set(node, Status::StartManual, false);
                        self.suspend_by_error();
                    }
                }
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.changed(node);
                }
                Class::Error | Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => {}
        }
    }

    pub(super) fn finish(&mut self, node: NodeIndex) {
        if self.run.job.status != JobStatus::Running {
            return;
        }
        let row = &self.run.rows[&node];
        let fits = matches!(row.status, Status::Done | Status::EndRetry | Status::EndManual);
        if !fits || !row.pending || row.calling.is_some() {
            return;
        }
        if self.world.asks_end(self.kind(node)) {
            self.call(node, Phase::End);
        } else {
            self.ended(node, &Answer::Ended(None));
        }
    }

    pub(super) fn ended(&mut self, node: NodeIndex, answer: &Answer) {
        self.row(node).left = true;
        match answer {
            Answer::Ended(status) => {
                let row = self.row(node);
                let well = matches!(row.external.status.as_deref(), Some("OK" | "SUCCEEDED"));
                let status = status.unwrap_or(if well { Status::Ok } else { Status::Error });
                if status == Status::Error {
                    let code = row.error.code.clone().unwrap_or_default();
                    let message = row.error.message.clone().unwrap_or_default();
                    if self.user_retry(node, &code, &message) {
                        if code.is_empty() {
                            self.row(node).error.clear();
                        }
                        return;
                    }
                }
                self.through(node, status);
            }
            Answer::Error(class, code, message) => match class {
                Class::Transient => self.retry(node, code, message, Status::EndRetry),
                Class::NonTransient => {
                    self.fault(node, code, message);
                    self.set(node, Status::EndManual, false);
                    self.suspend_by_error();
                }
                Class::Error => {
                    if !self.user_retry(node, code, message) {
                        self.fault(node, code, message);
                        self.through(node, Status::Error);
                        self.row(node).ended = None;
                    }
                }
                Class::Failed => self.user_retry_or_fail(node, code, message),
            },
            _ => self.fail_job(
                node,
                "END_DATA_MISSING",
                "Execution Ended, but End Data Missing from Action",
            ),
        }
    }

    pub(super) fn through(&mut self, node: NodeIndex, status: Status) {
        let now = self.now;
        let row = self.row(node);
        if status == Status::Ok {
            row.error.clear();
        }
        row.retries = 0;
        row.ended = Some(now);
        row.signal = Some(if status == Status::Ok { "OK" } else { "ERROR" }.into());
        if status == Status::Error {
            self.run.job.last_error = Some(node);
        }
        self.set(node, status, true);
        self.todo.push_back(Todo::Signal(node));
    }

    pub(super) fn stopped(&mut self, node: NodeIndex, answer: &Answer) {
        if self.run.rows[&node].status != Status::Killed {
            return;
        }
        let now = self.now;
        if let Answer::Error(_, code, message) = answer {
            self.fault(node, code, message);
            self.set(node, Status::Failed, false);
            self.set_job(JobStatus::Killed);
            return;
        }
        let row = self.row(node);
        row.ended = Some(now);
        row.signal = Some("ERROR".into());
        self.set(node, Status::Killed, false);
        self.notify_action(node, "T:null");
    }

    // --- retries ------------------------------------------------------------------------------------------------

    pub(super) fn retry_interval(&self, before: u32, check: bool) -> i64 {
        let own = self.run.property("oozie.wf.action.retry.interval").filter(|_| !check);
        let seconds = match own.and_then(|own| own.trim().parse().ok()) {
            Some(seconds) => seconds,
            None => self.server_number("oozie.action.retry.interval", 10),
        };
        let seconds = if seconds <= 0 { 60 } else { seconds };
        let exponential = self
            .world
            .server("oozie.action.retry.policy")
            .is_some_and(|policy| policy.trim().eq_ignore_ascii_case("exponential"));
        let factor = if exponential { 1_i64 << before.min(30) } else { 1 };
        seconds.saturating_mul(1000).saturating_mul(factor)
    }

    /// Retries on behalf of the engine, until the maximum is reached.
    pub(super) fn retry(&mut self, node: NodeIndex, code: &str, message: &str, status: Status) {
        let own = self.run.property("oozie.wf.action.max.retries");
        let most = match own.and_then(|own| own.trim().parse().ok()) {
            Some(most) => most,
            None => self.server_number("oozie.action.retries.max", 3),
        };
        self.fault(node, code, message);
        let row = self.row(node);
        if i64::from(row.retries) < most {
            let before = row.retries;
            row.retries += 1;
            row.all_retries += 1;
            self.set(node, status, true);
            let at = self.now + self.retry_interval(before, false);
            self.timer(node, at);
            return;
        }
        row.retries = 0;
        if status == Status::StartRetry {
            row.started = None;
            self.set(node, Status::StartManual, false);
        } else {
            self.set(node, Status::EndManual, false);
        }
        self.suspend_by_error();
    }

    pub(super) fn user_retry_or_fail(&mut self, node: NodeIndex, code: &str, message: &str) {
        if !self.user_retry(node, code, message) {
            self.fail_job(node, code, message);
        }
    }

    /// Retries according to the action's own attributes. Returns whether it is retried.
    pub(super) fn user_retry(&mut self, node: NodeIndex, code: &str, message: &str) -> bool {
        const PREFIX: &str = "oozie.service.LiteWorkflowStoreService.user.retry.error.code";
        let row = &self.run.rows[&node];
        if row.user_retry_count >= row.user_retry_max {
            return false;
        }
        let base = self.world.server(PREFIX).unwrap_or(RETRIED_CODES);
        let more = self.world.server(&format!("{PREFIX}.ext")).unwrap_or_default();
        let mut codes = base.split(',').chain(more.split(',')).map(str::trim);
        if !codes.any(|listed| listed == "ALL" || (listed == code && !code.is_empty())) {
            return false;
        }
        let now = self.now;
        self.fault(node, code, message);
        let row = self.row(node);
        let factor = if row.user_retry_exponential { 1 << row.user_retry_count.min(20) } else { 1 };
        let delay =
            i64::from(row.user_retry_interval).saturating_mul(60_000).saturating_mul(factor);
        row.attempts.push((row.started.unwrap_or(now), Some(now)));
        row.user_retry_count += 1;
        self.set(node, Status::UserRetry, true);
        self.timer(node, now.saturating_add(delay));
        true
    }
}
