//! Programs that run in a YARN cluster or as Kubernetes Jobs. The clusters are simulated: a test sets what they report.

use crate::elsewhere::{command, done, run, wait, workflow};
use crate::run::{application, text};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Starts an HTTP server that answers with `answer`. Returns its address.
pub(crate) fn serve(
    answer: impl Fn(&str, &str) -> (&'static str, String) + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            let _ = reader.read_line(&mut line);
            let request = line.trim().to_owned();
            let is_whole = loop {
                line.clear();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    break false;
                }
                if line.trim().is_empty() {
                    break true;
                }
                let lower = line.to_ascii_lowercase();
                if let Some(value) = lower.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap_or(0);
                }
            };
            let mut body = vec![0; length];
            // A client that was killed may have sent only a part of its request.
            if !is_whole || reader.read_exact(&mut body).is_err() {
                continue;
            }
            let (status, answer) = answer(&request, &String::from_utf8_lossy(&body));
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                answer.len()
            );
            let _ = reader.get_mut().write_all((head + &answer).as_bytes());
        }
    });
    format!("http://{address}")
}

/// A YARN cluster that runs nothing: a test sets the states of its applications.
#[derive(Clone, Default)]
struct Cluster {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    /// Id, tags, state, final status, diagnostics.
    applications: Vec<(String, String, String, String, String)>,
    given: usize,
    /// The cluster is reachable, but answers with errors.
    is_busy: bool,
    requests: Vec<String>,
    submissions: Vec<String>,
}

impl Cluster {
    fn start(&self) -> String {
        let cluster = self.clone();
        serve(move |request, body| cluster.answer(request, body))
    }

    fn answer(&self, request: &str, body: &str) -> (&'static str, String) {
        let mut inner = self.inner.lock().expect("a cluster");
        inner.requests.push(request.to_owned());
        if inner.is_busy {
            return ("503 Service Unavailable", "{}".to_owned());
        }
        let path = request.split([' ', '?']).nth(1).unwrap_or_default();
        let shown = |app: &(String, String, String, String, String)| serde_json::json!({"id": app.0, "state": app.2, "finalStatus": app.3, "diagnostics": app.4});
        let id = path.trim_start_matches("/ws/v1/cluster/apps/").trim_end_matches("/state");
        if request.starts_with("POST /ws/v1/cluster/apps/new-application") {
            inner.given += 1;
            let id = format!("application_1700000000000_{:04}", inner.given);
            return ("200 OK", format!("{{\"application-id\":\"{id}\"}}"));
        }
        if request.starts_with("POST ") {
            inner.submissions.push(body.to_owned());
            let wanted: serde_json::Value = serde_json::from_str(body).expect("JSON");
            let id = wanted["application-id"].as_str().expect("an id").to_owned();
            let tags = wanted["application-tags"].to_string();
            if inner.applications.iter().all(|app| app.0 != id) {
                let app = (id, tags, "RUNNING".to_owned(), "UNDEFINED".to_owned(), String::new());
                inner.applications.push(app);
            }
            return ("202 Accepted", String::new());
        }
        if request.starts_with("PUT ") {
            for app in inner.applications.iter_mut().filter(|app| app.0 == id) {
                (app.2, app.3) = ("KILLED".to_owned(), "KILLED".to_owned());
                app.4 = "Application killed by user.".to_owned();
            }
            return ("200 OK", "{}".to_owned());
        }
        if path == "/ws/v1/cluster/apps" {
            let tag = request.split("applicationTags=").nth(1).unwrap_or_default();
            let tag = tag.split(['&', ' ']).next().unwrap_or_default();
            let of_state = |state: &str| !request.contains("states=") || state == "RUNNING";
            let apps: Vec<_> = inner
                .applications
                .iter()
                .filter(|app| app.1.contains(tag) && of_state(&app.2))
                .map(shown)
                .collect();
            return ("200 OK", serde_json::json!({"apps": {"app": apps}}).to_string());
        }
        match inner.applications.iter().find(|app| app.0 == id) {
            Some(app) => ("200 OK", serde_json::json!({"app": shown(app)}).to_string()),
            None => ("404 Not Found", "{}".to_owned()),
        }
    }

    fn count(&self, start: &str) -> usize {
        let inner = self.inner.lock().expect("a cluster");
        inner.requests.iter().filter(|request| request.starts_with(start)).count()
    }

    fn started(&self) -> usize {
        self.inner.lock().expect("a cluster").applications.len()
    }

    fn end(&self, state: &str, status: &str, diagnostics: &str) {
        for app in &mut self.inner.lock().expect("a cluster").applications {
            (app.2, app.3, app.4) = (state.to_owned(), status.to_owned(), diagnostics.to_owned());
        }
    }

    fn settings(folder: &Path, web: &str) {
        let text = format!(
            "[launchers.cluster]\nkind = \"yarn\"\nweb = \"{web}\"\nuser = \"joe\"\nmemory = \"512MB\"\n[launchers.shell]\nlauncher = \"cluster\"\n"
        );
        fs::write(folder.join("own.toml"), text).expect("a file");
    }
}

pub(crate) fn spawned(folder: &Path) -> Child {
    let mut command = run(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
}

const LIST: &str = "GET /ws/v1/cluster/apps?";
const WORDS: &str = "ankus exit 0 stdout 12 d29yZHM9YXBwbGUK stderr 0 - .";

#[test]
fn a_program_runs_in_a_cluster() {
    for (state, status, diagnostics, code, words) in [
        ("FINISHED", "SUCCEEDED", WORDS, 0, "SUCCEEDED"),
        (
            "FINISHED",
            "FAILED",
            "ankus exit 3 stdout 0 - stderr 4 b29wcw== .",
            1,
            "exit code 3; its last output was: oops",
        ),
        (
            "KILLED",
            "KILLED",
            "Application killed by user.",
            1,
            "JA018: the shell action's job ended KILLED in the cluster: Application killed by user.",
        ),
        (
            "FAILED",
            "FAILED",
            "AM Container exited with exitCode: -104",
            1,
            "ended FAILED in the cluster: AM Container",
        ),
    ] {
        let cluster = Cluster::default();
        let web = cluster.start();
        let folder = tempfile::tempdir().expect("a folder");
        Cluster::settings(folder.path(), &web);
        workflow(folder.path(), "#!/bin/sh\n");
        let mut running = spawned(folder.path());
        wait("it is not submitted", || cluster.count(LIST) > 0);
        cluster.end(state, status, diagnostics);
        assert_eq!(running.wait().expect("it ends").code(), Some(code), "{status}");
        let show = text(&done(command(folder.path(), &["job", "show", "w"])));
        assert!(show.contains(words), "{status}: {show}");
        let inner = cluster.inner.lock().expect("a cluster");
        let wanted: serde_json::Value = serde_json::from_str(&inner.submissions[0]).expect("JSON");
        assert_eq!(wanted["resource"]["memory"], 512);
        assert_eq!(wanted["application-id"], "application_1700000000000_0001");
        assert!(inner.requests.iter().all(|request| request.contains("user.name=joe")));
    }
}

#[test]
fn a_kill_ends_what_runs_in_a_cluster() {
    let cluster = Cluster::default();
    let web = cluster.start();
    let folder = tempfile::tempdir().expect("a folder");
    Cluster::settings(folder.path(), &web);
    workflow(folder.path(), "#!/bin/sh\n");
    let mut running = spawned(folder.path());
    wait("it is not submitted", || cluster.count(LIST) > 0);
    let killed = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(killed.status.success(), "{}", text(&killed));
    assert_eq!(running.wait().expect("it ends").code(), Some(1));
    assert!(cluster.count("PUT /ws/v1/cluster/apps/application_1700000000000_0001/state") > 0);
}

#[test]
fn after_a_crash_a_job_in_a_cluster_is_found_again() {
    let cluster = Cluster::default();
    let web = cluster.start();
    let folder = tempfile::tempdir().expect("a folder");
    Cluster::settings(folder.path(), &web);
    workflow(folder.path(), "#!/bin/sh\n");
    let mut running = spawned(folder.path());
    wait("it is not submitted", || cluster.count(LIST) > 0);
    let _ = running.kill();
    let _ = running.wait();
    cluster.end("FINISHED", "SUCCEEDED", WORDS);
    let resumed = done(command(folder.path(), &["job", "resume", "w"]));
    let show = text(&done(command(folder.path(), &["job", "show", "w"])));
    assert!(show.contains("SUCCEEDED"), "{}{show}", text(&resumed));
    assert_eq!(cluster.started(), 1);
}

#[test]
fn jobs_go_on_while_a_cluster_cannot_answer() {
    let cluster = Cluster::default();
    let web = cluster.start();
    let folder = tempfile::tempdir().expect("a folder");
    Cluster::settings(folder.path(), &web);
    workflow(folder.path(), "#!/bin/sh\n");
    // Nothing can be submitted at first; it is once the cluster can answer.
    cluster.inner.lock().expect("a cluster").is_busy = true;
    let mut running = spawned(folder.path());
    wait("nobody asks", || cluster.count("POST ") > 0);
    cluster.inner.lock().expect("a cluster").is_busy = false;
    wait("it is not submitted", || cluster.count(LIST) > 0);
    cluster.inner.lock().expect("a cluster").is_busy = true;
    let lists = cluster.count(LIST);
    wait("nobody looks", || cluster.count(LIST) > lists + 1);
    cluster.end("FINISHED", "SUCCEEDED", WORDS);
    cluster.inner.lock().expect("a cluster").is_busy = false;
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
    assert_eq!(cluster.started(), 1);
}

#[test]
fn many_jobs_in_a_cluster_are_looked_at_together() {
    const MANY: usize = 8;
    let cluster = Cluster::default();
    let web = cluster.start();
    let folder = tempfile::tempdir().expect("a folder");
    Cluster::settings(folder.path(), &web);
    let names: Vec<String> = (0..MANY).map(|number| format!("n{number}")).collect();
    let paths: String = names.iter().map(|name| format!("<path start='{name}'/>")).collect();
    let actions: String = names
        .iter()
        .map(|name| {
            format!(
                "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>local</resource-manager>\
                 <name-node>hdfs://nn</name-node><exec>true</exec></shell><ok to='all'/><error to='bad'/></action>"
            )
        })
        .collect();
    let text = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='many'><start to='split'/><fork name='split'>{paths}</fork>{actions}\
         <join name='all' to='end'/><kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    );
    application(folder.path(), &[("app/workflow.xml", &text)]);
    let mut running = spawned(folder.path());
    wait("they are not submitted", || cluster.started() == MANY);
    let before = cluster.inner.lock().expect("a cluster").requests.len();
    let (lists, since) = (cluster.count(LIST), Instant::now());
    wait("nobody looks", || cluster.count(LIST) >= lists + 4);
    let looked = cluster.count(LIST) - lists;
    let all = cluster.inner.lock().expect("a cluster").requests.len() - before;
    assert!(all <= looked + 2, "{all} requests in {:?}, {looked} of them lists", since.elapsed());
    cluster.end("FINISHED", "SUCCEEDED", WORDS);
    assert_eq!(running.wait().expect("it ends").code(), Some(0));
}

/// Incompressible data.
fn noise(length: usize) -> String {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'!' + (state % 90) as u8)
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn files_that_are_too_large_to_go_along_lie_in_the_cluster_meanwhile() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = Cluster::default();
    let web = cluster.start();
    Cluster::settings(folder.path(), &web);
    workflow(folder.path(), "#!/bin/sh\n");
    fs::write(folder.path().join("app/dict.txt"), noise(300_000)).expect("a file");
    let refused = done(run(folder.path()));
    let why = "name a folder of the cluster for them in [launchers.cluster] staging";
    assert!(text(&refused).contains(why), "{}", text(&refused));
    assert_eq!(cluster.started(), 0);
    fs::remove_dir_all(folder.path().join("store")).expect("a store");

    let own = folder.path().join("own.toml");
    let settings = fs::read_to_string(&own).expect("settings");
    let settings = settings.replace("memory =", "staging = \"hdfs://nn:8020/tmp/ankus\"\nmemory =");
    fs::write(&own, settings + "[hosts]\n\"hdfs://nn:8020\" = \"hdfs\"\n").expect("settings");
    let mut running = spawned(folder.path());
    wait("it is not submitted", || cluster.started() > 0);
    let submission = cluster.inner.lock().expect("a cluster").submissions[0].clone();
    let wanted: serde_json::Value = serde_json::from_str(&submission).expect("JSON");
    let resource = &wanted["am-container-spec"]["local-resources"]["entry"][0];
    let uri = resource["value"]["resource"].as_str().expect("a URI");
    let staged = folder.path().join("hdfs").join(uri.trim_start_matches("hdfs://nn:8020/"));
    let metadata = staged.metadata().expect("it is there");
    assert_eq!(resource["value"]["size"], metadata.len());
    let modified = metadata.modified().expect("a time").duration_since(std::time::UNIX_EPOCH);
    assert_eq!(resource["value"]["timestamp"], modified.expect("a time").as_millis() as u64);
    // After a crash the resource is unchanged, because the cluster compares its time and size.
    let _ = running.kill();
    let _ = running.wait();
    cluster.end("FINISHED", "SUCCEEDED", WORDS);
    let resumed = done(command(folder.path(), &["job", "resume", "w"]));
    let show = text(&done(command(folder.path(), &["job", "show", "w"])));
    assert!(show.contains("SUCCEEDED"), "{}{show}", text(&resumed));
    assert!(!staged.exists(), "nothing is left there");
}

/// Needs a cluster at `ANKUS_YARN_WEB=http://localhost:8088` whose containers find Hadoop in `ANKUS_YARN_CLASSPATH`.
#[test]
fn a_real_cluster_runs_programs() {
    let (Ok(web), Ok(path)) =
        (std::env::var("ANKUS_YARN_WEB"), std::env::var("ANKUS_YARN_CLASSPATH"))
    else {
        println!("skipped: ANKUS_YARN_WEB and ANKUS_YARN_CLASSPATH name no cluster");
        return;
    };
    for (script, size, code, words) in [
        ("#!/bin/sh\necho words=$(cat words)\n", 0, 0, "SUCCEEDED"),
        ("#!/bin/sh\necho words=$(cat words)\nexit 0\n", 300_000, 0, "SUCCEEDED"),
        ("#!/bin/sh\necho oops >&2\nexit 7\n", 0, 1, "exit code 7; its last output was: oops"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        Cluster::settings(folder.path(), &web);
        let own = folder.path().join("own.toml");
        let settings = fs::read_to_string(&own).expect("settings");
        let more = format!(
            "memory = \"512MB\"\njava = \"java\"\nclasspath = \"{path}\"\nstaging = \"hdfs://localhost:8020/tmp/ankus-joe\"\n"
        );
        let hosts = "[hosts]\n\"hdfs://localhost:8020\" = \"webhdfs://localhost:9870\"\n";
        fs::write(&own, settings.replace("memory = \"512MB\"\n", &more) + hosts).expect("settings");
        workflow(folder.path(), script);
        // The files of the second one are too large to be sent along.
        fs::write(folder.path().join("app/go.sh"), format!("{script}# {}\n", noise(size)))
            .expect("a file");
        let output = done(run(folder.path()));
        assert_eq!(output.status.code(), Some(code), "{}", text(&output));
        assert!(text(&output).contains(words), "{}", text(&output));
    }
}

/// A Kubernetes API that runs nothing: a test sets the states of its Jobs.
#[derive(Clone, Default)]
struct Api {
    inner: Arc<Mutex<Objects>>,
}

#[derive(Default)]
struct Objects {
    jobs: Vec<serde_json::Value>,
    maps: Vec<serde_json::Value>,
    pods: Vec<serde_json::Value>,
    log: String,
    requests: Vec<String>,
}

impl Api {
    fn start(&self, folder: &Path) {
        let api = self.clone();
        let server = serve(move |request, body| api.answer(request, body));
        let text = format!(
            "[launchers.pods]\nkind = \"kubernetes\"\nserver = \"{server}\"\nimage = \"site/tools:1\"\nnamespace = \"etl\"\n\
             memory = \"1GB\"\nservice-account = \"runner\"\nkeep = \"10m\"\n[launchers.shell]\nlauncher = \"pods\"\n"
        );
        fs::write(folder.join("own.toml"), text).expect("a file");
    }

    fn answer(&self, request: &str, body: &str) -> (&'static str, String) {
        let mut inner = self.inner.lock().expect("objects");
        inner.requests.push(request.to_owned());
        let words: Vec<&str> = request.split([' ', '?']).collect();
        let (method, path) = (words[0], words[1]);
        let object: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let list = |items: &Vec<serde_json::Value>| {
            ("200 OK", serde_json::json!({"items": items}).to_string())
        };
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_it = |job: &serde_json::Value| job["metadata"]["name"] == name.as_str();
        match (method, name.as_str()) {
            ("POST", "jobs") => {
                let mut job = object;
                if inner
                    .jobs
                    .iter()
                    .any(|known| known["metadata"]["name"] == job["metadata"]["name"])
                {
                    return ("409 Conflict", "{}".to_owned());
                }
                job["metadata"]["uid"] = "uid-1".into();
                inner.jobs.push(job.clone());
                let labels = job["metadata"]["labels"].clone();
                let pod = serde_json::json!({"metadata": {"name": "pod-1", "labels": labels}});
                inner.pods.push(pod);
                ("201 Created", job.to_string())
            }
            ("POST", "configmaps") => {
                inner.maps.push(object);
                ("201 Created", "{}".to_owned())
            }
            ("GET", "jobs") => list(&inner.jobs),
            ("GET", "pods") => list(&inner.pods),
            ("GET", "log") => ("200 OK", inner.log.clone()),
            ("DELETE", _) if path.contains("/jobs/") => {
                inner.jobs.retain(|job| !is_it(job));
                ("200 OK", "{}".to_owned())
            }
            ("GET", _) => match inner.jobs.iter().find(|job| is_it(job)) {
                Some(job) => ("200 OK", job.to_string()),
                None => ("404 Not Found", "{}".to_owned()),
            },
            _ => ("405 Method Not Allowed", "{}".to_owned()),
        }
    }

    fn end(&self, condition: &str, pod: serde_json::Value, log: &str) {
        let mut inner = self.inner.lock().expect("objects");
        for job in &mut inner.jobs {
            job["status"] =
                serde_json::json!({"conditions": [{"type": condition, "status": "True"}]});
        }
        for known in &mut inner.pods {
            known["status"] = pod.clone();
        }
        inner.log = log.to_owned();
    }

    fn count(&self, start: &str) -> usize {
        let inner = self.inner.lock().expect("objects");
        inner.requests.iter().filter(|request| request.starts_with(start)).count()
    }
}

const JOBS: &str = "GET /apis/batch/v1/namespaces/etl/jobs?labelSelector=ankus-store%3D";
const LOG: &str = "words=apple\n\nankus exit 0\nankus file stdout 12\nd29yZHM9YXBwbGUK\nankus file stderr 0\nankus end\n";

#[test]
fn a_program_runs_in_a_pod() {
    let ended = |reason: &str, code: i32| serde_json::json!({"containerStatuses": [{"state": {"terminated": {"exitCode": code, "reason": reason}}}]});
    let oops = "ankus exit 4\nankus file stdout 0\nankus file stderr 5\nb29wcwo=\nankus end\n";
    for (condition, pod, log, code, words) in [
        ("Complete", ended("Completed", 0), LOG.to_owned(), 0, "SUCCEEDED"),
        (
            "Failed",
            ended("Error", 4),
            format!("oops\n\n{oops}"),
            1,
            "exit code 4; its last output was: oops",
        ),
        (
            "Failed",
            ended("OOMKilled", 137),
            "much\n".to_owned(),
            1,
            "the shell action's job ended in the cluster, OOMKilled",
        ),
    ] {
        let api = Api::default();
        let folder = tempfile::tempdir().expect("a folder");
        api.start(folder.path());
        workflow(folder.path(), "#!/bin/sh\n");
        let mut running = spawned(folder.path());
        wait("it is not made", || api.count(JOBS) > 0);
        api.end(condition, pod, &log);
        assert_eq!(running.wait().expect("it ends").code(), Some(code), "{words}");
        let show = text(&done(command(folder.path(), &["job", "show", "w"])));
        assert!(show.contains(words), "{words}: {show}");
        let inner = api.inner.lock().expect("objects");
        let spec = &inner.jobs[0]["spec"];
        assert_eq!(
            (&spec["backoffLimit"], &spec["ttlSecondsAfterFinished"]),
            (&0.into(), &600.into())
        );
        let pod = &spec["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], "runner");
        assert_eq!(pod["containers"][0]["image"], "site/tools:1");
        assert_eq!(pod["containers"][0]["resources"]["limits"]["memory"], "1073741824");
        assert_eq!(inner.maps[0]["metadata"]["ownerReferences"][0]["uid"], "uid-1");
    }
}

#[test]
fn a_kill_ends_a_pod_and_a_crash_starts_no_second() {
    let api = Api::default();
    let folder = tempfile::tempdir().expect("a folder");
    api.start(folder.path());
    workflow(folder.path(), "#!/bin/sh\n");
    let mut running = spawned(folder.path());
    wait("it is not made", || api.count(JOBS) > 0);
    let _ = running.kill();
    let _ = running.wait();
    let mut again = command(folder.path(), &["job", "resume", "w"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let looks = api.count(JOBS);
    wait("nobody looks", || api.count(JOBS) > looks + 1);
    assert_eq!(api.count("POST /apis/batch"), 1);
    let killed = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(killed.status.success(), "{}", text(&killed));
    assert_eq!(again.wait().expect("it ends").code(), Some(1));
    assert_eq!(api.count("DELETE /apis/batch/v1/namespaces/etl/jobs/ankus-"), 1);
}
