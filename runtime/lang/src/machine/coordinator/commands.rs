//! Client commands on a coordinator job.

use serde::{Deserialize, Serialize};

use super::scope::{self, ScopeKind};
use super::{ActionStatus, Effect, Status, Turn};
use crate::time::{Instant, ProcessingZone};

/// A refused command. Refusals that the server only logs are not reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server's error code; none for an exception that is not its own.
    pub code: Option<&'static str>,
}

impl Refusal {
    pub(super) fn of(code: &'static str) -> Refusal {
        Refusal { code: Some(code) }
    }

    pub(super) fn without_code() -> Refusal {
        Refusal { code: None }
    }
}

/// Options of a rerun of actions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerunOptions {
    /// Resolve their instances anew.
    pub refresh: bool,
    /// Keep their outputs.
    pub no_cleanup: bool,
    /// Rerun only the failed nodes of their workflows.
    pub failed: bool,
    /// Properties that override the configuration of their workflows.
    pub configuration: Vec<(String, String)>,
}

impl Turn<'_, '_> {
    pub(super) fn suspend(&mut self) {
        use Status as S;
        if matches!(self.job.status, S::Succeeded | S::Failed | S::Killed | S::Ignored) {
            return;
        }
        let running: Vec<i64> = self.numbers_of(|status| status == ActionStatus::Running);
        for number in &running {
            self.job.set_pending(*number, |pending| pending + 1);
            self.set_action(*number, ActionStatus::Suspended);
        }
        let status = match self.job.status {
            S::Running | S::Paused => S::Suspended,
            S::RunningWithError | S::PausedWithError => S::SuspendedWithError,
            S::Prep | S::PrepPaused => S::PrepSuspended,
            status => status,
        };
        self.set_status(status);
        self.job.pending = true;
        self.tell_job();
        self.effects.extend(running.into_iter().map(Effect::SuspendWorkflow));
    }

    pub(super) fn resume(&mut self) {
        use Status as S;
        let status = match self.job.status {
            S::Suspended => S::Running,
            S::SuspendedWithError => S::RunningWithError,
            S::PrepSuspended => S::Prep,
            _ => return,
        };
        let suspended: Vec<i64> = self.numbers_of(|status| status == ActionStatus::Suspended);
        for number in &suspended {
            if self.job.actions.get(number).is_some_and(|run| run.pending > 0) {
                // Its workflow reports that it is suspended, and only then that it runs.
                *self.job.overtaken.entry(*number).or_default() += 1;
            }
            self.job.set_pending(*number, |pending| pending + 1);
            self.set_action(*number, ActionStatus::Running);
        }
        self.set_status(status);
        self.job.pending = true;
        self.tell_job();
        self.effects.extend(suspended.into_iter().map(Effect::ResumeWorkflow));
    }

    pub(super) fn kill(&mut self) {
        if self.job.status.is_end() {
            return;
        }
        let spared = |status: ActionStatus| {
            use ActionStatus::{Failed, Ignored, Killed, Succeeded, TimedOut};
            !matches!(status, Failed | TimedOut | Succeeded | Killed | Ignored)
        };
        let mut with_workflow = Vec::new();
        for number in self.numbers_of(spared) {
            let Some(run) = self.job.actions.get(&number) else { continue };
            if matches!(run.status, ActionStatus::Running | ActionStatus::Suspended) {
                self.job.set_pending(number, |pending| pending + 1);
                with_workflow.push(number);
            } else if !run.has_workflow {
                // It was about to start; no report will follow.
                self.job.set_pending(number, |_| 0);
            }
            self.set_action(number, ActionStatus::Killed);
        }
        self.set_status(Status::Killed);
        (self.job.pending, self.job.is_done) = (true, true);
        self.tell_job();
        self.effects.extend(with_workflow.into_iter().map(Effect::KillWorkflow));
    }

    pub(super) fn kill_actions(&mut self, kind: ScopeKind, text: &str) -> Result<(), Refusal> {
        if self.job.status.is_end() && self.job.status != Status::Ignored {
            return Ok(());
        }
        let zone = self.plan.definition.schedule.processing;
        let numbers = scope::numbers(self.job, kind, text, zone, ActionStatus::is_active)?;
        let mut with_workflow = Vec::new();
        for number in numbers {
            let Some(run) = self.job.actions.get(&number) else { continue };
            if run.has_workflow {
                if run.status.is_active() {
                    with_workflow.push(number);
                }
                self.job.set_pending(number, |pending| pending + 1);
            } else {
                // It was about to start; no report will follow.
                self.job.set_pending(number, |_| 0);
            }
            self.set_action(number, ActionStatus::Killed);
        }
        self.job.pending = true;
        self.tell_job();
        self.effects.extend(with_workflow.into_iter().map(Effect::KillWorkflow));
        Ok(())
    }

    pub(super) fn ignore_actions(&mut self, kind: ScopeKind, text: &str) -> Result<(), Refusal> {
        if kind != ScopeKind::Action {
            return Err(Refusal::of("E1024"));
        }
        let zone = self.plan.definition.schedule.processing;
        let numbers = scope::numbers(self.job, kind, text, zone, |_| true)?;
        let may =
            |number: &i64| self.job.actions.get(number).is_some_and(|run| run.status.is_fault());
        if !numbers.iter().all(may) {
            return Err(Refusal::of("E1024"));
        }
        for number in numbers {
            self.set_action(number, ActionStatus::Ignored);
        }
        Ok(())
    }

    pub(super) fn expect(
        &mut self,
        changes: &[(i64, Vec<(String, String)>)],
    ) -> Result<(), Refusal> {
        let zone = self.plan.definition.schedule.processing;
        let mut changed = Vec::new();
        for (number, leaves) in changes {
            let run = self.job.actions.get(number).filter(|run| run.status.is_active());
            let Some(sla) = run.and_then(|run| run.sla.as_ref()) else { continue };
            let sla = sla.changed(leaves, zone).map_err(|_| Refusal::of("E1027"))?;
            changed.push((*number, leaves, sla));
        }
        for (number, leaves, sla) in changed {
            let Some(run) = self.job.actions.get_mut(&number) else { continue };
            run.data.sla.clone_from(leaves);
            run.sla = Some(sla);
        }
        Ok(())
    }

    fn numbers_of(&self, wanted: impl Fn(ActionStatus) -> bool) -> Vec<i64> {
        let wanted = self.job.actions.iter().filter(|(_, run)| wanted(run.status));
        wanted.map(|(number, _)| *number).collect()
    }

    pub(super) fn rerun(
        &mut self,
        kind: ScopeKind,
        text: &str,
        options: &RerunOptions,
    ) -> Result<(), Refusal> {
        use Status as S;
        if matches!(self.job.status, S::Prep | S::Ignored) {
            return Err(Refusal::of("E1018"));
        }
        let ended = |status| {
            use ActionStatus::{Failed, Ignored, Killed, Succeeded, TimedOut};
            matches!(status, Succeeded | Killed | Failed | TimedOut | Ignored)
        };
        let zone = self.plan.definition.schedule.processing;
        let numbers = scope::numbers(self.job, kind, text, zone, ended)?;
        let is_active = |number: &i64| self.job.actions[number].status.is_active();
        if numbers.is_empty() || numbers.iter().any(is_active) {
            return Err(Refusal::of("E1018"));
        }

        let now = self.world.now;
        for number in &numbers {
            let number = *number;
            let Some(run) = self.job.actions.get_mut(&number) else { continue };
            if !options.no_cleanup && !options.failed {
                let outputs = self.plan.definition.outputs.iter().zip(&run.data.outputs);
                let deleted = outputs.filter(|(event, _)| !event.keeps_output);
                let uris: Vec<String> = deleted.flat_map(|(_, data)| data.uris.clone()).collect();
                if !uris.is_empty() {
                    self.effects.push(Effect::CleanUp(number, uris));
                }
            }
            if options.refresh {
                let nominal = run.data.nominal;
                let made = self.plan.actions.create(&self.plan.id, number, nominal, now);
                if let Ok(data) = made {
                    run.data = data;
                }
                (run.is_met, run.missing, run.created) = (false, None, now);
            } else if run.status == ActionStatus::TimedOut {
                run.created = now;
            }
            run.reruns = options.failed && run.has_workflow;
            run.has_workflow = run.reruns;
            // The server clears the error; it leaves that of an action that never ran again unset.
            run.error = Some((String::new(), String::new()));
            if !options.configuration.is_empty() {
                run.rerun_configuration = options.configuration.clone();
            }
            if run.sla.is_some() {
                let zone = self.plan.definition.schedule.processing;
                run.sla = crate::coordinator::Sla::register(&run.data.sla, zone).ok();
            }
            self.set_action(number, ActionStatus::Waiting);
        }
        let status = match self.job.status {
            S::Succeeded | S::Suspended | S::Running => S::Running,
            S::Paused | S::PausedWithError => self.job.status,
            _ => S::RunningWithError,
        };
        self.set_status(status);
        self.tell_job();
        for number in numbers {
            let nominal = self.job.actions[&number].data.nominal;
            self.effects.push(Effect::Check(number, nominal.max(now)));
        }
        Ok(())
    }

    /// Applies `key=value;key=value`, all or nothing.
    pub(super) fn change(&mut self, text: &str) -> Result<(), Refusal> {
        let changes = Changes::parse(text, self.plan.definition.schedule.processing)?;
        self.permits(&changes)?;
        let Changes { end, concurrency, pause, status, .. } = changes;

        // Everything that can be refused is checked before anything changes.
        let start = self.plan.definition.schedule.start;
        let ignored = end
            .is_some_and(|end| end > self.job.end && self.job.next.is_some_and(|next| end < next));
        let end = end.filter(|_| !ignored);
        let mut deleted = Vec::new();
        let looks_at_end = end.filter(|end| *end > start || self.job.status != Status::Prep);
        for cut in [looks_at_end, pause.flatten()].into_iter().flatten() {
            deleted.extend(self.beyond(cut)?);
        }
        deleted.sort_unstable_by(|a, b| b.cmp(a));
        deleted.dedup();

        if let Some(end) = end {
            self.set_end(end, start);
        }
        if let Some(pause) = pause {
            let is_later = match (self.job.pause, pause) {
                (_, None) => true,
                (Some(before), Some(after)) => after > before,
                (None, Some(_)) => false,
            };
            match self.job.status {
                Status::Paused if is_later => self.set_status(Status::Running),
                Status::PausedWithError if is_later => self.set_status(Status::RunningWithError),
                _ => {}
            }
            self.job.pause = pause;
        }
        if let Some(first) = deleted.last().and_then(|number| self.job.actions.get(number)) {
            self.job.next = Some(first.data.nominal);
            self.job.is_done = end.is_some_and(|end| end <= start) && self.job.is_done;
            self.job.last_number = deleted.last().map_or(0, |number| number - 1);
        }
        match status {
            Some(Status::Running) => {
                self.set_status(Status::Running);
                self.job.pending = true;
                if self.job.next.is_none_or(|next| self.job.end > next) {
                    self.job.is_done = false;
                }
            }
            Some(status) => {
                self.set_status(status);
                (self.job.pending, self.job.is_done) = (false, true);
            }
            None => {}
        }
        if self.job.next.is_some_and(|next| self.job.end <= next) {
            self.job.is_done = true;
        }
        self.tell_job();
        for number in deleted {
            self.job.remove(number);
            self.job.is_touched = true;
            self.effects.push(Effect::Deleted(number));
        }
        if let Some(concurrency) = concurrency {
            let is_larger = concurrency > self.job.controls.concurrency;
            self.job.controls.concurrency = concurrency;
            if is_larger {
                self.start_ready();
            }
        }
        Ok(())
    }

    /// Whether a job in this status permits these changes.
    fn permits(&self, changes: &Changes) -> Result<(), Refusal> {
        if matches!(self.job.status, Status::Killed | Status::Ignored)
            && (changes.status.is_none() || changes.several)
        {
            return Err(Refusal::of("E1016"));
        }
        match changes.status {
            Some(Status::Running)
                if !matches!(
                    self.job.status,
                    Status::Failed | Status::Killed | Status::Ignored
                ) =>
            {
                return Err(Refusal::of("E1015"));
            }
            Some(Status::Ignored)
                if !matches!(self.job.status, Status::Failed | Status::Killed)
                    || self.job.pending =>
            {
                return Err(Refusal::of("E1015"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes actions as the server's purge of old actions does: they no longer count for the job's status.
    pub(super) fn forget(&mut self, numbers: &[i64]) {
        for number in numbers {
            let run = self.job.actions.get(number);
            if run.is_some_and(|run| !run.status.is_active() && run.pending == 0) {
                self.job.remove(*number);
                self.effects.push(Effect::Deleted(*number));
            }
        }
    }

    fn set_end(&mut self, end: Instant, start: Instant) {
        self.job.end = end;
        if end <= start {
            if matches!(self.job.status, Status::Prep | Status::Running) {
                self.set_status(Status::Succeeded);
                self.job.pending = false;
            }
            self.job.is_done = true;
            return;
        }
        match self.job.status {
            Status::Succeeded => self.set_status(Status::Running),
            Status::DoneWithError | Status::Failed => self.set_status(Status::RunningWithError),
            _ => {}
        }
        (self.job.pending, self.job.is_done) = (true, false);
    }

    /// Returns the actions at or after an instant, the last first; E1022 if one of them is no longer waiting or ready.
    fn beyond(&self, cut: Instant) -> Result<Vec<i64>, Refusal> {
        let mut numbers = Vec::new();
        for (number, run) in self.job.actions.iter().rev() {
            if run.data.nominal < cut {
                break;
            }
            if !matches!(run.status, ActionStatus::Waiting | ActionStatus::Ready) {
                return Err(Refusal::of("E1022"));
            }
            numbers.push(*number);
        }
        Ok(numbers)
    }
}

/// Whether a word is the name of a status, in upper case as required.
fn is_status(word: &str) -> bool {
    use Status as S;
    let all = [
        S::Prep,
        S::Running,
        S::RunningWithError,
        S::Suspended,
        S::SuspendedWithError,
        S::PrepSuspended,
        S::Paused,
        S::PausedWithError,
        S::PrepPaused,
        S::Succeeded,
        S::DoneWithError,
        S::Killed,
        S::Failed,
        S::Ignored,
    ];
    word == "PREMATER" || all.iter().any(|status| status.name() == word)
}

/// The changes that a `change` command requests.
struct Changes {
    end: Option<Instant>,
    concurrency: Option<i64>,
    /// The new pause time; `Some(None)` removes it.
    pause: Option<Option<Instant>>,
    status: Option<Status>,
    /// Whether it names more than one change.
    several: bool,
}

impl Changes {
    fn parse(text: &str, zone: ProcessingZone) -> Result<Changes, Refusal> {
        if text.is_empty() {
            return Err(Refusal::without_code());
        }
        let wrong = || Refusal::of("E1015");
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for pair in text.split(';').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
            let known = ["endtime", "concurrency", "pausetime", "status"].contains(&key);
            let empty = value.is_empty() && key != "pausetime";
            let is_again = pairs.iter().any(|(other, _)| *other == key);
            if !known || empty || value.contains('=') || is_again {
                return Err(wrong());
            }
            pairs.push((key, value));
        }
        let value = |key: &str| pairs.iter().find(|(known, _)| *known == key).map(|(_, v)| *v);
        let date = |text: &str| zone.parse(text.trim()).map_err(|_| wrong());
        let end = value("endtime").map(date).transpose()?;
        let concurrency = value("concurrency")
            .map(|text| text.trim().parse::<i32>().map(i64::from).map_err(|_| wrong()))
            .transpose()?;
        let pause = match value("pausetime") {
            Some("") => Some(None),
            Some(text) => Some(Some(date(text)?)),
            None => None,
        };
        let status = match value("status") {
            Some("RUNNING") => Some(Status::Running),
            Some("IGNORED") => Some(Status::Ignored),
            Some(word) if is_status(word) => return Err(wrong()),
            Some(_) => return Err(Refusal::without_code()),
            None => None,
        };
        Ok(Changes { end, concurrency, pause, status, several: pairs.len() > 1 })
    }
}
