//! Unpacks the archives of an action, within limits.
//!
//! An archive (`.zip`, `.jar`, `.tar`, `.tar.gz`, `.tgz`) is untrusted: nothing of it is written outside the target
//! folder, whatever its names, links or hard links; devices are refused; and expansion is limited. Links that stay
//! below the folder are kept, because whole environments of programs are shipped that way.

#![expect(clippy::disallowed_methods, reason = "this is where the disk is reached")]

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::beneath::Beneath;

/// Limits for unpacking an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    /// The number of files, folders and links.
    pub(crate) entries: u64,
    /// The total size of all files in bytes.
    pub(crate) bytes: u64,
    /// The maximum expansion relative to the size of the archive itself, beyond [`Quota::small`].
    pub(crate) ratio: u64,
    /// How many bytes are allowed regardless of the ratio.
    pub(crate) small: u64,
    /// Whether links are allowed.
    pub(crate) links: bool,
}

/// Limits above any environment of programs, and below the size of most disks.
pub(crate) const QUOTA: Quota =
    Quota { entries: 1_000_000, bytes: 32 << 30, ratio: 200, small: 256 << 20, links: true };

/// Limits above any application. Its definitions and libraries are files, so a link in one is suspicious.
pub(crate) const APPLICATION: Quota =
    Quota { entries: 100_000, bytes: 4 << 30, ratio: 200, small: 256 << 20, links: false };

/// Unpacks an archive, whose format is derived from `name`, into an existing folder. Returns none if the name is not
/// that of an archive.
pub(crate) fn unpack(
    archive: &Path,
    name: &str,
    folder: &Path,
    quota: Quota,
) -> Option<io::Result<()>> {
    let lower = name.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| lower.ends_with(end));
    let unpacked = match () {
        () if ends(&[".zip", ".jar"]) => unpack_zip,
        () if ends(&[".tar.gz", ".tgz"]) => unpack_gzip,
        () if ends(&[".tar"]) => unpack_tar,
        () => return None,
    };
    Some(
        Unpacking::open(archive, folder, quota)
            .and_then(|(unpacking, file)| unpacked(unpacking, file)),
    )
}

fn unpack_zip(mut unpacking: Unpacking, file: File) -> io::Result<()> {
    let broken = |error: zip::result::ZipError| {
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    };
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(broken)?;
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(broken)?;
        let name = entry.name().map_err(broken)?.into_owned();
        let mode = entry.unix_mode().unwrap_or(0o644);
        if entry.is_dir() {
            unpacking.folder(&name)?;
        } else if entry.is_symlink() {
            // A link is stored as a file that contains its target.
            let mut target = String::new();
            entry.by_ref().take(LONGEST_LINK).read_to_string(&mut target)?;
            unpacking.link(&name, &target)?;
        } else {
            unpacking.file(&name, mode, &mut entry)?;
        }
    }
    unpacking.finish()
}

fn unpack_gzip(unpacking: Unpacking, file: File) -> io::Result<()> {
    unpack_entries(unpacking, MultiGzDecoder::new(BufReader::new(file)))
}

fn unpack_tar(unpacking: Unpacking, file: File) -> io::Result<()> {
    unpack_entries(unpacking, BufReader::new(file))
}

fn unpack_entries(mut unpacking: Unpacking, stream: impl Read) -> io::Result<()> {
    use tar::EntryType;

    let left = unpacking.left;
    // Data between files, such as long names, are limited as well.
    let mut archive = tar::Archive::new(stream.take(left.saturating_add(unpacking.quota.small)));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = text(&entry.path_bytes())?;
        let target = entry.link_name_bytes().map(|target| text(&target)).transpose()?;
        let mode = entry.header().mode().unwrap_or(0o644);
        match (entry.header().entry_type(), target) {
            (EntryType::Directory, _) => unpacking.folder(&name)?,
            (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
                unpacking.file(&name, mode, &mut entry)?;
            }
            (EntryType::Symlink, Some(target)) => unpacking.link(&name, &target)?,
            (EntryType::Link, Some(target)) => unpacking.same(&name, &target)?,
            (EntryType::XGlobalHeader | EntryType::XHeader, _) => {}
            _ => {
                return Err(refused(format_args!(
                    "`{name}` is neither a file, a folder nor a link"
                )));
            }
        }
    }
    unpacking.finish()
}

/// The maximum length of a link's target in bytes.
const LONGEST_LINK: u64 = 4096;

fn refused(why: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_string())
}

fn text(name: &[u8]) -> io::Result<String> {
    String::from_utf8(name.to_vec()).map_err(|_| {
        refused(format_args!("the name `{}` is not UTF-8", String::from_utf8_lossy(name)))
    })
}

/// Splits a name in an archive into its parts; one that leads out is refused.
fn parts(name: &str) -> io::Result<Vec<&str>> {
    let outside =
        name.starts_with('/') || name.contains('\0') || name.split('/').any(|part| part == "..");
    if outside {
        return Err(refused(format_args!("`{name}` leads out of the archive's folder")));
    }
    Ok(name.split('/').filter(|part| !matches!(*part, "" | ".")).collect())
}

struct Unpacking {
    folder: Beneath,
    quota: Quota,
    entries: u64,
    /// How many bytes may still be written.
    left: u64,
    /// Links, which are checked once everything is unpacked.
    links: Vec<String>,
}

impl Unpacking {
    fn open(archive: &Path, folder: &Path, quota: Quota) -> io::Result<(Unpacking, File)> {
        let file = File::open(archive)?;
        let size = file.metadata()?.len();
        let left = size.saturating_mul(quota.ratio).max(quota.small).min(quota.bytes);
        let folder = Beneath::make(folder)?;
        Ok((Unpacking { folder, quota, entries: 0, left, links: Vec::new() }, file))
    }

    fn count(&mut self) -> io::Result<()> {
        self.entries += 1;
        if self.entries > self.quota.entries {
            return Err(refused(format_args!("it has more than {} entries", self.quota.entries)));
        }
        Ok(())
    }

    fn folder(&mut self, name: &str) -> io::Result<()> {
        self.count()?;
        self.folder.make_folder(&parts(name)?).map(drop)
    }

    fn file(&mut self, name: &str, mode: u32, content: &mut dyn Read) -> io::Result<()> {
        self.count()?;
        let mut file = self.folder.create(&parts(name)?, mode & 0o777 | 0o600)?;
        let written = io::copy(&mut content.take(self.left.saturating_add(1)), &mut file)?;
        if written > self.left {
            return Err(refused("unpacked, it is larger than an archive of its size may be"));
        }
        self.left -= written;
        Ok(())
    }

    fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.count()?;
        if !self.quota.links {
            return Err(refused(format_args!(
                "`{name}` is a link, which an application may not have"
            )));
        }
        if target.starts_with('/') || target.is_empty() || target.contains('\0') {
            return Err(refused(format_args!("the link `{name}` leads out, to `{target}`")));
        }
        self.folder.link(&parts(name)?, target)?;
        self.links.push(name.to_owned());
        Ok(())
    }

    /// Creates a hard link, as in tar: another name of an earlier file.
    fn same(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.count()?;
        self.folder.hard_link(&parts(target)?, &parts(name)?)
    }

    /// Checks, now that everything is unpacked, that no link leads out. One that leads nowhere does no harm.
    fn finish(self) -> io::Result<()> {
        for name in &self.links {
            let found = self.folder.metadata(&parts(name)?);
            if let Err(error) = found
                && error.kind() == io::ErrorKind::PermissionDenied
            {
                return Err(refused(format_args!(
                    "the link `{name}` leads out of the archive's folder"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    /// An entry of an archive.
    #[derive(Clone, Copy)]
    enum Part<'a> {
        File(&'a str, &'a [u8]),
        Link(&'a str, &'a str),
        Same(&'a str, &'a str),
    }
    use Part::{File as Whole, Link, Same};

    fn tar(parts: &[Part<'_>]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for part in parts {
            let mut header = tar::Header::new_gnu();
            let (name, kind, target, content) = match *part {
                Whole(name, content) => (name, tar::EntryType::Regular, "", content),
                Link(name, target) => (name, tar::EntryType::Symlink, target, &b""[..]),
                Same(name, target) => (name, tar::EntryType::Link, target, &b""[..]),
            };
            header.set_entry_type(kind);
            header.set_mode(0o755);
            header.set_size(content.len() as u64);
            // The library's own methods would refuse such names.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
            header.set_cksum();
            builder.append(&header, content).expect("an entry");
        }
        builder.into_inner().expect("an archive")
    }

    /// Returns none if a name occurs twice, which the library refuses to write.
    fn zip(parts: &[Part<'_>]) -> Option<Vec<u8>> {
        let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        for part in parts {
            match *part {
                Whole(name, content) => {
                    writer.start_file(name, options.unix_permissions(0o755)).ok()?;
                    writer.write_all(content).expect("its content");
                }
                Link(name, target) | Same(name, target) => {
                    writer.add_symlink(name, target, options).ok()?;
                }
            }
        }
        Some(writer.finish().expect("an archive").into_inner())
    }

    struct Tried {
        above: tempfile::TempDir,
        outcome: io::Result<()>,
    }

    impl Tried {
        fn folder(&self) -> PathBuf {
            self.above.path().join("folder")
        }

        /// Checks that there is nothing but the folder, the archive and the file beside them.
        #[track_caller]
        fn check_nothing_outside(&self, what: &str) {
            let names = fs::read_dir(self.above.path()).expect("a folder").count();
            assert_eq!(names, 3, "{what}");
            let beside = fs::read_to_string(self.above.path().join("beside")).expect("it is there");
            assert_eq!(beside, "mine", "{what}");
        }
    }

    fn tried(name: &str, content: &[u8], quota: Quota) -> Tried {
        let above = tempfile::tempdir().expect("a folder");
        let archive = above.path().join(name);
        fs::write(&archive, content).expect("a file");
        fs::write(above.path().join("beside"), "mine").expect("a file");
        let folder = above.path().join("folder");
        let outcome = unpack(&archive, name, &folder, quota).expect("an archive");
        Tried { above, outcome }
    }

    #[test]
    fn what_belongs_into_the_folder_comes_into_it() {
        let parts = [
            Whole("bin/run", b"#!/bin/sh\n"),
            Whole("lib/a.so.1", b"a"),
            Link("lib/a.so", "a.so.1"),
            Link("bin/lib", "../lib"),
            Link("nowhere", "none/x"),
            Whole("./bin//run", b"#!/bin/bash\n"),
        ];
        let gzip = |bytes: &[u8]| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(bytes).expect("bytes");
            encoder.finish().expect("an end")
        };
        let plain = tar(&parts);
        for (name, content) in [
            ("a.zip", zip(&parts[..5]).expect("an archive")),
            ("a.tgz", gzip(&plain)),
            ("a.TAR.GZ", gzip(&plain)),
            ("a.tar", plain.clone()),
        ] {
            let tried = tried(name, &content, QUOTA);
            tried.outcome.as_ref().expect(name);
            let read = |path: &str| fs::read_to_string(tried.folder().join(path)).expect(path);
            assert_eq!(read("bin/lib/a.so"), "a", "{name}");
            assert!(read("bin/run").starts_with("#!/bin/"), "{name}");
            use std::os::unix::fs::PermissionsExt;
            let mode =
                fs::metadata(tried.folder().join("bin/run")).expect("it is there").permissions();
            assert_eq!(mode.mode() & 0o700, 0o700, "{name}");
            tried.check_nothing_outside(name);
        }
        let twice = tried("a.tar", &tar(&[Whole("a", b"x"), Same("b", "a")]), QUOTA);
        twice.outcome.as_ref().expect("a hard link");
        assert_eq!(fs::read_to_string(twice.folder().join("b")).expect("it is there"), "x");
        assert!(unpack(Path::new("x"), "a.rar", Path::new("y"), QUOTA).is_none());
    }

    #[test]
    fn what_leads_out_is_refused() {
        let attacks: [&[Part<'_>]; 12] = [
            &[Whole("../beside", b"x")],
            &[Whole("a/../../beside", b"x")],
            &[Whole("/tmp/ankus-of-an-archive", b"x")],
            &[Link("l", "../beside")],
            &[Link("l", "/etc/passwd")],
            &[Link("l", ".."), Whole("l/beside", b"x")],
            &[Link("l", "."), Link("l/m", ".."), Whole("m/beside", b"x")],
            &[Whole("a/b/x", b""), Link("a/b/l", "../.."), Link("m", "a/b/l/../beside")],
            &[Link("beside", "../beside"), Whole("beside", b"x"), Link("l", "../beside")],
            &[Link("m", "l"), Link("l", "../beside"), Whole("m", b"x"), Link("l2", "..")],
            &[Link("l", "d/../.."), Whole("d/x", b"x")],
            &[Whole("a\\..\\..\\x", b"x"), Link("l", "../../../../../../../../etc")],
        ];
        for (number, parts) in attacks.iter().enumerate() {
            let both = [("a.tar", Some(tar(parts))), ("a.zip", zip(parts))];
            for (name, content) in both {
                let Some(content) = content else { continue };
                let tried = tried(name, &content, QUOTA);
                let what = format!("attack {number} as {name}");
                tried.check_nothing_outside(&what);
                assert!(tried.outcome.is_err(), "{what}");
            }
        }
        for parts in [
            &[Same("s", "../beside")][..],
            &[Same("s", "/etc/passwd")],
            &[Link("l", ".."), Same("s", "l/beside")],
        ] {
            let tried = tried("a.tar", &tar(parts), QUOTA);
            tried.check_nothing_outside("a hard link");
            assert!(tried.outcome.is_err());
        }
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        let quota = Quota { entries: 100, bytes: 1 << 20, ratio: 10, small: 1 << 16, links: true };
        let zeros = vec![0; 1 << 17];
        let large = zip(&[Whole("zeros", &zeros)]).expect("an archive");
        assert!(large.len() < 1 << 12, "it is packed well");
        assert!(tried("a.zip", &large, quota).outcome.is_err(), "the ratio");
        let fair = tried("a.tar", &tar(&[Whole("zeros", &zeros)]), quota);
        fair.outcome.expect("it was as large before");
        let huge = vec![7; 2 << 20];
        assert!(tried("a.tar", &tar(&[Whole("x", &huge)]), quota).outcome.is_err(), "the bytes");
        let names: Vec<String> = (0..101).map(|number| format!("f{number}")).collect();
        let many: Vec<Part<'_>> = names.iter().map(|name| Whole(name, b"")).collect();
        assert!(
            tried("a.zip", &zip(&many).expect("an archive"), quota).outcome.is_err(),
            "the entries"
        );
        for broken in [&b"PK"[..], b"", &large[..large.len() / 2]] {
            assert!(tried("a.zip", broken, quota).outcome.is_err());
        }
    }
}
