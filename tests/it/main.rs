//! The one integration binary: a module per subject.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read fixtures and say how far they agree"
)]

mod cli;
mod clocks;
#[cfg(feature = "hdfs")]
mod clusters;
mod coordinator_rules;
mod coordinator_run;
mod coordinator_traces;
mod coordinators;
mod corpus;
mod crash;
mod damage;
mod docs;
mod estate;
mod eval;
mod expressions;
mod fixes;
mod format;
mod formats;
mod fuzz_seeds;
mod graph;
mod hostile_texts;
#[cfg(unix)]
mod hostile_trees;
mod lint;
mod mending;
mod robust;
mod run;
mod scenarios;
mod schema;
mod simulation;
mod single_faults;
mod tidy;
mod timeline;
mod traces;
mod verdicts;

use std::path::PathBuf;

/// The project's root.
fn root() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    package.parent().expect("the package of the command line lies in the project").to_owned()
}

/// The folder of facts that lies beside the project, or where `variable` says; says so where it is absent.
fn shared(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = root().join("../shared").join(name);
    let folder = std::env::var_os(variable).map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: {variable} is not set and {} is no folder", folder.display());
    None
}
