//! Settings that an action has from outside its own element: from files of its application, from the `<global>` of its
//! workflow, and from the workflow that starts it.
//!
//! [`handed_down`] computes the [`Around`] of each workflow of a conversion. `shared` returns the body of an action
//! with all these settings merged in, as a server merges them.

use super::{commands, resolve as resolve_all};
use crate::ir::Scalar;
use crate::ir::workflow::{Body, Credential, Details, Launcher, Property, Workflow};
use crate::passes::resolve;
use crate::settings::secrets::Secrets;
use crate::source::{Slice, Span};
use ankus_lang::plan::Global;
use std::collections::{BTreeMap, BTreeSet};

/// The context of a workflow: settings from outside its definition.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The properties of files in `<job-xml>` elements, by their paths as written.
    pub job_xml: BTreeMap<String, Vec<(String, String)>>,
    /// The properties that its actions get from its `config-default.xml`, regardless of the job's properties.
    pub defaults: Vec<(String, String)>,
    /// The number of these properties if they are too many to be written out.
    pub left_out: usize,
    /// The `<global>` settings that it inherits from the workflows that start it.
    pub inherited: Option<Global>,
    /// The names of the properties that it gets from workflows that start it.
    pub set: BTreeSet<String>,
    /// Whether its submission names the user; otherwise the user is that of the other engine.
    pub names_user: bool,
    /// Workflows from which it inherits settings and that are not among the converted files.
    pub starters: Vec<String>,
    /// The settings that workflows which it starts do not inherit although they should, by the location of their paths.
    pub missed: BTreeMap<Span, Missed>,
}

/// The settings that a workflow should inherit from another one and does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missed {
    /// The workflow.
    pub by: String,
    /// The names of missing elements and properties.
    pub names: Vec<String>,
}

impl Missed {
    /// Lists the first names and the number of the others.
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
    /// Its definition.
    pub workflow: &'a Workflow,
    /// The names of secrets.
    pub secrets: &'a Secrets,
    /// The names of the workflows that it starts, by the location of their paths.
    pub started: &'a BTreeMap<Span, String>,
}

/// Maximum number of levels for which settings are passed on, since workflows may start each other.
const DEPTH: usize = 8;

/// Maximum number of settings of a file that are written out; with more of them, a command line would be unreadable.
pub const MOST_MERGED: usize = 50;

/// Computes the settings that workflows pass to those that they start. Returns for each, by name, what it inherits, and
/// what the workflows that it starts miss.
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

/// Returns the workflows that one starts, whether they inherit its settings, and the location of their paths.
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

/// Returns the settings that a workflow passes on, without those for launchers and the server.
fn handed(starter: &Starter<'_>, inherited: &BTreeMap<&str, Option<Global>>) -> Option<Global> {
    let above = inherited.get(starter.name).and_then(Option::as_ref);
    let mut global = resolve::global(starter.workflow, above)?;
    global
        .configuration
        .retain(|(name, _)| !name.starts_with("oozie.") && !name.contains(".launcher."));
    Some(global)
}

/// Whether a property contains a secret, which must not be written to another file.
pub fn is_secret((name, value): &(String, String), secrets: &Secrets) -> bool {
    secrets.covers(name) || !secrets.places(value).is_empty()
}

/// Returns the settings that two workflows have in common.
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

/// Returns the names of inherited settings that are missing.
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

/// Returns an action with the settings of `<global>` and those of files that are available.
pub(super) fn shared(
    workflow: &Workflow,
    body: &Body,
    (around, properties): (&Around, &BTreeMap<String, String>),
) -> Body {
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
        // The text is in another file: what becomes of it is reported at the action.
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
    // The defaults of the workflow take precedence over its properties files.
    let defaults: Vec<Property> = around
        .defaults
        .iter()
        .filter(|(name, _)| takes_defaults(&body, name))
        .map(|property| elsewhere(property, place))
        .collect();
    merge(&mut body, &defaults);
    // The files of the action come last and therefore take precedence.
    let is_own = |file: &Scalar| body.job_xml.iter().any(|own| own.as_str() == file.as_str());
    files.retain(|file| !is_own(file));
    body.job_xml.splice(0..0, files);
    read_files(&mut body, around);
    name_principal(workflow, &mut body, properties);
    // A server ignores properties without a name.
    body.configuration.retain(|property| !is_nameless(property));
    body
}

/// Adds the principal of HiveServer2 to the address that a `hive2` action connects to. On a server the action has a token
/// that its credential gets with this principal; a client with a Kerberos ticket has to name it.
fn name_principal(workflow: &Workflow, body: &mut Body, properties: &BTreeMap<String, String>) {
    let own = workflow.actions().find(|(_, _, action)| {
        action.body.as_ref().is_some_and(|other| other.element == body.element)
    });
    let cred = own.and_then(|(_, _, action)| action.cred.as_deref());
    let (Some(cred), Details::Hive { jdbc_url: Some(url), .. }) = (cred, &mut body.details) else {
        return;
    };
    let is_named = |credential: &&Credential| {
        cred.as_str().split(',').any(|name| name.trim() == &*credential.name.text)
    };
    let mut named = workflow.credentials.iter().filter(is_named).flat_map(|one| &one.properties);
    let principal = named.find(|property| property.name.as_str() == "hive2.server.principal");
    let principal = principal.and_then(|property| property.value.as_ref());
    // The settings of a session follow the principal. An address that is not known may have both already.
    let address = resolve_all(url.as_str(), properties);
    let is_bare = !["${", "?", "#", "principal="].iter().any(|part| address.contains(part));
    if let Some(principal) = principal.filter(|_| is_bare) {
        let end = if address.ends_with(';') { "" } else { ";" };
        let text = format!("{}{end}principal={}", url.as_str(), principal.as_str());
        **url = Scalar::elsewhere(&text, url.span());
    }
}

/// Returns the parameters of a workflow whose defaults refer, directly or through other defaults, to properties that it
/// gets from a workflow that starts it: these values are known only at run time. Each comes after those that it refers to.
pub(super) fn following<'w>(
    workflow: &'w Workflow,
    (around, properties, secrets): (&Around, &BTreeMap<String, String>, &Secrets),
) -> Vec<(&'w str, &'w str)> {
    let is_default = |(name, value): &(&str, &str)| {
        value.contains("${")
            && !around.set.contains(*name)
            && !secrets.covers(name)
            && properties.get(*name).is_some_and(|given| given.trim() == value.trim())
    };
    let defaults = workflow
        .parameters
        .iter()
        .filter_map(|property| Some((property.name.as_str(), property.value.as_ref()?.as_str())));
    let mut left: Vec<(&str, &str)> = defaults.filter(is_default).collect();
    let mut open: BTreeSet<&str> = around.set.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    loop {
        let is_part = |c: char| c.is_alphanumeric() || "_.-".contains(c);
        let refers = |value: &str| {
            let expressions = value.split("${").skip(1).filter_map(|rest| rest.split('}').next());
            let mut words = expressions.flat_map(|expression| expression.split(|c| !is_part(c)));
            words.any(|word| open.contains(word))
        };
        let (next, rest): (Vec<_>, Vec<_>) = left.iter().partition(|(_, value)| refers(value));
        if next.is_empty() {
            return found;
        }
        open.extend(next.iter().map(|(name, _)| *name));
        found.extend(next);
        left = rest;
    }
}

/// Whether a server ignores a property, because it has no name.
pub(super) fn is_nameless(property: &Property) -> bool {
    property.name.as_str().trim().is_empty()
}

/// Whether an action uses a default property of its workflow.
fn takes_defaults(body: &Body, name: &str) -> bool {
    match body.details {
        Details::SubWorkflow { .. } | Details::Email { .. } | Details::Ssh { .. } => false,
        Details::Fs { .. } => is_of_files(name),
        _ => true,
    }
}

/// Whether a file system client uses a property.
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

/// Replaces files by their settings, if the program of the action does not read the files. The last file takes
/// precedence, so that files before one that is not available stay as they are.
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

/// Creates a property from another file, with the location that represents it.
fn elsewhere((name, value): &(String, String), place: Span) -> Property {
    Property {
        span: place,
        name: Scalar::elsewhere(name, place),
        value: Some(Scalar::elsewhere(value, place)),
        description: None,
    }
}
