//! Applying fixes to texts.
//!
//! In: texts and the [`Edit`]s of fixes. Out: new texts, in which every byte that no edit covers is the one that was
//! there; and differences between texts, for people and for `patch`. Which fixes are worth applying is not decided
//! here.

use crate::diag::{Edit, Fix};
use std::collections::BTreeMap;

/// Two edits want the same place, or an edit does not fit the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

/// Fixes that can be applied together: none of their edits touches another.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// By path, each list in source order.
    edits: BTreeMap<String, Vec<Edit>>,
}

impl Batch {
    /// Nothing yet.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Takes a fix in, all of its edits or none. `path` is the file of its finding. An edit that is there already, from
    /// another fix, is shared.
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

    /// The paths it changes, with their edits.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[Edit])> {
        self.edits.iter().map(|(path, edits)| (path.as_str(), edits.as_slice()))
    }
}

/// Whether two edits meet: ranges that share a byte, or of which one inserts where the other begins or ends. Two
/// insertions at one place have no order, so they never go together.
fn touch(one: &Edit, other: &Edit) -> bool {
    let (first, second) = if one.span <= other.span { (one, other) } else { (other, one) };
    let inserts = first.span.start == first.span.end || second.span.start == second.span.end;
    if inserts { first.span.end >= second.span.start } else { first.span.end > second.span.start }
}

/// The text with every edit applied. Edits are in source order.
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

/// The difference of two texts of one file, as `patch` and `git apply` read it; empty where there is none.
pub fn unified_diff(path: &str, before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    similar::TextDiff::from_lines(before, after)
        .unified_diff()
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

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
