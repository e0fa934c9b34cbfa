//! Lists what has no effect in a run of an application here: for `ankus doctor APP` and `ankus run --dry-run`.

use ankus::files::{Files, Presence, folder_of, join};
use ankus::settings::Settings;
use ankus::settings::site::names;
use ankus_engine::actions::carried::{self, OF_JOBS, UNREACHED, Where};
use ankus_engine::actions::credentials::{self, Asked};
use ankus_engine::actions::workplace::{self, NO_LIBRARY, SHARE_LIBRARY_SWITCH};
use ankus_lang::action_types::{action_type, is_cluster};
use ankus_lang::configuration;
use ankus_lang::plan::{Action, Plan, Work};
use ankus_lang::uri::FileUri;
use ankus_project::application::APPLICATION_PATH;
use std::collections::{BTreeMap, BTreeSet};

/// Something that has no effect, or for which an action is refused.
pub(crate) struct Note {
    /// Its location, what it is, and the reason.
    pub(crate) text: String,
    /// Whether the action is refused.
    pub(crate) is_refused: bool,
}

/// Returns all notes on a workflow, in the order of its actions. `files` contains the files that its actions refer to.
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
    let mut told = BTreeSet::new();
    for node in &plan.nodes {
        let Work::Action(action) = &node.work else { continue };
        let line = plan.lines.partition_point(|start| *start <= node.span.0).max(1);
        let mut note = |text: String, is_refused: bool| {
            let text = format!("{}:{line}: action `{}`: {text}", plan.path, node.name);
            notes.push(Note { text, is_refused });
        };
        match of_credentials(action, plan, settings, &given) {
            Ok(all) => all.into_iter().for_each(|text| note(text, false)),
            Err(text) => note(text, true),
        }
        let own = action.configuration.iter().flatten().find(|(name, _)| name == library.0);
        let own = own.filter(|(_, value)| is_asked(Some(value.source())));
        if own.is_some() && !has_library && has_part(action, &given) {
            note(format!("{} has no effect: {}", library.0, library.1), false);
        }
        let element = format!("{}{}", action.head.source(), action.tail.source());
        let known = Known { plan, files, given: &given };
        let Read { properties: named, broken, unread } = known.job_xml(&element);
        let at = place_of(action, settings);
        for unheeded in of_action(action, &element, plan, at, &named) {
            let effect = if unheeded.is_refused { "is refused" } else { "has no effect" };
            note(format!("{} {effect}: {}", unheeded.what, unheeded.why), unheeded.is_refused);
        }
        if is_cluster(&action.kind) {
            for refusal in workplace::refusals(&known.values(action, named), at) {
                note(format!("is refused with {}: {}", refusal.code, refusal.message), true);
            }
        }
        for text in broken {
            note(text, true);
        }
        for path in unread {
            note(
                format!(
                    "its job-xml `{path}` is read only when the action starts; what has no effect in it is listed in the log of the action"
                ),
                false,
            );
        }
        for origin in known.clusters(&element, settings) {
            if told.insert(origin.clone()) {
                note(format!("{origin} is not reached: {UNREACHED}"), false);
            }
        }
    }
    notes
}

/// Returns the effect of an action's credentials, in the words of its log; or why it is refused.
fn of_credentials(
    action: &Action,
    plan: &Plan,
    settings: &Settings,
    given: &BTreeMap<&str, &str>,
) -> Result<Vec<String>, String> {
    let asked = Asked { names: action.cred.as_deref(), section: &plan.credentials };
    if !is_cluster(&action.kind) {
        let without = |names: &str| {
            let kind = &action.kind;
            format!(
                "cred=\"{names}\" has no effect: a server has no credentials for {kind} actions either"
            )
        };
        let names = asked.names.filter(|names| !names.is_empty());
        return Ok(names.map(without).into_iter().collect());
    }
    let own = action.configuration.iter().flatten();
    let own = own.map(|(name, value)| (name.clone(), value.source().to_owned())).collect();
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    // The value of an expression is known only at run time.
    let unevaluated = |text: &str| Ok(text.to_owned());
    let site = &settings.server.site.properties;
    credentials::find(asked, &[&own, &given.collect(), site], &unevaluated)
        .map(|found| found.notes)
        .map_err(|refusal| format!("is refused with {}: {}", refusal.code, refusal.message))
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

/// Returns where the program of an action runs.
fn place_of(action: &Action, settings: &Settings) -> Where {
    let launchers = &settings.launchers;
    let place = launchers.chosen.get(&action.kind).and_then(|name| launchers.places.get(name));
    place.and_then(|place| Where::named(place.kind.name)).unwrap_or_default()
}

fn of_action(
    action: &Action,
    element: &str,
    plan: &Plan,
    at: Where,
    named: &[(String, String)],
) -> Vec<carried::Unheeded> {
    let own = action.configuration.iter().flatten().map(|(name, _)| name.as_str());
    let defaults = plan.defaults.iter().filter(|_| action.takes_defaults);
    let defaults = defaults.map(|(name, _)| name.as_str());
    let named = named.iter().map(|(name, _)| name.as_str());
    carried::unheeded_of(element, at, own.chain(defaults).chain(named))
}

/// What is known of the job-xml files of an action before it runs.
#[derive(Default)]
struct Read {
    /// Their properties, whose expressions are not evaluated.
    properties: Vec<(String, String)>,
    /// Why some cannot be read.
    broken: Vec<String>,
    /// The paths of those that only a run can find.
    unread: Vec<String>,
}

/// The data of a job that is known before it runs.
pub(crate) struct Known<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) files: &'a Files,
    pub(crate) given: &'a BTreeMap<&'a str, &'a str>,
}

impl Known<'_> {
    /// Replaces the given properties in a text, up to the first expression that only a run can evaluate.
    pub(crate) fn resolved(&self, text: &str) -> String {
        let lookup = |name: &str| {
            let name = if name == "wf:appPath()" { APPLICATION_PATH } else { name };
            let default = || self.plan.defaults.iter().find(|(known, _)| known == name);
            let value = self.given.get(name).copied();
            value.or_else(|| default().map(|(_, value)| value.as_str())).map(Into::into)
        };
        configuration::substitute(text, lookup).map_or_else(|_| text.to_owned(), Into::into)
    }

    /// Returns the values of an action's properties, without those that only a run can determine. `named` has those of
    /// its job-xml files.
    fn values(&self, action: &Action, named: Vec<(String, String)>) -> BTreeMap<String, String> {
        let defaults = self.plan.defaults.iter().filter(|_| action.takes_defaults).cloned();
        let own = action.configuration.iter().flatten();
        let own = own.map(|(name, value)| (name.clone(), value.source().to_owned()));
        let values = named.into_iter().chain(defaults).chain(own);
        let values = values.map(|(name, value)| (name, self.resolved(&value)));
        // A later value replaces an earlier one, even if it is not known yet.
        let mut values: BTreeMap<String, String> = values.collect();
        values.retain(|_, value| !value.contains("${"));
        values
    }

    /// Reads the job-xml files of an action that are in the application.
    fn job_xml(&self, element: &str) -> Read {
        let mut read = Read::default();
        for written in carried::texts(element, "job-xml") {
            let path = self.resolved(&written);
            let file = self.of_application(&path);
            let text = file.as_ref().and_then(|file| self.files.text(file));
            let is_absent = |file: &String| self.files.presence(file) == Presence::Absent;
            let content = match text {
                Some(source) => configuration::read_xml(&source.text),
                None if file.as_ref().is_some_and(is_absent) => {
                    Err("there is no such file in the application".to_owned())
                }
                None => {
                    read.unread.push(path);
                    continue;
                }
            };
            match content {
                Ok(content) => read.properties.extend(content),
                Err(why) => read.broken.push(format!("its job-xml `{path}` cannot be read: {why}")),
            }
        }
        read
    }

    /// Returns the file of the application that a path names: a path relative to its folder, or a full path into it.
    fn of_application(&self, path: &str) -> Option<String> {
        if path.is_empty() || path.contains("${") {
            return None;
        }
        let is_whole = path.starts_with('/') || path.contains(':');
        let uri = FileUri::parse(path);
        let inner = if is_whole {
            let own = FileUri::parse(&self.resolved(self.given.get(APPLICATION_PATH)?));
            let own = match own.parent() {
                Some(folder) if own.name().ends_with(".xml") => folder,
                _ => own,
            };
            let is_there = uri.origin() == own.origin()
                || (uri.authority.is_empty()
                    && (uri.scheme.is_empty() || uri.scheme == own.scheme));
            let inner = uri.path.strip_prefix(own.path.trim_end_matches('/'))?.strip_prefix('/')?;
            is_there.then_some(inner)?
        } else {
            path
        };
        join(folder_of(&self.plan.path), inner)
    }

    /// Returns the paths of the sub-workflows, except those that only a run can determine.
    pub(crate) fn sub_workflows(&self) -> BTreeSet<String> {
        let actions = self.plan.nodes.iter().filter_map(|node| match &node.work {
            Work::Action(action) if action.kind == "sub-workflow" => Some(action),
            _ => None,
        });
        let texts =
            actions.map(|action| format!("{}{}", action.head.source(), action.tail.source()));
        let paths = texts.flat_map(|text| carried::texts(&text, "app-path"));
        paths.map(|path| self.resolved(&path)).filter(|path| !path.contains("${")).collect()
    }

    /// Returns the clusters of the paths on which an action works, except that of the application, for which no place
    /// is configured.
    fn clusters(&self, element: &str, settings: &Settings) -> BTreeSet<String> {
        let application = self.given.get(APPLICATION_PATH).copied().unwrap_or_default();
        let own = FileUri::parse(&self.resolved(application)).origin();
        let paths = carried::paths(element).into_iter();
        let origins = paths.filter_map(|path| {
            let uri = FileUri::parse(&self.resolved(&path));
            (!uri.authority.is_empty() && !uri.authority.contains('$')).then(|| uri.origin())
        });
        let is_named = |origin: &str| settings.hosts.contains_key(origin);
        origins.filter(|origin| *origin != own && !is_named(origin)).collect()
    }
}

/// Returns the types of the actions of a workflow.
pub(crate) fn kinds(plan: &Plan) -> BTreeSet<&str> {
    let kinds = plan.nodes.iter().filter_map(|node| match &node.work {
        Work::Action(action) => Some(action.kind.as_str()),
        _ => None,
    });
    kinds.collect()
}
