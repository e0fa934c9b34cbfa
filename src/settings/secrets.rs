//! Decides which values are secret, and masks them.
//!
//! Replaces secrets in the values of properties and in any output text with `MASK`. Nothing else decides what is
//! secret: code that prints anything of a job or an application uses [`Secrets::shown`] for properties, and
//! [`Masker::text`] for any other text.

use crate::text::MASK;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use ankus_lang::configuration::substitute;
use ankus_lang::plan::{Plan, Work};

/// The names whose values are never shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Names in addition to the built-in ones, compared without case; `*` at either end is a wildcard.
    pub names: Vec<String>,
}

/// Parts of a name, by their first letter, that make its value a secret, wherever they occur.
fn secret_parts(first: u8) -> &'static [&'static str] {
    match first {
        b'a' => &["apikey", "api.key", "api_key"],
        b'c' => &["credential"],
        b'p' => &["password", "passwd", "passphrase"],
        b's' => &["secret"],
        _ => &[],
    }
}

/// Suffixes of a name that make its value a secret.
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

/// The last word of a name, in lower case: `file` of `key.file`, `KEY_FILE` and `keyFile`.
fn last_word(name: &str) -> String {
    let last = name.rsplit(['.', '_', '-']).next().unwrap_or_default();
    let is_mixed = last.contains(|c: char| c.is_ascii_lowercase());
    let from = last.rfind(|c: char| c.is_ascii_uppercase()).filter(|_| is_mixed);
    last[from.unwrap_or(0)..].to_ascii_lowercase()
}

impl Secrets {
    /// Whether the value of `name` is a secret.
    pub fn covers(&self, name: &str) -> bool {
        let bytes = name.as_bytes();
        // The name of a store, an alias or a class reveals nothing.
        let innocent = ["path", "class", "provider", "classes", "alias", "file", "skip"];
        let is_at = |at: usize, part: &str| {
            let own = bytes.get(at..at + part.len());
            own.is_some_and(|own| own.eq_ignore_ascii_case(part.as_bytes()))
        };
        let ends =
            |end: &str| bytes.len().checked_sub(end.len()).is_some_and(|start| is_at(start, end));
        // The last letters of these suffixes.
        let may_end = bytes
            .last()
            .is_some_and(|last| matches!(last.to_ascii_lowercase(), b'd' | b'n' | b'y'));
        let has_part = |(at, first): (usize, &u8)| {
            secret_parts(first.to_ascii_lowercase()).iter().any(|part| is_at(at, part))
        };
        let built_in = bytes.iter().enumerate().any(has_part)
            || (may_end && SECRET_ENDS.iter().any(|end| ends(end)))
            || name.eq_ignore_ascii_case("pwd")
            || name.eq_ignore_ascii_case("pass");
        if self.names.is_empty() {
            return built_in && !innocent.contains(&last_word(name).as_str());
        }
        let (written, name) = (name, name.to_ascii_lowercase());
        let named = self.names.iter().any(|wanted| {
            let wanted = wanted.to_ascii_lowercase();
            match (wanted.strip_prefix('*'), wanted.strip_suffix('*')) {
                (Some(end), None) => name.ends_with(end),
                (None, Some(start)) => name.starts_with(start),
                (Some(_), Some(_)) => name.contains(wanted.trim_matches('*')),
                (None, None) => name == wanted,
            }
        });
        named || (built_in && !innocent.contains(&last_word(written).as_str()))
    }

    /// Also the names of properties whose values refer to a secret, or contain one: `pw` for `pw=${db.password}`, `feed` for
    /// `feed=https://joe:SECRET@host/`.
    pub fn with_references(&self, properties: &BTreeMap<String, String>) -> Secrets {
        let mut all = self.clone();
        let names_one = |secrets: &Secrets, value: &str| {
            let named = value.split("${").skip(1).filter_map(|rest| rest.split('}').next());
            named.into_iter().any(|name| secrets.covers(name.trim()))
        };
        loop {
            let more: Vec<String> = properties
                .iter()
                .filter(|(name, _)| !all.covers(name))
                .filter(|(_, value)| names_one(&all, value) || !all.places(value).is_empty())
                .map(|(name, _)| name.clone())
                .collect();
            if more.is_empty() {
                return all;
            }
            all.names.extend(more);
        }
    }

    /// The value as it may be shown: masked completely if the name indicates a secret, otherwise with the secrets in
    /// it masked, as in a URL.
    pub fn shown(&self, name: &str, value: &str) -> String {
        match self.covers(name) && !value.is_empty() {
            true => MASK.to_owned(),
            false => self.text(value),
        }
    }

    /// Masks the secrets that are recognizable by their context: `scheme://user:SECRET@`, `password=SECRET`,
    /// `--password SECRET`, `"password": "SECRET"`, `<name>password</name><value>SECRET</value>`,
    /// `jdbc:oracle:thin:user/SECRET@`, `Bearer SECRET`, `Authorization: Basic SECRET`, `curl -u user:SECRET`.
    pub fn text(&self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut from = 0;
        for place in self.places(text) {
            shown.push_str(&text[from..place.start]);
            shown.push_str(MASK);
            from = place.end;
        }
        shown.push_str(&text[from..]);
        shown
    }

    /// Creates a masker that also masks the secrets of these properties wherever they occur.
    pub fn masker<'v>(&self, values: impl IntoIterator<Item = (&'v str, &'v str)>) -> Masker {
        let mut masker = Masker { secrets: self.clone(), values: Vec::new() };
        masker.add(values);
        masker
    }

    /// Applies [`Masker::text`] to one text.
    pub fn masked<'v>(
        &self,
        text: &str,
        values: impl IntoIterator<Item = (&'v str, &'v str)>,
    ) -> String {
        self.masker(values).text(text)
    }

    /// The ranges of secrets in a text, in order and not overlapping.
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let bytes = text.as_bytes();
        for (at, byte) in bytes.iter().enumerate() {
            let place = match byte {
                b':' if text[at..].starts_with("://") => user_information(text, at),
                b':' => oracle(text, at)
                    .or_else(|| self.member(text, at))
                    .or_else(|| authorization(text, at)),
                b'=' => self.option(text, at),
                b'-' if at == 0 || is_gap(bytes[at - 1]) => self
                    .flag(text, at)
                    .or_else(|| glued_within(text, at))
                    .or_else(|| user_within(text, at)),
                b'<' if text[at..].starts_with("<name>") => self.property(text, at),
                b' ' if ends_with_word(&bytes[..at], b"bearer") => {
                    let token = until(text, at + 1, |c| is_gap(c) || matches!(c, b',' | b'<'));
                    // In prose, a short word follows "bearer".
                    (token.len() >= 16).then_some(token)
                }
                _ => None,
            };
            found.extend(place.filter(|place| {
                let secret = &text[place.clone()];
                // A reference or a value that is already masked reveals nothing.
                !secret.is_empty() && !secret.starts_with("${") && secret != MASK
            }));
        }
        found.sort_by_key(|place| place.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for place in found {
            match apart.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => apart.push(place),
            }
        }
        apart
    }

    /// `name=SECRET`, in any context: a query, JDBC options, a properties file.
    fn option(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let name = word_before(text, at);
        if name.is_empty() || !self.covers(name) {
            return None;
        }
        let value = at + 1;
        if text[value..].starts_with("${") {
            return None;
        }
        match text.as_bytes().get(value) {
            Some(quote @ (b'"' | b'\'')) => Some(until(text, value + 1, |c| c == *quote)),
            _ => Some(value..value + bare_value(text, value)),
        }
    }

    /// `--name SECRET`.
    fn flag(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let start = at + text[at..].bytes().take_while(|byte| *byte == b'-').count();
        let name = until(text, start, |c| !is_name(c));
        let bytes = text.as_bytes();
        if name.is_empty()
            || bytes.get(name.end) != Some(&b' ')
            || !self.covers(&text[name.clone()])
        {
            return None;
        }
        let value = until(text, name.end + 1, is_gap);
        (!text[value.clone()].starts_with('-')).then_some(value)
    }

    /// `"name": "SECRET"`, as in JSON.
    fn member(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let before = text[..at].trim_end_matches(' ').strip_suffix('"')?;
        let name = word_before(before, before.len());
        if name.is_empty()
            || !before[..before.len() - name.len()].ends_with('"')
            || !self.covers(name)
        {
            return None;
        }
        let blanks = text[at + 1..].bytes().take_while(|byte| *byte == b' ').count();
        let value = at + 1 + blanks;
        if text.as_bytes().get(value) != Some(&b'"') {
            return None;
        }
        let mut is_escaped = false;
        Some(until(text, value + 1, |c| {
            let ends = c == b'"' && !is_escaped;
            is_escaped = c == b'\\' && !is_escaped;
            ends
        }))
    }

    /// `<name>name</name><value>SECRET</value>`, as in Hadoop configurations.
    fn property(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let name = until(text, at + "<name>".len(), |c| c == b'<');
        let rest = text[name.end..].strip_prefix("</name>")?;
        let inside = rest.trim_start().strip_prefix("<value>")?;
        if !self.covers(text[name].trim()) {
            return None;
        }
        Some(until(text, text.len() - inside.len(), |c| c == b'<'))
    }
}

/// The length of the value without quotes that begins at `from`. A bracket belongs to it, unless it begins the value or closes
/// one that was opened earlier in the line, as in `connect(user=joe, password=SECRET)`.
fn bare_value(text: &str, from: usize) -> usize {
    /// The number of bytes before the value that are searched for brackets.
    const BEFORE: usize = 1000;
    const BRACKETS: [(u8, u8); 3] = [(b'(', b')'), (b'[', b']'), (b'{', b'}')];
    let bytes = text.as_bytes();
    let line = bytes[from.saturating_sub(BEFORE)..from].rsplit(|c| *c == b'\n').next();
    let line = line.unwrap_or_default();
    let count = |wanted: u8| line.iter().filter(|c| **c == wanted).count();
    let around = BRACKETS.map(|(open, close)| count(open) > count(close));
    let mut inside = [0_usize; BRACKETS.len()];
    let value = &bytes[from..];
    for (at, c) in value.iter().enumerate() {
        let is_reference = *c == b'$' && value.get(at + 1) == Some(&b'{');
        if is_gap(*c) || b"&;,<>\"'".contains(c) || is_reference {
            return at;
        }
        for (kind, (open, close)) in BRACKETS.iter().enumerate() {
            if c == open && at == 0 || c == close && inside[kind] == 0 && (at == 0 || around[kind])
            {
                return at;
            }
            inside[kind] += usize::from(c == open);
            inside[kind] -= usize::from(c == close && inside[kind] > 0);
        }
    }
    value.len()
}

/// Whether a program reads the text directly after `-p` as a password: `mysql -uroot -pSECRET`.
pub(crate) fn takes_glued_password(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let starts = ["mysql", "mariadb"].iter().any(|start| name.starts_with(start));
    starts || matches!(name, "sshpass" | "beeline")
}

/// Whether a word is an option for the user that a password belongs to.
fn names_user(word: &str) -> bool {
    matches!(word, "-u" | "-U" | "--user" | "--username")
        || ["--user=", "--username="].iter().any(|start| word.starts_with(start))
}

/// The password in a word `-pSECRET` of a command. For unknown programs it counts as one only if the command also
/// names a user, and if it is not a number, a path or a word.
pub(crate) fn glued_password<'w, 't>(
    word: &'w str,
    mut others: impl Iterator<Item = &'t str> + Clone,
) -> Option<&'w str> {
    let secret = word.strip_prefix("-p")?;
    if secret.is_empty() || secret.starts_with("${") || secret.starts_with('-') {
        return None;
    }
    if others.clone().any(takes_glued_password) {
        return Some(secret);
    }
    let is_other = |c: char| !c.is_ascii_lowercase() && !matches!(c, '-' | '_' | '.' | '=');
    let is_word = !secret.contains(is_other) || secret.contains('=');
    let is_number = !secret.contains(|c: char| c.is_alphabetic());
    let is_plain = is_word || is_number || secret.starts_with('/');
    (!is_plain && others.any(names_user)).then_some(secret)
}

/// The words of a command before an offset.
fn words_before(text: &str, at: usize) -> impl Iterator<Item = &str> + Clone {
    /// Longer commands are not searched completely.
    const LONGEST: usize = 4_096;
    let mut from = at.saturating_sub(LONGEST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let ends_command = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | '`');
    let before = text[from..at].rsplit(ends_command).next().unwrap_or_default();
    before.split(|c: char| c.is_ascii_whitespace() || c == '"' || c == '\'')
}

/// `mysql -pSECRET` in a text, starting at the dash.
fn glued_within(text: &str, at: usize) -> Option<Range<usize>> {
    let value = text[at..].strip_prefix("-p").map(|_| at + 2)?;
    let secret = match text.as_bytes().get(value) {
        Some(quote @ (b'"' | b'\'')) => until(text, value + 1, |c| c == *quote),
        _ => until(text, value, |c| is_gap(c) || matches!(c, b';' | b'|' | b'&' | b'<' | b'>')),
    };
    let word = format!("-p{}", &text[secret.clone()]);
    glued_password(&word, words_before(text, at)).is_some().then_some(secret)
}

/// Options of `curl` that take a user, with a password after a colon.
const USER_OPTIONS: [&str; 4] = ["-u", "--user", "-U", "--proxy-user"];

/// The part before the password in an argument `user:SECRET`, if it belongs to such an option of `curl` among the
/// words of a command.
pub(crate) fn user_before<'v, 't>(
    option: &str,
    value: &'v str,
    mut others: impl Iterator<Item = &'t str>,
) -> Option<&'v str> {
    let is_curl = |word: &str| word.rsplit('/').next() == Some("curl");
    if !USER_OPTIONS.contains(&option) || !others.any(is_curl) {
        return None;
    }
    let colon = value.find(':')?;
    let (before, secret) = value.split_at(colon + 1);
    (!secret.is_empty() && !secret.starts_with("${")).then_some(before)
}

/// `curl -u user:SECRET` in a text, starting at the dash.
fn user_within(text: &str, at: usize) -> Option<Range<usize>> {
    let option = until(text, at, |c| !is_name(c));
    let rest = &text[option.end..];
    let start = option.end + (rest.len() - rest.trim_start_matches([' ', '"', '\'']).len());
    if start == option.end {
        return None;
    }
    let value = match text.as_bytes()[start - 1] {
        quote @ (b'"' | b'\'') => until(text, start, |c| c == quote),
        _ => until(text, start, is_gap),
    };
    let before = user_before(&text[option], &text[value.clone()], words_before(text, at))?;
    Some(value.start + before.len()..value.end)
}

/// `Authorization: Basic SECRET`, starting at the colon.
fn authorization(text: &str, at: usize) -> Option<Range<usize>> {
    if !ends_with_word(&text.as_bytes()[..at], b"authorization") {
        return None;
    }
    let rest = &text[at + 1..];
    let scheme = until(text, text.len() - rest.trim_start_matches(' ').len(), is_gap);
    let is_known = ["basic", "bearer", "token"]
        .iter()
        .any(|known| text[scheme.clone()].eq_ignore_ascii_case(known));
    let is_followed = is_known && text.as_bytes().get(scheme.end) == Some(&b' ');
    is_followed.then(|| until(text, scheme.end + 1, |c| is_gap(c) || matches!(c, b',' | b'<')))
}

/// Masks the secrets of a job in every text that is shown of it.
#[derive(Clone, Debug, Default)]
pub struct Masker {
    secrets: Secrets,
    /// Secret values, the longest first.
    values: Vec<String>,
}

impl Masker {
    /// Adds the secrets of more properties.
    pub fn add<'v>(&mut self, values: impl IntoIterator<Item = (&'v str, &'v str)>) {
        let mut all: BTreeSet<String> = std::mem::take(&mut self.values).into_iter().collect();
        for (name, value) in values {
            let mut add = |secret: &str| {
                // Short values occur in too many other places to be masked by replacing them.
                if secret.len() < 4 || secret.contains("${") || secret == MASK {
                    return;
                }
                // As JSON and XML escape them.
                let json = secret.replace('\\', "\\\\").replace('"', "\\\"");
                let xml = secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                all.extend([secret.to_owned(), json, xml]);
            };
            if self.secrets.covers(name) {
                add(value);
            }
            for place in self.secrets.places(value) {
                add(&value[place]);
            }
        }
        self.values = all.into_iter().collect();
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    /// Adds the secrets in the workflow itself: in properties, environment variables and arguments of its actions,
    /// with the values that job properties give them. Programs print what they were given.
    pub fn add_plan(&mut self, plan: &Plan, properties: &BTreeMap<String, String>) {
        let mut found: Vec<(&str, Cow<'_, str>)> = Vec::new();
        let mut words = String::new();
        for node in &plan.nodes {
            let Work::Action(action) = &node.work else { continue };
            for (name, value) in action.configuration.iter().flatten() {
                found.push((name, known(value.source(), properties)));
            }
            // Neighboring arguments are treated as one line: an option, and its value after it.
            words.clear();
            // Arguments may precede or follow the configuration; without one, all are in the first part.
            let parts = [action.head.source(), action.tail.source()];
            for (element, text) in parts.into_iter().flat_map(leaves) {
                match text.split_once('=').filter(|_| element == "env-var") {
                    Some((name, value)) => {
                        let value = known(value, properties);
                        found.push((name.trim(), unescape(&value).into_owned().into()));
                    }
                    None => words.extend([&*known(text, properties), " "]),
                }
            }
            let line = unescape(&words);
            let secrets = self.secrets.places(&line).into_iter();
            found.extend(secrets.map(|place| ("password", line[place].to_owned().into())));
        }
        let global = plan.global.iter().flat_map(|global| &global.configuration);
        let credentials = plan.credentials.iter().flat_map(|credential| &credential.properties);
        let others = global.chain(credentials);
        found.extend(others.map(|(name, value)| (name.as_str(), known(value, properties))));
        self.add(found.iter().map(|(name, value)| (*name, &**value)));
    }

    /// The value of a property as it may be shown.
    pub fn value(&self, name: &str, value: &str) -> String {
        self.text(&self.secrets.shown(name, value))
    }

    /// A text as it may be shown.
    pub fn text(&self, text: &str) -> String {
        // Known values are masked first: a secret may contain spaces and punctuation at which its context would seem
        // to end.
        let mut shown = Cow::Borrowed(text);
        for value in &self.values {
            if shown.contains(value.as_str()) {
                shown = shown.replace(value.as_str(), MASK).into();
            }
        }
        self.secrets.text(&shown)
    }
}

/// The names and texts of the leaf elements. The text is from a plan, which has neither comments nor CDATA.
fn leaves(xml: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut tags = xml.split('<').skip(1).peekable();
    std::iter::from_fn(move || {
        loop {
            let (tag, text) = tags.next()?.split_once('>')?;
            if tags.peek().is_some_and(|next| next.starts_with('/')) && !tag.starts_with('/') {
                let end = tag.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(tag.len());
                return Some((&tag[..end], text.trim()));
            }
        }
    })
}

/// Substitutes the properties in a text. Most texts have no references and are not copied.
fn known<'t>(text: &'t str, properties: &'t BTreeMap<String, String>) -> Cow<'t, str> {
    let value = |name: &str| properties.get(name).map(|value| value.as_str().into());
    match text.contains("${") {
        true => substitute(text, value).unwrap_or(Cow::Borrowed(text)),
        false => text.into(),
    }
}

/// Resolves the character references in XML text.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let named = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    named.replace("&apos;", "'").replace("&amp;", "&").into()
}

/// Whether a byte may occur in the name of a property or an option.
fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_gap(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'')
}

/// The name that ends at an offset. Its length is limited because a text may be one long word.
fn word_before(text: &str, end: usize) -> &str {
    let letters = text.as_bytes()[..end].iter().rev().take(200).take_while(|byte| is_name(**byte));
    &text[end - letters.count()..end]
}

fn ends_with_word(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len() && text[text.len() - word.len()..].eq_ignore_ascii_case(word)
}

/// The range from an offset to the next terminator, or to the end.
fn until(text: &str, from: usize, mut ends: impl FnMut(u8) -> bool) -> Range<usize> {
    let length = text.as_bytes()[from..].iter().position(|byte| ends(*byte));
    from..length.map_or(text.len(), |length| from + length)
}

/// `scheme://user:SECRET@host`, and a lone long word before `@` if a token is used as the user.
fn user_information(text: &str, at: usize) -> Option<Range<usize>> {
    let start = at + "://".len();
    let authority = until(text, start, |c| is_gap(c) || b"/?#<>\\".contains(&c));
    let user = &text[authority.clone()];
    let end = start + user.rfind('@')?;
    match user[..end - start].find(':') {
        Some(colon) => Some(start + colon + 1..end),
        None => (text[..at].ends_with("http") || text[..at].ends_with("https"))
            .then_some(start..end)
            .filter(|token| token.len() >= 20),
    }
}

/// `jdbc:oracle:thin:user/SECRET@host`, starting at the colon after `thin`.
fn oracle(text: &str, at: usize) -> Option<Range<usize>> {
    let before = &text[..at];
    if !["oracle:thin", "oracle:oci", "oracle:oci8"].iter().any(|driver| before.ends_with(driver)) {
        return None;
    }
    let user = until(text, at + 1, |c| is_gap(c) || c == b'@');
    let slash = user.start + text[user.clone()].find('/')?;
    (text.as_bytes().get(user.end) == Some(&b'@')).then_some(slash + 1..user.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn secrets_are_masked() {
        let secrets = Secrets { names: vec!["site.*".to_owned()] };
        assert!(secrets.covers("db.Password"));
        assert!(secrets.covers("fs.s3a.access.key"));
        assert!(secrets.covers("site.thing"));
        assert!(!secrets.covers("hadoop.security.credential.provider.path"));
        assert!(!secrets.covers("oozie.credentials.skip"));
        // A file may contain secrets; its name is not one.
        assert!(!secrets.covers("credentialFile") && !secrets.covers("PASSWORD_FILE"));
        assert!(secrets.covers("filePassword") && secrets.covers("MYPASSWORD"));
        let values = [("db.password", "hunter2")];
        let shown = secrets.masked("--password hunter2 jdbc:x://u:pw@h/d", values);
        assert_eq!(shown, "--password *** jdbc:x://u:***@h/d");
    }

    #[test]
    fn passwords_right_behind_an_option_are_masked() {
        let secrets = Secrets::default();
        let shown = |text: &str| secrets.text(text);
        assert_eq!(shown("mysql -uroot -phunter2 shop"), "mysql -uroot -p*** shop");
        assert_eq!(
            shown("echo a; /usr/bin/mysqldump -p'a b' x"),
            "echo a; /usr/bin/mysqldump -p'***' x"
        );
        assert_eq!(shown("sh -c 'mysqladmin -plower'"), "sh -c 'mysqladmin -p***'");
        assert_eq!(shown("load.sh -u joe -pHunter2"), "load.sh -u joe -p***");
        for same in [
            "mysql -p shop",
            "mysql -p${pw} shop",
            "mysql x; mkdir -part",
            "ps -u root -p1234",
            "docker run -u 0 -p8080:80 web",
            "sudo -u hdfs hdfs dfs -put a b",
            "load.sh -pHunter2",
        ] {
            assert_eq!(shown(same), same);
        }
    }

    #[test]
    fn passwords_of_requests_are_masked() {
        let secrets = Secrets::default();
        let shown = |text: &str| secrets.text(text);
        assert_eq!(shown("curl -s -u bob:Hunter2 x"), "curl -s -u bob:*** x");
        assert_eq!(shown("/usr/bin/curl --user 'bob:a b'"), "/usr/bin/curl --user 'bob:***'");
        assert_eq!(shown("-H 'Authorization: Basic Ym9iOng='"), "-H 'Authorization: Basic ***'");
        assert_eq!(shown("authorization: bearer abc"), "authorization: bearer ***");
        for same in [
            "docker run -u 1000:1000 web",
            "beeline -u jdbc:hive2://h:10000",
            "curl -u ${user}:${password} x",
            "curl x; docker run -u 1000:1000 web",
            "authorization: none of them",
        ] {
            assert_eq!(shown(same), same);
        }
    }

    #[test]
    fn what_refers_to_a_secret_is_one() {
        let properties = [
            ("db.password", "x"),
            ("pw", "${db.password}"),
            ("url", "u:${ pw }@h"),
            ("user", "${me}"),
            ("feed", "https://joe:pass-7@host/"),
        ];
        let properties = properties.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let secrets = Secrets::default().with_references(&properties);
        assert!(secrets.covers("pw") && secrets.covers("url") && !secrets.covers("user"));
        assert!(secrets.covers("feed"));
    }

    #[test]
    fn texts_without_secrets_stay_as_they_are() {
        let secrets = Secrets::default();
        for text in [
            "hdfs://etl@nn:8020/a?b=c",
            "the password is missing",
            "--password-file /run/secret -x",
            "password=${dbPassword}",
            "jdbc:oracle:thin:@h:1521:x",
            "bearer of news",
            "a=b=c; \"name\": \"x\" <name>a</name><value>b</value>",
            "ends with password=",
        ] {
            assert_eq!(secrets.text(text), text);
        }
    }

    #[test]
    fn what_a_url_holds_is_masked_where_it_stands_alone() {
        let secrets = Secrets::default();
        let masker =
            secrets.masker([("jdbc.url", "jdbc:mysql://h/d?user=u&password=hunter2&ssl=1")]);
        assert_eq!(masker.text("login with hunter2 failed"), "login with *** failed");
        let shown = masker.value("jdbc.url", "jdbc:mysql://h/d?user=u&password=hunter2&ssl=1");
        assert_eq!(shown, "jdbc:mysql://h/d?user=u&password=***&ssl=1");
    }

    /// Contexts in which a secret is recognizable; `\u{1}` stands for it.
    const SHAPES: &[&str] = &[
        "http://ann:\u{1}@host:80/x",
        "jdbc:mysql://ann:\u{1}@h/d",
        "jdbc:sqlserver://h:1433;user=sa;password=\u{1};encrypt=true",
        "jdbc:postgresql://h/d?user=a&password=\u{1}",
        "jdbc:hive2://h:1/d;sslTrustStore=/x;trustStorePassword=\u{1}",
        "jdbc:oracle:thin:scott/\u{1}@h:1521:x",
        "sqoop import --connect c --password \u{1} --table t",
        "-D db.passwd=\u{1} -x",
        "db.password=\u{1}\nother=x",
        "{\"apiKey\": \"\u{1}\", \"x\": 1}",
        "<property><name>fs.s3a.secret.key</name>\n  <value>\u{1}</value></property>",
        "Authorization: Bearer 0123456789\u{1}0123456789",
        "curl -H 'Authorization: Basic \u{1}' x",
        "curl -u ann:\u{1} x",
        "password='\u{1}' and more",
        "connect(user=joe, password=\u{1})",
        "{user=joe, password=\u{1}}",
    ];

    proptest! {
        /// A secret is never shown, wherever it occurs and whatever surrounds it, and masking again changes nothing.
        #[test]
        fn no_secret_gets_through(
            secret in "[A-Za-z0-9_!*+%.~-]{6,24}",
            shape in proptest::sample::select(SHAPES),
            before in "[ -~\n]{0,20}",
            after in "[ -~\n]{0,20}",
        ) {
            prop_assume!(!secret.starts_with('-') && !before.contains(&secret) && !after.contains(&secret));
            let secrets = Secrets::default();
            let text = format!("{before} {} {after}", shape.replace('\u{1}', &secret));
            let shown = secrets.text(&text);
            prop_assert!(!shown.contains(&secret), "{text} -> {shown}");
            prop_assert_eq!(secrets.text(&shown), shown);
        }

        /// Any text is masked without a panic, and no shown text contains the secrets of properties.
        #[test]
        fn values_of_secret_names_are_shown_nowhere(
            value in "[ -~\u{e4}\u{4e2d}]{4,20}",
            text in "\\PC{0,60}",
            at in 0_usize..60,
        ) {
            prop_assume!(!value.contains("${") && value != MASK && !value.contains('*'));
            let masker = Secrets::default().masker([("db.password", value.as_str())]);
            let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let text = format!("{}{value}{}", &text[..at], &text[at..]);
            let shown = masker.text(&text);
            prop_assert!(!shown.contains(&value), "{text} -> {shown}");
            let json = serde_json::to_string(&text).expect("it has a form");
            prop_assert!(!masker.text(&json).contains(&value.replace('\\', "\\\\").replace('"', "\\\"")));
        }
    }
}
