//! Where the applications of sub-workflows lie on the cluster.
//!
//! A sub-workflow without properties of its own is read with those of whoever starts it, the path of its application among them. Its
//! own path is the one by which it is started.

use super::{Unit, of_application, own_path, started};
use ankus::analysis::Analysis;
use ankus::carry;
use ankus::ir::workflow::Details;
use ankus_project::application::PATHS;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What is known of the path of a sub-workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Known {
    /// All that start it name this one.
    Path(String),
    /// It is known only when it runs, or differs. The caller has this path itself.
    Open(Option<String>),
}

/// Gives each workflow that others start the path by which they do. One that is not known is none: it is given to a run.
pub(super) fn of_started(units: &mut [Unit], by_path: &BTreeMap<PathBuf, String>) {
    let mut found: BTreeMap<String, Known> = BTreeMap::new();
    for unit in units.iter() {
        let analysis =
            unit.workflow.as_ref().map(|loaded| Analysis::new(Arc::clone(&loaded.source)));
        let started = started(unit, analysis.as_ref(), by_path);
        let Some(analysis) = analysis.filter(|_| !started.is_empty()) else { continue };
        let own = own_path(unit).map(|own| carry::resolve(&own, &unit.properties));
        for (_, _, action) in analysis.flow().workflow.actions() {
            let Some(Details::SubWorkflow { app_path: Some(path), .. }) =
                action.body.as_ref().map(|body| &body.details)
            else {
                continue;
            };
            let Some(name) = started.get(&path.span()) else { continue };
            let uri = of_application(path.as_str().trim(), own.as_deref());
            let uri = carry::resolve(&uri, &unit.properties);
            let known = match uri.contains("${") {
                true => Known::Open(own.clone()),
                false => Known::Path(uri),
            };
            let before = found.entry(name.clone()).or_insert_with(|| known.clone());
            if *before != known {
                *before = Known::Open(own.clone());
            }
        }
    }
    for unit in units.iter_mut().filter(|unit| unit.coordinator.is_none()) {
        match found.remove(&unit.name) {
            Some(Known::Path(path)) => {
                unit.properties.insert(PATHS[0].to_owned(), path);
            }
            Some(Known::Open(caller)) if unit.properties.get(PATHS[0]) == caller.as_ref() => {
                unit.properties.remove(PATHS[0]);
            }
            _ => {}
        }
    }
}
