//! Collects what is near a definition without known callers, as evidence of how names are written there.

use super::{Gathering, Index, Kind, below, top};
use crate::files::{folder_of, name_of};
use crate::syntax::properties::Near;
use memchr::memmem;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Maximum number of variables kept per definition.
const MOST_READ: usize = 512;
/// Maximum number of properties files read per definition.
const MOST_FILES: usize = 8;

/// Maximum number of properties files of a repository considered for each definition.
const MOST_LOOKED_AT: usize = 64;

/// Whether a properties file sets what nearly all applications need: the addresses of the cluster.
pub(super) fn is_shared(text: &str) -> bool {
    let has = |name: &str| memmem::find(text.as_bytes(), name.as_bytes()).is_some();
    let any = |names: &[&str]| names.iter().any(|name| has(name));
    any(&["nameNode", "name_node", "namenode"])
        && any(&[
            "jobTracker",
            "job_tracker",
            "resourceManager",
            "resource_manager",
            "resourcemanager",
        ])
}

impl Gathering {
    /// Records the variables that a definition reads: `${name}`.
    pub(super) fn variables(&mut self, path: &str, text: &str) {
        let mut names = BTreeSet::new();
        let bytes = text.as_bytes();
        for at in memchr::memchr_iter(b'$', bytes).filter(|at| bytes.get(at + 1) == Some(&b'{')) {
            let rest = text[at + 2..].trim_start();
            let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
            let end = rest.bytes().take_while(is_letter).count();
            if end > 0 && rest[end..].trim_start().starts_with('}') && !names.contains(&rest[..end])
            {
                names.insert(rest[..end].to_owned());
            }
            if names.len() == MOST_READ {
                break;
            }
        }
        if !names.is_empty() {
            self.read.push((path.to_owned(), names));
        }
    }

    /// Groups what was gathered by top folder.
    pub(super) fn give_near(&self, index: &mut Index) {
        let common = index.common;
        let mut of_top = |path: &str, take: &mut dyn FnMut(&mut Near)| {
            let top = top(path, common).unwrap_or_default().to_owned();
            take(index.near.entry(top).or_default());
        };
        for (path, names) in &self.read {
            of_top(path, &mut |near| {
                let read = Arc::make_mut(&mut near.read);
                for name in names {
                    match read.get_mut(name) {
                        Some(count) => *count += 1,
                        None => drop(read.insert(name.clone(), 1)),
                    }
                }
            });
        }
        for starter in self.starters.iter().filter(|starter| starter.kind == Kind::Properties) {
            of_top(&starter.path, &mut |near| near.properties.push(starter.path.clone()));
        }
        for path in &self.shared {
            of_top(path, &mut |near| near.properties.push(path.clone()));
        }
        for near in index.near.values() {
            for path in &near.properties {
                let folder = name_of(folder_of(path));
                index.beside.entry(folder.to_owned()).or_default().insert(path.clone());
            }
        }
        for near in index.near.values_mut() {
            near.properties.sort();
            let mut read: Vec<(&String, &usize)> = near.read.iter().collect();
            read.sort_unstable();
            let often = read.iter().filter(|(_, count)| **count >= Near::OFTEN);
            near.often = Arc::new(often.map(|(name, _)| (*name).clone()).collect());
            let mut hasher = DefaultHasher::new();
            read.hash(&mut hasher);
            near.number = hasher.finish();
        }
    }
}

impl Index {
    /// What is near a definition; empty if a known caller starts it with all of its properties.
    pub fn near(&self, path: &str) -> Near {
        if self.of(path).iter().any(|caller| caller.is_whole) {
            return Near::default();
        }
        let path = &*self.whole(path);
        let own = top(path, self.common).filter(|top| !top.is_empty());
        let of_own = self.near.get(own.unwrap_or_default());
        // Files above all top folders belong to each of them.
        let above = self.near.get("").filter(|_| own.is_some());
        let mut properties = Vec::new();
        for near in of_own.into_iter().chain(above) {
            // Sorted by path, those that share most folders are around the definition's own position.
            let at = near.properties.partition_point(|other| other.as_str() < path);
            let around = at.saturating_sub(MOST_FILES)..near.properties.len().min(at + MOST_FILES);
            properties.extend(near.properties[around].iter().cloned());
        }
        let folder = folder_of(path);
        // If properties are kept apart from definitions, their folders have the same names.
        if properties.is_empty() {
            let called = folder.rsplit('/').find_map(|part| self.beside.get(part));
            properties.extend(called.into_iter().flatten().take(MOST_FILES).cloned());
        }
        // In one repository, they may be in any folder.
        if properties.is_empty() && self.is_one {
            let all = self.near.values().flat_map(|near| &near.properties);
            properties.extend(all.take(MOST_LOOKED_AT).cloned());
        }
        let parts_shared = |other: &String| {
            let parts = folder_of(other).split('/').zip(folder.split('/'));
            parts.take_while(|(one, other)| one == other).count()
        };
        properties.sort_by_cached_key(|other| (usize::MAX - parts_shared(other), other.clone()));
        properties.truncate(MOST_FILES);
        for path in &mut properties {
            if let Some(seen) = below(path, &self.here) {
                *path = seen.to_owned();
            }
        }
        let shared = of_own.map(|near| (near.read.clone(), near.often.clone(), near.number));
        let (read, often, number) = shared.unwrap_or_default();
        Near { properties, read, often, number }
    }
}
