//! Actions that delete what runs beside them.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::graph::Graph;
use crate::lint::paths::behind_file_system;
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "prepare-deletes-sibling-output",
        group: Group::Actions,
        summary: "`prepare` deletes what another path of the fork writes",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/prepare-deletes-sibling-output.md"),
    },
    check,
};

const OUTPUTS: [&str; 2] = ["mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let graph = Graph::of(facts);
    let action = |index: usize| {
        facts.actions.iter().find(|action| action.element == graph.nodes[index].element)
    };
    for fork in graph.nodes.iter().filter(|node| node.kind == "fork" && node.reachable) {
        let branches = graph.branches(fork);
        for (at, branch) in branches.iter().enumerate() {
            for deletes in branch.iter().filter_map(|index| action(*index)) {
                let Some(prepare) = deletes.body.child("prepare") else { continue };
                let paths = prepare.elements().filter(|element| element.name() == "delete");
                for path in paths.filter_map(|element| element.attribute("path")) {
                    let value = path.value();
                    let deleted = behind_file_system(&value.text);
                    let others = branches.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.flat_map(|(_, branch)| branch);
                    let others = others
                        .filter(|index| !branch.contains(index))
                        .filter_map(|index| action(*index));
                    let hit = others
                        .flat_map(|other| {
                            OUTPUTS.iter().filter_map(move |name| other.property(name))
                        })
                        .find(|output| {
                            let rest = behind_file_system(&output.text).strip_prefix(deleted);
                            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                        });
                    let Some(output) = hit.filter(|_| !deleted.is_empty()) else { continue };
                    out.push(
                        Diagnostic::new(
                            &RULE.kind,
                            path.value_span(),
                            "this deletes what another path of the fork writes",
                        )
                        .note(output.span(), "this is written at the same time")
                        .help("delete only what this action writes"),
                    );
                }
            }
        }
    }
}
