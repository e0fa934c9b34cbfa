//! The folder of an attempt of an action: files, configuration, command line, and results of its program.
//!
//! The folder contains `work/`, the working directory, in which the program finds its files by their link names;
//! `copies/`, for files that come from a cluster; `action.xml`, the merged configuration; and the files of the launcher
//! ([`crate::host::process`]). (`reference` of the language, 9.1.)
#![expect(clippy::disallowed_methods, reason = "files are put where programs find them")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use roxmltree::Node;

use super::carried::{self, UNREACHED, Unheeded, Where};
use super::cluster::{self, Shipped};
use super::command::{
    Capture, CommandLine, INPUTS, JAR_LISTS, Refusal, Request, SECRET, command_line,
};
use super::credentials;
use super::fs::{Operations, glob_limit};
use super::submission;
use crate::host::applications::Applications;
use crate::host::elsewhere::{Place, System};
use crate::host::files::{FileUri, Files};
use crate::host::process::sandbox::{Folders, Kind, Sandbox};
use crate::host::process::{Bounds, Program, boot};
use ankus_lang::action_types::is_cluster;
use ankus_lang::configuration;
use ankus_lang::machine::Class;
use ankus_lang::machine::Run;
use ankus_procedure::private;

mod clearing;
mod elsewhere;
pub(in crate::actions) mod far;
mod libraries;
mod outcome;
mod places;
mod settings;
mod shipping;

pub(crate) use clearing::{clear, forget_key};
pub(crate) use far::Far;
pub(crate) use libraries::INHERITED;
pub use libraries::{NO_LIBRARY, SWITCH as SHARE_LIBRARY_SWITCH};
pub use outcome::outcome;
pub(crate) use outcome::{is_unreached, job_ids};
pub(crate) use places::deliver;
use settings::defaults_of;
pub use settings::{configuration_of, merged, queue_of, refusals, settings_of_fs};

/// The property with the uber jar of a job.
const UBER_JAR: &str = "oozie.mapreduce.uber.jar";
/// Size in bytes above which files are linked instead of copied.
const COPIED: u64 = 64 << 20;
/// The file to which a program writes its captured output.
const OUTPUT: &str = "output.properties";
/// The file with the counters of a job, next to [`OUTPUT`].
const STATS: &str = "counters.json";
/// The file with the [`Trace`](cluster::Trace) by which the jobs of an attempt are found in a cluster.
pub(crate) const TRACE: &str = "cluster.json";
/// Variables with JVM options.
const JAVA_OPTIONS: [&str; 3] = ["HADOOP_CLIENT_OPTS", "PIG_OPTS", "SPARK_SUBMIT_OPTS"];
/// The folder with the configuration in the files of Hadoop clients.
const CLIENTS: &str = "hadoop-conf";
/// The merged configuration as Java properties.
const PROPERTIES: &str = "action.properties";
/// The part of the configuration for the streaming client.
const STREAMING: &str = "streaming.xml";
/// The folder for [`OUTPUT`] in a sandbox, which allows the program to write only there.
const OWN: &str = "output";
/// The working directory of the program.
const WORK: &str = "work";
/// The copy of a private key.
const KEY: &str = "git-key";
/// An empty marker file: the files of the action are to be kept.
const KEEP: &str = "keep";
/// The property of a job that requests this.
const KEEPS: &str = "oozie.action.keep.action.dir";
/// The folder for copies of files from clusters.
const COPIES: &str = "copies";
/// Maximum size of a properties file, in bytes.
const LARGEST_CONFIGURATION: u64 = 16 << 20;
/// Default maximum size of captured output, in bytes.
const CAPTURED: u64 = 2048;
/// Number of bytes at the end of a log that are searched for its last line.
const LAST: u64 = 64 << 10;
/// Number of bytes of a log that are searched for job ids.
const SCANNED: u64 = 4 << 20;

/// Default properties in the configuration of actions.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ActionDefaults {
    /// The resource manager of those actions; `*` for all resource managers without defaults of their own.
    pub authority: String,
    /// Their type; `default` for all types.
    pub kind: String,
    /// The properties; the last value of a name counts.
    pub properties: Vec<(String, String)>,
}

/// The settings that the programs of a job run with.
pub struct Provisions<'a> {
    /// Programs, by the names of tools.
    pub tools: &'a BTreeMap<String, String>,
    /// Schemes of file systems that actions may use.
    pub schemes: &'a [String],
    /// Properties of the server.
    pub server: &'a BTreeMap<String, String>,
    /// Default properties of actions.
    pub defaults: &'a [ActionDefaults],
    /// The environment variables of programs; if there are none, programs inherit ours.
    pub environment: &'a BTreeMap<String, String>,
    /// The targets that authorities of URIs are mapped to: folders of this machine, or URLs of clusters.
    pub hosts: &'a BTreeMap<String, String>,
    /// Folders of this machine that are mounted at URIs.
    pub mounts: &'a [(String, PathBuf)],
    /// Number of bytes that are kept of each output stream.
    pub output: u64,
    /// Number of bytes that are kept of the output of all programs in one run of the job.
    pub output_of_job: u64,
    /// Limits on the resources of a program.
    pub bounds: Bounds,
    /// The sandbox around it.
    pub sandbox: &'a Sandbox,
    /// Where programs run other than on this machine, by action type.
    pub places: &'a BTreeMap<String, Place>,
    /// The path of this program itself, which waits for jobs if the client does not.
    pub helper: Option<PathBuf>,
}

/// The context in which an action is prepared.
pub struct Workplace<'a, 'input> {
    /// The file systems.
    pub files: &'a Applications,
    /// The settings that the job runs with.
    pub needs: Provisions<'a>,
    /// The evaluated element of the action.
    pub element: Node<'a, 'input>,
    /// Its job.
    pub run: &'a Run,
    /// The name of its node.
    pub node: &'a str,
    /// The folder of this attempt.
    pub folder: &'a Path,
    /// The credentials that it requests.
    pub credentials: credentials::Asked<'a>,
    /// Evaluates a text with expressions in the same way as the action's own text.
    pub evaluate: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A program that is ready to start.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Worked {
    /// The program.
    pub program: Program,
    /// Where its captured output is found.
    pub capture: Capture,
    /// Maximum size of the captured output, in bytes.
    pub limit: u64,
    /// The name by which the command of an ssh action is found on the remote machine.
    #[serde(default)]
    far: Option<String>,
    /// The boot of the machine in which its files were written, if a crash of the machine may lose them: the attempt is
    /// prepared again after a reboot, unless its program has begun.
    #[serde(default)]
    boot: Option<u32>,
}

fn refusal(class: Class, code: &str, message: impl Into<String>) -> Refusal {
    Refusal::new(class, code, message)
}

fn own(error: &io::Error, what: &Path) -> Refusal {
    refusal(Class::Transient, "JA009", format!("{}: {error}", what.display()))
}

fn unreadable(uri: &FileUri, error: &io::Error) -> Refusal {
    refusal(Class::Transient, "JA009", format!("{uri}: {error}"))
}

impl Workplace<'_, '_> {
    /// Runs `<prepare>`, brings the files, and returns the program to start. If this was completed before we were
    /// killed, nothing is repeated: the program may be running already.
    pub fn prepare(&self) -> Result<Worked, Refusal> {
        let written = self.folder.join("worked.json");
        let known = fs::read(&written).ok();
        let known = known.and_then(|text| serde_json::from_slice::<Worked>(&text).ok());
        if let Some(worked) = known.filter(|worked| is_whole(self.folder, worked.boot)) {
            return Ok(worked);
        }
        let worked = self.prepare_anew()?;
        let text = serde_json::to_vec(&worked).expect("it has a serialized form");
        let new = written.with_extension("new");
        private::write(&new, text)
            .and_then(|()| fs::rename(&new, &written))
            .map_err(|error| own(&error, &written))?;
        Ok(worked)
    }

    /// Whether files must be synchronized to disk before the program starts: a job elsewhere may be requested again
    /// after a crash of this machine, with the same files.
    fn is_lasting(&self) -> bool {
        self.needs.places.contains_key(self.element.tag_name().name()) || boot().is_none()
    }

    fn prepare_anew(&self) -> Result<Worked, Refusal> {
        let work = self.folder.join(WORK);
        // No program has used it yet: existing files are the remains of an interrupted preparation.
        for folder in [&work, &self.folder.join(COPIES)] {
            match fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(own(&error, folder)),
                _ => Ok(()),
            }?;
        }
        private::folder(&work).map_err(|error| own(&error, &work))?;
        if self.run.conf.get(KEEPS).is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
            let keep = self.folder.join(KEEP);
            private::write(&keep, "").map_err(|error| own(&error, &keep))?;
        }
        self.prepare_element()?;
        let kind = self.element.tag_name().name();
        let (configuration, mut shipped) = self.configured(&work)?;
        let properties = self.folder.join(PROPERTIES);
        let mut text = String::new();
        for (name, value) in &configuration {
            configuration::write_property(name, value, &mut text);
        }
        private::write(&properties, text).map_err(|error| own(&error, &properties))?;
        let written = self.folder.join("action.xml");
        private::write(&written, xml(&configuration)).map_err(|error| own(&error, &written))?;
        let streaming = self.folder.join(STREAMING);
        if is_streaming(self.element) {
            let mut told = configuration.clone();
            told.retain(|name, _| !INPUTS.contains(&name.as_str()));
            private::write(&streaming, xml(&told)).map_err(|error| own(&error, &streaming))?;
        }
        let jars = shipped.jar_names();
        let clients = configuration.get("oozie.action.shell.setup.hadoop.conf.dir");
        let clients = match clients.is_some_and(|value| value.trim() == "true") && kind == "shell" {
            true => Some(self.client_folder(&configuration)?),
            false => None,
        };

        let output = match self.needs.sandbox.kind {
            // The sandbox only applies to this machine.
            Kind::Bubblewrap if !self.needs.places.contains_key(kind) => {
                // The program may write only to these folders of the attempt.
                let own = self.folder.join(OWN);
                private::folder(&own).map_err(|error| self::own(&error, &own))?;
                own.join(OUTPUT)
            }
            _ => self.folder.join(OUTPUT),
        };
        let places = self.places(kind, &mut shipped)?;
        let (configuration_file, output_file) = (self.text(&written), self.text(&output));
        let attempt = cluster::tag(self.folder);
        let request = Request {
            element: self.element,
            configuration: &configuration,
            user: &self.run.job.user,
            configuration_file: &configuration_file,
            properties_file: &self.text(&properties),
            streaming_file: &self.text(&streaming),
            streaming_jar: &|| self.streaming_jar(&work),
            output_file: &output_file,
            places: &places,
            jars: &jars,
            shipped: &shipped,
            attempt: &attempt,
        };
        let command = match command_line(&request) {
            Some(command) => command?,
            None => self.site_command(kind, &request)?,
        };
        let limit = self.output_limit(&configuration);
        let capture = command.capture;
        let mut command = command;
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR"] {
            let folder = clients.as_ref().map(|folder| (name.to_owned(), self.text(folder)));
            command.environment.extend(folder);
        }
        if let Some(secret) = &command.secret {
            let file = work.join(SECRET);
            private::write(&file, secret).map_err(|error| own(&error, &file))?;
        }
        let mut program = self.program(kind, command, &work, &request)?;
        if capture == Capture::Stdout {
            // One byte more than allowed, so that an excess is noticed.
            program.whole = limit.saturating_add(1);
        }
        let boot = boot().filter(|_| !self.is_lasting());
        let far = (kind == "ssh").then_some(attempt);
        Ok(Worked { program, capture, limit, far, boot })
    }

    /// Brings everything that the action ships into its working directory. Returns its configuration, with what
    /// defaults, credentials and the shipped files add, and what was shipped.
    fn configured(&self, work: &Path) -> Result<(BTreeMap<String, String>, Shipped), Refusal> {
        let application = self.application();
        let mut configuration = defaults_of(self.needs.defaults, self.element);
        configuration.extend(merged(self.files, &application, self.element, self.evaluate)?);
        let kind = self.element.tag_name().name();
        if is_cluster(kind) {
            settings::sizes(&configuration)?;
        }
        let mut shipped = self.bring_files(work)?;
        if is_cluster(kind) {
            self.bring_share_library(&configuration, work, &mut shipped)?;
            let switches = [&configuration, &self.run.conf, self.needs.server];
            let found = credentials::find(self.credentials, &switches, self.evaluate)?;
            configuration.extend(found.properties);
            shipped.notes.extend(found.notes);
        }
        if kind == "map-reduce" {
            self.uber_jar(&mut configuration, work, &mut shipped)?;
        }
        if kind == "spark" {
            for (name, value) in settings::spark_defaults(work, self.element) {
                configuration.entry(name).or_insert(value);
            }
        }
        if is_cluster(kind) {
            self.hand_on(&mut configuration, &shipped)?;
        }
        Ok((configuration, shipped))
    }

    /// Number of bytes of output that an action may pass to others. A value that is not a number is ignored, as the
    /// server does.
    fn output_limit(&self, configuration: &BTreeMap<String, String>) -> u64 {
        let name = outcome::limit_of(self.element.tag_name().name());
        let number = |text: &String| text.trim().parse().ok();
        let of_action = configuration.get(name).and_then(number);
        of_action.or_else(|| self.needs.server.get(name).and_then(number)).unwrap_or(CAPTURED)
    }

    /// Adds the settings for clients of a cluster to the configuration, and writes the trace by which their jobs are
    /// found.
    fn hand_on(
        &self,
        configuration: &mut BTreeMap<String, String>,
        shipped: &Shipped,
    ) -> Result<(), Refusal> {
        let user = self.cluster_user();
        let trace = cluster::hand_on(self.element, configuration, shipped, self.folder, &user);
        // The name that a server gives a job.
        let Run { job, .. } = self.run;
        let (kind, node) = (self.element.tag_name().name(), self.node);
        let is_set = |name| configuration.get(name).is_some_and(|text| !text.trim().is_empty());
        if !["mapred.job.name", "mapreduce.job.name"].into_iter().any(is_set) {
            let name = format!("oozie:action:T={kind}:W={}:A={node}:ID={}", job.name, job.id);
            configuration.insert("mapreduce.job.name".to_owned(), name);
        }
        // If both names are set, the older one counts.
        if let Some(options) = child_text(self.element, "java-opts").filter(|it| !it.is_empty()) {
            let own = configuration.entry("mapred.child.java.opts".to_owned());
            own.or_insert(options);
        }
        let Some(mut trace) = trace else { return Ok(()) };
        trace.proxy = self.variable("HADOOP_PROXY_USER").filter(|name| !name.is_empty());
        trace.history = cluster::history(configuration, self.site("mapred-site.xml").as_deref());
        let manager =
            configuration.get("yarn.resourcemanager.address").cloned().unwrap_or_default();
        let place = self.needs.places.get(self.element.tag_name().name());
        match (place.map(|place| &place.system), self.site("yarn-site.xml")) {
            // A program that runs in a cluster starts its jobs there.
            (Some(System::Yarn(yarn)), _) => trace.web.clone_from(&yarn.web),
            (_, Some(site)) => trace.web = cluster::web_addresses(&site, &manager),
            _ => {}
        }
        let written = self.folder.join(TRACE);
        let text = serde_json::to_vec(&trace).expect("it has a serialized form");
        private::write(&written, text).map_err(|error| own(&error, &written))
    }

    /// Writes the configuration of the action to the files that Hadoop clients read, for scripts that call them.
    fn client_folder(&self, configuration: &BTreeMap<String, String>) -> Result<PathBuf, Refusal> {
        let folder = self.folder.join(CLIENTS);
        private::folder(&folder).map_err(|error| own(&error, &folder))?;
        for name in ["core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml"] {
            let file = folder.join(name);
            private::write(&file, xml(configuration)).map_err(|error| own(&error, &file))?;
        }
        Ok(folder)
    }

    /// Brings the uber jar of a job, if the configuration names one.
    fn uber_jar(
        &self,
        configuration: &mut BTreeMap<String, String>,
        work: &Path,
        shipped: &mut Shipped,
    ) -> Result<(), Refusal> {
        let named = configuration.get(UBER_JAR).map(|path| path.trim().to_owned());
        let Some(path) = named.filter(|path| !path.is_empty()) else { return Ok(()) };
        // It has no effect in jobs of other kinds, which is noted.
        if is_streaming(self.element) || child(self.element, "pipes").is_some() {
            return Ok(());
        }
        let switch = self.needs.server.get("oozie.action.mapreduce.uber.jar.enable");
        if switch.is_some_and(|switch| switch.trim() == "false") {
            let message = format!(
                "{UBER_JAR} is {path}, but the site switches uber jars off: oozie.action.mapreduce.uber.jar.enable"
            );
            return Err(refusal(Class::Error, "MR003", message));
        }
        let uri = self.resolve(&path);
        let jar = self.text(&self.bring_needed(&uri, work, shipped)?);
        configuration.insert("mapreduce.job.jar".to_owned(), jar);
        Ok(())
    }

    /// Finds the Hadoop streaming jar: named in the settings, brought by the action, or part of the installation.
    fn streaming_jar(&self, work: &Path) -> Result<String, String> {
        let is_it = |name: &str| {
            name.starts_with("hadoop-streaming")
                && name.ends_with(".jar")
                && !name.contains("sources")
        };
        let place = self.needs.places.get("map-reduce");
        let tools = place.map_or(self.needs.tools, |place| &place.tools);
        if let Some(given) = tools.get("hadoop-streaming") {
            return Ok(given.clone());
        }
        let mut folders = vec![work.to_owned()];
        if let Some(place) = place {
            // The Hadoop installation of this machine is not available there.
            let brought = newest_jar(&folders, is_it).map(|path| self.text(&path));
            return brought.ok_or_else(|| {
                let name = &place.name;
                format!(
                    "there is no hadoop-streaming.jar in the action's folder, and nothing says where the launcher `{name}` has one: \
                     [launchers.{name}] tools = {{ hadoop-streaming = \"/path/to.jar\" }}"
                )
            });
        }
        let homes = ["HADOOP_MAPRED_HOME", "HADOOP_HOME", "HADOOP_COMMON_HOME"];
        folders.extend(homes.iter().filter_map(|name| self.variable(name)).map(PathBuf::from));
        let tool = self.needs.tools.get("hadoop").map(PathBuf::from);
        if let Some(program) = tool.or_else(|| on_path("hadoop", self.path()))
            && let Ok(program) = fs::canonicalize(program)
        {
            folders.extend(program.ancestors().nth(2).map(Path::to_owned));
        }
        newest_jar(&folders, is_it).map(|path| self.text(&path)).ok_or_else(|| {
            "there is no hadoop-streaming.jar in the action's folder, below HADOOP_HOME or beside the program `hadoop`; name \
             one in ankus.toml: [tools] hadoop-streaming = \"/path/to.jar\""
                .to_owned()
        })
    }

    /// Returns the user name of programs in a cluster without authentication: that in the environment, else the user of
    /// the job.
    fn cluster_user(&self) -> String {
        let named = self.variable("HADOOP_USER_NAME").filter(|name| !name.is_empty());
        named.unwrap_or_else(|| self.run.job.user.clone())
    }

    /// Returns a variable of the job's environment.
    fn variable(&self, name: &str) -> Option<String> {
        match self.needs.environment.is_empty() {
            true => std::env::var(name).ok(),
            false => self.needs.environment.get(name).cloned(),
        }
    }

    /// Returns a file of the cluster's configuration that the tools read on this machine.
    fn site(&self, file: &str) -> Option<String> {
        let folders =
            [("YARN_CONF_DIR", ""), ("HADOOP_CONF_DIR", ""), ("HADOOP_HOME", "etc/hadoop")];
        folders.into_iter().find_map(|(name, below)| {
            let file = Path::new(&self.variable(name)?).join(below).join(file);
            String::from_utf8(read_up_to(&file, LARGEST_CONFIGURATION).ok()?).ok()
        })
    }

    fn text(&self, path: &Path) -> String {
        path.to_string_lossy().into_owned()
    }

    /// Returns the command line for an action type that a site adds: its tool gets the element and the configuration as
    /// files, and writes its output to a Java properties file.
    fn site_command(&self, kind: &str, request: &Request<'_, '_>) -> Result<CommandLine, Refusal> {
        let element = self.folder.join("element.xml");
        let range = self.element.range();
        let text = &self.element.document().input_text()[range];
        private::write(&element, text).map_err(|error| own(&error, &element))?;
        Ok(CommandLine {
            tool: kind.to_owned(),
            arguments: vec![self.text(&element), request.configuration_file.to_owned()],
            environment: vec![("ANKUS_ACTION_OUTPUT".to_owned(), request.output_file.to_owned())],
            capture: Capture::File,
            is_job: false,
            secret: None,
        })
    }

    fn program(
        &self,
        kind: &str,
        command: CommandLine,
        work: &Path,
        request: &Request<'_, '_>,
    ) -> Result<Program, Refusal> {
        if let Some(place) = self.needs.places.get(kind) {
            return self.program_elsewhere(place, command, work, request);
        }
        let tool = &command.tool;
        let given = self.needs.tools.get(tool);
        let brought = work.join(tool);
        let program = match given {
            Some(program) => program.clone(),
            None if kind == "shell" && brought.exists() => self.text(&brought),
            // The missing program is the script of the action, which is reported when it is started.
            None if kind == "shell" => tool.clone(),
            None => match on_path(tool, self.path()) {
                Some(program) => self.text(&program),
                None => {
                    let message = format!(
                        "there is no program `{tool}` on PATH, which a {kind} action needs; install it, or name one in \
                         ankus.toml: [tools] {tool} = \"/path/to/{tool}\""
                    );
                    return Err(refusal(Class::Error, "JA018", message));
                }
            },
        };
        let needs = &self.needs;
        let root =
            std::path::absolute(self.files.root()).unwrap_or_else(|_| self.files.root().into());
        let mut environment = self.variables(kind, command.environment, request)?;
        // JVM options are appended to those in the environment. Jars are put in front, because the first one counts.
        for (name, value) in &mut environment {
            let own = self.variable(name).filter(|own| !own.is_empty());
            match own {
                Some(own) if JAVA_OPTIONS.contains(&name.as_str()) => {
                    *value = format!("{own} {value}")
                }
                Some(own) if JAR_LISTS.contains(&name.as_str()) => {
                    *value = format!("{value}:{own}")
                }
                _ => {}
            }
        }
        if !environment.iter().any(|(known, _)| known == "ANKUS_FILE_ROOT") {
            environment.push(("ANKUS_FILE_ROOT".to_owned(), self.text(&root)));
        }
        let (mut program, mut arguments) = (program, command.arguments);
        if let Some(helper) = needs.helper.as_ref().filter(|_| command.is_job) {
            arguments.splice(0..0, [submission::WAIT.to_owned(), program]);
            program = self.text(helper);
            let counters = Path::new(request.output_file).with_file_name(STATS);
            environment.push((submission::COUNTERS.to_owned(), self.text(&counters)));
        }
        if kind == "shell" && !environment.iter().any(|(name, _)| name == "PATH") {
            let path = self.path().unwrap_or_default();
            let path = path.to_string_lossy();
            environment.push(("PATH".to_owned(), format!(".:{path}")));
        }
        let mut bounds = needs.bounds.clone();
        let wrapper = self.wrapper(work, &root, &bounds)?;
        if needs.sandbox.kind == Kind::SystemdRun {
            // systemd limits the memory that all processes together actually use.
            bounds.memory = None;
        }
        let counted = format!("output-{}", self.run.job.run);
        let of_job = self.folder.parent().map(|of_job| (of_job.join(counted), needs.output_of_job));
        Ok(Program {
            program,
            arguments,
            environment: self.with_own(environment),
            alone: !needs.environment.is_empty(),
            folder: work.to_owned(),
            kept: needs.output,
            whole: 0,
            of_job,
            bounds,
            wrapper,
            has_guard: needs.sandbox.kind == Kind::Bubblewrap,
            notes: self.notes(request, None),
            seat: None,
            with_starter: false,
        })
    }

    /// Returns notes about the parts of the element that have no effect where the program runs.
    fn notes(&self, request: &Request<'_, '_>, place: Option<&Place>) -> Vec<String> {
        let mut notes = request.shipped.notes.clone();
        let names = request.configuration.keys().map(String::as_str);
        let at = place.map_or(Where::Here, elsewhere::kind_of);
        for Unheeded { what, why, .. } in carried::unheeded(self.element, at, names) {
            notes.push(format!("{what} has no effect: {why}"));
        }
        notes.extend(self.unreached());
        notes
    }

    /// Returns notes about the clusters of paths in the element, other than that of the application, that the file root
    /// replaces.
    fn unreached(&self) -> BTreeSet<String> {
        let own = application_folder(self.files, self.run).origin();
        let text = &self.element.document().input_text()[self.element.range()];
        let uris = carried::paths(text).into_iter().map(|path| FileUri::parse(&path));
        let uris = uris.filter(|uri| !uri.authority.is_empty() && uri.origin() != own);
        let rootless = uris.filter(|uri| self.files.is_of_root(uri));
        rootless.map(|uri| format!("{} is not reached: {UNREACHED}", uri.origin())).collect()
    }

    /// Returns the command line of the sandbox. It is an error if its program does not exist, so that nothing runs
    /// without it.
    fn wrapper(&self, work: &Path, root: &Path, bounds: &Bounds) -> Result<Vec<String>, Refusal> {
        let needs = &self.needs;
        let Some(tool) = needs.sandbox.kind.tool() else { return Ok(Vec::new()) };
        let program = match needs.tools.get(tool) {
            Some(program) => Some(PathBuf::from(program)),
            None => on_path(tool, self.path()),
        };
        let Some(program) = program else {
            let name = needs.sandbox.kind.name();
            let message = format!(
                "there is no program `{tool}` on PATH, which the sandbox `{name}` needs; without it nothing is started"
            );
            return Err(refusal(Class::Error, "JA018", message));
        };
        let mounted = needs.mounts.iter().map(|(_, folder)| folder.clone());
        let hosts = needs.hosts.values().filter(|place| !place.contains("://")).map(PathBuf::from);
        let attempt = self.folder.to_owned();
        let folders = Folders {
            // STORE/jobs/JOB/ATTEMPT
            hidden: attempt.ancestors().nth(3).map(Path::to_owned),
            readable: mounted.collect(),
            writable: hosts.chain([root.to_owned()]).collect(),
            own: vec![work.to_owned(), attempt.join(OWN)],
            attempt,
        };
        Ok(needs.sandbox.words(&self.text(&program), &folders, bounds))
    }

    /// Returns the `PATH` of the job.
    fn path(&self) -> Option<OsString> {
        match self.needs.environment.is_empty() {
            true => std::env::var_os("PATH"),
            false => self.needs.environment.get("PATH").map(OsString::from),
        }
    }

    /// Returns the variables of the job, overridden by those of the action.
    fn with_own(&self, own: Vec<(String, String)>) -> Vec<(String, String)> {
        let is_own = |name: &str| own.iter().any(|(known, _)| known == name);
        let of_job = self.needs.environment.iter().filter(|(name, _)| !is_own(name));
        let mut all: Vec<_> = of_job.map(|(name, value)| (name.clone(), value.clone())).collect();
        all.extend(own);
        all
    }

    fn prepare_element(&self) -> Result<(), Refusal> {
        let Some(prepare) = child(self.element, "prepare") else { return Ok(()) };
        let name_node = child_text(self.element, "name-node");
        let operations = Operations {
            files: self.files,
            schemes: self.needs.schemes,
            name_node: name_node.as_deref(),
            user: &self.run.job.user,
            glob_limit: glob_limit(self.needs.server),
            recovery: false,
        };
        operations.run(prepare).map_err(|fault| refusal(Class::Error, "JA018", fault.message))
    }

    fn application(&self) -> FileUri {
        application_folder(self.files, self.run)
    }

    fn resolve(&self, path: &str) -> FileUri {
        resolve(&self.application(), path)
    }
}

/// Finds the newest matching jar in the first of these folders, or the usual folders below it, that has one.
fn newest_jar(folders: &[PathBuf], is_it: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let below = ["", "share/hadoop/tools/lib", "tools/lib", "contrib/streaming"];
    folders.iter().flat_map(|folder| below.map(|below| folder.join(below))).find_map(|folder| {
        let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
        let mut jars: Vec<PathBuf> = entries
            .filter(|entry| is_it(&entry.file_name().to_string_lossy()))
            .map(|entry| entry.path())
            .collect();
        jars.sort();
        jars.pop()
    })
}

/// Whether a map-reduce job is a streaming one.
fn is_streaming(element: Node<'_, '_>) -> bool {
    child(element, "streaming").is_some()
}

/// Returns the folder of a job's application.
pub fn application_folder(files: &dyn Files, run: &Run) -> FileUri {
    let path = FileUri::parse(&run.job.app_path);
    let is_file = matches!(files.status(&path), Ok(Some(status)) if !status.directory);
    if is_file { path.parent().unwrap_or(path) } else { path }
}

/// Resolves a path of an action: without a scheme in the application's file system, a relative one in its folder.
fn resolve(application: &FileUri, path: &str) -> FileUri {
    let uri = FileUri::parse(path);
    match (uri.scheme.is_empty(), uri.path.starts_with('/')) {
        (false, _) => uri,
        (true, true) => application.with_path(uri.path),
        (true, false) => application.join(&uri.path),
    }
}

fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn on_path(tool: &str, path: Option<OsString>) -> Option<PathBuf> {
    if tool.contains('/') {
        return Some(PathBuf::from(tool)).filter(|path| path.exists());
    }
    std::env::split_paths(&path?).map(|folder| folder.join(tool)).find(|path| {
        fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

/// Returns the entries of all children with this name; each text may be a list separated by commas.
fn entries(element: Node<'_, '_>, name: &str) -> Vec<String> {
    let texts = children(element, name).map(text_of).collect::<Vec<_>>();
    let split = texts.iter().flat_map(|text| text.split(','));
    split.map(|entry| entry.trim().to_owned()).filter(|entry| !entry.is_empty()).collect()
}

fn children<'a, 'input>(
    element: Node<'a, 'input>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    element.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'a, 'input>(element: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    children(element, name).next()
}

fn text_of(element: Node<'_, '_>) -> String {
    element.children().filter_map(|child| child.text()).collect()
}

fn child_text(element: Node<'_, '_>, name: &str) -> Option<String> {
    child(element, name).map(|child| text_of(child).trim().to_owned())
}

/// Whether the files that were prepared in a boot of the machine are complete: files for a program of this machine are
/// not synchronized to disk. An attempt whose program has begun is not prepared again.
fn is_whole(folder: &Path, then: Option<u32>) -> bool {
    let has_begun = || ["started", "exit"].iter().any(|name| folder.join(name).exists());
    then.is_none_or(|then| boot() == Some(then)) || has_begun()
}

/// Formats properties as a Hadoop configuration file.
fn xml(properties: &BTreeMap<String, String>) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n");
    for (name, value) in properties {
        let (name, value) = (escape(name), escape(value));
        text.push_str(&format!(
            "  <property><name>{name}</name><value>{value}</value></property>\n"
        ));
    }
    text.push_str("</configuration>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_prepared_before_the_machine_went_down_is_prepared_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = boot().map(|boot| boot ^ 1);
        assert!(is_whole(folder.path(), None) && is_whole(folder.path(), boot()));
        assert_eq!(is_whole(folder.path(), other), other.is_none());
        fs::write(folder.path().join("exit"), "").expect("a file");
        assert!(is_whole(folder.path(), other), "its program has begun");
    }
}
