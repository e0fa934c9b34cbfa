//! Upgrades a definition to newer versions of its schemas.
//!
//! Takes a text and the target version of the workflow language; returns the text with newer namespaces for the
//! workflow, its actions, coordinators and SLA blocks, and every change with its location; or all obstacles. Only
//! namespaces and renamed elements are changed; everything else stays byte for byte.
//!
//! Every result is verified: both texts are parsed and compared element by element, where a version, the new name of
//! `job-tracker` and the elements missing in SLA 0.2 count as equal, and what was valid must be valid under the new
//! schemas.

use crate::diag::{Edit, Level};
use crate::edit;
use crate::schema::{Language, Schema, families, validate};
use crate::source::Span;
use crate::syntax::format::{Event, Events};
use crate::syntax::xml::{Element, Tree};

/// A change, or an obstacle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The location in the old text.
    pub span: Span,
    /// One line, lower case, no full stop.
    pub message: String,
}

/// An upgraded definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// The new text.
    pub text: String,
    /// The changes, in source order.
    pub changes: Vec<Remark>,
}

/// Elements of SLA 0.1 that 0.2 does not have; servers since 4.0 ignore them.
const SLA_DROPPED: [&str; 8] = [
    "app-name",
    "parent-client-id",
    "parent-sla-id",
    "dev-contact",
    "qa-contact",
    "se-contact",
    "alert-frequency",
    "alert-percentage",
];

/// Upgrades the schemas of a definition to those of a server with version `to` of the workflow language. `Err`
/// contains all obstacles.
///
/// ```
/// let text = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" name=\"a\"><start to=\"e\"/><end name=\"e\"/></workflow-app>";
/// let upgrade = ankus::emit::upgrade::upgrade(text, "1.0").unwrap();
/// assert_eq!(upgrade.text, text.replace("0.5", "1.0"));
/// assert!(ankus::emit::upgrade::upgrade(text, "7.0").is_err());
/// ```
pub fn upgrade(text: &str, to: &str) -> Result<Upgrade, Vec<Remark>> {
    let remark = |span, message: &str| vec![Remark { span, message: message.to_owned() }];
    let (tree, findings) = Tree::parse(text);
    if let Some(finding) = findings.first() {
        return Err(remark(finding.span, &finding.message));
    }
    let Some(root) = tree.root() else {
        return Err(remark(Span::default(), "there is no element"));
    };
    let server = server_of(to).ok_or_else(|| {
        let known = families().iter().find(|family| &*family.name == "workflow");
        let known: Vec<&str> = known.into_iter().flat_map(|family| family.versions()).collect();
        remark(
            root.name_span(),
            &format!("there is no version {to}; known are {}", known.join(", ")),
        )
    })?;
    let mut raiser =
        Raiser { to, server, edits: Vec::new(), changes: Vec::new(), obstacles: Vec::new() };
    raiser.element_by_element(&tree, root);
    if !raiser.obstacles.is_empty() {
        return Err(raiser.obstacles);
    }
    let Raiser { mut edits, mut changes, .. } = raiser;
    if edits.is_empty() {
        return Ok(Upgrade { text: text.to_owned(), changes });
    }
    edits.sort_by_key(|edit| edit.span);
    changes.sort_by_key(|change| change.span);
    let Ok(raised) = edit::apply(text, &edits) else {
        return Err(remark(root.name_span(), "the changes do not fit together"));
    };
    prove(&tree, &raised, server)?;
    Ok(Upgrade { text: raised, changes })
}

/// The oldest server that supports a version of the workflow language.
fn server_of(version: &str) -> Option<&'static str> {
    let family = families().iter().find(|family| &*family.name == "workflow")?;
    let schema = family.schema(version)?;
    ["3.3.2", "4.3.1", "5.2.1"].into_iter().find(|server| schema.known_to(server, "workflow"))
}

/// The newest schema of a namespace's family that a server supports, if that is newer; with its version.
fn newer(namespace: &str, to: &str, server: &str) -> Option<(&'static Schema, String)> {
    let (uri, own) = namespace.split_at(namespace.rfind(':')? + 1);
    let family = families().iter().find(|family| &*family.uri == uri)?;
    let place = |version: &str| family.versions().position(|known| known == version);
    let best = match &*family.name {
        "workflow" => to.to_owned(),
        _ => {
            let newest = family.schemas().rfind(|schema| schema.known_to(server, "workflow"))?;
            newest.namespace.rsplit(':').next()?.to_owned()
        }
    };
    (place(&best)? > place(own)?).then_some(())?;
    Some((family.schema(&best)?, best))
}

struct Raiser<'r> {
    to: &'r str,
    server: &'r str,
    edits: Vec<Edit>,
    changes: Vec<Remark>,
    obstacles: Vec<Remark>,
}

impl Raiser<'_> {
    fn element_by_element(&mut self, tree: &Tree, root: Element<'_>) {
        let modern = self.to == "1.0";
        for element in root.descendants() {
            for attribute in element.attributes().filter(|attribute| attribute.declares().is_some())
            {
                let namespace = attribute.value().text;
                if let Some((schema, version)) = newer(&namespace, self.to, self.server) {
                    let old = namespace.rsplit(':').next().unwrap_or_default();
                    let family = namespace.split(':').nth(2).unwrap_or_default();
                    let message = format!("`{family}` {old} becomes {version}");
                    self.replace(attribute.value_span(), &schema.namespace, message);
                }
            }
            let namespace = element.namespace();
            let workflow = namespace.starts_with("uri:oozie:workflow:");
            match element.name() {
                "job-tracker" if modern && becomes_modern(namespace, self.to, self.server) => {
                    let name = element.qualified_name().replace("job-tracker", "resource-manager");
                    let message = "`job-tracker` becomes `resource-manager`".to_owned();
                    self.replace(element.name_span(), &name, message);
                    let end = element.end_tag();
                    if end.start < end.end && !element.is_empty_tag() {
                        let start = end.start as usize + "</".len();
                        let span = Span::new(start, start + element.qualified_name().len());
                        self.edits.push(Edit { file: None, span, text: name });
                    }
                }
                "setrep" if workflow && modern => {
                    self.hinder(element.name_span(), "version 1.0 has no `setrep`");
                }
                "delete" if workflow && modern => {
                    if let Some(attribute) = element.attribute("skip-trash") {
                        self.hinder(attribute.name_span(), "version 1.0 has no `skip-trash`");
                    }
                }
                "parameters" if namespace == "uri:oozie:workflow:0.4.5" => {
                    let words = "version 0.4.5 ignores this section, and all others apply it";
                    self.hinder(element.name_span(), words);
                }
                "http" if namespace == "uri:oozie:workflow:0.1" && self.to != "0.1" => {
                    self.hinder(element.name_span(), "no server runs `http` actions");
                }
                "email" if namespace == "uri:oozie:workflow:0.1" && self.to != "0.1" => {
                    let words = "this `email` has no `body`, which newer versions require";
                    self.hinder(element.name_span(), words);
                }
                "ssh" if namespace == "uri:oozie:workflow:0.1" && self.to != "0.1" => {
                    let message = "`ssh` gets its own schema".to_owned();
                    if element.prefix().is_some() {
                        self.hinder(element.name_span(), "this `ssh` needs its own namespace");
                    } else {
                        let at = Span::at(element.name_span().end as usize);
                        self.replace(at, " xmlns=\"uri:oozie:ssh-action:0.1\"", message);
                    }
                }
                "info"
                    if namespace == "uri:oozie:sla:0.1"
                        && newer(namespace, self.to, self.server).is_some() =>
                {
                    self.sla(tree, element);
                }
                _ => {}
            }
        }
    }

    fn replace(&mut self, span: Span, text: &str, message: String) {
        self.edits.push(Edit { file: None, span, text: text.to_owned() });
        self.changes.push(Remark { span, message });
    }

    fn hinder(&mut self, span: Span, message: &str) {
        self.obstacles.push(Remark { span, message: message.to_owned() });
    }

    /// Removes the elements that 0.2 lacks, and moves the contact before the message.
    fn sla(&mut self, tree: &Tree, info: Element<'_>) {
        let text = tree.text();
        for element in info.elements().filter(|element| SLA_DROPPED.contains(&element.name())) {
            let message = format!(
                "`{}` is left out: SLA 0.2 has none, and servers read none",
                element.name()
            );
            let span = element.span();
            let before = &text[..span.start as usize];
            let blank = before.len() - before.trim_end_matches([' ', '\t', '\r', '\n']).len();
            let whole = Span::new(span.start as usize - blank, span.end as usize);
            self.edits.push(Edit { file: None, span: whole, text: String::new() });
            self.changes.push(Remark { span, message });
        }
        if let (Some(words), Some(contact)) =
            (info.child("notification-msg"), info.child("alert-contact"))
        {
            let slice = |element: Element<'_>| text[element.span().range()].to_owned();
            let (first, second) = (slice(contact), slice(words));
            let message = "`alert-contact` comes before `notification-msg` in SLA 0.2".to_owned();
            self.replace(words.span(), &first, message);
            self.edits.push(Edit { file: None, span: contact.span(), text: second });
        }
    }
}

/// Whether elements of a namespace are upgraded to a version that has `resource-manager`.
fn becomes_modern(namespace: &str, to: &str, server: &str) -> bool {
    let version = newer(namespace, to, server).map(|(_, version)| version);
    version.as_deref().or(namespace.rsplit(':').next()) == Some("1.0")
}

/// Parses both texts and compares them; what was valid must still be valid.
fn prove(before: &Tree, text: &str, server: &str) -> Result<(), Vec<Remark>> {
    let (after, findings) = Tree::parse(text);
    let remark = |span, message: String| Err(vec![Remark { span, message }]);
    if let Some(finding) = findings.first() {
        return remark(Span::default(), format!("the result is broken: {}", finding.message));
    }
    let (left, right) = (meaning(before), meaning(&after));
    let differs = left.iter().zip(&right).find(|((one, _), (other, _))| one != other);
    if let Some(((_, span), _)) = differs {
        return remark(*span, "this would mean something else".to_owned());
    }
    if left.len() != right.len() {
        return remark(Span::default(), "something would be lost".to_owned());
    }
    let document = match before.root().map(Element::name) {
        Some("workflow-app") => validate::Document::Workflow,
        Some("coordinator-app") => validate::Document::Coordinator,
        Some("bundle-app") => validate::Document::Bundle,
        _ => return Ok(()),
    };
    let faults = |tree: &Tree, target: &str| {
        let found = validate::check(tree, document, &Language::default(), target);
        found.into_iter().filter(|finding| finding.kind.level == Level::Error).collect::<Vec<_>>()
    };
    // The newest server supports every version, so that everything that was valid on some server counts as valid.
    let (was, is) = (faults(before, "5.2.1"), faults(&after, server));
    match is.first() {
        Some(fault) if was.is_empty() => {
            let words = format!("the newer schema does not allow it: {}", fault.message);
            let line = fault.span.start as usize;
            let element = after.element_at(line as u32).map_or("", Element::name);
            let place = before.root().into_iter().flat_map(Element::descendants);
            let span = place.filter(|e| e.name() == element).map(Element::name_span).next();
            remark(span.unwrap_or_default(), words)
        }
        _ => Ok(()),
    }
}

/// The parsing events of a text, with all intended changes of an upgrade made equal.
fn meaning(tree: &Tree) -> Vec<(String, Span)> {
    let mut out: Vec<(String, Span)> = Vec::new();
    let mut dropping = 0;
    // The start of the children of an SLA block, whose order changes.
    let mut block: Option<(usize, usize)> = None;
    let mut depth = 0;
    for (event, span) in Events::new(tree) {
        if dropping > 0 {
            match event {
                Event::Start(_) => dropping += 1,
                Event::End => dropping -= 1,
                _ => {}
            }
            continue;
        }
        let text = match event {
            Event::Start(element) => {
                let (name, namespace) = (element.qualified_name(), element.namespace());
                let local = name.rsplit(':').next().unwrap_or(name);
                let family = namespace.rsplit_once(':').map_or(namespace, |(family, _)| family);
                let sla = family == "uri:oozie:sla";
                if sla && SLA_DROPPED.contains(&local) && depth > 0 {
                    dropping = 1;
                    continue;
                }
                depth += 1;
                if sla && local == "info" {
                    block = Some((depth, out.len() + 1));
                }
                let name = if local == "job-tracker" { "resource-manager" } else { local };
                // An action that was part of the workflow language may have its own namespace now.
                let family =
                    if local == "ssh" || family.starts_with("uri:oozie:ssh") { "" } else { family };
                let family = if family == "uri:oozie:workflow" { "" } else { family };
                let kept: Vec<String> = element
                    .attributes()
                    .filter(|attribute| attribute.declares().is_none())
                    .map(|each| format!("{}={:?}", each.qualified_name(), each.value().text))
                    .collect();
                format!("<{family} {name} {}", kept.join(" "))
            }
            Event::Text(text) => format!("text {}", text.decoded().text),
            Event::CData(text) => format!("cdata {text}"),
            Event::Comment(text) => format!("comment {text}"),
            Event::Instruction(text) => format!("instruction {text}"),
            Event::End => {
                if let Some((_, start)) = block.filter(|(level, _)| *level == depth) {
                    // Sorts whole children, so that their order does not depend on the version.
                    let mut children: Vec<(String, Span)> = Vec::new();
                    for (text, span) in out.drain(start..) {
                        match children.last_mut() {
                            Some((last, _)) if !last.ends_with("\u{0}>") => {
                                last.push('\u{0}');
                                last.push_str(&text);
                            }
                            _ => children.push((text, span)),
                        }
                    }
                    children.sort_by(|a, b| a.0.cmp(&b.0));
                    out.extend(children);
                    block = None;
                }
                depth -= 1;
                ">".to_owned()
            }
        };
        out.push((text, span));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn app(version: &str, body: &str) -> String {
        format!(
            "<workflow-app xmlns=\"uri:oozie:workflow:{version}\" name=\"a\">\n  <start to=\"s\"/>\n  <action name=\"s\">\n    {body}\n    <ok to=\"e\"/>\n    <error to=\"e\"/>\n  </action>\n  <end name=\"e\"/>\n</workflow-app>\n"
        )
    }

    #[track_caller]
    fn check(from: (&str, &str), to: (&str, &str)) {
        let upgrade = upgrade(&app(from.0, from.1), to.0).expect("can be upgraded");
        assert_eq!(upgrade.text, app(to.0, to.1));
        assert!(!upgrade.changes.is_empty());
    }

    #[track_caller]
    fn check_refused(version: &str, body: &str, to: &str, words: &str) {
        let remarks = upgrade(&app(version, body), to).expect_err("stands in the way");
        assert!(remarks.iter().any(|remark| remark.message.contains(words)), "{remarks:?}");
    }

    #[test]
    fn actions_follow_and_the_resource_manager_gets_its_name() {
        check(
            (
                "0.4",
                "<shell xmlns='uri:oozie:shell-action:0.1'><job-tracker>x</job-tracker><name-node>y</name-node><exec>z</exec></shell>",
            ),
            (
                "1.0",
                "<shell xmlns='uri:oozie:shell-action:1.0'><resource-manager>x</resource-manager><name-node>y</name-node><exec>z</exec></shell>",
            ),
        );
        check(
            (
                "0.2",
                "<hive xmlns=\"uri:oozie:hive-action:0.2\"><job-tracker>x</job-tracker><name-node>y</name-node><script>z</script></hive>",
            ),
            (
                "0.5",
                "<hive xmlns=\"uri:oozie:hive-action:0.6\"><job-tracker>x</job-tracker><name-node>y</name-node><script>z</script></hive>",
            ),
        );
    }

    #[test]
    fn what_newer_versions_lack_stands_in_the_way() {
        let name_node = "<name-node>hdfs://n</name-node>";
        check_refused(
            "0.5",
            &format!("<fs>{name_node}<setrep path=\"/a\" replication-factor=\"2\"/></fs>"),
            "1.0",
            "setrep",
        );
        check_refused(
            "0.5",
            &format!("<fs>{name_node}<delete path=\"/a\" skip-trash=\"true\"/></fs>"),
            "1.0",
            "skip-trash",
        );
        check_refused("0.1", "<email><to>a</to><subject>b</subject></email>", "0.5", "body");
        check_refused("0.5", "<fs/>", "0.9", "no version 0.9");
    }

    #[test]
    fn the_first_version_of_ssh_gets_its_schema() {
        check(
            ("0.1", "<ssh><host>a</host><command>b</command></ssh>"),
            (
                "0.5",
                "<ssh xmlns=\"uri:oozie:ssh-action:0.1\"><host>a</host><command>b</command></ssh>",
            ),
        );
    }

    #[test]
    fn sla_blocks_keep_what_servers_read() {
        let old = "<workflow-app xmlns=\"uri:oozie:workflow:0.5\" xmlns:sla=\"uri:oozie:sla:0.1\" name=\"a\">\n<start to=\"e\"/>\n<end name=\"e\"/>\n<sla:info>\n<sla:app-name>a</sla:app-name>\n<sla:nominal-time>t</sla:nominal-time>\n<sla:should-start>1</sla:should-start>\n<sla:should-end>2</sla:should-end>\n<sla:notification-msg>m</sla:notification-msg>\n<sla:alert-contact>c</sla:alert-contact>\n<sla:dev-contact>d</sla:dev-contact>\n<sla:qa-contact>q</sla:qa-contact>\n<sla:se-contact>s</sla:se-contact>\n</sla:info>\n</workflow-app>";
        let upgrade = upgrade(old, "1.0").expect("can be upgraded");
        assert!(upgrade.text.contains("<sla:info>\n<sla:nominal-time>t</sla:nominal-time>\n<sla:should-start>1</sla:should-start>\n<sla:should-end>2</sla:should-end>\n<sla:alert-contact>c</sla:alert-contact>\n<sla:notification-msg>m</sla:notification-msg>\n</sla:info>"), "{}", upgrade.text);
    }

    #[test]
    fn what_is_new_already_stays() {
        let text = app("1.0", "<fs/>");
        let upgrade = upgrade(&text, "0.5").expect("nothing to do");
        assert_eq!((upgrade.text, upgrade.changes), (text, Vec::new()));
    }
}
