//! Parameters that a sub-workflow is not given.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, nearest};
use crate::lint::facts::{
    BUILT_IN, block, child_workflow, has_default as has_default_here, sibling, starts,
};
use crate::lint::reads::{self, How};
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::properties;
use crate::syntax::xml::Tree;
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "subworkflow-parameters-missing",
        group: Group::Actions,
        summary: "a sub-workflow asks for a parameter that this workflow does not pass on",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0738"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/subworkflow-parameters-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sub-workflow") {
        let propagates = action.each("propagate-configuration").next().is_some();
        let all = starts(facts);
        // What is handed on is known where everybody who starts this workflow is.
        if propagates && (all.is_empty() || !all.iter().all(|start| start.is_whole)) {
            continue;
        }
        let Some(element) = action.each("app-path").next() else { continue };
        let path = element.text().trimmed();
        let Some(child) = child_workflow(facts, &path) else { continue };
        let (tree, _) = Tree::parse_tolerantly(&child.text);
        let Some(root) = tree.root() else { continue };
        let declared = root.child("parameters").map(block).unwrap_or_default();
        let folder = crate::files::folder_of(&child.path);
        let defaults = crate::files::join(folder, "config-default.xml")
            .and_then(|path| facts.files.text(&path))
            .and_then(|source| properties::parse_configuration(&source.text).ok())
            .unwrap_or_default();
        let given: Vec<_> = facts.configuration(action).collect();
        let wanted =
            declared.iter().filter(|parameter| parameter.value.is_none()).map(|parameter| {
                (
                    parameter.name.text.to_string(),
                    parameter.name.span(),
                    "declared here, without a default",
                )
            });
        let reads = reads::of_element(root);
        let read = reads
            .iter()
            .filter(|read| read.how == How::Variable)
            .map(|read| (read.name.clone(), read.span, "read here"));
        let mut told = BTreeSet::new();
        for (name, span, words) in wanted.chain(read) {
            let name = name.as_str();
            let has_default = declared
                .iter()
                .any(|parameter| parameter.name.text == name && parameter.value.is_some());
            let near = nearest(name, given.iter().map(|property| property.name.text.as_ref()));
            // Read under a wrong name: the child is told of that.
            let slip = near.is_some_and(|near| reads.iter().any(|read| read.name == near));
            let handed = propagates
                && (has_default_here(facts, name) || all.iter().all(|start| start.gives(name)));
            let known = has_default
                || handed
                || slip
                || BUILT_IN.contains(&name)
                || given.iter().any(|property| property.name.text == name)
                || defaults.entries.iter().any(|entry| entry.name == name)
                || name.starts_with("oozie.");
            if known || name.is_empty() || !told.insert(name.to_owned()) {
                continue;
            }
            let message = format!("the sub-workflow needs `{name}`, and is not given it");
            let at = Span::at(element.span().end as usize);
            let added = sibling(facts, element, "<propagate-configuration/>");
            out.push(
                Diagnostic::new(&RULE.kind, path.span(), message)
                    .note_in(child.path.clone(), span, words)
                    .help(match (propagates, near) {
                        (true, Some(near)) => format!("it is given `{near}`"),
                        (true, None) => "pass it in the action's `configuration`".to_owned(),
                        (false, _) => {
                            "pass it in the action's `configuration`, or pass everything on"
                                .to_owned()
                        }
                    }),
            );
            if let Some(finding) = out.last_mut().filter(|_| !propagates) {
                finding.fixes.push(Fix::guess("Pass everything on", at, added));
            }
        }
    }
}
