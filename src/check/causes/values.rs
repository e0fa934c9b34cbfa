//! Findings about a line of properties explain those about its value.

use super::{IsOn, is};
use crate::diag::{Diagnostic, Fault};
use crate::files::Files;
use crate::source::Span;
use std::collections::HashSet;

/// Removes findings about a property's value that follow from the way its line is written.
pub(in crate::check) fn of_values(files: &Files, is_on: IsOn<'_>, found: &mut Vec<Diagnostic>) {
    const LINES: [&str; 3] =
        ["property-comment-in-value", "property-in-quotes", "property-stray-sign"];
    let of_line = |finding: &Diagnostic| LINES.contains(&finding.kind.name);
    let line = |finding: &Diagnostic| -> Option<(String, u32)> {
        let file = finding.file.as_ref()?;
        let source = files.text(file)?;
        Some((file.clone(), source.position(finding.span.start).line))
    };
    // Pairs of rules that report the same fault at the same place; the first says more.
    const SAME: [(&str, &str); 21] = [
        ("hive2-jdbc-url", "malformed-uri"),
        ("el-foreign-placeholder", "variable-without-braces"),
        ("hive2-jdbc-url", "hardcoded-cluster-address"),
        ("malformed-uri", "malformed-resource-manager"),
        ("variable-without-braces", "missing-application-file"),
        ("duplicate-single-element", "element-out-of-order"),
        ("subworkflow-parameters-missing", "configuration-name-malformed"),
        ("workflow-parameters-missing", "configuration-name-malformed"),
        ("misspelt-hadoop-property", "configuration-name-malformed"),
        ("action-overwrites-input", "output-written-twice"),
        ("el-nested-expression", "variable-without-braces"),
        ("malformed-uri", "malformed-name-node"),
        ("application-path-leads-nowhere", "misspelt-path"),
        ("missing-application-file", "misspelt-path"),
        ("misspelt-home-folder", "misspelt-path"),
        ("workflow-not-found", "misspelt-path"),
        ("undefined-variable", "workflow-parameters-missing"),
        ("unresolved-transition", "invalid-node-name"),
        ("property-unresolved-reference", "workflow-parameters-missing"),
        ("property-unresolved-reference", "coordinator-parameters-missing"),
        ("property-unresolved-reference", "undefined-variable"),
    ];
    for (first, second) in SAME {
        let places: Vec<(Option<String>, Span)> = found
            .iter()
            .filter(|finding| is(finding, first) && is_on(finding))
            .map(|finding| (finding.file.clone(), finding.span))
            .collect();
        let near = |finding: &Diagnostic| {
            let span = finding.span;
            let touches = |place: &Span| place.start <= span.end && span.start <= place.end;
            places.iter().any(|(file, place)| *file == finding.file && touches(place))
        };
        if !places.is_empty() {
            found.retain(|finding| !(is(finding, second) && near(finding)));
        }
    }
    // In a coordinator that ends before it starts, no instance is in time.
    if found.iter().any(|finding| is(finding, "start-not-before-end") && is_on(finding)) {
        found.retain(|finding| !is(finding, "initial-instance-after-use"));
    }
    // References to a property whose name is misspelled in its own file look unresolved.
    let misnamed: HashSet<(Option<String>, String)> = found
        .iter()
        .filter(|finding| finding.is(Fault::Misnamed) && is_on(finding))
        .flat_map(|finding| finding.names.iter().map(|name| (finding.file.clone(), name.clone())))
        .collect();
    if !misnamed.is_empty() {
        found.retain(|finding| {
            let key = |name: &String| misnamed.contains(&(finding.file.clone(), name.clone()));
            let is_reference =
                is(finding, "property-unresolved-reference") && !finding.is(Fault::Misnamed);
            !(is_reference && finding.names.iter().any(key))
        });
    }
    // Names that a faulty line contains look missing because of that line.
    let taken: HashSet<String> = found
        .iter()
        .filter(|finding| is(finding, "property-stray-sign") && is_on(finding))
        .filter_map(|finding| finding.subject.clone())
        .collect();
    if !taken.is_empty() {
        found.retain(|finding| {
            of_line(finding) || !finding.names.iter().any(|name| taken.contains(name))
        });
    }
    let told: HashSet<(String, u32)> =
        found.iter().filter(|f| of_line(f) && is_on(f)).filter_map(line).collect();
    if !told.is_empty() {
        found.retain(|f| of_line(f) || line(f).is_none_or(|line| !told.contains(&line)));
    }
    // If a name and its value are run together, the property looks missing.
    const MISSING: [&str; 6] = [
        "coordinator-parameters-missing",
        "undefined-variable",
        "workflow-parameters-missing",
        "subworkflow-parameters-missing",
        "parameter-not-supplied",
        "property-unresolved-reference",
    ];
    let joined: Vec<String> = found
        .iter()
        .filter(|finding| is(finding, "property-without-value") && is_on(finding))
        .filter_map(|finding| {
            let source = files.text(finding.file.as_ref()?)?;
            // Includes the text before the `=` if a blank ends the name.
            let line = source.text.get(finding.span.start as usize..)?;
            let name = line.split(['=', '\n', '\r']).next().unwrap_or_default();
            Some(
                source.slice(finding.span).to_owned()
                    + name.get(finding.span.range().len()..).unwrap_or(""),
            )
        })
        .collect();
    if joined.is_empty() {
        return;
    }
    found.retain(|finding| {
        let name = finding.names.first().filter(|name| !name.is_empty());
        let begins = |name: &str| {
            joined.iter().any(|joined| {
                // The name itself may contain a blank.
                let whole: String = joined.chars().filter(|c| !c.is_whitespace()).collect();
                joined.starts_with(name) || whole.starts_with(name)
            })
        };
        !(MISSING.contains(&finding.kind.name) && name.is_some_and(|name| begins(name)))
    });
}
