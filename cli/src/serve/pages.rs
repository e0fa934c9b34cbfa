//! The data that the console shows besides the web services: applications to submit, findings, output of programs, the
//! estate.

use super::{DEFINITIONS, Job, Masked, Served, failed, log, store};
use crate::{inventory, params};
use ankus::check::FileKind;
use ankus::emit::graph::STYLE;
use ankus_console::{Application, Fault, Finding, Pages, Parameter, Surveyed};
use ankus_engine::driver::object::Mask as _;
use ankus_engine::driver::{bundle, coordinator as kept};
use ankus_engine::host::files::unpack_application;
use ankus_procedure::private;
use ankus_project::application::Application as Loaded;
use ankus_project::{Given, Project};
use ankus_server::backend::Backend as _;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of bytes that are shown from the end of a program's output.
const SHOWN: u64 = 256 << 10;
/// The folder of uploaded applications, below the root.
const UPLOADS: &str = "uploads";

/// Implements the pages of a server.
pub(super) struct Site(pub(super) Arc<Served>);

fn ours(report: &miette::Report) -> Fault {
    failed(report).into()
}

/// Loads and checks the application in a file or folder.
fn loaded(project: &Project, path: &Path, given: &Given) -> Result<Loaded, Fault> {
    project.application(path, given).map_err(|report| ours(&report))
}

impl Site {
    /// Returns the folder of the file systems of applications.
    fn root(&self) -> PathBuf {
        let root = self.0.root.clone();
        root.unwrap_or_else(|| self.0.store.store.join("root"))
    }

    /// Returns the properties with which a job was submitted.
    fn properties(&self, id: &str) -> Result<BTreeMap<String, String>, Fault> {
        let reader = self.0.reader()?;
        let reader = &*reader;
        let found = match Job::find(reader, id).map_err(|report| ours(&report))? {
            None => {
                let shown = store::job(reader, id).map_err(|report| ours(&report))?;
                return Ok((*shown.run.conf).clone());
            }
            Some(Job::Coordinator(record)) => {
                kept::definition(reader, &record.id).map(|definition| definition.properties)
            }
            Some(Job::Bundle(record)) => {
                bundle::definitions(reader, &record.id).map(|(bundle, _)| bundle.properties)
            }
        };
        found.map_err(|error| Fault::new(500, error.to_string()))
    }
}

impl Pages for Site {
    fn owner(&self) -> String {
        ankus_project::user().to_owned()
    }

    fn application(&self, path: &str) -> Result<Application, Fault> {
        let absent = Fault::new(404, format!("There is no application at {path}."));
        let brought = DEFINITIONS.iter().find_map(|name| {
            let fetched = self.0.brought(path, name).ok()?;
            let is_folder = fetched.path.is_dir();
            let file = if is_folder { fetched.path.join(name) } else { fetched.path.clone() };
            Some((fetched, file))
        });
        // Fetched files are deleted after they have been read.
        let (_fetched, file) = brought.ok_or(absent)?;
        // The properties next to the application prefill the form.
        let found = loaded(&self.0.project()?, &file, &Given::default())?;
        let kind = match found.loaded.found.kind {
            FileKind::Workflow => "wf",
            FileKind::Coordinator => "coord",
            FileKind::Bundle => "bundle",
            FileKind::Properties | FileKind::Datasets | FileKind::Configuration => {
                return Err(Fault::new(400, format!("{path} is not a definition.")));
            }
        };
        let secrets = &found.loaded.settings.settings.secrets;
        let parameter = |one: ankus::lint::parameters::Parameter| Parameter {
            shape: one.shape.name(),
            is_required: one.is_required,
            is_secret: secrets.covers(&one.name),
            value: one.given.or(one.default).map(|(value, _)| value).unwrap_or_default(),
            description: one.description.unwrap_or_default(),
            name: one.name,
        };
        let parameters = params::of(&found).into_iter().map(parameter).collect();
        let name = found.outcome.file.name.clone().unwrap_or_else(|| path.to_owned());
        Ok(Application { kind, name, parameters })
    }

    fn findings(&self, id: &str) -> Result<Vec<Finding>, Fault> {
        let reader = self.0.reader()?;
        let file = self.0.definition_file(&*reader, id).map_err(|report| ours(&report))?;
        let properties = self.properties(id)?;
        let mask = Masked::of(&self.0.settings, &properties, None);
        let define = properties.into_iter().collect();
        let given = Given { files: Vec::new(), define, no_properties: true };
        let found = loaded(&self.0.project()?, &file, &given)?;
        let source = &found.loaded.source;
        let here = found.outcome.findings.iter().filter(|finding| finding.path == source.path);
        let shown = here.map(|finding| Finding {
            line: source.position(finding.diagnostic.span.start).line as usize,
            level: finding.level.name(),
            rule: finding.diagnostic.kind.name.to_owned(),
            message: mask.text(&finding.diagnostic.message),
        });
        Ok(shown.collect())
    }

    fn masked(&self, id: &str, definition: &str) -> Result<String, Fault> {
        let reader = self.0.reader()?;
        let settings = &self.0.settings;
        let mask = match Job::find(&*reader, id).map_err(|report| ours(&report))? {
            None => {
                let shown = store::job(&*reader, id).map_err(|report| ours(&report))?;
                Masked::new(settings, &shown)
            }
            Some(_) => Masked::of(settings, &self.properties(id)?, None),
        };
        Ok(mask.text(definition))
    }

    fn output(&self, id: &str, node: &str) -> Result<String, Fault> {
        let reader = self.0.reader()?;
        let shown = store::job(&*reader, id).map_err(|report| ours(&report))?;
        let mask = Masked::new(&self.0.settings, &shown);
        let entries = log::workflow_entries(&*reader, &shown, &mask, Some(node));
        let entries = entries.map_err(|report| ours(&report))?;
        let job = &shown.run.job;
        let owner = log::Owner {
            id,
            name: &job.name,
            user: &job.user,
            group: job.group.as_deref(),
            token: shown.run.property("oozie.wf.log.token").unwrap_or_default(),
            created: job.created,
        };
        let lines = log::lines(&entries, &owner, "", false).map_err(|why| Fault::new(500, why))?;
        let mut text: String = lines.into_iter().map(|line| line + "\n").collect();
        for output in log::outputs(&shown.run, &shown.plan, Some(node), SHOWN) {
            let written = mask.text(&output.text);
            text.push_str(&format!("--- {}\n{written}", output.stream));
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        Ok(text)
    }

    fn estate(&self) -> Result<Vec<Surveyed>, Fault> {
        let root = self.root();
        if !root.is_dir() {
            return Ok(Vec::new());
        }
        let project = self.0.project()?;
        let found = inventory::survey(&project, std::slice::from_ref(&root), "airflow");
        let (inventory, _) = found.map_err(|report| ours(&report))?;
        let below = |path: &str| {
            let below = Path::new(path).strip_prefix(&root).ok();
            below.map_or_else(|| path.to_owned(), |below| format!("/{}", below.display()))
        };
        let surveyed = inventory.applications.into_iter().map(|one| Surveyed {
            path: below(&one.path),
            kind: one.kind.name().to_owned(),
            nodes: one.nodes,
            actions: counted(&one.actions),
            called: one.called,
            errors: one.levels[0],
            warnings: one.levels[1],
            refused: one.refused.unwrap_or_default().to_owned(),
            effort: one.effort().name().to_owned(),
            name: one.name.unwrap_or_default(),
        });
        Ok(surveyed.collect())
    }

    fn upload(&self, name: &str, zip: &[u8]) -> Result<String, Fault> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_name) {
            let message =
                "A name has letters, digits, `.`, `_` and `-`, and does not begin with a dot.";
            return Err(Fault::new(400, message));
        }
        let folder = self.root().join(UPLOADS);
        let place = folder.join(name);
        if place.exists() {
            return Err(Fault::new(409, format!("There is an application `{name}` already.")));
        }
        let unique = RandomState::new().hash_one(name);
        let scratch = folder.join(format!(".{name}-{unique:016x}"));
        let unpacked = unpack(zip, &scratch, &place);
        // The remaining files are useless, whether it succeeded or not.
        let _ = fs::remove_dir_all(&scratch);
        unpacked.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                Fault::new(400, format!("The archive cannot be unpacked: {error}"))
            }
            _ => Fault::new(500, format!("The application cannot be kept: {error}")),
        })?;
        Ok(format!("/{UPLOADS}/{name}"))
    }

    fn picture_style(&self) -> &'static str {
        STYLE
    }
}

/// Unpacks an archive next to its destination, and moves it there once it is complete.
fn unpack(zip: &[u8], scratch: &Path, place: &Path) -> io::Result<()> {
    let unpacked = scratch.join("application");
    private::folder(&unpacked)?;
    let archive = scratch.join("application.zip");
    private::write(&archive, zip)?;
    let found = unpack_application(&archive, &unpacked)?;
    fs::rename(found, place)
}

/// Returns a summary such as `2 fs, 1 shell`.
fn counted(actions: &BTreeMap<String, usize>) -> String {
    let words: Vec<String> =
        actions.iter().map(|(name, number)| format!("{number} {name}")).collect();
    words.join(", ")
}
