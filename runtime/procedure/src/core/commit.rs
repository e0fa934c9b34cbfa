//! Batches that are being committed, and what happens afterward.

use super::{After, Batch, Born, Core, Course, Ended, Entry, KEPT_ROOM, Next, Root, Unit};
use crate::store::Write;
use crate::{Message, ProcedureId, State};

impl Core {
    pub(super) fn unit(&mut self, mut writes: Vec<Write>, after: After) -> u64 {
        self.assigned += 1;
        self.pending.units.push(Unit { writes: writes.len(), after, number: self.assigned });
        self.pending.writes.append(&mut writes);
        if (1..=64).contains(&writes.capacity()) {
            self.room = writes;
        }
        self.assigned
    }

    /// Returns the number of the unit that was queued last.
    pub(crate) fn assigned(&self) -> u64 {
        self.assigned
    }

    /// Returns how many writes are waiting for a commit.
    pub(crate) fn pending(&self) -> usize {
        self.pending.writes.len().max(self.pending.units.len())
    }

    /// Takes everything that is waiting.
    pub(crate) fn take_batch(&mut self) -> Batch {
        std::mem::take(&mut self.pending)
    }

    /// Handles a batch that the store refused. Steps wait for the next try; submissions and messages from outside are
    /// given back to their callers, and what may have been written of them is restored.
    pub(crate) fn refused(&mut self, batch: Batch) {
        self.metrics.store_failures += 1;
        let mut writes = batch.writes.into_iter();
        let later = std::mem::take(&mut self.pending);
        for unit in batch.units {
            let own: Vec<_> = writes.by_ref().take(unit.writes).collect();
            let outside = match &unit.after {
                After::Submitted(entries) => {
                    entries.iter().all(|(_, entry, _)| entry.reply.is_none())
                }
                After::Delivered(said) => said.1.from.is_none(),
                _ => false,
            };
            if !outside {
                self.pending.units.push(unit);
                self.pending.writes.extend(own);
                continue;
            }
            self.refused.push(unit.number);
            let undo = self.undo.remove(&unit.number);
            let has_undo = undo.is_some();
            let mut back: Vec<_> = own
                .into_iter()
                .filter_map(|write| match write {
                    Write::Record(id, _) => Some(Write::Remove(id)),
                    // A message, which has not been delivered.
                    Write::Put(row) if !has_undo => Some(Write::Delete(row.key)),
                    Write::Put(_) | Write::Remove(_) | Write::Delete(_) => None,
                })
                .collect();
            back.extend(undo.unwrap_or_default());
            self.pending.units.push(Unit {
                writes: back.len(),
                after: After::Nothing,
                number: unit.number,
            });
            self.pending.writes.extend(back);
        }
        self.pending.units.extend(later.units);
        self.pending.writes.extend(later.writes);
    }

    /// Handles a batch that is durable: its consequences happen now.
    pub(crate) fn committed(&mut self, batch: Batch) {
        // An empty batch does not reach the store.
        if !batch.writes.is_empty() {
            self.refuses_since = None;
        }
        self.metrics.commits += 1;
        self.metrics.writes += batch.writes.len() as u64;
        self.metrics.largest_commit = self.metrics.largest_commit.max(batch.writes.len() as u64);
        let Batch { mut writes, mut units } = batch;
        for unit in units.drain(..) {
            self.committed = unit.number;
            if !self.undo.is_empty() {
                self.undo.remove(&unit.number);
            }
            self.after(unit.after);
        }
        // The next batch reuses the allocation, unless it has already begun in its own.
        writes.clear();
        if self.pending.is_empty() && writes.capacity() <= KEPT_ROOM {
            self.pending = Batch { writes, units };
        }
    }

    /// Whether the unit with this number is durable; an error if it was given back.
    pub(crate) fn is_durable(&mut self, number: u64) -> Result<bool, ()> {
        if let Some(at) = self.refused.iter().position(|refused| *refused == number) {
            self.refused.swap_remove(at);
            return Err(());
        }
        Ok(self.committed >= number)
    }

    pub(super) fn after(&mut self, after: After) {
        match after {
            After::Submitted(entries) => self.after_submitted(entries),
            After::Stepped { id, next, born } => self.after_step(id, next, born),
            After::Undone { id, idle } => self.after_undone(id, &idle),
            After::Locked(id) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.flags.busy = false;
                entry.flags.woken = false;
                let root_id = entry.root;
                self.roots
                    .get_mut(&root_id)
                    .expect("a live procedure has a living root")
                    .running -= 1;
                self.enqueue(id, true);
            }
            After::Ended(id) => {
                let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
                entry.flags.busy = false;
                self.end_root(id);
            }
            After::Delivered(said) => self.after_delivered(said.0, said.1),
            After::Shown(id) => {
                if let Some(entry) = self.procedures.get_mut(&id) {
                    entry.shown = entry.state;
                }
            }
            After::Nothing => {}
        }
    }

    fn after_submitted(&mut self, entries: Vec<(ProcedureId, Box<Entry>, bool)>) {
        for (id, entry, undoable) in entries {
            self.metrics.submitted += 1;
            if let Some(nonce) = entry.nonce.as_deref() {
                self.nonces.insert(*nonce, (id, true));
            }
            self.roots.insert(id, Root::new(undoable));
            self.procedures.insert(id, entry);
            self.enqueue(id, false);
        }
    }

    fn after_delivered(&mut self, to: ProcedureId, message: Message) {
        let alive = self
            .procedures
            .get_mut(&to)
            .filter(|entry| !entry.state.is_end() && entry.body_or_busy());
        let Some(entry) = alive else {
            let key = self.inbox_key(to, message.number);
            self.unit(vec![Write::Delete(key)], After::Nothing);
            self.lost.extend(message.from.is_none().then_some(message.number));
            return;
        };
        entry.inbox.push(message);
        self.wake(to, false);
    }

    pub(super) fn after_step(&mut self, id: ProcedureId, next: Next, born: Born) {
        self.count_time(id);
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        let root_id = entry.root;
        entry.flags.busy = false;
        entry.shown = entry.state;
        let woken = std::mem::take(&mut entry.flags.woken);
        let yields = entry.flags.yields;
        entry.children_left +=
            u32::try_from(born.children.len()).expect("they were counted before");
        let root = self.roots.get_mut(&root_id).expect("a live procedure has a living root");
        root.running -= 1;
        root.members.extend(born.children.iter().map(|(child, _)| *child));
        if next == Next::Fails && root.course == Course::Running {
            root.course = Course::Failed;
            root.first_failure = Some(id);
        }

        for (child_id, child) in born.children {
            self.metrics.submitted += 1;
            self.procedures.insert(child_id, child);
            self.enqueue(child_id, true);
        }
        self.after_submitted(born.spawned);
        for (to, message) in born.said {
            self.after_delivered(to, message);
        }

        match next {
            Next::Again if yields => {
                self.release(id, false);
                self.enqueue(id, false);
            }
            Next::Again => self.enqueue(id, true),
            Next::Waits => {
                self.release(id, false);
                let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
                if entry.children_left == 0 {
                    entry.state = State::Runnable;
                    self.enqueue(id, true);
                }
            }
            Next::Suspends => {
                self.release(id, false);
                let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
                let timer = entry
                    .timer
                    .as_deref()
                    .copied()
                    .filter(|_| entry.state == State::WaitingTimeout);
                if woken {
                    self.wake(id, true);
                } else if let Some(timer) = timer {
                    self.arm(id, timer.length_ms);
                }
            }
            Next::Ends => self.ends(id, root_id),
            Next::Fails => {
                self.leave_event(id);
                self.release(id, false);
            }
        }

        if let Some(root) = self.roots.get(&root_id)
            && root.course != Course::Running
            && root.running == 0
        {
            self.enqueue(root_id, true);
        }
    }

    /// Handles the last step of a procedure that succeeded.
    pub(super) fn ends(&mut self, id: ProcedureId, root_id: ProcedureId) {
        self.release(id, true);
        if id == root_id {
            // A root that ended while a child of a timed wait failed is undone with the rest.
            if self.roots[&id].course == Course::Running {
                self.end_root(id);
            }
            return;
        }
        self.metrics.succeeded += 1;
        let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
        entry.body = None;
        let taken = u64::try_from(entry.updated_ms.saturating_sub(entry.submitted_ms)).unwrap_or(0);
        self.metrics.duration_ms += taken;
        let inbox = std::mem::take(&mut entry.inbox);
        let parent_id = entry.parent.expect("whoever is not a root has a parent");
        if !inbox.is_empty() {
            let deletes = inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
        let Some(parent) = self.procedures.get_mut(&parent_id) else { return };
        parent.children_left = parent.children_left.saturating_sub(1);
        if parent.children_left == 0 && parent.state == State::Waiting {
            if !parent.flags.busy {
                parent.state = State::Runnable;
            }
            self.enqueue(parent_id, true);
        }
    }

    fn after_undone(&mut self, id: ProcedureId, idle: &[ProcedureId]) {
        for idle in idle {
            self.metrics.failed += 1;
            self.bury(*idle);
        }
        let entry = self.procedures.get_mut(&id).expect("whoever is busy stays");
        let root_id = entry.root;
        entry.flags.busy = false;
        entry.flags.woken = false;
        entry.shown = entry.state;
        let gone = entry.stack.is_empty();
        let yields = entry.flags.yields;
        self.roots.get_mut(&root_id).expect("a live procedure has a living root").running -= 1;
        if gone {
            self.metrics.failed += 1;
            self.bury(id);
        } else {
            self.release(id, false);
        }
        self.enqueue(root_id, !yields);
    }

    /// Removes a procedure that will never be called again.
    fn bury(&mut self, id: ProcedureId) {
        self.count_time(id);
        self.leave_event(id);
        self.release(id, true);
        let Some(entry) = self.procedures.remove(&id) else { return };
        if !entry.inbox.is_empty() {
            let deletes = entry
                .inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
    }

    fn end_root(&mut self, id: ProcedureId) {
        let root = self.roots.remove(&id).expect("a living root");
        for member in root.members {
            if self.procedures.contains_key(&member) {
                if self.procedures[&id].state == State::RolledBack {
                    self.metrics.failed += 1;
                }
                self.bury(member);
            }
        }
        self.leave_event(id);
        self.release(id, true);
        self.count_time(id);
        let entry = self.procedures.remove(&id).expect("a living root is alive");
        let taken = u64::try_from(entry.updated_ms.saturating_sub(entry.submitted_ms)).unwrap_or(0);
        if entry.state == State::Success {
            self.metrics.succeeded += 1;
            self.metrics.duration_ms += taken;
        } else {
            self.metrics.failed += 1;
        }
        // Messages that arrived while the last commit was in progress.
        if !entry.inbox.is_empty() {
            let deletes = entry
                .inbox
                .iter()
                .map(|message| Write::Delete(self.inbox_key(id, message.number)))
                .collect();
            self.unit(deletes, After::Nothing);
        }
        self.news.push(id);
        if entry.reply.is_some() {
            return;
        }
        let ended_ms = i64::try_from(self.now.elapsed_ms).unwrap_or(i64::MAX);
        self.ended.insert(
            id,
            Ended {
                state: entry.state,
                bypass: entry.flags.bypass,
                failure: entry.failure,
                result: entry.result,
                nonce: entry.nonce,
                submitted_ms: entry.submitted_ms,
                updated_ms: entry.updated_ms,
                ended_ms,
                acknowledged_ms: None,
                keep: entry.flags.keep,
                placeholder: false,
            },
        );
    }
}
