//! Finds definitions in trees.
//!
//! A file is recognized by its root element and not by its name. `.gitignore`, `.ignore` and the globs of settings
//! apply; what they exclude is counted. Folders are walked in parallel and links are not followed.

use super::before::plain;
use super::settings::{FILE, LoadedSettings, Project};
use super::tree::{Kind, Listed, Opened, Tree, shown};
use super::unreadable;
use ankus::check::{FileKind, lies_in_tests, recognize};
use ankus::settings::{Checking, EXCLUDED};
use ankus::source::{self, Source};
use foldhash::{HashSet, HashSetExt};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::borrow::Cow;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Number of bytes that are read to recognize a file.
const HEAD: u64 = 8 * 1024;
/// Maximum size of a text that is kept for the checks.
pub(crate) const LARGEST: u64 = 1 << 20;
/// Maximum size of an ignore file, and maximum number of patterns that apply in one folder: each takes up to 100 kB of
/// memory once it is compiled.
const IGNORE_BYTES: u64 = 256 * 1024;
const IGNORE_PATTERNS: usize = 2_000;
/// Ignore files, by precedence.
const IGNORE_FILES: [&str; 2] = [".ignore", ".gitignore"];
/// Maximum depth of folders.
const DEPTH: usize = 256;

/// A file to be checked.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its path; `-` is the standard input.
    pub path: PathBuf,
    /// The path for display.
    pub shown: String,
    /// Its kind.
    pub kind: FileKind,
    /// The tree that contains it.
    pub tree: Arc<Tree>,
    /// Whether it was found by a walk and not given explicitly.
    pub is_walked: bool,
}

/// The result of a search: what was found, skipped, or unreadable.
#[derive(Debug, Default)]
pub struct Search {
    /// The definitions, by display path.
    pub found: Vec<Found>,
    /// Number of files and folders skipped by ignore files that might be or contain definitions.
    pub ignored: usize,
    /// Number of those skipped by settings, or because they have the usual names of backups and build folders.
    pub excluded: usize,
    /// Number of links to folders and XML files, which are not followed.
    pub linked: usize,
    /// One message each.
    pub failures: Vec<String>,
}

impl Project {
    /// Finds all definitions under `paths`: a given file is always included, as a workflow if its root does not tell;
    /// folders are searched.
    ///
    /// # Errors
    /// If a single path is given that does not exist or cannot be read. If there are several, the others are still
    /// searched, and the failure is among those of the search.
    pub fn definitions(&self, paths: &[PathBuf]) -> miette::Result<Search> {
        let mut search = Search::default();
        for path in paths {
            match self.search(path, &mut search) {
                Err(error) if paths.len() > 1 => search.failures.push(format!("{error:#}")),
                done => done?,
            }
        }
        search.found.sort_by(|a, b| a.shown.cmp(&b.shown));
        search.found.dedup_by(|a, b| a.shown == b.shown);
        search.failures.sort();
        Ok(search)
    }

    /// Searches one path.
    fn search(&self, path: &Path, search: &mut Search) -> miette::Result<()> {
        let tree = self.tree(path)?;
        // Most of the given paths are those of XML files. A folder with such a name cannot be opened as a file.
        let is_xml = path.extension().is_some_and(|extension| extension == "xml");
        if is_xml && let Ok(found) = self.named_file(path, Arc::clone(&tree)) {
            search.found.push(found);
            return Ok(());
        }
        match tree.kind(path) {
            Some(Kind::Folder) => self.walk(path, &tree, search)?,
            _ => search.found.push(self.named_file(path, tree)?),
        }
        Ok(())
    }

    /// Returns a definition at a path whose kind is known.
    ///
    /// # Errors
    /// If its folder does not exist.
    pub fn found(&self, path: PathBuf, kind: FileKind) -> miette::Result<Found> {
        Ok(Found { shown: shown(&path), kind, tree: self.tree(&path)?, path, is_walked: false })
    }
}

/// A regular file of a tree.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// Its path.
    pub path: PathBuf,
    /// Its path relative to the searched folder.
    pub inside: PathBuf,
}

impl Project {
    /// Returns at most `most` regular files below a folder, sorted by path; without hidden ones unless requested.
    /// Ignore files are honored, links are not followed, and unreadable files are skipped.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn files(
        &self,
        folder: &Path,
        with_hidden: bool,
        most: usize,
    ) -> miette::Result<Vec<TreeFile>> {
        let tree = self.tree(folder)?;
        Ok(self.files_beyond(folder, &tree, with_hidden, most, &mut HashSet::new()))
    }

    /// Does the same without folders that were walked before, and adds those of this walk to them.
    pub(crate) fn files_beyond(
        &self,
        folder: &Path,
        tree: &Arc<Tree>,
        with_hidden: bool,
        most: usize,
        walked: &mut HashSet<OsString>,
    ) -> Vec<TreeFile> {
        if walked.contains(folder.as_os_str()) {
            return Vec::new();
        }
        let mut files = Vec::new();
        let mut passed = Vec::new();
        let mut unread = Vec::new();
        let first = Ignored::above(folder, tree, self.is_isolated(), &mut unread);
        let mut open = vec![(folder.to_owned(), PathBuf::new(), first)];
        while let Some((at, below, ignored)) = open.pop() {
            if walked.contains(at.as_os_str()) {
                continue;
            }
            let entries = match self.before.list(&at, tree) {
                Some(known) => known,
                None => {
                    let Ok(mut entries) = tree.list(&at) else { continue };
                    entries.sort_by(|a, b| a.name.cmp(&b.name));
                    let entries = entries.into();
                    self.before.keep_list(&at, tree, &entries);
                    entries
                }
            };
            let ignored = match self.is_isolated() {
                true => ignored,
                false => {
                    let names: Vec<&str> =
                        entries.iter().filter_map(|entry| entry.name.to_str()).collect();
                    ignored.and(&at, tree, &names, &mut unread)
                }
            };
            let inside = tree.relative(&at).unwrap_or_default();
            for entry in entries.iter().rev().filter(|entry| !entry.is_link) {
                let is_hidden = entry.name.as_encoded_bytes().first() == Some(&b'.');
                let is_folder = entry.kind == Some(Kind::Folder);
                if (is_hidden && !with_hidden)
                    || entry.name == ".git"
                    || ignored.covers(&inside.join(&entry.name), is_folder)
                {
                    continue;
                }
                let (path, name) = (at.join(&entry.name), below.join(&entry.name));
                if is_folder && name.components().count() < DEPTH {
                    open.push((path, name, ignored.clone()));
                } else if entry.kind == Some(Kind::File) {
                    files.push(TreeFile { path, inside: name });
                }
            }
            if files.len() >= most {
                // The skipped rest may be searched again by itself.
                files.truncate(most);
                passed.clear();
                break;
            }
            passed.push(at.into_os_string());
        }
        walked.extend(passed);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }
}

impl Project {
    /// Returns a file that was given explicitly.
    fn named_file(&self, path: &Path, tree: Arc<Tree>) -> miette::Result<Found> {
        let told = self.told(&tree, path).map_err(|error| unreadable(path, error))?;
        let kind = told.unwrap_or(FileKind::Workflow);
        Ok(Found { path: path.to_owned(), shown: shown(path), kind, tree, is_walked: false })
    }

    /// Recognizes the kind of a file by its first bytes. If texts are kept, it is read and kept as a whole.
    fn told(&self, tree: &Arc<Tree>, path: &Path) -> std::io::Result<Option<FileKind>> {
        let keeps = path.to_str().is_some() && self.before.keeps();
        let is_xml = path.extension().is_some_and(|extension| extension == "xml");
        let most = if keeps && is_xml { LARGEST } else { HEAD };
        let (mut file, about) = tree.open(path, most)?;
        if !keeps || about.length() > most {
            return Ok(kind_of(tree, path, &head(file)?));
        }
        // Room for one more byte lets the first call detect the end of the file.
        let mut bytes = vec![0; about.length() as usize + 1];
        let read = file.read(&mut bytes)?;
        bytes.truncate(read);
        if bytes.len() as u64 != about.length() {
            file.take(most).read_to_end(&mut bytes)?;
        }
        let begin = |bytes: &[u8]| kind_of(tree, path, &bytes[..bytes.len().min(HEAD as usize)]);
        Ok(match plain(bytes) {
            Ok(text) => {
                let told = begin(text.as_bytes());
                self.before.keep_text(tree, &Arc::new(Source::new(shown(path), text)));
                told
            }
            Err(bytes) => begin(&bytes),
        })
    }
}

/// The ignore patterns that apply in a folder, those of the nearest folder first.
#[derive(Clone, Debug, Default)]
struct Ignored(Option<Arc<Patterns>>);

#[derive(Debug)]
struct Patterns {
    matcher: Gitignore,
    count: usize,
    above: Ignored,
}

impl Ignored {
    /// Returns the patterns of the folders above one, up to the root of the tree.
    fn above(folder: &Path, tree: &Tree, is_isolated: bool, failures: &mut Vec<String>) -> Ignored {
        let mut ignored = Ignored::default();
        let Ok(whole) = super::tree::absolute(folder) else { return ignored };
        let mut above: Vec<&Path> = tree.folders_above(&whole).collect();
        above.reverse();
        for above in above.into_iter().filter(|_| !is_isolated) {
            let there = |name: &&str| tree.kind(&above.join(name)).is_some();
            let names: Vec<&str> = IGNORE_FILES.into_iter().filter(there).collect();
            ignored = ignored.and(above, tree, &names, failures);
        }
        ignored
    }

    /// Adds the patterns of a folder to those inherited.
    fn and(
        &self,
        folder: &Path,
        tree: &Tree,
        names: &[&str],
        failures: &mut Vec<String>,
    ) -> Ignored {
        let mut all = self.clone();
        // The last added patterns take precedence.
        for name in IGNORE_FILES.iter().rev().filter(|name| names.contains(name)) {
            let file = folder.join(name);
            let honored = patterns(&file, tree).and_then(|text| {
                let inside = tree.relative(folder).map_err(|error| error.to_string())?;
                all.with(&inside, &text)
            });
            match honored {
                Ok(more) => all = more,
                // Searching more is the safe choice.
                Err(why) => failures.push(format!("cannot honor `{}`: {why}", shown(&file))),
            }
        }
        all
    }

    fn with(&self, folder: &Path, text: &str) -> Result<Ignored, String> {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let count = self.0.as_ref().map_or(0, |patterns| patterns.count) + lines.clone().count();
        if count > IGNORE_PATTERNS {
            return Err(format!("more than {IGNORE_PATTERNS} patterns apply here"));
        }
        let mut builder = GitignoreBuilder::new(Path::new("/").join(folder));
        for line in lines {
            // Invalid patterns are ignored, as in git.
            let _ = builder.add_line(None, line);
        }
        let matcher = builder.build().map_err(|error| error.to_string())?;
        let above = self.clone();
        Ok(Ignored(Some(Arc::new(Patterns { matcher, count, above }))))
    }

    /// Whether a path (relative to the root of the tree) is excluded.
    fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let path = Path::new("/").join(path);
        let mut next = self.0.as_ref();
        while let Some(patterns) = next {
            let matched = patterns.matcher.matched(&path, is_folder);
            if !matched.is_none() {
                return matched.is_ignore();
            }
            next = patterns.above.0.as_ref();
        }
        false
    }
}

fn patterns(file: &Path, tree: &Tree) -> Result<String, String> {
    let bytes = tree.read(file, IGNORE_BYTES).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The globs by which settings exclude and include files, with the folders in which they apply.
#[derive(Clone, Debug, Default)]
struct Globs {
    excluded: Ignored,
    included: Ignored,
}

impl Globs {
    /// The default exclusions.
    fn usual() -> Globs {
        let excluded = Ignored::default().with(Path::new(""), &EXCLUDED.join("\n"));
        Globs { excluded: excluded.expect("these are few, and good"), included: Ignored::default() }
    }

    /// Adds the globs of settings, which are relative to `folder` within the tree.
    fn with(&self, folder: &Path, check: &Checking) -> Result<Globs, String> {
        Ok(Globs {
            excluded: self.excluded.with(folder, &check.exclude.join("\n"))?,
            included: self.included.with(folder, &check.include.join("\n"))?,
        })
    }
}

/// The result of a walk so far.
#[derive(Default)]
struct Collected {
    found: Vec<Found>,
    failures: Vec<String>,
}

struct Walk<'a> {
    project: &'a Project,
    tree: &'a Arc<Tree>,
    /// Whether the searched folder is a folder of tests.
    of_tests: bool,
    collected: Mutex<Collected>,
    ignored: AtomicUsize,
    excluded: AtomicUsize,
    linked: AtomicUsize,
}

/// The rules that apply in a folder.
#[derive(Clone, Debug)]
struct Around {
    ignored: Ignored,
    globs: Globs,
    /// Whether the folder itself is excluded, so that only included files count.
    is_out: bool,
    depth: usize,
}

impl Project {
    fn walk(&self, folder: &Path, tree: &Arc<Tree>, search: &mut Search) -> miette::Result<()> {
        let walk = Walk {
            project: self,
            tree,
            of_tests: lies_in_tests(&format!("{}/", shown(folder))),
            collected: Mutex::default(),
            ignored: AtomicUsize::new(0),
            excluded: AtomicUsize::new(0),
            linked: AtomicUsize::new(0),
        };
        let ignored = Ignored::above(folder, tree, self.is_isolated(), &mut search.failures);
        let settings = self.settings(&folder.join(FILE))?;
        let globs = walk.globs(&Globs::usual(), &settings, &mut search.failures);
        let around = Around { ignored, globs, is_out: false, depth: 0 };
        rayon::scope(|scope| walk.folder(scope, folder.to_owned(), around));
        let collected = walk.collected.into_inner().expect("no walker panics");
        search.found.extend(collected.found);
        search.failures.extend(collected.failures);
        search.ignored += walk.ignored.into_inner();
        search.excluded += walk.excluded.into_inner();
        search.linked += walk.linked.into_inner();
        Ok(())
    }
}

impl<'a> Walk<'a> {
    fn fail(&self, failure: String) {
        self.collected.lock().expect("no walker panics").failures.push(failure);
    }

    /// Returns the globs that apply, including those of settings.
    fn globs(&self, above: &Globs, loaded: &LoadedSettings, failures: &mut Vec<String>) -> Globs {
        let check = &loaded.settings.check;
        if check.exclude.is_empty() && check.include.is_empty() {
            return above.clone();
        }
        // The globs of settings from outside the tree are relative to its root.
        let folder = loaded.file.as_deref().and_then(Path::parent);
        let inside = folder.and_then(|folder| self.tree.relative(folder).ok()).unwrap_or_default();
        above.with(&inside, check).unwrap_or_else(|why| {
            failures.push(format!("cannot honor `exclude` and `include` of the settings: {why}"));
            above.clone()
        })
    }

    fn folder<'s>(&'s self, scope: &rayon::Scope<'s>, folder: PathBuf, mut around: Around) {
        if around.depth > DEPTH {
            return self.fail(format!(
                "cannot search `{}`: folders are nested more than {DEPTH} deep",
                shown(&folder)
            ));
        }
        let mut entries = match self.tree.list(&folder) {
            Ok(entries) => entries,
            Err(error) => return self.fail(format!("{:#}", unreadable(&folder, error))),
        };
        if !self.project.is_isolated() {
            let names: Vec<&str> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
            let mut failures = Vec::new();
            around.ignored = around.ignored.and(&folder, self.tree, &names, &mut failures);
            // Errors of settings are reported for the first file to which they apply.
            if around.depth > 0
                && names.contains(&FILE)
                && let Ok(settings) = self.project.settings(&folder.join(FILE))
            {
                around.globs = self.globs(&around.globs, &settings, &mut failures);
            }
            failures.into_iter().for_each(|failure| self.fail(failure));
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let entries: Arc<[Listed]> = entries.into();
        self.project.before.keep_list(&folder, self.tree, &entries);
        let inside = self.tree.relative(&folder).unwrap_or_default();
        let mut found = Vec::new();
        for Listed { name, kind, is_link } in entries.iter() {
            let is_hidden = name.as_encoded_bytes().first() == Some(&b'.');
            let path = folder.join(name);
            if *is_link && !is_hidden {
                self.count_link(&inside.join(name), &path, &around);
            }
            let Some(kind) = kind.filter(|kind| !is_link && *kind != Kind::Other && !is_hidden)
            else {
                continue;
            };
            let is_folder = kind == Kind::Folder;
            let is_out = match self.is_left_out(&inside.join(name), is_folder, &path, &around) {
                // Nothing below can be included again.
                true if around.globs.included.0.is_none() => continue,
                is_out => is_out,
            };
            if is_folder {
                let around = Around { is_out, depth: around.depth + 1, ..around.clone() };
                scope.spawn(move |scope| self.folder(scope, path, around));
                continue;
            }
            if is_out {
                continue;
            }
            let told = match self.project.told(self.tree, &path) {
                Ok(told) => told,
                Err(error) => {
                    self.fail(format!("{:#}", unreadable(&path, error)));
                    continue;
                }
            };
            // Configurations and properties are checked with the application that uses them.
            let wanted = told.filter(|kind| kind.is_definition() || *kind == FileKind::Datasets);
            if let Some(kind) = wanted {
                let tree = Arc::clone(self.tree);
                let is_walked = !self.of_tests;
                found.push(Found { shown: shown(&path), path, kind, tree, is_walked });
            }
        }
        self.collected.lock().expect("no walker panics").found.extend(found);
    }

    /// Counts a link that may lead to definitions. Most links lead to files that are walked anyway, the others out of
    /// the tree; but if one of an application's definitions is a link, that application is not checked completely.
    fn count_link(&self, inside: &Path, path: &Path, around: &Around) {
        // A link that leads out of the tree is `Other`, whatever its target is.
        let is_folder = matches!(self.tree.kind(path), Some(Kind::Folder | Kind::Other));
        let is_xml = path.extension().is_some_and(|end| end == "xml");
        if (is_folder || is_xml) && !self.is_left_out(inside, is_folder, path, around) {
            self.linked.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether an entry of a folder (by its path relative to the root of the tree) is excluded; counts it if so.
    fn is_left_out(&self, inside: &Path, is_folder: bool, path: &Path, around: &Around) -> bool {
        if around.globs.included.covers(inside, is_folder) {
            return false;
        }
        if around.is_out {
            return true;
        }
        let is_excluded = around.globs.excluded.covers(inside, is_folder);
        if !is_excluded && !around.ignored.covers(inside, is_folder) {
            return false;
        }
        let counts = is_folder || path.extension().is_some_and(|end| end == "xml");
        let counter = if is_excluded { &self.excluded } else { &self.ignored };
        counter.fetch_add(usize::from(counts), Ordering::Relaxed);
        true
    }
}

fn head(mut file: Opened) -> std::io::Result<Vec<u8>> {
    // Most files fit into the first read; detecting the end would take another.
    let mut head = vec![0; HEAD as usize];
    let read = file.read(&mut head)?;
    head.truncate(read);
    if read < HEAD as usize / 2 {
        return Ok(head);
    }
    file.take(HEAD - read as u64).read_to_end(&mut head)?;
    Ok(head)
}

pub(crate) fn kind_of(tree: &Tree, path: &Path, head: &[u8]) -> Option<FileKind> {
    if path.extension().is_some_and(|extension| extension == "properties") {
        return Some(FileKind::Properties);
    }
    // Most files of a tree are not XML, which their first bytes show.
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace())?;
    // Text before the root element makes a definition invalid, but it is still a definition.
    let is_xml = path.extension().is_some_and(|extension| extension == "xml");
    let is_spoilt = || is_xml && memchr::memmem::find(head, b"-app>").is_some();
    if !matches!(first, b'<' | 0xEF | 0xFE | 0xFF | 0) && !is_spoilt() {
        return None;
    }
    let mut head = head;
    let zero = memchr::memchr(0, head).is_some();
    let text: Cow<'_, str> = match std::str::from_utf8(head) {
        Ok(text) if !zero => text.into(),
        // The end of the head may split a character.
        Err(error) if !zero && error.error_len().is_none() => {
            String::from_utf8_lossy(&head[..error.valid_up_to()])
        }
        _ => loop {
            match source::decode(head) {
                Ok((text, _)) => break text.into(),
                Err(error) if error.offset + 4 > head.len() && error.offset > 0 => {
                    head = &head[..error.offset];
                }
                Err(_) => break String::from_utf8_lossy(head),
            }
        },
    };
    recognize(&text).or_else(|| {
        // There may be a long license before the root element.
        let signs = ["<!-", "<--", "<?", "<xml"];
        let prolog = signs.iter().any(|sign| text.trim_start().starts_with(sign));
        let size = tree.about(path).ok().filter(|_| prolog)?.length();
        if size <= HEAD || size > source::SIZE_LIMIT {
            return None;
        }
        let bytes = tree.read(path, source::SIZE_LIMIT).ok()?;
        recognize(&source::decode(&bytes).ok()?.0)
    })
}
