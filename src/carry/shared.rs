//! What an action has beside its own element: settings of files of its application, what all actions of its workflow share, and
//! what the workflow that starts it hands down.
//!
//! In: what was found around the workflows of a conversion. Out: [`Around`] for each of them, and the bodies of their actions
//! with all of it merged in, as a server merges it.

use super::commands;
use crate::ir::Scalar;
use crate::ir::workflow::{Body, Details, Launcher, Property, Workflow};
use crate::passes::resolve;
use crate::settings::secrets::Secrets;
use crate::source::{Slice, Span};
use ankus_lang::plan::Global;
use std::collections::BTreeMap;

/// What was found around a workflow.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The properties of files that `<job-xml>` names, by their paths as written.
    pub job_xml: BTreeMap<String, Vec<(String, String)>>,
    /// What `config-default.xml` beside it gives its actions, whatever a job is submitted with.
    pub defaults: Vec<(String, String)>,
    /// How many of these there are, where that is too many to write them out.
    pub left_out: usize,
    /// What the workflows that start it hand down.
    pub inherited: Option<Global>,
    /// Workflows that hand something down to it, and are not among the converted files.
    pub starters: Vec<String>,
    /// What the workflows that it starts miss of what it hands down, by the places that name them.
    pub missed: BTreeMap<Span, Missed>,
}

/// What a workflow misses of what another one hands down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// The workflow.
    pub by: String,
    /// What it misses: elements and properties.
    pub names: Vec<String>,
}

impl Missed {
    /// The first of the names, and how many more there are.
    pub(super) fn listed(&self) -> String {
        const MOST: usize = 4;
        let names: Vec<String> =
            self.names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
        match self.names.len().saturating_sub(MOST) {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// A workflow that may start others.
#[derive(Clone, Copy, Debug)]
pub struct Starter<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub workflow: &'a Workflow,
    /// What is secret.
    pub secrets: &'a Secrets,
    /// Names of those that it starts, by the places that name them.
    pub started: &'a BTreeMap<Span, String>,
}

/// Workflows may start each other; deeper than this nothing is handed down.
const DEPTH: usize = 8;

/// A file with more settings than this stays a file: no command line holds them all and can be read.
pub const MOST_MERGED: usize = 50;

/// What workflows hand down to those that they start: by name, what it has from others and what those that it starts miss.
pub fn handed_down(starters: &[Starter<'_>]) -> BTreeMap<String, Around> {
    let mut inherited: BTreeMap<&str, Option<Global>> = BTreeMap::new();
    for _ in 0..DEPTH {
        let mut given: BTreeMap<&str, Option<Global>> = BTreeMap::new();
        for starter in starters {
            for (child, hands_on, _) in calls(starter) {
                let mut global = handed(starter, &inherited).filter(|_| hands_on);
                if let Some(global) = &mut global {
                    global.configuration.retain(|property| !is_secret(property, starter.secrets));
                }
                given
                    .entry(child)
                    .and_modify(|before| *before = common(before.take(), global.clone()))
                    .or_insert(global);
            }
        }
        if given == inherited {
            break;
        }
        inherited = given;
    }
    let mut all: BTreeMap<String, Around> = BTreeMap::new();
    for starter in starters {
        for (child, hands_on, span) in calls(starter) {
            let Some(global) = handed(starter, &inherited).filter(|_| hands_on) else { continue };
            let own = starters.iter().find(|other| other.name == child);
            let known = inherited.get(child).and_then(Option::as_ref);
            let known = own.map_or(known.cloned(), |own| resolve::global(own.workflow, known));
            let names = missing(&global, known.as_ref());
            let missed = Missed { by: child.to_owned(), names };
            all.entry(starter.name.to_owned()).or_default().missed.insert(span, missed);
        }
    }
    for (name, global) in inherited {
        all.entry(name.to_owned()).or_default().inherited = global;
    }
    all
}

/// The workflows that one starts, whether they take its settings, and where they are named.
fn calls<'a>(starter: &Starter<'a>) -> Vec<(&'a str, bool, Span)> {
    let mut found = Vec::new();
    for (_, _, action) in starter.workflow.actions() {
        if let Some(Details::SubWorkflow { app_path: Some(path), propagate_configuration }) =
            action.body.as_ref().map(|body| &body.details)
            && let Some(child) = starter.started.get(&path.span())
        {
            found.push((child.as_str(), propagate_configuration.is_some(), path.span()));
        }
    }
    found
}

/// What a workflow hands down, but for what is said to launchers and to the server.
fn handed(starter: &Starter<'_>, inherited: &BTreeMap<&str, Option<Global>>) -> Option<Global> {
    let above = inherited.get(starter.name).and_then(Option::as_ref);
    let mut global = resolve::global(starter.workflow, above)?;
    global
        .configuration
        .retain(|(name, _)| !name.starts_with("oozie.") && !name.contains(".launcher."));
    Some(global)
}

/// Whether a property has a secret, which is written into no other file.
pub fn is_secret((name, value): &(String, String), secrets: &Secrets) -> bool {
    secrets.covers(name) || !secrets.places(value).is_empty()
}

/// What two workflows hand down alike.
fn common(one: Option<Global>, other: Option<Global>) -> Option<Global> {
    let (one, other) = one.zip(other)?;
    Some(Global {
        name_node: one.name_node.filter(|node| other.name_node.as_ref() == Some(node)),
        resource_manager: one
            .resource_manager
            .filter(|manager| other.resource_manager.as_ref() == Some(manager)),
        job_xml: one.job_xml.into_iter().filter(|file| other.job_xml.contains(file)).collect(),
        configuration: one
            .configuration
            .into_iter()
            .filter(|property| other.configuration.contains(property))
            .collect(),
    })
}

/// The names of what is handed down and not there.
fn missing(handed: &Global, known: Option<&Global>) -> Vec<String> {
    let mut names = Vec::new();
    if handed.name_node.is_some() && known.is_none_or(|known| known.name_node.is_none()) {
        names.push("name-node".to_owned());
    }
    if let Some((name, _)) = &handed.resource_manager
        && known.is_none_or(|known| known.resource_manager.is_none())
    {
        names.push(name.clone());
    }
    let is_there = |file: &String| known.is_some_and(|known| known.job_xml.contains(file));
    names.extend(handed.job_xml.iter().filter(|file| !is_there(file)).cloned());
    let is_set = |name: &str| {
        known.is_some_and(|known| known.configuration.iter().any(|(other, _)| other == name))
    };
    let unset = handed.configuration.iter().filter(|(name, _)| !is_set(name));
    names.extend(unset.map(|(name, _)| name.clone()));
    names
}

/// An action with what all actions share, and with the settings of files that are at hand.
pub(super) fn shared(workflow: &Workflow, body: &Body, around: &Around) -> Body {
    let mut body = body.clone();
    let place = body.tag;
    let mut files = Vec::new();
    if let Some(global) = &workflow.global {
        body.name_node = body.name_node.or_else(|| global.name_node.clone());
        body.resource_manager = body.resource_manager.or_else(|| global.resource_manager.clone());
        files.extend(global.job_xml.iter().cloned());
        merge(&mut body, &global.configuration);
        if let Some(shared) = &global.launcher {
            let own = body
                .launcher
                .get_or_insert_with(|| Launcher { span: shared.span, settings: Vec::new() }.into());
            let is_new =
                |one: &&(Slice, Span, Scalar)| !own.settings.iter().any(|set| set.0 == one.0);
            let more: Vec<_> = shared.settings.iter().filter(is_new).cloned().collect();
            own.settings.extend(more);
        }
    }
    if let Some(above) = &around.inherited {
        // It stands in another file: what becomes of it is said where the action is.
        let text = |text: &String| Scalar::elsewhere(text, place);
        body.name_node = body.name_node.or_else(|| above.name_node.as_ref().map(text));
        let manager = above.resource_manager.as_ref().map(|(_, manager)| text(manager));
        body.resource_manager = body.resource_manager.or(manager);
        let is_known = |file: &String| files.iter().any(|own| own.as_str() == file);
        let more: Vec<Scalar> =
            above.job_xml.iter().filter(|file| !is_known(file)).map(text).collect();
        files.extend(more);
        let properties: Vec<Property> =
            above.configuration.iter().map(|property| elsewhere(property, place)).collect();
        merge(&mut body, &properties);
    }
    // The defaults beside the workflow count for more than its files of properties.
    let defaults: Vec<Property> = around
        .defaults
        .iter()
        .filter(|(name, _)| takes_defaults(&body, name))
        .map(|property| elsewhere(property, place))
        .collect();
    merge(&mut body, &defaults);
    // Those of the action come behind, and so count for more.
    let is_own = |file: &Scalar| body.job_xml.iter().any(|own| own.as_str() == file.as_str());
    files.retain(|file| !is_own(file));
    body.job_xml.splice(0..0, files);
    read_files(&mut body, around);
    body
}

/// Whether a default of a workflow says something to an action.
fn takes_defaults(body: &Body, name: &str) -> bool {
    match body.details {
        Details::SubWorkflow { .. } | Details::Email { .. } | Details::Ssh { .. } => false,
        Details::Fs { .. } => is_of_files(name),
        _ => true,
    }
}

/// Whether a client of file systems has a use for a property.
pub(super) fn is_of_files(name: &str) -> bool {
    ["fs.", "dfs.", "hadoop.", "ipc."].iter().any(|start| name.starts_with(start))
}

fn merge(body: &mut Body, shared: &[Property]) {
    for property in shared {
        let name = property.name.as_str();
        if body.configuration.iter().all(|own| own.name.as_str() != name) {
            body.configuration.push(property.clone());
        }
    }
}

/// Settings of files in the place of the files, where no program is told to read these. The last file counts for most: what is
/// before one that is not at hand stays as it is.
fn read_files(body: &mut Body, around: &Around) {
    let takes_settings = match &body.details {
        Details::Fs { .. } | Details::SubWorkflow { .. } => false,
        Details::MapReduce { streaming, pipes, .. } => streaming.is_none() && pipes.is_none(),
        _ => !commands::takes_conf(body) && commands::hive_site(body).is_none(),
    };
    if !takes_settings {
        return;
    }
    while let Some(file) = body.job_xml.last()
        && let Some(settings) = around.job_xml.get(file.as_str())
        && (1..=MOST_MERGED).contains(&settings.len())
    {
        let place = file.span();
        let settings: Vec<Property> =
            settings.iter().map(|property| elsewhere(property, place)).collect();
        merge(body, &settings);
        body.job_xml.pop();
    }
}

/// A property of another file, with the place that stands for it.
fn elsewhere((name, value): &(String, String), place: Span) -> Property {
    Property {
        span: place,
        name: Scalar::elsewhere(name, place),
        value: Some(Scalar::elsewhere(value, place)),
        description: None,
    }
}
