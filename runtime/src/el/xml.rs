//! The little XML that expressions meet: properties are put into serialized definitions.

use std::borrow::Cow;

/// Escapes what the server escapes: `& < > " '`.
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

/// A value as it is put into a definition: as it is where it is the content of an element, else escaped.
pub fn well_formed(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<']) && !text.contains("]]>") {
        return Cow::Borrowed(text);
    }
    if roxmltree::Document::parse(&format!("<x>{text}</x>")).is_ok() {
        return Cow::Borrowed(text);
    }
    escape(text)
}
