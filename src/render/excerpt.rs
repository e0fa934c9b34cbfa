//! The source lines shown with a finding: sanitized, with secrets and values masked, and cut around the marked
//! location.
//!
//! Locations are offsets in the file; [`Excerpt::at`] maps one to the shown text, so that carets stay correct whatever
//! was escaped, masked or cut.

use crate::source::{Position, Source, Span};
use crate::text::{self, MASK};
use codespan_reporting::files::{Error, Files};
use std::ops::Range;

/// Number of lines of an element shown below its first one.
const BELOW: usize = 4;

/// A shown line.
#[derive(Debug)]
struct Line {
    /// Line number in the file, from 0.
    index: usize,
    /// Range in the shown text, including the line end.
    range: Range<usize>,
    /// Corresponding offsets in the file and in the shown text, in order.
    places: Vec<(usize, usize)>,
}

/// The shown lines of one file.
#[derive(Debug)]
pub(super) struct Excerpt<'a> {
    source: &'a Source,
    name: String,
    text: String,
    lines: Vec<Line>,
}

impl<'a> Excerpt<'a> {
    /// Creates the lines around `spans`, each of at most `width` characters, without the contents of the ranges in
    /// `hidden`, which is sorted.
    pub(super) fn new(
        source: &'a Source,
        spans: &[Span],
        hidden: &[Range<usize>],
        width: usize,
    ) -> Excerpt<'a> {
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        for span in spans {
            let first = line_of(source, span.start);
            let last = line_of(source, span.end);
            // The lines that may be needed: a line between two others, the first ones of an element, and its last
            // ones.
            let mut want = |line: usize| {
                let at = if line == first { span.start as usize } else { usize::MAX };
                wanted.push((line, at));
            };
            (first.saturating_sub(1)..=first + BELOW).for_each(&mut want);
            (last.saturating_sub(BELOW).max(first)..=last + 1).for_each(&mut want);
        }
        // Keeps only the first location in each line.
        wanted.sort_unstable();
        wanted.dedup_by_key(|(line, _)| *line);
        let mut excerpt = Excerpt {
            source,
            name: text::line(&source.path).into_owned(),
            text: String::new(),
            lines: Vec::new(),
        };
        for (index, at) in wanted {
            if let Some(range) = source.line_range(index) {
                excerpt.add(index, range, at, hidden, width);
            }
        }
        excerpt
    }

    /// Adds a line; `at` is the offset in it that must be visible.
    fn add(
        &mut self,
        index: usize,
        range: Range<usize>,
        at: usize,
        hidden: &[Range<usize>],
        width: usize,
    ) {
        let start = self.text.len();
        let raw = &self.source.text[range.clone()];
        let content = raw.trim_end_matches(['\n', '\r']);
        let (begin, end) = (range.start, range.start + content.len());
        let from = window(content, at.saturating_sub(begin).min(content.len()), width) + begin;
        let mut places = Vec::new();
        if from > begin {
            self.text.push('…');
        }
        let mut hidden =
            hidden[hidden.partition_point(|range| range.end <= from)..].iter().peekable();
        let mut line = String::new();
        let mut count = 0;
        let mut at = from;
        while at < end {
            if count >= width {
                line.push('…');
                break;
            }
            places.push((at, self.text.len() + line.len()));
            let letter = self.source.text[at..].chars().next().expect("this is not the end");
            if let Some(range) = hidden.next_if(|range| range.start <= at) {
                line.push_str(MASK);
                count += MASK.len();
                at = range.end.max(at + letter.len_utf8()).min(end);
                continue;
            }
            let before = line.len();
            match letter {
                '\t' => line.push('\t'),
                // Nothing is shown for a byte order mark at the beginning of a file.
                '\u{feff}' if at == 0 => {}
                letter => text::push(letter, &mut line),
            }
            count += if line.len() > before + 4 { line.len() - before } else { 1 };
            at += letter.len_utf8();
        }
        self.text.push_str(&line);
        places.push((at, self.text.len()));
        self.text.push('\n');
        self.lines.push(Line { index, range: start..self.text.len(), places });
    }

    /// The offset in the shown text for an offset in the file.
    pub(super) fn at(&self, offset: u32) -> usize {
        let index = line_of(self.source, offset);
        let Ok(at) = self.lines.binary_search_by_key(&index, |line| line.index) else { return 0 };
        let places = &self.lines[at].places;
        let next = places.partition_point(|(place, _)| *place <= offset as usize);
        // Text cut off on the left maps to the beginning of the line, text cut off on the right to its end.
        places[next.saturating_sub(1)].1
    }

    /// The position in the file for an offset in the shown text.
    fn position(&self, drawn: usize) -> Position {
        let line = &self.lines[self.line_at(drawn)];
        let next = line.places.partition_point(|(_, place)| *place <= drawn);
        self.source.position(line.places[next.saturating_sub(1)].0 as u32)
    }

    fn line_at(&self, drawn: usize) -> usize {
        self.lines.partition_point(|line| line.range.start <= drawn).saturating_sub(1)
    }
}

/// The start of the part of a line, `width` characters long, that is shown so that it includes `at`.
fn window(content: &str, at: usize, width: usize) -> usize {
    if content.len() <= width {
        return 0;
    }
    let mut at = at;
    while !content.is_char_boundary(at) {
        at -= 1;
    }
    // Beyond the visible width, counting is unnecessary.
    let before = content[..at].chars().rev().take(width + 1).count();
    let total = before + content[at..].chars().take(width).count();
    if total <= width {
        return 0;
    }
    // Two thirds are after the location, if there is that much text.
    let behind = total - before;
    let shown_before = (width / 3).max(width.saturating_sub(behind)).min(before);
    content[..at].char_indices().rev().take(shown_before).last().map_or(at, |(start, _)| start)
}

fn line_of(source: &Source, offset: u32) -> usize {
    source.position(offset).line as usize - 1
}

impl<'a> Files<'a> for Excerpt<'_> {
    type FileId = ();
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.name)
    }

    fn source(&'a self, (): ()) -> Result<&'a str, Error> {
        Ok(&self.text)
    }

    fn line_index(&'a self, (): (), drawn: usize) -> Result<usize, Error> {
        self.lines.get(self.line_at(drawn)).map(|line| line.index).ok_or(Error::FileMissing)
    }

    fn column_number(&'a self, (): (), _: usize, drawn: usize) -> Result<usize, Error> {
        Ok(self.position(drawn).column as usize)
    }

    fn line_range(&'a self, (): (), index: usize) -> Result<Range<usize>, Error> {
        match self.lines.binary_search_by_key(&index, |line| line.index) {
            Ok(at) => Ok(self.lines[at].range.clone()),
            // Inside a long element, where nothing is shown.
            Err(_) if self.source.line_range(index).is_some() => Ok(0..0),
            Err(_) => Err(Error::LineTooLarge { given: index, max: index }),
        }
    }
}

/// The excerpts of the files of one finding.
pub(super) struct Excerpts<'a>(pub(super) Vec<Excerpt<'a>>);

impl<'a> Files<'a> for Excerpts<'_> {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<&'a str, Error> {
        self.0.get(id).ok_or(Error::FileMissing)?.name(())
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        self.0.get(id).ok_or(Error::FileMissing)?.source(())
    }

    fn line_index(&'a self, id: usize, drawn: usize) -> Result<usize, Error> {
        self.0.get(id).ok_or(Error::FileMissing)?.line_index((), drawn)
    }

    fn column_number(&'a self, id: usize, line: usize, drawn: usize) -> Result<usize, Error> {
        self.0.get(id).ok_or(Error::FileMissing)?.column_number((), line, drawn)
    }

    fn line_range(&'a self, id: usize, index: usize) -> Result<Range<usize>, Error> {
        self.0.get(id).ok_or(Error::FileMissing)?.line_range((), index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(
        text: &str,
        span: Range<usize>,
        hidden: &[Range<usize>],
        width: usize,
    ) -> (String, String) {
        let source = Source::new("a", text);
        let span = Span::new(span.start, span.end);
        let excerpt = Excerpt::new(&source, &[span], hidden, width);
        let (from, to) = (excerpt.at(span.start), excerpt.at(span.end));
        (excerpt.text.clone(), excerpt.text[from..to].to_owned())
    }

    #[test]
    fn carets_stay_where_they_belong() {
        let text = "a\n\u{1b}<b c='\u{202e}x'/>\nd\n";
        let at = text.find('x').unwrap();
        let (shown, pointed) = drawn(text, at..at + 1, &[], 100);
        assert_eq!(shown, "a\n\\u{1b}<b c='\\u{202e}x'/>\nd\n\n");
        assert_eq!(pointed, "x");

        let (shown, pointed) = drawn("name = secret\n", 7..13, std::slice::from_ref(&(7..13)), 100);
        assert_eq!((shown.lines().next(), pointed.as_str()), (Some("name = ***"), "***"));
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}HERE{}", "é".repeat(5_000), "b".repeat(5_000));
        let (shown, pointed) = drawn(&text, 10_000..10_004, &[], 60);
        assert_eq!(pointed, "HERE");
        assert!(shown.starts_with("…éé") && shown.ends_with("bb…\n"), "{shown}");
        assert_eq!(shown.chars().count(), 63);

        let (shown, pointed) = drawn(&text, 0..2, &[], 60);
        assert!(shown.starts_with('é') && shown.ends_with("é…\n"), "{shown}");
        assert_eq!(pointed, "é");

        let (shown, pointed) = drawn(&text, 15_003..15_004, &[], 60);
        assert!(shown.starts_with("…b") && shown.ends_with("b\n"), "{shown}");
        assert_eq!(pointed, "b");
    }
}
