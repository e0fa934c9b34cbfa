//! The command of an ssh action on its machine, once its client here has gone: ssh tells a command nothing of that, and it goes on.
//!
//! In: the folder of an attempt. Out: how much of it still runs there, after each process has got a signal. A command has the
//! name of the attempt in its environment, and so has whatever it starts.

use super::outcome::unconnected;
use super::{WORK, Worked};
use crate::host::elsewhere::for_any_shell;
use crate::host::process::Program;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable with the name of the attempt.
const VARIABLE: &str = "ANKUS_ATTEMPT";
/// Sends a signal to all processes of the user that have the variable, and says how many there were.
const END: &str = "[ -d /proc/self ] || { echo 'it has no /proc' >&2; exit 1; }
count=0
for file in $(grep -lsaz \"^ANKUS_ATTEMPT=$1\\$\" /proc/[0-9]*/environ 2>/dev/null); do
  process=${file#/proc/}
  kill -s \"$2\" \"${process%/environ}\" 2>/dev/null && count=$((count + 1))
done
echo \"$count\"";

/// The words for the other machine: the command, and before it the name of the attempt.
pub(in crate::actions) fn named(attempt: &str, words: &str) -> String {
    // Only shells of the family of csh have this variable, and no `export`.
    format!(
        "test -n \"$shell\" && setenv {VARIABLE} {attempt} || export {VARIABLE}={attempt}; {words}"
    )
}

/// A command that may run on another machine.
pub(crate) struct Far {
    ssh: Program,
    attempt: String,
}

impl Far {
    /// That of an attempt; none where nothing can run elsewhere: it is of another type, or the machine was never reached.
    pub(crate) fn of(folder: &Path) -> Option<Far> {
        let text = fs::read(folder.join("worked.json")).ok()?;
        let worked: Worked = serde_json::from_slice(&text).ok()?;
        let attempt = worked.far?;
        let is_reached = unconnected(255, &folder.join("stderr")).is_none();
        is_reached.then_some(Far { ssh: worked.program, attempt })
    }

    /// The machine, as the action names it.
    pub(crate) fn host(&self) -> &str {
        self.ssh.arguments.iter().rev().nth(1).map_or("", String::as_str)
    }

    /// Sends a signal to what runs there. The answer is how many processes that were.
    pub(crate) fn end(&self, folder: &Path, signal: &str) -> Result<usize, String> {
        let Some((_, own)) = self.ssh.arguments.split_last() else { return Ok(0) };
        let mut words = self.ssh.wrapper.iter().chain([&self.ssh.program]);
        let program = words.next().ok_or("there is no program for it")?;
        let mut command = Command::new(program);
        if self.ssh.alone {
            command.env_clear();
        }
        let pairs = self.ssh.environment.iter();
        command.args(words).envs(pairs.map(|(name, value)| (name, value)));
        // Whoever asks waits for the answer.
        for option in ["ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=2"] {
            command.args(["-o", option]);
        }
        let script = format!("{} {} {signal}", for_any_shell(END), self.attempt);
        let work = Some(folder.join(WORK)).filter(|work| work.is_dir());
        command.args(own).arg(script).current_dir(work.as_deref().unwrap_or(folder));
        let done = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&done.stdout);
        match said.trim().parse() {
            Ok(count) if done.status.success() => Ok(count),
            _ => {
                let errors = String::from_utf8_lossy(&done.stderr);
                let last = errors.lines().rev().map(str::trim).find(|line| !line.is_empty());
                Err(last.unwrap_or("ssh failed without a word").to_owned())
            }
        }
    }
}
