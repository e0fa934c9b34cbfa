//! Name nodes that are not the URI of a file system.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::Said;
use crate::lint::{Facts, Rule};
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-name-node",
        group: Group::Parameters,
        summary: "the address of a name node is not the URI of a file system",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/malformed-name-node.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(root) = facts.workflow() else { return };
    let mut seen: HashSet<String> = HashSet::new();
    for element in root.descendants().filter(|element| element.name() == "name-node") {
        let text = element.text().trimmed();
        let Some(said) = Said::of(facts, &text) else { continue };
        if !is_malformed(said.value) || !seen.insert(text.text.to_string()) {
            continue;
        }
        let message = format!("{} is not the URI of a file system", said.words());
        let finding = Diagnostic::new(&RULE.kind, text.span(), message)
            .about(text.text.as_ref())
            .likely()
            .help("write it as `hdfs://host:8020`");
        out.push(said.place(facts, finding, "it is used here"));
    }
}

fn is_malformed(value: &str) -> bool {
    // What an expression or a build fills in is not known.
    if value.is_empty() || value.contains(['$', '@', '#', '%', '{', '<']) {
        return false;
    }
    let Some((scheme, rest)) = value.split_once("://") else {
        // A name alone is one that a site's default file system may have.
        return value.contains(':') || value.contains("//");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    scheme.is_empty()
        || !scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        || port
            .is_some_and(|port| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()))
}
