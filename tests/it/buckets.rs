//! Files, data and applications in buckets of S3, with a real emulator: moto, in the virtual environment at
//! `ANKUS_MOTO` that `tests/step-functions-env.sh` makes.

use crate::run::{ankus, application, text};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server with one bucket, `raw`; it ends when the value is dropped.
struct Store {
    port: u16,
    server: Child,
}

impl Drop for Store {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Store {
    /// Starts the server. Returns none, and prints the reason, if it is not installed.
    fn start() -> Option<Store> {
        let folder = std::env::var_os("ANKUS_MOTO").map_or("/tmp/moto-env".into(), PathBuf::from);
        let server = folder.join("bin/moto_server");
        // Without flask, the server does not start.
        if !server.is_file() || !folder.join("bin/flask").is_file() {
            println!(
                "skipped: there is no server of moto in {}; tests/step-functions-env.sh makes it",
                folder.display()
            );
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let server = Command::new(server)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let store = Store { port, server };
        let until = Instant::now() + Duration::from_secs(120);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "moto does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        store.put("", "");
        Some(store)
    }

    /// Sends a request about a key of the bucket, and returns the answer.
    fn ask(&self, method: &str, key: &str, content: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        // Any signature will do.
        let request = format!(
            "{method} /raw{key} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential=x/20200101/us-east-1/s3/aws4_request\r\n\r\n{content}",
            content.len()
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }

    fn put(&self, key: &str, content: &str) {
        let answer = self.ask("PUT", key, content);
        assert!(answer.lines().next().is_some_and(|line| line.contains(" 200 ")), "{answer}");
    }

    /// The keys in the bucket, in their order.
    fn keys(&self) -> Vec<String> {
        let listed = self.ask("GET", "?list-type=2", "");
        let parts = listed.split("<Key>").skip(1);
        parts.map(|part| part.split("</Key>").next().expect("a key").to_owned()).collect()
    }

    /// Runs an application of the folder with this store; `raw` is its bucket.
    fn run(&self, folder: &Path, app: &str) -> (Option<i32>, String) {
        let settings = "[server]\nfilesystems = [\"hdfs\", \"s3a\"]\n[hosts]\n\"s3a://raw\" = \"s3://raw\"\n\"s3a://gone\" = \"s3://gone\"\n";
        fs::write(folder.join("ankus.toml"), settings).expect("a file");
        let mut command = ankus(folder, &["run", app]);
        command.env("AWS_ACCESS_KEY_ID", "x").env("AWS_SECRET_ACCESS_KEY", "y");
        command.env("AWS_REGION", "us-east-1");
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port));
        let output = command.output().expect("it runs");
        (output.status.code(), text(&output))
    }
}

fn workflow(commands: &str, case: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='ops'/><action name='ops'><fs>{commands}</fs>\
         <ok to='is'/><error to='bad'/></action><decision name='is'><switch><case to='end'>${{{case}}}</case><default to='bad'/></switch></decision>\
         <kill name='bad'><message>${{wf:errorCode('ops')}}</message></kill><end name='end'/></workflow-app>"
    )
}

#[test]
fn fs_actions_work_on_buckets() {
    let Some(store) = Store::start() else { return };
    for key in
        ["/in/a.txt", "/in/b%20b.txt", "/in/x%2By%2520z", "/glob/p1", "/glob/p2", "/deep/a/c"]
    {
        store.put(key, "hello");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let commands = "<delete path='s3a://raw/none'/><mkdir path='s3a://raw/out/x y'/><touchz path='s3a://raw/out/_DONE'/>\
        <move source='s3a://raw/in/a.txt' target='s3a://raw/out/a.txt'/><move source='s3a://raw/glob/p*' target='s3a://raw/out/x y'/>\
        <move source='s3a://raw/deep' target='s3a://raw/out/deeper'/><delete path='s3a://raw/in/b*'/>";
    let case = "fs:isDir(\"s3a://raw/out\") and fs:fileSize(\"s3a://raw/out/a.txt\") eq 5 and fs:dirSize(\"s3a://raw/out/x y\") eq 10 \
        and fs:exists(\"s3a://raw/out/_DONE\") and not fs:exists(\"s3a://raw/in/b b.txt\")";
    application(folder.path(), &[("app/workflow.xml", &workflow(commands, case))]);
    let (code, told) = store.run(folder.path(), "app");
    assert_eq!(code, Some(0), "{told}");
    let keys = store.keys();
    let expected = [
        "glob/",
        "in/x+y%20z",
        "out/_DONE",
        "out/a.txt",
        "out/deeper/a/c",
        "out/x y/p1",
        "out/x y/p2",
    ];
    let files: Vec<&String> =
        keys.iter().filter(|key| !key.ends_with('/') || *key == "glob/").collect();
    assert_eq!(files, expected, "{keys:?}");
    for (command, code) in [
        ("<move source='s3a://raw/out/a.txt' target='s3a://raw/out/_DONE'/>", "FS008"),
        ("<move source='s3a://raw/none' target='s3a://raw/there'/>", "FS006"),
        ("<chmod path='s3a://raw/out/a.txt' permissions='700'/>", "no permissions"),
        ("<touchz path='s3a://gone/x'/>", "The specified bucket does not exist (NoSuchBucket)"),
    ] {
        application(folder.path(), &[("app/workflow.xml", &workflow(command, "true"))]);
        let (status, told) = store.run(folder.path(), "app");
        assert!(status == Some(1) && told.contains(code), "{code}: {told}");
    }
    assert_eq!(store.keys(), keys, "nothing else has changed");
}

#[test]
fn coordinators_wait_for_data_in_buckets_and_run_applications_from_them() {
    let Some(store) = Store::start() else { return };
    let flow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='sh'/><action name='sh'>\
        <shell xmlns='uri:oozie:shell-action:0.3'><job-tracker>j</job-tracker><name-node>s3a://raw</name-node>\
        <prepare><delete path='s3a://raw/res/${day}'/></prepare><exec>x.sh</exec><argument>${in}</argument>\
        <file>x.sh</file><file>s3a://raw/dict.txt#words</file><capture-output/></shell><ok to='mk'/><error to='bad'/></action>\
        <action name='mk'><fs><touchz path=\"s3a://raw/res/${day}/${wf:actionData('sh')['n']}\"/></fs><ok to='end'/><error to='bad'/></action>\
        <kill name='bad'><message>m</message></kill><end name='end'/></workflow-app>";
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)}' start='2020-01-01T00:00Z' \
        end='2020-01-04T00:00Z' timezone='UTC'><controls><timeout>0</timeout></controls><datasets>\
        <dataset name='d' frequency='${coord:days(1)}' initial-instance='2020-01-01T00:00Z' timezone='UTC'>\
        <uri-template>s3a://raw/in/${YEAR}-${MONTH}-${DAY}</uri-template></dataset>\
        <dataset name='e' frequency='${coord:days(1)}' initial-instance='2020-01-01T00:00Z' timezone='UTC'>\
        <uri-template>s3a://raw/any/${DAY}</uri-template><done-flag/></dataset></datasets>\
        <input-events><data-in name='in' dataset='d'><instance>${coord:current(0)}</instance></data-in>\
        <data-in name='any' dataset='e'><instance>${coord:current(0)}</instance></data-in></input-events>\
        <action><workflow><app-path>s3a://raw/apps/one</app-path><configuration>\
        <property><name>in</name><value>${coord:dataIn('in')}</value></property>\
        <property><name>day</name><value>${coord:formatTime(coord:nominalTime(), 'yyyyMMdd')}</value></property>\
        </configuration></workflow></action></coordinator-app>";
    store.put("/apps/one/workflow.xml", flow);
    store.put("/apps/one/x.sh", "#!/bin/sh\necho n=$(cat words)-${1##*/}\n");
    store.put("/dict.txt", "apple");
    store.put("/res/20200101/old", "");
    // The third day has a file, but not the flag.
    for key in ["/in/2020-01-01/_SUCCESS", "/in/2020-01-02/_SUCCESS", "/in/2020-01-03/part-0"] {
        store.put(key, "");
    }
    for key in ["/any/01/x", "/any/02/x", "/any/03/x"] {
        store.put(key, "");
    }
    let folder = tempfile::tempdir().expect("a folder");
    application(folder.path(), &[("coord/coordinator.xml", coordinator)]);
    let (code, told) = store.run(folder.path(), "coord");
    assert!(code == Some(1) && told.contains("2 SUCCEEDED, 1 TIMEDOUT"), "{told}");
    let keys = store.keys();
    let results: Vec<&String> =
        keys.iter().filter(|key| key.starts_with("res/") && !key.ends_with('/')).collect();
    assert_eq!(results, ["res/20200101/apple-2020-01-01", "res/20200102/apple-2020-01-02"]);
}
