//! Kubernetes clusters, through their API: a job is a Job with one pod that is never restarted.
//!
//! The name of the Job is the id of the attempt, so a second one cannot be created. The files are in a ConfigMap that
//! is owned by the Job and deleted with it. The script in the pod passes the program's output through, and at the end
//! writes it once more, framed, since the log of a pod does not distinguish output from errors.
//!
//! The API is called directly over HTTP: the client crates bring a hundred dependencies and a second HTTP client, for
//! six kinds of requests.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use super::bundle::Bundle;
use super::{Address, Backend, Fault, Seat, Seen, Ticket, receive};
use crate::host::process::{Exit, Program, Urgency};

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// The address of the API.
    pub server: String,
    /// The namespace of jobs.
    pub namespace: String,
    /// A file with the bearer token.
    pub token_file: Option<String>,
    /// A file with the CA certificates (PEM) of the server.
    pub certificate: Option<String>,
    /// The image of pods.
    pub image: String,
    /// The service account of pods.
    pub service_account: Option<String>,
    /// The memory of a pod in bytes, unless the action specifies it.
    pub memory: Option<u64>,
    /// The number of processors of a pod, unless the action specifies it.
    pub vcores: Option<u64>,
    /// How many seconds a Job is kept after it has ended.
    pub keep: Option<u64>,
}

/// The labels of a Job and its pod: the attempt, and the store.
const ID: &str = "ankus-id";
const STORE: &str = "ankus-store";
/// The maximum size of a ConfigMap in bytes.
const LARGEST: usize = 1 << 20;
/// Reasons for waiting that only end when somebody changes something.
const HOPELESS: [&str; 4] =
    ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"];
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts the program, and frames its results: the first MB of each file.
const SCRIPT: &str =
    "mkdir -p /ankus/attempt && cd /ankus/attempt && tar -xzof /ankus/bundle/bundle.tgz || exit 1
mkfifo out err || exit 1
tee stdout < out & tee stderr < err >&2 &
sh ./run.sh > out 2> err < /dev/null
code=$?
wait
echo; echo \"ankus exit $code\"
for file in stdout stderr output.properties counters.json; do
  [ -f \"$file\" ] || continue
  echo \"ankus file $file $(($(wc -c < \"$file\")))\"; head -c 1048576 \"$file\" | base64
done
echo 'ankus end'
exit $code
";

/// The entries of a list. It is read several times a minute, and most of its contents, such as the specification of a
/// pod, are skipped.
#[derive(Deserialize)]
struct List {
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
    #[serde(default)]
    status: Value,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: HashMap<String, String>,
}

impl Kubernetes {
    fn agent(&self) -> Result<ureq::Agent, Fault> {
        let mut tls = TlsConfig::builder();
        if let Some(file) = &self.certificate {
            let unreadable = |why: String| Fault::Refused(format!("{file}: {why}"));
            let text = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
            // A cluster may have several, one of which is being replaced.
            let mut own = Vec::new();
            for item in parse_pem(&text) {
                let item = item.map_err(|error| unreadable(error.to_string()))?;
                if let PemItem::Certificate(certificate) = item {
                    own.push(certificate);
                }
            }
            if own.is_empty() {
                return Err(unreadable("there is no certificate in it".to_owned()));
            }
            tls = tls.root_certs(RootCerts::from(own));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .tls_config(tls.build())
            .proxy(None)
            .build();
        Ok(config.into())
    }

    /// Sends a request, and returns the status and the body of the answer; status 404 means that there is no such
    /// object.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, String), Fault> {
        let url = format!("{}{path}", self.server);
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(&url)
            .header("Accept", "application/json")
            .header("Content-Type", "application/json");
        if let Some(file) = &self.token_file {
            // The token is renewed while this process runs.
            let token = std::fs::read_to_string(file)
                .map_err(|error| Fault::Refused(format!("the token {file}: {error}")))?;
            request = request.header("Authorization", format!("Bearer {}", token.trim()));
        }
        let text = body.map(Value::to_string).unwrap_or_default();
        let request =
            request.body(text).map_err(|error| Fault::Refused(format!("{url}: {error}")))?;
        let unreachable = |error: ureq::Error| Fault::unanswered(&url, &error);
        let mut answer = self.agent()?.run(request).map_err(unreachable)?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_string();
        let text = text.map_err(unreachable)?;
        match status {
            200..300 | 404 | 409 => Ok((status, text)),
            429 | 500.. => Err(Fault::Unreachable(format!("{url} answered {status}"))),
            _ => {
                let said: Value = serde_json::from_str(&text).unwrap_or_default();
                let why = said["message"].as_str().unwrap_or("it does not say why");
                Err(Fault::Refused(format!("{} answered {status}: {why}", self.server)))
            }
        }
    }

    fn jobs(&self) -> String {
        format!("/apis/batch/v1/namespaces/{}/jobs", self.namespace)
    }

    fn core(&self, kind: &str) -> String {
        format!("/api/v1/namespaces/{}/{kind}", self.namespace)
    }

    /// Returns the entries of a list with a label.
    fn list(&self, path: &str, label: &str, value: &str) -> Result<Vec<Item>, Fault> {
        let (status, text) =
            self.ask("GET", &format!("{path}?labelSelector={label}%3D{value}"), None)?;
        let list: List = serde_json::from_str(&text)
            .map_err(|error| Fault::Refused(format!("{path}: {error}")))?;
        match list.items {
            Some(items) if status == 200 => Ok(items),
            _ => Err(Fault::Refused(format!("{}{path} answered {status}", self.server))),
        }
    }

    fn job(&self, ticket: &Ticket, seat: &Seat) -> Value {
        let labels = json!({ID: ticket.id, STORE: ticket.store});
        let resources = &seat.resources;
        let mut wanted = json!({});
        let memory = resources.memory_mb.map(|mb| mb << 20).or(self.memory);
        if let Some(bytes) = memory {
            wanted["memory"] = json!(bytes.to_string());
        }
        if let Some(vcores) = resources.vcores.or(self.vcores) {
            wanted["cpu"] = json!(vcores.to_string());
        }
        let mut pod = json!({
            "restartPolicy": "Never",
            "containers": [{
                "name": "program",
                "image": self.image,
                "command": ["sh", "-c", SCRIPT],
                "resources": {"limits": wanted},
                "volumeMounts": [
                    {"name": "bundle", "mountPath": "/ankus/bundle", "readOnly": true},
                    {"name": "attempt", "mountPath": "/ankus/attempt"},
                ],
            }],
            "volumes": [
                {"name": "bundle", "configMap": {"name": ticket.id}},
                {"name": "attempt", "emptyDir": {}},
            ],
        });
        if let Some(account) = &self.service_account {
            pod["serviceAccountName"] = json!(account);
        }
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": ticket.id,
                "labels": labels,
                "annotations": {"ankus": seat.title},
            },
            "spec": {
                "backoffLimit": 0,
                "completions": 1,
                "parallelism": 1,
                "ttlSecondsAfterFinished": self.keep.unwrap_or(3_600),
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        })
    }
}

impl Backend for Kubernetes {
    fn start(
        &self,
        ticket: &Ticket,
        seat: &Seat,
        bundle: &Bundle<'_>,
    ) -> Result<Option<String>, Fault> {
        let name = &seat.place.name;
        let mut packed = Vec::new();
        bundle
            .pack(&[], &mut packed)
            .map_err(|error| Fault::Refused(format!("its files cannot be read: {error}")))?;
        let packed = BASE64.encode(packed);
        if packed.len() > LARGEST {
            return Err(Fault::Refused(format!(
                "the files of the action have {} bytes when packed, and a ConfigMap holds {LARGEST}; put them into the image, or \
                 choose another launcher than [launchers.{name}]",
                packed.len()
            )));
        }
        let (status, text) = self.ask("POST", &self.jobs(), Some(&self.job(ticket, seat)))?;
        let job: Item = match status {
            // It was created before the process was killed. Permission to list Jobs does not always include permission
            // to get one.
            409 => {
                let known = self.list(&self.jobs(), ID, &ticket.id);
                let known = known.map_err(Fault::after_others)?.into_iter().next();
                known
                    .ok_or_else(|| Fault::Unreachable("its Job has just disappeared".to_owned()))?
            }
            404 => {
                let namespace = &self.namespace;
                return Err(Fault::Refused(format!("there is no namespace `{namespace}`")));
            }
            _ => serde_json::from_str(&text)
                .map_err(|error| Fault::Refused(format!("the answer is not a Job: {error}")))?,
        };
        let files = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": ticket.id,
                "labels": {ID: ticket.id, STORE: ticket.store},
                "ownerReferences": [{
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": ticket.id,
                    "uid": job.metadata.uid,
                }],
            },
            "binaryData": {"bundle.tgz": packed},
        });
        match self.ask("POST", &self.core("configmaps"), Some(&files)) {
            Ok(_) => Ok(None),
            Err(Fault::Refused(why)) => {
                // Without its files the Job must not run. If it cannot be deleted, that has to be reported.
                self.end(ticket, Urgency::Ask).map_err(|fault| {
                    let job = &ticket.id;
                    Fault::Unreachable(format!("{why}; and its Job {job} is left: {fault:?}"))
                })?;
                Err(Fault::Refused(why))
            }
            Err(fault) => Err(fault.after_others()),
        }
    }

    fn look(&self, tickets: &[&Ticket]) -> Result<HashMap<String, Seen>, Fault> {
        let Some(first) = tickets.first() else { return Ok(HashMap::new()) };
        let jobs = self.list(&self.jobs(), STORE, &first.store)?;
        // Only a pod has the exit code, or the reason why it does not start. If all are running, this request is saved.
        let pods = match jobs.iter().all(|job| says_all(&job.status)) {
            true => Vec::new(),
            false => self.list(&self.core("pods"), STORE, &first.store)?,
        };
        let id_of = |item: &Item| item.metadata.labels.get(ID).cloned();
        let pods: HashMap<String, Value> =
            pods.into_iter().filter_map(|pod| Some((id_of(&pod)?, pod.status))).collect();
        let jobs = jobs.iter().filter_map(|job| {
            let id = id_of(job)?;
            let seen = seen_of(&job.status, pods.get(&id));
            Some((id, seen))
        });
        Ok(jobs.collect())
    }

    fn end(&self, ticket: &Ticket, urgency: Urgency) -> Result<(), Fault> {
        if urgency == Urgency::Force {
            // One by one, since deleting a collection by label needs another permission.
            for pod in self.list(&self.core("pods"), ID, &ticket.id)? {
                let name = pod.metadata.name;
                let path = format!("{}/{name}", self.core("pods"));
                self.ask("DELETE", &path, Some(&json!({"gracePeriodSeconds": 0})))?;
            }
        }
        // The Job remains until its pod has ended.
        let path = format!("{}/{}", self.jobs(), ticket.id);
        self.ask("DELETE", &path, Some(&json!({"propagationPolicy": "Foreground"})))?;
        Ok(())
    }

    fn fetch(&self, ticket: &Ticket, folder: &Path, program: &Program) -> Result<(), Fault> {
        let pods = self.list(&self.core("pods"), ID, &ticket.id)?;
        let Some(Item { metadata: Metadata { name, .. }, .. }) = pods.first() else {
            return Ok(());
        };
        let path = format!("{}/{name}/log?container=program", self.core("pods"));
        let log = match self.ask("GET", &path, None) {
            Ok((200, log)) => log,
            // A container that never started has no output.
            Ok(_) | Err(Fault::Refused(_)) => String::new(),
            Err(fault) => return Err(fault),
        };
        let parts = framed(&log);
        for part in &parts {
            let more = part.size.saturating_sub(part.bytes.len() as u64);
            let note = format!("[{more} bytes more are in the log of the pod {name}]");
            receive::put(folder, program, part, (more > 0).then_some(&*note), false)?;
        }
        if parts.is_empty() {
            // It was killed before the script could frame anything: the log is all there is.
            let bytes = log.into_bytes();
            let size = bytes.len() as u64;
            let part = receive::Part { name: "stderr".to_owned(), size, bytes };
            receive::put(folder, program, &part, None, false)?;
        }
        Ok(())
    }

    fn forget(&self, _: &Ticket) -> Result<(), Fault> {
        // The cluster deletes it by itself (`ttlSecondsAfterFinished`), and it can be inspected until then.
        Ok(())
    }

    fn address(&self, ticket: &Ticket) -> Address {
        let console = format!("{}{}/{}", self.server, self.jobs(), ticket.id);
        let id = format!("{}/{}", self.namespace, ticket.id);
        Address { id, tracker: self.server.clone(), console }
    }
}

/// Returns the condition of this type that holds for a Job.
fn condition<'a>(job: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = job["conditions"].as_array()?;
    conditions.iter().find(|it| it["type"] == kind && it["status"] == "True")
}

/// Whether the Job itself says everything: its pod is ready, so that it neither waits for an image nor has ended, or it
/// completed.
fn says_all(job: &Value) -> bool {
    condition(job, "Complete").is_some()
        || (job["ready"].as_i64() == Some(1) && condition(job, "Failed").is_none())
}

/// Returns the state of a job from its Job and its pod.
fn seen_of(job: &Value, pod: Option<&Value>) -> Seen {
    let container = pod.map(|pod| &pod["containerStatuses"][0]["state"]);
    let said = |what: &Value, why: &Value| {
        let why = why.as_str().filter(|why| !why.is_empty());
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let what = what.as_str().unwrap_or("FAILED");
        let said = format!("ended in the cluster, {what}{why}");
        Seen::Ended(Exit { said: Some(said), ..Exit::default() })
    };
    if condition(job, "Complete").is_some() {
        return Seen::Ended(Exit { code: Some(0), ..Exit::default() });
    }
    if let Some(failed) = condition(job, "Failed") {
        let ended = container.map(|state| &state["terminated"]).filter(|it| !it.is_null());
        let Some(ended) = ended else {
            let status = pod.filter(|it| !it["reason"].is_null());
            let why = status.unwrap_or(failed);
            return said(&why["reason"], &why["message"]);
        };
        return match (ended["reason"].as_str(), ended["exitCode"].as_i64()) {
            (None | Some("Error" | "Completed"), Some(code)) => {
                Seen::Ended(Exit { code: i32::try_from(code).ok(), ..Exit::default() })
            }
            _ => said(&ended["reason"], &ended["message"]),
        };
    }
    let waiting = container.map(|state| &state["waiting"]);
    match waiting.filter(|it| it["reason"].as_str().is_some_and(|it| HOPELESS.contains(&it))) {
        Some(waiting) => said(&waiting["reason"], &waiting["message"]),
        None => Seen::Runs,
    }
}

/// Parses what the script framed at the end of a log.
fn framed(log: &str) -> Vec<receive::Part> {
    let Some(at) = log.rfind("\nankus exit ") else { return Vec::new() };
    let mut parts: Vec<(String, u64, String)> = Vec::new();
    for line in log[at..].lines().skip(2) {
        let words: Vec<&str> = line.split(' ').collect();
        match (words.as_slice(), parts.last_mut()) {
            (["ankus", "file", name, size], _) => {
                parts.push(((*name).to_owned(), size.parse().unwrap_or(0), String::new()));
            }
            (["ankus", "end"], _) => break,
            (_, Some(part)) => part.2.push_str(line.trim()),
            (_, None) => {}
        }
    }
    let decoded = parts.into_iter().map(|(name, size, text)| receive::Part {
        name,
        size,
        bytes: BASE64.decode(text).unwrap_or_default(),
    });
    decoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(job: Value, pod: Value, code: Option<i32>, words: &str) {
        match seen_of(&job["status"], Some(&pod["status"])) {
            Seen::Ended(exit) => {
                assert_eq!(exit.code, code);
                assert!(exit.said.clone().unwrap_or_default().contains(words), "{exit:?}");
            }
            seen => assert_eq!(words, "runs", "{seen:?}"),
        }
    }

    #[test]
    fn of_a_list_only_what_counts_is_read() {
        let text = "{\"kind\":\"JobList\",\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"managedFields\":[{}],\"labels\":{\"x\":\"y\"}},\
            \"spec\":{\"template\":{}},\"status\":{\"active\":1}},{\"metadata\":{\"name\":\"b\"}}]}";
        let list: List = serde_json::from_str(text).expect("a list");
        let [a, b] = list.items.expect("items").try_into().ok().expect("two");
        assert_eq!((a.metadata.uid.as_str(), a.metadata.labels["x"].as_str()), ("u", "y"));
        assert_eq!((a.status, b.status), (json!({"active": 1}), Value::Null));
        assert_eq!(b.metadata.name, "b");
    }

    #[test]
    fn pods_are_asked_only_for_what_jobs_do_not_say() {
        let with = |ready: i64, kind: &str| json!({"active": 1, "ready": ready, "conditions": [{"type": kind, "status": "True"}]});
        assert!(says_all(&json!({"active": 1, "ready": 1})));
        assert!(says_all(&with(0, "Complete")));
        for job in [json!({}), json!({"active": 1}), json!({"active": 1, "ready": 0})] {
            assert!(!says_all(&job), "{job}");
        }
        assert!(!says_all(&with(0, "Suspended")) && !says_all(&with(1, "Failed")));
    }

    #[test]
    fn jobs_end_as_their_pods_did() {
        let job = |kind: &str| json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "BackoffLimitExceeded"}]}});
        let state = |state: Value| json!({"status": {"containerStatuses": [{"state": state}]}});
        check(job("Suspended"), json!({}), None, "runs");
        check(job("Complete"), json!({}), Some(0), "");
        check(
            job("Failed"),
            state(json!({"terminated": {"exitCode": 3, "reason": "Error"}})),
            Some(3),
            "",
        );
        check(
            job("Failed"),
            state(json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}})),
            None,
            "OOMKilled",
        );
        check(
            job("Failed"),
            json!({"status": {"reason": "Evicted", "message": "low on disk"}}),
            None,
            "Evicted: low on disk",
        );
        check(job("Failed"), json!({}), None, "BackoffLimitExceeded");
        check(
            json!({}),
            state(json!({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}})),
            None,
            "no such image",
        );
        check(json!({}), state(json!({"waiting": {"reason": "ContainerCreating"}})), None, "runs");
    }

    #[test]
    fn the_script_of_a_pod_runs_a_program_and_frames_what_it_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display().to_string();
        let attempt = folder.path().join("store/jobs/j/a");
        let work = attempt.join("work");
        std::fs::create_dir_all(&work).expect("a folder");
        std::fs::write(work.join("words"), "apple").expect("a file");
        let (program, arguments) =
            ("sh".to_owned(), ["-c", "echo n=$(cat words); echo $ANKUS_ATTEMPT >&2; exit 5"]);
        let arguments = arguments.map(str::to_owned).to_vec();
        let program = Program { program, arguments, ..Program::default() };
        let place_of = super::super::Place {
            name: "pods".to_owned(),
            system: super::super::System::Kubernetes(Kubernetes::default()),
            tools: Default::default(),
            environment: Default::default(),
        };
        let seat = Seat {
            clusters: Vec::new(),
            place: place_of,
            kind: "shell".to_owned(),
            title: String::new(),
            resources: Default::default(),
        };
        let mut packed = Vec::new();
        let bundle = Bundle { folder: &attempt, program: &program, seat: &seat };
        bundle.pack(&[], &mut packed).expect("it is packed");
        std::fs::create_dir_all(folder.path().join("bundle")).expect("a folder");
        std::fs::write(folder.path().join("bundle/bundle.tgz"), packed).expect("a file");
        let script = SCRIPT.replace("/ankus/", &format!("{place}/"));
        let output =
            std::process::Command::new("sh").args(["-c", &script]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(5));
        let log = String::from_utf8(output.stdout).expect("a log");
        assert!(log.starts_with("n=apple\n"), "{log}");
        let parts = framed(&log);
        let shown: Vec<_> = parts.iter().map(|part| (&*part.name, &*part.bytes)).collect();
        assert_eq!(shown[0], ("stdout", &b"n=apple\n"[..]));
        assert!(shown[1].1.ends_with(b"/attempt\n"), "{shown:?}");
    }

    #[test]
    fn what_a_pod_left_behind_is_at_the_end_of_its_log() {
        let log = "ankus exit 9\nwords\n\nankus exit 0\nankus file stdout 4\nYT0x\nCg==\nankus file stderr 0\nankus end\n";
        let parts = framed(log);
        let shown: Vec<_> =
            parts.iter().map(|part| (&*part.name, part.size, &*part.bytes)).collect();
        assert_eq!(shown, [("stdout", 4, &b"a=1\n"[..]), ("stderr", 0, &b""[..])]);
        assert!(framed("cut off").is_empty());
    }
}
