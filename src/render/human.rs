//! Draws findings into their source, for a person at a terminal.

use super::excerpt::{Excerpt, Excerpts};
use crate::check::{Finding, Report};
use crate::diag::{Level, Note, Safety, Witness};
use crate::source::{Source, Span};
use crate::text::{self, Color, Style, Text, line};
use codespan_reporting::diagnostic::{Diagnostic, Label, LabelStyle, Severity};
use codespan_reporting::term::{self, WriteStyle};
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;

/// Maximum length of a shown source line if the width of the terminal is unknown, in characters.
const LINE_WIDTH: usize = 160;

/// Maximum number of further locations of a fault that are drawn, and of those whose line numbers are listed.
const DRAWN_PLACES: usize = 2;
const LISTED_LINES: usize = 12;

/// Minimum width of text and source lines, in characters.
const LEAST_WIDTH: usize = 40;

/// Formats the findings of a report, each with an excerpt of its source. Text is wrapped for a terminal of `width`.
pub fn render(report: &Report, width: Option<usize>) -> Text {
    let config = term::Config::default();
    let hidden = report.hidden();
    let mut text = Text::new();
    for (at, finding) in report.findings.iter().enumerate() {
        if at > 0 {
            text.push("\n");
        }
        let (sources, diagnostic) = diagnostic(report, &hidden, finding, width);
        let mut painter = Painter { text: &mut text, level: None };
        if term::emit_to_write_style(&mut painter, &config, &sources, &diagnostic).is_err() {
            // This happens only for a span outside its text, which is a bug; the message is still shown.
            text.push(&format!("{}: {}\n", line(&finding.path), diagnostic.message));
        }
        // Findings are separated by one empty line, whatever the first one ends with.
        text.trim_end();
        text.push("\n");
    }
    text
}

/// Writes a drawing as styled text.
struct Painter<'t> {
    text: &'t mut Text,
    /// The level whose name comes next.
    level: Option<Severity>,
}

impl Write for Painter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let words = String::from_utf8_lossy(bytes);
        match self.level.take() {
            // The library has another name for the lowest level.
            Some(Severity::Note) if words == "note" => self.text.push_part("info"),
            _ => self.text.push_part(&words),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn color(severity: Severity) -> Color {
    match severity {
        Severity::Bug | Severity::Error => Color::Red,
        Severity::Warning => Color::Yellow,
        Severity::Note | Severity::Help => Color::Green,
    }
}

impl WriteStyle for Painter<'_> {
    fn set_header(&mut self, severity: Severity) -> std::io::Result<()> {
        self.level = Some(severity);
        self.text.turn(Style::bold(color(severity)));
        Ok(())
    }

    fn set_header_message(&mut self) -> std::io::Result<()> {
        self.text.turn(Style::BOLD);
        Ok(())
    }

    fn set_line_number(&mut self) -> std::io::Result<()> {
        self.text.turn(Style::color(Color::Cyan));
        Ok(())
    }

    fn set_note_bullet(&mut self) -> std::io::Result<()> {
        self.text.turn(Style::color(Color::Cyan));
        Ok(())
    }

    fn set_source_border(&mut self) -> std::io::Result<()> {
        self.text.turn(Style::color(Color::Cyan));
        Ok(())
    }

    fn set_label(&mut self, severity: Severity, style: LabelStyle) -> std::io::Result<()> {
        self.text.turn(Style::color(match style {
            LabelStyle::Primary => color(severity),
            LabelStyle::Secondary => Color::Cyan,
        }));
        Ok(())
    }

    fn reset(&mut self) -> std::io::Result<()> {
        self.text.turn(Style::default());
        Ok(())
    }
}

/// Maximum number of lines of a run that are shown; a longer one is cut in the middle.
const RUN_LINES: usize = 40;

/// Maximum width of a line of a run, in columns, before the next node starts a new one.
const RUN_WIDTH: usize = 90;

/// Draws a run with a line for each stretch on one path, indented by one level for each fork it is inside.
fn drawn(witness: &Witness) -> String {
    let mut lines: Vec<String> = Vec::new();
    // The end of the last line: the node that was reached, and the path.
    let mut at: Option<(&str, &str)> = None;
    let mut steps = witness.run.iter().peekable();
    while let Some(step) = steps.next() {
        let depth = step.path.matches('/').count().saturating_sub(1).min(12);
        let margin = "│ ".repeat(depth);
        if step.exit == "path" {
            let mut words = format!("{margin}{} splits: {}", line(&step.node), line(&step.to));
            while let Some(next) =
                steps.next_if(|next| next.exit == "path" && next.node == step.node)
            {
                words.push_str(", ");
                words.push_str(&line(&next.to));
            }
            lines.push(words);
            at = None;
            continue;
        }
        let onward = format!(" ─{}→ {}", step.exit, line(&step.to));
        let goes_on = at == Some((step.node.as_str(), step.path.as_str()));
        match lines.last_mut() {
            Some(words)
                if goes_on && words.chars().count() + onward.chars().count() <= RUN_WIDTH =>
            {
                words.push_str(&onward);
            }
            _ => {
                let node = line(step.node.trim_matches(':'));
                let way = if step.exit == "start" || step.exit == "join" {
                    format!("{node} → {}", line(&step.to))
                } else {
                    format!("{node}{onward}")
                };
                lines.push(format!("{margin}{way}"));
            }
        }
        at = Some((&step.to, &step.path));
    }
    if let Some(words) = lines.last_mut() {
        words.push_str(match witness.fault {
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

/// A span over more lines is drawn only at its first line: each line in between would be visited for each finding.
const LINES_LIMIT: u32 = 200;

/// The text below the excerpts: locations that are not drawn, what the finding depends on, and advice.
fn below(finding: &Finding, told: &[Note], source: Option<&Source>) -> Vec<String> {
    let found = &finding.diagnostic;
    let mut notes = Vec::new();
    if !told.is_empty() {
        let line = |note: &Note| source.map(|source| source.position(note.span.start).line);
        let mut lines: Vec<u32> = told.iter().filter_map(line).collect();
        lines.dedup();
        let listed: Vec<String> = lines.iter().take(LISTED_LINES).map(u32::to_string).collect();
        let more = if lines.len() > LISTED_LINES { ", …" } else { "" };
        let others = if told.len() == 1 { "the other is" } else { "the others are" };
        let on = if lines.len() == 1 { "line" } else { "lines" };
        notes.push(format!(
            "{} places in all; {others} on {on} {}{more}",
            found.places,
            listed.join(", ")
        ));
    }
    if let Some(on) = found.confidence.on() {
        notes.push(format!("this depends on {}", line(on)));
    }
    notes.extend(found.witness.as_deref().map(drawn));
    notes.extend(found.help.as_ref().map(|help| format!("help: {}", line(help))));
    for fix in &found.fixes {
        let flag = if fix.safety == Safety::Safe { "--fix" } else { "--fix --unsafe-fixes" };
        notes.push(format!("fix ({flag}): {}", line(&fix.title)));
    }
    notes
}

/// The part of a span that is drawn.
fn drawable(source: &Source, span: Span) -> Span {
    let first = source.position(span.start).line;
    if source.position(span.end).line - first <= LINES_LIMIT {
        return span;
    }
    let Some(line) = source.line_range(first as usize - 1) else { return span };
    let end = line.start + source.text[line].trim_end_matches(['\n', '\r']).len();
    Span { start: span.start, end: (end as u32).clamp(span.start, span.end) }
}

fn diagnostic<'a>(
    report: &'a Report,
    hidden: &BTreeMap<&str, Vec<Range<usize>>>,
    finding: &'a Finding,
    width: Option<usize>,
) -> (Excerpts<'a>, Diagnostic<usize>) {
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
    let mut notes: Vec<String> = Vec::new();
    // If a finding has several locations, only the first few are drawn.
    let repeats = found.notes.len().saturating_sub((found.places - 1).saturating_sub(DRAWN_PLACES));
    let (shown, told) = found.notes.split_at(repeats);
    let places: Vec<(&str, Span, Option<&str>)> = [(finding.path.as_str(), found.span, None)]
        .into_iter()
        .chain(shown.iter().map(|note| {
            let path = note.file.as_deref().unwrap_or(&finding.path);
            (path, note.span, Some(note.message.as_str()))
        }))
        .map(|(path, span, message)| {
            let source = report.sources.get(path).map(|(source, _)| source.as_ref());
            (path, source.map_or(span, |source| drawable(source, span)), message)
        })
        .collect();
    // The files in the order in which they are first mentioned.
    let mut files: Vec<(&'a Source, Vec<Span>)> = Vec::new();
    for (path, span, message) in &places {
        let Some((source, _)) = report.sources.get(*path) else {
            let path = line(path);
            notes.push(match message {
                Some(message) => format!("{path}: {}", line(message)),
                None => format!("at {path}"),
            });
            continue;
        };
        match files.iter_mut().find(|(known, _)| std::ptr::eq(*known, source.as_ref())) {
            Some((_, spans)) => spans.push(*span),
            None => files.push((source, vec![*span])),
        }
    }
    let last = files
        .iter()
        .flat_map(|(source, spans)| spans.iter().map(|span| source.position(span.end).line));
    let margin = last.max().unwrap_or(1).to_string().len() + 3;
    let line_width = width.map_or(LINE_WIDTH, |width| width.saturating_sub(margin + 2));
    let excerpts = files.iter().map(|(source, spans)| {
        let hidden = hidden.get(source.path.as_str()).map_or(&[][..], Vec::as_slice);
        Excerpt::new(source, spans, hidden, line_width.max(LEAST_WIDTH))
    });
    let excerpts = Excerpts(excerpts.collect());
    let mut labels = Vec::new();
    for (path, span, message) in places {
        let source = report.sources.get(path).map(|(source, _)| source.as_ref());
        let Some(id) = source
            .and_then(|source| files.iter().position(|(known, _)| std::ptr::eq(*known, source)))
        else {
            continue;
        };
        let excerpt = &excerpts.0[id];
        let range = excerpt.at(span.start)..excerpt.at(span.end.max(span.start));
        labels.push(match message {
            None => Label::primary(id, range),
            Some(message) => Label::secondary(id, range).with_message(line(message)),
        });
    }
    let source = report.sources.get(&finding.path).map(|(source, _)| source.as_ref());
    notes.extend(below(finding, told, source));
    let mut message = line(&found.message).into_owned();
    if let Some(width) = width {
        let head = finding.level.name().len() + code.len() + 4;
        message = text::wrapped(&message, width.max(LEAST_WIDTH), head, 2);
        for note in &mut notes {
            let room = width.saturating_sub(margin + 1).max(LEAST_WIDTH);
            let lines = note.split('\n').map(|line| text::wrapped(line, room, 0, 0));
            *note = lines.collect::<Vec<_>>().join("\n");
        }
    }
    let diagnostic = Diagnostic::new(severity)
        .with_code(code)
        .with_message(message)
        .with_labels(labels)
        .with_notes(notes);
    (excerpts, diagnostic)
}
