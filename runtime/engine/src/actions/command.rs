//! The command line that is equivalent to what the launcher of an action would run.
//!
//! Takes the evaluated element of an action, its merged configuration and the locations of its files. Returns the tool,
//! its arguments and environment, and where its captured output is; or the [`Refusal`] with which the engine ends the
//! action. Nothing is started here. `docs/actions.md` describes the table. (`reference` of the language, 9.1 to 9.13.)

use std::collections::BTreeMap;

use roxmltree::Node;

use super::cluster::Shipped;
use super::submission;
use super::words::{has_scheme, quoted, spark_options, split_like_a_shell};
use super::workplace::far;
use ankus_lang::machine::Class;

/// Properties with options for the launcher's JVM, of which the first one that is set counts: the server's own name,
/// then those of map-reduce, which a launcher adopts.
const JAVA_OPTIONS: [&str; 4] = [
    "oozie.launcher.javaopts",
    "oozie.launcher.yarn.app.mapreduce.am.command-opts",
    "oozie.launcher.mapreduce.map.java.opts",
    "oozie.launcher.mapred.child.java.opts",
];
/// The variable with JVM options for Hadoop clients.
const HADOOP_OPTIONS: &str = "HADOOP_CLIENT_OPTS";
/// The variables with jars for Hadoop clients and for Hive, which ships its list to the tasks as well.
const CLASS_PATH: &str = "HADOOP_CLASSPATH";
const HIVE_JARS: &str = "HIVE_AUX_JARS_PATH";
/// Variables with a list of jars, separated by `:`.
pub(crate) const JAR_LISTS: [&str; 2] = [CLASS_PATH, HIVE_JARS];

/// Why there is no command line for an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// How the engine classifies the error.
    pub class: Class,
    /// The error code of the action's row.
    pub code: String,
    /// The message of the action's row.
    pub message: String,
}

impl Refusal {
    pub(crate) fn new(class: Class, code: &str, message: impl Into<String>) -> Refusal {
        Refusal { class, code: code.to_owned(), message: message.into() }
    }
}

/// Where the captured output of an action is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Capture {
    /// It is not captured.
    Nothing,
    /// The standard output of the program.
    Stdout,
    /// The file whose path the program is given ([`Request::output_file`]).
    File,
}

/// The input for a command line.
pub struct Request<'a, 'input> {
    /// The evaluated element of the action: `<shell>…</shell>`.
    pub element: Node<'a, 'input>,
    /// The merged configuration.
    pub configuration: &'a BTreeMap<String, String>,
    /// The user who submitted the job.
    pub user: &'a str,
    /// Path of the configuration as a file, as the program will see it.
    pub configuration_file: &'a str,
    /// Path of the configuration as Java properties.
    pub properties_file: &'a str,
    /// Path of the configuration without inputs: the streaming client gets them as options and would read them twice.
    pub streaming_file: &'a str,
    /// Finds the Hadoop streaming jar, or returns a message that says where to set its path.
    pub streaming_jar: &'a dyn Fn() -> Result<String, String>,
    /// Path of the file that a `java` action writes its captured output to.
    pub output_file: &'a str,
    /// Paths on this machine for files that elements name, by the names of the elements.
    pub places: &'a BTreeMap<&'static str, String>,
    /// Names of the jars in the action's folder, for the class path.
    pub jars: &'a [String],
    /// All files brought for the action.
    pub shipped: &'a Shipped,
    /// The name by which processes of the attempt are found on another machine.
    pub attempt: &'a str,
}

/// The properties with the inputs of a job, the older name first.
pub const INPUTS: [&str; 2] = ["mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"];

/// A command line, not yet bound to a program of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The name of the tool, which is looked up in `[tools]` and PATH; for `shell`, the program in the action's folder.
    pub tool: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables in addition to those of the runtime.
    pub environment: Vec<(String, String)>,
    /// Where its captured output is found.
    pub capture: Capture,
    /// Whether the program runs a single map-reduce job, whose outcome counts instead of the program's exit code.
    pub is_job: bool,
    /// A secret that the program reads from a file in its folder, because arguments are visible in process lists.
    pub secret: Option<String>,
}

/// The name of that file.
pub(crate) const SECRET: &str = ".password";

/// Returns the command line of an action; none for a type that runs no program (`fs`, `email`, `sub-workflow`) or that
/// is unknown.
pub fn command_line(request: &Request<'_, '_>) -> Option<Result<CommandLine, Refusal>> {
    let parts = Parts { request };
    let made = match request.element.tag_name().name() {
        "shell" => parts.shell(),
        "java" => parts.java(),
        "map-reduce" => parts.map_reduce(),
        "pig" => parts.pig(),
        "hive" => parts.hive(),
        "hive2" => parts.hive2(),
        "sqoop" => parts.sqoop(),
        "spark" => parts.spark(),
        "distcp" => parts.distcp(),
        "git" => parts.git(),
        "ssh" => parts.ssh(),
        _ => return None,
    };
    Some(made)
}

struct Parts<'r, 'a, 'input> {
    request: &'r Request<'a, 'input>,
}

impl Parts<'_, '_, '_> {
    /// Returns the trimmed text of the first child of this name.
    fn text(&self, name: &str) -> Option<String> {
        self.texts(name).into_iter().next()
    }

    fn texts(&self, name: &str) -> Vec<String> {
        let element = self.request.element;
        let children = element
            .children()
            .filter(|child| child.is_element() && child.tag_name().name() == name);
        children.map(|child| text_of(child).trim().to_owned()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.request
            .element
            .children()
            .any(|child| child.is_element() && child.tag_name().name() == name)
    }

    fn has_kind(&self, kind: &str) -> bool {
        self.request.element.tag_name().name() == kind
    }

    fn required(&self, name: &str) -> Result<String, Refusal> {
        self.text(name).ok_or_else(|| {
            let kind = self.request.element.tag_name().name();
            Refusal::new(Class::Error, "JA018", format!("the {kind} action has no <{name}>"))
        })
    }

    fn done(&self, tool: &str, arguments: Vec<String>) -> CommandLine {
        let configuration =
            ("OOZIE_ACTION_CONF_XML".to_owned(), self.request.configuration_file.to_owned());
        let (tool, environment) = (tool.to_owned(), vec![configuration]);
        let (capture, is_job) = (Capture::Nothing, self.has_kind("map-reduce"));
        CommandLine { tool, arguments, environment, capture, is_job, secret: None }
    }

    /// Returns the command line of a client written in Java, with the options of the launcher's JVM.
    fn client(&self, tool: &str, variable: &str, arguments: Vec<String>) -> CommandLine {
        let mut command = self.done(tool, arguments);
        if let Some(options) = self.launcher_options(&JAVA_OPTIONS[..1]) {
            command.environment.push((variable.to_owned(), options));
        }
        command
    }

    /// Returns the command line of the Hadoop client with the jars of the action, since it loads classes that the
    /// action names before any task does.
    fn hadoop(&self, arguments: Vec<String>) -> CommandLine {
        let mut command = self.client("hadoop", HADOOP_OPTIONS, arguments);
        self.jars_in(CLASS_PATH, &mut command);
        command
    }

    /// Returns the options of the launcher's JVM: the first of these properties that is set.
    fn launcher_options(&self, names: &[&str]) -> Option<String> {
        let named = names.iter().find_map(|name| self.request.configuration.get(*name));
        named.filter(|options| !options.trim().is_empty()).cloned()
    }

    fn shell(&self) -> Result<CommandLine, Refusal> {
        let exec = self.required("exec")?;
        // Only the last segment of the path counts: the launcher runs it in the folder to which it linked the files.
        let program = exec.rsplit('/').next().unwrap_or(&exec).to_owned();
        let mut command = self.done(&program, self.texts("argument"));
        for pair in self.texts("env-var") {
            match pair.split_once('=') {
                Some((name, value)) if !value.is_empty() => {
                    command.environment.push((name.to_owned(), value.to_owned()));
                }
                _ => {
                    let message =
                        format!("Invalid env-var [{pair}]: it must be of the form NAME=VALUE");
                    return Err(Refusal::new(Class::Failed, "JA010", message));
                }
            }
        }
        if self.has("capture-output") {
            command.capture = Capture::Stdout;
        }
        Ok(command)
    }

    fn java(&self) -> Result<CommandLine, Refusal> {
        let mut arguments = Vec::new();
        let options = match self.texts("java-opts") {
            options if !options.is_empty() => options,
            _ => self.texts("java-opt"),
        };
        let options = match options.is_empty() {
            true => self.launcher_options(&JAVA_OPTIONS).unwrap_or_default(),
            false => options.join(" "),
        };
        // The container of a launcher is started by a shell command, so that quotes keep a value together.
        let words = split_like_a_shell(&options);
        let words =
            words.unwrap_or_else(|| options.split_whitespace().map(str::to_owned).collect());
        arguments.extend(words);
        let mut path = vec![".".to_owned()];
        path.extend(self.request.jars.iter().cloned());
        arguments.push("-cp".to_owned());
        arguments.push(path.join(":"));
        arguments.push(format!("-Doozie.action.conf.xml={}", self.request.configuration_file));
        let captures = self.has("capture-output");
        if captures {
            arguments
                .push(format!("-Doozie.action.output.properties={}", self.request.output_file));
        }
        let main = self.request.configuration.get("oozie.launcher.action.main.class").cloned();
        arguments.push(match main {
            Some(main) => main,
            None => self.required("main-class")?,
        });
        let mut own = self.texts("arg");
        let takes_empty = self.request.configuration.get("oozie.action.null.args.allowed");
        if takes_empty.is_some_and(|value| value.trim() == "false") {
            own.retain(|argument| !argument.is_empty());
        }
        arguments.extend(own);
        let mut command = self.done("java", arguments);
        command.capture = if captures { Capture::File } else { Capture::Nothing };
        Ok(command)
    }

    fn map_reduce(&self) -> Result<CommandLine, Refusal> {
        let group = |name: &str| {
            self.request
                .element
                .children()
                .find(|child| child.is_element() && child.tag_name().name() == name)
        };
        let settings = |node: Node<'_, '_>| {
            let children = node.children().filter(Node::is_element);
            children
                .map(|child| (child.tag_name().name().to_owned(), text_of(child).trim().to_owned()))
                .collect::<Vec<_>>()
        };
        if (group("streaming").is_some() || group("pipes").is_some())
            && self.config_class().is_some()
        {
            let message = "<config-class> cannot be called: the clients of <streaming> and <pipes> take their options before; set in the \
                           configuration what the class sets";
            return Err(Refusal::new(Class::Error, "JA018", message));
        }
        if let Some(streaming) = group("streaming") {
            let jar = (self.request.streaming_jar)()
                .map_err(|message| Refusal::new(Class::Error, "JA018", message))?;
            let mut generic = vec!["jar".to_owned(), jar];
            generic.extend(["-conf".to_owned(), self.request.streaming_file.to_owned()]);
            let mut specific = Vec::new();
            for (name, text) in settings(streaming) {
                match name.as_str() {
                    "mapper" | "reducer" => specific.extend([format!("-{name}"), text]),
                    "record-reader" => generic
                        .extend(["-D".to_owned(), format!("stream.recordreader.class={text}")]),
                    "record-reader-mapping" if !text.contains('=') => {
                        let message = format!(
                            "the record-reader-mapping `{text}` is not of the form NAME=VALUE"
                        );
                        return Err(Refusal::new(Class::Error, "JA018", message));
                    }
                    "record-reader-mapping" => {
                        generic.extend(["-D".to_owned(), format!("stream.recordreader.{text}")])
                    }
                    "env" => specific.extend(["-cmdenv".to_owned(), text]),
                    _ => {}
                }
            }
            // The streaming client reads settings that have an option only from that option and ignores the
            // configuration.
            for (option, keys) in [
                ("-input", &INPUTS[..]),
                ("-output", &["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"]),
                ("-inputformat", &["mapred.input.format.class"]),
                ("-outputformat", &["mapred.output.format.class"]),
            ] {
                if let Some(value) =
                    keys.iter().find_map(|key| self.request.configuration.get(*key))
                {
                    specific.extend([option.to_owned(), value.clone()]);
                }
            }
            generic.extend(specific);
            return Ok(self.hadoop(generic));
        }
        if let Some(pipes) = group("pipes") {
            let mut arguments = vec!["pipes".to_owned()];
            arguments.extend(["-conf".to_owned(), self.request.configuration_file.to_owned()]);
            for (name, text) in settings(pipes) {
                if matches!(
                    name.as_str(),
                    "map" | "reduce" | "inputformat" | "partitioner" | "writer" | "program"
                ) {
                    let place = self.request.places.get(name.as_str()).cloned();
                    arguments.extend([format!("-{name}"), place.unwrap_or(text)]);
                }
            }
            return Ok(self.hadoop(arguments));
        }
        let class = self.config_class();
        let configuration = match class {
            Some(_) => submission::CONFIGURED.to_owned(),
            None => self.request.configuration_file.to_owned(),
        };
        let submit = vec!["job".to_owned(), "-submit".to_owned(), configuration];
        let mut command = self.hadoop(submit);
        if let Some(class) = class {
            command.environment.push((submission::CONFIG_CLASS.to_owned(), class));
        }
        Ok(command)
    }

    /// Returns the class that changes the configuration of a job before submission.
    fn config_class(&self) -> Option<String> {
        self.text("config-class").filter(|class| !class.is_empty())
    }

    fn pig(&self) -> Result<CommandLine, Refusal> {
        const REFUSED: [&str; 13] = [
            "-4",
            "-log4jconf",
            "-e",
            "-execute",
            "-f",
            "-file",
            "-l",
            "-logfile",
            "-r",
            "-dryrun",
            "-P",
            "-propertyFile",
            "-propertyfile",
        ];
        let script = self.required("script")?;
        // Pig accepts `-D` only before its own options.
        let mut arguments = Vec::new();
        if !self.request.jars.is_empty() {
            arguments.push(format!("-Dpig.additional.jars={}", self.request.jars.join(":")));
        }
        arguments.extend(["-propertyFile".to_owned(), self.request.properties_file.to_owned()]);
        arguments.extend(["-file".to_owned(), base_name(&script)]);
        for param in self.texts("param") {
            arguments.extend(["-param".to_owned(), param]);
        }
        let own = self.texts("argument");
        refuse("pig", &own, &REFUSED)?;
        arguments.extend(own);
        Ok(self.client("pig", "PIG_OPTS", arguments))
    }

    /// Returns `-f script` or `-e query`, and the parameters that follow.
    fn hive_statement(&self) -> Result<Vec<String>, Refusal> {
        const REFUSED: [&str; 20] = [
            "-d",
            "--define",
            "-e",
            "-f",
            "-H",
            "--help",
            "--hiveconf",
            "--hivevar",
            "-s",
            "--silent",
            "-D",
            "-u",
            "-n",
            "-p",
            "-a",
            "-S",
            "-i",
            "-h",
            "-v",
            "-V",
        ];
        let hive2 = self.request.element.tag_name().name() == "hive2";
        let refused: &[&str] = if hive2 {
            &["-u", "-n", "-p", "-d", "-e", "-f", "-a", "--help"]
        } else {
            &REFUSED[..11]
        };
        let mut arguments = match (self.text("script"), self.text("query")) {
            (Some(script), _) => vec!["-f".to_owned(), base_name(&script)],
            (None, Some(query)) => vec!["-e".to_owned(), query],
            (None, None) => {
                let message = "a hive action needs a <script> or a <query>";
                return Err(Refusal::new(Class::Error, "INVALID_ARGUMENTS", message));
            }
        };
        for param in self.texts("param") {
            if param.find('=').is_none_or(|at| at == 0) {
                let message = format!("Parameter expression must contain an assignment: {param}");
                return Err(Refusal::new(Class::Error, "JA018", message));
            }
            arguments.extend(["--hivevar".to_owned(), param]);
        }
        let own = self.texts("argument");
        refuse("Hive", &own, refused)?;
        arguments.extend(own);
        Ok(arguments)
    }

    fn hive(&self) -> Result<CommandLine, Refusal> {
        let mut arguments = self.hive_statement()?;
        for (name, value) in self.request.configuration {
            if !name.starts_with("oozie.launcher.") {
                arguments.extend(["--hiveconf".to_owned(), format!("{name}={value}")]);
            }
        }
        let mut command = self.client("hive", HADOOP_OPTIONS, arguments);
        self.jars_in(HIVE_JARS, &mut command);
        Ok(command)
    }

    fn hive2(&self) -> Result<CommandLine, Refusal> {
        let mut arguments = vec!["-u".to_owned(), self.required("jdbc-url")?];
        arguments.extend(["-n".to_owned(), self.request.user.to_owned()]);
        let password = self.text("password").filter(|password| !password.is_empty());
        arguments.extend(match &password {
            Some(_) => ["-w".to_owned(), SECRET.to_owned()],
            None => ["-p".to_owned(), "DUMMY".to_owned()],
        });
        arguments.extend(["-d".to_owned(), "org.apache.hive.jdbc.HiveDriver".to_owned()]);
        arguments.extend(self.hive_statement()?);
        for (name, value) in self.request.configuration {
            let forwarded = name.starts_with("oozie.")
                && !name.starts_with("oozie.launcher.")
                && !name.starts_with("oozie.hive2.");
            if forwarded {
                arguments.extend(["--hiveconf".to_owned(), format!("{name}={value}")]);
            }
        }
        let mut command = self.client("beeline", HADOOP_OPTIONS, arguments);
        // The jars may include the driver for the server's release.
        self.jars_in(CLASS_PATH, &mut command);
        command.secret = password;
        Ok(command)
    }

    fn sqoop(&self) -> Result<CommandLine, Refusal> {
        let shell_like = self.request.configuration.get("oozie.action.sqoop.shellsplitter");
        let mut arguments = match self.text("command") {
            Some(command)
                if shell_like.is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) =>
            {
                split_like_a_shell(&command).ok_or_else(|| {
                    Refusal::new(
                        Class::Error,
                        "SQOOP002",
                        format!("unbalanced quotes in <command>: {command}"),
                    )
                })?
            }
            Some(command) => {
                command.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
            }
            None => self.texts("arg"),
        };
        let named = arguments.first().is_some_and(|word| word.eq_ignore_ascii_case("sqoop"));
        if named && !arguments.get(1).is_some_and(|word| word.starts_with('-')) {
            arguments.remove(0);
        }
        // Generic Hadoop options follow the name of the Sqoop tool.
        if arguments.first().is_some_and(|tool| !["help", "version"].contains(&tool.as_str())) {
            let conf = ["-conf".to_owned(), self.request.configuration_file.to_owned()];
            arguments.splice(1..1, conf);
        }
        let mut command = self.client("sqoop", HADOOP_OPTIONS, arguments);
        self.jars_in(CLASS_PATH, &mut command);
        Ok(command)
    }

    fn spark(&self) -> Result<CommandLine, Refusal> {
        let mut arguments = vec!["--master".to_owned(), self.required("master")?];
        for (option, name) in [("--deploy-mode", "mode"), ("--name", "name"), ("--class", "class")]
        {
            if let Some(text) = self.text(name) {
                arguments.extend([option.to_owned(), text]);
            }
        }
        let own = spark_options(&self.text("spark-opts").unwrap_or_default());
        arguments.extend(self.spark_settings(&own));
        let jar = self.required("jar")?;
        let brought = self.request.shipped.programs.contains(&base_name(&jar));
        arguments.push(if brought { base_name(&jar) } else { jar });
        arguments.extend(self.texts("arg"));
        Ok(self.client("spark-submit", "SPARK_SUBMIT_OPTS", arguments))
    }

    /// Returns the options of Spark with the files of the action, and its configuration, which Spark passes to Hadoop.
    fn spark_settings(&self, own: &[String]) -> Vec<String> {
        let shipped = self.request.shipped;
        let names = |list: &[(String, std::path::PathBuf)]| {
            list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let (scripts, files): (Vec<_>, Vec<_>) = names(&shipped.files)
            .into_iter()
            .partition(|name| [".py", ".egg", ".zip"].iter().any(|end| name.ends_with(end)));
        let archives = shipped.archives.iter();
        let archives = archives.map(|(name, path)| format!("{}#{name}", path.display())).collect();
        let mut lists: BTreeMap<&str, Vec<String>> = BTreeMap::from([
            ("--jars", self.request.jars.to_vec()),
            ("--py-files", scripts),
            ("--files", files),
            ("--archives", archives),
        ]);
        let mut out = Vec::new();
        let mut words = own.iter();
        while let Some(word) = words.next() {
            match lists.get_mut(word.as_str()) {
                // Spark uses only one list, so that the files of the action are appended to the list in the options.
                Some(list) => list.extend(words.next().cloned()),
                None => out.push(word.clone()),
            }
        }
        for (option, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            out.extend([option.to_owned(), list.join(",")]);
        }
        let is_given = |name: &str| own.iter().any(|word| word.starts_with(&format!("{name}=")));
        let of_launcher = |name: &str| {
            ["oozie.launcher", "oozie.spark"].iter().any(|start| name.starts_with(start))
        };
        for (name, value) in self.request.configuration {
            let name = match name.as_str() {
                // Settings of the launcher are not passed to the application.
                name if of_launcher(name) => continue,
                "mapreduce.job.tags" => "spark.yarn.tags".to_owned(),
                name if name.starts_with("spark.") => name.to_owned(),
                name if name.starts_with("oozie.") => format!("spark.{name}"),
                name => format!("spark.hadoop.{name}"),
            };
            if !is_given(&name) {
                out.extend(["--conf".to_owned(), format!("{name}={value}")]);
            }
        }
        out
    }

    /// Sets a class path variable to the jars of the action.
    fn jars_in(&self, variable: &str, command: &mut CommandLine) {
        let jars = self.request.shipped.jars.iter().map(|(_, path)| path.to_string_lossy());
        let jars: Vec<_> = jars.collect();
        if !jars.is_empty() {
            command.environment.push((variable.to_owned(), jars.join(":")));
        }
    }

    fn distcp(&self) -> Result<CommandLine, Refusal> {
        let conf = ["-conf".to_owned(), self.request.configuration_file.to_owned()];
        let mut arguments = vec!["distcp".to_owned()];
        arguments.extend(conf);
        arguments.extend(self.texts("arg"));
        let mut command = self.hadoop(arguments);
        if let Some(options) = self.text("java-opts") {
            command.environment.retain(|(name, _)| name != HADOOP_OPTIONS);
            command.environment.push((HADOOP_OPTIONS.to_owned(), options));
        }
        Ok(command)
    }

    fn git(&self) -> Result<CommandLine, Refusal> {
        let missing = |name: &str| {
            Refusal::new(Class::Error, "GIT010", format!("the git action has no <{name}>"))
        };
        let uri = self.text("git-uri").ok_or_else(|| missing("git-uri"))?;
        let destination = self.text("destination-uri").ok_or_else(|| missing("destination-uri"))?;
        let advice = [
            ("git-uri", &uri, "for `git@HOST:PATH`, write `ssh://git@HOST/PATH`"),
            ("destination-uri", &destination, "write `hdfs://HOST/PATH` or `file:///PATH`"),
        ];
        for (name, text, advice) in advice {
            if !has_scheme(text) {
                let message = format!("<{name}> has no scheme: {advice}");
                return Err(Refusal::new(Class::Error, "JA018", message));
            }
        }
        let mut arguments = vec!["clone".to_owned()];
        if let Some(branch) = self.text("branch").filter(|branch| !branch.is_empty()) {
            arguments.extend(["--branch".to_owned(), branch]);
        }
        let place = self.request.places.get("destination-uri").cloned();
        arguments.extend(["--".to_owned(), uri, place.unwrap_or(destination)]);
        let mut command = self.done("git", arguments);
        if let Some(key) = self.text("key-path").filter(|key| !key.is_empty()) {
            let key = self.request.places.get("key-path").cloned().unwrap_or(key);
            let ssh = format!("ssh -i {} -o IdentitiesOnly=yes -o BatchMode=yes", quoted(&key));
            command.environment.push(("GIT_SSH_COMMAND".to_owned(), ssh));
        }
        command.environment.push(("GIT_TERMINAL_PROMPT".to_owned(), "0".to_owned()));
        Ok(command)
    }

    fn ssh(&self) -> Result<CommandLine, Refusal> {
        let host = self.required("host")?;
        let host = if host.contains('@') { host } else { format!("{}@{host}", self.request.user) };
        if host.starts_with('-') {
            return Err(Refusal::new(
                Class::Error,
                "UNKNOWN_ERROR",
                format!("`{host}` is not a host"),
            ));
        }
        let mut words = vec![self.required("command")?];
        // The remote shell splits `args` again; each `arg` stays one argument.
        words.extend(self.texts("args"));
        words.extend(self.texts("arg").iter().map(|text| quoted(text)));
        let mut arguments = vec!["-o".to_owned(), "BatchMode=yes".to_owned(), "-o".to_owned()];
        arguments.extend(["StrictHostKeyChecking=accept-new".to_owned(), "--".to_owned(), host]);
        arguments.push(far::named(self.request.attempt, &words.join(" ")));
        let mut command = self.done("ssh", arguments);
        command.environment.clear();
        if self.has("capture-output") {
            command.capture = Capture::Stdout;
        }
        Ok(command)
    }
}

/// Returns the text of an element, including CDATA sections; nested comments and elements do not count.
fn text_of(node: Node<'_, '_>) -> String {
    node.children().filter(Node::is_text).filter_map(|child| child.text()).collect()
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Refuses options that the launcher sets itself.
fn refuse(tool: &str, arguments: &[String], refused: &[&str]) -> Result<(), Refusal> {
    match arguments.iter().find(|argument| refused.contains(&argument.as_str())) {
        Some(argument) => {
            let message = format!("Error: {tool} argument {argument} is not supported");
            Err(Refusal::new(Class::Error, "JA018", message))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(element: &str, expected: &str) {
        check_with(element, &[], expected);
    }

    #[track_caller]
    fn check_with(element: &str, configuration: &[(&str, &str)], expected: &str) {
        let seen = match command_of(element, configuration) {
            Ok(command) => format!("{} {}", command.tool, command.arguments.join(" ")),
            Err(refusal) => format!("{:?} {}", refusal.class, refusal.code),
        };
        assert_eq!(seen, expected);
    }

    #[track_caller]
    fn command_of(element: &str, configuration: &[(&str, &str)]) -> Result<CommandLine, Refusal> {
        let document = roxmltree::Document::parse(element).expect("well-formed");
        let own = |text: &&str| (*text).to_owned();
        let configuration =
            configuration.iter().map(|(name, value)| (own(name), own(value))).collect();
        let place = |name: &str| (name.to_owned(), format!("/w/{name}").into());
        let shipped = Shipped {
            jars: vec![place("a.jar")],
            files: vec![place("dict.txt"), place("util.py")],
            archives: vec![("env".to_owned(), "/c/env.zip".into())],
            programs: vec!["j.jar".to_owned()],
            ..Shipped::default()
        };
        let request = Request {
            element: document.root_element(),
            configuration: &configuration,
            user: "ann",
            configuration_file: "action.xml",
            properties_file: "action.properties",
            streaming_file: "streaming.xml",
            streaming_jar: &|| Ok("/h/streaming.jar".to_owned()),
            output_file: "out",
            places: &BTreeMap::new(),
            jars: &["a.jar".to_owned()],
            shipped: &shipped,
            attempt: "t",
        };
        command_line(&request).expect("a type that runs a program")
    }

    #[test]
    fn each_type_has_its_command_line() {
        check("<shell><exec>bin/run.sh</exec><argument> a b </argument></shell>", "run.sh a b");
        check_with(
            "<map-reduce><streaming><mapper>cat -n</mapper><record-reader>R</record-reader><env>K=v</env></streaming></map-reduce>",
            &[
                ("mapred.input.dir", "/i,/j"),
                ("mapred.output.dir", "/o"),
                ("mapred.input.format.class", "F"),
                ("mapred.output.format.class", "G"),
            ],
            "hadoop jar /h/streaming.jar -conf streaming.xml -D stream.recordreader.class=R -mapper cat -n -cmdenv K=v \
             -input /i,/j -output /o -inputformat F -outputformat G",
        );
        check(
            "<java><main-class>M</main-class><java-opts>-Xmx1g</java-opts><arg>x</arg><capture-output/></java>",
            "java -Xmx1g -cp .:a.jar -Doozie.action.conf.xml=action.xml -Doozie.action.output.properties=out M x",
        );
        check(
            "<java><main-class>M</main-class><java-opts>-Da='b c' -Dd=e</java-opts></java>",
            "java -Da=b c -Dd=e -cp .:a.jar -Doozie.action.conf.xml=action.xml M",
        );
        check("<map-reduce/>", "hadoop job -submit action.xml");
        check(
            "<pig><script>s/id.pig</script><param>A=1</param></pig>",
            "pig -Dpig.additional.jars=a.jar -propertyFile action.properties -file id.pig -param A=1",
        );
        check_with(
            "<hive><query>select 1</query><param>d=2</param></hive>",
            &[("hive.x", "1"), ("oozie.launcher.y", "2"), ("oozie.own", "3")],
            "hive -e select 1 --hivevar d=2 --hiveconf hive.x=1 --hiveconf oozie.own=3",
        );
        check(
            "<hive2><jdbc-url>jdbc:hive2://h</jdbc-url><script>q.hql</script></hive2>",
            "beeline -u jdbc:hive2://h -n ann -p DUMMY -d org.apache.hive.jdbc.HiveDriver -f q.hql",
        );
        let element =
            "<hive2><jdbc-url>u</jdbc-url><password>open</password><query>q</query></hive2>";
        check(element, "beeline -u u -n ann -w .password -d org.apache.hive.jdbc.HiveDriver -e q");
        let command = command_of(element, &[]).expect("a command");
        assert_eq!(command.secret.as_deref(), Some("open"));
        check(
            "<sqoop><command>sqoop import  --table t</command></sqoop>",
            "sqoop import -conf action.xml --table t",
        );
        check("<distcp><arg>a</arg><arg>b</arg></distcp>", "hadoop distcp -conf action.xml a b");
        check(
            "<git><git-uri>https://h/r</git-uri><destination-uri>hdfs://n/d</destination-uri></git>",
            "git clone -- https://h/r hdfs://n/d",
        );
        check(
            "<ssh><host>h</host><command>c</command><arg>a b</arg></ssh>",
            "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -- ann@h test -n \"$shell\" && setenv ANKUS_ATTEMPT t || export ANKUS_ATTEMPT=t; c 'a b'",
        );
    }

    #[test]
    fn clients_find_the_classes_of_the_action() {
        for element in [
            "<map-reduce/>",
            "<map-reduce><streaming/></map-reduce>",
            "<map-reduce><pipes/></map-reduce>",
            "<distcp/>",
            "<hive2><jdbc-url>u</jdbc-url><query>q</query></hive2>",
            "<sqoop><command>import</command></sqoop>",
        ] {
            let jars = ("HADOOP_CLASSPATH".to_owned(), "/w/a.jar".to_owned());
            let command = command_of(element, &[]).expect(element);
            assert!(command.environment.contains(&jars), "{element}: {command:?}");
        }
    }

    #[test]
    fn spark_options_keep_their_values_whole() {
        check(
            "<spark><master>yarn</master><mode>cluster</mode><name>n</name><class>C</class><jar>s/other.jar</jar>\
             <spark-opts>--conf a=\"b c\" --executor-memory 2G --conf x=-y</spark-opts><arg>1</arg></spark>",
            "spark-submit --master yarn --deploy-mode cluster --name n --class C --conf a=b c --executor-memory 2G \
             --conf x=-y --archives /c/env.zip#env --files dict.txt --jars a.jar --py-files util.py s/other.jar 1",
        );
    }

    #[test]
    fn spark_gets_the_files_and_the_configuration_of_the_action() {
        check_with(
            "<spark><master>local</master><jar>lib/j.jar</jar><spark-opts>--jars b.jar --conf spark.x=1</spark-opts></spark>",
            &[
                ("spark.x", "2"),
                ("spark.y", "3"),
                ("mapreduce.job.tags", "t"),
                ("fs.defaultFS", "hdfs://nn"),
                ("oozie.job.note", "n"),
                ("oozie.launcher.env", "a=b"),
            ],
            "spark-submit --master local --conf spark.x=1 --archives /c/env.zip#env --files dict.txt \
             --jars a.jar,b.jar --py-files util.py --conf spark.hadoop.fs.defaultFS=hdfs://nn \
             --conf spark.yarn.tags=t --conf spark.oozie.job.note=n --conf spark.y=3 j.jar",
        );
    }

    #[test]
    fn what_the_launchers_refuse_is_refused() {
        check("<shell><exec>x</exec><env-var>A</env-var></shell>", "Failed JA010");
        check("<pig><script>s</script><argument>-dryrun</argument></pig>", "Error JA018");
        check(
            "<map-reduce><streaming><mapper>m</mapper></streaming><config-class>C</config-class></map-reduce>",
            "Error JA018",
        );
        check("<map-reduce><pipes/><config-class>C</config-class></map-reduce>", "Error JA018");
        check("<hive><script>s</script><param>x</param></hive>", "Error JA018");
        check(
            "<map-reduce><streaming><record-reader-mapping>x</record-reader-mapping></streaming></map-reduce>",
            "Error JA018",
        );
        for (from, to) in [("/r", "hdfs://n/d"), ("git@h:r", "hdfs://n/d"), ("ssh://h/r", "/d")] {
            check(
                &format!(
                    "<git><git-uri>{from}</git-uri><destination-uri>{to}</destination-uri></git>"
                ),
                "Error JA018",
            );
        }
        let splitter = [("oozie.action.sqoop.shellsplitter", "true")];
        check_with(
            "<sqoop><command>import --q 'a b'</command></sqoop>",
            &splitter,
            "sqoop import -conf action.xml --q a b",
        );
        check_with("<sqoop><command>import 'a</command></sqoop>", &splitter, "Error SQOOP002");
    }
}
