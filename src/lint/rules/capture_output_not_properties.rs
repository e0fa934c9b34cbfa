//! Captured output that is not in the format of properties.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "capture-output-not-properties",
        group: Group::Actions,
        summary: "a script whose output is captured prints text that is not `name=value`",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/capture-output-not-properties.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["shell"])) {
        if action.body.child("capture-output").is_none() {
            continue;
        }
        let Some(exec) = action.text("exec") else { continue };
        let shipped = action.texts(&["file"]).find_map(|file| {
            let (path, link) = file.text.split_once('#').unwrap_or((&file.text, ""));
            let link = if link.is_empty() { files::name_of(path) } else { link };
            (link == exec.text).then(|| path.to_owned())
        });
        let Some(path) = facts.beside(&shipped.unwrap_or_else(|| exec.text.to_string())) else {
            continue;
        };
        let Some(script) = facts.files.text(&path) else { continue };
        let first = script.text.lines().next().unwrap_or_default();
        if !first.starts_with("#!") || !first.trim_end().ends_with("sh") {
            continue;
        }
        if let Some(span) = talk(&script.text) {
            out.push(
                Diagnostic::new(
                    &RULE.kind,
                    span,
                    "this is captured too, but captured output must be lines of the form `key=value`",
                )
                .in_file(path)
                .note_in(facts.path, exec.span(), "the output of this action is captured")
                .help("print it to standard error: `>&2`"),
            );
        }
    }
}

/// Returns the first `echo` of literal text that is not a property and is not redirected.
fn talk(script: &str) -> Option<Span> {
    let mut at = 0;
    for line in script.split_inclusive('\n') {
        let start = at;
        at += line.len();
        // An indented line may be part of a function whose output is redirected.
        let Some(rest) = line.strip_prefix("echo ") else { continue };
        let rest = rest.trim();
        let quoted = rest.len() > 2 && rest.starts_with(['"', '\'']) && rest.ends_with(&rest[..1]);
        let words = if quoted { &rest[1..rest.len() - 1] } else { rest };
        let plain = !words.contains(['=', '>', '|', ';', '&', '`', ':', '"', '\''])
            && !words.contains("$(");
        if plain && words.contains(' ') && !words.starts_with('-') {
            return Some(Span::new(start, start + line.trim_end().len()));
        }
    }
    None
}
