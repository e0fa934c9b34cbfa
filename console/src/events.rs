//! `GET /oozie/events`: changes of jobs, as server-sent events.
//!
//! Without a parameter, there is a `job` event for each job of any kind that changes. With `job=ID`, there is a `job`
//! event when that job changes, and an `action` event for each of its actions. Clients that follow all jobs as the same
//! user share a query of the store.

use super::layout::plain;
use super::{Workflow, ask, info, object};
use crate::{Console, Fault, Request};
use ankus_engine::driver::view;
use ankus_lang::machine::Change;
use futures_util::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Interval of queries while there are clients.
const EVERY: Duration = Duration::from_millis(500);
/// Milliseconds without events after which a heartbeat is sent, so that no proxy closes the connection.
const BEAT: i64 = 15_000;
/// Milliseconds for which all clients of the same user get the same answer.
const SAME: i64 = 400;
/// Maximum number of clients.
const MOST: usize = 1_000;
/// Number of jobs of each kind that are examined: those that changed last.
const LOOKED_AT: &str = "50";

/// Jobs by id, with the data of their events.
type Seen = BTreeMap<String, String>;

/// The result of a query for all jobs: its time, its user, and the jobs.
type Look = (i64, Option<String>, Arc<Seen>);

/// The last query for all jobs.
#[derive(Default)]
pub(super) struct Recent {
    last: Mutex<Option<Look>>,
    followers: AtomicUsize,
}

/// Counts a client while it exists.
struct Follower(Arc<Console>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.recent.followers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The state of a client's stream.
struct Position {
    request: Request,
    /// The job; empty for all jobs.
    job: String,
    seen: Option<Arc<Seen>>,
    /// The number of the next event of a workflow.
    moment: u64,
}

/// Formats an event.
fn event(kind: &str, data: &Value) -> String {
    // Serialized objects contain no line breaks.
    format!("event: {kind}\ndata: {data}\n\n")
}

/// Returns the stream of events for a request; it ends when `stops` becomes true. A server sends it as
/// `text/event-stream`.
///
/// # Errors
/// If the job does not exist, or there are too many clients.
pub async fn follow(
    console: Arc<Console>,
    request: Request,
    stops: watch::Receiver<bool>,
) -> Result<impl Stream<Item = Result<Vec<u8>, Infallible>>, Fault> {
    let job = request.parameter("job").unwrap_or_default().to_owned();
    let before = console.recent.followers.fetch_add(1, Ordering::Relaxed);
    let follower = Follower(Arc::clone(&console));
    if before >= MOST {
        return Err(Fault::new(503, "Too many follow the events."));
    }
    let first = Position { request, job, seen: None, moment: 0 };
    let (first, _) = looked(Arc::clone(&console), first).await?;
    let hello = ": here\nretry: 2000\n\n".to_owned();
    let state = (follower, first, stops, hello);
    Ok(futures_util::stream::unfold(state, async |(follower, mut position, mut stops, text)| {
        if !text.is_empty() {
            return Some((Ok(text.into_bytes()), (follower, position, stops, String::new())));
        }
        let began = follower.0.services.now();
        loop {
            tokio::select! {
                _ = stops.wait_for(|stops| *stops) => return None,
                () = tokio::time::sleep(EVERY) => {}
            }
            let (next, mut news) = looked(Arc::clone(&follower.0), position).await.ok()?;
            position = next;
            if news.is_empty() && follower.0.services.now() - began > BEAT {
                news = ": still here\n\n".to_owned();
            }
            if !news.is_empty() {
                return Some((Ok(news.into_bytes()), (follower, position, stops, String::new())));
            }
        }
    }))
}

/// Queries once, on a thread that may block.
async fn looked(console: Arc<Console>, position: Position) -> Result<(Position, String), Fault> {
    let look = tokio::task::spawn_blocking(move || look(&console, position));
    look.await.map_err(|error| Fault::new(500, error.to_string()))?
}

fn look(console: &Console, mut position: Position) -> Result<(Position, String), Fault> {
    let job = position.job.clone();
    let mut news = String::new();
    let is_workflow = !job.is_empty() && !job.ends_with("-C") && !job.ends_with("-B");
    let now = match job.as_str() {
        "" => all(console, &position.request)?,
        _ if is_workflow => {
            news.push_str(&moments(console, &mut position)?);
            position.seen.clone().unwrap_or_default()
        }
        id => {
            let whole: Value = info(console, &position.request, id)?;
            let told = json!({"id": id, "status": whole["status"]}).to_string();
            let members = [&whole["actions"], &whole["bundleCoordJobs"]];
            let mut seen = Seen::from([(id.to_owned(), told)]);
            for member in members.into_iter().filter_map(Value::as_array).flatten() {
                let id =
                    member["id"].as_str().or(member["coordJobId"].as_str()).unwrap_or_default();
                seen.insert(
                    id.to_owned(),
                    json!({"id": id, "status": member["status"]}).to_string(),
                );
            }
            Arc::new(seen)
        }
    };
    if let Some(before) = &position.seen {
        for (id, told) in now.iter().filter(|(id, told)| before.get(*id) != Some(told)) {
            let kind = if job.is_empty() || *id == job { "job" } else { "action" };
            news.push_str(&format!("event: {kind}\ndata: {told}\n\n"));
        }
    }
    position.seen = Some(now);
    Ok((position, news))
}

/// Returns the events of a workflow since the last query.
fn moments(console: &Console, position: &mut Position) -> Result<String, Fault> {
    let id = position.job.as_str();
    let reader = console.services.reader()?;
    if position.seen.is_none() {
        // Reads the job through the web services, so that access is checked.
        let _: Workflow = info(console, &position.request, id)?;
        position.moment = view::moments(&*reader, id, 0)?.1;
        return Ok(String::new());
    }
    let (moments, next) = view::moments(&*reader, id, position.moment)?;
    position.moment = next;
    let mut news = String::new();
    let record = view::record(&*reader, id)?;
    let plan = match (&record, moments.is_empty()) {
        (Some(record), false) => Some(view::plan(&*reader, record)?),
        _ => None,
    };
    for moment in moments {
        match moment.change {
            Change::Job(status) => {
                news.push_str(&event(
                    "job",
                    &json!({"id": id, "status": status.name(), "at": moment.at}),
                ));
            }
            Change::Row { node, status, .. } => {
                let name = plan.as_ref().map(|plan| plan.node(node).name.to_string());
                let action = format!("{id}@{}", name.unwrap_or_default());
                news.push_str(&event(
                    "action",
                    &json!({"id": action, "status": status.name(), "at": moment.at}),
                ));
            }
            Change::Fault(_) | Change::Expectation { .. } => {
                news.push_str(&event("job", &json!({"id": id, "at": moment.at})));
            }
        }
    }
    Ok(news)
}

/// Returns the jobs that changed last. The result is reused for a short time per user.
fn all(console: &Console, request: &Request) -> Result<Arc<Seen>, Fault> {
    let (recent, now) = (&console.recent, console.services.now());
    let mut last = recent.last.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, user, seen)) = &*last
        && *user == request.user
        && (*at..*at + SAME).contains(&now)
    {
        return Ok(Arc::clone(seen));
    }
    let mut seen = Seen::new();
    for (kind, list, id, name) in [
        ("wf", "workflows", "id", "appName"),
        ("coord", "coordinatorjobs", "coordJobId", "coordJobName"),
        ("bundle", "bundlejobs", "bundleJobId", "bundleJobName"),
    ] {
        let query = [("jobtype", kind), ("len", LOOKED_AT), ("filter", "sortby=lastModifiedTime")];
        let bytes = ask(console, request, "GET", &["v2", "jobs"], &query, None)?;
        let answer: Value = object(&bytes)?;
        for job in answer[list].as_array().into_iter().flatten() {
            let id = job[id].as_str().unwrap_or_default();
            let told = json!({
                "id": id, "kind": kind, "name": plain(job[name].as_str().unwrap_or_default()), "status": job["status"], "user": job["user"],
                "changed": job["lastModTime"],
            });
            seen.insert(id.to_owned(), told.to_string());
        }
    }
    let seen = Arc::new(seen);
    *last = Some((now, request.user.clone(), Arc::clone(&seen)));
    Ok(seen)
}
