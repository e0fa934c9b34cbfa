//! Misspelled names of folders and hosts.

use crate::diag::{Diagnostic, Group, Kind, Level, is_mistyped, within};
use crate::files::name_of;
use crate::lint::paths::split_scheme;
use crate::lint::{Facts, Rule};
use crate::slips::{self, has_name};
use crate::source::Span;
use crate::syntax::xml::{Decoded, Element};
use foldhash::{HashMap, HashSet};

mod prepared;
mod scripts;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-path",
        group: Group::Parameters,
        summary: "a part of a path that is almost the same as in other paths",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/misspelt-path.md"),
    },
    check,
};

/// Elements whose text is for human readers, and those whose paths are checked by other rules.
const OTHERS: [&str; 13] = [
    "app-path",
    "archive",
    "body",
    "command",
    "description",
    "exec",
    "file",
    "jar",
    "job-xml",
    "message",
    "name",
    "script",
    "subject",
];
/// Elements that name files.
const FILES: [&str; 5] = ["archive", "file", "jar", "job-xml", "script"];
/// Minimum length of a name: a slip in a shorter word often results in another word.
const SHORTEST: usize = 6;
/// Stands for the parent of the first folder of a relative path.
const OWN: &str = ".";
/// The number of occurrences from which a name counts as right.
const OFTEN: usize = 2;
/// Maximum number of links that are searched for in the text.
const MOST_LINKS: usize = 50;
/// Maximum total number of compared names.
const MOST_COMPARED: usize = 200_000;

/// A folder or a host.
struct Part<'t> {
    name: &'t str,
    /// The text before it.
    before: &'t str,
    /// The file it is in, if that is not the definition.
    file: Option<&'t str>,
    span: Span,
}

/// The usual file names of definitions.
const DEFINITIONS: [&str; 3] = ["workflow.xml", "coordinator.xml", "bundle.xml"];

/// Reports misspelled file names of definitions in `app-path`.
fn definitions(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for element in facts.named(&["app-path"]) {
        let text = element.text().trimmed();
        let Some((_, name)) = text.text.rsplit_once('/') else { continue };
        let near = DEFINITIONS.into_iter().find(|known| is_mistyped(name, known));
        let Some(near) = near.filter(|_| !is_in_tree(facts, name)) else { continue };
        let span = text.source(text.text.len() - name.len()..text.text.len());
        let message = format!("`{name}` looks like a misspelling of `{near}`");
        let found = Diagnostic::new(&RULE.kind, span, message);
        out.push(found.likely().did_you_mean(near));
    }
    // The file name may come from a property, alone or at the end of a path.
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let value = entry.value.trim_end();
            let name = name_of(value);
            let near = DEFINITIONS.into_iter().find(|known| is_mistyped(name, known));
            let Some(near) = near.filter(|_| !is_in_tree(facts, name)) else { continue };
            let written = source.slice(entry.value_span);
            let Some(at) = written.rfind(name) else { continue };
            let start = entry.value_span.start as usize + at;
            let message = format!("`{name}` looks like a misspelling of `{near}`");
            let found = Diagnostic::new(&RULE.kind, Span::new(start, start + name.len()), message);
            out.push(found.likely().did_you_mean(near).in_file(source.path.clone()));
        }
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    definitions(facts, out);
    done_flags(facts, out);
    hosts(facts, out);
    links(facts, out);
    folders(facts, out);
    let mut further = Vec::new();
    prepared::deleted(facts, &mut further);
    scripts::called_nearly(facts, &mut further);
    // Findings at the same place are not repeated.
    further.retain(|finding| out.iter().all(|other| other.span != finding.span));
    out.extend(further);
}

/// Reports folders whose names are similar to those in other paths, or to common words.
fn folders(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut parts: Vec<Part<'_>> = Vec::new();
    let texts = facts.texts().iter().filter(|(element, _)| !OTHERS.contains(&element.name()));
    for (_, text) in texts {
        for (before, name, at) in parts_of(&text.text) {
            let span = text.source(at..at + name.len());
            parts.push(Part { name, before, file: None, span });
        }
    }
    // Another rule checks the file names in these elements; their folders may be outside the tree.
    let files: Vec<Decoded<'_>> = facts.named(&FILES).into_iter().map(Element::text).collect();
    for text in &files {
        for (before, name, at) in folders_of(&text.text) {
            let span = text.source(at..at + name.len());
            parts.push(Part { name, before, file: None, span });
        }
    }
    for (source, entries) in facts.property_files().iter().chain(facts.near_files()) {
        for entry in entries {
            let start = entry.value_span.start as usize;
            for (before, name, at) in parts_of(source.slice(entry.value_span)) {
                let span = Span::new(start + at, start + at + name.len());
                parts.push(Part { name, before, file: Some(&source.path), span });
            }
        }
    }
    let mut counts: HashMap<&str, usize> = HashMap::default();
    let mut seen: HashSet<(&str, &str)> = HashSet::default();
    let mut behind: HashMap<&str, Vec<&str>> = HashMap::default();
    for part in &parts {
        *counts.entry(part.name).or_default() += 1;
        if seen.insert((part.before, part.name)) {
            behind.entry(part.before).or_default().push(part.name);
        }
    }
    let times = |name: &str| counts.get(name).copied().unwrap_or_default();
    let mut patience = MOST_COMPARED;
    for part in parts.iter().filter(|part| times(part.name) == 1) {
        let Some(beside) = behind.get(part.before).filter(|beside| beside.len() <= patience) else {
            continue;
        };
        patience -= beside.len();
        let is_near = |other: &&&str| {
            let many = other.len() + 1 == SHORTEST && times(other) > OFTEN;
            // A folder of the application is even stronger evidence.
            let own = other.len() + 2 == SHORTEST
                && times(other) > OFTEN
                && part.before == OWN
                && is_in_tree(facts, other);
            let less = if many { 1 } else { 2 };
            is_slip(part.name, other, if many || own { SHORTEST - less } else { SHORTEST })
        };
        let Some(meant) = beside.iter().filter(is_near).min() else {
            out.extend(of_folder(facts, part, beside).or_else(|| of_word(facts, part)));
            continue;
        };
        // If both names occur here once, the other files show which one is misspelled.
        let elsewhere = |name: &str| {
            let with_it = facts.files.texts().filter(|source| has_name(&source.text, name));
            with_it.count()
        };
        let is_rarer = || {
            times(meant) >= OFTEN
                || elsewhere(part.name) == 1 && elsewhere(meant) > OFTEN
                || is_in_tree(facts, meant)
        };
        if !is_rarer() || is_in_tree(facts, part.name) {
            continue;
        }
        let message = format!(
            "`{}` looks like a misspelling of `{meant}`, which other paths have here",
            part.name
        );
        let found = Diagnostic::new(&RULE.kind, part.span, message).likely().did_you_mean(*meant);
        out.push(match part.file {
            Some(file) => found.in_file(file),
            None => found,
        });
    }
}

/// Returns the finding about a folder that is missing beside the definition, where others of the same path are, if one
/// with a similar name is there.
fn of_folder(facts: &Facts<'_>, part: &Part<'_>, beside: &[&str]) -> Option<Diagnostic> {
    if part.name.len() + 1 < SHORTEST || !part.before.starts_with("${") {
        return None;
    }
    let own = facts.folder();
    let start = if own.is_empty() { 0 } else { own.len() + 1 };
    let mut folders: HashSet<&str> = HashSet::default();
    for (path, _) in facts.files.below(own) {
        folders.extend(path.get(start..).and_then(|rest| Some(rest.split_once('/')?.0)));
    }
    if folders.contains(part.name) || !beside.iter().any(|other| folders.contains(other)) {
        return None;
    }
    let is_near = |other: &&&str| is_slip(part.name, other, SHORTEST) && !beside.contains(other);
    let mut near = folders.iter().filter(is_near);
    let meant = near.next().filter(|_| near.next().is_none())?;
    let message =
        format!("`{}` looks like a misspelling of `{meant}`, a folder next to it", part.name);
    let found = Diagnostic::new(&RULE.kind, part.span, message).likely().did_you_mean(*meant);
    Some(match part.file {
        Some(file) => found.in_file(file),
        None => found,
    })
}

/// Returns the finding about a folder whose name is a common word with two letters swapped, one doubled or one left
/// out, if nothing else has this name.
fn of_word(facts: &Facts<'_>, part: &Part<'_>) -> Option<Diagnostic> {
    let is_word = part.name.bytes().all(|byte| byte.is_ascii_lowercase());
    let meant = is_word.then(|| slips::corrected(part.name))??;
    let others = || facts.files.texts().filter(|source| has_name(&source.text, part.name));
    if is_in_tree(facts, part.name) || others().nth(1).is_some() {
        return None;
    }
    let message = format!("`{}` looks like a misspelling of `{meant}`", part.name);
    let found = Diagnostic::new(&RULE.kind, part.span, message).likely().did_you_mean(meant);
    Some(match part.file {
        Some(file) => found.in_file(file),
        None => found,
    })
}

/// Returns the folders in a file's path, each with the text before it and its offset. A relative path begins in the
/// folder of the application.
fn folders_of(text: &str) -> Vec<(&str, &str, usize)> {
    let path = text.split('#').next().unwrap_or_default().trim_end();
    let Some((folders, _)) = path.rsplit_once('/') else { return Vec::new() };
    let mut found = parts_of(path);
    found.retain(|(_, _, at)| *at < folders.len());
    let first = folders.split('/').next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !first.is_empty()
        && first.chars().all(is_plain)
        && first.contains(|c: char| c.is_ascii_alphabetic())
    {
        found.push((OWN, first, 0));
    }
    found
}

/// Reports link names that are misspellings of the file names.
fn links(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let files = facts.texts().iter().filter(|(e, _)| ["file", "archive"].contains(&e.name()));
    let mut patience = MOST_LINKS;
    for (_, text) in files {
        let Some((path, link)) = text.text.split_once('#') else { continue };
        let (name, link) = (name_of(path.trim()), link.trim_end());
        let is_slip =
            name.len() >= SHORTEST && is_mistyped(link, name) && !link.contains(['$', '/']);
        // A link that is used under its name is deliberate.
        let whole = facts.tree.text();
        let is_other = |at: usize| link.len() > name.len() || !whole[at..].starts_with(name);
        let uses = || whole.match_indices(link).filter(|(at, _)| is_other(*at));
        if !is_slip || patience == 0 || uses().count() > 1 {
            continue;
        }
        patience -= 1;
        let start = path.len() + 1;
        let message =
            format!("`{link}` looks like a misspelling of `{name}`, the name of the file");
        let found = Diagnostic::new(&RULE.kind, text.source(start..start + link.len()), message);
        out.push(found.likely().did_you_mean(name));
    }
}

/// The file that Hadoop jobs write when they have ended.
const DONE: &str = "_SUCCESS";

/// Reports misspellings of the default done flag.
fn done_flags(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.workflow().is_some() {
        return;
    }
    let all = facts.tree.root().into_iter().flat_map(Element::descendants);
    for flag in all.filter(|element| element.name() == "done-flag") {
        let text = flag.text().trimmed();
        // A name that differs in more than a slip is another file.
        let near = text.text != DONE
            && (within(&text.text, DONE, 2).is_some() || text.text.eq_ignore_ascii_case(DONE));
        if near && !text.text.contains('/') {
            let message = format!(
                "`{}` looks like a misspelling of `{DONE}`, which Hadoop jobs write",
                text.text
            );
            let found = Diagnostic::new(&RULE.kind, text.span(), message).likely();
            out.push(found.did_you_mean(DONE));
        }
    }
}

/// Well-known hosts; `ENDS` has the suffixes of the hosts of object stores.
const HOSTS: [&str; 4] =
    ["localhost", "quickstart.cloudera", "sandbox.hortonworks.com", "sandbox-hdp.hortonworks.com"];
const ENDS: [&str; 6] = [
    ".blob.core.windows.net",
    ".dfs.core.windows.net",
    ".azuredatalakestore.net",
    ".blob.core.chinacloudapi.cn",
    ".dfs.core.chinacloudapi.cn",
    ".s3.amazonaws.com",
];
/// Common last parts of host names.
const DOMAINS: [&str; 10] =
    ["com", "net", "org", "local", "internal", "cloud", "corp", "intra", "lan", "prod"];
/// Maximum total number of compared hosts.
const MOST_HOSTS: usize = 200;

/// Reports misspelled hosts, by comparison with the other hosts.
fn hosts(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut all: Vec<Part<'_>> = Vec::new();
    for (element, text) in facts.texts() {
        if !["message", "body", "subject", "description"].contains(&element.name()) {
            for (before, name, at) in hosts_of(&text.text) {
                let span = text.source(at..at + name.len());
                all.push(Part { name, before, file: None, span });
            }
        }
    }
    for (source, entries) in facts.property_files() {
        for entry in entries {
            let start = entry.value_span.start as usize;
            for (before, name, at) in hosts_of(source.slice(entry.value_span)) {
                let span = Span::new(start + at, start + at + name.len());
                all.push(Part { name, before, file: Some(&source.path), span });
            }
        }
    }
    all.truncate(MOST_HOSTS);
    let times = |name: &str| all.iter().filter(|other| other.name == name).count();
    let numbers = |name: &str| !name.bytes().any(|byte| byte.is_ascii_alphabetic());
    for host in all.iter().filter(|host| times(host.name) == 1 && !numbers(host.name)) {
        let Some(meant) = meant_host(host, &all) else { continue };
        let message = format!("`{}` looks like a misspelling of `{meant}`", host.name);
        let found = Diagnostic::new(&RULE.kind, host.span, message).likely().did_you_mean(meant);
        out.push(match host.file {
            Some(file) => found.in_file(file),
            None => found,
        });
    }
}

/// Returns the host that a misspelled one stands for.
fn meant_host<'h>(host: &Part<'h>, all: &[Part<'h>]) -> Option<String> {
    let name = host.name;
    let is_near = |name: &str, other: &str| {
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        within(name, other, 1) == Some(1)
            && (letters(name) != letters(other) || digits(name) == digits(other))
            && !name.eq_ignore_ascii_case(other)
            && (plain(name) != plain(other) || name.len() == other.len())
    };
    if let Some(known) = HOSTS.into_iter().find(|known| is_near(name, known)) {
        return Some(known.to_owned());
    }
    if let Some(known) = words_right(name) {
        return Some(known);
    }
    // A letter in a numeric address is a slip.
    let parts: Vec<&str> = name.split('.').collect();
    let is_number = |part: &&&str| part.bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() == 4 && parts.iter().filter(is_number).count() == 3 {
        let near = all.iter().find(|other| other.name != name && is_near(name, other.name));
        return near.map(|near| near.name.to_owned());
    }
    // The suffix after the account is the same for all hosts of an object store.
    if let Some((account, end)) = name.split_once('.') {
        let end = format!(".{end}");
        let stores = ["wasb", "wasbs", "abfs", "abfss", "adl", "s3", "s3a", "s3n"];
        let of_store = stores.contains(&host.before) || end.contains(".windows.");
        let meant = ENDS.into_iter().filter(|_| of_store && !ENDS.contains(&&*end));
        if let Some(meant) = meant.into_iter().find(|meant| within(&end, meant, 2).is_some()) {
            return Some(format!("{account}{meant}"));
        }
    }
    let place = |name: &str| all.iter().position(|other| other.name == name);
    let last = |name: &'h str| name.rsplit_once('.').unwrap_or((name, ""));
    let meant = all.iter().find(|other| {
        let (own, others) = (last(name), last(other.name));
        let of_domain =
            own.0 == others.0 && DOMAINS.contains(&others.1) && !DOMAINS.contains(&own.1);
        let often = all.iter().filter(|more| more.name == other.name).count() >= OFTEN;
        // If both are equally likely to be misspelled, the first is reported.
        let first = || {
            !slips::is_slip(other.name, name, ["", ""])
                && is_anagram(name, other.name)
                && place(name) < place(other.name)
        };
        let is_slip = || often || slips::is_slip(name, other.name, ["", ""]) || first();
        let inside = other.name.len() >= SHORTEST + 2 && is_inside(name, other.name);
        is_near(name, other.name) && (of_domain || inside && is_slip())
    });
    meant.map(|meant| meant.name.to_owned())
}

/// Words that host and cluster names consist of.
const OF_HOSTS: [&str; 17] = [
    "broker",
    "cloudera",
    "cluster",
    "database",
    "hadoop",
    "hiveserver",
    "hortonworks",
    "jobtracker",
    "master",
    "metastore",
    "namenode",
    "nameservice",
    "quickstart",
    "resourcemanager",
    "sandbox",
    "server",
    "zookeeper",
];

/// Returns the name of a host with two swapped letters of a word corrected.
fn words_right(name: &str) -> Option<String> {
    let words =
        name.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() >= SHORTEST);
    let mut wrong = words.filter_map(|word| {
        let lower = word.to_ascii_lowercase();
        let known = OF_HOSTS.into_iter().find(|known| {
            known.starts_with(&lower[..1])
                && within(&lower, known, 1) == Some(1)
                && is_anagram(&lower, known)
        })?;
        Some((word, known))
    });
    let (word, known) = wrong.next()?;
    Some(name.replacen(word, known, 1))
}

fn is_anagram(name: &str, other: &str) -> bool {
    let sorted = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.sort_unstable();
        bytes
    };
    sorted(name) == sorted(other)
}

/// Whether two host names differ only inside one part.
fn is_inside(name: &str, other: &str) -> bool {
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let differing = |split: fn(char) -> bool| -> Option<(&str, &str)> {
        let (own, others): (Vec<&str>, Vec<&str>) =
            (name.split(split).collect(), other.split(split).collect());
        let mut pairs = own.iter().zip(&others).filter(|(one, other)| one != other);
        let pair = pairs.next().map(|(one, other)| (*one, *other));
        pair.filter(|_| pairs.next().is_none() && own.len() == others.len())
    };
    // A single letter next to a number or a hyphen distinguishes hosts.
    let of_word = differing(|c| !c.is_ascii_alphabetic());
    let is_word =
        of_word.is_some_and(|(one, other)| ends(one) == ends(other) && other.len() + 1 >= SHORTEST);
    let exchanged = || {
        let part = differing(|c| c == '.');
        is_anagram(name, other) && part.is_some_and(|(one, other)| ends(one) == ends(other))
    };
    is_word || exchanged()
}

/// Returns the hosts in a text, each with the scheme before it (or nothing) and its offset.
fn hosts_of(text: &str) -> Vec<(&str, &str, usize)> {
    if memchr::memchr(b':', text.as_bytes()).is_none() {
        return Vec::new();
    }
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    let mut found = Vec::new();
    let mut add = |scheme, at: usize| {
        let mut at = at;
        let rest = &text[at..];
        // A container or a user may precede the host.
        let authority = rest.split(['/', ',', ' ', '"', '\'']).next().unwrap_or_default();
        if let Some((before, _)) = authority.split_once('@') {
            at += before.len() + 1;
        }
        let name = text[at..].split(|c| !letter(c)).next().unwrap_or_default();
        let behind = text[at + name.len()..].chars().next();
        let ends = behind.is_none_or(|c| matches!(c, ':' | '/' | ',' | ' ' | '"' | '\'' | ';'));
        if name.len() >= SHORTEST && ends {
            found.push((scheme, name, at));
        }
    };
    for (at, _) in text.match_indices("://") {
        let scheme = text[..at].rsplit(|c: char| !c.is_ascii_alphanumeric()).next();
        add(scheme.unwrap_or_default(), at + 3);
    }
    // A bare host with a port.
    let plain = text.trim();
    if let Some((host, port)) = plain.split_once(':')
        && (2..=5).contains(&port.len())
        && port.bytes().all(|byte| byte.is_ascii_digit())
        && host.chars().all(letter)
    {
        add("", text.len() - text.trim_start().len());
    }
    found
}

/// Whether a name differs from another one by an extra, missing or wrong letter, or by two swapped letters, somewhere
/// inside. A change at an end is another form of the word, and a digit distinguishes two of a kind.
fn is_slip(name: &str, other: &str, shortest: usize) -> bool {
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    other.len() >= shortest
        && ends(name) == ends(other)
        && within(name, other, 1) == Some(1)
        && letters(name) != letters(other)
        // Another separator between the same words is another convention.
        && plain(name) != plain(other)
        && !name.eq_ignore_ascii_case(other)
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Whether the first part of a path is the name node.
fn is_name_node(part: &str) -> bool {
    let Some(name) = part.strip_prefix("${") else { return false };
    let letters = name.trim_end_matches('}').bytes().rev();
    let mut letters = letters.filter(|byte| !matches!(byte, b'_' | b'-' | b'.'));
    "namenode"
        .bytes()
        .rev()
        .all(|byte| letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&byte)))
}

/// Whether the tree has a file or a folder of this name.
fn is_in_tree(facts: &Facts<'_>, name: &str) -> bool {
    facts.files.below("").any(|(path, _)| path.split('/').any(|part| part == name))
}

/// Returns the literal parts of a path, each with the text before it and its offset; nothing for a text that is not a
/// path.
fn parts_of(text: &str) -> Vec<(&str, &str, usize)> {
    if memchr::memchr(b'/', text.as_bytes()).is_none() {
        return Vec::new();
    }
    // The value of a parameter is the path.
    let start = match text.split_once('=') {
        Some((name, _)) if !name.contains(['/', '$', ' ']) => name.len() + 1,
        _ => 0,
    };
    let path = text[start..].trim_end();
    let is_url = split_scheme(path).is_some();
    let rooted = is_url || path.starts_with(['/', '$']);
    if !rooted || has_any(path, &OF_OTHERS) || memchr::memchr(b'/', path.as_bytes()).is_none() {
        return Vec::new();
    }
    let (mut found, mut at, mut before) = (Vec::new(), start, "");
    if path.starts_with('/') {
        before = "/";
    }
    for part in path.split('/') {
        // Hosts are compared separately.
        let is_host = is_url && before.ends_with(':');
        if !part.is_empty() && !before.is_empty() && !is_host && !has_any(part, &OF_PATTERNS) {
            found.push((before, part, at));
        }
        at += part.len() + 1;
        if !part.is_empty() {
            // A path after a name node begins at the root.
            before = if is_host || at == start + part.len() + 1 && is_name_node(part) {
                "/"
            } else {
                part
            };
        }
    }
    found
}

/// Characters of texts that are more than a single path.
const OF_OTHERS: [bool; 256] = signs(b" \n\t,'\";\\");
/// Characters of parts that stand for something else.
const OF_PATTERNS: [bool; 256] = signs(b"${}*?[@#%=:");

const fn signs(bytes: &[u8]) -> [bool; 256] {
    let (mut signs, mut at) = ([false; 256], 0);
    while at < bytes.len() {
        signs[bytes[at] as usize] = true;
        at += 1;
    }
    signs
}

fn has_any(text: &str, signs: &[bool; 256]) -> bool {
    text.bytes().any(|byte| signs[usize::from(byte)])
}

#[cfg(test)]
mod tests {
    use super::{hosts_of, is_slip, parts_of};

    #[test]
    fn a_slip_is_inside_a_word() {
        assert!(is_slip("expirde", "expired", 6) || is_slip("exipred", "expired", 6));
        assert!(is_slip("warehosue", "warehouse", 6) && is_slip("warehuse", "warehouse", 6));
        for (name, other) in [
            ("orders", "order"),
            ("tablet", "tables"),
            ("logs2024", "logs2025"),
            ("raw_data", "raw-data"),
            ("Warehouse", "warehouse"),
            ("form", "from"),
        ] {
            assert!(!is_slip(name, other, 6), "{name}");
        }
    }

    #[test]
    fn hosts_stand_behind_schemes_or_before_ports() {
        assert_eq!(hosts_of("hdfs://nn.example.com:8020/a"), [("hdfs", "nn.example.com", 7)]);
        assert_eq!(
            hosts_of("wasb://data@shop.blob.core.windows.net/in"),
            [("wasb", "shop.blob.core.windows.net", 12)]
        );
        assert_eq!(hosts_of("rm.example.com:8032"), [("", "rm.example.com", 0)]);
        assert!(hosts_of("${nameNode}/a").is_empty() && hosts_of("12:30").is_empty());
        assert!(hosts_of("hdfs://${host}.example.com/").is_empty());
    }

    #[test]
    fn parts_are_the_literal_ones_behind_something() {
        assert_eq!(
            parts_of("out=${nameNode}/user/${user.name}/sales"),
            [("/", "user", 16), ("${user.name}", "sales", 34)]
        );
        assert_eq!(parts_of("hdfs://nn:8020/a"), [("/", "a", 15)]);
        assert!(parts_of("a/b").is_empty() && parts_of("select 1/2 from x").is_empty());
    }
}
