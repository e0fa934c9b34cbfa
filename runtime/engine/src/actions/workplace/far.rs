//! Stops the remote command of an ssh action whose local client is gone: ssh does not notify the command, which goes
//! on.
//!
//! The command and everything that it starts have the name of the attempt in their environment. Each process found by
//! it gets a signal, and their number is reported.

use super::outcome::unconnected;
use super::{WORK, Worked};
use crate::host::elsewhere::for_any_shell;
use crate::host::process::Program;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The variable with the name of the attempt.
const VARIABLE: &str = "ANKUS_ATTEMPT";
/// A script that sends a signal to all processes of the user that have the variable, and prints their number.
const END: &str = "[ -d /proc/self ] || { echo 'it has no /proc' >&2; exit 1; }
count=0
for file in $(grep -lsaz \"^ANKUS_ATTEMPT=$1\\$\" /proc/[0-9]*/environ 2>/dev/null); do
  process=${file#/proc/}
  kill -s \"$2\" \"${process%/environ}\" 2>/dev/null && count=$((count + 1))
done
echo \"$count\"";

/// Returns the text for the remote shell: it exports the name of the attempt and runs the command.
pub(in crate::actions) fn named(attempt: &str, words: &str) -> String {
    // Only shells of the csh family set `$shell`, and they have no `export`.
    format!(
        "test -n \"$shell\" && setenv {VARIABLE} {attempt} || export {VARIABLE}={attempt}; {words}"
    )
}

/// A command that may be running on another machine.
pub(crate) struct Far {
    ssh: Program,
    attempt: String,
}

impl Far {
    /// Returns the command of an attempt; none if nothing can be running elsewhere, because the action is of another
    /// type or the machine was never reached.
    pub(crate) fn of(folder: &Path) -> Option<Far> {
        let text = fs::read(folder.join("worked.json")).ok()?;
        let worked: Worked = serde_json::from_slice(&text).ok()?;
        let attempt = worked.far?;
        let is_reached = unconnected(255, &folder.join("stderr")).is_none();
        is_reached.then_some(Far { ssh: worked.program, attempt })
    }

    /// Returns the host as the action names it.
    pub(crate) fn host(&self) -> &str {
        self.ssh.arguments.iter().rev().nth(1).map_or("", String::as_str)
    }

    /// Sends a signal to the remote processes. Returns their number.
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
        // The caller blocks until ssh returns, so that its time-outs are short.
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
                Err(last.unwrap_or("ssh failed without a message").to_owned())
            }
        }
    }
}
