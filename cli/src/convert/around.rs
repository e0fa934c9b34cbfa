//! The context of the workflows of a conversion: properties files that their actions name, and settings that they
//! inherit from the workflows that start them.

use super::{OWN_FOLDER, Unit, absolute, own_path, without_file_system};
use ankus::analysis::Analysis;
use ankus::carry::resolve;
use ankus::carry::shared::{Around, Starter, handed_down, is_secret};
use ankus::ir::workflow::Details;
use ankus::settings::secrets::Secrets;
use ankus::syntax::properties::parse_configuration;
use ankus_project::{Loaded, Looks};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a properties file, in bytes; larger ones are not read.
const LARGEST_FILE: u64 = 1 << 20;

/// Returns the inherited settings of all units, by name.
pub(super) fn of_units(units: &[Unit]) -> BTreeMap<String, Around> {
    let mut workflows = units.iter().filter_map(|unit| unit.workflow.as_ref());
    if !workflows.any(|loaded| loaded.source.text.contains("propagate-configuration")) {
        return BTreeMap::new();
    }
    let mut read = Vec::new();
    for unit in units {
        let Some(loaded) = &unit.workflow else { continue };
        let analysis = Analysis::new(Arc::clone(&loaded.source));
        let settings = &loaded.settings.settings;
        let secrets = settings.secrets.with_references(&unit.properties);
        read.push((unit, analysis, secrets));
    }
    let starters: Vec<Starter<'_>> = read
        .iter()
        .map(|(unit, analysis, secrets)| Starter {
            name: &unit.name,
            workflow: analysis.workflow(),
            secrets,
            started: &unit.started,
        })
        .collect();
    handed_down(&starters)
}

/// Returns the properties that actions get from the `config-default.xml` of a workflow. A server adds it to each of
/// them as is, regardless of the job's properties. Names without a dot are parameters, which mean nothing to a tool.
/// Secrets are left out.
pub(super) fn defaults(unit: &Unit, secrets: &Secrets) -> Vec<(String, String)> {
    /// Properties that an action sets by elements.
    const CLUSTER: [&str; 4] =
        ["fs.defaultFS", "fs.default.name", "yarn.resourcemanager.address", "mapred.job.tracker"];
    let Some(loaded) = &unit.workflow else { return Vec::new() };
    let is_setting = |name: &str| {
        name.contains('.')
            && !name.starts_with("oozie.")
            && !name.contains(".launcher.")
            && !CLUSTER.contains(&name)
    };
    let as_run = |(name, value): &(String, String)| {
        let mut value = value.trim().to_owned();
        // A value that refers to other properties is overridden by that of the job.
        if value.contains("${")
            && let Some(own) = unit.properties.get(name)
            && resolve(own, &unit.properties) != resolve(&value, &unit.properties)
        {
            value.clone_from(own);
        }
        (name.clone(), value)
    };
    let all = loaded.submission.defaults.iter().filter(|(name, _)| is_setting(name));
    all.map(as_run).filter(|property| !is_secret(property, secrets)).collect()
}

/// Returns the workflows that start a unit, pass settings on to its actions, and are not converted with it. `read`
/// caches the analyses of callers.
pub(super) fn starters<'u>(
    unit: &'u Unit,
    converted: &BTreeSet<PathBuf>,
    read: &mut BTreeMap<&'u str, Analysis>,
) -> Vec<String> {
    let Some(loaded) = &unit.workflow else { return Vec::new() };
    let mut found = BTreeSet::new();
    for caller in &loaded.submission.callers {
        let Some(text) = loaded.files.text(&caller.path) else { continue };
        if converted.contains(&absolute(Path::new(&caller.path))) || !text.text.contains("<global")
        {
            continue;
        }
        let analysis = read.entry(&caller.path).or_insert_with(|| Analysis::new(Arc::clone(text)));
        let hands_on = |details: &Details| match details {
            Details::SubWorkflow { app_path: Some(path), propagate_configuration: Some(_) } => {
                path.span() == caller.span
            }
            _ => false,
        };
        let bodies =
            analysis.workflow().actions().filter_map(|(_, _, action)| action.body.as_ref());
        let hands_on = bodies.map(|body| &body.details).any(hands_on);
        if hands_on && analysis.workflow().global.is_some() {
            found.insert(caller.path.clone());
        }
    }
    found.into_iter().collect()
}

/// Returns the properties of the files that `<job-xml>` elements of a workflow name, by their paths as written. Files
/// with a secret are left out, so that it is not written to another file.
pub(super) fn job_xml(
    unit: &Unit,
    analysis: &Analysis,
    inherited: &[String],
    secrets: &Secrets,
) -> BTreeMap<String, Vec<(String, String)>> {
    let Some(loaded) = &unit.workflow else { return BTreeMap::new() };
    let workflow = analysis.workflow();
    let bodies = workflow.actions().filter_map(|(_, _, action)| action.body.as_ref());
    let own = bodies.flat_map(|body| &body.job_xml);
    let global = workflow.global.iter().flat_map(|global| &global.job_xml);
    let named = own.chain(global).map(|file| file.as_str());
    // Each file is read once, even if many actions name it.
    let named: BTreeSet<&str> = named.chain(inherited.iter().map(String::as_str)).collect();
    named
        .into_iter()
        .filter_map(|path| Some((path.to_owned(), settings_of(unit, loaded, path)?)))
        .filter(|(_, settings)| !settings.iter().any(|property| is_secret(property, secrets)))
        .collect()
}

/// Returns the settings in a file of an application, if the file is available.
fn settings_of(unit: &Unit, loaded: &Loaded, path: &str) -> Option<Vec<(String, String)>> {
    let own = own_path(unit).map(|own| resolve(&own, &unit.properties));
    let own = own.as_deref().map(|own| without_file_system(own).trim_end_matches("/workflow.xml"));
    let own = own.map(|own| own.trim_end_matches('/')).filter(|own| !own.is_empty());
    let whole = resolve(path, &unit.properties);
    let whole = without_file_system(&whole);
    let rest = path.strip_prefix(OWN_FOLDER).or_else(|| whole.strip_prefix(own?));
    let path = match rest {
        Some(rest) => rest.strip_prefix('/')?,
        None => whole,
    };
    if path.contains("${") || path.starts_with('/') {
        return None;
    }
    let place = absolute(&loaded.found.path).parent()?.join(path);
    let looks = Looks::into_tree(&loaded.found.tree, None);
    let text = String::from_utf8(looks.read(&place, LARGEST_FILE).ok()?).ok()?;
    let read = parse_configuration(&text).ok()?;
    // The last value of a name counts.
    let mut seen = BTreeSet::new();
    let counts = read.entries.into_iter().rev().filter(|entry| seen.insert(entry.name.clone()));
    let mut settings: Vec<(String, String)> =
        counts.map(|entry| (entry.name, entry.value.trim().to_owned())).collect();
    settings.reverse();
    Some(settings)
}
