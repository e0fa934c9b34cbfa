//! Credentials of actions: resolves the names in `cred` as a server does (`reference` of the language, 10.1).
//!
//! A server fetches tokens with them. Ankus does not: a program authenticates as this machine does, with the existing
//! tickets. The properties of a credential are still added to the configuration of the program, and a name or type that
//! a server would refuse is refused.

use std::collections::BTreeMap;

use super::command::Refusal;
use ankus_lang::machine::Class;
use ankus_lang::plan::Credential;

/// The built-in types of a server, with the properties that each requires, alternatives grouped.
const TYPES: [(&str, &[&[&str]]); 4] = [
    (
        "hcat",
        &[
            &["hcat.metastore.principal", "hive.metastore.kerberos.principal"],
            &["hcat.metastore.uri", "hive.metastore.uris"],
        ],
    ),
    ("hive2", &[&["hive2.jdbc.url"], &["hive2.server.principal"]]),
    ("hbase", &[]),
    ("filesystem", &[&["filesystem.path"]]),
];

/// The note about a credential that was resolved.
const NO_TOKEN: &str = "no token is fetched, and the program authenticates as this machine does";
/// The property that disables all credentials.
const SKIP: &str = "oozie.credentials.skip";

/// The credentials that an action asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// Its attribute `cred`.
    pub names: Option<&'a str>,
    /// The credentials of its workflow.
    pub section: &'a [Credential],
}

/// The resolved credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Properties for the configuration of the action.
    pub properties: Vec<(String, String)>,
    /// Notes for the log of the action.
    pub notes: Vec<String>,
}

/// Resolves the credentials of an action. `switches` are its configuration, the job's and the server's: the first one
/// that sets `oozie.credentials.skip` counts.
pub fn find(
    asked: Asked<'_>,
    switches: &[&BTreeMap<String, String>],
    evaluate: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Found, Refusal> {
    let mut found = Found::default();
    let Some(names) = asked.names.filter(|names| !names.is_empty()) else { return Ok(found) };
    let skip = switches.iter().find_map(|properties| properties.get(SKIP));
    if skip.is_some_and(|value| value.trim().eq_ignore_ascii_case("true")) {
        found.notes.push(format!("cred=\"{names}\" without effect: {SKIP} is set"));
        return Ok(found);
    }
    if asked.section.is_empty() {
        let why = "the workflow has no <credentials>, so a server ignores it";
        found.notes.push(format!("cred=\"{names}\" without effect: {why}"));
        return Ok(found);
    }
    let refused = |code: &str, message: String| Refusal::new(Class::Error, code, message);
    for name in names.split(',') {
        // The last one of a name counts.
        let named = asked.section.iter().rev().find(|it| it.name.eq_ignore_ascii_case(name));
        let Some(credential) = named else {
            return Err(refused("JA021", format!("Could not load credentials with name [{name}]")));
        };
        let kind = credential.kind.as_str();
        let Some((_, needed)) = TYPES.iter().find(|(known, _)| *known == kind) else {
            let known: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
            let message = format!(
                "Could not load credentials of type [{kind}] with name [{name}]: the types are {}",
                known.join(", ")
            );
            return Err(refused("JA020", message));
        };
        let mut own = BTreeMap::new();
        for (property, value) in &credential.properties {
            let value = evaluate(value.trim()).map_err(|why| {
                refused("JA020", format!("the credential [{name}] cannot be evaluated: {why}"))
            })?;
            own.insert(property.clone(), value.trim().to_owned());
        }
        for alternatives in *needed {
            if !alternatives.iter().any(|key| own.get(*key).is_some_and(|value| !value.is_empty()))
            {
                let message = format!(
                    "E0510: the credential [{name}] of type [{kind}] has no property {}",
                    alternatives.join(" or ")
                );
                return Err(refused("CredentialException", message));
            }
        }
        found.properties.extend(own);
        found.notes.push(format!("credential {name} ({kind}): {NO_TOKEN}"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &str, kind: &str, properties: &[(&str, &str)]) -> Result<Found, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let section = [Credential {
            name: "Hive".to_owned(),
            kind: kind.to_owned(),
            properties: properties.iter().map(own).collect(),
        }];
        let asked = Asked { names: Some(names), section: &section };
        let evaluate = |text: &str| Ok(text.replace("${h}", "host"));
        find(asked, &[&BTreeMap::new()], &evaluate).map_err(|refusal| refusal.code)
    }

    #[test]
    fn credentials_are_looked_up_as_a_server_does() {
        let whole = [("hive2.jdbc.url", " jdbc:hive2://${h} "), ("hive2.server.principal", "p")];
        let found = of("hive", "hive2", &whole).expect("it is there");
        let url = ("hive2.jdbc.url".to_owned(), "jdbc:hive2://host".to_owned());
        assert_eq!(found.properties[0], url);
        assert_eq!(found.notes.len(), 1);
        for (names, kind, properties, code) in [
            ("hive, hive", "hive2", &whole[..], "JA021"),
            ("other", "hive2", &whole[..], "JA021"),
            ("hive", "vault", &whole[..], "JA020"),
            ("hive", "hive2", &whole[..1], "CredentialException"),
        ] {
            assert_eq!(of(names, kind, properties), Err(code.to_owned()), "{names} {kind}");
        }
    }

    #[test]
    fn without_a_section_or_with_the_switch_nothing_is_asked_for() {
        let evaluate = |text: &str| Ok(text.to_owned());
        let asked = Asked { names: Some("a"), section: &[] };
        let found = find(asked, &[], &evaluate).expect("it is passed over");
        assert!(found.properties.is_empty() && found.notes[0].contains("no <credentials>"));
        let skip = BTreeMap::from([(SKIP.to_owned(), "true".to_owned())]);
        let section =
            [Credential { name: "b".to_owned(), kind: "hcat".to_owned(), properties: Vec::new() }];
        let asked = Asked { names: Some("a"), section: &section };
        assert!(find(asked, &[&skip], &evaluate).expect("it is skipped").notes[0].contains(SKIP));
        assert_eq!(find(Asked::default(), &[], &evaluate), Ok(Found::default()));
    }
}
