//! All checks of expressions, in a definition of any kind and in properties.

use super::Input;
use crate::diag::Diagnostic;
use crate::files;
use crate::passes::expressions::{self, site_function};
use crate::passes::flow::Flow;
use crate::syntax::properties::{self, Origin};
use crate::syntax::xml::Tree;
use ankus_lang::el::{Dialect, SiteFunction};
use std::collections::BTreeMap;

/// Checks the expressions of a definition.
pub(super) fn ask(input: &Input<'_>, tree: &Tree, flow: Option<Flow<'_>>) -> Vec<Diagnostic> {
    let (filled, given): (Vec<_>, Vec<_>) =
        input.submission.iter().partition(|(name, value)| properties::is_filled_in(name, value));
    let mut properties: BTreeMap<String, String> =
        given.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut provided = input.settings.server.variables.clone();
    provided.extend(filled.into_iter().map(|(name, _)| name.to_owned()));
    properties.entry("user.name".to_owned()).or_insert_with(|| input.user.to_owned());
    let folder = files::folder_of(&input.source.path);
    let shipped = |path: &str| {
        let path = files::join(folder, path)?;
        Some(input.files.text(&path)?.text.clone())
    };
    let site: Vec<SiteFunction> = input.settings.functions.iter().map(site_function).collect();
    let found = expressions::examine(&expressions::Input {
        tree,
        flow,
        dialect: Dialect::of_target(input.settings.target.name()),
        site: &site,
        properties: &properties,
        provided: &provided,
        built: input.source.path.contains("src/main/"),
        shipped: &shipped,
    });
    found.into_iter().map(|found| at_value(input, found)).collect()
}

/// Moves a finding about an argument to the line of properties that sets it, if the argument is a single variable.
fn at_value(input: &Input<'_>, found: Diagnostic) -> Diagnostic {
    let of_value = ["el-argument-type", "el-non-positive-period"].contains(&found.kind.name);
    if !of_value || found.file.is_some() {
        return found;
    }
    let bound = input.submission.values.get(input.source.slice(found.span).trim());
    let Some((Origin::File(file), bound)) = bound.map(|bound| (&bound.origin, bound)) else {
        return found;
    };
    let read = found.span;
    let mut moved = found.in_file(file.clone()).note_in(&*input.source.path, read, "read here");
    moved.span = bound.value_span;
    // The fixes are edits of the definition.
    moved.fixes.clear();
    moved
}

/// Checks a properties file: no property may have the name of a constant.
pub(super) fn ask_properties(text: &str) -> Vec<Diagnostic> {
    let entries = properties::parse(text).entries;
    let given = |name: &str| entries.iter().any(|entry| entry.name == name);
    // A workflow has fewer constants; if a coordinator or bundle is submitted, all of them count.
    let workflow =
        !given("oozie.coord.application.path") && !given("oozie.bundle.application.path");
    entries
        .iter()
        .filter(|entry| expressions::is_reserved(&entry.name, workflow))
        .map(|entry| expressions::reserved_property(&entry.name, entry.name_span))
        .collect()
}
