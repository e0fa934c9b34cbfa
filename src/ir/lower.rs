//! Lowers a tree to a typed workflow.
//!
//! Total: an element that has no place in the definition is left out, and `schema` decides whether that is a fault.
//! Names are compared without their namespaces, because a broken namespace must not hide an action.

use super::Scalar;
use super::workflow::{
    Action, Body, Credential, Details, FileOperation, Global, Group, Held, Launcher, Name, Node,
    NodeId, Property, Shape, Sla, Transition, TransitionId, Way, Workflow,
};
use crate::source::{Slice, Span};
use crate::syntax::xml::{AttributeRef, Element, Tree};
use std::sync::Arc;

/// Lowers the workflow of a tree, whatever its root element is called.
pub fn workflow(tree: &Arc<Tree>) -> Workflow {
    let Some(root) = tree.root() else { return Workflow::default() };
    let mut workflow = Workflow {
        text: tree.shared(),
        element: Some(root.id()),
        span: root.name_span(),
        namespace: namespace(root),
        name: root.attribute("name").map(Scalar::of_attribute),
        ..Workflow::default()
    };
    let count = root.elements().count();
    workflow.nodes.reserve_exact(count);
    workflow.transitions.reserve(2 * count);
    for element in root.elements() {
        let shape = match element.name() {
            "start" => Shape::Start,
            "action" => Shape::Action,
            "decision" => Shape::Decision,
            "fork" => Shape::Fork,
            "join" => Shape::Join,
            "kill" => Shape::Kill,
            "end" => Shape::End,
            "parameters" => {
                workflow.parameters.extend(properties(element));
                continue;
            }
            "credentials" => {
                workflow
                    .credentials
                    .extend(element.elements().filter(|e| e.is("credential")).map(credential));
                continue;
            }
            "global" => {
                workflow.global.get_or_insert_with(|| global(element));
                continue;
            }
            "info" => {
                workflow.sla.get_or_insert_with(|| sla(element));
                continue;
            }
            _ => continue,
        };
        node(&mut workflow, tree, element, shape);
    }
    workflow
}

fn node(workflow: &mut Workflow, tree: &Arc<Tree>, element: Element<'_>, shape: Shape) {
    let id = NodeId(workflow.nodes.len() as u32);
    let first = workflow.transitions.len() as u32;
    let mut add = |way: Way, element: Element<'_>, attribute: &str| {
        let target = name(element, attribute);
        let predicate = (way == Way::Case).then(|| Box::new(Scalar::of_element(element)));
        let transition = TransitionId(workflow.transitions.len() as u32);
        workflow.transitions.push(Transition {
            id: transition,
            from: id,
            way,
            target,
            element: element.id(),
            span: element.span(),
            predicate,
        });
    };

    let mut action = None;
    let mut message = None;
    match shape {
        Shape::Start => add(Way::Start, element, "to"),
        Shape::Join => add(Way::Join, element, "to"),
        Shape::End => {}
        Shape::Kill => {
            message = element.child("message").map(|message| Box::new(Scalar::of_element(message)))
        }
        Shape::Fork => {
            for path in element.elements().filter(|e| e.is("path")) {
                add(Way::Path, path, "start");
            }
        }
        Shape::Decision => {
            for switch in element.elements().filter(|e| e.is("switch")) {
                for exit in switch.elements() {
                    match exit.name() {
                        "case" => add(Way::Case, exit, "to"),
                        "default" => add(Way::Default, exit, "to"),
                        _ => {}
                    }
                }
            }
        }
        Shape::Action => {
            for child in element.elements() {
                match child.name() {
                    "ok" => add(Way::Ok, child, "to"),
                    "error" => add(Way::Error, child, "to"),
                    _ => {}
                }
            }
            action = Some(Held::new(tree, element.id()));
        }
    }

    let mut name = name(element, "name");
    if shape == Shape::Start {
        name = Name { text: ":start:".into(), span: element.name_span(), given: true };
    }
    workflow.nodes.push(Node {
        name,
        shape,
        element: element.id(),
        tag: element.name_span(),
        span: element.span(),
        exits: first..workflow.transitions.len() as u32,
        action,
        message,
    });
}

/// Lowers the content of an action other than its transitions.
pub(super) fn action(element: Element<'_>) -> Action {
    let mut own = Action {
        retry_max: element.attribute("retry-max").map(boxed_attribute),
        retry_interval: element.attribute("retry-interval").map(boxed_attribute),
        retry_policy: element.attribute("retry-policy").map(boxed_attribute),
        cred: element.attribute("cred").map(boxed_attribute),
        ..Action::default()
    };
    for child in element.elements() {
        match child.name() {
            "ok" | "error" => {}
            "info" => {
                own.sla.get_or_insert_with(|| Box::new(sla(child)));
            }
            _ if own.body.is_none() => own.body = Some(body(child)),
            _ => own.more_bodies.push(child.name_span()),
        }
    }
    own
}

fn boxed_attribute(attribute: AttributeRef<'_>) -> Box<Scalar> {
    Box::new(Scalar::of_attribute(attribute))
}

fn name(element: Element<'_>, attribute: &str) -> Name {
    match element.attribute(attribute) {
        Some(attribute) => {
            let value = attribute.value();
            let span =
                if value.text.is_empty() { attribute.span() } else { attribute.value_span() };
            Name { text: element.keep(&value.text), span, given: true }
        }
        None => Name { text: Slice::default(), span: element.name_span(), given: false },
    }
}

fn namespace(element: Element<'_>) -> Slice {
    element.namespace_name()
}

fn properties(element: Element<'_>) -> Vec<Property> {
    let mut out = Vec::new();
    for property in element.elements().filter(|e| e.is("property")) {
        let (mut name, mut value, mut description) = (None, None, None);
        for child in property.elements() {
            let part = match child.name() {
                "name" => &mut name,
                "value" => &mut value,
                "description" => &mut description,
                _ => continue,
            };
            part.get_or_insert_with(|| Scalar::of_element(child));
        }
        let name = name.unwrap_or_else(|| Scalar::of_element(property));
        out.push(Property { span: property.span(), name, value, description });
    }
    out
}

fn credential(element: Element<'_>) -> Credential {
    Credential {
        span: element.span(),
        name: name(element, "name"),
        kind: element.attribute("type").map(Scalar::of_attribute),
        properties: properties(element),
    }
}

fn launcher(element: Element<'_>) -> Launcher {
    let setting = |child: Element<'_>| {
        (child.keep(child.name()), child.name_span(), Scalar::of_element(child))
    };
    Launcher { span: element.span(), settings: element.elements().map(setting).collect() }
}

fn sla(element: Element<'_>) -> Sla {
    Sla {
        element: element.id(),
        span: element.span(),
        namespace: namespace(element),
        settings: settings(element),
    }
}

fn settings(element: Element<'_>) -> Vec<(Slice, Scalar)> {
    element.elements().map(|child| (child.keep(child.name()), Scalar::of_element(child))).collect()
}

fn global(element: Element<'_>) -> Global {
    let mut global = Global {
        element: element.id(),
        span: element.span(),
        resource_manager: None,
        name_node: None,
        launcher: None,
        job_xml: Vec::new(),
        configuration: Vec::new(),
    };
    for child in element.elements() {
        match child.name() {
            "job-tracker" | "resource-manager" => first(&mut global.resource_manager, child),
            "name-node" => first(&mut global.name_node, child),
            "launcher" => {
                global.launcher.get_or_insert_with(|| launcher(child));
            }
            "job-xml" => global.job_xml.push(Scalar::of_element(child)),
            "configuration" => global.configuration.extend(properties(child)),
            _ => {}
        }
    }
    global
}

fn first(slot: &mut Option<Scalar>, element: Element<'_>) {
    slot.get_or_insert_with(|| Scalar::of_element(element));
}

fn operation(element: Element<'_>) -> FileOperation {
    let mut operation = FileOperation {
        kind: element.keep(element.name()),
        tag: element.name_span(),
        element: element.id(),
        path: None,
        target: None,
        options: Vec::new(),
        recursive: element.child("recursive").is_some(),
    };
    for attribute in element.attributes() {
        let value = Scalar::of_attribute(attribute);
        match attribute.qualified_name() {
            "path" | "source" => operation.path = Some(value),
            "target" => operation.target = Some(value),
            _ if attribute.declares().is_some() => {}
            name => operation.options.push((element.keep(name), value)),
        }
    }
    operation
}

/// The child elements that become the details of an action type.
#[derive(Default)]
struct Parts<'a> {
    named: Vec<(&'a str, Scalar)>,
    operations: Vec<FileOperation>,
    streaming: Option<Group>,
    pipes: Option<Group>,
    propagate_configuration: Option<Span>,
}

impl<'a> Parts<'a> {
    fn one(&mut self, name: &str) -> Option<Box<Scalar>> {
        let index = self.named.iter().position(|(own, _)| *own == name)?;
        Some(Box::new(self.named.remove(index).1))
    }

    fn all(&mut self, names: &[&str]) -> Vec<Scalar> {
        if !self.named.iter().any(|(name, _)| names.contains(name)) {
            return Vec::new();
        }
        let (taken, left) =
            std::mem::take(&mut self.named).into_iter().partition(|(name, _)| names.contains(name));
        self.named = left;
        let taken: Vec<(&str, Scalar)> = taken;
        taken.into_iter().map(|(_, scalar)| scalar).collect()
    }
}

fn body(element: Element<'_>) -> Body {
    let mut body = Body {
        kind: element.keep(element.name()),
        namespace: namespace(element),
        element: element.id(),
        tag: element.name_span(),
        span: element.span(),
        resource_manager: None,
        name_node: None,
        prepare: Vec::new(),
        launcher: None,
        job_xml: Vec::new(),
        configuration: Vec::new(),
        files: Vec::new(),
        archives: Vec::new(),
        capture_output: None,
        details: Details::Other,
    };
    let mut parts = Parts::default();
    for child in element.elements() {
        match child.name() {
            "job-tracker" | "resource-manager" => first(&mut body.resource_manager, child),
            "name-node" => first(&mut body.name_node, child),
            "prepare" => body.prepare.extend(child.elements().map(operation)),
            "launcher" => {
                body.launcher.get_or_insert_with(|| Box::new(launcher(child)));
            }
            "job-xml" => body.job_xml.push(Scalar::of_element(child)),
            "configuration" => body.configuration.extend(properties(child)),
            "file" => body.files.push(Scalar::of_element(child)),
            "archive" => body.archives.push(Scalar::of_element(child)),
            "capture-output" => {
                body.capture_output = body.capture_output.or(Some(child.name_span()))
            }
            "propagate-configuration" => parts.propagate_configuration = Some(child.name_span()),
            "streaming" => {
                parts.streaming = Some(Group { span: child.span(), settings: settings(child) })
            }
            "pipes" => parts.pipes = Some(Group { span: child.span(), settings: settings(child) }),
            _ if body.kind == "fs" => parts.operations.push(operation(child)),
            name => parts.named.push((name, Scalar::of_element(child))),
        }
    }
    // Most lists are short, and there are many of them.
    parts.operations.shrink_to_fit();
    body.prepare.shrink_to_fit();
    body.configuration.shrink_to_fit();
    body.files.shrink_to_fit();
    body.details = details(&body.kind, parts);
    body
}

fn details(kind: &str, mut parts: Parts<'_>) -> Details {
    match kind {
        "fs" => Details::Fs { operations: parts.operations },
        "shell" => Details::Shell {
            exec: parts.one("exec"),
            arguments: parts.all(&["argument"]),
            env_vars: parts.all(&["env-var"]),
        },
        "java" => Details::Java {
            main_class: parts.one("main-class"),
            java_opts: parts.all(&["java-opts", "java-opt"]),
            arguments: parts.all(&["arg"]),
        },
        "map-reduce" => Details::MapReduce {
            config_class: parts.one("config-class"),
            streaming: parts.streaming,
            pipes: parts.pipes,
        },
        "pig" => Details::Pig {
            script: parts.one("script"),
            params: parts.all(&["param"]),
            arguments: parts.all(&["argument"]),
        },
        "hive" | "hive2" => Details::Hive {
            script: parts.one("script"),
            query: parts.one("query"),
            params: parts.all(&["param"]),
            arguments: parts.all(&["argument"]),
            jdbc_url: parts.one("jdbc-url"),
            password: parts.one("password"),
        },
        "sqoop" => Details::Sqoop { command: parts.one("command"), arguments: parts.all(&["arg"]) },
        // `spark3` comes from a distribution and has the same content.
        "spark" | "spark3" => Details::Spark {
            master: parts.one("master"),
            mode: parts.one("mode"),
            name: parts.one("name"),
            class: parts.one("class"),
            jar: parts.one("jar"),
            spark_opts: parts.one("spark-opts"),
            arguments: parts.all(&["arg"]),
        },
        "distcp" => {
            Details::Distcp { java_opts: parts.one("java-opts"), arguments: parts.all(&["arg"]) }
        }
        "git" => Details::Git {
            git_uri: parts.one("git-uri"),
            branch: parts.one("branch"),
            key_path: parts.one("key-path"),
            destination_uri: parts.one("destination-uri"),
        },
        "email" => Details::Email {
            to: parts.one("to"),
            cc: parts.one("cc"),
            bcc: parts.one("bcc"),
            subject: parts.one("subject"),
            body: parts.one("body").or_else(|| parts.one("message")),
            content_type: parts.one("content_type"),
            attachment: parts.one("attachment"),
        },
        "ssh" => Details::Ssh {
            host: parts.one("host"),
            command: parts.one("command"),
            arguments: parts.all(&["args", "arg"]),
        },
        "sub-workflow" => Details::SubWorkflow {
            app_path: parts.one("app-path"),
            propagate_configuration: parts.propagate_configuration,
        },
        _ => Details::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"<workflow-app xmlns="uri:oozie:workflow:0.5" name="w-${day}">
  <parameters><property><name>day</name></property></parameters>
  <global><name-node>nn</name-node><configuration><property><name>a</name><value>1</value></property></configuration></global>
  <start to="split"/>
  <fork name="split"><path start="load"/><path start="mark"/></fork>
  <action name="load" retry-max="2" cred="c">
    <shell xmlns="uri:oozie:shell-action:0.3">
      <exec>run.sh</exec><argument>${day}</argument><argument>x</argument><env-var>A=1</env-var>
      <file>run.sh#r</file><capture-output/>
    </shell>
    <ok to="meet"/><error to="stop"/>
  </action>
  <action name="mark"><fs><delete path="${a}"/><move source="x" target="y"/></fs><ok to="meet"/><error to="stop"/></action>
  <join name="meet" to="choose"/>
  <decision name="choose"><switch><case to="end">${rows gt 0}</case><default to="stop"/></switch></decision>
  <kill name="stop"><message>bad</message></kill>
  <end name="end"/>
</workflow-app>"#;

    #[test]
    fn everything_has_its_place() {
        let (tree, findings) = Tree::parse(TEXT);
        assert!(findings.is_empty());
        let workflow = workflow(&Arc::new(tree));
        assert!(workflow.name.as_ref().is_some_and(Scalar::is_expr));
        let names: Vec<_> =
            workflow.nodes.iter().map(|node| (&*node.name.text, node.shape)).collect();
        assert_eq!(
            names,
            [
                (":start:", Shape::Start),
                ("split", Shape::Fork),
                ("load", Shape::Action),
                ("mark", Shape::Action),
                ("meet", Shape::Join),
                ("choose", Shape::Decision),
                ("stop", Shape::Kill),
                ("end", Shape::End),
            ]
        );
        let exits: Vec<_> =
            workflow.transitions().map(|t| (t.way.name(), &*t.target.text)).collect();
        let expected = "start split, path load, path mark, ok meet, error stop, ok meet, error stop, join choose, case end, default stop";
        let shown: Vec<_> = exits.iter().map(|(way, to)| format!("{way} {to}")).collect();
        assert_eq!(shown.join(", "), expected);

        let (_, _, action) = workflow.actions().next().expect("an action");
        let body = action.body.as_ref().expect("a body");
        assert_eq!((&*body.kind, &*body.namespace), ("shell", "uri:oozie:shell-action:0.3"));
        assert_eq!(
            body.arguments().iter().map(Scalar::as_str).collect::<Vec<_>>(),
            ["${day}", "x"]
        );
        assert!(body.capture_output.is_some());
        assert!(workflow.is_at_least("0.4.5") && !workflow.is_at_least("1.0"));
    }

    #[test]
    fn broken_text_still_gives_nodes() {
        let text = TEXT.replace("name=\"mark\">", "name=\"mark>");
        let (tree, _) = Tree::parse(&text);
        let workflow = workflow(&Arc::new(tree));
        assert_eq!(workflow.nodes.len(), 8);
        assert_eq!(workflow.nodes[3].name.text, "mark");
    }
}
