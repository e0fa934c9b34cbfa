//! The reference folders next to the project, and the agreement of ankus with them.
//!
//! They are not part of the project, so other clones lack them and skip the tests that need one. Where they are
//! required (`ANKUS_REQUIRE_SHARED=1`, as `.ci/run` sets if the folder exists), their absence is a failure. The numbers
//! of agreeing answers are compared with `tests/floors.txt`; `cargo xtask floors` raises the floors.

use std::path::{Path, PathBuf};

/// The project's root.
pub(crate) fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_root = |folder: &&Path| folder.join("Cargo.lock").is_file();
    package.ancestors().find(is_root).expect("every package lies in the project").to_owned()
}

/// The folder of facts next to the project, or at the path in `variable`; prints a message if it is absent.
#[track_caller]
pub(crate) fn folder(variable: &str, name: &str) -> Option<PathBuf> {
    let beside = root().join("../shared").join(name);
    let folder = std::env::var_os(variable).map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    absent(&format!("{variable} is not set and {} is not a folder", folder.display()));
    None
}

/// The text of a file in such a folder.
#[track_caller]
pub(crate) fn file(variable: &str, name: &str, file: &str) -> Option<String> {
    let path = folder(variable, name)?.join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        absent(&format!("{} cannot be read", path.display()));
    }
    text
}

#[track_caller]
fn absent(why: &str) {
    let is_required = std::env::var_os("ANKUS_REQUIRE_SHARED").is_some_and(|value| value == "1");
    assert!(!is_required, "ANKUS_REQUIRE_SHARED is set, but {why}");
    println!("skipped: {why}");
}

/// Prints how many answers agree, and fails if there are fewer than the floor. The floor applies only to the facts for
/// which it was recorded.
#[track_caller]
pub(crate) fn agree(what: &str, agreed: usize, of: usize) {
    println!("{what}: agree {agreed} of {of}");
    let path = root().join("tests/floors.txt");
    let floors = std::fs::read_to_string(&path).unwrap_or_default();
    let line = |line: &str| {
        let (name, counts) = line.split_once(": ")?;
        let (floor, all) = counts.split_once(" of ")?;
        (name == what).then_some((floor.parse::<usize>().ok()?, all.parse::<usize>().ok()?))
    };
    let floor = floors.lines().find_map(line);
    if let Some((floor, all)) = floor
        && all == of
    {
        assert!(agreed >= floor, "{what}: {agreed} of {of} agree, and it was {floor}");
    }
    if std::env::var_os("ANKUS_RAISE_FLOORS").is_some() {
        // One file per floor, because tests run in parallel; `cargo xtask floors` merges them.
        let folder = root().join("target/floors");
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let name: String =
            what.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
        std::fs::write(folder.join(name), format!("{what}: {agreed} of {of}\n")).expect("writable");
    } else {
        assert!(
            floor.is_some(),
            "{what} has no line in tests/floors.txt; `cargo xtask floors` adds it"
        );
    }
}
