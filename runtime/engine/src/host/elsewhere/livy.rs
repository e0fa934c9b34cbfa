//! Livy, which runs Spark applications for others, through its REST interface: a job is a batch.
//!
//! The name of a batch ends with the id of the attempt, and Livy allows no two batches of one name. The action is
//! already translated to a command line of `spark-submit`; that is parsed again here, since Livy has the same options
//! under names of its own. Livy forgets batches some time after their end. How those ended is requested from the
//! resource manager, if its address is known; otherwise it is unknown, and nothing is started again.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bundle::Bundle;
use super::staging::Staging;
use super::{Address, Backend, Fault, Seat, Seen, Ticket, receive};
use crate::host::process::{Exit, Program, Urgency};
use crate::host::spnego;
use crate::host::telling::{is_frame, telling};
use crate::host::yarn::ResourceManager;

/// A Livy server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Livy {
    /// Its address.
    pub server: String,
    /// The user that applications run as, if Livy lets its callers choose; by default the user of the job.
    pub user: Option<String>,
    /// A file with the value of the header `Authorization`.
    pub authorization_file: Option<String>,
    /// Where files of actions are put, so that Spark finds them.
    pub staging: Option<Staging>,
    /// Addresses of the web services of the resource manager.
    pub web: Vec<String>,
    /// The user name for the resource manager.
    pub caller: String,
}

/// How long an answer may take: Livy starts a process before it answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many batches are requested at once.
const PAGE: usize = 1_000;
/// How many lines of a log are fetched.
const LINES: usize = 20_000;
/// The property with the tags of an application.
const TAGS: &str = "spark.yarn.tags";

/// A batch as Livy describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    id: u64,
    #[serde(default)]
    name: Option<String>,
    state: String,
    #[serde(default)]
    app_id: Option<String>,
    #[serde(default)]
    log: Vec<String>,
}

#[derive(Deserialize)]
struct Batches {
    #[serde(default)]
    total: usize,
    sessions: Vec<Batch>,
}

#[derive(Deserialize)]
struct Log {
    log: Vec<String>,
}

impl Batch {
    fn is_of(&self, ticket: &Ticket) -> bool {
        self.name.as_ref().and_then(|name| name.strip_suffix(&ticket.id)).is_some()
    }

    /// Returns the id of its attempt.
    fn attempt(&self) -> Option<&str> {
        self.name.as_ref()?.rsplit(' ').next()
    }

    fn seen(&self) -> Seen {
        match self.state.as_str() {
            "success" => Seen::Ended(Exit { code: Some(0), ..Exit::default() }),
            "dead" | "error" | "killed" => {
                let why = reason(&self.log).map(|why| format!(": {why}")).unwrap_or_default();
                let said = format!("ended {} in Livy{why}", self.state);
                Seen::Ended(Exit { said: Some(said), ..Exit::default() })
            }
            _ => Seen::Runs,
        }
    }
}

impl Livy {
    /// Sends a request, and returns the status and the body of the answer; status 404 means that there is no such
    /// object.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, String), Fault> {
        let url = format!("{}{path}", self.server);
        // The value is renewed while this process runs.
        let authorization = self.authorization_file.as_ref().map(|file| {
            std::fs::read_to_string(file)
                .map_err(|error| Fault::Refused(format!("`authorization-file` {file}: {error}")))
        });
        let authorization = authorization.transpose()?;
        let text = body.map(Value::to_string).unwrap_or_default();
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let unreachable = |error: ureq::Error| Fault::unanswered(&url, &error);
        let agent = ureq::Agent::from(config);
        let sent = spnego::send(&self.server, |cookie| {
            let mut request = ureq::http::Request::builder()
                .method(method)
                .uri(&url)
                .header("Accept", "application/json")
                .header("Content-Type", "application/json")
                // Livy requires this header if its CSRF protection is on.
                .header("X-Requested-By", "ankus");
            if let Some(value) = &authorization {
                request = request.header("Authorization", value.trim());
            }
            if let Some(cookie) = cookie {
                request = request.header("Cookie", cookie);
            }
            agent.run(request.body(text.clone())?)
        });
        let mut answer = sent.map_err(|fault| match fault {
            spnego::Fault::Request(error) => unreachable(error),
            spnego::Fault::Ticket(why) => Fault::Refused(why),
        })?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_string();
        let text = text.map_err(unreachable)?;
        match status {
            200..300 | 404 => Ok((status, text)),
            429 | 500.. => Err(Fault::Unreachable(format!("{url} answered {status}"))),
            _ => {
                let why = said(&text);
                // Livy limits how many are started at once, and accepts more in a moment.
                if why.contains("too many sessions") {
                    return Err(Fault::Unreachable(format!("{}: {why}", self.server)));
                }
                Err(Fault::Refused(format!("{} answered {status}: {why}", self.server)))
            }
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, text: &str) -> Result<T, Fault> {
        serde_json::from_str(text).map_err(|error| {
            Fault::Refused(format!("{} is not a Livy server: {error}", self.server))
        })
    }

    /// Returns all batches.
    fn batches(&self) -> Result<Vec<Batch>, Fault> {
        let mut all: Vec<Batch> = Vec::new();
        loop {
            let path = format!("/batches?from={}&size={PAGE}", all.len());
            let (status, text) = self.ask("GET", &path, None)?;
            if status == 404 {
                return Err(Fault::Refused(format!("{} has no batches", self.server)));
            }
            let page: Batches = self.read(&text)?;
            let is_last = page.sessions.len() < PAGE;
            all.extend(page.sessions);
            if is_last || all.len() >= page.total {
                return Ok(all);
            }
        }
    }

    /// Returns the batch of an attempt. Numbers start again when Livy restarts, so the name decides.
    fn batch(&self, ticket: &Ticket) -> Result<Option<Batch>, Fault> {
        if let Some(id) = &ticket.own {
            let (status, text) = self.ask("GET", &format!("/batches/{id}"), None)?;
            if status != 404 {
                let batch: Batch = self.read(&text)?;
                if batch.is_of(ticket) {
                    return Ok(Some(batch));
                }
            }
        }
        Ok(self.batches()?.into_iter().find(|batch| batch.is_of(ticket)))
    }

    fn manager(&self) -> ResourceManager<'_> {
        let user = self.user.as_deref().unwrap_or(&self.caller);
        ResourceManager { web: &self.web, user, proxy: None }
    }

    /// Returns the application of an attempt from its cluster; none if the cluster cannot be asked, or does not know
    /// it.
    fn in_cluster(&self, ticket: &Ticket) -> Result<Option<crate::host::yarn::Application>, Fault> {
        if self.web.is_empty() {
            return Ok(None);
        }
        Ok(self.manager().tagged(&ticket.id).map_err(Fault::from)?.into_iter().next())
    }

    /// Returns the state of a batch that Livy has forgotten.
    fn forgotten(&self, ticket: &Ticket) -> Result<Seen, Fault> {
        let ended = |said: String| Seen::Ended(Exit { said: Some(said), ..Exit::default() });
        Ok(match self.in_cluster(ticket)? {
            Some(app) if !app.is_over() => Seen::Runs,
            Some(app) if app.final_status == "SUCCEEDED" => {
                Seen::Ended(Exit { code: Some(0), ..Exit::default() })
            }
            Some(app) => {
                let why = app.diagnostics.lines().map(str::trim).find(|line| !line.is_empty());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                ended(format!("ended {} in the cluster{why}", app.final_status))
            }
            None => ended(format!(
                "is no longer known to Livy, and its outcome is unknown (`web` of the launcher: {})",
                if self.web.is_empty() { "not set" } else { "no application with its tag" }
            )),
        })
    }

    /// Converts a command line of `spark-submit` to a request for Livy.
    fn request(&self, ticket: &Ticket, seat: &Seat, bundle: &Bundle<'_>) -> Result<Value, Fault> {
        let refused = |why: String| Fault::Refused(why);
        let submit = submit(&bundle.program.arguments).map_err(refused)?;
        let uris = |names: &[String]| -> Result<Vec<String>, Fault> {
            names.iter().map(|name| self.uri(ticket, &seat.place.name, bundle, name)).collect()
        };
        let mut conf = submit.conf;
        let tags = match conf.get(TAGS).filter(|tags| !tags.is_empty()) {
            Some(tags) => format!("{tags},{}", ticket.id),
            None => ticket.id.clone(),
        };
        conf.insert(TAGS.to_owned(), tags);
        let mut body = json!({
            "name": format!("{} {}", submit.name.unwrap_or_else(|| seat.title.clone()), ticket.id),
            "file": uris(&[submit.file])?.remove(0),
            "args": submit.args,
            "conf": conf,
        });
        for (key, names) in [
            ("jars", &submit.jars),
            ("pyFiles", &submit.py_files),
            ("files", &submit.files),
            ("archives", &submit.archives),
        ] {
            if !names.is_empty() {
                body[key] = json!(uris(names)?);
            }
        }
        let of_job = || {
            let mut variables = bundle.program.environment.iter();
            variables.find(|(name, _)| name == "HADOOP_USER_NAME").map(|(_, value)| value.clone())
        };
        if let Some(user) = self.user.clone().or_else(of_job) {
            body["proxyUser"] = json!(user);
        }
        for (key, value) in submit.own {
            body[key] = value;
        }
        Ok(body)
    }

    /// Returns the URI by which Spark finds a file: the name itself if it is a URI, else that of a copy.
    fn uri(
        &self,
        ticket: &Ticket,
        launcher: &str,
        bundle: &Bundle<'_>,
        name: &str,
    ) -> Result<String, Fault> {
        let (path, link) = name.split_once('#').map_or((name, None), |(path, it)| (path, Some(it)));
        if path.contains(":/") {
            return Ok(name.to_owned());
        }
        // Paths in the working folder, or of files that were copied next to it.
        let file = PathBuf::from(&bundle.program.folder).join(path);
        if !file.is_file() {
            return match path.starts_with('/') {
                // A path of the file system that Livy uses.
                true => Ok(name.to_owned()),
                false => Err(Fault::Refused(format!(
                    "`{path}` is not among the files of the action, and Livy takes only URIs: add it as <file>, or name its URI"
                ))),
            };
        }
        let Some(staging) = &self.staging else {
            return Err(Fault::Refused(format!(
                "`{path}` must be where Spark can find it: name a folder of the cluster in [launchers.{launcher}] staging"
            )));
        };
        // Two files may have the same name.
        let at = match Path::new(path).is_absolute() {
            true => format!("archives/{:x}/{}", position(bundle, name), base_name(path)),
            false => path.to_owned(),
        };
        let (uri, _) = staging.put(ticket, &at, &file)?;
        Ok(link.map_or_else(|| uri.to_string(), |link| format!("{uri}#{link}")))
    }
}

impl Backend for Livy {
    fn start(
        &self,
        ticket: &Ticket,
        seat: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Option<String>, Fault> {
        // It may have run, and have been forgotten, while no process ran the store.
        if self.in_cluster(ticket)?.is_some() {
            return Ok(self.batch(ticket)?.map(|batch| batch.id.to_string()));
        }
        let body = self.request(ticket, seat, bundle)?;
        let text = match self.ask("POST", "/batches", Some(&body)) {
            Ok((200..300, text)) => text,
            Ok((status, _)) => {
                return Err(Fault::Refused(format!(
                    "{}/batches answered {status}: is it the address of Livy?",
                    self.server
                )));
            }
            // It was started before the process was killed.
            Err(Fault::Refused(why)) if why.contains("Duplicate session name") => {
                return Ok(self.batch(ticket)?.map(|batch| batch.id.to_string()));
            }
            Err(fault) => return Err(fault),
        };
        let batch: Batch = self.read(&text)?;
        if !batch.is_of(ticket) {
            // It could not be found again.
            let deleted = self.ask("DELETE", &format!("/batches/{}", batch.id), None);
            deleted.map_err(Fault::after_others)?;
            return Err(Fault::Refused(format!(
                "{} does not name batches: Livy 0.7 or later is needed",
                self.server
            )));
        }
        Ok(Some(batch.id.to_string()))
    }

    fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault> {
        let batches = self.batches()?;
        let batches: HashMap<&str, &Batch> =
            batches.iter().filter_map(|batch| Some((batch.attempt()?, batch))).collect();
        let mut seen = HashMap::new();
        for ticket in tickets {
            let now = match batches.get(ticket.id.as_str()) {
                Some(batch) => batch.seen(),
                None => self.forgotten(ticket)?,
            };
            seen.insert(ticket.id.clone(), now);
        }
        Ok(seen)
    }

    fn end(&self, ticket: &Ticket, urgency: Urgency) -> Result<(), Fault> {
        if urgency == Urgency::Look {
            return Ok(());
        }
        match self.batch(ticket)? {
            // Deleting an ended batch would delete its log.
            Some(batch) if batch.seen() == Seen::Runs => {
                self.ask("DELETE", &format!("/batches/{}", batch.id), None)?;
            }
            Some(_) => {}
            None => {
                if let Some(app) = self.in_cluster(ticket)?.filter(|app| !app.is_over()) {
                    self.manager().kill(&app.id).map_err(Fault::from)?;
                }
            }
        }
        Ok(())
    }

    fn fetch(&self, ticket: &Ticket, folder: &Path, program: &Program) -> Result<(), Fault> {
        let batch = self.batch(ticket)?;
        let mut parts: BTreeMap<&str, String> = BTreeMap::new();
        parts.entry("stderr").or_default();
        if let Some(batch) = batch {
            let path = format!("/batches/{}/log?from=0&size={LINES}", batch.id);
            let (status, text) = self.ask("GET", &path, None)?;
            if status != 404 {
                let Log { log } = self.read(&text)?;
                for (name, line) in sections(&log) {
                    let part = parts.entry(name).or_default();
                    part.push_str(line);
                    part.push('\n');
                }
            }
            // The application counts as a child of the action.
            if let Some(app) = batch.app_id {
                let part = parts.entry("stderr").or_default();
                part.push_str(&format!("[the application was {app}]\n"));
            }
        }
        for (name, text) in parts {
            let bytes = text.into_bytes();
            let part = receive::Part { name: name.to_owned(), size: bytes.len() as u64, bytes };
            receive::put(folder, program, &part, None, false)?;
        }
        Ok(())
    }

    fn forget(&self, ticket: &Ticket) -> Result<(), Fault> {
        // Livy deletes batches by itself, and they can be inspected until then.
        self.staging.as_ref().map_or(Ok(()), |staging| staging.clear(ticket))
    }

    fn address(&self, ticket: &Ticket) -> Address {
        let id = ticket.own.clone().unwrap_or_default();
        let console = match ticket.own {
            Some(_) => format!("{}/ui/batch/{id}/log", self.server),
            None => format!("{}/ui", self.server),
        };
        Address { id: format!("batch/{id}"), tracker: self.server.clone(), console }
    }
}

/// Returns the reason in the answer to a refused request: an object with a message, or a text.
fn said(text: &str) -> String {
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    let why = answer["msg"].as_str().or_else(|| answer.as_str()).unwrap_or(text);
    why.lines().next().unwrap_or_default().chars().take(500).collect()
}

/// Returns the lines of a log with their streams: Livy writes a heading before each.
fn sections(log: &[String]) -> Vec<(&'static str, &str)> {
    let mut at = "stderr";
    let mut lines = Vec::new();
    for line in log.iter().flat_map(|line| line.lines()) {
        match line.trim() {
            "stdout:" => at = "stdout",
            "stderr:" | "YARN Diagnostics:" => at = "stderr",
            "" => {}
            _ => lines.push((at, line)),
        }
    }
    lines
}

/// Returns why a batch failed, as reported by the cluster, or else the last message that tells something. Lists of
/// batches have only the last ten lines of the log, and these may all be frames of a stack trace.
fn reason(log: &[String]) -> Option<String> {
    let of_cluster = log.iter().rposition(|line| line.trim() == "YARN Diagnostics:");
    let lines = |from: usize| log[from..].iter().flat_map(|line| line.lines()).map(str::trim);
    let told = of_cluster.and_then(|at| lines(at + 1).find(|line| !line.is_empty()));
    let is_heading = |line: &str| ["stdout:", "stderr:", "YARN Diagnostics:"].contains(&line);
    let last = || {
        let all: Vec<&str> = lines(0).filter(|line| !is_heading(line)).collect();
        telling(&all.join("\n")).filter(|line| !is_frame(line))
    };
    told.map(|line| line.chars().take(300).collect()).or_else(last)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a unique, reproducible number for a file in a command line.
fn position(bundle: &Bundle<'_>, name: &str) -> usize {
    let mut words = bundle.program.arguments.iter().flat_map(|word| word.split(','));
    words.position(|word| word == name).unwrap_or_default()
}

/// A parsed command line of `spark-submit`.
#[derive(Debug, Default)]
struct Submit {
    name: Option<String>,
    file: String,
    args: Vec<String>,
    jars: Vec<String>,
    py_files: Vec<String>,
    files: Vec<String>,
    archives: Vec<String>,
    conf: BTreeMap<String, String>,
    /// Options that Livy has a field for.
    own: Vec<(&'static str, Value)>,
}

/// Options that Livy has a field for, and whether it has to be a number.
const OWN: [(&str, &str, bool); 7] = [
    ("--class", "className", false),
    ("--driver-memory", "driverMemory", false),
    ("--driver-cores", "driverCores", true),
    ("--executor-memory", "executorMemory", false),
    ("--executor-cores", "executorCores", true),
    ("--num-executors", "numExecutors", true),
    ("--queue", "queue", false),
];
/// Options that stand for properties.
const AS_PROPERTIES: [(&str, &str); 9] = [
    ("--packages", "spark.jars.packages"),
    ("--exclude-packages", "spark.jars.excludes"),
    ("--repositories", "spark.jars.repositories"),
    ("--driver-java-options", "spark.driver.extraJavaOptions"),
    ("--driver-library-path", "spark.driver.extraLibraryPath"),
    ("--driver-class-path", "spark.driver.extraClassPath"),
    ("--total-executor-cores", "spark.cores.max"),
    ("--principal", "spark.kerberos.principal"),
    ("--keytab", "spark.kerberos.keytab"),
];

/// Parses a command line. The error is an option that Livy does not support.
fn submit(words: &[String]) -> Result<Submit, String> {
    let mut read = Submit::default();
    let list = |value: String| -> Vec<String> {
        value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (option, joined) = match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => (option, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        if !word.starts_with('-') {
            read.file.clone_from(word);
            read.args = words.cloned().collect();
            return Ok(read);
        }
        if matches!(option, "--verbose" | "-v") {
            continue;
        }
        let value = joined.or_else(|| words.next().cloned());
        let value = value.ok_or_else(|| format!("the option `{option}` has no value"))?;
        let own = OWN.iter().find(|(known, ..)| *known == option);
        let property = AS_PROPERTIES.iter().find(|(known, _)| *known == option);
        match option {
            // Livy's own settings determine where it runs Spark.
            "--master" | "--deploy-mode" => {}
            "--name" => read.name = Some(value),
            "--jars" => read.jars = list(value),
            "--py-files" => read.py_files = list(value),
            "--files" => read.files = list(value),
            "--archives" => read.archives = list(value),
            "--conf" | "-c" => {
                let (name, value) = value
                    .split_once('=')
                    .ok_or_else(|| format!("`--conf {value}` is not NAME=VALUE"))?;
                // The first value is used: options of the element precede those of the configuration.
                read.conf.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            }
            _ => match (own, property) {
                (Some((_, key, true)), _) => {
                    let number: u64 = value
                        .trim()
                        .parse()
                        .map_err(|_| format!("`{option} {value}` is not a number"))?;
                    read.own.push((*key, json!(number)));
                }
                (Some((_, key, false)), _) => read.own.push((*key, json!(value))),
                (None, Some((_, name))) => {
                    read.conf.insert((*name).to_owned(), value);
                }
                (None, None) => {
                    return Err(format!(
                        "Livy does not support the option `{option}` of <spark-opts>: use `--conf`"
                    ));
                }
            },
        }
    }
    Err("the command line names no application".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_line_is_taken_apart() {
        let read = submit(&words(
            "--master yarn --deploy-mode cluster --name n --class C --executor-memory 2G --num-executors=3 --conf a=b=c \
             --conf a=x --packages g:a:1 --jars a.jar,hdfs://nn/b.jar --files f --archives /c/e.zip#e j.jar 1 --two",
        ))
        .expect("a command line");
        assert_eq!((read.name.as_deref(), read.file.as_str()), (Some("n"), "j.jar"));
        assert_eq!(read.args, ["1", "--two"]);
        assert_eq!(read.jars, ["a.jar", "hdfs://nn/b.jar"]);
        assert_eq!(read.archives, ["/c/e.zip#e"]);
        let conf = [("a", "b=c"), ("spark.jars.packages", "g:a:1")];
        assert_eq!(read.conf, conf.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let own = [
            ("className", json!("C")),
            ("executorMemory", json!("2G")),
            ("numExecutors", json!(3)),
        ];
        assert_eq!(read.own, own);
        for (line, why) in [
            ("--properties-file p j.jar", "`--properties-file` of <spark-opts>"),
            ("--num-executors many j.jar", "not a number"),
            ("--conf a j.jar", "NAME=VALUE"),
            ("--name n", "no application"),
        ] {
            let refused = submit(&words(line)).expect_err(line);
            assert!(refused.contains(why), "{line}: {refused}");
        }
    }

    #[test]
    fn a_log_has_sections_and_a_reason() {
        let log =
            ["stdout: ", "26/11/23 INFO Client: x", "\nstderr: ", "oops", "\nYARN Diagnostics: "];
        let log = log.map(str::to_owned).to_vec();
        let expected = [("stdout", "26/11/23 INFO Client: x"), ("stderr", "oops")];
        assert_eq!(sections(&log), expected);
        assert_eq!(reason(&log).as_deref(), Some("oops"));
        let more = [log, vec!["User class threw exception: java.lang.X".to_owned()]].concat();
        assert_eq!(reason(&more).as_deref(), Some("User class threw exception: java.lang.X"));
        assert_eq!(reason(&[]), None);
        // The end of what Livy 0.7.1 lists for a batch that failed in YARN.
        let frames =
            ["\tat org.A.b(A:1)", "26/11/28 INFO Hook: called", "", ". Failing the application."];
        assert_eq!(reason(&frames.map(str::to_owned)), None);
    }
}
