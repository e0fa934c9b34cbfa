//! One place with all its jobs that somebody waits for: a thread looks at them together.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Backend, Fault, Seen, Ticket};
use crate::host::process::Exit;

/// The longest pause between two looks at a place that does not answer.
const LONGEST: Duration = Duration::from_secs(30);
/// So long nobody asks again whoever did not answer.
const SILENCE: Duration = Duration::from_secs(3);

/// With many jobs, the pause between two looks is so long for each of them, up to so many.
const EACH: Duration = Duration::from_millis(4);
const LARGE: usize = 2_000;

type Wake = Box<dyn FnOnce() + Send>;

pub(super) struct Post {
    pub(super) backend: Box<dyn Backend>,
    waiting: Mutex<Waiting>,
    bell: Condvar,
    /// The last look.
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
    /// Those that were asked for.
    asked: HashSet<String>,
    /// When nobody answered, and what was said then.
    silent: Option<(Instant, Fault)>,
    /// Since when there was no answer.
    failing: Option<Instant>,
    /// How long after it the next one comes.
    pause: Duration,
    /// Jobs that have ended, until somebody has what they left behind: nothing changes there any more. A thousand that end at
    /// once would be listed a thousand times otherwise.
    ended: HashMap<String, Exit>,
}

impl Post {
    pub(super) fn new(backend: Box<dyn Backend>) -> Post {
        let (waiting, last) = (Mutex::default(), Mutex::default());
        Post { backend, waiting, bell: Condvar::new(), last }
    }

    /// How a job is, as of a look that is not older than this and not earlier than that.
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
        // Whoever looks after many is woken when one of them ends, and need not look by itself in between.
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

    /// Nobody asks for a job any more.
    pub(super) fn forget(&self, id: &str) {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).ended.remove(id);
    }

    /// How long there has been no answer that is of use.
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

    /// Lists grow with the jobs, and take the same share of a processor however many there are.
    fn pause(&self, jobs: usize) -> Duration {
        self.backend.pause().max(EACH * jobs.min(LARGE) as u32)
    }

    /// Wakes somebody when a job may have ended.
    pub(super) fn watch(self: &Arc<Post>, ticket: &Ticket, wake: Wake) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.jobs.insert(ticket.id.clone(), (ticket.clone(), wake));
        self.bell.notify_all();
        if waiting.has_thread {
            return;
        }
        let post = Arc::clone(self);
        let spawned = thread::Builder::new().name("elsewhere".to_owned()).spawn(move || post.run());
        // Without a thread, whoever waits looks for himself from time to time; the next one tries again.
        waiting.has_thread = spawned.is_ok();
    }

    /// Wakes nobody any more.
    pub(super) fn leave(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).jobs.clear();
        self.bell.notify_all();
    }

    /// Looks at all jobs that somebody waits for, until there are none.
    fn run(&self) {
        let mut pause = self.backend.pause();
        loop {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let since = Instant::now();
            // The bell rings for every job that comes, and none of them ends sooner for it.
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

    /// Where everything has ended.
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
            // Another one is asked for in between, and however old the look is.
            post.look(&ticket("a"), Duration::ZERO, None).expect("an answer");
            post.look(&ticket("b"), Duration::ZERO, None).expect("an answer");
        }
        assert_eq!(looks.load(Ordering::Relaxed), 2);
        post.forget("a");
        post.look(&ticket("a"), Duration::ZERO, None).expect("an answer");
        assert_eq!(looks.load(Ordering::Relaxed), 3);
    }
}
