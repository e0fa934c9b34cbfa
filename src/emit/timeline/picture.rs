//! Draws timelines: actions on a time axis, and below them the data they read and write.

use std::fmt::{self, Write};

use ankus_lang::time::{Instant, ProcessingZone};

use crate::text;

use super::{Entry, Request, Track, data, entries, feeds, window};

/// Default number of actions in a picture.
const ROOM: u64 = 100;

const LEFT: f64 = 190.0;
const WIDTH: f64 = 1100.0;
const LANE: f64 = 26.0;

/// Draws the first actions.
pub fn svg(tracks: &[Track], request: Request<'_>, out: &mut dyn Write) -> fmt::Result {
    let request = Request { count: Some(request.count.unwrap_or(ROOM)), ..request };
    let drawn: Vec<Entry> = entries(tracks, request, false).collect();
    let spans: Vec<Vec<Option<(Instant, Instant)>>> =
        drawn.iter().map(|entry| spans(&tracks[entry.track], entry)).collect();
    let ends = spans.iter().flatten().flatten().flat_map(|(from, to)| [*from, *to]);
    let all: Vec<i64> =
        drawn.iter().map(|entry| entry.nominal).chain(ends).map(|at| at.0).collect();
    let from = all.iter().copied().min().unwrap_or(0);
    let to = all.iter().copied().max().unwrap_or(0).max(from + 3600);
    let x = |at: Instant| LEFT + 10.0 + (at.0 - from) as f64 / (to - from) as f64 * (WIDTH - 20.0);

    let mut tops = Vec::new();
    let mut y = 56.0;
    for track in tracks {
        tops.push(y);
        let lanes = 1 + track.definition.inputs.len() + track.definition.outputs.len();
        y += lanes as f64 * LANE + 14.0;
    }
    let (height, right) = (y + 10.0, LEFT + WIDTH);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {height}\" width=\"{0}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<style>.in{{fill:#3b7dd8}}.out{{fill:#c2702a}}.act{{fill:#333}}\
         .dim{{fill:#777}}.feed{{stroke:#2a8a4a;fill:none}}</style>\n\
         <rect width=\"{0}\" height=\"{height}\" fill=\"#fff\"/>\n",
        right + 10.0
    );
    ticks(from, to, &x, height, &mut text);
    changes(tracks, from, to, &x, height, &mut text);

    for (track, top) in tracks.iter().zip(&tops) {
        names(track, *top, right, &mut text);
    }
    for (entry, spans) in drawn.iter().zip(&spans) {
        one(&tracks[entry.track], entry, spans, tops[entry.track], &x, &mut text);
    }
    ways(tracks, &tops, &mut text);
    text.push_str("</svg>\n");
    out.write_str(&text)
}

/// Writes the name of a coordinator, and of its inputs and outputs, with the line of its actions.
fn names(track: &Track, top: f64, right: f64, text: &mut String) {
    let _ = writeln!(
        text,
        "<text x=\"8\" y=\"{}\" font-weight=\"bold\">{}</text>",
        top + 16.0,
        text::xml(&track.name)
    );
    let inputs = track.definition.inputs.iter().map(|event| ("in", event));
    let outputs = track.definition.outputs.iter().map(|event| ("out", event));
    for (at, (class, event)) in inputs.chain(outputs).enumerate() {
        let y = top + (at + 1) as f64 * LANE + 16.0;
        let _ = writeln!(
            text,
            "<text x=\"20\" y=\"{y}\" class=\"{class}\">{} ({})</text>",
            text::xml(&event.name),
            text::xml(&event.dataset.name)
        );
    }
    let _ = writeln!(
        text,
        "<line x1=\"{LEFT}\" y1=\"{0}\" x2=\"{right}\" y2=\"{0}\" stroke=\"#bbb\"/>",
        top + 12.0
    );
}

/// Draws an action, and the time ranges of its data.
fn one(
    track: &Track,
    entry: &Entry,
    spans: &[Option<(Instant, Instant)>],
    top: f64,
    x: &dyn Fn(Instant) -> f64,
    text: &mut String,
) {
    let nominal = track.definition.schedule.processing.format(entry.nominal);
    let reads = track.definition.inputs.len();
    for (at, span) in spans.iter().enumerate() {
        let Some((from, to)) = span else { continue };
        let class = if at < reads { "in" } else { "out" };
        let _ = write!(
            text,
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{}\" width=\"{:.1}\" height=\"12\" rx=\"2\" fill-opacity=\"0.3\" \
             stroke=\"#fff\"><title>",
            x(*from),
            top + (at + 1) as f64 * LANE + 6.0,
            (x(*to) - x(*from)).max(2.0)
        );
        let _ = write!(text, "#{} {nominal}", entry.number);
        if let Ok(action) = &entry.action
            && let Some((_, data)) = data(action).nth(at)
        {
            let ends = [data.uris.first(), data.uris.last().filter(|_| data.uris.len() > 1)];
            for uri in ends.into_iter().flatten() {
                let _ = write!(text, "\n{}", text::xml(uri));
            }
        }
        text.push_str("</title></rect>\n");
    }
    let color = if entry.action.is_err() { " fill=\"#d02020\"" } else { "" };
    let _ = writeln!(
        text,
        "<circle class=\"act\"{color} cx=\"{:.1}\" cy=\"{}\" r=\"4\"><title>{} #{} {nominal}</title></circle>",
        x(entry.nominal),
        top + 12.0,
        text::xml(&track.name),
        entry.number
    );
}

/// Draws lines from outputs to the inputs that read them.
fn ways(tracks: &[Track], tops: &[f64], text: &mut String) {
    for feed in feeds(tracks) {
        let place = |track: usize, names: Vec<&str>, name: &str, before: usize| {
            let at = names.iter().position(|known| *known == name).unwrap_or(0) + before;
            tops[track] + (at + 1) as f64 * LANE + 12.0
        };
        let (writer, reader) = (&tracks[feed.from].definition, &tracks[feed.to].definition);
        let outputs = writer.outputs.iter().map(|event| event.name.as_str()).collect();
        let inputs = reader.inputs.iter().map(|event| event.name.as_str()).collect();
        let y1 = place(feed.from, outputs, &feed.output, writer.inputs.len());
        let y2 = place(feed.to, inputs, &feed.input, 0);
        let _ = writeln!(
            text,
            "<path class=\"feed\" d=\"M {0} {y1} C {1} {y1}, {1} {y2}, {0} {y2}\"><title>{2} feeds {3}</title></path>",
            LEFT - 4.0,
            LEFT - 40.0,
            text::xml(&tracks[feed.from].name),
            text::xml(&tracks[feed.to].name)
        );
    }
}

/// The time range of the data of each event of an entry.
fn spans(track: &Track, entry: &Entry) -> Vec<Option<(Instant, Instant)>> {
    let definition = &track.definition;
    let events = definition.inputs.iter().chain(&definition.outputs);
    events
        .map(|event| {
            let series = event.dataset.series(definition.schedule.processing)?;
            let (oldest, newest) = window(event, &series, entry.nominal)?;
            Some((series.instance(oldest.max(0)), series.instance(newest.max(0) + 1)))
        })
        .collect()
}

/// Draws about ten time marks.
fn ticks(from: i64, to: i64, x: &dyn Fn(Instant) -> f64, height: f64, text: &mut String) {
    const STEPS: [i64; 14] = [
        300,
        900,
        3600,
        3 * 3600,
        6 * 3600,
        12 * 3600,
        86_400,
        2 * 86_400,
        7 * 86_400,
        14 * 86_400,
        30 * 86_400,
        91 * 86_400,
        365 * 86_400,
        3650 * 86_400,
    ];
    let step = STEPS.into_iter().find(|step| (to - from) / step <= 10).unwrap_or(36_500 * 86_400);
    let mut at = from.div_euclid(step) * step;
    while at <= to {
        if at >= from {
            let place = x(Instant(at));
            let shown = ProcessingZone::UTC.format(Instant(at));
            let words = if step < 86_400 { &shown[5..16] } else { &shown[..10] };
            let _ = writeln!(
                text,
                "<line x1=\"{place:.1}\" y1=\"40\" x2=\"{place:.1}\" y2=\"{height}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{place:.1}\" y=\"34\" text-anchor=\"middle\" class=\"dim\">{}</text>",
                words.replace('T', " ")
            );
        }
        at += step;
    }
    text.push_str("<text x=\"8\" y=\"34\" class=\"dim\">UTC</text>\n");
}

/// Draws lines at changes of the UTC offset.
fn changes(
    tracks: &[Track],
    from: i64,
    to: i64,
    x: &dyn Fn(Instant) -> f64,
    height: f64,
    text: &mut String,
) {
    let mut seen = Vec::new();
    for track in tracks {
        let zone = &track.definition.schedule.zone;
        let mut at = Instant(from);
        while let Some((next, offset)) = zone.next_change(at).filter(|(next, _)| next.0 <= to) {
            if !seen.contains(&(zone.id().to_owned(), next)) {
                let place = x(next);
                let way = if offset > zone.offset_seconds(at) { "forward" } else { "back" };
                let _ = writeln!(
                    text,
                    "<line x1=\"{place:.1}\" y1=\"40\" x2=\"{place:.1}\" y2=\"{height}\" stroke=\"#d02020\" \
                     stroke-dasharray=\"4 3\"><title>clocks of {} go {way}</title></line>",
                    text::xml(zone.id())
                );
                seen.push((zone.id().to_owned(), next));
            }
            at = next;
            if seen.len() > 200 {
                return;
            }
        }
    }
}
