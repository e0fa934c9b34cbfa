//! Collects the properties that scripts set for the jobs they start.

use super::{Gathering, Index, Kind, resolved, top};
use crate::files::folder_of;
use memchr::memmem;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of properties kept per script.
const MOST_LAUNCHED: usize = 256;
/// Maximum number of lines of a script that are searched for the variables that it sets.
const MOST_LINES: usize = 1_000;

impl Gathering {
    /// Adds a shell script, which may start jobs and set properties for them: `oozie job … -Dname=value`, or with a file
    /// of properties that it writes.
    pub fn shell(&mut self, path: &str, text: &str) {
        self.file(path);
        if memmem::find(text.as_bytes(), b"oozie").is_none() {
            return;
        }
        let options = text.match_indices("-D").filter(|(at, _)| {
            let before = text[..*at].bytes().next_back();
            before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
        });
        for (at, option) in options.take(MOST_LAUNCHED) {
            let rest = text[at + option.len()..].trim_start_matches(' ');
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            let end = rest.find(|c: char| !plain(c)).unwrap_or(rest.len());
            if end > 0
                && let Some(value) = rest[end..].strip_prefix('=')
            {
                self.launched.push((path.to_owned(), rest[..end].to_owned()));
                if let Some(value) = path_in(text, value) {
                    self.assigned.push((path.to_owned(), rest[..end].to_owned(), value));
                }
            }
        }
        let names = written(text).into_iter().take(MOST_LAUNCHED);
        self.launched.extend(names.map(|name| (path.to_owned(), name.to_owned())));
    }

    /// Adds the properties that nearby scripts set to properties files: that they have a value, but not which one.
    pub(super) fn give_launched(&mut self, index: &Index) {
        if index.launched.is_empty() {
            return;
        }
        for starter in self.starters.iter_mut().filter(|s| s.kind == Kind::Properties) {
            let names = index.launched_near(&starter.path);
            let beside = |script: &str| folder_of(script) == folder_of(&starter.path);
            let paths = self.assigned.iter().filter(|(script, ..)| beside(script));
            let paths: Vec<_> = paths.map(|(_, name, value)| (name, value)).collect();
            for call in &mut starter.calls {
                let values = Arc::make_mut(&mut call.values);
                for (name, value) in &paths {
                    values.entry((*name).clone()).or_insert_with(|| (*value).clone());
                }
                for name in names.iter().filter(|name| !name.starts_with("oozie.")) {
                    values.entry(name.clone()).or_insert_with(|| format!("${{{name}}}"));
                }
            }
        }
    }
}

/// Returns the value of an option in a script, if it is a path; `value` is the text from there on. Variables that the
/// script sets are replaced.
fn path_in(text: &str, value: &str) -> Option<String> {
    let value = value.lines().next()?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value[1..].split(quote).next()?,
        _ => value.split([' ', '\t', ';', '\\', '"']).next()?,
    };
    let mut assigned: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().map(str::trim_start).take(MOST_LINES) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else { continue };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !name.is_empty() && name.bytes().all(is_name) && assigned.len() < MOST_LAUNCHED {
            let value = value.trim().trim_matches(['"', '\'']);
            assigned.insert(name.to_owned(), braced(value));
        }
    }
    let value = resolved(&braced(value), &assigned);
    // What the script computes or is given is unknown.
    let is_given = value
        .match_indices("${")
        .any(|(at, _)| value[at + 2..].starts_with(|first: char| first.is_ascii_digit()));
    (value.contains('/') && !is_given && !value.contains(['`', '('])).then_some(value)
}

/// Writes `$name` as `${name}`.
fn braced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find(|c| !is_part(c)).unwrap_or(after.len());
        out.push_str(before);
        match end {
            0 => out.push('$'),
            _ => out.extend(["${", &after[..end], "}"]),
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// The names of the properties that a script writes to a file of properties: the lines around the one that names the
/// application.
fn written(text: &str) -> Vec<&str> {
    const KEYS: [&str; 3] = [
        "oozie.bundle.application.path=",
        "oozie.coord.application.path=",
        "oozie.wf.application.path=",
    ];
    let name = |line: &'_ str| -> Option<usize> {
        let (name, _) = line.split_once('=')?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        (!name.is_empty() && name.bytes().all(plain)).then_some(name.len())
    };
    let mut found = Vec::new();
    let mut block: Vec<&str> = Vec::new();
    let mut submits = false;
    for line in text.lines().chain([""]) {
        if let Some(end) = name(line) {
            block.push(&line[..end]);
            submits |= KEYS.iter().any(|key| line.starts_with(key));
            continue;
        }
        if std::mem::take(&mut submits) {
            found.append(&mut block);
        }
        block.clear();
    }
    found
}

impl Index {
    /// The names of properties that scripts near a file set for the jobs they start: those in its folder, if there are
    /// any.
    pub fn launched_near(&self, path: &str) -> BTreeSet<String> {
        let path = self.whole(path);
        if let Some(beside) = self.launched_beside.get(folder_of(&path)) {
            return beside.clone();
        }
        let top = top(&path, self.common).filter(|top| !top.is_empty());
        let tops = [Some(""), top].into_iter().flatten();
        tops.filter_map(|top| self.launched.get(top)).flatten().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::path_in;

    #[test]
    fn the_path_of_an_option_is_that_of_the_variables() {
        let text =
            "apps=/user/$USER/apps\nexport daily=\"${apps}/daily\"\noozie job -D a=${daily} \\\n";
        let path = |value: &str| path_in(text, value);
        assert_eq!(path("${daily} \\\n").as_deref(), Some("/user/${USER}/apps/daily"));
        assert_eq!(path("\"$apps/b\" -run").as_deref(), Some("/user/${USER}/apps/b"));
        assert_eq!(
            (path("$1/b"), path("10"), path("$(pwd)/é"), path("")),
            (None, None, None, None)
        );
    }
}
