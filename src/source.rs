//! Source text as the user wrote it, and locations in it.
//!
//! [`Source`] holds a text with its name and turns byte offsets into lines and columns. Everywhere else in the core, a
//! location is a [`Span`]; lines and columns appear only where something is printed.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A half-open range of bytes in one [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

/// The range to delete to remove a piece of text: the piece itself, and the spaces before it if it has its lines to
/// itself.
pub(crate) fn removal(text: &str, span: Span) -> Span {
    let (Some(before), Some(behind)) =
        (text.get(..span.start as usize), text.get(span.end as usize..))
    else {
        return span;
    };
    let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
    let start = before.len() - indent;
    let line_end = behind.is_empty() || behind.starts_with(['\n', '\r']);
    match &before[..start] {
        head if !line_end || !head.ends_with('\n') => span,
        head if head.ends_with("\r\n") => Span::new(start - 2, span.end as usize),
        _ => Span::new(start - 1, span.end as usize),
    }
}

impl Span {
    /// Creates the range `start..end`. Definitions are at most 512 MiB, so offsets fit.
    pub fn new(start: usize, end: usize) -> Span {
        debug_assert!(start <= end, "a span runs forward: {start}..{end}");
        let start = u32::try_from(start).expect("sources are limited to 512 MiB");
        let end = u32::try_from(end).expect("sources are limited to 512 MiB");
        Span { start, end }
    }

    /// Creates the empty range at `offset`.
    pub fn at(offset: usize) -> Span {
        Span::new(offset, offset)
    }

    /// The smallest range that contains both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `offset` lies in the range or directly after it, as a cursor does.
    pub fn touches(self, offset: u32) -> bool {
        self.start <= offset && offset <= self.end
    }
}

/// How one edit shifts offsets: everything before it stays, everything after it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Start of the edit, in both texts.
    pub from: u32,
    /// End of the edit in the old text.
    pub to: u32,
    /// Distance by which the rest has moved, in bytes.
    pub by: i64,
}

impl Moved {
    /// Computes the smallest single edit that turns `old` into `new`.
    pub fn between(old: &str, new: &str) -> Moved {
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let from = alike(a, b);
        let most = a.len().min(b.len()) - from;
        let same = alike_at_the_end(&a[a.len() - most..], &b[b.len() - most..]);
        let by = b.len() as i64 - a.len() as i64;
        Moved { from: from as u32, to: (a.len() - same) as u32, by }
    }

    /// Returns the span in the new text; `None` if the edit changed it.
    pub fn span(&self, span: Span) -> Option<Span> {
        if span.end <= self.from {
            return Some(span);
        }
        let moved = |at: u32| u32::try_from(i64::from(at) + self.by).ok();
        (span.start >= self.to)
            .then(|| Some(Span { start: moved(span.start)?, end: moved(span.end)? }))?
    }
}

/// Number of bytes compared at once: the whole of a large text is compared after each keystroke.
const AT_ONCE: usize = 1_024;

/// Length of the common prefix of two texts, in bytes.
fn alike(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(AT_ONCE).zip(b.chunks_exact(AT_ONCE));
    let at = blocks.take_while(|(a, b)| a == b).count() * AT_ONCE;
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

/// Length of the common suffix of two texts of the same length, in bytes.
fn alike_at_the_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(AT_ONCE).zip(b.rchunks_exact(AT_ONCE));
    let behind = blocks.take_while(|(a, b)| a == b).count() * AT_ONCE;
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    behind + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// A location as people count: line and column start at 1, and a column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character within the line, from 1.
    pub column: u32,
}

/// A part of a text that keeps the text alive, so that typed values need neither the tree nor a lifetime.
#[derive(Clone, Default)]
pub struct Slice {
    text: Arc<String>,
    start: u32,
    end: u32,
}

impl Slice {
    /// Returns `part` as a slice of `text` if it lies there; otherwise a copy, as for text written with references.
    pub fn of(text: &Arc<String>, part: &str) -> Slice {
        let start = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        if part.is_empty() {
            return Slice { text: text.clone(), start: 0, end: 0 };
        }
        if start > text.len() || part.len() > text.len() - start {
            return part.into();
        }
        Slice { text: text.clone(), start: start as u32, end: (start + part.len()) as u32 }
    }
}

impl From<&str> for Slice {
    fn from(text: &str) -> Slice {
        Slice { end: text.len() as u32, start: 0, text: Arc::new(text.to_owned()) }
    }
}

impl std::ops::Deref for Slice {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text[self.start as usize..self.end as usize]
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, out)
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl PartialEq for Slice {
    fn eq(&self, other: &Slice) -> bool {
        **self == **other
    }
}

impl Eq for Slice {}

impl std::hash::Hash for Slice {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        str::hash(self, state);
    }
}

impl std::borrow::Borrow<str> for Slice {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Slice {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Slice {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

/// The text of one file, with the name it is shown under.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Path as shown: relative to the working directory, with `/`, or absolute if it lies outside.
    pub path: String,
    /// The text, including a byte order mark.
    pub text: Arc<String>,
    /// Offset of the first byte of each line.
    line_starts: OnceLock<Vec<u32>>,
    /// Counts of what precedes each block of [`BLOCK`] bytes.
    counts: OnceLock<Vec<Counts>>,
}

/// Block size in bytes. Finding a position scans at most one block; what precedes it was counted once.
const BLOCK: usize = 2_048;

/// Counts of the characters before an offset.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    characters: u32,
    /// The number of characters outside the Basic Multilingual Plane, which take two units in UTF-16.
    wide: u32,
    replacements: u32,
}

impl Counts {
    fn and(self, bytes: &[u8]) -> Counts {
        let mut counts = self;
        for byte in bytes {
            counts.characters += u32::from((*byte as i8) >= -0x40);
            counts.wide += u32::from(*byte >= 0xf0);
        }
        counts.replacements += memchr::memmem::find_iter(bytes, "\u{fffd}").count() as u32;
        counts
    }
}

impl Source {
    /// Creates a source. A line ends at `\n`, at `\r\n` or at a lone `\r`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        Source {
            path: path.into(),
            text: Arc::new(text.into()),
            line_starts: OnceLock::new(),
            counts: OnceLock::new(),
        }
    }

    /// Returns the same file with a range replaced by `new`. The range must begin and end at character boundaries.
    pub fn edited(&self, range: std::ops::Range<usize>, new: &str) -> Source {
        let (from, to) = (range.start, range.end);
        let mut text = String::with_capacity(self.text.len() + new.len() - range.len());
        text.push_str(&self.text[..from]);
        text.push_str(new);
        text.push_str(&self.text[to..]);
        let edited = Source::new(self.path.clone(), text);
        // An editor asks for positions after each keystroke.
        if let Some(known) = self.line_starts.get() {
            // Whether a line starts at an offset depends on that byte and the one before it.
            let before = known.partition_point(|start| (*start as usize) < from.max(1));
            let behind = known.partition_point(|start| *start as usize <= to);
            let end = from + new.len();
            let within = edited.lines_that_start(from.max(1)..end + 1);
            let mut starts = Vec::with_capacity(known.len() + new.len() / 16);
            starts.extend_from_slice(&known[..before]);
            starts.extend(within);
            starts.extend(known[behind..].iter().map(|start| (*start as usize - to + end) as u32));
            let _ = edited.line_starts.set(starts);
        }
        edited
    }

    /// The offsets in a range at which a line starts, except that of the first line.
    fn lines_that_start(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = u32> {
        let bytes = self.text.as_bytes();
        let (from, to) = (range.start - 1, (range.end - 1).min(bytes.len()));
        memchr::memchr2_iter(b'\n', b'\r', &bytes[from..to.max(from)])
            .map(move |at| from + at)
            .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
            .map(|at| Span::at(at + 1).start)
    }

    /// Computed on first use: most texts are never shown.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0).chain(self.lines_that_start(1..self.text.len() + 1)).collect()
        })
    }

    /// Line and column of a byte offset; an offset beyond the end counts as the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line_starts = self.line_starts();
        let line = line_starts.partition_point(|start| *start as usize <= offset) - 1;
        let start = line_starts[line] as usize;
        let column = match offset - start {
            // Most lines are short enough to count directly.
            0..BLOCK => Counts::default().and(&self.text.as_bytes()[start..offset]).characters,
            _ => self.counted(offset).characters - self.counted(start).characters,
        } as usize;
        let skipped = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        Position { line: line as u32 + 1, column: (column - skipped) as u32 + 1 }
    }

    /// The column of a byte offset, from 1, in bytes and in UTF-16 code units. A byte order mark is not counted.
    pub(crate) fn columns(&self, offset: u32) -> (usize, usize) {
        let offset = self.text.floor_char_boundary((offset as usize).min(self.text.len()));
        let line_starts = self.line_starts();
        let line = line_starts.partition_point(|start| *start as usize <= offset) - 1;
        let start = line_starts[line] as usize;
        let before = match offset - start {
            0..BLOCK => Counts::default().and(&self.text.as_bytes()[start..offset]),
            _ => {
                let (all, before) = (self.counted(offset), self.counted(start));
                Counts {
                    characters: all.characters - before.characters,
                    wide: all.wide - before.wide,
                    replacements: 0,
                }
            }
        };
        let skipped = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        (offset - start + 1, (before.characters + before.wide) as usize - skipped + 1)
    }

    /// Line and column of a byte offset as editors count: from 0, the column in bytes and in UTF-16 code units. A byte
    /// order mark counts as a character.
    pub fn place(&self, offset: u32) -> (u32, u32, u32) {
        let offset = self.text.floor_char_boundary((offset as usize).min(self.text.len()));
        let line = self.position(offset as u32).line - 1;
        let (bytes, units) = self.columns(offset as u32);
        let mark = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        (line, bytes as u32 - 1, (units + mark) as u32 - 1)
    }

    /// Counts of what precedes an offset, which must be a character boundary.
    fn counted(&self, offset: usize) -> Counts {
        let bytes = self.text.as_bytes();
        // Blocks begin at character boundaries, so that no character is cut in two.
        let begin = |block: usize| self.text.floor_char_boundary(block * BLOCK);
        let counts = self.counts.get_or_init(|| {
            let mut all = vec![Counts::default()];
            for block in 1..=bytes.len() / BLOCK {
                all.push(all[block - 1].and(&bytes[begin(block - 1)..begin(block)]));
            }
            all
        });
        counts[offset / BLOCK].and(&bytes[begin(offset / BLOCK)..offset])
    }

    /// The byte range of a line, counted from 0, including its line end.
    pub fn line_range(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.line_starts().get(line)? as usize;
        let end = self.line_starts().get(line + 1).map_or(self.text.len(), |end| *end as usize);
        Some(start..end)
    }

    /// The text of a span; empty if the span lies outside or cuts a character.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// Maximum size of a file that is read, in bytes.
pub const SIZE_LIMIT: u64 = 512 * 1024 * 1024;

/// How the bytes of a file encode text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark; offsets in the text are offsets in the file.
    #[default]
    Utf8,
    /// UTF-16, little-endian.
    Utf16Le,
    /// UTF-16, big-endian.
    Utf16Be,
    /// ISO-8859-1, declared as such.
    Latin1,
    /// UTF-8 with invalid bytes; each invalid sequence is one replacement character in the text.
    Damaged,
}

impl Encoding {
    /// Converts an offset in the text to an offset in the file.
    pub(crate) fn file_offset(self, source: &Source, offset: u32) -> u64 {
        if self == Encoding::Utf8 {
            return u64::from(offset);
        }
        let counts = source.counted(source.text.floor_char_boundary(offset as usize));
        match self {
            // A replacement character usually stands for one byte.
            Encoding::Utf8 | Encoding::Damaged => {
                u64::from(offset).saturating_sub(u64::from(counts.replacements) * 2)
            }
            Encoding::Latin1 => u64::from(counts.characters),
            Encoding::Utf16Le | Encoding::Utf16Be => u64::from(counts.characters + counts.wide) * 2,
        }
    }

    /// Encodes a text as the bytes of a file; `None` if the encoding lacks one of its characters.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Encoding::Utf8 => Some(text.as_bytes().to_vec()),
            // The original bytes are lost, so nothing is written back.
            Encoding::Damaged => None,
            Encoding::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
            Encoding::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Encoding::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        }
    }
}

/// Why bytes are not text: a sentence without a full stop, and the offset of the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotText {
    /// Offset in the file.
    pub offset: usize,
    /// What was found there.
    pub reason: String,
}

/// Decodes the bytes of an XML file: UTF-8, UTF-16 with a byte order mark or an XML declaration, or Latin-1 if its
/// declaration names it.
pub fn decode(bytes: &[u8]) -> Result<(String, Encoding), NotText> {
    let utf16 = match bytes {
        [0xFF, 0xFE, ..] | [b'<', 0, ..] => Some(Encoding::Utf16Le),
        [0xFE, 0xFF, ..] | [0, b'<', ..] => Some(Encoding::Utf16Be),
        _ => None,
    };
    if let Some(encoding) = utf16 {
        let unit = |pair: &[u8]| match encoding {
            Encoding::Utf16Le => u16::from_le_bytes([pair[0], pair[1]]),
            _ => u16::from_be_bytes([pair[0], pair[1]]),
        };
        let whole = bytes.len() / 2 * 2;
        let mut text = String::with_capacity(whole);
        let mut offset = 0;
        for read in char::decode_utf16(bytes[..whole].chunks_exact(2).map(unit)) {
            let Ok(character) = read else {
                return Err(NotText { offset, reason: "half a UTF-16 pair".to_owned() });
            };
            offset += character.len_utf16() * 2;
            text.push(character);
        }
        if whole < bytes.len() {
            return Err(NotText { offset: whole, reason: "half a UTF-16 unit".to_owned() });
        }
        return Ok((text, encoding));
    }
    // No text contains a NUL; without this check a picture would be read as a very broken definition.
    if let Some(offset) = memchr::memchr(0, &bytes[..bytes.len().min(8192)]) {
        return Err(NotText { offset, reason: "a zero byte, as binary files have".to_owned() });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((text.to_owned(), Encoding::Utf8)),
        Err(_) if declares_latin1(bytes) => {
            Ok((bytes.iter().map(|byte| char::from(*byte)).collect(), Encoding::Latin1))
        }
        Err(_) => Ok((String::from_utf8_lossy(bytes).into_owned(), Encoding::Damaged)),
    }
}

/// Like [`decode`], for bytes that are no longer needed, which are usually valid UTF-8 and need no copy.
pub fn decode_owned(bytes: Vec<u8>) -> Result<(String, Encoding), NotText> {
    let zero = |bytes: &[u8]| memchr::memchr(0, &bytes[..bytes.len().min(8192)]);
    if bytes.first() == Some(&b'<') && zero(&bytes).is_none() {
        return match String::from_utf8(bytes) {
            Ok(text) => Ok((text, Encoding::Utf8)),
            Err(error) => decode(error.as_bytes()),
        };
    }
    decode(&bytes)
}

fn declares_latin1(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(256)];
    let Some(end) = head.windows(2).position(|pair| pair == b"?>") else { return false };
    let declaration = String::from_utf8_lossy(&head[..end]).to_ascii_lowercase();
    ["iso-8859-1", "iso8859-1", "latin1", "latin-1", "windows-1252"]
        .iter()
        .any(|name| declaration.contains(name))
}

/// Counts one visit to a node of a tree, a graph or a document. Tests use the count to keep the work proportional to
/// the size of the text; in other builds this does nothing.
#[inline]
pub(crate) fn look() {
    #[cfg(test)]
    LOOKS.with(|looks| looks.set(looks.get() + 1));
}

#[cfg(test)]
thread_local! {
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts the visits that some work makes.
#[cfg(test)]
pub(crate) fn looks(work: impl FnOnce()) -> u64 {
    let before = LOOKS.with(std::cell::Cell::get);
    work();
    LOOKS.with(std::cell::Cell::get) - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_moves_what_stands_behind_it() {
        let (old, new) = ("<a>one</a><b/>", "<a>three</a><b/>");
        let moved = Moved::between(old, new);
        let word = |text: &str, word: &str| {
            let start = text.find(word).expect("it is there");
            Span::new(start, start + word.len())
        };
        assert_eq!(moved.span(word(old, "<a>")), Some(word(new, "<a>")));
        assert_eq!(moved.span(word(old, "<b/>")), Some(word(new, "<b/>")));
        assert_eq!(moved.span(word(old, "one")), None);
        let moved = Moved::between("aaaa", "aa");
        assert_eq!((moved.from, moved.to, moved.by), (2, 4, -2));
    }

    #[test]
    fn bytes_are_read_in_the_encoding_they_have() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>";
        let (text, encoding) = decode(latin).unwrap();
        assert!(text.ends_with("<a>é</a>"));
        assert_eq!(encoding, Encoding::Latin1);
        assert_eq!(encoding.encode(&text).unwrap(), latin);

        let wide: Vec<u8> = "\u{feff}<é/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let (text, encoding) = decode(&wide).unwrap();
        assert_eq!(text, "\u{feff}<é/>");
        let source = Source::new("a", text.as_str());
        assert_eq!(encoding.file_offset(&source, text.len() as u32), wide.len() as u64);
        assert_eq!(encoding.encode(&text).unwrap(), wide);

        assert_eq!(decode(b"\x89PNG\r\n\x1a\n\0\0").unwrap_err().offset, 8);
        assert_eq!(
            decode(b"<a>\xff</a>").unwrap(),
            ("<a>\u{fffd}</a>".to_owned(), Encoding::Damaged)
        );
    }

    #[test]
    fn lines_after_an_edit_are_those_of_the_text() {
        let pieces = ["", "a", "\n", "\r", "\r\n", "\n\r", "b\rc\n", "\r\r\n\n"];
        for text in pieces.iter().flat_map(|a| pieces.iter().map(move |b| format!("{a}x{b}"))) {
            let source = Source::new("a", text.as_str());
            source.line_starts();
            for from in 0..=text.len() {
                for (to, new) in (from..=text.len()).flat_map(|to| pieces.map(|new| (to, new))) {
                    let edited = source.edited(from..to, new);
                    let whole = Source::new("a", format!("{}{new}{}", &text[..from], &text[to..]));
                    assert_eq!(edited.text, whole.text);
                    assert_eq!(
                        edited.line_starts(),
                        whole.line_starts(),
                        "{text:?} {from}..{to} {new:?}"
                    );
                }
            }
        }
    }

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

    #[test]
    fn places_in_long_lines_are_those_of_short_ones() {
        let mut text = "a\u{fffd}b\u{10348}é".repeat(2_000);
        text.push('\n');
        text.push_str(&"xé\u{fffd}".repeat(3_000));
        let source = Source::new("a", text.as_str());
        let (mut line, mut column, mut utf16, mut damaged) = (1, 1, 0, 0);
        for (at, character) in text.char_indices() {
            let offset = at as u32;
            assert_eq!(source.position(offset), Position { line, column });
            assert_eq!(Encoding::Utf16Le.file_offset(&source, offset), utf16);
            assert_eq!(Encoding::Damaged.file_offset(&source, offset), damaged);
            column += 1;
            if character == '\n' {
                (line, column) = (line + 1, 1);
            }
            utf16 += character.len_utf16() as u64 * 2;
            damaged += if character == '\u{fffd}' { 1 } else { character.len_utf8() as u64 };
        }
    }
}
