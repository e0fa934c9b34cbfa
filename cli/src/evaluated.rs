//! Evaluates a workflow as a dry run does: its whole definition, for a job that has only its properties.
//!
//! The input is an application with the properties of a submission. The result is the expressions that fail, as a
//! server detects them before anything runs (`engine.md`, dryrun). Neither queries of a running job nor SLA blocks are
//! evaluated.

use ankus::passes::expressions::site_function;
use ankus::syntax::xml::{Element, NodeKind, Tree};
use ankus_lang::el::{
    Dialect, Effects, Failure, NodeState, Phase, Reason, Scope, SiteFunction, Template, Value,
    WorkflowScope,
};
use ankus_project::application::{Application, PATHS};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum work of evaluating one definition.
const WORK: u64 = 10_000_000;

/// Returns the first failures of the expressions of a definition, at most `most`.
pub(crate) fn failures(application: &Application, most: usize) -> Vec<Failure> {
    let settings = application.settings();
    let mut properties = application.properties();
    // At this point the server has added the defaults of declared parameters to the job's properties.
    for (name, default) in application.plan().map(|plan| plan.parameters).unwrap_or_default() {
        if let Some(default) = default {
            properties.entry(name).or_insert(default);
        }
    }
    let functions: Vec<SiteFunction> = settings.functions.iter().map(site_function).collect();
    let mut job = Job {
        properties: &properties,
        functions: &functions,
        dialect: Dialect::of_target(settings.target.name()),
        effects: Effects::within(WORK),
        missing: BTreeSet::new(),
    };
    // Functions of the site exist; whether they are available in their phase is left to a check.
    let is_provided = |failure: &Failure| {
        let name = failure.name.as_deref().unwrap_or_default();
        match failure.reason {
            Reason::UnknownVariable => settings.server.variables.iter().any(|own| own == name),
            Reason::UnknownFunction => functions.iter().any(|own| own.name == name),
            _ => false,
        }
    };
    let tree = Tree::parse(&application.loaded.input().source.text).0;
    let mut failures = Vec::new();
    for node in tree.nodes().filter(|node| !is_in_sla(node.element().or(node.parent()))) {
        if failures.len() >= most {
            break;
        }
        let mut evaluate = |text: &str| {
            failures.extend(job.failures(text).into_iter().filter(|one| !is_provided(one)));
        };
        match node.element() {
            Some(element) => {
                element.attributes().for_each(|attribute| evaluate(&attribute.value().text));
            }
            None if matches!(node.kind(), NodeKind::Text | NodeKind::CData) => {
                // A text with references was split into nodes; the text of its element is evaluated as a whole.
                let element = node.parent().filter(|parent| parent.elements().next().is_none());
                if let Some(element) = element {
                    evaluate(&element.text().text);
                }
            }
            None => {}
        }
    }
    failures.truncate(most);
    failures
}

fn is_in_sla(mut element: Option<Element<'_>>) -> bool {
    while let Some(one) = element {
        if one.namespace().starts_with("uri:oozie:sla:") {
            return true;
        }
        element = one.parent();
    }
    false
}

/// The job for which a dry run evaluates.
struct Job<'a> {
    properties: &'a BTreeMap<String, String>,
    functions: &'a [SiteFunction],
    dialect: Dialect,
    effects: Effects,
    /// Missing variables that were reported, which are empty from then on.
    missing: BTreeSet<String>,
}

impl Job<'_> {
    /// Returns why a text cannot be evaluated, unless that depends on a running job: each missing name once.
    fn failures(&mut self, text: &str) -> Vec<Failure> {
        let mut failures = Vec::new();
        if !text.contains("${") {
            return failures;
        }
        let template = Template::compile_with(text, Phase::Workflow, self.dialect, self.functions);
        loop {
            let scope = Nobody { properties: self.properties, missing: &self.missing };
            let Err(failure) = template.text_with(&scope, &mut self.effects) else { break };
            let name = failure.name.clone();
            let is_missing = failure.reason == Reason::UnknownVariable;
            if matches!(failure.reason, Reason::Type | Reason::Evaluation) {
                break;
            }
            failures.push(*failure);
            // With an empty value, the next failure appears.
            if !name.is_some_and(|name| is_missing && self.missing.insert(name)) {
                break;
            }
        }
        failures
    }
}

/// The scope of a job that has only properties.
struct Nobody<'a> {
    properties: &'a BTreeMap<String, String>,
    missing: &'a BTreeSet<String>,
}

impl Scope for Nobody<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        if self.missing.contains(name) {
            return Some(Value::String("".into()));
        }
        let value = self.properties.get(name)?;
        Phase::Workflow.admit_kept(name, value).map(Value::String)
    }

    fn workflow(&self) -> Option<&dyn WorkflowScope> {
        Some(self)
    }
}

impl WorkflowScope for Nobody<'_> {
    fn id(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn name(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn app_path(&self) -> Option<Cow<'_, str>> {
        self.properties.get(PATHS[0]).map(|path| path.as_str().into())
    }
    fn user(&self) -> Option<Cow<'_, str>> {
        self.properties.get("user.name").map(|user| user.as_str().into())
    }
    fn group(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn run(&self) -> i64 {
        0
    }
    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>> {
        Ok(self.properties.get(name).map(|value| value.as_str().into()))
    }
    fn callback(&self, _status: &str) -> Option<String> {
        None
    }
    fn last_error_node(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn node(&self, _name: &str) -> Option<NodeState<'_>> {
        None
    }
}
