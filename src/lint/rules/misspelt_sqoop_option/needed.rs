//! Options without which Sqoop refuses a command.

use super::{RULE, TABLES, Word, tools};
use crate::diag::Diagnostic;

/// An option that is needed: with these tools, if one of these options is given (if any is listed), unless one of these
/// others is.
struct Needed {
    tool: &'static str,
    with: &'static [&'static str],
    unless: &'static [&'static str],
    words: &'static str,
}

const QUERY: [&str; 2] = ["--query", "-e"];
const NEEDED: [Needed; 5] = [
    Needed {
        tool: "import",
        with: &[],
        unless: &["--table", "--query", "-e", TABLES],
        words: "needs `--table` or `--query`",
    },
    Needed {
        tool: "import",
        with: &QUERY,
        unless: &[
            "--target-dir",
            "--hbase-table",
            "--hcatalog-table",
            "--accumulo-table",
            "--warehouse-dir",
        ],
        words: "needs `--target-dir` for its query",
    },
    Needed {
        tool: "export",
        with: &[],
        unless: &["--table", "--call", TABLES],
        words: "needs `--table` or `--call`",
    },
    Needed {
        tool: "export",
        with: &[],
        unless: &["--export-dir", "--hcatalog-table", "--target-dir", "--warehouse-dir"],
        words: "needs `--export-dir` or `--hcatalog-table`",
    },
    Needed { tool: "eval", with: &[], unless: &QUERY, words: "needs `--query`" },
];

/// The values that a variable's name shows it to be, with the options that take them.
const NAMED: [(&str, &[&str]); 3] = [
    ("user", &["--username"]),
    ("pass", &["--password", "--password-alias", "--password-file"]),
    ("table", &["--table", "--hcatalog-table", "--hive-table", "--staging-table"]),
];

/// Parts of the names of variables that may be options.
const OPTIONS: [&str; 5] = ["arg", "extra", "flag", "opt", "param"];

/// Finds an option that the tool needs and does not get, or a variable before which an option is missing.
pub(super) fn missing(words: &[Word]) -> Option<Diagnostic> {
    let tool = words.first()?;
    let has = |options: &[&str]| {
        let is_one = |word: &Word, option: &str| word.name == option || word.name == option[1..];
        words.iter().any(|word| options.iter().any(|option| is_one(word, option)))
    };
    let own = || words[1..].iter().take_while(|word| !word.ends_options());
    // A file, and what an expression supplies, may have further options.
    let mut before = tool;
    let mut lone = Vec::new();
    for word in own() {
        let is_value = tools::is_valued(&before.name) && !before.has_own;
        if word.is_open && !is_value {
            lone.push(word);
        }
        before = word;
    }
    let brings = |word: &Word| {
        ["--options-file", "-options-file"].contains(&word.name.as_str())
            || word.name.starts_with('-') && word.name.len() > 2 && !tools::is_option(&word.name)
    };
    if own().any(brings) || words.iter().any(|word| word.ends_options()) {
        return None;
    }
    let needed = NEEDED.iter().find(|needed| {
        needed.tool == tool.name
            && (needed.with.is_empty() || has(needed.with))
            && !has(needed.unless)
    });
    if let [word] = lone[..] {
        let name = word.variable.as_deref()?.to_ascii_lowercase();
        let may_be_option = OPTIONS.iter().any(|part| name.contains(part));
        let named = NAMED.iter().find(|(part, _)| name.contains(part));
        let option = match (named, needed) {
            (Some((_, options)), _) if !has(options) => options[0],
            (None, Some(needed)) if !may_be_option => needed.unless[0],
            _ => return None,
        };
        if tools::lacks(&tool.name, option) {
            return None;
        }
        let message = format!("this value belongs to no option; `{option}` is missing");
        return Some(Diagnostic::new(&RULE.kind, word.span, message).likely());
    }
    let needed = needed.filter(|_| lone.is_empty())?;
    let message = format!("`{}` {}", tool.name, needed.words);
    Some(Diagnostic::new(&RULE.kind, tool.span, message).likely())
}
