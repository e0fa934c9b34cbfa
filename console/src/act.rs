//! Handles the forms of the console: each sends one request to the web services, or one per selected job.
//!
//! A form is accepted only with the token of this server, and only if the browser does not report another site as its
//! origin.

use super::layout::part;
use super::{ask, object};
use crate::{Answer, Console, Fault, Request, TEXT, parameters};
use serde_json::Value;
use std::collections::BTreeMap;

/// Redirects the browser to another page.
pub(crate) fn goes_to(address: &str) -> Answer {
    let headers = vec![("location", address.to_owned())];
    Answer { status: 303, headers, body: Vec::new() }
}

/// The fields of a form, in order.
struct Form(Vec<(String, String)>);

impl Form {
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Returns the properties: fields that begin with `p.`, and the lines of the field for further ones.
    fn properties(&self, keeps_empty: bool) -> Result<BTreeMap<String, String>, Fault> {
        let mut all = BTreeMap::new();
        for (name, value) in &self.0 {
            if let Some(name) = name.strip_prefix("p.")
                && (keeps_empty || !value.is_empty())
            {
                all.insert(name.to_owned(), value.clone());
            }
        }
        for line in self.get("further").lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some((name, value)) = line.split_once('=') else {
                return Err(Fault::new(
                    400,
                    format!("`{line}` is not a property: write name=value"),
                ));
            };
            all.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        Ok(all)
    }
}

/// Formats properties as a configuration for the web services.
fn configuration(properties: &BTreeMap<String, String>) -> String {
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        // XML cannot contain these.
        text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t'), "")
    };
    let mut text = String::from("<configuration>");
    for (name, value) in properties {
        let (name, value) = (escape(name), escape(value));
        text.push_str(&format!("<property><name>{name}</name><value>{value}</value></property>"));
    }
    text + "</configuration>"
}

/// Verifies that a request comes from a page of this server.
fn from_here(console: &Console, request: &Request, token: &str) -> Result<(), Fault> {
    let is_other =
        request.site.as_deref().is_some_and(|site| site != "same-origin" && site != "none");
    if is_other || !console.is_ours(token) {
        let message = "This form did not come from a page of this server as it runs now. Load the page again, and send it once more.";
        return Err(Fault::new(403, message));
    }
    Ok(())
}

pub(crate) fn answer(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let form = Form(parameters(&String::from_utf8_lossy(&request.body)));
    from_here(console, request, form.get("token"))?;
    match form.get("action") {
        "run" | "submit" | "dryrun" => submit(console, request, &form),
        "rerun" => rerun(console, request, &form),
        action @ ("start" | "suspend" | "resume" | "kill" | "change" | "coord-rerun") => {
            command(console, request, &form, action)
        }
        other => Err(Fault::new(400, format!("`{other}` is not an action."))),
    }
}

fn command(
    console: &Console,
    request: &Request,
    form: &Form,
    action: &str,
) -> Result<Answer, Fault> {
    let ids: Vec<&str> = form.all("id").collect();
    if ids.is_empty() {
        return Err(Fault::new(400, "No job is selected."));
    }
    let mut faults = Vec::new();
    for id in &ids {
        let scope = form.get("scope");
        let mut query = vec![("action", action)];
        if !scope.is_empty() {
            query.extend([("type", "action"), ("scope", scope)]);
        }
        let value = change(form);
        if action == "change" {
            query.push(("value", value.as_str()));
        }
        if let Err(fault) = ask(console, request, "PUT", &["v2", "job", id], &query, None) {
            faults.push((fault.status, format!("{id}: {}", fault.message)));
        }
    }
    if let Some((status, _)) = faults.first() {
        let done = ids.len() - faults.len();
        let told: Vec<&str> = faults.iter().map(|(_, told)| told.as_str()).collect();
        let message = match ids.len() {
            1 => told.join(""),
            _ => format!("Done for {done}, refused for {}: {}", faults.len(), told.join("; ")),
        };
        return Err(Fault::new(*status, message));
    }
    let said = if action == "coord-rerun" { "rerun" } else { action };
    Ok(goes_to(&match ids.as_slice() {
        [id] => format!("job?id={}&said={said}", part(id)),
        several => {
            let kind = match several[0] {
                id if id.ends_with("-C") => "coord",
                id if id.ends_with("-B") => "bundle",
                _ => "wf",
            };
            format!("./?kind={kind}&said={said}")
        }
    }))
}

/// Returns the change of a coordinator, as the web services accept it. An empty field removes a pause, and leaves other
/// values.
fn change(form: &Form) -> String {
    let mut pairs = Vec::new();
    for name in ["concurrency", "endtime"] {
        let value = form.get(name).trim();
        if !value.is_empty() {
            pairs.push(format!("{name}={value}"));
        }
    }
    pairs.push(format!("pausetime={}", form.get("pausetime").trim()));
    pairs.join(";")
}

fn submit(console: &Console, request: &Request, form: &Form) -> Result<Answer, Fault> {
    let name = match form.get("kind") {
        "coord" => "oozie.coord.application.path",
        "bundle" => "oozie.bundle.application.path",
        _ => "oozie.wf.application.path",
    };
    let mut properties = form.properties(false)?;
    properties.insert(name.to_owned(), form.get("path").to_owned());
    if request.user.is_none() {
        properties.insert("user.name".to_owned(), form.get("user").to_owned());
    }
    let query: &[(&str, &str)] = match form.get("action") {
        "run" => &[("action", "start")],
        "dryrun" => &[("action", "dryrun")],
        _ => &[],
    };
    let body = Some(configuration(&properties));
    let made: Value = object(&ask(console, request, "POST", &["v2", "jobs"], query, body)?)?;
    if form.get("action") == "dryrun" {
        return Ok(goes_to(&format!("submit?path={}&said=dryrun", part(form.get("path")))));
    }
    let id = made["id"].as_str().unwrap_or_default();
    Ok(goes_to(&format!("job?id={}&said=submit", part(id))))
}

fn rerun(console: &Console, request: &Request, form: &Form) -> Result<Answer, Fault> {
    let id = form.get("id");
    let mut properties = form.properties(false)?;
    let skipped: Vec<&str> = form.all("skip").collect();
    let (name, value) = match form.get("which") {
        "failed" => ("failnodes", "true".to_owned()),
        "skip" if !skipped.is_empty() => ("skip.nodes", skipped.join(",")),
        // An empty list skips nothing.
        _ => ("skip.nodes", ",".to_owned()),
    };
    properties.insert(format!("oozie.wf.rerun.{name}"), value);
    let body = Some(configuration(&properties));
    ask(console, request, "PUT", &["v2", "job", id], &[("action", "rerun")], body)?;
    Ok(goes_to(&format!("job?id={}&said=rerun", part(id))))
}

/// Stores an application uploaded as a zip; the answer is its path, or an error.
pub(crate) fn upload(console: &Console, request: &Request) -> Answer {
    let token = request.token.as_deref().unwrap_or_default();
    let name = request.parameter("name").unwrap_or_default();
    let done =
        from_here(console, request, token).and_then(|()| console.pages.upload(name, &request.body));
    match done {
        Ok(path) => Answer::of(TEXT, path),
        Err(fault) => Answer { status: fault.status, ..Answer::of(TEXT, fault.message) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form(parameters(text))
    }

    #[test]
    fn properties_come_from_fields_and_lines() {
        let form = form("p.a=1&p.b=&further=c%3D2%0A%23x%0A+d+%3D+e%3Df");
        let all = form.properties(false).unwrap();
        let all: Vec<(&str, &str)> = all.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(all, [("a", "1"), ("c", "2"), ("d", "e=f")]);
        assert!(super::tests::form("further=word").properties(false).is_err());
    }

    #[test]
    fn values_stay_values() {
        let text =
            configuration(&BTreeMap::from([("a<b".to_owned(), "</value>\u{0}&".to_owned())]));
        let pairs = ankus_lang::configuration::read_xml(&text).unwrap();
        assert_eq!(pairs, [("a<b".to_owned(), "</value>&".to_owned())]);
    }

    #[test]
    fn an_empty_pause_takes_it_away() {
        assert_eq!(change(&form("concurrency=3&endtime=&pausetime=")), "concurrency=3;pausetime=");
    }
}
