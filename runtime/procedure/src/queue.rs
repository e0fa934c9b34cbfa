//! The queue of procedures: highest priority first, owners in turn, each owner's procedures in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::ProcedureId;

/// One in this many turns goes to a lower priority, so that none starves.
const TURNS: u32 = 32;

type Owner = Option<Arc<str>>;

#[derive(Debug, Default)]
pub(super) struct Queue {
    levels: BTreeMap<Reverse<u8>, Level>,
    len: usize,
    turns: u32,
}

#[derive(Debug, Default)]
struct Level {
    owners: VecDeque<Owner>,
    lines: HashMap<Owner, VecDeque<ProcedureId>>,
}

impl Queue {
    pub(super) fn push_front(&mut self, id: ProcedureId, owner: &Owner, priority: u8) {
        self.line(owner, priority).push_front(id);
        self.len += 1;
    }

    pub(super) fn push_back(&mut self, id: ProcedureId, owner: &Owner, priority: u8) {
        self.line(owner, priority).push_back(id);
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<ProcedureId> {
        if self.len == 0 {
            return None;
        }
        let mut pick = 0;
        if self.levels.len() > 1 {
            self.turns = (self.turns + 1) % (TURNS * 256);
            if self.turns.is_multiple_of(TURNS) {
                // Every lower level gets its turn in time.
                pick = (self.turns / TURNS) as usize % self.levels.len();
            }
        }
        let (&key, level) = self.levels.iter_mut().nth(pick)?;
        let owner = level.owners.pop_front().expect("a level is dropped with its last line");
        let line = level.lines.get_mut(&owner).expect("an owner in turn has a line");
        let id = line.pop_front().expect("a line is dropped with its last procedure");
        if line.is_empty() {
            level.lines.remove(&owner);
            if level.owners.is_empty() {
                self.levels.remove(&key);
            }
        } else {
            level.owners.push_back(owner);
        }
        self.len -= 1;
        Some(id)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn line(&mut self, owner: &Owner, priority: u8) -> &mut VecDeque<ProcedureId> {
        let level = self.levels.entry(Reverse(priority)).or_default();
        level.lines.entry(owner.clone()).or_insert_with(|| {
            level.owners.push_back(owner.clone());
            VecDeque::new()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Some(name.into())
    }

    #[test]
    fn a_flood_of_one_owner_does_not_starve_another() {
        let mut queue = Queue::default();
        for id in 0..100 {
            queue.push_back(ProcedureId(id), &owner("flood"), 0);
        }
        queue.push_back(ProcedureId(100), &owner("other"), 0);
        let first: Vec<_> = (0..2).filter_map(|_| queue.pop()).collect();
        assert_eq!(first, [ProcedureId(0), ProcedureId(100)]);
        assert_eq!(queue.len(), 99);
    }

    #[test]
    fn a_larger_priority_goes_first_but_not_for_ever() {
        let mut queue = Queue::default();
        queue.push_back(ProcedureId(1000), &None, 0);
        for id in 0..100 {
            queue.push_back(ProcedureId(id), &None, 5);
        }
        assert_eq!(queue.pop(), Some(ProcedureId(0)));
        let rest: Vec<_> = (0..100).filter_map(|_| queue.pop()).collect();
        let place = rest.iter().position(|id| *id == ProcedureId(1000)).expect("it is among them");
        assert!(place < 64, "waited {place} turns");
    }
}
