//! Runs scenarios of coordinators and bundles.
//!
//! It takes the scenario, definitions as a server would store them, and files, and returns the result of each action.
//! Time, data and the server's passes are those of [`ankus_lang::machine::coordinator::simulation`]; workflows end as
//! the scenario specifies, or are run alongside in the same time and on the same files, with the stubs of the scenario
//! for their actions.

mod compare;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) use compare::compare;

use super::arrival::Arrival;
use super::real::Real;
use super::run::{self, Compile, Played, Stubs};
use super::{
    Command as Does, Ending, Scenario, Seen, Then, WorkflowAttempt, WorkflowStub, milliseconds,
};
use crate::host::files::{FileUri, Files as _, MemoryFiles};
use crate::simulation;
use ankus_lang::coordinator::{
    Answers, Bundle, Definition, Existing, Failure, Progress, Sla, partition_places,
};
use ankus_lang::el::{self, Called, SiteFunction};
use ankus_lang::machine::coordinator::simulation::{
    Begin, Command, Data, Outcome, Play, Simulation, Told,
};
use ankus_lang::machine::coordinator::{
    ActionStatus, Effect, Event, Job, Plan, RerunOptions, Rules, ScopeKind, WorkflowStatus, bundle,
};
use ankus_lang::machine::{self, Change, JobStatus, Submission};
use ankus_lang::plan;
use ankus_lang::time::{Instant, ProcessingZone};

/// How many seconds of simulated time a scenario may take by default.
const LIMIT_SECONDS: i64 = 30 * 86_400;
/// Maximum number of actions in a scenario.
const MOST_ACTIONS: usize = 1_000_000;

/// A coordinator of a scenario.
pub struct Track {
    /// Its name: the one in the bundle, or its own.
    pub name: String,
    /// Its definition as a server would store it.
    pub definition: Definition,
    /// Whether its workflow is among the files.
    pub has_workflow: bool,
}

/// What is run: a coordinator, or those of a bundle.
pub struct Application {
    /// The coordinators.
    pub tracks: Vec<Track>,
    /// The bundle whose enabled coordinators they are.
    pub bundle: Option<Bundle>,
    /// Functions of the site.
    pub functions: Vec<SiteFunction>,
}

/// The results of functions of the site from a scenario.
struct Said<'a> {
    functions: &'a [SiteFunction],
    said: &'a BTreeMap<String, String>,
}

impl Answers for Said<'_> {
    fn functions(&self) -> &[SiteFunction] {
        self.functions
    }

    fn call(&self, called: &Called<'_>) -> Option<Result<String, Box<el::Failure>>> {
        self.said.get(called.function).cloned().map(Ok)
    }
}

/// The results of a coordinator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenCoordinator {
    /// Its name.
    pub name: String,
    /// Its status; none if it never started.
    pub status: Option<String>,
    /// How many of its actions are in which state.
    pub counts: BTreeMap<String, usize>,
}

/// The results of an action.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenAction {
    /// The number; in a bundle preceded by the name of the coordinator and `@`.
    pub name: String,
    /// The same with the nominal time in place of the number.
    pub by_time: String,
    /// The nominal time.
    pub nominal: Instant,
    /// Its status; `DELETED` if it no longer exists.
    pub status: String,
    /// Code and message of the error that failed it.
    pub error: Option<(String, String)>,
    /// When its workflow started for the first time, and the position of that among all starts.
    pub began: Option<(Instant, usize)>,
    /// When it reached its last state.
    pub ended: Option<Instant>,
    /// How often a workflow of it was started.
    pub starts: u32,
    /// What it waits for.
    pub missing: Option<String>,
    /// URIs by the name of the data-in.
    pub inputs: BTreeMap<String, Vec<String>>,
    /// URIs by the name of the data-out.
    pub outputs: BTreeMap<String, Vec<String>>,
    /// The configuration of its workflow.
    pub configuration: BTreeMap<String, String>,
    /// Its SLA events.
    pub sla: Vec<String>,
    /// The nodes of its workflow that ran, in the order in which they started.
    pub path: Option<Vec<String>>,
}

/// The results of coordinators.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenTimed {
    /// The coordinators.
    pub coordinators: Vec<SeenCoordinator>,
    /// Their actions, by time.
    pub actions: Vec<SeenAction>,
    /// Codes with which commands were refused; empty for a refusal without one.
    pub refusals: Vec<String>,
}

/// Files in memory, and datasets for which the scenario states when they are available.
struct World {
    files: Arc<MemoryFiles>,
    arrivals: Vec<Arrival>,
    removed: RefCell<BTreeSet<String>>,
    now: RefCell<Instant>,
}

impl Existing for World {
    fn exists(&self, uri: &str) -> Result<bool, Failure> {
        let status = self.files.status(&FileUri::parse(uri));
        if status.is_ok_and(|status| status.is_some()) {
            return Ok(true);
        }
        let removed = self.removed.borrow();
        if removed.iter().any(|gone| uri.starts_with(gone.as_str())) {
            return Ok(false);
        }
        let now = *self.now.borrow();
        let mut of = self.arrivals.iter();
        Ok(of.find_map(|arrival| arrival.is_there(uri, now)).unwrap_or(false))
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Failure>> {
        let is_there = |place: &String| self.exists(place).unwrap_or(false);
        Some(Ok(partition_places(uri).iter().any(is_there)))
    }
}

impl Data for World {
    fn put(&self, uri: &str) {
        let uri = FileUri::parse(uri);
        let is_there = self.files.status(&uri).is_ok_and(|status| status.is_some());
        if !is_there {
            // In memory, writing a file can only fail if a file is used as a folder.
            let _ = self.files.write(&uri, b"");
        }
    }

    fn remove(&self, uri: &str) {
        let _ = self.files.delete(&FileUri::parse(uri));
        self.removed.borrow_mut().insert(uri.to_owned());
    }
}

/// The history of an action.
#[derive(Default)]
struct Life {
    began: Option<(Instant, usize)>,
    ended: Option<Instant>,
    starts: u32,
    is_deleted: bool,
    job: Option<usize>,
}

/// A change of status that `when` may name.
struct Moment {
    at: Instant,
    /// `job`, the name of a coordinator, or the number or time of an action.
    names: Vec<String>,
    status: &'static str,
}

type Key = (usize, i64);

struct Player<'a> {
    scenario: &'a Scenario,
    application: &'a Application,
    coordinators: Simulation<'a>,
    workflows: simulation::Simulation<Stubs<'a>>,
    world: &'a World,
    plans: BTreeMap<String, Arc<plan::Plan>>,
    /// The action of each workflow that is run.
    of_job: BTreeMap<usize, Key>,
    lives: BTreeMap<Key, Life>,
    moments: Vec<Moment>,
    refusals: Vec<String>,
    notifications: Vec<String>,
    beginnings: usize,
    /// How many changes of workflows have been passed to the coordinators.
    told: usize,
}

fn span(what: &str, text: &str) -> Result<i64, String> {
    let ms = milliseconds(text).and_then(|ms| i64::try_from(ms).ok());
    ms.map(|ms| ms.div_euclid(1000))
        .ok_or_else(|| format!("`{what} = {text:?}` is not a duration like 90s, 5m or 1h30m"))
}

fn moment(what: &str, text: &str) -> Result<Instant, String> {
    let wrong = |_| format!("`{what} = {text:?}` is not a time like 2020-01-01T00:00Z");
    ProcessingZone::UTC.parse(text).map_err(wrong)
}

/// Returns the names of an action.
fn names(
    application: &Application,
    coordinator: usize,
    number: i64,
    nominal: Instant,
) -> [String; 2] {
    let time = ProcessingZone::UTC.format(nominal);
    match application.bundle {
        None => [number.to_string(), time],
        Some(_) => {
            let name = &application.tracks[coordinator].name;
            [format!("{name}@{number}"), format!("{name}@{time}")]
        }
    }
}

/// Returns the scenario's stub for the workflow of an action, if it has one.
fn stub<'s>(scenario: &'s Scenario, names: &[String; 2]) -> Option<&'s WorkflowStub> {
    let own = names.iter().find_map(|name| scenario.workflows.get(name));
    own.or(scenario.workflow.as_ref())
}

/// Returns how and when a workflow with this answer ends.
fn outcome(answer: &WorkflowAttempt) -> Outcome {
    let seconds = answer.takes.as_deref().and_then(|text| span("takes", text).ok()).unwrap_or(0);
    let status = match answer.result {
        Ending::Ok | Ending::Never => WorkflowStatus::Succeeded,
        Ending::Error => WorkflowStatus::Killed,
        Ending::Failed => WorkflowStatus::Failed,
        Ending::Suspend => WorkflowStatus::Suspended,
    };
    let seconds = (answer.result != Ending::Never).then_some(seconds);
    Outcome { status, seconds }
}

/// Returns when the data of the datasets in a scenario become available, with every template that has the name and is
/// used by an event.
fn arrivals(
    scenario: &Scenario,
    application: &Application,
    zone: ProcessingZone,
) -> Result<Vec<Arrival>, String> {
    let mut arrivals = Vec::new();
    for (name, said) in &scenario.datasets {
        let events = application.tracks.iter().map(|track| &track.definition);
        let events =
            events.flat_map(|definition| definition.inputs.iter().chain(&definition.outputs));
        let mut known = BTreeSet::new();
        for event in events.filter(|event| event.dataset.name == *name) {
            if known.insert(&event.dataset.uri_template) {
                arrivals.push(Arrival::new(name, said, &event.dataset, zone)?);
            }
        }
        if known.is_empty() {
            return Err(format!(
                "`datasets.{name}`: no input or output uses a dataset with this name"
            ));
        }
    }
    Ok(arrivals)
}

/// Runs a scenario. `files` are those of the application and of its workflows, by URI. An error is a sentence about
/// what is wrong with the scenario itself.
pub fn play<'a>(
    scenario: &'a Scenario,
    application: &'a Application,
    files: &[(String, Vec<u8>)],
    compile: &'a mut Compile<'a>,
    mut real: Option<&'a mut Real>,
) -> Result<Played, String> {
    let schedules = application.tracks.iter().map(|track| &track.definition.schedule);
    let first = schedules.map(|schedule| schedule.start).min();
    let zone = ProcessingZone::UTC;
    let from = match (&scenario.at, first) {
        (Some(at), _) => moment("at", at)?,
        (None, Some(first)) => first,
        (None, None) => return Err("there is no coordinator to play".to_owned()),
    };
    let limit = scenario.limit.as_deref().map_or(Ok(LIMIT_SECONDS), |text| span("limit", text))?;
    let until = from.plus_seconds(limit);

    for stub in scenario.workflow.iter().chain(scenario.workflows.values()) {
        let several = stub.attempts.iter().filter_map(|attempt| attempt.takes.as_deref());
        for takes in several.chain(stub.takes.as_deref()) {
            span("takes", takes)?;
        }
    }
    run::check_stubs(scenario)?;
    if let Some(real) = &mut real {
        real.set_limit(u64::try_from(limit).unwrap_or(0).saturating_mul(1_000));
    }
    let stubs = Stubs::new(scenario, compile, real);
    let mut workflows = simulation::Simulation::new(stubs, from.millis());
    workflows.server.clone_from(&scenario.server);
    if let Some(name) = run::unknown_function(scenario, &application.functions) {
        return Err(format!("`[functions]` names `{name}`, which is not a function of the site"));
    }
    workflows.functions.clone_from(&scenario.functions);
    let said = Said { functions: &application.functions, said: &scenario.functions };
    let write = |uri: &str, content: &[u8]| {
        let written = workflows.files.write(&FileUri::parse(uri), content);
        written.map_err(|error| format!("the file `{uri}` cannot be created: {error}"))
    };
    for (uri, content) in files {
        write(uri, content)?;
    }
    for (uri, text) in &scenario.files {
        write(uri, text.as_bytes())?;
    }

    let arrivals = arrivals(scenario, application, zone)?;
    let world = World {
        files: workflows.files.clone(),
        arrivals,
        removed: RefCell::default(),
        now: RefCell::new(from),
    };

    let rules = Rules::of_server(|name| scenario.server.get(name).map(String::as_str));
    let look = scenario.server.get("oozie.service.coord.input.check.requeue.interval");
    let look = look.and_then(|text| text.trim().parse::<i64>().ok()).map_or(60, |ms| ms / 1000);
    let attempts: RefCell<BTreeMap<Key, usize>> = RefCell::default();
    let workflow = |begin: &Begin<'_>| {
        let names = names(application, begin.coordinator, begin.number, begin.run.data.nominal);
        let stub = match stub(scenario, &names) {
            Some(stub) => stub.clone(),
            None if application.tracks[begin.coordinator].has_workflow => return None,
            None => WorkflowStub::default(),
        };
        let mut attempts = attempts.borrow_mut();
        let attempt = attempts.entry((begin.coordinator, begin.number)).or_default();
        let answer = stub.answer(*attempt);
        *attempt += 1;
        Some(outcome(&answer))
    };
    let plans = application.tracks.iter().enumerate().map(|(at, track)| {
        Plan::new(&track.definition, format!("{at:07}-000000000000000-ankus-C"), rules)
            .answered(&said)
    });
    let play = Play {
        plans: plans.collect(),
        bundle: application.bundle.as_ref().map(|bundle| (bundle, zone)),
        from,
        until: until.plus_seconds(1),
        data: &world,
        arrivals: Vec::new(),
        commands: Vec::new(),
        workflow: &workflow,
        makes_outputs: true,
        look_seconds: look,
    };
    let mut player = Player {
        scenario,
        application,
        coordinators: Simulation::new(&play),
        workflows,
        world: &world,
        plans: BTreeMap::new(),
        of_job: BTreeMap::new(),
        lives: BTreeMap::new(),
        moments: Vec::new(),
        refusals: Vec::new(),
        notifications: Vec::new(),
        beginnings: 0,
        told: 0,
    };
    player.run(from, until)?;
    let real = player.workflows.executors.ran()?;
    Ok(Played { real, ..player.played(from, &play) })
}

impl Player<'_> {
    fn now(&self) -> Instant {
        self.coordinators.now().max(Instant::from_millis(self.workflows.now()))
    }

    fn run(&mut self, from: Instant, until: Instant) -> Result<(), String> {
        let scenario = self.scenario;
        let mut arrivals = Vec::new();
        for arrival in &scenario.arrivals {
            let at = match (&arrival.at, &arrival.after) {
                (Some(at), _) => moment("at", at)?,
                (None, Some(after)) => from.plus_seconds(span("after", after)?),
                (None, None) => return Err("an `[[arrivals]]` needs `after` or `at`".to_owned()),
            };
            arrivals.push((at, arrival));
        }
        arrivals.sort_by_key(|(at, _)| *at);
        let mut arrivals = arrivals.into_iter().peekable();
        let mut thens = scenario.then.iter().peekable();
        let (mut since, mut looked) = (from, 0);
        loop {
            self.listen();
            if self.lives.len() > MOST_ACTIONS {
                return Err(format!("more than {MOST_ACTIONS} actions are created; set a `limit`"));
            }
            // Commands are given one after another, each when the previous one is done.
            if let Some(then) = thens.peek()
                && !self.coordinators.has_commands()
                && let Some(due) = self.due(then, since, &mut looked)?
            {
                let command = self.command(then)?;
                since = due.max(self.now());
                self.coordinators.command(since, command);
                thens.next();
                continue;
            }
            let next = self.next();
            if let Some((at, arrival)) = arrivals.peek()
                && *at <= until
                && next.is_none_or(|next| *at <= next)
            {
                let uri = FileUri::parse(&arrival.file);
                let written = self.world.files.write(&uri, arrival.text.as_bytes());
                written.map_err(|error| {
                    format!("the file `{}` cannot be created: {error}", arrival.file)
                })?;
                arrivals.next();
                continue;
            }
            let settled = self.coordinators.is_over() && self.workflows.next().is_none();
            let Some(next) = next.filter(|next| *next <= until && !settled) else { break };
            *self.world.now.borrow_mut() = next;
            let workflow_is_first =
                self.workflows.next().is_some_and(|at| Instant::from_millis(at) <= next);
            match workflow_is_first {
                true => {
                    self.workflows.step();
                }
                false => {
                    self.workflows.advance_to(next.millis());
                    self.coordinators.step();
                }
            }
        }
        Ok(())
    }

    /// Returns when something happens next.
    fn next(&self) -> Option<Instant> {
        let workflows = self.workflows.next().map(Instant::from_millis);
        [self.coordinators.next(), workflows].into_iter().flatten().min()
    }

    /// Returns when the operator's next command is due, if known.
    fn due(
        &self,
        then: &Then,
        since: Instant,
        looked: &mut usize,
    ) -> Result<Option<Instant>, String> {
        let after = then.after.as_deref().map_or(Ok(0), |text| span("after", text))?;
        if let Some(at) = &then.at {
            return moment("at", at).map(Some);
        }
        let Some(when) = &then.when else {
            return match then.after {
                Some(_) => Ok(Some(since.plus_seconds(after))),
                None => Err("a `[[then]]` needs `when`, `after` or `at`".to_owned()),
            };
        };
        let (name, wanted) = when.trim().rsplit_once(' ').unwrap_or((when, ""));
        let happens = |moment: &Moment| {
            moment.status.eq_ignore_ascii_case(wanted)
                && moment.names.iter().any(|known| known == name.trim())
        };
        let from = *looked;
        let found = self.moments[from..].iter().position(happens);
        Ok(found.map(|at| {
            *looked = from + at + 1;
            self.moments[from + at].at.plus_seconds(after)
        }))
    }

    fn command(&self, then: &Then) -> Result<Command, String> {
        let scope = match (&then.actions, &then.dates) {
            (Some(numbers), _) => Some((ScopeKind::Action, numbers.clone())),
            (None, Some(dates)) => Some((ScopeKind::Date, dates.clone())),
            (None, None) => None,
        };
        let value = || {
            let missing = || "`do = \"change\"` needs a `value`".to_owned();
            then.value.clone().ok_or_else(missing)
        };
        let names = then.coordinator.clone();
        let options = || RerunOptions {
            refresh: then.refresh,
            no_cleanup: then.nocleanup,
            failed: then.failed,
            configuration: then.properties.clone().into_iter().collect(),
        };
        let is_whole =
            self.application.bundle.is_some() && (names.is_none() || then.command == Does::Rerun);
        if is_whole {
            return Ok(Command::Bundle(match then.command {
                Does::Suspend => bundle::Event::Suspend,
                Does::Resume => bundle::Event::Resume,
                Does::Kill => bundle::Event::Kill,
                Does::Change => bundle::Event::Change(value()?),
                Does::Rerun => bundle::Event::Rerun(
                    names.unwrap_or_default(),
                    then.dates.clone().unwrap_or_default(),
                    options(),
                ),
                Does::Ignore => {
                    return Err("`do = \"ignore\"` in a bundle needs a `coordinator`".to_owned());
                }
            }));
        }
        let at = match &names {
            None => 0,
            Some(name) => {
                let mut tracks = self.application.tracks.iter();
                let unknown = || format!("`coordinator = {name:?}`: there is none with this name");
                tracks.position(|track| track.name == *name).ok_or_else(unknown)?
            }
        };
        let event = match then.command {
            Does::Suspend => Event::Suspend,
            Does::Resume => Event::Resume,
            Does::Kill => match scope {
                Some((kind, text)) => Event::KillActions(kind, text),
                None => Event::Kill,
            },
            Does::Ignore => match scope {
                Some((kind, text)) => Event::IgnoreActions(kind, text),
                None => Event::Change("status=IGNORED".to_owned()),
            },
            Does::Change => Event::Change(value()?),
            Does::Rerun => {
                let (kind, text) =
                    scope.ok_or("`do = \"rerun\"` needs `actions` or `dates`".to_owned())?;
                Event::Rerun(kind, text, options())
            }
        };
        Ok(Command::Coordinator(at, event))
    }

    /// Passes changes between coordinators and workflows until neither has any left.
    fn listen(&mut self) {
        loop {
            let told = std::mem::take(&mut self.coordinators.told);
            let news = self.workflows.moments[self.told..].to_vec();
            if told.is_empty() && news.is_empty() {
                return;
            }
            self.told += news.len();
            for (at, told) in told {
                self.hear(at, told);
            }
            for moment in news {
                let (Change::Job(status), Some(key)) =
                    (moment.change, self.of_job.get(&moment.job).copied())
                else {
                    continue;
                };
                let status = match status {
                    JobStatus::Succeeded => WorkflowStatus::Succeeded,
                    JobStatus::Killed => WorkflowStatus::Killed,
                    JobStatus::Failed => WorkflowStatus::Failed,
                    JobStatus::Suspended => WorkflowStatus::Suspended,
                    JobStatus::Prep | JobStatus::Running => continue,
                };
                let (at, now) = (key.0, Instant::from_millis(moment.at));
                let job = self.coordinators.jobs[at].as_ref();
                let of = job.and_then(|job| job.actions.get(&key.1)).map(|run| run.status);
                let knows =
                    status == WorkflowStatus::Suspended && of == Some(ActionStatus::Suspended);
                if !knows {
                    self.coordinators.workflow(now, key.0, key.1, status);
                }
            }
        }
    }

    fn names(&self, key: Key) -> Vec<String> {
        let job = self.coordinators.jobs[key.0].as_ref();
        let nominal = job.and_then(|job| job.actions.get(&key.1)).map(|run| run.data.nominal);
        nominal.map_or(Vec::new(), |nominal| names(self.application, key.0, key.1, nominal).into())
    }

    fn hear(&mut self, at: Instant, told: Told) {
        match told {
            Told::Refused(code) => self.refusals.push(code.unwrap_or_default().to_owned()),
            Told::Bundle(bundle::Effect::Bundle(status, _)) => {
                let names = vec!["job".to_owned()];
                self.moments.push(Moment { at, names, status: status.name() });
            }
            Told::Bundle(_) => {}
            Told::Coordinator(of, effect) => match effect {
                Effect::Job { from: Some(_), status, .. } => {
                    let name = match self.application.bundle {
                        None => "job".to_owned(),
                        Some(_) => self.application.tracks[of].name.clone(),
                    };
                    self.moments.push(Moment { at, names: vec![name], status: status.name() });
                }
                Effect::Action(number, status) => self.action(at, (of, number), status),
                Effect::Deleted(number) => {
                    self.lives.entry((of, number)).or_default().is_deleted = true;
                }
                Effect::Start(number) => self.start((of, number)),
                Effect::SuspendWorkflow(number) => {
                    self.pass((of, number), machine::Command::Suspend);
                }
                Effect::ResumeWorkflow(number) => self.pass((of, number), machine::Command::Resume),
                Effect::KillWorkflow(number) => {
                    let job = self.lives.get(&(of, number)).and_then(|life| life.job);
                    self.pass((of, number), machine::Command::Kill);
                    job.map(|job| self.of_job.remove(&job));
                }
                Effect::Job { .. } | Effect::Check(..) | Effect::CleanUp(..) | Effect::Fault(_) => {
                }
            },
        }
    }

    fn action(&mut self, at: Instant, key: Key, status: ActionStatus) {
        let names = self.names(key);
        self.moments.push(Moment { at, names, status: status.name() });
        let life = self.lives.entry(key).or_default();
        if status == ActionStatus::Waiting {
            *life =
                Life { starts: life.starts, began: life.began, job: life.job, ..Life::default() };
        }
        if !status.is_active() {
            life.ended = Some(at);
        }
        let properties = &self.application.tracks[key.0].definition.properties;
        use ActionStatus::{Running, Skipped, TimedOut, Waiting};
        if let (Some(url), Waiting | Running | Skipped | TimedOut) =
            (properties.get("oozie.coord.action.notification.url"), status)
        {
            let id = format!("{:07}-000000000000000-ankus-C@{}", key.0, key.1);
            let url = url.replace("$actionId", &id).replace("$status", status.name());
            self.notifications.push(url);
        }
    }

    /// Sends a command to the workflow of an action, if it is run here.
    fn pass(&mut self, key: Key, command: machine::Command) {
        let job = self.lives.get(&key).and_then(|life| life.job);
        if let Some(job) = job.filter(|job| self.of_job.get(job) == Some(&key)) {
            self.workflows.command(job, command);
        }
    }

    fn start(&mut self, key: Key) {
        let now = self.now();
        let life = self.lives.entry(key).or_default();
        life.starts += 1;
        if life.began.is_none() {
            life.began = Some((now, self.beginnings));
            self.beginnings += 1;
        }
        let before = life.job;
        let Some(run) =
            self.coordinators.jobs[key.0].as_ref().and_then(|job| job.actions.get(&key.1))
        else {
            return;
        };
        let track = &self.application.tracks[key.0];
        let names = names(self.application, key.0, key.1, run.data.nominal);
        if stub(self.scenario, &names).is_some() {
            return;
        }
        if !track.has_workflow {
            let name = format!("the workflow of {}", track.name);
            self.workflows.executors.unstubbed.insert(name);
            return;
        }
        let definition = &track.definition;
        let mut properties = definition.properties.clone();
        properties.extend(run.configuration.iter().cloned());
        let path = definition.app_path.clone();
        properties.insert("oozie.wf.application.path".to_owned(), path.clone());
        properties.extend(run.rerun_configuration.iter().cloned());
        let nominal = run.data.nominal.millis().to_string();
        properties.insert("oozie.coord.action.nominal_time".to_owned(), nominal);
        self.workflows.advance_to(now.millis());
        let made = match before.filter(|_| run.reruns) {
            Some(job) => {
                let plan = self.workflows.jobs[job].plan.clone();
                let failed = [("oozie.wf.rerun.failnodes".to_owned(), "true".to_owned())];
                let reruns = self.workflows.rerun(job, plan, &failed.into_iter().collect());
                reruns.map(|()| job).map_err(|refused| (refused.code.to_owned(), refused.message))
            }
            None => self.submit(&path, properties),
        };
        match made {
            Ok(job) => {
                self.of_job.insert(job, key);
                self.lives.entry(key).or_default().job = Some(job);
                self.coordinators.started(key.0, key.1, Ok(()));
                self.workflows.command(job, machine::Command::Start);
            }
            Err(why) => self.coordinators.started(key.0, key.1, Err(why)),
        }
    }

    fn submit(
        &mut self,
        path: &str,
        properties: BTreeMap<String, String>,
    ) -> Result<usize, (String, String)> {
        let plan = match self.plans.get(path) {
            Some(plan) => plan.clone(),
            None => {
                let (files, uri) = (self.workflows.files.clone(), FileUri::parse(path));
                let compiled = self.workflows.executors.plan(&uri, &*files, &properties);
                // A refused definition has no code of its own here.
                let plan = compiled.map_err(|(_, message)| ("E1005".to_owned(), message))?;
                let plan = Arc::new(plan);
                self.plans.insert(path.to_owned(), plan.clone());
                plan
            }
        };
        let id = format!("{:07}-000000000000000-ankus-W", self.workflows.jobs.len());
        let submission = Submission { id, properties, defaults: Vec::new() };
        self.workflows
            .submit(plan, submission)
            .map_err(|refused| (refused.code.to_owned(), refused.message))
    }

    fn played(&self, from: Instant, play: &Play<'_>) -> Played {
        let now = self.now();
        let mut timed = SeenTimed { refusals: self.refusals.clone(), ..SeenTimed::default() };
        let jobs = self.coordinators.jobs.iter().zip(&self.application.tracks).enumerate();
        for (at, (job, track)) in jobs {
            let mut seen =
                SeenCoordinator { name: track.name.clone(), ..SeenCoordinator::default() };
            if let Some(job) = job {
                seen.status = Some(job.status.name().to_owned());
                for (number, run) in &job.actions {
                    *seen.counts.entry(run.status.name().to_owned()).or_default() += 1;
                    timed.actions.push(self.seen_action(at, *number, job, now));
                }
            }
            timed.coordinators.push(seen);
        }
        timed.actions.sort_by_key(|action| action.nominal);
        let status = match (&self.coordinators.bundle, timed.coordinators.first()) {
            (Some(bundle), _) => bundle.status.name().to_owned(),
            (None, Some(only)) if play.bundle.is_none() => only.status.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let failed = timed.actions.iter().filter_map(|action| action.error.as_ref());
        let message = failed.map(|(_, message)| message.clone()).next_back();
        let seen = Seen {
            status,
            nodes: Vec::new(),
            message,
            notifications: self.notifications.clone(),
            files: self.world.files.texts(),
            timed: Some(timed),
        };
        Played {
            seen,
            taken: run::taken(&self.workflows),
            unstubbed: self.workflows.executors.unstubbed.clone(),
            real: BTreeSet::new(),
            refused: None,
            took_ms: u64::try_from(now.millis() - from.millis()).unwrap_or(0),
            plans: self.plans.values().cloned().collect(),
        }
    }

    fn seen_action(&self, at: usize, number: i64, job: &Job, now: Instant) -> SeenAction {
        let run = &job.actions[&number];
        let [name, by_time] = names(self.application, at, number, run.data.nominal);
        let none = Life::default();
        let life = self.lives.get(&(at, number)).unwrap_or(&none);
        let uris = |data: &[ankus_lang::coordinator::EventData]| {
            data.iter().map(|data| (data.name.clone(), data.uris.clone())).collect()
        };
        let path = life.job.map(|job| {
            let job = &self.workflows.jobs[job];
            let rows = job.run.in_order();
            let nodes = rows.into_iter().map(|(node, _)| job.plan.node(node));
            let is_shown = |node: &&plan::Node| {
                !matches!(node.work.row_type(), ":FORK:" | ":JOIN:" | ":START:")
            };
            nodes.filter(is_shown).map(|node| node.name.clone()).collect()
        });
        let waits = run.status == ActionStatus::Waiting || run.status == ActionStatus::TimedOut;
        SeenAction {
            name,
            by_time,
            nominal: run.data.nominal,
            status: run.status.name().to_owned(),
            error: run.fault().cloned(),
            began: life.began,
            ended: life.ended,
            starts: life.starts,
            missing: run.missing.clone().filter(|_| waits),
            inputs: uris(&run.data.inputs),
            outputs: uris(&run.data.outputs),
            configuration: run.configuration.iter().cloned().collect(),
            sla: expectations(run, life, now),
            path,
        }
    }
}

/// Returns the SLA events of an action: each expectation is checked when it could be decided.
fn expectations(run: &machine::coordinator::Run, life: &Life, now: Instant) -> Vec<String> {
    let zone = ProcessingZone::UTC;
    if run.data.sla.is_empty() {
        return Vec::new();
    }
    let Ok(mut sla) = Sla::register(&run.data.sla, zone) else { return Vec::new() };
    let began = life.began.map(|(at, _)| at);
    let mut times: BTreeSet<Instant> = [began, life.ended].into_iter().flatten().collect();
    let limits = [sla.expected_start, Some(sla.expected_end)];
    let longest = began.zip(sla.expected_minutes).map(|(at, minutes)| at.plus_minutes(minutes));
    times.extend(limits.into_iter().chain([longest]).flatten().map(|at| at.plus_seconds(1)));
    let mut events = Vec::new();
    for at in times.range(..=now) {
        let ended = life.ended.filter(|ended| ended <= at);
        let progress = Progress {
            started: began.filter(|began| began <= at),
            ended,
            is_well: run.status == ActionStatus::Succeeded,
            is_skipped: ended.is_some()
                && matches!(run.status, ActionStatus::Skipped | ActionStatus::Ignored),
        };
        events.extend(sla.look(*at, progress).into_iter().map(|event| event.name().to_owned()));
    }
    events
}
