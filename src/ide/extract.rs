//! Moves selected nodes of a workflow into a sub-workflow.
//!
//! Takes a workflow and a selection, and returns a change that writes the new definition beside the workflow and
//! replaces the nodes with a call of it, provided that the result runs the same. The new file is in the same folder,
//! so it shares `lib/` and all relative paths.

use super::actions::{Action, ActionKind, layout_before, prefix, put};
use super::document::Document;
use super::names::Symbol;
use super::{Snapshot, definition, rename};
use crate::analysis::Analysis;
use crate::files::{Presence, folder_of, join};
use crate::ir::workflow::{Node, NodeId, Shape, Way, Workflow};
use crate::source::{Source, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Functions with the same result in a sub-workflow that inherits the configuration of its parent.
const SAME_BELOW: [&str; 7] = [
    "wf:conf",
    "wf:user",
    "wf:group",
    "wf:actionData",
    "wf:actionExternalId",
    "wf:actionExternalStatus",
    "wf:actionTrackerUri",
];

/// The selected nodes, with their only entry and their only exit.
struct Region {
    nodes: BTreeSet<NodeId>,
    /// The span of the whole selection.
    span: Span,
    entry: NodeId,
    exit: NodeId,
    /// The target of its error transitions, if that is outside.
    error: Option<NodeId>,
}

/// Creates the change, if the selection can become a sub-workflow.
pub(super) fn extract(snapshot: &Snapshot, document: &Document, within: Span) -> Option<Action> {
    // If a job is submitted by the path of the file, `wf:appPath()` is not a folder.
    let is_folder = document.path().rsplit('/').next() == Some("workflow.xml");
    if within.start == within.end || !is_folder || is_started_by_file(snapshot, document) {
        return None;
    }
    let analysis = document.analysis();
    let workflow = analysis.workflow();
    let region = region(analysis, within)?;
    let name_of = |id: NodeId| -> &str { &workflow.node(id).name.text };
    if !stands_alone(snapshot, document, &region) {
        return None;
    }
    let name = name_of(region.entry);
    let folder = folder_of(document.path());
    let path = join(folder, &format!("{name}.xml"))?;
    let is_taken =
        snapshot.files.presence(&path) == Presence::Present || snapshot.document(&path).is_some();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if is_taken || !is_plain || name.starts_with('.') {
        return None;
    }
    // An error that leaves the selection must kill the sub-workflow; without a kill node the whole job would continue.
    let kill = region.error.filter(|error| *error != region.exit);
    let of_all = workflow.nodes().find(|(_, node)| node.shape == Shape::Kill).map(|(id, _)| id);
    let on_error = region.error.or(of_all)?;
    let inner = definition_of(document, &region, kill)?;
    let child = Arc::new(Source::new(&path, inner.clone()));
    let is_accepted =
        rename::answer(snapshot, &child, document.kind().file_kind()?).iter().all(Option::is_none);
    let root = analysis.tree().root()?;
    let prefix = prefix(root);
    let layout = layout_before(document.text(), region.span.start as usize);
    let step = if layout.ends_with('\t') { "\t" } else { "    " };
    let call = format!(
        "<{prefix}action name=\"{name}\">{layout}{step}<{prefix}sub-workflow>{layout}{step}{step}<{prefix}app-path>${{wf:appPath()}}/{name}.xml</{prefix}app-path>{layout}{step}{step}<{prefix}propagate-configuration/>{layout}{step}</{prefix}sub-workflow>{layout}{step}<{prefix}ok to=\"{}\"/>{layout}{step}<{prefix}error to=\"{}\"/>{layout}</{prefix}action>",
        name_of(region.exit),
        name_of(on_error),
    );
    let edits = vec![put(region.span, call)];
    let is_kept = rename::keeps_answer(snapshot, document, &edits, "").is_ok();
    (is_accepted && is_kept).then(|| Action {
        title: format!("Extract the sub-workflow `{name}.xml`"),
        kind: ActionKind::Extract,
        finding: None,
        is_safe: false,
        edits: BTreeMap::from([(document.path().to_owned(), edits)]),
        created: BTreeMap::from([(path, inner)]),
    })
}

/// Whether a properties file names the file of the workflow instead of its folder.
fn is_started_by_file(snapshot: &Snapshot, document: &Document) -> bool {
    let family = definition::family(snapshot, document.path());
    let mut starters = family.iter().filter_map(|path| snapshot.document(path));
    starters.any(|other| {
        let entries = &other.properties().entries;
        entries.iter().any(|entry| {
            entry.name == "oozie.wf.application.path" && entry.value.trim().ends_with(".xml")
        })
    })
}

/// The completely selected nodes, if they have one entry and one exit.
fn region(analysis: &Analysis, within: Span) -> Option<Region> {
    let flow = analysis.flow();
    let workflow = flow.workflow;
    let meets = |node: &Node| node.span.start < within.end && within.start < node.span.end;
    let selected: Vec<(NodeId, &Node)> = workflow.nodes().filter(|(_, node)| meets(node)).collect();
    let is_whole = |node: &Node| within.start <= node.span.start && node.span.end <= within.end;
    let may_move = |node: &Node| {
        let shapes = [Shape::Action, Shape::Decision, Shape::Fork, Shape::Join];
        shapes.contains(&node.shape) && node.name.given && is_whole(node)
    };
    let has_action = selected.iter().any(|(_, node)| node.shape == Shape::Action);
    if !has_action || !selected.iter().all(|(_, node)| may_move(node)) {
        return None;
    }
    let nodes: BTreeSet<NodeId> = selected.iter().map(|(id, _)| *id).collect();
    let (mut entries, mut exits, mut errors) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for transition in workflow.transitions() {
        let target = flow.names.target(transition);
        let (from, to) = (nodes.contains(&transition.from), target.filter(|to| nodes.contains(to)));
        match (from, to) {
            (false, Some(entry)) => drop(entries.insert(entry)),
            (true, None) if transition.way == Way::Error => drop(errors.insert(target?)),
            (true, None) => drop(exits.insert(target?)),
            _ => {}
        }
    }
    let only = |found: &BTreeSet<NodeId>| found.first().copied().filter(|_| found.len() == 1);
    let span = Span { start: selected.first()?.1.span.start, end: selected.last()?.1.span.end };
    let error = only(&errors);
    if !errors.is_empty() && error.is_none() {
        return None;
    }
    let region = Region { entry: only(&entries)?, exit: only(&exits)?, nodes, span, error };
    // An exit to a kill node would end the sub-workflow successfully.
    (workflow.node(region.exit).shape != Shape::Kill).then_some(region)
}

/// Whether the selected nodes and the others do not refer to each other.
fn stands_alone(snapshot: &Snapshot, document: &Document, region: &Region) -> bool {
    let workflow = document.analysis().workflow();
    let names: BTreeSet<&str> =
        region.nodes.iter().map(|id| &*workflow.node(*id).name.text).collect();
    let is_inside = |span: Span| region.span.start <= span.start && span.end <= region.span.end;
    let names_of_nodes = document.names().iter().filter(|name| name.symbol == Symbol::Node);
    let mut asked = names_of_nodes.filter(|name| name.in_expression);
    let crosses = asked.any(|name| is_inside(name.span) != names.contains(&*name.name));
    let others = definition::scope(snapshot, document, Symbol::Node);
    let is_named = others.iter().filter(|other| other.path() != document.path()).any(|other| {
        let mut nodes = other.names().iter().filter(|name| name.symbol == Symbol::Node);
        nodes.any(|name| names.contains(&*name.name))
    });
    let text = document.slice(region.span);
    let functions = text.match_indices("wf:").map(|(at, _)| &text[at..]);
    let same =
        functions.filter(|rest| !rest[3..].starts_with(|c: char| !c.is_alphabetic())).all(|rest| {
            let end = 3 + rest[3..].find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len() - 3);
            SAME_BELOW.contains(&&rest[..end])
        });
    !crosses && !is_named && same
}

/// The text of the new definition.
fn definition_of(document: &Document, region: &Region, kill: Option<NodeId>) -> Option<String> {
    let analysis = document.analysis();
    let (workflow, text): (&Workflow, &str) = (analysis.workflow(), document.text());
    let root = analysis.tree().root()?;
    let prefix = prefix(root);
    let name = &workflow.node(region.entry).name.text;
    let tag = root.start_tag();
    let own_name = root.attribute("name")?.value_span();
    let head = format!(
        "{}{}{name}{}",
        &text[..tag.start as usize],
        &text[tag.start as usize..own_name.start as usize],
        &text[own_name.end as usize..tag.end as usize],
    );
    let layout = layout_before(text, region.span.start as usize);
    let layout = if layout.is_empty() { "\n" } else { layout };
    let line_end = if layout.starts_with("\r\n") { "\r\n" } else { "\n" };
    let mut out = head;
    for section in ["parameters", "global", "credentials"] {
        for element in root.elements().filter(|element| element.name() == section) {
            out.push_str(layout);
            out.push_str(document.slice(element.span()));
        }
    }
    out.push_str(&format!("{layout}<{prefix}start to=\"{name}\"/>{layout}"));
    out.push_str(document.slice(region.span));
    if let Some(kill) = kill.map(|kill| workflow.node(kill)) {
        out.push_str(layout);
        match kill.shape {
            Shape::Kill => out.push_str(document.slice(kill.span)),
            _ => out.push_str(&format!(
                "<{prefix}kill name=\"{}\">{layout}    <{prefix}message>${{wf:errorMessage(wf:lastErrorNode())}}</{prefix}message>{layout}</{prefix}kill>",
                kill.name.text
            )),
        }
    }
    let end = &workflow.node(region.exit).name.text;
    out.push_str(&format!("{layout}<{prefix}end name=\"{end}\"/>{line_end}"));
    out.push_str(&format!("</{}>{line_end}", root.qualified_name()));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use crate::edit;

    const NODES: &str = "<start to='fetch'/>
  <action name='fetch'><fs><mkdir path='/a'/></fs><ok to='split'/><error to='failed'/></action>
  <fork name='split'><path start='left'/><path start='right'/></fork>
  <action name='left'><fs><mkdir path='/l'/></fs><ok to='meet'/><error to='failed'/></action>
  <action name='right'><fs><mkdir path='/r'/></fs><ok to='meet'/><error to='failed'/></action>
  <join name='meet' to='publish'/>
  <action name='publish'><fs><mkdir path='/p'/></fs><ok to='end'/><error to='failed'/></action>
  <kill name='failed'><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>
  <end name='end'/>";

    /// The change for the lines between two texts.
    fn of(nodes: &str, from: &str, to: &str) -> Option<(String, String)> {
        let text = format!(
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='w'>\n{nodes}\n</workflow-app>"
        );
        let within = Span::new(text.find(from)?, text.find(to)? + to.len());
        let marked = format!("{text}|");
        let (snapshot, path, _) = testing::files(&[("app/workflow.xml", &marked)]);
        let action = extract(&snapshot, snapshot.document(&path)?, within)?;
        let after = edit::apply(&text, &action.edits[&path]).ok()?;
        let (created, inner) = action.created.into_iter().next()?;
        assert_eq!(created, "app/split.xml");
        Some((after, inner))
    }

    #[test]
    fn a_part_with_one_way_in_and_one_way_out_becomes_a_sub_workflow() {
        let (outer, inner) = of(NODES, "<fork", "to='publish'/>").unwrap();
        assert!(
            outer.contains("<action name=\"split\">\n      <sub-workflow>\n          <app-path>${wf:appPath()}/split.xml</app-path>")
                && outer.contains("<ok to=\"publish\"/>\n      <error to=\"failed\"/>")
                && !outer.contains("'left'"),
            "{outer}"
        );
        assert_eq!(
            inner,
            "<workflow-app xmlns='uri:oozie:workflow:1.0' name='split'>\n  <start to=\"split\"/>\n  <fork name='split'><path start='left'/><path start='right'/></fork>\n  <action name='left'><fs><mkdir path='/l'/></fs><ok to='meet'/><error to='failed'/></action>\n  <action name='right'><fs><mkdir path='/r'/></fs><ok to='meet'/><error to='failed'/></action>\n  <join name='meet' to='publish'/>\n  <kill name='failed'><message>${wf:errorMessage(wf:lastErrorNode())}</message></kill>\n  <end name=\"publish\"/>\n</workflow-app>\n"
        );
    }

    #[test]
    fn what_cannot_stand_alone_stays() {
        // Half of a fork, a node that is only partly selected, and the start.
        assert_eq!(of(NODES, "<fork", "<ok to='meet'/>"), None);
        assert_eq!(of(NODES, "<start", "to='publish'/>"), None);
        // References into or out of the selection, and functions whose result differs in a sub-workflow.
        let asks = |path: &str| NODES.replace("path='/p'", path);
        assert_eq!(
            of(&asks("path='${wf:actionData(\"left\")[\"x\"]}'"), "<fork", "to='publish'/>"),
            None
        );
        assert_eq!(of(&NODES.replace("/l", "/${wf:id()}"), "<fork", "to='publish'/>"), None);
        assert!(
            of(&NODES.replace("/l", "/${wf:conf(\"x\")}"), "<fork", "to='publish'/>").is_some()
        );
    }
}
