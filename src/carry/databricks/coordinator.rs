//! Coordinators: the schedule, and the properties for the workflow.

use super::Printer;
use super::expression::{READ, is_sheltered, printed};
use crate::carry::airflow::{Coordinated, schedule};
use crate::carry::argo::schedule::times;
use crate::carry::coordinates::{Coordinates, configuration, coordinate};
use crate::carry::ledger::Outcome;
use crate::carry::yaml::{Yaml, map, text};
use crate::carry::{claims, missing};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use ankus_lang::coordinator::{Definition, Execution};
use ankus_lang::el::Phase;
use ankus_lang::time::Frequency;

const BY_HAND: &str =
    "start the job by an external scheduler that passes `nominal_time` and `nominal_date`";

/// The maximum number of concurrent runs of a job on Databricks.
const MOST: i64 = 1000;

impl<'a> Coordinates<'a> for Printer<'a> {
    fn begin(&mut self, name: Option<&Scalar>) {
        self.now.phase = Phase::CoordinatorActionStart;
        if let Some(name) = name {
            let text = self.say(name);
            self.constants.insert("coord:name", text);
        }
    }

    fn times(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let found = match &definition.schedule.frequency {
            Frequency::Cron(cron) => schedule::quartz(cron, "Quartz").map(|fields| {
                let differs = schedule::shift(&definition.schedule, cron);
                (format!("0 {}", fields.join(" ")), "UTC".to_owned(), differs)
            }),
            Frequency::Every { .. } => times(definition).and_then(|times| match &times.crons[..] {
                [cron] => Ok((quartz(cron)?, times.zone.clone(), times.differs)),
                _ => Err("no single cron expression matches these times".to_owned()),
            }),
        };
        for scalar in [&coordinator.frequency, &coordinator.timezone, &coordinator.unit] {
            let Some(scalar) = scalar else { continue };
            match &found {
                Ok((_, _, differs)) => {
                    let reason = "nominal times that pass before the job is deployed, or while it is paused, are not made up for";
                    let remedy = "run a backfill with `nominal_time` and `nominal_date`";
                    self.approximate(scalar.span(), differs.unwrap_or(reason), remedy);
                }
                Err(why) => self.now.ledger.claim(scalar.span(), Outcome::None, why, BY_HAND),
            }
        }
        let bounds = [
            (
                &coordinator.start,
                "the schedule applies as soon as the job is deployed",
                "deploy it at its start",
            ),
            (&coordinator.end, "the schedule of a job has no end", "pause it by hand at its end"),
        ];
        for (scalar, reason, remedy) in bounds {
            if let Some(scalar) = scalar {
                self.approximate(scalar.span(), reason, remedy);
            }
        }
        if let Ok((cron, zone, _)) = found {
            // A run without its data is worse than none.
            let status = if definition.inputs.is_empty() { "UNPAUSED" } else { "PAUSED" };
            let schedule = map([
                ("quartz_cron_expression", text(cron)),
                ("timezone_id", text(zone)),
                ("pause_status", text(status)),
            ]);
            self.set("schedule", schedule);
        }
    }

    fn controls(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let controls = &definition.controls;
        let many = if controls.concurrency > 0 { controls.concurrency.min(MOST) } else { MOST };
        let queues = matches!(controls.execution, Execution::Fifo | Execution::Lifo);
        self.set("max_concurrent_runs", Yaml::Plain(many.to_string()));
        self.set("queue", map([("enabled", Yaml::Plain(queues.to_string()))]));
        for (name, scalar) in &coordinator.controls {
            let span = scalar.span();
            match (name.as_str(), controls.execution) {
                ("timeout", _) if definition.inputs.is_empty() => self.now.ledger.exact(span),
                ("timeout", _) => {
                    let reason = "the job does not wait for data";
                    self.now.ledger.claim(
                        span,
                        Outcome::None,
                        reason,
                        "set a time-out where the data is waited for",
                    );
                }
                ("concurrency", _) if (1..=MOST).contains(&controls.concurrency) => {
                    self.now.ledger.exact(span);
                }
                ("concurrency", _) => {
                    self.approximate(span, "a job has at most 1000 concurrent runs", "");
                }
                ("execution", Execution::Fifo) => {
                    let reason = "a run waits in the queue for at most 48 hours";
                    self.approximate(span, reason, "");
                }
                ("execution", Execution::LastOnly | Execution::None) => {
                    let reason = "a run is skipped while the maximum number is running, even if no later one is due";
                    self.approximate(span, reason, "");
                }
                ("execution", _) => {
                    let reason = "the queue starts the oldest run first";
                    self.now.ledger.claim(
                        span,
                        Outcome::None,
                        reason,
                        "start the runs by an external scheduler",
                    );
                }
                _ => {
                    let reason = "Databricks creates each run when it is due, no matter how many are waiting";
                    let remedy = "if that matters, set `queue.enabled` to `false`";
                    self.now.ledger.claim(span, Outcome::None, reason, remedy);
                }
            }
        }
    }

    /// Reports input and output data, whose only counterparts are triggers on tables and files.
    fn data(&mut self, coordinator: &Coordinator, definition: &Definition, files: &[String]) {
        let Some(root) = self.now.tree.root() else { return };
        for event in coordinator.inputs.iter().filter(|event| event.instances.is_empty()) {
            self.now.ledger.exact(event.tag);
        }
        let reason = "the job does not wait for instances of datasets, and its schedule is paused";
        let remedy =
            "set `trigger.file_arrival` on a volume, or begin with a task that checks for them";
        for name in ["datasets", "input-events", "input-logic"] {
            if let Some(element) = root.child(name) {
                self.now.ledger.whole(element.span(), Outcome::None, reason, remedy);
            }
        }
        if let Some(element) = root.child("output-events") {
            let reason = "instances of datasets are not computed";
            let remedy = "pass the paths as job parameters";
            self.now.ledger.whole(element.span(), Outcome::None, reason, remedy);
        }
        missing::claim(&mut self.now.ledger, coordinator, definition, files);
    }

    fn agreement(&mut self, span: Span) {
        self.sla(span);
    }
}

impl<'a> Printer<'a> {
    /// Converts a coordinator. Returns the tasks that start its workflow if that is not available.
    pub(super) fn coordinator(&mut self, coordinated: Coordinated<'a>) -> Vec<Yaml> {
        let tree = self.now.tree;
        coordinate(self, tree, coordinated);
        let coordinator = coordinated.analysis.coordinator();
        self.texts = configuration(self, tree, coordinator);
        self.lack = None;
        self.start_workflow(coordinator)
    }

    fn set(&mut self, key: &str, value: Yaml) {
        self.settings = std::mem::replace(&mut self.settings, map([])).and(key, value);
    }

    fn approximate(&mut self, span: Span, reason: &str, remedy: &str) {
        self.now.ledger.claim(span, Outcome::Approximate, reason, remedy);
    }

    fn start_workflow(&mut self, coordinator: &Coordinator) -> Vec<Yaml> {
        let Some(app) = &coordinator.app_path else { return Vec::new() };
        let path = self.say(app);
        if self.given.analysis.is_some() {
            self.texts.insert("oozie.wf.application.path".to_owned(), path);
            return Vec::new();
        }
        let all = (self.given.properties, self.given.secrets);
        let name = &claims::folder_of(path.known(), app, all);
        let reason = format!(
            "its workflow is not among the converted files, so that a job named `{name}` is started"
        );
        let remedy =
            "convert the workflow together with its coordinator, or provide a job of that name";
        self.now.ledger.claim(app.span(), Outcome::None, &reason, remedy);
        let texts = self.texts.iter().filter(|(_, text)| text.lacks.is_empty());
        let pairs = texts.map(|(name, text)| (super::key(name), printed(text)));
        let pairs = pairs.filter(|(_, value)| !super::actions::is_for_programs(value)).collect();
        let lost = self.texts.values().flat_map(|text| &text.lacks).next().cloned();
        let is_read = self.texts.values().any(|text| is_sheltered(&printed(text)));
        let lost = lost.or_else(|| is_read.then(|| READ.to_owned()));
        let what = match lost {
            Some(why) => Self::refused(&why),
            None => self.starting(name, None, pairs),
        };
        let own = self.key_of("start_workflow");
        vec![super::graph::task(&own, Vec::new(), None, what)]
    }
}

/// Converts a cron expression of five fields to one of Quartz, which has seconds, and `?` for one of the two day
/// fields.
fn quartz(cron: &str) -> Result<String, String> {
    let fields: Vec<&str> = cron.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(format!("`{cron}` is not a cron expression of five fields"));
    };
    let names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"];
    let named = |word: &str| match word.parse::<usize>() {
        Ok(number) => names.get(number).map(|name| (*name).to_owned()),
        Err(_) => Some(word.to_owned()),
    };
    let one = |part: &str| -> Option<String> {
        let (range, step) = part.split_once('/').map_or((part, None), |(a, b)| (a, Some(b)));
        let all: Option<Vec<String>> = range.split('-').map(named).collect();
        let range = all?.join("-");
        Some(step.map_or(range.clone(), |step| format!("{range}/{step}")))
    };
    match (day, weekday) {
        (_, "*" | "?") => Ok(format!("0 {minute} {hour} {day} {month} ?")),
        ("*" | "?", _) => {
            let days: Option<Vec<String>> = weekday.split(',').map(one).collect();
            let days = days.ok_or_else(|| format!("`{weekday}` is not a day of the week"))?;
            Ok(format!("0 {minute} {hour} ? {month} {}", days.join(",")))
        }
        _ => Err("Quartz accepts days of the month or of the week, not both".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn five_fields_become_six() {
        assert_eq!(super::quartz("30 2 * * *").as_deref(), Ok("0 30 2 * * ?"));
        assert_eq!(super::quartz("0 0 * * 1-5,0").as_deref(), Ok("0 0 0 ? * MON-FRI,SUN"));
        assert!(super::quartz("0 0 1 * 1").is_err());
    }
}
