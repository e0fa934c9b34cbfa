//! Locations and keys that several formats share.

use crate::check::{Finding, Report};
use crate::diag::{Kind, Level};
use crate::source::{Position, Span};
use crate::text::line;

/// The start and end positions of a span; the start of the file if its text is unknown.
pub(super) fn range(report: &Report, path: &str, span: Span) -> (Position, Position) {
    let source = report.sources.get(path).map(|(source, _)| source);
    let place = |at| source.map_or(Position { line: 1, column: 1 }, |source| source.position(at));
    (place(span.start), place(span.end))
}

/// Fingerprints that do not change when lines move: hashes of the rule, the file, the message, the text of the line,
/// and the number of the finding among equal ones, for formats that require a single key.
pub(super) fn fingerprints(report: &Report) -> Vec<String> {
    let mut seen = std::collections::HashMap::new();
    let hidden = report.hidden();
    let key = |finding: &Finding| {
        let text = crate::baseline::line_of(report, finding, &hidden);
        format!(
            "{}\0{}\0{}\0{text}",
            finding.diagnostic.kind.name, finding.path, finding.diagnostic.message
        )
    };
    report
        .findings
        .iter()
        .map(|finding| {
            let key = key(finding);
            let first = fnv(key.as_bytes(), 0);
            let count: &mut u32 = seen.entry(first).or_default();
            *count += 1;
            let second = fnv(key.as_bytes(), u64::from(*count));
            format!("{first:016x}{second:016x}")
        })
        .collect()
}

/// FNV-1a with a seed: not for secrets, but portable and stable.
fn fnv(bytes: &[u8], seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Message and help in one line.
pub(super) fn words(finding: &Finding) -> String {
    let message = line(&finding.diagnostic.message);
    match &finding.diagnostic.help {
        Some(help) => format!("{message}; {}", line(help)),
        None => message.into_owned(),
    }
}

/// The home page of ankus, if this build knows it.
const HOME: &str = env!("CARGO_PKG_HOMEPAGE");

/// The home page of ankus.
pub(super) fn home() -> Option<&'static str> {
    Some(HOME).filter(|home| !home.is_empty())
}

/// The URL of a rule's page, if the settings or this build provide one.
pub(super) fn page(report: &Report, kind: &Kind) -> Option<String> {
    page_of(report.pages.as_deref(), kind)
}

pub(super) fn page_of(pages: Option<&str>, kind: &Kind) -> Option<String> {
    let set = pages.map(|pages| pages.replace("{rule}", kind.name));
    set.or_else(|| home().map(|home| format!("{home}/blob/main/docs/rules/{}.md", kind.name)))
}

/// A reference to the page of a rule: its URL, or otherwise the command that shows it.
pub(super) fn more(report: &Report, kind: &Kind) -> String {
    page(report, kind).unwrap_or_else(|| format!("more: ankus explain {}", kind.name))
}

/// The counts of a report, as in every format for programs.
pub(super) fn counts(report: &Report) -> [(&'static str, usize); 13] {
    [
        ("files", report.files.len()),
        ("errors", report.count(Level::Error)),
        ("warnings", report.count(Level::Warning)),
        ("infos", report.count(Level::Info)),
        ("fixable", report.fixable()),
        ("suppressed", report.suppressed),
        ("baselined", report.baselined),
        ("ignored_files", report.ignored_files),
        ("excluded_files", report.excluded_files),
        ("links", report.links),
        ("overridden", report.overridden),
        ("held_back", report.held_back),
        ("places", report.places()),
    ]
}

/// A path as part of a URI: everything except letters, digits and `-._~/` is escaped.
pub(super) fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
