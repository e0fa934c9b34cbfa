//! A folder of this machine that no path can leave.
//!
//! Paths are given as parts below the folder, without `.` and `..`. Links are followed only as long as they stay below
//! it: an absolute one, or one that climbs out, is refused. Changes (deleting, renaming, permissions) act on the
//! directory entry itself and follow no link at the end of the path. Linux resolves a path in one call; elsewhere, and
//! where that call is not allowed, each part is checked in turn.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is reached")]

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
use rustix::fs::RenameFlags;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// The flags for opening something only to inspect or traverse it.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

const FOLDER: OFlags = LOOK.union(OFlags::DIRECTORY);
/// Opening a FIFO must not block, and a terminal must not become our controlling terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// How many links are followed on the way to one file, as the system does.
const LINKS: usize = 40;

/// The kind of a directory entry; links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file, or anything else.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// An open folder.
#[derive(Debug)]
pub(super) struct Beneath {
    root: OwnedFd,
    path: PathBuf,
}

impl Beneath {
    /// Opens a folder; returns none if it does not exist.
    pub(super) fn open(path: &Path) -> io::Result<Option<Beneath>> {
        match rustix::fs::open(path, FOLDER | OFlags::CLOEXEC, Mode::empty()) {
            Ok(root) => Ok(Some(Beneath { root, path: path.to_owned() })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder, and creates it if it is missing.
    pub(super) fn make(path: &Path) -> io::Result<Beneath> {
        if let Some(found) = Beneath::open(path)? {
            return Ok(found);
        }
        std::fs::create_dir_all(path)?;
        Beneath::open(path)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotADirectory))
    }

    /// Adds the path to an error about a way out of the folder.
    fn told(&self, parts: &[&str], error: Errno) -> io::Error {
        if error != Errno::XDEV {
            return error.into();
        }
        let why = format!(
            "`{}` of `{}` leads out of that folder through a symbolic link, and is not followed",
            parts.join("/"),
            self.path.display()
        );
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    }

    fn find(&self, parts: &[&str], flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        self.resolve(parts, flags).map_err(|error| self.told(parts, error))
    }

    #[cfg(target_os = "linux")]
    fn resolve(&self, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        use std::sync::atomic::AtomicBool;

        static IS_MISSING: AtomicBool = AtomicBool::new(false);
        let path = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        while !IS_MISSING.load(Ordering::Relaxed) {
            let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            match openat2(&self.root, path.as_str(), flags, Mode::empty(), within) {
                // A parent was renamed meanwhile, and the system cannot be sure.
                Err(Errno::AGAIN) => {}
                // An old system, or a container in which the call is not allowed.
                Err(Errno::NOSYS) => IS_MISSING.store(true, Ordering::Relaxed),
                Err(Errno::PERM) => break,
                other => return other,
            }
        }
        self.walk(parts, flags)
    }

    #[cfg(not(target_os = "linux"))]
    fn resolve(&self, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
        self.walk(parts, flags)
    }

    /// Resolves a path part by part.
    fn walk(&self, parts: &[&str], flags: OFlags) -> Result<OwnedFd, Errno> {
        let mut folders: Vec<OwnedFd> = Vec::new();
        let mut open: Vec<OsString> = parts.iter().rev().map(OsString::from).collect();
        let mut links = 0;
        while let Some(part) = open.pop() {
            if part.is_empty() || part == "." {
                continue;
            }
            if part == ".." {
                folders.pop().ok_or(Errno::XDEV)?;
                continue;
            }
            let here = folders.last().unwrap_or(&self.root);
            let is_last = open.is_empty();
            let found = rustix::fs::statat(here, &part, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_link = FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
            if is_link && !(is_last && flags.contains(OFlags::NOFOLLOW)) {
                links += 1;
                if links > LINKS {
                    return Err(Errno::LOOP);
                }
                let target = rustix::fs::readlinkat(here, &part, Vec::new())?.into_bytes();
                if target.starts_with(b"/") {
                    return Err(Errno::XDEV);
                }
                let steps = target.split(|byte| *byte == b'/').rev();
                open.extend(steps.map(|step| OsString::from_vec(step.to_vec())));
                continue;
            }
            // An entry that has become a link since then is not followed either.
            let flags = if is_last { flags } else { FOLDER | OFlags::CLOEXEC };
            let next = rustix::fs::openat(here, &part, flags | OFlags::NOFOLLOW, Mode::empty())?;
            if is_last {
                return Ok(next);
            }
            folders.push(next);
        }
        let here = folders.last().unwrap_or(&self.root);
        rustix::fs::openat(here, ".", flags, Mode::empty())
    }

    /// Returns the parent folder of a path, and its name there.
    fn parent<'a>(&self, parts: &[&'a str]) -> io::Result<(OwnedFd, &'a str)> {
        match parts.split_last() {
            Some((name, above)) => Ok((self.find(above, FOLDER)?, name)),
            None => Ok((self.find(&[], FOLDER)?, ".")),
        }
    }

    /// Returns the metadata of a path, following links.
    pub(super) fn metadata(&self, parts: &[&str]) -> io::Result<std::fs::Metadata> {
        File::from(self.find(parts, LOOK)?).metadata()
    }

    /// Returns the kind of a path without following links.
    pub(super) fn kind(&self, parts: &[&str]) -> io::Result<Kind> {
        let (folder, name) = self.parent(parts)?;
        Ok(kind(folder.as_fd(), name)?)
    }

    /// Returns the names in a folder, in no particular order.
    pub(super) fn list(&self, parts: &[&str]) -> io::Result<Vec<String>> {
        let folder = self.find(parts, READ | OFlags::DIRECTORY)?;
        // A name that is not UTF-8 cannot be written in a definition either.
        Ok(names(folder)?.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    /// Creates a folder, and its missing parents.
    pub(super) fn make_folder(&self, parts: &[&str]) -> io::Result<OwnedFd> {
        let mut there = parts.len();
        let mut here = loop {
            match self.find(&parts[..there], FOLDER) {
                Ok(found) => break found,
                Err(error) if error.kind() == io::ErrorKind::NotFound && there > 0 => there -= 1,
                Err(error) => return Err(error),
            }
        };
        for name in &parts[there..] {
            match rustix::fs::mkdirat(&here, *name, Mode::from_raw_mode(0o777)) {
                // Another process may have created it meanwhile.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            here = rustix::fs::openat(&here, *name, flags, Mode::empty())?;
        }
        Ok(here)
    }

    /// Deletes a file, a link, or a folder with everything below it.
    pub(super) fn delete(&self, parts: &[&str]) -> io::Result<()> {
        let (folder, name) = self.parent(parts)?;
        match kind(folder.as_fd(), name)? {
            Kind::Folder => remove_tree(folder, name),
            _ => Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?),
        }
    }

    /// Renames an entry to a path in another folder; the parent folder must exist, and nothing may have that name.
    pub(super) fn rename(&self, from: &[&str], other: &Beneath, to: &[&str]) -> io::Result<()> {
        let (Some((to, above)), false) = (to.split_last(), from.is_empty()) else {
            let why = "a root itself is not moved";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        };
        let (source, from) = self.parent(from)?;
        let target = other.find(above, FOLDER)?;
        rename_new(&source, from, &target, to)
    }

    /// Returns the content of a regular file of at most `limit` bytes.
    pub(super) fn read(&self, parts: &[&str], limit: u64) -> io::Result<Vec<u8>> {
        let file = File::from(self.find(parts, READ)?);
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let too_large = |length: u64| {
            let message = format!("{length} bytes are more than the limit of {limit}");
            Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
        };
        if !found.is_file() {
            let why = "it is neither a file nor a folder";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if found.len() > limit {
            return too_large(found.len());
        }
        let mut content = Vec::with_capacity(found.len() as usize);
        file.take(limit.saturating_add(1)).read_to_end(&mut content)?;
        match content.len() as u64 > limit {
            true => too_large(content.len() as u64),
            false => Ok(content),
        }
    }

    /// Creates a file, replacing anything with its name except a folder.
    pub(super) fn create(&self, parts: &[&str], mode: u32) -> io::Result<File> {
        let (folder, name) = self.vacant(parts)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        Ok(rustix::fs::openat(&folder, name, flags, mode)?.into())
    }

    /// Creates a link. Its target is checked when it is followed.
    pub(super) fn link(&self, parts: &[&str], target: &str) -> io::Result<()> {
        let (folder, name) = self.vacant(parts)?;
        Ok(rustix::fs::symlinkat(target, &folder, name)?)
    }

    /// Creates a hard link to a file.
    pub(super) fn hard_link(&self, from: &[&str], to: &[&str]) -> io::Result<()> {
        let (source, from) = self.parent(from)?;
        let (target, to) = self.vacant(to)?;
        Ok(rustix::fs::linkat(&source, from, &target, to, AtFlags::empty())?)
    }

    /// Frees a name, and returns its folder, which is created if missing.
    fn vacant<'a>(&self, parts: &[&'a str]) -> io::Result<(OwnedFd, &'a str)> {
        let Some((name, above)) = parts.split_last() else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let folder = self.make_folder(above)?;
        match rustix::fs::unlinkat(&folder, *name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok((folder, name)),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes a file atomically: it is written next to the target and renamed, so that nobody ever sees half of it.
    pub(super) fn write(&self, parts: &[&str], content: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let Some((name, above)) = parts.split_last() else {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        };
        let folder = self.make_folder(above)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = format!(".{}.{}.{number}.part", shortened(name), std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(&folder, &beside, flags, Mode::from_raw_mode(0o666));
        let file = match create() {
            // Left by a killed process with our process id, or put there.
            Err(Errno::EXIST) => {
                rustix::fs::unlinkat(&folder, &beside, AtFlags::empty())?;
                create()?
            }
            other => other?,
        };
        let written = File::from(file)
            .write_all(content)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &beside, &folder, *name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&folder, &beside, AtFlags::empty());
        }
        written
    }

    /// Sets permission bits, which a link does not have.
    pub(super) fn set_mode(&self, parts: &[&str], mode: u32) -> io::Result<()> {
        let (folder, name) = self.parent(parts)?;
        let mode = Mode::from_raw_mode(mode as rustix::fs::RawMode);
        let flags = LOOK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The opened file gets them, even if something else takes its name meanwhile. It need not be readable for that.
        let file = match rustix::fs::openat(&folder, name, flags, Mode::empty()) {
            Err(Errno::LOOP) => return Err(a_link(parts)),
            file => file?,
        };
        if FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) == FileType::Symlink {
            return Err(a_link(parts));
        }
        match rustix::fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode) {
            // There is no `/proc`.
            Err(Errno::NOENT | Errno::NOTDIR) => {
                Ok(rustix::fs::chmodat(&folder, name, mode, AtFlags::empty())?)
            }
            other => Ok(other?),
        }
    }

    /// Returns a path of the parent folder for another process.
    #[cfg(target_os = "linux")]
    fn way_to(&self, folder: &OwnedFd, _parts: &[&str]) -> PathBuf {
        format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
    }

    #[cfg(not(target_os = "linux"))]
    fn way_to(&self, _folder: &OwnedFd, parts: &[&str]) -> PathBuf {
        let mut path = self.path.clone();
        path.extend(parts.iter().take(parts.len().saturating_sub(1)));
        path
    }

    /// Sets the group of an entry itself; links are not followed.
    pub(super) fn set_group(&self, parts: &[&str], group: &str) -> io::Result<()> {
        let (folder, name) = self.parent(parts)?;
        // Only the system's own tool knows every source of group names.
        let output = Command::new("chgrp")
            .args(["-h", "--", group, name])
            .current_dir(self.way_to(&folder, parts))
            .output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

/// Renames to a free name. Some file systems do not support that atomically; then the name is checked first.
fn rename_new(source: &OwnedFd, from: &str, target: &OwnedFd, to: &str) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    match rustix::fs::renameat_with(source, from, target, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        other => return Ok(other?),
    }
    match rustix::fs::statat(target, to, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Err(Errno::EXIST.into()),
        Err(Errno::NOENT) => Ok(rustix::fs::renameat(source, from, target, to)?),
        Err(error) => Err(error.into()),
    }
}

fn a_link(parts: &[&str]) -> io::Error {
    let what = parts.join("/");
    let why = format!("`{what}` is a symbolic link, and its target is not changed through it");
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Shortens a name, so that what is put around it does not make it too long.
fn shortened(name: &str) -> &str {
    let end = (0..=name.len().min(200)).rev().find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

fn kind(folder: BorrowedFd<'_>, name: &str) -> Result<Kind, Errno> {
    let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::File,
    })
}

fn names(folder: OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Deletes a folder with everything below it. A link is deleted, never its target.
fn remove_tree(above: OwnedFd, name: &str) -> io::Result<()> {
    struct Level {
        folder: OwnedFd,
        names: Vec<CString>,
    }
    let enter = |above: BorrowedFd<'_>, name: &CString| -> io::Result<Level> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(above, name, flags, Mode::empty())?;
        Ok(Level { names: names(folder.try_clone()?)?, folder })
    };
    // An entry that is already gone was deleted by another process, which is just as well.
    let gone = |done: Result<(), Errno>| match done {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    };
    let name = CString::new(name)?;
    let mut way = vec![name.clone()];
    let mut open = vec![enter(above.as_fd(), &name)?];
    while let Some(level) = open.last_mut() {
        let Some(name) = level.names.pop() else {
            open.pop();
            let parent = open.last().map_or(above.as_fd(), |level| level.folder.as_fd());
            let Some(name) = way.pop() else { break };
            gone(rustix::fs::unlinkat(parent, &name, AtFlags::REMOVEDIR))?;
            continue;
        };
        match gone(rustix::fs::unlinkat(&level.folder, &name, AtFlags::empty())) {
            Ok(()) => {}
            // The error for a folder, on Linux and on other systems.
            Err(Errno::ISDIR | Errno::PERM) => {
                let next = enter(level.folder.as_fd(), &name)?;
                way.push(name);
                open.push(next);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Creates `in/a.txt`, `in/sub/b.txt`, links that stay, that lead out in several ways, and that lead nowhere, and
    /// outside `out/secret`.
    fn tree() -> (tempfile::TempDir, Beneath) {
        let above = tempfile::tempdir().expect("a folder");
        let root = above.path().join("root");
        fs::create_dir_all(root.join("in/sub")).expect("a folder");
        fs::create_dir_all(above.path().join("out/deep")).expect("a folder");
        fs::write(above.path().join("out/secret"), "secret").expect("a file");
        fs::write(root.join("in/a.txt"), "a").expect("a file");
        fs::write(root.join("in/sub/b.txt"), "b").expect("a file");
        let links = [
            ("in/stays", "sub/../sub/b.txt"),
            ("near", "in/sub"),
            ("climbs", "../out"),
            ("in/sub/climbs", "../../../out/secret"),
            ("nowhere", "in/none"),
            ("round", "round"),
            ("over", "near/../../in/a.txt"),
        ];
        for (name, target) in links {
            symlink(target, root.join(name)).expect("a link");
        }
        symlink(above.path().join("out"), root.join("absolute")).expect("a link");
        symlink("/proc/self/root/etc", root.join("magic")).expect("a link");
        let beneath = Beneath::open(&root).expect("readable").expect("it is there");
        (above, beneath)
    }

    fn parts(path: &str) -> Vec<&str> {
        path.split('/').filter(|part| !part.is_empty()).collect()
    }

    #[test]
    fn links_are_followed_as_long_as_they_stay() {
        let (_above, beneath) = tree();
        for (path, expected) in
            [("in/a.txt", "a"), ("in/stays", "b"), ("near/b.txt", "b"), ("over", "a")]
        {
            assert_eq!(beneath.read(&parts(path), 9).expect(path), expected.as_bytes(), "{path}");
        }
        for path in
            ["climbs/secret", "absolute/secret", "in/sub/climbs", "magic/passwd", "near/climbs"]
        {
            let error = beneath.read(&parts(path), 9).expect_err(path);
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{path}: {error}");
            assert!(error.to_string().contains("leads out"), "{path}: {error}");
        }
        assert!(beneath.metadata(&["nowhere"]).is_err());
        assert!(beneath.metadata(&["round"]).is_err());
    }

    /// Both ways of resolving a path agree on everything in the tree.
    #[test]
    fn the_slow_way_answers_as_the_system_does() {
        let (_above, beneath) = tree();
        let paths = [
            "",
            "in",
            "in/a.txt",
            "in/a.txt/x",
            "in/stays",
            "near",
            "near/b.txt",
            "climbs",
            "climbs/secret",
            "absolute",
            "absolute/secret",
            "in/sub/climbs",
            "nowhere",
            "round",
            "over",
            "none",
            "in/none/x",
            "magic",
        ];
        for path in paths {
            for flags in [LOOK, FOLDER, READ, LOOK | OFlags::NOFOLLOW] {
                let flags = flags | OFlags::CLOEXEC;
                let what = |found: Result<OwnedFd, Errno>| {
                    found
                        .map(|fd| rustix::fs::fstat(&fd).map(|found| (found.st_ino, found.st_mode)))
                };
                let fast = what(beneath.resolve(&parts(path), flags));
                let slow = what(beneath.walk(&parts(path), flags));
                assert_eq!(slow, fast, "{path} {flags:?}");
            }
        }
    }

    #[test]
    fn nothing_outside_is_changed() {
        let (above, beneath) = tree();
        let outside = above.path().join("out");
        fs::set_permissions(outside.join("secret"), fs::Permissions::from_mode(0o640))
            .expect("permissions");

        for path in ["climbs/new", "absolute/new", "climbs/deep/new", "absolute/x/y/new"] {
            beneath.write(&parts(path), b"x").expect_err(path);
            beneath.make_folder(&parts(path)).expect_err(path);
            beneath.rename(&["in", "a.txt"], &beneath, &parts(path)).expect_err(path);
        }
        for path in ["climbs/secret", "absolute/secret", "absolute/deep"] {
            beneath.delete(&parts(path)).expect_err(path);
            beneath.set_mode(&parts(path), 0o777).expect_err(path);
            beneath.rename(&parts(path), &beneath, &["taken"]).expect_err(path);
        }
        for path in ["climbs", "absolute", "in/sub/climbs"] {
            beneath.set_mode(&parts(path), 0o777).expect_err(path);
            assert_eq!(beneath.kind(&parts(path)).expect(path), Kind::Link);
        }
        // A file in the place of a link, and links themselves.
        beneath.write(&parts("in/sub/climbs"), b"mine").expect("it takes the place of the link");
        beneath.rename(&["climbs"], &beneath, &["moved"]).expect("the link itself");
        beneath.delete(&["moved"]).expect("the link itself");
        symlink("../../../out", beneath.path.join("in/sub/deep")).expect("a link");
        beneath.delete(&["in"]).expect("the folder with its links");
        assert!(!beneath.path.join("in").exists());

        assert_eq!(fs::read_to_string(outside.join("secret")).expect("it is there"), "secret");
        let mode = fs::metadata(outside.join("secret")).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let mut names: Vec<_> = fs::read_dir(&outside)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["deep", "secret"]);
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        let (_above, beneath) = tree();
        let fifo = beneath.path.join("fifo");
        let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
        assert!(made.success());
        assert!(beneath.read(&["fifo"], 9).is_err(), "it would wait for ever");
        assert!(beneath.read(&["in"], 9).is_err());
    }
}
