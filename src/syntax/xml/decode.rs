//! Character data as an application sees it, with a map back to the source.

use std::borrow::Cow;

use crate::source::Span;

/// Decoded text with a map back to the bytes it was written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The text as an application sees it.
    pub text: Cow<'a, str>,
    /// The map to the source.
    pub places: Places,
}

/// The location of a decoded text in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The runs, if the text is not identical to its source, which is rare enough to be stored separately.
    map: Option<Box<Map>>,
    /// The span of the text in the source.
    source: Span,
}

/// How decoded text maps to the source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Map {
    /// Runs in order; together they cover the text.
    runs: Vec<Run>,
}

/// A run of decoded text: either identical to the source, or one replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    decoded: u32,
    source: Span,
    verbatim: bool,
}

impl Places {
    /// For a text of another file: all of it maps to one span of this one.
    pub fn all_at(place: Span) -> Places {
        Places { source: place, map: None }
    }

    /// The runs; none if the text is a single identical run.
    fn runs(&self) -> &[Run] {
        self.map.as_ref().map_or(&[], |map| &map.runs)
    }

    /// The span of the whole text in the source, including CDATA delimiters between its parts.
    pub fn span(&self) -> Span {
        self.source
    }

    /// The source of a range of bytes of the decoded `text`.
    pub fn source(&self, text: &str, range: std::ops::Range<usize>) -> Span {
        let start = self.source_start(range.start.min(text.len()) as u32);
        if range.end <= range.start {
            return Span { start, end: start };
        }
        let end = self.source_end(range.end.min(text.len()) as u32);
        Span { start, end: end.max(start) }
    }

    fn source_start(&self, offset: u32) -> u32 {
        match self.run_at(offset) {
            None => (self.source.start + offset).min(self.source.end),
            Some(run) if run.verbatim => {
                (run.source.start + (offset - run.decoded)).min(run.source.end)
            }
            Some(run) => run.source.start,
        }
    }

    fn source_end(&self, offset: u32) -> u32 {
        match self.run_at(offset.saturating_sub(1)) {
            None => (self.source.start + offset).min(self.source.end),
            Some(run) if run.verbatim => {
                (run.source.start + (offset - run.decoded)).min(run.source.end)
            }
            Some(run) => run.source.end,
        }
    }

    fn run_at(&self, offset: u32) -> Option<Run> {
        let behind = self.runs().partition_point(|run| run.decoded <= offset);
        behind.checked_sub(1).map(|index| self.runs()[index])
    }
}

impl<'a> Decoded<'a> {
    pub(super) fn empty(at: u32) -> Decoded<'a> {
        Decoded::of(Cow::Borrowed(""), None, Span { start: at, end: at })
    }

    fn verbatim(text: &'a str, start: u32) -> Decoded<'a> {
        let source = Span { start, end: start + text.len() as u32 };
        Decoded::of(Cow::Borrowed(text), None, source)
    }

    fn of(text: Cow<'a, str>, map: Option<Box<Map>>, source: Span) -> Decoded<'a> {
        Decoded { text, places: Places { map, source } }
    }

    /// The span of the whole text in the source, including CDATA delimiters between its parts.
    pub fn span(&self) -> Span {
        self.places.source
    }

    /// The source of a range of bytes of the decoded text.
    pub fn source(&self, range: std::ops::Range<usize>) -> Span {
        self.places.source(&self.text, range)
    }

    /// The text without leading and trailing whitespace (the four characters of XML), with the map adjusted.
    pub(crate) fn trimmed(self) -> Decoded<'a> {
        let range = unblanked(&self.text);
        if range.len() == self.text.len() {
            return self;
        }
        self.slice(range)
    }

    /// A part of the text, with the map adjusted.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Decoded<'a> {
        let text = match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[range.clone()]),
            Cow::Owned(text) => Cow::Owned(text[range.clone()].to_owned()),
        };
        self.part(range, text)
    }

    /// Like [`Decoded::trimmed`], without consuming the text.
    pub fn trim(&self) -> Decoded<'_> {
        let range = unblanked(&self.text);
        self.part(range.clone(), Cow::Borrowed(&self.text[range]))
    }

    /// Creates the decoded text for `text`, the content of `range`, with its part of the map.
    fn part<'t>(&self, range: std::ops::Range<usize>, text: Cow<'t, str>) -> Decoded<'t> {
        let Places { map, source: whole } = &self.places;
        if map.is_none() {
            let at = |offset: usize| (whole.start + offset as u32).min(whole.end);
            let source = Span { start: at(range.start), end: at(range.end) };
            return Decoded::of(text, None, source);
        }
        let (start, end) = (range.start, range.end);
        let source = self.source(range);
        let shift = start as u32;
        let mut runs = Vec::new();
        let all = self.places.runs();
        for (index, run) in all.iter().enumerate() {
            let until = all.get(index + 1).map_or(self.text.len() as u32, |next| next.decoded);
            if until <= shift || run.decoded as usize >= end {
                continue;
            }
            let cut = shift.saturating_sub(run.decoded);
            let start = if run.verbatim { run.source.start + cut } else { run.source.start };
            let source = Span { start, end: run.source.end };
            runs.push(Run {
                decoded: run.decoded.saturating_sub(shift),
                source,
                verbatim: run.verbatim,
            });
        }
        Decoded::of(text, mapped(runs), source)
    }

    pub(super) fn append(&mut self, other: Decoded<'a>) {
        if other.text.is_empty() {
            return;
        }
        if self.text.is_empty() {
            *self = other;
            return;
        }
        let (places, others) = (&mut self.places, &other.places);
        let own = Run { decoded: 0, source: places.source, verbatim: true };
        let runs = &mut places.map.get_or_insert_default().runs;
        if runs.is_empty() {
            runs.push(own);
        }
        let shift = self.text.len() as u32;
        if others.runs().is_empty() {
            runs.push(Run { decoded: shift, source: others.source, verbatim: true });
        } else {
            let shifted = |run: &Run| Run { decoded: run.decoded + shift, ..*run };
            runs.extend(others.runs().iter().map(shifted));
        }
        places.source = places.source.to(others.source);
        self.text.to_mut().push_str(&other.text);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text,
    CData,
    Attribute,
}

/// Decodes references and line ends. Anything that cannot be decoded stays as written.
pub(super) fn decode(raw: &str, start: u32, place: Place) -> Decoded<'_> {
    let special = |bytes: &[u8]| match place {
        Place::CData => memchr::memchr(b'\r', bytes),
        Place::Text => memchr::memchr2(b'&', b'\r', bytes),
        // Separate searches for each byte would each scan to the end.
        Place::Attribute => {
            bytes.iter().position(|byte| matches!(byte, b'&' | b'\r' | b'\n' | b'\t'))
        }
    };
    let bytes = raw.as_bytes();
    let Some(mut at) = special(bytes) else {
        return Decoded::verbatim(raw, start);
    };

    let mut text = String::with_capacity(raw.len());
    let mut runs = Vec::new();
    let mut verbatim_from = 0;
    loop {
        // `at` is a special byte or the end; everything before it is literal.
        if verbatim_from < at {
            let source = Span { start: start + verbatim_from as u32, end: start + at as u32 };
            runs.push(Run { decoded: text.len() as u32, source, verbatim: true });
            text.push_str(&raw[verbatim_from..at]);
        }
        if at == bytes.len() {
            break;
        }
        let (replacement, length) = match bytes[at] {
            b'&' => match reference(&raw[at..]) {
                Some((character, length)) => (character, length),
                None => ('&', 1),
            },
            b'\r' => {
                let length = if bytes.get(at + 1) == Some(&b'\n') { 2 } else { 1 };
                (if place == Place::Attribute { ' ' } else { '\n' }, length)
            }
            _ => (' ', 1),
        };
        let source = Span { start: start + at as u32, end: start + (at + length) as u32 };
        runs.push(Run { decoded: text.len() as u32, source, verbatim: false });
        text.push(replacement);
        verbatim_from = at + length;
        at = special(&bytes[verbatim_from..]).map_or(bytes.len(), |next| verbatim_from + next);
    }
    let source = Span { start, end: start + raw.len() as u32 };
    Decoded::of(Cow::Owned(text), mapped(runs), source)
}

/// The range of a text without leading and trailing whitespace.
fn unblanked(text: &str) -> std::ops::Range<usize> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let bytes = text.as_bytes();
    let start = bytes.iter().position(|byte| !blank(byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    start..end
}

fn mapped(runs: Vec<Run>) -> Option<Box<Map>> {
    (!runs.is_empty()).then(|| Box::new(Map { runs }))
}

/// The character denoted by the reference at the start of `text`, and the length of the reference.
pub(super) fn reference(text: &str) -> Option<(char, usize)> {
    let end = text.as_bytes().iter().take(12).position(|byte| *byte == b';')?;
    let name = &text[1..end];
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) if hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                    u32::from_str_radix(hex, 16)
                }
                None if number.bytes().all(|byte| byte.is_ascii_digit()) => number.parse(),
                _ => return None,
            };
            char::from_u32(code.ok()?).filter(|character| *character != '\0')?
        }
    };
    Some((character, end + 1))
}
