//! Compares the nodes per second of one durable job with the commits per second of the same disk.
//!
//! Files are created in the folder for temporary files. The figures are nodes per second of chains of decisions and of
//! `fs` actions, and commits per second of one row each to a store with the same settings, measured in the same minute.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ankus::check::{self, FileKind};
use ankus::emit::plan::{Options, plan};
use ankus::files::Files;
use ankus::settings::Settings;
use ankus::source::{Encoding, Source};
use ankus::syntax::properties::Submission as Properties;
use ankus_engine::driver::view;
use ankus_engine::driver::{self, Compiler, Frontends, Needs, Opened, Place, Submit, Surroundings};
use ankus_engine::host::files::{FileUri, Files as FileSystem};
use ankus_engine::host::process::Local;
use ankus_lang::machine::JobStatus;
use ankus_lang::plan::{Global, Plan};
use ankus_procedure::store::{Key, Options as StoreOptions, Row, Sqlite, Store as _, Write};

/// A resolver of sub-workflows for plans that have none.
struct None;

impl Frontends for None {
    fn compiler(&self, _: &Needs) -> Result<Box<dyn Compiler>, String> {
        Ok(Box::new(None))
    }
}

impl Compiler for None {
    fn compile(
        &self,
        path: &FileUri,
        _: &dyn FileSystem,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        Err(("E0710".to_owned(), format!("nothing lies at {path}")))
    }
}

fn chain(nodes: usize, node: impl Fn(usize, &str) -> String) -> Result<Vec<u8>, String> {
    let mut text =
        "<workflow-app xmlns='uri:oozie:workflow:1.0' name='chain'><start to='n0'/>".to_owned();
    for at in 0..nodes {
        let next = if at + 1 == nodes { "end".to_owned() } else { format!("n{}", at + 1) };
        text.push_str(&node(at, &next));
    }
    text.push_str("<kill name='bad'><message>bad</message></kill><end name='end'/></workflow-app>");
    let mut settings = Settings::default();
    settings.server.definition_limit = Some(u64::MAX);
    let outcome = check::check(&check::Input {
        source: &Arc::new(Source::new("workflow.xml", text.as_str())),
        encoding: Encoding::Utf8,
        not_text: Option::None,
        kind: FileKind::Workflow,
        settings: &settings,
        settings_path: "workflow.xml",
        submission: &Properties::default(),
        files: &Files::new(),
        user: "someone",
        now: Option::None,
        analysis: Option::None,
        is_walked: false,
    });
    let checked = outcome.checked.as_ref().and_then(check::Checked::workflow);
    let checked = checked.ok_or("the server would not take it")?;
    Ok(plan(checked, &Options::default()).to_bytes())
}

fn decision(at: usize, next: &str) -> String {
    format!(
        "<decision name='n{at}'><switch><case to='{next}'>${{wf:id() ne ''}}</case><default to='end'/></switch></decision>"
    )
}

fn makes(at: usize, next: &str) -> String {
    format!(
        "<action name='n{at}'><fs><mkdir path='hdfs://nn/made/{at}'/></fs><ok to='{next}'/><error to='bad'/></action>"
    )
}

/// Returns the seconds from the submission of a job to its end.
fn job(folder: &Path, plan: Vec<u8>) -> Result<f64, String> {
    let needs = Needs { root: folder.join("root"), ..Needs::default() };
    let launchers = Box::new(Local::new(PathBuf::from("none")));
    let limits = driver::places::Limits::default();
    let surroundings = Surroundings { needs, launchers, limits, frontends: Box::new(None) };
    let opened = driver::open(Place::Folder(folder.to_owned()), surroundings);
    let Opened::Mine(driver) = opened.map_err(|error| error.to_string())? else {
        return Err("another process runs the store".to_owned());
    };
    let properties = BTreeMap::from([
        ("user.name".to_owned(), "ann".to_owned()),
        ("oozie.wf.application.path".to_owned(), "hdfs://nn/apps/chain".to_owned()),
    ]);
    let new = Submit { plan, properties, id: Some("job".to_owned()), mounts: Vec::new() };
    let since = Instant::now();
    driver.submit(new).map_err(|error| error.to_string())?;
    if !driver.wait("job", Duration::from_secs(600)).map_err(|error| error.to_string())? {
        return Err("it does not end".to_owned());
    }
    let taken = since.elapsed().as_secs_f64();
    let record = view::record(&*driver.reader(), "job").map_err(|error| error.to_string())?;
    match record.map(|record| record.job.status) {
        Some(JobStatus::Succeeded) => Ok(taken),
        status => Err(format!("it ends as {status:?}")),
    }
}

/// Returns the seconds that `count` commits of one row take.
fn commits(folder: &Path, count: u32) -> Result<f64, String> {
    let told = |error: ankus_procedure::store::Error| error.to_string();
    let mut store =
        Sqlite::open(&folder.join("raw.sqlite"), StoreOptions::default()).map_err(told)?;
    let since = Instant::now();
    for at in 0..count {
        let key = Key::new("raw", at.to_be_bytes());
        store.commit(&[Write::Put(Row { key, value: vec![7; 200].into() })]).map_err(told)?;
    }
    Ok(since.elapsed().as_secs_f64())
}

/// Prints all figures, measured three times each.
pub(crate) fn run() -> Result<(), String> {
    let base = std::env::temp_dir().join(format!("ankus-durable-{}", std::process::id()));
    let decisions = chain(1_000, decision)?;
    let (short, long) = (chain(1_000, makes)?, chain(5_000, makes)?);
    for round in 0..3 {
        let folder = |name: &str| {
            let folder = base.join(format!("{name}-{round}"));
            std::fs::create_dir_all(&folder).map(|()| folder).map_err(|error| error.to_string())
        };
        let raw = 1_000.0 / commits(&folder("raw")?, 1_000)?;
        let decided = 1_000.0 / job(&folder("decisions")?, decisions.clone())?;
        let made = 1_000.0 / job(&folder("short")?, short.clone())?;
        let more = 5_000.0 / job(&folder("long")?, long.clone())?;
        eprintln!(
            "{raw:.0} commits/s; decisions {decided:.0}/s; 1,000 fs actions {made:.0}/s, {:.2} of the commits; 5,000: {more:.0}/s",
            made / raw
        );
    }
    let _ = std::fs::remove_dir_all(&base);
    Ok(())
}
