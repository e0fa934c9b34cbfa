//! Actions as operators of Airflow.
//!
//! Tools with a command line are started by `BashOperator` as the launcher starts them: `<prepare>` first, then the
//! files are fetched into the working directory. Settings that Airflow does not use are claimed with the difference.

use super::Printer;
use super::expression::{Part, Text};
use super::launcher::Work;
use super::python::Value;
use crate::carry::claims::{self, is_passed_on, secret_name};
use crate::carry::commands;
use crate::carry::ledger::Outcome;
use crate::carry::places::{self, Known};
use crate::carry::shared::is_of_files;
use crate::carry::text;
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details, FileOperation, Property};
use crate::source::Span;

pub(super) const LAUNCHER: &str =
    "there is no launcher job: the command runs on the Airflow worker";
pub(super) const CLIENT: &str =
    "install the clients and the configuration of the cluster on the worker";

/// The lines of a shell script.
pub(super) type Lines = Vec<String>;

impl Printer<'_> {
    /// Returns the operator for an action: class and arguments.
    pub(super) fn operator(&mut self, action: &Action) -> (String, Vec<(String, Value)>) {
        let Some(body) = &action.body else {
            return self.nothing("the action has no body");
        };
        self.now.ledger.exact(body.tag);
        self.work = Work::of(body);
        match &body.details {
            Details::Email { .. } => self.email(body),
            Details::Ssh { .. } => self.ssh(body),
            Details::SubWorkflow { .. } => self.sub_workflow(body),
            Details::Other => {
                let kind = body.kind.to_string();
                let reason = format!("Airflow has no operator for `{kind}` actions");
                let remedy = "write an operator for it, and use it in place of the task that fails";
                self.now.ledger.whole(body.span, Outcome::None, &reason, remedy);
                self.nothing(&format!("the action {kind} was not converted"))
            }
            _ => self.preferred(body).unwrap_or_else(|| self.bash(body)),
        }
    }

    /// Returns a task that fails with the reason, for an action that cannot be converted.
    fn nothing(&mut self, reason: &str) -> (String, Vec<(String, Value)>) {
        let given = vec![
            ("python_callable".to_owned(), Value::code("oozie.kill")),
            ("op_args".to_owned(), Value::Code(format!("[{}]", Value::text(reason).print(0)))),
        ];
        (self.python_operator("PythonOperator"), given)
    }

    pub(super) fn differs(&mut self, span: Span, reason: &str, remedy: &str) {
        self.now.ledger.claim(span, Outcome::Approximate, reason, remedy);
    }

    /// Prints texts as words of a shell.
    fn words(&mut self, scalars: &[Scalar]) -> String {
        scalars.iter().map(|scalar| format!(" {}", self.say(scalar).word())).collect()
    }

    fn word(&mut self, scalar: Option<&Scalar>) -> Option<String> {
        scalar.map(|scalar| self.say(scalar).word())
    }

    /// Prints the properties of an action as options of a tool: `-D name=value`.
    fn options(&mut self, body: &Body, option: &str) -> String {
        let mut out = String::new();
        for scalar in body.job_xml.iter().filter(|_| commands::takes_conf(body)) {
            let (_, name) = self.say(scalar).split_name(last_part);
            out.push_str(&format!(" -conf {}", name.word()));
        }
        for (scalar, name) in [
            (&body.name_node, "fs.defaultFS"),
            (&body.resource_manager, "yarn.resourcemanager.address"),
        ] {
            if let Some(scalar) = scalar {
                let value = self.say(scalar);
                out.push_str(&self.option(option, Text::literal(name), value));
            }
        }
        for property in &body.configuration {
            if let Some((name, value)) = self.property(property) {
                out.push_str(&self.option(option, name, value));
            }
        }
        out
    }

    pub(super) fn option(&self, option: &str, name: Text, value: Text) -> String {
        let pair = name.then(Text::literal("=")).then(value);
        if option.ends_with(' ') || option.ends_with('.') {
            let pair = match option.split_once(' ') {
                Some((_, prefix)) => Text::literal(prefix).then(pair),
                None => pair,
            };
            let option = option.split(' ').next().unwrap_or_default();
            return format!(" {option} {}", pair.word());
        }
        format!(" {option}{}", pair.word())
    }

    /// Returns name and value of a property if the tool itself uses it.
    pub(super) fn property(&mut self, property: &Property) -> Option<(Text, Text)> {
        let name = self.say(&property.name);
        if let Some(known) = name.known()
            && (known.starts_with("oozie.") || known.contains(".launcher."))
        {
            let (outcome, reason, remedy) = match self.is_met(known, property) {
                Some(reason) => (Outcome::Exact, reason, ""),
                None => (Outcome::Approximate, self.place, self.remedy),
            };
            self.now.ledger.whole(property.span, outcome, reason, remedy);
            return None;
        }
        let is_secret = name.known().is_some_and(|known| self.given.secrets.covers(known));
        let value = match &property.value {
            Some(value) if is_secret && !value.is_expr() => {
                let known = name.known().unwrap_or_default().to_owned();
                self.hide(value.span(), &known)
            }
            Some(value) => self.say(value),
            None => Text::default(),
        };
        if let Some(description) = &property.description {
            self.now.ledger.exact(description.span());
        }
        Some((name, value))
    }

    /// Adds commands that fetch the files which the launcher would place in the working directory.
    fn files(&mut self, body: &Body, lines: &mut Lines) {
        for (scalars, is_archive) in [(&body.files, false), (&body.archives, true)] {
            for scalar in scalars {
                let text = self.say(scalar);
                let (path, name) = text.split_name(last_part);
                let path = self.absolute(path, scalar);
                let name = name.word();
                if is_archive {
                    let tar = format!("tar -xf {name}.packed -C {name}");
                    let zip = format!("unzip -q {name}.packed -d {name}");
                    let ends = |kinds: &[&str]| kinds.iter().any(|kind| path.ends_with(kind));
                    let unpack = match () {
                        () if ends(&[".tar", ".tar.gz", ".tgz"]) => tar,
                        () if ends(&[".zip", ".jar"]) => zip,
                        () => {
                            let reason = "it is unpacked by `tar` or, if that fails, by `unzip`";
                            self.differs(scalar.span(), reason, "");
                            format!("{tar} || {zip}")
                        }
                    };
                    lines.push(format!("hdfs dfs -get -f {} {name}.packed", path.word()));
                    lines.push(format!("mkdir -p {name}"));
                    lines.push(unpack);
                } else {
                    lines.push(format!("hdfs dfs -get -f {} {name}", path.word()));
                    lines.push(format!("chmod +x {name}"));
                }
            }
        }
        self.files_of_settings(body, lines);
    }

    /// Adds commands that fetch the properties files whose settings are not written out.
    pub(super) fn files_of_settings(&mut self, body: &Body, lines: &mut Lines) {
        for scalar in &body.job_xml {
            let text = self.say(scalar);
            let (path, name) = text.split_name(last_part);
            let path = self.absolute(path, scalar);
            if commands::hive_site(body).is_some() {
                let folder = commands::HIVE_CONF;
                lines.push(format!("mkdir -p {folder}"));
                lines.push(format!("hdfs dfs -get -f {} {folder}/hive-site.xml", path.word()));
                continue;
            }
            lines.push(format!("hdfs dfs -get -f {} {}", path.word(), name.word()));
            if !commands::takes_conf(body) {
                self.differs(scalar.span(), commands::UNREAD, commands::CHECK_READ);
            }
        }
    }

    /// Prefixes a relative path with the folder of the application.
    pub(super) fn absolute(&mut self, path: Text, written: &Scalar) -> Text {
        if !self.known().is_below_application(written.as_str()) {
            return path;
        }
        self.application_folder().then(Text::literal("/")).then(path)
    }

    pub(super) fn known(&self) -> Known<'_> {
        Known { properties: self.given.properties, secrets: self.given.secrets }
    }

    pub(super) fn application_folder(&mut self) -> Text {
        if let Some(folder) = &self.folder {
            return folder.clone();
        }
        let code = "params['oozie.wf.application.path']".to_owned();
        let path = Text::of_code((code, true));
        let folder = self.folder_of(path);
        self.uses_path |= folder.known().is_none();
        folder
    }

    /// Returns the folder of an application, whose path may name the file in it.
    pub(super) fn folder_of(&self, mut path: Text) -> Text {
        if let Some(Part::Literal(last)) = path.parts.last_mut() {
            if let Some(folder) = places::folder_of_file(last) {
                *last = folder.to_owned();
            }
            return path;
        }
        let known = self.known().application(self.given.coordinator);
        match known.as_deref().and_then(places::folder_of_file) {
            Some(folder) => Text::literal(folder),
            None => path,
        }
    }

    fn prepare(&mut self, operations: &[FileOperation], lines: &mut Lines) {
        for operation in operations {
            self.operation(operation, "hdfs dfs", true, lines);
        }
    }

    fn operation(&mut self, operation: &FileOperation, fs: &str, prepares: bool, out: &mut Lines) {
        if let Some(element) = self.now.tree.element(operation.element) {
            self.now.ledger.whole(element.span(), Outcome::Exact, "", "");
        }
        let path = self.word(operation.path.as_ref()).unwrap_or_default();
        let mut option = |name: &str| {
            let (_, scalar) = operation.options.iter().find(|(key, _)| &**key == name)?;
            Some(self.say(scalar))
        };
        let line = match &*operation.kind {
            "delete" => {
                let skips = option("skip-trash").is_none_or(|text| text.known() != Some("false"));
                let trash = if skips || prepares { " -skipTrash" } else { "" };
                format!("{fs} -rm -r -f{trash} {path}")
            }
            "mkdir" => format!("{fs} -mkdir -p {path}"),
            "touchz" => format!("{fs} -touchz {path}"),
            "setrep" => {
                let factor = option("replication-factor").map(|text| text.word());
                format!("{fs} -setrep {} {path}", factor.unwrap_or_default())
            }
            "move" => {
                let target = self.word(operation.target.as_ref()).unwrap_or_default();
                format!("{fs} -mv {path} {target}")
            }
            "chmod" | "chgrp" => {
                let (name, value) = match &*operation.kind {
                    "chmod" => ("-chmod", option("permissions")),
                    _ => ("-chgrp", option("group")),
                };
                let is_true = |text: Text| {
                    text.known().is_none_or(|known| known.eq_ignore_ascii_case("true"))
                };
                let with_files = option("dir-files").is_none_or(is_true);
                let deep = if operation.recursive && with_files { " -R" } else { "" };
                let value = match (&*operation.kind, value.unwrap_or_default()) {
                    ("chmod", value) => self.mode(operation.tag, value),
                    (_, value) => value,
                };
                let change = format!("{fs} {name}{deep} {}", value.word());
                if with_files && !operation.recursive {
                    // The direct content comes first, while the folder can still be read.
                    out.push(format!("{fs} -ls -C {path} | xargs -r -d '\\n' {change}"));
                }
                format!("{change} {path}")
            }
            kind => {
                let reason = format!("the tools of Hadoop have no `{kind}`");
                self.now.ledger.claim(operation.tag, Outcome::None, &reason, "write it by hand");
                format!("echo {kind} was not converted >&2; exit 1")
            }
        };
        out.push(line);
    }

    /// Converts a file mode to what the tools parse.
    fn mode(&mut self, tag: Span, value: Text) -> Text {
        if let Some(known) = value.known() {
            return Text::literal(&text::mode(known));
        }
        self.differs(tag, text::UNKNOWN_MODE, "give octal digits: `750`");
        value
    }

    fn bash(&mut self, body: &Body) -> (String, Vec<(String, Value)>) {
        let mut lines = Vec::new();
        self.prepare(&body.prepare, &mut lines);
        let ships = matches!(body.details, Details::Fs { .. } | Details::MapReduce { .. });
        if !ships {
            self.files(body, &mut lines);
        }
        self.claim_empty(body);
        if matches!(self.work, Work::Java | Work::Program) && !self.has_said_place {
            // The difference applies to every program that a launcher runs and is reported once.
            self.has_said_place = true;
            self.differs(body.tag, self.place, self.remedy);
        }
        if !matches!(body.details, Details::Fs { .. }) {
            self.environment(body, &mut lines);
        }
        let mut secrets = Vec::new();
        let command = self.command(body, &mut lines, &mut secrets);
        if let Some(command) = command {
            match body.capture_output {
                Some(span) => {
                    self.now.ledger.exact(span);
                    lines.extend(self.captured(body, &command));
                }
                None => lines.push(command),
            }
        }
        if let Some(launcher) = &body.launcher {
            self.claim_launcher(launcher, true);
        }
        let migration = self.given.migration;
        let is_elsewhere = migration.operator(&body.kind.to_string()) == "ssh";
        if lines.len() > 1 {
            let all = if body.capture_output.is_some() { "set -e -o pipefail" } else { "set -e" };
            lines.insert(0, all.to_owned());
            if is_elsewhere && !matches!(body.details, Details::Fs { .. }) {
                lines.insert(1, "cd \"$(mktemp -d)\"".to_owned());
            }
        }
        self.script_operator(body, lines, secrets)
    }

    /// Returns the line that starts the program; `fs` actions only add lines.
    fn command(
        &mut self,
        body: &Body,
        lines: &mut Lines,
        secrets: &mut Vec<(String, Value)>,
    ) -> Option<String> {
        let arguments = self.words(body.arguments());
        Some(match &body.details {
            Details::Fs { operations } => {
                let mut fs = match &body.name_node {
                    Some(name_node) => format!("hdfs dfs -fs {}", self.say(name_node).word()),
                    None => "hdfs dfs".to_owned(),
                };
                fs.push_str(&self.settings_of_files(body));
                operations.iter().for_each(|one| self.operation(one, &fs, false, lines));
                if operations.is_empty() {
                    lines.push("true".to_owned());
                }
                return None;
            }
            Details::Shell { exec, env_vars, .. } => {
                if self.settings_file(body, lines) {
                    lines.push("export OOZIE_ACTION_CONF_XML=\"$PWD/action.xml\"".to_owned());
                }
                for variable in env_vars {
                    let text = self.say(variable);
                    lines.push(format!("export {}", text.word()));
                }
                lines.push("export PATH=\".:$PATH\"".to_owned());
                format!("{}{arguments}", self.word(exec.as_deref()).unwrap_or_default())
            }
            Details::Java { main_class, java_opts, .. } => {
                let mut options = String::new();
                if self.settings_file(body, lines) {
                    options.push_str(" -Doozie.action.conf.xml=\"$PWD/action.xml\"");
                }
                if body.capture_output.is_some() {
                    let option = "-Doozie.action.output.properties=\"$PWD/output.properties\"";
                    options.push_str(&format!(" {option}"));
                }
                options.push_str(&self.options_of_launcher(body));
                for opts in java_opts {
                    options.push_str(&self.java_options(opts));
                }
                let class = self.word(main_class.as_deref()).unwrap_or_default();
                let lib = self.application_folder().then(Text::literal("/lib/*.jar"));
                lines.push(format!("hdfs dfs -get -f {} . || true", lib.jinja()));
                format!("java -cp \"./*:$(hadoop classpath)\"{options} {class}{arguments}")
            }
            Details::Pig { script, params, .. } => {
                let options = self.options(body, "-D");
                let params = self.parameters(params, "-param");
                let script = self.script(script.as_deref(), lines);
                format!("pig{options}{params}{arguments} -f {script}")
            }
            Details::Hive { script, query, params, jdbc_url, password, .. } => {
                let options = self.options(body, "--hiveconf ");
                let params = self.parameters(params, "--hivevar");
                let what = match (script, query) {
                    (Some(script), _) => format!("-f {}", self.script(Some(script), lines)),
                    (None, Some(query)) => format!("-e {}", self.say(query).word()),
                    (None, None) => String::new(),
                };
                if let Some(password) = password {
                    let value = self.hide(password.span(), "password").jinja();
                    secrets.push(("HIVE_PASSWORD".to_owned(), Value::text(value)));
                }
                match self.word(jdbc_url.as_deref()) {
                    Some(url) => {
                        // The launcher passes on the user, and a password in any case.
                        let user = self.compile(commands::USER);
                        let user = user.word();
                        let secret = if password.is_some() {
                            "\"$HIVE_PASSWORD\""
                        } else {
                            commands::NO_PASSWORD
                        };
                        format!(
                            "beeline -u {url} -n {user} -p {secret}{options}{params}{arguments} {what}"
                        )
                    }
                    None => {
                        let folder = commands::HIVE_CONF;
                        let site = commands::hive_site(body)
                            .map_or(String::new(), |_| format!(" --config {folder}"));
                        format!("hive{site}{options}{params}{arguments} {what}")
                    }
                }
            }
            Details::Sqoop { command, .. } => {
                let options = self.options(body, "-D ");
                // The server splits it at whitespace and does not interpret quotes.
                let command = command.as_deref().map(|command| self.say(command).words());
                let all = command.unwrap_or_else(|| arguments.trim_start().to_owned());
                let (tool, rest) = all.split_once(' ').unwrap_or((&all, ""));
                format!("sqoop {tool}{options} {rest}").trim_end().to_owned()
            }
            Details::Distcp { java_opts, .. } => {
                let options = self.options(body, "-D ");
                if let Some(opts) = java_opts {
                    lines.push(format!("export HADOOP_OPTS={}", self.say(opts).word()));
                }
                format!("hadoop distcp{options}{arguments}")
            }
            Details::Spark { master, mode, name, class, jar, spark_opts, .. } => {
                let mut options = String::new();
                for (option, scalar) in [
                    ("--master", master),
                    ("--deploy-mode", mode),
                    ("--name", name),
                    ("--class", class),
                ] {
                    if let Some(word) = self.word(scalar.as_deref()) {
                        options.push_str(&format!(" {option} {word}"));
                    }
                }
                options.push_str(&self.options(body, "--conf spark.hadoop."));
                if let Some(opts) = spark_opts {
                    options.push_str(&self.say(opts).spark_options());
                }
                let jar = jar.as_deref().map(|jar| self.in_lib(jar));
                let jar = jar.map(|jar| jar.word()).unwrap_or_default();
                format!("{}{options} {jar}{arguments}", commands::spark_submit(body))
            }
            Details::MapReduce { .. } => return self.map_reduce(body, lines),
            Details::Git { git_uri, branch, key_path, destination_uri } => {
                self.unheard(body);
                let uri = self.word(git_uri.as_deref()).unwrap_or_default();
                let branch = self.word(branch.as_deref());
                let branch = branch.map(|name| format!(" -b {name}")).unwrap_or_default();
                if let Some(key) = self.word(key_path.as_deref()) {
                    lines.push(format!("hdfs dfs -get -f {key} key"));
                    lines.push("chmod 600 key".to_owned());
                    lines.push("export GIT_SSH_COMMAND=\"ssh -i key\"".to_owned());
                }
                let target = self.word(destination_uri.as_deref()).unwrap_or_default();
                lines.push(format!("git clone{branch} {uri} clone"));
                format!("hdfs dfs -put -f clone {target}")
            }
            _ => "true".to_owned(),
        })
    }

    /// Returns the settings of an action: the addresses of the cluster, and its properties.
    pub(super) fn settings(&mut self, body: &Body) -> Vec<(Text, Text)> {
        let mut properties = Vec::new();
        for (scalar, name) in [
            (&body.name_node, "fs.defaultFS"),
            (&body.resource_manager, "yarn.resourcemanager.address"),
        ] {
            if let Some(scalar) = scalar {
                properties.push((Text::literal(name), self.say(scalar)));
            }
        }
        for property in &body.configuration {
            properties.extend(self.property(property));
        }
        properties
    }

    /// Writes the file with the settings of the action for its program. Returns whether there are any.
    fn settings_file(&mut self, body: &Body, lines: &mut Lines) -> bool {
        let properties = self.settings(body);
        if properties.is_empty() {
            return false;
        }
        configuration("action.xml", &properties, lines);
        self.settings.push(markup(&properties));
        true
    }

    /// Prints the properties that a file system client uses as options; it does not use the others.
    fn settings_of_files(&mut self, body: &Body) -> String {
        if let Some(scalar) = &body.resource_manager {
            self.say(scalar);
        }
        let mut options = String::new();
        for property in &body.configuration {
            let Some((name, value)) = self.property(property) else { continue };
            let is_heard = name.known().is_none_or(is_of_files);
            if is_heard {
                options.push_str(&self.option("-D ", name, value));
            }
        }
        options
    }

    /// Claims elements that are empty.
    fn claim_empty(&mut self, body: &Body) {
        let Some(element) = self.now.tree.element(body.element) else { return };
        for name in ["prepare", "configuration"] {
            let empty = element.elements().filter(|child| child.name() == name);
            for child in empty.filter(|child| child.elements().next().is_none()) {
                self.now.ledger.exact(child.name_span());
            }
        }
    }

    /// Reports the cluster settings that a command does not use.
    fn unheard(&mut self, body: &Body) {
        for scalar in [&body.name_node, &body.resource_manager].into_iter().flatten() {
            if !self.now.ledger.is_claimed(scalar.span()) {
                self.say(scalar);
                self.differs(scalar.span(), self.place, self.remedy);
            }
        }
        for property in &body.configuration {
            self.now.ledger.whole(property.span, Outcome::Approximate, self.place, self.remedy);
        }
    }

    fn parameters(&mut self, params: &[Scalar], option: &str) -> String {
        params.iter().map(|param| format!(" {option} {}", self.say(param).word())).collect()
    }

    /// Adds a command that fetches a script of the application to the worker.
    fn script(&mut self, script: Option<&Scalar>, lines: &mut Lines) -> String {
        let Some(script) = script else { return String::new() };
        let text = self.say(script);
        let (path, name) = text.split_name(last_part);
        let path = self.absolute(path, script);
        let line = format!("hdfs dfs -get -f {} {}", path.word(), name.word());
        if !lines.contains(&line) {
            lines.push(line);
        }
        name.word()
    }

    fn email(&mut self, body: &Body) -> (String, Vec<(String, Value)>) {
        let Some(mut given) = self.mail(body) else {
            return self.nothing("the action is not an email action");
        };
        let connection = self.connection("smtp");
        if connection != "smtp_default" {
            let argument = if self.version.is_two() { "conn_id" } else { "smtp_conn_id" };
            given.push((argument.to_owned(), Value::text(connection)));
        }
        let class = match self.version.is_two() {
            true => self.import("airflow.operators.email", "EmailOperator"),
            false => self.import("airflow.providers.smtp.operators.smtp", "EmailOperator"),
        };
        (class, given)
    }

    /// Returns the recipients and the content of a mail as arguments.
    pub(super) fn mail(&mut self, body: &Body) -> Option<Vec<(String, Value)>> {
        let Details::Email { to, cc, bcc, subject, body: words, content_type, attachment } =
            &body.details
        else {
            return None;
        };
        let mut given = Vec::new();
        for (argument, scalar) in [("to", to), ("cc", cc), ("bcc", bcc), ("subject", subject)] {
            if let Some(scalar) = scalar {
                given.push((argument.to_owned(), Value::text(self.say(scalar).jinja())));
            }
        }
        let plain = match content_type {
            Some(kind) => self.say(kind).known() != Some("text/html"),
            None => true,
        };
        let text = words.as_ref().map(|words| self.say(words).jinja()).unwrap_or_default();
        if let (true, Some(words)) = (plain, words) {
            let reason = "Airflow sends HTML: the text is put into <pre>";
            self.differs(words.span(), reason, "");
        }
        let text = if plain { format!("<pre>{text}</pre>") } else { text };
        given.push(("html_content".to_owned(), Value::text(text)));
        if let Some(files) = attachment {
            self.say(files);
            let reason = "files on the cluster are not attached";
            self.now.ledger.claim(files.span(), Outcome::None, reason, "fetch them before");
        }
        Some(given)
    }

    fn ssh(&mut self, body: &Body) -> (String, Vec<(String, Value)>) {
        let Details::Ssh { host, command, arguments } = &body.details else {
            return self.nothing("the action is not an ssh action");
        };
        let connection = self.connection("ssh");
        let mut given = vec![("ssh_conn_id".to_owned(), Value::text(&connection))];
        if let Some(host) = host {
            let text = self.say(host);
            let reason = format!("the user is that of the connection `{connection}`");
            if host.as_str().contains('@') {
                self.differs(host.span(), &reason, "create the connection with that user");
            }
            let text = text.jinja();
            let host = text.rsplit('@').next().unwrap_or_default().to_owned();
            given.push(("remote_host".to_owned(), Value::text(host)));
        }
        let program = command.as_ref().map(|text| self.say(text).jinja()).unwrap_or_default();
        let words = self.words(arguments);
        let line = format!("{program}{words}");
        // Airflow takes a text with this ending for the name of a template file.
        let line = if line.ends_with(".sh") { format!("{line} ") } else { line };
        given.push(("command".to_owned(), Value::text(line)));
        given.push(("cmd_timeout".to_owned(), Value::code("None")));
        if let Some(span) = body.capture_output {
            let reason = "Airflow keeps the output in base64";
            self.differs(span, reason, "set `enable_xcom_pickling` to off");
        }
        (self.import("airflow.providers.ssh.operators.ssh", "SSHOperator"), given)
    }

    fn sub_workflow(&mut self, body: &Body) -> (String, Vec<(String, Value)>) {
        let Details::SubWorkflow { app_path, propagate_configuration } = &body.details else {
            return self.nothing("the action is not a sub-workflow");
        };
        let (mut dag, mut is_started) = (String::new(), false);
        if let Some(path) = app_path {
            let known = self.given.started.get(&path.span()).cloned();
            is_started = known.is_some();
            let text = self.say(path);
            dag = match known {
                Some(name) => {
                    if name == self.given.name {
                        let reason = "each iteration is a run that waits for the next one, so all of them are active at once";
                        let remedy =
                            "set `max_active_runs` of the DAG above the number of iterations";
                        self.differs(path.span(), reason, remedy);
                    }
                    name
                }
                None => {
                    let properties = self.given.properties;
                    claims::unknown_start(&mut self.now.ledger, path, properties);
                    let known = text.known();
                    let name = claims::folder_of(known, path, (properties, self.given.secrets));
                    super::dag_id(&name)
                }
            };
        }
        let mut conf = Vec::new();
        if let Some(span) = propagate_configuration {
            self.now.ledger.exact(*span);
        }
        for property in &body.configuration {
            if let Some((name, value)) = self.property(property) {
                let is_hidden = name.known().is_some_and(|name| self.given.secrets.covers(name));
                if is_started && is_hidden {
                    let reason = "a secret is not passed on, because everyone can see the parameters of a run";
                    let own = secret_name(&dag, name.known().unwrap_or_default());
                    let remedy = format!("set the variable `{own}`, which the DAG reads");
                    // A property of `<global>` is reported only for actions that use it.
                    if body.span.start <= property.span.start && property.span.end <= body.span.end
                    {
                        self.now.ledger.whole(property.span, Outcome::Approximate, reason, &remedy);
                    }
                    continue;
                }
                let name = name.jinja();
                // The last value of a name counts.
                conf.retain(|(other, _)| *other != name);
                conf.push((name, Value::text(value.jinja())));
            }
        }
        if propagate_configuration.is_some() {
            // The properties that a coordinator sets for its workflow are not parameters of the DAG.
            let secrets = self.given.secrets;
            let given = self.texts.iter().filter(|(name, _)| {
                is_passed_on(name, secrets) && conf.iter().all(|(own, _)| own != *name)
            });
            let given = given.map(|(name, text)| (name.clone(), Value::text(text.jinja())));
            let mut all: Vec<_> = given.collect();
            all.append(&mut conf);
            conf = all;
        }
        self.uses_params |= propagate_configuration.is_some();
        let mut given = vec![("trigger_dag_id".to_owned(), Value::text(dag))];
        if propagate_configuration.is_none() || !conf.is_empty() {
            given.push(("conf".to_owned(), Value::Dict(conf)));
        }
        given.push(("wait_for_completion".to_owned(), Value::code("True")));
        given.push(("poke_interval".to_owned(), Value::code("30")));
        let class = match propagate_configuration {
            // It adds the parameters of the run.
            Some(_) => "oozie.SubWorkflow".to_owned(),
            None => self.standard("trigger_dagrun", "TriggerDagRunOperator"),
        };
        (class, given)
    }
}

/// Returns the code for the last part of a path that is only known at run time.
pub(super) fn last_part(path: &Text) -> Text {
    Text::of_code((format!("el.file_name({})", path.code()), true))
}

/// Writes properties to a Hadoop configuration file.
pub(super) fn configuration(file: &str, properties: &[(Text, Text)], lines: &mut Lines) {
    let inner = markup(properties);
    // No line of the content may end the here-document early.
    let mut end = "END".to_owned();
    while inner.lines().any(|line| line == end) {
        end.push('_');
    }
    lines.push(format!("cat > {file} <<'{end}'"));
    lines.extend(inner.lines().map(str::to_owned));
    lines.push(end);
}

/// Formats properties as a Hadoop configuration file.
fn markup(properties: &[(Text, Text)]) -> String {
    let mut out = "<configuration>\n".to_owned();
    for (name, value) in properties {
        out.push_str("  <property>\n");
        out.push_str(&format!("    <name>{}</name>\n", name.markup()));
        out.push_str(&format!("    <value>{}</value>\n", value.markup()));
        out.push_str("  </property>\n");
    }
    out + "</configuration>\n"
}
