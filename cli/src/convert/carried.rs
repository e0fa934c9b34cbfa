//! Converts units: one by one, or several coordinators as one graph.

use super::{Unit, absolute, around, paths};
use ankus::analysis::Analysis;
use ankus::carry::airflow::{self, Coordinated};
use ankus::carry::joined::Joined;
use ankus::carry::shared::MOST_MERGED;
use ankus::carry::{
    self, Around, Conversion, Target, Version, argo, databricks, prefect, step_functions,
};
use ankus::settings::Settings;
use ankus::settings::secrets::Secrets;
use ankus_lang::el::Dialect;
use ankus_lang::time::Instant;
use ankus_project::Loaded;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Converts all units; those that share a graph are converted together.
pub(super) fn all(
    units: &[Unit],
    joined: &[Joined],
    (target, cut_over): (Target, Option<Instant>),
) -> Vec<Conversion> {
    let mut around = around::of_units(units);
    for unit in units {
        set_by(unit, &mut around);
    }
    let files = units.iter().filter_map(|unit| unit.workflow.as_ref());
    let files: BTreeSet<PathBuf> = files.map(|loaded| absolute(&loaded.found.path)).collect();
    let mut read = BTreeMap::new();
    for unit in units {
        let starters = around::starters(unit, &files, &mut read);
        if !starters.is_empty() {
            around.entry(unit.name.clone()).or_default().starters = starters;
        }
    }
    let alone: fn(carry::Given<'_>) -> Conversion = match target {
        Target::Airflow(version) => {
            return in_graphs(units, joined, (version, cut_over), &around);
        }
        Target::StepFunctions => step_functions::convert,
        Target::Argo => argo::convert,
        Target::Databricks => databricks::convert,
        Target::Prefect => prefect::convert,
    };
    units.iter().map(|unit| alone(Read::of(unit, &around).given())).collect()
}

/// Adds the names of the properties that a unit passes to those that it starts.
fn set_by(unit: &Unit, around: &mut BTreeMap<String, Around>) {
    let mut own: Option<Vec<String>> = None;
    for call in paths::calls(unit) {
        let Some(name) = unit.started.get(&call.span) else { continue };
        let set = &mut around.entry(name.clone()).or_default().set;
        set.extend(call.given.into_iter().map(|(name, _)| name));
        if call.hands_on {
            let own = own.get_or_insert_with(|| {
                let mut names: Vec<String> = unit.known().into_keys().collect();
                if let Some((loaded, _)) = &unit.coordinator {
                    let analysis = Analysis::new(Arc::clone(&loaded.source));
                    let all = analysis.coordinator().configuration.iter();
                    names
                        .extend(all.filter_map(|one| Some(one.name.as_ref()?.as_str().to_owned())));
                }
                names
            });
            set.extend(own.iter().cloned());
        }
    }
}

fn in_graphs(
    units: &[Unit],
    joined: &[Joined],
    (version, cut_over): (Version, Option<Instant>),
    around: &BTreeMap<String, Around>,
) -> Vec<Conversion> {
    let mut conversions = Vec::new();
    for at in 0..units.len() {
        let members = match &joined[at].graph {
            None => vec![at],
            Some(place) if place.order == 0 => members_of(&place.graph, joined),
            // It is converted with the first unit of its graph.
            Some(_) => continue,
        };
        let read = members.iter().map(|at| Read::of(&units[*at], around));
        let read: Vec<Read<'_>> = read.collect();
        let given: Vec<airflow::Given<'_>> = read
            .iter()
            .zip(&members)
            .map(|(read, at)| read.for_airflow(version, cut_over, &joined[*at]))
            .collect();
        conversions.extend(airflow::convert_together(&given));
    }
    conversions
}

/// Returns the units that share a graph, in its order.
pub(super) fn members_of(graph: &str, joined: &[Joined]) -> Vec<usize> {
    let mut members: Vec<(usize, usize)> = Vec::new();
    for (at, one) in joined.iter().enumerate() {
        let place = one.graph.as_ref().filter(|place| place.graph == graph);
        members.extend(place.map(|place| (place.order, at)));
    }
    members.sort_unstable();
    members.into_iter().map(|(_, at)| at).collect()
}

/// A unit with its analyses.
struct Read<'a> {
    unit: &'a Unit,
    workflow: Option<Analysis>,
    coordinator: Option<Analysis>,
    settings: Arc<Settings>,
    secrets: Secrets,
    around: Around,
}

impl<'a> Read<'a> {
    fn of(unit: &'a Unit, around: &BTreeMap<String, Around>) -> Read<'a> {
        let analysis = |loaded: &Arc<Loaded>| Analysis::new(Arc::clone(&loaded.source));
        let workflow = unit.workflow.as_ref().map(analysis);
        let coordinator = unit.coordinator.as_ref().map(|(loaded, _)| analysis(loaded));
        let first = unit.coordinator.as_ref().map(|(loaded, _)| loaded).or(unit.workflow.as_ref());
        let settings = first.map(|loaded| Arc::clone(&loaded.settings.settings));
        let settings = settings.unwrap_or_default();
        let secrets = settings.secrets.with_references(&unit.properties);
        let mut around = around.get(&unit.name).cloned().unwrap_or_default();
        around.names_user = unit.names_user();
        if let Some(workflow) = &workflow {
            let inherited = around.inherited.as_ref().map_or(&[][..], |above| &above.job_xml);
            around.job_xml = around::job_xml(unit, workflow, inherited, &secrets);
            around.defaults = around::defaults(unit, &secrets);
            if around.defaults.len() > MOST_MERGED {
                around.left_out = std::mem::take(&mut around.defaults).len();
            }
        }
        Read { unit, workflow, coordinator, settings, secrets, around }
    }

    fn given(&self) -> carry::Given<'_> {
        let unit = self.unit;
        let coordinator = unit.coordinator.as_ref().zip(self.coordinator.as_ref());
        let coordinator = coordinator.map(|((loaded, definition), analysis)| Coordinated {
            path: &loaded.found.shown,
            analysis,
            definition: definition.as_ref(),
            partly: unit.partly.as_ref(),
            missing: &unit.missing,
        });
        carry::Given {
            path: unit.workflow.as_ref().map_or("", |loaded| &loaded.found.shown),
            analysis: self.workflow.as_ref(),
            coordinator,
            name: &unit.name,
            properties: &unit.properties,
            secrets: &self.secrets,
            migration: &self.settings.migration,
            dialect: Dialect::of_target(self.settings.target.name()),
            started: &unit.started,
            around: &self.around,
        }
    }

    fn for_airflow<'g>(
        &'g self,
        version: Version,
        cut_over: Option<Instant>,
        joined: &'g Joined,
    ) -> airflow::Given<'g> {
        airflow::Given { of: self.given(), version, tags: &self.unit.tags, cut_over, joined }
    }
}
