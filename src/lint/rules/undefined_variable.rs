//! Variables that nobody defines.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, nearest};
use crate::lint::facts::{given_names, is_given, is_submitted};
use crate::lint::reads::How;
use crate::lint::{Facts, Rule};
use std::collections::BTreeMap;

/// Names that are compared with unknown ones, in all, before nearest names are no longer looked for.
const MOST_COMPARED: usize = 500_000;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "undefined-variable",
        group: Group::Parameters,
        summary: "a variable that no source near the application defines",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0803", "E1004"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/undefined-variable.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // Without the properties of a submission, anything may come from there.
    if !is_submitted(facts) {
        return;
    }
    let names = given_names(facts);
    let mut patience = MOST_COMPARED;
    let mut given: BTreeMap<&str, bool> = BTreeMap::new();
    for read in facts.reads.iter().filter(|read| read.how == How::Variable) {
        let known = *given.entry(&read.name).or_insert_with(|| is_given(facts, &read.name));
        if known {
            continue;
        }
        let message = format!("nothing defines `{}`", read.name);
        let near = nearest(&read.name, names.iter().take(patience).map(String::as_str));
        patience = patience.saturating_sub(names.len());
        let finding = Diagnostic::new(&RULE.kind, read.span, message);
        out.push(match near {
            Some(near) => finding.help(format!("did you mean `{near}`?")).fix(Fix::guess(
                format!("Read `{near}`"),
                read.span,
                near,
            )),
            None => finding.help(format!("add it to `{}`", facts.submission.files.join("`, `"))),
        });
    }
}
