//! Finds the workflow that a sub-workflow action starts, and the paths of the applications of sub-workflows on the
//! cluster.
//!
//! A sub-workflow without properties of its own is checked with those of its caller, including the caller's application
//! path. Its own path is the one by which it is started. The properties that all callers pass on can be part of the
//! paths of the workflows that it starts itself.

use super::named::Named;
use super::{
    OWN_FOLDER, Unit, absolute, beside, is_own, of_application, own_path, without_file_system,
};
use ankus::analysis::Analysis;
use ankus::carry;
use ankus::ir::workflow::Details;
use ankus::source::Span;
use ankus_project::application::PATHS;
use ankus_project::{Loaded, Looks};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Maximum number of levels for which properties are passed on, since workflows may start each other.
const DEPTH: usize = 8;

type Values = BTreeMap<String, String>;

/// A sub-workflow action of a workflow.
pub(super) struct Call {
    pub(super) span: Span,
    /// The path of its application, as written.
    path: String,
    /// Whether it inherits the properties of the caller.
    pub(super) hands_on: bool,
    /// The properties that it sets.
    pub(super) given: Vec<(String, String)>,
}

/// What is known about the path of a sub-workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// All callers use this path.
    Path(String),
    /// It is known only at run time, or callers use different paths. Contains the path of the caller itself.
    Open(Option<String>),
}

/// Sets, for each workflow that others start, the path by which it is started and the properties that are passed to it;
/// and for each workflow, those that it starts. A path that is not known is removed, since a run has to provide it.
pub(super) fn of_started(units: &mut [Unit], names: &Named) {
    let calls: Vec<Vec<Call>> = units.iter().map(calls).collect();
    let wanted = wanted(&calls);
    let mut changed: Vec<usize> = (0..units.len()).filter(|at| !calls[*at].is_empty()).collect();
    for _ in 0..DEPTH {
        for at in changed {
            let Some(loaded) = units[at].workflow.clone() else { continue };
            units[at].started = started(&units[at], &loaded, &calls[at], names);
        }
        changed = hand_down(units, &calls, &wanted);
        changed.retain(|at| !calls[*at].is_empty());
        if changed.is_empty() {
            break;
        }
    }
}

/// Returns the properties on which the paths of applications depend, directly or through other properties: usually a
/// few of thousands.
fn wanted(calls: &[Vec<Call>]) -> BTreeSet<String> {
    let names = |text: &str| -> Vec<String> {
        let is_part = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        let pieces = text.split("${").skip(1).flat_map(|piece| piece.split(|c| !is_part(c)));
        pieces.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let mut values: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (name, value) in calls.iter().flatten().flat_map(|call| &call.given) {
        values.entry(name).or_default().extend(names(value));
    }
    let mut todo: Vec<String> = calls.iter().flatten().flat_map(|call| names(&call.path)).collect();
    let mut wanted = BTreeSet::new();
    while let Some(name) = todo.pop() {
        let behind = values.get(name.as_str());
        if name != PATHS[0] && wanted.insert(name.clone()) {
            todo.extend(behind.into_iter().flatten().cloned());
        }
    }
    wanted
}

/// Returns the sub-workflow actions of a unit.
pub(super) fn calls(unit: &Unit) -> Vec<Call> {
    let Some(loaded) = &unit.workflow else { return Vec::new() };
    if !loaded.source.text.contains("sub-workflow") {
        return Vec::new();
    }
    let analysis = Analysis::new(Arc::clone(&loaded.source));
    let mut calls = Vec::new();
    for (_, _, action) in analysis.flow().workflow.actions() {
        let Some(body) = &action.body else { continue };
        let Details::SubWorkflow { app_path: Some(path), propagate_configuration } = &body.details
        else {
            continue;
        };
        let given = body.configuration.iter().map(|property| {
            let value = property.value.as_ref().map_or("", |value| value.as_str());
            (property.name.as_str().to_owned(), value.to_owned())
        });
        let hands_on = propagate_configuration.is_some();
        let path_as_written = path.as_str().trim().to_owned();
        calls.push(Call {
            span: path.span(),
            path: path_as_written,
            hands_on,
            given: given.collect(),
        });
    }
    calls
}

/// Returns the names of the workflows that a unit starts, by the location of their paths: those that its submission
/// resolved, else a workflow nearby whose path has the same end.
fn started(unit: &Unit, loaded: &Loaded, calls: &[Call], names: &Named) -> BTreeMap<Span, String> {
    let known = loaded.submission.starts.iter();
    let named = |file: &Path| names.of_file(file);
    let values = unit.known();
    let mut started: BTreeMap<Span, String> =
        known.filter_map(|(span, file)| Some((*span, named(Path::new(file))?))).collect();
    let own = own_path(unit).map(|own| carry::resolve(&own, &values));
    for call in calls {
        if started.contains_key(&call.span) {
            continue;
        }
        if is_own(&call.path) && unit.coordinator.is_none() {
            started.insert(call.span, unit.name.clone());
            continue;
        }
        let uri = of_application(&call.path, own.as_deref());
        if let Some(rest) = uri.strip_prefix(OWN_FOLDER) {
            let folder = loaded.found.path.parent().unwrap_or(Path::new(""));
            let place = folder.join(rest.trim_matches('/'));
            // The path of an application may be that of its file.
            let near = || named(&folder.join(rest.strip_prefix("/../")?.trim_matches('/')));
            let name = named(&place.join("workflow.xml")).or_else(|| named(&place)).or_else(near);
            started.extend(name.map(|name| (call.span, name)));
            continue;
        }
        let Some(uri) = told(&uri, &call.path, (&values, own.as_deref())) else { continue };
        let uri = without_file_system(&uri);
        let is_same = |own: &str| plain(without_file_system(own)) == plain(uri);
        if unit.coordinator.is_none() && own.as_deref().is_some_and(is_same) {
            started.insert(call.span, unit.name.clone());
            continue;
        }
        let looks = Looks::into_tree(&loaded.found.tree, None);
        let found = loaded.application_around(looks, None, uri, "workflow.xml");
        let name = found.and_then(|file| named(&file));
        let beside = || {
            let own = own.as_deref()?;
            let place = beside(without_file_system(own), uri, &absolute(&loaded.found.path))?;
            named(&place.join("workflow.xml")).or_else(|| named(&place))
        };
        let ending = || names.ending(uri, &loaded.found.path);
        if let Some(name) = name.or_else(beside).or_else(ending) {
            started.insert(call.span, name);
        }
    }
    started
}

/// Removes the segments of a path that `..` takes back.
fn plain(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').filter(|segment| *segment != ".") {
        match segment {
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    segments.join("/")
}

/// Resolves a path with these properties, if they suffice; `written` is the path as written in the source.
fn told(uri: &str, written: &str, (values, own): (&Values, Option<&str>)) -> Option<String> {
    let uri = carry::resolve(uri, values);
    if !uri.contains("${") {
        return Some(uri);
    }
    carry::text::evaluated(written, values, own)
}

/// Passes the path and properties on which all callers agree to the units that they start. Returns the units that have
/// changed.
fn hand_down(units: &mut [Unit], calls: &[Vec<Call>], wanted: &BTreeSet<String>) -> Vec<usize> {
    let mut paths: BTreeMap<String, Known> = BTreeMap::new();
    let mut handed: BTreeMap<String, Values> = BTreeMap::new();
    let mut again: Vec<(String, &Call)> = Vec::new();
    for (unit, calls) in units.iter().zip(calls).filter(|(unit, _)| !unit.started.is_empty()) {
        let values = unit.known();
        let own = own_path(unit).map(|own| carry::resolve(&own, &values));
        for call in calls {
            let Some(name) = unit.started.get(&call.span) else { continue };
            if *name == unit.name {
                again.push((name.clone(), call));
                continue;
            }
            let uri = of_application(&call.path, own.as_deref());
            let known = told(&uri, &call.path, (&values, own.as_deref()));
            let known = known.map_or_else(|| Known::Open(own.clone()), Known::Path);
            let before = paths.entry(name.clone()).or_insert_with(|| known.clone());
            if *before != known {
                *before = Known::Open(own.clone());
            }
            let given = given(&values, call, wanted);
            match handed.get_mut(name) {
                Some(before) => before.retain(|name, value| given.get(name) == Some(value)),
                None => drop(handed.insert(name.clone(), given)),
            }
        }
    }
    // A workflow that starts itself has the same properties in each round, except those that the action sets.
    for (name, call) in again {
        let Some(before) = handed.get_mut(&name) else { continue };
        match call.hands_on {
            true => before.retain(|name, _| call.given.iter().all(|(given, _)| given != name)),
            false => before.clear(),
        }
    }
    let mut changed = Vec::new();
    for (at, unit) in units.iter_mut().enumerate().filter(|(_, unit)| unit.coordinator.is_none()) {
        let before = own_path(unit);
        match paths.remove(&unit.name) {
            Some(Known::Path(path)) => {
                unit.properties.insert(PATHS[0].to_owned(), path);
            }
            Some(Known::Open(caller)) if unit.properties.get(PATHS[0]) == caller.as_ref() => {
                unit.properties.remove(PATHS[0]);
            }
            _ => {}
        }
        let handed = handed.remove(&unit.name).unwrap_or_default();
        if before != own_path(unit) || handed != unit.handed {
            unit.handed = handed;
            changed.push(at);
        }
    }
    changed
}

/// Returns the properties that a sub-workflow gets from its caller, as far as they are known.
fn given(values: &Values, call: &Call, wanted: &BTreeSet<String>) -> Values {
    let resolved =
        |(name, value): (&String, &String)| (name.clone(), carry::resolve(value, values));
    let all = wanted.iter().filter(|_| call.hands_on);
    let mut given: Values =
        all.filter_map(|name| values.get_key_value(name)).map(resolved).collect();
    let own = call.given.iter().filter(|(name, _)| wanted.contains(name));
    given.extend(own.map(|(name, value)| resolved((name, value))));
    given.retain(|_, value| !value.contains("${"));
    given
}
