//! Variables of scripts that nobody supplies.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hive-variable-in-script",
        group: Group::Actions,
        summary: "a script uses a variable that the action does not supply",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hive-variable-in-script.md"),
    },
    check,
};

/// Names of one script that are looked for in it.
const MOST_MISSING: usize = 200;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2"])) {
        let Some(text) = action.text("script").filter(|text| !is_open(&text.text)) else {
            continue;
        };
        let path = text.text.split('#').next().unwrap_or_default();
        let Some(path) = facts.beside(path) else { continue };
        let Some(source) = facts.files.text(&path) else { continue };
        let supplied: HashSet<String> = action
            .texts(&["param"])
            .filter_map(|text| text.text.split_once('=').map(|(name, _)| name.trim().to_owned()))
            .collect();
        if action.each("job-xml").next().is_some() || action.each("argument").next().is_some() {
            continue;
        }
        let mut missing: Vec<(&str, usize)> = Vec::new();
        let mut seen = HashSet::new();
        let lower = source.text.to_ascii_lowercase();
        for (at, _) in source.text.match_indices("${") {
            let Some(end) = source.text[at..].find('}') else { break };
            let name = &source.text[at + 2..at + end];
            let name = name.strip_prefix("hivevar:").unwrap_or(name);
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !plain || name.is_empty() || supplied.contains(name) || !seen.insert(name) {
                continue;
            }
            // Each of these reads the whole script; one who leaves out so many gives them elsewhere.
            if seen.len() > MOST_MISSING {
                break;
            }
            let set_here = lower.contains(&format!("set {}", name.to_ascii_lowercase()))
                || source.text.contains(&format!("hivevar:{name}="));
            if !set_here {
                missing.push((name, at));
            }
        }
        for (name, at) in missing {
            let span = crate::source::Span::new(at, at + 2);
            let message = format!("the script reads `{name}`, which no `param` supplies");
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .note_in(path.clone(), span, "read here")
                    .help(format!("add `<param>{name}=…</param>`")),
            );
        }
    }
}
