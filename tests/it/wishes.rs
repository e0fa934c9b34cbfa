//! What operators of large installations need from a server, shown on `ankus serve`: metrics and their dashboard,
//! notifications, and every call that Hue makes.

use crate::root;
use crate::serve::{Server, apps};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const KIND: &str = "content-type: application/xml\r\n";
const SLEEP: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="sleep"><start to="wait"/><action name="wait"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node><exec>sleep</exec><argument>${seconds}</argument></shell><ok to="end"/><error to="failed"/></action><kill name="failed"><message>it failed</message></kill><end name="end"/></workflow-app>"#;
const DAILY: &str = r#"<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="daily" frequency="${coord:days(1)}" start="2024-01-01T00:00Z" end="2024-01-03T00:00Z" timezone="UTC"><action><workflow><app-path>hdfs://nn/apps/tidy</app-path></workflow></action></coordinator-app>"#;
const ALL: &str = r#"<bundle-app xmlns="uri:oozie:bundle:0.2" name="all"><coordinator name="daily"><app-path>hdfs://nn/apps/daily</app-path></coordinator></bundle-app>"#;

fn add(folder: &Path, name: &str, file: &str, text: &str) {
    let place = folder.join(".ankus/root/apps").join(name);
    std::fs::create_dir_all(&place).expect("writable");
    std::fs::write(place.join(file), text).expect("writable");
}

fn configuration(pairs: &[(&str, &str)]) -> String {
    let property = |(name, value): &(&str, &str)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    };
    let all: String = pairs.iter().map(property).collect();
    format!("<configuration>{all}</configuration>")
}

#[track_caller]
fn submitted(server: &Server, pairs: &[(&str, &str)]) -> String {
    let common = [("user.name", "ana"), ("nameNode", "hdfs://nn")];
    let body = configuration(&[&common[..], pairs].concat());
    let made = server.ask("POST", "v1/jobs?action=start", KIND, &body);
    let made: Value = serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.head));
    made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

/// Each metric that an expression names, with the labels that it selects or groups by.
fn asked_for(expression: &str) -> Vec<(String, BTreeSet<String>)> {
    let metric = Regex::new(r"(ankus_[a-z_]+)(?:\{([^}]*)\})?").expect("a pattern");
    let label = Regex::new(r"([a-z]+)=").expect("a pattern");
    let by = Regex::new(r"by \(([^)]*)\)").expect("a pattern");
    let grouped: Vec<String> = by
        .captures_iter(expression)
        .flat_map(|found| found[1].split(',').map(|it| it.trim().to_owned()).collect::<Vec<_>>())
        .collect();
    metric
        .captures_iter(expression)
        .map(|found| {
            let labels = found.get(2).map_or("", |it| it.as_str());
            let labels = label.captures_iter(labels).map(|one| one[1].to_owned());
            (found[1].to_owned(), labels.chain(grouped.iter().cloned()).collect())
        })
        .collect()
}

#[test]
fn every_query_of_the_dashboard_finds_its_metric() {
    let folder = apps();
    add(folder.path(), "daily", "coordinator.xml", DAILY);
    let server = Server::start(folder.path(), &[]);
    let tidy = submitted(&server, &[("oozie.wf.application.path", "hdfs://nn/apps/tidy")]);
    server.waits(&tidy, "SUCCEEDED");
    let held = server.id("v2/jobs", "tidy");
    server.ask("PUT", &format!("v2/job/{held}?action=kill"), "", "");
    server.waits(&held, "KILLED");
    submitted(&server, &[("oozie.coord.application.path", "hdfs://nn/apps/daily")]);
    let scraped = server.ask("GET", "v2/admin/prometheus", "", "");
    assert!(scraped.head.contains("content-type: text/plain; version=0.0.4"), "{}", scraped.head);
    // The format itself: each value belongs to a metric that was described before.
    let sample = Regex::new(r#"^([a-z_]+)(?:\{((?:[a-z]+="[^"]*",?)*)\})? \d+(?:\.\d+)?$"#);
    let sample = sample.expect("a pattern");
    let label = Regex::new("([a-z]+)=\"").expect("a pattern");
    let mut described = BTreeSet::new();
    let mut exposed: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in scraped.body.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            described.insert(rest.split(' ').next().expect("a name").to_owned());
        } else if !line.starts_with('#') {
            let found = sample.captures(line).unwrap_or_else(|| panic!("{line}"));
            assert!(described.contains(&found[1]), "{line}");
            let labels = found.get(2).map_or("", |it| it.as_str());
            let labels = label.captures_iter(labels).map(|one| one[1].to_owned());
            // Prometheus itself adds the target of a scrape.
            let labels = labels.chain(["instance".to_owned(), "job".to_owned()]).collect();
            exposed.push((found[1].to_owned(), labels));
        }
    }
    for real in [
        "ankus_jobs{kind=\"workflow\",status=\"KILLED\"} 1\n",
        "ankus_last_success_seconds{app=\"tidy\"} ",
        "ankus_last_failure_seconds{app=\"tidy\"} ",
        "ankus_last_duration_seconds{app=\"tidy\"} ",
        "ankus_normal_mode 1\n",
        "ankus_requests_total{class=\"4xx\"} 0\n",
    ] {
        assert!(scraped.body.contains(real), "{real}: {}", scraped.body);
    }
    let text = std::fs::read_to_string(root().join("docs/grafana-dashboard.json")).expect("there");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut queries = 0;
    for panel in panels {
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            let asked = asked_for(expression);
            assert!(!asked.is_empty(), "{expression}");
            queries += 1;
            for (name, labels) in asked {
                let is_there = exposed
                    .iter()
                    .any(|(known, has)| *known == name && labels.iter().all(|it| has.contains(it)));
                assert!(is_there, "{name} {labels:?} of `{expression}`: {}", scraped.body);
            }
        }
    }
    assert_eq!(queries, panels.len(), "each panel asks once");
}

/// A listener that records the requested paths and answers with an empty body.
fn listener() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut line = String::new();
            let mut reader = BufReader::new(&stream);
            if reader.read_line(&mut line).is_ok() {
                let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                told.lock().expect("ours").push(path);
            }
            // The client may have hung up.
            let _ = (&stream)
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (address, heard)
}

#[track_caller]
fn hears(heard: &Mutex<Vec<String>>, wanted: &str) {
    for _ in 0..2_400 {
        if heard.lock().expect("ours").iter().any(|path| path == wanted) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{wanted}: {:?}", heard.lock().expect("ours"));
}

#[test]
fn notifications_tell_of_submitted_killed_and_repeated_jobs() {
    let folder = apps();
    add(folder.path(), "sleep", "workflow.xml", SLEEP);
    add(folder.path(), "daily", "coordinator.xml", DAILY);
    let (address, heard) = listener();
    let server = Server::start(folder.path(), &[]);
    let of_job = format!("http://{address}/wf/$jobId/$status?parent=$parentId");
    let of_action = format!("http://{address}/action/$jobId/$nodeName/$status");
    let urls = [
        ("oozie.wf.workflow.notification.url", of_job.as_str()),
        ("oozie.wf.action.notification.url", of_action.as_str()),
    ];
    let path = ("oozie.wf.application.path", "hdfs://nn/apps/sleep");
    let id = submitted(&server, &[&urls[..], &[path, ("seconds", "300")]].concat());
    hears(&heard, &format!("/wf/{id}/RUNNING?parent="));
    hears(&heard, &format!("/action/{id}/wait/S:RUNNING"));
    server.ask("PUT", &format!("v1/job/{id}?action=kill"), "", "");
    hears(&heard, &format!("/wf/{id}/KILLED?parent="));
    hears(&heard, &format!("/action/{id}/wait/T:null"));
    server.waits(&id, "KILLED");
    heard.lock().expect("ours").clear();
    let again = [("oozie.wf.rerun.failnodes", "true"), ("seconds", "0")];
    let again = configuration(&again);
    let again = server.ask("PUT", &format!("v1/job/{id}?action=rerun"), KIND, &again);
    assert_eq!(again.status, "200 OK", "{}", again.head);
    hears(&heard, &format!("/wf/{id}/RUNNING?parent="));
    hears(&heard, &format!("/action/{id}/wait/T:end"));
    hears(&heard, &format!("/wf/{id}/SUCCEEDED?parent="));
    let url = format!("http://{address}/coord/$actionId/$status");
    let coordinator = submitted(
        &server,
        &[
            ("oozie.coord.application.path", "hdfs://nn/apps/daily"),
            ("oozie.coord.action.notification.url", &url),
        ],
    );
    hears(&heard, &format!("/coord/{coordinator}@1/WAITING"));
    hears(&heard, &format!("/coord/{coordinator}@2/RUNNING"));
    server.waits(&coordinator, "SUCCEEDED");
    // As on a server, the end of its workflow is reported only by the workflow.
    assert!(
        !heard
            .lock()
            .expect("ours")
            .iter()
            .any(|path| path.ends_with("SUCCEEDED") && path.starts_with("/coord/"))
    );
}

/// The calls of Hue (`oozie_api.py`), with the parameters that it sends.
#[test]
fn every_call_of_hue_is_answered() {
    let folder = apps();
    add(folder.path(), "sleep", "workflow.xml", SLEEP);
    add(folder.path(), "daily", "coordinator.xml", DAILY);
    add(folder.path(), "all", "bundle.xml", ALL);
    let server = Server::start(folder.path(), &[]);
    let who = "user.name=ana&doAs=ana&timezone=GMT";
    let ok = |method: &str, path: &str, body: &str| {
        let between = if path.contains('?') { '&' } else { '?' };
        let kind = if method == "GET" { "" } else { KIND };
        let answer = server.ask(method, &format!("{path}{between}{who}"), kind, body);
        assert!(
            answer.status.starts_with('2'),
            "{method} {path}: {} {}",
            answer.status,
            answer.body
        );
        answer.body
    };
    let json = |path: &str| -> Value { serde_json::from_str(&ok("GET", path, "")).expect("JSON") };
    let sleep = [("oozie.wf.application.path", "hdfs://nn/apps/sleep"), ("seconds", "300")];
    let workflow = submitted(&server, &sleep);
    let daily = [("oozie.coord.application.path", "hdfs://nn/apps/daily")];
    let coordinator = submitted(&server, &daily);
    let all = [("oozie.bundle.application.path", "hdfs://nn/apps/all")];
    let bundle = submitted(&server, &all);
    server.waits(&coordinator, "SUCCEEDED");
    // The default services of 5.2.1 have no instrumentation; from a server without it, Hue requests metrics.
    for path in ["v1/admin/build-version", "v2/admin/metrics", "v1/admin/configuration"] {
        assert!(json(path).is_object(), "{path}");
    }
    assert_eq!(json("v1/admin/status")["systemMode"], "NORMAL");
    for (kind, list) in
        [("wf", "workflows"), ("coord", "coordinatorjobs"), ("bundle", "bundlejobs")]
    {
        let path = format!(
            "v1/jobs?jobtype={kind}&offset=1&len=100&filter=user%3Dana%3Bstatus%3DRUNNING%3Bstatus%3DSUCCEEDED"
        );
        assert!(json(&path)[list].is_array(), "{path}");
    }
    for id in [&workflow, &coordinator, &bundle] {
        assert!(ok("GET", &format!("v1/job/{id}?show=definition"), "").contains("-app"));
        ok("GET", &format!("v1/job/{id}?show=log&logfilter=loglevel%3DINFO%3Blimit%3D10"), "");
        assert!(json(&format!("v2/job/{id}?show=status"))["status"].is_string());
        assert!(json(&format!("v1/job/{id}")).is_object());
    }
    let actions = json(&format!("v1/job/{coordinator}?offset=1&len=1&filter=status%3DSUCCEEDED"));
    assert_eq!(actions["actions"].as_array().map(Vec::len), Some(1), "{actions}");
    assert_eq!(json(&format!("v1/job/{coordinator}@1"))["status"], "SUCCEEDED");
    let graph = ok("GET", &format!("v1/job/{workflow}?show=graph&format=svg&show-kill=true"), "");
    assert!(graph.contains("<svg"), "{graph}");
    assert!(json("v2/sla?filter=app_name%3Dsleep").is_object());
    for action in ["suspend", "resume", "kill"] {
        ok("PUT", &format!("v1/job/{workflow}?action={action}"), "");
    }
    server.waits(&workflow, "KILLED");
    let again = configuration(&[("oozie.wf.rerun.failnodes", "true"), ("seconds", "0")]);
    ok("PUT", &format!("v1/job/{workflow}?action=rerun"), &again);
    server.waits(&workflow, "SUCCEEDED");
    let range = "type=action&scope=1&refresh=true&nocleanup=true";
    ok("PUT", &format!("v1/job/{coordinator}?action=coord-rerun&{range}"), &configuration(&[]));
    let range = "coord-scope=daily&date-scope=&refresh=true&nocleanup=true";
    ok("PUT", &format!("v1/job/{bundle}?action=bundle-rerun&{range}"), &configuration(&[]));
    let dry =
        configuration(&[&[("user.name", "ana"), ("nameNode", "hdfs://nn")], &sleep[..]].concat());
    assert_eq!(ok("POST", "v1/jobs?action=dryrun", &dry), "{\"id\":\"OK\"}");
    let endless = DAILY.replace("2024-01-03", "2999-01-01").replace("days(1)", "months(1200)");
    add(folder.path(), "endless", "coordinator.xml", &endless);
    let endless = submitted(&server, &[("oozie.coord.application.path", "hdfs://nn/apps/endless")]);
    ok("PUT", &format!("v1/job/{endless}?action=change&value=concurrency%3D2"), "");
    let named = [("user.name", "ana"), ("nameNode", "hdfs://nn")];
    let path = [("oozie.coord.application.path", "hdfs://nn/apps/endless")];
    let updated = configuration(&[&named[..], &path].concat());
    ok("PUT", &format!("v2/job/{endless}?action=update"), &updated);
    ok("PUT", &format!("v1/job/{endless}?action=kill"), "");
    let held = submitted_only(&server, &sleep);
    ok("PUT", &format!("v1/job/{held}?action=start"), "");
    ok("PUT", &format!("v1/job/{held}?action=kill"), "");
}

/// Submits a job that waits to be started.
fn submitted_only(server: &Server, pairs: &[(&str, &str)]) -> String {
    let common = [("user.name", "ana"), ("nameNode", "hdfs://nn")];
    let body = configuration(&[&common[..], pairs].concat());
    let made = server.ask("POST", "v1/jobs", KIND, &body);
    let made: Value = serde_json::from_str(&made.body).expect("JSON");
    made["id"].as_str().expect("an id").to_owned()
}
