//! Limits of launchers: how many programs run at once, and what happens to the actions that wait.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::run::{ankus, application, shell, text};

/// Records when it begins and ends, and runs until `go` exists.
const STEP: &str = "#!/bin/sh\necho \"begin $ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\n\
                    while [ ! -e \"$ANKUS_FILE_ROOT/go\" ]; do sleep 0.05; done\n\
                    echo \"end $ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\n";

/// A fork of `branches` branches, each with two programs.
fn wide(branches: usize) -> String {
    let paths: String = (0..branches).map(|at| format!("<path start='first{at}'/>")).collect();
    let nodes: String = (0..branches)
        .map(|at| {
            shell(&format!("first{at}"), &format!("second{at}"))
                + &shell(&format!("second{at}"), "both")
        })
        .collect();
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='wide'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='split'/><fork name='split'>{paths}</fork>{nodes}\
         <join name='both' to='end'/><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new(branches: usize, settings: &str) -> Ground {
        let folder = tempfile::tempdir().expect("a folder");
        let files = [("workflow.xml", wide(branches)), ("step.sh", STEP.to_owned())];
        for (name, content) in &files {
            application(&folder.path().join("app"), &[(name, content)]);
        }
        fs::write(folder.path().join("ankus.toml"), settings).expect("a file");
        fs::create_dir_all(folder.path().join("root")).expect("a folder");
        Ground { folder }
    }

    fn root(&self, name: &str) -> PathBuf {
        self.folder.path().join("root").join(name)
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = ankus(self.folder.path(), arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    fn tell(&self, arguments: &[&str]) -> String {
        let output = ankus(self.folder.path(), arguments).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        text(&output)
    }

    fn show(&self) -> serde_json::Value {
        // On a busy machine, stderr reports that the process that runs the job does not answer yet.
        let arguments = ["job", "show", "wide", "--format", "json"];
        let output = ankus(self.folder.path(), &arguments).output().expect("it runs");
        assert!(output.status.success(), "{}", text(&output));
        serde_json::from_slice(&output.stdout).expect("an object")
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.root("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn let_go(&self) {
        fs::write(self.root("go"), "").expect("a file");
    }

    #[track_caller]
    fn until(&self, what: &str, mut comes: impl FnMut() -> bool) {
        let since = Instant::now();
        while !comes() {
            assert!(since.elapsed() < Duration::from_secs(120), "{what}: {:?}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    fn until_begun(&self, programs: usize) {
        self.until("programs begin", || self.log().len() == programs);
    }

    /// The largest number of programs that ran at once according to the log; asserts that each of them began and ended
    /// once.
    #[track_caller]
    fn most_at_once(&self, programs: usize) -> usize {
        let (mut now, mut most) = (0, 0);
        let log = self.log();
        for line in &log {
            match line.starts_with("begin") {
                true => now += 1,
                false => now -= 1,
            }
            most = most.max(now);
        }
        let mut begun: Vec<_> = log.iter().filter(|line| line.starts_with("begin")).collect();
        begun.sort();
        begun.dedup();
        assert_eq!((now, begun.len(), log.len()), (0, programs, 2 * programs), "{log:?}");
        most
    }
}

fn waiting(job: &serde_json::Value) -> usize {
    let actions = job["actions"].as_array().expect("actions");
    let waiting = actions.iter().filter(|action| action["waiting"].is_object()).count();
    assert_eq!(job["waiting"].as_u64().unwrap_or_default() as usize, waiting);
    waiting
}

#[test]
fn no_more_programs_run_at_once_than_may() {
    let ground = Ground::new(6, "[launchers]\nmax = 2\n");
    let run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(2);
    let shown = ground.show();
    assert_eq!(waiting(&shown), 4);
    let of = |shown: &serde_json::Value| {
        let actions = shown["actions"].as_array().expect("actions").iter();
        actions.clone().find_map(|action| action.get("waiting").cloned()).expect("one waits")
    };
    let what = of(&shown);
    assert_eq!(
        (
            what["for"].as_str(),
            what["limit"].as_str(),
            what["taken"].as_u64(),
            what["most"].as_u64()
        ),
        (Some("place"), Some("[launchers] max"), Some(2), Some(2))
    );
    let human = ground.tell(&["job", "show", "wide"]);
    let line = "PREP, WAITING for a place: 2 of 2 taken, [launchers] max";
    assert_eq!(human.matches(line).count(), 4, "{human}");
    ground.let_go();
    let output = run.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(ground.most_at_once(12), 2);
}

#[test]
fn types_and_queues_have_places_of_their_own() {
    for settings in ["[launchers.shell]\nmax = 1\n", "[launchers.queues]\ndefault = 1\n"] {
        let ground = Ground::new(3, settings);
        ground.let_go();
        ground.tell(&["run", "app", "--id", "wide", "--root", "root"]);
        assert_eq!(ground.most_at_once(6), 1, "{settings}");
    }
    let ground = Ground::new(3, "[launchers.queues]\nother = 1\n[launchers.pig]\nmax = 1\n");
    let run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(3);
    ground.let_go();
    assert!(run.wait_with_output().expect("it ends").status.success());
}

#[test]
fn a_killed_action_that_waits_starts_nothing() {
    let ground = Ground::new(5, "[launchers]\nmax = 1\ngrace = 1\n");
    let run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(1);
    ground.until("four wait", || waiting(&ground.show()) == 4);
    let killed = ground.tell(&["job", "kill", "wide"]);
    assert!(killed.starts_with("KILLED wide"), "{killed}");
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert_eq!(ground.log().len(), 1, "{:?}", ground.log());
    let shown = ground.show();
    let killed = shown["actions"].as_array().expect("actions").iter();
    assert_eq!(killed.filter(|action| action["status"] == "KILLED").count(), 5);
    // An action that was killed while it waited runs in a rerun.
    ground.let_go();
    fs::remove_file(ground.root("log")).expect("it is there");
    ground.tell(&["job", "rerun", "wide", "--failed"]);
    assert_eq!(ground.most_at_once(10), 1);
}

#[test]
fn what_waits_is_not_started_while_its_job_is_suspended() {
    let ground = Ground::new(4, "[launchers]\nmax = 1\n");
    let mut run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(1);
    ground.until("three wait", || waiting(&ground.show()) == 3);
    // The running program does not prevent a suspension.
    ground.tell(&["job", "suspend", "wide"]);
    assert_eq!(ground.show()["status"], "SUSPENDED");
    ground.let_go();
    // The running program ends; nothing is left to wait for then.
    let status = run.wait().expect("it ends");
    assert_eq!(status.code(), Some(3));
    assert_eq!(ground.log().len(), 2, "{:?}", ground.log());
    assert_eq!(ground.show()["status"], "SUSPENDED");
    let up = ankus(ground.folder.path(), &["up", "--until-idle"]).output().expect("it runs");
    assert_eq!(up.status.code(), Some(3), "{}", text(&up));
    assert_eq!(ground.log().len(), 2, "{:?}", ground.log());
    ground.tell(&["job", "resume", "wide"]);
    assert_eq!(ground.most_at_once(8), 1);
}

#[test]
fn what_waits_is_taken_up_after_a_crash() {
    let ground = Ground::new(4, "[launchers]\nmax = 2\n");
    let mut run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(2);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    assert_eq!(waiting(&ground.show()), 0, "nobody runs it");
    let run = ground.start(&["run", "--resume", "wide"]);
    ground.until("two wait again", || waiting(&ground.show()) == 2);
    assert_eq!(ground.log().len(), 2, "the programs of before have their places");
    ground.let_go();
    let output = run.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(ground.most_at_once(8), 2);
}

#[test]
fn programs_of_a_job_that_nobody_runs_have_places() {
    let ground = Ground::new(2, "[launchers]\nmax = 2\n");
    let mut run = ground.start(&["run", "app", "--id", "left", "--root", "root"]);
    ground.until_begun(2);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground
        .until("both wait", || run_is_there(ground.folder.path()) && waiting(&ground.show()) == 2);
    assert_eq!(ground.log().len(), 2, "{:?}", ground.log());
    ground.let_go();
    let output = run.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(ground.log().len(), 4 + 8, "{:?}", ground.log());
}

fn run_is_there(folder: &Path) -> bool {
    let shown = ankus(folder, &["job", "show", "wide"]).output().expect("it runs");
    shown.status.success()
}

#[test]
fn nothing_starts_below_the_floor_of_the_disk() {
    let ground = Ground::new(2, "[launchers]\ndisk_floor = \"1000TB\"\n");
    let mut run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground
        .until("both wait", || run_is_there(ground.folder.path()) && waiting(&ground.show()) == 2);
    let human = ground.tell(&["job", "show", "wide"]);
    assert!(human.contains("WAITING for room on the disk: "), "{human}");
    assert_eq!(ground.show()["actions"][2]["waiting"]["for"], "disk");
    ground.tell(&["job", "kill", "wide"]);
    assert_eq!(run.wait().expect("it ends").code(), Some(1));
    assert!(ground.log().is_empty());
}

#[test]
fn limits_that_make_no_sense_are_refused() {
    for (settings, why) in [
        ("[launchers]\nmax = 0\n", "nothing would ever start"),
        ("[launchers.fs]\nmax = 1\n", "unknown key `fs`"),
        ("[launchers]\ndisk_floor = \"1 mile\"\n", "`1 mile` is not a size"),
    ] {
        let ground = Ground::new(1, settings);
        let output = ankus(ground.folder.path(), &["run", "app"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(why), "{}", text(&output));
    }
}

/// Runs one shell action with these settings. Returns its output, and the folder in which it ran.
fn one(settings: &str, script: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let definition = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='one'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='one'/>{}<kill name='bad'><message>bad</message></kill>\
         <end name='end'/></workflow-app>",
        shell("one", "end")
    );
    let script = format!("#!/bin/sh\n{script}\n");
    let app = folder.path().join("app");
    application(&app, &[("workflow.xml", &definition), ("step.sh", &script)]);
    fs::write(folder.path().join("ankus.toml"), settings).expect("a file");
    let mut run = ankus(folder.path(), &["run", "app", "--id", "one"]);
    let said = text(&run.env("TOKEN", "t0p").output().expect("it runs"));
    (folder, said)
}

fn attempt(folder: &tempfile::TempDir, file: &str) -> String {
    let path = folder.path().join(".ankus/jobs/one/one-0-1").join(file);
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn a_program_that_passes_its_bounds_is_ended_and_says_so() {
    let (_folder, said) = one(
        "[launchers]\ngrace = 1\n[launchers.local]\ntime = 1\n",
        "trap '' TERM\nsleep 3600 &\nsleep 3600\nsleep 3600",
    );
    assert!(said.contains("ran longer than allowed ([launchers.local] time)"), "{said}");
    let (_folder, said) = one(
        "[launchers.local]\ndisk = \"200KB\"\n",
        "for i in 1 2 3; do head -c 100000 /dev/zero > part$i; done; sleep 3600",
    );
    assert!(said.contains("wrote more to its folder than allowed"), "{said}");
    if cfg!(target_os = "linux") {
        let (folder, said) = one(
            "[launchers.local]\ndisk = \"100KB\"\n",
            "head -c 200000 /dev/zero > whole; echo \"$?\"; wc -c < whole >&2",
        );
        assert_eq!(attempt(&folder, "stderr").trim().lines().last(), Some("102400"), "{said}");
        let (folder, said) =
            one("[launchers.local]\nmemory = \"1GB\"\ncpu = 77\n", "ulimit -v; ulimit -t >&2");
        let limits = (attempt(&folder, "stdout"), attempt(&folder, "stderr"));
        assert_eq!((limits.0.trim(), limits.1.trim()), ("1048576", "77"), "{said}");
    }
}

#[test]
fn output_is_kept_up_to_what_an_attempt_and_a_job_may() {
    let script = "head -c 50000 /dev/zero | tr '\\0' x >&2\nhead -c 1500 /dev/zero | tr '\\0' '='";
    let (folder, said) = one("[launchers]\noutput = \"10KB\"\n", script);
    assert!(said.starts_with("SUCCEEDED"), "what is captured is whole: {said}");
    let kept = attempt(&folder, "stderr");
    let note = "\n[39760 bytes more were not kept: of one stream the first 10240 are, [launchers] output]\n";
    assert_eq!((kept.len(), kept.ends_with(note)), (10_240 + note.len(), true), "{kept}");
    let (folder, said) = one("[launchers]\noutput_job = 20000\n", script);
    assert!(said.starts_with("SUCCEEDED"), "what is captured is whole: {said}");
    assert_eq!(attempt(&folder, "stdout").len(), 1_500);
    let note = "\n[30000 bytes more were not kept: the job has reached its limit, [launchers] output_job]\n";
    assert_eq!(attempt(&folder, "stderr").len(), 20_000 + note.len());
}

fn has_sandbox() -> bool {
    let mut probe = std::process::Command::new("bwrap");
    probe.args([
        "--unshare-pid",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "true",
    ]);
    let is_there = probe.output().is_ok_and(|output| output.status.success());
    if !is_there {
        println!("skipped: `bwrap` is not here, or cannot make a sandbox");
    }
    is_there
}

#[test]
fn a_sandbox_shows_and_gives_what_is_its_own() {
    if !has_sandbox() {
        return;
    }
    let script = "\
        (echo x > \"$HOME/outside\") 2>/dev/null && echo outside=written\n\
        (echo x > ../launch.json) 2>/dev/null && echo launch=written\n\
        (echo x > ../../../../../ankus.toml) 2>/dev/null\n\
        test -e ../../../../store.sqlite && echo store=seen\n\
        test -n \"$TOKEN\" && echo token=seen\n\
        test -r ../launch.json && echo launch=read\n\
        echo x > own && echo own=written\n\
        echo x > \"$ANKUS_FILE_ROOT/made\" && echo root=written\n\
        echo x > /tmp/ankus-of-a-sandbox && echo tmp=written\n\
        echo links=$(tail -n +3 /proc/net/dev | grep -cv lo:)";
    let (folder, said) =
        one("[launchers.local]\nsandbox = \"bubblewrap\"\nnetwork = false\n", script);
    assert!(said.starts_with("SUCCEEDED"), "{said}");
    let seen = attempt(&folder, "stdout");
    let expected = "launch=read\nown=written\nroot=written\ntmp=written\nlinks=0\n";
    assert_eq!(seen, expected, "{said}");
    assert!(folder.path().join(".ankus/root/made").exists());
    let settings = fs::read_to_string(folder.path().join("ankus.toml")).expect("settings");
    assert!(settings.starts_with("[launchers.local]"), "{settings}");
    assert!(!Path::new("/tmp/ankus-of-a-sandbox").exists());
}

#[test]
fn killed_means_stopped_in_a_sandbox_too() {
    if !has_sandbox() {
        return;
    }
    let ground = Ground::new(
        2,
        "[launchers]\nmax = 1\ngrace = 60\n[launchers.local]\nsandbox = \"bubblewrap\"\n",
    );
    // The program cleans up on SIGTERM, and leaves a child process in a session of its own.
    let script = "#!/bin/sh\ntrap 'echo asked >> \"$ANKUS_FILE_ROOT/log\"; sleep 0.3; echo tidy >> \"$ANKUS_FILE_ROOT/log\"; exit 0' TERM\n\
                  setsid sh -c 'trap \"\" TERM; sleep 3131.31; sleep 3131.32' &\necho begin >> \"$ANKUS_FILE_ROOT/log\"\n\
                  while :; do sleep 0.05; done\n";
    application(&ground.folder.path().join("app"), &[("step.sh", script)]);
    let run = ground.start(&["run", "app", "--id", "wide", "--root", "root"]);
    ground.until_begun(1);
    ground.tell(&["job", "kill", "wide"]);
    let output = run.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert_eq!(ground.log(), ["begin", "asked", "tidy"]);
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    let left = processes.filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("3131.3")
    });
    assert_eq!(left.count(), 0, "with its first process all of a sandbox goes");
}

/// As in a YARN container: a process with a session of its own was detached on purpose, and stays.
#[test]
fn what_a_program_leaves_in_its_group_ends_with_it() {
    if !cfg!(target_os = "linux") {
        println!("skipped: processes are looked up in /proc");
        return;
    }
    let script = "sleep 3141.51 >/dev/null 2>&1 &\n\
                  (trap '' TERM; sleep 3141.52; sleep 3141.53) >/dev/null 2>&1 &\n\
                  setsid sleep 3141.54 >/dev/null 2>&1 &\nsleep 0.1\necho done";
    let (folder, said) = one("", script);
    assert!(said.starts_with("SUCCEEDED"), "{said}");
    assert_eq!(attempt(&folder, "stdout"), "done\n");
    let mut left = Vec::new();
    for process in fs::read_dir("/proc").expect("processes").flatten() {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains("3141.5") {
            let pid = process.file_name().to_string_lossy().into_owned();
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
            left.push(line.trim().to_owned());
        }
    }
    assert_eq!(left, ["sleep 3141.54"]);
}

#[test]
fn without_its_sandbox_nothing_is_started() {
    for (kind, tool) in [("bubblewrap", "bwrap"), ("systemd-run", "systemd-run")] {
        let settings = format!(
            "[tools]\n{tool} = \"/no/such/program\"\n[launchers.local]\nsandbox = \"{kind}\"\n"
        );
        let (folder, said) = one(&settings, "echo x > \"$ANKUS_FILE_ROOT/made\"");
        let why = format!(
            "the sandbox `{kind}` cannot be created: there is no program `/no/such/program`"
        );
        assert!(said.contains(&why), "{said}");
        assert!(!folder.path().join(".ankus/root/made").exists());
        let doctor = ankus(folder.path(), &["doctor"]).output().expect("it runs");
        assert_eq!(doctor.status.code(), Some(1));
        assert!(text(&doctor).contains(&format!("sandbox   {kind}: there is no program")));
    }
}

/// A user without any other processes may have only a few: programs that cannot be started wait, and all end well.
#[test]
fn for_want_of_processes_programs_wait() {
    let is_root = std::process::Command::new("id").arg("-u").output();
    let is_root = is_root.is_ok_and(|output| output.stdout == b"0\n");
    let has = |tool: &str| {
        std::process::Command::new(tool)
            .arg("--version")
            .output()
            .is_ok_and(|it| it.status.success())
    };
    if !is_root || !has("setpriv") || !has("prlimit") {
        println!("skipped: only root can become a user with few processes");
        return;
    }
    let ground = Ground::new(30, "[launchers]\nmax = 1000\n");
    let folder = ground.folder.path();
    // The program needs no other process: how it handles a failed fork would be its own affair.
    let step = "#!/bin/sh\necho \"begin $ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\nexec sleep 2\n";
    application(&folder.join("app"), &[("step.sh", step)]);
    let user = (60_000_000 + std::process::id()).to_string();
    let owned = std::process::Command::new("chown").args(["-R", &user]).arg(folder).status();
    assert!(owned.expect("it runs").success());
    let run = |arguments: &[&str], most: &str| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid", &user, "--clear-groups", "prlimit", &format!("--nproc={most}")]);
        command.arg(crate::run::BINARY).args(arguments).current_dir(folder);
        command
            .env("HOME", folder)
            .env_remove("ANKUS_STORE")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("it starts")
    };
    let output = run(&["run", "app", "--id", "wide", "--root", "root"], "40");
    let output = output.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", text(&output));
    let mut begun = ground.log();
    assert_eq!(begun.len(), 60, "none is started twice: {begun:?}");
    begun.sort();
    begun.dedup();
    assert_eq!(begun.len(), 60);
    // If there is no room for its own threads, ankus reports that and starts nothing.
    let output = run(&["run", "app", "--id", "none", "--root", "root"], "3");
    let output = output.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(!text(&output).contains("panicked"), "{}", text(&output));
    assert_eq!(ground.log().len(), 60);
}
