//! Detects whether a folder is on a network file system, where a store is not allowed.
//!
//! On a file system that several machines share, locks and the shared memory of a database are limited to one machine:
//! a second one would run the same store at the same time, and overwrite its data.

use std::path::Path;

/// Returns the name of the network file system that a folder is on, or none if it is local or unknown.
pub fn file_system(folder: &Path) -> Option<&'static str> {
    #[cfg(target_os = "linux")]
    {
        // A missing folder will be created in its nearest existing parent.
        let found = folder.ancestors().find_map(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            rustix::fs::statfs(folder).ok()
        })?;
        name_of(u64::try_from(found.f_type).unwrap_or(0) & 0xffff_ffff)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = folder;
        None
    }
}

/// Returns the name of a network file system, by the number that `statfs` returns.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has these numbers"))]
fn name_of(kind: u64) -> Option<&'static str> {
    Some(match kind {
        0x6969 => "NFS",
        0x517b => "SMB",
        0xff53_4d42 => "CIFS",
        0xfe53_4d42 => "SMB2",
        0x0bd0_0bd0 => "Lustre",
        0x4750_4653 => "GPFS",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x7461_636f => "OCFS2",
        0x0116_1970 => "GFS2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_file_systems_are_known_by_their_numbers() {
        for (kind, name) in [
            (0x6969, Some("NFS")),
            (0xff53_4d42, Some("CIFS")),
            (0xfe53_4d42, Some("SMB2")),
            (0x00c3_6400, Some("Ceph")),
            // ext4, XFS, Btrfs, tmpfs, overlayfs, ZFS, FUSE, 9P: local, or unknown.
            (0xef53, None),
            (0x5846_5342, None),
            (0x9123_683e, None),
            (0x0102_1994, None),
            (0x794c_7630, None),
            (0x2fc1_2fc1, None),
            (0x6573_5546, None),
            (0x0102_1997, None),
        ] {
            assert_eq!(name_of(kind), name, "{kind:x}");
        }
    }
}
