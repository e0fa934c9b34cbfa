//! The signed cookie `hadoop.auth`, which states a user and an expiration, in the format of Hadoop's clients and
//! servers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

/// The name of the cookie.
pub const NAME: &str = "hadoop.auth";
/// Default validity of a token, in milliseconds: Hadoop's ten hours.
pub const VALID_MS: i64 = 36_000_000;
/// Maximum length of a cookie that is parsed.
const LONGEST: usize = 4096;

/// The user and the authentication method that a token states.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// The user.
    pub user: &'a str,
    /// The principal: the same as the user, except with Kerberos, where it has a realm.
    pub principal: &'a str,
    /// The authentication method: `simple`, `basic`, `kerberos`.
    pub kind: &'a str,
    /// The proof of identity, such as the hash of a password: signed with the rest, but not included. A change of it
    /// invalidates the token.
    pub proof: &'a str,
}

impl<'a> Told<'a> {
    /// Creates it for a user without a realm.
    pub fn of(user: &'a str, kind: &'a str) -> Told<'a> {
        Told { user, principal: user, kind, proof: "" }
    }
}

/// The secret that signs tokens. Servers that share it accept each other's tokens.
pub struct Secret(hmac::Key);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Creates a random secret, whose tokens become invalid with the end of the process.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn random() -> Result<Secret, String> {
        let mut bytes = [0; 32];
        SystemRandom::new()
            .fill(&mut bytes)
            .map_err(|_| "the system provides no random numbers")?;
        Ok(Secret(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// Creates a secret from stored bytes.
    ///
    /// # Errors
    /// If it is short enough to be guessed.
    pub fn of(bytes: &[u8]) -> Result<Secret, String> {
        match bytes.len() {
            0..32 => Err("the secret for cookies has fewer than 32 bytes".to_owned()),
            _ => Ok(Secret(hmac::Key::new(hmac::HMAC_SHA256, bytes))),
        }
    }

    pub(crate) fn sum(&self, text: &[u8]) -> Vec<u8> {
        hmac::sign(&self.0, text).as_ref().to_vec()
    }

    /// Returns the value of a cookie that is valid until the given time.
    pub fn token(&self, told: &Told<'_>, until_ms: i64) -> String {
        let Told { user, principal, kind, proof } = told;
        let told = format!("u={user}&p={principal}&t={kind}&e={until_ms}");
        let sum = STANDARD.encode(self.sum(&signed(&told, proof)));
        format!("{told}&s={sum}")
    }

    /// Returns the user of a token, if it was signed with this secret and is valid. `proof` returns the current proof
    /// for a user and an authentication method, or `None` if that method is not accepted.
    pub fn user_of(
        &self,
        token: &str,
        now_ms: i64,
        proof: impl Fn(&str, &str) -> Option<String>,
    ) -> Option<String> {
        let token = token.trim_matches('"');
        if token.len() > LONGEST {
            return None;
        }
        let (told, sum) = token.rsplit_once("&s=")?;
        let sum = STANDARD.decode(sum).ok()?;
        let field = |name: &str| {
            told.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
        };
        let user = field("u")?;
        let proof = proof(user, field("t")?)?;
        // Compares in constant time.
        hmac::verify(&self.0, &signed(told, &proof), &sum).ok()?;
        let until: i64 = field("e")?.parse().ok()?;
        (now_ms < until).then(|| user.to_owned())
    }

    /// Returns the header `Set-Cookie` with a token.
    pub fn header(&self, told: &Told<'_>, until_ms: i64, is_https: bool) -> String {
        let token = self.token(told, until_ms);
        let until = jiff::Timestamp::from_millisecond(until_ms);
        let until = until.map_or(String::new(), |at| {
            format!("; Expires={}", at.strftime("%a, %d-%b-%Y %H:%M:%S GMT"))
        });
        let secure = if is_https { "; Secure" } else { "" };
        format!("{NAME}=\"{token}\"; Path=/{until}{secure}; HttpOnly")
    }
}

/// Returns the signed text of a token. Without a proof it is what Hadoop signs; no token contains a line break.
fn signed(told: &str, proof: &str) -> Vec<u8> {
    match proof {
        "" => told.as_bytes().to_vec(),
        proof => format!("{told}\n{proof}").into_bytes(),
    }
}

/// Returns the tokens in a header `Cookie`.
pub(crate) fn tokens(header: &str) -> impl Iterator<Item = &str> {
    header.split(';').filter_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_those_of_hadoop() {
        let secret = Secret::of(&[7; 32]).expect("long enough");
        let header = secret.header(&Told::of("tester", "simple"), 1_795_268_074_443, false);
        assert!(header.starts_with("hadoop.auth=\"u=tester&p=tester&t=simple&e=1795268074443&s="));
        assert!(header.ends_with("\"; Path=/; Expires=Sat, 21-Nov-2026 13:34:34 GMT; HttpOnly"));
        assert!(secret.header(&Told::of("a", "simple"), 1, true).contains("; Secure; HttpOnly"));
        assert!(Secret::of(b"short").is_err());
    }

    #[test]
    fn a_forged_changed_or_old_token_is_nobodys() {
        let secret = Secret::random().expect("randomness");
        let token = secret.token(&Told::of("ann", "simple"), 1_000);
        let user_of = |secret: &Secret, token: &str, now_ms| {
            secret.user_of(token, now_ms, |_, kind| (kind == "simple").then(String::new))
        };
        let ann = Some("ann".to_owned());
        assert_eq!(user_of(&secret, &token, 999), ann);
        assert_eq!(user_of(&secret, &format!("\"{token}\""), 999), ann);
        // It has expired, and is sent again.
        assert_eq!(user_of(&secret, &token, 1_000), None);
        let other = Secret::random().expect("randomness");
        assert_eq!(user_of(&other, &token, 0), None, "another secret");
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert_eq!(user_of(&secret, &changed, 0), None, "{changed}");
        }
        let (told, _) = token.rsplit_once("&s=").expect("a sum");
        let long = "u".repeat(LONGEST + 1);
        for forged in ["", "u=root", told, &format!("{told}&s="), &format!("{token}&u=root"), &long]
        {
            assert_eq!(user_of(&secret, forged, 0), None, "{forged}");
        }
        let told = Told { proof: "hash", ..Told::of("ann", "basic") };
        let proved = secret.token(&told, 1_000);
        for (proof, user) in [(Some("hash"), Some("ann")), (Some("other"), None), (None, None)] {
            let known = secret.user_of(&proved, 0, |_, _| proof.map(str::to_owned));
            assert_eq!(known.as_deref(), user, "{proof:?}");
        }
        let two = "a=b; hadoop.auth=\"x\"; hadoop.auths=z;hadoop.auth=y";
        assert_eq!(tokens(two).collect::<Vec<_>>(), ["\"x\"", "y"]);
    }
}
