//! Writes a report as annotations of a pull request: workflow commands that a GitHub runner reads from the output of a
//! step.

use super::place;
use crate::check::Report;
use crate::diag::Level;
use crate::text;

/// Formats a report, with one command per line.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (start, end) = place::range(report, &finding.path, finding.diagnostic.span);
        let command = match finding.level {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "notice",
        };
        out.push_str(&format!("::{command} file={},line={}", property(&finding.path), start.line));
        // Columns are supported only for annotations within one line.
        if end.line == start.line {
            out.push_str(&format!(
                ",col={},endColumn={}",
                start.column,
                end.column.max(start.column)
            ));
        } else {
            out.push_str(&format!(",endLine={}", end.line));
        }
        let title = property(&format!("ankus: {}", finding.diagnostic.kind.name));
        // In the plain log there is no link to the location.
        let place = format!("{}:{}:{}", text::line(&finding.path), start.line, start.column);
        let words = place::words(finding);
        let more = place::more(report, finding.diagnostic.kind);
        let words = format!("{place}: {words}\n{more}");
        out.push_str(&format!(",title={title}::{}\n", data(&words)));
    }
    let silenced = super::silenced(report);
    if !silenced.is_empty() {
        out.push_str(&format!("::notice title=ankus::{}\n", data(&silenced.join(", "))));
    }
    out
}

/// Escapes the message of a command: percent signs and line ends, which the runner decodes again.
fn data(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '%' => out.push_str("%25"),
            '\n' => out.push_str("%0A"),
            letter => text::push(letter, &mut out),
        }
    }
    out
}

/// Escapes the value of a command's property.
fn property(words: &str) -> String {
    let words = words.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let words = words.replace(':', "%3A").replace(',', "%2C");
    let mut out = String::with_capacity(words.len());
    words.chars().for_each(|letter| text::push(letter, &mut out));
    out
}
