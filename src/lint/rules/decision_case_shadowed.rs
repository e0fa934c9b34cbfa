//! Cases that are never evaluated.

use super::decision_constant::{cases, constant};
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Element;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "decision-case-shadowed",
        group: Group::Graph,
        summary: "a case after another case that always matches first",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/decision-case-shadowed.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for decision in facts.nodes(&["decision"]) {
        let mut before: HashMap<String, Element<'_>> = HashMap::new();
        let mut always: Option<Element<'_>> = None;
        for case in cases(decision) {
            let text = case.text().trimmed();
            let span = if text.text.is_empty() { case.name_span() } else { text.span() };
            let same = before.get(text.text.as_ref());
            let (message, other, words) = match (always, same) {
                (Some(always), _) => {
                    ("this case is never evaluated", always, "this case always matches")
                }
                (None, Some(same)) => (
                    "this case never matches: an earlier case has the same predicate",
                    *same,
                    "the earlier case",
                ),
                (None, None) => {
                    if constant(facts, case) == Some(true) {
                        always = Some(case);
                    }
                    before.insert(text.text.into_owned(), case);
                    continue;
                }
            };
            let finding = Diagnostic::new(&RULE.kind, span, message).note(other.name_span(), words);
            out.push(finding.fix(Fix::guess("Remove the case", facts.removal(case.span()), "")));
        }
    }
}
