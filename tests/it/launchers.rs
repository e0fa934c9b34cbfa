//! The launcher that waits for the next program: it is used, it may be killed, and none is left behind.
#![cfg(target_os = "linux")]

use crate::run::{ankus, application, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Prints the command line of its launcher.
const SAY: &str = "#!/bin/sh\ntr '\\0' ' ' < /proc/$PPID/cmdline\nsleep \"${1:-0}\"\n";

fn workflow(seconds: &str) -> String {
    let action = |name: &str, next: &str| {
        format!(
            "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager>\
             <name-node>hdfs://nn</name-node><exec>say.sh</exec><argument>{seconds}</argument><file>say.sh</file></shell>\
             <ok to='{next}'/><error to='k'/></action>"
        )
    };
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/>{}{}{}<kill name='k'><message>bad</message></kill>\
         <end name='e'/></workflow-app>",
        action("a", "b"),
        action("b", "c"),
        action("c", "e")
    )
}

/// The process ids of the launchers of a store: those that wait, and those that run a program, which their attempts
/// name.
fn launchers(folder: &Path) -> (Vec<String>, Vec<String>) {
    let attempts = fs::read_dir(folder.join(".ankus/jobs/j")).into_iter().flatten();
    let named: Vec<String> = attempts
        .filter_map(|attempt| fs::read_to_string(attempt.ok()?.path().join("started")).ok())
        .collect();
    let (mut waiting, mut working) = (Vec::new(), Vec::new());
    for entry in fs::read_dir("/proc").expect("processes").filter_map(Result::ok) {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if !line.contains("__launch") || !line.contains(&*folder.to_string_lossy()) {
            continue;
        }
        let pid = entry.file_name().to_string_lossy().into_owned();
        let has_program = named.iter().any(|started| started.contains(&format!("\"pid\":{pid},")));
        if has_program { working.push(pid) } else { waiting.push(pid) }
    }
    (waiting, working)
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_program_finds_a_launcher_that_waits() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = [("app/workflow.xml", workflow("1")), ("app/say.sh", SAY.to_owned())];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    application(folder.path(), &files);
    let run = ankus(folder.path(), &["run", "app", "--id", "j"]).output().expect("it runs");
    assert_eq!(run.status.code(), Some(0), "{}", text(&run));
    for node in ["b", "c"] {
        let said = folder.path().join(format!(".ankus/jobs/j/{node}-0-1/stdout"));
        let said = fs::read_to_string(said).expect("output");
        assert!(said.trim_end().ends_with("/.ankus/jobs next"), "{node}: {said}");
    }
    until("none waits any more", || launchers(folder.path()) == (vec![], vec![]));
}

/// Killing the waiting launcher does no harm to the next program; killing ankus ends that launcher, but not the running
/// program.
#[test]
fn a_launcher_that_waits_may_be_killed_and_ends_with_ankus() {
    let folder = tempfile::tempdir().expect("a folder");
    let holds = "#!/bin/sh\nuntil [ -e \"$ANKUS_FILE_ROOT/$ANKUS_NODE\" ]; do sleep 0.1; done\n";
    let workflow = workflow("0");
    application(folder.path(), &[("app/workflow.xml", workflow.as_str()), ("app/say.sh", holds)]);
    let let_go = |node: &str| {
        let root = folder.path().join(".ankus/root");
        fs::create_dir_all(&root).expect("a folder");
        fs::write(root.join(node), "").expect("a file");
    };
    let mut run = ankus(folder.path(), &["run", "app", "--id", "j"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let begun = |node: &str| folder.path().join(format!(".ankus/jobs/j/{node}-0-1/child")).exists();
    let one_waits = || launchers(folder.path()).0.len() == 1;
    until("a program runs and a launcher waits", || begun("a") && one_waits());
    let (waiting, _) = launchers(folder.path());
    let killed = Command::new("kill").args(["-9", &waiting[0]]).status();
    assert!(killed.expect("a command").success());
    let_go("a");
    until("the next one runs and a launcher waits", || begun("b") && one_waits());
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    until("the one that waits has ended", || launchers(folder.path()).0.is_empty());
    assert_eq!(launchers(folder.path()).1.len(), 1, "the program goes on");
    let_go("b");
    let_go("c");
    let resumed = ankus(folder.path(), &["run", "--resume", "j"]).output().expect("it runs");
    assert_eq!(resumed.status.code(), Some(0), "{}", text(&resumed));
    let attempts = fs::read_dir(folder.path().join(".ankus/jobs/j")).expect("attempts");
    let names = attempts.filter_map(Result::ok).map(|entry| entry.file_name());
    let again = names.filter(|name| name.to_string_lossy().ends_with("-1.1")).count();
    assert_eq!(again, 0, "nothing was started again");
}

/// A launcher's report that its program has ended counts before it is on disk. Here it never gets there, because a pipe
/// is in the place of its file, and only the next program reads from that.
#[test]
fn a_job_goes_on_before_the_end_of_a_program_is_on_the_disk() {
    let folder = tempfile::tempdir().expect("a folder");
    let [blocks, frees] = [
        "#!/bin/sh\nrm ../exit.new && mkfifo ../exit.new\n",
        "#!/bin/sh\ncat ../../a-0-1/exit.new > ended\n",
    ];
    let workflow = workflow("0");
    let workflow = workflow.replacen("say.sh", "blocks.sh", 2).replacen("say.sh", "frees.sh", 2);
    let files = [
        ("app/workflow.xml", workflow.as_str()),
        ("app/blocks.sh", blocks),
        ("app/frees.sh", frees),
        ("app/say.sh", SAY),
    ];
    application(folder.path(), &files);
    let mut run = ankus(folder.path(), &["run", "app", "--id", "j"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let began = Instant::now();
    let status = loop {
        if let Some(status) = run.try_wait().expect("a process") {
            break status.code();
        }
        if began.elapsed() > Duration::from_secs(60) {
            run.kill().expect("it runs");
            let (_, working) = launchers(folder.path());
            let _ = Command::new("kill").arg("-9").args(working).status();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status, Some(0));
    assert!(!folder.path().join(".ankus/jobs/j/a-0-1/exit").exists(), "it never got there");
}
