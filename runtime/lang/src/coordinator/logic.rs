//! Evaluates input logic: which of the inputs of an action are sufficient.
//!
//! The input consists of the nodes of the logic, the instances of each input with whether they exist, and how long the
//! action has waited. The result is the instances that satisfy the logic, by name, or that the action has to wait.
//! Nodes are in a flat list with children after their parents, and are evaluated from the last to the first, so that
//! depth costs nothing.

use super::{EventData, Failure, Logic, LogicKind};

/// The result of a node.
enum Judged {
    /// Satisfied by these instances.
    Met(Vec<String>),
    /// Satisfiable, but waiting for more instances.
    Waiting,
    /// Not satisfied.
    Unmet,
    /// Cannot be evaluated, which is an error only if the result is needed.
    Broken(Failure),
}

/// An input with its existing instances: one entry per instance, in their order.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) instances: Vec<Option<String>>,
}

/// Returns the additional inputs of an action whose logic is satisfied: one for each name of the logic. None if it has
/// to wait.
pub(super) fn satisfied(
    logic: &[Logic],
    found: &[Found],
    waited_minutes: i64,
) -> Result<Option<Vec<EventData>>, Failure> {
    match logic.iter().filter(|part| part.parent.is_none()).count() {
        1 => {}
        0 => return Err(Failure::plain("the input logic is empty")),
        _ => return Err(Failure::plain("the input logic has several roots")),
    }
    let mut judged: Vec<Option<Judged>> = Vec::with_capacity(logic.len());
    judged.resize_with(logic.len(), || None);
    let mut names = Vec::new();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); logic.len()];
    for (at, part) in logic.iter().enumerate() {
        if let Some(parent) = part.parent {
            children[parent].push(at);
        }
    }
    for (at, part) in logic.iter().enumerate().rev() {
        let outcome = match part.kind {
            LogicKind::Data => data(logic, at, found, waited_minutes),
            LogicKind::Combine => combine(logic, at, &children[at], found, waited_minutes),
            LogicKind::Or | LogicKind::And if children[at].is_empty() => {
                Judged::Broken(Failure::plain("a part of the input logic is empty"))
            }
            kind => joined(kind, &children[at], &mut judged),
        };
        if let (Some(name), Judged::Met(uris)) = (&part.name, &outcome) {
            names.push(EventData {
                name: name.clone(),
                uris: uris.clone(),
                ..EventData::default()
            });
        }
        judged[at] = Some(outcome);
    }
    let root = logic.iter().position(|part| part.parent.is_none());
    match root.and_then(|root| judged[root].take()) {
        Some(Judged::Met(_)) => Ok(Some(names)),
        Some(Judged::Broken(failure)) => Err(failure),
        _ => Ok(None),
    }
}

/// Combines children: `or` takes the first one that is satisfied and waits if one before it waits; `and` requires all.
fn joined(kind: LogicKind, children: &[usize], judged: &mut [Option<Judged>]) -> Judged {
    let mut all = Vec::new();
    for child in children {
        match (kind, judged[*child].take()) {
            (_, Some(Judged::Broken(failure))) => return Judged::Broken(failure),
            (_, Some(Judged::Waiting)) => return Judged::Waiting,
            (LogicKind::Or, Some(Judged::Met(uris))) => return Judged::Met(uris),
            (LogicKind::Or, _) => {}
            (_, Some(Judged::Met(mut uris))) => {
                // The server puts instances of later children first.
                uris.append(&mut all);
                all = uris;
            }
            _ => return Judged::Unmet,
        }
    }
    if kind == LogicKind::Or { Judged::Unmet } else { Judged::Met(all) }
}

/// Parses the number of an attribute: `min` is inherited from the nearest enclosing node, `wait` only from the direct
/// parent.
fn number(text: Option<&String>) -> Result<Option<i64>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let number = text.trim().parse::<i32>().map(i64::from);
    number.map(Some).map_err(|_| Failure::plain(format!("`{text}` is not a number")))
}

fn limits(logic: &[Logic], at: usize) -> Result<(i64, i64), Failure> {
    let mut around = Some(at);
    let mut least = None;
    while let (Some(part), None) = (around, least) {
        least = number(logic[part].min.as_ref())?;
        around = logic[part].parent;
    }
    let own = number(logic[at].wait.as_ref())?;
    let parent = match (own, logic[at].kind, logic[at].parent) {
        (None, LogicKind::Data, Some(parent)) => number(logic[parent].wait.as_ref())?,
        _ => None,
    };
    Ok((least.unwrap_or(-1), own.or(parent).unwrap_or(-1)))
}

fn data(logic: &[Logic], at: usize, found: &[Found], waited_minutes: i64) -> Judged {
    let name = &logic[at].data;
    let Some(found) = found.iter().find(|found| found.name == *name) else {
        return Judged::Broken(Failure::new("E1028", format!("no input is called `{name}`")));
    };
    enough(&found.instances, limits(logic, at), waited_minutes)
}

fn combine(
    logic: &[Logic],
    at: usize,
    children: &[usize],
    found: &[Found],
    waited_minutes: i64,
) -> Judged {
    let mut slots: Vec<Option<String>> = Vec::new();
    for child in children {
        let name = &logic[*child].data;
        let Some(found) = found.iter().find(|found| found.name == *name) else {
            return Judged::Broken(Failure::new("E1028", format!("no input is called `{name}`")));
        };
        slots.resize(slots.len().max(found.instances.len()), None);
        for (slot, instance) in slots.iter_mut().zip(&found.instances) {
            if slot.is_none() {
                slot.clone_from(instance);
            }
        }
    }
    enough(&slots, limits(logic, at), waited_minutes)
}

fn enough(
    instances: &[Option<String>],
    limits: Result<(i64, i64), Failure>,
    waited_minutes: i64,
) -> Judged {
    let (least, wait) = match limits {
        Ok(limits) => limits,
        Err(failure) => return Judged::Broken(failure),
    };
    let there: Vec<String> = instances.iter().flatten().cloned().collect();
    if there.len() == instances.len() {
        return Judged::Met(there);
    }
    if wait > 0 && waited_minutes < wait {
        return Judged::Waiting;
    }
    match least >= 0 && there.len() as i64 >= least {
        true => Judged::Met(there),
        false => Judged::Unmet,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(kind: LogicKind, parent: Option<usize>, data: &str) -> Logic {
        let name = (kind != LogicKind::Data).then(|| "L".to_owned());
        Logic { kind, parent, name, data: data.to_owned(), min: None, wait: None }
    }

    fn found(name: &str, there: [bool; 2]) -> Found {
        let uri = |(at, there): (usize, &bool)| there.then(|| format!("{name}{at}"));
        Found { name: name.to_owned(), instances: there.iter().enumerate().map(uri).collect() }
    }

    #[track_caller]
    fn check(logic: &[Logic], found: &[Found], waited: i64, expected: Option<&[&str]>) {
        let given = satisfied(logic, found, waited).expect("a logic that can be judged");
        let uris =
            given.map(|names| names.into_iter().next().map(|data| data.uris).unwrap_or_default());
        let uris: Option<Vec<String>> = uris;
        assert_eq!(
            uris.as_deref()
                .map(|list| list.iter().map(String::as_str).collect::<Vec<_>>())
                .as_deref(),
            expected
        );
    }

    #[test]
    fn operators_take_what_they_want() {
        let [a, b] = ["a", "b"].map(|name| part(LogicKind::Data, Some(0), name));
        let both = |kind| vec![part(kind, None, ""), a.clone(), b.clone()];
        let (full, half) = (|name| found(name, [true; 2]), |name| found(name, [true, false]));
        check(&both(LogicKind::Or), &[half("a"), full("b")], 0, Some(&["b0", "b1"]));
        check(&both(LogicKind::And), &[half("a"), full("b")], 0, None);
        check(&both(LogicKind::And), &[full("a"), full("b")], 0, Some(&["b0", "b1", "a0", "a1"]));
        let other = found("b", [false, true]);
        check(&both(LogicKind::Combine), &[half("a"), other], 0, Some(&["a0", "b1"]));
    }

    #[test]
    fn a_part_that_waits_blocks_those_behind_it() {
        let mut logic = vec![
            part(LogicKind::Or, None, ""),
            part(LogicKind::Data, Some(0), "a"),
            part(LogicKind::Data, Some(0), "b"),
        ];
        logic[1].min = Some("1".to_owned());
        logic[1].wait = Some("5".to_owned());
        let inputs = || [found("a", [true, false]), found("b", [true; 2])];
        check(&logic, &inputs(), 4, None);
        check(&logic, &inputs(), 5, Some(&["a0"]));
        logic[1].wait = Some("soon".to_owned());
        assert!(satisfied(&logic, &inputs(), 5).is_err());
    }
}
