//! Parses every expression of a definition, determines its evaluation group, and infers its types.
//!
//! Takes the tree of a definition, its typed workflow if it is one, the known properties, and the files next to it.
//! Returns findings about each text in the group in which the server evaluates it: what a server would refuse, what
//! would fail only when a run gets there, and what has a different value than it seems. Kill messages, SLA blocks,
//! cases of decisions and unreachable nodes are checked like the rest.
//!
//! Whether a variable is defined is checked elsewhere.

mod actions;
mod kinds;
pub mod place;
mod rules;
pub mod types;

use foldhash::HashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

use ankus_lang::configuration::{CONSTANTS, DATE_CONSTANTS};
use ankus_lang::el::functions::{Gives, Takes};
use ankus_lang::el::{Dialect, Phase, Phases, SiteFunction, Template, Value};

use super::flow::Flow;
use crate::budget;
use crate::diag::{Diagnostic, Patience};
use crate::source::Span;
use crate::syntax::xml::{NodeKind, Tree};

pub(crate) use actions::printed_keys;
pub use kinds::KINDS;
use place::Place;
use rules::Examination;
use types::{Known, Type};

/// The input of the pass.
#[derive(Clone, Copy)]
pub struct Input<'i> {
    /// The syntax tree.
    pub tree: &'i Tree,
    /// The control flow, if it is a workflow.
    pub flow: Option<Flow<'i>>,
    /// The EL implementation of the target.
    pub dialect: Dialect,
    /// EL functions of the site.
    pub site: &'i [SiteFunction],
    /// The known properties, as they would be submitted.
    pub properties: &'i BTreeMap<String, String>,
    /// Variables that are provided by something no file shows.
    pub provided: &'i [String],
    /// Whether the file is a template from which a build generates the deployed one.
    pub built: bool,
    /// Returns the text of a file of the application, by its path relative to the folder of the definition.
    pub shipped: &'i dyn Fn(&str) -> Option<Arc<String>>,
}

/// An expression with its location.
#[derive(Clone, Debug)]
struct Expression<'a> {
    place: Place<'a>,
    /// The compiled expression.
    template: Template,
}

/// Checks every expression. Total: it returns a result for every tree.
pub fn examine(input: &Input<'_>) -> Vec<Diagnostic> {
    let declared = input.flow.into_iter().flat_map(|flow| &flow.workflow.parameters);
    let declared = declared.map(|property| property.name.as_str().to_owned()).collect();
    let cdata = input.tree.nodes().filter(|node| node.kind() == NodeKind::CData);
    let cdata = cdata.map(|node| node.span()).collect();
    let patience = Patience::default();
    let facts = Facts { input, site: input.site.to_vec(), declared, cdata, patience };
    let mut out = Vec::new();
    // Only expressions that may refer to another action are kept; keeping all would take too much memory for a long
    // definition.
    let mut asking = Vec::new();
    for place in place::collect(input.tree) {
        if budget::spent_often() {
            return out;
        }
        let text = &place.text.text;
        let template = Template::compile_with(text, place.phase, input.dialect, input.site);
        Examination { place: &place, template: &template, facts: &facts, out: &mut out }.all();
        let calls = memchr::memchr(b':', text.as_bytes()).is_some();
        if calls && (text.contains("wf:") || text.contains("hadoop:")) {
            asking.push(Expression { place, template });
        }
    }
    if let Some(flow) = input.flow {
        actions::check(&asking, flow, input, &facts, &mut out);
    }
    constants(input, &mut out);
    out
}

/// Whether a property with this name is refused at submission.
pub(crate) fn is_reserved(name: &str, workflow: bool) -> bool {
    CONSTANTS.contains(&name) || !workflow && DATE_CONSTANTS.contains(&name)
}

/// The finding for a property with a reserved name.
pub(crate) fn reserved_property(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is a constant of the language; no property may have this name");
    Diagnostic::new(&kinds::CONSTANT_ASSIGNED, span, message)
        .help("give the property another name, here and where it is read")
}

/// Checks the properties that a definition itself submits: the configuration of a coordinator's workflow and of a
/// sub-workflow, and formal parameters.
fn constants(input: &Input<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = input.tree.root() else { return };
    for property in root.descendants().filter(|element| element.is("property")) {
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
        // A coordinator or bundle passes them on to the submission of a workflow or coordinator.
        let workflow = root.name() != "bundle-app" && parent.name() != "parameters"
            || root.name() == "workflow-app";
        if is_reserved(&text.text, workflow) {
            out.push(reserved_property(&text.text, text.span()));
        }
    }
}

/// Facts used while texts are checked.
struct Facts<'f> {
    input: &'f dyn Outside,
    site: Vec<SiteFunction>,
    /// Names of the formal parameters.
    declared: HashSet<String>,
    /// CDATA sections, in source order.
    cdata: Vec<Span>,
    /// Limits the comparison of names with those of functions.
    patience: Patience,
}

/// Maximum length of a value used in evaluation, in bytes: each expression that refers to it copies it.
const LONGEST_VALUE: usize = 16 << 10;

/// The part of [`Input`] that does not depend on the lifetime of the text.
trait Outside {
    fn property(&self, name: &str) -> Option<&str>;
    fn provides(&self, name: &str) -> bool;
    fn is_built(&self) -> bool;
}

impl Outside for Input<'_> {
    fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    fn provides(&self, name: &str) -> bool {
        self.provided.iter().any(|provided| provided == name)
    }

    fn is_built(&self) -> bool {
        self.built
    }
}

impl Facts<'_> {
    /// Whether a variable of this name may be defined.
    fn may_have(&self, name: &str) -> bool {
        self.input.property(name).is_some()
            || self.input.provides(name)
            || self.declared.contains(name)
    }

    /// Whether a name with dots is declared as provided by a build.
    fn declares(&self, name: &str) -> bool {
        self.input.provides(name)
    }

    /// Whether both sides of a hyphen are variables, so that a subtraction is meant.
    fn is_subtraction(&self, name: &str) -> bool {
        self.input.provides(name) || name.split('-').all(|part| self.may_have(part))
    }

    /// Whether a location of the file is in CDATA.
    fn in_cdata(&self, place: Span) -> bool {
        let behind = self.cdata.partition_point(|section| section.start < place.start);
        behind > 0 && place.start < self.cdata[behind - 1].end
    }
}

impl Known for Facts<'_> {
    fn variable(&self, name: &str) -> Option<(Type, Option<Value<'static>>)> {
        let value = self.input.property(name)?;
        // A value with references is not resolved here, and one with markup changes on its way.
        let plain =
            value.len() <= LONGEST_VALUE && !value.contains("${") && !value.contains(['<', '&']);
        let value = plain.then(|| Value::text(value.trim_matches(|c| c <= ' ').to_owned()));
        Some((Type::Text, value))
    }

    fn property(&self, name: &str) -> Option<Option<String>> {
        let value = self.input.property(name)?;
        let plain = value.len() <= LONGEST_VALUE && !value.contains("${");
        plain.then(|| Some(value.to_owned()).filter(|value| !value.is_empty()))
    }
}

/// Converts a function of `ankus.toml` to an entry of the function table.
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
