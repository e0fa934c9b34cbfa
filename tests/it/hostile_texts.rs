//! Small inputs must not be expensive to read.
//!
//! `cargo xtask attack` measures the same files in full size, with every read-only command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../../fixtures/hostile/texts.rs"]
mod texts;

use texts::{Attack, attacks};

/// An attack of quadratic cost takes a four-hundredth of the time at a twentieth of its size, which is still long
/// enough to be noticed here: the attacks that were kept took minutes in a program without optimization.
const PART: usize = 20;
/// Checks that take less processor time than this are never at fault.
const LITTLE: Duration = Duration::from_secs(3);
/// A check that takes longer than this is aborted.
const MOST: Duration = Duration::from_secs(240);
/// The factor by which doubling the size may increase the time; quadratic growth would be 4.
const GROWTH: f64 = 3.0;

/// The arguments of the commands, before the file.
const CHECK: &[&str] = &["check", "--format", "concise", "--timeout", "0"];
/// The output folder of conversions.
const OUT: &str = "out";
/// The report of conversions.
const REPORT: &str = "report.html";

/// The result of a command.
struct Checked {
    code: Option<i32>,
    said: String,
    /// Processor time, because the machine may be busy with other things.
    time: Duration,
    /// A file that it wrote outside its output folder.
    stray: Option<PathBuf>,
}

fn run(command: &[&str], attack: &Attack, size: usize) -> Checked {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    // The search for settings stops at this folder.
    std::fs::create_dir(folder.path().join(".git")).expect("the folder can be written to");
    let tree = (attack.make)(size);
    for (path, bytes) in &tree.files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("the folder can be written to");
    }
    let before = files(folder.path());
    let said = tempfile::NamedTempFile::new().expect("there is room for temporary files");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(command)
        .arg(tree.main)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said.reopen().expect("it is ours"))
        .spawn()
        .expect("the program starts");
    let status = format!("/proc/{}/stat", child.id());
    let mut time = Duration::ZERO;
    let code = loop {
        // After the program's name in parentheses: the 12th and 13th field, in hundredths of a second.
        let words = std::fs::read_to_string(&status).unwrap_or_default();
        let words = words.rsplit_once(')').map_or("", |(_, rest)| rest).split(' ');
        let spent: u64 = words.skip(12).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
        time = time.max(Duration::from_millis(spent * 10));
        if let Some(ended) = child.try_wait().expect("it is our child") {
            break ended.code();
        }
        if time > MOST {
            child.kill().expect("it is our child");
            child.wait().expect("it is our child");
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let stray = files(folder.path())
        .into_iter()
        .find(|file| !before.contains(file) && !file.starts_with(OUT) && file != Path::new(REPORT));
    Checked { code, said: std::fs::read_to_string(said.path()).unwrap_or_default(), time, stray }
}

/// Returns the paths of the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(&next).expect("it is ours").flatten() {
            let path = entry.path();
            match entry.file_type().expect("it is ours").is_dir() {
                true => todo.push(path),
                false => found.push(path.strip_prefix(folder).expect("below it").to_owned()),
            }
        }
    }
    found
}

/// What is wrong with the result of a check, if anything.
fn fault_of_end(checked: &Checked) -> Option<String> {
    // A file that is too large to be read is refused in one sentence, and so are settings that exceed a limit.
    let refused = checked.said.contains("the most") || checked.said.contains("ankus.toml");
    if let Some(stray) = &checked.stray {
        return Some(format!("wrote {}", stray.display()));
    }
    match checked.code {
        Some(0 | 1) => None,
        Some(2) if refused => None,
        code => Some(format!("ended with {code:?} after {:?}: {}", checked.time, checked.said)),
    }
}

fn fault(command: &[&str], attack: &Attack) -> Option<String> {
    // An attack by depth cannot be scaled down.
    if attack.size < 1_000 {
        return fault_of_end(&run(command, attack, attack.size));
    }
    let size = attack.size / PART;
    let half = run(command, attack, size / 2);
    let fault = fault_of_end(&half);
    // With quadratic growth, the whole takes four times as long as the half.
    if fault.is_some() || half.time * 4 < LITTLE {
        return fault;
    }
    // Linear growth up to the half is assumed to continue; if the growth is not linear, it may have reached its bound
    // there.
    if half.time >= LITTLE && too_much(&half, &run(command, attack, size / 4)).is_none() {
        return None;
    }
    let whole = run(command, attack, size);
    fault_of_end(&whole).or_else(|| {
        let growth = too_much(&whole, &half).filter(|_| whole.time >= LITTLE)?;
        Some(format!(
            "{:?} for {size}, {:?} for half of it: {growth:.1} times",
            whole.time, half.time
        ))
    })
}

/// The growth from the half to the whole, if it is too large.
fn too_much(whole: &Checked, half: &Checked) -> Option<f64> {
    let growth = whole.time.as_secs_f64() / half.time.as_secs_f64().max(0.01);
    (growth > GROWTH).then_some(growth)
}

/// The faults of a command that occur with any attack.
fn faults(command: &[&str]) -> Vec<String> {
    // A fault counts only if it occurs twice, because the machine may have been busy.
    attacks()
        .filter(|attack| fault(command, attack).is_some())
        .filter_map(|attack| Some(format!("{}: {}", attack.name, fault(command, attack)?)))
        .collect()
}

#[test]
fn no_single_file_keeps_a_check_busy() {
    let wrong = faults(CHECK);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The other targets together take minutes: `cargo xtask attack` tries them.
#[test]
fn no_single_file_keeps_a_conversion_busy() {
    let wrong = faults(&["convert", "--to", "airflow", "-o", OUT, "--report", REPORT]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
