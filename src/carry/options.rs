//! Splits a text of options, which may contain expressions, into words as a launcher does.
//!
//! Takes the parts of a text in the language of a target. Each resulting word is one argument, or as many as its
//! expressions evaluate to. [`spark`] parses `<spark-opts>`, and [`java`] `<java-opts>`.

/// The placeholder for an expression: a noncharacter, which has no meaning in XML.
const HOLE: char = '\u{fdd0}';

/// A word: its text, and whether it is one argument whatever its expressions evaluate to.
type Taken = (String, bool);

/// Splits the parts of a text into words. Returns the parts of each word, and whether it is one argument.
pub(super) fn apart<P: Clone>(
    parts: &[P],
    literal: impl Fn(&P) -> Option<String>,
    made: impl Fn(&str) -> P,
    take: fn(&str) -> Vec<Taken>,
) -> Vec<(Vec<P>, bool)> {
    let mut marked = String::new();
    for part in parts {
        match literal(part) {
            Some(text) => marked.push_str(&text),
            None => marked.push(HOLE),
        }
    }
    let mut values = parts.iter().filter(|part| literal(part).is_none()).cloned();
    let mut words = Vec::new();
    for (word, is_one) in take(&marked) {
        let mut found = Vec::new();
        for (at, text) in word.split(HOLE).enumerate() {
            if at > 0 {
                found.extend(values.next());
            }
            if !text.is_empty() {
                found.push(made(text));
            }
        }
        words.push((found, is_one));
    }
    words
}

/// Splits `<spark-opts>`. An option extends to the next one, and a value that is quoted as a whole loses its quotes. A
/// word that begins with an expression is taken for separate options.
pub(super) fn spark(text: &str) -> Vec<Taken> {
    let mut starts = vec![0];
    let mut is_quoted = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        let is_key = rest.strip_prefix("--").is_some_and(|key| {
            key.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '.')
        });
        if before.is_whitespace() && at > 0 && (is_key || (c == HOLE && !is_quoted)) {
            starts.push(at);
            is_quoted = false;
        }
        is_quoted ^= c == '"';
        before = c;
    }
    let mut words: Vec<Taken> = Vec::new();
    for (number, start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(text.len());
        let option = text[*start..end].trim();
        if !option.starts_with("--") {
            words.extend(option.split_whitespace().map(|word| (word.to_owned(), false)));
            continue;
        }
        let key_end = option.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(option.len());
        words.push((option[..key_end].to_owned(), true));
        let value = option[key_end..].trim_start_matches('=').trim();
        if !value.is_empty() {
            words.push((unquoted(value), true));
        }
    }
    words
}

/// Turns `"v"` into `v` and `k="v"` into `k=v`, if there are no other quotes inside.
fn unquoted(value: &str) -> String {
    let inner = |text: &str| {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| inner.to_owned())
    };
    let of_key = || {
        let (key, rest) = value.split_once('=')?;
        (!key.contains('"')).then(|| inner(rest).map(|inner| format!("{key}={inner}")))?
    };
    inner(value).or_else(of_key).unwrap_or_else(|| value.to_owned())
}

/// Splits `<java-opts>` at whitespace, as the shell of a container does: quotes keep a word together and are removed. A
/// quote that is never closed is an ordinary character.
pub(super) fn java(text: &str) -> Vec<Taken> {
    let mut words: Vec<Taken> = Vec::new();
    let (mut word, mut is_open, mut is_one) = (String::new(), false, true);
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            None if matches!(c, '"' | '\'') && text[at + 1..].contains(c) => {
                (quote, is_open) = (Some(c), true);
            }
            None if c.is_whitespace() => {
                if std::mem::take(&mut is_open) {
                    words.push((std::mem::take(&mut word), std::mem::replace(&mut is_one, true)));
                }
            }
            _ => {
                is_one &= c != HOLE || quote.is_some();
                is_open = true;
                word.push(c);
            }
        }
    }
    if is_open {
        words.push((word, is_one));
    }
    // A word with quoted whitespace is one argument as a whole.
    let holds = |(word, is_one): Taken| {
        let is_whole = is_one || word.contains(char::is_whitespace);
        (word, is_whole)
    };
    words.into_iter().map(holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(take: fn(&str) -> Vec<Taken>, text: &str, expected: &[(&str, bool)]) {
        let text = text.replace('@', &HOLE.to_string());
        let found: Vec<Taken> =
            take(&text).into_iter().map(|(word, one)| (word.replace(HOLE, "@"), one)).collect();
        let expected: Vec<Taken> =
            expected.iter().map(|(word, one)| ((*word).to_owned(), *one)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn options_of_spark_reach_to_the_next() {
        let options = [("--conf", true), ("a=-Db=1 -Dc=@", true), ("--jars", true), ("x,y", true)];
        check(spark, "--conf a=\"-Db=1 -Dc=@\" --jars=x,y", &options);
        check(
            spark,
            "--name a b --verbose",
            &[("--name", true), ("a b", true), ("--verbose", true)],
        );
        check(
            spark,
            "@ --conf a=@ @",
            &[("@", false), ("--conf", true), ("a=@", true), ("@", false)],
        );
        check(spark, "", &[]);
    }

    #[test]
    fn options_of_java_are_words_of_a_shell() {
        check(
            java,
            " -Da='b c'  -De=@ \"-Df=@\" ''",
            &[("-Da=b c", true), ("-De=@", false), ("-Df=@", true), ("", true)],
        );
        check(java, "-Da=it's -Db=\"@ c\"@", &[("-Da=it's", true), ("-Db=@ c@", true)]);
    }
}
