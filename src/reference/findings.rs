//! Reports the server's refusals as findings with locations.
//!
//! Takes a lowered workflow and the server's answer; returns every fork/join fault that the server's walk finds, with
//! both locations; what only its parser refuses; and one finding for a refusal that nothing else explains, so that a
//! definition the server refuses always has an error with its code. Nothing here is reported for a definition that the
//! server accepts.

use foldhash::{HashMap, HashMapExt, HashSet};

use super::kinds::*;
use super::walk::{self, Fault, Graph, Method, Node, Shape};
use super::{Answer, Executor, Rules, Target};
use crate::diag::{Diagnostic, Fix, Level};
use crate::ir::workflow::{self as ir, NodeId, Workflow};
use crate::schema::kinds::{
    ACTION_WITHOUT_BODY, DEFINITION_TOO_LONG, INVALID_VALUE, UNSUPPORTED_ACTION_TYPE,
};
use crate::source::{Span, removal};
use crate::syntax::xml::{Element, Tree};

/// All faults of forks and joins. A graph with a cycle has no findings here, and one with unresolved transitions few:
/// what follows those is unknown.
pub fn forks_and_joins(workflow: &Workflow, target: Target) -> Vec<Diagnostic> {
    let has_forks = |node: &ir::Node| matches!(node.shape, ir::Shape::Fork | ir::Shape::Join);
    // Without forks and joins, only 4.3.1 has something to refuse.
    if target != Target::V4_3_1 && !workflow.nodes.iter().any(has_forks) {
        return Vec::new();
    }
    let Some((graph, ids)) = graph(workflow) else { return Vec::new() };
    let Some((reached, whole)) = walk::reach(&graph) else { return Vec::new() };
    let by_name = graph.by_name.iter().map(|(name, at)| (*name, ids[*at as usize])).collect();
    let patience = std::cell::Cell::new(PATIENCE * graph.nodes.len());
    let teller = Teller { workflow, ids: &ids, by_name, target, patience };
    let mut findings: Vec<Diagnostic> = walk::faults(&graph, &reached, Method::of(target))
        .iter()
        // An unresolved transition may have been the one to the join.
        .filter(|(fault, _)| whole || !matches!(fault.code, "E0733"))
        .map(|(fault, joins)| teller.tell(fault, joins))
        .collect();
    let (forks, joins) = reached.counts();
    if forks != joins && whole {
        let count = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let message = format!(
            "{} and {} can be reached; a server requires equal numbers",
            count(forks, "fork"),
            count(joins, "join")
        );
        findings.push(Diagnostic::new(&FORK_JOIN_UNBALANCED, workflow.span, message));
    }
    findings.sort_by_key(|finding| (finding.span, finding.kind.name));
    findings
}

/// The message for a definition of `length` bytes.
pub(crate) fn too_long(length: u64, limit: u64) -> String {
    format!("this definition has {length} bytes; the server accepts {limit}")
}

/// Reports what only the server's parser refuses, after the schemas accepted it: the length of the definition, an
/// empty name of the application, unsupported action types, an action without a body, numbers out of range.
pub fn parser(tree: &Tree, rules: &Rules<'_>) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let text = tree.text();
    let Some(root) = tree.root() else { return findings };
    if text.len() > rules.length_limit {
        let message = too_long(text.len() as u64, rules.length_limit as u64);
        findings.push(Diagnostic::new(&DEFINITION_TOO_LONG, root.name_span(), message).help(
            "move what actions share to `<global>` or a `job-xml` file, or split the workflow into sub-workflows",
        ));
    }
    if root.name() != "workflow-app" {
        return findings;
    }
    if let Some(name) = root.attribute("name").filter(|name| name.value().text.is_empty()) {
        findings.push(Diagnostic::new(
            &INVALID_VALUE,
            name.name_span(),
            "the name of the application must not be empty",
        ));
    }
    let launchers = |parent: Element<'_>, findings: &mut Vec<Diagnostic>| {
        let numbers = parent.child("launcher").into_iter().flat_map(|launcher| launcher.elements());
        for number in numbers.filter(|child| matches!(child.name(), "memory.mb" | "vcores")) {
            let value = number.text().text;
            // Values that the schema refuses are reported there.
            let passes = value.trim().parse::<u32>().is_ok();
            if passes && value.parse::<i32>().is_err() {
                findings.push(
                    Diagnostic::new(
                        &INVALID_VALUE,
                        number.content(),
                        format!("the server cannot parse this value of `{}`", number.name()),
                    )
                    .help("write a number up to 2147483647, without whitespace around it"),
                );
            }
        }
    };
    for element in root.elements() {
        if element.name() == "global" {
            launchers(element, &mut findings);
        }
        if element.name() != "action" {
            continue;
        }
        for body in element.elements().filter(|child| !matches!(child.name(), "ok" | "error")) {
            let known = rules.language.schema(body.namespace());
            if body.name() == "info"
                || known.is_none_or(|schema| schema.root(body.name()).is_none())
            {
                continue;
            }
            match rules.executor(body.name()) {
                None => findings.push(Diagnostic::new(
                    &UNSUPPORTED_ACTION_TYPE,
                    body.name_span(),
                    format!("nothing in server {} runs `{}`", rules.target.name(), body.name()),
                )),
                Some(Executor::Plain) => {}
                Some(_) => launchers(body, &mut findings),
            }
        }
        // The schema accepts an SLA block in place of the body.
        let mut children = element.elements();
        if children.next().is_some_and(|first| first.name() == "info")
            && children.next().is_some_and(|second| second.name() == "ok")
        {
            findings.push(
                Diagnostic::new(
                    &ACTION_WITHOUT_BODY,
                    element.name_span(),
                    "this action does nothing: it has only an SLA before `ok`",
                )
                .help("an action contains its type, then `ok`, then `error`, then SLA"),
            );
        }
    }
    findings
}

/// The finding for a refusal, unless one of `found` explains it.
pub fn unexplained(
    answer: &Answer,
    workflow: Option<&Workflow>,
    text: &str,
    found: &[Diagnostic],
) -> Option<Diagnostic> {
    let rejected = answer.rejected.as_ref()?;
    let explains = |finding: &Diagnostic| {
        finding.kind.level == Level::Error && finding.kind.oozie.contains(&rejected.code)
    };
    if found.iter().any(explains) {
        return None;
    }
    let span = match rejected.at {
        // The parser's offset is after the cause.
        Some(at) => {
            let at = at as usize;
            let start = text[..at].char_indices().next_back().map_or(0, |(start, _)| start);
            Span::new(start, at)
        }
        None => {
            let named = |name: &String| {
                let nodes = &workflow?.nodes;
                nodes.iter().find(|node| *node.name.text == **name).map(|node| node.name.span)
            };
            let node = rejected.subject.iter().find_map(named);
            node.or_else(|| Some(workflow?.span)).unwrap_or_default()
        }
    };
    let names: Vec<String> = rejected.subject.iter().map(|name| format!("`{name}`")).collect();
    let message = match names.as_slice() {
        [] => format!("the server refuses this definition with {}", rejected.code),
        names => format!("the server refuses this with {}: {}", rejected.code, names.join(", ")),
    };
    Some(Diagnostic::new(&REFUSED, span, message))
}

/// The graph of the first definitions of each name, `start` first.
fn graph<'w>(workflow: &'w Workflow) -> Option<(Graph<'w>, Vec<NodeId>)> {
    let start = workflow.start()?;
    let mut graph = Graph { nodes: Vec::new(), by_name: HashMap::new() };
    let mut ids = Vec::new();
    let rest = workflow.nodes().map(|(id, _)| id).filter(|id| *id != start);
    for id in std::iter::once(start).chain(rest) {
        let node = workflow.node(id);
        let shape = match node.shape {
            ir::Shape::Start if id == start => Shape::Start,
            ir::Shape::Start => continue,
            ir::Shape::Action => Shape::Action,
            ir::Shape::Decision => Shape::Decision,
            ir::Shape::Fork => Shape::Fork,
            ir::Shape::Join => Shape::Join,
            ir::Shape::Kill => Shape::Kill,
            ir::Shape::End => Shape::End,
        };
        let targets = targets(workflow, id);
        graph.by_name.entry(&*node.name.text).or_insert(graph.nodes.len() as u32);
        graph.nodes.push(Node { name: &node.name.text, shape, targets, unknown: None });
        ids.push(id);
    }
    Some((graph, ids))
}

/// The targets of a node, in the order in which the server walks: `ok` before `error`, the default last.
fn targets(workflow: &Workflow, id: NodeId) -> Vec<&str> {
    let exits = workflow.exits(id);
    let of = |last: bool| {
        let late = |way: ir::Way| matches!(way, ir::Way::Error | ir::Way::Default);
        let exits = exits.iter().filter(move |exit| late(exit.way) == last);
        exits.map(|exit| &*exit.target.text)
    };
    of(false).chain(of(true)).collect()
}

struct Teller<'w> {
    workflow: &'w Workflow,
    ids: &'w [NodeId],
    by_name: HashMap<&'w str, NodeId>,
    target: Target,
    /// Remaining number of nodes to visit for details of faults.
    patience: std::cell::Cell<usize>,
}

/// Average number of visits per node for details of faults.
const PATIENCE: usize = 32;

/// A transition that leads past a join.
struct Leak<'w> {
    from: &'w str,
    exit: &'w ir::Transition,
    join: &'w str,
}

impl Teller<'_> {
    fn node(&self, id: walk::Id) -> &ir::Node {
        self.workflow.node(self.ids[id as usize])
    }

    fn name(&self, id: walk::Id) -> &str {
        &self.node(id).name.text
    }

    fn place(&self, id: walk::Id) -> Span {
        self.node(id).name.span
    }

    /// The transition by which a path of a fork reaches a node that its other paths reach only after their join:
    /// there, rather than at the end, the wrong node is named.
    fn past_a_join(&self, fork: walk::Id, node: walk::Id) -> Option<Leak<'_>> {
        let (fork, node) = (self.ids[fork as usize], self.ids[node as usize]);
        let workflow = self.workflow;
        let next = |id: NodeId| {
            let exits = workflow.exits(id).iter();
            exits.filter_map(|exit| Some((exit, *self.by_name.get(&*exit.target.text)?)))
        };
        let shape = |id: NodeId| workflow.node(id).shape;
        let (mut inside, mut joins) = (HashSet::from_iter([fork]), Vec::new());
        let mut todo = vec![fork];
        while let Some(id) = todo.pop() {
            for (_, target) in next(id) {
                self.spend()?;
                if shape(target) == ir::Shape::Join {
                    joins.push(target);
                } else if inside.insert(target) {
                    todo.push(target);
                }
            }
        }
        let mut behind: HashSet<NodeId> = joins.iter().copied().collect();
        let mut todo = joins.clone();
        while let Some(id) = todo.pop() {
            self.spend()?;
            todo.extend(next(id).map(|(_, target)| target).filter(|target| behind.insert(*target)));
        }
        if !behind.contains(&node) {
            return None;
        }
        // Transitions from nodes only inside the fork to nodes that are also after the join.
        let mut order: Vec<NodeId> =
            inside.iter().copied().filter(|id| !behind.contains(id)).collect();
        order.sort_by_key(|id| workflow.node(*id).span.start);
        let leads_there = |from: NodeId| {
            let (mut seen, mut todo) = (HashSet::from_iter([from]), vec![from]);
            while let Some(id) = todo.pop() {
                if id == node || self.spend().is_none() {
                    return id == node;
                }
                todo.extend(next(id).map(|(_, next)| next).filter(|next| seen.insert(*next)));
            }
            false
        };
        let is_leak = |exit: &ir::Transition, target: NodeId| {
            let kept = matches!(shape(target), ir::Shape::Join | ir::Shape::Kill | ir::Shape::End);
            !kept && exit.way != ir::Way::Error && behind.contains(&target) && leads_there(target)
        };
        let mut leaks = order.iter().flat_map(|id| {
            next(*id).filter(|(exit, target)| is_leak(exit, *target)).map(|(exit, _)| (*id, exit))
        });
        let (from, exit) = leaks.next()?;
        let join = joins.first().copied().filter(|_| leaks.next().is_none())?;
        let name = |id: NodeId| &*workflow.node(id).name.text;
        Some(Leak { from: name(from), exit, join: name(join) })
    }

    /// Uses up one visit; `None` if there are none left: if there are many faults, only the first ones get details.
    fn spend(&self) -> Option<()> {
        self.patience.set(self.patience.get().checked_sub(1)?);
        Some(())
    }

    fn tell(&self, fault: &Fault, joins: &[walk::Id]) -> Diagnostic {
        let (name, other) = (self.name(fault.node), self.name(fault.other));
        let place = self.place(fault.node);
        let inside = fault.fork.map_or(String::new(), |fork| self.name(fork).to_owned());
        match fault.code {
            "E0733" => Diagnostic::new(
                &FORK_WITHOUT_JOIN,
                place,
                format!("no path of the fork `{name}` reaches a join"),
            )
            .help("let its paths end in one join"),
            "E0742" => Diagnostic::new(
                &JOIN_WITHOUT_FORK,
                place,
                format!("the join `{name}` can be reached outside any fork"),
            ),
            "E0757" => {
                let mut list: Vec<_> = joins.iter().map(|id| self.name(*id)).collect();
                list.sort_unstable();
                let list: Vec<String> = list.iter().map(|name| format!("`{name}`")).collect();
                let message = format!(
                    "the paths of the fork `{name}` end in several joins: {}",
                    list.join(", ")
                );
                let finding = Diagnostic::new(&FORK_WITH_SEVERAL_JOINS, place, message);
                joins.iter().fold(finding, |finding, join| {
                    finding.note(self.place(*join), "some of its paths end here")
                })
            }
            "E0732" => {
                let finding = Diagnostic::new(
                    &FORK_WITH_SEVERAL_JOINS,
                    place,
                    format!("a path of the fork `{other}` reaches the join `{name}`"),
                )
                .note(self.place(fault.other), "the fork is here");
                let expected = joins.iter().filter(|join| **join != fault.node);
                expected.fold(finding, |finding, join| {
                    finding.note(self.place(*join), "server 3.3.2 expects this join")
                })
            }
            "E0758" => Diagnostic::new(
                &JOIN_OF_SEVERAL_FORKS,
                place,
                format!("the join `{name}` is reached from the forks `{other}` and `{inside}`"),
            )
            .note(self.place(fault.other), "one fork is here")
            .note(fault.fork.map_or(place, |fork| self.place(fork)), "the other is here")
            .help("each fork needs its own join"),
            "E0737" => self.end_inside(fault, &inside),
            "E0744" => self.path_repeated(fault),
            _ => Diagnostic::new(
                &NODE_REACHED_TWICE_IN_PARALLEL,
                place,
                format!("two paths lead to `{name}`, and no decision chooses between them"),
            )
            .help(match self.target {
                Target::V3_3_2 => {
                    "let the paths meet in a join first; server 3.3.2 wants that of the branches of a decision too, \
                     once a workflow has a fork"
                }
                Target::V4_3_1 => {
                    "let the paths meet in a join first; server 4.3.1 also counts an `ok` that comes after an `error` \
                     (5.0 does not)"
                }
                Target::V5_2_1 | Target::Trunk => "let the paths meet in a join first",
            }),
        }
    }

    /// E0737: a path of the fork `inside` leads to an end node.
    fn end_inside(&self, fault: &Fault, inside: &str) -> Diagnostic {
        let (name, other) = (self.name(fault.node), self.name(fault.other));
        let place = self.place(fault.node);
        let exits = self.workflow.exits(self.ids[fault.node as usize]);
        let exit = exits.iter().find(|exit| exit.target.text == other);
        if let Some(fork) = fault.fork
            && let Some(leak) = self.past_a_join(fork, fault.node)
        {
            let message = format!(
                "`{}` leads to `{}` past the join of the fork `{inside}`",
                leak.from, leak.exit.target.text
            );
            let end = format!("and from here to `{other}`");
            return Diagnostic::new(&END_INSIDE_FORK, leak.exit.target.span, message)
                .naming([leak.from, &*leak.exit.target.text, inside])
                .note(self.place(fork), "the fork is here")
                .note(exit.map_or(place, |exit| exit.target.span), end)
                .help(format!("lead it to `{}`", leak.join));
        }
        let finding = Diagnostic::new(
            &END_INSIDE_FORK,
            exit.map_or(place, |exit| exit.target.span),
            match name == inside {
                true => {
                    format!("the fork `{name}` leads to `{other}` before its paths meet")
                }
                false => format!("`{name}` leads to `{other}` inside the fork `{inside}`"),
            },
        )
        .naming([name, other, inside]);
        match fault.fork {
            Some(fork) if fork != fault.node => finding.note(self.place(fork), "the fork is here"),
            _ => finding,
        }
    }

    /// E0744: a fork names a node twice.
    fn path_repeated(&self, fault: &Fault) -> Diagnostic {
        let (name, other) = (self.name(fault.node), self.name(fault.other));
        let place = self.place(fault.node);
        let exits = self.workflow.exits(self.ids[fault.node as usize]);
        let mut paths = exits.iter().filter(|exit| exit.target.text == other);
        let (first, second) = (paths.next(), paths.next());
        let targets: HashSet<&str> = exits.iter().map(|exit| &*exit.target.text).collect();
        let mut finding = Diagnostic::new(
            &FORK_PATH_REPEATED,
            second.map_or(place, |path| path.target.span),
            format!("`{name}` starts `{other}` twice"),
        );
        if let Some(first) = first {
            finding = finding.note(first.target.span, "the first is here");
        }
        // A fork needs at least two paths. The second may be a copy that was to lead elsewhere.
        if let Some(second) = second.filter(|_| targets.len() > 1) {
            let whole = removal(&self.workflow.text, second.span);
            finding = finding.fix(Fix::guess("Remove the second path", whole, ""));
        }
        finding
    }
}
