//! An application named on the command line: its definition, its properties, its plan, and its location for a run.

use super::tree::{Kind, absolute};
use super::{Failure, Found, Given, Loaded, Looks, Project, limits, user};
use ankus::check::{self, FileKind, Outcome, Report};
use ankus::emit::plan::{self, Options};
use ankus::files::Files;
use ankus::passes::expressions::site_function;
use ankus::settings::Settings;
use ankus::source::{self, Encoding, Source};
use ankus::syntax::properties::{Origin, Submission};
use ankus_engine::driver::Compiler;
use ankus_engine::host::files::FileUri;
use ankus_lang::configuration::{read_xml, substitute};
use ankus_lang::el::Dialect;
use ankus_lang::plan::{Global, Plan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file names of definitions in an application folder.
const DEFINITIONS: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];
/// The properties that point to them.
pub const PATHS: [&str; 3] =
    ["oozie.wf.application.path", "oozie.coord.application.path", "oozie.bundle.application.path"];
/// The property that points to a workflow.
pub const APPLICATION_PATH: &str = PATHS[0];
/// Maximum size of a definition that a run loads, in bytes.
const LARGEST: u64 = source::SIZE_LIMIT;

/// An application, loaded and checked.
pub struct Application {
    /// The loaded definition.
    pub loaded: Loaded,
    /// The result of its check.
    pub outcome: Outcome,
}

impl Project {
    /// Returns the definition at a path: the file itself, or the definition in a folder.
    ///
    /// # Errors
    /// If there is none, or the path cannot be read.
    pub fn find(&self, path: &Path, given: &Given) -> miette::Result<Found> {
        let tree = self.tree(path)?;
        let top = self.top(path)?;
        let path = top.as_path();
        if tree.kind(path) != Some(Kind::Folder) {
            let found = self.definitions(&[path.to_owned()])?.found;
            return found.into_iter().next().ok_or_else(|| Failure::new("nothing is named").into());
        }
        // The properties take precedence: a folder may contain several definitions.
        let guess = self.submission(given, &path.join(DEFINITIONS[0]), FileKind::Workflow)?;
        let named = PATHS.iter().zip(DEFINITIONS).filter_map(|(name, definition)| {
            let value = guess.get(name)?.trim_end_matches('/');
            let last = value.rsplit('/').next().unwrap_or_default();
            Some(path.join(if last.ends_with(".xml") { last } else { definition }))
        });
        let usual = DEFINITIONS.iter().map(|name| path.join(name));
        let looks = Looks::into_tree(&tree, None);
        match named.chain(usual).find(|path| looks.is_there(path)) {
            Some(path) => self.find(&path, given),
            None => {
                let message = format!("there is no definition in `{}`", path.display());
                let help =
                    "name the file, or a folder with a workflow.xml, coordinator.xml or bundle.xml";
                Err(Failure::new(message).help(help).into())
            }
        }
    }

    /// Returns the folder for a path: if an archive contains exactly one folder and nothing else, that folder.
    ///
    /// # Errors
    /// If its tree cannot be read.
    pub fn top(&self, path: &Path) -> miette::Result<PathBuf> {
        let tree = self.tree(path)?;
        let is_root =
            tree.is_archived(path) && path.parent().is_none_or(|above| !tree.is_archived(above));
        if is_root
            && let Ok(listed) = tree.list(path)
            && let [only] = listed.as_slice()
            && only.kind == Some(Kind::Folder)
        {
            return Ok(path.join(&only.name));
        }
        Ok(path.to_owned())
    }

    /// Loads and checks an application.
    ///
    /// # Errors
    /// If it does not exist, or cannot be read.
    pub fn application(&self, path: &Path, given: &Given) -> miette::Result<Application> {
        let found = self.find(path, given)?;
        let loaded = self.load(&found, given, None)?;
        let outcome = limits::check(&loaded);
        Ok(Application { loaded, outcome })
    }
}

impl Application {
    /// Returns the settings that apply to it.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.loaded.settings.settings
    }

    /// Returns the findings of level `error`, as a report.
    pub fn errors(&self) -> Report {
        let mut report = Report::default();
        let mut outcome = Outcome {
            file: self.outcome.file.clone(),
            findings: self.outcome.findings.clone(),
            suppressed: 0,
            overridden: 0,
            held_back: 0,
            secrets: self.outcome.secrets.clone(),
            checked: None,
            analysis: None,
        };
        outcome.findings.retain(|finding| finding.level >= ankus::diag::Level::Error);
        report.add(&self.loaded.input(), outcome);
        report.finish();
        report
    }

    /// Returns the plan; the error is a sentence why the server would not accept the definition.
    pub fn plan(&self) -> Result<Plan, String> {
        let kind = self.loaded.found.kind;
        if kind != FileKind::Workflow {
            return Err(format!("`{}` is not a workflow", self.loaded.found.shown));
        }
        let Some(checked) = self.outcome.checked.as_ref().and_then(check::Checked::workflow) else {
            let reference = self.outcome.file.reference.as_ref();
            let code = reference.and_then(|reference| reference.verdict.code).unwrap_or("E0701");
            let target = self.settings().target.name();
            return Err(format!("Oozie {target} would refuse this workflow: {code}"));
        };
        let defaults = self.loaded.submission.defaults.clone();
        let options = options(self.settings(), &self.loaded.found.shown, defaults, None);
        Ok(plan::plan(checked, &options))
    }

    /// Returns the code with which a submission with these properties would be refused, and the names in its message.
    pub fn refusal(&self) -> Option<(&'static str, Vec<&str>)> {
        let verdict = self.outcome.file.reference.as_ref()?.submit.as_ref()?;
        Some((verdict.code?, verdict.subject.iter().map(AsRef::as_ref).collect()))
    }

    /// Returns the properties of its submission, including the path of the application and the user.
    pub fn properties(&self) -> BTreeMap<String, String> {
        let given = self.loaded.submission.values.iter();
        let given = given.filter(|(_, bound)| !matches!(bound.origin, Origin::Default(_)));
        let mut properties: BTreeMap<String, String> =
            given.map(|(name, bound)| (name.clone(), bound.value.clone())).collect();
        let user =
            properties.entry("user.name".to_owned()).or_insert_with(|| user().to_owned()).clone();
        if !properties.contains_key(APPLICATION_PATH) {
            let name_node = properties.get("nameNode").map_or("hdfs://localhost:8020", |text| text);
            let file = absolute(&self.loaded.found.path).unwrap_or_default();
            let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
            let mut path = format!(
                "{}/user/{user}/{}",
                name_node.trim_end_matches('/'),
                folder.to_string_lossy()
            );
            if file.file_name().is_some_and(|name| name != DEFINITIONS[0]) {
                path = format!("{path}/{}", file.file_name().unwrap_or_default().to_string_lossy());
            }
            properties.insert(APPLICATION_PATH.to_owned(), path);
        }
        properties
    }

    /// Returns where the application's folder is mounted in the file systems of a run. Parent folders are mounted too
    /// as long as their names match those of the path, so that sibling applications are found at their paths.
    pub fn mounts(&self, properties: &BTreeMap<String, String>) -> Vec<(String, PathBuf)> {
        let mut at = FileUri::parse(&folder_uri(properties));
        let file = absolute(&self.loaded.found.path).unwrap_or_default();
        let mut folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        while let (Some(up), Some(above)) = (at.parent(), folder.parent()) {
            let agree = |name: Option<&std::ffi::OsStr>, uri: &FileUri| {
                name.is_some_and(|name| name == uri.name()) && !uri.name().is_empty()
            };
            if !agree(folder.file_name(), &at) || !agree(above.file_name(), &up) {
                break;
            }
            let above = above.to_path_buf();
            (at, folder) = (up, above);
        }
        vec![(at.to_string(), folder)]
    }
}

/// Returns the URI of the application's folder, as given by its properties.
pub fn folder_uri(properties: &BTreeMap<String, String>) -> String {
    let path = properties.get(APPLICATION_PATH).map_or("", String::as_str);
    let lookup = |name: &str| properties.get(name).map(|value| value.as_str().into());
    let path = substitute(path, lookup).map_or_else(|_| path.to_owned(), |path| path.into_owned());
    let at = FileUri::parse(&path);
    match at.parent() {
        Some(parent) if at.name().ends_with(".xml") => parent.to_string(),
        _ => at.to_string(),
    }
}

fn options(
    settings: &Settings,
    path: &str,
    defaults: Vec<(String, String)>,
    inherited: Option<&Global>,
) -> Options {
    let server = &settings.server;
    Options {
        dialect: Dialect::of_target(settings.target.name()),
        path: path.to_owned(),
        defaults,
        configured_types: settings
            .actions
            .iter()
            .filter(|action| action.cluster)
            .map(|action| action.name.clone())
            .collect(),
        inherited: inherited.cloned(),
        name_node: server.name_node.clone(),
        resource_manager: server.resource_manager.clone().or_else(|| server.job_tracker.clone()),
        functions: settings.functions.iter().map(site_function).collect(),
    }
}

/// Compiles the sub-workflows that a run starts.
pub struct Frontend {
    /// The settings of the run.
    pub settings: Arc<Settings>,
}

impl Compiler for Frontend {
    fn compile(
        &self,
        path: &FileUri,
        files: &dyn ankus_engine::host::files::Files,
        properties: &BTreeMap<String, String>,
        inherited: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        let own = |code: &str, message: String| (code.to_owned(), message);
        let io = |error: std::io::Error| own("IOException", format!("cannot read {path}: {error}"));
        let file = match files.status(path).map_err(io)? {
            Some(status) if status.directory => path.child(DEFINITIONS[0]),
            Some(_) => path.clone(),
            None => {
                let message = format!("application path `{path}` does not exist");
                return Err(own("IOException", message));
            }
        };
        let bytes = files.read(&file, LARGEST).map_err(io)?;
        let (text, encoding) = match source::decode(&bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let message = format!("E0701: `{file}` is not text: {}", error.reason);
                return Err(own("OozieClientException", message));
            }
        };
        let source = Arc::new(Source::new(file.to_string(), text));
        let snapshot = Files::new();
        let mut submission = Submission::default();
        for (name, value) in properties {
            submission.set(name, value);
        }
        // Settings inherited from a parent replace what the definition leaves open.
        let mut settings = (*self.settings).clone();
        if let Some(inherited) = inherited {
            let server = &mut settings.server;
            server.name_node = inherited.name_node.clone().or(server.name_node.take());
            let manager = inherited.resource_manager.as_ref().map(|(_, manager)| manager.clone());
            server.resource_manager = manager.or(server.resource_manager.take());
        }
        let outcome = limits::check_text(&check::Input {
            source: &source,
            encoding: if bytes.is_empty() { Encoding::Utf8 } else { encoding },
            not_text: None,
            kind: FileKind::Workflow,
            settings: &settings,
            settings_path: &source.path,
            submission: &submission,
            files: &snapshot,
            user: user(),
            is_walked: false,
            now: None,
            analysis: None,
        });
        let Some(checked) = outcome.checked.as_ref().and_then(check::Checked::workflow) else {
            let reference = outcome.file.reference.as_ref();
            let submit = reference.and_then(|reference| reference.submit.as_ref());
            let verdict = submit.or(reference.map(|reference| &reference.verdict));
            let code = verdict.and_then(|verdict| verdict.code).unwrap_or("E0701");
            let subject = verdict.map(|verdict| verdict.subject.join(", ")).unwrap_or_default();
            let message =
                format!("{code}: `{file}` is refused ({subject}); `ankus check` says why");
            return Err(own("OozieClientException", message));
        };
        let submit =
            outcome.file.reference.as_ref().and_then(|reference| reference.submit.as_ref());
        // The submission of the job checks parameters, whose values may come from defaults.
        if let Some(code) = submit.and_then(|submit| submit.code).filter(|code| *code != "E0738") {
            let subject = submit.map(|submit| submit.subject.join(", ")).unwrap_or_default();
            return Err(own(
                "OozieClientException",
                format!("{code}: `{file}` is refused ({subject})"),
            ));
        }
        let beside = file.parent().map(|folder| folder.child("config-default.xml"));
        let defaults = match beside {
            Some(beside) if files.status(&beside).map_err(io)?.is_some() => {
                let bytes = files.read(&beside, LARGEST).map_err(io)?;
                read_xml(&String::from_utf8_lossy(&bytes)).map_err(|why| {
                    own("OozieClientException", format!("E0803: `{beside}`: {why}"))
                })?
            }
            _ => Vec::new(),
        };
        Ok(plan::plan(checked, &options(&self.settings, &source.path, defaults, inherited)))
    }
}
