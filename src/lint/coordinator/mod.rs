//! Rules for coordinators and bundles: when they run, on which data, and what the server would refuse.
//!
//! The input is a lowered definition, and either the form in which the server would store it or its refusal. A refusal
//! always becomes an error with its code, at the place that causes it; the other findings are our own judgment.

mod across;
mod beside;
mod bundle;
mod data;
mod kinds;
mod passed;
mod refusal;
mod time;

use ankus_lang::coordinator::Definition;
use ankus_lang::time::{Instant, ProcessingZone, Zone};

use crate::diag::{Diagnostic, Kind};
use crate::files::{self, Presence};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::reference::coordinator::Refused;
use crate::syntax::properties::{self, Entry, Origin};
use foldhash::HashSet;

pub use across::{Around, Sibling, bundle as across_bundle, given};
pub use bundle::bundle;
pub use kinds::KINDS;
pub use time::{in_another_zone, zone_of_dates};

/// The input of the rules for a coordinator.
pub struct Facts<'f> {
    /// The definition as written.
    pub written: &'f Coordinator,
    /// The definition as the server would store it, or its refusal.
    pub kept: Result<&'f Definition, &'f Refused>,
    /// Whether times, data or controls depend on a missing property.
    pub is_unsure: bool,
    /// Schemes that the site's server supports in addition to the built-in ones.
    pub filesystems: &'f [String],
    /// The processing time zone of the site's server.
    pub processing: ProcessingZone,
    /// The maximum time-out in minutes, and the maximum number of waiting actions, on the site's server.
    pub most: (i64, i64),
    /// The current time, if it is known.
    pub now: Option<Instant>,
    /// The surroundings of the definition.
    pub around: Around<'f>,
    /// The properties in files near it, if it has no known caller.
    pub near: &'f [(&'f str, Entry)],
    /// Whether `near` are the properties of a caller, which replace those of the submission.
    pub is_other: bool,
}

impl<'f> Facts<'f> {
    /// Returns the written value, or the value of the single property that it refers to.
    fn value(&self, written: &'f Scalar) -> Option<&'f str> {
        let name =
            written.as_str().trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let given = name.and_then(|name| {
            let own = self.around.submission.get(name.trim()).filter(|_| !self.is_other);
            own.or_else(|| Some(self.near(name.trim())?.1.value.as_str()))
        });
        written.known().or(given.filter(|value| !value.contains("${")))
    }

    /// Returns a property of the files near the definition, if it has no known caller.
    fn near(&self, name: &str) -> Option<&'f (&'f str, Entry)> {
        self.near.iter().find(|(_, entry)| entry.name == name)
    }

    /// Moves a finding about a value to the line of properties that sets it, if the definition only refers to that
    /// property.
    fn at_origin(&self, written: &Scalar, words: &str, found: Diagnostic) -> Diagnostic {
        let name =
            written.as_str().trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        let is_near = |name: &&str| self.is_other || self.around.submission.get(name).is_none();
        let near = name.map(str::trim).filter(is_near);
        let Some((path, entry)) = near.and_then(|name| self.near(name)) else {
            return at_origin(self.around, written, words, found);
        };
        let mut moved = found.likely().note_in(self.around.path, written.span(), words);
        moved.span = entry.value_span;
        // The fixes are edits of the definition.
        moved.fixes.clear();
        moved.in_file(*path)
    }
}

/// Returns the properties of each other file that starts a definition.
fn of_other_files(around: Around<'_>) -> Vec<Vec<(&str, Entry)>> {
    let own = &around.submission.files;
    let mut paths: Vec<&str> = around
        .submission
        .callers
        .iter()
        .filter(|caller| caller.is_properties && !own.contains(&caller.path))
        .map(|caller| caller.path.as_str())
        .collect();
    paths.dedup();
    let read = |path: &str| {
        let source = around.files.text(path)?;
        Some((source.path.as_str(), properties::parse(&source.text).entries))
    };
    let files = paths.into_iter().filter_map(read);
    files.map(|(path, entries)| entries.into_iter().map(|entry| (path, entry)).collect()).collect()
}

/// Returns the properties near a definition without a known caller, from files that set several of the names that it
/// reads.
pub fn near_properties(around: Around<'_>) -> Vec<(&str, Entry)> {
    let text = around.files.text(around.path).map_or("", |source| source.text.as_str());
    let read = variables(text);
    let mut found = Vec::new();
    if read.is_empty() {
        return found;
    }
    for path in &around.submission.near.properties {
        let Some(source) = around.files.text(path) else { continue };
        let is_read = |entry: &Entry| match entry.name.contains('}') {
            false => read.contains(entry.name.as_str()),
            true => text.contains(&format!("${{{}}}", entry.name)),
        };
        let mut entries = properties::parse(&source.text).entries;
        entries.retain(is_read);
        if entries.len() > 1 {
            found.extend(entries.into_iter().map(|entry| (path.as_str(), entry)));
        }
    }
    found
}

/// Returns all texts between `${` and the next brace.
fn variables(text: &str) -> HashSet<&str> {
    let begins = memchr::memmem::find_iter(text.as_bytes(), "${").map(|at| &text[at + 2..]);
    begins.filter_map(|rest| Some(rest.split_once('}')?.0)).collect()
}

/// Returns all findings of the rules.
pub fn coordinator(facts: &Facts<'_>, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    time::check(facts, &mut out);
    data::check(facts, &mut out);
    across::calls(facts.written, &mut out);
    across::workflow(facts.written, facts.kept.ok(), facts.around, &mut out);
    if let Err(refused) = facts.kept {
        let explains = |finding: &&Diagnostic| {
            finding.kind.level == crate::diag::Level::Error
                && refused.code.is_none_or(|code| finding.kind.oozie.contains(&code))
        };
        let is_told = found.iter().find(explains).or(out.iter().find(explains)).is_some();
        out.extend(refusal::explain(facts, refused, is_told));
    }
    // The server stops at the first fault, but all of them are reported. With missing properties, it is not known to
    // stop.
    let others = match facts.kept {
        Err(refused) => refusal::others(facts, Some(refused), found),
        Ok(_) if facts.is_unsure => refusal::others(facts, None, found),
        Ok(_) => Vec::new(),
    };
    for other in others {
        let found = refusal::explain(facts, &other, true);
        let is_new = |found: &Diagnostic| {
            !out.iter().any(|known| {
                std::ptr::eq(known.kind, found.kind)
                    && known.span == found.span
                    && known.file == found.file
            })
        };
        out.extend(found.filter(is_new));
    }
    for near in of_other_files(facts.around) {
        let mut more = Vec::new();
        let other = Facts { near: &near, is_other: true, ..*facts };
        time::dates(&other, &mut more);
        let refused = refusal::others(&other, None, found);
        more.extend(refused.iter().filter_map(|refused| refusal::explain(&other, refused, true)));
        let of_file =
            |found: &Diagnostic| found.file.as_deref() == near.first().map(|(path, _)| *path);
        for found in more.into_iter().filter(of_file) {
            let is_known = out
                .iter()
                .any(|known: &Diagnostic| known.file == found.file && known.span == found.span);
            if !is_known {
                out.push(found);
            }
        }
    }
    out
}

/// Moves a finding about a value to the line of properties that sets it, if the definition only refers to that
/// property.
fn at_origin(around: Around<'_>, written: &Scalar, words: &str, finding: Diagnostic) -> Diagnostic {
    let name = written.as_str().trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let bound = name.and_then(|name| around.submission.values.get(name.trim()));
    let Some(bound) = bound else { return finding };
    let Origin::File(file) = &bound.origin else { return finding };
    let mut moved = finding.in_file(file.clone()).note_in(around.path, written.span(), words);
    moved.span = bound.value_span;
    // The fixes are edits of the definition.
    moved.fixes.clear();
    moved
}

/// Moves a finding about a path that leads nowhere to the property that its beginning comes from, if that leads to a
/// folder that does not exist; otherwise like [`at_origin`]. `wanted`: where in the tree the path leads.
fn at_folder_origin(
    around: Around<'_>,
    written: &Scalar,
    wanted: &str,
    words: &str,
    finding: Diagnostic,
) -> Diagnostic {
    let split = written.as_str().trim().strip_prefix("${").and_then(|rest| rest.split_once("}/"));
    let Some((name, rest)) = split.filter(|(_, rest)| !rest.contains("${")) else {
        return at_origin(around, written, words, finding);
    };
    let folders = rest.split('/').filter(|part| !part.is_empty());
    let folder = folders.fold(wanted.trim_end_matches('/'), |path, _| files::folder_of(path));
    let bound = around.submission.values.get(name.trim());
    let is_absent = !folder.is_empty() && around.files.presence(folder) == Presence::Absent;
    // What is known of the path may be only its last folder, which is wrong.
    let is_last = !rest.contains('/') && rest.ends_with(".xml") && !wanted.ends_with(".xml");
    let is_gone = is_absent || is_last && !wanted.is_empty();
    match bound.map(|bound| (bound, &bound.origin)) {
        Some((bound, Origin::File(file))) if is_gone => {
            let mut moved =
                finding.in_file(file.clone()).note_in(around.path, written.span(), words);
            moved.message = format!("the value of `{}` leads to no folder here", name.trim());
            moved.span = bound.value_span;
            moved.fixes.clear();
            moved
        }
        _ => at_origin(around, written, words, finding),
    }
}

/// Returns how a message names a value. The value of a property is not quoted, since it may be confidential; only the
/// property's name is.
fn in_words(written: Option<&Scalar>, value: &str) -> String {
    let Some(written) = written.filter(|written| written.known().is_none()) else {
        return format!("`{value}`");
    };
    let text = written.as_str().trim();
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let plain = |name: &&str| {
        name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-'))
    };
    format!("the value of `{}`", name.map(str::trim).filter(plain).unwrap_or(text))
}

/// Returns the finding about a text that is not a date.
fn no_date(written: Option<&Scalar>, value: &str, span: crate::source::Span) -> Diagnostic {
    let message = format!("{} is not a valid date here", in_words(written, value));
    let found = finding(&kinds::DATE_FORMAT, span, message);
    let is_placeholder = |text: &str| {
        let mark = text.starts_with(['#', '@', '%']) || text.contains("{{") || text.contains("__");
        mark && !text.contains("${") && !text.bytes().any(|byte| byte.is_ascii_digit())
    };
    // The values of missing properties are unknown.
    if value.contains("${") {
        return found.depends_on("the values of the properties in it");
    }
    if is_placeholder(value.trim()) {
        return found.depends_on("what replaces this text before submission");
    }
    let offset = value.trim().get(16..).filter(|rest| {
        rest.len() == 5
            && rest.starts_with(['+', '-'])
            && rest[1..].bytes().all(|byte| byte.is_ascii_digit())
    });
    match offset {
        Some(offset) => found.about(format!("GMT{offset}")).help(format!(
            "a server accepts only dates in its own zone, UTC by default: `2020-01-31T23:59Z`; if yours uses this zone, set `[server] timezone = \"GMT{offset}\"` in ankus.toml"
        )),
        None => found
            .help("the form is `2020-01-31T23:59Z`, without seconds and with hours up to 23"),
    }
}

/// Whether a zone still has daylight saving time; many zones had it only in the past.
fn changes(zone: &Zone) -> bool {
    zone.next_change(LATELY).is_some()
}

/// Whether two zones have the same time, regardless of their names: `Universal` is `UTC`.
pub(super) fn is_same_clock(one: &Zone, other: &Zone) -> bool {
    let both_fixed = || !changes(one) && !changes(other);
    one == other || both_fixed() && one.offset_seconds(LATELY) == other.offset_seconds(LATELY)
}

/// The beginning of 2020: earlier changes of clocks do not matter.
const LATELY: Instant = Instant(1_577_836_800);

/// Creates a finding of a kind at a place.
fn finding(
    kind: &'static Kind,
    span: crate::source::Span,
    message: impl Into<String>,
) -> Diagnostic {
    Diagnostic::new(kind, span, message)
}
