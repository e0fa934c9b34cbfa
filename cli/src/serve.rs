//! `ankus serve`: Oozie's web services over the store, with the same engine as `ankus run`.

mod access;
mod dry_run;
mod pages;
mod readers;
mod texts;
mod traces;
mod update;

use super::coordinator::{self, Job};
use super::runner::Runner;
use super::store::{self, Masked, StoreArguments};
use super::{Exit, Failure, Shell, fetched, graph, log, needs, operate, timeline};
use ankus::check::{self, FileKind};
use ankus::settings::Settings;
use ankus::settings::site::names;
use ankus::source::Source;
use ankus::syntax::properties::Submission as Properties;
use ankus_engine::driver::bundle::SubmitBundle;
use ankus_engine::driver::coordinator::{Message, SubmitCoordinator};
use ankus_engine::driver::object::Mask;
use ankus_engine::driver::{
    self, Submit, audit, bundle, coordinator as kept, definitions, purge, view,
};
use ankus_engine::host::files::{FileSystems, FileUri, LibraryPart, library_parts};
use ankus_lang::coordinator::Answers;
use ankus_lang::machine::Command;
use ankus_lang::machine::coordinator::bundle::Event as BundleEvent;
use ankus_lang::plan::Plan;
use ankus_procedure::control::ControlError;
use ankus_procedure::store::{Error as StoreError, Reader};
use ankus_project::application::PATHS;
use ankus_project::{Given, Invocation, Project};
use ankus_server::Fault;
use ankus_server::backend::{Backend, Log, Purge, Submission, Update};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Oozie's message about a file that does not exist.
const ABSENT: &str = "does not exist and app definition cannot be created because of missing config value [oozie.jobs.api.generated.xml]";
/// The property that contains the definition of a workflow that is not stored anywhere yet.
const GENERATED: &str = "oozie.jobs.api.generated.xml";
/// The URI schemes of Hadoop's file systems.
const SCHEMES: [&str; 14] = [
    "abfs", "abfss", "adl", "file", "ftp", "gs", "har", "hdfs", "o3fs", "ofs", "s3a", "s3n",
    "wasb", "webhdfs",
];
/// Interval at which the process checks whether it has to end, and whether the process that runs the store still
/// exists.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum time until a command takes effect.
const PATIENCE: Duration = Duration::from_secs(2);
/// The file names of definitions, in the order of the properties that point to their folders.
const DEFINITIONS: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

/// Serve Oozie's web services and a console. The unmodified `oozie` client submits jobs, which run on this machine.
///
/// Runs in the foreground until SIGTERM or Ctrl-C. Programs that are running continue, and the next process that runs the
/// store picks them up.
#[derive(Debug, clap::Args)]
#[command(before_help = "Examples:
  ankus serve                                    serve the jobs of .ankus on 127.0.0.1:11000
  ankus serve --store /var/lib/ankus             serve another store
  ankus serve --listen 0.0.0.0:11443 --tls cert.pem key.pem --auth basic --accounts accounts.toml
  OOZIE_URL=http://localhost:11000/oozie oozie job -run -config job.properties")]
pub(super) struct Arguments {
    #[command(flatten)]
    store: StoreArguments,
    /// Address to listen on. Other machines are served only with --auth.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:11000")]
    listen: SocketAddr,
    /// Folder that holds the file systems of applications (default: `root` in the store).
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    access: access::AccessArguments,
    #[command(flatten)]
    traces: traces::TraceArguments,
}

/// The state of the server: the store, and the environment of its submissions.
struct Served {
    store: StoreArguments,
    root: Option<PathBuf>,
    invocation: Invocation,
    settings: Arc<Settings>,
    settings_file: Option<PathBuf>,
    runner: Mutex<Runner>,
    readers: readers::Readers,
}

/// Converts a failure to an error for the client.
fn failed(report: &miette::Report) -> Fault {
    if let Some(refusal) = report.downcast_ref::<Failure>().and_then(Failure::refusal) {
        let part = refusal.part.as_ref().map(|part| format!(" ({part})")).unwrap_or_default();
        let text = texts::refused(&refusal.code, &refusal.names);
        return Fault::new(&refusal.code, text + &part);
    }
    let text = report.to_string();
    let of_disk = [StoreError::Full, StoreError::Disk(String::new())];
    match of_disk.iter().any(|error| text.contains(&error.to_string())) {
        true => unwritten(&text),
        false => Fault::internal(text),
    }
}

/// Returns the error of a store that cannot write, because the disk is full or fails.
fn unwritten(why: &str) -> Fault {
    Fault::internal(format!("{why}: nothing was changed; try again later")).status(503)
}

/// Converts a refusal of the engine, with its code if it has one.
fn refused(error: driver::Error) -> Fault {
    let text = match error {
        driver::Error::Refused(refused) => return Fault::new(refused.code, refused.message),
        driver::Error::State(why) | driver::Error::Control(ControlError::Refused(why)) => why,
        driver::Error::Store(error) if error.may_pass() => return unwritten(&error.to_string()),
        other => return Fault::internal(other.to_string()),
    };
    let coded = text.split_once(": ").filter(|(code, _)| {
        code.len() == 5 && code.starts_with('E') && code[1..].bytes().all(|b| b.is_ascii_digit())
    });
    match coded {
        Some((code, message)) => Fault::new(code, message),
        // A command that a job cannot accept is not an error of the server.
        None => Fault::new("E0307", format!("Runtime error [{text}]")),
    }
}

impl Served {
    fn runner(&self) -> MutexGuard<'_, Runner> {
        self.runner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why nothing can be made durable at the moment, if so.
    fn refuses(&self) -> Option<String> {
        let runner = self.runner();
        let error = runner.driver()?.refused()?;
        Some(format!("{error} (`{}`)", self.store.store.display()))
    }

    /// Opens the settings anew, since they may have changed since the last submission.
    fn project(&self) -> Result<Project, Fault> {
        let invocation = Invocation { does: true, ..self.invocation.clone() };
        Project::open(invocation).map_err(|report| failed(&report))
    }

    /// Makes the application at a URI available on this machine.
    fn brought(&self, uri: &str, name: &str) -> Result<fetched::Fetched, Fault> {
        let file = if uri.ends_with(".xml") {
            uri.to_owned()
        } else {
            format!("{}/{name}", uri.trim_end_matches('/'))
        };
        let absent = || {
            if let Some((scheme, _)) =
                file.split_once("://").filter(|(scheme, _)| !SCHEMES.contains(scheme))
            {
                let why =
                    format!("E0902: Exception occurred: [No FileSystem for scheme: {scheme}]");
                let what = format!("Could not check whether file [{file}] exists on HDFS");
                return Fault::new(
                    "E0307",
                    format!("Runtime error [{what}. Error message: {why}]"),
                );
            }
            Fault::new("E0307", format!("Runtime error [XML file [{file}] {ABSENT}]"))
        };
        let base = self.settings_file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let root = self.root.as_deref();
        let uri = FileUri::parse(uri);
        let found = fetched::brought(&uri, &self.settings, base, root, &self.store);
        let found = found.map_err(|report| failed(&report))?.ok_or_else(absent)?;
        let definition =
            if found.path.is_dir() { found.path.join(name) } else { found.path.clone() };
        if definition.is_file() { Ok(found) } else { Err(absent()) }
    }

    fn workflow(
        &self,
        path: &Path,
        given: &Given,
        how: Submission,
    ) -> Result<Option<Submit>, Fault> {
        let project = self.project()?;
        let application = project.application(path, given).map_err(|report| failed(&report))?;
        let reference = application.outcome.file.reference.as_ref();
        if let Some(reference) = reference {
            let submit = reference.submit.as_ref().filter(|submit| submit.code.is_some());
            let verdict = submit.unwrap_or(&reference.verdict);
            if let Some(code) = verdict.code {
                return Err(Fault::new(code, texts::refused(code, &verdict.subject)));
            }
        }
        let plan = application.plan().map_err(|why| Fault::new("E0701", why))?;
        let mut properties = application.properties();
        if how == Submission::Hold {
            properties.insert(driver::HELD.to_owned(), "true".to_owned());
        }
        if how == Submission::DryRun {
            return dry_run::evaluated(&application).map(|()| None);
        }
        let mounts = application.mounts(&properties);
        let submit = Submit { plan: plan.to_bytes(), properties, id: None, mounts };
        Ok(Some(submit))
    }

    /// Submits a coordinator or a bundle with everything that belongs to it.
    fn timed(&self, path: &Path, given: &Given, how: Submission) -> Result<String, Fault> {
        let ours = |report: miette::Report| failed(&report);
        let project = self.project()?;
        let found = project.find(path, given).map_err(ours)?;
        let loaded = project.load(&found, given, None).map_err(ours)?;
        let verdict = limits(&loaded);
        if let Some(fault) = verdict {
            return Err(fault);
        }
        let root = self.root.as_deref();
        let far = |uri: &FileUri| fetched::brought_for(uri, &loaded, root, &self.store);
        let tracks = timeline::tracks_with(&loaded, &project, Some(&far)).map_err(ours)?;
        let assumed: Vec<&str> =
            tracks.tracks.iter().flat_map(|track| &track.assumed).map(String::as_str).collect();
        if !assumed.is_empty() {
            let what =
                "parameters are required but were not defined and no default values are available";
            let why = format!("The following {} {what}: {}", assumed.len(), assumed.join(", "));
            return Err(Fault::new("E0738", why));
        }
        timeline::admit(&tracks.tracks).map_err(ours)?;
        if let Err(refused) = check::refused_path(&loaded.input()) {
            return Err(Fault::new(refused.code.unwrap_or("E0803"), refused.subject.join(", ")));
        }
        if let Some(absent) = tracks.absent.first() {
            return Err(Fault::new(
                "E1001",
                format!("Could not read the coordinator job definition, {absent}"),
            ));
        }
        let definitions: Vec<_> = tracks.tracks.into_iter().map(|track| track.definition).collect();
        let mounts = coordinator::mounts(&loaded, tracks.bundle.as_ref(), &definitions);
        if how == Submission::DryRun {
            return Ok(match tracks.bundle {
                // The server returns the definition of a bundle as it parsed it.
                Some(_) => ankus_server::laid_out(&loaded.input().source.text) + "\n",
                None => match definitions.first() {
                    Some(definition) => self.coordinator_dry_run(definition, &loaded)?,
                    None => return Err(Fault::internal("nothing was read")),
                },
            });
        }
        let mut runner = self.runner();
        let submitted = match tracks.bundle {
            Some(mut bundle) => runner.submit_bundle(SubmitBundle {
                bundle: {
                    let how = if how == Submission::Hold { driver::HELD } else { driver::AT_ONCE };
                    bundle.properties.insert(how.to_owned(), "true".to_owned());
                    bundle
                },
                coordinators: definitions,
                id: None,
                mounts,
            }),
            None => {
                let definition = definitions.into_iter().next();
                let definition = definition.ok_or_else(|| Fault::internal("nothing was read"))?;
                runner.submit_coordinator(SubmitCoordinator { definition, id: None, mounts })
            }
        };
        submitted.map_err(refused)
    }

    /// Sends an event or a command to a job, and waits briefly until the job has processed it.
    fn sent(
        &self,
        id: &str,
        send: impl FnOnce(&mut Runner) -> Result<(), driver::Error>,
    ) -> Result<(), Fault> {
        let ours = |report: miette::Report| failed(&report);
        let reader = self.reader()?;
        send(&mut self.runner()).map_err(refused)?;
        let is_taken = || Ok(!Job::read(&*reader, id)?.has_messages(&*reader)?);
        store::until(PATIENCE, is_taken).map_err(ours)
    }

    /// Returns the text of the definition at a URI.
    fn read_at(&self, uri: &str) -> Result<String, Fault> {
        let what = format!("File does not exist, {uri}");
        let absent = || Fault::new("E0505", format!("App definition [{what}] does not exist"));
        let found = self.brought(uri, DEFINITIONS[0]).map_err(|_| absent())?;
        let project = self.project()?;
        let given = Given { no_properties: true, ..Given::default() };
        let found = project.find(&found.path, &given).map_err(|_| absent())?;
        let loaded = project.load(&found, &given, None).map_err(|_| absent())?;
        Ok(loaded.input().source.text.to_string())
    }

    /// Returns the text of a definition on this machine.
    fn text_of(&self, file: &Path) -> Result<String, Fault> {
        let project = self.project()?;
        let given = Given { no_properties: true, ..Given::default() };
        let ours = |report: miette::Report| failed(&report);
        let found = project.find(file, &given).map_err(ours)?;
        let loaded = project.load(&found, &given, None).map_err(ours)?;
        Ok(loaded.input().source.text.to_string())
    }

    /// Stores the definition with which a job runs.
    fn keep(&self, id: &str, text: Option<&str>) {
        if let Some(text) = text {
            // The job has been stored: a failure here cannot undo that, and the definition is then read at its path.
            let _ = definitions::keep(&self.store.store, id, text);
        }
    }

    /// Stores the current definition at the path of a job that has read it again.
    fn keep_what_lies(&self, id: &str) {
        let reader = self.reader().ok();
        let file = reader.and_then(|reader| self.definition_file(&*reader, id).ok());
        self.keep(id, file.and_then(|file| self.text_of(&file).ok()).as_deref());
    }

    /// Returns the file of a job's definition.
    fn definition_file(&self, reader: &dyn Reader, id: &str) -> miette::Result<PathBuf> {
        if view::record(reader, id).map_err(store::failure)?.is_some() {
            return graph::definition_of(reader, &store::job(reader, id)?);
        }
        let (at, properties) = match Job::read(reader, id)? {
            Job::Coordinator(record) => {
                (1, kept::definition(reader, &record.id).map_err(store::failure)?.properties)
            }
            Job::Bundle(record) => {
                (2, bundle::definitions(reader, &record.id).map_err(store::failure)?.0.properties)
            }
        };
        let uri = properties.get(PATHS[at]).map_or("", String::as_str);
        let found =
            self.brought(uri, DEFINITIONS[at]).map_err(|fault| Failure::new(fault.message))?;
        let is_folder = found.path.is_dir();
        Ok(if is_folder { found.path.join(DEFINITIONS[at]) } else { found.path.clone() })
    }
}

/// Returns the error of a submission without an application: the server then searches where its fluent job API would
/// have written one.
fn unnamed() -> Fault {
    let user = ankus_project::user();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let file = format!("/user/{user}/oozie-fluent-job-api-generated/gen_app_{since}/workflow.xml");
    Fault::new("E0307", format!("Runtime error [XML file [{file}] {ABSENT}]"))
}

/// Returns why a server would refuse a coordinator or a bundle.
fn limits(loaded: &ankus_project::Loaded) -> Option<Fault> {
    let answer = check::answer(&loaded.input())?;
    let submit = answer.submit.as_ref().filter(|submit| submit.code.is_some());
    let verdict = submit.unwrap_or(&answer.verdict);
    verdict.code.map(|code| Fault::new(code, texts::refused(code, &verdict.subject)))
}

impl Backend for Served {
    fn reader(&self) -> Result<Arc<dyn Reader>, Fault> {
        self.readers.one().map_err(|report| failed(&report))
    }

    fn trouble(&self) -> Option<String> {
        self.refuses()
    }

    fn submit(
        &self,
        configuration: &BTreeMap<String, String>,
        how: Submission,
    ) -> Result<String, Fault> {
        let is_named =
            |path: &&str| configuration.get(*path).is_some_and(|it| !it.trim().is_empty());
        let at = PATHS.iter().position(is_named).ok_or_else(unnamed)?;
        let uri = &configuration[PATHS[at]];
        let mut fetched = match (self.brought(uri, DEFINITIONS[at]), configuration.get(GENERATED)) {
            // A program has generated the workflow, and sends it with the submission.
            (Err(fault), Some(xml)) if at == 0 && fault.message.contains(GENERATED) => {
                fetched::generated(uri, xml, &self.store).map_err(|report| failed(&report))?
            }
            (found, _) => found?,
        };
        let path = match fetched.path.is_dir() {
            true => fetched.path.join(DEFINITIONS[at]),
            false => fetched.path.clone(),
        };
        let define = configuration.iter().map(|(name, value)| (name.clone(), value.clone()));
        let given = Given { files: Vec::new(), define: define.collect(), no_properties: true };
        let text = match how {
            Submission::DryRun => None,
            Submission::Start | Submission::Hold => Some(self.text_of(&path)?),
        };
        let id = match at {
            0 => match self.workflow(&path, &given, how)? {
                Some(submit) => self.runner().submit(submit).map_err(refused)?,
                None => "OK".to_owned(),
            },
            _ => self.timed(&path, &given, how)?,
        };
        if how != Submission::DryRun {
            fetched.keep().map_err(|report| failed(&report))?;
            self.keep(&id, text.as_deref());
            self.runner().activate(&id).map_err(refused)?;
        }
        Ok(id)
    }

    fn command(&self, by: &str, id: &str, command: Command) -> Result<(), Fault> {
        let reader = self.reader()?;
        self.runner().on_behalf(by).command(id, command).map_err(refused)?;
        let is_taken = || {
            let has_messages = store::job_record(&*reader, id)?.has_messages(&*reader);
            Ok(!has_messages.map_err(|error| store::failure(error.into()))?)
        };
        store::until(PATIENCE, is_taken).map_err(|report| failed(&report))
    }

    fn rerun(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
    ) -> Result<(), Fault> {
        self.runner().on_behalf(by).rerun(id, configuration).map_err(refused)?;
        self.keep_what_lies(id);
        Ok(())
    }

    fn coordinator(&self, by: &str, id: &str, message: Message) -> Result<(), Fault> {
        let Message::Update(new) = &message else {
            return self.sent(id, |runner| runner.on_behalf(by).coordinator(id, &message));
        };
        self.runner().on_behalf(by).coordinator(id, &message).map_err(refused)?;
        let reader = self.reader()?;
        let shows = || Ok(kept::definition(&*reader, id).map_err(store::failure)? == **new);
        store::until(PATIENCE, shows).map_err(|report| failed(&report))
    }

    fn answers(&self, id: &str) -> Result<Box<dyn Answers>, Fault> {
        let programs = driver::needs::programs_of_job(&*self.reader()?, id, &self.store.store);
        Ok(Box::new(programs.map_err(refused)?))
    }

    fn update(
        &self,
        by: &str,
        id: &str,
        configuration: &BTreeMap<String, String>,
        how: Update,
    ) -> Result<String, Fault> {
        self.updated(by, id, configuration, how)
    }

    fn bundle(&self, by: &str, id: &str, event: BundleEvent) -> Result<(), Fault> {
        self.sent(id, |runner| runner.on_behalf(by).bundle(id, &event))
    }

    fn definition(&self, id: &str) -> Result<String, Fault> {
        let reader = self.reader()?;
        let kept = definitions::kept(&self.store.store, id);
        if let Some(text) = kept.map_err(|error| Fault::internal(error.to_string()))? {
            return Ok(text);
        }
        let file = self.definition_file(&*reader, id).map_err(|report| failed(&report))?;
        self.text_of(&file)
    }

    fn log(
        &self,
        id: &str,
        which: Log,
        filter: &str,
        actions: Option<&[String]>,
    ) -> Result<String, Fault> {
        let ours = |report: miette::Report| failed(&report);
        let reader = self.reader()?;
        let lines = |entries: &[log::Entry], owner: &log::Owner<'_>| {
            log::lines(entries, owner, filter, which == Log::Errors)
                .map_err(|why| texts::unfiltered(&why))
        };
        if which == Log::Audit {
            let text = audit::read(&self.store.store)
                .map_err(|error| Fault::internal(error.to_string()))?;
            let of_job = format!("JOBID [{id}]");
            let lines = text.lines().filter(|line| line.contains(&of_job));
            return Ok(lines.map(|line| format!("{line}\n")).collect());
        }
        let is_meant =
            |entry: &log::Entry| actions.is_none_or(|actions| actions.contains(&entry.action));
        let lines = match Job::find(&*reader, id).map_err(ours)? {
            Some(job) => {
                let (mut entries, owner) = operate::entries(&*reader, &job).map_err(ours)?;
                entries.retain(is_meant);
                lines(&entries, &owner)?
            }
            None => {
                let shown = store::job(&*reader, id).map_err(ours)?;
                let run = &shown.run;
                let mask = Masked::new(&self.settings, &shown);
                let mut entries =
                    log::workflow_entries(&*reader, &shown, &mask, None).map_err(ours)?;
                entries.retain(is_meant);
                let owner = log::Owner {
                    id,
                    name: &run.job.name,
                    user: &run.job.user,
                    group: run.job.group.as_deref(),
                    token: run.property("oozie.wf.log.token").unwrap_or_default(),
                    created: run.job.created,
                };
                lines(&entries, &owner)?
            }
        };
        Ok(lines.into_iter().map(|line| line + "\n").collect())
    }

    fn picture(&self, id: &str, with_kills: bool) -> Result<String, Fault> {
        let unseen = |report: miette::Report| {
            Fault::new("E0307", format!("Runtime error [{report}]")).status(404)
        };
        let reader = self.reader()?;
        let file = self.definition_file(&*reader, id).map_err(unseen)?;
        graph::picture_of(id, &file, &self.store, with_kills, &self.project()?).map_err(unseen)
    }

    fn dots(&self, svg: &str) -> Result<Vec<u8>, Fault> {
        let undrawn =
            |why: String| Fault::new("E0307", format!("Runtime error [{why}]")).status(404);
        graph::dots(svg).map_err(undrawn)
    }

    fn validate(&self, name: &str, text: &str) -> Result<(), Fault> {
        let read;
        let text = match name.starts_with("hdfs://") {
            true => {
                read = self.read_at(name)?;
                &read
            }
            false => text,
        };
        let source = Arc::new(Source::new(name, text));
        let kind = [FileKind::Workflow, FileKind::Coordinator, FileKind::Bundle];
        let root = ankus::syntax::xml::Tree::parse(text).0;
        let root = root.root().map(|root| root.name().to_owned()).unwrap_or_default();
        let kind = match root.as_str() {
            "coordinator-app" => kind[1],
            "bundle-app" => kind[2],
            _ => kind[0],
        };
        let submission = Properties::default();
        let input = check::Input {
            settings: &self.settings,
            submission: &submission,
            ..check::Input::of(&source, kind)
        };
        let verdict = check::answer(&input).map(|answer| answer.validate);
        match verdict.and_then(|verdict| Some((verdict.code?, verdict.subject))) {
            None => Ok(()),
            Some((code, subject)) => {
                let why = texts::parsed(&subject, text);
                Err(Fault::new(code, format!("XML schema error, {name}, {why}")))
            }
        }
    }

    fn configuration(&self) -> BTreeMap<String, String> {
        let properties = self.runner().needs().server.clone();
        let shown = properties
            .iter()
            .map(|(name, value)| (name.clone(), self.settings.secrets.shown(name, value)));
        let mut shown: BTreeMap<String, String> = shown.collect();
        let user = ankus_project::user();
        let library = "oozie.service.WorkflowAppService.system.libpath".to_owned();
        shown.entry(library).or_insert_with(|| format!("/user/{user}/share/lib"));
        shown
    }

    fn mask(&self, properties: &BTreeMap<String, String>, plan: Option<&Plan>) -> Box<dyn Mask> {
        Box::new(Masked::of(&self.settings, properties, plan))
    }

    fn share_library(&self) -> Result<Option<Vec<LibraryPart>>, Fault> {
        let needs = self.runner().needs().clone();
        let Some(system) =
            needs.server.get(names::SHARE_LIB).filter(|path| !path.trim().is_empty())
        else {
            return Ok(None);
        };
        let base = self.settings_file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let hosts = needs::hosts(&self.settings, base);
        let hosts = hosts.map_err(|why| Fault::internal(why.to_string()))?;
        let root = self.root.clone().unwrap_or_else(|| self.store.store.join("root"));
        let root = std::path::absolute(&root).unwrap_or(root);
        let files = FileSystems::new(root, hosts);
        let parts = library_parts(&files, &FileUri::parse(system.trim()));
        parts.map_err(|why| {
            Fault::internal(format!("the share library `{system}` cannot be read: {why}"))
        })
    }

    fn purge(&self, ages: &Purge) -> Result<(), Fault> {
        let runner = self.runner();
        let Some(driver) = runner.driver() else {
            return Err(Fault::new(
                "E0307",
                "Runtime error [another process runs this store, and only that one purges it]",
            ));
        };
        let reader = driver.reader();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(now.as_millis()).unwrap_or(i64::MAX);
        let mut old = Vec::new();
        let mut counts = [0_usize; 3];
        let mut tops = purge::tops(&*reader).map_err(refused)?;
        tops.sort_by_key(|top| top.ended);
        for top in tops {
            let Some(ended) = top.ended else { continue };
            let (kind, days) = match top.id.rsplit('-').next() {
                Some("C") => (1, ages.coordinators),
                Some("B") => (2, ages.bundles),
                _ => (0, ages.workflows),
            };
            if ages.limit.is_some_and(|most| counts[kind] >= most) {
                continue;
            }
            let Some(days) = days else { continue };
            let age = i64::try_from(days.saturating_mul(86_400_000)).unwrap_or(i64::MAX);
            if ended < now.saturating_sub(age) {
                counts[kind] += 1;
                old.push(top.id);
            }
        }
        if let Some(days) = ages.workflows.filter(|_| ages.actions) {
            let age = i64::try_from(days.saturating_mul(86_400_000)).unwrap_or(i64::MAX);
            let most = ages.limit.unwrap_or(usize::MAX);
            driver.purge_actions(now.saturating_sub(age), most).map_err(refused)?;
        }
        driver.purge(&old).map(|_| ()).map_err(refused)
    }
}

pub(super) fn run(arguments: Arguments, shell: &mut Shell) -> miette::Result<Exit> {
    let store = &arguments.store;
    if let Some(exit) = arguments.access.prints(shell)? {
        return Ok(exit);
    }
    let (settings, settings_file) = store::settings_of(shell, Path::new("workflow.xml"))?;
    let proxies = access::proxies_of(&settings.server.site, shell)?;
    let mut access = arguments.access.open(arguments.listen.ip(), &store.store, proxies)?;
    let signals = store::signals();
    let needs = needs::needs(arguments.root.as_deref(), &settings, settings_file.as_deref())?;
    needs::has_sandbox(&needs)?;
    let mut runner = Runner::open(store, needs, needs::limits(&settings))?;
    let endings = arguments.traces.listen(&runner);
    runner.activate_all(false).map_err(store::failure)?;
    let served = Arc::new(Served {
        store: store.clone(),
        root: arguments.root.clone(),
        invocation: shell.invocation(),
        settings: settings.clone(),
        settings_file,
        runner: Mutex::new(runner),
        readers: readers::Readers::new(store),
    });
    let unusable =
        |why: std::io::Error| Failure::new(format!("cannot serve on {}: {why}", arguments.listen));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(unusable)?;
    let listener = runtime.block_on(tokio::net::TcpListener::bind(arguments.listen));
    let listener = listener.map_err(|why| {
        unusable(why).help("another server may listen there; --listen names another address")
    })?;
    let address = listener.local_addr().map_err(unusable)?;
    let tls = access.tls()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let shown = store.store.display();
    shell.say(format!("serving the jobs of `{shown}` on {scheme}://{address}/oozie"));
    let (tell, told) = std::sync::mpsc::channel::<String>();
    let exporter = arguments.traces.open(served.clone(), endings, tell.clone())?;
    let options = ankus_server::Options {
        backend: served.clone(),
        pages: Box::new(pages::Site(served.clone())),
        keeper: access.keeper.clone(),
        tls,
        // During shutdown the log has no receiver.
        log: Box::new(move |line| drop(tell.send(line.to_owned()))),
        has_prometheus: true,
    };
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let serving = runtime.spawn(async move {
        let stop = async move {
            // If the sender was dropped, the server stops as well.
            let _ = ended.await;
        };
        ankus_server::serve(listener, options, stop).await
    });
    attend(&served, &mut access, &told, shell, || {
        signals.typed() == 0 && !signals.is_ending() && !serving.is_finished()
    })?;
    // If the server has already stopped, it has no receiver.
    let _ = end.send(());
    let ended =
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(5), serving).await });
    match ended {
        // Clients that keep a connection open are not waited for.
        Ok(Ok(())) | Err(_) => {}
        Ok(Err(panic)) => {
            return Err(Failure::new(format!("the server has failed: {panic}")).into());
        }
    }
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Some(exporter) = exporter {
        exporter.end();
        told.try_iter().for_each(|line| shell.say(line));
    }
    shell.say("running programs continue; `ankus serve` and `ankus up` pick them up");
    Ok(Exit::Success)
}

/// While the server is to go on: prints its log, renews what grants access, takes over a store whose other process has
/// exited, forgets old jobs, and reports when requests are refused and when they are accepted again.
fn attend(
    served: &Served,
    access: &mut access::Access,
    told: &std::sync::mpsc::Receiver<String>,
    shell: &mut Shell,
    goes_on: impl Fn() -> bool,
) -> miette::Result<()> {
    let mut looked = Instant::now();
    let (mut refused, mut purged) = (None, None::<Instant>);
    while goes_on() {
        if let Ok(line) = told.recv_timeout(LOOK) {
            shell.say(line);
        }
        if looked.elapsed() < LOOK * 10 {
            continue;
        }
        looked = Instant::now();
        for said in access.renew() {
            shell.say(said);
        }
        let mut runner = served.runner();
        if runner.is_handed_over().map_err(store::failure)? {
            runner.activate_all(false).map_err(store::failure)?;
        }
        if let Some(driver) = runner.driver() {
            if purged.is_none_or(|at| at.elapsed() > store::PURGE) {
                purged = Some(Instant::now());
                store::forget_old(driver, &served.settings.keep)?;
            }
            driver.executor().wait_for_room();
            if let Some(error) = driver.executor().stopped_by() {
                return Err(store::failure(error.into()));
            }
        }
        drop(runner);
        let refuses = served.refuses();
        match (&refused, &refuses) {
            (None, Some(why)) => shell.say(format!("{why}; requests are refused until then")),
            (Some(_), None) => shell.say("the store accepts requests again"),
            _ => {}
        }
        refused = refuses;
    }
    Ok(())
}
