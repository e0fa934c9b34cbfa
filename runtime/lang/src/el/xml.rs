//! The minimal XML support that expressions need: properties are inserted into serialized definitions.

use std::borrow::Cow;

/// Escapes the characters that the server escapes: `& < > " '`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#039;"),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Returns a value as it is inserted into a definition: unchanged if it is well-formed content of an element, else
/// escaped.
pub fn well_formed(text: &str) -> Cow<'_, str> {
    // Nearly all values contain none of these.
    if !text.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>')) {
        return Cow::Borrowed(text);
    }
    if !text.contains(['&', '<']) && !text.contains("]]>") {
        return Cow::Borrowed(text);
    }
    if roxmltree::Document::parse(&format!("<x>{text}</x>")).is_ok() {
        return Cow::Borrowed(text);
    }
    escape(text)
}

/// Whether a byte is XML white space.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Bytes that XML may interpret; those of characters that it does not allow begin with the last of them.
const READ: [bool; 256] = {
    let mut read = [false; 256];
    let mut at = 0;
    while at < 0x20 {
        read[at] = true;
        at += 1;
    }
    read[b'&' as usize] = true;
    read[b'<' as usize] = true;
    read[b'>' as usize] = true;
    read[0xef] = true;
    read
};

/// Splits a text at a byte; none if the part before it contains anything that XML interprets.
pub fn plain_until(text: &str, end: u8) -> Option<(&str, &str)> {
    // In an attribute a line break becomes a blank.
    let is_read = |byte: u8| READ[usize::from(byte)] && !(end == b'<' && is_blank(byte));
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        if byte == end {
            return Some((&text[..at], &text[at + 1..]));
        }
        if is_read(byte) {
            return None;
        }
    }
    None
}
