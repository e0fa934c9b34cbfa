//! Argo Workflows: one template per coordinator with what starts it, or per workflow that no coordinator starts.
//!
//! A definition and the properties of its submission become a `WorkflowTemplate`, for a coordinator also a
//! `CronWorkflow`, and a ledger. The tasks of a workflow are a DAG; `depends` says when each runs.

mod actions;
mod coordinator;
pub mod expression;
mod graph;
pub(super) mod schedule;

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
use expression::{Names, Part, Text, Used};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Parameters that are not properties of the job, with their default values.
const OWN: [(&str, Option<&str>); 5] = [
    ("nominal-time", None),
    ("hadoop-image", Some(super::HADOOP_IMAGE)),
    ("python-image", Some("python:3.13-alpine")),
    ("smtp-host", Some("localhost")),
    ("mail-from", Some("oozie@localhost")),
];

/// Templates that are not those of actions.
const TEMPLATES: [&str; 4] = ["main", "flow", "pass", "kill"];

const CREDENTIALS: (&str, &str) = (
    "in Argo, rights come from the service account and the image",
    "mount a keytab, or grant the service account what it needs",
);

/// Returns the name of a Kubernetes resource, which has only lower-case letters, digits and `-`.
///
/// ```
/// use ankus::carry::argo::resource_name;
/// assert_eq!(resource_name("Daily_Load.v2"), "daily-load-v2");
/// ```
pub fn resource_name(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let all: Vec<char> = name.chars().map(fits).collect();
    // The name of a `CronWorkflow` has at most 52 characters. Names usually differ at their ends.
    let from = all.len().saturating_sub(52);
    let name: String = all[from..].iter().collect();
    match name.trim_matches('-') {
        "" => "workflow".to_owned(),
        name => name.to_owned(),
    }
}

/// Prints one application.
struct Printer<'a> {
    given: Given<'a>,
    /// The text that is converted now.
    now: Now<'a>,
    texts: BTreeMap<String, Text>,
    constants: BTreeMap<&'static str, Text>,
    data: BTreeMap<String, String>,
    used: RefCell<BTreeMap<String, Used>>,
    /// The actions before the current task.
    reached: Reached,
    /// Why the current task cannot be converted, if it cannot.
    lack: Option<String>,
    /// The secrets, by the text that refers to them.
    hidden: BTreeMap<String, String>,
    /// Names of templates.
    taken: BTreeSet<String>,
    templates: Vec<Yaml>,
    /// What a coordinator adds to a run.
    run: Option<coordinator::Run>,
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
        used: RefCell::default(),
        reached: Reached::default(),
        lack: None,
        hidden: BTreeMap::new(),
        taken: TEMPLATES.map(str::to_owned).into(),
        templates: Vec::new(),
        run: None,
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
    const LEFT_OUT: &'static str = "read it from a Kubernetes Secret";
    const LACKING: &'static str = "rewrite the expression: as converted, its task fails";

    fn now(&mut self) -> &mut Now<'a> {
        &mut self.now
    }

    fn shown(&mut self, source: &str) -> Text {
        self.compile(source)
    }

    fn kept(&mut self, name: &str) -> (Text, Kept) {
        let secret = format!("{}-secrets", resource_name(self.given.name));
        let remedy = format!("kubectl create secret generic {secret} --from-literal={name}=...");
        let code = expression::secret(name);
        self.hidden.insert(code.clone(), name.to_owned());
        let text = Text::value(code, expression::Kind::Text);
        (text, ("the secret is read from a Kubernetes Secret", remedy))
    }

    fn named(&self, name: &str) -> Option<Kept> {
        let reason = "the secret is a parameter of the workflow, which everyone who can see the workflow can read";
        let remedy = format!("set the parameter `{name}`, or read it from a Kubernetes Secret");
        (!self.texts.contains_key(name)).then_some((reason, remedy))
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

    fn compile(&mut self, source: &str) -> Text {
        let properties = self.given.properties;
        let secrets = self.given.secrets;
        let given = |name: &str| properties.contains_key(name) && !secrets.covers(name);
        let names = Names {
            phase: self.now.phase,
            texts: &self.texts,
            constants: &self.constants,
            data: &self.data,
            used: &self.used,
            reached: &self.reached,
            given: &given,
        };
        names.text(source, self.given.dialect)
    }

    /// Returns a unique name for a template.
    fn name_of(&mut self, wanted: &str) -> String {
        let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let wanted: String = wanted.chars().map(fits).take(100).collect();
        let mut wanted = wanted.trim_matches('-').to_owned();
        if !wanted.starts_with(|c: char| c.is_ascii_alphabetic()) {
            wanted.insert(0, 'n');
        }
        let mut name = wanted.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}-{number}");
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
            let remedy = "if that takes too long, terminate the run by hand";
            self.now.ledger.claim(workflow.node(*fork).tag, Outcome::Approximate, reason, remedy);
        }
        Some(self.graph(workflow, &tasks))
    }

    /// Reports an SLA, which has no counterpart.
    fn sla(&mut self, span: Span) {
        let reason = "Argo has no SLAs";
        let remedy = "set up an alert on the metrics of the workflow controller";
        self.now.ledger.whole(span, Outcome::None, reason, remedy);
    }

    /// Returns the parameters of the application that its templates refer to.
    fn parameters(&self, printed: &str) -> Vec<Yaml> {
        let mut all = Vec::new();
        for (name, value) in OWN {
            let is_named =
                [format!("workflow.parameters.{name}}}"), format!("parameters['{name}']")]
                    .iter()
                    .any(|form| printed.contains(form));
            let is_timed = name == "nominal-time" && self.run.is_some();
            let migration = self.given.migration;
            let wanted = match name.strip_suffix("-image") {
                Some(kind) => migration.image(kind),
                None => migration.values.get(name).map(String::as_str),
            };
            match wanted.or(value) {
                _ if !is_named && !is_timed => {}
                Some(value) => all.push(named(name).and("value", text(value))),
                None => all.push(named(name)),
            }
        }
        let (properties, secrets) = (self.given.properties, self.given.secrets);
        for (name, used) in self.used.borrow().iter() {
            let value = properties.get(name).filter(|_| !secrets.covers(name));
            let value = value.map(|value| secrets.text(&super::resolve(value, properties)));
            let parameter = named(&used.parameter);
            all.push(match value {
                Some(value) => parameter.and("value", text(value)),
                None if used.needed => parameter,
                None => parameter.and("value", text("")),
            });
        }
        all
    }

    fn output(&mut self, mut tasks: Vec<Yaml>) -> Output {
        if tasks.is_empty() {
            let nothing = named("nothing").and("template", text("pass"));
            tasks.push(nothing);
        }
        let mut templates = match self.run.take() {
            Some(run) => {
                let found = run.templates(&resource_name(self.given.name), tasks);
                self.run = Some(run);
                found
            }
            None => vec![named("main").and("dag", map([("tasks", Yaml::List(tasks))]))],
        };
        let printed = Yaml::List([templates.clone(), self.templates.clone()].concat()).print();
        templates.append(&mut self.templates);
        let uses = |name: &str| printed.contains(&format!("template: {name}\n"));
        if uses("pass") {
            templates.push(named("pass").and("suspend", map([("duration", text("0"))])));
        }
        if uses("kill") {
            templates.push(actions::kill());
        }
        let name = resource_name(self.given.name);
        let mut spec = map([("entrypoint", text("main"))]);
        let parameters = self.parameters(&Yaml::List(templates.clone()).print());
        if !parameters.is_empty() {
            spec = spec.and("arguments", map([("parameters", Yaml::List(parameters))]));
        }
        let spec = spec.and("templates", Yaml::List(templates));
        let from = self.given.coordinator.map_or(self.given.path, |coordinator| coordinator.path);
        let from: String = from.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut documents = vec![resource("WorkflowTemplate", &name, "spec", spec)];
        documents.extend(self.run.iter().flat_map(|run| run.resources(&name)));
        let printed: Vec<String> = documents.iter().map(Yaml::print).collect();
        let head = format!("# {}, converted from {from}\n", self.given.name);
        let path = format!("workflows/{}.yaml", self.given.name);
        Output { path, text: format!("{head}{}", printed.join("---\n")) }
    }

    /// Returns the environment variables for the secrets that a command refers to.
    fn environment(&self, words: &[Text]) -> Vec<Yaml> {
        let names = |code: &str| {
            words
                .iter()
                .flat_map(|text| &text.parts)
                .any(|part| matches!(part, Part::Value((value, _)) if value == code))
        };
        let secret = format!("{}-secrets", resource_name(self.given.name));
        let hidden = self.hidden.iter().filter(|(code, _)| names(code));
        let entry = |(code, name): (&String, &String)| {
            let key = map([("name", text(&secret)), ("key", text(name))]);
            let variable = code.trim_start_matches("$(").trim_end_matches(')');
            named(variable).and("valueFrom", map([("secretKeyRef", key)]))
        };
        hidden.map(entry).collect()
    }
}

/// Creates a resource of Argo or Kubernetes.
fn resource(kind: &str, name: &str, field: &str, spec: Yaml) -> Yaml {
    let version = if kind == "ConfigMap" { "v1" } else { "argoproj.io/v1alpha1" };
    map([
        ("apiVersion", text(version)),
        ("kind", text(kind)),
        ("metadata", named(name)),
        (field, spec),
    ])
}
