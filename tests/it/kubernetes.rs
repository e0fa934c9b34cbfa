//! Programs in a Kubernetes cluster with the real API server. It has no controllers and no kubelet: the test sets the
//! state of Jobs and their pods. ankus has the permissions that the manual lists, and no more.
//!
//! `tests/kube-apiserver.sh DIR` builds the API server; `ANKUS_KUBE_APISERVER` names it. etcd must be on PATH.

use crate::elsewhere::{command, done, wait, workflow};
use crate::elsewhere_clusters::spawned;
use serde_json::{Value, json};
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const JOBS: &str = "/apis/batch/v1/namespaces/etl/jobs";

/// An API server with its store.
struct Cluster {
    folder: tempfile::TempDir,
    port: u16,
    children: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.children.iter_mut().rev() {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

impl Cluster {
    fn start() -> Option<Cluster> {
        let Some(server) = std::env::var_os("ANKUS_KUBE_APISERVER").map(PathBuf::from) else {
            println!(
                "skipped: ANKUS_KUBE_APISERVER names no API server (tests/kube-apiserver.sh builds one)"
            );
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        let place = |name: &str| folder.path().join(name).display().to_string();
        let (port, store, peers) = (port(), port(), port());
        let own = |port: u16| format!("http://127.0.0.1:{port}");
        let key = rcgen::KeyPair::generate().expect("a key");
        fs::write(place("key.pem"), key.serialize_pem()).expect("a file");
        fs::write(place("public.pem"), key.public_key_pem()).expect("a file");
        fs::write(place("tokens"), "root,root,1,system:masters\njoe,joe,2\nann,ann,3\neve,eve,4\n")
            .expect("a file");
        let log = |name: &str| fs::File::create(place(name)).expect("a file");
        let etcd = Command::new("etcd")
            .args(["--data-dir", &place("etcd"), "--unsafe-no-fsync"])
            .args(["--listen-client-urls", &own(store), "--advertise-client-urls", &own(store)])
            .args(["--listen-peer-urls", &own(peers), "--initial-advertise-peer-urls", &own(peers)])
            .args(["--initial-cluster", &format!("default={}", own(peers))])
            .stdout(Stdio::null())
            .stderr(log("etcd.log"))
            .spawn();
        let Ok(etcd) = etcd else {
            println!("skipped: etcd is not installed");
            return None;
        };
        let api = Command::new(server)
            .args(["--etcd-servers", &own(store), "--secure-port", &port.to_string()])
            .args(["--bind-address", "127.0.0.1", "--cert-dir", &place("certificates")])
            .args(["--service-account-issuer", "https://localhost"])
            .args(["--service-account-key-file", &place("public.pem")])
            .args(["--service-account-signing-key-file", &place("key.pem")])
            .args(["--token-auth-file", &place("tokens"), "--authorization-mode", "RBAC"])
            .args(["--disable-admission-plugins", "ServiceAccount"])
            .args(["--service-cluster-ip-range", "10.0.0.0/24"])
            .stdout(Stdio::null())
            .stderr(log("api.log"))
            .spawn()
            .expect("the API server starts");
        let cluster = Cluster { folder, port, children: vec![etcd, api] };
        let until = Instant::now() + Duration::from_secs(120);
        while !cluster.curl("root", &["-f", &cluster.url("/readyz")]).0 {
            let log = fs::read_to_string(cluster.folder.path().join("api.log"));
            assert!(Instant::now() < until, "{}", log.unwrap_or_default());
            std::thread::sleep(Duration::from_millis(200));
        }
        cluster.prepare();
        Some(cluster)
    }

    fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    fn curl(&self, token: &str, arguments: &[&str]) -> (bool, String) {
        let authorization = format!("Authorization: Bearer {token}");
        let curl =
            Command::new("curl").args(["-sk", "-H", &authorization]).args(arguments).output();
        let output = curl.expect("curl runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Sends a request as an administrator.
    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let kind = match method {
            "PATCH" => "Content-Type: application/merge-patch+json",
            _ => "Content-Type: application/json",
        };
        let url = self.url(path);
        let text = body.map(Value::to_string).unwrap_or_default();
        let mut arguments = vec!["-X", method, "-H", kind, url.as_str()];
        if body.is_some() {
            arguments.extend(["-d", &text]);
        }
        let (_, answer) = self.curl("root", &arguments);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
        assert_ne!(answer["kind"], "Status", "{method} {path}: {answer:#}");
        answer
    }

    /// Creates a namespace in which joe has the permissions that the manual lists.
    fn prepare(&self) {
        self.ask("POST", "/api/v1/namespaces", Some(&json!({"metadata": {"name": "etl"}})));
        let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        let jobs = rule("batch", &["jobs"], &["create", "list", "delete"]);
        let rest = [
            rule("", &["configmaps"], &["create"]),
            rule("", &["pods"], &["list", "delete"]),
            rule("", &["pods/log"], &["get"]),
        ];
        let all: Vec<&Value> = std::iter::once(&jobs).chain(&rest).collect();
        let base = "/apis/rbac.authorization.k8s.io/v1/namespaces/etl";
        for (user, rules) in [("joe", json!(all)), ("eve", json!([jobs]))] {
            let role = json!({"metadata": {"name": user}, "rules": rules});
            self.ask("POST", &format!("{base}/roles"), Some(&role));
            let binding = json!({
                "metadata": {"name": user},
                "subjects": [{"kind": "User", "name": user}],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
            });
            self.ask("POST", &format!("{base}/rolebindings"), Some(&binding));
        }
    }

    fn settings(&self, folder: &Path, namespace: &str, token: &str) {
        fs::write(folder.join("token"), token).expect("a file");
        let server = self.url("");
        let certificate = self.folder.path().join("certificates/apiserver.crt");
        let text = format!(
            "[launchers.pods]\nkind = \"kubernetes\"\nserver = \"{server}\"\nimage = \"site/tools:1\"\nnamespace = \"{namespace}\"\n\
             token-file = \"{}\"\ncertificate = \"{}\"\nmemory = \"1GB\"\nvcores = 2\nkeep = \"10m\"\n[launchers.shell]\nlauncher = \"pods\"\n",
            folder.join("token").display(),
            certificate.display()
        );
        fs::write(folder.join("own.toml"), text).expect("a file");
    }

    fn jobs(&self) -> Vec<Value> {
        self.ask("GET", JOBS, None)["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for the Job of a run.
    #[track_caller]
    fn job(&self) -> Value {
        wait("no Job is made", || !self.jobs().is_empty());
        let jobs = self.jobs();
        assert_eq!(jobs.len(), 1, "{jobs:#?}");
        jobs.into_iter().next().expect("one")
    }

    /// Creates the pod of a Job, as the controller would.
    fn pod(&self, job: &Value) -> String {
        let name = format!("{}-x", job["metadata"]["name"].as_str().expect("a name"));
        let template = &job["spec"]["template"];
        let pod = json!({
            "metadata": {"name": name, "labels": template["metadata"]["labels"]},
            "spec": template["spec"],
        });
        self.ask("POST", "/api/v1/namespaces/etl/pods", Some(&pod));
        name
    }

    /// Sets how a Job and its pod ended, in the steps that the API requires.
    fn end(&self, job: &Value, pod: &str, code: i32) {
        let at = "2026-01-01T00:00:00Z";
        let terminated = json!({"exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "startedAt": at, "finishedAt": at});
        let status = json!({"status": {
            "phase": if code == 0 { "Succeeded" } else { "Failed" },
            "containerStatuses": [{"name": "program", "image": "site/tools:1", "imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": terminated}}],
        }});
        let pod = format!("/api/v1/namespaces/etl/pods/{pod}/status");
        self.ask("PATCH", &pod, Some(&status));
        let path = format!("{JOBS}/{}/status", job["metadata"]["name"].as_str().expect("a name"));
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "Set", "lastProbeTime": at, "lastTransitionTime": at});
        let (first, last) = match code {
            0 => ("SuccessCriteriaMet", "Complete"),
            _ => ("FailureTarget", "Failed"),
        };
        let begun = json!({"status": {"startTime": at, "active": 1}});
        self.ask("PATCH", &path, Some(&begun));
        let mut ended = json!({"active": 0, "conditions": [condition(first), condition(last)]});
        match code {
            0 => (ended["succeeded"], ended["completionTime"]) = (1.into(), at.into()),
            _ => ended["failed"] = 1.into(),
        }
        self.ask("PATCH", &path, Some(&json!({"status": ended})));
    }

    /// Removes what ankus has deleted, as the garbage collector would, and everything else that is left.
    fn clear(&self) {
        for job in self.jobs() {
            let path = format!("{JOBS}/{}", job["metadata"]["name"].as_str().expect("a name"));
            self.ask("PATCH", &path, Some(&json!({"metadata": {"finalizers": null}})));
            let path = format!("{path}?propagationPolicy=Background");
            let _ = self.curl("root", &["-X", "DELETE", &self.url(&path)]);
        }
        let pods = self.url("/api/v1/namespaces/etl/pods?gracePeriodSeconds=0");
        let _ = self.curl("root", &["-X", "DELETE", &pods]);
        wait("a Job stays", || self.jobs().is_empty());
    }
}

fn shown(folder: &Path) -> String {
    let output = done(command(folder, &["job", "show", "w"]));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_real_api_takes_jobs_shows_them_and_deletes_them() {
    let Some(cluster) = Cluster::start() else { return };
    // Without the logs that a kubelet would keep, the action ends as its pod did.
    for (code, words) in [(0, "OK"), (4, "exit code 4")] {
        let folder = tempfile::tempdir().expect("a folder");
        cluster.settings(folder.path(), "etl", "joe");
        workflow(folder.path(), "#!/bin/sh\n");
        let mut running = spawned(folder.path());

        let job = cluster.job();
        let limits = &job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"];
        assert_eq!(*limits, json!({"cpu": "2", "memory": "1073741824"}));
        assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 600);
        let maps =
            || cluster.ask("GET", "/api/v1/namespaces/etl/configmaps", None)["items"].clone();
        let owner = |map: &Value| map["metadata"]["ownerReferences"][0]["uid"].clone();
        wait("no files are brought", || {
            let maps = maps();
            maps.as_array()
                .is_some_and(|maps| maps.iter().any(|map| owner(map) == job["metadata"]["uid"]))
        });
        let pod = cluster.pod(&job);
        cluster.end(&job, &pod, code);
        std::thread::sleep(Duration::from_secs(5));
        running.wait().expect("it ends");
        let shown = shown(folder.path());
        assert!(shown.contains(words), "{code}: {shown}");
        cluster.clear();
    }

    // A crash: the Job is found again, and no second one is created; a kill then ends it.
    let folder = tempfile::tempdir().expect("a folder");
    cluster.settings(folder.path(), "etl", "joe");
    workflow(folder.path(), "#!/bin/sh\n");
    let mut running = spawned(folder.path());
    let job = cluster.job();
    let pod = cluster.pod(&job);
    let _ = running.kill();
    let _ = running.wait();
    let resume = command(folder.path(), &["job", "resume", "w"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut again = resume.expect("it runs");
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(cluster.job()["metadata"]["uid"], job["metadata"]["uid"]);
    let killed = done(command(folder.path(), &["job", "kill", "w"]));
    assert!(killed.status.success(), "{killed:?}");
    wait("the Job is not deleted", || {
        cluster.jobs().iter().all(|job| !job["metadata"]["deletionTimestamp"].is_null())
    });
    let name = job["metadata"]["name"].as_str().expect("a name");
    let _ = cluster.curl(
        "root",
        &[
            "-X",
            "DELETE",
            &cluster.url(&format!("/api/v1/namespaces/etl/pods/{pod}?gracePeriodSeconds=0")),
        ],
    );
    let done_with = json!({"metadata": {"finalizers": null}});
    cluster.ask("PATCH", &format!("{JOBS}/{name}"), Some(&done_with));
    assert_eq!(again.wait().expect("it ends").code(), Some(1));
    assert!(shown(folder.path()).contains("KILLED"));

    // Missing permissions and missing objects are reported in the words of the API.
    cluster.clear();
    for (namespace, token, words) in [
        ("etl", "eve", "User \"eve\" cannot create resource \"configmaps\""),
        ("etl", "ann", "User \"ann\" cannot create resource"),
        ("etl", "nobody", "Unauthorized"),
        ("elsewhere", "root", "no namespace `elsewhere`"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        cluster.settings(folder.path(), namespace, token);
        workflow(folder.path(), "#!/bin/sh\n");
        let code = spawned(folder.path()).wait().expect("it ends").code();
        let shown = shown(folder.path());
        assert_eq!(code, Some(1), "{shown}");
        assert!(shown.contains(words), "{token} in {namespace}: {shown}");
        let is_left = |job: &Value| job["metadata"]["deletionTimestamp"].is_null();
        assert!(!cluster.jobs().iter().any(is_left), "{token}");
    }
}
