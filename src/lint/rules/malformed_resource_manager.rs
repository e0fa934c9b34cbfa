//! Resource managers with an address that no client can parse.

use crate::callers::resolved;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{Said, USED_HERE, is_open};
use crate::lint::paths::{is_port, names_file_system};
use crate::lint::rules::malformed_name_node::{exchanged_with_manager, is_low};
use crate::lint::{Facts, Rule};
use crate::syntax::xml::{Decoded, Element};
use foldhash::{HashSet, HashSetExt};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-resource-manager",
        group: Group::Parameters,
        summary: "the address of a resource manager is not a host with a port",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/malformed-resource-manager.md"),
    },
    check,
};

/// Checks properties with the name of a resource manager, whether this definition reads them or one that it starts.
fn in_properties(facts: &Facts<'_>, seen: &HashSet<String>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let name = entry.name.replace(['_', '-', '.'], "").to_ascii_lowercase();
            let is_manager = ["jobtracker", "resourcemanager"].contains(&name.as_str());
            let value = entry.value.trim();
            // A name node in its place is reported where the two are used.
            if !is_manager
                || host_of_url(value).is_none() && value.contains("://")
                || seen.contains(&format!("${{{}}}", entry.name))
            {
                continue;
            }
            // The value with references to other properties resolved.
            let values = || entries.iter().map(|e| (e.name.clone(), e.value.clone())).collect();
            let whole = match value.starts_with("${") {
                true => resolved(value, &values()),
                false => value.to_owned(),
            };
            let is_path = whole != value && whole.contains('/') && !whole.contains("${");
            if is_path && host_of_url(&whole).is_none() {
                let name = &entry.name;
                let message = format!(
                    "the value of `{name}` is a path, not the address of a resource manager"
                );
                let finding = Diagnostic::new(&RULE.kind, entry.value_span, message);
                out.push(finding.likely().in_file(source.path.clone()));
                continue;
            }
            if let Some(why) = problem(value) {
                let name = &entry.name;
                let message = format!(
                    "the value of `{name}` is not the address of a resource manager: {why}"
                );
                let finding = Diagnostic::new(&RULE.kind, entry.value_span, message);
                let finding = finding.likely().help("write it as `host:8032`");
                out.push(finding.in_file(source.path.clone()));
            }
        }
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen: HashSet<String> = HashSet::new();
    let elements = facts.workflow().map(|_| facts.named(&["job-tracker", "resource-manager"]));
    for element in elements.into_iter().flatten() {
        let text = element.text().trimmed();
        // Whatever its value is, it cannot be both.
        let beside = element.parent().and_then(|parent| parent.child("name-node"));
        let is_same = |other: Element<'_>| other.text().trimmed().text == text.text;
        if Said::of(facts, &text).is_none() && beside.is_some_and(is_same) && is_open(&text.text) {
            let node = names_file_system(&text.text);
            let message = match node {
                true => format!("`{}` is a name node, not a resource manager", text.text),
                false => format!("`{}` is also the name node", text.text),
            };
            if seen.insert(text.text.to_string()) {
                out.push(
                    Diagnostic::new(&RULE.kind, text.span(), message)
                        .about(text.text.as_ref())
                        .likely(),
                );
            }
            continue;
        }
        // If their values are unknown, their names show it.
        let in_its_place =
            beside.filter(|_| Said::of(facts, &text).is_none()).is_some_and(|node| {
                names_file_system(&text.text) && names_manager(&node.text().trimmed().text)
            });
        if in_its_place && seen.insert(text.text.to_string()) {
            let message = format!("`{}` is the name node: the two are swapped", text.text);
            let found = Diagnostic::new(&RULE.kind, text.span(), message);
            out.push(found.about(text.text.as_ref()).likely());
            continue;
        }
        let Some(said) = Said::of(facts, &text) else { continue };
        let Some(why) = problem(said.value).filter(|_| seen.insert(text.text.to_string())) else {
            continue;
        };
        // If the two are swapped, one finding reports both.
        if facts.property_files().iter().any(|(_, e)| exchanged_with_manager(e).is_some()) {
            continue;
        }
        // If the property is right elsewhere, the fault is here, not in its value.
        let exchanged = is_exchanged(facts, element);
        if said.value.contains("://") && (exchanged || is_used(facts, &["name-node"], &text.text)) {
            let message = match exchanged {
                true => format!("`{}` is the name node: the two are swapped", text.text),
                false => format!("`{}` is a name node, not a resource manager", text.text),
            };
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .about(text.text.as_ref())
                    .likely(),
            );
            continue;
        }
        let message = format!("{} is not the address of a resource manager: {why}", said.words());
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .about(text.text.as_ref())
            .likely()
            .help("write it as `host:8032`");
        out.push(said.place(facts, finding, USED_HERE));
    }
    in_properties(facts, &seen, out);
}

/// Whether an expression reads a variable whose name stands for a resource manager.
pub(super) fn names_manager(expression: &str) -> bool {
    let letters = expression.chars().filter(char::is_ascii_alphanumeric);
    let word = letters.collect::<String>().to_ascii_lowercase();
    ["jobtracker", "resourcemanager"].contains(&word.as_str())
}

/// Whether a resource manager is the URI of a file system, and the name node next to it is not.
pub(super) fn is_exchanged(facts: &Facts<'_>, manager: Element<'_>) -> bool {
    // A resource manager may be written as an HTTP URL.
    let has_scheme = |text: &Decoded<'_>| {
        let said = Said::of(facts, text)?;
        let is_uri = said.value.contains("://") && host_of_url(said.value).is_none();
        (!said.value.is_empty()).then_some(is_uri)
    };
    let beside = manager.parent().and_then(|parent| parent.child("name-node"));
    let other = beside.and_then(|other| has_scheme(&other.text().trimmed()));
    other == Some(false) && has_scheme(&manager.text().trimmed()) == Some(true)
}

/// Whether an element with one of these names has exactly this text.
pub(super) fn is_used(facts: &Facts<'_>, names: &[&str], text: &str) -> bool {
    text.contains("${")
        && facts.named(names).iter().any(|element| element.text().text.trim() == text)
}

/// Default ports of the web pages of resource managers.
const WEB_PORTS: [&str; 2] = ["8088", "8090"];

/// Default ports of name nodes.
const NODE_PORTS: [&str; 4] = ["8020", "9820", "9870", "50070"];

/// Returns the host and the port of an HTTP URL.
fn host_of_url(value: &str) -> Option<&str> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| value.strip_prefix(scheme))?;
    Some(rest.strip_suffix('/').unwrap_or(rest))
}

/// Whether a comma separates a single host from its port: `rm.example.com,8032`.
pub(super) fn comma_before_port(host: &str) -> bool {
    let port = host.rsplit_once(',').filter(|(before, _)| !before.contains([',', ':']));
    port.is_some_and(|(_, port)| port.len() > 3 && is_port(port))
}

/// Whether a host is joined to its port without a separator: `rm.example.com8032`.
pub(super) fn joined_port(host: &str, ports: &[&str]) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let name = ports.iter().find_map(|port| last.strip_suffix(port)).unwrap_or_default();
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        && !name.ends_with('-');
    is_name && (last.len() < host.len() || name == "localhost" || name.contains('-'))
}

/// Returns why no client can connect to an address. A bare name may be the logical name of a cluster with several
/// resource managers.
fn problem(value: &str) -> Option<&'static str> {
    const PORT: &str = "the port is not a number below 65536";
    // After the last expression, a port is literal.
    if let Some((_, tail)) = value.rsplit_once('}')
        && value.contains("${")
        && let Some((_, port)) = tail.rsplit_once(':')
        && port.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !port.is_empty()
    {
        return (!is_port(port)).then_some(PORT);
    }
    // A value that an expression or a build fills in is unknown.
    if value.is_empty() || value.contains(['$', '@', '#', '%', '{', '<']) {
        return None;
    }
    // Hadoop extracts the host and the port from a URL: tutorials use this form, and it works.
    let is_url = host_of_url(value).is_some();
    let value = match host_of_url(value) {
        Some(host) => host,
        // With MapR, the address may be found through the file system.
        None if value.starts_with("maprfs:") => return None,
        None if value.contains("://") => {
            return Some("it has a scheme, which belongs to a name node");
        }
        None => value,
    };
    if value.contains(char::is_whitespace) {
        return Some("it contains a space");
    }
    if let Some(sign) = value.chars().find(|c| !c.is_alphanumeric() && !"-_.:[],".contains(*c)) {
        return Some(if sign == '/' {
            "it contains a `/`"
        } else {
            "it contains a stray character"
        });
    }
    // An IPv6 address without brackets cannot have a port.
    if value.contains("::") && !value.contains('[') {
        return Some("it has two `:` in a row");
    }
    if comma_before_port(value) {
        return Some("there is a `,` before the port instead of a `:`");
    }
    let Some((_, port)) = value.rsplit_once(':') else {
        let joined = joined_port(value, &["8021", "8032", "8050", "8088", "9001"]);
        return joined.then_some("a `:` is missing before the port");
    };
    if WEB_PORTS.contains(&port) {
        return Some("resource managers serve their web pages at this port");
    }
    if NODE_PORTS.contains(&port) {
        return Some("this is the port of a name node");
    }
    if is_low(port) && !is_url {
        return Some("no resource manager has a port below 1024");
    }
    // An IPv6 address ends with its bracket, a list with the port of its last host.
    (!is_port(port) && !value.ends_with(']')).then_some(PORT)
}
