//! Credentials from Kerberos.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "kerberos-credential",
        group: Group::Migration,
        summary: "credentials that the server obtains with Kerberos",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/kerberos-credential.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let Some(section) = facts.workflow().and_then(|root| root.child("credentials")) else { return };
    for credential in section.elements().filter(|element| element.is("credential")) {
        let kind = credential.attribute("type").map(|kind| kind.value().text.into_owned());
        let message = match kind {
            Some(kind) => format!("the server obtains this `{kind}` credential with Kerberos"),
            None => "the server obtains this credential with Kerberos".to_owned(),
        };
        out.push(
            Diagnostic::new(&RULE.kind, credential.name_span(), message)
                .help("the target needs a secret or a connection in its place"),
        );
    }
}
