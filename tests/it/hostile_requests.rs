//! Requests that no client of ours sends, and what they must not reach, change or break.

use crate::cli::folder;
use crate::serve::{Server, accounts, apps};
use base64::Engine as _;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Sends bytes as they are. Returns the statuses of the answers, and the whole response.
fn sent(server: &Server, bytes: &[u8]) -> (Vec<u16>, String) {
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    // A refused connection may be closed while we write or read.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = |rest: &str| rest.get(..3).and_then(|code| code.parse().ok());
    (text.split("HTTP/1.1 ").skip(1).filter_map(status).collect(), text)
}

#[test]
fn a_request_is_one_request_for_one_host() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    let here = format!("Host: {}\r\n", server.address);
    let second = format!("GET /oozie/v2/admin/second HTTP/1.1\r\n{here}\r\n");
    let get = |line: &str, headers: &str| {
        sent(&server, format!("{line}\r\n{headers}Connection: close\r\n\r\n").as_bytes())
    };
    let line = "GET /oozie/v2/admin/status HTTP/1.1";
    assert_eq!(get(line, &here).0, [200]);
    assert_eq!(get("GET /oozie/v2/admin/status HTTP/1.0", "").0.len(), 0, "answered as HTTP/1.0");
    // The host name must be an allowed one wherever it is given.
    for (line, headers) in [
        (line, String::new()),
        (line, format!("{here}Host: evil.example\r\n")),
        (line, format!("Host: evil.example\r\n{here}")),
        ("GET http://evil.example/oozie/v2/admin/status HTTP/1.1", here.clone()),
        ("GET http://localhost@evil.example/oozie/v2/admin/status HTTP/1.1", here.clone()),
        (
            "GET http://localhost/oozie/v2/admin/status HTTP/1.1",
            "Host: evil.example\r\n".to_owned(),
        ),
        (line, "Host: evil.example@localhost\r\n".to_owned()),
        (line, "Host: localhost/evil\r\n".to_owned()),
        (line, "Host: evil.example\r\n".to_owned()),
        (line, "Host:\r\n".to_owned()),
    ] {
        let (statuses, text) = get(line, &headers);
        assert!(matches!(statuses[..], [400 | 403]), "{line} {headers}: {text}");
    }
    let absolute = format!("GET http://{}/oozie/v2/admin/status HTTP/1.1", server.address);
    assert_eq!(get(&absolute, &here).0, [200]);
    // A request that another server could take for two (request smuggling) gets no second answer.
    let post = format!("POST /oozie/v2/jobs HTTP/1.1\r\n{here}");
    for head in [
        format!(
            "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            second.len() + 5
        ),
        format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n", second.len()),
        format!("Content-Length: 0, {}\r\n\r\n", second.len()),
        "Content-Length: +0\r\n\r\n".to_owned(),
        "Content-Length : 0\r\n\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "X-A: b\r\n Content-Length: 5\r\n\r\n".to_owned(),
        "X-A: b\rX-B: c\r\n\r\n".to_owned(),
        "X-A: b\0c\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\n\r\n-1\r\nZ\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nZ\r\n0\r\n\r\n".to_owned(),
    ] {
        let (statuses, text) = sent(&server, format!("{post}{head}{second}").as_bytes());
        assert!(matches!(statuses[..], [] | [400]), "{head:?}: {statuses:?} {text}");
    }
    let long = format!("{post}Content-Length: 11000000\r\nContent-Type: application/xml\r\n\r\n");
    let long = [long.into_bytes(), vec![b'x'; 11_000_000]].concat();
    assert!(matches!(sent(&server, &long).0[..], [] | [413]));
    let upgrade = format!(
        "{here}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    assert_eq!(get(line, &upgrade).0, [200], "nothing is upgraded");
    let flood: String = (0..5_000).map(|at| format!("X-{at}: y\r\n")).collect();
    assert!(matches!(get(line, &format!("{here}{flood}")).0[..], [] | [431 | 400]));
    for method in ["POST", "DELETE", "TRACE", "FOO"] {
        assert!(server.ask_at(method, "/healthz", "", "").status.starts_with("405"), "{method}");
    }
    assert_eq!(server.ask_at("GET", "/healthz", "", "").status, "200 OK");
}

/// Texts of jobs are displayed as text on every page, and no browser has to guess the content type.
#[test]
fn texts_of_jobs_stay_texts() {
    let attack = "\"><script>owned()</script><img src=x onerror=owned()>'";
    let escaped = attack.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let escaped = escaped.replace('"', "&quot;").replace('\'', "&apos;");
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w{escaped}'><start to='sh'/><action name='sh'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>sh</exec><argument>-c</argument><argument>echo \"k=$0\"; echo \"$0\" &gt;&amp;2; exit 1</argument><argument>{escaped}</argument><env-var>E={escaped}</env-var><capture-output/></shell><ok to='end'/><error to='bad'/></action><kill name='bad'><message>{escaped} ${{wf:errorMessage('sh')}}</message></kill><end name='end'/></workflow-app>"
    );
    let coordinator = format!(
        "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c{escaped}' frequency='${{coord:days(1)}}' start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/apps/w</app-path><configuration><property><name>n{escaped}</name><value>{escaped}</value></property></configuration></workflow></action></coordinator-app>"
    );
    let bundle = format!(
        "<bundle-app xmlns='uri:oozie:bundle:0.2' name='b{escaped}'><coordinator name='one{escaped}'><app-path>hdfs://nn/apps/c</app-path></coordinator></bundle-app>"
    );
    let folder = folder(&[
        (".ankus/root/apps/w/workflow.xml", &workflow),
        (".ankus/root/apps/c/coordinator.xml", &coordinator),
        (".ankus/root/apps/b/bundle.xml", &bundle),
    ]);
    let server = Server::start(folder.path(), &[]);
    let mut jobs = Vec::new();
    for (kind, app, ends) in
        [("wf", "w", "KILLED"), ("coord", "c", "KILLED"), ("bundle", "b", "KILLED")]
    {
        let body = format!(
            "<configuration><property><name>user.name</name><value>u{escaped}</value></property><property><name>x{escaped}</name><value>{escaped}</value></property><property><name>group.name</name><value>{escaped}</value></property><property><name>oozie.{kind}.application.path</name><value>hdfs://nn/apps/{app}</value></property></configuration>"
        );
        let xml = "content-type: application/xml\r\n";
        let made = server.ask("POST", "v2/jobs?action=start", xml, &body);
        let id: serde_json::Value =
            serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
        let id = id["id"].as_str().unwrap_or_else(|| panic!("{}", made.body)).to_owned();
        server.waits(&id, ends);
        jobs.push(id);
    }
    let plain = "%22%3E%3Cscript%3Eowned%28%29%3C/script%3E";
    let mut pages: Vec<String> = ["", "?kind=coord", "?kind=bundle", "estate", "metrics", "submit"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    for form in [
        "?text=",
        "?user=",
        "?status=",
        "?sort=",
        "?said=",
        "submit?path=",
        "job?id=",
        "action?id=",
        "rerun?id=",
        "",
        "v2/job/",
        "v2/jobs?filter=name%3D",
        "v2/admin/",
    ] {
        pages.push(format!("{form}{plain}"));
    }
    for id in &jobs {
        for tab in ["", "&tab=definition", "&tab=log", "&tab=configuration"] {
            pages.push(format!("job?id={id}{tab}"));
        }
        for show in [
            "info",
            "definition",
            "log",
            "errorlog",
            "auditlog",
            "graph&format=svg",
            "graph&format=dot",
        ] {
            pages.push(format!("v2/job/{id}?show={show}"));
        }
        pages.extend([
            format!("rerun?id={id}"),
            format!("action?id={id}@1"),
            format!("action?id={id}@sh"),
            format!("action?id={id}@{plain}"),
        ]);
    }
    let mut seen = 0;
    for page in pages {
        let answer = server.ask("GET", &page, "", "");
        assert!(!answer.status.starts_with("500"), "{page}: {} {}", answer.status, answer.body);
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{page}: {}", answer.head);
        let kind = answer.head.lines().find_map(|line| line.strip_prefix("content-type: "));
        let kind = kind.unwrap_or_default();
        if kind.contains("html") || kind.contains("svg") {
            assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{page}");
            assert!(
                !answer.body.contains("<script>") && !answer.body.contains("<img src=x"),
                "{page}: {}",
                answer.body
            );
        }
        seen += usize::from(answer.body.contains("owned()"));
    }
    assert!(seen > 30, "the texts are shown: {seen}");
    assert!(server.ask("GET", "v2/admin/list_sharelib?lib=%5Cc", "", "").status.starts_with("4"));
}

/// A workflow may claim in its properties to belong to any coordinator; that changes nothing there.
#[test]
fn a_claimed_parent_hears_nothing() {
    let slow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='slow'><start to='wait'/><action name='wait'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node><exec>sleep</exec><argument>120</argument></shell><ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    let daily = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='daily' frequency='${coord:days(1)}' start='2024-01-01T00:00Z' end='2024-01-02T00:00Z' timezone='UTC'><action><workflow><app-path>hdfs://nn/apps/slow</app-path></workflow></action></coordinator-app>";
    let folder = folder(&[
        (".ankus/root/apps/slow/workflow.xml", slow),
        (".ankus/root/apps/daily/coordinator.xml", daily),
    ]);
    let server = Server::start(folder.path(), &[]);
    let starts = |properties: &[(&str, &str)]| {
        let property = |(name, value): &(&str, &str)| {
            format!("<property><name>{name}</name><value>{value}</value></property>")
        };
        let all: String = properties.iter().map(property).collect();
        let body = format!("<configuration>{all}</configuration>");
        let xml = "content-type: application/xml\r\n";
        let made = server.ask("POST", "v2/jobs?action=start", xml, &body);
        let id: serde_json::Value =
            serde_json::from_str(&made.body).unwrap_or_else(|_| panic!("{}", made.body));
        id["id"].as_str().unwrap_or_else(|| panic!("{}", made.body)).to_owned()
    };
    let own = [("user.name", "ann"), ("oozie.coord.application.path", "hdfs://nn/apps/daily")];
    let coordinator = starts(&own);
    let action = format!("{coordinator}@1");
    let state = || {
        let job = server.json(&format!("v2/job/{coordinator}?show=info"));
        job["actions"][0]["status"].as_str().unwrap_or_default().to_owned()
    };
    let began = std::time::Instant::now();
    while state() != "RUNNING" {
        assert!(began.elapsed() < Duration::from_secs(120), "{}", state());
        std::thread::sleep(Duration::from_millis(50));
    }
    let claims = [
        ("user.name", "eve"),
        ("oozie.wf.application.path", "hdfs://nn/apps/slow"),
        ("oozie.wf.parent.id", action.as_str()),
    ];
    let workflow = starts(&claims);
    server.waits(&workflow, "RUNNING");
    for (command, wanted) in [("suspend", "SUSPENDED"), ("resume", "RUNNING"), ("kill", "KILLED")] {
        let path = format!("v2/job/{workflow}?action={command}");
        assert_eq!(server.ask("PUT", &path, "", "").status, "200 OK");
        server.waits(&workflow, wanted);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(state(), "RUNNING", "after {command}");
    }
    server.ask("PUT", &format!("v2/job/{coordinator}?action=kill"), "", "");
    server.waits(&coordinator, "KILLED");
}

fn basic(text: &str) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("authorization: Basic {encoded}\r\n")
}

/// Checking a password takes time. Clients that guess passwords wait for each other, only so many of them may wait, and
/// clients with a token wait for none of them.
#[test]
fn many_wrong_passwords_hold_up_nobody_else() {
    const GUESSES: usize = 70;
    // One is being verified, and `WAITING` of the server wait for that.
    const REFUSED: usize = GUESSES - 65;
    let folder = apps();
    let token = accounts(folder.path(), "");
    // To verify this user's password takes longer than the test, whatever else the machine does.
    let path = folder.path().join("accounts.toml");
    let text = std::fs::read_to_string(&path).expect("it was written");
    let slow = "[users]\nslow = '$argon2id$v=19$m=8,t=4000000000,p=1$c29tZSBzYWx0IG9mIG91cnM$1bGEbDiHkVNpWzHEGNcvVbdFAnD9L3uRvDPSXtZ+Qd4'\n";
    std::fs::write(&path, text.replace("[users]\n", slow)).expect("writable");
    let how = ["--auth", "basic,token", "--accounts", "accounts.toml"];
    let server = Server::start(folder.path(), &how);
    let guess = |at: usize| {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        let (host, header) = (&server.address, basic(&format!("slow:{at}")));
        let request = format!("GET /oozie/v2/jobs HTTP/1.1\r\nhost: {host}\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream.set_nonblocking(true).expect("it is a socket");
        stream
    };
    let mut guesses: Vec<TcpStream> = (0..GUESSES).map(guess).collect();
    let mut refused = 0;
    let began = std::time::Instant::now();
    let mut look = |refused: &mut usize| {
        guesses.retain_mut(|stream| {
            let mut status = [0; 12];
            let Ok(read) = stream.read(&mut status) else { return true };
            assert_eq!(String::from_utf8_lossy(&status[..read]), "HTTP/1.1 503");
            *refused += 1;
            false
        });
    };
    while refused < REFUSED {
        assert!(began.elapsed() < Duration::from_secs(120), "{refused} guesses are refused");
        std::thread::sleep(Duration::from_millis(10));
        look(&mut refused);
    }
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert_eq!(server.ask("GET", "v2/jobs", &bearer, "").status, "200 OK");
    look(&mut refused);
    assert_eq!(refused, REFUSED, "a guess was answered, or more than the server says may wait");
    drop(server);

    // Whoever waits is answered in turn.
    let server = Server::start(folder.path(), &how);
    let statuses: Vec<String> = std::thread::scope(|scope| {
        let ask = |at: usize| {
            let password = if at == 7 { "s3cret".to_owned() } else { at.to_string() };
            server.ask("GET", "v2/jobs", &basic(&format!("ann:{password}")), "").status
        };
        let asked: Vec<_> = (0..10).map(|at| scope.spawn(move || ask(at))).collect();
        asked.into_iter().map(|asked| asked.join().expect("an answer")).collect()
    });
    for (at, status) in statuses.iter().enumerate() {
        let wanted = if at == 7 { "200" } else { "401" };
        assert!(status.starts_with(wanted), "{at}: {status}");
    }
}

/// Large bodies that never end take the memory of only a few, and small requests are answered meanwhile.
#[test]
fn bodies_that_never_end_take_little_memory() {
    let folder = apps();
    let server = Server::start(folder.path(), &[]);
    let before = server.resident_kb();
    let head = format!(
        "POST /oozie/v2/jobs HTTP/1.1\r\nHost: {}\r\nContent-Type: application/xml\r\nContent-Length: 9000000\r\n\r\n",
        server.address
    );
    let open = |_| {
        let mut stream = TcpStream::connect(&server.address).expect("it listens");
        stream.set_write_timeout(Some(Duration::from_secs(1))).expect("a time-out");
        stream.write_all(head.as_bytes()).expect("it reads heads");
        // Most of it is not read.
        let _ = stream.write_all(&vec![b'x'; 8_000_000]);
        stream
    };
    let streams: Vec<TcpStream> = std::thread::scope(|scope| {
        let opened: Vec<_> = (0..60).map(|at| scope.spawn(move || open(at))).collect();
        opened.into_iter().map(|stream| stream.join().expect("a connection")).collect()
    });
    assert_eq!(server.ask("GET", "v2/admin/status", "", "").status, "200 OK");
    let id = server.id("v2/jobs?action=start", "tidy");
    if let (Some(before), Some(now)) = (before, server.resident_kb()) {
        // All of them together are 480 MB; twelve places hold 10 MB each, and growing needs as much again for a moment.
        assert!(now - before < 280 << 10, "{} MB more with open bodies", (now - before) >> 10);
    }
    drop(streams);
    server.waits(&id, "SUCCEEDED");
}
