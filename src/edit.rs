//! Applying fixes to texts.
//!
//! Applies the [`Edit`]s of fixes to texts; every byte outside the edits stays unchanged. Also computes differences
//! between texts, for people and for `patch`. Which fixes to apply is decided elsewhere.

use crate::diag::{Edit, Fix};
use crate::source::Span;
use crate::text::MASK;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput, Token};
use std::collections::BTreeMap;
use std::ops::Range;

/// Two edits overlap, or an edit does not fit the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

/// Fixes that can be applied together: none of their edits overlap.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Edits by path, each list in source order.
    edits: BTreeMap<String, Vec<Edit>>,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Adds a fix, either all of its edits or none. `path` is the file of its finding. An identical edit of another
    /// fix is shared.
    pub fn add(&mut self, path: &str, fix: &Fix) -> Result<(), Conflict> {
        let mut added = self.clone();
        for edit in &fix.edits {
            let path = edit.file.as_deref().unwrap_or(path);
            let edits = added.edits.entry(path.to_owned()).or_default();
            if edits.iter().any(|known| known.span == edit.span && known.text == edit.text) {
                continue;
            }
            if edits.iter().any(|known| touch(known, edit)) {
                return Err(Conflict);
            }
            let at = edits.partition_point(|known| known.span < edit.span);
            edits.insert(at, Edit { file: None, ..edit.clone() });
        }
        *self = added;
        Ok(())
    }

    /// The paths of the changed files, with their edits.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[Edit])> {
        self.edits.iter().map(|(path, edits)| (path.as_str(), edits.as_slice()))
    }
}

/// Whether two edits conflict: their ranges share a byte, or one inserts where the other begins or ends. Two
/// insertions at the same offset have no order, so they always conflict.
fn touch(one: &Edit, other: &Edit) -> bool {
    let (first, second) = if one.span <= other.span { (one, other) } else { (other, one) };
    let inserts = first.span.start == first.span.end || second.span.start == second.span.end;
    if inserts { first.span.end >= second.span.start } else { first.span.end > second.span.start }
}

/// Applies the edits to a text. Edits are in source order.
///
/// ```
/// use ankus::{diag::Fix, edit, source::Span};
///
/// let fix = Fix::safe("Say it in full", Span::new(0, 2), "good").and(Span::at(3), "bright ");
/// assert_eq!(edit::apply("gd day", &fix.edits).unwrap(), "good bright day");
/// ```
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, Conflict> {
    let mut out = String::with_capacity(text.len());
    let mut behind = 0;
    for edit in edits {
        let range = edit.span.range();
        let kept = text.get(behind..range.start).ok_or(Conflict)?;
        if text.get(range.clone()).is_none() {
            return Err(Conflict);
        }
        out.push_str(kept);
        out.push_str(&edit.text);
        behind = range.end;
    }
    out.push_str(&text[behind..]);
    Ok(out)
}

/// The line replacements that turn `before` into `after`, in the order of the text.
pub fn changes(before: &str, after: &str) -> Vec<Edit> {
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    // The offset at which each line begins.
    let starts = |lines: &[Token]| {
        let mut at = 0;
        let mut starts = vec![0];
        for line in lines {
            at += input.interner[*line].len();
            starts.push(at);
        }
        starts
    };
    let (old, new) = (starts(&input.before), starts(&input.after));
    diff.hunks()
        .map(|hunk| {
            let of = |starts: &[usize], range: std::ops::Range<u32>| {
                starts[range.start as usize]..starts[range.end as usize]
            };
            let range = of(&old, hunk.before.clone());
            let text = after[of(&new, hunk.after.clone())].to_owned();
            Edit { file: None, span: Span::new(range.start, range.end), text }
        })
        .collect()
}

/// Context lines around a change in a diff.
const CONTEXT_LINES: u32 = 3;

/// The unified diff of two versions of a file, as `patch` and `git apply` read it; empty if they are equal.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    difference(&format!("a/{path}"), &format!("b/{path}"), before, after)
}

/// Like [`unified_diff`], with given names for the two versions.
pub fn difference(before_name: &str, after_name: &str, before: &str, after: &str) -> String {
    hiding(before_name, after_name, (before, &[]), (after, &[])).0
}

/// A text, and the ranges of it that must not be shown, in order.
pub type Hiding<'t> = (&'t str, &'t [Range<usize>]);

/// Returns a diff in which hidden ranges are masked, and whether it contains a mask: such a diff cannot be applied,
/// since masked lines do not match the file.
pub fn masked_diff(path: &str, before: Hiding<'_>, after: Hiding<'_>) -> (String, bool) {
    hiding(&format!("a/{path}"), &format!("b/{path}"), before, after)
}

/// Returns the masked form of each line of a text, with its line end; `None` for a line without a hidden part.
fn shown_lines((text, hidden): Hiding<'_>) -> Vec<Option<String>> {
    let (mut start, mut from) = (0, 0);
    let lines = text.split_inclusive('\n').map(|line| {
        let range = start..start + line.len();
        start = range.end;
        from += hidden[from..].partition_point(|part| part.end <= range.start);
        let words = range.start..range.start + line.trim_end_matches(['\n', '\r']).len();
        let (mut shown, mut at) = (None::<String>, range.start);
        for part in hidden[from..].iter().take_while(|part| part.start < words.end) {
            let (begins, ends) = (part.start.max(words.start), part.end.min(words.end));
            if begins < ends {
                let shown = shown.get_or_insert_default();
                shown.push_str(&text[at..begins]);
                shown.push_str(MASK);
                at = ends;
            }
        }
        shown.map(|shown| shown + &text[at..range.end])
    });
    lines.collect()
}

fn hiding(
    before_name: &str,
    after_name: &str,
    (before, hidden_before): Hiding<'_>,
    (after, hidden_after): Hiding<'_>,
) -> (String, bool) {
    if before == after {
        return (String::new(), false);
    }
    let (old_lines, new_lines) =
        (shown_lines((before, hidden_before)), shown_lines((after, hidden_after)));
    let mut is_masked = false;
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let mut out = format!("--- {before_name}\n+++ {after_name}\n");
    let mut line = |mark: char, token: Token, shown: Option<&String>, out: &mut String| {
        is_masked |= shown.is_some();
        let line = shown.map_or(input.interner[token], String::as_str);
        out.push(mark);
        out.push_str(line);
        if !line.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    };
    // Hunks whose context lines would meet are shown as one.
    let is_near = |one: &Hunk, next: &Hunk| next.before.start - one.before.end <= 2 * CONTEXT_LINES;
    for group in hunks.chunk_by(is_near) {
        let (first, last) = (&group[0], &group[group.len() - 1]);
        let ahead = first.before.start.min(CONTEXT_LINES);
        let behind = (input.before.len() as u32 - last.before.end).min(CONTEXT_LINES);
        // Lines count from 1; an empty range names the line before it.
        let range = |start: u32, end: u32| match end - start {
            0 => format!("{start},0"),
            1 => (start + 1).to_string(),
            count => format!("{},{count}", start + 1),
        };
        let old = range(first.before.start - ahead, last.before.end + behind);
        let new = range(first.after.start - ahead, last.after.end + behind);
        out.push_str(&format!("@@ -{old} +{new} @@\n"));
        let mut at = first.before.start - ahead;
        for hunk in group {
            let old = |at: u32| (input.before[at as usize], old_lines[at as usize].as_ref());
            let new = |at: u32| (input.after[at as usize], new_lines[at as usize].as_ref());
            for (token, shown) in (at..hunk.before.start).map(old) {
                line(' ', token, shown, &mut out);
            }
            for (token, shown) in hunk.before.clone().map(old) {
                line('-', token, shown, &mut out);
            }
            for (token, shown) in hunk.after.clone().map(new) {
                line('+', token, shown, &mut out);
            }
            at = hunk.before.end;
        }
        for at in at..at + behind {
            line(' ', input.before[at as usize], old_lines[at as usize].as_ref(), &mut out);
        }
    }
    (out, is_masked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn what_is_hidden_is_in_no_line_of_a_diff() {
        let (before, after) = ("a=1\npw=open sesame\nb=2 \n", "a=1\npw=open sesame\nb=2\n");
        let only = std::slice::from_ref::<std::ops::Range<usize>>;
        let hidden = only(&(7..18));
        let (diff, is_masked) = masked_diff("x", (before, hidden), (after, hidden));
        assert_eq!(diff, "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a=1\n pw=***\n-b=2 \n+b=2\n");
        assert!(is_masked);
        let (before, after) = ("pw=open sesame \r\nb", "pw=open sesame\r\nb");
        let (diff, _) = masked_diff("x", (before, only(&(3..14))), (after, only(&(3..14))));
        assert!(diff.contains("-pw=*** \r\n+pw=***\r\n"), "{diff}");
        // A range over several lines leaves the line ends unmasked.
        let hidden = only(&(1..6));
        let (diff, _) = masked_diff("x", ("one\ntwo\nb", hidden), ("one\ntwo\nc", hidden));
        assert!(diff.contains(" o***\n ***o\n-b\n"), "{diff}");
        let (diff, is_masked) = masked_diff("x", ("a\n", &[]), ("b\n", &[]));
        assert_eq!((diff.as_str(), is_masked), ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", false));
    }

    fn edit(start: usize, end: usize, text: &str) -> Fix {
        Fix::safe("x", Span::new(start, end), text)
    }

    #[test]
    fn a_fix_is_taken_whole_or_not_at_all() {
        let mut batch = Batch::new();
        batch.add("a", &edit(2, 4, "x")).unwrap();
        assert_eq!(batch.add("a", &edit(0, 1, "y").and(Span::new(3, 5), "z")), Err(Conflict));
        batch.add("a", &edit(4, 6, "y")).unwrap();
        batch.add("a", &edit(2, 4, "x")).unwrap();
        assert_eq!(batch.add("a", &edit(4, 4, "between")), Err(Conflict));
        batch.add("b", &edit(3, 3, "elsewhere")).unwrap();
        let counts: Vec<_> = batch.files().map(|(path, edits)| (path, edits.len())).collect();
        assert_eq!(counts, [("a", 2), ("b", 1)]);
    }

    #[test]
    fn differences_are_as_patch_reads_them() {
        assert_eq!(unified_diff("x", "a\n", "a\n"), "");
        assert_eq!(
            unified_diff("x", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\nsix\n7\n8\n9\n0\n"),
            "--- a/x\n+++ b/x\n@@ -3,7 +3,8 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n+0\n"
        );
        let mark = "\\ No newline at end of file\n";
        for (before, after, hunk) in [
            ("", "a\n", "@@ -0,0 +1 @@\n+a\n".to_owned()),
            ("a\n", "", "@@ -1 +0,0 @@\n-a\n".to_owned()),
            ("a\nb", "a\nb\n", format!("@@ -1,2 +1,2 @@\n a\n-b\n{mark}+b\n")),
            ("a\nb\n", "a\nb", format!("@@ -1,2 +1,2 @@\n a\n-b\n+b\n{mark}")),
            ("a\nb", "c\nb", format!("@@ -1,2 +1,2 @@\n-a\n+c\n b\n{mark}")),
        ] {
            assert_eq!(unified_diff("x", before, after), format!("--- a/x\n+++ b/x\n{hunk}"));
        }
    }

    /// Applies a diff as `patch` does, without its leniency.
    fn patched(before: &str, diff: &str) -> String {
        let mut old = before.split_inclusive('\n');
        let mut taken = 0;
        let mut out = String::new();
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        while let Some(line) = lines.next() {
            if let Some(range) = line.strip_prefix("@@ -") {
                let (start, rest) = range.split_once([',', ' ']).expect("a range");
                let start: usize = start.parse().expect("a number");
                let first = if rest.starts_with("0 ") { start } else { start - 1 };
                (taken..first).for_each(|_| out.push_str(old.next().expect("a line")));
                taken = first;
                continue;
            }
            let has_no_end = lines.peek().is_some_and(|next| next.starts_with('\\'));
            let (mark, mut text) = line.split_at(1);
            if has_no_end {
                text = text.trim_end_matches('\n');
                lines.next();
            }
            if mark != "+" {
                assert_eq!(old.next(), Some(text), "{diff}");
                taken += 1;
            }
            if mark != "-" {
                out.push_str(text);
            }
        }
        out.extend(old);
        out
    }

    proptest::proptest! {
        #[test]
        fn any_difference_makes_the_one_of_the_other(before in "([abc]?\n){0,24}a?", after in "([abc]?\n){0,24}a?") {
            let diff = unified_diff("x", &before, &after);
            proptest::prop_assert_eq!(before == after, diff.is_empty());
            proptest::prop_assert_eq!(patched(&before, &diff), after, "{}", diff);
        }
    }

    #[test]
    fn the_rest_stays_byte_for_byte() {
        let text = "\u{feff}<a>\r\n é <![CDATA[ x ]]></a>\r";
        let fix = edit(4, 5, "b");
        assert_eq!(apply(text, &fix.edits).unwrap(), "\u{feff}<b>\r\n é <![CDATA[ x ]]></a>\r");
        assert_eq!(apply("é", &edit(1, 2, "").edits), Err(Conflict));
        assert_eq!(apply("a", &edit(0, 9, "").edits), Err(Conflict));
    }

    #[test]
    fn differences_are_patches() {
        let diff = unified_diff("w.xml", "a\nb\n", "a\nc\n");
        assert_eq!(diff, "--- a/w.xml\n+++ b/w.xml\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified_diff("w.xml", "a", "a"), "");
    }
}
