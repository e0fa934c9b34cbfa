//! Every command that looks, over trees that attack it: nothing is started, nothing outside is read or written, nothing
//! hangs, and no control character comes out.

#[path = "../../fixtures/hostile/trees.rs"]
mod trees;

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use trees::{ATTACKS, Attack, CANARY, Ground};

/// The longest that a command may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The address space that it gets, in kB, and the memory that it may fill.
const SPACE_KB: u64 = 4 << 20;
const RESIDENT_KB: u64 = 1 << 20;

/// What is run on every tree; `@` stands for what is named.
const COMMANDS: &[&str] = &[
    "check @",
    "check --isolated @",
    "check --format concise @",
    "check --format json @",
    "check --format jsonl @",
    "check --format sarif @",
    "check --format github @",
    "check --format gitlab @",
    "check --format junit @",
    "check --format checkstyle @",
    "check --format rdjson @",
    "check --diff --unsafe-fixes @",
    "check --statistics @",
    "check --output out.json --format json @",
    "check --write-baseline baseline.json @",
    "params @",
    "params --format json @",
    "params --format properties @",
    "graph @",
    "graph --format svg -o out.svg @",
    "graph --format mermaid @",
    "graph --format json --data @",
    "graph --format d2 --expand-sub-workflows @",
    "inventory @",
    "inventory --format json @",
    "inventory --format csv @",
    "inventory --format html -o out.html @",
    "compile -o out.plan @",
    "fmt --check @",
    "fmt --diff @",
    "upgrade --to 1.0 --diff @",
    "diff @ @",
    "timeline @",
    "timeline --format json @",
    "timeline --format ics @",
    "timeline --format csv @",
    "run --dry-run @",
    "run --simulate @",
    "config show @",
    "test @",
    "test --format junit @",
];

/// What changes files because it was asked to; the tree may change, and nothing else.
const CHANGING: &[&str] =
    &["check --fix --unsafe-fixes @", "fmt @", "upgrade --to 1.0 @", "test --init @"];

/// What a command may write.
const RESULTS: &[&str] = &["out.json", "baseline.json", "out.svg", "out.html", "out.plan"];

/// Everything on the ground with what it holds: a digest of content, or the target of a link.
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
                let content = std::fs::read(&path).expect("ours");
                format!("{:o} {:?}", metadata.mode(), content)
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

/// Runs a command in the tree, with bounds.
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
    // Both streams go on from where the file ends.
    let append = || std::fs::File::options().append(true).open(out.path()).expect("ours");
    command.stdout(append()).stderr(append());
    let began = Instant::now();
    let mut child = command.spawn().expect("a shell");
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut resident_kb = 0;
    let code = loop {
        if let Ok(text) = std::fs::read_to_string(&status)
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

/// What is wrong with an output as such.
fn faults_of_text(out: &[u8], arguments: &str, faults: &mut Vec<String>) {
    if out.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()) {
        faults.push("the secret came out".to_owned());
    }
    let text = String::from_utf8_lossy(out);
    let is_raw = |c: &char| {
        let is_control = c.is_control() && !matches!(c, '\n' | '\t');
        // A calendar ends its lines so.
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

fn try_attack(attack: &Attack) -> Vec<String> {
    let folder = tempfile::tempdir().expect("room");
    let ground = Ground::new(&folder.path().canonicalize().expect("it is there"));
    (attack.build)(&ground);
    let mut faults = Vec::new();
    for arguments in COMMANDS.iter().chain(CHANGING) {
        let changes = CHANGING.contains(arguments);
        let before = state(ground.folder());
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
            // Kept answers, in the user's own folder.
            let is_kept = path.starts_with(ground.folder().join("home"));
            if before.get(path) != Some(what) && !is_asked && !is_kept {
                own.push(format!("it wrote {}", path.as_os_str().as_bytes().escape_ascii()));
            }
        }
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        own.extend(
            gone.map(|path| format!("it removed {}", path.as_os_str().as_bytes().escape_ascii())),
        );
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
    assert!(ATTACKS.len() >= 80, "{} attacks", ATTACKS.len());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(attack) = ATTACKS.get(at) else { break };
                    let found = try_attack(attack);
                    faults.lock().expect("no thread panics").extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics");
    println!(
        "agree {} of {} attacks",
        ATTACKS.len() - faults.len().min(ATTACKS.len()),
        ATTACKS.len()
    );
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
