//! The recorded exchanges of a real server with its clients, replayed in order against `ankus serve`.
//!
//! Ids, times of the run, the folder of applications and the test server's `script` action are normalized; everything
//! else in an answer counts: status, reason, headers and body.

pub(crate) mod even;

use crate::cli::folder;
use crate::{agree, shared};
use even::{Even, Ids};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait, in total, for jobs to reach the states that they had on the real server.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long to wait for one answer.
const EACH: Duration = Duration::from_secs(STATES + 4);
/// The longest that a replay takes on a busy machine.
const A_RUN: Duration = Duration::from_secs(240);
/// How long to wait where only secondary data can still change.
const SOON: Duration = Duration::from_millis(700);

/// The test server's `script` action: does what the definitions ask of it. While the file `held` lies beside it, actions
/// do not end.
const SCRIPT: &str = r#"#!/bin/sh
value() { sed -n "s/.*<$1>\(.*\)<\/$1>.*/\1/p" "$2"; }
start=$(value start "$1")
case "$start" in
  async*) exec sleep 600 ;;
  "error:UR1|sync") if mkdir "$0.tried" 2>/dev/null; then echo scripted; exit 11; fi ;;
  error:*) echo "${start##*:}"; exit 77 ;;
esac
while [ -e "${0%/*}/held" ]; do sleep 0.05; done
sleep 0.2
data=$(value data "$1")
if [ -n "$data" ]; then printf '%s\n' "$data" > "$ANKUS_ACTION_OUTPUT"; fi
exit 0
"#;

const SETTINGS: &str = r#"
[server]
site = "oozie-site.xml"

[[actions.types]]
name = "script"
schemas = ["uri:oozie:script:0.1"]
elements = ["start?", "check?", "end?", "kill?", "data?", "echo*"]
"#;

/// Where actions were still running when a later command met them.
struct Held {
    /// The first and the last number of the files during which no action ends.
    from: &'static str,
    to: &'static str,
    /// The recorded ids of actions that have ended before.
    ended: &'static [&'static str],
    /// The recorded ids of the actions that end afterwards.
    ending: &'static [&'static str],
}

/// A coordinator was told to run actions 2 and 3 again, so that of 1 and 2 only 1 could be run again next. A bundle was
/// told to run all of a coordinator again, which was therefore not done, and the two actions that it was told to run
/// again next had ended.
const HELD: [Held; 2] = [
    Held {
        from: "119",
        to: "125",
        ended: &["0000010-261121033243558-oozie-eng-C@1"],
        ending: &[
            "0000010-261121033243558-oozie-eng-C@1",
            "0000010-261121033243558-oozie-eng-C@2",
            "0000010-261121033243558-oozie-eng-C@3",
        ],
    },
    Held {
        from: "164",
        to: "175",
        ended: &[],
        ending: &["0000029-261121033243558-oozie-eng-C@1", "0000029-261121033243558-oozie-eng-C@2"],
    },
];

/// Seconds between two materialization passes, and between two passes over the states of coordinators: 300 and 60 on
/// the recorded server, whose client waited for them between its exchanges.
pub(crate) const MAKING: u64 = 8;
pub(crate) const STATES: u64 = 20;

const SITE: &str = "<configuration><property><name>oozie.service.HadoopAccessorService.supported.filesystems</name><value>*</value></property><property><name>oozie.service.LiteWorkflowStoreService.user.retry.error.code.ext</name><value>11</value></property><property><name>oozie.service.ProxyUserService.proxyuser.root.hosts</name><value>*</value></property><property><name>oozie.service.ProxyUserService.proxyuser.root.groups</name><value>*</value></property>PASSES</configuration>";

/// The site configuration of the recorded server, with shorter intervals.
fn site() -> String {
    let property = |name: &str, value: u64| {
        format!("<property><name>oozie.service.{name}</name><value>{value}</value></property>")
    };
    let passes = property("CoordMaterializeTriggerService.scheduling.interval", MAKING)
        + &property("StatusTransitService.statusTransit.interval", STATES);
    SITE.replace("PASSES", &passes)
}

fn workflow(name: &str, action: &str) -> String {
    format!(
        "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"{name}\">\n<start to=\"a\"/>\n{action}<kill name=\"fail\"><message>failed</message></kill>\n<end name=\"end\"/>\n</workflow-app>\n"
    )
}

fn coordinator(name: &str, head: &str, concurrency: u32, inner: &str, app: &str) -> String {
    format!(
        "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"{name}\" {head} timezone=\"UTC\"><controls><timeout>10</timeout><concurrency>{concurrency}</concurrency><execution>FIFO</execution></controls>{inner}<action><workflow><app-path>file:///APPS/{app}</app-path><configuration><property><name>x</name><value>${{coord:nominalTime()}}</value></property></configuration></workflow></action></coordinator-app>"
    )
}

/// Applications whose text the recordings do not contain; all others are taken from there.
fn unseen() -> Vec<(&'static str, String)> {
    let long =
        "frequency=\"${coord:days(1)}\" start=\"2026-11-15T00:00Z\" end=\"2030-01-01T00:00Z\"";
    let daily =
        "frequency=\"${coord:days(1)}\" start=\"2026-11-20T00:00Z\" end=\"2030-01-01T00:00Z\"";
    let future = "frequency=\"60\" start=\"2029-01-01T00:00Z\" end=\"2029-01-02T00:00Z\"";
    let data = "<datasets><dataset name=\"d\" frequency=\"${coord:days(1)}\" initial-instance=\"2026-11-01T00:00Z\" timezone=\"UTC\"><uri-template>file:///APPS/data/${YEAR}${MONTH}${DAY}</uri-template></dataset></datasets><input-events><data-in name=\"in\" dataset=\"d\"><instance>${coord:current(0)}</instance></data-in></input-events>";
    let script = |attributes: &str, inner: &str| {
        format!(
            "<action name=\"a\"{attributes}><script xmlns=\"uri:oozie:script:0.1\">{inner}</script><ok to=\"end\"/><error to=\"fail\"/></action>\n"
        )
    };
    vec![
        ("async/workflow.xml", workflow("async-wf", &script("", "<start>async</start>"))),
        (
            "retry/workflow.xml",
            workflow(
                "retry-wf",
                &script(" retry-max=\"2\" retry-interval=\"0\"", "<start>error:UR1|sync</start>"),
            ),
        ),
        ("el/workflow.xml", workflow("el-wf", &script("", "<echo>${nosuch}</echo>"))),
        (
            "bad/workflow.xml",
            "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"bad\"><start to=\"nope\"/><end name=\"end\"/></workflow-app>".to_owned(),
        ),
        (
            "badxsd/workflow.xml",
            "<workflow-app xmlns=\"uri:oozie:workflow:1.0\"><start/></workflow-app>".to_owned(),
        ),
        ("c2/coordinator.xml", coordinator("c-long", long, 2, "", "async")),
        ("c3/coordinator.xml", coordinator("c-dep", daily, 2, data, "ok").replace("</controls>", "<throttle>1</throttle></controls>")),
        ("cfut/coordinator.xml", coordinator("c-fut", future, 2, "", "ok")),
    ]
}

/// A recorded request with its answer.
pub(crate) struct Exchange {
    pub(crate) file: String,
    line: String,
    headers: BTreeMap<String, String>,
    pub(crate) body: String,
    status: u64,
    reason: String,
    told: BTreeMap<String, String>,
    answer: String,
}

/// The exchanges in a file, or in all files of a folder.
pub(crate) fn recorded(place: &Path) -> Vec<Exchange> {
    let mut paths = vec![place.to_owned()];
    if place.is_dir() {
        paths = std::fs::read_dir(place).expect("there").flatten().map(|it| it.path()).collect();
        paths.sort();
    }
    let mut all = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let headers = |value: &Value| -> BTreeMap<String, String> {
        let pairs = value.as_object().into_iter().flatten();
        pairs.map(|(name, value)| (name.clone(), text(value))).collect()
    };
    for path in paths {
        let bytes = std::fs::read(&path).expect("readable");
        let session: Value = serde_json::from_slice(&bytes).expect("JSON");
        for one in session["exchanges"].as_array().into_iter().flatten() {
            let (request, response) = (&one["request"], &one["response"]);
            all.push(Exchange {
                file: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                line: text(&request["line"]),
                headers: headers(&request["headers"]),
                body: text(&request["body"]),
                status: response["status"].as_u64().unwrap_or_default(),
                reason: text(&response["reason"]),
                told: headers(&response["headers"]),
                answer: text(&response["body"]),
            });
        }
    }
    all
}

/// An answer of our server.
pub(crate) struct Answer {
    status: u64,
    reason: String,
    headers: BTreeMap<String, String>,
    body: String,
}

fn ask(address: &str, line: &str, headers: &BTreeMap<String, String>, body: &str) -> Answer {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    let mut head = format!("{line} HTTP/1.1\r\nhost: localhost:11000\r\nconnection: close\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| name.as_str() != "content-length") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut bytes = Vec::new();
    // When a body is refused unread, the connection may be closed.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default().trim_start_matches("HTTP/1.1 ");
    let (code, reason) = status.split_once(' ').unwrap_or((status, ""));
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        told.insert(name.to_lowercase(), value.to_owned());
    }
    Answer {
        status: code.parse().unwrap_or_default(),
        reason: reason.to_owned(),
        headers: told,
        body: body.to_owned(),
    }
}

/// Writes the applications as they were at the time of this exchange.
fn laid_out(apps: &Path, even: &Even, number: &str) {
    let number: u32 = number.parse().expect("a number");
    let concurrency = match number {
        141..=514 => 7,
        516.. => 9,
        _ => 2,
    };
    let text = &unseen()[5].1;
    let text = text.replace("<concurrency>2<", &format!("<concurrency>{concurrency}<"));
    std::fs::write(apps.join("c2/coordinator.xml"), even.sent(&text)).expect("writable");
}

/// The difference between the recorded answer and ours, if there is one.
fn difference(even: &Even, then: &Exchange, now: &Answer) -> Option<String> {
    let told = even.told(&then.reason);
    let ours = even.ours(&now.reason, &told);
    if (then.status, &told) != (now.status, &ours) {
        return Some(format!("status {} {told}\n      now {} {ours}", then.status, now.status));
    }
    for (name, value) in &then.told {
        if matches!(name.as_str(), "content-length" | "transfer-encoding" | "date") {
            continue;
        }
        let told = even.told(value);
        let ours = now.headers.get(name).map_or("(none)", String::as_str);
        let ours = even.ours(ours, &told);
        if told != ours {
            return Some(format!("{name}: {told}\n      now {ours}"));
        }
    }
    if even::is_excerpt(&then.line, &then.answer) {
        return None;
    }
    let told = even.told(&then.answer);
    let ours = even.ours(&now.body, &told);
    if let (Ok(told), Ok(ours)) = (serde_json::from_str(&told), serde_json::from_str(&ours)) {
        // The order of members is irrelevant; whether slashes are escaped can only be seen in the text.
        if now.body.replace("\\/", "").contains('/')
            && !then.answer.replace("\\/", "").contains('/')
        {
            return Some("slashes are not escaped".to_owned());
        }
        let mut differs = Vec::new();
        even::compared("", &told, &ours, &mut differs);
        return (!differs.is_empty()).then(|| differs.join("\n      "));
    }
    let at = told.bytes().zip(ours.bytes()).position(|(a, b)| a != b);
    let at = at.or_else(|| (told.len() != ours.len()).then(|| told.len().min(ours.len())))?;
    let part = |text: &str| {
        let from = (0..=at.saturating_sub(60)).rev().find(|at| text.is_char_boundary(*at));
        let from = from.unwrap_or_default();
        text[from..].chars().take(200).collect::<String>()
    };
    Some(format!("body {}\n       now {}", part(&told), part(&ours)))
}

/// How many times longer things take on this machine now than without load: its load average per core.
pub(crate) fn slowness() -> u32 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    (load / cores as f64).ceil().clamp(1.0, 6.0) as u32
}

/// A server with the applications of the recordings.
pub(crate) struct World {
    pub(crate) server: crate::serve::Server,
    pub(crate) even: Even,
    pub(crate) ids: Ids,
    /// The folder of the applications.
    pub(crate) apps: PathBuf,
    _place: tempfile::TempDir,
}

impl World {
    /// Starts it early enough for its day to last: coordinators of one action a day would make another one at midnight.
    pub(crate) fn start(verdicts: &Path) -> World {
        let of_day = Timestamp::now().as_second().rem_euclid(86_400);
        let left = Duration::from_secs((86_400 - of_day).unsigned_abs());
        if left < A_RUN {
            eprintln!("ws-api: waits {left:?} for the next day");
            std::thread::sleep(left);
        }
        let all = recorded(&verdicts.join("ws-api"));
        let place = folder(&[
            ("ankus.toml", SETTINGS),
            ("oozie-site.xml", &site()),
            ("script.sh", SCRIPT),
            ("apps/lib/a.txt", ""),
            ("user.toml", ""),
        ]);
        let script = place.path().join("script.sh");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("ours");
        let settings = format!(
            "{SETTINGS}\n[launchers]\nmax = 64\n\n[hosts]\n\"file://\" = [\"/\"]\n\n[tools]\nscript = \"{}\"\n",
            script.display()
        );
        std::fs::write(place.path().join("user.toml"), settings).expect("writable");
        let apps = place.path().join("apps");
        let even = Even::new(&apps);
        let mut definitions = unseen();
        for (from, name) in [
            ("032-wf-definition", "ok/workflow.xml"),
            ("329-raw-wf-show-definition", "err/workflow.xml"),
            ("109-coord-definition", "c1/coordinator.xml"),
            ("167-bundle-definition", "b1/bundle.xml"),
        ] {
            let shown = all.iter().rfind(|one| one.file == from).expect("recorded");
            definitions.push((name, shown.answer.clone()));
        }
        for (name, text) in &definitions {
            let path = apps.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            std::fs::write(path, even.sent(text)).expect("writable");
        }
        let user = place.path().join("user.toml").display().to_string();
        let server = crate::serve::Server::start_with(place.path(), &[], &user);
        let mut ids = Ids::default();
        prepared(&server.address, &mut ids, &apps);
        World { server, even, ids, apps, _place: place }
    }

    /// Restores the applications as they were when the file of this number was recorded, and how far the actions had
    /// come that [`HELD`] lists.
    pub(crate) fn lay_out(&self, number: &str) {
        laid_out(&self.apps, &self.even, number);
        let file = self.apps.with_file_name("held");
        let before = std::fs::read_to_string(&file).ok();
        let before = HELD.iter().find(|held| before.as_deref() == Some(held.from));
        let now = HELD.iter().find(|held| (held.from..=held.to).contains(&number));
        match (before, now) {
            (None, Some(held)) => {
                held.ended.iter().for_each(|action| self.await_end(action));
                std::fs::write(&file, held.from).expect("writable");
            }
            (Some(held), None) => {
                std::fs::remove_file(&file).expect("writable");
                held.ending.iter().for_each(|action| self.await_end(action));
            }
            _ => {}
        }
    }

    /// Waits until the job or action with this recorded id has ended, or for as long as an answer is awaited.
    fn await_end(&self, id: &str) {
        self.await_status(id, |status| status == ["SUCCEEDED"]);
    }

    fn await_status(&self, id: &str, is_it: impl Fn(&[&str]) -> bool) {
        let line = format!("GET /oozie/v2/job/{}?show=status", self.ids.sent(id));
        let began = Instant::now();
        let is_so =
            || is_it(&even::states(&ask(&self.server.address, &line, &BTreeMap::new(), "").body));
        while !is_so() && began.elapsed() < EACH {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Sends a recorded request.
    pub(crate) fn ask(&mut self, then: &Exchange) -> Answer {
        let line = self.ids.sent(&self.even.sent(&then.line));
        let body = self.ids.sent(&self.even.sent(&then.body));
        let now = ask(&self.server.address, &line, &then.headers, &body);
        self.ids.learn(&then.answer, &now.body);
        now
    }
}

#[test]
fn recorded_exchanges_are_answered_as_the_server_answered_them() {
    let Some(verdicts) = shared("ANKUS_VERDICTS", "verdicts") else { return };
    let all = recorded(&verdicts.join("ws-api"));
    let mut world = World::start(&verdicts);
    let (mut left, soon) = (PATIENCE * slowness(), SOON * slowness());
    let (mut agreed, mut differ) = (0, Vec::new());
    let mut polled = "";
    for then in &all {
        world.lay_out(&then.file[..3]);
        // A polling client waits a minute between two requests, in which a pass took place.
        let is_poll = then.line.starts_with("GET") && then.line.contains("show=status");
        if is_poll && polled == then.line {
            std::thread::sleep(Duration::from_secs(MAKING + 1));
        }
        // Java sends an OPTIONS request first, each time.
        if !then.line.starts_with("OPTIONS") {
            polled = if is_poll { &then.line } else { "" };
        }
        // Patience is spent by waiting only, not by an answer that is slow on a busy machine.
        let mut began = None;
        let difference = loop {
            let now = world.ask(then);
            let difference = difference(&world.even, then, &now);
            let states = even::states(&now.body);
            let has_ended = |state: &&str| matches!(*state, "SUCCEEDED" | "KILLED" | "FAILED");
            let patience = match even::states(&then.answer) == states {
                true if then.line.contains("/job/") => soon,
                true => Duration::ZERO,
                // For jobs that have ended, another list may follow, but no other states.
                false if !states.is_empty() && states.iter().all(has_ended) => soon,
                false => EACH,
            };
            let is_early = then.line.contains("rerun") && (then.status, now.status) == (200, 400);
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            let may_come =
                (then.line.starts_with("GET") || is_early) && waited < patience.min(left);
            if difference.is_none() || !may_come {
                break difference;
            }
            std::thread::sleep(Duration::from_millis(if is_early { 5 } else { 100 }));
        };
        // Each command was a client process of its own, which took a second to start: a workflow had begun by then.
        if then.line.starts_with("POST") && then.line.contains("action=start") {
            for id in even::workflows(&then.answer) {
                world.await_status(&id, |status| status != ["PREP"]);
            }
        }
        left = left.saturating_sub(began.map_or(Duration::ZERO, |began| began.elapsed()));
        match difference {
            None => agreed += 1,
            Some(difference) => {
                differ.push(format!("{}: {}\n      {difference}", then.file, then.line))
            }
        }
    }
    for one in &differ {
        println!("{one}");
    }
    agree("ws-api", agreed, all.len());
}

/// Submits the two jobs that existed before the first exchange.
fn prepared(address: &str, ids: &mut Ids, apps: &Path) {
    let kind = BTreeMap::from([("content-type".to_owned(), "application/xml".to_owned())]);
    for (number, name, last) in [(0, "ok", "SUCCEEDED"), (1, "async", "SUSPENDED")] {
        let path = apps.join(name);
        let body = format!(
            "<configuration><property><name>user.name</name><value>tester</value></property><property><name>x</name><value>1</value></property><property><name>oozie.wf.application.path</name><value>file://{}</value></property></configuration>",
            path.display()
        );
        let made = ask(address, "POST /oozie/v2/jobs?action=start", &kind, &body);
        let id: Value =
            serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
        let id = id["id"].as_str().expect("an id").to_owned();
        ids.learn(&format!("000000{number}-261121033243558-oozie-eng-W"), &id);
        let none = BTreeMap::new();
        if last == "SUSPENDED" {
            ask(address, &format!("PUT /oozie/v2/job/{id}?action=suspend"), &none, "");
        }
        let began = Instant::now();
        let show = format!("GET /oozie/v2/job/{id}?show=status");
        while !ask(address, &show, &none, "").body.contains(last) {
            assert!(began.elapsed() < EACH * 5, "{id} is not {last}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
