//! Architecture rules: which modules may depend on which, and what every file must contain.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Modules of `src`, from the bottom up, with the modules that each may name. `*` stands for every module above it in
/// this list, as in the map in ARCHITECTURE.md.
const CORE: &[(&str, &str)] = &[
    ("text", ""),
    ("source", ""),
    ("budget", ""),
    ("codes", ""),
    ("diag", "source"),
    ("edit", "text source diag"),
    ("slips", ""),
    ("settings", "text source diag"),
    ("files", "source"),
    ("syntax", "source budget diag files"),
    ("callers", "source slips budget diag files syntax"),
    ("schema", "source budget diag settings syntax"),
    ("ir", "source budget diag syntax"),
    // The pass over expressions gets the site's functions from the settings.
    ("passes", "source budget diag slips settings syntax ir"),
    ("analysis", "source diag syntax ir passes"),
    ("reference", "source budget diag settings syntax schema ir"),
    // A rule reads facts, and some faults are those that the server refuses.
    (
        "lint",
        "source budget diag edit slips settings files syntax callers schema ir passes analysis reference",
    ),
    ("check", "source budget diag settings files syntax schema ir passes analysis reference lint"),
    ("baseline", "text source diag syntax check"),
    ("mend", "source budget syntax diag edit files check emit"),
    // Pictures are drawn of any workflow; plans are made of checked ones only.
    (
        "emit",
        "text source budget diag edit settings files syntax schema ir passes analysis reference lint check",
    ),
    ("carry", "source budget diag settings syntax ir passes analysis"),
    ("ide", "* -carry"),
    // `render` decides neither which findings there are nor their texts.
    ("render", "text source diag edit settings check baseline"),
];

/// Modules of the language crate.
const LANG: &[(&str, &str)] = &[
    ("action_types", ""),
    ("configuration", ""),
    ("uri", ""),
    ("time", ""),
    ("el", "configuration time"),
    ("plan", "el configuration"),
    ("coordinator", "el time configuration"),
    ("machine", "el time configuration plan coordinator"),
];

/// Modules of the engine.
const ENGINE: &[(&str, &str)] = &[
    ("host", ""),
    ("actions", "host"),
    ("driver", "host actions"),
    ("simulation", "*"),
    ("scenario", "*"),
];

/// Our crates, from the bottom up, with those that each may depend on.
const CRATES: &[(&str, &str)] = &[
    ("runtime/lang", ""),
    ("runtime/procedure", ""),
    ("access", ""),
    ("console", "ankus-lang ankus-procedure ankus-engine"),
    ("runtime/engine", "ankus-lang ankus-procedure"),
    ("runtime/harness", "ankus-lang ankus-procedure ankus-engine"),
    ("", "ankus-lang"),
    ("project", "ankus ankus-engine ankus-lang"),
    ("server", "ankus-access ankus-console ankus-engine ankus-lang ankus-procedure"),
    (
        "cli",
        "ankus ankus-project ankus-engine ankus-lang ankus-procedure ankus-access ankus-console ankus-server",
    ),
];

/// Every file of the project that is not ignored, with its path relative to the root.
fn files() -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut walk = ignore::WalkBuilder::new(crate::root());
    walk.hidden(false).filter_entry(|entry| entry.file_name() != ".git");
    for entry in walk.build() {
        let entry = entry.expect("the project can be read");
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let path = entry.path().strip_prefix(crate::root()).expect("below the root");
            files.push((path.to_string_lossy().replace('\\', "/"), entry.path().to_owned()));
        }
    }
    files.sort();
    files
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files below a folder, each with its top-level module, its path and its text.
fn modules(folder: &str) -> Vec<(String, String, String)> {
    let below = format!("{folder}/");
    let rust = files().into_iter().filter(|(path, _)| path.ends_with(".rs"));
    let inside = rust.filter_map(|(path, place)| {
        let module = path.strip_prefix(&below)?.split('/').next()?.trim_end_matches(".rs");
        (!matches!(module, "lib" | "main")).then(|| (module.to_owned(), path.clone(), text(&place)))
    });
    inside.collect()
}

/// The top-level modules that a text names, with the line; tests may name any module.
fn named(text: &str) -> Vec<(String, usize)> {
    let mut named = Vec::new();
    let code = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]");
    for (at, line) in code.filter(|(_, line)| !line.trim_start().starts_with("//")) {
        for rest in line.split("crate::").skip(1) {
            let group = rest.strip_prefix('{').map_or(rest, |group| group);
            for word in group.split(',').take(if group.len() < rest.len() { usize::MAX } else { 1 })
            {
                let name: String = word
                    .trim()
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                    .collect();
                named.push((name, at + 1));
            }
        }
    }
    named
}

fn check_edges(folder: &str, table: &[(&str, &str)], wrong: &mut Vec<String>) {
    for (module, path, text) in modules(folder) {
        let Some(at) = table.iter().position(|(name, _)| *name == module) else {
            wrong.push(format!("{path}: the module `{module}` has no line in the table"));
            continue;
        };
        let words: Vec<&str> = table[at].1.split(' ').collect();
        for (name, line) in named(&text) {
            let known = table.iter().position(|(other, _)| *other == name);
            let Some(known) = known.filter(|_| name != module) else { continue };
            let all = words.contains(&"*") && known < at;
            if words.contains(&format!("-{name}").as_str()) || !(all || words.contains(&&*name)) {
                wrong.push(format!("{path}:{line}: `{module}` may not know `{name}`"));
            }
        }
    }
}

#[test]
fn modules_know_only_what_they_may() {
    let mut wrong = Vec::new();
    check_edges("src", CORE, &mut wrong);
    check_edges("runtime/lang/src", LANG, &mut wrong);
    check_edges("runtime/engine/src", ENGINE, &mut wrong);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn crates_need_only_what_they_may() {
    let mut wrong = Vec::new();
    for (folder, allowed) in CRATES {
        let manifest = text(&crate::root().join(folder).join("Cargo.toml"));
        let needs = manifest.split_once("\n[dependencies]\n").expect("a table of dependencies").1;
        let needs = needs.split("\n[").next().unwrap_or_default().lines();
        for need in needs.filter_map(|line| Some(line.split_once(" = ")?.0)) {
            if need.starts_with("ankus") && !allowed.split(' ').any(|name| name == need) {
                wrong.push(format!("{folder}/Cargo.toml: may not need `{need}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Files of the command line that may access the disk themselves, with the reason; all others go through
/// `ankus-project`.
const AT_THE_DISK: &[(&str, &str)] = &[
    ("cli/src/check/cache.rs", "kept answers in the user's own folder"),
    ("cli/src/config.rs", "makes a file that is not there"),
    ("cli/src/convert/prove.rs", "a folder of its own, for what Airflow reads and answers"),
    ("cli/src/convert/written.rs", "makes the folders of its output"),
    ("cli/src/doctor.rs", "looks for programs on PATH"),
    (
        "cli/src/fetched.rs",
        "takes away what it brought into the store for a job that was not submitted",
    ),
    ("cli/src/log.rs", "outputs of programs in the store"),
    ("cli/src/man.rs", "makes the folder that was asked for"),
    ("cli/src/serve/access.rs", "accounts, certificates and keys that the command line names"),
    ("cli/src/serve/pages.rs", "unpacks uploaded applications below the root"),
    ("cli/src/serve/traces.rs", "the file of the store that says up to when traces were sent"),
    ("cli/src/stores.rs", "stores and their copies, by the names that were given"),
    ("cli/src/test/first.rs", "makes the folder of scenarios"),
    ("cli/src/test/real.rs", "temporary folders that killed tests have left"),
    ("cli/src/test/timed.rs", "makes the folder of scenarios"),
];

#[test]
fn files_are_opened_at_the_door() {
    let mut wrong = Vec::new();
    for (path, place) in files() {
        let is_ours = path.starts_with("cli/src/") && path.ends_with(".rs");
        let is_named = AT_THE_DISK.iter().any(|(named, _)| *named == path);
        if !is_ours && !is_named {
            continue;
        }
        let text = text(&place);
        let touches =
            ["std::fs", "canonicalize(", ".read_dir("].iter().any(|word| text.contains(word));
        if is_ours && touches && !is_named {
            wrong.push(format!("{path}: opens files; ask `ankus_project` for them"));
        }
        if is_named && !touches {
            wrong.push(format!("{path}: no longer touches the disk, take it out of the list"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn edges_are_found_in_every_form() {
    let text = "use crate::diag::Kind;\nuse crate::{ir, source::Span};\n// crate::lint\nfn f() { crate::el::x() }\n#[cfg(test)]\nuse crate::cli;";
    let names: Vec<String> = named(text).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["diag", "ir", "source", "el"]);
}

#[test]
fn every_module_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for (path, place) in files().iter().filter(|(path, _)| path.ends_with(".rs")) {
        let text = text(place);
        let generated = text.starts_with("// Made from ");
        let opening = text.lines().find(|line| !line.starts_with("#![") && !line.is_empty());
        if !generated && !opening.is_some_and(|line| line.starts_with("//! ")) {
            wrong.push(format!("{path}: opens with `//!` and a sentence"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// rustc does not compile a file that no module declares.
#[test]
fn every_file_is_part_of_a_crate() {
    let files: HashMap<String, PathBuf> = files().into_iter().collect();
    let rust = |path: &Path| path.extension().is_some_and(|end| end == "rs");
    let mut wrong = Vec::new();
    for path in files.keys().filter(|path| path.ends_with(".rs")) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let roots = ["lib.rs", "main.rs", "build.rs"].contains(&name);
        let crates = ["benches", "fuzz/targets", "examples"].contains(&folder);
        if roots || crates || folder.ends_with("/benches") || folder.ends_with("/examples") {
            continue;
        }
        let module = if name == "mod.rs" { folder } else { path.trim_end_matches(".rs") };
        let (parent, module) = module.rsplit_once('/').unwrap_or(("", module));
        let homes = ["mod.rs", "lib.rs", "main.rs"].map(|home| format!("{parent}/{home}"));
        let declared = homes.into_iter().chain([format!("{parent}.rs")]).any(|home| {
            files.get(&home).is_some_and(|place| {
                let words = [format!("mod {module};"), format!("{module},"), format!("{module} ")];
                text(place).lines().any(|line| words.iter().any(|word| line.contains(word)))
            })
        });
        let borrowed = format!("/{path}\"]");
        let elsewhere = || files.values().any(|file| rust(file) && text(file).contains(&borrowed));
        if !declared && !elsewhere() {
            wrong.push(format!("{path}: no `mod {module};` leads here"));
        }
    }
    wrong.sort();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Targets of the links of a Markdown text, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let (mut links, mut fenced) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            continue;
        }
        // Every other piece is between backticks, so it is code.
        for prose in line.split('`').step_by(2) {
            for rest in prose.split("](").skip(1) {
                links.push((at + 1, rest.split([')', ' ']).next().unwrap_or_default().to_owned()));
            }
        }
    }
    links
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for (path, place) in files().iter().filter(|(path, _)| path.ends_with(".md")) {
        for (line, link) in links(&text(place)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, part) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => place.clone(),
                _ => place.parent().expect("a file is in a folder").join(file),
            };
            if !target.exists() {
                wrong.push(format!("{path}:{line}: nothing is at `{link}`"));
            } else if !part.is_empty() {
                let text = text(&target);
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#').trim()));
                if !anchors.any(|anchor| anchor == part) {
                    wrong.push(format!("{path}:{line}: no heading is at `{link}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A text without white space, so that a reformatted copy is recognized.
fn bare(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

/// Everything here was written for this project.
#[test]
fn nothing_is_copied_from_the_folders_of_facts() {
    let ours: HashMap<Vec<u8>, String> = files()
        .into_iter()
        .map(|(path, place)| (bare(&std::fs::read(place).expect("readable")), path))
        // Short texts are equal by chance.
        .filter(|(bytes, _)| bytes.len() > 100)
        .collect();
    let mut wrong = BTreeSet::new();
    for (variable, name) in [
        ("ANKUS_CORPUS", "corpus"),
        ("ANKUS_VERDICTS", "verdicts"),
        ("ANKUS_REFERENCE", "reference"),
    ] {
        let Some(folder) = crate::shared(variable, name) else { continue };
        for entry in ignore::WalkBuilder::new(folder).standard_filters(false).build() {
            let entry = entry.expect("the folder can be read");
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            if let Some(path) = ours.get(&bare(&bytes)) {
                wrong.insert(format!("{path} is {}", entry.path().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Every clone pays for every byte, forever.
#[test]
fn no_file_is_huge() {
    const BOUND: u64 = 1 << 20;
    for (path, place) in files() {
        let size = std::fs::metadata(&place).expect("readable").len();
        assert!(size <= BOUND, "{path} has {size} bytes");
    }
}
