//! Rules about the data of a coordinator.

use std::collections::{HashMap, HashSet};

use ankus_lang::coordinator::{DataEvent as Kept, Instances};
use ankus_lang::el::UriTemplate;
use ankus_lang::time::{Frequency, Instant, ProcessingZone, Unit, Zone};

use super::kinds as k;
use super::{Facts, changes, finding, in_words, is_same_clock};
use crate::budget;
use crate::diag::{Diagnostic, Fix, Level, Patience, within};
use crate::ir::Scalar;
use crate::ir::coordinator::{DataEvent, Dataset};
use crate::settings::site::FILE_SYSTEMS;

pub(super) fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    names(facts, out);
    let datasets = |events: &'_ [DataEvent]| -> HashSet<Option<String>> {
        events.iter().map(|event| known(&event.dataset).map(str::to_owned)).collect()
    };
    let (read, made) = (datasets(&facts.written.inputs), datasets(&facts.written.outputs));
    // No action waits for a dataset that no event names. In a file of datasets, the events are in other files.
    let has_events = !read.is_empty() || !made.is_empty();
    for dataset in &facts.written.datasets {
        let name = known(&dataset.name).map(str::to_owned);
        let is_output = made.contains(&name) && !read.contains(&name);
        let is_named = !has_events || read.contains(&name) || read.contains(&None);
        templates(dataset, is_output, is_named, out);
        constants(facts, dataset, out);
        if facts.kept.is_err() || facts.is_unsure {
            begins_too_late(facts, dataset, out);
        }
    }
    for event in &facts.written.inputs {
        instances(facts, event, true, out);
    }
    for event in &facts.written.outputs {
        instances(facts, event, false, out);
    }
    if let Ok(definition) = facts.kept
        && !facts.is_unsure
    {
        let written = written(facts);
        for event in &definition.inputs {
            windows(facts, event, &written, out);
        }
        let nominal = definition.schedule.times().next().map(|(_, nominal)| nominal);
        for event in definition.inputs.iter().chain(&definition.outputs) {
            if budget::spent_often() {
                return;
            }
            phases(facts, event, &written, nominal, out);
        }
        outputs(facts, &written, out);
    }
    texts(facts, out);
    sla(facts, out);
}

/// Reports a dataset whose first instance is later than the end, or implausibly late, in a coordinator whose times are
/// not all known.
fn begins_too_late(facts: &Facts<'_>, dataset: &Dataset, out: &mut Vec<Diagnostic>) {
    const YEAR: i64 = 366 * 24 * 60;
    let at = |written: &Option<Scalar>| facts.processing.parse(known(written)?.trim()).ok();
    let (Some(initial), Some(written)) = (at(&dataset.initial_instance), &dataset.initial_instance)
    else {
        return;
    };
    let end = at(&facts.written.end);
    // An end before the start has a finding of its own.
    if at(&facts.written.start).zip(end).is_some_and(|(start, end)| start >= end) {
        return;
    }
    let message = match (end, facts.now) {
        (Some(end), _) if initial >= end => "the first instance is not before the end",
        (None, Some(now)) if initial > now.plus_minutes(YEAR) => {
            "the first instance is more than a year away"
        }
        _ => return,
    };
    out.push(finding(&k::INITIAL_INSTANCE_AFTER_USE, written.span(), message).likely());
}

fn known(scalar: &Option<Scalar>) -> Option<&str> {
    scalar.as_ref().and_then(|scalar| scalar.known())
}

fn names(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let written = facts.written;
    let events = written.inputs.iter().chain(&written.outputs);
    let used: HashSet<&str> = events.clone().filter_map(|event| known(&event.dataset)).collect();
    let is_open = events.clone().any(|event| event.dataset.as_ref().is_some_and(Scalar::is_expr));
    for event in events.clone() {
        let Some(dataset) = event.dataset.as_ref().filter(|name| name.as_str().trim().is_empty())
        else {
            continue;
        };
        out.push(finding(&k::UNDEFINED_DATASET, dataset.span(), "this does not name a dataset"));
    }
    let mut seen = HashSet::new();
    for dataset in &written.datasets {
        let Some(name) = &dataset.name else { continue };
        if !seen.insert(name.as_str()) {
            let message =
                format!("`{}` is defined twice; the last definition is used", name.as_str());
            let found = finding(&k::DUPLICATE_DATASET, name.span(), message);
            out.push(found.naming([name.as_str()]));
        } else if !is_open && !used.contains(name.as_str()) {
            let message = format!("no input or output uses `{}`", name.as_str());
            out.push(finding(&k::UNUSED_DATASET, name.span(), message));
        }
    }

    let texts = written.configuration.iter().filter_map(|property| property.value.as_ref());
    let sla = written.sla.iter().flat_map(|sla| sla.leaves.iter().map(|(_, value)| value));
    let texts: Vec<&str> = texts.chain(sla).map(Scalar::as_str).collect();
    let asked: HashSet<&str> = texts
        .iter()
        .filter(|text| text.contains("coord:"))
        .flat_map(|text| ['\'', '"'].map(|quote| between(text, quote)))
        .flatten()
        .collect();
    // Names that contain quotes cannot be found between quotes.
    let is_asked = |name: &str| asked.contains(name) || name.contains(['\'', '"']);
    let computed = texts.iter().any(|text| {
        ["coord:dataIn(", "coord:dataOut("].iter().any(|call| {
            text.split(call).skip(1).any(|rest| !rest.trim_start().starts_with(['\'', '"']))
        })
    });
    let in_logic: HashSet<&str> = written.logic_data.iter().map(Scalar::as_str).collect();
    for (event, is_input) in written
        .inputs
        .iter()
        .map(|event| (event, true))
        .chain(written.outputs.iter().map(|event| (event, false)))
    {
        let Some(name) = &event.name else { continue };
        if computed || is_asked(name.as_str()) || in_logic.contains(name.as_str()) {
            continue;
        }
        out.push(match is_input {
            true => {
                let message = format!("`{}` delays the action, but nothing uses it", name.as_str());
                finding(&k::UNUSED_DATA_IN, name.span(), message)
            }
            false => {
                let message = format!("`{}` is never passed to the workflow", name.as_str());
                let call = format!("`${{coord:dataOut('{}')}}`", name.as_str());
                finding(&k::UNUSED_DATA_OUT, name.span(), message)
                    .help(format!("pass {call} in its configuration"))
            }
        });
    }

    let inputs: Vec<&str> = written.inputs.iter().filter_map(|event| known(&event.name)).collect();
    let is_input: HashSet<&str> = inputs.iter().copied().collect();
    let patience = Patience::default();
    for data in &written.logic_data {
        let Some(name) = data.known() else { continue };
        if is_input.contains(name) {
            continue;
        }
        let found = finding(
            &k::INPUT_LOGIC_REFERENCE,
            data.span(),
            format!("there is no data-in `{name}`"),
        );
        out.push(match patience.nearest(name, inputs.iter().copied()) {
            Some(near) => {
                found.did_you_mean(near).fix(Fix::guess(format!("Write {near}"), data.span(), near))
            }
            None => found.help("the input logic names inputs, not datasets"),
        });
    }
}

/// Returns all texts between two quotes of a kind, regardless of which one opens.
fn between(text: &str, quote: char) -> Vec<&str> {
    let mut parts: Vec<&str> = text.split(quote).skip(1).collect();
    parts.pop();
    parts
}

/// Time parts in a URI template, the coarsest first.
const CONSTANTS: [&str; 5] = ["${YEAR}", "${MONTH}", "${DAY}", "${HOUR}", "${MINUTE}"];

fn templates(dataset: &Dataset, is_output: bool, is_named: bool, out: &mut Vec<Diagnostic>) {
    let Some(template) = &dataset.uri_template else { return };
    let text = template.as_str();
    let is_table = text.starts_with("hcat:");
    match &dataset.done_flag {
        // No action waits for a dataset that is only written here.
        None if !is_table && !is_output => {
            let message = "an instance counts as complete when it contains `_SUCCESS`";
            out.push(finding(&k::DONE_FLAG_IMPLICIT, dataset.tag, message));
        }
        Some((span, _)) if is_table => {
            let message = "table partitions have no done flag";
            out.push(finding(&k::DONE_FLAG_ON_HCAT, *span, message));
        }
        Some((span, flag)) if flag.is_empty() => {
            let message = "an instance counts as complete as soon as its folder is there";
            out.push(finding(&k::DONE_FLAG_EMPTY, *span, message));
        }
        _ => {}
    }

    // An escaped expression is evaluated later, and may contain a time part.
    if text.contains("${\"$\"}") || text.contains("${'$'}") || text.contains("$${") {
        return;
    }
    let names = UriTemplate::new(text).names();
    // Another expression may depend on the time.
    let plain = !text.replace("${coord:user()}", "").contains("${coord:");
    let finest = names.iter().rposition(|named| *named);
    let Some(frequency) = dataset.frequency.as_ref().and_then(period) else { return };
    let Some(finest) = finest else {
        let mut rest = text.to_owned();
        for name in ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"] {
            rest = rest.replace(&format!("${{{name}}}"), "");
        }
        if plain && !rest.contains("${") {
            let message = "no part of this depends on the time of an instance";
            out.push(finding(&k::URI_TEMPLATE_CONSTANT, template.span(), message));
        }
        return;
    };
    // The resolution of the finest time part, in minutes.
    let told = [525_600, 43_200, 1440, 60, 1][finest];
    // Between the coarsest and the finest time part, each one that changes from one instance to the next must be there.
    let coarsest = names.iter().position(|named| *named).unwrap_or(finest);
    let gap = (coarsest..finest)
        .find(|at| !names[*at] && frequency < [525_600, 43_200, 1440, 60, 1][at - 1]);
    if let Some(gap) = gap.filter(|_| plain) {
        let missing = CONSTANTS[gap];
        let message = format!("instances that differ only in `{missing}` are at the same location");
        let span = template.span();
        out.push(
            finding(&k::URI_TEMPLATE_TOO_COARSE, span, message)
                .help(format!("add `{missing}` after `{}`", CONSTANTS[gap - 1])),
        );
    }
    // In a dataset that is only written, the time part may be just a date in a path.
    if frequency < told && is_named {
        let next = CONSTANTS.get(finest + 1).copied().unwrap_or_default();
        let finest = CONSTANTS[finest];
        let message =
            format!("instances that differ only within `{finest}` are at the same location");
        let end = template.span().end as usize;
        let span = template.span();
        let found = finding(&k::URI_TEMPLATE_TOO_COARSE, span, message);
        let at = crate::source::Span::new(end, end);
        out.push(found.fix(Fix::guess(format!("Add {next}"), at, format!("/{next}"))));
    }
}

/// Reports names in a URI template that look like time parts but are not, and unsupported schemes.
fn constants(facts: &Facts<'_>, dataset: &Dataset, out: &mut Vec<Diagnostic>) {
    const MEANT: [(&str, &str); 21] = [
        ("YYYY", "YEAR"),
        ("YY", "YEAR"),
        ("year", "YEAR"),
        ("yyyy", "YEAR"),
        ("MM", "MONTH"),
        ("MON", "MONTH"),
        ("month", "MONTH"),
        ("DD", "DAY"),
        ("day", "DAY"),
        ("dd", "DAY"),
        ("HH", "HOUR"),
        ("hour", "HOUR"),
        ("hh", "HOUR"),
        ("MIN", "MINUTE"),
        ("mm", "MINUTE"),
        ("minute", "MINUTE"),
        // These are constants for SLA, in minutes.
        ("YEARS", "YEAR"),
        ("MONTHS", "MONTH"),
        ("DAYS", "DAY"),
        ("HOURS", "HOUR"),
        ("MINUTES", "MINUTE"),
    ];
    let Some(template) = &dataset.uri_template else { return };
    let text = template.as_str();
    for (at, _) in text.match_indices("${") {
        let Some(end) = text[at..].find('}') else { continue };
        let name = text[at + 2..at + end].trim();
        let slip = |known: &&str| {
            name.len() > 2
                && *known != name
                && within(&name.to_ascii_uppercase(), known, 1).is_some()
        };
        let meant = MEANT.iter().find(|(known, _)| *known == name).map(|(_, meant)| *meant);
        let meant =
            meant.or_else(|| ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE"].into_iter().find(slip));
        let Some(meant) = meant else { continue };
        if facts.around.submission.get(name).is_none() {
            let span = template.place(at + 2..at + end);
            let message = format!("`{name}` is not a date variable");
            out.push(
                finding(&k::URI_TEMPLATE_UNKNOWN_CONSTANT, span, message)
                    .did_you_mean(meant)
                    .fix(Fix::guess(format!("Write {meant}"), span, meant)),
            );
        }
    }

    let Some((scheme, _)) = text.split_once("://") else { return };
    let plain = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    let served = scheme == "hcat"
        || FILE_SYSTEMS.contains(&scheme)
        || facts.filesystems.iter().any(|known| known == scheme || known == "*");
    if plain && !served {
        let message = format!("no server supports `{scheme}` by default");
        out.push(
            finding(&k::URI_TEMPLATE_SCHEME, template.place(0..scheme.len()), message)
                .about(scheme)
                .depends_on("the file systems that your server supports")
                .help("list what yours supports in `[server] filesystems` of ankus.toml"),
        );
    }
}

/// Returns the approximate time between two instances, in minutes.
fn period(frequency: &Scalar) -> Option<i64> {
    let text = frequency.as_str().trim();
    if let Ok(number) = text.parse::<i64>() {
        return Some(number);
    }
    let inner = text.strip_prefix("${")?.strip_suffix('}')?.trim().strip_prefix("coord:")?;
    let (name, rest) = inner.split_once('(')?;
    let number: i64 = rest.strip_suffix(')')?.trim().parse().ok()?;
    let unit = match name {
        "minutes" => 1,
        "hours" => 60,
        "days" | "endOfDays" => 1440,
        "endOfWeeks" => 7 * 1440,
        // Twelve months are a year, regardless of the length of a month.
        "months" | "endOfMonths" if number % 12 == 0 => 43_800,
        "months" | "endOfMonths" => 43_200,
        _ => return None,
    };
    Some(number * unit)
}

/// Whether an instance function with a computed number refers to an instance before the current one.
fn is_past(text: &str) -> bool {
    let number = text.split_once('(').map_or("", |(_, rest)| rest).trim_start();
    let number = number.strip_prefix('0').map_or(number, str::trim_start);
    number.starts_with('-')
}

/// Returns the name and the number of an instance function.
fn function(text: &str) -> Option<(&str, Option<i64>)> {
    let inner = text.trim().strip_prefix("${")?.trim_start().strip_prefix("coord:")?;
    let (name, rest) = inner.split_once('(')?;
    let number = rest.split([',', ')']).next()?.trim().parse().ok();
    Some((name.trim(), number))
}

/// Functions that return an instance of a dataset, without `coord:`.
const INSTANCE_FUNCTIONS: [&str; 11] = [
    "current",
    "currentRange",
    "offset",
    "latest",
    "latestRange",
    "future",
    "futureRange",
    "absolute",
    "endOfDays",
    "endOfWeeks",
    "endOfMonths",
];

fn instances(facts: &Facts<'_>, event: &DataEvent, is_input: bool, out: &mut Vec<Diagnostic>) {
    for (part, _, text) in &event.instances {
        let written = text.as_str();
        // A call without its braces is plain text, also at the ends of a range.
        let bare = !written.contains("${")
            && INSTANCE_FUNCTIONS.iter().any(|name| {
                let call = written.trim_start_matches("coord:");
                call.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
            });
        if (part == "instance" || bare) && !written.is_empty() {
            let named = !bare
                && INSTANCE_FUNCTIONS.iter().any(|name| written.contains(&format!("coord:{name}")));
            let only_later = ["coord:absolute(", "coord:endOf"].iter().any(|f| written.contains(f));
            let is_date = facts.processing.parse(written).is_ok();
            if only_later && !bare {
                let message = "this function is only allowed in a `start-instance`";
                out.push(finding(&k::INSTANCE_NOT_AN_INSTANCE_FUNCTION, text.span(), message));
            } else if !named && !is_date && text.known().is_some() {
                let message =
                    format!("`{written}` is not a valid instance: actions cannot be created");
                out.push(
                    finding(&k::INSTANCE_NOT_AN_INSTANCE_FUNCTION, text.span(), message)
                        .help("write `${coord:current(0)}` or a date as `2020-01-31T00:00Z`"),
                );
            } else if let Some(value) = facts.value(text).filter(|_| text.known().is_none())
                && !value.trim().is_empty()
                && !value.contains(['$', '(', '@', '#'])
                && facts.processing.parse(value.trim()).is_err()
            {
                let words = in_words(Some(text), value);
                let message = format!("{words} is not a valid instance: actions cannot be created");
                let found = finding(&k::INSTANCE_NOT_AN_INSTANCE_FUNCTION, text.span(), message);
                let found = found.help("a date is written as `2020-01-31T00:00Z`");
                out.push(facts.at_origin(text, "read here", found));
            }
        }
        let Some((name, number)) = function(written) else { continue };
        if is_input && name == "current" && number.is_some_and(|number| number > 0) {
            let message = "this waits for data from after the nominal time";
            out.push(finding(&k::FUTURE_INPUT, text.span(), message));
        }
        let beyond = match name {
            "latest" | "latestRange" => number.filter(|number| *number > 0),
            "future" | "futureRange" => number.filter(|number| *number < 0),
            _ => None,
        };
        if is_input && let Some(number) = beyond {
            let message = format!(
                "`{name}` has no instance {number}, so the action waits until it times out"
            );
            let found = finding(&k::INSTANCE_OUT_OF_RANGE, text.span(), message);
            out.push(found.help(match name.starts_with("latest") {
                true => "0 is the latest instance, and -1 the one before it",
                false => "0 is the first instance at or after the nominal time, and 1 the next one",
            }));
        }
        let searches = name.starts_with("latest") || name.starts_with("future");
        if searches && part != "end-instance" {
            let message = "which instance this is depends on when the action is checked";
            out.push(finding(&k::LATEST_NOT_REPRODUCIBLE, text.span(), message));
        }
    }

    let (Some(start), Some(end)) = (event.part("start-instance"), event.part("end-instance"))
    else {
        return;
    };
    let (Some(from), Some(to)) = (function(start.as_str()), function(end.as_str())) else { return };
    // Functions that do not return instances have a finding of their own.
    if [from.0, to.0].iter().any(|name| !INSTANCE_FUNCTIONS.contains(name)) {
        return;
    }
    let open = matches!(from.0, "absolute" | "endOfMonths" | "endOfWeeks" | "endOfDays");
    if from.0 != to.0 && !(open && to.0 == "current") {
        let message = format!("a range cannot begin with `{}` and end with `{}`", from.0, to.0);
        out.push(finding(&k::RANGE_MIXES_KINDS, end.span(), message));
    } else if matches!(from.0, "current" | "latest" | "future")
        && (from.1.zip(to.1).is_some_and(|(from, to)| from > to)
            || from.1.is_some_and(|from| from >= 0) && to.1.is_none() && is_past(end.as_str()))
    {
        let fix =
            Fix::guess("Swap the two", start.span(), end.as_str()).and(end.span(), start.as_str());
        let message = "the range ends before it starts, so no action is created";
        out.push(finding(&k::RANGE_REVERSED, start.span(), message).fix(fix));
    }
}

/// The first written event of each name.
type Written<'f> = HashMap<&'f str, &'f DataEvent>;

fn written<'f>(facts: &'f Facts<'_>) -> Written<'f> {
    let mut all = Written::new();
    for event in facts.written.inputs.iter().chain(&facts.written.outputs) {
        if let Some(name) = known(&event.name) {
            all.entry(name).or_insert(event);
        }
    }
    all
}

fn minutes_of(unit: Unit, count: i64) -> Option<i64> {
    let unit = match unit {
        Unit::Minute => 1,
        Unit::Hour => 60,
        Unit::Day => 1440,
        Unit::Week => 7 * 1440,
        Unit::Month | Unit::Year => return None,
    };
    count.checked_mul(unit).filter(|minutes| *minutes > 0)
}

fn current(text: &str) -> Option<i64> {
    let (name, number) = function(text)?;
    number.filter(|_| name == "current")
}

/// Checks which instances of a dataset consecutive actions read.
fn windows(facts: &Facts<'_>, event: &Kept, written: &Written<'_>, out: &mut Vec<Diagnostic>) {
    let (Ok(definition), Some(shown)) = (facts.kept, written.get(event.name.as_str())) else {
        return;
    };
    let Instances::Range(start, end) = &event.instances else { return };
    let (Some(from), Some(to)) = (current(start), current(end)) else { return };
    let Some(span) = shown.part("start-instance").map(Scalar::span) else { return };
    let Frequency::Every { count, unit, .. } = &definition.schedule.frequency else { return };
    let period = minutes_of(*unit, *count);
    let step = minutes_of(event.dataset.unit, event.dataset.frequency);
    let (Some(period), Some(step)) = (period, step) else { return };
    if to < from || period % step != 0 {
        return;
    }
    let (read, made) = (to - from + 1, period / step);
    if read < made {
        let message = format!("of the {made} instances between two actions, only {read} are read");
        out.push(finding(&k::INPUT_WINDOW_GAP, span, message));
    } else if read > made && made > 0 {
        let message = format!(
            "the previous action has already read {} of these {read} instances",
            read - made
        );
        out.push(finding(&k::INPUT_WINDOW_OVERLAP, span, message));
    }
    let day_of_hours = *unit == Unit::Day && event.dataset.unit == Unit::Minute && read == made;
    if day_of_hours && read > 1 && changes(&definition.schedule.zone) {
        let message = "on two days a year this window is an hour too long or too short";
        out.push(
            finding(&k::INPUT_WINDOW_DEPENDS_ON_DST, span, message)
                .help("`coord:hoursInDay(0)` counts the hours of the day"),
        );
    }
}

/// Checks how the instances of a dataset relate to the nominal times.
fn phases(
    facts: &Facts<'_>,
    event: &Kept,
    written: &Written<'_>,
    nominal: Option<Instant>,
    out: &mut Vec<Diagnostic>,
) {
    let (Ok(definition), Some(shown)) = (facts.kept, written.get(event.name.as_str())) else {
        return;
    };
    let Some(name) = shown.dataset.as_ref() else { return };
    let schedule = &definition.schedule;
    let Some(nominal) = nominal else { return };
    let Some(series) = event.dataset.series(schedule.processing) else { return };

    let texts: Vec<&str> = match &event.instances {
        Instances::List(texts) => texts.iter().map(String::as_str).collect(),
        Instances::Range(start, _) => vec![start.as_str()],
    };
    let oldest = texts.iter().filter_map(|text| current(text)).min();
    if let Some(oldest) = oldest {
        let there = series.current(nominal).map(|(_, number)| number + oldest);
        if there.is_none_or(|number| number < 0) {
            let message =
                "the first action asks for instances before the initial one and gets none";
            // The first actions of a series often have less data. If no action ever has any, the initial instance is
            // wrong.
            let never = series.current(schedule.end).is_none();
            let of_dataset = |dataset: &&Dataset| known(&dataset.name) == known(&shown.dataset);
            let dataset = facts.written.datasets.iter().find(of_dataset).filter(|_| never);
            let place = dataset.and_then(|dataset| dataset.initial_instance.as_ref());
            let place = place.map_or(name.span(), |initial| initial.span());
            let found = finding(&k::INITIAL_INSTANCE_AFTER_USE, place, message);
            let found = match place == name.span() {
                true => found.about(name.as_str()),
                false => found.about(name.as_str()).note(name.span(), "it is used here"),
            };
            out.push(if never { found } else { found.at_most(Level::Info) });
        }
        let is_fine =
            |at: Option<(Instant, i64)>| at.is_none_or(|(instance, _)| instance == nominal);
        let same_step = match &schedule.frequency {
            Frequency::Every { count, unit, .. } => {
                *unit == event.dataset.unit && *count == event.dataset.frequency
            }
            Frequency::Cron(_) => false,
        };
        if same_step && !is_fine(series.current(nominal)) {
            let message =
                "nominal times fall between two instances: `current(0)` is the earlier one";
            out.push(finding(&k::INITIAL_INSTANCE_MISALIGNED, name.span(), message));
        }
    }
    let calendar = matches!(event.dataset.unit, Unit::Day | Unit::Week | Unit::Month | Unit::Year);
    let other = Zone::from_id(&event.dataset.timezone).ok();
    if let Some(other) = other.filter(|other| calendar && !is_same_clock(other, &schedule.zone))
        && !texts.iter().any(|text| text.contains("tzOffset"))
    {
        let message = format!(
            "`{}` uses the time zone {}, but the coordinator uses {}",
            event.dataset.name,
            other.id(),
            schedule.zone.id()
        );
        out.push(finding(&k::DATASET_TIMEZONE_DIFFERS, name.span(), message));
    }
}

fn outputs(facts: &Facts<'_>, written: &Written<'_>, out: &mut Vec<Diagnostic>) {
    let Ok(definition) = facts.kept else { return };
    // The first input with each URI template and instance.
    let mut read: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, input) in definition.inputs.iter().enumerate() {
        for text in listed(input) {
            read.entry((&input.dataset.uri_template, text)).or_insert(at);
        }
    }
    for output in &definition.outputs {
        let place = output.dataset.uri_template.as_str();
        let equal = listed(output).filter_map(|text| read.get(&(place, text))).min();
        if let Some((input, shown)) = equal.zip(written.get(output.name.as_str()))
            && let Some(name) = &shown.name
        {
            let input = &definition.inputs[*input].name;
            let message = format!("`{}` is the same location as the input `{input}`", output.name);
            out.push(finding(&k::OUTPUT_EQUALS_INPUT, name.span(), message));
        }
    }
}

/// Returns the instances of an event that lists them one by one.
fn listed(event: &Kept) -> impl Iterator<Item = &str> {
    let texts = match &event.instances {
        Instances::List(texts) => texts.as_slice(),
        Instances::Range(..) => &[],
    };
    texts.iter().map(String::as_str)
}

/// Checks dates in the workflow's configuration.
fn texts(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let is_local =
        facts.written.timezone.as_ref().and_then(|zone| zone.known()).is_some_and(|id| {
            Zone::from_id(id.trim())
                .is_ok_and(|zone| !super::time::is_clock_of_server(facts, &zone))
        });
    for property in &facts.written.configuration {
        let Some(value) = &property.value else { continue };
        let text = value.as_str();
        if let Some(at) = text.find("coord:actualTime") {
            let span = value.place(at..at + "coord:actualTime".len());
            let message = "a rerun has a different creation time, so it reads different data";
            out.push(
                finding(&k::ACTUAL_TIME_FOR_DATA, span, message)
                    .about("actualTime")
                    .fix(Fix::guess("Use the nominal time", span, "coord:nominalTime")),
            );
        }
        for (at, _) in text.match_indices("coord:formatTime(") {
            let rest = &text[at + "coord:formatTime(".len()..];
            if is_local && rest.trim_start().starts_with("coord:nominalTime()") {
                let span = value.place(at..at + "coord:formatTime".len());
                let zone = match facts.processing == ProcessingZone::UTC {
                    true => "UTC",
                    false => "the server's zone",
                };
                let message =
                    format!("the nominal time is formatted in {zone}, not in the coordinator's");
                out.push(
                    finding(&k::NOMINAL_TIME_FORMATTED_AS_UTC, span, message)
                        .help("`coord:dateTzOffset(coord:nominalTime(), 'Region/City')` first"),
                );
            }
            let literal = rest.trim_start();
            if let Some(quote) = literal.chars().next().filter(|c| matches!(c, '\'' | '"'))
                && let Some(end) = literal[1..].find(quote)
                && literal[1..].starts_with(|c: char| c.is_ascii_alphabetic())
            {
                let start = literal.as_ptr() as usize - text.as_ptr() as usize;
                let message = "the time is the first argument, the pattern the second";
                let span = value.place(start..start + end + 2);
                out.push(finding(&k::DATE_PATTERN_SUSPECT, span, message));
                continue;
            }
            let Some(pattern) = pattern(rest) else { continue };
            let start = pattern.as_ptr() as usize - text.as_ptr() as usize;
            // The name of a property shows what it should contain.
            let called = property.name.as_ref().map_or("", |name| name.as_str());
            let called = called.to_ascii_lowercase();
            let other = match pattern.trim_matches(['\'', '"']) {
                "m" | "mm" if called.contains("month") => {
                    Some("`m` is the minute; the month is `M`")
                }
                "M" | "MM" if called.contains("minute") => {
                    Some("`M` is the month; the minute is `m`")
                }
                _ => None,
            };
            if let Some(words) = other {
                let span = value.place(start..start + pattern.len());
                out.push(finding(&k::DATE_PATTERN_SUSPECT, span, words));
                continue;
            }
            for (letters, words) in suspects(pattern) {
                let Some(found) = pattern.find(letters) else { continue };
                let span = value.place(start + found..start + found + letters.len());
                // A pattern with one wrong letter often has others, so they are merged.
                let found = finding(&k::DATE_PATTERN_SUSPECT, span, words);
                out.push(found.about(format!("the pattern at {}", value.span().start)));
            }
        }
    }
}

/// Returns the last literal among the arguments of a call.
fn pattern(rest: &str) -> Option<&str> {
    let mut depth = 0;
    let mut last = None;
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            '\'' | '"' => {
                let end = rest[at + 1..].find(letter)?;
                if depth == 0 {
                    last = Some(&rest[at + 1..at + 1 + end]);
                }
                for _ in 0..rest[at + 1..at + 1 + end].chars().count() + 1 {
                    letters.next();
                }
            }
            _ => {}
        }
    }
    last
}

fn suspects(pattern: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for letters in ["%Y", "%m", "%d", "%H"] {
        if pattern.contains(letters) {
            found.push((
                letters,
                "this is a format of `date`; Oozie uses Java's patterns, such as `yyyy-MM-dd`",
            ));
            return found;
        }
    }
    if pattern.contains("yyyyy") {
        found.push(("yyyyy", "the year is `yyyy`; with five letters it gets a leading zero"));
    }
    if ["Y", "YY"].contains(&pattern.trim_matches(['\'', '"'])) {
        found.push(("Y", "`Y` is the week-based year; the calendar year is `y`"));
    }
    if pattern.contains("YYYY") {
        found.push(("YYYY", "`YYYY` is the week-based year; the calendar year is `yyyy`"));
    }
    if pattern.contains("DD") && !pattern.contains("dd") {
        found.push(("DD", "`DD` is the day of the year; the day of the month is `dd`"));
    }
    let is_minute = pattern.contains('H') && !pattern.contains("yyyymm");
    if pattern.contains("mm") && !pattern.contains("MM") && !is_minute {
        found.push(("mm", "`mm` is the minute; the month is `MM`"));
    }
    if pattern.contains("hh") && !pattern.contains('a') {
        found.push(("hh", "`hh` is the hour from 1 to 12; the hour from 0 to 23 is `HH`"));
    }
    found
}

fn sla(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(sla) = &facts.written.sla else { return };
    let leaf =
        |name: &str| sla.leaves.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    if let Some(value) = leaf("nominal-time").filter(|value| value.known().is_some())
        && facts.processing.parse(value.as_str()).is_ok()
    {
        out.push(
            finding(
                &k::SLA_NOMINAL_TIME_CONSTANT,
                value.span(),
                "all actions have the same nominal time",
            )
            .fix(Fix::guess(
                "Use the action's nominal time",
                value.span(),
                "${coord:nominalTime()}",
            )),
        );
    }
    let minutes = |name: &str| leaf(name).and_then(minutes_written);
    for name in ["should-start", "should-end", "max-duration"] {
        let Some(value) = leaf(name) else { continue };
        let message = match minutes(name) {
            Some(number) if number < 0 => format!("`{name}` is negative"),
            None if value.known().is_some() => {
                format!(
                    "`{}` is not a number of minutes: the job fails when it creates an action",
                    value.as_str()
                )
            }
            _ => continue,
        };
        out.push(finding(&k::SLA_TIMES_INCONSISTENT, value.span(), message));
    }
    if let (Some(start), Some(end)) = (minutes("should-start"), minutes("should-end"))
        && start > end
        && let Some(value) = leaf("should-start")
    {
        let message = "the expected start is after the expected end";
        out.push(finding(&k::SLA_TIMES_INCONSISTENT, value.span(), message));
    }
    if let Some(value) = leaf("alert-events") {
        for event in value.known().into_iter().flat_map(|text| text.split(',')) {
            let name = event.trim().to_ascii_lowercase();
            if !["start_miss", "end_miss", "duration_miss"].contains(&name.as_str()) {
                let message = format!("`{}` is treated as `end_miss`", event.trim());
                out.push(
                    finding(&k::SLA_ALERT_EVENTS_UNKNOWN, value.span(), message)
                        .help("the events are start_miss, end_miss and duration_miss"),
                );
            }
        }
        if leaf("alert-contact").is_none() {
            let message = "nobody is notified: there is no `alert-contact`";
            out.push(finding(&k::SLA_ALERT_WITHOUT_CONTACT, value.span(), message));
        }
    }
}

/// Returns a number of minutes, also from `${n * HOURS}` and the like.
fn minutes_written(value: &Scalar) -> Option<i64> {
    let text = value.as_str().trim();
    if let Some(number) = value.known() {
        return number.trim().parse().ok();
    }
    let inner = text.strip_prefix("${")?.strip_suffix('}')?;
    let (number, unit) = inner.split_once('*')?;
    let unit = match unit.trim() {
        "MINUTES" => 1,
        "HOURS" => 60,
        "DAYS" => 1440,
        _ => return None,
    };
    Some(number.trim().parse::<i64>().ok()? * unit)
}
