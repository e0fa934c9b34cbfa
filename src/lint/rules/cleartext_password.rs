//! Secrets in plain text.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::secrets::{Given, Place, secrets};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "cleartext-password",
        group: Group::Security,
        summary: "a secret in clear text in a definition or its properties",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/cleartext-password.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for secret in secrets(facts).iter().filter(|secret| secret.given == Given::Literal) {
        let message = match &secret.place {
            Place::Named(name) => format!("the value of `{name}` is a secret in clear text"),
            Place::Option(option) => format!("the secret after `{option}` is in clear text"),
            Place::Url => "the URL contains a password in clear text".to_owned(),
        };
        let file = match &secret.file {
            Some(file) => facts.files.text(file).map(|source| source.text.as_str()),
            None => Some(facts.tree.text()),
        };
        // The same secret in several places is one finding. Its hash is the subject, because no report may contain the
        // secret itself.
        let value = file.and_then(|text| text.get(secret.span.range())).unwrap_or_default();
        let mut hasher = std::hash::DefaultHasher::new();
        std::hash::Hash::hash(value, &mut hasher);
        let subject = format!("{message} {:x}", std::hash::Hasher::finish(&hasher));
        let finding = Diagnostic::new(&RULE.kind, secret.span, message)
            .about(subject)
            .help("keep it in a credential store or a protected file, and name that file here");
        out.push(match &secret.file {
            Some(file) => finding.in_file(file.clone()),
            None => finding,
        });
    }
}
