//! Keys of captured output that the script does not print, but prints nearly so.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::files;
use crate::lint::facts::Action;
use crate::lint::scripts::shell_script;
use crate::lint::{Facts, Rule};
use crate::passes::expressions::printed_keys;
use crate::slips::has_name;
use crate::source::Source;
use foldhash::{HashMap, HashSet};
use memchr::memmem;
use std::ops::Range;
use std::sync::Arc;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "captured-key-misspelt",
        group: Group::Actions,
        summary: "a key of captured output is nearly one that the script prints",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/captured-key-misspelt.md"),
    },
    check,
};

/// Maximum number of keys that one script prints.
const MOST_KEYS: usize = 64;

/// Commands that print an expanded text.
const ECHOES: [&str; 3] = ["echo ", "printf ", "print "];

/// Programs whose output is not known from the script that runs them.
const PROGRAMS: [&str; 31] = [
    ".",
    "awk",
    "bash",
    "beeline",
    "cat",
    "env",
    "eval",
    "gawk",
    "grep",
    "hive",
    "impala-shell",
    "java",
    "jq",
    "mysql",
    "node",
    "perl",
    "php",
    "psql",
    "pyspark",
    "python",
    "python2",
    "python3",
    "ruby",
    "scala",
    "sed",
    "sh",
    "source",
    "spark-shell",
    "spark-submit",
    "sqlplus",
    "tee",
];

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    if memmem::find(facts.tree.text().as_bytes(), b"wf:actionData").is_none() {
        return;
    }
    let mut scripts: HashMap<String, Option<(&Source, String)>> = HashMap::default();
    let mut reads = Vec::new();
    let asks = |text: &str| {
        let mut calls = memchr::memchr_iter(b'(', text.as_bytes());
        calls.any(|at| text.as_bytes()[..at].ends_with(b"wf:actionData"))
    };
    for (_, text) in facts.texts().iter().filter(|(_, text)| asks(&text.text)) {
        for (action, key, range) in keys(&text.text) {
            reads.push((action.to_owned(), key.to_owned(), text.source(range)));
        }
    }
    if reads.is_empty() {
        return;
    }
    let shipped =
        |path: &str| facts.files.text(&facts.beside(path)?).map(|source| Arc::clone(&source.text));
    let workflow = facts.analysis.workflow();
    // If all that a script prints is evident, its keys are known to the check of expressions.
    let evident: HashSet<&str> = workflow
        .actions()
        .filter(|(_, _, action)| {
            action.body.as_ref().is_some_and(|body| printed_keys(body, &shipped).is_some())
        })
        .map(|(_, node, _)| &*node.name.text)
        .collect();
    let named: HashMap<String, &Action<'_>> =
        facts.actions.iter().map(|action| (action.name(), action)).collect();
    for (action, key, span) in reads {
        if evident.contains(action.as_str()) {
            continue;
        }
        let of = named.get(&action);
        let script = scripts.entry(action.clone()).or_insert_with(|| {
            if let Some(source) = source(facts, of?) {
                return Some((source, source.text.to_string()))
                    .filter(|_| !sets_more(&source.text));
            }
            let script = script(facts, of?)?;
            // `echo -e` breaks lines there.
            let lines = script.text.replace("\\n", "\n");
            (!prints_more(&lines)).then_some((script, lines))
        });
        let Some((script, lines)) = script else { continue };
        if has_name(lines, &key) {
            continue;
        }
        let is_class = of.is_some_and(|action| action.is(&["java"]));
        let printed = if is_class { set(lines) } else { printed(lines) };
        let Some(near) = meant(&key, &printed) else { continue };
        let message = format!("`{action}` prints `{near}`, but not `{key}`");
        let written = if is_class { format!("{near}\"") } else { format!("{near}=") };
        let at = script.text.find(&written).unwrap_or_default();
        out.push(
            Diagnostic::new(&RULE.kind, span, message)
                .about(key.as_str())
                .naming([key.as_str()])
                .likely()
                .did_you_mean(near)
                .note_in(
                    script.path.clone(),
                    crate::source::Span::new(at, at + near.len()),
                    "printed here",
                )
                .fix(Fix::guess(format!("Read `{near}`"), span, near)),
        );
    }
}

/// Returns the shell script that an action runs, if it captures the output and the script is in the application.
fn script<'a>(facts: &Facts<'a>, action: &Action<'a>) -> Option<&'a Source> {
    action.each("capture-output").next().filter(|_| action.is(&["shell"]))?;
    shell_script(facts, action)
}

/// Returns the source of the class that an action runs, if it captures the output.
fn source<'a>(facts: &Facts<'a>, action: &Action<'a>) -> Option<&'a Source> {
    action.each("capture-output").next().filter(|_| action.is(&["java"]))?;
    let path = facts.submission.sources.get(&*action.text("main-class")?.text)?;
    facts.files.text(path).map(|source| &**source)
}

/// The system property that has the path of the file to which a class writes its output.
const OUTPUT: &str = "oozie.action.output.properties";
/// The method that sets a key, and those that may set keys that cannot be read from the source.
const SETS: &str = "setProperty(";
const SETS_MORE: [&str; 4] = [".load(", ".loadFromXML(", ".put(", ".putAll("];

/// Whether a class may write keys that cannot be read from its source.
fn sets_more(source: &str) -> bool {
    !source.contains(OUTPUT)
        || SETS_MORE.iter().any(|call| source.contains(call))
        || set_at(source).any(|argument| !argument.starts_with('"'))
}

/// Returns the keys that a class sets.
fn set(source: &str) -> Vec<&str> {
    let keys = set_at(source).filter_map(|argument| argument.strip_prefix('"')?.split_once('"'));
    keys.map(|(key, _)| key).take(MOST_KEYS).collect()
}

/// Returns the source from the first argument of each call that sets a key.
fn set_at(source: &str) -> impl Iterator<Item = &str> {
    let calls = source.match_indices(SETS).filter(|(at, _)| !source[..*at].ends_with("System."));
    calls.map(|(at, call)| source[at + call.len()..].trim_start())
}

/// Whether a script may print keys that cannot be read from it: those that it computes, and those of other programs.
fn prints_more(script: &str) -> bool {
    script.lines().map(str::trim).filter(|line| !line.starts_with('#')).any(|line| {
        let computes = echoed(line).is_some_and(|text| {
            let end = text.find(['=', ':', ' ']).unwrap_or(text.len());
            text[..end].contains(['$', '`', '%'])
        });
        let is_kept = line.contains("$(") || line.contains(['`', '>']);
        let parts = |c: char| c.is_whitespace() || ";|&(){}\"'".contains(c);
        let mut words = line.split(parts).filter(|word| !word.is_empty());
        let is_program = |word: &str| {
            // Of the commands of HDFS, these.
            let prints_file = ["-cat", "-tail", "-text"].contains(&word);
            let is_script = [".sh", ".bash", ".py", ".pl", ".rb", ".jar"];
            prints_file
                || PROGRAMS.contains(&files::name_of(word))
                || is_script.iter().any(|end| word.ends_with(end))
        };
        computes || echoed(line).is_none() && !is_kept && words.any(is_program)
    })
}

/// Returns the text that a line prints, without options and the opening quote.
fn echoed(line: &str) -> Option<&str> {
    let (before, rest) = ECHOES.iter().find_map(|word| line.split_once(word))?;
    // What a command in another one prints is not output.
    if before.contains("$(") || before.contains('`') {
        return None;
    }
    let mut rest = rest.trim_start();
    while let Some((option, after)) = rest.split_once(' ').filter(|_| rest.starts_with('-')) {
        if !option[1..].bytes().all(|byte| b"neE".contains(&byte)) {
            break;
        }
        rest = after.trim_start();
    }
    Some(rest.trim_start_matches(['"', '\'']))
}

/// Returns the keys of captured output that a text reads: the action, the key, and where the key is.
fn keys(text: &str) -> Vec<(&str, &str, Range<usize>)> {
    let mut found = Vec::new();
    for (at, call) in text.match_indices("wf:actionData(") {
        let rest = &text[at + call.len()..];
        let quoted = |rest: &'_ str| -> Option<usize> {
            let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
            rest[1..].find(quote).map(|end| end + 1)
        };
        let read = || {
            let end = quoted(rest)?;
            let after = rest[end + 1..].strip_prefix(")[")?;
            let last = quoted(after)?;
            let start = text.len() - after.len() + 1;
            after[last + 1..]
                .starts_with(']')
                .then(|| (&rest[1..end], &after[1..last], start..start + last - 1))
        };
        found.extend(read());
    }
    found
}

/// Returns the names that a script prints before `=`.
fn printed(script: &str) -> Vec<&str> {
    let mut keys: Vec<&str> = Vec::new();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    for line in script.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let Some(rest) = echoed(line) else { continue };
        let Some((key, _)) = rest.split_once('=') else { continue };
        if !key.is_empty() && key.chars().all(is_name) && !keys.contains(&key) {
            keys.push(key);
        }
        if keys.len() >= MOST_KEYS {
            break;
        }
    }
    keys
}

/// Returns the printed key that a misspelled one stands for: the most similar one, if it is the only one.
fn meant<'s>(key: &str, printed: &[&'s str]) -> Option<&'s str> {
    let far = |known: &str| within(key, known, 2).unwrap_or(3);
    let near = || printed.iter().copied().filter(|known| is_near(key, known));
    let least = near().map(far).min()?;
    let mut nearest = near().filter(|known| far(known) == least);
    nearest.next().filter(|_| nearest.next().is_none())
}

/// Whether a key is a slip of another one: letters, an ending, or the order of its words.
fn is_near(key: &str, known: &str) -> bool {
    let words = |text: &str| {
        let lower = text.to_ascii_lowercase();
        let mut words: Vec<String> = lower.split(['_', '.', '-']).map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let most = if known.len() < 6 { 1 } else { 2 };
    letters(key) != letters(known) && known.len() > 2 && within(key, known, most).is_some()
        || words(key) == words(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_expressions_and_scripts() {
        let text =
            "${wf:actionData('a')['x']} ${wf:actionData(\"b\")[\"y\"]} ${wf:actionData('c')}";
        let found: Vec<_> =
            keys(text).into_iter().map(|(one, key, at)| (one, key, &text[at])).collect();
        assert_eq!(found, [("a", "x", "x"), ("b", "y", "y")]);
        let script = "#!/bin/sh\nx=1\n# echo old=1\necho \"day=$x\"\nls && echo done=true\nprintf 'n=%s' 1\n";
        assert_eq!(printed(script), ["day", "done", "n"]);
        assert!(!prints_more(script));
        assert_eq!(printed("echo -e \"end=1\"\necho -n 'e=2'\n"), ["end", "e"]);
        assert!(is_near("last_date", "date_last") && is_near("complete", "completed"));
        assert!(!is_near("day1", "day2") && !is_near("min", "max"));
        let printed = ["navHueDir", "navMsDir", "navHiveDir"];
        assert_eq!(meant("navHuDir", &printed), Some("navHueDir"));
        assert_eq!(meant("navHDir", &printed), None);
    }

    #[test]
    fn what_a_script_prints_is_known_if_it_prints_it_itself() {
        for script in [
            "rows=$(hadoop fs -cat in | wc -l)\necho \"rows=$rows\"",
            "last=$(echo \"`hive -e 'select 1'`\")\necho \"last=$last\"",
            "# python count.py\necho done=1",
            "hdfs dfs -rm -r out",
            "python load.py > log.txt\necho \"Loading $1: done\"",
        ] {
            assert!(!prints_more(script), "{script}");
        }
        for script in [
            "python count.py",
            ". ./common.sh",
            "cat result.properties",
            "hdfs dfs -cat result.properties",
            "for day in a b; do echo \"$day=1\"; done",
            "echo \"${prefix}_rows=1\"",
            "echo $result",
            "printf '%s=%s' day 1",
            "exec ./other.sh",
        ] {
            assert!(prints_more(script), "{script}");
        }
    }
}
