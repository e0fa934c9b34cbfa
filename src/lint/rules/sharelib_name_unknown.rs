//! Share libraries for unknown action types, or with misspelled names.

use crate::diag::{Diagnostic, Group, Kind, Level, nearest};
use crate::lint::facts::{is_open, job_properties};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use ankus_lang::action_types::cluster_types;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "sharelib-name-unknown",
        group: Group::Parameters,
        summary: "a share library for an unknown action type, or with a misspelled name",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/sharelib-name-unknown.md"),
    },
    check,
};

const KEY: &str = "oozie.action.sharelib.for.";

/// Names that may have libraries of their own, besides the types that run on the cluster.
const OTHERS: [&str; 2] = ["mapreduce-streaming", "email"];

const LIBRARIES: [&str; 9] = [
    "pig",
    "hive",
    "hive2",
    "sqoop",
    "spark",
    "distcp",
    "hcatalog",
    "mapreduce-streaming",
    "oozie",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut found: Vec<(String, Span, String, Span, Option<String>)> = job_properties(facts)
        .iter()
        .filter(|property| property.file.is_some() && property.name.starts_with(KEY))
        .map(|p| (p.name.clone(), p.name_span, p.value.clone(), p.value_span, p.file.clone()))
        .collect();
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            if !property.name.text.starts_with(KEY) {
                continue;
            }
            let Some(value) = property.value.as_ref().map(|value| value.trim()) else { continue };
            let (name, span) = (property.name.text.to_string(), property.name.span());
            found.push((name, span, value.text.to_string(), value.span(), None));
        }
    }
    let types: Vec<&str> = cluster_types().chain(OTHERS).collect();
    for (name, name_span, value, value_span, file) in found {
        let Some(kind) = name.strip_prefix(KEY) else { continue };
        let kind = kind.strip_suffix(".exclude").unwrap_or(kind);
        let site = facts.settings.actions.iter().any(|action| action.name == kind);
        let mut report = |span, message: String, near: Option<&str>| {
            let finding = Diagnostic::new(&RULE.kind, span, message);
            let finding = match near {
                Some(near) => finding.did_you_mean(near),
                None => finding.help(format!("action types are {}", types.join(", "))),
            };
            out.push(match &file {
                Some(file) => finding.in_file(file.clone()),
                None => finding,
            });
        };
        if !types.contains(&kind) && !site && !is_open(kind) {
            report(
                name_span,
                format!("no action is of the type `{kind}`"),
                nearest(kind, types.iter().copied()),
            );
        } else if !name.ends_with(".exclude") {
            for library in value.split(',').map(str::trim) {
                let swapped = LIBRARIES.iter().find(|known| {
                    library.len() == known.len()
                        && crate::diag::within(known, library, 1) == Some(1)
                });
                if let Some(near) =
                    swapped.filter(|_| !LIBRARIES.contains(&library) && !is_open(library))
                {
                    report(
                        value_span,
                        format!("no share library has the name `{library}`"),
                        Some(near),
                    );
                }
            }
        }
    }
}
