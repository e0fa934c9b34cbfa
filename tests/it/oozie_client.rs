//! The real `oozie` client against `ankus serve`: the commands recorded with a real server, in order, compared by their
//! output and exit code.
//!
//! The client is downloaded from Maven Central, once; without Java or Maven, the test reports that it is skipped.

use crate::ws_api::even;
use crate::ws_api::{Exchange, MAKING, STATES, World, recorded, slowness};
use crate::{agree, root, shared};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>client</artifactId><version>1</version><dependencies><dependency><groupId>org.apache.oozie</groupId><artifactId>oozie-client</artifactId><version>5.2.1</version><exclusions><exclusion><groupId>javax.jms</groupId><artifactId>jms</artifactId></exclusion><exclusion><groupId>jdk.tools</groupId><artifactId>jdk.tools</artifactId></exclusion></exclusions></dependency></dependencies></project>"#;

/// How long to wait for a command to print what was recorded.
const EACH: Duration = Duration::from_secs(3);
/// The same for all commands together.
const PATIENCE: Duration = Duration::from_secs(45);

/// The jars of the client.
pub(crate) fn jars() -> Option<PathBuf> {
    let place = root().join("target/oozie-client");
    let lib = place.join("lib");
    if std::fs::read_dir(&lib).is_ok_and(|all| all.count() > 40) {
        return Some(lib);
    }
    std::fs::create_dir_all(&place).expect("writable");
    std::fs::write(place.join("pom.xml"), POM).expect("writable");
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]);
    match maven.current_dir(&place).output() {
        Ok(output) if output.status.success() => Some(lib),
        Ok(output) => {
            println!("skipped: {}", String::from_utf8_lossy(&output.stdout));
            None
        }
        Err(error) => {
            println!("skipped: mvn: {error}");
            None
        }
    }
}

/// A process that runs commands of the client.
struct Client {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The output and the exit code of a command.
struct Ran {
    exit: i64,
    out: String,
    err: String,
}

impl Client {
    fn start(jars: &Path, folder: &Path, environment: &BTreeMap<String, String>) -> Option<Client> {
        let mut java = Command::new("java");
        java.arg("-cp").arg(format!("{}/*", jars.display()));
        java.arg("-Duser.name=tester").arg(format!("-Duser.home={}", folder.display()));
        java.arg(root().join("tests/OozieCommands.java")).current_dir(folder);
        java.env_remove("OOZIE_URL").env("TZ", "UTC").envs(environment);
        java.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = match java.spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: java: {error}");
                return None;
            }
        };
        let asks = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Some(Client { child, asks, answers })
    }

    fn run(&mut self, arguments: &[String]) -> Ran {
        let line = arguments.join("\u{1}") + "\n";
        self.asks.write_all(line.as_bytes()).expect("it reads");
        self.asks.flush().expect("it reads");
        let mut head = String::new();
        self.answers.read_line(&mut head).expect("it answers");
        let numbers: Vec<i64> = head.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let [exit, out, err] = numbers[..] else { panic!("the client has ended: {head}") };
        let mut text = |length: i64| {
            let mut bytes = vec![0; usize::try_from(length).expect("a length")];
            self.answers.read_exact(&mut bytes).expect("it answers");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (out, err) = (text(out), text(err));
        Ran { exit, out, err }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Splits a command into words as a shell does.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut is_quoted, mut is_word) = (String::new(), false, false);
    for letter in command.chars() {
        match letter {
            '\'' => (is_quoted, is_word) = (!is_quoted, true),
            ' ' if !is_quoted => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            letter => {
                word.push(letter);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

/// Writes the scripts that commands send, taken from the recorded requests.
fn scripts(world: &World, sessions: &[(Value, Vec<Exchange>)]) {
    for (session, exchanges) in sessions {
        let words = words(session["command"].as_str().unwrap_or_default());
        let Some(at) = words.iter().position(|word| word == "-file") else { continue };
        let bodies = exchanges.iter().map(|one| one.body.as_str());
        let properties = bodies.flat_map(|body| {
            ankus_lang::configuration::read_xml(&world.even.sent(body)).unwrap_or_default()
        });
        let mut scripts = properties
            .filter(|(name, _)| matches!(name.as_str(), "oozie.pig.script" | "oozie.hive.script"));
        if let (Some((_, script)), Some(name)) = (scripts.next(), words.get(at + 1)) {
            std::fs::write(world.apps.join(name), script).expect("writable");
        }
    }
}

/// Writes the properties files that commands name, taken from the recorded requests.
fn configured(world: &World, sessions: &[(Value, Vec<Exchange>)]) {
    for (session, exchanges) in sessions {
        let words = words(session["command"].as_str().unwrap_or_default());
        let Some(at) = words.iter().position(|word| word == "-config") else { continue };
        let path = world.apps.join(&words[at + 1]);
        let body = exchanges.iter().map(|one| one.body.as_str()).rfind(|body| !body.is_empty());
        let Some(body) = body.filter(|_| !path.exists()) else { continue };
        let sent = world.even.sent(body);
        if path.extension().is_some_and(|end| end == "xml") {
            std::fs::write(&path, sent).expect("writable");
            continue;
        }
        let given: Vec<&String> =
            words.iter().filter(|word| word.contains('=') && !word.starts_with('-')).collect();
        let mut text = String::new();
        for (name, value) in ankus_lang::configuration::read_xml(&sent).unwrap_or_default() {
            let is_given = given.iter().any(|one| one.starts_with(&format!("{name}=")));
            if name != "user.name" && !is_given {
                text.push_str(&format!("{name}={}\n", value.replace('\\', "\\\\")));
            }
        }
        // Properties given on the command line are not in the file, but the file needs some value.
        if !text.contains("\nx=") && words[at + 1].starts_with("async") {
            text.push_str("x=1\n");
        }
        std::fs::write(&path, text).expect("writable");
    }
}

/// Normalizes output: blanks and dashed lines, because ids have other lengths here; the names of programs that the stub
/// of the test server starts; dates in time zones behind or ahead of UTC; the order of properties.
fn evened(text: &str) -> Vec<String> {
    static EVEN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let all = [
            (r"<id-W>#(\w)(SUCCEEDED|FAILED/KILLED)?", "x-$1 $2"),
            (r"file:\S*/\.ankus/jobs/\S*", "-"),
            (r"http://console/\w", "-"),
            (r"(x-\w .*)\b(?:local|tracker)\b", "$1-"),
            // The stub fails before anything has started; a program has started.
            (r"x-b +FAILED/KILLED", "- ERROR"),
            (r"^External ID : x-b *$", "External ID : -"),
            (r"(x-\w) +(?:SUCCEEDED|FAILED/KILLED)", "$1 OK"),
            (r"the script action's program ended with exit code 77; its last output was: ", ""),
            (r"^Tracker URI : .*", "Tracker URI"),
            (r"(@b ERROR) (?:x-b|-) *(?:OK|ERROR) ?77", "$1 77"),
            (r"(External Status +: )SUCCEEDED", "$1 OK"),
            (r"(External Status +: )FAILED/KILLED", "$1 ERROR"),
            (r"^eng : ", "ankus : "),
            (r"server build version: .*", "server build version"),
            (r"(?:<now>|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) (EST|JST)", "<now> $1"),
        ];
        all.iter().map(|(from, to)| (Regex::new(from).expect("a pattern"), *to)).collect()
    });
    let line = |line: &str| {
        let mut line = line.split_whitespace().collect::<Vec<&str>>().join(" ");
        for (from, to) in EVEN.iter() {
            line = from.replace_all(&line, *to).into_owned();
        }
        line.split_whitespace().collect::<Vec<&str>>().join(" ")
    };
    let is_trace = |line: &&str| line.starts_with("\tat ");
    let lines = text.lines().filter(|line| !is_trace(line)).map(line);
    let mut lines: Vec<String> = lines.filter(|line| !line.starts_with("-----")).collect();
    // The database returned the coordinators of a bundle in arbitrary order.
    let is_bundle = lines.iter().any(|line| line.starts_with("Job ID : <id-B>"));
    if is_bundle || text.trim_start().starts_with("<configuration>") {
        lines.sort_unstable();
    }
    lines
}

#[test]
fn recorded_commands_of_the_client_print_what_they_printed() {
    let Some(verdicts) = shared("ANKUS_VERDICTS", "verdicts") else { return };
    let Some(jars) = jars() else { return };
    let mut world = World::start(&verdicts);
    let sessions = recorded_sessions(&verdicts.join("ws-api"));
    configured(&world, &sessions);
    scripts(&world, &sessions);
    let address = world.server.address.replace("127.0.0.1", "localhost");
    let url = format!("http://{address}/oozie");
    let environment = BTreeMap::from([("OOZIE_URL".to_owned(), url.clone())]);
    let Some(mut client) = Client::start(&jars, &world.apps, &environment) else { return };
    let (mut agreed, mut all, mut differ, mut left) = (0, 0, Vec::new(), PATIENCE * slowness());
    for (session, exchanges) in &sessions {
        world.lay_out(&exchanges.first().map_or("000", |one| one.file.as_str())[..3]);
        let Some(command) = session["command"].as_str() else {
            for one in exchanges {
                world.ask(one);
            }
            continue;
        };
        let text = |name: &str| session[name].as_str().unwrap_or_default().to_owned();
        // Skipped: help, of which only a summary was recorded; a wrong port, where nothing answers; and a minute of
        // waiting for nothing.
        if session.get("stdout_summary").is_some()
            || text("name") == "url-wrong-port"
            || command.contains("-timeout")
        {
            // In that minute a materialization pass took place.
            if command.contains("-poll") && (command.contains("-C ") || command.contains("-B ")) {
                std::thread::sleep(Duration::from_secs(MAKING + 1));
            }
            continue;
        }
        all += 1;
        let sent = world.ids.sent(&world.even.sent(command)).replace("localhost:11000", &address);
        let arguments: Vec<String> = words(&sent).into_iter().skip(1).collect();
        let own: BTreeMap<String, String> = session["env"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| {
                let value = value.as_str().unwrap_or_default();
                (name.clone(), value.replace("localhost:11000", &address))
            })
            .collect();
        let without = exchanges.is_empty()
            && session["stderr"].as_str().is_some_and(|text| text.contains("URL"));
        let mut another =
            (!own.is_empty() || without).then(|| Client::start(&jars, &world.apps, &own)).flatten();
        let then = [text("stdout"), text("stderr")];
        // Patience is spent by waiting only, not by a command that is slow on a busy machine.
        let mut began = None;
        let difference = loop {
            let ran = another.as_mut().unwrap_or(&mut client).run(&arguments);
            let now = [ran.out, ran.err].map(|text| text.replace(&address, "localhost:11000"));
            world.ids.learn(&then.concat(), &now.concat());
            let exit = session["exit"].as_i64().unwrap_or_default();
            // An exit code has only the last byte.
            let difference = differs(&world, (exit & 0xff, &then), (ran.exit & 0xff, &now));
            let looks = ["-info", "jobs", "-retries", "-missingdeps"]
                .iter()
                .any(|word| arguments.iter().any(|it| it == word));
            // If a job was found by its state, a pass over states (one a minute) had taken place before.
            let is_none = |text: &str| text.contains("No Jobs match");
            let awaits_pass =
                is_none(&now.concat()) && !is_none(&then.concat()) && command.contains("status=");
            let each = if awaits_pass {
                Duration::from_secs(STATES + 4)
            } else {
                (EACH * slowness()).min(left)
            };
            // The first rerun had ended before the second was requested.
            let is_early = exit == 0 && ran.exit != 0 && now[1].contains("E1018");
            let may_come = (looks && arguments.len() > 1) || is_early;
            let waited = began.get_or_insert_with(Instant::now).elapsed();
            if difference.is_none() || !may_come || waited > each {
                break difference;
            }
            std::thread::sleep(Duration::from_millis(if is_early { 5 } else { 250 }));
        };
        left = left.saturating_sub(began.map_or(Duration::ZERO, |began| began.elapsed()));
        match difference {
            None => agreed += 1,
            Some(difference) => differ.push(format!("{}: {command}\n{difference}", text("name"))),
        }
    }
    for one in &differ {
        println!("{one}");
    }
    agree("oozie client", agreed, all);
}

fn recorded_sessions(folder: &Path) -> Vec<(Value, Vec<Exchange>)> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).expect("there").flatten().collect();
    paths.sort_by_key(std::fs::DirEntry::file_name);
    let paths = paths.iter().map(std::fs::DirEntry::path);
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("readable");
        let session = serde_json::from_slice(&bytes).expect("JSON");
        (session, recorded(&path))
    };
    paths.map(read).collect()
}

/// The first lines that differ; logs, environments and help are excerpts.
fn differs(
    world: &World,
    (then_exit, then): (i64, &[String; 2]),
    (exit, now): (i64, &[String; 2]),
) -> Option<String> {
    if then_exit != exit {
        return Some(format!("    exit {then_exit}, now {exit}: {}", now.concat()));
    }
    for (then, now) in then.iter().zip(now) {
        // Of logs, only the format counts; each line has a level.
        let is_log = ["INFO", " WARN "].iter().any(|level| then.contains(level));
        if even::is_excerpt("", then) || then.contains("… ") || is_log {
            continue;
        }
        let told = world.even.told(then);
        let (told, ours) = (evened(&told), evened(&world.even.ours(now, &told)));
        let longest = told.len().max(ours.len());
        for at in 0..longest {
            let line =
                |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| "(nothing)".to_owned());
            // The real server notices the end of a coordinator in a pass that runs every minute.
            let is_later = line(&told) == "Status : RUNNING" && line(&ours) == "Status : SUCCEEDED";
            if line(&told) != line(&ours) && !is_later {
                return Some(format!("    {}\n    now {}", line(&told), line(&ours)));
            }
        }
    }
    None
}

/// The Java API of the client, with every kind of job and each command.
#[test]
fn the_java_api_of_the_client_is_served() {
    let Some(jars) = jars() else { return };
    let workflow = |name: &str, action: &str| {
        format!(
            "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"{name}\"><start to=\"make\"/><action name=\"make\">{action}<ok to=\"end\"/><error to=\"failed\"/></action><kill name=\"failed\"><message>it failed</message></kill><end name=\"end\"/></workflow-app>"
        )
    };
    let make = "<fs><mkdir path=\"hdfs://nn/made\"/></fs>";
    let sleep = "<shell xmlns=\"uri:oozie:shell-action:1.0\"><resource-manager>rm:8032</resource-manager><name-node>hdfs://nn</name-node><exec>sleep</exec><argument>300</argument></shell>";
    let daily = "<coordinator-app xmlns=\"uri:oozie:coordinator:0.4\" name=\"daily\" frequency=\"${coord:days(1)}\" start=\"2024-01-01T00:00Z\" end=\"2024-01-03T00:00Z\" timezone=\"UTC\"><action><workflow><app-path>hdfs://nn/apps/tidy</app-path></workflow></action></coordinator-app>";
    let all = "<bundle-app xmlns=\"uri:oozie:bundle:0.2\" name=\"all\"><coordinator name=\"daily\"><app-path>hdfs://nn/apps/daily</app-path></coordinator></bundle-app>";
    let folder = crate::cli::folder(&[
        (".ankus/root/apps/tidy/workflow.xml", &workflow("tidy", make)),
        (".ankus/root/apps/slow/workflow.xml", &workflow("slow", sleep)),
        (".ankus/root/apps/daily/coordinator.xml", daily),
        (".ankus/root/apps/all/bundle.xml", all),
    ]);
    let server = crate::serve::Server::start(folder.path(), &[]);
    let url = format!("http://{}/oozie", server.address.replace("127.0.0.1", "localhost"));
    let mut java = Command::new("java");
    java.arg("-cp").arg(format!("{}/*", jars.display()));
    java.arg("-Duser.name=tester").arg(format!("-Duser.home={}", folder.path().display()));
    java.arg(root().join("tests/OozieApi.java")).args([&url, "hdfs://nn/apps"]);
    let Ok(output) = java.env_remove("OOZIE_URL").output() else {
        println!("skipped: there is no java");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
