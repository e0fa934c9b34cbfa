//! `[hosts]` with clusters: what a run does on HDFS itself, and what it reports if a cluster does not answer.

use crate::run::{ankus, application, text};
use ankus_engine::host::files::{FileSystems, FileUri, Files as _, Hosts, Place};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
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
