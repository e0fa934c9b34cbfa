//! Hosts that are reached with the system's `ssh`.
//!
//! A job has a folder there, named by its ticket. The folder `started` in it is created by whichever request starts the
//! job, which only one can do. `pid` contains the process group and its start time, `exit` the exit status; `stop`
//! prevents the start. All that is needed there is a POSIX shell, `tar`, `setsid` and `head -c`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bundle::{Bundle, for_any_shell, quoted};
use super::receive::NAMES;
use super::{Address, Backend, Fault, Seat, Seen, Ticket};
use crate::host::process::{Exit, Program, Urgency};
use ankus_procedure::private;

/// A host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ssh {
    /// `host` or `user@host`, or a name in the configuration of ssh.
    pub host: String,
    /// Its port, if not in the configuration of ssh.
    pub port: Option<u64>,
    /// A file with a private key.
    pub identity: Option<String>,
    /// A configuration file of ssh instead of the user's own.
    pub config: Option<String>,
    /// The folder for the jobs there; `.ankus` in the home folder by default.
    pub folder: Option<String>,
}

/// The script that is put next to the program's, starts it and stores its exit status.
const KEEPER: &str = "keep.sh";
/// A signal to the process group also reaches the keeper, which stays until the program has ended.
const KEEP: &str = "#!/bin/sh
cd \"$(dirname \"$0\")\" || exit 1
trap : TERM INT HUP
echo \"$$ $(cut -d' ' -f22 /proc/$$/stat 2>/dev/null)\" > pid.new && mv pid.new pid || exit 1
if [ -e stop ]; then echo 143 > exit.new; mv exit.new exit; exit; fi
sh ./run.sh > stdout 2> stderr < /dev/null &
child=$!
while :; do
  wait $child; code=$?
  kill -0 $child 2>/dev/null || break
done
echo $code > exit.new && mv exit.new exit
";

/// Prints for every job whose id is an argument whether it runs, how it ended, or that it is lost. A job that was
/// started and has recorded no process for a minute never will.
const LOOK: &str = "alive() {
  read -r pid began < \"$1/pid\" 2>/dev/null || return 1
  kill -0 \"$pid\" 2>/dev/null || return 1
  now=$(cut -d' ' -f22 \"/proc/$pid/stat\" 2>/dev/null)
  [ -z \"$now\" ] || [ \"$now\" = \"$began\" ]
}
for id in \"$@\"; do
  [ -d \"$id/started\" ] || continue
  if [ ! -e \"$id/exit\" ]; then
    if alive \"$id\"; then echo \"$id runs\"; continue; fi
    if [ ! -e \"$id/pid\" ] && [ -z \"$(find \"$id/started\" -prune -mmin +1)\" ]; then echo \"$id runs\"; continue; fi
  fi
  if [ -e \"$id/exit\" ]; then echo \"$id exit $(cat \"$id/exit\")\"; else echo \"$id lost\"; fi
done
";

/// Ends the process group of a job, and the processes that left it, which are recognized by the folder in their
/// environment.
const END: &str = "id=$1; signal=$2
mkdir -p \"$id\" && : > \"$id/stop\" || exit 1
read -r pid began < \"$id/pid\" 2>/dev/null || exit 0
[ -e \"$id/exit\" ] && [ \"$signal\" = TERM ] && exit 0
now=$(cut -d' ' -f22 \"/proc/$pid/stat\" 2>/dev/null)
if [ -z \"$now\" ] || [ \"$now\" = \"$began\" ]; then kill -s \"$signal\" -- \"-$pid\" 2>/dev/null; fi
here=$(cd \"$id\" && pwd -P)
for file in $(grep -lsaz \"^ANKUS_ATTEMPT=$here\\$\" /proc/[0-9]*/environ 2>/dev/null); do
  other=${file#/proc/}; kill -s \"$signal\" \"${other%/environ}\" 2>/dev/null
done
exit 0
";

/// Prints all results of a job: a line with name, size and the number of bytes that follow, then those.
const FETCH: &str = "cd \"$1\" || exit 0
for file in stdout stderr output.properties counters.json; do
  [ -f \"$file\" ] || continue
  size=$(($(wc -c < \"$file\"))); most=$2
  if [ \"$size\" -lt \"$most\" ]; then most=$size; fi
  echo \"$file $size $most\"; head -c \"$most\" \"$file\"
done
";

impl Ssh {
    /// Returns the command that runs one of our scripts there, in the folder of jobs, with arguments.
    fn command(&self, script: &str, arguments: &[&str]) -> Command {
        let folder = match &self.folder {
            Some(folder) => quoted(folder),
            None => "\"$HOME/.ankus\"".to_owned(),
        };
        let script = format!("umask 077; mkdir -p {folder} && cd {folder} || exit 1\n{script}");
        let mut words = for_any_shell(&script);
        for argument in arguments {
            words.push(' ');
            words.push_str(&quoted(argument));
        }
        let mut command = Command::new("ssh");
        for option in [
            "BatchMode=yes",
            "StrictHostKeyChecking=accept-new",
            "ConnectTimeout=10",
            "ServerAliveInterval=10",
            "ServerAliveCountMax=3",
        ] {
            command.args(["-o", option]);
        }
        if let Some(file) = &self.config {
            command.args(["-F", file]);
        }
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        if let Some(file) = &self.identity {
            command.args(["-i", file]);
        }
        command.args(["--", &self.host, &words]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, script: &str, arguments: &[&str]) -> Result<String, Fault> {
        let child =
            self.command(script, arguments).spawn().map_err(|error| self.missing(&error))?;
        self.finish(child)
    }

    fn missing(&self, error: &io::Error) -> Fault {
        match error.kind() {
            io::ErrorKind::NotFound => {
                Fault::Refused("there is no program `ssh` on PATH".to_owned())
            }
            _ => Fault::Unreachable(format!("ssh cannot be started: {error}")),
        }
    }

    /// Returns its output. The exit code 255 is that of ssh itself.
    fn finish(&self, child: Child) -> Result<String, Fault> {
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let why = told_of(&self.host, last.unwrap_or("ssh failed without a message"));
        match output.status.code() {
            Some(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            Some(255) if is_unconnected(&said) => Err(Fault::Absent(why)),
            Some(255) | None => Err(Fault::Unreachable(why)),
            Some(_) => Err(Fault::Refused(why)),
        }
    }
}

/// Returns a message of ssh with the host that it is about, which most of them name.
fn told_of(host: &str, message: &str) -> String {
    let bare = host.rsplit_once('@').map_or(host, |(_, bare)| bare);
    let mut words = message.split(|c: char| c.is_whitespace() || c == ':');
    match words.any(|word| word == host || word == bare) {
        true => message.to_owned(),
        false => format!("{host}: {message}"),
    }
}

impl Backend for Ssh {
    fn start(
        &self,
        ticket: &Ticket,
        _: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Option<String>, Fault> {
        // The files go to a folder of this connection, since another one may still be active: ours, from before the
        // process was killed.
        const START: &str = "id=$1
[ -d \"$id/started\" ] && exit 0
command -v setsid > /dev/null || { echo 'there is no program setsid' >&2; exit 1; }
mkdir -p \"$id/new.$$\" && tar -xzof - -C \"$id/new.$$\" || { rm -rf \"$id/new.$$\"; exit 1; }
if [ -e \"$id/stop\" ] || ! mkdir \"$id/started\" 2>/dev/null; then rm -rf \"$id/new.$$\"; exit 0; fi
mv \"$id/new.$$\"/* \"$id/\" && rmdir \"$id/new.$$\" || exit 1
setsid sh \"$id/keep.sh\" < /dev/null > /dev/null 2>&1 &
exit 0
";
        let mut command = self.command(START, &[&ticket.id]);
        let mut child =
            command.stdin(Stdio::piped()).spawn().map_err(|error| self.missing(&error))?;
        let mut packed = Ok(());
        if let Some(pipe) = child.stdin.take() {
            let mut pipe = io::BufWriter::new(pipe);
            packed = bundle.pack(&[(KEEPER, KEEP)], &mut pipe).and_then(|()| pipe.flush());
        }
        self.finish(child)?;
        match packed {
            // It reads nothing if the job was started before.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
            packed => packed.map(|()| None).map_err(|error| {
                Fault::Refused(format!("the files of the action cannot be read: {error}"))
            }),
        }
    }

    fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault> {
        let ids: Vec<&str> = tickets.iter().map(|ticket| ticket.id.as_str()).collect();
        let said = self.run(LOOK, &ids)?;
        let seen = said.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            let (id, state) = (words.next()?, words.next()?);
            let seen = match (state, words.next().and_then(|code| code.parse().ok())) {
                ("runs", _) => Seen::Runs,
                ("exit", Some(code)) => Seen::Ended(Exit { code: Some(code), ..Exit::default() }),
                _ => Seen::Gone,
            };
            Some((id.to_owned(), seen))
        });
        Ok(seen.collect())
    }

    fn end(&self, ticket: &Ticket, urgency: Urgency) -> Result<(), Fault> {
        let signal = if urgency == Urgency::Force { "KILL" } else { "TERM" };
        self.run(END, &[&ticket.id, signal]).map(drop)
    }

    fn fetch(&self, ticket: &Ticket, folder: &Path, program: &Program) -> Result<(), Fault> {
        let kept = program.kept.max(program.whole).to_string();
        let mut child = self
            .command(FETCH, &[&ticket.id, &kept])
            .spawn()
            .map_err(|error| self.missing(&error))?;
        let stream = child.stdout.take().expect("it was asked for");
        let read = receive(BufReader::new(stream), folder, program);
        let finished = self.finish(child);
        // The error of ssh takes precedence: it explains a missing answer.
        finished?;
        Ok(read?)
    }

    fn forget(&self, ticket: &Ticket) -> Result<(), Fault> {
        self.run("rm -rf \"$1\"", &[&ticket.id]).map(drop)
    }

    fn address(&self, ticket: &Ticket) -> Address {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let folder = self.folder.as_deref().unwrap_or("/~/.ankus");
        Address {
            id: format!("{}@{}", ticket.id, self.host),
            tracker: self.host.clone(),
            console: format!("ssh://{}{port}{folder}/{}", self.host, ticket.id),
        }
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }
}

/// Whether ssh reports that there was never a connection, or that access was denied.
fn is_unconnected(said: &str) -> bool {
    said.lines().any(|line| {
        line.starts_with("ssh: Could not resolve hostname")
            || line.starts_with("ssh: connect to host ")
            || line.starts_with("Host key verification failed")
            || line.contains("timed out during banner exchange")
            || (line.contains('@') && line.contains(": Permission denied ("))
    })
}

/// Stores what was sent in files of the attempt.
fn receive(mut stream: impl io::BufRead, folder: &Path, program: &Program) -> io::Result<()> {
    let broken = || io::Error::other("the answer of the host cannot be understood");
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let (Some(name), Some(size), Some(most)) = (words.next(), words.next(), words.next())
        else {
            return Err(broken());
        };
        let (Ok(size), Ok(most)) = (size.parse::<u64>(), most.parse::<u64>()) else {
            return Err(broken());
        };
        // The names come from the host.
        if !NAMES.contains(&name) {
            return Err(broken());
        }
        let mut file: File = private::create(&folder.join(name))?;
        if name == "stderr" {
            for note in &program.notes {
                writeln!(file, "[{note}]")?;
            }
        }
        if io::copy(&mut stream.by_ref().take(most), &mut file)? < most {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if size > most {
            let more = size - most;
            writeln!(
                file,
                "\n[{more} bytes more were not kept: of one stream the first {most} are, [launchers] output]"
            )?;
        }
        file.sync_data()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_names_the_host_does_not_name_it_twice() {
        for (host, message, told) in [
            (
                "joe@edge",
                "joe@edge: Permission denied (publickey).",
                "joe@edge: Permission denied (publickey).",
            ),
            (
                "joe@edge",
                "ssh: connect to host edge port 22: Connection refused",
                "ssh: connect to host edge port 22: Connection refused",
            ),
            ("edge", "Host key verification failed.", "edge: Host key verification failed."),
            ("edge", "edge1: down", "edge: edge1: down"),
        ] {
            assert_eq!(told_of(host, message), told);
        }
    }

    #[test]
    fn what_a_host_sends_goes_into_files_of_the_attempt_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Program { notes: vec!["a note".to_owned()], kept: 3, ..Program::default() };
        let sent = b"stdout 5 3\nabcstderr 2 2\nxy";
        receive(&sent[..], folder.path(), &program).expect("it is understood");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert!(read("stdout").starts_with("abc\n[2 bytes more were not kept"));
        assert_eq!(read("stderr"), "[a note]\nxy");
        for sent in ["../x 1 1\na", "stdout 5 5\nab", "stdout a"] {
            receive(sent.as_bytes(), folder.path(), &program).expect_err(sent);
        }
    }
}
