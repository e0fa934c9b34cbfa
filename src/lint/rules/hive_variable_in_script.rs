//! Variables of Hive scripts that are not set.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::lint::scripts::Script;
use crate::lint::{Facts, Rule};
use crate::source::Span;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "hive-variable-in-script",
        group: Group::Actions,
        summary: "a script uses a variable that the action does not set",
        level: Level::Info,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/hive-variable-in-script.md"),
    },
    check,
};

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    for action in facts.actions.iter().filter(|action| action.is(&["hive", "hive2"])) {
        let script = Script::of(facts, action).filter(|script| script.is_whole);
        let Some(script) = script else { continue };
        let slips = script.slips();
        let told = |name: &str| slips.iter().any(|(wanted, ..)| *wanted == name);
        for (name, at) in script.missing.iter().filter(|(name, _)| !told(name)) {
            let span = Span::new(*at, at + 2);
            let message = format!("the script reads `{name}`, which no `param` supplies");
            out.push(
                Diagnostic::new(&RULE.kind, script.named.span(), message)
                    .note_in(script.source.path.clone(), span, "read here")
                    .help(format!("add `<param>{name}=…</param>`")),
            );
        }
    }
}
