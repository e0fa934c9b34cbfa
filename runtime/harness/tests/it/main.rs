//! Runs procedures in a process that is repeatedly killed with SIGKILL, and started again on the same store.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "the test starts itself as a process and prints what was killed"
)]

use std::path::PathBuf;
use std::process::Command;

use ankus_harness::crash;

const STORE: &str = "ANKUS_CRASH_STORE";
const BATCH: &str = "ANKUS_CRASH_BATCH";

#[test]
fn a_killed_process_loses_nothing_and_repeats_nothing() {
    // The killed process runs this same test.
    if let (Some(store), Ok(batch)) = (std::env::var_os(STORE), std::env::var(BATCH)) {
        let done = crash::child(&PathBuf::from(store), batch.parse().expect("a number"));
        assert_eq!(done, Ok(()));
        return;
    }

    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    let program = std::env::current_exe().expect("this program has a file");
    let name = "a_killed_process_loses_nothing_and_repeats_nothing";
    let report = crash::rounds(&store, 25, 4, |batch| {
        let mut command = Command::new(&program);
        command.args(["--exact", name]).env(STORE, &store).env(BATCH, batch.to_string());
        command
    });
    let report = report.unwrap_or_else(|why| panic!("{why}"));
    println!("procedure crashes: {report:?}");
    assert_eq!(report.kills, 25);
}
