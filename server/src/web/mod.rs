//! The web services, one file per resource. (`reference` of the web API)

mod admin;
mod alerts;
mod callback;
mod change;
mod command;
mod filter;
mod job;
mod jobs;
mod prometheus;
mod sla;
mod validate;

use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::request::Request;
use serde_json::json;

/// First path segments of the web services below `/oozie`.
pub(crate) const ROOTS: [&str; 5] = ["v0", "v1", "v2", "versions", "callback"];

/// Answers a request below `/oozie`.
pub(crate) fn answer(shared: &Shared, request: &mut Request) -> Answer {
    match request.method.as_str() {
        // Clients use it to authenticate, at any address.
        "OPTIONS" => return Answer::done().with("allow", "TRACE, OPTIONS"),
        "TRACE" => return Answer { status: 403, ..Answer::done() },
        _ => {}
    }
    let has_body = matches!(request.method.as_str(), "GET" | "POST" | "HEAD");
    match served(shared, request) {
        Ok(answer) => answer,
        Err(fault) => Answer::fault(&named(shared, fault), has_body),
    }
}

/// Adds the store's folder to an error of the disk.
fn named(shared: &Shared, fault: Fault) -> Fault {
    if fault.status != 503 || fault.code.is_some() {
        return fault;
    }
    match shared.backend.trouble() {
        Some(why) => {
            Fault { message: format!("{why}: nothing was changed; try again later"), ..fault }
        }
        None => fault,
    }
}

/// Answers a request, or returns the error.
pub(crate) fn served(shared: &Shared, request: &mut Request) -> Result<Answer, Fault> {
    let path = request.path.clone();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let (version, rest) = match path.as_slice() {
        ["v0", rest @ ..] => (0, rest),
        ["v1", rest @ ..] => (1, rest),
        ["v2", rest @ ..] => (2, rest),
        ["versions"] => return versions(request),
        ["callback"] => return callback::answer(shared, request),
        _ => return Err(Fault { status: 404, code: None, message: "Not Found".to_owned() }),
    };
    request.version = version;
    let changes = !matches!(request.method.as_str(), "GET" | "HEAD");
    if changes && shared.mode() != "NORMAL" && rest.first() != Some(&"admin") {
        return Err(Fault::plain("E0002", "System is in safe mode").status(503));
    }
    match rest {
        ["jobs"] => jobs::answer(shared, request),
        ["job", id @ ..] => match id {
            [] => Err(Fault::plain("E1603", "id cannot be empty")),
            [id] => job::answer(shared, request, id),
            more => Err(Fault::resource(&more.join("/"))),
        },
        ["admin", resource @ ..] => admin::answer(shared, request, &resource.join("/")),
        ["sla"] if version > 0 => sla::answer(shared, request),
        ["validate"] if version == 2 => validate::answer(shared, request),
        _ => Err(Fault { status: 404, code: None, message: "Not Found".to_owned() }),
    }
}

fn versions(request: &Request) -> Result<Answer, Fault> {
    match request.method.as_str() {
        "GET" => Ok(Answer::json(&json!([0, 1, 2]))),
        _ => Err(Fault::resource("")),
    }
}
