//! Writes timelines for people.

use std::fmt::{self, Write};

use ankus_lang::coordinator::{DataEvent, EventData, Instances};
use ankus_lang::time::{Instant, ProcessingZone};

use crate::text::{WIDEST, line};

use super::{Change, Entry, Request, Track, entries, feeds, offset_text};

/// Writes the actions of one or more coordinators, with the usual case stated once above them and exceptions beside
/// them.
pub fn human(tracks: &[Track], request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    let usual: Vec<Vec<Option<i64>>> = tracks.iter().map(|track| usual(track, request)).collect();
    for (track, usual) in tracks.iter().zip(&usual) {
        head(track, usual, out)?;
    }
    for feed in feeds(tracks) {
        crate::put!(
            out,
            "{} feeds {}: output `{}` is input `{}`, {}",
            tracks[feed.from].name,
            tracks[feed.to].name,
            feed.output,
            feed.input,
            feed.uri_template
        )?;
    }
    writeln!(out)?;

    let width = tracks.iter().map(|track| track.name.chars().count()).max().unwrap_or(0);
    let names = if tracks.len() > 1 { width.clamp(11, WIDEST) + 2 } else { 0 };
    let zone = tracks.first().map_or("UTC", |track| track.definition.zone_text.as_str());
    let local = if tracks.len() > 1 { "local time" } else { zone };
    let mut text = format!("{:>7}  ", "#");
    if names > 0 {
        let _ = write!(text, "{:<names$}", "coordinator");
    }
    let _ = writeln!(text, "{:<18} {}", "nominal (UTC)", line(local));
    let indent = " ".repeat(9 + names);
    let mut all = entries(tracks, request, true);
    let mut some = false;
    for entry in all.by_ref() {
        some = true;
        row(tracks, &entry, &usual, names, &indent, &mut text);
        if text.len() > 64 * 1024 {
            out.write_str(&text)?;
            text.clear();
        }
    }
    out.write_str(&text)?;
    if !some {
        writeln!(out, "  there is no action in this range")?;
    }
    const LIMIT: u64 = 1_000_000;
    let rest = all.count_rest(LIMIT);
    match rest {
        0 => Ok(()),
        LIMIT.. => writeln!(out, "\n  and more than {LIMIT} others; --count and --to show them"),
        1 => writeln!(out, "\n  and 1 more; --count or --to shows it"),
        rest => writeln!(out, "\n  and {rest} more; --count or --to shows them"),
    }
}

/// For each input, the step from the first action to the second.
fn usual(track: &Track, request: Request<'_>) -> Vec<Option<i64>> {
    let request = Request { existing: None, count: Some(2), ..request };
    let second = entries(std::slice::from_ref(track), request, false).nth(1);
    second.map(|entry| entry.steps).unwrap_or_default()
}

fn head(track: &Track, usual: &[Option<i64>], out: &mut dyn Write) -> fmt::Result {
    let definition = &track.definition;
    let (schedule, controls) = (&definition.schedule, &definition.controls);
    let zone = schedule.processing;
    let every = match definition.cron() {
        Some(cron) => format!("cron {}", cron.text()),
        None => plural(&definition.frequency_text, definition.unit_name()),
    };
    let end = match definition.end_of_name() {
        "NONE" => String::new(),
        name => format!(", from the {}", name.to_lowercase().replace('_', " ")),
    };
    crate::put!(
        out,
        "{}: {every}{end}, {} to {}, {}",
        track.name,
        zone.format(schedule.start),
        zone.format(schedule.end),
        definition.zone_text
    )?;
    let at_once = match controls.concurrency {
        number if number < 0 => "any number".to_owned(),
        number => number.to_string(),
    };
    crate::put!(
        out,
        "  {}, {at_once} at once, {} may wait, for {} minutes; runs {}",
        controls.execution.name(),
        controls.throttle,
        controls.timeout,
        definition.app_path
    )?;
    for (at, event) in definition.inputs.iter().enumerate() {
        data_line("in ", event, out)?;
        match usual.get(at).copied().flatten() {
            None | Some(0) => writeln!(out)?,
            Some(1..) => {
                let skipped = usual[at].unwrap_or(0);
                writeln!(
                    out,
                    "\n        nothing reads {} between two actions",
                    instances(skipped)
                )?;
            }
            Some(again) => {
                let again = instances(-again);
                writeln!(out, "\n        each action reads {again} of the previous one again")?;
            }
        }
    }
    for event in &definition.outputs {
        data_line("out", event, out)?;
        writeln!(out)?;
    }
    if !track.assumed.is_empty() {
        crate::put!(out, "  without a value, and shown as written: {}", track.assumed.join(", "))?;
    }
    Ok(())
}

fn instances(number: i64) -> String {
    if number == 1 { "1 instance".to_owned() } else { format!("{number} instances") }
}

fn plural(number: &str, unit: &str) -> String {
    let unit = unit.to_lowercase();
    match number {
        "1" => format!("every {unit}"),
        number => format!("every {number} {unit}s"),
    }
}

fn data_line(way: &str, event: &DataEvent, out: &mut dyn Write) -> fmt::Result {
    let dataset = &event.dataset;
    let instances = match &event.instances {
        Instances::List(texts) => texts.join(", "),
        Instances::Range(start, end) => format!("{start} to {end}"),
    };
    write!(
        out,
        "  {way} {}: {} of {} ({})",
        line(&event.name),
        line(&instances),
        line(&dataset.name),
        line(&plural(&dataset.frequency_text, dataset.unit.name()))
    )
}

fn row(
    tracks: &[Track],
    entry: &Entry,
    usual: &[Vec<Option<i64>>],
    names: usize,
    indent: &str,
    text: &mut String,
) {
    let track = &tracks[entry.track];
    if let Some(change) = entry.change {
        change_line(change, &track.definition.zone_text, indent, text);
    }
    let _ = write!(text, "{:>7}  ", entry.number);
    if names > 0 {
        let _ = write!(text, "{:<names$}", line(&track.name));
    }
    track.definition.schedule.processing.write(entry.nominal, text);
    let _ = write!(text, "  {} ", weekday(entry.nominal.plus_seconds(entry.offset_seconds)));
    let local = entry.nominal.plus_seconds(entry.offset_seconds);
    let shown = ProcessingZone::UTC.format(local);
    text.push_str(&shown[..10]);
    text.push(' ');
    text.push_str(&shown[11..16]);
    text.push(' ');
    offset_text(entry.offset_seconds, text);
    if names > 0 && !track.definition.schedule.zone.is_fixed() {
        let _ = write!(text, " {}", line(&track.definition.zone_text));
    }
    text.push('\n');
    let action = match &entry.action {
        Ok(action) => action,
        Err(failure) => {
            let _ = crate::put!(text, "{indent}this action cannot be created: {failure}");
            return;
        }
    };
    for (at, data) in action.inputs.iter().enumerate() {
        data_row("in ", data, indent, text);
        let step = entry.steps.get(at).copied().flatten();
        let expected = usual.get(entry.track).and_then(|usual| usual.get(at)).copied().flatten();
        if let Some(step) = step.filter(|step| Some(*step) != expected) {
            let words = match step {
                0 => "starts where the previous one ends".to_owned(),
                1.. => format!("nothing reads {} since the previous one", instances(step)),
                _ => format!("{} of the previous one again", instances(-step)),
            };
            let _ = crate::put!(text, "{indent}    ! {words}");
        }
    }
    for data in &action.outputs {
        data_row("out", data, indent, text);
    }
    if let Err(failure) = &entry.properties {
        let _ = crate::put!(text, "{indent}its workflow cannot be started: {failure}");
    }
    for missing in entry.missing.iter().take(5) {
        let _ = crate::put!(text, "{indent}missing {missing}");
    }
    if entry.missing.len() > 5 {
        let _ = crate::put!(text, "{indent}missing {} more", entry.missing.len() - 5);
    }
}

fn change_line(change: Change, zone: &str, indent: &str, text: &mut String) {
    let minutes = (change.after - change.before).abs() / 60;
    let way = if change.after > change.before { "forward" } else { "back" };
    let _ = write!(
        text,
        "{indent}~~ clocks of {zone} go {way} by {minutes} minutes at ",
        zone = line(zone)
    );
    ProcessingZone::UTC.write(change.at, text);
    text.push_str(": ");
    for (words, offset) in [("", change.before), (" becomes ", change.after)] {
        let shown = ProcessingZone::UTC.format(change.at.plus_seconds(offset));
        let _ = write!(text, "{words}{}", &shown[11..16]);
    }
    text.push('\n');
}

fn data_row(way: &str, data: &EventData, indent: &str, text: &mut String) {
    let mut words = format!("{indent}{way} {}: ", data.name);
    match data.uris.as_slice() {
        [] if data.unresolved.is_empty() => words.push_str("nothing"),
        [] => {}
        [one] => words.push_str(one),
        [first, second] => {
            let _ = write!(words, "{first}, {second}");
        }
        [first, .., last] => {
            let _ = write!(words, "{} instances, {first} … {last}", data.uris.len());
        }
    }
    for (at, open) in data.unresolved.iter().enumerate() {
        let comma = if at > 0 || !data.uris.is_empty() { ", " } else { "" };
        let _ = write!(words, "{comma}{open}, looked for when it is checked");
    }
    let _ = crate::put!(text, "{words}");
}

fn weekday(local: Instant) -> &'static str {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    DAYS[local.0.div_euclid(86_400).rem_euclid(7) as usize]
}
