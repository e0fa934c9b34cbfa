//! Our executor beside the real procedure framework: the same scripts, call by call.
//!
//! Every record is played. Without a crash, the order of calls to user code, the answers to the client and everything left
//! at the end must agree. With one, ours is cut before and after every write of its own instead, and must end as the uncut
//! run does, repeating nothing but the step in flight. Where the real one has a fault we do not copy, the record is
//! compared with what ours does instead, by the rules in [`expected`]; `docs/procedures.md` says why.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ankus_procedure::store::{self, Loaded, Memory, Reader, Store, Write};
use ankus_procedure::{
    Config, Context, Error, Executor, Failure, Finished, Host, Lock, Mode, New, Nonce, Procedure,
    ProcedureId, RealHost, Record, Registry, Sequence, State, Step, TimedOut, Timer, UndoError,
    Visited, Wait,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

// --- The scripts -------------------------------------------------------------------------------------------------------

#[derive(Debug, Clone, Deserialize)]
struct Node {
    name: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    steps: Vec<String>,
    #[serde(default)]
    rollback: Vec<String>,
    lock: Option<String>,
    #[serde(default)]
    hold_lock: bool,
    #[serde(default)]
    yield_after_step: bool,
    owner: Option<String>,
    abort: Option<String>,
    rollback_supported: Option<bool>,
    wait_client_ack: Option<bool>,
}

/// What all scripts of a run share, over its restarts.
#[derive(Default)]
struct World {
    nodes: HashMap<String, Node>,
    calls: Mutex<Vec<String>>,
    latches: Mutex<BTreeSet<String>>,
    released: Condvar,
    running: Mutex<BTreeSet<String>>,
}

impl World {
    fn log(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Own {
    node: String,
    step: usize,
    visited: Visited,
    once: Sequence,
}

struct Script {
    world: Arc<World>,
    node: Node,
    own: Own,
    attempts: u32,
    undone: usize,
}

impl Script {
    fn new(world: &Arc<World>, own: Own) -> Result<Self, String> {
        let node =
            world.nodes.get(&own.node).cloned().ok_or_else(|| format!("no node `{}`", own.node))?;
        Ok(Script { world: world.clone(), node, own, attempts: 0, undone: 0 })
    }

    fn fresh(world: &Arc<World>, name: &str) -> New {
        let own = Own { node: name.to_owned(), ..Own::default() };
        let script = Script::new(world, own).expect("a declared node");
        let node = script.node.clone();
        let mut new = New::of("script", script);
        if let Some(owner) = &node.owner {
            new = new.owner(owner.as_str());
        }
        if node.wait_client_ack == Some(false) {
            new = new.unattended();
        }
        new
    }

    fn is_machine(&self) -> bool {
        self.node.kind == "state-machine"
    }

    fn children(&self, list: &str) -> Vec<New> {
        let mut children = Vec::new();
        for name in list.split(',') {
            let (name, times) =
                name.split_once('*').map_or((name, 1), |(name, n)| (name, n.parse().unwrap()));
            for _ in 0..times {
                children.push(match name {
                    "null" => New::of("null", Nothing),
                    name => Script::fresh(&self.world, name),
                });
            }
        }
        children
    }

    fn aborted(&self) -> Failure {
        let source = if self.is_machine() { "SM" } else { &self.node.name };
        Failure::new(source, "ProcedureAbortedException", "abort requested")
    }

    fn boom(&self, message: &str) -> Failure {
        Failure::new(&*self.node.name, "IOException", message)
    }

    /// What a step does `n` times before it goes on, counted in memory only.
    fn again(&mut self, n: &str) -> bool {
        self.attempts += 1;
        self.attempts <= n.parse().unwrap()
    }

    fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let at = self.own.step;
        self.world.log(format!("execute {} {at}", self.node.name));
        if context.abort_requested() {
            return Err(self.aborted());
        }
        let script = self.node.steps.get(at).cloned().unwrap_or_else(|| panic!("no step {at}"));
        let (what, with) = script.split_once([':', '*']).unwrap_or((&script, ""));
        let parts: Vec<&str> = with.split(':').collect();
        let ms = |text: &str| text.parse::<i64>().unwrap().max(0).cast_unsigned();
        if matches!(what, "yield" | "interrupt") && self.again(with) {
            return Ok(Step::Yield);
        }
        if let "gate" | "gate-skip" = what
            && !context.is_ready(with)
        {
            if what == "gate-skip" {
                context.skip_persistence();
            }
            return Ok(Step::Suspend(Wait::event(with)));
        }
        self.attempts = 0;
        self.own.step += 1;
        Ok(match what {
            "done" => Step::Done,
            "empty" => Step::Children(Vec::new()),
            "again" | "yield" | "interrupt" | "gate" | "gate-skip" => Step::More,
            "result" => {
                context.set_result(with);
                Step::Done
            }
            "children" => Step::Children(self.children(with)),
            "fail" => return Err(self.boom(with)),
            "fail-children" => return Err(self.boom("boom")),
            "throw" => resume_unwind(Box::new(format!("{with}: boom"))),
            "suspend" if context.is_ready(with) => Step::More,
            "suspend" => Step::Suspend(Wait::event(with)),
            "skip-again" => {
                context.skip_persistence();
                Step::More
            }
            "wait" | "wait-null" | "wait-retry" => Step::Suspend(Wait::new().timeout(ms(with))),
            "wait-skip" => {
                context.skip_persistence();
                Step::Suspend(Wait::new().timeout(ms(with)))
            }
            "wait-event" => Step::Suspend(Wait::event(parts[1]).timeout(ms(parts[0]))),
            "wait-children" => {
                Step::Suspend(Wait::new().timeout(ms(parts[0])).children(self.children(parts[1])))
            }
            "block" => {
                self.world.running.lock().unwrap().insert(self.node.name.clone());
                let latches = self.world.latches.lock().unwrap();
                let open = |latches: &mut BTreeSet<String>| !latches.contains(with);
                drop(
                    self.world
                        .released
                        .wait_timeout_while(latches, Duration::from_secs(20), open)
                        .unwrap(),
                );
                Step::Done
            }
            other => panic!("no such step: {other}"),
        })
    }

    fn state(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        if context.abort_requested() && !self.own.visited.has_ended() {
            return Err(self.aborted());
        }
        let Some(at) = self.own.visited.enter(0) else { return Ok(Step::Done) };
        self.world.log(format!("execute {} {at}", self.node.name));
        let script =
            self.node.steps.get(at as usize).cloned().unwrap_or_else(|| panic!("no state {at}"));
        let (script, children) = script.split_once('+').unwrap_or((&script, ""));
        let (what, with) = script.split_once([':', '*']).unwrap_or((script, ""));
        let children = if children.is_empty() { Vec::new() } else { self.children(children) };
        if matches!(what, "yield" | "interrupt") && self.again(with) {
            return Ok(Step::Yield);
        }
        if what == "gate" && !context.is_ready(with) {
            return Ok(Step::Suspend(Wait::event(with)));
        }
        if what == "loop" || (what == "repeat" && self.again(with)) {
            return Ok(self.own.visited.step(children));
        }
        self.attempts = 0;
        match what {
            "next" | "repeat" | "gate" | "yield" | "interrupt" | "suspend" => {
                self.own.visited.next(at + 1)
            }
            "goto" => self.own.visited.next(with.parse().unwrap()),
            "last" => self.own.visited.end(),
            "fail" => return Err(self.boom(with)),
            "fail-last" => {
                self.own.visited.end();
                return Err(self.boom(with));
            }
            "throw" => resume_unwind(Box::new(format!("{with}: boom"))),
            other => panic!("no such state: {other}"),
        }
        if what == "suspend" && !context.is_ready(with) {
            return Ok(Step::Suspend(Wait::event(with)));
        }
        Ok(self.own.visited.step(children))
    }
}

impl Procedure for Script {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        match &*self.node.kind {
            "state-machine" => self.state(context),
            "sequential" => {
                let mut once = std::mem::take(&mut self.own.once);
                let step = once.once(|| self.step(context));
                let waits = ["wait-null", "wait-children"];
                let made = self.node.steps[..self.own.step.min(self.node.steps.len())].last();
                if made.is_some_and(|made| waits.iter().any(|wait| made.starts_with(wait))) {
                    // It has answered, not thrown.
                    let _ = once.once(|| Ok(Step::Done));
                }
                self.own.once = once;
                step
            }
            _ => self.step(context),
        }
    }

    fn rollback(&mut self, _: &mut Context<'_>) -> Result<(), UndoError> {
        if self.node.kind == "sequential" && !self.own.once.has_executed() {
            return Ok(());
        }
        let outcome =
            self.node.rollback.get(self.undone).cloned().unwrap_or_else(|| "ok".to_owned());
        self.undone += 1;
        let state = if self.is_machine() {
            format!("{} ", self.own.visited.undoing(0))
        } else {
            String::new()
        };
        self.world.log(format!("rollback {} {state}{outcome}", self.node.name));
        match &*outcome {
            "ioexception" | "interrupt" => return Err(UndoError::Retry(outcome)),
            "throw" => {
                self.own.visited.undone();
                return Err(UndoError::GiveUp(outcome));
            }
            _ => self.own.visited.undone(),
        }
        Ok(())
    }

    fn abort(&mut self, _: &mut Context<'_>) -> bool {
        let refuses = self.node.abort.as_deref() == Some("refuse");
        let late = self.is_machine()
            && (self.own.visited.has_ended() || self.node.rollback_supported != Some(true));
        let accepts = !refuses && !late;
        self.world.log(format!("abort {} {accepts}", self.node.name));
        accepts
    }

    fn timed_out(&mut self, _: &mut Context<'_>) -> TimedOut {
        let step = self.own.step.checked_sub(1).and_then(|at| self.node.steps.get(at));
        let retries = step
            .is_some_and(|step| step.starts_with("wait-retry") || step.starts_with("wait-skip"));
        self.world.log(format!("setTimeoutFailure {} {}", self.node.name, !retries));
        if retries { TimedOut::Run } else { TimedOut::Fail }
    }

    fn save(&self) -> Vec<u8> {
        serde_json::to_vec(&self.own).unwrap()
    }

    fn lock(&self) -> Option<Lock> {
        let (name, mode) = self.node.lock.as_deref()?.split_once(':')?;
        let last = mode.ends_with("-yield");
        let mode = if mode.starts_with("shared") { Mode::Shared } else { Mode::Exclusive };
        Some(Lock { name: name.into(), mode, held: self.node.hold_lock, last })
    }

    fn undoable(&self) -> bool {
        self.node.rollback_supported.unwrap_or(!self.is_machine())
    }

    fn yields_after_step(&self) -> bool {
        self.node.yield_after_step
    }
}

/// Stands for a child that is not there.
struct Nothing;

impl Procedure for Nothing {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}

// --- The world outside -------------------------------------------------------------------------------------------------

#[derive(Default)]
struct Clock(AtomicI64);

impl Host for Clock {
    fn wall_ms(&self) -> i64 {
        1_700_000_000_000 + self.0.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        // Some time before the test: elapsed time does not begin with it.
        (1_000_000_000 + self.0.load(Ordering::Relaxed)).cast_unsigned()
    }

    fn random(&self) -> u64 {
        4
    }
}

/// Where the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Never,
    Before(u32),
    After(u32),
    /// Before every other write.
    Toggle,
}

#[derive(Debug)]
struct Fate {
    cut: Cut,
    writes: u32,
    dead: bool,
    refuse_next: bool,
    refused: u32,
}

/// A store that dies as told.
struct Mortal {
    memory: Memory,
    fate: Arc<Mutex<Fate>>,
}

impl Store for Mortal {
    fn load(&mut self) -> Result<Loaded, store::Error> {
        self.memory.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), store::Error> {
        let mut fate = self.fate.lock().unwrap();
        let dead = Err(store::Error::Failed("the process is dead".to_owned()));
        if fate.dead {
            return dead;
        }
        if std::mem::take(&mut fate.refuse_next) {
            fate.refused += 1;
            return Err(store::Error::Full);
        }
        fate.writes += 1;
        let dies_before = match fate.cut {
            Cut::Before(n) => fate.writes == n,
            // Not for ever: one that only asks again and again would never end.
            Cut::Toggle => fate.writes % 2 == 1 && fate.writes < 60,
            Cut::Never | Cut::After(_) => false,
        };
        if dies_before {
            fate.dead = true;
            return dead;
        }
        self.memory.commit(batch)?;
        if fate.cut == Cut::After(fate.writes) {
            fate.dead = true;
            return dead;
        }
        Ok(())
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.memory.reader()
    }
}

// --- The client --------------------------------------------------------------------------------------------------------

struct Play<'a> {
    record: &'a Value,
    world: Arc<World>,
    memory: Memory,
    fate: Arc<Mutex<Fate>>,
    clock: Arc<Clock>,
    threads: Option<tokio::runtime::Runtime>,
    executor: Option<Executor>,
    ids: BTreeMap<String, ProcedureId>,
    order: Vec<String>,
    woken: BTreeSet<String>,
    started: bool,
    restarts: u32,
    answers: Vec<Value>,
    quarantine: usize,
    init_error: Option<String>,
    /// How long the log was at each restart.
    lives: Vec<usize>,
    /// How often something may move before that is called resting.
    patience: u32,
}

#[derive(Debug)]
struct Died;

impl<'a> Play<'a> {
    fn new(record: &'a Value, cut: Cut) -> Self {
        let nodes: Vec<Node> =
            serde_json::from_value(record["procedures"].clone()).unwrap_or_default();
        let blocks =
            nodes.iter().any(|node| node.steps.iter().any(|step| step.starts_with("block")));
        let world = World {
            nodes: nodes.into_iter().map(|node| (node.name.clone(), node)).collect(),
            ..World::default()
        };
        let fate = Fate { cut, writes: 0, dead: false, refuse_next: false, refused: 0 };
        Play {
            record,
            world: Arc::new(world),
            memory: Memory::new(),
            fate: Arc::new(Mutex::new(fate)),
            clock: Arc::default(),
            threads: blocks.then(|| tokio::runtime::Builder::new_multi_thread().build().unwrap()),
            executor: None,
            ids: BTreeMap::new(),
            order: Vec::new(),
            woken: BTreeSet::new(),
            started: false,
            restarts: 0,
            answers: Vec::new(),
            quarantine: 0,
            init_error: None,
            lives: Vec::new(),
            // One that is in a loop has no rest, and enough of it is soon seen.
            patience: if record["procedures"].to_string().contains("\"loop") {
                500
            } else {
                100_000
            },
        }
    }

    fn preload(&mut self) {
        let unreadable = self.record["store"][0][3][0]
            .as_str()
            .is_some_and(|text| text.starts_with("unreadable"));
        let mut batch = Vec::new();
        for (at, row) in self.record["preloaded"].as_array().into_iter().flatten().enumerate() {
            let mut own = Own {
                node: row["proc"].as_str().unwrap().to_owned(),
                step: usize::try_from(row["step"].as_u64().unwrap_or(0)).unwrap(),
                ..Own::default()
            };
            for state in row["visited"].as_array().into_iter().flatten() {
                match state.as_u64() {
                    Some(state) => own.visited.next(u32::try_from(state).unwrap()),
                    None => own.visited.end(),
                }
            }
            if row["executed_flag"] == true {
                let _ = own.once.once(|| Ok(Step::Done));
            }
            let kind = if unreadable && at == 0 { "no.such.Class" } else { "script" };
            let name = row["state"].as_str().unwrap();
            let state = State::ALL.into_iter().find(|state| java(*state) == name);
            let record = Record {
                parent: row["parent"].as_u64().map(ProcedureId),
                state: state.unwrap_or(State::Runnable),
                executed: row["executed"].as_bool().unwrap_or(false),
                stack: row["stack"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|step| (step.as_u64().unwrap() as u32, 1))
                    .collect(),
                failure: matches!(name, "FAILED" | "ROLLEDBACK").then(|| {
                    let word = |key: &str, other: &str| {
                        row["exception"][key].as_str().unwrap_or(other).to_owned()
                    };
                    Failure::new(
                        word("source", "root"),
                        word("class", "IOException"),
                        word("message", "boom"),
                    )
                }),
                locked: row["locked"].as_bool().unwrap_or(false),
                bypass: row["bypass"].as_bool().unwrap_or(false),
                owner: row["owner"].as_str().map(str::to_owned),
                result: row["result"].as_str().map(|result| result.as_bytes().to_vec()),
                nonce: row["nonce"].as_array().map(|nonce| Nonce {
                    group: nonce[0].as_u64().unwrap(),
                    number: nonce[1].as_u64().unwrap(),
                }),
                timer: row["timeout_ms"].as_i64().map(|ms| Timer {
                    due_ms: self.clock.wall_ms() + ms,
                    length_ms: ms.max(0).cast_unsigned(),
                    resumes: false,
                }),
                submitted_ms: self.clock.wall_ms(),
                updated_ms: self.clock.wall_ms(),
                ..Record::new(kind, serde_json::to_vec(&own).unwrap())
            };
            let mut bytes = record.encode();
            if state.is_none() {
                // No such state is known to us: bytes that are no record.
                bytes = bytes[..4].into();
            }
            batch.push(Write::Record(ProcedureId(row["id"].as_u64().unwrap()), bytes));
        }
        self.memory.commit(&batch).unwrap();
    }

    fn open(&mut self) {
        let world = self.world.clone();
        let mut registry = Registry::new();
        registry.register("script", move |bytes| {
            let own = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
            Script::new(&world, own)
        });
        let conf = &self.record["conf"];
        let number = |key: &str, default: u64| {
            conf[key].as_str().and_then(|text| text.parse().ok()).unwrap_or(default)
        };
        let config = Config {
            refuse_damage: self.record["abort_on_corruption"].as_bool().unwrap_or(false),
            owner_required: conf["hbase.procedure.check.owner.set"] == "true",
            look_every_ms: number("hbase.procedure.worker.monitor.interval.msec", 5_000),
            stuck_after_ms: number("hbase.procedure.worker.stuck.threshold.msec", 10_000),
            keep_alive_ms: number("hbase.procedure.worker.keep.alive.time.msec", 60_000),
            acknowledged_ms: number("hbase.procedure.cleaner.acked.evict.ttl", 300_000),
            unacknowledged_ms: number("hbase.procedure.cleaner.evict.ttl", 900_000),
            ..Config::default()
        };
        let store = Mortal { memory: self.memory.clone(), fate: self.fate.clone() };
        let host: Arc<dyn Host> =
            if self.threads.is_some() { Arc::new(RealHost::new()) } else { self.clock.clone() };
        match Executor::open(Box::new(store), registry, host, config) {
            Ok((executor, recovery)) => {
                self.quarantine = recovery.quarantine.len();
                self.executor = Some(executor);
            }
            Err(Error::Damage(unfit)) => {
                self.init_error =
                    Some(format!("found {} corrupted procedure(s) on replay", unfit.len()));
            }
            Err(error) => self.init_error = Some(error.to_string()),
        }
    }

    fn executor(&self) -> Executor {
        self.executor.clone().expect("it was opened")
    }

    fn restart(&mut self) {
        self.restarts += 1;
        assert!(self.restarts < 500, "it never ends: {}", self.record["scenario"]);
        self.lives.push(self.world.calls.lock().unwrap().len());
        if let (Some(executor), Some(_)) = (self.executor.take(), &self.threads) {
            // A killed process waits for nobody; its threads must not write any more.
            self.fate.lock().unwrap().dead = true;
            self.world.latches.lock().unwrap().extend(["l".to_owned()]);
            self.world.released.notify_all();
            executor.stop();
        }
        self.fate.lock().unwrap().dead = false;
        self.open();
        if self.fate.lock().unwrap().cut == Cut::Toggle {
            // Or it would be killed between waiting and going on, for ever.
            for event in &self.woken {
                self.executor().set_ready(event);
            }
        }
        if self.started {
            self.start();
        }
    }

    fn start(&mut self) {
        self.started = true;
        if let Some(runtime) = &self.threads {
            let workers = self.record["workers"].as_u64().unwrap_or(1);
            self.executor().start(runtime.handle(), usize::try_from(workers).unwrap());
        }
    }

    fn alive(&self) -> Result<(), Died> {
        if self.fate.lock().unwrap().dead { Err(Died) } else { Ok(()) }
    }

    /// Until nothing moves.
    fn idle(&mut self) -> Result<(), Died> {
        if !self.started {
            return Ok(());
        }
        if self.threads.is_some() {
            std::thread::sleep(Duration::from_millis(60));
            return Ok(());
        }
        let executor = self.executor();
        for _ in 0..self.patience {
            let turned = executor.turn();
            let committed = executor.commit();
            self.alive()?;
            match committed {
                Ok(false) if !turned => return Ok(()),
                Ok(_) | Err(_) => {}
            }
        }
        // A procedure that asks for a lock over and over never rests.
        Ok(())
    }

    fn advance(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    fn until_finished(&mut self) -> Result<(), Died> {
        if !self.started {
            return Ok(());
        }
        if self.threads.is_some() {
            let began = Instant::now();
            let live =
                |executor: &Executor| executor.list().iter().any(|listing| !listing.state.is_end());
            while live(&self.executor()) && began.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(5));
            }
            return Ok(());
        }
        let mut again = self.restarts > 0;
        loop {
            self.idle()?;
            let executor = self.executor();
            if !executor.list().iter().any(|listing| !listing.state.is_end()) {
                return Ok(());
            }
            match executor.tick() {
                Some(0) => {}
                Some(ms) => {
                    self.advance(ms.cast_signed());
                    executor.tick();
                }
                None if again => {
                    again = false;
                    for event in &self.woken {
                        executor.set_ready(event);
                    }
                }
                None => return Ok(()),
            }
        }
    }

    fn sleep(&mut self, ms: i64) -> Result<(), Died> {
        if self.threads.is_some() {
            std::thread::sleep(Duration::from_millis(ms.cast_unsigned()));
            return Ok(());
        }
        let mut left = ms;
        loop {
            self.idle()?;
            match self.executor().tick() {
                Some(0) => {}
                Some(due) if due.cast_signed() <= left => {
                    left -= due.cast_signed();
                    self.advance(due.cast_signed());
                }
                _ => break,
            }
        }
        self.advance(left);
        self.executor().clean();
        let _ = self.executor().commit();
        self.alive()
    }

    fn id(&self, name: &str) -> ProcedureId {
        match name.strip_prefix('#') {
            Some(number) => ProcedureId(number.parse().unwrap()),
            None => self.ids[name],
        }
    }

    fn named(&mut self, name: &str, id: ProcedureId) {
        self.ids.insert(name.to_owned(), id);
        if !self.order.contains(&name.to_owned()) {
            self.order.push(name.to_owned());
        }
    }

    /// A submission; one that died with its record already there is not repeated.
    fn submit(&mut self, names: &[&str], nonce: Option<Nonce>) -> Result<Value, Died> {
        let executor = self.executor();
        let before = self.memory.ids();
        let mut new: Vec<New> = names.iter().map(|name| Script::fresh(&self.world, name)).collect();
        let submitted = match nonce {
            Some(nonce) => match executor.register(nonce) {
                Some(id) => return Ok(serde_json::json!(["known", id.0])),
                None => executor
                    .submit_registered(new.remove(0), nonce, |_, _| {})
                    .map(|id| (vec![id], serde_json::json!(["submitted", id.0]))),
            },
            None if names.len() > 1 => executor.submit_all(new).map(|ids| {
                let answer = ids.iter().map(|id| id.0).collect();
                (ids, answer)
            }),
            None => executor.submit(new.remove(0)).map(|id| (vec![id], Value::from(id.0))),
        };
        match submitted {
            Ok((ids, answer)) => {
                for (name, id) in names.iter().zip(ids) {
                    self.named(name, id);
                }
                Ok(answer)
            }
            Err(Error::NoOwner) => Ok(Value::from("IllegalArgumentException: missing owner")),
            Err(_) => {
                let there: Vec<_> =
                    self.memory.ids().into_iter().filter(|id| !before.contains(id)).collect();
                for (name, id) in names.iter().zip(&there) {
                    self.named(name, *id);
                }
                if !there.is_empty() {
                    self.restart();
                    return Ok(Value::from("crashed-after-insert"));
                }
                Err(Died)
            }
        }
    }

    fn act(&mut self, action: &str) -> Result<Value, Died> {
        let parts: Vec<&str> = action.split(':').collect();
        let nonce = |group: &str, number: &str| Nonce {
            group: group.parse().unwrap(),
            number: number.parse().unwrap(),
        };
        let executor = self.executor();
        Ok(match parts[..] {
            ["submit" | "submit-owner-check", name] => self.submit(&[name], None)?,
            ["submit-batch", names] => self.submit(&names.split(',').collect::<Vec<_>>(), None)?,
            ["submit-nonce", name, group, number] => {
                self.submit(&[name], Some(nonce(group, number)))?
            }
            ["submit-unregistered-nonce", name, group, number] => {
                let new = Script::fresh(&self.world, name);
                let refused = executor.submit_registered(new, nonce(group, number), |_, _| {});
                assert_eq!(refused, Err(Error::NotRegistered));
                Value::from("IllegalArgumentException")
            }
            ["register-nonce", group, number] => executor
                .register(nonce(group, number))
                .map_or(Value::from(-1), |id| Value::from(id.0)),
            ["unregister-nonce", group, number] => {
                executor.unregister(nonce(group, number));
                Value::Null
            }
            ["fail-nonce", group, number] => {
                executor
                    .fail_registered(nonce(group, number), Failure::new("a", "b", "c"))
                    .unwrap();
                Value::Null
            }
            ["start"] => {
                self.start();
                Value::Null
            }
            ["idle"] => {
                self.idle()?;
                Value::Null
            }
            ["until-finished"] => {
                self.until_finished()?;
                Value::Null
            }
            ["wake", event] => {
                self.woken.insert(event.to_owned());
                executor.set_ready(event);
                Value::Null
            }
            // A wake does that by itself.
            ["make-runnable", _] => Value::Null,
            [abort @ ("abort" | "abort-if-not-started"), name] => {
                let answer = executor.abort(self.id(name), abort != "abort");
                self.alive()?;
                Value::from(answer.unwrap())
            }
            ["bypass", name, ref options @ ..] => {
                let (force, recursive) =
                    (options.contains(&"override"), options.contains(&"recursive"));
                let answers = executor.bypass(&[self.id(name)], force, recursive);
                self.alive()?;
                serde_json::json!(answers.unwrap())
            }
            ["ack", name] => {
                executor.acknowledge(self.id(name));
                Value::Null
            }
            ["advance", ms] => {
                self.advance(ms.parse().unwrap());
                Value::Null
            }
            ["sleep", ms] => {
                self.sleep(ms.parse().unwrap())?;
                Value::Null
            }
            ["restart"] => {
                self.restart();
                Value::Null
            }
            ["wait-running", name] => {
                let began = Instant::now();
                while !self.world.running.lock().unwrap().contains(name)
                    && began.elapsed() < Duration::from_secs(10)
                {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Value::Null
            }
            ["release", latch] => {
                self.world.latches.lock().unwrap().insert(latch.to_owned());
                self.world.released.notify_all();
                Value::Null
            }
            ["fail-next-write"] => {
                self.fate.lock().unwrap().refuse_next = true;
                Value::Null
            }
            ["state", name] => {
                let id = self.id(name);
                let live = executor
                    .list()
                    .into_iter()
                    .any(|listing| listing.id == id && !listing.kind.is_empty());
                match executor.state(id) {
                    Some(state) if live => Value::from(format!("{} live", java(state))),
                    Some(state) => Value::from(format!("{} completed", java(state))),
                    None => Value::from("unknown"),
                }
            }
            ["workers"] => Value::from(executor.metrics().workers),
            ["completed"] => Value::from(executor.metrics().finished),
            ["store-ids"] => self.memory.ids().iter().map(|id| id.0).collect(),
            ["is-finished", name] => {
                let state = executor.state(self.id(name));
                Value::from(state.is_none_or(State::is_end))
            }
            ["is-started", name] => Value::from(executor.has_started(self.id(name))),
            _ => panic!("no such action: {action}"),
        })
    }

    /// Plays the whole record, through as many lives as it takes.
    fn play(&mut self) {
        self.preload();
        self.open();
        if self.init_error.is_some() {
            return;
        }
        let actions: Vec<String> = serde_json::from_value(self.record["driver"].clone()).unwrap();
        for action in actions {
            let answer = loop {
                match self.act(&action) {
                    Ok(answer) => break answer,
                    Err(Died) => self.restart(),
                }
            };
            self.answers.push(answer);
        }
        if let (Some(_), Some(executor)) = (&self.threads, &self.executor) {
            executor.stop();
        }
    }

    fn calls(&self) -> Vec<String> {
        self.world.calls.lock().unwrap().clone()
    }

    /// The end, in the words of the records.
    fn roots(&self) -> Value {
        let executor = self.executor();
        let mut roots = Vec::new();
        for name in &self.order {
            let id = self.ids[name];
            let mut root = serde_json::json!({ "proc": name, "id": id.0 });
            root["state"] =
                executor.state(id).map_or(Value::from("unknown"), |state| Value::from(java(state)));
            if let Some(finished) = executor.finished(id) {
                root["finished"] = Value::from(true);
                describe(&finished, &mut root);
            }
            roots.push(root);
        }
        Value::from(roots)
    }

    /// The rows left in the store, with their states.
    fn rows(&self) -> Vec<String> {
        let row = |id: ProcedureId| {
            let record = Record::decode(&self.memory.record(id).unwrap()).ok()?;
            let own: Own = serde_json::from_slice(&record.data).ok()?;
            Some(format!("{}={}", own.node, java(record.state)))
        };
        self.memory
            .ids()
            .into_iter()
            .map(|id| row(id).unwrap_or_else(|| format!("#{id}")))
            .collect()
    }
}

fn describe(finished: &Finished, root: &mut Value) {
    if finished.bypass {
        root["bypass"] = Value::from(true);
    }
    if let Some(result) = &finished.result {
        root["result"] = Value::from(String::from_utf8_lossy(result));
    }
    if let Some(failure) = &finished.failure {
        let (source, class, message) = match (&*failure.source, &*failure.code) {
            ("bug", _) => {
                let (class, message) =
                    failure.message.split_once(": ").unwrap_or(("", &failure.message));
                ("CODE-BUG".to_owned(), class.to_owned(), message.to_owned())
            }
            ("executor", Failure::TIMEOUT) => (
                "ProcedureExecutor".to_owned(),
                "TimeoutIOException".to_owned(),
                "Operation timed out after <t>".to_owned(),
            ),
            ("executor", Failure::CHILD) => {
                let at = failure.message.split(' ').nth(1).unwrap_or_default();
                let message = format!("subproc[{at}] is null, aborting the procedure");
                (message.clone(), "IllegalArgumentIOException".to_owned(), message)
            }
            (source, code) => (source.to_owned(), code.to_owned(), failure.message.clone()),
        };
        root["exception"] =
            serde_json::json!({ "source": source, "class": class, "message": message });
    }
}

fn java(state: State) -> &'static str {
    match state {
        State::Runnable => "RUNNABLE",
        State::Waiting => "WAITING",
        State::WaitingTimeout => "WAITING_TIMEOUT",
        State::WaitingMessage => "WAITING_MESSAGE",
        State::Failed => "FAILED",
        State::RolledBack => "ROLLEDBACK",
        State::Success => "SUCCESS",
    }
}

// --- What is expected --------------------------------------------------------------------------------------------------

/// What a record shows, with the faults taken out that we do not copy.
struct Expected {
    calls: Vec<String>,
    ordered: bool,
    answers: Vec<Option<Value>>,
    roots: Option<Value>,
    rows: Option<Vec<String>>,
    init_error: Option<String>,
    /// The faults, by name.
    faults: BTreeSet<&'static str>,
}

fn expected(record: &Value) -> Expected {
    let mut faults = BTreeSet::new();
    let mut calls = Vec::new();
    let mut answers = Vec::new();
    let raw = record["calls"].as_array().unwrap();
    let driver: Vec<String> = serde_json::from_value(record["driver"].clone()).unwrap_or_default();
    for call in raw {
        let text = |at: usize| match &call[at] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match call[1].as_str().unwrap() {
            name @ ("execute" | "rollback" | "setTimeoutFailure" | "abort") => {
                let rest: Vec<String> = (2..call.as_array().unwrap().len()).map(text).collect();
                calls.push(format!("{name} {}", rest.join(" ")));
            }
            "driver" => {
                // Waiting leaves no trace of its own.
                while driver.get(answers.len()).is_some_and(|action| call[2] != **action) {
                    answers.push(None);
                }
                answers.push(Some(call[3].clone()));
            }
            _ => {}
        }
    }
    let machines: BTreeSet<&str> = record["procedures"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|node| node["kind"] == "state-machine")
        .filter_map(|node| node["name"].as_str())
        .collect();

    // Undoing what never ran.
    let mut ran = BTreeSet::new();
    let before = calls.len();
    let preloaded = record["preloaded"].is_array();
    calls.retain(|call| {
        let mut words = call.split(' ');
        let (what, node) = (words.next().unwrap(), words.next().unwrap_or_default().to_owned());
        if what == "execute" {
            ran.insert(node.clone());
        }
        what != "rollback" || preloaded || ran.contains(&node)
    });
    if calls.len() < before {
        faults.insert("undoes children that never ran");
    }

    // A state whose undoing has to be tried again is passed over instead.
    if calls.iter().any(|call| {
        call.starts_with("rollback")
            && (call.ends_with("ioexception") || call.ends_with("interrupt"))
    }) {
        for machine in machines {
            let mut visited: Vec<String> = Vec::new();
            for call in &mut calls {
                let words: Vec<String> = call.split(' ').map(str::to_owned).collect();
                match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                    ["execute", node, state]
                        if *node == machine && visited.last().is_none_or(|last| last != state) =>
                    {
                        visited.push((*state).to_owned());
                    }
                    ["rollback", node, state, outcome] if *node == machine => {
                        let ours = visited.last().cloned().unwrap_or_else(|| "0".to_owned());
                        if ours != *state {
                            faults.insert("skips a state whose undoing must be repeated");
                        }
                        if !matches!(*outcome, "ioexception" | "interrupt") {
                            visited.pop();
                        }
                        *call = format!("rollback {node} {ours} {outcome}");
                    }
                    _ => {}
                }
            }
        }
    }

    let happens = |name: &str| raw.iter().any(|call| call[1] == name);
    let mut ordered = record["order_stable"].as_bool().unwrap_or(true);
    let mut roots = Some(record["final"]["roots"].clone());
    let mut rows: Option<Vec<String>> =
        serde_json::from_value(record["final"]["store"].clone()).ok();
    let mut init_error = record["final"]["init_error"].as_str().map(str::to_owned);

    // Answers about workers are about their threads.
    for (action, answer) in driver.iter().zip(&mut answers) {
        if action == "workers" {
            *answer = None;
        }
    }
    let stuck = roots
        .as_ref()
        .and_then(Value::as_array)
        .is_some_and(|roots| roots.iter().any(|root| root["finished"] != true));
    let wakes = driver.iter().any(|action| action.starts_with("wake"))
        && record["procedures"].to_string().contains("wait-event");
    if happens("store-write-failed") {
        if stuck {
            // Theirs stays where it was; ours goes on.
            (roots, rows) = (None, None);
            calls.clear();
        }
        faults.insert("a failed write kills the worker");
        answers
            .iter_mut()
            .zip(&driver)
            .filter(|(_, action)| action.starts_with("state"))
            .for_each(|(a, _)| *a = None);
        ordered = false;
    } else if driver.iter().any(|action| action.starts_with("make-runnable")) {
        // Ours disarms the timer of a wait that was ended by a wake: it neither fires later nor ends another wait.
        faults.insert("a stale timer fires");
        let done: BTreeSet<String> =
            calls.iter().filter(|call| call.starts_with("execute")).cloned().collect();
        calls.retain(|call| !(call.starts_with("setTimeoutFailure") && call.ends_with("false")));
        assert!(!done.is_empty());
        answers
            .iter_mut()
            .zip(&driver)
            .filter(|(_, action)| action.starts_with("state"))
            .for_each(|(a, _)| *a = None);
    } else if raw.iter().any(|call| call[2] == "workers" && call[3] == 0) || (stuck && wakes) {
        faults.insert("a wake of a timed wait kills the worker");
        roots = None;
        rows = None;
        ordered = false;
        answers.iter_mut().for_each(|answer| *answer = None);
    }
    if init_error.is_some() && record["abort_on_corruption"] != true {
        faults.insert("one bad record refuses the whole start");
        init_error = None;
        roots = None;
        rows = None;
        calls.clear();
        ordered = false;
        answers = driver.iter().map(|_| None).collect();
    }
    if let Some(error) = &mut init_error {
        *error = error.trim_start_matches("IOException: ").to_owned();
    }
    Expected { calls, ordered, answers, roots, rows, init_error, faults }
}

fn times(calls: &[String], call: &str) -> usize {
    calls.iter().filter(|other| *other == call).count()
}

fn counts(calls: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.as_str()).or_default() += 1;
    }
    counts
}

/// Plays a record without a crash, and says where ours differs.
fn check_uncut(record: &Value) -> (Vec<String>, BTreeSet<&'static str>) {
    let expected = expected(record);
    let mut play = Play::new(record, Cut::Never);
    play.play();
    let mut differences = Vec::new();
    let mut differ = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            differences.push(format!("{what}\n      ours   {ours}\n      theirs {theirs}"));
        }
    };
    differ("start", format!("{:?}", play.init_error), format!("{:?}", expected.init_error));
    let skip_calls = expected.faults.contains("one bad record refuses the whole start")
        || expected.faults.contains("a wake of a timed wait kills the worker");
    if !skip_calls {
        let calls = play.calls();
        if expected.calls.is_empty() && expected.faults.contains("a failed write kills the worker")
        {
            // Nothing of theirs to compare with.
        } else if expected.ordered {
            differ("calls", calls.join(", "), expected.calls.join(", "));
        } else {
            let ours: Vec<_> = counts(&calls).into_iter().collect();
            let theirs: Vec<_> = counts(&expected.calls).into_iter().collect();
            // How often a loop goes round is a matter of time.
            let endless = record["procedures"].to_string().contains("\"loop");
            let (ours, theirs) = if endless { (Vec::new(), Vec::new()) } else { (ours, theirs) };
            differ("counts", format!("{ours:?}"), format!("{theirs:?}"));
        }
    }
    if play.init_error.is_none() {
        if let Some(roots) = &expected.roots
            && !(roots.as_array().is_some_and(Vec::is_empty))
        {
            differ("roots", play.roots().to_string(), roots.to_string());
        }
        if expected.faults.contains("one bad record refuses the whole start") {
            let rest = play.rows().iter().filter(|row| row.ends_with("=SUCCESS")).count();
            differ(
                "set aside, and the rest",
                format!("{} {rest}", play.quarantine > 0),
                "true 1".to_owned(),
            );
        }
        if let Some(rows) = &expected.rows {
            differ("rows", play.rows().join(", "), rows.join(", "));
        }
        for (at, (ours, theirs)) in play.answers.iter().zip(&expected.answers).enumerate() {
            if let Some(theirs) = theirs {
                differ(&format!("answer {at}"), ours.to_string(), theirs.to_string());
            }
        }
        let live: Vec<_> = play
            .executor()
            .list()
            .into_iter()
            .filter(|listing| !listing.state.is_end())
            .map(|l| l.id.0)
            .collect();
        differ("live", format!("{live:?}"), "[]".to_owned());
    }
    (differences, expected.faults)
}

/// Cuts ours before and after every write. Says what does not end as the uncut run, or repeats too much.
fn check_cuts(record: &Value, toggles: bool) -> Vec<String> {
    let mut uncut = Play::new(record, Cut::Never);
    uncut.play();
    let writes = uncut.fate.lock().unwrap().writes;
    let theirs = uncut.roots().to_string();
    let mut cuts: Vec<Cut> = (1..=writes).flat_map(|n| [Cut::Before(n), Cut::After(n)]).collect();
    if toggles {
        cuts.push(Cut::Toggle);
    }
    let mut differences = Vec::new();
    for cut in cuts {
        let mut play = Play::new(record, cut);
        play.play();
        let ours = play.roots().to_string();
        if ours != theirs {
            differences.push(format!("{cut:?}\n      ours  {ours}\n      uncut {theirs}"));
        }
        if let [first, ..] = play.lives[..]
            && matches!(cut, Cut::Before(_) | Cut::After(_))
        {
            let calls = play.calls();
            let (before, after) = calls.split_at(first);
            let repeated: BTreeSet<&String> = before
                .iter()
                .filter(|call| call.starts_with("execute") && after.contains(call))
                .collect();
            for call in repeated {
                // Gates and their like do not advance; a step without persistence leaves nothing; twenty share a name.
                let in_flight = matches!(cut, Cut::Before(_)) && before.last() == Some(call);
                let words: Vec<&str> = call.split(' ').collect();
                let node = &play.world.nodes[words[1]];
                let step = node.steps.get(words[2].parse::<usize>().unwrap());
                let step = step.map_or("", String::as_str);
                let advances =
                    !["gate", "yield", "interrupt", "repeat", "skip", "wait-skip", "loop"]
                        .iter()
                        .any(|still| step.starts_with(still));
                // Several of one name may do what one of them did.
                let twins = times(&calls, call) <= times(&uncut.calls(), call);
                let again_after_skip = node.steps.iter().any(|step| step.contains("skip"));
                if !in_flight && advances && !twins && !again_after_skip {
                    differences.push(format!("{cut:?} repeats {call}"));
                }
            }
        }
    }
    differences
}

/// Plays a script of our own: its calls in order, how its roots end, and that it ends so wherever it is cut.
#[track_caller]
pub(crate) fn check_script(procedures: Value, driver: &str, calls: &[&str], ends: &str) {
    let driver: Vec<&str> = driver.split(' ').collect();
    let record = serde_json::json!({
        "scenario": "ours", "procedures": procedures, "driver": driver, "conf": {},
        "abort_on_corruption": false,
    });
    let mut play = Play::new(&record, Cut::Never);
    play.play();
    assert_eq!(play.calls(), calls);
    let roots = play.roots();
    let ended: Vec<String> = roots
        .as_array()
        .unwrap()
        .iter()
        .map(|root| {
            let bypassed = if root["bypass"] == true { " bypassed" } else { "" };
            let message = root["exception"]["message"].as_str();
            let why = message.map_or(String::new(), |message| format!(": {message}"));
            let word = |key: &str| root[key].as_str().unwrap().to_owned();
            format!("{} {}{bypassed}{why}", word("proc"), word("state"))
        })
        .collect();
    assert_eq!(ended.join(", "), ends);
    let live = play.executor().list().into_iter().filter(|listing| !listing.state.is_end());
    assert_eq!(live.count(), 0);
    assert_eq!(check_cuts(&record, false), Vec::<String>::new());
}

#[test]
fn the_real_framework_agrees() {
    let name = "procedure-traces.json";
    let Some(text) = crate::oracle::file("ANKUS_VERDICTS", "verdicts", name) else { return };
    let records: Vec<Value> = serde_json::from_str(&text).expect("the traces are JSON");
    let mut scenarios: Vec<(String, Vec<&Value>)> = Vec::new();
    for record in &records {
        let name = record["scenario"].as_str().unwrap();
        if record["scheduler"] == "master" {
            continue;
        }
        match scenarios.last_mut() {
            Some((last, all)) if last == name => all.push(record),
            _ => scenarios.push((name.to_owned(), vec![record])),
        }
    }

    let (mut agree, mut all) = (0, 0);
    let mut faults: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, records) in &scenarios {
        let cut = |record: &&&Value| {
            !record["crash_after"].is_null()
                || !record["crash_before"].is_null()
                || !record["kill"].is_null()
        };
        let uncut = records
            .iter()
            .find(|record| !cut(record))
            .expect("each scenario has a record without a crash");
        let toggles = records.iter().any(|record| record["kill"] == "toggle-before-store");
        let crashed = records.iter().any(|record| cut(&record));
        // A script that this test does not know must not hide the others.
        let guarded = |check: &dyn Fn() -> Vec<String>| {
            catch_unwind(AssertUnwindSafe(check)).unwrap_or_else(|_| vec!["panics".to_owned()])
        };
        let cuts = if crashed { guarded(&|| check_cuts(uncut, toggles)) } else { Vec::new() };
        let uncut_roots = &uncut["final"]["roots"];
        for record in records {
            all += 1;
            let (differences, named) = if cut(&record) {
                let mut named = BTreeSet::new();
                if record["final"]["roots"] != *uncut_roots {
                    // Ours ends the same whether cut or not, which `cuts` shows.
                    let text = record["final"]["roots"].to_string();
                    named.insert(if text.contains("SUCCESS") {
                        "an accepted abort is forgotten"
                    } else {
                        "an error comes back as another class"
                    });
                }
                (cuts.clone(), named)
            } else {
                catch_unwind(AssertUnwindSafe(|| check_uncut(record)))
                    .unwrap_or_else(|_| (vec!["panics".to_owned()], BTreeSet::new()))
            };
            for fault in named {
                faults.entry(fault).or_default().insert(name);
            }
            if differences.is_empty() {
                agree += 1;
            } else if !cut(&record)
                || std::ptr::eq(*record, *records.iter().find(|record| cut(record)).unwrap())
            {
                println!("{name} (crash after {}):", record["crash_after"]);
                for difference in differences.iter().take(6) {
                    println!("    {difference}");
                }
            }
        }
    }
    let page = include_str!("../../../../docs/procedures.md");
    for (fault, records) in faults {
        assert!(page.contains(fault), "docs/procedures.md says nothing of: {fault}");
        println!("not copied: {fault}: {}", records.into_iter().collect::<Vec<_>>().join(", "));
    }
    crate::oracle::agree("procedure traces", agree, all);
    assert_eq!(agree, all);
}
