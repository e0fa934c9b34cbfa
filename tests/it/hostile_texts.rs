//! What is small to send must not be dear to read.
//!
//! `cargo xtask attack` measures the same files in full size, with every command that looks.

use std::process::{Command, Stdio};

#[path = "../../fixtures/hostile/texts.rs"]
mod texts;

use texts::ATTACKS;

/// What takes the square of its size at a twentieth of it takes a four-hundredth of the time, which is still long enough to
/// be noticed here: attacks were kept that took a program without optimization minutes.
const PART: usize = 20;

#[test]
fn no_single_file_keeps_a_check_busy() {
    let mut wrong = Vec::new();
    for attack in ATTACKS {
        let folder = tempfile::tempdir().expect("there is room for temporary files");
        // The search for settings ends here.
        std::fs::create_dir(folder.path().join(".git")).expect("the folder can be written to");
        let size = match attack.size {
            // Depths stay what they are.
            0..1_000 => attack.size,
            size => size / PART,
        };
        let tree = (attack.make)(size);
        for (path, bytes) in &tree.files {
            std::fs::write(folder.path().join(path), bytes).expect("the folder can be written to");
        }
        let program = env!("CARGO_BIN_EXE_ankus");
        let output = Command::new(program)
            .args(["check", "--format", "concise", "--timeout", "90", tree.main])
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let code = output.status.code();
        // What is too large to be read is refused in one sentence.
        let refused =
            String::from_utf8_lossy(&output.stderr).contains("the most that is read of it");
        let answered = matches!(code, Some(0 | 1)) || (refused && code == Some(2));
        if !answered && !tree.files.iter().any(|(path, _)| path.ends_with(".toml")) {
            let why = String::from_utf8_lossy(&output.stderr);
            wrong.push(format!("{}: ended with {code:?}: {why}", attack.name));
        } else if code.is_none() {
            wrong.push(format!("{}: killed", attack.name));
        } else if said.contains("check-timed-out") {
            wrong.push(format!("{}: not back after 90 s", attack.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
