//! Words of command lines: splitting and quoting.

/// Quotes a text as one word for a POSIX shell.
pub(super) fn quoted(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Splits at whitespace outside quotes; a backslash escapes the next character. None if quotes do not match.
pub(super) fn split_like_a_shell(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().push(characters.next()?),
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return None;
    }
    words.extend(word);
    Some(words)
}

/// Splits `<spark-opts>` as the launcher does: an option extends to the next one, and a value that is quoted as a whole
/// loses its quotes.
pub(super) fn spark_options(text: &str) -> Vec<String> {
    let mut starts = Vec::new();
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("--") {
        let fresh = at == 0 || bytes[at - 1].is_ascii_whitespace();
        if fresh
            && bytes.get(at + 2).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        {
            starts.push(at);
        }
    }
    let mut out = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let option = text[*start..end].trim();
        let key_end = option.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(option.len());
        out.push(option[..key_end].to_owned());
        let value = option[key_end..].trim_start_matches('=').trim();
        if !value.is_empty() {
            out.push(unquoted(value));
        }
    }
    out
}

/// Turns `"v"` into `v` and `k="v"` into `k=v`, if there are no other quotes inside.
fn unquoted(value: &str) -> String {
    let inner = |text: &str| {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| inner.to_owned())
    };
    if let Some(inner) = inner(value) {
        return inner;
    }
    if let Some((key, rest)) = value.split_once('=')
        && !key.contains('"')
        && let Some(inner) = inner(rest)
    {
        return format!("{key}={inner}");
    }
    value.to_owned()
}

/// Whether a text begins with the scheme of a URI.
pub(super) fn has_scheme(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}
