//! Which of the coordinators that are converted read what another one writes.

use super::{Unit, started};
use ankus::analysis::Analysis;
use ankus::carry::Target;
use ankus::carry::joined::{Joined, Member, joined};
use ankus::source::Span;
use ankus_project::Loaded;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What each unit has in common with others, where a site asks for it.
pub(super) fn of(
    units: &[Unit],
    target: Target,
    by_path: &BTreeMap<PathBuf, String>,
) -> Vec<Joined> {
    let mut all: Vec<Joined> = units.iter().map(|_| Joined::default()).collect();
    let says = |unit: &Unit, key: &str, word: &str| {
        let first = unit.coordinator.as_ref().map(|(loaded, _)| loaded);
        let settings = first.map(|loaded| &loaded.settings.settings.migration.values);
        settings.is_some_and(|values| values.get(key).is_some_and(|value| value == word))
    };
    let waits = |unit: &Unit| says(unit, "joined", "task");
    let asks = |unit: &Unit| waits(unit) || says(unit, "done-flag", "completion");
    if !matches!(target, Target::Airflow(_)) || !units.iter().any(asks) {
        return all;
    }
    let analysis = |loaded: &Arc<Loaded>| Analysis::new(Arc::clone(&loaded.source));
    let workflows: Vec<Option<Analysis>> =
        units.iter().map(|unit| unit.workflow.as_ref().map(analysis)).collect();
    let coordinators: Vec<Option<Analysis>> = units
        .iter()
        .map(|unit| unit.coordinator.as_ref().map(|(loaded, _)| analysis(loaded)))
        .collect();
    let by_name: BTreeMap<&str, &Analysis> = units
        .iter()
        .zip(&workflows)
        .filter_map(|(unit, workflow)| Some((unit.name.as_str(), workflow.as_ref()?)))
        .collect();
    let mut places = Vec::new();
    let mut members = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        let Some((_, Ok(definition))) = &unit.coordinator else { continue };
        let Some(coordinator) = &coordinators[at] else { continue };
        let workflow = workflows[at].as_ref();
        let started = started(unit, workflow, by_path);
        let called: BTreeMap<Span, &Analysis> = started
            .into_iter()
            .filter_map(|(span, name)| Some((span, *by_name.get(name.as_str())?)))
            .collect();
        places.push(at);
        members.push(Member {
            name: &unit.name,
            coordinator: coordinator.coordinator(),
            definition,
            workflow,
            called,
            waits_for_tasks: waits(unit),
        });
    }
    for (at, found) in places.into_iter().zip(joined(&members)) {
        all[at] = found;
    }
    all
}
