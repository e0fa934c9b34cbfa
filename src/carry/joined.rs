//! Coordinators that read what another one writes for the same nominal time.
//!
//! In: the coordinators that are converted together. Out: for each, the inputs that a run of another one stands for, the
//! graph that it shares with others, and the actions that only mark an output as done. A site asks for what becomes of them.

use super::graphs::{self, Place};
use super::instances::current;
use crate::analysis::Analysis;
use crate::ir::coordinator::Coordinator;
use crate::ir::workflow::{Body, Details};
use crate::settings::Migration;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use ankus_lang::coordinator::{DataEvent, Definition, Instances};
use ankus_lang::time::{Frequency, Schedule, Unit};
use std::collections::BTreeMap;

/// What a site wants of a coordinator that reads what another one writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It waits for the folder.
    Folder,
    /// It waits for the other's task.
    Task,
    /// Both become one graph.
    Graph,
}

impl Wanted {
    /// What `[migration]` says.
    pub fn of(migration: &Migration) -> Wanted {
        match migration.values.get("joined").map(String::as_str) {
            Some("task") => Wanted::Task,
            Some("graph") => Wanted::Graph,
            _ => Wanted::Folder,
        }
    }
}

/// A coordinator that is converted.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Its name in the other engine.
    pub name: &'a str,
    /// As it is written.
    pub coordinator: &'a Coordinator,
    /// Its text.
    pub text: &'a str,
    /// As a server takes it.
    pub definition: &'a Definition,
    /// What it starts.
    pub workflow: Option<&'a Analysis>,
    /// What that starts, by the places that name it.
    pub called: BTreeMap<Span, &'a Analysis>,
    /// What it is submitted with.
    pub properties: &'a BTreeMap<String, String>,
    /// What a site wants of its actions.
    pub migration: &'a Migration,
    /// What is secret.
    pub secrets: &'a Secrets,
    /// What a site wants where it reads what another one writes.
    pub wanted: Wanted,
}

/// What stands for an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The name of the coordinator that writes it.
    pub name: String,
    /// The action that marks it as done, where there is one.
    pub action: Option<String>,
}

/// A coordinator that writes what another one reads.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The one that writes, by its place.
    pub(super) writer: usize,
    /// Which of its outputs.
    output: usize,
    /// The one that reads.
    pub(super) reader: usize,
    /// The name of the input.
    input: String,
    /// Whether a run of the one that writes stands for the folder.
    pub(super) stands: bool,
    /// Why both become no graph, where that is wanted.
    pub(super) apart: Option<String>,
}

/// What a coordinator has in common with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Inputs that another one writes for the same nominal time, by name.
    pub inputs: BTreeMap<String, Writer>,
    /// Actions that only mark an output as done, with whether a coordinator is left that looks for the mark.
    pub marks: BTreeMap<String, bool>,
    /// The graph that it shares with others.
    pub graph: Option<Place>,
    /// Inputs of which another one would write each in the same graph, with the name of that one and why both stay apart.
    pub apart: BTreeMap<String, (String, String)>,
}

/// What coordinators have in common, in their order.
pub fn joined(members: &[Member<'_>]) -> Vec<Joined> {
    let mut all = vec![Joined::default(); members.len()];
    let mut links = links(members);
    for (joined, place) in all.iter_mut().zip(graphs::settle(members, &mut links)) {
        joined.graph = place;
    }
    for (at, member) in members.iter().enumerate() {
        for (output_at, output) in member.definition.outputs.iter().enumerate() {
            if !is_current(output, member.definition) {
                continue;
            }
            let marks = marks(member, output);
            let action = match &marks[..] {
                [one] => Some(one.clone()),
                _ => None,
            };
            let mut is_looked_for = false;
            for link in links.iter().filter(|link| (link.writer, link.output) == (at, output_at)) {
                is_looked_for |= !link.stands;
                let name = member.name.to_owned();
                let reader = &mut all[link.reader];
                if link.stands {
                    let writer = Writer { name, action: action.clone() };
                    reader.inputs.insert(link.input.clone(), writer);
                } else if let Some(why) = &link.apart {
                    reader.apart.insert(link.input.clone(), (name, why.clone()));
                }
            }
            all[at].marks.extend(marks.into_iter().map(|mark| (mark, is_looked_for)));
        }
    }
    all
}

/// Who reads what is written for the same nominal time.
fn links(members: &[Member<'_>]) -> Vec<Link> {
    let mut links = Vec::new();
    for (writer, member) in members.iter().enumerate() {
        let outputs = member.definition.outputs.iter().enumerate();
        for (at, output) in outputs.filter(|(_, one)| is_current(one, member.definition)) {
            let writers = members.iter().flat_map(|other| &other.definition.outputs);
            let is_only = writers.filter(|other| is_same(other, output)).count() == 1;
            for (reader, other) in members.iter().enumerate() {
                for input in other.definition.inputs.iter().filter(|one| is_same(one, output)) {
                    let is_current = writer != reader && is_current(input, other.definition);
                    let apart = why_apart(other, output, is_only).filter(|_| is_current);
                    let [times, others] = [member, other].map(|one| &one.definition.schedule);
                    let stands = is_current
                        && match other.wanted {
                            Wanted::Folder => false,
                            Wanted::Task => {
                                let has_logic = other.definition.logic.is_some();
                                is_only && !has_logic && runs_whenever(times, others)
                            }
                            Wanted::Graph => apart.is_none(),
                        };
                    let input = input.name.clone();
                    links.push(Link { writer, output: at, reader, input, stands, apart });
                }
            }
        }
    }
    links
}

/// What keeps a coordinator from sharing a graph with whoever writes an input.
fn why_apart(reader: &Member<'_>, output: &DataEvent, is_only: bool) -> Option<String> {
    if reader.wanted != Wanted::Graph {
        return None;
    }
    if !is_only {
        return Some("several coordinators write the folder".to_owned());
    }
    // What an earlier run wrote there is enough for a later one.
    let template = &output.dataset.uri_template;
    if !["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"]
        .iter()
        .any(|part| template.contains(&format!("${{{part}}}")))
    {
        return Some("the folder is the same for every nominal time".to_owned());
    }
    let has_logic = reader.definition.logic.is_some();
    has_logic.then(|| format!("`{}` has input logic", reader.name))
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
