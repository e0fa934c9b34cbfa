//! Measures time and memory of every read-only command, on files that were made to be expensive.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../../fixtures/hostile/texts.rs"]
mod texts;

use texts::{Tree, attacks};

/// Time-out of a command.
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands for workflows; `@` stands for the file.
const ON_WORKFLOWS: &[&str] = &[
    "check --format human @",
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
    "check --isolated --profile strict @",
    "check --profile migration @",
    "check --profile style @",
    "check --write-baseline base.json @",
    "check --target 3.3.2 @",
    "params @",
    "params --format json @",
    "params --format properties @",
    "graph @",
    "graph --format svg @",
    "graph --format html @",
    "graph --format mermaid @",
    "graph --format json @",
    "graph --format d2 @",
    "graph --data @",
    "graph --expand-sub-workflows @",
    "compile -o @.plan @",
    "fmt --check @",
    "fmt --diff @",
    "inventory .",
    "inventory --format json .",
    "inventory --format csv .",
    "inventory --format html .",
    "diff @ @",
    "diff @ @.other",
    "upgrade --to 1.0 --diff @",
    "run --dry-run @",
    "run --simulate @",
    "config show @",
    "test .",
    "check .",
    "convert --report @.json .",
    "convert --to argo --report @.json .",
    "convert --to databricks --report @.json .",
    "convert --to prefect --report @.json .",
    "convert --to step-functions --report @.json .",
];

/// The commands for coordinators and bundles.
const ON_OTHERS: &[&str] = &[
    "check --format human @",
    "check --format json @",
    "check --format sarif @",
    "check --format junit @",
    "check --diff --unsafe-fixes @",
    "check --profile migration @",
    "params @",
    "params --format json @",
    "graph @",
    "graph --format svg @",
    "graph --data @",
    "timeline @",
    "timeline --format json @",
    "timeline --format svg @",
    "timeline --format ics @",
    "timeline --format csv @",
    "fmt --diff @",
    "inventory .",
    "inventory --format html .",
    "diff @ @",
    "diff @ @.other",
    "upgrade --to 0.5 --diff @",
    "run --dry-run @",
    "run --simulate @",
    "test .",
    "check .",
    "convert --report @.json .",
    "convert --to argo --report @.json .",
    "convert --to databricks --report @.json .",
    "convert --to prefect --report @.json .",
    "convert --to step-functions --report @.json .",
];

/// The result of a command.
struct Measured {
    /// CPU time, since other processes may use the machine too.
    time: Duration,
    kilobytes: u64,
    code: String,
}

/// Measures every attack whose name contains `only`, with `program`, and prints what was slow or large.
pub(crate) fn all(
    program: &Path,
    only: &str,
    commands: &str,
    every: bool,
    scale: f64,
) -> Result<(), String> {
    let base = std::env::temp_dir().join(format!("ankus-attack-{}", std::process::id()));
    let mut worst = Vec::new();
    for attack in attacks().filter(|attack| attack.name.contains(only)) {
        let size = ((attack.size as f64 * scale) as usize).max(1);
        let tree = (attack.make)(size);
        let folder = base.join(attack.name);
        let main = written(&folder, &tree)?;
        let list = if tree.main == "workflow.xml" { ON_WORKFLOWS } else { ON_OTHERS };
        let mut slowest: Option<(Measured, &str)> = None;
        for command in list.iter().filter(|command| command.contains(commands)) {
            let measured = run(program, command, &folder, &main)?;
            if every || measured.time > Duration::from_secs(1) || measured.kilobytes > 200_000 {
                line(attack.name, command, &measured);
            }
            if slowest.as_ref().is_none_or(|(known, _)| known.time < measured.time) {
                slowest = Some((measured, command));
            }
        }
        if let Some((measured, command)) = slowest {
            worst.push((attack.name, command, measured));
        }
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    println!("\nthe slowest command of each:");
    for (name, command, measured) in worst {
        line(name, command, &measured);
    }
    Ok(())
}

fn line(name: &str, command: &str, measured: &Measured) {
    println!(
        "{name:40} {command:34} {:>8.2} s {:>7} MB  {}",
        measured.time.as_secs_f64(),
        measured.kilobytes / 1024,
        measured.code
    );
}

/// Writes a tree to a folder; returns the path of its main file.
fn written(folder: &Path, tree: &Tree) -> Result<PathBuf, String> {
    let write = |path: &Path, bytes: &[u8]| {
        std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    // Ends the search for settings.
    std::fs::create_dir_all(folder.join(".git")).map_err(|error| error.to_string())?;
    for (path, bytes) in &tree.files {
        let path = folder.join(path);
        let parent = path.parent().expect("it lies in a folder");
        std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
        write(&path, bytes)?;
    }
    let main = folder.join(tree.main);
    let text = tree.files.iter().find(|(path, _)| *path == tree.main);
    let text = text.map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned());
    let mut other = main.clone().into_os_string();
    other.push(".other");
    write(Path::new(&other), text.unwrap_or_default().replace("a", "b").as_bytes())?;
    Ok(main)
}

fn run(program: &Path, command: &str, folder: &Path, main: &Path) -> Result<Measured, String> {
    let main = main.to_string_lossy();
    let mut child = Command::new(program)
        .args(command.split(' ').map(|word| word.replace('@', &main)))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let times = PathBuf::from(format!("/proc/{}/stat", child.id()));
    let mut kilobytes = 0;
    let mut time = Duration::ZERO;
    loop {
        // After the program's name in parentheses: the 12th and 13th word, in hundredths of a second.
        let spent = std::fs::read_to_string(&times).unwrap_or_default();
        let spent = spent.rsplit_once(')').map_or("", |(_, rest)| rest).split(' ');
        let spent: u64 = spent.skip(12).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
        time = time.max(Duration::from_millis(spent * 10));
        let peak = std::fs::read_to_string(&status).unwrap_or_default();
        let peak =
            peak.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next());
        kilobytes = peak.and_then(|peak| peak.parse().ok()).unwrap_or(0).max(kilobytes);
        let measured = |code: String| Measured { time, kilobytes, code };
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(measured(status.to_string())),
            None if time > PATIENCE || kilobytes > 4_000_000 => {
                child.kill().map_err(|error| error.to_string())?;
                child.wait().map_err(|error| error.to_string())?;
                return Ok(measured("given up".to_owned()));
            }
            None => std::thread::sleep(Duration::from_millis(3)),
        }
    }
}
