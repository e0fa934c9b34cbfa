//! Unusual or slightly wrong requests of clients, and their answers.

use crate::cli::folder;
use crate::serve::{Server, accounts, apps};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

const XML: &str = "content-type: application/xml\r\n";

/// A coordinator with one action a day, each of which waits for the data of its own day and of the day before.
const STUCK: &str = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='stuck' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-04T00:00Z' timezone='UTC'>\
    <datasets><dataset name='raw' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://nn/raw/${YEAR}-${MONTH}-${DAY}</uri-template></dataset>\
    <dataset name='flat' frequency='${coord:days(1)}' initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://nn/flat/${DAY}</uri-template><done-flag></done-flag></dataset></datasets>\
    <input-events><data-in name='in' dataset='raw'><instance>${coord:current(0)}</instance><instance>${coord:current(-1)}</instance></data-in>\
    <data-in name='beside' dataset='flat'><instance>${coord:current(0)}</instance></data-in>\
    <data-in name='last' dataset='flat'><instance>${coord:latest(0)}</instance></data-in></input-events>\
    <action><workflow><app-path>hdfs://nn/apps/slow</app-path></workflow></action></coordinator-app>";

/// A coordinator with one action, which starts at once.
const PLAIN: &str = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='plain' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/apps/slow</app-path></workflow></action></coordinator-app>";

const SLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='slow'><start to='nap'/><action name='nap'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>sleep</exec><argument>300</argument></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";

fn bundle(path: &str) -> String {
    format!(
        "<bundle-app xmlns='uri:oozie:bundle:0.2' name='all'><coordinator name='one'><app-path>hdfs://nn/apps/{path}</app-path></coordinator></bundle-app>"
    )
}

/// Submits the application in a folder of `apps`. Returns the answer.
fn submitted(server: &Server, kind: &str, name: &str) -> crate::serve::Answer {
    let body = format!(
        "<configuration><property><name>user.name</name><value>ann</value></property><property><name>oozie.{kind}.application.path</name><value>hdfs://nn/apps/{name}</value></property></configuration>"
    );
    server.ask("POST", "v2/jobs?action=start", XML, &body)
}

#[track_caller]
fn id(server: &Server, kind: &str, name: &str) -> String {
    let answer = submitted(server, kind, name);
    let object: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    object["id"].as_str().unwrap_or_else(|| panic!("{} {}", answer.status, answer.body)).to_owned()
}

/// Waits until the first action of a coordinator has this status.
#[track_caller]
fn first_action(server: &Server, id: &str, wanted: &str) {
    for _ in 0..2_400 {
        if server.json(&format!("v2/job/{id}"))["actions"][0]["status"] == wanted {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{}", server.json(&format!("v2/job/{id}")));
}

#[test]
fn what_is_meant_for_an_action_reaches_no_job() {
    let folder = folder(&[
        (".ankus/root/apps/slow/workflow.xml", SLOW),
        (".ankus/root/apps/plain/coordinator.xml", PLAIN),
    ]);
    let server = Server::start(folder.path(), &[]);
    let workflow = id(&server, "wf", "slow");
    let coordinator = id(&server, "coord", "plain");
    server.waits(&workflow, "RUNNING");
    first_action(&server, &coordinator, "RUNNING");
    for id in [format!("{workflow}@nap"), format!("{coordinator}@1")] {
        for (action, codes) in [
            ("kill", ["e0605", "e0605"]),
            ("suspend", ["e0603", "e0603"]),
            ("resume", ["e0605", "e0604"]),
            ("start", ["e0605", "e0303"]),
            ("change&value=concurrency%3D3", ["e0604", "e0604"]),
            ("rerun", ["e0605", "e0605"]),
        ] {
            let answer = server.ask("PUT", &format!("v2/job/{id}?action={action}"), XML, "");
            let code = codes[usize::from(id.contains("-C@"))];
            assert!(answer.status.starts_with("400"), "{action} {id}: {}", answer.status);
            let named = answer.head.contains(&format!("oozie-error-code: {code}"));
            assert!(named, "{action} {id}: {}", answer.head);
        }
    }
    for id in [&workflow, &coordinator] {
        let path = format!("v2/job/{id}?show=status");
        assert_eq!(server.json(&path)["status"], "RUNNING", "{id}");
    }
    // The log of an action contains only its own lines.
    for (id, action) in [(&workflow, "nap"), (&coordinator, "1")] {
        let log = server.ask("GET", &format!("v2/job/{id}@{action}?show=log"), "", "").body;
        let named = format!("ACTION[{id}@{action}]");
        assert!(!log.is_empty() && log.lines().all(|line| line.contains(&named)), "{log}");
    }
    let absent = server.ask("GET", &format!("v2/job/{coordinator}@9?show=log"), "", "");
    assert!(absent.head.contains("e0605"), "{}", absent.head);
    for id in [&workflow, &coordinator] {
        server.ask("PUT", &format!("v2/job/{id}?action=kill"), "", "");
    }
}

#[test]
fn pictures_and_pages_do_not_tell_where_files_lie() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    let id = server.id("v2/jobs", "tidy");
    let here = folder.path().display().to_string();
    for format in ["svg", "dot"] {
        let path = format!("v2/job/{id}?show=graph&format={format}");
        let picture = server.ask("GET", &path, "", "").body;
        assert!(picture.contains("make") && !picture.contains(&here), "{picture}");
    }
    let page = server.ask("GET", &format!("job?id={id}"), "", "").body;
    assert!(!page.contains(&here), "{page}");
    // A node links to its line in the definition.
    let line = format!("job?id={}&amp;tab=definition#L3\"", id.replace('-', "%2D"));
    assert!(page.contains(&line), "{page}");
    let definition = server.ask("GET", &format!("job?id={id}&tab=definition"), "", "").body;
    let at = definition.find("id=\"L3\"").expect("it has lines");
    let shown = definition[at..].lines().next().unwrap_or_default();
    assert!(shown.split("id=\"L4\"").next().is_some_and(|line| line.contains("make")), "{shown}");
}

#[test]
fn everything_that_an_action_waits_for_is_listed() {
    let folder = folder(&[
        (".ankus/root/apps/slow/workflow.xml", SLOW),
        (".ankus/root/apps/stuck/coordinator.xml", STUCK),
        (".ankus/root/raw/2026-01-02/_SUCCESS", ""),
    ]);
    let server = Server::start(folder.path(), &[]);
    let id = id(&server, "coord", "stuck");
    first_action(&server, &id, "WAITING");
    let flat = "hdfs://nn/flat/";
    let latest = "${coord:latest(0)}";
    // The second action has the data of its own day. The third also reports the day that its list has after a missing one.
    let wanted = json!([
        {
            "id": 2,
            "blockedOn": "hdfs://nn/raw/2026-01-01/_SUCCESS",
            "dataSets": [
                {"dataSet": "in", "missingDependencies": ["hdfs://nn/raw/2026-01-01/_SUCCESS"]},
                {"dataSet": "beside", "missingDependencies": [format!("{flat}02")]},
                {"dataSet": "last", "missingDependencies": [latest]},
            ],
        },
        {
            "id": 3,
            "blockedOn": "hdfs://nn/raw/2026-01-03/_SUCCESS",
            "dataSets": [
                {"dataSet": "in", "missingDependencies": ["hdfs://nn/raw/2026-01-03/_SUCCESS", "hdfs://nn/raw/2026-01-02/_SUCCESS"]},
                {"dataSet": "beside", "missingDependencies": [format!("{flat}03")]},
                {"dataSet": "last", "missingDependencies": [latest]},
            ],
        },
    ]);
    let path = format!("v2/job/{id}?show=missing-dependencies&action-list=2-3");
    let mut found = Value::Null;
    for _ in 0..2_400 {
        found = server.json(&path)["missingDependencies"].clone();
        if found == wanted {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(found, wanted);
    let line = server.json(&format!("v2/job/{id}@2"))["missingDependencies"].clone();
    assert_eq!(line, format!("hdfs://nn/raw/2026-01-01/_SUCCESS#{flat}02!!{latest}"));
}

#[test]
fn a_bundle_is_refused_with_what_is_wrong_with_its_coordinator() {
    let broken = [
        ("soon", PLAIN.replace("start='2026-01-01T00:00Z'", "start='soon'"), "e1003"),
        ("fast", PLAIN.replace("${coord:days(1)}", "1"), "e1003"),
        ("torn", PLAIN.replace("</workflow>", ""), "e0701"),
        ("text", "hello".to_owned(), "e0701"),
        ("other", SLOW.to_owned(), "e0701"),
        ("open", PLAIN.replace("days(1)", "days(n)"), "e1004"),
        ("lost", PLAIN.replace("<action>", "<input-events><data-in name='i' dataset='none'><instance>${coord:current(0)}</instance></data-in></input-events><action>"), "e0803"),
    ];
    let mut files: Vec<(String, String)> =
        vec![(".ankus/root/apps/b-absent/bundle.xml".to_owned(), bundle("nowhere"))];
    for (name, text, _) in &broken {
        files.push((format!(".ankus/root/apps/{name}/coordinator.xml"), text.clone()));
        files.push((format!(".ankus/root/apps/b-{name}/bundle.xml"), bundle(name)));
    }
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = folder(&files);
    let server = Server::start(folder.path(), &[]);
    let here = folder.path().display().to_string().to_lowercase();
    let absent = submitted(&server, "bundle", "b-absent");
    assert!(absent.head.contains("oozie-error-code: e1001"), "{}", absent.head);
    assert!(!absent.head.contains(&here), "{}", absent.head);
    for (name, _, code) in broken {
        let answer = submitted(&server, "bundle", &format!("b-{name}"));
        assert!(answer.status.starts_with("400"), "{name}: {} {}", answer.status, answer.body);
        let coded = answer.head.contains(&format!("oozie-error-code: {code}"));
        assert!(coded, "{name}: {}", answer.head);
        let named = format!("(coordinator `one`, hdfs://nn/apps/{name})");
        assert!(answer.head.contains(&named), "{name}: {}", answer.head);
        // The location of the server's files is not revealed.
        assert!(!answer.head.contains(&here), "{name}: {}", answer.head);
    }
}

#[test]
fn what_says_that_it_is_too_long_is_refused_at_once() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    // The body is never sent, and the server does not wait for it.
    let head = format!(
        "POST /oozie/v2/jobs HTTP/1.1\r\nHost: {}\r\n{XML}Expect: 100-continue\r\nContent-Length: 20000000\r\n\r\n",
        server.address
    );
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(String::from_utf8_lossy(&answer), "HTTP/1.1 413");
}

#[test]
fn the_share_library_is_renewed_by_administrators_and_purges_take_what_they_are_told() {
    let folder = apps();
    accounts(folder.path(), "");
    let server = Server::start(folder.path(), &["--auth", "simple", "--accounts", "accounts.toml"]);
    let ask = |user: &str| {
        let path = format!("v2/admin/update_sharelib?user.name={user}");
        server.ask("GET", &path, "", "").status
    };
    assert!(ask("eve").starts_with("401"), "{}", ask("eve"));
    assert!(ask("root").starts_with("200"), "{}", ask("root"));
    // The client sends every parameter of a purge, empty ones included.
    let other = apps();
    let server = Server::start(other.path(), &[]);
    let purge = |query: &str| server.ask("PUT", &format!("v2/admin/purge?{query}"), "", "").status;
    let partly = purge("wf=30&coord=&bundle=&limit=&oldcoordaction=true");
    assert!(partly.starts_with("200"), "{partly}");
    assert!(purge("wf=many").starts_with("400"));
}
