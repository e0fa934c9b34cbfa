//! What a dry run of a workflow evaluates: its whole definition, for a job that has only its properties.
//!
//! In: an application with the properties of a submission. Out: the expressions that fail, as a server finds them before
//! anything runs (`engine.md`, dryrun). What only a running job knows is not asked, and neither are SLA blocks.

use ankus::passes::expressions::site_function;
use ankus::syntax::xml::{Element, NodeKind, Tree};
use ankus_lang::el::{
    Dialect, Effects, Failure, NodeState, Phase, Reason, Scope, SiteFunction, Template, Value,
    WorkflowScope,
};
use ankus_project::application::{Application, PATHS};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// How much work one definition may be to evaluate.
const WORK: u64 = 10_000_000;

/// The first failures of the expressions of a definition, at most so many.
pub(crate) fn failures(application: &Application, most: usize) -> Vec<Failure> {
    let settings = application.settings();
    let mut properties = application.properties();
    // Defaults of declared parameters are properties of the job by now.
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
    // What the site adds is there, and in which places its functions are is for a check to say.
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
                // Texts with references in them are those of their element.
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
    /// Variables that were missed, which are empty from then on.
    missing: BTreeSet<String>,
}

impl Job<'_> {
    /// Why a text cannot be evaluated, if that does not depend on what has run: each name that is missing once.
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
            // With it, the next one shows.
            if !name.is_some_and(|name| is_missing && self.missing.insert(name)) {
                break;
            }
        }
        failures
    }
}

/// A job that has only properties.
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
