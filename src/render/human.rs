//! Findings drawn into their source, for a person at a terminal.

use crate::check::{Finding, Report};
use crate::diag::{Level, Safety};
use crate::source::Source;
use codespan_reporting::diagnostic::{Diagnostic, Label, Severity};
use codespan_reporting::files::{Error, Files};
use codespan_reporting::term::{self, termcolor};
use std::ops::Range;

/// Lines longer than this are not drawn: minified definitions would fill the screen with one finding.
const LINE_LIMIT: usize = 2_000;

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
    let mut text = String::new();
    for finding in &report.findings {
        let (sources, diagnostic) = diagnostic(report, finding);
        let mut buffer =
            if colors { termcolor::Buffer::ansi() } else { termcolor::Buffer::no_color() };
        match term::emit_to_write_style(&mut buffer, &config, &sources, &diagnostic) {
            Ok(()) => text.push_str(&String::from_utf8_lossy(buffer.as_slice())),
            // Only for a span outside its text, which is a fault of ours; the words still count.
            Err(_) => text.push_str(&format!("{}: {}\n", finding.path, diagnostic.message)),
        }
        text.push('\n');
    }
    text
}

fn diagnostic<'a>(report: &'a Report, finding: &Finding) -> (Sources<'a>, Diagnostic<usize>) {
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
    let places = [(None, found.span, None)].into_iter().chain(
        found.notes.iter().map(|note| (note.file.as_deref(), note.span, Some(&note.message))),
    );
    for (file, span, message) in places {
        let path = file.unwrap_or(&finding.path);
        let known = report.sources.get(path).map(|(source, _)| source.as_ref());
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
        let range = (span.start as usize).min(end)..end;
        labels.push(match message {
            None => Label::primary(id, range),
            Some(message) => Label::secondary(id, range).with_message(message),
        });
    }
    if let Some(witness) = &found.witness {
        let mut run = String::from("a run that shows it:");
        for step in &witness.run {
            run.push_str(&format!("\n  {} --{}--> {}", step.node, step.exit, step.to));
        }
        notes.push(run);
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
