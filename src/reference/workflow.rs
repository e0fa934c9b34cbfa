//! The server's parser of workflows: its checks while it builds the nodes, in document order.
//!
//! Takes a document that its schema accepts, and the properties of the job; returns the nodes, or the first refusal.
//! What the server does not check is not checked here either.

use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeMap;

use super::document::Element;
use super::walk::{Graph, Node, Refusal, Shape};
use super::{Executor, Rules, Target, retry};

/// The properties of a job.
pub type Properties = BTreeMap<String, String>;

fn refuse<const N: usize>(code: &'static str, names: [&str; N]) -> Refusal {
    Refusal { code, names: names.map(str::to_owned).to_vec() }
}

/// Resolves the formal parameters: defaults are added to `properties`; a parameter without default that is not given
/// is refused, or counts as given if `bind` is set.
pub(super) fn parameters(
    root: Element<'_, '_>,
    properties: &mut Properties,
    bind: bool,
) -> Result<(), Refusal> {
    if !has_parameters(root.namespace()) {
        return Ok(());
    }
    let Some(section) = root.child("parameters") else { return Ok(()) };
    let mut missing = Vec::new();
    for property in section.all("property") {
        let name = property.child("name").map(Element::text).unwrap_or_default();
        let name = name.trim();
        if name.is_empty() {
            return Err(refuse("E0739", []));
        }
        if properties.contains_key(name) {
            continue;
        }
        match property.child("value") {
            Some(value) => {
                properties.insert(name.to_owned(), value.text().trim().to_owned());
            }
            None if bind => {
                properties.insert(name.to_owned(), "dummy".to_owned());
            }
            None => missing.push(name.to_owned()),
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(Refusal { code: "E0738", names: missing }) }
}

/// Whether formal parameters are supported in this version, which must consist of two numbers: 0.4.5 is invalid.
pub(crate) fn has_parameters(namespace: &str) -> bool {
    let mut parts = namespace.rsplitn(2, ':');
    let (Some(version), Some(uri)) = (parts.next(), parts.next()) else { return false };
    let least = match uri {
        "uri:oozie:workflow" | "uri:oozie:coordinator" => (0, 4),
        "uri:oozie:bundle" => (0, 2),
        _ => return false,
    };
    let number = |text: &str| text.parse::<u32>().ok();
    let version = version.split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    version.is_some_and(|version| version >= least)
}

/// The settings of `<global>` that apply to all actions.
#[derive(Default)]
struct Global {
    is_there: bool,
    name_node: bool,
    job_tracker: bool,
}

/// Builds the nodes of the graph; `evaluated` is set if an expression was evaluated with the properties of the job.
pub(super) fn nodes<'d>(
    root: Element<'d, '_>,
    properties: &Properties,
    rules: &Rules<'_>,
    evaluated: &mut bool,
) -> Result<Graph<'d>, Refusal> {
    let mut graph = Graph { nodes: Vec::new(), by_name: HashMap::new() };
    let mut global = Global::default();
    let mut complete = false;
    for element in root.children() {
        let name = element.attribute("name").unwrap_or_default();
        let to = |element: Element<'d, '_>| element.attribute("to").unwrap_or_default();
        let mut unknown = None;
        let (shape, name, targets) = match element.name() {
            "start" => {
                if root.attribute("name").unwrap_or_default().is_empty() {
                    return Err(refuse("E0803", ["IllegalArgumentException"]));
                }
                let start = Node {
                    name: ":start:",
                    shape: Shape::Start,
                    targets: vec![to(element)],
                    unknown: None,
                };
                graph.by_name.insert(start.name, 0);
                graph.nodes.push(start);
                continue;
            }
            "end" => (Shape::End, name, Vec::new()),
            "kill" => (Shape::Kill, name, Vec::new()),
            "join" => (Shape::Join, name, vec![to(element)]),
            "fork" => {
                let paths = element.all("path");
                let starts = paths.map(|path| path.attribute("start").unwrap_or_default());
                (Shape::Fork, name, starts.collect())
            }
            "decision" => {
                let Some(switch) = element.child("switch") else { continue };
                let cases = switch.all("case").chain(switch.child("default"));
                (Shape::Decision, name, cases.map(to).collect())
            }
            "action" => {
                let action = action(element, &global, properties, rules, evaluated)?;
                unknown = action.unknown;
                (Shape::Action, name, vec![action.ok, action.error])
            }
            "global" => {
                let has = |name: &str| element.child(name).is_some();
                global.is_there = true;
                global.name_node = has("name-node");
                global.job_tracker = has("job-tracker") || has("resource-manager");
                launcher(element)?;
                continue;
            }
            "info" | "credentials" | "parameters" => continue,
            other => return Err(refuse("E0703", [other])),
        };
        // After a DOCTYPE no schema was checked, so anything may be missing.
        if graph.nodes.is_empty() {
            return Err(refuse("E0803", ["NullPointerException"]));
        }
        if name.is_empty() || targets.contains(&"") {
            return Err(refuse("E0803", ["IllegalArgumentException"]));
        }
        if complete {
            return Err(refuse("E0704", [name]));
        }
        if graph.by_name.contains_key(name) {
            return Err(refuse("E0705", [name]));
        }
        if targets.contains(&name) {
            return Err(refuse("E0706", [name]));
        }
        graph.by_name.insert(name, graph.nodes.len() as u32);
        graph.nodes.push(Node { name, shape, targets, unknown });
        complete = shape == Shape::End;
    }
    if graph.nodes.is_empty() {
        return Err(refuse("E0803", ["NullPointerException"]));
    }
    Ok(graph)
}

/// The parts of an action that the graph needs.
#[derive(Default)]
struct Action<'d> {
    ok: &'d str,
    error: &'d str,
    /// See [`Node::unknown`].
    unknown: Option<&'d str>,
}

/// Builds an action and checks its body and its retry attributes.
fn action<'d>(
    element: Element<'d, '_>,
    global: &Global,
    properties: &Properties,
    rules: &Rules<'_>,
    evaluated: &mut bool,
) -> Result<Action<'d>, Refusal> {
    let (mut action, mut body) = (Action::default(), false);
    // If there is a `<global>`, 3.3.2 checks nothing else: missing elements are noticed only when the action runs.
    let trusts_global = rules.target == Target::V3_3_2 && global.is_there;
    for child in element.children() {
        match child.name() {
            "ok" => action.ok = child.attribute("to").unwrap_or_default(),
            "error" => action.error = child.attribute("to").unwrap_or_default(),
            "info" | "credentials" => {}
            kind => {
                body = true;
                match rules.executor(kind) {
                    Some(_) if trusts_global => {}
                    Some(executor) => check_body(child, executor, global, rules)?,
                    // Its walk over the graph refuses the type of the last body.
                    None if trusts_global => {}
                    None => return Err(refuse("E0723", [kind])),
                }
                action.unknown = rules.executor(kind).is_none().then_some(kind);
            }
        }
    }
    let of_retries: &[&str] = match rules.target {
        // 3.3.2 does not evaluate retry attributes.
        Target::V3_3_2 => &[],
        _ => &["retry-max", "retry-interval", "retry-policy"],
    };
    for name in of_retries {
        if let Some(value) = element.attribute(name).filter(|value| !value.is_empty()) {
            *evaluated |= retry::is_expression(value);
            retry::check(value, properties, rules)
                .map_err(|(kind, name)| refuse("E0703", [kind, &name]))?;
        }
    }
    if !body {
        return Err(refuse("E0803", ["NullPointerException"]));
    }
    Ok(action)
}

fn check_body(
    body: Element<'_, '_>,
    executor: Executor,
    global: &Global,
    rules: &Rules<'_>,
) -> Result<(), Refusal> {
    let has = |name: &str| body.child(name).is_some();
    if executor == Executor::Cluster {
        // Site defaults were introduced after 3.3.2.
        let defaults = rules.target != Target::V3_3_2;
        let default_name_node = defaults && rules.default_name_node;
        let default_job_tracker = defaults && rules.default_job_tracker;
        if !has("name-node") && !global.name_node && !default_name_node {
            return Err(refuse("E0701", ["name-node"]));
        }
        let tracker = has("job-tracker") || has("resource-manager");
        if !tracker && !global.job_tracker && !default_job_tracker {
            return Err(refuse("E0701", ["job-tracker"]));
        }
    }
    if executor == Executor::Plain { Ok(()) } else { launcher(body) }
}

/// Checks the numbers in a `<launcher>`, which become properties: unlike the schema, the parser does not allow
/// whitespace around them, nor values above 2147483647.
fn launcher(parent: Element<'_, '_>) -> Result<(), Refusal> {
    let Some(launcher) = parent.child("launcher") else { return Ok(()) };
    let numbers =
        launcher.children().filter(|child| matches!(child.name(), "memory.mb" | "vcores"));
    for child in numbers {
        if child.text().parse::<i32>().is_err() {
            return Err(refuse("E0803", ["NumberFormatException"]));
        }
    }
    Ok(())
}
