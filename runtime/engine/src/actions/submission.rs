//! Submits a map-reduce job and waits for its end.
//!
//! `hadoop job -submit` returns as soon as the job is accepted, so that its exit code says nothing about the job. It is
//! therefore run by a small process, this same binary called with [`WAIT`], which polls the job until it has ended,
//! prints its status as the tool itself would, writes the counters, and exits with the outcome of the job. It is part
//! of the action's program and is stopped with it; the job is found by its tag.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "it is a program of an action, and its streams are those of the action"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use super::cluster::{self, Trace};
use super::together::Together;
use crate::host::yarn::{Application, ResourceManager};
use serde_json::{Map, Value, json};

/// The hidden argument with which this binary submits a job and waits for it: the client and its arguments follow.
pub const WAIT: &str = "__wait";
/// The equivalent shell script for other machines, which do not have this binary: the client and its arguments follow.
pub const FOLLOW: &str = concat!(include_str!("configure.sh"), include_str!("follow.sh"));
/// Shell functions that run the class of [`CONFIG_CLASS`].
const CONFIGURE: &str = include_str!("configure.sh");
/// The variable that names the `<config-class>` of a job.
pub const CONFIG_CLASS: &str = "ANKUS_CONFIG_CLASS";
/// The file with the configuration as changed by such a class, in the folder of the action's files.
pub const CONFIGURED: &str = "ankus-configured.xml";
/// The variable with the path of the file for the counters.
pub const COUNTERS: &str = "ANKUS_COUNTERS";
/// The default folder of a cluster in which jobs store their history.
const HISTORY: &str = "/tmp/hadoop-yarn/staging/history/done_intermediate";
/// Maximum number of consecutive failures to query the state of a job.
const MOST_FAILURES: u32 = 20;
/// The first and the longest pause between two queries. A client needs a second of CPU time for each.
const PAUSES: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(15));
/// Maximum size of the client's output that is searched for ids, in bytes.
const KEPT: usize = 1 << 20;

/// The status of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Status {
    /// `PREP`, `RUNNING`, `SUCCEEDED`, `FAILED`, `KILLED`.
    state: String,
    /// Why it failed.
    reason: String,
}

impl Status {
    /// The status of a job whose application has ended.
    fn of(application: &Application) -> Status {
        let state = match (application.state.as_str(), application.final_status.as_str()) {
            ("FINISHED", status) => status,
            (state, _) => state,
        };
        Status { state: state.to_owned(), reason: application.diagnostics.trim().to_owned() }
    }

    /// Says how a job ended, in one line.
    fn sentence(&self, id: &str) -> String {
        let reason = self.reason.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason: Vec<&str> = reason.collect();
        let reason = reason.join("; ");
        let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
        format!("the job {id} ended {}{reason}", self.state)
    }
}

/// Runs a client that submits a job and waits for the job's end, which the client itself may not do. The exit code is 0 only
/// if the job succeeded; 1 if it did not; that of the client if it failed; 2 if the outcome is unknown.
pub fn wait(words: &[String]) -> ExitCode {
    let Some((client, arguments)) = words.split_first() else { return ExitCode::from(2) };
    if std::env::var_os(CONFIG_CLASS).is_some() && !is_configured(client) {
        return ExitCode::from(1);
    }
    let (code, said) = match run(client, arguments) {
        Ok(done) => done,
        Err(error) => {
            eprintln!("{client}: {error}");
            return ExitCode::from(1);
        }
    };
    // The clients of streaming and pipes wait themselves, and their exit code is that of the job.
    let has_waited = !matches!(arguments, [job, ..] if job == "job");
    let trace = configuration_file().and_then(|file| cluster::trace(file.parent()?));
    let trace = trace.unwrap_or_default();
    let (client, job) = (Client { program: client, trace }, job_id(&said));
    if code != 0 {
        if has_waited {
            client.explain(job);
        }
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    let named = job.or_else(|| {
        let found = client.tagged()?;
        // The client has not logged the id of the job.
        println!("[the job is {found}]");
        Some(found)
    });
    let Some(id) = named else {
        let why = format!("{} printed no id of a job", client.program);
        match has_waited {
            true => eprintln!("[{why}, so its counters are not known]"),
            false => eprintln!("{why}, so it is unknown whether one was submitted"),
        }
        return if has_waited { ExitCode::SUCCESS } else { ExitCode::from(2) };
    };
    if id.starts_with("job_local") {
        if has_waited {
            return ExitCode::SUCCESS;
        }
        eprintln!(
            "the job {id} was to run in the client itself, which ended first; name a resource manager"
        );
        return ExitCode::from(1);
    }
    match client.ended(&id) {
        Some(Status { state, .. }) if state == "SUCCEEDED" => ExitCode::SUCCESS,
        Some(status) => {
            eprintln!("{}", status.sentence(&id));
            ExitCode::from(1)
        }
        None => {
            eprintln!("the job {id} is no longer known");
            ExitCode::from(2)
        }
    }
}

/// Returns the path of the action's merged configuration, which every program gets in its environment.
fn configuration_file() -> Option<PathBuf> {
    std::env::var_os("OOZIE_ACTION_CONF_XML").map(PathBuf::from)
}

/// Runs the job's class that changes its configuration. Its output and errors go to our own streams.
fn is_configured(client: &str) -> bool {
    let Some(file) = configuration_file() else { return false };
    let script = format!("{CONFIGURE}configure \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "configure", client]).arg(file).arg(CONFIGURED);
    match command.stdin(Stdio::null()).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("sh: {error}");
            false
        }
    }
}

/// Runs the client and copies its output to our own streams.
fn run(client: &str, arguments: &[String]) -> std::io::Result<(i32, String)> {
    let mut child = Command::new(client)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let errors = child
        .stderr
        .take()
        .map(|stream| std::thread::spawn(move || passed_on(stream, &mut std::io::stderr().lock())));
    let mut said = match child.stdout.take() {
        Some(stream) => passed_on(stream, &mut std::io::stdout().lock()),
        None => String::new(),
    };
    if let Some(text) = errors.and_then(|thread| thread.join().ok()) {
        said.push('\n');
        said.push_str(&text);
    }
    Ok((child.wait()?.code().unwrap_or(1), said))
}

fn passed_on(stream: impl Read, out: &mut impl Write) -> String {
    let mut kept = String::new();
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while matches!(stream.read_until(b'\n', &mut line), Ok(read) if read > 0) {
        // The reader may be gone; the job goes on all the same.
        let _ = out.write_all(&line).and_then(|()| out.flush());
        if kept.len() < KEPT {
            kept.push_str(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
    kept
}

/// Finds the id of the submitted job in the output of a client.
fn job_id(text: &str) -> Option<String> {
    let ids = text.match_indices("job_").filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let rest = &text[at + 4..];
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(rest.len());
        // A job that runs in the client itself: job_local1234_0001.
        let (local, digits) = match rest.strip_prefix("local") {
            Some(after) => {
                let end = after.find(|c: char| !(c.is_ascii_digit() || c == '_'));
                ("local", &after[..end.unwrap_or(after.len())])
            }
            None => ("", &rest[..end]),
        };
        let (cluster, number) = digits.split_once('_')?;
        let number = number.split('_').next()?;
        let is_word = before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let is_id = is_word && !cluster.is_empty() && number.len() >= 4;
        is_id.then(|| format!("job_{local}{cluster}_{number}"))
    });
    ids.last()
}

/// A client that can query jobs, and the trace by which they are found without it.
struct Client<'a> {
    program: &'a str,
    trace: Trace,
}

impl Client<'_> {
    fn manager(&self) -> ResourceManager<'_> {
        self.trace.manager()
    }

    /// Says which job failed and why, after a client that waited for it and may have told neither.
    fn explain(&self, job: Option<String>) {
        let Some(id) = job.or_else(|| self.tagged()) else { return };
        let application = id.replacen("job_", "application_", 1);
        if let Ok(told) = self.manager().application(&application)
            && told.is_over()
        {
            eprintln!("{}", Status::of(&told).sentence(&id));
        }
    }

    /// Returns the job with the tag of this attempt.
    fn tagged(&self) -> Option<String> {
        let apps = self.manager().tagged(&self.trace.tag).ok()?;
        let newest = apps.into_iter().max_by(|a, b| a.id.cmp(&b.id))?;
        newest.id.strip_prefix("application_").map(|rest| format!("job_{rest}"))
    }

    /// Waits until a job has ended, and writes its counters.
    fn ended(&self, id: &str) -> Option<Status> {
        let manager = self.manager();
        let application = id.replacen("job_", "application_", 1);
        // If the web services cannot be reached, the client is used.
        let Ok(mut told) = manager.application(&application) else { return self.asked(id) };
        let attempt = configuration_file().and_then(|file| Some(file.parent()?.to_owned()));
        let together = attempt.and_then(|attempt| Together::of(&attempt, &self.trace));
        let (mut failures, mut pause) = (0, PAUSES.0);
        while !told.is_over() {
            std::thread::sleep(pause);
            if let Some(together) = &together {
                let (runs, next) = together.runs(&self.trace, &application);
                pause = next;
                if runs {
                    continue;
                }
            }
            match manager.application(&application) {
                Ok(now) => (told, failures) = (now, 0),
                Err(fault) if failures < MOST_FAILURES => {
                    failures += 1;
                    eprintln!("{fault}; it is asked again");
                }
                Err(_) => return self.asked(id),
            }
        }
        let status = Status::of(&told);
        if status.state == "SUCCEEDED" {
            self.write_counters(id, &told.user);
        }
        Some(status)
    }

    /// Waits until a job has ended, by calling the client.
    fn asked(&self, id: &str) -> Option<Status> {
        let (mut pause, mut failures) = (PAUSES.0, 0);
        loop {
            let text = self.says(&["job", "-status", id]);
            match text.and_then(|text| Some((status(&text)?, text))) {
                Some((status, text)) => {
                    failures = 0;
                    if matches!(status.state.as_str(), "SUCCEEDED" | "FAILED" | "KILLED") {
                        println!("{text}");
                        keep(&counters(&text));
                        return Some(status);
                    }
                }
                None => {
                    failures += 1;
                    if failures >= MOST_FAILURES {
                        return None;
                    }
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(PAUSES.1);
        }
    }

    /// Runs a command of the client. Returns its output if it succeeded.
    fn says(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new(self.program);
        let done = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let done = done.ok().filter(|done| done.status.success())?;
        Some(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Writes the counters of a job that has succeeded. They are in its history, which the history server moves away at
    /// some time and serves from then on.
    fn write_counters(&self, id: &str, user: &str) {
        let folder = match self.trace.history.as_str() {
            "" => HISTORY,
            named => named,
        };
        // The client may not look into the folders of other users.
        let user = if user.is_empty() { "*" } else { user };
        let history = format!("{folder}/{user}/{id}-*.jhist");
        let found = self
            .says(&["fs", "-cat", &history])
            .and_then(|text| counters_of_history(&text))
            .or_else(|| {
                let text = self.says(&["job", "-status", id])?;
                text.contains("Counters:").then(|| counters(&text))
            });
        match found {
            Some(counters) => keep(&counters),
            None => {
                eprintln!(
                    "the counters of the job {id} are neither in {folder} nor known to the client"
                );
            }
        }
    }
}

/// Parses the counters in the history of a job: it has one event per line, and the last with counters has the totals.
fn counters_of_history(text: &str) -> Option<Value> {
    let mut events = text.lines().filter(|line| line.contains("totalCounters"));
    let event: Value = serde_json::from_str(events.next_back()?).ok()?;
    let (_, event) = event.get("event")?.as_object()?.iter().next()?;
    let groups = event.get("totalCounters")?.get("groups")?.as_array()?;
    let named = |value: &Value| value.get("name")?.as_str().map(str::to_owned);
    let groups = groups.iter().filter_map(|group| {
        let counts = group.get("counts")?.as_array()?.iter();
        let counts = counts.filter_map(|count| Some((named(count)?, count.get("value")?.clone())));
        Some((named(group)?, counts.collect()))
    });
    Some(as_expressions_see(groups.collect()))
}

/// Converts the counters that [`FOLLOW`] returns to the form in which expressions read them: from an event of the
/// history, or from the output of the client. Counters that have this form already stay as they are.
pub fn read_counters(text: String) -> Option<String> {
    if text.contains("\"totalCounters\"") {
        return counters_of_history(&text).map(|counters| counters.to_string());
    }
    match text.trim_start().starts_with('{') {
        true => Some(text),
        false => text.contains("Counters:").then(|| counters(&text).to_string()),
    }
}

fn keep(counters: &Value) {
    let Some(path) = std::env::var_os(COUNTERS) else { return };
    let counters = counters.to_string();
    if let Err(error) = ankus_procedure::private::write(std::path::Path::new(&path), counters) {
        eprintln!("the counters of the job cannot be written: {error}");
    }
}

fn status(text: &str) -> Option<Status> {
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    };
    let reason = field("reason for failure").or_else(|| field("failure info"));
    Some(Status { state: field("Job state")?, reason: reason.unwrap_or_default() })
}

/// Parses the counters that a client prints, for expressions: `hadoop:counters('n')['GROUP']['NAME']`.
///
/// Clients print display names, which are mapped to the names in programs. Custom counters of a job are printed by
/// name.
fn counters(text: &str) -> Value {
    let mut groups: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut lines = text.lines().skip_while(|line| !line.trim().starts_with("Counters:"));
    lines.next();
    let mut group = String::new();
    for line in lines {
        let depth = line.bytes().take_while(|byte| *byte == b'\t').count();
        let text = line.trim_matches(['\t', '\r']);
        match (depth, text.rsplit_once('=')) {
            (1, None) if !text.is_empty() => group = group_name(text).to_owned(),
            (2.., Some((name, value))) => {
                let Ok(value) = value.trim().parse::<i64>() else { continue };
                let name = counter_name(&group, name);
                groups.entry(group.clone()).or_default().insert(name, json!(value));
            }
            _ => {}
        }
    }
    as_expressions_see(groups)
}

fn as_expressions_see(mut groups: BTreeMap<String, Map<String, Value>>) -> Value {
    // Expressions in the specification use the older name of this group.
    if let Some(tasks) = groups.get(TASKS) {
        groups.insert("org.apache.hadoop.mapred.Task$Counter".to_owned(), tasks.clone());
    }
    let mut all: Map<String, Value> =
        groups.into_iter().map(|(name, counters)| (name, Value::Object(counters))).collect();
    all.insert("ACTION_TYPE".to_owned(), json!("MAP_REDUCE"));
    Value::Object(all)
}

const TASKS: &str = "org.apache.hadoop.mapreduce.TaskCounter";
const JOBS: &str = "org.apache.hadoop.mapreduce.JobCounter";
const FILES: &str = "org.apache.hadoop.mapreduce.FileSystemCounter";

fn group_name(shown: &str) -> &str {
    match shown.trim_end() {
        "Map-Reduce Framework" => TASKS,
        "Job Counters" => JOBS,
        "File System Counters" => FILES,
        "File Input Format Counters" => {
            "org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter"
        }
        "File Output Format Counters" => {
            "org.apache.hadoop.mapreduce.lib.output.FileOutputFormatCounter"
        }
        other => other,
    }
}

fn counter_name(group: &str, shown: &str) -> String {
    let known = match (group, shown) {
        (TASKS, "Input split bytes") => "SPLIT_RAW_BYTES",
        (TASKS, "Failed Shuffles") => "FAILED_SHUFFLE",
        (TASKS, "GC time elapsed (ms)") => "GC_TIME_MILLIS",
        (TASKS, "CPU time spent (ms)") => "CPU_MILLISECONDS",
        (TASKS, "Physical memory (bytes) snapshot") => "PHYSICAL_MEMORY_BYTES",
        (TASKS, "Virtual memory (bytes) snapshot") => "VIRTUAL_MEMORY_BYTES",
        (TASKS, "Total committed heap usage (bytes)") => "COMMITTED_HEAP_BYTES",
        (TASKS, "Peak Map Physical memory (bytes)") => "MAP_PHYSICAL_MEMORY_BYTES_MAX",
        (TASKS, "Peak Map Virtual memory (bytes)") => "MAP_VIRTUAL_MEMORY_BYTES_MAX",
        (TASKS, "Peak Reduce Physical memory (bytes)") => "REDUCE_PHYSICAL_MEMORY_BYTES_MAX",
        (TASKS, "Peak Reduce Virtual memory (bytes)") => "REDUCE_VIRTUAL_MEMORY_BYTES_MAX",
        (JOBS, "Launched map tasks") => "TOTAL_LAUNCHED_MAPS",
        (JOBS, "Launched reduce tasks") => "TOTAL_LAUNCHED_REDUCES",
        (JOBS, "Failed map tasks") => "NUM_FAILED_MAPS",
        (JOBS, "Failed reduce tasks") => "NUM_FAILED_REDUCES",
        (JOBS, "Killed map tasks") => "NUM_KILLED_MAPS",
        (JOBS, "Killed reduce tasks") => "NUM_KILLED_REDUCES",
        (JOBS, "Other local map tasks") => "OTHER_LOCAL_MAPS",
        (JOBS, "Data-local map tasks") => "DATA_LOCAL_MAPS",
        (JOBS, "Rack-local map tasks") => "RACK_LOCAL_MAPS",
        (JOBS, "Total time spent by all maps in occupied slots (ms)") => "SLOTS_MILLIS_MAPS",
        (JOBS, "Total time spent by all reduces in occupied slots (ms)") => "SLOTS_MILLIS_REDUCES",
        (JOBS, "Total time spent by all map tasks (ms)") => "MILLIS_MAPS",
        (JOBS, "Total time spent by all reduce tasks (ms)") => "MILLIS_REDUCES",
        (JOBS, "Total vcore-milliseconds taken by all map tasks") => "VCORES_MILLIS_MAPS",
        (JOBS, "Total vcore-milliseconds taken by all reduce tasks") => "VCORES_MILLIS_REDUCES",
        (JOBS, "Total megabyte-milliseconds taken by all map tasks") => "MB_MILLIS_MAPS",
        (JOBS, "Total megabyte-milliseconds taken by all reduce tasks") => "MB_MILLIS_REDUCES",
        (FILES, _) => return file_counter(shown),
        // The other counters of these groups have their display names in capitals.
        (TASKS | JOBS, _) => return capitals(shown),
        (_, "Bytes Read") => "BYTES_READ",
        (_, "Bytes Written") => "BYTES_WRITTEN",
        _ => shown,
    };
    known.to_owned()
}

fn capitals(shown: &str) -> String {
    let words = shown.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_uppercase).collect::<Vec<_>>().join("_")
}

/// Converts `HDFS: Number of bytes read` to HDFS_BYTES_READ.
fn file_counter(shown: &str) -> String {
    let Some((scheme, rest)) = shown.split_once(": ") else { return shown.to_owned() };
    let what = rest.strip_prefix("Number of ").unwrap_or(rest);
    let what = match what {
        "read operations" => "READ_OPS".to_owned(),
        "large read operations" => "LARGE_READ_OPS".to_owned(),
        "write operations" => "WRITE_OPS".to_owned(),
        "bytes read erasure-coded" => "BYTES_READ_EC".to_owned(),
        other => capitals(other),
    };
    format!("{scheme}_{what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "\nJob: job_1700000000000_0007\nJob File: hdfs://nn/x:y.xml\nUber job : false\nmap() completion: 1.0\n\
        Job state: SUCCEEDED\nretired: false\nreason for failure: \nCounters: 5\n\tFile System Counters\n\
        \t\tHDFS: Number of bytes read=12\n\t\tHDFS: Number of large read operations=0\n\tMap-Reduce Framework\n\
        \t\tMap input records=3\n\t\tGC time elapsed (ms)=7\n\tmy.Group$Of\n\t\tA=B=9\n";

    #[test]
    fn a_client_tells_the_state_and_the_counters() {
        let told = status(TOLD).expect("a status");
        assert_eq!((told.state.as_str(), told.reason.as_str()), ("SUCCEEDED", ""));
        let counters = counters(TOLD);
        assert_eq!(counters["org.apache.hadoop.mapred.Task$Counter"]["MAP_INPUT_RECORDS"], 3);
        assert_eq!(counters["org.apache.hadoop.mapreduce.TaskCounter"]["GC_TIME_MILLIS"], 7);
        let files = &counters["org.apache.hadoop.mapreduce.FileSystemCounter"];
        assert_eq!(
            (&files["HDFS_BYTES_READ"], &files["HDFS_LARGE_READ_OPS"]),
            (&json!(12), &json!(0))
        );
        assert_eq!(counters["my.Group$Of"]["A=B"], 9);
        assert_eq!(counters["ACTION_TYPE"], "MAP_REDUCE");
    }

    #[test]
    fn a_history_has_the_counters_by_their_names() {
        let text = "Avro-Json\n{\"type\":\"JOB_INITED\",\"event\":{}}\n\
            {\"type\":\"JOB_FINISHED\",\"event\":{\"x.JobFinished\":{\"totalCounters\":{\"name\":\"TOTAL\",\"groups\":[\
            {\"name\":\"org.apache.hadoop.mapreduce.TaskCounter\",\"displayName\":\"Map-Reduce Framework\",\"counts\":\
            [{\"name\":\"MAP_INPUT_RECORDS\",\"displayName\":\"Map input records\",\"value\":4}]}]}}}}\n";
        let counters = counters_of_history(text).expect("counters");
        assert_eq!(counters["org.apache.hadoop.mapred.Task$Counter"]["MAP_INPUT_RECORDS"], 4);
        assert_eq!(counters_of_history("Avro-Json\n"), None);
    }

    /// Runs the script with a client that prints this text about its job.
    #[track_caller]
    fn follow(told: &str, arguments: &[&str]) -> (i32, String, Option<Value>) {
        follow_with(told, arguments, None)
    }

    #[track_caller]
    fn follow_with(
        told: &str,
        arguments: &[&str],
        history: Option<&str>,
    ) -> (i32, String, Option<Value>) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let client = folder.path().join("hadoop");
        if let Some(name) = history {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n*-status*) cat <<'END'\n{told}\nEND\n;;\n\"fs -ls\"*) ls \"$ANKUS_ATTEMPT\"/*.jhist;;\nfs*) exit 1;;\n*none*) echo nothing;;\n\
             *bad*) echo broken >&2; exit 3;;\n*) echo 'Created job job_1700000000000_0007' >&2; echo out;;\nesac\n"
        );
        std::fs::write(&client, script).expect("a file");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&client, mode).expect("our own file");
        let done = Command::new("sh")
            .args(["-c", FOLLOW, "follow"])
            .arg(&client)
            .args(arguments)
            .env("ANKUS_ATTEMPT", folder.path())
            .current_dir(folder.path())
            .env("OOZIE_ACTION_CONF_XML", "/dev/null")
            .output()
            .expect("a shell");
        let counters = std::fs::read_to_string(folder.path().join("counters.json")).ok();
        let counters = counters.and_then(read_counters);
        let counters = counters.map(|text| serde_json::from_str(&text).expect("JSON"));
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (done.status.code().unwrap_or(-1), said, counters)
    }

    #[test]
    fn elsewhere_a_script_ends_as_the_job_does() {
        let submit = ["job", "-submit", "action.xml"];
        let (code, said, counters) = follow(TOLD, &submit);
        assert_eq!((code, said.contains("out\n")), (0, true), "{said}");
        let counters = counters.expect("counters");
        assert_eq!(counters["org.apache.hadoop.mapred.Task$Counter"]["MAP_INPUT_RECORDS"], 3);
        let failed = TOLD.replace("SUCCEEDED", "FAILED").replace("failure: ", "failure: no mapper");
        let (code, said, counters) = follow(&failed, &submit);
        assert_eq!((code, counters), (1, None));
        assert!(said.contains("the job job_1700000000000_0007 ended FAILED: no mapper"), "{said}");
        assert_eq!(follow(TOLD, &["job", "bad"]).0, 3);
        assert_eq!(follow(TOLD, &["job", "none"]).0, 2);
        let (code, said, _) = follow(TOLD, &["jar", "none"]);
        assert_eq!((code, said.contains("its counters are not known")), (0, true), "{said}");
        // Without a history server, the state is in the file name of the history.
        let history =
            "job_1700000000000_0007-170-joe-oozie%3Aaction-171-1-0-FAILED-default-170.jhist";
        let (code, said, _) = follow_with("", &submit, Some(history));
        assert!(code == 1 && said.contains("ended FAILED"), "{code} {said}");
        // The client of streaming waits itself, and the counters are read all the same.
        assert!(follow(TOLD, &["jar", "x.jar"]).2.is_some());
    }

    #[test]
    fn the_id_is_that_of_the_job_that_was_submitted() {
        for (text, id) in [
            ("Created job job_1700000000000_0007\n", Some("job_1700000000000_0007")),
            ("task_job_1_0001", None),
            ("Submitting tokens for job: job_1_0001\nCreated job job_1_0001", Some("job_1_0001")),
            ("Running job: job_local1834_0001", Some("job_local1834_0001")),
            ("job_17 is short", None),
            ("", None),
        ] {
            assert_eq!(job_id(text).as_deref(), id, "{text}");
        }
    }
}
