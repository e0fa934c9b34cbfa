//! Prefect: one flow per coordinator with what it starts, or per workflow that no coordinator starts.
//!
//! A definition and the properties of its submission become a Python file with a flow, and a ledger. The nodes of a
//! workflow are functions; `oozie_prefect.py` runs each when Oozie would, and stops running nodes when a kill node is
//! entered.

mod actions;
mod coordinator;
mod flow;
mod modules;
mod python;

use super::airflow::expression::{Names, Place, Text as Code};
use super::airflow::python::{Value, identifier, transitions};
use super::claims::secret_name;
use super::ledger::Outcome;
use super::now::Now;
use super::places;
use super::said::{self, Kept, Says};
use super::text::Text;
use super::{Conversion, Given, Output, REFUSED, claims, model, shared};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::source::Span;
use crate::syntax::xml::Tree;
use std::collections::{BTreeMap, BTreeSet};

const CREDENTIALS: (&str, &str) = (
    "programs authenticate as the worker that runs the flow",
    "give the worker a keytab, or whatever else it needs",
);

/// Returns the files that every conversion needs.
pub fn helpers() -> Vec<Output> {
    let file = |path: &str, text: &str| Output { path: path.to_owned(), text: text.to_owned() };
    vec![
        file("flows/oozie_data.py", include_str!("../python/oozie_data.py")),
        file("flows/oozie_el.py", include_str!("../python/oozie_el.py")),
        file("flows/oozie_prefect.py", include_str!("oozie_prefect.py")),
        file("ruff.toml", include_str!("ruff.toml")),
    ]
}

/// Returns the name of a flow's function and of its file.
///
/// ```
/// use ankus::carry::prefect::flow_name;
/// assert_eq!(flow_name("daily-load.v2"), "daily_load_v2");
/// // Beside `secrets.py` nothing could import the module of Python.
/// assert_eq!(flow_name("secrets"), "secrets_flow");
/// ```
pub fn flow_name(name: &str) -> String {
    let name = identifier(name);
    if modules::hides(&name) {
        return format!("{name}_flow");
    }
    // Names that the file itself uses, and those of the modules beside it.
    const TAKEN: [&str; 7] =
        ["run", "flow", "State", "oozie_data", "oozie_el", "oozie_prefect", "params"];
    if TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// Returns the Python expression for a text in a flow.
pub fn expression(text: Code) -> String {
    python::expression(&python::neutral(text))
}

/// Returns the name of the block for a secret, which has only lower-case letters, digits and `-`.
fn block_name(name: &str) -> String {
    let fits = |c: char| if c.is_alphanumeric() { c } else { '-' };
    name.to_lowercase().chars().map(fits).collect()
}

/// Returns the blocks from which code reads secrets.
fn blocks(code: &str) -> BTreeSet<String> {
    let calls = code.split("run.secret(").skip(1);
    let names = calls.filter_map(|rest| rest.split(['\'', '"']).nth(1));
    names.map(block_name).collect()
}

/// Prints one application.
struct Printer<'a> {
    given: Given<'a>,
    /// The text that is converted now.
    now: Now<'a>,
    texts: BTreeMap<String, Code>,
    constants: BTreeMap<&'static str, Code>,
    data: BTreeMap<String, String>,
    /// Code that computes which transition a node took, by node name.
    transitions: BTreeMap<String, String>,
    /// Why the current node cannot be converted, if it cannot.
    lack: Option<String>,
    /// Statements before the flow.
    before: Vec<String>,
    /// Statements of the flow before its nodes.
    head: Vec<String>,
    /// The nodes that the first nodes of the workflow depend on.
    gates: Vec<String>,
    /// Functions, in order.
    steps: Vec<String>,
    /// Names of functions.
    taken: BTreeSet<String>,
    /// Arguments of `serve`; none if nothing starts the flow.
    serve: Option<Vec<(String, Value)>>,
}

/// Converts an application.
pub fn convert(given: Given<'_>) -> Conversion {
    let empty = Tree::parse("<none/>").0;
    let mut printer = Printer {
        given,
        now: Now::new(&given, &empty),
        texts: BTreeMap::new(),
        constants: BTreeMap::new(),
        data: BTreeMap::new(),
        transitions: BTreeMap::new(),
        lack: None,
        before: Vec::new(),
        head: Vec::new(),
        gates: Vec::new(),
        steps: Vec::new(),
        taken: [flow_name(given.name)].into(),
        serve: None,
    };
    let mut is_made = false;
    if let Some(coordinator) = given.coordinator {
        printer.coordinator(coordinator);
        is_made = true;
        printer.now.finish(coordinator.path, coordinator.analysis);
    }
    if let Some(analysis) = given.analysis {
        printer.now.turn_to(analysis);
        is_made = printer.workflow(analysis);
        printer.now.finish(given.path, analysis);
    }
    let outputs = is_made.then(|| printer.output()).into_iter().collect();
    printer.now.conversion(&given, outputs)
}

/// Returns how a secret reaches a flow.
fn of_block(name: &str) -> Kept {
    let remedy = format!("create a Secret block named `{}`", block_name(name));
    ("the secret is read from a Prefect Secret block", remedy)
}

impl<'a> Says<'a> for Printer<'a> {
    type Text = Code;
    const LEFT_OUT: &'static str = "read it from a Prefect Secret block";
    const LACKING: &'static str = "rewrite the expression: as converted, its step fails";

    fn now(&mut self) -> &mut Now<'a> {
        &mut self.now
    }

    fn shown(&mut self, source: &str) -> Code {
        self.code(source)
    }

    fn kept(&mut self, name: &str) -> (Code, Kept) {
        let name = secret_name(self.given.name, name);
        let code = format!("run.secret({})", super::airflow::python::quoted(&name, '\''));
        (Code::of_code((code, true)), of_block(&name))
    }

    fn named(&self, name: &str) -> Option<Kept> {
        let block = secret_name(self.given.name, name);
        (!self.texts.contains_key(name)).then(|| of_block(&block))
    }

    fn lacks(&mut self, why: &str) {
        self.lack.get_or_insert_with(|| why.to_owned());
    }
}

impl<'a> Printer<'a> {
    /// Compiles a text and claims it in the ledger according to the result.
    fn say(&mut self, scalar: &Scalar) -> Text {
        python::neutral(self.say_code(scalar))
    }

    fn say_code(&mut self, scalar: &Scalar) -> Code {
        said::say(self, scalar)
    }

    fn judge(&mut self, span: Span, text: &Code) {
        said::judge(self, span, text);
    }

    fn code(&self, source: &str) -> Code {
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
            tasks: &BTreeMap::new(),
            transitions: &self.transitions,
            is_forked: false,
            knows_user: true,
            group: None,
            place: Place::Flow,
        };
        names.read(source, self.given.dialect)
    }

    /// Prints the nodes of a workflow. Returns whether it can be converted.
    fn workflow(&mut self, analysis: &'a Analysis) -> bool {
        let flow = analysis.flow();
        let around = (self.given.around, self.given.properties, self.given.secrets);
        for (name, value) in shared::following(flow.workflow, around) {
            let text = self.code(value).as_text();
            self.texts.insert(name.to_owned(), text);
        }
        if let Some(name) = &flow.workflow.name {
            let text = self.code(name.as_str());
            self.judge(name.span(), &text);
            self.constants.insert("wf:name", text);
        }
        let tasks = model::tasks(flow);
        if let Some(why) = tasks.broken {
            let reason = format!("{REFUSED}workflow: {why}");
            if let Some(root) = self.now.tree.root() {
                self.now.ledger.whole(root.span(), Outcome::None, &reason, "mend it first");
            }
            return false;
        }
        let defaults = (self.given.properties, claims::Defaults::FilledIn);
        claims::flow(&mut self.now.ledger, analysis, CREDENTIALS, defaults, self.given.around);
        let workflow = flow.workflow;
        let slas = workflow.actions().filter_map(|(_, _, action)| action.sla.as_deref());
        for sla in slas.chain(&workflow.sla) {
            self.sla(sla.span);
        }
        self.transitions = transitions(workflow, &tasks, "run", &crate::carry::airflow::dag_id);
        self.nodes(workflow, &tasks);
        true
    }

    /// Reports an SLA, which has no counterpart.
    fn sla(&mut self, span: Span) {
        let reason = "a flow has no SLAs";
        let remedy = "create a Prefect automation that watches how long it runs";
        self.now.ledger.whole(span, Outcome::None, reason, remedy);
    }

    /// Returns the file.
    fn output(&self) -> Output {
        let name = flow_name(self.given.name);
        let from = self.given.coordinator.map_or(self.given.path, |coordinator| coordinator.path);
        let from: String =
            from.chars().map(|c| if c.is_control() || c == '"' { ' ' } else { c }).collect();
        let mut body = String::new();
        for statement in &self.head {
            body.push_str(&format!("    {statement}\n"));
        }
        for step in &self.steps {
            body.push_str(&format!("\n{step}"));
        }
        body.push_str("\n    return run.play()\n");
        let before: String = self.before.iter().map(|line| format!("{line}\n")).collect();
        let tail = self.tail(&name);
        let all = format!("{before}{body}{tail}");
        let uses = |word: &str| names(&all, word);
        let mut head = format!("\"\"\"{}, converted from {from}.", self.given.name);
        let blocks = blocks(&all);
        if !blocks.is_empty() {
            let names = blocks.into_iter().collect::<Vec<_>>().join(", ");
            head.push_str(&format!("\n\nCreate these blocks of type Secret: {names}.\n"));
        }
        head.push_str("\"\"\"\n\n");
        if uses("dt.") {
            head.push_str("import datetime as dt\n\n");
        }
        head.push_str("from prefect import flow\n");
        let schedules: Vec<&str> = ["Cron", "Interval", "RRule"]
            .into_iter()
            .filter(|name| tail.contains(&format!("{name}(")))
            .collect();
        if !schedules.is_empty() {
            head.push_str(&format!("from prefect.schedules import {}\n", schedules.join(", ")));
        }
        let completed = if uses("Completed(") { "Completed, " } else { "" };
        head.push_str(&format!("from prefect.states import {completed}State\n\n"));
        if uses("el.") {
            head.push_str("import oozie_el as el\n");
        }
        head.push_str("import oozie_prefect as oozie\n\n");
        let params = python::laid_out(&Value::Dict(self.params()), 0, "PARAMS = ".len(), 0);
        const ARGUMENTS: &str =
            "params: dict[str, str] | None = None, nominal_time: str | None = None";
        let mut define = format!("def {name}({ARGUMENTS}) -> State:");
        if define.chars().count() > python::WIDTH {
            define = format!("def {name}(\n    {ARGUMENTS}\n) -> State:");
        }
        let shown = vec![("name".to_owned(), Value::text(self.given.name))];
        let shown = python::laid_out(&Value::Call("flow".to_owned(), shown), 0, 1, 0);
        let text = format!(
            "{head}PARAMS = {params}\n{before}\n\n@{shown}\n{define}\n    \
             run = oozie.Run(PARAMS, params, nominal_time)\n{body}\n\nif __name__ == \"__main__\":\n{tail}"
        );
        Output { path: format!("flows/{name}.py"), text }
    }

    /// Returns the code that runs when the file is executed: it serves the schedule, or runs the flow once.
    fn tail(&self, name: &str) -> String {
        match &self.serve {
            Some(arguments) => {
                let call = Value::Call(format!("{name}.serve"), arguments.clone());
                format!("    {}\n", python::laid_out(&call, 4, 4, 0))
            }
            None => format!("    {name}()\n"),
        }
    }

    /// Returns the properties that are not secrets.
    fn params(&self) -> Vec<(String, Value)> {
        let properties = self.given.properties;
        // The path of an application that a coordinator starts is written where it is needed.
        let is_path = |name: &str| name == places::APPLICATION && self.texts.contains_key(name);
        let is_kept = |name: &str| !self.given.secrets.covers(name) && !is_path(name);
        let known = properties.iter().filter(|(name, _)| is_kept(name));
        let known = known.map(|(name, value)| {
            let value = super::resolve(value, properties);
            (name.clone(), Value::Text(self.given.secrets.text(&value)))
        });
        known.collect()
    }
}

/// Whether code contains a word that is not preceded by another part of a name.
fn names(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.-/".contains(c))
    })
}
