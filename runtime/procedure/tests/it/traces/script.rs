//! The scripts: procedures that do what a record says, and log each call.

use std::collections::{BTreeSet, HashMap};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use ankus_procedure::{
    Context, Failure, Lock, Mode, New, Procedure, Sequence, Step, TimedOut, UndoError, Visited,
    Wait,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Node {
    pub(super) name: String,
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) steps: Vec<String>,
    #[serde(default)]
    pub(super) rollback: Vec<String>,
    pub(super) lock: Option<String>,
    #[serde(default)]
    pub(super) hold_lock: bool,
    #[serde(default)]
    pub(super) yield_after_step: bool,
    pub(super) owner: Option<String>,
    pub(super) abort: Option<String>,
    pub(super) rollback_supported: Option<bool>,
    pub(super) wait_client_ack: Option<bool>,
}

/// The state that all scripts of a run share, across its restarts.
#[derive(Default)]
pub(super) struct World {
    pub(super) nodes: HashMap<String, Node>,
    pub(super) calls: Mutex<Vec<String>>,
    pub(super) latches: Mutex<BTreeSet<String>>,
    pub(super) released: Condvar,
    pub(super) running: Mutex<BTreeSet<String>>,
}

impl World {
    pub(super) fn log(&self, call: String) {
        self.calls.lock().unwrap().push(call);
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Own {
    pub(super) node: String,
    pub(super) step: usize,
    pub(super) visited: Visited,
    pub(super) once: Sequence,
}

pub(super) struct Script {
    pub(super) world: Arc<World>,
    pub(super) node: Node,
    pub(super) own: Own,
    pub(super) attempts: u32,
    pub(super) undone: usize,
}

impl Script {
    pub(super) fn new(world: &Arc<World>, own: Own) -> Result<Self, String> {
        let node =
            world.nodes.get(&own.node).cloned().ok_or_else(|| format!("no node `{}`", own.node))?;
        Ok(Script { world: world.clone(), node, own, attempts: 0, undone: 0 })
    }

    pub(super) fn fresh(world: &Arc<World>, name: &str) -> New {
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

    pub(super) fn is_machine(&self) -> bool {
        self.node.kind == "state-machine"
    }

    pub(super) fn children(&self, list: &str) -> Vec<New> {
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

    pub(super) fn aborted(&self) -> Failure {
        let source = if self.is_machine() { "SM" } else { &self.node.name };
        Failure::new(source, "ProcedureAbortedException", "abort requested")
    }

    pub(super) fn boom(&self, message: &str) -> Failure {
        Failure::new(&*self.node.name, "IOException", message)
    }

    /// Whether a step that repeats `n` times must repeat again; counted in memory only.
    pub(super) fn again(&mut self, n: &str) -> bool {
        self.attempts += 1;
        self.attempts <= n.parse().unwrap()
    }

    pub(super) fn step(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
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
                        .wait_timeout_while(latches, Duration::from_secs(120), open)
                        .unwrap(),
                );
                Step::Done
            }
            other => panic!("no such step: {other}"),
        })
    }

    pub(super) fn state(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
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
                    // The step has returned an answer instead of an error.
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

/// A placeholder for a child that does not exist.
pub(super) struct Nothing;

impl Procedure for Nothing {
    fn execute(&mut self, _: &mut Context<'_>) -> Result<Step, Failure> {
        Ok(Step::Done)
    }

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
}
