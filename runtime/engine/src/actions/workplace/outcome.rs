//! The outcome of a program: its exit code, captured output, the jobs it started, and its last message.

use super::{LARGEST_CONFIGURATION, LAST, OUTPUT, OWN, SCANNED, STATS, read_up_to};
use crate::actions::command::Capture;
use crate::actions::submission;
use crate::host::elsewhere::size_of_part;
use crate::host::process::{Bound, Exit, State};
use crate::host::telling::{last, telling};
use ankus_lang::action_types::action_type;
use ankus_lang::configuration;
use ankus_lang::machine::{ActionError, Answer, Class, Finished, Output};
use rustix::process::Signal;
use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

/// The error code of an ssh action whose output is too long, or not a file of properties.
const OUTPUT_OF_SSH: &str = "ERR_UNKNOWN_ERROR";

/// Why an action failed: its error code and message.
struct Failed {
    code: String,
    message: String,
}

impl Failed {
    /// Creates the error that a launcher reports by its exception.
    fn of_launcher(message: impl Into<String>) -> Failed {
        Failed { code: "JA018".to_owned(), message: message.into() }
    }
}

/// Returns the outcome of a program as the answer of an executor.
pub fn outcome(folder: &Path, kind: &str, capture: Capture, limit: u64, state: State) -> Answer {
    match succeeded(folder, kind, capture, limit, state) {
        // A server asks for the output of a command over ssh itself, and an error then fails the job.
        Err(Failed { code, message }) if code == OUTPUT_OF_SSH => {
            Answer::Error(Class::Failed, code, message)
        }
        Ok(output) => {
            Answer::Finished(Finished { output: output.into(), ..Finished::new("SUCCEEDED") })
        }
        Err(Failed { code, message }) => {
            let error = ActionError { code: Some(code), message: Some(message) };
            // A map-reduce job is known since its submission, and its pages show why it failed.
            let child_ids = (kind == "map-reduce").then(|| job_ids(folder)).flatten();
            let output = Output { child_ids, ..Output::default() };
            Answer::Finished(Finished {
                error: error.into(),
                output: output.into(),
                ..Finished::new("FAILED/KILLED")
            })
        }
    }
}

/// Returns the output of a program that succeeded.
fn succeeded(
    folder: &Path,
    kind: &str,
    capture: Capture,
    limit: u64,
    state: State,
) -> Result<Output, Failed> {
    let State::Ended(exit) = state else {
        return Err(Failed::of_launcher(
            "its launcher was killed or the machine went down, so how it ended is unknown",
        ));
    };
    let unkept = exit.unkept;
    ended_well(folder, kind, exit)?;
    if capture != Capture::Nothing && unkept > 0 {
        return Err(Failed::of_launcher(
            "the disk of the store had no room for its output; make room and run it again",
        ));
    }
    let data = captured(folder, kind, capture, limit).map_err(|failed| match kind {
        "ssh" => Failed { code: OUTPUT_OF_SSH.to_owned(), ..failed },
        _ => failed,
    })?;
    let records = action_type(kind).is_some_and(|kind| kind.starts_jobs);
    let child_ids = records.then(|| job_ids(folder)).flatten();
    let data = match &child_ids {
        Some(ids) => Some(format!("hadoopJobs={ids}\n")),
        None => data,
    };
    let counters = [folder.join(OWN).join(STATS), folder.join(STATS)];
    let stats = counters.iter().find_map(|path| read_up_to(path, LARGEST_CONFIGURATION).ok());
    let stats = stats.and_then(|bytes| String::from_utf8(bytes).ok());
    let stats = stats.and_then(submission::read_counters);
    Ok(Output { child_ids, data, stats })
}

/// Checks that a program ended by itself with exit code 0; returns why not otherwise.
fn ended_well(folder: &Path, kind: &str, exit: Exit) -> Result<(), Failed> {
    let (errors, output) = (folder.join("stderr"), folder.join("stdout"));
    // What the program last said, unless `known` says it already: then only a fault that its output reports.
    let log_besides = |known: &str| {
        let is_new = |line: &String| !known.contains(line);
        let is_fault = |line: &String| ["rror", "xception"].iter().any(|word| line.contains(word));
        let said = match (telling_line(&errors), telling_line(&output)) {
            (None, None) => last_line(&errors).or_else(|| last_line(&output)).filter(is_new),
            (Some(error), output) if !is_new(&error) => output.filter(is_fault).filter(is_new),
            (error, output) => error.or(output).filter(is_new),
        };
        said.map(|line| format!("; its last output was: {line}")).unwrap_or_default()
    };
    let log = || log_besides("");
    if let Some(bound) = exit.bound {
        let (what, setting) = match bound {
            Bound::Time => ("ran longer than allowed", "time"),
            Bound::Disk => ("wrote more to its folder than allowed", "disk"),
        };
        let message = format!("the {kind} action's program {what} ([launchers.local] {setting})");
        return Err(Failed::of_launcher(format!("{message}, and was ended{}", log())));
    }
    if let Some(said) = exit.said {
        // If no program ran, the log may have only the message of the cluster.
        let log = log_besides(&said);
        return Err(Failed::of_launcher(format!("the {kind} action's job {said}{log}")));
    }
    if let Some(error) = exit.error {
        return Err(Failed::of_launcher(format!("Cannot run program {error}")));
    }
    match (exit.code, exit.signal) {
        (Some(0), _) => Ok(()),
        (Some(number), _) => {
            let code = code_of(kind, number, &folder.join("stderr"));
            let hint = if kind == "ssh" { hint_of(&code) } else { "" };
            let log = log();
            let message =
                format!("the {kind} action's program ended with exit code {number}{log}{hint}");
            Err(Failed { code, message })
        }
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let bound = match signal {
                _ if signal == Signal::XCPU.as_raw() => ", which used more CPU time than allowed",
                _ if signal == Signal::XFSZ.as_raw() => ", which wrote a file larger than allowed",
                _ => "",
            };
            let message =
                format!("signal {signal} ended the {kind} action's program{bound}") + &log();
            // To the launcher of a shell action, this is an exit code like any other.
            let code = if kind == "shell" && bound.is_empty() { "1" } else { "JA018" };
            Err(Failed { code: code.to_owned(), message })
        }
    }
}

/// Returns the name of the property with the maximum size of an action's captured output.
pub(super) fn limit_of(kind: &str) -> &'static str {
    match kind {
        "ssh" => "oozie.servlet.CallbackServlet.max.data.len",
        _ => "oozie.action.max.output.data",
    }
}

/// Returns the properties that a program wrote, if its output is captured.
fn captured(
    folder: &Path,
    kind: &str,
    capture: Capture,
    limit: u64,
) -> Result<Option<String>, Failed> {
    let path = match capture {
        Capture::Nothing => return Ok(None),
        Capture::Stdout => folder.join("stdout"),
        Capture::File => {
            let own = folder.join(OWN);
            if own.is_dir() { own.join(OUTPUT) } else { folder.join(OUTPUT) }
        }
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(size) = size_of_part(folder, &name).filter(|size| *size <= limit) {
        return Err(Failed::of_launcher(format!(
            "its captured output has {size} bytes, and the place where it ran brings back fewer: write less, or choose another \
             in [launchers.{kind}] launcher"
        )));
    }
    // The limit of ssh actions is in characters of Java, each of which takes at most three bytes.
    let in_bytes = if kind == "ssh" { limit.saturating_mul(3) } else { limit };
    let bytes = match read_up_to(&path, in_bytes.saturating_add(1)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("cannot read its captured output: {error}");
            return Err(Failed::of_launcher(message));
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (length, unit) = match kind {
        "ssh" => (text.encode_utf16().count(), "characters"),
        _ => (bytes.len(), "bytes"),
    };
    if length as u64 > limit {
        let name = limit_of(kind);
        return Err(Failed::of_launcher(format!(
            "the captured output is larger than {limit} {unit} ({name})"
        )));
    }
    match configuration::read_properties(&text) {
        Ok(_) => Ok(Some(text)),
        Err(why) => Err(Failed::of_launcher(format!(
            "the captured output is not a file of properties: {why}"
        ))),
    }
}

/// Returns the error code of an action whose program ended with an exit code other than 0.
fn code_of(kind: &str, code: i32, stderr: &Path) -> String {
    match kind {
        // The launcher of a shell action always ends with 1.
        "shell" => "1".to_owned(),
        // Their launchers end with an exception, which has no code of its own.
        "distcp" | "git" => "JA018".to_owned(),
        // An exception of the main class ends the launcher without a code.
        "java" | "spark" if code == 1 && thrown(stderr) => "JA018".to_owned(),
        // The job is unknown (2), or it did not succeed.
        "map-reduce" if code == 2 => "JA017".to_owned(),
        "map-reduce" => "JA018".to_owned(),
        "ssh" => unconnected(code, stderr).unwrap_or("E1111").to_owned(),
        // The launcher calls pig as a library, and reports every failure as 2 (`PigMain`).
        "pig" => "2".to_owned(),
        // The exit code -1 becomes 255.
        "java" | "hive" | "hive2" | "sqoop" if code == 255 => "JA019".to_owned(),
        _ => code.to_string(),
    }
}

/// Returns the server's code for why `ssh` did not reach the other machine, or was not admitted: nothing was run there.
pub(super) fn unconnected(code: i32, stderr: &Path) -> Option<&'static str> {
    if code != 255 {
        return None;
    }
    let text = read_up_to(stderr, SCANNED).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| match line {
        _ if line.starts_with("ssh: Could not resolve hostname") => Some("COULD_NOT_RESOLVE_HOST"),
        _ if line.starts_with("ssh: connect to host ") => match line.contains("timed out") {
            true => Some("COULD_NOT_CONNECT"),
            false => Some("UNKNOWN_ERROR"),
        },
        _ if line.contains("timed out during banner exchange") => Some("COULD_NOT_CONNECT"),
        _ if line.contains('@') && line.contains(": Permission denied (") => Some("AUTH_FAILED"),
        _ if line.starts_with("Host key verification failed") => Some("UNKNOWN_ERROR"),
        _ => None,
    })
}

/// Returns advice for a machine that cannot be reached or refuses the login.
fn hint_of(code: &str) -> &'static str {
    match code {
        "COULD_NOT_RESOLVE_HOST" => {
            "; correct <host>, or describe it in the configuration of ssh (`~/.ssh/config`)"
        }
        "COULD_NOT_CONNECT" => "; check that the machine is up and that its port is open from here",
        "UNKNOWN_ERROR" => {
            "; check that `ssh -o BatchMode=yes USER@HOST true` works for the user who runs ankus"
        }
        "AUTH_FAILED" => {
            "; add a key of the user who runs ankus to that user's `authorized_keys`, or get a Kerberos ticket (`kinit`) if the machine \
             accepts one: passwords cannot be entered here"
        }
        _ => "",
    }
}

/// Whether the machine of an ssh action could not be reached: nothing was started there, and a server would retry.
pub(crate) fn is_unreached(kind: &str, folder: &Path, state: &State) -> bool {
    let State::Ended(exit) = state else { return false };
    let why = exit.code.and_then(|code| unconnected(code, &folder.join("stderr")));
    kind == "ssh" && matches!(why, Some("COULD_NOT_RESOLVE_HOST" | "COULD_NOT_CONNECT"))
}

/// Returns the ids of cluster jobs in the output of a tool, in order and without duplicates.
pub(crate) fn job_ids(folder: &Path) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for name in ["stdout", "stderr"] {
        let Ok(bytes) = read_up_to(&folder.join(name), SCANNED) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for start in ["job_", "application_"] {
            for (at, _) in text.match_indices(start) {
                let before = text[..at].chars().next_back();
                if before.is_some_and(|before| before.is_alphanumeric() || before == '_') {
                    continue;
                }
                let rest = &text[at + start.len()..];
                let end =
                    rest.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(rest.len());
                let Some((cluster, number)) = rest[..end].split_once('_') else { continue };
                if cluster.len() >= 10
                    && !number.is_empty()
                    && number.bytes().all(|b| b.is_ascii_digit())
                {
                    let id = format!("job_{cluster}_{number}");
                    if !found.contains(&id) {
                        found.push(id);
                    }
                }
            }
        }
    }
    (!found.is_empty()).then(|| found.join(","))
}

/// Whether Java reports an uncaught exception of the main method, or that there is no such method: in both cases the
/// launcher, which calls the method, ends with an exception.
fn thrown(path: &Path) -> bool {
    const WORDS: [&str; 3] = [
        "Exception in thread \"main\" ",
        "Error: Could not find or load main class ",
        "Error: Main method ",
    ];
    let text = read_up_to(path, SCANNED).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    text.lines().any(|line| WORDS.iter().any(|word| line.starts_with(word)))
}

/// Returns the last line of a file that may say why a program failed.
fn telling_line(path: &Path) -> Option<String> {
    telling(&end_of(path)?)
}

/// Returns the last line, whatever it says.
fn last_line(path: &Path) -> Option<String> {
    last(&end_of(path)?)
}

fn end_of(path: &Path) -> Option<String> {
    let mut file = fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(io::SeekFrom::Start(length.saturating_sub(LAST))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_the_launchers() {
        let folder = tempfile::tempdir().expect("a folder");
        let stderr = folder.path().join("stderr");
        let thrown = "Exception in thread \"main\" X\n\tat Y\n";
        let refused = "ssh: connect to host h port 22: Connection refused\n";
        let denied = "[a note]\nann@h: Permission denied (publickey).\n";
        for (kind, code, said, expected) in [
            ("java", 3, "", "3"),
            ("java", 1, thrown, "JA018"),
            ("java", 1, "Error: Could not find or load main class no.Such\n", "JA018"),
            ("java", 255, "", "JA019"),
            ("spark", 1, thrown, "JA018"),
            ("spark", 1, "", "1"),
            ("spark", 255, "", "255"),
            ("sqoop", 1, thrown, "1"),
            ("hive", 255, "", "JA019"),
            ("pig", 6, "", "2"),
            ("pig", 255, "", "2"),
            ("git", 128, "fatal: not found", "JA018"),
            ("shell", 255, "", "1"),
            ("distcp", 255, "", "JA018"),
            ("copy-table", 255, "", "255"),
            ("ssh", 1, "", "E1111"),
            ("ssh", 255, "the command itself", "E1111"),
            ("ssh", 1, refused, "E1111"),
            ("ssh", 255, refused, "UNKNOWN_ERROR"),
            (
                "ssh",
                255,
                "ssh: connect to host h port 22: Connection timed out",
                "COULD_NOT_CONNECT",
            ),
            (
                "ssh",
                255,
                "ssh: Could not resolve hostname h: Name or service not known",
                "COULD_NOT_RESOLVE_HOST",
            ),
            ("ssh", 255, denied, "AUTH_FAILED"),
            ("ssh", 255, "cat: /x: Permission denied", "E1111"),
        ] {
            fs::write(&stderr, said).expect("a file");
            assert_eq!(code_of(kind, code, &stderr), expected, "{kind} {code} {said}");
        }
    }

    #[test]
    fn what_a_place_says_is_completed_by_the_output() {
        let folder = tempfile::tempdir().expect("a folder");
        for (errors, output, expected) in [
            ("why\n", "a result\n", "job ended: why"),
            (
                "why\n",
                "Error: a reason\n\tat org.A.b(A:1)\n",
                "job ended: why; its last output was: Error: a reason",
            ),
            ("more\n", "Error: x\n", "job ended: why; its last output was: more"),
            ("", "a result\n", "job ended: why; its last output was: a result"),
            ("", "", "job ended: why"),
        ] {
            fs::write(folder.path().join("stderr"), errors).expect("a file");
            fs::write(folder.path().join("stdout"), output).expect("a file");
            let exit = Exit { said: Some("ended: why".to_owned()), ..Exit::default() };
            let failed = ended_well(folder.path(), "spark", exit).expect_err("it failed");
            assert_eq!(failed.message, format!("the spark action's {expected}"));
        }
    }

    #[test]
    fn output_that_ssh_cannot_pass_on_fails_the_job() {
        let folder = tempfile::tempdir().expect("a folder");
        for (output, is_fine) in [("a=1\n", true), ("a=123456\n", false), ("a=\\u1\n", false)] {
            fs::write(folder.path().join("stdout"), output).expect("a file");
            for kind in ["ssh", "shell"] {
                let ended = State::Ended(Exit { code: Some(0), ..Exit::default() });
                let code = match outcome(folder.path(), kind, Capture::Stdout, 6, ended) {
                    Answer::Error(Class::Failed, code, _) => Some(code),
                    Answer::Finished(finished) => finished.error.code.clone(),
                    other => panic!("{other:?}"),
                };
                let expected = match kind {
                    _ if is_fine => None,
                    "ssh" => Some(OUTPUT_OF_SSH),
                    _ => Some("JA018"),
                };
                assert_eq!(code.as_deref(), expected, "{kind} {output}");
            }
        }
    }
}
