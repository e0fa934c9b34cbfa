//! URIs with a slip in the scheme, or with a slash too few or too many after it.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::lint::paths::{is_port, split_scheme};
use crate::lint::reads::first_expression;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use std::cell::LazyCell;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-uri",
        group: Group::Parameters,
        summary: "a URI with a misspelled scheme, or too few or too many slashes after it",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/malformed-uri.md"),
    },
    check,
};

/// Schemes followed by a host. Those of Hadoop's own file systems may also be followed by just a path.
const OF_HOSTS: [&str; 9] = ["http", "https", "ftp", "sftp", "thrift", "hcat", "ssh", "s3a", "s3n"];
const OF_FILES: [&str; 3] = ["hdfs", "webhdfs", "viewfs"];
/// Elements whose text is for human readers or other programs, or is a name node, which another rule covers.
const WORDS: [&str; 7] =
    ["message", "description", "body", "subject", "command", "name-node", "name"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let hosts = hosts(facts);
    for (element, text) in facts.texts() {
        if is_harmless(&text.text) {
            continue;
        }
        if let Some(range) = jdbc(&text.text).filter(|_| element.name() != "message") {
            let span = text.source(range);
            out.push(of_scheme(span, facts.slice(span), "jdbc"));
            continue;
        }
        if let Some((range, near)) = jdbc_without_colon(&text.text) {
            out.push(of_jdbc(text.source(range), near));
            continue;
        }
        if let Some((range, near)) = driver(&text.text).filter(|_| element.name() != "message") {
            let span = text.source(range);
            out.push(of_driver(span, facts.slice(span), near));
            continue;
        }
        if let Some(range) = one_slash(&text.text).filter(|_| element.name() != "message") {
            let span = text.source(range);
            out.push(of_database_slash(span, facts.slice(span)));
            continue;
        }
        let is_name_node = element.name() == "name-node";
        if WORDS.contains(&element.name()) && !is_name_node {
            continue;
        }
        let plain = text.trim();
        if let Some((range, scheme)) = without_colon(&plain.text).filter(|_| !is_name_node) {
            out.push(of_colon(plain.source(range), scheme));
            continue;
        }
        if let Some((scheme, near)) = meant_scheme(&plain.text) {
            let span = plain.source(0..scheme.len());
            out.push(of_scheme(span, scheme, near));
            continue;
        }
        if is_name_node {
            continue;
        }
        let value_of = |name: &str| facts.submission.get(name).or_else(|| near_value(facts, name));
        if let Some(range) = joined(&plain.text, value_of) {
            let span = plain.source(range.clone());
            let at = plain.source(range.end..range.end);
            let found = Diagnostic::new(&RULE.kind, span, NO_SLASH).likely();
            out.push(found.fix(Fix::guess("Put a `/` between them", at, "/")));
            continue;
        }
        if let Some((range, name)) = repeated(&plain.text, value_of) {
            let span = plain.source(range);
            let title = "Remove the scheme in front of it";
            out.push(of_two_schemes(span, name).fix(Fix::guess(title, span, "")));
            continue;
        }
        if let Some((range, slip)) =
            problem(&plain.text).or_else(|| lost_slash(&plain.text, &hosts))
        {
            let span = plain.source(range);
            let found = finding(span, &plain.text, slip);
            out.push(match slip {
                Slip::Slashes(right) => {
                    found.fix(Fix::guess(format!("Write `{right}`"), span, right))
                }
                _ => found,
            });
        }
    }
    in_plain_values(facts, out);
    in_properties(facts, &hosts, out);
}

/// Checks values of properties and paths without any sign but slashes, such as `hdfs//nn/data`, which are not among the
/// texts above.
fn in_plain_values(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let is_plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    let elements = ["app-path", "archive", "file", "jar", "job-xml", "script", "value"];
    for element in facts.named(&elements) {
        let text = element.text().trimmed();
        if let Some((range, scheme)) = without_colon(&text.text).filter(|_| is_plain(&text.text)) {
            out.push(of_colon(text.source(range), scheme));
        }
    }
}

/// Returns the value of a name in properties files near a definition without a known caller, if all files that set it
/// agree.
fn near_value<'f>(facts: &'f Facts<'_>, name: &str) -> Option<&'f str> {
    let entries = facts.near_files().iter().flat_map(|(_, entries)| entries);
    let mut values = entries.filter(|entry| entry.name == name).map(|entry| entry.value.as_str());
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// Checks URIs in the values of properties.
fn in_properties(facts: &Facts<'_>, hosts: &HashSet<&str>, out: &mut Vec<Diagnostic>) {
    let name_nodes = LazyCell::new(|| name_nodes(facts));
    for (source, entries) in facts.value_files() {
        let value_of = |name: &str| {
            let entry = entries.iter().rev().find(|entry| entry.name == name)?;
            Some(entry.value.as_str())
        };
        for entry in entries {
            // The value as written in the file.
            let raw = source.slice(entry.value_span);
            if is_harmless(raw) {
                continue;
            }
            if let Some(range) = jdbc(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(of_scheme(span, &raw[range], "jdbc").in_file(source.path.clone()));
                continue;
            }
            if let Some((range, near)) = jdbc_without_colon(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(of_jdbc(span, near).in_file(source.path.clone()));
                continue;
            }
            if let Some((range, near)) = driver(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(of_driver(span, &raw[range], near).in_file(source.path.clone()));
                continue;
            }
            if let Some(range) = one_slash(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(of_database_slash(span, source.slice(span)).in_file(source.path.clone()));
                continue;
            }
            let name = entry.name.replace(['_', '-', '.'], "").to_ascii_lowercase();
            let is_node =
                || name == "namenode" || name_nodes.contains(&format!("${{{}}}", entry.name));
            if let Some((range, scheme)) = without_colon(raw).filter(|_| !is_node()) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(of_colon(span, scheme).in_file(source.path.clone()));
                continue;
            }
            if let Some((scheme, near)) = meant_scheme(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start, start + scheme.len());
                out.push(of_scheme(span, scheme, near).in_file(source.path.clone()));
                continue;
            }
            let place = |range: std::ops::Range<usize>| {
                let start = entry.value_span.start as usize;
                Span::new(start + range.start, start + range.end)
            };
            if let Some(range) = joined(raw, value_of) {
                let found = Diagnostic::new(&RULE.kind, place(range), NO_SLASH).likely();
                out.push(found.in_file(source.path.clone()));
                continue;
            }
            if let Some((range, name)) = repeated(raw, value_of) {
                out.push(of_two_schemes(place(range), name).in_file(source.path.clone()));
                continue;
            }
            let is_blank = |slip: &Slip| matches!(slip, Slip::Blank);
            let slip = problem(raw.trim_end())
                .or_else(|| lost_slash(raw, hosts))
                .filter(|(_, slip)| is_blank(slip) || !is_node());
            if let Some((range, right)) = slip {
                out.push(finding(place(range), raw, right).in_file(source.path.clone()));
            }
        }
    }
}

/// Whether a text neither has a scheme nor begins with a variable. Most texts do not, and need no check.
fn is_harmless(text: &str) -> bool {
    memchr::memchr(b':', text.as_bytes()).is_none()
        && !text.trim_start().starts_with("${")
        && without_colon(text).is_none()
}

/// Length of the longest of `MEANT`.
const LONGEST_SCHEME: usize = 10;

/// Returns the scheme at the beginning of a text and the slashes after it, if no colon is between them.
pub(super) fn without_colon(text: &str) -> Option<(std::ops::Range<usize>, &str)> {
    let start = text.len() - text.trim_start().len();
    let rest = &text.as_bytes()[start..];
    let length = rest.iter().take(LONGEST_SCHEME + 1).position(|byte| *byte == b'/')?;
    let at = start + length;
    let scheme = text.get(start..at).filter(|scheme| MEANT.contains(scheme))?;
    if !text[at..].starts_with("//") {
        return None;
    }
    // What goes on with blanks is no URI.
    (!text[at..].trim_end().contains([' ', '\n'])).then_some((start..at + 2, scheme))
}

fn of_colon(span: Span, scheme: &str) -> Diagnostic {
    lacks_colon(&RULE.kind, span, scheme).likely()
}

/// Returns the finding of a rule about a scheme that is not followed by a colon.
pub(super) fn lacks_colon(kind: &'static Kind, span: Span, scheme: &str) -> Diagnostic {
    let message = format!("a colon is missing after the scheme `{scheme}`");
    Diagnostic::new(kind, span, message).did_you_mean(format!("{scheme}://"))
}

/// Returns the beginning of a JDBC URL with only one slash before its host. URLs of HiveServer2 are checked where they
/// are used, and PostgreSQL has a form without a host.
fn one_slash(text: &str) -> Option<std::ops::Range<usize>> {
    const DRIVERS: [&str; 4] = ["impala", "mariadb", "mysql", "sqlserver"];
    // Many texts are variables, and have no colon.
    memchr::memchr(b':', text.as_bytes())?;
    let start = text.find("jdbc:")?;
    let behind = &text[start + 5..];
    // The second colon may be missing as well.
    if let Some((driver, rest)) = behind.split_once("//").filter(|(name, _)| DRIVERS.contains(name))
    {
        return Some(start..start + 5 + driver.len() + 2).filter(|_| !rest.is_empty());
    }
    let (driver, rest) = behind.split_once(":/")?;
    let is_one = DRIVERS.contains(&driver) && !rest.starts_with('/');
    is_one.then(|| start..text.len() - rest.len())
}

/// Databases with common drivers, as their URLs name them after `jdbc:`; short names, which others may nearly equal, are
/// not among them.
const DATABASES: [&str; 14] = [
    "hive2",
    "hsqldb",
    "impala",
    "mariadb",
    "mysql",
    "netezza",
    "oracle",
    "phoenix",
    "postgresql",
    "redshift",
    "snowflake",
    "sqlserver",
    "teradata",
    "vertica",
];
/// Names of other drivers that nearly equal one of them.
const OTHER_DATABASES: [&str; 2] = ["hive", "sqlite"];

/// Returns the misspelled database in a JDBC URL, and the one that is meant.
fn driver(text: &str) -> Option<(std::ops::Range<usize>, &'static str)> {
    memchr::memchr(b':', text.as_bytes())?;
    let start = text.find("jdbc:")? + "jdbc:".len();
    let (name, _) = text[start..].split_once(':')?;
    let is_name = name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let lower = is_name.then(|| name.to_ascii_lowercase())?;
    if DATABASES.contains(&&*lower) || OTHER_DATABASES.contains(&&*lower) {
        return None;
    }
    let near = DATABASES.into_iter().find(|known| {
        let is_short_form = lower == "postgres" && *known == "postgresql";
        is_short_form || within(&lower, known, 1).is_some()
    })?;
    Some((start..start + name.len(), near))
}

fn of_jdbc(span: Span, database: &str) -> Diagnostic {
    let message = "a colon is missing between `jdbc` and the name of the database";
    let found = Diagnostic::new(&RULE.kind, span, message).likely();
    found.did_you_mean(format!("jdbc:{database}"))
}

fn of_driver(span: Span, name: &str, near: &str) -> Diagnostic {
    let message = format!("no driver has URLs that begin with `jdbc:{name}:`");
    Diagnostic::new(&RULE.kind, span, message).about(name).likely().did_you_mean(near)
}

fn of_database_slash(span: Span, written: &str) -> Diagnostic {
    let message = match written.ends_with("//") {
        true => "a colon is missing before the host of a database",
        false => "a slash is missing: the URL of a database has two before its host",
    };
    Diagnostic::new(&RULE.kind, span, message).likely()
}

/// Returns the beginning of a JDBC URL without a colon between `jdbc` and the database.
fn jdbc_without_colon(text: &str) -> Option<(std::ops::Range<usize>, &'static str)> {
    let first = memchr::memchr(b'j', text.as_bytes())?;
    let start = first + text[first..].find("jdbc")?;
    let behind = &text[start + 4..];
    let rest = behind.trim_start_matches([' ', '.', ';', ',', '/', '-', '_']);
    let gap = behind.len() - rest.len();
    let database = DATABASES.iter().find(|database| {
        rest.strip_prefix(**database).is_some_and(|rest| rest.starts_with("://"))
    })?;
    (gap < 2).then_some((start..start + 4 + gap + database.len(), *database))
}

/// Returns the beginning of a JDBC URL whose scheme is a misspelled `jdbc`.
fn jdbc(text: &str) -> Option<std::ops::Range<usize>> {
    const DRIVERS: [&str; 12] = [
        ":db2:",
        ":hive2:",
        ":hsqldb:",
        ":impala:",
        ":mariadb:",
        ":mysql:",
        ":netezza:",
        ":oracle:",
        ":postgresql:",
        ":sqlserver:",
        ":teradata:",
        ":phoenix:",
    ];
    // A fast path: hardly any text contains one of them.
    let begins = |at: usize| DRIVERS.iter().any(|driver| text[at..].starts_with(driver));
    if !memchr::memchr_iter(b':', text.as_bytes()).any(begins) {
        return None;
    }
    DRIVERS.iter().find_map(|driver| {
        let end = text.find(driver)?;
        let start = text[..end].trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let word = &text[start..end];
        let is_slip = word != "jdbc" && word.len() > 2 && within(word, "jdbc", 1).is_some();
        (is_slip && !word.eq_ignore_ascii_case("jdbc")).then_some(start..end)
    })
}

/// Returns the name node at the beginning of a path that continues without a slash, so that its port or host becomes a
/// different one.
fn joined<'v>(
    text: &str,
    value_of: impl Fn(&str) -> Option<&'v str>,
) -> Option<std::ops::Range<usize>> {
    let range = text.starts_with("${").then(|| first_expression(text))??;
    let (node, rest) = text.split_at(range.end);
    let begins = rest.starts_with(|c: char| c.is_ascii_lowercase()) && rest.contains('/');
    let name = node.strip_prefix("${")?.strip_suffix('}').filter(|_| begins)?.trim();
    let plain = name.replace(['_', '-', '.'], "").to_ascii_lowercase();
    let given = || value_of(name).is_some_and(|value| value.trim().ends_with('/'));
    (plain.ends_with("namenode") && !given()).then_some(range)
}

const NO_SLASH: &str = "the path after the name node does not begin with `/`";

/// Returns a scheme before a variable whose value begins with a scheme already, and the name of the variable.
fn repeated<'v, 't>(
    text: &'t str,
    value_of: impl Fn(&str) -> Option<&'v str>,
) -> Option<(std::ops::Range<usize>, &'t str)> {
    let (scheme, rest) = split_scheme(text)?;
    let name = rest.strip_prefix("${")?.split('}').next()?.trim();
    let is_scheme =
        (2..=8).contains(&scheme.len()) && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let value = value_of(name).filter(|_| is_scheme)?;
    let (first, host) = split_scheme(value.trim())?;
    (first == scheme && !host.is_empty()).then_some((0..scheme.len() + 3, name))
}

fn of_two_schemes(span: Span, name: &str) -> Diagnostic {
    let message = format!("the value of `{name}` already begins with a scheme");
    Diagnostic::new(&RULE.kind, span, message).about(name).likely()
}

/// Schemes whose misspellings are searched for: of Hadoop's file systems, and of the services around it.
const MEANT: [&str; 15] = [
    "hdfs", "webhdfs", "viewfs", "swebhdfs", "thrift", "hcat", "http", "https", "wasb", "wasbs",
    "abfs", "abfss", "maprfs", "s3a", "s3n",
];
/// Other valid schemes that are similar to one of those.
const OTHER: [&str; 16] = [
    "hftp", "hsftp", "httpfs", "ftp", "sftp", "ftps", "afs", "dfs", "nfs", "gfs", "ofs", "abs",
    "s3", "hive", "shdfs", "wss",
];

/// Returns a misspelled scheme, and the one that is meant.
fn meant_scheme(text: &str) -> Option<(&str, &'static str)> {
    let (scheme, _) = split_scheme(text)?;
    let plain =
        (3..=9).contains(&scheme.len()) && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let lower = plain.then(|| scheme.to_ascii_lowercase())?;
    if MEANT.contains(&lower.as_str()) || OTHER.contains(&lower.as_str()) {
        return None;
    }
    // Only one wrong letter counts as a slip. In a scheme as short as `s3a`, only a changed order does.
    let is_near = |known: &&str| match known.len() {
        3 => {
            let sorted = |text: &str| {
                let mut letters: Vec<u8> = text.bytes().collect();
                letters.sort_unstable();
                letters
            };
            sorted(&lower) == sorted(known)
        }
        _ => within(&lower, known, 1).is_some(),
    };
    let near = MEANT.into_iter().find(is_near)?;
    Some((scheme, near))
}

fn of_scheme(span: Span, scheme: &str, near: &str) -> Diagnostic {
    let message = match near {
        "http" | "https" | "thrift" => format!("no service has the scheme `{scheme}`"),
        "jdbc" => format!("the URL of a database begins with `jdbc`, and not with `{scheme}`"),
        _ => format!("no file system has the scheme `{scheme}`"),
    };
    Diagnostic::new(&RULE.kind, span, message).about(scheme).likely().did_you_mean(near)
}

/// A fault in a URI.
#[derive(Clone, Copy)]
enum Slip {
    /// The scheme and its slashes, as they should be.
    Slashes(&'static str),
    /// An invalid port.
    Port,
    /// A second port after the first.
    Ports,
    /// A blank before the host.
    Blank,
    /// Another character than a colon before the port.
    NoColon,
}

fn finding(span: Span, text: &str, slip: Slip) -> Diagnostic {
    let right = match slip {
        Slip::Slashes(right) => right,
        Slip::Port | Slip::Ports | Slip::Blank | Slip::NoColon => {
            let message = match slip {
                Slip::Ports => "a host has one port, but this has two",
                Slip::Blank => "a URI cannot have a space before its host",
                Slip::NoColon => "a port begins with `:`",
                _ => "this is not a port: the number after the colon must be below 65536",
            };
            return Diagnostic::new(&RULE.kind, span, message).likely();
        }
    };
    let scheme = text.split(':').next().unwrap_or_default();
    let message = format!("after the scheme `{scheme}`, a host is written as `{right}host`");
    Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(right)
}

/// Returns the texts of all name nodes: another rule covers the properties in them.
fn name_nodes(facts: &Facts<'_>) -> HashSet<String> {
    let all = facts.workflow().map(|_| facts.named(&["name-node"])).into_iter().flatten();
    all.map(|element| element.text().text.trim().to_owned()).collect()
}

/// Whether a text is a URI with one of these faults.
pub(super) fn is_malformed(text: &str) -> bool {
    without_colon(text).is_some() || meant_scheme(text).is_some() || problem(text).is_some()
}

/// Returns the range of the wrong characters, and the fault.
fn problem(text: &str) -> Option<(std::ops::Range<usize>, Slip)> {
    let colon = memchr::memchr(b':', text.as_bytes())?;
    if let Some(found) = before_host(text).or_else(|| of_database(text)) {
        return Some(found);
    }
    let (scheme, rest) = (&text[..colon], &text[colon + 1..]);
    let slashes = rest.bytes().take_while(|byte| *byte == b'/').count();
    let behind = &rest[slashes..];
    let host = behind.split('/').next().unwrap_or_default();
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.len() > 1 && port.bytes().all(|byte| byte.is_ascii_digit()));
    // An expression may give a port.
    let port = host.rsplit_once(':').map(|(_, port)| port);
    let names_port =
        |port: &str| is_port(port) || port.contains(['$', '@', '#', '%', '{', ']', '<']);
    if slashes == 2
        && ["hdfs", "http", "https", "thrift", "hcat"].contains(&scheme)
        && !host.contains(['$', '@', '[', ','])
        && let Some(port) = port.filter(|port| !names_port(port))
    {
        let end = scheme.len() + 1 + slashes + host.len();
        return Some((end - port.len() - 1..end, Slip::Port));
    }
    // Several hosts are separated by commas, and have ports of their own.
    if slashes == 2
        && OF_HOSTS.iter().chain(&OF_FILES).any(|known| *known == scheme)
        && let Some(at) = host.rfind([';', ',']).filter(|_| !host.contains([':', '$']))
        && host.len() - at > 2
        && host[at + 1..].bytes().all(|byte| byte.is_ascii_digit())
    {
        let start = scheme.len() + 1 + slashes + at;
        return Some((start..start + host.len() - at, Slip::NoColon));
    }
    if let Some((first, last)) = host.rsplit_once(':')
        && slashes == 2
        && OF_HOSTS.iter().chain(&OF_FILES).any(|known| *known == scheme)
        && let Some((name, port)) = first.rsplit_once(':')
        && [port, last].iter().all(|port| !port.is_empty() && is_port(port))
        && !name.contains([':', '[', '@', ','])
    {
        let end = scheme.len() + 1 + slashes + host.len();
        return Some((end - last.len() - 1..end, Slip::Ports));
    }
    let wrong = match slashes {
        1 if OF_HOSTS.contains(&scheme) => !host.is_empty(),
        0 | 1 if OF_FILES.contains(&scheme) => has_port,
        3.. if OF_HOSTS.contains(&scheme) && !scheme.starts_with("s3") => !host.is_empty(),
        3.. if OF_FILES.contains(&scheme) => has_port,
        _ => false,
    };
    let known = OF_HOSTS.iter().chain(&OF_FILES).position(|known| *known == scheme)?;
    const RIGHT: [&str; 12] = [
        "http://",
        "https://",
        "ftp://",
        "sftp://",
        "thrift://",
        "hcat://",
        "ssh://",
        "s3a://",
        "s3n://",
        "hdfs://",
        "webhdfs://",
        "viewfs://",
    ];
    wrong.then(|| (0..scheme.len() + 1 + slashes, Slip::Slashes(RIGHT[known])))
}

/// Finds a single slash before the name of a cluster, which properties write behind two: `hdfs:/nn/lib`.
fn lost_slash(text: &str, hosts: &HashSet<&str>) -> Option<(std::ops::Range<usize>, Slip)> {
    let all = text.strip_prefix("hdfs:")?;
    let rest = all.strip_prefix('/').unwrap_or(all);
    let host = rest.split('/').next().filter(|host| host.len() > 1)?;
    hosts.contains(host).then(|| (0..text.len() - rest.len(), Slip::Slashes("hdfs://")))
}

/// Returns the hosts of all values that are written correctly.
fn hosts<'f>(facts: &'f Facts<'_>) -> HashSet<&'f str> {
    let host = |value: &'f str| {
        let host = value.trim().strip_prefix("hdfs://").and_then(|rest| rest.split('/').next());
        host.and_then(|host| host.split(':').next())
    };
    let of_files = facts.value_files().flat_map(|(_, all)| all).map(|entry| entry.value.as_str());
    let of_texts = facts.texts().iter().map(|(_, text)| text.text.as_ref());
    of_files.chain(of_texts).filter_map(host).collect()
}

/// Finds a blank between the slashes of a URI and its host.
fn before_host(text: &str) -> Option<(std::ops::Range<usize>, Slip)> {
    let (scheme, rest) = split_scheme(text)?;
    let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let is_scheme = !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b":+-.".contains(&byte));
    let host = rest[blanks..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '$');
    // If the text goes on after a blank, it is a word, not a host.
    let is_whole = !rest[blanks..].contains([' ', '\t', '\n']);
    let at = scheme.len() + 3;
    (blanks > 0 && is_scheme && host && is_whole).then_some((at..at + blanks, Slip::Blank))
}

/// Finds an invalid port in a JDBC URL.
fn of_database(text: &str) -> Option<(std::ops::Range<usize>, Slip)> {
    // URLs of HiveServer2 are checked where they are used.
    const DRIVERS: [&str; 5] = ["impala", "mariadb", "mysql", "postgresql", "sqlserver"];
    let (driver, rest) = text.strip_prefix("jdbc:")?.split_once("://")?;
    let known = DRIVERS.contains(&driver);
    let hosts = rest.split(['/', ';', '?']).next().filter(|_| known)?;
    let mut at = text.len() - rest.len();
    for host in hosts.split(',') {
        at += host.len() + 1;
        let Some((name, port)) = host.rsplit_once(':') else { continue };
        let is_plain = !name.contains(['[', '@', '$', '(']) && !port.is_empty();
        let filled_in = port.contains(['$', '@', '#', '%', '{', '<', ')', '}']);
        if is_plain && !filled_in && !is_port(port) {
            return Some((at - 2 - port.len()..at - 1, Slip::Port));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::jdbc;

    #[test]
    fn a_slip_in_jdbc_is_found_behind_any_letter() {
        assert_eq!(jdbc("jdb:mysql://db/x"), Some(0..3));
        assert_eq!(jdbc("é jdb:mysql://db/x"), Some(3..6));
        assert_eq!(jdbc("éjdb:mysql://db/x"), Some(2..5));
        assert_eq!(jdbc("jdb\u{202e}:hive2://db/x"), None);
        assert_eq!(jdbc("jdbc:mysql://db/x"), None);
    }
}
