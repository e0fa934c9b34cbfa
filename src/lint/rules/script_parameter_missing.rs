//! Script parameters that the action sets under another name, or not at all.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety, within};
use crate::lint::scripts::Script;
use crate::lint::{Facts, Rule};
use crate::slips::has_name;
use crate::source::{Source, Span};
use crate::syntax::xml::Decoded;
use std::collections::HashSet;

mod arguments;
mod environment;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "script-parameter-missing",
        group: Group::Actions,
        summary: "a script reads a parameter that the action does not pass, or passes under another name",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/script-parameter-missing.md"),
    },
    check,
};

/// Maximum number of parameters of one definition that are compared with each other.
const MOST_PARAMS: usize = 300;

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    arguments::check(facts, out);
    let before = out.len();
    odd_params(facts, out);
    let odd: HashSet<Span> = out[before..].iter().map(|finding| finding.span).collect();
    let mut told: HashSet<(&str, &str)> = HashSet::new();
    environment::check(facts, out);
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"])) {
        // It is unknown which of several scripts the action runs, but a misspelled name in one of them is still wrong.
        for script in Script::any_of(facts, action) {
            for (name, at) in &script.missing {
                let meant = script.meant(name, facts.tree.text());
                let is_new = meant.is_some() && told.insert((&script.source.path, *name));
                out.extend(
                    meant
                        .filter(|_| is_new)
                        .map(|meant| in_script(facts, script.source, name, *at, meant)),
                );
            }
        }
        let Some(script) = Script::of(facts, action) else { continue };
        let slips = script.slips();
        if slips.is_empty() && action.kind() != "pig" && script.is_given_anothers() {
            let (name, at) = script.missing[0];
            let message = format!("the script reads `{name}`, which no `param` sets");
            out.push(
                Diagnostic::new(&RULE.kind, script.named.span(), message)
                    .likely()
                    .note_in(script.source.path.clone(), Span::new(at, at + 1), "read here")
                    .help("it reads none of the parameters that it is given: perhaps another script is meant"),
            );
            continue;
        }
        for (name, at) in &script.missing {
            let read = Span::new(*at, at + 1);
            // The slip may be in the script: the given name consists of known words, or is read elsewhere in it.
            if let Some(meant) = script.meant(name, facts.tree.text()) {
                out.push(in_script(facts, script.source, name, *at, meant));
                continue;
            }
            if let Some((_, given, span)) = slips.iter().find(|(wanted, ..)| wanted == name) {
                if odd.contains(span) {
                    continue;
                }
                let message = format!("the script reads `{name}`, but is passed `{given}`");
                out.push(
                    Diagnostic::new(&RULE.kind, *span, message)
                        .note_in(script.source.path.clone(), read, "read here")
                        .likely()
                        .did_you_mean(*name)
                        .fix(Fix::guess(format!("Rename to `{name}`"), *span, *name)),
                );
            } else if script.is_whole
                && !script.is_given_twice()
                && (action.kind() == "pig" || script.missing.len() == 1)
            {
                // Pig refuses the script; Hive leaves the text as it is.
                let message = format!("the script reads `{name}`, which no `param` sets");
                out.push(
                    Diagnostic::new(&RULE.kind, script.named.span(), message)
                        .note_in(script.source.path.clone(), read, "read here")
                        .help(format!("add `<param>{name}=…</param>`")),
                );
            }
        }
    }
}

/// Reports parameters that no script reads, if other actions set the same value under a similar name.
fn odd_params(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let actions = facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"]));
    let all: Vec<Decoded<'_>> =
        actions.flat_map(|action| action.texts(&["param"])).take(MOST_PARAMS).collect();
    let pair = |text: &'_ Decoded<'_>| {
        let (name, value) = text.text.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    let pairs: Vec<Option<(String, String)>> = all.iter().map(pair).collect();
    for (text, given) in all.iter().zip(&pairs) {
        let Some((name, value)) = given else { continue };
        let times = |name: &str| pairs.iter().flatten().filter(|(other, _)| other == name).count();
        let is_near = |(other, same): &&(String, String)| {
            same == value && other != name && within(name, other, 1).is_some()
        };
        let Some((near, _)) = pairs.iter().flatten().find(is_near) else { continue };
        let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let is_read = pairs.iter().flatten().any(|(_, value)| has_name(value, name));
        if times(name) == 1 && times(near) > 1 && letters(name) != letters(near) && !is_read {
            let others = facts.files.texts().filter(|source| source.path != facts.path);
            if others.into_iter().any(|source| has_name(&source.text, name)) {
                continue;
            }
            let start = text.text.find(name.as_str()).unwrap_or_default();
            let span = text.source(start..start + name.len());
            let message =
                format!("`{name}` looks like a misspelling of `{near}`, which other actions set");
            out.push(
                Diagnostic::new(&RULE.kind, span, message)
                    .likely()
                    .did_you_mean(near)
                    .fix(Fix::guess(format!("Rename to `{near}`"), span, near.as_str())),
            );
        }
    }
}

/// Returns the finding about a misspelled name in the script, with the given name that was meant and its span.
fn in_script(
    facts: &Facts<'_>,
    script: &Source,
    name: &str,
    at: usize,
    (given, span): (&str, Span),
) -> Diagnostic {
    let message = format!("the script reads `{name}`, but is passed `{given}`");
    Diagnostic::new(&RULE.kind, Span::new(at, at + 1), message)
        .likely()
        .did_you_mean(given)
        .note_in(facts.path, span, "it is given here")
        .in_file(script.path.clone())
}
