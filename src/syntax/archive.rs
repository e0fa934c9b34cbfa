//! Lists the names in a zip archive, such as a jar.
//!
//! Takes the last bytes of the archive, then its central directory, and returns names. Nothing is unpacked; an archive
//! that cannot be parsed has no names, so that callers report nothing.

/// Number of bytes at the end of an archive that always contain its end record: the record and its longest comment.
pub const TAIL: u64 = 22 + 65_535;
/// Maximum size of a central directory that is read, in bytes.
pub const DIRECTORY_LIMIT: u64 = 16 * 1024 * 1024;

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(width)?)?;
    Some(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Locates the central directory by the archive's last bytes: its distance from the end of the archive, and its
/// length.
pub fn directory(tail: &[u8]) -> Option<(u64, u64)> {
    let last = tail.len().checked_sub(22)?;
    let at = (0..=last).rev().find(|at| {
        let comment = number(tail, at + 20, 2);
        tail[*at..].starts_with(b"PK\x05\x06") && comment == Some((tail.len() - at - 22) as u64)
    })?;
    // Archives larger than 4 GiB have a different directory, which is not supported.
    let length = number(tail, at + 12, 4).filter(|length| *length < 0xffff_ffff)?;
    Some(((tail.len() - at) as u64 + length, length))
}

/// Parses the names in a central directory; `None` if it is invalid.
pub fn names(directory: &[u8]) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut at = 0;
    while at < directory.len() {
        if !directory[at..].starts_with(b"PK\x01\x02") {
            return None;
        }
        let [name, extra, comment] = [28, 30, 32].map(|offset| number(directory, at + offset, 2));
        let (name, rest) = (name? as usize, (extra? + comment?) as usize);
        let text = directory.get(at + 46..at + 46 + name)?;
        names.push(String::from_utf8_lossy(text).into_owned());
        at += 46 + name + rest;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with empty files of these names.
    fn archive(names: &[&str], comment: &str) -> Vec<u8> {
        let mut directory = Vec::new();
        for name in names {
            directory.extend(b"PK\x01\x02");
            directory.extend([0; 24]);
            directory.extend((name.len() as u16).to_le_bytes());
            directory.extend([2, 0, 0, 0]);
            directory.extend([0; 12]);
            directory.extend(name.as_bytes());
            directory.extend([7, 7]);
        }
        let mut whole = b"the files".to_vec();
        whole.extend(&directory);
        whole.extend(b"PK\x05\x06");
        whole.extend([0; 8]);
        whole.extend((directory.len() as u32).to_le_bytes());
        whole.extend([0; 4]);
        whole.extend((comment.len() as u16).to_le_bytes());
        whole.extend(comment.as_bytes());
        whole
    }

    #[test]
    fn names_are_found_behind_a_comment_and_nothing_in_what_is_none() {
        for comment in ["", "made by PK\u{5}\u{6}"] {
            let whole = archive(&["a/B.class", "c"], comment);
            let (back, length) = directory(&whole).unwrap();
            let start = whole.len() - back as usize;
            let found = names(&whole[start..start + length as usize]);
            assert_eq!(found.unwrap(), ["a/B.class", "c"]);
        }
        let whole = archive(&["a"], "");
        for cut in 0..whole.len() {
            let _ = directory(&whole[..cut]);
            let _ = names(&whole[9..cut.max(9)]);
        }
        assert_eq!(directory(b"PK"), None);
        assert_eq!(names(b"no directory"), None);
    }
}
