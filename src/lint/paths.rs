//! Examines paths before the run, when parts of them may be expressions.

use super::reads::first_expression;
use memchr::memchr_iter;

/// Maximum length of a path in a file system, in bytes.
pub(super) const LONGEST: usize = 8_000;

/// Returns the path after a scheme and authority, or after a leading expression that stands for them (`${nameNode}/a`).
/// `None` if the beginning is unknown, and for relative paths.
pub(super) fn absolute(text: &str) -> Option<&str> {
    if text.starts_with('/') {
        return Some(text);
    }
    if let Some((scheme, rest)) = split_scheme(text)
        && !scheme.is_empty()
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
    {
        return match first_expression(rest) {
            Some(range) if range.start == 0 => rooted(&rest[range.end..]),
            _ => Some(rest.find('/').map_or("", |at| &rest[at..])),
        };
    }
    let range = first_expression(text).filter(|range| range.start == 0)?;
    names_file_system(&text[range.clone()]).then(|| rooted(&text[range.end..]))?
}

/// Returns the path without the part for its file system, even if a variable with the path follows
/// (`${nameNode}${dir}/a`), and without a trailing slash: for comparing paths written by different people.
pub(super) fn behind_file_system(path: &str) -> &str {
    let path = path.trim();
    let first = first_expression(path).filter(|range| range.start == 0);
    let behind = match first {
        Some(range)
            if names_file_system(&path[range.clone()]) && path[range.end..].starts_with("${") =>
        {
            &path[range.end..]
        }
        _ => absolute(path).unwrap_or(path),
    };
    behind.trim_end_matches('/')
}

fn rooted(rest: &str) -> Option<&str> {
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Whether an expression reads a variable whose name stands for a name node.
pub(super) fn names_file_system(expression: &str) -> bool {
    // A fast path for the most common names.
    if matches!(expression, "${nameNode}" | "${namenode}" | "${NAME_NODE}") {
        return true;
    }
    // The letters and digits that a word may continue with; what separates them does not count.
    let mut rest = expression.bytes().filter(u8::is_ascii_alphanumeric);
    while let Some(first) = rest.next() {
        let known: &[&str] = match first.to_ascii_lowercase() {
            b'd' => &["efaultfs"],
            b'f' => &["sdefaultname"],
            b'h' => &["dfsuri", "dfsroot"],
            b'n' => &["amenode", "ameservice"],
            _ => continue,
        };
        let goes_on = |end: &str| {
            let mut own = rest.clone();
            end.bytes().all(|byte| own.next().is_some_and(|own| own.eq_ignore_ascii_case(&byte)))
        };
        if known.iter().any(|end| goes_on(end)) {
            return true;
        }
    }
    false
}

/// Splits a text at its first `://`.
pub(super) fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let at = memchr_iter(b':', text.as_bytes()).find(|at| text[at + 1..].starts_with("//"))?;
    Some((&text[..at], &text[at + 3..]))
}

/// Returns the scheme of a URI, if the text has one before any expression.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte));
    valid.then_some(scheme)
}

/// Returns the ranges in a text with scheme, `://` and literal authority (`hdfs://nn1.prod:8020`), and their texts.
pub(super) fn literal_authorities<'a>(
    text: &'a str,
    schemes: &[&str],
) -> Vec<(std::ops::Range<usize>, &'a str)> {
    let mut found = Vec::new();
    for at in memchr_iter(b':', text.as_bytes()) {
        if !text[at + 1..].starts_with("//") {
            continue;
        }
        let head = &text[..at];
        let start = head
            .rfind(|c: char| !(c.is_ascii_alphanumeric() || "+.-".contains(c)))
            .map_or(0, |before| before + head[before..].chars().next().map_or(1, char::len_utf8));
        if !schemes.contains(&&text[start..at]) {
            continue;
        }
        let rest = &text[at + 3..];
        let end = rest.find(|c: char| "/,;'\"?)} \t\r\n".contains(c)).unwrap_or(rest.len());
        let authority = &rest[..end];
        if !authority.is_empty() && !authority.contains(['$', '{', '@', '#', '%', '*', '<']) {
            found.push((start..at + 3 + end, authority));
        }
    }
    found
}

/// Whether a text is a port number.
pub(super) fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Returns the parts of a path, without empty ones.
pub(super) fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_numbers_below_65536() {
        assert!(["80", "8020", "65535"].into_iter().all(is_port));
        assert!(!["", "802O", "80200", "+80", "-1"].into_iter().any(is_port));
    }

    #[test]
    fn what_stands_behind_the_authority() {
        for (text, path) in [
            ("/a/b", Some("/a/b")),
            ("hdfs://nn:8020/a", Some("/a")),
            ("hdfs://nn", Some("")),
            ("${nameNode}/a", Some("/a")),
            ("${wf:conf('nameNode')}", Some("")),
            ("hdfs://${host}/a", Some("/a")),
            ("${nameNode}a", None),
            ("${dir}/a", None),
            ("a/b", None),
        ] {
            assert_eq!(absolute(text), path, "{text}");
        }
        for (text, path) in [
            ("${nameNode}${dir}/a/", "${dir}/a"),
            ("${dir}/a", "${dir}/a"),
            ("hdfs://nn/a", "/a"),
            ("${nameNode}/a", "/a"),
        ] {
            assert_eq!(behind_file_system(text), path, "{text}");
        }
        assert_eq!(
            literal_authorities("x hdfs://nn:1/a,hdfs://${b}/c hdfs:///d", &["hdfs"]),
            [(2..13, "nn:1")]
        );
    }
}
