//! What stands at an offset, in words.

use super::document::{Document, Kind};
use super::names::Symbol;
use super::{Snapshot, typed};
use crate::ir::workflow::{NodeId, Shape};
use crate::schema;
use crate::source::Span;

/// Words about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// What they are about.
    pub span: Span,
    /// The words, in Markdown.
    pub markdown: String,
}

/// Words about what stands at an offset.
pub(super) fn hover(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    name(document, offset).or_else(|| markup(snapshot, document, offset))
}

/// A name of the user's.
fn name(document: &Document, offset: u32) -> Option<Hover> {
    let found = document.name_at(offset)?;
    let markdown = match found.symbol {
        Symbol::Node if document.kind() == Kind::Workflow => {
            let (names, _) = document.analysis().names();
            node(document, names.node(&found.name)?)
        }
        _ => return None,
    };
    Some(Hover { span: found.span, markdown })
}

/// The name of an element or an attribute, by the schema.
fn markup(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    if !document.kind().is_xml() {
        return None;
    }
    let element = document.analysis().tree().element_at(offset)?;
    let language = schema::site::language(&snapshot.settings.actions).0;
    let typed = typed::of(&language, element)?;
    let (tag, end) = (element.name_span(), element.end_tag());
    if tag.touches(offset) || !element.is_empty_tag() && end.touches(offset) && end.start < offset {
        let mut markdown = titled(element.name(), typed.about());
        if let Some(child) = typed.child {
            markdown += &versions(&typed.schema.family, &child.since, child.until.as_deref());
        }
        return Some(Hover { span: tag, markdown });
    }
    let attribute = element.attributes().find(|known| known.name_span().touches(offset))?;
    let known = typed.ty()?.attribute(attribute.qualified_name())?;
    let required = if known.required { " Required." } else { "" };
    let since = versions(&typed.schema.family, &known.since, known.until.as_deref());
    let markdown = format!("**{}**: {}{required}{since}", known.name, known.about);
    Some(Hover { span: attribute.name_span(), markdown })
}

fn titled(name: &str, about: &str) -> String {
    match about {
        "" => format!("**{name}**"),
        about => format!("**{name}**: {about}"),
    }
}

/// The versions of a schema that have something, where not all have it.
fn versions(family: &str, since: &str, until: Option<&str>) -> String {
    let oldest = schema::family(family).and_then(|family| family.versions().next());
    match (until, oldest == Some(since)) {
        (None, true) => String::new(),
        (None, false) => format!("\n\nSince {family} {since}."),
        (Some(until), _) => format!("\n\nFrom {family} {since} to {until}."),
    }
}

/// A node with the ways that lead to it and from it.
fn node(document: &Document, id: NodeId) -> String {
    let flow = document.analysis().flow();
    let node = flow.workflow.node(id);
    let kind = node.action.as_ref().and_then(|action| action.body.as_ref());
    let name = |id: NodeId| match flow.workflow.node(id) {
        node if node.shape == Shape::Start => "start".to_owned(),
        node => format!("`{}`", node.name.text),
    };
    let mut words = match kind {
        Some(body) => format!("**{}** `{}`", body.kind, node.name.text),
        None => format!("**{}** `{}`", node.shape.name(), node.name.text),
    };
    let mut from: Vec<String> = Vec::new();
    for transition in flow.workflow.transitions() {
        if flow.names.target(transition) == Some(id) {
            from.push(format!("{} ({})", name(transition.from), transition.way.name()));
        }
    }
    if !from.is_empty() {
        let more = from.len().saturating_sub(MOST_NAMED);
        from.truncate(MOST_NAMED);
        words += &format!("\n\nfrom {}", from.join(", "));
        if more > 0 {
            words += &format!(" and {more} more");
        }
    }
    for (transition, target) in flow.exits(id) {
        let to = match target {
            Some(target) => name(target),
            None => format!("`{}`, which no node is named", transition.target.text),
        };
        words += &format!("\n\n{} → {to}", transition.way.name());
    }
    words
}

/// How many nodes are named that lead to one.
const MOST_NAMED: usize = 12;

#[cfg(test)]
mod tests {
    use super::super::testing;

    #[test]
    fn a_node_is_shown_with_its_ways() {
        let (snapshot, path, offset) = testing::workflow(
            "<start to='a'/><action name='a'><fs/><ok to='e|'/><error to='x'/></action><end name='e'/>",
        );
        let hover = snapshot.hover(&path, offset).unwrap();
        assert_eq!(hover.markdown, "**end** `e`\n\nfrom `a` (ok)");
        let at = snapshot.document(&path).unwrap().text().find("name='a'").unwrap() as u32;
        let hover = snapshot.hover(&path, at + 6).unwrap();
        assert_eq!(
            hover.markdown,
            "**fs** `a`\n\nfrom start (start)\n\nok → `e`\n\nerror → `x`, which no node is named"
        );
    }

    #[test]
    fn elements_and_attributes_are_shown_with_what_they_are_for() {
        let (snapshot, path, offset) = testing::workflow("<joi|n name='j' to='e'/>");
        let hover = snapshot.hover(&path, offset).unwrap();
        assert_eq!(hover.markdown, "**join**: Waits for all paths of a fork, then goes on.");
        let (snapshot, path, offset) = testing::workflow("<join n|ame='j' to='e'/>");
        let hover = snapshot.hover(&path, offset).unwrap();
        assert_eq!(hover.markdown, "**name**: Name of this node. Required.");
        let (snapshot, path, offset) = testing::workflow("<global><launch|er/></global>");
        let hover = snapshot.hover(&path, offset).unwrap();
        assert!(hover.markdown.ends_with("Since workflow 1.0."), "{}", hover.markdown);
    }
}
