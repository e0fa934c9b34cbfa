//! Runs the scenarios of a whole tree here and in other engines: `ankus convert --prove` over the corpus.
//!
//! The input is the corpus (`ANKUS_CORPUS`, or `../shared/corpus`), or a given folder; `tests/airflow-env.sh`,
//! `tests/prefect-env.sh` and `tests/step-functions-env.sh` create the environments. The output is the differences, and
//! the number of scenarios that agree. This takes minutes: a scenario takes a quarter of a second in Airflow 2.10, and
//! twice that in Airflow 3.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs at most `most` scenarios of each application, with each available engine.
pub(crate) fn run(root: &Path, folder: Option<&str>, most: u64) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
    let corpus = std::env::var_os("ANKUS_CORPUS").map(PathBuf::from);
    let corpus = corpus.unwrap_or_else(|| root.join("../shared/corpus"));
    let folder = folder.map_or(corpus, PathBuf::from);
    let mut wrong = Vec::new();
    for (target, variable, usual) in [
        ("airflow", "ANKUS_AIRFLOW3", "/tmp/airflow3"),
        ("airflow==2.10", "ANKUS_AIRFLOW2", "/tmp/airflow210"),
        ("prefect", "ANKUS_PREFECT", "/tmp/prefect3"),
        ("step-functions", "ANKUS_MOTO", "/tmp/moto-env"),
    ] {
        let place = std::env::var_os(variable).map_or_else(|| PathBuf::from(usual), PathBuf::from);
        let python = place.join("bin/python");
        if !python.is_file() {
            eprintln!("skipped: there is no {}; tests/*-env.sh make it", python.display());
            continue;
        }
        let status = Command::new(&program)
            .args(["convert", "--isolated", "--allow", "*", "--to", target, "--prove"])
            .args(["--scenarios", &most.to_string(), "--python"])
            .arg(&python)
            .arg(&folder)
            .status()
            .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        if !status.success() {
            wrong.push(target);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("they differ in {}", wrong.join(", "))) }
}
