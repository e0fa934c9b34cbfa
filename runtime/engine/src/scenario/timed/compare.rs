//! Compares a scenario's expectations of coordinators with the results.

use std::collections::BTreeMap;

use super::{SeenAction, SeenTimed};
use crate::scenario::compare::Differences;
use crate::scenario::{Expect, ExpectAction};
use ankus_lang::time::{Instant, ProcessingZone};

/// Reports every expectation of coordinators that did not hold, in the order of the scenario.
pub(in crate::scenario) fn compare(expect: &Expect, seen: &SeenTimed, out: &mut Differences) {
    let find = |name: &str| {
        let mut actions = seen.actions.iter();
        actions.find(|action| action.name == name || action.by_time == name)
    };
    if let Some(expected) = &expect.path {
        let mut began: Vec<&SeenAction> =
            seen.actions.iter().filter(|action| action.began.is_some()).collect();
        began.sort_by_key(|action| action.began.map(|(_, place)| place));
        let is_same = began.len() == expected.len()
            && began.iter().zip(expected).all(|(action, name)| is_called(action, name));
        if !is_same {
            // Actions are shown by number or by time, as in the expectation.
            let by_time = expected.iter().any(|name| name.ends_with('Z'));
            let shown: Vec<&str> = began
                .iter()
                .map(|action| if by_time { &*action.by_time } else { &*action.name })
                .collect();
            out.add("path", expected.join(", "), shown.join(", "));
        }
    }
    for pair in expect.order.windows(2) {
        let what = format!("`{}` begins after `{}` has ended", pair[1], pair[0]);
        let (first, second) = (find(&pair[0]), find(&pair[1]));
        let (ended, began) = (
            first.and_then(|action| action.ended),
            second.and_then(|action| action.began).map(|(at, _)| at),
        );
        match (ended, began) {
            (Some(ended), Some(began)) if ended <= began => {}
            (Some(_), Some(_)) => {
                out.add("order", what, "they ran at the same time, or in the reverse order");
            }
            (None, _) => out.add("order", what, format!("`{}` did not end", pair[0])),
            (_, None) => out.add("order", what, format!("`{}` did not begin", pair[1])),
        }
    }
    for group in &expect.parallel {
        let what = format!("{} run at the same time", group.join(", "));
        let began = |name: &String| find(name).and_then(|action| action.began);
        if let Some(missing) = group.iter().find(|name| began(name).is_none()) {
            out.add("parallel", what, format!("`{missing}` did not begin"));
            continue;
        }
        let latest = group.iter().filter_map(began).map(|(at, _)| at).max();
        let ends = group.iter().filter_map(|name| find(name)?.ended);
        if ends.min().is_some_and(|end| Some(end) < latest) {
            out.add("parallel", what, "one had ended before another began");
        }
    }
    for name in &expect.never {
        if let Some(action) = find(name).filter(|action| action.began.is_some()) {
            let seen = format!("it ran and is {}", action.status);
            out.add("never", format!("`{name}` does not run"), seen);
        }
    }
    if let Some(only) = seen.coordinators.first() {
        let mut all: BTreeMap<String, usize> = only.counts.clone();
        for other in &seen.coordinators[1..] {
            for (status, count) in &other.counts {
                *all.entry(status.clone()).or_default() += count;
            }
        }
        counts("counts", &expect.counts, &all, out);
    }
    if let Some(refusals) = &expect.refusals
        && *refusals != seen.refusals
    {
        let shown = |codes: &[String]| match codes {
            [] => "none".to_owned(),
            codes => codes.join(", "),
        };
        out.add("refusals", shown(refusals), shown(&seen.refusals));
    }
    for (name, expected) in &expect.actions {
        match find(name) {
            Some(action) => self::action(name, expected, action, out),
            None => out.add(format!("actions.\"{name}\""), "there is one", "there is none"),
        }
    }
    for (name, expected) in &expect.coordinators {
        let what = format!("coordinators.{name}");
        match seen.coordinators.iter().find(|coordinator| coordinator.name == *name) {
            None => out.add(what, "there is one", "there is none"),
            Some(found) => {
                let status = found.status.as_deref();
                out.equal(format!("{what}.status"), expected.status.as_deref(), status);
                counts(&format!("{what}.counts"), &expected.counts, &found.counts, out);
            }
        }
    }
}

fn is_called(action: &SeenAction, name: &str) -> bool {
    action.name == name || action.by_time == name
}

fn counts(
    what: &str,
    expected: &BTreeMap<String, usize>,
    seen: &BTreeMap<String, usize>,
    out: &mut Differences,
) {
    for (status, count) in expected {
        let found = seen.get(status).copied().unwrap_or(0);
        if found != *count {
            out.add(format!("{what}.{status}"), count.to_string(), found.to_string());
        }
    }
}

fn action(name: &str, expected: &ExpectAction, seen: &SeenAction, out: &mut Differences) {
    let what = |field: &str| format!("actions.\"{name}\".{field}");
    let time = |at: Option<Instant>| at.map(|at| ProcessingZone::UTC.format(at));
    let (code, message) = match &seen.error {
        Some((code, message)) => (Some(code.as_str()), Some(message.as_str())),
        None => (None, None),
    };
    out.equal(what("status"), expected.status.as_deref(), Some(&seen.status));
    out.equal(what("code"), expected.code.as_deref(), code);
    out.contains(what("message"), expected.message.as_deref(), message);
    let nominal = time(Some(seen.nominal));
    out.equal(what("nominal"), expected.nominal.as_deref(), nominal.as_deref());
    let began = time(seen.began.map(|(at, _)| at));
    out.equal(what("began"), expected.began.as_deref(), began.as_deref());
    out.equal(what("ended"), expected.ended.as_deref(), time(seen.ended).as_deref());
    let starts = expected.starts.map(|count| count.to_string());
    out.equal(what("starts"), starts.as_deref(), Some(&seen.starts.to_string()));
    out.contains(what("missing"), expected.missing.as_deref(), seen.missing.as_deref());
    for (field, expected, seen) in
        [("inputs", &expected.inputs, &seen.inputs), ("outputs", &expected.outputs, &seen.outputs)]
    {
        for (name, uris) in expected {
            let found = seen.get(name).map(|uris| uris.join(", "));
            let field = what(&format!("{field}.{name}"));
            out.equal(field, Some(&uris.join(", ")), found.as_deref());
        }
    }
    for (key, value) in &expected.configuration {
        let found = seen.configuration.get(key).map(String::as_str);
        out.equal(what(&format!("configuration.\"{key}\"")), Some(value), found);
    }
    for (field, expected, seen) in
        [("sla", &expected.sla, Some(&seen.sla)), ("path", &expected.path, seen.path.as_ref())]
    {
        let joined = |list: &Vec<String>| match list.is_empty() {
            true => "nothing".to_owned(),
            false => list.join(", "),
        };
        let expected = expected.as_ref().map(joined);
        out.equal(what(field), expected.as_deref(), seen.map(joined).as_deref());
    }
}
