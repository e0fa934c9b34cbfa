//! Limits how many programs run at once: per store, action type and queue.
//!
//! Calls that want to start a program ask for a place. Within the [`Limits`] of the process that runs the store, places
//! are given to top-level jobs in turn; for the others, [`Waiting`] says what they wait for. None of this is stored: a
//! waiting call has done nothing yet and asks again after a restart, and programs that survived a restart are counted
//! before any call is admitted.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

use ankus_lang::plan::NodeIndex;
use ankus_procedure::{Host, ProcedureId};

/// How long a measurement of the free disk space is valid, in milliseconds.
const DISK_LOOK: u64 = 1_000;

/// How many programs may run at once, and how much disk space must be free to start another. A missing number means no
/// limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// In the whole store.
    pub most: Option<usize>,
    /// By action type.
    pub of_type: BTreeMap<String, usize>,
    /// By queue.
    pub of_queue: BTreeMap<String, usize>,
    /// No program starts while fewer bytes are free on the disk of the store.
    pub disk_floor: u64,
    /// Whether the floor is capped at a hundredth of the disk's size.
    pub is_floor_usual: bool,
}

/// An action that is ready to start but has to wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The id of its job.
    pub job: String,
    /// Its node.
    pub node: NodeIndex,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// What it waits for.
    pub what: What,
}

/// What an action waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A limit is reached: it waits until another program ends.
    Place {
        /// The setting with the limit; empty if the action only waits for its turn.
        limit: String,
        /// How many programs run.
        taken: u64,
        /// How many may run.
        most: u64,
    },
    /// The disk of the store is too full.
    Disk {
        /// Free bytes.
        free: u64,
        /// Bytes that must be free.
        floor: u64,
    },
    /// Its job is suspended.
    Suspended,
    /// The system lacks the resources to start a program; this was the error.
    Room(String),
}

/// The action type and queue toward whose limits a program counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Class {
    pub(super) kind: String,
    pub(super) queue: Option<String>,
}

/// The request of a call for a place.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) procedure: ProcedureId,
    pub(super) job: String,
    /// Its top-level job: these take turns.
    pub(super) root: String,
    pub(super) node: NodeIndex,
    pub(super) class: Class,
}

/// The places of a store.
pub(super) struct Places {
    limits: Limits,
    folder: PathBuf,
    host: Arc<dyn Host>,
    next: AtomicU64,
    wakes: UnboundedSender<ProcedureId>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// Programs that run, or are about to; the class is none for those found at startup and not checked yet.
    taken: HashMap<u64, Option<Class>>,
    /// Programs found at startup that have not been checked yet.
    found: HashSet<u64>,
    /// Top-level jobs with waiting calls, in the order of their turns.
    turns: VecDeque<String>,
    /// Waiting calls by top-level job and class, oldest first.
    lines: HashMap<String, HashMap<Class, BTreeSet<(ProcedureId, u64)>>>,
    /// All waiting calls, including those that wait for something other than a place.
    waiting: HashMap<u64, Waiter>,
    /// When the disk was last checked, the bytes that were free, and the bytes that must be.
    disk: Option<(u64, u64, u64)>,
}

struct Waiter {
    claim: Claim,
    since: i64,
    /// What it waits for, if not for a place.
    other: Option<What>,
}

/// A place, or a request for one. It is released on drop.
pub(super) struct Held {
    places: Arc<Places>,
    token: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut inner = self.places.lock();
        inner.forget(self.token);
        inner.found.remove(&self.token);
        inner.taken.remove(&self.token);
        self.places.let_in(&mut inner, None);
    }
}

impl Inner {
    /// Removes a waiting call from the queues.
    fn forget(&mut self, token: u64) {
        let Some(waiter) = self.waiting.remove(&token) else { return };
        let Claim { procedure, root, class, .. } = waiter.claim;
        let Some(line) = self.lines.get_mut(&root) else { return };
        if let Some(of_class) = line.get_mut(&class) {
            of_class.remove(&(procedure, token));
            if of_class.is_empty() {
                line.remove(&class);
            }
        }
        if line.is_empty() {
            self.lines.remove(&root);
            self.turns.retain(|turn| *turn != root);
        }
    }

    fn count(&self, is_meant: impl Fn(&Class) -> bool) -> usize {
        self.taken.values().flatten().filter(|class| is_meant(class)).count()
    }
}

impl Places {
    /// Creates the places of a store below this folder. The procedures that get one are sent to `wakes`.
    pub(super) fn new(
        limits: Limits,
        folder: PathBuf,
        host: Arc<dyn Host>,
        wakes: UnboundedSender<ProcedureId>,
    ) -> Places {
        Places { limits, folder, host, next: AtomicU64::new(0), wakes, inner: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether queues are limited, so that the queue of an action matters.
    pub(super) fn asks_for_queues(&self) -> bool {
        !self.limits.of_queue.is_empty()
    }

    /// Creates a token without a place or a request.
    fn token(self: &Arc<Self>) -> Held {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        Held { places: self.clone(), token }
    }

    /// Returns a place for a program that may have been running when the store was opened. Until it has been checked,
    /// no call is admitted.
    pub(super) fn found(self: &Arc<Self>) -> Held {
        let held = self.token();
        let mut inner = self.lock();
        inner.found.insert(held.token);
        inner.taken.insert(held.token, None);
        drop(inner);
        held
    }

    /// Takes a place for a program that is running, even beyond the limits.
    pub(super) fn take(self: &Arc<Self>, held: &mut Option<Held>, class: Class) {
        let held = held.get_or_insert_with(|| self.token());
        let mut inner = self.lock();
        inner.forget(held.token);
        inner.taken.insert(held.token, Some(class));
        if inner.found.remove(&held.token) {
            self.let_in(&mut inner, None);
        }
    }

    /// Asks for a place, and reports whether it was given. If not, the procedure is woken when it is.
    pub(super) fn ask(self: &Arc<Self>, held: &mut Option<Held>, claim: Claim, now: i64) -> bool {
        let held = held.get_or_insert_with(|| self.token());
        let mut inner = self.lock();
        let is_mine = inner.taken.contains_key(&held.token) && !inner.found.contains(&held.token);
        if is_mine {
            return true;
        }
        if inner.found.remove(&held.token) {
            inner.taken.remove(&held.token);
        }
        let since = inner.waiting.get(&held.token).map_or(now, |waiter| waiter.since);
        inner.forget(held.token);
        let Claim { procedure, root, class, .. } = claim.clone();
        inner.waiting.insert(held.token, Waiter { claim, since, other: None });
        if !inner.lines.contains_key(&root) {
            inner.turns.push_back(root.clone());
        }
        let line = inner.lines.entry(root).or_default();
        line.entry(class).or_default().insert((procedure, held.token));
        self.let_in(&mut inner, Some(held.token));
        inner.taken.contains_key(&held.token)
    }

    /// Records that a call waits for something other than a place, and releases its place.
    pub(super) fn waits_for(
        self: &Arc<Self>,
        held: &mut Option<Held>,
        claim: Claim,
        now: i64,
        what: What,
    ) {
        let held = held.get_or_insert_with(|| self.token());
        let mut inner = self.lock();
        let since = inner.waiting.get(&held.token).map_or(now, |waiter| waiter.since);
        inner.forget(held.token);
        inner.found.remove(&held.token);
        inner.taken.remove(&held.token);
        inner.waiting.insert(held.token, Waiter { claim, since, other: Some(what) });
        self.let_in(&mut inner, None);
    }

    /// Whether this is a request that has not been granted yet.
    pub(super) fn is_waiting(&self, held: &Option<Held>) -> bool {
        held.as_ref().is_some_and(|held| self.lock().waiting.contains_key(&held.token))
    }

    /// Returns the limit that a program of this class would exceed.
    fn in_the_way(&self, inner: &Inner, class: &Class) -> Option<What> {
        let full = |limit: String, taken: usize, most: usize| {
            let (taken, most) = (taken as u64, most as u64);
            (taken >= most).then_some(What::Place { limit, taken, most })
        };
        let limits = &self.limits;
        let in_store = limits
            .most
            .and_then(|most| full("[launchers] max".to_owned(), inner.taken.len(), most));
        let of_type = || {
            let most = *limits.of_type.get(&class.kind)?;
            let taken = inner.count(|other| other.kind == class.kind);
            full(format!("[launchers.{}] max", class.kind), taken, most)
        };
        let of_queue = || {
            let queue = class.queue.as_ref()?;
            let most = *limits.of_queue.get(queue)?;
            let taken = inner.count(|other| other.queue.as_ref() == Some(queue));
            full(format!("[launchers.queues] {queue}"), taken, most)
        };
        in_store.or_else(of_type).or_else(of_queue)
    }

    /// Returns the bytes that are free on the disk of the store, and those that must be, if there are too few.
    fn shortage(&self, inner: &mut Inner) -> Option<(u64, u64)> {
        if self.limits.disk_floor == 0 {
            return None;
        }
        let now = self.host.elapsed_ms();
        let known = inner.disk.filter(|(at, ..)| now.saturating_sub(*at) < DISK_LOOK);
        let (_, free, floor) = match known {
            Some(known) => known,
            None => {
                // If the disk cannot be checked, nothing is held up.
                let stat = rustix::fs::statvfs(&self.folder).ok()?;
                let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
                let usual = self.limits.disk_floor.min(bytes(stat.f_blocks) / 100);
                let floor = if self.limits.is_floor_usual { usual } else { self.limits.disk_floor };
                *inner.disk.insert((now, bytes(stat.f_bavail), floor))
            }
        };
        (free < floor).then_some((free, floor))
    }

    /// Returns the bytes that are free on the disk of the store, or none if they are unknown.
    pub(super) fn free(&self) -> Option<u64> {
        let stat = rustix::fs::statvfs(&self.folder).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    /// Whether nothing may start because the disk is too full.
    pub(super) fn is_short_of_disk(&self) -> bool {
        self.shortage(&mut self.lock()).is_some()
    }

    /// Admits the calls that may start now, top-level jobs in turn, and wakes them, except the one that is asking.
    fn let_in(&self, inner: &mut Inner, asks: Option<u64>) {
        if inner.turns.is_empty() || !inner.found.is_empty() {
            return;
        }
        if self.shortage(inner).is_some() {
            return;
        }
        let mut passed = 0;
        while passed < inner.turns.len() {
            let Some(root) = inner.turns.front().cloned() else { return };
            let line = &inner.lines[&root];
            let may = |(class, of_class): (&Class, &BTreeSet<(ProcedureId, u64)>)| {
                let first = *of_class.first()?;
                self.in_the_way(inner, class).is_none().then(|| (first, class.clone()))
            };
            let Some(((procedure, token), class)) = line.iter().filter_map(may).min() else {
                passed += 1;
                inner.turns.rotate_left(1);
                continue;
            };
            passed = 0;
            inner.forget(token);
            if inner.lines.contains_key(&root) {
                inner.turns.rotate_left(1);
            }
            inner.taken.insert(token, Some(class));
            if asks != Some(token) {
                // The receiver is gone only while the driver shuts down.
                let _ = self.wakes.send(procedure);
            }
        }
    }

    /// Returns the waiting actions of the matching jobs.
    pub(super) fn waiting(&self, is_meant: impl Fn(&str) -> bool) -> Vec<Waiting> {
        let mut inner = self.lock();
        let shortage = self.shortage(&mut inner);
        let what = |waiter: &Waiter| match (&waiter.other, shortage) {
            (Some(other), _) => other.clone(),
            (None, Some((free, floor))) => What::Disk { free, floor },
            (None, None) => {
                let taken = inner.taken.len() as u64;
                let turn = || What::Place { limit: String::new(), taken, most: taken };
                self.in_the_way(&inner, &waiter.claim.class).unwrap_or_else(turn)
            }
        };
        let mut waiting: Vec<Waiting> = inner
            .waiting
            .values()
            .filter(|waiter| is_meant(&waiter.claim.job))
            .map(|waiter| Waiting {
                job: waiter.claim.job.clone(),
                node: waiter.claim.node,
                since: waiter.since,
                what: what(waiter),
            })
            .collect();
        waiting.sort_by(|a, b| (&a.job, a.node).cmp(&(&b.job, b.node)));
        waiting
    }

    /// Returns the nodes of a job whose actions are waiting.
    pub(super) fn nodes_of(&self, job: &str) -> BTreeSet<NodeIndex> {
        let inner = self.lock();
        let of_job = inner.waiting.values().filter(|waiter| waiter.claim.job == job);
        of_job.map(|waiter| waiter.claim.node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    fn places(limits: Limits) -> (Arc<Places>, UnboundedReceiver<ProcedureId>) {
        let (wakes, woken) = unbounded_channel();
        let host = Arc::new(ankus_procedure::RealHost::new());
        (Arc::new(Places::new(limits, PathBuf::from("/"), host, wakes)), woken)
    }

    fn claim(number: u64, root: &str, kind: &str, queue: Option<&str>) -> Claim {
        Claim {
            procedure: ProcedureId(number),
            job: root.to_owned(),
            root: root.to_owned(),
            node: number as NodeIndex,
            class: Class { kind: kind.to_owned(), queue: queue.map(str::to_owned) },
        }
    }

    #[test]
    fn jobs_take_turns_and_the_older_action_of_a_job_goes_first() {
        let (places, mut woken) = places(Limits { most: Some(1), ..Limits::default() });
        let mut all: BTreeMap<u64, Option<Held>> = BTreeMap::new();
        for (number, root) in [(1, "a"), (3, "a"), (2, "a"), (4, "a"), (5, "b"), (6, "b")] {
            let held = all.entry(number).or_default();
            let is_in = places.ask(held, claim(number, root, "shell", None), 7);
            assert_eq!(is_in, number == 1);
        }
        let mut order = vec![];
        let mut last = 1;
        while let Some(held) = all.remove(&last) {
            drop(held);
            let Ok(next) = woken.try_recv() else { break };
            assert!(woken.try_recv().is_err(), "one goes, one comes");
            assert!(places.ask(all.get_mut(&next.0).expect("it"), claim(next.0, "x", "", None), 9));
            order.push(next.0);
            last = next.0;
        }
        assert_eq!(order, [2, 5, 3, 6, 4]);
        assert!(places.waiting(|_| true).is_empty());
    }

    #[test]
    fn types_and_queues_have_limits_of_their_own_and_say_so() {
        let limits = Limits {
            most: Some(3),
            of_type: [("shell".to_owned(), 1)].into(),
            of_queue: [("etl".to_owned(), 1)].into(),
            ..Limits::default()
        };
        let (places, mut woken) = places(limits);
        let mut all: Vec<Option<Held>> = (0..6).map(|_| None).collect();
        let mut ask = |number: usize, kind: &str, queue| {
            places.ask(&mut all[number], claim(number as u64, "a", kind, queue), 7)
        };
        assert!(ask(0, "shell", None));
        assert!(!ask(1, "shell", None));
        assert!(ask(2, "hive", Some("etl")));
        assert!(!ask(3, "pig", Some("etl")));
        assert!(ask(4, "pig", Some("other")));
        assert!(!ask(5, "pig", None));
        let told = |places: &Arc<Places>| -> Vec<(NodeIndex, String)> {
            let waiting = places.waiting(|_| true).into_iter();
            waiting
                .map(|waiting| match waiting.what {
                    What::Place { limit, taken, most } => {
                        (waiting.node, format!("{taken} of {most} {limit}"))
                    }
                    other => (waiting.node, format!("{other:?}")),
                })
                .collect()
        };
        let full = |node| (node, "3 of 3 [launchers] max".to_owned());
        assert_eq!(told(&places), [full(1), full(3), full(5)]);
        all[4] = None;
        assert_eq!(woken.try_recv(), Ok(ProcedureId(5)));
        all[5] = None;
        assert!(woken.try_recv().is_err(), "the place is of no use to the others");
        let expected = [(1, "1 of 1 [launchers.shell] max"), (3, "1 of 1 [launchers.queues] etl")];
        assert_eq!(told(&places), expected.map(|(node, text)| (node, text.to_owned())));
        all[2] = None;
        assert_eq!(woken.try_recv(), Ok(ProcedureId(3)));
    }

    #[test]
    fn what_was_found_is_looked_at_before_anybody_is_let_in() {
        let (places, mut woken) = places(Limits { most: Some(2), ..Limits::default() });
        let (mut ended, mut runs) = (Some(places.found()), Some(places.found()));
        let mut other = None;
        assert!(!places.ask(&mut other, claim(3, "b", "shell", None), 7));
        places.take(&mut runs, Class { kind: "shell".to_owned(), queue: None });
        assert!(woken.try_recv().is_err());
        ended.take();
        assert_eq!(woken.try_recv(), Ok(ProcedureId(3)));
        drop(runs);
    }

    #[test]
    fn what_waits_for_something_else_is_shown_and_holds_nothing() {
        let (places, mut woken) = places(Limits { most: Some(1), ..Limits::default() });
        let (mut first, mut second) = (None, None);
        assert!(places.ask(&mut first, claim(1, "a", "shell", None), 7));
        assert!(!places.ask(&mut second, claim(2, "a", "shell", None), 7));
        places.waits_for(&mut first, claim(1, "a", "shell", None), 8, What::Room("no".to_owned()));
        assert_eq!(woken.try_recv(), Ok(ProcedureId(2)));
        assert_eq!(places.nodes_of("a"), [1].into());
        assert!(matches!(&places.waiting(|_| true)[..], [Waiting { what: What::Room(_), .. }]));
        assert!(!places.ask(&mut first, claim(1, "a", "shell", None), 9));
        drop(second);
        assert_eq!(woken.try_recv(), Ok(ProcedureId(1)));
    }

    #[test]
    fn a_full_disk_lets_nobody_in() {
        let limits = Limits { disk_floor: u64::MAX, ..Limits::default() };
        let (places, _woken) = places(limits);
        let mut first = None;
        assert!(!places.ask(&mut first, claim(1, "a", "shell", None), 7));
        assert!(matches!(&places.waiting(|_| true)[..], [Waiting { what: What::Disk { .. }, .. }]));
    }
}
