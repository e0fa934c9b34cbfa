//! Coordinators that read what another coordinator writes for the same nominal time.
//!
//! [`joined`] takes the coordinators that are converted together. For each it finds the inputs that a run of another
//! coordinator can replace, the graph that it shares with others, and the actions that only write the done flag of an
//! output. The settings of the site say what becomes of them ([`Wanted`]).

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

/// How a coordinator that reads what another one writes is converted, as the site has chosen.
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
    /// Reads the choice from `[migration]`.
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
    /// Its typed definition, as written.
    pub coordinator: &'a Coordinator,
    /// Its source text.
    pub text: &'a str,
    /// Its definition as the server resolves it.
    pub definition: &'a Definition,
    /// The workflow that it starts.
    pub workflow: Option<&'a Analysis>,
    /// The sub-workflows of that workflow, by the location of their paths.
    pub called: BTreeMap<Span, &'a Analysis>,
    /// The properties that it is submitted with.
    pub properties: &'a BTreeMap<String, String>,
    /// The migration settings for its actions.
    pub migration: &'a Migration,
    /// The names of secrets.
    pub secrets: &'a Secrets,
    /// How it is converted where it reads what another coordinator writes.
    pub wanted: Wanted,
}

/// The coordinator whose run replaces an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The name of the coordinator that writes it.
    pub name: String,
    /// The action that writes the done flag, if there is one.
    pub action: Option<String>,
}

/// A pair of coordinators, one of which writes what the other one reads.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The index of the coordinator that writes.
    pub(super) writer: usize,
    /// The index of the output.
    output: usize,
    /// The index of the coordinator that reads.
    pub(super) reader: usize,
    /// The name of the input.
    input: String,
    /// Whether a run of the writer can replace the wait for the folder.
    pub(super) stands: bool,
    /// Why the two do not share a graph although that is wanted.
    pub(super) apart: Option<String>,
}

/// What a coordinator shares with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Inputs that another coordinator writes for the same nominal time, by name.
    pub inputs: BTreeMap<String, Writer>,
    /// Actions that only write the done flag of an output, and whether a remaining coordinator still waits for that
    /// flag.
    pub marks: BTreeMap<String, bool>,
    /// The graph that it shares with others.
    pub graph: Option<Place>,
    /// Inputs that do not come from the same graph although that is wanted, with the name of the writer and the reason.
    pub apart: BTreeMap<String, (String, String)>,
}

/// Returns for each coordinator what it shares with others.
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

/// Finds the pairs of coordinators that write and read the same data for the same nominal time.
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

/// Why a coordinator cannot share a graph with the one that writes its input.
fn why_apart(reader: &Member<'_>, output: &DataEvent, is_only: bool) -> Option<String> {
    if reader.wanted != Wanted::Graph {
        return None;
    }
    if !is_only {
        return Some("several coordinators write the folder".to_owned());
    }
    // A later reader would be satisfied with what an earlier run wrote there.
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

/// Whether an event names only the current instance.
fn is_current(event: &DataEvent, definition: &Definition) -> bool {
    match &event.instances {
        Instances::List(all) => {
            matches!(&all[..], [one] if current(one, definition) == Ok(0))
        }
        Instances::Range(..) => false,
    }
}

/// Whether two events refer to the same series of folders.
fn is_same(one: &DataEvent, other: &DataEvent) -> bool {
    let series = |event: &DataEvent| {
        let data = &event.dataset;
        let path = super::path_of(&data.uri_template).trim_end_matches('/').to_owned();
        let times = (data.frequency, data.unit, data.end_of, data.initial_instance.clone());
        (path, times, data.timezone.clone(), data.flag().to_owned())
    };
    series(one) == series(other)
}

/// Whether a schedule includes every nominal time of another one.
fn runs_whenever(one: &Schedule, other: &Schedule) -> bool {
    /// Maximum number of nominal times that are searched for the first one of the other schedule.
    const MOST: usize = 100_000;
    if one.frequency != other.frequency || one.zone != other.zone || one.end < other.end {
        return false;
    }
    // Months are counted from the start, so that the start must be the same.
    let counts_months =
        matches!(one.frequency, Frequency::Every { unit: Unit::Month | Unit::Year, .. });
    if one.start == other.start || counts_months {
        return one.start == other.start;
    }
    let Some((_, first)) = other.times().next() else { return false };
    let mut times = one.times().take(MOST).map(|(_, at)| at);
    times.find(|at| *at >= first) == Some(first)
}

/// Returns the names of the actions that do nothing but write the done flag of an output.
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

/// Returns the file that an action creates, if it does nothing else.
fn flag_of(body: &Body) -> Option<String> {
    let Details::Fs { operations } = &body.details else { return None };
    let [one] = &operations[..] else { return None };
    let path = one.path.as_ref().filter(|_| &*one.kind == "touchz")?;
    Some(path.as_str().trim().to_owned())
}

/// Returns the file that a workflow creates, if it does nothing else.
fn only_flag(workflow: &Analysis) -> Option<String> {
    let flow = workflow.flow();
    let mut actions = flow.workflow.actions();
    let (_, _, action) = actions.next()?;
    flag_of(action.body.as_ref().filter(|_| actions.next().is_none())?)
}

/// Replaces the properties in a text of a sub-workflow by the values that its caller passes.
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
    // Inserted values are not expanded again: the names in them are those of the caller.
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
