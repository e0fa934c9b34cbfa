//! Compiles a workflow to a plan that the runtime executes.
//!
//! Takes a [`CheckedWorkflow`] and options, and returns a [`Plan`]. This cannot fail: an invalid expression compiles
//! to one that fails when it is evaluated, and a transition that the server never checks has no target. Shared
//! settings are merged into each action by [`resolve`].

use std::borrow::Cow;

use ankus_lang::el::{Dialect, Phase, SiteFunction, Template};
use ankus_lang::plan::{
    Action, Credential, Expectation, Global, NOWHERE, Node, NodeIndex, Plan, Work,
};

use crate::check::CheckedWorkflow;
use crate::ir::workflow::{Property, Shape, Sla, Transition, Way};
use crate::passes::flow::Flow;
use crate::passes::resolve::{self, Given, Settings};
use crate::reference::has_parameters;
use crate::syntax::xml::{Child, Element, NodeKind, Tree};

/// What a plan depends on besides its definition.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The EL implementation of the target.
    pub dialect: Dialect,
    /// The path of the definition, for messages.
    pub path: String,
    /// The properties of `config-default.xml` beside it.
    pub defaults: Vec<(String, String)>,
    /// Action types of the site that take configurations as `java` does.
    pub configured_types: Vec<String>,
    /// The shared settings that a parent workflow passes on.
    pub inherited: Option<Global>,
    /// The server's default name node.
    pub name_node: Option<String>,
    /// The server's default resource manager.
    pub resource_manager: Option<String>,
    /// EL functions that a site adds to its server.
    pub functions: Vec<SiteFunction>,
}

/// Compiles a workflow.
pub fn plan(checked: CheckedWorkflow<'_>, options: &Options) -> Plan {
    let tree = checked.analysis().tree();
    let flow = checked.analysis().flow();
    let workflow = flow.workflow;
    let global = resolve::global(workflow, options.inherited.as_ref());
    let compiler = Compiler { tree, flow, options, global: global.as_ref() };
    let nodes = workflow.nodes().map(|(id, node)| Node {
        name: node.name.text.to_string(),
        span: (node.name.span.start, node.name.span.end),
        work: compiler.work(id),
    });
    let property = |property: &Property| {
        let value = property.value.as_ref().map(|value| value.as_str().trim().to_owned());
        (property.name.as_str().trim().to_owned(), value)
    };
    let lines = std::iter::once(0)
        .chain(tree.text().match_indices('\n').map(|(at, _)| at as u32 + 1))
        .collect();
    let expectations = compiler.expectations();
    Plan {
        name: compiler
            .template(workflow.name.as_ref().map_or("", |name| name.as_str()), Phase::JobSubmit),
        namespace: workflow.namespace.to_string(),
        dialect: options.dialect,
        nodes: nodes.collect(),
        start: workflow.start().map_or(0, |id| id.0),
        parameters: match has_parameters(&workflow.namespace) {
            true => workflow.parameters.iter().map(property).collect(),
            false => Vec::new(),
        },
        defaults: options.defaults.clone(),
        credentials: workflow
            .credentials
            .iter()
            .map(|credential| Credential {
                name: credential.name.text.to_string(),
                kind: credential.kind.as_ref().map_or(String::new(), |k| k.as_str().to_owned()),
                properties: resolve::properties(&credential.properties),
            })
            .collect(),
        global,
        functions: options.functions.clone(),
        path: options.path.clone(),
        lines,
        expectations,
        names: ankus_lang::plan::Names::default(),
    }
}

struct Compiler<'c> {
    tree: &'c Tree,
    flow: Flow<'c>,
    options: &'c Options,
    global: Option<&'c Global>,
}

impl Compiler<'_> {
    fn template(&self, text: &str, phase: Phase) -> Template {
        Template::compile_with(text, phase, self.options.dialect, &self.options.functions)
    }

    /// The SLA blocks, that of the workflow first.
    fn expectations(&self) -> Vec<Expectation> {
        let of = |node: NodeIndex, sla: &Sla| Expectation {
            node,
            leaves: sla
                .settings
                .iter()
                .map(|(name, text)| {
                    (name.to_string(), self.template(text.as_str(), Phase::WorkflowSla))
                })
                .collect(),
        };
        let whole = self.flow.workflow.sla.as_ref().map(|sla| of(NOWHERE, sla));
        let nodes = self.flow.workflow.nodes();
        let actions = nodes
            .filter_map(|(id, node)| node.action.as_ref()?.sla.as_ref().map(|sla| of(id.0, sla)));
        whole.into_iter().chain(actions).collect()
    }

    fn work(&self, id: crate::ir::workflow::NodeId) -> Work {
        let node = self.flow.workflow.node(id);
        let exits = self.flow.workflow.exits(id);
        let target =
            |exit: &Transition| self.flow.names.target(exit).map_or(NOWHERE, |target| target.0);
        let way = |way: Way| {
            let exit = exits.iter().find(|exit| exit.way == way);
            exit.map_or(NOWHERE, target)
        };
        let all = || exits.iter().map(target).collect();
        match node.shape {
            Shape::Start => Work::Start { to: way(Way::Start) },
            Shape::End => Work::End,
            Shape::Kill => {
                let message = node.message.as_ref().map_or("", |message| message.as_str());
                Work::Kill { message: self.template(message, Phase::Workflow) }
            }
            Shape::Fork => Work::Fork { to: all() },
            Shape::Join => Work::Join { to: way(Way::Join) },
            Shape::Decision => {
                let mut text = Writer::default();
                let element = self.tree.element(node.element);
                if let Some(switch) = element.and_then(|element| element.child("switch")) {
                    text.element(switch, None);
                }
                Work::Decision { text: self.template(&text.out, Phase::Workflow), to: all() }
            }
            Shape::Action => {
                Work::Action(Box::new(self.action(node, way(Way::Ok), way(Way::Error))))
            }
        }
    }

    fn action(&self, node: &crate::ir::workflow::Node, ok: NodeIndex, error: NodeIndex) -> Action {
        let action = node.action.as_deref();
        let body = action.and_then(|action| action.body.as_ref());
        let kind = body.map_or(String::new(), |body| body.kind.to_string());
        let given = Given {
            global: self.global,
            name_node: self.options.name_node.as_deref(),
            resource_manager: self.options.resource_manager.as_deref(),
            configured_types: &self.options.configured_types,
        };
        let settings = resolve::action(body, given);
        let mut text = Writer::default();
        let element = body.and_then(|body| self.tree.element(body.element));
        if let Some(element) = element {
            text.element(element, settings.as_ref());
        }
        let cut = text.split.unwrap_or(text.out.len());
        let (head, tail) = text.out.split_at(cut);
        let merges = settings.is_some();
        let configuration = settings.map(|settings| {
            let compiled = settings.configuration.iter().map(|(name, value)| {
                (name.clone(), self.template(&escape_text(value.trim()), Phase::Workflow))
            });
            compiled.collect()
        });
        let attribute = |scalar: Option<&crate::ir::Scalar>| {
            scalar.map(|scalar| self.template(scalar.as_str(), Phase::JobSubmit))
        };
        Action {
            head: self.template(head, Phase::Workflow),
            configuration,
            tail: self.template(tail, Phase::Workflow),
            takes_defaults: merges && kind != "sub-workflow",
            ok,
            error,
            retry_max: attribute(action.and_then(|action| action.retry_max.as_deref())),
            retry_interval: attribute(action.and_then(|action| action.retry_interval.as_deref())),
            retry_policy: attribute(action.and_then(|action| action.retry_policy.as_deref())),
            cred: action.and_then(|action| action.cred.as_deref()).map(|c| c.as_str().to_owned()),
            kind,
        }
    }
}

/// Escapes a text for the content of an element.
fn escape_text(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

/// Writes elements as the server stores them: without comments and without whitespace around texts.
#[derive(Default)]
struct Writer {
    out: String,
    split: Option<usize>,
}

enum Todo<'t> {
    Child(Child<'t>),
    Open(Element<'t>),
    Close(&'t str, bool),
}

impl Writer {
    /// Writes an element. With `settings`, the settings they add are inserted, and the configuration is replaced by a
    /// mark.
    fn element(&mut self, top: Element<'_>, settings: Option<&Settings>) {
        let mut todo = vec![(Todo::Open(top), String::new())];
        let top_id = top.id();
        let mut job_xml = settings.map(|settings| &settings.job_xml);
        while let Some((next, namespace)) = todo.pop() {
            match next {
                Todo::Close(name, last) => {
                    if last {
                        self.job_xml(job_xml.take());
                        if let Some(name_node) = settings.and_then(|s| s.name_node.as_ref()) {
                            self.leaf("name-node", name_node);
                        }
                        if let Some((tag, manager)) =
                            settings.and_then(|settings| settings.resource_manager.as_ref())
                        {
                            self.leaf(tag, manager);
                        }
                        self.split = self.split.or(Some(self.out.len()));
                    }
                    self.out.push_str("</");
                    self.out.push_str(name);
                    self.out.push('>');
                }
                Todo::Child(child) => self.text(child),
                Todo::Open(element) => {
                    let inside = element.parent().is_some_and(|parent| parent.id() == top_id);
                    if inside && settings.is_some() && element.name() == "configuration" {
                        self.split = self.split.or(Some(self.out.len()));
                        continue;
                    }
                    if inside && element.name() == "job-xml" {
                        self.job_xml(job_xml.take());
                    }
                    self.open(element, &namespace);
                    let own = element.namespace().to_owned();
                    todo.push((Todo::Close(element.name(), element.id() == top_id), String::new()));
                    let children: Vec<Child<'_>> = element.children().collect();
                    for child in children.into_iter().rev() {
                        let next = match child.element() {
                            Some(element) => Todo::Open(element),
                            None => Todo::Child(child),
                        };
                        todo.push((next, own.clone()));
                    }
                }
            }
        }
    }

    fn job_xml(&mut self, files: Option<&Vec<String>>) {
        for file in files.into_iter().flatten() {
            self.leaf("job-xml", file);
        }
    }

    fn leaf(&mut self, name: &str, text: &str) {
        self.out.push_str(&format!("<{name}>{}</{name}>", escape_text(text)));
    }

    fn open(&mut self, element: Element<'_>, namespace: &str) {
        self.out.push('<');
        self.out.push_str(element.name());
        if element.namespace() != namespace {
            self.out.push_str(&format!(" xmlns=\"{}\"", escape_text(element.namespace())));
        }
        for attribute in element.attributes() {
            if attribute.declares().is_some() || attribute.prefix().is_some() {
                continue;
            }
            let value = attribute.value().text;
            let value = escape_text(&value).replace('"', "&quot;");
            self.out.push_str(&format!(" {}=\"{value}\"", attribute.name()));
        }
        self.out.push('>');
    }

    fn text(&mut self, child: Child<'_>) {
        let blank = |c: char| c <= ' ';
        match child.kind() {
            NodeKind::Text => {
                let decoded = child.decoded();
                self.out.push_str(&escape_text(decoded.text.trim_matches(blank)));
            }
            NodeKind::CData => {
                let text = child.raw().trim_matches(blank);
                self.out.push_str(&format!("<![CDATA[{text}]]>"));
            }
            NodeKind::Element | NodeKind::Comment | NodeKind::Instruction => {}
        }
    }
}
