//! The losses that the report of a conversion lists, and which differences between the two sides they explain.
//!
//! [`Told`] is collected from the ledger of an application. A difference is explained only by a part that was lost
//! where the difference begins: in the node itself, in the decision before it, or in a value that it uses. A lost SLA,
//! for example, does not explain a task that differs. Differences in the nodes after a node that is explained are
//! explained, too.

use super::Unit;
use super::compare::{About, Differs};
use ankus::analysis::Analysis;
use ankus::carry::ledger::PARTS;
use ankus::carry::{Conversion, Entry, Outcome, mentions};
use ankus::ir::workflow::Shape;
use ankus::source::Span;
use ankus_lang::plan::{Node, Plan, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The losses, by what they can change. Each is described by its location and construct.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Losses in a node or in a value that it uses, by node.
    nodes: BTreeMap<String, BTreeSet<String>>,
    /// Losses in the message of a kill node, by node. A message that contains the id of the run is included without
    /// losses.
    messages: BTreeMap<String, BTreeSet<String>>,
    /// Losses in the data that a coordinator waits for.
    data: BTreeSet<String>,
}

impl Told {
    /// Collects the losses from the ledger of an application.
    pub(super) fn of(unit: &Unit, conversions: &[Conversion]) -> Told {
        let mut told = Told::default();
        let Some(conversion) = conversions.iter().find(|one| one.name == unit.name) else {
            return told;
        };
        let losses = |path: &str| {
            let path = path.to_owned();
            let entries = conversion.entries.iter().filter(move |(of, _)| *of == path);
            entries.map(|(_, entry)| entry).filter(|entry| entry.outcome != Outcome::Exact)
        };
        let mut lost_values: BTreeMap<String, String> = BTreeMap::new();
        if let Some((loaded, _)) = &unit.coordinator {
            let path = &loaded.found.shown;
            let analysis = Analysis::new(Arc::clone(&loaded.source));
            let properties = &analysis.coordinator().configuration;
            for entry in losses(path).filter(|entry| is_lost(entry)) {
                let data = ["datasets", "input-events", "input-logic"];
                if data.iter().any(|part| entry.construct.split('.').nth(1) == Some(part)) {
                    told.data.insert(shown(path, entry));
                }
                for property in properties {
                    let (Some(name), Some(value)) = (&property.name, &property.value) else {
                        continue;
                    };
                    if holds(entry.span, value.span()) {
                        lost_values.insert(name.as_str().to_owned(), shown(path, entry));
                    }
                }
            }
        }
        let Some(loaded) = &unit.workflow else { return told };
        let path = &loaded.found.shown;
        let analysis = Analysis::new(Arc::clone(&loaded.source));
        let entries: Vec<&Entry> = losses(path).collect();
        for property in &analysis.workflow().parameters {
            let lost = entries.iter().filter(|entry| is_lost(entry));
            for entry in lost.filter(|entry| holds(property.span, entry.span)) {
                lost_values.insert(property.name.as_str().to_owned(), shown(path, entry));
            }
        }
        for (_, node) in analysis.flow().workflow.nodes() {
            let name = node.name.text.to_string();
            for entry in entries.iter().filter(|entry| holds(node.span, entry.span)) {
                // A part that is only approximate can still change a decision or a message.
                match node.shape {
                    Shape::Kill => told.messages.entry(name.clone()).or_default(),
                    Shape::Decision => told.nodes.entry(name.clone()).or_default(),
                    _ if is_lost(entry) => told.nodes.entry(name.clone()).or_default(),
                    _ => continue,
                }
                .insert(shown(path, entry));
            }
            let text = &loaded.source.text[node.span.start as usize..node.span.end as usize];
            if node.shape == Shape::Kill && text.contains("wf:id") {
                told.messages.entry(name.clone()).or_default();
            }
            for (_, place) in lost_values.iter().filter(|(name, _)| mentions(text, name)) {
                told.nodes.entry(name.clone()).or_default().insert(place.clone());
                if node.shape == Shape::Kill {
                    told.messages.entry(name.clone()).or_default().insert(place.clone());
                }
            }
        }
        told
    }

    /// Returns the kill nodes whose messages are only approximate.
    pub(super) fn worded(&self) -> BTreeSet<String> {
        self.messages.keys().cloned().collect()
    }

    /// Returns the losses that explain all these differences; none if there is a difference that no loss explains.
    /// `failed` are the actions that fail in our simulator: one with a loss fails in the other engine before it begins,
    /// and the nodes after its error transition do not run.
    pub(super) fn explain(
        &self,
        plan: &Plan,
        failed: &BTreeSet<&str>,
        differs: &[Differs],
    ) -> Option<Vec<String>> {
        let mut because: BTreeSet<String> = BTreeSet::new();
        let changed: BTreeSet<&str> = differs.iter().filter_map(node_of).collect();
        let (mut explained, mut begins) = (BTreeSet::new(), Vec::new());
        for node in &plan.nodes {
            let own = self.nodes.get(&node.name).filter(|_| changed.contains(&*node.name));
            // The first nodes depend on the data that the coordinator waits for.
            let first = matches!(node.work, Work::Start { .. }) && !self.data.is_empty();
            // A decision that chooses another transition need not differ itself.
            let chosen = self.nodes.get(&node.name);
            let chosen = chosen.filter(|_| match node.work {
                Work::Decision { .. } => true,
                Work::Action(_) => failed.contains(&*node.name),
                _ => false,
            });
            let losses = own.or(chosen).or(first.then_some(&self.data));
            if let Some(losses) = losses {
                let passes = first || chosen.is_some();
                let next = node.work.targets().into_iter().map(|index| plan.node(index));
                let is_used = own.is_some()
                    || (passes && next.into_iter().any(|next| changed.contains(&*next.name)));
                if is_used {
                    begins.push(node);
                    because.extend(losses.iter().cloned());
                }
            }
        }
        // If a lost node fails, the nodes on the other paths of its fork may be stopped.
        for fork in plan.nodes.iter().filter(|node| matches!(node.work, Work::Fork { .. })) {
            let within = reached(plan, fork);
            let is_stopped =
                |node: &&Node| within.contains(node.name.as_str()) && changed.contains(&*node.name);
            if begins.iter().any(is_stopped) {
                begins.push(fork);
            }
        }
        while let Some(node) = begins.pop() {
            if explained.insert(node.name.as_str()) {
                begins.extend(node.work.targets().into_iter().map(|index| plan.node(index)));
            }
        }
        for one in differs {
            let is_explained = match &one.about {
                About::Node(name) => explained.contains(name.as_str()),
                About::Message(name) => {
                    let own = self.messages.get(name);
                    because.extend(own.into_iter().flatten().cloned());
                    // A lost node may fail with a message of its own, or instead of another node.
                    let before = plan.nodes.iter().filter(|node| {
                        self.nodes.contains_key(&node.name) && reached(plan, node).contains(&**name)
                    });
                    let before: Vec<_> =
                        before.filter_map(|node| self.nodes.get(&node.name)).collect();
                    because.extend(before.iter().copied().flatten().cloned());
                    own.is_some() || !before.is_empty() || explained.contains(name.as_str())
                }
                About::Input(_) => !self.data.is_empty(),
                About::Run => changed.iter().any(|name| explained.contains(name)),
                About::Playing => false,
            };
            if !is_explained {
                return None;
            }
        }
        Some(because.into_iter().collect())
    }
}

/// Returns the names of the nodes that can be reached from a node.
fn reached<'p>(plan: &'p Plan, from: &Node) -> BTreeSet<&'p str> {
    let next = |node: &Node| node.work.targets().into_iter().map(|index| plan.node(index));
    let mut found = BTreeSet::new();
    let mut open: Vec<&Node> = next(from).collect();
    while let Some(node) = open.pop() {
        if found.insert(node.name.as_str()) {
            open.extend(next(node));
        }
    }
    found
}

fn node_of(differs: &Differs) -> Option<&str> {
    match &differs.about {
        About::Node(name) => Some(name),
        _ => None,
    }
}

fn is_lost(entry: &Entry) -> bool {
    entry.outcome == Outcome::None && entry.reason != PARTS
}

fn shown(path: &str, entry: &Entry) -> String {
    format!("{path}:{}: {}", entry.line, entry.construct)
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;
    use ankus_lang::el::{Dialect, Phase, Template};
    use ankus_lang::plan::Action;

    /// Returns the plan `start` -> `which` -> `one` or `two`, which are kill nodes.
    fn plan() -> Plan {
        let template = |text| Template::compile(text, Phase::Workflow, Dialect::Tomcat);
        let kill = || Work::Kill { message: template("m") };
        let works = [
            (":start:", Work::Start { to: 1 }),
            ("which", Work::Decision { text: template("true"), to: vec![2, 3] }),
            ("one", kill()),
            ("two", kill()),
        ];
        let nodes =
            works.map(|(name, work)| Node { name: name.to_owned(), span: (0, 0), work }).to_vec();
        Plan::of_nodes(template("w"), Dialect::Tomcat, nodes)
    }

    fn differs(abouts: &[About]) -> Vec<Differs> {
        abouts.iter().map(|about| Differs { about: about.clone(), what: String::new() }).collect()
    }

    #[test]
    fn a_difference_is_explained_by_what_is_lost_where_it_begins() {
        let none = BTreeSet::new();
        let other_way = differs(&[About::Run, About::Node("one".to_owned())]);
        let lost = |node: &str| {
            let losses = BTreeSet::from([format!("in {node}")]);
            Told { nodes: BTreeMap::from([(node.to_owned(), losses)]), ..Told::default() }
        };
        assert_eq!(Told::default().explain(&plan(), &none, &other_way), None);
        assert_eq!(lost("two").explain(&plan(), &none, &other_way), None);
        let because = Some(vec!["in which".to_owned()]);
        assert_eq!(lost("which").explain(&plan(), &none, &other_way), because);
        // If only the outcome of the run differs, while all nodes agree, no loss in a node explains it.
        assert_eq!(lost("which").explain(&plan(), &none, &differs(&[About::Run])), None);
        let began = differs(&[About::Node("which".to_owned())]);
        let data = Told { data: BTreeSet::from(["data".to_owned()]), ..Told::default() };
        assert_eq!(data.explain(&plan(), &none, &began), Some(vec!["data".to_owned()]));
        assert_eq!(data.explain(&plan(), &none, &other_way), None);
        assert_eq!(data.explain(&plan(), &none, &differs(&[About::Playing])), None);
    }

    /// A task that fails in place of a lost node stops parallel nodes, in an engine that stops all paths of a fork
    /// together.
    #[test]
    fn what_runs_beside_a_lost_node_is_explained() {
        let template = |text| Template::compile(text, Phase::Workflow, Dialect::Tomcat);
        let decision = |to| Work::Decision { text: template("true"), to };
        let works = [
            (":start:", Work::Start { to: 1 }),
            ("fork", Work::Fork { to: vec![2, 3] }),
            ("lost", decision(vec![4])),
            ("beside", decision(vec![4])),
            ("join", Work::Join { to: 5 }),
            ("kill", Work::Kill { message: template("m") }),
        ];
        let nodes =
            works.map(|(name, work)| Node { name: name.to_owned(), span: (0, 0), work }).to_vec();
        let plan = Plan::of_nodes(template("w"), Dialect::Tomcat, nodes);
        let none = BTreeSet::new();
        let losses = BTreeSet::from(["here".to_owned()]);
        let told = Told { nodes: BTreeMap::from([("lost".to_owned(), losses)]), ..Told::default() };
        let node = |name: &str| About::Node(name.to_owned());
        let because = Some(vec!["here".to_owned()]);
        assert_eq!(told.explain(&plan, &none, &differs(&[node("lost"), node("beside")])), because);
        assert_eq!(told.explain(&plan, &none, &differs(&[node("beside")])), None);
        assert_eq!(
            told.explain(&plan, &none, &differs(&[About::Message("kill".to_owned())])),
            because
        );
        assert_eq!(Told::default().explain(&plan, &none, &differs(&[node("beside")])), None);
    }

    #[test]
    fn names_are_found_whole() {
        assert!(mentions("${day}", "day") && mentions("wf:conf('day')", "day"));
        assert!(!mentions("${daily} ${to_day}", "day"));
    }

    /// An action with a loss fails before it begins, so that its handler does not run: the action fails on both sides,
    /// and only the handler differs.
    #[test]
    fn the_handler_of_a_lost_action_is_explained_where_that_fails() {
        let template = |text| Template::compile(text, Phase::Workflow, Dialect::Tomcat);
        let action = Action {
            kind: "shell".to_owned(),
            head: template("<shell/>"),
            configuration: None,
            tail: template(""),
            takes_defaults: false,
            ok: 2,
            error: 3,
            retry_max: None,
            retry_interval: None,
            retry_policy: None,
            cred: None,
        };
        let mut plan = plan();
        plan.nodes[1].work = Work::Action(Box::new(action));
        let losses = BTreeSet::from(["in which".to_owned()]);
        let told =
            Told { nodes: BTreeMap::from([("which".to_owned(), losses)]), ..Told::default() };
        let handler = differs(&[About::Node("two".to_owned())]);
        let because = Some(vec!["in which".to_owned()]);
        assert_eq!(told.explain(&plan, &BTreeSet::from(["which"]), &handler), because);
        assert_eq!(told.explain(&plan, &BTreeSet::new(), &handler), None);
    }
}
