//! Collects the places of expressions: every text of a definition that the server evaluates, with its group.
//!
//! Takes the tree of a workflow, coordinator, bundle or file of datasets, however broken, and returns [`Place`]s in
//! source order. It uses the tree rather than the typed definition, because the server also evaluates what the typed
//! definition leaves out.

use std::borrow::Cow;

use ankus_lang::el::Phase;

use crate::source::Span;
use crate::syntax::xml::{Decoded, Element, Tree};

/// The purpose of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The predicate of a decision.
    Predicate,
    /// The message of a kill node.
    Message,
    /// The name of a property.
    PropertyName,
    /// Anything else.
    Value,
}

/// A text that the server evaluates.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The text.
    pub text: Decoded<'a>,
    /// The group in which it is evaluated first.
    pub phase: Phase,
    /// The group in which deferred parts are evaluated again.
    pub later: Option<Phase>,
    /// The purpose of the text.
    pub(crate) role: Role,
    /// The element that contains the text or has the attribute.
    pub element: &'a str,
    /// The attribute, if the text is the value of one.
    pub attribute: Option<&'a str>,
    /// The name of the action, decision or kill node that contains it.
    pub node: Option<Cow<'a, str>>,
    /// Whether the text is evaluated as serialized XML, in which `<`, `>` and `&` are escaped.
    pub serialized: bool,
    /// Whether CDATA sections are lost before evaluation.
    pub(crate) in_configuration: bool,
    /// The name of the property whose value it is.
    pub property: Option<Cow<'a, str>>,
}

impl Place<'_> {
    /// The span of a range of the text in the source.
    pub fn span(&self, start: u32, end: u32) -> Span {
        self.text.source(start as usize..end as usize)
    }
}

/// The context of the texts below an element.
#[derive(Clone, Debug)]
struct Context<'a> {
    phase: Phase,
    later: Option<Phase>,
    serialized: bool,
    in_configuration: bool,
    node: Option<Cow<'a, str>>,
}

/// Every text of a definition that is evaluated and contains an expression.
pub fn collect<'a>(tree: &'a Tree) -> Vec<Place<'a>> {
    let Some(root) = tree.root() else { return Vec::new() };
    let mut collector = Collector { places: Vec::new() };
    match root.name() {
        "workflow-app" => collector.workflow(root),
        "coordinator-app" => collector.coordinator(root),
        "datasets" => collector.datasets(root),
        "bundle-app" => collector.subtree(root, &Context::of(Phase::BundleSubmit)),
        _ => {}
    }
    let mut places = collector.places;
    places.sort_by_key(|place| place.text.span().start);
    places
}

impl<'a> Context<'a> {
    fn of(phase: Phase) -> Context<'a> {
        Context { phase, later: None, serialized: false, in_configuration: false, node: None }
    }

    fn then(mut self, later: Phase) -> Context<'a> {
        self.later = Some(later);
        self
    }

    fn serialized(mut self) -> Context<'a> {
        self.serialized = true;
        self
    }

    fn in_node(mut self, node: Option<Cow<'a, str>>) -> Context<'a> {
        self.node = node;
        self
    }
}

fn is_sla(element: Element<'_>) -> bool {
    element.name() == "info"
        && (element.namespace().starts_with("uri:oozie:sla:") || element.prefix() == Some("sla"))
}

fn name_of<'a>(element: Element<'a>) -> Option<Cow<'a, str>> {
    element.attribute("name").map(|name| name.value().text)
}

struct Collector<'a> {
    places: Vec<Place<'a>>,
}

impl<'a> Collector<'a> {
    fn push(
        &mut self,
        text: Decoded<'a>,
        context: &Context<'a>,
        role: Role,
        element: &'a str,
        attribute: Option<&'a str>,
        property: Option<Cow<'a, str>>,
    ) {
        let bytes = text.text.as_bytes();
        let begins = |at: usize| at > 0 && matches!(bytes[at - 1], b'$' | b'#');
        if role != Role::Predicate && !memchr::memchr_iter(b'{', bytes).any(begins) {
            return;
        }
        self.places.push(Place {
            text,
            phase: context.phase,
            later: context.later,
            role,
            element,
            attribute,
            node: context.node.clone(),
            serialized: context.serialized,
            in_configuration: context.in_configuration,
            property,
        });
    }

    fn attribute(&mut self, element: Element<'a>, name: &str, context: &Context<'a>) {
        if let Some(attribute) = element.attribute(name)
            && attribute.is_quoted()
        {
            let text = attribute.value();
            self.push(text, context, Role::Value, element.name(), Some(attribute.name()), None);
        }
    }

    fn text(&mut self, element: Element<'a>, context: &Context<'a>, role: Role) {
        if role != Role::Predicate && !element.may_hold(b'{') {
            return;
        }
        self.push(element.text().trimmed(), context, role, element.name(), None, None);
    }

    /// Collects all texts and attributes in an element.
    fn subtree(&mut self, top: Element<'a>, context: &Context<'a>) {
        for element in top.descendants() {
            for attribute in element.attributes() {
                let holds = memchr::memchr2(b'{', b'&', attribute.raw().as_bytes()).is_some();
                if holds && attribute.declares().is_none() && attribute.is_quoted() {
                    self.push(
                        attribute.value(),
                        context,
                        Role::Value,
                        element.name(),
                        Some(attribute.name()),
                        None,
                    );
                }
            }
            if !element.may_hold(b'{') {
                continue;
            }
            let mut own = context.clone();
            let mut up = element.parent();
            while let Some(parent) = up.filter(|parent| parent.span().start >= top.span().start) {
                own.in_configuration |= parent.name() == "configuration";
                up = parent.parent();
            }
            let property = (element.name() == "value")
                .then(|| element.parent()?.child("name"))
                .flatten()
                .map(|name| name.text().trimmed().text);
            let is_name = element.name() == "name"
                && element.parent().is_some_and(|parent| parent.name() == "property");
            let role = if is_name { Role::PropertyName } else { Role::Value };
            self.push(element.text().trimmed(), &own, role, element.name(), None, property);
        }
    }

    fn workflow(&mut self, root: Element<'a>) {
        self.attribute(root, "name", &Context::of(Phase::JobSubmit));
        for child in root.elements() {
            match child.name() {
                "action" => self.action(child),
                "decision" => {
                    let context = Context::of(Phase::Workflow).serialized().in_node(name_of(child));
                    for case in child.descendants().filter(|element| element.is("case")) {
                        self.text(case, &context, Role::Predicate);
                    }
                }
                "kill" => {
                    let context = Context::of(Phase::Workflow).in_node(name_of(child));
                    for message in child.elements().filter(|message| message.name() == "message") {
                        self.text(message, &context, Role::Message);
                    }
                }
                "global" => self.subtree(child, &Context::of(Phase::Workflow).serialized()),
                "credentials" => {
                    for property in child.descendants().filter(|element| element.is("property")) {
                        self.subtree(property, &Context::of(Phase::None));
                    }
                }
                "info" if is_sla(child) => {
                    self.subtree(child, &Context::of(Phase::WorkflowSla).serialized());
                }
                _ => {}
            }
        }
    }

    fn action(&mut self, action: Element<'a>) {
        let node = name_of(action);
        for name in ["retry-max", "retry-interval", "retry-policy"] {
            self.attribute(action, name, &Context::of(Phase::JobSubmit));
        }
        for child in action.elements() {
            match child.name() {
                "ok" | "error" => {}
                "info" if is_sla(child) => {
                    let context = Context::of(Phase::WorkflowSla).serialized();
                    self.subtree(child, &context.in_node(node.clone()));
                }
                _ => {
                    let context = Context::of(Phase::Workflow).serialized();
                    self.subtree(child, &context.in_node(node.clone()));
                }
            }
        }
    }

    fn datasets(&mut self, datasets: Element<'a>) {
        let plain = Context::of(Phase::CoordinatorPlain);
        for child in datasets.elements() {
            if child.name() == "include" {
                self.text(child, &plain, Role::Value);
                continue;
            }
            self.attribute(child, "frequency", &Context::of(Phase::CoordinatorFrequency));
            self.attribute(
                child,
                "initial-instance",
                &Context::of(Phase::CoordinatorInitialInstance),
            );
            self.attribute(child, "timezone", &plain);
            for part in child.elements() {
                self.text(part, &plain, Role::Value);
            }
        }
    }

    fn coordinator(&mut self, root: Element<'a>) {
        let plain = Context::of(Phase::CoordinatorPlain);
        let instances = Context::of(Phase::CoordinatorInstances);
        self.attribute(root, "name", &Context::of(Phase::JobSubmit));
        self.attribute(root, "frequency", &Context::of(Phase::CoordinatorFrequency));
        for name in ["start", "end", "timezone"] {
            self.attribute(root, name, &plain);
        }
        for child in root.elements() {
            match child.name() {
                "controls" => {
                    for control in child.elements() {
                        let context = if control.name() == "timeout" {
                            Context::of(Phase::CoordinatorTimeout)
                        } else {
                            plain.clone()
                        };
                        self.text(control, &context, Role::Value);
                    }
                }
                "datasets" => self.datasets(child),
                "input-events" | "output-events" => {
                    for event in child.elements() {
                        self.attribute(event, "dataset", &instances);
                        for instance in event.elements() {
                            let later = if instance.name() == "instance" {
                                Phase::CoordinatorActionCreate
                            } else {
                                Phase::CoordinatorActionCreateRange
                            };
                            self.text(instance, &instances.clone().then(later), Role::Value);
                        }
                    }
                }
                "input-logic" => self.subtree(child, &instances),
                "action" => {
                    for part in child.elements() {
                        if is_sla(part) {
                            let context = Context::of(Phase::CoordinatorSlaSubmit)
                                .then(Phase::CoordinatorSlaCreate)
                                .serialized();
                            self.subtree(part, &context);
                            continue;
                        }
                        for item in part.elements() {
                            match item.name() {
                                "app-path" => self.text(item, &plain, Role::Value),
                                "configuration" => {
                                    let context = Context::of(Phase::CoordinatorData)
                                        .then(Phase::CoordinatorActionStart);
                                    self.subtree(item, &context);
                                }
                                _ => {}
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }
}
