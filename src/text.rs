//! Displayed text: nothing in the input can control the terminal, the log or the build server that shows it.
//!
//! Takes untrusted text and returns text without control characters (C0, DEL, C1), bidirectional controls, or anything
//! that a build server would interpret as a command. Each of these is shown as `\u{1b}`, the same way everywhere; only
//! JSON uses its own escapes. [`line()`] is for a name or a value in a line-based format, [`clean`] for text with
//! several lines, [`Text`] for colored terminal output: colors are a [`Style`], never part of the text. The escapes
//! that several renderers need are here as well: [`xml`], [`csv`], [`json`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

/// Replaces a hidden value, such as a secret, whatever its length.
pub(crate) const MASK: &str = "***";

/// Whether a character controls the output instead of being shown: a control character, one that changes the writing
/// direction, or one that ends a line.
pub fn steers(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text may contain something to escape. Most texts do not, and a quick scan of their bytes shows that.
fn is_suspect(text: &str) -> bool {
    has_suspects(text, |byte| byte < 0x20)
}

fn has_suspects(text: &str, is_control: impl Fn(u8) -> bool) -> bool {
    let mut before = 0;
    text.bytes().fold(false, |suspect, byte| {
        // The first bytes of control characters, the `##` of commands, and the colons of `::` commands.
        let of_interest = is_control(byte) || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
        let doubled = byte == before && matches!(byte, b':' | b'#');
        before = byte;
        suspect | of_interest | doubled
    })
}

/// Appends the escape of one character.
fn push_shown(character: char, out: &mut String) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
}

/// Escapes a text but keeps its line ends. A tab becomes four spaces.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_suspect(text) { Cow::Owned(shown(text, false)) } else { Cow::Borrowed(text) }
}

/// Escapes a text for use within one line: line ends are escaped as well.
pub fn line(text: &str) -> Cow<'_, str> {
    if is_suspect(text) { Cow::Owned(shown(text, true)) } else { Cow::Borrowed(text) }
}

fn shown(text: &str, one_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    // Build servers recognize `::command` at the beginning of a line and `##name[` anywhere.
    let mut begins = true;
    let mut letters = text.chars().peekable();
    while let Some(character) = letters.next() {
        match character {
            '\n' if !one_line => out.push('\n'),
            '\r' if !one_line && letters.peek() == Some(&'\n') => {}
            '\t' if !one_line => out.push_str("    "),
            ':' if begins && letters.peek() == Some(&':') => push_shown(':', &mut out),
            '[' if ends_like_a_command(&out) => push_shown('[', &mut out),
            character if steers(character) => push_shown(character, &mut out),
            character => out.push(character),
        }
        begins = character == '\n' || (begins && character.is_whitespace());
    }
    out
}

/// Maximum width of a column of names. Beyond a longer name, the column beside it would have no room left.
pub const WIDEST: usize = 60;

/// Joins `head` and `words`; if `words` has several lines, the further ones are indented below the first.
pub fn hanging(head: &str, words: &str) -> String {
    let indent = (head.len() - head.trim_start().len()).min(WIDEST) + 4;
    let lines: Vec<Cow<'_, str>> = words.lines().map(line).collect();
    format!("{}{}", line(head), lines.join(&format!("\n{:indent$}", "")))
}

/// Appends one character to a line, escaped if necessary.
pub fn push(character: char, out: &mut String) {
    match character {
        '[' if ends_like_a_command(out) => push_shown('[', out),
        character if steers(character) => push_shown(character, out),
        character => out.push(character),
    }
}

/// Breaks a text between words into lines of at most `width` characters. The first line is `taken` characters shorter;
/// the others are indented.
pub fn wrapped(text: &str, width: usize, taken: usize, indent: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = taken;
    let mut is_first = true;
    // Leading spaces are an indent, or part of a drawing.
    for word in text.split_inclusive(' ') {
        let letters = word.trim_end_matches(' ').chars().count();
        if at + letters > width && !is_first && letters > 0 {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        }
        out.push_str(word);
        at += word.chars().count();
        is_first &= letters == 0;
    }
    out
}

/// Whether the text ends with `##` and any number of letters, as before the bracket of `##vso[` or `##[`.
fn ends_like_a_command(text: &str) -> bool {
    text.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric()).ends_with("##")
}

/// Writes one line. It stays one line, whatever the arguments contain.
pub fn put(
    out: &mut (impl std::fmt::Write + ?Sized),
    words: std::fmt::Arguments<'_>,
) -> std::fmt::Result {
    match words.as_str() {
        Some(words) => out.write_str(&line(words))?,
        None => out.write_str(&line(&words.to_string()))?,
    }
    out.write_str("\n")
}

/// `writeln!` for lines that people read: no argument can end the line or control the terminal.
#[macro_export]
macro_rules! put {
    ($out:expr, $($words:tt)*) => { $crate::text::put($out, format_args!($($words)*)) };
}

/// Escapes a text for XML or HTML, in an element or in an attribute value. Line ends become character references
/// because parsers normalize literal ones in attributes to spaces.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(character) = letters.next() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\r' if letters.peek() == Some(&'\n') => {}
            '[' if ends_like_a_command(&out) => out.push_str("&#91;"),
            // No XML can contain these, not even as references.
            '\u{fffe}' | '\u{ffff}' => push_shown(character, &mut out),
            character if steers(character) => push_shown(character, &mut out),
            character => out.push(character),
        }
    }
    out
}

/// Formats a CSV cell. A cell that a spreadsheet would evaluate as a formula is prefixed with an apostrophe.
pub fn csv(cell: &str) -> Cow<'_, str> {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let cell = line(cell);
    if !formula && !cell.contains(['"', ',']) {
        return cell;
    }
    let mark = if formula { "'" } else { "" };
    Cow::Owned(format!("\"{mark}{}\"", cell.replace('"', "\"\"")))
}

/// JSON from any serializer, with the control characters escaped that serializers let through. These occur only in
/// strings.
pub fn json(text: &str) -> Cow<'_, str> {
    // Indented JSON is full of line ends, which need no escape.
    if !has_suspects(text, |byte| byte < 0x20 && byte != b'\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        let is_command = character == '[' && ends_like_a_command(&out);
        if is_command || (steers(character) && character != '\n') {
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

/// A list whose elements are created while it is serialized: created all at once, they would take several times the
/// memory of their text.
pub(crate) struct Each<'r, T, F>(&'r [T], F);

/// Creates an [`Each`] that serializes `made(element)` for each element.
pub(crate) fn each<'r, T, V, F>(list: &'r [T], made: F) -> Each<'r, T, F>
where
    V: serde::Serialize,
    F: Fn(&'r T) -> V,
{
    Each(list, made)
}

impl<'r, T, V: serde::Serialize, F: Fn(&'r T) -> V> serde::Serialize for Each<'r, T, F> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(&self.1))
    }
}

/// Serializes a value as indented JSON with a final line end.
pub fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("what is shown has names for keys");
    text.push('\n');
    match json(&text) {
        Cow::Owned(text) => text,
        Cow::Borrowed(_) => text,
    }
}

/// A color of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// Errors.
    Red,
    /// Good or new things.
    Green,
    /// Warnings.
    Yellow,
    /// Locations and margins.
    Blue,
    /// Headings of differences.
    Cyan,
    /// Hints.
    Magenta,
}

/// How a piece of text looks on a terminal. The default is plain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// The color; `None` for the terminal's own.
    pub color: Option<Color>,
    /// Bold.
    pub bold: bool,
    /// Faint.
    pub dim: bool,
}

impl Style {
    /// Bold, without a color.
    pub(crate) const BOLD: Style = Style { color: None, bold: true, dim: false };
    /// A plain style with a color.
    pub const fn color(color: Color) -> Style {
        Style { color: Some(color), bold: false, dim: false }
    }

    /// Bold, with a color.
    pub const fn bold(color: Color) -> Style {
        Style { color: Some(color), bold: true, dim: false }
    }

    /// The escape sequence that switches a terminal from plain to this style.
    fn begin(self) -> String {
        let mut codes = Vec::new();
        if self.bold {
            codes.push("1");
        }
        if self.dim {
            codes.push("2");
        }
        codes.extend(self.color.map(|color| match color {
            Color::Red => "31",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Blue => "34",
            Color::Cyan => "36",
            Color::Magenta => "35",
        }));
        format!("\u{1b}[{}m", codes.join(";"))
    }
}

/// Styled lines for a person at a terminal, free of control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    plain: String,
    /// Byte offsets from which on each style applies.
    styles: Vec<(usize, Style)>,
}

impl Text {
    /// Creates an empty text.
    pub fn new() -> Text {
        Text::default()
    }

    /// Appends text that may have several lines.
    pub fn push(&mut self, text: &str) {
        self.plain.push_str(&clean(text));
    }

    /// Appends a piece of a drawing, which may begin in the middle of a line.
    pub(crate) fn push_part(&mut self, piece: &str) {
        if !is_suspect(piece) {
            return self.plain.push_str(piece);
        }
        let mut letters = piece.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\n' => self.plain.push('\n'),
                ':' if letters.peek() == Some(&':') && self.begins_a_line() => {
                    push_shown(':', &mut self.plain);
                }
                letter => push(letter, &mut self.plain),
            }
        }
    }

    /// Whether the last line contains only spaces so far; build servers still recognize commands after those.
    fn begins_a_line(&self) -> bool {
        let last = self.plain.rsplit('\n').next().unwrap_or_default();
        last.chars().all(char::is_whitespace)
    }

    /// Appends text that may have several lines, in a style.
    pub fn styled(&mut self, style: Style, text: &str) {
        let before = self.style();
        self.turn(style);
        self.push(text);
        self.turn(before);
    }

    /// The style of the text appended next.
    fn style(&self) -> Style {
        self.styles.last().map_or(Style::default(), |(_, style)| *style)
    }

    /// Sets the style of the text appended next.
    pub fn turn(&mut self, style: Style) {
        if self.style() != style {
            self.styles.push((self.plain.len(), style));
        }
    }

    /// Whether nothing has been appended.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// Removes trailing line ends.
    pub fn trim_end(&mut self) {
        let length = self.plain.trim_end_matches('\n').len();
        let last = self.style();
        self.plain.truncate(length);
        while self.styles.last().is_some_and(|(at, _)| *at > length) {
            self.styles.pop();
        }
        self.turn(last);
    }

    /// The text without styles.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// The text for a stream that supports colors or does not.
    pub fn to_stream(&self, colors: bool) -> Cow<'_, str> {
        if !colors || self.styles.is_empty() {
            return Cow::Borrowed(&self.plain);
        }
        let mut out = String::with_capacity(self.plain.len() + self.styles.len() * 8);
        let mut at = 0;
        let mut current = Style::default();
        for (from, style) in &self.styles {
            out.push_str(&self.plain[at..*from]);
            at = *from;
            if *style == current {
                continue;
            }
            if current != Style::default() {
                out.push_str("\u{1b}[0m");
            }
            if *style != Style::default() {
                out.push_str(&style.begin());
            }
            current = *style;
        }
        out.push_str(&self.plain[at..]);
        if current != Style::default() {
            out.push_str("\u{1b}[0m");
        }
        Cow::Owned(out)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text { plain: clean(text).into_owned(), styles: Vec::new() }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        match clean(&text) {
            Cow::Owned(plain) => Text { plain, styles: Vec::new() },
            Cow::Borrowed(_) => Text { plain: text, styles: Vec::new() },
        }
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Text {
        Text::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Text {
        Text::from(text.into_owned())
    }
}

/// How a [`Sink`] escapes control characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// As `\u{1b}`; line ends are kept.
    Visible,
    /// As JSON does.
    Json,
}

/// A writer that escapes control characters, for results that are written in parts.
pub struct Sink<W> {
    inner: W,
    notation: Notation,
    /// The beginning of a character whose remaining bytes have not been written yet.
    pending: Vec<u8>,
    /// The last letters written: a command may arrive in two pieces.
    tail: String,
}

/// Maximum length of a build-server command name with the signs before it.
const TAIL: usize = 64;

impl<W: Write> Sink<W> {
    /// Creates a sink that writes to `inner`.
    pub fn new(inner: W, notation: Notation) -> Sink<W> {
        Sink { inner, notation, pending: Vec::new(), tail: String::new() }
    }

    fn put(&mut self, text: &str) -> std::io::Result<()> {
        if self.notation == Notation::Json {
            // Whether a character is escaped depends on what precedes it.
            let whole = format!("{}{text}", self.tail);
            let written = json(&self.tail).len();
            self.inner.write_all(&json(&whole).as_bytes()[written..])?;
            let from = whole.ceil_char_boundary(whole.len().saturating_sub(TAIL));
            self.tail = whole[from..].to_owned();
            return Ok(());
        }
        // Formats for build servers consist of commands, so those must pass.
        let is_plain = !text.bytes().any(|byte| {
            (byte < 0x20 && byte != b'\n') || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2)
        });
        if is_plain {
            return self.inner.write_all(text.as_bytes());
        }
        let mut out = String::with_capacity(text.len() + 16);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\n' => out.push('\n'),
                // Rows of CSV end with `\r\n`.
                '\r' if letters.peek() == Some(&'\n') => out.push('\r'),
                letter if steers(letter) => push_shown(letter, &mut out),
                letter => out.push(letter),
            }
        }
        self.inner.write_all(out.as_bytes())
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.pending.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            self.put(text)?;
            return Ok(bytes.len());
        }
        self.pending.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.pending);
        let whole = match std::str::from_utf8(&all) {
            Ok(text) => text.len(),
            // Everything written here is text, in pieces.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => {
                self.put(&String::from_utf8_lossy(&all))?;
                return Ok(bytes.len());
            }
        };
        self.put(std::str::from_utf8(&all[..whole]).expect("it is valid up to here"))?;
        self.pending = all[whole..].to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown() {
        assert_eq!(line("a\u{1b}[31mb\u{9b}\u{202e}\n\t\u{7f}é"), {
            "a\\u{1b}[31mb\\u{9b}\\u{202e}\\u{a}\\u{9}\\u{7f}é"
        });
        assert_eq!(clean("a\r\nb\rc\td"), "a\nb\\u{d}c    d");
        assert!(matches!(line("plain — €"), Cow::Owned(text) if text == "plain — €"));
        assert!(matches!(line("plain: é"), Cow::Borrowed(_)));
    }

    #[test]
    fn commands_of_build_servers_are_none() {
        assert_eq!(line("::add-mask::x"), "\\u{3a}:add-mask::x");
        assert_eq!(clean("a\n \t::error::x"), "a\n     \\u{3a}:error::x");
        assert_eq!(clean("a::b"), "a::b");
        assert_eq!(line("x ##[error]y"), "x ##\\u{5b}error]y");
        assert_eq!(line("##vso[task.setvariable]"), "##vso\\u{5b}task.setvariable]");
        assert_eq!(xml("##vso[x]"), "##vso&#91;x]");
        assert_eq!(json("\"##[error]\""), "\"##\\u005berror]\"");
    }

    #[test]
    fn formats_escape() {
        assert_eq!(xml("<a b='\"&\u{1b}\u{ffff}\n"), {
            "&lt;a b=&#39;&quot;&amp;\\u{1b}\\u{ffff}&#10;"
        });
        assert_eq!(csv("=cmd|'x'!A1"), "\"'=cmd|'x'!A1\"");
        assert_eq!(csv("a,b\"c"), "\"a,b\"\"c\"");
        assert_eq!(csv("plain"), "plain");
        assert_eq!(json("{\"a\": \"\u{9b}\u{202e}\"}"), "{\"a\": \"\\u009b\\u202e\"}");
    }

    #[test]
    fn a_sink_takes_characters_in_pieces() {
        let mut out = Vec::new();
        let mut sink = Sink::new(&mut out, Notation::Visible);
        for byte in "é\u{202e}€\u{1b}\n".bytes() {
            sink.write_all(&[byte]).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "é\\u{202e}€\\u{1b}\n");
    }

    #[test]
    fn a_command_in_pieces_is_none() {
        for text in ["\"##[error]x\"", "\"##vso[x]\"", "\"é##a1[\""] {
            for cut in (1..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let mut out = Vec::new();
                let mut sink = Sink::new(&mut out, Notation::Json);
                sink.write_all(&text.as_bytes()[..cut]).unwrap();
                sink.write_all(&text.as_bytes()[cut..]).unwrap();
                let out = String::from_utf8(out).unwrap();
                assert_eq!(out, text.replace('[', "\\u005b"), "cut at {cut}");
            }
        }
    }

    #[test]
    fn styles_are_no_text() {
        let mut text = Text::new();
        text.styled(Style::bold(Color::Red), "error");
        text.push(": \u{1b}[2Jx\n\n");
        text.trim_end();
        assert_eq!(text.plain(), "error: \\u{1b}[2Jx");
        assert_eq!(text.to_stream(true), "\u{1b}[1;31merror\u{1b}[0m: \\u{1b}[2Jx");
        assert_eq!(text.to_stream(false), text.plain());
    }
}
