//! The console of `ankus serve`: pages, forms, events and uploads over HTTP, and all of it in a real browser.

use crate::cli::folder;
use crate::serve::Server;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Markup that would run a script or load something if it were interpreted as more than text.
const ATTACK: &str = "&quot;&gt;&lt;script&gt;owned&lt;/script&gt;&lt;img src=x onerror=owned&gt;";

fn hostile() -> String {
    format!(
        r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="x{ATTACK}"><start to="make"/><action name="make"><fs><mkdir path="hdfs://nn/{ATTACK}"/></fs><ok to="end"/><error to="failed"/></action><kill name="failed"><message>{ATTACK}</message></kill><end name="end"/></workflow-app>"#
    )
}

const SLOW: &str = r#"<workflow-app xmlns="uri:oozie:workflow:1.0" name="slow">
  <start to="wait"/>
  <action name="wait"><shell xmlns="uri:oozie:shell-action:1.0"><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn:8020</name-node><exec>sleep</exec><argument>300</argument></shell><ok to="end"/><error to="failed"/></action>
  <kill name="failed"><message>it failed</message></kill>
  <end name="end"/>
</workflow-app>
"#;

/// The form token of a server.
fn token(server: &Server) -> String {
    let page = server.ask("GET", "", "", "").body;
    let (_, rest) = page.split_once("name=\"token\" value=\"").expect("a form");
    rest.split('"').next().expect("a token").to_owned()
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(*name, options).expect("a name");
        zip.write_all(text.as_bytes()).expect("memory");
    }
    zip.finish().expect("memory").into_inner()
}

/// Uploads an archive. Returns the status line and the body of the answer.
fn upload(server: &Server, name: &str, token: &str, zip: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let head = format!(
        "POST /oozie/upload?name={name} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nx-ankus-token: {token}\r\ncontent-length: {}\r\n\r\n",
        server.address,
        zip.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    stream.write_all(zip).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    (head.lines().next().unwrap_or_default().to_owned(), body.to_owned())
}

#[test]
fn pages_show_jobs_and_load_nothing_from_elsewhere() {
    let folder = folder(&[(".ankus/root/apps/hostile/workflow.xml", &hostile())]);
    let server = Server::start(folder.path(), &[]);
    let id = server.id("v2/jobs?action=start", "hostile");
    server.waits(&id, "SUCCEEDED");
    let pages = [
        String::new(),
        format!("job?id={id}"),
        format!("job?id={id}&tab=definition"),
        format!("job?id={id}&tab=log"),
        format!("job?id={id}&tab=configuration"),
        format!("action?id={id}@make"),
        format!("rerun?id={id}"),
        "submit".to_owned(),
        "submit?path=/apps/hostile".to_owned(),
        "estate".to_owned(),
        "metrics".to_owned(),
        "?text=%3Cscript%3E&user=%22%3E%3Cimg+src%3Dx%3E".to_owned(),
    ];
    for page in &pages {
        let answer = server.ask("GET", page, "", "");
        assert!(answer.status.starts_with("200"), "{page}: {} {}", answer.status, answer.body);
        assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{page}");
        let body = answer.body.to_lowercase();
        assert!(!body.contains("<script>") && !body.contains("<img src=x"), "{page}: {body}");
        assert!(!body.contains("style="), "{page}: the policy lets no style in");
    }
    assert!(server.ask("GET", "action?id=0-W@x", "", "").status.starts_with("404"));
    assert!(server.ask("GET", "job?id=0-W", "", "").body.contains("Job does not exist"));
    // For an unknown address, a browser gets a page; a client of the web services gets their answer.
    let browser = "accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    for (address, style) in [
        ("nowhere", "href=\"console.css\""),
        ("nowhere/", "href=\"../console.css\""),
        ("no/where", "href=\"../console.css\""),
    ] {
        let page = server.ask("GET", address, browser, "");
        assert!(page.status.starts_with("404") && page.body.contains(style), "{}", page.body);
        assert!(page.head.contains("content-security-policy: default-src 'none'"), "{address}");
        assert!(page.body.contains("There is no page at this address."), "{}", page.body);
        assert!(!server.ask("GET", address, "", "").body.contains("<html"), "{address}");
    }
    assert!(!server.ask("GET", "v2/nowhere", browser, "").body.contains("<html"));
    let zip = server.ask("GET", &format!("diagnostics?id={id}"), "", "").head;
    assert!(zip.contains("content-type: application/zip"), "{zip}");
    // A relative address, so that it is right below any path of a proxy.
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    let request =
        format!("GET /oozie HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    assert!(text.contains("Location: oozie/\r\n"), "{text}");
}

/// Users look at these, or pass them on. The web service returns a definition as it was submitted.
#[test]
fn pages_and_parcels_show_no_secret_of_a_definition() {
    let workflow = "<workflow-app xmlns='uri:oozie:workflow:1.0' name='keeps'><start to='one'/><action name='one'>\
        <shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
        <configuration><property><name>db.password</name><value>topsecret1</value></property></configuration><exec>true</exec>\
        <argument>--token</argument>\n<argument>topsecret2</argument><env-var>DB_PASSWORD=topsecret3</env-var></shell>\
        <ok to='end'/><error to='end'/></action><end name='end'/></workflow-app>";
    let folder = folder(&[(".ankus/root/apps/keeps/workflow.xml", workflow)]);
    let server = Server::start(folder.path(), &[]);
    let id = server.id("v2/jobs?action=start", "keeps");
    server.waits(&id, "SUCCEEDED");
    for page in ["job?tab=definition&", "action?", "diagnostics?"] {
        let job = if page == "action?" { format!("{id}@one") } else { id.clone() };
        let shown = server.ask("GET", &format!("{page}id={job}"), "", "").body;
        assert!(shown.contains("DB_PASSWORD=***"), "{page}: {shown}");
        assert!(!shown.contains("topsecret"), "{page}: {shown}");
    }
    let as_submitted = server.ask("GET", &format!("v2/job/{id}?show=definition"), "", "").body;
    assert_eq!(as_submitted, workflow);
}

#[test]
fn forms_and_uploads_count_only_from_its_own_pages() {
    let folder = folder(&[(".ankus/root/apps/slow/workflow.xml", SLOW)]);
    let server = Server::start(folder.path(), &[]);
    let id = server.id("v2/jobs", "slow");
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    let form = |token: &str| format!("token={token}&id={id}&action=kill");
    let foreign = format!("{kind}origin: http://evil.example\r\nsec-fetch-site: cross-site\r\n");
    let token = token(&server);
    for (headers, token) in [(kind, "0"), (foreign.as_str(), token.as_str())] {
        let answer = server.ask("POST", "act", headers, &form(token));
        assert!(answer.status.starts_with("403"), "{}", answer.status);
    }
    server.waits(&id, "PREP");
    let done = server.ask("POST", "act", kind, &form(&token));
    assert!(done.status.starts_with("303"), "{} {}", done.status, done.body);
    server.waits(&id, "KILLED");

    let zip = archive(&[("slow/workflow.xml", SLOW), ("slow/lib/a.txt", "a")]);
    assert!(upload(&server, "mine", "0", &zip).0.contains(" 403 "));
    let (status, path) = upload(&server, "mine", &token, &zip);
    assert_eq!((status.as_str(), path.as_str()), ("HTTP/1.1 200 OK", "/uploads/mine"));
    let root = folder.path().join(".ankus/root");
    assert_eq!(std::fs::read_to_string(root.join("uploads/mine/lib/a.txt")).expect("there"), "a");
    assert!(server.ask("GET", "submit?path=/uploads/mine", "", "").body.contains(">slow<"));
    assert!(upload(&server, "mine", &token, &zip).0.contains(" 409 "));
    for name in ["", "..", ".hidden", "a%2Fb", "a%00"] {
        let (status, why) = upload(&server, name, &token, &zip);
        assert!(status.contains(" 400 "), "{name}: {status} {why}");
    }
    let climbs = archive(&[("../../../out.txt", "x")]);
    let broken = b"PK no archive at all".as_slice();
    for (name, zip) in [("climbs", climbs.as_slice()), ("broken", broken)] {
        let (status, why) = upload(&server, name, &token, zip);
        assert!(status.contains(" 400 "), "{name}: {status} {why}");
    }
    let left: Vec<_> = std::fs::read_dir(root.join("uploads")).expect("there").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!root.join("out.txt").exists() && !folder.path().join("out.txt").exists());
}

#[test]
fn events_tell_what_happens_until_the_server_ends() {
    let folder = folder(&[(".ankus/root/apps/hostile/workflow.xml", &hostile())]);
    let server = Server::start(folder.path(), &[]);
    let id = server.id("v2/jobs", "hostile");
    let mut stream = TcpStream::connect(&server.address).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    let request =
        format!("GET /oozie/events?job={id} HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut told = String::new();
    let mut until = |wanted: &str| {
        let mut bytes = [0; 4096];
        while !told.contains(wanted) {
            let length = stream.read(&mut bytes).expect("in time");
            assert_ne!(length, 0, "{told}");
            told.push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    };
    until("text/event-stream");
    until("retry:");
    server.ask("PUT", &format!("v2/job/{id}?action=start"), "", "");
    until(&format!("\"id\":\"{id}@make\",\"status\":\"OK\""));
    until("\"status\":\"SUCCEEDED\"");
    let absent = server.ask("GET", "events?job=0-W", "", "");
    assert!(absent.status.starts_with("400"), "{}", absent.status);
}

/// Packages from npm, fetched once if a registry is available.
fn packages(names: &[&str]) -> Option<PathBuf> {
    let place = crate::root().join("target/browser");
    let modules = place.join("node_modules");
    if names.iter().all(|name| modules.join(name).is_dir()) {
        return Some(modules);
    }
    std::fs::create_dir_all(&place).expect("writable");
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix"]);
    let installed = npm.arg(&place).args(names).output();
    match installed {
        Ok(output) if output.status.success() => Some(modules),
        Ok(output) => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
            None
        }
        Err(error) => {
            println!("skipped: npm: {error}");
            None
        }
    }
}

#[test]
fn a_browser_goes_through_every_page() {
    let Some(browser) = crate::browser::browser() else { return };
    let Some(modules) = packages(&["playwright-core", "axe-core"]) else { return };
    let flood = crate::root().join("fixtures/projects/flood-watch");
    let folder = folder(&[(".ankus/root/apps/slow/workflow.xml", SLOW)]);
    copied(&flood, &folder.path().join(".ankus/root/apps/flood-watch"));
    let server = Server::start(folder.path(), &[]);
    let mut session = Command::new("node");
    session.arg(crate::root().join("console/tests/browser/session.mjs"));
    // The same session takes the screenshots for `docs/`.
    session.args(std::env::var_os("ANKUS_SCREENSHOTS"));
    session.env("CONSOLE", format!("http://{}/oozie/", server.address));
    session.env("PLAYWRIGHT", modules.join("playwright-core"));
    session.env("AXE", modules.join("axe-core/axe.min.js"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|folder| folder.join(browser));
    session.env("CHROMIUM", found.into_iter().find(|path| path.is_file()).expect("it started"));
    session.env("FLOOD", "/apps/flood-watch").env("SLOW", "/apps/slow");
    let output = session.output().expect("node starts");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}

fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("writable");
    for entry in std::fs::read_dir(from).expect("there").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.path().is_dir() {
            true => copied(&from, &to),
            false => drop(std::fs::copy(&from, &to).expect("writable")),
        }
    }
}
