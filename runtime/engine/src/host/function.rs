//! Functions of expressions that a site answers by a program.
//!
//! In: the program, the arguments of a call, what the job runs with. Out: what the program printed, within bounds of
//! time and size; anything else is the failure of the expression. The program is asked again whenever the expression is
//! evaluated again: what came of it is kept in the row of the action, so that nothing that was decided depends on it later.
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

/// How much it may print.
const LONGEST: u64 = 1 << 20;

/// How much of its errors is looked at.
const LONGEST_SAID: u64 = 64 << 10;

/// What stands around the program: what the job runs with.
pub(crate) struct Around<'a> {
    /// The variables; none of its own where there are none.
    pub(crate) environment: &'a BTreeMap<String, String>,
    /// Programs by the names of tools.
    pub(crate) tools: &'a BTreeMap<String, String>,
    /// The sandbox of programs.
    pub(crate) sandbox: &'a Sandbox,
    /// What a program may use.
    pub(crate) bounds: &'a Bounds,
    /// Where it starts.
    pub(crate) folder: Option<&'a Path>,
    /// The folder of the store, which it has no business in.
    pub(crate) store: &'a Path,
}

/// The program of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The program, with its first arguments.
    pub command: Vec<String>,
    /// How long it may take, in milliseconds.
    pub time_ms: u64,
}

impl Function {
    /// How long a program may take by default.
    pub const USUAL_MS: u64 = 10_000;

    /// Starts the program for one call, and waits for what it prints.
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
        // The line end of `echo` is none of the value.
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
        // What it starts goes with it when its time is up.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        Ok(command)
    }

    /// The words before its own. It stands in the same sandbox as the programs of actions, and writes nowhere but where those may.
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

    /// Reads what it prints until it ends. The error says what is wrong with it; then it still runs.
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
        // Something that it left running may hold its errors open; they are only told.
        let said = said.recv_timeout(left().min(Duration::from_millis(200)));
        Ok((status, out, said.ok().and_then(Result::ok).unwrap_or_default()))
    }
}

/// Reads a stream in a thread of its own, which nobody waits for.
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
        // Whoever asked may have given up.
        let _ = to.send(read);
    });
    from
}

/// Ends it with all that it started.
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
