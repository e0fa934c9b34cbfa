//! The traces of a server, as an OpenTelemetry collector receives them.

use crate::cli::{ankus, folder};
use crate::serve::Server;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OUTER: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="outer"><start to="call"/>
<action name="call"><sub-workflow><app-path>hdfs://nn/apps/inner</app-path><propagate-configuration/></sub-workflow><ok to="end"/><error to="failed"/></action>
<kill name="failed"><message>failed</message></kill><end name="end"/></workflow-app>"#;
/// Its first program does not exist, which is retried once and then handled.
const INNER: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="inner"><start to="choose"/>
<decision name="choose"><switch><case to="stop">${stops eq "true"}</case><default to="copy"/></switch></decision>
<action name="copy" retry-max="1" retry-interval="0"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node><exec>no-such-program</exec></shell><ok to="end"/><error to="end"/></action>
<action name="stop"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node><exec>${dbPassword}</exec></shell><ok to="end"/><error to="failed"/></action>
<kill name="failed"><message>failed</message></kill><end name="end"/></workflow-app>"#;

/// A collector: the received posts with their headers, and whether it refuses further ones.
struct Collector {
    address: String,
    posts: Arc<Mutex<Vec<(String, Value)>>>,
    refuses: Arc<AtomicBool>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (posts, refuses) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (kept, closed) = (posts.clone(), refuses.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(&stream);
                let (mut head, mut line) = (String::new(), String::new());
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    head.push_str(&line.to_lowercase());
                    line.clear();
                }
                let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
                let length = length.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("a whole body");
                let status = if closed.load(Ordering::SeqCst) { "503 Busy" } else { "200 OK" };
                if status == "200 OK" {
                    let body = serde_json::from_slice(&body).expect("JSON");
                    kept.lock().expect("ours").push((head, body));
                }
                let answer = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}"
                );
                (&stream).write_all(answer.as_bytes()).expect("it listens");
            }
        });
        Collector { address, posts, refuses }
    }

    /// All received spans, once there are at least `count`.
    #[track_caller]
    fn spans(&self, count: usize) -> Vec<Value> {
        let mut spans = Vec::new();
        for _ in 0..2_400 {
            let posts = self.posts.lock().expect("ours");
            let of = |(_, post): &(String, Value)| {
                let spans = &post["resourceSpans"][0]["scopeSpans"][0]["spans"];
                spans.as_array().expect("spans").clone()
            };
            spans = posts.iter().flat_map(of).collect();
            drop(posts);
            if spans.len() >= count {
                return spans;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{} of {count} spans: {spans:#?}", spans.len());
    }
}

fn named<'s>(spans: &'s [Value], name: &str) -> &'s Value {
    let mut found = spans.iter().filter(|span| span["name"] == name);
    let first = found.next().unwrap_or_else(|| panic!("no {name}: {spans:#?}"));
    assert!(found.next().is_none(), "two of {name}: {spans:#?}");
    first
}

fn attributes(span: &Value) -> BTreeMap<&str, String> {
    let all = span["attributes"].as_array().expect("attributes").iter();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    all.map(|it| {
        let value = text(&it["value"]["stringValue"]).or_else(|| text(&it["value"]["intValue"]));
        (it["key"].as_str().expect("a key"), value.expect("a value"))
    })
    .collect()
}

fn server(folder: &std::path::Path, collector: &Collector) -> Server {
    let url = format!("http://{}", collector.address);
    let headers = "--traces-headers=authorization=Bearer open sesame";
    Server::start(folder, &["--traces", &url, headers, "--traces-service", "night"])
}

fn submit(server: &Server, stops: &str) -> String {
    let pairs = [
        ("user.name", "ana"),
        ("nameNode", "hdfs://nn"),
        ("oozie.wf.application.path", "hdfs://nn/apps/outer"),
        ("stops", stops),
        ("dbPassword", "hunter2hunter2"),
    ];
    let pairs = pairs.map(|(name, value)| {
        format!("<property><name>{name}</name><value>{value}</value></property>")
    });
    let body = format!("<configuration>{}</configuration>", pairs.concat());
    let kind = "content-type: application/xml\r\n";
    let made = server.ask("POST", "v1/jobs?action=start", kind, &body);
    let made: Value = serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.head));
    made["id"].as_str().expect("an id").to_owned()
}

fn apps() -> tempfile::TempDir {
    folder(&[
        (".ankus/root/apps/outer/workflow.xml", OUTER),
        (".ankus/root/apps/inner/workflow.xml", INNER),
    ])
}

#[test]
fn a_trace_has_jobs_actions_and_attempts() {
    let (folder, collector) = (apps(), Collector::start());
    let server = server(folder.path(), &collector);
    let id = submit(&server, "false");
    server.waits(&id, "SUCCEEDED");
    let spans = collector.spans(6);
    assert_eq!(spans.len(), 6, "{spans:#?}");
    let (outer, call) = (named(&spans, "outer"), named(&spans, "call"));
    let (inner, copy) = (named(&spans, "inner"), named(&spans, "copy"));
    let first = named(&spans, "copy attempt 1");
    let second = named(&spans, "copy attempt 2");
    for (span, parent) in
        [(call, outer), (inner, call), (copy, inner), (first, copy), (second, copy)]
    {
        assert_eq!(span["parentSpanId"], parent["spanId"], "{span:#}");
        assert_eq!(span["traceId"], outer["traceId"], "{span:#}");
        let nanos = |key: &str| span[key].as_str().and_then(|it| it.parse::<u64>().ok());
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"), "{span:#}");
    }
    assert_eq!(outer.get("parentSpanId"), None);
    assert_eq!(outer["traceId"].as_str().map(str::len), Some(32));
    assert_eq!(outer["spanId"].as_str().map(str::len), Some(16));
    assert_eq!((&first["status"]["code"], &second["status"]["code"]), (&2.into(), &2.into()));
    let of = attributes(copy);
    assert_eq!(
        (of["oozie.action.type"].as_str(), of["oozie.action.retries"].as_str()),
        ("shell", "1")
    );
    assert_eq!(attributes(outer)["oozie.job.id"], id);
    let posts = collector.posts.lock().expect("ours");
    let (head, post) = &posts[0];
    assert!(head.starts_with("post /v1/traces http/1.1"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    assert!(head.contains("authorization: bearer open sesame"), "{head}");
    let resource = &post["resourceSpans"][0]["resource"];
    assert_eq!(attributes(resource)["service.name"], "night");
}

#[test]
fn what_a_collector_refuses_is_sent_later_and_a_rerun_begins_a_trace() {
    let (folder, collector) = (apps(), Collector::start());
    let server = server(folder.path(), &collector);
    collector.refuses.store(true, Ordering::SeqCst);
    let id = submit(&server, "true");
    server.waits(&id, "KILLED");
    std::thread::sleep(Duration::from_secs(1));
    collector.refuses.store(false, Ordering::SeqCst);
    let spans = collector.spans(4);
    let killed = named(&spans, "outer").clone();
    assert_eq!(killed["status"]["code"], 2);
    let stop = named(&spans, "stop");
    let message = stop["status"]["message"].as_str().expect("a message");
    assert!(message.starts_with("JA"), "{message}");
    let told = format!("{spans:?}");
    assert!(!told.contains("hunter2"), "{told}");
    let again = "<configuration><property><name>oozie.wf.rerun.failnodes</name><value>true</value></property></configuration>";
    let kind = "content-type: application/xml\r\n";
    let again = server.ask("PUT", &format!("v2/job/{id}?action=rerun"), kind, again);
    assert_eq!(again.status, "200 OK", "{}", again.head);
    let all = collector.spans(8);
    let traces: std::collections::BTreeSet<&str> =
        all.iter().filter_map(|span| span["traceId"].as_str()).collect();
    assert_eq!(traces.len(), 2, "{all:#?}");
    let ids: std::collections::BTreeSet<&str> =
        all.iter().filter_map(|span| span["spanId"].as_str()).collect();
    assert_eq!(ids.len(), all.len(), "{all:#?}");
}

/// The first action has its data; the second waits for data that never comes.
const DAILY: &str = r#"<coordinator-app xmlns="uri:oozie:coordinator:0.4" name="daily" frequency="${coord:days(1)}" start="2024-01-01T00:00Z" end="2024-01-03T00:00Z" timezone="UTC">
<datasets><dataset name="d" frequency="${coord:days(1)}" initial-instance="2024-01-01T00:00Z" timezone="UTC"><uri-template>hdfs://nn/data/${DAY}</uri-template><done-flag/></dataset></datasets>
<input-events><data-in name="in" dataset="d"><instance>${coord:current(0)}</instance></data-in></input-events>
<action><workflow><app-path>hdfs://nn/apps/tidy</app-path></workflow></action></coordinator-app>"#;
const TIDY: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="tidy"><start to="make"/><action name="make"><fs><mkdir path="hdfs://nn/made"/></fs><ok to="end"/><error to="end"/></action><end name="end"/></workflow-app>"#;

#[test]
fn actions_of_coordinators_are_told_of_and_what_ended_while_nobody_sent() {
    let folder = folder(&[
        (".ankus/root/apps/daily/coordinator.xml", DAILY),
        (".ankus/root/apps/tidy/workflow.xml", TIDY),
        (".ankus/root/data/01/a", ""),
    ]);
    let collector = Collector::start();
    let first = server(folder.path(), &collector);
    let body = "<configuration><property><name>user.name</name><value>ana</value></property><property><name>oozie.coord.application.path</name><value>hdfs://nn/apps/daily</value></property></configuration>";
    let kind = "content-type: application/xml\r\n";
    let made = first.ask("POST", "v1/jobs?action=start", kind, body);
    assert!(made.status.starts_with("201"), "{} {}", made.status, made.head);
    let made: Value = serde_json::from_str(&made.body).expect("JSON");
    let daily = made["id"].as_str().expect("an id");
    assert_eq!(collector.spans(3).len(), 3);
    // The second action ends without a workflow.
    let killed =
        first.ask("PUT", &format!("v2/job/{daily}?action=kill&type=action&scope=2"), "", "");
    assert_eq!(killed.status, "200 OK", "{}", killed.head);
    let spans = collector.spans(4);
    assert_eq!(spans.len(), 4, "{spans:#?}");
    let (action, job, late) =
        (named(&spans, "daily@1"), named(&spans, "tidy"), named(&spans, "daily@2"));
    assert_eq!(job["parentSpanId"], action["spanId"]);
    assert_eq!(job["traceId"], action["traceId"]);
    assert_eq!(named(&spans, "make")["parentSpanId"], job["spanId"]);
    assert_eq!((action.get("parentSpanId"), late.get("parentSpanId")), (None, None));
    assert_ne!(late["traceId"], action["traceId"]);
    assert_eq!(
        (&action["status"]["code"], &late["status"]["message"]),
        (&1.into(), &"KILLED".into())
    );
    assert_eq!(attributes(late)["oozie.action.nominal_time_ms"], "1704153600000");
    // A server that is ended with SIGTERM records how much it has exported.
    first.ends();
    let second = Server::start(folder.path(), &[]);
    let id = second.id("v1/jobs?action=start", "tidy");
    second.waits(&id, "SUCCEEDED");
    second.ends();
    let _third = server(folder.path(), &collector);
    let is_sent = |spans: &[Value]| spans.iter().any(|span| attributes(span)["oozie.job.id"] == id);
    let sent = (5..50).any(|count| is_sent(&collector.spans(count)));
    assert!(sent, "{:#?}", collector.spans(4));
}

#[test]
fn what_is_no_collector_is_refused() {
    let folder = apps();
    for (url, said) in [("localhost:4318", "is not the URL"), ("ftp://x", "is not the URL")] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--traces", url];
        ankus(&arguments).folder(folder.path()).run().said(2, said);
    }
}
