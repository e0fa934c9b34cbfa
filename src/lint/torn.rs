//! Finds properties that are not set because of a fault in their line.
//!
//! For a properties file, and a name that it does not set, it finds the place that was meant to set it: a line without
//! its `=`, or the value of the line before, which swallows it.

use crate::diag::{Diagnostic, Fault, Kind};
use crate::source::{Source, Span};
use crate::syntax::properties::Entry;

/// Maximum amount of text searched for the names of one definition, in bytes: a large file that lacks many names would
/// be searched for each of them.
pub(super) const MOST_LOOKED_THROUGH: usize = 4 << 20;

/// Returns the finding about the line that was meant to set a name. The amount of text searched is deducted from
/// `left`.
pub(super) fn torn(
    kind: &'static Kind,
    source: &Source,
    entries: &[Entry],
    name: &str,
    left: &mut usize,
) -> Option<Diagnostic> {
    *left = left.checked_sub(source.text.len())?;
    let (entry, fault, (span, message, help)) = entries.iter().find_map(|entry| {
        let found = without_sign(source, entry, name).or_else(|| in_a_list(entry, name));
        let found = found.map(|found| (entry, Fault::NoSign, found));
        let within = || Some((entry, Fault::InValue, behind_another(source, entry, name)?));
        found.or_else(within)
    })?;
    let finding = Diagnostic::new(kind, span, message).of(fault).naming([name]);
    let finding = finding.about(name).help(help).likely();
    let mut finding = finding.in_file(source.path.clone());
    // Other findings about a value that contains another property are consequences of this one.
    finding.explains = Some(entry.value_span);
    Some(finding)
}

type Found = (Span, String, &'static str);

/// `nameNodehdfs://nn`, `path-${root}/a`: the text after the name is not part of it.
fn without_sign(source: &Source, entry: &Entry, name: &str) -> Option<Found> {
    let rest = entry.name.strip_prefix(name).filter(|rest| !rest.is_empty())?;
    let between = source.text.get(entry.name_span.end as usize..entry.value_span.start as usize)?;
    // A colon also ends a key; that of a URI was not meant to.
    let is_uri = between.trim() == ":" && entry.value.starts_with("//");
    let is_value = !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let is_lost = is_uri || is_value && entry.value.is_empty() && !between.contains(['=', ':']);
    let start = entry.name_span.start as usize;
    let span = Span::new(start, start + name.len());
    let message = format!("`{name}` has no `=`, so nothing sets it");
    is_lost.then_some((span, message, "write `=` after the name"))
}

/// `- queueName: default`, as in YAML: the name of the property is the dash.
fn in_a_list(entry: &Entry, name: &str) -> Option<Found> {
    let rest = entry.value.strip_prefix(name).filter(|_| matches!(&*entry.name, "-" | "*"))?;
    let sign = &entry.name;
    let message = format!("this line sets `{sign}`, and nothing sets `{name}`");
    let is_pair = rest.trim_start().starts_with([':', '=']);
    is_pair.then_some((entry.name_span, message, "write `name=value`, with nothing in front of it"))
}

/// `a=1 b=2`: the value of `a` is `1 b=2`.
fn behind_another(source: &Source, entry: &Entry, name: &str) -> Option<Found> {
    let raw = source.slice(entry.value_span);
    let begins = |(at, _): &(usize, &str)| {
        let (before, behind) = (&raw[..*at], &raw[at + name.len()..]);
        before.ends_with([' ', '\t']) && behind.trim_start_matches([' ', '\t']).starts_with('=')
    };
    let (at, _) = raw.match_indices(name).find(begins)?;
    let start = entry.value_span.start as usize + at;
    let span = Span::new(start, start + name.len());
    let message = format!("`{name}` is part of the value of `{}`, so nothing sets it", entry.name);
    Some((span, message, "start a new line before it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::properties;

    static KIND: &Kind = &super::super::rules::ALL[0].kind;

    fn found(text: &str, name: &str) -> Option<String> {
        let source = Source::new("job.properties", text);
        let entries = properties::parse(text).entries;
        torn(KIND, &source, &entries, name, &mut { MOST_LOOKED_THROUGH })
            .map(|finding| finding.message)
    }

    #[test]
    fn a_line_without_its_sign() {
        let told = Some("`nameNode` has no `=`, so nothing sets it".to_owned());
        assert_eq!(found("nameNodehdfs://nn:8020\n", "nameNode"), told);
        assert_eq!(found("nameNode-${root}/a\n", "nameNode"), told);
        for text in ["nameNode2=hdfs://nn\n", "nameNode.old=a\n", "nameNode-old=a\n", "nameNodes\n"]
        {
            assert_eq!(found(text, "nameNode"), None, "{text}");
        }
    }

    #[test]
    fn a_line_of_a_list() {
        let told = Some("this line sets `-`, and nothing sets `queueName`".to_owned());
        assert_eq!(found("- queueName: default\n", "queueName"), told);
        assert_eq!(found("- queueNames: default\n", "queueName"), None);
    }

    #[test]
    fn patience_ends() {
        let text = "nameNodehdfs://nn:8020\n";
        let source = Source::new("job.properties", text);
        let entries = properties::parse(text).entries;
        let mut left = text.len();
        assert!(torn(KIND, &source, &entries, "nameNode", &mut left).is_some());
        assert!(torn(KIND, &source, &entries, "nameNode", &mut left).is_none());
    }

    #[test]
    fn a_line_that_goes_on_with_another_name() {
        let told = Some("`b` is part of the value of `a`, so nothing sets it".to_owned());
        assert_eq!(found("a=1 b=2\n", "b"), told);
        assert_eq!(found("a=1 b = 2\n", "b"), told);
        for text in ["a=1 ab=2\n", "a=--b=2\n", "a=1 b\n"] {
            assert_eq!(found(text, "b"), None, "{text}");
        }
    }
}
