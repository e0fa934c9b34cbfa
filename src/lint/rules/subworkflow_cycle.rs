//! Workflows that start themselves.

use crate::budget;
use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files;
use crate::lint::facts::child_workflow;
use crate::lint::{Facts, Rule};
use crate::source::Source;
use crate::syntax::xml::{Element, Tree};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-cycle",
        group: Group::Graph,
        summary: "a workflow that starts itself as a sub-workflow",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/subworkflow-cycle.md"),
    },
    check,
};

/// The server refuses a sub-workflow at this nesting level.
const DEPTH: u32 = 50;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    // By path, whether a definition leads back here; `starts` caches which definitions each of them starts.
    let mut known: HashMap<&str, bool> = HashMap::new();
    let mut starts: HashMap<&str, Vec<&Arc<Source>>> = HashMap::new();
    for action in facts.actions.iter().filter(|action| action.is(&["sub-workflow"])) {
        let Some(path) = action.text("app-path") else { continue };
        let Some(child) = child_workflow(facts, &path) else { continue };
        if budget::spent_often() {
            return;
        }
        let found = *known.entry(&child.path).or_insert_with(|| {
            let mut seen: HashSet<&str> = HashSet::from([child.path.as_str()]);
            let mut todo = vec![child];
            while let Some(source) = todo.pop() {
                if source.path == facts.path {
                    return true;
                }
                let starts = starts.entry(&source.path).or_insert_with(|| starts_of(facts, source));
                for next in starts.iter() {
                    if seen.insert(&next.path) {
                        todo.push(next);
                    }
                }
            }
            false
        });
        if found {
            let message = if child.path == facts.path {
                "this workflow starts itself".to_owned()
            } else {
                format!("`{}`, which is started here, starts this workflow again", child.path)
            };
            out.push(Diagnostic::new(&RULE.kind, path.span(), message).help(format!(
                "make sure that a decision ends this: the server refuses a sub-workflow {DEPTH} levels deep"
            )));
        }
    }
}

/// Returns the available definitions that a definition starts by a path relative to its own folder.
fn starts_of<'a>(facts: &Facts<'a>, source: &Source) -> Vec<&'a Arc<Source>> {
    let (tree, _) = Tree::parse(&source.text);
    let elements = tree.root().into_iter().flat_map(Element::descendants);
    let paths = elements.filter(|element| element.is("app-path")).filter_map(|path| {
        let path = path.text().trimmed();
        let below = path.text.strip_prefix("${wf:appPath()}")?.trim_start_matches('/');
        let found = files::join(files::folder_of(&source.path), below)?;
        match found.ends_with(".xml") {
            true => facts.files.text(&found),
            false => facts.files.text(&files::join(&found, "workflow.xml")?),
        }
    });
    paths.collect()
}
