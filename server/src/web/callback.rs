//! `/callback`: external programs report that they have ended. (`reference` of the web API, 10.4)

use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::request::Request;

/// Maximum length of a body, in bytes.
const LONGEST: usize = 2_048;

pub(super) fn answer(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    let query = if request.raw_query.is_empty() { "null" } else { &request.raw_query };
    let (Some(id), Some(status)) = (request.parameter("id"), request.parameter("status")) else {
        return Err(Fault::new("E0402", format!("Invalid callback ID [{query}]")));
    };
    match request.method.as_str() {
        "GET" => {}
        "POST" => {
            let kind = request.content_type.as_deref().unwrap_or("null");
            if !kind.to_lowercase().starts_with("text/plain") {
                return Err(Fault::new("E0300", format!("Invalid content-type [{kind}]")));
            }
            if request.body.len() > LONGEST {
                return Err(Fault::plain("E1603", "stream exceeds limit [2,048]"));
            }
        }
        _ => return Err(Fault::resource("")),
    }
    // Programs are watched by their launchers, whose reports are more reliable than a callback: the call is recorded,
    // and the job is checked again, if it exists.
    shared.called_back(id, status);
    Ok(Answer::done())
}
