//! Commands when the process that runs the store is stopped, unreachable, without its files, or gone before it could
//! answer.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ankus_cli::testing;
use ankus_engine::driver::{self, Driver};
use ankus_procedure::control::Guard;
use ankus_procedure::store::{Memory, Options, Sqlite, Synchronous};
use ankus_procedure::{Config, Executor, RealHost, Registry};

use crate::run::{BINARY, ankus, application, shell, text};

/// The time limit of a command, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that records its process id, and runs until `go` exists or its files are gone.
const STEP: &str = "#!/bin/sh\necho $$ >> \"$ANKUS_FILE_ROOT/log\"\necho \"mine=$MINE\"\n\
                    while [ -d \"$ANKUS_FILE_ROOT\" ] && [ ! -e \"$ANKUS_FILE_ROOT/go\" ]; do sleep 0.05; done\n";

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(step: &str) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), step);
        Place { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn store(&self) -> PathBuf {
        self.path().join(".ankus")
    }

    /// Starts a run and waits until its program has begun.
    fn running(&self) -> Child {
        let run = started(self.path(), &["run", "app", "--id", "x"]);
        self.until("the program begins", || !self.programs().is_empty());
        run
    }

    fn programs(&self) -> Vec<u32> {
        let log = fs::read_to_string(self.store().join("root/log")).unwrap_or_default();
        log.lines().filter_map(|line| line.parse().ok()).collect()
    }

    fn let_go(&self) {
        fs::write(self.store().join("root/go"), "").expect("a file");
    }

    #[track_caller]
    fn until(&self, what: &str, mut comes: impl FnMut() -> bool) {
        let since = Instant::now();
        while !comes() {
            assert!(since.elapsed() < PATIENCE, "{what} does not come");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn told(&self, arguments: &[&str]) -> Output {
        ended(started(self.path(), arguments))
    }

    #[track_caller]
    fn said(&self, arguments: &[&str], code: i32) -> String {
        let output = self.told(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        text(&output)
    }
}

fn write(folder: &Path, step: &str) {
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='a'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='make'/><action name='make'><fs><mkdir path='hdfs://nn/made'/></fs>\
         <ok to='one'/><error to='bad'/></action>{}<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>",
        shell("one", "end")
    );
    application(&folder.join("app"), &[("workflow.xml", &workflow), ("step.sh", step)]);
}

fn started(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = ankus(folder, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// The output of a command; hanging is a fault.
#[track_caller]
fn ended(mut child: Child) -> Output {
    let since = Instant::now();
    while child.try_wait().expect("it is ours").is_none() {
        if since.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("it hangs: {}", text(&child.wait_with_output().expect("it has ended")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("it has ended")
}

fn signal(name: &str, process: u32) {
    let done = std::process::Command::new("kill").args([name, &process.to_string()]).status();
    assert!(done.expect("a shell's tool").success());
}

fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

#[test]
fn a_run_whose_store_is_deleted_says_so() {
    let place = Place::new(STEP);
    let run = place.running();
    let other = started(place.path(), &["run", "--resume", "x"]);
    std::thread::sleep(Duration::from_millis(300));
    // Files created in it meanwhile are in the way.
    place.until("it is deleted", || {
        let _ = fs::remove_dir_all(place.store());
        !place.store().exists()
    });
    for follower in [run, other] {
        let output = ended(follower);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("the store is gone: its files were deleted or moved"), "{said}");
    }
    assert!(!place.store().exists(), "nobody made another in its place");

    // A store that was moved goes on at its new path.
    let place = Place::new(STEP);
    let run = place.running();
    let moved = place.path().join("moved");
    fs::rename(place.store(), &moved).expect("another name");
    let output = ended(run);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(place.said(&["job", "list", "--store", "moved"], 0).contains("no process runs it"));
    assert!(place.said(&["job", "kill", "x", "--store", "moved"], 0).starts_with("KILLED x"));
}

#[test]
fn whoever_runs_a_store_is_reached_again_when_its_socket_was_removed() {
    let place = Place::new(STEP);
    let run = place.running();
    let socket = place.store().join("store.sqlite.sock");
    for _ in 0..2 {
        fs::remove_file(&socket).expect("a socket");
        assert!(!place.said(&["job", "list"], 0).contains("no process runs it"));
        place.until("it is made anew", || socket.exists());
    }
    assert_eq!(place.said(&["job", "suspend", "x"], 0), "SUSPENDED x\n");
    place.let_go();
    assert_eq!(ended(run).status.code(), Some(3));
    assert!(!socket.exists());
    assert!(place.said(&["job", "resume", "x"], 0).contains("SUCCEEDED"));
}

#[test]
#[cfg(target_os = "linux")]
fn whoever_is_stopped_is_named_by_those_who_wait_for_it() {
    let place = Place::new(STEP);
    let run = place.running();
    let holder = run.id();
    signal("-STOP", holder);
    let commands: [&[&str]; 12] = [
        &["job", "kill", "x"],
        &["job", "kill", "x", "--force"],
        &["job", "suspend", "x"],
        &["job", "resume", "x"],
        &["job", "resume", "--all"],
        &["job", "rerun", "x"],
        &["job", "purge", "x"],
        &["run", "app", "--id", "y"],
        &["run", "--resume", "x"],
        &["up", "--until-idle"],
        &["job", "list"],
        &["job", "show", "x"],
    ];
    let asked: Vec<_> =
        commands.iter().map(|arguments| (arguments, started(place.path(), arguments))).collect();
    let name = format!("process {holder} (`");
    for (arguments, child) in asked {
        let output = ended(child);
        let said = text(&output);
        let looks = matches!(arguments[1], "list" | "show");
        assert_eq!(output.status.code(), Some(if looks { 0 } else { 2 }), "{arguments:?}: {said}");
        assert!(said.contains(&name), "{arguments:?}: {said}");
        assert!(said.contains("which has run the store since 20"), "{arguments:?}: {said}");
        let help = format!("it is stopped; `kill -CONT {holder}` lets it continue");
        assert!(said.contains(&help), "{arguments:?}: {said}");
        assert!(!said.contains("no process runs it"), "{said}");
    }
    // A command on the store as a file is not kept waiting.
    let compact = place.said(&["store", "compact"], 2);
    assert!(compact.contains(&name) && compact.contains("compact when it has ended"), "{compact}");
    signal("-CONT", holder);
    assert!(place.said(&["job", "kill", "x"], 0).starts_with("KILLED x"));
    assert_eq!(ended(run).status.code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_kill_by_force_ends_what_can_be_reached() {
    let place = Place::new(&STEP.replacen('\n', "\ntrap '' TERM\n", 1));
    fs::write(place.path().join("ankus.toml"), "[launchers]\ngrace = 3600\n").expect("a file");
    let run = place.running();
    let program = place.programs()[0];
    assert_eq!(place.said(&["job", "kill", "x"], 0), "KILLED x, 1 program still stopping\n");
    assert!(place.said(&["job", "show", "x"], 0).contains("(KILLED, 1 program still stopping)"));
    assert!(is_alive(program), "it may take an hour to end");
    assert_eq!(place.said(&["job", "kill", "x", "--force"], 0), "KILLED x\n");
    assert!(!is_alive(program), "a rerun would begin a second copy beside it");
    assert_eq!(ended(run).status.code(), Some(1));
    let audit = place.said(&["job", "log", "x", "--audit"], 0);
    assert!(audit.contains("OPERATION [kill], PARAMETER [force=true]"), "{audit}");

    // The same for a rerun.
    let again = started(place.path(), &["job", "rerun", "x"]);
    place.until("it begins again", || place.programs().len() == 2);
    let program = place.programs()[1];
    assert_eq!(place.said(&["job", "kill", "x"], 0), "KILLED x, 1 program still stopping\n");
    let third = started(place.path(), &["job", "rerun", "x", "--force"]);
    place.until("it begins once more", || place.programs().len() == 3);
    assert!(!is_alive(program), "there are two copies");
    place.let_go();
    assert_eq!(ended(third).status.code(), Some(0));
    ended(again);
}

#[test]
fn ctrl_c_says_what_it_does() {
    let place = Place::new(STEP);
    let mut run = place.running();
    let mut lines = BufReader::new(run.stderr.take().expect("a pipe")).lines();
    signal("-INT", run.id());
    let said = "stopping once the running actions have ended; press Ctrl-C again to exit at once and leave programs running";
    assert!(lines.any(|line| line.is_ok_and(|line| line == said)), "it was not said");
    place.let_go();
    assert_eq!(ended(run).status.code(), Some(3));
    let shown = place.said(&["job", "show", "x"], 0);
    assert!(shown.contains("(SUSPENDED)"), "{shown}");
    fs::remove_file(place.store().join("root/go")).expect("a file");
    assert!(place.said(&["job", "resume", "x"], 0).contains("SUCCEEDED"));

    let again = started(place.path(), &["job", "rerun", "x"]);
    place.until("it begins again", || place.programs().len() == 2);
    signal("-INT", again.id());
    std::thread::sleep(Duration::from_millis(300));
    signal("-INT", again.id());
    let output = ended(again);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let said = "x is left as it is; `ankus run --resume x` continues it";
    assert!(text(&output).contains(said), "{}", text(&output));
    assert!(is_alive(place.programs()[1]), "programs go on");
    place.let_go();
    assert!(place.said(&["run", "--resume", "x"], 0).contains("SUCCEEDED"));
    assert_eq!(place.programs().len(), 2, "it was not started again");
}

#[test]
fn what_happens_has_the_color_of_how_it_went() {
    let place = Place::new("#!/bin/sh\ntest \"$ANKUS_NODE\" != one\n");
    let colored = text(&place.told(&["run", "app", "--id", "x", "--color", "always"]));
    for part in ["\x1b[32mOK", "\x1b[34mRUNNING", "\x1b[1;31mERROR", "\x1b[1;31mKILLED"] {
        assert!(colored.contains(part), "{part:?} in {colored:?}");
    }
    for arguments in [&["run", "app"][..], &["run", "app", "--color", "never"]] {
        let plain = text(&place.told(arguments));
        assert!(plain.contains("KILLED") && !plain.contains('\x1b'), "{plain:?}");
    }
}

/// An HTTP listener that answers the first requests for each path with these statuses, then with 200, and reports the
/// requests.
fn listener(first: &'static [u16]) -> (String, mpsc::Receiver<(String, u16)>) {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = socket.local_addr().expect("a place").to_string();
    let (tell, heard) = mpsc::channel();
    std::thread::spawn(move || {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for stream in socket.incoming() {
            let mut stream = stream.expect("a request");
            let mut lines = BufReader::new(stream.try_clone().expect("a stream")).lines();
            let Some(Ok(line)) = lines.next() else { continue };
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            let count = counts.entry(path.clone()).or_default();
            let status = first.get(*count).copied().unwrap_or(200);
            *count += 1;
            let answer =
                format!("HTTP/1.1 {status} said\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            if stream.write_all(answer.as_bytes()).is_ok() && tell.send((path, status)).is_err() {
                return;
            }
        }
    });
    (place, heard)
}

#[test]
fn notifications_that_fail_are_tried_again_before_the_end() {
    let place = Place::new("#!/bin/sh\n");
    let (host, heard) = listener(&[503, 500]);
    let of_job = format!("oozie.wf.workflow.notification.url=http://{host}/$status");
    let of_action = format!("oozie.wf.action.notification.url=http://{host}/$nodeName/$status");
    let said = place.said(&["run", "app", "--id", "x", "-D", &of_job, "-D", &of_action], 0);
    let mut delivered: Vec<String> = Vec::new();
    let mut attempts = 0;
    for (path, status) in heard.try_iter() {
        attempts += 1;
        if status == 200 {
            delivered.push(path);
        }
    }
    delivered.sort();
    let expected = [
        "/:start:/T:make",
        "/RUNNING",
        "/SUCCEEDED",
        "/end/T:null",
        "/make/T:one",
        "/one/S:RUNNING",
        "/one/T:end",
    ];
    assert_eq!(delivered, expected, "{said}");
    assert_eq!(attempts, 3 * expected.len(), "no more than it takes");

    // A receiver that never succeeds delays nothing for longer than its retries.
    let (host, heard) = listener(&[503; 100]);
    let of_job = format!("oozie.wf.workflow.notification.url=http://{host}/$status");
    place.said(&["run", "app", "--id", "y", "-D", &of_job], 0);
    assert_eq!(heard.try_iter().count(), 8, "four times each");
    assert!(place.said(&["job", "log", "y"], 0).contains("503"));
}

#[test]
fn jobs_of_two_folders_on_one_store_run_with_what_each_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = ["p", "q"].map(|name| {
        let own = folder.path().join(name);
        write(&own, STEP);
        let root = format!("root-{name}");
        let arguments = ["run", "app", "--id", name, "--root", &root, "--store", "../store"];
        let mut command = ankus(&own, &arguments);
        command.env("MINE", name).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = command.spawn().expect("it starts");
        let root = own.join(root);
        let since = Instant::now();
        while !root.join("log").exists() {
            assert!(since.elapsed() < PATIENCE, "its program does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        (run, root)
    });
    let [(first, root_p), (second, root_q)] = runs;
    // The process that runs the store ends first, and the other takes over.
    for (run, root) in [(first, root_p), (second, root_q)] {
        fs::write(root.join("go"), "").expect("a file");
        let output = ended(run);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(root.join("made").is_dir());
        let log = fs::read_to_string(root.join("log")).expect("a log");
        assert_eq!(log.lines().count(), 1, "{log}");
    }
    for name in ["p", "q"] {
        let shown = ankus(folder.path(), &["job", "show", name, "--store", "store"]).output();
        let shown = text(&shown.expect("it runs"));
        assert!(shown.contains(&format!("mine={name}")), "{shown}");
    }
}

/// The process that ran the store accepted a rerun, and ended before it could answer.
#[test]
fn a_rerun_goes_on_whose_answer_was_lost() {
    let place = Place::new("#!/bin/sh\nsleep 1\n");
    place.said(&["run", "app", "--id", "x"], 0);
    let path = place.store().join("store.sqlite");
    let guard = Guard::take(&path).expect("readable").expect("nobody runs it");
    let host = std::sync::Arc::new(RealHost::new());
    let nobody = Executor::open(Box::new(Memory::new()), Registry::new(), host, Config::default());
    let (asked, is_asked) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let answer = move |name: &str, _: &[u8]| {
        let _ = asked.send(name.to_owned());
        // Until the test is over; the client is then told that the process is gone.
        let _ = may_go.lock().map(|may_go| may_go.recv());
        Err("too late".to_owned())
    };
    let server = guard.serve(nobody.expect("an empty store").0, answer).expect("a socket");
    let rerun = started(place.path(), &["job", "rerun", "x"]);
    assert_eq!(is_asked.recv_timeout(PATIENCE).as_deref(), Ok("rerun ann"));
    let driver = open(&place.store());
    driver.rerun("x", None, &BTreeMap::new()).expect("it has ended");
    drop(driver);
    drop(server);
    let output = ended(rerun);
    drop(go);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let shown = place.said(&["job", "show", "x"], 0);
    assert!(shown.contains("(SUCCEEDED)") && shown.contains("run      1"), "{shown}");
}

fn open(folder: &Path) -> Driver {
    let options = Options { synchronous: Synchronous::Normal, ..driver::options() };
    let store = Sqlite::open(&folder.join("store.sqlite"), options).expect("a store");
    let surroundings = testing::surroundings(PathBuf::from(BINARY), &folder.join("root"));
    driver::open_store(Box::new(store), folder.to_owned(), surroundings).expect("a driver")
}
