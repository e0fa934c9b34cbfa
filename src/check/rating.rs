//! Rates findings: assigns levels, drops those that are off, sorts, and merges repeated ones.

use super::{Finding, Input, fixture, without_tree};
use crate::diag::{Diagnostic, Level, Note};
use crate::settings::Rating;
use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use std::collections::BTreeMap;

/// Findings with their levels, and the numbers of findings that were lowered or dropped.
pub(super) struct Rated {
    pub(super) findings: Vec<Finding>,
    pub(super) overridden: usize,
    pub(super) held_back: usize,
}

/// Assigns each finding its file and level, drops those that are off, and sorts the rest. Counts the findings that
/// settings of the tree switched off or lowered, and those left to the strict profile because of their file.
pub(super) fn rate(input: &Input<'_>, mut found: Vec<Diagnostic>) -> Rated {
    let ratings = input.settings.ratings(input.settings_path);
    let mut overridden = 0;
    if let Some(without) = without_tree(input) {
        // Two passes may find the same fault here as well.
        let place = |found: &Diagnostic| (found.file.clone(), found.span, found.kind.name);
        found.sort_by(|a, b| (place(a), &a.message).cmp(&(place(b), &b.message)));
        found.dedup_by(|a, b| place(a) == place(b) && a.message == b.message);
        let is_lowered =
            |found: &&Diagnostic| match (ratings.rating(found.kind), without.rating(found.kind)) {
                (Rating::At(level), Rating::At(before)) => level < before,
                (Rating::Off, Rating::At(_)) => true,
                (_, Rating::Off) => false,
            };
        overridden = found.iter().filter(is_lowered).count();
    }
    let held_back = found.iter().filter(|found| {
        fixture::is_held_back(found)
            && ratings.rating_of(found) == Rating::Off
            && matches!(ratings.rating(found.kind), Rating::At(level) if level > Level::Info)
    });
    let held_back = held_back.count();
    let mut findings: Vec<Finding> = found
        .into_iter()
        .filter_map(|diagnostic| {
            let Rating::At(level) = ratings.rating_of(&diagnostic) else { return None };
            let path = diagnostic.file.clone().unwrap_or_else(|| input.source.path.clone());
            Some(Finding { path, level, diagnostic })
        })
        .collect();
    sort(&mut findings);
    // Two passes may find the same fault; the same message at the same place is reported once.
    findings.dedup_by(|a, b| {
        a.path == b.path
            && a.diagnostic.span == b.diagnostic.span
            && std::ptr::eq(a.diagnostic.kind, b.diagnostic.kind)
            && a.diagnostic.message == b.diagnostic.message
    });
    Rated { findings: bounded(fold(findings)), overridden, held_back }
}

/// Maximum number of findings of one kind in one file. Nobody reads more, and a file must not be able to make a report
/// arbitrarily long.
pub(super) const MOST_OF_A_KIND: usize = 1_000;

/// Keeps at most [`MOST_OF_A_KIND`] findings per kind and file. The last one kept states how many more there are.
fn bounded(findings: Vec<Finding>) -> Vec<Finding> {
    if findings.len() <= MOST_OF_A_KIND {
        return findings;
    }
    let mut counts: HashMap<(String, &'static str), (usize, usize)> = HashMap::new();
    let mut kept: Vec<Finding> = Vec::new();
    let mut more: BTreeMap<usize, (usize, Level)> = BTreeMap::new();
    for finding in findings {
        let key = (finding.path.clone(), finding.diagnostic.kind.name);
        let (count, last) = counts.entry(key).or_insert((0, 0));
        *count += 1;
        if *count <= MOST_OF_A_KIND {
            *last = kept.len();
            kept.push(finding);
        } else {
            let (places, level) = more.entry(*last).or_insert((0, finding.level));
            *places += finding.diagnostic.places;
            *level = (*level).max(finding.level);
        }
    }
    for (at, (places, level)) in more {
        let last = &mut kept[at];
        last.diagnostic.places += places;
        last.diagnostic.message.push_str(&format!(" (and {places} more like this follow)"));
        last.level = last.level.max(level);
    }
    kept
}

/// The key by which findings are repeats of one another: file, kind and subject.
type Repeated = (String, &'static str, String);

/// Merges the findings of one kind about one subject in one file into the first of the most severe ones, with a note
/// for each other place.
fn fold(findings: Vec<Finding>) -> Vec<Finding> {
    let key = |finding: &Finding| -> Option<Repeated> {
        let found = &finding.diagnostic;
        Some((finding.path.clone(), found.kind.name, found.subject.clone()?))
    };
    let mut heads: HashMap<Repeated, usize> = HashMap::new();
    for (at, finding) in findings.iter().enumerate() {
        let Some(key) = key(finding) else { continue };
        let head = heads.entry(key).or_insert(at);
        if finding.level > findings[*head].level {
            *head = at;
        }
    }
    if heads.is_empty() {
        return findings;
    }
    let mut others: HashMap<usize, Vec<Diagnostic>> = HashMap::new();
    let mut kept: Vec<(usize, Finding)> = Vec::with_capacity(findings.len());
    for (at, finding) in findings.into_iter().enumerate() {
        match key(&finding).map(|key| heads[&key]) {
            Some(head) if head != at => {
                others.entry(head).or_default().push(finding.diagnostic);
            }
            _ => kept.push((at, finding)),
        }
    }
    for (at, finding) in &mut kept {
        let Some(others) = others.remove(at) else { continue };
        let head = &mut finding.diagnostic;
        let mut known = HashSet::new();
        known.insert((head.file.clone(), head.span));
        let mut whole = true;
        for other in others {
            // One fix covers all places if each of them has the same kind of fix.
            let alike = head.fixes.first().zip(other.fixes.first());
            let alike = alike
                .is_some_and(|(one, other)| one.title == other.title && one.safety == other.safety);
            if alike && whole {
                let edits = other.fixes.into_iter().next().map(|fix| fix.edits);
                head.fixes[0].edits.extend(edits.into_iter().flatten());
            }
            whole &= alike;
            // Several callers may find the same fault at one place.
            if !known.insert((other.file.clone(), other.span)) {
                continue;
            }
            head.places += 1;
            head.notes.push(Note {
                file: other.file,
                span: other.span,
                message: "and here".to_owned(),
            });
        }
        match whole {
            true => {
                head.fixes.truncate(1);
                let edits = &mut head.fixes[0].edits;
                edits.sort_by(|a, b| (&a.file, a.span).cmp(&(&b.file, b.span)));
                edits.dedup();
            }
            false => head.fixes.clear(),
        }
    }
    kept.into_iter().map(|(_, finding)| finding).collect()
}

pub(super) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| key(a).cmp(&key(b)));
}

pub(super) fn key(finding: &Finding) -> (&str, u32, &str, &str) {
    let diagnostic = &finding.diagnostic;
    (&finding.path, diagnostic.span.start, diagnostic.kind.name, &diagnostic.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn one_place_counts_once() {
        let at = |start: u32| {
            let span = Span { start, end: start + 1 };
            let found = Diagnostic::new(&crate::check::FILE_TOO_LARGE, span, "x").about("x");
            let level = found.kind.level;
            Finding { path: "w.xml".to_owned(), level, diagnostic: found }
        };
        let folded = fold(vec![at(3), at(3), at(9), at(3), at(9)]);
        let [one] = &folded[..] else { panic!("{}", folded.len()) };
        assert_eq!((one.diagnostic.places, one.diagnostic.notes.len()), (2, 1));
    }
}
