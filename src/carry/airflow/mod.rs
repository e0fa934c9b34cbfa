//! Airflow 3 and 2.10: one file per coordinator, or per workflow that no coordinator starts.
//!
//! In: a definition with its analysis, and what it is submitted with. Out: Python as one would write it by hand, and the
//! ledger. Helpers that Airflow has no counterpart of lie beside (`oozie_el.py`, `oozie_airflow.py`), always the same.

mod actions;
pub mod bundle;
pub(in crate::carry) mod coordinator;
mod deadlines;
pub mod expression;
mod file;
mod flow;
mod launcher;
mod map_reduce;
mod operators;
pub mod python;
pub mod schedule;
pub mod site;

use super::claims::{WrittenSecrets, secret_name};
use super::joined::Joined;
use super::ledger::{Entry, Ledger, Outcome};
use super::model::{self, Runs, Tasks};
use super::said::{self, Kept, Reader, Says};
use super::shared::Around;
use super::{Conversion, Output, Partly, REFUSED, Target, Unscheduled};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::ir::workflow::{NodeId, Shape};
use crate::settings::Migration;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use crate::syntax::xml::Tree;
use ankus_lang::coordinator::Definition;
use ankus_lang::el::{Dialect, Phase};
use ankus_lang::time::Instant;
use expression::{Names, Text};
use launcher::Work;
use python::{Value, transitions};
use site::Needs;
use std::collections::{BTreeMap, BTreeSet};

/// A release of Airflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 3.x.
    Three,
    /// 2.10.
    Two,
}

impl Version {
    /// Of a target: `airflow`, `airflow==3`, `airflow==2.10`.
    ///
    /// ```
    /// use ankus::carry::Version;
    /// assert_eq!(Version::of("airflow==2.10"), Some(Version::Two));
    /// assert_eq!(Version::of("argo"), None);
    /// ```
    pub fn of(target: &str) -> Option<Version> {
        Some(match target {
            "airflow" => Version::Three,
            _ => match target.strip_prefix("airflow==")?.split('.').next()? {
                "3" => Version::Three,
                "2" if target == "airflow==2.10" || target.starts_with("airflow==2.10.") => {
                    Version::Two
                }
                _ => return None,
            },
        })
    }

    /// The target by its name.
    pub fn name(self) -> &'static str {
        match self {
            Version::Three => "airflow==3",
            Version::Two => "airflow==2.10",
        }
    }

    fn is_two(self) -> bool {
        self == Version::Two
    }
}

/// The coordinator that starts a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Coordinated<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its text and what is known of it.
    pub analysis: &'a Analysis,
    /// As a server takes it, or why that is not known.
    pub definition: Result<&'a Definition, &'a Unscheduled>,
    /// What is known of it although its times are not.
    pub partly: Option<&'a Partly>,
    /// Included files with datasets that are not at hand.
    pub missing: &'a [String],
}

impl<'a> Coordinated<'a> {
    /// What is known of its data and controls.
    pub(super) fn data(&self) -> Option<&'a Definition> {
        self.definition.ok().or(self.partly.map(|partly| &partly.definition))
    }
}

/// What is converted.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The target.
    pub version: Version,
    /// The path of the workflow.
    pub path: &'a str,
    /// The workflow; nothing where a coordinator starts one that is not there.
    pub analysis: Option<&'a Analysis>,
    /// What starts it.
    pub coordinator: Option<Coordinated<'a>>,
    /// The name of the DAG.
    pub name: &'a str,
    /// Tags beside `oozie`.
    pub tags: &'a [String],
    /// What it is submitted with.
    pub properties: &'a BTreeMap<String, String>,
    /// What is secret.
    pub secrets: &'a Secrets,
    /// The library that evaluates expressions.
    pub dialect: Dialect,
    /// Names of the DAGs that it starts, by the places that name their applications.
    pub started: &'a BTreeMap<Span, String>,
    /// What was found around it.
    pub around: &'a Around,
    /// What a site wants of its actions.
    pub migration: &'a Migration,
    /// From when on Airflow runs it, and not the server any more.
    pub cut_over: Option<Instant>,
    /// What its coordinator has in common with others.
    pub joined: &'a Joined,
}

/// The name of a DAG: letters, digits, `_`, `-` and `.` alone.
pub fn dag_id(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let id: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if id.is_empty() { "dag".to_owned() } else { id }
}

/// The files that every conversion needs.
pub fn helpers() -> Vec<Output> {
    let file = |path: &str, text: &str| Output { path: path.to_owned(), text: text.to_owned() };
    vec![
        file("plugins/oozie_airflow.py", include_str!("oozie_airflow.py")),
        file("plugins/oozie_data.py", include_str!("../python/oozie_data.py")),
        file("plugins/oozie_el.py", include_str!("../python/oozie_el.py")),
        file("ruff.toml", include_str!("ruff.toml")),
    ]
}

/// Prints one DAG.
struct Printer<'a> {
    version: Version,
    given: Given<'a>,
    /// The ledger of the text that is printed now.
    ledger: Ledger,
    /// Secrets that are written in it.
    written: WrittenSecrets,
    /// Commands that are too long to stand in the DAG, as files beside it.
    scripts: Vec<Output>,
    /// What programs find in `action.xml`, task by task.
    settings: Vec<String>,
    /// About how long the URIs of data events are, by the names that templates have for them.
    lengths: BTreeMap<String, usize>,
    tree: &'a Tree,
    phase: Phase,
    texts: BTreeMap<String, Text>,
    constants: BTreeMap<&'static str, Text>,
    data: BTreeMap<String, String>,
    tasks: BTreeMap<String, String>,
    /// Code that tells where a node went, by its name.
    transitions: BTreeMap<String, String>,
    imports: BTreeSet<(String, String)>,
    folder: Option<Text>,
    uses_path: bool,
    uses_params: bool,
    /// How the place where commands run differs from a launcher, and what is left to do about it.
    place: &'static str,
    /// Whether that was said of a program of the workflow.
    has_said_place: bool,
    /// Kill nodes with the mails that tell of them.
    notices: BTreeMap<NodeId, NodeId>,
    /// The group of its tasks, where the DAG has several.
    group: Option<Group>,
    /// Names of Python, by the ids of the groups and tasks that have them.
    variables: BTreeMap<String, String>,
    /// Whether paths of the workflow run side by side.
    is_forked: bool,
    /// Who does the work of the action.
    work: Work,
    remedy: &'static str,
    /// What a site has to set up for it.
    needs: Needs,
}

/// Carries an application over.
pub fn convert(given: Given<'_>) -> Conversion {
    let mut all = convert_together(&[given]);
    all.pop().expect("there is one conversion for each that is given")
}

/// Carries coordinators over that share a graph, in its order: one DAG, in which each has a group of tasks. Each of them has a ledger
/// of its own.
pub fn convert_together(all: &[Given<'_>]) -> Vec<Conversion> {
    let empty = Tree::parse("<none/>").0;
    let groups = groups(all);
    let mut variables: BTreeMap<String, String> =
        groups.iter().map(|group| (group.id.clone(), group.variable().to_owned())).collect();
    let mut groups = groups.into_iter();
    let (mut printers, mut dags, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    for given in all {
        let mut printer = Printer::new(*given, &empty);
        printer.group = groups.next();
        printer.variables = std::mem::take(&mut variables);
        let mut dag = Dag::default();
        entries.push(printer.carry(&mut dag));
        variables = std::mem::take(&mut printer.variables);
        printers.push(printer);
        dags.push(dag);
    }
    let outputs = match dags.iter().any(|dag| dag.refused) {
        true => Vec::new(),
        false => file::outputs(&mut printers, dags),
    };
    let made = printers.into_iter().zip(entries);
    made.map(|(printer, entries)| {
        let given = printer.given;
        let path = given.coordinator.map_or(given.path, |coordinator| coordinator.path);
        let (path, name, outputs) = (path.to_owned(), given.name.to_owned(), outputs.clone());
        let needs = if outputs.is_empty() { Needs::default() } else { printer.needs };
        Conversion { path, name, outputs, entries, needs }
    })
    .collect()
}

/// The group of tasks of a coordinator, where a DAG has several.
#[derive(Clone, Debug)]
struct Group {
    /// Its name in Airflow, which stands before those of its tasks.
    id: String,
    /// What its names of Python begin with.
    prefix: String,
}

impl Group {
    /// Its own name in Python.
    fn variable(&self) -> &str {
        self.prefix.trim_end_matches('_')
    }
}

/// The groups of coordinators that share a DAG; one alone has none.
fn groups(all: &[Given<'_>]) -> Vec<Group> {
    if all.len() < 2 {
        return Vec::new();
    }
    let ids: Vec<String> = all.iter().map(|given| python::identifier(given.name)).collect();
    let is_clear = |id: &String| {
        let begins = format!("{}_", id.to_lowercase());
        !ids.iter().any(|other| other.to_lowercase().starts_with(&begins))
    };
    // Where one name begins like another one with a task behind it, numbers tell them apart.
    let are_clear = ids.iter().all(is_clear);
    let prefix = |at: usize, id: &str| match are_clear {
        true => format!("{id}_"),
        false => format!("g{}_", at + 1),
    };
    ids.iter()
        .enumerate()
        .map(|(at, id)| Group { id: id.clone(), prefix: prefix(at, id) })
        .collect()
}

/// A DAG in parts.
#[derive(Debug, Default)]
struct Dag {
    /// What stands before it: datasets, timetables.
    before: Vec<String>,
    /// Whether nothing can be made of its workflow.
    refused: bool,
    /// Arguments of the DAG.
    arguments: Vec<(String, Value)>,
    /// Arguments of its tasks.
    task_arguments: Vec<(String, Value)>,
    /// Macros beside the usual.
    macros: Vec<(String, String)>,
    /// Tasks before those of the workflow: the last of them lead to its first ones.
    gates: Vec<String>,
    /// Statements.
    tasks: Vec<String>,
    /// Edges.
    edges: Vec<String>,
}

/// How a secret gets to a DAG.
fn of_variable(name: &str) -> Kept {
    ("the secret is read from a variable of Airflow", format!("set the variable `{name}`"))
}

impl<'a> Says<'a> for Printer<'a> {
    type Text = Text;
    const LEFT_OUT: &'static str = "put it into a connection or a variable of Airflow";
    const LACKING: &'static str = "rewrite the expression: the task fails when it is rendered";

    fn reader(&self) -> Reader<'a> {
        let Given { secrets, properties, dialect, .. } = self.given;
        let coordinator = self.given.coordinator.as_ref();
        let unscheduled = coordinator.and_then(|coordinator| coordinator.definition.err());
        Reader { secrets, properties, dialect, phase: self.phase, unscheduled }
    }

    fn written(&mut self) -> &mut WrittenSecrets {
        &mut self.written
    }

    fn claims(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    fn shown(&mut self, source: &str) -> Text {
        self.compile(source)
    }

    fn kept(&mut self, name: &str) -> (Text, Kept) {
        let name = secret_name(self.given.name, name);
        self.needs.variables.insert(name.clone());
        let part = expression::Part::Value(format!("var.value.{name}"), true);
        (Text { parts: vec![part], ..Text::default() }, of_variable(&name))
    }

    fn named(&self, name: &str) -> Option<Kept> {
        let variable = secret_name(self.given.name, name);
        (!self.texts.contains_key(name)).then(|| of_variable(&variable))
    }
}

impl<'a> Printer<'a> {
    /// For an application with nothing carried over yet; `empty` is the text of one without a file.
    fn new(given: Given<'a>, empty: &'a Tree) -> Printer<'a> {
        let first = given.coordinator.map(|one| one.analysis).or(given.analysis);
        let tree = first.map_or(empty, |analysis| analysis.tree());
        Printer {
            version: given.version,
            given,
            ledger: Ledger::new(tree),
            written: WrittenSecrets::beside(given.properties, given.secrets),
            scripts: Vec::new(),
            settings: Vec::new(),
            lengths: BTreeMap::new(),
            tree,
            phase: Phase::Workflow,
            texts: BTreeMap::new(),
            constants: BTreeMap::new(),
            data: BTreeMap::new(),
            tasks: BTreeMap::new(),
            transitions: BTreeMap::new(),
            imports: BTreeSet::new(),
            folder: None,
            uses_path: false,
            uses_params: false,
            needs: Needs::default(),
            place: actions::LAUNCHER,
            has_said_place: false,
            group: None,
            variables: BTreeMap::new(),
            is_forked: false,
            work: Work::Program,
            notices: BTreeMap::new(),
            remedy: actions::CLIENT,
        }
    }

    /// The parts of a DAG, and what became of each element and attribute.
    fn carry(&mut self, dag: &mut Dag) -> Vec<(String, Entry)> {
        let given = self.given;
        let mut entries = Vec::new();
        if let Some(coordinator) = given.coordinator {
            self.coordinator(coordinator, dag);
            let listed = self.ledger.entries(coordinator.analysis.source());
            entries.extend(listed.into_iter().map(|entry| (coordinator.path.to_owned(), entry)));
        }
        if let Some(analysis) = given.analysis {
            self.ledger = Ledger::new(analysis.tree());
            self.written = std::mem::take(&mut self.written).with(analysis, given.secrets);
            self.tree = analysis.tree();
            self.phase = Phase::Workflow;
            self.workflow(analysis, dag);
            let listed = self.ledger.entries(analysis.source());
            entries.extend(listed.into_iter().map(|entry| (given.path.to_owned(), entry)));
        }
        entries
    }

    /// The id of a task by its name.
    fn id(&self, name: &str) -> String {
        match &self.group {
            Some(group) => format!("{}.{}", group.id, dag_id(name)),
            None => dag_id(name),
        }
    }

    /// A name of Python for what is called so.
    fn variable(&self, name: &str) -> String {
        match &self.group {
            Some(group) => python::identifier(&format!("{}{name}", group.prefix)),
            None => python::identifier(name),
        }
    }

    /// The column at which tasks begin.
    fn indent(&self) -> usize {
        if self.group.is_some() { 8 } else { 4 }
    }

    /// What a text says, claimed as it came out.
    fn say(&mut self, scalar: &Scalar) -> Text {
        said::say(self, scalar)
    }

    /// A secret that is a whole text, by a name for it.
    fn hide(&mut self, span: Span, name: &str) -> Text {
        said::hide(self, span, name)
    }

    fn judge(&mut self, span: Span, text: &Text) {
        said::judge(self, span, text);
    }

    fn compile(&mut self, source: &str) -> Text {
        let secrets = self.given.secrets;
        let is_secret = |name: &str| secrets.covers(name);
        let is_open = |name: &str| super::is_open(name, self.given.properties);
        let user = self.given.properties.get("user.name");
        let names = Names {
            phase: self.phase,
            texts: &self.texts,
            owner: self.given.name,
            is_secret: &is_secret,
            is_open: &is_open,
            constants: &self.constants,
            data: &self.data,
            tasks: &self.tasks,
            transitions: &self.transitions,
            is_forked: self.is_forked,
            knows_user: user.is_some_and(|user| user != Target::Airflow(self.version).user()),
            group: self.group.as_ref().map(|group| &*group.id),
            place: expression::Place::Template,
        };
        names.read(source, self.given.dialect)
    }

    /// The name of a connection, which has to be set up.
    fn connection(&mut self, kind: &'static str) -> String {
        let name = self.given.migration.connection(kind).to_owned();
        self.needs.connections.insert(name.clone(), kind);
        name
    }

    /// A class that has to be imported.
    fn import(&mut self, module: &str, class: &str) -> String {
        self.imports.insert((module.to_owned(), class.to_owned()));
        class.to_owned()
    }

    /// A class of the operators that Airflow itself has.
    fn standard(&mut self, module: &str, class: &str) -> String {
        let place = match self.version {
            Version::Two => "airflow.operators",
            Version::Three => "airflow.providers.standard.operators",
        };
        self.import(&format!("{place}.{module}"), class)
    }

    fn python_operator(&mut self, class: &str) -> String {
        self.standard("python", class)
    }

    fn workflow(&mut self, analysis: &'a Analysis, dag: &mut Dag) {
        let flow = analysis.flow();
        let workflow = flow.workflow;
        self.is_forked = flow.reachable(Shape::Fork).next().is_some();
        if let Some(name) = &workflow.name {
            let text = self.compile(name.as_str());
            self.judge(name.span(), &text);
            self.constants.insert("wf:name", text);
        }
        let mut tasks = model::tasks(flow);
        self.find_notices(workflow, &mut tasks);
        if let Some(why) = tasks.broken {
            let reason = format!("{REFUSED}workflow: {why}");
            if let Some(root) = self.tree.root() {
                self.ledger.whole(root.span(), Outcome::None, &reason, "mend it first");
            }
            dag.refused = true;
            return;
        }
        self.name_tasks(&tasks);
        self.transitions = transitions(workflow, &tasks, "oozie", &|name| self.id(name));
        self.claim_flow(analysis, &tasks);
        self.claim_rest(workflow);
        self.print_tasks(workflow, &tasks, dag);
    }

    /// Names of Python by those of the tasks.
    fn name_tasks(&mut self, tasks: &Tasks) {
        for task in &tasks.list {
            let id = self.id(&task.name);
            self.tasks.insert(task.name.clone(), id);
        }
    }
}

/// The rule that Airflow has for when a task runs. What others before it came to decides only when all of them are done where the
/// failure of one leaves some of them without a run.
fn trigger_rule(runs: Runs, is_mixed: bool) -> Option<&'static str> {
    Some(match runs {
        Runs::AfterAll => return None,
        Runs::AfterAny | Runs::OnFailure if is_mixed => "all_done",
        Runs::AfterAny => "none_failed_min_one_success",
        Runs::OnFailure => "one_failed",
        Runs::OnEither | Runs::AfterDone => "all_done",
    })
}
