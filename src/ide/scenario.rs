//! Finds the names of nodes in scenarios, which a rename has to change.
//!
//! A scenario is TOML that is being typed, so it is scanned line by line, and anything not understood is ignored.

use super::Snapshot;
use super::document::{Document, Kind};
use crate::files::{folder_of, join};
use crate::source::Span;

/// A word with its span.
type Word<'t> = (&'t str, Span);

/// The names of nodes, in source order.
pub(super) fn nodes(text: &str) -> Vec<Word<'_>> {
    let mut found: Vec<Word<'_>> = Vec::new();
    let mut table: Vec<&str> = Vec::new();
    // Number of open brackets of a list that continues on the next line.
    let mut depth = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let code = line.trim_end();
        if depth > 0 {
            depth += brackets(code);
            found.extend(strings(code, start));
            continue;
        }
        let trimmed = code.trim_start();
        let indent = code.len() - trimmed.len();
        if trimmed.starts_with('[') {
            let open = trimmed.len() - trimmed.trim_start_matches('[').len();
            let inner = trimmed[open..].split(']').next().unwrap_or_default();
            let parts = parts(inner, start + indent + open);
            table = parts.iter().map(|(part, _)| *part).collect();
            match table.as_slice() {
                ["actions", _, ..] => found.push(parts[1]),
                ["expect", "actions", _, ..] => found.push(parts[2]),
                _ => {}
            }
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        let keys = parts(key, start + indent);
        let Some(first) = keys.first().copied() else { continue };
        let value_at = start + indent + key.len() + 1;
        match (table.as_slice(), first.0) {
            (["actions"] | ["expect", "actions"], _) => found.push(first),
            (["expect"], "path" | "order" | "parallel" | "never") => {
                depth = brackets(value).max(0);
                found.extend(strings(value, value_at));
            }
            (["then"], "when") => {
                let word = strings(value, value_at).next().map(|(text, span)| {
                    let name = text.split(' ').next().unwrap_or_default();
                    (name, Span { end: span.start + name.len() as u32, ..span })
                });
                found.extend(word.filter(|(name, _)| *name != "job"));
            }
            (["expect", "actions", _], "transition") => found.extend(strings(value, value_at)),
            _ => {}
        }
    }
    found
}

/// The number of opening minus closing brackets in a line.
fn brackets(line: &str) -> i32 {
    let of = |bracket| line.matches(bracket).count() as i32;
    of('[') - of(']')
}

/// The quoted strings.
fn strings(line: &str, at: usize) -> impl Iterator<Item = Word<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let open = from + line[from..].find(['"', '\''])?;
        let quote = line.as_bytes()[open] as char;
        let length = line[open + 1..].find(quote)?;
        from = open + length + 2;
        let text = &line[open + 1..open + 1 + length];
        Some((text, Span::new(at + open + 1, at + open + 1 + length)))
    })
}

/// The parts of a dotted key, without their quotes.
fn parts(key: &str, at: usize) -> Vec<Word<'_>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut quote = None;
    for (end, c) in key.char_indices().chain([(key.len(), '.')]) {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '.') => {
                let part = &key[start..end];
                let inner = part.trim().trim_matches(['"', '\'']);
                let lead = part.find(inner).unwrap_or(0);
                let from = at + start + lead;
                if !inner.is_empty() {
                    parts.push((inner, Span::new(from, from + inner.len())));
                }
                start = end + 1;
            }
            _ => {}
        }
    }
    parts
}

/// The path of the tested definition, if it is a workflow.
pub(super) fn workflow(snapshot: &Snapshot, scenario: &Document) -> Option<String> {
    let path = definition(snapshot, scenario)?;
    Some(path)
        .filter(|path| snapshot.document(path).is_some_and(|found| found.kind() == Kind::Workflow))
}

/// The path of the definition that a scenario tests, if it is known.
pub(super) fn definition(snapshot: &Snapshot, scenario: &Document) -> Option<String> {
    let top = scenario.text().lines().take_while(|line| !line.trim_start().starts_with('['));
    let mut keys = top.filter_map(|line| line.split_once('='));
    let (_, value) = keys.find(|(key, _)| key.trim() == "app")?;
    let (app, _) = strings(value, 0).next()?;
    let path = join(folder_of(scenario.path()), app)?;
    let inner = ["workflow.xml", "coordinator.xml", "bundle.xml"];
    let mut known = inner.iter().filter_map(|name| join(&path, name)).chain([path.clone()]);
    let kinds = [Kind::Workflow, Kind::Coordinator, Kind::Bundle];
    known.find(|path| snapshot.document(path).is_some_and(|found| kinds.contains(&found.kind())))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn every_place_of_a_node_is_known() {
        let text = "app = '..'\n[actions.a]\nresult = \"ok\"\n[actions]\nb = { result = 'ok' }\n[[then]]\nwhen = \"c RUNNING\"\n[expect]\nstatus = 'KILLED'\npath = [\n  \"d\", # first\n  'e' ]\nparallel = [[\"f\", \"g\"]]\n[expect.actions.\"h.i\"]\ntransition = 'j'\n";
        let found: Vec<&str> = nodes(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(found, ["a", "b", "c", "d", "e", "f", "g", "h.i", "j"]);
        for (name, span) in nodes(text) {
            assert_eq!(&text[span.range()], name);
        }
    }

    #[test]
    fn a_rename_reaches_the_scenarios() {
        let workflow = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'><start to='e|'/><end name='e'/></workflow-app>";
        let scenario = "app = \"..\"\n[expect]\npath = [\"e\"]\n";
        let files = [("app/workflow.xml", workflow), ("app/scenarios/a.scenario.toml", scenario)];
        let (snapshot, path, offset) = testing::files(&files);
        let edits = snapshot.rename(&path, offset, "end").unwrap();
        let edited = crate::edit::apply(scenario, &edits["app/scenarios/a.scenario.toml"]);
        assert_eq!(edited.unwrap(), scenario.replace("\"e\"", "\"end\""));
        let at = scenario.find("\"e\"").unwrap() as u32 + 1;
        let places = snapshot.definition("app/scenarios/a.scenario.toml", at);
        assert_eq!(places[0].path, "app/workflow.xml");
    }
}
