//! Coordinators with parts that are unknown before submission: the other parts are converted all the same.
//!
//! [`with_missing`] adds the events whose datasets are not available to a definition. Only the names of these datasets
//! are known; `is_missing` recognizes them, and printers write something that fails in their place. If the times of a
//! coordinator are not known, [`Partly`] contains the rest.

use super::ledger::{Ledger, Outcome};
use super::patterns;
use crate::ir::coordinator::{Coordinator, DataEvent as Written, Dataset};
use ankus_lang::coordinator::{DataEvent, DatasetText, Definition, Instances};
use ankus_lang::time::{EndOf, Unit};
use std::collections::BTreeSet;
use std::sync::Arc;

const REMEDY: &str = "put the file next to the coordinator, or in a folder above it with the last parts of its path, and convert again";
const GIVE: &str = "give the properties with -P FILE or -D NAME=VALUE, and convert again";

/// A coordinator with unknown parts: times, controls, datasets.
#[derive(Clone, Debug)]
pub struct Partly {
    /// The definition, with placeholders for unknown parts. Its times must not be used.
    pub definition: Definition,
    /// Controls whose values are unknown.
    pub controls: BTreeSet<String>,
}

impl Partly {
    /// Creates it from a definition in which the parts `assumed` are unknown.
    pub fn of(
        coordinator: &Coordinator,
        definition: Definition,
        assumed: &BTreeSet<String>,
    ) -> Partly {
        let mut definition = with_missing(coordinator, definition);
        let is_assumed = |dataset: &DatasetText| {
            let begin = format!("dataset {}/", dataset.name);
            assumed.range(begin.clone()..).next().is_some_and(|part| part.starts_with(&begin))
                || names_more_than_times(&dataset.uri_template)
        };
        let events = definition.inputs.iter_mut().chain(&mut definition.outputs);
        for event in events.filter(|event| is_assumed(&event.dataset)) {
            Arc::make_mut(&mut event.dataset).initial_instance.clear();
        }
        let known = ["timeout", "concurrency", "throttle", "execution"];
        let controls: BTreeSet<String> = known
            .iter()
            .filter(|name| assumed.contains(**name))
            .map(|name| (*name).to_owned())
            .collect();
        let written = [
            ("name", &coordinator.name, &mut definition.name),
            ("app-path", &coordinator.app_path, &mut definition.app_path),
        ];
        for (part, text, known) in written {
            if let Some(text) = text.as_ref().filter(|_| assumed.contains(part)) {
                text.as_str().clone_into(known);
            }
        }
        if controls.contains("timeout") {
            // With an unknown time-out, nothing ends the wait.
            definition.controls.timeout = -1;
        }
        Partly { definition, controls }
    }
}

/// Whether a URI template refers to properties that are not given, in addition to the parts of a time.
fn names_more_than_times(template: &str) -> bool {
    const TIMES: [&str; 5] = ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"];
    let expressions = template.split("${").skip(1).filter_map(|rest| rest.split('}').next());
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut names = expressions.flat_map(|inner| inner.split(move |c| !is_part(c)));
    names.any(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && !TIMES.contains(&name))
}

/// Adds the events that a submission would refuse because their datasets are not available.
pub fn with_missing(coordinator: &Coordinator, mut definition: Definition) -> Definition {
    let events = [&coordinator.inputs, &coordinator.outputs];
    let known = [&mut definition.inputs, &mut definition.outputs];
    for (written, known) in events.into_iter().zip(known) {
        for (at, event) in written.iter().enumerate() {
            let name = event.name.as_ref().map_or("", |name| name.as_str());
            if known.iter().all(|other| other.name != name)
                && let Some(event) = of_name(event)
            {
                known.insert(at.min(known.len()), event);
            }
        }
    }
    definition
}

/// Returns an event of whose dataset only the name is known.
fn of_name(written: &Written) -> Option<DataEvent> {
    let part = |name: &str| written.part(name).map(|text| text.as_str().trim().to_owned());
    let instances = match (part("start-instance"), part("end-instance")) {
        (Some(first), Some(last)) => Instances::Range(first, last),
        _ => {
            let all = written.instances.iter().filter(|(name, ..)| name == "instance");
            Instances::List(all.map(|(_, _, text)| text.as_str().trim().to_owned()).collect())
        }
    };
    let dataset = DatasetText {
        name: written.dataset.as_ref()?.as_str().to_owned(),
        frequency: 0,
        frequency_text: String::new(),
        unit: Unit::Minute,
        end_of: EndOf::None,
        initial_instance: String::new(),
        timezone: String::new(),
        uri_template: String::new(),
        done_flag: None,
    };
    let name = written.name.as_ref()?.as_str().to_owned();
    Some(DataEvent { name, dataset: Arc::new(dataset), instances, keeps_output: false })
}

/// Whether only the name of an event's dataset is known, or its URIs are computed in a way that is not converted.
pub(super) fn is_missing(event: &DataEvent) -> bool {
    event.dataset.initial_instance.is_empty() || is_computed(event)
}

/// Whether the URIs of a known dataset are computed from parts of dates in a way that is not converted.
fn is_computed(event: &DataEvent) -> bool {
    !event.dataset.initial_instance.is_empty()
        && patterns::of_uri(&event.dataset.uri_template).is_none()
}

/// Returns why an event cannot be converted completely.
pub(super) fn reason(event: &DataEvent, files: &[String]) -> String {
    let name = &event.dataset.name;
    if is_computed(event) {
        let template = &event.dataset.uri_template;
        return format!("the dataset `{name}` has URIs that are computed: `{template}`");
    }
    if is_open(event, files) {
        return format!("the dataset `{name}` depends on properties that are not given");
    }
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    format!("the dataset `{name}` is in {}, which is not available", files.join(" or "))
}

/// Whether the dataset of an event is available, but properties in it or in its name are not.
fn is_open(event: &DataEvent, files: &[String]) -> bool {
    files.is_empty() || !event.dataset.uri_template.is_empty() || event.dataset.name.contains("${")
}

/// Claims these events, and the files that are not available.
pub(super) fn claim(
    ledger: &mut Ledger,
    coordinator: &Coordinator,
    definition: &Definition,
    files: &[String],
) {
    let missing = |name: &str| {
        let mut events = definition.inputs.iter().chain(&definition.outputs);
        events.find(|event| event.name == name && is_missing(event))
    };
    for event in coordinator.inputs.iter().chain(&coordinator.outputs) {
        let name = event.name.as_ref().map_or("", |name| name.as_str());
        if let (Some(dataset), Some(event)) = (&event.dataset, missing(name)) {
            let (reason, is_open) = (reason(event, files), is_open(event, files));
            let remedy = match (is_computed(event), is_open) {
                (true, _) => "compute the URIs of the instances by hand",
                (_, true) => GIVE,
                _ => REMEDY,
            };
            ledger.claim(dataset.span(), Outcome::None, &reason, remedy);
            let of_name = |other: &&Dataset| {
                other.name.as_ref().is_some_and(|name| name.as_str() == event.dataset.name)
            };
            if let Some(own) = coordinator.datasets.iter().find(of_name).filter(|_| is_open) {
                ledger.whole(own.span, Outcome::None, &reason, remedy);
            }
        }
    }
    let last = |uri: &str| uri.rsplit('/').next().unwrap_or_default().to_owned();
    for include in &coordinator.includes {
        if files.iter().any(|file| last(file) == last(include.as_str().trim())) {
            ledger.claim(include.span(), Outcome::None, "the file is not available", REMEDY);
        }
    }
}
