//! Actions as command lines of the Hadoop tools.
//!
//! Expressions become arguments of a command, so that no shell interprets them. The target decides where the command
//! runs and in which language its texts are written.

use super::airflow::launcher;
use super::command_line::{Command, Word, named_file, one, options_of, words, words_of};
use super::ledger::Outcome;
use super::places::{self, Known};
use super::said::{self, Says};
use super::text::{self, Part, Text};
use super::{Given, claims, options};
use crate::ir::Scalar;
use crate::ir::workflow::{Body, Details, FileOperation, Group, Property};
use crate::source::Span;

/// Properties that the streaming tool needs as options, because it would add to the properties or replace them.
pub(super) const STREAMED: [(&str, &str); 6] = [
    ("mapred.input.dir", "-input"),
    ("mapreduce.input.fileinputformat.inputdir", "-input"),
    ("mapred.output.dir", "-output"),
    ("mapreduce.output.fileoutputformat.outputdir", "-output"),
    ("mapred.input.format.class", "-inputformat"),
    ("mapred.output.format.class", "-outputformat"),
];

/// Elements of `<pipes>`, with the options of the tool.
pub(super) const PIPES: [(&str, &str); 6] = [
    ("map", "-map"),
    ("reduce", "-reduce"),
    ("inputformat", "-inputformat"),
    ("partitioner", "-partitioner"),
    ("writer", "-writer"),
    ("program", "-program"),
];

/// The reason reported for a properties file that no option names.
pub(super) const UNREAD: &str = "the file is fetched, but no option tells the command to read it";
/// The remedy reported with [`UNREAD`].
pub(super) const CHECK_READ: &str = "put the file below the folder of the workflow and convert again, or write its properties into the action";

/// Whether the tool of an action reads properties files with `-conf`, as the Hadoop tools do.
pub(super) fn takes_conf(body: &Body) -> bool {
    matches!(body.details, Details::Sqoop { .. } | Details::Distcp { .. })
}

/// The user who submits, as an expression.
pub(super) const USER: &str = "${wf:user()}";
/// The password with which the launcher starts beeline if there is none, so that it does not ask for one.
pub(super) const NO_PASSWORD: &str = "DUMMY";

/// The configuration folder that is passed to the Hive command line.
pub(super) const HIVE_CONF: &str = "hive-conf";

/// Returns the properties file from which the launcher creates the `hive-site.xml` of an action. Several files are
/// merged by the launcher, so there is none then.
pub(super) fn hive_site(body: &Body) -> Option<&Scalar> {
    let is_cli = matches!(body.details, Details::Hive { jdbc_url: None, .. });
    match &body.job_xml[..] {
        [site] if is_cli => Some(site),
        _ => None,
    }
}

/// Returns the program that submits to Spark. Distributions that install a second version of Spark name its program
/// differently.
pub(super) fn spark_submit(body: &Body) -> &'static str {
    if &*body.kind == "spark3" { "spark3-submit" } else { "spark-submit" }
}

/// A printer whose target runs commands.
pub(super) trait Commands<'a>: Says<'a> + Sized {
    /// The reason reported: how the environment of the command differs from that of a launcher.
    const PLACE: &'static str;
    /// The remedy reported with [`Commands::PLACE`].
    const REMEDY: &'static str;

    /// The input of the conversion.
    fn given(&self) -> Given<'a>;

    /// Returns a text of the target as a text of commands.
    fn neutral(text: Self::Text) -> Text;

    /// Compiles a text and claims it in the ledger according to the result.
    fn say(&mut self, scalar: &Scalar) -> Text {
        Self::neutral(said::say(self, scalar))
    }

    /// Compiles a text.
    fn compile(&mut self, source: &str) -> Text {
        Self::neutral(self.shown(source))
    }

    /// Returns the text that refers to a secret.
    fn hide(&mut self, span: Span, name: &str) -> Text {
        Self::neutral(said::hide(self, span, name))
    }

    /// Returns the location of an operation of an `fs` action.
    fn span_of(&mut self, operation: &FileOperation) -> Option<Span> {
        Some(self.now().tree.element(operation.element)?.span())
    }

    /// Whether a property of this name is a secret.
    fn is_secret(&self, name: &str) -> bool {
        self.given().secrets.covers(name)
    }

    /// Returns the commands of an action, or none if it has no equivalent command line.
    fn command_of(&mut self, body: &Body) -> Option<Command> {
        let mut command = Command::default();
        for operation in &body.prepare {
            let words = self.operation(operation, &words("hdfs dfs"), true);
            command.before.push(words);
        }
        match &body.details {
            Details::Fs { .. } => {}
            // Files for the tasks of a job go with the job.
            Details::MapReduce { streaming: None, pipes: None, .. } => {
                let only = Body { files: Vec::new(), archives: Vec::new(), ..body.clone() };
                self.files(&only, &mut command);
            }
            Details::MapReduce { .. } => {}
            _ => self.files(body, &mut command),
        }
        self.differs(body.tag, Self::PLACE, Self::REMEDY);
        self.command(body, &mut command).then_some(command)
    }

    fn differs(&mut self, span: Span, reason: &str, remedy: &str) {
        self.now().ledger.claim(span, Outcome::Approximate, reason, remedy);
    }

    fn word(&mut self, scalar: &Scalar) -> Word {
        Word::One(self.say(scalar))
    }

    fn all(&mut self, scalars: &[Scalar]) -> Vec<Word> {
        scalars.iter().map(|scalar| self.word(scalar)).collect()
    }

    /// Returns a text that the server splits at whitespace.
    fn split(&mut self, scalar: &Scalar) -> Word {
        let text = self.say(scalar);
        if scalar.as_str().contains(['"', '\'']) {
            let reason = "it is split at every space, even between quotes";
            self.differs(scalar.span(), reason, "write each argument as a separate element");
        }
        Word::Split(text)
    }

    /// Appends the properties of an action as options of a tool: `-D name=value`.
    fn options(&mut self, body: &Body, option: &str, prefix: &str, out: &mut Vec<Word>) {
        for scalar in body.job_xml.iter().filter(|_| takes_conf(body)) {
            let (_, name) = named_file(self.say(scalar), "");
            out.extend([one("-conf"), name]);
        }
        for (name, value) in self.settings(body) {
            if !option.is_empty() {
                out.push(one(option));
            }
            let name = Text::literal(prefix).then(name);
            out.push(Word::One(name.then(Text::literal("=")).then(value)));
        }
    }

    fn settings(&mut self, body: &Body) -> Vec<(Text, Text)> {
        let mut all = Vec::new();
        for (scalar, name) in [
            (&body.name_node, "fs.defaultFS"),
            (&body.resource_manager, "yarn.resourcemanager.address"),
        ] {
            if let Some(scalar) = scalar {
                all.push((Text::literal(name), self.say(scalar)));
            }
        }
        for property in &body.configuration {
            all.extend(self.property(property));
        }
        all
    }

    /// Returns name and value of a property if the tool itself uses it.
    fn property(&mut self, property: &Property) -> Option<(Text, Text)> {
        let name = self.say(&property.name);
        if let Some(known) = name.known()
            && (known.starts_with("oozie.") || known.contains(".launcher."))
        {
            // That there is no launcher is reported for the action.
            if known.strip_prefix("oozie.launcher.").is_some_and(launcher::sets_place) {
                self.now().ledger.whole(property.span, Outcome::Exact, "", "");
                return None;
            }
            self.now().ledger.whole(property.span, Outcome::Approximate, Self::PLACE, Self::REMEDY);
            return None;
        }
        let is_secret = name.known().is_some_and(|known| self.is_secret(known));
        let value = match &property.value {
            Some(value) if is_secret && !value.is_expr() => {
                let known = name.known().unwrap_or_default().to_owned();
                self.hide(value.span(), &known)
            }
            Some(value) => self.say(value),
            None => Text::default(),
        };
        if let Some(description) = &property.description {
            self.now().ledger.exact(description.span());
        }
        Some((name, value))
    }

    /// Reports the cluster settings that a command does not use.
    fn unheard(&mut self, body: &Body) {
        for scalar in [&body.name_node, &body.resource_manager].into_iter().flatten() {
            self.differs(scalar.span(), Self::PLACE, Self::REMEDY);
        }
        for property in &body.configuration {
            self.now().ledger.whole(property.span, Outcome::Approximate, Self::PLACE, Self::REMEDY);
        }
    }

    /// Adds commands that fetch the files which the launcher would place in the working directory.
    fn files(&mut self, body: &Body, command: &mut Command) {
        for scalar in body.files.iter().chain(&body.job_xml) {
            let text = self.say(scalar);
            let (path, name) = named_file(text, "");
            let mut get = words("hdfs dfs -get -f");
            if hive_site(body) == Some(scalar) {
                command.before.push(words(&format!("mkdir -p {HIVE_CONF}")));
                let site = one(&format!("{HIVE_CONF}/hive-site.xml"));
                get.extend([Word::One(self.absolute(path, scalar)), site]);
                command.before.push(get);
                continue;
            }
            get.extend([Word::One(self.absolute(path, scalar)), name.clone()]);
            command.before.push(get);
            if body.job_xml.contains(scalar) {
                if !takes_conf(body) {
                    self.differs(scalar.span(), UNREAD, CHECK_READ);
                }
            } else {
                command.before.push(vec![one("chmod"), one("+x"), name]);
            }
        }
        for scalar in &body.archives {
            let text = self.say(scalar);
            let (_, packed) = named_file(text.clone(), ".packed");
            let (path, name) = named_file(text, "");
            self.differs(
                scalar.span(),
                "it is unpacked by `tar` or, if that fails, by `unzip`",
                "",
            );
            let path = Word::One(self.absolute(path, scalar));
            let mut get = words("hdfs dfs -get -f");
            get.extend([path, packed.clone()]);
            command.before.push(get);
            command.before.push(vec![one("mkdir"), one("-p"), name.clone()]);
            let mut unpack = vec![one("tar"), one("-xf"), packed.clone(), one("-C"), name.clone()];
            unpack.extend([Word::Raw("|| unzip -q"), packed, one("-d"), name]);
            command.before.push(unpack);
        }
    }

    /// Prefixes a relative path with the folder of the application.
    fn absolute(&mut self, path: Text, written: &Scalar) -> Text {
        let given = self.given();
        let known = Known { properties: given.properties, secrets: given.secrets };
        if !known.is_below_application(written.as_str()) {
            return path;
        }
        self.application_folder().then(Text::literal("/")).then(path)
    }

    fn application_folder(&mut self) -> Text {
        let given = self.given();
        let known = Known { properties: given.properties, secrets: given.secrets };
        let known = known.application(given.coordinator);
        let mut path = self.compile("${wf:appPath()}");
        if let Some(Part::Literal(last)) = path.parts.last_mut() {
            if let Some(folder) = places::folder_of_file(last) {
                *last = folder.to_owned();
            }
            return path;
        }
        match known.as_deref().and_then(places::folder_of_file) {
            Some(folder) => Text::literal(folder),
            None => path,
        }
    }

    fn operation(&mut self, operation: &FileOperation, fs: &[Word], prepares: bool) -> Vec<Word> {
        if let Some(span) = self.span_of(operation) {
            self.now().ledger.whole(span, Outcome::Exact, "", "");
        }
        let mut out = fs.to_vec();
        let path = operation.path.as_ref().map(|path| self.say(path)).unwrap_or_default();
        let mut option = |name: &str| {
            let (_, scalar) = operation.options.iter().find(|(key, _)| &**key == name)?;
            Some(self.say(scalar))
        };
        match &*operation.kind {
            "delete" => {
                let skips = option("skip-trash").is_none_or(|text| text.known() != Some("false"));
                out.extend(words("-rm -r -f"));
                if skips || prepares {
                    out.push(one("-skipTrash"));
                }
            }
            "mkdir" => out.extend(words("-mkdir -p")),
            "touchz" => out.push(one("-touchz")),
            "setrep" => {
                out.push(one("-setrep"));
                out.extend(option("replication-factor").map(Word::One));
            }
            "move" => {
                let target =
                    operation.target.as_ref().map(|path| self.say(path)).unwrap_or_default();
                out.extend([one("-mv"), Word::One(path), Word::One(target)]);
                return out;
            }
            "chmod" | "chgrp" => {
                let name = format!("-{}", operation.kind);
                let value = match &*operation.kind {
                    "chmod" => option("permissions"),
                    _ => option("group"),
                };
                let dirs_only = option("dir-files").is_some_and(|t| t.known() == Some("false"));
                if !operation.recursive && !dirs_only {
                    let reason = "the files directly in the folder keep theirs";
                    self.differs(
                        operation.tag,
                        reason,
                        "if they matter, add a command for `FOLDER/*`",
                    );
                }
                out.push(one(&name));
                if operation.recursive {
                    out.push(one("-R"));
                }
                let is_mode = &*operation.kind == "chmod";
                let value = value.map(|value| match value.known() {
                    Some(known) if is_mode => Text::literal(&text::mode(known)),
                    None if is_mode => {
                        let remedy = "give octal digits: `750`";
                        self.differs(operation.tag, text::UNKNOWN_MODE, remedy);
                        value
                    }
                    _ => value,
                });
                out.extend(value.map(Word::One));
            }
            kind => {
                let reason = format!("the tools of Hadoop have no `{kind}`");
                self.now().ledger.claim(operation.tag, Outcome::None, &reason, "write it by hand");
                return vec![one("false")];
            }
        }
        out.push(Word::One(path));
        out
    }

    /// Builds the command of an action. Returns whether it has one.
    fn command(&mut self, body: &Body, out: &mut Command) -> bool {
        match &body.details {
            Details::Fs { operations } => {
                let mut fs = words("hdfs dfs");
                if let Some(name_node) = &body.name_node {
                    fs.push(one("-fs"));
                    fs.push(self.word(name_node));
                }
                for property in &body.configuration {
                    self.now().ledger.whole(
                        property.span,
                        Outcome::Approximate,
                        Self::PLACE,
                        Self::REMEDY,
                    );
                }
                let mut all: Vec<Vec<Word>> =
                    operations.iter().map(|one| self.operation(one, &fs, false)).collect();
                out.words = all.pop().unwrap_or_else(|| vec![one("true")]);
                out.before.extend(all);
            }
            Details::Shell { exec, env_vars, arguments } => {
                self.unheard(body);
                out.words = match out.before.is_empty() {
                    true => Vec::new(),
                    false => vec![Word::Raw("PATH=\".:$PATH\"")],
                };
                if !env_vars.is_empty() || !out.before.is_empty() {
                    out.words.push(one("env"));
                    out.words.extend(self.all(env_vars));
                }
                let program = exec.as_deref().map(|exec| self.word(exec));
                out.words.extend(program);
                out.words.extend(self.all(arguments));
            }
            Details::Java { main_class, java_opts, arguments } => {
                self.unheard(body);
                let lib = self.application_folder().then(Text::literal("/lib/*.jar"));
                let mut get = words("hdfs dfs -get -f");
                get.extend([Word::One(lib), Word::Raw(". || true")]);
                out.before.push(get);
                out.words = vec![one("java"), one("-cp"), Word::Raw("\"./*:$(hadoop classpath)\"")];
                for opts in java_opts {
                    if opts.as_str().replace("${", "").contains(['$', '`']) {
                        self.differs(opts.span(), claims::NO_SHELL, claims::WRITE_OUT);
                    }
                    out.words.extend(options_of(self.say(opts), options::java));
                }
                if body.capture_output.is_some() {
                    out.add("-Doozie.action.output.properties=output.properties");
                }
                let class = main_class.as_deref().map(|class| self.word(class));
                out.words.extend(class);
                out.words.extend(self.all(arguments));
                if body.capture_output.is_some() {
                    // The properties come from a file that the program may write, not from its output.
                    out.words.push(Word::Raw(">&2"));
                    let program = std::mem::replace(&mut out.words, words("cat output.properties"));
                    out.before.extend([words("touch output.properties"), program]);
                }
            }
            _ => return self.tool(body, out),
        }
        true
    }

    /// Builds the command of a tool that starts jobs or opens connections.
    fn tool(&mut self, body: &Body, out: &mut Command) -> bool {
        match &body.details {
            Details::Distcp { java_opts, arguments } => {
                if let Some(opts) = java_opts {
                    let value = Text::literal("HADOOP_OPTS=").then(self.say(opts));
                    out.words.extend([one("env"), Word::One(value)]);
                }
                out.add("hadoop distcp");
                self.options(body, "-D", "", &mut out.words);
                out.words.extend(self.all(arguments));
            }
            Details::Ssh { host, command, arguments } => {
                self.differs(body.tag, "the keys of the primary node are used", "put them there");
                out.add("ssh -o BatchMode=yes");
                for scalar in [host, command].into_iter().flatten() {
                    let word = self.word(scalar);
                    out.words.push(word);
                }
                out.words.extend(self.all(arguments));
            }
            Details::MapReduce { streaming: None, pipes: None, config_class: None } => {
                self.job_file(body, out);
            }
            Details::MapReduce { config_class: Some(_), .. } => {
                let reason = "`config-class` is not converted";
                let remedy = "write the properties that it sets into the configuration";
                self.now().ledger.whole(body.span, Outcome::None, reason, remedy);
                return false;
            }
            Details::MapReduce { streaming, pipes, .. } => match streaming {
                Some(streaming) => self.streaming(body, streaming, out),
                None => self.pipes(body, pipes.as_ref(), out),
            },
            Details::Git { git_uri, branch, key_path, destination_uri } => {
                self.unheard(body);
                if let Some(key) = key_path {
                    let mut get = words("hdfs dfs -get -f");
                    get.extend([self.word(key), one("key")]);
                    out.before.push(get);
                    out.before.push(words("chmod 600 key"));
                    out.before.push(vec![Word::Raw("export GIT_SSH_COMMAND='ssh -i key'")]);
                }
                let mut clone = words("git clone");
                if let Some(branch) = branch {
                    clone.extend([one("-b"), self.word(branch)]);
                }
                clone.extend(git_uri.as_deref().map(|uri| self.word(uri)));
                clone.push(one("clone"));
                out.before.push(clone);
                out.add("hdfs dfs -put -f clone");
                let target = destination_uri.as_deref().map(|uri| self.word(uri));
                out.words.extend(target);
            }
            _ => self.query(body, out),
        }
        true
    }

    /// Builds the command of a tool that runs scripts or queries.
    fn query(&mut self, body: &Body, out: &mut Command) {
        match &body.details {
            Details::Pig { script, params, arguments } => {
                out.add("pig");
                // Pig's launcher script accepts `-Dname=value` only as one word.
                self.options(body, "", "-D", &mut out.words);
                self.named(params, "-param", out);
                out.words.extend(self.all(arguments));
                self.script(script.as_deref(), out);
            }
            Details::Hive { script, query, params, jdbc_url, password, arguments } => {
                match jdbc_url {
                    Some(url) => {
                        let url = self.word(url);
                        out.add("beeline -u").push(url);
                        // The launcher passes on the user, and a password in any case.
                        let user = self.compile(USER);
                        out.words.extend([one("-n"), Word::One(user)]);
                        if password.is_none() {
                            out.words.extend([one("-p"), one(NO_PASSWORD)]);
                        }
                    }
                    None => {
                        out.add("hive");
                        if hive_site(body).is_some() {
                            out.words.extend([one("--config"), one(HIVE_CONF)]);
                        }
                    }
                }
                if let Some(password) = password {
                    let text = self.hide(password.span(), "password");
                    out.words.extend([one("-p"), Word::One(text)]);
                }
                self.options(body, "--hiveconf", "", &mut out.words);
                self.named(params, "--hivevar", out);
                out.words.extend(self.all(arguments));
                if let (None, Some(query)) = (script, query) {
                    let query = self.word(query);
                    out.words.extend([one("-e"), query]);
                }
                self.script(script.as_deref(), out);
            }
            _ => self.submitted(body, out),
        }
    }

    /// Returns the path of a jar or script of Spark; one without a folder is in `lib`.
    fn in_lib(&mut self, path: Text, written: &Scalar) -> Text {
        let given = self.given();
        let known = Known { properties: given.properties, secrets: given.secrets };
        let is_bare = !known.value(written.as_str()).contains('/');
        if is_bare && known.is_below_application(written.as_str()) {
            return self.application_folder().then(Text::literal("/lib/")).then(path);
        }
        self.absolute(path, written)
    }

    /// Builds the command of a tool that submits a program or command of the user.
    fn submitted(&mut self, body: &Body, out: &mut Command) {
        match &body.details {
            Details::Sqoop { command, arguments } => {
                out.add("sqoop");
                let mut all = match command {
                    Some(command) => match self.split(command) {
                        Word::Split(text) => words_of(text),
                        word => vec![word],
                    },
                    None => self.all(arguments),
                };
                // Generic Hadoop options must follow the name of the Sqoop tool.
                let is_split = matches!(all.first(), Some(Word::Split(_)));
                let rest = all.split_off(usize::from(!is_split && !all.is_empty()));
                out.words.extend(all);
                if is_split && !body.configuration.is_empty() {
                    let reason = "the options of Hadoop come before the command, whose first word is only known at run time";
                    self.differs(body.tag, reason, "put them after its first word");
                }
                self.options(body, "-D", "", &mut out.words);
                out.words.extend(rest);
            }
            Details::Spark { master, mode, name, class, jar, spark_opts, arguments } => {
                out.add(spark_submit(body));
                for (option, scalar) in [
                    ("--master", master),
                    ("--deploy-mode", mode),
                    ("--name", name),
                    ("--class", class),
                ] {
                    if let Some(scalar) = scalar {
                        let word = self.word(scalar);
                        out.words.extend([one(option), word]);
                    }
                }
                self.options(body, "--conf", "spark.hadoop.", &mut out.words);
                if let Some(opts) = spark_opts {
                    out.words.extend(options_of(self.say(opts), options::spark));
                }
                if let Some(jar) = jar {
                    let text = self.say(jar);
                    let text = self.in_lib(text, jar);
                    out.words.push(Word::One(text));
                }
                out.words.extend(self.all(arguments));
            }
            _ => drop(out.add("true")),
        }
    }

    fn named(&mut self, params: &[Scalar], option: &str, out: &mut Command) {
        for param in params {
            let word = self.word(param);
            out.words.extend([one(option), word]);
        }
    }

    /// Adds a command that fetches a script of the application.
    fn script(&mut self, script: Option<&Scalar>, out: &mut Command) {
        let Some(script) = script else { return };
        let text = self.say(script);
        let (path, name) = named_file(text, "");
        let mut get = words("hdfs dfs -get -f");
        get.extend([Word::One(self.absolute(path, script)), name.clone()]);
        out.before.push(get);
        out.words.extend([one("-f"), name]);
    }

    /// Builds the command of a job whose tasks are programs that read and write streams.
    fn streaming(&mut self, body: &Body, streaming: &Group, out: &mut Command) {
        out.add("mapred streaming");
        self.shipped(body, out);
        let mut streams = Vec::new();
        for (name, value) in self.settings(body) {
            let known = |(property, _): &&(&str, &str)| name.known() == Some(*property);
            match STREAMED.iter().find(known) {
                Some((_, option)) => streams.extend([one(option), Word::One(value)]),
                None => out.define(name, value),
            }
        }
        for (name, scalar) in &streaming.settings {
            let value = self.say(scalar);
            match &**name {
                "mapper" => streams.extend([one("-mapper"), Word::One(value)]),
                "reducer" => streams.extend([one("-reducer"), Word::One(value)]),
                "record-reader" => streams.extend([one("-inputreader"), Word::One(value)]),
                "env" => streams.extend([one("-cmdenv"), Word::One(value)]),
                "record-reader-mapping" => {
                    let pair = Text::literal("stream.recordreader.").then(value);
                    out.words.extend([one("-D"), Word::One(pair)]);
                }
                _ => self.differs(scalar.span(), "it is left out", "pass it by `-D`"),
            }
        }
        let has = |option: &str| {
            streams
                .iter()
                .any(|word| matches!(word, Word::One(text) if text.known() == Some(option)))
        };
        if !(has("-input") && has("-output")) {
            let reason = "paths of input and output are those of its configuration";
            self.differs(body.tag, reason, "give the tool -input and -output");
        }
        out.words.extend(streams);
    }

    /// Builds the command of a job whose tasks are programs of the C++ interface.
    fn pipes(&mut self, body: &Body, pipes: Option<&Group>, out: &mut Command) {
        out.add("mapred pipes");
        self.shipped(body, out);
        for (name, value) in self.settings(body) {
            out.define(name, value);
        }
        for (name, scalar) in pipes.into_iter().flat_map(|pipes| &pipes.settings) {
            let value = self.say(scalar);
            match PIPES.iter().find(|(element, _)| *element == &**name) {
                Some((_, option)) => {
                    let value =
                        if *name == *"program" { self.absolute(value, scalar) } else { value };
                    out.words.extend([one(option), Word::One(value)]);
                }
                None => self.differs(scalar.span(), "it is left out", "pass it by `-D`"),
            }
        }
    }

    /// Adds the generic Hadoop options for properties files and for files of the job's tasks.
    fn shipped(&mut self, body: &Body, out: &mut Command) {
        for scalar in &body.job_xml {
            let (path, name) = named_file(self.say(scalar), "");
            let mut get = words("hdfs dfs -get -f");
            get.extend([Word::One(self.absolute(path, scalar)), name.clone()]);
            out.before.push(get);
            out.words.extend([one("-conf"), name]);
        }
        for (scalars, option) in [(&body.files, "-files"), (&body.archives, "-archives")] {
            let scalars: Vec<&Scalar> = scalars.iter().collect();
            if let Some(all) = self.listed(&scalars) {
                out.words.extend([one(option), Word::One(all)]);
            }
        }
    }

    /// Joins paths with commas.
    fn listed(&mut self, scalars: &[&Scalar]) -> Option<Text> {
        Text::listed(scalars.iter().map(|scalar| {
            let path = self.say(scalar);
            self.absolute(path, scalar)
        }))
    }

    /// Builds the command of a job that consists of its configuration only. The files for its tasks are in the
    /// configuration, too, because `mapred job` has no options for them.
    fn job_file(&mut self, body: &Body, out: &mut Command) {
        let mut settings = self.settings(body);
        // A jar without a link name is added to the class path.
        let is_jar = |file: &&Scalar| file.as_str().trim().ends_with(".jar");
        let (jars, files): (Vec<&Scalar>, Vec<&Scalar>) = body.files.iter().partition(is_jar);
        for jar in jars {
            let path = self.say(jar);
            let mut get = words("hdfs dfs -get -f");
            get.extend([Word::One(self.absolute(path, jar)), one(".")]);
            out.before.push(get);
        }
        let archives: Vec<&Scalar> = body.archives.iter().collect();
        for (scalars, name) in [(files, "tmpfiles"), (archives, "tmparchives")] {
            if let Some(all) = self.listed(&scalars) {
                settings.push((Text::literal(name), all));
            }
        }
        let lib = self.application_folder().then(Text::literal("/lib/*.jar"));
        let mut get = words("hdfs dfs -get -f");
        get.extend([Word::One(lib), Word::Raw(". || true")]);
        out.before.push(get);
        out.before.push(vec![Word::Raw("export HADOOP_CLASSPATH='./*'")]);
        let escape = "property() { printf '<property><name>%s</name><value>%s</value></property>\\n' \"$@\" | sed 's/&/\\&amp;/g'; }";
        out.before.push(vec![Word::Raw(escape)]);
        out.before.push(vec![Word::Raw("echo '<configuration>' > job.xml")]);
        for (name, value) in settings {
            let words = vec![one("property"), Word::One(name), Word::One(value)];
            out.before.push([words, vec![Word::Raw(">> job.xml")]].concat());
        }
        // The jars are also those of the tasks.
        out.before.push(vec![Word::Raw(
            "jars=$(find \"$PWD\" -maxdepth 1 -name '*.jar' | sed 's|^|file://|' | paste -sd , -)",
        )]);
        out.before
            .push(vec![Word::Raw("[ -z \"$jars\" ] || property tmpjars \"$jars\" >> job.xml")]);
        out.before.push(vec![Word::Raw("echo '</configuration>' >> job.xml")]);
        out.before.push(vec![Word::Raw(
            "job=$(mapred job -submit job.xml | grep -o 'job_[0-9_]*' | head -n 1)",
        )]);
        out.before.push(vec![Word::Raw("until mapred job -status \"$job\" > status; grep -qE 'SUCCEEDED|FAILED|KILLED' status; do sleep 10; done")]);
        out.words = words("grep -q SUCCEEDED status");
        let reason =
            "the job is submitted by `mapred job -submit`; a value with `<` breaks its file";
        self.differs(body.tag, reason, Self::REMEDY);
    }
}
