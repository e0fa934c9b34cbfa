//! Databricks Jobs: one Asset Bundle with a job per coordinator with what starts it, or per workflow that no coordinator starts.
//!
//! A definition and the properties of its submission become `resources/NAME.job.yml`, and a ledger. The bundle itself
//! and the programs in `src/` are always the same. The leaves of a run determine its outcome, so that every failure
//! leads to a leaf that fails.

mod actions;
mod coordinator;
mod expression;
mod graph;

use super::ledger::Outcome;
use super::now::Now;
use super::reached::Reached;
use super::said::{self, Kept, Says};
use super::yaml::{Yaml, map, named, text};
use super::{Conversion, Given, Output, REFUSED, claims, model, shared};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::source::Span;
use crate::syntax::xml::Tree;
use expression::{Names, TIMES, is_read, sheltered};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::text::{Kind, Part, Text};

const CREDENTIALS: (&str, &str) = (
    "a job has the rights of the identity that it runs as",
    "set `run_as` to a service principal with the rights that it needs",
);

/// Prints one application.
struct Printer<'a> {
    given: Given<'a>,
    /// The text that is converted now.
    now: Now<'a>,
    texts: BTreeMap<String, Text>,
    constants: BTreeMap<&'static str, Text>,
    used: RefCell<BTreeMap<String, String>>,
    /// The actions before the current task.
    reached: Reached,
    /// Why the current task cannot be converted, if it cannot.
    lack: Option<String>,
    /// Keys of tasks.
    taken: BTreeSet<String>,
    /// Jobs that are started but not in the bundle.
    elsewhere: BTreeSet<String>,
    /// The settings of the job that come from a coordinator.
    settings: Yaml,
}

/// Returns the key of a job or a task, which has only letters, digits and `_`.
///
/// ```
/// use ankus::carry::databricks::key;
/// assert_eq!(key("daily-load.v2"), "daily_load_v2");
/// ```
pub fn key(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let key: String = name.chars().map(fits).take(90).collect();
    if key.starts_with(|c: char| c.is_ascii_alphabetic()) { key } else { format!("n{key}") }
}

/// Returns the files that all jobs share.
pub fn helpers() -> Vec<Output> {
    let files = [
        ("databricks.yml", include_str!("bundle.yml")),
        ("src/fail.py", include_str!("fail.py")),
        ("src/mail.py", include_str!("mail.py")),
        ("src/run.py", include_str!("run.py")),
    ];
    files.map(|(path, text)| Output { path: path.to_owned(), text: text.to_owned() }).to_vec()
}

/// Converts an application.
pub fn convert(given: Given<'_>) -> Conversion {
    let empty = Tree::parse("<none/>").0;
    let mut printer = Printer {
        given,
        now: Now::new(&given, &empty),
        texts: BTreeMap::new(),
        constants: BTreeMap::new(),
        used: RefCell::default(),
        reached: Reached::default(),
        lack: None,
        taken: BTreeSet::new(),
        elsewhere: BTreeSet::new(),
        settings: map([]),
    };
    let mut tasks = None;
    if let Some(coordinator) = given.coordinator {
        tasks = Some(printer.coordinator(coordinator));
        printer.now.finish(coordinator.path, coordinator.analysis);
    }
    if let Some(analysis) = given.analysis {
        printer.now.turn_to(analysis);
        tasks = printer.workflow(analysis);
        printer.now.finish(given.path, analysis);
    }
    let outputs = tasks.map(|tasks| printer.output(tasks)).into_iter().collect();
    printer.now.conversion(&given, outputs)
}

impl<'a> Says<'a> for Printer<'a> {
    type Text = Text;
    const LEFT_OUT: &'static str = "read it from a secret scope";
    const LACKING: &'static str = "rewrite the expression: as converted, its task fails";

    fn now(&mut self) -> &mut Now<'a> {
        &mut self.now
    }

    fn shown(&mut self, source: &str) -> Text {
        self.compile(source)
    }

    fn kept(&mut self, name: &str) -> (Text, Kept) {
        let scope = format!("{}-secrets", key(self.given.name));
        let remedy = format!("databricks secrets put-secret {scope} {name}");
        let code = format!("@{{secret:{scope}/{name}}}");
        (
            Text::value(code, Kind::Text),
            ("the secret is read from a Databricks secret scope", remedy),
        )
    }

    /// Expressions report this themselves.
    fn named(&self, _name: &str) -> Option<Kept> {
        None
    }

    fn lacks(&mut self, why: &str) {
        self.lack.get_or_insert_with(|| why.to_owned());
    }
}

impl<'a> Printer<'a> {
    /// Compiles a text and claims it in the ledger according to the result.
    fn say(&mut self, scalar: &Scalar) -> Text {
        said::say(self, scalar)
    }

    fn judge(&mut self, span: Span, text: &Text) {
        said::judge(self, span, text);
    }

    fn names<T>(&self, ask: impl FnOnce(&Names<'_>, ankus_lang::el::Dialect) -> T) -> T {
        let names = Names {
            phase: self.now.phase,
            texts: &self.texts,
            constants: &self.constants,
            used: &self.used,
            reached: &self.reached,
            given: &|name| self.value_of(name),
            secret: &|name| self.given.secrets.covers(name),
        };
        ask(&names, self.given.dialect)
    }

    fn compile(&self, source: &str) -> Text {
        self.names(|names, dialect| names.text(source, dialect))
    }

    /// Returns the value of a property if it may be shown.
    fn value_of(&self, name: &str) -> Option<String> {
        let (properties, secrets) = (self.given.properties, self.given.secrets);
        let value = properties.get(name).filter(|_| !secrets.covers(name))?;
        let value = secrets.text(&super::resolve(value, properties)).to_string();
        (!is_read(&value.replace(super::Target::Databricks.user(), ""))).then_some(value)
    }

    /// Returns a unique key for a task.
    fn key_of(&mut self, wanted: &str) -> String {
        let wanted = key(wanted);
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.taken.insert(name.to_lowercase()) {
            number += 1;
            name = format!("{wanted}_{number}");
        }
        name
    }

    /// Returns the tasks of a workflow; none if it cannot be converted.
    fn workflow(&mut self, analysis: &'a Analysis) -> Option<Vec<Yaml>> {
        let flow = analysis.flow();
        let around = (self.given.around, self.given.properties, self.given.secrets);
        for (name, value) in shared::following(flow.workflow, around) {
            let text = self.compile(value);
            self.texts.insert(name.to_owned(), text);
        }
        if let Some(name) = &flow.workflow.name {
            let text = self.compile(name.as_str());
            self.judge(name.span(), &text);
            self.constants.insert("wf:name", text);
        }
        let tasks = model::tasks(flow);
        if let Some(why) = tasks.broken {
            let reason = format!("{REFUSED}workflow: {why}");
            if let Some(root) = self.now.tree.root() {
                self.now.ledger.whole(root.span(), Outcome::None, &reason, "mend it first");
            }
            return None;
        }
        let defaults = (self.given.properties, claims::Defaults::AsWritten);
        claims::flow(&mut self.now.ledger, analysis, CREDENTIALS, defaults, self.given.around);
        let workflow = flow.workflow;
        let slas = workflow.actions().filter_map(|(_, _, action)| action.sla.as_deref());
        for sla in slas.chain(&workflow.sla) {
            self.sla(sla.span);
        }
        for fork in &tasks.failing_forks {
            let reason =
                "if one path fails, the run fails, but only when the other paths have ended";
            let remedy = "if that takes too long, cancel the run by hand";
            self.now.ledger.claim(workflow.node(*fork).tag, Outcome::Approximate, reason, remedy);
        }
        for join in &tasks.meeting {
            let reason = "skipped tasks count as done: if a decision on a path ends the run, tasks after the join may run before the run fails";
            let remedy = "if that matters, check the decision again in a condition after the join";
            self.now.ledger.claim(workflow.node(*join).tag, Outcome::Approximate, reason, remedy);
        }
        Some(self.graph(workflow, &tasks))
    }

    /// Reports an SLA, which has no counterpart.
    fn sla(&mut self, span: Span) {
        let reason = "a job has no SLAs";
        let remedy = "set `health.rules` on `RUN_DURATION_SECONDS`, and `email_notifications`";
        self.now.ledger.whole(span, Outcome::None, reason, remedy);
    }

    fn parameters(&self, shown: &str) -> Vec<Yaml> {
        let parameter = |name: &str, value: &str| named(name).and("default", text(value));
        let is_named = |name: &str| shown.contains(&format!("{{{{job.parameters.{name}}}}}"));
        let times = TIMES.iter().filter(|(name, _)| is_named(name));
        let mut all: Vec<Yaml> = times.map(|(name, value)| parameter(name, value)).collect();
        // A name may be used only where an expression has no counterpart.
        for (name, own) in self.used.borrow().iter().filter(|(_, own)| is_named(own)) {
            all.push(parameter(own, &self.value_of(name).unwrap_or_default()));
        }
        all
    }

    fn output(&mut self, mut tasks: Vec<Yaml>) -> Output {
        if tasks.is_empty() {
            tasks.push(graph::pass("nothing", Vec::new(), None));
        }
        let tasks = Yaml::List(tasks);
        let printed_tasks = tasks.print();
        let own = key(self.given.name);
        let mut job = named(self.given.name);
        if let Yaml::Map(settings) = std::mem::replace(&mut self.settings, map([])) {
            for (name, value) in settings {
                job = job.and(&name, value);
            }
        }
        job = job.and_some("parameters", self.parameters(&printed_tasks));
        if printed_tasks.contains("job_cluster_key: main\n") {
            job = job.and("job_clusters", Yaml::List(vec![cluster()]));
        }
        let job = job.and("tasks", tasks);
        let mut whole = map([]);
        if !self.elsewhere.is_empty() {
            let names = self.elsewhere.iter().map(|name| {
                let lookup = map([("lookup", map([("job", text(name))]))]);
                (self.variable_of(name), lookup)
            });
            whole = whole.and("variables", Yaml::Map(names.collect()));
        }
        let jobs = Yaml::Map(vec![(own.clone(), job)]);
        let whole = whole.and("resources", map([("jobs", jobs)]));
        let from = self.given.coordinator.map_or(self.given.path, |coordinator| coordinator.path);
        let from: String = from.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let head = format!("# {}, converted from {from}\n", self.given.name);
        let path = format!("resources/{own}.job.yml");
        Output { path, text: format!("{head}{}", whole.print()) }
    }

    /// Returns the variable for a job that is not in the bundle.
    fn variable_of(&self, name: &str) -> String {
        format!("{}_starts_{}", key(self.given.name), key(name))
    }
}

/// Returns the cluster that programs run on.
fn cluster() -> Yaml {
    let new = map([
        ("spark_version", text("${var.spark_version}")),
        ("node_type_id", text("${var.node_type_id}")),
        ("num_workers", text("${var.num_workers}")),
    ]);
    map([("job_cluster_key", text("main")), ("new_cluster", new)])
}

/// Returns the content of a task that runs a program of `src/`.
fn program(name: &str, words: &[Text]) -> Yaml {
    let word = |word: &Text| {
        let parts = word.parts.iter().map(|part| match part {
            Part::Literal(literal) if is_read(literal) => sheltered(literal),
            Part::Literal(text) | Part::Value((text, _)) => text.clone(),
        });
        text(parts.collect::<String>())
    };
    let words = words.iter().map(word).collect();
    let task = map([
        ("python_file", text(format!("../src/{name}.py"))),
        ("parameters", Yaml::List(words)),
    ]);
    map([("job_cluster_key", text("main")), ("spark_python_task", task)])
}
