//! Decides which of two nearly equal names has the typo.

/// Common words in property names, sorted.
const COMMON: [&str; 151] = [
    "address",
    "alert",
    "app",
    "application",
    "archive",
    "base",
    "batch",
    "branch",
    "bucket",
    "bundle",
    "category",
    "class",
    "cleanup",
    "cluster",
    "code",
    "column",
    "concurrency",
    "conf",
    "config",
    "contact",
    "coord",
    "coordinator",
    "cores",
    "count",
    "country",
    "customer",
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
    "environment",
    "event",
    "execution",
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
    "index",
    "input",
    "interval",
    "jar",
    "job",
    "jobtracker",
    "key",
    "keytab",
    "label",
    "language",
    "launcher",
    "level",
    "lib",
    "limit",
    "list",
    "location",
    "log",
    "mail",
    "manager",
    "mapper",
    "master",
    "max",
    "memory",
    "message",
    "metastore",
    "min",
    "mode",
    "month",
    "mysql",
    "name",
    "namenode",
    "node",
    "nominal",
    "notification",
    "num",
    "number",
    "offset",
    "oozie",
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
    "rate",
    "record",
    "records",
    "reducer",
    "region",
    "release",
    "report",
    "resource",
    "retry",
    "root",
    "schedule",
    "schema",
    "script",
    "server",
    "service",
    "shell",
    "size",
    "source",
    "spark",
    "sqoop",
    "staging",
    "start",
    "status",
    "streaming",
    "table",
    "target",
    "threshold",
    "throttle",
    "time",
    "timeout",
    "timestamp",
    "timezone",
    "tracker",
    "upstream",
    "user",
    "username",
    "value",
    "version",
    "warehouse",
    "workflow",
    "zone",
];

/// Further common words in node names.
const OF_NODES: [&str; 22] = [
    "action", "check", "clean", "copy", "create", "decision", "delete", "error", "fail", "failed",
    "failure", "fork", "insert", "join", "kill", "killed", "load", "notify", "send", "step",
    "success", "update",
];

/// Letters that look like digits, with those digits.
pub(crate) const LETTERS: [(&str, &str); 4] = [("O", "0"), ("o", "0"), ("l", "1"), ("I", "1")];

/// Whether `name` is more likely a typo of `other` than the reverse: its distinctive words occur less often in the
/// texts and are less often known words. If both are equally likely, it is not.
pub(crate) fn is_slip(name: &str, other: &str, texts: [&str; 2]) -> bool {
    // If two names differ only in case, both are words.
    !name.eq_ignore_ascii_case(other) && weight(name, other, texts) < weight(other, name, texts)
}

/// Whether two names differ only in case, and only `name` lacks the capitals that separate the words.
pub(crate) fn lacks_capitals(name: &str, other: &str) -> bool {
    let has = |text: &str| text.chars().skip(1).any(char::is_uppercase);
    name.eq_ignore_ascii_case(other) && !has(name) && has(other)
}

/// Whether two names differ only in case, and only those words of `other` in which they differ are all common: `dataSet`
/// or `Starttime`.
pub(crate) fn breaks_words(name: &str, other: &str) -> bool {
    let (own, others) = (words(name), words(other));
    let are_common = |words: &[String], rest: &[String]| {
        words.iter().filter(|word| !rest.contains(word)).all(|word| is_common(word))
    };
    name.eq_ignore_ascii_case(other)
        && own != others
        && are_common(&others, &own)
        && !are_common(&own, &others)
}

/// Whether two names differ only in case or in the signs between their words.
pub(crate) fn differ_in_signs(name: &str, other: &str) -> bool {
    name != other && plain(name) == plain(other)
}

/// Whether a name differs from another one only in a number: both are written in the same way.
pub(crate) fn is_one_of_several<'n>(name: &str, mut all: impl Iterator<Item = &'n str>) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let own = letters(name);
    own.len() < name.len() && all.any(|other| other != name && letters(other) == own)
}

/// Whether the typo is in a declared name, given that `places` uses have a nearly equal name and none has the declared
/// one: if several uses agree, or if only the declared name looks wrong.
pub(crate) fn is_in_declaration(declared: &str, given: &str, places: usize) -> bool {
    let is_plural =
        declared.strip_suffix('s') == Some(given) || given.strip_suffix('s') == Some(declared);
    let is_numbered = || is_one_of_several(declared, std::iter::once(given));
    let is_odd = || !is_plural && !is_numbered() && is_slip(declared, given, ["", ""]);
    !is_slip(given, declared, ["", ""]) && (places > 1 || is_odd())
}

/// Returns a name with the typo in one of its words corrected: a letter doubled, two letters swapped, or one left out
/// of a long word, if the word as written is not a common one.
pub(crate) fn corrected(name: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let own = words(name);
    let mut wrong = own.iter().filter_map(|word| Some((word, meant_word(word)?)));
    let (word, meant) = wrong.next().filter(|_| wrong.next().is_none())?;
    let at = lower.find(word.as_str()).filter(|_| lower.matches(word.as_str()).count() == 1)?;
    let written = &name[at..at + word.len()];
    let meant = match written.chars().next().is_some_and(char::is_uppercase) {
        true if written.chars().all(char::is_uppercase) => meant.to_ascii_uppercase(),
        true => meant[..1].to_ascii_uppercase() + &meant[1..],
        false => meant.to_owned(),
    };
    Some(format!("{}{meant}{}", &name[..at], &name[at + word.len()..]))
}

fn is_common(word: &str) -> bool {
    COMMON.binary_search(&word).is_ok()
}

/// The known word that a misspelled one was meant to be.
fn meant_word(word: &str) -> Option<&'static str> {
    if word.len() < 5 && !(word.len() == 4 && word.is_ascii()) || is_common(word) {
        return None;
    }
    let letters: Vec<char> = word.chars().collect();
    // A typo keeps the first letter and changes the length by at most one.
    let first = word.as_bytes()[0];
    let begin = COMMON.partition_point(|known| known.as_bytes()[0] < first);
    let alike = COMMON[begin..].iter().copied().take_while(|known| known.as_bytes()[0] == first);
    let may_be = |known: &&str| {
        known.len() > 3 && *known != "from" && known.len().abs_diff(letters.len()) < 2
    };
    alike.filter(may_be).find(|known| {
        let meant: Vec<char> = known.chars().collect();
        let exchanged = || {
            let mut differing = (0..meant.len()).filter(|at| letters[*at] != meant[*at]);
            let (one, two) = (differing.next(), differing.next());
            let pair = one.zip(two).filter(|(one, two)| two - one == 1);
            let last = differing.next();
            pair.is_some_and(|(one, two)| {
                last.is_none() && letters[one] == meant[two] && letters[two] == meant[one]
            })
        };
        let without = |longer: &[char], shorter: &[char], doubled: bool| {
            (1..longer.len()).any(|at| {
                let rest = || longer[..at].iter().chain(&longer[at + 1..]);
                (!doubled || longer[at] == longer[at - 1]) && rest().eq(shorter)
            })
        };
        match letters.len().cmp(&meant.len()) {
            std::cmp::Ordering::Equal => exchanged(),
            std::cmp::Ordering::Greater => without(&letters, &meant, true),
            std::cmp::Ordering::Less => {
                // Without its last letter, it may be another form of the word.
                meant.len() > 6
                    && letters.last() == meant.last()
                    && without(&meant, &letters, false)
            }
        }
    })
}

/// Whether a text contains a name by itself, not only as a part of other names.
pub(crate) fn has_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// Whether two names differ in words that are long enough for a typo: `a` and `b` are just two names.
pub(crate) fn differ_in_a_word(name: &str, other: &str) -> bool {
    let (own, others) = (words(name), words(other));
    // A capital in another place splits the name into other words.
    let ends = |text: &str| (text.chars().next(), text.chars().next_back());
    let moved = own.len() != others.len() && name.len() > 7 && ends(name) == ends(other);
    if moved && plain(name) != plain(other) {
        return true;
    }
    let lone = |words: &[String], rest: &[String]| -> bool {
        let mut differing = words.iter().filter(|word| !rest.contains(word));
        differing.next().is_some_and(|word| word.len() > 2) && differing.next().is_none()
    };
    lone(&own, &others) && lone(&others, &own)
}

/// Whether the words in which two names differ begin alike: a change at the beginning makes another word.
pub(crate) fn begin_alike(name: &str, other: &str) -> bool {
    let (own, others) = (words(name), words(other));
    let first = |words: &[String], rest: &[String]| {
        words.iter().find(|word| !rest.contains(word)).and_then(|word| word.chars().next())
    };
    first(&own, &others) == first(&others, &own)
}

/// Whether two names of several words are the same but for one word, which one of them lacks or abbreviates: `src` for
/// `source`.
pub(crate) fn is_other_form(name: &str, other: &str) -> bool {
    // A fast path: three equal words, with the characters between them, have at least this many.
    const FEWEST: usize = 6;
    let alike = |(one, other): &(&u8, &u8)| one.eq_ignore_ascii_case(other);
    let (bytes, others) = (name.as_bytes(), other.as_bytes());
    let same = bytes.iter().zip(others).take_while(alike).count();
    let after = bytes.iter().rev().zip(others.iter().rev()).take_while(alike).count();
    if same + after < FEWEST {
        return false;
    }
    let (own, others) = (words(name), words(other));
    let same = own.iter().zip(&others).take_while(|(one, other)| one == other).count();
    let (own, others) = (&own[same..], &others[same..]);
    let after = own.iter().rev().zip(others.iter().rev());
    let after = after.take_while(|(one, other)| one == other).count();
    let (own, others) = (&own[..own.len() - after], &others[..others.len() - after]);
    let is_word = |word: &String| word.len() > 2 && !word.bytes().all(|b| b.is_ascii_digit());
    same + after > 2
        && match (own, others) {
            ([word], []) | ([], [word]) => is_word(word),
            ([one], [other]) => abbreviates(one, other) || abbreviates(other, one),
            _ => false,
        }
}

/// Whether a word has some of the letters of another one, in order, beginning with the same.
fn abbreviates(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.len() > 2
        && short.chars().next() == long.chars().next()
        && !short.contains(|c: char| c.is_ascii_digit())
        && short.chars().all(|letter| letters.any(|other| other == letter))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn weight(name: &str, other: &str, texts: [&str; 2]) -> usize {
    let (all, others) = (words(name), words(other));
    let own = all.iter().filter(|word| !others.contains(word));
    let lower = texts.map(str::to_ascii_lowercase);
    let whole = name.to_ascii_lowercase();
    own.map(|word| {
        // A singular is not met where its plural is.
        let longer = || others.iter().filter(|o| !all.contains(o) && o.contains(word.as_str()));
        let met = |text: &String| {
            let other: usize = longer().map(|longer| text.matches(longer.as_str()).count()).sum();
            let met = text.matches(word.as_str()).count();
            met.saturating_sub(text.matches(&whole).count()).saturating_sub(other)
        };
        let is_common = is_common(word) || OF_NODES.contains(&word.as_str());
        let common = if is_common { 100 } else { 0 };
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
    use super::{
        COMMON, begin_alike, breaks_words, corrected, differ_in_a_word, differ_in_signs,
        is_one_of_several, is_slip, lacks_capitals,
    };

    #[test]
    fn common_words_are_sorted() {
        assert!(COMMON.is_sorted());
    }

    #[test]
    fn letters_and_numbers_at_the_end_tell_names_apart() {
        assert!(differ_in_a_word("workingDirr", "workingDir"));
        assert!(differ_in_a_word("out_putdir", "out_putdri"));
        assert!(!differ_in_a_word("initial_instance_b", "initial_instance_a"));
        assert!(!differ_in_a_word("inputA", "inputB") && !differ_in_a_word("dirIn", "dirOn"));
    }

    #[test]
    fn another_word_begins_with_another_letter() {
        assert!(begin_alike("inputFodler", "inputFolder"));
        assert!(!begin_alike("inputHolder", "inputFolder"));
    }

    #[test]
    fn one_word_is_put_right() {
        for (name, meant) in [
            ("stratTime", "startTime"),
            ("workflowPatth", "workflowPath"),
            ("HIVE_TABEL", "HIVE_TABLE"),
            ("outputDirectry", "outputDirectory"),
        ] {
            assert_eq!(corrected(name).as_deref(), Some(meant), "{name}");
        }
        for name in
            ["formDate", "tables", "patchLevel", "startTime", "dataMart", "state", "workflows"]
        {
            assert_eq!(corrected(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_without_its_capitals_is_the_slip() {
        assert!(lacks_capitals("jobtracker", "jobTracker"));
        assert!(!lacks_capitals("jobTracker", "jobtracker") && !lacks_capitals("Day", "day"));
        assert!(!lacks_capitals("jobtraker", "jobTracker") && !lacks_capitals("DAY", "day"));
    }

    #[test]
    fn capitals_are_where_common_words_begin() {
        assert!(breaks_words("firstDataSet", "firstDataset"));
        assert!(breaks_words("runStarttime", "runStartTime"));
        assert!(!breaks_words("firstDataset", "firstDataSet"));
        assert!(!breaks_words("jobtracker", "jobTracker"));
        assert!(!breaks_words("jobTracker", "jobtracker"));
    }

    #[test]
    fn names_with_numbers_are_written_alike() {
        let all = ["inputdata1", "inputdata2", "output"];
        assert!(is_one_of_several("inputdata2", all.into_iter()));
        assert!(!is_one_of_several("output", all.into_iter()));
        assert!(!is_one_of_several("input2", all.into_iter()));
    }

    #[test]
    fn the_rarer_word_is_the_slip() {
        assert!(is_slip("outputDri", "outputDir", ["", ""]));
        assert!(!is_slip("outputDir", "outputDri", ["", ""]));
        assert!(is_slip("zoneNmae", "zoneName", ["", ""]));
        // For unknown words, the texts decide.
        assert!(is_slip("flurbxDir", "flurbyDir", ["flurby_old flurby_new", ""]));
        assert!(differ_in_signs("hivepath", "hive_path") && !differ_in_signs("path", "path2"));
        // Without evidence for either name, neither is a typo.
        assert!(!is_slip("abc", "abd", ["", ""]) && !is_slip("abd", "abc", ["", ""]));
    }
}
