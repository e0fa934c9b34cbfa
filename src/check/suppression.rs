//! Comments that suppress a finding: `ankus: allow(rule, rule) reason` before an element, `ankus: allow-file(…)` before
//! the root; in properties the same after `#`, before an entry.

use super::SUPPRESSION_UNUSED;
use crate::diag::{Diagnostic, Fix};
use crate::source::Span;
use crate::syntax::properties;
use crate::syntax::xml::{NodeKind, Tree};
use std::collections::HashMap;

/// One comment.
#[derive(Debug)]
pub(super) struct Suppression {
    /// Where it stands.
    comment: Span,
    /// What it covers.
    covers: Span,
    /// Rules it names, and whether each silenced something.
    rules: Vec<(String, bool)>,
}

/// Marks those of the findings `of` one file that are silenced, and the rules that silenced something. Comments and findings
/// are put in order and compared once, for both can be many.
pub(super) fn silence(
    suppressions: &mut [Suppression],
    found: &[Diagnostic],
    of: &[usize],
    silenced: &mut [bool],
) {
    let mut places: HashMap<&'static str, Vec<(u32, usize)>> = HashMap::new();
    for at in of {
        places.entry(found[*at].kind.name).or_default().push((found[*at].span.start, *at));
    }
    places.values_mut().for_each(|places| places.sort_unstable());
    let mut covered: HashMap<&'static str, Vec<Span>> = HashMap::new();
    for Suppression { covers, rules, .. } in suppressions {
        for (rule, used) in rules {
            let Some((name, places)) = places.get_key_value(rule.as_str()) else { continue };
            let first = places.partition_point(|(start, _)| *start < covers.start);
            *used |= places.get(first).is_some_and(|(start, _)| *start <= covers.end);
            if *used {
                covered.entry(name).or_default().push(*covers);
            }
        }
    }
    for (name, mut covered) in covered {
        covered.sort_unstable();
        let mut covered = covered.into_iter().peekable();
        let mut until = None;
        for (start, at) in &places[name] {
            while let Some(span) = covered.next_if(|span| span.start <= *start) {
                until = until.max(Some(span.end));
            }
            silenced[*at] |= until.is_some_and(|until| *start <= until);
        }
    }
}

/// Why a name in a comment silenced nothing.
pub(super) enum Idle<'k> {
    /// It is a rule that is looked for, and found nothing here.
    Unused,
    /// It is a group of rules.
    Group,
    /// No rule has this name; one that is nearly the same.
    Unknown(Option<&'k str>),
}

impl Suppression {
    /// A finding for each name that silenced nothing, where `idle` says why.
    pub(super) fn unused<'s, 'k>(
        &'s self,
        text: &'s str,
        idle: impl Fn(&str) -> Option<Idle<'k>> + 's,
    ) -> impl Iterator<Item = Diagnostic> + 's {
        let alone = self.rules.len() == 1;
        let is_idle = self.rules.iter().any(|(_, used)| !used);
        let places = if is_idle { places_of(&text[self.comment.range()]) } else { Vec::new() };
        let unused = self.rules.iter().enumerate().filter(|(_, (_, used))| !used);
        unused.filter_map(move |(index, (rule, _))| {
            let new = |message| Diagnostic::new(&SUPPRESSION_UNUSED, self.comment, message);
            Some(match idle(rule)? {
                Idle::Unused => {
                    let finding = new(format!("nothing here is reported as `{rule}`"))
                        .help("remove it from the comment");
                    // A comment that names more rules may still be of use.
                    if alone { finding.fix(self.removed(text)) } else { finding }
                }
                Idle::Group => new(format!("`{rule}` is a group, but a comment can only allow single rules"))
                    .help("name the rules that findings show in brackets; levels of groups belong in `ankus.toml`"),
                Idle::Unknown(near) => {
                    let finding = new(format!("there is no rule `{rule}`"));
                    let at = places.get(index).copied();
                    match near.zip(at) {
                        Some((near, at)) => {
                            let start = self.comment.start as usize + at;
                            let span = Span::new(start, start + rule.len());
                            finding
                                .did_you_mean(near)
                                .fix(Fix::guess(format!("Rename to `{near}`"), span, near))
                        }
                        None => finding.help("`ankus rules` lists them"),
                    }
                }
            })
        })
    }

    /// The fix that takes the comment out, with its line where it has one of its own.
    fn removed(&self, text: &str) -> Fix {
        let before = &text[..self.comment.start as usize];
        let start = before.trim_end_matches([' ', '\t']).len();
        let line = if before[..start].ends_with('\n') { start } else { before.len() };
        let rest = &text[self.comment.end as usize..];
        let ends = ["\r\n", "\n"].iter().find(|ends| rest.starts_with(**ends));
        let end = self.comment.end as usize + ends.map_or(0, |ends| ends.len());
        let span = match line == start && ends.is_some() {
            true => Span::new(start, end),
            false => self.comment,
        };
        Fix::safe("Remove the comment", span, "")
    }
}

/// Where the names of a comment stand in it, in their order.
fn places_of(comment: &str) -> Vec<usize> {
    let Some(open) = comment.find('(') else { return Vec::new() };
    let mut at = open + 1;
    let mut places = Vec::new();
    let names = comment[at..].split_once(')').map_or("", |(names, _)| names);
    for name in names.split(',') {
        if !name.trim().is_empty() {
            places.push(at + name.len() - name.trim_start().len());
        }
        at += name.len() + 1;
    }
    places
}

/// The rules a comment names, and whether it is for the whole file.
fn read(comment: &str) -> Option<(Vec<(String, bool)>, bool)> {
    let rest = comment.trim_start().strip_prefix("ankus:")?.trim_start();
    let (rest, whole) = match rest.strip_prefix("allow-file") {
        Some(rest) => (rest, true),
        None => (rest.strip_prefix("allow")?, false),
    };
    let (names, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let rules = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    Some((rules.map(|rule| (rule.to_owned(), false)).collect(), whole))
}

/// The comments of a definition.
pub(super) fn of_tree(tree: &Tree) -> Vec<Suppression> {
    let everything = Span::new(0, tree.text().len());
    let root_start = tree.root().map_or(u32::MAX, |root| root.span().start);
    let mut read_so_far: Vec<Suppression> = Vec::new();
    // Cheap where there is nothing to find, which is nearly everywhere.
    if !tree.text().contains("ankus:") {
        return read_so_far;
    }
    let mut waiting: Vec<usize> = Vec::new();
    for node in tree.nodes() {
        match node.kind() {
            NodeKind::Comment => {
                let Some((rules, whole)) = read(node.raw()) else { continue };
                if whole && node.span().start >= root_start {
                    continue;
                }
                // Until its element comes, a comment covers nothing.
                let nothing = Span::at(node.span().end as usize);
                let covers = if whole { everything } else { nothing };
                if !whole {
                    waiting.push(read_so_far.len());
                }
                read_so_far.push(Suppression { comment: node.span(), covers, rules });
            }
            NodeKind::Element => {
                for index in waiting.drain(..) {
                    read_so_far[index].covers = node.span();
                }
            }
            _ => {}
        }
    }
    read_so_far
}

/// The comments of a file of properties.
pub(super) fn of_properties(text: &str) -> Vec<Suppression> {
    let read_text = properties::parse(text);
    let mut found = Vec::new();
    for comment in &read_text.comments {
        let Some((rules, whole)) = read(&comment.text) else { continue };
        let before = |entry: &properties::Entry| entry.span.start < comment.span.end;
        let next = read_text.entries.get(read_text.entries.partition_point(before));
        let covers = match next {
            _ if whole => Span::new(0, text.len()),
            Some(entry) => entry.span,
            None => Span::at(comment.span.end as usize),
        };
        found.push(Suppression { comment: comment.span, covers, rules });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_names_rules() {
        let names = |text| read(text).map(|(rules, whole)| (rules.len(), whole));
        assert_eq!(names(" ankus: allow(error-swallowed) on purpose "), Some((1, false)));
        assert_eq!(names("ankus: allow(a, b)"), Some((2, false)));
        assert_eq!(names("ankus:allow-file(a)"), Some((1, true)));
        assert_eq!(places_of("<!-- ankus: allow(ab, a , ) a -->"), [18, 22]);
        assert_eq!(names("allow(a)"), None);
        assert_eq!(names("ankus: allow"), None);
    }
}
