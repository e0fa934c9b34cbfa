//! Sends notifications of workflows and actions over HTTP: a GET of the URL, and up to three more a minute apart, as
//! the server does (`reference/engine.md`, 14.1). Unlike the server's, they survive the process: one that was not
//! delivered is sent by the process that continues the job.
//!
//! Separate threads send them, so that an endpoint that hangs delays no job.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::Shared;
use super::keep::{encode, prefix, spaces};
use super::needs::Equipped;
use ankus_procedure::{Context, Executor, Failure, Procedure, ProcedureId, Step, Wait};

/// The procedure kind of a notification.
pub(super) const KIND: &str = "notification";

/// How many attempts are made after the first.
const MORE_ATTEMPTS: u32 = 3;
const BETWEEN_MS: u64 = 60_000;
/// How many notifications are sent at a time.
const THREADS: usize = 4;
/// How many redirects are followed.
const REDIRECTS: usize = 5;
const TIMEOUT_PROPERTY: &str = "oozie.notification.url.connection.timeout";
const TIMEOUT_MS: u64 = 10_000;

/// A notification and its result so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notified {
    /// The URL that is called.
    pub url: String,
    /// Milliseconds since 1970 of the last attempt.
    pub at: i64,
    /// How many attempts were made.
    pub attempts: u32,
    /// Why the last attempt failed; none if it succeeded.
    pub fault: Option<String>,
}

/// The procedure of a notification.
pub(super) struct Notification {
    shared: Arc<Shared>,
    saved: Saved,
    /// Whether a thread of this process is sending it.
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

    /// Returns the URL of the proxy: the job's, or else the one in the server's property.
    fn proxy(&self, equipped: &Equipped) -> Option<String> {
        let server = || equipped.server("oozie.notification.proxy").map(str::to_owned);
        self.saved.proxy.clone().or_else(server).as_deref().and_then(proxy_url)
    }
}

impl Procedure for Notification {
    fn execute(&mut self, context: &mut Context<'_>) -> Result<Step, Failure> {
        let shared = self.shared.clone();
        if !shared.may_tell(&self.saved.root, &self.saved.job, context.id()) {
            return Ok(Step::Suspend(Wait::new()));
        }
        let equipped = shared.equipped_of(&self.saved.job);
        let equipped =
            equipped.map_err(|error| Failure::new("notification", "store", error.to_string()))?;
        let timeout = equipped.server(TIMEOUT_PROPERTY);
        let timeout = timeout.and_then(|set| set.parse().ok()).unwrap_or(TIMEOUT_MS);
        let Some(outcome) = shared.notifier.outcome(context.id()) else {
            if !self.asked {
                self.asked = true;
                let ask = Ask {
                    procedure: context.id(),
                    url: self.saved.url.clone(),
                    proxy: self.proxy(&equipped),
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
        let is_over = outcome.is_ok() || *attempts > MORE_ATTEMPTS || !is_web(url);
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

/// Converts `host:port`, `http@host:port` or `socks@host:port` to a URL. Returns none if there is no port number.
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

/// The threads that send notifications, and their queue.
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
    /// How many notifications have never been tried.
    untried: usize,
}

impl Notifier {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outcome(&self, procedure: ProcedureId) -> Option<Result<(), String>> {
        self.state().outcomes.remove(&procedure)
    }

    /// Counts one more notification that is due.
    pub(super) fn expect(&self) {
        self.state().untried += 1;
    }

    fn tried(&self) {
        let mut state = self.state();
        // A notification that another process left behind was not counted.
        state.untried = state.untried.saturating_sub(1);
        self.changed.notify_all();
    }

    /// Waits, at most for `at_most`, until every notification has been tried once.
    pub(super) fn settle(&self, at_most: Duration) {
        let untried = |state: &mut State| state.untried > 0;
        // If the time is up, the wait simply ends.
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
    let count = notifier.clone();
    let notifier = notifier.clone();
    let spawned = thread::Builder::new().spawn(move || {
        loop {
            let mut state = notifier.state();
            let Some(ask) = state.waiting.pop_front() else {
                state.threads -= 1;
                return;
            };
            drop(state);
            let outcome = get(&ask.url, ask.proxy.as_deref(), ask.timeout);
            notifier.state().outcomes.insert(ask.procedure, outcome);
            ask.executor.wake(ask.procedure);
        }
    });
    let Err(error) = spawned else { return };
    let mut state = count.state();
    state.threads -= 1;
    if state.threads > 0 {
        // The existing threads will send it.
        return;
    }
    let asks: Vec<Ask> = state.waiting.drain(..).collect();
    for ask in &asks {
        let why = format!("no thread could be started to send it: {error}");
        state.outcomes.insert(ask.procedure, Err(why));
    }
    drop(state);
    for ask in asks {
        ask.executor.wake(ask.procedure);
    }
}

/// Whether a URL is one of the web: a server fails at any other, and does not try it again either.
fn is_web(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.trim().to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

fn get(given: &str, proxy: Option<&str>, timeout: Duration) -> Result<(), String> {
    if !is_web(given) {
        return Err(
            "its URL does not begin with http:// or https://, so nothing is sent".to_owned()
        );
    }
    let proxy = proxy.map(ureq::Proxy::new).transpose();
    let proxy = proxy.map_err(|error| error.to_string())?;
    let mut url = given.to_owned();
    for _ in 0..=REDIRECTS {
        let is_given = origin(&url) == origin(given);
        if !is_given && proxy.is_some() && names_machine(&url) {
            return Err(elsewhere(&url));
        }
        let config = ureq::Agent::config_builder()
            .timeout_connect(Some(timeout))
            .timeout_global(Some(timeout.saturating_mul(2)))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy.clone())
            .build();
        // A proxy may be in this network, and decides itself where the request goes.
        let any = is_given || proxy.is_some();
        let resolver = Public { any, inner: DefaultResolver::default() };
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
        // Nothing beyond the response head is read, and ureq limits that.
        let answer = agent.get(&url).call().map_err(|error| error.to_string())?;
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
        url = match (answer.status().as_u16(), location) {
            (200, _) => return Ok(()),
            (301 | 302 | 303 | 307 | 308, Some(location)) => redirected(&url, location)?,
            (other, _) => return Err(format!("the listener answered {other}")),
        };
    }
    Err(format!("the listener redirected more than {REDIRECTS} times"))
}

/// Returns scheme, host and port of a URL as written.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    &url[..url[host..].find(['/', '?', '#']).map_or(url.len(), |end| host + end)]
}

/// Returns the target URL of a redirect.
fn redirected(url: &str, location: &str) -> Result<String, String> {
    let scheme = url.split("://").next().unwrap_or_default();
    let next = match location {
        // After a query, nothing is part of the path.
        _ if location.split(['/', '?', '#']).next().is_some_and(|first| first.contains(':')) => {
            location.to_owned()
        }
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{}{location}", origin(url)),
        _ => {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            let folder = path.rfind('/').filter(|at| *at > origin(url).len().saturating_sub(1));
            let folder = folder.map_or(origin(url), |at| &path[..at]);
            format!("{folder}/{location}")
        }
    };
    let lower = next.to_ascii_lowercase();
    let is_web =
        lower.starts_with("https://") || (lower.starts_with("http://") && scheme == "http");
    if !is_web {
        return Err(
            "the listener redirected to something that is not a web page, or is less secure"
                .to_owned(),
        );
    }
    Ok(next)
}

fn elsewhere(what: impl std::fmt::Display) -> String {
    format!(
        "the listener redirected to {what}, which is on this machine or in a private network; such redirects are refused"
    )
}

/// Whether a URL names this machine or a private address, decided without a resolver.
fn names_machine(url: &str) -> bool {
    let authority = origin(url).split("://").nth(1).unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, _)) => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    match host.parse() {
        Ok(address) => !is_public(address),
        Err(_) => {
            !host.contains('.')
                || [".localhost", ".local", ".internal"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// Resolves hosts, and refuses addresses outside the public internet: the target of a redirect is chosen by the
/// endpoint, and must not open a way into our own network.
#[derive(Debug)]
struct Public {
    /// Whether any address is allowed, since the user chose it.
    any: bool,
    inner: DefaultResolver,
}

impl Resolver for Public {
    fn resolve(
        &self,
        uri: &ureq::http::Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        match found.iter().find(|address| !is_public(address.ip())) {
            Some(address) if !self.any => {
                let why = elsewhere(address.ip());
                Err(ureq::Error::Io(std::io::Error::new(std::io::ErrorKind::PermissionDenied, why)))
            }
            _ => Ok(found),
        }
    }
}

/// Whether an address is on the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            let is_special = address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_broadcast()
                || address.is_multicast()
                || matches!(
                    (a, b, c),
                    (0, ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18..=19, _) | (240.., ..)
                );
            !is_special
        }
        IpAddr::V6(address) => {
            let parts = address.segments();
            // IPv4 addresses in their several embedded forms.
            let within = match parts {
                [0, 0, 0, 0, 0, 0xffff | 0, high, low]
                | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
                | [0x2002, high, low, ..] => {
                    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
                }
                _ => None,
            };
            let is_special = address.is_loopback()
                || address.is_unspecified()
                || address.is_multicast()
                || parts[0] & 0xfe00 == 0xfc00
                || parts[0] & 0xffc0 == 0xfe80;
            !is_special && within.is_none_or(|within| is_public(within.into()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Starts an HTTP endpoint that answers each request with the next of these, and then repeats the last. Returns its
    /// URL and the counter of requests.
    fn listener(answers: &[&str]) -> (String, Arc<AtomicUsize>) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let here = format!("127.0.0.1:{}", socket.local_addr().expect("an address").port());
        let answers: Vec<String> =
            answers.iter().map(|answer| answer.replace("HERE", &here)).collect();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        thread::spawn(move || {
            for stream in socket.incoming() {
                let Ok(mut stream) = stream else { continue };
                let number = count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.read(&mut [0; 4096]);
                let answer = &answers[number.min(answers.len() - 1)];
                let _ = write!(
                    stream,
                    "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
            }
        });
        (here, asked)
    }

    fn ask(url: &str) -> Result<(), String> {
        super::get(url, None, Duration::from_secs(5))
    }

    #[test]
    fn a_listener_of_this_machine_is_reached_but_not_over_a_redirect() {
        let (own, asked) = listener(&[
            "302 Found\r\nLocation: /there",
            "301 Moved\r\nLocation: http://HERE/now",
            "200 OK",
        ]);
        assert_eq!(ask(&format!("http://{own}/a?b=c")), Ok(()), "it sends us on to itself");
        assert_eq!(asked.load(Ordering::SeqCst), 3);

        let (secret, asked) = listener(&["200 OK"]);
        let port = secret.rsplit(':').next().expect("a port").to_owned();
        for target in [
            format!("http://{secret}/admin"),
            format!("http://localhost:{port}/admin"),
            format!("http://[::ffff:127.0.0.1]:{port}/admin"),
            format!("//{secret}/admin"),
        ] {
            let (own, _) = listener(&[&format!("302 Found\r\nLocation: {target}")]);
            let why = ask(&format!("http://{own}/")).expect_err(&target);
            assert!(
                why.contains("redirects are refused") || why.contains("onnect"),
                "{target}: {why}"
            );
        }
        assert_eq!(asked.load(Ordering::SeqCst), 0, "nobody came");

        let (own, asked) = listener(&["302 Found\r\nLocation: /again"]);
        assert!(ask(&format!("http://{own}/")).expect_err("for ever").contains("more than 5"));
        assert_eq!(asked.load(Ordering::SeqCst), REDIRECTS + 1);
        let (own, _) = listener(&["302 Found\r\nLocation: file:///etc/passwd"]);
        assert!(ask(&format!("http://{own}/")).is_err());
    }

    #[test]
    fn addresses_of_private_networks_are_known_in_all_their_forms() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "::127.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_public(address.parse().expect(address)), "{address}");
        }
        for address in ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8"] {
            assert!(is_public(address.parse().expect(address)), "{address}");
        }
        for url in [
            "http://localhost/x",
            "http://u:p@[::1]:80/",
            "http://db.internal",
            "http://metadata/x",
            "http://10.0.0.1:1",
        ] {
            assert!(names_machine(url), "{url}");
        }
        assert!(!names_machine("http://example.org:8080/x"));
    }

    #[test]
    fn what_a_redirect_means_depends_on_where_it_is() {
        for (url, location, expected) in [
            ("http://a/b/c?d=/e", "f", "http://a/b/f"),
            ("http://a", "f", "http://a/f"),
            ("http://a/b", "/f?g=h:i", "http://a/f?g=h:i"),
            ("http://a:1/b", "//c/d", "http://c/d"),
            ("http://a/b", "https://c", "https://c"),
        ] {
            assert_eq!(redirected(url, location).as_deref(), Ok(expected));
        }
        for (url, location) in [
            ("https://a", "http://a"),
            ("http://a", "ftp://b"),
            ("http://a", "file:///x"),
            ("http://a", "javascript:x"),
        ] {
            assert!(redirected(url, location).is_err(), "{location}");
        }
    }

    #[test]
    fn proxies_are_written_in_three_ways() {
        assert_eq!(proxy_url("p:3128").as_deref(), Some("http://p:3128"));
        assert_eq!(proxy_url("http@p:3128").as_deref(), Some("http://p:3128"));
        assert_eq!(proxy_url("socks@p:1080").as_deref(), Some("socks5://p:1080"));
        assert_eq!(proxy_url("p:http"), None);
        assert_eq!(proxy_url("p"), None);
    }
}
