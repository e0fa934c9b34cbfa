//! `action=sla-enable` and `sla-disable`: whether anybody is told of the expectations of a coordinator's actions.
//! (`reference` of the web API, 7; of coordinators' lifecycle, 10)
//!
//! In: which actions, by numbers and times; all where none are named. Out: the job's property of what is silent.

use super::job::{Id, Kind, numbers};
use crate::Shared;
use crate::answer::Fault;
use crate::request::Request;
use ankus_engine::driver::bundle;
use ankus_engine::driver::coordinator::{self, Message};
use ankus_lang::coordinator::Definition;
use ankus_procedure::store::Reader;
use std::collections::BTreeSet;

/// The property that says of which actions nobody is told: numbers, times, ranges of both, or `ALL`.
const SILENT: &str = "oozie.sla.disable.alerts";
/// The same for whole coordinators.
const SILENT_COORDINATORS: &str = "oozie.sla.disable.alerts.coord";

/// Turns alerts on or off.
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
        // What was changed since it was submitted stays so.
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

/// The coordinators that are meant: that of the id, or those of a bundle that are named; all where none is.
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

/// What a parameter lists.
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
                "`{item}` is silent as a whole; enable all of it, then disable what is to be silent"
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
