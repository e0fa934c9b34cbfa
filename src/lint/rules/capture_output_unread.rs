//! Captured output that nobody reads.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "capture-output-unread",
        group: Group::Actions,
        summary: "output is captured and never read",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Safe),
        page: include_str!("../../../docs/rules/capture-output-unread.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let text = facts.tree.text();
    // A name that is computed could be any; a property can carry the expression.
    let calls = text.matches("wf:actionData").count();
    let literal = text.matches("wf:actionData('").count()
        + text.matches("wf:actionData(\"").count()
        + text.matches("wf:actionData(&quot;").count();
    if calls != literal {
        return;
    }
    for action in &facts.actions {
        let Some(element) = action.each("capture-output").next() else { continue };
        let name = action.name();
        let read = ["'", "\"", "&quot;"]
            .iter()
            .any(|quote| text.contains(&format!("wf:actionData({quote}{name}{quote})")));
        if read || name.is_empty() {
            continue;
        }
        let message = format!("nothing reads what `{name}` prints");
        let span = facts.removal(element.span());
        out.push(
            Diagnostic::new(&RULE.kind, element.span(), message)
                .help("without `capture-output` the action cannot fail for output that is too long")
                .fix(Fix::safe("Remove `capture-output`", span, "")),
        );
    }
}
