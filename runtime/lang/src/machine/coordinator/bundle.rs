//! The whole semantics of a bundle job as a function: `apply(definition, job, event, now) -> effects`.
//!
//! The input is what the server stores of the bundle, the state of the job, and one [`Event`]. The result is the
//! changed [`Job`] and [`Effect`]s: commands to the coordinators of the bundle, which report their own states. A bundle
//! whose start is refused (a missing path, an empty name) stays in PREP on the server; so it does here, with the
//! reason.

use serde::{Deserialize, Serialize};

use super::Status;
use super::commands::{Refusal, RerunOptions};
use crate::coordinator::Bundle;
use crate::time::{Instant, ProcessingZone};

/// A coordinator of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// A copy of the coordinator's status.
    pub status: Status,
    /// Whether it has not yet answered a command.
    pub pending: bool,
    /// Whether its coordinator job exists.
    pub has_job: bool,
}

/// The state of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its status.
    pub status: Status,
    /// Whether a command was given that the next status pass has to confirm.
    pub pending: bool,
    /// The time at which it pauses.
    pub pause: Option<Instant>,
    /// The time at which it starts.
    pub kick_off: Option<Instant>,
    /// Its enabled coordinators, once it has started.
    pub members: Vec<Member>,
    /// Whether it was suspended as a whole.
    is_suspended: bool,
    /// Whether a member changed since the last status pass.
    is_touched: bool,
}

impl Job {
    /// Creates a bundle that was just submitted.
    pub fn new(definition: &Bundle, zone: ProcessingZone) -> Job {
        let kick_off = definition.kick_off.as_deref().and_then(|text| zone.parse(text).ok());
        Job {
            status: Status::Prep,
            pending: false,
            pause: None,
            kick_off,
            members: Vec::new(),
            is_suspended: false,
            is_touched: false,
        }
    }
}

/// An input of the state machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The bundle was submitted.
    Submitted {
        /// Whether it is to start at once.
        start: bool,
        /// Indices of coordinators whose paths do not exist.
        absent: Vec<usize>,
    },
    /// A pass that checks pauses and starts.
    Pause {
        /// Indices of coordinators whose paths do not exist.
        absent: Vec<usize>,
    },
    /// A status pass.
    Status,
    /// A coordinator was submitted, or refused.
    Accepted(usize, bool),
    /// A coordinator has changed its status.
    Coordinator(usize, Status),
    /// The client's `suspend`.
    Suspend,
    /// The client's `resume`.
    Resume,
    /// The client's `kill`.
    Kill,
    /// The client's `change`.
    Change(String),
    /// The client's `rerun`: names of coordinators and dates, each possibly empty, and the options for their actions.
    Rerun(String, String, RerunOptions),
}

/// A side effect that the caller carries out, or a change that it reports, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The bundle changed: status and pending flag.
    Bundle(Status, bool),
    /// A member changed: status and pending flag.
    Member(usize, Status, bool),
    /// Submit and start a coordinator.
    Submit(usize),
    /// Suspend a coordinator.
    Suspend(usize),
    /// Resume a coordinator.
    Resume(usize),
    /// Kill a coordinator.
    Kill(usize),
    /// Change a coordinator.
    Change(usize, String),
    /// Rerun actions of a coordinator: those of some dates, or all if there are none.
    Rerun(usize, Option<String>, RerunOptions),
}

/// Applies an event to the bundle. A refusal is returned to the client.
pub fn apply(
    definition: &Bundle,
    job: &mut Job,
    event: &Event,
    now: Instant,
    zone: ProcessingZone,
) -> Result<Vec<Effect>, Refusal> {
    let mut turn = Turn { definition, job, effects: Vec::new() };
    match event {
        Event::Submitted { start, absent } => {
            turn.effects.push(Effect::Bundle(Status::Prep, false));
            if *start || turn.job.kick_off.is_none() {
                let refused = turn.start(absent).err().filter(|_| *start);
                if let Some(refused) = refused {
                    return Err(refused);
                }
            }
        }
        Event::Pause { absent } => turn.pause(now, absent),
        Event::Status => turn.status(),
        Event::Accepted(member, is_accepted) => turn.accepted(*member, *is_accepted),
        Event::Coordinator(member, status) => turn.coordinator(*member, *status),
        Event::Suspend => turn.suspend(),
        Event::Resume => turn.resume(),
        Event::Kill => turn.kill(),
        Event::Change(text) => turn.change(text, now, zone)?,
        Event::Rerun(names, dates, options) => turn.rerun(names, dates, options),
    }
    Ok(turn.effects)
}

struct Turn<'t> {
    definition: &'t Bundle,
    job: &'t mut Job,
    effects: Vec<Effect>,
}

/// Returns a status without the `WithError` that members lose or keep under the default configuration.
fn plain(status: Status) -> Status {
    match status {
        Status::RunningWithError => Status::Running,
        Status::SuspendedWithError => Status::Suspended,
        Status::PausedWithError => Status::Paused,
        status => status,
    }
}

impl Turn<'_> {
    fn set(&mut self, status: Status, pending: bool) {
        let status = plain(status);
        if (self.job.status, self.job.pending) != (status, pending) {
            (self.job.status, self.job.pending) = (status, pending);
            self.effects.push(Effect::Bundle(status, pending));
        }
    }

    fn set_member(&mut self, at: usize, status: Status, pending: bool) {
        let Some(member) = self.job.members.get_mut(at) else { return };
        self.job.is_touched = true;
        if (member.status, member.pending) != (status, pending) {
            (member.status, member.pending) = (status, pending);
            self.effects.push(Effect::Member(at, status, pending));
        }
    }

    fn start(&mut self, absent: &[usize]) -> Result<(), Refusal> {
        if self.job.status != Status::Prep {
            return Ok(());
        }
        let members = &self.definition.members;
        for (at, member) in members.iter().enumerate().filter(|(_, member)| member.is_enabled) {
            if member.name.is_empty() {
                return Err(Refusal::of("E0607"));
            }
            let user = self.definition.properties.get("user.name");
            let other = |(name, value): &(String, String)| {
                name == "user.name" && user.is_none_or(|user| user != value)
            };
            if member.configuration.iter().any(other) {
                return Err(Refusal::of("E1303"));
            }
            if absent.contains(&at) {
                return Err(Refusal::of("E1001"));
            }
        }
        if !members.iter().any(|member| member.is_enabled) {
            self.set(Status::Failed, false);
            return Ok(());
        }
        self.set(Status::Running, true);
        let enabled = members.iter().filter(|member| member.is_enabled);
        self.job.members = enabled
            .map(|member| Member {
                name: member.name.clone(),
                status: Status::Prep,
                pending: true,
                has_job: false,
            })
            .collect();
        for at in 0..self.job.members.len() {
            self.effects.push(Effect::Member(at, Status::Prep, true));
        }
        self.effects.extend((0..self.job.members.len()).map(Effect::Submit));
        Ok(())
    }

    fn accepted(&mut self, at: usize, is_accepted: bool) {
        if let Some(member) = self.job.members.get_mut(at) {
            member.has_job = is_accepted;
            let status = if is_accepted { Status::Prep } else { Status::Failed };
            self.set_member(at, status, false);
        }
    }

    fn coordinator(&mut self, at: usize, status: Status) {
        let Some(member) = self.job.members.get(at).filter(|member| member.has_job) else { return };
        // A status that it reported before it received the kill is not an answer to it.
        let is_late = member.status == Status::Killed && member.pending && !status.is_end();
        if !is_late {
            self.set_member(at, status, false);
        }
    }

    fn pause(&mut self, now: Instant, absent: &[usize]) {
        let is_past = self.job.pause.is_some_and(|at| at <= now);
        match (self.job.status, is_past) {
            (Status::Running, true) => self.set(Status::Paused, true),
            (Status::RunningWithError, true) => self.set(Status::PausedWithError, true),
            (Status::Prep, true) => self.set(Status::PrepPaused, true),
            (Status::Paused | Status::PausedWithError, false) => self.set(Status::Running, false),
            (Status::PrepPaused, false) => self.set(Status::Prep, false),
            (Status::Prep, false) if self.job.kick_off.is_some_and(|at| at <= now) => {
                // No client is waiting to be told why it cannot start.
                let _ = self.start(absent);
            }
            _ => {}
        }
    }

    fn each_with_job(&self, wanted: impl Fn(&Member) -> bool) -> Vec<usize> {
        let members = self.job.members.iter().enumerate();
        members.filter(|(_, member)| member.has_job && wanted(member)).map(|(at, _)| at).collect()
    }

    fn suspend(&mut self) {
        use Status as S;
        if matches!(self.job.status, S::Succeeded | S::Failed | S::Killed | S::DoneWithError) {
            return;
        }
        let active = self.each_with_job(|member| !member.status.is_end());
        for at in 0..self.job.members.len() {
            if !self.job.members[at].status.is_end() {
                let suspended = match self.job.members[at].status {
                    S::Prep | S::PrepPaused => S::PrepSuspended,
                    _ => S::Suspended,
                };
                self.set_member(at, suspended, active.contains(&at));
            }
        }
        let status = match self.job.status {
            S::Prep | S::PrepPaused => S::PrepSuspended,
            _ => S::Suspended,
        };
        self.job.is_suspended = true;
        self.set(status, true);
        self.effects.extend(active.into_iter().map(Effect::Suspend));
    }

    fn resume(&mut self) {
        use Status as S;
        let status = match self.job.status {
            S::Suspended | S::SuspendedWithError => S::Running,
            S::PrepSuspended => S::Prep,
            _ => return,
        };
        let suspended = self.each_with_job(|member| {
            matches!(member.status, S::Suspended | S::SuspendedWithError | S::PrepSuspended)
        });
        for at in &suspended {
            let resumed = match self.job.members[*at].status {
                S::PrepSuspended => S::Prep,
                _ => S::Running,
            };
            self.set_member(*at, resumed, true);
        }
        self.job.is_suspended = false;
        self.set(status, true);
        self.effects.extend(suspended.into_iter().map(Effect::Resume));
    }

    fn kill(&mut self) {
        if self.job.status.is_end() {
            return;
        }
        let killed = self.kill_members();
        self.set(Status::Killed, true);
        self.effects.extend(killed.into_iter().map(Effect::Kill));
    }

    fn kill_members(&mut self) -> Vec<usize> {
        // A member that has ended and is about to be rerun still counts by its end.
        let active = self.each_with_job(|member| !member.status.is_end() || member.pending);
        for at in &active {
            self.set_member(*at, Status::Killed, true);
        }
        active
    }

    /// The status pass: derives the status of the bundle from those of its members.
    fn status(&mut self) {
        use Status as S;
        let watched = matches!(
            self.job.status,
            S::Running
                | S::RunningWithError
                | S::Paused
                | S::PausedWithError
                | S::Suspended
                | S::SuspendedWithError
        );
        let touched = std::mem::take(&mut self.job.is_touched);
        if !(watched || self.job.pending && touched) {
            return;
        }
        let lost = self
            .job
            .members
            .iter()
            .any(|member| !member.has_job && member.status == S::Failed && !member.pending);
        if lost && watched {
            // A coordinator that could not be submitted fails the whole bundle, in a pass or two.
            let killed = self.kill_members();
            self.set(S::Killed, true);
            self.set(S::Failed, true);
            self.effects.extend(killed.into_iter().map(Effect::Kill));
        }
        let members = || self.job.members.iter().filter(|member| member.status != S::Ignored);
        let all = |wanted: &[S]| members().all(|member| wanted.contains(&member.status));
        let any = |wanted: &[S]| members().any(|member| wanted.contains(&member.status));
        let pending = members().any(|member| member.pending);
        if self.job.status == S::Killed && pending {
            // The server treats it as running again until the last member answers, and then as done with errors.
            self.job.is_touched = true;
            return;
        }
        let ended = [S::Succeeded, S::Failed, S::Killed, S::DoneWithError];
        let faulty = any(&[S::Failed, S::Killed, S::DoneWithError, S::RunningWithError]);
        let suspended = [S::Suspended, S::Succeeded];
        let suspended_or_ended = [
            S::Suspended,
            S::SuspendedWithError,
            S::Succeeded,
            S::Killed,
            S::Failed,
            S::DoneWithError,
        ];
        let begins = !pending && any(&[S::Suspended]) || any(&[S::SuspendedWithError]);
        let status = if !pending && all(&ended) {
            match self.job.status {
                S::Killed => S::Killed,
                _ if all(&[S::Succeeded]) => S::Succeeded,
                _ if all(&[S::Killed]) => S::Killed,
                _ if all(&[S::Failed]) => S::Failed,
                _ => S::DoneWithError,
            }
        } else {
            match self.job.status {
                S::Paused => S::Paused,
                S::PausedWithError if self.job.pause.is_some() => S::PausedWithError,
                _ if all(&[S::Paused]) => S::Paused,
                S::Suspended | S::SuspendedWithError if self.job.is_suspended => S::Suspended,
                _ if begins && all(&suspended) => S::Suspended,
                _ if begins && all(&suspended_or_ended) => S::SuspendedWithError,
                S::Prep if !pending && any(&[S::Prep]) && !all(&[S::Prep]) => S::Running,
                status @ (S::Prep | S::PrepSuspended | S::PrepPaused) => status,
                _ if faulty => S::RunningWithError,
                _ => S::Running,
            }
        };
        self.set(status, false);
        // The pass is repeated while members are ending.
        self.job.is_touched = pending;
    }

    fn change(&mut self, text: &str, now: Instant, zone: ProcessingZone) -> Result<(), Refusal> {
        use Status as S;
        let wrong = || Refusal::of("E1317");
        let pairs: Vec<&str> = text.split(';').filter(|pair| !pair.is_empty()).collect();
        let (mut pause, mut end) = (None, None);
        for pair in &pairs {
            let (key, value) = pair.split_once('=').ok_or_else(|| Refusal::of("E1015"))?;
            match key {
                "pausetime" if value.is_empty() => pause = Some(None),
                "pausetime" => {
                    let at = zone.parse(value).map_err(|_| wrong())?;
                    if at < now {
                        return Err(wrong());
                    }
                    pause = Some(Some(at));
                }
                "endtime" => {
                    let at = zone.parse(value).map_err(|_| wrong())?;
                    if self.job.kick_off.is_some_and(|kick_off| at < kick_off) {
                        return Err(wrong());
                    }
                    end = Some(at);
                }
                _ => {}
            }
        }
        if pairs.len() > 2 || pause.is_none() && end.is_none() {
            return Err(wrong());
        }
        match pause {
            Some(at) => {
                let ended = matches!(
                    self.job.status,
                    S::Succeeded | S::Failed | S::Killed | S::DoneWithError
                );
                if ended {
                    return Ok(());
                }
                self.job.pause = at;
            }
            None => match self.job.status {
                S::Killed => return Ok(()),
                S::Succeeded => self.set(S::Running, true),
                S::DoneWithError | S::Failed => self.set(S::RunningWithError, true),
                _ => {}
            },
        }
        let members = self.each_with_job(|member| member.status != S::Killed);
        self.effects.extend(members.iter().map(|at| Effect::Change(*at, text.to_owned())));
        Ok(())
    }

    fn rerun(&mut self, names: &str, dates: &str, options: &RerunOptions) {
        use Status as S;
        let refused = [S::Killed, S::Failed, S::Prep, S::PrepPaused, S::PrepSuspended];
        if refused.contains(&self.job.status) || names.is_empty() && dates.is_empty() {
            return;
        }
        let wanted: Vec<&str> = names.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
        let chosen = self
            .each_with_job(|member| wanted.is_empty() || wanted.contains(&member.name.as_str()));
        if chosen.is_empty() {
            return;
        }
        for at in &chosen {
            let status = self.job.members[*at].status;
            self.set_member(*at, status, true);
        }
        let status = match self.job.status {
            S::Paused | S::PausedWithError => self.job.status,
            S::Succeeded | S::Suspended | S::Running => S::Running,
            _ => S::RunningWithError,
        };
        self.set(status, true);
        let dates = (!dates.is_empty()).then(|| dates.to_owned());
        let rerun = |at| Effect::Rerun(at, dates.clone(), options.clone());
        self.effects.extend(chosen.into_iter().map(rerun));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::BundleMember;

    /// Returns a running bundle of two coordinators.
    fn running() -> (Bundle, Job) {
        let member = |name: &str| BundleMember {
            name: name.to_owned(),
            app_path: format!("hdfs://nn/{name}"),
            is_enabled: true,
            enabled: None,
            critical: None,
            configuration: Vec::new(),
        };
        let definition = Bundle {
            name: "both".to_owned(),
            kick_off: None,
            members: vec![member("a"), member("b")],
            properties: Default::default(),
        };
        let mut job = Job::new(&definition, ProcessingZone::UTC);
        let begins = Event::Submitted { start: true, absent: Vec::new() };
        told(&definition, &mut job, &begins);
        for at in 0..2 {
            told(&definition, &mut job, &Event::Accepted(at, true));
            told(&definition, &mut job, &Event::Coordinator(at, Status::Running));
        }
        assert_eq!(job.status, Status::Running);
        (definition, job)
    }

    /// Applies an event and the status pass that follows.
    fn told(definition: &Bundle, job: &mut Job, event: &Event) {
        for event in [event, &Event::Status] {
            apply(definition, job, event, Instant(0), ProcessingZone::UTC).expect("it is taken");
        }
    }

    #[test]
    fn one_that_is_killed_while_a_coordinator_succeeds_is_killed() {
        let (definition, mut job) = running();
        told(&definition, &mut job, &Event::Kill);
        told(&definition, &mut job, &Event::Coordinator(0, Status::Succeeded));
        assert_eq!(job.status, Status::Killed);
        assert!(job.pending, "the other one has not answered");
        told(&definition, &mut job, &Event::Coordinator(1, Status::Killed));
        assert_eq!((job.status, job.pending), (Status::Killed, false));
    }

    #[test]
    fn what_a_coordinator_told_before_it_was_killed_is_no_answer() {
        let (definition, mut job) = running();
        told(&definition, &mut job, &Event::Kill);
        told(&definition, &mut job, &Event::Coordinator(0, Status::Running));
        told(&definition, &mut job, &Event::Coordinator(1, Status::DoneWithError));
        assert!(job.members[0].pending && job.pending);
        told(&definition, &mut job, &Event::Coordinator(0, Status::Killed));
        assert_eq!((job.status, job.pending), (Status::Killed, false));
    }
}
