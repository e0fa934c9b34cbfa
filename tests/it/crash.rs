//! Crashes: whatever is running when the process is killed, the next process ends it as it would have ended.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use ankus_cli::testing;
use ankus_engine::driver::{self, Driver, Submit, view};
use ankus_lang::machine::{Command, JobStatus};
use ankus_procedure::store::{Error, Loaded, Options, Reader, Sqlite, Store, Synchronous, Write};

use crate::run::{BINARY, ankus, application, lines, shell, text, write_steps};

/// A store that fails after `left` commits, as if the process had been killed there; the last commit may or may not
/// have happened.
struct Cut {
    below: Sqlite,
    left: Arc<AtomicI64>,
    last_happens: bool,
}

impl Store for Cut {
    fn load(&mut self) -> Result<Loaded, Error> {
        self.below.load()
    }

    fn commit(&mut self, batch: &[Write]) -> Result<(), Error> {
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        if left > 0 {
            return self.below.commit(batch);
        }
        if left == 0 && self.last_happens {
            self.below.commit(batch)?;
        }
        Err(Error::Failed("the process is dead".to_owned()))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        self.below.reader()
    }
}

pub(crate) fn open(folder: &Path, left: i64, last_happens: bool) -> (Driver, Arc<AtomicI64>) {
    let left = Arc::new(AtomicI64::new(left));
    let options = Options { synchronous: Synchronous::Normal, ..driver::options() };
    let below = Sqlite::open(&folder.join("store.sqlite"), options).expect("a store");
    let store = Cut { below, left: left.clone(), last_happens };
    let surroundings = testing::surroundings(PathBuf::from(BINARY), &folder.join("root"));
    let driver = driver::open_store(Box::new(store), folder.to_owned(), surroundings);
    (driver.expect("a driver"), left)
}

/// Whether a submission is accepted. If the store fails first, there is no answer, and the wait ends.
pub(crate) fn submitted(
    driver: &Driver,
    left: &AtomicI64,
    submit: impl FnOnce() -> Result<String, driver::Error> + Send,
) -> bool {
    std::thread::scope(|scope| {
        let done = scope.spawn(submit);
        let since = Instant::now();
        while !done.is_finished() && left.load(Ordering::SeqCst) >= 0 {
            assert!(since.elapsed() < Duration::from_secs(60), "stuck at its submission");
            std::thread::sleep(Duration::from_millis(1));
        }
        if !done.is_finished() {
            driver.executor().stop();
        }
        done.join().expect("no panic").is_ok()
    })
}

/// An application of the matrix: its files, and what its operator does.
struct App {
    name: &'static str,
    nodes: String,
    /// The nodes of the workflow in `sub/`, if there is one.
    sub: String,
    /// Properties in addition to those of every job.
    properties: &'static [(&'static str, &'static str)],
    /// The node that may or may not end before a sibling ends the job; both outcomes are right.
    races: &'static str,
    /// Whether the file that `missing` needs is created after the first run, and the failed nodes are rerun.
    mends: bool,
}

fn make(name: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><fs><mkdir path='hdfs://nn/made/{name}'/></fs><ok to='{ok}'/><error to='bad'/></action>"
    )
}

/// An action that fails until the file `go` exists.
fn missing(name: &str, ok: &str, error: &str, attributes: &str) -> String {
    format!(
        "<action name='{name}' {attributes}><fs><move source='hdfs://nn/go' target='hdfs://nn/gone'/></fs><ok to='{ok}'/>\
         <error to='{error}'/></action>"
    )
}

fn fork(name: &str, to: &[&str]) -> String {
    let paths: String = to.iter().map(|to| format!("<path start='{to}'/>")).collect();
    format!("<fork name='{name}'>{paths}</fork>")
}

fn join(name: &str, to: &str) -> String {
    format!("<join name='{name}' to='{to}'/>")
}

fn decision(name: &str, test: &str, to: &str, other: &str) -> String {
    format!(
        "<decision name='{name}'><switch><case to='{to}'>{test}</case><default to='{other}'/></switch></decision>"
    )
}

fn below(name: &str, ok: &str) -> String {
    format!(
        "<action name='{name}'><sub-workflow><app-path>${{wf:appPath()}}/sub</app-path><propagate-configuration/>\
         </sub-workflow><ok to='{ok}'/><error to='bad'/></action>"
    )
}

/// Twenty applications; each starts at `a`.
fn matrix() -> Vec<App> {
    let app = |name, nodes: &[String]| App {
        name,
        nodes: nodes.concat(),
        sub: String::new(),
        properties: &[],
        races: "",
        mends: false,
    };
    let chain = || [make("a", "b"), make("b", "c"), make("c", "end")];
    let diamond = || {
        [fork("a", &["b", "c"]), make("b", "j"), make("c", "j"), join("j", "d"), make("d", "end")]
    };
    let nested = || {
        [
            fork("a", &["b", "f"]),
            make("b", "j"),
            fork("f", &["c", "d"]),
            make("c", "i"),
            make("d", "i"),
            join("i", "j"),
            join("j", "end"),
        ]
    };
    let calls = || [make("a", "b"), below("b", "c"), make("c", "end")];
    let inner = || [make("a", "b"), make("b", "end")].concat();
    vec![
        app("chain", &chain()),
        app(
            "programs",
            &[
                fork("a", &["b", "c"]),
                shell("b", "j"),
                shell("c", "j"),
                join("j", "d"),
                shell("d", "end"),
            ],
        ),
        app("diamond", &diamond()),
        app("nested", &nested()),
        app("decision", &[decision("a", "${1 gt 0}", "b", "end"), make("b", "end")]),
        app("killed", &[make("a", "b"), missing("b", "end", "bad", "")]),
        app("handled", &[missing("a", "b", "c", ""), make("b", "end"), make("c", "end")]),
        App {
            races: "c",
            ..app(
                "killed-in-fork",
                &[
                    fork("a", &["b", "c"]),
                    missing("b", "j", "bad", ""),
                    make("c", "j"),
                    join("j", "end"),
                ],
            )
        },
        app("retried", &[missing("a", "end", "bad", "retry-max='2' retry-interval='0'")]),
        App {
            races: "c",
            ..app(
                "retried-in-fork",
                &[
                    fork("a", &["b", "c"]),
                    missing("b", "j", "bad", "retry-max='1' retry-interval='0'"),
                    make("c", "j"),
                    join("j", "end"),
                ],
            )
        },
        App { sub: inner(), ..app("child", &calls()) },
        App {
            sub: diamond().concat(),
            ..app(
                "children",
                &[fork("a", &["b", "c"]), below("b", "j"), below("c", "j"), join("j", "end")],
            )
        },
        App { sub: missing("a", "end", "bad", ""), ..app("child-killed", &calls()) },
        App { properties: &[("oozie.suspend.on.nodes", "b")], ..app("suspended", &chain()) },
        App {
            properties: &[("oozie.suspend.on.nodes", "*")],
            ..app("suspended-everywhere", &diamond())
        },
        App {
            properties: &[("oozie.suspend.on.nodes", "c")],
            ..app("suspended-in-fork", &nested())
        },
        App {
            sub: inner(),
            properties: &[("oozie.suspend.on.nodes", "b")],
            ..app("suspended-child", &calls())
        },
        App {
            mends: true,
            ..app("rerun", &[make("a", "b"), missing("b", "c", "bad", ""), make("c", "end")])
        },
        App {
            mends: true,
            ..app(
                "rerun-fork",
                &[
                    fork("a", &["b", "c"]),
                    missing("b", "j", "bad", ""),
                    make("c", "j"),
                    join("j", "end"),
                ],
            )
        },
        App { sub: missing("a", "end", "bad", ""), mends: true, ..app("rerun-child", &calls()) },
    ]
}

impl App {
    fn write(&self, folder: &Path) {
        let definition = |name: &str, nodes: &str| {
            format!(
                "<workflow-app xmlns='uri:oozie:workflow:1.0' name='{name}'><global><resource-manager>rm</resource-manager>\
                 <name-node>hdfs://nn</name-node></global><start to='a'/>{nodes}<kill name='bad'><message>bad</message>\
                 </kill><end name='end'/></workflow-app>"
            )
        };
        let step = "#!/bin/sh\necho \"$ANKUS_NODE\" >> \"$ANKUS_FILE_ROOT/log\"\necho ran=yes\n";
        application(
            folder,
            &[("workflow.xml", &definition(self.name, &self.nodes)), ("step.sh", step)],
        );
        if !self.sub.is_empty() {
            application(folder, &[("sub/workflow.xml", &definition("sub", &self.sub))]);
        }
    }

    fn submission(&self, plan: &[u8], folder: &Path) -> Submit {
        let place = format!("hdfs://nn/apps/{}", self.name);
        let mut properties = BTreeMap::from([
            ("user.name".to_owned(), "ann".to_owned()),
            ("oozie.wf.application.path".to_owned(), place.clone()),
        ]);
        properties
            .extend(self.properties.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let mounts = vec![(place, folder.to_owned())];
        Submit { plan: plan.to_vec(), properties, id: Some(ID.to_owned()), mounts }
    }

    /// Acts as the operator until the job has ended for good. Returns `false` if the store is cut off.
    fn operate(&self, driver: &Driver, root: &Path, left: &AtomicI64) -> bool {
        let since = Instant::now();
        loop {
            if left.load(Ordering::SeqCst) < 0 {
                return false;
            }
            assert!(since.elapsed() < Duration::from_secs(60), "{}: stuck", self.name);
            let ended = driver.wait(ID, Duration::from_millis(2)).unwrap_or(false);
            let Ok(records) = view::records(&*driver.reader()) else { continue };
            // A suspended child workflow suspends those above it; resuming starts at the lowest.
            let suspended = records.iter().rev().find(|it| it.job.status == JobStatus::Suspended);
            let Some(top) = records.iter().find(|record| record.job.id == ID) else { continue };
            if let Some(suspended) = suspended {
                let _ = driver.command(&suspended.job.id, Command::Resume);
            } else if ended && self.mends && top.job.run == 0 && top.job.status.is_end() {
                fs::write(root.join("go"), "").expect("a file");
                let failed = ("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned());
                let _ = driver.rerun(ID, None, &BTreeMap::from([failed]));
            } else if ended && top.job.status.is_end() {
                return true;
            }
        }
    }
}

const ID: &str = "cut-W";

/// Every job with its rows, and what the programs did.
fn outcome(app: &App, driver: &Driver, root: &Path) -> Vec<String> {
    let reader = driver.reader();
    let mut seen = Vec::new();
    for record in view::records(&*reader).expect("readable") {
        let run = view::run(&*reader, &record).expect("readable");
        let plan = view::plan(&*reader, &record).expect("readable");
        let rows = run.in_order().into_iter();
        let rows =
            rows.filter(|(node, _)| plan.node(*node).name != app.races).map(|(node, row)| {
                let (code, to) = (row.error.code.as_deref(), row.transition.as_deref());
                let name = &plan.node(node).name;
                format!("{name} {} {to:?} {code:?} {}", row.status.name(), row.user_retry_count)
            });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        let job = &record.job;
        seen.push(format!(
            "{} {} run {}: {}",
            job.name,
            job.status.name(),
            job.run,
            rows.join(", ")
        ));
    }
    seen.sort();
    seen.extend(lines(root));
    seen
}

/// Runs an application that is cut off after `commits` commits, then resumes it to its end. Returns whether it was cut
/// off at all.
fn run_cut(app: &App, folder: &Path, plan: &[u8], place: (i64, bool), expected: &[String]) -> bool {
    let (commits, last_happens) = place;
    let store = tempfile::tempdir().expect("a folder");
    let root = store.path().join("root");
    let (driver, left) = open(store.path(), commits, last_happens);
    let submitted = submitted(&driver, &left, || driver.submit(app.submission(plan, folder)));
    let cut = !submitted || !app.operate(&driver, &root, &left);
    drop(driver);

    let (driver, left) = open(store.path(), i64::MAX, false);
    let Some(_) = view::record(&*driver.reader(), ID).expect("a readable store") else {
        assert!(!submitted, "an accepted job is lost");
        return cut;
    };
    driver.activate(ID).expect("a job");
    app.operate(&driver, &root, &left);
    let seen = outcome(app, &driver, &root);
    assert_eq!(seen, expected, "{} after commit {commits}, {last_happens}", app.name);
    cut
}

/// How many runs happen at once: they mostly wait.
const AT_ONCE: i64 = 8;

/// Cuts an application off at every commit. Returns the number of cuts.
fn cut_everywhere(app: &App) -> usize {
    let folder = tempfile::tempdir().expect("a folder");
    app.write(folder.path());
    let output = ankus(folder.path(), &["compile", ".", "-o", "a.plan"]).output().expect("it runs");
    assert!(output.status.success(), "{}: {}", app.name, text(&output));
    let plan = fs::read(folder.path().join("a.plan")).expect("a plan");

    let store = tempfile::tempdir().expect("a folder");
    let (driver, left) = open(store.path(), i64::MAX, false);
    driver.submit(app.submission(&plan, folder.path())).expect("accepted");
    let root = store.path().join("root");
    app.operate(&driver, &root, &left);
    let expected = outcome(app, &driver, &root);
    drop(driver);

    let mut cut = 0;
    for first in (0..400).step_by(AT_ONCE as usize) {
        let run = |at: i64| run_cut(app, folder.path(), &plan, (at / 2, at % 2 == 1), &expected);
        let cuts = std::thread::scope(|scope| {
            let runs: Vec<_> =
                (first..first + AT_ONCE).map(|at| scope.spawn(move || run(at))).collect();
            runs.into_iter()
                .map(|run| run.join().expect("it ends as it would have"))
                .filter(|cut| *cut)
                .count()
        });
        cut += cuts;
        if cuts < AT_ONCE as usize {
            break;
        }
    }
    assert!((6..400).contains(&cut), "{}: cut off {cut} times", app.name);
    cut
}

#[test]
fn killed_at_every_commit_they_end_as_they_would_have() {
    let mut cut = 0;
    let apps = matrix();
    for app in &apps {
        let places = cut_everywhere(app);
        println!("{}: cut off at {places} places", app.name);
        cut += places;
    }
    println!("crashes: {cut} in {} applications, each ended as it would have", apps.len());
}

#[test]
fn killed_with_a_signal_it_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    write_steps(&folder.path().join("app"));
    std::thread::scope(|scope| {
        for round in 0..8_u64 {
            let folder = folder.path();
            scope.spawn(move || kill_and_resume(folder, round));
        }
    });
}

/// Kills a run repeatedly until it reaches its end.
fn kill_and_resume(folder: &Path, round: u64) {
    let id = format!("round-{round}");
    let store = format!("store-{round}");
    let mut arguments = vec!["run", "app", "--store", &store, "--id", &id];
    let mut patience = 10 + 17 * round;
    let mut kills = 0;
    loop {
        let told = folder.join(format!("told-{round}"));
        let mut child = ankus(folder, &arguments)
            .stdout(std::process::Stdio::null())
            .stderr(fs::File::create(&told).expect("a file"))
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(patience));
        if let Some(status) = child.try_wait().expect("a status") {
            let told = fs::read_to_string(&told).expect("text");
            assert!(status.success(), "round {round} after {kills} kills: {arguments:?}: {told}");
            break;
        }
        child.kill().expect("it is killed");
        child.wait().expect("it is gone");
        kills += 1;
        assert!(kills < 200, "round {round} does not end");
        patience = patience * 3 / 2;
        let path = folder.join(&store).join("store.sqlite");
        let kept = Sqlite::reading(&path).ok().flatten();
        let known =
            kept.is_some_and(|kept| view::record(&*kept, &id).is_ok_and(|record| record.is_some()));
        if known {
            arguments = vec!["run", "--resume", &id, "--store", &store];
        }
    }
    let log = lines(&folder.join(&store).join("root"));
    assert_eq!(log, ["inner", "left", "one", "right"], "round {round} after {kills} kills");
}
