//! The compiled form of a definition, with everything a run needs: nodes by index, compiled expressions, locations for
//! messages.
//!
//! A compiler makes a [`Plan`]; [`Plan::to_bytes`] serializes it, deterministically, and [`Plan::from_bytes`] reads it
//! back and refuses plans that are damaged, truncated or from a newer version. A plan contains what the engine would
//! have after it parsed the definition: shared settings are merged into each action, and the text of an action is the
//! text in which its expressions are evaluated.

mod part;

pub use part::NoPart;

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::el::{Dialect, NameHash, SiteFunction, Template};

/// The version of the format that this program writes. A newer one is refused.
pub const VERSION: u16 = 2;
/// The first bytes of every plan.
const MAGIC: &[u8; 8] = b"ANKUSPLN";
/// Length of magic, version, length and checksum, which precede the content.
const HEADER: usize = 8 + 2 + 8 + 4;
/// Maximum size of a plan, in bytes; a larger one is refused unread.
const LARGEST: usize = 1 << 30;

/// The index of a node in [`Plan::nodes`].
pub type NodeIndex = u32;

/// The target of a transition that leads to no node: the server does not check transitions that it never takes.
pub const NOWHERE: NodeIndex = u32::MAX;

/// A compiled workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The name of the application, evaluated at submission.
    pub name: Template,
    /// The namespace of the definition.
    pub namespace: String,
    /// The EL library that evaluates expressions.
    pub dialect: Dialect,
    /// Nodes in the order of the definition.
    pub nodes: Vec<Node>,
    /// The start node.
    pub start: NodeIndex,
    /// Declared parameters: name, and default if any.
    pub parameters: Vec<(String, Option<String>)>,
    /// The properties of `config-default.xml`.
    pub defaults: Vec<(String, String)>,
    /// Shared settings, which sub-workflows can inherit.
    pub global: Option<Global>,
    /// The credentials.
    pub credentials: Vec<Credential>,
    /// Functions that the site has added to its server, with their results in local runs.
    pub functions: Vec<SiteFunction>,
    /// Path of the definition, for messages.
    pub path: String,
    /// Offsets at which the lines of the definition begin, for messages.
    pub lines: Vec<u32>,
    /// The SLA blocks. Plans of version 1 end before this field.
    pub expectations: Vec<Expectation>,
    /// Nodes by name, computed on first use.
    #[serde(skip)]
    pub names: Names,
}

/// Nodes by name.
#[derive(Clone, Debug, Default)]
pub struct Names(OnceLock<HashMap<Box<str>, NodeIndex, NameHash>>);

/// An SLA block.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expectation {
    /// The action that it applies to; [`NOWHERE`] for the whole job.
    pub node: NodeIndex,
    /// Names and texts of its child elements.
    pub leaves: Vec<(String, Template)>,
}

/// Shared settings, which complete those of sub-workflows if the action propagates its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Name node.
    pub name_node: Option<String>,
    /// Element name and text of the job tracker or resource manager.
    pub resource_manager: Option<(String, String)>,
    /// Paths of `job-xml` files.
    pub job_xml: Vec<String>,
    /// Properties, including those of the launcher.
    pub configuration: Vec<(String, String)>,
}

/// A named credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Its properties, unevaluated.
    pub properties: Vec<(String, String)>,
}

/// A node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Its name; `:start:` for the start.
    pub name: String,
    /// Span of its name in the definition.
    pub span: (u32, u32),
    /// What it does.
    pub work: Work,
}

/// The type of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Work {
    /// Starts the job.
    Start {
        /// The first node.
        to: NodeIndex,
    },
    /// Ends the job successfully.
    End,
    /// Ends the job as killed.
    Kill {
        /// Its message.
        message: Template,
    },
    /// Starts parallel branches.
    Fork {
        /// The first node of each branch.
        to: Vec<NodeIndex>,
    },
    /// Waits for all branches.
    Join {
        /// The node that follows.
        to: NodeIndex,
    },
    /// Selects a transition.
    Decision {
        /// The whole text of `<switch>`.
        text: Template,
        /// Targets of its cases and its default.
        to: Vec<NodeIndex>,
    },
    /// Runs an action.
    Action(Box<Action>),
}

/// An action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    /// The action type, which is the name of its element.
    pub kind: String,
    /// The text of its element up to the position of its configuration.
    pub head: Template,
    /// The properties of its configuration, if the type has one: shared ones, the launcher's, its own.
    pub configuration: Option<Vec<(String, Template)>>,
    /// The text from there to the end of its element.
    pub tail: Template,
    /// Whether properties of `config-default.xml` come before its own.
    pub takes_defaults: bool,
    /// The transition after success.
    pub ok: NodeIndex,
    /// The transition after an error.
    pub error: NodeIndex,
    /// `retry-max`.
    pub retry_max: Option<Template>,
    /// `retry-interval`, in minutes.
    pub retry_interval: Option<Template>,
    /// `retry-policy`.
    pub retry_policy: Option<Template>,
    /// The names of its credentials.
    pub cred: Option<String>,
}

impl Work {
    /// Returns the type of its row in the job object.
    pub fn row_type(&self) -> &str {
        match self {
            Work::Start { .. } => ":START:",
            Work::End => ":END:",
            Work::Kill { .. } => ":KILL:",
            Work::Fork { .. } => ":FORK:",
            Work::Join { .. } => ":JOIN:",
            Work::Decision { .. } => "switch",
            Work::Action(action) => &action.kind,
        }
    }

    /// Whether it is a control node, not counting decisions.
    pub fn is_control(&self) -> bool {
        !matches!(self, Work::Decision { .. } | Work::Action(_))
    }

    /// Returns all targets of its transitions.
    pub fn targets(&self) -> Vec<NodeIndex> {
        match self {
            Work::Start { to } | Work::Join { to } => vec![*to],
            Work::End | Work::Kill { .. } => Vec::new(),
            Work::Fork { to } | Work::Decision { to, .. } => to.clone(),
            Work::Action(action) => vec![action.ok, action.error],
        }
    }
}

/// Errors of [`Plan::from_bytes`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The bytes do not begin as a plan does.
    NotAPlan,
    /// The plan was written by a newer version.
    Newer(u16),
    /// The plan is truncated.
    Truncated,
    /// The checksum does not match.
    Damaged,
    /// The bytes are intact, but no compiler made this plan: a run of it would not end, or reach a node without a
    /// successor.
    Unsound(Flaw),
}

/// A defect that no plan of a definition that a server accepts has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The first node is not a start node.
    Start,
    /// A reachable transition leads to no node.
    Lost {
        /// The node.
        node: String,
    },
    /// The transitions contain a cycle.
    Circle {
        /// The node at which the cycle closes.
        node: String,
    },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Start => f.write_str("it does not begin with a start node"),
            Flaw::Lost { node } => write!(f, "`{node}` leads to no node"),
            Flaw::Circle { node } => write!(f, "a run would come back to `{node}` without end"),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::NotAPlan => f.write_str("this is not a plan of ankus"),
            Unreadable::Newer(found) => write!(
                f,
                "this plan has version {found}, written by a newer ankus; this one reads up to {VERSION}"
            ),
            Unreadable::Truncated => f.write_str("this plan is cut short; compile it again"),
            Unreadable::Damaged => {
                f.write_str("this plan is damaged (its checksum does not match); compile it again")
            }
            Unreadable::Unsound(flaw) => {
                write!(f, "no definition compiles to this plan: {flaw}; compile it again")
            }
        }
    }
}

impl std::error::Error for Unreadable {}

impl Plan {
    /// Returns the plan with the properties of files of defaults, which are ordered by precedence, before its own.
    #[must_use]
    pub fn with_defaults(mut self, files: &[Vec<(String, String)>]) -> Plan {
        let own = std::mem::take(&mut self.defaults);
        for (name, value) in files.iter().flatten().cloned().chain(own) {
            if self.defaults.iter().all(|(known, _)| *known != name) {
                self.defaults.push((name, value));
            }
        }
        self
    }

    /// Creates a plan of these nodes alone; the first is the start node.
    pub fn of_nodes(name: Template, dialect: Dialect, nodes: Vec<Node>) -> Plan {
        Plan {
            name,
            namespace: String::new(),
            dialect,
            nodes,
            start: 0,
            parameters: Vec::new(),
            defaults: Vec::new(),
            global: None,
            credentials: Vec::new(),
            functions: Vec::new(),
            path: String::new(),
            lines: vec![0],
            expectations: Vec::new(),
            names: Names::default(),
        }
    }

    /// Serializes the plan; the same plan gives the same bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let content =
            postcard::to_stdvec(self).expect("every part of a plan has a serialized form");
        let mut bytes = Vec::with_capacity(HEADER + content.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        bytes
    }

    /// Reads a plan.
    pub fn from_bytes(bytes: &[u8]) -> Result<Plan, Unreadable> {
        if bytes.len() < HEADER {
            let known = bytes.len().min(MAGIC.len());
            let begins = known > 0 && bytes[..known] == MAGIC[..known];
            return Err(if begins { Unreadable::Truncated } else { Unreadable::NotAPlan });
        }
        let (header, content) = bytes.split_at(HEADER);
        if &header[..8] != MAGIC {
            return Err(Unreadable::NotAPlan);
        }
        let version = u16::from_le_bytes([header[8], header[9]]);
        if version > VERSION {
            return Err(Unreadable::Newer(version));
        }
        let length =
            u64::from_le_bytes(header[10..18].try_into().expect("eight bytes of the header"));
        let sum = u32::from_le_bytes(header[18..22].try_into().expect("four bytes of the header"));
        if (content.len() as u64) < length {
            return Err(Unreadable::Truncated);
        }
        if content.len() as u64 > length
            || content.len() > LARGEST
            || crc32fast::hash(content) != sum
            || version == 0
        {
            return Err(Unreadable::Damaged);
        }
        let plan: Plan = match version {
            // Version 1 has no expectations; an empty list is appended.
            1 => postcard::from_bytes(&[content, &[0]].concat()),
            _ => postcard::from_bytes(content),
        }
        .map_err(|_| Unreadable::Damaged)?;
        if !plan.is_whole() {
            return Err(Unreadable::Damaged);
        }
        match plan.flaw() {
            None => Ok(plan),
            Some(flaw) => Err(Unreadable::Unsound(flaw)),
        }
    }

    /// Whether every index refers to a node or is [`NOWHERE`].
    fn is_whole(&self) -> bool {
        let count = self.nodes.len() as u32;
        self.start < count
            && self
                .nodes
                .iter()
                .all(|node| node.work.targets().iter().all(|to| *to < count || *to == NOWHERE))
            && self.expectations.iter().all(|sla| sla.node < count || sla.node == NOWHERE)
    }

    /// Returns the defect that keeps a run from ending: a reachable transition that leads to no node, or a cycle.
    pub fn flaw(&self) -> Option<Flaw> {
        if !matches!(self.node(self.start).work, Work::Start { .. }) {
            return Some(Flaw::Start);
        }
        let name = |index: NodeIndex| self.node(index).name.clone();
        let mut left = vec![false; self.nodes.len()];
        let mut entered = vec![false; self.nodes.len()];
        // The nodes on the current path, with their targets and the number of targets already visited.
        let mut way: Vec<(NodeIndex, Vec<NodeIndex>, usize)> = Vec::new();
        let mut next = Some(self.start);
        loop {
            if let Some(index) = next.take() {
                entered[index as usize] = true;
                way.push((index, self.node(index).work.targets(), 0));
            }
            let (index, targets, visited) = way.last_mut()?;
            let Some(to) = targets.get(*visited).copied() else {
                left[*index as usize] = true;
                way.pop();
                continue;
            };
            *visited += 1;
            match (to, entered.get(to as usize)) {
                (_, None) => return Some(Flaw::Lost { node: name(*index) }),
                (to, Some(true)) if !left[to as usize] => {
                    return Some(Flaw::Circle { node: name(to) });
                }
                (_, Some(true)) => {}
                (to, Some(false)) => next = Some(to),
            }
        }
    }

    /// Returns the node with this index.
    pub fn node(&self, index: NodeIndex) -> &Node {
        &self.nodes[index as usize]
    }

    /// Returns the node of this name.
    pub fn find(&self, name: &str) -> Option<NodeIndex> {
        let names = self.names.0.get_or_init(|| {
            // The first node of a name counts.
            let nodes = self.nodes.iter().enumerate().rev();
            nodes.map(|(index, node)| (node.name.as_str().into(), index as u32)).collect()
        });
        names.get(name).copied()
    }

    /// Returns all names with their nodes.
    pub fn by_name(&self) -> HashMap<&str, NodeIndex> {
        let names = self.nodes.iter().enumerate();
        names.map(|(index, node)| (node.name.as_str(), index as u32)).collect()
    }

    /// Returns line and column of an offset in the definition, from 1; columns count bytes.
    pub fn position(&self, offset: u32) -> (u32, u32) {
        let line = self.lines.partition_point(|begin| *begin <= offset).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or(0);
        (line as u32, offset.saturating_sub(begin) + 1)
    }
}

/// Returns the plan as JSON for other programs, with names in place of indices.
pub fn to_json(plan: &Plan) -> serde_json::Value {
    use serde_json::{Value, json};
    let name = |index: &NodeIndex| match plan.nodes.get(*index as usize) {
        Some(node) => Value::from(node.name.as_str()),
        None => Value::Null,
    };
    let source = |template: &Option<Template>| match template {
        Some(template) => Value::from(template.source()),
        None => Value::Null,
    };
    let nodes = plan.nodes.iter().map(|node| {
        let (line, column) = plan.position(node.span.0);
        let mut object = json!({"name": node.name, "type": node.work.row_type(), "line": line, "column": column});
        let fields = object.as_object_mut().expect("an object was just made");
        match &node.work {
            Work::Start { to } | Work::Join { to } => {
                fields.insert("to".into(), name(to));
            }
            Work::End => {}
            Work::Kill { message } => {
                fields.insert("message".into(), message.source().into());
            }
            Work::Fork { to } => {
                fields.insert("paths".into(), to.iter().map(name).collect());
            }
            Work::Decision { text, to } => {
                fields.insert("to".into(), to.iter().map(name).collect());
                fields.insert("text".into(), text.source().into());
            }
            Work::Action(action) => {
                fields.insert("ok".into(), name(&action.ok));
                fields.insert("error".into(), name(&action.error));
                fields.insert("retryMax".into(), source(&action.retry_max));
                fields.insert("retryInterval".into(), source(&action.retry_interval));
                fields.insert("retryPolicy".into(), source(&action.retry_policy));
                fields.insert("cred".into(), action.cred.clone().into());
                let configuration = action.configuration.as_ref().map(|properties| {
                    properties
                        .iter()
                        .map(|(name, value)| (name.clone(), Value::from(value.source())))
                        .collect::<serde_json::Map<_, _>>()
                });
                fields.insert("configuration".into(), configuration.into());
                let text = format!("{}{}", action.head.source(), action.tail.source());
                fields.insert("text".into(), text.into());
            }
        }
        object
    });
    json!({
        "version": 1,
        "plan": VERSION,
        "name": plan.name.source(),
        "namespace": plan.namespace,
        "path": plan.path,
        "start": name(&plan.start),
        "parameters": plan.parameters.iter().map(|(name, default)| json!({"name": name, "default": default})).collect::<Vec<_>>(),
        "defaults": plan.defaults.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect::<serde_json::Map<_, _>>(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::el::Phase;

    fn plan(works: &[(&str, Work)]) -> Plan {
        let nodes = works.iter().map(|(name, work)| Node {
            name: (*name).to_owned(),
            span: (0, 0),
            work: work.clone(),
        });
        let name = Template::compile("w", Phase::JobSubmit, Dialect::Tomcat);
        Plan::of_nodes(name, Dialect::Tomcat, nodes.collect())
    }

    #[track_caller]
    fn check(works: &[(&str, Work)], expected: Option<&str>) {
        let read = Plan::from_bytes(&plan(works).to_bytes()).map(|_| ());
        let words = expected
            .map(|flaw| format!("no definition compiles to this plan: {flaw}; compile it again"));
        assert_eq!(read.err().map(|error| error.to_string()), words);
    }

    #[test]
    fn a_plan_that_would_not_come_to_an_end_is_refused() {
        let start = ("s", Work::Start { to: 1 });
        let fork = |to: &[u32]| Work::Fork { to: to.to_vec() };
        let join = |to| Work::Join { to };
        let whole = [start.clone(), ("f", fork(&[2, 2])), ("j", join(3)), ("e", Work::End)];
        check(&whole, None);
        let back = [start.clone(), ("f", fork(&[2, 3])), ("j", join(1)), ("e", Work::End)];
        check(&back, Some("a run would come back to `f` without end"));
        check(&[start.clone(), ("j", join(1))], Some("a run would come back to `j` without end"));
        check(&[start.clone(), ("j", join(NOWHERE))], Some("`j` leads to no node"));
        check(&[("e", Work::End), start.clone()], Some("it does not begin with a start node"));
        // Nodes that no run reaches are not checked, as on a server.
        let apart = [start, ("e", Work::End), ("f", fork(&[2])), ("g", fork(&[NOWHERE]))];
        check(&apart, None);
        assert_eq!(plan(&apart).beginning_at("f").err(), Some(NoPart::Endless));
        assert_eq!(plan(&apart).beginning_at("g").err(), Some(NoPart::Endless));
        assert!(plan(&whole).beginning_at("f").is_ok());
    }
}
