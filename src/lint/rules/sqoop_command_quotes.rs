//! Quotes in sqoop commands.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::{escaped, is_configured, sibling};
use crate::lint::{Facts, Rule};

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "sqoop-command-quotes",
        group: Group::Actions,
        summary: "quotes in a sqoop `command`, which is split at every space",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/sqoop-command-quotes.md"),
    },
    check,
};

const SPLITTER: &str = "oozie.action.sqoop.shellsplitter";

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.kind() == "sqoop") {
        let Some(element) = action.each("command").next() else { continue };
        let text = element.text().trimmed();
        let Some(words) = shell_words(&text.text) else { continue };
        let plain: Vec<_> = text.text.split(' ').filter(|word| !word.is_empty()).collect();
        if words == plain || is_configured(facts, action, &[SPLITTER]) {
            continue;
        }
        let at = text.text.find(['"', '\'']).unwrap_or(0);
        let message = "the command is split at whitespace, and its quotes are passed on";
        let mut arguments = String::new();
        for (index, word) in words.iter().enumerate() {
            let argument = format!("<arg>{}</arg>", escaped(word));
            match index {
                0 => arguments.push_str(&argument),
                _ => arguments.push_str(&sibling(facts, element, &argument)),
            }
        }
        out.push(
            Diagnostic::new(&RULE.kind, text.source(at..at + 1), message)
                .help("put each argument into its own `arg` element, without quotes")
                .fix(Fix::guess("Use `arg` elements", element.span(), arguments)),
        );
    }
}

/// Splits the text into the words that were meant; `None` if a quote is never closed.
fn shell_words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut open, mut quote) = (Vec::new(), String::new(), false, None);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        // An expression is one piece, including its quotes.
        if rest.starts_with("${") {
            let end =
                crate::lint::reads::first_expression(rest).map_or(rest.len(), |first| first.end);
            word.push_str(&rest[..end]);
            open = true;
            rest = &rest[end..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match (quote, character) {
            (None, ' ') => {
                if open {
                    words.push(std::mem::take(&mut word));
                    open = false;
                }
            }
            (None, '"' | '\'') => {
                quote = Some(character);
                open = true;
            }
            (Some(closing), _) if closing == character => quote = None,
            _ => {
                word.push(character);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    quote.is_none().then_some(words)
}
