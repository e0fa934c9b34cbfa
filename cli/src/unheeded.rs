//! What an application says and a run here does without: for `ankus doctor APP` and `ankus run --dry-run`.

use ankus::files::{Files, folder_of, join};
use ankus::settings::Settings;
use ankus::settings::site::names;
use ankus_engine::actions::carried::{self, OF_JOBS, Where};
use ankus_engine::actions::credentials::NO_TOKEN;
use ankus_engine::actions::workplace::{NO_LIBRARY, SHARE_LIBRARY_SWITCH};
use ankus_lang::action_types::action_type;
use ankus_lang::configuration;
use ankus_lang::plan::{Action, Plan, Work};
use std::collections::{BTreeMap, BTreeSet};

/// Something that has no effect, or for which an action is refused.
pub(crate) struct Note {
    /// Where it stands, what it is, and why.
    pub(crate) text: String,
    /// Whether the action is refused.
    pub(crate) is_refused: bool,
}

/// All of a workflow, in the order of its actions. `files` has what its actions name.
pub(crate) fn notes<'a>(
    plan: &Plan,
    files: &Files,
    settings: &Settings,
    properties: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<Note> {
    let given: BTreeMap<&str, &str> = properties.into_iter().collect();
    let of_jobs = OF_JOBS.iter().filter(|(name, _)| given.contains_key(name)).copied();
    let is_asked = |value: Option<&str>| value.is_some_and(|value| value.trim() == "true");
    let has_library = settings.server.share_lib.is_some()
        || settings.server.site.get(names::SHARE_LIB).is_some_and(|path| !path.trim().is_empty());
    let library = (SHARE_LIBRARY_SWITCH, NO_LIBRARY);
    let takes_part = || {
        plan.nodes.iter().any(|node| match &node.work {
            Work::Action(action) => has_part(action, &given),
            _ => false,
        })
    };
    let of_library = (!has_library && is_asked(given.get(library.0).copied()) && takes_part())
        .then_some(library);
    let mut notes: Vec<Note> = of_jobs
        .chain(of_library)
        .map(|(name, why)| Note { text: format!("{name} has no effect: {why}"), is_refused: false })
        .collect();
    for node in &plan.nodes {
        let Work::Action(action) = &node.work else { continue };
        let line = plan.lines.partition_point(|start| *start <= node.span.0).max(1);
        let named = action.cred.as_deref().unwrap_or_default().split(',').map(str::trim);
        for name in named.filter(|name| !name.is_empty()) {
            let (path, node) = (&plan.path, &node.name);
            notes.push(Note {
                text: format!("{path}:{line}: action `{node}`: the credential {name}: {NO_TOKEN}"),
                is_refused: false,
            });
        }
        let own = action.configuration.iter().flatten().find(|(name, _)| name == library.0);
        let own = own.filter(|(_, value)| is_asked(Some(value.source())));
        if own.is_some() && !has_library && has_part(action, &given) {
            let (path, node, (name, why)) = (&plan.path, &node.name, library);
            notes.push(Note {
                text: format!("{path}:{line}: action `{node}`: {name} has no effect: {why}"),
                is_refused: false,
            });
        }
        for unheeded in of_action(action, plan, files, settings) {
            let effect = if unheeded.is_refused { "is refused" } else { "has no effect" };
            let (path, name, what, why) = (&plan.path, &node.name, unheeded.what, unheeded.why);
            notes.push(Note {
                text: format!("{path}:{line}: action `{name}`: {what} {effect}: {why}"),
                is_refused: unheeded.is_refused,
            });
        }
    }
    notes
}

/// Whether the share library has a part for an action: one that it or its job names, or that of its type.
fn has_part(action: &Action, given: &BTreeMap<&str, &str>) -> bool {
    let kind = &action.kind;
    let is_name = |name: &str| {
        name == "oozie.launcher.sharelib"
            || name.strip_prefix("oozie.action.sharelib.for.") == Some(kind)
    };
    let own = action.configuration.iter().flatten().map(|(name, _)| name.as_str());
    let is_streaming = || {
        kind == "map-reduce"
            && [&action.head, &action.tail].iter().any(|text| text.source().contains("<streaming"))
    };
    own.chain(given.keys().copied()).any(is_name)
        || action_type(kind).is_some_and(|kind| kind.library)
        || is_streaming()
}

fn of_action(
    action: &Action,
    plan: &Plan,
    files: &Files,
    settings: &Settings,
) -> Vec<carried::Unheeded> {
    let launchers = &settings.launchers;
    let place = launchers.chosen.get(&action.kind).and_then(|name| launchers.places.get(name));
    let at = place.and_then(|place| Where::named(place.kind.name)).unwrap_or_default();
    let text = format!("{}{}", action.head.source(), action.tail.source());
    let own = action.configuration.iter().flatten().map(|(name, _)| name.as_str());
    let defaults = plan.defaults.iter().filter(|_| action.takes_defaults);
    let defaults = defaults.map(|(name, _)| name.as_str());
    let named = of_files(&text, &plan.path, files);
    carried::unheeded_of(&text, at, own.chain(defaults).chain(named.iter().map(String::as_str)))
}

/// The names of the properties in the job-xml files of an action, where they lie in the application. What only a run can find
/// is listed in the log of the action.
fn of_files(element: &str, definition: &str, files: &Files) -> Vec<String> {
    let texts = carried::configuration_files(element).into_iter().filter_map(|path| {
        let is_own = !path.starts_with('/') && !path.contains(':') && !path.contains("${");
        let path = is_own.then(|| join(folder_of(definition), &path))??;
        files.text(&path)
    });
    let read = texts.filter_map(|source| configuration::read_xml(&source.text).ok());
    read.flatten().map(|(name, _)| name).collect()
}

/// The types of the actions of a workflow.
pub(crate) fn kinds(plan: &Plan) -> BTreeSet<&str> {
    let kinds = plan.nodes.iter().filter_map(|node| match &node.work {
        Work::Action(action) => Some(action.kind.as_str()),
        _ => None,
    });
    kinds.collect()
}
