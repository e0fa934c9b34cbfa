//! Coordinators: a schedule of EventBridge, the data that a run waits for, and the properties for the workflow.

use super::expression::{Kind, Text, month_start, months, picture, quoted};
use super::states::Machine;
use super::{Printer, template::Schedule};
use crate::carry::airflow::Coordinated;
use crate::carry::airflow::schedule::{quartz, shift, usual, written, zone_of};
use crate::carry::command_line::Command;
use crate::carry::commands::Commands;
use crate::carry::coordinates::{Coordinates, configuration, coordinate};
use crate::carry::instances::current;
use crate::carry::ledger::Outcome;
use crate::carry::{claims, missing, patterns};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use ankus_lang::coordinator::{DataEvent, Definition, Execution, Instances};
use ankus_lang::el::Phase;
use ankus_lang::time::{EndOf, Frequency, Instant, Unit};
use serde_json::json;

/// The state of skipped runs.
pub(super) const PASSED_OVER: &str = "Passed over";

impl<'a> Coordinates<'a> for Printer<'a> {
    fn begin(&mut self, name: Option<&Scalar>) {
        self.now.phase = Phase::CoordinatorActionStart;
        if let Some(name) = name {
            let text = self.say(name);
            self.constants.insert("coord:name", text);
        }
    }

    fn times(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let found = expression(definition);
        let parts = [&coordinator.frequency, &coordinator.start, &coordinator.end];
        let rest = [&coordinator.timezone, &coordinator.unit];
        for scalar in parts.into_iter().chain(rest).flatten() {
            let span = scalar.span();
            match &found {
                Ok(_) => {
                    let reason = "EventBridge starts no runs for nominal times before the schedule was created";
                    let remedy = "start an execution for each of them, with its `nominalTime`";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, remedy);
                }
                Err(why) => {
                    let remedy =
                        "start executions by an external scheduler that passes `nominalTime`";
                    self.now.ledger.claim(span, Outcome::None, why, remedy);
                }
            }
        }
        if let Ok((expression, zone)) = found {
            let schedule = &definition.schedule;
            let seconds = |instant: String| instant.replace('Z', ":00Z");
            let first = schedule.times().next().map_or(schedule.start, |(_, nominal)| nominal);
            let last = schedule.end.plus_seconds(-60);
            self.schedule = Some(Schedule {
                expression,
                zone,
                start: seconds(written(first)),
                end: seconds(written(last)),
            });
            self.is_timed = true;
        }
    }

    fn controls(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let execution = definition.controls.execution;
        for (name, scalar) in &coordinator.controls {
            let span = scalar.span();
            match name.as_str() {
                "timeout" if definition.inputs.is_empty() => self.now.ledger.exact(span),
                "timeout" => {
                    let reason = "it counts from when the state is entered, and the run ends as failed, not as timed out";
                    self.differs(span, reason, "");
                }
                "execution" if execution == Execution::None => {
                    let reason = "runs that are too late still start, and end at once";
                    self.differs(span, reason, "");
                }
                "execution" if execution == Execution::Fifo => {
                    let reason =
                        "executions begin when they are scheduled, and none waits for another";
                    self.now.ledger.claim(span, Outcome::None, reason, "");
                }
                _ => {
                    let reason = "EventBridge starts each execution when it is due, no matter how many are running";
                    let remedy = "if that matters, count the running executions in a first state";
                    self.now.ledger.claim(span, Outcome::None, reason, remedy);
                }
            }
        }
        if execution == Execution::None {
            self.is_timed = true;
            let late = "{% $toMillis($states.context.Execution.StartTime) - $nominal > 60000 %}";
            let choice = json!({
                "Type": "Choice",
                "Choices": [{"Condition": late, "Next": PASSED_OVER}],
            });
            let name = self.name_of("On time?");
            self.taken.insert(PASSED_OVER.to_owned());
            self.gates.push((name, choice));
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
                "write a Lambda function that evaluates the logic",
            );
        }
        let mut assign = serde_json::Map::new();
        let mut waits = Vec::new();
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
                        let remedy = "write a Lambda function that finds the instances";
                        self.now.ledger.whole(element.span(), Outcome::None, &why, remedy);
                    }
                    if place == "input-events" {
                        self.wait_for_unknown(&event.name, &why);
                    }
                    continue;
                }
            };
            self.is_timed = true;
            let letters = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
            let mut variable: String =
                format!("data_{}", event.name).chars().map(letters).take(76).collect();
            while assign.contains_key(&variable) {
                variable.push('_');
            }
            assign.insert(variable.clone(), json!(format!("{{% {uris} %}}")));
            if place == "input-events" {
                if let Some(element) = element {
                    let reason = "a cluster step checks every minute, and fails until all instances are there";
                    self.differs(element.name_span(), reason, "");
                }
                waits.push((event, variable.clone()));
            }
            self.data.insert(event.name.clone(), variable);
        }
        if assign.is_empty() {
            return;
        }
        let name = self.name_of("Data");
        self.gates.push((name, json!({"Type": "Pass", "Assign": assign})));
        for (event, variable) in waits {
            self.wait_for(event, &variable, definition.controls.timeout);
        }
    }

    fn agreement(&mut self, span: Span) {
        self.sla(span);
    }
}

impl<'a> Printer<'a> {
    /// Converts a coordinator. Returns the states that start its workflow if that is not available.
    pub(super) fn coordinator(&mut self, coordinated: Coordinated<'a>) -> Machine {
        let tree = self.now.tree;
        coordinate(self, tree, coordinated);
        let coordinator = coordinated.analysis.coordinator();
        self.texts = configuration(self, tree, coordinator);
        self.start_workflow(coordinator)
    }

    /// Adds a state that fails because it is not known what to wait for: a run without its data is worse than none.
    fn wait_for_unknown(&mut self, event: &str, why: &str) {
        let name = self.name_of(&format!("Wait for {event}"));
        // The template must not find a substitution in the message.
        let why = why.replace("${", "{");
        let message = quoted(&format!("it is not known what to wait for: {why}"));
        let state = json!({"Type": "Pass", "Output": format!("{{% $error({message}) %}}")});
        self.gates.push((name, state));
    }

    /// Adds a step that fails until all instances of an event exist.
    fn wait_for(&mut self, event: &DataEvent, variable: &str, minutes: i64) {
        let name = self.name_of(&format!("Wait for {}", event.name));
        let flag = match event.dataset.flag() {
            "" => String::new(),
            flag => format!("/{flag}"),
        };
        let script = "IFS=,; for uri in $1; do hdfs dfs -test -e \"$uri$2\" || exit 1; done";
        let mut texts: Vec<Text> =
            ["bash", "-c", script, "bash"].into_iter().map(Text::literal).collect();
        texts.push(Text::value(format!("$join(${variable}, ',')"), Kind::Text));
        texts.push(Text::literal(&flag));
        let mut state = self.step(&name, &Command::of(texts));
        let tries = match minutes {
            ..0 => 99_999_999,
            minutes => minutes.min(99_999_999),
        };
        if tries > 0 {
            state["Retry"] = json!([{
                "ErrorEquals": ["States.TaskFailed"],
                "IntervalSeconds": 60,
                "MaxAttempts": tries,
                "BackoffRate": 1,
            }]);
        }
        self.gates.push((name, state));
    }

    fn start_workflow(&mut self, coordinator: &Coordinator) -> Machine {
        let mut machine = Machine::default();
        let Some(app) = &coordinator.app_path else { return machine };
        let path = self.say(app);
        if self.given.analysis.is_some() {
            self.texts.insert("oozie.wf.application.path".to_owned(), path);
            return machine;
        }
        let all = (self.given.properties, self.given.secrets);
        let name = &claims::folder_of(path.known(), app, all);
        let reason = format!(
            "its workflow is not among the converted files, so that a state machine named `{name}` is started"
        );
        let remedy = "convert the workflow together with its coordinator, or provide a state machine of that name";
        self.now.ledger.claim(app.span(), Outcome::None, &reason, remedy);
        let input: serde_json::Map<_, _> =
            self.texts.iter().map(|(name, text)| (name.clone(), json!(text.field()))).collect();
        let state = json!({
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "Arguments": {
                "StateMachineArn": format!("${{{}}}", self.machine(name)),
                "Input": input,
            },
            "End": true,
        });
        machine.start = self.name_of("Workflow");
        machine.states.insert(machine.start.clone(), state);
        machine
    }
}

/// Returns the schedule for EventBridge: an expression and its time zone.
fn expression(definition: &Definition) -> Result<(String, String), String> {
    let schedule = &definition.schedule;
    let first = schedule.times().next().map(|(_, nominal)| nominal);
    let first =
        first.ok_or_else(|| "it has no nominal time between its start and its end".to_owned())?;
    match &schedule.frequency {
        Frequency::Cron(cron) => {
            if let Some(why) = shift(schedule, cron) {
                return Err(why.to_owned());
            }
            // Sunday is 1 in both.
            let fields = quartz(cron, "EventBridge")?;
            Ok((format!("cron({} *)", fields.join(" ")), "UTC".to_owned()))
        }
        Frequency::Every { count, unit, end_of } => {
            if let Some((cron, in_zone)) = usual(schedule, *count, *unit, *end_of, first) {
                let zone = if in_zone { zone_of(&schedule.zone)? } else { "UTC".to_owned() };
                return Ok((from_unix(&cron), zone));
            }
            let is_even = match unit {
                Unit::Minute | Unit::Hour => true,
                Unit::Day => schedule.zone.is_fixed() && *end_of == EndOf::None,
                _ => false,
            };
            if !is_even || *count < 1 {
                return Err("no EventBridge expression matches these times".to_owned());
            }
            let word = match unit {
                Unit::Minute => "minute",
                Unit::Hour => "hour",
                _ => "day",
            };
            let many = if *count == 1 { "" } else { "s" };
            Ok((format!("rate({count} {word}{many})"), "UTC".to_owned()))
        }
    }
}

/// Converts a cron expression of Unix to one of EventBridge.
fn from_unix(cron: &str) -> String {
    let fields: Vec<&str> = cron.split(' ').collect();
    let step = |field: &str| match field.split_once('/') {
        Some((from, step)) => {
            let from = from.split('-').next().unwrap_or("0").replace('*', "0");
            format!("{from}/{step}")
        }
        None => field.to_owned(),
    };
    let weekday = fields.get(4).and_then(|day| day.parse::<u8>().ok());
    let [minute, hour, day, month] = [0, 1, 2, 3].map(|at| fields.get(at).copied().unwrap_or("*"));
    let (day, weekday) = match weekday {
        // Sunday is 0 in Unix, and 1 in EventBridge.
        Some(weekday) => ("?".to_owned(), (weekday + 1).to_string()),
        None => (day.to_owned(), "?".to_owned()),
    };
    format!("cron({} {} {day} {month} {weekday} *)", step(minute), step(hour))
}

/// Returns JSONata for the list of URIs of an event.
fn uris(event: &DataEvent, definition: &Definition) -> Result<String, String> {
    let data = &event.dataset;
    let zone = ankus_lang::time::Zone::from_id(&data.timezone)
        .map_err(|_| "its time zone is not known")?;
    if data.end_of != EndOf::None {
        return Err("JSONata cannot count from the ends of days or months".to_owned());
    }
    let initial = definition.schedule.processing.parse(&data.initial_instance);
    let initial: Instant = initial.map_err(|_| "its initial instance is not known")?;
    let start = written(initial);
    let is_utc = zone.is_fixed() && zone.offset_seconds(initial) == 0;
    let every = data.frequency;
    let even = |length: i64| {
        let (initial, every) = (initial.0 * 1000, every * length);
        let index = format!("$floor(($nominal - {initial}) / {every})");
        let instant = format!("{initial} + ({index} + $n) * {every}");
        (index, instant)
    };
    let (index, instant) = match data.unit {
        Unit::Minute => even(60_000),
        Unit::Hour => even(3_600_000),
        Unit::Day if zone.is_fixed() => even(86_400_000),
        Unit::Month if is_utc && start.ends_with("-01T00:00Z") => {
            let number = |from: usize, to: usize| start.get(from..to).and_then(|n| n.parse().ok());
            let (year, month): (Option<i64>, Option<i64>) = (number(0, 4), number(5, 7));
            let base = year.zip(month).map(|(year, month)| year * 12 + month - 1);
            let base = base.ok_or("its initial instance is not known")?;
            let index = format!("$floor(({} - {base}) / {every})", months("$nominal"));
            let instant = month_start(&format!("({base} + ({index} + $n) * {every})"));
            (index, instant)
        }
        _ => {
            return Err(
                "steps of months from another day than the first, or of days in a time zone with clock changes, cannot be computed there"
                    .to_owned(),
            );
        }
    };
    let template = &data.uri_template;
    if template.starts_with("hcat:") {
        return Err("partitions in HCatalog are not checked".to_owned());
    }
    let pieces = patterns::of_uri(template)
        .ok_or_else(|| format!("`{template}` contains more than parts of a date"))?;
    let picture = picture(&pieces);
    let list = match &event.instances {
        Instances::Range(first, last) => {
            let (first, last) = (current(first, definition)?, current(last, definition)?);
            if first > last {
                return Err("its range is empty".to_owned());
            }
            // The newest instance comes first, as on the server.
            format!("$reverse([{first}..{last}])")
        }
        Instances::List(all) => {
            let all: Result<Vec<String>, String> =
                all.iter().map(|text| Ok(current(text, definition)?.to_string())).collect();
            format!("[{}]", all?.join(", "))
        }
    };
    // There are no instances before the initial instance. An array is not undefined if it has no elements.
    Ok(format!(
        "[$map({list}[{index} + $ >= 0], function($n) {{ $fromMillis({instant}, {}) }})]",
        quoted(&picture)
    ))
}
