//! Lists every property that an application reads: where it is read, its default, and its expected form.
//!
//! The result is a [`Parameter`] for each name, sorted. Names that the language defines (`KB`, `YEAR`) and computed
//! names are left out.

use super::Facts;
use super::facts::BUILT_IN;
use super::reads::{self, How};
use crate::source::Span;
use crate::syntax::properties::Origin;
use crate::syntax::xml::{Element, NodeKind};
use std::collections::{BTreeMap, HashSet};

/// The form of a value that the place where it is read requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// `hdfs://host:port`.
    FileSystem,
    /// `host:port` of a resource manager.
    Host,
    /// A path, absolute or with a scheme.
    Path,
    /// A date as `2024-01-31T06:00Z`.
    Time,
    /// The name of a time zone.
    Zone,
    /// A whole number.
    Number,
    /// Anything.
    Text,
}

impl Shape {
    /// Returns the name used in output.
    pub fn name(self) -> &'static str {
        match self {
            Shape::FileSystem => "file system",
            Shape::Host => "host:port",
            Shape::Path => "path",
            Shape::Time => "time",
            Shape::Zone => "time zone",
            Shape::Number => "number",
            Shape::Text => "text",
        }
    }
}

/// A property that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The places where it is read, in source order.
    pub reads: Vec<Span>,
    /// Its default value, and the place that sets it.
    pub default: Option<(String, String)>,
    /// Its value in the properties that were found, and the place that sets it.
    pub given: Option<(String, String)>,
    /// Whether it is required: it is read as a variable and has no default.
    pub is_required: bool,
    /// The narrowest form that its uses require.
    pub shape: Shape,
    /// Its description in the definition.
    pub description: Option<String>,
}

/// Returns all properties that a definition reads.
pub fn parameters(facts: &Facts<'_>) -> Vec<Parameter> {
    let mut found: BTreeMap<String, Parameter> = BTreeMap::new();
    let mut strict: HashSet<String> = HashSet::new();
    let Some(root) = facts.tree.root() else { return Vec::new() };
    for element in root.descendants().filter(|element| element.name() != "description") {
        for (text, shape) in texts(element) {
            let mut reads = Vec::new();
            reads::of_text(&text, &mut reads);
            // Only an expression that is the whole text has the form of the place: `${nameNode}/in` does not make
            // `nameNode` a path.
            let alone = reads.len() == 1
                && text.text.trim().starts_with("${")
                && text.text.trim().find('}') == Some(text.text.trim().len() - 1);
            for (at, read) in reads.iter().enumerate() {
                let name = read.name.as_str();
                if name.is_empty() || BUILT_IN.contains(&name) || read.how == How::Dotted {
                    continue;
                }
                let begins = at == 0 && text.text.trim_start().starts_with("${");
                let shape = match shape {
                    _ if alone => shape,
                    Shape::Path if begins => Shape::FileSystem,
                    _ => Shape::Text,
                };
                if read.how == How::Variable {
                    strict.insert(name.to_owned());
                }
                let entry = found.entry(name.to_owned()).or_insert_with(|| Parameter {
                    name: name.to_owned(),
                    reads: Vec::new(),
                    default: None,
                    given: None,
                    is_required: false,
                    shape,
                    description: None,
                });
                entry.reads.push(read.span);
                entry.shape = entry.shape.min(shape);
            }
        }
    }
    if let Some((list, _)) = facts.parameters() {
        for property in list.elements().filter(|element| element.is("property")) {
            let part =
                |name| property.child(name).map(|part| part.text().trimmed().text.into_owned());
            let Some(parameter) = part("name").and_then(|name| found.get_mut(&name)) else {
                continue;
            };
            parameter.description = part("description").filter(|text| !text.is_empty());
            parameter.default = part("value").map(|value| (value, facts.path.to_owned()));
        }
    }
    for (name, bound) in &facts.submission.values {
        let Some(parameter) = found.get_mut(name) else { continue };
        match &bound.origin {
            Origin::Default(file) => parameter.default = Some((bound.value.clone(), file.clone())),
            Origin::File(file) => parameter.given = Some((bound.value.clone(), file.clone())),
            Origin::Argument => parameter.given = Some((bound.value.clone(), "-D".to_owned())),
            Origin::Assumed => {}
        }
    }
    for parameter in found.values_mut() {
        let provided = parameter.name.starts_with("oozie.") || parameter.name.starts_with("user.");
        parameter.is_required =
            parameter.default.is_none() && !provided && strict.contains(&parameter.name);
    }
    found.into_values().collect()
}

/// Returns the texts of an element and its attributes that contain expressions, with the form that each place requires.
fn texts<'t>(element: Element<'t>) -> Vec<(crate::syntax::xml::Decoded<'t>, Shape)> {
    let mut texts = Vec::new();
    for attribute in element.attributes().filter(|attribute| attribute.raw().contains('{')) {
        texts.push((attribute.value(), asked(attribute.name())));
    }
    for child in element.children() {
        let is_text = matches!(child.kind(), NodeKind::Text | NodeKind::CData);
        if is_text && child.raw().contains('{') {
            texts.push((child.decoded(), asked(element.name())));
        }
    }
    texts
}

/// Returns the form of the value of an element or attribute with this name.
fn asked(name: &str) -> Shape {
    match name {
        "name-node" => Shape::FileSystem,
        "job-tracker" | "resource-manager" => Shape::Host,
        "path" | "source" | "target" | "app-path" | "script" | "jar" | "file" | "archive"
        | "job-xml" | "uri-template" | "destination-uri" | "exec" => Shape::Path,
        "start" | "end" | "initial-instance" | "kick-off-time" | "nominal-time" => Shape::Time,
        "timezone" => Shape::Zone,
        "retry-max" | "retry-interval" | "timeout" | "concurrency" | "throttle" => Shape::Number,
        _ => Shape::Text,
    }
}
