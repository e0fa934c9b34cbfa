//! Disks that fail under a server; it continues once they work again.

use crate::cli::folder;
use crate::serve::Server;
use std::process::Command;
use std::time::Duration;

/// A limit on the size of files is an I/O error for the database, and it can be lifted again.
#[test]
fn a_disk_that_fails_is_waited_for() {
    let place = folder(&[(
        "root/apps/a/workflow.xml",
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><start to='make'/><action name='make'><fs><mkdir path='hdfs://nn/made'/></fs><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>",
    )]);
    let mut command = Command::new("sh");
    let script = "trap '' XFSZ; echo $$ > pid; exec $ANKUS serve --listen 127.0.0.1:0 --root root";
    command.args(["-c", script]).current_dir(place.path());
    command.env("ANKUS", env!("CARGO_BIN_EXE_ankus"));
    command.env("ANKUS_USER_CONFIG", "/nowhere/ankus.toml").env_remove("ANKUS_STORE");
    let server = Server::spawned(command).expect("it serves");
    let pid = std::fs::read_to_string(place.path().join("pid")).expect("written");
    let limited = |most: &str| {
        let mut prlimit = Command::new("prlimit");
        let output = prlimit.arg("--pid").arg(pid.trim()).arg(format!("--fsize={most}:")).output();
        output.is_ok_and(|output| output.status.success())
    };
    let first = server.id("v1/jobs?action=start", "a");
    server.waits(&first, "SUCCEEDED");
    if !limited("1") {
        println!("skipped: prlimit cannot limit a process here");
        return;
    }
    let refused = server.submit("v1/jobs?action=start", "a");
    assert!(refused.status.starts_with("503"), "{} {}", refused.status, refused.body);
    assert!(refused.body.contains("the disk of the store fails"), "{}", refused.body);
    assert!(refused.body.contains(".ankus"), "no folder is named: {}", refused.body);
    let ready = || server.ask_at("GET", "/readyz", "", "").status;
    assert!(ready().starts_with("503"));
    assert!(server.ask_at("GET", "/healthz", "", "").status.starts_with("200"));
    // Existing data is still served. A store that refused for this long for any other reason would be given up.
    assert_eq!(server.json(&format!("v2/job/{first}?show=status"))["status"], "SUCCEEDED");
    std::thread::sleep(Duration::from_secs(7));
    assert!(ready().starts_with("503"));
    assert!(limited("unlimited"));
    let is_ready = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        ready().starts_with("200")
    });
    assert!(is_ready, "it is not ready again");
    let second = server.id("v1/jobs?action=start", "a");
    server.waits(&second, "SUCCEEDED");
    assert_eq!(server.json("v2/jobs")["total"], 2);
}
