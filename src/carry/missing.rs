//! Events whose datasets stand in included files that are not at hand: what is known of them is carried all the same.
//!
//! In: a coordinator as it is written, and its definition without these events. Out: the definition with them. Their datasets
//! are known by name alone, and [`is_missing`] says which these are; printers write something that fails in their place.

use super::ledger::{Ledger, Outcome};
use crate::ir::coordinator::{Coordinator, DataEvent as Written};
use ankus_lang::coordinator::{DataEvent, DatasetText, Definition, Instances};
use ankus_lang::time::{EndOf, Unit};
use std::sync::Arc;

const REMEDY: &str = "convert again with the file beside the coordinator, or below a folder above it as its path ends";

/// The definition with the events that a submission would refuse, because their datasets are not at hand.
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

/// An event whose dataset is known by name alone.
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

/// Whether nothing but the name of an event's dataset is known.
pub(super) fn is_missing(event: &DataEvent) -> bool {
    event.dataset.initial_instance.is_empty()
}

/// Why an event cannot be carried whole.
pub(super) fn reason(event: &DataEvent, files: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    let name = &event.dataset.name;
    format!("the dataset `{name}` is in {}, which is not at hand", files.join(" or "))
}

/// Claims these events, and the files that are not at hand.
pub(super) fn claim(
    ledger: &mut Ledger,
    coordinator: &Coordinator,
    definition: &Definition,
    files: &[String],
) {
    if files.is_empty() {
        return;
    }
    let missing = |name: &str| {
        let mut events = definition.inputs.iter().chain(&definition.outputs);
        events.find(|event| event.name == name && is_missing(event))
    };
    for event in coordinator.inputs.iter().chain(&coordinator.outputs) {
        let name = event.name.as_ref().map_or("", |name| name.as_str());
        if let (Some(dataset), Some(event)) = (&event.dataset, missing(name)) {
            ledger.claim(dataset.span(), Outcome::None, &reason(event, files), REMEDY);
        }
    }
    let last = |uri: &str| uri.rsplit('/').next().unwrap_or_default().to_owned();
    for include in &coordinator.includes {
        if files.iter().any(|file| last(file) == last(include.as_str().trim())) {
            ledger.claim(include.span(), Outcome::None, "the file is not at hand", REMEDY);
        }
    }
}
