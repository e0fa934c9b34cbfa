//! Writing: atomically, never through a link, and under an unpredictable temporary name.

use super::tree::{archive_around, shown};
use super::{Failure, Tree};
use std::io::{BufWriter, Error, Result, Write};
use std::path::Path;

/// Writes a file atomically; an existing file is replaced, and its mode and owner are kept.
///
/// # Errors
/// If the file is a link, is behind a link that leads out of its tree, or cannot be written.
pub fn file(path: &Path, bytes: &[u8]) -> miette::Result<()> {
    file_with(path, |out| out.write_all(bytes))
}

/// Does the same with content that is written in parts.
///
/// # Errors
/// As for [`file()`].
pub fn file_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> miette::Result<()> {
    let written = if is_device(path) { through(path, content) } else { replace(path, content) };
    written.map_err(|error| failed(path, error))
}

/// Writes several files, either all or none: all new files are complete, next to the old ones, before the first is
/// replaced.
///
/// # Errors
/// As [`file()`].
pub fn files<'f>(all: impl IntoIterator<Item = (&'f Path, &'f [u8])>) -> miette::Result<()> {
    let mut staged = Vec::new();
    for (path, bytes) in all {
        let ready = match is_device(path) {
            true => Err(Error::other("it is not a regular file")),
            false => staged_for(path, |out| out.write_all(bytes)),
        };
        staged.push((path, ready.map_err(|error| failed(path, error))?));
    }
    for (path, ready) in staged {
        ready.take_place().map_err(|error| failed(path, error))?;
    }
    Ok(())
}

fn failed(path: &Path, error: Error) -> miette::Report {
    Failure::new(format!("cannot write `{}`", path.display())).because(error).into()
}

/// Whether a path is a stream or device of the system: `/dev/stdout` is a link that is to be followed.
fn is_device(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc/self/fd")
}

fn through(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut out = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
    content(&mut out)?;
    out.flush()
}

/// Returns an unpredictable name for a temporary file.
fn name_beside(name: &std::ffi::OsStr) -> std::ffi::OsString {
    use std::hash::{BuildHasher, RandomState};
    // The keys of the hasher come from the system's source of randomness.
    let random = RandomState::new().hash_one((std::process::id(), name));
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{random:016x}"));
    beside
}

fn replace(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    staged_for(path, content)?.take_place()
}

/// A new file next to the one that it is to replace. It is removed unless it does so.
#[cfg(unix)]
struct Staged {
    folder: std::os::fd::OwnedFd,
    beside: std::ffi::OsString,
    name: std::ffi::OsString,
}

#[cfg(unix)]
impl Staged {
    fn take_place(self) -> Result<()> {
        rustix::fs::renameat(&self.folder, &self.beside, &self.folder, &self.name)?;
        // Attempts to make the new name durable; the file itself has been written.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }
}

#[cfg(unix)]
impl Drop for Staged {
    /// After the replacement, there is no file with this name.
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.folder, &self.beside, rustix::fs::AtFlags::empty());
    }
}

#[cfg(unix)]
fn staged_for(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<Staged> {
    use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RawMode, Uid};
    use rustix::fs::{fchmod, fchown, openat, statat};
    use rustix::io::Errno;

    if let Some(archive) = path.parent().and_then(archive_around) {
        let message = format!("it is in the archive `{}`, which is not changed", shown(&archive));
        return Err(Error::other(message));
    }
    let (folder, name) = Tree::of(path)?.folder_of(path)?;
    let old = match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => Some(old),
        Err(Errno::NOENT) => None,
        Err(error) => return Err(error.into()),
    };
    match old.as_ref().map(|old| FileType::from_raw_mode(old.st_mode as RawMode)) {
        None | Some(FileType::RegularFile) => {}
        Some(FileType::Symlink) => {
            return Err(Error::other("it is a symbolic link; name the file it leads to"));
        }
        Some(_) => return Err(Error::other("it is not a regular file")),
    }
    let beside = name_beside(&name);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
    let file = std::fs::File::from(openat(&folder, &beside, flags, mode)?);
    let staged = Staged { folder, beside, name };
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()?;
    let file = out.get_ref();
    if let Some(old) = &old {
        // Only the superuser may change the owner; others can at most keep the group.
        let owner = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let _ = fchown(file, Some(owner.0), Some(owner.1))
            .or_else(|_| fchown(file, None, Some(owner.1)));
        // Without setuid and setgid bits, which would give the owner's rights to other users.
        fchmod(file, Mode::from_raw_mode(old.st_mode as RawMode & 0o777))?;
    }
    file.sync_all()?;
    Ok(staged)
}

/// A new file next to the one that it is to replace. It is removed unless it does so.
#[cfg(not(unix))]
struct Staged {
    beside: std::path::PathBuf,
    path: std::path::PathBuf,
}

#[cfg(not(unix))]
impl Staged {
    fn take_place(self) -> Result<()> {
        std::fs::rename(&self.beside, &self.path)
    }
}

#[cfg(not(unix))]
impl Drop for Staged {
    /// After the replacement, there is no file with this name.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.beside);
    }
}

#[cfg(not(unix))]
fn staged_for(path: &Path, content: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<Staged> {
    Tree::of(path)?.relative(path)?;
    if std::fs::symlink_metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(Error::other("it is not a regular file"));
    }
    let beside = path.with_file_name(name_beside(path.file_name().unwrap_or_default()));
    let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    let staged = Staged { beside, path: path.to_owned() };
    let mut out = BufWriter::new(file);
    content(&mut out)?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(staged)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn nothing_is_written_through_a_link() {
        let folder = tempfile::tempdir().expect("room");
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("repo/.git")).expect("a folder");
        std::fs::create_dir_all(at("outside")).expect("a folder");
        std::fs::write(at("outside/file"), "theirs").expect("a file");
        symlink(at("outside/file"), at("repo/file")).expect("a link");
        symlink("../outside", at("repo/folder")).expect("a link");
        assert!(file(&at("repo/file"), b"ours").is_err());
        assert!(file(&at("repo/folder/file"), b"ours").is_err());
        assert!(file(&at("repo/folder/new"), b"ours").is_err());
        assert!(file(&at("repo/.git/config"), b"ours").is_err());
        assert_eq!(std::fs::read(at("outside/file")).expect("a file"), b"theirs");
        assert_eq!(std::fs::read_dir(at("outside")).expect("a folder").count(), 1);
    }

    #[test]
    fn several_files_are_written_together_or_not_at_all() {
        let folder = tempfile::tempdir().expect("room");
        let at = |path: &str| folder.path().join(path);
        std::fs::write(at("one"), "old").expect("a file");
        std::fs::create_dir(at("two")).expect("a folder");
        let (one, two, three) = (at("one"), at("two"), at("three"));
        let all = [(&*one, &b"new"[..]), (&*two, b"new"), (&*three, b"new")];
        assert!(files(all).is_err());
        assert_eq!(std::fs::read(&one).expect("a file"), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 2);
        files([all[0], all[2]]).expect("they are written");
        assert_eq!(std::fs::read(&one).expect("a file"), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 3);
    }

    #[test]
    fn what_is_replaced_keeps_its_mode_and_leaves_nothing_beside() {
        let folder = tempfile::tempdir().expect("room");
        let script = folder.path().join("script");
        file(&script, b"one").expect("it is written");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).expect("ours");
        file(&script, b"two").expect("it is written");
        let mode = std::fs::metadata(&script).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o750);
        assert!(file_with(&script, |_| Err(Error::other("no"))).is_err());
        assert_eq!(std::fs::read(&script).expect("a file"), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
