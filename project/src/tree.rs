//! The part of the disk that a command was given, and the only way to read it.
//!
//! The author of a pull request chooses every name, link and special file in the tree. Therefore a path is resolved
//! below the root of the tree, links included; a link that leads out of it, or into `.git`, is refused; and only
//! regular files are opened, without blocking on pipes. `SECURITY.md` has the reasons.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{Cursor, Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use super::archive::Archive;

#[cfg(not(unix))]
mod elsewhere;
mod repositories;
#[cfg(unix)]
mod unix;

pub(crate) use repositories::Repositories;
use repositories::is_repository;

/// The kind of a file-system entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a socket, a device; or a link that leads out of the tree.
    Other,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: OsString,
    /// Its kind; `None` for a link without a target.
    pub kind: Option<Kind>,
    /// Whether it is a symbolic link; `kind` is that of its target.
    pub is_link: bool,
}

/// Metadata of a file or a folder.
#[derive(Clone, Debug)]
pub struct About {
    kind: Kind,
    length: u64,
    /// The metadata of the system for it, or for the archive that contains it.
    metadata: Metadata,
    is_archived: bool,
}

impl About {
    fn of(metadata: Metadata) -> About {
        let (kind, length) = (kind_of(metadata.file_type()), metadata.len());
        About { kind, length, metadata, is_archived: false }
    }

    /// Whether it is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == Kind::Folder
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The metadata of the system; for an entry of an archive, that of the archive.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether it is an entry of an archive.
    pub fn is_archived(&self) -> bool {
        self.is_archived
    }
}

/// An open file.
#[derive(Debug)]
pub enum Opened {
    /// A file on the disk.
    Disk(File),
    /// An unpacked file of an archive.
    Archived(Cursor<Vec<u8>>),
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        match self {
            Opened::Disk(file) => file.read(buffer),
            Opened::Archived(bytes) => bytes.read(buffer),
        }
    }
}

impl Seek for Opened {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        match self {
            Opened::Disk(file) => file.seek(to),
            Opened::Archived(bytes) => bytes.seek(to),
        }
    }
}

/// A folder, and everything below it except `.git`. Archives that were [entered](Tree::enter) count as its folders.
#[derive(Debug)]
pub struct Tree {
    /// The root, with links resolved.
    root: PathBuf,
    /// The root as it was given, absolute.
    spelled: PathBuf,
    /// A folder of the tree that was reached by a link from outside: as it was given, and with links resolved.
    entered: Option<(PathBuf, PathBuf)>,
    /// Whether everything may be read: for commands that act with the user's rights.
    is_open: bool,
    /// The archives that were entered, by their paths relative to the root.
    archives: RwLock<Vec<(PathBuf, Arc<Archive>)>>,
    /// Whether the root is that of a repository, on demand.
    is_repository: OnceLock<bool>,
    #[cfg(unix)]
    folder: std::os::fd::OwnedFd,
}

/// Returns the error of a refused access.
fn refused(why: &str) -> Error {
    Error::other(why.to_owned())
}

const LEADS_OUT: &str = "it is outside the tree that is read";
const LINK_LEADS_OUT: &str = "it is a symbolic link that leads out of the tree that is read";
const IN_GIT: &str = "it is in `.git`, which is not read";
const NOT_REGULAR: &str = "it is not a regular file";
/// Maximum number of links in one path, as in Linux.
#[cfg(unix)]
const LINKS: usize = 40;

/// Returns the working directory, which no command changes.
fn here() -> Option<&'static Path> {
    static HERE: std::sync::OnceLock<Option<PathBuf>> = std::sync::OnceLock::new();
    HERE.get_or_init(|| std::env::current_dir().ok()).as_deref()
}

/// Returns a display path relative to a folder, with `..` if it is elsewhere.
pub fn seen_from(folder: &Path, seen: &str) -> String {
    let (Ok(folder), Ok(path)) = (absolute(folder), absolute(Path::new(seen))) else {
        return seen.to_owned();
    };
    let common = folder.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let mut from = PathBuf::new();
    from.extend(folder.components().skip(common).map(|_| Component::ParentDir));
    from.extend(path.components().skip(common));
    shown(&from)
}

/// Returns the absolute path without `.` and `..`; a `..` removes the name before it, even if that is a link.
///
/// # Errors
/// If the path is relative and there is no working directory.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    let mut whole = match here().filter(|_| !path.has_root()) {
        Some(here) => here.to_owned(),
        None if path.has_root() => PathBuf::new(),
        None => return Err(Error::from(ErrorKind::NotFound)),
    };
    if is_plain(path) {
        whole.push(path);
        return Ok(whole);
    }
    #[cfg(unix)]
    {
        Ok(unix::appended(whole, path))
    }
    #[cfg(not(unix))]
    {
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                part => whole.push(part),
            }
        }
        Ok(whole)
    }
}

/// Whether a path is already in the form that [`absolute`] returns, as nearly all are.
fn is_plain(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
    let mut from = 0;
    let mut names = memchr::memchr_iter(b'/', bytes).chain([bytes.len()]).map(|end| {
        let name = &bytes[from..end];
        from = end + 1;
        name
    });
    cfg!(unix) && names.all(|name| !matches!(name, b"" | b"." | b".."))
}

/// Returns the part of an absolute path below a folder. Neither contains `.`, `..` or empty names, so bytes can be
/// compared, which is faster than components.
fn below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    match (path.to_str(), folder.to_str()) {
        (Some(whole), Some(above)) if cfg!(unix) && above.len() > 1 => {
            let rest = whole.strip_prefix(above)?;
            let inside = if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') };
            inside.map(Path::new)
        }
        _ => path.strip_prefix(folder).ok(),
    }
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Whether a path may contain `.git`: a single test of its bytes instead of one per name.
fn may_be_git(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    memchr::memchr_iter(b'.', bytes).any(|at| matches!(bytes.get(at + 1), Some(b'g' | b'G')))
}

/// Whether an absolute path is that of a folder, or of something below it.
pub(crate) fn lies_in(path: &Path, folder: &Path) -> bool {
    below(path, folder).is_some()
}

impl Tree {
    /// Returns the tree for a given path: the repository of the working directory if the path is in it; else the
    /// repository around the path; else the given folder, or the folder of the given file.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be opened.
    pub fn of(named: &Path) -> Result<Tree> {
        Tree::among(named, &Repositories::default())
    }

    /// Does the same with a cache of repositories.
    pub(crate) fn among(named: &Path, known: &Repositories) -> Result<Tree> {
        let spelled = absolute(named)?;
        if let Some(root) = here().and_then(|here| known.root(here))
            && lies_in(&spelled, root)
        {
            return Tree::below(root);
        }
        // A file is opened through its folder, so that a link does not choose the tree.
        let is_folder = std::fs::metadata(&spelled).is_ok_and(|found| found.is_dir());
        let folder = match spelled.parent() {
            Some(parent) if !is_folder => parent,
            _ => spelled.as_path(),
        };
        if let Some(root) = known.root(folder) {
            return Tree::below(root);
        }
        let real = known.real(folder)?;
        let Some(root) = known.root(&real) else {
            let tree = Tree::at(real, folder.to_owned())?;
            return Ok(Tree { is_repository: false.into(), ..tree });
        };
        Tree::at(root.to_owned(), root.to_owned())
            .map(|tree| Tree { entered: Some((folder.to_owned(), real.clone())), ..tree })
    }

    /// Returns the tree below a given folder.
    ///
    /// # Errors
    /// If the folder does not exist or cannot be opened.
    pub fn below(folder: &Path) -> Result<Tree> {
        let spelled = absolute(folder)?;
        Tree::at(std::fs::canonicalize(&spelled)?, spelled)
    }

    /// Returns the whole disk, for commands that act with the user's rights.
    ///
    /// # Errors
    /// If the root of the disk cannot be opened.
    pub fn whole(named: &Path) -> Result<Tree> {
        let spelled = absolute(named)?;
        let root = spelled.ancestors().last().unwrap_or(&spelled).to_owned();
        Ok(Tree { is_open: true, ..Tree::at(root.clone(), root)? })
    }

    fn at(root: PathBuf, spelled: PathBuf) -> Result<Tree> {
        #[cfg(unix)]
        let folder = {
            use rustix::fs::{CWD, Mode, OFlags, openat};
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            openat(CWD, &root, flags, Mode::empty())?
        };
        Ok(Tree {
            root,
            spelled,
            entered: None,
            is_open: false,
            archives: RwLock::default(),
            is_repository: OnceLock::new(),
            #[cfg(unix)]
            folder,
        })
    }

    /// Returns the root, with links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it contains the working directory.
    pub(crate) fn is_of_working_directory(&self) -> bool {
        here().is_some_and(|here| here.starts_with(&self.root))
    }

    /// Whether its root is the root of a repository.
    pub(crate) fn is_repository(&self) -> bool {
        *self.is_repository.get_or_init(|| is_repository(&self.root))
    }

    /// Returns the root for display, relative to the working directory if that is below it or the same; otherwise also
    /// the working directory.
    pub(crate) fn seen_root(&self) -> (PathBuf, Option<&'static Path>) {
        match here() {
            Some(here) if *here == self.root => (PathBuf::from("."), None),
            Some(here) if here.starts_with(&self.root) => (self.root.clone(), Some(here)),
            Some(here) => {
                let below = self.root.strip_prefix(here).map(Path::to_path_buf);
                (below.unwrap_or_else(|_| self.root.clone()), None)
            }
            None => (self.root.clone(), None),
        }
    }

    /// Returns the folders with which paths into it begin.
    pub(crate) fn beginnings(&self) -> impl Iterator<Item = &Path> {
        let entered = self.entered.as_ref().map(|(spelled, _)| spelled);
        [&self.spelled, &self.root].into_iter().chain(entered).map(PathBuf::as_path)
    }

    /// Whether a path is below the root, as written.
    pub fn holds(&self, path: &Path) -> bool {
        self.relative(path).is_ok()
    }

    /// Returns a path relative to the root.
    pub(crate) fn relative(&self, path: &Path) -> Result<PathBuf> {
        let mut whole = absolute(path)?;
        if let Some((spelled, real)) = &self.entered
            && let Ok(rest) = whole.strip_prefix(spelled)
        {
            whole = real.join(rest);
        }
        let inside = below(&whole, &self.spelled).or_else(|| below(&whole, &self.root));
        let inside = inside.ok_or_else(|| refused(LEADS_OUT))?.to_owned();
        match !self.is_open && may_be_git(&inside) && inside.iter().any(is_git) {
            true => Err(refused(IN_GIT)),
            false => Ok(inside),
        }
    }

    /// Returns the folder up to which settings are searched for: the root of a repository; without one, the working
    /// directory if the tree is in it, since its user knows what is there.
    pub(crate) fn settings_end(&self) -> &Path {
        let here = here().filter(|here| self.spelled.starts_with(here) && !self.is_repository());
        here.unwrap_or(&self.spelled)
    }

    /// Returns the folders from that of a path up to the root, as written.
    pub fn folders_above<'a>(&self, path: &'a Path) -> impl Iterator<Item = &'a Path> + use<'a> {
        let (root, spelled) = (self.root.clone(), self.spelled.clone());
        let above = path.ancestors().skip(1);
        above.take_while(move |up| lies_in(up, &spelled) || lies_in(up, &root))
    }

    /// Makes the archive at a path, or around it, accessible as a folder. Only archives that the user named are opened.
    ///
    /// # Errors
    /// If it is not an archive, or not one that can be an application.
    pub fn enter(&self, path: &Path) -> Result<()> {
        if !may_be_archived(path) {
            return Ok(());
        }
        let whole = absolute(path)?;
        for at in whole.ancestors().filter(|at| is_archive_name(at)) {
            let Ok(inside) = self.relative(at) else { return Ok(()) };
            if self.archived(&inside).is_some() {
                return Ok(());
            }
            if let Ok(file) = self.open_any(at)
                && file.metadata()?.is_file()
            {
                let archive = Arc::new(Archive::of(file)?);
                let mut known = self.archives.write().unwrap_or_else(PoisonError::into_inner);
                known.push((inside, archive));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Whether a path is that of an entered archive, or within it.
    pub fn is_archived(&self, path: &Path) -> bool {
        self.archive_of(path).is_ok_and(|found| found.is_some())
    }

    /// Returns the archive that contains a path, and the path in it.
    fn archive_of(&self, path: &Path) -> Result<Option<(Arc<Archive>, PathBuf)>> {
        // Fast path: archives are rare.
        if self.archives.read().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return Ok(None);
        }
        Ok(self.archived(&self.relative(path)?))
    }

    /// Returns the archive that contains a path relative to the root, and the path in it.
    fn archived(&self, inside: &Path) -> Option<(Arc<Archive>, PathBuf)> {
        let archives = self.archives.read().unwrap_or_else(PoisonError::into_inner);
        archives.iter().find_map(|(at, archive)| {
            Some((Arc::clone(archive), inside.strip_prefix(at).ok()?.to_owned()))
        })
    }

    /// Opens a regular file. For an entry of an archive, at most `limit` bytes and one more can be read.
    ///
    /// # Errors
    /// If it does not exist, is not a regular file, or is outside the tree.
    pub fn open(&self, path: &Path, limit: u64) -> Result<(Opened, About)> {
        if let Some((archive, inside)) = self.archive_of(path)? {
            let about = about(&archive, &inside)?;
            let bytes = archive.read(&inside, limit)?;
            return Ok((Opened::Archived(Cursor::new(bytes)), about));
        }
        let file = self.open_any(path)?;
        let about = About::of(file.metadata()?);
        match about.kind {
            Kind::File => Ok((Opened::Disk(file), about)),
            Kind::Folder => Err(Error::from(ErrorKind::IsADirectory)),
            Kind::Other => Err(refused(NOT_REGULAR)),
        }
    }

    /// Reads a regular file of at most `limit` bytes.
    ///
    /// # Errors
    /// As for [`Tree::open`], and if it is larger.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>> {
        let (file, about) = self.open(path, limit)?;
        read_at_most(file, about.length, limit)
    }

    /// Returns the metadata of a file or folder.
    ///
    /// # Errors
    /// If it does not exist, or is outside the tree.
    pub fn about(&self, path: &Path) -> Result<About> {
        match self.archive_of(path)? {
            Some((archive, inside)) => about(&archive, &inside),
            None => self.look_at(path).map(About::of),
        }
    }

    /// Returns the kind of an entry. A refused path counts as existing, so that reading it reports the refusal.
    pub fn kind(&self, path: &Path) -> Option<Kind> {
        match self.about(path) {
            Ok(found) => Some(found.kind),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => None,
                _ => Some(Kind::Other),
            },
        }
    }

    /// Returns the entries of a folder, unordered.
    ///
    /// # Errors
    /// If it is not a folder, cannot be read, or is outside the tree.
    pub fn list(&self, path: &Path) -> Result<Vec<Listed>> {
        if let Some((archive, inside)) = self.archive_of(path)? {
            return archive.list(&inside);
        }
        let mut listed = self.entries(path)?;
        for entry in &mut listed {
            if entry.is_link {
                entry.kind = self.kind(&path.join(&entry.name));
            }
        }
        Ok(listed)
    }
}

/// Reads a file whose length is known, up to a limit.
pub(crate) fn read_at_most(file: impl Read, length: u64, limit: u64) -> Result<Vec<u8>> {
    let too_large =
        || refused(&format!("it is larger than {} MiB, the most that is read of it", limit >> 20));
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // It may grow while it is read.
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

fn about(archive: &Archive, inside: &Path) -> Result<About> {
    let (kind, length) = archive.look(inside).ok_or(ErrorKind::NotFound)?;
    Ok(About { kind, length, metadata: archive.metadata.clone(), is_archived: true })
}

fn is_archive_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip"))
}

/// Whether a path may lead into an archive, judging by its name.
fn may_be_archived(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b".zip"))
}

/// Returns the archive on the disk at a path or around it.
pub(crate) fn archive_around(path: &Path) -> Option<PathBuf> {
    if !may_be_archived(path) {
        return None;
    }
    let whole = absolute(path).ok()?;
    let mut above = whole.ancestors().filter(|at| is_archive_name(at));
    above.find(|at| std::fs::metadata(at).is_ok_and(|found| found.is_file())).map(Path::to_owned)
}

fn kind_of(kind: std::fs::FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else {
        Kind::Other
    }
}

/// Returns the path for display: relative to the working directory, with `/`, or absolute if it is outside.
pub fn shown(path: &Path) -> String {
    // A fast path: most paths have neither `.` nor `..` nor backslashes.
    if is_plain(path)
        && let Some(whole) = path.to_str().filter(|whole| !whole.contains('\\'))
    {
        let here = here().filter(|_| path.has_root());
        let inside = here.and_then(|here| below(path, here)).and_then(Path::to_str);
        return inside.unwrap_or(whole).to_owned();
    }
    let path = path.strip_prefix("./").unwrap_or(path);
    let relative = if path.is_absolute() {
        here().and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf))
    } else {
        None
    };
    let text = relative.as_deref().unwrap_or(path).to_string_lossy().replace('\\', "/");
    // Inner `..` are resolved; a leading one that leaves the working directory makes the path absolute.
    let joined = ankus::files::join("", &text).unwrap_or_else(|| text.clone());
    let leaves = joined == ".." || joined.starts_with("../");
    let here = || here().and_then(Path::to_str);
    match leaves.then(here).flatten() {
        Some(here) => ankus::files::join(here, &joined).unwrap_or(joined),
        None => joined,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Creates a repository with a secret next to it and one in `.git`.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("room");
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("repo/.git")).expect("a folder");
        std::fs::create_dir_all(at("repo/app/lib")).expect("a folder");
        for path in ["secret", "repo/.git/config", "repo/app/workflow.xml", "repo/shared"] {
            std::fs::write(at(path), path).expect("a file");
        }
        folder
    }

    fn read(tree: &Tree, path: &Path) -> std::result::Result<String, &'static str> {
        let read = tree.read(path, 1 << 20);
        read.map(|bytes| String::from_utf8(bytes).expect("text"))
            .map_err(|error| &*error.to_string().leak())
    }

    #[test]
    fn an_absolute_path_has_no_odd_names() {
        let by_parts = |path: &str| {
            let mut whole =
                if path.starts_with('/') { PathBuf::new() } else { here().unwrap().to_owned() };
            for part in Path::new(path).components() {
                match part {
                    Component::ParentDir => {
                        whole.pop();
                    }
                    Component::CurDir => {}
                    part => whole.push(part),
                }
            }
            whole
        };
        for path in [
            "a/b",
            "a//b/",
            "./a",
            "a/./b/..",
            "../x",
            "../../x/y",
            "..//x",
            "/a/../../b",
            "/..",
            "/",
            ".",
            "",
            "/a/..",
        ] {
            let found = absolute(Path::new(path)).expect("there is a working directory");
            assert_eq!(found.as_os_str(), by_parts(path).as_os_str(), "{path}");
        }
        assert!(
            lies_in(Path::new("/a/b"), Path::new("/a"))
                && !lies_in(Path::new("/ab"), Path::new("/a"))
        );
    }

    #[test]
    fn links_lead_nowhere_but_into_the_tree() {
        let folder = folder();
        let app = folder.path().join("repo/app");
        let tree = Tree::of(&app).expect("a tree");
        assert!(tree.root().ends_with("repo"));
        let link = |target: &str| {
            let at = app.join("link");
            let _ = std::fs::remove_file(&at);
            symlink(target, &at).expect("a link");
            read(&tree, &at)
        };
        assert_eq!(link("workflow.xml").as_deref(), Ok("repo/app/workflow.xml"));
        assert_eq!(link("../shared").as_deref(), Ok("repo/shared"));
        assert_eq!(link("lib/../../shared").as_deref(), Ok("repo/shared"));
        let inside = folder.path().canonicalize().expect("it is there").join("repo/shared");
        assert_eq!(link(inside.to_str().expect("text")).as_deref(), Ok("repo/shared"));
        assert_eq!(link("../../secret").as_deref().map_err(|why| *why), Err(LINK_LEADS_OUT));
        assert_eq!(link("../../repo/shared").as_deref().map_err(|why| *why), Err(LINK_LEADS_OUT));
        assert_eq!(link("/etc/hostname").as_deref().map_err(|why| *why), Err(LINK_LEADS_OUT));
        assert_eq!(link("/proc/self/environ").as_deref().map_err(|why| *why), Err(LINK_LEADS_OUT));
        assert_eq!(link("../.git/config").as_deref().map_err(|why| *why), Err(IN_GIT));
        assert!(link("link").is_err());
        // Links among the folders count as well.
        symlink("../..", app.join("up")).expect("a link");
        symlink("../.git", app.join("git")).expect("a link");
        assert_eq!(
            read(&tree, &app.join("up/secret")).as_deref().map_err(|why| *why),
            Err(LINK_LEADS_OUT)
        );
        assert_eq!(
            read(&tree, &app.join("git/config")).as_deref().map_err(|why| *why),
            Err(IN_GIT)
        );
        assert_eq!(tree.kind(&app.join("up/secret")), Some(Kind::Other));
        assert!(tree.list(&app.join("up")).is_err());
        let listed = tree.list(&app).expect("a folder");
        let up = listed.iter().find(|entry| entry.name == "up").expect("it is listed");
        assert_eq!((up.kind, up.is_link), (Some(Kind::Other), true));
    }

    #[test]
    fn words_lead_nowhere_but_into_the_tree() {
        let folder = folder();
        let tree = Tree::of(&folder.path().join("repo/app/workflow.xml")).expect("a tree");
        let at = |path: &str| read(&tree, &folder.path().join(path));
        assert_eq!(at("repo/app/../shared").as_deref(), Ok("repo/shared"));
        assert_eq!(at("repo/../secret").as_deref().map_err(|why| *why), Err(LEADS_OUT));
        assert_eq!(at("repo/.git/config").as_deref().map_err(|why| *why), Err(IN_GIT));
        assert_eq!(at("repo/.GIT/config").as_deref().map_err(|why| *why), Err(IN_GIT));
        // Without a repository the tree is the given folder.
        std::fs::remove_dir_all(folder.path().join("repo/.git")).expect("ours");
        let tree = Tree::of(&folder.path().join("repo/app/workflow.xml")).expect("a tree");
        assert!(tree.root().ends_with("app"));
        let tree = Tree::of(&folder.path().join("repo")).expect("a tree");
        assert!(tree.root().ends_with("repo"));
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let folder = folder();
        let at = folder.path().join("repo/app/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &at, rustix::fs::Mode::RWXU).expect("a pipe");
        let tree = Tree::of(&at).expect("a tree");
        assert_eq!(read(&tree, &at).as_deref().map_err(|why| *why), Err(NOT_REGULAR));
        assert_eq!(tree.kind(&at), Some(Kind::Other));
        assert!(tree.read(&folder.path().join("repo/shared"), 3).is_err());
    }
}
