//! Malformed URLs of HiveServer2.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::facts::{Said, USED_HERE, block};
use crate::lint::paths::is_port;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hive2-jdbc-url",
        group: Group::Actions,
        summary: "the URL of a hive2 action is not one of HiveServer2",
        level: Level::Error,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hive2-jdbc-url.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let actions = facts.actions.iter().filter(|action| action.kind() == "hive2");
    let urls = actions.filter_map(|action| action.text("jdbc-url"));
    // A credential contains the URL as well.
    let credentials = facts.tree.root().filter(|_| facts.workflow().is_some());
    let credentials = credentials.and_then(|root| root.child("credentials"));
    let credentials = credentials.into_iter().flat_map(|all| all.elements());
    let of_credentials = credentials.flat_map(block).filter_map(|property| {
        let value = property.value.filter(|_| property.name.text == "hive2.jdbc.url")?;
        Some(value.trimmed()).filter(|text| !text.text.is_empty())
    });
    for text in urls.chain(of_credentials) {
        for said in Said::all(facts, &text) {
            judge(facts, &text, &said, out);
        }
    }
}

fn judge(facts: &Facts<'_>, text: &Decoded<'_>, said: &Said<'_>, out: &mut Vec<Diagnostic>) {
    // A value that a build fills in is unknown.
    if said.value.contains("${") || said.value.contains(['@', '#', '%', '{']) {
        return;
    }
    // A list of hosts, each with its port, belongs to a cluster with service discovery.
    let hosts = said.value.strip_prefix("jdbc:hive2://");
    let hosts = hosts.map(|rest| rest.split(['/', ';', '?']).next().unwrap_or_default());
    let port = hosts.into_iter().flat_map(|hosts| hosts.split(',')).find_map(|host| {
        // If a host has two ports, the text between them is not a port.
        let (_, port) = match host.matches(':').count() == 2 && !host.contains('[') {
            true => host.split_once(':')?,
            false => host.rsplit_once(':')?,
        };
        (!is_port(port) && !host.ends_with(']')).then_some(port)
    });
    if hosts.is_some() && port.is_none() {
        return;
    }
    let message = if let Some(port) = port {
        format!("the port of {} is not a number below 65536: `{port}`", said.words())
    } else if said.value.is_empty() {
        "the action has no URL to connect to".to_owned()
    } else {
        format!("{} is not a `jdbc:hive2://` URL", said.words())
    };
    let finding = Diagnostic::new(&RULE.kind, text.span(), message)
        .help("write `jdbc:hive2://host:10000/database`");
    out.push(said.place(facts, finding, USED_HERE));
}
