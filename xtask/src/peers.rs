//! Compares `ankus check` with `xmllint --noout --schema`, on the same files, in one run.
//!
//! ankus is measured twice: with `--no-cache`, so that it checks every file, and with the cache of the previous run, as
//! when a tree is checked again.
//!
//! The input is the workflows of `ANKUS_CORPUS` (default `../shared/corpus`) and the schemas of `ANKUS_SCHEMAS`
//! (default `../shared/schemas/all.xsd`). The figures are medians of alternating rounds, and the cost of starting the
//! binary. ankus runs with one thread, since xmllint has only one. If valgrind is installed, instructions are counted
//! as well, and too many of ours are a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 11;

/// Maximum number of instructions per byte of the workflows; 388 were counted when this was written.
const MOST_INSTRUCTIONS: u64 = 420;

/// Measures `program`, or a release build.
pub(crate) fn run(root: &Path, program: Option<PathBuf>) -> ExitCode {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    if program.is_none() {
        let built = Command::new("cargo")
            .args(["build", "--release", "--quiet"])
            .current_dir(root)
            .status();
        if !built.is_ok_and(|status| status.success()) {
            return super::fail("the release build failed");
        }
    }
    let ankus = program.unwrap_or_else(|| target.join("release/ankus"));
    let size = std::fs::metadata(&ankus).map_or(0, |found| found.len());
    eprintln!("release binary: {:.1} MB", size as f64 / 1e6);
    let start = median(|| time(Command::new(&ankus).arg("--version")), 101);
    eprintln!("ankus --version: {:.2} ms, median of 101", millis(start));

    let place = |variable: &str, beside: &str| {
        std::env::var_os(variable).map_or_else(|| root.join(beside), PathBuf::from)
    };
    let corpus = place("ANKUS_CORPUS", "../shared/corpus");
    let schema = place("ANKUS_SCHEMAS", "../shared/schemas/all.xsd");
    if let Err(why) = super::servers::run(&ankus, &corpus, &schema) {
        return super::fail(&why);
    }
    let mut files = Vec::new();
    collect(&corpus, &mut files);
    files.sort();
    if files.is_empty() {
        eprintln!("skipped: no workflow is below {}", corpus.display());
        return ExitCode::SUCCESS;
    }
    let bytes: u64 =
        files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|m| m.len()).sum();
    eprintln!("{} workflows, {:.2} MB", files.len(), bytes as f64 / 1e6);

    let kept = target.join("tmp/answers");
    let check = |again: bool| {
        let mut command = Command::new(&ankus);
        command.args(["check", "--format", "concise", "--exit-zero"]).env("RAYON_NUM_THREADS", "1");
        match again {
            true => command.arg("--cache-dir").arg(&kept),
            false => command.arg("--no-cache"),
        };
        command.args(&files);
        command
    };
    let counted = instructions(&check(false));
    if let Some(count) = counted {
        let each = count / bytes.max(1);
        eprintln!("ankus, one thread: {} million instructions, {each} a byte", count / 1_000_000);
        if each > MOST_INSTRUCTIONS {
            return super::fail(&format!("more than {MOST_INSTRUCTIONS} instructions a byte"));
        }
    }
    let whole = median(
        || {
            time(
                Command::new(&ankus)
                    .args(["check", "--no-cache", "--format", "concise", "--exit-zero"])
                    .arg(&corpus),
            )
        },
        ROUNDS,
    );
    eprintln!(
        "ankus check of the whole corpus, all threads: {:.0} ms, median of {ROUNDS}",
        millis(whole)
    );
    if Command::new("xmllint").arg("--version").stderr(Stdio::null()).status().is_err()
        || !schema.is_file()
    {
        let alone = median(|| time(&mut check(false)), ROUNDS);
        eprintln!(
            "ankus, one thread: {:.0} ms; xmllint or its schemas are not here",
            millis(alone)
        );
        return ExitCode::SUCCESS;
    }
    let mut xmllint = Command::new("xmllint");
    xmllint.args(["--noout", "--schema"]).arg(&schema).args(&files);
    if let Some((ours, theirs)) = counted.zip(instructions(&xmllint)) {
        let ratio = ours as f64 / theirs as f64;
        eprintln!("xmllint: {} million instructions, ratio {ratio:.2}", theirs / 1_000_000);
    }
    let (mut ours, mut again, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    time(&mut check(true));
    for _ in 0..ROUNDS {
        ours.push(time(&mut check(false)));
        again.push(time(&mut check(true)));
        theirs.push(time(&mut xmllint));
    }
    let (ours, again, theirs) = (middle(ours), middle(again), middle(theirs));
    let ratio = |ours: Duration| ours.as_secs_f64() / theirs.as_secs_f64();
    eprintln!(
        "xmllint --schema: {:.0} ms; ankus check, one thread: {:.0} ms, ratio {:.2}; again with the answers kept: {:.0} ms, \
         ratio {:.2}; medians of {ROUNDS} alternating rounds",
        millis(theirs),
        millis(ours),
        ratio(ours),
        millis(again),
        ratio(again)
    );
    ExitCode::SUCCESS
}

/// Collects the files whose root element is a workflow.
pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut todo = vec![folder.to_owned()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                todo.push(path);
            } else if path.extension().is_some_and(|extension| extension == "xml") {
                let text = std::fs::read(&path).unwrap_or_default();
                let head = String::from_utf8_lossy(&text[..text.len().min(4096)]).into_owned();
                if head.contains("<workflow-app") {
                    files.push(path);
                }
            }
        }
    }
}

/// Returns the number of instructions that a command executes, which is independent of other load; none without
/// valgrind.
fn instructions(command: &Command) -> Option<u64> {
    let mut counted = Command::new("valgrind");
    counted.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.arg(command.get_program()).args(command.get_args());
    counted.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = counted.stdin(Stdio::null()).stdout(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let count = said.lines().find_map(|line| line.split_once("Collected : "))?.1;
    count.trim().parse().ok()
}

fn time(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    // Findings are not a failure of the measurement.
    let _ = command.status();
    begin.elapsed()
}

fn median(mut once: impl FnMut() -> Duration, rounds: usize) -> Duration {
    middle((0..rounds).map(|_| once()).collect())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Converts a duration to milliseconds.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
