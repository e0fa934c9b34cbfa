//! Folders and files that belong to one user alone.
//!
//! A store contains properties, passwords and the output of programs, and a user who can write to it controls what its
//! owner runs. So only its owner has access, whatever the umask, and a store that others own or can write to is
//! [refused](claim). One that others can only read, as earlier versions created it, is made private when its owner
//! opens it.
#![expect(clippy::disallowed_methods, reason = "permissions are of the disk")]

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of folders: access for the owner only.
const FOLDER: u32 = 0o700;
/// The mode of files: access for the owner only.
const FILE: u32 = 0o600;
/// The permission bits of all other users.
const OTHERS: u32 = 0o077;
/// The write bits of all other users.
const WRITABLE: u32 = 0o022;

/// Returns the effective user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes a folder private to this user, creating it if it is missing. An existing folder, and the files directly in it,
/// must be owned by this user, and others must not be able to write to any of these; if others can read them, that is
/// revoked.
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
            // Others cannot reach folders inside a private one, and a file root has permissions of its own.
            Ok(found) if found.is_symlink() || found.is_dir() => {}
            Ok(found) => close(&entry.path(), &found)?,
            // Another process of ours has just deleted it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Checks that a folder exists and belongs to this user. Returns whether it exists. Fails with advice if another user
/// owns it or can write to it.
pub fn check(path: &Path) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if found.is_symlink() {
        // The creator of a link controls where it leads; only the administrator may be another user.
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
        // It may be a shared folder, such as `/tmp`, and must not be closed for a store that does not exist yet.
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

/// Checks that a file belongs to this user, and that others cannot write to it.
pub fn closed(path: &Path, found: &Metadata) -> io::Result<()> {
    owned(path, found)?;
    if found.mode() & WRITABLE == 0 || found.is_symlink() {
        return Ok(());
    }
    let shown = path.display();
    Err(refused(format!(
        "`{shown}` can be written by other users (mode {:04o}); if everything in it is yours, `chmod -R go-rwx {shown}`",
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

/// Removes the permissions of other users.
fn close(path: &Path, found: &Metadata) -> io::Result<()> {
    let mode = found.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS))
}

/// Creates a folder and its missing parents, for this user alone.
pub fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Returns options for opening a file which create it for this user alone.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

/// Creates a file, or truncates it if it exists.
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
