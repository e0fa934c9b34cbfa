//! Uninformative kill messages.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{masked, transitions};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "kill-message-uninformative",
        group: Group::Style,
        summary: "a kill message without the error",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/kill-message-uninformative.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let failures: Vec<String> = transitions(facts)
        .iter()
        .filter(|(way, _)| *way == "error")
        .map(|(_, target)| target.value().text.into_owned())
        .collect();
    for kill in facts.nodes(&["kill"]) {
        let Some(message) = kill.child("message") else { continue };
        let name = kill.attribute("name").map(|name| name.value().text.into_owned());
        let text = message.text();
        let says = ["wf:error", "wf:lastErrorNode", "wf:actionData", "wf:actionExternal"];
        // A decision that leads here knows the reason, and the message states it.
        let reached = name.is_some_and(|name| failures.contains(&name));
        if !reached || says.iter().any(|function| text.text.contains(function)) {
            continue;
        }
        let trimmed = text.trimmed();
        // The value of a variable may be informative.
        if trimmed.text.starts_with("${") && masked(&trimmed.text).bytes().all(|byte| byte == b'_')
        {
            continue;
        }
        let finding = "the message says neither what failed nor why";
        let (span, added) = match trimmed.text.is_empty() {
            true => (message.name_span(), None),
            false => (trimmed.span(), Some(crate::source::Span::at(trimmed.span().end as usize))),
        };
        let finding = Diagnostic::new(&RULE.kind, span, finding)
            .help("add `${wf:errorMessage(wf:lastErrorNode())}`");
        out.push(match added {
            Some(at) => finding.fix(Fix::guess(
                "Add the error",
                at,
                " [${wf:errorMessage(wf:lastErrorNode())}]",
            )),
            None => finding,
        });
    }
}
