//! Which values are shown to nobody, and how they are hidden.

/// Names whose values are not shown to anybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Names beside the built-in ones, compared without case; `*` at an end stands for anything.
    pub names: Vec<String>,
}

/// What stands in the place of a masked value.
pub const MASK: &str = "***";

/// Parts of a name that make its value a secret, wherever they stand, by their first letter.
fn secret_parts(first: u8) -> &'static [&'static str] {
    match first {
        b'a' => &["apikey", "api.key", "api_key"],
        b'c' => &["credential"],
        b'p' => &["password", "passwd", "passphrase"],
        b's' => &["secret"],
        _ => &[],
    }
}

/// Endings of a name that make its value a secret.
const SECRET_ENDS: &[&str] = &[
    "token",
    "accesskey",
    "access.key",
    "access_key",
    "account.key",
    "privatekey",
    "private.key",
    "private_key",
    ".pwd",
    "_pwd",
];

impl Secrets {
    /// Whether the value of `name` is a secret.
    pub fn covers(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        // The name of a store, an alias or a class tells nobody anything.
        let innocent = ["path", "class", "provider", "classes", "alias", "file", "skip"];
        let mut letters = name.bytes().enumerate();
        let built_in = letters
            .any(|(at, first)| secret_parts(first).iter().any(|part| name[at..].starts_with(part)))
            || SECRET_ENDS.iter().any(|end| name.ends_with(end))
            || matches!(name.as_str(), "pwd" | "pass");
        let named = self.names.iter().any(|wanted| {
            let wanted = wanted.to_ascii_lowercase();
            match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
                (Some(end), None) => name.ends_with(end),
                (None, Some(start)) => name.starts_with(start),
                (Some(_), Some(_)) => name.contains(wanted.trim_matches('*')),
                (None, None) => name == wanted,
            }
        });
        let last = name.rsplit(['.', '_', '-']).next().unwrap_or_default();
        named || (built_in && !innocent.contains(&last))
    }

    /// The value as it may be shown.
    pub fn shown<'a>(&self, name: &str, value: &'a str) -> &'a str {
        if self.covers(name) && !value.is_empty() { MASK } else { value }
    }

    /// A text as it may be shown: values of secret names in `name=value`, `--name value` and `scheme://user:value@` are
    /// masked, and so is every longer value of `values` wherever it stands.
    pub fn masked<'v>(
        &self,
        text: &str,
        values: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> String {
        let mut shown = text.to_owned();
        for (name, value) in values {
            // Short values stand for themselves in too many places to be hidden by replacing them.
            if value.len() >= 4 && !value.contains("${") && self.covers(name) {
                shown = shown.replace(value, MASK);
            }
        }
        mask_user_information(&shown)
    }
}

/// Hides the password in `scheme://user:password@host`.
fn mask_user_information(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<'))
            .unwrap_or(after.len());
        let (authority, behind) = after.split_at(end);
        match authority
            .rsplit_once('@')
            .and_then(|(user, host)| Some((user.split_once(':')?.0, host)))
        {
            Some((user, host)) => {
                shown.push_str(&format!("{user}:{MASK}@{host}"));
            }
            None => shown.push_str(authority),
        }
        rest = behind;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        let secrets = Secrets { names: vec!["site.*".to_owned()] };
        assert!(secrets.covers("db.Password"));
        assert!(secrets.covers("fs.s3a.access.key"));
        assert!(secrets.covers("site.thing"));
        assert!(!secrets.covers("hadoop.security.credential.provider.path"));
        assert!(!secrets.covers("oozie.credentials.skip"));
        let values = [("db.password", "hunter2")];
        let shown = secrets.masked("--password hunter2 jdbc:x://u:pw@h/d", values);
        assert_eq!(shown, "--password *** jdbc:x://u:***@h/d");
    }
}
