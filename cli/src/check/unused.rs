//! Reports options of a check that have no effect in combination with others.

use super::{Arguments, Format};
use crate::{Failure, Shell};
use std::path::{Path, PathBuf};

/// Whether a definition is read from standard input. Other paths are refused then.
pub(crate) fn reads_stdin(paths: &[PathBuf], name: Option<&Path>) -> Result<bool, Failure> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    match (paths.iter().any(is_stdin), paths.iter().find(|path| !is_stdin(path))) {
        (true, Some(other)) => {
            let message = format!("`-` and `{}` cannot be read in one run", other.display());
            Err(Failure::new(message).help("run once for standard input and once for the files"))
        }
        (false, _) if name.is_some() => {
            Err(Failure::new("--stdin-filename names standard input, which is not read here")
                .help("give `-` as the path to read it"))
        }
        (is_there, _) => Ok(is_there),
    }
}

impl Arguments {
    /// Reports options that have no effect in combination with others.
    pub(super) fn say_unused(&self, shell: &mut Shell) {
        let report = [
            ("--format", self.format != Format::Human),
            ("--output", self.output.is_some()),
            ("--statistics", self.statistics),
        ];
        let of_report = |by: &'static str| {
            report.into_iter().filter_map(move |(name, is_given)| is_given.then_some((name, by)))
        };
        let mut unused: Vec<(&str, &str)> = Vec::new();
        if self.diff {
            unused.extend(of_report("with --diff, which prints the changes"));
        }
        if self.write_baseline.is_some() {
            unused.extend(of_report("with --write-baseline, which prints no findings"));
        }
        if self.timing {
            unused.extend(of_report("with --timing, which prints no findings"));
            if self.write_baseline.is_some() {
                unused.push(("--write-baseline", "with --timing, which keeps no findings"));
            }
        }
        if self.unsafe_fixes && !self.mends() {
            unused.push(("--unsafe-fixes", "without --fix or --diff"));
        }
        for (name, why) in unused {
            shell.say(format!("{name} has no effect {why}"));
        }
    }
}
