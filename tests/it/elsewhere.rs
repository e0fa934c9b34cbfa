//! Programs that run on other hosts over ssh, which needs `sshd` (`ANKUS_SSHD`, or the usual path).

use crate::run::{BINARY, ankus, application, text};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A host for ssh logins: this one, with a daemon of its own that ends when the value is dropped.
pub(crate) struct Host {
    pub(crate) folder: tempfile::TempDir,
    daemon: Child,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Host {
    /// Starts the daemon. Returns none, and prints the reason, if `sshd` or its tools are missing.
    pub(crate) fn start() -> Option<Host> {
        let given = std::env::var_os("ANKUS_SSHD").map(PathBuf::from);
        let sshd = given.unwrap_or_else(|| "/usr/sbin/sshd".into());
        if !sshd.exists() || !Path::new("/usr/bin/ssh-keygen").exists() {
            println!("skipped: there is no sshd here (ANKUS_SSHD)");
            return None;
        }
        // `sshd` requires its privilege separation folder, although it never uses it here.
        let _ = fs::create_dir_all("/run/sshd");
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "own"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &place(key)])
                .status();
            assert!(made.expect("ssh-keygen runs").success());
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let config = format!(
            "Host edge\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  UserKnownHostsFile {}\n  IdentitiesOnly yes\n",
            place("own"),
            place("known")
        );
        fs::write(folder.path().join("config"), config).expect("a file");
        let daemon = Command::new(sshd)
            .args(["-D", "-f", "/dev/null", "-p", &port.to_string()])
            .args(["-o", "ListenAddress=127.0.0.1", "-o", "StrictModes=no", "-o", "UsePAM=no"])
            .args(["-o", "PidFile=none", "-o", &format!("HostKey={}", place("host"))])
            .args(["-o", &format!("AuthorizedKeysFile={}", place("own.pub"))])
            .stderr(Stdio::null())
            .spawn()
            .expect("sshd runs");
        let host = Host { folder, daemon };
        let until = Instant::now() + Duration::from_secs(120);
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "sshd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(host)
    }

    pub(crate) fn jobs(&self) -> PathBuf {
        self.folder.path().join("jobs")
    }

    /// Writes user settings that make shell and java actions run on this host.
    fn settings(&self, folder: &Path) {
        let text = format!(
            "[launchers.edge]\nkind = \"ssh\"\nhost = \"edge\"\nconfig = \"{}\"\nfolder = \"{}\"\n\
             environment = {{ WHERE = \"over there\" }}\n[launchers.shell]\nlauncher = \"edge\"\n\
             [launchers.java]\nlauncher = \"edge\"\n",
            self.folder.path().join("config").display(),
            self.jobs().display()
        );
        fs::write(folder.join("own.toml"), text).expect("a file");
    }
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = ankus(folder, arguments);
    command.args(["--store", "store", "--user-config", "own.toml"]);
    command
}

pub(crate) fn run(folder: &Path) -> Command {
    command(folder, &["run", "app", "--id", "w"])
}

pub(crate) fn workflow(folder: &Path, script: &str) {
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='there'><start to='go'/>\
        <action name='go'><shell xmlns='uri:oozie:shell-action:1.0'>\
        <resource-manager>local</resource-manager><name-node>hdfs://nn</name-node><exec>go.sh</exec><argument>a 'b' $c</argument>\
        <env-var>OWN=own value</env-var><file>go.sh</file><file>dict.txt#words</file><capture-output/></shell>\
        <ok to='look'/><error to='bad'/></action>\
        <decision name='look'><switch><case to='end'>${wf:actionData('go')['words'] eq 'apple'}</case><default to='bad'/></switch></decision>\
        <kill name='bad'><message>${wf:errorCode('go')}: ${wf:errorMessage('go')}</message></kill><end name='end'/></workflow-app>";
    application(
        folder,
        &[("app/workflow.xml", workflow), ("app/go.sh", script), ("app/dict.txt", "apple")],
    );
}

pub(crate) fn wait(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number of lines of a file; 0 if there is no file.
fn lines(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

pub(crate) fn done(mut command: Command) -> Output {
    command.output().expect("it runs")
}

#[test]
fn a_program_runs_on_a_host_with_its_files() {
    let Some(host) = Host::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    host.settings(folder.path());
    let seen = folder.path().join("seen");
    let script = format!(
        "#!/bin/sh\necho words=$(cat words)\nprintf '%s|%s|%s|%s' \"$1\" \"$OWN\" \"$WHERE\" \"$PWD\" > {}\n\
         grep -c configuration \"$OOZIE_ACTION_CONF_XML\" >&2\n",
        seen.display()
    );
    workflow(folder.path(), &script);
    let output = done(run(folder.path()));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let seen = fs::read_to_string(seen).expect("it ran");
    let (said, place) = seen.rsplit_once('|').expect("four parts");
    assert_eq!(said, "a 'b' $c|own value|over there");
    assert!(Path::new(place).starts_with(host.jobs().canonicalize().expect("a folder")), "{place}");
    assert_eq!(fs::read_dir(host.jobs()).expect("a folder").count(), 0, "nothing is left there");
    let attempt = folder.path().join("store/jobs/w/go-0-1");
    assert_eq!(fs::read_to_string(attempt.join("stderr")).expect("its log"), "2\n");
    let shown = done(command(folder.path(), &["job", "show", "w", "--format", "json"]));
    assert!(text(&shown).contains("@edge"), "{}", text(&shown));
}

#[test]
fn a_program_that_fails_on_a_host_says_why() {
    let Some(host) = Host::start() else { return };
    for (script, words) in [
        (
            "#!/bin/sh\necho no such table >&2\nexit 3\n",
            "1: the shell action's program ended with exit code 3; its last output was: no such table",
        ),
        ("#!/no/interpreter\n", "exit code 12"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        host.settings(folder.path());
        workflow(folder.path(), script);
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
    }
}

#[test]
fn a_kill_ends_what_runs_on_a_host() {
    let Some(host) = Host::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    host.settings(folder.path());
    let beats = folder.path().join("beats");
    // The second loop leaves the process group, and is ended all the same.
    let script = format!(
        "#!/bin/sh\nsetsid sh -c 'while :; do echo b >> {0}; sleep 0.1; done' &\nwhile :; do echo a >> {0}; sleep 0.1; done\n",
        beats.display()
    );
    workflow(folder.path(), &script);
    let mut running =
        run(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    wait("it does not start", || lines(&beats) > 5);
    let killed = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(killed.status.success(), "{}", text(&killed));
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    let count = lines(&beats);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(lines(&beats), count, "something of it runs");
}

#[test]
fn the_next_test_ends_what_a_killed_test_left_on_a_host() {
    let Some(host) = Host::start() else { return };
    let (folder, temporary) =
        (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    host.settings(folder.path());
    let beats = folder.path().join("beats");
    let script = format!("#!/bin/sh\nwhile :; do echo b >> {}; sleep 0.1; done\n", beats.display());
    workflow(folder.path(), &script);
    let scenario =
        "app = \"app\"\n[properties]\n\"oozie.wf.application.path\" = \"hdfs://nn/app\"\n";
    application(
        folder.path(),
        &[
            ("real/a.scenario.toml", &scenario.replace("\"app\"", "\"../app\"")),
            ("stubbed/a.scenario.toml", "app = \"../app\"\n[actions.go]\nresult = \"ok\"\n"),
        ],
    );
    let test = |what: &str| {
        let mut command =
            ankus(folder.path(), &["test", "--real", what, "--user-config", "own.toml"]);
        command.env("TMPDIR", temporary.path());
        command
    };
    let mut running = test("real").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let running = running.as_mut().expect("it runs");
    wait("it does not start", || lines(&beats) > 5);
    // A test that still runs is left alone.
    let said = text(&done(test("stubbed")));
    assert!(!said.contains("killed test"), "{said}");
    let count = lines(&beats);
    wait("it was ended", || lines(&beats) > count);
    running.kill().expect("our own child");
    running.wait().expect("our own child");
    let count = lines(&beats);
    wait("it has ended by itself", || lines(&beats) > count + 2);
    let said = text(&done(test("stubbed")));
    assert!(said.contains("ended `go` (ankus-") && said.contains("a killed test"), "{said}");
    let count = lines(&beats);
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(lines(&beats), count, "something of it runs");
    let left = fs::read_dir(temporary.path()).expect("a folder").count();
    assert_eq!(left, 0, "something is left");
}

/// Kills ankus `after` its start and resumes the job: the program must have run once.
fn killed_and_resumed(host: &Host, after: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    host.settings(folder.path());
    let starts = folder.path().join("starts");
    let script = format!("#!/bin/sh\necho s >> {}\nsleep 1\necho words=apple\n", starts.display());
    workflow(folder.path(), &script);
    let mut running =
        run(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(after);
    let _ = running.kill();
    let _ = running.wait();
    let has_job = folder.path().join("store/store.sqlite").exists()
        && done(command(folder.path(), &["job", "show", "w"])).status.code() != Some(2);
    let output = match has_job {
        true => done(command(folder.path(), &["job", "resume", "w"])),
        false => done(run(folder.path())),
    };
    // It may have ended before it was killed.
    let show = done(command(folder.path(), &["job", "show", "w"]));
    assert!(text(&show).contains("SUCCEEDED"), "{after:?}: {}{}", text(&output), text(&show));
    assert_eq!(lines(&starts), 1, "{after:?}: it ran more than once");
}

#[test]
fn a_crash_of_ankus_starts_nothing_twice() {
    let Some(host) = Host::start() else { return };
    // Killed while the program is transferred, and while it runs. `ANKUS_TRIES` sets the number of tries.
    let tries = std::env::var("ANKUS_TRIES").ok().and_then(|tries| tries.parse().ok());
    let tries: u64 = tries.unwrap_or(2);
    for number in 0..tries {
        killed_and_resumed(&host, Duration::from_millis(150 + number * 1_000 / tries));
    }
}

/// An ssh action whose command runs for a long time, with child processes.
fn command_over_ssh(host: &Host, folder: &Path) {
    let ssh =
        format!("#!/bin/sh\nexec ssh -F {} \"$@\"\n", host.folder.path().join("config").display());
    let started = folder.join("started").display().to_string();
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='far'><start to='go'/><action name='go'>\
         <ssh xmlns='uri:oozie:ssh-action:0.2'><host>edge</host><command>sh -c</command>\
         <arg>echo $$ &gt;&gt; {started}; sleep 300; echo never &gt;&gt; {started}</arg></ssh>\
         <ok to='end'/><error to='bad'/></action><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    );
    application(folder, &[("app/workflow.xml", &workflow), ("bin/ssh", &ssh)]);
    let tool = folder.join("bin/ssh");
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let user = std::env::var("USER").unwrap_or_else(|_| "root".to_owned());
    let workflow = fs::read_to_string(folder.join("app/workflow.xml")).expect("a workflow");
    let workflow = workflow.replace(">edge<", &format!(">{user}@edge<"));
    fs::write(folder.join("app/workflow.xml"), workflow).expect("a workflow");
    fs::write(folder.join("own.toml"), format!("[tools]\nssh = \"{}\"\n", tool.display()))
        .expect("settings");
}

/// How many of the processes that a command recorded are still running.
fn left(folder: &Path) -> usize {
    let noted = fs::read_to_string(folder.join("started")).unwrap_or_default();
    noted.lines().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).count()
}

#[test]
fn the_command_of_an_ssh_action_ends_with_it() {
    let Some(host) = Host::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    command_over_ssh(&host, folder.path());
    let mut running =
        run(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let started = folder.path().join("started");
    wait("the command does not start", || lines(&started) == 1);
    let kill = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(kill.status.success(), "{}", text(&kill));
    running.wait().expect("it ends");
    wait("it is left there", || left(folder.path()) == 0);
    let show = text(&done(command(folder.path(), &["job", "show", "w"])));
    assert!(show.contains("KILLED"), "{show}");
}

#[test]
fn a_command_over_ssh_whose_launcher_is_lost_never_runs_twice_at_once() {
    let Some(host) = Host::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    command_over_ssh(&host, folder.path());
    let mut running =
        run(folder.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let started = folder.path().join("started");
    wait("the command does not start", || lines(&started) == 1);
    // The launcher of the action, which is the parent of the client here.
    let marker = format!("ANKUS_ATTEMPT={}", folder.path().join("store/jobs/w/go-0-1").display());
    let mut killed = 0;
    for entry in fs::read_dir("/proc").expect("processes").filter_map(Result::ok) {
        let of = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&of("environ")).into_owned();
        let is_client = of("cmdline").starts_with(b"ssh\0");
        if !is_client || !text.contains(&marker) {
            continue;
        }
        let stat = String::from_utf8_lossy(&of("stat")).into_owned();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        let parent = parent.expect("a parent");
        let done = Command::new("kill").args(["-9", parent]).status().expect("kill runs");
        assert!(done.success());
        killed += 1;
    }
    assert_eq!(killed, 1, "the client is not found");
    wait("it is not started again", || lines(&started) == 2);
    assert_eq!(left(folder.path()), 1, "the first one was to end before");
    done(command(folder.path(), &["job", "kill", "w"]));
    running.wait().expect("it ends");
    wait("it is left there", || left(folder.path()) == 0);
}

#[test]
fn what_a_launcher_cannot_be_told_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    workflow(folder.path(), "#!/bin/sh\n");
    let edge = "[launchers.edge]\nkind = \"ssh\"\nhost = \"h\"\n";
    for (settings, words) in [
        (
            "[launchers.shell]\nlauncher = \"egde\"\n".to_owned() + edge,
            "no launcher is named `egde`",
        ),
        (edge.to_owned() + "[launchers.ssh]\nlauncher = \"edge\"\n", "cannot carry ssh actions"),
        // The clone would stay on the host.
        (edge.to_owned() + "[launchers.git]\nlauncher = \"edge\"\n", "cannot carry git actions"),
        (edge.to_owned() + "image = \"x\"\n", "unknown key `image`"),
        ("[launchers.edge]\nkind = \"ssh\"\n".to_owned(), "the launcher `edge` has no `host`"),
        ("[launchers.edge]\nkind = \"tape\"\n".to_owned(), "kind"),
        (
            "[launchers.pig]\nkind = \"ssh\"\nhost = \"h\"\n".to_owned(),
            "`pig` means something else here",
        ),
    ] {
        fs::write(folder.path().join("own.toml"), &settings).expect("a file");
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(2), "{settings}: {}", text(&output));
        assert!(text(&output).contains(words), "{settings}: {}", text(&output));
    }
}

#[test]
fn a_tree_cannot_choose_where_programs_run() {
    let folder = tempfile::tempdir().expect("a folder");
    workflow(folder.path(), "#!/bin/sh\necho words=apple\n");
    let settings =
        "[launchers.edge]\nkind = \"ssh\"\nhost = \"h\"\n[launchers.shell]\nlauncher = \"edge\"\n";
    fs::write(folder.path().join("app/ankus.toml"), settings).expect("a file");
    let output = Command::new(BINARY).args(["run", "app"]).current_dir(folder.path()).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("which the settings of a tree are not allowed to do"),
        "{}",
        text(&output)
    );
    // A read-only command ignores the launchers.
    let output = Command::new(BINARY).args(["check", "app"]).current_dir(folder.path()).output();
    let output = output.expect("it runs");
    assert!(text(&output).contains("[launchers] of"), "{}", text(&output));
}
