//! A typed workflow.
//!
//! [`Node`]s are the positions of a run, [`Transition`]s its moves; both are flat lists, in source order, addressed by
//! [`NodeId`] and [`TransitionId`]. `start` is a node like any other. What an action does is its [`Body`]: fields
//! common to all types, and the rest in [`Details`].

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use super::{Scalar, lower};
use crate::source::{Slice, Span, look};
use crate::syntax::xml;

/// A node, by its index in [`Workflow::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition, by its index in [`Workflow::transitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransitionId(pub u32);

impl TransitionId {
    /// The id as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A workflow definition. Any part may be missing.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    /// The source text.
    pub text: Arc<String>,
    /// The element `workflow-app`.
    pub element: Option<xml::NodeId>,
    /// The name in its start tag; the location of findings about the whole workflow.
    pub span: Span,
    /// The namespace name, `uri:oozie:workflow:0.5`.
    pub namespace: Slice,
    /// The attribute `name`.
    pub name: Option<Scalar>,
    /// `<parameters>`.
    pub parameters: Vec<Property>,
    /// `<global>`.
    pub global: Option<Global>,
    /// `<credentials>`.
    pub credentials: Vec<Credential>,
    /// All nodes, including `start`, in source order.
    pub nodes: Vec<Node>,
    /// All transitions, grouped by node, in source order.
    pub transitions: Vec<Transition>,
    /// The SLA block of the workflow itself.
    pub sla: Option<Sla>,
}

impl Workflow {
    /// All nodes with their ids.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| {
            look();
            (NodeId(index as u32), node)
        })
    }

    /// The node with an id.
    pub fn node(&self, id: NodeId) -> &Node {
        look();
        &self.nodes[id.index()]
    }

    /// All transitions.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter().inspect(|_| look())
    }

    /// The transitions out of a node.
    pub fn exits(&self, id: NodeId) -> &[Transition] {
        let exits = &self.node(id).exits;
        &self.transitions[exits.start as usize..exits.end as usize]
    }

    /// The `start` node.
    pub fn start(&self) -> Option<NodeId> {
        self.nodes().find(|(_, node)| node.shape == Shape::Start).map(|(id, _)| id)
    }

    /// All actions with their nodes.
    pub fn actions(&self) -> impl Iterator<Item = (NodeId, &Node, &Action)> {
        self.nodes().filter_map(|(id, node)| Some((id, node, node.action.as_deref()?)))
    }

    /// Whether the schema is of this version or newer; unknown namespaces count as the newest.
    pub fn is_at_least(&self, version: &str) -> bool {
        let own = self.namespace.strip_prefix("uri:oozie:workflow:").unwrap_or("1.0");
        let key = |version: &str| {
            version.split('.').map(|part| part.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>()
        };
        key(own) >= key(version)
    }
}

/// A name where it is defined or used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Slice,
    /// The span of the attribute's value, or of the element's name if the attribute is missing.
    pub span: Span,
    /// Whether the attribute exists.
    pub given: bool,
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `<start>`.
    Start,
    /// `<action>`.
    Action,
    /// `<decision>`.
    Decision,
    /// `<fork>`.
    Fork,
    /// `<join>`.
    Join,
    /// `<kill>`.
    Kill,
    /// `<end>`.
    End,
}

impl Shape {
    /// The name of its element.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Start => "start",
            Shape::Action => "action",
            Shape::Decision => "decision",
            Shape::Fork => "fork",
            Shape::Join => "join",
            Shape::Kill => "kill",
            Shape::End => "end",
        }
    }
}

/// A node of the graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name; `:start:` for the start, as the engine calls it.
    pub name: Name,
    /// Its type.
    pub shape: Shape,
    /// Its element.
    pub element: xml::NodeId,
    /// The name in its start tag.
    pub tag: Span,
    /// The span of its element.
    pub span: Span,
    /// The transitions out of it, as a range of [`Workflow::transitions`].
    pub exits: Range<u32>,
    /// The content of an action.
    pub action: Option<Held>,
    /// The message of a kill node.
    pub message: Option<Box<Scalar>>,
}

/// How a transition leaves its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// From `start`.
    Start,
    /// An action that succeeded.
    Ok,
    /// An action that failed.
    Error,
    /// A case of a decision.
    Case,
    /// The default of a decision.
    Default,
    /// A path of a fork.
    Path,
    /// From a join.
    Join,
}

impl Way {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Way::Start => "start",
            Way::Ok => "ok",
            Way::Error => "error",
            Way::Case => "case",
            Way::Default => "default",
            Way::Path => "path",
            Way::Join => "join",
        }
    }
}

/// A transition out of a node.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Its index in [`Workflow::transitions`].
    pub id: TransitionId,
    /// The source node.
    pub from: NodeId,
    /// How it leaves the node.
    pub way: Way,
    /// The name of the target node.
    pub target: Name,
    /// The element that declares it.
    pub element: xml::NodeId,
    /// The span of that element.
    pub span: Span,
    /// The predicate of a case.
    pub predicate: Option<Box<Scalar>>,
}

/// A property of `<parameters>`, `<configuration>` or a credential.
#[derive(Clone, Debug)]
pub struct Property {
    /// The span of its element.
    pub span: Span,
    /// Its name; empty if it is missing.
    pub name: Scalar,
    /// Its value.
    pub value: Option<Scalar>,
    /// Its description.
    pub description: Option<Scalar>,
}

/// Settings common to all actions.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its element.
    pub element: xml::NodeId,
    /// The span of its element.
    pub span: Span,
    /// `<job-tracker>` or `<resource-manager>`.
    pub resource_manager: Option<Scalar>,
    /// `<name-node>`.
    pub name_node: Option<Scalar>,
    /// `<launcher>`.
    pub launcher: Option<Launcher>,
    /// `<job-xml>`.
    pub job_xml: Vec<Scalar>,
    /// `<configuration>`.
    pub configuration: Vec<Property>,
}

/// A credential that actions can name.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The span of its element.
    pub span: Span,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: Option<Scalar>,
    /// Its properties.
    pub properties: Vec<Property>,
}

/// Settings of the launcher of an action.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The span of its element.
    pub span: Span,
    /// Child elements in order: name, span of the name, and text.
    pub settings: Vec<(Slice, Span, Scalar)>,
}

/// An SLA block.
#[derive(Clone, Debug)]
pub struct Sla {
    /// Its element.
    pub element: xml::NodeId,
    /// The span of its element.
    pub span: Span,
    /// The namespace name, `uri:oozie:sla:0.2`.
    pub namespace: Slice,
    /// Child elements in order: name and text.
    pub settings: Vec<(Slice, Scalar)>,
}

/// The content of an action, lowered on first use: control flow does not need it, and it would be the largest part of
/// a long definition.
#[derive(Clone)]
pub struct Held {
    tree: Arc<xml::Tree>,
    element: xml::NodeId,
    action: OnceLock<Box<Action>>,
}

impl Held {
    pub(super) fn new(tree: &Arc<xml::Tree>, element: xml::NodeId) -> Held {
        Held { tree: Arc::clone(tree), element, action: OnceLock::new() }
    }

    /// Whether it has a `cred` attribute.
    pub(crate) fn has_cred(&self) -> bool {
        let element = self.tree.element(self.element);
        element.is_some_and(|element| element.attribute("cred").is_some())
    }
}

impl Deref for Held {
    type Target = Action;

    fn deref(&self) -> &Action {
        self.action.get_or_init(|| {
            let element = self.tree.element(self.element);
            Box::new(element.map(lower::action).unwrap_or_default())
        })
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

/// The content of an `<action>` other than its transitions.
#[derive(Clone, Debug, Default)]
pub struct Action {
    /// `retry-max`.
    pub retry_max: Option<Box<Scalar>>,
    /// `retry-interval`, in minutes.
    pub retry_interval: Option<Box<Scalar>>,
    /// `retry-policy`.
    pub retry_policy: Option<Box<Scalar>>,
    /// `cred`: names of credentials, separated by commas.
    pub cred: Option<Box<Scalar>>,
    /// The first element that is neither a transition nor an SLA block.
    pub body: Option<Body>,
    /// Spans of the names of further bodies, which the schema forbids.
    pub more_bodies: Vec<Span>,
    /// The SLA block.
    pub sla: Option<Box<Sla>>,
}

/// What an action does.
#[derive(Clone, Debug)]
pub struct Body {
    /// The type: the local name of its element.
    pub kind: Slice,
    /// The namespace name.
    pub namespace: Slice,
    /// Its element.
    pub element: xml::NodeId,
    /// The name in its start tag.
    pub tag: Span,
    /// The span of its element.
    pub span: Span,
    /// `<job-tracker>` or `<resource-manager>`.
    pub resource_manager: Option<Scalar>,
    /// `<name-node>`.
    pub name_node: Option<Scalar>,
    /// `<prepare>`, in order.
    pub prepare: Vec<FileOperation>,
    /// `<launcher>`.
    pub launcher: Option<Box<Launcher>>,
    /// `<job-xml>`.
    pub job_xml: Vec<Scalar>,
    /// `<configuration>`.
    pub configuration: Vec<Property>,
    /// `<file>`.
    pub files: Vec<Scalar>,
    /// `<archive>`.
    pub archives: Vec<Scalar>,
    /// The span of `<capture-output>`.
    pub capture_output: Option<Span>,
    /// Fields that only some types have.
    pub details: Details,
}

impl Body {
    /// Arguments in order, whatever the type calls them (`argument`, `arg`, `args`).
    pub fn arguments(&self) -> &[Scalar] {
        match &self.details {
            Details::Shell { arguments, .. }
            | Details::Pig { arguments, .. }
            | Details::Hive { arguments, .. }
            | Details::Java { arguments, .. }
            | Details::Sqoop { arguments, .. }
            | Details::Spark { arguments, .. }
            | Details::Distcp { arguments, .. }
            | Details::Ssh { arguments, .. } => arguments,
            _ => &[],
        }
    }
}

/// One file operation, in `<prepare>` or in an `fs` action.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The name of its element: `delete`, `mkdir`, `move`, `chmod`, `touchz`, `chgrp`, `setrep`.
    pub kind: Slice,
    /// The span of that name.
    pub tag: Span,
    /// Its element.
    pub element: xml::NodeId,
    /// `path`, or `source` of a move.
    pub path: Option<Scalar>,
    /// `target` of a move.
    pub target: Option<Scalar>,
    /// All other attributes: name and value.
    pub options: Vec<(Slice, Scalar)>,
    /// `<recursive/>`.
    pub recursive: bool,
}

/// Fields that only some action types have.
#[derive(Clone, Debug)]
pub enum Details {
    /// `fs`.
    Fs {
        /// Operations in order.
        operations: Vec<FileOperation>,
    },
    /// `shell`.
    Shell {
        /// `<exec>`.
        exec: Option<Box<Scalar>>,
        /// `<argument>`.
        arguments: Vec<Scalar>,
        /// `<env-var>`.
        env_vars: Vec<Scalar>,
    },
    /// `java`.
    Java {
        /// `<main-class>`.
        main_class: Option<Box<Scalar>>,
        /// `<java-opts>` and `<java-opt>`.
        java_opts: Vec<Scalar>,
        /// `<arg>`.
        arguments: Vec<Scalar>,
    },
    /// `map-reduce`.
    MapReduce {
        /// `<streaming>`.
        streaming: Option<Group>,
        /// `<pipes>`.
        pipes: Option<Group>,
        /// `<config-class>`.
        config_class: Option<Box<Scalar>>,
    },
    /// `pig`.
    Pig {
        /// `<script>`.
        script: Option<Box<Scalar>>,
        /// `<param>`.
        params: Vec<Scalar>,
        /// `<argument>`.
        arguments: Vec<Scalar>,
    },
    /// `hive` and `hive2`.
    Hive {
        /// `<script>`.
        script: Option<Box<Scalar>>,
        /// `<query>`.
        query: Option<Box<Scalar>>,
        /// `<param>`.
        params: Vec<Scalar>,
        /// `<argument>`.
        arguments: Vec<Scalar>,
        /// `<jdbc-url>` of `hive2`.
        jdbc_url: Option<Box<Scalar>>,
        /// `<password>` of `hive2`.
        password: Option<Box<Scalar>>,
    },
    /// `sqoop`.
    Sqoop {
        /// `<command>`.
        command: Option<Box<Scalar>>,
        /// `<arg>`.
        arguments: Vec<Scalar>,
    },
    /// `spark`.
    Spark {
        /// `<master>`.
        master: Option<Box<Scalar>>,
        /// `<mode>`.
        mode: Option<Box<Scalar>>,
        /// `<name>`.
        name: Option<Box<Scalar>>,
        /// `<class>`.
        class: Option<Box<Scalar>>,
        /// `<jar>`.
        jar: Option<Box<Scalar>>,
        /// `<spark-opts>`.
        spark_opts: Option<Box<Scalar>>,
        /// `<arg>`.
        arguments: Vec<Scalar>,
    },
    /// `distcp`.
    Distcp {
        /// `<java-opts>`.
        java_opts: Option<Box<Scalar>>,
        /// `<arg>`.
        arguments: Vec<Scalar>,
    },
    /// `git`.
    Git {
        /// `<git-uri>`.
        git_uri: Option<Box<Scalar>>,
        /// `<branch>`.
        branch: Option<Box<Scalar>>,
        /// `<key-path>`.
        key_path: Option<Box<Scalar>>,
        /// `<destination-uri>`.
        destination_uri: Option<Box<Scalar>>,
    },
    /// `email`.
    Email {
        /// `<to>`.
        to: Option<Box<Scalar>>,
        /// `<cc>`.
        cc: Option<Box<Scalar>>,
        /// `<bcc>`.
        bcc: Option<Box<Scalar>>,
        /// `<subject>`.
        subject: Option<Box<Scalar>>,
        /// `<body>`, or `<message>` in workflow 0.1.
        body: Option<Box<Scalar>>,
        /// `<content_type>`.
        content_type: Option<Box<Scalar>>,
        /// `<attachment>`.
        attachment: Option<Box<Scalar>>,
    },
    /// `ssh`.
    Ssh {
        /// `<host>`.
        host: Option<Box<Scalar>>,
        /// `<command>`.
        command: Option<Box<Scalar>>,
        /// `<args>` and `<arg>`.
        arguments: Vec<Scalar>,
    },
    /// `sub-workflow`.
    SubWorkflow {
        /// `<app-path>`.
        app_path: Option<Box<Scalar>>,
        /// The span of `<propagate-configuration>`.
        propagate_configuration: Option<Span>,
    },
    /// A type without fields here; see its element.
    Other,
}

/// `<streaming>` or `<pipes>`.
#[derive(Clone, Debug)]
pub struct Group {
    /// The span of its element.
    pub span: Span,
    /// Child elements in order: name and text.
    pub settings: Vec<(Slice, Scalar)>,
}
