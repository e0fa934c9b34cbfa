//! AWS Step Functions: one state machine per coordinator, or per workflow that no coordinator starts.
//!
//! A definition and the properties of its submission become a machine in the Amazon States Language with JSONata, a
//! CloudFormation template that creates the machine and its schedule, and a ledger. A workflow whose forks are not
//! closed is refused with the reason.

mod actions;
mod coordinator;
pub mod expression;
mod states;
mod template;

use super::ledger::Outcome;
use super::now::Now;
use super::said::{self, Kept, Says};
use super::{Conversion, Given, Output, REFUSED, model, resolve, shared};
use crate::analysis::Analysis;
use crate::ir::Scalar;
use crate::source::Span;
use crate::syntax::xml::Tree;
use ankus_lang::el::Dialect;
use expression::{Names, Text, Used};
use serde_json::{Map, Value, json};
use states::Machine;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

const CREDENTIALS: &str =
    "in Step Functions, rights come from the roles of the state machine and of the cluster";
const ROLE: &str = "grant them to the role, or create the cluster with Kerberos";

/// Returns the name of a state machine, which has only letters, digits, `_` and `-`.
pub fn machine_name(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    name.chars().map(|c| if fits(c) { c } else { '_' }).take(80).collect()
}

/// Prints one machine.
struct Printer<'a> {
    given: Given<'a>,
    /// The text that is converted now.
    now: Now<'a>,
    texts: BTreeMap<String, Text>,
    constants: BTreeMap<&'static str, Text>,
    data: BTreeMap<String, String>,
    used: RefCell<BTreeMap<String, Used>>,
    /// Names of states.
    taken: BTreeSet<String>,
    /// The number of states.
    count: usize,
    /// The number of branches.
    branches: usize,
    /// The suffix of the variables about errors.
    scope: String,
    /// Whether an expression uses the last error.
    tells_errors: bool,
    /// Whether an expression uses the nominal time.
    is_timed: bool,
    /// The machines that it starts, by their substitutions.
    machines: BTreeMap<String, String>,
    /// States before those of the workflow.
    gates: Vec<(String, Value)>,
    /// The schedule that starts it.
    schedule: Option<template::Schedule>,
}

/// Converts an application.
pub fn convert(given: Given<'_>) -> Conversion {
    let empty = Tree::parse("<none/>").0;
    let asks = |analysis: Option<&Analysis>, words: &[&str]| {
        let text = analysis.map_or("", |analysis| analysis.tree().text());
        words.iter().any(|word| text.contains(word))
    };
    let mut printer = Printer {
        given,
        now: Now::new(&given, &empty),
        texts: BTreeMap::new(),
        constants: BTreeMap::new(),
        data: BTreeMap::new(),
        used: RefCell::default(),
        taken: BTreeSet::new(),
        count: 0,
        branches: 0,
        scope: String::new(),
        tells_errors: asks(given.analysis, &["wf:error", "wf:lastErrorNode"]),
        is_timed: false,
        machines: BTreeMap::new(),
        gates: Vec::new(),
        schedule: None,
    };
    printer.taken.insert("Parameters".to_owned());
    let mut machine = Some(Machine::default());
    if let Some(coordinator) = given.coordinator {
        machine = Some(printer.coordinator(coordinator));
        printer.now.finish(coordinator.path, coordinator.analysis);
    }
    if let Some(analysis) = given.analysis {
        printer.now.turn_to(analysis);
        machine = printer.workflow(analysis);
        printer.now.finish(given.path, analysis);
    }
    let outputs = machine.map(|machine| printer.outputs(machine)).unwrap_or_default();
    printer.now.conversion(&given, outputs)
}

/// The reason reported for a secret: where it comes from.
const OF_INPUT: &str = "the secret is read from the input of the execution";
/// The remedy reported with [`OF_INPUT`].
const OUT_OF_LOGS: &str =
    "read it from Secrets Manager instead, so that it is not in the history of executions";

impl<'a> Says<'a> for Printer<'a> {
    type Text = Text;
    const LEFT_OUT: &'static str = "read it from Secrets Manager where it is needed";
    const LACKING: &'static str = "rewrite the expression: the state fails when it is entered";

    fn now(&mut self) -> &mut Now<'a> {
        &mut self.now
    }

    fn shown(&mut self, source: &str) -> Text {
        self.compile(source)
    }

    fn kept(&mut self, name: &str) -> (Text, Kept) {
        (self.names(|names, _| names.secret(name)), (OF_INPUT, OUT_OF_LOGS.to_owned()))
    }

    fn named(&self, name: &str) -> Option<Kept> {
        (!self.texts.contains_key(name)).then(|| (OF_INPUT, OUT_OF_LOGS.to_owned()))
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

    /// Calls `of` with what names and functions refer to here.
    fn names<T>(&self, of: impl FnOnce(&Names<'_>, Dialect) -> T) -> T {
        let properties = self.given.properties;
        let secrets = self.given.secrets;
        let given = |name: &str| properties.contains_key(name) && !secrets.covers(name);
        let names = Names {
            phase: self.now.phase,
            texts: &self.texts,
            constants: &self.constants,
            data: &self.data,
            used: &self.used,
            scope: &self.scope,
            given: &given,
        };
        of(&names, self.given.dialect)
    }

    fn compile(&mut self, source: &str) -> Text {
        let text = self.names(|names, dialect| names.text(source, dialect));
        self.is_timed |= text.parts.iter().any(
            |part| matches!(part, expression::Part::Value((code, _)) if code.contains("$nominal")),
        );
        text
    }

    /// Returns the substitution for a machine in the definition.
    fn machine(&mut self, name: &str) -> String {
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut key = format!("Machine{letters}");
        while self.machines.get(&key).is_some_and(|other| other != name) {
            key.push('X');
        }
        self.machines.insert(key.clone(), name.to_owned());
        key
    }

    /// Returns the states of a workflow; none if it cannot be converted.
    fn workflow(&mut self, analysis: &'a Analysis) -> Option<Machine> {
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
        let entry = flow.workflow.start().and_then(|start| flow.next(start).next());
        let tasks = model::tasks(flow);
        let entry = match (tasks.broken, entry) {
            (None, Some(entry)) => entry,
            (why, _) => {
                let why = why.unwrap_or("there is no start");
                self.refuse(&format!("{REFUSED}workflow: {why}"), "mend it first");
                return None;
            }
        };
        self.claim_flow(analysis);
        for fork in &tasks.failing_forks {
            let reason = "a failure stops the other branches, but steps that are already running may continue to their end";
            let remedy = "allow the role of the state machine to cancel steps";
            let tag = flow.workflow.node(*fork).tag;
            self.now.ledger.claim(tag, Outcome::Approximate, reason, remedy);
        }
        match self.region(flow, entry, None, 0) {
            Ok(machine) => Some(machine),
            Err(why) => {
                let remedy = "let each fork end at a join of its own, or convert to Airflow, which needs no such structure";
                self.refuse(&format!("it does not fit into a Parallel state: {why}"), remedy);
                None
            }
        }
    }

    fn refuse(&mut self, reason: &str, remedy: &str) {
        if let Some(root) = self.now.tree.root() {
            self.now.ledger.whole(root.span(), Outcome::None, reason, remedy);
        }
    }

    /// Returns the first state, which assigns the variables that the others use.
    fn parameters(&self) -> Map<String, Value> {
        let mut assign = Map::new();
        if self.is_timed {
            assign.insert("nominal".into(), json!("{% $toMillis($states.input.nominalTime) %}"));
        }
        if self.tells_errors {
            assign.insert("lastErrorNode".into(), json!("{% '' %}"));
            assign.insert("errors".into(), json!({}));
        }
        for (name, used) in self.used.borrow().iter() {
            let from = format!("$states.input.{}", field(name));
            let value =
                self.given.properties.get(name).filter(|_| !self.given.secrets.covers(name));
            let value = value.map(|value| resolve(value, self.given.properties));
            let default = match value {
                Some(value) => expression::quoted(&self.given.secrets.text(&value)),
                None if used.needed => {
                    assign.insert(used.variable.clone(), json!(format!("{{% $string({from}) %}}")));
                    continue;
                }
                None => "null".to_owned(),
            };
            let code = format!("{{% $exists({from}) ? $string({from}) : {default} %}}");
            assign.insert(used.variable.clone(), json!(code));
        }
        assign
    }

    fn outputs(&mut self, mut machine: Machine) -> Vec<Output> {
        let mut states = Map::new();
        let assign = self.parameters();
        if machine.states.is_empty() {
            machine.start = "Nothing".to_owned();
            machine.states.insert("Nothing".to_owned(), json!({"Type": "Succeed"}));
        }
        let mut names: Vec<String> = self.gates.iter().map(|(name, _)| name.clone()).collect();
        names.push(machine.start.clone());
        let mut start = names[0].clone();
        if !assign.is_empty() {
            let state = json!({"Type": "Pass", "Assign": assign, "Next": start});
            states.insert("Parameters".to_owned(), state);
            start = "Parameters".to_owned();
        }
        for ((name, mut state), next) in self.gates.drain(..).zip(names.into_iter().skip(1)) {
            let field = if state["Type"] == "Choice" { "Default" } else { "Next" };
            state[field] = json!(next);
            states.insert(name, state);
        }
        states.extend(machine.states);
        if states.values().any(|state| {
            state["Type"] == "Choice" && state["Choices"][0]["Next"] == coordinator::PASSED_OVER
        }) {
            states.insert(coordinator::PASSED_OVER.to_owned(), json!({"Type": "Succeed"}));
        }
        let from = self.given.coordinator.map_or(self.given.path, |coordinator| coordinator.path);
        let definition = json!({
            "Comment": format!("{}, converted from {from}", self.given.name),
            "QueryLanguage": "JSONata",
            "StartAt": start,
            "States": states,
        });
        let text = format!("{definition:#}\n");
        let path = format!("state-machines/{}.asl.json", self.given.name);
        let template = self.template(from, &text);
        let file = format!("templates/{}.yaml", self.given.name);
        vec![Output { path, text }, Output { path: file, text: template }]
    }
}

/// Returns the name of an object's field in JSONata.
fn field(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.chars().all(fits) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_word = ["and", "or", "in", "true", "false", "null", "function"].contains(&name);
    if is_plain && !is_word { name.to_owned() } else { format!("`{}`", name.replace('`', "")) }
}
