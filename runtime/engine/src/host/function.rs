//! EL functions of a site that are evaluated by a program.
//!
//! The program gets the arguments of a call, and runs with what the job runs with. The result is what it printed,
//! within limits of time and size; anything else is a failure of the expression. The program is called again whenever
//! the expression is evaluated again: results are kept in the row of the action, so that no decision depends on a later
//! call.
#![expect(clippy::disallowed_methods, reason = "processes are the outside world")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use super::process::Bounds;
use super::process::sandbox::{Folders, Sandbox};
use ankus_lang::el::{Called, Failure};

/// How many bytes it may print.
const LONGEST: u64 = 1 << 20;

/// How many bytes of its standard error are read.
const LONGEST_SAID: u64 = 64 << 10;

/// The environment of the program: what the job runs with.
pub(crate) struct Around<'a> {
    /// Its environment variables, instead of ours; if there are none, it inherits ours.
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// Programs by the names of tools.
    pub(crate) tools: &'a BTreeMap<String, String>,
    /// The sandbox of programs.
    pub(crate) sandbox: &'a Sandbox,
    /// The resource limits of the program.
    pub(crate) bounds: &'a Bounds,
    /// The directory in which it is started.
    pub(crate) folder: Option<&'a Path>,
    /// The folder of the store, which is hidden from it.
    pub(crate) store: &'a Path,
}

/// The program of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The program, with its first arguments.
    pub command: Vec<String>,
    /// The time limit in milliseconds.
    pub time_ms: u64,
}

impl Function {
    /// The default time limit in milliseconds.
    pub const USUAL_MS: u64 = 10_000;

    /// Runs the program for one call, and returns what it prints.
    pub(crate) fn call(
        &self,
        called: &Called<'_>,
        around: &Around<'_>,
    ) -> Result<String, Box<Failure>> {
        let failed = |what: String| {
            let message = format!("the command of `{}` {what}", called.function);
            Failure::exception("ExecutionException", message)
        };
        let mut command = self.command_line(called, around).map_err(&failed)?;
        let mut child = command.spawn().map_err(|error| {
            let program = self.command.first().map_or("", String::as_str);
            failed(format!("cannot be started: `{program}`: {error}"))
        })?;
        let ended = self.wait(&mut child);
        if ended.is_err() {
            kill(&mut child);
        }
        let (status, out, said) = ended.map_err(&failed)?;
        if !status.success() {
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            let last = last.map_or(String::new(), |line| format!(": {line}"));
            return Err(failed(format!("failed ({status}){last}")));
        }
        let mut text =
            String::from_utf8(out).map_err(|_| failed("printed what is not UTF-8".to_owned()))?;
        // The newline that `echo` adds is not part of the value.
        if text.ends_with('\n') {
            text.pop();
            if text.ends_with('\r') {
                text.pop();
            }
        }
        Ok(text)
    }

    fn command_line(&self, called: &Called<'_>, around: &Around<'_>) -> Result<Command, String> {
        let folder = around.folder.filter(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        let mut words = self.sandbox(around, folder)?;
        words.extend(self.command.iter().cloned());
        words.extend(called.words.iter().cloned());
        let mut words = words.into_iter();
        let program = words.next().ok_or("is empty")?;
        let mut command = Command::new(program);
        command.args(words).current_dir(folder);
        if !around.environment.is_empty() {
            command.env_clear().envs(around.environment);
        }
        command.env("ANKUS_FUNCTION", called.function).env("ANKUS_JOB_ID", called.job);
        if let Some(node) = called.node {
            command.env("ANKUS_NODE", node);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Processes that it starts are killed with it when its time is up.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(command)
    }

    /// Returns the words of the sandbox before its command line. It runs in the same sandbox as the programs of
    /// actions, and may write only where those may.
    fn sandbox(&self, around: &Around<'_>, folder: &Path) -> Result<Vec<String>, String> {
        let Some(tool) = around.sandbox.kind.tool() else { return Ok(Vec::new()) };
        let tool = around.tools.get(tool).map_or(tool, String::as_str);
        let program = Path::new(self.command.first().map_or("", String::as_str));
        let beside = program.parent().filter(|beside| beside.is_absolute()).map(PathBuf::from);
        let folders = Folders {
            hidden: Some(around.store.to_owned()),
            readable: beside.into_iter().collect(),
            attempt: folder.to_owned(),
            ..Folders::default()
        };
        let bounds = Bounds { time_ms: Some(self.time_ms), ..around.bounds.clone() };
        let words = around.sandbox.words(tool, &folders, &bounds);
        match words.is_empty() {
            true => Err(format!("needs the sandbox `{}`", around.sandbox.kind.name())),
            false => Ok(words),
        }
    }

    /// Reads what it prints until it ends. The error says what is wrong; the program is then still running.
    fn wait(&self, child: &mut Child) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), String> {
        let until = Instant::now() + Duration::from_millis(self.time_ms);
        let late = || format!("took longer than {} s and was ended", self.time_ms.div_ceil(1_000));
        let left = || until.saturating_duration_since(Instant::now());
        let out = reader(child.stdout.take(), LONGEST + 1);
        let said = reader(child.stderr.take(), LONGEST_SAID);
        let out = match out.recv_timeout(left()) {
            Ok(Ok(out)) => out,
            Ok(Err(error)) => return Err(format!("cannot be read: {error}")),
            Err(_) => return Err(late()),
        };
        if out.len() as u64 > LONGEST {
            return Err(format!("printed more than {} MiB", LONGEST >> 20));
        }
        let mut pause = Duration::from_micros(200);
        let status = loop {
            match child.try_wait().map_err(|error| format!("cannot be waited for: {error}"))? {
                Some(status) => break status,
                None if left().is_zero() => return Err(late()),
                None => std::thread::sleep(pause.min(left())),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        };
        // A process that it left running may keep its standard error open, which is only used for messages.
        let said = said.recv_timeout(left().min(Duration::from_millis(200)));
        Ok((status, out, said.ok().and_then(Result::ok).unwrap_or_default()))
    }
}

/// Reads a stream in a thread of its own, which is never joined.
fn reader<R: Read + Send + 'static>(
    stream: Option<R>,
    most: u64,
) -> mpsc::Receiver<std::io::Result<Vec<u8>>> {
    let (to, from) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = match stream {
            Some(stream) => stream.take(most).read_to_end(&mut bytes).map(|_| bytes),
            None => Err(ErrorKind::BrokenPipe.into()),
        };
        // The receiver may have given up.
        let _ = to.send(read);
    });
    from
}

/// Kills it with everything that it started.
fn kill(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(function: &Function, called: &Called<'_>) -> Result<String, Box<Failure>> {
        let around = Around {
            environment: &BTreeMap::new(),
            tools: &BTreeMap::new(),
            sandbox: &Sandbox::default(),
            bounds: &Bounds::default(),
            folder: None,
            store: Path::new("/nowhere"),
        };
        function.call(called, &around)
    }

    #[track_caller]
    fn said(script: &str, words: &[&str], time_ms: u64) -> Result<String, String> {
        let command = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec();
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let called = Called { function: "site:f", words, job: "j", node: Some("n") };
        let function = Function { command, time_ms };
        asked(&function, &called).map_err(|failure| failure.message.clone())
    }

    #[test]
    fn a_program_answers_with_what_it_prints() {
        let text =
            said(r#"printf '%s|' "$@" "$ANKUS_JOB_ID" "$ANKUS_NODE"; echo"#, &["a b", ""], 9_000);
        assert_eq!(text, Ok("a b||j|n|".to_owned()));
        assert_eq!(said("printf 'x\\n\\n'", &[], 9_000), Ok("x\n".to_owned()));
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let text = said("echo none; echo no such quarter >&2; exit 3", &[], 9_000);
        let told = "the command of `site:f` failed (exit status: 3): no such quarter";
        assert_eq!(text, Err(told.to_owned()));
        let text = said("printf '\\377'", &[], 9_000);
        assert_eq!(text, Err("the command of `site:f` printed what is not UTF-8".to_owned()));
        let function = Function { command: vec!["/no/such".to_owned()], time_ms: 1 };
        let called = Called { function: "f", words: Vec::new(), job: "", node: None };
        let failure = asked(&function, &called).expect_err("none");
        assert!(failure.message.contains("cannot be started: `/no/such`"), "{failure}");
    }

    #[test]
    fn a_program_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("late").display().to_string();
        let text = said("(sleep 1; echo x > \"$1\") & sleep 60", &[&file], 100);
        assert_eq!(
            text,
            Err("the command of `site:f` took longer than 1 s and was ended".to_owned())
        );
        let text = said("yes", &[], 9_000);
        assert_eq!(text, Err("the command of `site:f` printed more than 1 MiB".to_owned()));
        std::thread::sleep(Duration::from_millis(1_200));
        assert!(!Path::new(&file).exists(), "what it started is ended too");
    }
}
