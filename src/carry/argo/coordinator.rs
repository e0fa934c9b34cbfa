//! Coordinators: the schedule, the data that a run waits for, and the properties for the workflow.

use super::expression::{Kind, NOMINAL, Part, Text, formatted};
use super::schedule::{in_numbers, times};
use super::{Printer, resource};
use crate::carry::airflow::Coordinated;
use crate::carry::airflow::schedule::written;
use crate::carry::commands::Commands;
use crate::carry::coordinates::{Coordinates, configuration, coordinate};
use crate::carry::instances::current;
use crate::carry::ledger::Outcome;
use crate::carry::yaml::{Yaml, map, named, text};
use crate::carry::{claims, missing, patterns};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use ankus_lang::coordinator::{DataEvent, Definition, Execution, Instances};
use ankus_lang::el::Phase;
use ankus_lang::time::{EndOf, Unit};

/// How late a missed run may begin, in seconds: a day.
const LATEST: i64 = 86_400;

/// What surrounds the tasks of a workflow that a coordinator starts.
#[derive(Default)]
pub(super) struct Run {
    /// Tasks that wait for data.
    waits: Vec<String>,
    /// The parameters of the workflow: names and values.
    data: Vec<(String, String)>,
    /// Maximum number of concurrent runs; 0 for no limit.
    concurrency: i64,
    /// Fields of the specification of the `CronWorkflow`; none if nothing starts it.
    cron: Option<Yaml>,
}

impl Run {
    /// Returns the templates that come first.
    pub(super) fn templates(&self, name: &str, tasks: Vec<Yaml>) -> Vec<Yaml> {
        let dag = map([("tasks", Yaml::List(tasks))]);
        if self.waits.is_empty() && self.data.is_empty() && self.concurrency == 0 {
            return vec![named("main").and("dag", dag)];
        }
        let mut all: Vec<Yaml> =
            self.waits.iter().map(|wait| named(wait).and("template", text(wait))).collect();
        let parameter = |(name, value): &(String, String)| named(name).and("value", text(value));
        let given: Vec<Yaml> = self.data.iter().map(parameter).collect();
        let mut task = named("workflow").and("template", text("flow"));
        let mut flow = named("flow");
        if !given.is_empty() {
            task = task.and("arguments", map([("parameters", Yaml::List(given))]));
            let inputs = self.data.iter().map(|(name, _)| named(name)).collect();
            flow = flow.and("inputs", map([("parameters", Yaml::List(inputs))]));
        }
        if !self.waits.is_empty() {
            let before: Vec<String> =
                self.waits.iter().map(|wait| format!("{wait}.Succeeded")).collect();
            task = task.and("depends", text(before.join(" && ")));
        }
        all.push(task);
        let lock = match self.concurrency {
            0 => None,
            1 => Some(("mutexes", named(name))),
            _ => {
                let key = map([("name", text(limits(name))), ("key", text("concurrency"))]);
                Some(("semaphores", map([("configMapKeyRef", key)])))
            }
        };
        if let Some((kind, lock)) = lock {
            flow = flow.and("synchronization", map([(kind, Yaml::List(vec![lock]))]));
        }
        let main = named("main").and("dag", map([("tasks", Yaml::List(all))]));
        vec![main, flow.and("dag", dag)]
    }

    /// Returns the resources in addition to the template.
    pub(super) fn resources(&self, name: &str) -> Vec<Yaml> {
        let mut all = Vec::new();
        if self.concurrency > 1 {
            let data = map([("concurrency", text(self.concurrency.to_string()))]);
            all.push(resource("ConfigMap", &limits(name), "data", data));
        }
        if let Some(cron) = &self.cron {
            let time = named("nominal-time").and("value", text("{{workflow.scheduledTime}}"));
            let arguments = map([("parameters", Yaml::List(vec![time]))]);
            let spec = map([("workflowTemplateRef", named(name)), ("arguments", arguments)]);
            all.push(resource(
                "CronWorkflow",
                name,
                "spec",
                cron.clone().and("workflowSpec", spec),
            ));
        }
        all
    }
}

fn limits(name: &str) -> String {
    format!("{name}-limits")
}

impl<'a> Coordinates<'a> for Printer<'a> {
    fn begin(&mut self, name: Option<&Scalar>) {
        self.now.phase = Phase::CoordinatorActionStart;
        if let Some(name) = name {
            let text = self.say(name);
            self.constants.insert("coord:name", text);
        }
    }

    fn times(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let found = times(definition);
        let parts = [&coordinator.frequency, &coordinator.start, &coordinator.end];
        let rest = [&coordinator.timezone, &coordinator.unit];
        for scalar in parts.into_iter().chain(rest).flatten() {
            match &found {
                Ok(times) => {
                    let reason = "of the nominal times missed while the controller was down, only the latest is made up for, if it is at most a day old";
                    let remedy =
                        "submit the template for each of the others, with its `nominal-time`";
                    self.differs(scalar.span(), times.differs.unwrap_or(reason), remedy);
                }
                Err(why) => {
                    let remedy =
                        "submit the template by an external scheduler that passes `nominal-time`";
                    self.now.ledger.claim(scalar.span(), Outcome::None, why, remedy);
                }
            }
        }
        let (Ok(times), Some(run)) = (found, &mut self.run) else { return };
        let schedule = &definition.schedule;
        let seconds = |instant| written(instant).replace('Z', ":00Z");
        let first = schedule.times().next().map_or(schedule.start, |(_, nominal)| nominal);
        let (first, end) = (seconds(first), seconds(schedule.end));
        let when = format!("{{{{=now() >= date('{first}') and now() < date('{end}')}}}}");
        let deadline = match definition.controls.execution {
            Execution::None => 60,
            _ => LATEST,
        };
        run.cron = Some(map([
            (
                "schedules",
                Yaml::List(times.crons.iter().map(|cron| text(in_numbers(cron))).collect()),
            ),
            ("timezone", text(times.zone)),
            ("when", text(when)),
            ("concurrencyPolicy", text("Allow")),
            ("startingDeadlineSeconds", Yaml::Plain(deadline.to_string())),
        ]));
    }

    fn controls(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let controls = &definition.controls;
        if let Some(run) = &mut self.run {
            run.concurrency = controls.concurrency.max(0);
        }
        for (name, scalar) in &coordinator.controls {
            let span = scalar.span();
            match (name.as_str(), controls.execution) {
                ("timeout", _) if definition.inputs.is_empty() => self.now.ledger.exact(span),
                ("timeout", _) => {
                    let reason = "it counts from when the task begins, and the run ends as failed, not as timed out";
                    self.differs(span, reason, "");
                }
                ("concurrency", _) => {
                    let reason = "only the tasks of the workflow take the lock: runs that wait for it have already been created";
                    self.differs(span, reason, "");
                }
                ("execution", Execution::Fifo) => {
                    let reason = "waiting runs start in the order in which they were created, not by nominal time";
                    self.differs(span, reason, "");
                }
                ("execution", Execution::LastOnly) => {
                    let reason = "of the missed runs only the latest is made up for, but every run that waits for another one is started";
                    self.differs(span, reason, "");
                }
                ("execution", Execution::None) => {
                    let reason =
                        "a run counts as late if it was missed, but not if it waited for data";
                    self.differs(span, reason, "");
                }
                ("execution", _) => {
                    let reason = "Argo starts the oldest waiting run first";
                    self.now.ledger.claim(
                        span,
                        Outcome::None,
                        reason,
                        "set `priority` on the workflows by hand",
                    );
                }
                _ => {
                    let reason =
                        "Argo creates each run when it is due, no matter how many are waiting";
                    let remedy = "if that matters, limit the number of workflows in the namespace";
                    self.now.ledger.claim(span, Outcome::None, reason, remedy);
                }
            }
        }
    }

    fn data(&mut self, coordinator: &Coordinator, definition: &Definition, files: &[String]) {
        let Some(root) = self.now.tree.root() else { return };
        for name in ["datasets", "input-events", "output-events"] {
            if let Some(element) = root.child(name) {
                self.now.ledger.whole(element.span(), Outcome::Exact, "", "");
            }
        }
        missing::claim(&mut self.now.ledger, coordinator, definition, files);
        for event in coordinator.inputs.iter().filter(|event| event.instances.is_empty()) {
            self.now.ledger.exact(event.tag);
        }
        if let Some(logic) = root.child("input-logic") {
            let reason = "runs wait for all inputs, whatever the input logic says";
            self.now.ledger.whole(
                logic.span(),
                Outcome::None,
                reason,
                "write a script that evaluates the logic",
            );
        }
        let inputs = definition.inputs.iter().map(|event| (event, "input-events"));
        let outputs = definition.outputs.iter().map(|event| (event, "output-events"));
        for (event, place) in inputs.chain(outputs) {
            let element = claims::event(root, &[place], &event.name);
            let uris = match missing::is_missing(event) {
                true => Err(missing::reason(event, files)),
                false => uris(event, definition),
            };
            let uris = match uris {
                Ok(uris) => uris,
                Err(why) => {
                    if let Some(element) = element {
                        let remedy = "write a script that finds the instances";
                        self.now.ledger.whole(element.span(), Outcome::None, &why, remedy);
                    }
                    if place == "input-events" {
                        self.wait_for_unknown(&event.name, &why);
                    }
                    continue;
                }
            };
            if let (Some(element), "input-events") = (element, place) {
                let reason = "a container checks the instances one after another, every minute";
                self.differs(element.name_span(), reason, "");
                self.wait_for(event, &uris, definition.controls.timeout);
            }
            let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            let mut name: String = "data-".chars().chain(event.name.chars().map(fits)).collect();
            let Some(run) = &mut self.run else { continue };
            while run.data.iter().any(|(other, _)| *other == name) {
                name.push('-');
            }
            self.data.insert(event.name.clone(), format!("inputs.parameters['{name}']"));
            run.data.push((name, format!("{{{{={uris}}}}}")));
        }
    }

    fn agreement(&mut self, span: Span) {
        self.sla(span);
    }
}

impl<'a> Printer<'a> {
    /// Converts a coordinator. Returns the tasks that start its workflow if that is not available.
    pub(super) fn coordinator(&mut self, coordinated: Coordinated<'a>) -> Vec<Yaml> {
        let tree = self.now.tree;
        self.run = Some(Run::default());
        coordinate(self, tree, coordinated);
        let coordinator = coordinated.analysis.coordinator();
        self.texts = configuration(self, tree, coordinator);
        self.start_workflow(coordinator)
    }

    /// Adds a container that fails because it is not known what to wait for: a run without its data is worse than none.
    fn wait_for_unknown(&mut self, event: &str, why: &str) {
        let name = self.name_of(&format!("wait-for-{event}"));
        let message = format!("it is not known what to wait for: {why}");
        let words = ["sh", "-c", "echo \"$1\" >&2; exit 1", "sh", &message].map(Text::literal);
        let ((field, container), _) = self.container("python-image", words.to_vec());
        self.templates.push(named(&name).and(field, container));
        if let Some(run) = &mut self.run {
            run.waits.push(name);
        }
    }

    /// Adds a container that ends when all instances of an event exist.
    fn wait_for(&mut self, event: &DataEvent, uris: &str, minutes: i64) {
        let name = self.name_of(&format!("wait-for-{}", event.name));
        let flag = match event.dataset.flag() {
            "" => String::new(),
            flag => format!("/{flag}"),
        };
        let script = match minutes {
            0 => "IFS=,\nfor uri in $1; do\n  hdfs dfs -test -e \"$uri$2\" || exit 1\ndone\n",
            _ => {
                "IFS=,\nfor uri in $1; do\n  until hdfs dfs -test -e \"$uri$2\"; do sleep 60; done\ndone\n"
            }
        };
        let mut words = ["bash", "-c", script, "bash"].map(Text::literal).to_vec();
        words.extend([Text::value(uris, Kind::Text), Text::literal(&flag)]);
        let ((field, container), _) = self.container("hadoop-image", words);
        let mut template = named(&name);
        if minutes > 0 {
            let seconds = minutes.saturating_mul(60).min(i64::from(i32::MAX));
            template = template.and("activeDeadlineSeconds", Yaml::Plain(seconds.to_string()));
        }
        self.templates.push(template.and(field, container));
        if let Some(run) = &mut self.run {
            run.waits.push(name);
        }
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
            "its workflow is not among the converted files, so that a template named `{name}` is started"
        );
        let remedy = "convert the workflow together with its coordinator, or provide a template of that name";
        self.now.ledger.claim(app.span(), Outcome::None, &reason, remedy);
        let hidden = &self.hidden;
        let shown = self.texts.iter().filter(|(_, text)| {
            let is_hidden =
                |part: &Part| matches!(part, Part::Value((code, _)) if hidden.contains_key(code));
            !text.parts.iter().any(is_hidden)
        });
        let pairs = shown.map(|(name, text)| (name.clone(), text.clone())).collect();
        vec![self.starting(name, pairs)]
    }
}

/// Returns code for the URIs of an event, separated by commas.
fn uris(event: &DataEvent, definition: &Definition) -> Result<String, String> {
    let data = &event.dataset;
    let zone = ankus_lang::time::Zone::from_id(&data.timezone)
        .map_err(|_| "its time zone is not known")?;
    if data.end_of != EndOf::None {
        return Err("instances at the ends of days or months cannot be computed there".to_owned());
    }
    let initial = definition.schedule.processing.parse(&data.initial_instance);
    let initial = initial.map_err(|_| "its initial instance is not known")?;
    let start = written(initial).replace('Z', ":00Z");
    let is_utc = zone.is_fixed() && zone.offset_seconds(initial) == 0;
    let every = data.frequency;
    let seconds = |length: i64| {
        let every = every * length;
        let index = format!(
            "int(floor((date(workflow.parameters['nominal-time']).Unix() - {}) / {every}))",
            initial.0
        );
        (index, format!("date('{start}') + duration(string((i + #) * {every}) + 's')"))
    };
    let (index, instant) = match data.unit {
        Unit::Minute => seconds(60),
        Unit::Hour => seconds(3600),
        Unit::Day if zone.is_fixed() => seconds(86_400),
        Unit::Month if is_utc && start.ends_with("-01T00:00:00Z") => {
            let number = |from: usize, to: usize| start.get(from..to).and_then(|n| n.parse().ok());
            let (year, month): (Option<i64>, Option<i64>) = (number(0, 4), number(5, 7));
            let base = year.zip(month).map(|(year, month)| year * 12 + month);
            let base = base.ok_or("its initial instance is not known")?;
            let months = format!("{NOMINAL}.Year() * 12 + int({NOMINAL}.Format('1')) - {base}");
            let index = format!("int(floor(({months}) / {every}))");
            (index, format!("date('{start}').AddDate(0, (i + #) * {every}, 0)"))
        }
        _ => {
            return Err(
                "steps of months, or of days in a time zone with clock changes, cannot be computed there"
                    .to_owned(),
            );
        }
    };
    let list = match &event.instances {
        Instances::Range(first, last) => {
            let (first, last) = (current(first, definition)?, current(last, definition)?);
            if first > last {
                return Err("its range is empty".to_owned());
            }
            // The newest instance comes first, as on the server.
            format!("map(0..{}, {last} - #)", last - first)
        }
        Instances::List(all) => {
            let all: Result<Vec<String>, String> =
                all.iter().map(|text| Ok(current(text, definition)?.to_string())).collect();
            format!("[{}]", all?.join(", "))
        }
    };
    let uri = uri(&data.uri_template)?;
    // There are no instances before the initial instance.
    Ok(format!(
        "let i = {index}; join(map(map(filter({list}, i + # >= 0), {instant}), {uri}), ',')"
    ))
}

/// Returns code that computes a URI from an instant.
fn uri(template: &str) -> Result<String, String> {
    if template.starts_with("hcat:") {
        return Err("partitions in HCatalog are not checked".to_owned());
    }
    let pieces = patterns::of_uri(template)
        .ok_or_else(|| format!("`{template}` contains more than parts of a date"))?;
    Ok(formatted("#", &pieces))
}
