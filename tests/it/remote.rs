//! `ankus job --url`: the requests to a server, and how its answers are displayed.

use crate::run::{ankus, text};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc;

/// A received request: the request line, the headers by lower-case name, and the body.
struct Asked {
    line: String,
    headers: BTreeMap<String, String>,
    body: String,
}

/// A server with these answers (status, headers, body) to requests whose request lines have these prefixes; all others
/// get 404.
fn serve(
    answers: &'static [(&'static str, u16, &'static str, &'static str)],
) -> (String, mpsc::Receiver<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("{}/oozie", listener.local_addr().expect("an address"));
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(stream.try_clone().expect("a handle"));
            let mut asked =
                Asked { line: String::new(), headers: BTreeMap::new(), body: String::new() };
            let _ = lines.read_line(&mut asked.line);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 2) {
                if let Some((name, value)) = line.trim_end().split_once(": ") {
                    asked.headers.insert(name.to_lowercase(), value.to_owned());
                }
                line.clear();
            }
            let length = asked.headers.get("content-length").and_then(|it| it.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = lines.read_exact(&mut body);
            asked.body = String::from_utf8_lossy(&body).into_owned();
            let answer = answers.iter().find(|(start, ..)| asked.line.starts_with(start));
            let (_, status, headers, body) = answer.unwrap_or(&("", 404, "", ""));
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
            );
            if tell.send(asked).is_err() {
                return;
            }
        }
    });
    (url, told)
}

const ID: &str = "0000002-261121033243558-oozie-eng-W";
const JOB: &str = r#"{"appPath":"file:\/\/\/APPS\/ok","appName":"ok-wf","id":"0000002-261121033243558-oozie-eng-W","parentId":null,
"status":"KILLED","createdTime":"Sat, 21 Nov 2026 03:34:01 GMT","startTime":"Sat, 21 Nov 2026 03:34:02 GMT","endTime":"Sat, 21 Nov 2026 03:34:05 GMT",
"user":"tester","run":0,"actions":[
{"id":"x@:start:","name":":start:","type":":START:","status":"OK","transition":"load","startTime":"Sat, 21 Nov 2026 03:34:02 GMT","endTime":"Sat, 21 Nov 2026 03:34:02 GMT","errorCode":null,"errorMessage":null,"data":null},
{"id":"x@load","name":"load","type":"java","status":"ERROR","transition":"fail","startTime":"Sat, 21 Nov 2026 03:34:02 GMT","endTime":"Sat, 21 Nov 2026 03:34:04 GMT","errorCode":"JA018","errorMessage":"no\u001b[31m such file","data":null}]}"#;

fn ask(url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = ankus(Path::new("."), &[&["job"], arguments].concat());
    command.env_remove("ANKUS_STORE").env("USER", "ann b").env("OOZIE_URL", url);
    command.envs(variables.iter().copied());
    let output = command.output().expect("it runs");
    (output.status.code(), text(&output))
}

#[test]
fn jobs_of_a_server_are_listed_and_shown() {
    let (url, asked) = serve(&[
        (
            "GET /oozie/v2/jobs?jobtype=wf",
            200,
            "",
            r#"{"workflows":[{"id":"0000002-261121033243558-oozie-eng-W","appName":"ok-wf","status":"KILLED","createdTime":"Sat, 21 Nov 2026 03:34:01 GMT","parentId":null}],"total":1,"offset":1,"len":50}"#,
        ),
        (
            "GET /oozie/v2/jobs?jobtype=coord",
            200,
            "",
            r#"{"coordinatorjobs":[{"coordJobId":"1-C","coordJobName":"days","status":"RUNNING","createdTime":"Sun, 22 Nov 2026 03:34:01 GMT","bundleId":"2-B"}],"total":1,"offset":1,"len":50}"#,
        ),
        (
            "GET /oozie/v2/jobs?jobtype=bundle",
            400,
            "oozie-error-code: E0420\r\noozie-error-message: E0420: Invalid jobs filter [x]\r\n",
            "",
        ),
        ("GET /oozie/v2/job/0000002-261121033243558-oozie-eng-W?", 200, "", JOB),
    ]);
    let url = format!("http://{url}/");
    let (code, said) = ask(&url, &["list", "--filter", "status=killed;name=a b&c"], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(
        said,
        format!(
            "RUNNING    2026-11-22T03:34:01  1-C  days\nKILLED     2026-11-21T03:34:01  {ID}  ok-wf\n"
        )
    );
    let first = asked.recv().expect("a request");
    assert_eq!(
        first.line.trim_end(),
        "GET /oozie/v2/jobs?jobtype=wf&offset=1&len=100&filter=status%3DKILLED%3Bname%3Da%20b%26c&user.name=ann%20b HTTP/1.1"
    );
    let (code, said) = ask(&url, &["show", "latest"], &[]);
    assert_eq!(code, Some(0), "{said}");
    for line in [
        format!("{ID} ok-wf (KILLED)"),
        "  path     file:///APPS/ok".to_owned(),
        "  took     3.0 s".to_owned(),
        "  :start:  start        OK -> load".to_owned(),
        "  load     java         ERROR -> fail  (2.0 s)".to_owned(),
    ] {
        assert!(said.lines().any(|said| said == line), "{line}\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "{said:?}");
    let (code, said) = ask(&url, &["show", "unknown"], &[]);
    assert_eq!((code, said.contains("the server answered 404")), (Some(2), true), "{said}");
    let (code, said) = ask("http://127.0.0.1:1/oozie", &["list"], &[]);
    assert_eq!((code, said.contains("does not answer")), (Some(2), true), "{said}");
    let (code, said) = ask("ftp://x", &["list", "--store", "nowhere"], &[]);
    assert_eq!((code, said.contains("there is no store")), (Some(2), true), "{said}");
}

#[test]
fn commands_reach_a_server_with_who_asks() {
    let (url, asked) = serve(&[
        ("PUT /oozie/v2/job/1-W?action=kill", 200, "", ""),
        ("GET /oozie/v2/job/1-W?show=status", 200, "", r#"{"status":"KILLED"}"#),
        ("PUT /oozie/v2/job/1-W?action=rerun", 200, "", ""),
        (
            "PUT /oozie/v2/job/1-C?action=kill&type=action&scope=1%2C3-4",
            200,
            "",
            r#"{"actions":[{"id":"1-C@1","status":"KILLED"}]}"#,
        ),
        (
            "PUT /oozie/v2/job/2-W?action=suspend",
            400,
            "oozie-error-code: E0603\r\noozie-error-message: E0603: SQL error in operation, [2-W]\r\n",
            "",
        ),
        ("GET /oozie/v2/job/3-W?", 401, "WWW-Authenticate: Negotiate\r\n", ""),
    ]);
    let plain = format!("http://{url}");
    let (code, said) = ask(&plain, &["kill", "1-W"], &[]);
    assert_eq!((code, said.as_str()), (Some(0), "KILLED 1-W\n"));
    let (code, said) = ask(&plain, &["kill", "1-C", "--action", "1,3-4"], &[]);
    assert_eq!((code, said.as_str()), (Some(0), "KILLED 1-C@1\n"));
    let (code, said) = ask(&plain, &["suspend", "2-W"], &[]);
    assert_eq!((code, said.contains("E0603: SQL error")), (Some(2), true), "{said}");
    let (code, said) = ask(&plain, &["show", "3-W"], &[]);
    assert_eq!((code, said.contains("requires authentication")), (Some(2), true), "{said}");
    drop(asked.try_iter().collect::<Vec<_>>());
    // A password is sent in a header and appears in no message.
    let named = format!("http://joe:se%40cret@{url}");
    let (code, said) = ask(&named, &["rerun", "1-W", "--failed", "-D", "a=<b>"], &[]);
    assert_eq!((code, said.as_str()), (Some(0), "KILLED 1-W\n"));
    let rerun = asked.recv().expect("a request");
    assert!(!rerun.line.contains("joe"), "{}", rerun.line);
    assert_eq!(rerun.headers["authorization"], "Basic am9lOnNlQGNyZXQ=");
    for part in
        ["<name>a</name><value>&lt;b&gt;</value>", "oozie.wf.rerun.failnodes</name><value>true"]
    {
        assert!(rerun.body.contains(part), "{}", rerun.body);
    }
    let (code, said) = ask("http://joe:se%40cret@127.0.0.1:1/oozie", &["list"], &[]);
    assert_eq!(code, Some(2));
    assert!(!said.contains("cret"), "{said}");
    let (_, _) = ask(&plain, &["show", "3-W"], &[("ANKUS_TOKEN", "t0ken")]);
    let last = asked.try_iter().last().expect("a request");
    assert_eq!(last.headers["authorization"], "Bearer t0ken");
}
