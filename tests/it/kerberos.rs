//! `ankus serve --auth kerberos`, and clusters that require Kerberos, with a real KDC (Debian's krb5-kdc,
//! krb5-admin-server and krb5-user), `curl --negotiate` and the real `oozie` client. If one of them is missing, the test
//! reports that it is skipped.

use crate::oozie_client::jars;
use crate::serve::{Server, apps};
use ankus_access::{kerberos::Acceptor, keytab::Keytab};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A KDC with two realms that trust each other.
struct Kdc {
    child: Child,
    folder: PathBuf,
}

/// The first tool that is not on `PATH`, if there is one.
fn missing(tools: &[&str]) -> Option<String> {
    let places: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let is_there = |tool: &&&str| places.iter().any(|place| place.join(tool).exists());
    tools.iter().find(|tool| !is_there(tool)).map(|tool| (*tool).to_owned())
}

impl Kdc {
    fn start(folder: &Path) -> Kdc {
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = port.local_addr().expect("an address").port();
        let shown = folder.display();
        let client = format!(
            "[libdefaults]\n default_realm = ANKUS.TEST\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n dns_canonicalize_hostname = false\n udp_preference_limit = 1\n k5login_directory = {shown}/logins\n[realms]\n ANKUS.TEST = {{\n  kdc = 127.0.0.1:{port}\n }}\n OTHER.TEST = {{\n  kdc = 127.0.0.1:{port}\n }}\n[domain_realm]\n localhost = ANKUS.TEST\n"
        );
        let realm = |name: &str| {
            format!(
                " {name} = {{\n  database_name = {shown}/{name}\n  key_stash_file = {shown}/{name}.stash\n  kdc_listen = 127.0.0.1:{port}\n  kdc_tcp_listen = 127.0.0.1:{port}\n }}\n"
            )
        };
        let server = format!("[realms]\n{}{}", realm("ANKUS.TEST"), realm("OTHER.TEST"));
        std::fs::write(folder.join("krb5.conf"), client).expect("writable");
        std::fs::write(folder.join("kdc.conf"), server).expect("writable");
        let run = |program: &str, arguments: &[&str]| said(&mut tool(folder, program, arguments));
        for realm in ["ANKUS.TEST", "OTHER.TEST"] {
            run("kdb5_util", &["create", "-s", "-r", realm, "-P", "x"]);
            run(
                "kadmin.local",
                &["-r", realm, "-q", "addprinc -pw t krbtgt/ANKUS.TEST@OTHER.TEST"],
            );
        }
        for add in [
            "-pw a alice",
            "-pw h hue",
            "-randkey HTTP/localhost",
            "-randkey HTTP/other",
            "-randkey host/localhost",
        ] {
            run("kadmin.local", &["-q", &format!("addprinc {add}")]);
        }
        run("kadmin.local", &["-r", "OTHER.TEST", "-q", "addprinc -pw j joe"]);
        let mut kdc = tool(folder, "krb5kdc", &["-n", "-r", "ANKUS.TEST", "-r", "OTHER.TEST"]);
        let child = kdc.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        for _ in 0..2_400 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Kdc { child, folder: folder.to_owned() }
    }

    /// Writes new keys of a service to a keytab.
    fn keytab(&self, service: &str, name: &str) {
        let scratch = self.folder.join("scratch.keytab");
        let query = format!("ktadd -k {} {service}", scratch.display());
        said(&mut tool(&self.folder, "kadmin.local", &["-q", &query]));
        std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o600)).expect("ours");
        std::fs::rename(scratch, self.folder.join(name)).expect("ours");
    }

    /// Gets a ticket, in a cache of its own. Returns the cache's path.
    fn kinit(&self, principal: &str, password: &str) -> String {
        use std::io::Write as _;
        let cache = format!("{}/{principal}.cache", self.folder.display());
        let mut kinit = tool(&self.folder, "kinit", &["-c", &cache, principal]);
        let kinit = kinit.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut kinit = kinit.expect("it starts");
        let mut asks = kinit.stdin.take().expect("piped");
        asks.write_all(format!("{password}\n").as_bytes()).expect("it reads");
        drop(asks);
        assert!(kinit.wait().expect("it ends").success(), "kinit {principal}");
        cache
    }

    /// The output of curl with the tickets of a cache: request, response headers and body.
    fn curl(&self, server: &Server, cache: &str, path: &str, more: &[&str]) -> String {
        let port = server.address.rsplit_once(':').expect("a port").1;
        let url = format!("http://localhost:{port}/oozie/{path}");
        let mut curl = tool(&self.folder, "curl", &["-sv", "--negotiate", "-u", ":"]);
        curl.args(more).arg(url).env("KRB5CCNAME", cache);
        said(&mut curl)
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tool(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("KRB5_CONFIG", folder.join("krb5.conf"));
    command.env("KRB5_KDC_PROFILE", folder.join("kdc.conf"));
    command
}

fn said(command: &mut Command) -> String {
    let Output { stdout, stderr, .. } = command.output().expect("it starts");
    format!("{}{}", String::from_utf8_lossy(&stderr), String::from_utf8_lossy(&stdout))
}

/// Runs the real client with a ticket.
fn oozie(kdc: &Kdc, server: &Server, cache: &str, arguments: &[&str]) -> Option<String> {
    let jars = jars()?;
    let port = server.address.rsplit_once(':').expect("a port").1;
    let mut java = tool(&kdc.folder, "java", &["-cp"]);
    java.arg(format!("{}/*", jars.display()));
    java.arg(format!("-Djava.security.krb5.conf={}/krb5.conf", kdc.folder.display()));
    java.arg(format!("-Duser.home={}", kdc.folder.display()));
    java.args(["-Doozie.auth.token.cache=false", "org.apache.oozie.cli.OozieCLI"]);
    java.args(arguments).args(["-auth", "KERBEROS"]);
    java.env("OOZIE_URL", format!("http://localhost:{port}/oozie")).env("KRB5CCNAME", cache);
    Some(said(&mut java))
}

fn has(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "{wanted}: {text}");
}

#[test]
fn tickets_of_a_real_kdc_let_in_whom_they_name() {
    let tools = ["krb5kdc", "kadmin.local", "kdb5_util", "kinit", "curl"];
    if let Some(tool) = missing(&tools) {
        println!("skipped: there is no {tool}");
        return;
    }
    let folder = apps();
    let kdc = Kdc::start(folder.path());
    kdc.keytab("HTTP/localhost", "http.keytab");
    let text = "admins = ['alice']\n[proxies]\nhue = { hosts = ['127.0.0.1'], users = ['bob'] }\n";
    let accounts = folder.path().join("accounts.toml");
    std::fs::write(&accounts, text).expect("writable");
    std::fs::set_permissions(&accounts, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let how = ["--auth", "kerberos", "--keytab", "http.keytab", "--accounts", "accounts.toml"];
    let server = Server::start(folder.path(), &how);
    let nobody = server.ask("OPTIONS", "v2/jobs", "", "");
    assert!(nobody.status.starts_with("401"), "{}", nobody.status);
    has(&nobody.head, "www-authenticate: negotiate");
    let named = server.ask("GET", "v2/jobs?user.name=alice", "", "");
    assert!(named.status.starts_with("401"), "{}", named.status);

    let alice = kdc.kinit("alice", "a");
    let answer = kdc.curl(&server, &alice, "v1/admin/status", &[]);
    has(&answer, "< HTTP/1.1 200");
    has(&answer, "NORMAL");
    has(&answer, "hadoop.auth=\"u=alice&p=alice@ANKUS.TEST&t=kerberos&e=");
    // A token is valid once; the cookie stays valid.
    let sent = answer.lines().find_map(|line| line.strip_prefix("> Authorization: "));
    let again = format!("authorization: {}\r\n", sent.expect("a token").trim());
    let again = server.ask("GET", "v1/admin/status", &again, "");
    assert!(again.status.starts_with("403"), "{}", again.status);
    has(&again.body, "Kerberos: the token was used before");
    let cookie = answer.split("< Set-Cookie: ").nth(1).and_then(|rest| rest.split(';').next());
    let cookie = format!("cookie: {}\r\n", cookie.expect("a cookie"));
    assert_eq!(server.ask("GET", "v1/admin/status", &cookie, "").status, "200 OK");

    // A client of another realm has a ticket, but no access.
    let joe = kdc.kinit("joe@OTHER.TEST", "j");
    let other = kdc.curl(&server, &joe, "v1/admin/status", &[]);
    has(&other, "< HTTP/1.1 403");
    has(&other, "joe@OTHER.TEST is of another realm than this service, ANKUS.TEST");
    stands_for_others(&kdc, &server, &alice);
    keys_change(&kdc, &server);
}

/// A name node that accepts a cookie for three requests, and issues the next one for a ticket. Returns its address, and
/// the requests that it has answered.
fn name_node(keytab: &Path) -> (String, Arc<Mutex<Vec<String>>>) {
    let keytab = Keytab::read(&std::fs::read(keytab).expect("a keytab")).expect("a keytab");
    let acceptor = Arc::new(Acceptor::new(keytab));
    let answered = Arc::new(Mutex::new(Vec::new()));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("localhost:{}", listener.local_addr().expect("an address").port());
    let (log, cookies) = (answered.clone(), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().filter_map(Result::ok) {
            let (acceptor, log, cookies) = (acceptor.clone(), log.clone(), cookies.clone());
            std::thread::spawn(move || answer(stream, &acceptor, &log, &cookies));
        }
    });
    (address, answered)
}

/// Answers the requests of a connection.
fn answer(
    mut stream: TcpStream,
    acceptor: &Acceptor,
    log: &Mutex<Vec<String>>,
    cookies: &AtomicUsize,
) -> Option<()> {
    use std::io::{BufRead as _, Write as _};
    let mut lines = std::io::BufReader::new(stream.try_clone().ok()?).lines();
    loop {
        let request = lines.next()?.ok()?;
        let mut head = Vec::new();
        loop {
            match lines.next()?.ok()? {
                line if line.is_empty() => break,
                line => head.push(line),
            }
        }
        let header = |name: &str| {
            let mut found = head.iter().filter_map(|line| line.split_once(": "));
            found.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
        };
        let number = cookies.load(Ordering::SeqCst);
        let is_known =
            header("Cookie") == Some(&format!("hadoop.auth=\"u=alice&n={}\"", number / 3));
        let ticket = header("Authorization").and_then(|way| way.strip_prefix("Negotiate "));
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        let accepted = ticket.map(|ticket| {
            let token = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, ticket);
            acceptor.accept(&token.expect("base64"), now.as_millis() as i64).expect("a ticket")
        });
        let (status, headers, body) = match accepted {
            Some(who) => {
                assert_eq!(who.principal, "alice@ANKUS.TEST");
                let cookie = format!("hadoop.auth=\"u=alice&n={}\"; Path=/", number / 3);
                ("200 OK", format!("Set-Cookie: {cookie}\r\n"), "")
            }
            None if is_known && number % 3 < 2 => {
                cookies.fetch_add(1, Ordering::SeqCst);
                log.lock().expect("a log").push(request);
                let status = r#"{"FileStatus":{"type":"FILE","length":3,"modificationTime":0,"permission":"644"}}"#;
                ("200 OK", String::new(), status)
            }
            None => {
                // The cookie has expired.
                if is_known {
                    cookies.fetch_add(1, Ordering::SeqCst);
                }
                ("401 Authentication required", "WWW-Authenticate: Negotiate\r\n".into(), "")
            }
        };
        let length = body.len();
        write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
            .ok()?;
    }
}

#[test]
fn a_cluster_that_requires_kerberos_gets_a_ticket_until_its_cookie_expires() {
    let tools = ["krb5kdc", "kadmin.local", "kdb5_util", "kinit", "curl"];
    if let Some(tool) = missing(&tools) {
        println!("skipped: there is no {tool}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kdc = Kdc::start(folder.path());
    kdc.keytab("HTTP/localhost", "http.keytab");
    let (address, answered) = name_node(&folder.path().join("http.keytab"));
    let case = |at: usize| {
        let next = if at < 7 { format!("look{}", at + 1) } else { "end".to_owned() };
        format!(
            "<decision name='look{at}'><switch><case to='{next}'>${{fs:fileSize('hdfs://prod:8020/in{at}') eq 3}}</case>\
             <default to='bad'/></switch></decision>"
        )
    };
    let workflow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='look1'/>{}\
         <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>",
        (1..8).map(case).collect::<String>()
    );
    let settings = format!("[hosts]\n\"hdfs://prod:8020\" = \"webhdfs://{address}\"\n");
    crate::run::application(
        folder.path(),
        &[("app/workflow.xml", &workflow), ("ankus.toml", &settings)],
    );
    let run = |id: &str, cache: &str| {
        let mut command = crate::run::ankus(folder.path(), &["run", "app", "--id", id]);
        command.env("KRB5_CONFIG", folder.path().join("krb5.conf")).env("KRB5CCNAME", cache);
        said(&mut command)
    };
    let none = run("none", "/nowhere");
    has(
        &none,
        "requires Kerberos, and `curl --negotiate` could not identify you to it: get a ticket",
    );
    assert!(answered.lock().expect("a log").is_empty());
    has(&run("w", &kdc.kinit("alice", "a")), "SUCCEEDED");
    let answered = answered.lock().expect("a log");
    assert_eq!(answered.len(), 7, "{answered:?}");
    // The user is that of the ticket.
    assert!(answered.iter().all(|request| !request.contains("user.name")), "{answered:?}");
}

/// Tests proxy users, with curl and the real client.
fn stands_for_others(kdc: &Kdc, server: &Server, alice: &str) {
    let hue = kdc.kinit("hue", "h");
    let for_bob = kdc.curl(server, &hue, "v1/jobs?doAs=bob", &[]);
    has(&for_bob, "< HTTP/1.1 200");
    let for_carol = kdc.curl(server, &hue, "v1/jobs?doAs=carol", &[]);
    has(&for_carol, "Unauthorized proxyuser [hue] for user [carol]");
    has(&kdc.curl(server, alice, "v1/jobs?doAs=bob", &[]), "User [alice] not defined as proxyuser");
    let Some(status) = oozie(kdc, server, alice, &["admin", "-status"]) else { return };
    has(&status, "System mode: NORMAL");
    let properties = "nameNode=hdfs://nn\noozie.wf.application.path=hdfs://nn/apps/tidy\n";
    std::fs::write(kdc.folder.join("job.properties"), properties).expect("writable");
    let submit = ["job", "-submit", "-config", "job.properties"];
    let submit = [&submit[..], &["-doas", "bob"]].concat();
    let made = oozie(kdc, server, &hue, &submit).expect("Java is there");
    let id = made.split("job: ").nth(1).unwrap_or_else(|| panic!("{made}")).trim();
    let shown = kdc.curl(server, alice, &format!("v1/job/{id}"), &[]);
    has(&shown, "\"user\":\"bob\"");
    // The owner is bob, not hue itself; alice is an administrator.
    let kill = oozie(kdc, server, &hue, &["job", "-kill", id]).expect("Java is there");
    has(&kill, "E0508");
    let kill = oozie(kdc, server, &hue, &["job", "-kill", id, "-doas", "bob"]);
    assert_eq!(kill.expect("Java is there").trim(), "", "it says nothing where it was done");
    server_says(kdc, server, alice, id, "KILLED");
    let refused = oozie(kdc, server, alice, &["jobs", "-doas", "bob"]).expect("Java is there");
    has(&refused, "E1400");
    let audit = std::fs::read_to_string(kdc.folder.join(".ankus/audit.log")).expect("a log");
    let killed = audit
        .lines()
        .find(|line| line.contains("OPERATION [kill]") && line.contains("STATUS [SUCCESS]"));
    has(killed.unwrap_or_else(|| panic!("{audit}")), "USER [bob]");
}

fn server_says(kdc: &Kdc, server: &Server, cache: &str, id: &str, wanted: &str) {
    for _ in 0..1_200 {
        let shown = kdc.curl(server, cache, &format!("v2/job/{id}?show=status"), &[]);
        if shown.contains(wanted) {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{id} is not {wanted}: {}", kdc.curl(server, cache, &format!("v1/job/{id}"), &[]));
}

/// The service's keys change: clients are refused until the server has the new keys.
fn keys_change(kdc: &Kdc, server: &Server) {
    kdc.keytab("HTTP/localhost", "renewed.keytab");
    let alice = kdc.kinit("alice", "a");
    let refused = kdc.curl(server, &alice, "v1/admin/status", &[]);
    has(&refused, "< HTTP/1.1 403");
    has(&refused, "cannot be read with the keys of the keytab (2 of kind 18, 2 of kind 17)");
    let keytab = kdc.folder.join("http.keytab");
    std::fs::rename(kdc.folder.join("renewed.keytab"), keytab).expect("ours");
    for _ in 0..1_200 {
        if kdc.curl(server, &alice, "v1/admin/status", &[]).contains("< HTTP/1.1 200") {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("the keytab was not read again");
}

/// A daemon of ssh that admits only those with a ticket; it ends when the value is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ssh_logs_in_with_a_ticket() {
    const SSHD: &str = "/usr/sbin/sshd";
    let tools = ["krb5kdc", "kadmin.local", "kdb5_util", "kinit", "ssh", "ssh-keygen"];
    let lacking = missing(&tools).or((!Path::new(SSHD).exists()).then(|| SSHD.to_owned()));
    if let Some(tool) = lacking {
        println!("skipped: {tool} is not installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let kdc = Kdc::start(folder.path());
    kdc.keytab("host/localhost", "host.keytab");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let user = said(Command::new("id").arg("-un")).trim().to_owned();
    std::fs::create_dir(folder.path().join("logins")).expect("a folder");
    std::fs::write(folder.path().join("logins").join(&user), "alice@ANKUS.TEST\n").expect("a file");
    said(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &at("host")]));
    // `sshd` requires its privilege separation folder, although it never uses it here.
    let _ = std::fs::create_dir_all("/run/sshd");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let mut sshd = tool(folder.path(), SSHD, &["-D", "-f", "/dev/null", "-p", &port.to_string()]);
    let options = [
        "ListenAddress=127.0.0.1",
        "StrictModes=no",
        "UsePAM=no",
        "PidFile=none",
        "PubkeyAuthentication=no",
    ];
    let more = [
        "GSSAPIAuthentication=yes",
        "GSSAPIStrictAcceptorCheck=no",
        &format!("HostKey={}", at("host")),
    ];
    sshd.args(options.iter().chain(&more).flat_map(|option| ["-o", option]));
    sshd.env("KRB5_KTNAME", at("host.keytab")).stderr(Stdio::null());
    let _daemon = Daemon(sshd.spawn().expect("sshd runs"));
    for _ in 0..2_400 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let config = format!(
        "Host *\n Port {port}\n GSSAPIAuthentication yes\n UserKnownHostsFile {}\n",
        at("known")
    );
    std::fs::write(folder.path().join("config"), config).expect("a file");
    let ssh = folder.path().join("ssh");
    std::fs::write(&ssh, format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", at("config")))
        .expect("a file");
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).expect("ours");
    let own = format!(
        "[tools]\nssh = \"{}\"\n[launchers.edge]\nkind = \"ssh\"\nhost = \"{user}@localhost\"\nconfig = \"{}\"\nfolder = \"{}\"\n\
         [launchers.shell]\nlauncher = \"edge\"\n",
        at("ssh"),
        at("config"),
        at("jobs")
    );
    let flow = format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'><start to='a'/>\
         <action name='a'><ssh xmlns='uri:oozie:ssh-action:0.2'><host>{user}@localhost</host><command>echo</command><arg>k=a  'b'</arg>\
         <capture-output/></ssh><ok to='b'/><error to='bad'/></action>\
         <action name='b'><shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>rm</resource-manager><name-node>hdfs://nn</name-node>\
         <exec>sh</exec><argument>-c</argument><argument>echo \"via=${{SSH_CONNECTION:+ssh}} $0\"</argument>\
         <argument>${{wf:actionData(\"a\")[\"k\"]}}</argument></shell><ok to='end'/><error to='bad'/></action>\
         <kill name='bad'><message>m</message></kill><end name='end'/></workflow-app>"
    )
    .replace("${SSH_CONNECTION:+ssh}", "$SSH_CONNECTION");
    crate::run::application(folder.path(), &[("app/workflow.xml", &flow), ("own.toml", &own)]);
    let run = |id: &str, cache: Option<&str>| {
        let mut command = crate::elsewhere::command(folder.path(), &["run", "app", "--id", id]);
        command
            .env("KRB5_CONFIG", at("krb5.conf"))
            .env("KRB5CCNAME", cache.unwrap_or("FILE:/none"));
        let output = command.output().expect("it runs");
        (output.status.code(), crate::run::text(&output))
    };
    let (code, told) = run("without", None);
    assert!(code == Some(1) && told.contains("AUTH_FAILED") && told.contains("kinit"), "{told}");
    let cache = kdc.kinit("alice", "a");
    let (code, told) = run("with", Some(&cache));
    assert_eq!(code, Some(0), "{told}");
    let told = std::fs::read_to_string(folder.path().join("store/jobs/with/b-0-1/stdout"));
    let told = told.expect("an output");
    assert!(told.starts_with("via=127.0.0.1 ") && told.ends_with(" a  'b'\n"), "{told}");
}
