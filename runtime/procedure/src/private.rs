//! Folders and files that belong to one user alone.
//!
//! A store holds properties, passwords and the output of programs, and whoever can write to it decides what its owner
//! runs. So only its owner has access, whatever the umask, and one that others own or can write to is [refused](claim).
//! One that others can only read, as earlier versions created it, is made private when its owner opens it.
#![expect(clippy::disallowed_methods, reason = "permissions are of the disk")]

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Folders: their owner, and nobody else.
const FOLDER: u32 = 0o700;
/// Files: the same.
const FILE: u32 = 0o600;
/// What all others might do.
const OTHERS: u32 = 0o077;
/// Where others might write.
const WRITABLE: u32 = 0o022;

/// The user on whose behalf we run.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Takes a folder for ours alone. One that is not there is made. One that is there must be of this user, with the files that
/// lie directly in it, and others must not be able to write to any of these; where they can read, that ends now.
pub fn claim(path: &Path) -> io::Result<()> {
    if !check(path)? {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(FOLDER).create(path) {
            Ok(()) => fs::set_permissions(path, Permissions::from_mode(FOLDER))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                check(path)?;
            }
            Err(error) => return Err(error),
        }
    }
    close(path, &fs::metadata(path)?)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.metadata() {
            // Nobody else comes to folders in a closed one, and a file root has permissions of its own.
            Ok(found) if found.is_symlink() || found.is_dir() => {}
            Ok(found) => close(&entry.path(), &found)?,
            // Something that another process of ours has just taken away.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a folder is there, as ours; an error that says what to do where it is somebody else's, or open to be written to.
pub fn check(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if found.is_symlink() {
        // Who makes a link decides where it leads; the administrator may.
        if found.uid() != 0 {
            owned(path, &found)?;
        }
    }
    let found = fs::metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    owned(path, &found)?;
    if found.mode() & WRITABLE != 0 && !path.join("store.sqlite").exists() {
        // It may be a place for everybody, such as `/tmp`, and is not to be closed for a store that is not there yet.
        let shown = path.display();
        return Err(refused(format!(
            "`{shown}` can be written by other users (mode {:04o}), and is not a place for a store; name a folder of your own with --store",
            found.mode() & 0o7777
        )));
    }
    closed(path, &found)?;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) if found.is_dir() => owned(&entry.path(), &found)?,
            Ok(found) if found.is_symlink() => owned(&entry.path(), &found)?,
            Ok(found) => closed(&entry.path(), &found)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether what is here is of this user, and not to be written by others.
pub fn closed(path: &Path, found: &Metadata) -> io::Result<()> {
    owned(path, found)?;
    if found.mode() & WRITABLE == 0 || found.is_symlink() {
        return Ok(());
    }
    let shown = path.display();
    Err(refused(format!(
        "`{shown}` can be written by other users (mode {:04o}); if all in it is yours, `chmod -R go-rwx {shown}`",
        found.mode() & 0o7777
    )))
}

fn owned(path: &Path, found: &Metadata) -> io::Result<()> {
    if found.uid() == user() {
        return Ok(());
    }
    Err(refused(format!(
        "`{}` belongs to another user (number {}, and this is {}); run as that user, or name a store of your own with --store",
        path.display(),
        found.uid(),
        user()
    )))
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Takes from others what they may do with it.
fn close(path: &Path, found: &Metadata) -> io::Result<()> {
    let mode = found.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

/// Makes a folder and what is missing above it, for this user alone.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// How a file is opened that may have to be made for this user alone.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

/// Makes a file, or empties it.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Writes a file.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    create(path)?.write_all(content.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    fn open_to(path: &Path, bits: u32) {
        fs::set_permissions(path, Permissions::from_mode(bits)).expect("permissions");
    }

    #[test]
    fn a_store_of_a_former_version_is_closed_and_one_that_others_write_to_refused() {
        let above = tempfile::tempdir().expect("a folder");
        let store = above.path().join("a/b");
        claim(&store).expect("it is made");
        assert_eq!(mode(&store), 0o700);

        fs::write(store.join("store.sqlite"), "x").expect("a file");
        fs::create_dir(store.join("jobs")).expect("a folder");
        for (path, bits) in [
            (store.clone(), 0o755),
            (store.join("store.sqlite"), 0o644),
            (store.join("jobs"), 0o755),
        ] {
            open_to(&path, bits);
        }
        claim(&store).expect("it is closed");
        assert_eq!(mode(&store), 0o700);
        assert_eq!(mode(&store.join("store.sqlite")), 0o600);

        for path in [store.join("store.sqlite"), store.clone()] {
            let before = mode(&path);
            open_to(&path, before | 0o020);
            let why = claim(&store).expect_err("others write to it").to_string();
            assert!(why.contains("chmod -R go-rwx"), "{why}");
            open_to(&path, before);
        }
        claim(&store).expect("it is ours again");

        let common = above.path().join("common");
        fs::create_dir(&common).expect("a folder");
        open_to(&common, 0o1777);
        let why = claim(&common).expect_err("it is everybody's").to_string();
        assert!(why.contains("not a place for a store") && mode(&common) == 0o1777, "{why}");
    }

    #[test]
    fn what_belongs_to_others_is_refused() {
        if user() != 0 {
            return;
        }
        let above = tempfile::tempdir().expect("a folder");
        let store = above.path().join("store");
        claim(&store).expect("it is made");
        let file = store.join("store.sqlite.lock");
        fs::write(&file, "").expect("a file");
        for path in [&file, &store] {
            std::os::unix::fs::chown(path, Some(65_534), None).expect("another owner");
            let why = claim(&store).expect_err("it is another's").to_string();
            assert!(why.contains("belongs to another user") && why.contains("--store"), "{why}");
            std::os::unix::fs::chown(path, Some(0), None).expect("its owner");
        }
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&store, &link).expect("a link");
        claim(&link).expect("a link of ours");
        std::os::unix::fs::lchown(&link, Some(65_534), None).expect("another owner");
        assert!(claim(&link).is_err(), "another's link");
    }
}
