//! Recorded disk reads: what a check read next to a definition, so that a later run knows whether anything has changed.
//!
//! A definition is loaded through a [`Looks`]. One with [`Notes`] records each read with its result: contents, whether
//! a path exists, names in a folder. [`Memory::same`] repeats the reads. A read is skipped only if the system's own
//! change time (which users cannot set) and the other metadata of a file are unchanged, and that time was safely past
//! when it was recorded; otherwise contents are compared.

use super::before::Before;
use super::load::Listing;
use super::overlay::{Overlay, Unsaved};
use super::search::LARGEST;
use super::tree::{About, Kind, Listed, Tree, read_at_most};
use ankus::source::Source;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Maximum size of a text next to a definition that is read for a check, in bytes.
pub(crate) const SIDE_LIMIT: u64 = LARGEST;
/// A change within this time of a read may leave the same time stamp.
const TICK_NS: i128 = 2_000_000_000;
/// Maximum number of reads that are remembered.
const REMEMBERED: usize = 8_192;

/// The kind of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum What {
    /// The content of a file, if it has at most that many bytes.
    Content(u64),
    /// The content of a file, unless it is larger than [`SIDE_LIMIT`].
    Side,
    /// Whether there is a file, a folder, or nothing.
    Kind,
    /// Names in a folder.
    Names,
    /// The metadata.
    State,
}

/// A recorded read of the disk, with its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Look {
    path: String,
    what: What,
    saw: u64,
    state: Option<State>,
}

/// Metadata of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct State {
    device: u64,
    file: u64,
    size: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl State {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Option<State> {
        use std::os::unix::fs::MetadataExt;
        let time = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Some(State {
            device: metadata.dev(),
            file: metadata.ino(),
            size: metadata.size(),
            modified_ns: time(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: time(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// On other systems, users can set all time stamps.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<State> {
        None
    }

    /// Entries of an archive have no state of their own, and are read again.
    fn about(about: &About) -> Option<State> {
        (!about.is_archived()).then(|| State::of(about.metadata())).flatten()
    }

    /// Returns the metadata, if any change from now on is certain to alter it.
    pub(crate) fn settled(about: &About) -> Option<State> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        let now_ns = i128::try_from(since.as_nanos()).ok()?;
        State::about(about).filter(|state| state.changed_ns + TICK_NS < now_ns)
    }
}

/// The reads of one check, as they are recorded.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    looks: Vec<Look>,
    /// Whether a result could not be recorded.
    is_lost: bool,
}

impl Notes {
    /// Returns the recorded reads, unless one of them could not be recorded.
    pub fn taken(self) -> Option<Vec<Look>> {
        let noted = self.0.into_inner().expect("readers do not panic");
        (!noted.is_lost).then_some(noted.looks)
    }

    fn note(&self, path: &Path, what: What, (saw, state): Seen) {
        let mut noted = self.0.lock().expect("readers do not panic");
        match path.to_str() {
            Some(path) => noted.looks.push(Look { path: path.to_owned(), what, saw, state }),
            None => noted.is_lost = true,
        }
    }
}

/// Returns a hash of a value, which is stable within one build of this program.
pub fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Read access to one tree, recorded or not.
#[derive(Clone, Copy, Debug)]
pub struct Looks<'a> {
    tree: &'a Tree,
    notes: Option<&'a Notes>,
    overlay: Option<&'a Overlay>,
    before: Option<&'a Before>,
}

impl<'a> Looks<'a> {
    /// Creates read access, which is recorded if there are notes.
    pub fn into_tree(tree: &'a Tree, notes: Option<&'a Notes>) -> Looks<'a> {
        Looks { tree, notes, overlay: None, before: None }
    }

    /// Adds a cache of earlier reads, which is used unless reads are recorded.
    pub(crate) fn after(self, before: &'a Before) -> Looks<'a> {
        Looks { before: Some(before).filter(|_| self.notes.is_none()), ..self }
    }

    /// Returns the text of a file by its display path, if it was read before.
    pub(crate) fn text_before(&self, path: &Path, shown: &str) -> Option<Arc<Source>> {
        let before = self.before.filter(|_| self.unsaved(path).is_none())?;
        before.text(shown, self.tree)
    }

    /// Returns the entries of a folder on the disk, if it was listed before.
    pub(crate) fn listed_before(&self, folder: &Path) -> Option<Arc<[Listed]>> {
        self.before?.list(folder, self.tree)
    }

    /// Adds unsaved texts that replace files. Their reads are not recorded.
    pub fn over(self, overlay: &'a Overlay) -> Looks<'a> {
        Looks { overlay: Some(overlay), ..self }
    }

    /// Returns the unsaved text of a file, if any.
    pub fn unsaved(&self, path: &Path) -> Option<&'a Unsaved> {
        self.overlay?.get(path)
    }

    /// Returns the names of files in a folder that exist only in the overlay.
    pub(crate) fn unsaved_in(&self, folder: &Path) -> Vec<String> {
        self.overlay.map(|overlay| overlay.names_in(folder)).unwrap_or_default()
    }

    /// Whether reads are recorded.
    pub(crate) fn are_recorded(&self) -> bool {
        self.notes.is_some()
    }

    /// Returns the tree.
    pub fn tree(&self) -> &'a Tree {
        self.tree
    }

    /// Reads a file of at most `limit` bytes.
    ///
    /// # Errors
    /// Those of [`Tree::open`], and if it is larger.
    pub fn read(&self, path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
        if let Some(unsaved) = self.unsaved(path).filter(|unsaved| unsaved.size() <= limit) {
            return Ok(unsaved.source.text.as_bytes().to_vec());
        }
        let read = whole(self.tree, path, limit);
        if let Some(notes) = self.notes {
            let content = read.as_ref().ok().map(|(bytes, state)| (Some(bytes.as_slice()), *state));
            notes.note(path, What::Content(limit), seen(content));
        }
        read.map(|(bytes, _)| bytes)
    }

    /// Reads a file next to a definition, unless it is too large, unreadable, or not a file.
    pub(crate) fn side(&self, path: &Path) -> Option<Vec<u8>> {
        if let Some(unsaved) = self.unsaved(path) {
            let is_small = unsaved.size() <= SIDE_LIMIT;
            return is_small.then(|| unsaved.source.text.as_bytes().to_vec());
        }
        let read = small(self.tree, path);
        if let Some(notes) = self.notes {
            let content = read.as_ref().map(|(bytes, state)| (bytes.as_deref(), *state));
            notes.note(path, What::Side, seen(content));
        }
        read?.0
    }

    /// Whether a file exists.
    pub fn is_file(&self, path: &Path) -> bool {
        self.kind(path) == Some(Kind::File)
    }

    /// Whether anything but a folder exists, even if it cannot be read.
    pub(crate) fn is_there(&self, path: &Path) -> bool {
        self.kind(path).is_some_and(|kind| kind != Kind::Folder)
    }

    /// Whether a folder exists.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.kind(path) == Some(Kind::Folder)
    }

    fn kind(&self, path: &Path) -> Option<Kind> {
        if self.unsaved(path).is_some() {
            return Some(Kind::File);
        }
        let kind = self.tree.kind(path);
        if let Some(notes) = self.notes {
            notes.note(path, What::Kind, (hashed(&kind), None));
        }
        kind
    }

    /// Records that a folder was listed.
    pub(crate) fn listed(&self, path: &Path, listing: &Listing) {
        if let Some(notes) = self.notes {
            notes.note(path, What::Names, (hashed(listing), listing.state));
        }
    }

    /// Records that parts of a file were read.
    pub(crate) fn touched(&self, path: &Path) {
        if let Some(notes) = self.notes {
            notes.note(path, What::State, (state_at(self.tree, path), None));
        }
    }
}

fn state_at(tree: &Tree, path: &Path) -> u64 {
    hashed(&tree.about(path).ok().map(|about| (about.length(), State::of(about.metadata()))))
}

fn whole(tree: &Tree, path: &Path, limit: u64) -> std::io::Result<(Vec<u8>, Option<State>)> {
    // The metadata is read before the content, so that a change in between is noticed.
    let (file, about) = tree.open(path, limit)?;
    let bytes = read_at_most(file, about.length(), limit)?;
    Ok((bytes, State::settled(&about)))
}

/// Returns the content of a side file; no content if it is too large or not a file.
fn small(tree: &Tree, path: &Path) -> Option<(Option<Vec<u8>>, Option<State>)> {
    match tree.open(path, SIDE_LIMIT) {
        Ok((_, about)) if about.length() > SIDE_LIMIT => Some((None, State::settled(&about))),
        Ok((file, about)) => {
            let bytes = read_at_most(file, about.length(), SIDE_LIMIT).ok()?;
            Some((Some(bytes), State::settled(&about)))
        }
        Err(_) => {
            let about = tree.about(path).ok()?;
            Some((None, State::settled(&about)))
        }
    }
}

fn seen(read: Option<(Option<&[u8]>, Option<State>)>) -> Seen {
    (hashed(&read.map(|(bytes, _)| bytes)), read.and_then(|(_, state)| state))
}

/// Reads that were repeated in this run: definitions of one folder read the same files.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<(String, What), Seen>>);

/// The result of a read, and the metadata that any change is certain to alter.
type Seen = (u64, Option<State>);

impl Memory {
    /// Repeats a read. Returns whether the result is the same, and whether a read that was not settled when it was
    /// recorded is settled now.
    pub fn same(&self, tree: &Tree, look: &mut Look) -> (bool, bool) {
        let path = Path::new(&look.path);
        match look.what {
            What::Kind => return (hashed(&tree.kind(path)) == look.saw, false),
            What::State => return (state_at(tree, path) == look.saw, false),
            What::Content(_) | What::Side | What::Names => {}
        }
        if look.state.is_some() {
            let now = tree.about(path).ok().and_then(|about| State::about(&about));
            if now == look.state {
                return (true, false);
            }
        }
        let (saw, state) = self.again(tree, &look.path, look.what);
        let is_news = saw == look.saw && state.is_some() && state != look.state;
        if is_news {
            look.state = state;
        }
        (saw == look.saw, is_news)
    }

    fn again(&self, tree: &Tree, path: &str, what: What) -> Seen {
        let key = (path.to_owned(), what);
        if let Some(known) = self.0.lock().expect("readers do not panic").get(&key) {
            return *known;
        }
        let at = Path::new(path);
        let found = match what {
            What::Names => {
                let listing = Listing::read(tree, at);
                (hashed(&listing), listing.state)
            }
            What::Content(limit) => {
                let read = whole(tree, at, limit).ok();
                seen(read.as_ref().map(|(bytes, state)| (Some(bytes.as_slice()), *state)))
            }
            _ => {
                let read = small(tree, at);
                seen(read.as_ref().map(|(bytes, state)| (bytes.as_deref(), *state)))
            }
        };
        let mut known = self.0.lock().expect("readers do not panic");
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Reads a folder with two files, and returns the record.
    fn look(tree: &Tree, folder: &Path) -> Vec<Look> {
        let notes = Notes::default();
        let looks = Looks::into_tree(tree, Some(&notes));
        let (file, other) = (folder.join("a"), folder.join("b"));
        looks.listed(folder, &Listing::read(tree, folder));
        let _ = (looks.read(&file, 1 << 20), looks.side(&file));
        let _ = (looks.is_file(&other), looks.is_folder(&other));
        notes.taken().expect("paths are text")
    }

    #[test]
    fn what_changed_is_seen_again() {
        let folder = tempfile::tempdir().expect("room");
        let tree = Tree::of(folder.path()).expect("a tree");
        let file = folder.path().join("a");
        let other = folder.path().join("b");
        std::fs::write(&file, "one").expect("a file");
        let same = |looks: &[Look]| {
            let memory = Memory::default();
            looks.iter().map(|look| memory.same(&tree, &mut look.clone()).0).collect::<Vec<_>>()
        };
        let before = look(&tree, folder.path());
        assert_eq!(same(&before), [true; 5]);
        // With the same length and the same time stamps as before.
        let metadata = std::fs::metadata(&file).expect("it is there");
        std::fs::write(&file, "two").expect("a file");
        let times = std::fs::FileTimes::new().set_modified(metadata.modified().expect("a time"));
        File::options().write(true).open(&file).expect("ours").set_times(times).expect("ours");
        assert_eq!(same(&before), [true, false, false, true, true]);
        std::fs::write(&file, "one").expect("a file");
        assert_eq!(same(&before), [true; 5]);
        std::fs::create_dir(&other).expect("a folder");
        assert_eq!(same(&before), [false, true, true, false, false]);
        std::fs::remove_dir(&other).expect("ours");
        std::fs::remove_file(&file).expect("ours");
        std::fs::create_dir(&file).expect("a folder");
        assert_eq!(same(&before), [false, false, false, true, true]);
    }

    #[cfg(unix)]
    #[test]
    fn what_has_settled_is_told_by_its_state() {
        let folder = tempfile::tempdir().expect("room");
        let tree = Tree::of(folder.path()).expect("a tree");
        let file = folder.path().join("a");
        std::fs::write(&file, "one").expect("a file");
        std::thread::sleep(std::time::Duration::from_millis(2_100));
        let looks = look(&tree, folder.path());
        let read = looks.iter().find(|look| matches!(look.what, What::Content(_))).expect("noted");
        assert!(read.state.is_some());
        assert_eq!(Memory::default().same(&tree, &mut read.clone()), (true, false));
        std::fs::write(&file, "two").expect("a file");
        assert_eq!(Memory::default().same(&tree, &mut read.clone()), (false, false));
    }
}
