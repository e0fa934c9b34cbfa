//! A workflow, typed.
//!
//! [`Node`]s are the positions of a run, [`Transition`]s its moves; both are flat lists, in the order of the text,
//! addressed by [`NodeId`] and [`TransitionId`]. `start` is a node like any other. What an action does is its [`Body`]:
//! what all types share by name, the rest in [`Details`].

use std::borrow::Cow;
use std::ops::Range;

use super::Scalar;
use crate::source::{Span, look};
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
pub struct Workflow<'a> {
    /// The text it is written in.
    pub text: &'a str,
    /// The element `workflow-app`.
    pub element: Option<xml::NodeId>,
    /// The name of its element in the start tag; the place for findings about all of it.
    pub span: Span,
    /// The namespace name, `uri:oozie:workflow:0.5`.
    pub namespace: Cow<'a, str>,
    /// The attribute `name`.
    pub name: Option<Scalar<'a>>,
    /// `<parameters>`.
    pub parameters: Vec<Property<'a>>,
    /// `<global>`.
    pub global: Option<Global<'a>>,
    /// `<credentials>`.
    pub credentials: Vec<Credential<'a>>,
    /// Every node, `start` included, in the order of the text.
    pub nodes: Vec<Node<'a>>,
    /// Every transition, grouped by node, in the order of the text.
    pub transitions: Vec<Transition<'a>>,
    /// The SLA block of the workflow itself.
    pub sla: Option<Sla<'a>>,
}

impl<'a> Workflow<'a> {
    /// Every node with its id.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node<'a>)> {
        self.nodes.iter().enumerate().map(|(index, node)| {
            look();
            (NodeId(index as u32), node)
        })
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node<'a> {
        look();
        &self.nodes[id.index()]
    }

    /// Every transition.
    pub fn transitions(&self) -> impl Iterator<Item = &Transition<'a>> {
        self.transitions.iter().inspect(|_| look())
    }

    /// The ways out of a node.
    pub fn exits(&self, id: NodeId) -> &[Transition<'a>] {
        let exits = &self.node(id).exits;
        &self.transitions[exits.start as usize..exits.end as usize]
    }

    /// The `start` node.
    pub fn start(&self) -> Option<NodeId> {
        self.nodes().find(|(_, node)| node.shape == Shape::Start).map(|(id, _)| id)
    }

    /// Every action with its node.
    pub fn actions(&self) -> impl Iterator<Item = (NodeId, &Node<'a>, &Action<'a>)> {
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
pub struct Name<'a> {
    /// The name.
    pub text: Cow<'a, str>,
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
pub struct Node<'a> {
    /// Its name; `:start:` for the start, as the engine calls it.
    pub name: Name<'a>,
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
    pub action: Option<Box<Action<'a>>>,
    /// The message of a kill node.
    pub message: Option<Box<Scalar<'a>>>,
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
pub struct Transition<'a> {
    /// Its place in [`Workflow::transitions`].
    pub id: TransitionId,
    /// The node that is left.
    pub from: NodeId,
    /// How it is left.
    pub way: Way,
    /// The name of the node that is entered.
    pub target: Name<'a>,
    /// The element that says so.
    pub element: xml::NodeId,
    /// All of that element.
    pub span: Span,
    /// The predicate of a case.
    pub predicate: Option<Box<Scalar<'a>>>,
}

/// A property of `<parameters>`, `<configuration>` or a credential.
#[derive(Clone, Debug)]
pub struct Property<'a> {
    /// All of its element.
    pub span: Span,
    /// Its name; empty where it is missing.
    pub name: Scalar<'a>,
    /// Its value.
    pub value: Option<Scalar<'a>>,
    /// Words about it.
    pub description: Option<Scalar<'a>>,
}

/// What all actions share.
#[derive(Clone, Debug)]
pub struct Global<'a> {
    /// Its element.
    pub element: xml::NodeId,
    /// All of its element.
    pub span: Span,
    /// `<job-tracker>` or `<resource-manager>`.
    pub resource_manager: Option<Scalar<'a>>,
    /// `<name-node>`.
    pub name_node: Option<Scalar<'a>>,
    /// `<launcher>`.
    pub launcher: Option<Launcher<'a>>,
    /// `<job-xml>`.
    pub job_xml: Vec<Scalar<'a>>,
    /// `<configuration>`.
    pub configuration: Vec<Property<'a>>,
}

/// A credential that actions can name.
#[derive(Clone, Debug)]
pub struct Credential<'a> {
    /// All of its element.
    pub span: Span,
    /// Its name.
    pub name: Name<'a>,
    /// Its type.
    pub kind: Option<Scalar<'a>>,
    /// Its properties.
    pub properties: Vec<Property<'a>>,
}

/// Settings of the launcher of an action.
#[derive(Clone, Debug)]
pub struct Launcher<'a> {
    /// All of its element.
    pub span: Span,
    /// Each child in order: its name, where that stands, and its text.
    pub settings: Vec<(Cow<'a, str>, Span, Scalar<'a>)>,
}

/// An SLA block.
#[derive(Clone, Debug)]
pub struct Sla<'a> {
    /// Its element.
    pub element: xml::NodeId,
    /// All of its element.
    pub span: Span,
    /// The namespace name, `uri:oozie:sla:0.2`.
    pub namespace: Cow<'a, str>,
    /// Each child in order: its name and its text.
    pub settings: Vec<(Cow<'a, str>, Scalar<'a>)>,
}

/// What an `<action>` holds beside its transitions.
#[derive(Clone, Debug, Default)]
pub struct Action<'a> {
    /// `retry-max`.
    pub retry_max: Option<Box<Scalar<'a>>>,
    /// `retry-interval`, in minutes.
    pub retry_interval: Option<Box<Scalar<'a>>>,
    /// `retry-policy`.
    pub retry_policy: Option<Box<Scalar<'a>>>,
    /// `cred`: names of credentials, separated by commas.
    pub cred: Option<Box<Scalar<'a>>>,
    /// The first element that is no transition and no SLA block.
    pub body: Option<Body<'a>>,
    /// The names of further bodies, which the schema forbids.
    pub more_bodies: Vec<Span>,
    /// The SLA block.
    pub sla: Option<Box<Sla<'a>>>,
}

/// What an action does.
#[derive(Clone, Debug)]
pub struct Body<'a> {
    /// The type: the local name of its element.
    pub kind: Cow<'a, str>,
    /// The namespace name.
    pub namespace: Cow<'a, str>,
    /// Its element.
    pub element: xml::NodeId,
    /// The name of its element in the start tag.
    pub tag: Span,
    /// All of its element.
    pub span: Span,
    /// `<job-tracker>` or `<resource-manager>`.
    pub resource_manager: Option<Scalar<'a>>,
    /// `<name-node>`.
    pub name_node: Option<Scalar<'a>>,
    /// `<prepare>`, in order.
    pub prepare: Vec<FileOperation<'a>>,
    /// `<launcher>`.
    pub launcher: Option<Box<Launcher<'a>>>,
    /// `<job-xml>`.
    pub job_xml: Vec<Scalar<'a>>,
    /// `<configuration>`.
    pub configuration: Vec<Property<'a>>,
    /// `<file>`.
    pub files: Vec<Scalar<'a>>,
    /// `<archive>`.
    pub archives: Vec<Scalar<'a>>,
    /// `<capture-output>`, where it stands.
    pub capture_output: Option<Span>,
    /// What only some types have.
    pub details: Details<'a>,
}

impl<'a> Body<'a> {
    /// Arguments in order, whatever the type calls them (`argument`, `arg`, `args`).
    pub fn arguments(&self) -> &[Scalar<'a>] {
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
pub struct FileOperation<'a> {
    /// The name of its element: `delete`, `mkdir`, `move`, `chmod`, `touchz`, `chgrp`, `setrep`.
    pub kind: Cow<'a, str>,
    /// Where that name stands.
    pub tag: Span,
    /// Its element.
    pub element: xml::NodeId,
    /// `path`, or `source` of a move.
    pub path: Option<Scalar<'a>>,
    /// `target` of a move.
    pub target: Option<Scalar<'a>>,
    /// Every other attribute: its name and its value.
    pub options: Vec<(Cow<'a, str>, Scalar<'a>)>,
    /// `<recursive/>`.
    pub recursive: bool,
}

/// What only some types of action have.
#[derive(Clone, Debug)]
pub enum Details<'a> {
    /// `fs`.
    Fs {
        /// In order.
        operations: Vec<FileOperation<'a>>,
    },
    /// `shell`.
    Shell {
        /// `<exec>`.
        exec: Option<Box<Scalar<'a>>>,
        /// `<argument>`.
        arguments: Vec<Scalar<'a>>,
        /// `<env-var>`.
        env_vars: Vec<Scalar<'a>>,
    },
    /// `java`.
    Java {
        /// `<main-class>`.
        main_class: Option<Box<Scalar<'a>>>,
        /// `<java-opts>` and `<java-opt>`.
        java_opts: Vec<Scalar<'a>>,
        /// `<arg>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `map-reduce`.
    MapReduce {
        /// `<streaming>`.
        streaming: Option<Group<'a>>,
        /// `<pipes>`.
        pipes: Option<Group<'a>>,
        /// `<config-class>`.
        config_class: Option<Box<Scalar<'a>>>,
    },
    /// `pig`.
    Pig {
        /// `<script>`.
        script: Option<Box<Scalar<'a>>>,
        /// `<param>`.
        params: Vec<Scalar<'a>>,
        /// `<argument>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `hive` and `hive2`.
    Hive {
        /// `<script>`.
        script: Option<Box<Scalar<'a>>>,
        /// `<query>`.
        query: Option<Box<Scalar<'a>>>,
        /// `<param>`.
        params: Vec<Scalar<'a>>,
        /// `<argument>`.
        arguments: Vec<Scalar<'a>>,
        /// `<jdbc-url>` of `hive2`.
        jdbc_url: Option<Box<Scalar<'a>>>,
        /// `<password>` of `hive2`.
        password: Option<Box<Scalar<'a>>>,
    },
    /// `sqoop`.
    Sqoop {
        /// `<command>`.
        command: Option<Box<Scalar<'a>>>,
        /// `<arg>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `spark`.
    Spark {
        /// `<master>`.
        master: Option<Box<Scalar<'a>>>,
        /// `<mode>`.
        mode: Option<Box<Scalar<'a>>>,
        /// `<name>`.
        name: Option<Box<Scalar<'a>>>,
        /// `<class>`.
        class: Option<Box<Scalar<'a>>>,
        /// `<jar>`.
        jar: Option<Box<Scalar<'a>>>,
        /// `<spark-opts>`.
        spark_opts: Option<Box<Scalar<'a>>>,
        /// `<arg>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `distcp`.
    Distcp {
        /// `<java-opts>`.
        java_opts: Option<Box<Scalar<'a>>>,
        /// `<arg>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `git`.
    Git {
        /// `<git-uri>`.
        git_uri: Option<Box<Scalar<'a>>>,
        /// `<branch>`.
        branch: Option<Box<Scalar<'a>>>,
        /// `<key-path>`.
        key_path: Option<Box<Scalar<'a>>>,
        /// `<destination-uri>`.
        destination_uri: Option<Box<Scalar<'a>>>,
    },
    /// `email`.
    Email {
        /// `<to>`.
        to: Option<Box<Scalar<'a>>>,
        /// `<cc>`.
        cc: Option<Box<Scalar<'a>>>,
        /// `<bcc>`.
        bcc: Option<Box<Scalar<'a>>>,
        /// `<subject>`.
        subject: Option<Box<Scalar<'a>>>,
        /// `<body>`, or `<message>` in workflow 0.1.
        body: Option<Box<Scalar<'a>>>,
        /// `<content_type>`.
        content_type: Option<Box<Scalar<'a>>>,
        /// `<attachment>`.
        attachment: Option<Box<Scalar<'a>>>,
    },
    /// `ssh`.
    Ssh {
        /// `<host>`.
        host: Option<Box<Scalar<'a>>>,
        /// `<command>`.
        command: Option<Box<Scalar<'a>>>,
        /// `<args>` and `<arg>`.
        arguments: Vec<Scalar<'a>>,
    },
    /// `sub-workflow`.
    SubWorkflow {
        /// `<app-path>`.
        app_path: Option<Box<Scalar<'a>>>,
        /// `<propagate-configuration>`, where it stands.
        propagate_configuration: Option<Span>,
    },
    /// A type that ankus has no fields for; its element says the rest.
    Other,
}

/// `<streaming>` or `<pipes>`.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// All of its element.
    pub span: Span,
    /// Each child in order: its name and its text.
    pub settings: Vec<(Cow<'a, str>, Scalar<'a>)>,
}
