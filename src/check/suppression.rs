//! Comments that suppress a finding: `ankus: allow(rule, rule) reason` before an element, `ankus: allow-file(…)` before
//! the root; in properties the same after `#`, before an entry.

use super::SUPPRESSION_UNUSED;
use crate::diag::{Diagnostic, Fix, nearest};
use crate::source::Span;
use crate::syntax::properties;
use crate::syntax::xml::{NodeKind, Tree};
use std::collections::HashMap;

/// A suppression comment.
#[derive(Debug)]
pub(super) struct Suppression {
    /// The span of the comment.
    comment: Span,
    /// The span that it applies to.
    covers: Span,
    /// The rules it names, each with whether it suppressed something.
    rules: Vec<(String, bool)>,
    /// The correct syntax, if the comment is meant to be a suppression but cannot be parsed.
    wanted: Option<&'static str>,
}

/// Marks the findings `of` one file that are suppressed, and the rules that suppressed something. Comments and findings
/// are sorted and compared in one pass, since there can be many of both.
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

/// Why a name in a comment suppressed nothing.
pub(super) enum Idle<'k> {
    /// The rule is on, but has no finding here.
    Unused,
    /// The name is that of a group of rules, or an error code.
    Family(&'static str),
    /// No rule has this name; the rule with the most similar name, if any.
    Unknown(Option<&'k str>),
}

impl Suppression {
    /// Returns a finding for each name that suppressed nothing and for which `idle` gives a reason.
    pub(super) fn unused<'s, 'k>(
        &'s self,
        text: &'s str,
        idle: impl Fn(&str) -> Option<Idle<'k>> + 's,
    ) -> impl Iterator<Item = Diagnostic> + 's {
        let alone = self.rules.len() == 1;
        let is_idle = self.rules.iter().any(|(_, used)| !used);
        let places = if is_idle { places_of(&text[self.comment.range()]) } else { Vec::new() };
        let unused = self.rules.iter().enumerate().filter(|(_, (_, used))| !used);
        let new = |message| Diagnostic::new(&SUPPRESSION_UNUSED, self.comment, message);
        let unread =
            self.wanted.map(|wanted| new("this comment allows nothing".to_owned()).help(wanted));
        let unused = unused.filter_map(move |(index, (rule, _))| {
            Some(match idle(rule)? {
                Idle::Unused => {
                    let finding = new(format!("nothing here is reported as `{rule}`"))
                        .help("remove it from the comment");
                    // A comment that names other rules too may still be useful.
                    if alone { finding.fix(self.removed(text)) } else { finding }
                }
                Idle::Family(what) => new(format!("`{rule}` is a {what}, but a comment can only allow single rules"))
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
        });
        unread.into_iter().chain(unused)
    }

    /// Returns the fix that removes the comment, and its line if nothing else is on it.
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

/// Returns the offsets of the rule names in a comment, in order.
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

/// The meaning of a comment.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// An ordinary comment for readers.
    Other,
    /// A suppression: the rules that it names, and whether it applies to the whole file.
    Allowed(Vec<String>, bool),
    /// It is meant as a suppression but has the wrong syntax.
    Unread,
}

fn read(comment: &str) -> Said {
    let comment = comment.trim_start();
    if let Some(rest) = comment.strip_prefix("ankus:").map(str::trim_start) {
        let (rest, whole) = match rest.strip_prefix("allow-file") {
            Some(rest) => (Some(rest), true),
            None => (rest.strip_prefix("allow"), false),
        };
        let names = rest.and_then(|rest| rest.trim_start().strip_prefix('(')?.split_once(')'));
        if let Some((names, _)) = names {
            let rules = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            let rules: Vec<String> = rules.map(str::to_owned).collect();
            return if rules.is_empty() { Said::Unread } else { Said::Allowed(rules, whole) };
        }
    }
    if is_meant_to_allow(comment) { Said::Unread } else { Said::Other }
}

/// Whether a comment is a misspelled suppression: `ankus: Allow(…)`, `ankus allow(…)`, `ankus: ignore(…)`, or one
/// without parentheses. A comment that merely mentions ankus is not.
fn is_meant_to_allow(comment: &str) -> bool {
    let Some(rest) = comment.get(5..).filter(|_| comment[..5].eq_ignore_ascii_case("ankus")) else {
        return false;
    };
    let colon = rest.trim_start().strip_prefix(':');
    let rest = colon.unwrap_or(rest).trim_start();
    let is_of_word = |c: char| c.is_ascii_alphabetic() || c == '-' || c == '_';
    let end = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
    let (word, rest) = (rest[..end].to_ascii_lowercase(), rest[end..].trim_start());
    let has_names = rest.starts_with('(');
    let is_near = nearest(&word, ["allow", "allow-file"]).is_some();
    let is_of_others =
        ["disable", "ignore", "skip", "suppress"].iter().any(|of| word.starts_with(of));
    match colon {
        Some(_) if word == "allow" || word == "allow-file" => true,
        _ => has_names && (is_near || is_of_others),
    }
}

/// Returns the suppressions in a definition.
pub(super) fn of_tree(tree: &Tree) -> Vec<Suppression> {
    let everything = Span::new(0, tree.text().len());
    let root_start = tree.root().map_or(u32::MAX, |root| root.span().start);
    let mut read_so_far: Vec<Suppression> = Vec::new();
    // A fast path: almost no text contains a suppression.
    if memchr::memmem::find(tree.text().as_bytes(), b"nkus").is_none() {
        return read_so_far;
    }
    let mut waiting: Vec<usize> = Vec::new();
    for node in tree.nodes() {
        match node.kind() {
            NodeKind::Comment => {
                // A comment covers nothing until its element is found.
                let nothing = Span::at(node.span().end as usize);
                let said = read(node.raw());
                let (covers, rules, wanted) = match said {
                    Said::Other => continue,
                    Said::Unread => {
                        let wanted =
                            "write `<!-- ankus: allow(rule) reason -->` before the element";
                        (nothing, Vec::new(), Some(wanted))
                    }
                    Said::Allowed(_, true) if node.span().start >= root_start => (
                        nothing,
                        Vec::new(),
                        Some("`allow-file` must come before the root element"),
                    ),
                    Said::Allowed(rules, true) => (everything, rules, None),
                    Said::Allowed(rules, false) => {
                        waiting.push(read_so_far.len());
                        (nothing, rules, None)
                    }
                };
                let rules = rules.into_iter().map(|rule| (rule, false)).collect();
                read_so_far.push(Suppression { comment: node.span(), covers, rules, wanted });
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

/// Returns the suppressions in a properties file.
pub(super) fn of_properties(text: &str) -> Vec<Suppression> {
    let read_text = properties::parse(text);
    let mut found = Vec::new();
    for comment in &read_text.comments {
        let Said::Allowed(rules, whole) = read(&comment.text) else { continue };
        let before = |entry: &properties::Entry| entry.span.start < comment.span.end;
        let next = read_text.entries.get(read_text.entries.partition_point(before));
        let covers = match next {
            _ if whole => Span::new(0, text.len()),
            Some(entry) => entry.span,
            None => Span::at(comment.span.end as usize),
        };
        let rules = rules.into_iter().map(|rule| (rule, false)).collect();
        found.push(Suppression { comment: comment.span, covers, rules, wanted: None });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_names_rules() {
        let names = |text| match read(text) {
            Said::Allowed(rules, whole) => Some((rules.len(), whole)),
            Said::Other | Said::Unread => None,
        };
        assert_eq!(names(" ankus: allow(error-swallowed) on purpose "), Some((1, false)));
        assert_eq!(names("ankus: allow(a, b)"), Some((2, false)));
        assert_eq!(names("ankus:allow-file(a)"), Some((1, true)));
        assert_eq!(places_of("<!-- ankus: allow(ab, a , ) a -->"), [18, 22]);
        for meant in [
            "ankus: allow",
            "ankus: allow error-swallowed",
            "ankus: allow()",
            "ankus: allow(a",
            "Ankus: allow(a)",
            "ankus: Allow(a)",
            "ankus allow(a)",
            "ankus: alow(a)",
            "ankus: allow_file(a)",
            "ankus: ignore(a) x",
            "ankus:disable-next-line(a)",
        ] {
            assert_eq!(read(meant), Said::Unread, "{meant}");
        }
        for other in
            ["allow(a)", "ankus", "ankus allows it", "ankus: see the wiki (page 2)", "ankusé: a"]
        {
            assert_eq!(read(other), Said::Other, "{other}");
        }
    }
}
