//! Traces of ended workflows, sent to an OpenTelemetry collector: OTLP over HTTP, in its JSON form.
//!
//! A separate thread is notified of ended workflows, reads them from the store and sends their spans. A collector that
//! does not answer delays no job: spans wait for it, up to a limit, and losses are reported. A file in the store
//! records up to which time everything was sent, so that workflows that end while no process exports are sent later.
//! The format is simple and fixed by its specification (OTLP 1.x), so it is implemented here; the SDK would bring an
//! executor and a second HTTP client.

use super::Served;
use crate::Failure;
use crate::runner::Runner;
use crate::store::Masked;
use ankus_engine::driver::list;
use ankus_engine::driver::spans::{self, Span, Value as Of};
use ankus_procedure::private;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum number of workflows that wait for a collector that does not answer.
const MOST: usize = 10_000;
/// Maximum number of workflows per request.
const BATCH: usize = 100;
/// Interval between requests.
const EVERY: Duration = Duration::from_millis(500);
/// Maximum delay after the collector has refused a request.
const LONGEST: Duration = Duration::from_secs(60);
/// Time-out of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of attempts to read a workflow whose end is not yet visible.
const LOOKS: u32 = 20;
/// The file in the store with the time up to which everything was sent, in milliseconds since 1970.
const SENT: &str = "traces.sent";
/// Maximum delay between the end of a workflow and its notification.
const SLACK_MS: i64 = 60_000;
/// Minimum interval between writes of that file.
const MARKS: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(super) struct TraceArguments {
    /// Send a trace of each workflow that ends to this OpenTelemetry collector (OTLP over HTTP, such as http://localhost:4318).
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    traces: Option<String>,
    /// Headers for the collector, as `name=value` with commas between several.
    #[arg(
        long,
        value_name = "HEADERS",
        env = "OTEL_EXPORTER_OTLP_HEADERS",
        hide_env_values = true
    )]
    traces_headers: Option<String>,
    /// The name of this server in its traces.
    #[arg(long, value_name = "NAME", env = "OTEL_SERVICE_NAME", default_value = "ankus")]
    traces_service: String,
}

/// The destination of spans.
struct Collector {
    url: String,
    headers: Vec<(String, String)>,
    service: String,
    agent: ureq::Agent,
}

impl TraceArguments {
    /// Returns the collector that the options name.
    fn collector(&self) -> miette::Result<Option<Collector>> {
        let Some(url) = self.traces.as_deref().map(str::trim).filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        let refuse = |why: String| Failure::new(why).help("such as http://localhost:4318");
        let is_http = url.starts_with("http://") || url.starts_with("https://");
        if !is_http || url.parse::<ureq::http::Uri>().map_or(true, |it| it.host().is_none()) {
            return Err(refuse(format!("`{url}` is not the URL of a collector")).into());
        }
        let url = url.trim_end_matches('/');
        let url = match url.ends_with("/v1/traces") {
            true => url.to_owned(),
            false => format!("{url}/v1/traces"),
        };
        let mut headers = Vec::new();
        let given = self.traces_headers.as_deref().unwrap_or_default();
        for pair in given.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let Some((name, value)) = pair.split_once('=') else {
                let why = "a header for the collector is not written as `name=value`";
                return Err(Failure::new(why).into());
            };
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        let service = self.traces_service.clone();
        Ok(Some(Collector { url, headers, service, agent: agent.into() }))
    }

    /// Subscribes to ended workflows, if a collector is configured: before anything runs, so that none is missed.
    pub(super) fn listen(&self, runner: &Runner) -> Option<Receiver<String>> {
        self.traces.as_ref().and(runner.driver()).and_then(|driver| driver.endings(MOST))
    }

    /// Starts to send them, if a collector is configured. Losses are reported through `say`.
    ///
    /// # Errors
    /// If the options are invalid, or no thread can be created.
    pub(super) fn open(
        &self,
        served: Arc<Served>,
        told: Option<Receiver<String>>,
        say: Sender<String>,
    ) -> miette::Result<Option<Exporter>> {
        let Some(collector) = self.collector()? else {
            if self.traces_headers.is_some() {
                // Without a receiver there is no need for the message.
                let _ = say.send("--traces-headers has no effect without --traces".to_owned());
            }
            return Ok(None);
        };
        let (stop, stops) = channel();
        let mut sending = Sending {
            served,
            collector,
            say,
            told: None,
            due: VecDeque::new(),
            lost: 0,
            marked: None,
        };
        if told.is_some() {
            sending.begin(told);
        }
        let thread = std::thread::Builder::new().name("traces".to_owned());
        let thread = thread.spawn(move || sending.run(&stops)).map_err(|why| {
            Failure::new(format!("there is no room for the thread that sends traces: {why}"))
        })?;
        Ok(Some(Exporter { stop, thread }))
    }
}

/// The exporting thread.
pub(super) struct Exporter {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Exporter {
    /// Sends the remaining spans, in one attempt, and ends.
    pub(super) fn end(self) {
        drop(self.stop);
        // The panic was already reported.
        let _ = self.thread.join();
    }
}

/// The state of the thread.
struct Sending {
    served: Arc<Served>,
    collector: Collector,
    say: Sender<String>,
    told: Option<Receiver<String>>,
    /// Ended workflows, with the number of attempts to read each.
    due: VecDeque<(String, u32)>,
    /// Number of losses that have not been reported.
    lost: usize,
    /// When the file with the time of completeness was last written.
    marked: Option<Instant>,
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Sending {
    fn say(&self, text: String) {
        // During shutdown the message has no receiver.
        let _ = self.say.send(text);
    }

    fn run(&mut self, stops: &Receiver<()>) {
        let mut pause = EVERY;
        let mut failed = false;
        loop {
            let is_last = stops.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
            let began = now_ms();
            self.hear();
            match self.send() {
                Ok(()) => {
                    self.mark(began, is_last);
                    if std::mem::take(&mut failed) {
                        self.say(format!("traces: {} answers again", self.collector.url));
                    }
                    pause = EVERY;
                }
                Err(why) => {
                    if !std::mem::replace(&mut failed, true) {
                        let url = &self.collector.url;
                        self.say(format!("traces: {url} does not accept them: {why}"));
                    }
                    pause = (pause * 2).min(LONGEST);
                }
            }
            if self.lost > 0 && !failed {
                let lost = std::mem::take(&mut self.lost);
                self.say(format!("traces: those of {lost} workflows were lost"));
            }
            if is_last {
                return;
            }
        }
    }

    /// Called when this process begins to run the store: workflows that ended while no process exported are due.
    fn begin(&mut self, told: Option<Receiver<String>>) {
        self.told = told;
        let path = self.served.store.store.join(SENT);
        let sent = match fs::read_to_string(&path) {
            Ok(text) => text.trim().parse::<i64>().ok(),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return self.say(format!("traces: `{}`: {error}", path.display())),
        };
        // Nothing was ever exported from this store, and earlier workflows are not wanted.
        let Some(sent) = sent else { return };
        let found = self.served.readers.one().map_err(|report| report.to_string());
        let found = found.and_then(|reader| {
            list::ended_since(&*reader, sent - SLACK_MS, MOST).map_err(|error| error.to_string())
        });
        match found {
            Ok((mut ids, total)) => {
                ids.reverse();
                self.lost += total - ids.len();
                self.due.extend(ids.into_iter().map(|id| (id, LOOKS)));
            }
            Err(why) => self.say(format!("traces: what has ended before cannot be read: {why}")),
        }
    }

    /// Records that all workflows that ended by then were sent.
    fn mark(&mut self, by: i64, is_last: bool) {
        let is_early = self.marked.is_some_and(|at| at.elapsed() < MARKS);
        // A process that does not run the store is not notified of all workflows.
        if self.told.is_none() || !self.due.is_empty() || is_early && !is_last {
            return;
        }
        self.marked = Some(Instant::now());
        let path = self.served.store.store.join(SENT);
        if let Err(error) = private::write(&path, by.to_string()) {
            self.say(format!("traces: `{}`: {error}", path.display()));
        }
    }

    /// Receives the notifications of ended workflows.
    fn hear(&mut self) {
        // Another process may have run the store, and this one may run it now.
        let runner = self.served.runner.lock().unwrap_or_else(PoisonError::into_inner);
        let new = runner.driver().and_then(|driver| driver.endings(MOST));
        drop(runner);
        if new.is_some() {
            self.begin(new);
        }
        let Some(told) = &self.told else { return };
        self.due.extend(told.try_iter().map(|id| (id, 0)));
        while self.due.len() > MOST {
            self.due.pop_front();
            self.lost += 1;
        }
    }

    /// Sends all workflows that are due; those whose end is not yet visible stay due.
    fn send(&mut self) -> Result<(), String> {
        let mut early = Vec::new();
        while !self.due.is_empty() {
            let batch: Vec<(String, u32)> = self.due.iter().take(BATCH).cloned().collect();
            let mut all = Vec::new();
            for (id, looks) in &batch {
                match self.spans(id)? {
                    Some(spans) if spans.is_empty() && *looks < LOOKS => {
                        early.push((id.clone(), looks + 1));
                    }
                    Some(spans) if !spans.is_empty() => all.extend(spans),
                    // It cannot be read, or was rerun or purged before it was read.
                    _ => self.lost += 1,
                }
            }
            if !all.is_empty() {
                self.collector.post(&all)?;
            }
            self.due.drain(..batch.len());
        }
        self.due.extend(early);
        Ok(())
    }

    /// Returns the spans of a workflow; none if they cannot be determined, now or later.
    fn spans(&self, id: &str) -> Result<Option<Vec<Span>>, String> {
        let reader = self.served.readers.one().map_err(|report| report.to_string())?;
        let settings = &self.served.settings;
        let spans =
            spans::spans(&*reader, id, |run, plan| Masked::of(settings, &run.conf, Some(plan)));
        match spans {
            Err(ankus_engine::driver::Error::Store(ankus_procedure::store::Error::Damaged(
                what,
            ))) => {
                self.say(format!("traces: none of {id}: {what} is damaged"));
                Ok(None)
            }
            spans => spans.map(Some).map_err(|error| error.to_string()),
        }
    }
}

impl Collector {
    fn post(&self, spans: &[Span]) -> Result<(), String> {
        let body = json!({"resourceSpans": [{
            "resource": {"attributes": [
                attribute("service.name", &self.service),
                attribute("service.version", env!("CARGO_PKG_VERSION")),
            ]},
            "scopeSpans": [{
                "scope": {"name": "ankus", "version": env!("CARGO_PKG_VERSION")},
                "spans": spans.iter().map(written).collect::<Vec<_>>(),
            }],
        }]});
        let mut request = self.agent.post(&self.url).content_type("application/json");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = request.send(body.to_string()).map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200..300 => Ok(()),
            status => Err(format!("it answers {status}")),
        }
    }
}

fn attribute(key: &str, text: &str) -> Value {
    json!({"key": key, "value": {"stringValue": text}})
}

/// Formats a span as OTLP JSON: ids in hexadecimal, 64-bit numbers as strings.
fn written(span: &Span) -> Value {
    let nanos = |ms: i64| (i128::from(ms) * 1_000_000).to_string();
    let attributes = span.attributes.iter().map(|(key, value)| match value {
        Of::Text(text) => attribute(key, text),
        Of::Number(number) => json!({"key": key, "value": {"intValue": number.to_string()}}),
    });
    let status = match &span.fault {
        Some(fault) => json!({"code": 2, "message": fault}),
        None => json!({"code": 1}),
    };
    let mut written = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": nanos(span.started),
        "endTimeUnixNano": nanos(span.ended),
        "attributes": attributes.collect::<Vec<_>>(),
        "status": status,
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = format!("{parent:016x}").into();
    }
    written
}
