//! Measures how time and memory of `ankus check` grow with the size of a definition.

use std::fmt::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ankus::check::{self, FileKind, Report};
use ankus::files::Files;
use ankus::render;
use ankus::settings::Settings;
use ankus::source::Source;
use ankus::syntax::properties::Submission;

/// Time-out of a measurement.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shapes: a name, and the maximum reasonable number of nodes.
const SHAPES: [(&str, usize); 13] = [
    ("chain", 1_000_000),
    ("asking", 1_000_000),
    ("shared-handler", 1_000_000),
    ("forks-in-a-row", 1_000_000),
    ("diamonds-in-a-fork", 1_000_000),
    ("fork-of-many-paths", 1_000_000),
    ("forks-within-forks", 1_000_000),
    ("unresolved", 1_000_000),
    ("duplicates", 1_000_000),
    ("parameters", 1_000_000),
    ("faulty", 1_000_000),
    ("broken", 1_000_000),
    ("tangled", 100_000),
];

/// Measures every shape, each size in a process of its own.
pub(crate) fn all(only: Option<&str>, least: usize, most: usize) -> Result<(), String> {
    println!(
        "{:20} {:>9} {:>9} {:>10} {:>8} {:>10} {:>8}  findings",
        "shape", "nodes", "kB text", "ms", "µs/node", "kB memory", "B/node"
    );
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    for (shape, limit) in SHAPES {
        if only.is_some_and(|only| only != shape) {
            continue;
        }
        let mut nodes = least;
        while nodes <= most.min(limit) {
            let mut child = Command::new(&program)
                .args(["scaled", shape, &nodes.to_string()])
                .spawn()
                .map_err(|error| error.to_string())?;
            let begin = Instant::now();
            let ended = loop {
                match child.try_wait().map_err(|error| error.to_string())? {
                    Some(status) => break status.success(),
                    None if begin.elapsed() > PATIENCE => {
                        child.kill().map_err(|error| error.to_string())?;
                        child.wait().map_err(|error| error.to_string())?;
                        println!("{shape:20} {nodes:>9} is not back after {PATIENCE:?}");
                        break false;
                    }
                    None => std::thread::sleep(Duration::from_millis(5)),
                }
            };
            if !ended {
                break;
            }
            nodes *= 10;
        }
    }
    Ok(())
}

/// Performs one measurement, in this process.
pub(crate) fn one(shape: &str, nodes: usize) -> Result<(), String> {
    let text = definition(shape, nodes).ok_or("no such shape")?;
    let bytes = text.len();
    let begin = Instant::now();
    let outcome = checked("workflow.xml", text);
    let time = begin.elapsed();
    let nodes = outcome.files.iter().filter_map(|file| file.nodes).sum::<usize>().max(1);
    let rendered = [
        ("json", render::json::render(&outcome).len()),
        ("human", render::human::render(&outcome, None).plain().len()),
    ];
    let drawn = begin.elapsed() - time;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"))
        .and_then(|kilobytes| kilobytes.trim().parse::<usize>().ok())
        .unwrap_or(0);
    let mut by_rule = std::collections::BTreeMap::<&str, usize>::new();
    for finding in &outcome.findings {
        *by_rule.entry(finding.diagnostic.kind.name).or_default() += 1;
    }
    let mut said = String::new();
    for (rule, count) in by_rule {
        let _ = write!(said, " {rule} {count}");
    }
    println!(
        "{shape:20} {nodes:>9} {:>9} {:>10.1} {:>8.2} {peak:>10} {:>8} {said}; drawn in {:.1} ms: {rendered:?}",
        bytes / 1000,
        time.as_secs_f64() * 1e3,
        time.as_secs_f64() * 1e6 / nodes as f64,
        peak * 1024 / nodes,
        drawn.as_secs_f64() * 1e3,
    );
    Ok(())
}

/// Returns the report on a single definition.
pub(crate) fn checked(path: &str, text: String) -> Report {
    let source = Arc::new(Source::new(path, text));
    let (settings, submission, files) =
        (Settings::default(), Submission::default(), Files::default());
    let input = check::Input {
        settings: &settings,
        submission: &submission,
        files: &files,
        ..check::Input::of(&source, FileKind::Workflow)
    };
    let mut report = Report::default();
    report.add(&input, check::check(&input));
    report.finish();
    report
}

struct Writer(String);

impl Writer {
    fn action(&mut self, name: &str, ok: &str, error: &str) {
        self.doing(name, "${nameNode}/out", ok, error);
    }

    fn doing(&mut self, name: &str, path: &str, ok: &str, error: &str) {
        let _ = writeln!(
            self.0,
            "  <action name=\"{name}\"><fs><mkdir path=\"{path}/{name}\"/></fs><ok to=\"{ok}\"/><error to=\"{error}\"/></action>"
        );
    }

    fn fork(&mut self, name: &str, paths: &[String]) {
        let _ = write!(self.0, "  <fork name=\"{name}\">");
        for path in paths {
            let _ = write!(self.0, "<path start=\"{path}\"/>");
        }
        self.0.push_str("</fork>\n");
    }

    fn join(&mut self, name: &str, to: &str) {
        let _ = writeln!(self.0, "  <join name=\"{name}\" to=\"{to}\"/>");
    }

    fn decision(&mut self, name: &str, first: &str, second: &str) {
        let _ = writeln!(
            self.0,
            "  <decision name=\"{name}\"><switch><case to=\"{first}\">${{fs:exists('/{name}')}}</case><default to=\"{second}\"/></switch></decision>"
        );
    }
}

/// Generates a definition of about `nodes` nodes.
fn definition(shape: &str, nodes: usize) -> Option<String> {
    let mut w =
        Writer("<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"large\">\n".to_owned());
    let n = |kind: &str, index: usize| format!("{kind}{index}");
    let next = |kind: &str, index: usize, count: usize, last: &str| {
        if index + 1 < count { n(kind, index + 1) } else { last.to_owned() }
    };
    match shape {
        "chain" | "asking" => {
            w.0.push_str("  <start to=\"a0\"/>\n");
            for index in 0..nodes {
                let path = match index {
                    0 => "${nameNode}/out".to_owned(),
                    _ if shape == "asking" => format!("${{wf:errorCode('a{}')}}", index - 1),
                    _ => "${nameNode}/out".to_owned(),
                };
                w.doing(&n("a", index), &path, &next("a", index, nodes, "end"), "failed");
            }
        }
        "unresolved" => {
            w.0.push_str("  <start to=\"a0\"/>\n");
            for index in 0..nodes {
                w.action(&n("a", index), &next("a", index, nodes, "end"), &n("b", index));
            }
        }
        "duplicates" => {
            w.0.push_str("  <start to=\"a\"/>\n");
            (0..nodes).for_each(|_| w.action("a", "end", "failed"));
        }
        "parameters" => {
            w.0.push_str("  <parameters>\n");
            for index in 0..nodes {
                let _ = writeln!(w.0, "    <property><name>p{index}</name></property>");
            }
            w.0.push_str("  </parameters>\n  <start to=\"a0\"/>\n");
            for index in 0..nodes {
                let path = format!("${{p{index}}}/${{q{index}}}");
                w.doing(&n("a", index), &path, &next("a", index, nodes, "end"), "failed");
            }
        }
        "shared-handler" => {
            w.0.push_str("  <start to=\"a0\"/>\n");
            for index in 0..nodes {
                w.action(&n("a", index), &next("a", index, nodes, "end"), "mail");
            }
            w.action("mail", "failed", "failed");
        }
        "forks-in-a-row" => {
            let count = nodes / 4;
            w.0.push_str("  <start to=\"f0\"/>\n");
            for index in 0..count {
                w.fork(&n("f", index), &[n("a", index), n("b", index)]);
                w.action(&n("a", index), &n("j", index), "mail");
                w.action(&n("b", index), &n("j", index), "failed");
                w.join(&n("j", index), &next("f", index, count, "end"));
            }
            w.action("mail", "failed", "failed");
        }
        "diamonds-in-a-fork" => {
            let count = nodes / 3;
            w.0.push_str("  <start to=\"f\"/>\n");
            w.fork("f", &["d0".to_owned(), "c".to_owned()]);
            w.action("c", "j", "failed");
            for index in 0..count {
                w.decision(&n("d", index), &n("a", index), &n("b", index));
                w.action(&n("a", index), &next("d", index, count, "j"), "failed");
                w.action(&n("b", index), &next("d", index, count, "j"), "failed");
            }
            w.join("j", "end");
        }
        "fork-of-many-paths" => {
            w.0.push_str("  <start to=\"f\"/>\n");
            let paths: Vec<String> = (0..nodes).map(|index| n("a", index)).collect();
            w.fork("f", &paths);
            for index in 0..nodes {
                w.action(&n("a", index), "j", "failed");
            }
            w.join("j", "end");
        }
        "forks-within-forks" | "broken" => {
            let count = nodes / 3;
            w.0.push_str("  <start to=\"f0\"/>\n");
            for index in 0..count {
                w.fork(&n("f", index), &[next("f", index, count, "m"), n("a", index)]);
                // In the broken shape, parallel branches lead to different joins.
                let join = if shape == "broken" { count - 1 - index } else { index };
                w.action(&n("a", index), &n("j", join), "failed");
            }
            w.action("m", &n("j", count - 1), "failed");
            for index in (0..count).rev() {
                let to = if index == 0 { "end".to_owned() } else { n("j", index - 1) };
                w.join(&n("j", index), &to);
            }
        }
        "faulty" => {
            let count = nodes / 4;
            w.0.push_str("  <start to=\"f0\"/>\n");
            for index in 0..count {
                let f = n("f", index);
                w.fork(&f, &[n("a", index), n("b", index)]);
                w.action(&n("a", index), &n("j", index), "end");
                w.action(&n("b", index), &n("a", index), "failed");
                w.join(&n("j", index), &next("f", index, count, "end"));
            }
        }
        "tangled" => {
            w.0.push_str("  <start to=\"n0\"/>\n");
            let mut state = 0x9E37_79B9_7F4A_7C15u64;
            let mut random = |below: usize| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 24) as usize % below
            };
            for index in 0..nodes {
                let mut to = || {
                    let ahead = index + 1 + random(nodes.div_ceil(10));
                    if ahead < nodes { n("n", ahead) } else { "end".to_owned() }
                };
                let (a, b) = (if index == 0 { n("n", 1) } else { to() }, to());
                let name = n("n", index);
                match if index == 0 { 0 } else { random(6) } {
                    0 | 1 if a != b => w.fork(&name, &[a, b]),
                    2 => w.join(&name, &a),
                    3 => w.decision(&name, &a, &b),
                    _ => w.action(&name, &a, &b),
                }
            }
        }
        _ => return None,
    }
    w.0.push_str("  <kill name=\"failed\"><message>failed</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n");
    Some(w.0)
}
