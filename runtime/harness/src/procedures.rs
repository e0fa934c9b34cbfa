//! Runs the whole executor under seeded random faults: crashes before and after writes, commits that are refused or
//! whose fate is unknown, slow commits, messages sent twice, clocks that jump both ways, damaged records.
//!
//! [`run`] runs one seed and checks the invariants. Everything derives from the seed, so running it again reproduces
//! the failure. Procedures are random trees: children, spawned procedures, locks, waits, time-outs, aborts, failures,
//! rollbacks that must be retried. Each step writes a row in its own commit, from which the checks know what really
//! happened.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use ankus_procedure::store::{self, Loaded, Memory, Reader, Store, Write};
use ankus_procedure::{
    Config, Context, Executor, Failure, Host, Lock, New, Nonce, Note, Procedure, ProcedureId,
    Recovery, Registry, State, Step, TimedOut, UndoError, Wait,
};

const KIND: &str = "simulated";
const ROOTS: u64 = 5;
/// The number of nodes of each root and everything below it.
const BUDGET: u32 = 24;
const DEEPEST: u32 = 6;

/// The result of a seed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Steps that were made durable.
    pub steps: u64,
    /// Steps that were undone.
    pub undone: u64,
    /// Roots that succeeded.
    pub succeeded: u64,
    /// Roots that failed.
    pub failed: u64,
    /// Crashes of the process.
    pub crashes: u64,
    /// Commits that were refused, or whose fate was not reported.
    pub refusals: u64,
    /// Records that were damaged.
    pub damaged: u64,
}

impl Report {
    /// Adds another's counts.
    pub fn add(&mut self, other: &Report) {
        self.steps += other.steps;
        self.undone += other.undone;
        self.succeeded += other.succeeded;
        self.failed += other.failed;
        self.crashes += other.crashes;
        self.refusals += other.refusals;
        self.damaged += other.damaged;
    }
}

/// Runs one seed. An error says which invariant did not hold.
pub fn run(seed: u64) -> Result<Report, String> {
    let mut storm = Storm::new(seed);
    storm.rage()?;
    storm.calm()?;
    storm.settle()
}

/// SplitMix64: small, seeded, good enough for dice.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.roll() % n.max(1)
    }

    /// Returns `true` once in `n` times.
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

// --- Procedures --------------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    More,
    Yield(u8),
    Children(u32),
    Spawn(u32),
    Suspend,
    Pause(u64),
    TimeOut { ms: u64, fails: bool },
    Message,
    Skip,
    Fail,
    Panic,
    Done,
}

/// The saved state: the position of the node in its forest, and its progress.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Own {
    seed: u64,
    depth: u32,
    budget: u32,
    /// The name of the parent's lock, if this node is to request it too.
    parents_lock: Option<u64>,
    /// For a child: whether its tree is undone when it fails.
    tree_undoable: Option<bool>,
    step: u32,
    spawns: bool,
    /// Whether its end depends only on the seed, not on timing.
    mild: bool,
}

struct Node {
    world: Arc<World>,
    own: Own,
    plan: Vec<Act>,
    life_lock: bool,
    lock_name: Option<u64>,
    shared: bool,
    yields: bool,
    undoable: bool,
    tries: u8,
    stubborn: u8,
}

impl Node {
    fn new(world: &Arc<World>, own: Own) -> Self {
        let mut dice = Dice(own.seed);
        let mut plan = Vec::new();
        let mut budget = own.budget;
        for _ in 0..=dice.below(3) {
            plan.push(match dice.below(14) {
                0 => Act::Yield(u8::try_from(dice.below(3)).unwrap_or(0)),
                1..=4 if own.depth < DEEPEST && budget > 0 => {
                    let n = 1 + u32::try_from(dice.below(u64::from(budget.min(8)))).unwrap_or(0);
                    budget -= n;
                    Act::Children(n)
                }
                5 if own.spawns && own.depth < DEEPEST && budget > 0 => {
                    budget -= 1;
                    Act::Spawn(1)
                }
                6 => Act::Suspend,
                7 => Act::Pause(dice.below(5_000)),
                8 => Act::TimeOut { ms: dice.below(5_000), fails: dice.once_in(8) && !own.mild },
                9 => Act::Message,
                10 => Act::Skip,
                11 if dice.once_in(5) => Act::Fail,
                12 if dice.once_in(20) => Act::Panic,
                _ => Act::More,
            });
        }
        plan.push(Act::Done);
        // Locks of different depths have different names, so that there is no deadlock. Undoing takes the locks of
        // steps in the reverse order, so trees that are undone do not use locks that are held for life.
        let mut lock_name = dice.once_in(3).then(|| u64::from(own.depth) * 10 + dice.below(2));
        let life_lock = lock_name.is_some() && dice.once_in(2);
        let shared = dice.once_in(3);
        let yields = dice.once_in(4);
        let undoable = own.tree_undoable.unwrap_or(!dice.once_in(5));
        if undoable && !life_lock {
            lock_name = lock_name.map(|name| name + 5);
        }
        Node {
            world: world.clone(),
            own,
            plan,
            life_lock,
            lock_name,
            shared,
            yields,
            undoable,
            tries: 0,
            stubborn: 0,
        }
    }

    fn below(&self, n: u32, children_of_ours: bool) -> Vec<New> {
        let children =
            self.plan.iter().filter(|act| matches!(act, Act::Children(_) | Act::Spawn(_))).count();
        let share = self.own.budget / (n + u32::try_from(children).unwrap_or(1)).max(1) / 2;
        (0..n)
            .map(|at| {
                let seed =
                    Dice(self.own.seed ^ u64::from(self.own.step) << 40 ^ u64::from(at) << 8 ^ 1)
                        .roll();
                let own = Own {
                    seed,
                    depth: self.own.depth + 1,
                    budget: share,
                    parents_lock: self.lock_name.filter(|_| {
                        children_of_ours && self.life_lock && !self.shared && seed.is_multiple_of(3)
                    }),
                    tree_undoable: children_of_ours.then_some(self.undoable),
                    step: 0,
                    spawns: self.own.spawns,
                    mild: self.own.mild,
                };
                New::of(KIND, Node::new(&self.world, own)).owner(format!("owner {}", seed % 3))
            })
            .collect()
    }

    fn key(&self, id: ProcedureId) -> [u8; 12] {
        step_key(id, self.own.step)
    }
}

fn step_key(id: ProcedureId, step: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.0.to_be_bytes());
    key[8..].copy_from_slice(&step.to_be_bytes());
    key
}

impl Procedure for Node {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let id = context.id();
        self.world.holds(id, context.parent(), self);
        if context.abort_requested() {
            return Err(Failure::new("simulated", "abort", "asked to"));
        }
        let step = self.own.step;
        let act = self.plan.get(step as usize).copied().unwrap_or(Act::Done);
        if let Act::Yield(n) = act
            && self.tries < n
        {
            self.tries += 1;
            return Ok(Step::Yield);
        }
        self.tries = 0;

        // What messages request is done once, however often they arrive.
        let mut answered = false;
        for message in context.take_messages() {
            match message.note {
                Note::Data(_) => answered = true,
                Note::Succeeded(_) | Note::Failed(_) => {
                    let from = message.from.map_or(0, |from| from.0);
                    let key = [id.0.to_be_bytes(), from.to_be_bytes()].concat();
                    if matches!(context.get("answer", &key), Ok(Some(_))) {
                        self.world.violated(format!("{id} got the answer of {from} twice"));
                    }
                    context.put("answer", &key, *b"1");
                    context.delete("asked", &key);
                    answered = true;
                }
            }
        }
        // A node that waits for an answer continues only when it has arrived.
        if let Some(Act::Message | Act::Spawn(_)) =
            step.checked_sub(1).and_then(|at| self.plan.get(at as usize))
            && !answered
            && matches!(context.get("waits", self.key(id)), Ok(None))
        {
            return Ok(Step::Suspend(Wait::for_message()));
        }
        if answered {
            context.put("waits", self.key(id), *b"answered");
        }

        if act != Act::Skip {
            if matches!(context.get("step", self.key(id)), Ok(Some(_))) {
                self.world.violated(format!("step {step} of {id} was durable and runs again"));
            }
            context.put("step", self.key(id), *b"1");
        }
        match act {
            Act::Fail => {
                return Ok(Step::Fail(Failure::new(
                    "simulated",
                    "fail",
                    format!("step {step} of {id}"),
                )));
            }
            Act::Panic => resume_unwind(Box::new("simulated".to_owned())),
            _ => self.own.step += 1,
        }
        Ok(match act {
            Act::Children(n) => Step::Children(self.below(n, true)),
            Act::Spawn(n) => {
                for new in self.below(n, false) {
                    let spawned = context.spawn(new);
                    context.put(
                        "asked",
                        [id.0.to_be_bytes(), spawned.0.to_be_bytes()].concat(),
                        *b"1",
                    );
                }
                Step::Suspend(Wait::for_message())
            }
            Act::Suspend => Step::Suspend(Wait::new()),
            Act::Pause(ms) => Step::Suspend(Wait::pause(ms)),
            Act::TimeOut { ms, .. } => Step::Suspend(Wait::new().timeout(ms)),
            Act::Message => Step::Suspend(Wait::for_message()),
            Act::Skip => {
                context.skip_persistence();
                Step::More
            }
            Act::Done => {
                if self.world.accepted().contains(&id) {
                    self.world.violated(format!("{id} accepted an abort and succeeds"));
                }
                context.put("end", id.0.to_be_bytes(), u32::to_be_bytes(step + 1));
                Step::Done
            }
            Act::More | Act::Yield(_) | Act::Fail | Act::Panic => Step::More,
        })
    }

    fn rollback(&mut self, context: &mut Context<'_>) -> Result<(), UndoError> {
        let id = context.id();
        self.stubborn += 1;
        if self.stubborn < 3 && (self.own.seed >> 9).is_multiple_of(7) {
            return Err(UndoError::Retry("not now".to_owned()));
        }
        self.stubborn = 0;
        // A step that left no row (it failed by itself, or waited again) has nothing to undo.
        let rows = context.scan("step", id.0.to_be_bytes(), usize::MAX).unwrap_or_default();
        if matches!(context.get("end", id.0.to_be_bytes()), Ok(Some(_))) {
            self.world.violated(format!("{id} has succeeded and is undone"));
        }
        if let Some(last) = rows.last() {
            context.delete("step", &last.key.key);
            context.put("undone", &last.key.key, *b"1");
        }
        if (self.own.seed >> 13).is_multiple_of(11) {
            return Err(UndoError::GiveUp("simulated".to_owned()));
        }
        Ok(())
    }

    fn abort(&mut self, _: &mut Context<'_>) -> bool {
        !self.own.seed.is_multiple_of(3)
    }

    fn timed_out(&mut self, _: &mut Context<'_>) -> TimedOut {
        let waited = self.own.step.checked_sub(1).and_then(|at| self.plan.get(at as usize));
        match waited {
            Some(Act::TimeOut { fails: true, .. }) => TimedOut::Fail,
            Some(Act::TimeOut { .. }) => TimedOut::Run,
            other => {
                self.world.violated(format!("a time-out ends {other:?}"));
                TimedOut::Run
            }
        }
    }

    fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.own).expect("plain data of known length always encodes")
    }

    fn lock(&self) -> Option<Lock> {
        if let Some(name) = self.own.parents_lock {
            return Some(Lock::exclusive(format!("lock {name}")));
        }
        let name = format!("lock {}", self.lock_name?);
        let lock = if self.shared { Lock::shared(name) } else { Lock::exclusive(name) };
        Some(if self.life_lock { lock.for_life() } else { lock })
    }

    fn undoable(&self) -> bool {
        self.undoable
    }

    fn yields_after_step(&self) -> bool {
        self.yields
    }
}

// --- The world outside, which survives ---------------------------------------------------------------------------------

#[derive(Default)]
pub(super) struct World {
    wall_ms: AtomicI64,
    elapsed_ms: AtomicU64,
    violations: Mutex<Vec<String>>,
    accepted: Mutex<BTreeSet<ProcedureId>>,
    /// The procedure last seen running under each exclusive lock that is held for life.
    holders: Mutex<BTreeMap<u64, ProcedureId>>,
}

impl World {
    fn violated(&self, what: String) {
        self.violations.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    fn accepted(&self) -> MutexGuard<'_, BTreeSet<ProcedureId>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holders(&self) -> MutexGuard<'_, BTreeMap<u64, ProcedureId>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn first_violation(&self) -> Result<(), String> {
        let mut violations = self.violations.lock().unwrap_or_else(PoisonError::into_inner);
        match violations.pop() {
            Some(first) => Err(first),
            None => Ok(()),
        }
    }

    fn holds(&self, id: ProcedureId, parent: Option<ProcedureId>, node: &Node) {
        let name = node.own.parents_lock.or(node.lock_name);
        let Some(name) = name.filter(|_| !node.own.mild) else { return };
        let mut holders = self.holders();
        if let Some(holder) = holders.get(&name).copied()
            && holder != id
            && Some(holder) != parent
        {
            drop(holders);
            self.violated(format!("{id} works under lock {name}, which {holder} holds"));
            return;
        }
        if node.own.parents_lock.is_none() && node.life_lock && !node.shared {
            holders.insert(name, id);
        }
    }
}

impl Host for World {
    fn wall_ms(&self) -> i64 {
        self.wall_ms.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms.load(Ordering::Relaxed)
    }

    fn random(&self) -> u64 {
        4
    }
}

/// A faulty disk.
struct Faulty {
    memory: Memory,
    weather: Arc<Mutex<Weather>>,
}

struct Weather {
    dice: Dice,
    calm: bool,
    dead: bool,
    refusals: u64,
}

impl Store for Faulty {
    fn load(&mut self) -> Result<Loaded, store::Error> {
        self.memory.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), store::Error> {
        let mut weather = self.weather.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |why: &str| Err(store::Error::Failed(why.to_owned()));
        if weather.dead {
            return failed("dead");
        }
        if weather.calm {
            return self.memory.commit(batch);
        }
        match weather.dice.below(60) {
            // The write is lost, or torn, which is the same for an atomic store.
            0 | 1 => {
                weather.dead = true;
                failed("died before the write")
            }
            2 | 3 => {
                weather.dead = true;
                self.memory.commit(batch)?;
                failed("died after the write")
            }
            4..=6 => {
                weather.refusals += 1;
                Err(store::Error::Full)
            }
            // The commit succeeds, but is reported as failed.
            7 => {
                weather.refusals += 1;
                self.memory.commit(batch)?;
                failed("no answer")
            }
            _ => self.memory.commit(batch),
        }
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.memory.reader()
    }
}

// --- The storm ---------------------------------------------------------------------------------------------------------

struct Storm {
    dice: Dice,
    world: Arc<World>,
    memory: Memory,
    weather: Arc<Mutex<Weather>>,
    executor: Executor,
    /// Requests by nonce, with the ids that are known.
    requests: BTreeMap<u64, Option<ProcedureId>>,
    lost: BTreeSet<ProcedureId>,
    damages: bool,
    report: Report,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let world = Arc::new(World::default());
        world.wall_ms.store(1_700_000_000_000, Ordering::Relaxed);
        let memory = Memory::new();
        let weather = Weather { dice: Dice(dice.roll()), calm: false, dead: false, refusals: 0 };
        let weather = Arc::new(Mutex::new(weather));
        let damages = dice.once_in(20);
        let (executor, _) = open(&world, &memory, &weather);
        Storm {
            dice,
            world,
            memory,
            weather,
            executor,
            requests: BTreeMap::new(),
            lost: BTreeSet::new(),
            damages,
            report: Report::default(),
        }
    }

    fn weather(&self) -> MutexGuard<'_, Weather> {
        self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart_if_dead(&mut self) {
        if self.weather().dead {
            self.restart();
        }
    }

    fn restart(&mut self) {
        self.report.crashes += 1;
        if self.damages && self.dice.once_in(2) && self.report.damaged == 0 {
            let ids = self.memory.ids();
            if !ids.is_empty() {
                let at = usize::try_from(self.dice.below(ids.len() as u64)).unwrap_or(0);
                self.memory.damage(ids[at]);
                self.report.damaged += 1;
            }
        }
        // The monotonic clock of a process does not continue in the next one, and the wall clock may have been set.
        self.world.elapsed_ms.store(self.dice.below(1_000_000), Ordering::Relaxed);
        if self.dice.once_in(2) {
            let jump = i64::try_from(self.dice.below(200_000_000)).unwrap_or(0) - 100_000_000;
            self.world.wall_ms.fetch_add(jump, Ordering::Relaxed);
        }
        self.weather().dead = false;
        let (executor, recovery) = open(&self.world, &self.memory, &self.weather);
        self.executor = executor;
        self.lost.extend(recovery.quarantine.iter().map(|unfit| unfit.id));
        if self.report.damaged == 0 && !self.lost.is_empty() {
            let what = format!("nothing is damaged, yet set aside: {:?}", recovery.quarantine);
            self.world.violated(what);
        }
    }

    fn forget_ended_holders(&self) {
        let ended = |id: ProcedureId| self.executor.state(id).is_none_or(State::is_end);
        self.world.holders().retain(|_, holder| !ended(*holder));
    }

    fn submit(&mut self, number: u64) {
        let seed = Dice(self.dice.0 ^ number << 17).roll();
        let own = Own {
            seed,
            depth: 0,
            budget: BUDGET,
            parents_lock: None,
            tree_undoable: None,
            step: 0,
            spawns: !self.damages,
            mild: false,
        };
        let new = New::of(KIND, Node::new(&self.world, own)).owner(format!("owner {}", seed % 3));
        match self.executor.submit_once(new, Nonce { group: 1, number: number + 1 }) {
            Ok(submitted) => {
                let known = self.requests.insert(number, Some(submitted.id())).flatten();
                if known.is_some_and(|known| known != submitted.id()) && self.report.damaged == 0 {
                    self.world.violated(format!("request {number} is two procedures"));
                }
            }
            // Its fate is unknown; the client asks again later.
            Err(_) => {
                self.requests.entry(number).or_insert(None);
            }
        }
    }

    fn some_live(&mut self) -> Option<ProcedureId> {
        let live: Vec<_> = self
            .executor
            .list()
            .into_iter()
            .filter(|listing| !listing.state.is_end())
            .map(|l| l.id)
            .collect();
        let at = usize::try_from(self.dice.below(live.len() as u64)).unwrap_or(0);
        live.get(at).copied()
    }

    fn rage(&mut self) -> Result<(), String> {
        for _ in 0..300 {
            match self.dice.below(100) {
                0..=49 => {
                    self.executor.turn();
                }
                50..=74 => {
                    let _ = self.executor.commit();
                }
                75..=79 => {
                    let ms = self.dice.below(3_000);
                    self.world.elapsed_ms.fetch_add(ms, Ordering::Relaxed);
                    self.world.wall_ms.fetch_add(ms.cast_signed(), Ordering::Relaxed);
                    self.executor.tick();
                }
                80..=81 => {
                    let jump = i64::try_from(self.dice.below(20_000_000)).unwrap_or(0) - 10_000_000;
                    self.world.wall_ms.fetch_add(jump, Ordering::Relaxed);
                }
                82..=86 => {
                    if let Some(id) = self.some_live() {
                        self.executor.wake(id);
                    }
                }
                87..=90 => {
                    if let Some(id) = self.some_live() {
                        // A client without a clear answer sends again; some send twice anyway.
                        for _ in 0..=self.dice.below(2) {
                            let _ = self.executor.send(id, 7, *b"go on");
                        }
                    }
                }
                91 => {
                    if let Some(id) = self.some_live()
                        && self.executor.abort(id, false) == Ok(true)
                    {
                        self.world.accepted().insert(id);
                    }
                }
                92..=98 => {
                    let number = self.dice.below(ROOTS);
                    if self.requests.get(&number).is_none_or(Option::is_none) {
                        self.submit(number);
                    }
                }
                _ => self.weather().dead = true,
            }
            self.restart_if_dead();
            self.forget_ended_holders();
            self.world.first_violation()?;
        }
        Ok(())
    }

    /// Stops all faults: now everything must end.
    fn calm(&mut self) -> Result<(), String> {
        self.weather().calm = true;
        for number in 0..ROOTS {
            self.submit(number);
        }
        for _ in 0..2_000 {
            loop {
                // A submission or a message may have committed the end of a procedure.
                self.forget_ended_holders();
                let turned = self.executor.turn();
                self.forget_ended_holders();
                let committed = self.executor.commit().map_err(|error| error.to_string())?;
                self.forget_ended_holders();
                if !turned && !committed {
                    break;
                }
            }
            self.world.first_violation()?;
            let live: Vec<_> = self
                .executor
                .list()
                .into_iter()
                .filter(|listing| !listing.state.is_end())
                .map(|l| l.id)
                .collect();
            if live.is_empty() {
                return Ok(());
            }
            if let Some(ms) = self.executor.tick() {
                self.world.elapsed_ms.fetch_add(ms, Ordering::Relaxed);
                self.world.wall_ms.fetch_add(ms.cast_signed(), Ordering::Relaxed);
                self.executor.tick();
            }
            for id in live {
                self.executor.wake(id);
                let _ = self.executor.send(id, 7, *b"go on");
            }
        }
        let live: Vec<_> =
            self.executor.list().into_iter().filter(|listing| !listing.state.is_end()).collect();
        Err(format!("these never end: {live:?}"))
    }

    /// Checks that the final state is consistent.
    fn settle(mut self) -> Result<Report, String> {
        // Again from the store alone: everything has ended there too.
        self.restart();
        self.report.crashes -= 1;
        self.executor.run_until_idle().map_err(|error| error.to_string())?;
        self.world.first_violation()?;
        let metrics = self.executor.metrics();
        if metrics.live.iter().sum::<u64>() > 0 || metrics.locks > 0 {
            return Err(format!("left behind: {metrics:?}"));
        }
        let reader = self.executor.reader();
        let rows = |space: &str| reader.scan(space, &[], None, usize::MAX).unwrap_or_default();
        if self.lost.is_empty() {
            for space in ["inbox", "bypass"] {
                if let Some(row) = rows(space).first() {
                    return Err(format!("left behind in `{space}`: {row:?}"));
                }
            }
        }

        for (number, id) in &self.requests {
            let Some(id) = id else { return Err(format!("request {number} was never answered")) };
            if self.lost.contains(id) {
                continue;
            }
            match self.executor.finished(*id) {
                Some(finished) if finished.state == State::Success => self.report.succeeded += 1,
                Some(_) => self.report.failed += 1,
                None => return Err(format!("{id} of request {number} is lost")),
            }
        }
        let ended: Vec<_> = self.executor.list();
        if self.report.damaged == 0 && ended.len() as u64 != ROOTS {
            return Err(format!("{} roots have ended, {ROOTS} were asked for", ended.len()));
        }

        self.report.steps = rows("step").len() as u64;
        self.report.undone = rows("undone").len() as u64;
        rows_add_up(&*reader)?;
        let refusals = self.weather().refusals;
        self.report.refusals = refusals;
        Ok(self.report)
    }
}

/// Checks that every procedure that reports success has made all its steps.
pub(super) fn rows_add_up(reader: &dyn Reader) -> Result<(), String> {
    let rows =
        |space: &str| reader.scan(space, &[], None, usize::MAX).map_err(|error| error.to_string());
    let mut last: BTreeMap<u64, u32> = BTreeMap::new();
    for row in rows("step")? {
        let (id, step) = row.key.key.split_at(8);
        // Steps without persistence leave nothing, so only the last one counts; rows are ordered.
        last.insert(
            u64::from_be_bytes(id.try_into().unwrap_or_default()),
            u32::from_be_bytes(step.try_into().unwrap_or_default()),
        );
    }
    for row in rows("end")? {
        let id = u64::from_be_bytes((*row.key.key).try_into().unwrap_or_default());
        let count = u32::from_be_bytes((*row.value).try_into().unwrap_or_default());
        if last.get(&id) != Some(&(count - 1)) {
            return Err(format!(
                "{id} succeeded with {count} steps, the last that is there is {:?}",
                last.get(&id)
            ));
        }
    }
    Ok(())
}

/// Returns the kinds of procedures of a simulation, and the world they act on.
pub(super) fn registry() -> (Registry, Arc<World>) {
    let world = Arc::new(World::default());
    (registry_in(&world), world)
}

/// Creates a root whose end depends only on this number.
pub(super) fn root(world: &Arc<World>, number: u64) -> New {
    let seed = Dice(number).roll();
    let own = Own {
        seed,
        depth: 0,
        budget: BUDGET,
        parents_lock: None,
        step: 0,
        spawns: true,
        tree_undoable: None,
        mild: true,
    };
    New::of(KIND, Node::new(world, own)).owner(format!("owner {}", seed % 3))
}

/// Returns how such roots end without faults.
pub(super) fn unharmed(numbers: std::ops::Range<u64>) -> Result<BTreeMap<u64, State>, String> {
    let (registry, world) = registry();
    let opened =
        Executor::open(Box::new(Memory::new()), registry, world.clone(), Config::default());
    let (executor, _) = opened.map_err(|error| error.to_string())?;
    let mut ids = BTreeMap::new();
    for number in numbers {
        ids.insert(
            number,
            executor.submit(root(&world, number)).map_err(|error| error.to_string())?,
        );
    }
    for _ in 0..10_000 {
        executor.run_until_idle().map_err(|error| error.to_string())?;
        world.first_violation()?;
        let live: Vec<_> =
            executor.list().into_iter().filter(|listing| !listing.state.is_end()).collect();
        if live.is_empty() {
            break;
        }
        if let Some(ms) = executor.tick() {
            world.elapsed_ms.fetch_add(ms, Ordering::Relaxed);
            executor.tick();
        }
        for listing in live {
            executor.wake(listing.id);
            let _ = executor.send(listing.id, 7, *b"go on");
        }
    }
    ids.into_iter()
        .map(|(number, id)| match executor.state(id) {
            Some(state) if state.is_end() => Ok((number, state)),
            other => Err(format!("root {number} is {other:?}")),
        })
        .collect()
}

fn registry_in(world: &Arc<World>) -> Registry {
    let mut registry = Registry::new();
    let nodes = world.clone();
    registry.register(KIND, move |bytes| {
        let own: Own = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Node::new(&nodes, own))
    });
    registry
}

fn open(
    world: &Arc<World>,
    memory: &Memory,
    weather: &Arc<Mutex<Weather>>,
) -> (Executor, Recovery) {
    let store = Faulty { memory: memory.clone(), weather: weather.clone() };
    let opened =
        Executor::open(Box::new(store), registry_in(world), world.clone(), Config::default());
    opened.expect("a store in memory is always readable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_storms_leave_everything_in_a_known_state() {
        let mut all = Report::default();
        for seed in 0..1_000 {
            match run(seed) {
                Ok(report) => all.add(&report),
                Err(what) => panic!("seed {seed}: {what}"),
            }
        }
        // There were enough faults.
        assert!(all.crashes > 1_000 && all.refusals > 500 && all.undone > 500, "{all:?}");
        assert!(all.succeeded > 500 && all.failed > 500, "{all:?}");
    }

    #[test]
    fn a_seed_reproduces_its_run() {
        assert_eq!(run(17), run(17));
    }
}
