//! Caches what a command has read before it checks: folder listings, texts, and parsed definitions.
//!
//! A command that checks a tree searches it for definitions, then for their callers, and then loads each definition
//! with the files around it. Nearly everything that the later steps read was read by the first. It is kept from
//! [`begin`](Before::begin) on, within limits, until files may change. Reads that are recorded go to the disk each
//! time, and so do those of an editor, for which nothing is kept.

use super::tree::{Listed, Tree};
use ankus::analysis::Analysis;
use ankus::source::Source;
use foldhash::{HashMap, HashMapExt};
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Maximum total size of kept texts, in bytes.
const MOST_KEPT: usize = 16 << 20;
/// Maximum number of kept folder entries.
const MOST_LISTED: usize = 100_000;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct Before(Mutex<Option<Kept>>);

#[derive(Debug)]
struct Kept {
    /// Remaining bytes, and remaining folder entries.
    room: usize,
    entries: usize,
    /// Listings by folder; each is valid only for its tree, since another one may refuse what this one permits.
    lists: HashMap<OsString, (Arc<Tree>, Arc<[Listed]>)>,
    /// Texts by display path.
    texts: HashMap<String, (Arc<Tree>, Arc<Source>)>,
    definitions: HashMap<String, Arc<Analysis>>,
}

impl Before {
    /// Starts to keep what is read.
    pub(crate) fn begin(&self) {
        let (lists, texts, definitions) = (HashMap::new(), HashMap::new(), HashMap::new());
        let kept = Kept { room: MOST_KEPT, entries: MOST_LISTED, lists, texts, definitions };
        *self.0.lock().expect("readers do not panic") = Some(kept);
    }

    /// Discards everything: files may change from now on.
    pub(crate) fn forget(&self) {
        *self.0.lock().expect("readers do not panic") = None;
    }

    /// Whether reads are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.0.lock().expect("readers do not panic").is_some()
    }

    /// Keeps the listing of a folder.
    pub(crate) fn keep_list(&self, folder: &Path, tree: &Arc<Tree>, list: &Arc<[Listed]>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let Some(kept) = kept.as_mut().filter(|kept| list.len() <= kept.entries) else { return };
        kept.entries -= list.len();
        kept.lists.insert(folder.into(), (Arc::clone(tree), Arc::clone(list)));
    }

    /// Returns the listing of a folder.
    pub(crate) fn list(&self, folder: &Path, tree: &Tree) -> Option<Arc<[Listed]>> {
        let kept = self.0.lock().expect("readers do not panic");
        let (of, list) = kept.as_ref()?.lists.get(folder.as_os_str())?;
        std::ptr::eq(&**of, tree).then(|| Arc::clone(list))
    }

    /// Keeps the text of a file whose encoding is certain.
    pub(crate) fn keep_text(&self, tree: &Arc<Tree>, source: &Arc<Source>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let fits = |kept: &&mut Kept| source.text.len() <= kept.room;
        let Some(kept) = kept.as_mut().filter(fits) else { return };
        kept.room -= source.text.len();
        kept.texts.insert(source.path.clone(), (Arc::clone(tree), Arc::clone(source)));
    }

    /// Returns the text of a file, by its display path.
    pub(crate) fn text(&self, shown: &str, tree: &Tree) -> Option<Arc<Source>> {
        let kept = self.0.lock().expect("readers do not panic");
        let (of, source) = kept.as_ref()?.texts.get(shown)?;
        std::ptr::eq(&**of, tree).then(|| Arc::clone(source))
    }

    /// Keeps a parsed definition whose text is kept.
    pub(crate) fn keep_definition(&self, analysis: Arc<Analysis>) {
        let mut kept = self.0.lock().expect("readers do not panic");
        let path = &analysis.source().path;
        if let Some(kept) = kept.as_mut().filter(|kept| kept.texts.contains_key(path)) {
            kept.definitions.insert(path.clone(), analysis);
        }
    }

    /// Removes and returns a parsed definition, by its display path; a second request parses it again.
    pub(crate) fn take_definition(&self, shown: &str) -> Option<Arc<Analysis>> {
        let mut kept = self.0.lock().expect("readers do not panic");
        kept.as_mut()?.definitions.remove(shown)
    }
}

/// Decodes bytes whose encoding is certain: UTF-8 without zero bytes.
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
