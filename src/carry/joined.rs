//! Coordinators that read what another one writes for the same nominal time.
//!
//! In: the coordinators that are converted together. Out: for each, the inputs that a run of another one stands for, and the
//! actions that only mark an output as done. A site asks for what becomes of them.

use super::instances::current;
use crate::analysis::Analysis;
use crate::ir::coordinator::Coordinator;
use crate::ir::workflow::{Body, Details};
use crate::source::Span;
use ankus_lang::coordinator::{DataEvent, Definition, Instances};
use ankus_lang::time::{Frequency, Schedule, Unit};
use std::collections::BTreeMap;

/// A coordinator that is converted.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Its name in the other engine.
    pub name: &'a str,
    /// As it is written.
    pub coordinator: &'a Coordinator,
    /// As a server takes it.
    pub definition: &'a Definition,
    /// What it starts.
    pub workflow: Option<&'a Analysis>,
    /// What that starts, by the places that name it.
    pub called: BTreeMap<Span, &'a Analysis>,
    /// Whether a site wants it to wait for tasks where it can.
    pub waits_for_tasks: bool,
}

/// What stands for an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The name of the coordinator that writes it.
    pub name: String,
    /// The action that marks it as done, where there is one.
    pub action: Option<String>,
}

/// What a coordinator has in common with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Inputs that another one writes for the same nominal time, by name.
    pub inputs: BTreeMap<String, Writer>,
    /// Actions that only mark an output as done, with whether a coordinator is left that looks for the mark.
    pub marks: BTreeMap<String, bool>,
}

/// What coordinators have in common, in their order.
pub fn joined(members: &[Member<'_>]) -> Vec<Joined> {
    let mut all = vec![Joined::default(); members.len()];
    for (at, member) in members.iter().enumerate() {
        for output in &member.definition.outputs {
            if !is_current(output, member.definition) {
                continue;
            }
            let marks = marks(member, output);
            let action = match &marks[..] {
                [one] => Some(one.clone()),
                _ => None,
            };
            let writers = members.iter().flat_map(|other| &other.definition.outputs);
            let is_only = writers.filter(|other| is_same(other, output)).count() == 1;
            let mut is_looked_for = false;
            for (reader_at, reader) in members.iter().enumerate() {
                for input in reader.definition.inputs.iter().filter(|one| is_same(one, output)) {
                    let is_joined = at != reader_at
                        && is_only
                        && reader.waits_for_tasks
                        && reader.definition.logic.is_none()
                        && is_current(input, reader.definition)
                        && runs_whenever(&member.definition.schedule, &reader.definition.schedule);
                    is_looked_for |= !is_joined;
                    if is_joined {
                        let writer =
                            Writer { name: member.name.to_owned(), action: action.clone() };
                        all[reader_at].inputs.insert(input.name.clone(), writer);
                    }
                }
            }
            all[at].marks.extend(marks.into_iter().map(|mark| (mark, is_looked_for)));
        }
    }
    all
}

/// Whether an event is the current instance alone.
fn is_current(event: &DataEvent, definition: &Definition) -> bool {
    match &event.instances {
        Instances::List(all) => {
            matches!(&all[..], [one] if current(one, definition) == Ok(0))
        }
        Instances::Range(..) => false,
    }
}

/// Whether two events are of one series of folders.
fn is_same(one: &DataEvent, other: &DataEvent) -> bool {
    let series = |event: &DataEvent| {
        let data = &event.dataset;
        let path = super::path_of(&data.uri_template).trim_end_matches('/').to_owned();
        let times = (data.frequency, data.unit, data.end_of, data.initial_instance.clone());
        (path, times, data.timezone.clone(), data.flag().to_owned())
    };
    series(one) == series(other)
}

/// Whether a schedule has every nominal time of another one.
fn runs_whenever(one: &Schedule, other: &Schedule) -> bool {
    /// So many nominal times are looked at for the first of the other.
    const MOST: usize = 100_000;
    if one.frequency != other.frequency || one.zone != other.zone || one.end < other.end {
        return false;
    }
    // Months are counted from the day of the start.
    let counts_months =
        matches!(one.frequency, Frequency::Every { unit: Unit::Month | Unit::Year, .. });
    if one.start == other.start || counts_months {
        return one.start == other.start;
    }
    let Some((_, first)) = other.times().next() else { return false };
    let mut times = one.times().take(MOST).map(|(_, at)| at);
    times.find(|at| *at >= first) == Some(first)
}

/// Actions of a workflow that do nothing but write the flag of an output.
fn marks(member: &Member<'_>, output: &DataEvent) -> Vec<String> {
    let Some(workflow) = member.workflow else { return Vec::new() };
    let flag = output.dataset.flag();
    let given = member.coordinator.configuration.iter().filter_map(|property| {
        let value = property.value.as_ref()?.as_str().trim();
        let name = value.strip_prefix("${coord:dataOut(")?.strip_suffix(")}")?;
        let is_it = name.trim().trim_matches(['\'', '"']) == output.name;
        let name = property.name.as_ref().filter(|_| is_it)?;
        Some(format!("${{{}}}/{flag}", name.as_str()))
    });
    let places: Vec<String> = given.collect();
    let flow = workflow.flow();
    let actions = flow.workflow.actions();
    let written = actions.filter_map(|(_, node, action)| {
        let body = action.body.as_ref()?;
        let place = match &body.details {
            Details::SubWorkflow { app_path: Some(path), .. } => {
                let callee = member.called.get(&path.span())?;
                passed(&only_flag(callee)?, body, callee)
            }
            _ => flag_of(body)?,
        };
        places.contains(&place).then(|| node.name.text.to_string())
    });
    written.collect()
}

/// The file that an action makes, if that is all it does.
fn flag_of(body: &Body) -> Option<String> {
    let Details::Fs { operations } = &body.details else { return None };
    let [one] = &operations[..] else { return None };
    let path = one.path.as_ref().filter(|_| &*one.kind == "touchz")?;
    Some(path.as_str().trim().to_owned())
}

/// The file that a workflow makes, if that is all it does.
fn only_flag(workflow: &Analysis) -> Option<String> {
    let flow = workflow.flow();
    let mut actions = flow.workflow.actions();
    let (_, _, action) = actions.next()?;
    flag_of(action.body.as_ref().filter(|_| actions.next().is_none())?)
}

/// A text of a sub-workflow, with what it is given in the place of its properties.
fn passed(text: &str, body: &Body, callee: &Analysis) -> String {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for parameter in &callee.flow().workflow.parameters {
        if let Some(value) = &parameter.value {
            values.insert(parameter.name.as_str().to_owned(), value.as_str().trim().to_owned());
        }
    }
    for property in &body.configuration {
        if let Some(value) = &property.value {
            values.insert(property.name.as_str().to_owned(), value.as_str().trim().to_owned());
        }
    }
    let mut text = text.to_owned();
    // Once: what is put in its place speaks of the caller.
    let mut from = 0;
    while let Some(at) = text[from..].find("${").map(|at| at + from) {
        let Some(length) = text[at..].find('}') else { break };
        let known = values.get(text[at + 2..at + length].trim());
        let end = at + length + 1;
        from = end;
        if let Some(known) = known {
            from = at + known.len();
            text.replace_range(at..end, known);
        }
    }
    text
}
