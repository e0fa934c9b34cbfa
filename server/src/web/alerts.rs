//! `action=sla-enable` and `sla-disable` switch alerts for a coordinator's actions on and off; `sla-change` changes
//! their SLAs. (`reference` of the web API, 7; of coordinators' lifecycle, 12)
//!
//! Actions are given by numbers and times; without any, all are meant. Switching alerts changes a property of the job.
//! A change applies to actions that have not ended, and without a selection also to those that are not yet created.

use super::job::{Id, Kind, numbers};
use crate::Shared;
use crate::answer::Fault;
use crate::request::Request;
use ankus_engine::driver::bundle;
use ankus_engine::driver::coordinator::{self, Kept, Message};
use ankus_lang::coordinator::{Actions, Definition, Sla};
use ankus_lang::machine::coordinator::Event;
use ankus_procedure::store::Reader;
use std::collections::{BTreeMap, BTreeSet};

/// The property that lists the actions without alerts: numbers, times, ranges of both, or `ALL`.
const SILENT: &str = "oozie.sla.disable.alerts";
/// The property that lists whole coordinators without alerts.
const SILENT_COORDINATORS: &str = "oozie.sla.disable.alerts.coord";

/// The values that `sla-change` accepts, with the names of their elements.
const EXPECTATIONS: [(&str, &str); 4] = [
    ("sla-nominal-time", "nominal-time"),
    ("sla-should-start", "should-start"),
    ("sla-should-end", "should-end"),
    ("sla-max-duration", "max-duration"),
];

/// Elements of an SLA block with their text.
type Leaves = Vec<(String, String)>;

/// Changes SLAs.
pub(super) fn change(
    shared: &Shared,
    reader: &dyn Reader,
    request: &Request,
    id: &Id<'_>,
    by: &str,
) -> Result<(), Fault> {
    let failed = |why: &str| Fault::new("E1027", format!("SLA change command failed. {why}"));
    let values = values(request.required("value")?).map_err(|why| failed(&why))?;
    for job in jobs(reader, request, id)? {
        let Some(record) = coordinator::record(reader, &job)? else { continue };
        let mut definition = coordinator::definition(reader, &job)?;
        if definition.sla.is_none() {
            return Err(failed(&format!("the coordinator {job} has no <sla:info>")));
        }
        let actions = coordinator::actions(reader, &job)?;
        let chosen = chosen(request, &definition, &actions)?;
        let is_whole = chosen.is_none();
        let answers = shared.backend.answers(&job)?;
        let prepared = Actions::answered(&definition, Some(&*answers));
        let mut changes = Vec::new();
        for (number, kept) in &actions {
            let is_meant = chosen.as_ref().is_none_or(|chosen| chosen.contains(number));
            let run = &kept.run;
            if !is_meant || !run.status.is_active() || run.sla.is_none() {
                continue;
            }
            let mut leaves = run.data.sla.clone();
            for (name, text) in &values {
                let value = prepared.expectation(&job, &run.data, text);
                put(&mut leaves, name, value.map_err(|why| failed(&why.message))?);
            }
            Sla::register(&leaves, definition.schedule.processing)
                .map_err(|why| failed(&why.message))?;
            changes.push((*number, leaves));
        }
        if changes.is_empty() && !is_whole {
            let why = "none of these actions can still be late: they have no SLA, or have ended";
            return Err(Fault::new("E1026", format!("SLA alert update command failed: {why}")));
        }
        if !changes.is_empty() {
            let event = Event::Expect(changes);
            shared.backend.coordinator(by, &job, Message::Event(event))?;
        }
        if let Some((_, leaves)) = definition.sla.as_mut().filter(|_| is_whole) {
            for (name, text) in &values {
                put(leaves, name, text.clone());
            }
            // Changes since the submission are kept.
            definition.schedule.end = record.job.end;
            definition.controls = record.job.controls;
            shared.backend.coordinator(by, &job, Message::Update(Box::new(definition)))?;
        }
    }
    Ok(())
}

/// Parses the pairs of a value such as `sla-should-end=30;sla-max-duration=20`, with the names of elements.
fn values(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    let mut all: Vec<(&'static str, String)> = Vec::new();
    for pair in text.split(';').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| format!("`{pair}` is not NAME=VALUE"))?;
        let known = EXPECTATIONS.iter().find(|(known, _)| *known == name.trim());
        let Some((name, leaf)) = known else {
            return Err(format!("Unsupported parameter {}", name.trim()));
        };
        if all.iter().any(|(other, _)| other == leaf) {
            return Err(format!("{name} is given twice"));
        }
        all.push((*leaf, value.trim().to_owned()));
    }
    if all.is_empty() { Err("nothing to change".to_owned()) } else { Ok(all) }
}

fn put(leaves: &mut Leaves, name: &str, value: String) {
    match leaves.iter_mut().find(|(known, _)| known == name) {
        Some((_, text)) => *text = value,
        None => leaves.push((name.to_owned(), value)),
    }
}

/// Returns the numbers of the actions that a request selects; none if it selects none.
fn chosen(
    request: &Request,
    definition: &Definition,
    actions: &BTreeMap<i64, Kept>,
) -> Result<Option<BTreeSet<i64>>, Fault> {
    let (listed, dates) = (listed(request, "action-list"), listed(request, "date"));
    if listed.is_empty() && dates.is_empty() {
        return Ok(None);
    }
    let mut all = BTreeSet::new();
    for item in listed {
        all.extend(numbers(item)?);
    }
    let zone = definition.schedule.processing;
    for date in dates {
        let (from, to) = date.split_once("::").unwrap_or((date, date));
        let read = |text: &str| {
            let why = |_| format!("SLA change command failed. `{text}` is not a date");
            zone.parse(text.trim()).map_err(|error| Fault::new("E1027", why(error)))
        };
        let within = read(from)?..=read(to)?;
        let meant = actions.iter().filter(|(_, kept)| within.contains(&kept.run.data.nominal));
        all.extend(meant.map(|(number, _)| *number));
    }
    Ok(Some(all))
}

/// Switches alerts on or off.
pub(super) fn switch(
    shared: &Shared,
    reader: &dyn Reader,
    request: &Request,
    id: &Id<'_>,
    by: &str,
    is_on: bool,
) -> Result<(), Fault> {
    let failed = |why: &str| Fault::new("E1026", format!("SLA alert update command failed: {why}"));
    for job in jobs(reader, request, id)? {
        let Some(record) = coordinator::record(reader, &job)? else { continue };
        let mut definition = coordinator::definition(reader, &job)?;
        if definition.sla.is_none() {
            return Err(failed(&format!("the coordinator {job} has no <sla:info>")));
        }
        // Changes since the submission are kept.
        definition.schedule.end = record.job.end;
        definition.controls = record.job.controls;
        match is_on {
            true => enable(&mut definition, request, &record).map_err(|why| failed(&why))?,
            false => disable(&mut definition, request).map_err(|why| failed(&why))?,
        }
        shared.backend.coordinator(by, &job, Message::Update(Box::new(definition)))?;
    }
    Ok(())
}

/// Returns the coordinators that a request refers to: the one with the id, or the named ones of a bundle; all if none
/// is named.
fn jobs(reader: &dyn Reader, request: &Request, id: &Id<'_>) -> Result<Vec<String>, Fault> {
    if id.kind == Kind::Coordinator {
        return Ok(vec![id.job.to_owned()]);
    }
    let bundle = bundle::record(reader, id.job)?;
    let named: Vec<&str> = request
        .parameter("coordinators")
        .map(|names| names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
        .unwrap_or_default();
    let mut found = Vec::new();
    for member in bundle.iter().flat_map(|bundle| bundle.coordinators.iter().flatten()) {
        let Some(record) = coordinator::record(reader, member)? else { continue };
        if named.is_empty() || named.iter().any(|one| *one == record.name || *one == record.id) {
            found.push(record.id);
        }
    }
    if found.is_empty() {
        let why = format!("no coordinator of {} is named", id.job);
        return Err(Fault::new("E1026", format!("SLA alert update command failed: {why}")));
    }
    Ok(found)
}

/// Returns the items of a list parameter.
fn listed<'r>(request: &'r Request, name: &str) -> Vec<&'r str> {
    let all = request.parameter(name).unwrap_or_default();
    all.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}

fn disable(definition: &mut Definition, request: &Request) -> Result<(), String> {
    let (actions, dates) = (listed(request, "action-list"), listed(request, "date"));
    for action in &actions {
        numbers(action).map_err(|fault| fault.message)?;
    }
    let zone = definition.schedule.processing;
    for date in &dates {
        let (from, to) = date.split_once("::").unwrap_or((date, date));
        if zone.parse(from).is_err() || zone.parse(to).is_err() {
            return Err(format!("`{date}` is not a date, or two with `::` between them"));
        }
    }
    let before = definition.properties.get(SILENT).cloned().unwrap_or_default();
    let mut items: Vec<&str> =
        before.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
    if actions.is_empty() && dates.is_empty() {
        items = vec!["ALL"];
    }
    for item in actions.into_iter().chain(dates) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    definition.properties.insert(SILENT.to_owned(), items.join(","));
    Ok(())
}

fn enable(
    definition: &mut Definition,
    request: &Request,
    record: &coordinator::Record,
) -> Result<(), String> {
    let (actions, dates) = (listed(request, "action-list"), listed(request, "date"));
    if let Some(names) = definition.properties.remove(SILENT_COORDINATORS) {
        let left: Vec<&str> = names
            .split(',')
            .map(str::trim)
            .filter(|name| *name != record.name && *name != record.id)
            .collect();
        if !left.is_empty() {
            definition.properties.insert(SILENT_COORDINATORS.to_owned(), left.join(","));
        }
    }
    let before = definition.properties.remove(SILENT).unwrap_or_default();
    if actions.is_empty() && dates.is_empty() {
        return Ok(());
    }
    let mut told = BTreeSet::new();
    for action in &actions {
        told.extend(numbers(action).map_err(|fault| fault.message)?);
    }
    let mut items = Vec::new();
    for item in before.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        if dates.contains(&item) {
            continue;
        }
        let is_date = item.contains('T') || item.contains("::");
        if item == "ALL" || is_date && !told.is_empty() {
            return Err(format!(
                "`{item}` is disabled as a whole; enable all of it, then disable what should be silent"
            ));
        }
        match numbers(item).ok().filter(|_| !is_date) {
            Some(silent) => {
                items.extend(
                    silent.into_iter().filter(|one| !told.contains(one)).map(|it| it.to_string()),
                );
            }
            None => items.push(item.to_owned()),
        }
    }
    if !items.is_empty() {
        definition.properties.insert(SILENT.to_owned(), items.join(","));
    }
    Ok(())
}
