//! Applications that are given as an archive, as a URI, or in the properties of a job.

use crate::run::{ankus, application, text};
use std::io::Write as _;
use std::path::Path;

const FLOW: &str = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='say'/><action name='say'>\
    <shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn:8020</name-node><exec>say.sh</exec><file>say.sh</file><capture-output/></shell>\
    <ok to='is'/><error to='bad'/></action><decision name='is'><switch><case to='end'>\
    ${wf:actionData('say')['path'] eq wf:appPath()}</case><default to='bad'/></switch></decision>\
    <kill name='bad'><message>${wf:errorMessage('say')}</message></kill><end name='end'/></workflow-app>";
/// Prints where it is: the path of the application in the properties.
const SAY: &str = "#!/bin/sh\necho \"path=$SAID\"\n";

enum Part<'a> {
    File(&'a str, &'a str),
    Link(&'a str, &'a str),
}

fn zipped(path: &Path, parts: &[Part<'_>]) {
    let mut archive = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default();
    for part in parts {
        match part {
            Part::File(name, content) => {
                archive.start_file(*name, options).expect("a file");
                archive.write_all(content.as_bytes()).expect("its content");
            }
            Part::Link(name, target) => {
                archive.add_symlink(*name, *target, options).expect("a link");
            }
        }
    }
    archive.finish().expect("an archive");
}

fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = ankus(folder, arguments).output().expect("it runs");
    (output.status.code(), text(&output))
}

/// The number of applications that are kept in the store.
fn kept(folder: &Path) -> usize {
    std::fs::read_dir(folder.join(".ankus/applications")).map_or(0, Iterator::count)
}

fn flow() -> String {
    FLOW.replace(
        "<exec>say.sh</exec>",
        "<exec>say.sh</exec><env-var>SAID=${wf:appPath()}</env-var>",
    )
}

#[test]
fn an_archive_runs_and_goes_with_its_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow = flow();
    let parts = [Part::File("app/workflow.xml", &flow), Part::File("app/say.sh", SAY)];
    zipped(&folder.path().join("app.zip"), &parts);
    let (code, told) = said(folder.path(), &["run", "app.zip", "--id", "z"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(kept(folder.path()), 1);
    let (code, told) = said(folder.path(), &["job", "rerun", "z", "--failed"]);
    assert_ne!(code, None, "{told}");
    let (code, told) = said(folder.path(), &["job", "purge", "z"]);
    assert_eq!((code, kept(folder.path())), (Some(0), 0), "{told}");

    // Other commands read the archive in place.
    for command in ["graph", "params", "doctor"] {
        let (code, told) = said(folder.path(), &[command, "app.zip"]);
        let is_shown = told.contains("app.zip/app/workflow.xml") || told.contains("say");
        assert!(matches!(code, Some(0 | 1)) && is_shown, "{command}: {told}");
    }
    let (code, told) = said(folder.path(), &["run", "app.zip", "--dry-run"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(kept(folder.path()), 0);

    // A run that is not submitted leaves nothing behind.
    zipped(&folder.path().join("none.zip"), &[Part::File("a/b.txt", "")]);
    let (code, told) = said(folder.path(), &["run", "none.zip"]);
    assert!(code == Some(2) && told.contains("no definition"), "{told}");
    assert_eq!(kept(folder.path()), 0);
}

#[test]
fn an_archive_that_leads_out_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow = flow();
    for (bad, why) in [
        (Part::File("../../out.sh", "x"), "leads out"),
        (Part::Link("lib", "/etc"), "is a link"),
        (Part::Link("lib", "inside"), "is a link"),
    ] {
        zipped(&folder.path().join("app.zip"), &[Part::File("workflow.xml", &flow), bad]);
        let (code, told) = said(folder.path(), &["run", "app.zip"]);
        assert!(
            code == Some(2) && told.contains("cannot be unpacked") && told.contains(why),
            "{told}"
        );
    }
    assert_eq!(kept(folder.path()), 0);
    assert!(
        !folder.path().join("out.sh").exists() && !folder.path().join(".ankus/out.sh").exists()
    );
}

#[test]
fn partitions_are_folders_of_the_warehouse() {
    let folder = tempfile::tempdir().expect("a folder");
    let flow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='is'/><decision name='is'><switch>\
        <case to='end'>${hcat:exists('hcat://meta:9083/sales/orders/day=1;hour=2') and hcat:exists('hcat://meta:9083/default/t') \
        and hcat:exists('hcat://other:9083/sales/orders/day=1') and not hcat:exists('hcat://meta:9083/sales/orders/day=2')}</case>\
        <default to='bad'/></switch></decision><kill name='bad'><message>m</message></kill><end name='end'/></workflow-app>";
    let settings = "[hosts]\n\"hcat://meta:9083\" = \"./warehouse\"\n";
    application(
        folder.path(),
        &[
            ("app/workflow.xml", flow),
            ("warehouse/sales.db/orders/day=1/hour=2/x", ""),
            ("warehouse/t/x", ""),
            (".ankus/root/sales/orders/day=1/x", ""),
            ("ankus.toml", settings),
        ],
    );
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert_eq!(code, Some(0), "{told}");
    // The metastore is asked, and an unreachable one is not an answer.
    let settings = settings.replace("./warehouse", "thrift://127.0.0.1:1");
    application(folder.path(), &[("ankus.toml", &settings)]);
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert!(code == Some(1) && told.contains("the metastore that `[hosts]` names"), "{told}");
    let (code, told) = said(folder.path(), &["doctor"]);
    assert!(code == Some(1) && told.contains("does not answer"), "{told}");
    let settings = "[hosts]\n\"hdfs://nn\" = \"thrift://meta:9083\"\n";
    application(folder.path(), &[("ankus.toml", settings)]);
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert!(code == Some(2) && told.contains("a metastore stands for `hcat://…` only"), "{told}");
}

#[test]
fn properties_name_what_to_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let properties = "nameNode=hdfs://nn:8020\noozie.wf.application.path=${nameNode}/apps/say\n";
    application(
        folder.path(),
        &[
            (".ankus/root/apps/say/workflow.xml", &flow()),
            (".ankus/root/apps/say/say.sh", SAY),
            ("job.properties", properties),
            ("other.properties", "a=b\n"),
        ],
    );
    let (code, told) = said(folder.path(), &["run", "-P", "job.properties"]);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = said(folder.path(), &["run", "hdfs://nn:8020/apps/say"]);
    assert_eq!(code, Some(0), "{told}");
    let whole = format!("file://{}/.ankus/root/apps/say/workflow.xml", folder.path().display());
    let (code, told) =
        said(folder.path(), &["run", &whole, "-D", "oozie.wf.application.path=hdfs://nn/x"]);
    assert_eq!(code, Some(0), "{told}");
    // The name of the user need not be among the properties.
    let home = "oozie.wf.application.path=hdfs://nn:8020/user/${user.name}/none";
    let (code, told) = said(folder.path(), &["run", "-P", "other.properties", "-D", home]);
    let is_known = told.contains("there is nothing at `hdfs://nn:8020/user/");
    assert!(code == Some(2) && is_known && !told.contains("${"), "{told}");
    let (code, told) = said(folder.path(), &["run", "-P", "other.properties"]);
    assert!(code == Some(2) && told.contains("no property says what to run"), "{told}");
    let (code, told) = said(folder.path(), &["run", "hdfs://nn:8020/apps/none"]);
    assert!(code == Some(2) && told.contains("there is nothing at"), "{told}");
    let (code, told) = said(folder.path(), &["run", "hdfs://nn:8020/apps/say", "--dry-run"]);
    assert!(code == Some(2) && told.contains("would have to be fetched"), "{told}");
    assert_eq!(kept(folder.path()), 0, "it was read where it lies");
}

/// Needs a cluster: `ANKUS_HDFS=webhdfs://host:port/folder`. Files in that folder may be deleted.
#[test]
fn an_application_on_a_cluster_is_brought_here() {
    use ankus_engine::host::files::{FileSystems, FileUri, Files as _, Hosts, Place};
    let Ok(url) = std::env::var("ANKUS_HDFS") else {
        println!("skipped: ANKUS_HDFS names no cluster");
        return;
    };
    let url = format!("{url}/applications");
    let place = Place::read(&url, Path::new("")).expect("the URL of a cluster");
    let hosts = Hosts::from([("hdfs://prod:8020".to_owned(), place)]);
    let cluster = FileSystems::new("", hosts).with_user("root");
    let uri = |path: &str| FileUri::parse(&format!("hdfs://prod:8020/apps/say{path}"));
    cluster.write(&uri("/workflow.xml"), flow().as_bytes()).expect("a file");
    cluster.write(&uri("/say.sh"), SAY.as_bytes()).expect("a file");
    let folder = tempfile::tempdir().expect("a folder");
    let settings = format!("[hosts]\n\"hdfs://prod:8020\" = \"{url}\"\n");
    application(folder.path(), &[("ankus.toml", &settings)]);
    let (code, told) = said(folder.path(), &["run", "hdfs://prod:8020/apps/say", "--id", "c"]);
    assert!(code == Some(0) && kept(folder.path()) == 1, "{told}");
    let (code, told) = said(folder.path(), &["job", "purge", "c"]);
    assert!(code == Some(0) && kept(folder.path()) == 0, "{told}");
}

const DAILY: &str = "<coordinator-app name='daily' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' timezone='UTC' \
    xmlns='uri:oozie:coordinator:0.4'><action><workflow><app-path>${nameNode}/user/PLACE</app-path></workflow></action></coordinator-app>";

/// The usual layout: a coordinator beside its workflow, both in the folder that the properties name.
#[test]
fn a_coordinator_finds_the_workflow_of_its_own_folder() {
    for place in ["daily", "elsewhere"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = format!("oozie.coord.application.path=${{nameNode}}/user/{place}\n");
        let files = [
            ("daily/coordinator.xml", DAILY.replace("PLACE", place)),
            ("daily/workflow.xml", flow()),
            ("daily/say.sh", SAY.to_owned()),
            ("daily/job.properties", format!("nameNode=hdfs://nn:8020\n{path}")),
        ];
        let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
        application(folder.path(), &files);
        let (code, told) = said(folder.path(), &["run", "daily"]);
        assert!(code == Some(0) && told.contains("SUCCEEDED daily"), "{place}: {told}");
        let (code, told) = said(folder.path(), &["doctor", "daily/coordinator.xml"]);
        assert!(code == Some(0) && told.contains("workflow  daily/workflow.xml: "), "{told}");
    }
}

/// A bundle, its coordinator and the workflow in one folder, which has another name in the file system.
#[test]
fn a_bundle_finds_what_lies_in_its_own_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = "<bundle-app name='all' xmlns='uri:oozie:bundle:0.2'><coordinator name='one'>\
         <app-path>${nameNode}/user/place/coordinator.xml</app-path></coordinator></bundle-app>";
    let (daily, flow) = (DAILY.replace("PLACE", "place"), flow());
    let files = [
        ("here/bundle.xml", bundle),
        ("here/coordinator.xml", &daily),
        ("here/workflow.xml", &flow),
        ("here/say.sh", SAY),
        (
            "here/job.properties",
            "nameNode=hdfs://nn:8020\noozie.bundle.application.path=${nameNode}/user/place\n",
        ),
    ];
    application(folder.path(), &files);
    let (code, told) = said(folder.path(), &["run", "here"]);
    assert!(code == Some(0) && told.contains("SUCCEEDED all"), "{told}");
}

#[test]
fn one_action_is_shown_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (flow, daily) = (flow(), DAILY.replace("PLACE", "daily"));
    let files = [
        ("daily/coordinator.xml", daily.as_str()),
        ("daily/workflow.xml", &flow),
        ("daily/say.sh", SAY),
        ("daily/job.properties", "nameNode=hdfs://nn:8020\noozie.coord.application.path=/x\n"),
    ];
    application(folder.path(), &files);
    let (code, told) = said(folder.path(), &["run", "daily/coordinator.xml", "--id", "c"]);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = said(folder.path(), &["job", "show", "c@1"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("nominal          2026-01-01T00:00Z"), "{told}");
    let line = told.lines().find(|line| line.contains("external id")).expect("its workflow");
    let workflow = line.split_whitespace().last().expect("an id");
    assert!(told.contains("path=hdfs://nn:8020/user/daily"), "{told}");
    let (code, told) = said(folder.path(), &["job", "show", &format!("{workflow}@say")]);
    assert!(code == Some(0) && told.contains("path=hdfs://nn:8020/user/daily"), "{told}");
    assert!(!told.contains(":start:"), "{told}");
    let (_, json) =
        said(folder.path(), &["job", "show", &format!("{workflow}@say"), "--format", "json"]);
    let object: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(object["status"], "OK");
    for (id, expected) in
        [("c@7", "has no action `7`"), (&*format!("{workflow}@sai"), "did you mean `say`?")]
    {
        let (code, told) = said(folder.path(), &["job", "show", id]);
        assert!(code == Some(2) && told.contains(expected), "{code:?} {told}");
    }
}
