//! Watches all awaited jobs of one place, with one thread that checks them together.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Backend, Fault, Seen, Ticket};
use crate::host::process::Exit;

/// The longest pause between two checks of a place that does not answer.
const LONGEST: Duration = Duration::from_secs(30);
/// How long a place that did not answer is not asked again.
const SILENCE: Duration = Duration::from_secs(3);

/// With many jobs, the pause between two checks is this long for each of them, up to `LARGE` jobs.
const EACH: Duration = Duration::from_millis(4);
const LARGE: usize = 2_000;

type Wake = Box<dyn FnOnce() + Send>;

pub(super) struct Post {
    pub(super) backend: Box<dyn Backend>,
    waiting: Mutex<Waiting>,
    bell: Condvar,
    /// The last check.
    last: Mutex<Look>,
}

#[derive(Default)]
struct Waiting {
    jobs: HashMap<String, (Ticket, Wake)>,
    has_thread: bool,
}

#[derive(Default)]
struct Look {
    at: Option<Instant>,
    seen: HashMap<String, Seen>,
    /// The ids that were requested.
    asked: HashSet<String>,
    /// When there was no answer, and the fault.
    silent: Option<(Instant, Fault)>,
    /// Since when there has been no answer.
    failing: Option<Instant>,
    /// The pause before the next check.
    pause: Duration,
    /// Jobs that have ended, until their results were fetched: their state does not change any more. Otherwise a
    /// thousand jobs that end at once would be listed a thousand times.
    ended: HashMap<String, Exit>,
}

impl Post {
    pub(super) fn new(backend: Box<dyn Backend>) -> Post {
        let (waiting, last) = (Mutex::default(), Mutex::default());
        Post { backend, waiting, bell: Condvar::new(), last }
    }

    /// Returns the state of a job from a check that is no older than `fresh` and was made after `after`.
    pub(super) fn look(
        &self,
        ticket: &Ticket,
        fresh: Duration,
        after: Option<Instant>,
    ) -> Result<Seen, Fault> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(exit) = last.ended.get(&ticket.id) {
            return Ok(Seen::Ended(exit.clone()));
        }
        // Callers with many jobs are woken when one of them ends, and need not check in between.
        let fresh = match after {
            None => fresh.max(last.pause),
            Some(_) => fresh,
        };
        let is_recent = |at: Instant| at.elapsed() < fresh && after.is_none_or(|after| at > after);
        if last.at.is_none_or(|at| !is_recent(at)) || !last.asked.contains(&ticket.id) {
            if let Some((at, fault)) = &last.silent
                && at.elapsed() < SILENCE
            {
                return Err(fault.clone());
            }
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let mut tickets: Vec<Ticket> =
                waiting.jobs.values().map(|(ticket, _)| ticket.clone()).collect();
            drop(waiting);
            if tickets.iter().all(|known| known.id != ticket.id) {
                tickets.push(ticket.clone());
            }
            self.look_at(&mut last, &tickets)?;
        }
        Ok(last.seen.get(&ticket.id).cloned().unwrap_or(Seen::Gone))
    }

    /// Forgets a job whose results were fetched.
    pub(super) fn forget(&self, id: &str) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).ended.remove(id);
    }

    /// Returns how long there has been no useful answer.
    pub(super) fn failing(&self) -> Duration {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.failing.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn look_at(&self, last: &mut Look, tickets: &[Ticket]) -> Result<(), Fault> {
        let at = Instant::now();
        match self.backend.look(&tickets.iter().collect::<Vec<_>>()) {
            Ok(seen) => {
                let asked: HashSet<String> =
                    tickets.iter().map(|ticket| ticket.id.clone()).collect();
                let pause = self.pause(tickets.len());
                let mut ended = std::mem::take(&mut last.ended);
                ended.extend(seen.iter().filter_map(|(id, seen)| match seen {
                    Seen::Ended(exit) if asked.contains(id) => Some((id.clone(), exit.clone())),
                    _ => None,
                }));
                *last =
                    Look { at: Some(at), seen, asked, silent: None, failing: None, pause, ended };
                Ok(())
            }
            Err(fault) => {
                last.silent = Some((Instant::now(), fault.clone()));
                last.failing.get_or_insert(at);
                Err(fault)
            }
        }
    }

    /// Returns the pause between two checks: lists grow with the number of jobs, and take the same share of a processor
    /// however many there are.
    fn pause(&self, jobs: usize) -> Duration {
        self.backend.pause().max(EACH * jobs.min(LARGE) as u32)
    }

    /// Calls `wake` when a job may have ended.
    pub(super) fn watch(self: &Arc<Post>, ticket: &Ticket, wake: Wake) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.jobs.insert(ticket.id.clone(), (ticket.clone(), wake));
        self.bell.notify_all();
        if waiting.has_thread {
            return;
        }
        let post = Arc::clone(self);
        let spawned = thread::Builder::new().name("elsewhere".to_owned()).spawn(move || post.run());
        // Without a thread, callers poll by themselves; the next call tries again.
        waiting.has_thread = spawned.is_ok();
    }

    /// Stops all wake-ups.
    pub(super) fn leave(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).jobs.clear();
        self.bell.notify_all();
    }

    /// Checks all awaited jobs until there are none.
    fn run(&self) {
        let mut pause = self.backend.pause();
        loop {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let since = Instant::now();
            // The condition is signaled for every new job, which is no reason to check sooner.
            while !waiting.jobs.is_empty() && since.elapsed() < pause {
                let left = pause.saturating_sub(since.elapsed());
                let rung = self.bell.wait_timeout(waiting, left);
                waiting = rung.unwrap_or_else(PoisonError::into_inner).0;
            }
            if waiting.jobs.is_empty() {
                waiting.has_thread = false;
                return;
            }
            let tickets: Vec<Ticket> =
                waiting.jobs.values().map(|(ticket, _)| ticket.clone()).collect();
            drop(waiting);
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let looked = self.look_at(&mut last, &tickets);
            let runs = |id: &str| last.seen.get(id) == Some(&Seen::Runs);
            let ended: Vec<&Ticket> =
                tickets.iter().filter(|ticket| looked.is_ok() && !runs(&ticket.id)).collect();
            pause = match looked {
                Ok(()) => last.pause,
                Err(_) => (pause * 2).min(LONGEST),
            };
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let wakes: Vec<Wake> = ended
                .into_iter()
                .filter_map(|ticket| Some(waiting.jobs.remove(&ticket.id)?.1))
                .collect();
            drop((waiting, last));
            for wake in wakes {
                wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bundle::Bundle;
    use super::super::{Address, Seat};
    use super::*;
    use crate::host::process::{Program, Urgency};
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A backend where everything has ended.
    #[derive(Default)]
    struct Over {
        looks: Arc<AtomicUsize>,
    }

    impl Backend for Over {
        fn start(&self, _: &Ticket, _: &Seat, _: &Bundle<'_>) -> Result<Option<String>, Fault> {
            Ok(None)
        }

        fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            let ended = |ticket: &&Ticket| (ticket.id.clone(), Seen::Ended(Exit::default()));
            Ok(tickets.iter().map(ended).collect())
        }

        fn end(&self, _: &Ticket, _: Urgency) -> Result<(), Fault> {
            Ok(())
        }

        fn fetch(&self, _: &Ticket, _: &Path, _: &Program) -> Result<(), Fault> {
            Ok(())
        }

        fn forget(&self, _: &Ticket) -> Result<(), Fault> {
            Ok(())
        }

        fn address(&self, _: &Ticket) -> Address {
            Address::default()
        }
    }

    #[test]
    fn what_has_ended_is_not_looked_at_again() {
        let over = Over::default();
        let looks = over.looks.clone();
        let post = Post::new(Box::new(over));
        let ticket = |id: &str| Ticket { id: id.to_owned(), ..Ticket::default() };
        for _ in 0..3 {
            // Another job is checked in between, and any age is too old.
            post.look(&ticket("a"), Duration::ZERO, None).expect("an answer");
            post.look(&ticket("b"), Duration::ZERO, None).expect("an answer");
        }
        assert_eq!(looks.load(Ordering::Relaxed), 2);
        post.forget("a");
        post.look(&ticket("a"), Duration::ZERO, None).expect("an answer");
        assert_eq!(looks.load(Ordering::Relaxed), 3);
    }
}
