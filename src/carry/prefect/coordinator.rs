//! Coordinators: the schedule of a flow, the data that a run waits for, and the properties for the workflow.

use super::python::{laid_out, neutral};
use super::{Printer, flow_name};
use crate::carry::airflow::Coordinated;
use crate::carry::airflow::coordinator::{dataset, logic};
use crate::carry::airflow::python::{Value, identifier, quoted};
use crate::carry::airflow::schedule::{croniter, shift, usual, written, zone_of};
use crate::carry::coordinates::{Coordinates, configuration, coordinate};
use crate::carry::ledger::Outcome;
use crate::carry::{claims, instances, missing};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use ankus_lang::coordinator::{DataEvent, Definition, Execution, Instances};
use ankus_lang::el::Phase;
use ankus_lang::time::{EndOf, Frequency, Instant, Unit, Zone};
use std::collections::BTreeSet;

/// When a flow runs.
struct Times {
    /// A schedule of Prefect.
    schedule: Value,
    /// How it differs from the schedule of the coordinator, if it does.
    differs: Option<&'static str>,
}

impl<'a> Coordinates<'a> for Printer<'a> {
    fn begin(&mut self, name: Option<&Scalar>) {
        self.now.phase = Phase::CoordinatorActionStart;
        if let Some(name) = name {
            let text = self.say_code(name);
            self.constants.insert("coord:name", text);
        }
    }

    fn times(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let parts = [&coordinator.frequency, &coordinator.timezone, &coordinator.unit];
        let all: Vec<Span> = parts.into_iter().flatten().map(Scalar::span).collect();
        let ends = [&coordinator.start, &coordinator.end];
        match times(definition) {
            Ok(found) => {
                for span in &all {
                    match found.differs {
                        Some(why) => self.now.ledger.claim(*span, Outcome::Approximate, why, ""),
                        None => self.now.ledger.exact(*span),
                    }
                }
                let name = flow_name(self.given.name);
                self.serve = Some(vec![
                    ("name".to_owned(), Value::text(name)),
                    ("schedules".to_owned(), Value::List(vec![found.schedule])),
                ]);
            }
            Err(why) => {
                let remedy = "serve the flow with a schedule of your own";
                all.iter()
                    .for_each(|span| self.now.ledger.claim(*span, Outcome::None, &why, remedy));
            }
        }
        let reason = "Prefect creates no runs for nominal times that have passed";
        let remedy = "run the flow with `nominal_time` for each of them";
        for (at, scalar) in ends.into_iter().enumerate() {
            let Some(scalar) = scalar else { continue };
            match at {
                0 => self.now.ledger.claim(scalar.span(), Outcome::Approximate, reason, remedy),
                _ => self.now.ledger.exact(scalar.span()),
            }
        }
        let (start, end) = (definition.schedule.start, definition.schedule.end);
        let (start, end) = (quoted(&written(start), '"'), quoted(&written(end), '"'));
        self.head.push(format!("if not run.is_due({start}, {end}):"));
        self.head.extend(
            [
                "    return Completed(",
                "        name=\"Skipped\", message=\"outside the start and end of the coordinator\"",
                "    )",
            ]
            .map(str::to_owned),
        );
    }

    fn controls(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let controls = &definition.controls;
        let waits = !definition.inputs.is_empty();
        if let Some(serve) = &mut self.serve {
            let most = if controls.concurrency < 1 { 1000 } else { controls.concurrency };
            serve.push(("limit".to_owned(), Value::code(most.to_string())));
        }
        for (name, scalar) in &coordinator.controls {
            let span = scalar.span();
            match name.as_str() {
                "timeout" if waits => {
                    let reason = "it counts from when the run begins, and the run ends as failed";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, "");
                }
                "concurrency" | "throttle" if waits => {
                    let reason = "runs that wait for data count as active";
                    let remedy = "raise `limit` if data arrives late or out of order";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, remedy);
                }
                "execution" if controls.execution != Execution::Fifo => {
                    let reason = "Prefect starts every run that is due, the oldest first";
                    self.now.ledger.claim(span, Outcome::None, reason, "pause the deployment");
                }
                _ => self.now.ledger.exact(span),
            }
        }
    }

    /// Adds datasets, the instances of a run, and the nodes that wait for them.
    fn data(&mut self, coordinator: &Coordinator, definition: &Definition, files: &[String]) {
        let Some(root) = self.now.tree.root() else { return };
        for name in ["datasets", "input-events", "output-events"] {
            if let Some(element) = root.child(name) {
                self.now.ledger.whole(element.span(), Outcome::Exact, "", "");
            }
        }
        missing::claim(&mut self.now.ledger, coordinator, definition, files);
        let logic =
            root.child("input-logic").and_then(|element| match logic(definition, &identifier) {
                Ok(found) => {
                    if definition.logic.iter().flatten().any(|part| part.wait.is_some()) {
                        let reason = "`wait` counts from when the run begins";
                        self.now.ledger.whole(element.span(), Outcome::Approximate, reason, "");
                    } else {
                        self.now.ledger.whole(element.span(), Outcome::Exact, "", "");
                    }
                    Some(found)
                }
                Err(why) => {
                    let remedy = "runs wait for all inputs; write the logic by hand";
                    self.now.ledger.whole(element.span(), Outcome::None, &why, remedy);
                    None
                }
            });
        for dataset in &coordinator.datasets {
            if let Some(template) = &dataset.uri_template
                && template.as_str().starts_with("hcat:")
            {
                let reason = "partitions in HCatalog are not checked";
                let remedy = "query the metastore in the step that waits";
                self.now.ledger.claim(template.span(), Outcome::None, reason, remedy);
            }
        }
        let mut known = BTreeSet::new();
        let inputs = definition.inputs.iter().map(|event| (event, true));
        let outputs = definition.outputs.iter().map(|event| (event, false));
        for (event, is_input) in inputs.chain(outputs) {
            let window = self.window(event, definition);
            let name = identifier(&event.dataset.name).to_uppercase();
            if known.insert(name.clone()) {
                let Some(dataset) = dataset(event, definition, files) else { continue };
                let before = name.chars().count() + 3;
                let dataset = laid_out(&dataset, 0, before, 0);
                self.before.push(format!("{name} = {dataset}"));
            }
            let own = identifier(&event.name);
            let code = format!("{}_DATA", own.to_uppercase());
            let looks = window.iter().any(|(_, value)| {
                let text = value.print(0);
                text.contains("latest(") || text.contains("future(")
            });
            let mut given = vec![(String::new(), Value::Code(name))];
            given.extend(window);
            let data = Value::Call("oozie.Data".to_owned(), given);
            let data = laid_out(&data, 0, code.chars().count() + 3, 0);
            self.before.push(format!("{code} = {data}"));
            if !is_input || logic.is_none() || !looks {
                self.data.insert(event.name.clone(), code.clone());
            } else {
                // The input logic finds the available instances.
                let used = format!("INPUT_LOGIC, {}", quoted(&event.name, '\''));
                self.data.insert(event.name.clone(), used);
            }
            if is_input && logic.is_none() {
                self.wait(&format!("wait_for_{own}"), &code, definition);
            }
        }
        if let Some((value, names)) = logic {
            let value = laid_out(&value, 0, "INPUT_LOGIC = ".len(), 0);
            self.before.push(format!("INPUT_LOGIC = {value}"));
            for name in names {
                let used = format!("INPUT_LOGIC, {}", quoted(&name, '\''));
                self.data.insert(name, used);
            }
            self.wait("wait_for_data", "INPUT_LOGIC", definition);
        }
    }

    fn agreement(&mut self, span: Span) {
        self.sla(span);
    }
}

impl<'a> Printer<'a> {
    /// Converts a coordinator, and the start of its workflow if that is not available.
    pub(super) fn coordinator(&mut self, coordinated: Coordinated<'a>) {
        let tree = self.now.tree;
        coordinate(self, tree, coordinated);
        let coordinator = coordinated.analysis.coordinator();
        let texts = configuration(self, tree, coordinator).into_iter();
        self.texts = texts.map(|(name, text)| (name, text.as_text())).collect();
        self.start_workflow(coordinator);
    }

    /// Adds a node that waits for data.
    fn wait(&mut self, node: &str, code: &str, definition: &Definition) {
        let minutes = match definition.controls.timeout {
            ..0 => String::new(),
            minutes => format!(", minutes={minutes}"),
        };
        let body = format!("        run.wait_for({code}{minutes})\n");
        self.step(node, Vec::new(), "None", &body);
        self.gates.push(node.to_owned());
    }

    /// Returns the instances of an event as arguments. Those that are not known before a run stay as written and fail
    /// at run time.
    fn window(&mut self, event: &DataEvent, definition: &Definition) -> Vec<(String, Value)> {
        let (texts, is_range): (Vec<&String>, bool) = match &event.instances {
            Instances::List(all) => (all.iter().collect(), false),
            Instances::Range(first, last) => (vec![first, last], true),
        };
        let mut read = Vec::new();
        for text in texts {
            read.push(instances::instance(text, definition).unwrap_or_else(|why| {
                self.unknown_instance(event, &why);
                Value::text(text)
            }));
        }
        if is_range {
            let names = ["first", "last"].into_iter().map(str::to_owned);
            return names.zip(read).collect();
        }
        vec![("instances".to_owned(), Value::List(read))]
    }

    fn unknown_instance(&mut self, event: &DataEvent, why: &str) {
        let Some(root) = self.now.tree.root() else { return };
        let sections = ["input-events", "output-events"];
        if let Some(element) = claims::event(root, &sections, &event.name) {
            let remedy =
                "write the instances into the file by hand: until then, what needs them fails";
            self.now.ledger.whole(element.span(), Outcome::None, why, remedy);
        }
    }

    fn start_workflow(&mut self, coordinator: &Coordinator) {
        let Some(app) = &coordinator.app_path else { return };
        let path = self.say_code(app);
        if self.given.analysis.is_some() {
            self.constants.insert("wf:appPath", path.clone());
            self.texts.insert("oozie.wf.application.path".to_owned(), path);
            return;
        }
        let all = (self.given.properties, self.given.secrets);
        let name = &claims::folder_of(path.known(), app, all);
        let reason = format!(
            "its workflow is not among the converted files, so that a flow named `{name}` is started"
        );
        let remedy =
            "convert the workflow together with its coordinator, or provide a flow of that name";
        self.now.ledger.claim(app.span(), Outcome::None, &reason, remedy);
        let mut params = vec![(String::new(), Value::code("run.params"))];
        for (name, text) in &self.texts {
            let text = super::python::expression(&neutral(text.clone()));
            params.push((name.clone(), Value::Code(text)));
        }
        let call = Value::Call(
            "run.sub_workflow".to_owned(),
            vec![
                (String::new(), Value::Text(flow_name(name))),
                (String::new(), Value::Dict(params)),
            ],
        );
        let after = self.gates.iter().map(Value::text).collect();
        let mut arguments = Vec::new();
        if !self.gates.is_empty() {
            arguments.push(("after".to_owned(), Value::List(after)));
        }
        self.step(
            "workflow",
            arguments,
            "None",
            &format!("        {}\n", laid_out(&call, 8, 8, 0)),
        );
    }
}

/// Returns the schedule of a coordinator, or why there is none.
fn times(definition: &Definition) -> Result<Times, String> {
    let schedule = &definition.schedule;
    let first = schedule.times().next().map(|(_, nominal)| nominal);
    let first =
        first.ok_or_else(|| "it has no nominal time between its start and its end".to_owned())?;
    let of_cron = |cron: &str, zone: &str| {
        let arguments =
            vec![(String::new(), Value::text(cron)), ("timezone".to_owned(), Value::text(zone))];
        Value::Call("Cron".to_owned(), arguments)
    };
    let (count, unit, end_of) = match &schedule.frequency {
        Frequency::Cron(cron) => {
            let schedule_of = of_cron(&croniter(cron)?, "UTC");
            return Ok(Times { schedule: schedule_of, differs: shift(schedule, cron) });
        }
        Frequency::Every { count, unit, end_of } => (*count, *unit, *end_of),
    };
    if count < 1 {
        return Err(format!("Prefect has no schedule with a frequency of {count}"));
    }
    let zone = zone_of(&schedule.zone)?;
    if let Some((cron, in_zone)) = usual(schedule, count, unit, end_of, first) {
        let zone = if in_zone { zone.as_str() } else { "UTC" };
        return Ok(Times { schedule: of_cron(&cron, zone), differs: None });
    }
    if let (Unit::Minute | Unit::Hour, EndOf::None) = (unit, end_of) {
        let unit = if unit == Unit::Hour { "hours" } else { "minutes" };
        let [year, month, day, hour, minute] = clock(first, &Zone::utc());
        let anchor = format!(
            "dt.datetime({year}, {month}, {day}, {hour}, {minute}, tzinfo=dt.timezone.utc)"
        );
        let arguments = vec![
            (String::new(), Value::Code(format!("dt.timedelta({unit}={count})"))),
            ("anchor_date".to_owned(), Value::Code(anchor)),
        ];
        return Ok(Times {
            schedule: Value::Call("Interval".to_owned(), arguments),
            differs: None,
        });
    }
    Ok(Times {
        schedule: recurrence(count, unit, end_of, first, &schedule.zone, &zone),
        differs: (!schedule.zone.is_fixed())
            .then_some("around a clock change, Prefect may choose another instant"),
    })
}

/// Returns a recurrence rule for schedules that have no cron expression, such as every other day, and ends of months.
fn recurrence(
    count: i64,
    unit: Unit,
    end_of: EndOf,
    first: Instant,
    zone: &Zone,
    name: &str,
) -> Value {
    let [year, month, day, hour, minute] = clock(first, zone);
    let start = format!("DTSTART:{year:04}{month:02}{day:02}T{hour:02}{minute:02}00");
    let rule = match (unit, end_of) {
        (Unit::Month, EndOf::None | EndOf::Month) | (_, EndOf::Month) => {
            // The server uses the last of these days that exists in the month.
            let days: Vec<String> = (day.min(28)..=day).map(|day| day.to_string()).collect();
            format!("FREQ=MONTHLY;INTERVAL={count};BYMONTHDAY={};BYSETPOS=-1", days.join(","))
        }
        (Unit::Week, _) => format!("FREQ=WEEKLY;INTERVAL={count}"),
        _ => format!("FREQ=DAILY;INTERVAL={count}"),
    };
    let arguments = vec![
        (String::new(), Value::Text(format!("{start}\nRRULE:{rule}"))),
        ("timezone".to_owned(), Value::text(name)),
    ];
    Value::Call("RRule".to_owned(), arguments)
}

/// Returns year, month, day, hour and minute of an instant in the local time of a zone.
fn clock(instant: Instant, zone: &Zone) -> [i64; 5] {
    let text = written(instant.plus_seconds(zone.offset_seconds(instant)));
    let mut numbers = text.split(['-', 'T', ':', 'Z']).map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0))
}
