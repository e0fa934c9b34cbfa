//! Lines of properties without `=`.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::PATH_KEYS;
use crate::lint::{Facts, Rule};
use crate::syntax::properties::Entry;
use foldhash::HashSet;

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

/// How many names without a value make a form of a file, if they are half of it.
const FORM: usize = 4;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.property_files().is_empty() {
        return;
    }
    let read: HashSet<&str> = facts.reads.iter().map(|read| read.name.as_str()).collect();
    let mut of_definition = parts(facts.tree.text());
    of_definition.extend(needed(facts));
    for (source, entries) in facts.property_files() {
        let mut own = parts(&source.text);
        own.extend(entries.iter().filter(|e| PATH_KEYS.contains(&e.name.as_str())).filter_map(
            |e| {
                // All of the path of the application.
                lone(source.slice(e.value_span))
            },
        ));
        // A file that leaves its clusters open is there to be copied and filled in.
        let is_empty = |entry: &&Entry| entry.value.is_empty() && !entry.name.is_empty();
        let empty = entries.iter().filter(is_empty).count();
        let is_form = empty >= FORM && empty * 2 >= entries.len();
        for entry in entries {
            let raw = source.slice(entry.span).trim();
            let name = entry.name.as_str();
            if let Some(sign) = comment(name) {
                let message =
                    format!("`{sign}` does not start a comment: this line sets a property");
                out.push(
                    Diagnostic::new(&RULE.kind, entry.name_span, message)
                        .about(sign)
                        .likely()
                        .help("a comment begins with `#`")
                        .in_file(source.path.clone()),
                );
                continue;
            }
            // `name value` is a pair as well, for Java, and rarely meant where the value is one.
            let bare = !raw.contains(['=', ':']) && entry.value.is_empty();
            let cut = !raw.is_empty()
                && entry.value.contains('=')
                && !source
                    .slice(crate::source::Span::new(
                        entry.name_span.end as usize,
                        entry.value_span.start as usize,
                    ))
                    .contains(['=', ':']);
            // A part of a path that is nothing, where something was set once.
            let hole = raw.ends_with('=')
                && entry.value.is_empty()
                && (own.contains(name)
                    || of_definition.contains(name)
                    || PATH_KEYS.contains(&name));
            if !(bare || cut || hole) || name.is_empty() || hole && is_form {
                continue;
            }
            // Most often a name with its value at its end; templates have lines of their own kind.
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
                _ if hole => format!("`{name}` is empty, but a definition needs its value"),
                true => format!("the name ends at its first blank: this sets `{name}`"),
                false => format!("`{name}` has no `=`, and its value is empty"),
            };
            let help = match hole {
                true => "give it a value",
                false => "write `name=value`, without blanks in the name",
            };
            let found = Diagnostic::new(&RULE.kind, entry.name_span, message);
            // A file to be filled in has many of them.
            let found = if hole { found.about("no value") } else { found };
            out.push(found.likely().help(help).in_file(source.path.clone()));
        }
    }
}

/// The sign with which comments of other languages begin, where a name begins with it.
pub(super) fn comment(name: &str) -> Option<&'static str> {
    ["--", "//"].into_iter().find(|sign| name.starts_with(sign))
}

/// Elements that mean nothing without a text.
const NEEDED: [&str; 15] = [
    "app-path",
    "archive",
    "exec",
    "file",
    "host",
    "jar",
    "job-tracker",
    "job-xml",
    "jdbc-url",
    "main-class",
    "master",
    "name-node",
    "resource-manager",
    "script",
    "uri-template",
];
/// The attribute that means nothing without a value; those of coordinators are dates, which have a rule of their own.
const NEEDED_ATTRIBUTE: &str = "path";

/// The names that are all of a text which has to say something.
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

/// The name that is all of a text.
fn lone(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (!name.is_empty() && name.bytes().all(plain)).then_some(name)
}

/// The names that are parts of a path, between slashes or at its end.
fn parts(text: &str) -> HashSet<&str> {
    let starts = text.match_indices("/${").map(|(at, sign)| &text[at + sign.len()..]);
    // No name is longer; a brace that is never closed is not looked for to the end, again and again.
    let end = |rest: &str| rest.bytes().take(256).position(|byte| byte == b'}');
    starts
        .filter_map(|rest| Some((rest, end(rest)?)))
        .filter(|(rest, end)| ["}/", "}<", "}\""].iter().any(|sign| rest[*end..].starts_with(sign)))
        .map(|(rest, end)| &rest[..end])
        .collect()
}
