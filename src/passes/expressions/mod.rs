//! Reads, places and types every expression of a definition.
//!
//! In: the tree of a definition, its typed workflow where it is one, what is known of properties, and the files beside it.
//! Out: [`Expressions`], each text with the group in which the server evaluates it, and findings: what a server would
//! refuse, what it would stumble over only when a run gets there, and what gives another value than it seems. Kill messages,
//! SLA blocks, cases of decisions and nodes that nothing reaches are read like the rest.
//!
//! Whether a variable is defined at all is asked by others; [`Expressions::variables`] says which are read.

mod actions;
mod kinds;
pub mod place;
mod rules;
pub mod types;

use std::collections::BTreeMap;

use ankus_runtime::el::functions::{Gives, Takes};
use ankus_runtime::el::tree::Op;
use ankus_runtime::el::{Dialect, Phase, Phases, SiteFunction, Template, Value};

use crate::diag::Diagnostic;
use crate::ir::workflow::Workflow;
use crate::source::Span;
use crate::syntax::xml::Tree;

pub use kinds::KINDS;
use place::Place;
use rules::Examination;
use types::{Known, Type};

/// What the pass may know.
#[derive(Clone, Copy)]
pub struct Input<'i, 'a> {
    /// The tree.
    pub tree: &'i Tree<'a>,
    /// The workflow, where it is one.
    pub workflow: Option<&'i Workflow<'a>>,
    /// The library that evaluates.
    pub dialect: Dialect,
    /// Functions of the site.
    pub site: &'i [SiteFunction],
    /// Properties that are known, as they would be submitted.
    pub properties: &'i BTreeMap<String, String>,
    /// Names that something provides which no file shows.
    pub provided: &'i [String],
    /// The text of a file of the application, by its path below the folder of the definition.
    pub shipped: &'i dyn Fn(&str) -> Option<String>,
}

/// An expression with its place.
#[derive(Clone, Debug)]
pub struct Expression<'a> {
    /// Where it stands.
    pub place: Place<'a>,
    /// What it was compiled to.
    pub template: Template,
}

/// A name that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The name.
    pub name: String,
    /// Where it is read.
    pub span: Span,
    /// The group in which it is read.
    pub phase: Phase,
    /// Whether a missing one is no failure: `wf:conf('x')`.
    pub optional: bool,
}

/// All expressions of a definition, in source order.
#[derive(Clone, Debug, Default)]
pub struct Expressions<'a> {
    /// In source order.
    pub all: Vec<Expression<'a>>,
}

impl Expressions<'_> {
    /// Every variable and every property that an expression reads, constants of the language left out.
    pub fn variables(&self) -> Vec<Read> {
        let mut reads = Vec::new();
        for Expression { place, template } in &self.all {
            let nodes = template.nodes();
            let lambda_parameter = |name: &str| {
                nodes.iter().any(|node| {
                    node.op == Op::Parameter && template.span(node.start, node.end) == name
                })
            };
            for (at, node) in nodes.iter().enumerate() {
                match node.op {
                    Op::Variable => {
                        let name = template.span(node.start, node.end);
                        if template.phase().constant(name).is_some() || lambda_parameter(name) {
                            continue;
                        }
                        reads.push(Read {
                            name: name.to_owned(),
                            span: place.span(node.start, node.end),
                            phase: place.phase,
                            optional: false,
                        });
                    }
                    Op::Text(slice) => {
                        let Some(next) = nodes.get(at + 1) else { continue };
                        if matches!(next.op, Op::Call { arguments: 1, .. })
                            && matches!(
                                template.call_name(next).as_ref(),
                                "wf:conf" | "coord:conf" | "bundle:conf"
                            )
                        {
                            reads.push(Read {
                                name: template.slice(slice).to_owned(),
                                span: place.span(node.start + 1, node.end - 1),
                                phase: place.phase,
                                optional: true,
                            });
                        }
                    }
                    _ => {}
                }
            }
        }
        reads
    }
}

/// Reads, places and types every expression. Total: it answers for every tree.
pub fn examine<'a>(input: &Input<'_, 'a>) -> (Expressions<'a>, Vec<Diagnostic>) {
    let all: Vec<Expression<'a>> = place::collect(input.tree)
        .into_iter()
        .map(|place| {
            let template =
                Template::compile_with(&place.text.text, place.phase, input.dialect, input.site);
            Expression { place, template }
        })
        .collect();
    let declared: Vec<String> = input
        .workflow
        .into_iter()
        .flat_map(|workflow| &workflow.parameters)
        .map(|property| property.name.as_str().to_owned())
        .collect();
    let facts = Facts { input, site: input.site.to_vec(), declared };
    let mut out = Vec::new();
    for Expression { place, template } in &all {
        Examination { place, template, facts: &facts, out: &mut out }.all();
    }
    if let Some(workflow) = input.workflow {
        actions::check(&all, workflow, input, &facts, &mut out);
    }
    constants(input, &mut out);
    (Expressions { all }, out)
}

/// Names that no property may have, in workflows and in coordinators and bundles.
pub const RESERVED: [&str; 19] = [
    "KB",
    "MB",
    "GB",
    "TB",
    "PB",
    "RECORDS",
    "MAP_IN",
    "MAP_OUT",
    "REDUCE_IN",
    "REDUCE_OUT",
    "GROUPS",
    "DAYS",
    "HOURS",
    "MINUTES",
    "YEAR",
    "MONTH",
    "DAY",
    "HOUR",
    "MINUTE",
];

/// Whether a property of that name is refused at submission.
pub fn is_reserved(name: &str, workflow: bool) -> bool {
    RESERVED.iter().take(if workflow { 14 } else { 19 }).any(|reserved| *reserved == name)
}

/// The finding for a property with a reserved name.
pub fn reserved_property(name: &str, span: Span) -> Diagnostic {
    let message =
        format!("`{name}` is a constant of the language, and no property may have its name");
    Diagnostic::new(&kinds::CONSTANT_ASSIGNED, span, message)
        .help("give the property another name, here and where it is read")
}

/// Properties that a definition itself submits: the configuration of a coordinator's workflow and of a sub-workflow, and
/// formal parameters.
fn constants(input: &Input<'_, '_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = input.tree.root() else { return };
    for property in root.descendants().filter(|element| element.name() == "property") {
        let Some(parent) = property.parent() else { continue };
        let submits = match parent.name() {
            "parameters" => true,
            "configuration" => parent.parent().is_some_and(|holder| {
                matches!(holder.name(), "workflow" | "sub-workflow")
                    || holder.name() == "coordinator" && root.name() == "bundle-app"
            }),
            _ => false,
        };
        let Some(name) = property.child("name").filter(|_| submits) else { continue };
        let text = name.text().trimmed();
        // What a coordinator or bundle hands on becomes the submission of a workflow or coordinator.
        let workflow = root.name() != "bundle-app" && parent.name() != "parameters"
            || root.name() == "workflow-app";
        if is_reserved(&text.text, workflow) {
            out.push(reserved_property(&text.text, text.span()));
        }
    }
}

/// What is known while texts are examined.
struct Facts<'f> {
    input: &'f dyn Outside,
    site: Vec<SiteFunction>,
    /// Names of formal parameters.
    declared: Vec<String>,
}

/// The part of [`Input`] that does not depend on the life of the text.
trait Outside {
    fn property(&self, name: &str) -> Option<&str>;
    fn provides(&self, name: &str) -> bool;
    fn text(&self) -> &str;
}

impl Outside for Input<'_, '_> {
    fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    fn provides(&self, name: &str) -> bool {
        self.provided.iter().any(|provided| provided == name)
    }

    fn text(&self) -> &str {
        self.tree.text()
    }
}

impl Facts<'_> {
    /// Whether something may define a variable of that name.
    fn may_have(&self, name: &str) -> bool {
        self.input.property(name).is_some()
            || self.input.provides(name)
            || self.declared.iter().any(|declared| declared == name)
    }

    /// Whether a name with dots was declared as provided by a build.
    fn declares(&self, name: &str) -> bool {
        self.input.provides(name)
    }

    /// Whether both sides of a hyphen are variables, so that a subtraction is meant.
    fn is_subtraction(&self, name: &str) -> bool {
        self.input.provides(name) || name.split('-').all(|part| self.may_have(part))
    }

    /// Whether a place of the file lies in CDATA.
    fn in_cdata(&self, place: Span) -> bool {
        let Some(before) = self.input.text().get(..place.start as usize) else { return false };
        match (before.rfind("<![CDATA["), before.rfind("]]>")) {
            (Some(open), Some(close)) => open > close,
            (open, _) => open.is_some(),
        }
    }
}

impl Known for Facts<'_> {
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)> {
        let value = self.input.property(name)?;
        // A value that refers to others is not resolved here, and one with markup is changed on its way.
        let plain = !value.contains("${") && !value.contains(['<', '&']);
        let value = plain.then(|| Value::text(value.trim_matches(|c| c <= ' ').to_owned()));
        Some((Type::Text, value))
    }

    fn property(&self, name: &str) -> Option<Option<String>> {
        let value = self.input.property(name)?;
        (!value.contains("${")).then(|| Some(value.to_owned()).filter(|value| !value.is_empty()))
    }
}

/// The nearest of some names, if it is near enough to be meant.
fn nearest<'n>(word: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (word.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, _)| *distance > 0 && *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// A function of `ankus.toml`, as the table of functions has it.
pub fn site_function(function: &crate::settings::SiteFunction) -> SiteFunction {
    let phases: Vec<Phase> =
        function.phases.iter().filter_map(|name| Phase::from_name(name)).collect();
    SiteFunction {
        name: function.name.clone(),
        parameters: function
            .parameters
            .iter()
            .map(|kind| match kind.as_str() {
                "string" => Takes::Text,
                "number" | "integer" => Takes::Integer,
                "map" => Takes::Map,
                _ => Takes::Anything,
            })
            .collect(),
        gives: match function.result.as_str() {
            "string" => Gives::Text,
            "number" | "integer" => Gives::Integer,
            "boolean" => Gives::Boolean,
            "map" => Gives::Texts,
            _ => Gives::Argument,
        },
        phases: Phases::of(&phases),
        value: function.value.clone(),
    }
}
