//! Checks forks and joins as runs see them: does each join get its tokens, does no node run twice, does every run end
//! well?
//!
//! Takes a workflow with its [`Names`](super::names::Names) and its [`Reach`](super::reach::Reach), and returns a
//! finding for each fault in which some run ends, with that run as its witness: it was simulated, and it ended there.
//! A fault that needs no failing action is an error, one that needs one is a warning, one that needs several (in a
//! handler shared by the paths of a fork) is an info. Whether the server accepts the definition is not considered
//! here; it accepts many that fail, and refuses some that cannot.
//!
//! `docs/graph-analysis.md` describes the method and why it is sound.

pub mod exhaust;
pub mod game;
pub(crate) mod order;
pub(crate) mod solve;

use crate::diag::{Diagnostic, Group, Kind, Level, Move, Witness};
use crate::ir::workflow::{NodeId, Shape, Transition, Way, Workflow};
use crate::passes::flow::Flow;
use game::{Fault, Graph, Role, Step};
use solve::Found;

macro_rules! kinds {
    ($($name:ident $word:literal $level:ident $codes:expr, $summary:literal;)*) => {
        $(
            #[doc = concat!("`", $word, "`: ", $summary, ".")]
            pub static $name: Kind = Kind {
                name: $word,
                group: Group::Graph,
                summary: $summary,
                level: Level::$level,
                since: "0.1.0",
                oozie: $codes,
                fix: None,
                page: include_str!(concat!("../../docs/rules/", $word, ".md")),
            };
        )*

        /// The kinds of findings that this pass reports.
        pub static KINDS: &[&Kind] = &[$(&$name),*];
    };
}

kinds! {
    ENTERED_TWICE "entered-twice" Error &["E0709"], "a run enters a node a second time";
    ENTERED_TWICE_AFTER_FAILURE "entered-twice-after-failure" Warning &["E0709"], "a run in which an action fails enters a node a second time";
    ENTERED_TWICE_AFTER_FAILURES "entered-twice-after-failures" Info &["E0709"], "a run in which several actions fail enters a node a second time";
    JOIN_OUTSIDE_FORK "join-outside-fork" Error &["E0720"], "a run reaches a join without having passed a fork";
    JOIN_OUTSIDE_FORK_AFTER_FAILURE "join-outside-fork-after-failure" Warning &["E0720"], "a run in which an action fails reaches a join without having passed a fork";
    JOIN_OUTSIDE_FORK_AFTER_FAILURES "join-outside-fork-after-failures" Info &["E0720"], "a run in which several actions fail reaches a join without having passed a fork";
    CUT_OFF "cut-off" Error &[], "a run ends while paths of a fork are still running";
    CUT_OFF_AFTER_FAILURE "cut-off-after-failure" Warning &[], "a run in which an action fails ends while paths of a fork are still running";
    CUT_OFF_AFTER_FAILURES "cut-off-after-failures" Info &[], "a run in which several actions fail ends while paths of a fork are still running";
    JOINS_RACE "joins-race" Error &[], "paths of one fork reach different joins, and the slowest one decides";
    JOINS_RACE_AFTER_FAILURE "joins-race-after-failure" Warning &[], "when an action fails, paths of one fork reach different joins";
    JOINS_RACE_AFTER_FAILURES "joins-race-after-failures" Info &[], "when several actions fail, paths of one fork reach different joins";
    HANGS "hangs" Error &[], "a run waits forever at a join";
    HANGS_AFTER_FAILURE "hangs-after-failure" Warning &[], "a run in which an action fails waits forever at a join";
    HANGS_AFTER_FAILURES "hangs-after-failures" Info &[], "a run in which several actions fail waits forever at a join";
    GRAPH_UNDECIDED "graph-undecided" Info &[], "the graph is too complex to be analyzed completely";
}

/// Maximum number of branches of a path named in a witness; of a deeper path, the innermost ones.
const MOST_BRANCHES: usize = 50;

/// Checks the graph of a workflow.
pub fn judge(flow: Flow<'_>) -> Vec<Diagnostic> {
    let Flow { workflow, reach, .. } = flow;
    let structured = |(id, node): (NodeId, &crate::ir::workflow::Node)| {
        reach.is_reachable(id) && matches!(node.shape, Shape::Fork | Shape::Join)
    };
    if !workflow.nodes().any(structured) {
        return Vec::new();
    }
    let graph = flow.game();
    let solution = solve::solve(graph);
    let mut findings: Vec<Diagnostic> =
        solution.faults.iter().map(|found| finding(workflow, graph, found)).collect();
    if solution.undecided {
        let message = "the graph is too complex to be analyzed completely";
        let help = "every reported fault was simulated and is certain; there may be more";
        findings.push(Diagnostic::new(&GRAPH_UNDECIDED, workflow.span, message).help(help));
    }
    if solution.unplayed > 0 {
        let message =
            format!("{} more faults of forks and joins may exist here", solution.unplayed);
        let help = "every reported fault was simulated and is certain; fix those first";
        findings.push(Diagnostic::new(&GRAPH_UNDECIDED, workflow.span, message).help(help));
    }
    findings.sort_by_key(|finding| finding.span);
    findings
}

fn finding(workflow: &Workflow, graph: &Graph, found: &Found<'_>) -> Diagnostic {
    let name = |node: u32| workflow.node(NodeId(node)).name.text.clone();
    let moves: Vec<(&Step, &Transition)> = found
        .play
        .steps
        .iter()
        .map(|step| {
            let exit = graph.exits(step.from)[step.exit as usize];
            (step, &workflow.transitions[exit.transition.index()])
        })
        .collect();
    let contradiction = contradiction(workflow, graph, &moves);

    let kinds: [&'static Kind; 3] = match found.fault {
        Fault::Double => {
            [&ENTERED_TWICE, &ENTERED_TWICE_AFTER_FAILURE, &ENTERED_TWICE_AFTER_FAILURES]
        }
        Fault::Orphan => [
            &JOIN_OUTSIDE_FORK,
            &JOIN_OUTSIDE_FORK_AFTER_FAILURE,
            &JOIN_OUTSIDE_FORK_AFTER_FAILURES,
        ],
        Fault::CutOff => [&CUT_OFF, &CUT_OFF_AFTER_FAILURE, &CUT_OFF_AFTER_FAILURES],
        Fault::Race => [&JOINS_RACE, &JOINS_RACE_AFTER_FAILURE, &JOINS_RACE_AFTER_FAILURES],
        Fault::Hang => [&HANGS, &HANGS_AFTER_FAILURE, &HANGS_AFTER_FAILURES],
    };
    let weight = if found.price == 0 && contradiction.is_some() { 1 } else { found.price.min(2) };
    let kind = kinds[weight as usize];

    let node = name(found.node);
    let message = message(workflow, graph, found);
    let span = workflow.node(NodeId(found.node)).name.span;
    let mut finding = Diagnostic::new(kind, span, message);
    if matches!(found.fault, Fault::CutOff | Fault::Race) {
        // The fault does not fail the job.
        finding = finding.at_most(Level::Warning);
    }
    if contradiction.is_some() {
        finding = finding.at_most(Level::Info).likely();
    }

    // Only the choices that lead there; the steps without a choice are in the witness.
    let mut number = 0;
    for (step, transition) in &moves {
        let from = name(step.from);
        let words = match transition.way {
            Way::Error => format!("`{from}` fails"),
            Way::Case => format!("`{from}` takes this case"),
            Way::Default => format!("`{from}` takes its default"),
            Way::Path if Some(step.from) == found.fork => format!("a path of `{from}`"),
            _ => continue,
        };
        number += 1;
        if number <= 12 {
            finding = finding.note(transition.target.span, format!("{number}. {words}"));
        }
    }
    if let Some((first, second)) = contradiction {
        let help = format!(
            "this happens only if the decisions `{}` and `{}`, which have the same condition, differ",
            name(first),
            name(second)
        );
        finding = finding.help(help);
    } else {
        finding = finding.help(match found.fault {
            Fault::Double if found.price > 0 => {
                "send failures to a kill node, or give each path its own handler"
            }
            Fault::Double => "let the paths meet in their join, and continue from there",
            Fault::Orphan => "go to the node after the join",
            Fault::CutOff => {
                "go to the join of the fork, or to a kill node if everything should stop"
            }
            Fault::Race => "let all paths of the fork end in one join",
            Fault::Hang => "name each node once: a path is identified by the node it starts with",
        });
    }
    let run = moves.iter().map(|(step, transition)| moved(workflow, found, step, transition));
    let (fault, node, failures) = (found.fault.name(), node.to_string(), found.price);
    finding.witness(Witness { fault, node, failures, run: run.collect() })
}

/// The message: when it happens, what happens, and with which consequence.
fn message(workflow: &Workflow, graph: &Graph, found: &Found<'_>) -> String {
    let name = |node: u32| workflow.node(NodeId(node)).name.text.clone();
    let node = name(found.node);
    let fork = found.fork.map(name).unwrap_or_default();
    let failures = match found.price {
        0 => String::new(),
        1 => "when 1 action fails, ".to_owned(),
        price => format!("when {price} actions fail, "),
    };
    let what = match found.fault {
        Fault::Double if graph.role(found.node) == Role::Join => {
            format!("the join `{node}` is completed twice, on two paths of the fork `{fork}`")
        }
        Fault::Double => format!("`{node}` is entered twice, on two paths of the fork `{fork}`"),
        Fault::Orphan => format!("the join `{node}` is reached outside any fork"),
        Fault::CutOff => format!("`{node}` ends the run on a path of the fork `{fork}`"),
        Fault::Race => match other_join(graph, found) {
            Some(other) => format!(
                "paths of the fork `{fork}` arrive at two joins, `{}` and `{node}`",
                name(other)
            ),
            None => format!("paths of the fork `{fork}` arrive at `{node}` and at another join"),
        },
        Fault::Hang => format!("the join of the fork `{node}` waits forever"),
    };
    let then = match found.fault {
        Fault::Double => "; the job fails",
        Fault::Orphan => "; the job fails",
        Fault::CutOff => "; its other paths are killed",
        Fault::Race => "; the slowest decides where the run continues",
        Fault::Hang => ", because two of its paths count as one",
    };
    format!("{failures}{what}{then}")
}

/// A step of the run that demonstrates a fault.
fn moved(workflow: &Workflow, found: &Found<'_>, step: &Step, transition: &Transition) -> Move {
    let name = |node: u32| &*workflow.node(NodeId(node)).name.text;
    let branches = found.play.branches(step.path, MOST_BRANCHES + 1);
    let mut path = "/".to_owned();
    if branches.len() > MOST_BRANCHES {
        path.push_str("…/");
    }
    for node in branches.iter().take(MOST_BRANCHES).rev() {
        path.push_str(name(*node));
        path.push('/');
    }
    let (node, to) = (name(step.from).to_owned(), transition.target.text.to_string());
    Move { node, exit: transition.way.name(), to, path, span: transition.target.span }
}

/// The join at which another path of the fork arrived before the race was detected.
fn other_join(graph: &Graph, found: &Found<'_>) -> Option<u32> {
    let to = |step: &Step| graph.exits(step.from)[step.exit as usize].to;
    let last = found.play.steps.iter().rev().find(|step| to(step) == found.node)?;
    // The token of a path that left the fork immediately is on the path of the fork.
    let home = |step: &Step| match graph.role(step.from) {
        Role::Fork => step.path,
        _ => found.play.parent(step.path),
    };
    let arrived = |step: &&Step| {
        home(step) == home(last) && to(step) != found.node && graph.role(to(step)) == Role::Join
    };
    found.play.steps.iter().find(arrived).map(to)
}

/// Two decisions of a run that test the same condition with different results.
fn contradiction(
    workflow: &Workflow,
    graph: &Graph,
    moves: &[(&Step, &Transition)],
) -> Option<(u32, u32)> {
    let decisions: Vec<&Step> = moves
        .iter()
        .map(|(step, _)| *step)
        .filter(|step| workflow.node(NodeId(step.from)).shape == Shape::Decision)
        .take(200)
        .collect();
    let asks = |node: u32| {
        graph.exits(node).iter().map(|exit| {
            let predicate = &workflow.transitions[exit.transition.index()].predicate;
            predicate.as_ref().map(|predicate| predicate.as_str().to_owned())
        })
    };
    for (index, first) in decisions.iter().enumerate() {
        for second in &decisions[index + 1..] {
            if first.exit != second.exit && asks(first.from).eq(asks(second.from)) {
                return Some((first.from, second.from));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::analysis::Analysis;
    use crate::source::Source;

    #[track_caller]
    fn check(nodes: &str, expected: &[&str]) {
        let text = format!(
            "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>{nodes}<end name='end'/></workflow-app>"
        );
        let analysis = Analysis::new(Source::new("workflow.xml", text).into());
        let found: Vec<_> = super::judge(analysis.flow())
            .iter()
            .map(|finding| {
                let run = finding
                    .witness
                    .as_ref()
                    .map(|w| w.run.iter().map(|m| m.node.as_str()).collect::<Vec<_>>().join(" "));
                format!("{}: {} [{}]", finding.kind.name, finding.message, run.unwrap_or_default())
            })
            .collect();
        assert_eq!(found, expected);
    }

    fn action(name: &str, ok: &str, error: &str) -> String {
        format!("<action name='{name}'><fs/><ok to='{ok}'/><error to='{error}'/></action>")
    }

    const FORK: &str = "<start to='f'/><fork name='f'><path start='a'/><path start='b'/></fork><join name='j' to='end'/><kill name='k'><message>m</message></kill>";

    #[test]
    fn a_fork_with_its_join_is_fine() {
        check(&format!("{FORK}{}{}", action("a", "j", "k"), action("b", "j", "k")), &[]);
    }

    #[test]
    fn each_fault_has_its_run() {
        check(
            &format!("{FORK}{}{}", action("a", "j", "k"), action("b", "end", "k")),
            &[
                "cut-off: `end` ends the run on a path of the fork `f`; its other paths are killed [:start: f f b]",
            ],
        );
        check(
            &format!("{FORK}{}{}", action("a", "j", "end"), action("b", "j", "k")),
            &[
                "cut-off-after-failure: when 1 action fails, `end` ends the run on a path of the fork `f`; its other paths are killed [:start: f f a]",
            ],
        );
        check(
            &format!(
                "{FORK}{}{}{}",
                action("a", "j", "t"),
                action("b", "j", "t"),
                action("t", "k", "k")
            ),
            &[
                "entered-twice-after-failures: when 2 actions fail, `t` is entered twice, on two paths of the fork `f`; the job fails [:start: f f a b]",
            ],
        );
        check(
            &format!(
                "{FORK}<join name='l' to='end'/>{}{}",
                action("a", "j", "k"),
                action("b", "l", "k")
            ),
            &[
                "joins-race: paths of the fork `f` arrive at two joins, `j` and `l`; the slowest decides where the run continues [:start: f f a b]",
            ],
        );
        check(
            "<start to='j'/><join name='j' to='end'/>",
            &[
                "join-outside-fork: the join `j` is reached outside any fork; the job fails [:start:]",
            ],
        );
        check(
            &format!(
                "<start to='f'/><fork name='f'><path start='a'/><path start='j'/><path start='j'/></fork><join name='j' to='end'/>{}",
                action("a", "j", "end")
            ),
            &[
                "hangs: the join of the fork `f` waits forever, because two of its paths count as one [:start:]",
            ],
        );
    }
}
