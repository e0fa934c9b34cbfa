//! Finds the paths that a pattern of Hadoop's `globStatus` matches.
//!
//! As in Hadoop, wildcards also match names that begin with a dot. The syntax of patterns is that of [`Glob`].

use std::collections::BTreeSet;
use std::io;

use super::{FileUri, Files};
use ankus_lang::el::glob::Glob;

/// How many paths are followed at least, however few matches are allowed. A pattern with more intermediate paths is an
/// error, since matches could be missed.
const CANDIDATES: usize = 1_000;

pub(super) fn expand<F: Files + ?Sized>(
    files: &F,
    pattern: &FileUri,
    limit: usize,
) -> io::Result<Vec<FileUri>> {
    let glob = Glob::new(&pattern.path)
        .map_err(|message| io::Error::new(io::ErrorKind::InvalidInput, message))?;
    let mut found = BTreeSet::new();
    for alternative in glob.alternatives() {
        // Breadth first, one part of the path at a time; what cannot match is not listed.
        let mut here = vec![pattern.with_path("/")];
        for (at, segment) in alternative.iter().enumerate() {
            let mut next = Vec::new();
            for folder in &here {
                match segment.name() {
                    Some(name) => next.push(folder.child(&name)),
                    None => {
                        let names = files.list(folder)?;
                        let names = names.into_iter().filter(|name| segment.matches(name));
                        next.extend(names.map(|name| folder.child(&name)));
                    }
                }
                if next.len() > limit.max(CANDIDATES) {
                    // The entries of the last listing exist, and the caller sees that there are too many.
                    if at + 1 == alternative.len() && segment.name().is_none() {
                        break;
                    }
                    let text = format!(
                        "`{}` leads through more than {} paths",
                        pattern.path,
                        next.len() - 1
                    );
                    return Err(io::Error::other(text));
                }
            }
            here = next;
        }
        for uri in here {
            if files.kind(&uri)?.is_some() {
                found.insert(uri);
            }
            if found.len() > limit {
                return Ok(found.into_iter().collect());
            }
        }
    }
    Ok(found.into_iter().collect())
}
