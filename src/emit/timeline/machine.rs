//! Writes timelines for programs: JSON and CSV.

use std::fmt::{self, Write};

use ankus_lang::coordinator::EventData;

use crate::text;

use super::{Entry, Request, Track, data, entries, feeds, local_text, texts};

/// Writes one coordinator as a JSON object, with one line per action.
pub fn json(track: &Track, request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    out.write_str("{\"version\": 1, ")?;
    object(track, request, out)?;
    out.write_str("}\n")
}

/// Writes a bundle with all of its coordinators, and the data dependencies between them.
pub fn bundle_json(
    name: &str,
    kick_off: Option<&str>,
    tracks: &[Track],
    request: Request<'_>,
    out: &mut dyn Write,
) -> fmt::Result {
    let mut text = String::from("{\"version\": 1, \"bundle\": ");
    quote(name, &mut text);
    if let Some(kick_off) = kick_off {
        text.push_str(", \"kickOffTime\": ");
        quote(kick_off, &mut text);
    }
    text.push_str(", \"coordinators\": [\n");
    out.write_str(&text)?;
    for (at, track) in tracks.iter().enumerate() {
        out.write_str(if at > 0 { ",\n{" } else { "{" })?;
        object(track, request, out)?;
        out.write_str("}")?;
    }
    let mut text = String::from("], \"feeds\": [");
    for (at, feed) in feeds(tracks).iter().enumerate() {
        text.push_str(if at > 0 { ", {" } else { "{" });
        for (at, (key, value)) in [
            ("from", &tracks[feed.from].name),
            ("output", &feed.output),
            ("to", &tracks[feed.to].name),
            ("input", &feed.input),
            ("uriTemplate", &feed.uri_template),
        ]
        .into_iter()
        .enumerate()
        {
            text.push_str(if at > 0 { ", \"" } else { "\"" });
            text.push_str(key);
            text.push_str("\": ");
            quote(value, &mut text);
        }
        text.push('}');
    }
    text.push_str("]}\n");
    out.write_str(&text)
}

fn object(track: &Track, request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    let definition = &track.definition;
    let (schedule, controls) = (&definition.schedule, &definition.controls);
    let zone = schedule.processing;
    let mut text = String::from("\"coordinator\": ");
    quote(&track.name, &mut text);
    text.push_str(", \"job\": {");
    let numbers = [controls.timeout, controls.concurrency, controls.throttle];
    let [timeout, concurrency, throttle] = numbers.map(|number| number.to_string());
    for (at, (key, value, is_text)) in [
        ("name", definition.name.as_str(), true),
        ("frequency", &definition.frequency_text, true),
        ("unit", definition.unit_name(), true),
        ("start", &zone.format(schedule.start), true),
        ("end", &zone.format(schedule.end), true),
        ("timezone", &definition.zone_text, true),
        ("timeout", &timeout, false),
        ("concurrency", &concurrency, false),
        ("execution", controls.execution.name(), true),
        ("throttle", &throttle, false),
        ("workflow", &definition.app_path, true),
    ]
    .into_iter()
    .enumerate()
    {
        text.push_str(if at > 0 { ", \"" } else { "\"" });
        text.push_str(key);
        text.push_str("\": ");
        match is_text {
            true => quote(value, &mut text),
            false => text.push_str(value),
        }
    }
    text.push_str("}, \"assumed\": ");
    list(&track.assumed, &mut text);
    text.push_str(", \"actions\": [");
    out.write_str(&text)?;

    let write = |entry: &Entry, is_first: bool, text: &mut String| {
        text.push_str(if is_first { "\n" } else { ",\n" });
        action(track, entry, text);
    };
    if request.existing.is_none() {
        texts(track, &request, &write, out)?;
        return out.write_str("\n]");
    }
    let mut text = String::new();
    for (at, entry) in entries(std::slice::from_ref(track), request, true).enumerate() {
        write(&entry, at == 0, &mut text);
        // Written in pieces, to limit the memory.
        if text.len() > 64 * 1024 {
            out.write_str(&text)?;
            text.clear();
        }
    }
    text.push_str("\n]");
    out.write_str(&text)
}

/// Appends a number without the formatting machinery, which would cost more than everything else.
fn digits(number: i64, text: &mut String) {
    let mut buffer = [0; 20];
    let mut left = number.unsigned_abs();
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if number < 0 {
        text.push('-');
    }
    text.push_str(std::str::from_utf8(&buffer[at..]).expect("digits are text"));
}

fn action(track: &Track, entry: &Entry, text: &mut String) {
    let zone = track.definition.schedule.processing;
    text.push_str("{\"number\": ");
    digits(entry.number, text);
    text.push_str(", \"nominal\": \"");
    zone.write(entry.nominal, text);
    text.push_str("\", \"local\": \"");
    local_text(entry.nominal, entry.offset_seconds, text);
    text.push('"');
    if let Some(change) = entry.change {
        text.push_str(", \"clockChange\": {\"at\": \"");
        zone.write(change.at, text);
        let _ = write!(text, "\", \"seconds\": {}}}", change.after - change.before);
    }
    text.push_str(", \"timeout\": ");
    digits(track.definition.controls.timeout, text);
    match &entry.action {
        Ok(action) => {
            for (key, events) in
                [(", \"inputs\": {", &action.inputs), (", \"outputs\": {", &action.outputs)]
            {
                text.push_str(key);
                for (at, data) in events.iter().enumerate() {
                    text.push_str(if at > 0 { ", " } else { "" });
                    quote(&data.name, text);
                    text.push_str(": ");
                    list(&data.uris, text);
                }
                text.push('}');
            }
            let open = data(action).filter(|(_, data)| !data.unresolved.is_empty());
            text.push_str(", \"unresolved\": {");
            for (at, (_, data)) in open.enumerate() {
                text.push_str(if at > 0 { ", " } else { "" });
                quote(&data.name, text);
                text.push_str(": ");
                quote(&data.unresolved.join("#"), text);
            }
            text.push('}');
            if !action.sla.is_empty() {
                text.push_str(", \"sla\": ");
                pairs(&action.sla, text);
            }
        }
        Err(failure) => {
            text.push_str(", \"error\": ");
            quote(&failure.to_string(), text);
        }
    }
    match &entry.properties {
        Ok(properties) => {
            text.push_str(", \"properties\": ");
            pairs(properties, text);
        }
        // One failure is enough; a second key with the same name would be lost.
        Err(_) if entry.action.is_err() => {}
        Err(failure) => {
            text.push_str(", \"error\": ");
            quote(&failure.to_string(), text);
        }
    }
    if !entry.missing.is_empty() {
        text.push_str(", \"missing\": ");
        list(&entry.missing, text);
    }
    text.push('}');
}

fn list(texts: &[String], out: &mut String) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(text, out);
    }
    out.push(']');
}

fn pairs(pairs: &[(String, String)], out: &mut String) {
    out.push('{');
    for (at, (name, value)) in pairs.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        quote(name, out);
        out.push_str(": ");
        quote(value, out);
    }
    out.push('}');
}

/// Appends a JSON string; most texts need no escape.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    // Without early exit, so that the compiler can vectorize it.
    let special =
        |byte: u8| byte < 0x20 || matches!(byte, b'"' | b'\\' | 0x7f | 0xc2 | 0xd8 | 0xe2);
    if !text.bytes().fold(false, |any, byte| any | special(byte)) {
        out.push_str(text);
    } else {
        for letter in text.chars() {
            match letter {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                letter if text::steers(letter) => {
                    let _ = write!(out, "\\u{:04x}", letter as u32);
                }
                letter => out.push(letter),
            }
        }
    }
    out.push('"');
}

/// Writes a table with one line per action, all coordinators sorted by time.
pub fn csv(tracks: &[Track], request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    out.write_str(
        "coordinator,number,nominal,local,timeout,inputs,outputs,unresolved,missing,error\r\n",
    )?;
    let mut text = String::new();
    for entry in entries(tracks, request, false) {
        let track = &tracks[entry.track];
        field(&track.name, &mut text);
        let _ = write!(text, ",{},", entry.number);
        track.definition.schedule.processing.write(entry.nominal, &mut text);
        text.push(',');
        local_text(entry.nominal, entry.offset_seconds, &mut text);
        let _ = write!(text, ",{},", track.definition.controls.timeout);
        let named = |events: &[EventData], open: bool| {
            let mut cell = String::new();
            for data in events {
                let texts = if open { &data.unresolved } else { &data.uris };
                for one in texts {
                    cell.push_str(if cell.is_empty() { "" } else { " " });
                    cell.push_str(&data.name);
                    cell.push('=');
                    cell.push_str(one);
                }
            }
            cell
        };
        match &entry.action {
            Ok(action) => {
                field(&named(&action.inputs, false), &mut text);
                text.push(',');
                field(&named(&action.outputs, false), &mut text);
                text.push(',');
                let mut open = named(&action.inputs, true);
                open.push_str(&named(&action.outputs, true));
                field(&open, &mut text);
                text.push(',');
                field(&entry.missing.join(" "), &mut text);
                text.push(',');
            }
            Err(failure) => {
                text.push_str(",,,,");
                field(&failure.to_string(), &mut text);
            }
        }
        text.push_str("\r\n");
        if text.len() > 64 * 1024 {
            out.write_str(&text)?;
            text.clear();
        }
    }
    out.write_str(&text)
}

fn field(cell: &str, out: &mut String) {
    out.push_str(&text::csv(cell));
}
