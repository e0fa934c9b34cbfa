//! Runs scenarios.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::real::Real;
use super::{
    Arrival, Attempt, Command as Does, Outcome, Phase as Fails, Scenario, Seen, SeenNode, Then,
    milliseconds,
};
use crate::actions::workplace::configuration_of;
use crate::host::files::{FileUri, Files};
use crate::simulation::{Call, Executors, Reply, Simulation};
use ankus_lang::configuration::{read_properties, write_property};
use ankus_lang::el::SiteFunction;
use ankus_lang::machine::Class;
use ankus_lang::machine::{
    Answer, Change, Command, DASH, External, Finished, JobStatus, Output, Phase, Refused, Status,
    Submission,
};
use ankus_lang::plan::{Global, NodeIndex, Plan, Work};
use ankus_lang::time::ProcessingZone;

/// How much simulated time a scenario may take by default.
const LIMIT_MS: u64 = 30 * 86_400_000;
/// When a scenario begins by default: 2020-01-01T00:00Z.
const BEGIN_MS: i64 = 1_577_836_800_000;

/// Compiles sub-workflows to plans.
pub type Compile<'a> = dyn FnMut(
        &FileUri,
        &dyn Files,
        &BTreeMap<String, String>,
        Option<&Global>,
    ) -> Result<Plan, (String, String)>
    + 'a;

/// The results of a scenario.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// What the run showed.
    pub seen: Seen,
    /// Every transition that was taken, by the path of its definition: node and target.
    pub taken: BTreeSet<(String, String, String)>,
    /// Actions without a stub; they were assumed to succeed.
    pub unstubbed: BTreeSet<String>,
    /// Actions without a stub that ran for real.
    pub real: BTreeSet<String>,
    /// Why the submission was refused, if it was.
    pub refused: Option<Refused>,
    /// Simulated milliseconds from beginning to end.
    pub took_ms: u64,
    /// The workflows that were run for coordinators.
    pub plans: Vec<Arc<Plan>>,
}

/// Stubs as executors.
pub(super) struct Stubs<'a> {
    scenario: &'a Scenario,
    compile: &'a mut Compile<'a>,
    /// Carries out actions without a stub.
    real: Option<&'a mut Real>,
    attempts: BTreeMap<(String, String), usize>,
    /// Actions without a stub.
    pub(super) unstubbed: BTreeSet<String>,
    configurations: BTreeMap<(String, NodeIndex), BTreeMap<String, String>>,
}

impl<'a> Stubs<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        compile: &'a mut Compile<'a>,
        real: Option<&'a mut Real>,
    ) -> Stubs<'a> {
        Stubs {
            scenario,
            compile,
            real,
            attempts: BTreeMap::new(),
            unstubbed: BTreeSet::new(),
            configurations: BTreeMap::new(),
        }
    }

    /// Returns the plan of a workflow that a coordinator starts.
    pub(super) fn plan(
        &mut self,
        path: &FileUri,
        files: &dyn Files,
        properties: &BTreeMap<String, String>,
    ) -> Result<Plan, (String, String)> {
        (self.compile)(path, files, properties, None)
    }
}

impl Stubs<'_> {
    fn is_stubbed(&self, call: &Call<'_>) -> bool {
        self.scenario.stub(call.name(), call.kind()).is_some()
    }

    /// Returns the actions that ran for real, or why they could not.
    pub(super) fn ran(&self) -> Result<BTreeSet<String>, String> {
        match self.real.as_deref() {
            None => Ok(BTreeSet::new()),
            Some(Real { fault: Some(why), .. }) => Err(why.clone()),
            Some(real) => Ok(real.done.clone()),
        }
    }

    fn attempt(&mut self, call: &Call<'_>) -> Attempt {
        let Some(stub) = self.scenario.stub(call.name(), call.kind()) else {
            self.unstubbed.insert(call.name().to_owned());
            return Attempt::default();
        };
        let key = (call.run.job.id.clone(), call.name().to_owned());
        let number = self.attempts.get(&key).copied().unwrap_or(0);
        // Every start of an action is an attempt; its later phases belong to the last start.
        let number = if call.phase == Phase::Start {
            self.attempts.insert(key, number + 1);
            number
        } else {
            number.saturating_sub(1)
        };
        stub.answer(number)
    }
}

fn fault(attempt: &Attempt) -> Answer {
    let code = attempt.code.clone().unwrap_or_else(|| "STUB".to_owned());
    let message = attempt.message.clone().unwrap_or_else(|| "as the scenario says".to_owned());
    let class = match attempt.result {
        Outcome::Transient => Class::Transient,
        Outcome::NonTransient => Class::NonTransient,
        Outcome::Failed => Class::Failed,
        Outcome::Ok | Outcome::Error | Outcome::Never => Class::Error,
    };
    Answer::Error(class, code, message)
}

impl Executors for Stubs<'_> {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        let is_stubbed = self.is_stubbed(call);
        if call.phase == Phase::Start
            && let Ok(document) = roxmltree::Document::parse(call.text())
        {
            let configuration = configuration_of(document.root_element()).unwrap_or_default();
            let key = (call.run.job.id.clone(), call.node);
            self.configurations.insert(key, configuration.into_iter().collect());
        }
        if let Some(real) = self.real.as_deref_mut().filter(|_| !is_stubbed) {
            return real.call(call);
        }
        let attempt = self.attempt(call);
        let takes = attempt.takes.as_deref().and_then(milliseconds).unwrap_or(0);
        let writes: Vec<_> =
            attempt.writes.iter().map(|(uri, text)| (uri.clone(), text.clone())).collect();
        let fails = !matches!(attempt.result, Outcome::Ok | Outcome::Never);
        let ends = || {
            let mut data = String::new();
            for (name, value) in &attempt.data {
                write_property(name, value, &mut data);
            }
            let well = if fails && attempt.phase == Fails::Check { "FAILED" } else { "SUCCEEDED" };
            let status = attempt.external_status.as_deref().unwrap_or(well);
            let data = (!data.is_empty()).then_some(data);
            Answer::Finished(Finished {
                output: Output { data, ..Output::default() }.into(),
                ..Finished::new(status)
            })
        };
        match call.phase {
            Phase::Start if fails && attempt.phase == Fails::Start => {
                let reply = Reply::now(Phase::Start, fault(&attempt));
                vec![Reply { after_ms: takes, writes, ..reply }]
            }
            Phase::Start => {
                let id = attempt.external_id.clone();
                let external = External {
                    id: id.unwrap_or_else(|| format!("stub-{}", call.name())).into(),
                    tracker: "stub".into(),
                    console: DASH,
                };
                let mut replies = vec![Reply::now(Phase::Start, Answer::Started(external))];
                if attempt.result != Outcome::Never {
                    let answer = if fails && attempt.phase == Fails::Check {
                        fault(&attempt)
                    } else {
                        ends()
                    };
                    replies.push(Reply { after_ms: takes, phase: Phase::Check, answer, writes });
                }
                replies
            }
            Phase::Check if fails && attempt.phase == Fails::Check => {
                vec![Reply::now(Phase::Check, fault(&attempt))]
            }
            // The end is reported by itself; an earlier check learns nothing.
            Phase::Check => vec![Reply::now(Phase::Check, Answer::Running(None))],
            Phase::End if fails && attempt.phase == Fails::End => {
                vec![Reply::now(Phase::End, fault(&attempt))]
            }
            Phase::End => vec![Reply::now(Phase::End, Answer::Ended(None))],
            Phase::Kill => vec![Reply::now(Phase::Kill, Answer::Stopped)],
        }
    }

    fn compile(
        &mut self,
        path: &FileUri,
        files: &dyn Files,
        properties: &BTreeMap<String, String>,
        inherited: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        (self.compile)(path, files, properties, inherited)
    }

    fn asks_end(&self, kind: &str) -> bool {
        !matches!(kind, "fs" | "sub-workflow")
    }

    fn replaces(&self, call: &Call<'_>) -> bool {
        // Mails are only sent if actions run for real.
        self.is_stubbed(call) || (self.real.is_some() && call.kind() == "email")
    }
}

/// Runs a scenario. `application` is the path of the application; `files` are its own files by URI. With `real`,
/// actions without a stub run for real. An error is a sentence about what is wrong with the scenario itself.
pub fn play<'a>(
    scenario: &'a Scenario,
    plan: Arc<Plan>,
    properties: BTreeMap<String, String>,
    files: &[(String, Vec<u8>)],
    compile: &'a mut Compile<'a>,
    mut real: Option<&'a mut Real>,
) -> Result<Played, String> {
    let begin = match &scenario.at {
        None => BEGIN_MS,
        Some(at) => moment("at", at)?,
    };
    if let Some(what) = only_timed(scenario) {
        return Err(format!("`{what}` is for coordinators and bundles, and this is a workflow"));
    }
    let limit = match &scenario.limit {
        Some(limit) => span("limit", limit)?,
        None => LIMIT_MS,
    };
    check_stubs(scenario)?;
    if let Some(real) = &mut real {
        real.set_limit(limit);
    }
    let mut simulation = Simulation::new(Stubs::new(scenario, compile, real), begin);
    simulation.server.clone_from(&scenario.server);
    if let Some(name) = unknown_function(scenario, &plan.functions) {
        return Err(format!("`[functions]` names `{name}`, which is not a function of the site"));
    }
    simulation.functions.clone_from(&scenario.functions);
    let write = |simulation: &Simulation<Stubs<'_>>, uri: &str, content: &[u8]| {
        let written = simulation.files.write(&FileUri::parse(uri), content);
        written.map_err(|error| format!("the file `{uri}` cannot be created: {error}"))
    };
    for (uri, content) in files {
        write(&simulation, uri, content)?;
    }
    for (uri, text) in &scenario.files {
        write(&simulation, uri, text.as_bytes())?;
    }
    let id = "0000000-000000000000000-ankus-W".to_owned();
    let submission = Submission { id, properties, defaults: Vec::new() };
    let job = match simulation.submit(plan, submission) {
        Ok(job) => job,
        Err(refused) => {
            let seen = Seen { status: "REFUSED".to_owned(), ..Seen::default() };
            return Ok(Played { seen, refused: Some(refused), ..Played::default() });
        }
    };
    simulation.command(job, Command::Start);

    let until = begin.saturating_add(i64::try_from(limit).unwrap_or(i64::MAX));
    let arrivals = arrivals(scenario, begin)?;
    let mut arrivals = arrivals.into_iter().peekable();
    let mut thens = scenario.then.iter().peekable();
    let (mut since, mut looked) = (begin, 0);
    loop {
        // Give the operator's next command once its time has come.
        if let Some(then) = thens.peek()
            && let Some(due) = due(then, &simulation, since, &mut looked)?
        {
            simulation.run_until(due.min(until) - 1);
            simulation.advance_to(due.min(until));
            operate(&mut simulation, job, then.command, &then.properties)?;
            since = simulation.now();
            thens.next();
            continue;
        }
        if let Some((at, arrival)) = arrivals.peek()
            && simulation.next().is_none_or(|next| next >= *at)
            && *at <= until
        {
            simulation.advance_to(*at);
            write(&simulation, &arrival.file, arrival.text.as_bytes())?;
            arrivals.next();
            continue;
        }
        if simulation.next().is_none_or(|next| next > until) || !simulation.step() {
            break;
        }
    }
    let real = simulation.executors.ran()?;
    Ok(Played { real, ..played(&simulation, job, begin) })
}

/// The files that appear while a workflow runs, with their times in ms, in order.
fn arrivals(scenario: &Scenario, begin: i64) -> Result<Vec<(i64, &Arrival)>, String> {
    let mut arrivals = Vec::new();
    for arrival in &scenario.arrivals {
        let at = match (&arrival.at, &arrival.after) {
            (Some(at), _) => moment("at", at)?,
            (None, Some(after)) => begin.saturating_add(wait("after", after)?),
            (None, None) => return Err("an `[[arrivals]]` needs `after` or `at`".to_owned()),
        };
        arrivals.push((at, arrival));
    }
    arrivals.sort_by_key(|(at, _)| *at);
    Ok(arrivals)
}

/// A duration in ms, as a difference of times.
fn wait(name: &str, text: &str) -> Result<i64, String> {
    Ok(i64::try_from(span(name, text)?).unwrap_or(i64::MAX))
}

/// The time in ms at which the operator gives a command; `None` while what it waits for has not happened.
///
/// `since` is the time of the previous command, `looked` the number of events that were compared before.
fn due(
    then: &Then,
    simulation: &Simulation<Stubs<'_>>,
    since: i64,
    looked: &mut usize,
) -> Result<Option<i64>, String> {
    if let Some(at) = &then.at {
        return moment("at", at).map(Some);
    }
    match (&then.when, &then.after) {
        (Some(when), after) => {
            let new = &simulation.moments[*looked..];
            let Some(at) = new.iter().position(|moment| happens(simulation, moment, when)) else {
                return Ok(None);
            };
            let after = after.as_deref().and_then(milliseconds).unwrap_or(0);
            *looked += at + 1;
            Ok(Some(new[at].at + i64::try_from(after).unwrap_or(i64::MAX)))
        }
        (None, Some(after)) => Ok(Some(since.saturating_add(wait("after", after)?))),
        (None, None) => Err("a `[[then]]` needs `when`, `after` or `at`".to_owned()),
    }
}

fn operate(
    simulation: &mut Simulation<Stubs<'_>>,
    job: usize,
    command: Does,
    properties: &BTreeMap<String, String>,
) -> Result<(), String> {
    match command {
        Does::Suspend => simulation.command(job, Command::Suspend),
        Does::Resume => simulation.command(job, Command::Resume),
        Does::Kill => simulation.command(job, Command::Kill),
        Does::Rerun => {
            let plan = simulation.jobs[job].plan.clone();
            let refused = |refused: Refused| format!("the rerun is refused: {refused}");
            simulation.rerun(job, plan, properties).map_err(refused)?;
            simulation.command(job, Command::Start);
        }
        Does::Change | Does::Ignore => {
            return Err(
                "`change` and `ignore` are for coordinators, and this is a workflow".to_owned()
            );
        }
    }
    Ok(())
}

fn span(what: &str, text: &str) -> Result<u64, String> {
    milliseconds(text)
        .ok_or_else(|| format!("`{what} = {text:?}` is not a duration like 90s, 5m or 1h30m"))
}

/// Parses a time to milliseconds since 1970.
fn moment(what: &str, text: &str) -> Result<i64, String> {
    let parsed = ProcessingZone::default().parse(text);
    parsed
        .map(ankus_lang::time::Instant::millis)
        .map_err(|_| format!("`{what} = {text:?}` is not a time like 2020-01-01T00:00Z"))
}

/// Returns a function in the scenario that the site does not have.
pub(super) fn unknown_function<'s>(
    scenario: &'s Scenario,
    functions: &[SiteFunction],
) -> Option<&'s str> {
    let is_known = |name: &&String| functions.iter().any(|function| function.name == **name);
    scenario.functions.keys().find(|name| !is_known(name)).map(String::as_str)
}

/// Checks that the durations of the stubs are valid.
pub(super) fn check_stubs(scenario: &Scenario) -> Result<(), String> {
    for stub in scenario.actions.values().chain(scenario.types.values()) {
        let several = stub.attempts.iter().filter_map(|attempt| attempt.takes.as_deref());
        for takes in several.chain(stub.takes.as_deref()) {
            span("takes", takes)?;
        }
    }
    Ok(())
}

/// Returns a part of the scenario that does not apply to workflows.
fn only_timed(scenario: &Scenario) -> Option<&'static str> {
    let expect = &scenario.expect;
    [
        ("datasets", !scenario.datasets.is_empty()),
        ("workflow", scenario.workflow.is_some()),
        ("workflows", !scenario.workflows.is_empty()),
        ("expect.counts", !expect.counts.is_empty()),
        ("expect.refusals", expect.refusals.is_some()),
        ("expect.coordinators", !expect.coordinators.is_empty()),
    ]
    .into_iter()
    .find_map(|(name, is_there)| is_there.then_some(name))
}

/// Returns every transition that was taken in the workflows of a simulation.
pub(super) fn taken(simulation: &Simulation<Stubs<'_>>) -> BTreeSet<(String, String, String)> {
    let mut taken = BTreeSet::new();
    for job in &simulation.jobs {
        for (node, row) in job.run.rows.iter() {
            let work = &job.plan.node(node).work;
            let name = job.plan.node(node).name.clone();
            let targets: Vec<String> = match work {
                Work::Fork { to } if row.transition.is_some() => {
                    to.iter().map(|to| job.plan.node(*to).name.clone()).collect()
                }
                _ => row.transition.as_deref().map(str::to_owned).into_iter().collect(),
            };
            taken.extend(targets.into_iter().map(|to| (job.plan.path.clone(), name.clone(), to)));
        }
    }
    taken
}

/// Whether a change is the one that `load RUNNING` or `job SUSPENDED` names.
fn happens(
    simulation: &Simulation<Stubs<'_>>,
    moment: &crate::simulation::Moment,
    when: &str,
) -> bool {
    let (name, wanted) = when.trim().rsplit_once(' ').unwrap_or((when, ""));
    match &moment.change {
        Change::Job(status) => {
            moment.job == 0 && name.trim() == "job" && status.name().eq_ignore_ascii_case(wanted)
        }
        Change::Row { node, status, .. } => {
            let named = &simulation.jobs[moment.job].plan.node(*node).name;
            named == name.trim() && status.name().eq_ignore_ascii_case(wanted)
        }
        Change::Fault(_) | Change::Expectation { .. } => false,
    }
}

fn played(simulation: &Simulation<Stubs<'_>>, job: usize, begin: i64) -> Played {
    let of = &simulation.jobs[job];
    let since = |at: i64| u64::try_from(at - begin).unwrap_or(0);
    let mut nodes = Vec::new();
    for (node, row) in of.run.in_order() {
        let work = &of.plan.node(node).work;
        // The changes of a row show when its program started and ended.
        let began = simulation.moments.iter().find(|moment| {
            moment.job == job && matches!(moment.change, Change::Row { node: of, .. } if of == node)
        });
        let data =
            read_properties(row.output.data.as_deref().unwrap_or_default()).unwrap_or_default();
        let configuration = simulation.executors.configurations.get(&(of.run.job.id.clone(), node));
        nodes.push(SeenNode {
            name: of.plan.node(node).name.clone(),
            node_type: work.row_type().to_owned(),
            status: row.status.name().to_owned(),
            retries: row.all_retries,
            user_retries: row.user_retry_count,
            code: row.error.code.clone(),
            message: row.error.message.clone(),
            transition: row.transition.as_deref().map(str::to_owned),
            external_status: row.external.status.as_deref().map(str::to_owned),
            data: data.into_iter().collect(),
            configuration: configuration.cloned().unwrap_or_default(),
            began_ms: began.map_or(0, |moment| since(moment.at)),
            ended_ms: row.ended.map(since),
        });
    }
    let failed = of.run.in_order().into_iter().filter(|(node, row)| {
        matches!(of.plan.node(*node).work, Work::Kill { .. }) || row.status == Status::Failed
    });
    let message = failed.filter_map(|(_, row)| row.error.message.clone()).next_back();
    let status = match of.run.job.status {
        JobStatus::Running if simulation.next().is_none() => "RUNNING",
        status => status.name(),
    };
    Played {
        seen: Seen {
            status: status.to_owned(),
            nodes,
            message,
            notifications: simulation.notifications.iter().map(|(_, url)| url.clone()).collect(),
            files: simulation.files.texts(),
            timed: None,
        },
        taken: taken(simulation),
        unstubbed: simulation.executors.unstubbed.clone(),
        real: BTreeSet::new(),
        refused: None,
        took_ms: since(simulation.now()),
        plans: Vec::new(),
    }
}
