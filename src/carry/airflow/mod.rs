//! Airflow 3 and 2.10: one file per coordinator, or per workflow that no coordinator starts.
//!
//! A definition and the properties of its submission become Python that looks handwritten, and a ledger. Features
//! without a counterpart in Airflow are in helper modules, which are always the same (`oozie_el.py`,
//! `oozie_airflow.py`).

mod actions;
pub mod bundle;
pub(in crate::carry) mod coordinator;
mod deadlines;
pub mod expression;
mod file;
mod flow;
pub(in crate::carry) mod launcher;
mod map_reduce;
mod operators;
pub mod python;
pub mod schedule;
pub mod site;

use super::claims::secret_name;
use super::joined::Joined;
use super::ledger::Outcome;
use super::model::{self, Runs, Tasks};
use super::now::Now;
use super::said::{self, Kept, Says};
use super::shared;
use super::{Conversion, Output, Partly, REFUSED, Unscheduled};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::ir::workflow::{NodeId, Shape};
use crate::source::Span;
use crate::syntax::xml::Tree;
use ankus_lang::coordinator::Definition;
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
    /// Parses the name of a target: `airflow`, `airflow==3`, `airflow==2.10`.
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

    /// Returns the name of the target.
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
    /// Its analysis.
    pub analysis: &'a Analysis,
    /// Its definition as a server resolves it, or why that is unknown.
    pub definition: Result<&'a Definition, &'a Unscheduled>,
    /// The known parts of a coordinator whose times are unknown.
    pub partly: Option<&'a Partly>,
    /// Included files with datasets that are not available.
    pub missing: &'a [String],
}

impl<'a> Coordinated<'a> {
    /// Returns the definition for its data and controls, as far as they are known.
    pub(super) fn data(&self) -> Option<&'a Definition> {
        self.definition.ok().or(self.partly.map(|partly| &partly.definition))
    }
}

/// The input of a conversion to a DAG.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The application.
    pub of: super::Given<'a>,
    /// The target.
    pub version: Version,
    /// Tags in addition to `oozie`.
    pub tags: &'a [String],
    /// The instant from which Airflow runs it instead of the server.
    pub cut_over: Option<Instant>,
    /// What its coordinator shares with others.
    pub joined: &'a Joined,
}

/// Returns the name of a DAG, which has only letters, digits, `_`, `-` and `.`.
pub fn dag_id(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let id: String = name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if id.is_empty() { "dag".to_owned() } else { id }
}

/// Returns the files that every conversion needs.
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
    given: super::Given<'a>,
    tags: &'a [String],
    cut_over: Option<Instant>,
    joined: &'a Joined,
    /// The text that is converted now.
    now: Now<'a>,
    /// Commands that are too long for the DAG, as files beside it.
    scripts: Vec<Output>,
    /// The content of `action.xml` for each task that has one.
    settings: Vec<String>,
    /// The estimated length of the URIs of data events, by their names in templates.
    lengths: BTreeMap<String, usize>,
    texts: BTreeMap<String, Text>,
    constants: BTreeMap<&'static str, Text>,
    data: BTreeMap<String, String>,
    tasks: BTreeMap<String, String>,
    /// Code that computes which transition a node took, by node name.
    transitions: BTreeMap<String, String>,
    imports: BTreeSet<(String, String)>,
    folder: Option<Text>,
    uses_path: bool,
    uses_params: bool,
    /// The reason reported: how the environment of commands differs from that of a launcher.
    place: &'static str,
    /// Whether this was reported for a program of the workflow.
    has_said_place: bool,
    /// Kill nodes, with the email actions that report them.
    notices: BTreeMap<NodeId, NodeId>,
    /// The group of its tasks, if the DAG has several.
    group: Option<Group>,
    /// Python variables, by the ids of groups and tasks.
    variables: BTreeMap<String, String>,
    /// Whether paths of the workflow run in parallel.
    is_forked: bool,
    /// Who does the work of the action.
    work: Work,
    remedy: &'static str,
    /// What a site has to set up for it.
    needs: Needs,
}

/// Converts an application.
pub fn convert(given: Given<'_>) -> Conversion {
    let mut all = convert_together(&[given]);
    all.pop().expect("there is one conversion for each that is given")
}

/// Converts coordinators that share a graph, in its order, to a DAG in which each has a task group. Each of them has a
/// ledger of its own.
pub fn convert_together(all: &[Given<'_>]) -> Vec<Conversion> {
    let empty = Tree::parse("<none/>").0;
    let groups = groups(all);
    let mut variables: BTreeMap<String, String> =
        groups.iter().map(|group| (group.id.clone(), group.variable().to_owned())).collect();
    let mut groups = groups.into_iter();
    let (mut printers, mut dags) = (Vec::new(), Vec::new());
    for given in all {
        let mut printer = Printer::new(*given, &empty);
        printer.group = groups.next();
        printer.variables = std::mem::take(&mut variables);
        let mut dag = Dag::default();
        printer.carry(&mut dag);
        variables = std::mem::take(&mut printer.variables);
        printers.push(printer);
        dags.push(dag);
    }
    let outputs = match dags.iter().any(|dag| dag.refused) {
        true => Vec::new(),
        false => file::outputs(&mut printers, dags),
    };
    let made = printers.into_iter().map(|printer| {
        let needs = if outputs.is_empty() { Needs::default() } else { printer.needs };
        Conversion { needs, ..printer.now.conversion(&printer.given, outputs.clone()) }
    });
    made.collect()
}

/// The task group of a coordinator in a DAG of several.
#[derive(Clone, Debug)]
struct Group {
    /// Its id in Airflow, which is the prefix of the ids of its tasks.
    id: String,
    /// The prefix of its Python variables.
    prefix: String,
}

impl Group {
    /// Returns its own variable in Python.
    fn variable(&self) -> &str {
        self.prefix.trim_end_matches('_')
    }
}

/// Returns the groups of coordinators that share a DAG; a single coordinator has none.
fn groups(all: &[Given<'_>]) -> Vec<Group> {
    if all.len() < 2 {
        return Vec::new();
    }
    let ids: Vec<String> = all.iter().map(|given| python::identifier(given.of.name)).collect();
    let is_clear = |id: &String| {
        let begins = format!("{}_", id.to_lowercase());
        !ids.iter().any(|other| other.to_lowercase().starts_with(&begins))
    };
    // If a name could be confused with another group's name followed by a task, the groups are numbered.
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

/// The parts of a DAG.
#[derive(Debug, Default)]
struct Dag {
    /// Statements before it: datasets, timetables.
    before: Vec<String>,
    /// Whether its workflow cannot be converted.
    refused: bool,
    /// Arguments of the DAG.
    arguments: Vec<(String, Value)>,
    /// Arguments of its tasks.
    task_arguments: Vec<(String, Value)>,
    /// Macros in addition to the usual ones.
    macros: Vec<(String, String)>,
    /// The tasks that the first tasks of the workflow depend on.
    gates: Vec<String>,
    /// Statements.
    tasks: Vec<String>,
    /// Edges.
    edges: Vec<String>,
}

/// Returns how a secret reaches a DAG.
fn of_variable(name: &str) -> Kept {
    ("the secret is read from an Airflow variable", format!("set the variable `{name}`"))
}

impl<'a> Says<'a> for Printer<'a> {
    type Text = Text;
    const LEFT_OUT: &'static str = "put it into an Airflow connection or variable";
    const LACKING: &'static str = "rewrite the expression: the task fails when it is rendered";

    fn now(&mut self) -> &mut Now<'a> {
        &mut self.now
    }

    fn shown(&mut self, source: &str) -> Text {
        self.compile(source)
    }

    fn kept(&mut self, name: &str) -> (Text, Kept) {
        let name = secret_name(self.given.name, name);
        self.needs.variables.insert(name.clone());
        (Text::of_code((format!("var.value.{name}"), true)), of_variable(&name))
    }

    fn named(&self, name: &str) -> Option<Kept> {
        let variable = secret_name(self.given.name, name);
        (!self.texts.contains_key(name)).then(|| of_variable(&variable))
    }
}

impl<'a> Printer<'a> {
    /// Creates the printer of an application; `empty` is the tree for one without a file.
    fn new(given: Given<'a>, empty: &'a Tree) -> Printer<'a> {
        let Given { of: given, version, tags, cut_over, joined } = given;
        Printer {
            version,
            given,
            tags,
            cut_over,
            joined,
            now: Now::new(&given, empty),
            scripts: Vec::new(),
            settings: Vec::new(),
            lengths: BTreeMap::new(),
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

    /// Converts the application to the parts of a DAG.
    fn carry(&mut self, dag: &mut Dag) {
        let given = self.given;
        if let Some(coordinator) = given.coordinator {
            self.coordinator(coordinator, dag);
            self.now.finish(coordinator.path, coordinator.analysis);
        }
        if let Some(analysis) = given.analysis {
            self.now.turn_to(analysis);
            self.workflow(analysis, dag);
            self.now.finish(given.path, analysis);
        }
    }

    /// Returns the id of a task.
    fn id(&self, name: &str) -> String {
        match &self.group {
            Some(group) => format!("{}.{}", group.id, dag_id(name)),
            None => dag_id(name),
        }
    }

    /// Returns a Python variable for a name.
    fn variable(&self, name: &str) -> String {
        match &self.group {
            Some(group) => python::identifier(&format!("{}{name}", group.prefix)),
            None => python::identifier(name),
        }
    }

    /// Returns the indentation of tasks.
    fn indent(&self) -> usize {
        if self.group.is_some() { 8 } else { 4 }
    }

    /// Compiles a text and claims it in the ledger according to the result.
    fn say(&mut self, scalar: &Scalar) -> Text {
        said::say(self, scalar)
    }

    /// Returns the code for a text that as a whole is a secret of this name.
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
        let names = Names {
            phase: self.now.phase,
            texts: &self.texts,
            owner: self.given.name,
            is_secret: &is_secret,
            is_open: &is_open,
            constants: &self.constants,
            data: &self.data,
            tasks: &self.tasks,
            transitions: &self.transitions,
            is_forked: self.is_forked,
            knows_user: self.given.around.names_user,
            group: self.group.as_ref().map(|group| &*group.id),
            place: expression::Place::Template,
        };
        names.read(source, self.given.dialect)
    }

    /// Returns the name of a connection and records that it has to be set up.
    fn connection(&mut self, kind: &'static str) -> String {
        let name = self.given.migration.connection(kind).to_owned();
        self.needs.connections.insert(name.clone(), kind);
        name
    }

    /// Imports a class. Returns its name.
    fn import(&mut self, module: &str, class: &str) -> String {
        self.imports.insert((module.to_owned(), class.to_owned()));
        class.to_owned()
    }

    /// Imports a class of the standard operators.
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
        let around = (self.given.around, self.given.properties, self.given.secrets);
        for (name, value) in shared::following(workflow, around) {
            let text = self.compile(value).as_text();
            self.texts.insert(name.to_owned(), text);
        }
        if let Some(name) = &workflow.name {
            let text = self.compile(name.as_str());
            self.judge(name.span(), &text);
            self.constants.insert("wf:name", text);
        }
        let mut tasks = model::tasks(flow);
        self.find_notices(workflow, &mut tasks);
        if let Some(why) = tasks.broken {
            let reason = format!("{REFUSED}workflow: {why}");
            if let Some(root) = self.now.tree.root() {
                self.now.ledger.whole(root.span(), Outcome::None, &reason, "mend it first");
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

    /// Records the ids of the tasks by name.
    fn name_tasks(&mut self, tasks: &Tasks) {
        for task in &tasks.list {
            let id = self.id(&task.name);
            self.tasks.insert(task.name.clone(), id);
        }
    }
}

/// Returns the trigger rule for a task. If a failure keeps some predecessors from running, but not others, the rule
/// waits until all of them are done.
fn trigger_rule(runs: Runs, is_mixed: bool) -> Option<&'static str> {
    Some(match runs {
        Runs::AfterAll => return None,
        Runs::AfterAny | Runs::OnFailure if is_mixed => "all_done",
        Runs::AfterAny => "none_failed_min_one_success",
        Runs::OnFailure => "one_failed",
        Runs::OnEither | Runs::AfterDone => "all_done",
    })
}
