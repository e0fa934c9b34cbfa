//! The console at `/oozie/`: pages based on the objects that the web services return.
//!
//! It answers requests of browsers with whole pages, which a small script keeps up to date. Everything that a page
//! shows and its forms do goes through the web services ([`Services`]), as a request of the same user, so that the
//! console grants no further rights. [`Pages`] provides the data that only the console needs. It does not know sockets.

mod act;
mod coordinator;
mod estate;
mod events;
mod jobs;
mod layout;
mod model;
mod parcel;
mod submit;
mod workflow;

use ankus_engine::driver::{self, view};
use ankus_procedure::store::Reader;
use layout::Context;
use model::{Attempt, Bundle, Coordinator, Workflow};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use workflow::{Bar, Opened, Part};

pub use events::follow;

/// A request of a browser.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// `GET`, `HEAD` or `POST`; other methods are not handled.
    pub method: String,
    /// The segments of the path below `/oozie/`, decoded.
    pub path: Vec<String>,
    /// The parameters in order, decoded.
    pub query: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The authenticated user, if known.
    pub user: Option<String>,
    /// `Sec-Fetch-Site`: the site from which the request comes, according to the browser.
    pub site: Option<String>,
    /// `X-Ankus-Token`: the token of our forms, if a script sends it.
    pub token: Option<String>,
}

impl Request {
    /// Returns the value of a parameter.
    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns a required parameter.
    fn required(&self, name: &str) -> Result<&str, Fault> {
        let value = self.parameter(name).filter(|value| !value.is_empty());
        value.ok_or_else(|| Fault::new(400, format!("The address names no `{name}`.")))
    }
}

/// Parses the fields of a form, or the parameters of a query.
pub fn parameters(query: &str) -> Vec<(String, String)> {
    let decoded =
        |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

/// An error, as shown to a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The HTTP status.
    pub status: u16,
    /// One sentence.
    pub message: String,
}

impl Fault {
    /// Creates an error.
    pub fn new(status: u16, message: impl Into<String>) -> Fault {
        Fault { status, message: message.into() }
    }
}

impl From<driver::Error> for Fault {
    fn from(error: driver::Error) -> Fault {
        Fault::new(500, error.to_string())
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Headers, with names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    fn of(kind: &str, body: impl Into<Vec<u8>>) -> Answer {
        let headers = vec![("content-type", kind.to_owned())];
        Answer { status: 200, headers, body: body.into() }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }
}

/// A request to the web services, as the same user.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// `GET`, `PUT` or `POST`.
    pub method: &'a str,
    /// The segments of the path below `/oozie/`, such as `v2`, `jobs`.
    pub path: &'a [&'a str],
    /// The parameters.
    pub query: &'a [(&'a str, &'a str)],
    /// A configuration in XML, if any.
    pub body: Option<String>,
    /// The user.
    pub user: Option<&'a str>,
}

/// The server that the console belongs to. Its methods block.
pub trait Services: Send + Sync {
    /// Calls the web services and returns the body of the answer.
    ///
    /// # Errors
    /// Refusals, with their status and message.
    fn call(&self, call: &Call<'_>) -> Result<Vec<u8>, Fault>;

    /// Returns a reader of the store.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn reader(&self) -> Result<Arc<dyn Reader>, Fault>;

    /// `NORMAL`, `NOWEBSERVICE` or `SAFEMODE`.
    fn mode(&self) -> &'static str;

    /// Returns the milliseconds since 1970.
    fn now(&self) -> i64;
}

/// A property that an application reads.
#[derive(Clone, Debug, Default)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// A one-word description of its format.
    pub shape: &'static str,
    /// Whether it is required.
    pub is_required: bool,
    /// Whether its value should be hidden.
    pub is_secret: bool,
    /// Its default value.
    pub value: String,
    /// The description in the definition.
    pub description: String,
}

/// An application that could be submitted.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// `wf`, `coord` or `bundle`.
    pub kind: &'static str,
    /// Its name, unevaluated.
    pub name: String,
    /// The properties that it reads.
    pub parameters: Vec<Parameter>,
}

/// A finding of `check` in a definition.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// `error`, `warning` or `info`.
    pub level: &'static str,
    /// The name of its rule.
    pub rule: String,
    /// The message.
    pub message: String,
}

/// A definition below the root of the server.
#[derive(Clone, Debug, Default)]
pub struct Surveyed {
    /// Its path.
    pub path: String,
    /// Its name, unevaluated.
    pub name: String,
    /// Workflow, coordinator or bundle.
    pub kind: String,
    /// Number of nodes of a workflow.
    pub nodes: Option<usize>,
    /// The types of its actions, with their numbers.
    pub actions: String,
    /// Number of calls from other definitions.
    pub called: usize,
    /// Number of errors found by `check`.
    pub errors: usize,
    /// Number of warnings.
    pub warnings: usize,
    /// The code with which the server would refuse it.
    pub refused: String,
    /// Estimated effort to convert it for another engine.
    pub effort: String,
}

/// The data that the console needs besides the web services. Its methods block.
pub trait Pages: Send + Sync {
    /// Returns the user who runs the server, who is the default user of jobs that are submitted here.
    fn owner(&self) -> String;

    /// Returns the application at a path.
    ///
    /// # Errors
    /// If there is none that can be read.
    fn application(&self, path: &str) -> Result<Application, Fault>;

    /// Returns the findings of `check` in the definition of a job.
    ///
    /// # Errors
    /// If it can no longer be read.
    fn findings(&self, id: &str) -> Result<Vec<Finding>, Fault>;

    /// Returns the definition of a job for display, without its secrets.
    ///
    /// # Errors
    /// If the job cannot be read.
    fn masked(&self, id: &str, definition: &str) -> Result<String, Fault>;

    /// Returns the log of one node of a workflow, and the output of its program.
    ///
    /// # Errors
    /// If it cannot be read.
    fn output(&self, id: &str, node: &str) -> Result<String, Fault>;

    /// Returns the definitions below the root of the server.
    ///
    /// # Errors
    /// If they cannot be read.
    fn estate(&self) -> Result<Vec<Surveyed>, Fault>;

    /// Unpacks an application, and returns its path.
    ///
    /// # Errors
    /// If the archive is invalid or too large, or the name is taken.
    fn upload(&self, name: &str, zip: &[u8]) -> Result<String, Fault>;

    /// Returns the style of pictures, which must not be inside a page.
    fn picture_style(&self) -> &'static str;
}

/// The console of a server.
pub struct Console {
    services: Box<dyn Services>,
    pages: Box<dyn Pages>,
    /// The token of forms on our own pages.
    token: String,
    recent: events::Recent,
}

impl Console {
    /// Creates the console of a server.
    ///
    /// # Panics
    /// If the system provides no randomness, without which the server would not be secure.
    pub fn new(services: Box<dyn Services>, pages: Box<dyn Pages>) -> Console {
        let mut bytes = [0_u8; 24];
        getrandom::fill(&mut bytes).expect("the system gives random bytes");
        let token = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Console { services, pages, token, recent: events::Recent::default() }
    }

    /// Compares a text with the token of our forms, in constant time.
    fn is_ours(&self, token: &str) -> bool {
        let differs = self.token.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        differs == 0 && token.len() == self.token.len()
    }
}

/// What a page may load: files of this server, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers a browser; none if the request is one for the web services. It blocks.
pub fn answer(console: &Console, request: &Request) -> Option<Answer> {
    let parts: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let here = match parts.as_slice() {
        [] => "",
        [one] => one,
        _ => return None,
    };
    if let ("GET" | "HEAD", Some(answer)) = (request.method.as_str(), asset(console, here)) {
        return Some(
            answer.with("cache-control", "no-cache").with("x-content-type-options", "nosniff"),
        );
    }
    let answered = match (request.method.as_str(), here) {
        ("GET" | "HEAD", "") => list(console, request),
        ("GET" | "HEAD", "job") => job(console, request),
        ("GET" | "HEAD", "action") => action(console, request),
        ("GET" | "HEAD", "submit") => form(console, request),
        ("GET" | "HEAD", "rerun") => again(console, request),
        ("GET" | "HEAD", "estate") => Ok(html(estate::page(
            &context(console, request, None),
            &console.pages.estate().map_err(|fault| fault.message),
        ))),
        ("GET" | "HEAD", "metrics") => metrics(console, request),
        ("GET" | "HEAD", "diagnostics") => parcel::answer(console, request),
        ("POST", "act") => act::answer(console, request),
        ("POST", "upload") => return Some(guarded(act::upload(console, request))),
        _ => return None,
    };
    let answer = answered.unwrap_or_else(|fault| {
        let text = layout::fault(&context(console, request, None), fault.status, &fault.message);
        Answer { status: fault.status, ..html(text) }
    });
    Some(guarded(answer))
}

/// Adds the security headers of pages.
fn guarded(answer: Answer) -> Answer {
    answer
        .with("content-security-policy", POLICY)
        .with("x-content-type-options", "nosniff")
        .with("referrer-policy", "same-origin")
        .with("cache-control", "no-store")
}

fn html(text: String) -> Answer {
    Answer::of(HTML, text)
}

fn asset(console: &Console, name: &str) -> Option<Answer> {
    Some(match name {
        "console.css" => Answer::of("text/css; charset=utf-8", include_str!("assets/console.css")),
        "graph.css" => Answer::of("text/css; charset=utf-8", console.pages.picture_style()),
        "console.js" => {
            Answer::of("text/javascript; charset=utf-8", include_str!("assets/console.js"))
        }
        "icon.svg" => Answer::of("image/svg+xml", include_str!("assets/icon.svg")),
        _ => return None,
    })
}

fn context(console: &Console, request: &Request, follows: Option<&str>) -> Context {
    let said = match request.parameter("said") {
        Some("kill") => Some("It is being killed."),
        Some("suspend") => Some("It is being suspended; what runs goes on to its end."),
        Some("resume") => Some("It goes on."),
        Some("start") => Some("It starts."),
        Some("rerun") => Some("It runs again."),
        Some("change") => Some("It was changed."),
        Some("submit") => Some("It was submitted."),
        Some("dryrun") => Some("It would be accepted."),
        _ => None,
    };
    Context {
        user: request.user.clone(),
        token: console.token.clone(),
        mode: console.services.mode(),
        said: said.map(str::to_owned),
        follows: follows.map(str::to_owned),
        up: String::new(),
    }
}

/// Answers a browser's request for an unknown address, which is `folders` levels below the folder of all pages.
pub fn missing(console: &Console, request: &Request, folders: usize) -> Answer {
    let context = Context { up: "../".repeat(folders), ..context(console, request, None) };
    let text = layout::fault(&context, 404, "There is no page at this address.");
    guarded(Answer { status: 404, ..html(text) })
}

/// Sends a request of the same user to the web services.
fn ask(
    console: &Console,
    request: &Request,
    method: &str,
    path: &[&str],
    query: &[(&str, &str)],
    body: Option<String>,
) -> Result<Vec<u8>, Fault> {
    let user = request.user.as_deref();
    console.services.call(&Call { method, path, query, body, user })
}

/// Parses an object.
fn object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map_err(|error| Fault::new(500, error.to_string()))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a job by its id, as an object.
fn info<T: DeserializeOwned>(console: &Console, request: &Request, id: &str) -> Result<T, Fault> {
    let most = coordinator::SHOWN.to_string();
    let mut query = vec![("show", "info")];
    if id.ends_with("-C") {
        query.extend([("order", "desc"), ("len", most.as_str())]);
    }
    object(&ask(console, request, "GET", &["v2", "job", id], &query, None)?)
}

fn list(console: &Console, request: &Request) -> Result<Answer, Fault> {
    // The address of a job on older servers.
    if let Some(id) = request.parameter("job") {
        return Ok(act::goes_to(&format!("job?id={}", layout::part(id))));
    }
    let value = |name: &str| request.parameter(name).unwrap_or_default().trim().to_owned();
    let kind = value("kind");
    let wanted = jobs::Wanted {
        kind: if ["coord", "bundle"].contains(&kind.as_str()) { kind } else { "wf".to_owned() },
        status: value("status"),
        user: value("user"),
        text: value("text"),
        sort: value("sort"),
        offset: value("offset").parse().unwrap_or(1).max(1),
    };
    let list = listed(console, request, wanted)?;
    Ok(html(jobs::page(&context(console, request, Some("")), &list)))
}

fn listed(console: &Console, request: &Request, wanted: jobs::Wanted) -> Result<jobs::List, Fault> {
    let now = console.services.now();
    let (rows, total) = rows(console, request, &wanted, wanted.offset, jobs::LENGTH)?;
    Ok(jobs::List { wanted, rows, total, now })
}

/// Returns the jobs of a list from an offset on, and their total number.
fn rows(
    console: &Console,
    request: &Request,
    wanted: &jobs::Wanted,
    offset: i64,
    length: i64,
) -> Result<(Vec<jobs::Row>, i64), Fault> {
    let mut filter = String::new();
    for (name, value) in
        [("status", &wanted.status), ("user", &wanted.user), ("sortby", &wanted.sort)]
    {
        if !value.is_empty() {
            // These characters cannot occur in names.
            filter.push_str(&format!("{name}={};", value.replace([';', '='], "?")));
        }
    }
    let (offset, length) = (offset.to_string(), length.to_string());
    let query = [
        ("jobtype", wanted.kind.as_str()),
        ("filter", &filter),
        ("search", &wanted.text),
        ("offset", &offset),
        ("len", &length),
    ];
    let mut answer: BTreeMap<String, Value> =
        object(&ask(console, request, "GET", &["v2", "jobs"], &query, None)?)?;
    let rows = ["workflows", "coordinatorjobs", "bundlejobs"]
        .into_iter()
        .find_map(|name| answer.remove(name));
    let rows = rows.unwrap_or_default();
    let rows: Vec<jobs::Row> = match wanted.kind.as_str() {
        "coord" => read::<Coordinator>(rows)?.into_iter().map(row_of_coordinator).collect(),
        "bundle" => read::<Bundle>(rows)?.into_iter().map(row_of_bundle).collect(),
        _ => read::<Workflow>(rows)?.into_iter().map(row_of_workflow).collect(),
    };
    let total = answer.get("total").and_then(Value::as_i64).unwrap_or(rows.len() as i64);
    Ok((rows, total))
}

fn read<T: DeserializeOwned>(rows: Value) -> Result<Vec<T>, Fault> {
    serde_json::from_value(rows).map_err(|error| Fault::new(500, error.to_string()))
}

fn row_of_workflow(job: Workflow) -> jobs::Row {
    jobs::Row {
        id: job.id,
        name: job.app_name,
        status: job.status,
        user: job.user,
        created: job.created_time,
        started: job.start_time,
        ended: job.end_time,
        next: None,
    }
}

fn row_of_coordinator(job: Coordinator) -> jobs::Row {
    let created = job.created_time;
    // An ended coordinator creates no further action, whatever its next time is.
    let next = job.next_materialized_time.filter(|_| layout::is_active(&job.status));
    jobs::Row {
        id: job.id,
        name: job.name,
        status: job.status,
        user: job.user,
        created,
        next,
        ..jobs::Row::default()
    }
}

fn row_of_bundle(job: Bundle) -> jobs::Row {
    let created = job.created_time;
    jobs::Row {
        id: job.id,
        name: job.name,
        status: job.status,
        user: job.user,
        created,
        ..jobs::Row::default()
    }
}

fn job(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let id = request.required("id")?;
    let context = context(console, request, Some(id));
    let now = console.services.now();
    if id.ends_with("-C") {
        let job: Coordinator = info(console, request, id)?;
        return Ok(html(coordinator::page(&context, &job, &part(console, request, id)?, now)));
    }
    if id.ends_with("-B") {
        let job: Bundle = info(console, request, id)?;
        return Ok(html(coordinator::bundle(&context, &job, &part(console, request, id)?)));
    }
    let job: Workflow = info(console, request, id)?;
    let part = part(console, request, id)?;
    Ok(html(workflow::page(&context, &job, &part, now)))
}

/// Returns the selected part of a job's page. The job itself was read before, by the same user.
fn part(console: &Console, request: &Request, id: &str) -> Result<Part, Fault> {
    let show =
        |query: &[(&str, &str)]| ask(console, request, "GET", &["v2", "job", id], query, None);
    Ok(match request.parameter("tab").unwrap_or_default() {
        "definition" => match show(&[("show", "definition")]) {
            Ok(definition) => {
                let findings = console.pages.findings(id).map_err(|fault| fault.message);
                let text = console.pages.masked(id, &text(definition))?;
                Part::Definition { text, findings }
            }
            Err(fault) => Part::Definition { text: String::new(), findings: Err(fault.message) },
        },
        "log" => {
            let filter = request.parameter("filter").unwrap_or_default();
            let text = text(show(&[("show", "log"), ("logfilter", filter)])?);
            Part::Log { text, filter: filter.to_owned() }
        }
        "configuration" => Part::Configuration,
        _ if id.ends_with("-C") || id.ends_with("-B") => {
            Part::Overview { picture: Err(String::new()), bars: Vec::new() }
        }
        _ => {
            let picture = show(&[("show", "graph"), ("format", "svg"), ("show-kill", "true")]);
            let picture = picture.map(text).map_err(|fault| fault.message);
            Part::Overview { picture, bars: bars(console, id)? }
        }
    })
}

/// Returns when each action ran. The objects of the web services are only accurate to the second.
fn bars(console: &Console, id: &str) -> Result<Vec<Bar>, Fault> {
    let reader = console.services.reader()?;
    let Some(record) = view::record(&*reader, id)? else { return Ok(Vec::new()) };
    let (run, plan) = (view::run(&*reader, &record)?, view::plan(&*reader, &record)?);
    let rows = run.in_order();
    let bars = rows.into_iter().filter_map(|(node, row)| {
        let name = plan.node(node).name.to_string();
        Some(Bar { name, status: row.status.name().to_owned(), from: row.started?, to: row.ended })
    });
    Ok(bars.filter(|bar| !bar.name.starts_with(':')).collect())
}

fn action(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let id = request.required("id")?;
    let (job, node) =
        id.split_once('@').ok_or_else(|| Fault::new(400, format!("`{id}` names no action.")))?;
    let show =
        |show: &str| ask(console, request, "GET", &["v2", "job", id], &[("show", show)], None);
    let action = match show("info") {
        Ok(action) => object(&action)?,
        Err(fault) if fault.status == 400 => {
            let message = format!("`{node}` has not been reached.");
            return Err(Fault::new(404, message));
        }
        Err(fault) => return Err(fault),
    };
    let mut attempts: BTreeMap<String, Vec<Attempt>> = object(&show("retries")?)?;
    let output = match console.pages.output(job, node) {
        Ok(output) => output,
        Err(fault) => fault.message,
    };
    let opened = Opened {
        job: job.to_owned(),
        action,
        attempts: attempts.remove("retries").unwrap_or_default(),
        output,
        line: line(console, request, job, node),
    };
    Ok(html(workflow::action(
        &context(console, request, Some(job)),
        &opened,
        console.services.now(),
    )))
}

/// Returns the line of the definition on which a node begins; none if the definition no longer exists.
fn line(console: &Console, request: &Request, job: &str, node: &str) -> Option<usize> {
    let reader = console.services.reader().ok()?;
    let record = view::record(&*reader, job).ok()??;
    let plan = view::plan(&*reader, &record).ok()?;
    let (start, _) = plan.node(plan.find(node)?).span;
    let definition =
        ask(console, request, "GET", &["v2", "job", job], &[("show", "definition")], None).ok()?;
    let before = definition.get(..start as usize)?;
    Some(before.iter().filter(|byte| **byte == b'\n').count() + 1)
}

fn form(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let path = request.parameter("path").unwrap_or_default().trim().to_owned();
    let found =
        (!path.is_empty()).then(|| console.pages.application(&path).map_err(|fault| fault.message));
    let user = console.pages.owner();
    let asked = submit::Asked { path, user, found };
    Ok(html(submit::page(&context(console, request, None), &asked)))
}

fn again(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let job: Workflow = info(console, request, request.required("id")?)?;
    Ok(html(submit::again(&context(console, request, None), &job)))
}

fn metrics(console: &Console, request: &Request) -> Result<Answer, Fault> {
    let get = |name: &str| ask(console, request, "GET", &["v2", "admin", name], &[], None);
    let mut figures = estate::Figures::default();
    let version: Value = object(&get("build-version")?)?;
    figures.version = version["buildVersion"].as_str().unwrap_or_default().to_owned();
    let all: Value = object(&get("metrics")?)?;
    for group in ["gauges", "counters"] {
        for (name, value) in all[group].as_object().into_iter().flatten() {
            let value = value.get("value").or(value.get("count")).cloned().unwrap_or_default();
            let of_kind = name.split_once("jobstatus.");
            match (of_kind, value.as_i64()) {
                (Some((kind, status)), Some(count)) => {
                    let kind = match kind {
                        "" => "Workflows",
                        "coordinator." => "Coordinators",
                        "bundle." => "Bundles",
                        other => other,
                    };
                    figures
                        .jobs
                        .entry(kind.to_owned())
                        .or_default()
                        .insert(status.to_owned(), count);
                }
                _ => {
                    figures.others.insert(name.clone(), value.to_string());
                }
            }
        }
    }
    Ok(html(estate::metrics(&context(console, request, Some("")), &figures)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Number of workflows.
    const JOBS: i64 = 5_000;

    /// Accepts and records all calls.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<String>>>);

    impl Services for Told {
        fn call(&self, call: &Call<'_>) -> Result<Vec<u8>, Fault> {
            let query: Vec<String> =
                call.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let user = call.user.unwrap_or("nobody");
            let line =
                format!("{user} {} {} {}", call.method, call.path.join("/"), query.join("&"));
            self.0.lock().unwrap().push(line);
            let number = |name: &str| {
                let value = call.query.iter().find(|(known, _)| *known == name);
                value.and_then(|(_, value)| value.parse::<i64>().ok())
            };
            let (Some(from), Some(most)) = (number("offset"), number("len")) else {
                return Ok(b"{}".to_vec());
            };
            let page = from..(from + most).min(JOBS + 1);
            let rows: Vec<Value> = page
                .map(|n| serde_json::json!({"id": format!("{n}-W"), "appName": format!("job-{n}")}))
                .collect();
            Ok(serde_json::json!({"workflows": rows, "total": JOBS}).to_string().into_bytes())
        }

        fn reader(&self) -> Result<Arc<dyn Reader>, Fault> {
            Err(Fault::new(500, "there is no store"))
        }

        fn mode(&self) -> &'static str {
            "NORMAL"
        }

        fn now(&self) -> i64 {
            0
        }
    }

    impl Pages for Told {
        fn owner(&self) -> String {
            "ann".to_owned()
        }

        fn application(&self, path: &str) -> Result<Application, Fault> {
            Err(Fault::new(404, format!("nothing is at {path}")))
        }

        fn findings(&self, _: &str) -> Result<Vec<Finding>, Fault> {
            Ok(Vec::new())
        }

        fn masked(&self, _: &str, definition: &str) -> Result<String, Fault> {
            Ok(definition.to_owned())
        }

        fn output(&self, _: &str, _: &str) -> Result<String, Fault> {
            Ok(String::new())
        }

        fn estate(&self) -> Result<Vec<Surveyed>, Fault> {
            Ok(Vec::new())
        }

        fn upload(&self, name: &str, _: &[u8]) -> Result<String, Fault> {
            Ok(format!("/uploads/{name}"))
        }

        fn picture_style(&self) -> &'static str {
            ""
        }
    }

    fn request(method: &str, path: &str, query: &str) -> Request {
        let path = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let user = Some("ann".to_owned());
        Request {
            method: method.to_owned(),
            path,
            query: parameters(query),
            user,
            ..Request::default()
        }
    }

    #[test]
    fn every_page_says_what_it_may_load() {
        let told = Told::default();
        let console = Console::new(Box::new(told.clone()), Box::new(told));
        let pages = ["", "submit", "estate", "metrics", "job", "action", "rerun", "diagnostics"];
        for page in pages {
            let answer = answer(&console, &request("GET", page, "")).expect(page);
            let policy = answer.headers.iter().find(|(name, _)| *name == "content-security-policy");
            assert_eq!(policy.expect(page).1, POLICY);
        }
        for asset in ["console.css", "console.js", "icon.svg", "graph.css"] {
            assert_eq!(answer(&console, &request("GET", asset, "")).expect(asset).status, 200);
        }
        for other in ["versions", "v2/jobs", "callback", "job/1-W"] {
            assert_eq!(answer(&console, &request("GET", other, "")), None, "{other}");
        }
        assert_eq!(answer(&console, &request("PUT", "job", "")), None);
    }

    #[test]
    fn a_search_asks_for_the_jobs_of_its_page_alone() {
        let told = Told::default();
        let console = Console::new(Box::new(told.clone()), Box::new(told.clone()));
        let found =
            answer(&console, &request("GET", "", "text=job-49*&offset=51")).expect("a page");
        let page = String::from_utf8(found.body).expect("text");
        assert!(page.contains(&format!("51–100 of {JOBS}")), "{page}");
        let calls = told.0.lock().unwrap().clone();
        let [call] = calls.as_slice() else { panic!("{calls:?}") };
        assert!(call.ends_with("&search=job-49*&offset=51&len=50"), "{call}");
    }

    #[test]
    fn a_form_of_somebody_else_does_nothing() {
        let told = Told::default();
        let console = Console::new(Box::new(told.clone()), Box::new(told.clone()));
        let act = |token: &str, site: Option<&str>| {
            let body = format!("token={token}&id=1-W&id=2-W&action=kill").into_bytes();
            let site = site.map(str::to_owned);
            let request = Request { body, site, ..request("POST", "act", "") };
            answer(&console, &request).expect("an answer")
        };
        let token = console.token.clone();
        for (token, site) in
            [("", None), ("0", None), (&token[1..], None), (&token, Some("cross-site"))]
        {
            assert_eq!(act(token, site).status, 403);
        }
        assert_eq!(told.0.lock().unwrap().len(), 0);
        assert_eq!(act(&token, Some("same-origin")).status, 303);
        let kills = ["ann PUT v2/job/1-W action=kill", "ann PUT v2/job/2-W action=kill"];
        assert_eq!(*told.0.lock().unwrap(), kills);

        let upload = request("POST", "upload", "name=app");
        assert_eq!(answer(&console, &upload).expect("an answer").status, 403);
        let upload = Request { token: Some(token), ..upload };
        assert_eq!(answer(&console, &upload).expect("an answer").body, b"/uploads/app");
    }
}
