//! Operators that a site prefers to a command on the worker, as set in `[migration]`.
//!
//! An action that the operator cannot run faithfully stays a command on the worker, and the ledger says why.

use super::expression::{Part, Text};
use super::python::Value;
use super::{Output, Printer};
use crate::carry::command_line::LONGEST_ARGUMENT;
use crate::carry::ledger::Outcome;
use crate::carry::options;
use crate::ir::Scalar;
use crate::ir::workflow::{Body, Details};

/// The class and arguments of an operator.
pub(super) type Operator = (String, Arguments);

/// Arguments by name.
type Arguments = Vec<(String, Value)>;

/// Options of `spark-submit`, with the equivalent properties.
const PROPERTIES: [(&str, &str); 18] = [
    ("--archives", "spark.yarn.dist.archives"),
    ("--driver-class-path", "spark.driver.extraClassPath"),
    ("--driver-cores", "spark.driver.cores"),
    ("--driver-java-options", "spark.driver.extraJavaOptions"),
    ("--driver-library-path", "spark.driver.extraLibraryPath"),
    ("--driver-memory", "spark.driver.memory"),
    ("--exclude-packages", "spark.jars.excludes"),
    ("--executor-cores", "spark.executor.cores"),
    ("--executor-memory", "spark.executor.memory"),
    ("--files", "spark.yarn.dist.files"),
    ("--keytab", "spark.yarn.keytab"),
    ("--num-executors", "spark.executor.instances"),
    ("--packages", "spark.jars.packages"),
    ("--principal", "spark.yarn.principal"),
    ("--py-files", "spark.submit.pyFiles"),
    ("--queue", "spark.yarn.queue"),
    ("--repositories", "spark.jars.repositories"),
    ("--total-executor-cores", "spark.cores.max"),
];

/// The reason reported for a setting that is part of a connection.
const CONNECTION: &str = "the value of the connection is used";

impl Printer<'_> {
    /// Returns the operator that the site prefers for an action, if it is possible.
    pub(super) fn preferred(&mut self, body: &Body) -> Option<Operator> {
        let kind = body.kind.to_string();
        let wanted = self.given.migration.operator(&kind).to_owned();
        (self.place, self.remedy) = match wanted.as_str() {
            "ssh" => (
                "there is no launcher job: the command runs on the host of the connection",
                "install the clients and the configuration of the cluster on that host",
            ),
            "kubernetes" => (
                "there is no launcher job: the command runs in a pod",
                "use an image with the clients and the configuration of the cluster",
            ),
            _ => (super::actions::LAUNCHER, super::actions::CLIENT),
        };
        let made = match wanted.as_str() {
            "spark-submit" => self.spark_submit(body),
            "livy" => self.livy(body),
            "hive" => self.hive(body),
            _ => return None,
        };
        made.map_err(|why| {
            let reason = format!("a command runs it, not `{wanted}`: {why}");
            let remedy = "change the action, or keep the command";
            self.now.ledger.claim(body.tag, Outcome::Approximate, &reason, remedy);
        })
        .ok()
    }

    /// Returns the operator that runs a script.
    pub(super) fn script_operator(
        &mut self,
        body: &Body,
        lines: Vec<String>,
        secrets: Vec<(String, Value)>,
    ) -> Operator {
        let kind = body.kind.to_string();
        let migration = self.given.migration;
        let mut given = Vec::new();
        match migration.operator(&kind) {
            "ssh" => {
                self.claim_length(body, &lines);
                let connection = self.connection("ssh");
                given.push(("ssh_conn_id".to_owned(), Value::text(connection)));
                given.push(("command".to_owned(), script(lines)));
                if !secrets.is_empty() {
                    given.push(("environment".to_owned(), Value::Dict(secrets)));
                }
                given.push(("cmd_timeout".to_owned(), Value::code("None")));
                (self.import("airflow.providers.ssh.operators.ssh", "SSHOperator"), given)
            }
            "kubernetes" => {
                self.claim_length(body, &lines);
                let connection = self.connection("kubernetes");
                let own = migration.image(&kind).or_else(|| migration.image("hadoop"));
                let image = own.unwrap_or(crate::carry::HADOOP_IMAGE);
                given.push(("kubernetes_conn_id".to_owned(), Value::text(connection)));
                given.push(("image".to_owned(), Value::text(image)));
                let shell = ["bash", "-c"].map(Value::text).to_vec();
                given.push(("cmds".to_owned(), Value::List(shell)));
                given.push(("arguments".to_owned(), Value::List(vec![script(lines)])));
                if !secrets.is_empty() {
                    given.push(("env_vars".to_owned(), Value::Dict(secrets)));
                }
                if body.capture_output.is_some() {
                    given.push(("do_xcom_push".to_owned(), Value::code("True")));
                }
                let module = "airflow.providers.cncf.kubernetes.operators.pod";
                (self.import(module, "KubernetesPodOperator"), given)
            }
            _ => {
                let command = self.command_or_file(lines);
                given.push(("bash_command".to_owned(), command));
                if !secrets.is_empty() {
                    given.push(("append_env".to_owned(), Value::code("True")));
                    given.push(("env".to_owned(), Value::Dict(secrets)));
                }
                (self.standard("bash", "BashOperator"), given)
            }
        }
    }

    /// Returns a command for `bash`. One that is too long for an argument is moved to a file beside the DAG, which the
    /// operator renders and runs.
    fn command_or_file(&mut self, lines: Vec<String>) -> Value {
        let command = script(lines);
        let (Value::Text(text) | Value::Lines(text)) = &command else { return command };
        if self.length(text) <= LONGEST_ARGUMENT {
            return command;
        }
        let file = format!("{}_{}.sh", self.given.name, self.scripts.len() + 1);
        let text = format!("{}\n", text.trim_end_matches('\n'));
        self.scripts.push(Output { path: format!("dags/{file}"), text });
        Value::Text(file)
    }

    /// Estimates the length of a command after the folders of its data are inserted.
    fn length(&self, command: &str) -> usize {
        let data = self.lengths.iter().map(|(name, length)| {
            let uses = command.matches(&format!("oozie.uris({name})")).count();
            uses.saturating_mul(*length)
        });
        data.fold(command.len(), usize::saturating_add)
    }

    /// Reports a command that is too long for an argument and cannot be moved to a file.
    fn claim_length(&mut self, body: &Body, lines: &[String]) {
        if self.length(&lines.join("\n")) > LONGEST_ARGUMENT {
            let reason = "the command is too long for one argument of a shell";
            let remedy = "put the arguments into a file that the program reads";
            self.now.ledger.claim(body.tag, Outcome::None, reason, remedy);
        }
    }

    /// Returns the lines that make the output of a command the result of its task.
    pub(super) fn captured(&self, body: &Body, command: &str) -> Vec<String> {
        let is_java = matches!(body.details, Details::Java { .. });
        let mut lines = match is_java {
            // The program may write the file itself.
            true => vec!["touch output.properties".to_owned(), command.to_owned()],
            false => vec![format!("{command} | tee output.properties")],
        };
        match self.given.migration.operator(&body.kind.to_string()) {
            // The operator returns the whole output, encoded in base64.
            "ssh" if is_java => {
                lines[1].push_str(" >&2");
                lines.push("cat output.properties".to_owned());
            }
            "ssh" => return vec![command.to_owned()],
            "kubernetes" => lines.extend([
                "mkdir -p /airflow/xcom".to_owned(),
                "echo \"\\\"$(base64 -w0 output.properties)\\\"\" > /airflow/xcom/return.json"
                    .to_owned(),
            ]),
            // The whole output is the result, as one line.
            _ => lines.push("base64 -w0 output.properties".to_owned()),
        }
        lines
    }

    fn spark_submit(&mut self, body: &Body) -> Result<Operator, String> {
        let Details::Spark { master, mode, name, class, jar, arguments, .. } = &body.details else {
            return Err("it is not a spark action".to_owned());
        };
        let (conf, jars) = self.spark_settings(body)?;
        let connection = self.connection("spark");
        let mut given = vec![("conn_id".to_owned(), Value::text(&connection))];
        let jar = jar.as_ref().map(|jar| self.in_lib(jar));
        let application = jar.unwrap_or_default().jinja();
        given.push(("application".to_owned(), Value::text(application)));
        for (argument, scalar) in [("java_class", class), ("name", name)] {
            if let Some(scalar) = scalar {
                given.push((argument.to_owned(), Value::text(self.say(scalar).jinja())));
            }
        }
        let remedy = format!("set it in `{connection}`");
        if let Some(master) = master {
            self.say(master);
            self.differs(master.span(), CONNECTION, &remedy);
        }
        if let Some(mode) = mode {
            match self.say(mode).known() {
                Some(known) => given.push(("deploy_mode".to_owned(), Value::text(known))),
                None => self.differs(mode.span(), CONNECTION, &remedy),
            }
        }
        if !conf.is_empty() {
            given.push(("conf".to_owned(), Value::Dict(conf)));
        }
        if let Some(jars) = jars {
            given.push(("jars".to_owned(), Value::text(jars.jinja())));
        }
        if !arguments.is_empty() {
            let all = arguments.iter().map(|one| Value::text(self.say(one).jinja())).collect();
            given.push(("application_args".to_owned(), Value::List(all)));
        }
        let module = "airflow.providers.apache.spark.operators.spark_submit";
        Ok((self.import(module, "SparkSubmitOperator"), given))
    }

    fn livy(&mut self, body: &Body) -> Result<Operator, String> {
        let Details::Spark { master, mode, name, class, jar, arguments, .. } = &body.details else {
            return Err("it is not a spark action".to_owned());
        };
        let (mut conf, jars) = self.spark_settings(body)?;
        if let Some(jars) = jars {
            conf.push(("spark.jars".to_owned(), Value::text(jars.jinja())));
        }
        // Two batches cannot have the same name at the same time.
        if let Some(name) = name {
            conf.push(("spark.app.name".to_owned(), Value::text(self.say(name).jinja())));
        }
        let connection = self.connection("livy");
        let mut given = vec![("livy_conn_id".to_owned(), Value::text(connection))];
        let jar = jar.as_ref().map(|jar| self.in_lib(jar));
        given.push(("file".to_owned(), Value::text(jar.unwrap_or_default().jinja())));
        if let Some(class) = class {
            given.push(("class_name".to_owned(), Value::text(self.say(class).jinja())));
        }
        for scalar in [master, mode].into_iter().flatten() {
            self.say(scalar);
            let reason = "the Livy server determines it";
            self.differs(scalar.span(), reason, "set it there (`livy.spark.master`)");
        }
        if !conf.is_empty() {
            given.push(("conf".to_owned(), Value::Dict(conf)));
        }
        if !arguments.is_empty() {
            let all = arguments.iter().map(|one| Value::text(self.say(one).jinja())).collect();
            given.push(("args".to_owned(), Value::List(all)));
        }
        // Without an interval, the task ends before the job does.
        given.push(("polling_interval".to_owned(), Value::code("30")));
        Ok((self.import("airflow.providers.apache.livy.operators.livy", "LivyOperator"), given))
    }

    /// Returns the properties of a Spark job, including those for Hadoop, and its jars.
    fn spark_settings(&mut self, body: &Body) -> Result<(Arguments, Option<Text>), String> {
        for (is_there, what) in [
            (!body.prepare.is_empty(), "<prepare>"),
            (!body.job_xml.is_empty(), "<job-xml>"),
            (body.capture_output.is_some(), "<capture-output/>"),
        ] {
            if is_there {
                return Err(format!("it has no counterpart of {what}"));
            }
        }
        let Details::Spark { spark_opts, .. } = &body.details else {
            return Err("it is not a spark action".to_owned());
        };
        let mut conf: Vec<(String, Text)> = Vec::new();
        for (name, value) in self.settings(body) {
            let name = name.known().ok_or("the name of a property is only known at run time")?;
            conf.push((format!("spark.hadoop.{name}"), value));
        }
        let mut jars = None;
        if let Some(opts) = spark_opts {
            let text = self.say(opts);
            for (option, value) in options(&text)? {
                let known = PROPERTIES.iter().find(|(name, _)| *name == option);
                match (option.as_str(), known) {
                    ("--jars", _) => jars = Some(value),
                    ("--conf", _) => conf.push(pair(value)?),
                    (_, Some((_, property))) => conf.push(((*property).to_owned(), value)),
                    _ => return Err(format!("it has no counterpart of the option `{option}`")),
                }
            }
        }
        for (scalars, name) in
            [(&body.files, "spark.yarn.dist.files"), (&body.archives, "spark.yarn.dist.archives")]
        {
            for scalar in scalars {
                let path = self.say(scalar);
                let path = self.absolute(path, scalar);
                match conf.iter_mut().find(|(key, _)| key == name) {
                    Some((_, list)) => {
                        let before = std::mem::take(list).then(Text::literal(","));
                        *list = before.then(path);
                    }
                    None => conf.push((name.to_owned(), path)),
                }
            }
        }
        if let Some(launcher) = &body.launcher {
            self.claim_launcher(launcher, false);
        }
        let mut dict: Vec<(String, Value)> = Vec::new();
        for (name, value) in conf {
            // The last value of a name counts.
            dict.retain(|(other, _)| *other != name);
            dict.push((name, Value::text(value.jinja())));
        }
        Ok((dict, jars))
    }

    /// Returns the path of a jar or script of Spark; one without a folder is in `lib`.
    pub(super) fn in_lib(&mut self, written: &Scalar) -> Text {
        let path = self.say(written);
        let is_bare = !self.known().value(written.as_str()).contains('/');
        if is_bare && self.known().is_below_application(written.as_str()) {
            return self.application_folder().then(Text::literal("/lib/")).then(path);
        }
        self.absolute(path, written)
    }

    fn hive(&mut self, body: &Body) -> Result<Operator, String> {
        let Details::Hive { script, query, params, jdbc_url, password, arguments } = &body.details
        else {
            return Err("it is not a hive action".to_owned());
        };
        for (is_there, what) in [
            (!body.prepare.is_empty(), "<prepare>"),
            (!body.job_xml.is_empty(), "<job-xml>"),
            (!body.files.is_empty(), "<file>"),
            (!body.archives.is_empty(), "<archive>"),
            (!arguments.is_empty(), "arguments"),
            (body.capture_output.is_some(), "<capture-output/>"),
        ] {
            if is_there {
                return Err(format!("it has no counterpart of {what}"));
            }
        }
        let mut hql = String::new();
        for param in params {
            let text = self.say(param).jinja();
            if text.contains([';', '\n']) {
                return Err("the value of a parameter holds a semicolon".to_owned());
            }
            hql.push_str(&format!("SET hivevar:{text};\n"));
        }
        match (script, query) {
            (Some(script), _) => hql.push_str(&self.included(script)?),
            (None, Some(query)) => hql.push_str(&self.say(query).jinja()),
            (None, None) => return Err("it has neither script nor query".to_owned()),
        }
        let connection = self.connection("hive");
        for scalar in [jdbc_url, password].into_iter().flatten() {
            let remedy = format!("set it in `{connection}`");
            self.differs(scalar.span(), CONNECTION, &remedy);
        }
        let mut given = vec![
            ("hive_cli_conn_id".to_owned(), Value::text(connection)),
            ("hql".to_owned(), Value::Lines(format!("{hql}\n"))),
        ];
        let mut settings = Vec::new();
        for (name, value) in self.settings(body) {
            let name = name.known().ok_or("the name of a property is only known at run time")?;
            settings.push((name.to_owned(), Value::text(value.jinja())));
        }
        if !settings.is_empty() {
            given.push(("hiveconfs".to_owned(), Value::Dict(settings)));
        }
        if let Some(launcher) = &body.launcher {
            self.claim_launcher(launcher, false);
        }
        Ok((self.import("airflow.providers.apache.hive.operators.hive", "HiveOperator"), given))
    }

    /// Returns a script that Jinja includes from a file beside the DAG.
    fn included(&mut self, script: &crate::ir::Scalar) -> Result<String, String> {
        let text = self.say(script);
        let known = text.known().ok_or("the name of its script depends on the run")?;
        let path = known.split('#').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.contains(['\'', '\\', '"']) {
            return Err("the name of its script has a quote in it".to_owned());
        }
        let path = format!("{}/{name}", self.given.name);
        let reason = "Jinja reads the script from a folder beside the DAG, as a template";
        self.differs(script.span(), reason, &format!("copy it to `dags/{path}`"));
        Ok(format!("{{% include '{path}' %}}"))
    }
}

/// Returns a script as an argument. A text that ends like a file name gets a final newline, so that it is not taken for
/// one.
fn script(lines: Vec<String>) -> Value {
    let text = lines.join("\n");
    let is_long = lines.len() > 1
        || [".sh", ".bash", ".json", ".yaml", ".yml"].iter().any(|end| text.ends_with(end));
    if is_long { Value::Lines(format!("{text}\n")) } else { Value::text(text) }
}

/// Parses a pair of `--conf`, whose name must be known.
fn pair(text: Text) -> Result<(String, Text), String> {
    let mut text = text;
    let open = || "the name of a property is only known at run time".to_owned();
    let Some(Part::Literal(first)) = text.parts.first().cloned() else { return Err(open()) };
    let (name, rest) = first.split_once('=').ok_or_else(open)?;
    match rest {
        "" => drop(text.parts.remove(0)),
        rest => text.parts[0] = Part::Literal(rest.to_owned()),
    }
    Ok((name.to_owned(), text))
}

/// Splits the options of `spark-submit` and their values as the launcher does.
fn options(text: &Text) -> Result<Vec<(String, Text)>, String> {
    let open = || "its options are not known before the run".to_owned();
    let mut words = text.options_apart(options::spark).into_iter().peekable();
    let mut found = Vec::new();
    while let Some((word, is_one)) = words.next() {
        let name = word.known().filter(|name| is_one && name.starts_with("--")).ok_or_else(open)?;
        if name == "--verbose" {
            continue;
        }
        // An expression after an option is its value; an operator has no place for further options in it.
        let is_value = |(word, is_one): &(Text, bool)| match word.known() {
            Some(known) => *is_one && !known.starts_with("--"),
            None => true,
        };
        let (value, _) = words.next_if(is_value).ok_or_else(|| format!("`{name}` has no value"))?;
        found.push((name.to_owned(), value));
    }
    Ok(found)
}
