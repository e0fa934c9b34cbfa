//! Loads an application with everything that it starts, as far as it is found around it: for `ankus doctor APP` and
//! `ankus run --dry-run`.

use super::{Failure, Shell, coordinator, timeline, unheeded};
use crate::properties::PropertyArguments;
use ankus::check::FileKind;
use ankus::files::Files;
use ankus::settings::Settings;
use ankus_engine::actions::carried::UNREACHED;
use ankus_lang::coordinator::Definition;
use ankus_lang::plan::Plan;
use ankus_lang::uri::FileUri;
use ankus_project::application::{APPLICATION_PATH, Application};
use ankus_project::{Loaded, Looks, Project};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A workflow whose prerequisites are checked.
pub(crate) struct Examined {
    pub(crate) path: String,
    pub(crate) plan: Plan,
    properties: BTreeMap<String, String>,
    settings: Arc<Settings>,
    /// The files of the application.
    files: Files,
}

impl Examined {
    /// Returns what has no effect in a run here.
    pub(crate) fn notes(&self) -> Vec<unheeded::Note> {
        let given = self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        unheeded::notes(&self.plan, &self.files, &self.settings, given)
    }

    fn of(application: Application) -> miette::Result<Examined> {
        let plan = application.plan().map_err(Failure::new)?;
        let path = application.loaded.source.path.clone();
        let (properties, settings) = (application.properties(), application.settings().clone());
        let files = application.loaded.files;
        Ok(Examined { path, plan, properties, settings, files })
    }
}

/// An application with everything that it starts.
pub(crate) struct Whole {
    /// Its workflows: the one at the path first, or those that its coordinators start, and their sub-workflows.
    pub(crate) workflows: Vec<Examined>,
    /// Notes about elements of its coordinators that have no effect.
    pub(crate) notes: Vec<String>,
}

impl Whole {
    /// Loads the application at a path. Reports what it starts that is not found around it.
    pub(crate) fn read(
        project: &Project,
        path: &Path,
        given: &PropertyArguments,
        shell: &mut Shell,
    ) -> miette::Result<Whole> {
        let found = project.find(path, &given.given())?;
        if !matches!(found.kind, FileKind::Coordinator | FileKind::Bundle) {
            return Whole::with(project, vec![path.to_path_buf()], given, shell);
        }
        let loaded = project.load(&found, &given.given(), None)?;
        let tracks = timeline::tracks(&loaded, project, None, shell)?;
        let (whole, absent) = Whole::started_by(project, &loaded, &tracks, given, shell)?;
        for path in absent {
            shell.say(format!("not checked, because it was not found near the definition: {path}"));
        }
        Ok(whole)
    }

    /// Returns the workflows that coordinators start; and the paths of those that are not found around them.
    pub(crate) fn started_by(
        project: &Project,
        loaded: &Loaded,
        tracks: &timeline::Tracks,
        given: &PropertyArguments,
        shell: &mut Shell,
    ) -> miette::Result<(Whole, Vec<String>)> {
        let definitions: Vec<_> =
            tracks.tracks.iter().map(|track| track.definition.clone()).collect();
        let (mut files, mut absent) = (BTreeSet::new(), Vec::new());
        for (path, file) in coordinator::workflows(loaded, tracks.bundle.as_ref(), &definitions) {
            match file {
                Some(file) => drop(files.insert(file)),
                None => absent.push(path),
            }
        }
        let mut whole = Whole::with(project, files.into_iter().collect(), given, shell)?;
        whole.notes = of_data(&loaded.source.path, &definitions, &loaded.settings.settings);
        Ok((whole, absent))
    }

    /// Adds the sub-workflows of workflows.
    fn with(
        project: &Project,
        paths: Vec<PathBuf>,
        given: &PropertyArguments,
        shell: &mut Shell,
    ) -> miette::Result<Whole> {
        let mut whole = Whole { workflows: Vec::new(), notes: Vec::new() };
        let mut waiting: VecDeque<(PathBuf, Option<String>)> =
            paths.into_iter().map(|path| (path, None)).collect();
        let mut known = BTreeSet::new();
        while let Some((path, started_as)) = waiting.pop_front() {
            let application = project.application(&path, &given.given())?;
            if !known.insert(std::path::absolute(&application.loaded.found.path).ok()) {
                continue;
            }
            let mut properties = application.properties();
            if let Some(uri) = &started_as {
                // Notes about the job itself are reported for its parent.
                properties.retain(|name, _| !name.starts_with("oozie.") && name != "group.name");
                properties.insert(APPLICATION_PATH.to_owned(), uri.clone());
            }
            if started_as.is_some()
                && let Err(why) = application.plan()
            {
                let file = &application.loaded.found.shown;
                shell.say(format!("not checked, because a run could not start it: {file}: {why}"));
                continue;
            }
            waiting.extend(children(&application, &properties)?);
            whole.workflows.push(Examined { properties, ..Examined::of(application)? });
        }
        Ok(whole)
    }
}

/// Returns the sub-workflows that are found around an application, each with the path by which it is started.
fn children(
    application: &Application,
    properties: &BTreeMap<String, String>,
) -> miette::Result<Vec<(PathBuf, Option<String>)>> {
    let plan = application.plan().map_err(Failure::new)?;
    let loaded = &application.loaded;
    let given = properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let known = unheeded::Known { plan: &plan, files: &loaded.files, given: &given };
    let mut found = Vec::new();
    for uri in known.sub_workflows() {
        let looks = Looks::into_tree(&loaded.found.tree, None);
        let own = given.get(APPLICATION_PATH).map(|path| known.resolved(path));
        let file = loaded.application_around(looks, own.as_deref(), &uri, "workflow.xml");
        found.extend(file.map(|file| (file, Some(uri))));
    }
    Ok(found)
}

/// Returns the clusters of coordinators' data, except that of the application, for which no place is configured.
fn of_data(path: &str, definitions: &[Definition], settings: &Settings) -> Vec<String> {
    let mut origins = BTreeSet::new();
    for definition in definitions {
        let own = FileUri::parse(&definition.app_path).origin();
        for event in definition.inputs.iter().chain(&definition.outputs) {
            let uri = FileUri::parse(&event.dataset.uri_template);
            let is_other = !uri.authority.is_empty() && uri.origin() != own;
            if is_other
                && !uri.authority.contains('$')
                && !settings.hosts.contains_key(&uri.origin())
            {
                origins.insert(uri.origin());
            }
        }
    }
    origins
        .into_iter()
        .map(|origin| format!("{path}: {origin} is not reached: {UNREACHED}"))
        .collect()
}
