//! `/v2/validate`: whether a definition would be accepted. (`reference` of the web API, 10.3)

use crate::Shared;
use crate::answer::{Answer, Fault};
use crate::request::Request;
use serde_json::json;

pub(super) fn answer(shared: &Shared, request: &Request) -> Result<Answer, Fault> {
    if request.method != "POST" {
        return Err(Fault::resource(""));
    }
    request.is_xml()?;
    let file = request.required("file")?;
    request.required("user")?;
    let text = request.text().map_err(|why| {
        Fault::new("E0701", format!("XML schema error, {file}, it is not valid {why}"))
    })?;
    shared.backend.validate(file, &text)?;
    Ok(Answer::json(&json!({"validate": "Valid workflow-app"})))
}
