//! Script parameters without a value.

use crate::callers;
use crate::diag::{Diagnostic, Group, Kind, Level, is_mistyped};
use crate::lint::facts::is_open;
use crate::lint::{Facts, Rule};
use crate::slips::has_name;
use crate::syntax::xml::Decoded;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "param-without-value",
        group: Group::Actions,
        summary: "a `param` of a script that is not `name=value`, or an argument of Pig without `-param`",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/param-without-value.md"),
    },
    check,
};

/// Returns the text with all properties resolved, if all of them are known.
fn resolved(text: &str, facts: &Facts<'_>) -> Option<String> {
    let given = facts.submission.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let whole = callers::resolved(text, &given.collect());
    (!whole.contains("${")).then_some(whole)
}

/// Options of Pig that are long enough to be misspelled.
const OPTIONS: [&str; 16] = [
    "-brief",
    "-debug",
    "-dryrun",
    "-execute",
    "-exectype",
    "-file",
    "-log4jconf",
    "-logfile",
    "-no_fetch",
    "-no_multiquery",
    "-optimizer_off",
    "-param",
    "-param_file",
    "-propertyFile",
    "-stop_on_failure",
    "-useHCatalog",
];

/// Checks the arguments of Pig: its parameters, each with an option in front of it.
fn arguments(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    for action in facts.actions.iter().filter(|action| action.kind() == "pig") {
        let texts: Vec<Decoded<'_>> = action.texts(&["argument"]).collect();
        for (at, text) in texts.iter().enumerate() {
            let word = text.text.as_ref();
            let before = at.checked_sub(1).map_or("", |at| texts[at].text.as_ref());
            let of_param = before == "-param" || before == "-p";
            let found =
                |message: String| Diagnostic::new(&RULE.kind, text.span(), message).likely();
            if ["-param", "-param_file"].contains(&word) {
                let next = texts.get(at + 1).map(|text| text.text.as_ref());
                if next.is_none_or(|next| OPTIONS.contains(&next)) && !of_param {
                    out.push(found(format!("`{word}` has no value")));
                }
                continue;
            }
            if of_param {
                if !word.contains(['=', '$']) {
                    let message = format!("`{word}` has no `=`, so it sets no variable");
                    out.push(found(message).help("write `name=value`"));
                }
                continue;
            }
            if word.starts_with('-') && !word.starts_with("--") && !OPTIONS.contains(&word) {
                let near = OPTIONS.into_iter().find(|known| is_mistyped(word, known));
                if let Some(near) = near {
                    let message = format!("Pig has no option `{word}`");
                    out.push(found(message).did_you_mean(near));
                }
                continue;
            }
            let name = word.split('=').next().filter(|name| name.len() < word.len());
            let is_named = name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_letter));
            // An expression may evaluate to the option.
            if is_named && !before.starts_with(['-', '$']) {
                let message = format!("`{word}` has no `-param` in front of it");
                out.push(found(message).help("add an argument `-param` before it"));
            }
        }
    }
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    arguments(facts, out);
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"])) {
        for text in action.texts(&["param"]) {
            // Pig skips blanks around the name.
            if action.kind() != "pig"
                && let Some((name, _)) = text.text.split_once('=')
                && !is_open(name)
                && (name.is_empty() || name.contains([' ', '\t']))
            {
                let message = format!("`{name}` is not the name of a variable");
                out.push(
                    Diagnostic::new(&RULE.kind, text.span(), message)
                        .likely()
                        .help("write `name=value`, without blanks around the `=`"),
                );
                continue;
            }
            // The text before the first expression must contain a name, unless it is just a path.
            let head = text.text.split("${").next().unwrap_or_default();
            let head = head.trim_start();
            // Names of parameters are often in capitals; `OUTPUT/user` lacks the `=` between name and value.
            let first = head.split('/').next().unwrap_or_default();
            let capital = first.len() > 2
                && first.len() < head.len()
                && first.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
            // Another character is in place of the `=`.
            let sign = head.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, rest) = head.split_at(sign.unwrap_or(0));
            let ends = rest.len() == 1 && head.len() < text.text.trim_start().len();
            // It is followed by a path or an expression.
            let other = name.len() > 1
                && rest.starts_with(['-', ';', ','])
                && (ends || rest[1..].starts_with('/'))
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            // The name, directly followed by an expression that reads it.
            let value = &text.text.trim_start()[head.len()..];
            let value = value.split_inclusive('}').next().unwrap_or_default();
            let lost = head.len() > 1
                && head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && has_name(&value.to_ascii_lowercase(), &head.to_ascii_lowercase());
            // The fully resolved text has no `=` either.
            let whole = || match resolved(&text.text, facts) {
                Some(whole) => !head.is_empty() && !whole.contains('='),
                None => false,
            };
            let named = lost
                || whole()
                || head.contains([' ', ':'])
                || capital
                || other
                || !is_open(&text.text);
            if text.text.is_empty() || text.text.contains('=') || !named {
                continue;
            }
            let message = format!("`{}` has no `=`, so it sets no variable", text.text);
            out.push(
                Diagnostic::new(&RULE.kind, text.span(), message)
                    .help("write `name=value`; the script reads it as `${name}`"),
            );
        }
    }
}
