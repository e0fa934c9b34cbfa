//! Map-reduce actions with both streaming and pipes.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "streaming-and-pipes",
        group: Group::Actions,
        summary: "a map-reduce action with both streaming and pipes",
        level: Level::Error,
        since: "0.1.0",
        oozie: &["E0701"],
        fix: None,
        page: include_str!("../../../docs/rules/streaming-and-pipes.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["map-reduce"])) {
        let (Some(streaming), Some(pipes)) =
            (action.body.child("streaming"), action.body.child("pipes"))
        else {
            continue;
        };
        let (first, second) =
            if streaming.span() < pipes.span() { (streaming, pipes) } else { (pipes, streaming) };
        out.push(
            Diagnostic::new(
                &RULE.kind,
                second.name_span(),
                "an action uses streaming or pipes, not both",
            )
            .note(first.name_span(), "this is the other one"),
        );
    }
}
