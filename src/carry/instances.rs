//! Dataset instances that a coordinator names.

use super::airflow::expression::{Names, Place, Text};
use super::airflow::python::Value;
use super::airflow::schedule::{written, zone_of};
use ankus_lang::coordinator::{DataEvent, Definition, Instances};
use ankus_lang::el::{Dialect, Phase, Piece, Template, Value as Known, Variables, tree::Op};
use ankus_lang::time::ProcessingZone;
use std::collections::BTreeMap;

/// Returns the number `n` of `${coord:current(n)}`.
pub(super) fn current(text: &str, definition: &Definition) -> Result<i64, String> {
    let odd = || format!("it cannot be computed where `{text}` is");
    let inner = text.trim().strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let inner = inner.ok_or_else(odd)?.trim().strip_prefix("coord:current").ok_or_else(odd)?;
    let mut variables = Variables::default();
    for (name, value) in definition.properties.iter() {
        let value = ankus_lang::el::Value::text(value.clone());
        variables.0.insert(name.to_string(), value);
    }
    let template =
        Template::compile(&format!("${{{inner}}}"), Phase::JobSubmit, Default::default());
    let known = template.text(&variables).map_err(|_| odd())?;
    known.trim().parse().map_err(|_| odd())
}

/// Estimates the length of an event's URIs in characters, as far as it is known before a run.
pub(super) fn length(event: &DataEvent, definition: &Definition) -> usize {
    let count = match &event.instances {
        Instances::List(all) => all.len(),
        Instances::Range(first, last) => {
            match (current(first, definition), current(last, definition)) {
                (Ok(first), Ok(last)) => {
                    usize::try_from(last.saturating_sub(first)).map_or(0, |n| n + 1)
                }
                _ => 1,
            }
        }
    };
    count.saturating_mul(event.dataset.uri_template.len() + 1)
}

/// Returns an instance as an argument for the Python helpers: `current(-1)`, or a function of the moment for which it
/// is evaluated.
pub(super) fn instance(text: &str, definition: &Definition) -> Result<Value, String> {
    let template = Template::compile(text, Phase::CoordinatorInstances, Dialect::default());
    let nodes = template.nodes();
    let odd = || format!("`{text}` is not an instance that is known before a run");
    let [Piece::Expression { .. }] = template.pieces() else {
        // A literal date.
        let date = ProcessingZone::UTC.parse(text.trim()).map_err(|_| odd())?;
        return Ok(Value::Text(format!("absolute({})", written(date))));
    };
    let last =
        nodes.iter().rev().find(|node| matches!(node.op, Op::Call { .. })).ok_or_else(odd)?;
    let name = template.call_name(last).into_owned();
    let name = name.strip_prefix("coord:").ok_or_else(odd)?;
    const KNOWN: [&str; 8] = [
        "current",
        "latest",
        "future",
        "offset",
        "absolute",
        "endOfDays",
        "endOfWeeks",
        "endOfMonths",
    ];
    if !KNOWN.contains(&name) {
        return Err(odd());
    }
    let whole = template.span(last.start, last.end).trim_end();
    let inner = whole.split_once('(').and_then(|(_, inner)| inner.strip_suffix(')'));
    let inner = inner.ok_or_else(odd)?;
    if inner.contains("coord:") {
        // Only these functions are evaluated by code that knows the dataset.
        return match name {
            "current" | "offset" => of_moment(name, inner, definition).ok_or_else(odd),
            _ => Err(odd()),
        };
    }
    let mut variables = Variables::default();
    for (name, value) in definition.properties.iter() {
        variables.0.insert(name.to_string(), Known::text(value.clone()));
    }
    // The only commas are those between arguments, unless an argument is a quoted text.
    let arguments: Result<Vec<String>, String> = inner
        .split(',')
        .map(|part| {
            let source = format!("${{{part}}}");
            let argument = Template::compile(&source, Phase::JobSubmit, Dialect::default());
            argument.text(&variables).map(|text| text.into_owned()).map_err(|_| odd())
        })
        .collect();
    Ok(Value::Text(format!("{name}({})", arguments?.join(", "))))
}

/// Returns an instance whose number depends on the day: `current(-(coord:hoursInDay(0) - 1))`.
fn of_moment(name: &str, inner: &str, definition: &Definition) -> Option<Value> {
    let properties = definition.properties.iter();
    let texts: BTreeMap<String, Text> =
        properties.map(|(name, value)| (name.to_string(), Text::literal(value))).collect();
    let zone = zone_of(&definition.schedule.zone).ok()?;
    let zone = Text::literal(&format!("moment.tz_offset('{zone}')"));
    let names = Names {
        phase: Phase::CoordinatorActionCreate,
        texts: &texts,
        owner: "",
        is_secret: &|_| false,
        is_open: &|_| false,
        constants: &BTreeMap::from([("coord:tzOffset", zone.into_code())]),
        data: &BTreeMap::new(),
        tasks: &BTreeMap::new(),
        transitions: &BTreeMap::new(),
        is_forked: false,
        knows_user: true,
        group: None,
        place: Place::Moment,
    };
    // Functions of a day have a single argument, so that all commas separate arguments of the instance function.
    let arguments: Option<Vec<String>> = inner
        .split(',')
        .map(|part| {
            let text = names.text(&format!("${{{part}}}"), Dialect::default());
            (text.lacks.is_empty() && text.differs.is_empty()).then(|| match text.known() {
                Some(known) => known.to_owned(),
                None => format!("{{{}}}", text.code()),
            })
        })
        .collect();
    let body = format!("f\"{name}({})\"", arguments?.join(", "));
    // Formatted as by `ruff format` after `first=`.
    Some(Value::Code(match "    first=lambda moment: ,".len() + body.len() > 88 {
        true => format!("lambda moment: (\n        {body}\n    )"),
        false => format!("lambda moment: {body}"),
    }))
}
