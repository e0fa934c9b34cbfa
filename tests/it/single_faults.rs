//! Every application of the corpus ends in simulated time: without failures, and with each action failing in turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ankus::check::{self, FileKind};
use ankus::emit::plan::{Options, plan};
use ankus::settings::Settings;
use ankus::source::Source;
use ankus_engine::host::files::FileUri;
use ankus_engine::simulation::{Call, Executors, Reply, Simulation, finished};
use ankus_lang::machine::{Command, JobStatus, Submission};
use ankus_lang::plan::{Global, Plan, Work};
use rayon::prelude::*;

/// Executors in which every action succeeds except `fails`.
struct Stubs {
    fails: Option<String>,
}

impl Executors for Stubs {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        let status = if self.fails.as_deref() == Some(call.name()) { "ERROR" } else { "OK" };
        vec![Reply::now(call.phase, finished(status))]
    }

    fn compile(
        &mut self,
        path: &FileUri,
        _: &dyn ankus_engine::host::files::Files,
        _: &BTreeMap<String, String>,
        _: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        Err(("E0504".to_owned(), format!("{path} is stubbed")))
    }

    fn replaces(&self, _: &Call<'_>) -> bool {
        true
    }
}

fn accepted(path: &Path) -> Option<Plan> {
    let text = std::fs::read_to_string(path).ok()?;
    let source = Arc::new(Source::new("workflow.xml", text));
    let settings = Settings::default();
    let outcome = check::check(&check::Input {
        settings: &settings,
        ..check::Input::of(&source, FileKind::Workflow)
    });
    let checked = outcome.checked.as_ref().and_then(check::Checked::workflow)?;
    Some(plan(checked, &Options::default()))
}

fn played(
    plan: &Arc<Plan>,
    properties: &BTreeMap<String, String>,
    fails: Option<&str>,
) -> Option<JobStatus> {
    let stubs = Stubs { fails: fails.map(str::to_owned) };
    let mut simulation = Simulation::new(stubs, 1_700_000_000_000);
    let submission =
        Submission { id: "0-W".to_owned(), properties: properties.clone(), defaults: Vec::new() };
    // A job that is refused at its submission does not run at all.
    let Ok(job) = simulation.submit(plan.clone(), submission) else { return None };
    simulation.command(job, Command::Start);
    while simulation.step() {}
    Some(simulation.jobs[job].run.job.status)
}

/// The properties in the definition's folder, and a text for each other name that it requires.
fn properties(path: &Path, plan: &Plan) -> BTreeMap<String, String> {
    let mut properties = BTreeMap::from([
        ("user.name".to_owned(), "ann".to_owned()),
        ("oozie.wf.application.path".to_owned(), "hdfs://nn/app".to_owned()),
    ]);
    // Everything that is alone in braces, such as `${day}`.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    for part in text.split("${").skip(1) {
        let name = part.split('}').next().unwrap_or_default().trim();
        if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty() {
            properties.insert(name.to_owned(), "x".to_owned());
        }
    }
    for (name, default) in &plan.parameters {
        properties.insert(name.clone(), default.clone().unwrap_or_else(|| "x".to_owned()));
    }
    if let Ok(text) = std::fs::read_to_string(path.with_file_name("job.properties")) {
        let read = ankus_lang::configuration::read_properties(&text).unwrap_or_default();
        properties.extend(read);
    }
    properties.insert("oozie.wf.application.path".to_owned(), "hdfs://nn/app".to_owned());
    properties
}

#[test]
fn every_application_ends_whatever_fails() {
    let Some(corpus) = crate::shared("ANKUS_CORPUS", "corpus") else { return };
    let files: Vec<PathBuf> = ignore::WalkBuilder::new(corpus)
        .standard_filters(false)
        .build()
        .filter_map(|entry| Some(entry.ok()?.into_path()))
        .filter(|path| path.extension().is_some_and(|end| end == "xml"))
        .collect();
    let results: Vec<(usize, BTreeMap<&'static str, usize>, Vec<String>)> = files
        .par_iter()
        .filter_map(|path| Some((path, Arc::new(accepted(path)?))))
        .map(|(path, plan)| {
            let properties = properties(path, &plan);
            let actions = plan.nodes.iter().filter(|node| matches!(node.work, Work::Action(_)));
            let faults = actions.map(|node| Some(node.name.as_str()));
            let (mut runs, mut ends, mut stuck) = (0, BTreeMap::new(), Vec::new());
            for fails in std::iter::once(None).chain(faults) {
                runs += 1;
                let Some(status) = played(&plan, &properties, fails) else {
                    *ends.entry("refused").or_default() += 1;
                    continue;
                };
                *ends.entry(status.name()).or_default() += 1;
                if !status.is_end() {
                    stuck.push(format!("{}, {fails:?} fails: {}", path.display(), status.name()));
                }
            }
            (runs, ends, stuck)
        })
        .collect();
    let runs: usize = results.iter().map(|(runs, ..)| runs).sum();
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in results.iter().flat_map(|(_, ends, _)| ends) {
        *ends.entry(name).or_default() += count;
    }
    let stuck: Vec<&String> = results.iter().flat_map(|(.., stuck)| stuck).collect();
    println!("single faults: {} applications, {runs} runs: {ends:?}", results.len());
    stuck.iter().for_each(|line| println!("  {line}"));
    let refused = ends.get("refused").copied().unwrap_or_default();
    assert!(refused * 20 < runs, "{refused} of {runs} runs were refused: they show nothing");
    assert!(stuck.is_empty(), "{} runs came to no end", stuck.len());
}
