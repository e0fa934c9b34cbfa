//! Finds coordinators of a conversion that read what another one writes.

use super::{Shell, Unit};
use ankus::analysis::Analysis;
use ankus::carry::Target;
use ankus::carry::joined::{Joined, Member, Wanted, joined};
use ankus::settings::Settings;
use ankus::source::Span;
use ankus_project::Loaded;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the settings for the coordinator of a unit.
fn settings(unit: &Unit) -> Option<&Settings> {
    unit.coordinator.as_ref().map(|(loaded, _)| &*loaded.settings.settings)
}

/// Returns how a unit that reads what another one writes is to be converted, according to the settings.
pub(super) fn wanted(unit: &Unit) -> Wanted {
    settings(unit).map_or(Wanted::Folder, |settings| Wanted::of(&settings.migration))
}

/// Returns what each unit shares with others, if the settings of the site ask for it.
pub(super) fn of(units: &[Unit], target: Target) -> Vec<Joined> {
    let mut all: Vec<Joined> = units.iter().map(|_| Joined::default()).collect();
    let marks = |settings: &Settings| {
        settings.migration.values.get("done-flag").is_some_and(|value| value == "completion")
    };
    let asks = |unit: &Unit| wanted(unit) != Wanted::Folder || settings(unit).is_some_and(marks);
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
        let (Some(coordinator), Some(settings)) = (&coordinators[at], settings(unit)) else {
            continue;
        };
        let workflow = workflows[at].as_ref();
        let called: BTreeMap<Span, &Analysis> = unit
            .started
            .iter()
            .filter_map(|(span, name)| Some((*span, *by_name.get(name.as_str())?)))
            .collect();
        places.push(at);
        members.push(Member {
            name: &unit.name,
            coordinator: coordinator.coordinator(),
            text: &coordinator.source().text,
            definition,
            workflow,
            called,
            properties: &unit.properties,
            migration: &settings.migration,
            secrets: &settings.secrets,
            wanted: Wanted::of(&settings.migration),
        });
    }
    for (at, found) in places.into_iter().zip(joined(&members)) {
        all[at] = found;
    }
    all
}

/// Reports the coordinators that are not joined although the settings ask for it, with the reasons.
pub(super) fn tell(units: &[Unit], joined: &[Joined], target: Target, shell: &mut Shell) {
    for (unit, one) in units.iter().zip(joined) {
        for (input, (writer, why)) in &one.apart {
            let path = unit.shown();
            shell.say(format!("{path}: `{input}` is not joined with `{writer}`: {why}"));
        }
    }
    let asks = |unit: &Unit| wanted(unit) == Wanted::Graph;
    if !matches!(target, Target::Airflow(_)) && units.iter().any(asks) {
        let name = target.name();
        shell.say(format!(
            "`joined = \"graph\"` is for a conversion to Airflow: for {name} each coordinator stands alone"
        ));
    }
}

/// Returns the files of coordinators that no longer have one of their own, with the file that they share.
pub(super) fn replaced(units: &[Unit], joined: &[Joined]) -> Vec<(String, String)> {
    let file = |name: &str| format!("dags/{name}.py");
    let graphs =
        units.iter().zip(joined).filter_map(|(unit, one)| Some((unit, one.graph.as_ref()?)));
    graphs
        .filter(|(_, place)| place.order > 0)
        .map(|(unit, place)| (file(&unit.name), file(&place.graph)))
        .collect()
}
