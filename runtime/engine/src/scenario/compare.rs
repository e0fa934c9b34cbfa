//! Compares a scenario's expectations with the results of a run.

use super::{Expect, ExpectAction, Seen, SeenNode};

/// One expectation that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What was compared, as written in the scenario: `status`, `actions.load.retries`.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What the run showed.
    pub seen: String,
}

/// Returns every expectation that did not hold, in the order of the scenario.
pub fn compare(expect: &Expect, seen: &Seen) -> Vec<Difference> {
    let mut out = Differences(Vec::new());
    out.equal("status", expect.status.as_deref(), Some(&seen.status));
    match &seen.timed {
        Some(timed) => super::timed::compare(expect, timed, &mut out),
        None => nodes(expect, seen, &mut out),
    }
    out.contains("message", expect.message.as_deref(), seen.message.as_deref());
    for words in &expect.notifications {
        if !seen.notifications.iter().any(|url| url.contains(words)) {
            let sent = if seen.notifications.is_empty() {
                "none".to_owned()
            } else {
                seen.notifications.join(", ")
            };
            out.add("notifications", format!("one with `{words}`"), sent);
        }
    }
    for (file, text) in &expect.files {
        match seen.files.get(file) {
            None => out.add(format!("files.\"{file}\""), "is there", "is not there"),
            Some(found) if !text.is_empty() && found != text => {
                out.add(format!("files.\"{file}\""), format!("{text:?}"), format!("{found:?}"));
            }
            Some(_) => {}
        }
    }
    out.0
}

/// Compares what is expected of the nodes of a workflow.
fn nodes(expect: &Expect, seen: &Seen, out: &mut Differences) {
    path(expect, seen, out);
    order(expect, seen, out);
    parallel(expect, seen, out);
    for node in &expect.never {
        if let Some(seen) = seen.nodes.iter().find(|seen| seen.name == *node) {
            out.add(
                "never",
                format!("`{node}` does not run"),
                format!("it ran and ended {}", seen.status),
            );
        }
    }
    for (name, expected) in &expect.actions {
        // With reruns, there is one row per node and run; the last one is what the job shows.
        match seen.nodes.iter().rev().find(|node| node.name == *name) {
            Some(node) => action(name, expected, node, out),
            None => out.add(format!("actions.{name}"), "ran", "did not run"),
        }
    }
}

fn path(expect: &Expect, seen: &Seen, out: &mut Differences) {
    let Some(expected) = &expect.path else { return };
    let ran: Vec<&str> = seen
        .nodes
        .iter()
        .filter(|node| !node.node_type.starts_with(":FORK") && !node.node_type.starts_with(":JOIN"))
        .filter(|node| !node.node_type.starts_with(":START"))
        .map(|node| node.name.as_str())
        .collect();
    let all: Vec<&str> = seen.nodes.iter().map(|node| node.name.as_str()).collect();
    // Forks and joins only count if the scenario names one.
    let control = |name: &str| all.contains(&name) && !ran.contains(&name);
    let shown = if expected.iter().any(|name| control(name)) {
        all.iter()
            .copied()
            .filter(|name| ran.contains(name) || expected.iter().any(|e| e == name))
            .collect()
    } else {
        ran.clone()
    };
    if *expected != shown {
        out.add("path", expected.join(", "), shown.join(", "));
    }
}

fn order(expect: &Expect, seen: &Seen, out: &mut Differences) {
    for pair in expect.order.windows(2) {
        let find = |name: &str| seen.nodes.iter().find(|node| node.name == name);
        let what = || format!("`{}` begins after `{}` has ended", pair[1], pair[0]);
        match (find(&pair[0]), find(&pair[1])) {
            (Some(first), Some(second)) => {
                if first.ended_ms.is_none_or(|end| end > second.began_ms) {
                    out.add("order", what(), "they ran at the same time, or in the reverse order");
                }
            }
            (None, _) => out.add("order", what(), format!("`{}` did not run", pair[0])),
            (_, None) => out.add("order", what(), format!("`{}` did not run", pair[1])),
        }
    }
}

fn parallel(expect: &Expect, seen: &Seen, out: &mut Differences) {
    for group in &expect.parallel {
        let nodes: Vec<&SeenNode> = group
            .iter()
            .filter_map(|name| seen.nodes.iter().find(|node| node.name == *name))
            .collect();
        let what = format!("{} run at the same time", group.join(", "));
        if nodes.len() < group.len() {
            let missing = group.iter().find(|name| nodes.iter().all(|node| node.name != **name));
            out.add(
                "parallel",
                what,
                format!("`{}` did not run", missing.map_or("", String::as_str)),
            );
            continue;
        }
        let latest = nodes.iter().map(|node| node.began_ms).max().unwrap_or(0);
        if nodes.iter().any(|node| node.ended_ms.is_some_and(|end| end < latest)) {
            out.add("parallel", what, "one had ended before another began");
        }
    }
}

fn action(name: &str, expected: &ExpectAction, seen: &SeenNode, out: &mut Differences) {
    let what = |field: &str| format!("actions.{name}.{field}");
    let number = |count: u32| count.to_string();
    out.equal(what("status"), expected.status.as_deref(), Some(&seen.status));
    out.equal(
        what("retries"),
        expected.retries.map(number).as_deref(),
        Some(&number(seen.retries)),
    );
    let user_retries = expected.user_retries.map(number);
    out.equal(what("user-retries"), user_retries.as_deref(), Some(&number(seen.user_retries)));
    out.equal(what("code"), expected.code.as_deref(), seen.code.as_deref());
    out.contains(what("message"), expected.message.as_deref(), seen.message.as_deref());
    out.equal(what("transition"), expected.transition.as_deref(), seen.transition.as_deref());
    out.equal(
        what("external-status"),
        expected.external_status.as_deref(),
        seen.external_status.as_deref(),
    );
    for (key, value) in &expected.data {
        out.equal(
            what(&format!("data.{key}")),
            Some(value),
            seen.data.get(key).map(String::as_str),
        );
    }
    for (key, value) in &expected.configuration {
        let found = seen.configuration.get(key).map(String::as_str);
        out.equal(what(&format!("configuration.\"{key}\"")), Some(value), found);
    }
}

/// The expectations that did not hold so far.
pub(super) struct Differences(Vec<Difference>);

impl Differences {
    pub(super) fn add(
        &mut self,
        what: impl Into<String>,
        expected: impl Into<String>,
        seen: impl Into<String>,
    ) {
        self.0.push(Difference { what: what.into(), expected: expected.into(), seen: seen.into() });
    }

    pub(super) fn equal(
        &mut self,
        what: impl Into<String>,
        expected: Option<&str>,
        seen: Option<&str>,
    ) {
        if let Some(expected) = expected
            && seen != Some(expected)
        {
            self.add(what, expected, seen.unwrap_or("nothing"));
        }
    }

    pub(super) fn contains(
        &mut self,
        what: impl Into<String>,
        expected: Option<&str>,
        seen: Option<&str>,
    ) {
        if let Some(expected) = expected
            && !seen.unwrap_or_default().contains(expected)
        {
            self.add(what, format!("… {expected} …"), seen.unwrap_or("nothing"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, node_type: &str, began_ms: u64, ended_ms: u64) -> SeenNode {
        let ended_ms = Some(ended_ms);
        let (name, node_type, status) = (name.to_owned(), node_type.to_owned(), "OK".to_owned());
        SeenNode { name, node_type, status, began_ms, ended_ms, ..SeenNode::default() }
    }

    fn seen() -> Seen {
        let nodes = vec![
            node(":start:", ":START:", 0, 0),
            node("split", ":FORK:", 0, 0),
            node("a", "shell", 0, 50),
            node("b", "shell", 10, 20),
            node("meet", ":JOIN:", 50, 50),
            node("c", "fs", 50, 60),
            node("end", ":END:", 60, 60),
        ];
        Seen { status: "SUCCEEDED".to_owned(), nodes, ..Seen::default() }
    }

    #[track_caller]
    fn check(expect: Expect, expected: &[(&str, &str)]) {
        let differences = compare(&expect, &seen());
        let found: Vec<_> =
            differences.iter().map(|d| (d.what.as_str(), d.seen.as_str())).collect();
        assert_eq!(found, expected);
    }

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_path_leaves_forks_out_unless_it_names_one() {
        let path = |list: &[&str]| Expect { path: Some(names(list)), ..Expect::default() };
        check(path(&["a", "b", "c", "end"]), &[]);
        check(path(&["split", "a", "b", "c", "end"]), &[]);
        check(path(&["b", "a", "c", "end"]), &[("path", "a, b, c, end")]);
    }

    #[test]
    fn order_and_parallelism_are_about_time() {
        check(Expect { order: names(&["b", "c"]), ..Expect::default() }, &[]);
        let expect = Expect { order: names(&["a", "b"]), ..Expect::default() };
        check(expect, &[("order", "they ran at the same time, or in the reverse order")]);
        check(Expect { parallel: vec![names(&["a", "b"])], ..Expect::default() }, &[]);
        let expect = Expect { parallel: vec![names(&["b", "c"])], ..Expect::default() };
        check(expect, &[("parallel", "one had ended before another began")]);
    }

    #[test]
    fn what_is_not_said_is_not_compared() {
        check(Expect::default(), &[]);
        let expect =
            Expect { status: Some("KILLED".to_owned()), never: names(&["c"]), ..Expect::default() };
        check(expect, &[("status", "SUCCEEDED"), ("never", "it ran and ended OK")]);
    }
}
