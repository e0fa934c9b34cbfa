//! Text as the user wrote it, and places in it.
//!
//! In: a text with the name it goes by. Out: [`Source`], which turns byte offsets into lines and columns. A [`Span`]
//! is all that the rest of the core knows of a place; lines and columns appear only where something is printed.

/// A half-open range of bytes in one [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`. Definitions are at most 512 MiB, so offsets fit.
    pub fn new(start: usize, end: usize) -> Span {
        debug_assert!(start <= end, "a span runs forward: {start}..{end}");
        let start = u32::try_from(start).expect("sources are limited to 512 MiB");
        let end = u32::try_from(end).expect("sources are limited to 512 MiB");
        Span { start, end }
    }

    /// The empty range at `offset`.
    pub fn at(offset: usize) -> Span {
        Span::new(offset, offset)
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// As a range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `offset` lies in the range or directly behind it, as a cursor does.
    pub fn touches(self, offset: u32) -> bool {
        self.start <= offset && offset <= self.end
    }
}

/// A place as people count: both start at 1, and a column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character within the line, from 1.
    pub column: u32,
}

/// The text of one file, with the name it is shown under.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Path as shown: relative to the working directory, with `/`, or absolute where it lies outside.
    pub path: String,
    /// The text, a byte-order mark included.
    pub text: String,
    /// Offset of the first byte of each line.
    line_starts: Vec<u32>,
}

impl Source {
    /// Wraps `text`. A line ends at `\n`, at `\r\n` or at a lone `\r`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let bytes = text.as_bytes();
        let mut line_starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                line_starts.push(Span::at(at + 1).start);
            }
        }
        Source { path: path.into(), text, line_starts }
    }

    /// Line and column of a byte offset; one past the end is the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line = self.line_starts.partition_point(|start| *start as usize <= offset) - 1;
        let start = self.line_starts[line] as usize;
        let column = self.text.as_bytes()[start..offset]
            .iter()
            .filter(|byte| (**byte as i8) >= -0x40)
            .count();
        let skipped = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        Position { line: line as u32 + 1, column: (column - skipped) as u32 + 1 }
    }

    /// The text of a span; empty where the span lies outside or cuts a character.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_three_ways() {
        let source = Source::new("a", "\u{feff}é<b\r\nc\rd\n");
        let at = |offset| {
            let position = source.position(offset);
            (position.line, position.column)
        };
        assert_eq!(at(3), (1, 1));
        assert_eq!(at(5), (1, 2));
        assert_eq!(at(9), (2, 1));
        assert_eq!(at(11), (3, 1));
        assert_eq!(at(99), (4, 1));
    }
}
