//! Uses descriptors of folders instead of paths: what is checked is what is opened, even if others move files
//! meanwhile.

use super::*;
use rustix::fs::{Dir, FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Flags to examine a file without opening it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

/// Joins an absolute path and another one; processes bytes, which is faster than components.
pub(super) fn appended(whole: PathBuf, path: &Path) -> PathBuf {
    let mut bytes = whole.into_os_string().into_vec();
    let up = |bytes: &mut Vec<u8>| bytes.truncate(memchr::memrchr(b'/', bytes).unwrap_or(0));
    // Most paths that need normalization begin with `..`.
    let mut rest = path.as_os_str().as_bytes();
    while let Some(more) = rest.strip_prefix(b"../") {
        up(&mut bytes);
        rest = more;
    }
    if !rest.starts_with(b"/") && is_plain(Path::new(OsStr::from_bytes(rest))) && !bytes.is_empty()
    {
        if bytes != b"/" {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(rest);
        return OsString::from_vec(bytes).into();
    }
    for name in rest.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => up(&mut bytes),
            name => {
                // Only the root ends with a slash.
                if bytes != b"/" {
                    bytes.push(b'/');
                }
                bytes.extend_from_slice(name);
            }
        }
    }
    if bytes.is_empty() {
        bytes.push(b'/');
    }
    OsString::from_vec(bytes).into()
}

impl Tree {
    /// Opens the folder that contains a path, and returns it with the file name; links among the folders are followed
    /// within the tree.
    pub(crate) fn folder_of(&self, path: &Path) -> Result<(OwnedFd, OsString)> {
        let inside = self.relative(path)?;
        let name = inside.file_name().ok_or_else(|| Error::from(ErrorKind::IsADirectory))?;
        let folder = inside.parent().unwrap_or(Path::new(""));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        Ok((self.open_inside(folder, flags)?, name.to_owned()))
    }

    pub(super) fn open_any(&self, path: &Path) -> Result<File> {
        let inside = self.relative(path)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        Ok(File::from(self.open_inside(&inside, flags)?))
    }

    pub(super) fn look_at(&self, path: &Path) -> Result<Metadata> {
        let inside = self.relative(path)?;
        File::from(self.open_inside(&inside, LOOK)?).metadata()
    }

    pub(super) fn entries(&self, path: &Path) -> Result<Vec<Listed>> {
        let inside = self.relative(path)?;
        let folder = self.open_inside(&inside, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut listed = Vec::new();
        for entry in Dir::new(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let (kind, is_link) = match entry.file_type() {
                FileType::RegularFile => (Some(Kind::File), false),
                FileType::Directory => (Some(Kind::Folder), false),
                FileType::Symlink => (None, true),
                // Some file systems do not report the type.
                FileType::Unknown => (self.kind(&path.join(name)), false),
                _ => (Some(Kind::Other), false),
            };
            listed.push(Listed { name: name.to_owned(), kind, is_link });
        }
        Ok(listed)
    }

    fn open_inside(&self, inside: &Path, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if self.is_open {
            let path = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
            return Ok(openat(&self.folder, path, flags, Mode::empty())?);
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            use rustix::fs::{ResolveFlags, openat2};
            let path = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
            let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match openat2(&self.folder, path, flags, Mode::empty(), within) {
                // A link, or a system that does not support the call: resolve step by step.
                Err(Errno::LOOP | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {}
                opened => return Ok(opened?),
            }
        }
        self.step(inside, flags)
    }

    /// Opens a path name by name, and resolves links itself.
    fn step(&self, inside: &Path, flags: OFlags) -> Result<OwnedFd> {
        let names = |path: &Path| -> Vec<OsString> {
            let names = path.iter().filter(|name| *name != ".").map(OsStr::to_owned);
            names.collect::<Vec<_>>().into_iter().rev().collect()
        };
        let mut passed: Vec<OwnedFd> = Vec::new();
        let mut ahead = names(inside);
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                passed.pop().ok_or_else(|| refused(LINK_LEADS_OUT))?;
                continue;
            }
            if is_git(&name) {
                return Err(refused(IN_GIT));
            }
            let here: BorrowedFd<'_> = passed.last().unwrap_or(&self.folder).as_fd();
            match readlinkat(here, &name, Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    if target.has_root() {
                        let below = target.strip_prefix(&self.root);
                        let below = below.map_err(|_| refused(LINK_LEADS_OUT))?;
                        passed.clear();
                        ahead.extend(names(below));
                    } else {
                        ahead.extend(names(target));
                    }
                    continue;
                }
                Err(Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
            if ahead.is_empty() {
                return Ok(openat(here, &name, flags | OFlags::NOFOLLOW, Mode::empty())?);
            }
            let on = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let next = openat(here, &name, on, Mode::empty())?;
            passed.push(next);
        }
        let here = passed.last().unwrap_or(&self.folder);
        Ok(openat(here, ".", flags, Mode::empty())?)
    }
}
