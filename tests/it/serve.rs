//! `ankus serve`: the real program, queried over HTTP as the clients of a server do.

use crate::cli::{ankus, folder};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const WORKFLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="tidy">
  <start to="make"/>
  <action name="make"><fs><mkdir path="${nameNode}/made"/></fs><ok to="end"/><error to="failed"/></action>
  <kill name="failed"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name="end"/>
</workflow-app>
"#;

const BROKEN: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="b"><start to="nope"/><end name="end"/></workflow-app>"#;

/// A server that runs in a folder.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

/// An answer: status line, headers in lower case, body.
pub(crate) struct Answer {
    pub(crate) status: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Server {
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Server {
        Server::start_with(folder, more, "/nowhere/ankus.toml")
    }

    /// Starts a server with a user's settings.
    pub(crate) fn start_with(folder: &Path, more: &[&str], settings: &str) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(more).current_dir(folder);
        command.env("ANKUS_USER_CONFIG", settings).env_remove("ANKUS_STORE");
        Server::spawned(command).unwrap_or_else(|line| panic!("{line}"))
    }

    /// Starts a server with a command. Returns the first line that it prints if it does not start.
    pub(crate) fn spawned(mut command: Command) -> Result<Server, String> {
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(|why| why.to_string())?;
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("it says where it serves");
        let address = line.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        let Some((address, _)) = address else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(line);
        };
        let address = address.to_owned();
        // Its log must be drained.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Server { child, address })
    }

    /// Ends the server with SIGTERM, as service managers do, and waits for it.
    pub(crate) fn ends(mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("it is there");
        assert!(sent.success());
        self.child.wait().expect("it ends");
    }

    /// The resident memory in kB; none if the system does not report it.
    pub(crate) fn resident_kb(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.ask_at(method, &format!("/oozie/{path}"), headers, body)
    }

    /// Sends a request for any path.
    #[track_caller]
    pub(crate) fn ask_at(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
        let length = body.len();
        let host = &self.address;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it answers");
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let (status, head) = head.split_once("\r\n").unwrap_or((head, ""));
        let status = status.trim_start_matches("HTTP/1.1 ").to_owned();
        Answer { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, "", "");
        assert!(answer.status.starts_with("200"), "{path}: {} {}", answer.status, answer.body);
        serde_json::from_str(&answer.body).expect("JSON")
    }

    #[track_caller]
    pub(crate) fn submit(&self, path: &str, name: &str) -> Answer {
        let body = format!(
            "<configuration><property><name>user.name</name><value>ana</value></property><property><name>nameNode</name><value>hdfs://nn</value></property><property><name>oozie.wf.application.path</name><value>hdfs://nn/apps/{name}</value></property></configuration>"
        );
        self.ask("POST", path, "content-type: application/xml;charset=UTF-8\r\n", &body)
    }

    #[track_caller]
    pub(crate) fn id(&self, path: &str, name: &str) -> String {
        let answer = self.submit(path, name);
        assert!(answer.status.starts_with("201"), "{} {}", answer.status, answer.body);
        let object: Value = serde_json::from_str(&answer.body).expect("JSON");
        object["id"].as_str().expect("an id").to_owned()
    }

    #[track_caller]
    pub(crate) fn waits(&self, id: &str, wanted: &str) {
        let path = format!("v2/job/{id}?show=status");
        for _ in 0..2_400 {
            if self.json(&path)["status"] == wanted {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{id} is {} and not {wanted}", self.json(&path)["status"]);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn apps() -> tempfile::TempDir {
    folder(&[
        (".ankus/root/apps/tidy/workflow.xml", WORKFLOW),
        (".ankus/root/apps/broken/workflow.xml", BROKEN),
    ])
}

#[test]
fn a_job_is_submitted_started_shown_and_run_again() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    assert_eq!(server.json("versions"), serde_json::json!([0, 1, 2]));
    assert_eq!(server.json("v1/admin/status")["systemMode"], "NORMAL");
    assert_eq!(server.ask("OPTIONS", "v2/jobs?user=ana", "", "").status, "200 OK");
    let id = server.id("v2/jobs?user=ana", "tidy");
    server.waits(&id, "PREP");
    // It stays in PREP until it is started, even when another process runs the store.
    drop(server);
    let server = Server::start(folder.path(), &[]);
    std::thread::sleep(Duration::from_millis(300));
    server.waits(&id, "PREP");
    assert!(!folder.path().join(".ankus/root/made").exists());
    let started = server.ask("PUT", &format!("v2/job/{id}?action=start"), "", "");
    assert_eq!((started.status.as_str(), started.body.as_str()), ("200 OK", ""));
    server.waits(&id, "SUCCEEDED");
    assert!(folder.path().join(".ankus/root/made").is_dir());
    let info = server.json(&format!("v2/job/{id}?show=info&timezone=Asia/Kolkata"));
    assert_eq!((&info["user"], &info["appName"]), (&"ana".into(), &"tidy".into()));
    assert!(info["endTime"].as_str().is_some_and(|time| time.ends_with(" IST")), "{info}");
    assert_eq!(info["actions"][1]["name"], "make");
    assert!(!info["conf"].as_str().expect("XML").contains("ankus.run"), "{info}");
    let action = server.json(&format!("v2/job/{id}@make"));
    assert_eq!(action["status"], "OK");
    let definition = server.ask("GET", &format!("v2/job/{id}?show=definition"), "", "");
    assert_eq!(definition.body, WORKFLOW);
    // The definition of a job stays the one that it ran, whatever lies at its path now, until a rerun.
    let edited = WORKFLOW.replace("<start", "<!-- edited -->\n<start");
    assert_ne!(edited, WORKFLOW);
    let place = folder.path().join(".ankus/root/apps/tidy/workflow.xml");
    std::fs::write(&place, &edited).expect("writable");
    let shown = || server.ask("GET", &format!("v2/job/{id}?show=definition"), "", "").body;
    assert_eq!(shown(), WORKFLOW);
    let log = server.ask("GET", &format!("v2/job/{id}?show=log"), "", "");
    assert!(log.body.contains("the job is SUCCEEDED"), "{}", log.body);
    // As on a server, a picture is a PNG unless another format is requested.
    let dots = server.ask("GET", &format!("v1/job/{id}?show=graph"), "", "");
    assert!(dots.head.contains("content-type: image/png\r\n"), "{}", dots.head);
    assert!(dots.body.contains("PNG\r\n") && dots.body.len() > 2_000, "{}", dots.body.len());
    let picture = server.ask("GET", &format!("v1/job/{id}?show=graph&format=svg"), "", "");
    assert!(picture.body.contains("<svg"), "{}", picture.body);
    let list = server.json("v1/jobs?filter=status%3DSUCCEEDED%3Bname%3Dtidy&len=1");
    assert_eq!((&list["total"], &list["workflows"][0]["id"]), (&1.into(), &id.as_str().into()));
    let rerun = "<configuration><property><name>oozie.wf.rerun.failnodes</name><value>false</value></property></configuration>";
    let kind = "content-type: application/xml\r\n";
    let again = server.ask("PUT", &format!("v2/job/{id}?action=rerun"), kind, rerun);
    assert_eq!(again.status, "200 OK", "{}", again.head);
    server.waits(&id, "SUCCEEDED");
    assert_eq!(server.json(&format!("v2/job/{id}"))["run"], 1);
    assert_eq!(shown(), edited);
    let dry = server.submit("v2/jobs?action=dryrun", "tidy");
    assert_eq!(dry.body, r#"{"id":"OK"}"#);
    assert_eq!(server.json("v2/jobs")["total"], 1);
    // A held job can be killed, and so can many jobs at once.
    let held = server.id("v2/jobs", "tidy");
    server.ask("PUT", "v2/jobs?action=kill&jobtype=wf&filter=status%3DPREP", "", "");
    server.waits(&held, "KILLED");
}

#[test]
fn what_is_refused_is_refused_as_a_server_does() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    let check = |answer: Answer, status: &str, code: &str| {
        let told = format!("oozie-error-code: {}", code.to_lowercase());
        assert!(answer.status.starts_with(status), "{} {}", answer.status, answer.body);
        assert!(answer.head.contains(&told), "{}", answer.head);
    };
    check(server.submit("v2/jobs", "broken"), "400 E0708", "E0708");
    check(server.submit("v2/jobs", "absent"), "400 E0307", "E0307");
    check(server.submit("v2/jobs?action=zebra", "tidy"), "400 E0303", "E0303");
    check(server.ask("POST", "v2/jobs", "", ""), "400 E0300: Invalid content-type [null]", "E0300");
    check(server.ask("GET", "v2/job/0-W", "", ""), "400 E0604: Job does not exist [0-W]", "E0604");
    check(server.ask("GET", "v2/job/a/b", "", ""), "400 E0301", "E0301");
    check(server.ask("GET", "v2/jobs?filter=zork", "", ""), "400 E0420", "E0420");
    check(server.ask("PUT", "v2/job/0-C?action=start", "", ""), "400 E0303", "E0303");
    check(server.ask("GET", "callback?status=X", "", ""), "400 E0402", "E0402");
    // Refused: entities, files outside the file systems, requests by a page of another site or with a foreign host
    // name.
    let kind = "content-type: application/xml\r\n";
    let entity = "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><configuration><property><name>user.name</name><value>&e;</value></property></configuration>";
    assert!(server.ask("POST", "v2/jobs", kind, entity).status.starts_with("500"));
    let above = server.submit("v2/jobs?action=start", "../../../../../../etc");
    assert!(above.status.starts_with("400"), "{}", above.status);
    let foreign = "origin: http://evil.example\r\nsec-fetch-site: cross-site\r\n";
    assert!(
        server
            .ask("PUT", "v2/jobs?action=kill&jobtype=wf&filter=name%3Da", foreign, "")
            .status
            .starts_with("403")
    );
    let large = "x".repeat(11 << 20);
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let head = format!(
        "POST /oozie/v2/jobs HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/xml\r\ncontent-length: {}\r\n\r\n",
        server.address,
        large.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    // The server may hang up before the whole body was sent.
    let _ = stream.write_all(large.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.contains(" 413 "), "{answer}");
    assert_eq!(server.json("v2/jobs")["total"], 0);
}

#[test]
fn others_than_this_machine_are_served_only_by_choice() {
    let folder = apps();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
    command.args(["serve", "--listen", "0.0.0.0:0"]).current_dir(folder.path());
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--auth"), "{said}");

    let server = Server::start(folder.path(), &["--auth", "simple"]);
    let answer = server.ask("GET", "v2/admin/status?user.name=ana", "", "");
    let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.unwrap_or_else(|| panic!("{}", answer.head));
    assert!(cookie.starts_with("hadoop.auth=\"u=ana&p=ana&t=simple&e="), "{cookie}");
    let id = server.id("v2/jobs?user.name=ana", "tidy");
    let kill = format!("v2/job/{id}?action=kill");
    let other = server.ask("PUT", &format!("{kill}&user.name=bob"), "", "");
    assert!(other.status.starts_with("401"), "{}", other.status);
    // A cookie with a forged signature is ignored.
    let forged = "cookie: hadoop.auth=\"u=ana&p=ana&t=simple&e=9999999999999&s=AAAA\"\r\n";
    assert!(server.ask("PUT", &kill, forged, "").status.starts_with("401"));
    server.waits(&id, "PREP");
    assert_eq!(server.ask("PUT", &format!("{kill}&user.name=ana"), "", "").status, "200 OK");
    server.waits(&id, "KILLED");
}

/// Writes an accounts file with a password for ann and a token for etl.
pub(crate) fn accounts(folder: &Path, groups: &str) -> String {
    let ankus = |argument: &str, input: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        command.args(["serve", argument]).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    let (hash, _) = ankus("--hash-password", "s3cret\n");
    assert!(hash.starts_with("$argon2id$"), "{hash}");
    let (token, line) = ankus("--new-token", "");
    let sum = line.split("sha256 = \"").nth(1).and_then(|rest| rest.split('"').next());
    let sum = sum.unwrap_or_else(|| panic!("{line}"));
    let text = format!(
        "admins = [\"root\"]\n[users]\nann = '{hash}'\n[tokens]\nci = {{ user = 'etl', sha256 = '{sum}' }}\n{groups}"
    );
    let path = folder.join("accounts.toml");
    std::fs::write(&path, text).expect("writable");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
    token
}

#[test]
fn passwords_and_tokens_say_who_asks_and_the_audit_log_names_them() {
    use base64::Engine as _;
    let folder = apps();
    let groups = "[groups]\nstaff = ['bob']\n[proxies]\netl = { hosts = ['127.0.0.1'], groups = ['staff'] }\n";
    let token = accounts(folder.path(), groups);
    let how = ["--auth", "basic,token", "--accounts", "accounts.toml"];
    let server = Server::start(folder.path(), &how);
    let basic = |text: &str| {
        let encoded = base64::engine::general_purpose::STANDARD.encode(text);
        format!("authorization: Basic {encoded}\r\n")
    };
    let bearer = format!("authorization: Bearer {token}\r\n");
    let nobody = server.ask("GET", "v2/jobs", "", "");
    assert!(nobody.status.starts_with("401"), "{}", nobody.status);
    assert!(nobody.head.contains("www-authenticate: basic realm"), "{}", nobody.head);
    assert!(nobody.head.contains("www-authenticate: bearer"), "{}", nobody.head);
    for wrong in
        [basic("ann:wrong"), basic("bob:s3cret"), "authorization: Bearer 00\r\n".to_owned()]
    {
        assert!(server.ask("GET", "", &wrong, "").status.starts_with("401"), "{wrong}");
    }
    assert!(server.ask("GET", "v2/jobs?user.name=ann", "", "").status.starts_with("401"));
    assert_eq!(server.ask("GET", "", &basic("ann:s3cret"), "").status, "200 OK");
    let kind = "content-type: application/xml;charset=UTF-8\r\n";
    let body = "<configuration><property><name>user.name</name><value>etl</value></property><property><name>nameNode</name><value>hdfs://nn</value></property><property><name>oozie.wf.application.path</name><value>hdfs://nn/apps/tidy</value></property></configuration>";
    let made = server.ask("POST", "v2/jobs", &format!("{kind}{bearer}"), body);
    let id: Value = serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
    let id = id["id"].as_str().expect("an id").to_owned();
    let kill = format!("v2/job/{id}?action=kill");
    let other = server.ask("PUT", &kill, &basic("ann:s3cret"), "");
    assert!(other.status.starts_with("401 E0508"), "{}", other.status);
    // Acting for another user requires permission in the file.
    let path = format!("{kill}&doAs=ann");
    assert!(server.ask("PUT", &path, &bearer, "").status.starts_with("401"));
    assert_eq!(server.ask("PUT", &kill, &bearer, "").status, "200 OK");
    let audit = std::fs::read_to_string(folder.path().join(".ankus/audit.log")).expect("a log");
    let killed = audit.lines().find(|line| line.contains("OPERATION [kill]")).expect("a line");
    assert!(killed.contains("USER [etl]"), "{killed}");
    // Cookies are valid for the store, whichever process serves it, until the user is removed from the file.
    let answer = server.ask("GET", "v2/jobs", &basic("ann:s3cret"), "");
    let cookie = answer.head.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = cookie.and_then(|cookie| cookie.split(';').next()).expect("a cookie");
    assert!(cookie.contains("t=basic"), "{cookie}");
    drop(server);
    let server = Server::start(folder.path(), &how);
    // The helper above changes the case of headers, so the cookie is requested again here.
    let fresh = raw_cookie(&server, &basic("ann:s3cret"));
    let ask = || server.ask("GET", "v2/jobs", &format!("cookie: {fresh}\r\n"), "").status;
    assert_eq!(ask(), "200 OK");
    let path = folder.path().join("accounts.toml");
    let text = std::fs::read_to_string(&path).expect("there");
    std::fs::write(&path, text.replace("\nann =", "\nzoe =")).expect("writable");
    for _ in 0..1_200 {
        if ask().starts_with("401") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("whoever was taken out of the file is still let in");
}

#[test]
fn proxy_users_are_those_of_the_site() {
    let site = |properties: &[(&str, &str)]| {
        let of = "oozie.service.ProxyUserService.proxyuser";
        let property = |(name, value): &(&str, &str)| {
            format!("<property><name>{of}.{name}</name><value>{value}</value></property>")
        };
        let all: String = properties.iter().map(property).collect();
        format!("<configuration>{all}</configuration>")
    };
    let folder = apps();
    let path = folder.path().join("oozie-site.xml");
    let settings = "[server]\nsite = \"oozie-site.xml\"\n";
    std::fs::write(folder.path().join("ankus.toml"), settings).expect("writable");
    for (properties, said) in [
        (
            &[("hue.hosts", "*")][..],
            "E0551: Missing [oozie.service.ProxyUserService.proxyuser.hue.groups] property",
        ),
        (
            &[("hue.hosts", "nowhere.invalid"), ("hue.groups", "*")],
            "E0550: Could not normalize host name [nowhere.invalid]",
        ),
    ] {
        std::fs::write(&path, site(properties)).expect("writable");
        let serve = ankus(&["serve", "--listen", "127.0.0.1:0"]).folder(folder.path());
        serve.run().said(2, said);
    }
    let hue = [
        ("hue.hosts", "localhost"),
        ("hue.groups", "*"),
        ("knox.hosts", "10.0.0.1"),
        ("knox.groups", "*"),
    ];
    std::fs::write(&path, site(&hue)).expect("writable");
    for how in [&[][..], &["--auth", "simple"]] {
        let server = Server::start(folder.path(), how);
        let asks = |query: &str| server.ask("GET", &format!("v2/jobs?{query}"), "", "");
        assert_eq!(asks("user.name=hue&doAs=ann").status, "200 OK");
        for (user, why) in [
            ("ann", "User [ann] not defined as proxyuser"),
            ("knox", "Unauthorized host [127.0.0.1] for proxyuser [knox]"),
        ] {
            let answer = asks(&format!("user.name={user}&doAs=bob"));
            assert_eq!(answer.status, format!("401 {why}"));
            assert!(answer.head.contains("set-cookie: hadoop.auth="), "{}", answer.head);
        }
    }
}

/// The cookie that an answer sets, in its original case.
fn raw_cookie(server: &Server, headers: &str) -> String {
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let host = &server.address;
    let request = format!(
        "GET /oozie/v2/jobs HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let line = text.lines().find_map(|line| line.strip_prefix("Set-Cookie: "));
    line.and_then(|line| line.split(';').next()).expect("a cookie").to_owned()
}

#[test]
fn tls_is_spoken_with_a_certificate_that_is_renewed() {
    let folder = apps();
    let certify = || {
        let names = vec!["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).expect("a certificate");
        std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem())
            .expect("writable");
        std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).expect("writable");
        made.cert.der().to_vec()
    };
    let first = certify();
    let server = Server::start(folder.path(), &["--tls", "cert.pem", "key.pem"]);
    let port = server.address.rsplit_once(':').expect("a port").1.to_owned();
    let ask = |certificate: &[u8]| {
        let root = ureq::tls::Certificate::from_der(certificate).to_owned();
        let tls =
            ureq::tls::TlsConfig::builder().root_certs(ureq::tls::RootCerts::from([root])).build();
        let agent: ureq::Agent = ureq::Agent::config_builder().tls_config(tls).build().into();
        let mut answer = agent.get(format!("https://localhost:{port}/oozie/versions")).call()?;
        answer.body_mut().read_to_string()
    };
    assert_eq!(ask(&first).expect("TLS"), "[0,1,2]");
    let second = certify();
    for _ in 0..1_200 {
        if ask(&second).is_ok() {
            ask(&first).expect_err("the first certificate is gone");
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the certificate was not renewed");
}

#[test]
fn what_says_nothing_of_who_asks_is_refused_at_the_start() {
    let folder = apps();
    std::fs::write(folder.path().join("open.toml"), "").expect("writable");
    use std::os::unix::fs::PermissionsExt as _;
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path().join("open.toml"), open).expect("ours");
    for (arguments, said) in [
        (&["--auth", "basic"][..], "need --accounts"),
        (&["--accounts", "open.toml"], "has an effect only with --auth"),
        (&["--auth", "token", "--accounts", "open.toml"], "chmod 600"),
        (&["--auth", "token", "--accounts", "absent.toml"], "cannot be read"),
        (&["--tls", "absent.pem", "absent.pem"], "TLS cannot be used"),
        (&["--auth", "kerberos"], "needs --keytab"),
        (&["--auth", "simple", "--keytab", "open.toml"], "has an effect only with --auth kerberos"),
        (&["--auth", "kerberos", "--keytab", "open.toml"], "can be read"),
        (&["--auth", "digest"], "invalid value"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ankus"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(arguments);
        let output = command.current_dir(folder.path()).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}

/// An action whose data cannot be accessed reports that, instead of waiting in silence.
#[test]
fn what_cannot_be_looked_at_is_said() {
    let coordinator = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"c\" frequency=\"${coord:days(1)}\" start=\"2024-01-01T00:00Z\" end=\"2024-01-02T00:00Z\" timezone=\"UTC\"><datasets><dataset name=\"d\" frequency=\"${coord:days(1)}\" initial-instance=\"2024-01-01T00:00Z\" timezone=\"UTC\"><uri-template>file:///secret/${YEAR}</uri-template></dataset></datasets><input-events><data-in name=\"in\" dataset=\"d\"><instance>${coord:current(0)}</instance></data-in></input-events><action><workflow><app-path>hdfs://nn/apps/tidy</app-path></workflow></action></coordinator-app>";
    let site = "<configuration><property><name>oozie.service.HadoopAccessorService.supported.filesystems</name><value>*</value></property></configuration>";
    let folder = folder(&[
        (".ankus/root/apps/tidy/workflow.xml", WORKFLOW),
        (".ankus/root/apps/daily/coordinator.xml", coordinator),
        ("site.xml", site),
        ("ankus.toml", "[server]\nsite = \"site.xml\"\n"),
    ]);
    let server = Server::start(folder.path(), &[]);
    let body = "<configuration><property><name>user.name</name><value>ana</value></property><property><name>oozie.coord.application.path</name><value>hdfs://nn/apps/daily</value></property></configuration>";
    let made =
        server.ask("POST", "v2/jobs?action=start", "content-type: application/xml\r\n", body);
    let id: Value = serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
    let path = format!(
        "v2/job/{}@1?show=info",
        id["id"].as_str().unwrap_or_else(|| panic!("{}", made.body))
    );
    for _ in 0..2_400 {
        let answer = server.ask("GET", &path, "", "");
        if answer.body.contains("E1021") {
            assert!(answer.body.contains("[hosts]"), "{}", answer.body);
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{}", server.ask("GET", &path, "", "").body);
}

#[test]
fn the_share_library_is_listed_and_dry_runs_evaluate() {
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='hourly' frequency='${coord:hours(1)}' start='2026-01-01T00:00Z' end='2026-01-02T00:00Z' timezone='UTC'><controls><concurrency>3</concurrency></controls><action><workflow><app-path>/apps/x</app-path><configuration><property><name>at</name><value>${coord:nominalTime()}</value></property></configuration></workflow></action></coordinator-app>";
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/><action name='a'><fs><mkdir path='${place}/x'/></fs><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    let folder = folder(&[
        ("user.toml", "[server]\nshare-lib = \"/share/lib\"\n"),
        ("root/share/lib/lib_20240101000000/pig/old.jar", ""),
        ("root/share/lib/lib_20250101000000/pig/new.jar", ""),
        ("root/share/lib/lib_20250101000000/hive/sub/a.jar", ""),
        ("root/c/coordinator.xml", coordinator),
        ("root/w/workflow.xml", workflow),
    ]);
    let user = folder.path().join("user.toml").display().to_string();
    let server = Server::start_with(folder.path(), &["--root", "root"], &user);
    let names = server.json("v2/admin/list_sharelib");
    assert_eq!(names, serde_json::json!({"sharelib": [{"name": "hive"}, {"name": "pig"}]}));
    let files = server.json("v2/admin/list_sharelib?lib=pi.");
    let jar = "/share/lib/lib_20250101000000/pig/new.jar";
    let pig = serde_json::json!({"sharelib": [{"name": "pig", "files": [jar]}]});
    assert_eq!(files, pig);
    let updated = server.json("v2/admin/update_sharelib");
    assert_eq!(updated["sharelibUpdate"]["status"], "Successful");

    let xml = "content-type: application/xml\r\n";
    let dry = |path: &str, more: &str| {
        let body = format!(
            "<configuration><property><name>user.name</name><value>ann</value></property><property><name>{path}</name></property>{more}</configuration>"
        );
        server.ask(
            "POST",
            "v2/jobs?action=dryrun",
            xml,
            &body
                .replace("=", "</name><value>")
                .replace("</name></property>", "</value></property>"),
        )
    };
    let answer = dry("oozie.coord.application.path=/c", "");
    let shown: Value = serde_json::from_str(&answer.body).expect("JSON");
    let shown = shown["id"].as_str().unwrap_or_default();
    assert!(shown.contains("start=\"2026-01-01T00:00Z\""), "{shown}");
    assert!(
        shown.contains("freq_timeunit=\"MINUTE\"") && shown.contains("<concurrency>3<"),
        "{shown}"
    );
    assert!(shown.contains("<value>2026-01-01T00:00Z</value>"), "{shown}");
    let answer = dry("oozie.wf.application.path=/w", "");
    assert!(answer.status.starts_with("400"), "{}", answer.body);
    assert!(
        answer.body.contains("E0803: IO error, variable [place] cannot be resolved"),
        "{}",
        answer.body
    );
    let place = "<property><name>place=/out</name></property>";
    assert!(dry("oozie.wf.application.path=/w", place).body.contains("OK"));
    assert_eq!(server.json("v2/jobs")["total"], 0, "a dry run keeps nothing");
}

#[test]
fn alerts_of_a_coordinator_are_turned_off_and_on() {
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' xmlns:sla='uri:oozie:sla:0.2' name='late' frequency='${coord:days(1)}' start='2026-01-01T00:00Z' end='2026-01-03T00:00Z' timezone='UTC'><action><workflow><app-path>/apps/none</app-path></workflow><sla:info><sla:nominal-time>${coord:nominalTime()}</sla:nominal-time><sla:should-end>${10 * MINUTES}</sla:should-end></sla:info></action></coordinator-app>";
    let silent = coordinator.replace("2026-01-0", "2030-01-0");
    let without = silent.replace("<sla:info>", "<!--").replace("</sla:info>", "-->");
    let folder = folder(&[
        ("root/c/coordinator.xml", silent.as_str()),
        ("root/d/coordinator.xml", without.as_str()),
    ]);
    let server = Server::start(folder.path(), &["--root", "root"]);
    let xml = "content-type: application/xml\r\n";
    let submitted = |path: &str| {
        let body = format!(
            "<configuration><property><name>user.name</name><value>ann</value></property><property><name>oozie.coord.application.path</name><value>{path}</value></property></configuration>"
        );
        let answer = server.ask("POST", "v2/jobs?action=start", xml, &body);
        let id: Value = serde_json::from_str(&answer.body).expect("JSON");
        id["id"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
    };
    let id = submitted("/c");
    let ask = |rest: &str| server.ask("PUT", &format!("v2/job/{id}?action={rest}"), xml, "");
    let conf = || {
        let shown = server.json(&format!("v2/job/{id}?show=info"));
        shown["conf"].as_str().unwrap_or_default().to_owned()
    };
    for (rest, value) in [
        ("sla-disable&action-list=1,3-5", Some("1,3-5")),
        ("sla-enable&action-list=4", Some("1,3,5")),
        ("sla-disable", Some("ALL")),
        ("sla-enable", None),
    ] {
        let answer = ask(rest);
        assert!(answer.status.starts_with("200"), "{rest}: {}", answer.status);
        let conf = conf();
        match value {
            Some(value) => {
                assert!(conf.contains(&format!("<value>{value}</value>")), "{rest}: {conf}")
            }
            None => assert!(!conf.contains("disable.alerts"), "{rest}: {conf}"),
        }
    }
    assert!(ask("sla-disable&date=soon").head.contains("e1026"));
    assert!(ask("sla-change&value=colour%3D20").head.contains("e1027"));
    let id = submitted("/d");
    let answer = server.ask("PUT", &format!("v2/job/{id}?action=sla-disable"), xml, "");
    assert!(answer.head.contains("e1026") && answer.status.starts_with("400"), "{}", answer.head);
}

#[test]
fn expectations_of_workflows_actions_and_coordinators_are_listed_and_filtered() {
    let sla = |nominal: &str, end: &str| {
        format!(
            "<sla:info><sla:nominal-time>{nominal}</sla:nominal-time><sla:should-start>0</sla:should-start><sla:should-end>{end}</sla:should-end></sla:info>"
        )
    };
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' xmlns:sla='uri:oozie:sla:0.2' name='in-time'><start to='make'/><action name='make'><fs><mkdir path='hdfs://nn/made'/></fs><ok to='end'/><error to='end'/>{}</action><end name='end'/>{}</workflow-app>",
        sla("2020-01-01T00:00Z", "30"),
        sla("2090-01-01T00:00Z", "30")
    );
    let coordinator = format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' xmlns:sla='uri:oozie:sla:0.2' name='late' frequency='${{coord:days(1)}}' start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><action><workflow><app-path>/w</app-path></workflow>{}</action></coordinator-app>",
        sla("${coord:nominalTime()}", "10")
    );
    let folder = folder(&[
        ("root/w/workflow.xml", workflow.as_str()),
        ("root/c/coordinator.xml", coordinator.as_str()),
    ]);
    let server = Server::start(folder.path(), &["--root", "root"]);
    let submitted = |kind: &str, path: &str| {
        let body = format!(
            "<configuration><property><name>user.name</name><value>ann</value></property><property><name>oozie.{kind}.application.path</name><value>{path}</value></property></configuration>"
        );
        let xml = "content-type: application/xml\r\n";
        let answer = server.ask("POST", "v2/jobs?action=start", xml, &body);
        let id: Value = serde_json::from_str(&answer.body).expect("JSON");
        let id = id["id"].as_str().unwrap_or_else(|| panic!("{}", answer.body)).to_owned();
        server.waits(&id, "SUCCEEDED");
        id
    };
    let workflow = submitted("wf", "/w");
    let coordinator = submitted("coord", "/c");
    let list = |filter: &str| -> Vec<Value> {
        let filter = filter.replace('=', "%3D").replace(';', "%3B");
        let list = server.json(&format!("v2/sla?filter={filter}"));
        list["slaSummaryList"].as_array().expect("a list").clone()
    };
    let all = list("user_name=ann");
    // The workflow that the coordinator started has SLA expectations of its own, like the one that was submitted.
    assert_eq!(all.len(), 5, "{all:#?}");
    let of_job = list(&format!("id={workflow}"));
    assert_eq!(
        (of_job[0]["appType"].as_str(), of_job[0]["slaStatus"].as_str()),
        (Some("WORKFLOW_JOB"), Some("MET"))
    );
    assert_eq!(of_job[0]["eventStatus"], "START_MET,DURATION_MET,END_MET");
    assert!(of_job[0]["startDelay"].as_i64().is_some_and(|late| late < 0), "{of_job:?}");
    let of_action = list(&format!("id={workflow}@make"));
    assert_eq!(
        (of_action[0]["appName"].as_str(), of_action[0]["jobStatus"].as_str()),
        (Some("make"), Some("OK"))
    );
    assert_eq!(of_action[0]["eventStatus"], "START_MISS,DURATION_MET,END_MISS");
    assert_eq!(of_action[0]["parentId"], workflow.as_str());
    for (filter, count) in [
        (format!("id={workflow};parent_id={workflow}"), 2),
        (format!("parent_id={coordinator}"), 1),
        ("app_type=WORKFLOW_JOB".to_owned(), 2),
        ("app_name=in%25".to_owned(), 2),
        ("app_name=in".to_owned(), 0),
        ("nominal_after=2024-01-01T00:00Z".to_owned(), 3),
        ("nominal_after=2024-01-01T00:00Z;nominal_before=2024-12-31T00:00Z".to_owned(), 1),
        ("nominal_start=2080-01-01T00:00Z".to_owned(), 2),
        ("expectedend_before=2021-01-01T00:00Z".to_owned(), 2),
        ("created_before=2021-01-01T00:00Z".to_owned(), 0),
        ("actualend_after=2024-01-01T00:00Z".to_owned(), 5),
        ("event_status=END_MISS,START_MET".to_owned(), 5),
        ("event_status=END_MISS;sla_status=MISS".to_owned(), 3),
        ("expected_duration_min=1800000".to_owned(), 4),
        ("actual_duration_min=1800000".to_owned(), 0),
        ("job_status=OK".to_owned(), 2),
        ("bundle=none".to_owned(), 0),
    ] {
        assert_eq!(list(&filter).len(), count, "{filter}");
    }
    for filter in ["nominal_after%3Dsoon", "actual_duration_max%3Dlong"] {
        let answer = server.ask("GET", &format!("v2/sla?filter={filter}"), "", "");
        assert!(answer.head.contains("e0303"), "{filter}: {}", answer.head);
    }
}

const APPENDING: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="a"><start to="s"/><action name="s">
  <shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>sh</exec>
  <argument>-c</argument><argument>echo "$1" &gt;&gt; "$0"; sleep 2</argument><argument>RAN</argument><argument>${wf:id()}</argument></shell>
  <ok to="t"/><error to="k"/></action><action name="t">
  <shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>true</exec></shell>
  <ok to="e"/><error to="k"/></action><kill name="k"><message>m</message></kill><end name="e"/></workflow-app>"#;

/// While the disk is full, nothing is acknowledged and nothing ends; once there is space, everything goes on by itself.
#[test]
fn a_full_disk_is_waited_for() {
    let place = folder(&[]);
    let at = |name: &str| place.path().join(name);
    let app = at("root/apps/a");
    std::fs::create_dir_all(&app).expect("a folder");
    std::fs::create_dir(at("small")).expect("a folder");
    let text = APPENDING.replace("RAN", &at("ran").to_string_lossy());
    std::fs::write(app.join("workflow.xml"), text).expect("a file");
    let root = at("root").to_string_lossy().into_owned();
    let settings =
        format!("[hosts]\n\"hdfs://nn\" = \"{root}\"\n[launchers]\ndisk_floor = \"0\"\n");
    std::fs::write(at("user.toml"), settings).expect("a file");
    let script = "mount -t tmpfs -o size=4m tmpfs small || exit 1; \
         $ANKUS serve --listen 127.0.0.1:0 --store small/store & \
         until [ -e fill ]; do sleep 0.1; done; dd if=/dev/zero of=small/filler bs=4k 2> full; touch filled; \
         until [ -e free ]; do sleep 0.1; done; rm small/filler; \
         until [ -e end ]; do sleep 0.1; done; kill $!; wait $!";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
    command.current_dir(place.path()).env("ANKUS", env!("CARGO_BIN_EXE_ankus"));
    command.env("ANKUS_USER_CONFIG", at("user.toml")).env_remove("ANKUS_STORE");
    let mut server = match Server::spawned(command) {
        Ok(server) => server,
        Err(said) => {
            println!("skipped: no small disk can be mounted here ({said})");
            return;
        }
    };
    let first = server.id("v1/jobs?action=start", "a");
    // Its program runs, and ends while the disk is full.
    let ran = || std::fs::read_to_string(at("ran")).unwrap_or_default();
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let holds = (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            holds()
        });
        assert!(holds, "{what}");
    };
    until("the program runs", &|| !ran().is_empty());
    std::fs::write(at("fill"), "").expect("a file");
    until("the disk is full", &|| at("filled").exists());
    let refused = server.submit("v1/jobs?action=start", "a");
    assert!(refused.status.starts_with("503"), "{} {}", refused.status, refused.body);
    assert!(refused.body.contains("no room is left on the disk"), "{}", refused.body);
    assert!(refused.body.replace('\\', "").contains("small/store"), "{}", refused.body);
    let ready = || server.ask_at("GET", "/readyz", "", "").status;
    assert!(ready().starts_with("503"));
    assert!(server.ask_at("GET", "/healthz", "", "").status.starts_with("200"));
    // Longer than the wait for a store that refuses for another reason.
    std::thread::sleep(Duration::from_secs(7));
    assert!(ready().starts_with("503"));
    std::fs::write(at("free"), "").expect("a file");
    until("it is ready again", &|| ready().starts_with("200"));
    server.waits(&first, "SUCCEEDED");
    let second = server.id("v1/jobs?action=start", "a");
    server.waits(&second, "SUCCEEDED");
    assert_eq!(ran(), format!("{first}\n{second}\n"));
    std::fs::write(at("end"), "").expect("a file");
    server.child.wait().expect("it ends");
}

/// A bundle that is submitted and started with one request does not wait for its kick-off time; one that is only
/// submitted does.
#[test]
fn a_bundle_that_is_told_to_start_does_not_wait_for_its_kick_off() {
    let bundle = "<bundle-app xmlns='uri:oozie:bundle:0.2' name='b'><controls><kick-off-time>2090-01-01T00:00Z</kick-off-time></controls>\
        <coordinator name='one'><app-path>/b/c</app-path></coordinator></bundle-app>";
    let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='60' start='2090-01-01T00:00Z' end='2090-01-01T01:00Z' timezone='UTC'><action><workflow><app-path>/w</app-path></workflow></action></coordinator-app>";
    let folder =
        folder(&[("root/b/bundle.xml", bundle), ("root/b/c/coordinator.xml", coordinator)]);
    let server = Server::start(folder.path(), &["--root", "root"]);
    let body = "<configuration><property><name>user.name</name><value>ann</value></property><property><name>oozie.bundle.application.path</name><value>/b</value></property></configuration>";
    for (query, state, members) in [("", "PREP", 0), ("?action=start", "RUNNING", 1)] {
        let xml = "content-type: application/xml\r\n";
        let answer = server.ask("POST", &format!("v2/jobs{query}"), xml, body);
        let answer: Value = serde_json::from_str(&answer.body).expect("JSON");
        let id = answer["id"].as_str().expect("an id");
        std::thread::sleep(Duration::from_millis(300));
        let shown = server.json(&format!("v2/job/{id}"));
        let under = shown["bundleCoordJobs"].as_array().map_or(0, Vec::len);
        assert_eq!((shown["status"].as_str(), under), (Some(state), members), "{shown:#}");
        let configuration = shown["conf"].as_str().unwrap_or_default();
        assert!(!configuration.contains("ankus.run"), "{configuration}");
    }
}
