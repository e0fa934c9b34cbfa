//! Addresses of name nodes in definitions.

use crate::diag::{Diagnostic, Group, Kind, Level, is_mistyped};
use crate::lint::paths::literal_authorities;
use crate::lint::{Facts, Rule};
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hardcoded-name-node",
        group: Group::Security,
        summary: "the address of a name node is hardcoded in the definition",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hardcoded-name-node.md"),
    },
    check,
};

/// Elements whose text is for human readers.
const WORDS: [&str; 4] = ["message", "description", "body", "subject"];

/// Maximum number of name nodes that are compared with one another.
const MOST_COMPARED: usize = 64;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen: BTreeMap<String, Vec<crate::source::Span>> = BTreeMap::new();
    for (element, text) in facts.texts() {
        // The default of a parameter can be overridden without changing the definition.
        let default = {
            let property = element.parent();
            property
                .and_then(|property| property.parent())
                .is_some_and(|list| list.name() == "parameters")
        };
        if WORDS.contains(&element.name()) || default {
            continue;
        }
        for (range, authority) in
            literal_authorities(&text.text, &["hdfs", "webhdfs", "hftp", "viewfs"])
        {
            seen.entry(authority.to_owned()).or_default().push(text.source(range));
        }
    }
    // A misspelled host is a finding of its own. Definitions have few hosts.
    let slips: Vec<String> = seen
        .iter()
        .take(if seen.len() > MOST_COMPARED { 0 } else { MOST_COMPARED })
        .filter(|(authority, spans)| {
            let is_near = |(other, places): (&String, &Vec<crate::source::Span>)| {
                (places.len() > 1 || places[0] < spans[0]) && is_mistyped(authority, other)
            };
            spans.len() == 1 && seen.iter().any(is_near)
        })
        .map(|(authority, _)| authority.clone())
        .collect();
    seen.retain(|authority, _| !slips.contains(authority));
    // If all addresses are literal, that is deliberate; a single one among parameters was overlooked.
    let is_parameter = |text: &str| text.starts_with("${");
    let mixed = facts.texts().iter().any(|(element, text)| {
        element.name() == "name-node" && is_parameter(text.text.trim())
            || is_parameter(&text.text) && text.text.contains("}/")
    });
    for (authority, spans) in seen {
        let message = match spans.len() {
            1 => {
                format!("the address of the name node `{authority}` is hardcoded in the definition")
            }
            n => format!(
                "the address of the name node `{authority}` is hardcoded in the definition {n} times"
            ),
        };
        let finding = Diagnostic::new(&RULE.kind, spans[0], message)
            .help("make it a parameter, such as `${nameNode}`");
        out.push(if mixed { finding } else { finding.at_most(Level::Info) });
    }
}
