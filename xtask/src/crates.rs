//! Verifies the dependencies of the crates that must be pure.
//!
//! `ankus-lang` and the checker `ankus` must build for a browser: none of their dependencies may link native code or
//! need an operating system. The check uses the dependencies that cargo resolves for WebAssembly; if that target is
//! installed, the crates are also built for it.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const TARGET: &str = "wasm32-unknown-unknown";
const PURE: [&str; 2] = ["ankus-lang", "ankus"];
/// Packages that call the operating system, though they link no native library of their own.
const SYSTEM: [&str; 9] =
    ["errno", "libc", "mio", "notify", "rustix", "signal-hook", "socket2", "tokio", "windows-sys"];

/// Prints the dependencies of each pure crate, and fails if any is impure.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
    command.args(["--filter-platform", TARGET]);
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|it| it.to_string())?;
    let listed = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: HashMap<String, Value> = listed(&metadata["packages"])
        .into_iter()
        .map(|package| (package["id"].as_str().unwrap_or_default().to_owned(), package))
        .collect();
    let nodes: HashMap<String, Value> = listed(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (node["id"].as_str().unwrap_or_default().to_owned(), node))
        .collect();

    let mut wrong = Vec::new();
    for name in PURE {
        let id = packages.iter().find(|(_, package)| package["name"] == name).map(|(id, _)| id);
        let mut open = vec![id.ok_or_else(|| format!("no package is named {name}"))?.clone()];
        let mut seen: HashSet<String> = open.iter().cloned().collect();
        while let Some(id) = open.pop() {
            let package = &packages[&id];
            let dependency = package["name"].as_str().unwrap_or_default();
            // For rayon, the field only prevents a second version of it in a program.
            let links = package["links"].as_str().is_some_and(|links| links != "rayon-core");
            if links || SYSTEM.contains(&dependency) {
                wrong.push(format!("{name} depends on {dependency}, which WebAssembly lacks"));
            }
            for next in listed(&nodes[&id]["deps"]) {
                // Dependencies of tests and of build scripts have a kind; the others have none.
                let counts = listed(&next["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
                let next = next["pkg"].as_str().unwrap_or_default().to_owned();
                if counts && seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        println!("{name}: {} dependencies, none native", seen.len() - 1);
    }
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }

    let installed =
        Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = installed.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    if !folder.is_ok_and(|folder| Path::new(&folder).is_dir()) {
        println!("not built for {TARGET}, which is not installed");
        return Ok(());
    }
    let mut command = Command::new(cargo);
    command.current_dir(root).args(["check", "--quiet", "--locked", "--target", TARGET]);
    let built = command.args(PURE.iter().flat_map(|name| ["-p", name])).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("the pure crates do not build for {TARGET}"));
    }
    println!("built for {TARGET}");
    Ok(())
}
