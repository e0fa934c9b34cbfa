//! The world that survives the process: programs, launchers, the clock, and a faulty store.

use super::{Dice, held};
use ankus_engine::host::process::{Exit, Launchers, Program, State, Urgency};
use ankus_procedure::Host;
use ankus_procedure::store::{Error, Loaded, Memory, Reader, Row, Store, Write};
use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// One attempt at an action: the contents of its folder, and what is alive of it.
#[derive(Default)]
pub(super) struct Attempt {
    /// Identifies the action, whichever job it belongs to.
    pub(super) key: String,
    pub(super) job: String,
    pub(super) launcher: bool,
    pub(super) program: bool,
    pub(super) is_stubborn: bool,
    pub(super) is_told_to_stop: bool,
    pub(super) code: i32,
    /// When the program ends by itself.
    pub(super) ends: u64,
    /// When it ends because it was asked to.
    pub(super) obeys: Option<u64>,
    pub(super) exit: Option<Exit>,
}

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) elapsed: u64,
    pub(super) wall: i64,
    pub(super) attempts: BTreeMap<PathBuf, Attempt>,
    pub(super) watchers: Vec<(PathBuf, Box<dyn FnOnce() + Send>)>,
    pub(super) violations: Vec<String>,
    /// Whether there are no faults any more.
    pub(super) calm: bool,
    /// Whether reads, launchers and commits may fail, and steps panic.
    pub(super) faulty: bool,
    pub(super) dead: bool,
    pub(super) programs: u64,
    pub(super) faults: u64,
}

/// A handle to the world, for the interfaces that it implements.
#[derive(Clone)]
pub(super) struct Outside(pub(super) Arc<Mutex<World>>);

impl Outside {
    pub(super) fn world(&self) -> MutexGuard<'_, World> {
        held(&self.0)
    }

    /// Returns whether a fault occurs, which happens once in `once_in` times.
    pub(super) fn fault(&self, once_in: u64) -> bool {
        let mut world = self.world();
        let happens = !world.calm && world.faulty && world.dice.once_in(once_in);
        world.faults += u64::from(happens);
        happens
    }

    /// Panics in a step, as from an unforeseen bug, if a fault occurs.
    fn stumble(&self) {
        if self.fault(40) {
            resume_unwind(Box::new("simulated".to_owned()));
        }
    }

    /// Advances the time; what ends meanwhile has ended.
    pub(super) fn pass(&self, ms: u64) {
        let mut woken = Vec::new();
        {
            let mut world = self.world();
            world.elapsed += ms;
            world.wall += ms.cast_signed();
            let now = world.elapsed;
            let World { attempts, watchers, .. } = &mut *world;
            for (folder, attempt) in attempts.iter_mut().filter(|(_, attempt)| attempt.program) {
                let signal = attempt.obeys.filter(|at| *at <= now).map(|_| 15);
                if signal.is_none() && attempt.ends > now {
                    continue;
                }
                attempt.program = false;
                if attempt.launcher {
                    attempt.launcher = false;
                    let code = signal.is_none().then_some(attempt.code);
                    attempt.exit.get_or_insert(Exit { code, signal, ..Exit::default() });
                }
                let (of_it, others) =
                    std::mem::take(watchers).into_iter().partition(|(at, _)| at == folder);
                *watchers = others;
                woken.extend::<Vec<_>>(of_it);
            }
        }
        for (_, wake) in woken {
            wake();
        }
    }

    /// Returns when the next program ends, counted from now.
    pub(super) fn next(&self) -> Option<u64> {
        let world = self.world();
        let alive = world.attempts.values().filter(|attempt| attempt.program);
        let ends = alive.map(|attempt| attempt.obeys.unwrap_or(attempt.ends).min(attempt.ends));
        ends.min().map(|at| at.saturating_sub(world.elapsed))
    }

    /// Ends everything at once: without an exit status, or, if launchers are asked to end as well, with one.
    pub(super) fn everything_ends(&self, with_a_word: bool) {
        for attempt in self.world().attempts.values_mut() {
            if attempt.program && attempt.launcher && with_a_word {
                let exit = Exit { signal: Some(15), with_all: true, ..Exit::default() };
                attempt.exit.get_or_insert(exit);
            }
            (attempt.program, attempt.launcher) = (false, false);
        }
    }

    /// Kills a launcher; its program ends with it, or does not.
    pub(super) fn a_launcher_dies(&self) -> bool {
        let mut world = self.world();
        let alive: Vec<PathBuf> = world
            .attempts
            .iter()
            .filter(|(_, attempt)| attempt.launcher)
            .map(|(folder, _)| folder.clone())
            .collect();
        let Some(folder) = world.dice.one_of(&alive) else { return false };
        let goes_along = !world.dice.once_in(3);
        let Some(attempt) = world.attempts.get_mut(&folder) else { return false };
        attempt.launcher = false;
        attempt.program &= !goes_along;
        let World { watchers, .. } = &mut *world;
        let (of_it, others): (Vec<_>, Vec<_>) =
            std::mem::take(watchers).into_iter().partition(|(at, _)| *at == folder);
        *watchers = others;
        drop(world);
        for (_, wake) in of_it {
            wake();
        }
        true
    }

    pub(super) fn alive(&self) -> Vec<(String, String)> {
        let world = self.world();
        let alive = world.attempts.values().filter(|attempt| attempt.program);
        alive.map(|attempt| (attempt.job.clone(), attempt.key.clone())).collect()
    }
}

impl Host for Outside {
    fn wall_ms(&self) -> i64 {
        self.world().wall
    }

    fn elapsed_ms(&self) -> u64 {
        self.world().elapsed
    }

    fn random(&self) -> u64 {
        4
    }
}

impl Launchers for Outside {
    fn start(&self, folder: &Path, program: &Program) -> io::Result<()> {
        if self.fault(30) {
            return Err(io::Error::other("there is no room"));
        }
        {
            let mut world = self.world();
            let (length, now) = (1 + world.dice.below(20_000), world.elapsed);
            let is_known = world.attempts.get(folder).is_some_and(|attempt| {
                attempt.launcher
                    || attempt.program
                    || attempt.exit.is_some()
                    || !attempt.key.is_empty()
            });
            if is_known {
                return Ok(());
            }
            let key = program.arguments.first().cloned().unwrap_or_default();
            let how = program.arguments.get(1).map(String::as_str).unwrap_or_default();
            let job = folder.parent().and_then(Path::file_name).unwrap_or_default();
            let other = world.attempts.values().find(|other| other.program && other.key == key);
            if let Some(other) = other {
                let what = format!(
                    "`{key}` of {} begins in {} beside the one of {}",
                    job.display(),
                    folder.display(),
                    other.job
                );
                world.violations.push(what);
            }
            let is_told = world.attempts.get(folder).is_some_and(|attempt| attempt.is_told_to_stop);
            let attempt = Attempt {
                key,
                job: job.to_string_lossy().into_owned(),
                launcher: !is_told,
                program: !is_told,
                is_stubborn: how == "stubborn",
                is_told_to_stop: is_told,
                code: i32::from(how == "fails"),
                ends: now + length,
                obeys: None,
                exit: is_told.then(|| Exit { signal: Some(9), ..Exit::default() }),
            };
            world.attempts.insert(folder.to_owned(), attempt);
            world.programs += 1;
        }
        self.stumble();
        Ok(())
    }

    fn fate(&self, folder: &Path) -> io::Result<State> {
        self.stumble();
        if self.fault(60) {
            return Err(io::Error::other("it cannot be read"));
        }
        let world = self.world();
        Ok(match world.attempts.get(folder) {
            Some(attempt) if attempt.exit.is_some() => {
                State::Ended(attempt.exit.clone().unwrap_or_default())
            }
            Some(attempt) if attempt.launcher => State::Running,
            Some(attempt) if !attempt.key.is_empty() => State::Lost,
            _ => State::Absent,
        })
    }

    fn stop(&self, folder: &Path, urgency: Urgency) -> io::Result<usize> {
        self.stumble();
        if self.fault(20) {
            return Err(io::Error::other("it cannot be read"));
        }
        let mut world = self.world();
        let (now, soon) = (world.elapsed, world.dice.below(300));
        // What was never started is not told to stop: there is no folder for the request.
        let Some(attempt) = world.attempts.get_mut(folder) else { return Ok(0) };
        attempt.is_told_to_stop = true;
        if attempt.program {
            match urgency {
                Urgency::Ask if attempt.is_stubborn => {}
                Urgency::Ask => attempt.obeys = attempt.obeys.or(Some(now + soon)),
                Urgency::Look => {}
                // Even a kill takes a moment.
                Urgency::Force => attempt.obeys = Some(now + soon % 3),
            }
            return Ok(1);
        }
        attempt.launcher = false;
        attempt.exit.get_or_insert(Exit { signal: Some(9), ..Exit::default() });
        Ok(0)
    }

    fn watch(&self, folder: &Path, wake: Box<dyn FnOnce() + Send>) {
        self.world().watchers.push((folder.to_owned(), wake));
    }

    fn leave(&self) {
        self.world().watchers.clear();
    }
}

/// The faulty store.
pub(super) struct Disk {
    pub(super) memory: Memory,
    pub(super) outside: Outside,
}

impl Disk {
    pub(super) fn failed<T>(why: &str) -> Result<T, Error> {
        Err(Error::Failed(why.to_owned()))
    }
}

impl Store for Disk {
    fn load(&mut self) -> Result<Loaded, Error> {
        self.memory.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), Error> {
        let fate = {
            let mut world = self.outside.world();
            if world.dead {
                return Disk::failed("dead");
            }
            let fate = if world.calm { 9 } else { world.dice.below(200) };
            world.dead |= fate < 2;
            fate
        };
        match fate {
            0 => Disk::failed("died before the write"),
            1 => {
                self.memory.commit(batch)?;
                Disk::failed("died after the write")
            }
            _ if self.outside.fault(60) => Err(Error::Full),
            _ => self.memory.commit(batch),
        }
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(Disk { memory: self.memory.clone(), outside: self.outside.clone() })
    }
}

impl Reader for Disk {
    fn get(&self, space: &str, key: &[u8]) -> Result<Option<Box<[u8]>>, Error> {
        if self.outside.fault(800) {
            return Disk::failed("it cannot be read");
        }
        self.memory.get(space, key)
    }

    fn scan(
        &self,
        space: &str,
        prefix: &[u8],
        from: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Row>, Error> {
        if self.outside.fault(800) {
            return Disk::failed("it cannot be read");
        }
        self.memory.scan(space, prefix, from, limit)
    }
}
