//! Programs of actions: starting, watching and stopping them.

use super::{
    AGAIN_MS, Call, LOOK_MS, LOOK_OLDER_MS, MOST_AGAIN, ROOM_MS, STOPPING_MS, Stage, Then, again,
};
use crate::actions::cluster;
use crate::actions::workplace::{Far, Worked, Workplace};
use crate::actions::workplace::{clear, deliver, forget_key, is_unreached, outcome};
use crate::driver::Needs;
use crate::host::elsewhere::Address;
use crate::host::process::{State, Urgency, is_passing};
use crate::host::yarn::Fault;
use ankus_lang::machine::{Answer, Class, External, Phase};
use ankus_procedure::{Context, Failure, ProcedureId, Step, Wait};
use std::io;
use std::path::Path;

/// The pause between two checks of a cluster, in milliseconds.
const CLUSTER_MS: u64 = 1_000;
/// How long a cluster that does not answer is asked to end what runs there; a tenth of that if the client ended by
/// itself.
const CLUSTER_PATIENCE_MS: u64 = 600_000;

impl Call {
    pub(super) fn start_program(
        &mut self,
        context: &mut Context<'_>,
        kind: &str,
        workplace: &Workplace<'_, '_>,
    ) -> Result<Step, Failure> {
        let Worked { program, capture, limit, .. } = match workplace.prepare() {
            Ok(worked) => worked,
            Err(refusal) => {
                let answer = Answer::Error(refusal.class, refusal.code, refusal.message);
                return Ok(match self.is_taken_up || self.failures > 0 {
                    true => self.not_started(context, workplace.folder, answer),
                    false => self.not_begun(context, answer),
                });
            }
        };
        let folder = workplace.folder.to_owned();
        if let Err(fault) = self.shared.surroundings.launchers.start(&folder, &program) {
            if is_passing(&fault) {
                // Nothing was started, and it is retried until something is.
                let why = match &program.seat {
                    Some(seat) => format!("the launcher `{}`: {fault}", seat.place.name),
                    None => fault.to_string(),
                };
                self.wait_for_room(context, kind, &why);
                return Ok(Step::Suspend(Wait::new().or_pause(ROOM_MS)));
            }
            let answer = match (&program.seat, fault.kind()) {
                // Asking a second time would not help.
                (Some(seat), io::ErrorKind::InvalidInput) => {
                    let place = &seat.place.name;
                    let message =
                        format!("the launcher `{place}` cannot start the {kind} action: {fault}");
                    Answer::Error(Class::Error, "JA018".into(), message)
                }
                _ => {
                    let message =
                        format!("cannot start a program in {}: {fault}", folder.display());
                    Answer::Error(Class::Transient, "JA009".into(), message)
                }
            };
            return Ok(self.not_started(context, &folder, answer));
        }
        self.watch(context.id(), &folder);
        // A program that is started again has another external id and a folder of its own.
        let phase = if self.saved.again == 0 { Phase::Start } else { Phase::Check };
        let external = match self.shared.surroundings.launchers.address(&folder) {
            Some(Address { id, tracker, console }) => {
                External { id: id.into(), tracker: tracker.into(), console: console.into() }
            }
            None => External {
                id: format!("{}#{}", self.saved.what.job, workplace.node).into(),
                tracker: "local".into(),
                console: format!("file://{}", folder.display()).into(),
            },
        };
        let event = self.event(phase, Answer::Started(external));
        context.send(self.saved.what.procedure, 0, event);
        self.saved.stage = Stage::Program { folder, kind: kind.to_owned(), capture, limit };
        Ok(self.suspended())
    }

    /// Handles a program that could not be started. It may have been started before, by a process that was killed or in
    /// a step that failed: whatever runs of it is stopped before the failure is reported, and before it is tried again.
    fn not_started(&mut self, context: &mut Context<'_>, folder: &Path, answer: Answer) -> Step {
        let then = match (self.saved.again, answer) {
            (0, answer) => Then::Tell(self.event(Phase::Start, answer)),
            (times, Answer::Error(Class::Transient, ..)) if times < MOST_AGAIN => {
                Then::Again(ROOM_MS)
            }
            (_, Answer::Error(Class::Transient, code, message)) => {
                let answer = Answer::Error(Class::Error, code, message);
                Then::Tell(self.event(Phase::Check, answer))
            }
            (_, answer) => Then::Tell(self.event(Phase::Check, answer)),
        };
        self.saved.stage = Stage::Stopping { folder: folder.to_owned(), then };
        self.stopping(context)
    }

    /// Waits until the program ends, the job sends a request, or it is time to poll.
    fn suspended(&self) -> Step {
        let look = if self.saved.is_older { LOOK_OLDER_MS } else { LOOK_MS };
        Step::Suspend(Wait::new().or_pause(look))
    }

    /// Wakes this procedure when the program of a folder has ended.
    pub(super) fn watch(&self, id: ProcedureId, folder: &Path) {
        let executor = self.shared.executor().clone();
        let wake = Box::new(move || {
            executor.wake(id);
        });
        self.shared.surroundings.launchers.watch(folder, wake);
    }

    /// Checks the state of the program.
    pub(super) fn program(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let Stage::Program { folder, kind, capture, limit } = self.saved.stage.clone() else {
            return Ok(Step::Done);
        };
        let state = match self.shared.surroundings.launchers.fate(&folder) {
            Ok(State::Running) => {
                if std::mem::take(&mut self.is_taken_up) {
                    let class = self.class_again();
                    self.shared.places.take(&mut self.place, class);
                    self.watch(context.id(), &folder);
                }
                context.skip_persistence();
                return Ok(self.suspended());
            }
            Ok(state) => state,
            // A program whose state is unknown may be running: it is stopped first, and only then is the job told of
            // the error.
            Err(fault) => {
                let message = format!("cannot look at {}: {fault}", folder.display());
                let answer = Answer::Error(Class::Error, "JA017".into(), message);
                let then = Then::Tell(self.event(Phase::Check, answer));
                self.saved.stage = Stage::Stopping { folder, then };
                return Ok(Step::More);
            }
        };
        let may_again = self.equipped()?.needs.starts_again;
        let is_patient = self.saved.again < MOST_AGAIN;
        let unreached = match is_unreached(&kind, &folder, &state) {
            true => self.retry_after()?,
            false => None,
        };
        let again = match &state {
            State::Lost if self.is_taken_up || is_patient => Some(AGAIN_MS),
            State::Ended(exit) if exit.with_all && exit.code != Some(0) => Some(AGAIN_MS),
            State::Ended(exit) if exit.passing => Some(ROOM_MS),
            _ => unreached,
        };
        let is_lost = state == State::Lost;
        // A failed client may have left jobs in a cluster. A map-reduce client knows how its only job ended, unless the
        // client itself was ended first.
        let may_leave = match &state {
            State::Ended(exit) if exit.code.is_some() && exit.bound.is_none() => {
                exit.code != Some(0) && kind != "map-reduce"
            }
            _ => true,
        };
        // A broken connection leaves the command running on the other machine.
        let is_cut = matches!(&state, State::Ended(exit) if exit.code == Some(255));
        let leaves =
            may_leave && cluster::trace(&folder).is_some() || is_cut && Far::of(&folder).is_some();
        let then = match again.filter(|_| may_again || unreached.is_some()) {
            Some(pause) => Then::Again(pause),
            None => {
                let is_done = matches!(&state, State::Ended(exit) if exit.code == Some(0));
                let delivered = match is_done {
                    true => deliver(&self.equipped()?.files, &folder),
                    false => Ok(()),
                };
                let answer = match delivered {
                    Ok(()) => outcome(&folder, &kind, capture, limit, state),
                    Err(refusal) => Answer::Error(refusal.class, refusal.code, refusal.message),
                };
                match &answer {
                    Answer::Finished(finished) if is_done && finished.error.code.is_none() => {
                        clear(&folder);
                    }
                    _ => forget_key(&folder),
                }
                if again.is_none() && !is_lost && !leaves {
                    return Ok(self.done(context, Phase::Check, answer));
                }
                Then::Tell(self.event(Phase::Check, answer))
            }
        };
        // If its launcher is gone, or everything was to be stopped, other processes of the program may remain. What
        // follows is written first: otherwise a process that resumes this after a crash would find a stopped program
        // and not know why.
        self.saved.stage = Stage::Stopping { folder, then };
        Ok(Step::More)
    }

    /// Returns the pause, in milliseconds, before a start that failed is retried as a server would; none after the last
    /// retry. Both the pause and the number of retries may be set by the job.
    fn retry_after(&self) -> Result<Option<u64>, Failure> {
        let looked = self.look()?;
        let server = &looked.equipped.needs.server;
        let number = |own: &str, all: &str, otherwise: i64| {
            let own = looked.run.property(own).and_then(|own| own.trim().parse().ok());
            let all = || server.get(all).and_then(|all| all.trim().parse().ok());
            own.or_else(all).unwrap_or(otherwise)
        };
        let most = number("oozie.wf.action.max.retries", "oozie.action.retries.max", 3);
        if i64::from(self.saved.again) >= most {
            return Ok(None);
        }
        let seconds = number("oozie.wf.action.retry.interval", "oozie.action.retry.interval", 10);
        let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0).unwrap_or(60);
        let policy = server.get("oozie.action.retry.policy");
        let is_exponential =
            policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("exponential"));
        let factor = if is_exponential { 1 << self.saved.again.min(30) } else { 1 };
        Ok(Some(seconds.saturating_mul(1_000).saturating_mul(factor)))
    }

    /// Stops everything that runs in a folder, and then does what follows.
    pub(super) fn stopping(&mut self, context: &mut Context<'_>) -> Step {
        let Stage::Stopping { folder, then } = self.saved.stage.clone() else { return Step::Done };
        let now = context.host().elapsed_ms();
        let is_first = self.asked.is_none();
        if is_first && self.is_taken_up {
            let class = self.class_again();
            self.shared.places.take(&mut self.place, class);
        }
        let (since, pause) = *self.asked.get_or_insert((now, STOPPING_MS.0));
        // If the job is gone, its grace period is unknown, and the default is used.
        let grace_ms =
            self.equipped().map_or(Needs::default().grace_ms, |equipped| equipped.needs.grace_ms);
        let left = grace_ms.saturating_sub(now.saturating_sub(since));
        let urgency = match &then {
            _ if self.is_forced => Urgency::Force,
            Then::Nothing if is_first => Urgency::Ask,
            Then::Nothing if left > 0 => Urgency::Look,
            _ => Urgency::Force,
        };
        // If the state cannot be read, it is read again later.
        let launchers = &self.shared.surroundings.launchers;
        let there = match launchers.stop(&folder, urgency) {
            Err(fault) if now.saturating_sub(since) >= CLUSTER_PATIENCE_MS => {
                match launchers.address(&folder) {
                    Some(Address { console, .. }) => {
                        let why =
                            format!("[{console} may still run, and could not be ended: {fault}]");
                        cluster::note(&folder, &why);
                        0
                    }
                    None => 1,
                }
            }
            there => there.unwrap_or(1),
        };
        if there > 0 {
            self.asked = Some((since, (pause * 2).min(STOPPING_MS.1)));
            if !is_first {
                context.skip_persistence();
            } else if self.is_taken_up {
                self.watch(context.id(), &folder);
            }
            let pause = if left > 0 { pause.min(left) } else { pause };
            return Step::Suspend(Wait::new().or_pause(pause));
        }
        let patience = match then {
            Then::Tell(_) => CLUSTER_PATIENCE_MS / 10,
            _ => CLUSTER_PATIENCE_MS,
        };
        if let Some(pause) = Self::clear_cluster(&folder, now.saturating_sub(since) < patience) {
            context.skip_persistence();
            return Step::Suspend(Wait::new().or_pause(pause));
        }
        let waited = now.saturating_sub(since);
        let is_patient = match then {
            Then::Again(_) => waited < CLUSTER_PATIENCE_MS,
            _ => waited < CLUSTER_PATIENCE_MS / 10,
        };
        let signal = if waited < grace_ms { "TERM" } else { "KILL" };
        if let Some(pause) = Self::clear_far(&folder, signal, is_patient) {
            context.skip_persistence();
            return Step::Suspend(Wait::new().or_pause(pause));
        }
        self.asked = None;
        match then {
            Then::Again(pause) if !self.saved.is_stopped => {
                clear(&folder);
                self.saved.again += 1;
                self.saved.folder = again(&folder, self.saved.again);
                self.saved.stage = Stage::Again;
                Step::Suspend(Wait::pause(pause))
            }
            Then::Tell(event) if !self.saved.is_stopped => {
                context.set_result(event);
                Step::Done
            }
            _ => {
                clear(&folder);
                Step::Done
            }
        }
    }

    /// Ends what a stopped or lost program started in a cluster, since killing a client leaves its jobs running.
    /// Returns the pause before the next check, or none if no job is left.
    fn clear_cluster(folder: &Path, is_patient: bool) -> Option<u64> {
        let trace = cluster::trace(folder)?;
        if !trace.is_client && !cluster::told_of_jobs(folder) {
            return None;
        }
        let manager = trace.manager();
        let left = match manager.tagged(&trace.tag) {
            Ok(apps) => apps.into_iter().filter(|app| !app.is_over()).collect::<Vec<_>>(),
            // If the cluster does not answer, nothing was started there, unless the program's output says so.
            Err(Fault::Unreachable(_)) if !cluster::told_of_jobs(folder) => return None,
            Err(fault) => return Self::give_up(folder, &trace.tag, &fault, is_patient),
        };
        let mut pause = None;
        for app in left {
            if let Err(fault) = manager.kill(&app.id) {
                return Self::give_up(folder, &trace.tag, &fault, is_patient);
            }
            // It takes a moment to end, and is checked again.
            pause = Some(CLUSTER_MS);
        }
        pause
    }

    /// Ends the command of an ssh action on its machine, since it does not end with its client. Returns the same as
    /// [`Call::clear_cluster`].
    fn clear_far(folder: &Path, signal: &str, is_patient: bool) -> Option<u64> {
        let far = Far::of(folder)?;
        let (pause, why) = match far.end(folder, signal) {
            Ok(0) => return None,
            Ok(count) => {
                (CLUSTER_MS, format!("{count} processes continue to run after they were killed"))
            }
            Err(why) => (CLUSTER_MS * 5, why),
        };
        if is_patient {
            return Some(pause);
        }
        let host = far.host();
        let note = format!("[the command on {host} may still run, and could not be ended: {why}]");
        cluster::note(folder, &note);
        None
    }

    /// Handles cluster jobs that cannot be ended now: retries for a limited time.
    fn give_up(folder: &Path, tag: &str, fault: &Fault, is_patient: bool) -> Option<u64> {
        if is_patient {
            return Some(CLUSTER_MS * 5);
        }
        let why = format!(
            "[applications of YARN with the tag {tag} may still run, and could not be killed: {fault}]"
        );
        cluster::note(folder, &why);
        None
    }

    /// Whether the calling job is gone, or has ended without knowing of this call.
    pub(super) fn is_orphan(&self) -> bool {
        let what = &self.saved.what;
        let of = self.shared.executor().state(what.procedure);
        let is_gone = of.is_none_or(|state| state.is_end());
        let has_ended = || self.shared.record(&what.job).is_ok_and(|it| it.job.status.is_end());
        is_gone || (self.saved.is_older && what.phase == Phase::Start && has_ended())
    }
}
