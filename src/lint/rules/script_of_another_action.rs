//! Numbered actions of which one does the work of another.

use crate::diag::{Diagnostic, Group, Kind, Level};
use crate::files::name_of;
use crate::lint::{Action, Facts, Rule};
use crate::syntax::xml::Decoded;
use std::collections::BTreeMap;

pub(super) static RULE: Rule = Rule {
    kind: Kind {
        name: "script-of-another-action",
        group: Group::Actions,
        summary: "of several numbered actions, one runs the script of another",
        level: Level::Warning,
        since: "0.1.0",
        oozie: &[],
        fix: None,
        page: include_str!("../../../docs/rules/script-of-another-action.md"),
    },
    check,
};

/// The number of other actions whose numbers must agree with their scripts.
const ENOUGH: usize = 2;

/// What an action runs.
struct Runs<'a> {
    action: String,
    /// The numbers in its name, and in that of what it runs.
    numbers: [String; 2],
    text: Decoded<'a>,
}

fn check(facts: &Facts<'_>, out: &mut Vec<Diagnostic>) {
    let mut series: BTreeMap<[String; 2], Vec<Runs<'_>>> = BTreeMap::new();
    for action in &facts.actions {
        let Some(text) = run_by(action) else { continue };
        let (own, run) = (action.name(), name_of(&text.text));
        if run.contains('$') {
            continue;
        }
        let numbers = [numbers(&own), numbers(run)];
        if numbers.iter().all(|number| !number.is_empty()) {
            let letters = [letters(&own), letters(&text.text)];
            series.entry(letters).or_default().push(Runs { action: own, numbers, text });
        }
    }
    for all in series.values() {
        let mut others = all.iter().filter(|one| one.numbers[0] != one.numbers[1]);
        let Some(odd) = others.next().filter(|_| others.next().is_none()) else { continue };
        let same = all.iter().find(|one| one.numbers[0] == odd.numbers[1]);
        let Some(same) = same.filter(|_| all.len() > ENOUGH) else { continue };
        let run = name_of(&odd.text.text);
        let meant = run.replacen(&odd.numbers[1], &odd.numbers[0], 1);
        let start = odd.text.text.len() - run.len();
        let span = odd.text.source(start..odd.text.text.len());
        let message = format!("`{}` runs `{run}`, as `{}` does", odd.action, same.action);
        let found = Diagnostic::new(&RULE.kind, span, message).likely().did_you_mean(meant);
        out.push(found.note(same.text.span(), format!("`{}` runs it here", same.action)));
    }
}

/// The script or the workflow that an action runs.
fn run_by<'a>(action: &Action<'a>) -> Option<Decoded<'a>> {
    let text = action.text("script").or_else(|| action.text("app-path"))?;
    (!text.text.is_empty()).then_some(text)
}

/// The digits of a name that has a single number; otherwise empty.
fn numbers(name: &str) -> String {
    let mut all = name.split(|c: char| !c.is_ascii_digit()).filter(|number| !number.is_empty());
    all.next().filter(|_| all.next().is_none()).unwrap_or_default().to_owned()
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}
