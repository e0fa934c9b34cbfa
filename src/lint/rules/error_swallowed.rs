//! Actions with the same `ok` and `error` transition.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::ir::workflow::{Shape, Way};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "error-swallowed",
        group: Group::Graph,
        summary: "an action continues with the same node whether it succeeds or fails",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/error-swallowed.md"),
    },
    check,
};

/// If a workflow has more than this many, they are one finding.
const HABIT: usize = 3;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let to_end = flow.leading_to(Shape::End);
    let mut found = Vec::new();
    for (id, action) in flow.reachable(Shape::Action) {
        let Some((ok, Some(target))) = flow.exit(id, Way::Ok) else { continue };
        let Some((error, to)) = flow.exit(id, Way::Error) else { continue };
        if to != Some(target) || facts.action(action).is_some_and(|action| action.is_aside()) {
            continue;
        }
        // If only a `kill` node follows, the job has failed already, and this action cleans up or notifies.
        if !to_end[target.index()] {
            continue;
        }
        let (name, target) = (&action.name.text, &flow.workflow.node(target).name.text);
        let message = format!("`{name}` continues with `{target}` whether it succeeds or fails");
        let finding = Diagnostic::new(&RULE.kind, error.target.span, message)
            .note(ok.target.span, "on success it continues here");
        found.push(finding.help("send errors to a `kill` node, or allow this, with the reason why a failure does not matter"));
    }
    // If this is done throughout a workflow, it is deliberate.
    let habit = found.len() > HABIT;
    out.extend(found.into_iter().map(|finding| match habit {
        true => finding.about("all").at_most(Level::Info),
        false => finding,
    }));
}
