//! Spark actions that Livy runs: with answers like those of Livy 0.7.1, and with a real server (`ANKUS_LIVY`).

use crate::elsewhere::{command, done, run, wait};
use crate::elsewhere_clusters::{serve, spawned};
use crate::run::{application, text};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A Livy server that runs nothing: a test sets the state of its batches.
#[derive(Clone, Default)]
struct Livy {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    batches: Vec<Value>,
    /// The applications of its cluster, as the resource manager reports them.
    applications: Vec<Value>,
    given: u64,
    requests: Vec<String>,
    posted: Vec<Value>,
    /// The server refuses further batches because too many are starting.
    is_full: bool,
    /// The server does not support names of batches.
    is_old: bool,
    /// The server starts a batch, but is slow to answer.
    is_slow: bool,
}

const LOG: [&str; 6] = [
    "stdout: ",
    "26/11/23 03:33:13 INFO Client: Submitting application application_1700000000000_0005 to ResourceManager",
    "\nstderr: ",
    "a warning",
    "\nYARN Diagnostics: ",
    "",
];

impl Livy {
    fn start(&self, folder: &Path, more: &str) {
        let livy = self.clone();
        let server = serve(move |request, body| livy.answer(request, body));
        let text = format!(
            "[hosts]\n\"hdfs://nn\" = \"cluster\"\n\
             [launchers.edge]\nkind = \"livy\"\nserver = \"{server}\"\n{more}\n[launchers.spark]\nlauncher = \"edge\"\n"
        );
        fs::write(folder.join("own.toml"), text.replace("SERVER", &server)).expect("a file");
    }

    fn answer(&self, request: &str, body: &str) -> (&'static str, String) {
        let mut inner = self.inner.lock().expect("livy");
        inner.requests.push(request.to_owned());
        let words: Vec<&str> = request.split([' ', '?', '/']).filter(|it| !it.is_empty()).collect();
        let missing = || ("404 Not Found", "{\"msg\":\"Session '9' not found.\"}".to_owned());
        let at = |id: &str, inner: &Inner| {
            inner.batches.iter().position(|batch| batch["id"].as_u64() == id.parse().ok())
        };
        match words.as_slice() {
            // As YARN does it for an empty user name.
            ["GET", "ws", ..] if request.contains("user.name= ") => {
                ("500 Internal Server Error", String::new())
            }
            ["GET", "ws", ..] => {
                ("200 OK", json!({"apps": {"app": inner.applications}}).to_string())
            }
            ["POST", "batches", ..] => {
                let wanted: Value = serde_json::from_str(body).expect("JSON");
                if inner.is_full {
                    let why = "{\"msg\":\"Rejected, too many sessions are being created!\"}";
                    return ("400 Bad Request", why.to_owned());
                }
                let name = wanted["name"].clone();
                if inner.batches.iter().any(|batch| batch["name"] == name) {
                    let why = format!(
                        "{{\"msg\":\"Duplicate session name: Some({}) for session 1\"}}",
                        name.as_str().unwrap_or_default()
                    );
                    return ("400 Bad Request", why);
                }
                inner.posted.push(wanted);
                let mut batch = json!({"id": inner.given, "name": name, "owner": null, "proxyUser": null, "state": "starting",
                    "appId": null, "appInfo": {"driverLogUrl": null, "sparkUiUrl": null}, "log": LOG[..5]});
                if inner.is_old {
                    batch["name"] = Value::Null;
                }
                inner.given += 1;
                inner.batches.push(batch.clone());
                let is_slow = inner.is_slow;
                drop(inner);
                if is_slow {
                    std::thread::sleep(Duration::from_secs(2));
                }
                ("201 Created", batch.to_string())
            }
            ["GET", "batches", id, "log", ..] => match at(id, &inner) {
                Some(_) => {
                    ("200 OK", json!({"id": 0, "from": 0, "total": 6, "log": LOG}).to_string())
                }
                None => missing(),
            },
            ["GET", "batches", id, ..] if id.parse::<u64>().is_ok() => match at(id, &inner) {
                Some(found) => ("200 OK", inner.batches[found].to_string()),
                None => missing(),
            },
            ["GET", "batches", ..] => {
                let all = &inner.batches;
                ("200 OK", json!({"from": 0, "total": all.len(), "sessions": all}).to_string())
            }
            ["DELETE", "batches", id, ..] => match at(id, &inner) {
                Some(found) => {
                    inner.batches.remove(found);
                    ("200 OK", "{\"msg\":\"deleted\"}".to_owned())
                }
                None => missing(),
            },
            other => panic!("Livy knows no {other:?}"),
        }
    }

    fn count(&self, start: &str) -> usize {
        let inner = self.inner.lock().expect("livy");
        inner.requests.iter().filter(|request| request.starts_with(start)).count()
    }

    fn started(&self) -> usize {
        self.inner.lock().expect("livy").posted.len()
    }

    fn end(&self, state: &str, log: &[&str]) {
        for batch in &mut self.inner.lock().expect("livy").batches {
            batch["state"] = state.into();
            batch["log"] = json!(log);
            batch["appId"] = "application_1700000000000_0005".into();
        }
    }
}

const LIST: &str = "GET /batches?from=0";
const STAGING: &str = "staging = \"hdfs://nn/tmp/ankus\"";

fn spark(folder: &Path, more: &str) {
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='sums'><start to='sum'/>\
         <action name='sum'><spark xmlns='uri:oozie:spark-action:1.0'><resource-manager>local</resource-manager>\
         <name-node>hdfs://nn</name-node><configuration><property><name>site.flag</name><value>on</value></property></configuration>\
         <master>yarn</master><mode>cluster</mode><name>sums</name><class>org.example.Sum</class><jar>lib/sum.jar</jar>{more}</spark>\
         <ok to='end'/><error to='bad'/></action>\
         <kill name='bad'><message>${{wf:errorCode('sum')}}: ${{wf:errorMessage('sum')}}</message></kill><end name='end'/></workflow-app>"
    );
    application(
        folder,
        &[("app/workflow.xml", &workflow), ("app/lib/sum.jar", "jar"), ("app/dict.txt", "words")],
    );
}

#[test]
fn an_action_of_spark_is_a_batch() {
    let livy = Livy::default();
    let folder = tempfile::tempdir().expect("a folder");
    livy.start(folder.path(), STAGING);
    spark(
        folder.path(),
        "<spark-opts>--executor-memory 2G --num-executors 3 --conf spark.x=1 --jars hdfs://nn/libs/b.jar</spark-opts>\
         <arg>a b</arg><file>dict.txt#words</file>",
    );
    let mut running = spawned(folder.path());
    wait("it is not submitted", || livy.count(LIST) > 0);
    let staged = folder.path().join("cluster/tmp/ankus");
    let of_job = fs::read_dir(&staged).expect("files").next().expect("a job").expect("a job");
    assert_eq!(fs::read_to_string(of_job.path().join("sum.jar")).expect("its jar"), "jar");
    livy.end("success", &LOG);
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
    assert_eq!(fs::read_dir(&staged).expect("a folder").count(), 0, "nothing is left there");
    let wanted = livy.inner.lock().expect("livy").posted[0].clone();
    let id = of_job.file_name().to_string_lossy().into_owned();
    let uri = |name: &str| format!("hdfs://nn/tmp/ankus/{id}/{name}");
    assert_eq!(wanted["name"], format!("sums {id}"));
    assert_eq!(wanted["file"], uri("sum.jar"));
    assert_eq!(wanted["files"], json!([uri("words")]));
    assert_eq!(wanted["jars"], json!([uri("sum.jar"), "hdfs://nn/libs/b.jar"]));
    assert_eq!(
        (&wanted["args"], &wanted["className"]),
        (&json!(["a b"]), &json!("org.example.Sum"))
    );
    assert_eq!((&wanted["executorMemory"], &wanted["numExecutors"]), (&json!("2G"), &json!(3)));
    assert_eq!(wanted["proxyUser"], "ann");
    let conf = &wanted["conf"];
    assert_eq!((&conf["spark.x"], &conf["spark.hadoop.site.flag"]), (&json!("1"), &json!("on")));
    assert_eq!(conf["spark.yarn.tags"], id);
    let shown = text(&done(command(folder.path(), &["job", "show", "w", "--format", "json"])));
    for words in ["batch/0", "job_1700000000000_0005", "/ui/batch/0/log"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let log = fs::read_to_string(folder.path().join("store/jobs/w/sum-0-1/stderr")).expect("a log");
    assert!(
        log.contains("[<master> has no effect: the settings of Livy") && log.contains("a warning"),
        "{log}"
    );
}

#[test]
fn a_batch_that_fails_says_why() {
    for (state, log, words) in [
        (
            "dead",
            &[
                "stdout: ",
                "\nstderr: ",
                "\nYARN Diagnostics: ",
                "User class threw exception: java.lang.X",
            ][..],
            "JA018: the spark action's job ended dead in Livy: User class threw exception: java.lang.X",
        ),
        ("killed", &LOG[..5], "ended killed in Livy: a warning"),
    ] {
        let livy = Livy::default();
        let folder = tempfile::tempdir().expect("a folder");
        livy.start(folder.path(), STAGING);
        spark(folder.path(), "");
        let mut running = spawned(folder.path());
        wait("it is not submitted", || livy.count(LIST) > 0);
        livy.end(state, log);
        assert_eq!(running.wait().expect("it ends").code(), Some(1));
        let show = text(&done(command(folder.path(), &["job", "show", "w"])));
        assert!(show.contains(words), "{show}");
    }
}

#[test]
fn a_kill_deletes_the_batch() {
    let livy = Livy::default();
    let folder = tempfile::tempdir().expect("a folder");
    livy.start(folder.path(), STAGING);
    spark(folder.path(), "");
    let mut running = spawned(folder.path());
    wait("it is not submitted", || livy.count(LIST) > 0);
    let killed = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(killed.status.success(), "{}", text(&killed));
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    assert_eq!(livy.count("DELETE /batches/0"), 1);
    let staged = folder.path().join("cluster/tmp/ankus");
    assert_eq!(fs::read_dir(&staged).expect("a folder").count(), 0, "nothing is left there");
}

#[test]
fn after_a_crash_a_batch_is_found_again() {
    // Either Livy has started the batch without our knowledge, or everything is known.
    for is_slow in [true, false] {
        let livy = Livy::default();
        livy.inner.lock().expect("livy").is_slow = is_slow;
        let folder = tempfile::tempdir().expect("a folder");
        livy.start(folder.path(), STAGING);
        spark(folder.path(), "");
        let mut running = spawned(folder.path());
        let is_there = || if is_slow { livy.started() > 0 } else { livy.count(LIST) > 0 };
        wait("it is not submitted", is_there);
        let _ = running.kill();
        let _ = running.wait();
        livy.end("success", &LOG);
        let resumed = done(command(folder.path(), &["job", "resume", "w"]));
        let show = text(&done(command(folder.path(), &["job", "show", "w"])));
        assert!(show.contains("SUCCEEDED"), "{}{show}", text(&resumed));
        assert_eq!(livy.started(), 1);
    }
}

#[test]
fn what_livy_has_forgotten_is_never_started_again() {
    let succeeded = json!({"id": "application_1700000000000_0005", "state": "FINISHED", "finalStatus": "SUCCEEDED"});
    let failed = json!({"id": "application_1700000000000_0005", "state": "FINISHED", "finalStatus": "FAILED", "diagnostics": "no room"});
    let with_web = format!("{STAGING}\nweb = \"SERVER\"");
    for (settings, applications, words) in [
        (STAGING, vec![], "JA018: the spark action's job is no longer known to Livy"),
        (with_web.as_str(), vec![succeeded], "SUCCEEDED"),
        (with_web.as_str(), vec![failed], "ended FAILED in the cluster: no room"),
    ] {
        let livy = Livy::default();
        let folder = tempfile::tempdir().expect("a folder");
        livy.start(folder.path(), settings);
        spark(folder.path(), "");
        let mut running = spawned(folder.path());
        wait("it is not submitted", || livy.count(LIST) > 0);
        let _ = running.kill();
        let _ = running.wait();
        livy.inner.lock().expect("livy").batches.clear();
        livy.inner.lock().expect("livy").applications = applications;
        let resumed = done(command(folder.path(), &["job", "resume", "w"]));
        let show = text(&done(command(folder.path(), &["job", "show", "w"])));
        assert!(show.contains(words), "{words}: {}{show}", text(&resumed));
        assert_eq!(livy.started(), 1);
    }
}

#[test]
fn what_livy_cannot_take_is_refused_with_the_setting() {
    for (settings, more, words) in [
        ("", "", "name a folder of the cluster in [launchers.edge] staging"),
        ("staging = \"hdfs://other/x\"", "", "[hosts] does not say how hdfs://other is reached"),
        (
            STAGING,
            "<spark-opts>--properties-file p</spark-opts>",
            "does not support the option `--properties-file`",
        ),
        (
            STAGING,
            "<spark-opts>--jars gone.jar</spark-opts>",
            "`gone.jar` is not among the files of the action",
        ),
    ] {
        let livy = Livy::default();
        let folder = tempfile::tempdir().expect("a folder");
        livy.start(folder.path(), settings);
        spark(folder.path(), more);
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert!(text(&output).contains(words), "{words}: {}", text(&output));
        assert_eq!(livy.started(), 0);
    }
    let (livy, folder) = (Livy::default(), tempfile::tempdir().expect("a folder"));
    livy.inner.lock().expect("livy").is_old = true;
    livy.start(folder.path(), STAGING);
    spark(folder.path(), "");
    let output = done(run(folder.path()));
    assert!(text(&output).contains("Livy 0.7 or later is needed"), "{}", text(&output));
    assert_eq!(livy.count("DELETE /batches/0"), 1);
    let own = fs::read_to_string(folder.path().join("own.toml")).expect("settings");
    for (settings, words) in [
        (
            own.replace("[launchers.spark]", "[launchers.pig]"),
            "the launcher `edge` cannot carry pig actions",
        ),
        (own.replace("kind =", "tools = {}\nkind ="), "unknown key `tools`"),
    ] {
        fs::write(folder.path().join("own.toml"), settings).expect("a file");
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(words), "{words}: {}", text(&output));
    }
}

#[test]
fn a_busy_livy_is_asked_again() {
    let livy = Livy::default();
    let folder = tempfile::tempdir().expect("a folder");
    livy.inner.lock().expect("livy").is_full = true;
    livy.start(folder.path(), STAGING);
    spark(folder.path(), "");
    let mut running = spawned(folder.path());
    wait("nobody asks", || livy.count("POST ") > 0);
    livy.inner.lock().expect("livy").is_full = false;
    wait("it is not submitted", || livy.count(LIST) > 0);
    livy.end("success", &LOG);
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
    assert_eq!(livy.started(), 1);
}

/// Writes a spark action for the server that `ANKUS_LIVY=http://localhost:8998` names, whose Spark runs in the cluster at
/// `localhost:8020`. (Livy 0.7.1 is in Maven's registry; it accepts Spark up to 3.0, but only asks `spark-submit
/// --version`.) Returns false, and prints the reason, if there is none.
fn real(folder: &Path, script: &str, argument: &str) -> bool {
    let Ok(server) = std::env::var("ANKUS_LIVY") else {
        println!("skipped: ANKUS_LIVY names no server");
        return false;
    };
    let settings = format!(
        "[hosts]\n\"hdfs://localhost:8020\" = \"webhdfs://localhost:9870\"\n[launchers.edge]\nkind = \"livy\"\nserver = \"{server}\"\n\
         staging = \"hdfs://localhost:8020/tmp/ankus\"\nweb = \"http://localhost:8088\"\n[launchers.spark]\nlauncher = \"edge\"\n"
    );
    fs::write(folder.join("own.toml"), settings).expect("a file");
    spark(folder, &format!("<arg>{argument}</arg>"));
    let workflow = folder.join("app/workflow.xml");
    let definition = fs::read_to_string(&workflow).expect("a workflow");
    let definition = definition
        .replace("<class>org.example.Sum</class><jar>lib/sum.jar</jar>", "<jar>sum.py</jar>")
        .replace("hdfs://nn", "hdfs://localhost:8020")
        .replace("<resource-manager>local<", "<resource-manager>localhost:8032<");
    fs::write(&workflow, definition).expect("a workflow");
    fs::write(folder.join("app/sum.py"), script).expect("a script");
    fs::remove_file(folder.join("app/lib/sum.jar")).expect("a file");
    true
}

#[test]
fn a_real_livy_runs_spark() {
    const SUM: &str = "import sys\nfrom pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n\
        n = spark.sparkContext.parallelize(range(9), 2).sum()\nspark.stop()\nsys.exit(0 if n == int(sys.argv[1]) else 3)\n";
    for (expected, code, words) in [("36", 0, "SUCCEEDED"), ("1", 1, "exited with status 3")] {
        let folder = tempfile::tempdir().expect("a folder");
        if !real(folder.path(), SUM, expected) {
            return;
        }
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
        let shown = text(&done(command(folder.path(), &["job", "show", "w", "--format", "json"])));
        assert!(shown.contains("job_") || code == 1, "{shown}");
    }
}

#[test]
fn a_real_livy_keeps_batches_over_a_crash_and_ends_those_that_are_killed() {
    const SLEEP: &str = "import sys, time\nfrom pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n\
        time.sleep(int(sys.argv[1]))\nspark.stop()\n";
    let ours = |folder: &Path| {
        let mut attempts = fs::read_dir(folder.join("store/jobs/w")).expect("attempts");
        let attempt = attempts.next().expect("an attempt").expect("an attempt");
        let ticket = fs::read_to_string(attempt.path().join("ticket.json")).expect("a ticket");
        let ticket: Value = serde_json::from_str(&ticket).expect("JSON");
        ticket["id"].as_str().expect("an id").to_owned()
    };
    let get = |url: &str| {
        let output = std::process::Command::new("curl").args(["-s", url]).output();
        let output = output.expect("curl runs");
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let batches = |id: &str| {
        let server = std::env::var("ANKUS_LIVY").expect("a server");
        let all = get(&format!("{server}/batches?size=1000"));
        let all = all["sessions"].as_array().expect("batches").clone();
        let is_ours =
            |batch: &&Value| batch["name"].as_str().is_some_and(|name| name.ends_with(id));
        all.iter().filter(is_ours).cloned().collect::<Vec<Value>>()
    };
    for is_killed in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        if !real(folder.path(), SLEEP, if is_killed { "600" } else { "5" }) {
            return;
        }
        let mut running = spawned(folder.path());
        wait("there is no attempt", || {
            folder.path().join("store/jobs/w/sum-0-1/ticket.json").exists()
        });
        let id = ours(folder.path());
        wait("it is not submitted", || !batches(&id).is_empty());
        let _ = running.kill();
        let _ = running.wait();
        if is_killed {
            let killed = done(command(folder.path(), &["job", "kill", "w"]));
            assert!(killed.status.success(), "{}", text(&killed));
            let resumed = done(command(folder.path(), &["job", "resume", "w"]));
            let show = text(&done(command(folder.path(), &["job", "show", "w"])));
            assert!(show.contains("KILLED"), "{}{show}", text(&resumed));
            wait("the batch is still there", || batches(&id).is_empty());
        } else {
            let resumed = done(command(folder.path(), &["job", "resume", "w"]));
            let show = text(&done(command(folder.path(), &["job", "show", "w"])));
            assert!(show.contains("SUCCEEDED"), "{}{show}", text(&resumed));
            assert_eq!(batches(&id).len(), 1, "it was submitted once");
        }
        let tagged = get(&format!("http://localhost:8088/ws/v1/cluster/apps?applicationTags={id}"));
        let states: Vec<&Value> = tagged["apps"]["app"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|app| &app["state"])
            .collect();
        assert!(
            states.iter().all(|state| *state == "FINISHED" || *state == "KILLED"),
            "{states:?}"
        );
    }
}
