//! Actions as tasks of Databricks: Spark and SQL natively, all others as a command on the driver of a cluster.

use super::expression::{READ, is_sheltered, printed};
use super::{Printer, key, program};
use crate::carry::commands::Commands;
use crate::carry::ledger::Outcome;
use crate::carry::text::{Kind, Text};
use crate::carry::yaml::{Yaml, map, text};
use crate::carry::{Given, claims};
use crate::ir::Scalar;
use crate::ir::workflow::{Action, Body, Details};

/// Maximum size of the parameters of a task as JSON, in bytes.
const MOST_PARAMETERS: usize = 10_000;

const CLUSTER: &str = "the job cluster takes its place";

/// Whether a text refers to a secret, which only a program of `src/` can read.
fn is_hidden(text: &str) -> bool {
    text.contains("@{secret:")
}

/// Whether only a program of `src/` interprets a text correctly.
pub(super) fn is_for_programs(text: &str) -> bool {
    is_hidden(text) || is_sheltered(text)
}

impl<'a> Commands<'a> for Printer<'a> {
    const PLACE: &'static str =
        "there is no launcher job: the command runs on the driver of the job's cluster";
    const REMEDY: &'static str =
        "install its tools and the configuration of the old cluster with an init script";

    fn given(&self) -> Given<'a> {
        self.given
    }

    fn neutral(text: Text) -> Text {
        text
    }
}

impl Printer<'_> {
    /// Returns the content of the task for an action, or why the action cannot be converted.
    pub(super) fn action(&mut self, action: &Action, body: &Body) -> Result<Yaml, String> {
        let retries = self.retries(action);
        self.now.ledger.exact(body.tag);
        if let Some(launcher) = &body.launcher {
            let (reason, remedy) = (Self::PLACE, Self::REMEDY);
            self.now.ledger.whole(launcher.span, Outcome::Approximate, reason, remedy);
        }
        let found = match &body.details {
            Details::Email { .. } => self.email(body),
            Details::SubWorkflow { .. } => self.sub_workflow(body),
            Details::Spark { .. } => self.spark(body),
            Details::Hive { query: None, script: Some(_), .. } => self.sql(body),
            Details::Other => {
                let reason = format!("Databricks has no task for `{}` actions", body.kind);
                let remedy = "write a task for it, and use it in place of the one that fails";
                self.now.ledger.whole(body.span, Outcome::None, &reason, remedy);
                self.lack = Some(reason);
                None
            }
            _ => self.run(body),
        };
        let what = match (found, self.lack.take()) {
            (Some(found), None) => found,
            (_, why) => {
                let why = why.unwrap_or_else(|| format!("the action is a `{}`", body.kind));
                let reason = format!("its action is not converted: {why}");
                self.now.ledger.rest(body.span, Outcome::None, &reason, "");
                return Err(why);
            }
        };
        Ok(match (what, retries) {
            (Yaml::Map(entries), Yaml::Map(more)) => Yaml::Map([more, entries].concat()),
            (what, _) => what,
        })
    }

    fn run(&mut self, body: &Body) -> Option<Yaml> {
        let mut words = Vec::new();
        if let Some(span) = body.capture_output {
            let reason = "`key=value` lines become task values, of at most 48 KiB";
            self.differs(span, reason, "");
            words.push(Text::literal("--capture"));
        }
        let command = self.command_of(body)?;
        words.extend(command.texts("\n"));
        let bytes: usize = words.iter().map(|word| printed(word).len() + 4).sum();
        if bytes > MOST_PARAMETERS {
            let reason = "the parameters of a task take at most 10,000 bytes";
            let remedy = "put the arguments into a file that the program reads";
            self.now.ledger.claim(body.tag, Outcome::None, reason, remedy);
            self.lack.get_or_insert_with(|| reason.to_owned());
        }
        Some(program("run", &words))
    }

    /// Returns a text for a field of a task that does not run a program of `src/`.
    fn field(&mut self, scalar: &Scalar) -> String {
        let said = printed(&self.say(scalar));
        if is_for_programs(&said) {
            let reason = match is_hidden(&said) {
                true => "only the converted programs can read the secret",
                false => READ,
            };
            let remedy = "let the program read it from a secret scope or a file";
            self.now.ledger.claim(scalar.span(), Outcome::None, reason, remedy);
            self.lack.get_or_insert_with(|| reason.to_owned());
        }
        said
    }

    /// Returns the path of a file that must be in the volume of the bundle.
    fn artifact(&mut self, scalar: &Scalar, volume: &str) -> Option<String> {
        self.say(scalar);
        self.lack = None;
        let path = crate::carry::resolve(scalar.as_str(), self.given.properties);
        let path = self.given.secrets.text(&path).to_string();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        if name.is_empty() || name.contains(['$', '{', '}']) {
            let reason = "the name of the file is only known at run time";
            self.now.ledger.claim(scalar.span(), Outcome::None, reason, "write the name itself");
            self.lack = Some(reason.to_owned());
            return None;
        }
        let reason = format!("the file has to be in the folder that the variable `{volume}` names");
        let remedy = format!("copy it there: `databricks fs cp {name} dbfs:/Volumes/...`");
        self.differs(scalar.span(), &reason, &remedy);
        Some(format!("${{var.{volume}}}/{name}"))
    }

    /// Reports the settings around a program that a task of Spark or SQL has no place for.
    fn around(&mut self, body: &Body) {
        for scalar in [&body.name_node, &body.resource_manager].into_iter().flatten() {
            self.differs(scalar.span(), CLUSTER, "");
        }
        for property in &body.configuration {
            let remedy = "if it is still needed, set it in `spark_conf` of the cluster";
            self.now.ledger.whole(
                property.span,
                Outcome::None,
                "it is not set for the task",
                remedy,
            );
        }
        for scalar in body.files.iter().chain(&body.archives).chain(&body.job_xml) {
            let remedy = "put the file into a volume, and read it from there";
            self.now.ledger.claim(
                scalar.span(),
                Outcome::None,
                "files are not placed next to it",
                remedy,
            );
        }
        for operation in &body.prepare {
            if let Some(span) = self.span_of(operation) {
                let remedy = "begin with a task that does it";
                self.now.ledger.whole(
                    span,
                    Outcome::None,
                    "a task has no counterpart of <prepare>",
                    remedy,
                );
            }
        }
    }

    fn spark(&mut self, body: &Body) -> Option<Yaml> {
        let Details::Spark { master, mode, name, class, jar, spark_opts, arguments } =
            &body.details
        else {
            return None;
        };
        self.around(body);
        for scalar in [master, mode, name].into_iter().flatten() {
            self.differs(scalar.span(), CLUSTER, "");
        }
        if let Some(opts) = spark_opts {
            let reason = "a job cluster has no options of spark-submit";
            let remedy = "set `spark_conf`, `num_workers` and `libraries` of the job's cluster";
            self.now.ledger.claim(opts.span(), Outcome::None, reason, remedy);
        }
        let file = self.artifact(jar.as_deref()?, "artifacts")?;
        let words: Vec<String> = arguments.iter().map(|word| self.field(word)).collect();
        let words = words.into_iter().map(text).collect();
        let class = class.as_deref().map(|class| self.field(class));
        let task = match (class, file.ends_with(".py")) {
            (_, true) => {
                let task = map([("python_file", text(file))]).and_some("parameters", words);
                map([("spark_python_task", task)])
            }
            (Some(class), false) => {
                let task = map([("main_class_name", text(class))]).and_some("parameters", words);
                let library = map([("jar", text(file))]);
                map([("spark_jar_task", task), ("libraries", Yaml::List(vec![library]))])
            }
            (None, false) => {
                self.lack = Some("it is not a Python program, and no class is given".to_owned());
                return None;
            }
        };
        let mut whole = map([("job_cluster_key", text("main"))]);
        if let Yaml::Map(entries) = task {
            for (key, value) in entries {
                whole = whole.and(&key, value);
            }
        }
        Some(whole)
    }

    /// Returns a task that runs a Hive script as a SQL file in a warehouse.
    fn sql(&mut self, body: &Body) -> Option<Yaml> {
        let Details::Hive { script, params, arguments, jdbc_url, password, .. } = &body.details
        else {
            return None;
        };
        self.around(body);
        for scalar in [jdbc_url, password].into_iter().flatten() {
            self.differs(
                scalar.span(),
                "the warehouse that the variable `warehouse_id` names takes its place",
                "",
            );
        }
        for argument in arguments {
            let reason = "a warehouse has no options of Hive";
            self.now.ledger.claim(
                argument.span(),
                Outcome::None,
                reason,
                "write them into the script",
            );
        }
        let file = self.artifact(script.as_deref()?, "scripts")?;
        let mut pairs: Vec<(String, Yaml)> = Vec::new();
        for param in params {
            let said = self.field(param);
            let Some((name, value)) = said.split_once('=') else {
                self.lack = Some("a parameter of the script has no `=`".to_owned());
                return None;
            };
            let reason =
                format!("the script has to refer to it as `:{name}`, and to be Databricks SQL");
            self.differs(param.span(), &reason, "");
            pairs.retain(|(other, _)| other != name);
            pairs.push((name.to_owned(), text(value)));
        }
        let place = map([("path", text(file)), ("source", text("WORKSPACE"))]);
        let mut task = map([("warehouse_id", text("${var.warehouse_id}")), ("file", place)]);
        if !pairs.is_empty() {
            task = task.and("parameters", Yaml::Map(pairs));
        }
        let reason = "a SQL warehouse runs it, not Hive";
        self.differs(body.tag, reason, "set `warehouse_id`, and try the script there");
        Some(map([("sql_task", task)]))
    }

    fn email(&mut self, body: &Body) -> Option<Yaml> {
        let Details::Email { to, cc, bcc, subject, body: words, content_type, attachment } =
            &body.details
        else {
            return None;
        };
        let kind = content_type.as_ref().map(|kind| self.say(kind));
        let kind = kind.and_then(|kind| {
            let known = kind.known()?.split(';').next()?.trim().strip_prefix("text/")?;
            Some(Text::literal(known))
        });
        if let Some(files) = attachment {
            let reason = "files on the cluster are not attached";
            self.now.ledger.claim(files.span(), Outcome::None, reason, "send a link instead");
        }
        let reason = "a program on the driver sends it by SMTP, without authentication";
        self.differs(body.tag, reason, "give the variables `smtp_host` and `mail_from`");
        let variable = |name: &str| Text::value(format!("${{var.{name}}}"), Kind::Text);
        let mut all = vec![variable("smtp_host"), variable("mail_from")];
        let mut one = |scalar: &Option<_>| {
            let scalar: Option<&Scalar> = Option::as_deref(scalar);
            scalar.map(|scalar| self.say(scalar)).unwrap_or_default()
        };
        all.extend([one(to), one(cc), one(bcc), one(subject)]);
        all.push(kind.unwrap_or_else(|| Text::literal("plain")));
        all.push(one(words));
        Some(program("mail", &all))
    }

    /// Returns a task that runs another job and waits for it.
    fn sub_workflow(&mut self, body: &Body) -> Option<Yaml> {
        let Details::SubWorkflow { app_path, propagate_configuration } = &body.details else {
            return None;
        };
        let path = app_path.as_deref()?;
        let known = self.given.started.get(&path.span()).cloned();
        let said = self.say(path);
        // An expression in the path does not count as missing: the name is known, or reported as unknown.
        self.lack = None;
        if known.as_deref() == Some(self.given.name) {
            let reason = "a job of Databricks cannot start itself";
            let remedy = "use a `for_each_task` that runs it for each value";
            self.now.ledger.claim(path.span(), Outcome::None, reason, remedy);
            self.lack = Some(reason.to_owned());
            return None;
        }
        let name = known.clone().unwrap_or_else(|| {
            let properties = self.given.properties;
            claims::unknown_start(&mut self.now.ledger, path, properties);
            claims::folder_of(said.known(), path, (properties, self.given.secrets))
        });
        let mut pairs: Vec<(String, String)> = Vec::new();
        if let Some(span) = propagate_configuration {
            let reason = "only parameters that are known at conversion are passed on";
            self.differs(*span, reason, "");
            pairs = self.propagated();
        }
        for property in &body.configuration {
            let Some((name, value)) = self.property(property) else { continue };
            let Some(name) = name.known().map(key) else {
                let reason = "the name of the property is only known at run time";
                self.now.ledger.claim(property.name.span(), Outcome::None, reason, "write it out");
                continue;
            };
            let value = printed(&value);
            if is_hidden(&value) {
                let reason = "a secret is not passed on";
                let remedy = "the started job reads it from a scope of its own";
                self.now.ledger.claim(property.span, Outcome::Approximate, reason, remedy);
                continue;
            }
            if is_for_programs(&value) {
                let remedy = "set it as a default in the started job";
                self.now.ledger.whole(property.span, Outcome::None, READ, remedy);
                continue;
            }
            pairs.retain(|(other, _)| *other != name);
            pairs.push((name, value));
        }
        Some(self.starting(&name, known.as_deref(), pairs))
    }

    /// Returns a task that runs a job: one of the bundle, or one that is looked up by its name.
    pub(super) fn starting(
        &mut self,
        name: &str,
        known: Option<&str>,
        pairs: Vec<(String, String)>,
    ) -> Yaml {
        let id = match known {
            Some(known) => format!("${{resources.jobs.{}.id}}", key(known)),
            None => {
                self.elsewhere.insert(name.to_owned());
                format!("${{var.{}}}", self.variable_of(name))
            }
        };
        let mut task = map([("job_id", text(id))]);
        if !pairs.is_empty() {
            let pairs = pairs.into_iter().map(|(name, value)| (name, text(value)));
            task = task.and("job_parameters", Yaml::Map(pairs.collect()));
        }
        map([("run_job_task", task)])
    }

    /// Returns all properties except secrets and those of Oozie itself.
    fn propagated(&mut self) -> Vec<(String, String)> {
        let mut names: Vec<String> = self.given.properties.keys().cloned().collect();
        names.extend(self.texts.keys().cloned());
        names.sort();
        names.dedup();
        names.retain(|name| !self.given.secrets.covers(name) && !name.starts_with("oozie."));
        let texts = names.into_iter().map(|name| {
            let said = self.compile(&format!("${{wf:conf('{}')}}", name.replace('\'', "")));
            (key(&name), said)
        });
        let whole = texts.filter(|(_, said)| said.lacks.is_empty());
        let mut pairs: Vec<(String, String)> =
            whole.map(|(name, said)| (name, printed(&said))).collect();
        pairs.dedup_by(|one, other| one.0 == other.0);
        pairs.retain(|(_, value)| !is_for_programs(value));
        pairs
    }

    fn retries(&mut self, action: &Action) -> Yaml {
        if let Some(cred) = &action.cred {
            self.differs(cred.span(), super::CREDENTIALS.0, super::CREDENTIALS.1);
        }
        let Some(most) = &action.retry_max else { return map([]) };
        let known = claims::retries(&mut self.now.ledger, action, self.given.properties);
        let Some((times, minutes)) = known else {
            self.lack = None;
            let reason = "the number of retries or the interval between them is not known";
            self.now.ledger.claim(most.span(), Outcome::None, reason, "write `max_retries`");
            return map([]);
        };
        let reason = "a server retries only some errors, but here every failure is retried";
        self.differs(most.span(), reason, "");
        if let Some(policy) = &action.retry_policy {
            self.say(policy);
            self.differs(policy.span(), "the interval between retries stays the same", "");
        }
        if times == 0 {
            return map([]);
        }
        let pause = u64::from(minutes) * 60_000;
        let pause = pause.min(u64::from(i32::MAX.unsigned_abs()));
        map([
            ("max_retries", Yaml::Plain(times.to_string())),
            ("min_retry_interval_millis", Yaml::Plain(pause.to_string())),
        ])
    }
}
