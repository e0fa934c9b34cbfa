//! Mounts the console below `/oozie/`.
//!
//! Requests of this server become requests of the console, and its pages and events become answers. The console calls
//! the web services as the same user.

use std::sync::Arc;

use ankus_access::Who;
use ankus_console::{Call, Fault, Services};
use ankus_procedure::store::Reader;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use axum::response::Response;

use crate::answer::{self, Answer};
use crate::request::Request;
use crate::{Shared, Site, web};

/// The web services, called from within the process.
pub(crate) struct Within(pub(crate) Arc<Shared>);

impl From<answer::Fault> for Fault {
    fn from(fault: answer::Fault) -> Fault {
        Fault::new(fault.status, fault.message)
    }
}

impl Services for Within {
    fn call(&self, call: &Call<'_>) -> Result<Vec<u8>, Fault> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut request = Request {
            method: call.method.to_owned(),
            path: call.path.iter().map(|part| (*part).to_owned()).collect(),
            query: call.query.iter().map(owned).collect(),
            content_type: call.body.as_ref().map(|_| "application/xml;charset=UTF-8".to_owned()),
            body: call.body.clone().unwrap_or_default().into_bytes(),
            who: Who { user: call.user.map(str::to_owned), ..Who::default() },
            ..Request::default()
        };
        Ok(web::served(&self.0, &mut request)?.body)
    }

    fn reader(&self) -> Result<Arc<dyn Reader>, Fault> {
        Ok(self.0.backend.reader()?)
    }

    fn mode(&self) -> &'static str {
        self.0.mode()
    }

    fn now(&self) -> i64 {
        self.0.now()
    }
}

/// Converts a request below `/oozie` to one of the console.
pub(crate) fn asked(
    request: &Request,
    header: &dyn Fn(&str) -> Option<String>,
) -> ankus_console::Request {
    ankus_console::Request {
        method: request.method.clone(),
        path: request.path.clone(),
        query: request.query.clone(),
        body: request.body.clone(),
        user: request.who.user.clone(),
        site: header("sec-fetch-site"),
        token: header("x-ankus-token"),
    }
}

/// Converts a page of the console to an answer.
pub(crate) fn page(answer: ankus_console::Answer) -> Answer {
    let ankus_console::Answer { status, headers, body } = answer;
    Answer { status, reason: None, headers, body }
}

/// Streams the events of jobs, until the client disconnects or the server stops.
pub(crate) async fn events(
    site: &Site,
    request: ankus_console::Request,
) -> Result<Response, Answer> {
    let follow = ankus_console::follow(site.console.clone(), request, site.stops.clone()).await;
    let stream = follow.map_err(|fault| Answer {
        status: fault.status,
        ..Answer::of(answer::TEXT, fault.message + "\n")
    })?;
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that buffers answers would delay the events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}
