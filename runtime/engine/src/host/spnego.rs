//! Kerberos at web services of a cluster (SPNEGO).
//!
//! A service that requires Kerberos refuses a request with `401` and `Negotiate`. Then `curl`, a program of the system,
//! identifies the user to it with a ticket, and gets the cookie that Hadoop's services issue. Requests have that cookie
//! until it is no longer accepted, usually for ten hours; then `curl` gets the next one. So the ticket may be renewed
//! while jobs run, and no Kerberos library is linked.
#![expect(clippy::disallowed_methods, reason = "tickets are those of the system")]

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ureq::Body;
use ureq::http::Response;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It was not answered.
    Request(ureq::Error),
    /// The service requires a ticket, and accepts none of ours.
    Ticket(String),
}

impl From<ureq::Error> for Fault {
    fn from(error: ureq::Error) -> Fault {
        Fault::Request(error)
    }
}

/// How long `curl` may take, in seconds.
const PATIENCE: &str = "15";
/// The name of the cookie.
const COOKIE: &str = "hadoop.auth";

/// The cookie of a service, if it has issued one.
type Cookie = Arc<Mutex<Option<String>>>;

/// Returns the cookie of a service in this process. Each has a lock of its own, so that a service that is slow to issue
/// its cookie holds up nobody but its own callers.
fn cookie_for(service: &str) -> Cookie {
    static COOKIES: OnceLock<Mutex<HashMap<String, Cookie>>> = OnceLock::new();
    let mut cookies = locked(COOKIES.get_or_init(Mutex::default));
    cookies.entry(service.to_owned()).or_default().clone()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a service has identified us by a ticket.
pub(crate) fn knows_us(service: &str) -> bool {
    locked(&cookie_for(service)).is_some()
}

/// Sends a request to a service (`http://host:port`), with the value of the header `Cookie` if it is one that requires
/// Kerberos. A request that was refused for lack of a ticket is repeated with one.
pub(crate) fn send(
    service: &str,
    request: impl Fn(Option<&str>) -> Result<Response<Body>, ureq::Error>,
) -> Result<Response<Body>, Fault> {
    let cookie = cookie_for(service);
    let known = locked(&cookie).clone();
    let answer = request(known.as_deref())?;
    if !asks_for_ticket(&answer) {
        return Ok(answer);
    }
    let fresh = {
        // While one thread gets a cookie, the others wait for it.
        let mut cookie = locked(&cookie);
        match cookie.as_ref().filter(|cookie| Some(*cookie) != known.as_ref()) {
            Some(cookie) => cookie.clone(),
            None => cookie.insert(identified(service).map_err(Fault::Ticket)?).clone(),
        }
    };
    let answer = request(Some(&fresh))?;
    match asks_for_ticket(&answer) {
        true => Err(Fault::Ticket(format!(
            "{service} requires Kerberos, and does not accept the cookie that it has just issued"
        ))),
        false => Ok(answer),
    }
}

fn asks_for_ticket(answer: &Response<Body>) -> bool {
    let ways = answer.headers().get_all("WWW-Authenticate").iter();
    let mut ways = ways.filter_map(|way| way.to_str().ok());
    answer.status() == 401 && ways.any(|way| way.trim_start().starts_with("Negotiate"))
}

/// Identifies the user to a service. Returns the cookie; or why there is none.
fn identified(service: &str) -> Result<String, String> {
    let url = format!("{service}/");
    // The first option leaves out `~/.curlrc`, which might print or send something else.
    let words =
        ["--disable", "--negotiate", "--user", ":", "--silent", "--show-error", "--noproxy", "*"];
    let curl = Command::new("curl")
        .args(words)
        // No service does anything at such a request.
        .args(["--request", "OPTIONS", "--max-time", PATIENCE])
        .args(["--output", "/dev/null", "--dump-header", "-", "--url", &url])
        .stdin(Stdio::null())
        .output();
    let output = curl.map_err(|error| {
        format!("{service} requires Kerberos, and `curl`, which gets a ticket for it, cannot be started: {error}")
    })?;
    let head = String::from_utf8_lossy(&output.stdout);
    if let Some(cookie) = cookie_of(&head) {
        return Ok(cookie);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().map(str::trim).filter(|said| !said.is_empty());
    let status = head.lines().rfind(|line| line.starts_with("HTTP/")).map(str::trim);
    let why = match (said, status) {
        (Some(said), _) => said.to_owned(),
        (None, Some(status)) if !status.contains(" 401") => format!("it answers {status}"),
        _ => "get a ticket with `kinit`; `klist` shows it".to_owned(),
    };
    Err(format!(
        "{service} requires Kerberos, and `curl --negotiate` could not identify you to it: {why}"
    ))
}

/// Returns the cookie in the heads of answers, of which the last one counts.
fn cookie_of(heads: &str) -> Option<String> {
    heads.lines().rev().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let cookie = value.split(';').next()?.trim();
        let (known, value) = cookie.split_once('=')?;
        let is_it = name.trim().eq_ignore_ascii_case("Set-Cookie") && known == COOKIE;
        (is_it && !value.trim_matches('"').is_empty()).then(|| cookie.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_cookie_of_hadoop_counts() {
        let heads = "HTTP/1.1 401 Authentication required\r\nSet-Cookie: hadoop.auth=; Path=/; HttpOnly\r\n\r\n\
            HTTP/1.1 200 OK\r\nset-cookie: other=1\r\nset-cookie: hadoop.auth=\"u=alice&t=kerberos&s=x=\"; Path=/\r\n\r\n";
        assert_eq!(cookie_of(heads).as_deref(), Some("hadoop.auth=\"u=alice&t=kerberos&s=x=\""));
        assert_eq!(cookie_of("HTTP/1.1 401 x\r\nSet-Cookie: hadoop.auth=; Path=/\r\n"), None);
    }

    #[test]
    #[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
    fn a_service_that_is_slow_to_identify_us_holds_up_no_other() {
        let answer = |status: u16| {
            let answer = Response::builder().status(status).header("WWW-Authenticate", "Negotiate");
            Ok(answer.body(Body::builder().data(Vec::new())).expect("an answer"))
        };
        if Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: there is no curl");
            return;
        }
        let slow = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let service = format!("http://{}", slow.local_addr().expect("an address"));
        let asking = std::thread::spawn(move || send(&service, |_| answer(401)));
        // `curl` has connected, and waits for an answer.
        let connection = slow.accept().expect("a connection");
        let other = send("http://other.example", |_| answer(200)).expect("an answer");
        assert_eq!(other.status(), 200);
        assert!(!asking.is_finished(), "it still waits");
        drop((connection, slow));
        let refused = asking.join().expect("it ends");
        assert!(matches!(refused, Err(Fault::Ticket(_))), "{refused:?}");
    }
}
