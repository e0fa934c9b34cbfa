//! Oozie's web services over HTTP.
//!
//! A [`Backend`] represents the store and the code that submits and commands jobs. On a socket, the server answers
//! unmodified clients as Oozie does, and serves the console. It opens no file itself and knows nothing of definitions.

#![expect(clippy::disallowed_methods, reason = "cookies expire, and requests are timed")]

mod answer;
pub mod backend;
mod beans;
mod dot;
mod layout;
mod limits;
mod listen;
mod pages;
mod request;
mod web;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ankus_access::{Asked, Keeper, Who};
use ankus_console::{Console, Pages};
use answer::Answer;
pub use answer::Fault;
use axum::Router;
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::http::Version;
use axum::http::header::{self, HeaderValue};
use axum::http::request::Parts;
use axum::response::Response;
use backend::Backend;
pub use layout::laid_out;
use limits::Limits;
use request::{Request, decoded, parameters};
use tokio::net::TcpListener;
use tokio::sync::watch;
pub use tokio_rustls::rustls::ServerConfig;

/// The configuration of a server.
pub struct Options {
    /// The implementation of jobs and store.
    pub backend: Arc<dyn Backend>,
    /// The data that only the console needs.
    pub pages: Box<dyn Pages>,
    /// Authenticates requests.
    pub keeper: Arc<Keeper>,
    /// The TLS configuration; without it, plain HTTP is served.
    pub tls: Option<Arc<ServerConfig>>,
    /// Receives one line per request.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
    /// Whether metrics for Prometheus are served, as by servers since 5.3.
    pub has_prometheus: bool,
}

/// The web services and the console on top of them.
pub(crate) struct Site {
    shared: Arc<Shared>,
    pub(crate) console: Arc<Console>,
    /// Becomes true when the server stops, which ends streams of events.
    pub(crate) stops: watch::Receiver<bool>,
    /// `http` or `https`.
    scheme: &'static str,
    limits: Limits,
}

/// State shared by all requests.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) keeper: Arc<Keeper>,
    log: Box<dyn Fn(&str) + Send + Sync>,
    pub(crate) has_prometheus: bool,
    mode: Mutex<&'static str>,
    /// Number of requests.
    requests: AtomicU64,
    pub(crate) figures: Figures,
}

/// Statistics since the server started.
pub(crate) struct Figures {
    /// Start time, in seconds since 1970.
    pub(crate) began: u64,
    /// Number of answers by the first digit of their status.
    pub(crate) answers: [AtomicU64; 6],
    /// Total duration, in microseconds.
    pub(crate) took_us: AtomicU64,
}

impl Figures {
    fn new() -> Figures {
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Figures { began, answers: Default::default(), took_us: AtomicU64::new(0) }
    }

    fn count(&self, status: u16, took: Duration) {
        if let Some(answers) = self.answers.get(usize::from(status / 100)) {
            answers.fetch_add(1, Ordering::Relaxed);
        }
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.took_us.fetch_add(took, Ordering::Relaxed);
    }
}

impl Shared {
    /// `NORMAL`, `NOWEBSERVICE` or `SAFEMODE`.
    pub(crate) fn mode(&self) -> &'static str {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_mode(&self, mode: &str) {
        let mode = ["NORMAL", "NOWEBSERVICE", "SAFEMODE"].into_iter().find(|known| *known == mode);
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode.unwrap_or("NORMAL");
    }

    /// Returns the milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// Handles a callback about an action.
    pub(crate) fn called_back(&self, id: &str, status: &str) {
        let shown: String =
            format!("{id} {status}").chars().filter(|c| !c.is_control()).take(300).collect();
        (self.log)(&format!("callback {shown}"));
    }
}

/// Serves the web services and the console until `stop` completes; requests in progress are finished.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) {
    let Options { backend, pages, keeper, tls, log, has_prometheus } = options;
    let mode = Mutex::new("NORMAL");
    let requests = AtomicU64::new(0);
    let figures = Figures::new();
    let shared = Shared { backend, keeper, log, has_prometheus, mode, requests, figures };
    let shared = Arc::new(shared);
    let console = Arc::new(Console::new(Box::new(pages::Within(shared.clone())), pages));
    let (end, stops) = watch::channel(false);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let site = Arc::new(Site { shared, console, stops, scheme, limits: Limits::new() });
    let stop = async move {
        stop.await;
        // If there are no event streams, there is no receiver.
        let _ = end.send(true);
    };
    let router = Router::new().fallback(handle).with_state(site);
    listen::serve(listener, router, tls, stop).await;
}

/// The reply to a request.
enum Reply {
    Answer(Answer),
    /// A stream of the events of jobs, until the client disconnects.
    Events(ankus_console::Request),
}

/// Handles a request: authenticates it, reads the body, then performs it.
async fn handle(
    State(site): State<Arc<Site>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    http: HttpRequest,
) -> Response {
    let began = Instant::now();
    let number = site.shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let line = format!("{} {}", http.method(), http.uri().path());
    let line: String = line.chars().filter(|c| !c.is_control()).take(500).collect();
    let (reply, own) = replied(&site, from, http).await;
    let (status, length, mut response) = match reply {
        Reply::Answer(answer) => (answer.status, answer.body.len(), answer.response()),
        Reply::Events(request) => match pages::events(&site, request).await {
            Ok(response) => (200, 0, response),
            Err(answer) => (answer.status, answer.body.len(), answer.response()),
        },
    };
    let took = began.elapsed();
    site.shared.figures.count(status, took);
    let took = took.as_millis();
    let log = &site.shared.log;
    log(&format!("request={number} {line} status={status} bytes={length} ms={took}"));
    let headers = response.headers_mut();
    headers.insert("x-request-id", HeaderValue::from(number));
    for (name, value) in own {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.append(name, value);
        }
    }
    response
}

/// Headers of an answer that authentication adds.
type Own = Vec<(header::HeaderName, String)>;

/// Returns the reply to a request, with the client's cookie and the proof that authenticates this server.
async fn replied(site: &Arc<Site>, from: SocketAddr, http: HttpRequest) -> (Reply, Own) {
    let status = |status| (Reply::Answer(Answer { status, ..Answer::done() }), Own::new());
    let (parts, body) = http.into_parts();
    let is_of_probe = matches!(parts.uri.path(), "/healthz" | "/readyz");
    if is_of_probe && !matches!(parts.method.as_str(), "GET" | "HEAD") {
        return (
            Reply::Answer(Answer { status: 405, ..Answer::done() }.with("allow", "GET, HEAD")),
            Own::new(),
        );
    }
    if !is_for_one_host(&parts) {
        return status(400);
    }
    let parts = Arc::new(parts);
    let (there, asks) = (site.clone(), parts.clone());
    let turn = match tries_password(&site.shared, &parts) {
        false => None,
        true => match site.limits.turn().await {
            None => {
                let busy = Answer { status: 503, ..Answer::done() };
                return (Reply::Answer(busy.with("retry-after", "1")), Own::new());
            }
            turn => turn,
        },
    };
    let who = tokio::task::spawn_blocking(move || known(&there.shared, &asks, from)).await;
    let mut who = match who {
        Ok(Ok(who)) => who,
        Ok(Err(answer)) => return (Reply::Answer(answer), Own::new()),
        // A panic is reported where it happens, and ends only one request.
        Err(_) => return status(500),
    };
    drop(turn);
    let cookie = who.cookie.take().map(|cookie| (header::SET_COOKIE, cookie));
    let proof = who.proof.take().map(|proof| (header::WWW_AUTHENTICATE, proof));
    let own: Own = cookie.into_iter().chain(proof).collect();
    let mut body = match site.limits.read(body, parts.uri.path() == "/oozie/upload").await {
        Ok(body) => body,
        Err(refused) => return status(refused),
    };
    let bytes = std::mem::take(&mut body.bytes);
    let there = site.clone();
    let done = tokio::task::spawn_blocking(move || {
        let request = Request { who, body: bytes, ..read(&parts, there.scheme) };
        routed(&there, &parts, request)
    });
    (done.await.unwrap_or_else(|_| status(500).0), own)
}

/// Whether a request names exactly one host: HTTP/1.1 requires one, and a different one in the request line would
/// bypass later checks of the header.
fn is_for_one_host(parts: &Parts) -> bool {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    let of_line = parts.uri.authority().map(|authority| authority.as_str());
    match host {
        Some(host) => {
            let named = host.to_str().ok();
            let is_same = |line: &str| named.is_some_and(|named| named.eq_ignore_ascii_case(line));
            another.is_none() && named.is_some() && of_line.is_none_or(is_same)
        }
        None => parts.version < Version::HTTP_11 && of_line.is_none(),
    }
}

/// Converts a request, without its body.
fn read(parts: &Parts, scheme: &str) -> Request {
    let text = |name: header::HeaderName| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let path = parts.uri.path();
    let segments = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
    let raw_query = parts.uri.query().unwrap_or_default().to_owned();
    let query = parameters(&raw_query);
    Request {
        method: parts.method.as_str().to_owned(),
        path: segments,
        query,
        raw_query,
        content_type: text(header::CONTENT_TYPE),
        base: base_of(parts, scheme),
        version: 2,
        ..Request::default()
    }
}

/// Returns the URL under which the client reaches the services, as reported by proxies. Only links in answers depend on
/// it.
fn base_of(parts: &Parts, scheme: &str) -> String {
    // The first value comes from the proxy next to the client.
    let said = |name| {
        let value = header_of(parts, name)?.split(',').next()?.trim().to_owned();
        let is_plain =
            |letter: char| letter.is_ascii_alphanumeric() || "-._~:/[]%".contains(letter);
        (!value.is_empty() && value.chars().all(is_plain)).then_some(value)
    };
    let forwarded = said("x-forwarded-proto").filter(|it| matches!(it.as_str(), "http" | "https"));
    let scheme = forwarded.as_deref().unwrap_or(scheme);
    let host = said("x-forwarded-host").filter(|host| !host.contains('/')).or_else(|| said("host"));
    let host = host.as_deref().unwrap_or("localhost");
    // Knox calls it the context.
    let prefix = said("x-forwarded-prefix").or_else(|| said("x-forwarded-context"));
    let prefix = prefix.filter(|prefix| prefix.starts_with('/')).unwrap_or_default();
    format!("{scheme}://{host}{}/oozie", prefix.trim_end_matches('/'))
}

/// Returns a header; several are joined by commas, cookies by semicolons.
fn header_of(parts: &Parts, name: &str) -> Option<String> {
    let all = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let all: Vec<&str> = all.collect();
    let between = if name == "cookie" { "; " } else { ", " };
    (!all.is_empty()).then(|| all.join(between))
}

/// Whether a password has to be verified to authenticate the request.
fn tries_password(shared: &Shared, parts: &Parts) -> bool {
    let header = header_of(parts, "authorization").filter(|_| !is_for_anyone(parts));
    header.is_some_and(|header| shared.keeper.tries_password(&header, shared.now()))
}

/// Whether a request needs no authentication: callbacks of programs, and health checks.
fn is_for_anyone(parts: &Parts) -> bool {
    matches!(parts.uri.path(), "/oozie/callback" | "/healthz" | "/readyz")
}

/// Authenticates a request, if required.
fn known(shared: &Shared, parts: &Parts, from: SocketAddr) -> Result<Who, Answer> {
    if is_for_anyone(parts) {
        return Ok(Who::default());
    }
    let query = parameters(parts.uri.query().unwrap_or_default());
    let parameter = |name: &str| {
        let found = query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    };
    let header = |name: &str| header_of(parts, name);
    let method = parts.method.as_str();
    let asked = Asked { method, header: &header, parameter: &parameter, from: from.ip() };
    shared.keeper.who(&asked, shared.now()).map_err(|refusal| {
        let has_body = matches!(method, "GET" | "POST" | "HEAD");
        let answer = Answer::fault(&Fault::from(&refusal), has_body);
        let challenges =
            refusal.challenges.into_iter().map(|one| ("www-authenticate", one.to_owned()));
        let cookie = refusal.cookie.into_iter().map(|cookie| ("set-cookie", cookie));
        challenges.chain(cookie).fold(answer, |answer, (name, value)| answer.with(name, value))
    })
}

/// Whether a browser requests a page, as opposed to a client that requests a web service.
fn is_for_a_page(parts: &Parts, request: &Request) -> bool {
    let accept = header_of(parts, "accept").unwrap_or_default();
    matches!(request.method.as_str(), "GET" | "HEAD")
        && accept.split([',', ';']).any(|kind| kind.trim() == "text/html")
        && !request.path.first().is_some_and(|first| web::ROOTS.contains(&first.as_str()))
}

/// Dispatches by the first segment of the path.
fn routed(site: &Site, parts: &Parts, mut request: Request) -> Reply {
    let shared = &*site.shared;
    // Relative links of the console need the slash; this redirect works below any base path of a proxy.
    if matches!(parts.uri.path(), "/" | "/oozie") && request.method == "GET" {
        let query = parts.uri.query().map_or(String::new(), |query| format!("?{query}"));
        let answer = Answer { status: 302, ..Answer::done() };
        return Reply::Answer(answer.with("location", format!("oozie/{query}")));
    }
    Reply::Answer(match request.path.first().map(String::as_str) {
        Some("oozie") => {
            request.path.remove(0);
            let asked = pages::asked(&request, &|name| header_of(parts, name));
            if request.method == "GET" && request.path == ["events"] {
                return Reply::Events(asked);
            }
            match ankus_console::answer(&site.console, &asked) {
                Some(answer) => pages::page(answer),
                None if is_for_a_page(parts, &request) => {
                    // The two slashes of `/oozie/` do not count.
                    let folders = parts.uri.path().matches('/').count().saturating_sub(2);
                    pages::page(ankus_console::missing(&site.console, &asked, folders))
                }
                None => web::answer(shared, &mut request),
            }
        }
        Some("healthz") => Answer::of(answer::TEXT, "ok\n"),
        Some("readyz") => {
            let refused = shared.backend.reader().err().map(|fault| fault.message);
            match refused.or_else(|| shared.backend.trouble()) {
                None => Answer::of(answer::TEXT, "ok\n"),
                Some(why) => Answer { status: 503, ..Answer::of(answer::TEXT, why + "\n") },
            }
        }
        _ => Answer {
            status: 404,
            ..Answer::of(answer::TEXT, "not found; the web services are below /oozie\n")
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{Parts, base_of};

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let request = axum::http::Request::builder();
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(()).expect("headers").into_parts().0
    }

    #[test]
    fn links_go_to_the_address_that_proxies_say() {
        let host = ("host", "etl:11000");
        for (headers, base) in [
            (&[][..], "http://localhost/oozie"),
            (&[host], "http://etl:11000/oozie"),
            (
                &[host, ("x-forwarded-proto", "https"), ("x-forwarded-prefix", "/etl/")],
                "https://etl:11000/etl/oozie",
            ),
            (
                &[
                    host,
                    ("x-forwarded-host", "knox:8443, inner"),
                    ("x-forwarded-context", "/gateway/one"),
                ],
                "http://knox:8443/gateway/one/oozie",
            ),
            (
                &[
                    host,
                    ("x-forwarded-proto", "javascript"),
                    ("x-forwarded-host", "a/b"),
                    ("x-forwarded-prefix", "x\"<"),
                ],
                "http://etl:11000/oozie",
            ),
        ] {
            assert_eq!(base_of(&parts(headers), "http"), base, "{headers:?}");
        }
    }
}
