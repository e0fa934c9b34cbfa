//! Finds the definition that a path names with a typo, whatever folder it is deployed in.

use super::followed::Followed;
use super::{Call, Kind, Lost, NAMES, Starter, is_slip_of_folder, parts_of, resolved, top};
use crate::diag::is_mistyped;
use crate::files::{folder_of, name_of};
use crate::slips;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum lengths of the names of files and folders: a typo in a shorter one often results in another name.
const SHORTEST: usize = 9;
const SHORTEST_FOLDER: usize = 8;
/// Length from which a name with one wrong letter is hardly another name.
const LONG: usize = 12;
/// Maximum number of values that are searched for names of definitions.
const MOST_VALUES: usize = 100_000;

/// The last parts of all paths that files set or name: no other path stands for what they name.
pub(super) fn names_called(starters: &[Starter]) -> BTreeSet<&str> {
    let calls = starters.iter().flat_map(|starter| &starter.calls);
    let paths = calls.flat_map(|call| call.values.values().chain([&call.uri]));
    paths
        .take(MOST_VALUES)
        .flat_map(|path| parts_of(path.trim()).into_iter().rev().take(2))
        .collect()
}

/// The names that a path may misspell, each with the definition that it stands for.
pub(super) struct Names<'d> {
    /// Of files with other names than the usual ones.
    files: Vec<(&'d str, &'d str)>,
    /// Of folders that contain a file with a usual name, by length.
    folders: BTreeMap<usize, Vec<(&'d str, &'d str)>>,
}

impl<'d> Names<'d> {
    fn of(definitions: &[&'d str]) -> Names<'d> {
        let (usual, others): (Vec<&str>, Vec<&str>) =
            definitions.iter().partition(|path| NAMES.contains(&name_of(path)));
        let mut folders: BTreeMap<usize, Vec<(&str, &str)>> = BTreeMap::new();
        for path in usual {
            let name = name_of(folder_of(path));
            folders.entry(name.len()).or_default().push((name, path));
        }
        Names { files: others.into_iter().map(|path| (name_of(path), path)).collect(), folders }
    }
}

impl<'d> Followed<'d> {
    /// The definition that is meant by a path whose last part, a file or a folder, the tree does not have: the only one
    /// there whose name is nearly the same and that nothing else names. `is_a` returns the file name of such a
    /// definition in its folder, and `called` the names of [`names_called`].
    pub(super) fn misnamed<'n>(
        &self,
        starter: &Starter,
        call: &Call,
        values: &BTreeMap<String, String>,
        is_a: &dyn Fn(&str) -> &'static str,
        called: impl FnOnce() -> &'n BTreeSet<&'n str>,
    ) -> Option<(Lost, &'d str)> {
        let uri = resolved(&call.uri, values);
        let (written, above) = match parts_of(&uri)[..] {
            [.., above, last] => (last, above),
            [last] => (last, ""),
            [] => return None,
        };
        let is_file = written.ends_with(".xml");
        let shortest = if is_file { SHORTEST } else { SHORTEST_FOLDER };
        if starter.kind == Kind::Properties
            || written.len() < shortest
            || written.contains(['$', '{', '}', '*'])
            || NAMES.contains(&written)
        {
            return None;
        }
        let home = top(&starter.path, self.common);
        // Another top folder may be another repository, unless the path names it.
        let is_above = |path: &str| {
            let folder = if is_file { folder_of(path) } else { folder_of(folder_of(path)) };
            name_of(folder) == above && !above.is_empty()
        };
        let is_meant = |path: &str| {
            path != starter.path
                && is_a(path) == call.name
                && (is_file || name_of(path) == call.name)
                && (self.is_one || top(path, self.common) == home || is_above(path))
        };
        if !self.patience.allows(self.definitions().len()) {
            return None;
        }
        let names = self.names.get_or_init(|| Names::of(self.definitions()));
        let lengths = written.len() - 1..=written.len() + 1;
        let (files, folders) = match is_file {
            true => (&names.files[..], None),
            false => (&[][..], Some(names.folders.range(lengths).flat_map(|(_, names)| names))),
        };
        let all = files.iter().chain(folders.into_iter().flatten());
        // Names are compared first: nearly all differ. For files, that takes longer than to look up their kinds.
        let mut near = all.filter(|(known, path)| {
            (!is_file || is_a(path) == call.name)
                && is_near(written, known, is_file)
                && is_meant(path)
        });
        let (&(known, meant), None) = (near.next()?, near.next()) else { return None };
        let mut parts = self.definitions().iter().flat_map(|path| path.split('/'));
        if parts.any(|part| part == written) {
            return None;
        }
        // A long name with one wrong letter can hardly be another one, unless the same file names both.
        let is_named_here =
            || starter.calls.iter().any(|call| parts_of(&call.uri).contains(&known));
        let is_long_typo = written.len() >= LONG && is_typo(written, known);
        if (!is_long_typo || is_named_here()) && called().contains(known) {
            return None;
        }
        let shown = if call.uri.contains("${") { call.uri.clone() } else { uri.clone() };
        let (span, wanted) = (call.span, written.to_owned());
        Some((Lost { span, uri: shown, wanted, near: Some(known.to_owned()) }, meant))
    }
}

/// Whether a name is another one with a typo, or a file's name with a word more, less or in another form.
fn is_near(written: &str, known: &str, is_file: bool) -> bool {
    match is_file {
        true => is_slip_of_folder(written, known) || slips::is_other_form(written, known),
        false => is_typo(written, known),
    }
}

/// Whether a folder's name is another one with a typo. A plural may be the name of another folder.
fn is_typo(written: &str, known: &str) -> bool {
    let is_plural = |one: &str, other: &str| one.strip_suffix('s') == Some(other);
    is_mistyped(written, known) && !is_plural(written, known) && !is_plural(known, written)
}
