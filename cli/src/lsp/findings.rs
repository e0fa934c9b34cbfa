//! Converts findings to the protocol.

use super::client::Abilities;
use super::places::uri_of;
use ankus::check::{Finding, Report};
use ankus::diag::{Fault, Level};
use ankus::render;
use ankus::settings::Settings;
use ankus::source::{Source, Span};
use ankus_engine::scenario::Scenario;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag,
    Location, NumberOrString, Range, Uri,
};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// The source of the diagnostics.
const SOURCE: &str = "ankus";
/// Maximum number of related locations of one finding, which may have thousands.
const MOST_RELATED: usize = 100;

/// Rules whose location can be removed without loss.
const UNNECESSARY: &[&str] = &[
    "suppression-unused",
    "unreachable-node",
    "unused-credential",
    "unused-data-in",
    "unused-data-out",
    "unused-dataset",
    "unused-kill",
    "unused-parameter",
    "unused-property",
];
/// Rules about deprecated elements.
const DEPRECATED: &[&str] =
    &["deprecated-hadoop-property", "deprecated-launcher-property", "deprecated-queue-property"];

fn severity(level: Level) -> DiagnosticSeverity {
    match level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Warning => DiagnosticSeverity::WARNING,
        Level::Info => DiagnosticSeverity::INFORMATION,
    }
}

/// Returns the URI of a file by its display path.
pub(super) fn uri_of_shown(shown: &str) -> Option<Uri> {
    uri_of(&ankus_project::absolute(Path::new(shown)).ok()?)
}

/// Converts a finding of a report; also returns the URI of its file.
pub(super) fn diagnostic(
    finding: &Finding,
    report: &Report,
    uri: &Uri,
    can: &Abilities,
) -> Diagnostic {
    let found = &finding.diagnostic;
    let range = |path: &str, span: Span| match report.sources.get(path) {
        Some((source, _)) => can.units.range(source, span),
        // The file could not be read, which is the finding.
        None => Range::default(),
    };
    let related = found.notes.iter().take(MOST_RELATED).filter_map(|note| {
        let (path, uri) = match note.file.as_deref() {
            Some(path) => (path, uri_of_shown(path)?),
            None => (finding.path.as_str(), uri.clone()),
        };
        let location = Location { uri, range: range(path, note.span) };
        Some(DiagnosticRelatedInformation { location, message: note.message.clone() })
    });
    let related: Vec<_> = related.collect();
    let page = render::page(report.pages.as_deref(), found.kind).filter(|_| can.pages);
    let page = page.and_then(|page| Uri::from_str(&page).ok());
    let tag = match found.kind.name {
        // It is not what this place has that is superfluous.
        _ if found.fault == Some(Fault::Passed) => None,
        name if UNNECESSARY.contains(&name) => Some(DiagnosticTag::UNNECESSARY),
        name if DEPRECATED.contains(&name) => Some(DiagnosticTag::DEPRECATED),
        _ => None,
    };
    let message = match &found.help {
        Some(help) => format!("{}\n{help}", found.message),
        None => found.message.clone(),
    };
    Diagnostic {
        range: range(&finding.path, found.span),
        severity: Some(severity(finding.level)),
        code: Some(NumberOrString::String(found.kind.name.to_owned())),
        code_description: page.map(|href| CodeDescription { href }),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: (can.related && !related.is_empty()).then_some(related),
        tags: tag.map(|tag| vec![tag]),
        data: None,
    }
}

fn problem(
    source: &Source,
    span: Span,
    code: &str,
    message: String,
    can: &Abilities,
) -> Diagnostic {
    Diagnostic {
        range: can.units.range(source, span),
        severity: Some(DiagnosticSeverity::ERROR),
        code: Some(NumberOrString::String(code.to_owned())),
        source: Some(SOURCE.to_owned()),
        message,
        ..Diagnostic::default()
    }
}

/// Returns the errors of a settings file.
pub(super) fn of_settings(source: &Arc<Source>, can: &Abilities) -> Vec<Diagnostic> {
    let names: Vec<&str> = ankus::check::kinds().iter().map(|kind| kind.name).collect();
    let problems = Settings::parse(&source.text, &names).err().unwrap_or_default();
    let one = |found: ankus::settings::Problem| {
        let message = match found.help {
            Some(help) => format!("{}\n{help}", found.message),
            None => found.message,
        };
        problem(source, found.span, "settings", message, can)
    };
    problems.into_iter().map(one).collect()
}

/// Returns the errors of a scenario file that are found without running it.
pub(super) fn of_scenario(source: &Arc<Source>, can: &Abilities) -> Vec<Diagnostic> {
    let Err(error) = toml::from_str::<Scenario>(&source.text) else { return Vec::new() };
    let span = error.span().map_or_else(Span::default, |span| Span::new(span.start, span.end));
    vec![problem(source, span, "scenario", error.message().to_owned(), can)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys that a scenario with these lines may continue with, as its parser lists them: the unknown one
    /// comes first.
    fn known(lines: &str) -> Vec<String> {
        let end = if lines.ends_with("{ ") { " }]" } else { "" };
        let text = format!("{lines}nothing-of-this-name = 1{end}");
        let error = toml::from_str::<Scenario>(&text).expect_err("an unknown key");
        let names = error.message().split('`').skip(3).step_by(2);
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    }

    #[test]
    fn scenarios_are_offered_the_keys_that_their_reader_knows() {
        let head = "app = '..'\n";
        for table in [
            "",
            "[actions.a]\n",
            "[types.shell]\n",
            "[[arrivals]]\nfile = 'a'\n",
            "[datasets.a]\n",
            "[workflow]\n",
            "[workflows.a]\n",
            "[[then]]\ndo = 'kill'\n",
            "[expect]\n",
            "[expect.actions.a]\n",
            "[expect.coordinators.a]\n",
            "[actions.a]\nattempts = [{ ",
            "[workflow]\nattempts = [{ ",
        ] {
            let lines = format!("{head}{table}");
            let path = "a.scenario.toml";
            let document = ankus::ide::Document::new(path, lines.as_str());
            let snapshot = ankus::ide::Snapshot::of([document]);
            let offers = snapshot.completion(path, lines.len() as u32);
            let mut offered: Vec<String> = offers.into_iter().map(|offer| offer.label).collect();
            offered.sort();
            assert_eq!(offered, known(&lines), "{table}");
        }
    }

    #[test]
    fn tags_are_of_rules_that_there_are() {
        let kinds = ankus::check::kinds();
        for name in UNNECESSARY.iter().chain(DEPRECATED) {
            assert!(kinds.iter().any(|kind| kind.name == *name), "{name}");
        }
        let tagged = |name: &&str| UNNECESSARY.contains(name) || DEPRECATED.contains(name);
        let named = kinds.iter().map(|kind| kind.name);
        let meant =
            named.filter(|name| name.starts_with("unused-") || name.starts_with("deprecated-"));
        assert_eq!(meant.filter(|name| !tagged(name)).collect::<Vec<_>>(), [""; 0]);
    }
}
