//! A workflow, typed.
//!
//! [`Node`]s are the positions of a run, [`Transition`]s its moves; both are flat lists, in the order of the text,
//! addressed by [`NodeId`] and [`TransitionId`]. `start` is a node like any other. What an action does is its [`Body`]:
//! what all types share by name, the rest in [`Details`].

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use super::{Scalar, lower};
use crate::source::{Slice, Span, look};
use crate::syntax::xml;

/// A node, by its place in [`Workflow::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A transition, by its place in [`Workflow::transitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransitionId(pub u32);

impl TransitionId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A workflow definition. Everything may be missing.
#[derive(Clone, Debug, Default)]
pub struct Workflow {
    /// The text it is written in.
    pub text: Arc<String>,
    /// The element `workflow-app`.
    pub element: Option<xml::NodeId>,
    /// The name of its element in the start tag; the place for findings about all of it.
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
    /// Every node, `start` included, in the order of the text.
    pub nodes: Vec<Node>,
    /// Every transition, grouped by node, in the order of the text.
    pub transitions: Vec<Transition>,
    /// The SLA block of the workflow itself.
    pub sla: Option<Sla>,
}

impl Workflow {
    /// Every node with its id.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(index, node)| {
            look();
            (NodeId(index as u32), node)
        })
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        look();
        &self.nodes[id.index()]
    }

    /// Every transition.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition> {
        self.transitions.iter().inspect(|_| look())
    }

    /// The ways out of a node.
    pub fn exits(&self, id: NodeId) -> &[Transition] {
        let exits = &self.node(id).exits;
        &self.transitions[exits.start as usize..exits.end as usize]
    }

    /// The `start` node.
    pub fn start(&self) -> Option<NodeId> {
        self.nodes().find(|(_, node)| node.shape == Shape::Start).map(|(id, _)| id)
    }

    /// Every action with its node.
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

/// A name where it is defined, or where it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: Slice,
    /// The attribute's value; the element's own name where the attribute is missing.
    pub span: Span,
    /// Whether the attribute is there.
    pub given: bool,
}

/// What a node is.
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
    /// What it is.
    pub shape: Shape,
    /// Its element.
    pub element: xml::NodeId,
    /// The name of its element in the start tag.
    pub tag: Span,
    /// All of its element.
    pub span: Span,
    /// The ways out, as a range of [`Workflow::transitions`].
    pub exits: Range<u32>,
    /// What an action does.
    pub action: Option<Held>,
    /// The message of a kill node.
    pub message: Option<Box<Scalar>>,
}

/// How a node is left.
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
    /// No case of a decision.
    Default,
    /// A path of a fork.
    Path,
    /// From a join.
    Join,
}

impl Way {
    /// The word for it in output.
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

/// A way out of a node.
#[derive(Clone, Debug)]
pub struct Transition {
    /// Its place in [`Workflow::transitions`].
    pub id: TransitionId,
    /// The node that is left.
    pub from: NodeId,
    /// How it is left.
    pub way: Way,
    /// The name of the node that is entered.
    pub target: Name,
    /// The element that says so.
    pub element: xml::NodeId,
    /// All of that element.
    pub span: Span,
    /// The predicate of a case.
    pub predicate: Option<Box<Scalar>>,
}

/// A property of `<parameters>`, `<configuration>` or a credential.
#[derive(Clone, Debug)]
pub struct Property {
    /// All of its element.
    pub span: Span,
    /// Its name; empty where it is missing.
    pub name: Scalar,
    /// Its value.
    pub value: Option<Scalar>,
    /// Words about it.
    pub description: Option<Scalar>,
}

/// What all actions share.
#[derive(Clone, Debug)]
pub struct Global {
    /// Its element.
    pub element: xml::NodeId,
    /// All of its element.
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
    /// All of its element.
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
    /// All of its element.
    pub span: Span,
    /// Each child in order: its name, where that stands, and its text.
    pub settings: Vec<(Slice, Span, Scalar)>,
}

/// An SLA block.
#[derive(Clone, Debug)]
pub struct Sla {
    /// Its element.
    pub element: xml::NodeId,
    /// All of its element.
    pub span: Span,
    /// The namespace name, `uri:oozie:sla:0.2`.
    pub namespace: Slice,
    /// Each child in order: its name and its text.
    pub settings: Vec<(Slice, Scalar)>,
}

/// What an action holds, read when it is first asked for: the flow of control needs none of it, and of a long definition it
/// would be the largest part.
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

    /// Whether it has an attribute `cred`.
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

/// What an `<action>` holds beside its transitions.
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
    /// The first element that is no transition and no SLA block.
    pub body: Option<Body>,
    /// The names of further bodies, which the schema forbids.
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
    /// The name of its element in the start tag.
    pub tag: Span,
    /// All of its element.
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
    /// `<capture-output>`, where it stands.
    pub capture_output: Option<Span>,
    /// What only some types have.
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

/// One operation on files, of `<prepare>` or of an `fs` action.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The name of its element: `delete`, `mkdir`, `move`, `chmod`, `touchz`, `chgrp`, `setrep`.
    pub kind: Slice,
    /// Where that name stands.
    pub tag: Span,
    /// Its element.
    pub element: xml::NodeId,
    /// `path`, or `source` of a move.
    pub path: Option<Scalar>,
    /// `target` of a move.
    pub target: Option<Scalar>,
    /// Every other attribute: its name and its value.
    pub options: Vec<(Slice, Scalar)>,
    /// `<recursive/>`.
    pub recursive: bool,
}

/// What only some types of action have.
#[derive(Clone, Debug)]
pub enum Details {
    /// `fs`.
    Fs {
        /// In order.
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
        /// `<propagate-configuration>`, where it stands.
        propagate_configuration: Option<Span>,
    },
    /// A type that ankus has no fields for; its element says the rest.
    Other,
}

/// `<streaming>` or `<pipes>`.
#[derive(Clone, Debug)]
pub struct Group {
    /// All of its element.
    pub span: Span,
    /// Each child in order: its name and its text.
    pub settings: Vec<(Slice, Scalar)>,
}
