//! The threads behind an executor: workers, the committer and the timer.

use super::{Error, Finished, LONG_TURN_MS, Shared, Signal};
use crate::context::Effects;
use crate::core::{Call, Core, Ended, Now, Outcome, Polled, Settled, Task};
use crate::{Context, Failure, Host, Step, TimedOut, UndoError, store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Core> {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        core.now = now(&*self.host);
        core
    }

    pub(super) fn workers(&self) -> MutexGuard<'_, Vec<Arc<AtomicU64>>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Returns why the executor has stopped.
    pub(super) fn stopped(&self, core: &Core) -> Error {
        core.given_up.clone().map_or(Error::Stopped, Error::Store)
    }

    pub(super) fn runs_by_itself(&self) -> bool {
        self.started.load(Ordering::Acquire) && !self.stopping()
    }

    pub(super) fn wait<'a>(
        &self,
        on: &Signal,
        core: MutexGuard<'a, Core>,
        at_most: Option<Duration>,
    ) -> MutexGuard<'a, Core> {
        self.wait_for(on, core, at_most).0
    }

    fn wait_for<'a>(
        &self,
        on: &Signal,
        core: MutexGuard<'a, Core>,
        at_most: Option<Duration>,
    ) -> (MutexGuard<'a, Core>, bool) {
        on.waiting.fetch_add(1, Ordering::SeqCst);
        let woken = match at_most {
            None => (on.condvar.wait(core).unwrap_or_else(PoisonError::into_inner), false),
            Some(at_most) => {
                let (core, timeout) =
                    on.condvar.wait_timeout(core, at_most).unwrap_or_else(PoisonError::into_inner);
                (core, timeout.timed_out())
            }
        };
        on.waiting.fetch_sub(1, Ordering::SeqCst);
        woken
    }

    /// Waits until the unit with this number is durable, or given back.
    pub(super) fn durable(&self, number: u64) -> Result<(), Error> {
        let given_back = |error: Option<store::Error>| {
            Error::Store(
                error.unwrap_or_else(|| store::Error::Failed("a commit was refused".to_owned())),
            )
        };
        if self.runs_by_itself() && !self.instant {
            self.dirty.notify_one();
            let mut core = self.lock();
            loop {
                match core.is_durable(number) {
                    Ok(true) => return Ok(()),
                    Ok(false) if self.stopping() => return Err(self.stopped(&core)),
                    Ok(false) => core = self.wait(&self.moved, core, None),
                    Err(()) => return Err(given_back(core.last_error.clone())),
                }
            }
        }
        loop {
            let committed = self.commit();
            match (self.lock().is_durable(number), committed) {
                (Ok(true), _) => return Ok(()),
                (Err(()), outcome) => return Err(given_back(outcome.err())),
                (Ok(false), Err(error)) => return Err(Error::Store(error)),
                (Ok(false), Ok(_)) => {}
            }
        }
    }

    /// Makes at most `at_most` calls of user code. Returns `false` if nothing was runnable.
    pub(super) fn turns(&self, busy_since: Option<&AtomicU64>, at_most: usize) -> bool {
        let mut core = self.lock();
        let mut turned = false;
        let began = core.now.elapsed_ms;
        for _ in 0..at_most {
            let task = match core.poll() {
                Polled::Task(task) => task,
                Polled::Moved => {
                    turned = true;
                    continue;
                }
                Polled::Idle => break,
            };
            let more = core.queued() > 0;
            drop(core);
            turned = true;
            if more {
                self.work.notify_one();
            }
            if let Some(busy) = busy_since {
                busy.store(self.host.elapsed_ms().max(1), Ordering::Relaxed);
            }
            let settled = self.call(*task);
            if let Some(busy) = busy_since {
                busy.store(0, Ordering::Relaxed);
            }
            core = self.lock();
            core.settle(settled, &self.registry);
            // A step without writes need not wake the committer.
            if core.pending() > 0 {
                self.dirty.notify_one();
            }
            if core.now.elapsed_ms.saturating_sub(began) > LONG_TURN_MS {
                break;
            }
        }
        let (more, is_dirty) = (core.queued() > 0, core.pending() > 0);
        drop(core);
        if turned {
            if is_dirty {
                self.dirty.notify_one();
            }
            if more {
                self.work.notify_one();
            }
        }
        turned
    }

    /// Calls user code, and protects the executor from its panics.
    pub(super) fn call(&self, task: Task) -> Settled {
        let Task { id, call, mut body, parent, answers_to, abort, restarted, mut messages } = task;
        let ready =
            |event: &str| self.core.lock().unwrap_or_else(PoisonError::into_inner).is_ready(event);
        let mut context = Context {
            id,
            parent,
            answers_to,
            abort,
            restarted,
            messages: &mut messages,
            first: 0,
            effects: Effects::default(),
            host: &*self.host,
            reader: &*self.reader,
            next_id: &self.next_id,
            ready: &ready,
        };
        let called = catch_unwind(AssertUnwindSafe(|| {
            let outcome = match call {
                Call::Execute => Outcome::Executed(body.execute(&mut context)),
                Call::Undo => Outcome::Undone(body.rollback(&mut context)),
                Call::TimedOut => Outcome::TimedOut(body.timed_out(&mut context)),
                Call::Abort => Outcome::Aborted(body.abort(&mut context)),
            };
            let unsaved = matches!(
                outcome,
                Outcome::Executed(Ok(Step::Yield)) | Outcome::Undone(Err(UndoError::Retry(_)))
            );
            let data = if unsaved { Vec::new() } else { body.save() };
            (outcome, data)
        }));
        let taken = context.first;
        let mut effects = context.effects;
        let (outcome, data) = called.unwrap_or_else(|panic| {
            effects = Effects::default();
            let why = panic_text(&*panic);
            let outcome = match call {
                Call::Execute => Outcome::Executed(Err(Failure::new("bug", Failure::PANIC, why))),
                Call::Undo => Outcome::Undone(Err(UndoError::GiveUp(why))),
                Call::TimedOut => Outcome::TimedOut(TimedOut::Fail),
                Call::Abort => Outcome::Aborted(false),
            };
            let data = catch_unwind(AssertUnwindSafe(|| body.save())).unwrap_or_default();
            self.lock().metrics.panics += 1;
            (outcome, data)
        });
        Settled { id, body, outcome, effects, messages, taken, data }
    }

    pub(super) fn commit(&self) -> Result<bool, store::Error> {
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = self.lock().take_batch();
        if batch.is_empty() {
            return Ok(false);
        }
        let outcome = if batch.writes.is_empty() { Ok(()) } else { store.commit(&batch.writes) };
        let mut core = self.lock();
        match outcome {
            Ok(()) => {
                core.committed(batch);
                let news = !core.news.is_empty();
                core.news.clear();
                let queued = core.queued();
                drop(core);
                if news {
                    self.ended.notify_waiters();
                }
                if queued > 1 {
                    self.work.notify_all();
                } else if queued == 1 {
                    self.work.notify_one();
                }
                self.moved.notify_all();
                self.timer.notify_one();
                Ok(true)
            }
            Err(error) => {
                core.refused(batch);
                core.last_error = Some(error.clone());
                let now = core.now.elapsed_ms;
                let refuses_for = now - *core.refuses_since.get_or_insert(now);
                let waits = error.may_pass() && self.waits_for_room.load(Ordering::Acquire);
                let is_over = (refuses_for >= self.config.give_up_ms && !waits)
                    || error == store::Error::Gone;
                drop(core);
                if self.runs_by_itself() && is_over {
                    self.give_up(error.clone());
                }
                self.moved.notify_all();
                Err(error)
            }
        }
    }

    pub(super) fn give_up(&self, error: store::Error) {
        self.lock().given_up.get_or_insert(error);
        self.stopping.store(true, Ordering::Release);
        for signal in [&self.work, &self.dirty, &self.timer, &self.moved] {
            signal.notify_all();
        }
        self.ended.notify_waiters();
    }

    pub(super) fn clean(&self) -> usize {
        let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let (acknowledged, unacknowledged) =
            (ms(self.config.acknowledged_ms), ms(self.config.unacknowledged_ms));
        let cleaned = self.lock().clean(acknowledged, unacknowledged, 10_000);
        self.dirty.notify_one();
        cleaned
    }

    // --- Threads -------------------------------------------------------------------------------------------------------

    pub(super) fn thread(
        self: &Arc<Self>,
        runtime: &Handle,
        body: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) {
        self.threads.fetch_add(1, Ordering::AcqRel);
        let shared = self.clone();
        runtime.spawn_blocking(move || {
            // Also counted out if it panics; otherwise a thread that waits for the end would wait forever.
            let _out = CountOut(shared.clone());
            body(&shared);
        });
    }

    pub(super) fn add_worker(self: &Arc<Self>, runtime: &Handle, keep_alive: Option<Duration>) {
        let busy = Arc::new(AtomicU64::new(0));
        self.workers().push(busy.clone());
        self.thread(runtime, move |shared| {
            shared.works(&busy, keep_alive);
            shared.workers().retain(|other| !Arc::ptr_eq(other, &busy));
        });
    }

    fn works(&self, busy: &AtomicU64, keep_alive: Option<Duration>) {
        while !self.stopping() {
            // A store without a committer is committed to from here, many steps at a time.
            let turned = self.turns(Some(busy), if self.instant { 256 } else { 8 });
            let moved = self.instant && self.commit().unwrap_or(true);
            if turned || moved {
                if self.lock().pending() < self.config.most_pending {
                    continue;
                }
                // The store is slower than the steps: wait for it.
                let core = self.lock();
                if core.pending() >= self.config.most_pending {
                    drop(self.wait(&self.moved, core, Some(Duration::from_millis(100))));
                }
                continue;
            }
            let core = self.lock();
            if core.queued() == 0 && !self.stopping() {
                let (core, timed_out) = self.wait_for(&self.work, core, keep_alive);
                if timed_out && core.queued() == 0 && keep_alive.is_some() {
                    return;
                }
            }
        }
    }

    /// Commits repeatedly: while one commit is in progress, the next one is collected.
    pub(super) fn commits(&self) {
        let mut failures = 0_u32;
        loop {
            match self.commit() {
                Ok(true) => failures = 0,
                Ok(false) => {
                    failures = 0;
                    if self.stopping() && self.threads.load(Ordering::Acquire) <= 1 {
                        return;
                    }
                    let core = self.lock();
                    if core.pending() == 0 {
                        drop(self.wait(&self.dirty, core, Some(Duration::from_millis(200))));
                    }
                }
                Err(_) => {
                    if self.stopping() && (failures > 3 || self.lock().given_up.is_some()) {
                        return;
                    }
                    let factor = 1_u64 << failures.min(7);
                    failures += 1;
                    let pause = self.config.retry_ms.saturating_mul(factor.min(100));
                    std::thread::sleep(Duration::from_millis(pause));
                }
            }
        }
    }

    /// Ends waits in time, drops old results, and checks for stuck workers.
    pub(super) fn timers(self: &Arc<Self>, runtime: &Handle, wanted: usize) {
        let mut cleaned = self.host.elapsed_ms();
        let mut looked = cleaned;
        while !self.stopping() {
            let now = self.host.elapsed_ms();
            if now.saturating_sub(cleaned) >= self.config.clean_every_ms {
                cleaned = now;
                self.clean();
                if self.instant {
                    let _ = self.commit();
                }
            }
            if now.saturating_sub(looked) >= self.config.look_every_ms {
                looked = now;
                self.look_after_workers(runtime, wanted, now);
            }
            let mut core = self.lock();
            core.fire();
            let queued = core.queued() > 0;
            let next = core.next_due();
            if queued {
                // A worker that finds more than it takes wakes the next one.
                self.work.notify_one();
            }
            let housekeeping = self.config.clean_every_ms.min(self.config.look_every_ms).max(1);
            let pause = next.map_or(housekeeping, |due| {
                due.saturating_sub(core.now.elapsed_ms).min(housekeeping)
            });
            drop(self.wait(&self.timer, core, Some(Duration::from_millis(pause.max(1)))));
        }
    }

    fn look_after_workers(self: &Arc<Self>, runtime: &Handle, wanted: usize, now: u64) {
        if self.lock().queued() == 0 {
            return;
        }
        let (all, stuck) = {
            let workers = self.workers();
            let stuck = workers
                .iter()
                .map(|busy| busy.load(Ordering::Relaxed))
                .filter(|since| {
                    *since > 0 && now.saturating_sub(*since) >= self.config.stuck_after_ms
                })
                .count();
            (workers.len(), stuck)
        };
        if stuck == all && all < wanted.saturating_mul(self.config.most_workers_factor) {
            self.add_worker(runtime, Some(Duration::from_millis(self.config.keep_alive_ms)));
        }
    }

    pub(super) fn stop(&self) {
        if !self.started.load(Ordering::Acquire) {
            return;
        }
        let core = self.lock();
        self.stopping.store(true, Ordering::Release);
        drop(core);
        self.ended.notify_waiters();
        while self.threads.load(Ordering::Acquire) > 0 {
            for condvar in [&self.work, &self.dirty, &self.moved, &self.timer] {
                condvar.notify_all();
            }
            let core = self.lock();
            if self.threads.load(Ordering::Acquire) > 0 {
                drop(self.wait(&self.moved, core, Some(Duration::from_millis(10))));
            }
        }
    }
}

struct CountOut(Arc<Shared>);

impl Drop for CountOut {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::AcqRel);
        self.0.moved.notify_all();
    }
}

pub(super) fn now(host: &dyn Host) -> Now {
    Now { wall_ms: host.wall_ms(), elapsed_ms: host.elapsed_ms() }
}

pub(super) fn finished(ended: &Ended) -> Finished {
    Finished {
        state: ended.state,
        bypass: ended.bypass,
        failure: ended.failure.as_deref().cloned(),
        result: ended.result.as_deref().map(<[u8]>::to_vec),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked".to_owned())
}
