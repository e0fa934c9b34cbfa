//! What came of many files: the input of every renderer.

use super::kind::{FileKind, recognize};
use super::rating::{key, sort};
use super::{FileReport, Finding, Input, Outcome};
use crate::diag::{Diagnostic, Fault, Level, Safety};
use crate::files::folder_of;
use crate::lint::misnamed::{SET_HERE, misnamed_key};
use crate::source::{Encoding, Source, Span};
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// What came of many files: the input of every renderer.
#[derive(Debug, Default)]
pub struct Report {
    /// By path.
    pub files: Vec<FileReport>,
    /// By path, offset, rule.
    pub findings: Vec<Finding>,
    /// The texts that findings and their notes point into.
    pub sources: BTreeMap<String, (Arc<Source>, Encoding)>,
    /// How many findings were silenced by comments.
    pub suppressed: usize,
    /// How many findings a baseline lists.
    pub(crate) baselined: usize,
    /// How many files and folders that may hold definitions ignore files leave out.
    pub ignored_files: usize,
    /// How many files settings of the tree exclude.
    pub excluded_files: usize,
    /// How many links to folders and XML files were not followed.
    pub links: usize,
    /// How many findings settings of the tree switch off, or lower to a level below their own.
    pub overridden: usize,
    /// How many findings are left to the strict profile because their file is a template or belongs to tests.
    pub held_back: usize,
    /// What could not be read, a sentence each.
    pub unreadable: Vec<String>,
    /// Where secrets stand in the clear, by file: nothing may show what is there.
    pub secrets: BTreeMap<String, Vec<Span>>,
    /// Where the pages of rules can be read, with `{rule}` in the place of the name.
    pub pages: Option<String>,
}

/// The longest name of a variable that is shown.
const NAME_LIMIT: usize = 100;

/// What of a value nobody should learn from a report: all but `true` and `false`, variables, which are names of other
/// properties, and the blanks around it.
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

/// Where values of properties stand in a file that has nothing else: findings speak of their names, and nobody should
/// learn from a report what a site's properties hold.
pub(super) fn values(path: &str, kind: Option<FileKind>, text: &str) -> Vec<Span> {
    if kind == Some(FileKind::Properties) || path.ends_with(".properties") {
        let entries = crate::syntax::properties::parse(text).entries;
        return entries.into_iter().flat_map(|entry| literals(text, entry.value_span)).collect();
    }
    if kind.or_else(|| recognize(text)) != Some(FileKind::Configuration) {
        return Vec::new();
    }
    // However broken the rest is.
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

/// What a report takes of one file.
#[derive(Debug)]
pub struct Part {
    /// What is known of it.
    pub file: FileReport,
    /// By offset, then rule.
    pub findings: Vec<Finding>,
    /// How many findings a comment silenced.
    pub suppressed: usize,
    /// How many findings settings of the tree switched off or lowered.
    pub overridden: usize,
    /// How many findings are left to the strict profile because the file is a template or belongs to tests.
    pub held_back: usize,
    /// Where secrets stand in the clear, by file.
    pub secrets: Vec<(String, Span)>,
    /// The texts that findings and their notes point into, by path.
    pub sources: Vec<(String, Arc<Source>, Encoding)>,
}

impl Part {
    /// What came of one file, without what was only needed to find it.
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
        // The server's own words may hold what properties hold.
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

/// Rules about names that are read and not given, that which says most first.
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

/// The name that nothing at all sets, by a finding.
fn lacked(finding: &Diagnostic) -> Option<&str> {
    let by_one = matches!(finding.fault, Some(Fault::NotGiven | Fault::NotPassed));
    finding.lacking().first().filter(|_| !by_one).map(String::as_str)
}

/// Whether a finding says no more than that names are missing.
fn is_plain(finding: &Diagnostic) -> bool {
    matches!(
        finding.fault,
        Some(Fault::Undefined | Fault::Unset | Fault::NotGiven | Fault::NotPassed)
    )
}

/// Whether a folder is another one, or below it.
fn is_below(folder: &str, other: &str) -> bool {
    let rest = folder.strip_prefix(other);
    rest.is_some_and(|rest| rest.is_empty() || other.is_empty() || rest.starts_with('/'))
}

impl Report {
    /// What must not be shown of each file, sorted.
    pub(crate) fn hidden(&self) -> BTreeMap<&str, Vec<Range<usize>>> {
        let all = self.secrets.iter().map(|(path, spans)| {
            let mut ranges: Vec<Range<usize>> =
                spans.iter().map(|span| span.range()).filter(|range| !range.is_empty()).collect();
            ranges.sort_by_key(|range| (range.start, range.end));
            // Joined where they overlap, so that the end of each is that of the mask.
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

    /// Adds what came of one file.
    pub fn add(&mut self, input: &Input<'_>, outcome: Outcome) {
        self.take(Part::new(input, outcome));
    }

    /// Adds what came of one file.
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

    /// Puts everything in its order; call it when all is added. A file that several applications share is told of once.
    pub fn finish(&mut self) {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        sort(&mut self.findings);
        self.findings.dedup_by(|a, b| key(a) == key(b));
        // What a definition misses under a name with a slip, whoever starts it gives under that name: one line of properties,
        // one fault.
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
        self.of_one_key();
        self.without_exchanged();
        // A value for which a coordinator is wrong by itself makes its bundle fail as well; that is one fault.
        let place = |finding: &Finding| (finding.path.clone(), finding.diagnostic.span);
        let is_outer = |finding: &Finding| finding.diagnostic.kind.name == "submission-refused";
        if self.findings.iter().any(is_outer) {
            let errors = self.findings.iter().filter(|f| f.level == Level::Error && !is_outer(f));
            let known: HashSet<(String, Span)> = errors.map(place).collect();
            self.findings.retain(|finding| !is_outer(finding) || !known.contains(&place(finding)));
        }
    }

    /// A name that nothing sets is missed in each definition of a folder that reads it or hands it on; it is told of where
    /// most is said of it, in properties before definitions.
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

    /// A name that several definitions read, and that one line of properties sets under nearly that name, is told of there.
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

    /// Of two values that stand in each other's place, the second is wrong for the same reason. What makes the server refuse
    /// a value stays, and is the one thing told of it.
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

    /// How many places have a finding, with those that one finding stands for.
    pub fn places(&self) -> usize {
        self.findings.iter().map(|finding| finding.diagnostic.places).sum()
    }

    /// How many findings have a level.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// How many findings carry a fix of a safety.
    pub fn fixes(&self, safety: Safety) -> usize {
        let any =
            |finding: &&Finding| finding.diagnostic.fixes.iter().any(|fix| fix.safety == safety);
        self.findings.iter().filter(any).count()
    }

    /// How many findings carry a fix.
    pub fn fixable(&self) -> usize {
        self.findings.iter().filter(|finding| !finding.diagnostic.fixes.is_empty()).count()
    }
}
