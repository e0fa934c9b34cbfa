//! Which of two names that are nearly the same is the one with the slip.

/// Words that names of properties are made of.
const COMMON: [&str; 118] = [
    "address",
    "alert",
    "app",
    "archive",
    "base",
    "batch",
    "bucket",
    "category",
    "class",
    "cluster",
    "code",
    "column",
    "conf",
    "config",
    "contact",
    "count",
    "country",
    "cutoff",
    "data",
    "database",
    "dataset",
    "date",
    "day",
    "days",
    "db",
    "dir",
    "directory",
    "driver",
    "duration",
    "email",
    "end",
    "env",
    "executor",
    "export",
    "file",
    "filename",
    "files",
    "folder",
    "format",
    "frequency",
    "from",
    "hbase",
    "header",
    "hive",
    "home",
    "host",
    "hostname",
    "hour",
    "id",
    "import",
    "input",
    "interval",
    "jar",
    "job",
    "jobtracker",
    "key",
    "keytab",
    "language",
    "level",
    "lib",
    "limit",
    "list",
    "location",
    "log",
    "mail",
    "mapper",
    "master",
    "max",
    "memory",
    "message",
    "metastore",
    "min",
    "mode",
    "month",
    "name",
    "namenode",
    "node",
    "nominal",
    "notification",
    "num",
    "number",
    "output",
    "partition",
    "password",
    "path",
    "port",
    "prefix",
    "principal",
    "project",
    "query",
    "queue",
    "reducer",
    "region",
    "report",
    "retry",
    "root",
    "schema",
    "script",
    "server",
    "service",
    "size",
    "source",
    "start",
    "staging",
    "streaming",
    "table",
    "target",
    "threshold",
    "time",
    "timeout",
    "timestamp",
    "tracker",
    "upstream",
    "user",
    "username",
    "version",
    "warehouse",
    "workflow",
];

/// Whether `name` is more likely a slip of `other` than the other way round: its own words are met less often in the
/// texts, and are less often words at all. Where both are as likely, it is not.
pub(crate) fn is_slip(name: &str, other: &str, texts: [&str; 2]) -> bool {
    // Of two that differ in capitals alone, both are words.
    !name.eq_ignore_ascii_case(other) && weight(name, other, texts) < weight(other, name, texts)
}

/// Whether a text has a name on its own, and not only as a part of others.
pub(crate) fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// Whether two names differ in words that are long enough to hold a slip: `a` and `b` are two names of one kind.
pub(crate) fn differ_in_a_word(name: &str, other: &str) -> bool {
    let (own, others) = (words(name), words(other));
    let lone = |words: &[String], rest: &[String]| -> bool {
        let mut differing = words.iter().filter(|word| !rest.contains(word));
        differing.next().is_some_and(|word| word.len() > 2) && differing.next().is_none()
    };
    lone(&own, &others) && lone(&others, &own)
}

fn weight(name: &str, other: &str, texts: [&str; 2]) -> usize {
    let others = words(other);
    let own = words(name).into_iter().filter(|word| !others.contains(word));
    let lower = texts.map(str::to_ascii_lowercase);
    let whole = name.to_ascii_lowercase();
    own.map(|word| {
        let met = |text: &String| {
            text.matches(&word).count().saturating_sub(text.matches(&whole).count())
        };
        let common = if COMMON.contains(&word.as_str()) { 100 } else { 0 };
        common + lower.iter().map(met).sum::<usize>().min(50)
    })
    .sum()
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if let Some(last) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            last.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::{differ_in_a_word, is_slip};

    #[test]
    fn letters_and_numbers_at_the_end_tell_names_apart() {
        assert!(differ_in_a_word("workingDirr", "workingDir"));
        assert!(differ_in_a_word("out_putdir", "out_putdri"));
        assert!(!differ_in_a_word("initial_instance_b", "initial_instance_a"));
        assert!(!differ_in_a_word("inputA", "inputB") && !differ_in_a_word("dirIn", "dirOn"));
    }

    #[test]
    fn the_rarer_word_is_the_slip() {
        assert!(is_slip("outputDri", "outputDir", ["", ""]));
        assert!(!is_slip("outputDir", "outputDri", ["", ""]));
        assert!(is_slip("zoneNmae", "zoneName", ["", ""]));
        // Where nobody knows the words, the texts tell.
        assert!(is_slip("flurbxDir", "flurbyDir", ["flurby_old flurby_new", ""]));
        // Two names of which neither says anything are equals.
        assert!(!is_slip("abc", "abd", ["", ""]) && !is_slip("abd", "abc", ["", ""]));
    }
}
