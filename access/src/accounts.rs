//! The file of accounts: passwords and tokens as hashes, administrators, groups and proxy users.
//!
//! ```toml
//! admins = ["ann"]
//! admin-groups = ["operators"]
//!
//! [users]
//! ann = "$argon2id$v=19$m=19456,t=2,p=1$…"
//!
//! [tokens]
//! ci = { user = "etl", sha256 = "…", expires = "2027-01-01T00:00:00Z" }
//!
//! [groups]
//! etl = ["ann", "bob"]
//!
//! [proxies]
//! hue = { hosts = ["10.0.0.5"], groups = ["etl"] }
//! ```

use crate::proxies::Proxies;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A hash of an unknown password, with the same cost as hashes created here.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29tZSBzYWx0IG9mIG91cnM$1bGEbDiHkVNpWzHEGNcvVbdFAnD9L3uRvDPSXtZ+Qd4";

/// The configured users.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Accounts {
    /// Administrators, who may change the jobs of others, and the server.
    pub admins: Vec<String>,
    /// Groups whose members are administrators.
    #[serde(rename = "admin-groups")]
    pub admin_groups: Vec<String>,
    /// Password hashes by user.
    users: BTreeMap<String, String>,
    /// Bearer tokens by name.
    tokens: BTreeMap<String, Token>,
    /// Members of groups.
    groups: BTreeMap<String, Vec<String>>,
    /// Proxy users.
    pub(crate) proxies: Proxies,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    user: String,
    sha256: String,
    expires: Option<String>,
}

impl Accounts {
    /// Parses the file.
    ///
    /// # Errors
    /// If it is invalid: unknown entries are not ignored.
    pub fn read(text: &str) -> Result<Accounts, String> {
        let accounts: Accounts =
            toml::from_str(text).map_err(|error| error.message().to_owned())?;
        for (user, hash) in &accounts.users {
            let parsed = PasswordHash::new(hash);
            if parsed.map_or(true, |parsed| parsed.algorithm.as_str() != "argon2id") {
                return Err(format!("the password of `{user}` is not an argon2id hash"));
            }
        }
        for (name, token) in &accounts.tokens {
            if token.sha256.len() != 64 || !token.sha256.bytes().all(|it| it.is_ascii_hexdigit()) {
                return Err(format!("the token `{name}` is not a SHA-256 sum in hexadecimal"));
            }
            if let Some(at) = &token.expires
                && at.parse::<jiff::Timestamp>().is_err()
            {
                return Err(format!("the token `{name}` has an invalid expiry time: `{at}`"));
            }
        }
        if let Some((host, user)) = accounts.proxies.unknown_host() {
            return Err(format!("the host `{host}` of the proxy user `{user}` is not an address"));
        }
        Ok(accounts)
    }

    /// Returns the hash of the user's password.
    pub(crate) fn hash_of(&self, user: &str) -> Option<&str> {
        self.users.get(user).map(String::as_str)
    }

    /// Verifies a user's password. For unknown users it takes as long.
    pub fn is_password(&self, user: &str, password: &str) -> bool {
        let known = self.users.get(user);
        let hash = known.map_or(NOBODY, String::as_str);
        let fits = PasswordHash::new(hash).is_ok_and(|hash| {
            Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
        });
        fits && known.is_some()
    }

    /// Returns the user of a bearer token.
    pub fn user_of_token(&self, token: &str, now_ms: i64) -> Option<&str> {
        let sum = hex(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        // The comparison may leak parts of a hash, which reveals nothing about the token.
        let found = self.tokens.values().find(|known| known.sha256.eq_ignore_ascii_case(&sum))?;
        let until = found.expires.as_ref().and_then(|at| at.parse::<jiff::Timestamp>().ok());
        match until {
            Some(until) if until.as_millisecond() <= now_ms => None,
            _ => Some(&found.user),
        }
    }

    /// Returns the groups of a user in the file.
    pub fn groups_of(&self, user: &str) -> Vec<String> {
        let has = |(_, members): &(&String, &Vec<String>)| members.iter().any(|it| it == user);
        self.groups.iter().filter(has).map(|(group, _)| group.clone()).collect()
    }
}

/// Returns the hash of a password for the file.
///
/// # Errors
/// If the system provides no randomness.
pub fn hash_of_password(password: &str) -> Result<String, String> {
    let mut salt = [0; 16];
    SystemRandom::new().fill(&mut salt).map_err(|_| "the system provides no random numbers")?;
    let salt = SaltString::encode_b64(&salt).map_err(|error| error.to_string())?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::default());
    let hash =
        argon.hash_password(password.as_bytes(), &salt).map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

/// Creates a bearer token, and returns it with its hash for the file.
///
/// # Errors
/// If the system provides no randomness.
pub fn new_token() -> Result<(String, String), String> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| "the system provides no random numbers")?;
    let token = hex(&bytes);
    let sum = hex(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    Ok((token, sum))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_a_user_that_is_not_there_costs_as_much() {
        let params = |hash: &str| {
            let hash = PasswordHash::new(hash).expect("a hash");
            (hash.params.to_string(), hash.hash.map(|sum| sum.len()))
        };
        let made = hash_of_password("x").expect("randomness");
        assert_eq!(params(NOBODY), params(&made));
    }
}
