//! Requests of operators, and metrics.

use super::{After, BYPASS, Core};
use crate::store::{Key, Row, Write};
use crate::{Metrics, ProcedureId, State};

impl Core {
    /// Ends a procedure, and all its ancestors, without running them. See [`super::Executor::bypass`].
    pub(crate) fn bypass(&mut self, id: ProcedureId, force: bool, recursive: bool) -> bool {
        let mut order = vec![id];
        if recursive {
            // Children first: the list is walked from its end.
            let mut at = 0;
            while at < order.len() {
                let above = order[at];
                let mut below: Vec<_> = self
                    .procedures
                    .iter()
                    .filter(|(_, entry)| entry.parent == Some(above) && !entry.state.is_end())
                    .map(|(id, _)| *id)
                    .collect();
                below.sort_unstable();
                order.extend(below);
                at += 1;
            }
        }
        let mut answer = false;
        for id in order.into_iter().rev() {
            answer = self.bypass_one(id, force, recursive);
            if !answer {
                return false;
            }
        }
        answer
    }

    fn bypass_one(&mut self, id: ProcedureId, force: bool, recursive: bool) -> bool {
        let Some(entry) = self.procedures.get(&id) else { return false };
        if self.fails(id) {
            return false;
        }
        let takes = matches!(
            entry.state,
            State::Runnable | State::Waiting | State::WaitingTimeout | State::WaitingMessage
        );
        let busy = entry.flags.busy;
        if !takes || (busy && !force) || (entry.children_left > 0 && !recursive) {
            return false;
        }
        let timed = entry.state == State::WaitingTimeout;
        let mut above = Some(id);
        while let Some(at) = above {
            let entry = self.procedures.get_mut(&at).expect("whoever has living children lives");
            above = entry.parent;
            if !entry.flags.bypass {
                entry.flags.bypass = true;
                if entry.flags.busy {
                    // Its state is with a worker, so the record cannot be written now.
                    let key = Key { space: BYPASS.into(), key: at.0.to_be_bytes().into() };
                    self.unit(vec![Write::Put(Row { key, value: Box::default() })], After::Nothing);
                } else {
                    let write = self.record(at, None);
                    self.unit(vec![write], After::Shown(at));
                }
            }
        }
        if busy {
            return true;
        }
        let entry = self.procedures.get_mut(&id).expect("it was there a moment ago");
        if timed {
            entry.flags.timed_out = true;
        } else if entry.children_left == 0 {
            entry.state = State::Runnable;
        } else {
            // It ends when its children have ended.
            return true;
        }
        self.enqueue(id, true);
        true
    }

    /// Removes results that were acknowledged or are old. Returns how many.
    pub(crate) fn clean(
        &mut self,
        acknowledged_ms: i64,
        unacknowledged_ms: i64,
        at_most: usize,
    ) -> usize {
        let now = i64::try_from(self.now.elapsed_ms).unwrap_or(i64::MAX);
        let mut old: Vec<ProcedureId> = self
            .ended
            .iter()
            .filter(|(_, ended)| {
                !ended.keep
                    || ended.acknowledged_ms.is_some_and(|at| now - at >= acknowledged_ms)
                    || now - ended.ended_ms >= unacknowledged_ms
            })
            .map(|(id, _)| *id)
            .collect();
        old.sort_unstable();
        old.truncate(at_most);
        let mut writes = Vec::new();
        for id in &old {
            let ended = self.ended.remove(id).expect("it was found a moment ago");
            if let Some(nonce) = ended.nonce {
                self.nonces.remove(&*nonce);
            }
            if !ended.placeholder {
                writes.push(Write::Remove(*id));
            }
        }
        if !writes.is_empty() {
            self.unit(writes, After::Nothing);
        }
        old.len()
    }

    /// Returns the current counts.
    pub(crate) fn measure(&self) -> Metrics {
        let mut metrics = self.metrics.clone();
        let mut oldest = None;
        for entry in self.procedures.values() {
            metrics.live[entry.shown.place()] += 1;
            metrics.state_ms[entry.counted.place()] +=
                self.now.elapsed_ms.saturating_sub(entry.since_ms);
            if entry.flags.queued {
                oldest = oldest.max(Some(self.now.elapsed_ms.saturating_sub(entry.queued_ms)));
            }
        }
        metrics.finished = self.ended.len() as u64;
        metrics.queued = self.queue.len() as u64;
        metrics.oldest_runnable_ms = oldest.unwrap_or(0);
        metrics.locks = self.locks.len() as u64;
        metrics
    }
}
