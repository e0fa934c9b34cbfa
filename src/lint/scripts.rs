//! The variables that the scripts of Hive and Pig actions read, and the values they get.

use super::facts::{Action, Facts, is_open};
use super::reads;
use crate::callers::{beside_application, resolved};
use crate::diag::within;
use crate::files::{folder_of, join, name_of};
use crate::slips::{differ_in_a_word, differ_in_signs, has_name, is_slip};
use crate::source::{Source, Span};
use crate::syntax::properties::{Caller, Submission};
use crate::syntax::xml::Decoded;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Maximum number of scripts of one folder that are read.
const MOST_SCRIPTS: usize = 50;
/// Maximum number of names that one script may read.
const MOST_MISSING: usize = 200;

/// A script of the application, as an action runs it.
#[derive(Debug)]
pub(super) struct Script<'a> {
    /// The element that names it.
    pub(super) named: Decoded<'a>,
    /// The script.
    pub(super) source: &'a Arc<Source>,
    /// The names that it reads and is not given, with the offset of the first read, in source order.
    pub(super) missing: Vec<(&'a str, usize)>,
    /// Whether `given` is complete: no other part of the action can pass values.
    pub(super) is_whole: bool,
    /// The names that it is given, with their spans.
    given: Vec<(String, Span)>,
    /// Given names that also occur in their own values.
    echoed: HashSet<String>,
    /// Given names that do not occur in the script, with their spans.
    unread: Vec<(String, Span)>,
}

impl<'a> Script<'a> {
    /// Returns the script of a Hive or Pig action: the one at its path, or the only one of that name that was found in
    /// the repository. The latter may be another script, so only similar names say something about it.
    pub(super) fn of(facts: &Facts<'a>, action: &Action<'a>) -> Option<Script<'a>> {
        let named = action.text("script")?;
        let path = named.text.split('#').next().unwrap_or_default();
        let found = paths_of(path, facts.path, facts.submission);
        if let [found] = found.as_slice()
            && let Some(source) = facts.files.text(found)
        {
            return Script::read(action, named, source);
        }
        let names = names_of(path, facts.submission);
        let [name] = names.as_slice() else { return None };
        let mut alike = facts.files.texts().filter(|source| name_of(&source.path) == *name);
        let (Some(source), None) = (alike.next(), alike.next()) else { return None };
        let script = Script::read(action, named, source)?;
        Some(Script { is_whole: false, ..script })
    }

    /// Returns the scripts that an action may run if it names only their folder: `hive/${script}`.
    pub(super) fn any_of(facts: &Facts<'a>, action: &Action<'a>) -> Vec<Script<'a>> {
        let Some(named) = action.text("script") else { return Vec::new() };
        let folder = match named.text.split_once("${") {
            Some((before, rest)) if rest.ends_with('}') && !rest.contains('/') => before,
            _ => return Vec::new(),
        };
        let Some(folder) = folder.strip_suffix('/').and_then(|folder| facts.beside(folder)) else {
            return Vec::new();
        };
        let below = facts.files.below(&folder).map(|(path, _)| path);
        let own = below.filter(|path| folder_of(path) == folder).take(MOST_SCRIPTS);
        let sources = own.filter_map(|path| facts.files.text(path));
        sources.filter_map(|source| Script::read(action, named.clone(), source)).collect()
    }

    /// Compares the names that an action gives a script with those that the script reads.
    fn read(
        action: &Action<'a>,
        named: Decoded<'a>,
        source: &'a Arc<Source>,
    ) -> Option<Script<'a>> {
        // Program arguments may pass more values. A settings file passes none: a name without a prefix is a variable of
        // the script, and settings are read as `hiveconf`.
        let (of_options, others) = parameters(action);
        let is_whole = !others.iter().any(|argument| may_give(&argument.text));
        let mut given: Vec<(String, Span)> = Vec::new();
        let mut echoed = HashSet::new();
        for text in action.texts(&["param"]).chain(of_options) {
            let (name, value) = text.text.split_once('=')?;
            if is_open(name) {
                return None;
            }
            let trimmed = name.trim();
            echoed.extend(has_name(value, trimmed).then(|| trimmed.to_owned()));
            let start = name.len() - name.trim_start().len();
            given.push((trimmed.to_owned(), text.source(start..start + trimmed.len())));
        }
        let text: &'a str = &source.text;
        let reads = match action.kind() {
            "pig" => reads_of_pig(text)?,
            _ => reads_of_hive(text),
        };
        let names: HashSet<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
        let missing = reads.into_iter().filter(|(name, _)| !names.contains(name)).collect();
        let mut left = names;
        // Another script that it runs may read a name without a sign that it is one.
        let is_alone = !runs_others(text);
        let is_sign = |byte: Option<&u8>| matches!(byte, Some(b'$' | b'{' | b':'));
        for word in words(text) {
            // Most scripts are given nothing, and given names usually occur early.
            if left.is_empty() {
                break;
            }
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            if !is_alone || is_sign(at.checked_sub(1).and_then(|at| text.as_bytes().get(at))) {
                left.remove(word);
            }
        }
        let unread = given.iter().filter(|(name, _)| left.contains(name.as_str()));
        let unread = unread.cloned().collect();
        Some(Script { named, source, missing, given, echoed, unread, is_whole })
    }

    /// Whether the script reads none of the names that it is given, and several that it is not given: the parameters
    /// are probably those of another script.
    pub(super) fn is_given_anothers(&self) -> bool {
        let is_none = !self.given.is_empty() && self.unread.len() == self.given.len();
        is_none && self.missing.len() > 1 && self.is_whole
    }

    /// Whether a name is given twice: one of the two was meant to be another name, which is reported there.
    pub(super) fn is_given_twice(&self) -> bool {
        let mut seen = HashSet::new();
        !self.given.iter().all(|(name, _)| seen.insert(name.as_str()))
    }

    /// Returns what a misspelled name in the script stands for: a similar given name, with its span.
    pub(super) fn meant(&self, name: &str, definition: &str) -> Option<(&str, Span)> {
        let most = if name.len() < 5 { 1 } else { 2 };
        let far = |given: &str| within(given, name, most);
        let least = self.given.iter().filter_map(|(given, _)| far(given)).min()?;
        let mut near = self.given.iter().filter(|(given, _)| far(given) == Some(least));
        let (Some((given, span)), None) = (near.next(), near.next()) else { return None };
        let unread = self.unread.iter().any(|(unread, _)| unread == given);
        let slip = match unread {
            // The value of the given name contains the same name, which confirms it.
            true if self.echoed.contains(given) && !has_name(definition, name) => true,
            true => {
                differ_in_a_word(name, given)
                    && is_slip(name, given, [&self.source.text, definition])
            }
            // The script uses the given name elsewhere, which confirms it.
            false => differ_in_a_word(name, given),
        };
        slip.then_some((given.as_str(), *span))
    }

    /// Returns the values given under a wrong name: the name that the script reads, the name that is given, and its
    /// span.
    pub(super) fn slips(&self) -> Vec<(&'a str, &str, Span)> {
        // Exactly one given name is not read, and exactly one read name is not given.
        if let ([(name, _)], [(given, span)]) = (self.missing.as_slice(), self.unread.as_slice())
            && self.is_whole
        {
            return vec![(name, given, *span)];
        }
        let mut slips = Vec::new();
        for (name, _) in &self.missing {
            let most = if name.len() < 5 { 1 } else { 2 };
            let near = |(given, _): &&(String, Span)| {
                within(given, name, most).is_some() || differ_in_signs(given, name)
            };
            let mut near = self.unread.iter().filter(near);
            if let (Some((given, span)), None) = (near.next(), near.next()) {
                slips.push((*name, given.as_str(), *span));
            }
        }
        slips
    }
}

/// Returns the shell script that a shell action runs: the one that it ships, or the only one of that name that was found.
pub(super) fn shell_script<'a>(facts: &Facts<'a>, action: &Action<'a>) -> Option<&'a Source> {
    let exec = action.text("exec")?;
    let shipped = action.texts(&["file"]).find_map(|file| {
        let (path, link) = file.text.split_once('#').unwrap_or((&file.text, ""));
        let link = if link.is_empty() { name_of(path) } else { link };
        (link == exec.text).then(|| path.to_owned())
    });
    let path = shipped.unwrap_or_else(|| name_of(&exec.text).to_owned());
    let name = name_of(&path);
    let is_relative = !path.starts_with('/') && !path.contains([':', '$']);
    let own = facts.beside(&path).filter(|_| is_relative);
    let source = own.and_then(|own| facts.files.text(&own)).or_else(|| {
        let mut same = facts.files.texts().filter(|source| name_of(&source.path) == name);
        same.next().filter(|_| same.next().is_none())
    })?;
    let is_shell = [".sh", ".bash", ".ksh"].iter().any(|end| name.ends_with(end));
    let first = source.text.lines().next().unwrap_or_default();
    let is_run_otherwise = first.starts_with("#!") && !first.contains("sh");
    (is_shell && !is_run_otherwise).then_some(&**source)
}

/// Whether a path is absolute.
fn is_whole(path: &str) -> bool {
    path.starts_with('/') || path.contains("://")
}

/// Whether the file of an application at this path may be outside the folder of its definition.
pub fn may_be_elsewhere(path: &str) -> bool {
    is_whole(path) || path.starts_with("../") || path.contains("${")
}

/// Returns the paths in the tree to which the path of a script leads, for all ways of starting the definition `own`.
pub fn paths_of(path: &str, own: &str, submission: &Submission) -> Vec<String> {
    let callers = submission.callers.iter().take(MOST_SCRIPTS).map(Some);
    // Only properties can make a difference, and where a coordinator that starts the workflow is deployed.
    let callers = callers.filter(|_| path.contains("${") || is_whole(path));
    let mut found: Vec<String> = std::iter::once(None)
        .chain(callers)
        .filter_map(|caller| path_of(path, own, submission, caller))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn path_of(
    path: &str,
    own: &str,
    submission: &Submission,
    caller: Option<&Caller>,
) -> Option<String> {
    let given = caller.map(|caller| &*caller.values);
    let values = |text: &str| values_of(submission, given, text);
    // Part of its name may come from a property.
    let path = match is_open(path) {
        true => resolved(path, &values(path)),
        false => path.to_owned(),
    };
    let path = path.trim();
    // The application path shows how an absolute path maps to local files.
    let found = match is_whole(path) {
        true => {
            let value = |key: &str| {
                let given = given.and_then(|given| given.get(key)).map(String::as_str);
                given.or(submission.get(key))
            };
            // The coordinator is deployed together with its workflow.
            let starter = caller.filter(|caller| !caller.is_properties);
            let coordinator =
                || Some((value("oozie.coord.application.path")?, starter?.path.as_str()));
            let workflow = value("oozie.wf.application.path").map(|path| (path, own));
            let (deployed, here) = workflow.or_else(coordinator)?;
            beside_application(path, &resolved(deployed, &values(deployed)), here)
        }
        false => join(folder_of(own), path),
    };
    found.filter(|found| !is_open(found))
}

/// Returns the properties that a text refers to, with the values that they are submitted with, or those of a caller.
fn values_of(
    submission: &Submission,
    caller: Option<&BTreeMap<String, String>>,
    text: &str,
) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut texts = vec![text.to_owned()];
    while let Some(text) = texts.pop() {
        for read in reads::of_plain(&text, 0) {
            let own = submission.get(&read.name);
            let given = caller.and_then(|caller| caller.get(&read.name)).map(String::as_str);
            let Some(value) = given.or(own) else { continue };
            if values.insert(read.name, value.to_owned()).is_none() {
                texts.push(value.to_owned());
            }
        }
    }
    values
}

/// Returns the names of the file to which the path of a script leads, for all ways of starting its definition.
pub fn names_of(path: &str, submission: &Submission) -> Vec<String> {
    let callers = submission.callers.iter().take(MOST_SCRIPTS).map(|caller| Some(&*caller.values));
    let callers = callers.filter(|_| is_open(path));
    let name = |given| {
        let path = resolved(path, &values_of(submission, given, path));
        let name = name_of(path.trim()).to_owned();
        (!name.is_empty() && !name.contains(['$', '}'])).then_some(name)
    };
    let mut names: Vec<String> = std::iter::once(None).chain(callers).filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether a script runs another one, which gets the same parameters.
fn runs_others(text: &str) -> bool {
    let mut words = outside_comments(text).filter_map(|(_, line)| line.split_whitespace().next());
    words.any(|word| {
        ["source", "import", "run", "exec"].iter().any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Splits the arguments of Pig into the parameters that `-param` gives the script, without the options themselves, and
/// all others. Those of other programs are not parameters.
fn parameters<'a>(action: &Action<'a>) -> (Vec<Decoded<'a>>, Vec<Decoded<'a>>) {
    let (mut given, mut others) = (Vec::new(), Vec::new());
    let mut arguments = action.texts(&["argument"]).peekable();
    while let Some(argument) = arguments.next() {
        let is_option = action.kind() == "pig" && ["-param", "-p"].contains(&&*argument.text);
        match arguments.next_if(|next| is_option && next.text.contains('=')) {
            Some(parameter) => given.push(parameter),
            None => others.push(argument),
        }
    }
    (given, others)
}

/// Whether a program argument may pass a value to the script: it has such an option, or its value is unknown.
fn may_give(argument: &str) -> bool {
    let text = argument.trim();
    !text.starts_with("--")
        || is_open(text)
        || ["conf", "define", "file", "hivevar", "init", "param", "prop"]
            .iter()
            .any(|word| text.contains(word))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    text.as_bytes().split(|byte| !is_word(*byte)).filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        (!word.is_empty()).then(|| &text[start..start + word.len()])
    })
}

/// Returns the parts of a script outside comments, with their offsets. Quotes are ignored: two dashes inside quotes
/// merely hide a name.
fn outside_comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        let bytes = line.as_bytes();
        let mut dashes = memchr::memchr_iter(b'-', bytes);
        let comment = dashes.find(|dash| bytes.get(dash + 1) == Some(&b'-'));
        (start, &line[..comment.unwrap_or(line.len())])
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn reads_of_hive(text: &str) -> Vec<(&str, usize)> {
    let lower = text.to_ascii_lowercase();
    let mut seen = HashSet::new();
    let mut reads = Vec::new();
    for (start, line) in outside_comments(text) {
        for (at, _) in line.match_indices("${") {
            let Some(end) = line[at..].find('}') else { break };
            let name = &line[at + 2..at + end];
            let name = name.strip_prefix("hivevar:").unwrap_or(name);
            if name.is_empty() || !name.bytes().all(is_word) || !seen.insert(name) {
                continue;
            }
            // Each of these checks searches the whole script; if so many names are missing, they are given elsewhere.
            if seen.len() > MOST_MISSING {
                return reads;
            }
            let set_here = lower.contains(&format!("set {}", name.to_ascii_lowercase()))
                || is_set(text, &format!("hivevar:{name}"));
            if !set_here {
                reads.push((name, start + at));
            }
        }
    }
    reads
}

/// Whether a name is followed by `=`; Hive drops the blanks around it.
fn is_set(text: &str, name: &str) -> bool {
    let mut places = text.match_indices(name);
    places.any(|(at, _)| text[at + name.len()..].trim_start_matches([' ', '\t']).starts_with('='))
}

/// Returns the comments of a Pig script between `/*` and `*/`. Inside a path, these signs are no comment.
fn block_comments(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut blocks = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find("/*").map(|at| from + at) {
        from = start + 2;
        if start > 0 && !text[..start].ends_with([' ', '\t', '\n', ';']) {
            continue;
        }
        // If this one never ends, no later one does.
        let Some(end) = text[from..].find("*/") else { break };
        from += end + 2;
        blocks.push(start..from);
    }
    blocks
}

/// Returns the names that a Pig script reads; `None` if it has macros, whose own parameters look the same.
fn reads_of_pig(text: &str) -> Option<Vec<(&str, usize)>> {
    let lower = text.to_ascii_lowercase();
    if lower.contains("returns") {
        return None;
    }
    let blocks = block_comments(text);
    let mut own = HashSet::new();
    let mut before = "";
    for word in words(text) {
        if ["default", "declare"].iter().any(|known| before.eq_ignore_ascii_case(known)) {
            own.insert(word);
        }
        before = word;
    }
    let mut seen = HashSet::new();
    let mut reads = Vec::new();
    for (start, line) in outside_comments(text) {
        for (at, _) in line.match_indices('$') {
            let rest = &line[at + 1..];
            let rest = rest.strip_prefix('{').unwrap_or(rest);
            let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
            let name = &rest[..length];
            let escaped = line[..at].ends_with('\\');
            let is_field = name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
            let is_comment = || {
                let before = blocks.partition_point(|block| block.start <= start + at);
                before > 0 && start + at < blocks[before - 1].end
            };
            if escaped || is_field || own.contains(name) || is_comment() || !seen.insert(name) {
                continue;
            }
            if seen.len() > MOST_MISSING {
                return None;
            }
            reads.push((name, start + at));
        }
    }
    Some(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'t>(reads: &[(&'t str, usize)]) -> Vec<&'t str> {
        reads.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn what_a_script_of_hive_reads() {
        let text = "SET zone=x;\n-- ${old}\nSELECT '${hivevar:day}', ${zone}, ${hiveconf:a}, ${day} FROM ${table};";
        assert_eq!(names(&reads_of_hive(text)), ["day", "table"]);
    }

    #[test]
    fn what_a_script_of_pig_reads() {
        let text = "%default DIR '/x'\na = LOAD '$INPUT/$DIR'; -- $old\nb = FOREACH a GENERATE $0, \\$c;\nSTORE b INTO '${OUT}_1';";
        assert_eq!(names(&reads_of_pig(text).unwrap_or_default()), ["INPUT", "OUT"]);
        let text = "/* $old */\na = LOAD '$INPUT/*';\nfs -rm $DIR/*;";
        assert_eq!(names(&reads_of_pig(text).unwrap_or_default()), ["INPUT", "DIR"]);
        assert_eq!(reads_of_pig("DEFINE m(a) RETURNS b { $b = LIMIT $a 1; };"), None);
    }
}
