//! Name nodes that are not the URI of a file system.

use crate::callers::resolved;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{PATH_KEYS, Said, USED_HERE};
use crate::lint::paths::{is_port, names_file_system, split_scheme};
use crate::lint::rules::malformed_resource_manager::{
    comma_before_port, is_exchanged, is_used, names_manager,
};
use crate::lint::{Facts, Rule};
use crate::syntax::properties::{Entry, Origin};
use crate::syntax::xml::Element;
use foldhash::{HashSet, HashSetExt};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-name-node",
        group: Group::Parameters,
        summary: "the address of a name node is not the URI of a file system",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/malformed-name-node.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    in_paths(facts, out);
    in_properties(facts, out);
    if facts.workflow().is_none() {
        return;
    }
    let mut seen: HashSet<String> = HashSet::new();
    for element in facts.named(&["name-node"]) {
        let text = element.text().trimmed();
        let Some(said) = Said::of(facts, &text) else { continue };
        if !is_malformed(said.value) || !seen.insert(text.text.to_string()) {
            continue;
        }
        let mut files = facts.property_files().iter();
        if is_date(said.value) && files.any(|(_, entries)| exchanged(entries).is_some()) {
            continue;
        }
        // If the two are swapped, one finding reports both.
        if facts.property_files().iter().any(|(_, e)| exchanged_with_manager(e).is_some()) {
            continue;
        }
        let managers = ["job-tracker", "resource-manager"];
        let beside = element.parent().into_iter().flat_map(Element::elements);
        let mut beside = beside.filter(|other| managers.contains(&other.name()));
        if beside.any(|manager| is_exchanged(facts, manager)) {
            continue;
        }
        // If the property is right elsewhere, the fault is here, not in its value.
        if is_used(facts, &managers, &text.text) {
            let message = format!("`{}` is a resource manager, not a name node", text.text);
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .about(text.text.as_ref())
                    .likely(),
            );
            continue;
        }
        let message =
            format!("{} is not the URI of a file system{}", said.words(), why(said.value));
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .about(text.text.as_ref())
            .likely()
            .help("write it as `hdfs://host:8020`");
        out.push(said.place(facts, finding, USED_HERE));
    }
}

/// Checks properties with the name of a name node, whether this definition reads them or one that it starts.
fn in_properties(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let all = facts.workflow().map(|_| facts.named(&["name-node"])).into_iter().flatten();
    let seen: HashSet<String> = all.map(|element| element.text().text.trim().to_owned()).collect();
    let is_name_node =
        |entry: &&Entry| entry.name.replace(['_', '-', '.'], "").eq_ignore_ascii_case("namenode");
    for (source, entries) in facts.value_files() {
        if let Some((node, manager)) = exchanged_with_manager(entries) {
            let message =
                format!("the values of `{}` and `{}` are swapped", node.name, manager.name);
            let found = Diagnostic::new(&RULE.kind, node.value_span, message).likely();
            let path = source.path.clone();
            let mut found = found.note_in(path.clone(), manager.value_span, "the URI is here");
            found.explains = Some(manager.value_span);
            out.push(found.in_file(path));
            continue;
        }
        for entry in entries.iter().filter(is_name_node) {
            let value = entry.value.trim();
            let variable = format!("${{{}}}", entry.name);
            // A value that the definition is submitted with is checked where it is used.
            let is_judged = || {
                let bound = facts.submission.values.get(&entry.name);
                bound.is_some_and(|bound| match &bound.origin {
                    Origin::File(file) | Origin::Default(file) => *file == source.path,
                    _ => false,
                })
            };
            let is_seen = seen.contains(&variable) && is_judged();
            if (is_bare(value) || is_date(value))
                && let Some(other) = exchanged(entries)
            {
                let message = format!(
                    "the value of `{}` is not the URI of a file system, and that of `{}` is",
                    entry.name, other.name
                );
                let mut found = Diagnostic::new(&RULE.kind, entry.value_span, message)
                    .likely()
                    .help("swap the two")
                    .note_in(source.path.clone(), other.value_span, "it is given here");
                found.explains = Some(other.value_span);
                out.push(found.in_file(source.path.clone()));
                continue;
            }
            // Elsewhere in the file, the value is used as the name of a cluster.
            let cluster = format!("://{value}/");
            if is_bare(value) && source.text.contains(&cluster) && !has_scheme(facts, &variable) {
                let message =
                    format!("the value of `{}` is not the URI of a file system", entry.name);
                let finding = Diagnostic::new(&RULE.kind, entry.value_span, message).likely();
                let finding = finding.help("write `hdfs://` in front of it");
                out.push(finding.in_file(source.path.clone()));
                continue;
            }
            // A port shows that a URI was meant, unless the scheme precedes the variable.
            let is_uri =
                value.contains('/') || value.contains(':') && !has_scheme(facts, &variable);
            if is_seen && !lacks_separator(value)
                || !is_uri
                || !is_malformed(value) && !lacks_separator(value)
            {
                continue;
            }
            let message = format!(
                "the value of `{}` is not the URI of a file system{}",
                entry.name,
                why(value)
            );
            let finding = Diagnostic::new(&RULE.kind, entry.value_span, message).likely();
            let finding = finding.help("write it as `hdfs://host:8020`");
            out.push(finding.in_file(source.path.clone()));
        }
    }
}

/// Whether some text has a scheme before the variable.
fn has_scheme(facts: &Facts<'_>, variable: &str) -> bool {
    let whole = format!("://{variable}");
    facts.files.texts().any(|other| other.text.contains(&whole))
}

/// Whether the separator between the scheme and a host from other properties is not `://`.
fn lacks_separator(value: &str) -> bool {
    let rest = value.strip_prefix("hdfs").filter(|_| value.contains("${"));
    let host = rest.map(|rest| rest.trim_start_matches([':', '/'])).unwrap_or_default();
    host.starts_with("${") && rest.is_some_and(|rest| !rest.starts_with("://") && rest != host)
}

/// Returns the name node and the resource manager of a file, if their values are swapped.
pub(super) fn exchanged_with_manager(entries: &[Entry]) -> Option<(&Entry, &Entry)> {
    let is_host = |value: &str| {
        // A resource manager may be written as an HTTP URL.
        let url = ["http://", "https://"].iter().find_map(|scheme| value.strip_prefix(scheme));
        let value = url.map_or(value, |host| host.trim_end_matches('/'));
        let sign = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        !value.is_empty() && value.chars().all(sign) && !is_date(value)
    };
    let is_uri = |value: &str| {
        split_scheme(value).is_some_and(|(scheme, rest)| {
            !scheme.is_empty()
                && !scheme.starts_with("http")
                && !rest.trim_end_matches('/').contains('/')
        })
    };
    let is_node = |name: &str| name.replace(['_', '-', '.'], "").eq_ignore_ascii_case("namenode");
    let mut nodes = entries.iter().filter(|entry| is_node(&entry.name));
    let node = nodes.find(|entry| is_host(entry.value.trim()))?;
    let mut managers = entries.iter().filter(|entry| names_manager(&entry.name));
    Some((node, managers.find(|entry| is_uri(entry.value.trim()))?))
}

/// Whether a value is a date in the format of coordinators.
fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    bytes.len() > 15
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && (bytes[4], bytes[7], bytes[10]) == (b'-', b'-', b'T')
}

/// Whether a value is a single word.
fn is_bare(value: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !value.is_empty() && value.chars().all(letter)
}

/// Returns a property for something else whose value is the URI of a file system, without a path.
fn exchanged(entries: &[Entry]) -> Option<&Entry> {
    let is_other = |name: &str| {
        let lower = name.to_ascii_lowercase();
        ["queue", "pool", "user", "name", "start", "end", "date", "time"]
            .iter()
            .any(|word| lower.contains(word))
            && !["node", "fs", "uri", "url", "dir", "path", "root", "service"]
                .iter()
                .any(|word| lower.contains(word))
    };
    let is_node = |value: &str| {
        let uri = value.split_once("://").filter(|(scheme, _)| !scheme.starts_with("http"));
        uri.is_some_and(|(scheme, host)| {
            !scheme.is_empty() && !host.is_empty() && !host.trim_end_matches('/').contains('/')
        })
    };
    entries.iter().find(|entry| is_other(&entry.name) && is_node(entry.value.trim()))
}

/// Checks properties without a scheme at the beginning of the application path, which makes it a relative path.
fn in_paths(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (source, entries) in facts.property_files() {
        let values: BTreeMap<String, String> =
            entries.iter().map(|entry| (entry.name.clone(), entry.value.clone())).collect();
        for path in entries.iter().filter(|entry| PATH_KEYS.contains(&entry.name.as_str())) {
            let whole = resolved(&path.value, &values);
            let Some(first) = first_of(&path.value, &values) else { continue };
            let Some(node) = entries.iter().rev().find(|entry| entry.name == first) else {
                continue;
            };
            let value = node.value.trim();
            // If the value is swapped with the resource manager's, it is reported where both are used.
            let is_exchanged = entries.iter().any(|other| {
                let uri = other.value.trim().split_once("://");
                names_manager(&other.name) && uri.is_some_and(|(s, _)| !s.starts_with("http"))
            });
            if is_exchanged || (is_bare(value) || is_date(value)) && exchanged(entries).is_some() {
                continue;
            }
            let bare = !value.is_empty()
                && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:_".contains(&b));
            if !bare || !names_file_system(&node.name) || !whole.starts_with(&format!("{value}/")) {
                continue;
            }
            let message = format!("the value of `{first}` is not the URI of a file system");
            out.push(
                Diagnostic::new(&RULE.kind, node.value_span, message)
                    .likely()
                    .help("write it as `hdfs://host:8020`")
                    .note_in(source.path.clone(), path.value_span, "this path begins with it")
                    .in_file(source.path.clone()),
            );
        }
    }
}

/// Returns the property that a value begins with, followed through other properties.
fn first_of<'v>(value: &'v str, values: &'v BTreeMap<String, String>) -> Option<&'v str> {
    let mut value = value;
    let mut first = None;
    for _ in 0..16 {
        let Some(name) =
            value.trim_start().strip_prefix("${").and_then(|rest| rest.split('}').next())
        else {
            break;
        };
        first = Some(name);
        value = values.get(name)?;
    }
    first
}

/// Default ports of the web pages of name nodes.
const WEB_PORTS: [&str; 4] = ["9870", "9871", "50070", "50470"];

/// Default ports of resource managers.
const MANAGER_PORTS: [&str; 5] = ["8030", "8031", "8032", "8033", "8050"];

/// Returns the port of an HDFS URI.
fn port_of(value: &str) -> &str {
    let host = value.strip_prefix("hdfs://").and_then(|rest| rest.split('/').next());
    host.and_then(|host| host.rsplit_once(':')).map_or("", |(_, port)| port)
}

/// Returns why a value is wrong, if that is not obvious: its port serves only web pages (including WebHDFS), or another
/// service.
fn why(value: &str) -> &'static str {
    let port = port_of(value);
    if WEB_PORTS.contains(&port) {
        ": name nodes serve their web pages at this port"
    } else if MANAGER_PORTS.contains(&port) {
        ": resource managers listen at this port, not name nodes"
    } else if is_low(port) {
        ": no name node has a port below 1024"
    } else if ends_in_port(value) {
        ": a colon comes before the port"
    } else {
        ""
    }
}

/// Whether the last part of a host name is a number, and the others are not: `nn.example.com.8020`, `nn;8020`.
fn ends_in_port(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let Some((name, last)) = host.rsplit_once(['.', ';']) else { return false };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    last.len() > 3 && is_port(last) && !host.contains(':') && !name.split('.').any(is_number)
}

/// Whether a port is a privileged one: usually, it has lost a digit.
pub(super) fn is_low(port: &str) -> bool {
    (1..=3).contains(&port.len()) && is_port(port)
}

fn is_malformed(value: &str) -> bool {
    // A value that an expression or a build fills in is unknown; quotes have a finding of their own.
    let is_quoted = value.starts_with(['"', '\'']);
    if value.is_empty() || is_quoted || value.contains(['$', '@', '#', '%', '{', '<']) {
        return false;
    }
    if !why(value).is_empty() {
        return true;
    }
    let Some((scheme, rest)) = value.split_once("://") else {
        // A bare name may be that of a site's default file system.
        return value.contains(':') || value.contains("//");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    // A second port. Several hosts form another kind of address.
    let is_twice = authority.matches(':').count() > 1 && !authority.contains(['[', ',']);
    is_twice
        || comma_before_port(authority)
        || scheme.is_empty()
        || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        || port.is_some_and(|port| !is_port(port))
}
