//! `ankus serve` is killed and started again while jobs of every kind are in progress: every request takes effect,
//! once.

use crate::cli::folder;
use crate::serve::Server;
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long something may take on a busy machine; more than the minute until a pause time may take effect.
const LONG: Duration = Duration::from_secs(120);

/// A workflow whose program records its process id and its argument (the nominal time), and waits until `go` or
/// `go-ARGUMENT` exists.
fn waiting() -> String {
    let script = "echo $$ $1 >> pids; n=0; while [ ! -e go ] &amp;&amp; [ ! -e go-$1 ] &amp;&amp; [ $n -lt 3000 ]; do sleep 0.1; n=$((n+1)); done; [ ! -e fail-$1 ]";
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='waiting'><start to='wait'/><action name='wait'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn:8020</name-node><exec>sh</exec><argument>-c</argument><argument>cd ${{place}}; {script}</argument><argument>x</argument><argument>${{at}}</argument></shell><ok to='end'/><error to='bad'/></action><kill name='bad'><message>it failed</message></kill><end name='end'/></workflow-app>"
    )
}

/// A coordinator that started `days` days ago. Its next nominal time is half a day away, so that no action is created
/// during a test.
fn coordinator(name: &str, days: i64, concurrency: i64, more: &str) -> String {
    let noon = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(12);
    let day = |days: i64| {
        let at = noon + jiff::SignedDuration::from_hours(24 * days);
        at.strftime("%Y-%m-%dT%H:00Z").to_string()
    };
    let (start, end) = (day(1 - days), day(400));
    format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='{name}' frequency='${{coord:days(1)}}' start='{start}' end='{end}' timezone='UTC'><controls><concurrency>{concurrency}</concurrency></controls>{more}<action><workflow><app-path>/apps/waiting</app-path><configuration><property><name>at</name><value>{name}-${{coord:actionId()}}</value></property></configuration></workflow></action></coordinator-app>"
    )
    .replace("${coord:actionId()}", "${coord:formatTime(coord:nominalTime(), 'yyyyMMdd')}")
}

/// A folder with a server, which can be killed and started again.
struct World {
    folder: tempfile::TempDir,
    server: Option<Server>,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let mut all = vec![(".ankus/root/apps/waiting/workflow.xml", waiting())];
        all.extend(files.iter().map(|(name, text)| (*name, (*text).to_owned())));
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let folder = folder(&all);
        let server = Some(Server::start(folder.path(), &[]));
        World { folder, server }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Kills the server with `kill -9`, and starts another on the same store.
    fn restarts(&mut self) {
        self.server = None;
        self.server = Some(Server::start(self.folder.path(), &[]));
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn touch(&self, name: &str) {
        std::fs::write(self.path().join(name), "").expect("writable");
    }

    /// Submits and starts the application at `app`.
    #[track_caller]
    fn starts(&self, kind: &str, app: &str) -> String {
        let body = format!(
            "<configuration><property><name>user.name</name><value>ana</value></property><property><name>place</name><value>{}</value></property><property><name>oozie.{kind}.application.path</name><value>/apps/{app}</value></property></configuration>",
            self.path().display()
        );
        let xml = "content-type: application/xml\r\n";
        let made = self.server().ask("POST", "v2/jobs?action=start", xml, &body);
        let made: Value =
            serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
        made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    #[track_caller]
    fn put(&self, path: &str) {
        let answer = self.server().ask("PUT", path, "", "");
        assert!(answer.status.starts_with("200"), "{path}: {}", answer.status);
    }

    #[track_caller]
    fn reruns(&self, id: &str, scope: &str) {
        let path = format!("v2/job/{id}?action=coord-rerun&type=action&scope={scope}");
        let xml = "content-type: application/xml\r\n";
        let answer = self.server().ask("PUT", &path, xml, "<configuration/>");
        assert!(answer.status.starts_with("200"), "{path}: {}", answer.status);
    }

    /// Sends a command without waiting for the answer.
    fn sends(&self, path: &str) {
        let address = &self.server().address;
        let mut stream = TcpStream::connect(address).expect("it listens");
        let head =
            format!("PUT /oozie/{path} HTTP/1.1\r\nhost: {address}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
    }

    /// The states of the actions of a coordinator, by number.
    fn actions(&self, id: &str) -> Vec<(i64, String)> {
        let job = self.server().json(&format!("v2/job/{id}?show=info&len=1000"));
        let actions = job["actions"].as_array().cloned().unwrap_or_default();
        let one = |action: &Value| {
            let status = action["status"].as_str().unwrap_or_default().to_owned();
            (action["actionNumber"].as_i64().unwrap_or_default(), status)
        };
        actions.iter().map(one).collect()
    }

    /// Waits until the actions of a coordinator have these states.
    #[track_caller]
    fn waits(&self, id: &str, wanted: &[(i64, &str)]) {
        let wanted: Vec<(i64, String)> =
            wanted.iter().map(|(number, status)| (*number, (*status).to_owned())).collect();
        self.until(|| {
            let now = self.actions(id);
            (now == wanted).then_some(()).ok_or_else(|| format!("{now:?} and not {wanted:?}"))
        });
    }

    #[track_caller]
    fn until(&self, mut holds: impl FnMut() -> Result<(), String>) {
        let began = Instant::now();
        while let Err(why) = holds() {
            assert!(began.elapsed() < LONG, "{why}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The programs that have started: process id and argument.
    fn begun(&self) -> Vec<(u32, String)> {
        let text = std::fs::read_to_string(self.path().join("pids")).unwrap_or_default();
        let line = |line: &str| {
            let (pid, name) = line.split_once(' ')?;
            Some((pid.parse().ok()?, name.to_owned()))
        };
        text.lines().filter_map(line).collect()
    }

    /// How many of them are still running.
    fn alive(&self) -> usize {
        let is_ours = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&self.path().display().to_string())
        };
        self.begun().iter().filter(|(pid, _)| is_ours(pid)).count()
    }

    /// Asserts that `count` programs have started, each once.
    #[track_caller]
    fn each_once(&self, count: usize) {
        let mut names: Vec<String> = self.begun().into_iter().map(|(_, name)| name).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!((names.len(), all), (count, count), "{names:?}");
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Programs that are still running end by themselves.
        self.touch("go");
    }
}

#[test]
fn a_killed_bundle_is_killed_after_a_crash_with_all_below_it() {
    let bundle = "<bundle-app xmlns='uri:oozie:bundle:0.2' name='b'><coordinator name='one'><app-path>/apps/one</app-path></coordinator><coordinator name='two'><app-path>/apps/two</app-path></coordinator></bundle-app>";
    let files = [
        (".ankus/root/apps/one/coordinator.xml", coordinator("one", 2, 2, "")),
        (".ankus/root/apps/two/coordinator.xml", coordinator("two", 2, 2, "")),
        (".ankus/root/apps/b/bundle.xml", bundle.to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    // The server is killed at once, after a while, and after its answer.
    for pause in [Some(0), Some(2), Some(10), Some(40), None] {
        let mut world = World::new(&files);
        let bundle = world.starts("bundle", "b");
        world.until(|| match world.begun().len() {
            4 => Ok(()),
            other => Err(format!("{other} programs, and not 4")),
        });
        let show = format!("v2/job/{bundle}?show=info");
        let members = |world: &World| -> Vec<(String, String)> {
            let job = world.server().json(&show);
            let all = job["bundleCoordJobs"].as_array().cloned().unwrap_or_default();
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            all.iter().map(|one| (text(&one["coordJobId"]), text(&one["status"]))).collect()
        };
        let kill = format!("v2/job/{bundle}?action=kill");
        match pause {
            Some(ms) => {
                world.sends(&kill);
                std::thread::sleep(Duration::from_millis(ms));
            }
            None => world.put(&kill),
        }
        world.restarts();
        let status =
            || world.server().json(&format!("v2/job/{bundle}?show=status"))["status"].clone();
        if pause.is_some() && status() != "KILLED" {
            // The client got no answer to its kill, so it asks again.
            world.put(&kill);
        }
        world.until(|| match (status(), world.alive()) {
            (status, 0) if status == "KILLED" => Ok(()),
            other => Err(format!("{other:?} after {pause:?}")),
        });
        for (id, _) in members(&world) {
            world.until(|| {
                let job = world.server().json(&format!("v2/job/{id}?show=info"));
                let ended = job["actions"].as_array().is_some_and(|actions| {
                    actions.iter().all(|action| action["status"] == "KILLED")
                });
                (job["status"] == "KILLED" && ended).then_some(()).ok_or_else(|| job.to_string())
            });
        }
        let workflows = world.server().json("v2/jobs?jobtype=wf&len=100");
        let workflows = workflows["workflows"].as_array().cloned().unwrap_or_default();
        assert_eq!(workflows.len(), 4);
        assert!(workflows.iter().all(|one| one["status"] == "KILLED"), "{workflows:?}");
        assert_eq!(status(), "KILLED", "for good");
        world.each_once(4);
    }
}

/// No more actions run than the concurrency allows, however often the coordinator is suspended and resumed, and
/// whenever the server is killed.
#[test]
fn suspensions_make_no_room_for_more_than_may_run() {
    let text = coordinator("s", 3, 1, "");
    let mut world = World::new(&[(".ankus/root/apps/s/coordinator.xml", text.as_str())]);
    let id = world.starts("coord", "s");
    world.until(|| if world.alive() == 1 { Ok(()) } else { Err("none began".to_owned()) });
    for round in 0..12 {
        for pause in 0..12 {
            world.sends(&format!("v2/job/{id}?action=suspend"));
            std::thread::sleep(Duration::from_millis(pause));
            world.sends(&format!("v2/job/{id}?action=resume"));
        }
        if round % 3 == 2 {
            std::thread::sleep(Duration::from_millis(round));
            world.restarts();
        }
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(world.begun().len(), 1, "in round {round}: {:?}", world.actions(&id));
    }
    // The commands came on separate connections, in any order.
    world.until(|| {
        let status = world.server().json(&format!("v2/job/{id}?show=status"))["status"].clone();
        if status == "SUSPENDED" {
            world.sends(&format!("v2/job/{id}?action=resume"));
        }
        let actions = world.actions(&id);
        let is_so = status == "RUNNING" && actions[0].1 == "RUNNING" && actions[1].1 == "READY";
        is_so.then_some(()).ok_or_else(|| format!("{status} {actions:?}"))
    });
    // A workflow that a client suspends itself still counts, and can be resumed.
    let workflow = world.server().json(&format!("v2/job/{id}@1?show=info"))["externalId"].clone();
    let workflow = workflow.as_str().expect("an id").to_owned();
    world.put(&format!("v2/job/{workflow}?action=suspend"));
    world.until(|| match world.actions(&id)[0].1.as_str() {
        "SUSPENDED" => Ok(()),
        other => Err(other.to_owned()),
    });
    world.put(&format!("v2/job/{workflow}?action=resume"));
    world.touch("go");
    world.waits(&id, &[(1, "SUCCEEDED"), (2, "SUCCEEDED"), (3, "SUCCEEDED")]);
    world.each_once(3);
}

/// A workflow may claim in its properties to belong to any action or to be a part of any workflow. Commands to it
/// affect only the workflow itself.
#[test]
fn a_workflow_that_claims_a_parent_suspends_nothing_there() {
    let app = coordinator("c", 1, 1, "");
    let mut world = World::new(&[(".ankus/root/apps/c/coordinator.xml", &app)]);
    let id = world.starts("coord", "c");
    world.waits(&id, &[(1, "RUNNING")]);
    let own = world.server().json(&format!("v2/job/{id}@1?show=info"))["externalId"].clone();
    let own = own.as_str().expect("the action has a workflow").to_owned();
    let mut claiming = Vec::new();
    for parent in [format!("{id}@1"), own.clone()] {
        let path = world.path().display().to_string();
        let properties = [
            ("user.name", "ana"),
            ("place", &path),
            ("at", "claimed"),
            ("oozie.wf.application.path", "/apps/waiting"),
            ("oozie.wf.parent.id", &parent),
        ];
        let body: String = properties
            .iter()
            .map(|(name, value)| {
                format!("<property><name>{name}</name><value>{value}</value></property>")
            })
            .collect();
        let xml = "content-type: application/xml\r\n";
        let body = format!("<configuration>{body}</configuration>");
        let made = world.server().ask("POST", "v2/jobs?action=start", xml, &body);
        let made: Value = serde_json::from_str(&made.body).expect("JSON");
        let claimed = made["id"].as_str().expect("an id").to_owned();
        world.server().waits(&claimed, "RUNNING");
        world.put(&format!("v2/job/{claimed}?action=suspend"));
        world.server().waits(&claimed, "SUSPENDED");
        claiming.push(claimed);
    }
    // Late notifications are delivered before this server has started again.
    world.restarts();
    for claimed in &claiming {
        world.server().waits(claimed, "SUSPENDED");
    }
    assert_eq!(world.actions(&id), [(1, "RUNNING".to_owned())]);
    world.server().waits(&own, "RUNNING");
    // Changes of the action's own workflow are reported to the coordinator.
    world.put(&format!("v2/job/{own}?action=suspend"));
    world.waits(&id, &[(1, "SUSPENDED")]);
    for workflow in claiming.iter().chain([&own]) {
        world.put(&format!("v2/job/{workflow}?action=resume"));
    }
    world.waits(&id, &[(1, "RUNNING")]);
    world.touch("go");
    world.waits(&id, &[(1, "SUCCEEDED")]);
    for claimed in &claiming {
        world.server().waits(claimed, "SUCCEEDED");
    }
}

#[test]
fn an_action_times_out_while_nobody_runs_it_or_after_a_crash() {
    let data = "<datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2020-01-01T00:00Z' timezone='UTC'><uri-template>/data/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets><input-events><data-in name='in' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>";
    let minute = coordinator("t", 1, 1, data)
        .replace("<controls>", "<controls><timeout>0</timeout>")
        .replace("<concurrency>1</concurrency>", "<concurrency>2</concurrency>");
    let mut world = World::new(&[(".ankus/root/apps/t/coordinator.xml", minute.as_str())]);
    let id = world.starts("coord", "t");
    // With a time-out of 0 the action ends a minute after it was created: half of that passes before the crash.
    world.until(|| match world.actions(&id).first() {
        Some((1, status)) if status == "WAITING" || status == "TIMEDOUT" => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let first = world.actions(&id);
    world.restarts();
    let mut seen = Vec::new();
    let began = Instant::now();
    loop {
        let status = world.actions(&id).first().map(|(_, status)| status.clone());
        let status = status.expect("it is there");
        if seen.last() != Some(&status) {
            seen.push(status.clone());
        }
        if status == "TIMEDOUT" {
            break;
        }
        assert!(began.elapsed() < LONG * 2, "{first:?} {seen:?}");
        std::thread::sleep(Duration::from_millis(200));
        if began.elapsed() > Duration::from_secs(20) && seen.len() < 2 {
            world.restarts();
            seen.push("restarted".to_owned());
        }
    }
    // It may be rerun, with data, across another crash.
    let day = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(12);
    for day in [day - jiff::SignedDuration::from_hours(24), day] {
        let day = day.strftime("%Y%m%d");
        let data = world.path().join(format!(".ankus/root/data/{day}/_SUCCESS"));
        std::fs::create_dir_all(data.parent().expect("a folder")).expect("writable");
        std::fs::write(&data, "").expect("writable");
    }
    world.reruns(&id, "1");
    world.restarts();
    world.until(
        || if world.alive() == 1 { Ok(()) } else { Err(format!("{:?}", world.actions(&id))) },
    );
    world.touch("go");
    world.waits(&id, &[(1, "SUCCEEDED")]);
    world.each_once(1);
}

#[test]
fn what_is_run_again_runs_once_through_a_crash() {
    let text = coordinator("r", 2, 2, "");
    let mut world = World::new(&[(".ankus/root/apps/r/coordinator.xml", text.as_str())]);
    let id = world.starts("coord", "r");
    world.until(|| if world.alive() == 2 { Ok(()) } else { Err("two begin".to_owned()) });
    let first = world.begun()[0].1.clone();
    world.touch(&format!("fail-{first}"));
    world.touch("go");
    world.until(|| {
        let now = world.actions(&id);
        let has = |wanted: &str| now.iter().any(|(_, status)| status == wanted);
        let is_so = has("KILLED") && has("SUCCEEDED") && world.alive() == 0;
        is_so.then_some(()).ok_or_else(|| format!("{now:?}"))
    });
    std::fs::remove_file(world.path().join(format!("fail-{first}"))).expect("there");
    std::fs::remove_file(world.path().join("go")).expect("there");
    let failed = world.actions(&id);
    let (number, _) = failed.iter().find(|(_, status)| status == "KILLED").expect("one");
    for (round, how) in ["", "&failed=true", ""].into_iter().enumerate() {
        // Requested, and the server is killed at once; in the second round once the program runs.
        world.reruns(&id, &format!("{number}{how}"));
        if round == 1 {
            world.until(|| if world.alive() == 1 { Ok(()) } else { Err("it begins".to_owned()) });
        }
        world.restarts();
        world.until(|| {
            if world.alive() == 1 { Ok(()) } else { Err(format!("{:?}", world.actions(&id))) }
        });
        assert_eq!(world.begun().len(), 3 + round, "{:?}", world.begun());
        if round < 2 {
            world.touch(&format!("fail-{first}"));
        }
        world.touch("go");
        let wanted = if round < 2 { "KILLED" } else { "SUCCEEDED" };
        world.until(|| {
            let now = world.actions(&id);
            let is_so = now.iter().any(|(it, status)| it == number && status == wanted);
            is_so.then_some(()).ok_or_else(|| format!("{now:?}"))
        });
        world.until(|| if world.alive() == 0 { Ok(()) } else { Err("it ends".to_owned()) });
        let _ = std::fs::remove_file(world.path().join(format!("fail-{first}")));
        std::fs::remove_file(world.path().join("go")).expect("there");
    }
}

#[test]
fn changes_of_a_running_coordinator_hold_through_a_crash() {
    let text = coordinator("c", 4, 1, "");
    let mut world = World::new(&[(".ankus/root/apps/c/coordinator.xml", text.as_str())]);
    let id = world.starts("coord", "c");
    world.until(|| if world.alive() == 1 { Ok(()) } else { Err("one begins".to_owned()) });
    // A higher concurrency: the actions that are ready start, despite the crash.
    world.put(&format!("v2/job/{id}?action=change&value=concurrency%3D3"));
    world.restarts();
    world.until(
        || if world.alive() == 3 { Ok(()) } else { Err(format!("{:?}", world.actions(&id))) },
    );
    assert_eq!(world.server().json(&format!("v2/job/{id}?show=info"))["concurrency"], json!(3));
    // A lower concurrency: the running actions go on, and none starts in the place of one that ends.
    world.put(&format!("v2/job/{id}?action=change&value=concurrency%3D1"));
    world.restarts();
    let names: Vec<String> = world.begun().into_iter().map(|(_, name)| name).collect();
    world.touch(&format!("go-{}", names[0]));
    world.until(|| if world.alive() == 2 { Ok(()) } else { Err(format!("{}", world.alive())) });
    assert_eq!(world.begun().len(), 3);
    // A pause time pauses it once it has passed, and clearing the pause time resumes it.
    let past = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%MZ").to_string();
    let is = |world: &World, wanted: &str| {
        world.until(|| {
            let status = world.server().json(&format!("v2/job/{id}?show=status"))["status"].clone();
            if status == wanted { Ok(()) } else { Err(format!("{status} and not {wanted}")) }
        });
    };
    let in_future = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(61);
    let soon = in_future.strftime("%Y-%m-%dT%H:%MZ").to_string();
    world.put(&format!("v2/job/{id}?action=change&value=pausetime%3D{soon}"));
    world.restarts();
    let shown = world.server().json(&format!("v2/job/{id}?show=info"))["pauseTime"].to_string();
    assert!(!shown.contains("null"), "{shown} {past}");
    is(&world, "PAUSED");
    world.restarts();
    is(&world, "PAUSED");
    world.put(&format!("v2/job/{id}?action=change&value=pausetime%3D"));
    world.restarts();
    is(&world, "RUNNING");
    // An end before the actions that are still to be created: these are dropped, and the coordinator ends with the
    // running ones.
    let end = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let end = end.strftime("%Y-%m-%dT%H:%MZ").to_string();
    world.put(&format!("v2/job/{id}?action=change&value=endtime%3D{end}"));
    world.restarts();
    world.touch("go");
    is(&world, "SUCCEEDED");
    world.waits(&id, &[(1, "SUCCEEDED"), (2, "SUCCEEDED"), (3, "SUCCEEDED"), (4, "SUCCEEDED")]);
    world.each_once(4);
}

#[test]
fn a_rerun_of_a_bundle_keeps_its_options_through_a_crash() {
    let output = "<datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2020-01-01T00:00Z' timezone='UTC'><uri-template>/out/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets><output-events><data-out name='out' dataset='d'><instance>${coord:current(0)}</instance></data-out></output-events>";
    let one = coordinator("one", 2, 2, output);
    let bundle = "<bundle-app xmlns='uri:oozie:bundle:0.2' name='b'><coordinator name='one'><app-path>/apps/one</app-path></coordinator></bundle-app>";
    let mut world = World::new(&[
        (".ankus/root/apps/one/coordinator.xml", one.as_str()),
        (".ankus/root/apps/b/bundle.xml", bundle),
    ]);
    let bundle = world.starts("bundle", "b");
    let runs = |world: &World, begun: usize| {
        world.until(|| match (world.begun().len(), world.alive()) {
            (all, 2) if all == begun => Ok(()),
            other => Err(format!("{other:?} and not {begun}")),
        });
    };
    runs(&world, 2);
    let names: Vec<String> = world.begun().into_iter().map(|(_, name)| name).collect();
    let outputs: Vec<std::path::PathBuf> = names
        .iter()
        .map(|name| name.strip_prefix("one-").expect("the day follows"))
        .map(|day| world.path().join(format!(".ankus/root/out/{day}")))
        .collect();
    let job = world.server().json(&format!("v2/job/{bundle}?show=info"));
    let member = job["bundleCoordJobs"][0]["coordJobId"].as_str().expect("it has one").to_owned();
    let mut begun = 2;
    for (options, stays) in [("&nocleanup=true", true), ("", false), ("&nocleanup=true", true)] {
        world.touch("go");
        world.waits(&member, &[(1, "SUCCEEDED"), (2, "SUCCEEDED")]);
        std::fs::remove_file(world.path().join("go")).expect("there");
        for output in &outputs {
            std::fs::create_dir_all(output).expect("writable");
        }
        let path = format!(
            "v2/job/{bundle}?action=bundle-rerun&coord-scope=one&date-scope=&refresh=true{options}"
        );
        let xml = "content-type: application/xml\r\n";
        let answer = world.server().ask("PUT", &path, xml, "<configuration/>");
        assert!(answer.status.starts_with("200"), "{path}: {}", answer.status);
        world.restarts();
        begun += 2;
        runs(&world, begun);
        let is_there: Vec<bool> = outputs.iter().map(|output| output.exists()).collect();
        assert_eq!(is_there, [stays; 2], "{options}");
    }
    world.touch("go");
    world.waits(&member, &[(1, "SUCCEEDED"), (2, "SUCCEEDED")]);
}

#[test]
fn old_actions_of_a_coordinator_that_goes_on_are_purged() {
    let text = coordinator("p", 3, 3, "");
    let mut world = World::new(&[(".ankus/root/apps/p/coordinator.xml", text.as_str())]);
    let id = world.starts("coord", "p");
    world.until(|| if world.alive() == 3 { Ok(()) } else { Err("three begin".to_owned()) });
    let names: Vec<String> = world.begun().into_iter().map(|(_, name)| name).collect();
    let mut sorted = names.clone();
    sorted.sort();
    world.touch(&format!("go-{}", sorted[0]));
    world.waits(&id, &[(1, "SUCCEEDED"), (2, "RUNNING"), (3, "RUNNING")]);
    world.touch(&format!("go-{}", sorted[1]));
    world.waits(&id, &[(1, "SUCCEEDED"), (2, "SUCCEEDED"), (3, "RUNNING")]);
    let count = |world: &World| world.server().json("v2/jobs?jobtype=wf")["total"].clone();
    assert_eq!(count(&world), json!(3));
    let old = world.server().json(&format!("v2/job/{id}@1?show=info"))["externalId"].clone();
    let old = old.as_str().expect("an id").to_owned();
    std::thread::sleep(Duration::from_millis(20));
    // Actions stay if the purge does not ask for them, or if they are not old enough.
    world.put("v2/admin/purge?wf=0&coord=0&bundle=0");
    world.put("v2/admin/purge?wf=1&coord=0&bundle=0&oldcoordaction=true");
    world.waits(&id, &[(1, "SUCCEEDED"), (2, "SUCCEEDED"), (3, "RUNNING")]);
    world.put("v2/admin/purge?wf=0&coord=0&bundle=0&limit=1&oldcoordaction=true");
    world.waits(&id, &[(2, "SUCCEEDED"), (3, "RUNNING")]);
    let answer = world.server().ask(
        "PUT",
        "v2/admin/purge?wf=0&coord=0&bundle=0&oldcoordaction=true",
        "",
        "",
    );
    assert_eq!(answer.body, "{\"purge\":\"Purge command executed successfully\"}");
    world.restarts();
    world.waits(&id, &[(3, "RUNNING")]);
    world.until(|| if count(&world) == json!(1) { Ok(()) } else { Err(count(&world).to_string()) });
    assert!(!world.path().join(".ankus/jobs").join(&old).exists(), "its folder goes as well");
    assert!(
        world
            .server()
            .ask("GET", &format!("v2/job/{old}?show=info"), "", "")
            .status
            .contains("E0604")
    );
    // Purged actions cannot be rerun, and the rest goes on.
    let rerun = format!("v2/job/{id}?action=coord-rerun&type=action&scope=1");
    assert!(world.server().ask("PUT", &rerun, "", "").status.starts_with("400"));
    world.touch("go");
    world.waits(&id, &[(3, "SUCCEEDED")]);
    world.each_once(3);
}
