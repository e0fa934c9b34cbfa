//! Misspelled options of Sqoop.

use crate::diag::{Diagnostic, Fault, Fix, Group, Kind, Level, Safety, within};
use crate::lint::facts::{Action, masked};
use crate::lint::secrets::words;
use crate::lint::{Facts, Rule};
use crate::source::Span;
use crate::syntax::xml::Decoded;
use std::ops::Range;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "misspelt-sqoop-option",
        group: Group::Actions,
        summary: "an option of a Sqoop command that is almost one that Sqoop has",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/misspelt-sqoop-option.md"),
    },
    check,
};

/// Tools whose options are known; other tools may have any options.
const TOOLS: [&str; 12] = [
    "codegen",
    "create-hive-table",
    "eval",
    "export",
    "import",
    "import-all-tables",
    "import-mainframe",
    "job",
    "list-databases",
    "list-tables",
    "merge",
    "metastore",
];

/// Long options of all these tools, in Sqoop 1.4.
const OPTIONS: [&str; 151] = [
    "--accumulo-batch-size",
    "--accumulo-column-family",
    "--accumulo-create-table",
    "--accumulo-instance",
    "--accumulo-max-latency",
    "--accumulo-password",
    "--accumulo-row-key",
    "--accumulo-table",
    "--accumulo-user",
    "--accumulo-visibility",
    "--accumulo-zookeepers",
    "--all-tables-in",
    "--append",
    "--as-avrodatafile",
    "--as-binaryfile",
    "--as-parquetfile",
    "--as-sequencefile",
    "--as-textfile",
    "--autoreset-to-one-mapper",
    "--batch",
    "--bindir",
    "--boundary-query",
    "--buffersize",
    "--call",
    "--check-column",
    "--class-name",
    "--clear-staging-table",
    "--column-family",
    "--columns",
    "--compress",
    "--compression-codec",
    "--connect",
    "--connect-string",
    "--connection-manager",
    "--connection-param-file",
    "--create",
    "--create-hcatalog-table",
    "--database",
    "--dataset",
    "--datasettype",
    "--delete",
    "--delete-target-dir",
    "--direct",
    "--direct-split-size",
    "--driver",
    "--drop-and-create-hcatalog-table",
    "--enclosed-by",
    "--escaped-by",
    "--exclude-tables",
    "--exec",
    "--export-dir",
    "--external-table-dir",
    "--fetch-size",
    "--fields-terminated-by",
    "--hadoop-home",
    "--hadoop-mapred-home",
    "--hbase-bulkload",
    "--hbase-create-table",
    "--hbase-row-key",
    "--hbase-table",
    "--hcatalog-database",
    "--hcatalog-external-table",
    "--hcatalog-home",
    "--hcatalog-partition-keys",
    "--hcatalog-partition-values",
    "--hcatalog-storage-stanza",
    "--hcatalog-table",
    "--help",
    "--hive-compute-stats",
    "--hive-database",
    "--hive-delims-replacement",
    "--hive-drop-import-delims",
    "--hive-home",
    "--hive-import",
    "--hive-overwrite",
    "--hive-partition-key",
    "--hive-partition-value",
    "--hive-table",
    "--hs2-keytab",
    "--hs2-password",
    "--hs2-url",
    "--hs2-user",
    "--incremental",
    "--inline-lob-limit",
    "--input-enclosed-by",
    "--input-escaped-by",
    "--input-fields-terminated-by",
    "--input-lines-terminated-by",
    "--input-null-non-string",
    "--input-null-string",
    "--input-optionally-enclosed-by",
    "--jar-file",
    "--job",
    "--jobid",
    "--join-key",
    "--last-value",
    "--lines-terminated-by",
    "--list",
    "--lowercase-enforce-names",
    "--map-column-hive",
    "--map-column-java",
    "--mapreduce-job-name",
    "--merge-key",
    "--meta-connect",
    "--meta-password",
    "--meta-username",
    "--metadata-transaction-isolation-level",
    "--multi-threaded",
    "--mysql-delimiters",
    "--new-data",
    "--null-non-string",
    "--null-string",
    "--num-mappers",
    "--onto",
    "--optionally-enclosed-by",
    "--options-file",
    "--oracle-escaping-disabled",
    "--outdir",
    "--package-name",
    "--parquet-configurator-implementation",
    "--password",
    "--password-alias",
    "--password-file",
    "--query",
    "--relaxed-isolation",
    "--schema",
    "--show",
    "--shutdown",
    "--skip-dist-cache",
    "--split-by",
    "--split-limit",
    "--staging-table",
    "--storage-stanza",
    "--table",
    "--tables",
    "--tape",
    "--target-dir",
    "--temporary-rootdir",
    "--throw-on-error",
    "--update-key",
    "--update-mode",
    "--username",
    "--validate",
    "--validation-failurehandler",
    "--validation-threshold",
    "--validator",
    "--verbose",
    "--verify",
    "--version",
    "--warehouse-dir",
    "--where",
];

/// Options that take the next word as their value.
const VALUED: [&str; 22] = [
    "--columns",
    "--connect",
    "--driver",
    "--export-dir",
    "--hcatalog-table",
    "--hive-database",
    "--hive-table",
    "--last-value",
    "--num-mappers",
    "--options-file",
    "--password-file",
    "--query",
    "--split-by",
    "--staging-table",
    "--table",
    "--target-dir",
    "--update-key",
    "--username",
    "--warehouse-dir",
    "--where",
    "-e",
    "-m",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let all = words_of(action);
        for (name, span) in all.iter().filter(|_| is_of_one_table(&all)) {
            if name == TABLES {
                let message = format!("Sqoop has no option `{name}` for one table, and refuses it");
                out.push(
                    Diagnostic::new(&RULE.kind, *span, message)
                        .likely()
                        .did_you_mean(TABLE)
                        .fix(Fix::guess(format!("Write `{TABLE}`"), *span, TABLE)),
                );
            }
        }
        if let Some((name, span)) = all.first()
            && let Some(near) = misspelt_tool(name)
        {
            let message = format!("Sqoop has no tool `{name}`");
            out.push(
                Diagnostic::new(&RULE.kind, *span, message)
                    .likely()
                    .did_you_mean(near)
                    .fix(Fix::guess(format!("Write `{near}`"), *span, near)),
            );
        }
        if let Some((name, span)) = all.first().filter(|(name, _)| OPTIONS.contains(&name.as_str()))
        {
            let message = format!("the name of a tool comes before `{name}`");
            let found = Diagnostic::new(&RULE.kind, *span, message).likely();
            out.push(
                found.help("the first argument of Sqoop is a tool: `import`, `export`, `eval`"),
            );
        }
        let words = options(all);
        // An option at the end of the command, or before another option, lacks its value.
        for (at, (name, span)) in words.iter().enumerate() {
            let next = words.get(at + 1).map(|(word, _)| word.as_str());
            let lacks = next.is_none_or(|next| OPTIONS.contains(&next));
            // One hyphen is equivalent to two.
            let is_valued = VALUED.iter().any(|known| known == name || known[1..] == *name);
            // An equals sign is equivalent to a blank.
            let has_own = facts.tree.text()[span.end as usize..].starts_with('=');
            if is_valued && lacks && !has_own {
                let message = format!("`{name}` has no value");
                let found = Diagnostic::new(&RULE.kind, *span, message).of(Fault::NoValue);
                out.push(found.likely());
            }
        }
        let words = words.into_iter().filter(|(word, _)| word.starts_with('-') && word.len() > 3);
        for (name, span) in words {
            let option = name.split([' ', '\t']).next().filter(|option| option.len() < name.len());
            if let Some(option) = option.filter(|option| OPTIONS.contains(option)) {
                let message = format!("`{option}` and its value are two arguments");
                out.push(
                    Diagnostic::new(&RULE.kind, span, message)
                        .likely()
                        .help("write each of them in an `arg` of its own"),
                );
                continue;
            }
            if OPTIONS.contains(&name.as_str()) {
                continue;
            }
            // One hyphen suffices, also for a long name; options of Hadoop begin this way too.
            let single = !name.starts_with("--");
            let long = if single { format!("-{name}") } else { name.clone() };
            let of_hadoop = ["-D", "-archives", "-conf", "-files", "-fs", "-jt", "-libjars"];
            if OPTIONS.contains(&long.as_str())
                || single && (name.len() < 6 || of_hadoop.iter().any(|one| name.starts_with(one)))
            {
                continue;
            }
            // Only a difference of a letter or two counts: a connector may have options of its own.
            let most = if single { 1 } else { 2 };
            let near = OPTIONS
                .into_iter()
                .filter(|known| known.len().abs_diff(long.len()) <= 2)
                .filter_map(|known| Some((within(&long, known, most)?, known)))
                .min();
            let Some((_, near)) = near else { continue };
            let message = format!("Sqoop has no option `{name}`, and refuses it");
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .likely()
                    .did_you_mean(near)
                    .fix(Fix::guess(format!("Write `{near}`"), span, near)),
            );
        }
    }
}

/// An option of tools for many tables, and that of the tools for one.
const TABLES: &str = "--tables";
const TABLE: &str = "--table";

/// Whether a command runs a tool that takes the name of one table, and does not name it.
fn is_of_one_table(words: &[(String, Span)]) -> bool {
    let tool = words.first().map(|(tool, _)| tool.as_str());
    tool.is_some_and(|tool| ["export", "import"].contains(&tool))
        && words.iter().all(|(word, _)| word != TABLE)
}

/// Returns the tool that a misspelled name stands for.
fn misspelt_tool(name: &str) -> Option<&'static str> {
    // A difference of two letters is unambiguous; a site's own tool has a more different name.
    let is_name = name.len() > 2 && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    if !is_name || TOOLS.contains(&name) || ["help", "version"].contains(&name) {
        return None;
    }
    let near = TOOLS.into_iter().filter_map(|tool| Some((within(name, tool, 2)?, tool)));
    near.filter(|(_, tool)| tool.len() > 4).min().map(|(_, tool)| tool)
}

/// Returns the words that Sqoop itself parses, for a tool whose options are known: those before a `--`. The words after
/// it are for another program; in `job`, the words after the first `--` are for the tool that the job runs.
fn options(words: Vec<(String, Span)>) -> Vec<(String, Span)> {
    let is_known = words.first().is_some_and(|(tool, _)| TOOLS.contains(&tool.as_str()));
    let mut ends = 1 + usize::from(words.first().is_some_and(|(tool, _)| tool == "job"));
    let own = words.into_iter().take_while(|(word, _)| {
        ends -= usize::from(word == "--");
        is_known && ends > 0
    });
    own.filter(|(word, _)| word != "--").collect()
}

/// Returns the words of a Sqoop action with their spans, the tool first.
fn words_of(action: &Action<'_>) -> Vec<(String, Span)> {
    let mut found: Vec<(String, Span)> = Vec::new();
    let mut add = |text: &Decoded<'_>, plain: &str, range: Range<usize>| {
        let name = plain[range.clone()].split('=').next().unwrap_or_default();
        found.push((name.to_owned(), text.source(range.start..range.start + name.len())));
    };
    // An expression may evaluate to any word.
    match action.text("command") {
        Some(text) => {
            let plain = masked(&text.text);
            let mut ranges = words(&plain);
            // The server drops the name of the program before a tool.
            let is_tool = |range: &Range<usize>| !plain[range.clone()].starts_with('-');
            if ranges
                .first()
                .is_some_and(|first| plain[first.clone()].eq_ignore_ascii_case("sqoop"))
                && ranges.get(1).is_some_and(is_tool)
            {
                ranges.remove(0);
            }
            ranges.into_iter().for_each(|range| add(&text, &plain, range));
        }
        // Each `arg` is one word, regardless of blanks in it.
        None => {
            for text in action.texts(&["arg"]) {
                let plain = masked(&text.text);
                add(&text, &plain, 0..plain.len());
            }
        }
    }
    found
}
