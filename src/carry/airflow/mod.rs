//! Airflow 3 and 2.10: one file per coordinator, or per workflow that no coordinator starts.
//!
//! In: a definition with its analysis, and what it is submitted with. Out: Python as one would write it by hand, and the
//! ledger. Helpers that Airflow has no counterpart of lie beside (`oozie_el.py`, `oozie_airflow.py`), always the same.

mod actions;
pub mod bundle;
pub(in crate::carry) mod coordinator;
mod deadlines;
pub mod expression;
mod flow;
mod map_reduce;
mod operators;
pub mod python;
pub mod schedule;
pub mod site;

use super::claims::{WrittenSecrets, secret_name};
use super::joined::Joined;
use super::ledger::{Ledger, Outcome};
use super::model::{self, Runs, Tasks};
use super::said::{self, Kept, Reader, Says};
use super::{Conversion, Output, Unscheduled, resolve};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::ir::workflow::{Body, NodeId, Shape, Workflow};
use crate::settings::Migration;
use crate::settings::secrets::Secrets;
use crate::source::Span;
use crate::syntax::xml::Tree;
use ankus_lang::coordinator::Definition;
use ankus_lang::el::{Dialect, Phase};
use ankus_lang::time::Instant;
use expression::{Names, Text};
use python::{Value, quoted, transitions};
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
    /// Included files with datasets that are not at hand.
    pub missing: &'a [String],
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
    /// Kill nodes with the mails that tell of them.
    notices: BTreeMap<NodeId, NodeId>,
    /// Whether paths of the workflow run side by side.
    is_forked: bool,
    /// Whether the work of the action is done by what its launcher starts.
    starts_jobs: bool,
    remedy: &'static str,
    /// What a site has to set up for it.
    needs: Needs,
}

/// Carries an application over.
pub fn convert(given: Given<'_>) -> Conversion {
    let empty = Tree::parse("<none/>").0;
    let first = given.coordinator.map(|one| one.analysis).or(given.analysis);
    let tree = first.map_or(&empty, |analysis| analysis.tree());
    let mut printer = Printer {
        version: given.version,
        given,
        ledger: Ledger::new(tree),
        written: WrittenSecrets::beside(given.properties, given.secrets),
        scripts: Vec::new(),
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
        is_forked: false,
        starts_jobs: false,
        notices: BTreeMap::new(),
        remedy: actions::CLIENT,
    };
    let mut entries = Vec::new();
    let mut dag = Dag::default();
    if let Some(coordinator) = given.coordinator {
        printer.coordinator(coordinator, &mut dag);
        let listed = printer.ledger.entries(coordinator.analysis.source());
        entries.extend(listed.into_iter().map(|entry| (coordinator.path.to_owned(), entry)));
    }
    if let Some(analysis) = given.analysis {
        printer.ledger = Ledger::new(analysis.tree());
        printer.written = std::mem::take(&mut printer.written).with(analysis, given.secrets);
        printer.tree = analysis.tree();
        printer.phase = Phase::Workflow;
        printer.workflow(analysis, &mut dag);
        let listed = printer.ledger.entries(analysis.source());
        entries.extend(listed.into_iter().map(|entry| (given.path.to_owned(), entry)));
    }
    let outputs = match dag.refused {
        true => Vec::new(),
        false => {
            let text = printer.print(dag);
            let mut outputs = vec![Output { path: format!("dags/{}.py", given.name), text }];
            outputs.append(&mut printer.scripts);
            outputs
        }
    };
    let path = given.coordinator.map_or(given.path, |coordinator| coordinator.path);
    let needs = match outputs.is_empty() {
        true => Needs::default(),
        false => printer.needs,
    };
    let (path, name) = (path.to_owned(), given.name.to_owned());
    Conversion { path, name, outputs, entries, needs }
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
        Reader { secrets, properties, dialect, phase: self.phase }
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
            let reason = format!("a server refuses the workflow: {why}");
            if let Some(root) = self.tree.root() {
                self.ledger.whole(root.span(), Outcome::None, &reason, "mend it first");
            }
            dag.refused = true;
            return;
        }
        self.name_tasks(&tasks);
        self.transitions = transitions(workflow, &tasks, "oozie");
        self.claim_flow(analysis, &tasks);
        self.claim_rest(workflow);
        self.print_tasks(workflow, &tasks, dag);
        self.claim_unused(workflow);
    }

    /// Names of Python by those of the tasks.
    fn name_tasks(&mut self, tasks: &Tasks) {
        for task in &tasks.list {
            self.tasks.insert(task.name.clone(), dag_id(&task.name));
        }
    }

    /// An action with what all actions share.
    fn shared(&mut self, workflow: &Workflow, body: &Body) -> Body {
        let mut body = body.clone();
        let Some(global) = &workflow.global else { return body };
        body.name_node = body.name_node.or_else(|| global.name_node.clone());
        body.resource_manager = body.resource_manager.or_else(|| global.resource_manager.clone());
        if body.job_xml.is_empty() {
            body.job_xml.clone_from(&global.job_xml);
        }
        for property in &global.configuration {
            let name = property.name.as_str();
            if body.configuration.iter().all(|own| own.name.as_str() != name) {
                body.configuration.push(property.clone());
            }
        }
        body
    }

    fn print(&mut self, dag: Dag) -> String {
        let mut body = String::new();
        dag.tasks.iter().for_each(|task| body.push_str(task));
        if !dag.edges.is_empty() {
            body.push('\n');
            dag.edges.iter().for_each(|edge| body.push_str(edge));
        }
        let mut before: String = dag.before.iter().map(|text| format!("{text}\n")).collect();
        let mut arguments = vec![("dag_id".to_owned(), Value::text(self.given.name))];
        if self.given.coordinator.is_none() {
            // Left out, 2.10 takes it for a day.
            arguments.push(("schedule".to_owned(), Value::code("None")));
        }
        arguments.extend(dag.arguments);
        if !dag.task_arguments.is_empty() {
            arguments.push(("default_args".to_owned(), Value::Dict(dag.task_arguments)));
        }
        // What stands in files beside the DAG needs the same.
        let scripts: String = self.scripts.iter().map(|script| script.text.as_str()).collect();
        let params = self.params(&format!("{before}{body}{scripts}"));
        if !params.is_empty() || self.uses_params {
            before.push_str(&format!("PARAMS = {}\n", Value::Dict(params).print(0)));
            arguments.push(("params".to_owned(), Value::code("PARAMS")));
        }
        let rendered = format!("{body}{scripts}");
        for (at, found) in rendered.match_indices("var.value.") {
            let rest = &rendered[at + found.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            self.needs.variables.insert(rest[..end.unwrap_or(rest.len())].to_owned());
        }
        let strict = Value::code("jinja2.StrictUndefined");
        arguments.push(("template_undefined".to_owned(), strict));
        let all = format!("{before}{rendered}");
        let uses = |name: &str| all.contains(name);
        let el = names_helper(&all, "el", include_str!("../python/oozie_el.py"));
        let own =
            concat!(include_str!("oozie_airflow.py"), include_str!("../python/oozie_data.py"));
        let oozie = names_helper(&all, "oozie", own);
        let mut macros = Vec::new();
        if el {
            macros.push(("el".to_owned(), Value::code("el")));
        }
        if oozie {
            macros.push(("oozie".to_owned(), Value::code("oozie")));
        }
        let of_files = ["exists", "is_dir", "file_size", "dir_size", "block_size"];
        if of_files.iter().any(|name| all.contains(&format!("oozie.{name}("))) {
            self.connection("webhdfs");
        }
        let connection = self.given.migration.connection("webhdfs");
        if oozie && connection != "webhdfs_default" {
            macros.push(("webhdfs_conn_id".to_owned(), Value::text(connection)));
        }
        macros.extend(dag.macros.into_iter().map(|(name, code)| (name, Value::Code(code))));
        let filters: Vec<(String, Value)> = [("q", "el.quote"), ("words", "el.words")]
            .into_iter()
            .filter(|(filter, _)| uses(&format!("| {filter} }}}}")))
            .map(|(filter, code)| (filter.to_owned(), Value::code(code)))
            .collect();
        if !macros.is_empty() {
            arguments.push(("user_defined_macros".to_owned(), Value::Dict(macros)));
        }
        let has_filters = !filters.is_empty();
        if has_filters {
            arguments.push(("user_defined_filters".to_owned(), Value::Dict(filters)));
        }
        let mut tags = vec![Value::text("oozie")];
        tags.extend(self.given.tags.iter().map(Value::text));
        arguments.push(("tags".to_owned(), Value::List(tags)));
        let arguments = Value::Call("DAG".to_owned(), arguments).print(0);
        let code = format!("{before}{arguments}");
        let uses = |name: &str| format!("{code}{body}").contains(name);
        let mut head = format!("\"\"\"{}\"\"\"\n\n", self.docstring());
        if uses("dt.") {
            head.push_str("import datetime as dt\n\n");
        }
        head.push_str("import jinja2\n");
        if uses("pendulum.") {
            head.push_str("import pendulum\n");
        }
        head.push_str(&self.import_lines());
        let helpers: String = [("oozie.", "oozie_airflow as oozie"), ("el.", "oozie_el as el")]
            .iter()
            .filter(|(name, _)| match *name {
                "el." => el || has_filters,
                _ => oozie,
            })
            .map(|(_, module)| format!("import {module}\n"))
            .collect();
        if !helpers.is_empty() {
            head.push_str(&format!("\n{helpers}"));
        }
        let gap = if before.is_empty() { "" } else { "\n" };
        let with = if body.is_empty() { "    pass\n".to_owned() } else { body };
        format!("{head}\n{before}{gap}with {arguments}:\n{with}")
    }

    fn import_lines(&mut self) -> String {
        match self.version {
            Version::Two => self.import("airflow", "DAG"),
            Version::Three => self.import("airflow.sdk", "DAG"),
        };
        let mut modules: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (module, class) in &self.imports {
            modules.entry(module).or_default().push(class);
        }
        let lines = modules.into_iter().map(|(module, classes)| {
            let line = format!("from {module} import {}\n", classes.join(", "));
            if line.len() <= 89 {
                return line;
            }
            let parts: String = classes.iter().map(|class| format!("    {class},\n")).collect();
            format!("from {module} import (\n{parts})\n")
        });
        lines.collect()
    }

    fn docstring(&self) -> String {
        let from = match self.given.coordinator {
            Some(coordinator) => coordinator.path,
            None => self.given.path,
        };
        let plain = |text: &str| text.replace('\\', "/").replace('"', "'");
        let mut lines = format!("{}, carried over from {}.\n", plain(self.given.name), plain(from));
        if !self.needs.variables.is_empty() {
            let names: Vec<&str> = self.needs.variables.iter().map(String::as_str).collect();
            lines.push_str(&format!("\nVariables of Airflow to set: {}.\n", names.join(", ")));
        }
        if lines.lines().count() == 1 { lines.trim_end().to_owned() } else { lines }
    }

    /// Parameters of the DAG: properties that its texts name, with the values that they are submitted with.
    fn params(&mut self, code: &str) -> Vec<(String, Value)> {
        let secrets = self.given.secrets;
        let resolved = |value: &str| resolve(value, self.given.properties);
        let mut params: Vec<(String, Value)> = Vec::new();
        for (name, value) in self.given.properties {
            let asked = contains_word(code, &format!("params.{name}"));
            let named = asked || code.contains(&quoted(name, '\'')) || self.uses_params;
            // A name that a coordinator gives its workflow may come from the property of that name.
            if !named || secrets.covers(name) || (!asked && self.texts.contains_key(name)) {
                continue;
            }
            // A server takes the blanks off what becomes a variable.
            let value = secrets.text(resolved(value).trim_matches(|c| c <= ' '));
            params.push((name.clone(), Value::Text(value)));
        }
        params
    }
}

/// Whether a text names something of a helper: `el.add`, `oozie.kill`.
fn names_helper(text: &str, module: &str, source: &str) -> bool {
    let call = format!("{module}.");
    text.match_indices(&call).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let inside = |c: char| c.is_alphanumeric() || "_./-".contains(c);
        let rest = &text[at + call.len()..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        let defined = ["def ", "class "].iter().any(|word| {
            [":", "("].iter().any(|end| source.contains(&format!("{word}{name}{end}")))
        });
        let constant = matches!(name, "KB" | "MB" | "GB" | "TB" | "PB");
        !before.is_some_and(inside) && !name.is_empty() && (defined || constant)
    })
}

fn contains_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let next = text[at + word.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
    })
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
