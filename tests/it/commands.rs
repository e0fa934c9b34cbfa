//! Commands of an operator: how jobs are named, what is reported about them, and how long they are kept.

use std::fs;
use std::path::Path;

use crate::run::{ankus, application, lines, text, write_steps};

#[track_caller]
fn tell(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = ankus(folder, arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
    text(&output)
}

#[test]
fn a_job_is_named_by_the_beginning_of_its_id_or_as_the_latest() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_steps(&folder.join("app"));
    assert!(tell(folder, &["job", "show", "latest"], 2).contains("there is no store"));
    for id in ["load-one", "load-two"] {
        tell(folder, &["run", "app", "--id", id], 0);
    }
    assert!(tell(folder, &["job", "show", "latest"], 0).starts_with("load-two steps (SUCCEEDED)"));
    assert!(tell(folder, &["job", "show", "load-o"], 0).starts_with("load-one steps (SUCCEEDED)"));
    let ambiguous = tell(folder, &["job", "log", "load"], 2);
    assert!(ambiguous.contains("`load` matches 2 ids"), "{ambiguous}");
    assert!(ambiguous.contains("give more characters of it: load-one, load-two"), "{ambiguous}");
    let unknown = tell(folder, &["job", "kill", "nothing"], 2);
    assert!(unknown.contains("there is no job `nothing`"), "{unknown}");
    assert!(tell(folder, &["run", "--resume", "lat"], 2).contains("there is no job `lat`"));
    assert!(tell(folder, &["run", "app", "--id", "latest"], 2).contains("submitted last"));
    let again = tell(folder, &["job", "rerun", "load-o"], 0);
    assert!(again.contains("SUCCEEDED steps load-one in "), "{again}");
    assert_eq!(
        lines(&folder.join(".ankus/root")).len(),
        12,
        "two runs and a rerun of four programs"
    );
    let shown = tell(folder, &["job", "show", "load-one"], 0);
    assert!(shown.contains("\n  took     "), "{shown}");
    let one = shown.lines().find(|line| line.trim_start().starts_with("one ")).expect("a line");
    assert!(one.contains("OK -> split  (") && one.ends_with("s)"), "{one}");
    assert_eq!(tell(folder, &["job", "purge", "latest"], 0).lines().count(), 3);
    assert!(tell(folder, &["job", "show", "latest"], 0).starts_with("load-one"));
}

#[test]
fn a_job_is_drawn_after_a_rerun_and_from_another_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let other = folder.path().join("elsewhere");
    fs::create_dir_all(&other).expect("a folder");
    write_steps(&folder.path().join("app"));
    tell(folder.path(), &["run", "app", "--id", "drawn"], 0);
    // Paths in the graph are relative to the current folder.
    let ways = |folder: &Path, store: &str| -> Vec<String> {
        let drawing = tell(folder, &["job", "graph", "drawn", "--store", store], 0);
        let ways = drawing.lines().filter(|line| line.contains(" -> "));
        ways.map(str::to_owned).collect()
    };
    let first = ways(folder.path(), ".ankus");
    let taken = first.iter().filter(|way| way.contains("penwidth=3"));
    assert_eq!(taken.count(), 9, "{first:?}");
    assert_eq!(ways(&other, "../.ankus"), first);
    tell(folder.path(), &["job", "rerun", "drawn"], 0);
    assert_eq!(ways(folder.path(), ".ankus"), first);
    assert_eq!(ways(&other, "../.ankus"), first);
    fs::remove_dir_all(folder.path().join("app")).expect("it is there");
    let gone = tell(folder.path(), &["job", "graph", "drawn"], 2);
    assert!(gone.contains("the definition of `drawn` is no longer where it was"), "{gone}");
}

#[test]
fn ended_jobs_are_kept_for_as_long_as_settings_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write_steps(&folder.join("app"));
    tell(folder, &["run", "app", "--id", "first"], 0);
    tell(folder, &["run", "app", "--id", "second"], 0);
    assert_eq!(tell(folder, &["job", "list"], 0).lines().count(), 4);
    // The flags of Oozie's own command line.
    let one = |with: &[&str]| {
        tell(folder, &[&["job", "list", "-filter", "status=SUCCEEDED"], with].concat(), 0)
    };
    assert_eq!(one(&["-len", "1"]), one(&["--len=1"]));
    assert_ne!(one(&["-len=1"]), one(&["-len=1", "-offset", "2"]));
    fs::write(folder.join("ankus.toml"), "[store]\nkeep = \"365d\"\n").expect("a file");
    tell(folder, &["up", "--until-idle"], 0);
    assert_eq!(tell(folder, &["job", "list"], 0).lines().count(), 4);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    fs::write(folder.join("ankus.toml"), "[store.keep]\nworkflows = \"1s\"\n").expect("a file");
    tell(folder, &["up", "--until-idle"], 0);
    assert!(tell(folder, &["job", "list"], 0).contains("no jobs"));
    fs::write(folder.join("ankus.toml"), "[store]\nkeep = \"soon\"\n").expect("a file");
    assert!(tell(folder, &["up", "--until-idle"], 2).contains("`soon` is not a time span"));
}

const COORDINATOR: &str = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='daily' frequency='${coord:days(1)}' \
    start='2026-01-01T00:00Z' end='2026-01-03T00:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/app</app-path>\
    </workflow></action></coordinator-app>";

#[test]
fn a_command_about_actions_that_there_are_not_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    application(folder, &[("coord/coordinator.xml", COORDINATOR)]);
    write_steps(&folder.join(".ankus/root/app"));
    tell(folder, &["run", "coord", "--id", "daily"], 0);
    for command in ["kill", "rerun", "ignore"] {
        let said = tell(folder, &["job", command, "daily", "--action", "300"], 2);
        assert!(said.contains("`daily` has no action 300"), "{said}");
        assert!(said.contains("it has actions 1 to 2 so far"), "{said}");
    }
    let again = tell(folder, &["job", "rerun", "daily", "--action", "2,300", "--force"], 0);
    assert!(again.contains("SUCCEEDED daily"), "{again}");
}

#[test]
fn one_path_that_is_missing_leaves_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("a.xml", "<workflow-app/>"), ("b.xml", "<workflow-app/>")]);
    let said = tell(folder.path(), &["check", "a.xml", "gone.xml", "b.xml"], 2);
    assert!(said.contains("a.xml:") && said.contains("b.xml:"), "{said}");
    assert!(said.contains("cannot read `gone.xml`"), "{said}");
}
