//! Compares a fork of many branches under a limit of programs with the same programs under `xargs -P`.
//!
//! The arguments are the number of branches, of programs per branch and of programs at once, and their duration. The
//! output is both times and their ratio; it is an error if more programs ran at once than permitted, or one did not run
//! exactly once. Every program records its start and end in a file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The parameters of a measurement.
pub(crate) struct Shape {
    pub(crate) branches: u64,
    pub(crate) actions: u64,
    pub(crate) most: u64,
    pub(crate) nap_ms: u64,
}

/// A program with its name; its records are short enough to be written atomically.
const STEP: &str =
    "#!/bin/sh\necho \"+ $1\" >> \"$WIDE_LOG\"\nsleep \"$2\"\necho \"- $1\" >> \"$WIDE_LOG\"\n";

fn workflow(shape: &Shape, nap: &str) -> String {
    let mut text = String::from(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='wide'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='split'/><fork name='split'>",
    );
    for branch in 0..shape.branches {
        let _ = write!(text, "<path start='b{branch}-0'/>");
    }
    text.push_str("</fork>");
    for branch in 0..shape.branches {
        for action in 0..shape.actions {
            let next = match action + 1 == shape.actions {
                true => "both".to_owned(),
                false => format!("b{branch}-{}", action + 1),
            };
            let _ = write!(
                text,
                "<action name='b{branch}-{action}'><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec>\
                 <argument>b{branch}-{action}</argument><argument>{nap}</argument></shell>\
                 <ok to='{next}'/><error to='bad'/></action>"
            );
        }
    }
    text.push_str(
        "<join name='both' to='end'/><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>",
    );
    text
}

/// Returns the maximum number of programs that ran at once, according to their records.
fn most_at_once(log: &Path, programs: u64) -> Result<u64, String> {
    let text = std::fs::read_to_string(log).map_err(|error| error.to_string())?;
    let mut running = std::collections::BTreeSet::new();
    let (mut begun, mut most) = (0, 0);
    for line in text.lines() {
        let known = match line.split_once(' ') {
            Some(("+", name)) => {
                begun += 1;
                running.insert(name)
            }
            Some(("-", name)) => running.remove(name),
            _ => false,
        };
        if !known {
            return Err(format!("`{line}` is noted where it cannot be"));
        }
        most = most.max(running.len() as u64);
    }
    match begun == programs && running.is_empty() {
        true => Ok(most),
        false => Err(format!("{begun} of {programs} programs ran, {} did not end", running.len())),
    }
}

fn timed(mut command: Command) -> Result<Duration, String> {
    let began = Instant::now();
    let output = command.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?}: {}: {said}", output.status));
    }
    Ok(began.elapsed())
}

/// Measures both.
pub(crate) fn measure(program: &Path, shape: &Shape) -> Result<(), String> {
    if !program.is_file() {
        return Err(format!("`{}` is not built: cargo build --release", program.display()));
    }
    let folder = std::env::temp_dir().join(format!("ankus-wide-{}", std::process::id()));
    let measured = in_folder(program, shape, &folder);
    if measured.is_ok() {
        let _ = std::fs::remove_dir_all(&folder);
    }
    measured.map_err(|why| format!("{why}; it is left in {}", folder.display()))
}

fn in_folder(program: &Path, shape: &Shape, folder: &Path) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let Shape { branches, actions, most, nap_ms } = *shape;
    let nap = format!("{}.{:03}", nap_ms / 1_000, nap_ms % 1_000);
    let programs = branches * actions;
    std::fs::create_dir_all(folder.join("app")).map_err(text)?;
    std::fs::create_dir_all(folder.join("bin")).map_err(text)?;
    std::fs::write(folder.join("app/workflow.xml"), workflow(shape, &nap)).map_err(text)?;
    std::fs::write(
        folder.join("ankus.toml"),
        format!("[launchers]\nmax = {most}\n[server]\ndefinition-limit = 100000000\n"),
    )
    .map_err(text)?;
    let step = folder.join("bin/step.sh");
    std::fs::write(&step, STEP).map_err(text)?;
    let mut chmod = Command::new("chmod");
    chmod.arg("755").arg(&step);
    timed(chmod)?;
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", folder.join("bin").display());
    let names: String = (0..branches)
        .flat_map(|branch| (0..actions).map(move |action| format!("b{branch}-{action}\n")))
        .collect();
    std::fs::write(folder.join("names"), names).map_err(text)?;

    let log = folder.join("log-xargs");
    let mut xargs = Command::new("xargs");
    let names = std::fs::File::open(folder.join("names")).map_err(text)?;
    xargs.args(["-P", &most.to_string(), "-I", "{}", "step.sh", "{}", &nap]);
    xargs.stdin(Stdio::from(names)).env("PATH", &path).env("WIDE_LOG", &log);
    let by_xargs = timed(xargs)?;
    most_at_once(&log, programs)?;

    let log = folder.join("log");
    let mut run = Command::new(program);
    run.args(["run", "app"]).current_dir(folder).env("PATH", &path).env("WIDE_LOG", &log);
    let by_ankus = timed(run)?;
    let at_once = most_at_once(&log, programs)?;
    println!(
        "{branches} branches of {actions} programs of {nap} s, {most} at once: {by_ankus:.1?}; xargs -P {most}: {by_xargs:.1?}; \
         ratio {:.3}; most at once {at_once}",
        by_ankus.as_secs_f64() / by_xargs.as_secs_f64()
    );
    match at_once <= most {
        true => Ok(()),
        false => Err(format!("{at_once} programs ran at once where {most} may")),
    }
}
