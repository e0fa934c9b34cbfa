//! Writes timelines as calendars, in the format of RFC 5545.

use std::fmt::{self, Write};

use ankus_lang::time::{Instant, ProcessingZone};

use crate::text;

use super::{Request, Track, data, entries};

/// Writes one event per action, without a duration, because the run time of a workflow is unknown.
pub fn ics(tracks: &[Track], request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    out.write_str("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//ankus//timeline//EN\r\n")?;
    let mut text = String::new();
    for entry in entries(tracks, request, false) {
        let track = &tracks[entry.track];
        let stamp = stamp(entry.nominal);
        let mut description = String::new();
        match &entry.action {
            Ok(action) => {
                for (is_input, data) in data(action) {
                    let way = if is_input { "in" } else { "out" };
                    for uri in data.uris.iter().chain(&data.unresolved) {
                        let _ = writeln!(description, "{way} {}: {uri}", data.name);
                    }
                }
            }
            Err(failure) => description.push_str(&failure.to_string()),
        }
        text.push_str("BEGIN:VEVENT\r\n");
        line("UID", &format!("{}-{}@ankus", track.name, entry.number), &mut text);
        line("DTSTAMP", &stamp, &mut text);
        line("DTSTART", &stamp, &mut text);
        let summary = format!("{} #{}", track.name, entry.number);
        line("SUMMARY", &escaped(&summary), &mut text);
        if !description.is_empty() {
            line("DESCRIPTION", &escaped(description.trim_end()), &mut text);
        }
        text.push_str("END:VEVENT\r\n");
        if text.len() > 64 * 1024 {
            out.write_str(&text)?;
            text.clear();
        }
    }
    text.push_str("END:VCALENDAR\r\n");
    out.write_str(&text)
}

/// Formats an instant as `20200131T235900Z`.
fn stamp(at: Instant) -> String {
    let text = ProcessingZone::UTC.format(at);
    let mut digits: String = text.chars().filter(|letter| !matches!(letter, '-' | ':')).collect();
    digits.insert_str(digits.len() - 1, "00");
    digits
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text::clean(text).chars() {
        match letter {
            '\\' | ';' | ',' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            '\n' => escaped.push_str("\\n"),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Writes a line, folded if it is longer than 75 bytes.
fn line(name: &str, value: &str, out: &mut String) {
    let mut width = name.len() + 1;
    out.push_str(name);
    out.push(':');
    for letter in value.chars().filter(|letter| !letter.is_control()) {
        if width + letter.len_utf8() > 75 {
            out.push_str("\r\n ");
            width = 1;
        }
        out.push(letter);
        width += letter.len_utf8();
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_between_letters() {
        let mut out = String::new();
        line("SUMMARY", &"ä".repeat(60), &mut out);
        assert!(out.lines().all(|line| line.len() <= 75), "{out}");
        assert_eq!(out.replace("\r\n ", ""), format!("SUMMARY:{}\r\n", "ä".repeat(60)));
    }

    #[test]
    fn an_instant_is_written_with_seconds() {
        assert_eq!(stamp(Instant(0)), "19700101T000000Z");
    }
}
