//! Changes that give a decision another outcome: the values that its predicates compare with.

use crate::test::Explored;
use ankus::analysis::Analysis;
use ankus_engine::scenario::{Scenario, Stub};
use ankus_lang::el::tree::{Node, Op};
use ankus_lang::el::{Dialect, Phase, Piece, Template};
use ankus_project::{Given, Loaded, Project};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Changes to the input of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// Properties with other values.
    pub(super) properties: BTreeMap<String, String>,
    /// Captured output of actions: keys and values, by action.
    data: BTreeMap<String, BTreeMap<String, String>>,
}

impl Turn {
    fn property(name: &str, value: &str) -> Turn {
        let properties = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        Turn { properties, ..Turn::default() }
    }

    fn data(action: &str, key: &str, value: &str) -> Turn {
        let captured = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        Turn { data: BTreeMap::from([(action.to_owned(), captured)]), ..Turn::default() }
    }

    /// Combines two changes.
    pub(super) fn and(&self, other: &Turn) -> Turn {
        let mut both = self.clone();
        both.properties.extend(other.properties.clone());
        for (action, captured) in &other.data {
            both.data.entry(action.clone()).or_default().extend(captured.clone());
        }
        both
    }

    /// Describes the change in words.
    pub(super) fn title(&self) -> String {
        let properties = self.properties.iter().map(|(name, value)| format!("{name} is {value}"));
        let data = self.data.iter().flat_map(|(action, captured)| {
            captured.iter().map(move |(key, value)| format!("{key} of {action} is {value}"))
        });
        properties.chain(data).collect::<Vec<_>>().join(" and ")
    }

    /// Returns the application with the changed properties.
    pub(super) fn changed(
        &self,
        project: &Project,
        explored: &Explored,
    ) -> miette::Result<Explored> {
        let mut define: Vec<(String, String)> =
            explored.application.properties().into_iter().collect();
        define.extend(self.properties.clone());
        let given = Given { define, files: Vec::new(), no_properties: true };
        let path = &explored.application.loaded.found.path;
        Ok(Explored {
            application: project.application(path, &given)?,
            plan: Arc::clone(&explored.plan),
            made_up: BTreeMap::new(),
            draws: Vec::new(),
        })
    }

    /// Returns the scenario with the captured output.
    pub(super) fn scenario(&self) -> Scenario {
        let mut scenario = Scenario::default();
        for (action, data) in &self.data {
            let stub = Stub { data: data.clone(), ..Stub::default() };
            scenario.actions.insert(action.clone(), stub);
        }
        scenario
    }
}

/// Returns the changes that the predicates of a workflow suggest.
pub(super) fn turns(workflow: &Loaded) -> BTreeSet<Turn> {
    let analysis = Analysis::new(Arc::clone(&workflow.source));
    let mut turns = BTreeSet::new();
    for predicate in analysis.workflow().transitions().filter_map(|exit| exit.predicate.as_ref()) {
        of_predicate(predicate.as_str(), &mut turns);
    }
    turns
}

fn of_predicate(source: &str, turns: &mut BTreeSet<Turn>) {
    let template = Template::compile(source, Phase::Workflow, Dialect::Tomcat);
    for piece in template.pieces() {
        let Piece::Expression { first, last, .. } = *piece else { continue };
        let speaks = |node: &&Node| {
            matches!(
                node.op,
                Op::Variable
                    | Op::Text(_)
                    | Op::Integer(_)
                    | Op::True
                    | Op::False
                    | Op::Call { .. }
                    | Op::Bracket
                    | Op::Binary(_)
            )
        };
        let nodes: Vec<&Node> =
            template.nodes()[first as usize..last as usize].iter().filter(speaks).collect();
        for at in 0..nodes.len() {
            of_place(&template, &nodes[at..], turns);
        }
    }
}

/// Returns a number and its two neighbors.
fn near(number: i64) -> Vec<String> {
    let all = [number.saturating_sub(1), number, number.saturating_add(1)];
    all.iter().map(i64::to_string).collect()
}

/// Adds the changes that the operands at the beginning of `nodes` suggest.
fn of_place(template: &Template, nodes: &[&Node], turns: &mut BTreeSet<Turn>) {
    let value = |node: &Node| match node.op {
        Op::Text(slice) => Some(template.slice(slice).to_owned()),
        Op::True => Some("true".to_owned()),
        Op::False => Some("false".to_owned()),
        _ => None,
    };
    let calls = |node: &Node, name: &str| {
        matches!(node.op, Op::Call { .. }) && template.call_name(node) == name
    };
    let property = |nodes: &[&Node]| match nodes {
        [name, ..] if name.op == Op::Variable => {
            Some((template.span(name.start, name.end).trim().to_owned(), 1))
        }
        [name, call, ..] if calls(call, "wf:conf") => Some((value(name)?, 2)),
        _ => None,
    };
    if let Some((name, used)) = property(nodes) {
        let put = |turns: &mut BTreeSet<Turn>, value: &str| {
            turns.insert(Turn::property(&name, value));
        };
        put(turns, "true");
        match nodes.get(used..) {
            Some([other, Node { op: Op::Binary(_), .. }, ..]) => match other.op {
                Op::Integer(number) => near(number).iter().for_each(|value| put(turns, value)),
                _ => {
                    if let Some(text) = value(other) {
                        put(turns, &text);
                        put(turns, "another");
                    }
                }
            },
            _ => put(turns, "false"),
        }
    }
    if let [action, call, key, bracket, other, compared, ..] = nodes
        && calls(call, "wf:actionData")
        && bracket.op == Op::Bracket
        && matches!(compared.op, Op::Binary(_))
        && let (Some(action), Some(key)) = (value(action), value(key))
    {
        let others = match other.op {
            Op::Integer(number) => near(number),
            _ => value(other).into_iter().chain(["another".to_owned()]).collect(),
        };
        turns.extend(others.iter().map(|other| Turn::data(&action, &key, other)));
    }
}
