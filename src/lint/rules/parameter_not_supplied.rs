//! Declared parameters without a value.

use crate::diag::{Diagnostic, Fault, Group, Kind, Level, within};
use crate::lint::facts::{Property, Start, starts};
use crate::lint::forgotten::are_given_later;
use crate::lint::misnamed::misnamed_key;
use crate::lint::{Facts, Rule};
use crate::slips::{differ_in_a_word, is_slip};
use crate::syntax::properties::{self, Origin};
use foldhash::{HashSet, HashSetExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "parameter-not-supplied",
        group: Group::Parameters,
        summary: "a formal parameter without a default and without a value",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0738"],
        fix: None,
        page: include_str!("../../../docs/rules/parameter-not-supplied.md"),
    },
    check,
};

/// Returns the finding about a property of a caller with an unread name that is similar to a declared one.
fn misnamed(
    facts: &Facts<'_>,
    start: &Start<'_>,
    name: &str,
    declared: &[Property<'_>],
) -> Option<Diagnostic> {
    let source = facts.files.text(start.path.filter(|_| start.is_properties)?)?;
    let entries = properties::parse(&source.text).entries;
    let most = if name.len() < 8 { 1 } else { 2 };
    let is_read = |other: &str| {
        let reference = format!("${{{other}}}");
        declared.iter().any(|known| known.name.text == other)
            || facts.reads.iter().any(|read| read.name == other)
            || facts.files.texts().any(|text| text.text.contains(&reference))
    };
    let entry = entries.iter().find(|entry| {
        let near = within(&entry.name, name, most).is_some_and(|distance| distance > 0);
        name.len() > 4
            && near
            && differ_in_a_word(&entry.name, name)
            && is_slip(&entry.name, name, [&source.text, facts.tree.text()])
            && !is_read(&entry.name)
    })?;
    let found = misnamed_key(&RULE.kind, entry.name_span, &entry.name, name).likely();
    Some(found.in_file(source.path.clone()))
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // In a version that ignores the section, no parameter is required.
    let all = starts(facts);
    if all.is_empty() || facts.version() == "0.4.5" {
        return;
    }
    let Some((_, parameters)) = facts.parameters() else { return };
    let (mut found, mut unexplained, mut needed) = (Vec::new(), HashSet::new(), 0);
    for parameter in parameters.iter().filter(|parameter| parameter.value.is_none()) {
        needed += 1;
        let name = parameter.name.text.as_ref();
        let mut lacking = all.iter().filter(|start| start.is_whole && !start.gives(name));
        let beside = facts.submission.values.get(name);
        let default = beside.is_some_and(|bound| !matches!(bound.origin, Origin::File(_)));
        // A parameter that a coordinator or parent does not pass is reported there.
        let Some(first) = lacking.find(|start| !start.is_definition) else { continue };
        if name.is_empty() || default {
            continue;
        }
        if let Some(slip) = misnamed(facts, first, name, parameters) {
            out.push(slip.note_in(facts.path, parameter.name.span(), "it is declared here"));
            continue;
        }
        let message = format!("`{name}` has no default, and no property sets it");
        let finding = Diagnostic::new(&RULE.kind, parameter.name.span(), message);
        let finding = finding.of(Fault::NotPassed).naming([name]);
        let finding = finding.help(format!(
            "add it to `{}`, or set it with `-D`",
            first.path.unwrap_or("the properties")
        ));
        // Another file that sets it shows that it is not given with `-D`.
        let is_explained = all.iter().any(|start| start.gives(name));
        if !is_explained {
            unexplained.insert(name);
        }
        found.push((finding, is_explained));
    }
    let is_later = are_given_later(&unexplained, needed);
    out.extend(found.into_iter().map(|(finding, is_explained)| match is_later && !is_explained {
        true => finding.depends_on("what `-D` sets"),
        false => finding.likely(),
    }));
}
