//! What a sub-workflow action submits.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::Run;
use super::submit::is_reserved;

/// Maximum nesting depth of sub-workflows, unless the server sets another (`oozie.action.subworkflow.max.depth`).
pub const DEEPEST: u32 = 50;

/// Returns code and message of an action that an exception of the server ends: the message begins with the code.
pub fn exception(code: &str, message: impl std::fmt::Display) -> (String, String) {
    (code.to_owned(), format!("{code}: {message}"))
}

/// A child job, as requested by its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Child {
    /// Path of its application.
    pub path: String,
    /// The properties that it is submitted with.
    pub properties: BTreeMap<String, String>,
    /// Whether it inherits the shared settings of its parent.
    pub propagates: bool,
}

/// Returns the child that the evaluated element of a sub-workflow action requests, or code and message of the action's
/// error.
pub fn child(
    parent: &Run,
    node: &str,
    element: Node<'_, '_>,
    deepest: u32,
) -> Result<Child, (String, String)> {
    let named = |name: &'static str| {
        element.children().find(move |child| child.is_element() && child.tag_name().name() == name)
    };
    let text = |element: Node<'_, '_>| -> String {
        element.children().filter_map(|child| child.text()).collect::<String>().trim().to_owned()
    };
    let propagates = named("propagate-configuration").is_some();
    let mut properties: BTreeMap<String, String> = if propagates {
        (*parent.conf).clone()
    } else {
        let kept = |name: &str| name == "user.name" || name.starts_with("oozie.");
        let kept = parent.conf.iter().filter(|(name, _)| kept(name));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let path = named("app-path").map(text).unwrap_or_default();
    properties.insert("oozie.wf.application.path".to_owned(), path.clone());
    if let Some(group) = &parent.job.group {
        properties.insert("group.name".to_owned(), group.clone());
    }
    let configuration = named("configuration");
    for property in configuration.iter().flat_map(|configuration| configuration.children()) {
        let field = |name: &str| {
            let field = property
                .children()
                .find(|child| child.is_element() && child.tag_name().name() == name)?;
            Some(text(field))
        };
        let (Some(name), Some(value)) = (field("name"), field("value")) else { continue };
        // A property without a value counts as absent.
        if value.is_empty() {
            continue;
        }
        let is_identity = name == "user.name" || name == "mapreduce.job.user.name";
        if is_identity || is_reserved(&name) {
            let message = format!("E0808: the property `{name}` may not be set for a sub-workflow");
            return Err(exception("CommandException", message));
        }
        properties.insert(name, value);
    }
    let depth = parent.property("oozie.action.subworkflow.depth");
    let depth = depth.and_then(|depth| depth.parse().ok()).unwrap_or(0_u32);
    if depth >= deepest {
        let message = format!("sub-workflows are nested more than {deepest} deep");
        return Err(exception("SUBWF001", message));
    }
    // The server sets a callback of its own here; a child notifies its parent without one.
    properties.remove("oozie.wf.workflow.notification.url");
    let top = parent.property("oozie.wf.superparent.id").unwrap_or(&parent.job.id).to_owned();
    let external = format!("{}@{node}@{}", parent.job.id, parent.job.run);
    for (name, value) in [
        ("oozie.wf.superparent.id", top),
        ("oozie.wf.parent.id", parent.job.id.clone()),
        ("oozie.action.subworkflow.depth", (depth + 1).to_string()),
        ("oozie.wf.external.id", external),
    ] {
        properties.insert(name.to_owned(), value);
    }
    Ok(Child { path, properties, propagates })
}
