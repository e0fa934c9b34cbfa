//! Files of configuration that cannot be parsed.

use crate::diag::{Diagnostic, Fault, Group, Kind, Level, within};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Language, Rule};
use crate::syntax::properties;
use crate::syntax::xml::{self, Element, Tree};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "job-xml-unreadable",
        group: Group::Parameters,
        summary: "a job-xml file, or the configuration of a job, that is not a Hadoop configuration",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/job-xml-unreadable.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.language == Language::Workflow
        && let Some(source) = facts.config_default()
        && properties::parse_configuration(&source.text).is_err()
    {
        let found = broken(&source.path, &source.text);
        out.extend(found.map(|found| found.of(Fault::NoDefaults)));
    } else if facts.language == Language::Workflow
        && let Some(source) = facts.config_default()
    {
        misspelt(&source.path, &source.text, out);
    }
    // A configuration that submits the definition is read by the client.
    for caller in facts.submission.callers.iter().filter(|caller| !caller.is_definition) {
        if caller.path.ends_with(".xml")
            && let Some(source) = facts.files.text(&caller.path)
            && properties::parse_configuration(&source.text).is_err()
        {
            out.extend(broken(&source.path, &source.text));
        }
    }
    let global = facts.global().into_iter().flat_map(|global| global.elements());
    let own = facts.actions.iter().flat_map(|action| action.body.elements());
    for element in global.chain(own).filter(|element| element.is("job-xml")) {
        let text = element.text().trimmed();
        if is_open(&text.text) || text.text.starts_with('/') || text.text.contains(':') {
            continue;
        }
        let Some(path) = facts.beside(&text.text) else { continue };
        let Some(source) = facts.files.text(&path) else { continue };
        if let Err(problem) = properties::parse_configuration(&source.text) {
            if let Some(broken) = broken(&path, &source.text) {
                out.push(broken.note_in(facts.path, text.span(), "it is named here"));
                continue;
            }
            let message = format!("`{}` is not a Hadoop configuration", text.text);
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .note_in(path, problem.span, problem.message)
                    .help("its root is `configuration`, which contains only `property` elements"),
            );
        }
    }
}

/// Returns the finding about the broken markup of a configuration.
fn broken(path: &str, text: &str) -> Option<Diagnostic> {
    let (_, faults) = Tree::parse_tolerantly(text);
    let fault = faults.into_iter().find(|fault| fault.kind.name == xml::NOT_WELL_FORMED.name)?;
    let message = format!("this is not XML, so nothing is read from it: {}", fault.message);
    Some(Diagnostic::new(&RULE.kind, fault.span, message).in_file(path))
}

/// Reports properties whose name or value is in an element with a slip in its name, which Hadoop ignores.
fn misspelt(path: &str, text: &str, out: &mut Vec<Diagnostic>) {
    let (tree, _) = Tree::parse_tolerantly(text);
    let Some(root) = tree.root() else { return };
    for property in root.descendants().filter(|element| element.is("property")) {
        let lacking = ["name", "value"].into_iter().filter(|part| property.child(part).is_none());
        for part in lacking {
            let is_it = |element: &Element<'_>| within(element.name(), part, 2).is_some();
            let Some(element) = property.elements().find(is_it) else { continue };
            let message = format!("`{}` is not part of a property", element.name());
            out.push(
                Diagnostic::new(&RULE.kind, element.name_span(), message)
                    .did_you_mean(part)
                    .in_file(path),
            );
        }
    }
}
