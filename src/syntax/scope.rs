//! Namespaces and their prefixes, with lookups that stay fast for thousands of them.

use foldhash::{HashMap, HashMapExt};
use std::borrow::Cow;

/// Up to this many are searched linearly, which is enough for most definitions.
const FEW: usize = 16;

/// Prefixes in scope, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Prefixes<'a> {
    list: Vec<(&'a str, u16)>,
    /// Positions of the entries after the first few.
    places: HashMap<&'a str, Vec<u32>>,
}

impl<'a> Prefixes<'a> {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn push(&mut self, prefix: &'a str, namespace: u16) {
        if self.list.len() >= FEW {
            self.places.entry(prefix).or_default().push(self.list.len() as u32);
        }
        self.list.push((prefix, namespace));
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        while self.list.len() > length {
            let Some((prefix, _)) = self.list.pop() else { return };
            if self.list.len() >= FEW
                && let Some(places) = self.places.get_mut(prefix)
            {
                places.pop();
            }
        }
    }

    /// The namespace bound to a prefix.
    pub(crate) fn find(&self, prefix: &str) -> Option<u16> {
        if self.list.len() > FEW
            && let Some(at) = self.places.get(prefix).and_then(|places| places.last())
        {
            return Some(self.list[*at as usize].1);
        }
        let few = &self.list[..self.list.len().min(FEW)];
        few.iter().rev().find(|(known, _)| *known == prefix).map(|(_, namespace)| *namespace)
    }

    /// The entries that were added since the list had this length.
    pub(crate) fn since(&self, length: usize) -> &[(&'a str, u16)] {
        &self.list[length..]
    }
}

/// Interned namespace names, by index.
#[derive(Debug)]
pub(crate) struct Namespaces<'a> {
    pub(crate) list: Vec<Cow<'a, str>>,
    /// Indexes of the names after the first few.
    places: HashMap<Cow<'a, str>, u16>,
}

impl<'a> Namespaces<'a> {
    pub(crate) fn new(list: Vec<Cow<'a, str>>) -> Namespaces<'a> {
        Namespaces { list, places: HashMap::new() }
    }

    /// Returns the index of a name; `None` if there are too many namespaces for an index.
    pub(crate) fn intern(&mut self, name: Cow<'a, str>) -> Option<u16> {
        let few = &self.list[..self.list.len().min(FEW)];
        if let Some(at) = few.iter().position(|known| *known == name) {
            return Some(at as u16);
        }
        if let Some(at) = self.places.get(&name) {
            return Some(*at);
        }
        let next = self.list.len();
        if next == usize::from(u16::MAX) {
            return None;
        }
        if next >= FEW {
            self.places.insert(name.clone(), next as u16);
        }
        self.list.push(name);
        Some(next as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_of_many_prefixes_counts() {
        let names: Vec<String> = (0..40).map(|at| format!("p{}", at % 30)).collect();
        let mut prefixes = Prefixes::default();
        for (at, name) in names.iter().enumerate() {
            prefixes.push(name, at as u16);
        }
        assert_eq!(prefixes.find("p3"), Some(33));
        assert_eq!(prefixes.find("p12"), Some(12));
        assert_eq!(prefixes.find("p29"), Some(29));
        assert_eq!(prefixes.since(38), [("p8", 38), ("p9", 39)]);
        prefixes.truncate(33);
        assert_eq!(prefixes.find("p3"), Some(3));
        assert_eq!(prefixes.find("p2"), Some(32));
        prefixes.truncate(20);
        assert_eq!((prefixes.find("p29"), prefixes.find("p19")), (None, Some(19)));
        assert_eq!(prefixes.len(), 20);
    }

    #[test]
    fn a_namespace_has_one_index() {
        let mut namespaces = Namespaces::new(vec![Cow::Borrowed("")]);
        let all: Vec<_> =
            (0..70_000).map(|at| namespaces.intern(format!("u:{at}").into())).collect();
        assert_eq!(
            (all[0], all[40], all[65_533], all[65_534]),
            (Some(1), Some(41), Some(65_534), None)
        );
        assert_eq!(namespaces.intern("u:40".into()), Some(41));
        assert_eq!(namespaces.intern("".into()), Some(0));
    }
}
