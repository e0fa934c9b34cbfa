//! The clients in `editors/`, in the editors themselves if those are installed: a session that a user could have.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The definition that is edited: it is accepted, and both names occur more than once.
const WORKFLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="nightly">
  <start to="clean"/>
  <action name="clean">
    <fs><delete path="${nameNode}/out"/></fs>
    <ok to="report"/>
    <error to="failed"/>
  </action>
  <action name="report">
    <fs><mkdir path="${nameNode}/out"/></fs>
    <ok to="done"/>
    <error to="failed"/>
  </action>
  <kill name="failed"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="done"/>
</workflow-app>
"#;

fn editors() -> String {
    format!("{}/../editors", env!("CARGO_MANIFEST_DIR"))
}

/// Whether a program can be started; prints a message if not.
fn is_there(program: &str) -> bool {
    let is =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is {
        println!("skipped: {program} is not installed");
    }
    is
}

/// Runs a program in a folder of its own, isolated from the user's settings.
fn session(folder: &Path, program: &str, arguments: &[&str]) -> Output {
    let file = folder.join("workflow.xml");
    fs::write(&file, WORKFLOW).expect("a definition");
    fs::write(folder.join("job.properties"), "nameNode=hdfs://nn\n").expect("its properties");
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("HOME", folder)
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("ANKUS", env!("CARGO_BIN_EXE_ankus"))
        .env("ANKUS_FILE", &file)
        .env("ANKUS_NVIM", format!("{}/nvim", editors()))
        .output()
        .expect("the editor starts")
}

/// Asserts that each part of a session reported `ok` and none `not ok`.
#[track_caller]
fn came_out(output: &Output, parts: usize) {
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let fine = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(output.status.success(), "{said}");
    assert_eq!(fine, parts, "{said}");
}

#[test]
fn neovim_edits_a_definition() {
    if !is_there("nvim") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("{}/nvim/test/session.lua", editors());
    came_out(
        &session(folder.path(), "nvim", &["--headless", "-u", "NONE", "-n", "-S", &script]),
        9,
    );
}

#[test]
fn emacs_edits_a_definition() {
    if !is_there("emacs") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (library, script) =
        (format!("{}/emacs", editors()), format!("{}/emacs/test/session.el", editors()));
    came_out(
        &session(folder.path(), "emacs", &["-q", "--batch", "-L", &library, "-l", &script]),
        7,
    );
}
