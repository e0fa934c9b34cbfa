//! What a command has read before it checks: lists of folders, texts, and definitions that were parsed.
//!
//! A command that checks a tree looks for definitions in it, then for what starts them, and then loads each of them with
//! what lies around it. Nearly all that the later steps ask the disk for was read by the first. It is kept from
//! [`begin`](Before::begin) on, as far as there is room, until files may change. Whoever records what is read looks at the
//! disk each time, and so does an editor, for which nothing is kept.

use super::tree::{Listed, Tree};
use ankus::analysis::Analysis;
use ankus::source::Source;
use foldhash::{HashMap, HashMapExt};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Bytes of texts that are kept.
const MOST_KEPT: usize = 16 << 20;
/// Entries of folders that are kept.
const MOST_LISTED: usize = 100_000;

/// See the top of this file.
#[derive(Debug, Default)]
pub(crate) struct Before(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    /// How many bytes, and how many entries of folders, there is still room for.
    room: usize,
    entries: usize,
    /// By the folder; of one tree, as everything here, for another one may refuse what this one has.
    lists: HashMap<OsString, (Arc<Tree>, Arc<[Listed]>)>,
    /// By the path that people see.
    texts: HashMap<String, (Arc<Tree>, Arc<Source>)>,
    definitions: HashMap<String, Arc<Analysis>>,
}

impl Before {
    /// Keeps what is read from now on.
    pub(crate) fn begin(&self) {
        let (lists, texts, definitions) = (HashMap::new(), HashMap::new(), HashMap::new());
        let kept = Kept { room: MOST_KEPT, entries: MOST_LISTED, lists, texts, definitions };
        *self.0.lock().expect("readers do not panic") = Some(kept);
    }

    /// Forgets all of it: files may change from now on.
    pub(crate) fn forget(&self) {
        *self.0.lock().expect("readers do not panic") = None;
    }

    /// Whether anything is kept.
    pub(crate) fn keeps(&self) -> bool {
        self.0.lock().expect("readers do not panic").is_some()
    }

    /// Keeps what a folder holds.
    pub(crate) fn keep_list(&self, folder: &Path, tree: &Arc<Tree>, list: &Arc<[Listed]>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let Some(kept) = kept.as_mut().filter(|kept| list.len() <= kept.entries) else { return };
        kept.entries -= list.len();
        kept.lists.insert(folder.into(), (Arc::clone(tree), Arc::clone(list)));
    }

    /// What a folder holds.
    pub(crate) fn list(&self, folder: &Path, tree: &Tree) -> Option<Arc<[Listed]>> {
        let kept = self.0.lock().expect("readers do not panic");
        let (of, list) = kept.as_ref()?.lists.get(folder.as_os_str())?;
        std::ptr::eq(&**of, tree).then(|| Arc::clone(list))
    }

    /// Keeps the text of a file that every reader of its bytes takes for the same.
    pub(crate) fn keep_text(&self, tree: &Arc<Tree>, source: &Arc<Source>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let fits = |kept: &&mut Kept| source.text.len() <= kept.room;
        let Some(kept) = kept.as_mut().filter(fits) else { return };
        kept.room -= source.text.len();
        kept.texts.insert(source.path.clone(), (Arc::clone(tree), Arc::clone(source)));
    }

    /// The text of a file, by the path that people see.
    pub(crate) fn text(&self, shown: &str, tree: &Tree) -> Option<Arc<Source>> {
        let kept = self.0.lock().expect("readers do not panic");
        let (of, source) = kept.as_ref()?.texts.get(shown)?;
        std::ptr::eq(&**of, tree).then(|| Arc::clone(source))
    }

    /// Keeps a definition whose text is kept.
    pub(crate) fn keep_definition(&self, analysis: Arc<Analysis>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let path = &analysis.source().path;
        if let Some(kept) = kept.as_mut().filter(|kept| kept.texts.contains_key(path)) {
            kept.definitions.insert(path.clone(), analysis);
        }
    }

    /// A definition, by the path that people see; whoever asks again parses it again.
    pub(crate) fn take_definition(&self, shown: &str) -> Option<Arc<Analysis>> {
        let mut kept = self.0.lock().expect("readers do not panic");
        kept.as_mut()?.definitions.remove(shown)
    }
}

/// The text of bytes of which every reader makes the same: UTF-8 without zero bytes.
pub(crate) fn plain(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    match memchr::memchr(0, &bytes) {
        None => String::from_utf8(bytes).map_err(|error| error.into_bytes()),
        Some(_) => Err(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_of_its_tree_and_goes_when_files_may_change() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("room"));
        let trees = folders
            .each_ref()
            .map(|folder| Arc::new(Tree::below(folder.path()).expect("a folder")));
        let source = Arc::new(Source::new("a/job.properties", "k=v"));
        let before = Before::default();
        before.keep_text(&trees[0], &source);
        assert!(before.text("a/job.properties", &trees[0]).is_none(), "nothing has begun");
        before.begin();
        before.keep_text(&trees[0], &source);
        before.keep_list(Path::new("a"), &trees[0], &Arc::from([]));
        assert!(before.text("a/job.properties", &trees[0]).is_some());
        assert!(before.text("a/job.properties", &trees[1]).is_none());
        assert!(before.list(Path::new("a"), &trees[0]).is_some());
        assert!(before.list(Path::new("a"), &trees[1]).is_none());
        before.forget();
        assert!(before.text("a/job.properties", &trees[0]).is_none());
        assert!(before.list(Path::new("a"), &trees[0]).is_none());
    }

    #[test]
    fn bytes_are_plain_where_nobody_reads_them_otherwise() {
        assert_eq!(plain(b"<a/>".to_vec()).as_deref(), Ok("<a/>"));
        for odd in [&b"<\0a\0"[..], b"\xff\xfe<", b"caf\xe9"] {
            assert_eq!(plain(odd.to_vec()), Err(odd.to_vec()));
        }
    }
}
