//! Our engine compared with the real one, scenario by scenario.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ankus::check::kinds;
use ankus::settings::Settings;
use ankus_cli::testing;
use ankus_engine::actions::workplace::{application_folder, merged};
use ankus_engine::driver::Compiler;
use ankus_engine::host::files::{FileUri, Files};
use ankus_engine::simulation::{Call, Executors, Reply, Simulation};
use ankus_lang::configuration::write_property;
use ankus_lang::el::{self, Template};
use ankus_lang::machine::Class;
use ankus_lang::machine::{
    Answer, Change, Command, External, Finished, JobScope, Output, Phase, Row, Status, Submission,
    World, exception,
};
use ankus_lang::plan::{Global, Plan};
use serde_json::Value;

/// The folder of the recorded application.
const APPLICATION: &str = "file:///APP";

/// Scenarios in which branches race.
const RACES: [&str; 2] = ["fork-two-errors", "noval-missing-branch"];

/// Why a scenario may differ: its record shows a defect of the engine that is not copied (`docs/engine.md` describes
/// the behavior instead), or depends on something that is not in the record.
fn excuse(scenario: &Value) -> Option<&'static str> {
    let rows = |keep: &dyn Fn(&Value, &Value) -> bool| {
        scenario["jobs"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|job| job["rows"].as_array().into_iter().flatten().any(|row| keep(job, row)))
    };
    let is = |value: &Value, words: &[&str]| words.iter().any(|word| value == word);
    let ended = |job: &Value| is(&job["status"], &["SUCCEEDED", "KILLED", "FAILED"]);
    let text = scenario["definition"].as_str().unwrap_or_default();
    let writes = |word: &str| {
        let steps = scenario["steps"].as_array().into_iter().flatten();
        steps.filter_map(|step| step["step"].as_str()).any(|step| step.starts_with(word))
    };
    if rows(&|job, row| ended(job) && is(&row["status"], &["PREP", "RUNNING", "DONE"])) {
        return Some("an ended job leaves an action as it was");
    }
    if ["crash", "noexec", "badend"].iter().any(|word| text.contains(word)) {
        return Some("an exception that nobody catches leaves a row as it was");
    }
    if RACES.iter().any(|id| scenario["id"] == *id) {
        return Some("branches race");
    }
    if writes("write ") {
        return Some("a new text of a file is not in the record");
    }
    if text.contains("<chgrp") {
        return Some("groups of the machine are not in the record");
    }
    (text.contains("<email") && text.contains("reject@")).then_some("the mail server is not there")
}

/// The recorded executors: types `script` and `scriptjob`, whose elements state the result of each call.
struct Scripted {
    compiler: Box<dyn Compiler>,
    calls: BTreeMap<(String, String, Phase2, u32), usize>,
    configurations: RefCell<BTreeMap<String, BTreeMap<String, String>>>,
}

type Phase2 = &'static str;

/// The interval at which the recorded server checks running actions.
const CHECKS_MS: i64 = 5_000;

struct Still;

impl World for Still {
    fn now(&self) -> i64 {
        0
    }
}

fn phase_name(phase: Phase) -> Phase2 {
    match phase {
        Phase::Start => "start",
        Phase::Check => "check",
        Phase::End => "end",
        Phase::Kill => "kill",
    }
}

fn child_text(element: roxmltree::Node<'_, '_>, name: &str) -> Option<String> {
    let child = element.children().find(|child| child.tag_name().name() == name)?;
    Some(child.text().unwrap_or_default().trim().to_owned())
}

impl Scripted {
    fn step(&mut self, call: &Call<'_>, element: roxmltree::Node<'_, '_>) -> String {
        let phase = phase_name(call.phase);
        let default = match call.phase {
            Phase::Start => "sync",
            Phase::Check => "done:OK",
            Phase::End => "auto",
            Phase::Kill => "ok",
        };
        let steps = child_text(element, phase).filter(|steps| !steps.is_empty());
        let steps = steps.unwrap_or_else(|| default.to_owned());
        let steps: Vec<&str> = steps.split('|').collect();
        let job = &call.run.job;
        let key = (job.id.clone(), call.name().to_owned(), phase, job.run);
        let number = self.calls.entry(key).or_default();
        let step = steps[(*number).min(steps.len() - 1)].to_owned();
        *number += 1;
        step
    }
}

impl Executors for Scripted {
    fn call(&mut self, call: &Call<'_>) -> Vec<Reply> {
        let text = call.text().to_owned();
        let document = match roxmltree::Document::parse(&text) {
            Ok(document) => document,
            Err(error) => {
                let (code, message) = exception("JDOMParseException", error);
                let answer = Answer::Error(Class::Error, code, message);
                return vec![Reply::now(call.phase, answer)];
            }
        };
        let element = document.root_element();
        if call.kind() == "scriptjob" && call.phase == Phase::Start {
            let evaluate = |text: &str| {
                let phase = el::Phase::Workflow;
                let template = Template::compile(text, phase, call.plan.dialect);
                let world = Still;
                let node = Some(call.node);
                let scope = JobScope { plan: call.plan, run: call.run, node, world: &world, phase };
                template.text(&scope).map(|text| text.into_owned()).map_err(|f| f.to_string())
            };
            let folder = application_folder(call.files, call.run);
            // The recorded executor logs the exception and continues without.
            if let Ok(configuration) = merged(call.files, &folder, element, &evaluate) {
                let id = format!("{}@{}", call.run.job.id, call.name());
                self.configurations.borrow_mut().insert(id, configuration);
            }
        }
        let mut step = self.step(call, element);
        let mut after_ms = 0;
        if let Some(rest) = step.strip_prefix("sleep=")
            && let Some((ms, rest)) = rest.split_once(',')
        {
            after_ms = ms.parse().expect("milliseconds");
            step = rest.to_owned();
        }
        let (word, rest) = step.split_once(':').unwrap_or((&step, ""));
        let (first, message) = rest.split_once(':').unwrap_or((rest, "scripted"));
        let data = child_text(element, "data").map(|pairs| {
            let mut text = String::new();
            for (name, value) in pairs.split(';').filter_map(|pair| pair.split_once('=')) {
                write_property(name, value, &mut text);
            }
            text
        });
        let external = |tracker: &str, console: &str| External {
            id: format!("x-{}", call.name()).into(),
            tracker: tracker.into(),
            console: console.into(),
        };
        let console = format!("http://console/{}", call.name());
        let fault = |class| Answer::Error(class, first.to_owned(), message.to_owned());
        let finished = |external, status: &str, child_ids: Option<&str>, stats: Option<&str>| {
            let output = Output {
                child_ids: child_ids.map(str::to_owned),
                data: data.clone(),
                stats: stats.map(str::to_owned),
            };
            Answer::Finished(Finished {
                external,
                output: output.into(),
                ..Finished::new(if status.is_empty() { "OK" } else { status })
            })
        };
        let answer = match word {
            "sync" => finished(Some(external("-", "-")), rest, None, None),
            "childids" => {
                finished(Some(external("-", "-")), "OK", Some("job_1,job_2"), Some("{\"stats\":1}"))
            }
            "async" => Answer::Started(external("tracker", &console)),
            "running" => Answer::Running((!rest.is_empty()).then(|| rest.to_owned())),
            "done" => finished(None, rest, None, None),
            "auto" => Answer::Ended(None),
            "ok" if call.phase == Phase::Kill => Answer::Stopped,
            "ok" => Answer::Ended(Some(Status::Ok)),
            "err" => Answer::Ended(Some(Status::Error)),
            "killed" => Answer::Ended(Some(Status::Killed)),
            "badend" => Answer::Ended(Some(Status::Failed)),
            "error" => fault(Class::Error),
            "transient" => fault(Class::Transient),
            "nontransient" => fault(Class::NonTransient),
            "failed" => fault(Class::Failed),
            "noexec" => Answer::Started(External::default()),
            "throw" => {
                let (class, code) = match first {
                    name if name.contains("ConnectException") => (Class::Transient, "SC001"),
                    name if name.contains("FileNotFound") => (Class::Error, "SC002"),
                    name if name.contains("IOException") || name.contains("EOFException") => {
                        (Class::NonTransient, "SC003")
                    }
                    name => (Class::Error, name.rsplit('.').next().unwrap_or(name)),
                };
                Answer::Error(class, code.to_owned(), format!("{code}: {message}"))
            }
            _ => Answer::Missing,
        };
        vec![Reply { after_ms, ..Reply::now(call.phase, answer) }]
    }

    fn compile(
        &mut self,
        path: &FileUri,
        files: &dyn Files,
        properties: &BTreeMap<String, String>,
        inherited: Option<&Global>,
    ) -> Result<Plan, (String, String)> {
        self.compiler.compile(path, files, properties, inherited)
    }

    fn asks_end(&self, kind: &str) -> bool {
        kind.starts_with("script")
    }
}

fn settings() -> Settings {
    let text = "[actions]\ntypes = [\n  { name = \"script\", schemas = [\"uri:oozie:script:0.1\"] },\n  \
                { name = \"scriptjob\", schemas = [\"uri:oozie:script:0.1\"], cluster = true },\n]\n";
    let kinds = kinds();
    let rules: Vec<&str> = kinds.iter().map(|kind| kind.name).collect();
    Settings::parse(text, &rules).expect("settings")
}

/// What a replay showed of a job.
#[derive(Default)]
struct Shown {
    states: Vec<String>,
    rows: BTreeMap<String, Vec<String>>,
}

fn push(list: &mut Vec<String>, state: &str) {
    if list.last().is_none_or(|last| last != state) {
        list.push(state.to_owned());
    }
}

/// The expected refusal of a step. An exception that is not the server's own has no code; any refusal matches it.
fn expected_refusal(step: &Value, seen: &str) -> String {
    match (step["http"].as_i64(), step["code"].as_str()) {
        (_, Some(code)) => code.to_owned(),
        (Some(400..), None) => seen.to_owned(),
        _ => "accepted".to_owned(),
    }
}

struct Replay<'a> {
    scenario: &'a Value,
    simulation: Simulation<Scripted>,
    job: Option<usize>,
    submitted: BTreeMap<String, String>,
    /// Whether running actions are checked at intervals.
    has_checker: bool,
    differences: Vec<String>,
}

impl Replay<'_> {
    fn differ(&mut self, what: &str, expected: impl ToString, seen: impl ToString) {
        let (expected, seen) = (expected.to_string(), seen.to_string());
        if expected != seen {
            self.differences.push(format!("{what}: expected {expected}, seen {seen}"));
        }
    }

    fn compile(&mut self, of: Option<usize>) -> Result<Arc<Plan>, String> {
        // A rerun has properties of its own.
        let properties = match of {
            Some(job) => (*self.simulation.jobs[job].run.conf).clone(),
            None => self.submitted.clone(),
        };
        let path = FileUri::parse(&properties["oozie.wf.application.path"]);
        let Simulation { executors, files, .. } = &mut self.simulation;
        executors.compile(&path, &**files, &properties, None).map(Arc::new).map_err(
            |(code, message)| {
                message
                    .split(':')
                    .next()
                    .filter(|code| code.starts_with('E'))
                    .unwrap_or(&code)
                    .to_owned()
            },
        )
    }

    /// Submits the job. Fails with the code of a refusal.
    fn submit(&mut self) -> Result<usize, String> {
        let plan = self.compile(None)?;
        let submission = Submission {
            id: "0000000-000000000000000-ankus-W".to_owned(),
            properties: self.submitted.clone(),
            defaults: Vec::new(),
        };
        self.simulation.submit(plan, submission).map_err(|refused| refused.code.to_owned())
    }

    fn wait(&mut self, wanted: &str) -> bool {
        let Some(job) = self.job else { return false };
        let limit = self.simulation.now() + 900_000;
        let (node, statuses) = match wanted.rsplit_once(' ') {
            Some((node, statuses)) => (Some(node), statuses),
            None => (None, wanted),
        };
        loop {
            let seen = match node {
                Some("child") => self.simulation.jobs.get(1).map(|job| job.run.job.status.name()),
                None => Some(self.simulation.jobs[job].run.job.status.name()),
                Some(node) => self.simulation.row(job, node).map(|row| row.status.name()),
            };
            if seen.is_some_and(|seen| statuses.split('|').any(|wanted| wanted == seen)) {
                return true;
            }
            let next = self.simulation.next();
            let idle = next.is_none_or(|next| next > self.simulation.now() + CHECKS_MS);
            if idle && self.has_checker && self.simulation.now() < limit {
                self.pass(CHECKS_MS as f64 / 1000.0);
                self.check_all();
            } else if next.is_none_or(|next| next > limit) || !self.simulation.step() {
                return false;
            }
        }
    }

    fn check_all(&mut self) {
        for job in 0..self.simulation.jobs.len() {
            let rows = self.simulation.jobs[job].run.rows.iter();
            let running = rows.filter(|(_, row)| row.status == Status::Running);
            for node in running.map(|(node, _)| node).collect::<Vec<_>>() {
                self.simulation.check(job, node);
            }
        }
    }

    fn pass(&mut self, seconds: f64) {
        let until = self.simulation.now() + (seconds * 1000.0) as i64;
        self.simulation.run_until(until);
        self.simulation.advance_to(until);
    }

    /// Runs everything that is due now.
    fn settle(&mut self) {
        let now = self.simulation.now();
        self.simulation.run_until(now);
    }

    fn step(&mut self, step: &Value) {
        let text = step["step"].as_str().expect("a step").to_owned();
        let (word, rest) = text.split_once(' ').unwrap_or((&text, ""));
        let http = step["http"].as_i64();
        let refused = http.is_some_and(|http| http >= 400);
        match word {
            "run" | "submit" => match self.submit() {
                Ok(job) => {
                    if refused {
                        self.differ(
                            "submission",
                            step["code"].as_str().unwrap_or("a refusal"),
                            "accepted",
                        );
                    }
                    self.job = Some(job);
                    if word == "run" {
                        self.simulation.command(job, Command::Start);
                    }
                }
                Err(code) => self.differ("submission", expected_refusal(step, &code), &code),
            },
            "start" | "suspend" | "resume" | "kill" if !refused => {
                let command = match word {
                    "start" => Command::Start,
                    "suspend" => Command::Suspend,
                    "resume" => Command::Resume,
                    _ => Command::Kill,
                };
                let child = step["body_id"].as_str().unwrap_or_default().to_owned() + rest;
                let at = if child.contains("<child") { Some(1) } else { self.job };
                if let Some(job) = at.filter(|at| *at < self.simulation.jobs.len()) {
                    self.simulation.command(job, command);
                }
            }
            "rerun" => {
                let properties: BTreeMap<String, String> =
                    serde_json::from_str(rest).unwrap_or_default();
                let child = rest.strip_prefix("<child").and_then(|rest| rest.strip_suffix('>'));
                let child = child.and_then(|number| number.parse().ok());
                let Some(job) = child.or(self.job) else { return };
                let rerun = match self.compile(Some(job)) {
                    Ok(plan) => {
                        let rerun = self.simulation.rerun(job, plan, &properties);
                        rerun.map_err(|refused| refused.code.to_owned())
                    }
                    Err(code) => Err(code),
                };
                match rerun {
                    Ok(()) => {
                        if refused {
                            self.differ(
                                "rerun",
                                step["code"].as_str().unwrap_or("a refusal"),
                                "accepted",
                            );
                        }
                        self.simulation.command(job, Command::Start);
                    }
                    Err(code) => self.differ("rerun", expected_refusal(step, &code), &code),
                }
            }
            "wait" => {
                let reached = self.wait(rest);
                self.differ(&text, !step["reached"].is_null(), reached);
                self.settle();
            }
            "settle" | "sleep" => {
                let seconds =
                    rest.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
                self.pass(seconds);
            }
            "list" => {
                let expected = step["entries"].as_array().into_iter().flatten().map(|entry| {
                    let field = |name: &str| entry[name].as_str().unwrap_or_default();
                    let size = entry["size"].as_u64().filter(|_| field("path") != "workflow.xml");
                    let size = size.map_or(String::new(), |size| format!(" {size}"));
                    format!("{} {} {}{size}", field("path"), field("kind"), field("mode"))
                });
                let expected: Vec<String> = expected.collect();
                let mut seen = Vec::new();
                let top = FileUri::parse(APPLICATION);
                let mut open = vec![top.clone()];
                while let Some(folder) = open.pop() {
                    for name in self.simulation.files.list(&folder).expect("in memory") {
                        let uri = folder.child(&name);
                        let status = self.simulation.files.status(&uri).expect("in memory");
                        let Some(status) = status else { continue };
                        let path = uri.path[top.path.len() + 1..].to_owned();
                        let size = match status.directory {
                            false if path != "workflow.xml" => format!(" {}", status.length),
                            _ => String::new(),
                        };
                        let kind = if status.directory { "dir" } else { "file" };
                        seen.push(format!("{path} {kind} {:o}{size}", status.mode));
                        if status.directory {
                            open.push(uri);
                        }
                    }
                }
                seen.sort();
                self.differ("files", expected.join(", "), seen.join(", "));
            }
            "callback" => {
                let node = rest.split(' ').next().unwrap_or_default();
                let job = self.job.unwrap_or(0);
                let accepted = ["OK", "SUCCEEDED", "KILLED", "FAILED"];
                let told = rest.split(' ').nth(1).unwrap_or_default();
                if let Some(at) = self.simulation.jobs.get(job).and_then(|of| of.plan.find(node))
                    && accepted.contains(&told)
                {
                    self.simulation.check(job, at);
                }
            }
            // A restarted server checks running actions, now and at intervals.
            "server" => {
                self.simulation.restart();
                self.check_all();
                self.has_checker = true;
            }
            _ => {}
        }
        self.settle();
    }

    fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = self.simulation.jobs.iter().map(|_| Shown::default()).collect();
        for job in &mut shown {
            push(&mut job.states, "PREP");
        }
        for moment in &self.simulation.moments {
            match &moment.change {
                Change::Fault(_) | Change::Expectation { .. } => {}
                Change::Job(status) => push(&mut shown[moment.job].states, status.name()),
                Change::Row { node, status, .. } => {
                    let name = &self.simulation.jobs[moment.job].plan.node(*node).name;
                    push(shown[moment.job].rows.entry(name.clone()).or_default(), status.name());
                }
            }
        }
        shown
    }

    fn compare(&mut self) {
        let scenario = self.scenario;
        let number = |id: &str| match id {
            "<job>" => Some(0),
            id => id.strip_prefix("<child")?.strip_suffix('>')?.parse::<usize>().ok(),
        };
        let mut expected: BTreeMap<usize, Shown> = BTreeMap::new();
        for event in scenario["events"].as_array().into_iter().flatten() {
            let Some(job) = event["job"].as_str().and_then(number) else { continue };
            let shown = expected.entry(job).or_default();
            let Some(to) = event["to"].as_str() else { continue };
            match event["node"].as_str() {
                None => push(&mut shown.states, to),
                Some(node) => push(shown.rows.entry(node.to_owned()).or_default(), to),
            }
        }
        let seen = self.shown();
        for (job, expected) in &expected {
            let Some(seen) = seen.get(*job) else {
                self.differences.push(format!("job {job} does not come to be"));
                continue;
            };
            self.differ(
                &format!("states of job {job}"),
                expected.states.join(" "),
                seen.states.join(" "),
            );
            let names: BTreeSet<&String> = expected.rows.keys().chain(seen.rows.keys()).collect();
            for name in names {
                let line = |rows: &BTreeMap<String, Vec<String>>| {
                    rows.get(name).map_or(String::new(), |row| row.join(" "))
                };
                self.differ(
                    &format!("states of {name} in job {job}"),
                    line(&expected.rows),
                    line(&seen.rows),
                );
            }
        }
        let ids: Vec<String> =
            self.simulation.jobs.iter().map(|job| job.run.job.id.clone()).collect();
        for job in scenario["jobs"].as_array().into_iter().flatten() {
            let Some(at) = job["id"].as_str().and_then(number).filter(|at| *at < ids.len()) else {
                continue;
            };
            self.rows(at, job, &ids);
        }
        for call in scenario["calls"].as_array().into_iter().flatten() {
            let Some(expected) = call["merged_configuration"].as_object() else { continue };
            let Some((job, node)) = call["id"].as_str().and_then(|id| id.split_once('@')) else {
                continue;
            };
            let Some(id) = number(job).and_then(|at| ids.get(at)) else { continue };
            let key = format!("{id}@{node}");
            let seen = self
                .simulation
                .executors
                .configurations
                .borrow()
                .get(&key)
                .cloned()
                .unwrap_or_default();
            let expected: BTreeMap<String, String> = expected
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
                .collect();
            self.differ(
                &format!("configuration of {node}"),
                format!("{expected:?}"),
                format!("{seen:?}"),
            );
        }
        let mails = self.simulation.mails.as_ref().map(|mails| mails.borrow().clone());
        let mails = mails.unwrap_or_default();
        let sent = scenario["mail"].as_array().into_iter().flatten();
        let sent: Vec<String> =
            sent.filter_map(|sent| sent["data"].as_str()).map(|mail| letter(mail, "")).collect();
        let mails: Vec<String> = mails.iter().map(|mail| letter(mail, &ids[0])).collect();
        self.differ("mails", sent.join("\n"), mails.join("\n"));
        let path =
            |url: &str| url.split_once("/n/").map_or(url.to_owned(), |(_, path)| path.to_owned());
        let mut expected: Vec<String> = scenario["notifications"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|sent| sent["path"].as_str().map(path))
            .collect();
        let mut seen: Vec<String> = self
            .simulation
            .notifications
            .iter()
            .map(|(_, url)| {
                let mut url = path(url);
                for (at, id) in ids.iter().enumerate() {
                    let shown = if at == 0 { "<job>".to_owned() } else { format!("<child{at}>") };
                    url = url.replace(id, &shown);
                }
                url
            })
            .collect();
        // None of them waits for another, and a refused one is sent again.
        expected.sort();
        expected.dedup();
        seen.sort();
        seen.dedup();
        self.differ("notifications", expected.join(" "), seen.join(" "));
    }

    fn rows(&mut self, at: usize, job: &Value, ids: &[String]) {
        let named = |text: &str| {
            let mut text = text.replace("file:///APP", "/APP").replace("file:/APP", "/APP");
            for (at, id) in ids.iter().enumerate() {
                let shown = if at == 0 { "<job>".to_owned() } else { format!("<child{at}>") };
                text = text.replace(id, &shown);
            }
            text
        };
        let run = self.simulation.jobs[at].run.clone();
        let plan = self.simulation.jobs[at].plan.clone();
        let (status, number) = (run.job.status, run.job.run);
        let name = run.job.name.clone();
        let rows: BTreeMap<String, Row> = run
            .rows
            .iter()
            .map(|(node, row)| (plan.node(node).name.clone(), row.clone()))
            .collect();
        self.differ(
            &format!("status of job {at}"),
            job["status"].as_str().unwrap_or_default(),
            status.name(),
        );
        self.differ(&format!("run of job {at}"), &job["run"], number);
        if let Some(conf) = job["conf"].as_str() {
            // Properties that the server adds for its own cluster and callbacks are not compared.
            let foreign = [
                "mapreduce.job.user.name",
                "oozie.action.yarn.tag",
                "oozie.wf.workflow.notification.url",
                "oozie.wf.globalconf",
            ];
            let conf = ankus_lang::configuration::read_xml(
                &conf.replace("<job>", "&lt;job&gt;").replace("<child", "&lt;child"),
            );
            let expected: BTreeMap<String, String> =
                conf.expect("a configuration").into_iter().collect();
            let expected: Vec<String> = expected
                .iter()
                .filter(|(name, _)| !foreign.contains(&name.as_str()))
                .map(|(name, value)| format!("{name}={}", named(value)))
                .collect();
            let seen: Vec<String> = run
                .conf
                .iter()
                .filter(|(name, _)| !foreign.contains(&name.as_str()))
                .map(|(name, value)| format!("{name}={}", named(value)))
                .collect();
            self.differ(&format!("properties of job {at}"), expected.join(" "), seen.join(" "));
        }
        if let Some(expected) = job["appName"].as_str() {
            self.differ("name", expected, name);
        }
        let expected: BTreeMap<&str, &Value> = job["rows"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|row| Some((row["name"].as_str()?, row)))
            .collect();
        let names = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(" ");
        self.differ(
            &format!("rows of job {at}"),
            names(expected.keys().copied().collect()),
            names(rows.keys().map(String::as_str).collect()),
        );
        for (name, expected) in expected {
            let Some(row) = rows.get(name) else { continue };
            let text = |key: &str| expected[key].as_str().map(named).unwrap_or_default();
            let own = |text: Option<&str>| text.map(named).unwrap_or_default();
            self.differ(&format!("{name}.status"), text("status"), row.status.name());
            self.differ(
                &format!("{name}.transition"),
                text("transition"),
                own(row.transition.as_deref()),
            );
            self.differ(
                &format!("{name}.errorCode"),
                text("errorCode"),
                own(row.error.code.as_deref()),
            );
            self.differ(
                &format!("{name}.externalStatus"),
                text("externalStatus"),
                own(row.external.status.as_deref()),
            );
            self.differ(
                &format!("{name}.retries"),
                expected["retries"].as_i64().unwrap_or(0),
                row.retries,
            );
            let user = expected["userRetryCount"].as_i64().unwrap_or(0);
            self.differ(&format!("{name}.userRetryCount"), user, row.user_retry_count);
            let kind = plan.find(name).map_or("", |node| plan.node(node).work.row_type());
            self.differ(&format!("{name}.type"), text("type"), kind);
            let is_pending = expected["pending"].as_i64() == Some(1);
            self.differ(&format!("{name}.pending"), is_pending, row.pending);
            self.differ(&format!("{name}.signal"), text("signal"), own(row.signal.as_deref()));
            if kind != ":JOIN:" {
                // A join has the path of the branch that arrived last.
                self.differ(&format!("{name}.path"), text("path"), &row.path);
            }
            let is_set = |field: &str| expected[field].as_bool().unwrap_or(false);
            self.differ(&format!("{name}.started"), is_set("started"), row.started.is_some());
            self.differ(&format!("{name}.ended"), is_set("ended"), row.ended.is_some());
            self.differ(&format!("{name}.externalId"), text("externalId"), own(row.external.id()));
            if kind != "sub-workflow" {
                let seen = own(row.external.console());
                self.differ(&format!("{name}.consoleUrl"), text("consoleUrl"), seen);
            }
            self.differ(
                &format!("{name}.trackerUri"),
                text("trackerUri"),
                own(row.external.tracker()),
            );
            // If the server puts the code before its message, so do we.
            let (told, said) = (text("errorMessage"), own(row.error.message.as_deref()));
            let code = format!("{}: ", text("errorCode"));
            self.differ(
                &format!("{name}.message"),
                told.strip_prefix(&code).is_some(),
                said.strip_prefix(&code).is_some(),
            );
            self.differ(
                &format!("{name}.childIDs"),
                text("externalChildIDs"),
                own(row.output.child_ids.as_deref()),
            );
            let lines = |text: &str| {
                let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
                let mut lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
                lines.sort();
                lines.join(" ")
            };
            let data = row.output.data.clone().unwrap_or_default();
            self.differ(&format!("{name}.data"), lines(&text("data")), lines(&data));
        }
    }
}

/// The relevant parts of a mail: recipients, subject, content type and text.
fn letter(mail: &str, id: &str) -> String {
    let mail = mail.replace("\r\n", "\n");
    let (head, body) = mail.split_once("\n\n").unwrap_or((&mail, ""));
    let field = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split(';').next()).unwrap_or_default().trim().to_owned()
    };
    let fields = ["From:", "To:", "Cc:", "Subject:", "Content-Type:"].map(field);
    let body = if id.is_empty() { body.to_owned() } else { body.replace(id, "<job>") };
    format!("{} | {}", fields.join(" | "), body.trim())
}

fn replay(scenario: &Value) -> Vec<String> {
    let id = scenario["id"].as_str().expect("an id");
    let note = format!("http://localhost:9/n/{id}");
    let placed = |text: &str| text.replace("@APP@", APPLICATION).replace("@NOTE@", &note);
    let executors = Scripted {
        compiler: Box::new(testing::compiler(settings())),
        calls: BTreeMap::new(),
        configurations: RefCell::default(),
    };
    let mut simulation = Simulation::new(executors, 1_577_836_800_000);
    simulation.mails = Some(RefCell::default());
    let codes = "oozie.service.LiteWorkflowStoreService.user.retry.error.code.ext";
    simulation.server.insert(codes.to_owned(), "UR1,UR2,EL_ERROR".to_owned());
    for (name, value) in scenario["server"].as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        simulation.server.insert(name.clone(), value);
    }
    let write = |simulation: &Simulation<Scripted>, name: &str, text: &str| {
        // `file:` is the default file system of the recorded server, so a path without a scheme leads there too.
        for folder in [APPLICATION, "/APP"] {
            let uri = FileUri::parse(&format!("{folder}/{name}"));
            simulation.files.write(&uri, placed(text).as_bytes()).expect("a file in memory");
        }
    };
    write(&simulation, "workflow.xml", scenario["definition"].as_str().expect("a definition"));
    for (name, text) in scenario["files"].as_object().into_iter().flatten() {
        write(&simulation, name, text.as_str().expect("a text"));
    }
    let mut submitted = BTreeMap::from(
        [
            ("user.name", "tester"),
            ("nameNode", "file://"),
            ("root", APPLICATION),
            ("oozie.wf.application.path", APPLICATION),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    for (name, value) in scenario["conf"].as_object().into_iter().flatten() {
        submitted.insert(name.clone(), placed(value.as_str().unwrap_or_default()));
    }
    let mut replay = Replay {
        scenario,
        simulation,
        job: None,
        submitted,
        has_checker: false,
        differences: Vec::new(),
    };
    for step in scenario["steps"].as_array().into_iter().flatten() {
        replay.step(step);
    }
    replay.compare();
    replay.differences
}

#[test]
fn engine_traces() {
    let name = "workflow-traces.json";
    let Some(text) = crate::oracle::file("ANKUS_VERDICTS", "verdicts", name) else { return };
    let scenarios: Vec<Value> = serde_json::from_str(&text).expect("a list");
    let (mut agree, mut excepted) = (0, 0);
    let mut differing = Vec::new();
    for scenario in &scenarios {
        let id = scenario["id"].as_str().expect("an id").to_owned();
        let differences = replay(scenario);
        if differences.is_empty() {
            agree += 1;
        } else if let Some(excuse) = excuse(scenario) {
            println!("excepted {id}: {excuse}");
            excepted += 1;
        } else {
            differing.push((id, differences));
        }
    }
    for (id, differences) in &differing {
        println!("{id}");
        for difference in differences.iter().take(16) {
            println!("    {difference}");
        }
    }
    println!("engine traces: {excepted} excepted for a reason");
    crate::agree("engine traces", agree, scenarios.len());
    assert!(differing.is_empty(), "{} scenarios differ", differing.len());
}
