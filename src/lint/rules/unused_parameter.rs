//! Declared parameters that are never read.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::reads::{How, of_plain};
use crate::lint::{Facts, Rule};
use foldhash::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "unused-parameter",
        group: Group::Parameters,
        summary: "a formal parameter that the definition never reads",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/unused-parameter.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some((section, parameters)) = facts.parameters() else { return };
    // A computed name can be any, and a child that gets all properties can read it.
    let hidden = facts.reads.iter().any(|read| read.how == How::Function && read.name.is_empty())
        || facts
            .actions
            .iter()
            .any(|action| action.each("propagate-configuration").next().is_some())
        || facts.language != crate::lint::Language::Workflow;
    if hidden {
        return;
    }
    let in_defaults =
        facts.config_default().map(|source| of_plain(&source.text, 0)).unwrap_or_default();
    let read: HashSet<&str> =
        facts.reads.iter().chain(&in_defaults).map(|read| read.name.as_str()).collect();
    for parameter in parameters {
        let name = parameter.name.text.as_ref();
        // The server itself reads names with dots: `oozie.…`, `mapreduce.…`.
        if name.is_empty() || name.contains('.') || read.contains(name) {
            continue;
        }
        let message = format!("nothing in this workflow reads `{name}`");
        let element = if parameters.len() == 1 { section } else { parameter.element };
        out.push(
            Diagnostic::new(&RULE.kind, parameter.name.span(), message)
                .help("remove it, so that nobody has to supply it")
                .fix(Fix::guess(format!("Remove `{name}`"), facts.removal(element.span()), "")),
        );
    }
}
