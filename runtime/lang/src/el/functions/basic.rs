//! Functions for strings, JSON, properties and time, which are available in every phase.

use super::{Answer, Call};
use crate::el::eval::too_long;
use crate::el::value::Value;
use crate::el::{Failure, dates, regex, xml};
use crate::time::Instant;
use std::borrow::Cow;

pub(super) fn never<'a>(_call: &mut Call<'a, '_>) -> Answer<'a> {
    Err(Failure::unavailable("this function only stands for itself"))
}

pub(super) fn first_not_null<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    Ok(match call.take(0) {
        Value::Null => call.take(1),
        value => value,
    })
}

pub(super) fn concat<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    joined(call.text(0), call.text(1))
}

fn joined<'a>(first: Cow<'a, str>, second: Cow<'a, str>) -> Answer<'a> {
    if first.len() + second.len() > crate::el::eval::LONGEST_TEXT {
        return Err(too_long());
    }
    Ok(Value::String(if second.is_empty() {
        first
    } else if first.is_empty() {
        second
    } else {
        let mut text = match first {
            Cow::Owned(text) => text,
            Cow::Borrowed(first) => {
                // Calls are often nested, so the text will grow.
                let mut text = String::with_capacity((first.len() + second.len()) * 2 + 16);
                text.push_str(first);
                text
            }
        };
        text.push_str(&second);
        Cow::Owned(text)
    }))
}

pub(super) fn replace_all<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (text, pattern, replacement) = (call.text(0), call.text(1), call.text(2));
    let text = regex::replace_all(&text, &pattern, &replacement, call.effects)?;
    Ok(Value::String(Cow::Owned(text)))
}

pub(super) fn append_all<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let (text, append, delimiter) = (call.text(0), call.text(1), call.text(2));
    let parts = regex::split(&text, &delimiter, call.effects)?;
    // Charged before the memory is allocated.
    call.effects.spend(parts.len() as u64 * (append.len() + delimiter.len()) as u64)?;
    let mut out = String::with_capacity(text.len() + parts.len() * append.len());
    // If the text begins with the delimiter, the split may have dropped the empty part before it.
    if text.starts_with(delimiter.as_ref()) && parts.first().is_some_and(|part| !part.is_empty()) {
        out.push_str(&append);
        out.push_str(&delimiter);
    }
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push_str(&delimiter);
        }
        out.push_str(part);
        out.push_str(&append);
        if out.len() > crate::el::eval::LONGEST_TEXT {
            return Err(too_long());
        }
    }
    Ok(Value::String(Cow::Owned(out)))
}

pub(super) fn trim<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let blank = |character: char| character <= ' ';
    Ok(Value::String(match call.text(0) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim_matches(blank)),
        Cow::Owned(text) => Cow::Owned(text.trim_matches(blank).to_owned()),
    }))
}

pub(super) fn url_encode<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    use std::fmt::Write as _;
    let text = call.text(0);
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => {
                out.push(char::from(byte));
            }
            b' ' => out.push('+'),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    Ok(Value::String(Cow::Owned(out)))
}

pub(super) fn timestamp<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let now = call.scope.now().ok_or_else(|| Failure::unavailable("there is no clock here"))?;
    let now = Instant::from_millis(now);
    Ok(Value::String(Cow::Owned(dates::processing(call).format(now))))
}

pub(super) fn to_json<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let mut out = String::new();
    json(&call.take(0), &mut out);
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}

/// Formats JSON as the server's library does: `/` is escaped.
fn json(value: &Value<'_>, out: &mut String) {
    use std::fmt::Write as _;
    let quoted = |text: &str, out: &mut String| {
        out.push('"');
        for character in text.chars() {
            match character {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '/' => out.push_str("\\/"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2000}'..='\u{20ff}' => {
                    let _ = write!(out, "\\u{:04X}", u32::from(character));
                }
                other => out.push(other),
            }
        }
        out.push('"');
    };
    match value {
        Value::Null => out.push_str("null"),
        Value::String(text) => quoted(text, out),
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                quoted(&key.to_text(), out);
                out.push(':');
                json(value, out);
            }
            out.push('}');
        }
        Value::List(items) => {
            out.push('[');
            for (at, item) in items.values().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                json(item, out);
            }
            out.push(']');
        }
        Value::Double(number) if !number.is_finite() => out.push_str("null"),
        other => other.write(out),
    }
}

/// Returns the entries of a map as texts; fails if the map or a value is null.
pub(super) fn texts(value: Value<'_>) -> Result<Vec<(String, String)>, Box<Failure>> {
    let null = || Failure::exception("NullPointerException", "there is nothing to write");
    let Value::Map(map) = value else { return Err(null()) };
    map.entries()
        .iter()
        .map(|(key, value)| match value {
            Value::Null => Err(null()),
            Value::String(text) => Ok((key.to_text().into_owned(), text.clone().into_owned())),
            // The server casts every value to a string.
            _ => Err(Failure::exception("ClassCastException", "a value is not text")),
        })
        .collect()
}

pub(super) fn to_properties<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let entries = texts(call.take(0))?;
    let mut out = String::from("#\n#");
    out.push_str(&dates::java_date(call.scope.now().unwrap_or(0)));
    out.push('\n');
    for (key, value) in entries {
        crate::configuration::write_property(&key, &value, &mut out);
    }
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}

pub(super) fn to_configuration<'a>(call: &mut Call<'a, '_>) -> Answer<'a> {
    let entries = texts(call.take(0))?;
    if entries.is_empty() {
        return Ok(Value::String(Cow::Borrowed("&lt;configuration /&gt;")));
    }
    let mut out = String::from("<configuration>");
    // Quotes are not escaped in the content of elements.
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for (key, value) in entries {
        out.push_str("\r\n  <property>\r\n    <name>");
        out.push_str(&escape(&key));
        out.push_str("</name>\r\n    <value>");
        out.push_str(&escape(&value));
        out.push_str("</value>\r\n  </property>");
    }
    out.push_str("\r\n</configuration>");
    Ok(Value::String(Cow::Owned(xml::escape(&out).into_owned())))
}
