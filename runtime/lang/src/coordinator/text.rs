//! Writes a definition back as XML, as the server stores and shows it: evaluated, with each dataset inside the events
//! that use it.

use std::fmt::Write as _;

use super::{Action, DataEvent, Definition, EventData, Instances, Logic, LogicKind};
use crate::el::xml::escape;

/// The server's default throttle, which is not written.
const THROTTLE: i64 = 12;

/// Writes elements one by one, without white space between them.
#[derive(Default)]
struct Writer(String);

impl Writer {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.0.push('<');
        self.0.push_str(name);
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"{}\"", escape(value));
        }
        self.0.push('>');
    }

    fn close(&mut self, name: &str) {
        let _ = write!(self.0, "</{name}>");
    }

    fn leaf(&mut self, name: &str, text: &str) {
        let _ = write!(self.0, "<{name}>{}</{name}>", escape(text));
    }
}

/// Returns a coordinator as it is stored: attributes and controls evaluated, instances and property values unevaluated.
pub fn text(definition: &Definition) -> String {
    let zone = definition.schedule.processing;
    let (start, end) =
        (zone.format(definition.schedule.start), zone.format(definition.schedule.end));
    let attributes = [
        ("xmlns", definition.namespace.as_str()),
        ("name", &definition.name),
        ("frequency", &definition.frequency_text),
        ("start", &start),
        ("end", &end),
        ("timezone", &definition.zone_text),
        ("freq_timeunit", definition.unit_name()),
        ("end_of_duration", definition.end_of_name()),
    ];
    let mut out = Writer::default();
    out.open("coordinator-app", &attributes);
    body(&mut out, definition, None, &definition.configuration);
    out.0
}

/// Returns an action as a dry run shows it: with its times, the URIs of its data, and the configuration of its
/// workflow.
pub fn action_text(
    definition: &Definition,
    action: &Action,
    inputs: &[EventData],
    configuration: &[(String, String)],
) -> String {
    let zone = definition.schedule.processing;
    let number = action.number.to_string();
    let (nominal, actual) = (zone.format(action.nominal), zone.format(action.actual));
    let attributes = [
        ("xmlns", definition.namespace.as_str()),
        ("name", &definition.name),
        ("frequency", &definition.frequency_text),
        ("timezone", &definition.zone_text),
        ("freq_timeunit", definition.unit_name()),
        ("end_of_duration", definition.end_of_name()),
        ("instance-number", &number),
        ("action-nominal-time", &nominal),
        ("action-actual-time", &actual),
    ];
    let mut out = Writer::default();
    out.open("coordinator-app", &attributes);
    body(&mut out, definition, Some((inputs, &action.outputs)), configuration);
    out.0
}

/// The data of an action: inputs and outputs.
type Data<'a> = Option<(&'a [EventData], &'a [EventData])>;

fn body(
    out: &mut Writer,
    definition: &Definition,
    data: Data<'_>,
    configuration: &[(String, String)],
) {
    let controls = &definition.controls;
    out.open("controls", &[]);
    out.leaf("timeout", &controls.timeout.to_string());
    out.leaf("concurrency", &controls.concurrency.to_string());
    out.leaf("execution", controls.execution.name());
    if controls.throttle != THROTTLE {
        out.leaf("throttle", &controls.throttle.to_string());
    }
    out.close("controls");
    let (inputs, outputs) = data.unzip();
    events(out, ("input-events", "data-in"), &definition.inputs, inputs);
    if let Some(logic) = &definition.logic {
        out.open("input-logic", &[]);
        parts(out, logic, None);
        out.close("input-logic");
    }
    events(out, ("output-events", "data-out"), &definition.outputs, outputs);
    out.open("action", &[]);
    out.open("workflow", &[]);
    out.leaf("app-path", &definition.app_path);
    if !configuration.is_empty() {
        out.open("configuration", &[]);
        for (name, value) in configuration {
            out.open("property", &[]);
            out.leaf("name", name);
            out.leaf("value", value);
            out.close("property");
        }
        out.close("configuration");
    }
    out.close("workflow");
    if let Some((namespace, leaves)) = &definition.sla {
        out.open("sla:info", &[("xmlns:sla", namespace)]);
        for (name, value) in leaves {
            out.leaf(&format!("sla:{name}"), value);
        }
        out.close("sla:info");
    }
    out.close("action");
    out.close("coordinator-app");
}

fn events(
    out: &mut Writer,
    (list, element): (&str, &str),
    events: &[DataEvent],
    data: Option<&[EventData]>,
) {
    if events.is_empty() {
        return;
    }
    out.open(list, &[]);
    for event in events {
        let mut attributes = vec![("name", event.name.as_str()), ("dataset", &event.dataset.name)];
        if event.keeps_output {
            attributes.push(("nocleanup", "true"));
        }
        out.open(element, &attributes);
        dataset(out, event);
        match data.map(|data| data.iter().find(|one| one.name == event.name)) {
            None => instances(out, &event.instances),
            Some(data) => {
                let none = EventData::default();
                let data = data.unwrap_or(&none);
                if !data.uris.is_empty() {
                    out.leaf("uris", &data.uris.join("#"));
                }
                if !data.unresolved.is_empty() {
                    out.leaf("unresolved-instances", &data.unresolved.join("#"));
                }
            }
        }
        out.close(element);
    }
    out.close(list);
}

fn dataset(out: &mut Writer, event: &DataEvent) {
    let dataset = &event.dataset;
    let attributes = [
        ("name", dataset.name.as_str()),
        ("frequency", &dataset.frequency_text),
        ("initial-instance", &dataset.initial_instance),
        ("timezone", &dataset.timezone),
        ("freq_timeunit", dataset.unit.name()),
        ("end_of_duration", dataset.end_of.name()),
    ];
    out.open("dataset", &attributes);
    out.leaf("uri-template", &dataset.uri_template);
    if let Some(flag) = &dataset.done_flag {
        out.leaf("done-flag", flag);
    }
    out.close("dataset");
}

fn instances(out: &mut Writer, instances: &Instances) {
    match instances {
        Instances::List(texts) => texts.iter().for_each(|text| out.leaf("instance", text)),
        Instances::Range(from, to) => {
            out.leaf("start-instance", from);
            out.leaf("end-instance", to);
        }
    }
}

/// Writes the child nodes of a node of the input logic.
fn parts(out: &mut Writer, logic: &[Logic], within: Option<usize>) {
    for (at, part) in logic.iter().enumerate().filter(|(_, part)| part.parent == within) {
        let element = match part.kind {
            LogicKind::And => "and",
            LogicKind::Or => "or",
            LogicKind::Combine => "combine",
            LogicKind::Data => "data-in",
        };
        let all = [
            ("name", part.name.as_deref()),
            ("dataset", Some(part.data.as_str()).filter(|_| part.kind == LogicKind::Data)),
            ("min", part.min.as_deref()),
            ("wait", part.wait.as_deref()),
        ];
        let attributes: Vec<(&str, &str)> =
            all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        out.open(element, &attributes);
        parts(out, logic, Some(at));
        out.close(element);
    }
}
