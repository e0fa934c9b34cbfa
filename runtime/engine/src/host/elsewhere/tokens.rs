//! Delegation tokens, by which programs in a YARN cluster with Kerberos are known: in its containers nobody has a ticket.
//!
//! The name nodes and the resource manager issue them to the owner of the ticket, or for the user whom that owner
//! impersonates. They go along with the submission. The resource manager renews them while the application runs, and
//! cancels them at its end.

use std::collections::BTreeMap;
use std::net::ToSocketAddrs as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Fault;
use crate::host::files::{FileSystems, FileUri, Hosts, Place};
use crate::host::yarn::ResourceManager;
use ankus_lang::uri::Protocol;

/// The port of a name node whose URI has none.
const NAME_NODE: u16 = 8020;

/// Returns the tokens for clusters in the form of a submission; none if the cluster does not require Kerberos.
///
/// `hosts` says where the web services of name nodes are; for other clusters there is no token.
pub(super) fn credentials<'a>(
    manager: &ResourceManager<'_>,
    clusters: impl Iterator<Item = &'a String>,
    hosts: &BTreeMap<String, String>,
    proxy: Option<&str>,
) -> Result<Option<Value>, Fault> {
    // Where only the web services ask for a ticket, nobody needs a token.
    if !manager.knows_ticket()
        || manager.property("hadoop.security.authentication")?.as_deref() != Some("kerberos")
    {
        return Ok(None);
    }
    let Some(renewer) = manager.property("yarn.resourcemanager.principal")? else {
        return Err(Fault::Refused(
            "the resource manager requires Kerberos, and does not say who may renew tokens (yarn.resourcemanager.principal)"
                .to_owned(),
        ));
    };
    let mut entries = Vec::new();
    let mut add = |service: &str, token: String| {
        entries.push(json!({"key": service, "value": token}));
    };
    let origins: std::collections::BTreeSet<String> =
        clusters.map(|uri| FileUri::parse(uri).origin()).collect();
    for origin in &origins {
        let Some(host) = hosts.get(origin) else { continue };
        let place = Place::read(host, Path::new("/"));
        let place = place.map_err(|why| Fault::Refused(format!("[hosts] of {origin}: {why}")))?;
        let Place::Cluster(url) = &place else { continue };
        if url.protocol == Protocol::Metastore {
            continue;
        }
        let service = service_of(origin, url.host.contains(','));
        let files = FileSystems::new("/nowhere", Hosts::from([(origin.clone(), place)]));
        let files = files.with_proxy(proxy);
        let Some(cluster) = files.remote(&FileUri::parse(origin)) else { continue };
        match cluster.delegation_token(&renewer, &service) {
            Ok(Some(token)) => add(&service, token),
            Ok(None) => {}
            Err(error) => {
                let why = format!("no delegation token of {origin}: {error}");
                return Err(match error.kind() {
                    std::io::ErrorKind::PermissionDenied => Fault::Refused(why),
                    _ => Fault::Unreachable(why),
                });
            }
        }
    }
    #[derive(Deserialize)]
    struct Issued {
        token: String,
    }
    let asked = json!({"renewer": renewer}).to_string();
    let issued = manager.post("/ws/v1/cluster/delegation-token", &asked)?;
    let issued: Issued = serde_json::from_str(&issued)
        .map_err(|error| Fault::Refused(format!("it issued no delegation token: {error}")))?;
    let service = addresses(manager)?.join(",");
    let token = with_service(&issued.token, &service).ok_or_else(|| {
        Fault::Refused(
            "the resource manager issued a delegation token in an unknown format".to_owned(),
        )
    })?;
    add(&service, token);
    Ok(Some(json!({"tokens": {"entry": entries}})))
}

/// Returns the addresses of the resource managers by which clients find their token.
fn addresses(manager: &ResourceManager<'_>) -> Result<Vec<String>, Fault> {
    const ADDRESS: &str = "yarn.resourcemanager.address";
    let ids = manager.property("yarn.resourcemanager.ha.rm-ids")?.unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for id in ids.split(',').map(str::trim).filter(|id| !id.is_empty()) {
        names.extend(manager.property(&format!("{ADDRESS}.{id}"))?);
    }
    if names.is_empty() {
        names.extend(manager.property(ADDRESS)?);
    }
    Ok(names.iter().map(|name| resolved(name).unwrap_or_else(|| name.clone())).collect())
}

/// Returns the address by which clients find the token of a name node, from its authority: a number and a port; of a
/// name service, its name.
fn service_of(origin: &str, is_service: bool) -> String {
    let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = match has_port {
        true => authority.to_owned(),
        false => format!("{authority}:{NAME_NODE}"),
    };
    let number = if is_service && !has_port { None } else { resolved(&address) };
    match number {
        Some(number) => number,
        None if has_port => authority.to_owned(),
        None => format!("ha-hdfs:{authority}"),
    }
}

/// Returns an address with the number of its host, as Hadoop's clients do by default.
fn resolved(address: &str) -> Option<String> {
    let mut found: Vec<_> = address.to_socket_addrs().ok()?.collect();
    found.sort_by_key(std::net::SocketAddr::is_ipv6);
    found.first().map(ToString::to_string)
}

/// Replaces the service in a token, which is its last field. Each field begins with its length.
fn with_service(token: &str, service: &str) -> Option<String> {
    let bytes = BASE64.decode(token.trim_end_matches('=')).ok()?;
    // Identifier, password and kind stay as they are.
    let mut end = 0;
    for _ in 0..3 {
        let (length, from) = number(&bytes, end)?;
        end = from.checked_add(length).filter(|end| *end <= bytes.len())?;
    }
    let mut changed = bytes.get(..end)?.to_vec();
    write_number(service.len(), &mut changed);
    changed.extend_from_slice(service.as_bytes());
    Some(BASE64.encode(changed))
}

/// Reads a length: one byte up to 127, else the number of further bytes (as -112 minus it), then those. Returns it with the
/// index of what follows.
fn number(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let first = bytes.get(at)?.cast_signed();
    if first >= 0 {
        return Some((usize::try_from(first).ok()?, at + 1));
    }
    let count = usize::try_from(-112_i32 - i32::from(first))
        .ok()
        .filter(|count| (1..=4).contains(count))?;
    let digits = bytes.get(at + 1..at + 1 + count)?;
    let value = digits.iter().fold(0_usize, |value, digit| value << 8 | usize::from(*digit));
    Some((value, at + 1 + count))
}

fn write_number(value: usize, to: &mut Vec<u8>) {
    match u8::try_from(value).ok().filter(|value| *value <= 127) {
        Some(value) => to.push(value),
        None => {
            let digits = value.to_be_bytes();
            let first = digits.iter().position(|digit| *digit != 0).unwrap_or(digits.len() - 1);
            let digits = &digits[first..];
            to.push((-112_i32 - i32::try_from(digits.len()).unwrap_or(0)).to_le_bytes()[0]);
            to.extend_from_slice(digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_gets_the_service_by_which_clients_find_it() {
        let mut token = Vec::new();
        for field in [&[7_u8; 300][..], b"password", b"RM_DELEGATION_TOKEN"] {
            write_number(field.len(), &mut token);
            token.extend_from_slice(field);
        }
        let kept = token.len();
        token.push(0);
        // As Hadoop writes 300.
        assert_eq!(token[..3], [0x8e, 1, 44]);
        let text = BASE64.encode(&token);
        let changed = with_service(&text, "127.0.0.1:8032").expect("a token");
        let changed = BASE64.decode(changed).expect("base64");
        assert_eq!(changed[..kept], token[..kept]);
        assert_eq!(changed[kept..], *b"\x0e127.0.0.1:8032");
        for broken in ["", "!", &text[..40], "jw"] {
            assert_eq!(with_service(broken, "x"), None, "{broken}");
        }
    }

    #[test]
    fn name_nodes_are_known_by_number_and_name_services_by_name() {
        assert_eq!(service_of("hdfs://127.0.0.1:9000", false), "127.0.0.1:9000");
        assert_eq!(service_of("hdfs://127.0.0.1", false), "127.0.0.1:8020");
        assert_eq!(service_of("hdfs://127.0.0.1", true), "ha-hdfs:127.0.0.1");
        assert_eq!(service_of("hdfs://nothing.invalid", false), "ha-hdfs:nothing.invalid");
    }
}
