//! Computes the changes in meaning between two texts of a definition.
//!
//! Returns every [`Change`], part by part (a node, a dataset, a section), in the order of the newer text. What no
//! server reads is not a change: layout, comments, the order of nodes, of attributes and of properties with different
//! names, the two names of the resource manager. Ordered content (arguments, cases, steps of a file action) is
//! compared as a list. A node with another name and the same content is a rename, and transitions that follow it are
//! not changes.

use crate::source::Span;
use crate::syntax::properties::Entry;
use crate::syntax::xml::{Element, NodeId, Tree};
use imara_diff::{Algorithm, Diff, InternedInput};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// The type of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The part is new.
    Added,
    /// The part was removed.
    Removed,
    /// The part has another name.
    Renamed,
    /// Something in the part is different.
    Changed,
}

impl Fate {
    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            Fate::Added => "added",
            Fate::Removed => "removed",
            Fate::Renamed => "renamed",
            Fate::Changed => "changed",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The type of the change.
    pub fate: Fate,
    /// The part: `action load`, `dataset logs`, `global`; by its newer name.
    pub part: String,
    /// The changed item in the part, for [`Fate::Changed`]: `ok`, `shell argument`, `configuration
    /// mapreduce.job.queuename`.
    pub what: Option<String>,
    /// The old value; for a rename, the old name.
    pub old: Option<String>,
    /// The new value; for a rename, the new name.
    pub new: Option<String>,
    /// The location in the old text.
    pub old_at: Option<Span>,
    /// The location in the new text.
    pub new_at: Option<Span>,
}

/// The values of one item of a part, with their locations; several if it repeats.
type Values = Vec<(String, Span)>;

/// A part: its label, its location, and all of its items.
#[derive(Clone, Debug, Default)]
struct Part {
    label: String,
    at: Span,
    /// Items in source order.
    order: Vec<String>,
    values: HashMap<String, Values>,
}

impl Part {
    fn say(&mut self, what: String, value: String, at: Span) {
        if !self.values.contains_key(&what) {
            self.order.push(what.clone());
        }
        self.values.entry(what).or_default().push((value, at));
    }

    /// Like [`Part::say`] for a property: the last nonempty value of a name applies.
    fn set(&mut self, what: String, value: String, at: Span) {
        let known = self.values.get(&what).is_some_and(|values| !values.is_empty());
        let nothing = value.trim().is_empty() || value == NO_VALUE;
        if known && !nothing {
            self.values.insert(what, vec![(value, at)]);
        } else if !known {
            self.say(what, value, at);
        }
    }

    /// All items, in an order that does not depend on the text, with renamed nodes replaced by their new names.
    fn sayings(&self, renamed: &HashMap<String, String>) -> Vec<(String, Vec<String>)> {
        let mut all: Vec<(String, Vec<String>)> = self
            .values
            .iter()
            .map(|(what, values)| {
                let values = values.iter().map(|(value, _)| follow(what, value, renamed)).collect();
                (what.clone(), values)
            })
            .collect();
        all.sort();
        all
    }
}

/// The value with a renamed target replaced, if it is a transition.
fn follow(what: &str, value: &str, renamed: &HashMap<String, String>) -> String {
    let new = |name: &str| renamed.get(name).cloned();
    match what {
        "ok" | "error" | "to" | "default" | "path" => {
            new(value).unwrap_or_else(|| value.to_owned())
        }
        "case" => match value.rsplit_once(ARROW).and_then(|(head, to)| Some((head, new(to)?))) {
            Some((head, to)) => format!("{head}{ARROW}{to}"),
            None => value.to_owned(),
        },
        _ => value.to_owned(),
    }
}

const ARROW: &str = " → ";

/// Shown for a property without a value.
const NO_VALUE: &str = "(none)";

/// Compares two definitions; one that cannot be parsed has no parts.
///
/// ```
/// use ankus::emit::compare::{Fate, compare};
///
/// let old = "<workflow-app name='a'><start to='x'/><kill name='x'><message>no</message></kill></workflow-app>";
/// let new = "<workflow-app  name=\"a\"><kill name='x'><message>never</message></kill><start to='x'/></workflow-app>";
/// let changes = compare(old, new);
/// assert_eq!(changes.len(), 1);
/// assert_eq!((changes[0].fate, changes[0].part.as_str()), (Fate::Changed, "kill x"));
/// assert!(compare(old, old).is_empty());
/// ```
pub fn compare(old: &str, new: &str) -> Vec<Change> {
    differences(parts(old), parts(new))
}

/// Compares two properties files, or two configurations.
pub fn compare_properties(old: &[Entry], new: &[Entry]) -> Vec<Change> {
    let part = |entries: &[Entry]| {
        // The last value of a name applies.
        let last: BTreeMap<&str, &Entry> =
            entries.iter().map(|entry| (entry.name.as_str(), entry)).collect();
        let mut part = Part { label: "properties".to_owned(), ..Part::default() };
        for entry in last.into_values() {
            part.say(entry.name.clone(), entry.value.clone(), entry.span);
        }
        vec![part]
    };
    differences(part(old), part(new))
}

fn differences(old: Vec<Part>, new: Vec<Part>) -> Vec<Change> {
    let mut changes = Vec::new();
    let known: HashMap<String, usize> = by_label(&old);
    let mut gone: Vec<bool> = {
        let there = by_label(&new);
        old.iter().map(|part| !there.contains_key(&part.label)).collect()
    };
    // A new part with the same content as a single removed part is that part, renamed.
    let mut renamed: HashMap<String, String> = HashMap::new();
    let mut from: HashMap<usize, usize> = HashMap::new();
    let none = HashMap::new();
    type Said<'p> = (&'p str, Vec<(String, Vec<String>)>);
    let mut lost: HashMap<Said<'_>, Vec<usize>> = HashMap::new();
    for (at, part) in old.iter().enumerate().filter(|(at, _)| gone[*at]) {
        if let Some((kind, _)) = part.label.split_once(' ') {
            lost.entry((kind, part.sayings(&none))).or_default().push(at);
        }
    }
    for (index, part) in new.iter().enumerate() {
        let Some((kind, name)) = part.label.split_once(' ') else { continue };
        if known.contains_key(&part.label) || part.values.is_empty() {
            continue;
        }
        let Some(twins) = lost.get_mut(&(kind, part.sayings(&none))) else { continue };
        if let [at] = **twins {
            twins.clear();
            gone[at] = false;
            from.insert(index, at);
            if let Some((_, older)) = old[at].label.split_once(' ') {
                renamed.insert(older.to_owned(), name.to_owned());
            }
        }
    }
    for (at, part) in old.iter().enumerate() {
        if gone[at] {
            changes.push(Change {
                fate: Fate::Removed,
                part: part.label.clone(),
                what: None,
                old: None,
                new: None,
                old_at: Some(part.at),
                new_at: None,
            });
        }
    }
    for (index, part) in new.iter().enumerate() {
        if let Some(at) = from.get(&index) {
            changes.push(Change {
                fate: Fate::Renamed,
                part: part.label.clone(),
                what: None,
                old: Some(old[*at].label.clone()),
                new: Some(part.label.clone()),
                old_at: Some(old[*at].at),
                new_at: Some(part.at),
            });
            continue;
        }
        match known.get(&part.label) {
            Some(at) => within(&old[*at], part, &renamed, &mut changes),
            None => changes.push(Change {
                fate: Fate::Added,
                part: part.label.clone(),
                what: None,
                old: None,
                new: None,
                old_at: None,
                new_at: Some(part.at),
            }),
        }
    }
    changes
}

fn by_label(parts: &[Part]) -> HashMap<String, usize> {
    let mut known = HashMap::new();
    for (index, part) in parts.iter().enumerate() {
        known.entry(part.label.clone()).or_insert(index);
    }
    known
}

/// Compares a part that exists in both texts.
fn within(old: &Part, new: &Part, renamed: &HashMap<String, String>, changes: &mut Vec<Change>) {
    let empty = Values::new();
    let gone = old.order.iter().filter(|what| !new.values.contains_key(*what));
    for what in gone.chain(&new.order) {
        let before = old.values.get(what).unwrap_or(&empty);
        let after = new.values.get(what).unwrap_or(&empty);
        let mut left: Vec<String> =
            before.iter().map(|(value, _)| follow(what, value, renamed)).collect();
        let mut right: Vec<String> = after.iter().map(|(value, _)| value.clone()).collect();
        if what == "path" {
            // All paths of a fork start at once, so their order is irrelevant.
            left.sort();
            right.sort();
        }
        if left == right {
            continue;
        }
        let mut push = |before: Option<usize>, after: Option<usize>| {
            let place = |values: &Values, text: &String| {
                values.iter().find(|(value, _)| value == text).map(|(_, at)| *at)
            };
            changes.push(Change {
                fate: Fate::Changed,
                part: new.label.clone(),
                what: Some(what.clone()),
                old: before.map(|at| left[at].clone()),
                new: after.map(|at| right[at].clone()),
                old_at: before.and_then(|at| place(old.values.get(what)?, &left[at])),
                new_at: after.and_then(|at| place(new.values.get(what)?, &right[at])),
            });
        };
        let mut input = InternedInput::<&str>::default();
        input.update_before(left.iter().map(String::as_str));
        input.update_after(right.iter().map(String::as_str));
        for hunk in Diff::compute(Algorithm::Myers, &input).hunks() {
            let places = |range: Range<u32>| range.start as usize..range.end as usize;
            let (mut old, mut new) = (places(hunk.before), places(hunk.after));
            loop {
                match (old.next(), new.next()) {
                    (None, None) => break,
                    (before, after) => push(before, after),
                }
            }
        }
    }
}

/// Children of the root element that are distinguished by their names.
const NAMED: [&str; 11] = [
    "action",
    "decision",
    "fork",
    "join",
    "kill",
    "end",
    "dataset",
    "async-dataset",
    "data-in",
    "data-out",
    "coordinator",
];

/// Sections whose named children are separate parts.
const SECTIONS: [&str; 4] = ["datasets", "input-events", "output-events", "credentials"];

/// The namespace without surrounding whitespace, which never makes it another schema: a server refuses it.
fn schema(element: Element<'_>) -> &str {
    element.namespace().trim()
}

/// Splits a definition into parts. The first is the root element with its own attributes.
fn parts(text: &str) -> Vec<Part> {
    let (tree, _) = Tree::parse(text);
    let Some(root) = tree.root() else { return Vec::new() };
    let mut parts =
        vec![Part { label: root.name().to_owned(), at: root.name_span(), ..Part::default() }];
    // For each element, its part and its path in that part.
    let mut places: HashMap<NodeId, (usize, String)> = HashMap::new();
    places.insert(root.id(), (0, String::new()));
    let mut labels: HashMap<String, usize> = HashMap::new();
    for element in root.descendants() {
        let Some(parent) = element.parent().filter(|_| element != root) else {
            attributes(root, &mut parts[0], "");
            parts[0].say("schema".to_owned(), schema(root).to_owned(), root.name_span());
            continue;
        };
        // The children of an element compared as a whole are not compared separately.
        let Some((part, path)) = places.get(&parent.id()).cloned() else { continue };
        let name = name_of(element);
        if name == "description" {
            continue;
        }
        let above = parent.name();
        if parent == root || SECTIONS.contains(&above) {
            if SECTIONS.contains(&name) {
                places.insert(element.id(), (0, String::new()));
                continue;
            }
            let label = label(element, above);
            let part = parts.len();
            let times = labels.entry(label.clone()).or_default();
            *times += 1;
            let label = if *times == 1 { label } else { format!("{label} ({times})") };
            parts.push(Part { label, at: element.name_span(), ..Part::default() });
            places.insert(element.id(), (part, String::new()));
            attributes(element, &mut parts[part], "");
            leaf(element, &mut parts[part], "text");
            continue;
        }
        if let Some(path) = say(element, parent, path, &mut parts[part]) {
            places.insert(element.id(), (part, path));
        }
    }
    parts
}

/// The name of an element, as it is compared.
fn name_of<'t>(element: Element<'t>) -> &'t str {
    match element.name() {
        "job-tracker" => "resource-manager",
        name => name,
    }
}

/// How the part that an element begins is called.
fn label(element: Element<'_>, above: &str) -> String {
    let name = name_of(element);
    let own = element.attribute("name").filter(|_| NAMED.contains(&name) || above == "credentials");
    match own {
        // Each is a separate item, and their order is irrelevant.
        _ if name == "include" => format!("include {}", element.text().trimmed().text),
        Some(own) => format!("{name} {}", own.value().text),
        None => name.to_owned(),
    }
}

/// Adds what an element says to its part. Returns the path in that part at which its children are compared, if they are
/// compared separately.
fn say(element: Element<'_>, parent: Element<'_>, path: String, part: &mut Part) -> Option<String> {
    let (above, name) = (parent.name(), name_of(element));
    let what =
        |word: &str| if path.is_empty() { word.to_owned() } else { format!("{path} {word}") };
    let attribute = |name| {
        element.attribute(name).map(|found| found.value().text.into_owned()).unwrap_or_default()
    };
    let at = element.name_span();
    match (above, name) {
        ("fork", "path") => part.say(what("path"), attribute("start"), at),
        ("action", "ok" | "error") => part.say(what(name), attribute("to"), at),
        ("decision", "switch") => return Some(path),
        ("switch", "case") => {
            let predicate = element.text().trimmed().text.into_owned();
            part.say(what("case"), format!("{predicate}{ARROW}{}", attribute("to")), at);
        }
        ("switch", "default") => part.say(what("default"), attribute("to"), at),
        (
            "fs" | "prepare",
            "mkdir" | "delete" | "move" | "chmod" | "chgrp" | "touchz" | "setrep",
        ) => {
            let mut step = name.to_owned();
            for attribute in element.attributes().filter(|a| a.declares().is_none()) {
                step.push_str(&format!(
                    " {}={}",
                    attribute.qualified_name(),
                    attribute.value().text
                ));
            }
            if element.child("recursive").is_some() {
                step.push_str(" recursive");
            }
            part.say(what("step"), step, at);
        }
        ("configuration" | "parameters", "property") => {
            let name = element.child("name").map(|name| name.text().trimmed().text.into_owned());
            let value = element.child("value").map(|value| value.text());
            let place = value.as_ref().map_or(at, |value| value.span());
            let value = value.map_or_else(|| NO_VALUE.to_owned(), |value| value.text.into_owned());
            part.set(what(&name.unwrap_or_default()), value, place);
        }
        _ => {
            let path = what(name);
            if schema(element) != schema(parent) {
                part.say(format!("{path} schema"), schema(element).to_owned(), at);
            }
            attributes(element, part, &path);
            leaf(element, part, &path);
            return Some(path);
        }
    }
    None
}

/// Adds the significant attributes of an element, except the name that identifies its part.
fn attributes(element: Element<'_>, part: &mut Part, path: &str) {
    let by_name = path.is_empty() && part.label.contains(' ');
    for attribute in element.attributes().filter(|attribute| attribute.declares().is_none()) {
        let name = attribute.qualified_name();
        if by_name && name == "name" {
            continue;
        }
        let what = if path.is_empty() { name.to_owned() } else { format!("{path} {name}") };
        part.say(what, attribute.value().text.into_owned(), attribute.value_span());
    }
}

/// Adds the text of a leaf element; an empty element without attributes is recorded as present.
fn leaf(element: Element<'_>, part: &mut Part, path: &str) {
    if element.elements().next().is_some() {
        return;
    }
    let text = element.text();
    let named = element.attributes().any(|attribute| attribute.declares().is_none());
    if !named || !text.text.trim().is_empty() {
        part.say(path.to_owned(), text.text.into_owned(), element.name_span());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='a'><start to='s'/><action name='s'><java><job-tracker>j</job-tracker><configuration><property><name>p</name><value>1</value></property><property><name>q</name><value>2</value></property></configuration><main-class>M</main-class><arg>a</arg><arg>b</arg></java><ok to='e'/><error to='k'/></action><kill name='k'><message>m</message></kill><end name='e'/></workflow-app>";

    #[track_caller]
    fn check(edits: &[(&str, &str)], expected: &[&str]) {
        let mut new = APP.to_owned();
        for (from, to) in edits {
            assert!(new.contains(from), "{from}");
            new = new.replace(from, to);
        }
        let found: Vec<String> = compare(APP, &new)
            .into_iter()
            .map(|change| {
                let side = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                let what = change.what.map(|what| format!(" {what}")).unwrap_or_default();
                format!(
                    "{} {}{what}: {} {}",
                    change.fate.name(),
                    change.part,
                    side(change.old),
                    side(change.new)
                )
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_no_server_reads_is_no_change() {
        check(&[("<start", "<!-- c -->\n  <start"), ("name='a'>", "name=\"a\"  >\n")], &[]);
        check(&[("job-tracker", "resource-manager")], &[]);
        check(
            &[(
                "<property><name>p</name><value>1</value></property><property><name>q</name><value>2</value></property>",
                "<property><name>q</name><value>2</value></property><property><name>p</name><value>1</value></property>",
            )],
            &[],
        );
        check(
            &[(
                "<kill name='k'><message>m</message></kill><end name='e'/>",
                "<end name='e'/><kill name='k'><message>m</message></kill>",
            )],
            &[],
        );
    }

    #[test]
    fn includes_are_told_apart_and_have_no_order() {
        let sets = |includes: &str| {
            format!(
                "<coordinator-app name='c'><datasets>{includes}<dataset name='d'><uri-template>u</uri-template></dataset></datasets></coordinator-app>"
            )
        };
        let (a, b) = ("<include>a</include>", "<include>b</include>");
        assert_eq!(compare(&sets(&format!("{a}{b}")), &sets(&format!("{b}{a}"))), []);
        let changes =
            compare(&sets(&format!("{a}{b}")), &sets(&format!("{a}<include>c</include>")));
        let told: Vec<_> =
            changes.iter().map(|change| (change.fate, change.part.as_str())).collect();
        assert_eq!(told, [(Fate::Removed, "include b"), (Fate::Added, "include c")]);
        assert_eq!(compare(&sets(a), &sets(&format!("{a}{b}"))).len(), 1);
    }

    #[test]
    fn the_last_value_of_a_property_counts() {
        let (one, nine) = (
            "<property><name>p</name><value>1</value></property>",
            "<property><name>p</name><value>9</value></property>",
        );
        check(&[(one, &format!("{nine}{one}"))], &[]);
        check(&[(one, &format!("{one}<property><name>p</name><value/></property>"))], &[]);
        check(&[(one, &format!("{one}{nine}"))], &["changed action s java configuration p: 1 9"]);
    }

    #[test]
    fn changes_are_told_part_by_part() {
        check(&[("<value>1", "<value>9")], &["changed action s java configuration p: 1 9"]);
        check(&[("<arg>a</arg>", "<arg>a</arg><arg>n</arg>")], &["changed action s java arg: - n"]);
        check(&[("<arg>b</arg>", "<arg>c</arg>")], &["changed action s java arg: b c"]);
        check(&[("ok to='e'", "ok to='k'")], &["changed action s ok: e k"]);
        check(
            &[(":0.5", ":1.0")],
            &["changed workflow-app schema: uri:oozie:workflow:0.5 uri:oozie:workflow:1.0"],
        );
        check(&[(":0.5", ":0.5 ")], &[]);
        check(&[("<end", "<join name='j' to='e'/><end")], &["added join j: - -"]);
        check(&[("<kill name='k'><message>m</message></kill>", "")], &["removed kill k: - -"]);
    }

    #[test]
    fn a_node_that_does_the_same_is_renamed() {
        check(&[("'s'", "'load'")], &["renamed action load: action s action load"]);
        check(&[("'k'", "'fail'")], &["renamed kill fail: kill k kill fail"]);
    }
}
