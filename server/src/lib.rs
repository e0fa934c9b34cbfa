//! Oozie's web services over HTTP.
//!
//! In: a [`Backend`], which stands for a store and for what submits and commands jobs, and a socket. Out: the answers of a
//! server, to unmodified clients. It opens no file itself and knows nothing of definitions.

#![expect(clippy::disallowed_methods, reason = "cookies expire, and requests are timed")]

mod answer;
pub mod backend;
mod beans;
mod request;
mod web;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ankus_access::{Asked, Keeper, Who};
use answer::Answer;
pub use answer::Fault;
use axum::Router;
use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::Response;
use backend::Backend;
use request::{Request, decoded, parameters};
use tokio::net::TcpListener;

/// The largest body that is read, in bytes.
const LARGEST_BODY: usize = 10 << 20;

/// How a server is run.
pub struct Options {
    /// What stands behind it.
    pub backend: Arc<dyn Backend>,
    /// Who knows who asks.
    pub keeper: Keeper,
    /// Is told of every request, as one line.
    pub log: Box<dyn Fn(&str) + Send + Sync>,
    /// Whether metrics are served for Prometheus, as servers since 5.3 do.
    pub has_prometheus: bool,
}

/// What all requests share.
pub(crate) struct Shared {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) keeper: Keeper,
    log: Box<dyn Fn(&str) + Send + Sync>,
    pub(crate) has_prometheus: bool,
    mode: Mutex<&'static str>,
    /// How many requests there were.
    requests: AtomicU64,
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

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// Somebody says that an action has ended.
    pub(crate) fn called_back(&self, id: &str, status: &str) {
        let shown: String =
            format!("{id} {status}").chars().filter(|c| !c.is_control()).take(300).collect();
        (self.log)(&format!("callback {shown}"));
    }
}

/// Serves the web services until `stop` ends; requests that are being answered are answered to their end.
///
/// # Errors
/// Where the socket fails.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let Options { backend, keeper, log, has_prometheus } = options;
    let mode = Mutex::new("NORMAL");
    let shared = Shared { backend, keeper, log, has_prometheus, mode, requests: AtomicU64::new(0) };
    let router = Router::new().fallback(handle).with_state(Arc::new(shared));
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, router).with_graceful_shutdown(stop).await
}

/// Answers a request on a thread that may block.
async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(from): ConnectInfo<SocketAddr>,
    http: HttpRequest,
) -> Response {
    let began = Instant::now();
    let number = shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
    let line = format!("{} {}", http.method(), http.uri().path());
    let (parts, body) = http.into_parts();
    let answer = match to_bytes(body, LARGEST_BODY).await {
        Ok(body) => {
            let request = read(&parts, body.to_vec());
            let shared = shared.clone();
            let answered =
                tokio::task::spawn_blocking(move || known(&shared, &parts, from, request)).await;
            // A panic is told where it happens, and is the end of one request only.
            answered.unwrap_or_else(|_| Answer { status: 500, ..Answer::done() })
        }
        Err(_) => Answer { status: 413, ..Answer::done() },
    };
    let (status, length) = (answer.status, answer.body.len());
    let took = began.elapsed().as_millis();
    let line: String = line.chars().filter(|c| !c.is_control()).take(500).collect();
    (shared.log)(&format!("request={number} {line} status={status} bytes={length} ms={took}"));
    answer.with("x-request-id", number.to_string()).response()
}

/// What a request says.
fn read(parts: &Parts, body: Vec<u8>) -> Request {
    let text = |name: header::HeaderName| {
        parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    };
    let path = parts.uri.path();
    let segments = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
    let raw_query = parts.uri.query().unwrap_or_default().to_owned();
    let query = parameters(&raw_query);
    let host = text(header::HOST).unwrap_or_else(|| "localhost".to_owned());
    Request {
        method: parts.method.as_str().to_owned(),
        path: segments,
        query,
        raw_query,
        content_type: text(header::CONTENT_TYPE),
        body,
        who: Who::default(),
        version: 2,
        base: format!("http://{host}/oozie"),
    }
}

/// Answers once it is known who asks; programs that tell of their end need not say so.
fn known(shared: &Shared, parts: &Parts, from: SocketAddr, mut request: Request) -> Answer {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    if matches!(path.as_slice(), ["oozie", "callback"] | ["healthz" | "readyz"]) {
        return routed(shared, request);
    }
    let header = |name: &str| {
        let all = parts.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let all: Vec<&str> = all.collect();
        let between = if name == "cookie" { "; " } else { ", " };
        (!all.is_empty()).then(|| all.join(between))
    };
    let parameter = |name: &str| request.parameter(name).map(str::to_owned);
    let asked = Asked {
        method: parts.method.as_str(),
        header: &header,
        parameter: &parameter,
        from: from.ip(),
    };
    let has_body = matches!(parts.method.as_str(), "GET" | "POST" | "HEAD");
    let who = match shared.keeper.who(&asked, shared.now()) {
        Ok(who) => who,
        Err(refusal) => {
            let answer = Answer::fault(&Fault::from(&refusal), has_body);
            let challenges = refusal.challenges.into_iter();
            return challenges.fold(answer, |answer, one| answer.with("www-authenticate", one));
        }
    };
    let cookie = who.cookie.clone();
    request.who = who;
    let answer = routed(shared, request);
    match cookie {
        Some(cookie) => answer.with("set-cookie", cookie),
        None => answer,
    }
}

/// Answers by the first part of the path.
fn routed(shared: &Shared, mut request: Request) -> Answer {
    match request.path.first().map(String::as_str) {
        Some("oozie") => {
            request.path.remove(0);
            web::answer(shared, &mut request)
        }
        Some("healthz") => Answer::of(answer::TEXT, "ok\n"),
        Some("readyz") => match shared.backend.reader() {
            Ok(_) => Answer::of(answer::TEXT, "ok\n"),
            Err(fault) => Answer { status: 503, ..Answer::of(answer::TEXT, fault.message + "\n") },
        },
        _ => Answer {
            status: 404,
            ..Answer::of(answer::TEXT, "not found; the web services are below /oozie\n")
        },
    }
}
