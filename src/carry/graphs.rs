//! Coordinators that become one graph: a run of the first is followed by a run of each that reads what it writes.
//!
//! Given the coordinators and the links between those that write and read data for the same nominal time, decides which
//! of them share a graph and in which order. A link is revoked, with the reason, if one graph would behave differently
//! from two coordinators.

use super::joined::{Link, Member, Wanted};
use super::{idioms, mentions};
use crate::ir::workflow::Details;
use ankus_lang::coordinator::{Definition, Execution};
use std::collections::{BTreeMap, BTreeSet};

/// The place of a coordinator in a graph of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name of the graph: that of its first coordinator.
    pub graph: String,
    /// The number of coordinators before it.
    pub order: usize,
}

/// Decides which coordinators share a graph, and revokes the links of those that do not.
pub(super) fn settle(members: &[Member<'_>], links: &mut [Link]) -> Vec<Option<Place>> {
    let mut groups: Vec<BTreeSet<usize>> = (0..members.len()).map(|at| [at].into()).collect();
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); members.len()];
    for link in links.iter_mut().filter(|link| link.stands) {
        let (writer, reader) = (link.writer, link.reader);
        if members[reader].wanted != Wanted::Graph {
            continue;
        }
        let both: BTreeSet<usize> = groups[writer].union(&groups[reader]).copied().collect();
        let why = differs(&members[writer], &members[reader])
            .or_else(|| contradicts(members, &both))
            .or_else(|| leads_back(&before, writer, reader));
        if let Some(why) = why {
            link.stands = false;
            link.apart = Some(why);
            continue;
        }
        before[reader].insert(writer);
        for at in both.clone() {
            groups[at].clone_from(&both);
        }
    }
    places(members, &groups, &before)
}

/// Orders each group of several coordinators such that each comes after those that it reads from.
fn places(
    members: &[Member<'_>],
    groups: &[BTreeSet<usize>],
    before: &[BTreeSet<usize>],
) -> Vec<Option<Place>> {
    let mut places: Vec<Option<Place>> = vec![None; members.len()];
    for group in groups.iter().filter(|group| group.len() > 1) {
        let mut order: Vec<usize> = Vec::new();
        let next = |order: &[usize]| {
            let is_next = |at: &usize| {
                !order.contains(at) && before[*at].iter().all(|other| order.contains(other))
            };
            group.iter().copied().find(is_next)
        };
        while let Some(at) = next(&order) {
            order.push(at);
        }
        let Some(first) = order.first().copied() else { continue };
        for (place, at) in order.into_iter().enumerate() {
            let graph = members[first].name.to_owned();
            places[at] = Some(Place { graph, order: place });
        }
    }
    places
}

/// Why a link would close a cycle: the writer itself depends, possibly via others, on the reader.
fn leads_back(before: &[BTreeSet<usize>], writer: usize, reader: usize) -> Option<String> {
    let (mut todo, mut seen) = (vec![writer], BTreeSet::new());
    while let Some(at) = todo.pop() {
        if at == reader {
            return Some("each of them reads what the other one writes".to_owned());
        }
        if seen.insert(at) {
            todo.extend(&before[at]);
        }
    }
    None
}

/// Returns a property that a graph has only once and in which two coordinators differ.
fn differs(writer: &Member<'_>, reader: &Member<'_>) -> Option<String> {
    let [one, other] = [writer.definition, reader.definition];
    let (times, others) = (&one.schedule, &other.schedule);
    let (limits, other_limits) = (&one.controls, &other.controls);
    let same = [
        (times.frequency == others.frequency, "frequencies"),
        (times.zone == others.zone, "time zones"),
        (times.start == others.start, "starts"),
        (times.end == others.end, "ends"),
        (limits.timeout == other_limits.timeout, "time-outs"),
        (limits.concurrency == other_limits.concurrency, "concurrencies"),
        (limits.throttle == other_limits.throttle, "throttles"),
        (limits.execution == other_limits.execution, "orders of execution"),
    ];
    if let Some((_, what)) = same.iter().find(|(is_same, _)| !is_same) {
        return Some(format!("their {what} differ"));
    }
    if let Execution::LastOnly | Execution::None = limits.execution {
        let order = if limits.execution == Execution::None { "NONE" } else { "LAST_ONLY" };
        return Some(format!("with `{order}` one of two runs can be skipped without the other"));
    }
    if writer.migration != reader.migration || writer.secrets != reader.secrets {
        return Some("their settings differ".to_owned());
    }
    [writer, reader].into_iter().find_map(stands_alone)
}

/// Why a coordinator cannot share a graph.
fn stands_alone(member: &Member<'_>) -> Option<String> {
    let says =
        |key: &str, word: &str| member.migration.values.get(key).is_some_and(|value| value == word);
    let follows_itself = |definition: &Definition| {
        let mut inputs = definition.inputs.iter();
        definition.controls.concurrency != 1
            && inputs.any(|event| idioms::is_of_the_run_before(event, definition))
    };
    let name = member.name;
    if member.workflow.is_none() {
        return Some(format!("the workflow of `{name}` is not among the converted files"));
    }
    if says("sla", "deadline") && member.coordinator.sla.is_some() {
        return Some(format!("the deadline of `{name}` would be that of both"));
    }
    if says("own-output", "past") && follows_itself(member.definition) {
        return Some(format!("runs of `{name}` follow one another, and those of both would"));
    }
    None
}

/// Reports a property that coordinators of one graph read with different values.
fn contradicts(members: &[Member<'_>], group: &BTreeSet<usize>) -> Option<String> {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for member in group.iter().map(|at| &members[*at]) {
        for (name, value) in member.properties {
            // Most values are the same everywhere; the texts are searched only for names whose values differ.
            match known.get(name.as_str()) {
                Some(other) if other == value => {}
                _ if !member.reads(name) => {}
                Some(_) => return Some(format!("the property `{name}` has different values")),
                None => {
                    known.insert(name, value);
                }
            }
        }
    }
    // A sub-workflow that inherits the whole configuration would inherit the properties of the whole graph.
    let taking = group.iter().map(|at| &members[*at]).find(|member| member.passes_all_on())?;
    let is_alike = group.iter().all(|at| members[*at].properties == taking.properties);
    let name = taking.name;
    (!is_alike)
        .then(|| format!("sub-workflows of `{name}` take all properties, and those of both differ"))
}

impl Member<'_> {
    /// Whether its coordinator or workflow names a property.
    fn reads(&self, name: &str) -> bool {
        let workflow = self.workflow.map(|analysis| analysis.source().text.as_str());
        [Some(self.text), workflow].into_iter().flatten().any(|text| mentions(text, name))
    }

    /// Whether an action propagates the whole configuration.
    fn passes_all_on(&self) -> bool {
        let Some(workflow) = self.workflow else { return false };
        workflow.flow().workflow.actions().any(|(_, _, action)| {
            let details = action.body.as_ref().map(|body| &body.details);
            matches!(details, Some(Details::SubWorkflow { propagate_configuration: Some(_), .. }))
        })
    }
}
