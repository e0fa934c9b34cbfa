//! The combined results of many files: the input of every renderer.

use super::kind::{FileKind, recognize};
use super::rating::{key, sort};
use super::{FileReport, Finding, Input, Outcome};
use crate::diag::{Diagnostic, Fault, Level, Safety};
use crate::files::{folder_of, name_of};
use crate::lint::misnamed::{SET_HERE, misnamed_key};
use crate::source::{Encoding, Source, Span};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The combined results of many files: the input of every renderer.
#[derive(Debug, Default)]
pub struct Report {
    /// The files, sorted by path.
    pub files: Vec<FileReport>,
    /// The findings, sorted by path, offset and rule.
    pub findings: Vec<Finding>,
    /// The texts that findings and their notes point into.
    pub sources: BTreeMap<String, (Arc<Source>, Encoding)>,
    /// Number of findings suppressed by comments.
    pub suppressed: usize,
    /// Number of findings listed in a baseline.
    pub(crate) baselined: usize,
    /// Number of files and folders that may contain definitions and are excluded by ignore files.
    pub ignored_files: usize,
    /// Number of files excluded by settings of the tree.
    pub excluded_files: usize,
    /// Number of symbolic links to folders and XML files that were not followed.
    pub links: usize,
    /// Number of findings that settings of the tree switch off, or lower below their default level.
    pub overridden: usize,
    /// Number of findings reported only in the strict profile, because their file is a template or belongs to tests.
    pub held_back: usize,
    /// One sentence for each file or folder that could not be read.
    pub unreadable: Vec<String>,
    /// The spans of secrets in plain text, by file. No output may show these parts of the text.
    pub secrets: BTreeMap<String, Vec<Span>>,
    /// The URL of the rules' documentation pages, with `{rule}` in place of the name.
    pub pages: Option<String>,
}

/// Maximum length of a displayed variable name.
const NAME_LIMIT: usize = 100;

/// Returns the spans of a value that reports must not reveal: everything but `true` and `false`, variables (which are
/// names of other properties) and surrounding white space.
fn literals(text: &str, value: Span) -> impl Iterator<Item = Span> {
    let (start, whole) = (value.start as usize, &text[value.range()]);
    let is_plain = matches!(whole.trim(), "true" | "false");
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    let mut parts = Vec::new();
    let mut from = 0;
    while !is_plain && from < whole.len() {
        let variable = whole[from..].match_indices("${").find_map(|(at, _)| {
            let name = whole.as_bytes()[from + at + 2..].iter();
            let length = name.take(NAME_LIMIT).take_while(|byte| is_letter(**byte)).count();
            let end = from + at + 2 + length;
            (length > 0 && whole[end..].starts_with('}')).then_some((from + at, end + 1))
        });
        let (until, next) = variable.unwrap_or((whole.len(), whole.len()));
        parts.push((from, until));
        from = next;
    }
    let end = whole.trim_end().len();
    let begin = whole.len() - whole.trim_start().len();
    parts
        .into_iter()
        .map(move |(from, until)| (from.max(begin), until.min(end)))
        .filter(|(from, until)| from < until)
        .map(move |(from, until)| Span::new(start + from, start + until))
}

/// Returns the spans of property values in a file that consists of properties. Findings mention only their names, and
/// reports must not reveal the values of a site's properties.
pub(super) fn values(path: &str, kind: Option<FileKind>, text: &str) -> Vec<Span> {
    if kind == Some(FileKind::Properties) || path.ends_with(".properties") {
        let entries = crate::syntax::properties::parse(text).entries;
        return entries.into_iter().flat_map(|entry| literals(text, entry.value_span)).collect();
    }
    if kind.or_else(|| recognize(text)) != Some(FileKind::Configuration) {
        return Vec::new();
    }
    // Searched in the raw text, so that broken markup elsewhere does not matter.
    let mut spans = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("<value") {
        let after = from + at + "<value".len();
        from = after;
        let Some(open) = text[after..].find('>') else { break };
        let name_ends = text[after..].starts_with(|c: char| c == '>' || c.is_whitespace());
        if !name_ends || text[after..after + open].ends_with('/') {
            continue;
        }
        let start = after + open + 1;
        let end = text[start..].find("</value").map_or(text.len(), |length| start + length);
        spans.extend(literals(text, Span::new(start, end)));
        from = end;
    }
    spans
}

/// The part of a report that comes from one file.
#[derive(Debug)]
pub struct Part {
    /// The description of the file.
    pub file: FileReport,
    /// The findings, sorted by offset, then rule.
    pub findings: Vec<Finding>,
    /// Number of findings suppressed by comments.
    pub suppressed: usize,
    /// Number of findings that settings of the tree switched off or lowered.
    pub overridden: usize,
    /// Number of findings reported only in the strict profile, because the file is a template or belongs to tests.
    pub held_back: usize,
    /// The spans of secrets in plain text, with their files.
    pub secrets: Vec<(String, Span)>,
    /// The texts that findings and their notes point into, with their paths.
    pub sources: Vec<(String, Arc<Source>, Encoding)>,
}

impl Part {
    /// Converts the outcome of a file, dropping what was only needed during the check.
    pub fn new(input: &Input<'_>, outcome: Outcome) -> Part {
        let mut sources: Vec<(String, Arc<Source>, Encoding)> = Vec::new();
        for finding in &outcome.findings {
            let notes = finding.diagnostic.notes.iter().filter_map(|note| note.file.as_deref());
            for path in notes.chain([finding.path.as_str()]) {
                if sources.iter().any(|(known, ..)| known == path) {
                    continue;
                }
                let source = if path == input.source.path {
                    Some((input.source, input.encoding))
                } else {
                    input.files.text(path).map(|source| (source, Encoding::Utf8))
                };
                if let Some((source, encoding)) = source {
                    sources.push((path.to_owned(), Arc::clone(source), encoding));
                }
            }
        }
        let Outcome { mut file, findings, suppressed, overridden, held_back, mut secrets, .. } =
            outcome;
        // The server's messages may quote values of properties.
        if let Some(reference) = &mut file.reference {
            let verdicts = [&mut reference.verdict, &mut reference.validate];
            for verdict in verdicts.into_iter().chain(&mut reference.submit) {
                for name in &mut verdict.subject {
                    *name = input.submission.masked(name, &input.source.text);
                }
            }
        }
        for (path, source, _) in &sources {
            let kind = (*path == input.source.path).then_some(input.kind);
            let values = values(path, kind, &source.text).into_iter();
            secrets.extend(values.map(|span| (path.clone(), span)));
        }
        Part { file, findings, suppressed, overridden, held_back, secrets, sources }
    }
}

/// Rules about names that are read but not set, the most informative first.
const MISSED: [&str; 5] = [
    "property-unresolved-reference",
    "undefined-variable",
    "workflow-parameters-missing",
    "coordinator-parameters-missing",
    "parameter-not-supplied",
];

fn is_properties(finding: &Finding) -> bool {
    finding.path.ends_with(".properties")
}

/// Returns the name that, according to a finding, is not set anywhere.
fn lacked(finding: &Diagnostic) -> Option<&str> {
    let by_one = matches!(finding.fault, Some(Fault::NotGiven | Fault::NotPassed));
    finding.lacking().first().filter(|_| !by_one).map(String::as_str)
}

/// Whether a finding reports only that names are missing.
fn is_plain(finding: &Diagnostic) -> bool {
    matches!(
        finding.fault,
        Some(Fault::Undefined | Fault::Unset | Fault::NotGiven | Fault::NotPassed)
    )
}

/// Whether `folder` is `other` or below it.
fn is_below(folder: &str, other: &str) -> bool {
    let rest = folder.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || other.is_empty() || rest.starts_with('/'))
}

impl Report {
    /// Returns the ranges of each file that must not be shown, sorted.
    pub(crate) fn hidden(&self) -> BTreeMap<&str, Vec<Range<usize>>> {
        let all = self.secrets.iter().map(|(path, spans)| {
            let mut ranges: Vec<Range<usize>> =
                spans.iter().map(|span| span.range()).filter(|range| !range.is_empty()).collect();
            ranges.sort_by_key(|range| (range.start, range.end));
            // Overlapping ranges are merged, so that each range ends where its mask ends.
            let mut joined: Vec<Range<usize>> = Vec::new();
            for range in ranges {
                match joined.last_mut() {
                    Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                    _ => joined.push(range),
                }
            }
            (path.as_str(), joined)
        });
        all.collect()
    }

    /// Adds the results of one file.
    pub fn add(&mut self, input: &Input<'_>, outcome: Outcome) {
        self.take(Part::new(input, outcome));
    }

    /// Adds the results of one file.
    pub fn take(&mut self, part: Part) {
        for (path, source, encoding) in part.sources {
            self.sources.entry(path).or_insert((source, encoding));
        }
        for (path, span) in part.secrets {
            self.secrets.entry(path).or_default().push(span);
        }
        self.suppressed += part.suppressed;
        self.overridden += part.overridden;
        self.held_back += part.held_back;
        self.files.push(part.file);
        self.findings.extend(part.findings);
    }

    /// Sorts the report and merges repeated findings. Call it after all files are added. A file that several
    /// applications share is reported once.
    pub fn finish(&mut self) {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        sort(&mut self.findings);
        self.findings.dedup_by(|a, b| key(a) == key(b));
        // A name that is misspelled in a definition also looks missing to the callers of the definition. For one line
        // of properties, only the most informative finding is kept.
        let missed =
            |finding: &Finding| MISSED.iter().position(|n| *n == finding.diagnostic.kind.name);
        let mut first: BTreeMap<(String, Span), usize> = BTreeMap::new();
        for finding in &self.findings {
            if let Some(rank) = missed(finding).filter(|_| is_properties(finding)) {
                let place = (finding.path.clone(), finding.diagnostic.span);
                let best = first.entry(place).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        if !first.is_empty() {
            self.findings.retain(|finding| {
                let place = (finding.path.clone(), finding.diagnostic.span);
                missed(finding)
                    .is_none_or(|rank| first.get(&place).is_none_or(|best| rank <= *best))
            });
        }
        self.without_repeated();
        self.without_copied();
        self.without_misspelt();
        self.of_one_key();
        self.without_exchanged();
        // A value that is wrong for a coordinator also makes its bundle fail; that is one fault.
        let place = |finding: &Finding| (finding.path.clone(), finding.diagnostic.span);
        let is_outer = |finding: &Finding| finding.diagnostic.kind.name == "submission-refused";
        if self.findings.iter().any(is_outer) {
            let errors = self.findings.iter().filter(|f| f.level == Level::Error && !is_outer(f));
            let mut known: HashMap<String, Vec<Span>> = HashMap::new();
            for (path, span) in errors.map(place) {
                known.entry(path).or_default().push(span);
            }
            let is_member =
                |finding: &Finding| is_outer(finding) && finding.diagnostic.is(Fault::OfMember);
            let own = self.findings.iter().filter(|f| is_outer(f) && !is_member(f));
            let own: HashSet<(String, Span)> = own.map(place).collect();
            let is_told = |finding: &Finding| {
                let (path, outer) = place(finding);
                let inside = |span: &Span| outer.start <= span.start && span.end <= outer.end;
                known.get(&path).is_some_and(|spans| spans.iter().any(inside))
                    || is_member(finding) && own.contains(&(path, outer))
            };
            self.findings.retain(|finding| !is_outer(finding) || !is_told(finding));
            self.without_includes();
        }
        self.without_other_dates();
        // Findings that were moved to the same place may be equal now.
        sort(&mut self.findings);
        self.findings.dedup_by(|a, b| key(a) == key(b));
    }

    /// A property may be read as dates of several kinds, by several definitions: one finding says that it is no date.
    fn without_other_dates(&mut self) {
        const DATES: [&str; 3] =
            ["date-format", "kick-off-time-format", "instance-not-an-instance-function"];
        let rank = |f: &Finding| DATES.iter().position(|name| *name == f.diagnostic.kind.name);
        let place = |f: &Finding| (f.path.clone(), f.diagnostic.span);
        let mut best: HashMap<(String, Span), usize> = HashMap::new();
        let of_properties = |f: &&Finding| is_properties(f);
        for finding in self.findings.iter().filter(of_properties) {
            if let Some(rank) = rank(finding) {
                let known = best.entry(place(finding)).or_insert(rank);
                *known = rank.min(*known);
            }
        }
        self.findings.retain(|finding| match rank(finding).zip(best.get(&place(finding))) {
            Some((rank, best)) => rank == *best,
            None => true,
        });
    }

    /// An included file that cannot be read is reported at its fault, and not at each `include`.
    fn without_includes(&mut self) {
        let of_include = |finding: &Finding| finding.diagnostic.is(Fault::OfInclude);
        let errors = self.findings.iter().filter(|f| f.level == Level::Error && !of_include(f));
        let faulty: HashSet<String> = errors.map(|f| name_of(&f.path).to_owned()).collect();
        self.findings.retain(|finding| {
            !(of_include(finding) && finding.diagnostic.names.iter().all(|n| faulty.contains(n)))
        });
    }

    /// A name that is not set anywhere is missing in each definition of a folder that reads it or passes it on. Keeps
    /// only the most informative finding, preferring those in properties files to those in definitions.
    fn without_repeated(&mut self) {
        let rank = |finding: &Finding| {
            let rule = MISSED.iter().position(|name| *name == finding.diagnostic.kind.name)?;
            Some((!is_properties(finding), rule))
        };
        let mut told: BTreeMap<(String, String), (bool, usize)> = BTreeMap::new();
        for finding in &self.findings {
            let lacked = || lacked(&finding.diagnostic);
            if let Some((rank, name)) = rank(finding).and_then(|rank| Some((rank, lacked()?))) {
                let place = (folder_of(&finding.path).to_owned(), name.to_owned());
                let best = told.entry(place).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        // `queuedefault`, for `queue=default`, and `//queue=default`.
        let joined: Vec<(String, String)> = self
            .findings
            .iter()
            .filter(|finding| {
                finding.diagnostic.kind.name == "property-without-value" && is_properties(finding)
            })
            .filter(|finding| {
                finding.diagnostic.is(Fault::NoSign) || finding.diagnostic.is(Fault::NoComment)
            })
            .filter_map(|finding| {
                let name = finding.diagnostic.names.first()?.clone();
                Some((folder_of(&finding.path).to_owned(), name))
            })
            .collect();
        if told.is_empty() && joined.is_empty() {
            return;
        }
        self.findings.retain(|finding| {
            let Some(rank) = rank(finding).filter(|_| is_plain(&finding.diagnostic)) else {
                return true;
            };
            let folder = folder_of(&finding.path);
            let is_told = |name: &str| {
                let best = told.get(&(folder.to_owned(), name.to_owned()));
                best.is_some_and(|best| *best < rank)
                    || joined.iter().any(|(of, all)| is_below(folder, of) && all.starts_with(name))
            };
            !finding.diagnostic.lacking().iter().all(|name| is_told(name))
        });
    }

    /// If a copied line of properties kept the name of the original, that name is set twice, and the name with another
    /// number is missing for that reason.
    fn without_copied(&mut self) {
        let all = self.findings.iter().map(|finding| &finding.diagnostic);
        let twice: Vec<String> = all
            .filter(|finding| finding.kind.name == "duplicate-property-key")
            .filter_map(|finding| finding.names.first().cloned())
            .collect();
        if twice.is_empty() {
            return;
        }
        let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let is_copied = |name: &String| {
            twice.iter().any(|other| other != name && letters(other) == letters(name))
        };
        self.findings.retain(|finding| {
            let finding = &finding.diagnostic;
            let is_missing = MISSED.contains(&finding.kind.name) && is_plain(finding);
            !(is_missing
                && !finding.lacking().is_empty()
                && finding.lacking().iter().all(is_copied))
        });
    }

    /// What is wrong with a value in properties for one definition is not also reported as misspelled, by another
    /// definition that the same properties start.
    fn without_misspelt(&mut self) {
        const TOLD: [(&str, &str); 5] = [
            ("application-path-leads-nowhere", "misspelt-path"),
            ("coordinator-not-found", "misspelt-path"),
            ("subworkflow-not-found", "misspelt-path"),
            ("workflow-not-found", "misspelt-path"),
            ("hive2-jdbc-url", "malformed-uri"),
        ];
        let follower = |finding: &Finding| {
            let row = TOLD.iter().find(|(first, _)| *first == finding.diagnostic.kind.name);
            row.filter(|_| is_properties(finding)).map(|(_, second)| *second)
        };
        let all: Vec<(&str, String, Span)> = self
            .findings
            .iter()
            .filter_map(|f| Some((follower(f)?, f.path.clone(), f.diagnostic.span)))
            .collect();
        if all.is_empty() {
            return;
        }
        self.findings.retain(|finding| {
            let span = finding.diagnostic.span;
            let touches = |value: &Span| value.start <= span.end && span.start <= value.end;
            !all.iter().any(|(rule, file, value)| {
                *rule == finding.diagnostic.kind.name && *file == finding.path && touches(value)
            })
        });
    }

    /// If several definitions read a name that one line of properties sets with a slip, reports it once, at that line.
    fn of_one_key(&mut self) {
        let key = |finding: &Finding| {
            let note =
                finding.diagnostic.notes.iter().find(|note| note.message.ends_with(SET_HERE))?;
            let of = finding.diagnostic.kind.name == "undefined-variable";
            Some((note.file.clone().filter(|_| of)?, note.span, note.message.clone()))
        };
        let mut files: BTreeMap<(String, Span, String), HashSet<String>> = BTreeMap::new();
        for finding in &self.findings {
            if let Some(key) = key(finding) {
                files.entry(key).or_default().insert(finding.path.clone());
            }
        }
        files.retain(|_, files| files.len() > 1);
        let mut told = HashSet::new();
        self.findings.retain_mut(|finding| {
            let Some(key) = key(finding).filter(|key| files.contains_key(key)) else { return true };
            let diagnostic = &finding.diagnostic;
            let names = diagnostic.meant.as_deref().zip(lacked(diagnostic));
            let Some((near, name)) = names else { return true };
            let mut found = misnamed_key(diagnostic.kind, key.1, near, name)
                .about(name)
                .note_in(finding.path.clone(), finding.diagnostic.span, "it is read here")
                .in_file(key.0.clone());
            found.confidence = finding.diagnostic.confidence.clone();
            finding.path = key.0.clone();
            finding.diagnostic = found;
            told.insert(key)
        });
    }

    /// If two values are swapped, the second is wrong for the same reason as the first and is not reported again. A
    /// finding that explains why the server refuses a value is kept, as the only one about that value.
    fn without_exchanged(&mut self) {
        let refused: HashSet<(String, Span)> = self
            .findings
            .iter()
            .filter(|finding| finding.level == Level::Error)
            .map(|finding| (finding.path.clone(), finding.diagnostic.span))
            .collect();
        let is_second =
            |finding: &Finding| finding.diagnostic.kind.name == "duplicate-property-key";
        self.findings.retain(|finding| {
            let explained = finding.diagnostic.explains.map(|span| (finding.path.clone(), span));
            !(is_second(finding) && explained.is_some_and(|place| refused.contains(&place)))
        });
        let exchanged: HashSet<(String, Span)> = self
            .findings
            .iter()
            .filter_map(|finding| Some((finding.path.clone(), finding.diagnostic.explains?)))
            .collect();
        if !exchanged.is_empty() {
            self.findings.retain(|finding| {
                !exchanged.contains(&(finding.path.clone(), finding.diagnostic.span))
            });
        }
    }

    /// Returns the number of places with a finding, including those that a merged finding stands for.
    pub fn places(&self) -> usize {
        self.findings.iter().map(|finding| finding.diagnostic.places).sum()
    }

    /// Returns the number of findings with a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Returns the number of findings with a fix of this safety.
    pub fn fixes(&self, safety: Safety) -> usize {
        let any =
            |finding: &&Finding| finding.diagnostic.fixes.iter().any(|fix| fix.safety == safety);
        self.findings.iter().filter(any).count()
    }

    /// Returns the number of findings with a fix.
    pub fn fixable(&self) -> usize {
        self.findings.iter().filter(|finding| !finding.diagnostic.fixes.is_empty()).count()
    }
}
