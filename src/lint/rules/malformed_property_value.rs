//! Property values of the wrong form.

use crate::diag::{Diagnostic, Group, Kind, Level, nearest, within};
use crate::lint::facts::{Said, USED_HERE};
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "malformed-property-value",
        group: Group::Parameters,
        summary: "a value that is invalid for its property",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/malformed-property-value.md"),
    },
    check,
};

/// Endings of the names of numeric properties.
const NUMBERS: [&str; 38] = [
    ".memory.mb",
    ".vcores",
    ".map.tasks",
    ".reduce.tasks",
    ".job.maps",
    ".job.reduces",
    ".maxattempts",
    ".max.attempts",
    ".sort.mb",
    ".sort.factor",
    ".executor.instances",
    ".executor.cores",
    ".driver.cores",
    ".max.retries",
    ".retry.interval",
    "mapred.task.timeout",
    "mapreduce.task.timeout",
    ".split.maxsize",
    ".split.minsize",
    "mapred.max.split.size",
    "mapred.min.split.size",
    "dfs.replication",
    ".dynamic.partitions",
    ".dynamic.partitions.pernode",
    ".created.files",
    ".reducers.max",
    ".parallel.thread.number",
    ".size.per.task",
    ".smallfiles.avgsize",
    ".shuffle.partitions",
    ".default.parallelism",
    ".minExecutors",
    ".maxExecutors",
    ".initialExecutors",
    ".task.cpus",
    ".cores.max",
    ".container.size",
    "committer.algorithm.version",
];

/// Beginnings of the names of properties whose numbers have no unit.
const WHOLE: [&str; 5] = ["hive.exec.", "hive.tez.container.size", "mapred", "spark.", "tez."];

/// Properties with a few values, and those values in lower case. `strict` and the like are those of Hive's modes.
const CHOICES: [(&str, &[&str], &str); 10] = [
    ("hive.exec.dynamic.partition.mode", MODES, "neither `strict` nor `nonstrict`"),
    ("hive.mapred.mode", MODES, "neither `strict` nor `nonstrict`"),
    ("hive.execution.engine", &["mr", "tez", "spark"], "none of `mr`, `tez` and `spark`"),
    ("spark.submit.deployMode", &["client", "cluster"], NO_MODE),
    ("mapred.output.compression.type", BLOCKS, NO_BLOCK),
    ("mapreduce.output.fileoutputformat.compress.type", BLOCKS, NO_BLOCK),
    (
        "mapreduce.framework.name",
        &["local", "classic", "yarn", "yarn-tez"],
        "none of `yarn`, `local` and `classic`",
    ),
    ("hadoop.security.authentication", &["simple", "kerberos"], "neither `simple` nor `kerberos`"),
    ("mapred.job.priority", PRIORITIES, NO_PRIORITY),
    ("mapreduce.job.priority", PRIORITIES, NO_PRIORITY),
];
const MODES: &[&str] = &["strict", "nonstrict"];
const BLOCKS: &[&str] = &["none", "record", "block"];
const PRIORITIES: &[&str] =
    &["very_high", "high", "normal", "low", "very_low", "default", "undefined_priority"];
const NO_PRIORITY: &str =
    "not a priority, which is `VERY_HIGH`, `HIGH`, `NORMAL`, `LOW` or `VERY_LOW`";
const NO_BLOCK: &str = "none of `NONE`, `RECORD` and `BLOCK`";

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for configuration in facts.configurations().iter().copied() {
        for property in facts.block(configuration) {
            let Some(value) = property.value.as_ref().map(|value| value.trim()) else { continue };
            let Some(said) = Said::of(facts, &value) else { continue };
            if let Some(why) = problem(&property.name.text, said.value) {
                let found = finding(value.span(), &property.name.text, why);
                out.push(said.place(facts, found, USED_HERE));
            }
        }
    }
    for action in facts.actions.iter().filter(|action| action.kind() == "java") {
        for text in action.texts(&["java-opt", "java-opts"]) {
            let Some(said) = Said::of(facts, &text) else { continue };
            let Some(why) = java_options(said.value) else { continue };
            let message = format!("{} is {why}", said.words());
            let found = Diagnostic::new(&RULE.kind, text.span(), message).likely();
            out.push(said.place(facts, found, USED_HERE));
        }
    }
    for action in facts.actions.iter().filter(|action| action.is(&["spark", "spark2", "spark3"])) {
        for (name, is_known, known) in
            [("mode", is_mode as fn(&str) -> bool, NO_MODE), ("master", is_master, NO_MASTER)]
        {
            let Some(text) = action.text(name) else { continue };
            let Some(said) = Said::of(facts, &text) else { continue };
            // A value that a build fills in is unknown.
            let filled_in = said.value.contains(['@', '#', '%', '{', '$']);
            if said.value.is_empty() || filled_in || is_known(said.value) {
                continue;
            }
            let message = format!("{} is {known}", said.words());
            let finding = Diagnostic::new(&RULE.kind, text.span(), message);
            out.push(said.place(facts, finding, USED_HERE));
        }
    }
    alert_events(facts, out);
    for (source, entries) in facts.value_files() {
        for entry in entries {
            let value = entry.value.trim();
            if let Some(why) = problem(&entry.name, value).or_else(|| of_name(&entry.name, value)) {
                let found = finding(entry.value_span, &entry.name, why);
                out.push(found.in_file(source.path.clone()));
            }
        }
    }
}

/// The events of an SLA, of which the server takes any other for `END_MISS`.
const EVENTS: [&str; 6] =
    ["duration_met", "duration_miss", "end_met", "end_miss", "start_met", "start_miss"];

/// Reports events that no SLA of a workflow has. A coordinator's SLA has a rule of its own.
fn alert_events(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if facts.workflow().is_none() {
        return;
    }
    for element in facts.named(&["alert-events"]) {
        let text = element.text().trimmed();
        let mut at = 0;
        for event in text.text.split(',') {
            let name = event.trim();
            let start = at + event.len() - event.trim_start().len();
            at += event.len() + 1;
            let lower = name.to_ascii_lowercase();
            if name.contains('$') || EVENTS.contains(&lower.as_str()) {
                continue;
            }
            let message = format!("`{name}` is treated as `end_miss`");
            let span = text.source(start..start + name.len());
            let found = Diagnostic::new(&RULE.kind, span, message);
            out.push(match nearest(&lower, EVENTS) {
                Some(near) => found.did_you_mean(near),
                None => found.help("the events are start_miss, end_miss and duration_miss"),
            });
        }
    }
}

const NO_MODE: &str = "neither `client` nor `cluster`";
const NO_MASTER: &str = "not a master that Spark knows: `yarn`, `local[*]`, `spark://…`";

/// Returns why a value does not fit a property whose name shows its meaning, wherever it is read.
fn of_name(name: &str, value: &str) -> Option<&'static str> {
    if ["ture", "treu", "flase", "fasle", "fales"]
        .iter()
        .any(|slip| value.eq_ignore_ascii_case(slip))
    {
        return Some("nearly `true` or `false`");
    }
    // A fast path: most names end with another letter.
    let last = name.bytes().rfind(u8::is_ascii_alphanumeric)?;
    if !matches!(last.to_ascii_lowercase(), b'r' | b'e' | b'y' | b's') {
        return None;
    }
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let nearly = |known: &[&str]| known.iter().any(|known| within(value, known, 2).is_some());
    if plain.ends_with("sparkmaster") || plain == "master" {
        let known = ["yarn", "yarn-client", "yarn-cluster"];
        return (!is_master(value) && nearly(&known)).then_some(NO_MASTER);
    }
    if plain.ends_with("deploymode") || plain.ends_with("sparkmode") {
        return (!is_mode(value) && nearly(&["client", "cluster"])).then_some(NO_MODE);
    }
    if plain.ends_with("queuename") || plain == "queue" {
        // The URI of a file system was swapped with this value, which is reported at the other property.
        let is_path = value.contains('/') && !value.contains("://");
        let lower = value.to_ascii_lowercase();
        let is_default = within(&lower, "default", 2).is_some_and(|distance| distance > 0)
            && value.len() == "default".len();
        return is_path
            .then_some("a path, not the name of a queue")
            .or(is_default.then_some("nearly `default`, the name of the usual queue"));
    }
    const COUNTED: [&str; 7] =
        ["cores", "executors", "instances", "mappers", "partitions", "reducers", "tasks"];
    if COUNTED.iter().any(|end| plain.ends_with(end)) {
        let is_slip = has_letter_for_digit(value) || is_one_and_letter(value);
        return is_slip.then_some("not a number: it has a letter in place of a digit");
    }
    if ["executormemory", "drivermemory"].iter().any(|end| plain.ends_with(end)) {
        let starts = value.starts_with(|c: char| c.is_ascii_digit()) && is_word_of(value);
        if starts && let Some(why) = of_memory(value) {
            return Some(why);
        }
    }
    if plain.ends_with("memory") {
        let (number, unit) = value.split_once([' ', '\t'])?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let unit = unit.trim().to_ascii_lowercase();
        let is_unit = ["k", "m", "g", "t", "kb", "mb", "gb", "tb"].contains(&unit.as_str());
        return (is_number && is_unit).then_some("a size with a space before its unit");
    }
    None
}

fn is_mode(text: &str) -> bool {
    ["client", "cluster"].contains(&text)
}

fn is_master(text: &str) -> bool {
    let local = text.strip_prefix("local");
    ["yarn", "yarn-client", "yarn-cluster", "yarn-standalone"].contains(&text)
        || local.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with("[") && rest.ends_with(']') || rest.starts_with("-cluster[")
        })
        // Masters of other cluster managers, and of plug-ins.
        || text.split_once("://").is_some_and(|(manager, _)| {
            let known = ["spark", "mesos", "k8s"];
            known.contains(&manager) || known.iter().all(|known| within(manager, known, 1).is_none())
        })
}

pub(super) fn finding(span: Span, name: &str, why: &str) -> Diagnostic {
    let message = format!("the value of `{name}` is {why}");
    Diagnostic::new(&RULE.kind, span, message).likely()
}

/// Returns why a property cannot have a value.
pub(super) fn problem(name: &str, value: &str) -> Option<&'static str> {
    // A trailing semicolon has a finding of its own.
    if value.is_empty() || value.contains("${") || value.ends_with(';') {
        return None;
    }
    // About as long as one of the two words; one more letter may have four bytes.
    if (3..10).contains(&value.len()) && name.contains('.') {
        let lower = value.to_ascii_lowercase();
        let slip = |word: &str| lower != word && within(&lower, word, 1).is_some();
        // These are words of their own.
        if !["fale", "rue", "tree", "tue", "true", "false"].contains(&lower.as_str()) {
            if slip("true") {
                return Some("almost `true`, but is treated as false");
            }
            if slip("false") {
                return Some("nearly `false`");
            }
        }
    }
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_plain = |inner: &str| {
        ["true", "false"].contains(&inner)
            || !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit())
    };
    if name.contains('.') && inner.is_some_and(is_plain) {
        return Some("in quotes, which become part of it");
    }
    let of_class = name.starts_with("mapred") && name.ends_with(".class");
    let is_part = |part: &str| {
        part.is_empty()
            || part.contains(['/', ' ', '\t'])
            || part.contains("..")
            || [".class", ".java", ".jar"].iter().any(|end| part.ends_with(end))
    };
    if of_class && value.split(',').map(str::trim).any(is_part) {
        return Some("not the name of a class");
    }
    if name == "oozie.libpath" && ["true", "false"].contains(&value) {
        return Some("not a folder: `oozie.use.system.libpath` switches the share library on");
    }
    let is_word = || value.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let says = |word: &str| value.eq_ignore_ascii_case(word);
    if is_switch(name) && is_word() && !says("true") && !says("false") {
        return Some("neither `true` nor `false`, and is ignored");
    }
    let of_java = name.ends_with(".java.opts") || name.ends_with(".command-opts");
    if of_java && let Some(why) = java_options(value) {
        return Some(why);
    }
    let bare = name.strip_prefix("oozie.launcher.").unwrap_or(name);
    if let Some((_, all, why)) = CHOICES.iter().find(|(known, _, _)| *known == bare)
        && is_word_of(value)
        && !value.bytes().all(|byte| byte.is_ascii_digit())
        && !all.contains(&&*value.to_ascii_lowercase())
    {
        return Some(why);
    }
    if ["spark.driver.memory", "spark.executor.memory"].contains(&name)
        && let Some(why) = of_memory(value)
    {
        return Some(why);
    }
    if name == "spark.executor.extraJavaOptions" && value.contains("-Xmx") {
        return Some("refused by Spark: `spark.executor.memory` sets the size of the heap");
    }
    if name.contains('.') && has_letter_for_digit(value) {
        return Some("not a number: it has a letter in place of a digit");
    }
    let number = NUMBERS.iter().any(|end| name.ends_with(end));
    // Sizes may be followed by a unit.
    let is_number = value.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let whole = (name.contains("mapred") || WHOLE.iter().any(|start| bare.starts_with(start)))
        && !name.ends_with(".retry.interval")
        && NUMBERS.iter().any(|end| name.ends_with(end));
    let tail = value.trim_start_matches('-');
    let has_unit = !tail.is_empty() && !tail.bytes().all(|byte| byte.is_ascii_digit());
    (number && (!is_number || whole && has_unit)).then_some("not a number")
}

pub(super) const NO_SIZE: &str = "not a size: write a number followed by `m` or `g`";

/// Returns why the option of Spark for its mode or its master cannot have a value.
pub(super) fn of_option(option: &str, value: &str) -> Option<&'static str> {
    match option {
        "--deploy-mode" => (!is_mode(value)).then_some(NO_MODE),
        "--master" => (!is_master(value)).then_some(NO_MASTER),
        _ => None,
    }
}

/// Returns why Spark cannot start with this much memory.
pub(super) fn of_memory(value: &str) -> Option<&'static str> {
    if !is_size(value) {
        return Some(NO_SIZE);
    }
    // Without a unit, these are megabytes, of which Spark needs more than 450.
    let is_tiny = value.parse::<u32>().is_ok_and(|megabytes| megabytes < 450);
    is_tiny.then_some("less memory than Spark needs: its unit is missing")
}

/// Whether Spark accepts a value as a memory size. A value that a build fills in counts as one.
pub(super) fn is_size(value: &str) -> bool {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let unit = value[digits..].to_ascii_lowercase();
    let units = ["", "b", "k", "kb", "m", "mb", "g", "gb", "t", "tb", "p", "pb"];
    value.contains(['$', '@', '#', '%', '{', '<']) || digits > 0 && units.contains(&unit.as_str())
}

/// Whether a value is a number with letters that look like digits: `2O0`, `1OOO`.
fn has_letter_for_digit(value: &str) -> bool {
    let letters = || value.bytes().filter(|byte| !byte.is_ascii_digit());
    let looks = letters().all(|letter| matches!(letter, b'O' | b'o' | b'l' | b'I'));
    let zeros = letters().all(|letter| letter == b'O') && value.as_bytes()[0].is_ascii_digit();
    let count = letters().count();
    // `10l` is a number of type `long` in other languages.
    let ends = value.ends_with('l');
    looks && (count == 1 || zeros && 1 < count && count < value.len()) && value.len() > 2 && !ends
}

/// Whether a value is a digit and a letter that looks like one: `1O`.
fn is_one_and_letter(value: &str) -> bool {
    matches!(value.as_bytes(), [digit, b'O' | b'o' | b'l' | b'I'] if digit.is_ascii_digit())
}

/// Whether a value is one word, which no build fills in.
fn is_word_of(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Returns why Java does not start with these options.
fn java_options(value: &str) -> Option<&'static str> {
    memory_option(value).or_else(|| {
        // Between quotes, a blank separates nothing.
        if value.contains(['"', '\'', '\\', '$', '@', '#', '%', '{', '`']) {
            return None;
        }
        const VALUED: [&str; 9] = [
            "-cp",
            "-classpath",
            "--class-path",
            "-p",
            "--module-path",
            "--add-opens",
            "--add-exports",
            "--add-modules",
            "--add-reads",
        ];
        let words: Vec<&str> = value.split_ascii_whitespace().collect();
        let is_stray = |pair: &[&str]| {
            pair[0].starts_with('-')
                && !pair[1].starts_with(['-', '+'])
                && !VALUED.contains(&pair[0])
        };
        let has_stray = words.windows(2).any(is_stray);
        has_stray.then_some("not only options: Java takes the first other word as the class to run")
    })
}

/// Returns why Java does not start with these options.
fn memory_option(value: &str) -> Option<&'static str> {
    value.split_ascii_whitespace().find_map(|word| {
        let size = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
        let lower = word.to_ascii_lowercase();
        let bare = ["xmx", "xms"].iter().any(|option| lower.strip_prefix(option).is_some_and(size));
        if bare {
            return Some("missing the `-` in front of a Java option");
        }
        let option = ["-xmx", "-xms"].iter().find_map(|option| lower.strip_prefix(option))?;
        if !word.starts_with("-X") || word.starts_with("-XM") {
            return Some("not a Java option: only `-Xmx` and `-Xms` are written this way");
        }
        let end = option.trim_start_matches(|c: char| c.is_ascii_digit());
        let right = end.len() < option.len() && ["", "k", "m", "g", "t"].contains(&end);
        // Java needs some megabytes.
        let number: Option<u64> = option[..option.len() - end.len()].parse().ok();
        let is_tiny = match end {
            "" => number.is_some_and(|bytes| bytes < 1 << 20),
            "k" => number.is_some_and(|bytes| bytes < 1 << 10),
            _ => false,
        };
        if right && is_tiny {
            return Some("too little memory for Java: its unit is missing, or too small");
        }
        (!right).then_some("not a size for Java: write a number followed by `k`, `m` or `g`")
    })
}

/// Whether a property is boolean: for any value but `true` and `false`, Hadoop uses the default.
fn is_switch(name: &str) -> bool {
    const SWITCHES: [&str; 26] = [
        ".new-api",
        ".speculative",
        ".speculative.execution",
        "mapred.compress.map.output",
        ".output.compress",
        "mapreduce.output.fileoutputformat.compress",
        "mapreduce.job.user.classpath.first",
        "oozie.use.system.libpath",
        "oozie.action.external.stats.write",
        "hive.exec.dynamic.partition",
        "hive.exec.parallel",
        "hive.auto.convert.join",
        "hive.auto.convert.join.noconditionaltask",
        "hive.cbo.enable",
        "hive.enforce.bucketing",
        "hive.enforce.sorting",
        "hive.exec.compress.intermediate",
        "hive.exec.compress.output",
        "hive.merge.mapfiles",
        "hive.merge.mapredfiles",
        "hive.merge.tezfiles",
        "hive.optimize.bucketmapjoin",
        "hive.optimize.skewjoin",
        "hive.stats.autogather",
        "hive.support.concurrency",
        "hive.vectorized.execution.enabled",
    ];
    // Spark refuses other words.
    let of_spark = name.starts_with("spark.") && name.ends_with(".enabled");
    of_spark || SWITCHES.iter().any(|end| name.ends_with(end))
}
