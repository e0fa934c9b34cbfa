//! Credentials that the server cannot obtain.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, nearest};
use crate::lint::facts::block;
use crate::lint::{Facts, Rule};
use crate::syntax::xml::Element;
use foldhash::HashSet;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "credential-incomplete",
        group: Group::Parameters,
        summary: "a credential that lacks properties of its type, or whose properties fit another type",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &["E0510"],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/credential-incomplete.md"),
    },
    check,
};

/// The built-in credential types, and the properties that their providers require: one name of each list.
const NEEDS: [(&str, &[&[&str]]); 2] = [
    (
        "hcat",
        &[
            &["hcat.metastore.principal", "hive.metastore.kerberos.principal"],
            &["hcat.metastore.uri", "hive.metastore.uris"],
        ],
    ),
    ("hive2", &[&["hive2.jdbc.url"], &["hive2.server.principal"]]),
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let section = facts.workflow().and_then(|root| root.child("credentials"));
    let skipped = facts.submission.get("oozie.credentials.skip") == Some("true");
    let all = section.into_iter().flat_map(Element::elements);
    // Credentials that no action uses are never obtained.
    let asked: HashSet<String> = facts
        .actions
        .iter()
        .filter_map(|action| action.element.attribute("cred"))
        .flat_map(|names| names.value().text.split(',').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    for credential in all.filter(|element| element.is("credential") && !skipped) {
        let name = credential.attribute("name").map(|name| name.value().text.into_owned());
        if name.is_none_or(|name| !asked.contains(name.trim())) {
            continue;
        }
        let Some(attribute) = credential.attribute("type") else { continue };
        let kind = attribute.value();
        let given = block(credential);
        let names = || given.iter().map(|property| property.name.text.as_ref());
        let Some((_, needs)) = NEEDS.iter().find(|(known, _)| *known == kind.text.trim()) else {
            // A custom type of the site has its own properties.
            let fits = |(_, needs): &&(&str, &[&[&str]])| {
                needs.iter().all(|either| names().any(|name| either.contains(&name)))
            };
            if let Some((known, _)) = NEEDS.iter().find(fits) {
                let message = format!("`{}` is not a type that Oozie comes with", kind.text);
                let span = attribute.value_span();
                out.push(
                    Diagnostic::new(&RULE.kind, span, message)
                        .likely()
                        .help(format!("these are the properties of `{known}`"))
                        .fix(Fix::guess(format!("Write `{known}`"), span, *known)),
                );
            }
            continue;
        };
        let lacking: Vec<&[&str]> = needs
            .iter()
            .copied()
            .filter(|either| !names().any(|name| either.contains(&name)))
            .collect();
        if lacking.is_empty() {
            continue;
        }
        let wanted: Vec<String> =
            lacking.iter().map(|either| format!("`{}`", either.join("` or `"))).collect();
        let message =
            format!("a credential of type `{}` needs {}", kind.text, wanted.join(" and "));
        // If a name is misspelled, that is where the finding goes.
        let slip = given.iter().find_map(|property| {
            let name = property.name.text.as_ref();
            let is_other = needs.iter().any(|other| other.contains(&name));
            let near = nearest(name, lacking.iter().copied().flatten().copied());
            Some((property.name.span(), near.filter(|_| !is_other)?))
        });
        out.push(match slip {
            Some((span, near)) => Diagnostic::new(&RULE.kind, span, message)
                .did_you_mean(near)
                .fix(Fix::guess(format!("Rename to `{near}`"), span, near)),
            None => Diagnostic::new(&RULE.kind, credential.name_span(), message),
        });
    }
}
