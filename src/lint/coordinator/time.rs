//! Rules about when a coordinator runs.

use ankus_lang::configuration::substitute;
use ankus_lang::coordinator::Properties;
use ankus_lang::time::{Cron, CronField, Frequency, Instant, ProcessingZone, Schedule, Unit, Zone};
use std::borrow::Cow;
use std::collections::BTreeMap;

use super::kinds as k;
use super::{Facts, LATELY, changes, finding, is_same_clock, no_date};
use crate::diag::{Diagnostic, Fix, Level};
use crate::ir::Scalar;
use crate::ir::coordinator::Coordinator;
use crate::reference::coordinator::Refused;
use crate::syntax::xml::{Decoded, Element, Tree};

pub(super) fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    frequency(facts, out);
    zones(facts, out);
    dates(facts, out);
    clock(facts, out);
    controls(facts, out);
}

/// Returns the zone of the coordinator, if it is known.
fn zone(facts: &Facts<'_>) -> Option<Zone> {
    match facts.kept {
        Ok(definition) if !facts.is_unsure => Some(definition.schedule.zone.clone()),
        _ => Zone::from_id(facts.written.timezone.as_ref()?.known()?.trim()).ok(),
    }
}

/// Returns the attributes and elements with dates.
fn dates_of(tree: &Tree) -> Vec<(Element<'_>, Decoded<'_>)> {
    let all = tree.root().into_iter().flat_map(Element::descendants);
    all.flat_map(|element| {
        let names: &[&str] = match element.name() {
            "coordinator-app" => &["start", "end"],
            "dataset" => &["initial-instance"],
            _ => &[],
        };
        let attributes = names.iter().filter_map(move |name| element.attribute(name));
        let text = (element.name() == "kick-off-time").then(|| element.text());
        let values = attributes.map(|attribute| attribute.value()).chain(text);
        values.map(move |value| (element, value))
    })
    .collect()
}

/// Returns the offset at the end of a date: `+0900`.
fn offset_of(date: &str) -> Option<&str> {
    let offset = date.trim().get(date.trim().len().checked_sub(5)?..)?;
    let digits = offset.strip_prefix(['+', '-'])?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(offset)
}

/// Returns the zone of most dates of a definition, if it is not UTC: only a server in this zone accepts these dates. A
/// single date counts only if no other date is known.
pub fn zone_of_dates(tree: &Tree, given: &Properties) -> Option<ProcessingZone> {
    let lookup = |name: &str| given.get(name).map(|value| Cow::Borrowed(value.as_str()));
    let dates = dates_of(tree);
    let known = dates.iter().map(|(_, date)| match substitute(&date.text, lookup) {
        Ok(date) => date.into_owned(),
        Err(_) => date.text.to_string(),
    });
    let mut offsets: BTreeMap<String, usize> = BTreeMap::new();
    let mut unknown = 0;
    for date in known {
        // A date that is valid in UTC rules out another zone.
        if ProcessingZone::UTC.parse(&date).is_ok() {
            return None;
        }
        unknown += usize::from(date.contains("${"));
        if let Some(offset) = offset_of(&date) {
            *offsets.entry(offset.to_owned()).or_default() += 1;
        }
    }
    // If there are several zones, other dates in the properties count as well.
    if offsets.len() > 1 {
        let is_date = |value: &&String| value.trim().as_bytes().get(10) == Some(&b'T');
        for offset in given.values().filter(is_date).filter_map(|value| offset_of(value)) {
            *offsets.entry(offset.to_owned()).or_default() += 1;
        }
    }
    // A date in yet another zone is wrong, regardless of the server's zone.
    let all: usize = offsets.values().sum();
    let (offset, count) = offsets.into_iter().find(|(_, count)| *count * 2 > all)?;
    let enough = if dates.len() > 1 + unknown { 2 } else { 1 };
    (count >= enough).then(|| ProcessingZone::from_id(&format!("GMT{offset}")))?
}

/// Returns the finding about dates that are all in another zone than the server's default. It depends on the zone of
/// the server.
pub fn in_another_zone(tree: &Tree, refused: &Refused) -> Option<Diagnostic> {
    let date = refused.subject.last()?;
    let (element, written) = dates_of(tree).into_iter().next()?;
    let is_bundle = element.name() == "kick-off-time";
    let kind = if is_bundle { &k::KICK_OFF_TIME_FORMAT } else { &k::DATE_FORMAT };
    let offset = offset_of(date)?;
    let message = format!("a server whose zone is UTC refuses dates with the offset `{offset}`");
    let found = finding(kind, written.span(), message).about(format!("GMT{offset}"));
    let help =
        format!("if yours uses this zone, set `[server] timezone = \"GMT{offset}\"` in ankus.toml");
    Some(found.help(help).depends_on("the zone of the server"))
}

/// Returns the argument `n` of a text `${coord:NAME(n)}`.
fn call(text: &str, name: &str) -> Option<i64> {
    let rest = text.trim().strip_prefix("${")?.trim_start().strip_prefix("coord:")?;
    let rest = rest.strip_prefix(name)?.trim_start().strip_prefix('(')?;
    let (number, rest) = rest.split_once(')')?;
    (rest.trim() == "}").then(|| number.trim().parse().ok())?
}

fn frequency(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(written) = &facts.written.frequency else { return };
    let (text, span) = (written.as_str().trim(), written.span());
    let zone = zone(facts);
    let changes = zone.as_ref().is_some_and(changes);

    if let Ok(number) = text.parse::<i64>()
        && facts.written.unit.is_none()
    {
        let minutes = if number == 1 { "minute" } else { "minutes" };
        let message = format!("{number} means {number} {minutes}");
        let mut found = finding(&k::FREQUENCY_BARE_NUMBER, span, message).fix(Fix::guess(
            "State the unit",
            span,
            format!("${{coord:minutes({number})}}"),
        ));
        found = match number {
            24 => found.fix(Fix::guess("Write `${coord:hours(24)}`", span, "${coord:hours(24)}")),
            1440 => found.fix(Fix::guess("Write `${coord:days(1)}`", span, "${coord:days(1)}")),
            _ => found,
        };
        // These numbers are seldom meant as minutes.
        let odd = matches!(number, 6 | 7 | 12 | 24 | 28 | 30 | 31 | 168 | 365);
        let found = if odd { found.likely() } else { found.at_most(Level::Info) };
        out.push(found.help("write `${coord:minutes(n)}` to make the unit explicit"));
    }

    let hours = call(text, "hours");
    let minutes = call(text, "minutes").or(text.parse().ok()).or(hours.map(|hours| hours * 60));
    if let Some(minutes) = minutes.filter(|minutes| changes && *minutes > 0) {
        if minutes % 1440 == 0 {
            let days = minutes / 1440;
            let message = "this drifts by an hour against local time at every clock change";
            let days = format!("${{coord:days({days})}}");
            out.push(
                finding(&k::FIXED_HOURS_FOR_A_DAY, span, message)
                    .help(format!("`{days}` keeps the time of day"))
                    .fix(Fix::guess("Count days", span, days)),
            );
        } else if minutes > 60 {
            let message = "hours are not adjusted for clock changes, so the time of day shifts";
            out.push(finding(&k::SUB_DAILY_FREQUENCY_IN_DST_ZONE, span, message));
        }
    }
    let days = call(text, "days");
    if let Some(days) = days.filter(|days| (28..=31).contains(days)) {
        let message = format!("{days} days are not a month");
        out.push(finding(&k::FIXED_DAYS_FOR_A_MONTH, span, message).fix(Fix::guess(
            "Count months",
            span,
            "${coord:months(1)}",
        )));
    }
    let is_utc = |zone: &Zone| zone.is_fixed() && zone.offset_seconds(Instant(0)) == 0;
    if zone.as_ref().is_some_and(is_utc) && (days.is_some() || call(text, "months").is_some()) {
        let message = "days and months are counted in UTC, so local clock changes are ignored";
        out.push(finding(&k::CALENDAR_FREQUENCY_IN_UTC, span, message));
    }

    let cron_text = match facts.kept {
        Ok(definition) => definition.cron().map(|cron| cron.text().to_owned()),
        Err(_) => None,
    };
    let cron_text = cron_text.or_else(|| Cron::parse(text).ok().map(|cron| cron.text().to_owned()));
    if let Some(cron) = cron_text {
        // Cron fields are evaluated in the server's zone, so the same zone is no problem.
        let zone = zone.filter(|zone| !is_clock_of_server(facts, zone));
        cron_rules(written, &cron, zone.as_ref(), out);
    }
}

fn cron_rules(written: &Scalar, text: &str, zone: Option<&Zone>, out: &mut Vec<Diagnostic>) {
    let fields: Vec<&str> = text.split(' ').collect();
    let [_, _, day, _, weekday] = fields[..] else { return };
    let is_literal = written.as_str() == text;
    // The span of a field, if the text is literal.
    let place = |field: CronField| {
        if !is_literal {
            return written.span();
        }
        let at: usize = fields[..field as usize].iter().map(|field| field.len() + 1).sum();
        written.place(at..at + fields[field as usize].len())
    };

    for field in CronField::ALL {
        let value = fields[field as usize];
        let span = place(field);
        if value == "**" {
            let found = finding(&k::CRON_DOUBLED_STAR, span, "only a single `*` means any day");
            out.push(if is_literal { found.fix(Fix::guess("Write *", span, "*")) } else { found });
        }
        for member in value.split(',') {
            let bounds = member.split('/').next().and_then(|range| range.split_once('-'));
            let number = |text: &str| name_number(field, text);
            if let Some((from, to)) = bounds.and_then(|(a, b)| number(a).zip(number(b)))
                && from > to
            {
                let message = format!("`{member}` wraps around the end of the field");
                out.push(finding(&k::CRON_OVERFLOWING_RANGE, span, message));
            }
            if let Some((base, step)) = member.split_once('/')
                && base.parse::<u32>().is_ok_and(|base| base > 1)
                && step.parse::<u32>().is_ok()
            {
                let message =
                    format!("`{member}` starts at {base} and goes to the end of the field");
                out.push(finding(&k::CRON_STEP_BASE, span, message));
            }
        }
    }

    let numeric = |member: &str| {
        let member = member.split('/').next().unwrap_or_default();
        let mut ends = member.split('-');
        ends.all(|end| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // `2-6` are the working days here; where Monday is 1, they would be `1-5`. Authors who write them this way know the
    // numbering.
    if weekday != "2-6" && weekday.split(',').any(numeric) {
        let span = place(CronField::DayOfWeek);
        let named = named_days(weekday);
        let message = format!("`{weekday}` is {named}: 1 is Sunday here");
        let found = finding(&k::CRON_NUMERIC_WEEKDAY, span, message);
        let can_fix = is_literal && !weekday.contains('/');
        out.push(match can_fix {
            true => found.fix(Fix::guess("Write names", span, named)),
            false => found.help("names are unambiguous"),
        });
    }
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let each_minute = fields[0] == "*" && fields[1].split(',').all(is_number);
    if each_minute {
        let message = format!("`*` fires in each of the 60 minutes of hour {}", fields[1]);
        let found = finding(&k::CRON_EACH_MINUTE, place(CronField::Minute), message);
        out.push(found.help("to run once in that hour, on the hour, write `0`"));
    }
    let restricted = |field: &str| !matches!(field, "*" | "?");
    if restricted(day) && restricted(weekday) {
        let message = "it fires on days that match either field, not only on those that match both";
        out.push(finding(&k::CRON_DAY_AND_WEEKDAY, place(CronField::DayOfWeek), message));
    }
    let hour = fields[1];
    // The zone matters only if the hour is restricted. Each minute of an hour has a finding already.
    if let Some(zone) = zone
        && !is_same_clock(zone, &Zone::utc())
        && hour != "*"
        && !each_minute
    {
        let message =
            format!("cron is evaluated in the server's zone: `{}` has no effect", zone.id());
        out.push(
            finding(&k::CRON_IGNORES_TIMEZONE, written.span(), message)
                .help("write hours in UTC, or use `${coord:days(1)}` with a start in UTC"),
        );
    }
}

/// Whether a zone has the same time as the server's processing zone.
pub(super) fn is_clock_of_server(facts: &Facts<'_>, zone: &Zone) -> bool {
    let of_server = i64::from(facts.processing.offset_minutes()) * 60;
    !changes(zone) && zone.offset_seconds(LATELY) == of_server
}

fn name_number(field: CronField, text: &str) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let names: &[&str] = match field {
        CronField::Month => {
            &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
        }
        CronField::DayOfWeek => &DAYS,
        _ => return None,
    };
    let name = text.get(..3)?.to_ascii_uppercase();
    names.iter().position(|known| *known == name).map(|at| at as u32 + 1)
}

const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Returns a weekday field with names in place of numbers.
fn named_days(field: &str) -> String {
    let mut text = String::new();
    let mut is_step = false;
    for letter in field.chars() {
        match letter.to_digit(10).filter(|digit| (1..=7).contains(digit) && !is_step) {
            Some(digit) => text.push_str(DAYS[digit as usize - 1]),
            None => text.push(letter),
        }
        is_step = matches!(letter, '/' | '#');
    }
    text
}

fn zones(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let datasets = facts.written.datasets.iter().filter_map(|dataset| dataset.timezone.as_ref());
    for written in facts.written.timezone.iter().chain(datasets) {
        let Some(text) = written.known() else { continue };
        let Ok(zone) = Zone::from_id(text.trim()) else { continue };
        let is_offset = text.starts_with("GMT+") || text.starts_with("GMT-");
        if zone.is_abbreviation() || is_offset {
            let message = match is_offset {
                true => format!("`{text}` is an offset and never follows a clock change"),
                false => format!("`{text}` means different zones in different places"),
            };
            out.push(
                finding(&k::ABBREVIATED_TIMEZONE, written.span(), message)
                    .help("name a region and a city, such as `Europe/Paris`"),
            );
        }
    }
}

/// Reports a start that is taken from a property named as an end, and vice versa.
pub(super) fn exchanged(written: &Coordinator) -> Option<Diagnostic> {
    let read = |written: &Scalar| {
        let text = written.as_str().trim();
        let name = text.strip_prefix("${")?.strip_suffix('}')?.trim();
        Some(name.to_ascii_lowercase())
    };
    let (first, last) = (written.start.as_ref()?, written.end.as_ref()?);
    let (start, end) = (read(first)?, read(last)?);
    if start == end {
        let message = "the start and the end are the same";
        let found = finding(&k::START_NOT_BEFORE_END, last.span(), message);
        return Some(found.note(first.span(), "the start"));
    }
    let says = |name: &str, words: &[&str]| {
        words.iter().any(|word| name.starts_with(word) || name.ends_with(word))
    };
    let (starts, ends) = (["start", "begin"], ["end", "stop"]);
    let is_end = says(&start, &ends) && !says(&start, &starts);
    (is_end && says(&end, &starts) && !says(&end, &ends)).then(|| {
        let message = "start and end are swapped";
        let found = finding(&k::START_NOT_BEFORE_END, first.span(), message).likely();
        found.note(last.span(), "the end").help("swap the two")
    })
}

pub(super) fn dates(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let server = facts.processing;
    let initial = facts.written.datasets.iter().map(|dataset| &dataset.initial_instance);
    let all = [&facts.written.start, &facts.written.end].into_iter().chain(initial).flatten();
    let is_blank = || {
        let both = facts.written.start.iter().chain(&facts.written.end);
        both.map(|date| facts.value(date)).all(|value| value.is_some_and(|v| v.trim().is_empty()))
    };
    // The server stops at the first, but all of them are reported.
    for written in all {
        let value = facts.value(written);
        let Some(value) = value.filter(|value| server.parse(value).is_err()) else { continue };
        let found = no_date(Some(written), value, written.span());
        // If none is given at all, the file is to be filled in.
        let found = match value.trim().is_empty() && is_blank() {
            true => found.depends_on("what replaces it before submission"),
            false => found,
        };
        out.push(facts.at_origin(written, "read here", found));
    }
    out.extend(exchanged(facts.written).map(|found| {
        // Without the values, only the names are evidence.
        let is_known = facts.written.start.iter().chain(&facts.written.end).all(|written| {
            let name = written.as_str().trim().trim_start_matches("${").trim_end_matches('}');
            facts.around.submission.get(name.trim()).is_some()
        });
        if is_known { found } else { found.at_most(Level::Warning) }
    }));
    let is_literal = |written: &&Scalar| {
        // An end in the far future means that there is none.
        let far = |text: &str| text.get(..4).is_some_and(|year| year >= "2040");
        written.known().is_some_and(|text| server.parse(text).is_ok() && !far(text))
    };
    let both = [&facts.written.start, &facts.written.end].into_iter().flatten();
    let mut literal = both.filter(is_literal);
    if let Some(first) = literal.next() {
        let message = "a literal date: each new period needs a new definition";
        let found = finding(&k::HARDCODED_START_OR_END, first.span(), message)
            .help("take it from a property");
        out.push(match literal.next() {
            Some(second) => found.note(second.span(), "and here"),
            None => found,
        });
    }
    let Some((written, zone)) = facts.written.start.as_ref().zip(zone(facts)) else { return };
    if let Some(start) = written.known().and_then(|text| server.parse(text).ok())
        && let Some(is_gap) = zone.gap_or_overlap(start)
    {
        let what = if is_gap { "does not exist" } else { "occurs twice" };
        let message = format!("in {}, the local time of this start {what}", zone.id());
        out.push(finding(&k::DATE_IN_DST_GAP, written.span(), message));
    }
}

/// Reports findings that depend on today's date.
fn clock(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(now) = facts.now else { return };
    let schedule = facts.kept.ok().filter(|_| !facts.is_unsure).map(|kept| &kept.schedule);
    if let Some(written) = &facts.written.end {
        let literal = || written.known().and_then(|text| facts.processing.parse(text).ok());
        if schedule.map(|schedule| schedule.end).or_else(literal).is_some_and(|end| end <= now) {
            let message = "this end has passed: nothing is due anymore";
            out.push(finding(&k::END_IN_PAST, written.span(), message));
        }
    }
    let Some((schedule, written)) = schedule.zip(facts.written.start.as_ref()) else { return };
    let execution = facts.written.controls.iter().find(|(name, _)| name == "execution");
    if execution.is_some_and(|(_, value)| matches!(value.as_str(), "LAST_ONLY" | "NONE")) {
        return;
    }
    let behind = behind(schedule, now.min(schedule.end));
    // A round number stays the same from day to day, so that a baseline remains valid.
    let Some(round) = ROUND.into_iter().rev().find(|round| behind >= *round) else { return };
    let message = format!("a submission now would first catch up on {round} or more actions");
    let exact = if behind < COUNTED { format!("{behind} to be exact; ") } else { String::new() };
    let help = "start later, or skip old actions: `<execution>LAST_ONLY</execution>`";
    out.push(
        finding(&k::START_FAR_IN_PAST, written.span(), message).help(format!("{exact}{help}")),
    );
}

/// The number of actions from which they are reported, and the round numbers used for it.
const ROUND: [i64; 6] = [5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000];
/// Maximum number of actions that are counted exactly.
const COUNTED: i64 = 20_000;

/// Returns the number of actions due before an instant.
fn behind(schedule: &Schedule, until: Instant) -> i64 {
    let mut times = schedule.times();
    match &schedule.frequency {
        Frequency::Every { count, .. } if *count <= 0 => 0,
        Frequency::Every { unit: Unit::Minute | Unit::Hour, .. } => {
            times.skip_to(until);
            times.created()
        }
        _ => {
            times.take(COUNTED as usize).take_while(|(_, nominal)| *nominal < until).count() as i64
        }
    }
}

/// Reports negative numbers other than the usual one for "no limit".
fn below_minus_one(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for (name, words) in [
        ("concurrency", "any number of actions may run at once"),
        ("timeout", "actions wait as long as the server allows"),
    ] {
        let mut controls = facts.written.controls.iter();
        let Some((_, value)) = controls.find(|(known, _)| known == name) else { continue };
        let number = facts.value(value).and_then(|text| text.trim().parse::<i64>().ok());
        let Some(number) = number.filter(|number| *number < -1) else { continue };
        let message = format!("a {name} of {number} sets no limit: {words}");
        let found = finding(&k::NEGATIVE_CONTROL, value.span(), message);
        let found = found.likely().help("if that is intended, write `-1`");
        out.push(facts.at_origin(value, "read here", found));
    }
}

fn controls(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    below_minus_one(facts, out);
    let written = facts.written;
    let control = |name: &str| {
        written.controls.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    };
    let has_inputs = !written.inputs.is_empty();
    match control("timeout") {
        None if has_inputs => {
            let message = "without a `timeout`, actions wait two hours, or as long as the server's settings say";
            out.push(finding(&k::TIMEOUT_IMPLICIT, written.span, message));
        }
        Some(value) if !has_inputs => {
            let message = "there is no input to wait for";
            out.push(finding(&k::TIMEOUT_WITHOUT_INPUT, value.span(), message));
        }
        Some(value) => {
            let number = value.known().and_then(|text| text.parse::<i64>().ok());
            if number.is_some_and(|number| (-1..0).contains(&number)) {
                let most = facts.most.0;
                let message =
                    format!("this waits {most} minutes, the server's maximum, not forever");
                out.push(finding(&k::TIMEOUT_INFINITE, value.span(), message));
            } else if number == Some(0) {
                let message = "the data must exist at the first check";
                out.push(finding(&k::TIMEOUT_ZERO, value.span(), message));
            }
        }
        None => {}
    }
    if let Some(value) = control("concurrency")
        && let Some(number) = facts.value(value)
        && number.trim().parse() == Ok(0)
    {
        let message = "no action is ever started with a concurrency of 0";
        let found = finding(&k::CONCURRENCY_ZERO, value.span(), message);
        out.push(facts.at_origin(value, "read here", found));
    }
    if control("concurrency").is_none() {
        let message = "without `concurrency`, one action runs at a time";
        out.push(finding(&k::CONCURRENCY_IMPLICIT, written.span, message));
    }
    if let Some(value) = control("throttle")
        && let Some(number) = value.known().and_then(|text| text.parse::<i64>().ok())
        && !(1..=facts.most.1).contains(&number)
    {
        let most = facts.most.1;
        out.push(if number < 1 {
            let message = format!(
                "with a throttle of {number}, {most} actions may wait: the server uses its maximum"
            );
            finding(&k::THROTTLE_CLIPPED, value.span(), message)
        } else {
            let message = format!("the server reduces this to {most}, its maximum");
            finding(&k::THROTTLE_CLIPPED, value.span(), message).at_most(Level::Info)
        });
    }
    let skips = control("execution").filter(|value| value.as_str() == "LAST_ONLY");
    let ranged = written.inputs.iter().any(|event| event.part("start-instance").is_some());
    if let Some(value) = skips.filter(|_| ranged) {
        let message = "no action reads the data of a skipped action";
        out.push(finding(&k::LAST_ONLY_WITH_WIDE_WINDOW, value.span(), message));
    }
    if let Ok(definition) = facts.kept
        && let Frequency::Every { count, unit, .. } = &definition.schedule.frequency
        && *count < 0
        && *unit != Unit::Minute
        && let Some(frequency) = &written.frequency
    {
        let message = "the server accepts a negative frequency, and goes back in time";
        out.push(finding(&k::SUBMISSION_REFUSED, frequency.span(), message));
    }
}
