//! Looks at the disk that can be told again: what a check saw beside a definition, so that a later run knows whether it
//! would see the same.
//!
//! Whoever loads a definition ([`super::disk`]) looks through here. Between [`noted`] and its end every look of this thread
//! is written down with what it showed: contents, what stands at a path (nothing, too), names in a folder. [`Memory::same`]
//! looks again. A look is spared only where the system's own time of the last change (which nobody can set) and the rest of
//! what it keeps of a file are as they were, and that time was safely past when it was noted; else contents are compared.

use super::disk::Listing;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;
use std::sync::Mutex;

/// Texts beside a definition larger than this are not read for a check.
pub(super) const SIDE_LIMIT: u64 = 1024 * 1024;
/// A change within this time of a look may have the same time as what was seen.
const TICK_NS: i128 = 2_000_000_000;
/// How many looks are remembered at once.
const REMEMBERED: usize = 8_192;

/// What was looked for at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum What {
    /// What a file holds.
    Content,
    /// What it holds, unless it is larger than [`SIDE_LIMIT`].
    Side,
    /// A file, a folder, or nothing.
    Kind,
    /// Names in a folder.
    Names,
    /// What the system keeps of it.
    State,
}

/// A look at the disk, and what it showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Look {
    path: String,
    what: What,
    saw: u64,
    state: Option<State>,
}

/// What the system keeps of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct State {
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

    /// Elsewhere no time is kept that nobody can set.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Option<State> {
        None
    }

    /// The same, if a change from now on is sure to show in it.
    pub(super) fn settled(metadata: &Metadata) -> Option<State> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        let now_ns = i128::try_from(since.as_nanos()).ok()?;
        State::of(metadata).filter(|state| state.changed_ns + TICK_NS < now_ns)
    }
}

thread_local! {
    static NOTES: RefCell<Option<Notes>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Notes {
    looks: Vec<Look>,
    /// Whether something was seen that cannot be written down.
    is_lost: bool,
}

/// Does some work; the looks of this thread meanwhile, unless one of them cannot be told again.
pub(super) fn noted<T>(work: impl FnOnce() -> T) -> (T, Option<Vec<Look>>) {
    NOTES.with(|notes| *notes.borrow_mut() = Some(Notes::default()));
    let done = work();
    let notes = NOTES.with(|notes| notes.borrow_mut().take()).unwrap_or_default();
    (done, (!notes.is_lost).then_some(notes.looks))
}

fn note(path: &Path, what: What, saw: u64, state: Option<State>) {
    NOTES.with(|notes| {
        let mut notes = notes.borrow_mut();
        let Some(notes) = notes.as_mut() else { return };
        match path.to_str() {
            Some(path) => notes.looks.push(Look { path: path.to_owned(), what, saw, state }),
            None => notes.is_lost = true,
        }
    });
}

/// A number for a value; the same within one build of this program.
pub(super) fn hashed(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether looks of this thread are written down.
fn is_noting() -> bool {
    NOTES.with(|notes| notes.borrow().is_some())
}

/// Reads a file whole.
pub(super) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let read = whole(path);
    if !is_noting() {
        return read.map(|(bytes, _)| bytes);
    }
    let (saw, state) =
        seen(read.as_ref().ok().map(|(bytes, state)| (Some(bytes.as_slice()), *state)));
    note(path, What::Content, saw, state);
    read.map(|(bytes, _)| bytes)
}

/// Reads a file that lies beside a definition, unless it is too large, cannot be read, or is no file: reading a pipe or
/// a device might never end.
pub(super) fn side(path: &Path) -> Option<Vec<u8>> {
    let read = small(path);
    if !is_noting() {
        return read?.0;
    }
    let (saw, state) = seen(read.as_ref().map(|(bytes, state)| (bytes.as_deref(), *state)));
    note(path, What::Side, saw, state);
    read?.0
}

/// Whether a file is there.
pub(super) fn is_file(path: &Path) -> bool {
    kind_at(path) == IS_FILE
}

/// Whether a folder is there.
pub(super) fn is_folder(path: &Path) -> bool {
    kind_at(path) == IS_FOLDER
}

/// Notes that a folder was listed.
pub(super) fn listed(path: &Path, listing: &Listing) {
    if is_noting() {
        note(path, What::Names, hashed(listing), listing.state);
    }
}

/// Notes that parts of a file were read.
pub(super) fn touched(path: &Path) {
    if is_noting() {
        note(path, What::State, state_at(path), None);
    }
}

fn kind_at(path: &Path) -> u64 {
    let kind = see_kind(path);
    note(path, What::Kind, kind, None);
    kind
}

const IS_FILE: u64 = 1;
const IS_FOLDER: u64 = 2;

fn see_kind(path: &Path) -> u64 {
    match std::fs::metadata(path) {
        Err(_) => 0,
        Ok(metadata) if metadata.is_file() => IS_FILE,
        Ok(metadata) if metadata.is_dir() => IS_FOLDER,
        Ok(_) => 3,
    }
}

fn state_at(path: &Path) -> u64 {
    hashed(&std::fs::metadata(path).ok().map(|metadata| (metadata.len(), State::of(&metadata))))
}

fn whole(path: &Path) -> std::io::Result<(Vec<u8>, Option<State>)> {
    let mut file = File::open(path)?;
    // Before the content, so that a change between the two shows.
    let metadata = file.metadata()?;
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0).min(1 << 24));
    file.read_to_end(&mut bytes)?;
    Ok((bytes, State::settled(&metadata)))
}

/// What a side file holds; without content where it is too large or no file.
fn small(path: &Path) -> Option<(Option<Vec<u8>>, Option<State>)> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > SIDE_LIMIT {
        return Some((None, State::settled(&metadata)));
    }
    let (bytes, state) = whole(path).ok()?;
    Some((Some(bytes), state))
}

fn seen(read: Option<(Option<&[u8]>, Option<State>)>) -> Seen {
    (hashed(&read.map(|(bytes, _)| bytes)), read.and_then(|(_, state)| state))
}

/// Looks that were taken again in this run: definitions of one folder look at the same files.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<HashMap<(String, What), Seen>>);

/// What a look showed, and the state that a change of it is sure to show in.
type Seen = (u64, Option<State>);

impl Memory {
    /// Whether a look would show the same. A look that was not settled when it was noted may be so now; `true` in the
    /// second place if it is.
    pub(super) fn same(&self, look: &mut Look) -> (bool, bool) {
        let path = Path::new(&look.path);
        match look.what {
            What::Kind => return (see_kind(path) == look.saw, false),
            What::State => return (state_at(path) == look.saw, false),
            What::Content | What::Side | What::Names => {}
        }
        if look.state.is_some() {
            let now = std::fs::metadata(path).ok().and_then(|metadata| State::of(&metadata));
            if now == look.state {
                return (true, false);
            }
        }
        let (saw, state) = self.again(&look.path, look.what);
        let is_news = saw == look.saw && state.is_some() && state != look.state;
        if is_news {
            look.state = state;
        }
        (saw == look.saw, is_news)
    }

    fn again(&self, path: &str, what: What) -> Seen {
        let key = (path.to_owned(), what);
        if let Some(known) = self.0.lock().expect("readers do not panic").get(&key) {
            return *known;
        }
        let at = Path::new(path);
        let found = match what {
            What::Names => {
                let listing = Listing::read(at);
                (hashed(&listing), listing.state)
            }
            What::Side => {
                let read = small(at);
                seen(read.as_ref().map(|(bytes, state)| (bytes.as_deref(), *state)))
            }
            _ => {
                let read = whole(at).ok();
                seen(read.as_ref().map(|(bytes, state)| (Some(bytes.as_slice()), *state)))
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

    #[test]
    fn what_changed_is_seen_again() {
        let folder = tempfile::tempdir().expect("room");
        let file = folder.path().join("a");
        let other = folder.path().join("b");
        std::fs::write(&file, "one").expect("a file");
        let look = || {
            noted(|| {
                let listing = Listing::read(folder.path());
                listed(folder.path(), &listing);
                (read(&file).ok(), side(&file), is_file(&other), is_folder(&other))
            })
            .1
            .expect("paths are text")
        };
        let same = |looks: &[Look]| {
            let memory = Memory::default();
            looks.iter().map(|look| memory.same(&mut look.clone()).0).collect::<Vec<_>>()
        };
        let before = look();
        assert_eq!(same(&before), [true; 5]);
        // As long, at the same moment, and as old as before.
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
        let file = folder.path().join("a");
        std::fs::write(&file, "one").expect("a file");
        std::thread::sleep(std::time::Duration::from_millis(2_100));
        let looks = noted(|| read(&file).ok()).1.expect("paths are text");
        assert!(looks[0].state.is_some());
        assert_eq!(Memory::default().same(&mut looks[0].clone()), (true, false));
        std::fs::write(&file, "two").expect("a file");
        assert_eq!(Memory::default().same(&mut looks[0].clone()), (false, false));
    }
}
