//! Exclusive and shared locks by name.
//!
//! Locks are in memory; a lock for life is also in the record of its procedure, and a restart restores it before
//! anything runs. Children may use what their ancestors hold.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::ProcedureId;

/// The mode of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One holder.
    Exclusive,
    /// Several holders that share it.
    Shared,
}

/// A lock that a procedure requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// Its name.
    pub name: Arc<str>,
    /// Its mode.
    pub mode: Mode,
    /// Whether it is held from the first step to the end, through suspension and restarts; otherwise for each step
    /// separately.
    pub held: bool,
    /// Whether to go to the end of the queue when the lock becomes free, instead of to the front.
    pub last: bool,
}

impl Lock {
    /// Creates an exclusive lock, held for each step separately.
    pub fn exclusive(name: impl Into<Arc<str>>) -> Self {
        Lock { name: name.into(), mode: Mode::Exclusive, held: false, last: false }
    }

    /// Creates a shared lock, held for each step separately.
    pub fn shared(name: impl Into<Arc<str>>) -> Self {
        Lock { mode: Mode::Shared, ..Self::exclusive(name) }
    }

    /// Makes the lock held from the first step to the end.
    #[must_use]
    pub fn for_life(mut self) -> Self {
        self.held = true;
        self
    }
}

#[derive(Debug, Default)]
struct Held {
    exclusive: Option<ProcedureId>,
    shared: Vec<ProcedureId>,
    waiters: VecDeque<ProcedureId>,
}

/// The holders of locks, and the procedures that wait for them.
#[derive(Debug, Default)]
pub(super) struct Locks {
    held: HashMap<Arc<str>, Held>,
}

impl Locks {
    /// Takes the lock for `id`, or queues it. `is_ancestor` returns whether a holder is an ancestor of `id`.
    pub(super) fn acquire(
        &mut self,
        lock: &Lock,
        id: ProcedureId,
        is_ancestor: impl Fn(ProcedureId) -> bool,
    ) -> bool {
        let held = self.held.entry(lock.name.clone()).or_default();
        let ours = |holder: ProcedureId| holder == id || is_ancestor(holder);
        let granted = match (held.exclusive, lock.mode) {
            (Some(holder), _) if ours(holder) => return true,
            (Some(_), _) => false,
            (None, Mode::Shared) => {
                if !held.shared.contains(&id) {
                    held.shared.push(id);
                }
                true
            }
            (None, Mode::Exclusive) => {
                let free = held.shared.iter().all(|holder| ours(*holder));
                if free {
                    held.exclusive = Some(id);
                }
                free
            }
        };
        if granted {
            held.waiters.retain(|waiter| *waiter != id);
        } else if !held.waiters.contains(&id) {
            held.waiters.push_back(id);
        }
        granted
    }

    /// Releases what `id` holds or waits for under this name. If nothing is held any more, returns the waiting
    /// procedures, first come first.
    pub(super) fn release(&mut self, name: &str, id: ProcedureId) -> VecDeque<ProcedureId> {
        let Some(held) = self.held.get_mut(name) else { return VecDeque::new() };
        let held_before = held.exclusive == Some(id) || held.shared.contains(&id);
        if held.exclusive == Some(id) {
            held.exclusive = None;
        }
        held.shared.retain(|holder| *holder != id);
        held.waiters.retain(|waiter| *waiter != id);
        if held.exclusive.is_some() || !held.shared.is_empty() {
            return VecDeque::new();
        }
        if !held_before && !held.waiters.is_empty() {
            return VecDeque::new();
        }
        // A lock that is neither held nor waited for is forgotten.
        self.held.remove(name).map(|held| held.waiters).unwrap_or_default()
    }

    /// Returns how many names are held or waited for.
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }
}
