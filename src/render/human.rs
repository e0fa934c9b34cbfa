//! Findings drawn into their source, for a person at a terminal.

use crate::check::{Finding, Report};
use crate::diag::{Level, Note, Safety, Witness};
use crate::source::Source;
use codespan_reporting::diagnostic::{Diagnostic, Label, Severity};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, termcolor};
use std::collections::BTreeMap;
use std::ops::Range;

/// Lines longer than this are not drawn: minified definitions would fill the screen with one finding.
const LINE_LIMIT: usize = 2_000;

/// How many further places of one fault are drawn, and the lines of how many more are named.
const DRAWN_PLACES: usize = 2;
const LISTED_LINES: usize = 12;

struct Sources<'a>(Vec<&'a Source>);

impl<'a> Files<'a> for Sources<'a> {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<&'a str, Error> {
        self.0.get(id).map(|source| source.path.as_str()).ok_or(Error::FileMissing)
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        self.0.get(id).map(|source| source.text.as_str()).ok_or(Error::FileMissing)
    }

    fn line_index(&'a self, id: usize, byte_index: usize) -> Result<usize, Error> {
        let source = self.0.get(id).ok_or(Error::FileMissing)?;
        Ok(source.position(byte_index as u32).line as usize - 1)
    }

    fn line_range(&'a self, id: usize, line_index: usize) -> Result<Range<usize>, Error> {
        let source = self.0.get(id).ok_or(Error::FileMissing)?;
        source.line_range(line_index).ok_or(Error::LineTooLarge {
            given: line_index,
            max: source.line_range(0).map_or(0, |_| line_index),
        })
    }
}

/// Renders the findings of a report, each with a picture of its source.
pub fn render(report: &Report, colors: bool) -> String {
    let config = term::Config::default();
    let masked = masked(report);
    let mut text = String::new();
    for (at, finding) in report.findings.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let (sources, diagnostic) = diagnostic(report, &masked, finding);
        let mut buffer =
            if colors { termcolor::Buffer::ansi() } else { termcolor::Buffer::no_color() };
        match term::emit_to_write_style(&mut buffer, &config, &sources, &diagnostic) {
            Ok(()) => text.push_str(&String::from_utf8_lossy(buffer.as_slice())),
            // Only for a span outside its text, which is a fault of ours; the words still count.
            Err(_) => text.push_str(&format!("{}: {}\n", finding.path, diagnostic.message)),
        }
        // One empty line between two findings, whatever stands at the end of the first.
        text.truncate(text.trim_end_matches('\n').len());
        text.push('\n');
    }
    text
}

/// The sources in which a secret stands, with stars in its place, byte for byte.
fn masked(report: &Report) -> BTreeMap<&str, Source> {
    let mut masked = BTreeMap::new();
    for (path, spans) in &report.secrets {
        let Some((source, _)) = report.sources.get(path) else { continue };
        let mut text = source.text.clone();
        for span in spans {
            if let Some(secret) = text.get(span.range()) {
                // Line ends stay, or every place behind would move.
                let stars: Vec<u8> = secret
                    .bytes()
                    .map(|byte| if matches!(byte, b'\n' | b'\r') { byte } else { b'*' })
                    .collect();
                text.replace_range(span.range(), &String::from_utf8_lossy(&stars));
            }
        }
        masked.insert(path.as_str(), Source::new(path.clone(), text));
    }
    masked
}

/// Lines of a run that are drawn; of a longer one the begin and the end.
const RUN_LINES: usize = 40;

/// Columns that a line of a run takes before the next node goes to a new one.
const RUN_WIDTH: usize = 90;

/// A run, a line for each stretch on one path, further in for each fork that it is inside.
fn drawn(witness: &Witness) -> String {
    let mut lines: Vec<String> = Vec::new();
    // Where the last line left off: the node it has come to, and the path.
    let mut at: Option<(&str, &str)> = None;
    let mut steps = witness.run.iter().peekable();
    while let Some(step) = steps.next() {
        let depth = step.path.matches('/').count().saturating_sub(1).min(12);
        let margin = "│ ".repeat(depth);
        if step.exit == "path" {
            let mut line = format!("{margin}{} splits: {}", step.node, step.to);
            while let Some(next) =
                steps.next_if(|next| next.exit == "path" && next.node == step.node)
            {
                line.push_str(", ");
                line.push_str(&next.to);
            }
            lines.push(line);
            at = None;
            continue;
        }
        let onward = format!(" ─{}→ {}", step.exit, step.to);
        let goes_on = at == Some((step.node.as_str(), step.path.as_str()));
        match lines.last_mut() {
            Some(line) if goes_on && line.chars().count() + onward.chars().count() <= RUN_WIDTH => {
                line.push_str(&onward);
            }
            _ => {
                let node = step.node.trim_matches(':');
                let way = if step.exit == "start" || step.exit == "join" {
                    format!("{node} → {}", step.to)
                } else {
                    format!("{node}{onward}")
                };
                lines.push(format!("{margin}{way}"));
            }
        }
        at = Some((&step.to, &step.path));
    }
    if let Some(line) = lines.last_mut() {
        line.push_str(match witness.fault {
            "double" => "   ◄ a second time",
            "orphan" => "   ◄ outside any fork",
            "cut-off" => "   ◄ the run is over",
            "race" => "   ◄ another join",
            "hang" => "   ◄ one path for two",
            _ => "",
        });
    }
    if lines.len() > RUN_LINES {
        let left_out = lines.len() - RUN_LINES + 1;
        let half = RUN_LINES / 2;
        lines.splice(half..half + left_out, [format!("… {left_out} lines more …")]);
    }
    format!("a run that shows it:\n  {}", lines.join("\n  "))
}

/// A span that goes over so many lines is drawn at its first: each line in between would be looked at for each finding.
const LINES_LIMIT: u32 = 200;

/// As much of a span as is drawn.
fn drawable(source: &Source, range: Range<usize>) -> Range<usize> {
    let (first, last) = (source.position(range.start as u32), source.position(range.end as u32));
    let long = |line: u32| {
        source.line_range(line as usize - 1).is_some_and(|range| range.len() > LINE_LIMIT)
    };
    if last.line - first.line <= LINES_LIMIT && !long(last.line) {
        return range;
    }
    let line = source.line_range(first.line as usize - 1).unwrap_or(range.clone());
    let line = line.start + source.text[line].trim_end_matches(['\n', '\r']).len();
    range.start..line.max(range.start).min(range.end)
}

fn diagnostic<'a>(
    report: &'a Report,
    masked: &'a BTreeMap<&str, Source>,
    finding: &Finding,
) -> (Sources<'a>, Diagnostic<usize>) {
    let found = &finding.diagnostic;
    let severity = match finding.level {
        Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Info => Severity::Note,
    };
    let code = match found.kind.oozie.first() {
        Some(code) => format!("{} {code}", found.kind.name),
        None => found.kind.name.to_owned(),
    };
    let mut sources = Sources(Vec::new());
    let mut labels = Vec::new();
    let mut notes = Vec::new();
    // Of places where the same is wrong the first few are drawn.
    let repeats = found.notes.len().saturating_sub((found.places - 1).saturating_sub(DRAWN_PLACES));
    let (shown, told) = found.notes.split_at(repeats);
    let places = [(None, found.span, None)]
        .into_iter()
        .chain(shown.iter().map(|note| (note.file.as_deref(), note.span, Some(&note.message))));
    for (file, span, message) in places {
        let path = file.unwrap_or(&finding.path);
        let plain = report.sources.get(path).map(|(source, _)| source.as_ref());
        let known = masked.get(path).or(plain);
        let drawn = known.filter(|source| {
            let line = source.position(span.start).line as usize - 1;
            source.line_range(line).is_some_and(|range| range.len() <= LINE_LIMIT)
        });
        let Some(source) = drawn else {
            let place = known.map(|source| source.position(span.start));
            let at = match place {
                Some(place) => format!("{path}:{}:{}", place.line, place.column),
                None => path.to_owned(),
            };
            notes.push(match message {
                Some(message) => format!("{at}: {message}"),
                None => format!("at {at}"),
            });
            continue;
        };
        let id =
            sources.0.iter().position(|known| known.path == source.path).unwrap_or_else(|| {
                sources.0.push(source);
                sources.0.len() - 1
            });
        let end = (span.end as usize).min(source.text.len());
        let range = drawable(source, (span.start as usize).min(end)..end);
        labels.push(match message {
            None => Label::primary(id, range),
            Some(message) => Label::secondary(id, range).with_message(message),
        });
    }
    if !told.is_empty() {
        let source = report.sources.get(&finding.path).map(|(source, _)| source);
        let line = |note: &Note| source.map(|source| source.position(note.span.start).line);
        let mut lines: Vec<u32> = told.iter().filter_map(line).collect();
        lines.dedup();
        let listed: Vec<String> = lines.iter().take(LISTED_LINES).map(u32::to_string).collect();
        let more = if lines.len() > LISTED_LINES { ", …" } else { "" };
        notes.push(format!(
            "{} places in all; the others are on lines {}{more}",
            found.places,
            listed.join(", ")
        ));
    }
    if let Some(on) = found.confidence.on() {
        notes.push(format!("this depends on {on}"));
    }
    if let Some(witness) = &found.witness {
        notes.push(drawn(witness));
    }
    if let Some(help) = &found.help {
        notes.push(format!("help: {help}"));
    }
    for fix in &found.fixes {
        let flag = if fix.safety == Safety::Safe { "--fix" } else { "--fix --unsafe-fixes" };
        notes.push(format!("fix ({flag}): {}", fix.title));
    }
    let diagnostic = Diagnostic::new(severity)
        .with_code(code)
        .with_message(&found.message)
        .with_labels(labels)
        .with_notes(notes);
    (sources, diagnostic)
}
