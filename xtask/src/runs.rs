//! Repeatedly kills runs of workflows with real programs, and checks what the programs recorded.
//!
//! The argument is the number of kills. It is an error if a program was started twice, did not end exactly once, or a
//! run did not end; otherwise the output is how often a running program was found again after a kill. Only `ankus` is
//! killed: programs survive, as they do when a user kills a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time-out of a run.
const PATIENCE: Duration = Duration::from_secs(120);

/// Every program records its start and end, with its process id.
const STEP: &str = "#!/bin/sh\necho \"$ANKUS_NODE begin $$\" >> \"$ANKUS_FILE_ROOT/log\"\nsleep 0.1\n\
                    echo \"$ANKUS_NODE end $$\" >> \"$ANKUS_FILE_ROOT/log\"\necho ran=yes\n";

/// The actions of the application, that of its sub-workflow last.
const NODES: [&str; 6] = ["one", "left", "middle", "right", "two", "inner"];

fn action(name: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><shell xmlns='uri:oozie:shell-action:1.0'><exec>step.sh</exec><file>step.sh</file>\
         <capture-output/></shell><ok to='{ok}'/><error to='bad'/></action>"
    )
}

fn workflow(name: &str, start: &str, nodes: &str) -> String {
    format!(
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='{name}'><global><resource-manager>rm</resource-manager>\
         <name-node>hdfs://nn</name-node></global><start to='{start}'/>{nodes}\
         <kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>"
    )
}

fn write(folder: &Path) -> std::io::Result<()> {
    let nodes = [
        action("one", "split"),
        "<fork name='split'><path start='left'/><path start='middle'/><path start='right'/></fork>".to_owned(),
        action("left", "both"),
        action("middle", "both"),
        action("right", "both"),
        "<join name='both' to='two'/>".to_owned(),
        action("two", "below"),
        "<action name='below'><sub-workflow><app-path>${wf:appPath()}/sub</app-path><propagate-configuration/>\
         </sub-workflow><ok to='end'/><error to='bad'/></action>"
            .to_owned(),
    ];
    std::fs::create_dir_all(folder.join("app/sub"))?;
    std::fs::write(folder.join("app/workflow.xml"), workflow("steps", "one", &nodes.concat()))?;
    let sub = workflow("sub", "inner", &action("inner", "end"));
    std::fs::write(folder.join("app/sub/workflow.xml"), sub)?;
    std::fs::write(folder.join("app/step.sh"), STEP)?;
    std::fs::write(folder.join("app/sub/step.sh"), STEP)
}

/// The records of the programs: starts with process ids, and ends.
#[derive(Default)]
struct Noted {
    began: BTreeMap<String, Vec<String>>,
    ended: BTreeMap<String, Vec<String>>,
}

fn noted(store: &Path) -> Noted {
    let text = std::fs::read_to_string(store.join("root/log")).unwrap_or_default();
    let mut noted = Noted::default();
    for line in text.lines() {
        let mut words = line.split(' ');
        let (Some(node), Some(what), Some(process)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let of = if what == "begin" { &mut noted.began } else { &mut noted.ended };
        of.entry(node.to_owned()).or_default().push(process.to_owned());
    }
    noted
}

/// Kills runs `times` times.
pub(crate) fn kill(program: &Path, times: u64, seed: u64) -> Result<(), String> {
    if !program.is_file() {
        return Err(format!("`{}` is not built: cargo build", program.display()));
    }
    let folder = std::env::temp_dir().join(format!("ankus-runs-{}", std::process::id()));
    write(&folder).map_err(|error| error.to_string())?;
    let mut random = seed | 1;
    let (mut kills, mut rounds, mut found_again) = (0, 0, 0);
    while kills < times {
        let store = folder.join(format!("store-{rounds}"));
        let round = round(program, &folder, &store, rounds, &mut random);
        let (killed, found) = round.map_err(|why| {
            format!("seed {seed}, run {rounds}: {why}; it is left in {}", store.display())
        })?;
        kills += killed;
        found_again += found;
        rounds += 1;
        let _ = std::fs::remove_dir_all(&store);
    }
    let _ = std::fs::remove_dir_all(&folder);
    eprintln!(
        "{kills} kills in {rounds} runs of {} programs: none began twice, {found_again} that ran were found again",
        NODES.len()
    );
    Ok(())
}

/// Runs once until the end; returns how often the run was killed, and how many programs were running then.
fn round(
    program: &Path,
    folder: &Path,
    store: &PathBuf,
    number: u64,
    random: &mut u64,
) -> Result<(u64, u64), String> {
    let id = format!("run-{number}");
    let (mut kills, mut found) = (0, 0);
    let began = Instant::now();
    loop {
        if began.elapsed() > PATIENCE {
            return Err("it does not end".to_owned());
        }
        // The submission may not have been stored before the kill.
        let known = Command::new(program)
            .args(["job", "show", &id, "--store"])
            .arg(store)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let mut command = Command::new(program);
        match known {
            true => command.args(["run", "--resume", &id]),
            false => command.args(["run", "app", "--id", &id]),
        };
        let mut child = command
            .arg("--store")
            .arg(store)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let longest = 60 + 40 * kills.min(10);
        std::thread::sleep(Duration::from_millis(5 + *random % longest));
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            if !status.success() {
                return Err(format!("it ended with {status} after {kills} kills"));
            }
            break;
        }
        child.kill().map_err(|error| error.to_string())?;
        child.wait().map_err(|error| error.to_string())?;
        kills += 1;
        let noted = noted(store);
        let open = noted.began.keys().filter(|node| !noted.ended.contains_key(*node));
        found += open.count() as u64;
    }
    let noted = noted(store);
    for node in NODES {
        let (began, ended) = (noted.began.get(node), noted.ended.get(node));
        if began.map(Vec::len) != Some(1) || began != ended {
            return Err(format!(
                "`{node}` began in {began:?} and ended in {ended:?} after {kills} kills"
            ));
        }
    }
    Ok((kills, found))
}
