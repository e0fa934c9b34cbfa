//! Calls between definitions, commands for a definition, and the mapping between text and picture.

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

/// A definition or properties file at one end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name: that of the application, or the path.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// Its location.
    pub place: Place,
    /// The spans of the paths that start it, in the text of the caller.
    pub from: Vec<Span>,
}

/// A command offered above a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// The line at which it is shown.
    pub span: Span,
    /// Its title.
    pub title: &'static str,
    /// The client's command; the language server starts nothing itself.
    pub command: &'static str,
}

/// The definition at a path, as one end of a call.
pub(super) fn item(snapshot: &Snapshot, path: &str) -> Option<Call> {
    let document = snapshot.document(path)?;
    let name = outline::outline(document).into_iter().next().map(|entry| entry.name);
    let name = name.filter(|_| document.kind().is_xml()).unwrap_or_else(|| path.to_owned());
    Some(Call { name, kind: document.kind(), place: start_of(document), from: Vec::new() })
}

/// The callers of a definition.
pub(super) fn incoming(snapshot: &Snapshot, path: &str) -> Vec<Call> {
    let callers =
        snapshot.callers.of(path).iter().map(|caller| (caller.path.as_str(), caller.span));
    gathered(snapshot, callers)
}

/// The definitions that a definition starts.
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

/// The commands offered above a document.
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

/// The name, in the picture, of the node whose element contains an offset.
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

/// The span of a node of the picture in the text.
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

/// The edits that format the lines of a range; none for a text that is not well-formed.
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
    // Part of the changes may not be mere formatting; then none is made.
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
