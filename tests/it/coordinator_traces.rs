//! The life of coordinators and bundles, compared with the behavior of the engine event by event.
//!
//! Workflows behave as the engine's test action does: `hold` runs until an event says how it ends, `ok` ends at once.
//! Where the engine guarantees no order (looks at inputs, states of different actions), each thing is compared on its
//! own; agreement in the engine's exact order is counted as well.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use ankus::reference::coordinator::{Entry, Files, Site};
use ankus::reference::{
    Rules as ServerRules, Target, bundle as bundles, coordinator as coordinators,
};
use ankus::schema::Language;
use ankus_lang::coordinator::{Bundle, Definition, Existing, Failure, Properties};
use ankus_lang::machine::coordinator::{
    self as machine, ActionStatus, Effect, Event, Job, Plan, RerunOptions, Rules, ScopeKind,
    Status, WorkflowStatus, World, bundle,
};
use ankus_lang::time::{Instant, ProcessingZone};
use serde_json::{Map, Value, json};

const NOW: Instant = Instant(1_780_000_020);

struct Served(HashMap<String, String>);

impl Files for Served {
    fn look(&self, uri: &str) -> Entry {
        match self.0.get(path(uri)) {
            Some(text) => Entry::File(text.clone()),
            None => Entry::Nothing,
        }
    }
}

fn path(uri: &str) -> &str {
    match uri.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => uri,
    }
}

#[derive(Default)]
struct Data(HashSet<String>);

impl Existing for Data {
    fn exists(&self, uri: &str) -> Result<bool, Failure> {
        self.admit(uri)?;
        Ok(self.0.contains(path(uri)))
    }

    fn admit(&self, uri: &str) -> Result<(), Failure> {
        let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
        match ["", "hdfs", "hftp", "webhdfs"].contains(&scheme) {
            true => Ok(()),
            false => Err(Failure::new("E0904", "nothing serves it")),
        }
    }
}

/// Replaces times such as `now-60m` or `start+5m`, in braces or bare.
fn moments(text: &str, start: Instant, now: Instant) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let Some(end) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        out.push_str(&moment(&rest[at + 1..at + end], start, now));
        rest = &rest[at + end + 1..];
    }
    out + rest
}

fn moment(text: &str, start: Instant, now: Instant) -> String {
    ProcessingZone::UTC.format(instant(text, start, now).expect("a moment"))
}

fn instant(text: &str, start: Instant, now: Instant) -> Option<Instant> {
    let (base, rest) = match text.strip_prefix("start") {
        Some(rest) => (start, rest),
        None => (now, text.strip_prefix("now")?),
    };
    Some(base.plus_minutes(rest.strip_suffix('m')?.parse().ok()?))
}

/// A coordinator that is being played.
struct Playing {
    of: Option<String>,
    definition: Definition,
    job: Job,
    told: Told,
    ends_at_once: bool,
    is_absent: bool,
    workflows: BTreeMap<i64, &'static str>,
}

/// The last reported rows of the engine.
#[derive(Default)]
struct Told {
    status: Option<Status>,
    pending: bool,
    is_done: bool,
    next: Option<Instant>,
}

/// Deferred work, in the engine's order.
enum Later {
    Check(usize, i64),
    End(usize, i64),
    Command(usize, Event),
}

struct Play {
    files: Served,
    data: Data,
    conf: Properties,
    now: Instant,
    start: Instant,
    coordinators: Vec<Playing>,
    bundle: Option<(Bundle, bundle::Job)>,
    later: VecDeque<Later>,
    changes: Vec<Value>,
    definition: String,
    rules: Rules,
}

impl Play {
    fn new(trace: &Value) -> Play {
        let now = NOW;
        let props = trace["props"].as_object().cloned().unwrap_or_default();
        let mut conf = Properties::new();
        let start = props.get("start").and_then(Value::as_str).unwrap_or("now-60m");
        let start = instant(start, now, now).expect("a start");
        for (name, value) in &props {
            let text = value.as_str().unwrap_or_default();
            let value = match instant(text, start, now) {
                Some(at) => ProcessingZone::UTC.format(at),
                None => text.to_owned(),
            };
            conf.insert(name.clone(), value);
        }
        conf.insert("user.name".to_owned(), "tester".to_owned());
        let scenario = trace["scenario"].as_str().unwrap_or_default();
        let definition = trace["definition"].as_str().unwrap_or_default().to_owned();
        // The folder of a scenario is named in its data, and is not always the name of the scenario.
        let folder = definition
            .split("hdfs://nn:8020/tr/")
            .nth(1)
            .and_then(|rest| rest.split('/').next())
            .unwrap_or(scenario)
            .to_owned();
        let mut files = HashMap::new();
        for (name, text) in trace["files"].as_object().into_iter().flatten() {
            files.insert(format!("/tr/{folder}/{name}"), text.as_str().unwrap_or("").to_owned());
        }
        Play {
            files: Served(files),
            data: Data::default(),
            conf,
            now,
            start,
            coordinators: Vec::new(),
            bundle: None,
            later: VecDeque::new(),
            changes: Vec::new(),
            definition,
            rules: Rules { has_sla_service: !trace["services"].is_null(), ..Rules::default() },
        }
    }

    fn moment(&self, at: Instant, end: Option<Instant>) -> String {
        if end.is_some_and(|end| at > end.plus_minutes(60)) {
            return "beyond end".to_owned();
        }
        format!("start+{}m", (at.0 - self.start.0) / 60)
    }

    fn tell(&mut self, of: &Option<String>, mut change: Map<String, Value>) {
        if let Some(of) = of {
            change.insert("of".to_owned(), json!(of));
        }
        self.changes.push(Value::Object(change));
    }

    /// Applies one event to a coordinator, with everything that follows immediately.
    fn play(&mut self, at: usize, event: Event) -> Result<(), machine::Refusal> {
        let playing = &mut self.coordinators[at];
        let plan = Plan::new(&playing.definition, "JOBID", self.rules);
        let world = World { now: self.now, existing: &self.data };
        let before = playing.job.status;
        let effects = machine::apply(&plan, &mut playing.job, &event, &world)?;
        let of = playing.of.clone();
        let after = playing.job.status;
        // Actions are reported before the bundle is informed of the job, because the engine writes them in one batch.
        let mut informed = before == after;
        let mut effects = VecDeque::from(effects);
        while let Some(effect) = effects.pop_front() {
            let ends_batch =
                !matches!(effect, Effect::Job { .. } | Effect::Action(..) | Effect::Deleted(_));
            if ends_batch && !informed {
                informed = true;
                self.inform(at);
            }
            match effect {
                Effect::Job { .. } => self.tell_job(at),
                Effect::Action(number, status) => {
                    let run = self.coordinators[at].job.actions.get(&number);
                    let mut change = Map::new();
                    change.insert("action".to_owned(), json!(number));
                    change.insert("status".to_owned(), json!(status.name()));
                    if status == ActionStatus::Waiting
                        && event == Event::Materialize
                        && let Some(run) = run
                    {
                        let nominal = self.moment(run.data.nominal, None);
                        change.insert("nominal".to_owned(), json!(nominal));
                    }
                    if status == ActionStatus::Failed
                        && let Some((code, _)) = run.and_then(|run| run.error.as_ref())
                        && !code.is_empty()
                    {
                        change.insert("errorCode".to_owned(), json!(code));
                    }
                    self.tell(&of, change);
                }
                // Messages for people are not compared.
                Effect::Fault(_) => {}
                Effect::Deleted(number) => {
                    let mut change = Map::new();
                    change.insert("action".to_owned(), json!(number));
                    change.insert("deleted".to_owned(), json!(true));
                    self.tell(&of, change);
                }
                Effect::Check(number, when) if when <= self.now => {
                    self.later.push_back(Later::Check(at, number));
                }
                Effect::Check(..) | Effect::CleanUp(..) => {}
                Effect::Start(number) => self.start(at, number)?,
                Effect::SuspendWorkflow(number) => {
                    self.workflow(at, number, "SUSPENDED", WorkflowStatus::Suspended)?;
                }
                Effect::ResumeWorkflow(number) => {
                    self.workflow(at, number, "RUNNING", WorkflowStatus::Running)?;
                }
                Effect::KillWorkflow(number) => {
                    self.workflow(at, number, "KILLED", WorkflowStatus::Killed)?;
                }
            }
        }
        if !informed {
            self.inform(at);
        }
        Ok(())
    }

    /// Reports the changes of the job's row.
    fn tell_job(&mut self, at: usize) {
        let playing = &mut self.coordinators[at];
        let (job, told) = (&playing.job, &mut playing.told);
        let mut change = Map::new();
        if told.status != Some(job.status) {
            change.insert("job".to_owned(), json!(job.status.name()));
        }
        if told.pending != job.pending {
            change.insert("pending".to_owned(), json!(job.pending));
        }
        if told.is_done != job.is_done {
            change.insert("doneMaterialization".to_owned(), json!(job.is_done));
        }
        let next = (told.next != job.next).then_some(job.next).flatten();
        let end = job.end;
        *told = Told {
            status: Some(job.status),
            pending: job.pending,
            is_done: job.is_done,
            next: job.next,
        };
        let of = playing.of.clone();
        if let Some(next) = next {
            change.insert("nextMaterialized".to_owned(), json!(self.moment(next, Some(end))));
        }
        if !change.is_empty() {
            self.tell(&of, change);
        }
    }

    /// Informs the bundle of the coordinator's new state.
    fn inform(&mut self, at: usize) {
        let status = self.coordinators[at].job.status;
        if self.bundle.is_some() {
            let _ = self.bundle_event(&bundle::Event::Coordinator(at, status));
        }
    }

    fn start(&mut self, at: usize, number: i64) -> Result<(), machine::Refusal> {
        let playing = &mut self.coordinators[at];
        if playing.is_absent {
            let (code, message) = ("E1005".to_owned(), String::new());
            return self.play(at, Event::NotStarted { number, code, message });
        }
        let ends = playing.ends_at_once;
        self.tell_workflow(at, number, "PREP");
        self.tell_workflow(at, number, "RUNNING");
        self.play(at, Event::Started(number))?;
        if ends {
            self.later.push_back(Later::End(at, number));
        }
        Ok(())
    }

    fn tell_workflow(&mut self, at: usize, number: i64, status: &'static str) {
        self.coordinators[at].workflows.insert(number, status);
        let of = self.coordinators[at].of.clone();
        let mut change = Map::new();
        change.insert("workflow-of".to_owned(), json!(number));
        change.insert("status".to_owned(), json!(status));
        self.tell(&of, change);
    }

    fn workflow(
        &mut self,
        at: usize,
        number: i64,
        name: &'static str,
        status: WorkflowStatus,
    ) -> Result<(), machine::Refusal> {
        if self.coordinators[at].workflows.get(&number) != Some(&name) {
            self.tell_workflow(at, number, name);
        }
        self.play(at, Event::Workflow(number, status))
    }

    /// Performs the deferred work until nothing is left.
    ///
    /// An error of a look at inputs is logged there, and is returned only to a caller that `asked` for it.
    fn settle(&mut self, asked: bool) -> Result<(), machine::Refusal> {
        let mut first = Ok(());
        while let Some(later) = self.later.pop_front() {
            let done = match later {
                Later::Check(at, number) => {
                    self.play(at, Event::Check(number)).or_else(|refusal| match asked {
                        true => Err(refusal),
                        false => Ok(()),
                    })
                }
                Later::End(at, number) => {
                    self.workflow(at, number, "SUCCEEDED", WorkflowStatus::Succeeded)
                }
                Later::Command(at, event) => self.play(at, event),
            };
            first = first.and(done);
        }
        first
    }

    fn submit_coordinator(
        &mut self,
        of: Option<String>,
        text: &str,
        conf: &Properties,
    ) -> Result<(), Option<String>> {
        let language = Language::default();
        let mut rules = ServerRules::new(Target::V5_2_1, &language);
        rules.default_name_node = false;
        let site = Site { check_frequency: false, ..Site::default() };
        let definition = coordinators::submit(text, conf, &self.files, &rules, &site)
            .map_err(|refused| refused.code.map(str::to_owned))?;
        let name = definition.app_path.rsplit('/').next().unwrap_or_default().to_owned();
        let job = Job::new(&definition);
        self.coordinators.push(Playing {
            of,
            ends_at_once: name == "ok",
            is_absent: name == "nowhere",
            told: Told::default(),
            workflows: BTreeMap::new(),
            definition,
            job,
        });
        let at = self.coordinators.len() - 1;
        self.tell_job(at);
        Ok(())
    }

    fn bundle_event(&mut self, event: &bundle::Event) -> Result<(), machine::Refusal> {
        let Some((definition, mut job)) = self.bundle.take() else { return Ok(()) };
        let outcome = bundle::apply(&definition, &mut job, event, self.now, ProcessingZone::UTC);
        let names: Vec<String> = job.members.iter().map(|member| member.name.clone()).collect();
        self.bundle = Some((definition, job));
        if outcome.is_err() && matches!(event, bundle::Event::Submitted { .. }) {
            self.changes.push(json!({"bundle": "PREP", "pending": false}));
        }
        for effect in outcome? {
            match effect {
                bundle::Effect::Bundle(status, pending) => {
                    self.changes.push(json!({"bundle": status.name(), "pending": pending}));
                }
                bundle::Effect::Member(at, status, pending) => {
                    let change =
                        json!({"member": names[at], "status": status.name(), "pending": pending});
                    self.changes.push(change);
                }
                bundle::Effect::Submit(at) => self.submit_member(at),
                bundle::Effect::Suspend(at) => {
                    self.later.push_back(Later::Command(at, Event::Suspend))
                }
                bundle::Effect::Resume(at) => {
                    self.later.push_back(Later::Command(at, Event::Resume))
                }
                bundle::Effect::Kill(at) => self.later.push_back(Later::Command(at, Event::Kill)),
                bundle::Effect::Change(at, text) => {
                    self.later.push_back(Later::Command(at, Event::Change(text)));
                }
                bundle::Effect::Rerun(at, dates, options) => {
                    let playing = &self.coordinators[at];
                    let zone = ProcessingZone::UTC;
                    let scope = dates.unwrap_or_else(|| {
                        let start = zone.format(playing.definition.schedule.start);
                        format!("{start}::{}", zone.format(playing.job.end))
                    });
                    let event = Event::Rerun(ScopeKind::Date, scope, options);
                    self.later.push_back(Later::Command(at, event));
                }
            }
        }
        Ok(())
    }

    fn submit_member(&mut self, at: usize) {
        let Some((definition, job)) = &self.bundle else { return };
        let name = job.members[at].name.clone();
        let member = definition.members.iter().find(|member| member.name == name);
        let Some(member) = member else { return };
        let mut conf = definition.properties.clone();
        conf.extend(member.configuration.iter().cloned());
        conf.insert("oozie.bundle.id".to_owned(), "BUNDLE".to_owned());
        let text = match self.files.look(&member.app_path) {
            Entry::File(text) => text,
            _ => String::new(),
        };
        let accepted = self.submit_coordinator(Some(name.clone()), &text, &conf).is_ok();
        if !accepted {
            // A placeholder for the refused coordinator, so that indexes stay those of the members.
            let text = r#"<coordinator-app name="n" frequency="10" start="2020-01-01T00:00Z" end="2020-01-02T00:00Z"
                timezone="UTC" xmlns="uri:oozie:coordinator:0.5"><action><workflow><app-path>hdfs://nn/x</app-path></workflow></action></coordinator-app>"#;
            let before = self.changes.len();
            self.submit_coordinator(Some(name), text, &Properties::new()).expect("a good one");
            self.changes.truncate(before);
            self.coordinators[at].job.status = Status::Failed;
        }
        let _ = self.bundle_event(&bundle::Event::Accepted(at, accepted));
        if accepted {
            self.later.push_back(Later::Command(at, Event::Materialize));
        }
    }

    fn submit(&mut self, start: bool) -> Result<(), Option<String>> {
        let text = self.definition.clone();
        let conf = self.conf.clone();
        if text.trim_start().starts_with("<bundle-app") {
            let language = Language::default();
            let rules = ServerRules::new(Target::V5_2_1, &language);
            let definition = bundles::submit(&text, &conf, &rules, &Site::default())
                .map_err(|refused| refused.code.map(str::to_owned))?;
            let absent = definition.members.iter().enumerate().filter_map(|(at, member)| {
                (self.files.look(&member.app_path) == Entry::Nothing).then_some(at)
            });
            let absent = absent.collect();
            let job = bundle::Job::new(&definition, ProcessingZone::UTC);
            self.bundle = Some((definition, job));
            return self.bundle_event(&bundle::Event::Submitted { start, absent }).map_err(code);
        }
        self.submit_coordinator(None, &text, &conf)?;
        self.play(0, Event::Materialize).map_err(code)
    }

    fn each(&mut self, event: &Event) -> Result<(), machine::Refusal> {
        for at in 0..self.coordinators.len() {
            if self.coordinators[at].job.status == Status::Failed
                && self.coordinators[at].told.status.is_none()
            {
                continue;
            }
            self.play(at, event.clone())?;
        }
        Ok(())
    }

    /// Applies one event of a trace.
    fn event(&mut self, event: &Value) -> Result<(), Option<String>> {
        let text =
            |name: &str| moments(event[name].as_str().unwrap_or_default(), self.start, self.now);
        let number = event["n"].as_i64().unwrap_or(0);
        let at = self
            .coordinators
            .iter()
            .position(|playing| playing.of.as_deref() == event["of"].as_str());
        let at = at.unwrap_or(0);
        let is_bundle = self.bundle.is_some();
        let kind = ScopeKind::from_name(event["type"].as_str().unwrap_or_default());
        let none = self.coordinators.is_empty();
        match event["do"].as_str().unwrap_or_default() {
            "submit" => self.submit(event["start"] != json!(false)),
            "data" => {
                let place = moment(event["at"].as_str().unwrap_or_default(), self.start, self.now);
                let digits: String = place.chars().filter(char::is_ascii_digit).collect();
                let folder = self.definition.split("hdfs://nn:8020/tr/").nth(1).unwrap_or_default();
                let folder = folder.split('/').next().unwrap_or_default();
                let dataset = event["dataset"].as_str().unwrap_or_default();
                self.data.0.insert(format!("/tr/{folder}/{dataset}/{digits}/_SUCCESS"));
                Ok(())
            }
            "materialize" => self.each(&Event::Materialize).map_err(code),
            "status" => {
                self.each(&Event::Status).map_err(code)?;
                self.bundle_event(&bundle::Event::Status).map_err(code)
            }
            "pause-service" => {
                if let Some((definition, _)) = &self.bundle {
                    let absent =
                        definition.members.iter().enumerate().filter_map(|(at, member)| {
                            (self.files.look(&member.app_path) == Entry::Nothing).then_some(at)
                        });
                    let absent = absent.collect();
                    self.bundle_event(&bundle::Event::Pause { absent }).map_err(code)?;
                }
                self.each(&Event::Pause).map_err(code)
            }
            "check" => {
                let waiting = self.coordinators.iter().enumerate().flat_map(|(at, playing)| {
                    let waiting = playing.job.actions.iter();
                    let waiting = waiting.filter(|(_, run)| run.status == ActionStatus::Waiting);
                    waiting.map(move |(number, _)| Later::Check(at, *number))
                });
                self.later.extend(waiting.collect::<Vec<_>>());
                Ok(())
            }
            "complete" => {
                let (name, status) = match event["result"].as_str() {
                    Some("ok") => ("SUCCEEDED", WorkflowStatus::Succeeded),
                    _ => ("KILLED", WorkflowStatus::Killed),
                };
                self.workflow(at, number, name, status).map_err(code)
            }
            "age" => {
                let seconds = event["seconds"].as_i64().unwrap_or(0);
                let created = self.now.plus_seconds(-seconds);
                if let Some(run) = self.coordinators[at].job.actions.get_mut(&number) {
                    run.created = created;
                }
                Ok(())
            }
            "sleep" => {
                self.now = self.now.plus_seconds(event["ms"].as_i64().unwrap_or(0) / 1000);
                Ok(())
            }
            "look" => match none && !is_bundle {
                true => Err(None),
                false => Ok(()),
            },
            command if is_bundle => {
                let event = match command {
                    "suspend" => bundle::Event::Suspend,
                    "resume" => bundle::Event::Resume,
                    "kill" => bundle::Event::Kill,
                    "change" => bundle::Event::Change(text("value")),
                    "rerun" => {
                        bundle::Event::Rerun(text("coords"), text("dates"), RerunOptions::default())
                    }
                    other => panic!("unknown event {other}"),
                };
                self.bundle_event(&event).map_err(code)
            }
            command => {
                let event = match command {
                    "suspend" => Event::Suspend,
                    "resume" => Event::Resume,
                    "kill" => Event::Kill,
                    "kill-actions" => Event::KillActions(kind, text("scope")),
                    "ignore" => Event::IgnoreActions(kind, text("scope")),
                    "change" => Event::Change(text("value")),
                    "rerun" => {
                        let flag = |name: &str| event[name] == json!(true);
                        let options = RerunOptions {
                            refresh: flag("refresh"),
                            no_cleanup: flag("nocleanup"),
                            failed: flag("failed"),
                            configuration: Vec::new(),
                        };
                        Event::Rerun(kind, text("scope"), options)
                    }
                    other => panic!("unknown event {other}"),
                };
                self.play(at, event).map_err(code)
            }
        }
    }

    fn finals(&self) -> Value {
        let mut actions = Map::new();
        for playing in &self.coordinators {
            for (number, run) in &playing.job.actions {
                let key = match &playing.of {
                    Some(of) => format!("{of}@{number}"),
                    None => number.to_string(),
                };
                actions.insert(key, json!(run.status.name()));
            }
        }
        match (&self.bundle, self.coordinators.first()) {
            (Some((_, job)), _) => json!({"bundle": job.status.name(), "actions": actions}),
            (None, Some(playing)) => {
                json!({"job": playing.job.status.name(), "actions": actions})
            }
            _ => json!({}),
        }
    }
}

fn code(refusal: machine::Refusal) -> Option<String> {
    refusal.code.map(str::to_owned)
}

/// The thing that a change is about.
fn thing(change: &Value) -> String {
    let of = change["of"].as_str().unwrap_or_default();
    for key in ["action", "workflow-of", "member", "bundle"] {
        if !change[key].is_null() && key != "bundle" {
            return format!("{of} {key} {}", change[key]);
        }
        if !change[key].is_null() {
            return key.to_owned();
        }
    }
    format!("{of} job")
}

/// Groups changes by the thing that they are about, in their order.
fn by_thing(changes: &[Value]) -> BTreeMap<String, Vec<&Value>> {
    let mut by: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for change in changes {
        by.entry(thing(change)).or_default().push(change);
    }
    by
}

/// The order in which workflows were started, which is guaranteed per coordinator.
fn starts(changes: &[Value]) -> BTreeMap<&str, Vec<i64>> {
    let mut by: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change["status"] == json!("SUBMITTED")) {
        let of = change["of"].as_str().unwrap_or_default();
        by.entry(of).or_default().extend(change["action"].as_i64());
    }
    by
}

#[test]
fn traces_agree() {
    let name = "coordinator-traces.json";
    let Some(text) = crate::oracle::file("ANKUS_VERDICTS", "verdicts", name) else { return };
    let traces: Vec<Value> = serde_json::from_str(&text).expect("the traces are JSON");
    let only = std::env::var("ANKUS_SHOW").unwrap_or_default();
    let (mut agree, mut in_order) = (0, 0);
    for trace in &traces {
        let scenario = trace["scenario"].as_str().unwrap_or_default();
        if !only.is_empty() && only != scenario {
            continue;
        }
        let mut play = Play::new(trace);
        let mut differences = Vec::new();
        let mut is_ordered = true;
        let events = trace["events"].as_array().into_iter().flatten();
        for (event, observed) in events.zip(trace["observed"].as_array().into_iter().flatten()) {
            play.changes.clear();
            let outcome = play.event(event);
            let settled = play.settle(event["do"] == json!("check")).map_err(code);
            let outcome = outcome.and(settled);
            let expected = observed["changes"].as_array().cloned().unwrap_or_default();
            let what = format!("{} {}", event["t"], event["do"]);
            is_ordered &= expected == play.changes;
            if by_thing(&expected) != by_thing(&play.changes)
                || starts(&expected) != starts(&play.changes)
            {
                let lines = |list: &[Value]| {
                    list.iter().map(|c| format!("\n      {c}")).collect::<String>()
                };
                differences.push(format!(
                    "{what}\n    expected{}\n    got{}",
                    lines(&expected),
                    lines(&play.changes)
                ));
            }
            let error = &observed["error"];
            let wanted = error
                .as_object()
                .map(|error| error.get("code").and_then(Value::as_str).map(str::to_owned));
            if wanted != outcome.clone().err() {
                differences.push(format!("{what}: expected error {wanted:?}, got {outcome:?}"));
            }
        }
        let finals = play.finals();
        let expected = &trace["final"];
        if expected.as_object().is_some_and(|map| !map.is_empty()) && *expected != finals {
            differences.push(format!("final: expected {expected}, got {finals}"));
        }
        match differences.is_empty() {
            true => {
                agree += 1;
                in_order += usize::from(is_ordered);
            }
            false => println!("{scenario}\n  {}", differences.join("\n  ")),
        }
    }
    println!("coordinator traces: {in_order} in the very order");
    if only.is_empty() {
        crate::agree("coordinator traces", agree, traces.len());
        assert_eq!(agree, traces.len(), "see above");
    }
}
