//! Displayed text: nothing in the input can control the terminal, the log or the build server that shows it.
//!
//! In: untrusted text. Out: text without control characters (C0, DEL, C1), bidirectional controls, or anything that a
//! build server would take for a command. Each is shown as `\u{1b}`, the same everywhere; JSON alone has escapes of its
//! own. [`line()`] is for a name or a value in a line-based format, [`clean`] for text with several lines, [`Text`] for
//! colored terminal output: colors are a [`Style`], and never part of a text. The escapes of formats that several
//! renderers write are here as well: [`xml`], [`csv`], [`json`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write;

/// Whether a character steers instead of being shown: a control character, or one that turns the direction of writing
/// or ends a line.
pub fn steers(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a text may have something to escape. Most have not, and a look at their bytes tells.
fn is_suspect(text: &str) -> bool {
    has_suspects(text, |byte| byte < 0x20)
}

fn has_suspects(text: &str, is_control: impl Fn(u8) -> bool) -> bool {
    let mut before = 0;
    text.bytes().fold(false, |suspect, byte| {
        // The first bytes of what steers, `##` of commands, and the colons of others.
        let of_interest = is_control(byte) || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
        let doubled = byte == before && matches!(byte, b':' | b'#');
        before = byte;
        suspect | of_interest | doubled
    })
}

/// One character as it is shown instead.
fn push_shown(character: char, out: &mut String) {
    let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
}

/// A text whose lines stay lines. A tab becomes four blanks.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_suspect(text) { Cow::Owned(shown(text, false)) } else { Cow::Borrowed(text) }
}

/// A text as part of one line: what ends a line is shown as well.
pub fn line(text: &str) -> Cow<'_, str> {
    if is_suspect(text) { Cow::Owned(shown(text, true)) } else { Cow::Borrowed(text) }
}

fn shown(text: &str, one_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    // Build servers read `::command` where a line begins, and `##name[` anywhere.
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

/// The widest column of names: in front of what stands behind a longer one there is no room for it.
pub const WIDEST: usize = 60;

/// Words that may have lines of their own, below a line that begins with `head`: the others stand further in.
pub fn hanging(head: &str, words: &str) -> String {
    let indent = (head.len() - head.trim_start().len()).min(WIDEST) + 4;
    let lines: Vec<Cow<'_, str>> = words.lines().map(line).collect();
    format!("{}{}", line(head), lines.join(&format!("\n{:indent$}", "")))
}

/// Adds one character to a line, as it is shown.
pub fn push(character: char, out: &mut String) {
    match character {
        '[' if ends_like_a_command(out) => push_shown('[', out),
        character if steers(character) => push_shown(character, out),
        character => out.push(character),
    }
}

/// A text in lines of at most `width` characters, broken between words. The first line has `taken` characters less; the
/// others are indented.
pub fn wrapped(text: &str, width: usize, taken: usize, indent: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut at = taken;
    let mut is_first = true;
    // Blanks at the beginning are an indent, or part of a drawing.
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

/// Whether `##` and at most letters stand at the end, as before the bracket of `##vso[` or `##[`.
fn ends_like_a_command(text: &str) -> bool {
    text.trim_end_matches(|letter: char| letter.is_ascii_alphanumeric()).ends_with("##")
}

/// Writes one line: whatever is put into it, it stays one.
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

/// `writeln!` for lines that people read: nothing that is put into it ends the line or steers.
#[macro_export]
macro_rules! put {
    ($out:expr, $($words:tt)*) => { $crate::text::put($out, format_args!($($words)*)) };
}

/// A text in XML or HTML: in an element or between quotes. What ends a line is a reference, for parsers read plain
/// ones in an attribute as blanks.
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
            // No XML can hold these, not even as references.
            '\u{fffe}' | '\u{ffff}' => push_shown(character, &mut out),
            character if steers(character) => push_shown(character, &mut out),
            character => out.push(character),
        }
    }
    out
}

/// A cell of a table in CSV. One that a spreadsheet would evaluate is made text by an apostrophe.
pub fn csv(cell: &str) -> Cow<'_, str> {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let cell = line(cell);
    if !formula && !cell.contains(['"', ',']) {
        return cell;
    }
    let mark = if formula { "'" } else { "" };
    Cow::Owned(format!("\"{mark}{}\"", cell.replace('"', "\"\"")))
}

/// JSON as any serializer wrote it, with the characters escaped that a serializer lets through. Outside of strings
/// JSON has none of them.
pub fn json(text: &str) -> Cow<'_, str> {
    // Indented JSON is full of line ends.
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

/// A list whose parts are made while it is written: all at once they would take several times the room of their text.
pub(crate) struct Each<'r, T, F>(&'r [T], F);

/// Makes such a list of these.
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

/// A value as indented JSON with a line end.
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
    /// For errors.
    Red,
    /// What is good, or new.
    Green,
    /// For warnings.
    Yellow,
    /// For places and margins.
    Blue,
    /// For headings of differences.
    Cyan,
    /// For hints.
    Magenta,
}

/// How a piece of text looks on a terminal. The default is as it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// In a color.
    pub color: Option<Color>,
    /// Bold.
    pub bold: bool,
    /// Faint.
    pub dim: bool,
}

impl Style {
    /// Bold, in no color.
    pub(crate) const BOLD: Style = Style { color: None, bold: true, dim: false };
    /// In a color.
    pub const fn color(color: Color) -> Style {
        Style { color: Some(color), bold: false, dim: false }
    }

    /// Bold, in a color.
    pub const fn bold(color: Color) -> Style {
        Style { color: Some(color), bold: true, dim: false }
    }

    /// What switches a terminal to it from plain.
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

/// Lines for a person at a terminal, with styles. It holds nothing that steers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    plain: String,
    /// From which byte on which style holds.
    styles: Vec<(usize, Style)>,
}

impl Text {
    /// Nothing yet.
    pub fn new() -> Text {
        Text::default()
    }

    /// Adds text that may have lines.
    pub fn push(&mut self, text: &str) {
        self.plain.push_str(&clean(text));
    }

    /// Adds a piece of what is drawn: it may begin in the middle of a line.
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

    /// Whether the last line has nothing but blanks yet, behind which build servers still read commands.
    fn begins_a_line(&self) -> bool {
        let last = self.plain.rsplit('\n').next().unwrap_or_default();
        last.chars().all(char::is_whitespace)
    }

    /// Adds text that may have lines in a style.
    pub fn styled(&mut self, style: Style, text: &str) {
        let before = self.style();
        self.turn(style);
        self.push(text);
        self.turn(before);
    }

    /// The style of what is added next.
    fn style(&self) -> Style {
        self.styles.last().map_or(Style::default(), |(_, style)| *style)
    }

    /// Another style for what is added next.
    pub fn turn(&mut self, style: Style) {
        if self.style() != style {
            self.styles.push((self.plain.len(), style));
        }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// Takes away line ends at the end.
    pub fn trim_end(&mut self) {
        let length = self.plain.trim_end_matches('\n').len();
        let last = self.style();
        self.plain.truncate(length);
        while self.styles.last().is_some_and(|(at, _)| *at > length) {
            self.styles.pop();
        }
        self.turn(last);
    }

    /// Without styles.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// For a stream that takes colors, or does not.
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

/// How a [`Sink`] shows what steers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// As `\u{1b}`; lines stay lines.
    Visible,
    /// As JSON does.
    Json,
}

/// A writer that lets nothing through that steers, for results that are written part by part.
pub struct Sink<W> {
    inner: W,
    notation: Notation,
    /// The beginning of a character whose end has not come yet.
    pending: Vec<u8>,
    /// The last letters that were written: a command may come in two pieces.
    tail: String,
}

/// The longest name of a command of a build server, with the signs before it.
const TAIL: usize = 64;

impl<W: Write> Sink<W> {
    /// Writes to `inner`.
    pub fn new(inner: W, notation: Notation) -> Sink<W> {
        Sink { inner, notation, pending: Vec::new(), tail: String::new() }
    }

    fn put(&mut self, text: &str) -> std::io::Result<()> {
        if self.notation == Notation::Json {
            // What is escaped depends on what stands before it.
            let whole = format!("{}{text}", self.tail);
            let written = json(&self.tail).len();
            self.inner.write_all(&json(&whole).as_bytes()[written..])?;
            let from = whole.ceil_char_boundary(whole.len().saturating_sub(TAIL));
            self.tail = whole[from..].to_owned();
            return Ok(());
        }
        // Commands are the matter of the format: one of them is made of commands.
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
                // Rows of CSV end with both.
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
            // Everything that is written here is text, in pieces.
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
