//! Parameters without a value.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::starts;
use crate::lint::{Facts, Rule};
use crate::syntax::properties::Origin;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "parameter-not-supplied",
        group: Group::Parameters,
        summary: "a formal parameter without a default, and no value for it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0738"],
        fix: None,
        page: include_str!("../../../docs/rules/parameter-not-supplied.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // A section in a version that ignores it asks for nothing.
    let all = starts(facts);
    if all.is_empty() || facts.version() == "0.4.5" {
        return;
    }
    let Some((_, parameters)) = facts.parameters() else { return };
    let mut found = Vec::new();
    for parameter in parameters.iter().filter(|parameter| parameter.value.is_none()) {
        let name = parameter.name.text.as_ref();
        let mut lacking = all.iter().filter(|start| start.is_whole && !start.gives(name));
        let beside = facts.submission.values.get(name);
        let default = beside.is_some_and(|bound| !matches!(bound.origin, Origin::File(_)));
        // What a coordinator or parent fails to pass is told of there.
        let Some(first) = lacking.find(|start| start.is_properties) else { continue };
        if name.is_empty() || default {
            continue;
        }
        let message = format!("`{name}` has no default, and the properties do not give it");
        found.push(Diagnostic::new(&RULE.kind, parameter.name.span(), message).help(format!(
            "add it to `{}`, or give it with `-D`",
            first.path.unwrap_or("the properties")
        )));
    }
    // One may be forgotten; several are what whoever starts it gives on the command line.
    let several = found.len() > 1;
    out.extend(found.into_iter().map(|finding| match several {
        true => finding.depends_on("what is given with `-D`"),
        false => finding.likely(),
    }));
}
