//! The server's answer to the submission of a bundle, and what it stores if it accepts it.
//!
//! Takes a text or a path, the properties of the job, and the files that the server would see; returns a [`Bundle`] or
//! the first refusal. The whole text is evaluated at once, with values inserted literally: a `<` in a property breaks
//! the document.

use std::borrow::Cow;
use std::collections::HashSet;

use ankus_lang::coordinator::{Bundle, BundleMember, Properties};
use ankus_lang::el::{Phase, Reason, Scope, Value};
use ankus_lang::time::Instant;
use roxmltree::{Node, NodeType};

use super::Rules;
use super::coordinator::{Entry, Files, Refused, Site, join, locate, reserved, schema_fault};
use super::document;
use super::schema::Sets;
use super::workflow;

type Outcome<T> = Result<T, Refused>;

fn failed(inner: &'static str, about: impl Into<String>) -> Refused {
    Refused::new("E1310", about).within(inner)
}

/// Submits the definition at the application path of the properties.
pub fn submit_path(
    given: &Properties,
    files: &dyn Files,
    rules: &Rules<'_>,
    site: &Site,
) -> Outcome<Bundle> {
    let application = ("oozie.bundle.application.path", "bundle.xml");
    let place = locate(given, files, application, ("bundle-config-default.xml", "E1310"), "E1310")?;
    let text = match files.look(&place.path) {
        Entry::File(text) => text,
        _ => match files.look(&join(&place.path, "bundle.xml")) {
            Entry::File(text) => text,
            _ => return Err(Refused::new("E1301", "oozie.bundle.application.path")),
        },
    };
    submit_resolved(&text, place.properties, rules, site)
}

/// Submits a text as if it were at the path that its properties name.
pub fn submit(text: &str, given: &Properties, rules: &Rules<'_>, site: &Site) -> Outcome<Bundle> {
    let given = given.iter().filter(|(_, value)| !value.is_empty());
    let properties = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    submit_resolved(text, reserved(properties, "E1310")?, rules, site)
}

/// Submits a text of which some properties are unknown. Returns the names of those along with the outcome; each is
/// replaced by a reference to itself.
pub(crate) fn submit_leniently(
    text: &str,
    given: &Properties,
    rules: &Rules<'_>,
    site: &Site,
) -> (Outcome<Bundle>, Vec<String>) {
    let mut properties = given.clone();
    let mut unknown = Vec::new();
    loop {
        let outcome = submit(text, &properties, rules, site);
        let Err(refused) = &outcome else { return (outcome, unknown) };
        let missing: Vec<String> = match (refused.code, refused.inner.as_slice()) {
            (Some("E1310"), ["E0738"] | ["E1004"]) => refused.subject.clone(),
            (Some("E1310"), ["E1301"])
                if refused.about == "kick-off-time"
                    && refused.subject.iter().any(|text| text.contains("${")) =>
            {
                // A time depends on an unknown property, wholly or in part, so nothing can be decided about it.
                let whole = site.processing.format(Instant(1_577_836_800));
                let mut last = submit(text, &properties, rules, site);
                for part in [&whole, "2020-01-01", "2020-01-01T00:00", "2020", "01", "00"] {
                    for name in &unknown {
                        properties.insert(name.clone(), part.to_owned());
                    }
                    last = submit(text, &properties, rules, site);
                    let is_wrong = |refused: &Refused| refused.about == "kick-off-time";
                    if !last.as_ref().is_err_and(is_wrong) {
                        break;
                    }
                }
                return (last, unknown);
            }
            _ => return (outcome, unknown),
        };
        let before = unknown.len();
        // The server stops at the first undefined name; as the text is evaluated as a whole, each of the others would
        // be next.
        let others = match refused.inner.as_slice() {
            ["E1004"] => variables(text),
            _ => Vec::new(),
        };
        for name in missing.into_iter().chain(others.into_iter().map(str::to_owned)) {
            let is_name = !name.is_empty()
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
            if is_name && !properties.contains_key(&name) {
                properties.insert(name.clone(), format!("${{{name}}}"));
                unknown.push(name);
            }
        }
        if unknown.len() == before || unknown.len() > 10_000 {
            return (outcome, unknown);
        }
    }
}

/// Names that occur alone between `${` and `}`.
fn variables(text: &str) -> Vec<&str> {
    let ends = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    ends.map(|(name, _)| name.trim()).collect()
}

struct Variables<'p>(&'p Properties);

impl Scope for Variables<'_> {
    fn variable(&self, name: &str) -> Option<Value<'_>> {
        let value = self.0.get(name)?;
        let value = value.trim_matches(|letter| letter <= ' ');
        Some(Value::String(Cow::Borrowed(value)))
    }
}

fn submit_resolved(
    text: &str,
    mut properties: Properties,
    rules: &Rules<'_>,
    site: &Site,
) -> Outcome<Bundle> {
    if text.is_empty() {
        return Err(Refused::new("E0701", "not-well-formed"));
    }
    let reading = document::read(text, None, rules.language, Sets::Bundle, rules.target.name());
    if let Some(fault) = &reading.fault {
        return Err(schema_fault(fault));
    }
    let root = reading.document.root().expect("a document without a fault has a root");
    workflow::parameters(root, &mut properties, false)
        .map_err(|refusal| failed(refusal.code, "parameters").names(refusal.names))?;

    let malformed = |_| failed("E1301", "bundle-app");
    if crate::syntax::xml::is_dense(text) {
        return Err(failed("E1301", "bundle-app"));
    }
    let parsed = roxmltree::Document::parse(text).map_err(malformed)?;
    let written = write(parsed.root_element());
    let template = rules.expression(&written, Phase::BundleSubmit);
    let scope = Variables(&properties);
    let scope = rules.with_site(&scope);
    let evaluated = template.text(&scope).map_err(|failure| {
        let is_variable = failure.reason == Reason::UnknownVariable;
        let name = failure.name.clone().filter(|_| is_variable);
        failed("E1004", "bundle-app").names(name.or(Some(failure.message.clone())))
    })?;
    let evaluated = roxmltree::Document::parse(&evaluated).map_err(malformed)?;
    let root = evaluated.root_element();

    let mut members = Vec::new();
    let mut names = HashSet::new();
    for element in children(root, "coordinator") {
        let name = element.attribute("name").unwrap_or_default().to_owned();
        if !names.insert(name.clone()) {
            return Err(failed("E1304", format!("coordinator {name}/@name")).names([name]));
        }
        let enabled = element.attribute("enabled");
        let properties = children(element, "configuration").next();
        let properties = properties.into_iter().flat_map(|section| children(section, "property"));
        members.push(BundleMember {
            app_path: child_text(element, "app-path").unwrap_or_default().trim().to_owned(),
            enabled: enabled.map(str::to_owned),
            critical: element.attribute("critical").map(str::to_owned),
            is_enabled: enabled.is_none_or(|text| text.eq_ignore_ascii_case("true")),
            configuration: properties
                .map(|property| {
                    let text = |name| child_text(property, name).unwrap_or_default();
                    (text("name").trim().to_owned(), text("value"))
                })
                .collect(),
            name,
        });
    }

    let controls = children(root, "controls").next();
    let kick_off = controls.and_then(|controls| child_text(controls, "kick-off-time"));
    let kick_off = kick_off.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(text) = kick_off.as_deref()
        && site.processing.parse(text).is_err()
    {
        return Err(failed("E1301", "kick-off-time").names([text]));
    }
    let name = root.attribute("name").unwrap_or_default().to_owned();
    Ok(Bundle { name, kick_off, members, properties })
}

fn children<'d>(element: Node<'d, 'd>, name: &'static str) -> impl Iterator<Item = Node<'d, 'd>> {
    element.children().filter(move |child| child.tag_name().name() == name)
}

fn child_text(element: Node<'_, '_>, name: &'static str) -> Option<String> {
    let child = element.children().find(|child| child.tag_name().name() == name)?;
    Some(child.children().filter_map(|text| text.text()).collect())
}

/// The document as text again, without its comments: this is what the server evaluates.
fn write(root: Node<'_, '_>) -> String {
    let mut text = String::new();
    // Each element is visited twice, to write its start tag and its end tag.
    let mut open = vec![(root, false)];
    while let Some((node, closes)) = open.pop() {
        match node.node_type() {
            NodeType::Element if closes => {
                text.push_str("</");
                text.push_str(node.tag_name().name());
                text.push('>');
            }
            NodeType::Element => {
                text.push('<');
                text.push_str(node.tag_name().name());
                for attribute in node.attributes() {
                    text.push(' ');
                    text.push_str(attribute.name());
                    text.push_str("=\"");
                    escape(attribute.value(), &mut text);
                    text.push('"');
                }
                text.push('>');
                open.push((node, true));
                let first = open.len();
                open.extend(node.children().map(|child| (child, false)));
                open[first..].reverse();
            }
            NodeType::Text => escape(node.text().unwrap_or_default(), &mut text),
            _ => {}
        }
    }
    text
}

fn escape(value: &str, text: &mut String) {
    for letter in value.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            other => text.push(other),
        }
    }
}
