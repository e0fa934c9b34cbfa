//! Detects damage to the write-ahead log of a store.
//!
//! SQLite reads its log up to the first frame with a wrong checksum, and treats the rest as an unfinished write. After
//! a crash that is right. If a byte has changed since, it silently drops commits: so the log is checked before SQLite
//! opens it. Each frame's checksum continues from that stored in the previous frame; frames after a bad one can be
//! verified in the same way. A commit is followed by another frame only if it had reached the disk: if there is one
//! after a bad frame, the bad one had been good. Damage to the last commit looks like a crash. (The format is in
//! SQLite's "WAL-mode File Format".)

#![expect(clippy::disallowed_methods, reason = "a store is on the disk")]

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

const HEADER: usize = 32;
const FRAME: usize = 24;
/// Both kinds of header, for the two byte orders of checksums.
const MAGIC: (u32, u32) = (0x377f_0682, 0x377f_0683);

/// The location of damage in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset of the first byte that cannot be read.
    pub at: u64,
    /// How many commits after it would be lost, as far as they can be recognized.
    pub commits: u64,
}

/// Checks a log, if there is one.
pub fn damage(path: &Path) -> io::Result<Option<Damage>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    look(BufReader::with_capacity(1 << 16, file))
}

type Sum = (u32, u32);

fn look(mut log: impl Read) -> io::Result<Option<Damage>> {
    let mut header = [0; HEADER];
    if !filled(&mut log, &mut header)? {
        return Ok(None);
    }
    let word = |bytes: &[u8], at: usize| {
        u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let is_big = word(&header, 0) == MAGIC.1;
    let size = word(&header, 8) as usize;
    if !(512..=65_536).contains(&size) || !size.is_power_of_two() {
        // Frames of an unknown size cannot be checked. An empty header was never written.
        let is_damaged = header.iter().any(|byte| *byte != 0);
        return Ok(is_damaged.then_some(Damage { at: 0, commits: 0 }));
    }
    let mut salts = header[16..24].to_vec();
    let known = matches!(word(&header, 0), magic if magic == MAGIC.0 || magic == MAGIC.1);
    let sum_of = |bytes: &[u8], at: usize| (word(bytes, at), word(bytes, at + 4));
    let header_sum = sum(is_big, (0, 0), &header[..24]);
    let mut before: Sum = sum_of(&header, 24);
    let mut bad = (!known || header_sum != before).then_some(0_u64);

    let mut frame = vec![0; FRAME + size];
    let mut at = HEADER as u64;
    // The commits after the bad frame, and whether the last good frame was one.
    let (mut commits, mut is_behind_commit, mut is_sure) = (0_u64, false, false);
    while filled(&mut log, &mut frame)? {
        if bad == Some(0) && at == HEADER as u64 {
            // The header may have been damaged here.
            salts.copy_from_slice(&frame[8..16]);
        }
        let written = sum_of(&frame, 16);
        let here = sum(is_big, sum(is_big, before, &frame[..8]), &frame[FRAME..]);
        let is_good = here == written && frame[8..16] == salts;
        match (bad, is_good) {
            (None, false) => bad = Some(at),
            (Some(_), true) => {
                is_sure |= is_behind_commit;
                is_behind_commit = word(&frame, 4) != 0;
                commits += u64::from(is_behind_commit);
            }
            (Some(_), false) => is_behind_commit = false,
            (None, true) => {}
        }
        before = written;
        at += frame.len() as u64;
    }
    Ok(bad.filter(|_| is_sure).map(|at| Damage { at, commits }))
}

/// Fills `bytes`; returns false at the end of the log, where a partial frame does not count.
fn filled(log: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match log.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Continues SQLite's checksum of a log.
fn sum(is_big: bool, (mut first, mut second): Sum, bytes: &[u8]) -> Sum {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(word(pair)).wrapping_add(second);
        second = second.wrapping_add(word(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates the log of a database with five commits, as a killed process leaves it.
    fn log() -> Vec<u8> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.sqlite");
        let connection = rusqlite::Connection::open(&path).expect("a database");
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE a (b BLOB);",
            )
            .expect("a table");
        for _ in 0..4 {
            connection.execute("INSERT INTO a VALUES (randomblob(9000))", []).expect("a row");
        }
        std::fs::read(folder.path().join("a.sqlite-wal")).expect("a log")
    }

    #[test]
    fn damage_is_told_from_a_crash() {
        let whole = log();
        assert_eq!(look(&whole[..]).expect("readable"), None);
        // A crash truncates it anywhere, or leaves the end half written.
        for end in (0..whole.len()).step_by(997) {
            assert_eq!(look(&whole[..end]).expect("readable"), None, "cut at {end}");
            let mut torn = whole.clone();
            torn[end..].fill(0);
            assert_eq!(look(&torn[..]).expect("readable"), None, "torn at {end}");
        }
        // The last commit follows the last but one.
        let page = 4096 + FRAME;
        let commits: Vec<usize> = (HEADER..whole.len())
            .step_by(page)
            .filter(|at| whole[at + 4..at + 8] != [0; 4])
            .collect();
        let [.., before_last, _] = commits[..] else { panic!("several commits") };
        for at in (0..before_last).step_by(331) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            // Version and number of the checkpoint do not affect what is read, but are part of the checksums.
            let found = look(&flipped[..]).expect("readable");
            assert!(found.is_some(), "byte {at}");
            let found = found.expect("damage");
            assert!(found.at as usize <= at, "byte {at}: {found:?}");
        }
        // Frames from before the last checkpoint have other salts.
        let mut older = whole.clone();
        for at in (commits[1] + page..whole.len()).step_by(page) {
            older[at + 8..at + 16].fill(7);
        }
        assert_eq!(look(&older[..]).expect("readable"), None);
    }
}
