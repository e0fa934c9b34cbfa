//! DistCp actions without a source or a target.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "distcp-missing-endpoints",
        group: Group::Actions,
        summary: "a copy without a source or a target",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/distcp-missing-endpoints.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "distcp") {
        let words: Vec<String> =
            action.texts(&["arg"]).map(|text| text.text.into_owned()).collect();
        let mut endpoints = 0;
        let mut skip = false;
        let mut listed = false;
        // Options of distcp that take a value of their own.
        let valued = [
            "-m",
            "-bandwidth",
            "-log",
            "-strategy",
            "-filters",
            "-numListstatusThreads",
            "-copybuffersize",
        ];
        for word in &words {
            let option = word.starts_with('-');
            listed |= word == "-f";
            if !option && !skip {
                endpoints += 1;
            }
            skip = valued.contains(&word.as_str());
        }
        if listed || endpoints >= 2 {
            continue;
        }
        let message = match endpoints {
            0 => "the copy has neither a source nor a target",
            _ => "the copy has no target",
        };
        out.push(
            Diagnostic::new(&RULE.kind, action.body.name_span(), message)
                .help("give the source and the target one `arg` element each"),
        );
    }
}
