//! Computes when coordinators act and on which data, without running anything.
//!
//! Takes coordinators as a server would store them, a time range, and optionally the existing data. Returns one entry
//! per action, in order of time, computed on demand, so that a century of five-minute actions needs no more memory
//! than a day; the submodules write those entries as text, JSON, CSV, a picture or a calendar.

mod calendar;
mod human;
mod machine;
mod picture;

use ankus_lang::coordinator::{
    Action, Actions, DataEvent, Definition, EventData, Existing, Failure, Inputs, Instances,
};
use ankus_lang::time::{Dataset, Instant, NominalTimes, Zone};
use rayon::prelude::*;

pub use calendar::ics;
pub use human::human;
pub use machine::{bundle_json, csv, json};
pub use picture::svg;

/// A coordinator on the timeline.
#[derive(Clone, Debug)]
pub struct Track {
    /// Its name, or its name in the bundle.
    pub name: String,
    /// Its definition, as a server would store it.
    pub definition: Definition,
    /// Names of properties that were not given: references to them are kept.
    pub assumed: Vec<String>,
}

/// The query for a timeline.
#[derive(Clone, Copy, Default)]
pub struct Request<'a> {
    /// Start of the range of nominal times, inclusive.
    pub from: Option<Instant>,
    /// End of the range, exclusive.
    pub to: Option<Instant>,
    /// Maximum number of actions.
    pub count: Option<u64>,
    /// The assumed creation time of the actions.
    pub now: Instant,
    /// The existing data, for instances such as `latest` and for missing inputs.
    pub existing: Option<&'a dyn Existing>,
}

/// A change of the UTC offset between two consecutive actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The time of the change.
    pub at: Instant,
    /// Offset before it, in seconds east of UTC.
    pub before: i64,
    /// Offset after it, in seconds east of UTC.
    pub after: i64,
}

/// One action.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Index of its coordinator.
    pub track: usize,
    /// Its number, from 1.
    pub number: i64,
    /// Its nominal time.
    pub nominal: Instant,
    /// Offset of the coordinator's time zone, in seconds east of UTC.
    pub(crate) offset_seconds: i64,
    /// The last offset change since the previous action.
    pub change: Option<Change>,
    /// Its data, or the failure to evaluate it.
    pub action: Result<Action, Failure>,
    /// The configuration of its workflow.
    pub properties: Result<Vec<(String, String)>, Failure>,
    /// The inputs that it would wait for, if the existing data was given.
    pub missing: Vec<String>,
    /// For each input with only `current` instances: the number of instances between its window and that of the
    /// previous action; negative if they overlap.
    pub steps: Vec<Option<i64>>,
}

impl Default for Entry {
    fn default() -> Self {
        Entry {
            track: 0,
            number: 0,
            nominal: Instant(0),
            offset_seconds: 0,
            change: None,
            action: Err(Failure::default()),
            properties: Ok(Vec::new()),
            missing: Vec::new(),
            steps: Vec::new(),
        }
    }
}

/// The entries of several coordinators, merged by time.
pub struct Entries<'a> {
    lanes: Vec<Lane<'a>>,
    request: Request<'a>,
    left: u64,
    wants_properties: bool,
}

struct Lane<'a> {
    making: Making<'a>,
    times: NominalTimes<'a>,
    due: Option<(i64, Instant)>,
}

/// Creates the entries of one coordinator in order.
struct Making<'a> {
    definition: &'a Definition,
    actions: Actions<'a>,
    series: Vec<Option<Dataset>>,
    clock: Clock<'a>,
    windows: Vec<Option<(i64, i64)>>,
    before: Option<Instant>,
}

/// The UTC offset of a time zone, cached until it changes.
struct Clock<'a> {
    zone: &'a Zone,
    from: Instant,
    until: Instant,
    offset_seconds: i64,
}

impl Clock<'_> {
    fn offset_seconds(&mut self, at: Instant) -> i64 {
        if at < self.from || at >= self.until {
            self.offset_seconds = self.zone.offset_seconds(at);
            let next = self.zone.next_change(at);
            (self.from, self.until) = (at, next.map_or(Instant(i64::MAX), |(next, _)| next));
        }
        self.offset_seconds
    }
}

/// The last offset change after one instant and up to another.
fn change(zone: &Zone, after: Instant, until: Instant) -> Option<Change> {
    let (mut at, mut found) = (after, None);
    // There are two changes a year, for the time between two actions.
    for _ in 0..1000 {
        match zone.next_change(at) {
            Some((next, offset)) if next <= until => {
                found = Some(Change { at: next, before: zone.offset_seconds(at), after: offset });
                at = next;
            }
            _ => break,
        }
    }
    found
}

/// All requested actions. With `wants_properties`, the configuration of each workflow is evaluated as well.
pub fn entries<'a>(
    tracks: &'a [Track],
    request: Request<'a>,
    wants_properties: bool,
) -> Entries<'a> {
    let lanes = tracks.iter().map(|track| {
        let mut times = times(&track.definition, &request);
        let due = times.next();
        Lane { making: Making::new(&track.definition), times, due }
    });
    let left = request.count.unwrap_or(u64::MAX);
    Entries { lanes: lanes.collect(), request, left, wants_properties }
}

/// The nominal times in the requested range.
fn times<'a>(definition: &'a Definition, request: &Request<'_>) -> NominalTimes<'a> {
    let schedule = &definition.schedule;
    let mut times = schedule.run(None, 0, request.to.unwrap_or(schedule.end), None);
    if let Some(from) = request.from {
        times.skip_to(from);
    }
    times
}

/// Number of entries per piece of text, and number of pieces created at a time.
const PIECE: usize = 512;
const PIECES: usize = 16;

/// Writes the entries of one coordinator in order, creating pieces of the text in parallel. `write` is told whether an
/// entry is the first. Not for queries that depend on existing data.
fn texts(
    track: &Track,
    request: &Request<'_>,
    write: &(dyn Fn(&Entry, bool, &mut String) + Sync),
    out: &mut dyn std::fmt::Write,
) -> std::fmt::Result {
    let definition = &track.definition;
    let mut times = times(definition, request);
    let (now, mut left) = (request.now, request.count.unwrap_or(u64::MAX));
    let mut before = None;
    loop {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(PIECE * PIECES);
        let block: Vec<(i64, Instant)> = times.by_ref().take(most).collect();
        let Some((_, last)) = block.last().copied() else { return Ok(()) };
        left -= block.len() as u64;
        let piece = |(at, piece): (usize, &[(i64, Instant)])| {
            let before = if at == 0 { before } else { Some(block[at * PIECE - 1].1) };
            let mut making = Making::new(definition);
            making.go_on_after(before);
            let mut text = String::with_capacity(piece.len() * 256);
            let mut entry = Entry::default();
            for (at, (number, nominal)) in piece.iter().enumerate() {
                making.write_over(&mut entry, *number, *nominal, now);
                write(&entry, before.is_none() && at == 0, &mut text);
            }
            text
        };
        let texts: Vec<String> = match block.len() <= PIECE {
            true => vec![piece((0, &block))],
            false => block.par_chunks(PIECE).enumerate().map(piece).collect(),
        };
        texts.iter().try_for_each(|text| out.write_str(text))?;
        before = Some(last);
    }
}

impl Entries<'_> {
    /// Number of the remaining actions, counted up to a limit.
    pub(crate) fn count_rest(self, limit: u64) -> u64 {
        let mut rest = 0;
        for mut lane in self.lanes {
            rest += u64::from(lane.due.is_some());
            while rest < limit && lane.times.next().is_some() {
                rest += 1;
            }
        }
        rest
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        if self.left == 0 {
            return None;
        }
        let due = self.lanes.iter().enumerate().filter_map(|(at, lane)| Some((lane.due?.1, at)));
        let (nominal, track) = due.min()?;
        self.left -= 1;
        let (request, wants_properties) = (self.request, self.wants_properties);
        let lane = &mut self.lanes[track];
        let (number, _) = lane.due.take()?;
        lane.due = lane.times.next();
        Some(lane.making.entry(track, number, nominal, request, wants_properties))
    }
}

/// A placeholder for the job id, which does not exist yet, in evaluated texts.
const JOB: &str = "JOB";

impl<'a> Making<'a> {
    fn new(definition: &'a Definition) -> Making<'a> {
        let schedule = &definition.schedule;
        let series = definition.inputs.iter();
        Making {
            definition,
            actions: Actions::new(definition),
            series: series.map(|event| event.dataset.series(schedule.processing)).collect(),
            clock: Clock {
                zone: &schedule.zone,
                from: Instant(0),
                until: Instant(0),
                offset_seconds: 0,
            },
            windows: vec![None; definition.inputs.len()],
            before: None,
        }
    }

    /// Continues as if the entry of this time had been created.
    fn go_on_after(&mut self, before: Option<Instant>) {
        let Some(nominal) = before else { return };
        self.before = before;
        self.clock.offset_seconds(nominal);
        let inputs = self.definition.inputs.iter().zip(&self.series).zip(&mut self.windows);
        for ((event, series), last) in inputs {
            *last = series.as_ref().and_then(|series| window(event, series, nominal));
        }
    }

    /// Creates an entry in place of one that is no longer needed, without existing data. Windows are not compared.
    fn write_over(&mut self, entry: &mut Entry, number: i64, nominal: Instant, now: Instant) {
        let shown = self.clock.offset_seconds;
        entry.offset_seconds = self.clock.offset_seconds(nominal);
        let before = self.before.filter(|_| shown != entry.offset_seconds);
        entry.change = before.and_then(|before| change(self.clock.zone, before, nominal));
        (entry.number, entry.nominal) = (number, nominal);
        let none = || Action {
            number,
            nominal,
            actual: nominal,
            inputs: Vec::new(),
            outputs: Vec::new(),
            sla: Vec::new(),
        };
        let blank = Err(Failure::default());
        let mut action = std::mem::replace(&mut entry.action, blank).unwrap_or_else(|_| none());
        (action.number, action.nominal, action.actual) = (number, nominal, now.max(nominal));
        entry.action = self.actions.create_into(&mut action, JOB).map(|()| action);
        if let Ok(action) = &entry.action {
            let blank = Ok(Vec::new());
            let properties = std::mem::replace(&mut entry.properties, blank);
            let mut properties = properties.unwrap_or_default();
            let made =
                self.actions.configuration_into(JOB, action, &action.inputs, &mut properties);
            entry.properties = made.map(|()| properties);
        } else {
            entry.properties = Ok(Vec::new());
        }
        self.before = Some(nominal);
    }

    fn entry(
        &mut self,
        track: usize,
        number: i64,
        nominal: Instant,
        request: Request<'_>,
        wants_properties: bool,
    ) -> Entry {
        let shown = self.clock.offset_seconds;
        let offset_seconds = self.clock.offset_seconds(nominal);
        let before = self.before.filter(|_| shown != offset_seconds);
        let change = before.and_then(|before| change(self.clock.zone, before, nominal));
        let mut action = self.actions.create(JOB, number, nominal, request.now.max(nominal));
        let mut missing = Vec::new();
        if let (Some(existing), Ok(made)) = (request.existing, &mut action) {
            let paths = self.actions.dependencies(made).into_iter();
            let is_there = |path: &String| match path.trim_start().starts_with("hcat:") {
                true => existing.partition_exists(path).unwrap_or(Ok(false)),
                false => existing.exists(path),
            };
            missing.extend(paths.filter(|path| !is_there(path).unwrap_or(false)));
            match self.actions.check(made, existing, false) {
                Ok(Inputs::Ready(inputs)) => made.inputs = inputs,
                Ok(Inputs::Missing(what)) if !missing.contains(&what) => missing.push(what),
                Ok(Inputs::Missing(_)) => {}
                Err(failure) => action = Err(failure),
            }
        }
        let properties = match &action {
            Ok(action) if wants_properties => {
                self.actions.configuration(JOB, action, &action.inputs)
            }
            _ => Ok(Vec::new()),
        };

        let mut steps = Vec::with_capacity(self.windows.len());
        let inputs = self.definition.inputs.iter().zip(&self.series).zip(&mut self.windows);
        for ((event, series), last) in inputs {
            let now = series.as_ref().and_then(|series| window(event, series, nominal));
            steps.push(now.zip(*last).map(|(now, last)| now.0 - last.1 - 1));
            *last = now;
        }
        self.before = Some(nominal);
        Entry { track, number, nominal, offset_seconds, change, action, properties, missing, steps }
    }
}

/// The numbers of the oldest and the newest instance of an input, if all are `current`.
fn window(event: &DataEvent, series: &Dataset, nominal: Instant) -> Option<(i64, i64)> {
    let (_, now) = series.current(nominal)?;
    let (oldest, newest) = match &event.instances {
        Instances::Range(start, end) => (current(start)?, current(end)?),
        Instances::List(texts) => {
            let mut bounds = None;
            for text in texts {
                let n = current(text)?;
                let (oldest, newest) = bounds.unwrap_or((n, n));
                bounds = Some((n.min(oldest), n.max(newest)));
            }
            bounds?
        }
    };
    Some((now + oldest, now + newest))
}

/// The number in `${coord:current(n)}`.
fn current(text: &str) -> Option<i64> {
    let inner = text.trim().strip_prefix("${")?.strip_suffix('}')?.trim();
    let number = inner.strip_prefix("coord:current(")?.strip_suffix(')')?;
    number.trim().parse().ok()
}

/// An output of one coordinator that is an input of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Index of the coordinator that writes it.
    pub from: usize,
    /// Name of the output.
    pub output: String,
    /// Index of the coordinator that reads it.
    pub to: usize,
    /// Name of the input.
    pub input: String,
    /// The URI template of both.
    pub uri_template: String,
}

/// The data dependencies between coordinators.
pub fn feeds(tracks: &[Track]) -> Vec<Feed> {
    let mut feeds = Vec::new();
    for (from, writer) in tracks.iter().enumerate() {
        for output in &writer.definition.outputs {
            for (to, reader) in tracks.iter().enumerate().filter(|(to, _)| *to != from) {
                let same =
                    |input: &&DataEvent| input.dataset.uri_template == output.dataset.uri_template;
                feeds.extend(reader.definition.inputs.iter().filter(same).map(|input| Feed {
                    from,
                    output: output.name.clone(),
                    to,
                    input: input.name.clone(),
                    uri_template: output.dataset.uri_template.clone(),
                }));
            }
        }
    }
    feeds
}

/// Formats a local time with its UTC offset: `2020-01-01T05:30+05:30`.
fn local_text(nominal: Instant, offset_seconds: i64, out: &mut String) {
    let shown = nominal.plus_seconds(offset_seconds);
    ankus_lang::time::ProcessingZone::UTC.write(shown, out);
    out.pop();
    offset_text(offset_seconds, out);
}

fn offset_text(offset_seconds: i64, out: &mut String) {
    let minutes = offset_seconds.abs() / 60;
    for (mark, number) in
        [(if offset_seconds < 0 { '-' } else { '+' }, minutes / 60), (':', minutes % 60)]
    {
        out.push(mark);
        out.push(char::from(b'0' + (number / 10 % 10) as u8));
        out.push(char::from(b'0' + (number % 10) as u8));
    }
}

/// All data of an action, with whether it is an input.
fn data(action: &Action) -> impl Iterator<Item = (bool, &EventData)> {
    let inputs = action.inputs.iter().map(|data| (true, data));
    inputs.chain(action.outputs.iter().map(|data| (false, data)))
}
