//! Partitions in a real metastore: that of Hive 3, whose jars `tests/hive-metastore.sh DIR` fetches and
//! `ANKUS_METASTORE_JARS` names, in a Java virtual machine of its own.

use crate::run::{ankus, application, text};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A metastore with an empty table; it ends when the value is dropped.
struct Metastore {
    port: u16,
    java: Child,
    said: BufReader<ChildStdout>,
    folder: tempfile::TempDir,
}

impl Drop for Metastore {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.java.kill();
        let _ = self.java.wait();
    }
}

impl Metastore {
    /// Starts it. Returns none, and prints the reason, if it is not here.
    fn start() -> Option<Metastore> {
        let Ok(jars) = std::env::var("ANKUS_METASTORE_JARS") else {
            println!(
                "skipped: ANKUS_METASTORE_JARS names no jars (tests/hive-metastore.sh fetches them)"
            );
            return None;
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let folder = tempfile::tempdir().expect("a folder");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/HiveMetastore.java");
        let mut java = Command::new("java")
            .args(["-Xmx400m", "-XX:TieredStopAtLevel=1", "-cp", &format!("{jars}/*")])
            .arg(program)
            .args([&folder.path().display().to_string(), &port.to_string()])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(folder.path().join("log")).expect("a file"))
            .spawn()
            .expect("java runs");
        let said = BufReader::new(java.stdout.take().expect("piped"));
        let mut metastore = Metastore { port, java, said, folder };
        metastore.says("ready");
        Some(metastore)
    }

    /// Waits until it says a word.
    fn says(&mut self, word: &str) {
        let mut line = String::new();
        while line.trim() != word {
            line.clear();
            let length = self.said.read_line(&mut line).expect("its output");
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            assert!(length > 0, "the metastore has ended: {:?}", log());
        }
    }

    fn add(&mut self, day: &str, hour: u32) {
        let words = self.java.stdin.as_mut().expect("piped");
        words.write_all(format!("{day} {hour}\n").as_bytes()).expect("it reads");
        self.says("added");
    }

    /// The settings that name it.
    fn settings(&self) -> String {
        format!("[hosts]\n\"hcat://meta:9083\" = \"thrift://127.0.0.1:{}\"\n", self.port)
    }
}

fn said(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = ankus(folder, arguments).output().expect("it runs");
    (output.status.code(), text(&output))
}

const NODES: &str = "<kill name='bad'><message>${wf:errorCode('a')} ${wf:errorMessage('a')}</message></kill><end name='end'/></workflow-app>";

fn exists(path: &str) -> String {
    format!("hcat:exists(\"hcat://meta:9083/{path}\")")
}

fn decision(next: &str, case: &str) -> String {
    format!(
        "<decision name='is'><switch><case to='{next}'>${{{case}}}</case><default to='bad'/></switch></decision>"
    )
}

#[test]
fn a_real_metastore_is_asked() {
    let Some(mut metastore) = Metastore::start() else { return };
    let start = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='is'/>";
    let case = format!(
        "{} and {} and {} and not {} and not {} and not {}",
        exists("sales/orders/day=2020-01-01;hour=2"),
        exists("sales/orders/HOUR=2;day=2020-01-01"),
        exists("sales/orders"),
        exists("sales/orders/day=2020-01-03"),
        exists("sales/none/day=1"),
        exists("sales/orders/hour=7")
    );
    let flow = format!("{start}{}{NODES}", decision("end", &case));
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)}' start='2020-01-01T00:00Z' \
         end='2020-01-03T00:00Z' timezone='UTC'><datasets><dataset name='d' frequency='${coord:days(1)}' initial-instance='2020-01-01T00:00Z' \
         timezone='UTC'><uri-template>hcat://meta:9083/sales/orders/day=${YEAR}-${MONTH}-${DAY}</uri-template><done-flag/></dataset>\
         </datasets><input-events><data-in name='in' dataset='d'><instance>${coord:current(0)}</instance></data-in></input-events>\
         <action><workflow><app-path>hdfs://nn/app</app-path></workflow></action></coordinator-app>";
    let folder = tempfile::tempdir().expect("a folder");
    application(
        folder.path(),
        &[
            ("app/workflow.xml", &flow),
            (".ankus/root/app/workflow.xml", &flow),
            ("coord/coordinator.xml", coordinator),
            ("ankus.toml", &metastore.settings()),
        ],
    );
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert_eq!(code, Some(1), "there is no partition yet: {told}");
    metastore.add("2020-01-01", 2);
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert_eq!(code, Some(0), "{told}");
    // The second action waits until its partition is there.
    let mut command = ankus(folder.path(), &["run", "coord", "--id", "c"]);
    let mut running =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let lines = BufReader::new(running.stderr.take().expect("piped")).lines();
    let mut told = Vec::new();
    for line in lines {
        let line = line.expect("its output");
        if line.contains("c@1") && line.contains("SUCCEEDED") {
            metastore.add("2020-01-02", 0);
        }
        told.push(line);
    }
    assert_eq!(running.wait().expect("it ends").code(), Some(0), "{told:?}");
    let (code, told) = said(folder.path(), &["doctor"]);
    assert!(told.contains("answers"), "{code:?} {told}");
}

#[test]
fn partitions_and_tables_are_dropped_from_a_real_metastore() {
    let Some(mut metastore) = Metastore::start() else { return };
    for hour in [2, 3, 4] {
        metastore.add("2020-01-01", hour);
    }
    let flow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'>\
         <credentials><credential name='meta' type='hcat'><property><name>hcat.metastore.uri</name><value>thrift://meta:9083</value></property>\
         <property><name>hcat.metastore.principal</name><value>hive/_HOST@X</value></property></credential></credentials>\
         <start to='a'/><action name='a' cred='meta'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node><prepare><delete path='hcat://meta:9083/sales/orders/day=2020-01-01;hour=3'/></prepare>\
         <exec>grep</exec><argument>hcat.metastore.uri=thrift</argument><argument>../action.properties</argument></shell>\
         <ok to='b'/><error to='bad'/></action>\
         <action name='b'><fs><name-node>hdfs://nn</name-node><delete path='hcat://meta:9083/sales/orders/hour=4'/>\
         <delete path='hcat://meta:9083/sales/orders/day=2020-01-09'/></fs><ok to='is'/><error to='bad'/></action>{}\
         <action name='c'><fs><delete path='hcat://meta:9083/sales/orders'/></fs><ok to='gone'/><error to='bad'/></action>\
         <decision name='gone'><switch><case to='bad'>${{{}}}</case><default to='end'/></switch></decision>{NODES}",
        decision(
            "c",
            &format!(
                "{} and not {} and not {}",
                exists("sales/orders/day=2020-01-01;hour=2"),
                exists("sales/orders/hour=3"),
                exists("sales/orders/hour=4")
            )
        ),
        exists("sales/orders")
    );
    let folder = tempfile::tempdir().expect("a folder");
    application(
        folder.path(),
        &[("app/workflow.xml", &flow), ("ankus.toml", &metastore.settings())],
    );
    let (code, told) = said(folder.path(), &["run", "app"]);
    assert_eq!(code, Some(0), "{told}");
}
