//! Development tasks that need logic.
//!
//! `cargo xtask gen` regenerates the files that are generated and committed; with `--check` it only reports stale ones.
//! `cargo xtask floors` raises `tests/floors.txt` to the current agreement of the tests with the folders of facts.
//! `cargo xtask crates` verifies that the pure crates need nothing that a browser lacks. `cargo xtask bench-peers
//! [--program FILE]` compares with xmllint and, if `LEMMINX` names its jar, `ankus lsp` with lemminx; `cargo xtask
//! bench-durable` compares the steps of one job with the disk. `cargo xtask simulate --seeds N [--first N]` runs N
//! simulated storms on the executor of procedures, `cargo xtask operators --seeds N [--first N]` runs jobs of every
//! kind with operators at work on them, or with `--scripts N [--first N]` every Nth pair of commands at every pair of
//! points, with `--pairs N` every Nth of the pairs of commands at every point of one workflow and one coordinator, and
//! `cargo xtask kill --times N` kills N processes that run one. `cargo xtask kill-runs --times N [--seed N]` kills
//! `ankus run` N times while its programs run, and verifies that none starts twice; with `--storms N [--at-once N]`
//! operators kill, rerun, suspend and resume N applications meanwhile, and with `--crowd N` N processes at once run a
//! job each in one store, are killed and restarted. `cargo xtask mutate [COUNT [SEED]]` compares schema validation with
//! xmllint over mutated definitions. `cargo xtask fuzz [--target NAME] [--minutes N] [--seed N]` tests mutated seeds
//! against the properties of `fuzz/`. `cargo xtask graphs [--count COUNT] [--threads THREADS] [--first SEED]` compares
//! the analysis of forks and joins, and the server's verdict, with all possible runs of random graphs. `cargo xtask
//! scale [SHAPE] [--least NODES] [--most NODES]` shows how time and memory of a check grow. `cargo xtask damage FOLDER
//! [--step BYTES]` truncates definitions everywhere, deletes their lines and opens quotes, and reports which findings
//! of untouched parts are lost. `cargo xtask attack [NAME] [--program FILE] [--command WORD] [--every] [--percent N]`
//! measures the commands on files that were made to be expensive. `cargo xtask bench-converters [--most N]` converts
//! workflows with `ankus convert` and with o2a, and imports both results into Airflow. `cargo xtask panel [FOLDER]
//! [--profile NAME] [--sample N] [--seed N] [--alike N]` lists findings for review by people. `cargo xtask replay
//! [--folder FOLDER] [--scenarios N]` runs scenarios of the corpus here and in other engines. `cargo xtask type-through
//! [--files N]` types N files of the corpus letter by letter into the language server. `cargo xtask wide [--branches N]
//! [--actions N] [--max N] [--nap MS] [--program FILE]` compares a wide fork under a limit of programs with `xargs -P`.

#![expect(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a chore reads and writes the project and talks to whoever runs it"
)]

mod attack;
mod converters;
mod crates;
mod damage;
mod durable;
mod fuzz;
mod graphs;
mod mutate;
mod panel;
mod peers;
mod replay;
mod runs;
mod scale;
mod servers;
#[path = "../../tests/it/storms.rs"]
mod storms;
mod wide;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ankus_harness::{crash, procedures};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("gen") => {
            let check = std::env::args().any(|argument| argument == "--check");
            for (path, text) in generated() {
                if std::fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
                    if check {
                        return fail(&format!("{} is stale: cargo xtask gen", path.display()));
                    }
                    std::fs::write(&path, text).expect("the project can be written to");
                    eprintln!("wrote {}", path.display());
                }
            }
            ExitCode::SUCCESS
        }
        Some("floors") => floors(&root()),
        Some("crates") => told(crates::run(&root())),
        Some("bench-peers") => peers::run(&root(), text("--program").map(PathBuf::from)),
        Some("bench-converters") => {
            told(converters::run(&root(), option("--most").unwrap_or(1_000_000)))
        }
        Some("replay") => {
            let folder = text("--folder");
            told(replay::run(&root(), folder.as_deref(), option("--scenarios").unwrap_or(100)))
        }
        Some("type-through") => type_through(option("--files").unwrap_or(50)),
        Some("bench-durable") => told(durable::run()),
        Some("simulate") => {
            storms(option("--seeds").unwrap_or(100_000), option("--first").unwrap_or(0))
        }
        Some("operators") => operators(option("--first").unwrap_or(0)),
        Some("kill") => kills(option("--times").unwrap_or(200)),
        Some("kill-runs") => {
            let program = std::env::current_exe().expect("this program has a file");
            let program = program.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
            let seed = option("--seed").unwrap_or(1);
            if let Some(jobs) = option("--crowd") {
                let began = std::time::Instant::now();
                let patience = std::time::Duration::from_secs(300);
                return told(storms::crowd(&program, jobs, seed, patience).map(|crowd| {
                    eprintln!("a crowd in {:?}: {crowd:?}", began.elapsed());
                }));
            }
            if let Some(count) = option("--storms") {
                let at_once = option("--at-once").unwrap_or(8) as usize;
                let patience = std::time::Duration::from_secs(30);
                let began = std::time::Instant::now();
                return told(storms::rage(&program, count, seed, at_once, patience).map(
                    |report| {
                        eprintln!("{count} storms in {:?}: {report:?}", began.elapsed());
                    },
                ));
            }
            told(runs::kill(&program, option("--times").unwrap_or(100), seed))
        }
        Some("wide") => {
            let own = std::env::current_exe().expect("this program has a file");
            let own = own.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
            let program = text("--program").map_or(own, PathBuf::from);
            let shape = wide::Shape {
                branches: option("--branches").unwrap_or(500),
                actions: option("--actions").unwrap_or(20),
                most: option("--max").unwrap_or(8),
                nap_ms: option("--nap").unwrap_or(100),
            };
            told(wide::measure(&program, &shape))
        }
        Some("mutate") => mutate::run(number(2).unwrap_or(10_000), number(3).unwrap_or(1)),
        Some("killed") => {
            // The child process that `kill` starts and kills.
            let store = std::env::args_os().nth(2).expect("`kill` says where the store is");
            match crash::child(Path::new(&store), number(3).unwrap_or(0)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(why) => fail(&why),
            }
        }
        Some("fuzz") => fuzz::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("graphs") => told(graphs::compare(
            option("--count").unwrap_or(1_000_000),
            option("--threads").unwrap_or(2) as usize,
            option("--first").unwrap_or(0),
        )),
        Some("scale") => {
            let shape = std::env::args().nth(2).filter(|shape| !shape.starts_with('-'));
            let least = option("--least").unwrap_or(1_000) as usize;
            told(scale::all(
                shape.as_deref(),
                least,
                option("--most").unwrap_or(1_000_000) as usize,
            ))
        }
        Some("damage") => {
            let Some(folder) = std::env::args_os().nth(2) else {
                return fail("say which folder: cargo xtask damage FOLDER");
            };
            let step = option("--step").unwrap_or(1) as usize;
            told(damage::all(Path::new(&folder), step, option("--threads").unwrap_or(2) as usize))
        }
        Some("attack") => {
            let only = std::env::args().nth(2).filter(|name| !name.starts_with('-'));
            let own = std::env::current_exe().expect("this program has a file");
            let own = own.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
            let program = text("--program").map_or(own, PathBuf::from);
            let every = std::env::args().any(|argument| argument == "--every");
            let scale = option("--percent").unwrap_or(100) as f64 / 100.0;
            let (only, command) = (only.unwrap_or_default(), text("--command").unwrap_or_default());
            told(attack::all(&program, &only, &command, every, scale))
        }
        Some("panel") => {
            let folder = std::env::args().nth(2).filter(|name| !name.starts_with('-'));
            let corpus = || {
                std::env::var_os("ANKUS_CORPUS")
                    .map_or_else(|| root().join("../shared/corpus"), PathBuf::from)
            };
            let own = std::env::current_exe().expect("this program has a file");
            let program = own.with_file_name(format!("ankus{}", std::env::consts::EXE_SUFFIX));
            let wish = panel::Wish {
                profile: text("--profile").unwrap_or_else(|| "default".to_owned()),
                sample: option("--sample").unwrap_or(300) as usize,
                seed: option("--seed").unwrap_or(1),
                alike: option("--alike").unwrap_or(300) as usize,
            };
            told(panel::list(&root(), &program, &folder.map_or_else(corpus, PathBuf::from), &wish))
        }
        // The child process that `scale` starts and measures.
        Some("scaled") => {
            let shape = std::env::args().nth(2).unwrap_or_default();
            told(scale::one(&shape, number(3).unwrap_or(1_000) as usize))
        }
        _ => {
            eprintln!(
                "usage: cargo xtask gen [--check] | floors | bench-peers [--program FILE] | bench-converters [--most N] | bench-durable | simulate [--seeds N] [--first N] \
                 | operators [--seeds N | --scripts N | --pairs N] [--first N] | kill [--times N] | kill-runs [--times N | --storms N | --crowd N] [--seed N] | fuzz [--target NAME] [--minutes N] [--seed N] \
                 | graphs [--count COUNT] | scale [SHAPE] | attack [NAME] | damage FOLDER | panel [FOLDER] | mutate [COUNT [SEED]]"
            );
            ExitCode::from(2)
        }
    }
}

/// Returns the text after an option.
fn text(name: &str) -> Option<String> {
    let at = std::env::args().position(|argument| argument == name)?;
    std::env::args().nth(at + 1)
}

/// Returns the number after an option.
fn option(name: &str) -> Option<u64> {
    let at = std::env::args().position(|argument| argument == name)?;
    number(at + 1)
}

fn number(at: usize) -> Option<u64> {
    std::env::args().nth(at)?.parse().ok()
}

fn told(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    }
}

/// Types files of the corpus letter by letter, by running a test with more files than usual.
fn type_through(files: u64) -> ExitCode {
    let status = Command::new("cargo")
        .args(["test", "-p", "ankus-cli", "--locked", "--test", "it", "--"])
        .args(["lsp::typed::a_file_may_be_typed_letter_by_letter", "--exact", "--nocapture"])
        .current_dir(root())
        .env("ANKUS_TYPE_THROUGH", files.to_string())
        .env("ANKUS_REQUIRE_SHARED", "1")
        .status();
    match status.is_ok_and(|status| status.success()) {
        true => ExitCode::SUCCESS,
        false => fail("what is typed is not what the command finds"),
    }
}

/// Runs the tests that compare results with the folders of facts, and stores how many agree. A floor only rises, unless
/// the facts have changed.
fn floors(root: &Path) -> ExitCode {
    let made = root.join("target/floors");
    let _ = std::fs::remove_dir_all(&made);
    let status = Command::new("cargo")
        .args(["test", "--workspace", "--locked", "--no-fail-fast", "--test", "it"])
        .current_dir(root)
        .env("ANKUS_REQUIRE_SHARED", "1")
        .env("ANKUS_RAISE_FLOORS", "1")
        .status();
    if !status.is_ok_and(|status| status.success()) {
        eprintln!("some tests fail; what they count is kept all the same");
    }
    let path = root.join("tests/floors.txt");
    let parse = |line: &str| -> Option<(String, (usize, usize))> {
        let (what, counts) = line.split_once(": ")?;
        let (agreed, of) = counts.trim().split_once(" of ")?;
        Some((what.to_owned(), (agreed.parse().ok()?, of.parse().ok()?)))
    };
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    let mut floors: std::collections::BTreeMap<String, (usize, usize)> =
        before.lines().filter_map(parse).collect();
    for entry in std::fs::read_dir(&made).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let Some((what, (agreed, of))) = parse(&text) else { continue };
        let floor = floors.entry(what).or_insert((agreed, of));
        if floor.1 != of || floor.0 < agreed {
            *floor = (agreed, of);
        }
    }
    let line =
        |(what, (agreed, of)): (&String, &(usize, usize))| format!("{what}: {agreed} of {of}\n");
    let text: String = floors.iter().map(line).collect();
    std::fs::write(&path, text).expect("the project can be written to");
    eprintln!("wrote {}", path.display());
    ExitCode::SUCCESS
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

fn storms(seeds: u64, first: u64) -> ExitCode {
    let mut all = procedures::Report::default();
    for seed in first..first + seeds {
        match procedures::run(seed) {
            Ok(report) => all.add(&report),
            Err(what) => return fail(&format!("seed {seed}: {what}")),
        }
    }
    eprintln!("{seeds} storms: {all:?}");
    ExitCode::SUCCESS
}

/// Simulates operators, until a property is violated.
fn operators(first: u64) -> ExitCode {
    use ankus_harness::operators as played;
    let folder = std::env::temp_dir().join(format!("ankus-operators-{}", std::process::id()));
    let done = match option("--scripts") {
        None if option("--pairs").is_some() => {
            played::pairs(first, option("--pairs").unwrap_or(1), &folder)
                .map_err(|(number, fault)| format!("pair {number}: {fault}"))
        }
        Some(stride) => played::everywhere(first, stride, &folder).map_err(|(number, fault)| {
            format!("script {number} of {}: {fault}", played::scripts())
        }),
        None => {
            let seeds = option("--seeds").unwrap_or(10_000);
            let mut all = played::Report::default();
            (first..first + seeds)
                .try_for_each(|seed| {
                    let report = played::run(seed, &folder);
                    all.add(&report.map_err(|fault| format!("seed {seed}: {fault}"))?);
                    Ok(())
                })
                .map(|()| all)
        }
    };
    let _ = std::fs::remove_dir_all(&folder);
    told(done.map(|all| eprintln!("{all:?}")))
}

fn kills(kills: u64) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("ankus-kill-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room for temporary files");
    let store = folder.join("store");
    let program = std::env::current_exe().expect("this program has a file");
    let kills = u32::try_from(kills).unwrap_or(u32::MAX);
    let outcome = crash::rounds(&store, kills, u64::from(std::process::id()), |batch| {
        let mut command = Command::new(&program);
        command.arg("killed").arg(&store).arg(batch.to_string());
        command
    });
    match outcome {
        Ok(report) => {
            let _ = std::fs::remove_dir_all(&folder);
            eprintln!("{report:?}");
            ExitCode::SUCCESS
        }
        Err(why) => fail(&format!("{why}; the store is left in {}", store.display())),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the project").to_owned()
}

/// Returns every generated file with its expected text.
fn generated() -> Vec<(PathBuf, String)> {
    let source = std::fs::read_to_string(root().join("grammar/el.lalrpop"))
        .expect("the grammar of expressions is part of the project");
    vec![
        (root().join("docs/action-elements.md"), ankus_engine::actions::carried::page()),
        (root().join("docs/site.md"), ankus::settings::site::page()),
        (root().join("runtime/lang/src/el/grammar.rs"), parser(&source)),
    ]
}

/// Returns the parser that lalrpop generates from `grammar`.
fn parser(grammar: &str) -> String {
    let folder = std::env::temp_dir().join(format!("ankus-grammar-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is room for temporary files");
    let input = folder.join("grammar.lalrpop");
    std::fs::write(&input, grammar).expect("there is room for temporary files");
    lalrpop::Configuration::new()
        .set_in_dir(&folder)
        .set_out_dir(&folder)
        .emit_comments(false)
        .emit_rerun_directives(false)
        .force_build(true)
        .log_quiet()
        .process()
        .unwrap_or_else(|error| panic!("the grammar of expressions: {error}"));
    let text =
        std::fs::read_to_string(folder.join("grammar.rs")).expect("lalrpop has written its parser");
    let _ = std::fs::remove_dir_all(&folder);
    // The second line is a hash of the input, which adds nothing to the text.
    let body: Vec<&str> = text.lines().filter(|line| !line.starts_with("// sha3")).collect();
    // Recovery takes quadratic time, and lalrpop can only enable it permanently. Here each run of the parser decides.
    let always = "fn uses_error_recovery(&self) -> bool {\n            true\n";
    let asked = "fn uses_error_recovery(&self) -> bool {\n            self.b.recovers\n";
    let body = body.join("\n");
    assert_eq!(body.matches(always).count(), 1, "lalrpop writes its parsers in another way");
    let body = body.replace(always, asked);
    format!("// Made from grammar/el.lalrpop by `cargo xtask gen`.\n{body}\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_fresh() {
        for (path, text) in super::generated() {
            let found = std::fs::read_to_string(&path).unwrap_or_default();
            if found != text {
                std::fs::write(&path, text).expect("the project can be written to");
                panic!(
                    "{} was stale and is written anew: look at it and commit it",
                    path.display()
                );
            }
        }
    }
}
