//! Scenarios of coordinators and bundles: locating their files, generating first scenarios, and their expectations.

use super::{ENDING, play_files, sentence, with_expectation};
use crate::{Exit, Failure, Shell, coordinator, timeline};
use ankus::check::{self, FileKind};
use ankus::passes::expressions::site_function;
use ankus_engine::driver::Compiler;
use ankus_engine::host::files::{FileUri, Files};
use ankus_engine::scenario::timed::{self, SeenTimed, Track};
use ankus_engine::scenario::{
    Ending, Expect, ExpectAction, ExpectCoordinator, Instances, Played, Real, Scenario, Seen,
    WorkflowStub,
};
use ankus_lang::machine::Refused;
use ankus_lang::plan::Global;
use ankus_lang::time::Instant;
use ankus_project::application::{Application, Frontend};
use ankus_project::{Project, write};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Maximum number of actions in an expectation; failed ones come first.
const NAMED: usize = 20;
/// Number of actions in a first scenario.
const FIRST: usize = 3;

/// Whether an application is a coordinator or a bundle.
pub(super) fn is_timed(application: &Application) -> bool {
    matches!(application.loaded.found.kind, FileKind::Coordinator | FileKind::Bundle)
}

/// The parts of an application that a scenario runs.
struct Prepared {
    application: timed::Application,
    files: Vec<(String, Vec<u8>)>,
}

/// Prepares the definitions as a server would store them; the inner error says why it would refuse them.
fn prepare(
    application: &Application,
    project: &Project,
) -> Result<Result<Prepared, Refused>, String> {
    let loaded = &application.loaded;
    if let Some(refused) = refusal(application) {
        return Ok(Err(refused));
    }
    let text = |report: miette::Report| sentence(&report);
    let tracks = timeline::tracks_with(loaded, project, None).map_err(text)?;
    let assumed: BTreeSet<&str> =
        tracks.tracks.iter().flat_map(|track| &track.assumed).map(String::as_str).collect();
    if !assumed.is_empty() {
        let names: Vec<&str> = assumed.into_iter().collect();
        return Err(format!(
            "no value is given for {}: add it to `[properties]`",
            names.join(", ")
        ));
    }
    timeline::admit(&tracks.tracks).map_err(text)?;
    if let Some(absent) = tracks.absent.first() {
        let message = format!("{absent} was not found near the bundle");
        return Ok(Err(Refused { code: "E1001", message }));
    }
    let mut files = Vec::new();
    let mut mounted = BTreeSet::new();
    let mut own = Vec::new();
    for track in tracks.tracks {
        let mounts = coordinator::mounts(
            loaded,
            tracks.bundle.as_ref(),
            std::slice::from_ref(&track.definition),
        );
        let has_workflow = !mounts.is_empty();
        for (uri, folder) in mounts {
            if mounted.insert(uri.clone()) {
                play_files(project, &folder, &FileUri::parse(&uri), &mut files);
            }
        }
        own.push(Track { name: track.name, definition: track.definition, has_workflow });
    }
    let played = timed::Application {
        tracks: own,
        bundle: tracks.bundle,
        functions: application.settings().functions.iter().map(site_function).collect(),
    };
    Ok(Ok(Prepared { application: played, files }))
}

/// Returns why a server would refuse the definition itself.
fn refusal(application: &Application) -> Option<Refused> {
    let input = application.loaded.input();
    let (refused, unknown) = match application.loaded.found.kind {
        FileKind::Bundle => {
            let submitted = check::submit_bundle(&input);
            (submitted.outcome.err(), submitted.unknown)
        }
        _ => {
            let submitted = check::submit_coordinator(&input);
            (submitted.outcome.err(), submitted.unknown)
        }
    };
    let refused = refused.filter(|_| !unknown.is_unsure())?;
    let about = match refused.about.as_str() {
        "" => "the definition".to_owned(),
        about => about.to_owned(),
    };
    let code = refused.code.unwrap_or("");
    Some(Refused { code, message: format!("{about} {}", refused.subject.join(", ")) })
}

pub(super) fn play(
    application: &Application,
    scenario: &Scenario,
    project: &Project,
    real: Option<&mut Real>,
) -> Result<Played, String> {
    let mut prepared = match prepare(application, project)? {
        Ok(prepared) => prepared,
        Err(refused) => {
            let seen = Seen {
                status: "REFUSED".to_owned(),
                timed: Some(SeenTimed::default()),
                ..Seen::default()
            };
            return Ok(Played { seen, refused: Some(refused), ..Played::default() });
        }
    };
    play_prepared(&mut prepared, application, scenario, real)
}

fn play_prepared(
    prepared: &mut Prepared,
    application: &Application,
    scenario: &Scenario,
    real: Option<&mut Real>,
) -> Result<Played, String> {
    for track in &mut prepared.application.tracks {
        // A workflow may be among the files of the scenario itself.
        let path = track.definition.app_path.trim_end_matches('/');
        track.has_workflow |= scenario.files.contains_key(path)
            || scenario.files.contains_key(&format!("{path}/workflow.xml"));
    }
    let frontend = Frontend { settings: application.settings().clone() };
    let mut compile = |path: &FileUri,
                       files: &dyn Files,
                       properties: &BTreeMap<String, String>,
                       inherited: Option<&Global>| {
        frontend.compile(path, files, properties, inherited)
    };
    timed::play(scenario, &prepared.application, &prepared.files, &mut compile, real)
}

/// Returns the expectations that this run would meet.
pub(super) fn expectation(played: &Played, timed: &SeenTimed) -> Expect {
    let seen = &played.seen;
    let is_bundle = timed.coordinators.len() > 1
        || timed.actions.first().is_some_and(|action| action.name.contains('@'));
    let mut expect = Expect { status: Some(seen.status.clone()), ..Expect::default() };
    if is_bundle {
        for coordinator in &timed.coordinators {
            let expected = ExpectCoordinator {
                status: coordinator.status.clone(),
                counts: coordinator.counts.clone(),
            };
            expect.coordinators.insert(coordinator.name.clone(), expected);
        }
    } else if let Some(only) = timed.coordinators.first() {
        expect.counts.clone_from(&only.counts);
    }
    let mut began: Vec<_> =
        timed.actions.iter().filter_map(|action| Some((action.began?.1, &action.name))).collect();
    began.sort_unstable();
    if began.len() <= NAMED {
        expect.path = Some(began.into_iter().map(|(_, name)| name.clone()).collect());
    }
    if !timed.refusals.is_empty() {
        expect.refusals = Some(timed.refusals.clone());
    }
    let is_fault = |status: &str| status != "SUCCEEDED";
    let (faults, rest): (Vec<_>, Vec<_>) =
        timed.actions.iter().partition(|action| is_fault(&action.status));
    for action in faults.into_iter().chain(rest).take(NAMED) {
        let expected = ExpectAction {
            status: Some(action.status.clone()),
            code: action.error.as_ref().map(|(code, _)| code.clone()),
            sla: (!action.sla.is_empty()).then(|| action.sla.clone()),
            ..ExpectAction::default()
        };
        expect.actions.insert(action.by_time.clone(), expected);
    }
    expect
}

/// Returns the results of coordinators as JSON.
pub(super) fn json(timed: &SeenTimed) -> (Value, Value) {
    let zone = ankus_lang::time::ProcessingZone::UTC;
    let time = |at: Option<Instant>| at.map(|at| zone.format(at));
    let coordinators = timed
        .coordinators
        .iter()
        .map(|of| json!({"name": of.name, "status": of.status, "counts": of.counts}));
    let actions = timed.actions.iter().map(|action| {
        json!({
            "name": action.name,
            "nominal": zone.format(action.nominal),
            "status": action.status,
            "began": time(action.began.map(|(at, _)| at)),
            "ended": time(action.ended),
            "starts": action.starts,
            "missing": action.missing,
            "code": action.error.as_ref().map(|(code, _)| code),
            "sla": action.sla,
        })
    });
    (coordinators.collect(), actions.collect())
}

/// Formats a duration as in a scenario.
fn span(seconds: i64) -> String {
    let parts = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let mut left = seconds.max(60);
    let mut text = String::new();
    for (unit, name) in parts {
        if left >= unit {
            let _ = write!(text, "{}{name}", left / unit);
            left %= unit;
        }
    }
    text
}

/// A first scenario, before it is run.
struct Draft {
    name: &'static str,
    scenario: Scenario,
}

fn drafts(application: &timed::Application, file: &str) -> Vec<Draft> {
    let tracks = &application.tracks;
    // The end of the first actions, with time for their work.
    let last = tracks.iter().filter_map(|track| {
        let mut times = track.definition.schedule.times();
        times.by_ref().take(FIRST).last().map(|(_, at)| at)
    });
    let start = tracks.iter().map(|track| track.definition.schedule.start).min();
    let (Some(start), Some(last)) = (start, last.max()) else { return Vec::new() };
    let ahead = last.0 - start.0 + 3_600;
    let outputs: BTreeSet<&str> = tracks
        .iter()
        .flat_map(|track| &track.definition.outputs)
        .map(|event| event.dataset.uri_template.as_str())
        .collect();
    let inputs = tracks.iter().flat_map(|track| &track.definition.inputs);
    // The data that a coordinator of the bundle produces exists only once it has been produced.
    let inputs: BTreeSet<&str> = inputs
        .filter(|event| !outputs.contains(event.dataset.uri_template.as_str()))
        .map(|event| event.dataset.name.as_str())
        .collect();
    let stub =
        |result| WorkflowStub { result, takes: Some("1m".to_owned()), ..WorkflowStub::default() };
    let scenario = |after: Option<&str>, limit: i64| Scenario {
        app: format!("../{file}"),
        limit: Some(span(limit)),
        datasets: inputs
            .iter()
            .map(|name| {
                let after = after.map(str::to_owned);
                ((*name).to_owned(), Instances { after, ..Instances::default() })
            })
            .collect(),
        ..Scenario::default()
    };
    let mut drafts = vec![
        Draft { name: "all-well", scenario: scenario(Some("0m"), ahead) },
        Draft {
            name: "workflow-fails",
            scenario: Scenario {
                workflow: Some(stub(Ending::Error)),
                ..scenario(Some("0m"), ahead)
            },
        },
    ];
    if !inputs.is_empty() {
        let longest = tracks.iter().map(|track| track.definition.controls.timeout).max();
        let patience = longest.unwrap_or(0) * 60;
        drafts.push(Draft { name: "data-come-late", scenario: scenario(Some("30m"), ahead) });
        drafts.push(Draft {
            name: "data-never-come",
            scenario: Scenario { datasets: BTreeMap::new(), ..scenario(None, ahead + patience) },
        });
    }
    if tracks.iter().any(|track| !track.has_workflow) {
        for draft in &mut drafts {
            draft.scenario.workflow.get_or_insert_with(|| stub(Ending::Ok));
        }
    }
    drafts
}

/// Simulates a coordinator whose data exists, and whose workflows succeed.
pub(super) fn first(application: &Application, project: &Project) -> Result<Played, String> {
    let mut prepared = match prepare(application, project)? {
        Ok(prepared) => prepared,
        Err(refused) => return Err(format!("the submission is refused: {refused}")),
    };
    let Some(draft) = drafts(&prepared.application, "").into_iter().next() else {
        return Err("it has no nominal time".to_owned());
    };
    let mut scenario = draft.scenario;
    // The data that earlier actions would have produced exists as well.
    for event in prepared.application.tracks.iter().flat_map(|track| &track.definition.inputs) {
        let there = Instances { after: Some("0m".to_owned()), ..Instances::default() };
        scenario.datasets.entry(event.dataset.name.clone()).or_insert(there);
    }
    scenario.workflow = Some(WorkflowStub { takes: Some("1m".to_owned()), ..Default::default() });
    play_prepared(&mut prepared, application, &scenario, None)
}

/// Writes a first set of scenarios.
pub(super) fn init(
    application: &Application,
    project: &Project,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let mut prepared = match prepare(application, project).map_err(Failure::new)? {
        Ok(prepared) => prepared,
        Err(refused) => {
            let message =
                format!("the submission is refused: {} {}", refused.code, refused.message);
            let help = "`ankus check` shows where";
            return Err(Failure::new(message).help(help).into());
        }
    };
    let path = &application.loaded.found.path;
    let folder = path.parent().map(|folder| folder.join("scenarios")).unwrap_or_default();
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    for draft in drafts(&prepared.application, file) {
        let target = folder.join(format!("{}{ENDING}", draft.name));
        if target.symlink_metadata().is_ok() {
            shell.say(format!(
                "{} exists already and is left unchanged",
                ankus_project::shown(&target)
            ));
            continue;
        }
        let scenario = draft.scenario;
        let played =
            play_prepared(&mut prepared, application, &scenario, None).map_err(Failure::new)?;
        let mut text = format!(
            "app = {:?}\ntitle = {:?}\nlimit = {:?}\n",
            scenario.app,
            draft.name.replace('-', " "),
            scenario.limit.as_deref().unwrap_or_default()
        );
        for (name, said) in &scenario.datasets {
            let after = said.after.as_deref().unwrap_or("0m");
            let _ = write!(text, "\n[datasets.{name}]\nafter = \"{after}\"\n");
        }
        if let Some(stub) = &scenario.workflow {
            let result = if stub.result == Ending::Error { "error" } else { "ok" };
            let _ = write!(text, "\n[workflow]\nresult = \"{result}\"\ntakes = \"1m\"\n");
        }
        for name in &played.unstubbed {
            let _ = write!(text, "\n[actions.{name:?}]\nresult = \"ok\"\n");
        }
        let none = SeenTimed::default();
        let expect = expectation(&played, played.seen.timed.as_ref().unwrap_or(&none));
        let text = with_expectation(&text, &expect)?;
        std::fs::create_dir_all(&folder)
            .map_err(|error| ankus_project::unreadable(&folder, error))?;
        write::file(&target, text.as_bytes())?;
        shell.line(ankus_project::shown(&target))?;
    }
    Ok(Exit::Success)
}
