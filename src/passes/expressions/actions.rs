//! Checks how expressions refer to other actions: whether those exist, can have run, capture their output, and print
//! the requested key.
//!
//! Whether an action has run when an expression is evaluated depends on the possible runs; [`Order`] answers that.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ankus_lang::action_types::{Counters, Output, action_type};
use ankus_lang::el::Piece;
use ankus_lang::el::tree::{Op, Target};

use super::kinds::*;
use super::types::{Origin, infer};
use super::{Expression, Facts, Input};
use crate::budget;
use crate::diag::{Diagnostic, Fix, nearest, within};
use crate::ir::workflow::{Body, Details, NodeId, Shape, Workflow};
use crate::passes::flow::Flow;
use crate::passes::pairs::order::{Chance, Order};
use crate::source::Span;

/// Maximum number of names compared with unknown ones, in all; after that no suggestions are made.
const MOST_COMPARED: usize = 500_000;

/// A reference of an expression to an action.
struct Question {
    /// The name of the action.
    action: String,
    /// The span of its name.
    span: Span,
    /// The function.
    function: String,
    /// The key of `wf:actionData`, with its span.
    key: Option<(String, Span)>,
    /// The node that contains the expression.
    node: Option<String>,
}

pub(super) fn check(
    all: &[Expression<'_>],
    flow: Flow<'_>,
    input: &Input<'_>,
    facts: &Facts<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let questions = questions(all, facts);
    if questions.is_empty() {
        return;
    }
    odd_keys(&questions, out);
    let workflow = flow.workflow;
    let mut runs = Order::of(flow.game(), None);
    let mut patience = MOST_COMPARED;
    // What the script of each action prints, computed once.
    let mut printed: HashMap<NodeId, Option<(String, Vec<String>)>> = HashMap::new();
    let captures_any = LazyCell::new(|| {
        let mut bodies = workflow.actions().filter_map(|(_, _, action)| action.body.as_ref());
        bodies.any(|body| captures(body) == Some(true))
    });
    for question in &questions {
        if budget::spent_often() {
            return;
        }
        let Some(id) = flow.names.node(&question.action) else {
            let message = format!("there is no node `{}`", question.action);
            let mut finding = Diagnostic::new(&UNKNOWN_ACTION, question.span, message)
                .naming([question.action.as_str()])
                .about(question.action.as_str());
            let actions = workflow.actions().map(|(_, node, _)| node.name.text.as_ref());
            let actions = actions.take(patience);
            patience = patience.saturating_sub(workflow.nodes.len());
            if let Some(near) = nearest(&question.action, actions) {
                finding = finding.did_you_mean(near).fix(Fix::guess(
                    format!("Ask `{near}`"),
                    question.span,
                    near,
                ));
            }
            out.push(finding);
            continue;
        };
        let node = workflow.node(id);
        if node.shape != Shape::Action && question.function != "wf:transition" {
            let message =
                format!("`{}` is a {}, not an action", question.action, node.shape.name());
            out.push(
                Diagnostic::new(&UNKNOWN_ACTION, question.span, message)
                    .note(node.name.span, "defined here"),
            );
            continue;
        }
        if let Some(here) = question.node.as_deref().and_then(|name| flow.names.node(name)) {
            order(question, id, here, workflow, &mut runs, out);
        }
        let Some(body) = node.action.as_ref().and_then(|action| action.body.as_ref()) else {
            continue;
        };
        match question.function.as_str() {
            "wf:actionData" => {
                let printed =
                    printed.entry(id).or_insert_with(|| printed_keys(body, input.shipped)).as_ref();
                captured(question, node.name.span, body, printed, *captures_any, input, out);
            }
            "hadoop:counters" => counters(question, node.name.span, body, out),
            _ => {}
        }
    }
}

fn questions(all: &[Expression<'_>], facts: &Facts<'_>) -> Vec<Question> {
    let mut questions = Vec::new();
    for Expression { place, template } in all {
        for piece in template.pieces() {
            let Piece::Expression { first, last, .. } = *piece else { continue };
            infer(template, first, last, facts, &facts.site, &mut |visit| {
                match visit.node.op {
                    Op::Call { target: Target::Table { .. }, .. } => {
                        let function = template.call_name(&visit.node).into_owned();
                        let asks = matches!(
                            function.as_str(),
                            "wf:actionData"
                                | "wf:actionExternalId"
                                | "wf:actionExternalStatus"
                                | "wf:actionTrackerUri"
                                | "wf:errorCode"
                                | "wf:errorMessage"
                                | "wf:transition"
                                | "hadoop:counters"
                        );
                        let [argument] = visit.operands else { return };
                        let Some(ankus_lang::el::Value::String(action)) = &argument.constant else {
                            return;
                        };
                        if !asks || argument.origin != Origin::Literal {
                            return;
                        }
                        questions.push(Question {
                            action: action.to_string(),
                            span: place.span(argument.start + 1, argument.end - 1),
                            function,
                            key: None,
                            node: place.node.as_deref().map(str::to_owned),
                        });
                    }
                    Op::Dot | Op::Bracket => {
                        let Origin::ActionData(Some(action), Some(key)) = &visit.result.origin
                        else {
                            return;
                        };
                        let (start, end) = match visit.node.op {
                            Op::Dot => (visit.node.start, visit.node.end),
                            _ => {
                                let key = &visit.operands[1];
                                if key.origin != Origin::Literal {
                                    return;
                                }
                                (key.start + 1, key.end - 1)
                            }
                        };
                        let span = place.span(start, end);
                        // The reference of this call is the last one recorded for that action.
                        if let Some(question) =
                            questions.iter_mut().rev().find(|question| question.action == *action)
                        {
                            question.key.get_or_insert((key.clone(), span));
                        }
                    }
                    _ => {}
                }
            });
        }
    }
    questions
}

/// Reports an action that cannot have run, or may not have run, when it is referred to.
fn order(
    question: &Question,
    action: NodeId,
    here: NodeId,
    workflow: &Workflow,
    runs: &mut Order<'_>,
    out: &mut Vec<Diagnostic>,
) {
    if !runs.enters(here.0).is_possible() {
        // A node that no run enters has no past.
        return;
    }
    let asked = workflow.node(action);
    // No action precedes itself; that needs no look at the runs.
    if action == here || !runs.before(action.0, here.0).is_possible() {
        if action != here && runs.beside(action.0, here.0).is_possible() {
            let message =
                format!("`{}` runs in parallel with this, and may not have ended", question.action);
            out.push(
                Diagnostic::new(&ACTION_ON_SOME_PATHS, question.span, message)
                    .note(asked.name.span, "the action is here"),
            );
            return;
        }
        if !runs.enters(action.0).is_possible() {
            // If no run enters the action, that is reported for the action itself.
            return;
        }
        let message = if action == here {
            format!("`{}` has not ended while its own expressions are evaluated", question.action)
        } else {
            format!("`{}` cannot have run when this is evaluated", question.action)
        };
        out.push(
            Diagnostic::new(&ACTION_NOT_YET_RUN, question.span, message)
                .note(asked.name.span, "the action is here")
                .help("it is always empty here: use it after the action"),
        );
    } else if matches!(runs.without(action.0, here.0), Chance::Exact(_) | Chance::Over(_)) {
        let message =
            format!("`{}` has run on some paths that lead here, but not on all", question.action);
        out.push(
            Diagnostic::new(&ACTION_ON_SOME_PATHS, question.span, message)
                .note(asked.name.span, "the action is here"),
        );
    }
}

/// Whether the output of an action of this type can be captured with an element of its own.
fn captures(body: &Body) -> Option<bool> {
    match action_type(&body.kind)?.output {
        Output::Captured => Some(body.capture_output.is_some()),
        Output::Never => Some(false),
        Output::Jobs | Output::Child => None,
    }
}

fn captured(
    question: &Question,
    name: Span,
    body: &Body,
    printed: Option<&(String, Vec<String>)>,
    captures_any: bool,
    input: &Input<'_>,
    out: &mut Vec<Diagnostic>,
) {
    if captures(body) == Some(false) {
        let message =
            format!("`{}` does not capture its output, so there is none", question.action);
        // If no other action captures its output, no other one can be meant.
        let can = matches!(body.kind.as_ref(), "shell" | "java" | "ssh");
        let finding = match can && !captures_any {
            true => Diagnostic::new(&WITHOUT_CAPTURE, name, message)
                .note(question.span, "its output is read here"),
            false => Diagnostic::new(&WITHOUT_CAPTURE, question.span, message)
                .note(name, "the action is here"),
        };
        let mut finding = finding.about(question.action.as_str());
        if can && !captures_any {
            let element = input.tree.element(body.element).filter(|element| element.is_closed());
            finding.belongs = element.map(|element| element.end_tag());
        }
        finding = match body.kind.as_ref() {
            kind @ ("fs" | "email" | "git") => {
                finding.help(format!("an action of type `{kind}` has no output"))
            }
            kind => {
                let finding = finding.help("add <capture-output/> as its last element");
                match end_of_content(input, body)
                    .filter(|_| matches!(kind, "shell" | "java" | "ssh"))
                {
                    Some((at, indent)) => finding.fix(Fix::guess(
                        "Capture the output",
                        Span::at(at),
                        format!("{indent}<capture-output/>"),
                    )),
                    None => finding,
                }
            }
        };
        out.push(finding);
        return;
    }
    let (Some((key, span)), Some((script, keys))) = (&question.key, printed) else { return };
    if keys.iter().any(|known| known == key) || key == "hadoopJobs" {
        return;
    }
    let message = format!("`{script}` does not print the key `{key}`");
    let mut finding = Diagnostic::new(&UNKNOWN_KEY, *span, message).about(key);
    finding = match nearest(key, keys.iter().map(String::as_str)) {
        Some(near) => finding.did_you_mean(near),
        None => {
            let more = if keys.len() > LISTED_KEYS { ", …" } else { "" };
            let keys: Vec<&str> = keys.iter().take(LISTED_KEYS).map(String::as_str).collect();
            finding.help(format!("it prints {}{more}", keys.join(", ")))
        }
    };
    out.push(finding);
}

/// Reports keys that are used once and nearly equal one that is used repeatedly for the same action.
fn odd_keys(questions: &[Question], out: &mut Vec<Diagnostic>) {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for question in questions {
        if let Some((key, _)) = &question.key {
            *counts.entry((&question.action, key)).or_default() += 1;
        }
    }
    let letters = |key: &str| key.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    for question in questions.iter().take(MOST_QUESTIONS) {
        let Some((key, span)) = &question.key else { continue };
        if key.len() < 5 || counts.get(&(question.action.as_str(), key.as_str())) != Some(&1) {
            continue;
        }
        let action = question.action.as_str();
        let others = counts.range((action, "")..).take_while(|((of, _), _)| *of == action);
        let near =
            others.filter(|(_, count)| **count > 1).map(|((_, other), count)| (*other, count));
        let mut near = near
            // With a different first letter it is another key.
            .filter(|(other, _)| key.chars().next() == other.chars().next())
            .filter(|(other, _)| within(key, other, 1).is_some() && letters(key) != letters(other));
        if let Some((other, count)) = near.next() {
            let message = format!("`{key}` is used only here, `{other}` {count} times");
            let found = Diagnostic::new(&UNKNOWN_KEY, *span, message).about(key).likely();
            out.push(found.did_you_mean(other));
        }
    }
}

/// Maximum number of references of a definition that are compared with one another.
const MOST_QUESTIONS: usize = 1_000;

/// Maximum number of keys listed if none of them is similar.
const LISTED_KEYS: usize = 20;

/// The offset at which to insert an element as the last one, with the indentation before it.
fn end_of_content(input: &Input<'_>, body: &Body) -> Option<(usize, String)> {
    let element = input.tree.element(body.element)?;
    let last = element.elements().last()?;
    let first = element.elements().next()?;
    let text = input.tree.text();
    let before = &text[..first.span().start as usize];
    let blanks = before.len() - before.trim_end_matches([' ', '\t', '\r', '\n']).len();
    let indent = before[before.len() - blanks..].to_owned();
    Some((last.span().end as usize, indent))
}

fn counters(question: &Question, name: Span, body: &Body, out: &mut Vec<Diagnostic>) {
    let written = |setting: &str| {
        body.configuration.iter().any(|property| {
            property.name.as_str() == setting
                && property.value.as_ref().is_none_or(|value| value.as_str() != "false")
        })
    };
    let has = match action_type(&body.kind).map(|kind| kind.counters) {
        Some(Counters::Always) => true,
        Some(Counters::OnDemand) => written("oozie.action.external.stats.write"),
        Some(Counters::None) | None => false,
    };
    if has {
        return;
    }
    let message = format!("an action of type `{}` has no counters", body.kind);
    let mut finding =
        Diagnostic::new(&COUNTERS, question.span, message).note(name, "the action is here");
    if body.kind == "pig" {
        finding =
            finding.help("set oozie.action.external.stats.write to true in its configuration");
    }
    out.push(finding);
}

/// The keys that the script of a shell action prints, if the script is part of the application and its whole output is
/// evident.
pub(crate) fn printed_keys(
    body: &Body,
    shipped: &dyn Fn(&str) -> Option<Arc<String>>,
) -> Option<(String, Vec<String>)> {
    let Details::Shell { exec, arguments, .. } = &body.details else { return None };
    let exec = exec.as_ref()?.known()?;
    // One line, of the arguments separated by spaces.
    if exec == "echo" || exec == "/bin/echo" {
        let first = arguments.iter().find(|argument| !argument.as_str().starts_with('-'))?;
        let (key, _) = first.as_str().split_once('=')?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let is_key = !key.is_empty() && key.bytes().all(plain);
        return is_key.then(|| (exec.to_owned(), vec![key.to_owned()]));
    }
    let file = body.files.iter().filter_map(|file| file.known()).find_map(|file| {
        let (path, link) = file.split_once('#').unwrap_or((file, ""));
        let name = path.rsplit('/').next().unwrap_or(path);
        (exec == link || exec == name || exec == path).then(|| path.to_owned())
    });
    let path = file.unwrap_or_else(|| exec.to_owned());
    if path.contains("${") || path.contains("://") || path.starts_with('/') {
        return None;
    }
    let text = shipped(&path).or_else(|| shipped(&format!("lib/{path}")))?;
    let keys = keys_of_script(&text)?;
    Some((path, keys))
}

/// The keys that a shell script prints, if its only output is evidently from `echo` or `printf` of `key=value`.
fn keys_of_script(text: &str) -> Option<Vec<String>> {
    let first = text.lines().next()?;
    if !first.starts_with("#!") || !first.contains("sh") {
        return None;
    }
    let mut keys: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        for command in commands(line)? {
            match printed(command) {
                Some(text) => keys.extend(keys_of_output(text)?),
                None if is_silent(command) => {}
                None => return None,
            }
        }
    }
    (!keys.is_empty()).then_some(keys)
}

/// The simple commands in a line of a shell script, without the keywords that begin a branch or a loop. `None` if the
/// line is continued on the next one, or contains a pipe, a function or a here-document.
fn commands(line: &str) -> Option<Vec<&str>> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    let (mut quote, mut depth) = (None, 0_usize);
    let bytes = line.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        let next = bytes.get(at + 1).copied();
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => {
                next?;
                at += 1;
            }
            (Some(open), _) if open == byte => quote = None,
            (None | Some(b'"'), b'$') if next == Some(b'(') => {
                // The output of a substitution is part of a word.
                let end = end_of_substitution(&line[at..])?;
                at += end - 1;
            }
            (Some(_), _) => {}
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.checked_sub(1)?,
            (None, b'<') if next == Some(b'<') => return None,
            (None, b'|') if next != Some(b'|') => return None,
            (None, b'&') if at > 0 && bytes[at - 1] == b'>' => {}
            (None, b'#') if at > 0 && bytes[at - 1].is_ascii_whitespace() => {
                found.push(&line[start..at]);
                start = line.len();
                break;
            }
            (None, b';' | b'&' | b'|') => {
                found.push(&line[start..at]);
                at += usize::from(next == Some(byte));
                start = at + 1;
            }
            (None, _) => {}
        }
        at += 1;
    }
    if quote.is_some() || depth > 0 {
        return None;
    }
    found.push(line.get(start..).unwrap_or_default());
    let plain = found.into_iter().map(|command| {
        let mut command = command.trim();
        while let Some(rest) =
            ["if ", "elif ", "while ", "until ", "then ", "else ", "do ", "! ", "{ "]
                .iter()
                .find_map(|word| command.strip_prefix(word))
        {
            command = rest.trim_start();
        }
        command
    });
    Some(plain.filter(|command| !command.is_empty()).collect())
}

/// The offset after the closing parenthesis of a substitution that begins with `$(`.
fn end_of_substitution(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// The argument of `echo` or `printf`, as written; `None` for other commands, or if the output is redirected.
fn printed(command: &str) -> Option<&str> {
    let rest = command.strip_prefix("echo ").or_else(|| command.strip_prefix("printf "))?;
    let rest = rest.trim_start().trim_start_matches("-e ").trim_start();
    (!rest.contains('>')).then_some(rest)
}

/// Whether the output of a command is redirected to a file or to standard error.
fn goes_elsewhere(command: &str) -> bool {
    let (mut quote, mut before) = (None, b' ');
    for (at, byte) in command.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if open == byte && before != b'\\' => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') if before != b'2' => {
                let target = command[at + 1..].trim_start_matches('>').trim_start();
                return !target.is_empty() && !target.starts_with("&1");
            }
            _ => {}
        }
        before = byte;
    }
    false
}

/// The keys in the lines of an output; `None` if a line is not `key=value`.
fn keys_of_output(text: &str) -> Option<Vec<String>> {
    let text = text.trim_matches(['"', '\'']);
    // A message is not a pair, and its first word is not used as a key.
    let is_message = |line: &&str| !line.contains(['=', '$', '`']);
    let lines = text.split("\\n").filter(|line| !line.is_empty() && !is_message(line));
    lines
        .map(|line| {
            let (key, _) = line.split_once('=')?;
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            (!key.is_empty() && key.bytes().all(plain)).then(|| key.to_owned())
        })
        .collect()
}

/// Whether a command of a script prints nothing to its standard output.
fn is_silent(command: &str) -> bool {
    let mut words = command.split_ascii_whitespace();
    let Some(word) = words.next() else { return true };
    if let Some((name, value)) = word.split_once('=')
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        // Words after the value are a command that runs with it, unless the value is a substitution or a quoted text.
        let is_open = value.starts_with(['"', '\'', '`']) || value.starts_with("$(");
        return is_open || words.next().is_none();
    }
    let builtins = [
        "set", "then", "else", "fi", "for", "do", "done", "exit", "export", "return", "shift",
        "cd", "sleep", "esac", "{", "}", "local", "test", "[", "[[", ":", "true", "false", "unset",
        "readonly", "break", "continue", "mkdir", "rm", "cp", "mv", "touch", "chmod",
    ];
    let is_lost = command.contains(">/dev/null") || command.contains("> /dev/null");
    let is_error = ["echo", "printf"].contains(&word) && goes_elsewhere(command);
    builtins.contains(&word)
        || is_error
        || is_lost && !command.contains("2>/dev/null") && !command.contains("2> /dev/null")
}

#[cfg(test)]
mod tests {
    use super::keys_of_script;

    #[test]
    fn keys_are_read_only_from_plain_scripts() {
        let plain = "#!/bin/sh\nset -e\nn=$(wc -l < in)\necho \"count=$n\"\necho day=today\n";
        assert_eq!(keys_of_script(plain), Some(vec!["count".to_owned(), "day".to_owned()]));
        assert_eq!(keys_of_script("#!/bin/sh\n./other\necho a=1\n"), None);
        assert_eq!(keys_of_script("#!/usr/bin/env python\nprint('a=1')\n"), None);
    }

    #[test]
    fn a_line_of_a_script_may_hold_several_commands() {
        let keys = |line: &str| {
            let found = keys_of_script(&format!("#!/bin/sh\n{line}\n"));
            found.map(|keys| keys.join(" "))
        };
        let some = |keys: &str| Some(keys.to_owned());
        assert_eq!(keys("echo \"region=$1\"; echo count=7"), some("region count"));
        assert_eq!(keys("if [ -f in ]; then echo a=1; else echo b=2; fi"), some("a b"));
        assert_eq!(keys("[ -f in ] && echo a=1 || echo b=2 # either"), some("a b"));
        assert_eq!(keys("printf 'a=1\\nb=2\\n'"), some("a b"));
        assert_eq!(keys("echo \"a=$(wc -l < in; date)\""), some("a"));
        assert_eq!(keys("echo 'a=1;b'; echo wrong >&2"), some("a"));
        assert_eq!(keys("x=\"$(date) now\"; echo a=$x"), some("a"));
        assert_eq!(keys("echo b=2 > out.txt; echo a=1"), some("a"));
        assert_eq!(keys("echo 'it works'; echo \"b=$x\" >>out.txt; echo a=1"), some("a"));
        assert_eq!(keys("echo $line; echo a=1"), None);
        assert_eq!(keys("echo a=1 | tr a b"), None);
        assert_eq!(keys("echo a=1; ./other"), None);
        assert_eq!(keys("x=1 ./other; echo a=1"), None);
        assert_eq!(keys("cd work && ./other; echo a=1"), None);
        assert_eq!(keys("if ./other; then echo a=1; fi"), None);
        assert_eq!(keys("echo a=1; ./other 2>/dev/null"), None);
        assert_eq!(keys("echo a=1 && \\"), None);
        assert_eq!(keys("echo \"a=1"), None);
        assert_eq!(keys("f() { ./other; }; echo a=1"), None);
    }
}
