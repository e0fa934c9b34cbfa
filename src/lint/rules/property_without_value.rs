//! Lines of properties without `=` or without a value.

use crate::diag::{Diagnostic, Fault, Group, Kind, Level};
use crate::files::name_of;
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};
use crate::source::Source;
use crate::syntax::properties::Entry;
use foldhash::{HashSet, HashSetExt};
use std::cell::LazyCell;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "property-without-value",
        group: Group::Parameters,
        summary: "a line of a properties file with a name but no value",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/property-without-value.md"),
    },
    check,
};

/// Minimum number of names without a value in a form to be filled in; they must also be at least half of its names.
const FORM: usize = 4;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.property_files().is_empty() {
        return;
    }
    let read: HashSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let anywhere = LazyCell::new(|| read_near(facts));
    let mut of_definition = parts(facts.tree.text());
    of_definition.extend(needed(facts));
    for (source, entries) in facts.property_files() {
        let mut own = parts(&source.text);
        own.extend(entries.iter().filter(|e| PATH_KEYS.contains(&e.name.as_str())).filter_map(
            |e| {
                // The whole application path.
                lone(source.slice(e.value_span))
            },
        ));
        // A file with many empty values is meant to be copied and filled in.
        let is_empty = |entry: &&Entry| entry.value.is_empty() && !entry.name.is_empty();
        let empty = entries.iter().filter(is_empty).count();
        let is_form = empty >= FORM && empty * 2 >= entries.len() || is_sample(&source.path);
        for (index, entry) in entries.iter().enumerate() {
            let raw = source.slice(entry.span).trim();
            let name = entry.name.as_str();
            let before = index.checked_sub(1).map(|before| &entries[before]);
            if let Some(before) = before.filter(|before| is_rest(source, before, entry))
                && !read.contains(name)
                && !anywhere.contains(name)
            {
                let message =
                    format!("this line looks like the rest of the value of `{}`", before.name);
                let mut found = Diagnostic::new(&RULE.kind, entry.span, message).likely();
                found.explains = Some(before.value_span);
                out.push(
                    found
                        .help("put the two lines together, or end the first with `\\`")
                        .in_file(source.path.clone()),
                );
                continue;
            }
            if let Some(sign) = comment(name) {
                let message =
                    format!("`{sign}` does not start a comment: this line sets a property");
                out.push(
                    Diagnostic::new(&RULE.kind, entry.name_span, message)
                        .of(Fault::NoComment)
                        .naming([commented(entry).unwrap_or_default()])
                        .about(sign)
                        .likely()
                        .help("a comment begins with `#`")
                        .in_file(source.path.clone()),
                );
                continue;
            }
            if is_sentence(raw, entry) && !read.contains(name) && !anywhere.contains(name) {
                let message = format!("this line sets `{name}`: a comment begins with `#`");
                let found = Diagnostic::new(&RULE.kind, entry.name_span, message);
                let found = found.about("a comment without its sign").likely();
                out.push(found.help("write `#` in front of it").in_file(source.path.clone()));
                continue;
            }
            // For Java, `name value` is a property too, but that is rarely meant if the value contains `=`.
            let bare = !raw.contains(['=', ':']) && entry.value.is_empty();
            let cut = !raw.is_empty()
                && entry.value.contains('=')
                && !source
                    .slice(crate::source::Span::new(
                        entry.name_span.end as usize,
                        entry.value_span.start as usize,
                    ))
                    .contains(['=', ':']);
            // An empty value for a part of a path.
            let hole = raw.ends_with('=')
                && entry.value.is_empty()
                && (own.contains(name)
                    || name == SWITCH
                    || of_definition.contains(name)
                    || PATH_KEYS.contains(&name));
            if !(bare || cut || hole) || name.is_empty() || hole && is_form {
                continue;
            }
            // Usually a name run together with its value; templates have other lines of this kind.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte);
            let joined = bare
                && !read.contains(name)
                && !name.starts_with("oozie.")
                && name.bytes().all(plain);
            let wanted = read.contains(name) || name.starts_with("oozie.") || cut || hole || joined;
            if !wanted {
                continue;
            }
            let message = match cut {
                _ if PATH_KEYS.contains(&name) => {
                    format!("`{name}` is empty, and does not name an application")
                }
                _ if hole && name == SWITCH => format!("`{name}` is empty, which is `false`"),
                _ if hole => format!("`{name}` is empty, but a definition needs its value"),
                true => format!("the name ends at the first space: this sets `{name}`"),
                false => format!("`{name}` has no `=`, and its value is empty"),
            };
            let help = match hole {
                true => "give it a value",
                false => "write `name=value`, without spaces in the name",
            };
            let found = Diagnostic::new(&RULE.kind, entry.name_span, message).naming([name]);
            let has_sign = cut || hole || PATH_KEYS.contains(&name);
            let found = if has_sign { found } else { found.of(Fault::NoSign) };
            // A file to be filled in has many of them, so they are merged.
            let found = if hole { found.about("no value") } else { found };
            out.push(found.likely().help(help).in_file(source.path.clone()));
        }
    }
}

/// Whether the name of a file shows that it is meant to be copied: `job_sample.properties`.
fn is_sample(path: &str) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    name.split(|c: char| !c.is_ascii_alphabetic())
        .any(|word| ["dist", "example", "sample", "template", "tmpl"].contains(&word))
}

/// Whether a line is the rest of a path or an address that was broken off in the line directly above.
fn is_rest(source: &Source, before: &Entry, entry: &Entry) -> bool {
    let Some(between) = source.text.get(before.span.end as usize..entry.span.start as usize) else {
        return false;
    };
    let raw = source.slice(entry.span).trim();
    let value = before.value.trim();
    let is_next = between.matches('\n').count() == 1 && between.trim().is_empty();
    let is_path = value.contains(['/', '$']) && !value.contains(char::is_whitespace);
    if !is_next || !is_path || raw.contains(['=', ' ']) || raw.starts_with('/') {
        return false;
    }
    // The rest of a path, or of an address with its port, whose colon ends a name.
    let of_path = entry.value.is_empty() && !raw.contains(':') && raw.contains(['/', '}', '@']);
    let open = value.rsplit_once("://").is_some_and(|(_, host)| !host.contains(['/', ':']));
    let port = entry.value.split('/').next().unwrap_or_default();
    let of_host = open && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    of_path || of_host
}

/// A boolean property, which is never left empty on purpose.
const SWITCH: &str = "oozie.use.system.libpath";

/// Whether a line is a sentence, a comment without its `#`.
fn is_sentence(raw: &str, entry: &Entry) -> bool {
    let plain = |word: &str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    !raw.contains(['=', ':', '/', '$', '\\', '\n']) && plain(&entry.name) && {
        let words = entry.value.split_whitespace();
        words.clone().any(|word| plain(word.trim_end_matches(['.', ',', '!', '?'])))
            && !words.clone().any(|word| word.bytes().any(|byte| byte.is_ascii_digit()))
    }
}

/// Returns the names that files near the definition read as `${name}`. Every text is searched once, regardless of the
/// number of lines to compare.
fn read_near<'f>(facts: &'f Facts<'_>) -> HashSet<&'f str> {
    let mut names = HashSet::new();
    for other in facts.files.texts() {
        for (at, _) in other.text.match_indices("${") {
            let rest = &other.text.as_bytes()[at + 2..];
            let end = rest.iter().take(LONGEST_NAME).position(|byte| *byte == b'}');
            names.extend(end.and_then(|end| other.text.get(at + 2..at + 2 + end)));
        }
    }
    names
}

/// Maximum length of the name of a property that is read, in bytes.
const LONGEST_NAME: usize = 256;

/// Returns the property that a line would set without the comment marker of another language before it.
pub(super) fn commented(entry: &Entry) -> Option<&str> {
    let name = entry.name.strip_prefix(comment(&entry.name)?)?.trim_start_matches(['/', '-']);
    // In `<!-- name=value -->`, it follows the first blank.
    let rest = || entry.value.split(['=', ':', ' ']).next().unwrap_or_default();
    Some(if name.is_empty() { rest() } else { name })
}

/// Returns the comment marker of another language that a name begins with.
pub(super) fn comment(name: &str) -> Option<&'static str> {
    ["--", "//", "<!--"].into_iter().find(|sign| name.starts_with(sign))
}

/// Elements that are meaningless without a text.
const NEEDED: [&str; 18] = [
    "app-path",
    "archive",
    "end-instance",
    "exec",
    "file",
    "host",
    "instance",
    "jar",
    "job-tracker",
    "job-xml",
    "jdbc-url",
    "main-class",
    "master",
    "name-node",
    "resource-manager",
    "script",
    "start-instance",
    "uri-template",
];
/// The attribute that is meaningless without a value; those of coordinators are dates, which have a rule of their own.
const NEEDED_ATTRIBUTE: &str = "path";

/// Returns the names that are the whole of a text that must not be empty.
fn needed<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = &'f str> {
    facts.texts().iter().filter_map(|(element, text)| {
        let at = text.span();
        let name = lone(text.text.as_ref())?;
        let of_attribute = element
            .attributes()
            .any(|attribute| attribute.name() == NEEDED_ATTRIBUTE && attribute.value_span() == at);
        (of_attribute || NEEDED.contains(&element.name())).then_some(name)
    })
}

/// Returns the name in a text that is a single reference.
fn lone(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (!name.is_empty() && name.bytes().all(plain)).then_some(name)
}

/// Returns the names that are parts of a path, between slashes or at its end.
fn parts(text: &str) -> HashSet<&str> {
    let starts = text.match_indices("/${").map(|(at, sign)| &text[at + sign.len()..]);
    // No name is longer. The limit avoids repeated searches to the end of the text for unclosed braces.
    let end = |rest: &str| rest.bytes().take(256).position(|byte| byte == b'}');
    starts
        .filter_map(|rest| Some((rest, end(rest)?)))
        .filter(|(rest, end)| ["}/", "}<", "}\""].iter().any(|sign| rest[*end..].starts_with(sign)))
        .map(|(rest, end)| &rest[..end])
        .collect()
}
