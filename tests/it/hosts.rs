//! Hosts of the launcher `ssh` that refuse logins, or allow only some things. They need `sshd`, as `elsewhere` does.

use crate::elsewhere::{Host, command, done, run, wait, workflow};
use crate::run::text;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Settings that make shell actions run on a host, as an ssh configuration describes it.
fn settings(folder: &Path, config: &Path, jobs: &str) {
    let text = format!(
        "[launchers.edge]\nkind = \"ssh\"\nhost = \"edge\"\nconfig = \"{}\"\nfolder = \"{jobs}\"\n[launchers.shell]\nlauncher = \"edge\"\n",
        config.display()
    );
    fs::write(folder.join("own.toml"), text).expect("settings");
}

#[test]
fn a_host_that_will_not_run_it_ends_the_action_at_once() {
    let Some(host) = Host::start() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    workflow(folder.path(), "#!/bin/sh\necho words=apple\n");
    settings(folder.path(), &host.folder.path().join("config"), "/dev/null/jobs");
    let began = Instant::now();
    let output = done(run(folder.path()));
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let words = "JA018: the launcher `edge` cannot start the shell action: edge: ";
    assert!(text(&output).contains(words), "{}", text(&output));
    assert!(began.elapsed() < Duration::from_secs(30), "nobody has to be asked to end it");
}

#[test]
fn who_waits_for_a_host_is_told_of_it_and_ends_at_once() {
    if !Path::new("/usr/bin/ssh").exists() {
        println!("skipped: there is no ssh here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    workflow(folder.path(), "#!/bin/sh\necho words=apple\n");
    let config = folder.path().join("config");
    fs::write(&config, "Host edge\n  HostName 127.0.0.1\n  Port 1\n").expect("a file");
    settings(folder.path(), &config, "jobs");
    let said = folder.path().join("said");
    let mut running = run(folder.path());
    let file = fs::File::create(&said).expect("a file");
    running.stdout(Stdio::null()).stderr(file);
    let mut running = running.spawn().expect("it runs");
    let words = "go, WAITING to start a program: the launcher `edge`: edge: ssh: connect to host 127.0.0.1 port 1: ";
    wait("it says what it waits for", || {
        fs::read_to_string(&said).is_ok_and(|said| said.contains(words))
    });
    done(command(folder.path(), &["job", "kill", "w"]));
    let until = Instant::now() + Duration::from_secs(120);
    while running.try_wait().expect("its state").is_none() {
        assert!(Instant::now() < until, "nobody has heard of it who could end it");
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = fs::read_to_string(&said).expect("what it said");
    assert_eq!(said.matches(words).count(), 1, "{said}");
}
