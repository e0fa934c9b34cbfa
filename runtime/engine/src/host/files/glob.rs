//! Patterns of Hadoop's `globStatus`.
//!
//! `*` and `?` never match `/`, `[a-c]` and `[^a]` are classes, `{a,b}` are alternatives that may contain slashes, `\`
//! escapes the next character. A hidden file needs no dot of its own, as in Hadoop.

use std::io;

use super::{FileUri, Files};

/// How many patterns braces may unfold to; more are refused.
const ALTERNATIVES: usize = 1_000;

pub(super) fn expand<F: Files + ?Sized>(
    files: &F,
    pattern: &FileUri,
    limit: usize,
) -> io::Result<Vec<FileUri>> {
    let mut found = Vec::new();
    for path in unfold(&pattern.path)? {
        // Breadth first, a part of the path at a time; what cannot be there is not listed.
        let mut here = vec![pattern.with_path("/")];
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let mut next = Vec::new();
            for folder in &here {
                if has_wildcard(part) {
                    for name in files.list(folder)? {
                        if matches(part, &name) {
                            next.push(folder.child(&name));
                        }
                    }
                } else {
                    next.push(folder.child(&unescape(part)));
                }
                if next.len() > limit.max(ALTERNATIVES) {
                    break;
                }
            }
            here = next;
        }
        for uri in here {
            if files.kind(&uri)?.is_some() && !found.contains(&uri) {
                found.push(uri);
            }
            if found.len() > limit {
                found.sort();
                return Ok(found);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// One pattern for each way through the braces.
fn unfold(pattern: &str) -> io::Result<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(pattern) = open.pop() {
        let Some((start, end)) = first_braces(&pattern) else {
            done.push(pattern);
            continue;
        };
        let inner = &pattern[start + 1..end];
        for alternative in alternatives(inner) {
            open.push(format!("{}{alternative}{}", &pattern[..start], &pattern[end + 1..]));
        }
        if open.len() + done.len() > ALTERNATIVES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the pattern has too many alternatives",
            ));
        }
    }
    done.sort();
    Ok(done)
}

/// The outermost first pair of braces.
fn first_braces(pattern: &str) -> Option<(usize, usize)> {
    let bytes = pattern.as_bytes();
    let mut depth = 0;
    let mut start = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'{' => {
                start = start.or(Some(at));
                depth += 1;
            }
            b'}' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    return start.map(|start| (start, at));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn alternatives(inner: &str) -> Vec<&str> {
    let bytes = inner.as_bytes();
    let (mut from, mut depth, mut at) = (0, 0, 0);
    let mut out = Vec::new();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                out.push(&inner[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push(&inner[from.min(inner.len())..]);
    out
}

fn has_wildcard(part: &str) -> bool {
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' | '?' | '[' => return true,
            '\\' => {
                characters.next();
            }
            _ => {}
        }
    }
    false
}

fn unescape(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        out.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    out
}

/// Whether one name matches one part of a pattern; linear but for the last `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match one(&pattern[p..], name[n]) {
            Some(length) => {
                p += length;
                n += 1;
            }
            None => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    p = behind;
                    n = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|character| *character == '*')
}

/// How many characters of the pattern match this one character.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match *pattern.first()? {
        '?' => Some(1),
        '\\' => (pattern.get(1) == Some(&character)).then_some(2),
        '[' => {
            let end = pattern.iter().skip(2).position(|c| *c == ']')? + 2;
            let negated = matches!(pattern[1], '^' | '!');
            let class = &pattern[if negated { 2 } else { 1 }..end];
            let mut found = false;
            let mut at = 0;
            while at < class.len() {
                if class.get(at + 1) == Some(&'-') && at + 2 < class.len() {
                    found |= class[at] <= character && character <= class[at + 2];
                    at += 3;
                } else {
                    found |= class[at] == character;
                    at += 1;
                }
            }
            (found != negated).then_some(end + 1)
        }
        other => (other == character).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_hadoop() {
        for (pattern, name, expected) in [
            ("*", "a", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("part-?????", "part-00001", true),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("[", "[", false),
            ("*.txt", ".txt", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        assert_eq!(unfold("/{a,b{1,2}}/c").expect("few"), ["/a/c", "/b1/c", "/b2/c"]);
        assert!(unfold(&"{a,b}".repeat(40)).is_err());
    }
}
