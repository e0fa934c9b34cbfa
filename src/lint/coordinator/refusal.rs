//! A refusal of the server, reported at the right place.

use ankus_lang::coordinator::Execution;
use ankus_lang::time::{Cron, CronError, Zone};

use super::kinds as k;
use super::{Facts, finding, in_words, no_date, time};
use crate::diag::{Diagnostic, Edit, Fault, Fix, Safety, nearest, within};
use crate::ir::Scalar;
use crate::ir::coordinator::{Coordinator, Dataset, datasets_of};
use crate::reference::coordinator::Refused;
use crate::slips::is_in_declaration;
use crate::source::Span;
use crate::syntax::xml::Tree;

/// Returns the finding for a refusal; `None` if another finding reports the same.
pub(super) fn explain(facts: &Facts<'_>, refused: &Refused, is_told: bool) -> Option<Diagnostic> {
    let written = facts.written;
    let place = place(written, &refused.about);
    let check = refused.subject.first().map_or("", String::as_str);
    // If the start is moved forward, the end is often forgotten.
    let end = written.end.as_ref().filter(|_| check == "start-not-before-end");
    let Some(place) = end.or(place) else {
        let Some((path, value)) = included(facts, refused) else {
            return at_value(facts, refused, is_told, None);
        };
        let mut found = at_value(facts, refused, is_told, Some(&value))?;
        // They are places in the coordinator.
        found.fixes.clear();
        found.notes.clear();
        return Some(found.in_file(path));
    };
    let found = at_value(facts, refused, is_told, Some(place))?;
    Some(facts.at_origin(place, "read here", found))
}

/// Returns the part of a dataset of an included file that a refusal is about, with the path of the file, if it is
/// written there and not read from a property.
fn included(facts: &Facts<'_>, refused: &Refused) -> Option<(String, Scalar)> {
    let (owner, part) = refused.about.split_once('/')?;
    let name = owner.strip_prefix("dataset ")?;
    if facts.written.includes.is_empty() {
        return None;
    }
    let mut found = facts.around.files.texts().filter(|source| source.text.contains("<dataset"));
    found.find_map(|source| {
        let (tree, _) = Tree::of(&source.text);
        let root = tree.root().filter(|root| root.name() == "datasets")?;
        let sets = datasets_of(root);
        let is_it = |dataset: &&Dataset| dataset.name.as_ref().is_some_and(|n| n.as_str() == name);
        let value = part_of(sets.iter().find(is_it)?, part)?;
        let is_property = |text: &str| {
            let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            name.is_some_and(|name| !name.contains(['(', '{', ' ']))
        };
        (!is_property(value.as_str().trim())).then(|| (source.path.clone(), value.clone()))
    })
}

/// Returns the finding about a refusal, at the value that causes it.
fn at_value(
    facts: &Facts<'_>,
    refused: &Refused,
    is_told: bool,
    place: Option<&Scalar>,
) -> Option<Diagnostic> {
    let (written, around) = (facts.written, facts.around);
    let part = refused.about.rsplit('/').next().unwrap_or_default();
    let check = refused.subject.first().map_or("", String::as_str);
    let span = place.map_or(written.span, Scalar::span);
    let value = refused.subject.last().map_or("", String::as_str);
    let found = match (refused.code, part, check) {
        (Some("E1003"), _, "start-not-before-end") if time::exchanged(written).is_some() => {
            return None;
        }
        (Some("E1003"), _, "start-not-before-end") => {
            let found = finding(&k::START_NOT_BEFORE_END, span, "the end is not after the start");
            match &written.start {
                Some(start) => found.note(start.span(), "the start"),
                None => found,
            }
        }
        (Some("E1003"), _, "below-five-minutes") => finding(
            &k::FREQUENCY_TOO_FAST,
            span,
            "the frequency is under five minutes, the server's minimum",
        )
        .help("the server allows it with `oozie.service.coord.check.maximum.frequency=false`"),
        (Some("E1003"), _, "cron-never-fires") => {
            finding(&k::CRON_NEVER_FIRES, span, "this never fires")
        }
        (Some("E0803"), "frequency", _) => {
            finding(&k::CRON_NEVER_FIRES, span, "a field matches nothing, so no time is ever found")
        }
        (Some("E1003"), _, "no-action-before-end") => {
            finding(&k::MATERIALIZES_NOTHING, span, "the first nominal time is not before the end")
        }
        (Some("E1003"), "frequency", _) => cron(place, value, span),
        (Some("E1003"), "start" | "end" | "@initial-instance", _) => no_date(place, value, span),
        (Some("E1003"), "timezone" | "@timezone", _) => zone(place, value, span),
        (Some("E1003"), "execution", _) => order(place, value, span),
        (Some("E1003"), "timeout" | "concurrency" | "throttle", _) => {
            let message = format!("{} is not a whole number", in_words(place, value));
            finding(&k::SUBMISSION_REFUSED, span, message)
        }
        (Some("E0803"), _, "undefined-dataset") => undefined_dataset(written, place, value, span),
        (Some("E0803"), _, "duplicate-dataset") => {
            let message = format!("the dataset `{value}` is included twice");
            finding(&k::DUPLICATE_DATASET, span, message).naming([value])
        }
        (Some("E0803"), _, "duplicate-data-name") => {
            finding(&k::DUPLICATE_DATA_EVENT, span, format!("`{value}` is declared twice"))
        }
        (Some("E1021"), "@initial-instance", _) => {
            let message = "an initial instance cannot be before 1970-01-01T00:00Z";
            finding(&k::INITIAL_INSTANCE_TOO_OLD, span, message)
        }
        (Some("E1021"), _, "empty-instance") => {
            finding(&k::INSTANCE_EMPTY, span, "an instance is expected here")
        }
        (Some("E1021"), _, "several-in-one-instance") if refused.about.starts_with("data-out ") => {
            finding(&k::SEVERAL_OUTPUT_INSTANCES, span, "an output has exactly one instance")
                .help("declare a `data-out` for each")
        }
        (Some("E1021"), _, "several-in-one-instance") => {
            let found = finding(
                &k::SEVERAL_INSTANCES_IN_ONE_ELEMENT,
                span,
                "this element names several instances, but may name only one",
            )
            .help("write an `instance` element for each");
            match place.filter(|_| part == "instance").and_then(apart) {
                Some(fix) => found.fix(fix),
                None => found,
            }
        }
        _ if is_told => return None,
        (code, ..) => {
            let code = code.unwrap_or("an error without a code");
            let about = if refused.about.is_empty() { "the definition" } else { &refused.about };
            let names = around.masked(&refused.subject.join(", "));
            let message = match names.is_empty() {
                true => format!("the server answers {code} because of {about}"),
                false => format!("the server answers {code} because of {about}: {names}"),
            };
            let found = finding(&k::SUBMISSION_REFUSED, span, message);
            match code {
                "E1002" => found.of(Fault::NoApplication).naming([names]),
                "E0700" if about.starts_with("include ") => {
                    found.of(Fault::OfInclude).naming([crate::files::name_of(about)])
                }
                _ => found,
            }
        }
    };
    // The values of missing properties are unknown.
    let is_expression = place.is_some_and(|place| place.known().is_none());
    let is_conf = place.is_some_and(|place| value.is_empty() && place.as_str().contains("conf("));
    let is_open = value.contains("${") && is_expression || is_conf;
    let found = match refused.code == Some("E1003") && is_open {
        true => found.depends_on("the values of the properties in it"),
        false => found,
    };
    let has_code = refused.code.is_none_or(|code| found.kind.oozie.contains(&code));
    debug_assert!(has_code, "{refused:?} explained as {}", found.kind.name);
    Some(found)
}

/// Reports a frequency that is neither a number nor a cron expression.
fn cron(place: Option<&Scalar>, value: &str, span: Span) -> Diagnostic {
    match Cron::parse(value) {
        Err(CronError::FieldCount(1)) | Ok(_) => {
            let message =
                format!("{} is neither a number nor a cron expression", in_words(place, value));
            finding(&k::CRON_UNPARSABLE, span, message)
                .help("write a number of minutes, a function such as `${coord:days(1)}`, or five cron fields")
        }
        Err(CronError::FieldCount(count)) => {
            let message = format!("a cron expression has five fields here, not {count}");
            finding(&k::CRON_FIELD_COUNT, span, message)
                .help("there are no seconds or years, and fields are separated by one space")
        }
        Err(error) if value.split(' ').nth(4) == Some("0") => {
            let found = finding(&k::CRON_WEEKDAY_ZERO, span, "0 is not a weekday here");
            let fix = place.filter(|place| place.known().is_some()).map(|place| {
                let last = place.as_str().len() - 1;
                let span = place.place(last..last + 1);
                Fix::safe("Write SUN", span, "SUN")
            });
            let found = found.help(format!("{error}; Sunday is 1, or SUN"));
            match fix {
                Some(fix) => found.fix(fix),
                None => found,
            }
        }
        Err(error) if place.is_none_or(|place| place.known().is_some()) => {
            finding(&k::CRON_UNPARSABLE, span, error.to_string())
        }
        Err(_) => {
            let message = format!("a field of {} is not valid in cron", in_words(place, value));
            finding(&k::CRON_UNPARSABLE, span, message)
        }
    }
}

/// Reports a time zone that does not exist.
fn zone(place: Option<&Scalar>, value: &str, span: Span) -> Diagnostic {
    let message = match place.is_none_or(|place| place.known().is_some()) {
        true => format!("there is no time zone `{value}`"),
        false => format!("{} is not the name of a time zone", in_words(place, value)),
    };
    let found = finding(&k::UNKNOWN_TIMEZONE, span, message);
    let names = ankus_lang::time::zone_names();
    match nearest(value, names.iter().map(String::as_str)) {
        Some(near) if place.is_some_and(|place| place.known().is_some()) => {
            found.did_you_mean(near).fix(Fix::guess(format!("Write {near}"), span, near))
        }
        _ => found.help("use a name of the tz database, in its exact case"),
    }
}

/// Reports an execution order that does not exist.
fn order(place: Option<&Scalar>, value: &str, span: Span) -> Diagnostic {
    let message = format!("{} is not a valid execution order", in_words(place, value));
    let orders = ["FIFO", "LIFO", "LAST_ONLY", "NONE"];
    let found = finding(&k::EXECUTION_ORDER_INVALID, span, message);
    match nearest(&value.to_ascii_uppercase(), orders) {
        Some(near) => found.did_you_mean(near).fix(Fix::guess(format!("Write {near}"), span, near)),
        None => found.help("the orders are FIFO, LIFO, LAST_ONLY and NONE"),
    }
}

/// Reports a dataset that is not declared.
fn undefined_dataset(
    written: &Coordinator,
    place: Option<&Scalar>,
    value: &str,
    span: Span,
) -> Diagnostic {
    let message = match place.is_none_or(|place| place.known().is_some()) {
        true => format!("there is no dataset `{value}`"),
        false => format!("{} is not the name of a dataset", in_words(place, value)),
    };
    let found = finding(&k::UNDEFINED_DATASET, span, message);
    let names = || written.datasets.iter().filter_map(|dataset| dataset.name.as_ref());
    let near = nearest(value, names().map(Scalar::as_str));
    // If no event has the name of the dataset, the slip may be there.
    let events = || written.inputs.iter().chain(&written.outputs);
    let is_used = |name: &str| {
        events().any(|event| event.dataset.as_ref().is_some_and(|d| d.as_str() == name))
    };
    let lone = near.filter(|near| !is_used(near));
    let lone = lone.and_then(|near| names().find(|name| name.as_str() == near));
    let lone = lone.filter(|_| place.is_none_or(|place| place.known().is_some()));
    let found = match lone {
        Some(name) => match misnamed(written, name, value) {
            Some(found) => return found,
            None => found.note(name.span(), "no event uses this dataset"),
        },
        None => found,
    };
    match near {
        Some(near) if place.is_some_and(|place| place.known().is_some()) => {
            found.did_you_mean(near).fix(Fix::guess(format!("Write {near}"), span, near))
        }
        _ => found.help("datasets of included files count too, if they have no namespace"),
    }
}

/// Returns further refusals that would follow after the first one is fixed. Only known values are considered.
pub(super) fn others(
    facts: &Facts<'_>,
    first: Option<&Refused>,
    told: &[Diagnostic],
) -> Vec<Refused> {
    let written = facts.written;
    let mut found = Vec::new();
    let mut add = |code, about: String, subject: &[&str]| {
        if first.is_none_or(|first| about != first.about) {
            let subject = subject.iter().map(|&name| name.to_owned()).collect();
            found.push(Refused { code: Some(code), inner: Vec::new(), subject, about });
        }
    };
    let is_zone = |text: &str| Zone::from_id(text.trim()).is_ok();
    if let Some(text) = written.timezone.as_ref().and_then(|zone| facts.value(zone))
        && !is_zone(text)
    {
        add("E1003", "timezone".to_owned(), &[text]);
    }
    for dataset in &written.datasets {
        let Some(name) = &dataset.name else { continue };
        let zone = dataset.timezone.as_ref().and_then(|zone| facts.value(zone));
        if let Some(text) = zone.filter(|text| !is_zone(text)) {
            add("E1003", format!("dataset {}/@timezone", name.as_str()), &[text]);
        }
    }
    let order = written.controls.iter().find(|(name, _)| name == "execution");
    if let Some(text) = order.and_then(|(_, order)| facts.value(order))
        && Execution::from_name(text.trim()).is_none()
    {
        add("E1003", "execution".to_owned(), &["execution", text]);
    }
    if let Some(text) = written.frequency.as_ref().and_then(|frequency| facts.value(frequency))
        && (text.trim().contains(' ') || first.is_none())
        && !text.contains(['$', '{'])
        && text.trim().parse::<i64>().is_err()
        && Cron::parse(text.trim()).is_err()
    {
        add("E1003", "frequency".to_owned(), &["frequency", text]);
    }
    for name in ["timeout", "concurrency", "throttle"] {
        let control = written.controls.iter().find(|(known, _)| known == name);
        let Some((_, control)) = control else { continue };
        let is_told = told.iter().any(|found| {
            let (span, own) = (found.span, control.span());
            found.file.is_none() && span.start <= own.end && own.start <= span.end
        });
        if let Some(text) = facts.value(control).map(str::trim)
            && !is_told
            && !text.is_empty()
            && text.parse::<i32>().is_err()
        {
            add("E1003", name.to_owned(), &[name, text]);
        }
    }
    let date =
        |scalar: &Option<Scalar>| facts.processing.parse(facts.value(scalar.as_ref()?)?).ok();
    if let Some((start, end)) = date(&written.start).zip(date(&written.end))
        && start >= end
        && first
            .is_none_or(|first| first.subject.first().is_none_or(|s| s != "start-not-before-end"))
    {
        add("E1003", "end".to_owned(), &["start-not-before-end"]);
    }
    // In the form that a server stores, which its schemas refuse, the events contain the datasets.
    if !written.datasets.is_empty() && written.includes.is_empty() {
        let names = || written.datasets.iter().filter_map(|dataset| dataset.name.as_ref());
        for (kind, events) in [("data-in", &written.inputs), ("data-out", &written.outputs)] {
            for event in events {
                let wanted = event.dataset.as_ref().and_then(Scalar::known);
                let Some((name, wanted)) = event.name.as_ref().zip(wanted) else { continue };
                if names().all(|known| known.known().is_some_and(|known| known != wanted)) {
                    let about = format!("{kind} {}/@dataset", name.as_str());
                    add("E0803", about, &["undefined-dataset", wanted]);
                }
            }
        }
    }
    found
}

/// Returns the finding about a dataset with a misspelled name, if events refer to a similar name.
fn misnamed(written: &Coordinator, dataset: &Scalar, value: &str) -> Option<Diagnostic> {
    let events = written.inputs.iter().chain(&written.outputs);
    let events = events.filter_map(|event| event.dataset.as_ref());
    let places: Vec<Span> =
        events.filter(|other| other.as_str() == value).map(Scalar::span).collect();
    let own = dataset.known().filter(|own| within(value, own, 2).is_some())?;
    if !is_in_declaration(own, value, places.len()) {
        return None;
    }
    let message = format!(
        "there is no dataset `{value}`, which events use; `{own}` looks like a misspelling of it"
    );
    let mut found = finding(&k::UNDEFINED_DATASET, dataset.span(), message)
        .did_you_mean(value)
        .fix(Fix::guess(format!("Write {value}"), dataset.span(), value));
    for place in places {
        found = found.note(place, "an event uses it");
    }
    Some(found)
}

/// Returns the fix that moves each of several expressions separated by commas to an element of its own.
fn apart(value: &Scalar) -> Option<Fix> {
    let text = value.as_str();
    let ranges = crate::lint::reads::expressions(text);
    let mut edits = Vec::new();
    for pair in ranges.windows(2) {
        let between = pair[0].end..pair[1].start;
        if text[between.clone()].trim() != "," {
            return None;
        }
        let text = "</instance><instance>".to_owned();
        edits.push(Edit { file: None, span: value.place(between), text });
    }
    let whole = ranges.first()?.start == 0 && ranges.last()?.end == text.len();
    let title = "Write an `instance` for each".to_owned();
    (whole && !edits.is_empty()).then_some(Fix { title, safety: Safety::Safe, edits })
}

/// Returns a part of a dataset, by its name in refusals.
fn part_of<'d>(dataset: &'d Dataset, part: &str) -> Option<&'d Scalar> {
    match part {
        "@frequency" => dataset.frequency.as_ref(),
        "@initial-instance" => dataset.initial_instance.as_ref(),
        "@timezone" => dataset.timezone.as_ref(),
        "uri-template" => dataset.uri_template.as_ref(),
        "done-flag" => dataset.done_flag.as_ref().map(|(_, flag)| flag),
        _ => dataset.name.as_ref(),
    }
}

/// Returns the value that a refusal is about.
fn place<'c>(written: &'c Coordinator, about: &str) -> Option<&'c Scalar> {
    let (owner, part) = about.split_once('/').unwrap_or(("", about));
    let control = |name: &str| {
        written.controls.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    };
    if let Some(name) = owner.strip_prefix("dataset ") {
        let named = |name: &str| {
            written
                .datasets
                .iter()
                .find(|dataset| dataset.name.as_ref().is_some_and(|known| known.as_str() == name))
        };
        return part_of(named(name)?, part);
    }
    for (kind, events) in [("data-in ", &written.inputs), ("data-out ", &written.outputs)] {
        let Some(name) = owner.strip_prefix(kind) else { continue };
        let mut named = events
            .iter()
            .filter(|event| event.name.as_ref().is_some_and(|known| known.as_str() == name));
        return match part {
            // If two events have the same name, the later one is at fault.
            "@name" => named.next_back()?.name.as_ref(),
            "@dataset" => named.clone().find_map(|event| event.dataset.as_ref()),
            part => named.clone().find_map(|event| event.part(part)),
        };
    }
    if owner == "configuration" {
        let property = written
            .configuration
            .iter()
            .find(|property| property.name.as_ref().is_some_and(|name| name.as_str() == part));
        return property.and_then(|property| property.value.as_ref());
    }
    if let Some(uri) = about.strip_prefix("include ") {
        let include = written.includes.iter().find(|include| include.as_str() == uri);
        return include.or(written.includes.first());
    }
    if let Some(leaf) = about.strip_prefix("sla ") {
        let leaves = &written.sla.as_ref()?.leaves;
        return leaves.iter().find(|(name, _)| name == leaf).map(|(_, value)| value);
    }
    match part {
        "name" => written.name.as_ref(),
        "frequency" => written.frequency.as_ref(),
        "start" => written.start.as_ref(),
        "end" => written.end.as_ref(),
        "timezone" => written.timezone.as_ref(),
        "app-path" => written.app_path.as_ref(),
        "include" => written.includes.first(),
        other => control(other),
    }
}
