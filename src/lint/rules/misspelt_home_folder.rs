//! Home folders with a misspelled `/user`.

use crate::diag::{Diagnostic, Group, Kind, Level, within};
use crate::lint::paths::absolute;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-home-folder",
        group: Group::Parameters,
        summary: "a path to a user's home folder whose first folder is almost `user`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/misspelt-home-folder.md"),
    },
    check,
};

/// Variables that stand for the user in the path of a home folder.
const USERS: [&str; 5] = ["user.name", "wf:user()", "coord:user()", "userName", "user"];
/// Parents of home folders elsewhere: on object stores, and on local machines.
const OTHERS: [&str; 3] = ["users", "Users", "usr"];
/// Elements whose text is for human readers.
const WORDS: [&str; 4] = ["message", "description", "body", "subject"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (element, text) in facts.texts() {
        if !has_variable_as_folder(&text.text) || WORDS.contains(&element.name()) {
            continue;
        }
        let plain = text.trim();
        if let Some(range) = slip(&plain.text) {
            let folder = &plain.text[range.clone()];
            out.push(finding(plain.source(range.clone()), folder));
        }
        out.extend(joined(&plain.text).map(|range| without_slash(plain.source(range))));
    }
    for (source, entries) in facts.property_files() {
        for entry in entries {
            // The value as written in the file.
            let raw = source.slice(entry.value_span);
            if !has_variable_as_folder(raw) {
                continue;
            }
            // Other homes of the file show that `usr` is a slip.
            let usr = || of_usr(raw).filter(|_| source.text.contains("/user/${"));
            if let Some(range) = slip(raw).or_else(usr) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(finding(span, &raw[range]).in_file(source.path.clone()));
            }
            if let Some(range) = joined(raw) {
                let start = entry.value_span.start as usize;
                let span = Span::new(start + range.start, start + range.end);
                out.push(without_slash(span).in_file(source.path.clone()));
            }
        }
    }
}

/// Whether a variable begins right after a `/`, as the name of a user in the path of a home does. Hardly any text has
/// such a variable.
fn has_variable_as_folder(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'$', bytes).any(|at| at > 0 && bytes[at - 1] == b'/')
}

/// Returns the range where a `/` is missing between the user and the folder below the home.
fn joined(text: &str) -> Option<std::ops::Range<usize>> {
    let below = absolute(text)?.strip_prefix("/user/${")?;
    let (user, rest) = below.split_once('}')?;
    let is_user = USERS[..3].contains(&user.trim());
    let at = text.len() - rest.len();
    let length = rest.find('/').unwrap_or(rest.len());
    let begins = rest.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_user && begins).then_some(at..at + length)
}

/// Returns the range of the first folder of the path to a home, if it is a misspelled `user`.
fn slip(text: &str) -> Option<std::ops::Range<usize>> {
    let path = absolute(text)?;
    let (folder, below) = path.strip_prefix('/')?.split_once('/')?;
    let (user, _) = below.strip_prefix("${")?.split_once('}')?;
    let plain = folder.len() < 8 && folder.bytes().all(|byte| byte.is_ascii_alphabetic());
    let wrong = plain
        && folder != "user"
        && !OTHERS.contains(&folder)
        && USERS.contains(&user.trim())
        && within(&folder.to_ascii_lowercase(), "user", 1).is_some();
    let start = text.len() - path.len() + 1;
    wrong.then(|| start..start + folder.len())
}

/// Returns the range of the first folder of the path to a home, if it is `usr`.
fn of_usr(text: &str) -> Option<std::ops::Range<usize>> {
    let path = absolute(text)?;
    let (user, _) = path.strip_prefix("/usr/${")?.split_once('}')?;
    let start = text.len() - path.len() + 1;
    USERS.contains(&user.trim()).then_some(start..start + "usr".len())
}

fn without_slash(span: Span) -> Diagnostic {
    let message = "a `/` is missing after the home folder of a user";
    Diagnostic::new(&RULE.kind, span, message).likely()
}

fn finding(span: Span, folder: &str) -> Diagnostic {
    let message = format!("home folders are in `/user`, not in `/{folder}`");
    Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean("user")
}
