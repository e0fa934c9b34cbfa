//! Parameters of scripts that the action gives under another name, or not at all.

use crate::diag::{Diagnostic, Fix, Group, Kind, Level, Safety};
use crate::lint::facts::Action;
use crate::lint::scripts::Script;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "script-parameter-missing",
        group: Group::Actions,
        summary: "a script reads a parameter that the action gives it under another name, or not at all",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: Some(Safety::Guess),
        page: include_str!("../../../docs/rules/script-parameter-missing.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2", "pig"])) {
        let Some(script) = Script::of(facts, action) else { continue };
        let slips = script.slips();
        for (name, at) in &script.missing {
            let read = Span::new(*at, at + 1);
            // The slip may be in the script: what is given is known by its words, or is read elsewhere in it.
            if let Some((given, span)) = script.meant(name, facts.tree.text()) {
                let message = format!("the script reads `{name}`, and is given `{given}`");
                out.push(
                    Diagnostic::new(&RULE.kind, read, message)
                        .likely()
                        .help(format!("did you mean `{given}`?"))
                        .note_in(facts.path, span, "it is given here")
                        .in_file(script.source.path.clone()),
                );
                continue;
            }
            if let Some((_, given, span)) = slips.iter().find(|(wanted, ..)| wanted == name) {
                let message = format!("the script reads `{name}`, and is given `{given}`");
                out.push(
                    Diagnostic::new(&RULE.kind, *span, message)
                        .note_in(script.source.path.clone(), read, "read here")
                        .likely()
                        .help(format!("did you mean `{name}`?"))
                        .fix(Fix::guess(format!("Rename to `{name}`"), *span, *name)),
                );
            } else if script.is_whole
                && !script.is_given_twice()
                && is_given_the_rest(action, &script)
            {
                // Pig refuses the script; Hive leaves the text as it is.
                let message = format!("the script reads `{name}`, which no `param` gives it");
                out.push(
                    Diagnostic::new(&RULE.kind, script.named.span(), message)
                        .note_in(script.source.path.clone(), read, "read here")
                        .help(format!("add `<param>{name}=…</param>`")),
                );
            }
        }
    }
}

/// Whether the action gives its script what it reads, but for one name. Pig has no other source; what Hive reads may also
/// come from its own settings, where an action gives nothing at all.
fn is_given_the_rest(action: &Action<'_>, script: &Script<'_>) -> bool {
    action.kind() == "pig" || script.missing.len() == 1 && action.each("param").next().is_some()
}
