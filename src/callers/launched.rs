//! Collects the properties that scripts set for the jobs they start.

use super::{Gathering, Index, Kind, top};
use crate::files::folder_of;
use memchr::memmem;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum number of properties kept per script.
const MOST_LAUNCHED: usize = 256;
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
            if end > 0 && rest[end..].starts_with('=') {
                self.launched.push((path.to_owned(), rest[..end].to_owned()));
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
            for call in &mut starter.calls {
                let values = Arc::make_mut(&mut call.values);
                for name in names.iter().filter(|name| !name.starts_with("oozie.")) {
                    values.entry(name.clone()).or_insert_with(|| format!("${{{name}}}"));
                }
            }
        }
    }
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
