//! Text as the user wrote it, and locations in it.
//!
//! In: a text with its name. Out: [`Source`], which turns byte offsets into lines and columns. A [`Span`] is all that
//! the rest of the core knows of a location; lines and columns appear only where something is printed.

use std::fmt;
use std::sync::{Arc, OnceLock};

/// A half-open range of bytes in one [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

/// What takes a piece out of a text: the piece, and the blanks before it where it has its lines for itself.
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

/// What one edit has moved: all before it stays, all behind it goes along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where the edit begins, in both texts.
    pub from: u32,
    /// Where it ends in the old text.
    pub to: u32,
    /// By how much the rest has moved.
    pub by: i64,
}

impl Moved {
    /// The least edit that makes the one text of the other.
    pub fn between(old: &str, new: &str) -> Moved {
        let (a, b) = (old.as_bytes(), new.as_bytes());
        let from = alike(a, b);
        let most = a.len().min(b.len()) - from;
        let same = alike_at_the_end(&a[a.len() - most..], &b[b.len() - most..]);
        let by = b.len() as i64 - a.len() as i64;
        Moved { from: from as u32, to: (a.len() - same) as u32, by }
    }

    /// Moves a place; `None` where it was edited itself.
    pub fn span(&self, span: Span) -> Option<Span> {
        if span.end <= self.from {
            return Some(span);
        }
        let moved = |at: u32| u32::try_from(i64::from(at) + self.by).ok();
        (span.start >= self.to)
            .then(|| Some(Span { start: moved(span.start)?, end: moved(span.end)? }))?
    }
}

/// How many bytes are compared at once: the whole of a large text is looked at for each letter that is typed.
const AT_ONCE: usize = 1_024;

/// How many bytes two texts begin with that are the same.
fn alike(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(AT_ONCE).zip(b.chunks_exact(AT_ONCE));
    let at = blocks.take_while(|(a, b)| a == b).count() * AT_ONCE;
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes two texts of one length end with that are the same.
fn alike_at_the_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(AT_ONCE).zip(b.rchunks_exact(AT_ONCE));
    let behind = blocks.take_while(|(a, b)| a == b).count() * AT_ONCE;
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    behind + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// A place as people count: both start at 1, and a column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character within the line, from 1.
    pub column: u32,
}

/// A part of a text, which it keeps alive: what is typed or found in a text needs no tree and no lifetime.
#[derive(Clone, Default)]
pub struct Slice {
    text: Arc<String>,
    start: u32,
    end: u32,
}

impl Slice {
    /// `part` as a slice of `text` if it lies there; else a copy, as of what is written with references.
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
    /// Path as shown: relative to the working directory, with `/`, or absolute where it lies outside.
    pub path: String,
    /// The text, a byte-order mark included.
    pub text: Arc<String>,
    /// Offset of the first byte of each line.
    line_starts: OnceLock<Vec<u32>>,
    /// What stands before each block of [`BLOCK`] bytes.
    counts: OnceLock<Vec<Counts>>,
}

/// So many bytes are looked at for a place in the text; what is before them was counted once.
const BLOCK: usize = 2_048;

/// What stands before a place.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    characters: u32,
    /// Of those, outside of the plane that UTF-16 has in one unit.
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
    /// Wraps `text`. A line ends at `\n`, at `\r\n` or at a lone `\r`.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Source {
        Source {
            path: path.into(),
            text: Arc::new(text.into()),
            line_starts: OnceLock::new(),
            counts: OnceLock::new(),
        }
    }

    /// The same file with `new` in the place of a range, which begins and ends where characters do.
    pub fn edited(&self, range: std::ops::Range<usize>, new: &str) -> Source {
        let (from, to) = (range.start, range.end);
        let mut text = String::with_capacity(self.text.len() + new.len() - range.len());
        text.push_str(&self.text[..from]);
        text.push_str(new);
        text.push_str(&self.text[to..]);
        let edited = Source::new(self.path.clone(), text);
        // Whoever types asks for places after each letter.
        if let Some(known) = self.line_starts.get() {
            // Whether a line starts at a byte is told by that byte and the one before.
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

    /// The offsets in a range at which a line starts, without that of the first line.
    fn lines_that_start(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = u32> {
        let bytes = self.text.as_bytes();
        let (from, to) = (range.start - 1, (range.end - 1).min(bytes.len()));
        memchr::memchr2_iter(b'\n', b'\r', &bytes[from..to.max(from)])
            .map(move |at| from + at)
            .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'))
            .map(|at| Span::at(at + 1).start)
    }

    /// Found when first asked for: most texts are never shown.
    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0).chain(self.lines_that_start(1..self.text.len() + 1)).collect()
        })
    }

    /// Line and column of a byte offset; one past the end is the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = (offset as usize).min(self.text.len());
        let line_starts = self.line_starts();
        let line = line_starts.partition_point(|start| *start as usize <= offset) - 1;
        let start = line_starts[line] as usize;
        let column = match offset - start {
            // Most lines are short.
            0..BLOCK => Counts::default().and(&self.text.as_bytes()[start..offset]).characters,
            _ => self.counted(offset).characters - self.counted(start).characters,
        } as usize;
        let skipped = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        Position { line: line as u32 + 1, column: (column - skipped) as u32 + 1 }
    }

    /// The column of a byte offset, from 1, in bytes and in the units of UTF-16; a byte-order mark is none of these.
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

    /// Line and column of a byte offset as editors count: from 0, the column in bytes and in the units of UTF-16, and a
    /// byte-order mark is a character like any other.
    pub fn place(&self, offset: u32) -> (u32, u32, u32) {
        let offset = self.text.floor_char_boundary((offset as usize).min(self.text.len()));
        let line = self.position(offset as u32).line - 1;
        let (bytes, units) = self.columns(offset as u32);
        let mark = usize::from(line == 0 && offset >= 3 && self.text.starts_with('\u{feff}'));
        (line, bytes as u32 - 1, (units + mark) as u32 - 1)
    }

    /// What stands before a byte, which begins a character.
    fn counted(&self, offset: usize) -> Counts {
        let bytes = self.text.as_bytes();
        // Blocks begin where characters do, so that none is cut in two.
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

    /// The bytes of a line, counted from 0, its end included.
    pub fn line_range(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.line_starts().get(line)? as usize;
        let end = self.line_starts().get(line + 1).map_or(self.text.len(), |end| *end as usize);
        Some(start..end)
    }

    /// The text of a span; empty where the span lies outside or cuts a character.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

/// The largest file that is read, in bytes.
pub const SIZE_LIMIT: u64 = 512 * 1024 * 1024;

/// How the bytes of a file stand for text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte-order mark; offsets in the text are offsets in the file.
    #[default]
    Utf8,
    /// UTF-16, little end first.
    Utf16Le,
    /// UTF-16, big end first.
    Utf16Be,
    /// ISO-8859-1, declared as such.
    Latin1,
    /// UTF-8 with bytes in it that are none; each such run is one replacement character of the text.
    Damaged,
}

impl Encoding {
    /// Offset in the file of an offset in its text.
    pub(crate) fn file_offset(self, source: &Source, offset: u32) -> u64 {
        if self == Encoding::Utf8 {
            return u64::from(offset);
        }
        let counts = source.counted(source.text.floor_char_boundary(offset as usize));
        match self {
            // A replacement character stands for a byte, most often.
            Encoding::Utf8 | Encoding::Damaged => {
                u64::from(offset).saturating_sub(u64::from(counts.replacements) * 2)
            }
            Encoding::Latin1 => u64::from(counts.characters),
            Encoding::Utf16Le | Encoding::Utf16Be => u64::from(counts.characters + counts.wide) * 2,
        }
    }

    /// The bytes of a file that holds `text`; `None` where it has a character this encoding lacks.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Encoding::Utf8 => Some(text.as_bytes().to_vec()),
            // What was there is not known any more, so nothing is written back.
            Encoding::Damaged => None,
            Encoding::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
            Encoding::Utf16Le => Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Encoding::Utf16Be => Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        }
    }
}

/// Why bytes are no text: a sentence without a full stop, and the byte where it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotText {
    /// Offset in the file.
    pub offset: usize,
    /// What is there.
    pub reason: String,
}

/// Reads the bytes of an XML file as text: UTF-8, UTF-16 with a byte-order mark or an XML declaration, or the Latin-1
/// that its declaration names.
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
    // A NUL is in no text; without this a picture would be read as a very broken definition.
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

/// The same for bytes that are not needed any more, which most often are the text already.
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

/// One look at a node of a tree, a graph or a document. Tests count them, to hold the work on a text in proportion to
/// its size; elsewhere this is nothing.
#[inline]
pub(crate) fn look() {
    #[cfg(test)]
    LOOKS.with(|looks| looks.set(looks.get() + 1));
}

#[cfg(test)]
thread_local! {
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// How many looks some work takes.
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
