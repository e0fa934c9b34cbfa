//! Workflows that start themselves.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files;
use crate::lint::facts::child_workflow;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::{Element, Tree};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-cycle",
        group: Group::Graph,
        summary: "a workflow that starts itself",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/subworkflow-cycle.md"),
    },
    check,
};

/// The server refuses a sub-workflow that many levels deep.
const DEPTH: u32 = 50;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["sub-workflow"])) {
        let Some(path) = action.text("app-path") else { continue };
        let Some(child) = child_workflow(facts, &path) else { continue };
        let mut seen: Vec<&str> = vec![&child.path];
        let mut todo = vec![child];
        let mut found = child.path == facts.path;
        while let Some(source) = todo.pop().filter(|_| !found) {
            let (tree, _) = Tree::parse(&source.text);
            let elements = tree.root().into_iter().flat_map(Element::descendants);
            for path in elements.filter(|element| element.name() == "app-path") {
                let path = path.text().trimmed();
                let Some(below) = path.text.strip_prefix("${wf:appPath()}") else { continue };
                let below = below.trim_start_matches('/');
                let Some(found) = files::join(files::folder_of(&source.path), below) else {
                    continue;
                };
                let found = if found.ends_with(".xml") {
                    facts.files.text(&found)
                } else {
                    files::join(&found, "workflow.xml").and_then(|path| facts.files.text(&path))
                };
                if let Some(next) = found.filter(|next| !seen.contains(&next.path.as_str())) {
                    seen.push(&next.path);
                    todo.push(next);
                }
            }
            found = seen.contains(&facts.path);
        }
        if found {
            let message = if child.path == facts.path {
                "this workflow starts itself".to_owned()
            } else {
                format!("`{}`, which is started here, starts this workflow again", child.path)
            };
            out.push(Diagnostic::new(&RULE.kind, path.span(), message).help(format!(
                "see that a decision ends it: the server refuses a sub-workflow {DEPTH} levels deep"
            )));
        }
    }
}
