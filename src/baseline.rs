//! Known findings, so that a project can start by fixing new ones.
//!
//! A baseline file lists known findings. [`write()`] creates one from a report; [`Baseline::apply`] removes the listed
//! findings from a report. An entry is a rule, a file, a message and the trimmed source line: moving lines changes
//! nothing, changing a line brings its findings back. Paths are relative to the baseline's folder, so that it works
//! wherever a check is started; the caller converts displayed paths. Entries count: with two in the file and three in
//! the report, the last one is new. Values of properties and secrets are masked. The file is JSON with one entry per
//! line, so that it can be merged.

use crate::check::{Finding, Report};
use crate::text::MASK;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// The version of the file format.
const VERSION: u64 = 1;

/// What identifies a finding across reports.
type Key = (String, String, String, String);

/// Maximum length of the source text in a key, in bytes. Of a longer line only the part around the finding is used;
/// otherwise one long line with many findings would be stored for each of them.
const LONGEST_LINE: usize = 2_000;

/// The trimmed line of a finding, without the values that are `hidden` in its file: a baseline is kept in
/// repositories, and a fingerprint in reports.
pub(crate) fn line_of<'r>(
    report: &'r Report,
    finding: &Finding,
    hidden: &BTreeMap<&str, Vec<Range<usize>>>,
) -> Cow<'r, str> {
    let Some((source, _)) = report.sources.get(&finding.path) else { return Cow::Borrowed("") };
    let text = source.text.as_str();
    let at = text.floor_char_boundary(finding.diagnostic.span.start as usize);
    let from = text.floor_char_boundary(at.saturating_sub(LONGEST_LINE));
    let to = text.ceil_char_boundary((at + LONGEST_LINE).min(text.len()));
    let start = text[from..at].rfind(['\n', '\r']).map(|end| from + end + 1);
    let end = text[at..to].find(['\n', '\r']).map(|length| at + length);
    let start = start.or((from == 0).then_some(0));
    let end = end.or((to == text.len()).then_some(to));
    let (start, end) = match (start, end) {
        (Some(start), Some(end)) if end - start <= LONGEST_LINE => (start, end),
        _ => {
            let near = |from: usize| text.floor_char_boundary(from);
            let (from, to) = (near(at.saturating_sub(100)), near((at + 200).min(text.len())));
            (start.map_or(from, |start| start.max(from)), end.map_or(to, |end| end.min(to)))
        }
    };
    let hidden = hidden.get(finding.path.as_str()).map_or(&[][..], Vec::as_slice);
    let first = hidden.partition_point(|range| range.end <= start);
    let within: Vec<_> = hidden[first..].iter().take_while(|range| range.start < end).collect();
    if within.is_empty() {
        return Cow::Borrowed(text[start..end].trim());
    }
    let (mut masked, mut from) = (String::new(), start);
    for range in within {
        masked.push_str(&text[from..range.start.max(from)]);
        masked.push_str(MASK);
        from = range.end.min(end);
    }
    masked.push_str(&text[from..end]);
    Cow::Owned(masked.trim().to_owned())
}

/// Converts a path of a report to the path written in a baseline.
pub(crate) type Placed<'p> = &'p dyn Fn(&str) -> String;

/// The key of each finding.
fn keys(report: &Report, placed: Placed<'_>) -> Vec<Key> {
    let hidden = report.hidden();
    let key = |finding: &Finding| {
        let found = &finding.diagnostic;
        let line = line_of(report, finding, &hidden).into_owned();
        (placed(&finding.path), found.kind.name.to_owned(), found.message.clone(), line)
    };
    report.findings.iter().map(key).collect()
}

/// Returns the text of a baseline that lists every finding of a report.
pub fn write(report: &Report, placed: Placed<'_>) -> String {
    let mut counts: BTreeMap<Key, u64> = BTreeMap::new();
    for key in keys(report, placed) {
        *counts.entry(key).or_default() += 1;
    }
    let mut text = format!("{{\"version\": {VERSION}, \"findings\": [");
    for (index, ((path, rule, message, line), count)) in counts.iter().enumerate() {
        let entry =
            json!({"path": path, "rule": rule, "message": message, "line": line, "count": count});
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&crate::text::json(&entry.to_string()));
    }
    text.push_str("\n]}\n");
    text
}

/// A parsed baseline file.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    entries: BTreeMap<Key, u64>,
}

impl Baseline {
    /// Parses a baseline file. The error is a sentence that says what is wrong with it.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not a baseline: {error}"))?;
        match value.get("version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(other) => {
                return Err(format!(
                    "it has version {other}, and this ankus reads version {VERSION}; write it again with `--write-baseline`"
                ));
            }
            None => return Err("it is not a baseline: it has no `version`".to_owned()),
        }
        let list = value.get("findings").and_then(Value::as_array);
        let list = list.ok_or_else(|| "it is not a baseline: it has no `findings`".to_owned())?;
        let mut entries = BTreeMap::new();
        for (index, entry) in list.iter().enumerate() {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
            let (Some(path), Some(rule), Some(message), Some(line)) =
                (text("path"), text("rule"), text("message"), text("line"))
            else {
                return Err(format!(
                    "entry {} lacks `path`, `rule`, `message` or `line`",
                    index + 1
                ));
            };
            let count = entry.get("count").and_then(Value::as_u64).unwrap_or(1);
            *entries.entry((path, rule, message, line)).or_default() += count;
        }
        Ok(Baseline { entries })
    }

    /// Whether each finding of a report is listed, and how often the entries are listed beyond that.
    fn matched(&self, report: &Report, placed: Placed<'_>) -> (Vec<bool>, BTreeMap<Key, u64>) {
        let mut left = self.entries.clone();
        let is_listed = |key: Key| match left.get_mut(&key) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        let listed = keys(report, placed).into_iter().map(is_listed).collect();
        (listed, left)
    }

    /// Whether each finding of a report is listed.
    pub fn listed(&self, report: &Report, placed: Placed<'_>) -> Vec<bool> {
        self.matched(report, placed).0
    }

    /// Removes the listed findings from a report. Returns the number of entries for its files that no longer occur.
    pub fn apply(&self, report: &mut Report, placed: Placed<'_>) -> u64 {
        let (listed, left) = self.matched(report, placed);
        let mut listed = listed.into_iter();
        let before = report.findings.len();
        report.findings.retain(|_| !listed.next().expect("an answer for each"));
        report.baselined += before - report.findings.len();
        let files: HashSet<String> = report.files.iter().map(|file| placed(&file.path)).collect();
        let judged = |path: &str| files.contains(path);
        left.iter()
            .filter(|(key, count)| **count > 0 && judged(&key.0))
            .map(|(_, count)| count)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diagnostic, Level};
    use crate::source::{Encoding, Source, Span};
    use crate::syntax::xml::NOT_WELL_FORMED;
    use std::sync::Arc;

    fn report(text: &str, places: &[usize]) -> Report {
        let mut report = Report::default();
        report.files.push(crate::check::FileReport {
            path: "a.xml".to_owned(),
            kind: crate::check::FileKind::Workflow,
            name: None,
            schema: None,
            nodes: None,
            properties: Vec::new(),
            reference: None,
        });
        let source = Arc::new(Source::new("a.xml", text));
        report.sources.insert("a.xml".to_owned(), (source, Encoding::Utf8));
        for at in places {
            let diagnostic = Diagnostic::new(&NOT_WELL_FORMED, Span::at(*at), "broken");
            report.findings.push(Finding {
                path: "a.xml".to_owned(),
                level: Level::Error,
                diagnostic,
            });
        }
        report
    }

    #[test]
    fn lines_may_move_and_counts_hold() {
        let file = write(&report("<a>\n<b>\n<b>\n", &[4, 8]), &str::to_owned);
        let baseline = Baseline::read(&file).unwrap();
        let mut moved = report("\n\n  <a>\n  <b>\n <b>\n<b>", &[10, 15, 18]);
        assert_eq!(baseline.apply(&mut moved, &str::to_owned), 0);
        assert_eq!((moved.findings.len(), moved.baselined), (1, 2));
        let mut mended = report("<a>\n<c>", &[4]);
        assert_eq!(baseline.apply(&mut mended, &str::to_owned), 2);
        assert_eq!(mended.findings.len(), 1);
    }

    #[test]
    fn of_a_long_line_counts_what_stands_around() {
        let line = |at: usize| {
            let text = format!("<a>\n{}\n<b>", "é<x/>".repeat(2_000));
            let report = report(&text, &[at]);
            line_of(&report, &report.findings[0], &report.hidden()).into_owned()
        };
        assert_eq!(line(1), "<a>");
        assert_eq!(line(4).len(), 200);
        assert_eq!(line(6_000).len(), 300);
        assert_eq!(line(12_006), "<b>");
    }

    #[test]
    fn what_is_hidden_is_in_no_line() {
        let masked = |at: usize, hidden: &[(usize, usize)]| {
            let mut report = report("a=1\nkey = open sésame\nb=2", &[at]);
            let spans = hidden.iter().map(|(start, end)| Span::new(*start, *end)).collect();
            report.secrets.insert("a.xml".to_owned(), spans);
            line_of(&report, &report.findings[0], &report.hidden()).into_owned()
        };
        assert_eq!(masked(4, &[(10, 22)]), "key = ***");
        assert_eq!(masked(12, &[(10, 14), (15, 22), (25, 26)]), "key = *** ***");
        assert_eq!(masked(0, &[(10, 22)]), "a=1");
        assert_eq!(masked(23, &[(2, 3), (10, 26)]), "***");
        assert!(!write(&report("a=1", &[0]), &str::to_owned).contains(MASK));
    }

    #[test]
    fn a_file_that_is_none_is_named() {
        for (text, words) in [
            ("", "not a baseline"),
            ("{}", "no `version`"),
            ("{\"version\": 9, \"findings\": []}", "version 9"),
            ("{\"version\": 1}", "no `findings`"),
            ("{\"version\": 1, \"findings\": [{}]}", "entry 1"),
        ] {
            assert!(Baseline::read(text).unwrap_err().contains(words), "{text}");
        }
    }
}
