//! `action=dryrun`: what a submission would come to, without keeping anything.

use super::{Served, failed, texts, timeline};
use ankus::reference::coordinator::{self as reference, Paths};
use ankus::syntax::xml::{Element, NodeKind, Tree};
use ankus_lang::coordinator::{Definition, Existing, action_text, text};
use ankus_lang::el::WorkflowScope;
use ankus_lang::el::{Dialect, Effects, Failure, NodeState, Phase, Reason, Scope, Template, Value};
use ankus_lang::time::Instant;
use ankus_project::Loaded;
use ankus_project::application::Application;
use ankus_server::{Fault, laid_out};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// How much work one definition may be to evaluate.
const WORK: u64 = 10_000_000;

impl Served {
    /// The definition of a coordinator as it would be kept, and its actions of the first hour.
    pub(super) fn coordinator_dry_run(
        &self,
        definition: &Definition,
        loaded: &Loaded,
    ) -> Result<String, Fault> {
        let own = self.store.store.join("root");
        let root = self.root.as_deref().unwrap_or(&own);
        let data = match root.is_dir() {
            true => timeline::on_disk(Some(root), loaded).map_err(|report| failed(&report))?,
            false => None,
        };
        let nothing = Paths::new([], &loaded.settings.settings.server.filesystems);
        let existing = data.as_ref().map_or(&nothing as &dyn Existing, |data| data);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = Instant(i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        let run = reference::dry_run(definition, &definition.name, now, existing);
        let run = run.map_err(|refused| {
            let mut names = vec![refused.about.clone()];
            names.extend(refused.subject.iter().cloned());
            let inner: Vec<&str> = refused.inner.clone();
            let said = inner.into_iter().map(|code| format!("{code}: ")).collect::<String>();
            let code = refused.code.unwrap_or("E0803");
            Fault::new(code, format!("IO error, {said}{}", names.join(", ")))
        })?;
        let mut told = laid_out(&text(definition)) + "\n***actions for instance***";
        for (action, shown) in run.actions.iter().zip(&run.shown) {
            let xml = action_text(definition, action, &shown.inputs, &shown.configuration);
            told.push_str("action for new instance");
            told.push_str(&laid_out(&xml));
        }
        Ok(told)
    }
}

/// Evaluates the whole definition of a workflow for a job that is none, as the server does: a name that nothing gives is found out before
/// anything runs. What only a running job knows is not asked, and neither are SLA blocks.
pub(super) fn evaluated(application: &Application) -> Result<(), Fault> {
    let properties = application.properties();
    let tree = Tree::parse(&application.loaded.input().source.text).0;
    let mut effects = Effects::within(WORK);
    for node in tree.nodes() {
        if is_in_sla(node.element().or(node.parent())) {
            continue;
        }
        match node.element() {
            Some(element) => {
                for attribute in element.attributes() {
                    evaluate(&attribute.value().text, &properties, &mut effects)?;
                }
            }
            None if matches!(node.kind(), NodeKind::Text | NodeKind::CData) => {
                // Texts with references in them are those of their element.
                let Some(element) = node.parent() else { continue };
                if element.elements().next().is_none() {
                    evaluate(&element.text().text, &properties, &mut effects)?;
                }
            }
            None => {}
        }
    }
    Ok(())
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

fn evaluate(
    text: &str,
    properties: &BTreeMap<String, String>,
    effects: &mut Effects,
) -> Result<(), Fault> {
    if !text.contains("${") {
        return Ok(());
    }
    let template = Template::compile(text, Phase::Workflow, Dialect::default());
    let scope = Nobody(properties);
    let Err(failure) = template.text_with(&scope, effects) else { return Ok(()) };
    let name = failure.name.clone().unwrap_or_default();
    Err(match failure.reason {
        Reason::UnknownVariable => texts::io(&format!("variable [{name}] cannot be resolved")),
        Reason::UnknownFunction => {
            texts::io(&format!("No function is mapped to the name \"{name}\""))
        }
        Reason::Parse => texts::io(&failure.message),
        Reason::Type | Reason::Evaluation => return Ok(()),
    })
}

/// A job that has only properties.
struct Nobody<'a>(&'a BTreeMap<String, String>);

impl Scope for Nobody<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.0.get(name)?;
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
        self.0.get(super::PATHS[0]).map(|path| path.as_str().into())
    }
    fn user(&self) -> Option<Cow<'_, str>> {
        self.0.get("user.name").map(|user| user.as_str().into())
    }
    fn group(&self) -> Option<Cow<'_, str>> {
        None
    }
    fn run(&self) -> i64 {
        0
    }
    fn conf(&self, name: &str) -> Result<Option<Cow<'_, str>>, Box<Failure>> {
        Ok(self.0.get(name).map(|value| value.as_str().into()))
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
