//! `[hosts]` with clusters: what a run does on HDFS itself, and what it reports if a cluster does not answer.

use crate::run::{ankus, application, text};
use ankus_engine::host::files::{FileSystems, FileUri, Files as _, Hosts, Place};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HEAD: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><global>\
    <resource-manager>rm</resource-manager><name-node>hdfs://prod:8020</name-node></global>";
const TAIL: &str = "<kill name='bad'><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill><end name='end'/>\
    </workflow-app>";

fn settings(url: &str) -> String {
    format!("[hosts]\n\"hdfs://prod:8020\" = \"{url}\"\n")
}

fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = ankus(folder, arguments).output().expect("it runs");
    (output.status.code(), text(&output))
}

#[test]
fn a_cluster_that_is_down_is_named_with_its_setting() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.expect("a port that is free again").port();
    let folder = tempfile::tempdir().expect("a folder");
    let workflow = format!(
        "{HEAD}<start to='make'/><action name='make'><fs><mkdir path='/made'/></fs><ok to='end'/><error to='bad'/></action>{TAIL}"
    );
    let hosts = settings(&format!("webhdfs://127.0.0.1:{port}"));
    application(folder.path(), &[("app/workflow.xml", &workflow), ("ankus.toml", &hosts)]);
    let named = format!("the cluster webhdfs://127.0.0.1:{port}, which `[hosts]` names for");
    let (code, told) = said(folder.path(), &["run", "app", "--id", "w"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("ConnectException") && told.contains(&named), "{told}");
    let (code, told) = said(folder.path(), &["doctor"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains(&format!("cluster   hdfs://prod:8020: {named}")), "{told}");

    application(folder.path(), &[("ankus.toml", &settings("ftp://host"))]);
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("`ftp://host` is not a file system that can be reached"), "{told}");
}

/// A name node that knows a single file, and how often it was asked for each path.
#[derive(Default)]
struct Asked {
    paths: Mutex<BTreeMap<String, usize>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

impl Asked {
    fn serve(self: Arc<Asked>, only: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let asked = self.clone();
                std::thread::spawn(move || asked.answer(stream, only));
            }
        });
        address.to_string()
    }

    /// Answers the requests of a connection until it is closed.
    fn answer(&self, stream: TcpStream, only: &str) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let mut stream = stream;
        loop {
            let request = lines.next()?.ok()?;
            while !lines.next()?.ok()?.is_empty() {}
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most_open.fetch_max(open, Ordering::SeqCst);
            let path = request.split(['?', ' ']).nth(1)?.replacen("/webhdfs/v1", "", 1);
            std::thread::sleep(Duration::from_millis(5));
            let (status, body) = match path == only {
                true => (
                    "200 OK",
                    r#"{"FileStatus":{"type":"FILE","length":0,"modificationTime":0,"permission":"644"}}"#,
                ),
                false => (
                    "404 Not Found",
                    r#"{"RemoteException":{"exception":"FileNotFoundException","message":"none"}}"#,
                ),
            };
            *self.paths.lock().expect("the paths").entry(path).or_default() += 1;
            self.open.fetch_sub(1, Ordering::SeqCst);
            let length = body.len();
            write!(
                stream,
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .ok()?;
        }
    }
}

#[test]
fn instances_in_a_cluster_are_looked_for_together_and_once() {
    let asked = Arc::new(Asked::default());
    let address = asked.clone().serve("/in/2000-01/_SUCCESS");
    let coordinator = "<coordinator-app name='c' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' \
        timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><datasets><dataset name='d' frequency='${coord:months(1)}' \
        initial-instance='2000-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://prod:8020/in/${YEAR}-${MONTH}</uri-template></dataset>\
        </datasets><input-events><data-in name='i' dataset='d'><instance>${coord:latest(0)}</instance></data-in></input-events>\
        <action><workflow><app-path>hdfs://nn/apps/load</app-path></workflow></action></coordinator-app>";
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='end'/><end name='end'/></workflow-app>";
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = settings(&format!("webhdfs://{address}"));
    application(
        folder.path(),
        &[
            ("coordinator.xml", coordinator),
            ("load/workflow.xml", workflow),
            ("ankus.toml", &hosts),
        ],
    );
    let (code, told) = said(folder.path(), &["run", "coordinator.xml", "--id", "c"]);
    assert_eq!(code, Some(0), "{told}");
    let paths = asked.paths.lock().expect("the paths");
    let months = paths.keys().filter(|path| path.ends_with("/_SUCCESS")).count();
    assert!(months > 300, "{paths:?}");
    // The search goes from now to the first instance.
    assert!(
        paths.contains_key("/in/2000-01/_SUCCESS") && paths.contains_key("/in/2000-02/_SUCCESS")
    );
    let most = paths.iter().max_by_key(|(_, times)| **times);
    assert!(most.is_some_and(|(_, times)| *times == 1), "asked repeatedly: {most:?}");
    let open = asked.most_open.load(Ordering::SeqCst);
    assert!((2..=16).contains(&open), "{open} requests at once");
}

/// Needs a cluster: `ANKUS_HDFS=webhdfs://host:port/folder` (or `hdfs:`, if that is built in). The folder must exist and be
/// writable for everyone; files in it may be deleted.
#[test]
fn a_run_works_on_a_cluster() {
    let Ok(url) = std::env::var("ANKUS_HDFS") else {
        println!("skipped: ANKUS_HDFS names no cluster");
        return;
    };
    let workflow = format!(
        "{HEAD}<start to='files'/>\
         <action name='files'><fs><delete path='/w'/><mkdir path='/w/in'/><touchz path='/w/in/_SUCCESS'/><mkdir path='/w/x'/>\
           <move source='hdfs://prod:8020/w/x' target='/w/moved'/><chmod path='/w/in' permissions='750' dir-files='false'/>\
           <mkdir path='hdfs://dev/here'/></fs><ok to='which'/><error to='bad'/></action>\
         <decision name='which'><switch><case to='ship'>${{fs:exists('hdfs://prod:8020/w/in/_SUCCESS') and fs:isDir('hdfs://prod:8020/w/moved') \
           and not fs:exists('hdfs://prod:8020/w/x') and fs:exists('hdfs://dev/here') and not fs:exists('hdfs://dev/w')}}</case>\
           <default to='bad'/></switch></decision>\
         <action name='ship'><shell xmlns='uri:oozie:shell-action:1.0'><prepare><delete path='hdfs://prod:8020/w/moved'/>\
           <mkdir path='hdfs://prod:8020/w/prepared'/></prepare><exec>said.sh</exec><file>hdfs://prod:8020/lib/say.sh#said.sh</file>\
           <file>hdfs://prod:8020/lib#library</file><capture-output/></shell><ok to='again'/><error to='bad'/></action>\
         <decision name='again'><switch><case to='end'>${{wf:actionData('ship')['heard'] eq 'cluster' and \
           fs:exists('hdfs://prod:8020/w/prepared') and not fs:exists('hdfs://prod:8020/w/moved')}}</case><default to='bad'/></switch></decision>{TAIL}"
    );
    let coordinator = "<coordinator-app name='c' frequency='${coord:hours(1)}' start='2026-01-01T00:00Z' end='2026-01-01T01:00Z' \
        timezone='UTC' xmlns='uri:oozie:coordinator:0.4'><datasets><dataset name='d' frequency='${coord:hours(1)}' \
        initial-instance='2026-01-01T00:00Z' timezone='UTC'><uri-template>hdfs://prod:8020/data/${HOUR}</uri-template></dataset>\
        </datasets><input-events><data-in name='i' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>\
        <action><workflow><app-path>hdfs://prod:8020/apps/made</app-path></workflow></action></coordinator-app>";
    let put = format!(
        "{HEAD}<start to='put'/><action name='put'><fs><touchz path='/data/00/_SUCCESS'/></fs><ok to='end'/><error to='bad'/></action>{TAIL}"
    );
    let clear = put.replace(
        "<touchz path='/data/00/_SUCCESS'/>",
        "<delete path='/data'/><delete path='/made'/>",
    );
    let made = put.replace("/data/00/_SUCCESS", "/made");
    let folder = tempfile::tempdir().expect("a folder");
    let hosts = format!("{}\"hdfs://dev\" = \"./dev\"\n", settings(&format!("{url}/run")));
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &workflow),
            ("put/workflow.xml", &put),
            ("clear/workflow.xml", &clear),
            ("coordinator.xml", coordinator),
            ("ankus.toml", &hosts),
        ],
    );
    let cluster = files(&format!("{url}/run"));
    let say = "#!/bin/sh\ntest -f library/say.sh && echo heard=cluster\n";
    write(&cluster, "/lib/say.sh", say);
    write(&cluster, "/apps/made/workflow.xml", &made);

    let (code, told) = said(folder.path(), &["run", "app", "--id", "w"]);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = said(folder.path(), &["doctor"]);
    assert!(told.contains("answers"), "{code:?} {told}");

    let (code, told) = said(folder.path(), &["run", "clear"]);
    assert_eq!(code, Some(0), "{told}");
    let wait = ["run", "coordinator.xml", "--id", "c", "--store", "waits"];
    let mut waiting = ankus(folder.path(), &wait);
    let mut child = waiting.stderr(Stdio::null()).stdout(Stdio::null()).spawn().expect("it runs");
    let shown = || said(folder.path(), &["job", "show", "c", "--store", "waits"]).1;
    until(|| shown().contains("WAITING"));
    let (code, told) = said(folder.path(), &["run", "put"]);
    assert_eq!(code, Some(0), "{told}");
    until(|| child.try_wait().expect("it can be asked").is_some());
    let told = shown();
    assert!(told.contains("SUCCEEDED"), "{told}");
    let there = cluster.status(&uri("/made")).expect("a status");
    assert!(there.is_some(), "the workflow that lies on the cluster has run");
}

fn files(url: &str) -> FileSystems {
    let place = Place::read(url, Path::new("")).expect("the URL of a cluster");
    FileSystems::new("", Hosts::from([("hdfs://prod:8020".to_owned(), place)])).with_user("ann")
}

fn uri(path: &str) -> FileUri {
    FileUri::parse(&format!("hdfs://prod:8020{path}"))
}

fn write(cluster: &FileSystems, path: &str, content: &str) {
    cluster.write(&uri(path), content.as_bytes()).expect("a file on the cluster");
}

#[track_caller]
fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(100));
    }
}
