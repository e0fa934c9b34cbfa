//! `/v2/admin/prometheus`: metrics for Prometheus, in its text format 0.0.4.

use crate::Shared;
use crate::answer::Fault;
use ankus_engine::driver::list;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::Ordering;

/// Statistics of the workflows with one name, in milliseconds.
#[derive(Default)]
struct App {
    succeeded: Option<i64>,
    failed: Option<i64>,
    /// Duration of the last successful one.
    took: i64,
}

/// A metric with its values.
struct Metric {
    text: String,
    name: &'static str,
}

impl Metric {
    fn new(name: &'static str, kind: &str, help: &str) -> Metric {
        Metric { text: format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"), name }
    }

    fn value(mut self, labels: &[(&str, &str)], value: impl Display) -> Metric {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                format!("{label}=\"{value}\"")
            })
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        self.text.push_str(&format!("{}{labels} {value}\n", self.name));
        self
    }
}

/// Converts milliseconds to seconds.
fn seconds(ms: i64) -> String {
    format!("{}.{:03}", ms / 1_000, (ms % 1_000).abs())
}

/// Returns all metrics.
pub(super) fn text(shared: &Shared) -> Result<String, Fault> {
    let reader = shared.backend.reader()?;
    let mut jobs = Metric::new("ankus_jobs", "gauge", "Jobs in the store.");
    for (kind, status, count) in list::counts(&*reader)? {
        jobs = jobs.value(&[("kind", kind.name()), ("status", status)], count);
    }
    let mut apps: BTreeMap<String, App> = BTreeMap::new();
    for job in list::last_ends(&*reader)? {
        let Some(ended) = job.ended else { continue };
        let app = apps.entry(job.name).or_default();
        match job.status.as_str() {
            "SUCCEEDED" => {
                app.succeeded = Some(ended);
                app.took = ended - job.started.unwrap_or(job.created);
            }
            "KILLED" | "FAILED" => app.failed = app.failed.max(Some(ended)),
            _ => {}
        }
    }
    let all = [jobs].into_iter().chain(of_apps(&apps)).chain(of_server(shared));
    Ok(all.map(|metric| metric.text).collect())
}

fn of_apps(apps: &BTreeMap<String, App>) -> [Metric; 3] {
    let mut succeeded = Metric::new(
        "ankus_last_success_seconds",
        "gauge",
        "When a workflow of this name last succeeded, in seconds since 1970.",
    );
    let mut failed = Metric::new(
        "ankus_last_failure_seconds",
        "gauge",
        "When a workflow of this name was last killed or failed, in seconds since 1970.",
    );
    let mut took = Metric::new(
        "ankus_last_duration_seconds",
        "gauge",
        "How long the last successful workflow of this name took.",
    );
    for (name, app) in apps {
        let labels = [("app", name.as_str())];
        if let Some(at) = app.succeeded {
            succeeded = succeeded.value(&labels, at / 1_000);
            took = took.value(&labels, seconds(app.took));
        }
        if let Some(at) = app.failed {
            failed = failed.value(&labels, at / 1_000);
        }
    }
    [succeeded, failed, took]
}

fn of_server(shared: &Shared) -> [Metric; 5] {
    let figures = &shared.figures;
    let count = |digit: usize| figures.answers[digit].load(Ordering::Relaxed);
    let took_us = figures.took_us.load(Ordering::Relaxed);
    let mut requests =
        Metric::new("ankus_requests_total", "counter", "Answered requests, by kind of status.");
    for (digit, class) in ["2xx", "3xx", "4xx", "5xx"].into_iter().enumerate() {
        requests = requests.value(&[("class", class)], count(digit + 2));
    }
    let name = "ankus_requests_duration_seconds_total";
    let duration = Metric::new(name, "counter", "Total time that answers took.");
    let began = Metric::new(
        "ankus_start_time_seconds",
        "gauge",
        "When this server started, in seconds since 1970.",
    );
    let mode = Metric::new("ankus_normal_mode", "gauge", "Whether the server is in normal mode.");
    let version = Metric::new("ankus_build_info", "gauge", "The version of the server.");
    [
        requests,
        duration.value(&[], format!("{}.{:06}", took_us / 1_000_000, took_us % 1_000_000)),
        began.value(&[], figures.began),
        mode.value(&[], u8::from(shared.mode() == "NORMAL")),
        version.value(&[("version", env!("CARGO_PKG_VERSION"))], 1),
    ]
}
