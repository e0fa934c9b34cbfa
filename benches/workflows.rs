//! How fast workflows are read, checked, compiled and run, on one thread unless stated otherwise.
//!
//! `cargo bench --bench workflows`. The server runs 5 to 35 nodes a second, and fewer in longer definitions; here, a
//! node should cost the same in a definition of a thousand nodes and of a hundred thousand.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ankus::check::{self, FileKind, Glance, Known};
use ankus::emit::plan::{Options, plan};
use ankus::files::Files;
use ankus::ide::{Document, Snapshot};
use ankus::settings::Settings;
use ankus::source::{Encoding, Source};
use ankus::syntax::properties::Submission as Properties;
use ankus::syntax::xml::Tree;
use ankus_cli::testing;
use ankus_engine::driver::{self, Driver, Opened, Place, Submit};
use ankus_engine::host::process::Program;
use ankus_engine::simulation::{Call, Executors, Reply, Simulation, finished};
use ankus_lang::machine::{Command, JobStatus, Submission};
use ankus_lang::plan::{Global, Plan};
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const APPLICATION: &str = "hdfs://nn/apps/chain";

/// A chain of actions.
fn chain(nodes: usize) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"chain\">\n  <start to=\"n0\"/>\n",
    );
    for at in 0..nodes {
        let next = if at + 1 == nodes { "end".to_owned() } else { format!("n{}", at + 1) };
        writeln!(
            text,
            "  <action name=\"n{at}\">\n    <email xmlns=\"uri:oozie:email-action:0.2\">\n      <to>ops@example.org</to>\n      \
             <subject>${{wf:id()}}</subject>\n      <body>${{wf:lastErrorNode()}}</body>\n    </email>\n    \
             <ok to=\"{next}\"/>\n    <error to=\"failed\"/>\n  </action>"
        )
        .expect("memory");
    }
    text.push_str("  <kill name=\"failed\"><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>\n  <end name=\"end\"/>\n</workflow-app>\n");
    text
}

/// A chain of decisions, so that only the engine is measured.
fn decisions(nodes: usize) -> String {
    let mut text = String::from(
        "<workflow-app xmlns=\"uri:oozie:workflow:1.0\" name=\"chain\">\n  <start to=\"n0\"/>\n",
    );
    for at in 0..nodes {
        let next = if at + 1 == nodes { "end".to_owned() } else { format!("n{}", at + 1) };
        writeln!(
            text,
            "  <decision name=\"n{at}\"><switch><case to=\"{next}\">${{wf:id() ne ''}}</case><default to=\"end\"/></switch></decision>"
        )
        .expect("memory");
    }
    text.push_str("  <end name=\"end\"/>\n</workflow-app>\n");
    text
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.server.definition_limit = Some(u64::MAX);
    settings
}

fn checked(text: &str) -> check::Outcome {
    let settings = settings();
    check::check(&check::Input {
        source: &Arc::new(Source::new("workflow.xml", text)),
        encoding: Encoding::Utf8,
        not_text: None,
        kind: FileKind::Workflow,
        settings: &settings,
        settings_path: "workflow.xml",
        submission: &Properties::default(),
        files: &Files::new(),
        user: "someone",
        is_walked: false,
        now: None,
        analysis: None,
    })
}

fn compiled(text: &str) -> Plan {
    let outcome = checked(text);
    let checked = outcome.checked.as_ref().and_then(check::Checked::workflow);
    plan(checked.expect("the server takes it"), &Options::default())
}

#[divan::bench(args = [1_000, 10_000])]
fn read_xml(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    bencher.counter(BytesCount::of_str(&text)).bench(|| Tree::parse(black_box(&text)).1.len());
}

/// The baseline for reading: only the events, the least that a parser can do.
#[divan::bench(args = [1_000, 10_000])]
fn events_alone(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let mut reader = quick_xml::Reader::from_str(black_box(&text));
        let mut events = 0;
        while !matches!(reader.read_event(), Ok(quick_xml::events::Event::Eof) | Err(_)) {
            events += 1;
        }
        events
    });
}

/// Reading and lowering together; should take at most three times as long as [`events_alone`].
#[divan::bench(args = [1_000, 10_000])]
fn read_and_lower(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    bencher.counter(BytesCount::of_str(&text)).bench(|| {
        let (tree, _) = Tree::parse_tolerantly(black_box(&text));
        ankus::ir::lower::workflow(&Arc::new(tree)).nodes().count()
    });
}

#[divan::bench(args = [1_000, 10_000])]
fn lower(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    let (tree, _) = Tree::parse(&text);
    let tree = Arc::new(tree);
    bencher
        .counter(ItemsCount::new(nodes))
        .bench(|| ankus::ir::lower::workflow(black_box(&tree)).nodes().count());
}

#[divan::bench(args = [1_000, 10_000, 100_000])]
fn check_whole(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    bencher.counter(ItemsCount::new(nodes)).bench(|| checked(black_box(&text)).findings.len());
}

/// From an edit of a value to the findings in the text, as in the language server.
#[divan::bench(args = [1_000, 5_000])]
fn edit_a_value(bencher: Bencher<'_, '_>, nodes: usize) {
    edit_behind(bencher, chain(nodes), "ops@");
}

/// The same for a transition, whose target does not exist every other time.
#[divan::bench(args = [1_000, 5_000])]
fn edit_a_transition(bencher: Bencher<'_, '_>, nodes: usize) {
    edit_behind(bencher, chain(nodes), "<ok to=\"");
}

/// A text, and the same with a letter typed after `sign` in its middle.
fn typed(text: String, sign: &str) -> [Arc<Source>; 2] {
    let at = text.len() / 2;
    let at = at + text[at..].find(sign).expect("every node has one") + sign.len();
    let edited = [&text[..at], "x", &text[at..]].concat();
    [text, edited].map(|text| Arc::new(Source::new("workflow.xml", text)))
}

/// The preliminary findings after an edit of a decision, for which a full check needs the whole graph.
#[divan::bench(args = [1_000, 5_000])]
fn look_at_an_edit(bencher: Bencher<'_, '_>, nodes: usize) {
    let sources = typed(decisions(nodes), "<default to=\"");
    let settings = settings();
    let input = |source| check::Input {
        settings: &settings,
        ..check::Input::of(source, FileKind::Workflow)
    };
    let outcome = check::check(&input(&sources[0]));
    let analysis = outcome.analysis.as_ref().expect("it is a definition");
    let glance = Glance::of(&input(&sources[0]), analysis).expect("it is a long one");
    let mut state = (glance, outcome.findings, 0);
    bencher.bench_local(|| {
        let (glance, findings, turn) = &mut state;
        *turn = 1 - *turn;
        let next = glance.edited(&input(&sources[*turn]), findings);
        *glance = next.expect("the edit lies in one node");
        findings.len()
    });
}

/// Types a letter after `sign` in the middle of a text, and removes it again.
fn edit_behind(bencher: Bencher<'_, '_>, text: String, sign: &str) {
    let sources = typed(text, sign);
    let settings = settings();
    let input = |source| check::Input {
        settings: &settings,
        ..check::Input::of(source, FileKind::Workflow)
    };
    let outcome = check::check(&input(&sources[0]));
    let analysis = outcome.analysis.as_ref().expect("it is a definition");
    let answer = outcome.file.reference.as_ref();
    let known = Known::of(&input(&sources[0]), analysis, &outcome.findings, answer);
    let mut state = (known.expect("nothing is wrong with it"), outcome.findings, 0);
    bencher.bench_local(|| {
        let (known, findings, turn) = &mut state;
        *turn = 1 - *turn;
        let next = known.edited(&input(&sources[*turn]), findings);
        *known = next.expect("nothing else in the text can tell");
        findings.len()
    });
}

/// Completion of a transition in a parsed text.
#[divan::bench(args = [1_000, 5_000])]
fn complete_a_transition(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    let at = text.len() / 2;
    let at = at + text[at..].find("<ok to=\"").expect("every action has one") + "<ok to=\"".len();
    let snapshot = Snapshot::of([Document::new("workflow.xml", text.as_str())]);
    bencher.bench_local(|| snapshot.completion("workflow.xml", at as u32).len());
}

#[divan::bench(args = [1_000, 10_000])]
fn compile(bencher: Bencher<'_, '_>, nodes: usize) {
    let text = chain(nodes);
    let outcome = checked(&text);
    bencher.counter(ItemsCount::new(nodes)).bench(|| {
        let checked = outcome.checked.as_ref().and_then(check::Checked::workflow);
        plan(checked.expect("the server takes it"), &Options::default()).to_bytes().len()
    });
}

/// Executors in which every action succeeds immediately.
struct Well;

impl Executors for Well {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        vec![Reply::now(call.phase, finished("OK"))]
    }

    fn compile(
        &mut self,
        _: &ankus_engine::host::files::FileUri,
        _: &dyn ankus_engine::host::files::Files,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        unreachable!("nothing asks for a sub-workflow")
    }
}

fn properties() -> BTreeMap<String, String> {
    BTreeMap::from([
        ("user.name".to_owned(), "ann".to_owned()),
        ("oozie.wf.application.path".to_owned(), APPLICATION.to_owned()),
    ])
}

fn simulate(plan: &Arc<Plan>, jobs: usize) {
    let mut simulation = Simulation::new(Well, 1_700_000_000_000);
    for at in 0..jobs {
        let submission =
            Submission { id: format!("{at}-W"), properties: properties(), defaults: Vec::new() };
        let job = simulation.submit(plan.clone(), submission).expect("it is taken");
        simulation.command(job, Command::Start);
    }
    while simulation.step() {}
    assert!(simulation.jobs.iter().all(|job| job.run.job.status == JobStatus::Succeeded));
}

/// Nodes per second if every action is prepared, started and ended.
#[divan::bench(args = [1_000, 100_000], sample_count = 5)]
fn simulated_actions(bencher: Bencher<'_, '_>, nodes: usize) {
    let plan = Arc::new(compiled(&chain(nodes)));
    bencher.counter(ItemsCount::new(nodes)).bench(|| simulate(&plan, 1));
}

/// Nodes per second if there are only transitions.
#[divan::bench(args = [1_000, 100_000], sample_count = 5)]
fn simulated_decisions(bencher: Bencher<'_, '_>, nodes: usize) {
    let plan = Arc::new(compiled(&decisions(nodes)));
    bencher.counter(ItemsCount::new(nodes)).bench(|| simulate(&plan, 1));
}

#[divan::bench(sample_count = 3)]
fn simulated_jobs(bencher: Bencher<'_, '_>) {
    let plan = Arc::new(compiled(&chain(10)));
    bencher.counter(ItemsCount::new(100_000_usize)).bench(|| simulate(&plan, 10_000));
}

fn open(folder: &Path) -> Box<Driver> {
    let surroundings = testing::surroundings(PathBuf::from("ankus"), &folder.join("root"));
    match driver::open(Place::Folder(folder.to_owned()), surroundings).expect("a store") {
        Opened::Mine(driver) => driver,
        Opened::Theirs(_) => unreachable!("the folder is new"),
    }
}

fn durably(plan: &[u8], jobs: usize, together: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let driver = open(folder.path());
    let submit =
        || Submit { plan: plan.to_vec(), properties: properties(), id: None, mounts: Vec::new() };
    let ids: Vec<String> = if together {
        driver.submit_all((0..jobs).map(|_| submit()).collect()).expect("they are taken")
    } else {
        (0..jobs).map(|_| driver.submit(submit()).expect("it is taken")).collect()
    };
    for id in &ids {
        while !driver.wait(id, Duration::from_secs(1)).expect("a job") {}
    }
}

/// Nodes per second with a hundred jobs at once, written to SQLite on disk.
#[divan::bench(args = [100, 1_000], sample_count = 3)]
fn durable_decisions(bencher: Bencher<'_, '_>, nodes: usize) {
    let plan = compiled(&decisions(nodes)).to_bytes();
    bencher.counter(ItemsCount::new(nodes * 100)).bench(|| durably(&plan, 100, false));
}

/// Nodes per second for jobs of ten nodes, each submitted when the previous one is on disk.
#[divan::bench(sample_count = 3)]
fn durable_jobs(bencher: Bencher<'_, '_>) {
    let plan = compiled(&decisions(10)).to_bytes();
    bencher.counter(ItemsCount::new(10_000_usize)).bench(|| durably(&plan, 1_000, false));
}

/// Nodes per second for jobs of ten nodes that are submitted together.
#[divan::bench(args = [1_000, 10_000], sample_count = 3)]
fn durable_jobs_together(bencher: Bencher<'_, '_>, jobs: usize) {
    let plan = compiled(&decisions(10)).to_bytes();
    bencher.counter(ItemsCount::new(jobs * 10)).bench(|| durably(&plan, jobs, true));
}

/// From the request to start a program until it has done something: its launcher starts first.
#[divan::bench(sample_count = 100, sample_size = 1)]
fn started_programs(bencher: Bencher<'_, '_>) {
    let store = tempfile::tempdir().expect("a folder");
    let surroundings = testing::surroundings(
        PathBuf::from(env!("CARGO_BIN_EXE_ankus")),
        &store.path().join("root"),
    );
    let number = Cell::new(0);
    let ready = || {
        number.set(number.get() + 1);
        let attempt = store.path().join(format!("jobs/job/node-0-{}", number.get()));
        std::fs::create_dir_all(attempt.join("work")).expect("a folder");
        let (program, folder) = ("/bin/mkdir".to_owned(), attempt.join("work"));
        let arguments = vec!["made".to_owned()];
        let program = Program { program, arguments, folder, kept: 1 << 20, ..Program::default() };
        (attempt, program)
    };
    bencher.with_inputs(ready).bench_local_values(|(attempt, program)| {
        surroundings.launchers.start(&attempt, &program).expect("it is started");
        let made = program.folder.join("made");
        while !made.exists() {
            std::thread::sleep(Duration::from_micros(50));
        }
    });
}
