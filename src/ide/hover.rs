//! Describes what is at an offset.

use super::document::{Document, Kind};
use super::names::Symbol;
use super::{Snapshot, definition, times, typed, values};
use crate::emit::timeline::{Request, Track, entries};
use crate::ir::coordinator::{DataEvent, datasets_of};
use crate::ir::workflow::{NodeId, Shape};
use crate::schema;
use crate::source::Span;
use ankus_lang::el::functions;

/// A description of a location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The span that it describes.
    pub span: Span,
    /// The description, in Markdown.
    pub markdown: String,
}

/// Describes what is at an offset.
pub(super) fn hover(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    name(snapshot, document, offset)
        .or_else(|| frequency(snapshot, document, offset))
        .or_else(|| markup(snapshot, document, offset))
}

/// Describes a name defined by the user, or a function.
fn name(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    let found = document.name_at(offset)?;
    let markdown = match found.symbol {
        Symbol::Node if document.kind() == Kind::Workflow => {
            let (names, _) = document.analysis().names();
            node(document, names.node(&found.name)?)
        }
        Symbol::Function => function(snapshot, &found.name)?,
        Symbol::Property => property(snapshot, document, &found.name),
        Symbol::Dataset => dataset(snapshot, document, &found.name)?,
        Symbol::Event => event(snapshot, document, &found.name)?,
        _ => return None,
    };
    Some(Hover { span: found.span, markdown })
}

/// Describes a function: its signature, its result, where it is available.
fn function(snapshot: &Snapshot, name: &str) -> Option<String> {
    let Some(known) = functions::named(name).next() else {
        let mut site = snapshot.settings.functions.iter();
        let known = site.find(|function| function.name == name)?;
        let signature = format!("{name}({})", known.parameters.join(", "));
        return Some(format!("`{signature}`: {}\n\nA function of the site.", known.result));
    };
    let mut places: Vec<&str> = functions::named(name)
        .flat_map(|function| function.phases().iter())
        .map(|phase| phase.place())
        .collect();
    places.sort_unstable();
    places.dedup();
    let nullable = if known.nullable { " or null" } else { "" };
    Some(format!(
        "`{}`: {}{nullable}\n\n{}\n\nAvailable in {}.",
        known.signature(),
        known.gives.name(),
        known.doc,
        places.join("; ")
    ))
}

/// Describes a property: its values with their sources, and the number of texts that read it.
fn property(snapshot: &Snapshot, document: &Document, name: &str) -> String {
    let given = values::given(snapshot, document, name);
    let mut words = format!("**property** `{name}`");
    for given in given.iter().take(MOST_NAMED) {
        words += &format!("\n\n`{}`", given.resolved.replace('`', "'"));
        if given.resolved != given.value {
            words += &format!(", written `{}`", given.value.replace('`', "'"));
        }
        words += &format!(", from {}", given.from);
    }
    if given.is_empty() {
        words += "\n\nNothing that is known here gives it a value.";
    }
    match values::readers(snapshot, document, name) {
        0 => words += "\n\nNothing reads it.",
        1 => {}
        count => words += &format!("\n\nRead in {count} files."),
    }
    words
}

/// Describes a dataset: the location of its instances, and the interval between them.
fn dataset(snapshot: &Snapshot, document: &Document, name: &str) -> Option<String> {
    let texts = definition::scope(snapshot, document, Symbol::Dataset);
    let known = texts.iter().find_map(|text| {
        let root = text.analysis().tree().root()?;
        let sections = root.descendants().filter(|element| element.name() == "datasets");
        let mut all = sections.flat_map(datasets_of);
        all.find(|dataset| dataset.name.as_ref().is_some_and(|known| known.as_str() == name))
    })?;
    let mut words = format!("**dataset** `{name}`");
    let parts = [
        ("instances", &known.uri_template),
        ("every", &known.frequency),
        ("from", &known.initial_instance),
        ("clock", &known.timezone),
    ];
    for (word, part) in parts {
        if let Some(part) = part {
            words += &format!("\n\n{word} `{}`", part.as_str());
        }
    }
    Some(words)
}

/// Describes a data-in or data-out event: the instances of the next action.
fn event(snapshot: &Snapshot, document: &Document, name: &str) -> Option<String> {
    let coordinator = document.analysis().coordinator();
    let events = coordinator.inputs.iter().chain(&coordinator.outputs);
    let is_it = |event: &&DataEvent| event.name.as_ref().is_some_and(|own| own.as_str() == name);
    let event = events.clone().find(is_it)?;
    let of = event.dataset.as_ref().map(|dataset| dataset.as_str()).unwrap_or_default();
    let mut words = format!("**data event** `{name}` of `{of}`");
    let Some(definition) = times::submitted(snapshot, document) else { return Some(words) };
    let track = Track { name: name.to_owned(), definition, assumed: Vec::new() };
    let now = snapshot.now.unwrap_or(track.definition.schedule.start);
    let request = Request { from: snapshot.now, count: Some(1), now, ..Request::default() };
    let zone = track.definition.schedule.processing;
    if let Some(entry) = entries(std::slice::from_ref(&track), request, false).next() {
        words += &format!("\n\nFor the action of {}:", zone.format(entry.nominal));
        if let Ok(action) = &entry.action {
            let data = action.inputs.iter().chain(&action.outputs);
            let data = data.filter(|data| data.name == name);
            for uri in
                data.flat_map(|data| data.uris.iter().chain(&data.unresolved)).take(MOST_NAMED)
            {
                words += &format!("\n- `{uri}`");
            }
        }
    }
    Some(words)
}

/// Describes the frequency of a coordinator, with its next nominal times.
fn frequency(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    if document.kind() != Kind::Coordinator {
        return None;
    }
    let written = document.analysis().coordinator().frequency.as_ref()?;
    let span = Some(written.span()).filter(|span| span.touches(offset))?;
    let definition = times::submitted(snapshot, document)?;
    let zone = definition.schedule.processing;
    let mut markdown = times::words(&definition.schedule.frequency);
    for time in times::next(snapshot, &definition, 5) {
        markdown += &format!("\n- {}", zone.format(time));
    }
    Some(Hover { span, markdown })
}

/// Describes an element or an attribute, using the schema.
fn markup(snapshot: &Snapshot, document: &Document, offset: u32) -> Option<Hover> {
    if !document.kind().is_xml() {
        return None;
    }
    let element = document.analysis().tree().element_at(offset)?;
    let language = snapshot.language();
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

/// The versions of a schema that have something, unless all have it.
fn versions(family: &str, since: &str, until: Option<&str>) -> String {
    let oldest = schema::family(family).and_then(|family| family.versions().next());
    match (until, oldest == Some(since)) {
        (None, true) => String::new(),
        (None, false) => format!("\n\nSince {family} {since}."),
        (Some(until), _) => format!("\n\nFrom {family} {since} to {until}."),
    }
}

/// Describes a node with its incoming and outgoing transitions.
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
            None => format!("`{}`, which does not exist", transition.target.text),
        };
        words += &format!("\n\n{} → {to}", transition.way.name());
    }
    words
}

/// Maximum number of predecessors listed.
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
            "**fs** `a`\n\nfrom start (start)\n\nok → `e`\n\nerror → `x`, which does not exist"
        );
    }

    #[test]
    fn functions_and_properties_are_explained() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='e'/><kill name='e'><message>${wf:er|rorCode('e')} ${out}</message></kill></workflow-app>";
        let properties = "oozie.wf.application.path=/apps/demo\nroot=/data\nout=${root}/out\n";
        let files = [("demo/workflow.xml", workflow), ("demo/job.properties", properties)];
        let (snapshot, path, offset) = testing::files(&files);
        let hover = snapshot.hover(&path, offset).unwrap().markdown;
        assert!(
            hover.starts_with("`wf:errorCode(node)`: string or null\n\nError code of an action"),
            "{hover}"
        );
        let text = snapshot.document(&path).unwrap().text();
        let at = text.find("out}").unwrap() as u32;
        assert_eq!(
            snapshot.hover(&path, at).unwrap().markdown,
            "**property** `out`\n\n`/data/out`, written `${root}/out`, from demo/job.properties"
        );
    }

    #[test]
    fn times_and_data_of_a_coordinator_are_shown() {
        let coordinator = "<coordinator-app xmlns='uri:oozie:coordinator:0.4' name='c' frequency='${coord:days(1)|}' start='2024-01-01T00:00Z' end='2024-02-01T00:00Z' timezone='UTC'>
          <datasets><dataset name='logs' frequency='${coord:days(1)}' initial-instance='2023-01-01T00:00Z' timezone='UTC'><uri-template>/logs/${YEAR}-${MONTH}-${DAY}</uri-template></dataset></datasets>
          <input-events><data-in name='in' dataset='logs'><instance>${coord:current(-1)}</instance></data-in></input-events>
          <action><workflow><app-path>/w</app-path></workflow></action></coordinator-app>";
        let (snapshot, path, offset) = testing::files(&[("c/coordinator.xml", coordinator)]);
        let hover = |at: u32| snapshot.hover(&path, at).unwrap().markdown;
        assert!(
            hover(offset + 1).starts_with("every day\n- 2024-01-01T00:00Z\n- 2024-01-02T00:00Z"),
            "{}",
            hover(offset + 1)
        );
        let text = snapshot.document(&path).unwrap().text();
        let event = text.find("name='in'").unwrap() as u32 + 7;
        assert_eq!(
            hover(event),
            "**data event** `in` of `logs`\n\nFor the action of 2024-01-01T00:00Z:\n- `/logs/2023-12-31`"
        );
        let dataset = text.find("dataset='logs'").unwrap() as u32 + 10;
        assert!(hover(dataset).starts_with("**dataset** `logs`\n\ninstances `/logs/"));
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
