//! Finds the parameters that an application uses although nothing gives them a value: neither the properties that it is
//! submitted with, nor a default, nor a coordinator or workflow that starts it.

use super::paths::{Call, calls};
use super::{Loaded, USER, Unit};
use ankus::analysis::Analysis;
use ankus::carry::{Target, Unset};
use ankus::ir::workflow::Details;
use ankus::lint::Facts;
use ankus::lint::parameters::{Parameter, parameters};
use ankus::lint::reads::expressions;
use ankus::source::Source;
use ankus::syntax::properties::Origin;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What to do about values that contain the user who submits, if nothing names one.
const USER_REMEDY: &str =
    "convert again with -D user.name=NAME. Until then, the user of the target takes its place";

/// Places where a parameter is used: path and line.
type Uses = BTreeSet<(String, usize)>;

/// Returns the parameters of each unit that have no value, sorted by name.
pub(super) fn of(units: &[Unit], target: Target) -> Vec<Vec<Unset>> {
    let calls: Vec<Vec<Call>> = units.iter().map(calls).collect();
    let mut callers: BTreeMap<&str, Vec<(usize, &Call)>> = BTreeMap::new();
    for (at, (unit, calls)) in units.iter().zip(&calls).enumerate() {
        for call in calls {
            if let Some(name) = unit.started.get(&call.span) {
                callers.entry(name.as_str()).or_default().push((at, call));
            }
        }
    }
    let passed = units.iter().map(passed).collect();
    let search = Search { units, callers, passed };
    let unset = |(name, uses): (String, Uses)| {
        let remedy = if name == USER { USER_REMEDY } else { target.unset_remedy() };
        Unset { name, uses: uses.into_iter().collect(), remedy }
    };
    (0..units.len()).map(|at| search.unset(at).into_iter().map(unset).collect()).collect()
}

/// Returns the properties that the coordinator of a unit sets for its workflow.
fn passed(unit: &Unit) -> BTreeSet<String> {
    let Some((loaded, _)) = &unit.coordinator else { return BTreeSet::new() };
    let analysis = Analysis::new(Arc::clone(&loaded.source));
    let properties = &analysis.coordinator().configuration;
    let names = properties.iter().filter_map(|property| property.name.as_ref());
    names.map(|name| name.as_str().trim().to_owned()).collect()
}

struct Search<'u> {
    units: &'u [Unit],
    /// The sub-workflow actions that start a unit, by its name: the index of the unit with the action, and the action.
    callers: BTreeMap<&'u str, Vec<(usize, &'u Call)>>,
    /// The properties that the coordinator of each unit sets for its workflow.
    passed: Vec<BTreeSet<String>>,
}

impl Search<'_> {
    /// Returns the parameters of a unit that have no value, with the places where they are used.
    fn unset(&self, at: usize) -> BTreeMap<String, Uses> {
        let unit = &self.units[at];
        let mut unset: BTreeMap<String, Uses> = BTreeMap::new();
        let coordinator = unit.coordinator.as_ref().map(|(loaded, _)| (loaded, false));
        let workflow = unit.workflow.as_ref().map(|loaded| (loaded, true));
        for (loaded, is_workflow) in coordinator.into_iter().chain(workflow) {
            for Parameter { name, reads, is_required, .. } in read_by(loaded) {
                if self.is_given(&name, at, is_workflow) {
                    for (name, place) in behind(unit, &name) {
                        let is_given = match &*name {
                            USER => unit.names_user(),
                            name => self.is_given(name, at, is_workflow),
                        };
                        if !is_given {
                            unset.entry(name).or_default().insert(place);
                        }
                    }
                } else if is_required {
                    let places = reads.iter().map(|span| place(&loaded.source, span.start));
                    unset.entry(name).or_default().extend(places);
                }
            }
        }
        if let Some(loaded) = unit.workflow.as_ref().filter(|_| !unit.names_user()) {
            let places = asks_hive(loaded);
            if !places.is_empty() {
                unset.entry(USER.to_owned()).or_default().extend(places);
            }
        }
        unset
    }

    /// Whether anything gives a parameter of a unit's workflow, or else of its coordinator, a value.
    fn is_given(&self, name: &str, at: usize, is_workflow: bool) -> bool {
        if self.is_submitted(name, at, is_workflow) {
            return true;
        }
        let (mut todo, mut seen) = (vec![at], BTreeSet::from([at]));
        while let Some(at) = todo.pop() {
            let callers = self.callers.get(self.units[at].name.as_str());
            for (caller, call) in callers.into_iter().flatten() {
                let is_set = call.given.iter().any(|(given, _)| given == name);
                if is_set || (call.hands_on && self.is_submitted(name, *caller, true)) {
                    return true;
                }
                if call.hands_on && seen.insert(*caller) {
                    todo.push(*caller);
                }
            }
        }
        false
    }

    /// Whether the submission of a unit, its coordinator, or a caller that is not converted sets a property.
    fn is_submitted(&self, name: &str, at: usize, is_workflow: bool) -> bool {
        let unit = &self.units[at];
        if unit.properties.contains_key(name) || (is_workflow && self.passed[at].contains(name)) {
            return true;
        }
        let coordinator = unit.coordinator.as_ref().map(|(loaded, _)| loaded);
        let workflow = unit.workflow.as_ref().filter(|_| is_workflow);
        let loaded = coordinator.into_iter().chain(workflow);
        let mut callers = loaded.flat_map(|loaded| &loaded.submission.callers);
        callers.any(|caller| caller.values.contains_key(name))
    }
}

fn read_by(loaded: &Loaded) -> Vec<Parameter> {
    let analysis = Analysis::new(Arc::clone(&loaded.source));
    let settings = &loaded.settings.settings;
    let facts = Facts::new(&analysis, &loaded.files, &loaded.submission, settings);
    // Secrets are set up in the other engine, which the report says elsewhere.
    let is_shown = |parameter: &Parameter| !settings.secrets.covers(&parameter.name);
    parameters(&facts).into_iter().filter(is_shown).collect()
}

/// Returns the places of the actions of a workflow that tell HiveServer2 who the user is.
fn asks_hive(loaded: &Loaded) -> Vec<(String, usize)> {
    if !loaded.source.text.contains("jdbc-url") {
        return Vec::new();
    }
    let analysis = Analysis::new(Arc::clone(&loaded.source));
    let bodies = analysis.workflow().actions().filter_map(|(_, _, action)| action.body.as_ref());
    let asks =
        bodies.filter(|body| matches!(body.details, Details::Hive { jdbc_url: Some(_), .. }));
    asks.map(|body| place(&loaded.source, body.tag.start)).collect()
}

fn place(source: &Source, offset: u32) -> (String, usize) {
    (source.path.clone(), source.position(offset).line as usize)
}

/// Returns the properties that the value of a property refers to, directly or through others, with the places of these
/// references if they are in a file.
fn behind(unit: &Unit, name: &str) -> Vec<(String, (String, usize))> {
    let loaded = unit.coordinator.as_ref().map(|(loaded, _)| loaded).or(unit.workflow.as_ref());
    let Some(loaded) = loaded else { return Vec::new() };
    let (mut found, mut todo, mut seen) = (Vec::new(), vec![name.to_owned()], BTreeSet::new());
    while let Some(name) = todo.pop() {
        let Some(bound) = loaded.submission.values.get(&name) else { continue };
        let (Origin::File(file) | Origin::Default(file)) = &bound.origin else { continue };
        let Some(source) = loaded.files.text(file).filter(|_| seen.insert(name)) else { continue };
        for range in expressions(&bound.value) {
            let inner = bound.value[range].trim_start_matches("${").trim_end_matches('}').trim();
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
            let is_provided = inner.starts_with("oozie.");
            if !inner.is_empty() && inner.chars().all(is_part) && !is_provided {
                found.push((inner.to_owned(), place(source, bound.value_span.start)));
                todo.push(inner.to_owned());
            }
        }
    }
    found
}
