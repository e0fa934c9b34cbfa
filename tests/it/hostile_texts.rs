//! Small inputs must not be expensive to read.
//!
//! `cargo xtask attack` measures the same files in full size, with every read-only command.

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

/// The result of a check.
struct Checked {
    code: Option<i32>,
    said: String,
    /// Processor time, because the machine may be busy with other things.
    time: Duration,
}

fn check(attack: &Attack, size: usize) -> Checked {
    let folder = tempfile::tempdir().expect("there is room for temporary files");
    // The search for settings stops at this folder.
    std::fs::create_dir(folder.path().join(".git")).expect("the folder can be written to");
    let tree = (attack.make)(size);
    for (path, bytes) in &tree.files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("the folder can be written to");
    }
    let said = tempfile::NamedTempFile::new().expect("there is room for temporary files");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ankus"))
        .args(["check", "--format", "concise", "--timeout", "0", tree.main])
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
    Checked { code, said: std::fs::read_to_string(said.path()).unwrap_or_default(), time }
}

/// What is wrong with the result of a check, if anything.
fn fault_of_end(checked: &Checked) -> Option<String> {
    // A file that is too large to be read is refused in one sentence, and so are settings that exceed a limit.
    let refused = checked.said.contains("the most") || checked.said.contains("ankus.toml");
    match checked.code {
        Some(0 | 1) => None,
        Some(2) if refused => None,
        code => Some(format!("ended with {code:?} after {:?}: {}", checked.time, checked.said)),
    }
}

fn fault(attack: &Attack) -> Option<String> {
    // An attack by depth cannot be scaled down.
    if attack.size < 1_000 {
        return fault_of_end(&check(attack, attack.size));
    }
    let size = attack.size / PART;
    let half = check(attack, size / 2);
    let fault = fault_of_end(&half);
    // With quadratic growth, the whole takes four times as long as the half.
    if fault.is_some() || half.time * 4 < LITTLE {
        return fault;
    }
    // Linear growth up to the half is assumed to continue; if the growth is not linear, it may have reached its bound
    // there.
    if half.time >= LITTLE && too_much(&half, &check(attack, size / 4)).is_none() {
        return None;
    }
    let whole = check(attack, size);
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

#[test]
fn no_single_file_keeps_a_check_busy() {
    // A fault counts only if it occurs twice, because the machine may have been busy.
    let wrong: Vec<String> = attacks()
        .filter(|attack| fault(attack).is_some())
        .filter_map(|attack| Some(format!("{}: {}", attack.name, fault(attack)?)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
