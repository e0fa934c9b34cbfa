//! Compares the number of arguments of a shell action with what its script says about them.

use super::RULE;
use crate::budget;
use crate::diag::Diagnostic;
use crate::files::name_of;
use crate::lint::Facts;
use crate::lint::facts::Action;
use crate::lint::scripts::shell_script;
use crate::source::{Source, Span};

/// Maximum number of lines between a test of the number of arguments and the end of the script that follows from it.
const MOST_LINES: usize = 6;
/// Maximum size of a script that is read, in bytes.
const LARGEST: usize = 256 * 1024;
/// Maximum size of all scripts that are read for one definition, in bytes.
const MOST_READ: usize = 4 * 1024 * 1024;

/// Reports shell actions that pass fewer arguments than the script wants.
pub(super) fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut left = MOST_READ;
    for action in facts.actions.iter().filter(|action| action.is(&["shell"])) {
        if budget::spent_often() {
            return;
        }
        let Some(run) = Run::of(facts, action) else { continue };
        let size = run.script.text.len();
        if size > left {
            return;
        }
        left -= size;
        out.extend(run.arguments());
    }
}

/// A script that an action runs.
struct Run<'a> {
    script: &'a Source,
    name: String,
    span: Span,
    /// The number of arguments that it gets.
    given: usize,
}

impl<'a> Run<'a> {
    fn of(facts: &Facts<'a>, action: &Action<'a>) -> Option<Run<'a>> {
        let exec = action.text("exec")?;
        let script = shell_script(facts, action)?;
        let name = name_of(exec.text.trim()).to_owned();
        let given = action.texts(&["argument"]).count();
        (script.text.len() < LARGEST).then_some(Run { script, name, span: exec.span(), given })
    }

    /// Reports too few arguments, or too many for a script that accepts only so many.
    fn arguments(&self) -> Option<Diagnostic> {
        let text = self.script.text.as_ref();
        let (message, at) = match wanted(text).or_else(|| read(text))? {
            Wanted::Exactly(count, at) if self.given != count => {
                (format!("`{}` wants {}", self.name, arguments(count)), at)
            }
            Wanted::AtLeast(count, at) if self.given < count => {
                (format!("`{}` wants at least {}", self.name, arguments(count)), at)
            }
            Wanted::Reads(count, at) if self.given < count && self.given > 0 => {
                (format!("`{}` reads {}", self.name, arguments(count)), at)
            }
            _ => return None,
        };
        let message = format!("{message}, but is passed {}", self.given);
        let found = Diagnostic::new(&RULE.kind, self.span, message).likely();
        Some(found.note_in(self.script.path.clone(), Span::new(at, at + 1), "read here"))
    }
}

fn arguments(count: usize) -> String {
    if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
}

/// How many arguments a script wants, with the place that shows it.
#[derive(Debug, PartialEq)]
enum Wanted {
    Exactly(usize, usize),
    AtLeast(usize, usize),
    /// It reads so many, and does not say what it does without them.
    Reads(usize, usize),
}

/// Returns how many arguments a script demands: it ends at once if their number is another one.
fn wanted(text: &str) -> Option<Wanted> {
    let mut at = 0;
    let lines: Vec<(usize, &str)> = text
        .split_inclusive('\n')
        .map(|line| {
            at += line.len();
            (at - line.len(), line)
        })
        .collect();
    for (number, (start, line)) in lines.iter().enumerate() {
        let plain = line.trim_start();
        // The arguments of a function are its own, and a script may drop some of its own.
        if is_function(plain) || plain.starts_with("shift") || plain.starts_with("set --") {
            return None;
        }
        if plain.starts_with('#') || !(plain.contains("$#") || plain.contains("${#}")) {
            continue;
        }
        let rest = &lines[number..lines.len().min(number + MOST_LINES)];
        let mut body = Vec::new();
        for (_, line) in rest {
            body.push(*line);
            let word = line.trim();
            if word == "fi" || word == "else" || word.starts_with("elif") {
                break;
            }
        }
        let ends = body.iter().any(|line| {
            words(line).any(|(at, word)| {
                word == "exit" && !line[at..].trim_start_matches("exit").trim().starts_with('0')
            })
        });
        let is_only = !line.contains("-a ") && !line.contains("-o ") && !line.contains(" && [");
        if !ends || !is_only {
            return None;
        }
        return compared(plain).map(|(sign, count)| match sign {
            "-lt" | "<" => Wanted::AtLeast(count, *start),
            "-le" => Wanted::AtLeast(count + 1, *start),
            "-eq" | "==" | "=" => Wanted::AtLeast(1, *start),
            _ => Wanted::Exactly(count, *start),
        });
    }
    None
}

/// Returns the comparison of the number of arguments in a line, if it is one that a wrong number meets.
fn compared(line: &str) -> Option<(&str, usize)> {
    let (_, rest) = line.split_once("$#").or_else(|| line.split_once("${#}"))?;
    let rest = rest.trim_start_matches(['"', '\'', '}']).trim_start();
    let (sign, rest) = rest.split_once(' ')?;
    let digits: &str = rest.trim_start_matches(['"', '\'', ' ']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let count: usize = digits[..end].parse().ok().filter(|count| *count < 100)?;
    let is_known = match sign {
        "-ne" | "!=" | "-lt" | "<" | "-le" => true,
        "-eq" | "==" | "=" => count == 0,
        _ => false,
    };
    // `-lt` is followed by a block for too few; an `||` behind it is one for enough.
    (is_known && !line.contains("||")).then_some((sign, count))
}

/// Returns how many arguments a script assigns to variables, one after the other, without saying what it does without
/// them.
fn read(text: &str) -> Option<Wanted> {
    const OPEN: [&str; 5] = ["$@", "$*", "$#", "${#", "getopts"];
    if OPEN.iter().any(|sign| text.contains(sign)) {
        return None;
    }
    let mut seen: Vec<(usize, usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let plain = line.trim();
        if is_function(plain) || plain.starts_with("shift") || plain.starts_with("set --") {
            return None;
        }
        let plain = plain.strip_prefix("export ").unwrap_or(plain);
        let Some((name, value)) = plain.split_once('=') else { continue };
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let value = value.trim_start_matches(['"', '\'']);
        let Some(rest) = value.strip_prefix('$').filter(|_| is_name) else { continue };
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let mut signs = rest.chars();
        let Some(digit) = signs.next().and_then(|c| c.to_digit(10)).filter(|digit| *digit > 0)
        else {
            continue;
        };
        if signs.next().is_some_and(|c| c.is_ascii_digit() || c == ':' || c == '-') {
            return None;
        }
        seen.push((digit as usize, start, name));
    }
    let count = seen.iter().map(|(digit, ..)| *digit).max()?;
    let is_whole = (1..=count).all(|wanted| seen.iter().any(|(digit, ..)| *digit == wanted));
    let last = seen.iter().find(|(digit, ..)| *digit == count)?;
    // A variable that is compared with nothing may be empty.
    let is_tested = seen.iter().any(|(_, _, name)| {
        let tests = ["-z", "-n"].iter().any(|test| {
            text.match_indices(test).any(|(at, _)| {
                let rest = text[at + test.len()..].lines().next().unwrap_or_default();
                words(rest).any(|(_, word)| word == *name)
            })
        });
        tests || text.contains(&format!("${{{name}:")) || text.contains(&format!("${{{name}-"))
    });
    (is_whole && !is_tested && count > 1).then_some(Wanted::Reads(count, last.1))
}

fn is_function(line: &str) -> bool {
    line.starts_with("function ")
        || line.find("()").is_some_and(|at| {
            let name = line[..at].trim_end();
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
}

/// Returns the words of a text, with their offsets.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter_map(move |part| {
        let start = at;
        at += part.len();
        let word = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        (!word.is_empty()).then_some((start, word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_says_how_many_arguments_it_wants() {
        for (text, count) in [
            ("if [ $# -ne 2 ]; then\n  echo usage\n  exit 1\nfi\n", Wanted::Exactly(2, 0)),
            ("[ \"$#\" -lt 3 ] && exit 2\n", Wanted::AtLeast(3, 0)),
            ("#!/bin/sh\nif [[ $# -eq 0 ]]\nthen\n exit 1\nfi\n", Wanted::AtLeast(1, 10)),
        ] {
            assert_eq!(wanted(text), Some(count), "{text}");
        }
        for text in [
            "if [ $# -ne 2 ]; then\n  day=today\nfi\nexit 1\n",
            "load() {\n if [ $# -ne 2 ]; then exit 1; fi\n}\n",
            "if [ $# -gt 2 ]; then exit 1; fi\n",
            "if [ $# -ne 2 ]; then exit 0; fi\n",
        ] {
            assert_eq!(wanted(text), None, "{text}");
        }
    }

    #[test]
    fn arguments_that_are_assigned_are_read() {
        assert_eq!(read("host=$1\nuser=\"$2\"\nexport day=${3}\n"), Some(Wanted::Reads(3, 18)));
        for text in [
            "host=$1\nuser=$2\n[ -z \"$user\" ] && user=me\n",
            "host=$1\nuser=${2:-me}\n",
            "host=$1\nshift\nuser=$2\n",
            "host=$1\nday=$3\n",
            "awk '{print $2}' x\nhost=$1\n",
            "host=$1\nuser=$2\necho $@\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
