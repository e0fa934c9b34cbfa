//! Plays a record: the outside world, a store that dies on demand, and the client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ankus_procedure::store::{self, Loaded, Memory, Reader, Store, Write};
use ankus_procedure::{
    Config, Error, Executor, Failure, Finished, Host, New, Nonce, ProcedureId, RealHost, Record,
    Registry, State, Step, Timer,
};
use serde_json::Value;

use super::script::{Node, Own, Script, World};

#[derive(Default)]
pub(super) struct Clock(AtomicI64);

impl Host for Clock {
    fn wall_ms(&self) -> i64 {
        1_700_000_000_000 + self.0.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> u64 {
        // Elapsed time begins some time before the test.
        (1_000_000_000 + self.0.load(Ordering::Relaxed)).cast_unsigned()
    }

    fn random(&self) -> u64 {
        4
    }
}

/// Where the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Never,
    Before(u32),
    After(u32),
    /// Before every other write.
    Toggle,
}

#[derive(Debug)]
pub(super) struct Fate {
    pub(super) cut: Cut,
    pub(super) writes: u32,
    pub(super) dead: bool,
    pub(super) refuse_next: bool,
    pub(super) refused: u32,
}

/// A store that dies on demand.
pub(super) struct Mortal {
    pub(super) memory: Memory,
    pub(super) fate: Arc<Mutex<Fate>>,
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
            // Not forever: a procedure that only polls would never end.
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

pub(super) struct Play<'a> {
    pub(super) record: &'a Value,
    pub(super) world: Arc<World>,
    pub(super) memory: Memory,
    pub(super) fate: Arc<Mutex<Fate>>,
    pub(super) clock: Arc<Clock>,
    pub(super) threads: Option<tokio::runtime::Runtime>,
    pub(super) executor: Option<Executor>,
    pub(super) ids: BTreeMap<String, ProcedureId>,
    pub(super) order: Vec<String>,
    pub(super) woken: BTreeSet<String>,
    pub(super) started: bool,
    pub(super) restarts: u32,
    pub(super) answers: Vec<Value>,
    pub(super) quarantine: usize,
    pub(super) init_error: Option<String>,
    /// The length of the log at each restart.
    pub(super) lives: Vec<usize>,
    /// How many turns may pass until the executor counts as idle.
    pub(super) patience: u32,
}

#[derive(Debug)]
pub(super) struct Died;

impl<'a> Play<'a> {
    pub(super) fn new(record: &'a Value, cut: Cut) -> Self {
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
            // A procedure in a loop is never idle, and a few rounds of it suffice.
            patience: if record["procedures"].to_string().contains("\"loop") {
                500
            } else {
                100_000
            },
        }
    }

    pub(super) fn preload(&mut self) {
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
                // This state is unknown to us: the bytes are not a valid record.
                bytes = bytes[..4].into();
            }
            batch.push(Write::Record(ProcedureId(row["id"].as_u64().unwrap()), bytes));
        }
        self.memory.commit(&batch).unwrap();
    }

    pub(super) fn open(&mut self) {
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

    pub(super) fn executor(&self) -> Executor {
        self.executor.clone().expect("it was opened")
    }

    pub(super) fn restart(&mut self) {
        self.restarts += 1;
        assert!(self.restarts < 500, "it never ends: {}", self.record["scenario"]);
        self.lives.push(self.world.calls.lock().unwrap().len());
        if let (Some(executor), Some(_)) = (self.executor.take(), &self.threads) {
            // A killed process waits for nothing; its threads must not write any more.
            self.fate.lock().unwrap().dead = true;
            self.world.latches.lock().unwrap().extend(["l".to_owned()]);
            self.world.released.notify_all();
            executor.stop();
        }
        self.fate.lock().unwrap().dead = false;
        self.open();
        if self.fate.lock().unwrap().cut == Cut::Toggle {
            // Otherwise it would be killed between waiting and resuming, forever.
            for event in &self.woken {
                self.executor().set_ready(event);
            }
        }
        if self.started {
            self.start();
        }
    }

    pub(super) fn start(&mut self) {
        self.started = true;
        if let Some(runtime) = &self.threads {
            let workers = self.record["workers"].as_u64().unwrap_or(1);
            self.executor().start(runtime.handle(), usize::try_from(workers).unwrap());
        }
    }

    pub(super) fn alive(&self) -> Result<(), Died> {
        if self.fate.lock().unwrap().dead { Err(Died) } else { Ok(()) }
    }

    /// Runs until nothing moves.
    pub(super) fn idle(&mut self) -> Result<(), Died> {
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
        // A procedure that requests a lock again and again is never idle.
        Ok(())
    }

    pub(super) fn advance(&self, ms: i64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub(super) fn until_finished(&mut self) -> Result<(), Died> {
        if !self.started {
            return Ok(());
        }
        if self.threads.is_some() {
            let began = Instant::now();
            let live =
                |executor: &Executor| executor.list().iter().any(|listing| !listing.state.is_end());
            while live(&self.executor()) && began.elapsed() < Duration::from_secs(120) {
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

    pub(super) fn sleep(&mut self, ms: i64) -> Result<(), Died> {
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

    pub(super) fn id(&self, name: &str) -> ProcedureId {
        match name.strip_prefix('#') {
            Some(number) => ProcedureId(number.parse().unwrap()),
            None => self.ids[name],
        }
    }

    pub(super) fn named(&mut self, name: &str, id: ProcedureId) {
        self.ids.insert(name.to_owned(), id);
        if !self.order.contains(&name.to_owned()) {
            self.order.push(name.to_owned());
        }
    }

    /// Submits procedures. A submission that died when its record was already stored is not repeated.
    pub(super) fn submit(&mut self, names: &[&str], nonce: Option<Nonce>) -> Result<Value, Died> {
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

    pub(super) fn act(&mut self, action: &str) -> Result<Value, Died> {
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
            // A wake makes it runnable by itself.
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
                    && began.elapsed() < Duration::from_secs(120)
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

    /// Plays the whole record, with as many restarts as it takes.
    pub(super) fn play(&mut self) {
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

    pub(super) fn calls(&self) -> Vec<String> {
        self.world.calls.lock().unwrap().clone()
    }

    /// The final states, in the words of the records.
    pub(super) fn roots(&self) -> Value {
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

    /// The rows that are left in the store, with their states.
    pub(super) fn rows(&self) -> Vec<String> {
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

pub(super) fn describe(finished: &Finished, root: &mut Value) {
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

pub(super) fn java(state: State) -> &'static str {
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
