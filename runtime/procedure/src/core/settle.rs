//! Handles the results of calls of user code: the writes that follow, and what to do once they are committed.

use super::{After, Born, Core, Course, Entry, Next, Outcome, Settled};
use crate::context::Effects;
use crate::record::{Timer, Wire};
use crate::store::Write;
use crate::{
    Failure, New, Note, ProcedureId, Registry, State, Step, TimedOut, UndoError, Wait, record,
};
use std::sync::atomic::Ordering;

impl Core {
    /// Handles the results of a call of user code.
    pub(crate) fn settle(&mut self, settled: Settled, registry: &Registry) {
        self.metrics.running -= 1;
        let Settled { id, body, mut outcome, mut effects, mut messages, taken, data } = settled;
        if matches!(outcome, Outcome::Executed(Ok(_)))
            && let Some(failure) =
                stranger(effects.spawned.iter_mut().map(|(_, new)| new), registry)
        {
            outcome = Outcome::Executed(Err(failure));
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.body = Some(body);
        entry.updated_ms = self.now.wall_ms;

        let drops = matches!(
            outcome,
            Outcome::Executed(Ok(Step::Yield) | Err(_))
                | Outcome::Undone(Err(_))
                | Outcome::Aborted(false)
        );
        let (mut effects, taken) = if drops { (Effects::default(), 0) } else { (effects, taken) };
        let rest = messages.split_off(taken);
        // Messages that arrived meanwhile are newer.
        let younger = std::mem::replace(&mut entry.inbox, rest);
        entry.inbox.extend(younger);
        let taken: Vec<u64> = messages.iter().map(|message| message.number).collect();
        effects
            .writes
            .extend(taken.iter().map(|number| Write::Delete(self.inbox_key(id, *number))));

        match outcome {
            Outcome::Executed(Ok(Step::Yield)) => {
                self.release(id, false);
                self.procedures.get_mut(&id).expect("whoever is busy stays").flags.woken = true;
                self.stop(id, false);
            }
            Outcome::Executed(Ok(Step::Fail(failure)) | Err(failure)) => {
                self.step_failed(id, failure, effects, &data)
            }
            Outcome::Executed(Ok(Step::Done)) if self.wants_messages(id) => {
                effects.result = None;
                self.step_more(id, effects, &data);
            }
            Outcome::Executed(Ok(Step::Done)) => self.step_ended(id, Some(&data), effects),
            Outcome::Executed(Ok(Step::Children(children))) if children.is_empty() => {
                self.step_ended(id, Some(&data), effects);
            }
            Outcome::Executed(Ok(Step::Children(mut children))) => {
                match stranger(children.iter_mut(), registry) {
                    Some(failure) => self.step_failed(id, failure, Effects::default(), &data),
                    None => self.step_waits(id, children, effects, &data),
                }
            }
            Outcome::Executed(Ok(Step::More)) => self.step_more(id, effects, &data),
            Outcome::Executed(Ok(Step::Suspend(mut wait))) => {
                match stranger(wait.children.iter_mut(), registry) {
                    Some(failure) => self.step_failed(id, failure, Effects::default(), &data),
                    None => self.step_suspends(id, wait, effects, &data),
                }
            }
            Outcome::Undone(Err(UndoError::Retry(_))) => {
                self.release(id, false);
                self.stop(id, false);
            }
            Outcome::Undone(_) => self.step_undone(id, Some(&data), effects),
            Outcome::TimedOut(TimedOut::Fail) => {
                let entry = self.procedures.get(&id).expect("whoever is busy stays");
                let waited = entry.timer.as_ref().map_or(0, |timer| timer.length_ms);
                let message = format!("timed out after {waited} ms");
                self.fail(id, Failure::new("executor", Failure::TIMEOUT, message), effects, &data);
            }
            Outcome::TimedOut(TimedOut::Run) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.state = State::Runnable;
                entry.waits = entry.waits.wrapping_add(1);
                if effects.writes.is_empty()
                    && effects.spawned.is_empty()
                    && effects.sent.is_empty()
                {
                    self.procedures.get_mut(&id).expect("whoever is busy stays").flags.woken = true;
                    self.stop(id, true);
                } else {
                    let (mut writes, born) = self.collect(id, effects);
                    writes.push(self.record(id, Some(&data)));
                    self.unit(writes, After::Stepped { id, next: Next::Again, born });
                }
            }
            Outcome::Aborted(accepted) => {
                self.stop(id, true);
                if accepted {
                    self.procedures.get_mut(&id).expect("it was there a moment ago").flags.abort =
                        true;
                    let (mut writes, born) = self.collect(id, effects);
                    writes.push(self.record(id, Some(&data)));
                    self.born_without_step(born, &mut writes);
                    self.unit(writes, After::Shown(id));
                }
            }
        }
    }

    /// Whether there are messages for a procedure that does not end before it has taken them.
    fn wants_messages(&self, id: ProcedureId) -> bool {
        let entry = &self.procedures[&id];
        let drops = entry.body.as_ref().is_none_or(|body| body.drops_messages());
        !drops && !entry.inbox.is_empty() && !entry.flags.bypass
    }

    /// Marks a procedure as no longer busy, without a commit. It goes back to the queue if it was woken.
    fn stop(&mut self, id: ProcedureId, front: bool) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.flags.busy = false;
        let woken = std::mem::take(&mut entry.flags.woken);
        let root_id = entry.root;
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        root.running -= 1;
        let undo = root.course != Course::Running && root.running == 0;
        if woken {
            self.enqueue(id, front);
        }
        if undo {
            self.enqueue(root_id, front);
        }
    }

    fn push_step(&mut self, id: ProcedureId) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.flags.executed = true;
        self.metrics.steps += 1;
        let root = self.roots.get_mut(&entry.root).expect("a live procedure has a living root");
        if !root.undoable {
            return;
        }
        let index = u32::try_from(root.stack.len())
            .expect("a tree that is undone has less than four billion steps");
        root.stack.push(id);
        match entry.stack.last_mut() {
            Some((first, count)) if *first + *count == index => *count += 1,
            _ => entry.stack.push((index, 1)),
        }
    }

    fn step_failed(&mut self, id: ProcedureId, failure: Failure, effects: Effects, data: &[u8]) {
        self.push_step(id);
        self.fail(id, failure, effects, data);
    }

    fn fail(&mut self, id: ProcedureId, failure: Failure, effects: Effects, data: &[u8]) {
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Failed;
        entry.failure = Some(Box::new(failure));
        entry.timer = None;
        entry.waits = entry.waits.wrapping_add(1);
        let (mut writes, born) = self.collect(id, effects);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Fails, born });
    }

    fn step_more(&mut self, id: ProcedureId, effects: Effects, data: &[u8]) {
        if skips(&effects) {
            self.after_step(id, Next::Again, Born::default());
            return;
        }
        self.push_step(id);
        self.procedures.get_mut(&id).expect("whoever is busy stays").timer = None;
        let (mut writes, born) = self.collect(id, effects);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Again, born });
    }

    fn step_waits(&mut self, id: ProcedureId, children: Vec<New>, effects: Effects, data: &[u8]) {
        self.push_step(id);
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Waiting;
        entry.timer = None;
        let (mut writes, mut born) = self.collect(id, effects);
        self.bear(id, children, &mut writes, &mut born);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Waits, born });
    }

    fn bear(
        &mut self,
        id: ProcedureId,
        children: Vec<New>,
        writes: &mut Vec<Write>,
        born: &mut Born,
    ) {
        let count =
            u32::try_from(children.len()).expect("children fit into memory many times over");
        let first = self.next_id.fetch_add(u64::from(count), Ordering::Relaxed);
        let parent = &self.procedures[&id];
        let undoable = self.roots[&parent.root].undoable;
        for (child_id, child) in (first..).map(ProcedureId).zip(children) {
            let entry = self.entry(child, child_id, Some((id, parent)));
            writes.push(write(child_id, &entry, undoable, None));
            born.children.push((child_id, entry));
        }
        if count > 0 {
            self.procedures.get_mut(&id).expect("whoever is busy stays").children =
                Some((ProcedureId(first), count));
        }
    }

    fn step_suspends(&mut self, id: ProcedureId, wait: Wait, effects: Effects, data: &[u8]) {
        let Wait { event, timeout_ms, resumes, message, children } = wait;
        let skip = skips(&effects) && children.is_empty();
        if !skip {
            self.push_step(id);
        }
        let now = self.now;
        let ready = event.as_ref().is_some_and(|name| self.is_ready(name));
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.timer = timeout_ms.map(|length_ms| {
            let due_ms = now.wall_ms.saturating_add(i64::try_from(length_ms).unwrap_or(i64::MAX));
            Box::new(Timer { due_ms, length_ms, resumes })
        });
        entry.state = match (timeout_ms, message) {
            (Some(_), _) => State::WaitingTimeout,
            (None, true) => State::WaitingMessage,
            (None, false) if children.is_empty() => State::Runnable,
            (None, false) => State::Waiting,
        };
        entry.flags.woken |= ready || (message && !entry.inbox.is_empty());
        if let (Some(name), false) = (event, ready) {
            entry.event = Some(name.clone());
            self.events.entry(name).or_default().waiters.push_back(id);
        }
        if skip {
            self.after_step(id, Next::Suspends, Born::default());
            return;
        }
        let (mut writes, mut born) = self.collect(id, effects);
        self.bear(id, children, &mut writes, &mut born);
        writes.push(self.record(id, Some(data)));
        self.unit(writes, After::Stepped { id, next: Next::Suspends, born });
    }

    pub(super) fn step_ended(&mut self, id: ProcedureId, data: Option<&[u8]>, effects: Effects) {
        let mut effects = effects;
        let result = effects.result.take();
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        if entry.children_left > 0 {
            // It ended while children of a timed wait are still running: it is called again when they have ended.
            return self.step_waits(id, Vec::new(), effects, data.unwrap_or_default());
        }
        let is_root = entry.root == id;
        let failed = self.roots[&entry.root].course != Course::Running;
        if is_root && !failed {
            // The stack of a tree that succeeds is never needed.
            entry.flags.executed |= !entry.flags.bypass;
            self.metrics.steps += u64::from(!entry.flags.bypass);
        } else if !entry.flags.bypass {
            self.push_step(id);
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        entry.state = State::Success;
        entry.timer = None;
        entry.flags.locked = false;
        entry.result = result.map(Into::into);
        entry.updated_ms = self.now.wall_ms;
        let (mut writes, born) = self.collect(id, effects);
        if is_root && !failed {
            self.end_writes(id, data, &mut writes);
        } else {
            writes.push(self.record(id, data));
        }
        self.unit(writes, After::Stepped { id, next: Next::Ends, born });
    }

    /// Converts effects to writes and follow-ups.
    pub(super) fn collect(&mut self, id: ProcedureId, effects: Effects) -> (Vec<Write>, Born) {
        let mut born = Born::default();
        let mut writes = std::mem::take(&mut self.room);
        writes.extend(effects.writes);
        for (spawned_id, new) in effects.spawned {
            let undoable = new.body.undoable();
            let tag = new.tag;
            let owner = self.procedures.get(&id).and_then(|entry| entry.owner.clone());
            let mut entry = self.entry(new, spawned_id, None);
            entry.owner = entry.owner.or(owner);
            entry.reply = Some(Box::new((id, tag)));
            writes.push(write(spawned_id, &entry, undoable, None));
            born.spawned.push((spawned_id, entry, undoable));
        }
        for (to, tag, data) in effects.sent {
            let (message, write) = self.message(to, Some(id), tag, Note::Data(data));
            writes.push(write);
            born.said.push((to, message));
        }
        (writes, born)
    }

    pub(super) fn record(&self, id: ProcedureId, data: Option<&[u8]>) -> Write {
        let entry = &self.procedures[&id];
        write(id, entry, self.roots[&entry.root].undoable, data)
    }
}

fn skips(effects: &Effects) -> bool {
    effects.skip
        && effects.writes.is_empty()
        && effects.spawned.is_empty()
        && effects.sent.is_empty()
}

/// Returns a failure if one of the children is of a kind that could not be loaded again.
fn stranger<'a>(
    children: impl Iterator<Item = &'a mut New>,
    registry: &Registry,
) -> Option<Failure> {
    for (at, child) in children.enumerate() {
        let Some(kind) = registry.name(&child.kind) else {
            let message =
                format!("child {at} is of kind `{}`, which nobody registered", child.kind);
            return Some(Failure::new("executor", Failure::CHILD, message));
        };
        child.kind = kind;
    }
    None
}

/// Returns the write for the record of an entry.
pub(super) fn write(id: ProcedureId, entry: &Entry, undoable: bool, data: Option<&[u8]>) -> Write {
    let saved;
    let data = match (data, &entry.body) {
        (Some(data), _) => data,
        (None, Some(body)) => {
            saved = body.save();
            &saved[..]
        }
        (None, None) => &[],
    };
    let flags = entry.flags;
    let wire = Wire {
        kind: &entry.kind,
        parent: entry.parent,
        owner: entry.owner.as_deref(),
        priority: entry.priority,
        state: entry.state,
        submitted_ms: entry.submitted_ms,
        updated_ms: entry.updated_ms,
        timer: entry.timer.as_deref().copied(),
        stack: &entry.stack,
        children: entry.children,
        flags: record::flags([
            flags.executed,
            flags.locked,
            flags.bypass,
            flags.abort,
            undoable,
            flags.keep,
        ]),
        failure: entry.failure.as_deref(),
        result: entry.result.as_deref(),
        nonce: entry.nonce.as_deref().copied(),
        reply: entry.reply.as_deref().copied(),
        data,
    };
    Write::Record(id, wire.encode())
}
