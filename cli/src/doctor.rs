//! `ankus doctor`: checks the prerequisites of a run.

use super::store::{self, StoreArguments};
use super::{Exit, Shell, unheeded};
use crate::examined::{Examined, Whole};
use crate::properties::PropertyArguments;
use ankus::settings::Settings;
use ankus::settings::site::Effect;
use ankus::text::hanging;
use ankus_engine::host::files::{FileSystems, FileUri, Files as _, Place};
use ankus_engine::host::process::sandbox::Sandbox;
use ankus_lang::action_types::ACTION_TYPES;

use crate::needs::sandbox_kind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A workflow, coordinator or bundle (file or folder) whose tools to look for. Elements and properties without effect
    /// here are listed.
    #[arg(value_name = "APP")]
    application: Option<PathBuf>,
    #[command(flatten)]
    properties: PropertyArguments,
    #[command(flatten)]
    store: StoreArguments,
}

/// Time-out of a request to a cluster.
const PATIENCE: Duration = Duration::from_secs(5);

/// Lists what has no effect in a workflow; returns whether no action is refused.
fn tell(workflow: &Examined, shell: &mut Shell) -> miette::Result<bool> {
    let notes = workflow.notes();
    let path = &workflow.path;
    if notes.is_empty() {
        shell.line(format!("workflow  {path}: everything in it has an effect here"))?;
        return Ok(true);
    }
    shell.line(format!("workflow  {path}: without effect here, or refused"))?;
    for note in &notes {
        shell.out(hanging("  ", &note.text) + "\n")?;
    }
    Ok(notes.iter().all(|note| !note.is_refused))
}

/// Returns the tools that actions run, each with the types that need it; of all types, or of the used ones.
fn needed_tools(used: Option<&BTreeSet<&str>>) -> BTreeMap<&'static str, String> {
    let mut tools: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in &ACTION_TYPES {
        if used.is_some_and(|used| !used.contains(kind.name)) {
            continue;
        }
        let Some(program) = kind.program else { continue };
        tools.entry(program).or_default().push(match kind.name {
            "shell" => "shell scripts",
            name => name,
        });
    }
    if used.is_none() {
        tools.entry("hadoop").or_default().push("file systems that are real");
    }
    tools.into_iter().map(|(tool, users)| (tool, users.join(", "))).collect()
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let mut well = true;
    shell.line(format!("ankus     {}", env!("CARGO_PKG_VERSION")))?;

    let whole = match &arguments.application {
        Some(path) => {
            let project = shell.working_project()?;
            Some(Whole::read(&project, path, &arguments.properties, shell)?)
        }
        None => None,
    };
    let settings = shell.working_project().and_then(|project| project.settings(Path::new("x")));
    let (tools, hosts) = match &settings {
        Ok(loaded) => {
            let file = loaded.file.as_ref().map(|file| ankus_project::shown(file));
            let file = file.unwrap_or_else(|| "no ankus.toml in this folder or above".to_owned());
            shell.line(format!("settings  {file}"))?;
            site(&loaded.settings, shell)?;
            (loaded.settings.tools.clone(), loaded.settings.hosts.clone())
        }
        Err(error) => {
            well = false;
            shell.out(hanging("settings  ", &error.to_string()) + "\n")?;
            Default::default()
        }
    };

    well &= store_state(&arguments.store, shell)?;

    for (authority, text) in hosts.iter().filter(|(_, text)| text.contains("://")) {
        let state = asked(authority, text).unwrap_or_else(|why| {
            well = false;
            why
        });
        shell.line(format!("cluster   {authority}: {state}"))?;
    }

    if let Ok(loaded) = &settings {
        well &= sandbox(&loaded.settings, shell)?;
        well &= functions(&loaded.settings, shell)?;
    }

    let used: Option<BTreeSet<&str>> = whole.as_ref().map(|whole| {
        whole.workflows.iter().flat_map(|workflow| unheeded::kinds(&workflow.plan)).collect()
    });
    let needed = needed_tools(used.as_ref());
    let needs_none = needed.is_empty();
    shell.line(if needs_none { "tools     no action needs one" } else { "tools" })?;
    for (tool, what) in needed {
        // Without an application, a tool need not be there.
        well &= tool_state(tool, &what, &tools, used.is_some(), shell)?;
    }
    if let Some(whole) = &whole {
        for note in &whole.notes {
            shell.out(hanging("data      ", note) + "\n")?;
        }
        for workflow in &whole.workflows {
            well &= tell(workflow, shell)?;
        }
    }
    shell.flush()?;
    if settings.is_ok() && tools.is_empty() && !needs_none {
        shell.say("an action fails if its tool is missing; `[tools]` in ankus.toml names programs");
    }
    Ok(Exit::fault_if(!well))
}

/// Reports whether the store can be read, which is returned.
fn store_state(arguments: &StoreArguments, shell: &mut Shell) -> miette::Result<bool> {
    let folder = &arguments.store;
    let (well, state) = if folder.join(ankus_engine::driver::STORE).exists() {
        match store::reader(arguments) {
            Ok(_) => (true, "can be read".to_owned()),
            Err(error) => {
                let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
                (false, causes.join(": "))
            }
        }
    } else {
        (true, "does not exist yet; the first run creates it".to_owned())
    };
    shell.line(format!("store     {}: {state}", folder.display()))?;
    Ok(well)
}

/// Reports whether the sandbox of the settings can be made, which is returned.
fn sandbox(settings: &Settings, shell: &mut Shell) -> miette::Result<bool> {
    let kind = settings.launchers.local.sandbox.map(sandbox_kind);
    let Some((kind, tool)) = kind.and_then(|kind| Some((kind, kind.tool()?))) else {
        return Ok(true);
    };
    let sandbox = Sandbox { kind, ..Sandbox::default() };
    let made = sandbox.probe(settings.tools.get(tool).map_or(tool, String::as_str));
    let state = made.as_ref().map_or_else(Clone::clone, |()| "can be made".to_owned());
    shell.line(format!("sandbox   {}: {state}", kind.name()))?;
    Ok(made.is_ok())
}

/// Reports where a tool is. Returns whether it is where `[tools]` says or, if an application needs it, anywhere.
fn tool_state(
    tool: &str,
    what: &str,
    tools: &BTreeMap<String, String>,
    is_needed: bool,
    shell: &mut Shell,
) -> miette::Result<bool> {
    let (well, place) = match tools.get(tool) {
        Some(given) if Path::new(given).is_file() => (true, given.clone()),
        Some(given) => (false, format!("[tools] names {given}, which does not exist")),
        None => match on_path(tool) {
            Some(path) => (true, path.display().to_string()),
            None => (!is_needed, "not on PATH".to_owned()),
        },
    };
    shell.line(format!("  {tool:<12}  {place}  ({what})"))?;
    Ok(well)
}

/// Lists what has no effect in the site's configuration, and its unknown properties.
fn site(settings: &Settings, shell: &mut Shell) -> miette::Result<()> {
    let site = &settings.server.site;
    if site.is_empty() {
        return Ok(());
    }
    let (mut honored, mut lines) = (0, Vec::new());
    let mut unknown = Vec::new();
    for (name, _, known) in site.told() {
        match known.map(|known| known.effect) {
            _ if site.overridden.contains(name) => {
                lines.push(format!("  {name}: not used: overridden by the settings"));
            }
            Some(Effect::Honored(_)) => honored += 1,
            Some(Effect::Declare(what)) => lines.push(format!("  {name}: {what}")),
            Some(Effect::Without(why)) => lines.push(format!("  {name}: without effect, {why}")),
            None => unknown.push(name),
        }
    }
    let all = site.properties.len();
    shell.line(format!("site      {}: {honored} of {all} properties are honored", site.file))?;
    for line in lines {
        shell.line(line)?;
    }
    if !unknown.is_empty() {
        shell.line(format!("  unknown, and without effect: {}", unknown.join(", ")))?;
    }
    Ok(())
}

/// Lists the implementations of site functions; returns whether all programs exist.
fn functions(settings: &Settings, shell: &mut Shell) -> miette::Result<bool> {
    let mut well = true;
    let mut told = BTreeSet::new();
    for function in &settings.functions {
        if !told.insert(function.name.as_str()) {
            continue;
        }
        if told.len() == 1 {
            shell.out("functions of the site\n")?;
        }
        let said = match (function.command.first(), &function.value) {
            (Some(program), _) => {
                let path = Path::new(program);
                let is_there = match program.contains('/') {
                    true => is_program(path),
                    false => on_path(program).is_some(),
                };
                well &= is_there;
                match is_there {
                    true => format!("{program}, started by each call of a job that runs"),
                    false => format!("{program}, which is not a program: a call fails"),
                }
            }
            (None, Some(value)) => format!("always `{value}`"),
            (None, None) => "it has no value and no command: a call fails".to_owned(),
        };
        shell.line(format!("  {:<12}  {said}", function.name))?;
    }
    Ok(well)
}

/// Queries a cluster.
fn asked(authority: &str, text: &str) -> Result<String, String> {
    let place = Place::read(text, Path::new(""))?;
    let user = std::env::var("HADOOP_USER_NAME").ok().filter(|user| !user.is_empty());
    let user = user.unwrap_or_else(|| ankus_project::user().to_owned());
    let files = FileSystems::new("", [(authority.to_owned(), place)].into());
    let files = files.with_patience(PATIENCE).with_user(&user);
    match files.status(&FileUri::parse(authority).with_path("/")) {
        Ok(Some(_)) => Ok(format!("{text} answers")),
        Ok(None) => Ok(format!("{text} answers, but has no such folder yet")),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the path of a program, as a shell would find it.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path)
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}
