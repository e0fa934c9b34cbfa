//! `ankus job … --url URL`: the same commands for a server with Oozie's web services, ours or another.

use super::job::{Format, JobCommand, counted};
use super::operate::{Again, Scope};
use super::{Exit, Failure, Shell, action, graph, log, store};
use crate::properties::PropertyArguments;
use ankus::text::hanging;
use ankus_engine::driver::object;
use ankus_project::write;
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Time-out of a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Maximum size of an answer.
const LARGEST: u64 = 1 << 30;
/// The final statuses.
const ENDS: [&str; 5] = ["SUCCEEDED", "KILLED", "FAILED", "DONEWITHERROR", "IGNORED"];

/// A server of web services, and the user of the requests.
pub(super) struct Server {
    base: String,
    /// The header `Authorization`, if credentials are given.
    authorization: Option<String>,
    agent: ureq::Agent,
}

/// The answer of a server.
struct Reply {
    status: u16,
    /// Oozie's code and message of a refusal.
    refusal: Option<(String, String)>,
    body: Vec<u8>,
}

/// A kind of jobs in lists: the parameter, the name of the list, and the fields of id and name.
struct Kind {
    jobtype: &'static str,
    list: &'static str,
    id: &'static str,
    name: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind { jobtype: "wf", list: "workflows", id: "id", name: "appName" },
    Kind { jobtype: "coord", list: "coordinatorjobs", id: "coordJobId", name: "coordJobName" },
    Kind { jobtype: "bundle", list: "bundlejobs", id: "bundleJobId", name: "bundleJobName" },
];

/// Returns the server for commands: `--url`, or `OOZIE_URL` if no store is given.
pub(super) fn server_of(url: Option<&str>) -> miette::Result<Option<String>> {
    let names_store =
        std::env::args().any(|word| word == "--store" || word.starts_with("--store="));
    match url {
        Some(_) if names_store => {
            Err(Failure::new("`--url` names a server and `--store` a store: use only one of them")
                .into())
        }
        Some(url) => Ok(Some(url.to_owned())),
        None if names_store || std::env::var_os("ANKUS_STORE").is_some() => Ok(None),
        None => Ok(std::env::var("OOZIE_URL").ok().filter(|url| !url.trim().is_empty())),
    }
}

/// Executes a command.
pub(super) fn run(url: &str, command: JobCommand, shell: &mut Shell) -> miette::Result<Exit> {
    let server = Server::new(url)?;
    match command {
        JobCommand::List { filter, len, offset, format } => {
            server.list(&filter, len, offset.max(1), format, shell)
        }
        JobCommand::Show { environment: true, .. } => {
            Err(Failure::new("a server does not report what a job runs with").into())
        }
        JobCommand::Show { id, format, .. } => server.show(&server.resolve(&id)?, format, shell),
        JobCommand::Log(arguments) => server.log(&arguments, shell),
        JobCommand::Graph { id, format, output } => {
            server.graph(&id, format, output.as_deref(), shell)
        }
        JobCommand::Purge { ids, older_than, dry_run } => {
            if dry_run || !ids.is_empty() {
                let failure = Failure::new("a server purges by age, without listing the jobs");
                return Err(failure.help("`--older-than DAYS`, without `--dry-run`").into());
            }
            server.purge(older_than, shell)
        }
        JobCommand::Suspend { id } => {
            server.steer(&id, &[("action", "suspend")], "SUSPENDED", shell)
        }
        JobCommand::Resume { id: Some(id), .. } => {
            server.steer(&id, &[("action", "resume")], "RUNNING", shell)
        }
        JobCommand::Resume { id: None, .. } => server.resume_all(shell),
        JobCommand::Kill { force: true, .. } | JobCommand::Rerun { force: true, .. } => {
            Err(Failure::new("`--force` is for a store of this machine").into())
        }
        JobCommand::Kill { id, scope, .. } => match pair(&scope) {
            None => server.steer(&id, &[("action", "kill")], "KILLED", shell),
            Some((kind, scope)) => {
                let query = [("action", "kill"), ("type", kind), ("scope", scope)];
                server.actions(&id, &query, shell)
            }
        },
        JobCommand::Change { id, value } => {
            let query = [("action", "change"), ("value", value.as_str())];
            server.commanded(&id, &query, shell)
        }
        JobCommand::Ignore { id, scope } => match pair(&scope) {
            None => server.steer(&id, &[("action", "ignore")], "IGNORED", shell),
            Some((kind, scope)) => {
                let query = [("action", "ignore"), ("type", kind), ("scope", scope)];
                server.actions(&id, &query, shell)
            }
        },
        JobCommand::Rerun { id, failed, skip, define, scope, again, .. } => {
            server.rerun(&id, failed, skip, define, &scope, &again, shell)
        }
        JobCommand::Update { id, path, properties, diff, dry_run } => {
            let path = path.to_string_lossy().into_owned();
            server.update(&id, &path, &properties, (diff, dry_run), shell)
        }
        JobCommand::Retries { id, node } => server.retries(&id, &node, shell),
    }
}

/// Returns the type and the text of a scope.
fn pair(scope: &Scope) -> Option<(&'static str, &str)> {
    match (&scope.action, &scope.date) {
        (Some(numbers), _) => Some(("action", numbers)),
        (None, Some(dates)) => Some(("date", dates)),
        (None, None) => None,
    }
}

fn read(text: &str) -> miette::Result<Value> {
    serde_json::from_str(text).map_err(|error| {
        Failure::new(format!("the answer of the server is not valid JSON: {error}")).into()
    })
}

/// Escapes all characters with a meaning in URLs.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// Formats a configuration for servers.
fn xml(properties: &BTreeMap<String, String>) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let property = |(name, value): (&String, &String)| {
        let (name, value) = (escape(name), escape(value));
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    format!(
        "<configuration>{}</configuration>",
        properties.iter().map(property).collect::<String>()
    )
}

/// Parses a time of the web services to milliseconds since 1970.
fn moment(value: &Value) -> Option<i64> {
    let text = value.as_str()?.strip_suffix(" GMT")?;
    let parsed = jiff::fmt::strtime::parse("%a, %d %b %Y %H:%M:%S", text).ok()?;
    let moment = parsed.to_datetime().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(moment.timestamp().as_millisecond())
}

impl Reply {
    /// Returns the body as text, or the refusal.
    fn done(self) -> miette::Result<String> {
        self.bytes().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the body as bytes, or the refusal.
    fn bytes(self) -> miette::Result<Vec<u8>> {
        match (self.refusal, self.status) {
            (Some((_, message)), _) => {
                Err(Failure::new(format!("the server refuses: {message}")).into())
            }
            (None, 200..=299) => Ok(self.body),
            (None, 401 | 403) => {
                let failure = Failure::new("the server requires authentication");
                let help = "ANKUS_TOKEN holds a bearer token; user and password can be part of the URL: https://ann:secret@host:11443/oozie. Kerberos \
                            takes the `oozie` client";
                Err(failure.help(help).into())
            }
            (None, status) => Err(Failure::new(format!("the server answered {status}")).into()),
        }
    }
}

impl Server {
    fn new(url: &str) -> miette::Result<Server> {
        let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| {
            ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
        }) else {
            let failure = Failure::new("the URL of a server begins with http:// or https://");
            return Err(failure.help("http://localhost:11000/oozie").into());
        };
        // User and password are sent in the header only.
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, _)) => (Some(user), &rest[user.len() + 1..]),
            None => (None, rest),
        };
        let token = std::env::var("ANKUS_TOKEN").ok().filter(|token| !token.trim().is_empty());
        let authorization = match (token, user) {
            (Some(token), _) => Some(format!("Bearer {}", token.trim())),
            (None, Some(user)) => {
                let user = percent_encoding::percent_decode_str(user).collect::<Vec<u8>>();
                Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user)))
            }
            (None, None) => None,
        };
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // Redirects are not followed: only the given host is contacted.
            .max_redirects(0)
            .build();
        let base = format!("{scheme}://{}", host.trim_end_matches('/'));
        Ok(Server { base, authorization, agent: config.into() })
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        configuration: Option<&BTreeMap<String, String>>,
    ) -> miette::Result<Reply> {
        let mut url = format!("{}/{path}", self.base);
        let user = [("user.name", ankus_project::user())];
        let user = user.iter().filter(|_| self.authorization.is_none());
        for (at, (name, value)) in query.iter().chain(user).enumerate() {
            url.push(if at == 0 { '?' } else { '&' });
            url.push_str(&format!("{name}={}", escaped(value)));
        }
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(&url)
            .header("Content-Type", "application/xml;charset=UTF-8");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let unreachable =
            |why: String| Failure::new(format!("{} does not answer: {why}", self.base));
        let body = configuration.map(xml).unwrap_or_default();
        let request = request.body(body).map_err(|error| unreachable(error.to_string()))?;
        let answer = self.agent.run(request);
        let mut answer = answer.map_err(|error| unreachable(error.to_string()))?;
        let header = |name: &str| {
            answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let status = answer.status().as_u16();
        let refusal = header("oozie-error-code")
            .map(|code| (code.clone(), header("oozie-error-message").unwrap_or(code)))
            .filter(|_| status >= 400);
        let body = answer.body_mut().with_config().limit(LARGEST).read_to_vec();
        let body = body.map_err(|error| unreachable(error.to_string()))?;
        Ok(Reply { status, refusal, body })
    }

    fn get_job(&self, id: &str, query: &[(&str, &str)]) -> miette::Result<String> {
        self.ask_job(id, query)?.done()
    }

    fn ask_job(&self, id: &str, query: &[(&str, &str)]) -> miette::Result<Reply> {
        self.ask("GET", &format!("v2/job/{}", escaped(id)), query, None)
    }

    fn put_job(
        &self,
        id: &str,
        query: &[(&str, &str)],
        configuration: Option<&BTreeMap<String, String>>,
    ) -> miette::Result<String> {
        self.ask("PUT", &format!("v2/job/{}", escaped(id)), query, configuration)?.done()
    }

    /// Resolves an id: `latest` is the job without a parent that was submitted last.
    fn resolve(&self, text: &str) -> miette::Result<String> {
        let (job, action) = match text.split_once('@') {
            Some((job, action)) => (job, format!("@{action}")),
            None => (text, String::new()),
        };
        if job != "latest" {
            return Ok(text.to_owned());
        }
        let (rows, _) = self.rows("", 50)?;
        let is_top = |row: &&Row| {
            row.object["parentId"].as_str().unwrap_or_default().is_empty()
                && row.object["bundleId"].as_str().unwrap_or_default().is_empty()
        };
        match rows.iter().find(is_top) {
            Some(row) => Ok(row.id() + &action),
            None => Err(Failure::new("the server has no job yet").into()),
        }
    }

    /// Returns the newest jobs of all kinds, and their total number.
    fn rows(&self, filter: &str, len: usize) -> miette::Result<(Vec<Row>, u64)> {
        let (mut rows, mut total, mut refusals) = (Vec::new(), 0, Vec::new());
        for kind in &KINDS {
            let len = len.to_string();
            let mut query = vec![("jobtype", kind.jobtype), ("offset", "1"), ("len", &len)];
            if !filter.is_empty() {
                query.push(("filter", filter));
            }
            let reply = self.ask("GET", "v2/jobs", &query, None)?;
            // A filter that one kind of jobs does not support may be valid for others.
            if reply.refusal.as_ref().is_some_and(|(code, _)| code == "E0420") {
                refusals.push(reply);
                continue;
            }
            let object = read(&reply.done()?)?;
            total += object["total"].as_u64().unwrap_or(0);
            let jobs = object[kind.list].as_array().cloned().unwrap_or_default();
            rows.extend(jobs.into_iter().map(|object| Row { kind, object }));
        }
        if refusals.len() == KINDS.len() {
            refusals.remove(0).done()?;
        }
        rows.sort_by_key(|row| std::cmp::Reverse((moment(&row.object["createdTime"]), row.id())));
        Ok((rows, total))
    }

    fn list(
        &self,
        filter: &str,
        len: usize,
        offset: usize,
        format: Format,
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let filter = super::listing::upper_statuses(filter);
        let (rows, total) = self.rows(&filter, (offset - 1).saturating_add(len).max(1))?;
        let page: Vec<Row> = rows.into_iter().skip(offset - 1).take(len).collect();
        if format == Format::Json {
            let mut object = json!({"total": total, "offset": offset, "len": len});
            for kind in &KINDS {
                let of = page.iter().filter(|row| row.kind.list == kind.list);
                object[kind.list] = of.map(|row| row.object.clone()).collect();
            }
            shell.json(&object)?;
            return Ok(Exit::Success);
        }
        for row in &page {
            let created = moment(&row.object["createdTime"]);
            let created = created.map_or("-".to_owned(), |at| object::instant(at)[..19].to_owned());
            let (status, name) = (text(&row.object["status"]), text(&row.object[row.kind.name]));
            shell.line(format!("{status:<10} {created:<19}  {}  {name}", row.id()))?;
        }
        if page.is_empty() {
            shell.say("no jobs");
        }
        Ok(Exit::Success)
    }

    fn show(&self, id: &str, format: Format, shell: &mut Shell) -> miette::Result<Exit> {
        let job = read(&self.get_job(id, &[("show", "info"), ("offset", "1"), ("len", "1000")])?)?;
        if format == Format::Json {
            shell.json(&job)?;
            return Ok(Exit::Success);
        }
        if action::split(id).is_some() {
            action::print(&job, shell)?;
            return Ok(Exit::Success);
        }
        let kind = KINDS.iter().find(|kind| !job[kind.id].is_null()).unwrap_or(&KINDS[0]);
        let field = |name: &str| text(&job[name]);
        let name = if job[kind.name].is_null() { field("name") } else { field(kind.name) };
        shell.line(format!("{} {name} ({})", text(&job[kind.id]), field("status")))?;
        let path = ["appPath", "coordJobPath", "bundleJobPath"].map(|name| &job[name]);
        let path = path.into_iter().find(|path| !path.is_null());
        if let Some(path) = path {
            shell.line(format!("  path     {}", text(path)))?;
        }
        if !job["user"].is_null() {
            shell.line(format!("  user     {}", field("user")))?;
        }
        if kind.jobtype == "wf" && !job["run"].is_null() {
            shell.line(format!("  run      {}", job["run"]))?;
        }
        let (started, ended) = (moment(&job["startTime"]), moment(&job["endTime"]));
        let when = |at: Option<i64>| at.map_or("-".to_owned(), object::instant);
        shell.out(format!("  started  {}\n  ended    {}\n", when(started), when(ended)))?;
        if kind.jobtype == "wf" {
            let took = store::took(started, ended).unwrap_or("-".to_owned());
            shell.line(format!("  took     {took}"))?;
        }
        shell.out("\n")?;
        let actions = ["actions", "bundleCoordJobs"].map(|name| job[name].as_array());
        let actions: Vec<&Value> = actions.into_iter().flatten().flatten().collect();
        let name_of = |action: &Value| {
            let names = ["name", "coordJobName", "actionNumber", "id"].map(|name| &action[name]);
            names.into_iter().find(|name| !name.is_null()).map_or_else(String::new, text)
        };
        let width = actions.iter().map(|action| name_of(action).chars().count()).max().unwrap_or(0);
        let width = width.min(ankus::text::WIDEST);
        for action in actions {
            self.action(action, &name_of(action), width, shell)?;
        }
        Ok(Exit::Success)
    }

    fn action(
        &self,
        action: &Value,
        name: &str,
        width: usize,
        shell: &mut Shell,
    ) -> miette::Result<()> {
        let pad = width.saturating_sub(name.chars().count());
        let kind = match action["type"].as_str() {
            Some(kind) => format!("{:<12} ", kind.trim_matches(':').to_ascii_lowercase()),
            None => String::new(),
        };
        let transition = action["transition"].as_str();
        let target = transition.map_or(String::new(), |to| format!(" -> {to}"));
        let is_control = action["type"].as_str().is_some_and(|kind| kind.starts_with(':'));
        let (started, ended) = (moment(&action["startTime"]), moment(&action["endTime"]));
        let is_under_way = action["status"] == "RUNNING" || ended.is_some();
        let took = store::took(started, ended).filter(|_| !is_control && is_under_way);
        let took = took.map_or(String::new(), |took| format!("  ({took})"));
        let status = text(&action["status"]);
        shell.line(format!("  {name}{:pad$}  {kind}{status}{target}{took}", ""))?;
        if let (Some(code), Some(message)) =
            (action["errorCode"].as_str(), action["errorMessage"].as_str())
        {
            let message = store::without_code(code, message);
            shell.out(hanging(&format!("    {code}: "), message) + "\n")?;
        }
        for line in action["data"].as_str().unwrap_or_default().lines() {
            shell.line(format!("    {line}"))?;
        }
        Ok(())
    }

    fn log(&self, arguments: &log::Arguments, shell: &mut Shell) -> miette::Result<Exit> {
        let id = self.resolve(&arguments.id)?;
        if arguments.node.is_some() {
            let failure = Failure::new("a server has no log of one node");
            return Err(failure.help("`--logfilter text=NODE` shows lines that name it").into());
        }
        let show = match (arguments.errors, arguments.audit) {
            (true, _) => "errorlog",
            (_, true) => "auditlog",
            _ => "log",
        };
        let mut query = vec![("show", show)];
        // An action of a coordinator: `ID@3`.
        let (job, number) = id.split_once('@').map_or((id.as_str(), None), |(a, b)| (a, Some(b)));
        if let Some(number) = number {
            query.extend([("type", "action"), ("scope", number)]);
        }
        if !arguments.logfilter.is_empty() {
            query.push(("logfilter", &arguments.logfilter));
        }
        shell.out(self.get_job(job, &query)?)?;
        Ok(Exit::Success)
    }

    fn graph(
        &self,
        id: &str,
        format: graph::Format,
        output: Option<&Path>,
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let form = match format {
            graph::Format::Dot => "dot",
            graph::Format::Svg => "svg",
            graph::Format::Png => "png",
            _ => return Err(Failure::new("a server draws `dot`, `svg` and `png`").into()),
        };
        graph::may_print(format, output)?;
        let query = [("show", "graph"), ("format", form), ("show-kill", "true")];
        let picture = self.ask_job(&self.resolve(id)?, &query)?.bytes()?;
        // Servers that do not support a format send another.
        let begins = |start: &[u8]| picture.trim_ascii_start().starts_with(start);
        if form == "png" && !begins(b"\x89PNG") {
            return Err(Failure::new("the answer of the server is not a PNG").into());
        }
        match output {
            Some(path) => write::file(path, &picture)?,
            None => shell.out(String::from_utf8_lossy(&picture).into_owned())?,
        }
        Ok(Exit::Success)
    }

    fn purge(&self, days: u32, shell: &mut Shell) -> miette::Result<Exit> {
        let days = days.to_string();
        let ages = [("wf", days.as_str()), ("coord", &days), ("bundle", &days)];
        let said = read(&self.ask("PUT", "v2/admin/purge", &ages, None)?.done()?)?;
        shell.say(said["purge"].as_str().unwrap_or("purged"));
        Ok(Exit::Success)
    }

    fn status(&self, id: &str) -> miette::Result<String> {
        Ok(text(&read(&self.get_job(id, &[("show", "status")])?)?["status"]))
    }

    /// Sends a command and waits until it takes effect.
    fn steer(
        &self,
        id: &str,
        query: &[(&str, &str)],
        wanted: &str,
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let id = self.resolve(id)?;
        self.put_job(&id, query, None)?;
        let since = Instant::now();
        let mut pause = Duration::from_millis(50);
        let status = loop {
            let status = self.status(&id)?;
            // A coordinator with failed actions has a status with `WITHERROR`.
            let is_there = status.trim_end_matches("WITHERROR").ends_with(wanted);
            let is_over = ENDS.contains(&status.as_str());
            if is_there || is_over || since.elapsed() > store::PATIENCE {
                break status;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_secs(2));
        };
        shell.line(format!("{status} {id}"))?;
        Ok(Exit::fault_if(!status.trim_end_matches("WITHERROR").ends_with(wanted)))
    }

    /// Sends a command that is complete with its answer.
    fn commanded(
        &self,
        id: &str,
        query: &[(&str, &str)],
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let id = self.resolve(id)?;
        self.put_job(&id, query, None)?;
        shell.line(format!("{} {id}", self.status(&id)?))?;
        Ok(Exit::Success)
    }

    /// Sends a command for actions of a coordinator, and lists them.
    fn actions(&self, id: &str, query: &[(&str, &str)], shell: &mut Shell) -> miette::Result<Exit> {
        let id = self.resolve(id)?;
        let answer = self.put_job(&id, query, None)?;
        if answer.trim().is_empty() {
            shell.line(format!("{} {id}", self.status(&id)?))?;
            return Ok(Exit::Success);
        }
        let answer = read(&answer)?;
        for action in answer["actions"].as_array().into_iter().flatten() {
            shell.line(format!("{} {}", text(&action["status"]), text(&action["id"])))?;
        }
        Ok(Exit::Success)
    }

    fn resume_all(&self, shell: &mut Shell) -> miette::Result<Exit> {
        let mut resumed = 0;
        for kind in KINDS.iter().rev() {
            let (rows, _) = self.rows("status=SUSPENDED", 1_000)?;
            for row in rows.iter().filter(|row| row.kind.list == kind.list) {
                self.put_job(&row.id(), &[("action", "resume")], None)?;
                resumed += 1;
            }
        }
        shell.say(format!("{} resumed", counted(resumed)));
        Ok(Exit::Success)
    }

    #[expect(clippy::too_many_arguments, reason = "the arguments of the command")]
    fn rerun(
        &self,
        id: &str,
        failed: bool,
        skip: Option<String>,
        define: Vec<(String, String)>,
        scope: &Scope,
        again: &Again,
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let id = self.resolve(id)?;
        let yes = |is: bool| if is { "true" } else { "false" };
        let (refresh, nocleanup) = (yes(again.refresh), yes(again.nocleanup));
        let mut configuration: BTreeMap<String, String> = define.into_iter().collect();
        if id.ends_with("-B") {
            let mut query = vec![("action", "bundle-rerun"), ("refresh", refresh)];
            query.push(("nocleanup", nocleanup));
            query.extend(again.coordinator.as_deref().map(|names| ("coord-scope", names)));
            query.extend(scope.date.as_deref().map(|dates| ("date-scope", dates)));
            return self.actions(&id, &query, shell);
        }
        if id.ends_with("-C") {
            let Some((kind, scope)) = pair(scope) else {
                let failure = Failure::new("which actions of the coordinator?");
                return Err(failure.help("--action or --date names them").into());
            };
            let query = [
                ("action", "coord-rerun"),
                ("type", kind),
                ("scope", scope),
                ("refresh", refresh),
                ("nocleanup", nocleanup),
                ("failed", yes(failed)),
            ];
            return self.actions(&id, &query, shell);
        }
        let mut put = |name: &str, value: String| {
            configuration.entry(format!("oozie.wf.rerun.{name}")).or_insert(value);
        };
        match skip {
            Some(nodes) => put("skip.nodes", nodes),
            None if failed => put("failnodes", "true".to_owned()),
            // All nodes run again.
            None => put("skip.nodes", String::new()),
        }
        let user = ankus_project::user();
        configuration.entry("user.name".to_owned()).or_insert_with(|| user.to_owned());
        let query = [("action", "rerun"), ("user", user)];
        self.put_job(&id, &query, Some(&configuration))?;
        shell.line(format!("{} {id}", self.status(&id)?))?;
        Ok(Exit::Success)
    }

    fn update(
        &self,
        id: &str,
        path: &str,
        properties: &PropertyArguments,
        (diff, dry_run): (bool, bool),
        shell: &mut Shell,
    ) -> miette::Result<Exit> {
        let id = self.resolve(id)?;
        if !properties.files.is_empty() {
            let failure = Failure::new("`--properties` is for a store of this machine");
            return Err(failure.help("-D NAME=VALUE gives a property").into());
        }
        let mut configuration: BTreeMap<String, String> =
            properties.define.iter().cloned().collect();
        // The path by which the server finds it.
        configuration.insert("oozie.coord.application.path".to_owned(), path.to_owned());
        let user = ankus_project::user().to_owned();
        configuration.entry("user.name".to_owned()).or_insert(user);
        let yes = |is: bool| if is { "true" } else { "false" };
        let query = [("action", "update"), ("dryrun", yes(dry_run)), ("diff", yes(diff))];
        let answer = read(&self.put_job(&id, &query, Some(&configuration))?)?;
        let difference = answer["update"]["diff"].as_str().unwrap_or_default();
        if !difference.is_empty() {
            shell.out(format!("{}\n", difference.trim_end()))?;
        }
        Ok(Exit::Success)
    }

    fn retries(&self, id: &str, node: &str, shell: &mut Shell) -> miette::Result<Exit> {
        let id = format!("{}@{node}", self.resolve(id)?);
        let answer = read(&self.get_job(&id, &[("show", "retries")])?)?;
        for attempt in answer["retries"].as_array().into_iter().flatten() {
            let field = |name: &str| text(&attempt[name]);
            shell.line(format!(
                "{}  {}  {}",
                field("attempt"),
                field("startTime"),
                field("endTime")
            ))?;
        }
        Ok(Exit::Success)
    }
}

/// A job in a list.
struct Row {
    kind: &'static Kind,
    object: Value,
}

impl Row {
    fn id(&self) -> String {
        text(&self.object[self.kind.id])
    }
}

/// Formats a field.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
