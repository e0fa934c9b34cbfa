//! Determines which parts of an action can affect findings elsewhere in its definition.
//!
//! For an action before and after an edit, it returns a text each. If the two texts are equal, findings about the rest
//! of the definition cannot have changed, so the action may be checked alone. The text has everything in the action
//! except words that are read only by rules about this action: in arguments, in the text of a mail, in values of
//! properties. Of those, anything that rules compare across actions (variables, addresses, calls, parameters of
//! scripts) is kept.

use super::endpoints;
use super::facts::Action;
use super::reads;
use crate::syntax::xml::{Child, Children, Element, NodeKind};

/// Elements of an action whose words are read only by rules about that action.
const OWN: [&str; 22] = [
    "arg",
    "args",
    "argument",
    "bcc",
    "body",
    "cc",
    "class",
    "command",
    "content_type",
    "description",
    "env-var",
    "exec",
    "java-opt",
    "java-opts",
    "main-class",
    "master",
    "mode",
    "name",
    "query",
    "spark-opts",
    "subject",
    "to",
];

/// Markers by which rules find words in any text: addresses, function calls, names of scripts, comments addressed to
/// ankus, and template syntax.
const SIGNS: [&str; 26] = [
    ".bash", ".hive", ".hql", ".jar", ".pig", ".pl", ".py", ".q", ".sh", ".sql", "://", "wf:",
    "coord:", "hadoop:", "fs:", "hcat:", "ankus", "{{", "}}", "<%", "%>", "[#", "#if", "#set",
    "#foreach", "\r",
];

/// The facts about the definition that this depends on.
#[derive(Clone, Copy)]
pub(crate) struct Around<'c> {
    /// Whether enough actions set a property of this name for a rule to compare its values.
    pub(crate) is_shared: &'c dyn Fn(&str) -> bool,
    /// Whether several actions write to paths that they name.
    pub(crate) has_writers: bool,
}

/// Whether an action writes to paths that are compared with those of others.
pub(crate) fn is_writer(action: &Action<'_>) -> bool {
    action.is(&["map-reduce", "pig", "sqoop", "hive", "hive2", "distcp"])
}

/// Whether the job need not fail with the action.
pub(crate) fn is_aside(action: &Action<'_>) -> bool {
    action.is_aside()
}

/// Returns the paths that an action writes to.
pub(crate) fn outputs(action: &Action<'_>) -> Vec<String> {
    endpoints::outputs(action).into_iter().map(|(path, _)| path).collect()
}

/// Returns the text of an action that can affect findings elsewhere.
pub(crate) fn of_action(action: &Action<'_>, around: Around<'_>) -> String {
    let mut seen = String::new();
    for (path, _) in endpoints::inputs(action).into_iter().chain(endpoints::outputs(action)) {
        seen.push_str(&path);
        seen.push('\0');
    }
    // Other actions may depend on the output of an action, which its words may show.
    let prints = action.each("capture-output").next().is_some();
    let mut open: Vec<Children<'_>> = Vec::new();
    begin(action, action.element, around, &mut seen);
    open.push(action.element.children());
    while let Some(children) = open.last_mut() {
        let Some(child) = children.next() else {
            open.pop();
            seen.push('\u{1}');
            continue;
        };
        match child.element() {
            Some(element) => {
                begin(action, element, around, &mut seen);
                if !prints && is_own(action, element, around) {
                    let written = &element.tree().text()[element.content().range()];
                    words(written, &element.text().text, around, &mut seen);
                    seen.push('\u{1}');
                } else {
                    open.push(element.children());
                }
            }
            None => leaf(child, &mut seen),
        }
    }
    seen
}

/// Adds the start tag of an element.
fn begin(action: &Action<'_>, element: Element<'_>, around: Around<'_>, seen: &mut String) {
    seen.push_str(element.qualified_name());
    // The paths of these operations are not compared with others.
    let of_fs = action.kind() == "fs"
        && element.parent() == Some(action.body)
        && ["mkdir", "delete", "chmod", "chgrp"].contains(&element.name());
    for attribute in element.attributes() {
        seen.push('\u{2}');
        seen.push_str(attribute.qualified_name());
        seen.push('=');
        match of_fs && attribute.qualified_name() == "path" {
            true => words(attribute.raw(), &attribute.value().text, around, seen),
            false => seen.push_str(attribute.raw()),
        }
    }
    seen.push('\u{3}');
}

fn leaf(child: Child<'_>, seen: &mut String) {
    if child.is_layout() {
        return;
    }
    seen.push(match child.kind() {
        NodeKind::Comment => '\u{4}',
        NodeKind::CData => '\u{5}',
        NodeKind::Instruction => '\u{6}',
        NodeKind::Text | NodeKind::Element => '\u{7}',
    });
    seen.push_str(child.raw());
}

/// Whether the words of an element matter only to its own action.
fn is_own(action: &Action<'_>, element: Element<'_>, around: Around<'_>) -> bool {
    let is_text = |child: Child<'_>| matches!(child.kind(), NodeKind::Text | NodeKind::CData);
    if element.attributes().next().is_some() || !element.children().all(is_text) {
        return false;
    }
    let Some(parent) = element.parent() else { return false };
    if parent == action.body {
        return OWN.contains(&element.name());
    }
    let is_value = element.name() == "value"
        && parent.name() == "property"
        && parent.parent().is_some_and(|block| {
            block.name() == "configuration" && block.parent() == Some(action.body)
        });
    is_value
        && action.kind() != "sub-workflow"
        && parent.child("name").is_some_and(|name| !(around.is_shared)(&name.text().trimmed().text))
}

/// Adds the parts of such words that still matter elsewhere; `text` is `written` with its entities resolved.
fn words(written: &str, text: &str, around: Around<'_>, seen: &mut String) {
    if SIGNS.iter().any(|sign| written.contains(sign))
        || around.has_writers && written.contains('/')
    {
        seen.push_str(written);
        return;
    }
    // A rule compares whether values are variables across all actions.
    seen.push(if text.trim_start().starts_with("${") { '\u{8}' } else { '\u{9}' });
    seen.push(if text.contains("}/") { '\u{8}' } else { '\u{9}' });
    let lines = memchr::memchr_iter(b'\n', written.as_bytes()).count();
    seen.extend(std::iter::repeat_n('\n', lines));
    for range in reads::expressions(text) {
        seen.push_str(&text[range]);
        seen.push('\u{1}');
    }
}
