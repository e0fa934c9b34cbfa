//! Notifications of workflows and actions over HTTP: a GET of the URL, up to three more after a minute each, as the server
//! does it (`reference/engine.md`, 14.1). Ours outlive the process: one that was not delivered is sent by whoever goes on
//! with the job.
//!
//! Threads of their own do the talking, so that a listener that hangs holds up no job.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Shared;
use super::keep::{encode, prefix, spaces};
use crate::procedure::{Context, Executor, Failure, Procedure, ProcedureId, Step, Wait};

/// The kind of this procedure.
pub(super) const KIND: &str = "notification";

/// After the first attempt so many more are made.
const MORE_ATTEMPTS: u32 = 3;
const BETWEEN_MS: u64 = 60_000;
/// So many listeners are talked to at a time.
const THREADS: usize = 4;
const TIMEOUT_PROPERTY: &str = "oozie.notification.url.connection.timeout";
const TIMEOUT_MS: u64 = 10_000;

/// A notification, and what came of it so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notified {
    /// Where it goes.
    pub url: String,
    /// Milliseconds since 1970 of the last attempt.
    pub at: i64,
    /// How many attempts were made.
    pub attempts: u32,
    /// Why the last attempt did not reach anybody; nothing where it did.
    pub fault: Option<String>,
}

/// One notification.
pub(super) struct Notification {
    shared: Arc<Shared>,
    saved: Saved,
    /// Whether a thread of this process is at it.
    asked: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    job: String,
    root: String,
    url: String,
    proxy: Option<String>,
    attempts: u32,
}

impl Notification {
    pub(super) fn new(
        shared: Arc<Shared>,
        job: &str,
        root: &str,
        url: String,
        proxy: Option<String>,
    ) -> Notification {
        let (job, root) = (job.to_owned(), root.to_owned());
        Notification { shared, saved: Saved { job, root, url, proxy, attempts: 0 }, asked: false }
    }

    pub(super) fn read(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Notification, String> {
        let saved = postcard::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(Notification { shared: shared.clone(), saved, asked: false })
    }

    /// Where its listener is reached: the server's property counts where the job has none.
    fn proxy(&self) -> Option<String> {
        let server = || self.shared.surroundings.server.get("oozie.notification.proxy").cloned();
        self.saved.proxy.clone().or_else(server).as_deref().and_then(proxy_url)
    }
}

impl Procedure for Notification {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        if !shared.is_active(&self.saved.root, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let timeout = shared.surroundings.server.get(TIMEOUT_PROPERTY);
        let timeout = timeout.and_then(|set| set.parse().ok()).unwrap_or(TIMEOUT_MS);
        let Some(outcome) = shared.notifier.outcome(context.id()) else {
            if !self.asked {
                self.asked = true;
                let ask = Ask {
                    procedure: context.id(),
                    url: self.saved.url.clone(),
                    proxy: self.proxy(),
                    timeout: Duration::from_millis(timeout),
                    executor: shared.executor().clone(),
                };
                ask_for(&shared.notifier, ask);
            }
            return Ok(Step::Suspend(Wait::new().or_pause(timeout.saturating_mul(3))));
        };
        self.asked = false;
        self.saved.attempts += 1;
        if self.saved.attempts == 1 {
            shared.notifier.tried();
        }
        let Saved { job, url, attempts, .. } = &self.saved;
        let is_over = outcome.is_ok() || *attempts > MORE_ATTEMPTS;
        let row = Notified {
            url: url.clone(),
            at: shared.host.wall_ms(),
            attempts: *attempts,
            fault: outcome.err(),
        };
        let mut key = prefix(job);
        key.extend(context.id().0.to_be_bytes());
        context.put(spaces::NOTIFICATION, key, encode(&row));
        Ok(if is_over { Step::Done } else { Step::Suspend(Wait::pause(BETWEEN_MS)) })
    }

    fn save(&self) -> Vec<u8> {
        encode(&self.saved)
    }

    fn undoable(&self) -> bool {
        false
    }
}

/// `host:port`, `http@host:port` or `socks@host:port` as a URL; none where there is no number of a port.
fn proxy_url(proxy: &str) -> Option<String> {
    let (scheme, place) = match proxy.trim().split_once('@') {
        Some((kind, place)) if kind.eq_ignore_ascii_case("socks") => ("socks5", place),
        Some((_, place)) => ("http", place),
        None => ("http", proxy.trim()),
    };
    let (_, port) = place.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    Some(format!("{scheme}://{place}"))
}

struct Ask {
    procedure: ProcedureId,
    url: String,
    proxy: Option<String>,
    timeout: Duration,
    executor: Executor,
}

/// Those who talk to listeners.
#[derive(Default)]
pub(super) struct Notifier {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Ask>,
    threads: usize,
    outcomes: HashMap<ProcedureId, Result<(), String>>,
    /// Those that were never tried.
    untried: usize,
}

impl Notifier {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(&self, procedure: ProcedureId) -> Option<Result<(), String>> {
        self.state().outcomes.remove(&procedure)
    }

    /// One more is due.
    pub(super) fn expect(&self) {
        self.state().untried += 1;
    }

    fn tried(&self) {
        let mut state = self.state();
        // One that another process left to us was not expected.
        state.untried = state.untried.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Waits until every notification has been attempted, at most so long.
    pub(super) fn settle(&self, at_most: Duration) {
        let untried = |state: &mut State| state.untried > 0;
        // Who waits for the longest time has waited long enough.
        drop(self.changed.wait_timeout_while(self.state(), at_most, untried));
    }
}

fn ask_for(notifier: &Arc<Notifier>, ask: Ask) {
    let mut state = notifier.state();
    state.waiting.push_back(ask);
    if state.threads == THREADS {
        return;
    }
    state.threads += 1;
    let notifier = notifier.clone();
    thread::spawn(move || {
        loop {
            let mut state = notifier.state();
            let Some(ask) = state.waiting.pop_front() else {
                state.threads -= 1;
                return;
            };
            drop(state);
            let outcome = get(&ask);
            notifier.state().outcomes.insert(ask.procedure, outcome);
            ask.executor.wake(ask.procedure);
        }
    });
}

fn get(ask: &Ask) -> Result<(), String> {
    let proxy = ask.proxy.as_deref().map(ureq::Proxy::new).transpose();
    let proxy = proxy.map_err(|error| error.to_string())?;
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(ask.timeout))
        .timeout_global(Some(ask.timeout.saturating_mul(2)))
        .http_status_as_error(false)
        .proxy(proxy)
        .build();
    let answer = ureq::Agent::new_with_config(config).get(&ask.url).call();
    match answer.map_err(|error| error.to_string())?.status().as_u16() {
        200 => Ok(()),
        other => Err(format!("the listener answered {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::proxy_url;

    #[test]
    fn proxies_are_written_in_three_ways() {
        assert_eq!(proxy_url("p:3128").as_deref(), Some("http://p:3128"));
        assert_eq!(proxy_url("http@p:3128").as_deref(), Some("http://p:3128"));
        assert_eq!(proxy_url("socks@p:1080").as_deref(), Some("socks5://p:1080"));
        assert_eq!(proxy_url("p:http"), None);
        assert_eq!(proxy_url("p"), None);
    }
}
