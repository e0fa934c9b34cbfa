//! Coordinators and bundles, typed, as written.
//!
//! Values are [`Scalar`]s with their spans; missing values are `None`. Nothing is evaluated here.

use super::Scalar;
use crate::source::Span;
use crate::syntax::xml::{Element, Tree};

/// A coordinator.
#[derive(Clone, Debug, Default)]
pub struct Coordinator {
    /// Span of the root's name.
    pub span: Span,
    /// Namespace of the root.
    pub namespace: String,
    /// `@name`.
    pub name: Option<Scalar>,
    /// `@frequency`.
    pub frequency: Option<Scalar>,
    /// `@freq_timeunit`, which the server stores beside the frequency of a submitted job.
    pub unit: Option<Scalar>,
    /// `@start`.
    pub start: Option<Scalar>,
    /// `@end`.
    pub end: Option<Scalar>,
    /// `@timezone`.
    pub timezone: Option<Scalar>,
    /// `timeout`, `concurrency`, `execution`, `throttle`.
    pub controls: Vec<(String, Scalar)>,
    /// `include`.
    pub includes: Vec<Scalar>,
    /// Names of its formal parameters.
    pub parameters: Vec<Scalar>,
    /// Its own datasets.
    pub datasets: Vec<Dataset>,
    /// `data-in`.
    pub inputs: Vec<DataEvent>,
    /// `data-out`.
    pub outputs: Vec<DataEvent>,
    /// Span of the `input-logic`, if there is one.
    pub logic: Option<Span>,
    /// Names of the data-in events that the input logic refers to.
    pub logic_data: Vec<Scalar>,
    /// Names that the input logic defines.
    pub logic_names: Vec<Scalar>,
    /// `app-path` of the workflow.
    pub app_path: Option<Scalar>,
    /// Configuration of the workflow.
    pub configuration: Vec<Property>,
    /// Span of the name of the configuration's tag, if the workflow has a configuration.
    pub configuration_tag: Option<Span>,
    /// The SLA block.
    pub sla: Option<Sla>,
}

/// A dataset.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Span of the whole element.
    pub span: Span,
    /// Span of its tag's name.
    pub tag: Span,
    /// `@name`.
    pub name: Option<Scalar>,
    /// `@frequency`.
    pub frequency: Option<Scalar>,
    /// `@initial-instance`.
    pub initial_instance: Option<Scalar>,
    /// `@timezone`.
    pub timezone: Option<Scalar>,
    /// `uri-template`.
    pub uri_template: Option<Scalar>,
    /// `done-flag`, with the span of its element if it is empty.
    pub done_flag: Option<(Span, Scalar)>,
}

/// A data-in or data-out.
#[derive(Clone, Debug)]
pub struct DataEvent {
    /// Span of its tag's name.
    pub tag: Span,
    /// `@name`.
    pub name: Option<Scalar>,
    /// `@dataset`.
    pub dataset: Option<Scalar>,
    /// `instance`, `start-instance`, `end-instance` in source order, with the spans of their elements.
    pub instances: Vec<(String, Span, Scalar)>,
}

impl DataEvent {
    /// The text of the first element with a name.
    pub fn part(&self, name: &str) -> Option<&Scalar> {
        self.instances.iter().find(|(part, ..)| part == name).map(|(_, _, text)| text)
    }
}

/// A property of a configuration.
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name.
    pub name: Option<Scalar>,
    /// Its value.
    pub value: Option<Scalar>,
}

/// An SLA block.
#[derive(Clone, Debug)]
pub struct Sla {
    /// Span of its tag's name.
    pub tag: Span,
    /// Its namespace.
    pub namespace: String,
    /// Leaf elements in order, as name and text.
    pub leaves: Vec<(String, Scalar)>,
}

/// A bundle.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// Span of the root's name.
    pub span: Span,
    /// `@name`.
    pub name: Option<Scalar>,
    /// `kick-off-time`.
    pub kick_off: Option<Scalar>,
    /// Its coordinators.
    pub members: Vec<Member>,
}

/// A coordinator of a bundle.
#[derive(Clone, Debug)]
pub struct Member {
    /// Span of its tag's name.
    pub tag: Span,
    /// `@name`.
    pub name: Option<Scalar>,
    /// `@enabled`.
    pub enabled: Option<Scalar>,
    /// `app-path`.
    pub app_path: Option<Scalar>,
    /// The properties passed to the coordinator.
    pub configuration: Vec<Property>,
}

fn attribute(element: Element<'_>, name: &str) -> Option<Scalar> {
    element.attribute(name).map(Scalar::of_attribute)
}

fn text(element: Element<'_>, name: &str) -> Option<Scalar> {
    element.child(name).map(Scalar::of_element)
}

fn properties(parent: Option<Element<'_>>) -> Vec<Property> {
    let section = parent.and_then(|parent| parent.child("configuration"));
    let properties = section.into_iter().flat_map(|section| section.elements());
    properties
        .filter(|element| element.is("property"))
        .map(|element| Property { name: text(element, "name"), value: text(element, "value") })
        .collect()
}

fn event(element: Element<'_>) -> DataEvent {
    let instances = element
        .elements()
        .filter(|part| part.name().ends_with("instance"))
        .map(|part| (part.name().to_owned(), part.span(), Scalar::of_element(part)));
    DataEvent {
        tag: element.name_span(),
        name: attribute(element, "name"),
        dataset: attribute(element, "dataset"),
        instances: instances.collect(),
    }
}

/// Lowers a coordinator, however broken.
pub fn coordinator(tree: &Tree) -> Coordinator {
    let Some(root) = tree.root() else { return Coordinator::default() };
    let datasets = root.child("datasets");
    let named = |parent: &'static str, name: &'static str| {
        let parent = root.child(parent).into_iter().flat_map(|parent| parent.elements());
        parent.filter(move |element| element.name() == name).map(event)
    };
    let action = root.child("action");
    let workflow = action.and_then(|action| action.child("workflow"));
    let info = action.and_then(|action| action.elements().find(|child| child.is("info")));
    let logic = root.child("input-logic");
    let parts = || logic.into_iter().flat_map(|logic| logic.descendants());

    Coordinator {
        span: root.name_span(),
        namespace: root.namespace().to_owned(),
        name: attribute(root, "name"),
        frequency: attribute(root, "frequency"),
        unit: attribute(root, "freq_timeunit"),
        start: attribute(root, "start"),
        end: attribute(root, "end"),
        timezone: attribute(root, "timezone"),
        controls: root
            .child("controls")
            .into_iter()
            .flat_map(|controls| controls.elements())
            .map(|element| (element.name().to_owned(), Scalar::of_element(element)))
            .collect(),
        includes: datasets
            .into_iter()
            .flat_map(|section| section.elements())
            .filter(|element| element.is("include"))
            .map(Scalar::of_element)
            .collect(),
        parameters: root
            .child("parameters")
            .into_iter()
            .flat_map(|section| section.elements())
            .filter_map(|property| Some(Scalar::of_element(property.child("name")?)))
            .collect(),
        datasets: datasets.into_iter().flat_map(datasets_of).collect(),
        inputs: named("input-events", "data-in").collect(),
        outputs: named("output-events", "data-out").collect(),
        logic: logic.map(|logic| logic.name_span()),
        logic_data: parts().filter_map(|part| attribute(part, "dataset")).collect(),
        logic_names: parts().filter_map(|part| attribute(part, "name")).collect(),
        app_path: workflow.and_then(|workflow| text(workflow, "app-path")),
        configuration: properties(workflow),
        configuration_tag: workflow
            .and_then(|workflow| workflow.child("configuration"))
            .map(|configuration| configuration.name_span()),
        sla: info.map(|info| Sla {
            tag: info.name_span(),
            namespace: info.namespace().to_owned(),
            leaves: info
                .elements()
                .map(|leaf| (leaf.name().to_owned(), Scalar::of_element(leaf)))
                .collect(),
        }),
    }
}

/// The child datasets of a `datasets` element.
pub fn datasets_of(section: Element<'_>) -> Vec<Dataset> {
    let elements = section.elements().filter(|element| element.is("dataset"));
    elements
        .map(|element| Dataset {
            span: element.span(),
            tag: element.name_span(),
            name: attribute(element, "name"),
            frequency: attribute(element, "frequency"),
            initial_instance: attribute(element, "initial-instance"),
            timezone: attribute(element, "timezone"),
            uri_template: text(element, "uri-template"),
            done_flag: element
                .child("done-flag")
                .map(|flag| (flag.span(), Scalar::of_element(flag))),
        })
        .collect()
}

/// Lowers a bundle, however broken.
pub fn bundle(tree: &Tree) -> Bundle {
    let Some(root) = tree.root() else { return Bundle::default() };
    let members = root.elements().filter(|element| element.is("coordinator"));
    Bundle {
        span: root.name_span(),
        name: attribute(root, "name"),
        kick_off: root.child("controls").and_then(|controls| text(controls, "kick-off-time")),
        members: members
            .map(|element| Member {
                tag: element.name_span(),
                name: attribute(element, "name"),
                enabled: attribute(element, "enabled"),
                app_path: text(element, "app-path"),
                configuration: properties(Some(element)),
            })
            .collect(),
    }
}
