//! Reproduces a dry run of a coordinator: its first actions, as the server would create them.

use super::{Outcome, Refused, integer, is_uri, local_path, parent, scheme};
use crate::settings::site::FILE_SYSTEMS;
use ankus_lang::coordinator::{
    Action, Actions, DataEvent, Definition, EventData, Existing, Failure, Inputs, Instances, Logic,
    LogicKind,
};
use ankus_lang::time::Instant;
use std::collections::{HashMap, HashSet};

/// The result of a dry run.
#[derive(Clone, Debug)]
pub struct DryRun {
    /// The actions of the first hour.
    pub actions: Vec<Action>,
    /// The same actions, evaluated as far as possible.
    pub shown: Vec<ShownAction>,
}

/// An action of a dry run.
#[derive(Clone, Debug)]
pub struct ShownAction {
    /// Its inputs, as far as they are known.
    pub inputs: Vec<EventData>,
    /// Configuration of its workflow: evaluated if all inputs exist, otherwise as written.
    pub configuration: Vec<(String, String)>,
}

/// Materializes the first hour of a definition without storing anything, as a dry run on the server does. If any
/// action fails, so does the whole dry run, with E0803 around the error.
pub fn dry_run(
    definition: &Definition,
    id: &str,
    now: Instant,
    existing: &dyn Existing,
) -> Outcome<DryRun> {
    let wrap = |failure: Failure| {
        let mut refused = Refused::new("E0803", failure.message);
        refused.inner = failure.codes;
        refused
    };
    if let Some(logic) = &definition.logic {
        check_logic(definition, logic)?;
    }
    let schedule = &definition.schedule;
    let until = schedule.start.plus_seconds(3600).min(schedule.end);
    let actions = Actions::new(definition);
    let mut made = Vec::new();
    let mut all_shown = Vec::new();
    let most = usize::try_from(definition.controls.throttle).unwrap_or(0);
    for (number, nominal) in schedule.run(None, 0, until, None).take(most) {
        let action = actions.create(id, number, nominal, now).map_err(wrap)?;
        actions.admit(&action, existing).map_err(wrap)?;
        let configuration = definition.configuration.clone();
        let mut shown = ShownAction { inputs: action.inputs.clone(), configuration };
        if definition.logic.is_some()
            && matches!(actions.check_all(&action, existing, 0), Ok(Inputs::Ready(_)))
        {
            unevaluated(definition)?;
        }
        if let Inputs::Ready(inputs) = actions.check(&action, existing, true).map_err(wrap)? {
            let configuration = actions.configuration(id, &action, &inputs).map_err(wrap)?;
            shown = ShownAction { inputs, configuration };
        }
        all_shown.push(shown);
        made.push(action);
    }
    Ok(DryRun { actions: made, shown: all_shown })
}

/// Reports what the server's dry run cannot evaluate in a satisfied input logic, although the action itself would
/// start: logic that combines datasets, and `coord:dataIn` of one of its names.
fn unevaluated(definition: &Definition) -> Outcome<()> {
    let Some(logic) = &definition.logic else { return Ok(()) };
    if logic.iter().any(|part| part.kind == LogicKind::Combine) {
        return Err(Refused::new("E0803", "input-logic").names(["combine"]));
    }
    let names: Vec<&str> = logic.iter().filter_map(|part| part.name.as_deref()).collect();
    let asked = |text: &str| {
        let mut asks = text.split("coord:dataIn").skip(1).filter_map(|rest| {
            let rest = rest.trim_start().strip_prefix('(')?.trim_start();
            let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
            rest[1..].split(quote).next()
        });
        asks.find(|name| names.contains(name)).map(str::to_owned)
    };
    match definition.configuration.iter().find_map(|(_, value)| asked(value)) {
        Some(name) => Err(Refused::new("E0803", "input-logic").within("E1004").names([name])),
        None => Ok(()),
    }
}

/// Checks the input logic, which the server does only in a dry run: an action with faulty logic waits forever.
fn check_logic(definition: &Definition, logic: &[Logic]) -> Outcome<()> {
    let about = "input-logic";
    match logic.iter().filter(|part| part.parent.is_none()).count() {
        0 => return Err(Refused::new("E0803", about).names(["empty"])),
        1 => {}
        _ => return Err(Refused::new("E0607", about).names(["several-roots"])),
    }
    let mut events: HashMap<&str, &DataEvent> = HashMap::new();
    for event in &definition.inputs {
        events.entry(event.name.as_str()).or_insert(event);
    }
    let event = |name: &str| events.get(name).copied();
    let mut parts: HashMap<usize, Vec<&Logic>> = HashMap::new();
    for part in logic {
        parts.entry(part.parent.unwrap_or(usize::MAX)).or_default().push(part);
    }
    let length = |event: &DataEvent| match &event.instances {
        Instances::List(texts) => Some(texts.len() as i64),
        Instances::Range(start, end) => Some(plain_number(end)? - plain_number(start)? + 1),
    };
    for (at, part) in logic.iter().enumerate() {
        let names = [part.data.clone()];
        if part.kind == LogicKind::Data && event(&part.data).is_none() {
            return Err(Refused::new("E0803", about).within("E1028").names(names));
        }
        if part.kind != LogicKind::Data && !parts.contains_key(&at) {
            return Err(Refused::new("E0803", about).names(["empty"]));
        }
        if part.kind == LogicKind::Combine {
            let within = parts.get(&at).into_iter().flatten();
            let mut lengths = within.filter_map(|other| event(&other.data).and_then(length));
            let first = lengths.next();
            if lengths.any(|length| Some(length) != first) {
                return Err(Refused::new("E0803", about).within("E1028").names(["combine"]));
            }
        }
        let numbers = [&part.min, &part.wait].into_iter().flatten();
        if numbers.clone().any(|text| integer(text.trim()).is_none()) {
            let mut refused = Refused::new("", about).names(numbers.cloned());
            refused.code = None;
            return Err(refused);
        }
    }
    Ok(())
}

/// The number in `${coord:current(n)}`.
fn plain_number(text: &str) -> Option<i64> {
    text.split_once('(')?.1.split_once(')')?.0.trim().parse().ok()
}

/// The paths that exist. The authority of a URI is ignored, and only some schemes are supported.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    paths: HashSet<String>,
    tables: Vec<String>,
    schemes: Vec<String>,
}

impl Paths {
    /// Creates a set in which these paths exist, and all folders above them; for a URI of HCatalog, everything below
    /// it. `schemes` are those that the server lists, `*` for all; if it lists none, its defaults apply.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a str>, schemes: &[String]) -> Paths {
        let (mut all, mut tables) = (HashSet::new(), Vec::new());
        for path in paths {
            if scheme(path) == "hcat" {
                tables.push(path.to_owned());
                continue;
            }
            let mut path = local_path(path).trim_end_matches('/');
            while !path.is_empty() && all.insert(path.to_owned()) {
                path = parent(path);
            }
        }
        Paths { paths: all, tables, schemes: schemes.to_vec() }
    }
}

/// Refuses a URI whose scheme is not among those that a server lists. If it lists none, its defaults apply.
pub fn admitted(schemes: &[String], uri: &str) -> Result<(), Failure> {
    if !uri.is_empty() && !is_uri(uri) {
        return Err(Failure::new("E0902", format!("`{uri}` is not a URI")));
    }
    let scheme = scheme(uri);
    let is_served = match schemes {
        [] => FILE_SYSTEMS.contains(&scheme),
        listed => listed.iter().any(|listed| listed == "*" || listed == scheme),
    };
    match scheme.is_empty() || is_served {
        true => Ok(()),
        false => Err(Failure::new("E0904", format!("nothing serves `{scheme}`"))),
    }
}

impl Existing for Paths {
    fn exists(&self, uri: &str) -> Result<bool, Failure> {
        self.admit(uri)?;
        Ok(self.paths.contains(local_path(uri).trim_end_matches('/')))
    }

    fn admit(&self, uri: &str) -> Result<(), Failure> {
        admitted(&self.schemes, uri)
    }

    fn partition_exists(&self, uri: &str) -> Option<Result<bool, Failure>> {
        let is_there = || self.tables.iter().any(|table| uri.starts_with(table));
        Some(self.admit(uri).map(|()| is_there()))
    }
}
