//! Operators: whatever is commanded and killed, ended means stopped, and every job ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ankus_cli::testing;
use ankus_runtime::driver::{self, Driver, view};
use ankus_runtime::machine::{Command, JobStatus};
use ankus_runtime::store::{Options, Sqlite, Synchronous};

use crate::run::BINARY;
use crate::storms;

#[test]
fn storms_leave_no_copy_beside_another_and_nothing_alive() {
    if std::process::Command::new("flock").arg("--version").output().is_err() {
        println!("skipped: there is no `flock`, with which programs note that they run");
        return;
    }
    // Other tests run beside it, on machines of any speed: how long a command takes is measured elsewhere.
    let patience = Duration::from_secs(120);
    let report = storms::rage(Path::new(BINARY), 20, 1, 10, patience);
    let report = report.unwrap_or_else(|why| panic!("{why}"));
    println!("storms: {report:?}");
}

/// A store as the release before left it: jobs that have ended, one that is suspended, one whose program was running when the
/// machine went down.
#[test]
fn a_store_of_the_last_format_is_taken_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/journals/format-1.sqlite");
    fs::copy(&kept, folder.path().join("store.sqlite")).expect("a fixture");
    let driver = open(folder.path());
    let reader = driver.reader();
    let status = |id: &str| {
        let record = view::record(&*reader, id).expect("readable").expect("a job");
        record.job.status
    };
    assert_eq!(status("done"), JobStatus::Succeeded);
    assert_eq!(status("half"), JobStatus::Suspended);
    assert_eq!(status("running"), JobStatus::Running);
    driver.command("half", Command::Resume).expect("it is suspended");
    driver.activate("running").expect("it is known");
    // Its program is started again where its folder is still there, and it is lost where it is not.
    if let Err(error) = driver.command("running", Command::Kill) {
        assert!(status("running").is_end(), "{error}");
    }
    for id in ["half", "running"] {
        assert!(driver.wait(id, Duration::from_secs(30)).expect("it is run"), "{id} does not end");
    }
    assert_eq!(status("half"), JobStatus::Succeeded);
    assert!(status("running").is_end());
    assert!(folder.path().join("root/made/c").is_dir(), "what was left of it was done");
    let failed = ("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned());
    driver.rerun("half", None, &BTreeMap::from([failed])).expect("it has ended");
    assert!(driver.wait("half", Duration::from_secs(30)).expect("it is run"));
    let coordinators = driver::coordinator::records(&*reader).expect("readable");
    assert_eq!(coordinators.len(), 1);
}

fn open(folder: &Path) -> Driver {
    let options = Options { synchronous: Synchronous::Normal, ..Options::default() };
    let store = Sqlite::open(&folder.join("store.sqlite"), options).expect("a store");
    let surroundings = testing::surroundings(PathBuf::from(BINARY), &folder.join("root"));
    driver::open_store(Box::new(store), folder.to_owned(), surroundings).expect("a driver")
}
