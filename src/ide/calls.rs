//! Who starts whom, what can be done with a definition, and how its text and its picture belong together.

use super::definition::{Place, start_of};
use super::document::{Document, Kind};
use super::names::{Role, Symbol};
use super::{Snapshot, outline};
use crate::diag::Edit;
use crate::lint;
use crate::source::Span;
use crate::syntax::format::{layout, same_reading};
use crate::syntax::xml::Tree;
use std::collections::BTreeMap;

/// A definition, or a file of properties, that starts or is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name: that of the application, or the path.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Where it begins.
    pub place: Place,
    /// The places of the paths by which it is started, in the text that starts.
    pub from: Vec<Span>,
}

/// What may be done with a definition, offered above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// Where it is shown.
    pub span: Span,
    /// What it says.
    pub title: &'static str,
    /// What the client does; the server starts nothing.
    pub command: &'static str,
}

/// The definition at a path, as one end of a call.
pub(super) fn item(snapshot: &Snapshot, path: &str) -> Option<Call> {
    let document = snapshot.document(path)?;
    let name = outline::outline(document).into_iter().next().map(|entry| entry.name);
    let name = name.filter(|_| document.kind().is_xml()).unwrap_or_else(|| path.to_owned());
    Some(Call { name, kind: document.kind(), place: start_of(document), from: Vec::new() })
}

/// What starts a definition.
pub(super) fn incoming(snapshot: &Snapshot, path: &str) -> Vec<Call> {
    let callers =
        snapshot.callers.of(path).iter().map(|caller| (caller.path.as_str(), caller.span));
    gathered(snapshot, callers)
}

/// What a definition starts.
pub(super) fn outgoing(snapshot: &Snapshot, path: &str) -> Vec<Call> {
    let started = snapshot.callers.started_by(path).map(|(path, caller)| (path, caller.span));
    gathered(snapshot, started)
}

fn gathered<'p>(snapshot: &Snapshot, calls: impl Iterator<Item = (&'p str, Span)>) -> Vec<Call> {
    let mut by_path: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for (path, span) in calls {
        let spans = by_path.entry(path).or_default();
        if !spans.contains(&span) {
            spans.push(span);
        }
    }
    let by_path = by_path.into_iter();
    by_path.filter_map(|(path, from)| Some(Call { from, ..item(snapshot, path)? })).collect()
}

/// What is offered above a document.
pub(super) fn lenses(document: &Document) -> Vec<Lens> {
    let Some(root) = document.analysis().tree().root() else { return Vec::new() };
    let lens = |title, command| Lens { span: root.name_span(), title, command };
    match document.kind() {
        Kind::Workflow => {
            vec![lens("Run", "ankus.run"), lens("Test", "ankus.test"), lens("Graph", "ankus.graph")]
        }
        Kind::Coordinator | Kind::Bundle => vec![
            lens("Run", "ankus.run"),
            lens("Timeline", "ankus.timeline"),
            lens("Graph", "ankus.graph"),
        ],
        _ => Vec::new(),
    }
}

/// The name of the node whose element holds an offset, as a picture has it.
pub(super) fn node_at(document: &Document, offset: u32) -> Option<String> {
    if document.kind() != Kind::Workflow {
        let known = document.name_at(offset)?;
        let drawn = matches!(known.symbol, Symbol::Dataset | Symbol::Coordinator);
        return drawn.then(|| known.name.clone());
    }
    let nodes = &document.analysis().workflow().nodes;
    let node = nodes.iter().find(|node| node.span.start <= offset && offset < node.span.end)?;
    Some(node.name.text.to_string())
}

/// Where the node of a picture is written.
pub(super) fn place_of(document: &Document, node: &str) -> Option<Span> {
    if document.kind() == Kind::Workflow {
        let workflow = document.analysis().workflow();
        return workflow
            .nodes
            .iter()
            .find(|known| *known.name.text == *node)
            .map(|known| if known.name.given { known.name.span } else { known.tag });
    }
    let mut names = document.names().iter();
    names.find(|name| name.name == node && name.role == Role::Definition).map(|name| name.span)
}

/// The edits that lay out the lines that a range touches; none for a text that is not well-formed.
pub(super) fn format(snapshot: &Snapshot, document: &Document, within: Option<Span>) -> Vec<Edit> {
    if !document.kind().is_xml() {
        return Vec::new();
    }
    let settings = &snapshot.settings;
    let limit = settings.server.definition_limit.unwrap_or(100_000) as usize;
    let text = document.text();
    let tree = document.analysis().tree();
    let style = lint::style(settings.formatting);
    let Ok(formatted) = layout(tree, &style, limit) else { return Vec::new() };
    let whole = Span::new(0, text.len());
    let mut edits = crate::edit::changes(text, &formatted);
    edits.retain(|edit| {
        let within = within.unwrap_or(whole);
        edit.span.start <= within.end && within.start <= edit.span.end
    });
    // A part of the changes may be no layout of what is there; then none is made.
    let after = crate::edit::apply(text, &edits).map(|text| Tree::parse_tolerantly(&text).0);
    if !after.is_ok_and(|after| same_reading(tree, &after).is_ok()) {
        edits.clear();
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use crate::edit;
    use crate::source::Span;

    #[test]
    fn starts_are_followed_both_ways() {
        let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='daily' frequency='60'>|<action><workflow><app-path>/apps/demo/workflow.xml</app-path></workflow></action></coordinator-app>";
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='load'/>";
        let files = [
            ("demo/coordinator.xml", coordinator),
            ("demo/workflow.xml", workflow),
            ("demo/job.properties", "oozie.coord.application.path=/apps/demo\n"),
        ];
        let (snapshot, path, _) = testing::files(&files);
        let names =
            |calls: Vec<super::Call>| calls.into_iter().map(|call| call.name).collect::<Vec<_>>();
        assert_eq!(names(snapshot.outgoing_calls(&path)), ["load"]);
        assert_eq!(names(snapshot.incoming_calls(&path)), ["demo/job.properties"]);
        assert_eq!(names(snapshot.incoming_calls("demo/workflow.xml")), ["daily"]);
        assert_eq!(snapshot.code_lenses(&path)[1].command, "ankus.timeline");
    }

    #[test]
    fn a_node_is_found_in_the_picture_and_back() {
        let (snapshot, path, offset) =
            testing::workflow("<start to='k'/><kill name='k'><mess|age/></kill>");
        assert_eq!(snapshot.node_at(&path, offset).as_deref(), Some("k"));
        let span = snapshot.node_place(&path, "k").unwrap();
        assert_eq!(snapshot.document(&path).unwrap().slice(span), "k");
    }

    #[test]
    fn a_range_is_laid_out_and_nothing_else() {
        let (snapshot, path, offset) = testing::workflow(
            "   <start   to='k'/>\n\n    <x/>\n <kill| name='k'><message>m</message></kill>",
        );
        let text = snapshot.document(&path).unwrap().text().to_owned();
        let all = edit::apply(&text, &snapshot.format(&path, None)).unwrap();
        assert!(all.contains("    <start to=\"k\"/>"), "{all}");
        let here = snapshot.format(&path, Some(Span::at(offset as usize)));
        let part = edit::apply(&text, &here).unwrap();
        assert!(part.contains("   <start   to='k'/>"), "{part}");
        assert!(part.contains("    <kill name=\"k\">"), "{part}");
    }
}
