//! Coordinators: the schedule, the data that a run waits for, limits, and the properties for the workflow.

use super::python::{Value, identifier, quoted};
use super::schedule::{is_as_in_utc, pendulum, period, timetable, written, zone_of};
use super::{Coordinated, Dag, Printer, Version, dag_id};
use crate::carry::coordinates::configuration;
use crate::carry::joined::{Wanted, Writer};
use crate::carry::ledger::Outcome;
use crate::carry::{claims, idioms, instances, missing, path_of, patterns};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::source::Span;
use crate::syntax::xml::Element;
use ankus_lang::coordinator::{DataEvent, Definition, Execution, Instances, Logic, LogicKind};
use ankus_lang::el::Phase;
use ankus_lang::time::Instant;
use std::collections::BTreeSet;

impl<'a> Printer<'a> {
    pub(super) fn coordinator(&mut self, coordinated: Coordinated<'a>, dag: &mut Dag) {
        let coordinator = coordinated.analysis.coordinator();
        self.now.phase = Phase::CoordinatorActionStart;
        if let Some(name) = &coordinator.name {
            let text = self.say(name);
            self.constants.insert("coord:name", text);
        }
        if let Some(parameter) = self.now.tree.root().and_then(|root| root.child("parameters")) {
            self.now.ledger.whole(parameter.span(), Outcome::Exact, "", "");
        }
        let own = match coordinated.definition {
            Ok(definition) => self.times(coordinator, definition, dag),
            Err(why) => {
                dag.arguments.push(("schedule".to_owned(), Value::code("None")));
                let why = (why, coordinated.partly);
                claims::unscheduled(&mut self.now.ledger, self.now.tree, coordinator, why);
                None
            }
        };
        if let Some(definition) = coordinated.data() {
            self.controls(coordinator, definition, own, dag);
            self.data(coordinator, definition, coordinated.missing, dag);
        }
        if let Some(sla) = self.now.tree.root().and_then(|root| root.child("action")) {
            let info = sla.elements().find(|child| child.name() == "info");
            let carried = coordinator.sla.as_ref().is_some_and(|agreed| self.deadline(agreed, dag));
            if let (Some(info), false) = (info, carried) {
                self.sla(info.span());
            }
        }
        let tree = self.now.tree;
        let texts = configuration(self, tree, coordinator).into_iter();
        self.texts = texts.map(|(name, text)| (name, text.as_text())).collect();
        self.start_workflow(coordinator, dag);
    }

    /// Adds the schedule. Returns the variable of the timetable, if it has one.
    fn times(
        &mut self,
        coordinator: &Coordinator,
        definition: &Definition,
        dag: &mut Dag,
    ) -> Option<String> {
        let parts = [&coordinator.frequency, &coordinator.start, &coordinator.end];
        let all: Vec<Span> = parts
            .into_iter()
            .chain([&coordinator.timezone, &coordinator.unit])
            .flatten()
            .map(Scalar::span)
            .collect();
        let wants_own = definition.controls.execution == Execution::LastOnly;
        let found = match timetable(definition, wants_own) {
            Ok(found) => found,
            Err(why) => {
                dag.arguments.push(("schedule".to_owned(), Value::code("None")));
                let remedy = "write a timetable for it";
                all.iter()
                    .for_each(|span| self.now.ledger.claim(*span, Outcome::None, &why, remedy));
                return None;
            }
        };
        for span in &all {
            match &found.differs {
                Some(why) => self.now.ledger.claim(*span, Outcome::Approximate, why, ""),
                None => self.now.ledger.exact(*span),
            }
        }
        let name = found.is_own.then(|| "SCHEDULE".to_owned());
        let written = found.value.print(0);
        if written.starts_with("CronTriggerTimetable") {
            self.import("airflow.timetables.trigger", "CronTriggerTimetable");
        }
        if let Some(name) = &name {
            dag.before.push(format!("{name} = {written}"));
            dag.arguments.push(("schedule".to_owned(), Value::code(name)));
        } else {
            dag.arguments.push(("schedule".to_owned(), found.value));
        }
        // The first run is that of the first nominal time at or after the start date, so that a run at the instant
        // itself is Airflow's.
        let first = self.cut_over.map_or(found.first, |cut_over| cut_over.max(found.first));
        dag.arguments.push(("start_date".to_owned(), pendulum(first, 0)));
        // The end is inclusive in Airflow and exclusive on the server.
        let end = pendulum(definition.schedule.end, -1);
        dag.arguments.push(("end_date".to_owned(), end));
        dag.arguments.push(("catchup".to_owned(), Value::code("True")));
        name
    }

    fn controls(
        &mut self,
        coordinator: &Coordinator,
        definition: &Definition,
        own: Option<String>,
        dag: &mut Dag,
    ) {
        let controls = &definition.controls;
        let waits = !definition.inputs.is_empty();
        let most = if controls.concurrency < 1 { 1000 } else { controls.concurrency };
        dag.arguments.push(("max_active_runs".to_owned(), Value::code(most.to_string())));
        for (name, scalar) in &coordinator.controls {
            let span = scalar.span();
            match name.as_str() {
                "timeout" if waits => {
                    let reason = "it counts from when the sensor first looks, and the run ends as failed, not as timed out";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, "");
                }
                "concurrency" | "throttle" if waits => {
                    let reason = "runs that wait for data count as active";
                    let remedy = "raise `max_active_runs` if data arrives late or out of order";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, remedy);
                }
                "execution" => match controls.execution {
                    Execution::Fifo => self.now.ledger.exact(span),
                    Execution::Lifo => {
                        let reason = "Airflow starts the oldest run first";
                        let remedy = "catch up with `airflow backfill create --run-backwards`";
                        self.now.ledger.claim(span, Outcome::None, reason, remedy);
                    }
                    Execution::LastOnly if own.is_none() => {
                        let reason =
                            "the schedule is not known, so no run can be recognized as the latest";
                        self.now.ledger.claim(span, Outcome::None, reason, "give the times");
                    }
                    Execution::LastOnly | Execution::None => {
                        let reason = "runs that are too late still start, and skip their tasks";
                        self.now.ledger.claim(span, Outcome::Approximate, reason, "");
                    }
                },
                _ => self.now.ledger.exact(span),
            }
        }
        let gate = match (controls.execution, own) {
            (Execution::LastOnly, Some(own)) => Some((
                "only_latest",
                "oozie.is_latest",
                vec![("schedule".to_owned(), Value::code(own))],
            )),
            (Execution::None, _) => Some(("only_on_time", "oozie.is_on_time", Vec::new())),
            _ => None,
        };
        if let Some((name, callable, kwargs)) = gate {
            let class = self.python_operator("ShortCircuitOperator");
            let mut given = vec![
                ("task_id".to_owned(), Value::text(name)),
                ("python_callable".to_owned(), Value::code(callable)),
            ];
            if !kwargs.is_empty() {
                given.push(("op_kwargs".to_owned(), Value::Dict(kwargs)));
            }
            dag.gates = vec![self.put(name, Value::Call(class, given), dag)];
        }
    }

    /// Adds datasets, the instances of a run, and the sensors that wait for them.
    fn data(
        &mut self,
        coordinator: &Coordinator,
        definition: &Definition,
        files: &[String],
        dag: &mut Dag,
    ) {
        self.claim_data(coordinator, definition);
        missing::claim(&mut self.now.ledger, coordinator, definition, files);
        let logic = self.logic(coordinator, definition);
        let mut datasets = BTreeSet::new();
        let mut gates = Vec::new();
        let events = definition.inputs.iter().map(|event| (event, true));
        for (event, is_input) in events.chain(definition.outputs.iter().map(|event| (event, false)))
        {
            let window = self.window(event, definition);
            let name = self.variable(&event.dataset.name).to_uppercase();
            if datasets.insert(name.clone()) {
                let Some(mut dataset) = dataset(event, definition, files) else { continue };
                if let (Some((folder, table)), Value::Call(_, given)) =
                    (self.table_of(coordinator, event), &mut dataset)
                {
                    self.connection("metastore");
                    given.push(("table".to_owned(), Value::text(table)));
                    given.push(("folder".to_owned(), Value::text(folder)));
                }
                dag.before.push(format!("{name} = {}", dataset.print(0)));
            }
            let own = self.variable(&event.name);
            self.lengths.insert(own.clone(), instances::length(event, definition));
            let code = format!("{}_DATA", own.to_uppercase());
            let mut given = vec![(String::new(), Value::code(&name))];
            let looks = window.iter().any(|(_, value)| {
                let text = value.print(0);
                text.contains("latest(") || text.contains("future(")
            });
            given.extend(window);
            dag.before
                .push(format!("{code} = {}", Value::Call("oozie.Data".to_owned(), given).print(0)));
            dag.macros.push((own.clone(), code.clone()));
            let task = format!("wait_for_{}", identifier(&event.name));
            let found_by = quoted(&self.id(&task), '\'');
            let used = match looks {
                // The sensor of the input logic finds the available instances.
                true if is_input && logic.is_some() => self.of_logic(&event.name),
                true => format!("{own}, {found_by}"),
                false => own.clone(),
            };
            self.data.insert(event.name.clone(), used);
            if !is_input || logic.is_some() || self.follows_the_run_before(event, definition, dag) {
                continue;
            }
            let writer = self.joined.inputs.get(&event.name);
            let gate = match writer {
                Some(writer) if Wanted::of(self.given.migration) == Wanted::Graph => {
                    self.gate_behind(&task, event, writer, definition, dag)
                }
                Some(writer) => self.task_sensor(&task, event, writer, definition, dag),
                None => self.sensor(&task, &code, definition, dag),
            };
            self.tell_apart(event);
            gates.push(gate);
        }
        if let Some((value, names)) = logic {
            let value = value.print(0);
            let own = self.variable("input_logic");
            let code = own.to_uppercase();
            dag.before.push(format!("{code} = {value}"));
            dag.macros.push((own, code.clone()));
            for name in names {
                let used = self.of_logic(&name);
                self.data.insert(name, used);
            }
            gates.push(self.sensor("wait_for_data", &code, definition, dag));
        }
        if !gates.is_empty() {
            dag.gates = gates;
        }
    }

    /// Returns the table whose partitions are the instances of an event, and their parent folder, if the settings name
    /// them.
    fn table_of(
        &mut self,
        coordinator: &Coordinator,
        event: &DataEvent,
    ) -> Option<(&'a str, &'a str)> {
        let place = path_of(&event.dataset.uri_template);
        let migration = self.given.migration;
        let mut tables = migration.tables.iter().filter_map(|(folder, table)| {
            let folder = folder.trim_end_matches('/');
            let rest = place.strip_prefix(folder)?.strip_prefix('/')?;
            Some((folder, table.as_str(), rest))
        });
        let (folder, table, rest) = tables.next_back()?;
        let is_partition = rest.trim_end_matches('/').split('/').all(|part| {
            part.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
        });
        let named = |one: &&crate::ir::coordinator::Dataset| {
            one.name.as_ref().is_some_and(|name| name.as_str() == event.dataset.name)
        };
        let dataset = coordinator.datasets.iter().find(named);
        let span = dataset.and_then(|one| one.uri_template.as_ref()).map(Scalar::span);
        if let Some(span) = span {
            match is_partition {
                true => {
                    let reason =
                        "the sensor checks the partition of the table, but no folder or done-flag";
                    self.now.ledger.claim(span, Outcome::Approximate, reason, "");
                }
                false => {
                    let reason = "folders are checked, because their names are not `key=value` like those of a table";
                    self.now.ledger.claim(span, Outcome::Exact, reason, "");
                }
            }
        }
        is_partition.then_some((folder, table))
    }

    /// Whether an input is the output of the previous run, and the settings ask for consecutive runs instead of waiting
    /// for it.
    fn follows_the_run_before(
        &mut self,
        event: &DataEvent,
        definition: &Definition,
        dag: &mut Dag,
    ) -> bool {
        let wanted = self.given.migration.values.get("own-output").map(String::as_str);
        let is_timed = self.given.coordinator.is_some_and(|own| own.definition.is_ok());
        if !is_timed || wanted != Some("past") || !idioms::is_of_the_run_before(event, definition) {
            return false;
        }
        let past = ("depends_on_past".to_owned(), Value::code("True"));
        if !dag.task_arguments.contains(&past) {
            dag.task_arguments.push(past);
        }
        // A task waits only for itself in the previous run, not for the whole run.
        for (name, value) in &mut dag.arguments {
            if name == "max_active_runs" {
                *value = Value::code("1");
            }
        }
        if let Some(element) = self.element_of(event) {
            let reason = "a run waits until the previous one has ended and not failed, whatever it wrote; the first waits for nothing";
            self.now.ledger.claim(element.name_span(), Outcome::Approximate, reason, "");
        }
        let controls = self.given.coordinator.map(|one| one.analysis.coordinator());
        for (name, scalar) in controls.iter().flat_map(|one| &one.controls) {
            if name == "concurrency" && definition.controls.concurrency != 1 {
                let reason = "runs follow one another";
                self.now.ledger.claim(scalar.span(), Outcome::Approximate, reason, "");
            }
        }
        true
    }

    /// Returns the input logic and the names in it; none if each input is waited for separately.
    fn logic(
        &mut self,
        coordinator: &Coordinator,
        definition: &Definition,
    ) -> Option<(Value, Vec<String>)> {
        let span = coordinator.logic?;
        let whole = self.now.tree.root().and_then(|root| root.child("input-logic"));
        let span = whole.map_or(span, |element| element.span());
        match logic(definition, &|name| self.variable(name)) {
            Ok(found) => {
                if definition.logic.iter().flatten().any(|part| part.wait.is_some()) {
                    let reason = "`wait` counts from when the run begins";
                    self.now.ledger.whole(span, Outcome::Approximate, reason, "");
                } else {
                    self.now.ledger.whole(span, Outcome::Exact, "", "");
                }
                Some(found)
            }
            Err(why) => {
                let remedy = "runs wait for all inputs; write the logic by hand";
                self.now.ledger.whole(span, Outcome::None, &why, remedy);
                None
            }
        }
    }

    /// Returns the argument for the data of a name in the input logic.
    fn of_logic(&self, name: &str) -> String {
        let sensor = quoted(&self.id("wait_for_data"), '\'');
        format!("{}, {sensor}, {}", self.variable("input_logic"), quoted(name, '\''))
    }

    /// Reports why an input did not become part of a graph.
    fn tell_apart(&mut self, event: &DataEvent) {
        let Some((writer, why)) = self.joined.apart.get(&event.name) else { return };
        if let Some(element) = self.element_of(event) {
            let reason =
                format!("it waits for the folder, because it is not joined with `{writer}`: {why}");
            self.now.ledger.claim(element.name_span(), Outcome::Exact, &reason, "");
        }
    }

    /// Adds a task that runs after those of another coordinator in the same DAG. Returns its variable.
    fn gate_behind(
        &mut self,
        task: &str,
        event: &DataEvent,
        writer: &Writer,
        definition: &Definition,
        dag: &mut Dag,
    ) -> String {
        let timeout = match definition.controls.timeout {
            ..0 => "",
            _ => ", and no time-out ends the wait for them",
        };
        let reason = format!(
            "its tasks follow those of `{}` in one run, whatever these wrote{timeout}; the run counts as active until both have ended",
            writer.name
        );
        if let Some(element) = self.element_of(event) {
            self.now.ledger.claim(element.name_span(), Outcome::Approximate, &reason, "");
        }
        let mut given = vec![("task_id".to_owned(), Value::text(task))];
        let group = identifier(&writer.name);
        let before = match &writer.action {
            Some(action) => {
                let id = format!("{group}.{}", dag_id(action));
                given.push(("marked_by".to_owned(), Value::text(&id)));
                id
            }
            None => group,
        };
        let before = self.variables.get(&before).cloned().unwrap_or(before);
        given.push(("trigger_rule".to_owned(), Value::text("all_done")));
        let call = Value::Call("oozie.AfterCoordinator".to_owned(), given);
        let own = self.put(task, call, dag);
        dag.edges.push(super::python::edge(&[before], &own, self.indent()));
        own
    }

    /// Adds a task. Returns its variable.
    fn put(&self, task: &str, call: Value, dag: &mut Dag) -> String {
        let (own, indent) = (self.variable(task), self.indent());
        dag.tasks.push(format!("{}{own} = {}\n", " ".repeat(indent), call.print(indent)));
        own
    }

    /// Adds a sensor that waits for the run of another coordinator for the same nominal time. Returns its variable.
    fn task_sensor(
        &mut self,
        task: &str,
        event: &DataEvent,
        writer: &Writer,
        definition: &Definition,
        dag: &mut Dag,
    ) -> String {
        if let Some(element) = self.element_of(event) {
            let reason = format!(
                "it waits for the run of `{}` for the same time to succeed, whatever that wrote",
                writer.name
            );
            self.now.ledger.claim(element.name_span(), Outcome::Approximate, &reason, "");
        }
        let place = match self.version {
            Version::Two => "airflow.sensors.external_task",
            Version::Three => "airflow.providers.standard.sensors.external_task",
        };
        let class = self.import(place, "ExternalTaskSensor");
        let mut given = vec![("external_dag_id".to_owned(), Value::text(&writer.name))];
        if let Some(action) = &writer.action {
            given.push(("external_task_id".to_owned(), Value::text(dag_id(action))));
        }
        self.put_sensor(task, &class, (given, Vec::new()), definition, dag)
    }

    /// Adds a sensor that waits for data. Returns its variable.
    fn sensor(&mut self, task: &str, code: &str, definition: &Definition, dag: &mut Dag) -> String {
        let given = vec![("data".to_owned(), Value::code(code))];
        let mut more = Vec::new();
        let connection = self.connection("webhdfs");
        if connection != "webhdfs_default" {
            more.push(("webhdfs_conn_id".to_owned(), Value::text(connection)));
        }
        let connection = self.given.migration.connection("metastore");
        if connection != "metastore_default" && !self.given.migration.tables.is_empty() {
            more.push(("metastore_conn_id".to_owned(), Value::text(connection)));
        }
        self.put_sensor(task, "oozie.DataSensor", (given, more), definition, dag)
    }

    /// Claims datasets and events as exact; differences are reported later.
    fn claim_data(&mut self, coordinator: &Coordinator, definition: &Definition) {
        let Some(root) = self.now.tree.root() else { return };
        for name in ["datasets", "input-events", "output-events"] {
            if let Some(element) = root.child(name) {
                self.now.ledger.whole(element.span(), Outcome::Exact, "", "");
            }
        }
        let events = definition.inputs.iter().chain(&definition.outputs);
        let used: BTreeSet<&str> = events.map(|event| event.dataset.name.as_str()).collect();
        for dataset in &coordinator.datasets {
            let name = dataset.name.as_ref().map_or("", |name| name.as_str());
            if !used.contains(name) {
                let reason = "no event refers to it, so it is not converted";
                self.now.ledger.whole(dataset.span, Outcome::Exact, reason, "");
            } else if let Some(template) = &dataset.uri_template
                && template.as_str().starts_with("hcat:")
            {
                let reason = "partitions in HCatalog are not checked";
                let remedy = "use NamedHivePartitionSensor";
                self.now.ledger.claim(template.span(), Outcome::None, reason, remedy);
            }
        }
        for event in coordinator.inputs.iter().filter(|event| event.instances.is_empty()) {
            self.now.ledger.exact(event.tag);
        }
        for (kind, span, _) in coordinator.inputs.iter().flat_map(|event| &event.instances) {
            let written = self.now.tree.text()[span.start as usize..span.end as usize].to_owned();
            if written.contains("latest") || written.contains("future") {
                let reason = format!(
                    "the {kind} is determined when the sensor looks, not when a run is created"
                );
                self.now.ledger.claim(*span, Outcome::Approximate, &reason, "");
            }
        }
    }

    /// Returns the instances of an event as arguments. Those that are not known before a run stay as written and fail
    /// at run time.
    fn window(&mut self, event: &DataEvent, definition: &Definition) -> Vec<(String, Value)> {
        let texts: Vec<&String> = match &event.instances {
            Instances::List(all) => all.iter().collect(),
            Instances::Range(first, last) => vec![first, last],
        };
        let mut read = Vec::new();
        for text in texts {
            read.push(instances::instance(text, definition).unwrap_or_else(|why| {
                self.unknown_instance(event, &why);
                Value::text(text)
            }));
        }
        match &event.instances {
            Instances::List(_) => vec![("instances".to_owned(), Value::List(read))],
            Instances::Range(..) => {
                let names = ["first", "last"].into_iter().map(str::to_owned);
                names.zip(read).collect()
            }
        }
    }

    fn unknown_instance(&mut self, event: &DataEvent, why: &str) {
        if let Some(element) = self.element_of(event) {
            let remedy =
                "write the instances into the file by hand: until then, what needs them fails";
            self.now.ledger.whole(element.span(), Outcome::None, why, remedy);
        }
    }

    /// Returns the element of an event.
    fn element_of(&self, event: &DataEvent) -> Option<Element<'a>> {
        claims::event(self.now.tree.root()?, &["input-events", "output-events"], &event.name)
    }

    fn start_workflow(&mut self, coordinator: &Coordinator, dag: &mut Dag) {
        let Some(app) = &coordinator.app_path else { return };
        let path = self.say(app);
        if self.given.analysis.is_some() {
            self.texts.insert("oozie.wf.application.path".to_owned(), path.clone());
            self.constants.insert("wf:appPath", path.clone());
            self.folder = Some(self.folder_of(path));
            return;
        }
        let all = (self.given.properties, self.given.secrets);
        let name = dag_id(&claims::folder_of(path.known(), app, all));
        let reason = format!(
            "its workflow is not among the converted files, so that a DAG named `{name}` is started"
        );
        let remedy =
            "convert the workflow together with its coordinator, or provide a DAG of that name";
        self.now.ledger.claim(app.span(), Outcome::None, &reason, remedy);
        let texts = self.texts.iter();
        let conf = texts.map(|(name, text)| (name.clone(), Value::Text(text.jinja()))).collect();
        let class = self.standard("trigger_dagrun", "TriggerDagRunOperator");
        let given = vec![
            ("task_id".to_owned(), Value::text("workflow")),
            ("trigger_dag_id".to_owned(), Value::Text(name)),
            ("conf".to_owned(), Value::Dict(conf)),
            ("wait_for_completion".to_owned(), Value::code("True")),
        ];
        let call = Value::Call(class, given);
        if dag.gates.is_empty() {
            let indent = self.indent();
            dag.tasks.push(format!("{}{}\n", " ".repeat(indent), call.print(indent)));
        } else {
            let own = self.put("workflow", call, dag);
            dag.edges.push(super::python::edge(&dag.gates, &own, self.indent()));
        }
    }

    /// Adds a sensor, with its own arguments before and after those that all sensors have. Returns its variable.
    fn put_sensor(
        &self,
        task: &str,
        class: &str,
        (before, behind): (Arguments, Arguments),
        definition: &Definition,
        dag: &mut Dag,
    ) -> String {
        let minutes = definition.controls.timeout;
        let timeout = match minutes {
            // Sensors of Airflow always have a time-out.
            ..0 => "dt.timedelta(days=3650)".to_owned(),
            minutes => format!("dt.timedelta(minutes={minutes})"),
        };
        let mut given = vec![("task_id".to_owned(), Value::text(task))];
        given.extend(before);
        given.extend([
            ("mode".to_owned(), Value::text("reschedule")),
            ("poke_interval".to_owned(), Value::code("60")),
            ("timeout".to_owned(), Value::Code(format!("{timeout}.total_seconds()"))),
        ]);
        given.extend(behind);
        let own = self.put(task, Value::Call(class.to_owned(), given), dag);
        for gate in &dag.gates {
            let gate = std::slice::from_ref(gate);
            dag.edges.push(super::python::edge(gate, &own, self.indent()));
        }
        own
    }
}

/// Arguments by name.
type Arguments = Vec<(String, Value)>;

/// Returns a dataset as an argument for the helpers.
pub(in crate::carry) fn dataset(
    event: &DataEvent,
    definition: &Definition,
    files: &[String],
) -> Option<Value> {
    let data = &event.dataset;
    if missing::is_missing(event) {
        let reason = missing::reason(event, files);
        return Some(Value::Call(
            "oozie.MissingDataset".to_owned(),
            vec![(String::new(), Value::Text(reason))],
        ));
    }
    let initial: Instant = definition.schedule.processing.parse(&data.initial_instance).ok()?;
    let zone = ankus_lang::time::Zone::from_id(&data.timezone).ok()?;
    let zone = match is_as_in_utc(&zone, data.unit, data.end_of) {
        true => "UTC".to_owned(),
        false => zone_of(&zone).ok()?,
    };
    let mut given = vec![
        ("uri".to_owned(), Value::Text(patterns::for_python(&data.uri_template))),
        ("every".to_owned(), Value::code(data.frequency.to_string())),
        ("unit".to_owned(), Value::text(data.unit.name())),
        ("initial".to_owned(), Value::text(written(initial))),
    ];
    if zone != "UTC" {
        given.push(("timezone".to_owned(), Value::Text(zone)));
    }
    if let Some(end_of) = period(data.end_of) {
        given.push(("end_of".to_owned(), Value::text(end_of)));
    }
    if data.flag() != "_SUCCESS" {
        given.push(("done_flag".to_owned(), Value::text(data.flag())));
    }
    Some(Value::Call("oozie.Dataset".to_owned(), given))
}

/// Returns the input logic as an argument for the helpers, and the names in it; or why it cannot be converted.
/// `variable` returns the variable of an event.
pub(in crate::carry) fn logic(
    definition: &Definition,
    variable: &dyn Fn(&str) -> String,
) -> Result<(Value, Vec<String>), String> {
    let parts = definition.logic.as_deref().unwrap_or_default();
    let mut roots = parts.iter().enumerate().filter(|(_, part)| part.parent.is_none());
    let (Some((root, _)), None) = (roots.next(), roots.next()) else {
        return Err("a server starts no action with it: it has no root, or several".to_owned());
    };
    let names = parts.iter().filter_map(|part| part.name.clone()).collect();
    Ok((part_of(definition, parts, root, variable)?, names))
}

fn part_of(
    definition: &Definition,
    parts: &[Logic],
    at: usize,
    variable: &dyn Fn(&str) -> String,
) -> Result<Value, String> {
    let part = &parts[at];
    let kind = match part.kind {
        LogicKind::And => "and",
        LogicKind::Or => "or",
        LogicKind::Combine => "combine",
        LogicKind::Data => "data-in",
    };
    let mut given = vec![(String::new(), Value::text(kind))];
    if part.kind == LogicKind::Data {
        if !definition.inputs.iter().any(|event| event.name == part.data) {
            return Err(format!("no input is called `{}`", part.data));
        }
        let code = format!("{}_DATA", variable(&part.data).to_uppercase());
        given.push(("data".to_owned(), Value::Code(code)));
        given.push(("event".to_owned(), Value::text(part.data.as_str())));
    }
    let children = parts.iter().enumerate().filter(|(_, other)| other.parent == Some(at));
    for (child, _) in children {
        given.push((String::new(), part_of(definition, parts, child, variable)?));
    }
    if given.len() == 1 {
        return Err("a server starts no action with it: a part is empty".to_owned());
    }
    if let Some(name) = &part.name {
        given.push(("name".to_owned(), Value::text(name.as_str())));
    }
    for (name, text) in [("least", &part.min), ("wait", &part.wait)] {
        let Some(text) = text else { continue };
        let number: i32 = text.trim().parse().map_err(|_| format!("`{text}` is not a number"))?;
        given.push((name.to_owned(), Value::Code(number.to_string())));
    }
    Ok(Value::Call("oozie.Logic".to_owned(), given))
}
