//! Cases with a constant predicate.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Element;
use ankus_lang::el::{Dialect, Phase, Scope, Template, Value};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "decision-constant",
        group: Group::Graph,
        summary: "a decision case that always or never matches",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/decision-constant.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for decision in facts.nodes(&["decision"]) {
        for case in cases(decision) {
            let Some(value) = constant(facts, case) else { continue };
            let message =
                if value { "this case always matches" } else { "this case never matches" };
            let text = case.text().trimmed();
            let span = if text.text.is_empty() { case.name_span() } else { text.span() };
            let finding = Diagnostic::new(&RULE.kind, span, message)
                .help("compare with a value that can differ between runs, or remove the decision");
            // A function call with only constant arguments is deliberate.
            let dummy = text.text.contains("${") && text.text.contains('(');
            out.push(if dummy { finding.at_most(Level::Info) } else { finding });
        }
    }
}

/// Returns the cases of a decision.
pub(super) fn cases<'a>(decision: Element<'a>) -> impl Iterator<Item = Element<'a>> {
    let switches = decision.elements().filter(|child| child.is("switch"));
    switches.flat_map(Element::elements).filter(|child| child.is("case"))
}

/// Returns the value of a predicate, if it is the same for all properties of the job.
pub(super) fn constant(facts: &Facts<'_>, case: Element<'_>) -> Option<bool> {
    let text = case.text();
    let dialect = Dialect::of_target(facts.settings.target.name());
    let template = Template::compile(text.text.trim(), Phase::Workflow, dialect);
    if !template.errors().is_empty() {
        return None;
    }
    let value = template.text(&Nothing).ok()?;
    Some(value == "true")
}

/// A scope in which nothing is defined.
struct Nothing;

impl Scope for Nothing {
    fn variable(&self, _: &str) -> Option<Value<'_>> {
        None
    }
}
