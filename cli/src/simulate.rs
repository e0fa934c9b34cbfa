//! `ankus run COORDINATOR|BUNDLE --simulate`: runs a coordinator in simulated time.

use super::store::RunFormat;
use super::timeline::{OnDisk, Tracks};
use super::{Exit, Failure, Shell};
use ankus_lang::coordinator::{Existing, Failure as Missing};
use ankus_lang::machine::coordinator::simulation::{
    Begin, End, MOST_ACTIONS, Outcome, Play, Remembered, Told, simulate,
};
use ankus_lang::machine::coordinator::{
    ActionStatus, Effect, Plan, Rules, Status, WorkflowStatus, bundle,
};
use ankus_lang::time::{Instant, ProcessingZone};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Default duration of a workflow, in seconds.
const SECONDS: i64 = 60;

/// The parameters of a simulation.
pub(super) struct Asked<'a> {
    /// The coordinators.
    pub(super) tracks: &'a Tracks,
    /// The start time; by default the start of the first coordinator.
    pub(super) at: Option<Instant>,
    /// The end time.
    pub(super) until: Option<Instant>,
    /// The data that exists; by default all data.
    pub(super) data: Option<&'a OnDisk>,
    /// The output format.
    pub(super) format: RunFormat,
}

/// All data exists.
struct Everything;

impl Existing for Everything {
    fn exists(&self, _uri: &str) -> Result<bool, Missing> {
        Ok(true)
    }

    fn partition_exists(&self, _uri: &str) -> Option<Result<bool, Missing>> {
        Some(Ok(true))
    }
}

pub(super) fn run(asked: &Asked<'_>, shell: &mut Shell) -> miette::Result<Exit> {
    let tracks = &asked.tracks.tracks;
    let start = tracks.iter().map(|track| track.definition.schedule.start).min();
    let end = tracks.iter().map(|track| track.definition.schedule.end).max();
    let (Some(start), Some(end)) = (start, end) else {
        return Err(Failure::new("there is nothing to simulate").into());
    };
    let from = asked.at.unwrap_or(start);
    // Waiting actions have another two months to time out after the end.
    let until = asked.until.unwrap_or(end.max(from).plus_minutes(86_400));
    let everything = Everything;
    let data = Remembered::new(asked.data.map_or(&everything as &dyn Existing, |data| data));
    let well = Outcome { status: WorkflowStatus::Succeeded, seconds: Some(SECONDS) };
    let workflow = |_: &Begin<'_>| Some(well);
    let play = Play {
        plans: tracks
            .iter()
            .map(|track| Plan::new(&track.definition, track.name.as_str(), Rules::default()))
            .collect(),
        bundle: asked.tracks.bundle.as_ref().map(|bundle| (bundle, ProcessingZone::UTC)),
        from,
        until,
        data: &data,
        arrivals: Vec::new(),
        commands: Vec::new(),
        workflow: &workflow,
        makes_outputs: true,
        look_seconds: 60,
    };
    let mut failure = None;
    let end = {
        let mut tell = |at: Instant, told: &Told| {
            if failure.is_some() {
                return;
            }
            let text = match asked.format {
                RunFormat::Jsonl => {
                    line(at, told, asked.tracks).map(|value| shell.json_line(&value))
                }
                RunFormat::Human => words(at, told, asked.tracks).map(|words| shell.line(words)),
                RunFormat::Json => None,
            };
            if let (Some(Err(report)), None) = (text, &failure) {
                failure = Some(report);
            }
        };
        simulate(&play, &mut tell)
    };
    if let Some(failure) = failure {
        return Err(failure);
    }

    if end.is_cut {
        let at = ProcessingZone::UTC.format(end.at);
        let message = format!("more than {MOST_ACTIONS} actions exist by {at}");
        return Err(Failure::new(message).help("--until T ends a simulation earlier").into());
    }

    conclude(asked, from, &end, shell)
}

/// Reports the final state.
fn conclude(
    asked: &Asked<'_>,
    from: Instant,
    end: &End,
    shell: &mut Shell,
) -> miette::Result<Exit> {
    let tracks = &asked.tracks.tracks;
    let mut statuses = Vec::new();
    let mut shown = Vec::new();
    for (track, job) in tracks.iter().zip(&end.jobs) {
        let Some(job) = job else { continue };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for run in job.actions.values() {
            *counts.entry(run.status.name()).or_default() += 1;
        }
        statuses.push(job.status);
        shown.push((track.name.as_str(), job.status, counts));
    }
    let zone = ProcessingZone::UTC;
    match asked.format {
        RunFormat::Jsonl => {}
        RunFormat::Json => {
            let coordinators: Vec<_> = shown
                .iter()
                .map(|(name, status, counts)| {
                    json!({"coordinator": name, "status": status.name(), "actions": counts})
                })
                .collect();
            let mut object = json!({
                "version": 1,
                "simulated": true,
                "from": zone.format(from),
                "at": zone.format(end.at),
                "coordinators": coordinators,
            });
            if let (Some(job), Some(bundle)) = (&end.bundle, &asked.tracks.bundle) {
                object["bundle"] = json!({"name": bundle.name, "status": job.status.name()});
            }
            shell.json(&object)?;
        }
        RunFormat::Human => {
            for (name, status, counts) in &shown {
                let counts: Vec<String> =
                    counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
                let text = match counts.is_empty() {
                    true => "no actions".to_owned(),
                    false => counts.join(", "),
                };
                shell.line(format!("{name}: {}, {text}", status.name()))?;
            }
            shell.line(format!(
                "simulated from {} to {}",
                zone.format(from),
                zone.format(end.at)
            ))?;
        }
    }
    if let Some(job) = &end.bundle {
        statuses = vec![job.status];
    }
    let bad = [Status::Killed, Status::Failed, Status::DoneWithError];
    Ok(match statuses {
        statuses if statuses.iter().any(|status| bad.contains(status)) => Exit::Fault,
        statuses if statuses.iter().all(|status| *status == Status::Succeeded) => Exit::Success,
        _ => Exit::Unfinished,
    })
}

/// Formats one event as a JSON object.
fn line(at: Instant, told: &Told, tracks: &Tracks) -> Option<Value> {
    let at = ProcessingZone::UTC.format(at);
    let member = |index: usize| tracks.tracks[index].name.as_str();
    let object = match told {
        Told::Coordinator(index, effect) => match effect {
            Effect::Job { from: Some(_), status, .. } => {
                json!({"at": at, "coordinator": member(*index), "status": status.name()})
            }
            Effect::Action(number, status) => {
                json!({"at": at, "coordinator": member(*index), "action": number, "status": status.name()})
            }
            Effect::Deleted(number) => {
                json!({"at": at, "coordinator": member(*index), "action": number, "deleted": true})
            }
            _ => return None,
        },
        Told::Bundle(bundle::Effect::Bundle(status, _)) => {
            let name = tracks.bundle.as_ref().map_or("", |bundle| bundle.name.as_str());
            json!({"at": at, "bundle": name, "status": status.name()})
        }
        Told::Bundle(_) => return None,
        Told::Refused(code) => json!({"at": at, "refused": code}),
    };
    Some(object)
}

/// Describes the events of interest to users: statuses of jobs, and actions that did not simply run.
fn words(at: Instant, told: &Told, tracks: &Tracks) -> Option<String> {
    let mut text = ProcessingZone::UTC.format(at);
    let _ = match told {
        Told::Coordinator(index, Effect::Job { from: Some(_), status, .. }) => {
            write!(text, "  {} is {}", tracks.tracks[*index].name, status.name())
        }
        Told::Coordinator(index, Effect::Action(number, status)) => {
            let usual = [
                ActionStatus::Waiting,
                ActionStatus::Ready,
                ActionStatus::Submitted,
                ActionStatus::Running,
                ActionStatus::Succeeded,
            ];
            if usual.contains(status) {
                return None;
            }
            write!(text, "  {} #{number} is {}", tracks.tracks[*index].name, status.name())
        }
        Told::Bundle(bundle::Effect::Bundle(status, _)) => {
            let name = tracks.bundle.as_ref().map_or("", |bundle| bundle.name.as_str());
            write!(text, "  bundle {name} is {}", status.name())
        }
        _ => return None,
    };
    Some(text)
}
