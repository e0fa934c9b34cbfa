//! Proxy users: who may impersonate others, from which hosts, and whom.
//!
//! They are configured in the file of accounts, or in a server's site:
//! `oozie.service.ProxyUserService.proxyuser.USER.hosts` and `.groups`, both of which are required.

use crate::Refusal;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Prefix of the site's properties.
const OF_SITE: &str = "oozie.service.ProxyUserService.proxyuser.";

/// The hosts from which a proxy user may act, and the users and groups it may impersonate. `*` stands for all.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proxy {
    hosts: Vec<String>,
    #[serde(default)]
    groups: Vec<String>,
    #[serde(default)]
    users: Vec<String>,
}

/// The proxy users.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Proxies(BTreeMap<String, Proxy>);

/// Resolves a host to its addresses; the error says why it has none.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Result<Vec<IpAddr>, String>;

impl Proxies {
    /// Reads the proxy users from a site's properties. Also returns the names of properties that a server ignores.
    ///
    /// # Errors
    /// With the message of a server that refuses to start: E0550 if a host has no address, E0551 if a property is
    /// missing.
    pub fn of_site<'a>(
        properties: impl Iterator<Item = (&'a str, &'a str)>,
        resolve: Resolve<'_>,
    ) -> Result<(Proxies, Vec<String>), String> {
        let mut found: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
        let mut passed_over = Vec::new();
        for (name, value) in properties {
            let Some(rest) = name.strip_prefix(OF_SITE) else { continue };
            match rest.rsplit_once('.') {
                Some((user, "hosts")) => found.entry(user).or_default()[0] = Some(value),
                Some((user, "groups")) => found.entry(user).or_default()[1] = Some(value),
                _ => passed_over.push(name.to_owned()),
            }
        }
        let mut proxies = BTreeMap::new();
        for (user, values) in found {
            let [hosts, groups] = match values {
                [Some(hosts), Some(groups)] => [hosts, groups].map(listed),
                [hosts, _] => {
                    let missing = if hosts.is_none() { "hosts" } else { "groups" };
                    return Err(format!("E0551: Missing [{OF_SITE}{user}.{missing}] property"));
                }
            };
            let mut addresses = Vec::new();
            for host in hosts {
                if host == "*" {
                    addresses.push(host);
                    continue;
                }
                let resolved = resolve(&host);
                let resolved = resolved
                    .map_err(|why| format!("E0550: Could not normalize host name [{host}], {why}"));
                addresses
                    .extend(resolved?.iter().map(|address| address.to_canonical().to_string()));
            }
            let proxy = Proxy { hosts: addresses, groups, users: Vec::new() };
            proxies.insert(user.to_owned(), proxy);
        }
        Ok((Proxies(proxies), passed_over))
    }

    /// Whether there are no proxy users.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a host that is neither an address nor `*`, with its proxy user.
    pub(crate) fn unknown_host(&self) -> Option<(&str, &str)> {
        let is_known = |host: &String| host == "*" || host.parse::<IpAddr>().is_ok();
        let mut all =
            self.0.iter().flat_map(|(user, proxy)| proxy.hosts.iter().map(move |it| (it, user)));
        all.find(|(host, _)| !is_known(host)).map(|(host, user)| (host.as_str(), user.as_str()))
    }

    /// Whether a user may impersonate another who is in these groups, from this address; none if the user is not a
    /// configured proxy user.
    pub(crate) fn admits(
        &self,
        user: &str,
        other: &str,
        groups: &[String],
        from: IpAddr,
    ) -> Option<Result<(), Refusal>> {
        let proxy = self.0.get(user)?;
        let from = from.to_canonical();
        let is_there = |host: &String| {
            host == "*" || host.parse().is_ok_and(|host: IpAddr| host.to_canonical() == from)
        };
        let is_meant = proxy.users.iter().any(|it| it == "*" || it == other)
            || proxy.groups.iter().any(|group| group == "*" || groups.contains(group));
        let refused = |message: String| Some(Err(refused(message)));
        if !proxy.hosts.iter().any(is_there) {
            return refused(format!("Unauthorized host [{from}] for proxyuser [{user}]"));
        }
        if !is_meant {
            return refused(format!(
                "Unauthorized proxyuser [{user}] for user [{other}], not in proxyuser groups"
            ));
        }
        Some(Ok(()))
    }
}

/// Returns the refusal of an impersonation.
pub(crate) fn refused(message: impl Into<String>) -> Refusal {
    Refusal::new(401, Some("E1400"), message)
}

/// Returns the entries of a comma-separated list.
fn listed(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}
