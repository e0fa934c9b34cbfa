//! Answers to clients, and errors with Oozie's codes. (`reference` of the web API, 1 and 3)

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde_json::{Value, json};

/// An error, as reported to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The HTTP status.
    pub status: u16,
    /// Oozie's code; none if the error is the server's own.
    pub code: Option<String>,
    /// The text, which for most codes begins with the code.
    pub message: String,
}

impl Fault {
    /// Creates a refusal with a code and Oozie's text for it: `E0604`, `Job does not exist [x]`.
    pub fn new(code: &str, text: impl AsRef<str>) -> Fault {
        Fault {
            status: 400,
            code: Some(code.to_owned()),
            message: format!("{code}: {}", text.as_ref()),
        }
    }

    /// Creates a refusal whose text does not repeat the code.
    pub fn plain(code: &str, text: impl Into<String>) -> Fault {
        Fault { status: 400, code: Some(code.to_owned()), message: text.into() }
    }

    /// Creates an internal error of the server.
    pub fn internal(text: impl Into<String>) -> Fault {
        Fault { status: 500, code: None, message: text.into() }
    }

    /// Replaces the status.
    pub fn status(mut self, status: u16) -> Fault {
        self.status = status;
        self
    }

    /// A parameter with an invalid value.
    pub(crate) fn value(name: &str, value: &str) -> Fault {
        Fault::new("E0303", format!("Invalid parameter value, [{name}] = [{value}]"))
    }

    /// A missing parameter.
    pub(crate) fn missing(name: &str) -> Fault {
        Fault::new("E0305", format!("Missing parameter [{name}]"))
    }

    /// An unknown resource.
    pub(crate) fn resource(name: &str) -> Fault {
        Fault::new("E0301", format!("Invalid resource [{name}]"))
    }
}

impl From<ankus_engine::driver::Error> for Fault {
    fn from(error: ankus_engine::driver::Error) -> Fault {
        Fault::internal(error.to_string())
    }
}

impl From<&ankus_access::Refusal> for Fault {
    fn from(refusal: &ankus_access::Refusal) -> Fault {
        let code = refusal.code.map(str::to_owned);
        Fault { status: refusal.status, code, message: refusal.message.clone() }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) reason: Option<String>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// The media types, including quotes.
pub(crate) const JSON: &str = "application/json; charset=\"UTF-8\"";
pub(crate) const XML: &str = "application/xml; charset=\"UTF-8\"";
pub(crate) const TEXT: &str = "text/plain; charset=\"UTF-8\"";

impl Answer {
    /// An empty successful answer.
    pub(crate) fn done() -> Answer {
        Answer { status: 200, reason: None, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer with a body of this type.
    pub(crate) fn of(kind: &str, body: impl Into<Vec<u8>>) -> Answer {
        let headers = vec![("content-type", kind.to_owned())];
        Answer { status: 200, reason: None, headers, body: body.into() }
    }

    /// An answer with an object, formatted as Oozie does: no blanks, slashes escaped.
    pub(crate) fn json(object: &Value) -> Answer {
        Answer::of(JSON, written(object))
    }

    /// An answer with an object that was created.
    pub(crate) fn created(object: &Value) -> Answer {
        Answer { status: 201, ..Answer::json(object) }
    }

    /// An error; errors of requests that change something have no body.
    pub(crate) fn fault(fault: &Fault, has_body: bool) -> Answer {
        let escaped = escape(&fault.message);
        let mut headers = Vec::new();
        if let Some(code) = &fault.code {
            headers.push(("oozie-error-code", code.clone()));
            headers.push(("oozie-error-message", one_line(&fault.message)));
        }
        let mut body = Vec::new();
        if has_body {
            let text = if fault.code.is_some() { &escaped } else { &fault.message };
            headers.push(("content-type", JSON.to_owned()));
            body = written(&json!({"errorMessage": text, "httpStatusCode": fault.status})).into();
        }
        let reason = match (&fault.code, fault.status) {
            (Some(_), _) | (None, 503) => one_line(&escaped),
            (None, 500) => "Server Error".to_owned(),
            (None, _) => String::new(),
        };
        let reason = (!reason.is_empty()).then_some(reason);
        Answer { status: fault.status, reason, headers, body }
    }

    /// Adds a header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    /// Converts it to a response of the HTTP library.
    pub(crate) fn response(self) -> Response {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() =
            StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                response.headers_mut().append(HeaderName::from_static(name), value);
            }
        }
        let headers = response.headers_mut();
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        // Definitions and logs come from users: browsers must not interpret them as pages.
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let reason =
            self.reason.map(|reason| hyper::ext::ReasonPhrase::try_from(reason.into_bytes()));
        if let Some(Ok(reason)) = reason {
            response.extensions_mut().insert(reason);
        }
        response
    }
}

/// Formats a value as JSON; slashes are escaped, which is equivalent.
fn written(value: &Value) -> String {
    value.to_string().replace('/', "\\/")
}

/// Escapes a text for HTML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Replaces control characters, which a header cannot contain.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_headers_reason_and_body() {
        let fault = Fault::new("E0303", "Invalid <value>\r\nX-Injected: \"1\"");
        let answer = Answer::fault(&fault, true);
        assert_eq!(answer.headers[1].1, "E0303: Invalid <value>  X-Injected: \"1\"");
        let text = String::from_utf8(answer.body).unwrap();
        assert_eq!(
            text,
            r#"{"errorMessage":"E0303: Invalid &lt;value&gt;\r\nX-Injected: &quot;1&quot;","httpStatusCode":400}"#
        );
        let response = Answer::fault(&fault, false).response();
        assert!(response.extensions().get::<hyper::ext::ReasonPhrase>().is_some());
    }

    #[test]
    fn slashes_are_escaped() {
        assert_eq!(written(&json!({"a": "b/c"})), r#"{"a":"b\/c"}"#);
    }
}
