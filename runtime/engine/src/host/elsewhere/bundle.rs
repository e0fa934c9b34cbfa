//! What a job needs at the place where it runs: the files of its attempt, and a script that becomes its program.
//!
//! Command lines, variables and configurations contain paths below the folder of the attempt. The path of that folder
//! at the place is only known there, so the script fills it in.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Seat;
use crate::host::process::{MARK, Program};

/// The placeholder for the folder of the attempt in files.
const HERE: &str = "@ANKUS_ATTEMPT@";
/// The file name of the script.
pub(crate) const SCRIPT: &str = "run.sh";
/// Files and folders whose paths programs are given.
const TEXTS: [&str; 4] = ["action.xml", "action.properties", "streaming.xml", "element.xml"];
const FOLDERS: [&str; 2] = ["work", "copies"];
const CLIENTS: &str = "hadoop-conf";

/// The files that are sent with a job.
pub(crate) struct Bundle<'a> {
    /// The folder of the attempt.
    pub(crate) folder: &'a Path,
    /// The program to run.
    pub(crate) program: &'a Program,
    /// The place where it runs.
    pub(crate) seat: &'a Seat,
}

impl Bundle<'_> {
    /// Returns a script for a POSIX shell, which is in the folder of the attempt and becomes the program.
    pub(crate) fn script(&self) -> String {
        let Bundle { folder, program, seat } = self;
        let folder = folder.to_string_lossy();
        let word = |text: &str| word(text, &folder);
        let mut out = format!(
            "#!/bin/sh\n{MARK}=$(cd \"$(dirname \"$0\")\" && pwd -P) && cd \"${MARK}\" || exit 127\nexport {MARK}\n\
             for file in {} {CLIENTS}/*.xml; do\n  [ -f \"$file\" ] || continue\n  \
             sed \"s|{HERE}|${MARK}|g\" \"$file\" > \"$file.new\" && mv \"$file.new\" \"$file\" || exit 127\ndone\n",
            TEXTS.join(" ")
        );
        let own = program.environment.iter();
        let own: Vec<_> = own.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let of_place =
            seat.place.environment.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let is_own = |name: &str| own.iter().any(|(known, _)| *known == name);
        let has_path = is_own("PATH") || seat.place.environment.contains_key("PATH");
        let mut others = String::new();
        for (name, value) in of_place.filter(|(name, _)| !is_own(name)).chain(own.iter().copied()) {
            let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && !name.starts_with(|first: char| first.is_ascii_digit());
            match name {
                MARK => {}
                _ if is_name => out.push_str(&format!("export {name}={}\n", word(value))),
                // A shell cannot set a variable with such a name, and `env` can.
                _ => others.push_str(&format!(" {}={}", word(name), word(value))),
            }
        }
        if seat.kind == "shell" && !has_path {
            out.push_str("export PATH=\".:$PATH\"\n");
        }
        out.push_str("cd work || exit 127\nexec");
        if !others.is_empty() {
            out.push_str(" env");
            out.push_str(&others);
            // To `env`, a word with `=` is a variable, and to `nice` it is a program.
            if program.program.contains('=') {
                out.push_str(" nice -n 0");
            }
        }
        for text in std::iter::once(&program.program).chain(&program.arguments) {
            out.push(' ');
            out.push_str(&word(text));
        }
        out.push('\n');
        out
    }

    /// Writes everything as a compressed archive, with additional files.
    pub(crate) fn pack(&self, more: &[(&str, &str)], out: impl Write) -> io::Result<()> {
        let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::fast()));
        let text = |archive: &mut tar::Builder<_>, name: &str, text: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o700);
            archive.append_data(&mut header, name, text)
        };
        text(&mut archive, SCRIPT, self.script().as_bytes())?;
        for (name, content) in more {
            text(&mut archive, name, content.as_bytes())?;
        }
        let own = self.folder.to_string_lossy().into_owned();
        let named = |archive: &mut tar::Builder<_>, name: &str| match std::fs::read_to_string(
            self.folder.join(name),
        ) {
            Ok(found) => text(archive, name, found.replace(&own, HERE).as_bytes()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        for name in TEXTS {
            named(&mut archive, name)?;
        }
        if let Ok(entries) = std::fs::read_dir(self.folder.join(CLIENTS)) {
            for entry in entries {
                named(
                    &mut archive,
                    &format!("{CLIENTS}/{}", entry?.file_name().to_string_lossy()),
                )?;
            }
        }
        // Large files are links here; the archive contains the files themselves.
        archive.follow_symlinks(true);
        for name in FOLDERS {
            let folder = self.folder.join(name);
            if folder.is_dir() {
                archive.append_dir_all(name, folder)?;
            }
        }
        archive.into_inner()?.finish()?.flush()
    }
}

/// Quotes a word for a POSIX shell; the folder of the attempt becomes a variable with its path at the place.
fn word(text: &str, folder: &str) -> String {
    let quoted = |text: &str| match text {
        "" => String::new(),
        _ => format!("'{}'", text.replace('\'', "'\\''")),
    };
    let parts: Vec<String> = text.split(folder).map(quoted).collect();
    let joined = parts.join(&format!("\"${MARK}\""));
    if joined.is_empty() { "''".to_owned() } else { joined }
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns a command line that runs a script of a POSIX shell, whatever shell parses the line: csh has no multi-line
/// quotes, and takes `!` for a history event. Words after it are arguments of the script.
pub(crate) fn for_any_shell(script: &str) -> String {
    let mut out = String::from("exec sh -c 'eval \"$(printf %b \"$0\")\"' '");
    for byte in script.bytes() {
        match byte {
            b' '..=b'~' if !b"\\'!".contains(&byte) => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\0{byte:03o}")),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_macros, reason = "what is passed over is said")]
    fn a_script_passes_through_any_shell() {
        let script = "x='a !b\\'\nprintf '%s|' \"$x\" \"$1\" é% `echo c` # d\n";
        for shell in ["sh", "bash", "tcsh", "fish"] {
            let line = format!("{} arg", for_any_shell(script));
            let made = std::process::Command::new(shell).args(["-c", &line]).output();
            let Ok(output) = made else {
                println!("skipped: there is no {shell} here");
                continue;
            };
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(said, "a !b\\|arg|é%|c|", "{shell}: {output:?}");
        }
    }

    #[test]
    fn variables_of_any_name_reach_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let (attempt, there) = (folder.path().join("a"), folder.path().join("there"));
        std::fs::create_dir_all(there.join("work")).expect("a folder");
        let env = which("env");
        std::fs::copy(&env, there.join("work/with=sign")).expect("a program");
        let seat = Seat {
            clusters: Vec::new(),
            place: super::super::Place {
                name: "edge".to_owned(),
                system: super::super::System::Ssh(Default::default()),
                tools: Default::default(),
                environment: [("of.place".to_owned(), "1".to_owned())].into(),
            },
            kind: "shell".to_owned(),
            title: String::new(),
            resources: Default::default(),
        };
        for program in ["env", "with=sign"] {
            let environment = [("spark.x-y", "it's $a"), ("É", "ü"), ("PLAIN", "p")];
            let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let program = program.to_owned();
            let program =
                Program { program, environment: environment.into(), ..Program::default() };
            let bundle = Bundle { folder: &attempt, program: &program, seat: &seat };
            std::fs::write(there.join(SCRIPT), bundle.script()).expect("a file");
            let output =
                std::process::Command::new("sh").arg(there.join(SCRIPT)).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stdout);
            for line in ["spark.x-y=it's $a", "É=ü", "PLAIN=p", "of.place=1"] {
                assert!(said.lines().any(|said| said == line), "{line}: {output:?}");
            }
        }
    }

    fn which(program: &str) -> std::path::PathBuf {
        let folders = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(program));
        folders.into_iter().find(|path| path.exists()).expect("a system with its tools")
    }

    #[test]
    fn words_keep_what_they_are_and_follow_the_folder() {
        for (text, expected) in [
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
            ("/s/j/a", "\"$ANKUS_ATTEMPT\""),
            ("-D=/s/j/a/x y,/s/j/a/z", "'-D='\"$ANKUS_ATTEMPT\"'/x y,'\"$ANKUS_ATTEMPT\"'/z'"),
        ] {
            assert_eq!(word(text, "/s/j/a"), expected);
        }
    }
}
