//! Failures after which the job succeeds.

use super::kill_after_success::is_to_fail;
use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::ir::workflow::{Shape, Way};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "failure-reported-as-success",
        group: Group::Graph,
        summary: "the job ends SUCCEEDED although an action failed",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/failure-reported-as-success.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(flow) = facts.flow() else { return };
    let mut kills = flow.workflow.nodes().filter(|(_, node)| node.shape == Shape::Kill);
    let only_kill = kills.next().filter(|_| kills.next().is_none());
    let (to_kill, to_end) = (flow.leading_to(Shape::Kill), flow.leading_to(Shape::End));
    let is_aside = |node| facts.action(node).is_some_and(|action| action.is_aside());
    for (id, action) in flow.reachable(Shape::Action) {
        let Some((error, Some(target))) = flow.exit(id, Way::Error) else { continue };
        // This is reported by `error-swallowed`.
        if flow.exit(id, Way::Ok).is_some_and(|(_, ok)| ok == Some(target)) {
            continue;
        }
        if is_to_fail(flow, id) {
            continue;
        }
        // The nodes that handle the failure may fail as well; what matters is where the job ends if they do not.
        if to_kill[target.index()] || !to_end[target.index()] {
            continue;
        }
        // Another action in its place may make up for the failure; an email does not.
        let mends = {
            let mut at = target;
            let mut steps = flow.workflow.nodes.len();
            loop {
                let node = flow.workflow.node(at);
                let next = flow.exit(at, Way::Ok).and_then(|(_, target)| target);
                match (node.shape, next) {
                    (Shape::End, _) => break false,
                    (Shape::Action, Some(next)) if is_aside(node) && steps > 0 => at = next,
                    _ => break true,
                }
                steps -= 1;
            }
        };
        let quiet = mends || is_aside(action);
        let message = format!("after a failure of `{}` the job ends SUCCEEDED", action.name.text);
        let span = error.target.span;
        let finding = Diagnostic::new(&RULE.kind, span, message)
            .help("let the path from here end in a `kill` node");
        let finding = if quiet { finding.at_most(Level::Info) } else { finding };
        // If one node handles the failures of several, the fault is in that node.
        let handler = flow.workflow.node(target);
        let finding = match handler.shape {
            Shape::Action => finding.about(handler.name.text.to_string()),
            _ => finding,
        };
        out.push(match only_kill {
            // The intended node is a guess.
            Some((_, kill)) if flow.workflow.node(target).shape == Shape::End => {
                let name = crate::lint::facts::escaped(&kill.name.text);
                finding.fix(Fix::guess(format!("Go to `{}`", kill.name.text), span, name))
            }
            _ => finding,
        });
    }
}
