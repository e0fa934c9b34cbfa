//! Compares `ankus lsp` with a general language server for XML, which gets the same edits in the same run.
//!
//! The texts are the workflow of `ANKUS_CORPUS` whose length is nearest to that of the published figures, generated
//! ones of 5,000 nodes, and a folder of 1,000 applications. `LEMMINX` names the jar of lemminx, which is started with
//! Java and the schemas of `ANKUS_SCHEMAS`; without it, ankus is measured alone. The figures are the times from the
//! start and from an edit to the first findings of the text, the time of a completion, and the peak memory of a server.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Number of lines of the workflow of the published figures.
const LINES: usize = 1_025;
const NODES: usize = 5_000;
const APPLICATIONS: usize = 1_000;
/// Number of times that a letter is typed and removed again.
const EDITS: usize = 100;
/// Time-out of each step.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints the figures of all available servers.
pub(crate) fn run(ankus: &Path, corpus: &Path, schemas: &Path) -> Result<(), String> {
    let room = std::env::temp_dir().join(format!("ankus-bench-{}", std::process::id()));
    let outcome = all(ankus, corpus, schemas, &room);
    let _ = std::fs::remove_dir_all(&room);
    outcome
}

fn all(ankus: &Path, corpus: &Path, schemas: &Path, room: &Path) -> Result<(), String> {
    let mut texts = Vec::new();
    match of_length(corpus) {
        Some(text) => texts.push((format!("{} lines", text.lines().count()), text)),
        None => eprintln!("skipped: no workflow is below {}", corpus.display()),
    }
    texts.push((format!("chain of {NODES}"), made_up(false)));
    texts.push((format!("{NODES} with forks and decisions"), made_up(true)));
    let jar = std::env::var_os("LEMMINX").map(PathBuf::from);
    if jar.is_none() {
        eprintln!("skipped: lemminx; LEMMINX names its jar");
    }
    for (name, text) in &texts {
        let mut lsp = Command::new(ankus);
        lsp.arg("lsp");
        eprintln!("ankus lsp, {name}: {}", measured(&mut lsp, &Value::Null, text, room)?);
        let Some(jar) = &jar else { continue };
        let mut lemminx = Command::new("java");
        lemminx.arg("-Xmx256m").arg("-jar").arg(jar);
        let file = json!([{"systemId": schemas, "pattern": "**/workflow.xml"}]);
        let settings = json!({"settings": {"xml": {"fileAssociations": file}}});
        eprintln!("lemminx, {name}: {}", measured(&mut lemminx, &settings, text, room)?);
    }
    workspace(ankus, room)
}

/// Returns the workflow whose length is nearest to that of the published figures.
fn of_length(corpus: &Path) -> Option<String> {
    let mut files = Vec::new();
    super::peers::collect(corpus, &mut files);
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.min_by_key(|text| text.lines().count().abs_diff(LINES))
}

/// Generates a workflow with that many nodes: a chain, or with a fork and a decision in each group of nine.
fn made_up(is_branched: bool) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"made-up\">\n  <start to=\"n0\"/>\n",
    );
    let action = |text: &mut String, at: usize, to: usize| {
        let body = "<fs><mkdir path=\"hdfs://nn/data/day\"/></fs>";
        let _ = writeln!(
            text,
            "  <action name=\"n{at}\">\n    {body}\n    <ok to=\"n{to}\"/>\n    <error to=\"failed\"/>\n  </action>"
        );
    };
    let mut at = 0;
    while at < NODES {
        if !is_branched {
            action(&mut text, at, at + 1);
            at += 1;
            continue;
        }
        let [one, two, join, choice, left, right, next] =
            [at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7];
        let _ = writeln!(
            text,
            "  <fork name=\"n{at}\">\n    <path start=\"n{one}\"/>\n    <path start=\"n{two}\"/>\n  </fork>"
        );
        action(&mut text, one, join);
        action(&mut text, two, join);
        let _ = writeln!(text, "  <join name=\"n{join}\" to=\"n{choice}\"/>");
        let _ = writeln!(
            text,
            "  <decision name=\"n{choice}\">\n    <switch>\n      <case to=\"n{left}\">${{wf:conf('mode') eq 'full'}}</case>\n      \
             <default to=\"n{right}\"/>\n    </switch>\n  </decision>"
        );
        action(&mut text, left, next);
        action(&mut text, right, next);
        action(&mut text, next, next + 1);
        at = next + 1;
    }
    let _ = write!(
        text,
        "  <action name=\"n{at}\"><fs><mkdir path=\"hdfs://nn/end\"/></fs><ok to=\"end\"/><error to=\"failed\"/></action>\n  \
         <kill name=\"failed\"><message>${{wf:errorMessage(wf:lastErrorNode())}}</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n"
    );
    text
}

/// A language server, as seen by its client.
struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<(Instant, Value)>,
    asked: u64,
}

impl Server {
    fn start(command: &mut Command) -> Result<Server, String> {
        let spawned =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = spawned.map_err(|why| format!("{command:?} does not start: {why}"))?;
        let input = child.stdin.take().ok_or("no input")?;
        let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = message(&mut output) {
                if sender.send((Instant::now(), message)).is_err() {
                    return;
                }
            }
        });
        Ok(Server { child, input, messages, asked: 0 })
    }

    fn send(&mut self, mut message: Value) -> Result<(), String> {
        message["jsonrpc"] = json!("2.0");
        let body = message.to_string();
        let sent = write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len());
        sent.and_then(|()| self.input.flush()).map_err(|why| format!("the server is gone: {why}"))
    }

    fn tell(&mut self, method: &str, params: Value) -> Result<(), String> {
        self.send(json!({"method": method, "params": params}))
    }

    /// Waits for a message that satisfies a condition; returns its time.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Instant, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (at, message) =
                self.messages.recv_timeout(left).map_err(|_| "the server does not answer")?;
            if message.get("method").is_some()
                && let Some(id) = message.get("id")
            {
                self.send(json!({"id": id, "result": null}))?;
            }
            if is_it(&message) {
                return Ok(at);
            }
        }
    }

    /// Returns how long an answer takes.
    fn ask(&mut self, method: &str, params: Value) -> Result<Duration, String> {
        self.asked += 1;
        let id = self.asked;
        let begun = Instant::now();
        self.send(json!({"id": id, "method": method, "params": params}))?;
        let is_answer = |message: &Value| message["id"] == id && message.get("method").is_none();
        Ok(self.until(is_answer)?.duration_since(begun))
    }

    fn initialize(&mut self, folder: &Path, settings: &Value) -> Result<(), String> {
        let root = uri(folder);
        let folders = json!([{"uri": root, "name": "bench"}]);
        let can = json!({"workspace": {"workspaceFolders": true}, "textDocument": {"publishDiagnostics": {"versionSupport": true}}});
        let params = json!({"processId": null, "rootUri": root, "workspaceFolders": folders, "capabilities": can, "initializationOptions": settings});
        self.ask("initialize", params)?;
        self.tell("initialized", json!({}))
    }

    /// Returns the peak memory in megabytes, if the system reports it.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes / 1_024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn message(from: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Measures a server on one text; returns a line of figures.
fn measured(
    command: &mut Command,
    settings: &Value,
    text: &str,
    room: &Path,
) -> Result<String, String> {
    let folder = room.join("one");
    std::fs::create_dir_all(&folder).map_err(|why| why.to_string())?;
    let file = folder.join("workflow.xml");
    std::fs::write(&file, text).map_err(|why| why.to_string())?;
    let uri = uri(&file);
    let begun = Instant::now();
    let mut server = Server::start(command)?;
    server.initialize(&folder, settings)?;
    let published = |version: Option<i64>| {
        let uri = uri.clone();
        move |message: &Value| {
            let params = &message["params"];
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                // Not every server states the version of its findings.
                && (params.get("version").is_none() || version.is_none_or(|version| params["version"] == version))
        }
    };
    let document = json!({"uri": uri, "languageId": "xml", "version": 1, "text": text});
    server.tell("textDocument/didOpen", json!({"textDocument": document}))?;
    let first = server.until(published(Some(1)))?.duration_since(begun);

    let mut version = 1;
    let mut edits = Vec::new();
    let places: Vec<(usize, usize)> = text
        .lines()
        .enumerate()
        .filter_map(|(line, words)| Some((line, words.find(" to=\"").map(|at| at + 6)?)))
        .collect();
    // All over the text, at the same positions for every server.
    for at in (0..EDITS).map(|turn| places[turn * 7_919 % places.len()]) {
        for (end, letter) in [(at.1, "q"), (at.1 + 1, "")] {
            // A full check may still be running after the last answer, as while a user types.
            std::thread::sleep(Duration::from_millis(100));
            version += 1;
            let range = json!({"start": {"line": at.0, "character": at.1}, "end": {"line": at.0, "character": end}});
            let change = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"range": range, "text": letter}]});
            let begun = Instant::now();
            server.tell("textDocument/didChange", change)?;
            edits.push(server.until(published(Some(version)))?.duration_since(begun));
        }
    }
    let mut completions = Vec::new();
    for at in places.iter().step_by(places.len().div_ceil(50)) {
        let place = json!({"line": at.0, "character": at.1});
        let params = json!({"textDocument": {"uri": uri}, "position": place});
        completions.push(server.ask("textDocument/completion", params)?);
    }
    let memory = server.memory().map(|memory| format!(", at most {memory} MB")).unwrap_or_default();
    Ok(format!(
        "start to findings {:.0} ms; edit to findings {}; completion {}{memory}",
        super::peers::millis(first),
        spread(edits),
        spread(completions)
    ))
}

fn spread(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |share: usize| {
        super::peers::millis(times[(times.len() * share / 100).min(times.len() - 1)])
    };
    format!("{:.1} ms (p99 {:.1})", at(50), at(99))
}

/// Measures how long it takes to load a folder of many applications.
fn workspace(ankus: &Path, room: &Path) -> Result<(), String> {
    let folder = room.join("many");
    for at in 0..APPLICATIONS {
        let application = folder.join(format!("app{at}"));
        std::fs::create_dir_all(&application).map_err(|why| why.to_string())?;
        let definition = format!(
            "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"app{at}\">\n  <start to=\"copy{at}\"/>\n  \
             <action name=\"copy{at}\">\n    <fs><mkdir path=\"${{nameNode}}/data/{at}\"/></fs>\n    <ok to=\"end\"/>\n    \
             <error to=\"failed\"/>\n  </action>\n  <kill name=\"failed\"><message>m</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n"
        );
        let properties = format!(
            "nameNode=hdfs://nn:8020\noozie.wf.application.path=${{nameNode}}/apps/app{at}\n"
        );
        let write = |name: &str, text: String| std::fs::write(application.join(name), text);
        write("workflow.xml", definition)
            .and_then(|()| write("job.properties", properties))
            .map_err(|why| why.to_string())?;
    }
    let begun = Instant::now();
    let mut server = Server::start(Command::new(ankus).arg("lsp"))?;
    server.initialize(&folder, &Value::Null)?;
    // Answered only once the whole folder was read.
    server.ask("workspace/symbol", json!({"query": "copy999"}))?;
    let ready = begun.elapsed();
    std::thread::sleep(Duration::from_secs(3));
    let memory = server.memory().map(|memory| format!(", at most {memory} MB")).unwrap_or_default();
    eprintln!(
        "ankus lsp, {APPLICATIONS} applications: ready in {:.0} ms{memory}",
        super::peers::millis(ready)
    );
    Ok(())
}
