//! Compares `ankus convert` with o2a, the best-known converter to Airflow, on the same workflows.
//!
//! The input is the examples and all workflows of `ANKUS_CORPUS` (default `../shared/corpus`); `tests/airflow-env.sh`
//! and `tests/o2a-env.sh` create the environments. The output is how many workflows each converts, how many of its
//! files Airflow 2.10 and 3 import, and how long a workflow takes. To be fair to o2a, it runs in one process, without
//! its check by xmllint, and is given a Google cluster. ankus is timed as a whole process.

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Compares at most `most` workflows of the corpus, at even intervals.
pub(crate) fn run(root: &Path, most: u64) -> Result<(), String> {
    let place = |variable: &str, usual: &str| {
        std::env::var_os(variable).map_or_else(|| PathBuf::from(usual), PathBuf::from)
    };
    let python = place("ANKUS_O2A", "/tmp/o2a-env").join("bin/python");
    if !python.is_file() {
        eprintln!("skipped: there is no {}; tests/o2a-env.sh makes it", python.display());
        return Ok(());
    }
    let usual = root.join("../shared/corpus");
    let corpus = place("ANKUS_CORPUS", &usual.to_string_lossy());
    let examples = corpus.join("apache__oozie/examples/src/main/apps");
    for (name, folder) in [("examples", &examples), ("corpus", &corpus)] {
        let mut files = Vec::new();
        super::peers::collect(folder, &mut files);
        files.sort();
        let every = files.len().div_ceil(most.max(1) as usize).max(1);
        let files: Vec<PathBuf> = files.into_iter().step_by(every).collect();
        eprintln!("{name}: {} workflows", files.len());
        let out = root.join("target/tmp/converters").join(name);
        match std::fs::remove_dir_all(&out) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error.to_string());
            }
            _ => std::fs::create_dir_all(&out).map_err(|error| error.to_string())?,
        }
        theirs(root, &python, &files, &out.join("o2a"))?;
        ours(root, &files, &out.join("ankus"))?;
    }
    Ok(())
}

fn theirs(root: &Path, python: &Path, files: &[PathBuf], out: &Path) -> Result<(), String> {
    let paths: Vec<_> = files.iter().map(|file| file.to_string_lossy()).collect();
    let list = serde_json::to_string(&paths).map_err(|error| error.to_string())?;
    let mut child = Command::new(python)
        .arg(root.join("tests/in_o2a.py"))
        .arg(out)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(list.as_bytes()).map_err(|error| error.to_string())?;
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let answer = last_line(&output.stdout)?;
    let seconds = answer["seconds"].as_f64().unwrap_or_default();
    let each = 1000.0 * seconds / files.len().max(1) as f64;
    let converted = &answer["converted"];
    eprintln!("  o2a: {converted} of {} converted, {each:.0} ms each", files.len());
    imported(root, out, "o2a")
}

fn ours(root: &Path, files: &[PathBuf], out: &Path) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
    for target in ["airflow==2.10", "airflow"] {
        let out = out.join(target);
        std::fs::create_dir_all(&out).map_err(|error| error.to_string())?;
        let report = out.join("report.json");
        let began = Instant::now();
        let status = Command::new(&program)
            .args(["convert", "--isolated", "--allow", "*", "--to", target, "--report"])
            .arg(&report)
            .arg("-o")
            .arg(&out)
            .args(files)
            .stderr(Stdio::null())
            .status();
        let each = began.elapsed().as_secs_f64() * 1000.0 / files.len().max(1) as f64;
        if !status.map_err(|error| error.to_string())?.success() {
            return Err("ankus convert failed".to_owned());
        }
        let text = std::fs::read_to_string(&report).map_err(|error| error.to_string())?;
        let report: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let applications = report["applications"].as_array().cloned().unwrap_or_default();
        let made = applications.iter().filter(|one| one["outputs"][0].is_string());
        let made: BTreeSet<&str> = made.filter_map(|one| one["path"].as_str()).collect();
        let (count, all) = (made.len(), files.len());
        eprintln!("  ankus, {target}: {count} of {all} converted, {each:.1} ms each");
        imported(root, &out, &format!("ankus, {target}"))?;
    }
    Ok(())
}

/// Counts for each available Airflow how many files of an output it imports.
fn imported(root: &Path, out: &Path, who: &str) -> Result<(), String> {
    let all = std::fs::read_dir(out.join("dags")).map_or(0, Iterator::count);
    for (name, variable, usual) in [
        ("Airflow 2.10", "ANKUS_AIRFLOW2", "/tmp/airflow210"),
        ("Airflow 3", "ANKUS_AIRFLOW3", "/tmp/airflow3"),
    ] {
        // Our output for one release is not meant for the other.
        if who.contains("==2.10") != name.contains("2.10") && who != "o2a" {
            continue;
        }
        let folder = std::env::var_os(variable).map_or_else(|| PathBuf::from(usual), PathBuf::from);
        let python = folder.join("bin/python");
        if !python.is_file() {
            eprintln!("  skipped: there is no {}", python.display());
            continue;
        }
        let home = out.join("home").join(name);
        std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
        let output = Command::new(&python)
            .arg(root.join("tests/in_airflow.py"))
            .arg("import")
            .arg(out)
            .env("AIRFLOW_HOME", home)
            .env("PYTHONPATH", libraries())
            .stderr(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let answer = last_line(&output.stdout)?;
        let errors = answer["errors"].as_object().cloned().unwrap_or_default();
        let google = |error: &&Value| {
            error
                .as_str()
                .is_some_and(|text| text.contains("No module named 'airflow.providers.google'"))
        };
        let unknown = errors.values().filter(google).count();
        let imports = all - errors.len();
        eprintln!(
            "  {who}: {name} imports {imports} of {all}; {unknown} ask for Google's provider, which is not there"
        );
    }
    Ok(())
}

/// Returns the folder of the library that files of o2a import.
fn libraries() -> String {
    let folder = std::env::var("ANKUS_O2A").unwrap_or_else(|_| "/tmp/o2a-env".to_owned());
    let found = std::fs::read_dir(format!("{folder}/lib")).ok().and_then(|mut all| all.next());
    let packages = found.and_then(Result::ok).map(|entry| entry.path()).unwrap_or_default();
    packages.join("site-packages/o2a/o2a_libs/src").to_string_lossy().into_owned()
}

fn last_line(bytes: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(bytes);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|error| format!("{error}: {last}"))
}
