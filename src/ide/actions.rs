//! Code actions for a text range: fixes of findings, and refactorings requested by the author.
//!
//! A change of a definition is offered only if the server's answer stays the same, or if it accepts what it refused.

use super::document::{Document, Kind};
use super::extract::extract;
use super::names::{Role, Symbol};
use super::{Snapshot, rename};
use crate::analysis::Analysis;
use crate::diag::{Diagnostic, Edit, Fix, Safety};
use crate::edit;
use crate::emit::upgrade::upgrade;
use crate::ir::Scalar;
use crate::ir::workflow::{Body, NodeId, Shape, Way, Workflow};
use crate::passes::resolve::{self, Given};
use crate::schema;
use crate::source::{Source, Span, removal};
use crate::syntax::xml::Element;
use ankus_lang::action_types::is_cluster;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The type of a code action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    /// Fixes a finding.
    Fix,
    /// Suppresses a finding.
    Allow,
    /// Changes the notation, not the behavior.
    Rewrite,
    /// Changes the structure of the workflow.
    Refactor,
    /// Moves a part into a file of its own.
    Extract,
}

/// An offered change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its description: an imperative sentence without a full stop.
    pub title: String,
    /// Its type.
    pub kind: ActionKind,
    /// The index of the finding it relates to, among the given ones.
    pub finding: Option<usize>,
    /// Whether the meaning certainly stays the same.
    pub is_safe: bool,
    /// Edits by path, each list in source order.
    pub edits: BTreeMap<String, Vec<Edit>>,
    /// New files by path.
    pub created: BTreeMap<String, String>,
}

impl Action {
    fn here(document: &Document, title: String, kind: ActionKind, edits: Vec<Edit>) -> Action {
        let edits = BTreeMap::from([(document.path().to_owned(), edits)]);
        Action { title, kind, finding: None, is_safe: false, edits, created: BTreeMap::new() }
    }
}

pub(super) fn put(span: Span, text: impl Into<String>) -> Edit {
    Edit { file: None, span, text: text.into() }
}

/// The code actions for a range, given the findings there.
pub(super) fn actions(
    snapshot: &Snapshot,
    document: &Document,
    within: Span,
    findings: &[Diagnostic],
) -> Vec<Action> {
    let mut actions = Vec::new();
    for (at, finding) in findings.iter().enumerate() {
        let fixes = finding
            .fixes
            .iter()
            .map(|fix| Action { finding: Some(at), ..of_fix(document, finding, fix) });
        actions.extend(fixes);
    }
    for (at, finding) in findings.iter().enumerate() {
        let allowed = allow(document, finding);
        actions.extend(allowed.map(|action| Action { finding: Some(at), ..action }));
    }
    if document.kind() == Kind::Workflow {
        let root = document.analysis().tree().root();
        let at_root = root.is_some_and(|root| {
            let tag = root.start_tag();
            tag.start <= within.start && within.start <= tag.end
        });
        let mut changes = missing(document, within.start);
        changes.extend(side_by_side(document, within));
        if at_root {
            changes.extend(shared(document));
            changes.extend(raised(snapshot, document));
        }
        changes.retain(|action| {
            let edits = &action.edits[document.path()];
            rename::keeps_answer(snapshot, document, edits, "").is_ok()
        });
        actions.extend(changes);
        actions.extend(extract(snapshot, document, within));
    }
    actions
}

/// The action for a fix, which may change other files.
fn of_fix(document: &Document, finding: &Diagnostic, fix: &Fix) -> Action {
    let mut edits: BTreeMap<String, Vec<Edit>> = BTreeMap::new();
    for edit in &fix.edits {
        let path = edit.file.as_deref().or(finding.file.as_deref()).unwrap_or(document.path());
        edits.entry(path.to_owned()).or_default().push(Edit { file: None, ..edit.clone() });
    }
    edits.values_mut().for_each(|edits| edits.sort_by_key(|edit| edit.span));
    let is_safe = fix.safety == Safety::Safe;
    let (title, created) = (fix.title.clone(), BTreeMap::new());
    Action { title, kind: ActionKind::Fix, finding: None, is_safe, edits, created }
}

/// The action that suppresses a finding by a comment before its element or line.
fn allow(document: &Document, finding: &Diagnostic) -> Option<Action> {
    if finding.file.as_deref().is_some_and(|file| file != document.path()) {
        return None;
    }
    let rule = finding.kind.name;
    let text = document.text();
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let words = format!("ankus: allow({rule}) say why");
    let at = match document.kind() {
        Kind::Properties => {
            let entries = &document.properties().entries;
            let entry = entries.iter().find(|entry| entry.span.touches(finding.span.start))?;
            entry.span.start as usize
        }
        kind if kind.is_xml() => {
            let element = document.analysis().tree().element_at(finding.span.start)?;
            element.span().start as usize
        }
        _ => return None,
    };
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let indent = &text[line..at];
    // In the middle of a line, the comment stays in the line.
    let between = match indent.trim().is_empty() {
        true => format!("{line_end}{indent}"),
        false => String::new(),
    };
    let comment = match document.kind() {
        Kind::Properties => format!("# {words}{line_end}"),
        _ => format!("<!-- {words} -->{between}"),
    };
    let title = format!("Allow `{rule}` here");
    Some(Action::here(document, title, ActionKind::Allow, vec![put(Span::at(at), comment)]))
}

/// Creates the undefined node that the transition at an offset names.
fn missing(document: &Document, offset: u32) -> Vec<Action> {
    let workflow = document.analysis().workflow();
    let (names, _) = document.analysis().names();
    let asked = document.name_at(offset).filter(|name| {
        name.symbol == Symbol::Node && name.role == Role::Use && names.node(&name.name).is_none()
    });
    let Some(asked) = asked else { return Vec::new() };
    let transition = workflow.transitions().find(|transition| transition.target.span == asked.span);
    let Some(transition) = transition else { return Vec::new() };
    let tree = document.analysis().tree();
    let Some(prefix) = tree.root().map(prefix) else { return Vec::new() };
    let of = |shape| workflow.nodes.iter().find(move |node| node.shape == shape);
    let (end, kill) = (of(Shape::End), of(Shape::Kill));
    let name = &asked.name;
    let mut offered = Vec::new();
    if transition.way == Way::Error || kill.is_none() && end.is_some() {
        let element = format!(
            "<{prefix}kill name=\"{name}\"><{prefix}message>${{wf:errorMessage(wf:lastErrorNode())}}</{prefix}message></{prefix}kill>"
        );
        offered.push(("kill", element));
    }
    if end.is_none() {
        offered.push(("end", format!("<{prefix}end name=\"{name}\"/>")));
    } else if let (Some(end), Some(error)) = (end, kill.or(end))
        && transition.way != Way::Error
    {
        let (ok, error) = (&end.name.text, &error.name.text);
        let element = format!(
            "<{prefix}action name=\"{name}\"><{prefix}fs/><{prefix}ok to=\"{ok}\"/><{prefix}error to=\"{error}\"/></{prefix}action>"
        );
        offered.push(("action", element));
    }
    let from = workflow.node(transition.from);
    // The end is the last node of a workflow.
    let (at, behind) = match end {
        Some(end) => (end.span.start as usize, true),
        None => (from.span.end as usize, false),
    };
    let layout = layout_before(document.text(), from.span.start as usize);
    let mut actions = Vec::new();
    for (kind, element) in offered {
        let text = if behind { format!("{element}{layout}") } else { format!("{layout}{element}") };
        let title = format!("Add the {kind} `{name}`");
        actions.push(Action::here(
            document,
            title,
            ActionKind::Refactor,
            vec![put(Span::at(at), text)],
        ));
    }
    actions
}

/// The namespace prefix of a document's elements, with its colon.
pub(super) fn prefix(root: Element<'_>) -> String {
    root.prefix().map(|prefix| format!("{prefix}:")).unwrap_or_default()
}

/// The line end and indentation before an offset, if it is the beginning of a line's content.
pub(super) fn layout_before(text: &str, at: usize) -> &str {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n').unwrap_or(before);
    let before = before.strip_suffix('\r').unwrap_or(before);
    &text[before.len()..at]
}

/// Turns two consecutive actions into a fork that runs both in parallel.
fn side_by_side(document: &Document, within: Span) -> Option<Action> {
    let flow = document.analysis().flow();
    let workflow = flow.workflow;
    let tag_at = |id: &NodeId| {
        let node = workflow.node(*id);
        node.span.start <= within.start && within.start <= node.name.span.end + 1
    };
    let first = workflow.actions().map(|(id, ..)| id).find(tag_at)?;
    let (ok, second) = flow.exit(first, Way::Ok)?;
    let second = second.filter(|id| *id != first && workflow.node(*id).shape == Shape::Action)?;
    let entries = |id| workflow.transitions().filter(move |way| flow.names.target(way) == Some(id));
    let (on, behind) = flow.exit(second, Way::Ok)?;
    behind.filter(|id| *id != first)?;
    let (a, b) = (workflow.node(first), workflow.node(second));
    let names = [&a.name, &b.name, &on.target, &ok.target];
    // An action that uses results of the first one has to wait for it.
    let asks = document.names().iter().any(|name| {
        name.in_expression
            && name.symbol == Symbol::Node
            && *name.name == *a.name.text
            && b.span.start <= name.span.start
            && name.span.end <= b.span.end
    });
    if asks || entries(second).count() != 1 || names.iter().any(|name| !name.given) {
        return None;
    }
    let free = |base: &str| {
        let mut tries = (1..).map(|count| match count {
            1 => base.to_owned(),
            count => format!("{base}-{count}"),
        });
        tries.find(|name| flow.names.node(name).is_none())
    };
    let (fork, join) = (free("fork")?, free("join")?);
    let prefix = prefix(document.analysis().tree().root()?);
    let layout = layout_before(document.text(), a.span.start as usize);
    let mut edits: Vec<Edit> =
        entries(first).map(|way| put(way.target.span, fork.as_str())).collect();
    edits.push(put(
        Span::at(a.span.start as usize),
        format!(
            "<{prefix}fork name=\"{fork}\"><{prefix}path start=\"{}\"/><{prefix}path start=\"{}\"/></{prefix}fork>{layout}",
            a.name.text, b.name.text
        ),
    ));
    edits.push(put(ok.target.span, join.as_str()));
    edits.push(put(on.target.span, join.as_str()));
    edits.push(put(
        Span::at(b.span.end as usize),
        format!("{layout}<{prefix}join name=\"{join}\" to=\"{}\"/>", on.target.text),
    ));
    edits.sort_by_key(|edit| edit.span);
    let title = format!("Run `{}` and `{}` side by side", a.name.text, b.name.text);
    Some(Action::here(document, title, ActionKind::Refactor, edits))
}

/// The effective settings of an action: properties, name node, resource manager, `job-xml` files.
type Effective = (BTreeMap<String, String>, Option<String>, Option<String>, Vec<String>);

fn effective(workflow: &Workflow) -> Vec<Option<Effective>> {
    let global = resolve::global(workflow, None);
    let given = Given {
        global: global.as_ref(),
        name_node: None,
        resource_manager: None,
        configured_types: &[],
    };
    let own = |scalar: &Option<Scalar>| scalar.as_ref().map(|text| text.as_str().to_owned());
    let of = |body: &Body| {
        let settings = resolve::action(Some(body), given)?;
        let manager = settings.resource_manager.map(|(_, manager)| manager);
        let files = body.job_xml.iter().map(|file| file.as_str().to_owned());
        Some((
            settings.configuration.into_iter().collect(),
            own(&body.name_node).or(settings.name_node),
            own(&body.resource_manager).or(manager),
            files.chain(settings.job_xml).collect(),
        ))
    };
    workflow.actions().map(|(_, _, action)| action.body.as_ref().and_then(of)).collect()
}

/// Moves settings that all actions on the cluster share to `<global>`.
fn shared(document: &Document) -> Option<Action> {
    let workflow = document.analysis().workflow();
    let bodies: Vec<&Body> = workflow
        .actions()
        .filter_map(|(_, _, action)| action.body.as_ref())
        .filter(|body| is_cluster(&body.kind))
        .collect();
    if workflow.global.is_some() || bodies.len() < 2 {
        return None;
    }
    let tree = document.analysis().tree();
    let root = tree.root()?;
    let prefix = prefix(root);
    let start = root.child("credentials").or_else(|| root.child("start"))?;
    let text = document.text();
    let layout = layout_before(text, start.span().start as usize);
    let step = if layout.ends_with('\t') { "\t" } else { "    " };
    let mut edits = Vec::new();
    let mut inner = String::new();
    let same = |of: &dyn Fn(&Body) -> Option<&Scalar>| {
        let first = of(bodies[0])?.as_str();
        bodies.iter().all(|body| of(body).is_some_and(|own| own.as_str() == first)).then_some(first)
    };
    let manager = if workflow.is_at_least("1.0") { "resource-manager" } else { "job-tracker" };
    let parts: [(&str, Option<&str>); 2] = [
        (manager, same(&|body| body.resource_manager.as_ref())),
        ("name-node", same(&|body| body.name_node.as_ref())),
    ];
    for (name, value) in parts {
        if value.is_none() {
            continue;
        }
        let names: &[&str] = match name {
            "name-node" => &["name-node"],
            _ => &["job-tracker", "resource-manager"],
        };
        for (at, body) in bodies.iter().enumerate() {
            let element = tree.element(body.element)?;
            let own = element.elements().find(|child| names.contains(&child.name()))?;
            if at == 0 {
                let written = text.get(own.content().range())?;
                inner += &format!("{layout}{step}<{prefix}{name}>{written}</{prefix}{name}>");
            }
            edits.push(put(removal(text, own.span()), ""));
        }
    }
    if inner.is_empty() {
        return None;
    }
    let global = format!("<{prefix}global>{inner}{layout}</{prefix}global>{layout}");
    edits.push(put(Span::at(start.span().start as usize), global));
    edits.sort_by_key(|edit| edit.span);
    // The effective settings of every action must stay the same.
    let after = edit::apply(text, &edits).ok()?;
    let after = Analysis::new(Arc::new(Source::new(document.path(), after)));
    if effective(workflow) != effective(after.workflow()) {
        return None;
    }
    let title = "Move what all actions set to `<global>`".to_owned();
    Some(Action::here(document, title, ActionKind::Rewrite, edits))
}

/// Upgrades the definition to the newest schemas that the server supports.
fn raised(snapshot: &Snapshot, document: &Document) -> Option<Action> {
    let target = snapshot.settings.target.name();
    let family = schema::family("workflow")?;
    let mut known = family.schemas().rev();
    let newest = known.find(|schema| schema.known_to(target, "workflow"))?;
    let raised = upgrade(document.text(), &newest.version).ok()?;
    let edits = edit::changes(document.text(), &raised.text);
    if edits.is_empty() {
        return None;
    }
    let title = format!("Raise the schemas to those of workflow {}", newest.version);
    Some(Action::here(document, title, ActionKind::Rewrite, edits))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::check::{FileKind, Input, check};

    /// The titles offered at the cursor, and the text after applying the one that contains these words.
    #[track_caller]
    fn check_action(nodes: &str, words: &str) -> String {
        let (snapshot, path, offset) = testing::workflow(nodes);
        let document = snapshot.document(&path).unwrap();
        let input = Input::of(document.source(), FileKind::Workflow);
        let findings: Vec<Diagnostic> =
            check(&input).findings.into_iter().map(|finding| finding.diagnostic).collect();
        let here = findings.into_iter().filter(|finding| finding.span.touches(offset));
        let here: Vec<Diagnostic> = here.collect();
        let actions = snapshot.code_actions(&path, Span::at(offset as usize), &here);
        let titles: Vec<&str> = actions.iter().map(|action| action.title.as_str()).collect();
        let action = actions.iter().find(|action| action.title.contains(words));
        let action = action.unwrap_or_else(|| panic!("{titles:?}"));
        edit::apply(document.text(), &action.edits[&path]).expect("edits that do not overlap")
    }

    #[track_caller]
    fn check_none(nodes: &str, words: &str) {
        let (snapshot, path, offset) = testing::workflow(nodes);
        let actions = snapshot.code_actions(&path, Span::at(offset as usize), &[]);
        assert!(actions.iter().all(|action| !action.title.contains(words)), "{actions:?}");
    }

    #[test]
    fn a_finding_is_mended_or_allowed_with_a_reason() {
        let nodes = "<start to='a'/>\n  <action name='a'><fs/><ok to='end'/><error to='en|'/></action>\n  <end name='end'/>";
        assert!(check_action(nodes, "Rename to `end`").contains("<error to='end'/>"));
        let allowed = check_action(nodes, "Allow `unresolved-transition`");
        assert!(
            allowed.contains("<!-- ankus: allow(unresolved-transition) say why --><error to="),
            "{allowed}"
        );
    }

    #[test]
    fn a_node_that_is_asked_for_is_added() {
        let nodes = "<start to='a'/>\n  <action name='a'><fs/><ok to='end'/><error to='sto|p'/></action>\n  <end name='end'/>";
        let text = check_action(nodes, "Add the kill `stop`");
        assert!(text.contains("\n  <kill name=\"stop\"><message>"), "{text}");
        let text = check_action("<start to='a|'/>\n<end name='end'/>", "Add the action `a`");
        assert!(text.contains("<action name=\"a\"><fs/><ok to=\"end\"/>"), "{text}");
    }

    const TWO: &str = "<start to='a'/>
      <action na|me='a'><fs><mkdir path='/a'/></fs><ok to='b'/><error to='k'/></action>
      <action name='b'><fs><mkdir path='/b'/></fs><ok to='e'/><error to='k'/></action>
      <kill name='k'><message>m</message></kill><end name='e'/>";

    #[test]
    fn two_actions_run_side_by_side() {
        let text = check_action(TWO, "side by side");
        for part in [
            "<start to='fork'/>",
            "<fork name=\"fork\"><path start=\"a\"/><path start=\"b\"/></fork>",
            "<ok to='join'/><error to='k'/></action>\n      <join name=\"join\" to=\"e\"/>",
        ] {
            assert!(text.contains(part), "{text}");
        }
        check_none(&TWO.replace("path='/b'", "path='${wf:actionData(\"a\")}'"), "side by side");
        check_none(
            &TWO.replace("na|me='a'", "name='a'").replace("name='b'", "na|me='b'"),
            "side by side",
        );
    }

    #[test]
    fn what_all_actions_say_is_said_once() {
        let action = |name: &str, to: &str, node: &str| {
            format!(
                "<action name='{name}'><java>\n<resource-manager>rm</resource-manager>\n<name-node>{node}</name-node>\n<main-class>M</main-class></java><ok to='{to}'/><error to='e'/></action>"
            )
        };
        let workflow = |node: &str| {
            let text = format!(
                "<workflow-app| xmlns='uri:oozie:workflow:1.0' name='w'>\n  <start to='a'/>{}{}<end name='e'/></workflow-app>",
                action("a", "b", "nn"),
                action("b", "e", node)
            );
            let (snapshot, path, offset) = testing::files(&[("w.xml", &text)]);
            let actions = snapshot.code_actions(&path, Span::at(offset as usize), &[]);
            let action = actions.into_iter().find(|action| action.title.contains("<global>"))?;
            edit::apply(snapshot.document(&path)?.text(), &action.edits[&path]).ok()
        };
        let text = workflow("nn").unwrap();
        assert!(text.contains("<global>\n      <resource-manager>rm</resource-manager>\n      <name-node>nn</name-node>\n  </global>\n  <start"), "{text}");
        assert_eq!(text.matches("name-node>nn<").count(), 1);
        let text = workflow("other").unwrap();
        assert_eq!(
            (text.matches("<name-node>").count(), text.matches("<resource-manager>").count()),
            (2, 1)
        );
    }

    #[test]
    fn schemas_are_raised_to_those_of_the_server() {
        let text = "<workflow-app| xmlns='uri:oozie:workflow:0.4' name='w'><start to='e'/><end name='e'/></workflow-app>";
        let (snapshot, path, offset) = testing::files(&[("w.xml", text)]);
        let actions = snapshot.code_actions(&path, Span::at(offset as usize), &[]);
        assert_eq!(actions[0].title, "Raise the schemas to those of workflow 1.0");
    }
}
