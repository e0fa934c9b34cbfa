//! Resolves a path to a definition of the tree, by the end of the path.

use super::misnamed::Names;
use super::{
    Call, KEYS, Kind, Lost, NAMES, Starter, below, beside_application, common, is_slip_of_folder,
    parts_of, resolved, roots, top,
};
use crate::diag::{Patience, within};
use crate::files::{folder_of, join, name_of};
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt, HashSet};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hash, Hasher};

/// Maximum number of path components compared from the end; no relevant tree is deeper.
const MOST_PARTS: usize = 64;

pub(super) struct Followed<'d> {
    /// Root folders to which paths may be relative.
    roots: &'d BTreeSet<String>,
    /// Whether the tree is one repository.
    pub(super) is_one: bool,
    paths: HashSet<&'d str>,
    /// All definitions, sorted by path components.
    in_order: Vec<&'d str>,
    /// Hashes of the ends of the paths of definitions, and of the ends of their folders with their file names, each
    /// with the index of the definition; all of them, and separately those below each folder of `tops`. Sorted.
    ends: Vec<(u64, u32)>,
    /// Number of definitions by file name.
    counts: HashMap<&'d str, usize>,
    /// Names of the folders that contain definitions, by parent folder.
    beside: HashMap<&'d str, BTreeSet<&'d str>>,
    /// Number of leading folders that all paths share.
    pub(super) common: usize,
    /// The top folders that contain definitions.
    tops: HashSet<&'d str>,
    pub(super) patience: Patience,
    /// The names of definitions, if a path with a typo was looked for.
    pub(super) names: OnceCell<Names<'d>>,
    hasher: RandomState,
}

impl<'d> Followed<'d> {
    pub(super) fn new(
        roots: &'d BTreeSet<String>,
        definitions: &'d BTreeSet<String>,
        starters: &[Starter],
    ) -> Followed<'d> {
        let common = common(definitions, starters);
        let mut followed = Followed {
            roots,
            is_one: false,
            paths: definitions.iter().map(String::as_str).collect(),
            in_order: definitions.iter().map(String::as_str).collect(),
            ends: Vec::new(),
            counts: HashMap::new(),
            beside: HashMap::new(),
            common,
            tops: definitions.iter().filter_map(|path| top(path, common)).collect(),
            patience: Patience::default(),
            names: OnceCell::new(),
            hasher: RandomState::default(),
        };
        followed.in_order.sort_by(|one, other| by_parts(one, other));
        let mut ends: Vec<(u64, u32)> = Vec::new();
        for (at, path) in followed.in_order.iter().copied().enumerate() {
            let (name, folder, top) = (name_of(path), folder_of(path), top(path, common));
            *followed.counts.entry(name).or_default() += 1;
            let tops = [Some(0), top.map(|top| followed.number(top))];
            let mut parts = split(path);
            let files = followed.ends_of("", &parts);
            parts.pop();
            for end in files.into_iter().chain(followed.ends_of(name, &parts)) {
                ends.extend(tops.into_iter().flatten().map(|top| (end ^ top, at as u32)));
            }
            followed.beside.entry(folder_of(folder)).or_default().insert(name_of(folder));
        }
        ends.sort_unstable();
        followed.ends = ends;
        followed
    }

    /// The definitions with such an end, sorted by path components.
    fn with_end(&self, end: u64) -> &[(u64, u32)] {
        let from = &self.ends[self.ends.partition_point(|(other, _)| *other < end)..];
        &from[..from.partition_point(|(other, _)| *other == end)]
    }

    /// All definitions, sorted by path components.
    pub(super) fn definitions(&self) -> &[&'d str] {
        &self.in_order
    }

    /// Hash of a top folder, combined with those of the ends below it.
    fn number(&self, top: &str) -> u64 {
        self.hasher.hash_one(top)
    }

    /// Hashes of all ends of a path, the shortest first.
    fn ends_of(&self, name: &str, parts: &[&str]) -> Vec<u64> {
        let mut hasher = self.hasher.build_hasher();
        name.hash(&mut hasher);
        let parts = parts.iter().rev().take(MOST_PARTS);
        parts
            .map(|part| {
                part.hash(&mut hasher);
                hasher.finish()
            })
            .collect()
    }

    /// Resolves a call; properties with a number start the definition beside them with the same number.
    pub(super) fn to(
        &self,
        from: &str,
        call: &Call,
        values: &BTreeMap<String, String>,
    ) -> Option<&'d str> {
        let found = self.leading_to(from, call, values)?;
        let stem = name_of(from).strip_suffix(".properties").unwrap_or_default();
        let number = &stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        let is_default = NAMES.contains(&name_of(found)) && folder_of(found) == folder_of(from);
        if number.is_empty() || !is_default || parts_of(&call.uri).last() == Some(&name_of(found)) {
            return Some(found);
        }
        let named = format!("{}{number}.xml", found.strip_suffix(".xml").unwrap_or(found));
        Some(self.paths.get(named.as_str()).copied().unwrap_or(found))
    }

    /// Resolves a call: the definition whose path has the longest end in common with it; of several, the one nearest
    /// to the caller, if it is unique.
    fn leading_to(
        &self,
        from: &str,
        call: &Call,
        values: &BTreeMap<String, String>,
    ) -> Option<&'d str> {
        let uri = resolved(&call.uri, values);
        let own = folder_of(from);
        if let Some(below) = uri.strip_prefix("${wf:appPath()}") {
            return self.at(&join(own, below.trim_start_matches('/'))?, call.name);
        }
        let mut parts = parts_of(&uri);
        if let Some(open) = parts.iter().rposition(|part| part.contains("${")) {
            parts.drain(..=open);
        }
        let Some(last) = parts.last().copied() else {
            // The value only shows that it is an application, so the one beside the properties is meant.
            return match call.uri.contains("${") {
                true => None,
                false => self.at(own, call.name),
            };
        };
        let is_file = last.ends_with(".xml");
        if is_file && parts.len() == 1 && NAMES.contains(&last) {
            // A default file name indicates only the folder of the properties.
            return match self.submits(from) {
                true => self.at(&join(own, last)?, call.name),
                false => None,
            };
        }
        // A top folder with definitions may be a separate repository, so calls from there resolve outside it only by
        // whole paths, from top to bottom.
        let home = top(from, self.common).filter(|top| self.tops.contains(top));
        let ends = self.ends_of(if is_file { "" } else { call.name }, &parts);
        let top = home.map_or(0, |home| self.number(home));
        // A default file name matches the end of every path.
        let enough = 1 + usize::from(is_file && NAMES.contains(&last));
        for length in (1..=ends.len()).rev() {
            let alike = match length >= enough {
                true => self.with_end(ends[length - 1] ^ top),
                false => &[],
            };
            let mut whole = parts[parts.len() - length..].join("/");
            if !is_file {
                whole = format!("{whole}/{}", call.name);
            }
            let rooted = self.roots.iter().map(|root| format!("{root}/{whole}"));
            let whole = [whole.clone(), format!("/{whole}")].into_iter().chain(rooted);
            let whole = whole.filter_map(|path| self.paths.get(&*path).copied());
            let found: Vec<&'d str> = whole.collect();
            if !alike.is_empty() || !found.is_empty() {
                let near = self.nearest_to(alike, &found, from);
                // Which folders elsewhere happen to have the last name of the path depends on how much of the tree is
                // seen; what is beside the properties does not.
                let is_vague = length == enough && found.is_empty();
                let is_below =
                    || near.is_some_and(|near| own.is_empty() || below(near, own).is_some());
                let beside = is_vague && self.submits(from) && !is_below();
                return self.at(own, call.name).filter(|_| beside).or(near);
            }
        }
        if let Some(found) = self.with_coordinator(from, call, &uri, values) {
            return Some(found);
        }
        // Properties are usually beside what they start, whatever the folder is called when deployed.
        let beside = || self.at(own, call.name).or_else(|| self.below(own, call.name));
        let beside = || beside().or_else(|| self.only_above(own, call.name));
        if let Some(found) = self.submits(from).then(beside).flatten() {
            return Some(found);
        }
        // In one repository, it may be below another top folder, if nothing else there is called like it.
        if !self.is_one || home.is_none() {
            return None;
        }
        let all = (enough..=ends.len()).rev().map(|length| self.with_end(ends[length - 1]));
        let mut all = all.filter(|found| !found.is_empty());
        match all.next()? {
            [(_, at)] => Some(self.in_order[*at as usize]),
            _ => None,
        }
    }

    /// Whether a caller is a file of properties, in either format: it is no definition.
    fn submits(&self, caller: &str) -> bool {
        !self.paths.contains(caller)
    }

    /// The workflow that is deployed with the coordinator that starts it: files beside the deployed coordinator are
    /// beside it in the tree, whatever the folder is called.
    fn with_coordinator(
        &self,
        from: &str,
        call: &Call,
        uri: &str,
        values: &BTreeMap<String, String>,
    ) -> Option<&'d str> {
        let (key, _) = KEYS[1];
        let is_start = call.name == NAMES[0] && !self.submits(from);
        let own =
            resolved(values.get(key).filter(|_| is_start && name_of(from) != NAMES[0])?, values);
        let mut folder = parts_of(&own);
        if folder.last().is_some_and(|last| last.ends_with(".xml")) {
            folder.pop();
        }
        let rest = parts_of(uri);
        let rest = rest.strip_prefix(folder.as_slice())?;
        // A single folder is evidence only of what is deployed in that folder itself.
        if folder.is_empty() || folder.len() == 1 && !rest.is_empty() {
            return None;
        }
        let own = folder_of(from);
        let beside = self.at(&join(own, &rest.join("/"))?, call.name);
        // A workflow deployed beside its coordinator may be one folder above it in the tree.
        beside.or_else(|| self.at(folder_of(own), call.name).filter(|_| rest.is_empty()))
    }

    /// The only such definition of the tree, if it is in the parent of a folder.
    fn only_above(&self, folder: &str, name: &str) -> Option<&'d str> {
        let above = Some(folder_of(folder)).filter(|above| *above != folder)?;
        self.at(above, name).filter(|_| self.counts.get(name) == Some(&1))
    }

    /// The only definition in the subfolders of a folder that has none itself.
    fn below(&self, folder: &str, name: &str) -> Option<&'d str> {
        let mut found = self.beside.get(folder)?.iter().filter_map(|below| {
            let below = join(folder, below)?;
            NAMES.iter().find_map(|name| self.paths.get(&*join(&below, name)?).copied())
        });
        let (one, other) = (found.next(), found.next());
        let only = one.filter(|path| other.is_none() && name_of(path) == name);
        only.or_else(|| self.only_below(folder, name))
    }

    /// The only coordinator or bundle in the subfolders of a folder that otherwise contain only workflows.
    fn only_below(&self, folder: &str, name: &str) -> Option<&'d str> {
        let all = self.beside.get(folder).filter(|_| name != NAMES[0])?;
        let mut found = all.iter().filter_map(|below| {
            let path = join(&join(folder, below)?, name)?;
            self.paths.get(&*path).copied()
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// Reports a path that should lead to a definition of this tree and does not. The path of an application in the
    /// tree shows where the tree is deployed: files beside the deployed application are beside it in the tree.
    pub(super) fn lost(
        &self,
        starter: &Starter,
        call: &Call,
        values: &BTreeMap<String, String>,
        is_root: bool,
    ) -> Option<Lost> {
        let uri = resolved(&call.uri, values);
        if uri.contains("${") || starter.kind == Kind::Properties {
            return None;
        }
        for (key, name) in KEYS {
            let Some(own) = values.get(key) else { continue };
            let own_uri = resolved(own, values);
            let probe = Call { uri: own_uri.clone(), name, ..call.clone() };
            // Properties start the application that they name, whatever its folder is called in the tree.
            let own = is_root.then_some(starter.path.as_str());
            let Some(target) = self.to(&starter.path, &probe, values).or(own) else { continue };
            let Some(path) = beside_application(&uri, &own_uri, target) else { continue };
            let is_file = path.ends_with(".xml");
            let wanted = if is_file { folder_of(&path) } else { path.as_str() };
            let folder = folder_of(wanted);
            // A missing folder is significant only beside others like it, or in a folder with definitions.
            let own_name = name_of(wanted);
            let all = || self.beside.get(folder).into_iter().flatten().copied();
            let beside = || all().filter(|name| *name != own_name);
            if self.at(&path, call.name).is_some() {
                return None;
            }
            // The file name of the definition itself, with a typo.
            let of_file =
                self.at(folder, call.name).is_some() && is_slip_of_folder(own_name, call.name);
            if all().next().is_none() && !of_file {
                return None;
            }
            let near = match of_file {
                true => Some(call.name.to_owned()),
                false => self.patience.nearest(own_name, beside()).map(str::to_owned),
            };
            // Values of properties must not be shown, except where in the tree they lead.
            let uri = if call.uri.contains("${") { call.uri.clone() } else { uri };
            return Some(Lost { span: call.span, uri, wanted: path, near });
        }
        None
    }

    /// Reports a typo in the last folder of a path that cannot be resolved: the intended definition is in a folder
    /// beside the caller or one level up that no other call of the caller names.
    pub(super) fn slipped(
        &self,
        starter: &Starter,
        call: &Call,
        values: &BTreeMap<String, String>,
    ) -> Option<Lost> {
        let uri = resolved(&call.uri, values);
        // Paths below the application are resolved there.
        if starter.kind == Kind::Properties || uri.starts_with("${wf:appPath()}") {
            return None;
        }
        let mut parts = parts_of(&uri);
        if let Some(open) = parts.iter().rposition(|part| part.contains("${")) {
            parts.drain(..=open);
        }
        let file = parts.pop_if(|last| last.ends_with(".xml"));
        let written = parts.pop()?;
        let own = folder_of(&starter.path);
        let above = Some(folder_of(own)).filter(|above| *above != own);
        let folders = || [Some(own), above].into_iter().flatten();
        let names = |folder: &str| self.beside.get(folder).into_iter().flatten().copied();
        if folders().any(|folder| names(folder).any(|name| name == written)) {
            return None;
        }
        let is_plural = |one: &str, other: &str| one.strip_suffix('s') == Some(other);
        let near = folders().find_map(|folder| {
            let near = self.patience.nearest(written, names(folder))?;
            let path = join(folder, near)?;
            let is_there = match file {
                Some(file) => self.paths.contains(&*join(&path, file)?),
                None => self.at(&path, call.name).is_some(),
            };
            // A plural may be the name of another folder; only the file name shows which one is meant.
            let is_known = file.is_some_and(|file| !NAMES.contains(&file));
            let is_other = !is_known && (is_plural(written, near) || is_plural(near, written));
            (is_there && !is_other && is_slip_of_folder(written, near)).then_some(near)
        })?;
        // A folder that another call names is not meant here.
        let means = |other: &Call| parts_of(&other.uri).contains(&near);
        let wanted = file.map_or(written.to_owned(), |file| format!("{written}/{file}"));
        let uri = if call.uri.contains("${") { call.uri.clone() } else { uri.clone() };
        let is_free = !starter.calls.iter().any(means);
        is_free.then(|| Lost { span: call.span, uri, wanted, near: Some(near.to_owned()) })
    }

    /// Reports a path that ends like that of a definition but leads to another folder than the definition's, relative
    /// to the deployed application: one folder in it has a typo, or differs from all other paths.
    pub(super) fn misled(
        &self,
        starter: &Starter,
        call: &Call,
        values: &BTreeMap<String, String>,
        target: &str,
    ) -> Option<Lost> {
        let uri = resolved(&call.uri, values);
        if uri.contains("${") || starter.kind == Kind::Properties {
            return None;
        }
        for (key, name) in KEYS {
            let Some(own) = values.get(key) else { continue };
            let own_uri = resolved(own, values);
            let probe = Call { uri: own_uri.clone(), name, ..call.clone() };
            let Some(own_target) = self.to(&starter.path, &probe, values) else { continue };
            let (there, here) = roots(&own_uri, own_target);
            let folder = split(folder_of(target));
            let Some(below) = folder.strip_prefix(here.as_slice()) else { continue };
            let meant: Vec<&str> = there.iter().chain(below).copied().collect();
            let mut written = parts_of(&uri);
            if written.last().is_some_and(|last| last.ends_with(".xml")) {
                written.pop();
            }
            if written == meant {
                return None;
            }
            let mut differing = written.iter().zip(&meant).filter(|(one, other)| one != other);
            let laid_out = || self.is_laid_out(&there, &here, values, [own_target, target]);
            let slip = match (differing.next(), differing.next()) {
                (Some((wrong, right)), None) if written.len() == meant.len() => {
                    let is_near = || within(wrong, right, 1).is_some() && laid_out();
                    let is_slip = is_slip_of_folder(wrong, right) || is_near();
                    is_slip.then(|| (*right).to_owned())
                }
                _ => None,
            };
            // If other definitions are laid out as in the tree, so is this one.
            let inside = written.strip_prefix(there.as_slice());
            let elsewhere = inside.is_some_and(|rest| {
                let path = join(&here.join("/"), &rest.join("/"));
                path.is_some_and(|path| self.at(&path, call.name).is_none())
            });
            let near = match slip {
                Some(right) => right,
                None if elsewhere && laid_out() => below.join("/"),
                None => return None,
            };
            let wanted = written.last().map_or(String::new(), |last| (*last).to_owned());
            let uri = if call.uri.contains("${") { call.uri.clone() } else { uri };
            return Some(Lost { span: call.span, uri, wanted, near: Some(near) });
        }
        None
    }

    /// Reports a path that is that of the caller itself except for a typo in one folder, if what it should start is
    /// beside the caller.
    pub(super) fn mistyped(
        &self,
        starter: &Starter,
        call: &Call,
        values: &BTreeMap<String, String>,
    ) -> Option<Lost> {
        let uri = resolved(&call.uri, values);
        if uri.contains("${") || starter.kind == Kind::Properties {
            return None;
        }
        self.at(folder_of(&starter.path), call.name)?;
        fn folders(uri: &str) -> Vec<&str> {
            let mut parts = parts_of(uri);
            parts.pop_if(|last| last.ends_with(".xml"));
            parts
        }
        let written = folders(&uri);
        KEYS.iter().find_map(|(key, _)| {
            let own = resolved(values.get(*key)?, values);
            let meant = folders(&own);
            let mut differing = written.iter().zip(&meant).filter(|(one, other)| one != other);
            let (wrong, right) = differing.next().filter(|_| written.len() == meant.len())?;
            let is_slip = differing.next().is_none() && is_slip_of_folder(wrong, right);
            is_slip.then(|| Lost {
                span: call.span,
                uri: if call.uri.contains("${") { call.uri.clone() } else { uri.clone() },
                wanted: written.last().map_or(String::new(), |last| (*last).to_owned()),
                near: Some((*right).to_owned()),
            })
        })
    }

    /// Whether some other path in the properties leads to a definition at the same relative place in the tree.
    fn is_laid_out(
        &self,
        there: &[&str],
        here: &[&str],
        values: &BTreeMap<String, String>,
        others: [&str; 2],
    ) -> bool {
        values.values().filter(|value| value.contains('/')).take(MOST_PARTS).any(|value| {
            let uri = resolved(value, values);
            let parts = parts_of(&uri);
            let Some(rest) = parts.strip_prefix(there).filter(|rest| !rest.is_empty()) else {
                return false;
            };
            let Some(path) = join(&here.join("/"), &rest.join("/")) else { return false };
            let found = NAMES.iter().find_map(|name| self.at(&path, name));
            found.is_some_and(|found| !others.contains(&found))
        })
    }

    /// The definition at a path, or in the folder at that path.
    fn at(&self, path: &str, name: &str) -> Option<&'d str> {
        let inside = join(path, name);
        let known = |path: &str| self.paths.get(path).copied();
        known(path).or_else(|| known(&inside?))
    }

    /// The path that has most components in common with `from`, if it is unique, among definitions with such an end and
    /// a few others.
    fn nearest_to(
        &self,
        candidates: &[(u64, u32)],
        others: &[&'d str],
        from: &str,
    ) -> Option<&'d str> {
        let common =
            |path: &str| path.split('/').zip(from.split('/')).take_while(|(a, b)| a == b).count();
        let path_of = |candidate: &(u64, u32)| self.in_order[candidate.1 as usize];
        let at = candidates.partition_point(|end| by_parts(path_of(end), from) == Ordering::Less);
        // Candidates with most in common are around the position at which `from` would be inserted.
        let around = &candidates[at.saturating_sub(2)..(at + 2).min(candidates.len())];
        let mut around: Vec<&'d str> =
            around.iter().map(path_of).chain(others.iter().copied()).collect();
        around.sort_unstable();
        around.dedup();
        let most = around.iter().map(|path| common(path)).max()?;
        let mut nearest = around.into_iter().filter(|path| common(path) == most);
        match (nearest.next(), nearest.next()) {
            (Some(path), None) => Some(path),
            // A bare name is ambiguous if several folders have it.
            _ => None,
        }
    }
}

/// The components of the path of a definition.
pub(super) fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// The order of two paths by their components: a slash comes before any other character.
fn by_parts(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let rank = |path: &[u8]| path.get(same).map(|byte| (*byte != b'/', *byte));
    rank(one).cmp(&rank(other))
}
