//! Addresses of other services in definitions.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;
use std::collections::HashMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hardcoded-cluster-address",
        group: Group::Security,
        summary: "the address of a service of the cluster is hardcoded in the definition",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hardcoded-cluster-address.md"),
    },
    check,
};

/// Properties whose value is the address of a service.
const PROPERTIES: [&str; 6] = [
    "hive.metastore.uris",
    "hcat.metastore.uri",
    "yarn.resourcemanager.address",
    "mapred.job.tracker",
    "hbase.zookeeper.quorum",
    "hive.zookeeper.quorum",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut note = |text: &Decoded<'_>| {
        let word = text.text.trim();
        // A word without a port is the name of a logical service; a broken address has a finding of its own.
        let addressed = word.contains(':')
            && !super::malformed_uri::is_malformed(word)
            && !is_open(word)
            && !word.contains(['@', '#', '%', '{']);
        if addressed && !seen.contains_key(word) {
            seen.insert(word.to_owned(), text.span());
        }
    };
    let telling = ["job-tracker", "resource-manager", "jdbc-url", "configuration"];
    for element in facts.named(&telling) {
        match element.name() {
            "job-tracker" | "resource-manager" => note(&element.text().trimmed()),
            "jdbc-url" => {
                let text = element.text().trimmed();
                if text.text.starts_with("jdbc:") {
                    note(&text);
                }
            }
            "configuration" => {
                for property in facts.block(element) {
                    let named = PROPERTIES.contains(&property.name.text.as_ref());
                    if let Some(value) = property.value.as_ref().filter(|_| named) {
                        note(&value.trim());
                    }
                }
            }
            _ => {}
        }
    }
    // If all addresses are literal, that is deliberate; a single one among parameters was overlooked.
    let names = ["job-tracker", "resource-manager", "name-node", "jdbc-url"];
    let mixed =
        !seen.is_empty() && facts.named(&names).iter().any(|element| is_open(&element.text().text));
    for (word, span) in seen {
        let message = format!("the address `{word}` is hardcoded in the definition");
        let finding = Diagnostic::new(&RULE.kind, span, message).help("make it a parameter");
        out.push(match mixed && !word.contains("localhost") {
            true => finding,
            false => finding.at_most(Level::Info),
        });
    }
}
