//! Storms: an operator's commands and kills at random moments against jobs with real programs, and what those programs
//! observed.
//!
//! Needs the `ankus` binary, the number of storms and a seed. A storm is a store of its own with one application, and
//! an operator who for some seconds kills, reruns, suspends and resumes jobs, and kills processes (the one that runs
//! the store, a launcher, or all of them), with SIGTERM or SIGKILL; stops processes for a while, or removes their
//! socket. Finally, what is left is run to its end. The result is an error unless
//!
//! - no two copies of an action ran at the same time: every program holds a lock of its action, as do its child
//!   processes;
//! - nothing was alive ten seconds after its job was reported KILLED;
//! - no command exceeded its time limit;
//! - every job ended.
//!
//! Only the standard library is used, because the tests and `cargo xtask kill-runs` share this file.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an operator talks to processes and looks at files"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long something may stay alive after its job is reported KILLED.
const STOPPED: Duration = Duration::from_secs(10);

/// Totals over all storms.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) commands: AtomicU64,
    pub(crate) kills_of_processes: AtomicU64,
    pub(crate) kills_checked: AtomicU64,
    pub(crate) programs: AtomicU64,
}

/// A program that runs for a while. It and its children ignore SIGTERM if its second argument is `stubborn`.
const STEP: &str = r#"#!/bin/sh
exec 9>>"$ANKUS_FILE_ROOT/locks/$1"
flock -n 9 || echo "overlap $1 $$" >> "$ANKUS_FILE_ROOT/log"
echo "begin $1 $$" >> "$ANKUS_FILE_ROOT/log"
case $2 in stubborn) trap '' TERM ;; esac
sleep "$3"
sleep "$3"
echo "end $1 $$" >> "$ANKUS_FILE_ROOT/log"
test "$2" != fails
"#;

fn step(name: &str, how: &str, ok: &str) -> String {
    retried(name, how, ok, "")
}

fn retried(name: &str, how: &str, ok: &str, attributes: &str) -> String {
    format!(
        "<action name='{name}' {attributes}><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec>\
         <argument>{name}${{key}}</argument><argument>{how}</argument><argument>${{nap}}</argument>\
         <file>hdfs://nn/step.sh</file></shell><ok to='{ok}'/><error to='bad'/></action>"
    )
}

fn below(name: &str, sub: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><sub-workflow><app-path>hdfs://nn/apps/{sub}</app-path><propagate-configuration/>\
         </sub-workflow><ok to='{ok}'/><error to='bad'/></action>"
    )
}

fn fork(name: &str, to: &[String], join: &str, then: &str) -> String {
    let paths: String = to.iter().map(|to| format!("<path start='{to}'/>")).collect();
    format!("<fork name='{name}'>{paths}</fork><join name='{join}' to='{then}'/>")
}

fn workflow(name: &str, start: &str, nodes: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='{name}'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='{start}'/>{nodes}\
         <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

/// Applications by name; the first workflow of each is the one that is run.
fn applications() -> Vec<(&'static str, Vec<(String, String)>)> {
    let leaf = |name: &str, how: &str| {
        let nodes = step(&format!("{name}-one"), how, &format!("{name}-two"))
            + &step(&format!("{name}-two"), "", "end");
        (name.to_owned(), workflow(name, &format!("{name}-one"), &nodes))
    };
    let above = |name: &str, of: &str| {
        let node = format!("{name}-calls");
        (name.to_owned(), workflow(name, &node, &below(&node, of, "end")))
    };
    let names = |count: usize| (0..count).map(|at| format!("branch{at}")).collect::<Vec<_>>();
    let eight = names(8);
    let branches: String = eight.iter().map(|name| step(name, "", "join")).collect();
    let two = names(2);
    let breaks = step("branch0", "fails", "join") + &step("branch1", "stubborn", "join");
    let calls = below("branch0", "left", "join") + &below("branch1", "right", "join");
    vec![
        ("chain", vec![leaf("chain", "")]),
        ("stubborn", vec![leaf("stubborn", "stubborn")]),
        ("depth1", vec![above("depth1", "leaf"), leaf("leaf", "")]),
        ("depth2", vec![above("depth2", "middle"), above("middle", "leaf"), leaf("leaf", "")]),
        (
            "depth3",
            vec![
                above("depth3", "upper"),
                above("upper", "middle"),
                above("middle", "leaf"),
                leaf("leaf", "stubborn"),
            ],
        ),
        (
            "fork8",
            vec![(
                "fork8".to_owned(),
                workflow("fork8", "split", &(fork("split", &eight, "join", "end") + &branches)),
            )],
        ),
        (
            "breaks",
            vec![(
                "breaks".to_owned(),
                workflow("breaks", "split", &(fork("split", &two, "join", "end") + &breaks)),
            )],
        ),
        (
            "calls",
            vec![
                (
                    "calls".to_owned(),
                    workflow("calls", "split", &(fork("split", &two, "join", "end") + &calls)),
                ),
                above("left", "leaf"),
                leaf("leaf", ""),
                leaf("right", "stubborn"),
            ],
        ),
        (
            "retries",
            vec![(
                "retries".to_owned(),
                workflow(
                    "retries",
                    "one",
                    &retried("one", "fails", "end", "retry-max='2' retry-interval='0'"),
                ),
            )],
        ),
        ("days", vec![above("days", "leaf"), leaf("leaf", "")]),
    ]
}

const COORDINATOR: &str = r#"<coordinator-app name="days" frequency="${coord:days(1)}" start="2026-01-01T00:00Z"
  end="2026-01-03T00:00Z" timezone="UTC" xmlns="uri:oozie:coordinator:0.4"><controls><concurrency>2</concurrency></controls>
  <action><workflow><app-path>hdfs://nn/apps/days</app-path><configuration><property><name>key</name>
  <value>${coord:formatTime(coord:nominalTime(), 'dd')}</value></property></configuration></workflow></action>
</coordinator-app>"#;

/// Deterministic pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// An operator and the store they work on.
struct Storm<'a> {
    program: &'a Path,
    /// The time limit of a command.
    patience: Duration,
    folder: PathBuf,
    store: PathBuf,
    random: Random,
    /// Commands that run in the background while others are given.
    others: Vec<(Child, String, Instant)>,
    is_coordinator: bool,
    report: &'a Report,
    told: Vec<String>,
}

/// The result of a command.
struct Outcome {
    code: Option<i32>,
    text: String,
}

impl Storm<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(arguments).arg("--store").arg(&self.store).current_dir(&self.folder);
        command.env_remove("ANKUS_STORE").stdin(Stdio::null());
        self.report.commands.fetch_add(1, Ordering::Relaxed);
        command
    }

    /// Runs a command and waits for it to end.
    fn ask(&mut self, arguments: &[&str]) -> Result<Outcome, String> {
        let name = arguments.join(" ");
        self.told.push(name.clone());
        let output = self.folder.join("said");
        let file = fs::File::create(&output).map_err(|error| error.to_string())?;
        let also = file.try_clone().map_err(|error| error.to_string())?;
        let child = self.command(arguments).stdout(file).stderr(also).spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let since = Instant::now();
        loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                let text = fs::read_to_string(&output).unwrap_or_default();
                return Ok(Outcome { code: status.code(), text });
            }
            if since.elapsed() > self.patience {
                let _ = child.kill();
                let _ = child.wait();
                let text = fs::read_to_string(&output).unwrap_or_default();
                return Err(format!("`{name}` hangs: {text}"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a command in the background.
    fn begin(&mut self, arguments: &[&str]) -> Result<(), String> {
        let name = arguments.join(" ");
        self.told.push(format!("{name} &"));
        let file =
            fs::OpenOptions::new().create(true).append(true).open(self.folder.join("others"));
        let file = file.map_err(|error| error.to_string())?;
        let also = file.try_clone().map_err(|error| error.to_string())?;
        let child = self.command(arguments).stdout(file).stderr(also).spawn();
        self.others.push((child.map_err(|error| error.to_string())?, name, Instant::now()));
        Ok(())
    }

    /// Forgets the background commands that have ended.
    fn gather(&mut self) {
        self.others.retain_mut(|(child, ..)| matches!(child.try_wait(), Ok(None)));
    }

    /// Sends a signal to processes.
    fn signal(&self, signal: &str, processes: &[u32]) {
        if processes.is_empty() {
            return;
        }
        self.report.kills_of_processes.fetch_add(1, Ordering::Relaxed);
        let mut command = Command::new("kill");
        command.arg(format!("-{signal}")).args(processes.iter().map(u32::to_string));
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }

    /// The processes of programs: those with a folder of this store in their environment.
    fn programs(&self) -> Vec<u32> {
        let mark = format!("ANKUS_ATTEMPT={}/", self.store.display()).into_bytes();
        processes(|environment, _| {
            environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(&mark))
        })
    }

    fn launchers(&self) -> Vec<u32> {
        let folder = format!("{}/", self.store.display()).into_bytes();
        processes(|_, arguments| {
            let mut arguments = arguments.split(|byte| *byte == 0).skip(1);
            arguments.next() == Some(b"__launch")
                && arguments.next().is_some_and(|of| of.starts_with(&folder))
        })
    }

    fn runners(&self) -> Vec<u32> {
        self.others.iter().map(|(child, ..)| child.id()).collect()
    }

    /// The jobs that have not ended, and whether any has been submitted.
    fn open(&mut self) -> Result<(BTreeSet<String>, bool), String> {
        let listed = self.ask(&["job", "list"])?;
        let (mut open, mut any) = (BTreeSet::new(), false);
        for line in listed.text.lines() {
            let mut words = line.split_whitespace();
            let (Some(status), Some(_), Some(id)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let status = status.trim_end_matches(',');
            if [
                "PREP",
                "RUNNING",
                "SUSPENDED",
                "RUNNINGWITHERROR",
                "PREPSUSPENDED",
                "SUSPENDEDWITHERROR",
                "PAUSED",
            ]
            .contains(&status)
            {
                open.insert(id.to_owned());
            }
            any |= !id.is_empty() && line.starts_with(|c: char| c.is_ascii_uppercase());
        }
        Ok((open, any))
    }

    /// Waits until no program of the store is alive. Fails if that takes too long.
    fn all_stopped(&mut self, why: &str) -> Result<(), String> {
        let since = Instant::now();
        loop {
            let alive = self.programs();
            if alive.is_empty() {
                self.report.kills_checked.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            if since.elapsed() > STOPPED {
                return Err(format!("{why}, and {alive:?} are alive ten seconds later"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Does one thing that operators do, or that happens to them.
    fn act(&mut self, id: &str) -> Result<(), String> {
        self.gather();
        match self.random.below(18) {
            0..=2 => {
                let killed = self.ask(&["job", "kill", id])?;
                if killed.text.starts_with("KILLED") && self.random.below(2) == 0 {
                    // A rerun that was requested earlier may be about to begin.
                    if self.others.iter().all(|(_, name, _)| !name.contains("rerun")) {
                        self.all_stopped("the job was KILLED")?;
                    }
                }
            }
            3 | 4 => self.begin(&["job", "rerun", id, "--failed"])?,
            5 => match (self.is_coordinator, self.random.below(4)) {
                (true, 0) => drop(self.ask(&["job", "kill", id, "--action", "1"])?),
                (true, 1) => self.begin(&["job", "rerun", id, "--action", "1-2"])?,
                (true, 2) => drop(self.ask(&["job", "change", id, "concurrency=1"])?),
                (false, 0) => self.begin(&["job", "rerun", id, "--skip", ":start:"])?,
                _ => self.begin(&["job", "rerun", id])?,
            },
            6 => drop(self.ask(&["job", "suspend", id])?),
            7 | 8 => self.begin(&["job", "resume", id])?,
            9 => {
                self.told.push("kill -9 of whoever runs the store".to_owned());
                let runners = self.runners();
                self.signal("KILL", &runners);
            }
            10 => {
                let launchers = self.launchers();
                if !launchers.is_empty() {
                    self.told.push("kill -9 of a launcher".to_owned());
                    let at = self.random.below(launchers.len() as u64) as usize;
                    self.signal("KILL", &launchers[at..=at]);
                }
            }
            11 | 12 => {
                let polite = self.random.below(2) == 0;
                let signal = if polite { "TERM" } else { "KILL" };
                self.told.push(format!("{signal} to everything"));
                let mut all = self.runners();
                all.extend(self.launchers());
                all.extend(self.programs());
                self.signal(signal, &all);
            }
            13 => {
                self.told.push("whoever runs the store is stopped for a while".to_owned());
                let runners = self.runners();
                self.signal("STOP", &runners);
                self.ask(&["job", "show", id])?;
                std::thread::sleep(Duration::from_millis(self.random.below(600)));
                self.signal("CONT", &runners);
            }
            14 => {
                self.told.push("the socket is removed".to_owned());
                let _ = fs::remove_file(self.store.join("store.sqlite.sock"));
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(self.random.below(400)));
        Ok(())
    }

    /// Runs every job to its end.
    fn settle(&mut self) -> Result<(), String> {
        let since = Instant::now();
        while !self.others.is_empty() {
            self.gather();
            if let Some((child, name, began)) = self.others.first_mut()
                && began.elapsed() > self.patience
                && since.elapsed() > self.patience
            {
                let _ = child.kill();
                let said = fs::read_to_string(self.folder.join("others")).unwrap_or_default();
                let last: Vec<&str> = said.lines().rev().take(8).collect();
                return Err(format!("`{name}` hangs: {last:?}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..20 {
            let (open, _) = self.open()?;
            if open.is_empty() {
                let stopped = self.ask(&["up", "--until-idle"])?;
                if stopped.code != Some(0) {
                    return Err(format!(
                        "`up --until-idle` ends with {stopped:?}",
                        stopped = stopped.text
                    ));
                }
                return self.all_stopped("every job has ended");
            }
            let resumed = self.ask(&["job", "resume", "--all"])?;
            if resumed.code == Some(2) {
                return Err(format!("`resume --all` ends with {}", resumed.text));
            }
        }
        let (open, _) = self.open()?;
        Err(format!("these jobs come to no end: {open:?}"))
    }

    fn run(&mut self, name: &str) -> Result<(), String> {
        let id = "storm";
        let app =
            if name == "days" { "coordinator.xml".to_owned() } else { format!("apps/{name}") };
        let nap = ["nap=0.05", "nap=0.3", "nap=1"][self.random.below(3) as usize];
        let root = self.store.join("root").display().to_string();
        let submit: [&str; 11] =
            ["run", &app, "--id", id, "--no-properties", "--root", &root, "-D", nap, "-D", "key=."];
        self.begin(&submit)?;
        std::thread::sleep(Duration::from_millis(self.random.below(700)));
        for _ in 0..6 + self.random.below(6) {
            self.act(id)?;
        }
        // The process may have been killed before it submitted anything.
        let mut tries = 0;
        while !self.store.join("store.sqlite").exists() || !self.open()?.1 {
            self.gather();
            if self.others.is_empty() {
                self.begin(&submit)?;
            }
            std::thread::sleep(Duration::from_millis(100));
            tries += 1;
            if tries > 100 {
                return Err("nothing is ever submitted".to_owned());
            }
        }
        self.settle()?;
        let log = fs::read_to_string(self.store.join("root/log")).unwrap_or_default();
        let begun = log.lines().filter(|line| line.starts_with("begin")).count() as u64;
        self.report.programs.fetch_add(begun, Ordering::Relaxed);
        match log.lines().find(|line| line.starts_with("overlap")) {
            Some(line) => Err(format!("a copy of an action ran beside another: {line}")),
            None => Ok(()),
        }
    }
}

/// The processes of this machine whose environment and arguments satisfy `are_meant`.
fn processes(are_meant: impl Fn(&[u8], &[u8]) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_dead = stat.rsplit(')').next().is_none_or(|rest| rest.trim_start().starts_with('Z'));
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if !is_dead && are_meant(&environment, &arguments) {
            found.push(pid);
        }
    }
    found
}

/// Runs this many storms, `at_once` of them at a time; no command may take longer than `patience`.
pub(crate) fn rage(
    program: &Path,
    storms: u64,
    seed: u64,
    at_once: usize,
    patience: Duration,
) -> Result<Report, String> {
    let report = Report::default();
    let base = std::env::temp_dir().join(format!("ankus-storms-{}", std::process::id()));
    let next = AtomicU64::new(0);
    let faults = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    if number >= storms {
                        return;
                    }
                    if let Err(why) = storm(program, &base, (number, seed), patience, &report) {
                        eprintln!("{why}");
                        faults.lock().expect("nobody panics").push(why);
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("nobody panics");
    if faults.is_empty() {
        let _ = fs::remove_dir_all(&base);
        return Ok(report);
    }
    Err(format!("{} of {storms} storms show a fault:\n{}", faults.len(), faults.join("\n")))
}

/// Totals of a crowd.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    pub(crate) submissions: u64,
    pub(crate) commands: u64,
    pub(crate) kills: u64,
}

/// Runs many jobs at once in one store, each submitted by a short-lived process of its own. Some of these are killed at
/// random moments and started again with the same id until their job exists. Every command must be answered, and every
/// job must end.
pub(crate) fn crowd(
    program: &Path,
    jobs: u64,
    seed: u64,
    patience: Duration,
) -> Result<Crowd, String> {
    let folder = std::env::temp_dir().join(format!("ankus-crowd-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let store = folder.join("store");
    let root = store.join("root");
    let place = folder.join("apps/chain");
    let applications = applications();
    let text = &applications[0].1[0].1;
    let made = fs::create_dir_all(root.join("locks"))
        .and_then(|()| fs::create_dir_all(&place))
        .and_then(|()| fs::write(root.join("step.sh"), STEP))
        .and_then(|()| fs::write(place.join("workflow.xml"), text));
    made.map_err(|error| error.to_string())?;
    let command = |arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).arg("--store").arg(&store).current_dir(&folder);
        command.env_remove("ANKUS_STORE").stdin(Stdio::null());
        command
    };
    let is_there = |id: &str| {
        let mut shown = command(&["job", "show", id]);
        let status = shown.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let mut crowd = Crowd::default();
    let mut random = Random((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ jobs) | 1);
    // With each process, the job that it submits; none for a command about a job.
    let mut processes: Vec<(Option<u64>, String, Child, Instant)> = Vec::new();
    let mut submitted = BTreeSet::new();
    let said = folder.join("said");
    let begin = |arguments: &[&str]| -> Result<Child, String> {
        let file = fs::OpenOptions::new().create(true).append(true).open(&said);
        let file = file.map_err(|error| error.to_string())?;
        let also = file.try_clone().map_err(|error| error.to_string())?;
        let child = command(arguments).stdout(file).stderr(also).spawn();
        child.map_err(|error| error.to_string())
    };
    let submit = |job: u64| {
        let (id, key) = (format!("job-{job}"), format!("key=.{job}"));
        let root = root.display().to_string();
        begin(&[
            "run",
            "apps/chain",
            "--id",
            &id,
            "--no-properties",
            "--root",
            &root,
            "-D",
            "nap=0.05",
            "-D",
            &key,
        ])
    };
    for job in 0..jobs {
        processes.push((Some(job), format!("run job-{job}"), submit(job)?, Instant::now()));
        crowd.submissions += 1;
    }
    while !processes.is_empty() {
        let mut again = Vec::new();
        let mut failed = None;
        processes.retain_mut(|(job, name, child, since)| match child.try_wait() {
            Ok(None) if since.elapsed() > patience => {
                failed.get_or_insert(format!("`{name}` hangs"));
                true
            }
            Ok(None) => true,
            Ok(Some(status)) => {
                match (*job, status.code()) {
                    // The process was killed, perhaps before its job was submitted.
                    (Some(job), None) => again.push(job),
                    (Some(job), _) => drop(submitted.insert(job)),
                    // 1 means that the job refused the command, which is an answer.
                    (None, None | Some(0 | 1 | 3)) => {}
                    (None, Some(code)) => {
                        failed.get_or_insert(format!("`{name}` ends with {code}"));
                    }
                }
                false
            }
            Err(error) => {
                failed.get_or_insert(error.to_string());
                false
            }
        });
        if let Some(why) = failed {
            for (.., child, _) in &mut processes {
                let _ = child.kill();
                let _ = child.wait();
            }
            let said = fs::read_to_string(&said).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(12).collect();
            return Err(format!("crowd of seed {seed} in {}: {why}: {last:?}", folder.display()));
        }
        for job in again {
            let id = format!("job-{job}");
            let is_there = is_there(&id);
            let child = match is_there {
                true => begin(&["run", "--resume", &id])?,
                false => submit(job)?,
            };
            crowd.submissions += 1;
            processes.push((Some(job), format!("run {id}"), child, Instant::now()));
        }
        if !processes.is_empty() && random.below(12) == 0 && crowd.kills < jobs {
            let at = random.below(processes.len() as u64) as usize;
            if processes[at].0.is_some() && processes[at].2.kill().is_ok() {
                crowd.kills += 1;
            }
        }
        if random.below(8) == 0 && crowd.commands < 2 * jobs {
            let id = format!("job-{}", random.below(jobs));
            let what = ["suspend", "resume", "kill"][random.below(3) as usize];
            if is_there(&id) {
                let child = begin(&["job", what, &id])?;
                crowd.commands += 1;
                processes.push((None, format!("{what} {id}"), child, Instant::now()));
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended =
        |status: &str| ["SUCCEEDED", "KILLED", "FAILED"].iter().any(|end| status.starts_with(end));
    for _ in 0..4 {
        let up = begin(&["job", "resume", "--all"])?.wait().map_err(|error| error.to_string())?;
        let idle = begin(&["up", "--until-idle"])?.wait().map_err(|error| error.to_string())?;
        let listed = command(&["job", "list", "--len", "100000"]).output();
        let listed = listed.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let open: Vec<&str> =
            text.lines().filter(|line| line.contains(" job-") && !ended(line)).collect();
        let known = text.lines().filter(|line| line.contains("job-")).count() as u64;
        if open.is_empty() && known == jobs && idle.success() {
            let log = fs::read_to_string(root.join("log")).unwrap_or_default();
            if let Some(line) = log.lines().find(|line| line.starts_with("overlap")) {
                return Err(format!("a copy of an action ran beside another: {line}"));
            }
            let _ = fs::remove_dir_all(&folder);
            return Ok(crowd);
        }
        if up.code() == Some(2) {
            return Err(format!("`resume --all` fails in {}", folder.display()));
        }
    }
    Err(format!("not every job of the crowd of seed {seed} has ended: {}", folder.display()))
}

fn storm(
    program: &Path,
    base: &Path,
    (number, seed): (u64, u64),
    patience: Duration,
    report: &Report,
) -> Result<(), String> {
    let applications = applications();
    let (name, workflows) = &applications[(number % applications.len() as u64) as usize];
    let folder = base.join(format!("{seed}-{number}"));
    let _ = fs::remove_dir_all(&folder);
    let store = folder.join("store");
    let root = store.join("root");
    let made = fs::create_dir_all(root.join("locks"))
        .and_then(|()| fs::write(root.join("step.sh"), STEP))
        .and_then(|()| fs::write(folder.join("coordinator.xml"), COORDINATOR));
    made.map_err(|error| error.to_string())?;
    for (name, text) in workflows {
        for place in [folder.join("apps").join(name), root.join("apps").join(name)] {
            fs::create_dir_all(&place)
                .and_then(|()| fs::write(place.join("workflow.xml"), text))
                .map_err(|error| error.to_string())?;
        }
    }
    let random = Random((seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number + 1) << 20) | 1);
    let mut storm = Storm {
        program,
        patience,
        folder: folder.clone(),
        store,
        random,
        others: Vec::new(),
        is_coordinator: *name == "days",
        report,
        told: Vec::new(),
    };
    let done = storm.run(name);
    for (child, ..) in &mut storm.others {
        let _ = child.kill();
        let _ = child.wait();
    }
    if done.is_err() {
        let mut left = storm.launchers();
        left.extend(storm.programs());
        storm.signal("KILL", &left);
    } else {
        let _ = fs::remove_dir_all(&folder);
    }
    done.map_err(|why| {
        let told = storm.told.join("; ");
        format!(
            "storm {number} of seed {seed} ({name}, left in {}): {why}\n  {told}",
            folder.display()
        )
    })
}
