//! Spark masters and modes that exclude each other.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{Said, USED_HERE};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "spark-mode-contradicts-master",
        group: Group::Actions,
        summary: "a mode that Spark refuses with this master",
        level: Level::Error,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/spark-mode-contradicts-master.md"),
    },
    check,
};

/// Returns the only mode that a master allows; `None` if it allows both.
pub(super) fn only_mode(master: &str) -> Option<&'static str> {
    match master {
        "yarn-cluster" => Some("cluster"),
        "yarn-client" => Some("client"),
        // `local-cluster[…]` is a cluster of its own, for tests.
        "local" => Some("client"),
        _ if master.starts_with("local[") && master.ends_with(']') => Some("client"),
        _ => None,
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "spark") {
        let (Some(master), Some(mode)) = (action.text("master"), action.text("mode")) else {
            continue;
        };
        let known = Said::of(facts, &master).zip(Said::of(facts, &mode));
        let Some((said_master, said)) = known else { continue };
        let Some(only) = only_mode(said_master.value) else { continue };
        if !["client", "cluster"].contains(&said.value) || said.value == only {
            continue;
        }
        let message = format!(
            "Spark refuses the mode `{}` with the master `{}`",
            said.value, said_master.value
        );
        let finding = Diagnostic::new(&RULE.kind, mode.span(), message)
            .note(master.span(), "the master")
            .help(match said_master.value.starts_with("local") {
                true => "write `client`, or a master with a cluster",
                false => "write the master `yarn`, with the mode that is meant",
            });
        out.push(said.place(facts, finding, USED_HERE));
    }
}
