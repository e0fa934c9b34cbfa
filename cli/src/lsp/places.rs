//! Converts locations to the protocol: URIs of files, and positions in the units of the negotiated encoding.

use ankus::source::{Source, Span};
use lsp_types::{Position, PositionEncodingKind, Range, Uri};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The units of a position within a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Units {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, which every client supports.
    #[default]
    Utf16,
}

impl Units {
    /// Returns the first of the client's encodings that is supported.
    pub(super) fn agreed(offered: Option<&[PositionEncodingKind]>) -> Units {
        let known = offered.unwrap_or_default().iter().find_map(|kind| match kind {
            kind if *kind == PositionEncodingKind::UTF8 => Some(Units::Utf8),
            kind if *kind == PositionEncodingKind::UTF16 => Some(Units::Utf16),
            _ => None,
        });
        known.unwrap_or_default()
    }

    /// Returns the name in the protocol.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Units::Utf8 => PositionEncodingKind::UTF8,
            Units::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn of(self, character: char) -> usize {
        match self {
            Units::Utf8 => character.len_utf8(),
            Units::Utf16 => character.len_utf16(),
        }
    }

    /// Returns the position of a byte offset.
    pub(super) fn position(self, source: &Source, offset: u32) -> Position {
        let (line, bytes, units) = source.place(offset);
        let character = match self {
            Units::Utf8 => bytes,
            Units::Utf16 => units,
        };
        Position { line, character }
    }

    /// Returns the range of a span.
    pub(super) fn range(self, source: &Source, span: Span) -> Range {
        Range { start: self.position(source, span.start), end: self.position(source, span.end) }
    }

    /// Returns the byte offset of a position. A character after the end of a line counts as that end, as the protocol
    /// says, and a line after the last one as the end of the text.
    pub(super) fn offset(self, source: &Source, position: Position) -> u32 {
        let Some(line) = source.line_range(position.line as usize) else {
            return source.text.len() as u32;
        };
        let wanted = position.character as usize;
        let (mut passed, start) = (0, line.start);
        let text = source.text[line].trim_end_matches(['\n', '\r']);
        for (at, character) in text.char_indices() {
            if passed >= wanted {
                return (start + at) as u32;
            }
            passed += self.of(character);
            // A position within a surrogate pair counts as its character.
            if passed > wanted {
                return (start + at) as u32;
            }
        }
        (start + text.len()) as u32
    }

    /// Returns the span of a range; a reversed one is empty.
    pub(super) fn span(self, source: &Source, range: Range) -> Span {
        let (start, end) = (self.offset(source, range.start), self.offset(source, range.end));
        Span { start, end: end.max(start) }
    }
}

/// Returns the path of a `file:` URI.
pub(super) fn path_of(uri: &Uri) -> Option<PathBuf> {
    let text = uri.as_str();
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let path = match rest.strip_prefix("//") {
        Some(rest) => &rest[rest.find('/')?..],
        None => rest,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let hex = (*first == b'%').then(|| std::str::from_utf8(behind.get(..2)?).ok()).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[2..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    // `file:///c:/x` is a Windows path.
    let drive = text.as_bytes().get(2) == Some(&b':') && cfg!(windows);
    let path = PathBuf::from(if drive { &text[1..] } else { &text });
    ankus_project::absolute(&path).ok()
}

/// Returns the URI of an absolute path.
pub(super) fn uri_of(path: &Path) -> Option<Uri> {
    let text = path.to_str()?.replace('\\', "/");
    let mut uri = String::from("file://");
    if !text.starts_with('/') {
        uri.push('/');
    }
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("there is room in memory"),
        }
    }
    Uri::from_str(&uri).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_both_units_and_back() {
        let text = "a😀b\r\nüx\rz";
        let source = Source::new("workflow.xml", text);
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            // Between the two characters of a line break there is no position.
            if text[..at].ends_with('\r') && text[at..].starts_with('\n') {
                continue;
            }
            for units in [Units::Utf8, Units::Utf16] {
                let position = units.position(&source, at as u32);
                assert_eq!(units.offset(&source, position), at as u32, "{position:?}");
            }
        }
        let at = |units: Units, line, character| {
            units.offset(&source, Position { line, character }) as usize
        };
        assert_eq!(at(Units::Utf16, 0, 3), text.find('b').expect("it is there"));
        assert_eq!(at(Units::Utf8, 0, 5), text.find('b').expect("it is there"));
        // Within a surrogate pair, after the end of a line, after the end of the text.
        assert_eq!(at(Units::Utf16, 0, 2), 1);
        assert_eq!(at(Units::Utf16, 0, 99), text.find('\r').expect("it is there"));
        assert_eq!(at(Units::Utf8, 7, 0), text.len());
        assert_eq!(Units::Utf16.position(&source, 5), Position { line: 0, character: 3 });
    }

    #[test]
    fn paths_become_uris_and_come_back() {
        for path in ["/a/b.xml", "/a b/ü%/#1?.xml", "/😀/[x]/c:d"] {
            let uri = uri_of(Path::new(path)).expect("it is text");
            assert_eq!(path_of(&uri).as_deref(), Some(Path::new(path)), "{}", uri.as_str());
        }
        let uri = |text: &str| Uri::from_str(text).expect("a URI");
        assert_eq!(path_of(&uri("untitled:Untitled-1")), None);
        assert_eq!(path_of(&uri("file:/a/./b")).as_deref(), Some(Path::new("/a/b")));
        assert_eq!(path_of(&uri("file://host/a%2fb")).as_deref(), Some(Path::new("/a/b")));
    }
}
