//! A snapshot of the files that a check may read.
//!
//! The caller gathers paths with their contents. Queries have three answers, because a checker that does not know must
//! report nothing: a file exists, does not exist, or was not looked up. Paths are as displayed: relative to the
//! working directory, with `/`, or absolute if outside it.

use crate::source::{Source, Span};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What was found at a path.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A text file that was read.
    Text(Arc<Source>),
    /// A file that exists but was not read: too large, binary, or its content is not needed.
    Unread,
    /// A folder.
    Folder,
}

/// Whether something exists at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It exists.
    Present,
    /// Its folder was listed and does not contain it.
    Absent,
    /// Not looked up.
    Unknown,
}

/// A finding of another tool on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The location.
    pub span: Span,
    /// The message, in one line.
    pub words: String,
}

/// The snapshot. Cheap to clone; a check never changes it.
#[derive(Clone, Debug, Default)]
pub struct Files {
    entries: BTreeMap<String, Entry>,
    listed: BTreeSet<String>,
    archives: BTreeMap<String, BTreeSet<String>>,
    remarks: BTreeMap<String, Vec<Remark>>,
}

impl Files {
    /// Creates an empty snapshot, in which everything is unknown.
    pub fn new() -> Files {
        Files::default()
    }

    /// Adds what was found at a path.
    pub fn insert(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), entry);
    }

    /// Adds a text file.
    pub fn insert_text(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let path = path.into();
        let source = Source::new(path.clone(), text);
        self.insert(path, Entry::Text(Arc::new(source)));
    }

    /// Records that everything directly in `folder` is in the snapshot.
    pub fn set_listed(&mut self, folder: impl Into<String>) {
        self.listed.insert(folder.into());
    }

    /// Sets the names in an archive, at least those that the definition may refer to.
    pub fn set_archive(&mut self, path: impl Into<String>, names: BTreeSet<String>) {
        self.archives.insert(path.into(), names);
    }

    /// The names in an archive, if it was read.
    pub fn archive(&self, path: &str) -> Option<&BTreeSet<String>> {
        self.archives.get(path)
    }

    /// Sets the findings of another tool on a file.
    pub fn set_remarks(&mut self, path: impl Into<String>, remarks: Vec<Remark>) {
        self.remarks.insert(path.into(), remarks);
    }

    /// The findings of another tool on a file; empty if the tool did not check it.
    pub fn remarks(&self, path: &str) -> &[Remark] {
        self.remarks.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// What was found at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The text at a path, if it was read.
    pub fn text(&self, path: &str) -> Option<&Arc<Source>> {
        match self.entries.get(path) {
            Some(Entry::Text(source)) => Some(source),
            _ => None,
        }
    }

    /// Whether something exists at a path. Nothing exists below a folder that is absent.
    pub fn presence(&self, path: &str) -> Presence {
        if self.entries.contains_key(path) || self.listed.contains(path) {
            return Presence::Present;
        }
        let mut below = path;
        loop {
            let folder = folder_of(below);
            if self.listed.contains(folder) {
                // The nearest listed folder decides: the part of the path directly in it must exist for anything below
                // to exist.
                return if below == path || !self.entries.contains_key(below) {
                    Presence::Absent
                } else {
                    Presence::Unknown
                };
            }
            if folder.is_empty() || folder == below || self.entries.contains_key(folder) {
                return Presence::Unknown;
            }
            below = folder;
        }
    }

    /// Paths of everything below a folder, sorted.
    pub fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.entries
            .range(folder.to_owned()..)
            .map(|(path, entry)| (path.as_str(), entry))
            .skip_while(move |(path, _)| *path == folder)
            .take_while(move |(path, _)| path.starts_with(folder))
            .filter(move |(path, _)| {
                folder.is_empty() || path.as_bytes().get(folder.len()) == Some(&b'/')
            })
    }

    /// All text files of the snapshot, sorted by path.
    pub fn texts(&self) -> impl Iterator<Item = &Arc<Source>> {
        self.entries.values().filter_map(|entry| match entry {
            Entry::Text(source) => Some(source),
            _ => None,
        })
    }
}

/// The parent folder of a path; empty for the working directory.
pub fn folder_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) => "/",
        Some(at) => &path[..at],
        None => "",
    }
}

/// The last component of a path.
pub fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Resolves `relative` against `folder`, removing `.` and `..`; `None` if it leaves every known folder.
pub fn join(folder: &str, relative: &str) -> Option<String> {
    let whole = match relative.starts_with('/') || folder.is_empty() {
        true => Cow::Borrowed(relative),
        false => Cow::Owned([folder, "/", relative].concat()),
    };
    let is_rooted = whole.starts_with('/');
    let mut path = String::with_capacity(whole.len());
    let mut start = 0;
    for end in memchr::memchr_iter(b'/', whole.as_bytes()).chain([whole.len()]) {
        let part = &whole[start..end];
        start = end + 1;
        match part {
            "" | "." => continue,
            ".." if !matches!(name_of(&path), "" | "..") => {
                path.truncate(path.rfind('/').unwrap_or(0));
                continue;
            }
            ".." if is_rooted => return None,
            _ => {}
        }
        if is_rooted || !path.is_empty() {
            path.push('/');
        }
        path.push_str(part);
    }
    if is_rooted && path.is_empty() {
        path.push('/');
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_answers() {
        let mut files = Files::new();
        files.insert_text("app/workflow.xml", "<a/>");
        files.insert("app/lib", Entry::Folder);
        files.set_listed("app");
        assert_eq!(files.presence("app/workflow.xml"), Presence::Present);
        assert_eq!(files.presence("app/run.sh"), Presence::Absent);
        assert_eq!(files.presence("app/bin/run.sh"), Presence::Absent);
        assert_eq!(files.presence("app/lib/a.jar"), Presence::Unknown);
        assert_eq!(files.presence("other/run.sh"), Presence::Unknown);
        assert_eq!(files.below("app").count(), 2);
    }

    #[test]
    fn paths_join_as_people_expect() {
        assert_eq!(join("a/b", "../c/./d.sh").as_deref(), Some("a/c/d.sh"));
        assert_eq!(join("", "c").as_deref(), Some("c"));
        assert_eq!(join("a", "/x/y").as_deref(), Some("/x/y"));
        assert_eq!(join("a", "../../c").as_deref(), Some("../c"));
        assert_eq!(join("/a", "../../c"), None);
        assert_eq!(join("/a", "..").as_deref(), Some("/"));
        assert_eq!(join("/", "b//c/").as_deref(), Some("/b/c"));
        assert_eq!(join("..", "../c").as_deref(), Some("../../c"));
        assert_eq!(join("a", "..").as_deref(), Some(""));
    }
}
