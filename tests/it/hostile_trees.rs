//! Every read-only command, on trees that attack it: nothing is started, nothing outside is read or written, nothing
//! hangs, and no control character is printed.

#[path = "../../fixtures/hostile/trees.rs"]
mod trees;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trees::{Attack, CANARY, Ground, attacks};

/// The time limit of a command.
const PATIENCE: Duration = Duration::from_secs(120);
/// The limits of its address space and of its resident memory, in kB.
const SPACE_KB: u64 = 4 << 20;
const RESIDENT_KB: u64 = 1 << 20;

/// The commands that run on every tree; `@` stands for the attack's path.
const COMMANDS: &[&str] = &[
    "check @",
    "check --isolated @",
    "check --format json @",
    "check --format github @",
    "check --diff --unsafe-fixes @",
    "check --output out.json --format json @",
    "check --write-baseline baseline.json @",
    "params @",
    "graph --format svg -o out.svg @",
    "graph --format d2 --expand-sub-workflows @",
    "inventory --format html -o out.html @",
    "compile -o out.plan @",
    "fmt --diff @",
    "upgrade --to 1.0 --diff @",
    "diff @ @",
    "timeline @",
    "run --dry-run @",
    "run --simulate @",
    "config show @",
    "convert --report out.html @",
    "test @",
];

/// Commands with other output formats. Each tree gets one in [`ONE_IN`] of them, different ones for each tree, or all
/// if `ANKUS_EVERY_FORMAT` is set.
const FORMS: &[&str] = &[
    "check --format concise @",
    "check --format jsonl @",
    "check --format sarif @",
    "check --format gitlab @",
    "check --format junit @",
    "check --format checkstyle @",
    "check --format rdjson @",
    "check --statistics @",
    "params --format json @",
    "params --format properties @",
    "graph @",
    "graph --format mermaid @",
    "graph --format json --data @",
    "inventory @",
    "inventory --format json @",
    "inventory --format csv @",
    "fmt --check @",
    "timeline --format json @",
    "timeline --format ics @",
    "timeline --format csv @",
    "test --format junit @",
    "convert --to airflow==2.10 --report out.json @",
    "convert --to prefect --report out.json @",
    "convert --to argo --report out.json @",
    "convert --to step-functions --report out.json @",
    "convert --to databricks --report out.json @",
];
const ONE_IN: usize = 5;

/// Commands whose purpose is to change files; they may change the tree, and nothing else.
const CHANGING: &[&str] =
    &["check --fix --unsafe-fixes @", "fmt @", "upgrade --to 1.0 @", "test --init @"];

/// The files that a command may write.
const RESULTS: &[&str] = &["out.json", "baseline.json", "out.svg", "out.html", "out.plan"];

/// Every file below the folder with its state: a digest of the content, or the target of a link.
fn state(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut state = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&at) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let metadata = entry.metadata().expect("it is there");
            let what = if metadata.is_symlink() {
                format!("link to {}", std::fs::read_link(&path).expect("a link").display())
            } else if metadata.is_dir() {
                open.push(path.clone());
                format!("folder {:o}", metadata.mode())
            } else if metadata.is_file() && metadata.len() < 1 << 20 {
                let mut digest = DefaultHasher::new();
                digest.write(&std::fs::read(&path).expect("ours"));
                format!("{:o} {:x}", metadata.mode(), digest.finish())
            } else {
                format!("{:o} {} bytes", metadata.mode(), metadata.len())
            };
            state.insert(path, what);
        }
    }
    state
}

struct Ran {
    code: Option<i32>,
    out: Vec<u8>,
    took: Duration,
    resident_kb: u64,
}

/// Runs a command in the tree, within limits.
fn run(ground: &Ground, arguments: &str, attack: &Attack) -> Ran {
    let binary = env!("CARGO_BIN_EXE_ankus");
    let named = attack.named.unwrap_or(".");
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("ulimit -v {SPACE_KB}; exec \"$0\" \"$@\"")).arg(binary);
    command.args(arguments.split(' ').map(|word| if word == "@" { named } else { word }));
    let home = ground.folder().join("home");
    command
        .current_dir(ground.folder().join("tree"))
        .env_clear()
        .env("PATH", ground.folder().join("bin"))
        .env("HOME", &home)
        .env("USER", "nobody")
        .env("TOKEN", CANARY)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null());
    let out = tempfile::NamedTempFile::new().expect("room");
    command.stdout(out.reopen().expect("ours")).stderr(out.reopen().expect("ours"));
    // Both streams append to the same file.
    let append = || std::fs::File::options().append(true).open(out.path()).expect("ours");
    command.stdout(append()).stderr(append());
    let began = Instant::now();
    let mut child = command.spawn().expect("a shell");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut resident_kb = 0;
    let code = loop {
        // Between `fork` and `exec`, the child process shares the memory of this one and has its name: the peak would
        // be that of all tests together.
        if let Ok(text) = std::fs::read_to_string(&status)
            && text.lines().next() == Some("Name:\tankus")
            && let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:"))
            && let Some(number) = line.split_whitespace().nth(1)
        {
            resident_kb = resident_kb.max(number.parse().unwrap_or(0));
        }
        if let Some(ended) = child.try_wait().expect("our child") {
            break ended.code();
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("our child");
            child.wait().expect("our child");
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let out = std::fs::read(out.path()).expect("ours");
    Ran { code, out, took: began.elapsed(), resident_kb }
}

/// Adds what is wrong with an output, whatever the command.
fn faults_of_text(out: &[u8], arguments: &str, faults: &mut Vec<String>) {
    if out.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()) {
        faults.push("the secret came out".to_owned());
    }
    let text = String::from_utf8_lossy(out);
    let is_raw = |c: &char| {
        let is_control = c.is_control() && !matches!(c, '\n' | '\t');
        // Lines of an iCalendar file end with CR LF.
        let is_line = *c == '\r' && arguments.contains("ics");
        let is_bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
        (is_control && !is_line) || is_bidi
    };
    if let Some(raw) = text.chars().find(is_raw) {
        let line = text.lines().find(|line| line.contains(raw)).unwrap_or_default();
        faults.push(format!("{raw:?} came out, in {line:?}"));
    }
    for line in text.lines() {
        let own = ["::error ", "::warning ", "::notice "];
        let is_own = arguments.contains("github") && own.iter().any(|own| line.starts_with(own));
        if (line.starts_with("::") || line.starts_with("##[") || line.starts_with("##vso"))
            && !is_own
        {
            faults.push(format!("a command of a CI system came out: {line:?}"));
        }
        if arguments.contains("csv") && line.starts_with(['=', '+', '-', '@']) {
            faults.push(format!("a formula came out: {line:?}"));
        }
    }
    if text.contains("panicked") || text.contains("overflowed its stack") {
        faults.push(format!("it panicked: {}", &text[..text.len().min(400)]));
    }
}

/// The commands for the tree at index `at`.
fn commands(at: usize) -> impl Iterator<Item = &'static &'static str> {
    let every = std::env::var_os("ANKUS_EVERY_FORMAT").is_some();
    let is_its = move |form: usize| every || form % ONE_IN == at % ONE_IN;
    let forms = FORMS.iter().enumerate().filter(move |(form, _)| is_its(*form));
    COMMANDS.iter().chain(forms.map(|(_, command)| command)).chain(CHANGING)
}

fn try_attack(at: usize, attack: &Attack) -> Vec<String> {
    let folder = tempfile::tempdir().expect("room");
    let ground = Ground::new(&folder.path().canonicalize().expect("it is there"));
    (attack.build)(&ground);
    let mut faults = Vec::new();
    let mut before = state(ground.folder());
    for arguments in commands(at) {
        let changes = CHANGING.contains(arguments);
        let ran = run(&ground, arguments, attack);
        let mut own = Vec::new();
        match ran.code {
            Some(0..=2) => {}
            code => own.push(format!("it ended with {code:?} after {:?}", ran.took)),
        }
        if ran.resident_kb > RESIDENT_KB {
            own.push(format!("it took {} kB of memory", ran.resident_kb));
        }
        faults_of_text(&ran.out, arguments, &mut own);
        if ground.folder().join("ran").exists() {
            let ran = std::fs::read_to_string(ground.folder().join("ran")).unwrap_or_default();
            own.push(format!("a program was started: {ran}"));
            let _ = std::fs::remove_file(ground.folder().join("ran"));
        }
        let after = state(ground.folder());
        for (path, what) in &after {
            let is_result = path.parent() == Some(&ground.folder().join("tree"))
                && path
                    .file_name()
                    .is_some_and(|name| RESULTS.iter().any(|result| name == *result))
                && before.get(path).is_none_or(|before| !before.starts_with("link"));
            let is_tree = changes && path.starts_with(ground.folder().join("tree"));
            let is_asked = is_result || (is_tree && !what.starts_with("link"));
            // Cached results, in the user's own folder.
            let is_kept = path.starts_with(ground.folder().join("home"));
            if before.get(path) != Some(what) && !is_asked && !is_kept {
                own.push(format!("it wrote {}", path.as_os_str().as_bytes().escape_ascii()));
            }
        }
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        own.extend(
            gone.map(|path| format!("it removed {}", path.as_os_str().as_bytes().escape_ascii())),
        );
        before = after;
        if attack.hides_error {
            let text = String::from_utf8_lossy(&ran.out);
            match *arguments {
                "check @" => {
                    let said = ["suppressed", "left out", "switched off", "excluded"];
                    let green = ran.code == Some(0);
                    if green && !said.iter().any(|word| text.contains(word)) {
                        own.push(format!("nothing is said of what was silenced: {text}"));
                    }
                }
                "check --isolated @" if ran.code != Some(1) => {
                    own.push(format!("the error was not found: {text}"));
                }
                _ => {}
            }
        }
        faults.extend(
            own.into_iter().map(|fault| format!("{}: ankus {arguments}: {fault}", attack.name)),
        );
    }
    faults
}

#[test]
fn nothing_gets_out_of_a_tree() {
    let all: Vec<&Attack> = attacks().collect();
    assert!(all.len() >= 80, "{} attacks", all.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(attack) = all.get(at) else { break };
                    let found = try_attack(at, attack);
                    faults.lock().expect("no thread panics").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics");
    println!("agree {} of {} attacks", all.len() - faults.len().min(all.len()), all.len());
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// Applications whose properties hold a secret wherever a value is expected.
const VALUES: &[(&str, &[(&str, &str)])] = &[
    (
        "workflow.xml",
        &[(
            "workflow.xml",
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='${v}'>\n<global><job-tracker>${v}</job-tracker><name-node>${v}</name-node><job-xml>${v}</job-xml></global>\n<start to='a'/>\n\
             <action name='a' retry-max='${v}' cred='${v}'><shell xmlns='uri:oozie:shell-action:0.3'><exec>${v}</exec><argument>${v}</argument><env-var>${v}</env-var><file>${v}</file></shell><ok to='b'/><error to='${v}'/></action>\n\
             <action name='b'><sub-workflow><app-path>${v}/x</app-path></sub-workflow><ok to='c'/><error to='end'/></action>\n\
             <action name='c'><fs><mkdir path='${v}'/><chmod path='${v}' permissions='${v}'/><move source='${v}' target='${v}'/></fs><ok to='e'/><error to='end'/></action>\n\
             <action name='e'><email xmlns='uri:oozie:email-action:0.2'><to>${v}</to><subject>${v}</subject><body>${v}</body><attachment>${v}</attachment></email><ok to='d'/><error to='end'/></action>\n\
             <decision name='d'><switch><case to='end'>${v}</case><case to='f'>${v eq 1}</case><case to='f'>${wf:actionData(v)[v]}</case><case to='f'>${v gt 7}</case><case to='f'>${fs:exists(v)}</case><case to='f'>${hcat:exists(v)}</case><default to='f'/></switch></decision>\n\
             <action name='f'><java><job-tracker>j</job-tracker><name-node>n</name-node><prepare><delete path='${v}'/></prepare><configuration><property><name>mapred.output.dir</name><value>${v}</value></property></configuration><main-class>${v}</main-class></java><ok to='end'/><error to='end'/></action>\n\
             <end name='end'/>\n</workflow-app>",
        )],
    ),
    (
        "coordinator.xml",
        &[(
            "coordinator.xml",
            "<coordinator-app xmlns='uri:oozie:coordinator:0.5' name='${v}' frequency='AT' start='AS' end='AE' timezone='AZ'>\n<controls><timeout>AC</timeout><concurrency>AC</concurrency><execution>AX</execution></controls>\n\
             <datasets><include>AI</include><dataset name='d' frequency='AF' initial-instance='AD' timezone='AY'><uri-template>${v}/${YEAR}</uri-template><done-flag>${v}</done-flag></dataset></datasets>\n\
             <input-events><data-in name='i' dataset='AN'><instance>AM</instance></data-in></input-events>\n\
             <action><workflow><app-path>${v}</app-path><configuration><property><name>p</name><value>${v}</value></property></configuration></workflow></action>\n</coordinator-app>",
        )],
    ),
    (
        "bundle.xml",
        &[
            (
                "bundle.xml",
                "<bundle-app xmlns='uri:oozie:bundle:0.2' name='${v}'><controls><kick-off-time>${v}</kick-off-time></controls>\n<coordinator name='${v}'><app-path>${v}</app-path><configuration><property><name>p</name><value>${v}</value></property></configuration></coordinator>\n\
                 <coordinator name='c'><app-path>c/coordinator.xml</app-path><configuration><property><name>start</name><value>${v}</value></property></configuration></coordinator>\n</bundle-app>",
            ),
            (
                "c/coordinator.xml",
                "<coordinator-app xmlns='uri:oozie:coordinator:0.5' name='c' frequency='5' start='${start}' end='2030-01-01T00:00Z' timezone='UTC'><action><workflow><app-path>/x</app-path></workflow></action></coordinator-app>",
            ),
        ],
    ),
];

/// The value of each attribute of the coordinator, except the one that is tried.
const ATTRIBUTES: [(&str, &str); 12] = [
    ("AT", "${coord:days(1)}"),
    ("AS", "2020-01-01T00:00Z"),
    ("AE", "2030-01-01T00:00Z"),
    ("AZ", "UTC"),
    ("AC", "5"),
    ("AX", "FIFO"),
    ("AI", "${nameNode}/x.xml"),
    ("AF", "${coord:days(1)}"),
    ("AD", "2020-01-01T00:00Z"),
    ("AY", "UTC"),
    ("AN", "d"),
    ("AM", "${coord:current(0)}"),
];

/// Findings contain names of properties and the form of values, but never the values.
#[test]
fn values_of_properties_are_in_no_finding() {
    let mut faults = Vec::new();
    let mut told = 0;
    for (main, files) in VALUES {
        let tries: &[(&str, &str)] =
            if *main == "coordinator.xml" { &ATTRIBUTES } else { &[("", "")] };
        for (tried, _) in tries {
            for value in [
                CANARY.to_owned(),
                format!("hdfs://{CANARY}:8020/{CANARY}"),
                format!("{CANARY}${{w}}"),
            ] {
                let folder = tempfile::tempdir().expect("room");
                let path = |name: &str| folder.path().join(name);
                std::fs::create_dir_all(path(".git")).expect("a folder");
                std::fs::create_dir_all(path("c")).expect("a folder");
                for (name, text) in *files {
                    let mut text = (*text).to_owned();
                    for (place, usual) in ATTRIBUTES {
                        let own = if place == *tried { "${v}" } else { usual };
                        text = text.replace(place, own);
                    }
                    std::fs::write(path(name), text).expect("a file");
                }
                let keys = ["wf", "coord", "bundle"];
                let paths =
                    keys.map(|key| format!("oozie.{key}.application.path={value}/{main}\n"));
                let own = paths
                    [keys.iter().position(|key| main.starts_with(&key[..1])).unwrap_or(0)]
                .clone();
                let text = format!(
                    "v={value}\nw={CANARY}\nnameNode={value}\njobTracker={value}\n{own}oozie.wf.workflow.notification.url=http://{CANARY}/x\n"
                );
                std::fs::write(path("job.properties"), text).expect("a file");
                let defaults = format!(
                    "<configuration><property><name>user.x</name><value>{CANARY}</value></property><property><name>y</name><value>${{{CANARY}</value></property></configuration>"
                );
                std::fs::write(path("config-default.xml"), defaults).expect("a file");
                for format in [
                    "human",
                    "concise",
                    "json",
                    "jsonl",
                    "sarif",
                    "github",
                    "gitlab",
                    "junit",
                    "checkstyle",
                    "rdjson",
                ] {
                    let arguments = ["check", "--profile", "strict", "--format", format, "."];
                    let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
                        .args(arguments)
                        .current_dir(folder.path())
                        .env_remove("ANKUS_USER_CONFIG")
                        .output()
                        .expect("the program starts");
                    let all = [output.stdout, output.stderr].concat();
                    let all = String::from_utf8_lossy(&all);
                    told += all.lines().count();
                    if let Some(line) = all.lines().find(|line| line.contains(CANARY)) {
                        let line: String = line.chars().take(400).collect();
                        faults.push(format!("{main} {tried}, {format}: {line}"));
                        break;
                    }
                }
            }
        }
    }
    assert!(told > 1_000, "there was something to say: {told} lines");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// A baseline that the user names applies, whatever the tree says; one that lies in the tree does not.
#[test]
fn a_baseline_that_is_named_counts_for_an_isolated_check() {
    let folder = tempfile::tempdir().expect("room");
    let ankus = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_ankus");
        let output = Command::new(program).args(arguments).current_dir(folder.path()).output();
        output.expect("the program starts").status.code()
    };
    std::fs::create_dir(folder.path().join(".git")).expect("a folder");
    let text = "<workflow-app name='a' xmlns='uri:oozie:workflow:0.5'><start to='x'/><end name='e'/></workflow-app>";
    std::fs::write(folder.path().join("workflow.xml"), text).expect("a file");
    assert_eq!(ankus(&["check", "--isolated"]), Some(1));
    assert_eq!(ankus(&["check", "--write-baseline", "baseline.json"]), Some(0));
    assert_eq!(ankus(&["check", "--isolated"]), Some(1));
    assert_eq!(ankus(&["check", "--isolated", "--baseline", "baseline.json"]), Some(0));
}

/// A file that is replaced by a link during the check gives access to nothing else.
#[test]
fn a_file_that_changes_under_the_check_leads_nowhere() {
    let folder = tempfile::tempdir().expect("room");
    let ground = Ground::new(&folder.path().canonicalize().expect("it is there"));
    let app = ground.folder().join("tree/app");
    std::fs::create_dir_all(&app).expect("a folder");
    let workflow = "<workflow-app name='a' xmlns='uri:oozie:workflow:0.5'><start to='${x}'/><end name='e'/></workflow-app>";
    std::fs::write(app.join("workflow.xml"), workflow).expect("a file");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let names = ["job.properties", "config-default.xml", "workflow.xml"];
            let mut round = 0_usize;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let name = names[round % names.len()];
                let (new, real) = (app.join("new"), app.join(name));
                let kept = std::fs::read(&real).unwrap_or_else(|_| workflow.into());
                let secret = ["secret", "secret.xml", "workflow.xml"][round % names.len()];
                let _ =
                    std::os::unix::fs::symlink(ground.folder().join("outside").join(secret), &new);
                let _ = std::fs::rename(&new, &real);
                let _ = std::fs::write(
                    &new,
                    if name == "workflow.xml" { workflow.into() } else { kept },
                );
                let _ = std::fs::rename(&new, &real);
                // The same for the folder itself.
                let (app_link, aside) =
                    (ground.folder().join("tree/link"), ground.folder().join("tree/aside"));
                let _ = std::os::unix::fs::symlink(ground.folder().join("outside"), &app_link);
                let _ = std::fs::rename(&app, &aside);
                let _ = std::fs::rename(&app_link, &app);
                let _ = std::fs::remove_file(&app);
                let _ = std::fs::rename(&aside, &app);
                round += 1;
            }
        });
        for _ in 0..40 {
            for arguments in ["check --format json .", "params app", "check --fix ."] {
                let output = Command::new(env!("CARGO_BIN_EXE_ankus"))
                    .args(arguments.split(' '))
                    .current_dir(ground.folder().join("tree"))
                    .stdin(Stdio::null())
                    .output()
                    .expect("the program starts");
                let all = [output.stdout, output.stderr].concat();
                let is_out = all.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
                if is_out {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                    panic!("{arguments}: {}", String::from_utf8_lossy(&all));
                }
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let secret = std::fs::read_to_string(ground.folder().join("outside/secret")).expect("ours");
    assert!(secret.contains(CANARY), "what lies outside was not written to");
    let outside =
        std::fs::read_to_string(ground.folder().join("outside/workflow.xml")).expect("ours");
    assert!(outside.contains(CANARY), "what lies outside was not written to");
}
