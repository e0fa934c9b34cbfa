//! Masters of old versions of Spark.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::sibling;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-master-legacy",
        group: Group::Actions,
        summary: "a master that newer versions of Spark no longer support",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/spark-master-legacy.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        let Some(element) = action.each("master").next() else { continue };
        let text = element.text().trimmed();
        let mode = match text.text.as_ref() {
            "yarn-cluster" => "cluster",
            "yarn-client" => "client",
            _ => continue,
        };
        let message = format!("since Spark 2, this is the master `yarn` with the mode `{mode}`");
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .about(text.text.as_ref())
            .depends_on("the version of Spark: 3 and later refuse it");
        out.push(match action.text("mode") {
            None => {
                let added = sibling(facts, element, &format!("<mode>{mode}</mode>"));
                let at = Span::at(element.span().end as usize);
                finding.fix(Fix::guess("Write master and mode", text.span(), "yarn").and(at, added))
            }
            Some(known) if known.text == mode => {
                finding.fix(Fix::guess("Write `yarn`", text.span(), "yarn"))
            }
            // A mode that contradicts the master is worse than an old one, and has a finding of its own.
            Some(known) if ["client", "cluster"].contains(&known.text.as_ref()) => continue,
            Some(known) => finding.note(known.span(), "the mode here contradicts it"),
        });
    }
}
