//! Failures that end in success.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::graph::{Graph, is_aside};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "failure-reported-as-success",
        group: Group::Graph,
        summary: "an action fails, and the job ends SUCCEEDED all the same",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/failure-reported-as-success.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    let mut kills = graph.nodes.iter().filter(|node| node.kind == "kill");
    let only_kill = kills.next().filter(|_| kills.next().is_none());
    let (to_kill, to_end) = (graph.leading_to("kill"), graph.leading_to("end"));
    for action in graph.actions() {
        let Some(error) = action.way("error") else { continue };
        let Some(target) = error.target else { continue };
        // That is a finding of its own.
        if action.way("ok").is_some_and(|ok| ok.target == Some(target)) {
            continue;
        }
        // Whoever handles the failure may fail as well; what counts is where it ends if they do not.
        if to_kill[target] || !to_end[target] {
            continue;
        }
        // Something else that is done in its stead may well have made up for it; mail has not.
        let mends = {
            let mut at = target;
            let mut steps = graph.nodes.len();
            loop {
                let node = &graph.nodes[at];
                let body = node.action.and_then(|at| facts.actions.get(at as usize));
                let next = node.way("ok").and_then(|ok| ok.target);
                match (node.kind, next) {
                    ("end", _) => break false,
                    ("action", Some(next)) if body.is_some_and(is_aside) && steps > 0 => at = next,
                    _ => break true,
                }
                steps -= 1;
            }
        };
        let aside = action.action.and_then(|at| facts.actions.get(at as usize));
        let quiet = mends || aside.is_some_and(is_aside);
        let message = format!("after a failure of `{}` the job ends SUCCEEDED", action.name);
        let span = error.to.value_span();
        let finding = Diagnostic::new(&RULE.kind, span, message)
            .help("end the way from here in a `kill` node");
        let finding = if quiet { finding.at_most(Level::Info) } else { finding };
        out.push(match only_kill {
            // Which node was meant is a guess.
            Some(kill) if graph.nodes[target].kind == "end" => {
                let name = crate::lint::facts::escaped(&kill.name);
                finding.fix(Fix::guess(format!("Go to `{}`", kill.name), span, name))
            }
            _ => finding,
        });
    }
}
