//! Tests real crashes: a process that runs procedures over a SQLite store is killed at random times and started again.
//!
//! [`rounds`] starts and kills processes, each of which executes [`child`]. The procedures are those of
//! [`crate::procedures`], without its faults; which of them fail depends only on their seed, so the results can be
//! compared with an undisturbed run.
#![expect(clippy::disallowed_methods, reason = "killing processes is the outside world")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::procedures::{self, Dice};
use ankus_procedure::control::Guard;
use ankus_procedure::store::{Options, Sqlite, Store};
use ankus_procedure::{Config, Executor, Host, Nonce, RealHost, State};

/// How many roots are submitted at a time; when all have ended, as many more are.
const BATCH: u64 = 12;

/// The result of the rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Processes that were killed.
    pub kills: u32,
    /// Processes that had finished before they were to be killed.
    pub finished: u32,
    /// Roots whose results were compared.
    pub roots: u64,
    /// How many of those failed.
    pub failed: u64,
}

/// A clock that runs faster than the real one, so that waits do not take long.
struct Fast(RealHost);

impl Host for Fast {
    fn wall_ms(&self) -> i64 {
        self.0.wall_ms()
    }

    fn elapsed_ms(&self) -> u64 {
        self.0.elapsed_ms().saturating_mul(100)
    }

    fn random(&self) -> u64 {
        self.0.random()
    }
}

fn open(store: Box<dyn Store>) -> Result<(Executor, Arc<procedures::World>), String> {
    let (registry, world) = procedures::registry();
    let host = Arc::new(Fast(RealHost::new()));
    let config = Config { unacknowledged_ms: u64::MAX, ..Config::default() };
    let (executor, recovery) =
        Executor::open(store, registry, host, config).map_err(|error| error.to_string())?;
    match recovery.quarantine.first() {
        None => Ok((executor, world)),
        Some(unfit) => Err(format!("{} was set aside: {}", unfit.id, unfit.reason)),
    }
}

/// Submits a batch and waits for its end.
fn work(executor: &Executor, world: &Arc<procedures::World>, batch: u64) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().build().map_err(|error| error.to_string())?;
    executor.start(runtime.handle(), 2);
    for number in batch * BATCH..(batch + 1) * BATCH {
        let new = procedures::root(world, number);
        executor
            .submit_once(new, Nonce { group: 2, number: number + 1 })
            .map_err(|error| error.to_string())?;
    }
    let began = Instant::now();
    loop {
        let live: Vec<_> =
            executor.list().into_iter().filter(|listing| !listing.state.is_end()).collect();
        if live.is_empty() {
            break;
        }
        if began.elapsed() > Duration::from_secs(60) {
            return Err(format!("these never end: {live:?}"));
        }
        // Only the clock ends a wait with a time-out; otherwise the result would depend on timing.
        for listing in live {
            match listing.state {
                State::WaitingMessage => {
                    let _ = executor.send(listing.id, 7, *b"go on");
                }
                State::Runnable => {
                    executor.wake(listing.id);
                }
                _ => {}
            }
        }
        executor.tick();
        thread::sleep(Duration::from_millis(2));
        world.first_violation()?;
    }
    executor.stop();
    world.first_violation()
}

/// Runs the store until this batch has ended; this is the process that is killed.
pub fn child(store: &Path, batch: u64) -> Result<(), String> {
    let guard = loop {
        // The kernel releases the lock of a killed process with some delay.
        match Guard::take(store).map_err(|error| error.to_string())? {
            Some(guard) => break guard,
            None => thread::sleep(Duration::from_millis(1)),
        }
    };
    let opened = Sqlite::open(store, Options::default()).map_err(|error| error.to_string())?;
    let (executor, world) = open(Box::new(opened))?;
    let done = work(&executor, &world, batch);
    drop(guard);
    done
}

/// Kills `kills` processes that work on this store. `command` returns the command of one that calls [`child`] with the
/// given batch.
pub fn rounds(
    store: &Path,
    kills: u32,
    seed: u64,
    command: impl Fn(u64) -> Command,
) -> Result<Report, String> {
    let mut dice = Dice::new(seed);
    let mut report = Report::default();
    let mut batch = 0;
    while report.kills < kills {
        let mut process = command(batch)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        // Most are killed early, while they are loading what the previous one left.
        let life = if dice.below(6) == 0 { 1_000_000 } else { 80_000 };
        thread::sleep(Duration::from_micros(dice.below(life)));
        if process.try_wait().map_err(|error| error.to_string())?.is_none() {
            process.kill().map_err(|error| error.to_string())?;
        }
        let output = process.wait_with_output().map_err(|error| error.to_string())?;
        match output.status.code() {
            None => report.kills += 1,
            Some(0) => {
                report.finished += 1;
                batch += 1;
            }
            Some(_) => return Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
    // The last batch is not disturbed.
    let output =
        command(batch).stdout(Stdio::null()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let batches = batch + 1;

    let killed = Sqlite::open(store, Options::default()).map_err(|error| error.to_string())?;
    let integrity = killed.integrity().map_err(|error| error.to_string())?;
    if integrity != "ok" {
        return Err(format!("the integrity check says: {integrity}"));
    }
    let (killed, _) = open(Box::new(killed))?;

    let theirs = procedures::unharmed(0..batches * BATCH)?;
    for (number, state) in theirs {
        let id = killed.register(Nonce { group: 2, number: number + 1 });
        let ours = id.and_then(|id| killed.state(id));
        if ours != Some(state) {
            return Err(format!(
                "root {number} ended as {ours:?}, and without a kill as {state:?}"
            ));
        }
        report.roots += 1;
        report.failed += u64::from(state == State::RolledBack);
    }
    procedures::rows_add_up(&*killed.reader())?;
    Ok(report)
}
