//! Creates fixes that remove forks with a single path.
//!
//! Takes a workflow and the findings of the schema, and adds a fix for each fork with one path, if that certainly
//! leaves the rest of the graph as it is: transitions to the fork go to its path, those to its join go to the node
//! after it, and both are removed.

use crate::diag::{Diagnostic, Edit, Fix, Safety};
use crate::ir::workflow::{NodeId, Shape, TransitionId, Way, Workflow};
use crate::passes::flow::Flow;
use crate::passes::names::Names;
use crate::source::{Span, removal};
use std::collections::{HashMap, HashSet};

/// Maximum number of nodes visited in all; after that no more fixes are created.
const PATIENCE: usize = 1_000_000;

/// Adds the fix to findings of `kind` that are located at forks.
pub(crate) fn mend(flow: Flow<'_>, kind: &str, findings: &mut [Diagnostic]) {
    let Flow { workflow, names, .. } = flow;
    if findings.iter().all(|finding| finding.kind.name != kind) {
        return;
    }
    let forks = workflow.nodes().filter(|(_, node)| node.shape == Shape::Fork);
    let forks: HashMap<Span, NodeId> = forks.map(|(id, node)| (node.tag, id)).collect();
    let mut into: Vec<Vec<TransitionId>> = vec![Vec::new(); workflow.nodes.len()];
    for exit in workflow.transitions() {
        if let Some(target) = names.target(exit) {
            into[target.index()].push(exit.id);
        }
    }
    let mut patience = PATIENCE;
    for finding in findings.iter_mut().filter(|finding| finding.kind.name == kind) {
        let fork = forks.get(&finding.span);
        let fix = fork.and_then(|id| fix(workflow, names, &into, *id, &mut patience));
        finding.fixes.extend(fix);
    }
}

fn fix(
    workflow: &Workflow,
    names: &Names,
    into: &[Vec<TransitionId>],
    fork: NodeId,
    patience: &mut usize,
) -> Option<Fix> {
    let [path] = workflow.exits(fork) else { return None };
    // The nodes between the fork and its join; if they include another fork or join, no fix is offered.
    let first = names.target(path)?;
    let mut seen = HashSet::from([first]);
    let mut open = vec![first];
    let mut join = None;
    while let Some(at) = open.pop() {
        *patience = patience.checked_sub(1)?;
        match workflow.node(at).shape {
            Shape::Fork => return None,
            Shape::Join if join.is_some_and(|join| join != at) => return None,
            Shape::Join => join = Some(at),
            _ => {
                for exit in workflow.exits(at) {
                    let to = names.target(exit)?;
                    // An error handler may be outside.
                    if exit.way != Way::Error && seen.insert(to) {
                        open.push(to);
                    }
                }
            }
        }
    }
    let join = join?;
    let behind = &workflow.exits(join).first()?.target.text;
    let into =
        |node: NodeId| into[node.index()].iter().map(|exit| &workflow.transitions[exit.index()]);
    if into(join).any(|exit| exit.from != fork && !seen.contains(&exit.from)) {
        return None;
    }
    let target = if first == join { behind } else { &path.target.text };
    let mut edits = Vec::new();
    for (node, text) in [(fork, target), (join, behind)] {
        for exit in into(node).filter(|exit| exit.from != fork && exit.from != join) {
            edits.push(Edit { file: None, span: exit.target.span, text: text.to_string() });
        }
        let whole = removal(&workflow.text, workflow.node(node).span);
        edits.push(Edit { file: None, span: whole, text: String::new() });
    }
    edits.sort_by_key(|edit| edit.span);
    let apart = edits.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start);
    let title = "Remove the fork and its join".to_owned();
    apart.then_some(Fix { title, safety: Safety::Guess, edits })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Analysis;
    use crate::schema::Language;
    use crate::schema::kinds::FORK_SINGLE_PATH;
    use crate::schema::validate::{self, Document};
    use crate::source::Source;

    #[test]
    fn the_fork_and_its_join_go() {
        let text = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>
  <start to='f'/>
  <fork name='f'>
    <path start='a'/>
  </fork>
  <action name='a'><fs/><ok to='j'/><error to='k'/></action>
  <join name='j' to='e'/>
  <kill name='k'><message>x</message></kill>
  <end name='e'/>
</workflow-app>";
        let analysis = Analysis::new(Source::new("workflow.xml", text).into());
        let language = Language::default();
        let mut findings = validate::check(analysis.tree(), Document::Workflow, &language, "5.2.1");
        mend(analysis.flow(), FORK_SINGLE_PATH.name, &mut findings);
        let fix = &findings[0].fixes[0];
        let mut after = text.to_owned();
        for edit in fix.edits.iter().rev() {
            after.replace_range(edit.span.range(), &edit.text);
        }
        let expected = "<workflow-app xmlns='uri:oozie:workflow:0.5' name='w'>
  <start to='a'/>
  <action name='a'><fs/><ok to='e'/><error to='k'/></action>
  <kill name='k'><message>x</message></kill>
  <end name='e'/>
</workflow-app>";
        assert_eq!(after, expected);
    }
}
